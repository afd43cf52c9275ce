"""Bloom filters of the values of each file, filled by Spark and probed with constants.

The number of blocks of a filter is a power of two. A block has 256 bits, in four 64-bit words. The
upper 24 bits of the XXH64 hash of a value (as many of them as the number of blocks needs) choose
the block, and eight groups of five bits choose one bit in each of the eight 32-bit halves of its
words. A lookup is one random access (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient
Bloom Filters).

The bitwise OR of the two halves of a filter is the filter of the same values with half as many
blocks. So Spark fills filters that are large enough for as many values as a file may have, and each
is then folded to the size that its values need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import NO, YES, Edge, Flags
from tamis.evaluation.statistics import Members
from tamis.expr.types import DataType
from tamis.indexing.format.hashing import hashes_of

__all__ = ["UNKNOWN", "BloomMembers", "Blooms", "blocks_for", "folded", "joined", "rate", "row_sql"]

Words = npt.NDArray[np.uint64]
Longs = npt.NDArray[np.int64]

#: The number of blocks of a file without a filter. A filter of 0 blocks contains no value.
UNKNOWN: Final = -1
#: False positive rates of the filter of a file. A filter is not folded if its rate would exceed
#: RATE, and not kept if its rate exceeds USELESS.
RATE: Final = 0.01
USELESS: Final = 0.2
#: Four megabytes, enough for about three million values per file.
MAX_BLOCKS: Final = 1 << 17
_BITS_A_VALUE: Final = 12
#: With more constants, nearly every filter reports that one of them may be present.
MAX_OPTIONS: Final = 128
#: Bounds the memory of a lookup, however many files there are.
_FILES_AT_ONCE: Final = 1 << 16
_WORDS: Final = 4
_BLOCK_SHIFT: Final = 40


def blocks_for(values: int) -> int:
    """Return the number of blocks for a number of distinct values, before folding.

    >>> blocks_for(0), blocks_for(100), blocks_for(10**9) == MAX_BLOCKS
    (1, 8, True)
    """
    wanted = max(1, -(-values * _BITS_A_VALUE // 256))
    return min(MAX_BLOCKS, 1 << (wanted - 1).bit_length())


def row_sql(hashed: str, blocks: int) -> tuple[str, ...]:
    """Return SQL of the block of a hash (INT) and of the bits in each of its words (BIGINT)."""

    def bit(group: int, base: int) -> str:
        chosen = f"CAST(shiftrightunsigned({hashed}, {5 * group}) & 31 AS INT)"
        return f"shiftleft(1L, {chosen} + {base})"

    block = f"CAST(shiftrightunsigned({hashed}, {_BLOCK_SHIFT}) & {blocks - 1}L AS INT)"
    words = (f"{bit(2 * k, 0)} | {bit(2 * k + 1, 32)}" for k in range(_WORDS))
    return (block, *words)


def _bits(hashed: int) -> Words:
    """Return the bits of a hash in each word of its block."""
    groups = [(hashed >> (5 * k)) & 31 for k in range(2 * _WORDS)]
    return np.array(
        [(1 << groups[2 * k]) | (1 << (32 + groups[2 * k + 1])) for k in range(_WORDS)], np.uint64
    )


def rate(words: Words) -> float:
    """Return the exact false positive rate of a filter, computed from the bits that are set."""
    if not len(words):
        return 0.0
    halves = np.bitwise_count(words.view(np.uint32)).astype(np.float64) / 32
    return float(halves.prod(axis=1).mean())


def folded(words: Words) -> Words | None:
    """Fold a filter as long as its rate stays within RATE; None if the result is useless."""
    while len(words) > 1:
        half = words[: len(words) // 2] | words[len(words) // 2 :]
        if rate(half) > RATE:
            break
        words = half
    return words if rate(words) <= USELESS else None


@dataclass(frozen=True, slots=True, eq=False)
class Blooms:
    """The filters of files, in order.

    Attributes:
        blocks: Number of blocks of each filter, or UNKNOWN.
        words: The words of all filters, concatenated, of shape (blocks, 4).
    """

    blocks: Longs
    words: Words

    @property
    def starts(self) -> Longs:
        """The first block of each filter."""
        sizes = np.maximum(self.blocks, 0)
        return np.cumsum(sizes) - sizes

    def __len__(self) -> int:
        return len(self.blocks)

    def each(self) -> Iterator[Words | None]:
        for start, blocks in zip(self.starts.tolist(), self.blocks.tolist(), strict=True):
            yield None if blocks == UNKNOWN else self.words[start : start + blocks]


def joined(filters: Sequence[Words | None]) -> Blooms:
    """Concatenate the filters of files, in order. None: the file has no filter."""
    known = [words for words in filters if words is not None and len(words)]
    return Blooms(
        np.array([UNKNOWN if words is None else len(words) for words in filters], np.int64),
        np.concatenate(known) if known else np.zeros((0, _WORDS), np.uint64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class BloomMembers:
    """Filters in the form that the evaluator probes.

    Attributes:
        starts: The first block of each container.
        blocks: Number of blocks of each container, or UNKNOWN.
    """

    data_type: DataType
    starts: Longs
    blocks: Longs
    words: Words

    @staticmethod
    def of(blooms: Blooms, data_type: DataType) -> BloomMembers:
        return BloomMembers(data_type, blooms.starts, blooms.blocks, blooms.words)

    def may_match(self, options: Edge) -> Flags:
        if len(options) > MAX_OPTIONS:
            return YES
        may_hold: Flags = self.blocks == UNKNOWN
        hashes = list(hashes_of(options, self.data_type))
        for start in range(0, len(may_hold), _FILES_AT_ONCE):
            some = slice(start, start + _FILES_AT_ONCE)
            self._mark(may_hold[some], hashes, self.starts[some], self.blocks[some])
        return may_hold if len(may_hold) else NO

    def _mark(self, may_hold: Flags, hashes: Sequence[int], starts: Longs, blocks: Longs) -> None:
        """Set the flags of the files that may hold a value with one of these hashes."""
        for hashed in hashes:
            rows = np.flatnonzero(~may_hold & (blocks > 0))
            chosen = (hashed >> _BLOCK_SHIFT) & (blocks[rows] - 1)
            bits = _bits(hashed)
            may_hold[rows] = ((self.words[starts[rows] + chosen] & bits) == bits).all(axis=1)

    def may_miss(self, options: Edge) -> Flags:
        return YES  # a filter never proves that a value is present

    def distinct(self) -> None:
        return None  # a filter does not list its values

    def parts(self) -> Mapping[str, Members]:
        return {"bloom": self}

    def slice(self, start: int, stop: int) -> Members:
        return BloomMembers(
            self.data_type, self.starts[start:stop], self.blocks[start:stop], self.words
        )

    def take(self, ordinals: npt.NDArray[np.intp]) -> Members:
        return BloomMembers(
            self.data_type, self.starts[ordinals], self.blocks[ordinals], self.words
        )
