"""The order of the rows of files: recorded from the rows, refreshed, and never guessed."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.errors import StatisticsIndexError
from tamis.indexing.build.current_index import keys_in_force
from tamis.indexing.format.row_statistics import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tamis.indexing.handle import Index


def sorted_files(index: Index) -> dict[str, dict[str, int | None]]:
    """Return for each order and file 1 if its rows are sorted, 0 if not, None if not known."""
    state = index.state()
    assert state.held is not None
    store, pointer = state.store, state.held.pointer
    names = [
        uri.rpartition("/")[2].partition(".")[0] for uri in keys_in_force(store, pointer).uris()
    ]
    found = {}
    for k, entry in enumerate(state.held.entries):
        if entry.order is not None:
            columns = load(store, pointer, k, entry).columns
            assert columns is not None
            found[entry.name] = dict(zip(names, columns["min"].to_pylist(), strict=True))
    return found


def write(
    path: Path, names: dict[str, list[Any]], types: dict[str, pa.DataType] | None = None
) -> None:
    """Write a file with row groups of three rows, which several tasks read if they are small."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        name: pa.array(values, None if types is None else types.get(name))
        for name, values in names.items()
    }
    pq.write_table(pa.table(arrays), path, row_group_size=3)


# In Spark's order: UTF-8 puts U+1F600 after U+FFFD, UTF-16 does not.
ORDERED: dict[str, tuple[list[Any], pa.DataType]] = {
    "whole": ([None, -5, -5, 0, 7, 9], pa.int32()),
    "number": ([None, -1.5, -0.0, 0.0, math.inf, math.nan], pa.float64()),
    "zeros": ([-1.0, 0.0, -0.0, 0.0, math.nan, math.nan], pa.float32()),
    "text": ([None, "", "Z", "a", "\ufffd", "\U0001f600"], pa.string()),
    "money": (
        [Decimal(each) for each in ("-9.10", "-9.09", "0.00", "0.01", "9.99", "10.00")],
        pa.decimal128(30, 2),
    ),
    "day": ([None, *(date(2024, 1, d) for d in (1, 1, 2, 3, 4))], pa.date32()),
    "moment": (
        [datetime(2024, 3, 31, h, tzinfo=UTC) for h in (0, 1, 1, 2, 3, 4)],
        pa.timestamp("us", "UTC"),
    ),
    "clock": ([datetime(2024, 3, 31, h) for h in (0, 1, 1, 2, 3, 4)], pa.timestamp("us")),
    "bytes": ([None, b"", b"\x00", b"\x7f", b"\x80", b"\xff"], pa.binary()),
    "flag": ([None, False, False, False, True, True], pa.bool_()),
    "a.b": ([1, 2, 3, 4, 5, 6], pa.int64()),
    "ü `x` DESC": ([1, 2, 3, 4, 5, 6], pa.int64()),
}


def test_every_type_is_compared_as_spark_sorts_it(spark: SparkSession, tmp_path: Path) -> None:
    path, types = tmp_path / "t", {name: kind for name, (_, kind) in ORDERED.items()}
    up = {name: values for name, (values, _) in ORDERED.items()}
    write(path / "up.parquet", up, types)
    write(path / "down.parquet", {name: values[::-1] for name, values in up.items()}, types)
    late = {name: [*values[:4], values[5], values[4]] for name, values in up.items()}
    write(path / "late.parquet", late, types)
    halves = {name: [*values[3:], *values[:3]] for name, values in up.items()}
    write(path / "halves.parquet", halves, types)
    write(path / "one.parquet", {name: values[3:4] for name, values in up.items()}, types)
    write(path / "none.parquet", {name: [] for name in up}, types)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1000")
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    wanted = [[f"{name}{direction}"] for name in ORDERED for direction in ("", " DESC")]
    found = sorted_files(tamis.index(spark, str(path)).build(sorted_by=wanted))
    # the last two values are equal
    is_same = {"zeros", "flag"}
    for name in ORDERED:
        rest = {"halves": 0, "one": 1, "none": None}
        assert found[name] == {"up": 1, "down": 0, "late": int(name in is_same), **rest}, name
        assert found[f"{name} DESC"] == {"up": 0, "down": 1, "late": 0, **rest}, name


