"""Hash buckets: pruning by the partition values of a bucket transform.

    container    bucket of 16    x = 34 (bucket 3)    x IN (34, 5)              x > 5, x <> 34
    f1           3               possible             possible                  unknown
    f2           4               never                if 5 is in bucket 4       unknown
    f3           not known       possible             possible                  unknown

A value that equals a constant has the same hash, so it lies in the same bucket as the constant. A
bucket implies nothing else: neither an order nor that any particular value is present.

The hashed bytes, by type (Iceberg table specification, appendix B):

    integers, date          the number, or the number of days, as eight bytes
    timestamps              the microseconds, as eight bytes
    decimal                 the unscaled value in two's complement, big-endian, in the fewest bytes
    string, binary          the bytes; strings as UTF-8
    uuid                    its sixteen bytes

Spark has no UUID type and reads UUIDs as strings. A string constant in the form of a UUID is hashed
both ways.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Buckets, Edge, Flags
from tamis.evaluation.domain.murmur import murmur3, murmur3_of_longs
from tamis.expr.decimals import unscaled
from tamis.expr.types import DataType

__all__ = ["Hashed", "hashed", "is_hashed", "may_share"]

#: Values with more bytes are not hashed: they may be in any bucket.
_LONGEST: Final = 4096
_UUID: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)
_LEAST_POSITIVE: Final = np.uint32(0x7FFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class Hashed:
    """Hashes of the constants of an edge.

    - `ordinals`: for each hash, the ordinal of its constant. A constant may have two hashes.
    - `anywhere`: the ordinals of constants that may be in any bucket.
    """

    ordinals: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.uint32]
    anywhere: npt.NDArray[np.int64]

    def buckets(self, count: int) -> npt.NDArray[np.int64]:
        """Return the bucket of each hash among `count`, after Iceberg: the sign bit is cleared."""
        return ((self.hashes & _LEAST_POSITIVE) % np.uint32(count)).astype(np.int64)


def is_hashed(data_type: DataType) -> bool:
    """Return whether a column of the type can be the source of a bucket transform."""
    if data_type.is_integral or data_type.is_decimal or data_type.is_text:
        return True
    return data_type.name in ("date", "timestamp", "timestamp_ntz")


def hashed(edge: Edge, data_type: DataType) -> Hashed | None:
    """Return the hashes of constants; None for a type that is not hashed.

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
    """Return where a container may hold the single constant whose hashes are given."""
    if len(constant.anywhere):
        return np.ones(len(buckets.ordinals), np.bool_)
    may_hold = buckets.ordinals < 0
    for bucket in constant.buckets(buckets.count):
        may_hold |= buckets.ordinals == bucket
    return may_hold


def _unscaled(edge: Any) -> list[int]:
    if isinstance(edge, np.ndarray):
        return [int(value) for value in edge]
    return [unscaled(value, edge.type.scale) for value in edge.to_pylist()]


def _least_bytes(whole: int) -> bytes:
    """Return two's complement, big-endian, without bytes that only repeat the sign."""
    bits = (whole if whole >= 0 else ~whole).bit_length() + 1
    return whole.to_bytes(-(-bits // 8), "big", signed=True)


def _of_bytes(values: list[bytes]) -> npt.NDArray[np.uint32]:
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return murmur3(np.frombuffer(b"".join(values), np.uint8), offsets)
