"""Scans of Iceberg read only the row groups that can hold a matching row, and no row is lost.

The tasks are compared with the footers of the files: which row groups have their midpoints in the
bytes of a task.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.formats.tables import only, united
from tests.launch.statements import Statements

pytestmark = pytest.mark.spark

FILES, ROWS, GROUPS = 3, 200, 10
PER_FILE = ROWS // GROUPS
#: Row groups of 20 rows.
SMALL = {
    "write.parquet.row-group-size-bytes": "1",
    "write.parquet.row-group-check-min-record-count": "20",
    "write.parquet.row-group-check-max-record-count": "20",
}
#: With position deletes in files for one or several data files, and with deletion vectors.
MERGE_ON_READ = {
    "positions": {"format-version": "2", "write.delete.granularity": "file"},
    "positions of partitions": {"format-version": "2", "write.delete.granularity": "partition"},
    "vectors": {"format-version": "3"},
    "equality": {"format-version": "2"},
}
VECTORIZED = "spark.sql.iceberg.vectorization.enabled"


def clause(**more: str) -> str:
    properties = {**SMALL, "write.delete.mode": "merge-on-read", **more}
    return "TBLPROPERTIES (" + ", ".join(f"'{k}' = '{v}'" for k, v in properties.items()) + ")"


def append(formats: Statements, name: str, first: int) -> None:
    """Add a file of 10 row groups of 20 rows each, with the ids from 200 times `first` on."""
    formats.sql(
        f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, CAST(id % 7 AS INT) k, "
        "concat('text ', lpad(id, 5, '0')) s, IF(id div 20 % 2 = 0, id, NULL) n, "
        "named_struct('x', id, 'a.b', concat('k', id div 50)) st "
        f"FROM range({first * ROWS}, {(first + 1) * ROWS}, 1, 1)"
    )


def table(
    formats: Statements, name: str, partitioned: str = "", files: int = FILES, **more: str
) -> str:
    name = f"ice.db.{name}"
    formats.sql(f"DROP TABLE IF EXISTS {name} PURGE")
    formats.sql(
        f"CREATE TABLE {name} (id BIGINT, k INT, s STRING, n BIGINT, "
        f"st STRUCT<x: BIGINT, `a.b`: STRING>) USING iceberg {partitioned} {clause(**more)}"
    )
    for first in range(files):
        append(formats, name, first)
    return name


@pytest.fixture(scope="module")
def name(formats: Statements) -> str:
    """A table with an index of all columns."""
    name = table(formats, "grouped")
    formats.index("build", name)
    return name


def scanned(formats: Statements, query: str, **confs: str) -> dict[str, Any]:
    text = formats.text_of("tests.formats.iceberg_tasks:scanned", query, **confs)
    found: dict[str, Any] = json.loads(text)
    return found


def data_files(formats: Statements, name: str) -> list[str]:
    rows = formats.sql(f"SELECT file_path FROM {name}.data_files").rows
    return [row.strip("(,)'\"").removeprefix("file:") for row in rows]


@pytest.mark.parametrize(
    ("where", "groups"),
    [
        ("id = 250", [[2]]),
        ("id BETWEEN 30 AND 70", [[1, 2, 3]]),
        ("id >= 40 AND id < 80", [[2, 3]]),
        ("id IN (5, 199, 400)", [[0, 9], [0]]),
        ("id < 10 OR id >= 590", [[0], [9]]),
        ("id + 1 = 100 AND k >= 0", [[4]]),
        ("abs(id - 300) < 5", [[4, 5]]),
        ("s LIKE 'text 0003%'", [[1]]),
        ("n IS NULL AND id < 200", [[1, 3, 5, 7, 9]]),
        ("n IS NOT NULL AND id + 0 < 200", [[0, 2, 4, 6, 8]]),
        ("st.x = 401", [[0]]),
        ("st.`a.b` = 'k3'", [[7, 8, 9]]),
        ("id = 210 AND k = 9", []),
        ("id + 0 = 1000", []),
        ("hash(s) <> 5 AND id < 400", [list(range(10))] * 2),
        ("id >= 0", [list(range(10))] * 3),
    ],
)
def test_hits_and_misses(
    formats: Statements, name: str, where: str, groups: list[list[int]]
) -> None:
    query = f"SELECT * FROM {name} WHERE {where}"
    answer = formats.same(query)
    found = scanned(formats, query)
    assert found["groups"] == groups
    count = sum(map(len, groups))
    assert found["rows"] <= PER_FILE * count
    scan = only(answer)
    assert scan["files_kept"] == len(groups)
    if groups and where != "id >= 0":  # otherwise there is nothing to decide about row groups
        assert (scan["row_groups_kept"], scan["row_groups_total"]) == (count, FILES * GROUPS)
    assert bool(answer.rows) == bool(groups)


def test_conjuncts_that_kept_row_groups_prove_leave_the_plan(
    formats: Statements, name: str
) -> None:
    query = f"SELECT id FROM {name} WHERE id >= 40 AND id < 80 AND k = 3"
    scan = only(formats.same(query))
    pushdown = {each["sql"]: each["pushdown"] for each in scan["conjuncts"]}
    assert pushdown.pop("(k = 3)") == "inexact"
    assert {pushdown[each] for each in ("(id >= 40L)", "(id < 80L)")} == {"exact"}
    query = f"SELECT count(*) FROM {name} WHERE id + 0 >= 40 AND id + 0 < 80"
    assert formats.same(query).rows == ["(40,)"]
    assert scanned(formats, query)["rows"] == 40


@pytest.mark.parametrize("kind", MERGE_ON_READ)
def test_deleted_rows_of_any_row_group_stay_deleted(formats: Statements, kind: str) -> None:
    """Deletes go by the position in the file, whichever row groups of it are read."""
    name = table(formats, "deleted_groups", files=2, **MERGE_ON_READ[kind])
    formats.index("build", name)
    if kind == "equality":
        formats.text_of("tests.formats.in_session:delete_equal_rows", name, "k", [0, 3])
    else:
        gone = "0, 19, 20, 21, 39, 45, 100, 119, 180, 199, 200, 255, 399"
        formats.sql(f"DELETE FROM {name} WHERE id IN ({gone}) OR id BETWEEN 60 AND 79")
    cases = {
        "id + 0 BETWEEN 20 AND 59": [[1, 2]],
        "id + 0 IN (19, 199, 399)": [[0, 9], [9]],
        "abs(id - 110) < 8": [[5]],
        "id + 0 BETWEEN 60 AND 79": [[3]],
        "id + 0 >= 180 AND id + 0 < 220 AND k <> 100": [[9], [0]],
    }
    others = [
        query
        for where in cases
        for query in (
            f"SELECT count(*), min(id), max(s), sum(k) FROM {{t}} WHERE {where}",
            f"SELECT * FROM {{t}} WHERE {where} ORDER BY id DESC LIMIT 3",
        )
    ]
    readers = [{VECTORIZED: vectorized} for vectorized in ("true", "false")]
    for confs in readers:
        for where, groups in cases.items():
            query = f"SELECT * FROM {name} WHERE {where}"
            (scan,) = formats.same(query, **confs).scans
            assert scan["row_groups_kept"] == sum(map(len, groups))
            assert scan["rows_kept"] is None  # it is not known where rows were deleted
            assert scanned(formats, query, **confs)["groups"] == groups
        formats.same(united(others, name), **confs)
        # some rows of a row group whose filter is proven for all
        assert formats.same(f"SELECT id FROM {name} WHERE id >= 20 AND id < 40", **confs).rows
    if kind != "equality":
        formats.sql(f"DELETE FROM {name} WHERE id + 0 >= 22 AND id + 0 < 36")
        for confs in readers:
            formats.same(f"SELECT * FROM {name} WHERE id + 0 BETWEEN 20 AND 59", **confs)


def test_rows_are_deleted_and_updated_through_row_groups(formats: Statements) -> None:
    """Copies of two tables, one changed with tamis, the other without."""
    for mode in ("merge-on-read", "copy-on-write"):
        modes = {f"write.{change}.mode": mode for change in ("delete", "update", "merge")}
        names = [table(formats, f"changed_{n}", files=2, **modes) for n in ("with", "without")]
        for name in names:
            formats.index("build", name)
        for change in (
            "DELETE FROM {t} WHERE id + 0 >= 25 AND id + 0 < 34",
            "UPDATE {t} SET k = -1 WHERE abs(id - 250) < 30",
            "DELETE FROM {t} WHERE id + 0 = 399 OR k + 0 = -1 AND id < 240",
            "MERGE INTO {t} t USING (SELECT * FROM VALUES (45), (390), (999) v(i)) v ON t.id = v.i "
            "WHEN MATCHED THEN UPDATE SET k = 100 "
            "WHEN NOT MATCHED THEN INSERT (id, k, s, n, st) VALUES (v.i, 0, 'new', NULL, NULL)",
        ):
            formats.sql(change.format(t=names[0]))
            formats.sql(change.format(t=names[1]), **{"spark.tamis.enabled": "false"})
            rows = [formats.sql(f"SELECT * FROM {each}").rows for each in names]
            assert rows[0] == rows[1]
            conditions = ("id + 0 BETWEEN 20 AND 59", "k = 100", "k + 0 = -1")
            queries = [f"SELECT * FROM {{t}} WHERE {where}" for where in conditions]
            formats.same(united(queries, names[0]))


def test_splits_of_any_size(formats: Statements) -> None:
    """Iceberg packs the row groups into partitions as it packs its own splits."""
    name = table(formats, "split")
    formats.index("build", name)
    query = f"SELECT * FROM {name} WHERE id + 0 BETWEEN 30 AND 130 OR id + 0 >= 590"
    for target, open_cost, least, most in (
        ("1", "1", 7, 7),
        ("3000", "1", 1, 7),
        ("134217728", "4194304", 1, 4),
    ):
        formats.sql(
            f"ALTER TABLE {name} SET TBLPROPERTIES ('read.split.target-size' = '{target}', "
            f"'read.split.open-file-cost' = '{open_cost}')"
        )
        formats.same(query)
        found = scanned(formats, query)
        assert found["groups"] == [[1, 2, 3, 4, 5, 6], [9]]
        assert found["rows"] <= 7 * PER_FILE
        assert least <= found["partitions"] <= most


def test_time_travel_and_branches(formats: Statements) -> None:
    name = table(formats, "old_groups", files=1, **MERGE_ON_READ["vectors"])
    (snapshot,) = formats.sql(f"SELECT snapshot_id FROM {name}.snapshots").rows
    formats.sql(f"ALTER TABLE {name} CREATE BRANCH side")
    append(formats, name, 1)
    formats.sql(f"DELETE FROM {name} WHERE id IN (5, 105)")
    formats.index("build", name)
    append(formats, f"{name}.branch_side", 2)
    for source, where, groups in (
        (name, "id + 0 IN (5, 6, 105, 206)", [[0, 5], [0]]),
        (f"{name} VERSION AS OF {snapshot.strip('(,)')}", "id + 0 IN (5, 6, 105, 206)", [[0, 5]]),
        (f"{name} VERSION AS OF 'side'", "id + 0 IN (5, 410)", [[0], list(range(10))]),
    ):
        query = f"SELECT * FROM {source} WHERE {where}"
        formats.same(query)
        assert scanned(formats, query)["groups"] == groups


def test_columns_that_change(formats: Statements) -> None:
    name = table(formats, "changed_columns", files=1)
    formats.index("build", name)
    for change in (
        "RENAME COLUMN id TO moved",
        "RENAME COLUMN k TO id",
        "RENAME COLUMN st.x TO y",
        "ADD COLUMN st.x BIGINT",
        "ALTER COLUMN id TYPE BIGINT",
        "DROP COLUMN n",
        "ADD COLUMN n BIGINT",
        "ADD COLUMN `a new.column` STRING",
        "ALTER COLUMN s FIRST",
    ):
        formats.sql(f"ALTER TABLE {name} {change}")
    for _ in ("index of the old columns", "refreshed"):
        for where, groups in {
            "moved + 0 = 45": [[2]],
            "id + 0 = 6": [list(range(10))],
            "id + 0 = 45": [],
            "st.y + 0 = 45": [[2]],
            "s = 'text 00045'": [[2]],
        }.items():
            query = f"SELECT * FROM {name} WHERE {where}"
            formats.same(query)
            assert scanned(formats, query)["groups"] == groups, where
        counts = {
            "st.x = 45": 0,
            "n = 45": 0,
            "n IS NULL AND moved + 0 = 45": 1,
            "st.x IS NULL AND moved + 0 = 45": 1,
            "`a new.column` IS NULL AND s = 'text 00045'": 1,
        }
        queries = [f"SELECT {n}, count(*) FROM {name} WHERE {w}" for n, w in enumerate(counts)]
        answer = formats.same(" UNION ALL ".join(queries))
        assert answer.rows == [f"({n}, {count})" for n, count in enumerate(counts.values())]
        formats.index("refresh", name)
    formats.sql(f"INSERT INTO {name} (s, moved, id) VALUES ('later', 45, 3)")
    formats.same(f"SELECT * FROM {name} WHERE moved + 0 = 45")


def test_columns_that_exchange_their_names(formats: Statements) -> None:
    formats.sql("DROP TABLE IF EXISTS ice.db.exchanged_groups PURGE")
    formats.sql(
        f"CREATE TABLE ice.db.exchanged_groups (a BIGINT, b BIGINT) USING iceberg {clause()}"
    )
    formats.sql(
        "INSERT INTO ice.db.exchanged_groups SELECT /*+ COALESCE(1) */ id, 199 - id "
        "FROM range(0, 200, 1, 1)"
    )
    formats.index("build", "ice.db.exchanged_groups")
    for one, other in (("a", "c"), ("b", "a"), ("c", "b")):
        formats.sql(f"ALTER TABLE ice.db.exchanged_groups RENAME COLUMN {one} TO {other}")
    for column, group in (("a", 9), ("b", 0)):
        query = f"SELECT * FROM ice.db.exchanged_groups WHERE {column} + 0 = 5"
        assert len(formats.same(query).rows) == 1
        assert scanned(formats, query)["groups"] == [[group]]


def test_files_without_row_groups_in_the_index_are_read_whole(
    formats: Statements, tmp_path: Path
) -> None:
    """Those of other formats, those without field ids, and those that were added later."""
    name = table(formats, "mixed_groups", files=1)
    formats.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.format.default' = 'orc')")
    append(formats, name, 1)
    formats.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.format.default' = 'parquet')")
    small = {
        "parquet.block.size": "1",
        "parquet.block.size.row.check.min": "20",
        "parquet.block.size.row.check.max": "20",
    }
    formats.sql(
        f"INSERT OVERWRITE DIRECTORY 'file:{tmp_path}/p' USING parquet SELECT /*+ COALESCE(1) */ "
        f"* FROM {name} WHERE id < 200",
        **small,
    )
    formats.sql(
        f"CALL ice.system.add_files(table => '{name}', source_table => '`parquet`.`{tmp_path}/p`')"
    )
    formats.index("build", name)
    append(formats, name, 2)
    for where in ("id + 0 = 45", "id + 0 IN (245, 445)", "k = 3 AND id + 0 < 205"):
        answer = formats.same(f"SELECT * FROM {name} WHERE {where}")
        assert only(answer)["row_groups_total"] is None
    query = f"SELECT * FROM {name} WHERE id + 0 = 45"
    answer = formats.run({"sql": query, "confs": {}, "details": True})
    assert answer.files_read == 2
    # Spark has written two row groups
    assert sorted(scanned(formats, query)["groups"], key=len) == [[2], [0, 1]]


def test_partitioned_tables(formats: Statements) -> None:
    name = table(formats, "by_k", "PARTITIONED BY (truncate(200, id), bucket(2, k))")
    formats.index("build", name)
    for where in ("id + 0 = 250", "id + 0 BETWEEN 190 AND 215", "k = 3 AND id + 0 < 30"):
        query = f"SELECT * FROM {name} WHERE {where}"
        kept = only(formats.same(query))["row_groups_kept"]
        whole = scanned(formats, query, **{"spark.tamis.rowGroups.enabled": "false"})
        assert kept == sum(map(len, scanned(formats, query)["groups"]))
        assert 0 < kept < sum(map(len, whole["groups"]))
        # not all manifests are opened, so the row groups of the table are not counted
        text = formats.text_of("tests.formats.in_session:explained", query)
        assert re.search(r"files, [0-9]+( of [0-9]+)? row groups", text), text
        formats.same(f"SELECT k, count(*) FROM {name} WHERE {where} GROUP BY k")


def test_joins_by_storage_partitions(formats: Statements) -> None:
    names = [table(formats, f"stored_{n}", "PARTITIONED BY (k)", files=2) for n in "ab"]
    for each in names:
        formats.index("build", each)
    for push_values in ("true", "false"):
        confs = {
            "spark.sql.iceberg.planning.preserve-data-grouping": "true",
            "spark.sql.requireAllClusterKeysForCoPartition": "false",
            "spark.sql.sources.v2.bucketing.pushPartValues.enabled": push_values,
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
        }
        for where in (
            "a.id + 0 BETWEEN 30 AND 150",
            "a.id + 0 = 45 AND b.id + 0 < 60",
            "a.id + 0 < 60 AND a.k <> 2",
        ):
            query = (
                f"SELECT a.id, b.id i FROM {names[0]} a JOIN {names[1]} b ON a.k = b.k "
                f"WHERE {where} AND b.id < 100"
            )
            answer = formats.same(query, **confs)
            assert answer.rows
            assert any(s["row_groups_kept"] < s["row_groups_total"] for s in answer.scans)
            plan = formats.run({"sql": query, "confs": confs, "details": True}).plan
            off = {**confs, "spark.tamis.enabled": "false"}
            plain = formats.run({"sql": query, "confs": off, "details": True}).plan
            assert ("Exchange" in plan) <= ("Exchange" in plain), where


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT id, k FROM {t} WHERE id > (SELECT max(v) FROM VALUES (558) x(v))", 3 * PER_FILE),
        ("SELECT id FROM {t} WHERE id = (SELECT max(v) FROM VALUES (250) x(v))", PER_FILE),
        ("SELECT id FROM {t} WHERE id = (SELECT max(v) FROM VALUES (900) x(v))", 0),
        # two row groups of each file were chosen before; nothing is left of the second file
        (
            "SELECT id FROM {t} WHERE id + 0 IN (5, 199, 205, 399, 405, 599) "
            "AND id NOT BETWEEN (SELECT min(v) FROM VALUES (21) x(v)) AND 500",
            2 * PER_FILE,
        ),
        (
            "SELECT /*+ BROADCAST(x) */ id FROM {t} JOIN (SELECT * FROM VALUES (5), (7), (421) y(v) "
            "WHERE v * 2 < 2000) x ON {t}.id = x.v",
            2 * PER_FILE,
        ),
    ],
)
def test_values_of_a_running_query_choose_row_groups(
    formats: Statements, name: str, query: str, rows: int
) -> None:
    query = query.replace("{t}", name)
    confs = {"spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false"}
    formats.same(query, **confs)
    assert scanned(formats, query, **confs)["rows"] == rows
    whole = {**confs, "spark.tamis.rowGroups.enabled": "false"}
    assert scanned(formats, query, **whole)["rows"] >= rows


def test_limits_orders_and_aggregates(formats: Statements, name: str) -> None:
    for query in (
        f"SELECT * FROM {name} WHERE id >= 60 AND id < 80 ORDER BY id LIMIT 5",
        f"SELECT count(*), min(id), max(s), sum(k) FROM {name} WHERE id BETWEEN 30 AND 570",
        f"SELECT count(n), min(n), max(n) FROM {name} WHERE id >= 20 AND id < 40",
        f"SELECT k, count(*) FROM {name} WHERE id + 0 < 33 GROUP BY k",
        f"SELECT count(*) FROM (SELECT * FROM {name} WHERE id + 0 >= 40 AND id + 0 < 80 LIMIT 7)",
        f"SELECT a.id FROM {name} a JOIN {name} b ON a.id = b.id WHERE a.id + 0 < 25 AND b.id >= 20",
        f"SELECT id FROM {name} WHERE id + 0 = 5 UNION ALL SELECT id FROM {name} WHERE id + 0 = 205",
        # both filters are exact and over the same file: an exchange must not be reused
        f"SELECT * FROM (SELECT count(*) FROM {name} WHERE id >= 20 AND id < 40) "
        f"CROSS JOIN (SELECT count(*) * 2 FROM {name} WHERE id >= 60 AND id < 120)",
    ):
        formats.same(query)
    confs = {"spark.tamis.topK.sample.minSaved": "0ms"}
    formats.same(f"SELECT * FROM {name} WHERE k = 3 ORDER BY id DESC LIMIT 4", **confs)
    formats.same(f"SELECT min(s), max(id) FROM {name} WHERE k = 3 AND id + 0 > 33", **confs)


def test_what_users_see(formats: Statements, name: str) -> None:
    query = f"SELECT * FROM {name} WHERE id + 0 = 250"
    text = formats.text_of("tests.formats.in_session:explained", query)
    assert "1 of 3 files, 1 of 30 row groups" in text
    plan = formats.run({"sql": query, "confs": {}, "details": True}).plan
    assert "RowGroups: 1 of 30" in plan
    formats.sql(query)
    (row,) = formats.sql(
        "SELECT row_groups_kept, row_groups_total, rows_kept FROM tamis_history() "
        f"WHERE table LIKE '%{name}' AND row_groups_kept IS NOT NULL ORDER BY time DESC LIMIT 1"
    ).rows
    assert row == "(1, 30, 20)"
    files = f"SELECT kept, decided_by FROM tamis_files('SELECT * FROM {name} WHERE n = 25')"
    assert "(False, 'none of its row groups can hold a row that passes')" in formats.sql(files).rows
    observed = formats.same(query, **{"spark.tamis.mode": "observe"})
    assert [scan["row_groups_kept"] for scan in observed.scans] == [1]
    assert scanned(formats, query, **{"spark.tamis.mode": "observe"})["groups"] != [[2]]


def test_row_groups_can_be_turned_off(formats: Statements, name: str) -> None:
    off = {"spark.tamis.rowGroups.enabled": "false"}
    query = f"SELECT * FROM {name} WHERE id + 0 = 250"
    assert only(formats.same(query, **off))["row_groups_kept"] is None
    assert scanned(formats, query, **off)["groups"] == [list(range(10))]


def test_iceberg_reads_a_row_group_by_its_midpoint(formats: Statements, name: str) -> None:
    for file in data_files(formats, name):
        text = formats.text_of("tests.formats.iceberg_tasks:midpoints", file)
        found = json.loads(text)
        assert found["found"] == found["stated"] == [PER_FILE] * GROUPS
        # positions of rows go on from the row groups that are not read
        assert found["offsets"] == [PER_FILE * n for n in range(GROUPS)]
