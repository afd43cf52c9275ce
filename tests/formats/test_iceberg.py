"""Queries over Iceberg tables: the same rows as without tamis, and fewer files.

The name of a test says what could go wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.tables import caching_manifests, check_sampled, fill, only, united
from tests.launch.statements import OFF, Statements

pytestmark = pytest.mark.spark


def table(formats: Statements, name: str, clause: str = "", files: int = 5) -> str:
    """Create a table with a file of 100 rows for each hundred of `id`; return its name."""
    formats.sql(f"DROP TABLE IF EXISTS ice.db.{name} PURGE")
    formats.sql(
        f"CREATE TABLE ice.db.{name} (id BIGINT, k INT, s STRING, d DATE) USING iceberg {clause}"
    )
    fill(formats, f"ice.db.{name}", 0, files)
    return f"ice.db.{name}"


def test_files_are_left_out_and_proven_filters_leave_the_plan(formats: Statements) -> None:
    name = table(formats, "basic")
    scan = only(formats.same(f"SELECT * FROM {name} WHERE id >= 300 AND k < 9"))
    assert (scan["files_kept"], scan["files_total"]) == (2, 5)
    assert [each["pushdown"] for each in scan["conjuncts"] if "NULL" not in each["sql"]] == [
        "exact",
        "exact",
    ]


def test_functions_prune_where_iceberg_reads_everything(formats: Statements) -> None:
    name = table(formats, "functions")
    assert formats.same(f"SELECT * FROM {name} WHERE id + 1 > 450").kept == [1]
    assert formats.same(f"SELECT * FROM {name} WHERE month(d) = 1").kept == [4]
    assert formats.same(f"SELECT * FROM {name} WHERE coalesce(id, 0) = 7 OR id * 2 = 14").kept == [
        1
    ]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("version", [2, 3])
def test_deleted_rows_stay_deleted(formats: Statements, mode: str, version: int) -> None:
    properties = f"TBLPROPERTIES ('format-version'='{version}', 'write.delete.mode'='{mode}')"
    name = table(formats, f"deleted_{version}_{mode[:4]}", properties)
    formats.sql(f"DELETE FROM {name} WHERE id IN (5, 105, 107)")
    files = [1 if mode == "copy-on-write" else 2]  # copying wrote both files as one
    assert formats.same(f"SELECT * FROM {name} WHERE id < 110").kept == files
    assert formats.same(f"SELECT * FROM {name} WHERE id < 200 AND id % 5 = 0").kept == files
    assert formats.same(f"SELECT count(*), min(id), max(id) FROM {name} WHERE id < 200")
    assert formats.same(f"SELECT count(*), min(id), max(id) FROM {name}")
    assert formats.same(f"SELECT * FROM {name} WHERE id >= 300 LIMIT 1000")
    # no row of these files was deleted
    assert formats.same(f"SELECT * FROM {name} WHERE id >= 300").kept == [2]


def test_columns_are_found_by_id(formats: Statements) -> None:
    name = table(formats, "evolved")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN id TO other")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN k TO id")
    assert formats.same(f"SELECT * FROM {name} WHERE id > 6").rows == []
    assert formats.same(f"SELECT * FROM {name} WHERE other > 400").kept == [1]
    formats.sql(f"ALTER TABLE {name} DROP COLUMN s")
    formats.sql(f"ALTER TABLE {name} ADD COLUMN s STRING")
    assert formats.same(f"SELECT * FROM {name} WHERE s IS NULL AND other = 7").rows
    assert formats.same(f"SELECT * FROM {name} WHERE s = 'text 7'").rows == []
    formats.sql(f"ALTER TABLE {name} ALTER COLUMN id TYPE BIGINT")
    formats.sql(f"INSERT INTO {name} VALUES (1000, 10000000000, DATE'2030-01-01', 'new')")
    assert formats.same(f"SELECT * FROM {name} WHERE id > 9999999999").kept == [1]
    assert formats.same(f"SELECT * FROM {name} WHERE id < 3 AND other < 100").kept == [1]


def test_names_that_iceberg_writes_in_another_form(formats: Statements) -> None:
    formats.sql("DROP TABLE IF EXISTS ice.db.names PURGE")
    formats.sql(
        "CREATE TABLE ice.db.names USING iceberg AS "
        "SELECT id AS `a b`, id % 3 AS `c.d`, named_struct('1x', id) AS `é-f` FROM range(100)"
    )
    assert len(formats.same("SELECT * FROM ice.db.names WHERE `a b` > 90").rows) == 9
    assert formats.same("SELECT * FROM ice.db.names WHERE `c.d` > 5").kept == [0]
    assert formats.same("SELECT `é-f`.`1x` FROM ice.db.names WHERE `é-f`.`1x` = 7").rows


TRANSFORMS = ["id", "truncate(100, id)", "bucket(4, k)", "months(d)", "days(d)", "years(d)"]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_partitions(formats: Statements, transform: str) -> None:
    name = table(formats, f"by_{TRANSFORMS.index(transform)}", files=1)
    formats.sql(f"ALTER TABLE {name} ADD PARTITION FIELD {transform}")
    fill(formats, name, 1, 1)
    formats.sql(
        f"INSERT INTO {name} VALUES (NULL, NULL, NULL, NULL), (-1, -1, '', DATE'1969-12-31')"
    )
    conditions = [
        "id IS NULL",
        "id = -1",
        "id = 150",
        "k = 3",
        "d < DATE'1970-01-01'",
        "d IS NULL",
    ]
    queries = [f"SELECT * FROM {{t}} WHERE {where}" for where in conditions]
    queries += [f"SELECT * FROM {{t}} WHERE NOT ({where})" for where in conditions]
    assert formats.same(united(queries, name)).rows


def test_time_travel_branches_and_tags(formats: Statements) -> None:
    name = table(formats, "travel", files=2)
    columns = "concat(snapshot_id, ' ', committed_at)"
    (row,) = formats.sql(f"SELECT {columns} FROM {name}.snapshots").rows
    snapshot, _, time = row.strip("(,')").partition(" ")
    formats.sql(f"ALTER TABLE {name} CREATE TAG old")
    formats.sql(f"ALTER TABLE {name} CREATE BRANCH side")
    fill(formats, name, 2, 3)
    formats.sql(f"INSERT INTO {name}.branch_side VALUES (900, 1, 'side', DATE'2024-01-01')")
    everything = f"SELECT * FROM {name} {{}} WHERE id > 150"
    assert formats.same(everything.format("")).kept == [4]
    assert formats.same(everything.format(f"VERSION AS OF {snapshot}")).kept == [1]
    assert formats.same(everything.format(f"TIMESTAMP AS OF '{time}'")).kept == [1]
    assert formats.same(everything.format("VERSION AS OF 'old'")).kept == [1]
    assert formats.same(everything.format("VERSION AS OF 'side'")).kept == [2]
    assert formats.same(f"SELECT * FROM {name}.branch_side WHERE id > 150").kept == [2]


def test_what_is_left_to_iceberg(formats: Statements) -> None:
    name = table(formats, "left_alone")
    for query in [
        f"SELECT _file, _pos, id FROM {name} WHERE id < 5",
        f"SELECT * FROM {name}.files",
        f"SELECT * FROM {name}.snapshots",
    ]:
        formats.same(query)


def test_writes_are_as_without_tamis(formats: Statements) -> None:
    for on in ("false", "true"):
        name = table(formats, f"written_{on}")
        for statement in [
            f"UPDATE {name} SET s = 'changed' WHERE id BETWEEN 95 AND 105",
            f"DELETE FROM {name} WHERE id > 440 AND k = 1",
            f"MERGE INTO {name} t USING (SELECT * FROM {name} WHERE id < 50) s ON t.id = s.id + 1 "
            "WHEN MATCHED THEN UPDATE SET k = 100 WHEN NOT MATCHED THEN INSERT *",
            f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE id <> 3",
        ]:
            formats.sql(statement, **{"spark.tamis.enabled": on})
    on, off = (formats.sql(f"SELECT * FROM ice.db.written_{each}") for each in ("true", "false"))
    assert on.rows == off.rows


def test_limits_orders_aggregates_and_joins(formats: Statements) -> None:
    name = table(formats, "goals")
    assert formats.sql(f"SELECT * FROM {name} WHERE id >= 100 LIMIT 5").kept == [1]
    assert formats.same(f"SELECT * FROM {name} ORDER BY id DESC LIMIT 3").kept == [1]
    assert formats.same(f"SELECT count(*), min(id), max(d) FROM {name} WHERE id >= 150").kept == [1]
    joined = formats.same(
        f"SELECT * FROM {name} a JOIN (SELECT * FROM {name} WHERE id IN (150, 151)) b ON a.id = b.id"
    )
    assert joined.kept == [1, 1]


def test_a_snapshot_that_cannot_be_read_is_left_to_iceberg(formats: Statements) -> None:
    name = table(formats, "unreadable", files=1)
    (row,) = formats.sql(f"SELECT path FROM {name}.manifests").rows
    manifest = Path(row.strip("(,)'").removeprefix("file:"))
    confs = caching_manifests(formats)
    query = "SELECT * FROM cached.db.unreadable WHERE id < 5 AND year(d) = 2024"
    expected = formats.sql(query, **confs, **OFF).rows
    manifest.write_bytes(manifest.read_bytes()[: manifest.stat().st_size // 2])
    answer = formats.sql(query, **confs)
    assert (answer.rows, answer.scans, len(expected)) == (expected, [], 5)
    explained = formats.text_of("tests.formats.in_session:explained", query, **confs)
    assert "left to Spark, because its manifests could not be read" in explained


def test_manifests_without_kept_files_are_not_opened(formats: Statements) -> None:
    name = table(formats, "manifests", files=2)
    fill(formats, name, 2, 2)
    manifest = (
        f"SELECT path FROM {name}.manifests m JOIN {name}.snapshots s "
        "ON added_snapshot_id = snapshot_id WHERE parent_id IS {} NULL"
    )
    older, newer = (
        Path(formats.sql(manifest.format(which)).rows[0].strip("(,)'").removeprefix("file:"))
        for which in ("", "NOT")
    )
    cases = {
        f"SELECT * FROM {name} WHERE id + 1 > 350": ([1], [older]),
        f"SELECT * FROM {name} WHERE id + 1 < 50": ([1], [newer]),
        f"SELECT * FROM {name} WHERE id >= 300": ([1], [older]),  # proven, so it is not applied
        f"SELECT * FROM {name} WHERE id + 1 > 9999": ([0], [older, newer]),
        f"SELECT * FROM {name} ORDER BY id LIMIT 3": ([1], [newer]),
    }
    expected = {query: formats.same(query).rows for query in cases}
    for query, (kept, missing) in cases.items():
        away = {each: each.rename(f"{each}.away") for each in missing}
        try:
            answer = formats.sql(query)
            assert (answer.rows, answer.kept, answer.warnings) == (expected[query], kept, [])
            with pytest.raises(AssertionError, match="rror"):
                formats.sql(query, **{"spark.tamis.enabled": "false"})
        finally:
            for path, moved in away.items():
                moved.rename(path)


def test_schemas_that_were_expired_still_lie_in_files(formats: Statements) -> None:
    formats.sql("DROP TABLE IF EXISTS ice.db.expired PURGE")
    formats.sql("CREATE TABLE ice.db.expired (a INT, b STRING) USING iceberg")
    formats.sql("INSERT INTO ice.db.expired VALUES (1, 'x')")
    formats.sql("ALTER TABLE ice.db.expired RENAME COLUMN a TO c")
    formats.sql("INSERT INTO ice.db.expired VALUES (2, 'y')")
    formats.sql(
        "CALL ice.system.expire_snapshots(table => 'db.expired', retain_last => 1, "
        "older_than => TIMESTAMP '2099-01-01', clean_expired_metadata => true)"
    )
    formats.sql("REFRESH TABLE ice.db.expired")
    for bucketing in ("true", "false"):
        confs = {"spark.sql.sources.v2.bucketing.enabled": bucketing}
        assert len(formats.same("SELECT * FROM ice.db.expired", **confs).rows) == 2
        assert formats.same("SELECT * FROM ice.db.expired WHERE c = 1", **confs).kept == [1]


def test_joins_by_storage_partitions(formats: Statements) -> None:
    """A run-time filter must not change by what the partitions of a join are grouped."""
    for name in ("f", "g"):
        formats.sql(f"DROP TABLE IF EXISTS ice.db.{name} PURGE")
        formats.sql(
            f"CREATE TABLE ice.db.{name} (a INT, b INT, v INT) USING iceberg PARTITIONED BY (b)"
        )
        formats.sql(
            f"INSERT INTO ice.db.{name} SELECT 100, CAST(id % 3 AS INT), CAST(id AS INT) FROM range(9)"
        )
    formats.sql("ALTER TABLE ice.db.f DROP PARTITION FIELD b")
    formats.sql("ALTER TABLE ice.db.f ADD PARTITION FIELD a")
    formats.sql("ALTER TABLE ice.db.f ADD PARTITION FIELD b")
    formats.sql("INSERT INTO ice.db.f VALUES (1, 2, 10), (2, 1, 20)")
    formats.sql("CREATE TABLE IF NOT EXISTS small (a INT, x INT) USING parquet")
    formats.sql("INSERT OVERWRITE small VALUES (1, 1), (2, 1), (3, 2)")
    confs = {
        "spark.sql.iceberg.planning.preserve-data-grouping": "true",
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        "spark.sql.adaptive.enabled": "false",
    }
    query = (
        "SELECT /*+ MERGE(g), BROADCAST(s) */ f.*, g.v FROM ice.db.f f JOIN ice.db.g g ON f.b = g.b "
        "JOIN small s ON f.a = s.a WHERE s.x = 1"
    )
    assert formats.same(query, **confs).rows


def test_partitions_are_left_out_at_run_time_as_by_iceberg(formats: Statements) -> None:
    name = table(formats, "runtime", "PARTITIONED BY (bucket(8, id))", files=2)
    formats.sql("CREATE TABLE IF NOT EXISTS keys (id BIGINT, x INT) USING parquet")
    formats.sql("INSERT OVERWRITE keys VALUES (5, 1), (6, 2)")
    query = f"SELECT t.* FROM {name} t JOIN keys k ON t.id = k.id WHERE k.x = 1"
    for mode in ("apply", "observe"):
        assert len(formats.same(query, **{"spark.tamis.mode": mode}).rows) == 1


def test_aggregates_that_iceberg_answers_itself(formats: Statements) -> None:
    name = table(formats, "answered")
    for query in [f"SELECT count(s), max(d) FROM {name}", f"SELECT count(*) FROM {name}"]:
        for mode in ("apply", "observe"):
            answer = formats.same(query, **{"spark.tamis.mode": mode})
            assert answer.scans == [] or mode == "observe"
    assert formats.same(f"SELECT count(*), max(k) FROM {name} WHERE id >= 150").kept == [1]


def test_metadata_tables_beside_other_tables(formats: Statements) -> None:
    name = table(formats, "beside")
    query = f"SELECT * FROM {name} WHERE id < (SELECT count(*) FROM {name}.snapshots)"
    assert formats.same(query).warnings == []
    formats.same(
        f"SELECT * FROM {name} t JOIN {name}.files f ON t.id = f.record_count WHERE t.id < 150"
    )


def test_conditions_of_tamis_stay_with_tamis(formats: Statements) -> None:
    """Iceberg gets the run-time filters of Spark, but not those that tamis adds."""
    name = table(formats, "awaited", "PARTITIONED BY (k)")
    query = f"SELECT * FROM {name} WHERE k >= (SELECT max(k) FROM {name} WHERE id < 5) AND id < 150"
    assert formats.same(query).rows
    joined = (
        f"SELECT a.* FROM {name} a JOIN {name} b ON a.k = b.k + 1 AND a.id > b.id WHERE b.id = 150"
    )
    assert formats.same(joined).rows


def test_audits_do_not_read_files_in_another_way(formats: Statements) -> None:
    """Deleted rows and renamed columns would look like wrong results."""
    name = table(formats, "audited", "TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    formats.sql(f"DELETE FROM {name} WHERE id IN (5, 105)")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN id TO other")
    query = f"SELECT * FROM {name} WHERE other <= 5 AND k >= 0"
    formats.same(query, **{"spark.tamis.audit": "4"})
    formats.run({"call": "awaitAudits", "arguments": [60_000], "confs": {}})
    assert formats.same(query).warnings == []


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


def test_tables_of_format_4_are_left_to_iceberg(formats: Statements) -> None:
    name, confs = "cached.db.of_format_4", caching_manifests(formats)
    formats.sql(
        f"CREATE TABLE {name} USING iceberg TBLPROPERTIES ('format-version' = '4', "
        "'write.delete.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read') AS "
        "SELECT /*+ REPARTITION_BY_RANGE(2, id) */ id, CAST(id % 7 AS INT) k FROM range(200)",
        **confs,
    )
    query = f"SELECT * FROM {name} WHERE id + 0 < 150"
    assert formats.same(query, **confs).scans == []
    with pytest.raises(AssertionError, match="has the Iceberg format version 4"):
        formats.index("build", name, confs)
    for statement in [
        f"DELETE FROM {name} WHERE id * 2 = 20",
        f"MERGE INTO {name} t USING (SELECT * FROM VALUES (120L, 7), (-1L, 8) v(a, b)) s "
        "ON t.id = s.a WHEN MATCHED THEN UPDATE SET k = b "
        "WHEN NOT MATCHED THEN INSERT (id, k) VALUES (a, b)",
    ]:
        assert formats.sql(statement, **confs).warnings == []
    changed = f"SELECT count(*), min(id), max(k), count_if(id = 10) FROM ({query})"
    assert formats.same(changed, **confs).rows == ["(150, -1, 8, 0)"]
    explained = formats.text_of("tests.formats.in_session:explained", query, **confs)
    assert "the table has the Iceberg format version 4; versions 1 to 3 are read" in explained
