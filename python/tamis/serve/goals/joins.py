"""Answer to the goal of a join: the files whose keys may occur on the other side.

A file has no row with a match if no key in it lies in the ranges of the other side's keys (see
plan.joins.key_ranges). The shim asks only where rows without a match may be left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.evaluation.udf.udf_guard import UdfGuard
from tamis.expr.nodes import (
    And,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    Literal,
    type_of,
    walk,
)
from tamis.expr.rewrites import disjoin
from tamis.expr.sql import to_sql
from tamis.expr.types import DataType
from tamis.indexing.read.reader_options import loses_rows_to, reading_of
from tamis.plan.goals.unraised_errors import files_that_may_raise
from tamis.plan.joins.key_ranges import key_ranges
from tamis.plan.passing_rows import passing_segments
from tamis.plan.ranges.implied_ranges import Interval
from tamis.plan.scan_decision import kept_files
from tamis.serve.goals.goal_context import GoalContext, nothing
from tamis.serve.scans.implied_ranges import ranges_of
from tamis.serve.scans.scan_files import decide_files, read_conjuncts
from tamis.tables.parquet import open_scan
from tamis.wire.catalyst import decode
from tamis.wire.goals import FilesAnswer, GoalAnswer, JoinGoal, KeySource, NothingAnswer
from tamis.wire.kept import encode_kept

__all__ = ["answer_join"]


def answer_join(goal: JoinGoal, context: GoalContext) -> GoalAnswer:
    """Return the files with rows that can have a match, or why all of them may."""
    key = decode(goal.key)
    parts = [] if goal.others is None else [decode(goal.others)]
    for source in goal.sources:
        ranges = _in_ranges(key, source)
        if isinstance(ranges, NothingAnswer):
            return ranges
        parts.append(ranges)
    kept, segments = context.decision.kept, context.scan.segments
    # only rows that pass are joined
    passing = passing_segments((), segments, context.decision.learnt)
    confined = kept_files(context.conjuncts, passing, len(kept), [disjoin(parts)], kept)
    confined |= files_that_may_raise(context.conjuncts, segments, kept & ~confined)
    if np.array_equal(confined, kept):
        columns = [".".join(node.path) for node in walk(key) if isinstance(node, Column)]
        return nothing("KEY_RANGE_COVERS", column=columns[0] if columns else to_sql(key))
    return FilesAnswer(encode_kept(confined))


def _in_ranges(key: Expr, source: KeySource) -> Expr | NothingAnswer:
    """Return the predicate that a key may equal one of a source, or why its keys are unknown."""
    request, source_key = source.scan, decode(source.key)
    data_type = type_of(source_key)
    scan = open_scan(request)
    conjuncts = read_conjuncts(request, UdfGuard())
    files = decide_files(request, scan, conjuncts, ranges_of(request, conjuncts))
    reading = None if request.reading is None else reading_of(request.reading)
    is_losing = reading is not None and any(loses_rows_to(reading, each) for each in conjuncts)
    intervals = None
    if data_type is not None and data_type == type_of(key) and not is_losing:
        # the keys that matter are those of rows that pass
        segments = passing_segments(conjuncts, scan.segments, files.learnt)
        intervals = key_ranges(source_key, conjuncts, segments, files.kept)
    if data_type is None or intervals is None:
        return nothing("KEY_RANGE_UNKNOWN", key=to_sql(source_key))
    return _lies_in(key, intervals, data_type)


def _lies_in(key: Expr, intervals: Sequence[Interval], data_type: DataType) -> Expr:
    """Return the predicate that a key lies in intervals that include both ends."""
    points = tuple(each.lower for each in intervals if each.lower == each.upper)
    spans = [
        And(
            (
                Compare(Comparison.GREATER_EQUAL, key, Literal(each.lower, data_type)),
                Compare(Comparison.LESS_EQUAL, key, Literal(each.upper, data_type)),
            )
        )
        for each in intervals
        if each.lower != each.upper
    ]
    return disjoin([*spans, In(key, points)] if points else spans)
