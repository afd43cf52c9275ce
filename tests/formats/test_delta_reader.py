"""Scans of tamis with Delta's reader: tables with deletion vectors, other names of columns in files,
or wider types than files have.

The rows are those without tamis, and fewer files are read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.formats.tables import fill, united
from tests.formats.test_delta import properties, table
from tests.launch.statements import OFF, Statements

pytestmark = pytest.mark.spark

#: The properties of tables that only Delta's reader can read.
KINDS = {
    "vectors": {"enableDeletionVectors": "true"},
    "by_name": {"enableDeletionVectors": "false", "columnMapping_mode": "name"},
    "by_id": {
        "enableDeletionVectors": "true",
        "columnMapping_mode": "id",
        "enableTypeWidening": "true",
    },
}

#: As in Spark, only generated code reads batches.
BATCHES = {"spark.sql.codegen.wholeStage": "true"}

#: Sessions in which the reader returns rows, small batches or parts of files.
SESSIONS = {
    "batches": BATCHES,
    "small batches": BATCHES | {"spark.sql.parquet.columnarReaderBatchSize": "7"},
    "rows": {"spark.sql.parquet.enableVectorizedReader": "false"},
    "rows of batches": {},
    "off heap": BATCHES
    | {
        "spark.sql.columnVector.offheap.enabled": "true",
        "spark.sql.parquet.columnarReaderBatchSize": "7",
    },
    "splits": {"spark.sql.files.maxPartitionBytes": "500"},
    "counted rows": {
        "spark.databricks.delta.deletionVectors.useMetadataRowIndex": "false",
        "spark.sql.files.maxPartitionBytes": "500",
    },
}


def made(formats: Statements, kind: str) -> str:
    """Return a table of this kind, with 5 files. Two of them have lost rows."""
    name = f"only_delta_{kind}"
    if not formats.sql(f"SHOW TABLES IN default LIKE '{name}'").rows:
        if "enableTypeWidening" in KINDS[kind]:
            formats.sql(
                f"CREATE TABLE {name} USING delta {properties(**KINDS[kind])} AS "
                "SELECT /*+ REPARTITION_BY_RANGE(3, id) */ CAST(id AS INT) id, "
                "CAST(id % 7 AS SMALLINT) k, concat('text ', id) s, "
                "date_add(DATE'2024-01-01', CAST(id div 10 AS INT)) d FROM range(300)"
            )
            formats.sql(f"ALTER TABLE {name} ALTER COLUMN id TYPE BIGINT, k TYPE INT")
            fill(formats, name, 3, 2)
        else:
            table(formats, name, properties(**KINDS[kind]))
        if "columnMapping_mode" in KINDS[kind]:
            formats.sql(f"ALTER TABLE {name} RENAME COLUMN k TO t")
            formats.sql(f"ALTER TABLE {name} RENAME COLUMN s TO k")
            formats.sql(f"ALTER TABLE {name} RENAME COLUMN t TO s")
            formats.sql(f"ALTER TABLE {name} RENAME COLUMN k TO `a.b`")
            formats.sql(f"ALTER TABLE {name} RENAME COLUMN s TO k")
            formats.sql(f"ALTER TABLE {name} RENAME COLUMN `a.b` TO s")
        formats.sql(f"DELETE FROM {name} WHERE id IN (100, 105, 198, 299)")
    return name


#: Queries, with the files that their scans read of the 5 files of each kind. Delta rewrites files
#: without deletion vectors.
GOALS = [
    ("SELECT count(*) FROM (SELECT * FROM {t} LIMIT 90)", [1]),
    ("SELECT count(*) FROM (SELECT * FROM {t} LIMIT 80 OFFSET 9)", [1]),
    (
        "SELECT count(*) FROM (SELECT * FROM {t} WHERE id + 0 >= 100 AND id + 0 < 300 LIMIT 196)",
        [2],
    ),
    (
        "SELECT count(*) FROM (SELECT * FROM {t} WHERE id + 0 >= 100 AND id + 0 < 300 LIMIT 197)",
        [2],
    ),
    ("SELECT count(*) FROM (SELECT * FROM {t} LIMIT 5000)", [5]),
    ("SELECT * FROM {t} ORDER BY id LIMIT 5", [1]),
    ("SELECT * FROM {t} ORDER BY id DESC NULLS FIRST LIMIT 5", [1]),
    ("SELECT id FROM {t} WHERE id > 99 ORDER BY id LIMIT 1", [1]),
    ("SELECT id FROM {t} WHERE id < 200 ORDER BY id DESC, k LIMIT 2", [1]),
    ("SELECT id FROM (SELECT id, rank() OVER (ORDER BY id) r FROM {t}) WHERE r <= 2", [5]),
    ("SELECT count(*) FROM {t} WHERE id + 0 >= 100", []),
    ("SELECT max(id), min(id), count(*) FROM {t} WHERE id + 0 >= 300", []),
    ("SELECT * FROM {t} a JOIN (SELECT id i FROM {t} WHERE id + 0 = 101) b ON a.id = b.i", [1, 1]),
    (
        "SELECT * FROM {t} a LEFT JOIN (SELECT id i FROM {t} WHERE id + 0 >= 400) b ON a.id = b.i "
        "WHERE a.id + 0 < 100",
        [1, 0],
    ),
]

#: Shapes in which files that hold no needed row must not be left out, or rows come back.
SHAPES = [
    "SELECT * FROM {t} a FULL JOIN (SELECT id + 95 i FROM {t} WHERE id + 0 < 10) b ON a.id = b.i",
    "SELECT a.id, i FROM {t} a LEFT JOIN (SELECT id i FROM {t} WHERE id + 0 > 195) b ON a.id = i",
    "SELECT id FROM {t} a WHERE NOT EXISTS (SELECT 1 FROM {t} b WHERE b.id = a.id + 1)",
    "SELECT id FROM {t} WHERE id NOT IN (SELECT id + 1 FROM {t} WHERE id + 0 >= 100)",
    "SELECT id FROM {t} WHERE id IN (SELECT id + 5 FROM {t} WHERE id + 0 < 101)",
    "SELECT a.id FROM {t} a JOIN {t} b ON a.id = b.id + 1 AND b.id + 0 BETWEEN 97 AND 106",
    "SELECT id, lag(id) OVER (ORDER BY id) p FROM {t} WHERE id + 0 BETWEEN 95 AND 110",
    "SELECT * FROM (SELECT id FROM {t} ORDER BY id LIMIT 3 OFFSET 98)",
    "(SELECT id FROM {t} ORDER BY id DESC LIMIT 2) UNION ALL (SELECT id FROM {t} ORDER BY id LIMIT 2)",
    "SELECT k, count(*), min(id), max(d) FROM {t} GROUP BY k",
    "SELECT count(s), count(DISTINCT k), min(s), max(d), sum(id) FROM {t}",
    "SELECT id FROM {t} WHERE id > (SELECT max(id) FROM {t} WHERE id + 0 < 199)",
    "SELECT (SELECT count(*) FROM {t}) a, (SELECT min(id) FROM {t} WHERE id >= 100) b",
    "SELECT count(DISTINCT f), count(f) FROM (SELECT input_file_name() f FROM {t} WHERE id + 0 < 250)",
    "SELECT count(*) FROM {t} TABLESAMPLE (100 PERCENT) WHERE id + 0 < 110",
    "SELECT 1 FROM {t} WHERE id + 0 < 110",
]


Plain = Callable[[list[str]], list[str]]


@pytest.fixture(scope="module")
def plain(formats: Statements) -> Plain:
    """The rows of queries without tamis. They are the same for every kind of table."""

    @cache
    def rows(*queries: str) -> list[str]:
        return formats.sql(united([*queries], made(formats, "vectors")), **OFF).rows

    return lambda queries: rows(*queries)


@pytest.mark.parametrize("kind", KINDS)
def test_goals_choose_files(formats: Statements, plain: Plain, kind: str) -> None:
    name = made(formats, kind)
    queries = [query for query, _ in GOALS]
    answer = formats.sql(united(queries, name))
    assert answer.rows == plain(queries)
    expected = [count for _, counts in GOALS for count in counts if count]
    assert [count for count in answer.kept if count] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_that_need_other_rows(formats: Statements, plain: Plain, kind: str) -> None:
    name = made(formats, kind)
    for queries in (SHAPES[:8], SHAPES[8:]):
        assert formats.sql(united(queries, name)).rows == plain(queries)


@pytest.mark.parametrize("session", SESSIONS)
def test_every_way_to_read_files(formats: Statements, session: str) -> None:
    """All types, with NULLs, in files that have lost every second row."""
    name = "every_type"
    if not formats.sql(f"SHOW TABLES IN default LIKE '{name}'").rows:
        formats.sql(
            f"CREATE TABLE {name} USING delta {properties(enableDeletionVectors='true')} AS "
            f"SELECT /*+ REPARTITION_BY_RANGE(2, id) */ {', '.join(COLUMNS)} FROM range(100)"
        )
        formats.sql(f"DELETE FROM {name} WHERE id % 2 = 1 AND id % 10 <> 3 AND id < 80")
    queries = [
        f"SELECT * FROM {name}",
        f"SELECT * FROM {name} WHERE id + 0 > 49 AND s.x + 0 > 3",
        f"SELECT s.y, a[1], m['k'] FROM {name} WHERE id + 0 > 20",
        f"SELECT count(*) FROM {name} WHERE t IS NOT NULL AND id % 3 = 1",
    ]
    assert len(formats.same(united(queries), **SESSIONS[session]).kept) == len(queries)


COLUMNS = (
    "id",
    "IF(id % 7 = 0, NULL, id % 3 = 0) b",
    *(
        f"IF(id % {n} = 1, NULL, CAST(id AS {kind})) c{n}"
        for n, kind in enumerate(("TINYINT", "SMALLINT", "INT", "FLOAT", "DOUBLE"), start=4)
    ),
    "CAST(id / 3 AS DECIMAL(9, 2)) d9",
    "CAST(id / 3 AS DECIMAL(18, 2)) d18",
    "IF(id % 5 = 0, NULL, CAST(id / 3 AS DECIMAL(38, 2))) d38",
    "IF(id % 9 = 0, NULL, concat('text ', id)) t",
    "CAST(concat('bytes ', id) AS BINARY) bin",
    "date_add(DATE'2024-01-01', CAST(id AS INT)) d",
    "timestamp_micros(id * 1000003) ts",
    "CAST(timestamp_micros(id * 1000003) AS TIMESTAMP_NTZ) ntz",
    "IF(id % 8 = 2, NULL, named_struct('x', id, 'y', named_struct('z', concat('z', id)))) s",
    "IF(id % 6 = 2, NULL, array(id, NULL, id + 1)) a",
    "array(named_struct('p', id)) aos",
    "map('k', id, 'l', NULL) m",
)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_fields_with_other_names_in_files(formats: Statements, mode: str) -> None:
    name = f"renamed_fields_{mode}"
    clause = properties(enableDeletionVectors="true", columnMapping_mode=mode)
    formats.sql(
        f"CREATE OR REPLACE TABLE {name} USING delta {clause} AS "
        "SELECT /*+ REPARTITION_BY_RANGE(2, id) */ id, named_struct('x', id, 'y', id + 1000, 'z', "
        "array(named_struct('p', id, 'q', -id))) s FROM range(60)"
    )
    for old, new in (("s.x", "t"), ("s.y", "x"), ("s.t", "`y.y`"), ("s.z.element.p", "r")):
        formats.sql(f"ALTER TABLE {name} RENAME COLUMN {old} TO {new}")
    formats.sql(f"DELETE FROM {name} WHERE id % 5 = 2")
    queries = [
        "SELECT s.x, s.`y.y`, s.z[0].r, s.z.q FROM {t} WHERE id + 0 > 7",
        "SELECT id FROM {t} WHERE s.x - 1000 < 9",
        "SELECT id FROM {t} ORDER BY s.`y.y` DESC LIMIT 3",
        "SELECT max(s.x), count(s.`y.y`) FROM {t} WHERE id >= 30",
    ]
    assert len(formats.same(united(queries, name)).kept) == len(queries)


def test_many_columns_and_none(formats: Statements) -> None:
    columns = ", ".join(f"id + {n} AS c{n}" for n in range(120))
    formats.sql(
        f"CREATE OR REPLACE TABLE wide USING delta {properties(enableDeletionVectors='true')} AS "
        f"SELECT /*+ REPARTITION_BY_RANGE(2, id) */ id, {columns} FROM range(40)"
    )
    formats.sql("DELETE FROM wide WHERE id % 4 = 1")
    for query in [
        "SELECT * FROM wide WHERE id + 0 > 4",
        "SELECT count(*) FROM wide WHERE c7 % 3 = 1",
    ]:
        assert formats.same(query, **BATCHES).kept


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_a_reader_that_is_turned_on_or_off_after_planning(
    formats: Statements, vectorized: str
) -> None:
    """Spark's readers follow the conf when they run. Without generated code, they return rows."""
    name = made(formats, "vectors")
    planned = {"spark.sql.parquet.enableVectorizedReader": vectorized}
    found = [
        formats.text_of(
            "tests.formats.in_session:planned_earlier",
            f"SELECT * FROM {name} WHERE id + 0 BETWEEN 95 AND 110",
            planned,
            {key: str(vectorized == "false").lower() for key in planned},
            **{"spark.tamis.enabled": enabled},
        )
        for enabled in ("false", "true")
    ]
    assert found[0] == found[1]


