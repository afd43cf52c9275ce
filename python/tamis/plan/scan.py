"""Which files a scan needs, and what becomes of each of its conjuncts.

First pass, over every file: can_be_true of the conjuncts, in blocks that fit the cache, cheap and
selective conjuncts first, with an early end where no file of a block is left. Second pass, over the
files that are left: a conjunct that is true of every row of each of them is exact, and leaves the
plan. The second pass ends, conjunct by conjunct, with the first block that speaks against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.classify import classify
from tamis.classify.capabilities import capabilities_of
from tamis.classify.pushdown import Pushdown
from tamis.evaluate.bounds import YES, Flags
from tamis.evaluate.declared import relies_on_declaration
from tamis.evaluate.interpreter import truth
from tamis.evaluate.ranges import is_long, narrowed, narrowed_conjuncts
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import And, Expr, Not, Or
from tamis.expr.sql import to_sql
from tamis.plan.cost import cost_of
from tamis.plan.reader_losses import loss_of, loss_reason
from tamis.reasons import Reason, reason

__all__ = [
    "BLOCK",
    "Order",
    "Outcome",
    "ScanDecision",
    "Segment",
    "all_true",
    "blocks",
    "decide",
    "kept_blocks",
    "narrow",
    "proven",
    "rule_out",
    "together",
]

#: Containers a block: half a megabyte of a column, which the flags of one conjunct do not push out
#: of the cache. Half of it costs a quarter more, for the calls; twice of it gains a tenth.
BLOCK = 65_536

#: What it costs to gather the statistics of one container, in the measure of `cost_of`.
_GATHER = 15.0

#: From this share of survivors on a stretch of files is looked at whole, and not gathered.
_MOST = 1 / 4


@dataclass(frozen=True, slots=True)
class Segment:
    """Statistics of some files, and the ordinals of these files among those of the scan."""

    ordinals: slice | npt.NDArray[np.intp]
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one conjunct.

    `pruned_files`: how many files this conjunct alone rules out; None if that was not counted.
    """

    pushdown: Pushdown
    reason: Reason | None
    pruned_files: int | None


@dataclass(frozen=True, slots=True)
class ScanDecision:
    """`kept`: one flag a file, in the order of the listing. `conjuncts`: as they were given."""

    kept: Flags
    conjuncts: tuple[Outcome, ...]


def decide(
    conjuncts: Sequence[Expr],
    segments: Sequence[Segment],
    files: int,
    detail: bool = False,
    consequences: Sequence[Expr] = (),
    among: Flags | None = None,
) -> ScanDecision:
    """Decide which of `files` files are needed by a scan filtered by all of the conjuncts.

    A file that no segment covers is kept, and then no conjunct is exact. `detail`: count what each
    conjunct prunes alone, which evaluates all of them over all files. `consequences`: predicates
    that follow from the conjuncts, as a range does from `year(d) = 1995 AND month(d) = 3`; they
    rule out what the conjuncts do not, one by one. `among`: only these
    files are in question; None: all.

    >>> from tamis.evaluate.example import FILES
    >>> from tamis.expr.nodes import Column, Compare, Comparison, Literal
    >>> from tamis.expr.types import LONG
    >>> above = Compare(Comparison.GREATER, Column(("c",), LONG), Literal(5, LONG))
    >>> decision = decide([above], [Segment(slice(0, 4), FILES)], files=4)
    >>> decision.kept.tolist(), str(decision.conjuncts[0].pushdown)
    ([False, True, True, True], 'inexact')
    """
    kept = np.ones(files, np.bool_) if among is None else among.copy()
    # What is to be true together rules out more than each alone: x < 5 AND x > 10 every file.
    order = Order(narrowed_conjuncts([*conjuncts, *consequences]))
    for segment in segments:
        # A file in two segments is kept only if both keep it: what either proves is true.
        narrow(kept, segment, order)
    exact = proven(conjuncts, segments, kept)
    pruned = [_pruned(conjunct, segments, files) if detail else None for conjunct in conjuncts]
    outcomes = tuple(
        Outcome(Pushdown.EXACT, None, count)
        if ordinal in exact
        else _static(conjunct, segments, count)
        for ordinal, (conjunct, count) in enumerate(zip(conjuncts, pruned, strict=True))
    )
    return ScanDecision(kept, outcomes)


