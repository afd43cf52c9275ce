"""floor, ceil, round and bround: each of them monotone, so the edges map to the edges.

Floor and ceil of a double give a BIGINT, of a decimal a decimal without fraction. Round to a scale
of a double goes through its decimal digits in Spark (BigDecimal of its shortest text), so that the
edge is bracketed here: two steps in the last place of the result and one part in 10 ** 15 outward.
"""

from __future__ import annotations

import numpy as np

from tamis.evaluate import exact
from tamis.evaluate.arithmetic import fits, numbers
from tamis.evaluate.bounds import Bounds
from tamis.evaluate.interval import Interval, Numbers, result
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import LONG

__all__ = ["bround", "ceil", "floor", "round_half_up"]

#: Doubles from here on are beyond BIGINT, and clipped by Spark.
_LONG_END = 2.0**63


def floor(call: Call, statistics: Statistics) -> Bounds | None:
    return _whole(call, statistics, up=False)


def ceil(call: Call, statistics: Statistics) -> Bounds | None:
    return _whole(call, statistics, up=True)


def _whole(call: Call, statistics: Statistics, up: bool) -> Bounds | None:
    found = numbers(call, statistics, 1)
    if found is None:
        return None
    x = found[0]
    if x.type.is_integral and call.type == x.type:
        return result(call.type, x.lower, x.upper, x)
    if x.type.is_floating and call.type == LONG:
        whole = np.ceil if up else np.floor
        inside = (x.lower > -_LONG_END) & (x.upper < _LONG_END)
        edges = [whole(np.where(inside, each, 0.0)).astype(np.int64) for each in (x.lower, x.upper)]
        # NaN as BIGINT is 0.
        return result(call.type, edges[0], edges[1], x, proven=inside & ~x.can_be_nan)
    if x.type.is_decimal and call.type.is_decimal and call.type.scale == 0:
        unit = exact.power_of_ten(x.type.scale or 0)
        if unit is None:
            return None
        edges = [
            exact.ceil_divide(each, unit) if up else each // unit for each in (x.lower, x.upper)
        ]
        return result(call.type, edges[0], edges[1], x, proven=_fits(call, edges[0], edges[1]))
    return None


def _fits(call: Call, lower: Numbers, upper: Numbers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return fits(call.type, lower, upper)


def round_half_up(call: Call, statistics: Statistics) -> Bounds | None:
    return _round(call, statistics, half_up=True)


def bround(call: Call, statistics: Statistics) -> Bounds | None:
    return _round(call, statistics, half_up=False)


def _round(call: Call, statistics: Statistics, half_up: bool) -> Bounds | None:
    found = numbers(call, statistics, 2)
    match call.arguments:
        case (_, Literal(value=int(scale))) if found is not None:
            x = found[0]
        case _:
            return None
    if x.type.is_decimal and call.type.is_decimal:
        return _round_decimal(call, x, scale, half_up)
    if x.type.is_integral and call.type == x.type:
        return result(call.type, x.lower, x.upper, x) if scale >= 0 else None
    if x.type.name == "double" and call.type == x.type and 0 <= scale <= 15:
        return _round_double(call, x, scale)
    return None


def _round_decimal(call: Call, x: Interval, scale: int, half_up: bool) -> Bounds | None:
    held = x.type.scale or 0
    if scale < 0 or call.type.scale != min(scale, held):
        return None
    unit = exact.power_of_ten(max(held - scale, 0))
    if unit is None:
        return None
    edges = [exact.divide_half_up(each, unit) for each in (x.lower, x.upper)]
    # Half to even differs from half up by one at a half: bracketed.
    if not half_up and unit > 1:
        edges = [x.lower // unit, exact.ceil_divide(x.upper, unit)]
    return result(call.type, edges[0], edges[1], x, proven=_fits(call, edges[0], edges[1]))


def _round_double(call: Call, x: Interval, scale: int) -> Bounds:
    """|round(x) - x| is at most half a unit, and the result the nearest double to that."""
    half = 0.5 * 10.0**-scale
    with np.errstate(all="ignore"):
        lower = x.lower - half - np.abs(x.lower) * 1e-15 - 1e-300
        upper = x.upper + half + np.abs(x.upper) * 1e-15 + 1e-300
    unclear = np.isnan(lower) | np.isnan(upper)  # infinity minus infinity
    lower = np.where(unclear, -np.inf, lower)
    upper = np.where(unclear, np.inf, upper)
    return result(call.type, lower, upper, x)
