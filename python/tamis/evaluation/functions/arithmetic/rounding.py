"""floor, ceil, round and bround. All are monotone, so edges map to edges.

floor and ceil of a DOUBLE give a BIGINT; of a decimal they give a decimal without a fraction. To
round a DOUBLE to a scale, Spark rounds its decimal digits (BigDecimal of its shortest text). The
edges are not computed that way here but moved outward by half a unit plus a relative margin: 1e-15
for DOUBLE, 1e-6 for FLOAT.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import YES, Bounds
from tamis.evaluation.domain.interval import Interval, Numbers, result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.arithmetic.number_bounds import fits, numbers
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.interpreter import ValueRule
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import LONG

__all__ = ["ENTRIES", "ceil", "floor", "rounded_to_scale"]

#: Doubles from 2 ** 63 on are beyond BIGINT. Spark clips them.
_LONG_END = 2.0**63


def floor(call: Call, statistics: Statistics) -> Bounds | None:
    return _whole(call, statistics, up=False)


def ceil(call: Call, statistics: Statistics) -> Bounds | None:
    return _whole(call, statistics, up=True)


def _whole(call: Call, statistics: Statistics, up: bool) -> Bounds | None:
    operands = numbers(call, statistics, 1)
    if operands is None:
        return None
    x = operands[0]
    if x.type.is_integral and call.type == x.type:
        return result(call.type, x.lower, x.upper, x)
    if x.type.is_floating and call.type == LONG:
        whole = np.ceil if up else np.floor
        inside = (x.lower > -_LONG_END) & (x.upper < _LONG_END)
        edges = [whole(np.where(inside, each, 0.0)).astype(np.int64) for each in (x.lower, x.upper)]
        # Spark casts NaN to 0, which may lie outside of the edges.
        return result(call.type, edges[0], edges[1], x, proven=inside & ~x.can_be_nan)
    if x.type.is_decimal and call.type.is_decimal and call.type.scale == 0:
        unit = int64_overflow.power_of_ten(x.type.scale or 0)
        if unit is None:
            return None
        edges = [
            int64_overflow.ceil_divide(each, unit) if up else each // unit
            for each in (x.lower, x.upper)
        ]
        return result(call.type, edges[0], edges[1], x, proven=_fits(call, edges[0], edges[1]))
    return None


def _fits(call: Call, lower: Numbers, upper: Numbers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return fits(call.type, lower, upper)


class _Mode(StrEnum):
    HALF_UP = "half up"
    HALF_EVEN = "half even"
    FLOOR = "floor"
    CEILING = "ceiling"


def rounded_to_scale(mode: str) -> ValueRule:
    """Return the rule of round, bround, floor and ceil to a constant scale.

    The scale may be negative.
    """
    how = _Mode(mode)

    def rule(call: Call, statistics: Statistics) -> Bounds | None:
        operands = numbers(call, statistics, 2)
        match call.arguments:
            case (_, Literal(value=int(scale))) if operands is not None:
                x = operands[0]
            case _:
                return None
        if x.type.is_decimal and call.type.is_decimal:
            return _round_decimal(call, x, scale, how)
        if x.type.is_integral and call.type == x.type:
            return _rounded(call, x, -scale, max(-scale, 0), how)
        if x.type.is_floating and call.type == x.type and abs(scale) <= 15:
            return _round_floating(call, x, scale)
        return None

    return rule


def _round_decimal(call: Call, x: Interval, scale: int, how: _Mode) -> Bounds | None:
    own_scale = x.type.scale or 0
    if call.type.scale != max(min(scale, own_scale), 0):
        return None
    return _rounded(call, x, own_scale - scale, max(-scale, 0), how)


def _rounded(call: Call, x: Interval, digits: int, zeros: int, how: _Mode) -> Bounds | None:
    """Round off the last `digits` digits, then append `zeros` zeros."""
    unit, factor = int64_overflow.power_of_ten(max(digits, 0)), int64_overflow.power_of_ten(zeros)
    if unit is None or factor is None:
        return None
    edges = [_quotient(x.lower, unit, how, up=False), _quotient(x.upper, unit, how, up=True)]
    (low, low_exact), (high, high_exact) = (
        int64_overflow.multiply(each, np.array([factor])) for each in edges
    )
    if factor == 1:
        low_exact = high_exact = YES
    proven = low_exact & high_exact & _fits(call, low, high)
    return result(call.type, low, high, x, proven=proven)


def _quotient(edge: Numbers, unit: int, how: _Mode, up: bool) -> Numbers:
    if unit == 1:
        return edge
    # HALF_EVEN rounds halves up or down: bound it by the floor and the ceiling.
    if how is _Mode.CEILING or (how is _Mode.HALF_EVEN and up):
        return int64_overflow.ceil_divide(edge, unit)
    if how is _Mode.HALF_UP:
        return int64_overflow.divide_half_up(edge, unit)
    return edge // unit


def _round_floating(call: Call, x: Interval, scale: int) -> Bounds:
    """|round(x) - x| is at most half a unit; the result is the nearest floating-point number."""
    half = 0.5 * 10.0**-scale
    part, least = (1e-15, 1e-300) if x.type.name == "double" else (1e-6, 1e-37)
    with np.errstate(all="ignore"):
        lower = x.lower - half - (np.abs(x.lower) + half) * part - least
        upper = x.upper + half + (np.abs(x.upper) + half) * part + least
    unclear = np.isnan(lower) | np.isnan(upper)  # infinity minus infinity
    lower = np.where(unclear, -np.inf, lower)
    upper = np.where(unclear, np.inf, upper)
    return result(call.type, lower, upper, x)


ENTRIES: Final = (
    FunctionEntry("Floor", "floor", Knowledge.MONOTONE, floor),
    FunctionEntry("Ceil", "ceil", Knowledge.MONOTONE, ceil),
    FunctionEntry("RoundFloor", "floor(x, n)", Knowledge.MONOTONE, rounded_to_scale("floor")),
    FunctionEntry("RoundCeil", "ceil(x, n)", Knowledge.MONOTONE, rounded_to_scale("ceiling")),
    FunctionEntry("Round", "round", Knowledge.MONOTONE, rounded_to_scale("half up")),
    FunctionEntry("BRound", "bround", Knowledge.MONOTONE, rounded_to_scale("half even")),
)
