"""Containers of values around the points where functions break, at many distances."""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR
_YEARS = (1, 4, 100, 1000, 1582, 1600, 1883, 1899, 1900, 1969, 1970, 1972, 1999, 2000, 2004, 2010)
_YEARS += (2011, 2012, 2018, 2020, 2024, 2025, 2037, 2038, 2099, 2100, 2400, 9999)

ARROW: dict[str, pa.DataType] = {
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.decimal128(10, 2),
    "decimal_long": pa.decimal128(30, 6),
    "string": pa.string(),
    "numeral": pa.string(),
    "day_text": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
}
SQL = {
    **{kind: kind.upper() for kind in ARROW},
    "decimal": "DECIMAL(10,2)",
    "decimal_long": "DECIMAL(30,6)",
    "numeral": "STRING",
    "day_text": "STRING",
}


def _day(year: int, month: int, day: int) -> int:
    return datetime.date(year, month, day).toordinal() - datetime.date(1970, 1, 1).toordinal()


_DAYS = [_day(year, 1, 1) for year in _YEARS]
_DAYS += [_day(year, 3, 1) for year in _YEARS] + [_day(year, 12, 29) for year in _YEARS]
_DAYS += [_day(1582, 10, 5), _day(1582, 10, 15), _day(2011, 12, 30), _day(2024, 2, 29)]
#: Clock changes in New York, Berlin, Apia, Monrovia, São Paulo, Havana, Lord Howe, Santiago and
#: Kwajalein (which skipped 1993-08-21).
_CHANGES = [
    "2024-03-10T07:00:00 2024-11-03T06:00:00 1967-04-30T07:00:00 2050-03-13T07:00:00",
    "2024-03-31T01:00:00 2024-10-27T01:00:00 1945-05-24T00:00:00",
    "2011-12-30T10:00:00 2010-09-26T11:00:00",
    "1972-01-07T00:44:30 1945-10-14T17:30:00",
    "2018-11-04T03:00:00 2019-02-17T02:00:00",
    "2024-03-10T05:00:00 2024-11-03T05:00:00",
    "2024-04-06T15:00:00 2024-10-05T15:30:00",
    "2024-04-07T03:00:00 2024-09-08T04:00:00 2098-09-07T04:00:00",
    "1993-08-21T12:00:00 1969-09-30T13:00:00",
]
_MOMENTS = [
    int(
        (datetime.datetime.fromisoformat(text) - datetime.datetime(1970, 1, 1))
        / datetime.timedelta(microseconds=1)
    )
    for line in _CHANGES
    for text in line.split()
]
_MOMENTS += [day * DAY for day in _DAYS]
_STEPS = (1, 1000, SECOND, 30 * SECOND, 20 * 60 * SECOND, HOUR, 5 * HOUR, DAY, 20 * DAY, 400 * DAY)
_CHARACTERS = [*"aAbBzZ09 _%.-iIsS", "é", "ß", "Σ", "ı", "İ", "ﬀ", "中", "\ud7ff", "\ue000"]
_CHARACTERS += ["\uffff", "\U00010000", "\U0001f600", "\U0010ffff", "\x7f", "\x00", "\n", "\u0301"]
_FLOATS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, 1e-320, 1e15, 2.0**53, 2.0**63, 1e300, 1e308]
_FLOATS += [127.5, -128.5, 2.0**31, -(2.0**31), 2.0**31 - 0.5, math.inf, -math.inf, 0.285, 1.005]


def _discrete(anchors: list[int], steps: tuple[int, ...], bits: int) -> Callable[[Random], list]:
    least, greatest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def draw(random: Random) -> list[Any]:
        anchor, step = random.choice(anchors), random.choice(steps)
        values = [anchor + random.randint(-step, step) for _ in range(random.choice([1, 2, 9]))]
        values += random.choice([[], [], [anchor], [anchor, anchor - 1], [random.choice(anchors)]])
        return [min(max(each, least), greatest) for each in values]

    return draw