class Order:
    """Conjuncts in the order in which they are evaluated, which learns from every block."""

    def __init__(self, conjuncts: Sequence[Expr]) -> None:
        self._costs = [(conjunct, cost_of(conjunct)) for conjunct in conjuncts]
        self._asked = dict.fromkeys(range(len(conjuncts)), 0)
        self._passed = dict.fromkeys(range(len(conjuncts)), 0)

    def __iter__(self) -> Iterator[tuple[int, Expr, float]]:
        """Ordinal, conjunct and its cost, the most promising first."""
        several = len(self._costs) > 1
        for ordinal in sorted(self._asked, key=self._rank) if several else self._asked:
            yield ordinal, *self._costs[ordinal]

    def _rank(self, ordinal: int) -> float:
        """Cost per container ruled out; of a conjunct that was not asked yet, half are."""
        asked, passed = self._asked[ordinal], self._passed[ordinal]
        ruled_out = 0.5 if asked == 0 else (asked - passed) / asked
        return self._costs[ordinal][1] / (ruled_out + 0.001)

    def saw(self, ordinal: int, asked: int, passed: int) -> None:
        self._asked[ordinal] += asked
        self._passed[ordinal] += passed


def blocks(statistics: Statistics) -> Iterator[tuple[slice, Statistics]]:
    """The containers in blocks of BLOCK, and where each lies."""
    count = statistics.num_containers
    for start in range(0, count, BLOCK):
        stop = min(start + BLOCK, count)
        yield slice(start, stop), statistics.slice(start, stop)


def kept_blocks(
    segments: Sequence[Segment], kept: Flags
) -> Iterator[tuple[npt.NDArray[np.intp], Statistics]]:
    """The files that are kept and that a segment covers, block by block: ordinals and statistics.

    A file in two segments comes twice, unless its flag is cleared before: flags are read anew for
    each block.
    """
    for segment in segments:
        whole = segment.ordinals
        for place, block in blocks(segment.statistics):
            if isinstance(whole, slice):
                first = whole.start or 0
                ordinals = np.arange(first + place.start, first + place.stop, dtype=np.intp)
            else:
                ordinals = whole[place]
            rows = np.flatnonzero(kept[ordinals])
            if len(rows):
                yield ordinals[rows], block.take(rows)


def narrow(kept: Flags, segment: Segment, order: Order) -> None:
    """Clear the flags of the files of a segment that hold no row, or that a conjunct rules out."""
    if isinstance(segment.ordinals, slice):
        # A view. A fresh array of a million flags costs more than the comparisons do: its pages
        # come from the system, one fault each.
        rule_out(kept[segment.ordinals], segment.statistics, order)
        return
    survivors = kept[segment.ordinals]
    rule_out(survivors, segment.statistics, order)
    kept[segment.ordinals] = survivors


def rule_out(survivors: Flags, statistics: Statistics, order: Order) -> None:
    """Clear the flags of the containers that hold no row, or that a conjunct rules out."""
    empty = statistics.empty()
    if empty is not None:
        survivors &= ~empty
    for place, block in blocks(statistics):
        mask = survivors[place]  # a view: what is written to it stays
        left = int(np.count_nonzero(mask))
        for ordinal, conjunct, cost in order:
            if left == 0:
                break
            if left * (cost + _GATHER) < len(mask) * cost:
                rows = np.flatnonzero(mask)
                mask[rows] = truth(conjunct, block.take(rows)).can_be_true
            else:
                np.logical_and(mask, truth(conjunct, block).can_be_true, out=mask)
            asked, left = left, int(np.count_nonzero(mask))
            order.saw(ordinal, asked, left)


