"""Decide which row groups of the kept files a scan needs, and what that proves for its conjuncts.

To Spark, a kept file is one range of bytes. Here it may become several ranges, or none:

    file of 4 row groups, c in     0..9   10..19   20..29   30..39
    c BETWEEN 12 AND 27            -      kept     kept     -         bytes of the second and third
    c = 50 OR d = 1, and no group can hold either                     the file is dropped as well

This is sound because Spark reads a row group in the task whose bytes contain its midpoint
(indexing.executor.row_group_ranges.extents). Let G1 .. Gn be the row groups of a file that hold
rows, with bytes [start, stop) and midpoint m. They are trusted only if start_i <= m_i < stop_i <=
start_(i+1), and stop_n <= size. Then a range from start_i to stop_i, or up to start_(i+1), contains
m_i and no other midpoint. So each row group is read by the task that its range is part of, and by
no other task, whether or not adjacent ranges are read as one. A row group without rows may be read
or not. If the row groups of a file lie in any other way, the file is read whole.

A conjunct is exact if it is true for every row that is read: in every kept row group, and in every
file that is read whole. A conjunct that was unsupported for files, such as `c IS NULL` where every
file has a NULL, is inexact if it rules out a row group.

A row group is also left out if earlier scans found no row in it that passes conjuncts of this scan.
A conjunct is true for every row of a row group if such a scan found that.
They say so of ranges of rows, which the numbers of rows of the row groups locate in the file. These
numbers add up to those of the file, or the file is read whole.

Rows that were deleted since they were written make no difference: what statistics prove of all rows
of a row group, they prove of those that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tamis.classification.pushdown import Pushdown
from tamis.evaluation.domain.bounds import YES, Bounds, Flags
from tamis.evaluation.domain.intersection import contradict
from tamis.evaluation.interpreter import truth
from tamis.evaluation.nodes.ranges import is_long
from tamis.evaluation.statistics import Statistics, Subject
from tamis.expr.nodes import Call, Column, Expr, Opaque, columns_of, walk
from tamis.expr.sql import to_sql
from tamis.files.row_ranges import RowRanges
from tamis.files.segments import BLOCK, GroupedFiles, Segment
from tamis.files.table import dotted
from tamis.plan.reader_losses import loss_of
from tamis.plan.scan_decision import Order, Outcome, ScanDecision, all_true, proven, rule_out
from tamis.reasons import reason

__all__ = ["ByteRanges", "LeftOut", "RowGroupDecision", "decide_row_groups"]

Numbers = npt.NDArray[np.int64]

#: After `_TRIAL` row groups the search stops unless it has ruled out at least one in `_WORTH`.
_TRIAL = 2 * BLOCK
_WORTH = 64
#: The search also stops once the answer has more ranges than this, which take seven megabytes.
_MAX_RANGES = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class ByteRanges:
    """The bytes to read of files that are not read whole.

    One entry per row group, ordered by file and start. Two ranges touch if no row group with rows
    lies between them.

    - `files`: ordinals of the files in the scan.
    - `starts`, `lengths`: bytes.
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
        """Return the ranges of different files as one object."""
        if not parts:
            return ByteRanges.none()
        files = np.concatenate([each.files for each in parts])
        starts = np.concatenate([each.starts for each in parts])
        lengths = np.concatenate([each.lengths for each in parts])
        order = np.argsort(files, kind="stable")
        return ByteRanges(files[order], starts[order], lengths[order])


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Row groups that are not read, and their bytes."""

    row_groups: int = 0
    bytes: int = 0

    def __add__(self, other: LeftOut) -> LeftOut:
        return LeftOut(self.row_groups + other.row_groups, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True, eq=False)
class RowGroupDecision:
    """The decision about a scan after its row groups were evaluated.

    - `scan`: the files and conjuncts, updated.
    - `ranges`: the bytes to read of files that are not read whole.
    - `dropped`: the number of row groups of previously kept files that are not read.
    - `records`: the number of rows in `ranges`; None: not known, because rows were deleted.
    - `remembered`: what each of the remembered ranges alone has left out.
    """

    scan: ScanDecision
    ranges: ByteRanges
    dropped: int
    records: int | None
    remembered: tuple[LeftOut, ...] = ()


def decide_row_groups(
    conjuncts: Sequence[Expr],
    decision: ScanDecision,
    segments: Sequence[Segment],
    grouped: Iterable[GroupedFiles],
    consequences: Sequence[Expr] = (),
    remembered: Sequence[RowRanges] = (),
) -> RowGroupDecision | None:
    """Evaluate the conjuncts over the row groups of the files that `decide` kept.

    Args:
        conjuncts: The conjuncts of the scan.
        decision: What `decide` returned for them.
        segments: The statistics of the files.
        grouped: Batches of different files, consumed one after the other for as long as it pays
            off. Files in no consumed batch are read whole.
        consequences: As for `decide`.
        remembered: Rows that do not pass the conjuncts, by the ordinals of the files.

    Returns:
        None if no conjunct is left to evaluate and nothing is remembered, or there are no row
        groups.
    """
    remaining = [
        each
        for each, outcome in zip(conjuncts, decision.conjuncts, strict=True)
        if outcome.pushdown is not Pushdown.EXACT
        and (_columns(each) or _keys(each, [one.statistics for one in segments]))
    ]
    if not remaining and not remembered:
        return None
    progress = _Progress(conjuncts, decision, [LeftOut()] * len(remembered))
    order = None
    for batch in grouped:
        if order is None:
            order = Order([*remaining, *consequences])
        progress.take(_decided(remaining, order, batch, remembered))
        if not progress.is_worth_it:
            break
    return progress.result(segments) if progress.seen else None


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """What was decided for a batch. `kept` has one flag per row group, the others one per file.

    - `counts`, `kept_counts`: the number of row groups, and of those that are kept.
    - `trusted`: whether the row groups of the file are trusted.
    - `remembered`: what each of the remembered ranges alone leaves out.
    """

    files: GroupedFiles
    counts: Numbers
    kept: Flags
    trusted: Flags
    kept_counts: Numbers
    remembered: list[LeftOut]


def _decided(
    remaining: Sequence[Expr],
    order: Order,
    batch: GroupedFiles,
    remembered: Sequence[RowRanges],
) -> _Batch:
    counts = np.diff(batch.first, append=len(batch.start))
    kept = batch.group_records != 0
    rule_out(kept, batch.groups, order)
    trusted = _in_order(batch, counts)
    columns = {column for each in remaining for column in _columns(each)}
    keys = {key for each in remaining for key in _keys(each, [batch.files])}
    subjects: list[Subject] = [*columns, *keys]
    for subject in subjects:
        trusted &= ~_contradicted(batch, counts, subject)
    of_trusted = np.repeat(trusted, counts)
    left_out = []
    for each in remembered:
        # The rows of a trusted file are those of its row groups, in their order. No row of such a
        # row group passes conjuncts that are among those of the scan.
        ruled_out = kept & of_trusted & _within(each, batch, counts)
        kept &= ~ruled_out
        size = int((batch.stop - batch.start)[ruled_out].sum())
        left_out.append(LeftOut(int(np.count_nonzero(ruled_out)), size))
    kept |= ~of_trusted
    return _Batch(batch, counts, kept, trusted, _sums(kept, batch.first), left_out)


def _within(ranges: RowRanges, batch: GroupedFiles, counts: Numbers) -> Flags:
    """Return the row groups all of whose rows are in the ranges. Only those of trusted files are
    meant: the numbers of rows of other files may be wrong."""
    return ranges.cover(*_rows_of_groups(batch, counts))


def _rows_of_groups(
    batch: GroupedFiles, counts: Numbers
) -> tuple[npt.NDArray[np.intp], Numbers, Numbers]:
    """Return the file of each row group, its first row, and the row after its last one."""
    files = np.repeat(batch.ordinals, counts)
    stops = np.cumsum(batch.group_records)
    stops -= np.repeat((stops - batch.group_records)[batch.first], counts)
    return files, stops - batch.group_records, stops


def _columns(expr: Expr) -> set[Column]:
    """Return the columns whose bounds are used to evaluate an expression. Opaque parts use none."""
    return {node for node in walk(expr) if isinstance(node, Column)}


def _keys(expr: Expr, statistics: Iterable[Statistics]) -> set[str]:
    """Return the keys of the recorded expressions in an expression."""
    known = list(statistics)
    return {
        node.key
        for node in walk(expr)
        if isinstance(node, Call | Opaque)
        and node.key is not None
        and any(each.expression(node.key) is not None for each in known)
    }


def _in_order(batch: GroupedFiles, counts: Numbers) -> Flags:
    """Return the files whose row groups lie as the proof requires and hold all rows of the file."""
    sizes = np.repeat(batch.sizes, counts)
    no_rows = batch.group_records == 0
    # Shift the bytes of each file behind those of the previous file, so they ascend throughout.
    base = np.repeat(np.arange(len(counts), dtype=np.int64) * (int(batch.sizes.max()) + 2), counts)
    # A row group without rows may lie anywhere: its stop of -1 does not raise the running maximum.
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


def _contradicted(batch: GroupedFiles, counts: Numbers, subject: Subject) -> Flags:
    """Return the files whose statistics of a value contradict those of one of their row groups."""
    owners = np.repeat(np.arange(len(counts)), counts)
    of_files, of_groups = (_bounds(subject, each) for each in (batch.files, batch.groups))
    if of_files is None or of_groups is None:
        return np.zeros(len(counts), np.bool_)
    denied = contradict(of_groups, of_files.take(owners)) & (batch.group_records > 0)
    return np.logical_or.reduceat(np.broadcast_to(denied, (len(owners),)), batch.first)


def _bounds(subject: Subject, statistics: Statistics) -> Bounds | None:
    if isinstance(subject, str):
        return statistics.expression(subject)
    return statistics.bounds(subject)


def _sums(flags: Flags, first: Numbers) -> Numbers:
    sums: Numbers = np.add.reduceat(flags, first, dtype=np.int64)
    return sums


@dataclass(slots=True, eq=False)
class _Progress:
    """The decisions so far."""

    conjuncts: Sequence[Expr]
    before: ScanDecision
    remembered: list[LeftOut]
    kept: Flags = field(init=False)
    #: Files that are read whole because their row groups were not evaluated or are not trusted.
    whole: Flags = field(init=False)
    exact: set[int] = field(init=False)
    #: Conjuncts that were unsupported for files, and those of them that rule out a row group.
    unsupported: set[int] = field(init=False)
    helpful: set[int] = field(default_factory=set)
    ranges: list[ByteRanges] = field(default_factory=list)
    seen: int = 0
    dropped: int = 0
    records: int | None = 0

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
        files = batch.files
        self.seen += len(files.start)
        self.remembered = [
            before + now for before, now in zip(self.remembered, batch.remembered, strict=True)
        ]
        self.kept[files.ordinals[batch.kept_counts == 0]] = False
        self.whole[files.ordinals[batch.trusted]] = False
        # Row groups without rows are not kept. If only these are missing, the file is read whole.
        missing = ~batch.kept & (files.group_records > 0)
        partial = _sums(missing, files.first) > 0
        self._see_who_helps(
            files.groups, np.flatnonzero(missing & np.repeat(batch.trusted, batch.counts))
        )
        self.dropped += int((batch.counts - batch.kept_counts)[partial].sum())
        partial &= batch.kept_counts > 0
        read = batch.kept & np.repeat(partial, batch.counts)
        if files.has_deletes and partial.any():
            self.records = None  # it is not known from which row groups rows were deleted
        elif self.records is not None:
            self.records += int(files.group_records[read].sum())
        self.ranges.append(_ranges(files, read, batch.counts))
        proving = np.flatnonzero(batch.kept & np.repeat(batch.trusted, batch.counts))
        if len(proving):
            groups = files.groups.take(proving)
            self.exact = {
                i
                for i in self.exact
                if all_true(self.conjuncts[i], groups, self._wanted(i, batch, proving))
            }

    def _wanted(self, conjunct: int, batch: _Batch, groups: npt.NDArray[np.intp]) -> Flags:
        """Return the row groups for which earlier scans did not find the conjunct true.

        The row groups belong to trusted files, so their rows are those that such scans counted.
        """
        known = self.before.known
        if not known.has(conjunct):
            return YES
        places = _rows_of_groups(batch.files, batch.counts)
        files, starts, stops = (each[groups] for each in places)
        return ~known.covers(conjunct, files, starts, stops)

    def _see_who_helps(self, groups: Statistics, missing: npt.NDArray[np.intp]) -> None:
        """Record the unsupported conjuncts that alone rule out some row group that is not read."""
        idle = self.unsupported - self.helpful
        if idle and len(missing):
            left_out = groups.take(missing)
            self.helpful |= {
                i for i in idle if not truth(self.conjuncts[i], left_out).can_be_true.all()
            }

    def result(self, segments: Sequence[Segment]) -> RowGroupDecision:
        chosen = sorted(self.exact)
        known = self.before.known
        if known.files:
            exact = {
                i
                for i in chosen
                if proven([self.conjuncts[i]], segments, known.without_files(i, self.whole))
            }
        else:
            exact = {
                chosen[i] for i in proven([self.conjuncts[i] for i in chosen], segments, self.whole)
            }
        if self.kept.any():
            exact = {i for i in exact if loss_of(self.conjuncts[i]) is None}
        outcomes = tuple(
            Outcome(Pushdown.EXACT, None, each.pruned_files, known.has(i))
            if i in exact
            else _inexact(self.conjuncts[i], each)
            if i in self.helpful
            else each
            for i, each in enumerate(self.before.conjuncts)
        )
        scan = replace(self.before, kept=self.kept, conjuncts=outcomes)
        ranges = ByteRanges.joined(self.ranges)
        return RowGroupDecision(scan, ranges, self.dropped, self.records, tuple(self.remembered))


def _inexact(conjunct: Expr, outcome: Outcome) -> Outcome:
    column = ", ".join(map(dotted, columns_of(conjunct)))
    why = reason("RANGES_OVERLAP", predicate=to_sql(conjunct), column=column)
    return Outcome(Pushdown.INEXACT, why, outcome.pruned_files)


def _ranges(batch: GroupedFiles, read: Flags, counts: Numbers) -> ByteRanges:
    """Return the byte ranges of the row groups to read.

    A range extends to the start of the next row group of the file if that one is read as well.
    """
    touches = read.copy()
    touches[:-1] &= read[1:]
    touches[batch.first + counts - 1] = False
    stops = batch.stop.copy()
    stops[:-1][touches[:-1]] = batch.start[1:][touches[:-1]]
    starts = batch.start[read]
    return ByteRanges(np.repeat(batch.ordinals, counts)[read], starts, stops[read] - starts)