def _integers(bits: int) -> Callable[[Random], list[Any]]:
    ends = [-(1 << (bits - 1)), (1 << (bits - 1)) - 1]
    anchors = [0, 0, 0, 1, 10, -10, 100, 1 << (bits // 2), 999, *ends]
    return _discrete(anchors, (0, 1, 3, 12, 100, 1 << (bits // 2 - 1), 1 << (bits - 2)), bits)


def _floats(random: Random) -> list[Any]:
    anchor = random.choice(_FLOATS)
    values = [anchor]
    for _ in range(random.choice([0, 1, 8])):
        scale = random.choice([1e-16, 1e-9, 0.1, 1.0, 10.0])
        values.append(anchor + random.uniform(-scale, scale) * random.choice([1.0, abs(anchor)]))
    values += random.choice([[], [], [-anchor], [random.choice(_FLOATS)], [math.nan]])
    # Infinity times zero is NaN; NaN is only drawn on purpose.
    return [each for each in values if each == each] + [e for e in values[-1:] if e != e]


def _floats_32(random: Random) -> list[Any]:
    values = []
    for each in _floats(random):
        try:
            values.append(struct.unpack("<f", struct.pack("<f", each))[0])
        except OverflowError:
            values.append(math.copysign(math.inf, each))
    return values


def _decimals(digits: int, scale: int) -> Callable[[Random], list[Any]]:
    end = 10**digits - 1
    draw = _discrete([0, 0, 50, -50, 10**4, 10**scale, end, -end], (0, 1, 5, 200, 10**6), 120)

    def decimals(random: Random) -> list[Any]:
        return [Decimal(f"{min(max(each, -end), end)}E-{scale}") for each in draw(random)]

    return decimals


def _strings(random: Random) -> list[Any]:
    def text(longest: int) -> str:
        return "".join(random.choices(_CHARACTERS, k=random.randint(0, longest)))

    prefix = random.choice(["", "a", "abc", "aé", "AB", "Is", "\U0010ffff", text(3)])
    if random.random() < 0.05:  # longer than the widths and limits of rules
        lengths = random.choices([0, 1, 8, 63, 64, 199, 200, 201, 300], k=random.randint(1, 3))
        return [prefix + "b" * length for length in lengths]
    values = [prefix + text(4) for _ in range(random.choice([1, 1, 2, 8]))]
    return values + random.choice([[], [], [prefix], [prefix + "\U0010ffff"], [text(5)]])


def _binary(random: Random) -> list[Any]:
    return [
        text.encode("utf-8", "surrogatepass")[: random.choice([9, 2])] for text in _strings(random)
    ]


_NUMERALS = ["0", "-0", "7", "007", "127", "128", "-129", "2147483647", "2147483648", "1.5", "-2.5"]
_NUMERALS += [
    "0.285",
    "1e3",
    ".5",
    "5.",
    " 5",
    "5 ",
    "+5",
    "NaN",
    "true",
    "T",
    "no",
    "Y",
    "1d",
    "abc",
]
_NUMERALS += ["", "9" * 18, "9" * 19, "123456789.987654321", "0.1", "16777217", "3.4028236e38", "-"]


def _numerals(random: Random) -> list[Any]:
    base = random.choice([*_NUMERALS, str(random.randint(-(10**5), 10**5))])
    values = [base]
    if random.random() < 0.4:
        values += [base + random.choice("0159.e "), random.choice(_NUMERALS)]
    return values


def _day_texts(random: Random) -> list[Any]:
    """Dates as text: full width, short, followed by times and zones, and invalid ones."""
    year = random.choice([1, 999, 1582, 1899, 1970, 1999, 2023, 2024, 9999, 12024])
    month, day = random.choice([1, 2, 9, 10, 12]), random.choice([1, 9, 10, 28, 29, 30, 31])
    full = f"{year:04d}-{month:02d}-{day:02d}"
    ends = [
        "",
        " 00:00:00",
        " 23:59:59.999999",
        "T12:30:05.5",
        " 02:30:00",
        " 24:00:00",
        "Z",
        " 1:2:3",
    ]
    ends += ["T00:00:00+18:00", " 10:00:00 America/New_York", "T", " ", "x", " 12:30:00.123456789"]
    values = [full + random.choice(ends)]
    if random.random() < 0.6:
        later = min(day + random.choice([0, 1, 5]), 31)
        values.append(f"{year:04d}-{month:02d}-{later:02d}" + random.choice(ends))
        values += random.sample(
            [
                f"{year:04d}-{month}-{day}",
                f"{year:04d}-{month}",
                f"{year:04d}-{month:02d}",
                f"{year:04d}",
                f"{year:04d}5-01-01",
                f"{year:04d}-{month:02d}-{day}",
                f"{year:04d}-{random.choice([0, 1, 2, 10, 12, 13]):02d}-15",
                f"{year:04d}-",
                f" {full}",
                f"+{full}",
            ],
            k=random.choice([0, 1, 2]),
        )
    return values


DRAW: dict[str, Callable[[Random], list[Any]]] = {
    "date": _discrete(
        [*_DAYS, *_DAYS, -(1 << 31), (1 << 31) - 1], (0, 1, 2, 6, 30, 90, 366, 4000, 10**6), 32
    ),
    "timestamp": _discrete([*_MOMENTS, *_MOMENTS, -(1 << 63), (1 << 63) - 1], _STEPS, 64),
    "timestamp_ntz": _discrete([*_MOMENTS, *_MOMENTS, -(1 << 63), (1 << 63) - 1], _STEPS, 64),
    "tinyint": _integers(8),
    "smallint": _integers(16),
    "int": _integers(32),
    "bigint": _integers(64),
    "float": _floats_32,
    "double": _floats,
    "decimal": _decimals(10, 2),
    "decimal_long": _decimals(30, 6),
    "string": _strings,
    "numeral": _numerals,
    "day_text": _day_texts,
    "binary": _binary,
    "boolean": lambda random: random.choices([False, True], k=random.choice([1, 2])),
}


def random_containers(random: Random, kind: str, count: int) -> list[list[dict[str, Any]]]:
    """Draw rows of x and y of this type, and k, a small integer; some values are NULL."""
    return [_container(random, kind) for _ in range(count)]


def _container(random: Random, kind: str) -> list[dict[str, Any]]:
    small = [random.randint(-3, 30)]
    if random.random() < 0.5:
        small += [small[0] + random.randint(0, 3)]
    columns = {"x": DRAW[kind](random), "y": DRAW[kind](random), "k": small}
    nulls = random.choice([0.0, 0.0, 0.3, 1.0 if random.random() < 0.2 else 0.0])
    return [
        {
            name: None if random.random() < nulls else random.choice(values)
            for name, values in columns.items()
        }
        for _ in range(12)
    ]
