"""Indexes of Delta tables with column mapping, whose columns change. See also `test_index`.

The name of a test says what could go wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.tables import united
from tests.formats.test_index import append, created, directory_of, folder, grouped
from tests.launch.statements import OFF, Answer, Statements

pytestmark = pytest.mark.spark

__all__ = ["folder"]

MODES = ["name", "id"]
#: Delta and tamis know values of expressions over few values without an index.
NO_VALUES = {"spark.tamis.evaluateValues.enabled": "false"}


def mapped(mode: str = "name", **more: str) -> str:
    """Return the clause of a table with column mapping and, in one mode, deletion vectors.

    Without them, Delta's format has no `_metadata.row_index`.
    """
    properties = {
        "columnMapping.mode": mode,
        "enableDeletionVectors": str(mode == "id").lower(),
        **more,
    }
    each = ", ".join(f"'delta.{key}' = '{value}'" for key, value in properties.items())
    return f"TBLPROPERTIES ({each})"


def key_of(row: int) -> int:
    """Return the key of the row with this id."""
    return row * 7919 % 1000


def found(formats: Statements, name: str, where: str) -> Answer:
    return formats.same(f"SELECT * FROM {name} WHERE {where}", **NO_VALUES)


def last_version(formats: Statements, name: str) -> str:
    return formats.sql(f"DESCRIBE HISTORY {name} LIMIT 1").rows[0].partition(",")[0].strip("(")


def swap(formats: Statements, name: str, one: str, other: str) -> None:
    """Let two columns exchange their names."""
    for before, after in ((one, "between"), (other, one), ("between", other)):
        formats.sql(f"ALTER TABLE {name} RENAME COLUMN {before} TO {after}")


@pytest.mark.parametrize("mode", ["name"])
def test_an_index_lives_as_one_of_another_table(
    formats: Statements, folder: Path, mode: str
) -> None:
    name = created(formats, f"mapped_{mode}", "delta", mapped(mode))
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN key TO user")
    directory = directory_of(folder, "delta", name)
    before = sorted(directory.rglob("*"))
    assert found(formats, name, "user = 750").kept == [5]
    formats.index(
        "build",
        name,
        columns={"user": "bloom"},
        expressions=["soundex(s)"],
        predicates=["s LIKE '%b'"],
    )
    assert found(formats, name, "user = 750").kept[0] <= 2
    assert found(formats, name, "SOUNDEX(S) = 'B000'").kept == [2]
    assert found(formats, name, "s LIKE '%b'").kept == [2]
    assert found(formats, name, "id + 1 > 450").kept == [1]
    formats.same(f"SELECT count(*), min(user), max(s) FROM {name}")
    formats.index("add", name, columns={"user": "values"})
    assert found(formats, name, "user = 750").kept == [1]
    text = formats.index("describe", name).text
    assert "user" in text
    assert "5 row groups" in text
    assert "not used" not in text
    assert sorted(directory.rglob("*")) == before
    append(formats, name, 5, 2)
    assert found(formats, name, "user = 750").kept == [3]
    assert "stale" in formats.index("describe", name).text
    formats.index("refresh", name)
    assert found(formats, name, "user = 750").kept == [1]
    assert found(formats, name, f"user = {key_of(650)}").kept == [1]
    formats.index("drop", name)
    assert found(formats, name, "user = 750").kept == [7]


@pytest.mark.parametrize("mode", MODES)
def test_columns_that_exchange_their_names(formats: Statements, mode: str) -> None:
    name = created(formats, f"exchanged_{mode}", "delta", mapped(mode))
    formats.index(
        "build",
        name,
        columns={"key": ["values", "ndv"]},
        expressions=["soundex(s)", "key % 1000"],
        predicates=["key % 2 = 0"],
        aggregates=["sum(key)", "max(id + 1)", "count(*)"],
        by=["s"],
        sorted_by=["id"],
    )
    swap(formats, name, "id", "key")
    assert found(formats, name, "id = 750").kept == [1]
    text = formats.index("describe", name).text
    assert "not used, because columns have changed since the build: key % 1000" in text
    assert formats.same(f"SELECT s, sum(id) FROM {name} GROUP BY s").kept == []
    queries = united(
        [
            "SELECT * FROM {t} WHERE id = 750",
            "SELECT * FROM {t} WHERE key = 499",
            "SELECT * FROM {t} WHERE key % 1000 = 499",
            "SELECT * FROM {t} WHERE key % 2 = 0 AND key < 10",
            "SELECT * FROM {t} WHERE NOT (key % 2 = 0)",
            "SELECT s, sum(key), max(id + 1) FROM {t} GROUP BY s",
            "SELECT sum(id), sum(key), max(key + 1) FROM {t}",
            "SELECT count(*), min(id), max(id), min(key), max(key) FROM {t}",
            "SELECT id, key, rank() OVER (PARTITION BY id ORDER BY key) FROM {t}",
            "SELECT * FROM {t} ORDER BY id DESC LIMIT 3",
            "SELECT * FROM {t} ORDER BY key DESC LIMIT 3",
        ],
        name,
    )
    expected = formats.sql(queries, **OFF).rows
    for _ in ("index of the old names", "refreshed, by name"):
        assert formats.sql(queries, **NO_VALUES).rows == expected
        assert len(found(formats, name, "id = 750").rows) == 1
        assert found(formats, name, "soundex(s) = 'B000'").kept == [2]
        formats.index("refresh", name)
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN s TO t")
    assert found(formats, name, "soundex(t) = 'B000'").kept == [5]
    assert formats.same(f"SELECT t, count(*) FROM {name} GROUP BY t").kept == []


@pytest.mark.parametrize("mode", MODES)
def test_a_column_that_was_dropped_and_added_again(formats: Statements, mode: str) -> None:
    name = created(formats, f"again_{mode}", "delta", mapped(mode))
    formats.index(
        "build",
        name,
        columns={"key": ["values", "bloom"]},
        expressions=["key + 1"],
        aggregates=["max(key)"],
        by=["s"],
    )
    formats.sql(f"ALTER TABLE {name} DROP COLUMN key")
    added = "key" if mode == "name" else "KEY"
    formats.sql(f"ALTER TABLE {name} ADD COLUMN {added} BIGINT")
    for _ in ("index of the old column", "refreshed"):
        assert found(formats, name, "key = 750").rows == []
        assert len(found(formats, name, "key IS NULL").rows) == 500
        formats.same(f"SELECT s, max(key), count(key) FROM {name} GROUP BY s")
        formats.same(f"SELECT max(key), min(key) FROM {name}")
        formats.index("refresh", name)
    assert found(formats, name, "key > 0").kept == [0]  # the files are known to lack it
    formats.sql(f"INSERT INTO {name} VALUES (1000, 'dd', 750)")
    for _ in ("index without the file", "refreshed"):
        assert len(found(formats, name, "key = 750").rows) == 1
        assert len(found(formats, name, "key + 1 = 751").rows) == 1
        assert len(found(formats, name, "key IS NULL").rows) == 500
        formats.index("refresh", name)
    assert found(formats, name, "key > 0").kept == [1]


def test_mapping_that_is_turned_on_after_the_build(formats: Statements) -> None:
    name = created(formats, "mapped_later", "delta")
    formats.index("build", name, columns={"key": "values"}, expressions=["soundex(s)", "id % 100"])
    formats.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    assert found(formats, name, "key = 750").kept == [1]
    assert "not used" not in formats.index("describe", name).text
    swap(formats, name, "id", "key")
    append(formats, name, 5, 1)
    assert "columns have changed since the build: id % 100" in formats.index("describe", name).text
    assert found(formats, name, "id = 750").kept == [2]
    for count in (3, 2):
        assert len(found(formats, name, "id = 750").rows) == 1
        assert len(found(formats, name, "key = 450").rows) == 1
        assert len(found(formats, name, "id % 100 = 99").rows) == 6
        assert found(formats, name, "soundex(s) = 'B000'").kept == [count]
        # a version whose columns are not mapped
        old = f"SELECT * FROM {name} VERSION AS OF 0 WHERE key = {key_of(450)}"
        assert len(formats.same(old).rows) == 1
        formats.index("refresh", name)


@pytest.mark.parametrize("mode", MODES)
def test_row_groups_with_and_without_deleted_rows(formats: Statements, mode: str) -> None:
    name = f"grouped_{mode}"
    grouped(formats, name, mapped(mode), key="old")
    formats.index("build", name, expressions=["old % 1000"])
    (scan,) = found(formats, name, "old % 1000 = 700").scans
    assert scan["row_groups_kept"] == 2
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN old TO id")
    (scan,) = found(formats, name, "id = 5").scans
    assert scan["row_groups_kept"] == 1
    formats.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    formats.sql(f"DELETE FROM {name} WHERE id IN (5, 6)")
    for place in ("id = 7", "id BETWEEN 495 AND 505", "id = 998"):
        (scan,) = found(formats, name, place).scans
        assert 0 < scan["row_groups_kept"] <= 2, place
    queries = [
        "SELECT * FROM {t} WHERE id = 5",
        "SELECT * FROM {t} WHERE id = 1005",
        "SELECT count(*), min(id) FROM {t} WHERE id BETWEEN 5 AND 1005",
        "SELECT * FROM {t} WHERE id > 3 ORDER BY id LIMIT 3",
        "SELECT g.id FROM {t} g JOIN (SELECT explode(array(5, 6, 1006)) i) ON g.id = i",
    ]
    formats.same(united(queries, name))
    assert len(formats.sql(f"SELECT * FROM {name} WHERE id < 10 LIMIT 9").rows) == 8
    # of expressions, by the place of each row
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN id TO old")
    (scan,) = found(formats, name, "old % 1000 = 700").scans
    assert scan["row_groups_kept"] == 2
    (scan,) = found(formats, name, "old % 1000 = 5").scans
    assert scan["row_groups_kept"] == 2


@pytest.mark.parametrize("mode", ["name"])
def test_deleted_rows_are_described_and_stay_deleted(formats: Statements, mode: str) -> None:
    vectors = mapped(mode, enableDeletionVectors="true")
    name = created(formats, f"shrunk_{mode}", "delta", vectors)
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN key TO user")
    before = last_version(formats, name)
    formats.sql(f"DELETE FROM {name} WHERE id IN (0, 99, 105, 150)")
    formats.index("build", name, columns={"user": "values"}, expressions=["id % 100"])
    assert found(formats, name, f"user = {key_of(107)}").kept == [1]
    assert found(formats, name, f"user = {key_of(150)}").rows == []
    old = f"SELECT * FROM {name} VERSION AS OF {before} WHERE user = {key_of(150)}"
    answer = formats.same(old)
    assert len(answer.rows) == 1
    assert answer.kept == [1]
    queries = [
        "SELECT count(*), min(id), max(id), min(user), max(user) FROM {t}",
        "SELECT count(*), min(id), max(id), min(s) FROM {t} WHERE id + 0 < 200",
        "SELECT count(*), max(id) FROM {t} WHERE id + 0 < 100",
        "SELECT count(user), count(s) FROM {t} WHERE id + 0 < 200",
        "SELECT * FROM {t} ORDER BY id LIMIT 2",
        "SELECT * FROM {t} WHERE id % 100 = 99 AND id + 0 < 300",
        "SELECT * FROM {t} WHERE id + 0 < 200 AND id NOT IN (SELECT id FROM {t} WHERE user = 750)",
    ]
    formats.same(united(queries, name))


@pytest.mark.parametrize("mode", ["id"])
def test_structs_arrays_and_unusual_names(formats: Statements, mode: str) -> None:
    name = f"unusual_{mode}"
    formats.sql(f"DROP TABLE IF EXISTS {name}")
    formats.sql(
        f"CREATE TABLE {name} (id BIGINT, `a.b` BIGINT, `c d,``e` BIGINT, "
        "s STRUCT<x: BIGINT, `y.z`: STRUCT<z: STRING>>, l ARRAY<STRUCT<v: BIGINT>>, "
        f"m MAP<STRING, BIGINT>) USING delta {mapped(mode)}"
    )
    formats.sql(
        f"INSERT INTO {name} SELECT /*+ REPARTITION_BY_RANGE(4, id) */ id, id * 7919 % 1000, "
        "id * 7919 % 1000, IF(id % 100 = 3, NULL, named_struct('x', id * 7919 % 1000, 'y.z', "
        "named_struct('z', concat('t', id div 100)))), array(named_struct('v', id)), "
        "map('k', id) FROM range(400)"
    )
    formats.index(
        "build",
        name,
        columns={"a.b": "values", "c d,`e": "bloom", "s": ["values"]},
        expressions=["l[0].v % 400", "soundex(s.`y.z`.z)", "m['k'] % 400"],
    )
    assert found(formats, name, "`a.b` = 750").kept[0] <= 1
    assert found(formats, name, "`c d,``e` = 750").kept[0] <= 2
    assert found(formats, name, f"s.x = {key_of(250)}").kept == [1]
    assert found(formats, name, "s.`y.z`.z = 't1'").kept == [1]
    assert found(formats, name, "l[0].v % 400 = 7").kept == [1]
    assert found(formats, name, "m['k'] % 400 = 7").kept == [1]
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN s.x TO w")
    formats.sql(f"ALTER TABLE {name} ADD COLUMN s.x BIGINT")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN `a.b` TO A")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN l.element.v TO u")
    formats.sql(f"ALTER TABLE {name} ADD COLUMN l.element.v BIGINT")
    for k in range(2):
        assert found(formats, name, f"s.w = {key_of(250)}").kept == [1] if k == 0 else True
        assert found(formats, name, f"s.x = {key_of(250)}").rows == []
        assert len(found(formats, name, "s.x IS NULL").rows) == 400
        assert len(found(formats, name, "s.w IS NULL").rows) == 4
        assert found(formats, name, f"a = {key_of(250)}").kept == [1] if k == 0 else True
        assert found(formats, name, "l[0].v % 400 = 7").rows == []
        assert len(found(formats, name, "l[0].u % 400 = 7").rows) == 1
        formats.sql(f"ALTER TABLE {name} RENAME COLUMN s TO t")
        assert len(found(formats, name, f"t.w = {key_of(250)}").rows) == 1
        formats.sql(f"ALTER TABLE {name} RENAME COLUMN t TO s")
        formats.index("refresh", name)


@pytest.mark.parametrize("mode", ["name"])
def test_partitions(formats: Statements, mode: str) -> None:
    name = created(formats, f"parts_{mode}", "delta", f"PARTITIONED BY (s) {mapped(mode)}")
    formats.sql(f"INSERT INTO {name} VALUES (1000, 1000, NULL), (NULL, NULL, 'd/e f')")
    with pytest.raises(AssertionError, match="StatisticsIndexError"):
        formats.index("build", name, columns={"s": "values"})
    formats.index("build", name, columns={"key": "bloom"}, expressions=["concat(key % 2, 'x')"])
    for columns in (("s", "key"), ("p", "key"), ("key", "s")):
        if columns == ("p", "key"):
            formats.sql(f"ALTER TABLE {name} RENAME COLUMN s TO p")
        if columns == ("key", "s"):  # the partition column gets the name of the data column
            formats.sql(f"ALTER TABLE {name} RENAME COLUMN key TO s")
            formats.sql(f"ALTER TABLE {name} RENAME COLUMN p TO key")
        part, data = columns
        queries = []
        for where in [
            f"{data} = 750",
            f"{data} = 750 AND {part} = 'aa'",
            f"{part} = 'd/e f'",
            f"{part} IS NULL",
            f"concat({data} % 2, 'x') = '1x'",
            f"concat({part} % 2, 'x') = '1x'",
            f"NOT (concat({data} % 2, 'x') = '1x')",
            f"{data} IS NULL",
        ]:
            queries.append(f"SELECT * FROM {{t}} WHERE {where}")
            queries.append(f"SELECT {part}, count(*) FROM {{t}} WHERE {where} GROUP BY {part}")
        formats.same(united(queries, name), **{"spark.sql.ansi.enabled": "false"})
        assert found(formats, name, f"{data} = 1000").kept[0] <= 2


@pytest.mark.parametrize("mode", MODES)
def test_files_without_a_column(formats: Statements, mode: str) -> None:
    name = created(formats, f"widened_{mode}", "delta", mapped(mode))
    formats.sql(f"ALTER TABLE {name} ADD COLUMN (more BIGINT, g STRUCT<h: DOUBLE>)")
    formats.sql(
        f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, id * 7919 % 1000, 'dd', id, named_struct('h', double('NaN')) "
        "FROM range(500, 600)"
    )
    formats.index("build", name, columns={"more": "values"}, expressions=["coalesce(more, -1) + 1"])
    assert found(formats, name, "more + 0 > 0").kept == [1]
    assert found(formats, name, "more = 550").kept == [1]
    assert len(found(formats, name, "more IS NULL").rows) == 500
    assert found(formats, name, "coalesce(more, -1) + 1 = 0").kept == [5]
    assert found(formats, name, "g.h > 5").kept == [1]
    formats.same(f"SELECT count(more), min(more), max(g.h) FROM {name}")


@pytest.mark.parametrize("mode", ["name"])
def test_older_versions_and_restored_ones(formats: Statements, mode: str) -> None:
    name = created(formats, f"versions_{mode}", "delta", mapped(mode))
    formats.index("build", name, columns={"key": "values"}, expressions=["key + 1"])
    swap(formats, name, "id", "key")
    formats.index("refresh", name)
    old = [
        f"SELECT * FROM {{t}} VERSION AS OF 0 WHERE {where}"
        for where in (f"key = {key_of(450)}", f"key + 1 = {key_of(450) + 1}", "id = 450")
    ]
    assert len(formats.same(united([*old, "SELECT * FROM {t} WHERE id = 750"], name)).rows) == 4
    formats.sql(f"RESTORE TABLE {name} TO VERSION AS OF 0")
    for _ in ("index of the other names", "refreshed"):
        now = [query.replace(" VERSION AS OF 0", "") for query in old]
        assert len(formats.same(united([*old, *now], name)).rows) == 6
        formats.index("refresh", name)
    assert found(formats, name, f"key = {key_of(450)}").kept == [1]


@pytest.mark.parametrize("mode", ["name"])
def test_replaced_and_cloned_tables(formats: Statements, mode: str) -> None:
    name = created(formats, f"replaced_{mode}", "delta", mapped(mode))
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN key TO user")
    formats.index("build", name, columns={"user": "values"}, expressions=["user + 1"])
    clone = f"cloned_{mode}"
    formats.sql(f"DROP TABLE IF EXISTS {clone}")
    formats.sql(f"CREATE TABLE {clone} SHALLOW CLONE {name}")
    assert len(found(formats, clone, "user = 750").rows) == 1
    formats.index("build", clone, columns={"user": "values"})
    swap(formats, clone, "id", "user")
    assert found(formats, clone, "id = 750").kept == [1]
    assert found(formats, name, "user = 750").kept == [1]
    formats.sql(
        f"CREATE OR REPLACE TABLE {name} USING delta {mapped(mode)} AS "
        "SELECT id * 7919 % 1000 + 500 id, 'x' s, id user FROM range(500)"
    )
    for _ in ("index of the old columns", "refreshed"):
        assert len(found(formats, name, "id = 1400").rows) == 1
        assert len(found(formats, name, "user = 450").rows) == 1
        assert found(formats, name, "user + 1 = 751").rows == []
        formats.index("refresh", name)
    formats.sql(f"INSERT OVERWRITE {name} SELECT 7, 'y', 8")
    assert len(found(formats, name, "user = 8").rows) == 1
    assert len(found(formats, clone, "id = 750").rows) == 1


@pytest.mark.parametrize("mode", ["id"])
def test_values_that_footers_lack(formats: Statements, mode: str) -> None:
    name = f"gaps_{mode}"
    formats.sql(f"DROP TABLE IF EXISTS {name}")
    formats.sql(f"CREATE TABLE {name} (i BIGINT, f DOUBLE, t TIMESTAMP) USING delta {mapped(mode)}")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN f TO g")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN t TO f")
    int96 = {"spark.sql.parquet.outputTimestampType": "INT96"}
    for start in (0, 100):
        formats.sql(
            f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, id / 3, timestamp_seconds(id * 86400) "
            f"FROM range({start}, {start + 100})",
            **int96,
        )
    formats.index("build", name)
    text = formats.index("describe", name).text
    assert "bounds (footers do not suffice)\tf\t2 / 2" in text
    assert "bounds (footers do not suffice)\tg\t2 / 2" in text
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN g TO h")
    assert found(formats, name, "h > 60").kept == [1]
    assert found(formats, name, "f < DATE'1970-02-01'").kept == [1]
    formats.same(f"SELECT min(h), max(h), min(f), max(f) FROM {name}")


@pytest.mark.parametrize("mode", ["name"])
def test_recorded_orders(formats: Statements, mode: str) -> None:
    name = created(formats, f"ordered_{mode}", "delta", mapped(mode))
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN id TO place")
    formats.index("build", name, sorted_by=["place", "key"])
    assert "order\tplace, key\t5 / 5" in formats.index("describe", name).text
    swap(formats, name, "place", "key")
    text = formats.index("describe", name).text
    assert "not used, because columns have changed since the build: place, place, key" in text


@pytest.mark.parametrize("mode", ["name"])
def test_rows_are_read_under_the_names_of_the_listing(formats: Statements, mode: str) -> None:
    name = created(formats, f"altered_{mode}", "delta", mapped(mode))
    text = formats.text_of("tests.formats.in_session:build_while_names_change", name)
    assert "StatisticsIndexError" in text
    formats.index("build", name, columns={"key": "values"})
    assert found(formats, name, "key = 499").kept == [1]


def test_maintenance_records_what_queries_lacked(formats: Statements) -> None:
    name = created(formats, "kept_up_mapped", "delta", mapped())
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN key TO user")
    formats.index("build", name, expressions=["soundex(s)"])
    for row in range(8):
        found(formats, name, f"user = {key_of(row)}")
    append(formats, name, 5, 1)
    steps = formats.run({"maintain": name, "confs": {}}).text
    assert "refresh" in steps
    assert "user" in steps
    assert found(formats, name, f"user = {key_of(550)}").kept == [1]
    assert "stale" not in formats.index("describe", name).text


def test_a_table_that_is_no_longer_mapped(formats: Statements) -> None:
    name = created(formats, "unmapped", "delta", mapped())
    formats.index("build", name, columns={"key": "values"}, expressions=["key + 1"])
    swap(formats, name, "id", "key")
    formats.index("refresh", name)
    before = last_version(formats, name)
    formats.sql(f"ALTER TABLE {name} DROP FEATURE columnMapping")
    append(formats, name, 5, 1)
    for _ in ("index of the mapped files", "refreshed"):
        assert len(found(formats, name, "id = 750").rows) == 1
        assert len(found(formats, name, "key = 450").rows) == 1
        assert len(found(formats, name, "key + 1 = 451").rows) == 1
        old = f"SELECT * FROM {name} VERSION AS OF {before} WHERE id = 750"
        assert len(formats.same(old).rows) == 1
        formats.index("describe", name)
        formats.index("refresh", name)
    assert found(formats, name, "id = 750").kept == [1]


def test_random_changes_of_columns(formats: Statements, tmp_path: Path) -> None:
    tally = formats.function(
        "tests.formats.random_mapped_tables:run", folder=str(tmp_path), seed=1, count=20
    )
    assert tally["differences"] == []
    assert tally["queries"] >= 40
    assert 0 < tally["files_kept"] < tally["files_total"]
