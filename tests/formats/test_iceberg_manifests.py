"""Manifests of Iceberg that are not opened, because no row of their files passes the filters.

Each commit of these tables adds one manifest. tamis keeps every manifest that it opens in its local
cache, so a cache that was empty before counts them.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.formats.tables import caching_manifests, only, united
from tests.launch.statements import OFF, Answer, Statements

pytestmark = pytest.mark.spark

CACHE = "spark.tamis.cache.location"
COLUMNS = "(id BIGINT, k INT, s STRING, d DATE, t TIMESTAMP)"
#: Rows of a commit: two files of 50 rows, whose ids start with `{n}00`.
ROWS = (
    "SELECT /*+ REPARTITION_BY_RANGE(2, id) */ id, {k} k, concat('text ', id) s, "
    "date_add(DATE'2024-01-01', {n} * 31) d, timestampadd(HOUR, {n} * 24, TIMESTAMP'2024-01-01') t "
    "FROM range({n}00, {n}00 + 100)"
)
#: The commits of a table, and the value of `k` in each.
KEYS = ["0", "1", "2", "3", "NULL", "IF(id % 2 = 0, 5, NULL)"]


class Table:
    """A table with a manifest for each of `KEYS`, and a cache of its own.

    Each commit adds two files, or more if the rows of a file lie in several partitions.
    """

    def __init__(
        self, formats: Statements, folder: Path, name: str, partitioning: str, more: str = ""
    ) -> None:
        self.formats, self.name, self.cache = formats, f"ice.db.{name}", folder / "cache"
        formats.sql(f"DROP TABLE IF EXISTS {self.name} PURGE")
        properties = (
            "'write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true', "
            "'commit.manifest-merge.enabled' = 'false'"
        )
        formats.sql(
            f"CREATE TABLE {self.name} {COLUMNS} USING iceberg PARTITIONED BY ({partitioning}) "
            f"TBLPROPERTIES ({properties}{more})"
        )
        for n, key in enumerate(KEYS):
            self.add(n, key)
        self.files = self.count("files")

    def add(self, n: int, key: str) -> None:
        self.formats.sql(f"INSERT INTO {self.name} {ROWS.format(n=n, k=key)}")

    def count(self, of: str) -> int:
        return len(self.formats.sql(f"SELECT file_path FROM {self.name}.{of}").rows)

    @property
    def opened(self) -> int:
        """The number of manifests that were opened so far."""
        return len(list(self.cache.glob("**/manifest/table.arrow")))

    def same(self, query: str, **confs: str) -> Answer:
        return self.formats.same(
            query.replace("{t}", self.name), **{CACHE: str(self.cache)}, **confs
        )

    def sql(self, query: str, **confs: str) -> Answer:
        return self.formats.sql(
            query.replace("{t}", self.name), **{CACHE: str(self.cache)}, **confs
        )


@pytest.mark.parametrize(
    ("partitioning", "where", "manifests", "files"),
    [
        ("k", "k = 3", 1, 2),
        ("k", "K + 0 = 3 AND id >= 350", 1, 1),
        ("k", "k IN (1, 2) AND s <> 'text 7'", 2, 4),
        ("k", "k IS NULL", 2, 4),
        ("k", "k <=> NULL AND id > 560", 2, 1),
        ("k", "NOT (k = 3 OR k IS NULL)", 4, 8),
        ("k", "k > 100", 0, 0),
        ("k", "id = 320", 6, 1),
        ("days(t)", "t >= TIMESTAMP'2024-01-05 00:00:00' AND id < 450", 2, 1),
        ("months(d)", "year(d) = 2024 AND month(d) = 3", 1, 2),
        ("bucket(64, k)", "k = 2", 1, 2),
        ("truncate(6, s)", "s LIKE 'text 3%'", 2, 3),
        ("k, months(d)", "d < DATE'2024-02-01' AND k = 1", 0, 0),
    ],
)
def test_the_first_query_opens_manifests_that_can_match(
    formats: Statements, tmp_path: Path, partitioning: str, where: str, manifests: int, files: int
) -> None:
    table = Table(formats, tmp_path, "first", partitioning)
    scan = only(table.same(f"SELECT * FROM {{t}} WHERE {where}"))
    assert (scan["files_kept"], scan["files_total"]) == (files, table.files)
    assert table.opened == manifests
    # the same answer as with all manifests opened
    table.same("SELECT * FROM {t}")
    assert table.opened == len(KEYS)
    again = only(table.same(f"SELECT * FROM {{t}} WHERE {where}"))
    assert {each: again[each] for each in SAME} == {each: scan[each] for each in SAME}


SAME = ("files_kept", "files_total", "rows_kept", "rows_total", "bytes_kept", "bytes_total")


def test_later_queries_open_what_they_need_beyond(formats: Statements, tmp_path: Path) -> None:
    table = Table(formats, tmp_path, "later", "k")
    expected = [("k = 1", 1), ("k = 1", 1), ("k = 2", 2), ("k < 3", 3), ("k IN (1, 2)", 3)]
    for where, opened in expected:
        table.same(f"SELECT id FROM {{t}} WHERE {where}")
        assert table.opened == opened, where
    table.same("SELECT count(*), max(s) FROM {t} WHERE id > 120")
    assert table.opened == len(KEYS)
    table.add(6, "6")
    assert only(table.same("SELECT id FROM {t} WHERE k = 6"))["files_total"] == table.files + 2
    assert table.opened == len(KEYS) + 1


def test_manifests_of_other_specs(formats: Statements, tmp_path: Path) -> None:
    table = Table(formats, tmp_path, "evolved", "k")
    formats.sql(f"ALTER TABLE {table.name} DROP PARTITION FIELD k")
    table.add(6, "6")  # may hold any key
    formats.sql(f"ALTER TABLE {table.name} ADD PARTITION FIELD bucket(64, k)")
    formats.sql(f"ALTER TABLE {table.name} RENAME COLUMN k TO key")
    table.add(7, "7")
    formats.sql(f"ALTER TABLE {table.name} DROP COLUMN s")
    formats.sql(f"ALTER TABLE {table.name} ADD COLUMN s INT")
    assert only(table.same("SELECT * FROM {t} WHERE key = 7"))["files_kept"] == 2
    assert table.opened == 2
    assert table.same("SELECT * FROM {t} WHERE key = 1 AND s IS NULL").kept == [2]
    assert table.opened == 3
    assert table.same("SELECT * FROM {t} WHERE s = 1").rows == []
    assert table.opened == 8


@pytest.mark.parametrize("version", [2, 3])
def test_deletes_are_read_from_all_delete_manifests(
    formats: Statements, tmp_path: Path, version: int
) -> None:
    more = f", 'format-version' = '{version}', 'write.delete.mode' = 'merge-on-read'"
    table = Table(formats, tmp_path, f"deletes{version}", "k", more)
    table.sql("DELETE FROM {t} WHERE id IN (101, 102, 203)", **OFF)  # which opens none
    formats.text_of("tests.formats.in_session:delete_equal_rows", table.name, "k", [99])
    for query in (
        "SELECT * FROM {t} WHERE k = 1",
        "SELECT count(*), min(id), max(id) FROM {t} WHERE k = 1",
        "SELECT count(*) FROM {t} WHERE k = 3",
        "SELECT id FROM {t} WHERE k = 2 LIMIT 1000",
    ):
        table.same(query)
    # the manifests of three partitions, and one of each commit of deletes
    assert table.opened == 3 + 2


def test_goals_over_some_manifests(formats: Statements, tmp_path: Path) -> None:
    table = Table(formats, tmp_path, "goals", "k")
    other = Table(formats, tmp_path / "other", "others", "months(d)")
    for query in (
        "SELECT id FROM {t} WHERE k <= 2 ORDER BY id DESC LIMIT 3",
        "SELECT count(*), min(id), max(d), count(k) FROM {t} WHERE k = 1",
        "SELECT k, count(*) FROM {t} WHERE k < 2 GROUP BY k",
        "SELECT count(*) FROM {t} WHERE k = 1 AND id > 130",
        "SELECT a.id, b.s FROM {t} a JOIN {o} b ON a.id = b.id WHERE a.k = 2 AND b.d > DATE'2024-02-15'",
        "SELECT a.id FROM {t} a LEFT JOIN (SELECT * FROM {t} WHERE k = 1) b ON a.id = b.id WHERE a.k = 0",
        "SELECT id FROM {t} WHERE k = 0 UNION ALL SELECT id FROM {t} WHERE k = 1",
        "SELECT id FROM {o} WHERE id IN (SELECT id FROM {t} WHERE k = 1) OR id = 3",
        "SELECT id FROM {t} WHERE k = 0 AND NOT EXISTS (SELECT 1 FROM {o} b WHERE b.id = {t}.id AND d < DATE'2024-03-01')",
        "SELECT (SELECT max(id) FROM {t} WHERE k = 0), (SELECT max(id) FROM {t} WHERE k = 1)",
        "SELECT id FROM {t} WHERE k = 1 AND rand(1) < 2",
        "WITH c AS (SELECT * FROM {t}) SELECT x.id FROM c x JOIN c y ON x.id = y.id WHERE x.k = 1 AND y.id > 140",
    ):
        table.same(query.replace("{o}", other.name))


def test_reports_are_about_all_files(formats: Statements, tmp_path: Path) -> None:
    table = Table(formats, tmp_path, "reports", "k")
    query = f"SELECT * FROM {table.name} WHERE k = 3 AND id < 340"
    files = table.sql(f'SELECT file, kept, decided_by FROM tamis_files("{query}")')
    assert len(files.rows) == table.files
    table = Table(formats, tmp_path / "again", "reports", "k")
    text = formats.text_of("tests.formats.in_session:explained", query, **{CACHE: str(table.cache)})
    assert f"1 of {table.files} files" in text
    assert f"{table.files - 2} of {table.files} files" in text  # pruned by k alone
    assert "are not opened" in text


def test_guards_count_files_of_manifests_that_are_not_opened(
    formats: Statements, tmp_path: Path
) -> None:
    table = Table(formats, tmp_path, "guarded", "k")
    guard = {"spark.tamis.requireFilter": "*"}  # names are those of Spark's own catalog
    assert only(table.same("SELECT * FROM {t} WHERE k = 3", **guard))["files_kept"] == 2
    asserted = {"spark.tamis.assertPruned": "k"}
    assert only(table.same("SELECT * FROM {t} WHERE k = 2", **asserted))["files_kept"] == 2


def test_all_manifests_are_opened_in_the_mode_observe(formats: Statements, tmp_path: Path) -> None:
    table = Table(formats, tmp_path, "observed", "k")
    answer = table.same("SELECT * FROM {t} WHERE k = 3", **{"spark.tamis.mode": "observe"})
    assert table.opened == len(KEYS)
    assert answer.scans[0]["files_kept"] == 2


def manifest_of(table: Table, key: int) -> Path:
    """Return the manifest of the rows with this value of `k`."""
    rows = table.sql("SELECT path, partition_summaries FROM {t}.manifests").rows
    (row,) = [each for each in rows if f"lower_bound='{key}'" in each]
    return Path(row[row.index("/") : row.index(".avro") + 5])


def test_damaged_manifests_matter_where_they_are_needed(
    formats: Statements, tmp_path: Path
) -> None:
    table = Table(formats, tmp_path, "damaged", "k")
    path = manifest_of(table, 2)
    table.name, confs = "cached.db.damaged", caching_manifests(formats)
    needed, other = ("SELECT * FROM {t} WHERE k = " + key for key in "23")
    expected = [table.sql(query, **confs, **OFF).rows for query in (needed, other)]
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert table.sql(other, **confs).rows == expected[1]
    assert table.opened == 1
    answer = table.sql(needed, **confs)
    assert (answer.rows, answer.scans) == (expected[0], [])
    query = needed.replace("{t}", table.name)
    explained = formats.text_of(
        "tests.formats.in_session:explained", query, **confs, **{CACHE: str(table.cache)}
    )
    assert "its manifests could not be read" in explained
    assert path.name in explained


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_commands_open_manifests_of_rows_that_they_can_change(
    formats: Statements, tmp_path: Path, mode: str
) -> None:
    modes = "".join(f", 'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
    counted = []
    for on in ("true", "false"):
        table = Table(formats, tmp_path / on, f"commands_{mode[:4]}", "k", modes)
        confs = {"spark.tamis.enabled": on}
        table.sql("DELETE FROM {t} WHERE k = 1 AND id % 7 = 3", **confs)
        counted.append(table.opened)
        table.sql("UPDATE {t} SET s = 'new' WHERE k = 3 AND id + 0 < 310", **confs)
        merge = (
            "MERGE INTO {t} t USING (SELECT id, 'merged' s FROM range(180, 220)) u "
            "ON t.id = u.id AND t.k = 2 WHEN MATCHED THEN UPDATE SET s = u.s "
            "WHEN NOT MATCHED THEN INSERT (id, k, s) VALUES (u.id, 9, u.s)"
        )
        table.sql(merge, **confs)
        nothing = "MERGE INTO {t} t USING (SELECT 1 id) u ON t.id = u.id AND t.k = 77 WHEN MATCHED THEN DELETE"
        table.sql(nothing, **confs)
        counted.append(table.sql("SELECT * FROM {t} ORDER BY id, k, s", **confs).rows)
    assert counted[0] == 1
    assert counted[1] == counted[3]


def test_time_travel_and_branches(formats: Statements, tmp_path: Path) -> None:
    table = Table(formats, tmp_path, "travelled", "k")
    formats.sql(f"ALTER TABLE {table.name} CREATE BRANCH old")
    (row,) = formats.sql(
        f"SELECT CAST(max(committed_at) AS STRING) FROM {table.name}.snapshots"
    ).rows
    table.add(6, "1")
    assert table.same("SELECT * FROM {t} VERSION AS OF 'old' WHERE k = 1").kept == [2]
    time = row.strip("(,')")
    assert table.same(f"SELECT * FROM {{t}} TIMESTAMP AS OF '{time}' WHERE k = 1").kept == [2]
    assert table.opened == 1
    assert table.same("SELECT * FROM {t} WHERE k = 1").kept == [4]
    assert table.opened == 2


def test_a_failure_of_the_storage_is_warned_once_and_passes(
    formats: Statements, tmp_path: Path
) -> None:
    table = Table(formats, tmp_path, "failing", "k")
    confs = {**caching_manifests(formats), CACHE: str(table.cache)}
    query = "SELECT * FROM cached.db.failing WHERE k = 2"
    expected = formats.sql(query, **confs, **OFF).rows
    path = manifest_of(table, 2)
    data = path.read_bytes()
    path.unlink()
    try:
        first, second = (formats.sql(query, **confs) for _ in range(2))
    finally:
        path.write_bytes(data)
    assert first.rows == second.rows == expected
    (warning,) = first.warnings
    assert f"{path.name} cannot be read" in warning
    assert second.warnings == []
    assert first.scans == second.scans == []
    deadline = time.monotonic() + 60
    while not (answer := formats.sql(query, **confs)).scans:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert (answer.rows, answer.kept) == (expected, [2])


def test_recursive_queries_open_manifests_that_can_match(
    formats: Statements, tmp_path: Path
) -> None:
    """Spark plans each step of a recursion again, from a plan over listed manifests."""
    table = Table(formats, tmp_path, "recursive", "k")
    query = (
        "WITH RECURSIVE r(n, id) AS (SELECT 0, min(id) FROM {t} WHERE k = 2 UNION ALL "
        "SELECT n + 1, t.id FROM r JOIN {t} t ON t.id = r.id + 101 OR t.id = r.id + 1 "
        "WHERE t.k = 3 AND n < 3) SELECT * FROM r"
    )
    assert len(table.same(query).rows) == 4  # 200, 301, 302, 303
    assert table.opened == 2
    assert table.same("SELECT * FROM {t} WHERE k < 9").kept == [10]
    assert len(table.same(query).rows) == 4  # from a listing of more manifests


def test_a_file_that_two_manifests_list(formats: Statements) -> None:
    """Iceberg reads it twice. A part of the manifests may list it once."""
    append = "tests.formats.in_session:append_again"
    for name, partition in (("listed_twice", ""), ("in_two_partitions", "k=2")):
        table = f"ice.db.{name}"
        by = "PARTITIONED BY (k)" if partition else ""
        formats.sql(f"CREATE TABLE {table} (id BIGINT, k INT) USING iceberg {by}")
        formats.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, 1 FROM range(3)")
        formats.text_of(append, table, partition)
        formats.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, 3 FROM range(5)")
        # opens one manifest of the partitioned table; what has to open both leaves it to Iceberg
        first = formats.same(f"SELECT * FROM {table} WHERE k = 2")
        assert (len(first.rows), first.kept) == ((3, [1]) if partition else (0, []))
        counts = "SELECT count(*) FROM (SELECT * FROM {t}"
        queries = [f"{counts} LIMIT {rows})" for rows in (2, 5, 7, 10, 12)]
        queries.append("SELECT k, count(*), min(id) FROM {t} GROUP BY k")
        for k in (1, 2, 3):
            queries.append(f"{counts} WHERE k = {k} LIMIT 2)")
            queries.append(f"SELECT count(*), max(id) FROM {{t}} WHERE k = {k}")
        formats.same(united(queries, table))
