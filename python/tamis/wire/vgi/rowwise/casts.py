"""Casts of single values, as DuckDB performs them.

    to an integer      of another integer, a BOOLEAN; of a DECIMAL, rounded half away from zero; of
                       a floating number, rounded half to even; of text that is a plain number
    to a DECIMAL       of an integer, a BOOLEAN; of another DECIMAL or a DOUBLE, rounded half away
                       from zero; of text that is a plain number with at most the digits of the type
    to FLOAT, DOUBLE   of every number; to DOUBLE also of text that is a plain number
    to BOOLEAN         of every number: whether it is not 0; of 'true' and 'false'
    to VARCHAR         of integers, BOOLEAN, DECIMAL, DATE
    between calendars  to the same or a finer unit; to DATE, the day
    lists, structs     of each element or field

A value that does not fit is an error (`FAILED`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np

from tamis.expr.decimals import from_unscaled, unscaled
from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import Line, LogicalType
from tamis.wire.vgi.rowwise.types import BOOLEAN, INTEGERS, is_decimal, is_exact_number
from tamis.wire.vgi.rowwise.values import FAILED

__all__ = ["Convert", "cast_function", "to_floating", "within"]

#: From a value that is not NULL to a value or FAILED.
Convert = Callable[[Any], Any]

_WHOLE: Final = re.compile(r"-?\d{1,38}", re.ASCII)
_PLAIN: Final = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_EPOCH: Final = date(1970, 1, 1)
_DAYS: Final = ((date.min - _EPOCH).days, (date.max - _EPOCH).days)
_UNITS_PER_DAY: Final = {
    "DATE": 1,
    "TIMESTAMP_S": 86_400,
    "TIMESTAMP_MS": 86_400_000,
    "TIMESTAMP": 86_400_000_000,
    "TIMESTAMP_NS": 86_400_000_000_000,
}
_LONG: Final = (1 << 63) - 1
_INFINITE_DAY: Final = (1 << 31) - 1


def cast_function(source: LogicalType, target: LogicalType) -> Convert:
    """Return the function that casts a value.

    Raises:
        NotUnderstood: DuckDB has no such cast, or it is not reproduced.
    """
    if source == target:
        return lambda value: value
    if target.id in INTEGERS:
        return _to_integer(source, target)
    if is_decimal(target):
        return _to_decimal(source, target)
    if target.is_floating:
        return _to_floating(source, target)
    if target == BOOLEAN:
        return _to_boolean(source)
    if target.id == "VARCHAR":
        return _to_text(source)
    if source.line is Line.CALENDAR is target.line:
        return _to_calendar(source, target)
    if target.id == "DATE" and source.id == "VARCHAR":
        return _day_of
    if source.id == target.id and source.fields and len(source.fields) == len(target.fields):
        return _to_nested(source, target)
    raise _no_cast(source, target)


def _no_cast(source: LogicalType, target: LogicalType) -> NotUnderstood:
    return NotUnderstood(f"a cast of {source.id} to {target.id} is not supported")


def within(value: int, target: LogicalType) -> Any:
    """Return a stored number, or FAILED if it is not one of the type."""
    if target.id in INTEGERS:
        least, greatest, _ = INTEGERS[target.id]
        return value if least <= value <= greatest else FAILED
    assert target.width is not None
    return value if abs(value) < 10**target.width else FAILED


def _rounded(value: int, by: int) -> int:
    """Return a quotient rounded half away from zero."""
    quotient, rest = divmod(abs(value), by)
    quotient += 2 * rest >= by
    return quotient if value >= 0 else -quotient


def _to_integer(source: LogicalType, target: LogicalType) -> Convert:
    if source == BOOLEAN or source.id in INTEGERS:
        return lambda value: within(int(value), target)
    if is_decimal(source):
        power = 10 ** (source.scale or 0)
        return lambda value: within(_rounded(value, power), target)
    if source.is_floating:
        # The greatest values are not those of a floating type: rounding up would not fit.
        least, greatest, _ = INTEGERS[target.id]

        def round_even(value: float) -> Any:
            if not math.isfinite(value) or not least <= value <= greatest:
                return FAILED
            return within(round(value), target)

        return round_even
    if source.id == "VARCHAR":
        return lambda text: within(int(text), target) if _WHOLE.fullmatch(text) else FAILED
    raise _no_cast(source, target)


def _to_decimal(source: LogicalType, target: LogicalType) -> Convert:
    scale = target.scale or 0
    if source == BOOLEAN or source.id in INTEGERS:
        return lambda value: within(int(value) * 10**scale, target)
    if is_decimal(source):
        change = scale - (source.scale or 0)
        if change >= 0:
            return lambda value: within(value * 10**change, target)
        return lambda value: within(_rounded(value, 10**-change), target)
    # Not of a FLOAT: up to DuckDB 1.5, 0.1 is 0.100000000 as DECIMAL(18, 9), and since 2.0 it is
    # 0.100000001.
    if source.id == "DOUBLE":
        power = 10.0**scale

        def from_floating(value: float) -> Any:
            scaled = value * power  # Python rounds as C does, and overflows to infinity
            if not abs(scaled) < 10.0 ** (target.width or 0):  # also for NaN
                return FAILED
            whole = math.floor(abs(scaled))
            whole += abs(scaled) - whole >= 0.5
            return within(whole if scaled >= 0 else -whole, target)

        return from_floating
    if source.id == "VARCHAR":

        def parse(text: str) -> Any:
            if not _PLAIN.fullmatch(text) or len(text.partition(".")[2]) > scale:
                return FAILED
            return within(unscaled(Decimal(text), scale), target)

        return parse
    raise _no_cast(source, target)


def to_floating(stored: int, scale: int, target: LogicalType) -> float:
    """Return an exact number as DuckDB rounds it: once if it can, else its parts one by one."""
    is_double = target.id == "DOUBLE"
    real: Any = np.float64 if is_double else np.float32

    def rounded(number: int) -> Any:
        if -(1 << 63) <= number < 1 << 64:
            kind = np.int64 if number < 1 << 63 else np.uint64
            return kind(number).astype(real)
        upper, lower = divmod(number, 1 << 64)
        return real(np.uint64(lower).astype(real)) + real(upper) * real(2.0**64)

    with np.errstate(all="ignore"):
        if scale == 0 or abs(stored) <= 1 << (53 if is_double else 24):
            return float(rounded(stored) / real(10.0**scale))
        power = 10**scale
        whole = abs(stored) // power * (1 if stored >= 0 else -1)
        return float(rounded(whole) + rounded(stored - whole * power) / real(10.0**scale))


def _to_floating(source: LogicalType, target: LogicalType) -> Convert:
    if is_exact_number(source):
        scale = source.scale or 0 if is_decimal(source) else 0
        return lambda value: to_floating(value, scale, target)
    if source.id == "FLOAT" or source == BOOLEAN:
        return float
    if source.id == "DOUBLE":

        def narrow(value: float) -> Any:
            with np.errstate(all="ignore"):
                rounded = float(np.float32(value))
            return rounded if math.isinf(rounded) is math.isinf(value) else FAILED

        return narrow
    if source.id == "VARCHAR" and target.id == "DOUBLE":
        return lambda text: float(text) if _PLAIN.fullmatch(text) else FAILED
    raise _no_cast(source, target)


def _to_boolean(source: LogicalType) -> Convert:
    if source.line is Line.NUMBER:
        return lambda value: bool(value != 0)
    if source.id == "VARCHAR":
        return lambda text: {"true": True, "false": False}.get(text, FAILED)
    raise _no_cast(source, BOOLEAN)


def _to_text(source: LogicalType) -> Convert:
    if source == BOOLEAN:
        return lambda value: "true" if value else "false"
    if source.id in INTEGERS:
        return str
    if is_decimal(source):
        return lambda value: _decimal_text(value, source)
    if source.id == "DATE":

        def written(days: int) -> Any:
            is_plain = _DAYS[0] <= days <= _DAYS[1]
            return (_EPOCH + timedelta(days)).isoformat() if is_plain else FAILED

        return written
    raise _no_cast(source, LogicalType("VARCHAR"))


def _decimal_text(value: int, data_type: LogicalType) -> str:
    """Return a DECIMAL as text. If all of its digits are behind the point, none is before it."""
    text = f"{from_unscaled(value, data_type.scale or 0):f}"
    return text.replace("0.", ".", 1) if data_type.scale == data_type.width else text


def _day_of(text: str) -> Any:
    try:
        return (date.fromisoformat(text) - _EPOCH).days if _DAY.fullmatch(text) else FAILED
    except ValueError:
        return FAILED


def _to_calendar(source: LogicalType, target: LogicalType) -> Convert:
    old, new = _UNITS_PER_DAY[source.id], _UNITS_PER_DAY[target.id]
    if new < old and target.id != "DATE":
        raise _no_cast(source, target)
    infinite = _INFINITE_DAY if source.id == "DATE" else _LONG

    def convert(value: int) -> Any:
        if abs(value) >= infinite:
            return FAILED
        if source.id == "TIMESTAMP_NS" and target.id == "DATE":
            # DuckDB first drops what a microsecond does not hold, toward zero.
            value = abs(value) // 1000 * (1000 if value >= 0 else -1000)
        converted = value * (new // old) if new >= old else value // (old // new)
        return converted if abs(converted) < _LONG else FAILED

    return convert


def _to_nested(source: LogicalType, target: LogicalType) -> Convert:
    parts = [
        cast_function(one, other)
        for (_, one), (_, other) in zip(source.fields, target.fields, strict=True)
    ]
    if target.id == "STRUCT":
        return lambda value: _together([_apply(p, v) for p, v in zip(parts, value, strict=True)])
    return lambda value: _together([_apply(parts[0], each) for each in value])


def _apply(convert: Convert, value: Any) -> Any:
    return None if value is None else convert(value)


def _together(values: list[Any]) -> Any:
    return FAILED if any(each is FAILED for each in values) else tuple(values)
