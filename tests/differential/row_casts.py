"""CAST on one row, in LEGACY mode and UTC, in the plainest form."""

from __future__ import annotations

import datetime
import math
import re
import struct
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np

from tamis.expr.types import DataType

DAY = 86_400_000_000
_SECOND = 1_000_000


def cast_value(value: Any, source: DataType, target: DataType, mode: str = "LEGACY") -> Any:
    """Return the value in another type; None if it has none."""
    if value is None or source == target:
        return value
    if target.name == "string":
        return _to_text(value, source)
    if source.name == "string":
        return _from_text(value, target)
    if source.name == "boolean" and target.name == "timestamp":
        return int(value)
    number = int(value) if source.name == "boolean" else value
    if target.is_integral:
        return _to_whole(number, source, target, mode)
    if target.is_floating:
        seconds = float(number) / _SECOND if source.name == "timestamp" else number
        return _floating(float(seconds), target)
    if target.is_decimal:
        seconds = float(number) / _SECOND if source.name == "timestamp" else number
        return _to_decimal(seconds, target)
    if target.name == "boolean":
        return number != 0
    return _to_moment(number, source, target)


def _to_whole(value: Any, source: DataType, target: DataType, mode: str) -> int | None:
    least, greatest = target.domain
    if source.name == "timestamp":
        whole = value // _SECOND
    elif isinstance(value, float):
        if math.isnan(value):
            return 0 if mode == "LEGACY" else None
        bits = 64 if target.name == "long" else 32
        end = 1 << (bits - 1)
        if mode == "LEGACY" or math.isinf(value):
            whole = (
                int(min(max(value, -end), end - 1))
                if math.isfinite(value)
                else (end - 1 if value > 0 else -end)
            )
            if mode != "LEGACY":
                return None
        else:
            whole = int(value)
    else:
        whole = int(value)
    if mode != "LEGACY":
        return whole if least <= whole <= greatest else None
    return (whole - least) % (greatest - least + 1) + least


def _floating(value: float, target: DataType) -> float:
    if target.name == "double":
        return value
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _to_decimal(value: Any, target: DataType) -> Decimal | None:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = Decimal(repr(value))
    with localcontext() as context:
        context.prec = 400
        unit = Decimal(1).scaleb(-(target.scale or 0))
        # Java has no negative zero.
        rounded = Decimal(value).quantize(unit, ROUND_HALF_UP) + 0
        return (
            rounded
            if abs(rounded.scaleb(target.scale or 0)) < 10 ** (target.precision or 0)
            else None
        )


def _to_moment(value: Any, source: DataType, target: DataType) -> int | None:
    if target.name == "date":
        return int(value // DAY)
    if source.name == "date":
        return int(value) * DAY
    if isinstance(value, float):
        return int(value * 1e6) if math.isfinite(value) else None
    if isinstance(value, Decimal):
        with localcontext() as context:
            context.prec = 400
            return int((value * _SECOND).to_integral_value(ROUND_DOWN))
    return int(value * _SECOND) if source.is_integral else int(value)


def _to_text(value: Any, source: DataType) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if source.name == "date":
        if not -719_162 <= value < 2_932_897:
            return "+10000-01-01"  # outside of Python's years: no statistics exist
        return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=value))
    if source.name in ("timestamp", "timestamp_ntz"):
        if not -(719_162 * DAY) <= value < 2_932_897 * DAY:
            return "+10000-01-01"
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=value)
        return str(moment).rstrip("0") if moment.microsecond else str(moment)
    if isinstance(value, Decimal):
        return f"{value.quantize(Decimal(1).scaleb(-(source.scale or 0))):f}"
    if source.name == "float":
        return str(np.float32(value))  # the digits that distinguish floats, not doubles
    return str(value)


_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?")


def _from_text(text: str, target: DataType) -> Any:
    """Cast plain text, the only kind that is drawn; other text gives NULL."""
    if target.name == "boolean":
        small = text.strip().lower()
        known = small in ("t", "true", "y", "yes", "1", "f", "false", "n", "no", "0")
        return small in ("t", "true", "y", "yes", "1") if known else None
    if target.is_integral:
        if not re.fullmatch(r"-?\d+(\.\d+)?", text):
            return None
        text = text.partition(".")[0]  # in LEGACY mode
        least, greatest = target.domain
        return int(text) if least <= int(text) <= greatest else None
    if target.is_floating or target.is_decimal:
        if not re.fullmatch(r"-?\d+(\.\d+)?", text):
            return None
        return (
            _floating(float(text), target)
            if target.is_floating
            else _to_decimal(Decimal(text), target)
        )
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    try:
        day = datetime.date(*map(int, match.groups())) - datetime.date(1970, 1, 1)
    except ValueError:
        return None
    return day.days if target.name == "date" else day.days * DAY
