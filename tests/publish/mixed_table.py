"""A table with many types, partitions, NULLs and NaN, whose row groups have narrow ranges."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_A_GROUP: Final = 4
_GROUPS: Final = 3
_DAY: Final = date(1969, 12, 20)
_MOMENT: Final = datetime(1969, 12, 31, 23, 59, 59, 999_000)

SCHEMA: Final = pa.schema(
    {
        "id": pa.int64(),
        "title": pa.string(),
        "score": pa.float32(),
        "dbl": pa.float64(),
        "bo": pa.bool_(),
        "i": pa.int32(),
        "small": pa.uint8(),
        "n": pa.decimal128(9, 2),
        "w": pa.decimal128(30, 4),
        "d": pa.date32(),
        "ts": pa.timestamp("us"),
        "tsms": pa.timestamp("ms"),
        "tsns": pa.timestamp("ns"),
        "tz": pa.timestamp("us", "UTC"),
        "bl": pa.binary(),
        "s": pa.struct({"x": pa.int32(), "y": pa.string()}),
        "l": pa.list_(pa.int64()),
    }
)


def write_mixed_table(root: Path, seed: int = 1) -> None:
    """Write files under `root/p=<number>/q=<text>`."""
    random = Random(seed)
    first = 0
    for p in (None, -1, 2):
        for q in (None, "a b", "é%"):
            names = [
                "__HIVE_DEFAULT_PARTITION__" if v is None else _escaped(str(v)) for v in (p, q)
            ]
            folder = root / f"p={names[0]}" / f"q={names[1]}"
            folder.mkdir(parents=True)
            rows = [
                _row(random, first + k, (first + k) // ROWS_A_GROUP)
                for k in range(ROWS_A_GROUP * _GROUPS)
            ]
            first += len(rows)
            table = pa.Table.from_pylist(rows, SCHEMA)
            pq.write_table(table, folder / "part.parquet", row_group_size=ROWS_A_GROUP)


def _escaped(text: str) -> str:
    """Return a partition value as Spark writes it: only characters with a meaning are escaped."""
    return text.replace("%", "%25")


def _row(random: Random, ordinal: int, group: int) -> dict[str, Any]:
    base = group % 9 - 4  # values of a row group lie around it
    value = base + random.choice((0, 0, 1))
    row: dict[str, Any] = {
        "title": random.choice(("", "R", "Red", "red", "é", "Rd")) if value % 2 else "Rest",
        "score": random.choice((value / 2, float("nan"))) if group % 4 == 0 else value / 2,
        "dbl": random.choice((-0.0, 0.0)) if value == 0 else value * 1.25,
        "bo": value > 0,
        "i": value,
        "small": value + 4,
        "n": Decimal(value) / 4,
        "w": Decimal(value) * Decimal("10000000000000000.5"),
        "d": _DAY + timedelta(days=value * 5),
        "ts": _MOMENT + timedelta(hours=value * 8),
        "tsms": _MOMENT + timedelta(milliseconds=value),
        "tsns": _MOMENT + timedelta(microseconds=value),
        "tz": (_MOMENT + timedelta(hours=value)).replace(tzinfo=UTC),
        "bl": bytes([abs(value)]) * 2,
        "s": {"x": value, "y": f"y{value}"},
        "l": [value],
    }
    if group % 3 == 0:  # other row groups have no NULL
        for name in random.sample(sorted(row), 5):
            row[name] = None
    return {"id": ordinal, **row}


#: Conditions in DuckDB's SQL. Their truth differs between row groups.
CONDITIONS: Final[Sequence[str]] = (
    "i > 1", "i <= -2", "i = 0", "i <> 3", "i BETWEEN -1 AND 1", "i IN (1, 2, NULL)",
    "i NOT IN (0, 1)", "i IS NULL", "i IS NOT NULL", "i IS DISTINCT FROM 2", "i > 1.5",
    "i = id", "id < 20", "id % 7 = 3", "small >= 5", "small = 300",
    "title = 'Red'", "title LIKE 'R%'", "title LIKE 'R_d'", "title > 'Rd'", "title ILIKE 'r%'",
    "length(title) > 3", "starts_with(title, 'é')", "contains(title, 'e')", "title = ''",
    "title COLLATE NOCASE = 'red'", "upper(title) = 'RED'",
    "score > 1", "score = 'nan'::FLOAT", "score >= 'infinity'::FLOAT", "score < 0.5",
    "dbl = 0", "dbl < 0", "dbl > -0.0", "dbl <= 1.25",
    "bo", "NOT bo", "bo IS NULL", "bo = (i > 0)",
    "n = 0.25", "n > 0.251", "n < 1", "w > 0", "w <= -10000000000000000.5",
    "d = DATE '1969-12-25'", "d > TIMESTAMP '1969-12-20 12:00:00'", "d < DATE '1970-01-01'",
    "year(d) = 1969", "date_trunc('month', d) = DATE '1969-12-01'",
    "ts >= TIMESTAMP '1970-01-01'", "ts::DATE = DATE '1969-12-31'", "ts < TIMESTAMP '1969-12-31'",
    "tsms > TIMESTAMP_MS '1970-01-01 00:00:00.001'", "tsms = '1969-12-31 23:59:59.999'",
    "tsns <= TIMESTAMP_NS '1969-12-31 23:59:59.999002'", "tsns = TIMESTAMP_NS '1969-12-31 23:59:59.999'",
    "tz > TIMESTAMPTZ '1970-01-01 00:00:00+00'", "tz = '1969-12-31 23:59:59.999+00'",
    "tz < TIMESTAMP '1970-01-01 02:00:00'",
    "bl = '\\x01\\x01'::BLOB", "bl > '\\x02'::BLOB", "s.x = 1", "s.y < 'y0'", "s.x IS NULL",
    "p = 2", "p IS NULL", "p < 2", "p <> -1", "q = 'a b'", "q > 'a'", "q IS NOT NULL", "q LIKE 'é%'",
    "coalesce(i, 1) = 1", "CASE WHEN i > 1 THEN bo ELSE p = 2 END", "NULL", "1 = 1", "l[1] = 1",
)  # fmt: skip