def test_partitions_of_which_rows_were_deleted(formats: Statements) -> None:
    formats.sql(
        f"CREATE OR REPLACE TABLE parts USING delta PARTITIONED BY (p, `q r`) "
        f"{properties(enableDeletionVectors='true', columnMapping_mode='name')} AS "
        "SELECT id, CAST(id % 3 AS DECIMAL(5, 2)) p, IF(id % 2 = 0, NULL, id % 2) `q r` FROM range(60)"
    )
    formats.sql("DELETE FROM parts WHERE id IN (3, 4, 5)")
    formats.sql("DELETE FROM parts WHERE p = 2 AND `q r` IS NULL")
    queries = [
        "SELECT p, `q r`, count(*), min(id), max(p) FROM {t} GROUP BY p, `q r`",
        "SELECT DISTINCT p, `q r` FROM {t}",
        "SELECT min(p), max(`q r`), count(`q r`) FROM {t}",
        "SELECT id FROM {t} WHERE p = 1 AND id + 0 < 20",
        "SELECT id FROM {t} WHERE `q r` IS NULL ORDER BY id LIMIT 2",
        "SELECT a.id FROM {t} a JOIN (SELECT * FROM {t} WHERE id + 0 = 9) b ON a.p = b.p",
        "SELECT `q r` FROM {t} WHERE id + 0 < 9",
    ]
    formats.same(united(queries, "parts"))


