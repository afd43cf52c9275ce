"""Registers of HyperLogLog++ sketches, as Spark's approx_count_distinct computes them.

The registers of some rows are words of 64 bits, little-endian, with 10 registers of 6 bits each. No
bytes mean that all of them are 0: there is no value. A register is the greatest number of leading
zeros of some hashes. So the registers of several sets of rows are the maximum of each register:

    rows           registers
    f1             0 3 1 0
    f2             2 1 0 0
    both           2 3 1 0

Hashes depend on the version of Spark, and the number of registers on the allowed deviation.

https://research.google.com/pubs/archive/40671.pdf
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["are_alike", "merged", "merged_lists", "sketch_kind"]

Longs = npt.NDArray[np.int64]

_BITS = 6
_PER_WORD = 10
_WORD = np.dtype("<u8")


def sketch_kind(deviation: float, spark: str) -> str:
    """Return a name of all that the registers of the same values depend on.

    Args:
        deviation: The relative standard deviation that is allowed.
        spark: The version of Spark.
    """
    return f"approx_count_distinct {deviation!r} {spark}"


def are_alike(registers: pa.Array) -> npt.NDArray[np.bool_]:
    """Return where there are no registers, or as many as of the first that has some."""
    lengths = _lengths(registers)
    some = lengths[lengths > 0]
    first = int(some[0]) if len(some) else 0
    alike: npt.NDArray[np.bool_] = (lengths == 0) | (
        (lengths == first) & (lengths % _WORD.itemsize == 0)
    )
    return alike


def merged(registers: pa.Array, sizes: Longs) -> pa.Array:
    """Return the registers of several sets of rows together.

    Args:
        registers: BINARY. All that have bytes have as many. Null means no value.
        sizes: How many of them in sequence are merged to one.

    Raises:
        ValueError: Some have other numbers of bytes.

    >>> words = [(3 | 1 << 6).to_bytes(8, "little"), b"", (1 | 2 << 6).to_bytes(8, "little")]
    >>> found = merged(pa.array(words, pa.binary()), np.array([2, 0, 1]))
    >>> [int.from_bytes(each, "little") for each in found.to_pylist()]
    [67, 0, 129]
    """
    result = [b""] * len(sizes)
    lengths = _lengths(registers)
    known = np.flatnonzero(lengths > 0)
    if len(known):
        if (lengths[known] != lengths[known[0]]).any():
            raise ValueError("registers of different sizes")
        content = b"".join(registers.take(pa.array(known)).to_pylist())
        words = np.frombuffer(content, _WORD).reshape(len(known), -1)
        owners = np.repeat(np.arange(len(sizes)), np.maximum(sizes, 0))[known]
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        together = np.zeros((len(starts), words.shape[1]), _WORD)
        for k in range(_PER_WORD):
            # the other bits of a word do not matter to the order of one of its registers
            mask = np.uint64(((1 << _BITS) - 1) << (_BITS * k))
            together |= np.maximum.reduceat(words & mask, starts, axis=0)
        for owner, row in zip(owners[starts].tolist(), together, strict=True):
            result[owner] = row.tobytes()
    return pa.array(result, pa.binary())


def merged_lists(lists: pa.Array) -> pa.Array:
    """Return the registers of the rows of each list together."""
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    return merged(lists.flatten(), sizes.astype(np.int64))


def _lengths(registers: pa.Array) -> Longs:
    if pa.types.is_null(registers.type):
        return np.zeros(len(registers), np.int64)
    lengths: Longs = pc.fill_null(pc.binary_length(registers), 0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)
