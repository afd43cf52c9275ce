"""Features of tables that change what files contain or what is recorded about them.

Each case has a table and its predicates, with the number of files that tamis keeps of those that the
format has. Delta's own data skipping may list fewer files than that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.formats.tables import united
from tests.launch.statements import OFF, Statements

pytestmark = pytest.mark.spark

#: Three files of ten rows.
THREE = "/*+ REPARTITION_BY_RANGE(3, id) */"


@dataclass(frozen=True)
class Case:
    """A table `{t}`, the statements that make it, predicates with their kept files, and queries."""

    name: str
    statements: list[str]
    predicates: dict[str, int]
    queries: tuple[str, ...] = ()


DELTA = [
    Case(
        "widened",
        [
            "CREATE TABLE {t} USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true') AS "
            f"SELECT {THREE} CAST(id AS INT) id, CAST(id AS SMALLINT) b, CAST(id AS INT) x, "
            "CAST(id AS DECIMAL(5, 2)) m FROM range(30)",
            "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT, b TYPE INT, x TYPE DOUBLE, m TYPE DECIMAL(10, 2)",
            "INSERT INTO {t} VALUES (10000000000, 100000, 1e10, 12345.67), (NULL, NULL, NULL, NULL)",
        ],
        {
            "id > 9999999999": 1,
            "b + 0 > 99999": 1,
            "x / 2 > 1e9": 4,  # NaN is not in the bounds
            "x + 0 < 5": 1,
            "m + 0 < 5": 1,
            "id IS NULL": 1,
        },
        (
            "SELECT count(*), min(id), max(x), min(m) FROM {t}",
            "SELECT id FROM {t} ORDER BY x LIMIT 2",
        ),
    ),
    Case(
        "variants",
        [
            f"CREATE TABLE {{t}} USING delta AS SELECT {THREE} CAST(id AS INT) id, "
            "parse_json(concat('{\"a\":', id, '}')) v FROM range(30)"
        ],
        {"id + 0 < 5": 1, "variant_get(v, '$.a', 'int') < 5 AND id + 0 > 0": 3},
        ("SELECT count(*), max(id) FROM {t} WHERE id + 0 > 20", "SELECT count(v) FROM {t}"),
    ),
    Case(
        "generated",
        [
            "CREATE TABLE {t} (id INT, ts TIMESTAMP, d DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), "
            "s STRING) USING delta PARTITIONED BY (d)",
            "INSERT INTO {t} (id, ts, s) VALUES "
            "(1, TIMESTAMP'2024-01-01 00:00:00.000999', repeat('x', 40)), "
            "(2, TIMESTAMP'2024-01-02 00:00:00.001001', concat(repeat('x', 32), 'b')), "
            "(3, TIMESTAMP'1969-12-31 23:59:59.999999', 'é')",
        ],
        {
            # milliseconds are cut off bounds, and characters after the 32nd
            "ts <= TIMESTAMP'2024-01-01 00:00:00'": 2,
            "ts > TIMESTAMP'2024-01-01 00:00:00.000998'": 2,
            "ts > TIMESTAMP'2024-01-02 00:00:00.001'": 1,
            "s > repeat('x', 39)": 3,
            "s <= repeat('x', 32)": 2,
            "year(ts) = 1969": 1,
            "substring(s, 33, 1) = 'b'": 2,
            "d + 1 = DATE'2024-01-02'": 1,
        },
        (
            "SELECT min(ts), max(ts), min(s), max(s), count(*) FROM {t}",
            "SELECT max(ts) FROM {t} WHERE d = DATE'2024-01-01'",
        ),
    ),
    Case(
        "unindexed",
        [
            "CREATE TABLE {t} USING delta TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '1') AS "
            f"SELECT {THREE} CAST(id AS INT) id, CAST(id AS INT) b FROM range(30)",
            "ALTER TABLE {t} SET TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'b')",
            "INSERT INTO {t} VALUES (100, NULL)",
        ],
        {"id + 0 < 5": 2, "b + 0 < 5": 3, "b IS NULL": 4, "id + 0 > 50": 1},
        (
            "SELECT count(*), count(b), min(id), max(b) FROM {t}",
            "SELECT * FROM {t} ORDER BY id DESC LIMIT 1",
            "SELECT * FROM {t} ORDER BY b LIMIT 1",
        ),
    ),
    Case(
        "clustered",
        [
            "CREATE TABLE {t} (id INT, k INT) USING delta CLUSTER BY (id)",
            f"INSERT INTO {{t}} SELECT {THREE} CAST(id AS INT), CAST(id % 5 AS INT) FROM range(30)",
            "ALTER TABLE {t} CLUSTER BY (k)",
            f"INSERT INTO {{t}} SELECT {THREE} CAST(id AS INT), CAST(id % 5 AS INT) "
            "FROM range(30, 60)",
        ],
        {"id + 0 < 5": 1, "id + 0 > 45 AND k < 9": 2, "k + 0 > 9": 0},
        ("SELECT count(*), min(id), max(k) FROM {t}", "SELECT id FROM {t} ORDER BY id LIMIT 3"),
    ),
    Case(
        "tracked_rows",
        [
            "CREATE TABLE {t} USING delta TBLPROPERTIES ('delta.enableRowTracking' = 'true', "
            f"'delta.enableDeletionVectors' = 'true') AS SELECT {THREE} CAST(id AS INT) id, "
            "CAST(id % 5 AS INT) k FROM range(30)",
            "UPDATE {t} SET k = 100 WHERE id = 12",
            "DELETE FROM {t} WHERE id = 25",
            "OPTIMIZE {t}",
            "INSERT INTO {t} VALUES (100, 7)",
        ],
        {"id + 0 > 50": 1, "k + 0 > 50": 1},
        (
            "SELECT id, _metadata.row_id FROM {t} WHERE id + 0 > 10",
            "SELECT max(_metadata.row_commit_version), count(*) FROM {t} WHERE id + 0 < 50",
        ),
    ),
    Case(
        "timed_commits",
        [
            "CREATE TABLE {t} USING delta TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true', "
            f"'delta.feature.vacuumProtocolCheck' = 'supported', 'delta.checkpointPolicy' = 'v2') AS "
            f"SELECT {THREE} CAST(id AS INT) id FROM range(30)",
            "INSERT INTO {t} VALUES (100)",
        ],
        {"id + 0 < 5": 1, "id + 0 > 25": 2},
        (
            "SELECT count(*), max(id) FROM {t} VERSION AS OF 0 WHERE id + 0 > 5",
            "SELECT max(id) FROM {t} VERSION AS OF 1 WHERE id + 0 > 5",
        ),
    ),
    Case(
        "constrained",
        [
            "CREATE TABLE {t} (id INT NOT NULL, k INT DEFAULT 7, g INT GENERATED ALWAYS AS (id + k), "
            "n BIGINT GENERATED ALWAYS AS IDENTITY) USING delta TBLPROPERTIES "
            "('delta.feature.allowColumnDefaults' = 'supported')",
            "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id >= 0)",
            f"INSERT INTO {{t}} (id) SELECT {THREE} CAST(id AS INT) FROM range(30)",
            "INSERT INTO {t} (id, k) VALUES (100, NULL)",
        ],
        {"id + 0 < 5": 1, "k + 0 = 7 AND id + 0 > 25": 1, "g IS NULL": 1, "n + 0 > 5": 4},
        ("SELECT count(*), count(k), min(id), max(g) FROM {t}", "SELECT max(n) FROM {t}"),
    ),
    Case(
        "with_partitions_in_files",
        [
            "CREATE TABLE {t} (id INT, p INT) USING delta PARTITIONED BY (p) TBLPROPERTIES "
            "('delta.feature.materializePartitionColumns' = 'supported')",
            f"INSERT INTO {{t}} SELECT {THREE} CAST(id AS INT), CAST(id DIV 10 AS INT) FROM range(30)",
        ],
        {"p + 0 = 1": 1, "id + 0 < 5": 1, "p + id < 12": 2},
        ("SELECT p, count(*), max(id) FROM {t} GROUP BY p",),
    ),
]

ICEBERG = [
    Case(
        "evolved_structs",
        [
            "CREATE TABLE {t} (id INT, s STRUCT<a: INT, b: INT>) USING iceberg",
            f"INSERT INTO {{t}} SELECT {THREE} CAST(id AS INT), "
            "named_struct('a', CAST(id AS INT), 'b', CAST(-id AS INT)) FROM range(30)",
            "ALTER TABLE {t} RENAME COLUMN s.a TO c",
            "ALTER TABLE {t} RENAME COLUMN s.b TO a",
            "ALTER TABLE {t} ADD COLUMN s.z INT",
            "ALTER TABLE {t} ALTER COLUMN s FIRST",
            "INSERT INTO {t} (id, s) VALUES (100, named_struct('c', 100, 'a', -100, 'z', 1))",
        ],
        {
            "s.c + 0 > 50": 1,
            "s.a + 0 < -50": 1,
            "s.a > 0": 0,
            "s.z IS NULL AND id + 0 > 25": 2,
            "s.z = 1": 4,
        },
        ("SELECT count(*), max(s.c), min(s.a) FROM {t}", "SELECT id FROM {t} ORDER BY s.a LIMIT 1"),
    ),
    *(
        Case(
            f"in_{form}",
            [
                "CREATE TABLE {t} USING iceberg TBLPROPERTIES ("
                f"'write.format.default' = '{form}') AS SELECT {THREE} CAST(id AS INT) id FROM range(30)"
            ],
            {"id + 0 < 5": kept},
            ("SELECT count(*), min(id) FROM {t}", "SELECT id FROM {t} ORDER BY id DESC LIMIT 2"),
        )
        for form, kept in (("orc", 1), ("avro", 3))
    ),
    Case(
        "staged",
        [
            "CREATE TABLE {t} USING iceberg TBLPROPERTIES ('write.wap.enabled' = 'true') AS "
            f"SELECT {THREE} CAST(id AS INT) id FROM range(30)",
            "ALTER TABLE {t} CREATE BRANCH audit",
            "SET spark.wap.branch = audit",
            "INSERT INTO {t} VALUES (100)",
        ],
        {"id + 0 > 25": 2},
        ("SELECT count(*), max(id) FROM {t}",),
    ),
    Case(
        "not_published",
        ["RESET spark.wap.branch"],
        {"id + 0 > 25": 1},
        ("SELECT max(id) FROM {t}",),
    ),
    Case(
        "variants",
        [
            "CREATE TABLE {t} USING iceberg TBLPROPERTIES ('format-version' = '3') AS "
            f"SELECT {THREE} CAST(id AS INT) id, parse_json(concat('{{\"a\":', id, '}}')) v "
            "FROM range(30)"
        ],
        {"id + 0 < 5": 1, "variant_get(v, '$.a', 'int') < 5 AND id + 0 > 0": 3},
        ("SELECT count(v), max(id) FROM {t}",),
    ),
    Case(
        "lineage",
        [
            "CREATE TABLE {t} USING iceberg TBLPROPERTIES ('format-version' = '3', "
            f"'write.update.mode' = 'merge-on-read') AS SELECT {THREE} CAST(id AS INT) id, "
            "CAST(id % 5 AS INT) k FROM range(30)",
            "UPDATE {t} SET k = 100 WHERE id = 12",
            "CALL ice.system.rewrite_data_files(table => 'db.lineage', "
            "options => map('rewrite-all', 'true'))",
            "INSERT INTO {t} VALUES (100, 7)",
        ],
        {"id + 0 > 50": 1, "k + 0 > 50": 1},
        (
            "SELECT id, k, _row_id, _last_updated_sequence_number FROM {t} WHERE id + 0 > 10",
            "SELECT count(*), max(id), min(k) FROM {t}",
        ),
    ),
]


@pytest.mark.parametrize("case", DELTA, ids=lambda case: case.name)
def test_features_of_delta(formats: Statements, case: Case) -> None:
    check(formats, case, case.name)


@pytest.mark.parametrize("case", ICEBERG, ids=lambda case: case.name)
def test_features_of_iceberg(formats: Statements, case: Case) -> None:
    check(formats, case, "ice.db.staged" if case.name == "not_published" else f"ice.db.{case.name}")


def test_default_values_and_types_of_iceberg(formats: Statements) -> None:
    formats.text_of("tests.formats.in_session:create_with_types", "defaults")
    predicates = {
        "x = 5 AND id + 0 < 15": 2,
        "x <> 5": 5,
        "x IS NULL": 5,
        "u = '00000003-0000-0000-0000-000000000003'": 5,
        "b > CAST('25' AS BINARY)": 3,
        "year(n) = 2023": 1,
        "n + INTERVAL 1 DAY < TIMESTAMP_NTZ'2024-01-05 00:00:00'": 1,
    }
    queries = (
        "SELECT count(*), count(x), min(x), max(x), min(u), max(n) FROM {t}",
        "SELECT x, id FROM {t} ORDER BY x, id LIMIT 1",
    )
    check(formats, Case("defaults", [], predicates, queries), "ice.db.defaults")


def test_imported_files_of_iceberg(formats: Statements, tmp_path: Path) -> None:
    formats.sql(
        f"INSERT OVERWRITE DIRECTORY '{tmp_path}/p=1' USING parquet "
        f"SELECT {THREE} CAST(id AS INT) id FROM range(30)"
    )
    statements = [
        "CREATE TABLE {t} (id INT, p INT) USING iceberg PARTITIONED BY (p)",
        "CALL ice.system.add_files(table => 'db.imported', "
        f"source_table => 'parquet.`{tmp_path}`')",
        "ALTER TABLE {t} RENAME COLUMN id TO old",
        "ALTER TABLE {t} ADD COLUMN id INT",
    ]
    predicates = {"old + 0 < 5 AND p + 0 = 1": 1, "p + 0 = 2": 0}
    case = Case("imported", statements, {}, ("SELECT count(*), min(old), max(id) FROM {t}",))
    for statement in case.statements:
        formats.sql(statement.replace("{t}", "ice.db.imported"))
    queries = [f"SELECT * FROM {{t}} WHERE {where}" for where in predicates]
    assert formats.same(united([*queries, *case.queries], "ice.db.imported")).kept


def check(formats: Statements, case: Case, table: str) -> None:
    """Create the table of a case, and compare its queries with those of the format."""
    for statement in case.statements:
        formats.sql(statement.replace("{t}", table))
    predicates = [f"SELECT id FROM {{t}} WHERE {where}" for where in case.predicates]
    assert formats.same(united(predicates, table)).kept == list(case.predicates.values())
    if case.queries:
        formats.same(united(list(case.queries), table))


def test_maintenance_and_clones_of_delta(formats: Statements) -> None:
    formats.sql(
        "CREATE TABLE kept_up USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS "
        f"SELECT {THREE} CAST(id AS INT) id, CAST(id % 5 AS INT) k FROM range(30)"
    )
    some = "SELECT * FROM {t} WHERE id + 0 < 5"
    formats.sql("DELETE FROM kept_up WHERE id = 3")
    formats.sql("OPTIMIZE kept_up ZORDER BY (k)")
    assert formats.same(united([some], "kept_up")).kept == [1]
    formats.sql("RESTORE TABLE kept_up TO VERSION AS OF 1")
    formats.sql("CREATE TABLE cloned SHALLOW CLONE kept_up")
    formats.sql("INSERT INTO cloned VALUES (100, 1)")
    formats.sql("DELETE FROM cloned WHERE id = 4")
    parts = [f"({some.replace('{t}', name)})" for name in ("kept_up", "cloned")]
    parts += ["(SELECT * FROM cloned WHERE id + 0 > 50)"]
    answer = formats.same(" UNION ALL ".join(parts))
    assert (answer.kept, len(answer.rows)) == ([1, 1, 1], 4 + 3 + 1)


@pytest.mark.parametrize(("clause", "kept"), [("", [1]), ("NO STATISTICS", [5, 2])])
def test_tables_converted_to_delta(
    formats: Statements, tmp_path: Path, clause: str, kept: list[int]
) -> None:
    formats.sql(
        f"INSERT OVERWRITE DIRECTORY '{tmp_path}/p=a%20b' USING parquet "
        f"SELECT {THREE} id FROM range(30)"
    )
    formats.sql(
        f"INSERT OVERWRITE DIRECTORY '{tmp_path}/p=c' USING parquet SELECT id FROM range(30, 31)"
    )
    formats.sql(f"CONVERT TO DELTA parquet.`{tmp_path}` {clause} PARTITIONED BY (p STRING)")
    queries = [
        "SELECT * FROM {t} WHERE id + 0 < 5",
        "SELECT count(*), min(id) FROM {t} WHERE upper(p) = 'C'",
    ]
    assert formats.same(united(queries, f"delta.`{tmp_path}`")).kept == kept


def test_features_of_delta_that_are_not_known(formats: Statements, tmp_path: Path) -> None:
    """One that Delta reads is left to it, and one that it does not read is its own error."""
    formats.sql(
        f"CREATE TABLE unknown USING delta LOCATION '{tmp_path}' TBLPROPERTIES "
        f"('delta.feature.geospatial' = 'supported') AS SELECT {THREE} id "
        "FROM range(30)"
    )
    query = "SELECT * FROM unknown WHERE id + 0 < 5"
    assert formats.same(query).scans == []
    explained = formats.text_of("tests.formats.in_session:explained", query)
    assert "it has features that tamis does not know (geospatial)" in explained
    for statement in (
        "DELETE FROM unknown WHERE id + 0 = 3",
        "MERGE INTO unknown t USING (SELECT 12L id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    ):
        assert formats.sql(statement).warnings == []
    assert formats.same("SELECT count(*), min(id) FROM unknown").rows == ["(28, 0)"]
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["fromTheFuture"],
        "writerFeatures": ["fromTheFuture"],
    }
    commits = sorted((tmp_path / "_delta_log").glob("*.json"))
    later = commits[-1].with_name(f"{len(commits):020d}.json")
    later.write_text(json.dumps({"protocol": protocol}) + "\n")
    for confs in (OFF, {}):
        with pytest.raises(AssertionError, match="DELTA_UNSUPPORTED_FEATURES_FOR_READ"):
            formats.sql(query, **confs)


def test_tables_whose_commits_a_catalog_manages(formats: Statements, tmp_path: Path) -> None:
    """A commit that is not published has another name, which only the catalog knows."""
    path = tmp_path / "managed"
    name, staged = f"delta.`{path}`", path / "_delta_log" / "_staged_commits"
    formats.text_of("tests.formats.in_session:manage_commits", str(path))
    try:
        for n in range(1, 8):
            formats.sql(f"INSERT INTO {name} SELECT id FROM range({n}0, {n + 1}0, 1, 1)")
            if n in (1, 4, 7):
                assert formats.same(f"SELECT * FROM {name} WHERE id + 0 >= {n}5").kept == [1]
        published = len(list((path / "_delta_log").glob("*.json")))
        assert published < 8 <= published + len(list(staged.glob("*.json")))
        assert formats.same(f"SELECT * FROM {name} WHERE id + 0 < 25").kept == [3]
        assert formats.same(f"SELECT * FROM {name} VERSION AS OF 4 WHERE id + 0 > 15").kept == [4]
        formats.sql(f"DELETE FROM {name} WHERE id IN (3, 47)")
        formats.sql(
            f"MERGE INTO {name} t USING (SELECT 12L id) s ON t.id = s.id WHEN MATCHED THEN DELETE"
        )
        queries = ["SELECT * FROM {t} WHERE id + 0 >= 45", "SELECT count(*), min(id) FROM {t}"]
        # three files have lost a row, which may have been the least one
        assert formats.same(united(queries, name)).kept == [4, 3]
    finally:
        formats.text_of("tests.formats.in_session:manage_no_commits")
