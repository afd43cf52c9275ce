"""Write the Parquet files beside this script with writers that the development install lacks.

    pip install polars==2.1.0 duckdb==2.0.0 fastparquet==2026.9.0 pyarrow==26.0.1
    python tests/spark/files/make.py

What each writer does in its own way: Polars cuts bounds of text to 64 bytes. DuckDB annotates every
integer and omits bounds of columns with NaN. fastparquet bounds ordered categories in the order of
the categories.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import fastparquet
import pandas as pd
import polars as pl
import pyarrow as pa

HERE = Path(__file__).parent
SCHEMA = pa.schema(
    [
        ("_row", pa.int32()),
        ("i", pa.int32()),
        ("u", pa.uint32()),
        ("d", pa.float64()),
        ("zero", pa.float64()),
        ("text", pa.string()),
        ("raw", pa.binary()),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("ntz", pa.timestamp("us")),
        ("small", pa.decimal128(9, 2)),
        ("large", pa.decimal128(38, 2)),
        ("flag", pa.bool_()),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("list", pa.list_(pa.int32())),
    ]
)


def row(file: int, k: int) -> dict[str, Any]:
    value = 10 * file + k
    letter = chr(ord("a") + file)
    return {
        "_row": value,
        "i": None if k == 0 else value,
        "u": 2**31 + value,
        "d": math.nan if k == 1 else float(value),
        "zero": -0.0 if file == 0 else 0.0,
        # longer than 64 bytes, cut within a character that has no successor
        "text": None if k == 2 else letter * 63 + "\U0010ffff" * (k % 2) * 20 + str(k),
        "raw": bytes([100 + file]) + b"\xff" * 80 + bytes([k]),
        "day": dt.date(1500 + 500 * file, 1, 1 + k),
        "ts": dt.datetime(1890 + 100 * file, 1, 1, k, tzinfo=dt.UTC),
        "ntz": dt.datetime(1890 + 100 * file, 1, 1, k, 0, 0, 1),
        "small": Decimal(value - 5) / 100,
        "large": Decimal((value - 5) * 10**30) / 100,
        "flag": None if k == 0 else file == 0,
        "s": None if k == 0 else {"x": None if k == 1 else value, "y": letter},
        "list": None if k == 3 else [value, k],
    }


def table(file: int) -> pa.Table:
    return pa.Table.from_pylist([row(file, k) for k in range(5)], SCHEMA)


def with_polars(file: int, path: Path) -> None:
    pl.from_arrow(table(file)).write_parquet(path, row_group_size=3)


def with_duckdb(file: int, path: Path) -> None:
    duckdb.from_arrow(table(file)).write_parquet(str(path))


def with_fastparquet(file: int, path: Path) -> None:
    values = [1, 3, 2, 1, 3]
    frame = pd.DataFrame(
        {
            "_row": range(10 * file, 10 * file + 5),
            "category": pd.Categorical([v + 10 * file for v in values]).set_categories(
                [v + 10 * file for v in (1, 3, 2)], ordered=True
            ),
            "i": pd.array([None, *range(10 * file + 1, 10 * file + 5)], "Int64"),
            "d": [float(10 * file), math.nan, 1.0, 2.0, -0.0],
            "text": pd.Series(["a", None, "b", "é", chr(ord("a") + file)], dtype=object),
            "ts": pd.to_datetime(["2020-01-01", None, "2021-01-01", "2022-01-01", "2020-01-01"]),
        }
    )
    fastparquet.write(str(path), frame, stats=True, object_encoding={"text": "utf8"})


if __name__ == "__main__":
    for name, write in [
        ("polars", with_polars),
        ("duckdb", with_duckdb),
        ("fastparquet", with_fastparquet),
    ]:
        (HERE / name).mkdir(exist_ok=True)
        for file in range(2):
            write(file, HERE / name / f"{file}.parquet")
