"""Functions that are increasing within each piece of their domain and restart at the next piece.

Examples: month within a year, hour within a day, day of the week within a week.

    [l, u] lies within one piece:    f is between f(l) and f(u)
    [l, u] spans several pieces:     f may be any value of its range
"""

from __future__ import annotations

import numpy as np

from tamis.evaluation.domain.bounds import Flags
from tamis.evaluation.domain.interval import Numbers

__all__ = ["piecewise"]


def piecewise(
    pieces: tuple[Numbers, Numbers], values: tuple[Numbers, Numbers], least: int, greatest: int
) -> tuple[Numbers, Numbers]:
    """Return bounds of f, given the piece and the value of f at both ends.

    Args:
        pieces: The number of the piece that contains each end.
        values: The value of f at each end.
        least: The least value that f can take.
        greatest: The greatest value that f can take.

    >>> low, high = piecewise((np.array([0, 0]), np.array([0, 1])), (np.array([3, 3]),) * 2, 1, 12)
    >>> low.tolist(), high.tolist()
    ([3, 1], [3, 12])
    """
    same_piece: Flags = pieces[0] == pieces[1]
    return np.where(same_piece, values[0], least), np.where(same_piece, values[1], greatest)
