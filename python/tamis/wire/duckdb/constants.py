"""Constants: {"type": TYPE, "is_null": false, "value": …}.

    type                              value
    BOOLEAN                           true, false
    TINYINT … UBIGINT                 a number
    HUGEINT, UHUGEINT                 {"upper": 64 bits, signed for HUGEINT; "lower": 64 bits}
    DECIMAL up to 18 digits           the unscaled number
    DECIMAL of more digits            the unscaled number as upper and lower
    FLOAT, DOUBLE                     a number, NaN, Infinity, -Infinity
    DATE                              days since 1970
    TIMESTAMP_S, _MS, (none), _NS     units since 1970; WITH TIME ZONE: microseconds, UTC
    VARCHAR                           text, or {"base64": …} if it is not valid UTF-8
    BLOB                              text with \\xHH for unprintable bytes, or {"base64": …}
    UUID                              upper and lower, the first bit flipped, so that signed
                                      numbers have the order of the bytes

On the line of its type (see types), every exact number and every time is a Fraction.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import uuid
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final, TypeAlias

from tamis.wire.duckdb.document import NotUnderstood, mapping, require, text
from tamis.wire.duckdb.types import MICROSECONDS_PER_DAY, LogicalType, logical_type

__all__ = ["ConstantValue", "constant"]

#: The value of a constant on its line. None is NULL.
ConstantValue: TypeAlias = bool | Fraction | float | str | bytes | None

_LONG: Final = range(-(1 << 63), 1 << 63)
_UNSIGNED_LONG: Final = range(1 << 64)
#: Microseconds per unit.
_UNITS: Final = {
    "TIMESTAMP_S": Fraction(1_000_000),
    "TIMESTAMP_MS": Fraction(1_000),
    "TIMESTAMP": Fraction(1),
    "TIMESTAMP WITH TIME ZONE": Fraction(1),
    "TIMESTAMP_NS": Fraction(1, 1_000),
}
_ESCAPED_BYTES: Final = re.compile(r"(?:[ -\[\]-~]|\\x[0-9A-Fa-f]{2})*")
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})+|(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2,3}={1,2}")


def constant(node: object) -> tuple[ConstantValue, LogicalType]:
    """Return the value and the type of the `value` of a BOUND_CONSTANT.

    Raises:
        NotUnderstood: It is not a constant of a type that is understood.

    >>> constant({"type": {"id": "DATE", "type_info": None}, "is_null": False, "value": 1})[0]
    Fraction(86400000000, 1)
    """
    document = mapping(node)
    data_type = logical_type(document.get("type"))
    is_null = document.get("is_null")
    require(type(is_null) is bool)
    if is_null:
        return None, data_type
    return _value(data_type, document.get("value")), data_type


def _value(data_type: LogicalType, value: Any) -> ConstantValue:
    read = _READERS.get(data_type.id)
    if read is None:
        raise NotUnderstood
    return read(data_type, value)


def _boolean(data_type: LogicalType, value: Any) -> bool:
    if type(value) is not bool:
        raise NotUnderstood
    return value


def _whole(value: Any, allowed: range) -> int:
    # Floating-point numbers are rejected: beyond 2**53 they may stand for another integer.
    require(type(value) is int and value in allowed)
    return int(value)


def _halves(value: Any, *, signed: bool) -> int:
    halves = mapping(value)
    upper = _whole(halves.get("upper"), _LONG if signed else _UNSIGNED_LONG)
    return (upper << 64) + _whole(halves.get("lower"), _UNSIGNED_LONG)


def _number(data_type: LogicalType, value: Any) -> Fraction:
    least, greatest = data_type.range
    if isinstance(value, Mapping):
        return Fraction(_halves(value, signed=data_type.id != "UHUGEINT"))
    return Fraction(_whole(value, range(least, greatest + 1)))


def _decimal(data_type: LogicalType, value: Any) -> Fraction:
    whole = _halves(value, signed=True) if isinstance(value, Mapping) else None
    unscaled = _whole(value, _LONG) if whole is None else whole
    assert data_type.width is not None
    require(abs(unscaled) < 10**data_type.width)
    return Fraction(unscaled, 10 ** (data_type.scale or 0))


def _floating(data_type: LogicalType, value: Any) -> float:
    require(isinstance(value, int | float) and not isinstance(value, bool))
    number = float(value)
    if data_type.id == "DOUBLE":
        return number
    # The 32-bit float that DuckDB uses: 1.1 is 1.10000002384185791015625.
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded


def _days(data_type: LogicalType, value: Any) -> Fraction:
    return Fraction(_whole(value, range(-(1 << 31), 1 << 31)) * MICROSECONDS_PER_DAY)


def _instant(data_type: LogicalType, value: Any) -> Fraction:
    units = _whole(value, _LONG)
    # The ends of the 64-bit range mean infinity in every unit, beyond any time of another unit.
    require(_UNITS[data_type.id] == 1 or abs(units) < _LONG[-1])
    return units * _UNITS[data_type.id]


def _varchar(data_type: LogicalType, value: Any) -> str:
    characters = _base64(value).decode() if isinstance(value, Mapping) else text(value)
    characters.encode()  # raises for a lone surrogate, which is not a character
    return characters


def _blob(data_type: LogicalType, value: Any) -> bytes:
    if isinstance(value, Mapping):
        return _base64(value)
    escaped = text(value)
    require(_ESCAPED_BYTES.fullmatch(escaped) is not None)
    # Some writers send base64 without marking it. Text that may be either is not understood.
    require("\\" in escaped or _BASE64.fullmatch(escaped) is None)
    return re.sub(
        rb"\\x(..)", lambda match: bytes.fromhex(match[1].decode()), escaped.encode("ascii")
    )


def _base64(value: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(text(value.get("base64")), validate=True)
    except binascii.Error as error:
        raise NotUnderstood from error


def _uuid(data_type: LogicalType, value: Any) -> bytes:
    if isinstance(value, str):
        return uuid.UUID(value).bytes
    return (_halves(value, signed=True) + (1 << 127)).to_bytes(16, "big")


_READERS: Final[dict[str, Callable[[LogicalType, Any], ConstantValue]]] = {
    "BOOLEAN": _boolean,
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), _number),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), _number),
    "DECIMAL": _decimal,
    "FLOAT": _floating,
    "DOUBLE": _floating,
    "DATE": _days,
    **dict.fromkeys(_UNITS, _instant),
    "VARCHAR": _varchar,
    "BLOB": _blob,
    "UUID": _uuid,
}
