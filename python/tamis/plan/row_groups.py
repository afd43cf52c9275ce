"""Which row groups of the files that are kept a scan needs, and what that proves of its conjuncts.

A file that is kept is one range of bytes to Spark. Here it may become several, or none:

    file of 4 row groups, c in     0..9   10..19   20..29   30..39
    c BETWEEN 12 AND 27            -      kept     kept     -         bytes of the second and third
    c = 50 OR d = 1, and no group can hold either                     the file is dropped as well

Sound, because Spark reads a row group in the task whose bytes hold its midpoint (`index.extents`).
Let the row groups of a file that hold rows be G1 .. Gn, with bytes [start, stop) and midpoint m.
They are believed only where start_i <= m_i < stop_i <= start_(i+1), and stop_n <= size: then a
range from start_i to stop_i, or on to start_(i+1), holds m_i, and of the others none. So each row
group is read by the task that its range is part of, and by no other, whether ranges that touch are
read as one or not. A row group without rows may be read or not. Whatever else a file says of its
row groups, it is read whole.

A conjunct is exact if it is true of every row that is read: of every row group that is kept, and of
every file that is read whole. One that was of no use for files, such as `c IS NULL` where every
file holds a NULL, and that rules out a row group, is inexact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tamis.classify.pushdown import Pushdown
from tamis.evaluate.bounds import Flags
from tamis.evaluate.interpreter import truth
from tamis.evaluate.ranges import is_long, narrowed_conjuncts
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Column, Expr, columns_of, walk
from tamis.expr.sql import to_sql
from tamis.files.intersection import contradict
from tamis.files.table import dotted
from tamis.plan.reader_losses import loss_of
from tamis.plan.scan import (
    BLOCK,
    Order,
    Outcome,
    ScanDecision,
    Segment,
    all_true,
    proven,
    rule_out,
)
from tamis.reasons import reason

__all__ = ["ByteRanges", "GroupedFiles", "RowGroupDecision", "decide_row_groups"]

Numbers = npt.NDArray[np.int64]

#: After so many row groups it has to show that looking at them pays: one in `_WORTH` is ruled out.
_TRIAL = 2 * BLOCK
_WORTH = 64
#: Ranges an answer may hold: seven megabytes of it.
_MAX_RANGES = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class GroupedFiles:
    """Some files that are kept, and their row groups in order, one entry a row group.

    ordinals: of each file among those of the scan.  sizes: in bytes.  num_records: rows.
    first: the place of the first row group of each file; each has one.
    start, stop, midpoint: bytes in the file, -1: not known.  group_records: rows.
    files, groups: statistics of the files and of the row groups.
    """

    ordinals: npt.NDArray[np.intp]
    sizes: Numbers
    num_records: Numbers
    first: Numbers
    start: Numbers
    stop: Numbers
    midpoint: Numbers
    group_records: Numbers
    files: Statistics
    groups: Statistics


@dataclass(frozen=True, slots=True, eq=False)
class ByteRanges:
    """What is read of files that are not read whole: one entry a row group, by file and start.

    Two touch where there is no row group with rows between them.

    files: ordinals of the scan.  starts, lengths: bytes.
    """

    files: npt.NDArray[np.intp]
    starts: Numbers
    lengths: Numbers

    @staticmethod
    def none() -> ByteRanges:
        nothing = np.empty(0, np.int64)
        return ByteRanges(nothing.astype(np.intp), nothing, nothing)

    @staticmethod
    def joined(parts: Sequence[ByteRanges]) -> ByteRanges:
        """Ranges of different files as one."""
        if not parts:
            return ByteRanges.none()
        files = np.concatenate([each.files for each in parts])
        starts = np.concatenate([each.starts for each in parts])
        lengths = np.concatenate([each.lengths for each in parts])
        order = np.argsort(files, kind="stable")
        return ByteRanges(files[order], starts[order], lengths[order])


@dataclass(frozen=True, slots=True, eq=False)
class RowGroupDecision:
    """`scan`: files and conjuncts as they are now. `ranges`: of files that are not read whole.

    dropped: how many row groups of files that the scan had kept are not read.
    records: rows in `ranges`.
    """

    scan: ScanDecision
    ranges: ByteRanges
    dropped: int
    records: int


def decide_row_groups(
    conjuncts: Sequence[Expr],
    decision: ScanDecision,
    segments: Sequence[Segment],
    grouped: Iterable[GroupedFiles],
    consequences: Sequence[Expr] = (),
) -> RowGroupDecision | None:
    """Look into the files that `decide` kept; None: there is nothing to look for, or into.

    `grouped`: batches of different files, taken one after the other for as long as it pays. Files
    that it leaves out are read whole. `consequences`: as of `decide`.
    """
    asked = [
        each
        for each, outcome in zip(conjuncts, decision.conjuncts, strict=True)
        if outcome.pushdown is not Pushdown.EXACT and _columns(each)
    ]
    if not asked:
        return None
    progress = _Progress(conjuncts, decision)
    order = Order(narrowed_conjuncts([*asked, *consequences]))
    for batch in grouped:
        progress.take(_decided(asked, order, batch))
        if not progress.is_worth_it:
            break
    return progress.result(segments) if progress.seen else None


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """What became of a batch; flags one a file, `kept` one a row group."""

    of: GroupedFiles
    counts: Numbers
    kept: Flags
    believed: Flags
    kept_counts: Numbers


def _decided(asked: Sequence[Expr], order: Order, batch: GroupedFiles) -> _Batch:
    counts = np.diff(batch.first, append=len(batch.start))
    kept = batch.group_records != 0
    rule_out(kept, batch.groups, order)
    believed = _in_order(batch, counts)
    for column in {column for each in asked for column in _columns(each)}:
        believed &= ~_contradicted(batch, counts, column)
    kept |= ~np.repeat(believed, counts)
    return _Batch(batch, counts, kept, believed, _sums(kept, batch.first))


def _columns(expr: Expr) -> set[Column]:
    """The columns whose bounds an expression is evaluated by; those of opaque parts are none."""
    return {node for node in walk(expr) if isinstance(node, Column)}


def _in_order(batch: GroupedFiles, counts: Numbers) -> Flags:
    """The files whose row groups lie as the proof above needs it, and hold the file's rows."""
    sizes = np.repeat(batch.sizes, counts)
    no_rows = batch.group_records == 0
    # Bytes of one file after those of the one before, so that they ascend throughout.
    base = np.repeat(np.arange(len(counts), dtype=np.int64) * (int(batch.sizes.max()) + 2), counts)
    # What has no rows may lie anywhere: it ends where the one before it does, or before the file.
    stop = base + np.where(no_rows, -1, np.clip(batch.stop, 0, sizes))
    before = np.empty_like(stop)
    before[1:] = np.maximum.accumulate(stop)[:-1]
    before[batch.first] = 0
    good = (
        (batch.start >= 0)
        & (base + batch.start >= before)
        & (batch.midpoint >= batch.start)
        & (batch.midpoint < batch.stop)
        & (batch.stop <= sizes)
        & (batch.group_records > 0)
    )
    flags: Flags = np.logical_and.reduceat(good | no_rows, batch.first)
    flags &= np.add.reduceat(batch.group_records, batch.first) == batch.num_records
    return flags


