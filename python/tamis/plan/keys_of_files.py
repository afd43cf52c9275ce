"""The first key of an ORDER BY in every file of a scan, from what is known of the files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.evaluate.bounds import NO, YES, Bounds, Edge, Flags, is_always
from tamis.evaluate.certain import UNCERTAIN, certain_of
from tamis.evaluate.declared import relies_on_declaration
from tamis.evaluate.interpreter import truth, value
from tamis.evaluate.statistics import Statistics
from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import Column, Expr, type_of
from tamis.expr.types import CALENDAR_INTERVAL, DataType
from tamis.plan.cells import MadeUp
from tamis.plan.contributions import Function, is_attained
from tamis.plan.fully_matching import fully_matching
from tamis.plan.scan import Segment, kept_blocks
from tamis.plan.sort_keys import Group, KeyOfFiles, Numbers, Ordinals, SortKey, joined
from tamis.plan.without import Without

__all__ = ["constant_of_edge", "key_of_files", "matching_files"]


def key_of_files(
    key: SortKey, conjuncts: Sequence[Expr], segments: Sequence[Segment], kept: Flags
) -> KeyOfFiles | None:
    """The key of the rows that pass, in the files that are kept and that a segment covers.

    None: nothing is known of it.
    """
    data_type = type_of(key.expr)
    if data_type is None or data_type == CALENDAR_INTERVAL or relies_on_declaration(key.expr):
        return None
    excluded = _excluded(key.expr, data_type, conjuncts)
    left = kept.copy()
    parts = []
    told = False
    for ordinals, chosen in kept_blocks(segments, left):
        bounds = value(key.expr, chosen)
        if bounds is None or bounds.type != data_type:
            return None
        left[ordinals] = False
        nulls = _nulls_of(key.expr, bounds, chosen)
        part = _part(key.descending, ordinals, bounds, nulls, excluded)
        if isinstance(key.expr, Column):
            nearest = Function.MAX if key.descending else Function.MIN
            part = replace(part, attained=is_attained(nearest, chosen, key.expr, len(ordinals)))
        parts.append(part)
        told |= not (bounds.lower is bounds.upper is None and is_always(bounds.can_be_null))
    if not told:
        return None
    return _joined(parts)


def matching_files(
    key: SortKey,
    of: KeyOfFiles,
    conjuncts: Sequence[Expr],
    segments: Sequence[Segment],
    kept: Flags,
) -> Flags:
    """One flag a file of the scan: all rows pass whose key is not NULL, and where a row may pass
    whose key is NULL, all rows do.

    So of `c > 5` a file is with c in 6 .. 9 and some NULLs: where no NULL passes, it is enough to
    look at the others, and their number is known where that of the NULLs is.
    """
    if isinstance(key.expr, Column) and not of.may_be[Group.NULL].any():
        column = key.expr
        segments = [
            Segment(each.ordinals, Without("can_be_null", column, each.statistics))
            for each in segments
        ]
    return fully_matching(conjuncts, segments, kept)


def _excluded(expr: Expr, data_type: DataType, conjuncts: Sequence[Expr]) -> set[Group]:
    """The groups of which no row passes: `c > 5` is true of no NULL, `c < 5` of no NaN either."""
    if not isinstance(expr, Column):
        return set()
    edge = pa.array([b"1"], pa.large_binary()) if data_type.is_text else np.array([1])
    if data_type.is_decimal and not data_type.is_discrete:
        edge = pa.array([1], pa.decimal128(38, data_type.scale or 0))
    # Edges of no value say nothing; rules that compute with edges want some.
    nothing = Bounds(data_type, edge, edge, NO, NO, NO)
    made_up = {Group.NULL: replace(nothing, can_be_null=YES)}
    if data_type.is_floating:
        made_up[Group.NAN] = replace(nothing, can_be_nan=YES)
    told = [each for each in conjuncts if not relies_on_declaration(each)]
    return {
        group
        for group, bounds in made_up.items()
        if any(not truth(each, MadeUp(expr, bounds, 1)).can_be_true.any() for each in told)
    }


def _nulls_of(expr: Expr, bounds: Bounds, statistics: Statistics) -> Numbers:
    """How many rows hold NULL, where that is certain; UNKNOWN elsewhere."""
    if not isinstance(expr, Column) or not bounds.can_be_null.any():
        return UNCERTAIN.nulls
    return certain_of(statistics, expr).nulls


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
        may_be,
        np.where(np.broadcast_to(bounds.can_be_null, count), nulls, 0),
    )


def _edge(bounds: Bounds, is_lower: bool, count: int) -> Edge:
    """An edge with an entry for each container."""
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
        {group: np.concatenate([part.may_be[group] for part in parts]) for group in Group},
        each(lambda part: part.nulls),
    )


def constant_of_edge(edge: Any, expr: Expr) -> int | str | None:
    """An edge of a column as expression documents write constants; None: they do not, or no edge.

    Not of floating types: readers of Parquet order zeros in a way of their own.
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
    except UnicodeDecodeError:  # cut within a character
        return None
    return text
