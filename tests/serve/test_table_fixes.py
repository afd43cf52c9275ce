"""Fixes name the table that a query reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.indexing.local import LocalIndex, spark_schema, uri_of
from tests.serve.test_detail import answer_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return files where every file may have any value of a."""
    root = tmp_path / "my tåble"
    for part in ("x=1", "x=2"):
        (root / part).mkdir(parents=True)
        pq.write_table(pa.table({"a": [0, 10]}), root / part / "0.parquet")
    return root


@pytest.fixture
def indexed(root: Path, tmp_path: Path) -> Path:
    LocalIndex(root, spark_schema(a="long"), tmp_path / "scratch").build()
    return root


def fix(root: Path, **table: Any) -> str:
    column = {"n": "col", "p": ["a"], "t": "long"}
    five = {"n": "lit", "t": "long", "v": 5}
    conjunct = {"n": "call", "f": "EqualTo", "t": "boolean", "a": [column, five]}
    answer = answer_of(root, [conjunct], table={"roots": [uri_of(root)], **table}, detail=True)
    return str(answer["conjuncts"][0]["reason"]["fix"])


def test_fix_names_a_path_as_spark_accepts_it(indexed: Path) -> None:
    assert f'tamis.index(spark, "file:{indexed}").add(' in fix(indexed)


def test_fix_for_a_path_without_an_index(root: Path) -> None:
    text_of_fix = fix(root, name=f"parquet file:{root}")
    assert text_of_fix.endswith(f'tamis.index(spark, "file:{root}").build()')


def test_fix_names_a_table(indexed: Path) -> None:
    text_of_fix = fix(indexed, name="spark_catalog.sales.orders")
    assert (
        'tamis.index(spark, "spark_catalog.sales.orders").add(columns={"a": "values"})'
        in text_of_fix
    )


def test_fix_for_a_partition_names_its_table(root: Path) -> None:
    part = root / "x=1"
    text_of_fix = fix(root, name=f"parquet file:{part}", roots=[uri_of(part)])
    assert f'tamis.index(spark, "file:{root}")' in text_of_fix


def test_fix_for_paths_of_several_tables_names_none(root: Path) -> None:
    roots = [uri_of(root), uri_of(root.parent / "other")]
    assert "tamis.index(spark, path)" in fix(root, name=f"parquet file:{root}", roots=roots)
