"""Delta tables: predicates prune files, and no row is lost."""

from __future__ import annotations

import pytest

from tests.sources.conftest import EVENTS, Sources

pytestmark = pytest.mark.spark

TEN_FILES = EVENTS.replace("SELECT", "SELECT /*+ REPARTITION_BY_RANGE(10, n) */", 1)


def create(sources: Sources, name: str, spec: str = "", properties: str = "") -> str:
    """Create a table of the events, in ten files at least."""
    sources.sql(f"CREATE TABLE {name} USING delta {spec} {properties} AS {TEN_FILES}")
    return name


def test_predicates_skip_files(sources: Sources) -> None:
    table = create(sources, "delta_flat")
    answer = sources.same(f"SELECT n FROM {table} WHERE year(ts) = 1995")
    assert len(answer.rows) == 365
    assert answer.files_read is not None
    assert answer.files_read <= 5
    answer = sources.same(f"SELECT n FROM {table} WHERE substring(name, 1, 3) = 'k05'")
    assert answer.files_read is not None
    assert answer.files_read <= 2
    zone = {"spark.sql.session.timeZone": "Pacific/Kiritimati"}
    for condition in (
        "date_trunc('MONTH', ts) = TIMESTAMP '1995-03-01'",
        "to_date(clock) = DATE '1995-03-26'",
        "CAST(amount AS INT) = 77 OR n + 1 IN (5, 500, 5000)",
    ):
        assert sources.same(f"SELECT * FROM {table} WHERE {condition}", **zone).rows


def test_partitions_generated_columns_and_renamed_columns(sources: Sources) -> None:
    sources.sql(
        "CREATE TABLE delta_years (n INT, day DATE, ts TIMESTAMP, clock TIMESTAMP_NTZ, name STRING, "
        "amount DECIMAL(10, 2), y INT GENERATED ALWAYS AS (YEAR(ts))) USING delta "
        "PARTITIONED BY (y, name) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    columns = "n, day, ts, clock, name, amount"
    few = EVENTS.replace("range(1000)", "range(20, 50)")
    sources.sql(f"INSERT INTO delta_years ({columns}) {few}")
    sources.sql("ALTER TABLE delta_years RENAME COLUMN n TO number")
    sources.sql("ALTER TABLE delta_years RENAME COLUMN day TO n")
    answer = sources.same(
        "SELECT number FROM delta_years WHERE date_trunc('YEAR', ts) = TIMESTAMP '1995-01-01'"
    )
    assert len(answer.rows) == 19
    assert sources.same("SELECT * FROM delta_years WHERE year(n) = 1994 AND number + 1 > 25").rows
    assert (
        len(sources.same("SELECT * FROM delta_years WHERE substring(name, 1, 4) = 'k002'").rows)
        == 10
    )


def test_rewritten_rows_with_deletion_vectors(sources: Sources) -> None:
    """An older version is read afterwards."""
    table = create(
        sources,
        "delta_written",
        properties="TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    )
    sources.rewrite_rows(table)
    first = sources.same(f"SELECT n FROM {table} VERSION AS OF 0 WHERE year(ts) = 1996")
    assert len(first.rows) == 366


def test_rewritten_files_without_deletion_vectors(sources: Sources) -> None:
    """Without deletion vectors, remaining rows are copied."""
    table = create(
        sources,
        "delta_copied",
        properties="TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
    )
    sources.sql(f"DELETE FROM {table} WHERE year(ts) = 1996 AND n + 1 < 500")
    assert len(sources.same(f"SELECT n FROM {table} WHERE year(ts) = 1996").rows) == 263
    assert len(sources.same(f"SELECT n FROM {table} WHERE n + 1 > 0").rows) == 1000 - 103
