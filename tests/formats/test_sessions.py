"""Caches, streams, writes and the optimizer's estimates are as without tamis."""

from __future__ import annotations

import pytest

from tests.formats.tables import deleted, fill
from tests.launch.statements import OFF, Statements

pytestmark = pytest.mark.spark

KINDS = ["delta", "iceberg"]


def created(formats: Statements, name: str, kind: str, clause: str = "", files: int = 3) -> str:
    """Create a table with a file of 100 rows for each hundred of `id`; return its name."""
    name = f"ice.db.{name}" if kind == "iceberg" else f"{name}_delta"
    formats.sql(f"CREATE TABLE {name} (id BIGINT, k INT, s STRING, d DATE) USING {kind} {clause}")
    fill(formats, name, 0, files)
    return name


@pytest.mark.parametrize("kind", KINDS)
def test_caches_streams_and_copies(formats: Statements, kind: str) -> None:
    name = created(formats, "followed", kind)
    where = "WHERE id + 0 >= 295"
    for cached, confs in (("with", {}), ("without", OFF)):
        query = f"SELECT id, '{cached}' made FROM {name} {where}"
        formats.sql(f"CACHE TABLE {cached}_{kind} AS {query}", **confs)
    counts = f"SELECT (SELECT count(*) FROM with_{kind}), (SELECT count(*) FROM without_{kind})"
    assert formats.sql(counts).rows == ["(5, 5)"]
    fill(formats, name, 3, 1)
    (row,) = formats.sql(counts).rows
    assert row in ("(5, 5)", "(105, 105)")
    assert formats.same(f"SELECT id FROM {name} {where}").kept == [2]
    last = [(each,) for each in range(397, 400)]
    streamed = formats.text_of("tests.formats.in_session:streamed", name, "id + 0 >= 397")
    assert streamed == str(last)
    formats.sql(f"CREATE TABLE copied_{kind} USING parquet AS SELECT * FROM {name} {where}")
    (row,) = formats.sql(f"SELECT count(*), min(id), max(id) FROM copied_{kind}").rows
    assert row == "(105, 295, 399)"


def test_audits_of_delta_find_nothing(formats: Statements) -> None:
    name = deleted(formats, "delta")
    for where in ["id + 0 < 110 AND k >= 0", "id + 0 >= 350 AND id >= 300"]:
        formats.same(f"SELECT * FROM {name} WHERE {where}", **{"spark.tamis.audit": "4"})
    formats.run({"call": "awaitAudits", "arguments": [60_000], "confs": {}})
    assert formats.same(f"SELECT id FROM {name} WHERE id + 0 < 5").warnings == []


def test_aggregates_that_delta_answers_itself(formats: Statements) -> None:
    name = created(formats, "answered", "delta", files=1)
    assert formats.same(f"SELECT count(*), min(id), max(d) FROM {name}").scans == []


def test_joins_of_iceberg_without_an_exchange_and_distinct_values(formats: Statements) -> None:
    names = [
        created(formats, f"bucketed_{n}", "iceberg", "PARTITIONED BY (bucket(2, id))", files=1)
        for n in range(2)
    ]
    confs = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.cbo.enabled": "true",
        "spark.sql.iceberg.planning.preserve-data-grouping": "true",
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.sources.v2.bucketing.enabled": "true",
        "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    }
    joined = (
        f"SELECT a.id, b.s FROM {names[0]} a JOIN {names[1]} b ON a.id = b.id WHERE a.k + 0 = 3"
    )
    assert len(formats.same(joined, **confs).rows) == 14
    assert formats.same(joined, **confs).kept == [2, 2]
    for on in (OFF, {}):
        (plan,) = formats.sql(f"EXPLAIN {joined}", **confs, **on).rows
        assert ("Tamis Files" in plan) == (not on)
        assert "Join" in plan
        assert "Exchange" not in plan
    formats.sql(f"CALL ice.system.compute_table_stats(table => '{names[0].removeprefix('ice.')}')")
    formats.sql(f"REFRESH TABLE {names[0]}")
    estimates = []
    for on in (OFF, {}):
        filtered = f"EXPLAIN COST SELECT id FROM {names[0]} WHERE k + 0 = 3"
        (plan,) = formats.sql(filtered, **confs, **on).rows
        estimates.append(plan.partition("Filter ")[2].partition("Statistics(")[2].partition(")")[0])
    # Spark expects no row, because Iceberg reports distinct values without bounds, and 100 without
    assert "rowCount=0" in estimates[0]
    assert estimates[0] == estimates[1]
