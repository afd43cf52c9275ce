"""Column types, and random values of them where engines tend to differ."""

from __future__ import annotations

import datetime
import decimal
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

decimal.getcontext().prec = 80  # otherwise 38 digits are rounded
EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_UTC = EPOCH.replace(tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Kind:
    """A column type: its SQL, its Arrow type, and a value that grows with `position` in 0 … 1."""

    sql: str
    arrow: pa.DataType
    value: Callable[[random.Random, float], Any]


def integer(bits: int) -> Callable[[random.Random, float], int]:
    """Return a generator of values with this many bits."""
    limit = 2 ** (bits - 1)

    def value(rng: random.Random, position: float) -> int:
        if rng.random() < 0.02:
            return rng.choice([-limit, limit - 1, 0, -1, 1])
        spread = min(limit, 2000)
        return (
            int((position - 0.5) * spread) + rng.randint(-3, 3) if bits > 8 else rng.randint(-5, 5)
        )

    return value


def _floating(rng: random.Random, position: float) -> float:
    if rng.random() < 0.03:
        return rng.choice([float("nan"), 0.0, -0.0, float("inf"), float("-inf"), 5e-324])
    return round((position - 0.5) * 100 + rng.uniform(-2, 2), rng.choice([0, 1, 3]))


def _decimal(precision: int, scale: int) -> Callable[[random.Random, float], decimal.Decimal]:
    def value(rng: random.Random, position: float) -> decimal.Decimal:
        if rng.random() < 0.02:
            return decimal.Decimal(rng.choice([1, -1]) * (10**precision - 1)).scaleb(-scale)
        return decimal.Decimal(int((position - 0.5) * 10**4) + rng.randint(-9, 9)).scaleb(-scale)

    return value


WORDS = ["", "a", "A", "ab", "abc", "b", "ba", "ä", "é", "é", "z", "zz", "\uffff", "\U0010ffff",
         "a\U0010ffff", "ab\x00", " a", "a ", "%", "_", "a%b", "NULL", "𝔘", "ﬀ", "17", "-4",
         "300", "1.5", "true", "2024-01-05", "2024-01-20", "2024-1-9", "2024-02-29 10:00:00",
         "a  b "]  # fmt: skip


def _string(rng: random.Random, position: float) -> str:
    if rng.random() < 0.5:
        # Each file gets words of one kind, so that some files contain only dates.
        return WORDS[int(position * (len(WORDS) - 1))] if rng.random() < 0.7 else rng.choice(WORDS)
    return chr(97 + int(position * 25)) * rng.randint(1, 3) + rng.choice(WORDS)


def _date(rng: random.Random, position: float) -> datetime.date:
    if rng.random() < 0.01:
        return rng.choice(
            [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(1582, 10, 4),
             datetime.date(1582, 10, 15), datetime.date(1969, 12, 31), datetime.date(1970, 1, 1)]
        )  # fmt: skip
    return datetime.date(1965, 1, 1) + datetime.timedelta(
        days=int(position * 4000) + rng.randint(0, 30)
    )


def _moment(rng: random.Random, position: float) -> int:
    """Return microseconds since 1970, possibly negative."""
    if rng.random() < 0.01:
        return rng.choice([0, -1, 1, -62135596800000000, 253402300799999999, -2208988800000000 - 1])
    day = 86400 * 10**6
    return int((position - 0.5) * 4000) * day + rng.choice([0, 1, -1, 3600 * 10**6, day - 1])


KINDS = [
    Kind("BOOLEAN", pa.bool_(), lambda rng, position: rng.random() < position),
    Kind("TINYINT", pa.int8(), integer(8)),
    Kind("SMALLINT", pa.int16(), integer(16)),
    Kind("INT", pa.int32(), integer(32)),
    Kind("BIGINT", pa.int64(), integer(64)),
    Kind("FLOAT", pa.float32(), _floating),
    Kind("DOUBLE", pa.float64(), _floating),
    Kind("DECIMAL(9,2)", pa.decimal128(9, 2), _decimal(9, 2)),
    Kind("DECIMAL(18,4)", pa.decimal128(18, 4), _decimal(18, 4)),
    Kind("DECIMAL(38,10)", pa.decimal128(38, 10), _decimal(38, 10)),
    Kind("STRING", pa.string(), _string),
    Kind("BINARY", pa.binary(), lambda rng, position: _string(rng, position).encode()),
    Kind("DATE", pa.date32(), _date),
    Kind("TIMESTAMP", pa.timestamp("us", "UTC"), _moment),
    Kind("TIMESTAMP_NTZ", pa.timestamp("us"), _moment),
]


def near(rng: random.Random, value: Any, kind: Kind, sign: int) -> Any:
    """Return the next value below (sign -1) or above (1), or one that a file cannot represent."""
    if kind.sql in ("TIMESTAMP", "TIMESTAMP_NTZ"):  # files may store milliseconds
        moved = value + sign * rng.choice([1, 500, 999, 1000])
        return moved if _moment_fits(moved) else value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        moved = value + sign
        return moved if abs(moved) < 2 ** (kind.arrow.bit_width - 1) else value
    if isinstance(value, float):
        return math.nextafter(value, sign * math.inf) if kind.sql == "DOUBLE" else value
    if isinstance(value, decimal.Decimal):
        moved = value + decimal.Decimal(sign).scaleb(-kind.arrow.scale)
        return moved if abs(moved.scaleb(kind.arrow.scale)) < 10**kind.arrow.precision else value
    if isinstance(value, datetime.date):
        at_end = value in (datetime.date.min, datetime.date.max)
        return value if at_end else value + datetime.timedelta(days=sign)
    if isinstance(value, str):
        return value[:-1] if sign < 0 else value + "\x00"
    return value[:-1] if sign < 0 else value + b"\x00"


def _moment_fits(microseconds: int) -> bool:
    return -62135596800000000 <= microseconds <= 253402300799999999