def proven(conjuncts: Sequence[Expr], segments: Sequence[Segment], kept: Flags) -> frozenset[int]:
    """The conjuncts that are true of every row of every file that is kept.

    Of no file at all, every conjunct is; but what rests on a declaration never is. Of some file a
    conjunct of thousands of parts hardly is, and nobody looks.
    """
    if not _covered(segments, kept):
        return frozenset()
    candidates = enumerate(conjuncts)
    exact = {
        ordinal
        for ordinal, each in candidates
        if not (kept.any() and (loss_of(each) or is_long(each))) and not relies_on_declaration(each)
    }
    forms = {ordinal: together(conjuncts[ordinal]) for ordinal in exact}
    for segment in segments:
        survivors = kept[segment.ordinals]
        for place, block in blocks(segment.statistics):
            if not exact:
                return frozenset()
            if not survivors[place].any():
                continue
            chosen, asked = _chosen(block, survivors[place])
            exact -= {each for each in exact if not all_true(forms[each], chosen, asked)}
    return frozenset(exact)


def _chosen(block: Statistics, asked: Flags) -> tuple[Statistics, Flags]:
    """The containers that are asked for, and others among them, which the flags tell apart.

    Files that lie side by side are looked at where they are: gathering costs more.
    """
    rows = np.flatnonzero(asked)
    start, stop = int(rows[0]), int(rows[-1]) + 1
    if len(rows) < (stop - start) * _MOST:
        return block.take(rows), YES
    return block.slice(start, stop), YES if len(rows) == stop - start else asked[start:stop]


def together(conjunct: Expr) -> Expr:
    """The conjunct with its ranges put together, if it has more than one."""
    return narrowed(conjunct) if isinstance(conjunct, And | Or | Not) else conjunct


def _covered(segments: Sequence[Segment], kept: Flags) -> bool:
    """Whether every file that is kept has statistics; of the others nothing is proven."""
    everything = slice(0, len(kept))
    if any(isinstance(each.ordinals, slice) and each.ordinals == everything for each in segments):
        return True
    uncovered = kept.copy()
    for segment in segments:
        uncovered[segment.ordinals] = False
    return not uncovered.any()


def all_true(conjunct: Expr, statistics: Statistics, asked: Flags = YES) -> bool:
    """Whether the conjunct is true of every row of the containers that are asked for."""
    truths = truth(conjunct, statistics)
    return not ((truths.can_be_false & asked).any() or (truths.can_be_null & asked).any())


def _pruned(conjunct: Expr, segments: Sequence[Segment], files: int) -> int:
    """How many files the conjunct alone rules out, the empty ones among them."""
    kept = np.ones(files, np.bool_)
    for segment in segments:
        narrow(kept, segment, Order(narrowed_conjuncts([conjunct])))
    return int(files - np.count_nonzero(kept))


def _static(conjunct: Expr, segments: Sequence[Segment], pruned: int | None) -> Outcome:
    """What the conjunct is good for by the kinds of statistics that there are."""
    capabilities = capabilities_of(conjunct, (segment.statistics for segment in segments))
    classified = classify(conjunct, capabilities)
    if classified.pushdown is Pushdown.EXACT:
        # A constant, and files without statistics: these it did not rule out.
        why = reason("FILES_WITHOUT_STATISTICS", predicate=to_sql(conjunct))
        return Outcome(Pushdown.INEXACT, why, pruned)
    loss = loss_of(conjunct)
    if classified.pushdown is Pushdown.INEXACT and loss is not None:
        return Outcome(Pushdown.INEXACT, loss_reason(conjunct, loss), pruned)
    return Outcome(classified.pushdown, classified.reason, pruned)
