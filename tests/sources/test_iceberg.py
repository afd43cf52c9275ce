"""Iceberg tables: predicates prune manifests and files, and no row is lost."""

from __future__ import annotations

import re

import pytest

from tests.launch.statements import OFF
from tests.sources.conftest import EVENTS, Sources

pytestmark = pytest.mark.spark

TEN_FILES = EVENTS.replace("SELECT", "SELECT /*+ REPARTITION_BY_RANGE(10, n) */", 1)


def create(sources: Sources, name: str, spec: str = "", properties: str = "") -> str:
    """Create a table of the events, in ten files or in the partitions of the spec."""
    sources.sql(f"CREATE TABLE ice.db.{name} USING iceberg {spec} {properties} AS {TEN_FILES}")
    return f"ice.db.{name}"


@pytest.mark.parametrize(
    ("name", "spec", "by_year", "by_name"),
    [
        ("flat", "", 5, 2),
        ("by_month", "PARTITIONED BY (months(ts))", 12, 5),
        ("by_day", "PARTITIONED BY (months(day))", 12, 5),
        ("by_name", "PARTITIONED BY (truncate(3, name))", 5, 1),
    ],
)
def test_predicates_skip_files(
    sources: Sources, name: str, spec: str, by_year: int, by_name: int
) -> None:
    table = create(sources, name, spec)
    answer = sources.same(f"SELECT n FROM {table} WHERE year(ts) = 1995")
    assert len(answer.rows) == 365
    assert answer.files_read is not None
    assert answer.files_read <= by_year
    answer = sources.same(f"SELECT n FROM {table} WHERE substring(name, 1, 3) = 'k05'")
    assert answer.files_read is not None
    assert answer.files_read <= by_name
    without = sources.sql(f"SELECT n FROM {table} WHERE year(ts) = 1995", **OFF)
    assert without.files_read is not None
    assert without.files_read >= 10


def test_bucketed_tables_in_another_zone_lose_no_row(sources: Sources) -> None:
    table = create(sources, "bucketed", "PARTITIONED BY (bucket(3, n), years(clock))")
    zone = {"spark.sql.session.timeZone": "Pacific/Kiritimati"}
    for condition in (
        "date_trunc('MONTH', ts) = TIMESTAMP '1995-03-01'",
        "to_date(clock) = DATE '1995-03-26'",
        "n + 1 IN (5, 500, 5000)",
        "CAST(amount AS INT) = 77",
        "year(ts) = 1995 OR n DIV 10 = 7",
    ):
        assert sources.same(f"SELECT * FROM {table} WHERE {condition}", **zone).rows


def test_changed_specs_old_snapshots_and_metadata_tables(sources: Sources) -> None:
    """The spec and the schema change. Older snapshots and metadata tables are read."""
    table = create(sources, "changing")
    first = sources.sql(f"SELECT snapshot_id FROM {table}.snapshots").rows[0].strip("(,)")
    sources.sql(f"ALTER TABLE {table} ADD PARTITION FIELD months(ts)")
    sources.sql(f"ALTER TABLE {table} RENAME COLUMN n TO number")
    sources.sql(f"ALTER TABLE {table} RENAME COLUMN clock TO n")
    sources.sql(f"ALTER TABLE {table} ALTER COLUMN number TYPE BIGINT")
    sources.sql(f"INSERT INTO {table} {EVENTS.replace('range(1000)', 'range(300, 600)')}")
    assert len(sources.same(f"SELECT number FROM {table} WHERE year(ts) = 1996").rows) == 366 + 204
    assert sources.same(f"SELECT * FROM {table} WHERE number + 1 = 450").rows
    assert len(sources.same(f"SELECT * FROM {table} WHERE year(n) = 1995").rows) == 365 + 96
    old = f"{table} VERSION AS OF {first}"
    answer = sources.same(f"SELECT n FROM {old} WHERE year(ts) = 1995 AND n + 1 < 100")
    assert len(answer.rows) == 68
    for condition in ("year(committed_at) > 2000", "snapshot_id + 0 = " + first):
        assert sources.same(f"SELECT snapshot_id FROM {table}.snapshots WHERE {condition}").rows
    assert sources.same(f"SELECT file_path FROM {table}.files WHERE record_count + 1 > 2").rows


@pytest.mark.parametrize(
    ("version", "mode", "scan"),
    [
        (2, "copy-on-write", "IcebergCopyOnWriteScan"),
        (2, "merge-on-read", "IcebergScan"),
        (3, "merge-on-read", "IcebergScan"),  # with deletion vectors
    ],
)
def test_rewritten_rows(sources: Sources, version: int, mode: str, scan: str) -> None:
    """The scan of a row-level write is unchanged; a scan in its subquery is like any other."""
    modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
    name = f"{mode.replace('-', '_')}_{version}"
    table = create(sources, name, "", f"TBLPROPERTIES ('format-version' = '{version}', {modes})")
    delete = f"DELETE FROM {table} WHERE year(ts) = 1996 AND n + 1 < 500"
    (text,) = sources.sql(f"EXPLAIN FORMATTED {delete}").rows
    (written,) = re.findall(rf"{scan}\(.*? filters=(.*?), \w+=", text)
    assert "ts >=" not in written
    sources.rewrite_rows(table)
    assert len(sources.same(f"SELECT n FROM {table} WHERE n + 1 < 0 OR n > 1500").rows) == 33