def _contradicted(batch: GroupedFiles, counts: Numbers, column: Column) -> Flags:
    """The files of which a row group says of a column what the file as a whole denies."""
    owners = np.repeat(np.arange(len(counts)), counts)
    whole = batch.files.bounds(column).take(owners)
    denied = contradict(batch.groups.bounds(column), whole) & (batch.group_records > 0)
    return np.logical_or.reduceat(np.broadcast_to(denied, (len(owners),)), batch.first)


def _sums(flags: Flags, first: Numbers) -> Numbers:
    sums: Numbers = np.add.reduceat(flags, first, dtype=np.int64)
    return sums


@dataclass(slots=True, eq=False)
class _Progress:
    """What is decided so far."""

    conjuncts: Sequence[Expr]
    before: ScanDecision
    kept: Flags = field(init=False)
    #: Files that are read whole, as far as they were not looked into.
    whole: Flags = field(init=False)
    exact: set[int] = field(init=False)
    #: Conjuncts that were of no use for files; and those of them that rule out a row group.
    unsupported: set[int] = field(init=False)
    helpful: set[int] = field(default_factory=set)
    ranges: list[ByteRanges] = field(default_factory=list)
    seen: int = 0
    dropped: int = 0
    records: int = 0

    def __post_init__(self) -> None:
        self.kept = self.before.kept.copy()
        self.whole = self.before.kept.copy()
        outcomes = enumerate(self.before.conjuncts)
        left = {i for i, each in outcomes if each.pushdown is not Pushdown.EXACT}
        self.exact = {i for i in left if not is_long(self.conjuncts[i])}
        self.unsupported = {
            i for i in left if self.before.conjuncts[i].pushdown is Pushdown.UNSUPPORTED
        }

    @property
    def is_worth_it(self) -> bool:
        if sum(len(each.files) for each in self.ranges) > _MAX_RANGES:
            return False
        return self.seen < _TRIAL or self.dropped * _WORTH >= self.seen

    def take(self, batch: _Batch) -> None:
        of = batch.of
        self.seen += len(of.start)
        self.kept[of.ordinals[batch.kept_counts == 0]] = False
        self.whole[of.ordinals[batch.believed]] = False
        # A row group without rows is not kept; where only such are missing the file is read whole.
        missing = ~batch.kept & (of.group_records > 0)
        partial = _sums(missing, of.first) > 0
        self._see_who_helps(
            of.groups, np.flatnonzero(missing & np.repeat(batch.believed, batch.counts))
        )
        self.dropped += int((batch.counts - batch.kept_counts)[partial].sum())
        partial &= batch.kept_counts > 0
        read = batch.kept & np.repeat(partial, batch.counts)
        self.records += int(of.group_records[read].sum())
        self.ranges.append(_ranges(of, read, batch.counts))
        proving = np.flatnonzero(batch.kept & np.repeat(batch.believed, batch.counts))
        if len(proving):
            groups = of.groups.take(proving)
            self.exact = {i for i in self.exact if all_true(self.conjuncts[i], groups)}

    def _see_who_helps(self, groups: Statistics, missing: npt.NDArray[np.intp]) -> None:
        """Which of the unsupported conjuncts alone rule out one of the row groups not read."""
        idle = self.unsupported - self.helpful
        if idle and len(missing):
            left_out = groups.take(missing)
            self.helpful |= {
                i for i in idle if not truth(self.conjuncts[i], left_out).can_be_true.all()
            }

    def result(self, segments: Sequence[Segment]) -> RowGroupDecision:
        chosen = sorted(self.exact)
        among = proven([self.conjuncts[i] for i in chosen], segments, self.whole)
        exact = {chosen[i] for i in among}
        if self.kept.any():
            exact = {i for i in exact if loss_of(self.conjuncts[i]) is None}
        outcomes = tuple(
            Outcome(Pushdown.EXACT, None, each.pruned_files)
            if i in exact
            else _inexact(self.conjuncts[i], each)
            if i in self.helpful
            else each
            for i, each in enumerate(self.before.conjuncts)
        )
        scan = replace(self.before, kept=self.kept, conjuncts=outcomes)
        return RowGroupDecision(scan, ByteRanges.joined(self.ranges), self.dropped, self.records)


def _inexact(conjunct: Expr, outcome: Outcome) -> Outcome:
    column = ", ".join(map(dotted, columns_of(conjunct)))
    why = reason("RANGES_OVERLAP", predicate=to_sql(conjunct), column=column)
    return Outcome(Pushdown.INEXACT, why, outcome.pruned_files)


def _ranges(of: GroupedFiles, read: Flags, counts: Numbers) -> ByteRanges:
    """The row groups that are read as ranges of bytes; up to the next one where it is read too."""
    touches = read.copy()
    touches[:-1] &= read[1:]
    touches[of.first + counts - 1] = False
    stops = of.stop.copy()
    stops[:-1][touches[:-1]] = of.start[1:][touches[:-1]]
    starts = of.start[read]
    return ByteRanges(np.repeat(of.ordinals, counts)[read], starts, stops[read] - starts)
