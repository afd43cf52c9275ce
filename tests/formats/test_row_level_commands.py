"""MERGE, UPDATE and DELETE read only the files that can hold matching rows.

For longer than a test: `python tests/formats/random_commands.py --seed 7 --count 300` and
`python tests/formats/conflicts.py`.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.formats.tables import create, united
from tests.launch.statements import OFF, Statements

pytestmark = pytest.mark.spark

MODES = "'write.delete.mode' = '{0}', 'write.update.mode' = '{0}', 'write.merge.mode' = '{0}'"
TABLES = {
    "delta": "USING delta",
    "delta_vectors": "USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', "
    "'delta.columnMapping.mode' = 'name')",
    "ice.db.deletes": f"USING iceberg TBLPROPERTIES ({MODES.format('merge-on-read')})",
    "ice.db.copies": f"USING iceberg TBLPROPERTIES ({MODES.format('copy-on-write')})",
}
#: The errors of a file that does not exist.
MISSING = r"FILE_NOT_EXIST|NotFoundException"
VALUES = "(SELECT * FROM VALUES ({}L, 100), (9999L, 200) v(a, b)) s"
UPDATES = "(SELECT * FROM updates WHERE a + 1 = {}) s"
MATCHED = "WHEN MATCHED THEN UPDATE SET k = b"
INSERTED = "WHEN NOT MATCHED THEN INSERT (id, k, s, d) VALUES (a, b, NULL, NULL)"


def table(formats: Statements, name: str, clauses: str, files: int = 5) -> str:
    """Create a table with a file of 100 rows for each hundred of `id`; return its name."""
    formats.sql(f"DROP TABLE IF EXISTS {name}")
    create(formats, name, clauses, files)
    return name


def lose_file(formats: Statements, name: str, key: int) -> None:
    """Remove the file with this id: whatever opens it fails."""
    column = "_file" if name.startswith("ice.") else "_metadata.file_path"
    (row,) = formats.sql(f"SELECT {column} FROM {name} WHERE id = {key}", **OFF).rows
    (uri,) = ast.literal_eval(row)
    Path(uri.removeprefix("file://").removeprefix("file:")).unlink()


@pytest.mark.parametrize("name", list(TABLES))
def test_files_without_a_match_are_not_opened(formats: Statements, name: str) -> None:
    table(formats, name, TABLES[name])
    formats.sql("DROP TABLE IF EXISTS updates")
    formats.sql("CREATE TABLE updates USING parquet AS SELECT id a, 100 b FROM range(0, 900, 1, 9)")
    lose_file(formats, name, 7)
    changes = [
        (f"DELETE FROM {name} WHERE id * 2 = 300", "id = 150"),
        (f"UPDATE {name} SET k = 100 WHERE id * 2 = 302", "id = 151 AND k <> 100"),
        (f"MERGE INTO {name} t USING {VALUES.format(252)} ON t.id = s.a {MATCHED} {INSERTED}",
         "id = 252 AND k <> 100"),
        (f"MERGE INTO {name} t USING {UPDATES.format(254)} ON t.id = s.a {MATCHED}",
         "id = 253 AND k <> 100"),
        (f"MERGE INTO {name} t USING {VALUES.format(254)} ON t.id = s.a + 0 * t.k "
         f"AND t.id * 2 > 400 WHEN MATCHED THEN DELETE", "id = 254"),
        (f"MERGE INTO {name} t USING {VALUES.format(9998)} ON t.id = s.a AND t.id * 2 > 400 "
         f"{INSERTED}", "id = 0"),
    ]  # fmt: skip
    for statement, _ in changes:
        with pytest.raises(AssertionError, match=MISSING):
            formats.sql(statement, **OFF)
        assert formats.sql(statement).warnings == [], statement
    unchanged = [f"SELECT * FROM {name} WHERE id >= 100 AND {each}" for _, each in changes]
    every, count = (f"SELECT {each} FROM {name} WHERE id >= 100" for each in ("*", "count(*)"))
    rows = formats.same(united([*unchanged, every])).rows
    assert {row.partition(",")[0] for row in rows} == {f"({len(changes)}"}
    assert formats.sql(count, **OFF).rows == ["(400,)"]  # two deleted, two inserted


def test_nothing_is_left_out_for_rows_without_a_source(formats: Statements) -> None:
    """NOT MATCHED BY SOURCE changes rows that match nothing."""
    for name in ("delta", "ice.db.deletes"):
        table(formats, name, TABLES[name])
        formats.sql(
            f"MERGE INTO {name} t USING {VALUES.format(250)} ON t.id = s.a AND t.id * 2 > 400 "
            f"{MATCHED} WHEN NOT MATCHED BY SOURCE AND t.id < 50 THEN DELETE"
        )
        found = formats.sql(f"SELECT min(id), count(*), max(k) FROM {name}", **OFF)
        assert found.rows == ["(50, 450, 100)"]


def test_a_row_that_matches_twice_is_an_error(formats: Statements) -> None:
    twice = "(SELECT * FROM VALUES (250L, 1), (250L, 2) v(a, b)) s"
    for name in ("delta", "ice.db.deletes"):
        table(formats, name, TABLES[name])
        for confs in ({}, OFF):
            with pytest.raises(AssertionError, match=r"MULTIPLE_SOURCE_ROW|CARDINALITY_VIOLATION"):
                formats.sql(f"MERGE INTO {name} t USING {twice} ON t.id = s.a {MATCHED}", **confs)


def test_source_rows_are_counted_where_no_file_can_match(formats: Statements) -> None:
    counts = []
    for confs in ({}, OFF):
        name = table(formats, "counted", TABLES["delta"])
        formats.sql(
            f"MERGE INTO {name} t USING {VALUES.format(9000)} ON t.id = s.a {MATCHED} {INSERTED}",
            **confs,
        )
        counts.append(formats.sql(f"DESCRIBE HISTORY {name} LIMIT 1").rows)
    assert all("'numSourceRows': '2'" in rows[0] for rows in counts), counts


def test_errors_of_rows_are_raised(formats: Statements) -> None:
    """A file in which a condition may raise an error is read."""
    for name in ("delta", "ice.db.deletes"):
        table(formats, name, TABLES[name])
        for confs in ({}, OFF):
            with pytest.raises(AssertionError, match="DIVIDE_BY_ZERO"):
                formats.sql(f"DELETE FROM {name} WHERE 10 / (id - 7) > 100", **confs)


#: Ways to let a MERGE add the columns of its source to the table, and the tables that they apply to.
EVOLUTION = {
    "delta": ("WITH SCHEMA EVOLUTION", {}),
    "delta_vectors": ("", {"spark.databricks.delta.schema.autoMerge.enabled": "true"}),
    "ice.db.deletes": ("WITH SCHEMA EVOLUTION", {}),
    "ice.db.copies": ("WITH SCHEMA EVOLUTION", {}),
}


@pytest.mark.parametrize("name", list(EVOLUTION))
def test_merges_that_add_columns(formats: Statements, name: str) -> None:
    source = (
        "(SELECT * FROM VALUES (252L, 100, 'a', DATE'2024-01-01', 7), "
        "(9999L, 200, 'b', NULL, 8) v(id, k, s, d, added)) s"
    )
    clause, confs = EVOLUTION[name]
    merge = (
        f"MERGE {clause} INTO {name} t USING {source} ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    rows = []
    for switch in (OFF, {}):
        table(formats, name, TABLES[name])
        if switch == {}:
            kept = formats.sql(f"SELECT * FROM {name} WHERE id >= 100", **OFF).rows
            assert len(kept) == 400
            lose_file(formats, name, 7)
        assert formats.sql(merge, **confs, **switch).warnings == []
        rows.append(formats.sql(f"SELECT * FROM {name} WHERE id >= 100", **OFF).rows)
    assert rows[0] == rows[1]
    assert len(rows[1]) == 401
    assert [row for row in rows[1] if row.endswith((" 7)", " 8)"))]


@pytest.mark.parametrize("name", ["delta", "delta_vectors", "ice.db.deletes"])
def test_merges_of_the_batches_of_a_stream(formats: Statements, name: str) -> None:
    """A batch gives Delta its keys. Iceberg's commands get none from it, but a condition prunes."""
    formats.sql("DROP TABLE IF EXISTS arriving")
    formats.sql(
        "CREATE TABLE arriving USING delta AS SELECT /*+ REPARTITION_BY_RANGE(2, id) */ id, "
        "CAST(-id AS INT) k, 'new' s, DATE'2024-01-01' d FROM range(350, 650, 50)"
    )
    condition = "t.id = s.id" + (" AND t.id * 2 > 400" if name.startswith("ice.") else "")
    rows = []
    for switch in (OFF, {}):
        table(formats, name, TABLES[name])
        if switch == {}:
            lose_file(formats, name, 7)
        merge = ("tests.formats.in_session:merge_streamed", "arriving", name, condition)
        assert formats.text_of(*merge, **switch) == "2"
        if name.startswith("ice."):  # the session of a stream has a catalog of its own
            formats.sql(f"REFRESH TABLE {name}")
        rows.append(formats.sql(f"SELECT * FROM {name} WHERE id >= 100", **OFF).rows)
    assert rows[0] == rows[1]
    assert len(rows[1]) == 400 + 3


