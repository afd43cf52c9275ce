"""Spark's `xxhash64` of single constants, to probe Bloom filters that Spark filled.

Spark hashes a value by its type:

- integers up to 32 bits, dates and booleans as 32 bits;
- other integers, timestamps and short decimals (unscaled) as 64 bits;
- floating-point values by their bits, with one zero and one NaN;
- strings, binary and long decimals (unscaled, big-endian) as bytes.

The algorithm is XXH64 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) with seed
42, except that a number is hashed as one lane.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

import numpy as np

from tamis.evaluation.domain.bounds import Edge
from tamis.expr.decimals import unscaled
from tamis.expr.types import DataType

__all__ = ["hash_bytes", "hash_int", "hash_long", "hashes_of"]

_SEED: Final = 42
_MASK: Final = (1 << 64) - 1
_P1: Final = 0x9E3779B185EBCA87
_P2: Final = 0xC2B2AE3D27D4EB4F
_P3: Final = 0x165667B19E3779F9
_P4: Final = 0x85EBCA77C2B2AE63
_P5: Final = 0x27D4EB2F165667C5


def _rotl(value: int, bits: int) -> int:
    value &= _MASK
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _finished(value: int) -> int:
    value &= _MASK
    value = ((value ^ (value >> 33)) * _P2) & _MASK
    value = ((value ^ (value >> 29)) * _P3) & _MASK
    return value ^ (value >> 32)


def hash_int(value: int) -> int:
    """Return the hash of an integer of 32 bits.

    >>> hash_int(1) - (1 << 64)  # SELECT xxhash64(1)
    -6698625589789238999
    """
    state = (_SEED + _P5 + 4) ^ (((value & 0xFFFFFFFF) * _P1) & _MASK)
    return _finished(_rotl(state, 23) * _P2 + _P3)


def hash_long(value: int, seed: int = _SEED) -> int:
    """Return the hash of an integer of 64 bits. The seed is the hash of the values before it."""
    lane = (_rotl((value & _MASK) * _P2, 31) * _P1) & _MASK
    return _finished(_rotl((seed + _P5 + 8) ^ lane, 27) * _P1 + _P4)


def hash_bytes(data: bytes) -> int:
    """Return the hash of a string in UTF-8, or of binary.

    >>> hash_bytes(b"Spark") - (1 << 64)  # SELECT xxhash64('Spark')
    -4294468057691064905
    """
    end = len(data)
    at = 0
    if end >= 32:
        lanes = [_SEED + _P1 + _P2, _SEED + _P2, _SEED, _SEED - _P1]
        while at + 32 <= end:
            words = struct.unpack_from("<4Q", data, at)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            at += 32
        turns = (1, 7, 12, 18)
        state = sum(_rotl(lane, turn) for lane, turn in zip(lanes, turns, strict=True))
        for lane in lanes:
            state = ((state ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        state = _SEED + _P5
    state += end
    while at + 8 <= end:
        (word,) = struct.unpack_from("<Q", data, at)
        state = _rotl(state ^ _round(0, word), 27) * _P1 + _P4
        at += 8
    if at + 4 <= end:
        (half,) = struct.unpack_from("<I", data, at)
        state = _rotl((state & _MASK) ^ ((half * _P1) & _MASK), 23) * _P2 + _P3
        at += 4
    for byte in data[at:]:
        state = _rotl((state & _MASK) ^ ((byte * _P5) & _MASK), 11) * _P1
    return _finished(state)


def _round(lane: int, word: int) -> int:
    return (_rotl(lane + word * _P2, 31) * _P1) & _MASK


def hashes_of(options: Edge, data_type: DataType) -> list[int]:
    """Return the hashes of constants as values of a type.

    Constants that no value of the type can equal are left out.

    >>> from tamis.expr.types import BYTE
    >>> hashes_of(np.array([1, 1000]), BYTE) == [hash_int(1)]
    True
    """
    return list(_hashes(options, data_type))


def _hashes(options: Edge, data_type: DataType) -> Iterator[int]:
    if not isinstance(options, np.ndarray):
        for value in options.to_pylist():
            yield hash_bytes(value if isinstance(value, bytes) else _unscaled(value, data_type))
    elif data_type.name == "float":
        for number in options.tolist():
            single = np.float32(number) if abs(number) < 3.5e38 or np.isinf(number) else None
            if single is not None and float(single) == number:
                # + 0: turns -0.0 into 0.0
                yield hash_int(struct.unpack("<i", struct.pack("<f", float(single) + 0.0))[0])
    elif data_type.name == "double":
        for number in options.tolist():
            yield hash_long(struct.unpack("<q", struct.pack("<d", number + 0.0))[0])
    elif data_type.is_decimal or data_type.name in ("long", "timestamp", "timestamp_ntz"):
        yield from map(hash_long, options.tolist())
    else:
        least, greatest = data_type.domain
        yield from (hash_int(v) for v in options.tolist() if least <= v <= greatest)


def _unscaled(value: object, data_type: DataType) -> bytes:
    """Encode as Java's BigInteger.toByteArray does: the shortest big-endian two's complement."""
    assert isinstance(value, Decimal)
    number = unscaled(value, data_type.scale or 0)
    bits = (number if number >= 0 else ~number).bit_length() + 1
    return number.to_bytes((bits + 7) // 8, "big", signed=True)
