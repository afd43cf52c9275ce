"""Indexes of Delta and Iceberg tables, in addition to what these formats record. See also
`test_iceberg_index` and `test_mapped_index`.

The name of a test says what could go wrong.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.formats.tables import united
from tests.launch.statements import OFF, Statements

pytestmark = pytest.mark.spark

FORMATS = ["delta", "iceberg"]


def created(formats: Statements, name: str, using: str, clause: str = "") -> str:
    """Create a table of 5 files whose keys spread over all of them; return its name."""
    name = f"ice.db.{name}" if using == "iceberg" else name
    formats.sql(f"DROP TABLE IF EXISTS {name}{' PURGE' if using == 'iceberg' else ''}")
    formats.sql(f"CREATE TABLE {name} USING {using} {clause} AS {rows(0, 5)}")
    return name


def append(formats: Statements, name: str, first: int, files: int) -> None:
    """Append files of 100 rows each."""
    formats.sql(f"INSERT INTO {name} {rows(first, files)}")


def rows(first: int, files: int) -> str:
    return (
        f"SELECT /*+ REPARTITION_BY_RANGE({files}, id) */ id, id * 7919 % 1000 key, "
        "element_at(array('aa', 'bb', 'cc'), CAST(id DIV 200 % 3 + 1 AS INT)) s "
        f"FROM range({first * 100}, {(first + files) * 100})"
    )


def deletes(using: str) -> str:
    """Return the clause with which deletes keep the files."""
    if using == "delta":
        return "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    return "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"


@pytest.fixture
def folder(formats: Statements) -> Path:
    """The folder with the tables, and with the cache."""
    (cache,) = formats.sql("SET spark.tamis.cache.location").rows
    return Path(cache.rpartition(", '")[2].rstrip("')")).parent


@pytest.mark.parametrize("using", FORMATS)
def test_bloom_filters_and_expressions_prune(formats: Statements, using: str) -> None:
    name = created(formats, "bloom", using)
    query = f"SELECT * FROM {name} WHERE key = 750"
    assert formats.same(query).kept == [5]
    of_soundex = f"SELECT * FROM {name} WHERE SOUNDEX(S) = 'B000'"
    no_values = {"spark.tamis.evaluateValues.enabled": "false"}
    before = formats.same(of_soundex, **no_values)
    assert before.kept == [5]
    fixes = [(each["reason"] or {}).get("fix") or "" for each in before.scans[0]["conjuncts"]]
    assert [each for each in fixes if "tamis.index(spark, " in each and name in each], fixes
    text = formats.index("build", name, columns={"key": "bloom"}, expressions=["soundex(s)"]).text
    assert text == f"tamis.index(spark, '{name}')"
    assert formats.same(query).kept[0] <= 2
    assert formats.same(of_soundex, **no_values).kept == [2]
    assert formats.same(f"SELECT * FROM {name} WHERE id + 1 > 450").kept == [1]
    assert formats.same(f"SELECT count(*), min(key), max(s) FROM {name}")
    described = formats.index("describe", name).text
    assert "bloom" in described
    assert "stale" not in described


@pytest.mark.parametrize("using", FORMATS)
def test_an_index_is_built_over_several_calls_and_dropped(formats: Statements, using: str) -> None:
    name = created(formats, "added", using)
    formats.index("build", name)
    formats.index("add", name, columns={"key": "values"})
    assert formats.same(f"SELECT * FROM {name} WHERE key = 750").kept == [1]
    formats.index("drop", name)
    assert formats.same(f"SELECT * FROM {name} WHERE key = 750").kept == [5]


@pytest.mark.parametrize("using", FORMATS)
def test_refresh_reads_only_new_files(formats: Statements, folder: Path, using: str) -> None:
    name = created(formats, "grown", using)
    formats.index("build", name, columns={"key": "values"})
    query = f"SELECT * FROM {name} WHERE key = 750"
    old = first_file(directory_of(folder, using, "grown"))
    append(formats, name, 5, 2)
    assert formats.same(query).kept == [3]
    content = old.read_bytes()
    try:
        old.write_bytes(b"x" * len(content))  # a file that the index knows is not read again
        formats.index("refresh", name)
    finally:
        old.write_bytes(content)
    assert formats.same(query).kept == [1]
    assert formats.same(f"SELECT * FROM {name} WHERE key = 7919 * 650 % 1000").kept == [1]


def first_file(directory: Path) -> Path:
    """Return the data file that has the row with the id 0."""
    (found,) = [
        path
        for path in directory.rglob("*.parquet")
        if 0 in pq.read_table(path, columns=["id"]).column("id").to_pylist()
    ]
    return found


def directory_of(folder: Path, using: str, name: str) -> Path:
    """Return the directory of a table."""
    (directory,) = (folder / ("warehouse" if using == "delta" else "iceberg")).rglob(name)
    return directory


@pytest.mark.parametrize("using", FORMATS)
def test_deleted_rows_stay_deleted(formats: Statements, using: str) -> None:
    name = created(formats, "shrunk", using, deletes(using))
    formats.index("build", name, columns={"key": "values"}, expressions=["id % 100"])
    formats.sql(f"DELETE FROM {name} WHERE id IN (0, 99, 105)")
    queries = [
        "SELECT count(*), min(id), max(id), min(key), max(key) FROM {t}",
        "SELECT count(*), min(id), max(id), min(s) FROM {t} WHERE id + 0 < 200",
        "SELECT count(*), max(id) FROM {t} WHERE id + 0 < 100",
        "SELECT count(*) FROM {t} WHERE key >= 0",
        "SELECT count(key), count(s) FROM {t} WHERE id + 0 < 200",
        "SELECT * FROM {t} ORDER BY id LIMIT 2",
        "SELECT * FROM {t} ORDER BY id DESC LIMIT 2",
        "SELECT * FROM {t} WHERE key = 0",
        "SELECT * FROM {t} WHERE id % 100 = 99 AND id + 0 < 300",
        "SELECT * FROM {t} WHERE id + 0 < 200 AND id NOT IN (SELECT id FROM {t} WHERE key = 750)",
    ]
    united_queries = united(queries, name)
    expected = formats.sql(united_queries, **OFF).rows
    for refreshed in (False, True):
        if refreshed:
            formats.index("build", name, columns={"key": "values"}, expressions=["id % 100"])
        assert formats.sql(united_queries).rows == expected
        assert formats.same(f"SELECT * FROM {name} WHERE key = 7919 * 107 % 1000").kept == [1]
        assert len(formats.sql(f"SELECT * FROM {name} WHERE id + 0 < 200 LIMIT 198").rows) == 197


@pytest.mark.parametrize("using", FORMATS)
def test_rewritten_files_are_others(formats: Statements, using: str) -> None:
    name = created(formats, "rewritten", using)
    formats.index("build", name, columns={"key": "values"})
    formats.sql(f"UPDATE {name} SET key = -1 WHERE id = 150")
    assert len(formats.same(f"SELECT * FROM {name} WHERE key = -1").rows) == 1
    assert formats.same(f"SELECT * FROM {name} WHERE key = 7919 * 150 % 1000").rows == []
    formats.index("refresh", name)
    assert formats.same(f"SELECT * FROM {name} WHERE key = -1").kept == [1]


@pytest.mark.parametrize("using", FORMATS)
def test_another_table_of_the_same_name(formats: Statements, using: str) -> None:
    name = created(formats, "recreated", using)
    formats.index("build", name, columns={"key": "values"})
    formats.sql(f"DROP TABLE {name}{' PURGE' if using == 'iceberg' else ''}")
    formats.sql(f"CREATE TABLE {name} (key BIGINT, id BIGINT, s STRING) USING {using}")
    formats.sql(f"INSERT INTO {name} SELECT id * 7919 % 1000 + 500, id, 'x' FROM range(500)")
    assert len(formats.same(f"SELECT * FROM {name} WHERE key = 1400").rows) == 1
    assert formats.same(f"SELECT * FROM {name} WHERE key = 750").rows == []
    formats.index("refresh", name)
    assert len(formats.same(f"SELECT * FROM {name} WHERE key = 1400").rows) == 1


@pytest.mark.parametrize("using", FORMATS)
def test_partitions(formats: Statements, using: str) -> None:
    name = created(formats, "partitioned", using, "PARTITIONED BY (s)")
    formats.sql(f"INSERT INTO {name} VALUES (1000, 1000, NULL), (NULL, NULL, 'd/e f')")
    formats.index("build", name, columns={"key": "bloom"}, expressions=["concat(key % 2, 'x')"])
    queries = []
    for where in [
        "key = 750",
        "key = 750 AND s = 'aa'",
        "s = 'd/e f'",
        "s IS NULL",
        "concat(key % 2, 'x') = '1x'",
        "NOT (concat(key % 2, 'x') = '1x')",
        "key IS NULL",
    ]:
        queries.append(f"SELECT * FROM {{t}} WHERE {where}")
        queries.append(f"SELECT s, count(*) FROM {{t}} WHERE {where} GROUP BY s")
    formats.same(united(queries, name))
    assert formats.same(f"SELECT * FROM {name} WHERE key = 1000").kept[0] <= 2


@pytest.mark.parametrize("using", FORMATS)
def test_time_travel_to_a_version_that_the_index_does_not_know(
    formats: Statements, using: str
) -> None:
    name = created(formats, "travel", using)
    if using == "iceberg":
        (row,) = formats.sql(f"SELECT snapshot_id FROM {name}.snapshots").rows
        before = row.strip("(,)")
    else:
        before = "0"
    formats.sql(f"UPDATE {name} SET key = -1 WHERE id >= 400")
    formats.index("build", name, columns={"key": "values"})
    query = f"SELECT * FROM {name} VERSION AS OF {before} WHERE key = 7919 * 450 % 1000"
    assert len(formats.same(query).rows) == 1
    assert formats.same(f"SELECT * FROM {name} WHERE key = -1").kept == [1]


@pytest.mark.parametrize("using", FORMATS)
def test_nothing_is_written_into_the_directory_of_the_table(
    formats: Statements, folder: Path, using: str
) -> None:
    name = created(formats, "untouched", using)
    directory = directory_of(folder, using, "untouched")
    before = sorted(directory.rglob("*"))
    formats.index("build", name, columns={"key": "values"})
    formats.index("refresh", name)
    assert formats.same(f"SELECT * FROM {name} WHERE key = 750").kept == [1]
    assert sorted(directory.rglob("*")) == before


@pytest.mark.parametrize("using", FORMATS)
def test_an_index_at_another_location(formats: Statements, tmp_path: Path, using: str) -> None:
    name = created(formats, "elsewhere", using)
    confs = {"spark.tamis.index.location": f"file:{tmp_path}"}
    formats.index("build", name, confs, columns={"key": "values"})
    query = f"SELECT * FROM {name} WHERE key = 750"
    assert formats.same(query).kept == [5]
    assert formats.same(query, **confs).kept == [1]
    other_case = formats.same(query, **confs, **{"spark.sql.caseSensitive": "true"})
    assert other_case.kept == [5]
    assert [each for each in other_case.warnings if "caseSensitive" in each]


def test_a_path_of_delta(formats: Statements, folder: Path) -> None:
    name = created(formats, "by_path", "delta")
    directory = directory_of(folder, "delta", "by_path")
    formats.index("build", str(directory), columns={"key": "values"})
    assert formats.same(f"SELECT * FROM delta.`{directory}` WHERE key = 750").kept == [1]
    assert formats.same(f"SELECT * FROM {name} WHERE key = 750").kept == [1]
    # the same directory as plain Parquet
    formats.same(f"SELECT * FROM parquet.`{directory}` WHERE key = 750")


def test_type_widening_is_refused(formats: Statements) -> None:
    """Files may hold other types than an index would record."""
    clause = "USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
    formats.sql(
        f"CREATE OR REPLACE TABLE widening {clause} AS SELECT CAST(id AS INT) id FROM range(9)"
    )
    with pytest.raises(AssertionError, match=r"StatisticsIndexError.*only Delta's own reader"):
        formats.index("build", "widening")


def grouped(formats: Statements, name: str, clause: str, key: str = "id") -> None:
    """Write a table of Delta, with two files of several row groups, and 2000 values of the key."""
    formats.sql(f"DROP TABLE IF EXISTS {name}")
    formats.sql(f"CREATE TABLE {name} (id BIGINT, s STRING) USING delta {clause}")
    if key != "id":
        formats.sql(f"ALTER TABLE {name} RENAME COLUMN id TO {key}")
    small = {
        "parquet.block.size": "4096",
        "parquet.block.size.row.check.min": "10",
        "parquet.page.size.row.check.min": "10",
    }
    for start in (0, 1000):
        values = f"SELECT /*+ COALESCE(1) */ id, sha2(string(id), 512) FROM range({start}, {start} + 1000)"
        formats.sql(f"INSERT INTO {name} {values}", **small)


def test_row_groups_of_delta(formats: Statements) -> None:
    grouped(formats, "grouped", deletes("delta"))
    formats.index("build", "grouped")
    query = "SELECT * FROM grouped WHERE id = 5"
    (scan,) = formats.same(query).scans
    assert scan["row_groups_kept"] == 1
    formats.sql("DELETE FROM grouped WHERE id IN (5, 6)")
    by_positions = {"spark.databricks.delta.deletionVectors.useMetadataRowIndex": "false"}
    for place in ("id = 7", "id BETWEEN 495 AND 505", "id = 998"):
        deleted = f"SELECT * FROM grouped WHERE {place}"
        (scan,) = formats.same(deleted).scans
        assert 0 < scan["row_groups_kept"] <= 2, place
        (scan,) = formats.same(deleted, **by_positions).scans
        assert scan["row_groups_kept"] is None
    for other in [
        query,
        "SELECT * FROM grouped WHERE id = 1005",
        "SELECT count(*), min(id) FROM grouped WHERE id BETWEEN 5 AND 1005",
        "SELECT * FROM grouped WHERE id > 3 ORDER BY id LIMIT 3",
        "SELECT g.id FROM grouped g JOIN (SELECT explode(array(5, 6, 1006)) i) ON g.id = i",
    ]:
        formats.same(other)
    assert len(formats.sql("SELECT * FROM grouped WHERE id < 10 LIMIT 9").rows) == 8


def test_times_of_files_do_not_matter(formats: Statements, folder: Path) -> None:
    name = created(formats, "touched", "delta")
    formats.index("build", name, columns={"key": "values"})
    for path in directory_of(folder, "delta", "touched").rglob("*.parquet"):
        os.utime(path, (1, 1))
    assert formats.same(f"SELECT * FROM {name} WHERE key = 750").kept == [1]
    formats.index("build", name, columns={"key": "bloom"})
    assert formats.same(f"SELECT * FROM {name} WHERE key = 750 AND id >= 0").kept[0] <= 2


@pytest.mark.parametrize("using", ["delta", "iceberg"])
def test_recorded_aggregates_of_files_without_deletes(formats: Statements, using: str) -> None:
    name = created(formats, "aggregated", using, deletes(using))
    formats.index("build", name, aggregates=["sum(key)", "count(*)"], by=["s"])
    queries = [
        f"SELECT s, sum(key), avg(key), count(*) FROM {name} GROUP BY s",
        f"SELECT sum(key) FROM {name} WHERE id >= 100",
        f"SELECT count(*) FROM {name} WHERE s = 'bb'",
    ]
    for query in queries:
        assert formats.same(query).kept == []
    append(formats, name, 5, 1)
    assert formats.same(queries[0]).kept == [1]
    formats.index("refresh", name)
    assert formats.same(queries[0]).kept == []
    # the aggregates count the rows that were written
    for where in ("id = 150", "s = 'cc'"):
        formats.sql(f"DELETE FROM {name} WHERE {where}")
        for query in queries:
            formats.same(query)
