"""The answer for ORDER BY with LIMIT: files that can hold one of the first rows, and samples."""

from __future__ import annotations

from typing import Any

from tamis.evaluation.domain.bounds import Flags
from tamis.expr.nodes import type_of
from tamis.expr.sql import to_sql
from tamis.plan.goals.file_keys import constant_of_edge, key_of_files, matching_files
from tamis.plan.goals.sort_keys import Group, KeyOfFiles, SortKey
from tamis.plan.goals.ties import FirstFiles, first_by_all
from tamis.plan.goals.topk_sample import samples
from tamis.plan.goals.unraised_errors import files_that_may_raise
from tamis.plan.passing_rows import passing_segments
from tamis.plan.ranges.implied_ranges import plain_domain
from tamis.plan.reader_losses import loses_within
from tamis.serve.goals.goal_context import GoalContext, nothing
from tamis.serve.goals.sample_costs import rows_and_costs
from tamis.wire.catalyst import decode
from tamis.wire.constants import value_of
from tamis.wire.goals import FilesAnswer, GoalAnswer, SampledAnswer, SampleDocument, TopKGoal
from tamis.wire.kept import encode_kept

__all__ = ["answer_topk"]


def answer_topk(goal: TopKGoal, context: GoalContext) -> GoalAnswer:
    kept, scan = context.decision.kept, context.scan
    keys = _keys(goal)
    name = to_sql(keys[0].expr)
    # Only rows that pass matter. Rows are counted only in files in which all pass.
    passing = passing_segments(context.conjuncts, scan.segments, context.decision.learnt)

    def key_of(key: SortKey, files: Flags) -> KeyOfFiles | None:
        return key_of_files(key, context.conjuncts, passing, files)

    first = key_of(keys[0], kept)
    if first is None:
        return nothing("TOPK_KEY_UNKNOWN", key=name)
    matching = matching_files(
        keys[0], first, context.conjuncts, scan.segments, kept, context.decision.known
    )
    found: FirstFiles | None = None
    if goal.sample is None or not goal.sample.only:
        found = first_by_all(goal.rows, keys, key_of, first, matching, scan.num_records, kept)
    raising = files_that_may_raise(context.conjuncts, scan.segments, kept)
    files = kept if found is None else found.files | raising
    # the reader must not skip rows for which a filter would raise
    until = None if found is None or raising.any() else _until(found.position.value, keys[0])
    if goal.sample is not None and not raising.any():
        every = [(keys[0], first), *_others(keys[1:], key_of, kept)]
        chosen = _samples(goal.rows, goal.sample, every, matching, files, context)
        if chosen:
            return SampledAnswer(encode_kept(files), until, [encode_kept(each) for each in chosen])
    if found is None:
        return nothing("TOPK_NOT_COVERED", key=name, rows=goal.rows)
    if files.sum() == kept.sum() > 1:
        if first.may_be[Group.NAN].all():
            return nothing("TOPK_MAY_BE_NAN", key=name)
        return nothing("TOPK_RANGES_OVERLAP", key=name, rows=goal.rows)
    return FilesAnswer(encode_kept(files), until)


def _keys(goal: TopKGoal) -> list[SortKey]:
    """Return the keys that bounds can compare. Only the last one may have no key after it."""
    documents = [(goal.key, goal.descending, goal.nulls_first)]
    documents += [(each.key, each.descending, each.nulls_first) for each in goal.further]
    last = len(documents) - 1
    ends = goal.complete if goal.further else goal.only
    return [
        SortKey(decode(key), descending, nulls_first, ends and place == last)
        for place, (key, descending, nulls_first) in enumerate(documents)
    ]


def _others(keys: list[SortKey], key_of: Any, kept: Flags) -> list[tuple[SortKey, KeyOfFiles]]:
    known = []
    for key in keys:
        of_files = key_of(key, kept)
        if of_files is None:
            break
        known.append((key, of_files))
    return known


def _samples(
    rows: int,
    sample: SampleDocument,
    keys: list[tuple[SortKey, KeyOfFiles]],
    matching: Flags,
    files: Flags,
    context: GoalContext,
) -> list[Flags]:
    known = rows_and_costs(sample, matching & (not sample.only), files, context)
    if known is None:
        return []
    expected, reading = known
    if sample.only:
        expected = expected * _JOINED
    return samples(rows, keys, expected, reading, sample.least * 1e6, files)


#: The guessed share of the rows that a join above the scan keeps.
_JOINED = 0.25


def _until(edge: Any, key: SortKey) -> int | str | None:
    """Return the boundary as a constant for the reader's filter; None if there is none.

    There is none either if Spark's reader would lose rows with such a filter, or would not
    understand it.
    """
    until = constant_of_edge(edge, key.expr)
    data_type = type_of(key.expr)
    if until is None or data_type is None:
        return None
    if isinstance(until, int):
        least, greatest = plain_domain(data_type)
        if not least <= until <= greatest:
            return None
    value = value_of(until, data_type)
    # The rows are at or before the boundary: descending keys are not below it.
    lower, upper = (value, None) if key.descending else (None, value)
    return None if loses_within(lower, upper, data_type) else until
