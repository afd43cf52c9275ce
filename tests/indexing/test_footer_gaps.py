"""Bounds from rows of the columns whose footers do not suffice, as part of every build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import DoubleType, LongType, StructField, StructType
from typer.testing import CliRunner

import tamis
from tamis.indexing.build.rows import row_aggregation
from tamis.indexing.build.rows.footer_gaps import fill, gap_entries, has_gap
from tamis.indexing.build.rows.row_bounds import unknown_bounds
from tamis.indexing.cli import app
from tamis.indexing.executor.columns_schema import Leaf, arrow_type, leaves_of
from tamis.indexing.format.entries import Entry
from tamis.indexing.format.entry_statistics import Columns, RowStatistics
from tamis.indexing.format.table_schema import Schema
from tests.indexing.commands import use_session
from tests.indexing.local import spark_schema

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

NAN = float("nan")
URL = "https://www.example.com/shops/europe/germany/berlin/products/details/"


def files(kind: str, *rows: tuple[int | None, Any, Any, int | None]) -> tuple[Leaf, pa.Table]:
    """Return a column `c` and statistics of files: row count, minimum, maximum and NULL count."""
    leaf = Leaf(("c",), kind)
    records, low, high, nulls = zip(*rows, strict=True)
    columns = {
        "num_records": pa.array(records, pa.int64()),
        "min.c": pa.array(low, arrow_type(leaf)),
        "max.c": pa.array(high, arrow_type(leaf)),
        "null_count.c": pa.array(nulls, pa.int64()),
    }
    return leaf, pa.table(columns)


@pytest.mark.parametrize(
    ("kind", "row", "expected"),
    [
        ("long", (5, 1, 2, 0), False),
        ("long", (5, None, None, 5), False),  # no value
        ("long", (0, None, None, 0), False),  # no row
        ("long", (5, None, None, 4), True),
        ("long", (5, 1, 2, None), True),
        ("long", (5, None, None, None), True),
        ("long", (None, None, None, None), False),  # the footer cannot be read
        ("double", (5, 1.0, 2.0, 0), True),
        ("double", (5, None, None, 5), False),
        ("float", (5, 1.0, 2.0, 0), True),
        ("string", (5, b"a", b"b", 0), False),
        ("string", (5, b"a", None, 0), True),
        ("string", (5, None, None, 0), False),  # long values
        ("binary", (5, None, None, None), True),  # no statistics
        ("string", (5, URL.encode() + b"a", URL.encode() + b"b", 0), True),
        ("string", (5, b"a" * 64, b"b" * 64, 0), False),
        ("binary", (5, b"a" * 60, b"a" * 60, 0), True),
        ("binary", (5, b"a" * 59, b"a" * 59, 0), False),
    ],
)
def test_gap_of_a_footer(
    kind: str, row: tuple[int | None, Any, Any, int | None], expected: bool
) -> None:
    assert has_gap(*files(kind, row)).tolist() == [expected]


@pytest.mark.parametrize("kind", ["long", "string", "double"])
def test_statistics_that_no_file_has(kind: str) -> None:
    leaf, table = files(kind, (5, None, None, None), (0, None, None, None))
    table = table.select(["num_records"])  # as `assemble` leaves them out
    assert has_gap(leaf, table).tolist() == [True, False]


def test_columns_with_a_default_are_left_out() -> None:
    fields = spark_schema(a="long", b="double")
    fields = fields.replace('"metadata": {}', '"metadata": {"EXISTS_DEFAULT": "7"}', 1)
    schema = Schema(fields, spark_schema(), case_sensitive=False)
    assert [entry.name for entry in gap_entries(leaves_of(fields), schema)] == ["b"]


def test_columns_that_rows_cannot_describe_are_left_out() -> None:
    fields = spark_schema(a="long", b="string", c={"d": "double"})
    fields = fields.replace(
        '"metadata": {}', '"metadata": {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}', 2
    )
    schema = Schema(fields, spark_schema(), case_sensitive=False)
    entries = gap_entries(leaves_of(fields), schema)
    assert [entry.name for entry in entries] == ["a", "c.d"]


@pytest.mark.parametrize(("columns", "jobs"), [(4, 4), (5, 1)])
def test_columns_with_gaps_in_the_same_files_are_read_together(columns: int, jobs: int) -> None:
    names = [f"c{k}" for k in range(columns)]
    fields = spark_schema(**dict.fromkeys(names, "double"))
    entries = gap_entries(leaves_of(fields), Schema(fields, spark_schema(), case_sensitive=True))
    table = pa.table({"num_records": [5] * 9})
    for k, name in enumerate(names):  # NULL in one file each
        table = table.append_column(
            f"null_count.{name}", pa.array([5 if place == k else 0 for place in range(9)])
        )
    read: list[tuple[list[int], list[str]]] = []

    def aggregate(ordinals: np.ndarray, chosen: Sequence[Entry]) -> RowStatistics:
        read.append((ordinals.tolist(), [entry.name for entry in chosen]))
        counts = {"null_count": pa.array(ordinals)}
        columns = {**(unknown_bounds(chosen[0], len(ordinals)).columns or {}), **counts}
        return RowStatistics((Columns(columns),) * len(chosen), (0.5,) * len(chosen))

    found, rows = fill(entries, table, np.arange(1, 9), (), aggregate)
    assert found == entries
    assert len(read) == jobs
    if jobs == 1:
        assert read == [(list(range(1, 9)), names)]
    else:
        assert read[0] == (list(range(1, 9)), ["c0"])
        assert read[2] == ([1, 3, 4, 5, 6, 7, 8], ["c2"])
        part = rows.parts[2].columns
        assert part is not None
        assert part["null_count"].to_pylist() == [1, None, 3, 4, 5, 6, 7, 8]


def test_many_columns_take_several_jobs() -> None:
    fields = spark_schema(**{f"c{k}": "double" for k in range(120)})
    entries = gap_entries(leaves_of(fields), Schema(fields, spark_schema(), case_sensitive=True))
    table = pa.table({"num_records": [5, 5, 0]})
    jobs: list[tuple[int, int]] = []

    def aggregate(ordinals: np.ndarray, chosen: Sequence[Entry]) -> RowStatistics:
        jobs.append((len(ordinals), len(chosen)))
        parts = tuple(unknown_bounds(entry, len(ordinals)) for entry in chosen)
        return RowStatistics(parts, (0.5,) * len(chosen))

    found, rows = fill(entries, table, np.arange(3), (), aggregate)
    assert jobs == [(2, 50), (2, 50), (2, 20)]
    assert found == entries
    assert len(rows.parts) == len(rows.seconds) == 120
    assert all(len(part.columns["min"]) == 3 for part in rows.parts if part.columns)


def write(path: Path, name: str, **columns: Any) -> None:
    path.mkdir(exist_ok=True)
    table = pa.table({key: pa.array(values) for key, values in columns.items()})
    pq.write_table(table, path / f"{name}.parquet")


def kept(spark: SparkSession, path: Path, condition: str) -> tuple[int, bool]:
    """Return how many files a filter keeps, and whether it is exact; compare the rows."""
    frame = spark.read.parquet(str(path)).where(condition)
    rows = sorted(map(repr, frame.collect()))
    (scan,) = tamis.explain(frame).to_dict()["scans"]
    spark.conf.set("spark.tamis.enabled", "false")
    plain = sorted(map(repr, spark.read.parquet(str(path)).where(condition).collect()))
    spark.conf.unset("spark.tamis.enabled")
    assert rows == plain
    return scan["files_kept"], all(each["pushdown"] == "exact" for each in scan["conjuncts"])


def recorded(index: tamis.Index) -> dict[str, int]:
    """Return the number of files for every column whose footers do not suffice."""
    entries = index.describe().to_dict()["recorded"]
    return {each["of"]: each["files"] for each in entries if each["fills_gap"]}


def test_nan_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path, "low", d=[1.0, 2.0, None], k=[1, 2, 3])
    write(path, "high", d=[11.0, 12.0, NAN], k=[4, 5, 6])
    write(path, "nan", d=[NAN, NAN, None], k=[7, 8, 9])
    write(path, "null", d=pa.nulls(3, pa.float64()), k=[7, 8, 9])
    index = tamis.index(spark, str(path)).build()
    assert index.describe().to_dict()["columns"][0]["files_with_nan_count"] == 3
    assert recorded(index) == {"d": 3}  # the file without values needs no bounds
    assert kept(spark, path, "d > 100")[0] == 2  # NaN is greater than every number
    assert kept(spark, path, "d < 1.5")[0] == 1
    assert kept(spark, path, "d > 5 AND k < 5")[0] == 1
    assert kept(spark, path, "d < 100")[0] == 2
    assert kept(spark, path, "isnan(d) AND k > 6")[0] == 1
    assert kept(spark, path, "d > 1.0 AND k > 6") == (1, False)  # NULL
    write(path, "all", d=[NAN, NAN], k=[20, 20])
    index.refresh()
    assert kept(spark, path, "d > 1.0 AND k > 10") == (1, True)
    assert kept(spark, path, "d < 1.0 AND k > 10")[0] == 0


def test_int96_timestamps_prune(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    frame = spark.range(0, 100, 1, 10).selectExpr("id", "timestamp_seconds(id * 86400) AS ts")
    frame.write.parquet(str(path))
    index = tamis.index(spark, str(path)).build(fill_gaps=False)
    assert recorded(index) == {}
    assert kept(spark, path, "ts < DATE '1970-01-05'")[0] == 10
    index.build()
    assert recorded(index) == {"ts": 10}
    assert kept(spark, path, "ts < DATE '1970-01-05'")[0] == 1
    assert kept(spark, path, "ts < DATE '1970-01-11'") == (1, True)


def test_bounds_with_a_long_common_beginning_are_exact(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path, "0", url=[f"{URL}{k}" for k in "ab"])
    index = tamis.index(spark, str(path)).build()
    assert recorded(index) == {"url": 1}
    assert spark.read.parquet(str(path)).selectExpr("max(url)").first() == (f"{URL}b",)


def test_refresh_reads_new_files_only(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    write(path, "0", d=[1.0, 2.0], k=[1, 2])
    index = tamis.index(spark, str(path)).build()
    before = index.describe().recorded
    write(path, "1", d=[3.0, NAN], k=[1, 2])
    write(path, "2", d=pa.nulls(2, pa.float64()), k=[1, 2])
    read: list[list[int]] = []
    original = row_aggregation.aggregate

    def aggregate(*arguments: Any) -> RowStatistics:
        read.append(arguments[4].tolist())
        return original(*arguments)

    monkeypatch.setattr(row_aggregation, "aggregate", aggregate)
    index.refresh()
    assert [len(each) for each in read] == [1]
    index.refresh()
    assert len(read) == 1
    assert recorded(index) == {"d": 2}
    assert [entry.meaning for entry in index.describe().recorded] == [e.meaning for e in before]
    assert kept(spark, path, "d > 2.5")[0] == 1


def test_gap_of_a_new_file_is_filled(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    frame = spark.range(0, 100, 1, 5).selectExpr("id", "timestamp_seconds(id * 86400) AS ts")
    frame.write.parquet(str(path))
    index = tamis.index(spark, str(path)).build()
    assert recorded(index) == {}
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    frame.where("id >= 80").coalesce(1).write.mode("append").parquet(str(path))
    index.refresh()
    assert recorded(index) == {"ts": 1}
    assert kept(spark, path, "ts < DATE '1970-01-05'")[0] == 1
    write(path, "more", id=[1000], ts=pa.array([0], pa.timestamp("us", "UTC")))
    index.refresh()
    assert recorded(index) == {"ts": 1}
    assert kept(spark, path, "ts >= DATE '1970-03-25'")[0] == 2


def test_choice_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path, "0", d=[1.0, 2.0], k=[1, 2])
    index = tamis.index(spark, str(path)).build(fill_gaps=False)
    index.add(columns={"k": "bloom"})
    write(path, "1", d=[1.0, 2.0], k=[1, 2])
    index.refresh()
    assert recorded(index) == {}
    index.add(fill_gaps=True)
    assert recorded(index) == {"d": 2}
    assert [entry.kind for entry in index.describe().recorded] == ["bloom", "bounds"]
    index.add(columns={"d": "bounds"})
    assert recorded(index) == {}  # it was requested
    index.add(fill_gaps=False)
    assert [(entry.kind, entry.name) for entry in index.describe().recorded] == [
        ("bloom", "k"),
        ("bounds", "d"),
    ]


def test_rows_that_cannot_be_read_do_not_stop_a_build(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(path, "0", d=list(np.random.default_rng(0).random(5000)), k=list(range(5000)))
    write(path, "1", d=[1.0], k=[9000])
    content = bytearray((path / "0.parquet").read_bytes())
    content[4:2000] = b"\xff" * 1996
    (path / "0.parquet").write_bytes(content)
    index = tamis.index(spark, str(path)).build()
    assert recorded(index) == {"d": 1}
    frame = spark.read.parquet(str(path)).where("d > 0.9 AND k >= 9000")
    assert frame.collect() == [(1.0, 9000)]


def test_jobs_that_fail_do_not_stop_a_build(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> RowStatistics:
        raise ConnectionError("the executors are gone")

    path = tmp_path / "t"
    write(path, "0", d=[1.0, 2.0], k=[1, 2])
    with monkeypatch.context() as patched:
        patched.setattr(row_aggregation, "aggregate", fail)
        with pytest.warns(
            UserWarning, match=r"footers do not suffice for the columns d,.*are gone"
        ):
            index = tamis.index(spark, str(path)).build()
    assert recorded(index) == {"d": 0}
    assert kept(spark, path, "k > 5")[0] == 0
    index.add()
    assert recorded(index) == {"d": 1}


def test_timestamps_that_the_session_moves_are_left_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    frame = spark.range(10).selectExpr("timestamp_seconds(id) AS ts", "CAST(id AS DOUBLE) AS d")
    frame.coalesce(1).write.parquet(str(path))
    spark.conf.set("spark.sql.parquet.int96TimestampConversion", "true")
    with pytest.warns(UserWarning, match="footers do not suffice for the columns ts,"):
        index = tamis.index(spark, str(path)).build()
    assert recorded(index) == {"d": 1, "ts": 0}


def test_session_that_matches_columns_by_field_id(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    field = StructField("a", LongType(), metadata={"parquet.field.id": 1})
    schema = StructType([field, StructField("d", DoubleType())])
    spark.createDataFrame([(7, 1.0)], schema).coalesce(1).write.parquet(path)
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    with pytest.warns(UserWarning, match="footers do not suffice for the columns d,.*field ids"):
        index = tamis.index(spark, path).build()
    index.refresh()
    assert recorded(index) == {"d": 0}
    spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")
    index.build()
    assert recorded(index) == {"d": 1}


def test_command_leaves_gaps_if_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_session(monkeypatch, spark)
    path = tmp_path / "t"
    write(path, "0", d=[1.0, 2.0], k=[1, 2])
    run = CliRunner().invoke(app, ["build", str(path), "--no-fill-gaps"])
    assert run.exit_code == 0, run.output
    assert recorded(tamis.index(spark, str(path))) == {}
    run = CliRunner().invoke(app, ["add", str(path), "--fill-gaps"])
    assert run.exit_code == 0, run.output
    assert recorded(tamis.index(spark, str(path))) == {"d": 1}
    assert "bounds (footers do not suffice)" in run.output
