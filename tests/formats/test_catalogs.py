"""Iceberg tables of the catalogs other than Hadoop's, which all other tests use.

A catalog finds the metadata of a table and commits to it. What tamis reads of a table must not
depend on it.
"""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.packages import downloaded
from tests.formats.conftest import confs_of_formats, spark_in
from tests.formats.tables import only
from tests.launch.statements import OFF, Statements

pytestmark = pytest.mark.spark

CATALOGS = ("jdbc", "hive", "session", "rest")


def confs_of_catalogs(folder: Path) -> dict[str, str]:
    """Return the confs of a session with the catalogs; `spark_catalog` is that of the session.

    The databases of JDBC's and of Hive's catalog are embedded.
    """
    catalog, warehouse = "org.apache.iceberg.spark.SparkCatalog", str(folder / "warehouse")
    confs = confs_of_formats(folder)
    keys = compiled("FixedKeys", confs["spark.jars"], folder)
    sqlite = downloaded("ivy-sqlite", ("org.xerial:sqlite-jdbc:3.49.1.0",), ("org.slf4j:*",))
    return {
        **confs,
        "spark.jars": ",".join([confs["spark.jars"], str(keys), *map(str, sqlite)]),
        "spark.sql.catalog.jdbc": catalog,
        "spark.sql.catalog.jdbc.type": "jdbc",
        "spark.sql.catalog.jdbc.uri": f"jdbc:sqlite:{folder / 'catalog.db'}",
        "spark.sql.catalog.jdbc.warehouse": f"{warehouse}/jdbc",
        "spark.sql.catalog.hive": catalog,
        "spark.sql.catalog.hive.type": "hive",
        "spark.sql.catalog.hive.warehouse": f"{warehouse}/hive",
        "spark.sql.catalog.hive.encryption.kms-impl": "FixedKeys",
        "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
        "spark.sql.catalog.spark_catalog.type": "hive",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:{folder / 'metastore'};create=true"
        ),
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.datanucleus.connectionPoolingType": "NONE",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        # its locks need a pool of connections that Spark does not have
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
    }


