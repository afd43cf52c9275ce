"""Binary search for many edges in a short ascending list, for types that numpy cannot search."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["count_at_most", "count_less"]

Counts = npt.NDArray[np.int64]


def count_less(options: pa.Array, edge: pa.Array) -> Counts:
    """Return how many options are less than each edge; 0 where the edge is null.

    >>> count_less(pa.array([b"a", b"c"]), pa.array([b"b", b"c", None])).tolist()
    [1, 1, 0]
    """
    return _search(options, edge, pc.less)


def count_at_most(options: pa.Array, edge: pa.Array) -> Counts:
    """Return how many options are at most each edge; 0 where the edge is null.

    >>> count_at_most(pa.array([b"a", b"c"]), pa.array([b"b", b"c", None])).tolist()
    [1, 2, 0]
    """
    return _search(options, edge, pc.less_equal)


def _search(options: pa.Array, edge: pa.Array, goes_before: Any) -> Counts:
    # Search for all edges at once: each answer lies in [low, high], which every round halves.
    low = np.zeros(len(edge), np.int64)
    high = np.full(len(edge), len(options), np.int64)
    for _ in range(len(options).bit_length()):
        middle = (low + high) // 2
        probe = options.take(pa.array(np.minimum(middle, len(options) - 1)))
        before = pc.fill_null(goes_before(probe, edge), False).to_numpy(zero_copy_only=False)
        is_open = low < high
        low = np.where(is_open & before, middle + 1, low)
        high = np.where(is_open & ~before, middle, high)
    return low
