"""Arithmetic on 64-bit integers with overflow detection.

numpy's own arithmetic wraps around silently. `add`, `subtract` and `multiply` return the results
and flags; where a flag is False the result must not be used.
"""

from __future__ import annotations

import numpy as np

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.domain.interval import Numbers

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
    """Return x + y, and where it is exact.

    >>> add(np.array([1, 2**63 - 1]), np.array([1, 1]))[1].tolist()
    [True, False]
    """
    total = x + y
    # The sum wrapped around where both operands have the opposite sign of it.
    return total, ((x ^ total) & (y ^ total)) >= 0


def subtract(x: Numbers, y: Numbers) -> tuple[Numbers, Flags]:
    """Return x - y, and where it is exact."""
    difference = x - y
    return difference, ((x ^ y) & (x ^ difference)) >= 0


def multiply(x: Numbers, y: Numbers) -> tuple[Numbers, Flags]:
    """Return x * y, and where it is exact; products from 2 ** 62 on count as inexact.

    >>> multiply(np.array([3, 2**40]), np.array([4, 2**40]))[1].tolist()
    [True, False]
    """
    # The relative error of the product in doubles is less than 2 ** -50.
    size = np.abs(x.astype(np.float64)) * np.abs(y.astype(np.float64))
    return x * y, size < 2.0**62


def clipped_add(x: Numbers, y: Numbers) -> Numbers:
    """Return x + y, clipped to the range of 64 bits."""
    total, exact = add(x, y)
    return np.where(exact, total, np.where(y < 0, _LEAST, _GREATEST))


def power_of_ten(exponent: int) -> int | None:
    """Return 10 ** exponent; None if it is not an integer that fits 64 bits."""
    return 10**exponent if 0 <= exponent <= MAX_POWER else None


def ceil_divide(x: Numbers, divisor: Numbers | int) -> Numbers:
    """Return x / divisor, rounded up, for a positive divisor.

    -(-x // divisor) would overflow for the least number, whose negation does not fit 64 bits.

    >>> ceil_divide(np.array([-(2**63), 7]), 4).tolist() == [-(2**61), 2]
    True
    """
    quotient, rest = np.divmod(x, divisor)
    ceiling: Numbers = quotient + (rest != 0)
    return ceiling


def toward_zero(x: Numbers, divisor: Numbers | int) -> Numbers:
    """Return x / divisor, rounded toward zero as in Java, for a positive divisor.

    >>> toward_zero(np.array([-7, 7]), 4).tolist()
    [-1, 1]
    """
    return np.where(x < 0, ceil_divide(x, divisor), x // divisor)


def divide_half_up(x: Numbers, divisor: int) -> Numbers:
    """Return x / divisor, with halves rounded away from zero, for a divisor that is 1 or even.

    >>> divide_half_up(np.array([15, -15, 14, -14]), 10).tolist()
    [2, -2, 1, -1]
    """
    if divisor == 1:
        return x
    quotient, rest = np.divmod(x, divisor)  # rest is in [0, divisor)
    half = divisor // 2
    # Halves round down to the floor for x < 0, and up for x >= 0.
    up = np.where(x >= 0, rest >= half, rest > half)
    return quotient + up
