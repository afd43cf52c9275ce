"""Functions that rise within pieces of the line and start anew at each: month within a year, hour
within a day, day of the week within a week.

    f over [l, u] within one piece:    between f(l) and f(u)
    over two pieces or more:           anything that f gives
"""

from __future__ import annotations

import numpy as np

from tamis.evaluate.bounds import Flags
from tamis.evaluate.interval import Numbers

__all__ = ["piecewise"]


def piecewise(
    pieces: tuple[Numbers, Numbers], values: tuple[Numbers, Numbers], least: int, greatest: int
) -> tuple[Numbers, Numbers]:
    """Bounds of f from the pieces and the values at both ends.

    >>> low, high = piecewise((np.array([0, 0]), np.array([0, 1])), (np.array([3, 3]),) * 2, 1, 12)
    >>> low.tolist(), high.tolist()
    ([3, 1], [3, 12])
    """
    alike: Flags = pieces[0] == pieces[1]
    return np.where(alike, values[0], least), np.where(alike, values[1], greatest)
