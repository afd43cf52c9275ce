"""Indexes of Iceberg tables whose columns, deletes and files change. See also `test_index`.

The name of a test says what could go wrong.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.formats.tables import united
from tests.formats.test_index import append, created, folder
from tests.launch.statements import OFF, Answer, Statements

pytestmark = pytest.mark.spark

__all__ = ["folder"]

VALUES = {"columns": {"key": "values"}}
PROPERTIES = "TBLPROPERTIES ('format-version' = '{}', 'write.delete.mode' = 'merge-on-read')"


def key_of(row: int) -> int:
    """Return the key of the row with this id."""
    return row * 7919 % 1000


def snapshot_of(formats: Statements, name: str) -> str:
    """Return the id of the current snapshot."""
    (row,) = formats.sql(
        f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at DESC LIMIT 1"
    ).rows
    return row.strip("(,)")


def found(formats: Statements, name: str, where: str) -> Answer:
    return formats.same(f"SELECT * FROM {name} WHERE {where}")


@pytest.mark.parametrize("version", [2, 3])
def test_the_index_describes_rows_that_a_delete_hides(formats: Statements, version: int) -> None:
    """A query of an older snapshot reads them."""
    name = created(formats, f"hidden{version}", "iceberg", PROPERTIES.format(version))
    before = snapshot_of(formats, name)
    formats.sql(f"DELETE FROM {name} WHERE id BETWEEN 100 AND 198")
    formats.index("build", name, columns={"key": "values", "id": "bounds"})
    assert found(formats, name, f"key = {key_of(150)}").rows == []
    old = formats.same(
        f"SELECT * FROM {name} VERSION AS OF {before} WHERE key = {key_of(150)} AND id + 0 > 1"
    )
    assert len(old.rows) == 1
    assert old.kept == [1]
    assert found(formats, name, f"key = {key_of(199)}").kept == [1]


def test_deletes_after_the_build(formats: Statements) -> None:
    name = created(formats, "later", "iceberg", PROPERTIES.format(2))
    formats.index("build", name, columns={"key": ["values", "bounds"]}, expressions=["key % 10"])
    formats.sql(f"DELETE FROM {name} WHERE key = {key_of(120)}")
    assert found(formats, name, f"key = {key_of(120)}").rows == []
    for query in (
        f"SELECT count(*), min(key), max(key) FROM {name} WHERE key + 0 >= 0",
        f"SELECT count(*) FROM {name} WHERE id + 0 BETWEEN 100 AND 199",
        f"SELECT * FROM {name} ORDER BY key DESC LIMIT 3",
    ):
        formats.same(query)


def test_columns_that_exchange_their_names(formats: Statements) -> None:
    name = created(formats, "exchanged", "iceberg")
    formats.index(
        "build", name, columns={"key": "values"}, expressions=["soundex(s)", "key % 1000"]
    )
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN id TO old")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN key TO id")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN old TO key")
    assert found(formats, name, "id = 750").kept == [1]
    for _ in ("index of the old names", "refreshed, by name"):
        assert len(found(formats, name, "id = 750").rows) == 1
        assert len(found(formats, name, "key = 499").rows) == 1
        assert found(formats, name, "soundex(s) = 'B000'").kept == [2]
        # this expression computes something else than the one that was recorded
        assert len(found(formats, name, "key % 1000 = 499").rows) == 1
        formats.index("refresh", name)


def test_an_expression_over_a_renamed_column_is_described_as_unused(formats: Statements) -> None:
    name = created(formats, "described", "iceberg")
    formats.index("build", name, columns={"key": "values"}, expressions=["soundex(s)"])
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN s TO t")
    query = f"SELECT * FROM {name} WHERE soundex(t) = 'B000'"
    assert formats.same(query, **{"spark.tamis.evaluateValues.enabled": "false"}).kept == [5]
    assert found(formats, name, "key = 750").kept == [1]
    text = formats.index("describe", name).text
    assert (
        f'columns have changed since the build: soundex(s). To record these again, run: tamis.index(spark, "{name}").refresh()'
        in text
    )


def test_a_column_that_was_dropped_and_added_again(formats: Statements) -> None:
    name = created(formats, "again", "iceberg")
    formats.index("build", name, columns={"key": ["values", "bloom"]}, expressions=["key + 1"])
    formats.sql(f"ALTER TABLE {name} DROP COLUMN key")
    formats.sql(f"ALTER TABLE {name} ADD COLUMN key BIGINT")
    formats.sql(f"INSERT INTO {name} VALUES (1000, 'dd', 750)")
    for _ in ("index of the old column", "refreshed"):
        assert len(found(formats, name, "key = 750").rows) == 1
        assert len(found(formats, name, "key IS NULL").rows) == 500
        assert len(found(formats, name, "key + 1 = 751").rows) == 1
        formats.index("refresh", name)


def test_promoted_types(formats: Statements) -> None:
    name = "ice.db.promoted"
    formats.sql(f"DROP TABLE IF EXISTS {name}")
    formats.sql(f"CREATE TABLE {name} (i INT, f FLOAT, d DECIMAL(6,2), p STRING) USING iceberg")
    for start in (0, 1):
        formats.sql(
            f"INSERT INTO {name} SELECT CAST(id * 7919 % 1000 AS INT), CAST(id / 3 AS FLOAT), "
            f"CAST(id AS DECIMAL(6,2)), 'p' FROM range({start * 100}, {start * 100 + 100})"
        )
    columns = {"i": ["values", "bloom"], "f": "bounds", "d": ["values"]}
    formats.index("build", name, columns=columns, expressions=["i % 7", "f + 1"])
    formats.sql(f"ALTER TABLE {name} ALTER COLUMN i TYPE BIGINT")
    formats.sql(f"ALTER TABLE {name} ALTER COLUMN f TYPE DOUBLE")
    formats.sql(f"ALTER TABLE {name} ALTER COLUMN d TYPE DECIMAL(9,2)")
    formats.sql(f"INSERT INTO {name} VALUES (5000000000, 1e300, 1234567.25, 'q')")
    queries = []
    for where in (
        "i = 750",
        "i = 5000000000",
        "i % 7 = 1",
        "f > CAST(33.1 AS FLOAT)",
        "f = CAST(1 / 3 AS FLOAT)",
        "f + 1 > 1e10",
        "d = 150.00",
        "d > 999999.99",
        "NOT (i = 750)",
    ):
        queries.append(f"SELECT * FROM {{t}} WHERE {where}")
        queries.append(f"SELECT count(*), min(i), max(f), min(d) FROM {{t}} WHERE {where}")
    all_queries = united(queries, name)
    expected = formats.sql(all_queries, **OFF).rows
    for _ in ("index of the old types", "refreshed"):
        assert formats.sql(all_queries).rows == expected
        formats.index("refresh", name)
    assert formats.sql(all_queries).rows == expected
    assert found(formats, name, "d = 150.00").kept == [1]


def test_files_without_field_ids_under_another_name_mapping(
    formats: Statements, tmp_path: Path
) -> None:
    name = added(formats, "mapped", tmp_path / "files")
    formats.index("build", name, columns={"a": "values", "b": "values"}, expressions=["a % 10"])
    assert found(formats, name, "a = 7").kept == [0]
    assert found(formats, name, "b = 8").kept == [0]
    mapping = json.dumps([{"field-id": 1, "names": ["b"]}, {"field-id": 2, "names": ["a"]}])
    formats.sql(
        f"ALTER TABLE {name} SET TBLPROPERTIES ('schema.name-mapping.default' = '{mapping}')"
    )
    for _ in ("index of the old mapping", "refreshed"):
        assert len(found(formats, name, "a = 7").rows) == 1
        assert len(found(formats, name, "b = 8").rows) == 1
        assert len(found(formats, name, "a % 10 = 7").rows) == 20
        formats.index("refresh", name)
    assert found(formats, name, "a = 8").kept == [0]
    formats.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('schema.name-mapping.default')")
    answer = found(formats, name, "a = 8")
    assert len(answer.rows) == 1
    assert [each for each in answer.warnings if "name-mapping" in each]


def added(formats: Statements, name: str, files: Path, clause: str = "") -> str:
    """Create a table over a Parquet file that Spark has written.

    Its columns have the same bounds. In between, those of `a` are even, and those of `b` are odd.
    """
    name = f"ice.db.{name}"
    formats.sql(f"DROP TABLE IF EXISTS {name}")
    if not files.exists():
        formats.sql(
            "CREATE OR REPLACE TEMPORARY VIEW source AS SELECT /*+ COALESCE(1) */ id * 2 a, "
            "id * 2 + IF(id % 100 = 0, 0, 1) b FROM range(101)"
        )
        formats.sql(f"INSERT OVERWRITE DIRECTORY 'file:{files}' USING parquet TABLE source")
    formats.sql(f"CREATE TABLE {name} (a BIGINT, b BIGINT) USING iceberg {clause}")
    formats.sql(
        f"CALL ice.system.add_files(table => '{name}', source_table => '`parquet`.`file:{files}`')"
    )
    return name


def test_another_table_with_the_same_files(formats: Statements, tmp_path: Path) -> None:
    name = added(formats, "same_files", tmp_path / "files")
    formats.index("build", name, columns={"a": "values"})
    assert found(formats, name, "a = 7").kept == [0]
    formats.sql(f"DROP TABLE {name}")
    formats.sql(f"CREATE TABLE {name} (b BIGINT, a BIGINT) USING iceberg")
    formats.sql(
        f"CALL ice.system.add_files(table => '{name}', "
        f"source_table => '`parquet`.`file:{tmp_path / 'files'}`')"
    )
    answer = found(formats, name, "b = 7")
    assert len(answer.rows) == 1
    assert found(formats, name, "a = 7").kept == [1]
    assert [each for each in answer.warnings if "another table" in each]
    formats.index("refresh", name)
    assert found(formats, name, "a = 7").kept == [0]
    assert len(found(formats, name, "b = 7").rows) == 1


def test_partition_values_from_the_metadata(formats: Statements, tmp_path: Path) -> None:
    """Files of a partitioned directory lack the column, and the same files may be added again."""
    formats.sql("DROP TABLE IF EXISTS ice.db.hive")
    formats.sql("DROP TABLE IF EXISTS hive_source")
    formats.sql(
        f"CREATE TABLE hive_source USING parquet PARTITIONED BY (p) LOCATION 'file:{tmp_path}/t' "
        "AS SELECT id a, id * 7919 % 1000 key, id % 2 p FROM range(200)"
    )
    formats.sql(
        "CREATE TABLE ice.db.hive (a BIGINT, key BIGINT, p BIGINT) USING iceberg PARTITIONED BY (p)"
    )
    formats.sql("CALL ice.system.add_files(table => 'db.hive', source_table => 'hive_source')")
    for what in ({"columns": {"p": "values"}}, {"expressions": ["p + a"]}):
        with pytest.raises(AssertionError, match="by whose values the table is partitioned"):
            formats.index("build", "ice.db.hive", **what)
    formats.index("build", "ice.db.hive", columns={"key": "values"})
    assert found(formats, "ice.db.hive", f"key = {key_of(101)}").kept == [1]
    formats.index("build", "ice.db.hive")
    for where in ("p = 1", "p + a = 3", "p IS NULL", "key = 750 AND p = 0"):
        found(formats, "ice.db.hive", where)


def test_a_column_by_which_the_table_is_partitioned_later(formats: Statements) -> None:
    name = created(formats, "evolved", "iceberg")
    formats.index("build", name, columns={"key": "values"}, expressions=["key + 1"])
    formats.sql(f"ALTER TABLE {name} ADD PARTITION FIELD bucket(4, s)")
    append(formats, name, 5, 1)
    assert found(formats, name, "key = 750").kept[0] <= 4
    formats.sql(f"ALTER TABLE {name} ADD PARTITION FIELD key")
    assert len(found(formats, name, "key = 750").rows) == 1
    assert len(found(formats, name, "key + 1 = 751").rows) == 1
    formats.index("refresh", name)
    assert len(found(formats, name, "key = 750").rows) == 1


def test_orc_and_avro_files_in_one_table(formats: Statements) -> None:
    name = created(formats, "mixed", "iceberg")
    for k, form in enumerate(("orc", "avro")):
        formats.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.format.default' = '{form}')")
        append(formats, name, 5 + k, 1)
    formats.sql(f"INSERT INTO {name} VALUES (NULL, NULL, NULL)")
    formats.index("build", name, columns={"key": ["values", "bloom"], "s": "bounds"})
    for row in (50, 550, 650):
        assert found(formats, name, f"key = {key_of(row)}").kept[0] <= 2
    assert len(found(formats, name, "key IS NULL").rows) == 1
    formats.same(f"SELECT count(*), min(key), max(s) FROM {name} WHERE key >= 0")


def test_branches_rollbacks_and_expired_snapshots(formats: Statements) -> None:
    name = created(formats, "branched", "iceberg", PROPERTIES.format(2))
    first = snapshot_of(formats, name)
    formats.index("build", name, **VALUES)
    formats.sql(f"ALTER TABLE {name} CREATE BRANCH b")
    formats.sql(f"INSERT INTO {name}.branch_b SELECT id, 750, 'bb' FROM range(1000, 1100)")
    formats.sql(f"DELETE FROM {name} WHERE key = 750")
    assert len(found(formats, f"{name}.branch_b", "key = 750").rows) == 101
    assert found(formats, name, "key = 750").rows == []
    formats.index("refresh", f"{name}.branch_b")
    assert len(found(formats, f"{name}.branch_b", "key = 750").rows) == 101
    assert found(formats, name, f"key = {key_of(300)}").kept == [1]
    formats.sql(f"CALL ice.system.rollback_to_snapshot('{name}', {first})")
    assert len(found(formats, name, "key = 750").rows) == 1
    formats.sql(f"UPDATE {name} SET key = -1 WHERE key = 750")
    formats.sql(
        f"CALL ice.system.expire_snapshots(table => '{name}', retain_last => 1, "
        "older_than => TIMESTAMP '2100-01-01 00:00:00')"
    )
    formats.index("refresh", name)
    assert len(found(formats, name, "key = -1").rows) == 1
    assert found(formats, name, "key = 750").rows == []


def test_names_with_dots_and_fields_of_structs(formats: Statements) -> None:
    name = "ice.db.nested"
    formats.sql(f"DROP TABLE IF EXISTS {name}")
    formats.sql(
        f"CREATE TABLE {name} (id BIGINT, `a.b` BIGINT, s STRUCT<x: BIGINT, y: STRUCT<z: STRING>>, "
        "l ARRAY<BIGINT>) USING iceberg"
    )
    formats.sql(
        f"INSERT INTO {name} SELECT /*+ REPARTITION_BY_RANGE(4, id) */ id, id * 7919 % 1000, "
        "named_struct('x', id * 7919 % 1000, 'y', named_struct('z', concat('t', id % 7))), "
        "array(id, id + 1) FROM range(400)"
    )
    formats.index(
        "build", name, columns={"a.b": "values", "s": ["values"]}, expressions=["l[0] % 400"]
    )
    assert found(formats, name, "`a.b` = 750").kept[0] <= 1
    assert found(formats, name, f"s.x = {key_of(250)}").kept == [1]
    assert found(formats, name, "l[0] % 400 = 7").kept == [1]
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN s.x TO w")
    formats.sql(f"ALTER TABLE {name} ADD COLUMN s.x BIGINT")
    assert found(formats, name, f"s.w = {key_of(250)}").kept == [1]
    assert found(formats, name, f"s.x = {key_of(250)}").rows == []
    assert len(found(formats, name, "s.x IS NULL").rows) == 400


def test_default_build_and_columns_that_are_not_described(formats: Statements) -> None:
    name = created(formats, "whole", "iceberg")
    formats.index("build", name)
    assert "id\tbigint" in formats.index("describe", name).text.replace("long", "bigint")
    formats.index("add", name, **VALUES)
    text = formats.index("describe", name).text
    assert "id\t" in text
    assert "values" in text
    formats.index("build", name, **VALUES)
    assert "id\t" not in formats.index("describe", name).text
    formats.index("add", name, expressions=["soundex(s)"])
    assert "id\t" not in formats.index("describe", name).text
    assert found(formats, name, "key = 750").kept == [1]
    assert found(formats, name, "soundex(s) = 'B000'").kept == [2]


def test_a_table_at_a_path(formats: Statements, folder: Path) -> None:
    name = created(formats, "at_path", "iceberg")
    (directory,) = (folder / "iceberg").rglob("at_path")
    formats.index("build", str(directory), **VALUES)
    assert found(formats, name, "key = 750").kept == [1]
    # the same directory as plain Parquet
    formats.same(f"SELECT * FROM parquet.`{directory}/data` WHERE key = 750")


def test_an_index_of_the_same_directory_as_parquet(formats: Statements, folder: Path) -> None:
    name = created(formats, "as_parquet", "iceberg")
    (directory,) = (folder / "iceberg").rglob("as_parquet")
    location = {"spark.tamis.index.location": f"file:{folder}/indexes"}
    formats.index("build", f"{directory}/data", location, **VALUES)
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN id TO old")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN key TO id")
    assert found(formats, name, "id = 750").kept == [5]
    formats.same(f"SELECT * FROM {name} WHERE id = 750", **location)


def test_empty_tables_and_missing_files(formats: Statements, folder: Path) -> None:
    formats.sql("DROP TABLE IF EXISTS ice.db.empty")
    formats.sql("CREATE TABLE ice.db.empty (id BIGINT, key BIGINT, s STRING) USING iceberg")
    formats.index("build", "ice.db.empty", **VALUES)
    append(formats, "ice.db.empty", 0, 3)
    formats.index("refresh", "ice.db.empty")
    assert found(formats, "ice.db.empty", f"key = {key_of(150)}").kept == [1]
    (data,) = (folder / "iceberg").rglob("empty/data")
    kept = data.rename(data.with_name("gone"))
    try:
        with pytest.raises(AssertionError, match="StatisticsIndexError"):
            formats.index("build", "ice.db.empty", **VALUES)
    finally:
        shutil.move(str(kept), str(data))
    assert found(formats, "ice.db.empty", f"key = {key_of(150)}").kept == [1]


def test_maintenance_records_what_queries_lacked(formats: Statements) -> None:
    name = created(formats, "kept_up", "iceberg")
    formats.index("build", name, expressions=["soundex(s)"])
    for row in range(8):
        found(formats, name, f"key = {key_of(row)}")
    append(formats, name, 5, 1)
    text = formats.index("describe", name).text
    assert f'run: tamis.index(spark, "{name}").refresh()' in text
    steps = formats.run({"maintain": name, "confs": {}}).text
    assert "refresh" in steps
    assert "key" in steps
    assert found(formats, name, f"key = {key_of(550)}").kept == [1]
    assert "stale" not in formats.index("describe", name).text


def test_a_file_that_was_added_twice(formats: Statements, tmp_path: Path) -> None:
    name = added(formats, "twice", tmp_path / "files")
    formats.sql(
        f"CALL ice.system.add_files(table => '{name}', check_duplicate_files => false, "
        f"source_table => '`parquet`.`file:{tmp_path / 'files'}`')"
    )
    formats.index("build", name, columns={"a": ["values", "bounds"]})
    assert len(found(formats, name, "a = 8").rows) == 2
    assert found(formats, name, "a = 7").rows == []
    formats.same(f"SELECT count(*), min(a), max(a) FROM {name} WHERE a + 0 >= 0")


def test_aggregates_of_columns_that_exchange_their_names(formats: Statements) -> None:
    name = created(formats, "exchanged_sums", "iceberg")
    aggregates = ["sum(key)", "max(id + 1)", "count(*)"]
    formats.index("build", name, aggregates=aggregates, by=["s"])
    by_name = f"SELECT s, sum(key), max(id + 1) FROM {name} GROUP BY s"
    assert formats.same(by_name).kept == []
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN id TO old")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN key TO id")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN old TO key")
    assert formats.same(f"SELECT s, sum(id) FROM {name} GROUP BY s").kept == []
    for _ in ("index of the old names", "refreshed"):
        formats.same(by_name)
        formats.same(f"SELECT sum(id), sum(key), max(key + 1) FROM {name}")
        formats.index("refresh", name)
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN s TO t")
    assert formats.same(f"SELECT t, count(*) FROM {name} GROUP BY t").kept == []
