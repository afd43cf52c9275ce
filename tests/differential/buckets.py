"""Iceberg's bucket hash of one value, step by step: the oracle."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

from tamis.expr.types import DataType

MASK = 0xFFFFFFFF


def bucket(value: Any, data_type: DataType, count: int) -> int:
    """Return the bucket of a value that is not NULL."""
    return (murmur3(_bytes(value, data_type)) & 0x7FFFFFFF) % count


def _bytes(value: Any, data_type: DataType) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        whole = int("".join(map(str, digits))) * 10 ** (exponent + (data_type.scale or 0))
        whole = -whole if sign else whole
        size = 1
        while not -(1 << (8 * size - 1)) <= whole < 1 << (8 * size - 1):
            size += 1
        return whole.to_bytes(size, "big", signed=True)
    return struct.pack("<q", value)


def murmur3(data: bytes) -> int:
    """Return the 32-bit hash for x86 with seed 0 as an unsigned number."""
    hashed = 0
    whole = len(data) // 4 * 4
    for place in range(0, whole, 4):
        hashed ^= _scrambled(int.from_bytes(data[place : place + 4], "little"))
        hashed = (_rotated(hashed, 13) * 5 + 0xE6546B64) & MASK
    hashed ^= _scrambled(int.from_bytes(data[whole:], "little"))
    hashed ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hashed = ((hashed ^ (hashed >> shift)) * factor) & MASK
    return hashed ^ (hashed >> 16)


def _scrambled(word: int) -> int:
    return (_rotated((word * 0xCC9E2D51) & MASK, 15) * 0x1B873593) & MASK


def _rotated(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & MASK
