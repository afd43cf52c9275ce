"""Parameters of a cast (target type, mode and time zone) and its handling of overflow.

    evalMode    a value that the target type cannot hold
    ANSI        raises
    TRY         becomes NULL
    LEGACY      wraps around, saturates or becomes NULL, depending on the pair of types

A missing mode may be any of these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.interval import Interval, Numbers, result
from tamis.evaluation.functions.arithmetic import int64_overflow
from tamis.evaluation.functions.arithmetic.number_bounds import fits
from tamis.evaluation.functions.temporal.zones import Zone
from tamis.expr.types import DataType

__all__ = ["Conversion", "nulled", "only_inside", "wrapped"]


@dataclass(frozen=True, slots=True, eq=False)
class Conversion:
    """A cast to type `to`. `mode` is ANSI, TRY or LEGACY; None if it may be any of them."""

    to: DataType
    mode: str | None
    clock: Zone

    @property
    def gives_null(self) -> bool:
        """Return whether out-of-range values become NULL, if LEGACY does not handle them otherwise.

        The caller knows whether LEGACY wraps around or saturates for the pair of types.
        """
        return self.mode in ("TRY", "LEGACY")


def only_inside(
    x: Interval, conversion: Conversion, lower: Numbers, upper: Numbers, proven: Flags = YES
) -> Bounds:
    """Return the bounds of a monotone cast; unknown unless all results fit the target type."""
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
    """Return the bounds of a monotone cast f that gives NULL for out-of-range values.

    With lower = f(xl) and upper = f(xu), results in range lie both in [lower, upper] and in the
    domain of the type, so they lie in the intersection. Where it is empty there are no values.
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
    limit = int64_overflow.power_of_ten(data_type.precision or 0)
    if limit is None:  # the type holds every 64-bit unscaled value
        return np.iinfo(np.int64).min, np.iinfo(np.int64).max
    return 1 - limit, limit - 1


_DTYPES = {"byte": np.int8, "short": np.int16, "integer": np.int32, "long": np.int64}


def wrapped(
    x: Interval, conversion: Conversion, lower: Numbers, upper: Numbers, proven: Flags = YES
) -> Bounds:
    """Return the bounds of a monotone cast to integers that wraps around (LEGACY).

    Other modes are handled as in `nulled`. Wrapping around subtracts a multiple of 2 ** bits. If
    the multiple is the same for both edges, it is the same for every value between them, so the
    order is preserved.
    """
    if conversion.mode != "LEGACY":
        return nulled(x, conversion, lower, upper, proven)
    dtype = _DTYPES[conversion.to.name]
    low, high = (each.astype(dtype).astype(np.int64) for each in (lower, upper))
    # These 64-bit differences may wrap around too. They are equal if the multiples are equal, or if
    # the multiples are -2 ** 63 and 2 ** 63: then low >= 0 > high, which low <= high excludes.
    same_turn = (lower - low == upper - high) & (low <= high)
    return result(conversion.to, low, high, x, proven=proven & same_turn)
