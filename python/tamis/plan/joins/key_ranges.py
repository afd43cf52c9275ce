"""Compute the ranges that a join key can have, from the files of one side of the join.

An inner join on a.k = b.k returns rows only where both keys are equal, and NULL equals nothing. The
key of every row that the scan of a returns lies in the range of one of its files:

    files of a that its filter keeps     ranges of k        combined
    a3                                   30 .. 39
    a4                                   38 .. 49           30 .. 49  OR  90 .. 99
    a9                                   90 .. 99

So a file of b without a key in these ranges has no row with a match. If the range of one file of a
is not known, nothing follows. PruneForJoins decides, for each join, which sides may lose rows
without a match.

A filter of a can limit the key further than the files do, for example year(k) = 1995.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import Column, Expr, In, IsNull, Not, walk
from tamis.expr.rewrites import conjoin
from tamis.expr.types import DataType
from tamis.files.segments import Segment
from tamis.plan.joins.key_bounds import Ends, Values, ends_of
from tamis.plan.ranges.implied_ranges import Interval
from tamis.plan.ranges.interval_search import MadeUp, possible_runs
from tamis.plan.ranges.prefix_search import whole_characters

__all__ = ["key_ranges"]

#: The most ranges of an answer. Each is evaluated against each file of the other side.
_MOST: Final = 16
#: Conjuncts with longer IN lists are not used.
_LONG_LIST: Final = 1_000


def key_ranges(
    key: Expr, conjuncts: Sequence[Expr], segments: Sequence[Segment], kept: Flags
) -> tuple[Interval, ...] | None:
    """Return intervals that contain every ordinary value of the key in the kept files.

    Returns:
        Disjoint intervals in ascending order. Empty if no row has an ordinary value; None if the
        range of some kept file is not known, or no SQL constant can express an end.

    >>> import tamis.evaluation.nodes.operators  # fills the registries
    >>> from tamis.files.example import FILES
    >>> from tamis.expr.types import LONG
    >>> c = Column(("c",), LONG)
    >>> key_ranges(c, [], [Segment(slice(0, 2), FILES.slice(0, 2))], np.array([True, True]))
    (Interval(lower=3, upper=7, upper_open=False),)
    """
    ends = ends_of(key, segments, kept)
    if ends is None or ends.unknown:
        return None
    lower, upper = _disjoint(ends)
    lower, upper = _within(_runs_of(key, conjuncts, segments, kept), lower, upper)
    lower, upper = _few(lower, upper, ends.type)
    intervals = [
        _interval(low, high, ends.type)
        for low, high in zip(lower.tolist(), upper.tolist(), strict=True)
    ]
    return None if None in intervals else tuple(each for each in intervals if each is not None)


def _disjoint(ends: Ends) -> tuple[Values, Values]:
    """Merge the ranges that overlap or touch, in ascending order."""
    order = np.argsort(ends.lower, kind="stable")
    lower, upper = ends.lower[order], ends.upper[order]
    if not len(lower):
        return lower, upper
    reached = np.maximum.accumulate(upper)
    starts = np.ones(len(lower), np.bool_)
    starts[1:] = lower[1:] > reached[:-1]
    if ends.type.is_discrete:
        # Integers touch if one directly follows the other. A greater value is not the least one,
        # so the subtraction does not overflow where it matters.
        starts[1:] &= lower[1:] - 1 > reached[:-1]
    stops = np.append(np.flatnonzero(starts)[1:] - 1, len(lower) - 1)
    return lower[starts], reached[stops]


def _runs_of(
    key: Expr, conjuncts: Sequence[Expr], segments: Sequence[Segment], kept: Flags
) -> Sequence[tuple[Any, Any]] | None:
    """Return the runs of key values outside which the filter is true for no row; None if unknown.

    If the key is an expression of a column, the filter limits the column to some runs, and the
    files hold only parts of these. The values of the key are then those of the expression over
    made-up containers that hold one such part each.
    """
    columns = {node.path: node for node in walk(key) if isinstance(node, Column)}
    if len(columns) != 1:
        return None
    (column,) = columns.values()
    about = [each for each in conjuncts if _names(each, column)]
    # `k IS NOT NULL` is true for every value of k, so that alone it leaves no run out.
    if not column.type.is_discrete or all(_is_not_null(each) for each in about):
        return None
    runs = possible_runs(conjoin(about), column)
    if runs is None or key == column:
        return runs
    column_ends = ends_of(column, segments, kept)
    if column_ends is None or column_ends.unknown:
        return None
    lower, upper = _few(*_within(runs, *_disjoint(column_ends)), column.type)
    count = len(lower)
    made_up = MadeUp(column, Bounds(column.type, lower, upper, NO, NO, YES), count)
    ends = ends_of(key, [Segment(slice(0, count), made_up)], np.ones(count, np.bool_))
    if ends is None or ends.unknown:
        return None
    starts, stops = _disjoint(ends)
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def _is_not_null(conjunct: Expr) -> bool:
    match conjunct:
        case Not(child=IsNull(child=Column())):
            return True
        case _:
            return False


def _names(conjunct: Expr, column: Column) -> bool:
    nodes = list(walk(conjunct))
    if any(isinstance(node, In) and len(node.options) > _LONG_LIST for node in nodes):
        return False
    return any(isinstance(node, Column) and node.path == column.path for node in nodes)


def _within(
    runs: Sequence[tuple[Any, Any]] | None, lower: Values, upper: Values
) -> tuple[Values, Values]:
    """Return the parts of the ranges that lie in the runs, which are ascending and disjoint."""
    if runs is None:
        return lower, upper
    if not len(runs):
        return lower[:0], upper[:0]
    hits = [(lower <= stop) & (upper >= start) for start, stop in runs]
    lows = [np.maximum(lower[h], start) for h, (start, _) in zip(hits, runs, strict=True)]
    highs = [np.minimum(upper[h], stop) for h, (_, stop) in zip(hits, runs, strict=True)]
    return np.concatenate(lows), np.concatenate(highs)  # ascending, because the runs are


def _few(lower: Values, upper: Values, data_type: DataType) -> tuple[Values, Values]:
    """Merge ranges until at most _MOST are left.

    The widest gaps stay. If the type has no measure for gaps, one range is left.
    """
    if len(lower) <= _MOST:
        return lower, upper
    if not data_type.is_discrete:
        return lower[:1], upper[-1:]
    gaps = lower[1:].astype(np.float64) - upper[:-1].astype(np.float64)
    widest = np.sort(np.argsort(-gaps, kind="stable")[: _MOST - 1])
    return lower[np.append(0, widest + 1)], upper[np.append(widest, len(upper) - 1)]


def _interval(low: Any, high: Any, data_type: DataType) -> Interval | None:
    """Return the interval, or None if no SQL constant can express an end."""
    if data_type.is_discrete and data_type.scale is not None:
        # Files may hold more digits than their type allows, and bounds may be wider still.
        if max(-low, high) >= 10 ** (data_type.precision or 0):
            return None
        return Interval(from_unscaled(low, data_type.scale), from_unscaled(high, data_type.scale))
    if data_type.is_discrete or data_type.is_decimal:
        return Interval(low, high)
    # A prefix of a lower end is not above it, so cutting is sound. A prefix of an upper end would
    # be below it, so an upper end must consist of whole characters.
    text = whole_characters(high)
    return Interval(whole_characters(low), text) if text.encode() == high else None
