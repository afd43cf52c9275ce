"""Decide which files a scan needs, and how each of its conjuncts is pushed down.

The first pass goes over all files. It evaluates can_be_true of the conjuncts in blocks that fit the
cache, cheap and selective conjuncts first, and leaves a block once none of its files is left.

The second pass goes over the files that are left. A conjunct that is true for every row of all of
them is exact and leaves the plan. For each conjunct the pass ends at the first block that disproves
this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tamis.classification import classify
from tamis.classification.capabilities import capabilities_of
from tamis.classification.pushdown import Pushdown
from tamis.evaluation.domain.bounds import YES, Flags
from tamis.evaluation.evaluated import evaluated_together
from tamis.evaluation.interpreter import truth
from tamis.evaluation.nodes.ranges import is_long, narrowed, narrowed_conjuncts
from tamis.evaluation.statistics import Statistics
from tamis.evaluation.subdivision import subdivided, subdivided_conjuncts
from tamis.evaluation.udf.declared_calls import relies_on_declaration
from tamis.expr.nodes import And, Expr, Not, Or
from tamis.expr.sql import to_sql
from tamis.files.segments import BLOCK, Segment
from tamis.plan.cost import container_cost
from tamis.plan.group_pruning import all_true_in_groups, rule_out_by_groups
from tamis.plan.known_true import NOTHING, KnownTrue
from tamis.plan.passing_rows import LearntValues, passing_columns, rule_out_by_passing_rows
from tamis.plan.reader_losses import loss_of, loss_reason
from tamis.reasons import Reason, reason

__all__ = [
    "Order",
    "Outcome",
    "ScanDecision",
    "all_true",
    "blocks",
    "decide",
    "kept_blocks",
    "kept_files",
    "narrow",
    "proven",
    "rule_out",
    "together",
    "with_known_true",
]

#: The cost of gathering the statistics of one container, in the unit of `container_cost`.
_GATHER = 15.0

#: If at least this share of a stretch of files is needed, all of it is evaluated without gathering.
_MOST = 1 / 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was decided for one conjunct.

    - `pruned_files`: the number of files that this conjunct alone rules out, None if not counted.
    - `is_remembered`: whether it is exact because of what earlier scans have found.
    """

    pushdown: Pushdown
    reason: Reason | None
    pruned_files: int | None
    is_remembered: bool = False


@dataclass(frozen=True, slots=True)
class ScanDecision:
    """What was decided for a scan.

    - `kept`: one flag per file, in the order of the listing.
    - `conjuncts`: one outcome per conjunct, in the order of the conjuncts.
    - `remembered`: how many files only earlier scans have ruled out.
    - `known`: what earlier scans have found true for every row.
    - `learnt`: what earlier scans have found of the rows that pass, by the ordinals of the files.
    """

    kept: Flags
    conjuncts: tuple[Outcome, ...]
    remembered: int = 0
    known: KnownTrue = NOTHING
    learnt: tuple[LearntValues, ...] = ()


def decide(
    conjuncts: Sequence[Expr],
    segments: Sequence[Segment],
    files: int,
    detail: bool = False,
    consequences: Sequence[Expr] = (),
    among: Flags | None = None,
) -> ScanDecision:
    """Decide which files are needed by a scan that is filtered by all of the conjuncts.

    A file that no segment covers is kept, and then no conjunct is exact.

    Args:
        conjuncts: The conjuncts of the filter.
        segments: The statistics of the files.
        files: The number of files.
        detail: Whether to count the files that each conjunct prunes alone. This evaluates all
            conjuncts over all files.
        consequences: Predicates that follow from the conjuncts, such as the range that follows from
            `year(d) = 1995 AND month(d) = 3`. They rule out files that no conjunct rules out alone.
        among: One flag per file, set for the files to consider. None means all.

    >>> from tamis.files.example import FILES
    >>> from tamis.expr.nodes import Column, Compare, Comparison, Literal
    >>> from tamis.expr.types import LONG
    >>> above = Compare(Comparison.GREATER, Column(("c",), LONG), Literal(5, LONG))
    >>> decision = decide([above], [Segment(slice(0, 4), FILES)], files=4)
    >>> decision.kept.tolist(), str(decision.conjuncts[0].pushdown)
    ([False, True, True, True], 'inexact')
    """
    kept = kept_files(conjuncts, segments, files, consequences, among)
    exact = proven(conjuncts, segments, kept)
    pruned = [_pruned(conjunct, segments, files) if detail else None for conjunct in conjuncts]
    outcomes = tuple(
        Outcome(Pushdown.EXACT, None, count)
        if ordinal in exact
        else _static(conjunct, segments, count)
        for ordinal, (conjunct, count) in enumerate(zip(conjuncts, pruned, strict=True))
    )
    return ScanDecision(kept, outcomes)


