"""Avro files: ranges that predicates imply are pushed, and no row is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.conftest import EVENTS, Sources

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("v1", ["avro", ""])
def test_implied_ranges_are_pushed_to_avro(sources: Sources, tmp_path: Path, v1: str) -> None:
    """Spark's V1 source and its V2 source."""
    sources.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/t' USING avro {EVENTS}")
    table = f"avro.`{tmp_path}/t`"
    confs = {"spark.sql.sources.useV1SourceList": v1}
    answer = sources.same(f"SELECT n FROM {table} WHERE year(ts) = 1995 AND n + 1 > 300", **confs)
    assert "GreaterThanOrEqual(ts,1995-01-01 00:00:00.0)" in answer.pushed_filters
    assert "GreaterThanOrEqual(n,300)" in answer.pushed_filters
    assert len(answer.rows) == 96
    for condition in ("substring(name, 1, 3) = 'k05'", "year(day) = 1996 OR amount * 2 = 5"):
        assert sources.same(f"SELECT * FROM {table} WHERE {condition}", **confs).rows
