"""The Spark types whose values tamis can compare, under Spark's own names.

Other types (collated strings, structs, arrays, char and varchar) have no `DataType`, and an
expression over them is opaque. Intervals are types of constants and of function results, but not of
columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = [
    "BINARY",
    "BOOLEAN",
    "BYTE",
    "CALENDAR_INTERVAL",
    "DATE",
    "DAY_TIME_INTERVAL",
    "DOUBLE",
    "FLOAT",
    "INTEGER",
    "LONG",
    "SHORT",
    "STRING",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "YEAR_MONTH_INTERVAL",
    "DataType",
    "decimal",
    "interval_type",
]

#: Decimals up to this precision have unscaled values that fit 64 bits.
MAX_LONG_DIGITS: Final = 18
MAX_PRECISION: Final = 38

_DECIMAL = re.compile(r"decimal(?:\(\s*(\d+)\s*,\s*(\d+)\s*\))?")


@dataclass(frozen=True, slots=True)
class DataType:
    """One of Spark's atomic types.

    `precision` and `scale` are those of a decimal, and None for all other types.
    """

    name: str
    precision: int | None = None
    scale: int | None = None

    @staticmethod
    def parse(text: object) -> DataType | None:
        """Parse a type as Spark's `DataType.json` writes it. Return None if it is not understood.

        >>> DataType.parse("decimal(10,2)")
        DataType(name='decimal', precision=10, scale=2)
        >>> DataType.parse("string collate UNICODE_CI") is None
        True
        """
        if not isinstance(text, str):
            return None
        if text in _BY_NAME:
            return _BY_NAME[text]
        match = _DECIMAL.fullmatch(text)
        if match is None:
            return None
        # Spark's bare `decimal` is decimal(10,0).
        precision, scale = int(match[1] or 10), int(match[2] or 0)
        if not (1 <= precision <= MAX_PRECISION and 0 <= scale <= precision):
            return None
        return decimal(precision, scale)

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.is_decimal else self.name

    @property
    def is_decimal(self) -> bool:
        return self.name == "decimal"

    @property
    def is_floating(self) -> bool:
        """Whether NaN is one of its values."""
        return self.name in ("float", "double")

    @property
    def is_text(self) -> bool:
        """Whether its values are compared as byte strings."""
        return self.name in ("string", "binary")

    @property
    def is_integral(self) -> bool:
        return self.name in _INTEGRAL_BITS

    @property
    def is_discrete(self) -> bool:
        """Whether its values are stored as 64-bit integers, so that v + 1 is the value after v.

        True for booleans, integers, dates (days), timestamps (microseconds), intervals of a single
        unit (months or microseconds), and decimals of at most 18 digits (their unscaled values).
        """
        if self.is_decimal:
            return self.precision is not None and self.precision <= MAX_LONG_DIGITS
        return not (self.is_floating or self.is_text or self.name == "calendar_interval")

    @property
    def domain(self) -> tuple[int, int]:
        """The least and the greatest value of a discrete type, as a 64-bit integer.

        For decimals it is the whole range of 64 bits: files may hold more digits than their type
        allows, and a bound that is too wide is never wrong.

        >>> BYTE.domain
        (-128, 127)
        """
        if self.name == "boolean":
            return 0, 1
        is_short = self.name in ("date", "year_month_interval")
        bits = _INTEGRAL_BITS.get(self.name, 32 if is_short else 64)
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


_INTEGRAL_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}

BOOLEAN: Final = DataType("boolean")
BYTE: Final = DataType("byte")
SHORT: Final = DataType("short")
INTEGER: Final = DataType("integer")
LONG: Final = DataType("long")
FLOAT: Final = DataType("float")
DOUBLE: Final = DataType("double")
STRING: Final = DataType("string")
BINARY: Final = DataType("binary")
DATE: Final = DataType("date")
TIMESTAMP: Final = DataType("timestamp")
TIMESTAMP_NTZ: Final = DataType("timestamp_ntz")

#: Types of constants and results, but not of columns. Their values are microseconds, months, and a
#: CalendarInterval.
DAY_TIME_INTERVAL: Final = DataType("day_time_interval")
YEAR_MONTH_INTERVAL: Final = DataType("year_month_interval")
CALENDAR_INTERVAL: Final = DataType("calendar_interval")

_BY_NAME: Final = {
    each.name: each
    for each in (
        BOOLEAN,
        BYTE,
        SHORT,
        INTEGER,
        LONG,
        FLOAT,
        DOUBLE,
        STRING,
        BINARY,
        DATE,
        TIMESTAMP,
        TIMESTAMP_NTZ,
    )
}


def decimal(precision: int, scale: int) -> DataType:
    """Return the decimal type of that many digits, `scale` of them after the decimal point."""
    return DataType("decimal", precision, scale)


_YEARS_AND_MONTHS = re.compile(r"interval (?:year|month)(?: to month)?")
_DAYS_TO_SECONDS = re.compile(r"interval (?:day|hour|minute|second)(?: to (?:hour|minute|second))?")


def interval_type(text: object) -> DataType | None:
    """Return the type of an interval, whatever its fields, or None for other types.

    >>> interval_type("interval day to second") == DAY_TIME_INTERVAL
    True
    """
    if not isinstance(text, str):
        return None
    if text == "interval":
        return CALENDAR_INTERVAL
    if _YEARS_AND_MONTHS.fullmatch(text):
        return YEAR_MONTH_INTERVAL
    return DAY_TIME_INTERVAL if _DAYS_TO_SECONDS.fullmatch(text) else None
