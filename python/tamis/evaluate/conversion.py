"""What every cast needs to know: the target type, the mode, and the clock.

    evalMode    a value that the target cannot hold
    ANSI        raises
    TRY         is NULL
    LEGACY      wraps around, saturates, or is NULL: that depends on the pair of types

A mode that did not come along counts as one that may do any of these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tamis.evaluate import exact
from tamis.evaluate.arithmetic import fits
from tamis.evaluate.bounds import NO, YES, Bounds, Flags
from tamis.evaluate.interval import Interval, Numbers, result
from tamis.evaluate.zones import Zone
from tamis.expr.types import DataType

__all__ = ["Conversion", "nulled", "only_inside", "wrapped"]


@dataclass(frozen=True, slots=True, eq=False)
class Conversion:
    """A cast to a type: `mode` is ANSI, TRY, LEGACY, or None for any of them."""

    to: DataType
    mode: str | None
    clock: Zone

    @property
    def gives_null(self) -> bool:
        """Whether NULL is what becomes of a value out of range, where LEGACY has no other way."""
        return self.mode in ("TRY", "LEGACY")


def only_inside(
    x: Interval, conversion: Conversion, lower: Numbers, upper: Numbers, proven: Flags = YES
) -> Bounds:
    """A monotone cast that is known where all of its results are values of the target."""
    inside = fits(conversion.to, lower, upper)
    return result(conversion.to, lower, upper, x, proven=proven & inside)


def nulled(
    x: Interval,
    conversion: Conversion,
    lower: Numbers,
    upper: Numbers,
    proven: Flags = YES,
    can_be_null: Flags = NO,
) -> Bounds:
    """A monotone cast, f between f(xl) = lower and f(xu) = upper, that gives NULL out of range.

    What is in range lies in [lower, upper] and in the type, so in what both have in common; there
    are no values where that is nothing.
    """
    if not conversion.gives_null:
        return only_inside(x, conversion, lower, upper, proven & ~can_be_null)
    least, greatest = _ends(conversion.to)
    outside = ~fits(conversion.to, lower, upper)
    meets = (lower <= greatest) & (upper >= least)
    return result(
        conversion.to,
        np.maximum(lower, least),
        np.minimum(upper, greatest),
        replace(x, can_be_value=x.can_be_value & (meets | ~proven)),
        proven=proven,
        can_be_null=(outside & x.can_be_value) | can_be_null,
    )


def _ends(data_type: DataType) -> tuple[int, int]:
    if not data_type.is_decimal:
        return data_type.domain
    limit = exact.power_of_ten(data_type.precision or 0)
    if limit is None:  # 64 bits hold fewer digits than the type
        return np.iinfo(np.int64).min, np.iinfo(np.int64).max
    return 1 - limit, limit - 1


_DTYPES = {"byte": np.int8, "short": np.int16, "integer": np.int32, "long": np.int64}


def wrapped(
    x: Interval, conversion: Conversion, lower: Numbers, upper: Numbers, proven: Flags = YES
) -> Bounds:
    """A monotone cast to whole numbers whose results wrap around (LEGACY), or are NULL (TRY).

    Within one turn of the type, from one multiple of 2 ** bits to the next, wrapping around is
    taking off the same multiple everywhere, so that the order stays.
    """
    if conversion.mode != "LEGACY":
        return nulled(x, conversion, lower, upper, proven)
    dtype = _DTYPES[conversion.to.name]
    low, high = (each.astype(dtype).astype(np.int64) for each in (lower, upper))
    # The multiples as 64-bit numbers, which may wrap around themselves: alike where they are alike,
    # and of the first and the last half turn of 64 bits, which the order tells apart.
    same_turn = (lower - low == upper - high) & (low <= high)
    return result(conversion.to, low, high, x, proven=proven & same_turn)