def compiled(name: str, jars: str, folder: Path) -> Path:
    """Compile a Java class of this folder. Return a jar with it."""
    classes, source = folder / "classes", Path(__file__).with_name(f"{name}.java")
    class_path = jars.replace(",", os.pathsep)
    command = ["javac", "-proc:none", "-cp", class_path, "-d", str(classes), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    jar = folder / f"{name}.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.write(classes / f"{name}.class", f"{name}.class")
    return jar


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Iterator[Statements]:
    """A Spark with the catalogs."""
    folder = tmp_path_factory.mktemp("catalogs")
    with spark_in(folder, confs_of_catalogs(folder), repository) as statements:
        statements.text_of(
            "tests.formats.rest_catalog:start",
            f"jdbc:sqlite:{folder / 'served.db'}",
            str(folder / "warehouse" / "rest"),
        )
        yield statements


def table(catalogs: Statements, catalog: str, name: str, commits: int = 4) -> str:
    """Create a table with this number of commits, each of two files with a key of their own."""
    database = "spark_catalog.default" if catalog == "session" else f"{catalog}.db"
    if catalog != "session":
        catalogs.sql(f"CREATE NAMESPACE IF NOT EXISTS {database}")
    catalogs.sql(
        f"CREATE TABLE {database}.{name} (id BIGINT, k INT) USING iceberg PARTITIONED BY (k) "
        "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', 'write.distribution-mode' = 'none')"
    )
    for key in range(commits):
        add(catalogs, f"{database}.{name}", key)
    return f"{database}.{name}"


def add(catalogs: Statements, name: str, key: int) -> None:
    catalogs.sql(
        f"INSERT INTO {name} SELECT /*+ REPARTITION_BY_RANGE(2, id) */ id, {key} "
        f"FROM range({key}00, {key}00 + 100)"
    )


@pytest.mark.parametrize("catalog", CATALOGS)
def test_tables_of_each_catalog(catalogs: Statements, tmp_path: Path, catalog: str) -> None:
    name = table(catalogs, catalog, "events")
    cache = {"spark.tamis.cache.location": str(tmp_path)}

    def opened() -> int:
        return len(list(tmp_path.glob("**/manifest/table.arrow")))

    scan = only(catalogs.same(f"SELECT * FROM {name} WHERE k = 2 AND id + 0 < 230", **cache))
    assert (scan["files_kept"], scan["files_total"], opened()) == (1, 8, 1)
    assert catalogs.same(f"SELECT * FROM {name} WHERE id IN (5, 399)", **cache).kept == [2]
    assert opened() == 4
    assert catalogs.same(f"SELECT count(*), max(id) FROM {name} WHERE id >= 350").kept in ([], [0])
    (before,) = catalogs.sql(f"SELECT max(snapshot_id) FROM {name}.refs", **OFF).rows
    snapshot = before.strip("(,)")
    add(catalogs, name, 4)
    scan = only(catalogs.same(f"SELECT * FROM {name} WHERE k IN (0, 4) AND id % 100 < 50", **cache))
    assert (scan["files_kept"], scan["files_total"]) == (2, 10)
    past = catalogs.same(f"SELECT * FROM {name} VERSION AS OF {snapshot} WHERE id > 390", **cache)
    assert past.kept == [1]
    catalogs.sql(f"DELETE FROM {name} WHERE id IN (401, 402)")
    assert len(catalogs.same(f"SELECT * FROM {name} WHERE k = 4 AND id < 410", **cache).rows) == 8
    other = table(catalogs, catalog, "keys", commits=1)
    assert catalogs.same(
        f"SELECT e.id FROM {name} e JOIN {other} o ON e.id = o.id WHERE o.k = 0 AND o.id > 70"
    ).kept == [1, 1]


def test_tables_that_a_rest_catalog_plans(catalogs: Statements) -> None:
    """The catalog answers which files to read, so tamis leaves them to it."""

    def plans() -> int:
        return int(catalogs.text_of("tests.formats.rest_catalog:requested", "POST plan"))

    name, before = table(catalogs, "rest", "planned"), plans()
    query = f"SELECT * FROM {name} WHERE k = 2 AND id + 0 < 230"
    assert len(catalogs.same(query).rows) == 30
    assert plans() > before
    explained = catalogs.text_of("tests.formats.in_session:explained", query)
    assert "org.apache.iceberg.rest.RESTTable, which plans its own scans" in explained
    for confs in ({}, OFF):
        where = "coalesce(id, 0) >= 230"
        (plan,) = catalogs.sql(f"EXPLAIN SELECT * FROM {name} WHERE {where}", **confs).rows
        assert ("id >= 230" in plan) == (not confs), plan
    joined = f"SELECT count(*), min(id) FROM {name} WHERE id IN (SELECT id FROM {name} WHERE k = 1)"
    assert catalogs.same(joined).rows == ["(100, 100)"]
    catalogs.sql(f"DELETE FROM {name} WHERE id IN (201, 202)")
    assert len(catalogs.same(query).rows) == 28


def test_encrypted_tables_are_left_to_iceberg(catalogs: Statements) -> None:
    """Iceberg encrypts tables of Hive's catalog only."""
    catalogs.sql("CREATE NAMESPACE IF NOT EXISTS hive.db")
    catalogs.sql(
        "CREATE TABLE hive.db.secret (id BIGINT, k INT) USING iceberg PARTITIONED BY (k) "
        "TBLPROPERTIES ('encryption.key-id' = 'any', 'format-version' = '3')"
    )
    for key in range(2):
        add(catalogs, "hive.db.secret", key)
    query = "SELECT * FROM hive.db.secret WHERE k = 1 AND id + 0 < 130"
    answer = catalogs.same(query)
    assert (len(answer.rows), answer.scans, answer.warnings) == (30, [], [])
    assert "left to Spark, because it is encrypted" in catalogs.text_of(
        "tests.formats.in_session:explained", query
    )
    for statement in (
        "DELETE FROM hive.db.secret WHERE id = 105",
        "MERGE INTO hive.db.secret t USING (SELECT 7L id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    ):
        assert catalogs.sql(statement).warnings == []
    assert catalogs.same("SELECT count(*), min(id) FROM hive.db.secret WHERE id > 6").rows == [
        "(191, 8)"
    ]
