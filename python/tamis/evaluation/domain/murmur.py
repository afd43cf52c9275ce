"""Murmur3 hashes of many values at once: the 32-bit variant for x86, with seed 0.

Source: Austin Appleby's MurmurHash3_x86_32. The Iceberg table specification, appendix B, defines
which bytes of a value are hashed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["murmur3", "murmur3_of_longs"]

Hashes = npt.NDArray[np.uint32]

_C1: Final = np.uint32(0xCC9E2D51)
_C2: Final = np.uint32(0x1B873593)


def murmur3_of_longs(values: npt.NDArray[np.int64]) -> Hashes:
    """Return the hashes of whole numbers. Each is hashed as eight bytes, least significant first.

    >>> murmur3_of_longs(np.array([34])).astype(np.int32)  # int and long hash alike
    array([2017239379], dtype=int32)
    """
    data = np.frombuffer(values.astype("<i8").tobytes(), np.uint8)
    return murmur3(data, np.arange(len(values) + 1, dtype=np.int64) * 8)


def murmur3(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> Hashes:
    """Return the hashes of byte strings; the i-th string is data[offsets[i]:offsets[i + 1]].

    >>> data = np.frombuffer(b"iceberg", np.uint8)
    >>> murmur3(data, np.array([0, 7])).astype(np.int32)
    array([1210000089], dtype=int32)
    """
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes: Hashes = np.zeros(len(lengths), np.uint32)
    whole = lengths // 4
    for block in range(int(whole.max(initial=0))):
        rows = np.flatnonzero(whole > block)
        hashes[rows] = _mixed(hashes[rows], _word(data, starts[rows] + 4 * block, 4))
    tail = lengths % 4
    for size in (1, 2, 3):
        rows = np.flatnonzero(tail == size)
        rest = _word(data, starts[rows] + 4 * whole[rows], size)
        hashes[rows] ^= _scrambled(rest)
    return _finished(hashes ^ lengths.astype(np.uint32))


def _word(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], size: int) -> Hashes:
    """Return the `size` bytes that begin at each start as a number, least significant first."""
    word = np.zeros(len(starts), np.uint32)
    for place in range(size):
        word |= data[starts + place].astype(np.uint32) << np.uint32(8 * place)
    return word


def _mixed(hashes: Hashes, word: Hashes) -> Hashes:
    mixed = _rotated(hashes ^ _scrambled(word), 13)
    return mixed * np.uint32(5) + np.uint32(0xE6546B64)


def _scrambled(word: Hashes) -> Hashes:
    return _rotated(word * _C1, 15) * _C2


def _rotated(word: Hashes, bits: int) -> Hashes:
    return (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))


def _finished(hashes: Hashes) -> Hashes:
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))
