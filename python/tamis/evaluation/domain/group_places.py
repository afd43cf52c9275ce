"""The places of the groups of containers, where those of one container follow each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["places_of", "sums_of"]

Longs = npt.NDArray[np.int64]


def places_of(sizes: Longs, ordinals: npt.NDArray[np.intp]) -> Longs:
    """Return the places of the groups of the containers at these ordinals.

    Args:
        sizes: The number of groups of each container. A negative number counts as 0.
        ordinals: The containers.

    >>> places_of(np.array([2, -1, 3]), np.array([2, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    filled = np.maximum(sizes, 0)
    starts = np.cumsum(filled) - filled
    wanted = filled[ordinals]
    ends = np.cumsum(wanted)
    total = int(ends[-1]) if len(ends) else 0
    places: Longs = np.arange(total) + np.repeat(starts[ordinals] - (ends - wanted), wanted)
    return places


def sums_of(sizes: Longs, numbers: Longs) -> Longs:
    """Return the sum of the numbers of the groups of each container.

    >>> sums_of(np.array([2, -1, 3]), np.array([1, 2, 3, 4, 5])).tolist()
    [3, 0, 12]
    """
    filled = np.maximum(sizes, 0)
    ends = np.cumsum(filled)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(numbers)])
    sums: Longs = before[ends] - before[ends - filled]
    return sums
