"""Functions that choose among their arguments: coalesce, if, CASE, greatest, least, nanvl.

The result is one of the arguments, so it lies in the hull of those that may be chosen. An argument
that cannot be chosen in a container (its condition is never true there, an earlier one never NULL)
does not count there: neither its values nor that it may be NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluate.bounds import NO, YES, Bounds, Edge, Flags
from tamis.evaluate.flags import all_of, any_of
from tamis.evaluate.interpreter import truth, value
from tamis.evaluate.interval import Interval, interval
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.text import same_length
from tamis.evaluate.truth import TruthSet
from tamis.expr.nodes import Call
from tamis.expr.types import DOUBLE, FLOAT, DataType

__all__ = ["case_when", "choose", "coalesce", "greatest", "hull", "is_nan", "least", "nanvl"]

Choice = tuple[Bounds, Flags]


def _values(call: Call, statistics: Statistics) -> list[Bounds] | None:
    found = [value(argument, statistics) for argument in call.arguments]
    same = [each for each in found if each is not None and each.type == call.type]
    return same if same and len(same) == len(found) else None


def coalesce(call: Call, statistics: Statistics) -> Bounds | None:
    """The first argument that is not NULL."""
    found = _values(call, statistics)
    if found is None:
        return None
    choices: list[Choice] = []
    reached = YES
    for each in found:
        choices.append((replace(each, can_be_null=NO), reached))
        reached = all_of((reached, each.can_be_null))
    return replace(hull(call.type, choices), can_be_null=reached)


def choose(call: Call, statistics: Statistics) -> Bounds | None:
    """if(condition, x, y): y where the condition is false or NULL."""
    return case_when(call, statistics) if len(call.arguments) == 3 else None


def case_when(call: Call, statistics: Statistics) -> Bounds | None:
    """CASE WHEN c1 THEN x1 … ELSE y END: arguments in this order; without ELSE it is NULL."""
    choices: list[Choice] = []
    reached = YES
    branches = len(call.arguments) // 2
    for ordinal in range(branches):
        condition, chosen = call.arguments[2 * ordinal : 2 * ordinal + 2]
        truths = truth(condition, statistics)
        found = value(chosen, statistics)
        if found is None or found.type != call.type:
            return None
        choices.append((found, all_of((reached, truths.can_be_true))))
        reached = all_of((reached, any_of((truths.can_be_false, truths.can_be_null))))
    if len(call.arguments) % 2:
        found = value(call.arguments[-1], statistics)
        if found is None or found.type != call.type:
            return None
    else:
        found = Bounds(call.type, None, None, YES, NO, NO)
    choices.append((found, reached))
    return hull(call.type, choices)


def nanvl(call: Call, statistics: Statistics) -> Bounds | None:
    """x unless it is NaN, then y."""
    found = _values(call, statistics)
    if found is None or len(found) != 2:
        return None
    x, y = found
    return hull(call.type, [(replace(x, can_be_nan=NO), YES), (y, x.can_be_nan)])


def is_nan(call: Call, statistics: Statistics) -> TruthSet:
    """False of NULL, and never NULL itself; but an argument that may be anything may raise."""
    x = value(call.arguments[0], statistics) if len(call.arguments) == 1 else None
    if x is None or x.type not in (FLOAT, DOUBLE):
        return TruthSet.anything()
    may_raise = all_of((x.can_be_null, x.can_be_nan, x.can_be_value))
    return TruthSet(x.can_be_nan, any_of((x.can_be_value, x.can_be_null)), may_raise)


def greatest(call: Call, statistics: Statistics) -> Bounds | None:
    """The greatest that is not NULL, NaN above all: at least each argument that is never NULL."""
    found = _values(call, statistics)
    if found is None:
        return None
    whole = _one_of(call.type, found)
    numbers = [interval(each) for each in found]
    lower = whole.lower
    if isinstance(lower, np.ndarray):
        for each in numbers:
            assert each is not None
            counts = each.can_be_value & ~each.can_be_null
            lower = np.where(counts, np.maximum(lower, each.lower), lower)
    return replace(whole, lower=lower)


def least(call: Call, statistics: Statistics) -> Bounds | None:
    """The least that is not NULL: at most each argument that is always an ordinary value."""
    found = _values(call, statistics)
    if found is None:
        return None
    whole = _one_of(call.type, found)
    numbers = [interval(each) for each in found]
    upper = whole.upper
    if isinstance(upper, np.ndarray):
        for each in numbers:
            assert each is not None
            counts = each.can_be_value & ~each.can_be_null & ~each.can_be_nan
            upper = np.where(counts, np.minimum(upper, each.upper), upper)
    return replace(whole, upper=upper)


def _one_of(data_type: DataType, found: Sequence[Bounds]) -> Bounds:
    """One of the arguments; NULL only where all of them are."""
    null = all_of(each.can_be_null for each in found)
    return replace(hull(data_type, [(each, YES) for each in found]), can_be_null=null)


def hull(data_type: DataType, choices: Sequence[Choice]) -> Bounds:
    """The bounds of a value that is one of these, each where it may be chosen."""
    flags = [
        any_of(all_of((reached, getattr(each, name))) for each, reached in choices)
        for name in ("can_be_null", "can_be_nan", "can_be_value")
    ]
    if data_type.is_discrete or data_type.is_floating:
        lower, upper = _numeric_hull(data_type, choices)
    else:
        lower = _arrow_hull([(c.lower, all_of((r, c.can_be_value))) for c, r in choices], True)
        upper = _arrow_hull([(c.upper, all_of((r, c.can_be_value))) for c, r in choices], False)
        if lower is not None and upper is not None:
            lower, upper = same_length(lower, upper)
    return Bounds(data_type, lower, upper, flags[0], flags[1], flags[2])


def _numeric_hull(data_type: DataType, choices: Sequence[Choice]) -> tuple[Edge, Edge]:
    floating = data_type.is_floating
    least_value, greatest_value = (-np.inf, np.inf) if floating else data_type.domain
    lower = np.array([greatest_value], np.float64 if floating else np.int64)
    upper = np.array([least_value], np.float64 if floating else np.int64)
    for each, reached in choices:
        x: Interval | None = interval(each)
        assert x is not None
        counts = all_of((reached, each.can_be_value))
        lower = np.where(counts, np.minimum(lower, x.lower), lower)
        upper = np.where(counts, np.maximum(upper, x.upper), upper)
    # Where nothing may be chosen: no edges that cross.
    crossed = lower > upper
    return np.where(crossed, least_value, lower), np.where(crossed, greatest_value, upper)


def _arrow_hull(edges: Sequence[tuple[Any, Flags]], lowest: bool) -> pa.Array | None:
    """Null where an edge that counts is not known."""
    if any(edge is None and counts.any() for edge, counts in edges):
        return None
    known = [(edge, counts) for edge, counts in edges if edge is not None]
    if not known:
        return None
    size = max(max(len(edge), len(counts)) for edge, counts in known)
    columns, unknown = [], np.zeros(size, np.bool_)
    for edge, counts in known:
        mask = np.broadcast_to(counts, (size,))
        whole = edge.take(pa.array(np.zeros(size, np.int64))) if len(edge) == 1 != size else edge
        columns.append(pc.if_else(pa.array(mask), whole, pa.scalar(None, whole.type)))
        unknown |= mask & whole.is_null().to_numpy(zero_copy_only=False)
    combine = pc.min_element_wise if lowest else pc.max_element_wise
    found = columns[0] if len(columns) == 1 else combine(*columns, skip_nulls=True)
    return pc.if_else(pa.array(unknown), pa.scalar(None, found.type), found)
