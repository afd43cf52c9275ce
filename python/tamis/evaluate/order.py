"""The two questions that every comparison is made of.

    may_be_less(x, y)        x.lower <  y.upper: some value of x may be less than some value of y
    may_be_less_equal(x, y)  x.lower <= y.upper

Where an edge is not known the answer is yes. Numpy edges need no thought for that: an edge that is
not known holds the type's extreme, which is a true bound.

Strings compare as bytes. An edge may carry keys: the first eight bytes as a big-endian number,
short values filled with zeros. Keys that differ order the values as the values do: at the first
byte where they differ either both values have a byte there, or the one with the smaller key has
ended. Equal keys decide nothing; those rows, and only those, are compared in full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluate.bounds import YES, Bounds, Flags

__all__ = ["may_be_less", "may_be_less_equal", "with_keys"]

Keys = npt.NDArray[np.uint64]

_KEY_BYTES: Final = 8
#: For a value of i bytes: the bits of its key that come from it.
_KEY_MASKS: Final[Keys] = np.array(
    [(1 << 64) - (1 << (64 - 8 * length)) for length in range(_KEY_BYTES + 1)], np.uint64
)


def may_be_less(x: Bounds, y: Bounds) -> Flags:
    """Where x.lower < y.upper may hold; both types are comparable (storage.comparable)."""
    return _ask(x, y, np.less, pc.less)


def may_be_less_equal(x: Bounds, y: Bounds) -> Flags:
    """Where x.lower <= y.upper may hold.

    An open upper edge is greater than every value, so that one of them is at least x.lower only if
    the edge itself is greater.
    """
    answer = _ask(x, y, np.less_equal, pc.less_equal)
    if y.upper_open is None:
        return answer
    return answer & (may_be_less(x, y) | ~y.upper_open)


def _ask(x: Bounds, y: Bounds, of_numbers: np.ufunc, of_arrow: Callable[[Any, Any], Any]) -> Flags:
    lower, upper = x.lower, y.upper
    if lower is None or upper is None:
        return YES  # nothing is known of an edge in any container
    if isinstance(lower, np.ndarray):
        flags: Flags = of_numbers(lower, upper)
        return flags
    if x.keys is not None and y.keys is not None:
        return _ask_keys(lower, upper, x.keys[0], y.keys[1], of_numbers, of_arrow)
    return _ask_arrow(lower, upper, of_arrow)


def _ask_arrow(lower: pa.Array, upper: pa.Array, of_arrow: Callable[[Any, Any], Any]) -> Flags:
    if len(lower) != len(upper):  # Arrow repeats scalars only
        lower = lower[0] if len(lower) == 1 else lower
        upper = upper[0] if len(upper) == 1 else upper
    answer = of_arrow(lower, upper)
    # null: an edge is not known, so it may be.
    flags: Flags = pc.fill_null(answer, True).to_numpy(zero_copy_only=False)
    return flags


def _ask_keys(
    lower: pa.Array,
    upper: pa.Array,
    lower_keys: Keys,
    upper_keys: Keys,
    of_numbers: np.ufunc,
    of_arrow: Callable[[Any, Any], Any],
) -> Flags:
    flags: Flags = of_numbers(lower_keys, upper_keys)
    ties = np.flatnonzero(lower_keys == upper_keys)
    if len(ties) > len(flags) // 8:  # keys that are alike: gathering would cost more than it saves
        return _ask_arrow(lower, upper, of_arrow)
    if len(ties):
        rows = pa.array(ties)
        flags[ties] = _ask_arrow(
            lower if len(lower) == 1 else lower.take(rows),
            upper if len(upper) == 1 else upper.take(rows),
            of_arrow,
        )
    return flags


def with_keys(bounds: Bounds) -> Bounds:
    """The same bounds of strings or binary, with sort keys: worth it when they are asked often.

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
    # Not known: as far out as can be. The tie with a value that is as far out is settled by the
    # comparison in full, which finds null and says yes.
    lower[_null(bounds.lower)] = 0
    upper[_null(bounds.upper)] = np.iinfo(np.uint64).max
    return replace(bounds, keys=(lower, upper))


def _null(edge: pa.Array) -> Flags:
    flags: Flags = edge.is_null().to_numpy(zero_copy_only=False)
    return flags


def _keys(edge: pa.Array) -> Keys:
    """The first eight bytes of each value as a big-endian number."""
    if len(edge) == 0:
        return np.zeros(0, np.uint64)
    _, offsets_buffer, data_buffer = edge.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[edge.offset : edge.offset + len(edge) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    data = b"" if data_buffer is None else memoryview(data_buffer)[first:last]
    padded = bytes(data) + bytes(_KEY_BYTES)
    # Eight bytes from every position on: overlapping, big-endian.
    windows = np.ndarray((last - first + 1,), ">u8", padded, strides=(1,))
    lengths = np.minimum(np.diff(offsets), _KEY_BYTES)
    return windows[offsets[:-1] - first].astype(np.uint64) & _KEY_MASKS[lengths]