def with_known_true(
    decision: ScanDecision,
    conjuncts: Sequence[Expr],
    segments: Sequence[Segment],
    known: KnownTrue,
) -> ScanDecision:
    """Return the decision with what earlier scans have found true, for the same conjuncts.

    A conjunct becomes exact if each kept file has a proof that it is true for every row: an earlier
    scan, or statistics. As for `proven`, a conjunct is not exact if it relies on a declaration, or
    if Spark's reader may lose rows that pass it.
    """

    def is_exact(ordinal: int) -> bool:
        conjunct = conjuncts[ordinal]
        if relies_on_declaration(conjunct) or (decision.kept.any() and loss_of(conjunct)):
            return False
        rest = known.without_files(ordinal, decision.kept)
        return not rest.any() or bool(proven([conjunct], segments, rest))

    outcomes = tuple(
        Outcome(Pushdown.EXACT, None, each.pruned_files, is_remembered=True)
        if each.pushdown is not Pushdown.EXACT and ordinal in known.files and is_exact(ordinal)
        else each
        for ordinal, each in enumerate(decision.conjuncts)
    )
    return replace(decision, conjuncts=outcomes, known=known)


def kept_files(
    conjuncts: Sequence[Expr],
    segments: Sequence[Segment],
    files: int,
    consequences: Sequence[Expr] = (),
    among: Flags | None = None,
) -> Flags:
    """Return one flag per file, set if a scan needs the file: `decide` without the outcomes."""
    kept = np.ones(files, np.bool_) if among is None else among.copy()
    # Together, conjuncts rule out more than one by one: x < 5 AND x > 10 rules out every file.
    order = Order([*conjuncts, *consequences])
    for segment in segments:
        # A file in two segments is kept only if both keep it. What either of them proves is true.
        narrow(kept, segment, order)
    return kept


class Order:
    """Conjuncts in the order of evaluation, which adapts after every block.

    - `forms`: what is evaluated, with the ranges of each column as one.
    - `passing`: what may be known of the rows that pass, see plan.passing_rows.
    """

    def __init__(self, conjuncts: Sequence[Expr]) -> None:
        narrowed_ones = narrowed_conjuncts(conjuncts)
        self.forms = (*subdivided_conjuncts(narrowed_ones), *evaluated_together(narrowed_ones))
        self.passing = passing_columns(conjuncts)
        self._costs = [(form, container_cost(form)) for form in self.forms]
        self._evaluated = dict.fromkeys(range(len(self.forms)), 0)
        self._passed = dict.fromkeys(range(len(self.forms)), 0)

    def __iter__(self) -> Iterator[tuple[int, Expr, float]]:
        """Yield the ordinal, conjunct and cost of each conjunct, the most promising one first."""
        several = len(self._costs) > 1
        for ordinal in sorted(self._evaluated, key=self._rank) if several else self._evaluated:
            yield ordinal, *self._costs[ordinal]

    def _rank(self, ordinal: int) -> float:
        """Return the cost per container ruled out, assuming half of them before any evaluation."""
        evaluated, passed = self._evaluated[ordinal], self._passed[ordinal]
        ruled_out = 0.5 if evaluated == 0 else (evaluated - passed) / evaluated
        return self._costs[ordinal][1] / (ruled_out + 0.001)

    def saw(self, ordinal: int, evaluated: int, passed: int) -> None:
        self._evaluated[ordinal] += evaluated
        self._passed[ordinal] += passed


def blocks(statistics: Statistics) -> Iterator[tuple[slice, Statistics]]:
    """Yield the containers in blocks of BLOCK, with the place of each block."""
    count = statistics.num_containers
    for start in range(0, count, BLOCK):
        stop = min(start + BLOCK, count)
        yield slice(start, stop), statistics.slice(start, stop)