def test_prefixes_of_an_order(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path / "both.parquet", {"a": [1, 1, 1, 2, 2, 3], "b": [3, 2, 1, 9, 9, 4]})
    write(path / "first.parquet", {"a": [1, 1, 1, 2, 2, 3], "b": [3, 2, 1, 8, 9, 4]})
    write(path / "second.parquet", {"a": [1, 1, 1, 2, 0, 3], "b": [9, 8, 7, 6, 5, 4]})
    index = tamis.index(spark, str(path)).build(sorted_by=["a", "b DESC"])
    assert sorted_files(index) == {
        "a": {"both": 1, "first": 1, "second": 0},
        "a, b DESC": {"both": 1, "first": 0, "second": 0},
    }
    shown = str(index.describe())
    assert "order\ta, b DESC\t3 / 3" in shown
    kinds = {(each["kind"], each["of"]) for each in index.describe().to_dict()["recorded"]}
    assert ("order", "a") in kinds
    index.add(sorted_by=["b"], columns={"a": "bloom"})
    assert [*sorted_files(index)] == ["a", "a, b DESC", "b"]
    index.build(sorted_by=["b"])
    assert [*sorted_files(index)] == ["b"]


def test_refresh_reads_new_and_changed_files(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path / "a.parquet", {"k": [1, 2, 3]})
    write(path / "b.parquet", {"k": [1, 2, 3]})
    index = tamis.index(spark, str(path)).build(sorted_by=["k"])
    write(path / "b.parquet", {"k": [1, 3, 2, 4]})
    write(path / "c.parquet", {"k": [5, 4]})
    write(path / "d.parquet", {"k": [5, 5]})
    index.refresh()
    assert sorted_files(index) == {"k": {"a": 1, "b": 0, "c": 0, "d": 1}}
    write(path / "c.parquet", {"k": [5, 6, 7]})
    (path / "d.parquet").unlink()
    index.refresh()
    assert sorted_files(index) == {"k": {"a": 1, "b": 0, "c": 1}}


def test_old_dates_say_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path / "old.parquet", {"day": [date(1500, 1, 1), date(2024, 1, 1)], "k": [1, 2]})
    write(path / "new.parquet", {"day": [date(1600, 1, 1), date(2024, 1, 1)], "k": [1, 2]})
    index = tamis.index(spark, str(path)).build(sorted_by=["k", "day"])
    assert sorted_files(index) == {"k": {"old": 1, "new": 1}, "k, day": {"old": None, "new": 1}}


def test_files_that_lack_a_column(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path / "lacks.parquet", {"k": [1, 2, 3]})
    write(path / "has.parquet", {"k": [1, 2, 3], "more": [1, 3, 2]})
    spark.conf.set("spark.sql.parquet.mergeSchema", "true")
    index = tamis.index(spark, str(path)).build(sorted_by=["more", "k"])
    # NULL in every row
    assert sorted_files(index)["more, k"] == {"lacks": 1, "has": 0}


def test_a_file_that_changes_while_it_is_read_is_unknown(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tamis.indexing.build.rows import row_aggregation

    path = tmp_path / "t"
    write(path / "a.parquet", {"k": [1, 2, 3]})
    write(path / "b.parquet", {"k": [1, 2, 3]})
    compared = row_aggregation.rows_in_order

    def changed(*arguments: Any) -> Any:
        write(path / "b.parquet", {"k": [1, 2, 3, 4]})
        return compared(*arguments)

    monkeypatch.setattr(row_aggregation, "rows_in_order", changed)
    index = tamis.index(spark, str(path)).build(sorted_by=["k"])
    assert sorted_files(index)["k"]["a"] == 1
    assert sorted_files(index)["k"]["b"] is None


ERRORS = [
    (["gone"], "no column gone"),
    (["idd"], "did you mean id"),
    (["part"], "partition column"),
    (["item.sku"], "no column item.sku"),
    (["item"], "no column item"),
    (["id", "id DESC"], "names a column twice"),
    (["fixed"], "CHAR column"),
    ("id", "takes a list"),
    (["id", ["id"]], "not both"),
]


@pytest.mark.parametrize(("order", "text"), ERRORS, ids=[str(each) for each, _ in ERRORS])
def test_orders_that_cannot_be_recorded(
    spark: SparkSession, tmp_path: Path, order: Any, text: str
) -> None:
    spark.sql(
        "CREATE TABLE orders (id LONG, item STRUCT<sku: INT>, fixed CHAR(3), part INT) "
        f"USING parquet PARTITIONED BY (part) LOCATION '{tmp_path}/t'"
    )
    try:
        with pytest.raises(StatisticsIndexError, match=text):
            tamis.index(spark, "orders").build(sorted_by=order)
    finally:
        spark.sql("DROP TABLE orders")


def test_orders_are_of_parquet_files(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.range(10).write.orc(path)
    reader = spark.read.format("orc").schema("id LONG")
    with pytest.raises(StatisticsIndexError, match="Parquet files"):
        tamis.index(spark, path, reader=reader).build(sorted_by=["id"])