def test_caches_and_recursion(formats: Statements) -> None:
    name = made(formats, "vectors")
    formats.sql(f"CACHE TABLE of_vectors AS SELECT * FROM {name} WHERE id + 0 < 150")
    formats.same("SELECT count(*), min(id) FROM of_vectors")
    formats.sql("UNCACHE TABLE of_vectors")
    recursion = (
        f"WITH RECURSIVE r(n) AS (SELECT min(id) FROM {name} WHERE id + 0 > 99 UNION ALL "
        f"SELECT t.id FROM r JOIN {name} t ON t.id = r.n + 12 WHERE t.id < 130) SELECT * FROM r"
    )
    rows = formats.same(recursion).rows
    assert rows == ["(101,)", "(113,)", "(125,)"]
    assert formats.sql(recursion, **{"spark.sql.adaptive.enabled": "false"}).rows == rows


def test_commands_change_the_same_rows(formats: Statements) -> None:
    """Their source and subqueries are read by scans of tamis, their target by Delta's relation."""
    source = made(formats, "vectors")
    left: list[list[str]] = []
    for on in ("false", "true"):
        name = f"commands_{on}"
        formats.sql(f"DROP TABLE IF EXISTS {name}")
        formats.sql(f"CREATE TABLE {name} SHALLOW CLONE {source}")
        counted = []
        for statement in [
            f"DELETE FROM {name} WHERE id + 0 BETWEEN 99 AND 102",
            f"UPDATE {name} SET s = 'x' WHERE id * 2 > 990",
            f"MERGE INTO {name} t USING (SELECT * FROM {source} WHERE id + 0 BETWEEN 95 AND 104 "
            "ORDER BY id LIMIT 8) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET k = 100 "
            "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.id < 9 THEN DELETE",
            f"INSERT INTO {name} SELECT * FROM {name} ORDER BY id LIMIT 2",
        ]:
            counted += formats.sql(statement, **{"spark.tamis.enabled": on}).rows
        left.append(counted + formats.sql(f"SELECT * FROM {name} ORDER BY id, s").rows)
    assert left[0] == left[1]


