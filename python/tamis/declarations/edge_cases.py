"""Values on which functions tend to break: limits of types, dates, clock changes, encodings."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any, Final

__all__ = ["random_values"]

_YEARS: Final = (1, 4, 1582, 1600, 1899, 1900, 1969, 1970, 1999, 2000, 2024, 2025, 2038, 2100, 9999)
_DAYS: Final = tuple(
    datetime.date(year, month, day)
    for year in _YEARS
    for month, day in ((1, 1), (2, 28), (3, 1), (6, 30), (7, 1), (12, 29), (12, 31))
)
#: Local times of clock changes in New York, Berlin, Apia and Lord Howe.
_CHANGES: Final = (
    datetime.datetime(2024, 3, 10, 2),
    datetime.datetime(2024, 11, 3, 1),
    datetime.datetime(2024, 3, 31, 2),
    datetime.datetime(2024, 10, 27, 2),
    datetime.datetime(2011, 12, 30),
    datetime.datetime(2024, 4, 7, 1, 30),
)
_CHARACTERS: Final = (
    *"aAbBzZ019 _%.-/~\x00\n\x7f",
    *"éßıİ中\u0301\ud7ff\ue000\uffff",
    *"\U00010000\U0001f600\U0010ffff",
)


def random_values(random: Random, family: str, count: int) -> list[Any]:
    """Return distinct values of a family of types, in the order of Spark.

    There are the fixed values of the family and `count` random ones, without duplicates. -0.0 comes
    before 0.0. NaN is not included.

    >>> values = random_values(Random(1), "integral", 100)
    >>> values == sorted(values), -(2**63) in values
    (True, True)
    """
    fixed, draw, key = _FAMILIES[family]
    values = [*fixed, *(draw(random) for _ in range(count))]
    distinct = {repr(value): value for value in values}.values()
    return sorted(distinct, key=key)


def _integers() -> list[int]:
    ends = [sign * 2**bits for bits in (7, 8, 15, 16, 31, 32, 53, 62, 63) for sign in (-1, 1)]
    near = [each + step for each in ends for step in (-1, 0, 1)]
    small = [*range(-12, 13), 99, 100, 101, 365, 366, 999, 1000, 1001, 10**9, 10**18]
    return [each for each in (*near, *small) if -(2**63) <= each < 2**63]


def _random_integer(random: Random) -> int:
    size = 2 ** random.choice((4, 7, 10, 15, 31, 63))
    return random.randint(-size, size - 1)


def _floats() -> list[float]:
    sizes = [0.0, 5e-324, 1e-320, 1e-9, 0.1, 0.5, 1.0, 1.5, 2.5, 9.999, 10.0, 99.5, 100.0, 1e15]
    sizes += [2.0**53, 2.0**63, 1e300, 1.7976931348623157e308, math.inf]
    sizes += [math.nextafter(each, math.inf) for each in sizes]
    return [sign * each for each in sizes for sign in (-1.0, 1.0)]


def _random_float(random: Random) -> float:
    return random.uniform(-1.0, 1.0) * 10.0 ** random.choice((-3, 0, 1, 2, 4, 15))


def _random_text(random: Random) -> str:
    prefix = random.choice(("", "a", "ab", "A", "10", "item-"))
    return prefix + "".join(random.choices(_CHARACTERS, k=random.choice((0, 1, 2, 5))))


def _text() -> list[str]:
    texts = ["", " ", "0", "1", "9", "10", "100", "-1", "a" * 5000, "A" * 33, "2024-02-29", "true"]
    return [*texts, *_CHARACTERS, *(each * 2 for each in _CHARACTERS)]


def _random_day(random: Random) -> datetime.date:
    day = random.choice(_DAYS).toordinal() + random.choice((0, 1, -1, random.randint(-800, 800)))
    return datetime.date.fromordinal(min(max(day, 1), datetime.date.max.toordinal()))


def _random_moment(random: Random) -> datetime.datetime:
    if random.random() < 0.3:
        near = random.choice(_CHANGES)
    else:
        near = datetime.datetime.combine(_random_day(random), datetime.time())
    step = random.choice((0, 1, -1, 10**6, random.randint(-(10**12), 10**12)))
    try:
        return near + datetime.timedelta(microseconds=step)
    except OverflowError:
        return near


_MOMENTS: Final = [datetime.datetime.combine(day, datetime.time()) for day in _DAYS]
_Family = tuple[list[Any], Callable[[Random], Any], Callable[[Any], Any]]


def _itself(value: Any) -> Any:
    return value


_FAMILIES: Final[dict[str, _Family]] = {
    "boolean": ([False, True], lambda random: random.random() < 0.5, _itself),
    "integral": (_integers(), _random_integer, _itself),
    "floating": (_floats(), _random_float, lambda each: (each, math.copysign(1.0, each))),
    "decimal": (
        [Decimal(each).scaleb(-2) for each in _integers()],
        lambda random: Decimal(_random_integer(random)).scaleb(-2),
        _itself,
    ),
    # Python orders strings by code points, which is the order of their UTF-8 bytes.
    "string": (_text(), _random_text, _itself),
    "binary": (
        [b"", b"\x00", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"a" * 5000],
        lambda random: random.randbytes(random.choice((1, 2, 5))),
        _itself,
    ),
    "date": (list(_DAYS), _random_day, _itself),
    "timestamp": ([*_MOMENTS, *_CHANGES], _random_moment, _itself),
    "timestamp_ntz": ([*_MOMENTS, *_CHANGES], _random_moment, _itself),
}
