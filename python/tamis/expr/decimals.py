"""Convert decimals to and from unscaled values without rounding. Python's default is 28 digits."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact
from typing import Final

__all__ = ["from_unscaled", "unscaled"]

#: Exact for all decimals of up to 38 digits. An operation that would have to round raises.
_EXACT: Final = Context(prec=80, traps=[Inexact])


def unscaled(value: Decimal | int, scale: int) -> int:
    """Return the integer that a decimal of that scale is stored as.

    Raises:
        ValueError: The value has more digits after the decimal point than the scale, or is NaN or
            infinite.

    >>> unscaled(Decimal("1.5"), 2)
    150
    """
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"{value!r} is not a finite number")
    shifted = Decimal(value).scaleb(scale, _EXACT)
    if shifted != shifted.to_integral_value():
        raise ValueError(f"{value!r} has more than {scale} digits after the decimal point")
    return int(shifted)


def from_unscaled(value: int, scale: int) -> Decimal:
    """Return the decimal of that scale that is stored as an integer.

    >>> from_unscaled(150, 2)
    Decimal('1.50')
    """
    return Decimal(value).scaleb(-scale, _EXACT)
