"""Buckets: which values a container may hold, by their hash.

    container    bucket of 16    x = 34 (bucket 3)    x IN (34, 5)    x > 5, x <> 34
    f1           3               may be               may be          nothing is known
    f2           4               never                if 5 is in 4    nothing is known
    f3           not known       may be               may be          nothing is known

A value that equals a constant has the hash of the constant, so it lies in that bucket. That it lies
there says nothing else: no order, and no value for sure.

What is hashed, by type (Iceberg table specification, appendix B):

    whole numbers, date     eight bytes of the number, of the days
    timestamps              eight bytes of the microseconds
    decimal                 the unscaled value in two's complement, big-endian, in the least bytes
    string, binary          the bytes; strings as UTF-8
    uuid                    its sixteen bytes

Spark has no UUID and reads it as a string. A constant that reads as a UUID is taken for both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import Edge, Flags
from tamis.evaluate.murmur import murmur3, murmur3_of_longs
from tamis.expr.decimals import unscaled
from tamis.expr.types import DataType

__all__ = ["Buckets", "Hashed", "hashed", "is_hashed", "may_share"]

#: Longer values are not hashed: they may be in any bucket.
_LONGEST: Final = 4096
_UUID: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)
_LEAST_POSITIVE: Final = np.uint32(0x7FFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Each container holds values of one bucket of `count`; ordinal -1: not known of which.

    `ordinals`: one a container, or a single one that holds for all of them.
    """

    count: int
    ordinals: npt.NDArray[np.int64]

    def map(self, pick: Callable[[Any], Any]) -> Buckets:
        """Those of other containers, picked from these."""
        return Buckets(self.count, pick(self.ordinals))


@dataclass(frozen=True, slots=True, eq=False)
class Hashed:
    """Hashes of the constants of an edge; `ordinals` says of which, for one may have two.

    `anywhere`: the ordinals of constants that may be in any bucket.
    """

    ordinals: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.uint32]
    anywhere: npt.NDArray[np.int64]

    def buckets(self, count: int) -> npt.NDArray[np.int64]:
        """The bucket of each hash among so many, as Iceberg numbers them: without the sign bit."""
        return ((self.hashes & _LEAST_POSITIVE) % np.uint32(count)).astype(np.int64)


def is_hashed(data_type: DataType) -> bool:
    """Whether a column of the type can be the source of a bucket transform."""
    if data_type.is_integral or data_type.is_decimal or data_type.is_text:
        return True
    return data_type.name in ("date", "timestamp", "timestamp_ntz")


def hashed(edge: Edge, data_type: DataType) -> Hashed | None:
    """The hashes of constants; None of a type that is not hashed.

    >>> from tamis.expr.types import DATE
    >>> hashed(np.array([17486]), DATE).hashes.astype(np.int32)  # 2017-11-16
    array([-653330422], dtype=int32)
    """
    if not is_hashed(data_type):
        return None
    every = np.arange(len(edge))
    nowhere = every[:0]
    if data_type.is_decimal:
        return Hashed(every, _of_bytes([_least_bytes(whole) for whole in _unscaled(edge)]), nowhere)
    if isinstance(edge, np.ndarray):
        return Hashed(every, murmur3_of_longs(edge), nowhere)
    values = edge.to_pylist()
    is_short = np.array([len(value) <= _LONGEST for value in values], np.bool_)
    short, anywhere = np.flatnonzero(is_short), np.flatnonzero(~is_short)
    hashes = _of_bytes([values[ordinal] for ordinal in short])
    if data_type.name != "string":
        return Hashed(short, hashes, anywhere)
    identifiers = [ordinal for ordinal in short if _UUID.fullmatch(values[ordinal])]
    packed = [bytes.fromhex(values[each].replace(b"-", b"").decode()) for each in identifiers]
    both = np.concatenate([short, np.array(identifiers, np.int64)])
    return Hashed(both, np.concatenate([hashes, _of_bytes(packed)]), anywhere)


def may_share(buckets: Buckets, constant: Hashed) -> Flags:
    """Where a container may hold the one constant that was hashed."""
    if len(constant.anywhere):
        return np.ones(len(buckets.ordinals), np.bool_)
    found = buckets.ordinals < 0
    for bucket in constant.buckets(buckets.count):
        found |= buckets.ordinals == bucket
    return found


def _unscaled(edge: Any) -> list[int]:
    if isinstance(edge, np.ndarray):
        return [int(value) for value in edge]
    return [unscaled(value, edge.type.scale) for value in edge.to_pylist()]


def _least_bytes(whole: int) -> bytes:
    """Two's complement, big-endian, without bytes that only repeat the sign."""
    bits = (whole if whole >= 0 else ~whole).bit_length() + 1
    return whole.to_bytes(-(-bits // 8), "big", signed=True)


def _of_bytes(values: list[bytes]) -> npt.NDArray[np.uint32]:
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return murmur3(np.frombuffer(b"".join(values), np.uint8), offsets)
