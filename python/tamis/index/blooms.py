"""Bloom filters of the values of each file, filled by Spark and asked with constants.

A filter is a power of two of blocks of 256 bits, each held as four 64-bit words. Of the XXH64 hash
of a value, the upper 24 bits (as many of them as there are blocks) choose the block, and eight
groups of five bits choose a bit in each of its eight 32-bit halves: a value is one random access
(Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters).

Half as many blocks is the same filter with its halves laid over each other, so that Spark fills
filters for as many values as a file may have, and they are folded to what they turn out to need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import NO, YES, Edge, Flags
from tamis.evaluate.recorded import Members
from tamis.expr.types import DataType
from tamis.index.hashing import hashes_of

__all__ = ["UNKNOWN", "BloomMembers", "Blooms", "blocks_for", "folded", "joined", "rate", "row_sql"]

Words = npt.NDArray[np.uint64]
Longs = npt.NDArray[np.int64]

#: Files without a filter; a filter of 0 blocks is of no value at all.
UNKNOWN: Final = -1
#: The share of values that are not there and are said to be, per file; fuller filters are not
#: folded, and fuller ones than `USELESS` not kept.
RATE: Final = 0.01
USELESS: Final = 0.2
#: Four megabytes, enough for about three million values a file.
MAX_BLOCKS: Final = 1 << 17
_BITS_A_VALUE: Final = 12
#: Of more constants than that some is nearly always taken to be there.
MAX_OPTIONS: Final = 128
#: What asking takes is small, however many files there are.
_FILES_AT_ONCE: Final = 1 << 16
_WORDS: Final = 4
_BLOCK_SHIFT: Final = 40


def blocks_for(values: int) -> int:
    """Blocks for so many distinct values, before folding.

    >>> blocks_for(0), blocks_for(100), blocks_for(10**9) == MAX_BLOCKS
    (1, 8, True)
    """
    wanted = max(1, -(-values * _BITS_A_VALUE // 256))
    return min(MAX_BLOCKS, 1 << (wanted - 1).bit_length())


def row_sql(hashed: str, blocks: int) -> tuple[str, ...]:
    """SQL of the block of a hash (INT) and of the bits in each of its words (BIGINT)."""

    def bit(group: int, base: int) -> str:
        chosen = f"CAST(shiftrightunsigned({hashed}, {5 * group}) & 31 AS INT)"
        return f"shiftleft(1L, {chosen} + {base})"

    block = f"CAST(shiftrightunsigned({hashed}, {_BLOCK_SHIFT}) & {blocks - 1}L AS INT)"
    words = (f"{bit(2 * k, 0)} | {bit(2 * k + 1, 32)}" for k in range(_WORDS))
    return (block, *words)


def _bits(hashed: int) -> Words:
    """The bits of a hash in each word of its block."""
    groups = [(hashed >> (5 * k)) & 31 for k in range(2 * _WORDS)]
    return np.array(
        [(1 << groups[2 * k]) | (1 << (32 + groups[2 * k + 1])) for k in range(_WORDS)], np.uint64
    )


def rate(words: Words) -> float:
    """The chance that a value that is not there is taken to be, exactly, from the bits set."""
    if not len(words):
        return 0.0
    halves = np.bitwise_count(words.view(np.uint32)).astype(np.float64) / 32
    return float(halves.prod(axis=1).mean())


def folded(words: Words) -> Words | None:
    """The smallest filter of these bits whose rate is good; None: there is no useful one."""
    while len(words) > 1:
        half = words[: len(words) // 2] | words[len(words) // 2 :]
        if rate(half) > RATE:
            break
        words = half
    return words if rate(words) <= USELESS else None


@dataclass(frozen=True, slots=True, eq=False)
class Blooms:
    """Filters of files in order. blocks: of each, or UNKNOWN.  words: of all, (blocks, 4)."""

    blocks: Longs
    words: Words

    @property
    def starts(self) -> Longs:
        """The first block of each."""
        sizes = np.maximum(self.blocks, 0)
        return np.cumsum(sizes) - sizes

    def __len__(self) -> int:
        return len(self.blocks)

    def each(self) -> Iterator[Words | None]:
        for start, blocks in zip(self.starts.tolist(), self.blocks.tolist(), strict=True):
            yield None if blocks == UNKNOWN else self.words[start : start + blocks]


def joined(filters: Sequence[Words | None]) -> Blooms:
    """Filters of files in order; None: not known."""
    known = [words for words in filters if words is not None and len(words)]
    return Blooms(
        np.array([UNKNOWN if words is None else len(words) for words in filters], np.int64),
        np.concatenate(known) if known else np.zeros((0, _WORDS), np.uint64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class BloomMembers:
    """Filters as the evaluator asks them. starts, blocks: of each container."""

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
        found: Flags = self.blocks == UNKNOWN
        hashes = list(hashes_of(options, self.data_type))
        for start in range(0, len(found), _FILES_AT_ONCE):
            some = slice(start, start + _FILES_AT_ONCE)
            self._mark(found[some], hashes, self.starts[some], self.blocks[some])
        return found if len(found) else NO

    def _mark(self, found: Flags, hashes: Sequence[int], starts: Longs, blocks: Longs) -> None:
        """Sets the flags of those of some files that may hold a value of these hashes."""
        for hashed in hashes:
            rows = np.flatnonzero(~found & (blocks > 0))
            chosen = (hashed >> _BLOCK_SHIFT) & (blocks[rows] - 1)
            bits = _bits(hashed)
            found[rows] = ((self.words[starts[rows] + chosen] & bits) == bits).all(axis=1)

    def may_miss(self, options: Edge) -> Flags:
        return YES  # a filter never says that a value is there

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
