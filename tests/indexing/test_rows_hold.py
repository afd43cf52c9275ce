"""Statistics of ORC, CSV and JSON hold for the rows that Spark reads, column by column.

Spark writes random rows. Text files are then damaged at random: characters are inserted, removed
and moved. For a file that the index describes, every set of columns must give the same rows.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tamis
from tamis.indexing.build.current_index import load_segments
from tamis.indexing.format.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 40
SCHEMA = (
    "a LONG, s STRING, d DOUBLE, t TIMESTAMP, n DECIMAL(10,2), f BOOLEAN, day DATE, "
    "st STRUCT<x: INT, y: STRING>, l ARRAY<INT>"
)
#: CSV has no structs and no lists.
FLAT = SCHEMA.partition(", st ")[0]
#: The columns as Spark selects them, so that values compare with those of the index.
SELECTED = {
    "a": "a",
    "s": "CAST(s AS BINARY)",
    "d": "d",
    "t": "unix_micros(t)",
    "n": "n",
    "f": "f",
    "day": "unix_date(day)",
    "st.x": "st.x",
    "st.y": "CAST(st.y AS BINARY)",
}
SCENES: dict[str, tuple[str, dict[str, str]]] = {
    "orc": ("orc", {}),
    "csv": ("csv", {}),
    "csv with a header": ("csv", {"header": "true", "sep": ";", "nullValue": "-"}),
    "csv over lines": ("csv", {"multiLine": "true", "emptyValue": "~"}),
    "csv trimmed": ("csv", {"ignoreLeadingWhiteSpace": "true", "comment": "#", "escape": '"'}),
    "json": ("json", {}),
    "json over lines": ("json", {"multiLine": "true"}),
    "json as it comes": ("json", {"allowComments": "true", "allowSingleQuotes": "true"}),
}
INSERTED = [",", '"', "'", "\n", "\r", "\\", "{", "}", "[", "]", ":", "x", "1", "-", " ", "null",
            "NaN", "#", "é", ",,", '"a":3,', '"s":"new",', ";", "//", "e5", ".", "\t", "-;-",
            "2020-02-30", "{}", "[]", '""', "\n\n", "true"]  # fmt: skip


def random_rows(rng: random.Random, count: int) -> list[tuple[Any, ...]]:
    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.15 else value

    words = ["", "a", "b c", "é", '"', "x,y", "null", "-", "NaN", " z ", "#", "\\", "long " * 300]
    numbers = [0.0, -0.0, 1.5, float("nan"), float("inf"), -2e300, 3.0]
    import datetime

    def row() -> tuple[Any, ...]:
        moment = datetime.datetime(1995, 1, 1) + datetime.timedelta(
            seconds=rng.randrange(10**9), microseconds=rng.randrange(10**6)
        )
        return (
            maybe(rng.randrange(-(10**6), 10**6)),
            maybe(rng.choice(words)),
            maybe(rng.choice(numbers)),
            maybe(moment),
            maybe(Decimal(rng.randrange(-(10**6), 10**6)) / 100),
            maybe(rng.random() < 0.5),
            maybe(moment.date()),
            maybe((maybe(rng.randrange(9)), maybe(rng.choice(words)))),
            maybe([1, 2]),
        )

    return [row() for _ in range(count)]


def damaged(rng: random.Random, text: str) -> str:
    for _ in range(rng.choice([0, 1, 1, 2])):
        position = rng.randrange(len(text) + 1)
        match rng.randrange(3):
            case 0:
                text = text[:position] + rng.choice(INSERTED) + text[position:]
            case 1:
                text = text[:position] + text[position + rng.randrange(1, 4) :]
            case 2:
                source = rng.randrange(len(text) + 1)
                text = (
                    text[:position] + text[source : source + rng.randrange(1, 12)] + text[position:]
                )
    return text


def write(spark: SparkSession, rng: random.Random, kind: str, options: Any, path: Path) -> None:
    rows = random_rows(rng, FILES * 6)
    frame = spark.createDataFrame(rows, SCHEMA).repartition(FILES)
    if kind == "csv":
        frame = frame.drop("st", "l")
    frame.write.format(kind).options(**options).save(str(path))
    if kind == "orc":
        return
    for file in sorted(path.iterdir()):  # in partition order, so that every run is the same
        if file.name.startswith("."):
            file.unlink()  # checksums of the undamaged files
        elif file.name.startswith("part-"):
            # Bytes, so that newlines stay as they are.
            file.write_bytes(damaged(rng, file.read_bytes().decode()).encode())


def recorded(path: Path) -> dict[str, dict[str, Any]]:
    store = Store.at(path.as_uri().replace("file:///", "file:/"), None, {})
    files, _ = load_segments(store, store.pointer())
    for name in files.column_names:
        column = files.column(name)
        if pa.types.is_timestamp(column.type):
            files = files.set_column(files.column_names.index(name), name, column.cast("int64"))
        elif pa.types.is_date32(column.type):
            files = files.set_column(files.column_names.index(name), name, column.cast("int32"))
    return {row["name"]: row for row in files.to_pylist()}


def read(frame: DataFrame, columns: list[str]) -> dict[str, list[tuple[Any, ...]]]:
    rows_by_file = defaultdict(list)
    selected = [SELECTED[column] for column in columns]
    for file, *values in frame.selectExpr("_metadata.file_name", *selected).collect():
        rows_by_file[file].append(tuple(values))
    return rows_by_file


def assert_holds(row: dict[str, Any], column: str, values: list[Any]) -> None:
    """Compare the statistics of one column of one file with its values."""
    if f"null_count.{column}" not in row or row[f"null_count.{column}"] is None:
        assert column == "t" or row.get(f"min.{column}") is None
        return
    assert values.count(None) == row[f"null_count.{column}"]
    present = [bytes(v) if isinstance(v, bytearray) else v for v in values if v is not None]
    if column == "d":
        assert sum(v != v for v in present) == row["nan_count.d"]
        present = [v for v in present if v == v]
    low, high = row.get(f"min.{column}"), row.get(f"max.{column}")
    if not present:
        assert low is None
        assert high is None
    elif row.get(f"attained.{column}", True):
        assert (low, high) == (min(present), max(present))
    else:
        assert low <= min(present)
        assert max(present) <= high


@pytest.mark.parametrize("name", SCENES)
def test_statistics_are_true_for_the_rows_read(
    spark: SparkSession, name: str, tmp_path: Path
) -> None:
    kind, options = SCENES[name]
    for seed in range(int(os.environ.get("TAMIS_SEED", "1")), 100)[: _rounds()]:
        rng = random.Random(f"{name} {seed}")
        path = tmp_path / f"t{seed}"
        write(spark, rng, kind, options, path)
        reader = spark.read.format(kind).schema(FLAT if kind == "csv" else SCHEMA)
        reader = reader.options(**options)
        tamis.index(spark, str(path), reader=reader).build()
        rows = recorded(path)
        described = [file for file, row in rows.items() if row["num_records"] is not None]
        assert len(described) == FILES if kind == "orc" else described
        columns = [c for c in SELECTED if kind != "csv" or not c.startswith("st")]
        several = [rng.sample(columns, rng.randint(1, len(columns))) for _ in range(4)]
        for subset in [[], *([c] for c in columns), *several]:
            if kind == "orc":
                vectorized = rng.choice(["true", "false"])
                spark.conf.set("spark.sql.orc.enableVectorizedReader", vectorized)
            read_rows = read(reader.load(str(path)), subset)
            for file in described:
                assert len(read_rows[file]) == rows[file]["num_records"], (seed, file, subset)
                for column, values in zip(subset, zip(*read_rows[file], strict=True), strict=False):
                    try:
                        assert_holds(rows[file], column, list(values))
                    except AssertionError as problem:
                        content = (path / file).read_bytes()[:2000]
                        raise AssertionError(f"{seed} {subset} {column} {content!r}") from problem


def _rounds() -> int:
    return int(os.environ.get("TAMIS_ROUNDS", "1"))