@pytest.mark.parametrize("name", ["delta", "ice.db.deletes"])
def test_commands_can_be_left_to_the_formats(formats: Statements, name: str) -> None:
    table(formats, name, TABLES[name])
    lose_file(formats, name, 7)
    for confs in ({"spark.tamis.commands.enabled": "false"}, {"spark.tamis.mode": "observe"}):
        with pytest.raises(AssertionError, match=MISSING):
            formats.sql(f"DELETE FROM {name} WHERE id * 2 = 300", **confs)


def test_random_commands_have_the_same_effect(formats: Statements, tmp_path: Path) -> None:
    tally = formats.function(
        "tests.formats.random_commands:run", folder=str(tmp_path), seed=1, count=12
    )
    assert tally["differences"] == []
    assert tally["changes"] > 0
    assert 0 < tally["files_kept"] < tally["files_total"]


def test_conflicts_are_detected_as_without_tamis(formats: Statements, tmp_path: Path) -> None:
    """Also those with commits to files that are not read with tamis; and no others."""
    append, delete = "append elsewhere", "delete in a file that is not read"
    found: dict[str, bool] = {}
    for commands, tables, commits in (
        (["MERGE"], ["delta", "merge-on-read"], [append, delete]),
        (["MERGE"], ["delta with partitions", "snapshot isolation"], [append]),
        (["UPDATE"], ["delta", "merge-on-read"], [append]),
        (["DELETE"], ["merge-on-read"], [delete]),
        (["INSERT"], ["delta"], [delete]),
    ):
        tally = formats.function(
            "tests.formats.conflicts:run",
            folder=str(tmp_path),
            commands=commands,
            tables=tables,
            commits=commits,
        )
        assert tally["differences"] == []
        found |= {name: error != "" for name, error in tally["found"].items()}
    assert found["MERGE, delta, delete in a file that is not read"]
    assert found["MERGE, merge-on-read, append elsewhere"]
    assert not found["MERGE, delta with partitions, append elsewhere"]
    assert not found["MERGE, snapshot isolation, append elsewhere"]
