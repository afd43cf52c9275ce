"""Explain from the statistics of the files why a conjunct is not exact.

Used where the kinds of statistics alone do not explain it. This is only for explanations, because
it evaluates the conjunct over all files once or twice more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tamis.evaluation import verdicts
from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.functions.function_entry import Knowledge
from tamis.evaluation.functions.registry import FUNCTION_ENTRIES
from tamis.expr.nodes import (
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    Literal,
    Not,
    Or,
    children_of,
    walk,
)
from tamis.expr.sql import to_sql
from tamis.files.segments import Segment
from tamis.files.table import dotted
from tamis.indexing.format.blooms import MAX_OPTIONS
from tamis.indexing.format.value_lists import MAX_VALUES
from tamis.plan.detail.pruning_effects import MOST_TOGETHER
from tamis.plan.subset_statistics import SubsetStatistics
from tamis.reasons import REASONS, Reason, reason

__all__ = ["better_reason"]

#: Codes that `verdicts` returns.
_NONE, _ALL = 0, 2

_SINGLE: Final = frozenset(
    entry.name for entry in FUNCTION_ENTRIES if entry.knowledge is Knowledge.POINT
)
#: Functions whose pattern counts only by its constant prefix, if it has one.
_PATTERNS: Final = frozenset({"Like", "RLike", "Contains"})

_EQUALITIES: Final = frozenset({Comparison.EQUAL, Comparison.NULL_SAFE_EQUAL})


def better_reason(
    conjunct: Expr, why: Reason | None, segments: Sequence[Segment], files: int
) -> Reason | None:
    """Return a more specific reason than `why`, which follows from the kinds of statistics alone.

    `why` itself is returned if it is specific enough, or if there is no better reason.
    """
    if why is None or not REASONS[why.code].is_coarse:
        return why
    return next(_reasons(conjunct, segments, files), why)


def _reasons(conjunct: Expr, segments: Sequence[Segment], files: int) -> Iterator[Reason]:
    verdicts_of_files = _verdicts(conjunct, segments, files)
    mixed = int(np.count_nonzero(verdicts_of_files.mixed))
    few = min(max(2, files // 20), files // 4)
    if mixed <= few and verdicts_of_files.unknown.any():
        yield reason("FILES_WITHOUT_STATISTICS", predicate=to_sql(conjunct))
    if mixed <= few:
        yield reason("ONLY_AT_THE_EDGE", predicate=to_sql(conjunct), files=mixed)
    if isinstance(conjunct, Or):
        yield from _of_branch(conjunct, segments, files)
        return
    columns = {node for node in walk(conjunct) if isinstance(node, Column)}
    if len(columns) != 1:
        return
    (column,) = columns
    described = {"predicate": to_sql(conjunct), "column": dotted(column.path)}
    if column.type.is_floating:
        without = [
            Segment(each.ordinals, SubsetStatistics(each.statistics, "can_be_nan", column))
            for each in segments
        ]
        others = _verdicts(conjunct, without, files)
        if others.may.sum() < verdicts_of_files.may.sum() or others.mixed.sum() < mixed:
            yield reason("MAY_BE_NAN", **described)
    if _is_of_single_values(conjunct):
        yield reason("BOUNDS_DECIDE_SINGLE_VALUES_ONLY", **described)
    helpful = _helpful_kind(conjunct, column, segments, verdicts_of_files.mixed)
    if helpful == "values":
        yield reason("VALUES_NOT_LISTED", **described)
    elif helpful == "bloom":
        yield reason("VALUE_WITHIN_RANGES", **described)


def _of_branch(disjunction: Or, segments: Sequence[Segment], files: int) -> Iterator[Reason]:
    """Yield the reason of the branch that keeps the most files, unless there are many branches."""
    if len(disjunction.parts) > MOST_TOGETHER:
        return
    kept = [_verdicts(part, segments, files).may.sum() for part in disjunction.parts]
    worst = disjunction.parts[int(np.argmax(kept))]
    if len(set(kept)) > 1:
        columns = [node for node in walk(worst) if isinstance(node, Column)]
        name = dotted(columns[0].path) if columns else to_sql(worst)
        coarse = reason("RANGES_OVERLAP", predicate=to_sql(worst), column=name)
        why = better_reason(worst, coarse, segments, files) or coarse
        yield reason("OR_NEEDS_EVERY_BRANCH", because=why.text, then=why.fix or "")


@dataclass(frozen=True, slots=True, eq=False)
class _Verdicts:
    """The verdicts of a conjunct, with one flag per file.

    - `may`: the conjunct does not rule the file out.
    - `mixed`: it does not rule the file out, nor do the file's statistics prove it for all rows.
    - `unknown`: the same, for a file that the index does not know although it knows others.
    """

    may: Flags
    mixed: Flags
    unknown: Flags


def _verdicts(conjunct: Expr, segments: Sequence[Segment], files: int) -> _Verdicts:
    may = np.ones(files, np.bool_)
    every, in_index = np.zeros(files, np.bool_), np.zeros(files, np.bool_)
    for segment in segments:
        codes = verdicts(conjunct, segment.statistics)
        may[segment.ordinals] &= codes != _NONE
        every[segment.ordinals] |= codes == _ALL
        # Only an index knows which files are empty; partition directories do not.
        if segment.statistics.empty() is not None:
            in_index[segment.ordinals] = True
    mixed = may & ~every
    unknown = mixed & ~in_index if in_index.any() else np.zeros(files, np.bool_)
    return _Verdicts(may, mixed & ~unknown, unknown)


def _is_of_single_values(conjunct: Expr) -> bool:
    return any(
        isinstance(node, Call)
        and any(isinstance(each, Column) for each in walk(node))
        and (node.name in _SINGLE or _is_pattern_without_beginning(node))
        for node in walk(conjunct)
    )


def _is_pattern_without_beginning(call: Call) -> bool:
    if call.name not in _PATTERNS:
        return False
    constants = [each.value for each in children_of(call) if isinstance(each, Literal)]
    pattern = next((each for each in constants if isinstance(each, str)), "")
    if call.name == "Contains":
        return True
    return not pattern.startswith("^") if call.name == "RLike" else pattern[:1] in ("", "%", "_")


def _helpful_kind(
    conjunct: Expr, column: Column, segments: Sequence[Segment], mixed: Flags
) -> str | None:
    """Return the kind of row statistics, "values" or "bloom", that decides more files.

    Returns None if neither does, or if they are recorded already. Functions of a column, such as
    LIKE, use neither.
    """
    members = [each.statistics.members(column) for each in segments]
    kinds = {kind for each in members if each is not None for kind in each.parts()}
    if "values" in kinds:
        return None
    match conjunct:
        case Not(child=In(value=Column(), options=options)):
            # A file without a matching row has only values of the list, so its own list is short.
            return "values" if len(options) <= MAX_VALUES else None
        case In(value=Column(), options=options):
            can_use_bloom = len(options) <= MAX_OPTIONS
        case Compare(op=op, left=Column(), right=Literal()) if op in _EQUALITIES:
            can_use_bloom = True
        case Compare(op=op, left=Literal(), right=Column()) if op in _EQUALITIES:
            can_use_bloom = True
        case _:
            return None
    if "bloom" in kinds and can_use_bloom:
        return None
    if _few_values(column, segments, len(mixed))[mixed].all():
        return "values"
    return "bloom" if can_use_bloom else None


def _few_values(column: Column, segments: Sequence[Segment], files: int) -> Flags:
    """Return True for each file whose bounds allow at most as many values as a list has."""
    few = np.zeros(files, np.bool_)
    if not column.type.is_discrete:
        return few
    for segment in segments:
        bounds = segment.statistics.bounds(column)
        if bounds.lower is None or bounds.upper is None:
            continue
        # Unsigned: an unknown edge is the extreme of its type, and the difference may exceed int64.
        widths = np.asarray(bounds.upper).astype(np.uint64) - np.asarray(bounds.lower).astype(
            np.uint64
        )
        # Discrete: between l and u, both included, there are u - l + 1 values.
        few[segment.ordinals] |= widths < MAX_VALUES
    return few
