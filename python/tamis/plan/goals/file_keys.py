"""Derive the first key of an ORDER BY in every file of a scan from the files' statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Edge, Flags, is_always
from tamis.evaluation.domain.exact_counts import UNCERTAIN
from tamis.evaluation.interpreter import truth, value
from tamis.evaluation.statistics import Statistics
from tamis.evaluation.udf.declared_calls import relies_on_declaration
from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import Column, Expr, type_of
from tamis.expr.types import CALENDAR_INTERVAL, DataType
from tamis.files.segments import Segment
from tamis.plan.goals.aggregate_functions import Function
from tamis.plan.goals.contributions import is_attained
from tamis.plan.goals.first_passing import passes_first
from tamis.plan.goals.fully_matching import fully_matching
from tamis.plan.goals.sort_keys import Group, KeyOfFiles, Numbers, Ordinals, SortKey, joined
from tamis.plan.known_true import NOTHING, KnownTrue
from tamis.plan.ranges.interval_search import MadeUp
from tamis.plan.scan_decision import kept_blocks
from tamis.plan.subset_statistics import SubsetStatistics

__all__ = ["constant_of_edge", "key_of_files", "matching_files"]


def key_of_files(
    key: SortKey, conjuncts: Sequence[Expr], segments: Sequence[Segment], kept: Flags
) -> KeyOfFiles | None:
    """Return the key of the rows that pass, for the kept files that a segment covers.

    None if nothing is known about it.
    """
    data_type = type_of(key.expr)
    if data_type is None or data_type == CALENDAR_INTERVAL or relies_on_declaration(key.expr):
        return None
    excluded = _excluded(key.expr, data_type, conjuncts)
    left = kept.copy()
    parts = []
    any_known = False
    for ordinals, chosen in kept_blocks(segments, left):
        bounds = value(key.expr, chosen)
        if bounds is None or bounds.type != data_type:
            return None
        left[ordinals] = False
        nulls = _nulls_of(key.expr, bounds, chosen)
        part = _part(key.descending, ordinals, bounds, nulls, excluded)
        if isinstance(key.expr, Column):
            nearest = Function.MAX if key.descending else Function.MIN
            passes = passes_first(key.expr, key.descending, conjuncts, chosen, bounds)
            part = replace(
                part,
                attained=is_attained(nearest, chosen, key.expr, len(ordinals)) | passes,
                passes=passes & part.may_be[Group.VALUE],
            )
        parts.append(part)
        any_known |= not (bounds.lower is bounds.upper is None and is_always(bounds.can_be_null))
    if not any_known:
        return None
    return _joined(parts)


def matching_files(
    key: SortKey,
    file_keys: KeyOfFiles,
    conjuncts: Sequence[Expr],
    segments: Sequence[Segment],
    kept: Flags,
    known: KnownTrue = NOTHING,
) -> Flags:
    """Return one flag per file of the scan, set if all rows whose key is not NULL pass.

    Rows with a NULL key must pass as well, unless no such row of any file can pass. For example,
    with `c > 5` the flag is set for a file with c in 6 .. 9 and some NULLs. No NULL passes, so only
    the other rows count, and their number is known if the number of NULLs is.
    """
    if isinstance(key.expr, Column) and not file_keys.may_be[Group.NULL].any():
        column = key.expr
        segments = [
            Segment(each.ordinals, SubsetStatistics(each.statistics, "can_be_null", column))
            for each in segments
        ]
    return fully_matching(conjuncts, segments, kept, known)


def _excluded(expr: Expr, data_type: DataType, conjuncts: Sequence[Expr]) -> set[Group]:
    """Return the groups without a row that passes.

    `c > 5` is true for no NULL. `c < 5` is true for no NULL and no NaN.
    """
    if not isinstance(expr, Column):
        return set()
    edge = pa.array([b"1"], pa.large_binary()) if data_type.is_text else np.array([1])
    if data_type.is_decimal and not data_type.is_discrete:
        edge = pa.array([1], pa.decimal128(38, data_type.scale or 0))
    # There is no value, so these edges bound nothing. Rules that compute with edges need some.
    nothing = Bounds(data_type, edge, edge, NO, NO, NO)
    made_up = {Group.NULL: replace(nothing, can_be_null=YES)}
    if data_type.is_floating:
        made_up[Group.NAN] = replace(nothing, can_be_nan=YES)
    usable = [each for each in conjuncts if not relies_on_declaration(each)]
    return {
        group
        for group, bounds in made_up.items()
        if any(not truth(each, MadeUp(expr, bounds, 1)).can_be_true.any() for each in usable)
    }


def _nulls_of(expr: Expr, bounds: Bounds, statistics: Statistics) -> Numbers:
    """Return the number of rows that hold NULL, UNKNOWN where it is not certain."""
    if not isinstance(expr, Column) or not bounds.can_be_null.any():
        return UNCERTAIN.nulls
    return statistics.certain(expr).nulls


def _part(
    descending: bool,
    ordinals: Ordinals,
    bounds: Bounds,
    nulls: Numbers,
    excluded: set[Group],
) -> KeyOfFiles:
    count = len(ordinals)
    lower, upper = _edge(bounds, True, count), _edge(bounds, False, count)
    flags = {
        Group.NULL: bounds.can_be_null,
        Group.VALUE: bounds.can_be_value,
        Group.NAN: bounds.can_be_nan,
    }
    may_be = {
        group: np.broadcast_to(NO if group in excluded else each, count)
        for group, each in flags.items()
    }
    return KeyOfFiles(
        descending,
        ordinals,
        upper if descending else lower,
        lower if descending else upper,
        np.zeros(count, np.bool_),
        np.zeros(count, np.bool_),
        may_be,
        np.where(np.broadcast_to(bounds.can_be_null, count), nulls, 0),
    )


def _edge(bounds: Bounds, is_lower: bool, count: int) -> Edge:
    """Return an edge with one entry per container."""
    edge = bounds.lower if is_lower else bounds.upper
    data_type = bounds.type
    if edge is None:
        if data_type.is_floating:
            return np.full(count, -np.inf if is_lower else np.inf)
        if data_type.is_discrete:
            return np.full(count, data_type.domain[0 if is_lower else 1])
        arrow = pa.decimal128(38, data_type.scale or 0) if data_type.is_decimal else None
        return pa.nulls(count, arrow or pa.large_binary())
    if isinstance(edge, np.ndarray):
        return np.broadcast_to(edge, count)
    return edge if len(edge) == count else edge.take(pa.array(np.zeros(count, np.int64)))


def _joined(parts: Sequence[KeyOfFiles]) -> KeyOfFiles:
    if len(parts) == 1:
        return parts[0]

    def each(pick: Callable[[KeyOfFiles], Any]) -> Any:
        return joined([pick(part) for part in parts])

    return KeyOfFiles(
        parts[0].descending,
        each(lambda part: part.ordinals),
        each(lambda part: part.near),
        each(lambda part: part.far),
        each(lambda part: part.attained),
        each(lambda part: part.passes),
        {group: np.concatenate([part.may_be[group] for part in parts]) for group in Group},
        each(lambda part: part.nulls),
    )


def constant_of_edge(edge: Any, expr: Expr) -> int | str | None:
    """Return an edge of a column in the form in which expression documents write constants.

    None if there is no edge, or no such form. It is also None for floating-point types, because
    Parquet readers order -0.0 and 0.0 differently from Spark.
    """
    data_type = type_of(expr)
    if edge is None or data_type is None or not isinstance(expr, Column):
        return None
    if data_type.is_decimal:
        scale = data_type.scale or 0
        value = edge.as_py() if isinstance(edge, pa.Scalar) else from_unscaled(int(edge), scale)
        return format(value, "f")
    if data_type.is_discrete and data_type.name != "boolean":
        return int(edge)
    if data_type.name != "string":
        return None
    try:
        text: str = edge.as_py().decode()
    except UnicodeDecodeError:  # truncated within a character
        return None
    return text
