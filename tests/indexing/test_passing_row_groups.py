"""Recorded conditions rule out and prove row groups, and read only the bytes of the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.indexing.build.rows.row_group_places import steps_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 12_000
#: In sequence: rows 5000 to 5099 have errors and levels from 50 to 59, rows below 2000 are debug.
COLUMNS = [
    "id",
    "IF(id % 13 = 0, NULL, concat('n', hash(id), IF(id BETWEEN 5000 AND 5099, ' error', ''),"
    " IF(id < 2000, ' debug', ''))) AS payload",
    "concat('debug', id) AS always",
    "CAST(IF(id BETWEEN 5000 AND 5099, 50 + id % 10, id % 100) AS INT) AS level",
]
ERROR = "payload LIKE '%error%'"


def written(spark: SparkSession, path: Path, files: int = 2, rows: int = ROWS) -> str:
    """Write files of several row groups whose sizes differ."""
    frame = spark.range(0, rows, 1, files).selectExpr(*COLUMNS)
    frame.write.option("parquet.block.size", 20_000).option(
        "parquet.block.size.row.check.min", 10
    ).option("parquet.block.size.row.check.max", 500).parquet(str(path))
    return str(path)


def scan_of(spark: SparkSession, path: str, condition: str) -> dict[str, Any]:
    """Explain a scan, and check that its rows are those of plain Spark."""
    query = f"SELECT count(*), sum(id), sum(level), sum(hash(payload)) FROM parquet.`{path}` WHERE "
    spark.conf.set("spark.tamis.enabled", "false")
    expected = spark.sql(query + condition).collect()
    spark.conf.set("spark.tamis.enabled", "true")
    assert spark.sql(query + condition).collect() == expected, condition
    found = tamis.explain(spark.read.parquet(path).where(condition)).to_dict()["scans"]
    return found[0] if found else {"files_kept": 0, "row_groups_kept": 0, "conjuncts": []}


def groups_kept(spark: SparkSession, path: str, condition: str) -> int:
    # None: no row groups were evaluated, because no file is left
    scan = scan_of(spark, path, condition)
    assert scan["row_groups_kept"] is not None or scan["files_kept"] == 0
    return scan["row_groups_kept"] or 0


@pytest.fixture(scope="module")
def path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = written(spark_session, tmp_path_factory.mktemp("groups") / "t ünï#1%")
    index = tamis.index(spark_session, path).build()
    index.add(
        predicates={ERROR: ["level"], "payload RLIKE 'deb[u]g'": [], "always LIKE '%bug%'": []}
    )
    return path


def test_row_groups_are_ruled_out(spark: SparkSession, path: str) -> None:
    total = scan_of(spark, path, "payload LIKE 'n%'")["row_groups_total"]
    assert total > 20
    some = groups_kept(spark, path, ERROR)
    assert 1 <= some <= 3
    assert groups_kept(spark, path, f"{ERROR} AND level BETWEEN 50 AND 59") == some
    assert groups_kept(spark, path, f"{ERROR} AND level < 50") == 0
    assert groups_kept(spark, path, f"{ERROR} OR id = 0") <= some + 1
    assert groups_kept(spark, path, "payload RLIKE 'deb[u]g'") < total / 2
    assert groups_kept(spark, path, "NOT (payload RLIKE 'deb[u]g')") < total


def test_condition_that_is_null_is_not_proven(spark: SparkSession, path: str) -> None:
    """The first row groups have only debug rows and NULL."""
    proven = scan_of(spark, path, "payload RLIKE 'deb[u]g' AND id < 100")
    by_sql = {each["sql"]: each["pushdown"] for each in proven["conjuncts"]}
    (rlike,) = (each for each in by_sql if "deb[u]g" in each)
    assert by_sql[rlike] != "exact", by_sql
    always = scan_of(spark, path, "always LIKE '%bug%' AND id < 100")
    by_sql = {each["sql"]: each["pushdown"] for each in always["conjuncts"]}
    assert by_sql["contains(always, 'bug')"] == "exact", by_sql


def test_refresh_reads_the_row_groups_of_new_files(spark: SparkSession, tmp_path: Path) -> None:
    path = written(spark, tmp_path / "t", rows=4_000)
    index = tamis.index(spark, path).build(predicates={ERROR: ["level"]})
    assert groups_kept(spark, path, ERROR) == 0
    more = written(spark, tmp_path / "more", files=1)
    spark.read.parquet(more).write.option("parquet.block.size", 20_000).option(
        "parquet.block.size.row.check.min", 10
    ).mode("append").parquet(path)
    assert scan_of(spark, path, ERROR)["files_kept"] == 1
    index.refresh()
    some = groups_kept(spark, path, ERROR)
    assert 1 <= some <= 3
    index.add(predicates={"payload LIKE '%debug%'": []})
    assert groups_kept(spark, path, ERROR) == some
    first = sorted(Path(path).glob("*.parquet"))[0]
    first.unlink()
    index.refresh()
    assert groups_kept(spark, path, ERROR) <= some


@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing"])
def test_damaged_bounds_keep_row_groups(spark: SparkSession, tmp_path: Path, damage: str) -> None:
    path = written(spark, tmp_path / "t")
    tamis.index(spark, path).build(predicates={ERROR: []})
    (file,) = Path(path, "_tamis").glob("*/_recordedgroups.stats")
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "truncated":
        file.write_bytes(content[: len(content) // 2])
    else:
        file.write_bytes(bytes(each ^ 255 for each in content))
    scan = scan_of(spark, path, ERROR)
    assert scan["files_kept"] == 1  # known from other data
    assert scan["row_groups_kept"] > 3


def test_recorded_bounds_are_those_of_the_row_groups(spark: SparkSession, path: str) -> None:
    """Each row group has the bounds that its rows have, as docs/index_format.md describes them."""
    current = max(Path(path, "_tamis").glob("*/_recordedgroups.stats")).parent  # older ones stay
    listed, table, files, groups = (
        current / f"_{name}"
        for name in ("recorded.json", "recordedgroups.stats", "files.stats", "rowgroups.stats")
    )
    entries = json.loads(listed.read_text())["entries"]
    numbers = {each["name"]: number for number, each in enumerate(entries)}
    names = [unquote(each) for each in pq.read_table(files)["name"].to_pylist()]
    owners = pq.read_table(groups)["file"].to_pylist()
    recorded = pq.read_table(table)
    places = [owners[:row].count(owners[row]) for row in range(len(owners))]
    for row, (owner, place) in enumerate(zip(owners, places, strict=True)):
        rows = pq.ParquetFile(Path(path, names[owner])).read_row_group(place).to_pylist()
        truths = [None if r["payload"] is None else " error" in r["payload"] for r in rows]
        levels = [r["level"] for r, is_true in zip(rows, truths, strict=True) if is_true]
        known = [each for each in truths if each is not None]
        condition, level = numbers[ERROR], numbers[f"IF({ERROR}, level, NULL)"]
        cells = {name: recorded[name][row].as_py() for name in recorded.column_names}
        assert cells[f"{condition}.null_count"] == truths.count(None)
        assert (cells[f"{condition}.min"], cells[f"{condition}.max"]) == (min(known), max(known))
        assert cells[f"{level}.null_count"] == len(rows) - len(levels)
        assert cells[f"{level}.min"] == min(levels, default=None)
        assert cells[f"{level}.max"] == max(levels, default=None)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=12))
def test_steps_find_each_row(records: list[int]) -> None:
    found = steps_of(records)
    assert found is not None
    step, begins, boundaries = found
    owners = np.repeat(np.arange(len(records)), records).tolist()
    for row, owner in enumerate(owners):
        at = row // step
        assert begins[at] + (row >= boundaries[at]) == owner


@pytest.mark.parametrize("records", [[], [5, 0, 3], [5, -1], [10**6, 1, 10**6]])
def test_row_groups_without_steps(records: list[int]) -> None:
    assert steps_of(records) is None
