"""Automatic indexing: which footers are read, and for which files they are used."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.expr.nodes import Column, Compare, Comparison, Literal
from tamis.expr.types import LONG
from tamis.indexing.format.store import Store
from tamis.plan.scan_decision import decide
from tamis.tables import parquet
from tamis.tables.parquet import ParquetTables, use_tables
from tamis.tables.scan_input import ScanInput
from tamis.wire.messages import PlanRequest
from tamis.wire.scans import IndexOptions, Snapshot, Table
from tests.indexing.local import LocalIndex, spark_schema, uri_of, write_snapshot
from tests.spark_suites.self_indexing import SelfIndexingTables, schema_of

A = Column(("a",), LONG)


def write(path: Path, *values: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"a": pa.array(values, pa.int64())}), path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "a table"
    write(root / "1.parquet", 1, 2)
    write(root / "2.parquet", 5, 6)
    return root


def request(root: Path, tmp_path: Path, **index: Any) -> PlanRequest:
    fingerprint, files = write_snapshot(root, tmp_path / "snapshots")
    return PlanRequest(
        version=1,
        id="1",
        snapshot=Snapshot(fingerprint, str(tmp_path / "snapshots"), files),
        table=Table("t", [uri_of(root)]),
        index=IndexOptions(**index),
        cache_directory=str(tmp_path / "cache"),
    )


def kept(scan: ScanInput) -> list[bool]:
    """Return the files that `a > 3` keeps, in listing order."""
    predicate = Compare(Comparison.GREATER, A, Literal(3, LONG))
    decision = decide([predicate], scan.segments, 2)
    flags: list[bool] = decision.kept.tolist()
    return flags


def test_table_without_an_index_is_pruned(root: Path, tmp_path: Path) -> None:
    plan_request = request(root, tmp_path)
    assert kept(ParquetTables().open_scan(plan_request)) == [True, True]
    assert kept(SelfIndexingTables(tmp_path / "scratch").open_scan(plan_request)) == [False, True]


def test_listing_is_indexed_once(root: Path, tmp_path: Path) -> None:
    tables = SelfIndexingTables(tmp_path / "scratch")
    for _ in range(2):
        tables.open_scan(request(root, tmp_path))
    assert len(list((tmp_path / "scratch").iterdir())) == 1


@pytest.mark.parametrize("change", ["size", "mtime"])
def test_file_changed_since_the_listing_is_kept(root: Path, tmp_path: Path, change: str) -> None:
    plan_request = request(root, tmp_path)
    file = root / "1.parquet"
    status = file.stat()
    if change == "size":
        write(file, *range(100))
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    else:
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))
    assert kept(SelfIndexingTables(tmp_path / "scratch").open_scan(plan_request)) == [True, True]


def test_rewritten_file_is_indexed_again(root: Path, tmp_path: Path) -> None:
    tables = SelfIndexingTables(tmp_path / "scratch")
    assert kept(tables.open_scan(request(root, tmp_path))) == [False, True]
    write(root / "1.parquet", 7, 8, 9)
    assert kept(tables.open_scan(request(root, tmp_path))) == [True, True]


def test_existing_index_of_the_table_takes_precedence(root: Path, tmp_path: Path) -> None:
    index = LocalIndex(root, spark_schema(a="long"), tmp_path / "built")
    index.build()
    tables = SelfIndexingTables(tmp_path / "scratch")
    scan = tables.open_scan(request(root, tmp_path))
    assert [each.pointer.generation for each in scan.indexes] == [
        Store.at(uri_of(root), None, {}).pointer().generation
    ]
    assert not (tmp_path / "scratch").exists()


def test_disabled_index_is_not_built(root: Path, tmp_path: Path) -> None:
    tables = SelfIndexingTables(tmp_path / "scratch")
    scan = tables.open_scan(request(root, tmp_path, enabled=False))
    assert kept(scan) == [True, True]
    assert scan.indexes == ()


def test_unreadable_file_is_kept(root: Path, tmp_path: Path) -> None:
    (root / "1.parquet").write_bytes(b"not Parquet")
    scan = SelfIndexingTables(tmp_path / "scratch").open_scan(request(root, tmp_path))
    assert kept(scan) == [True, True]


def test_column_with_a_default_is_not_null_in_files_without_it(root: Path, tmp_path: Path) -> None:
    column = {"name": "a", "type": "long", "nullable": True, "metadata": {"EXISTS_DEFAULT": "7"}}
    written = json.dumps({"type": "struct", "fields": [column]})
    table = pa.table({"a": pa.array([5], pa.int64())})
    named = table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": written})
    pq.write_table(named, root / "2.parquet")
    pq.write_table(pa.table({"b": pa.array([1])}), root / "1.parquet")
    scan = SelfIndexingTables(tmp_path / "scratch").open_scan(request(root, tmp_path))
    assert kept(scan) == [True, True]


def test_use_tables_applies_to_later_requests(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_open", ParquetTables())  # restored afterwards
    use_tables(SelfIndexingTables(tmp_path / "scratch"))
    assert kept(parquet.open_scan(request(root, tmp_path))) == [False, True]


def test_schema_of_a_foreign_file_is_inferred(tmp_path: Path) -> None:
    table = pa.table(
        {
            "i": pa.array([1], pa.int32()),
            "u": pa.array([1], pa.uint32()),
            "d": pa.array([1], pa.decimal128(9, 2)),
            "moment": pa.array([1], pa.timestamp("us", "UTC")),
            "local": pa.array([1], pa.timestamp("us")),
            "s": pa.array([{"x": 1.5, "l": [1]}]),
        }
    )
    pq.write_table(table, tmp_path / "f.parquet", store_schema=False)
    fields = json.loads(schema_of(pq.read_metadata(tmp_path / "f.parquet")))["fields"]
    types = {field["name"]: field["type"] for field in fields}
    assert [each["name"] for each in types.pop("s")["fields"]] == ["x"]
    assert types == {
        "i": "integer",
        "u": "long",
        "d": "decimal(9,2)",
        "moment": "timestamp",
        "local": "timestamp_ntz",
    }
