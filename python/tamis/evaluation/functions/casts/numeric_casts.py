"""CAST between booleans, whole numbers, floating-point numbers and decimals.

All of these casts are monotone. They differ in how they round (toward zero, half up, to the
nearest) and in what they do with a value that the target type cannot hold
(evaluation.functions.casts.conversion).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tamis.evaluation.domain.bounds import NO, Bounds, Flags
from tamis.evaluation.domain.interval import Interval, Numbers, result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.arithmetic.number_bounds import has_zero
from tamis.evaluation.functions.casts.conversion import Conversion, nulled, wrapped
from tamis.expr.types import BOOLEAN, INTEGER

__all__ = [
    "boolean_to_decimal",
    "boolean_to_number",
    "decimal_to_decimal",
    "decimal_to_floating",
    "decimal_to_whole",
    "double_to_decimal",
    "floating_to_floating",
    "floating_to_whole",
    "number_to_boolean",
    "whole_to_decimal",
    "whole_to_floating",
    "whole_to_whole",
]

_LONG_END = 2.0**63
_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def whole_to_whole(x: Interval, conversion: Conversion) -> Bounds:
    return wrapped(x, conversion, x.lower, x.upper)


def whole_to_floating(x: Interval, conversion: Conversion) -> Bounds:
    """Spark rounds to the nearest, as numpy does."""
    dtype = np.float32 if conversion.to.name == "float" else np.float64
    return result(conversion.to, x.lower.astype(dtype), x.upper.astype(dtype), x)


def whole_to_decimal(x: Interval, conversion: Conversion) -> Bounds | None:
    return _rescaled(x, 0, conversion)


def boolean_to_number(x: Interval, conversion: Conversion) -> Bounds:
    """False is 0, true is 1."""
    return result(conversion.to, x.lower, x.upper, x)


def boolean_to_decimal(x: Interval, conversion: Conversion) -> Bounds | None:
    return _rescaled(x, 0, conversion)


def number_to_boolean(x: Interval, conversion: Conversion) -> Bounds:
    """0 is false; every other value, including NaN, is true."""
    may_be_other = ((x.lower != 0) | (x.upper != 0)) & x.can_be_value
    lower = np.where(has_zero(x) & x.can_be_value, 0, 1)
    upper = np.where(may_be_other | x.can_be_nan, 1, 0)
    with_nan = replace(x, can_be_value=x.can_be_value | x.can_be_nan, can_be_nan=NO)
    return result(BOOLEAN, lower, np.maximum(lower, upper), with_nan)


def floating_to_whole(x: Interval, conversion: Conversion) -> Bounds:
    """Spark rounds toward zero.

    LEGACY saturates at the ends of INT and BIGINT, and maps NaN to 0. For types shorter than INT
    it casts to INT first, and the INT wraps around. For NaN and for values beyond the type, ANSI
    raises and TRY gives NULL.
    """
    edges = [_truncated(each) for each in (x.lower, x.upper)]
    if conversion.mode != "LEGACY":
        # The double 2 ** 63 is not a BIGINT, but the saturated edge is, so compare the doubles.
        low, high = edges
        least, greatest = conversion.to.domain
        beyond = (x.lower <= least - 1.0) | (x.upper >= greatest + 1.0)
        return nulled(
            x, conversion, low, high, can_be_null=x.can_be_nan | (beyond & x.can_be_value)
        )
    if conversion.to.name != "long":
        edges = [np.clip(each, *INTEGER.domain) for each in edges]
    zero = x.can_be_nan
    # NaN adds a zero. If NaN is the only value, zero is the only result.
    low = np.where(zero, np.where(x.can_be_value, np.minimum(edges[0], 0), 0), edges[0])
    high = np.where(zero, np.where(x.can_be_value, np.maximum(edges[1], 0), 0), edges[1])
    with_zero = replace(x, can_be_value=x.can_be_value | zero, can_be_nan=NO)
    return wrapped(with_zero, conversion, low, high)


def _truncated(edge: Numbers) -> Numbers:
    """Return the edge rounded toward zero, as saturated 64-bit numbers."""
    inside = (edge > -_LONG_END) & (edge < _LONG_END)
    whole = np.trunc(np.where(inside, edge, 0.0)).astype(np.int64)
    return np.where(inside, whole, np.where(edge > 0, _GREATEST, _LEAST))


def floating_to_floating(x: Interval, conversion: Conversion) -> Bounds:
    """A FLOAT becomes the same DOUBLE; a DOUBLE is rounded to the nearest FLOAT or to infinity."""
    with np.errstate(over="ignore"):
        dtype = np.float32 if conversion.to.name == "float" else np.float64
        return result(conversion.to, x.lower.astype(dtype), x.upper.astype(dtype), x)


def double_to_decimal(x: Interval, conversion: Conversion) -> Bounds | None:
    """Spark rounds the shortest decimal text of the double half up: within one unit of the result.

    A FLOAT is first widened to the same DOUBLE. NaN and infinity give NULL or raise.
    """
    factor = 10.0 ** (conversion.to.scale or 0)
    with np.errstate(all="ignore"):
        low, high = x.lower * factor, x.upper * factor
        inside = (np.abs(low) < 2.0**52) & (np.abs(high) < 2.0**52)
    low, high = (np.where(inside, each, 0.0) for each in (low, high))
    # The products are below 2 ** 52, so a relative error of 2 ** -52 is less than the unit added.
    lower, upper = np.floor(low).astype(np.int64) - 1, np.ceil(high).astype(np.int64) + 1
    return nulled(x, conversion, lower, upper, proven=inside, can_be_null=x.can_be_nan)


def decimal_to_whole(x: Interval, conversion: Conversion) -> Bounds | None:
    """Spark rounds toward zero."""
    unit = int64_overflow.power_of_ten(x.type.scale or 0)
    if unit is None:
        return None
    edges = [int64_overflow.toward_zero(each, unit) for each in (x.lower, x.upper)]
    return wrapped(x, conversion, edges[0], edges[1], proven=x.known)


def decimal_to_floating(x: Interval, conversion: Conversion) -> Bounds:
    """Return bounds with a relative margin: 1e-15 for DOUBLE, 1e-6 for FLOAT."""
    part = 1e-15 if conversion.to.name == "double" else 1e-6
    low, high = (
        each.astype(np.float64) / 10.0 ** (x.type.scale or 0) for each in (x.lower, x.upper)
    )
    return result(conversion.to, low - np.abs(low) * part, high + np.abs(high) * part, x)


def decimal_to_decimal(x: Interval, conversion: Conversion) -> Bounds | None:
    return _rescaled(x, x.type.scale or 0, conversion)


def _rescaled(x: Interval, scale: int, conversion: Conversion) -> Bounds | None:
    """Change the scale of unscaled values to the scale of the target.

    A larger scale multiplies; a smaller one rounds half up, which is monotone. A value out of range
    becomes NULL in LEGACY mode too.
    """
    shift = (conversion.to.scale or 0) - scale
    unit = int64_overflow.power_of_ten(abs(shift))
    if unit is None:
        return None
    known: Flags = x.known
    if shift < 0:
        low, high = (int64_overflow.divide_half_up(each, unit) for each in (x.lower, x.upper))
        return nulled(x, conversion, low, high, proven=known)
    (low, low_exact), (high, high_exact) = (
        int64_overflow.multiply(each, np.array([unit])) for each in (x.lower, x.upper)
    )
    if not conversion.gives_null or not _has_short_digits(conversion):
        return nulled(x, conversion, low, high, proven=known & low_exact & high_exact)
    # A product beyond 64 bits is also beyond a type of up to 18 digits: clip it on its own side.
    low = np.where(low_exact, low, np.where(x.lower < 0, _LEAST, _GREATEST))
    high = np.where(high_exact, high, np.where(x.upper < 0, _LEAST, _GREATEST))
    return nulled(x, conversion, low, high, proven=known)


def _has_short_digits(conversion: Conversion) -> bool:
    return (conversion.to.precision or 0) <= int64_overflow.MAX_POWER
