"""Answers to the goal of an aggregate, from its documents and the statistics of the scan."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.domain.registers import sketch_kind
from tamis.expr.nodes import Column, Expr, Value
from tamis.expr.rewrites import simplify
from tamis.expr.sql import to_sql
from tamis.plan.goals.aggregate import Answered, MayOverflowError, NotTextError, answer
from tamis.plan.goals.aggregate_functions import Aggregate, Function
from tamis.plan.goals.file_keys import key_of_files
from tamis.plan.goals.fully_matching import fully_matching
from tamis.plan.goals.group_contributions import recorded
from tamis.plan.goals.sort_keys import SortKey
from tamis.plan.goals.topk_sample import guessed_at_near, sample_of_extremes
from tamis.plan.goals.unraised_errors import files_that_may_raise
from tamis.plan.passing_rows import passing_segments
from tamis.serve.goals.goal_context import GoalContext, nothing
from tamis.serve.goals.sample_costs import rows_and_costs
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.constants import plain_constant
from tamis.wire.goals import (
    AggregateAnswer,
    AggregateGoal,
    GoalAnswer,
    NothingAnswer,
    PartialDocument,
    SampleDocument,
)
from tamis.wire.kept import encode_kept

__all__ = ["answer_aggregates"]

#: The most groups that an answer has. They become rows of the plan.
_MOST_GROUPS: Final = 10_000
#: The most bytes of registers in an answer: those of 10,000 groups under the default deviation.
_MOST_REGISTERS: Final = 10_000 * 416


def answer_aggregates(goal: AggregateGoal, context: GoalContext) -> GoalAnswer | None:
    """Return the files that statistics answer for, with their values, or why there are none.

    None: only recorded aggregates could answer it, and no index of these files has any.
    """
    parts = [part for each in goal.aggregates for part in (each.argument, each.filter)]
    documents = [part for part in parts if part is not None]
    # decoded together, because the documents state a time zone only once
    decoded = decode_conjuncts([*documents, *goal.by])
    by = decoded[len(documents) :]
    aggregates = _aggregates(goal, decoded[: len(documents)])
    scan, kept = context.scan, context.decision.kept
    needs_recorded = bool(by) or any(not _may_be_known(each) for each in aggregates)
    has_recorded = any(segment.statistics.grouped() for segment in scan.segments)
    if needs_recorded and not has_recorded:
        return None
    columns = [column for column in by if isinstance(column, Column)]
    if len(columns) < len(by):
        return nothing("AGGREGATE_NOT_UNDERSTOOD", aggregate=f"GROUP BY {_names(by)}")
    strange = next((each for each in aggregates if _is_strange(each)), None)
    if strange is not None:
        return nothing("AGGREGATE_NOT_UNDERSTOOD", aggregate=_name(strange))
    matching = fully_matching(context.conjuncts, scan.segments, kept, context.decision.known)
    found = _answered(goal, aggregates, columns, matching, needs_recorded, context)
    left = found.left if isinstance(found, Answered) else kept
    sample = (
        None if goal.sample is None else _sample(goal.sample, aggregates, matching, left, context)
    )
    first = None if sample is None else encode_kept(sample)
    if isinstance(found, NothingAnswer):
        return found if first is None else AggregateAnswer(encode_kept(kept), 0, 0, [], first)
    groups = [
        PartialDocument(
            partial.key,
            [_constant(*each) for each in zip(aggregates, partial.values, strict=True)],
            [plain_constant(value) for value in partial.by],
        )
        for partial in found.partials
    ]
    return AggregateAnswer(encode_kept(found.left), found.covered, found.skipped, groups, first)


def _answered(
    goal: AggregateGoal,
    aggregates: list[Aggregate],
    columns: list[Column],
    matching: Flags,
    needs_recorded: bool,
    context: GoalContext,
) -> Answered | NothingAnswer:
    """Return the part that statistics answer, or why there is none."""
    scan, kept = context.scan, context.decision.kept
    has_recorded = any(segment.statistics.grouped() for segment in scan.segments)
    passing = passing_segments(context.conjuncts, scan.segments, context.decision.learnt)
    may_be_known = has_recorded or matching.any() or bool(context.decision.learnt)
    if kept.any() and (scan.num_records is None or not may_be_known):
        return nothing("AGGREGATE_NOT_COVERED")
    records = scan.num_records
    if records is None:  # then no file is kept
        records = np.zeros(len(kept), np.int64)
    raising = files_that_may_raise(context.conjuncts, scan.segments, kept & ~matching)
    keys = _keys(goal, scan.directories)

    def answered_for(some: list[Aggregate]) -> Answered:
        return answer(
            some,
            scan.segments,
            kept,
            matching,
            records,
            keys,
            raising,
            by=columns,
            conjuncts=context.conjuncts,
            passing=passing,
        )

    def is_unknown(one: Aggregate) -> bool:
        return answered_for([one]).is_nothing

    try:
        answered = answered_for(aggregates)
        if answered.is_nothing and kept.any():
            for each in aggregates:
                # the FILTER is the reason if nothing is missing without it
                whole = replace(each, filter=None)
                if whole != each and is_unknown(each) and not is_unknown(whole):
                    return nothing("AGGREGATE_FILTER_NOT_DECIDED", aggregate=_name(each))
            if needs_recorded:
                return _not_recorded(aggregates, columns, context)
            if not matching.any():
                return nothing("AGGREGATE_NOT_COVERED")
            with_column = [each for each in aggregates if each.column is not None]
            return _not_certain([*filter(is_unknown, with_column)] or with_column)
    except NotTextError as problem:
        return _not_certain([problem.aggregate])
    except MayOverflowError as problem:
        return nothing("AGGREGATE_MAY_OVERFLOW", aggregate=_name(problem.aggregate))
    if len(answered.partials) > _MOST_GROUPS or _registers(answered) > _MOST_REGISTERS:
        return nothing("AGGREGATE_HAS_MANY_GROUPS", groups=len(answered.partials))
    return answered


def _sample(
    sample: SampleDocument,
    aggregates: list[Aggregate],
    matching: Flags,
    left: Flags,
    context: GoalContext,
) -> Flags | None:
    """Return the files to read first, of those that are left; None: it does not pay off.

    None as well if a filter may raise an error: plain Spark evaluates it in each of these files.
    """
    conjuncts, segments = context.conjuncts, context.scan.segments
    known = rows_and_costs(sample, matching, left, context)
    if known is None or files_that_may_raise(conjuncts, segments, left & ~matching).any():
        return None
    passing = passing_segments(conjuncts, segments, context.decision.learnt)
    keys = []
    for each in aggregates:
        if each.column is None or each.function not in (Function.MIN, Function.MAX):
            return None
        key = SortKey(each.column, each.function is Function.MAX, False, True)
        of_files = key_of_files(key, conjuncts, passing, left)
        if of_files is None:
            return None
        likely = matching[of_files.ordinals] | of_files.passes
        keys.append((key, guessed_at_near(of_files, likely)))
    expected, reading = known
    return sample_of_extremes(keys, expected, reading, sample.least * 1e6, left)


def _aggregates(goal: AggregateGoal, decoded: list[Expr]) -> list[Aggregate]:
    parts = iter(decoded)
    return [
        Aggregate(
            Function(each.function),
            None if each.argument is None else next(parts),
            int(each.limit or 0),
            None if each.filter is None else simplify(next(parts)),
            None if each.sketch is None else sketch_kind(each.sketch.deviation, each.sketch.spark),
        )
        for each in goal.aggregates
    ]


def _may_be_known(aggregate: Aggregate) -> bool:
    """Return whether statistics other than recorded aggregates may answer it, or say why not."""
    is_unknown = aggregate.argument is not None and aggregate.subject is None
    return aggregate.is_of_column or (is_unknown and not aggregate.function.is_recorded)


def _is_strange(aggregate: Aggregate) -> bool:
    if aggregate.argument is None:
        return aggregate.function is not Function.COUNT
    is_sketch = aggregate.function is Function.DISTINCT
    return aggregate.subject is None or is_sketch != (aggregate.sketch is not None)


def _registers(answered: Answered) -> int:
    """Return the number of bytes of registers of an answer."""
    values = (value for partial in answered.partials for value in partial.values)
    # MIN and MAX of BINARY count, too, and are as long
    return sum(len(value) for value in values if isinstance(value, bytes))


def _constant(aggregate: Aggregate, value: Value) -> bool | int | float | str | None:
    # JSON readers may read large whole numbers as floating-point numbers
    is_sum = aggregate.function is Function.SUM and value is not None
    return str(value) if is_sum else plain_constant(value)


def _name(aggregate: Aggregate) -> str:
    argument = "" if aggregate.argument is None else to_sql(aggregate.argument)
    call = f"{aggregate.function}({argument})"
    return call if aggregate.filter is None else f"{call} FILTER (WHERE {to_sql(aggregate.filter)})"


def _names(by: list[Expr]) -> str:
    return ", ".join(map(to_sql, by))


def _keys(goal: AggregateGoal, directories: npt.NDArray[np.int32]) -> npt.NDArray[np.intp] | None:
    if goal.keys is None:
        return None
    return np.array(goal.keys, np.intp)[directories]


def _not_recorded(
    aggregates: list[Aggregate], by: list[Column], context: GoalContext
) -> NothingAnswer:
    """Return the reason why recorded aggregates answer for no file."""
    found = [
        (grouped, None not in [grouped.place_of(column) for column in by])
        for segment in context.scan.segments
        for grouped in segment.statistics.grouped()
    ]
    name = " BY " + _names([*by]) if by else ""
    for each in aggregates:
        if each.is_of_column and not by:
            continue
        if not any(fits and recorded(grouped, each) is not None for grouped, fits in found):
            return nothing("AGGREGATE_NOT_RECORDED", aggregate=_name(each) + name)
    if by and not any(fits for _, fits in found):
        return nothing("AGGREGATE_NOT_RECORDED", aggregate=f"DISTINCT {_names([*by])}")
    return nothing("AGGREGATE_NOT_COVERED")


def _not_certain(aggregates: list[Aggregate]) -> NothingAnswer:
    """Return the reason for the first aggregate of a column. Callers pass only uncertain ones."""
    for each in aggregates:
        if each.column is not None:
            column = ".".join(each.column.path)
            name = f"{each.function}({column})"
            return nothing("AGGREGATE_NOT_CERTAIN", aggregate=name, column=column)
    return nothing("AGGREGATE_NOT_COVERED")
