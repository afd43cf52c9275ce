"""The two primitives from which every comparison is built.

    may_be_less(x, y)        x.lower <  y.upper: some value of x may be less than some value of y
    may_be_less_equal(x, y)  x.lower <= y.upper

Where an edge is not known, the result is True. Numpy edges need no special case for this: an
unknown edge holds the type's extreme, which is a true bound.

Strings compare as bytes. An edge may have sort keys: the first eight bytes as a big-endian number,
with short values padded with zeros. If two keys differ, they compare as their values do: at the
first byte where they differ, either both values have a byte, or the value with the smaller key has
ended. Equal keys decide nothing, so only rows with equal keys are compared in full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import YES, Bounds, Flags

__all__ = ["may_be_less", "may_be_less_equal", "with_keys"]

Keys = npt.NDArray[np.uint64]

_KEY_BYTES: Final = 8
#: The i-th mask selects the key bits that come from a value of i bytes.
_KEY_MASKS: Final[Keys] = np.array(
    [(1 << 64) - (1 << (64 - 8 * length)) for length in range(_KEY_BYTES + 1)], np.uint64
)


def may_be_less(x: Bounds, y: Bounds) -> Flags:
    """Return where x.lower < y.upper may hold, for comparable types (storage.comparable)."""
    return _compare(x, y, np.less, pc.less)


def may_be_less_equal(x: Bounds, y: Bounds) -> Flags:
    """Return where x.lower <= y.upper may hold.

    An open upper edge is greater than every value. So a value can be at least x.lower only if the
    edge itself is greater than x.lower.
    """
    answer = _compare(x, y, np.less_equal, pc.less_equal)
    if y.upper_open is None:
        return answer
    return answer & (may_be_less(x, y) | ~y.upper_open)


def _compare(
    x: Bounds, y: Bounds, numpy_compare: np.ufunc, arrow_compare: Callable[[Any, Any], Any]
) -> Flags:
    lower, upper = x.lower, y.upper
    if lower is None or upper is None:
        return YES  # one of the edges is unknown in every container
    if isinstance(lower, np.ndarray):
        flags: Flags = numpy_compare(lower, upper)
        return flags
    if x.keys is not None and y.keys is not None:
        return _compare_keys(lower, upper, x.keys[0], y.keys[1], numpy_compare, arrow_compare)
    return _compare_arrow(lower, upper, arrow_compare)


def _compare_arrow(
    lower: pa.Array, upper: pa.Array, arrow_compare: Callable[[Any, Any], Any]
) -> Flags:
    if len(lower) != len(upper):  # Arrow broadcasts only scalars
        lower = lower[0] if len(lower) == 1 else lower
        upper = upper[0] if len(upper) == 1 else upper
    answer = arrow_compare(lower, upper)
    # null: one of the edges is unknown, so the comparison may hold.
    flags: Flags = pc.fill_null(answer, True).to_numpy(zero_copy_only=False)
    return flags


def _compare_keys(
    lower: pa.Array,
    upper: pa.Array,
    lower_keys: Keys,
    upper_keys: Keys,
    numpy_compare: np.ufunc,
    arrow_compare: Callable[[Any, Any], Any],
) -> Flags:
    flags: Flags = numpy_compare(lower_keys, upper_keys)
    ties = np.flatnonzero(lower_keys == upper_keys)
    if len(ties) > len(flags) // 8:  # many equal keys: gathering rows would cost more than it saves
        return _compare_arrow(lower, upper, arrow_compare)
    if len(ties):
        rows = pa.array(ties)
        flags[ties] = _compare_arrow(
            lower if len(lower) == 1 else lower.take(rows),
            upper if len(upper) == 1 else upper.take(rows),
            arrow_compare,
        )
    return flags


def with_keys(bounds: Bounds) -> Bounds:
    """Return the bounds, with sort keys if they are of strings or binary.

    Computing the keys pays off for bounds that are compared often.

    >>> from tamis.expr.types import STRING
    >>> edge = pa.array([b"a"], pa.large_binary())
    >>> with_keys(Bounds(STRING, edge, edge, YES, YES, YES)).keys[0] == ord("a") << 56
    array([ True])
    """
    if bounds.keys is not None or bounds.lower is None or bounds.upper is None:
        return bounds
    if not bounds.type.is_text:
        return bounds
    lower = _keys(bounds.lower)
    upper = _keys(bounds.upper)
    # An unknown edge gets the extreme key. If the other value has the same extreme key, the full
    # comparison decides: it sees null and returns True.
    lower[_null(bounds.lower)] = 0
    upper[_null(bounds.upper)] = np.iinfo(np.uint64).max
    return replace(bounds, keys=(lower, upper))


def _null(edge: pa.Array) -> Flags:
    flags: Flags = edge.is_null().to_numpy(zero_copy_only=False)
    return flags


def _keys(edge: pa.Array) -> Keys:
    """Return the first eight bytes of each value as a big-endian number."""
    if len(edge) == 0:
        return np.zeros(0, np.uint64)
    _, offsets_buffer, data_buffer = edge.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[edge.offset : edge.offset + len(edge) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    data = b"" if data_buffer is None else memoryview(data_buffer)[first:last]
    padded = bytes(data) + bytes(_KEY_BYTES)
    # Overlapping big-endian windows of eight bytes, one per position.
    windows = np.ndarray((last - first + 1,), ">u8", padded, strides=(1,))
    lengths = np.minimum(np.diff(offsets), _KEY_BYTES)
    return windows[offsets[:-1] - first].astype(np.uint64) & _KEY_MASKS[lengths]