def test_a_clone_that_is_created_again(formats: Statements) -> None:
    """It has the same files, and other deleted rows in the same version of the same log."""
    source = made(formats, "vectors")
    for count, ids in enumerate(["0", "1, 400"], start=1):
        formats.sql("DROP TABLE IF EXISTS again")
        formats.sql(f"CREATE TABLE again SHALLOW CLONE {source}")
        formats.sql(f"DELETE FROM again WHERE id IN ({ids})")
        answer = formats.same("SELECT count(*), count(id) FROM again WHERE id + 0 >= 0")
        assert (answer.rows, answer.scans) == ([f"({496 - count}, {496 - count})"], [])


OFF_READER = {"spark.tamis.deltaReader.enabled": "false"}


@pytest.mark.parametrize("kind", KINDS)
def test_without_deltas_reader(formats: Statements, plain: Plain, kind: str) -> None:
    """Filters choose files of Delta's relation, and ORDER BY with LIMIT does not."""
    name = made(formats, kind)
    filtered = f"SELECT count(*), max(id) FROM {name} WHERE id + 0 BETWEEN 99 AND 198"
    assert formats.same(filtered, **OFF_READER).kept == [2]
    sorted_rows = f"SELECT * FROM {name} ORDER BY id LIMIT 5"
    assert formats.same(sorted_rows, **OFF_READER).scans == []
    text = formats.text_of("tests.formats.in_session:explained", sorted_rows, **OFF_READER)
    assert "spark.tamis.deltaReader.enabled is false" in text
    shapes = [SHAPES[0], SHAPES[2], SHAPES[11]]
    assert formats.sql(united(shapes, name), **OFF_READER).rows == plain(shapes)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("by_name", {}), ("by_id", {"startingVersion": "0", "skipChangeCommits": "true"})],
)
def test_streams_and_tables_that_they_join(
    formats: Statements, kind: str, options: dict[str, str]
) -> None:
    """A stream is read by Delta, and a table that it joins by a scan of tamis."""
    tables = made(formats, "vectors"), made(formats, kind)
    keys = [(key,) for key in range(95, 203, 5) if key not in (100, 105)]
    streamed = formats.text_of("tests.formats.in_session:streamed_keys", *tables, options)
    assert streamed == str(keys)


def test_variants_keep_deltas_relation(formats: Statements) -> None:
    """Its deleted rows stay deleted."""
    formats.sql(
        f"CREATE OR REPLACE TABLE of_variants USING delta {properties(enableDeletionVectors='true')} "
        "AS SELECT /*+ REPARTITION_BY_RANGE(2, id) */ id, parse_json(string(id)) v FROM range(40)"
    )
    formats.sql("DELETE FROM of_variants WHERE id IN (3, 30)")
    query = "SELECT id, CAST(v AS INT) FROM of_variants WHERE id * 2 < 20"
    assert formats.same(query).kept == [1]
    formats.same(
        "SELECT count(*), min(id) FROM of_variants WHERE id IN (SELECT id FROM of_variants)"
    )
