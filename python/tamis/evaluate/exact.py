"""Arithmetic of 64-bit whole numbers that says where it would not be exact.

Each function gives the results and the flags "exact"; where a flag is False the result means
nothing. numpy's own arithmetic wraps around in silence.
"""

from __future__ import annotations

import numpy as np

from tamis.evaluate.bounds import Flags
from tamis.evaluate.interval import Numbers

__all__ = [
    "add",
    "ceil_divide",
    "clipped_add",
    "divide_half_up",
    "multiply",
    "power_of_ten",
    "subtract",
    "toward_zero",
]

#: 10 ** 18 is the greatest power of ten in 64 bits.
MAX_POWER = 18
_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def add(x: Numbers, y: Numbers) -> tuple[Numbers, Flags]:
    """x + y.

    >>> add(np.array([1, 2**63 - 1]), np.array([1, 1]))[1].tolist()
    [True, False]
    """
    total = x + y
    # It wrapped around where both have the sign that the sum has not.
    return total, ((x ^ total) & (y ^ total)) >= 0


def subtract(x: Numbers, y: Numbers) -> tuple[Numbers, Flags]:
    """x - y."""
    difference = x - y
    return difference, ((x ^ y) & (x ^ difference)) >= 0


def multiply(x: Numbers, y: Numbers) -> tuple[Numbers, Flags]:
    """x * y; products beyond 2 ** 62 count as inexact.

    >>> multiply(np.array([3, 2**40]), np.array([4, 2**40]))[1].tolist()
    [True, False]
    """
    # As doubles the product is off by less than one part in 2 ** 50.
    size = np.abs(x.astype(np.float64)) * np.abs(y.astype(np.float64))
    return x * y, size < 2.0**62


def clipped_add(x: Numbers, y: Numbers) -> Numbers:
    """x + y, or the end of the 64 bits that it passes."""
    total, exact = add(x, y)
    return np.where(exact, total, np.where(y < 0, _LEAST, _GREATEST))


def power_of_ten(exponent: int) -> int | None:
    """10 ** exponent, if that fits 64 bits."""
    return 10**exponent if 0 <= exponent <= MAX_POWER else None


def ceil_divide(x: Numbers, divisor: Numbers | int) -> Numbers:
    """x / divisor (above zero), up. Not -(-x // divisor): the least number has no opposite.

    >>> ceil_divide(np.array([-(2**63), 7]), 4).tolist() == [-(2**61), 2]
    True
    """
    quotient, rest = np.divmod(x, divisor)
    ceiling: Numbers = quotient + (rest != 0)
    return ceiling


def toward_zero(x: Numbers, divisor: Numbers | int) -> Numbers:
    """x / divisor (above zero), toward zero, as Java divides.

    >>> toward_zero(np.array([-7, 7]), 4).tolist()
    [-1, 1]
    """
    return np.where(x < 0, ceil_divide(x, divisor), x // divisor)


def divide_half_up(x: Numbers, divisor: int) -> Numbers:
    """x / divisor (positive, even or 1), halves away from zero.

    >>> divide_half_up(np.array([15, -15, 14, -14]), 10).tolist()
    [2, -2, 1, -1]
    """
    if divisor == 1:
        return x
    quotient, rest = np.divmod(x, divisor)  # rest is in [0, divisor)
    half = divisor // 2
    # Below zero a half goes down, to the floor; above zero it goes up.
    up = np.where(x >= 0, rest >= half, rest > half)
    return quotient + up
