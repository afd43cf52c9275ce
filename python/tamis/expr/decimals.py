"""Decimals and their unscaled values, without rounding: Python by default keeps 28 digits."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact
from typing import Final

__all__ = ["from_unscaled", "unscaled"]

#: Exact for every decimal of 38 digits; what would be rounded raises.
_EXACT: Final = Context(prec=80, traps=[Inexact])


def unscaled(value: Decimal | int, scale: int) -> int:
    """The whole number that a decimal of that scale is stored as.

    ValueError if the value has more digits behind the point than the scale, or is no number.

    >>> unscaled(Decimal("1.5"), 2)
    150
    """
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"{value!r} is no number")
    shifted = Decimal(value).scaleb(scale, _EXACT)
    if shifted != shifted.to_integral_value():
        raise ValueError(f"{value!r} has more than {scale} digits behind the point")
    return int(shifted)


def from_unscaled(value: int, scale: int) -> Decimal:
    """The decimal of that scale that is stored as a whole number.

    >>> from_unscaled(150, 2)
    Decimal('1.50')
    """
    return Decimal(value).scaleb(-scale, _EXACT)
