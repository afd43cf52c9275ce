"""Queries over Delta tables: the same rows as without tamis, and fewer files.

The name of a test says what could go wrong.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.formats.tables import check_sampled, create, fill, only, united
from tests.launch.statements import OFF, Statements

pytestmark = pytest.mark.spark


def table(formats: Statements, name: str, clause: str = "", files: int = 5) -> str:
    """Create a table with a file of 100 rows for each hundred of `id`; return its name."""
    formats.sql(f"DROP TABLE IF EXISTS {name}")
    create(formats, name, f"USING delta {clause}", files)
    return name


def properties(**given: str) -> str:
    """Return the clause with table properties whose names begin with `delta.`."""
    each = ", ".join(f"'delta.{key.replace('_', '.')}' = '{value}'" for key, value in given.items())
    return f"TBLPROPERTIES ({each})"


def test_files_are_left_out_and_proven_filters_leave_the_plan(formats: Statements) -> None:
    name = table(formats, "basic")
    scan = only(formats.same(f"SELECT * FROM {name} WHERE id >= 300 AND k < 9"))
    assert (scan["files_kept"], scan["files_total"]) == (2, 5)
    assert {each["pushdown"] for each in scan["conjuncts"]} == {"exact"}


def test_functions_prune_where_delta_reads_everything(formats: Statements) -> None:
    name = table(formats, "functions")
    assert formats.same(f"SELECT * FROM {name} WHERE id + 1 > 450").kept == [1]
    assert formats.same(f"SELECT * FROM {name} WHERE month(d) = 1").kept == [4]
    assert formats.same(f"SELECT * FROM {name} WHERE coalesce(id, 0) = 7 OR id * 2 = 14").kept == [
        1
    ]


def test_deleted_rows_stay_deleted(formats: Statements) -> None:
    name = table(formats, "vectors", properties(enableDeletionVectors="true"))
    formats.sql(f"DELETE FROM {name} WHERE id IN (5, 105, 107)")
    assert formats.same(f"SELECT * FROM {name} WHERE id + 0 < 110").kept == [2]
    assert formats.same(f"SELECT * FROM {name} WHERE id >= 0 AND id + 0 < 200").kept == [2]
    assert formats.same(f"SELECT id, _metadata.file_size FROM {name} WHERE id + 0 < 110").rows
    queries = [
        "SELECT count(*), min(id), max(id) FROM {t} WHERE id + 0 < 200",
        "SELECT count(*), min(id), max(id) FROM {t}",
        "SELECT * FROM {t} WHERE id + 0 < 200 AND id NOT IN (SELECT id FROM {t} WHERE k = 1)",
        "SELECT (SELECT max(id) FROM {t} WHERE id + 0 < 106), (SELECT count(*) FROM {t})",
    ]
    formats.same(united(queries, name))
    # no row of these files was deleted, so Spark's own reader reads them
    scan = only(formats.same(f"SELECT * FROM {name} WHERE id >= 300"))
    assert (scan["files_kept"], scan["files_total"]) == (2, 5)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_with_other_names_in_files(formats: Statements, mode: str) -> None:
    name = table(formats, f"mapped_{mode}", properties(columnMapping_mode=mode))
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN id TO other")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN k TO id")
    assert formats.same(f"SELECT * FROM {name} WHERE id + 0 > 6").rows == []
    assert formats.same(f"SELECT * FROM {name} WHERE other + 0 > 400").kept == [1]
    formats.sql(f"ALTER TABLE {name} DROP COLUMN s")
    formats.sql(f"ALTER TABLE {name} ADD COLUMN s STRING")
    assert formats.same(f"SELECT * FROM {name} WHERE s IS NULL AND other + 0 = 7").rows
    assert formats.same(f"SELECT * FROM {name} WHERE s = 'text 7'").rows == []


def test_partitions(formats: Statements) -> None:
    name = table(formats, "partitioned", "PARTITIONED BY (k)", files=2)
    formats.sql(f"INSERT INTO {name} VALUES (NULL, NULL, NULL, NULL), (-1, -1, '', NULL)")
    queries = []
    for where in ["k IS NULL", "k = -1", "k = 3 AND id + 0 > 150", "k % 2 = 1 OR id + 0 = 4"]:
        queries.append(f"SELECT * FROM {{t}} WHERE {where}")
        queries.append(f"SELECT k, count(*) FROM {{t}} WHERE NOT ({where}) GROUP BY k")
    formats.same(united(queries, name))
    assert formats.same(f"SELECT * FROM {name} WHERE k = 3 AND id + 0 > 150").kept == [1]


def test_time_travel(formats: Statements) -> None:
    name = table(formats, "travel", files=2)
    fill(formats, name, 2, 3)
    assert formats.same(f"SELECT * FROM {name} WHERE id + 0 > 150").kept == [4]
    assert formats.same(f"SELECT * FROM {name} VERSION AS OF 0 WHERE id + 0 > 150").kept == [1]


def test_writes_are_as_without_tamis(formats: Statements) -> None:
    for on in ("false", "true"):
        vectors = properties(enableDeletionVectors="true", enableChangeDataFeed="true")
        name = table(formats, f"written_{on}", vectors)
        for statement in [
            f"UPDATE {name} SET s = 'changed' WHERE id BETWEEN 95 AND 105",
            f"DELETE FROM {name} WHERE id > 440 AND k = 1",
            f"MERGE INTO {name} t USING (SELECT * FROM {name} WHERE id < 50) s ON t.id = s.id + 1 "
            "WHEN MATCHED THEN UPDATE SET k = 100 WHEN NOT MATCHED THEN INSERT *",
            f"INSERT INTO {name} SELECT id + 1000, k, s, d FROM {name} WHERE id < 40",
            f"OPTIMIZE {name}",
            f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE id <> 3",
        ]:
            formats.sql(statement, **{"spark.tamis.enabled": on})
    on, off = (formats.sql(f"SELECT * FROM written_{each}") for each in ("true", "false"))
    assert on.rows == off.rows
    changes = (
        "SELECT * EXCEPT (_commit_timestamp) FROM table_changes('written_true', 0) WHERE id > 90"
    )
    formats.same(changes)


def test_limits_orders_aggregates_and_joins(formats: Statements) -> None:
    name = table(formats, "goals")
    assert formats.sql(f"SELECT * FROM {name} WHERE id + 0 >= 100 LIMIT 5").kept == [1]
    assert formats.same(f"SELECT * FROM {name} ORDER BY id DESC LIMIT 3").kept == [1]
    query = f"SELECT count(*), min(id), max(d) FROM {name} WHERE id + 0 >= 150"
    assert formats.same(query).kept == [1]
    joined = formats.same(
        f"SELECT * FROM {name} a JOIN (SELECT * FROM {name} WHERE id IN (150, 151)) b ON a.id = b.id"
    )
    assert joined.kept == [1, 1]


def test_queries_of_one_table_with_other_filters(formats: Statements) -> None:
    """Delta lists other files for each filter, so none must serve the query of another."""
    name = table(formats, "many")
    for query in [
        f"SELECT * FROM {name} WHERE id < 100 UNION ALL SELECT * FROM {name} WHERE id >= 400",
        f"SELECT * FROM (SELECT * FROM {name} WHERE id < 150) a FULL JOIN "
        f"(SELECT * FROM {name} WHERE id > 50) b ON a.id = b.id",
        f"SELECT (SELECT max(id) FROM {name} WHERE id < 150), (SELECT min(id) FROM {name} WHERE id > 50)",
        f"WITH t AS (SELECT * FROM {name}) SELECT * FROM t WHERE id < 9 UNION SELECT * FROM t WHERE id > 490",
        f"SELECT * FROM {name} WHERE id < 150 AND id IN (SELECT id + 100 FROM {name} WHERE k = 1)",
        f"SELECT * FROM {name} a LEFT ANTI JOIN {name} b ON a.id = b.id + 100 AND b.id < 200",
    ]:
        formats.same(query)


def test_a_log_that_cannot_be_read_is_not_used(formats: Statements) -> None:
    name = table(formats, "damaged")
    query = f"SELECT * FROM {name} WHERE id * 2 < 10"
    expected = formats.sql(query, **OFF).rows  # Delta keeps what it has read
    (detail,) = formats.sql(f"DESCRIBE DETAIL {name}").rows
    location = detail.partition("'file:")[2].partition("'")[0]
    commit = Path(location, "_delta_log", f"{0:020d}.json")
    content, times = commit.read_bytes(), commit.stat()
    try:
        commit.write_bytes(b"x" * len(content))
        os.utime(commit, ns=(times.st_atime_ns, times.st_mtime_ns))
        answer = formats.sql(query)
    finally:
        commit.write_bytes(content)
    assert answer.rows == expected
    assert answer.kept == [5]
    assert any(commit.name in warning for warning in answer.warnings)
    assert formats.same(query.replace("< 10", "< 12")).kept == [1]


def test_filters_over_partition_columns_that_files_also_hold(formats: Statements) -> None:
    """Delta writes partition columns into files, which the reader must not be asked about."""
    formats.sql("DROP TABLE IF EXISTS both")
    formats.sql("CREATE TABLE both (a INT, p INT, f DOUBLE) USING delta PARTITIONED BY (p, f)")
    formats.sql(
        "INSERT INTO both SELECT CAST(id AS INT), CAST(id % 2 AS INT), CAST(id % 2 AS DOUBLE) "
        "FROM range(0, 100, 1, 2)"
    )
    conditions = [
        "p = 1 AND a < 10 OR a = 77 AND p = 0",
        "p IN (1, 5) AND a < 7 OR a IN (80, 90)",
        "p = 1 OR a = 4",
        "f = 0.0 OR a = 3",
    ]
    rows = formats.same(united([f"SELECT * FROM both WHERE {each}" for each in conditions])).rows
    assert len({row.partition(",")[0] for row in rows}) == len(conditions)
    formats.same("SELECT count(*) FROM both a JOIN both b ON a.a = b.a AND (a.p = 1 OR b.a > 90)")


def test_versions_that_differ_in_deletion_vectors_only(formats: Statements) -> None:
    """An exchange of one version must not serve the other one."""
    formats.sql("DROP TABLE IF EXISTS versions")
    formats.sql(
        f"CREATE TABLE versions USING delta {properties(enableDeletionVectors='true')} AS "
        "SELECT id, id % 5 k FROM range(0, 60, 1, 3)"
    )
    formats.sql("DELETE FROM versions WHERE id % 20 = 3")
    formats.sql("DELETE FROM versions WHERE id % 20 = 5")
    counted = "SELECT k, count(*) c FROM versions {} WHERE id + 0 < 35 GROUP BY k"
    old, new = counted.format("VERSION AS OF 1"), counted.format("")
    formats.same(f"{old} UNION ALL {new}")
    formats.same(f"SELECT * FROM ({old}) a JOIN ({new}) b ON a.k = b.k")


def test_metadata_columns_of_delta(formats: Statements) -> None:
    formats.sql("DROP TABLE IF EXISTS tracked")
    formats.sql(
        f"CREATE TABLE tracked USING delta {properties(enableRowTracking='true')} AS "
        "SELECT id, id % 5 k FROM range(0, 40, 1, 4)"
    )
    for where in ["_metadata.base_row_id >= 0", "_metadata.default_row_commit_version = 0"]:
        assert formats.same(f"SELECT id FROM tracked WHERE id + 0 < 25 AND {where}").rows


def test_subqueries_read_fewer_files(formats: Statements) -> None:
    name = table(formats, "subqueries")
    query = f"SELECT * FROM {name} WHERE id > (SELECT max(id) FROM {name} WHERE id + 0 < 150)"
    assert sorted(formats.same(query).kept) == [1, 5]  # the outer one only at run time
    query = f"SELECT * FROM {name} WHERE id IN (SELECT id + 1 FROM {name} WHERE id + 0 < 150)"
    assert formats.same(query).kept == [2, 2]
    nested = f"SELECT id FROM {name} WHERE id = (SELECT max(id) FROM {name} WHERE id + 0 < 120)"
    assert formats.same(f"SELECT * FROM {name} WHERE id IN ({nested})").kept
    correlated = (
        f"SELECT id FROM {name} a WHERE k = (SELECT max(k) FROM {name} b WHERE b.id = a.id + 1 "
        "AND b.id + 0 < 20)"
    )
    assert formats.same(correlated).kept


def test_delta_without_its_data_skipping(formats: Statements) -> None:
    name = table(formats, "unprepared")
    skipping = "spark.databricks.delta.stats.skipping"
    query = f"SELECT * FROM {name} WHERE id + 0 < 150"
    assert formats.same(query, **{skipping: "false"}).warnings == []


def test_orders_under_a_filter_read_a_sample_first(formats: Statements) -> None:
    name = table(formats, "sampled", files=8)
    query = f"SELECT * FROM {name} WHERE k = 3 ORDER BY d DESC, id LIMIT 5"
    scan = check_sampled(formats, query, files=1)
    assert scan["goals"][0]["goal"].startswith("first 5")


def test_extremes_under_a_filter_read_a_sample_first(formats: Statements) -> None:
    """The first row that passes is deleted: the bounds still hold its value."""
    name = table(formats, "extremes", files=8)
    formats.sql(f"DELETE FROM {name} WHERE k = 3 AND id < 50")
    check_sampled(formats, f"SELECT min(id), max(d) FROM {name} WHERE k = 3", files=2)
