"""What is recorded of ORC, CSV and JSON holds for whatever Spark reads of them, column by column.

Random rows are written by Spark, and text files are then damaged at random: characters come, go and
change places. Of a file that the index describes, every set of columns must give the same rows.
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
from tamis.index.build.current_index import load_generation
from tamis.index.format.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 40
SCHEMA = (
    "a LONG, s STRING, d DOUBLE, t TIMESTAMP, n DECIMAL(10,2), f BOOLEAN, day DATE, "
    "st STRUCT<x: INT, y: STRING>, l ARRAY<INT>"
)
#: CSV holds no structs and no lists.
FLAT = SCHEMA.partition(", st ")[0]
#: As Spark selects them, so that values compare as what the index keeps.
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
        at = rng.randrange(len(text) + 1)
        match rng.randrange(3):
            case 0:
                text = text[:at] + rng.choice(INSERTED) + text[at:]
            case 1:
                text = text[:at] + text[at + rng.randrange(1, 4) :]
            case 2:
                other = rng.randrange(len(text) + 1)
                text = text[:at] + text[other : other + rng.randrange(1, 12)] + text[at:]
    return text


def write(spark: SparkSession, rng: random.Random, kind: str, options: Any, path: Path) -> None:
    rows = random_rows(rng, FILES * 6)
    frame = spark.createDataFrame(rows, SCHEMA).repartition(FILES)
    if kind == "csv":
        frame = frame.drop("st", "l")
    frame.write.format(kind).options(**options).save(str(path))
    if kind == "orc":
        return
    for file in sorted(path.iterdir()):  # in the order of the partitions: the same in every run
        if file.name.startswith("."):
            file.unlink()  # checksums of what they were
        elif file.name.startswith("part-"):
            # newlines as they are
            file.write_bytes(damaged(rng, file.read_bytes().decode()).encode())


def recorded(path: Path) -> dict[str, dict[str, Any]]:
    store = Store.at(path.as_uri().replace("file:///", "file:/"), None, {})
    files, _ = load_generation(store, store.pointer())
    for name in files.column_names:
        column = files.column(name)
        if pa.types.is_timestamp(column.type):
            files = files.set_column(files.column_names.index(name), name, column.cast("int64"))
        elif pa.types.is_date32(column.type):
            files = files.set_column(files.column_names.index(name), name, column.cast("int32"))
    return {row["name"]: row for row in files.to_pylist()}


def read(frame: DataFrame, columns: list[str]) -> dict[str, list[tuple[Any, ...]]]:
    found = defaultdict(list)
    selected = [SELECTED[column] for column in columns]
    for file, *values in frame.selectExpr("_metadata.file_name", *selected).collect():
        found[file].append(tuple(values))
    return found


def check(row: dict[str, Any], column: str, values: list[Any]) -> None:
    """The statistics of one column of one file against its values."""
    if f"null_count.{column}" not in row or row[f"null_count.{column}"] is None:
        assert column == "t" or row.get(f"min.{column}") is None
        return
    assert values.count(None) == row[f"null_count.{column}"]
    held = [bytes(v) if isinstance(v, bytearray) else v for v in values if v is not None]
    if column == "d":
        assert sum(v != v for v in held) == row["nan_count.d"]
        held = [v for v in held if v == v]
    low, high = row.get(f"min.{column}"), row.get(f"max.{column}")
    if not held:
        assert low is None
        assert high is None
    elif row.get(f"attained.{column}", True):
        assert (low, high) == (min(held), max(held))
    else:
        assert low <= min(held)
        assert max(held) <= high


@pytest.mark.parametrize("name", SCENES)
def test_statistics_hold(spark: SparkSession, name: str, tmp_path: Path) -> None:
    kind, options = SCENES[name]
    for seed in range(int(os.environ.get("TAMIS_SEED", "1")), 100)[: _rounds()]:
        rng = random.Random(f"{name} {seed}")
        path = tmp_path / f"t{seed}"
        write(spark, rng, kind, options, path)
        reader = spark.read.format(kind).schema(FLAT if kind == "csv" else SCHEMA)
        reader = reader.options(**options)
        tamis.index(spark, str(path), reader=reader).build()
        rows = recorded(path)
        known = [file for file, row in rows.items() if row["num_records"] is not None]
        assert len(known) == FILES if kind == "orc" else known
        columns = [c for c in SELECTED if kind != "csv" or not c.startswith("st")]
        several = [rng.sample(columns, rng.randint(1, len(columns))) for _ in range(4)]
        for subset in [[], *([c] for c in columns), *several]:
            if kind == "orc":
                vectorized = rng.choice(["true", "false"])
                spark.conf.set("spark.sql.orc.enableVectorizedReader", vectorized)
            found = read(reader.load(str(path)), subset)
            for file in known:
                assert len(found[file]) == rows[file]["num_records"], (seed, file, subset)
                for column, values in zip(subset, zip(*found[file], strict=True), strict=False):
                    try:
                        check(rows[file], column, list(values))
                    except AssertionError as problem:
                        content = (path / file).read_bytes()[:2000]
                        raise AssertionError(f"{seed} {subset} {column} {content!r}") from problem


def _rounds() -> int:
    return int(os.environ.get("TAMIS_ROUNDS", "1"))