def kept_blocks(
    segments: Sequence[Segment], kept: Flags
) -> Iterator[tuple[npt.NDArray[np.intp], Statistics]]:
    """Yield the ordinals and statistics of the kept files that a segment covers, block by block.

    A file in two segments occurs twice unless its flag is cleared in between: the flags are read
    again for each block.
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
        # This slice is a view. A new array of a million flags would cost more than the comparisons,
        # because each of its pages causes a page fault.
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
        mask = survivors[place]  # a view, so writes to it change `survivors`
        left = int(np.count_nonzero(mask))
        for ordinal, conjunct, cost in order:
            if left == 0:
                break
            if left * (cost + _GATHER) < len(mask) * cost:
                rows = np.flatnonzero(mask)
                mask[rows] = truth(conjunct, block.take(rows)).can_be_true
            else:
                np.logical_and(mask, truth(conjunct, block).can_be_true, out=mask)
            evaluated, left = left, int(np.count_nonzero(mask))
            order.saw(ordinal, evaluated, left)
        if left:
            rule_out_by_groups(mask, block, order.forms)
            rule_out_by_passing_rows(mask, block, order.forms, order.passing)


def proven(conjuncts: Sequence[Expr], segments: Sequence[Segment], kept: Flags) -> frozenset[int]:
    """Return the ordinals of the conjuncts that are true for every row of every kept file.

    If no file is kept, these are all conjuncts. If a kept file has no statistics, there are none. A
    conjunct that relies on a declaration is never included. If some file is kept, two more kinds of
    conjuncts are not included: those that Spark's reader may lose rows of, and those of thousands
    of parts, which are rarely true for all rows and therefore not evaluated.
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
            chosen, wanted = _chosen(block, survivors[place])
            exact -= {each for each in exact if not all_true(forms[each], chosen, wanted)}
    return frozenset(exact)


def _chosen(block: Statistics, wanted: Flags) -> tuple[Statistics, Flags]:
    """Return statistics that include the wanted containers, and flags that mark the wanted ones.

    A dense stretch of containers is returned as a slice, because gathering costs more.
    """
    rows = np.flatnonzero(wanted)
    start, stop = int(rows[0]), int(rows[-1]) + 1
    if len(rows) < (stop - start) * _MOST:
        return block.take(rows), YES
    return block.slice(start, stop), YES if len(rows) == stop - start else wanted[start:stop]


def together(conjunct: Expr) -> Expr:
    """Return the conjunct with its ranges combined, if it can have more than one, and in cells."""
    return subdivided(narrowed(conjunct) if isinstance(conjunct, And | Or | Not) else conjunct)


def _covered(segments: Sequence[Segment], kept: Flags) -> bool:
    """Return whether every kept file has statistics. Nothing is proven about other files."""
    everything = slice(0, len(kept))
    if any(isinstance(each.ordinals, slice) and each.ordinals == everything for each in segments):
        return True
    uncovered = kept.copy()
    for segment in segments:
        uncovered[segment.ordinals] = False
    return not uncovered.any()


def all_true(conjunct: Expr, statistics: Statistics, wanted: Flags = YES) -> bool:
    """Return whether the conjunct is true for every row of the wanted containers."""
    truths = truth(conjunct, statistics)
    if not ((truths.can_be_false & wanted).any() or (truths.can_be_null & wanted).any()):
        return True
    unproven = (truths.can_be_false | truths.can_be_null) & wanted
    return all_true_in_groups(conjunct, statistics, unproven)


def _pruned(conjunct: Expr, segments: Sequence[Segment], files: int) -> int:
    """Return the number of files that the conjunct alone rules out, including empty ones."""
    kept = np.ones(files, np.bool_)
    for segment in segments:
        narrow(kept, segment, Order([conjunct]))
    return int(files - np.count_nonzero(kept))


def _static(conjunct: Expr, segments: Sequence[Segment], pruned: int | None) -> Outcome:
    """Return the outcome of a conjunct that is not exact, given the kinds of statistics."""
    capabilities = capabilities_of(conjunct, (segment.statistics for segment in segments))
    classified = classify(conjunct, capabilities)
    if classified.pushdown is Pushdown.EXACT:
        # A constant, but some files have no statistics, so it did not rule them out.
        why = reason("FILES_WITHOUT_STATISTICS", predicate=to_sql(conjunct))
        return Outcome(Pushdown.INEXACT, why, pruned)
    loss = loss_of(conjunct)
    if classified.pushdown is Pushdown.INEXACT and loss is not None:
        return Outcome(Pushdown.INEXACT, loss_reason(conjunct, loss), pruned)
    return Outcome(classified.pushdown, classified.reason, pruned)
