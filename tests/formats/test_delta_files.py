"""Files of Delta tables that tamis chooses before Delta does (`spark.tamis.deltaFiles.enabled`).

The rows are those without tamis, and no query reads more files than when Delta chooses first. What
could go wrong, besides what tests of queries over Delta cover:

    another snapshot than Delta's               test_other_versions, test_commit_after_analysis
    scans of one query at two snapshots         test_commit_after_analysis
    entries of another snapshot of the table    test_commits_between_queries
    a filter that only Delta understands        test_filters_of_all_kinds, test_random_filters
    a scan below a part of its filters          test_filters_of_all_kinds
    bounds that are wider than those of Delta   test_random_filters, test_filters_at_edges
    a log that tamis cannot read                test_log_that_cannot_be_read
    Delta's LIMIT and answers from metadata     test_queries
    deletion vectors, names of columns          test_queries
    partition values of another time zone       test_partitions_of_times
    unusual names and values of partitions      test_unusual_partitions
    columns of Delta's metadata                 test_row_ids
    entries of a table that was replaced        test_replaced_table
    data of a cached query                      test_frames_around_commits
    a batch that sees an older static table     test_streams_that_join_a_table_that_changes
    what was learnt of a column's former name   test_renamed_column_is_another_one
    rows that a command reads                   test_delta.test_writes_are_as_without_tamis
    conflicts with other commits                test_row_level_commands
"""

from __future__ import annotations

import json
import re
import time
from ast import literal_eval
from pathlib import Path

import pytest

from tests.formats.tables import fill, united
from tests.formats.test_delta import properties, table
from tests.launch.statements import Answer, Statements

pytestmark = pytest.mark.spark

EARLY = {"spark.tamis.deltaFiles.enabled": "true"}
LATE = {"spark.tamis.deltaFiles.enabled": "false"}
OFF = {"spark.tamis.enabled": "false"}
#: What an earlier query found leaves out no files.
NOT_LEARNT = {"spark.tamis.remember.enabled": "false"}

TABLES = {
    "plain": "",
    "partitioned": "PARTITIONED BY (k)",
    "vectors": properties(enableDeletionVectors="true"),
    "named": properties(columnMapping_mode="name"),
}

QUERIES = [
    "SELECT * FROM {t}",
    "SELECT * FROM {t} WHERE id = 250",
    "SELECT * FROM {t} WHERE id + 1 > 450 AND k < 3",
    "SELECT * FROM {t} WHERE month(d) = 1 OR id = 499",
    "SELECT * FROM {t} WHERE s = 'text 77' OR s IS NULL",
    "SELECT * FROM {t} WHERE k = 3 AND id < 150",
    "SELECT * FROM {t} WHERE k IS NULL",
    "SELECT * FROM {t} WHERE id < 0",
    "SELECT count(*) FROM {t}",
    "SELECT count(*), min(id), max(d) FROM {t}",
    "SELECT count(*), min(id), max(d) FROM {t} WHERE id >= 150",
    "SELECT count(*) FROM (SELECT * FROM {t} WHERE id >= 100 LIMIT 40)",
    "SELECT count(*) FROM (SELECT * FROM {t} WHERE k = 2 LIMIT 3)",
    "SELECT count(*) FROM (SELECT * FROM {t} LIMIT 40)",
    "SELECT * FROM {t} WHERE id < 300 ORDER BY id DESC LIMIT 3",
    "SELECT k, sum(id) FROM {t} WHERE id BETWEEN 90 AND 110 GROUP BY k",
    "SELECT * FROM {t} a JOIN {t} b ON a.id = b.id + 100 WHERE a.id < 150",
    "SELECT * FROM {t} a FULL JOIN (SELECT * FROM {t} WHERE id > 450) b ON a.id = b.id AND a.id < 50",
    "SELECT * FROM {t} a LEFT ANTI JOIN {t} b ON a.id = b.id + 100 AND b.id < 200",
    "SELECT * FROM {t} WHERE id < 99 AND id IN (SELECT id + 50 FROM {t} WHERE id < 30)",
    "SELECT * FROM {t} WHERE id = (SELECT max(id) - 9 FROM {t} WHERE id < 200)",
    "SELECT id FROM {t} WHERE id < 20 UNION ALL SELECT id FROM {t} WHERE id > 480",
    "SELECT x.id FROM (SELECT id, id * 2 AS twice FROM {t} WHERE id < 250) x WHERE twice > 380",
    "SELECT *, _metadata.file_size > 0 FROM {t} WHERE id < 120",
    "SELECT * FROM {t} TABLESAMPLE (100 PERCENT) WHERE id < 120",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) "
    "SELECT * FROM r JOIN {t} ON n = id WHERE id < 100",
]


def early(formats: Statements, query: str, **confs: str) -> Answer:
    """Return the answer over files that tamis chose, which are as few as after Delta's choice."""
    confs |= NOT_LEARNT
    answer = formats.same(query, **EARLY, **confs)
    later = formats.sql(query, **LATE, **confs)
    assert answer.rows == later.rows, query
    assert sum(answer.kept) <= sum(later.kept), query
    assert not answer.warnings
    return answer


def planned(formats: Statements, queries: list[str], **confs: str) -> list[tuple[int, int]]:
    """Return the number of jobs that Spark runs to plan each query, and of files that it keeps."""
    found = formats.text_of("tests.formats.in_session:planned", queries, **confs)
    return [(jobs, kept) for jobs, kept in json.loads(found)]


def jobs(formats: Statements, query: str, **confs: str) -> int:
    """Return the number of jobs that Spark runs to plan a query."""
    ((number, _),) = planned(formats, [query], **confs)
    return number


def check_kept(formats: Statements, queries: list[str]) -> list[tuple[int, int]]:
    """Check that no query keeps more files than after Delta's choice. Return what `planned` does."""
    found = planned(formats, queries, **EARLY, **NOT_LEARNT)
    later = planned(formats, queries, **LATE, **NOT_LEARNT)
    pairs = zip(queries, found, later, strict=True)
    assert [query for query, (_, kept), (_, by_delta) in pairs if kept > by_delta] == []
    return found


def folder_of(formats: Statements, name: str) -> Path:
    (detail,) = formats.sql(f"DESCRIBE DETAIL {name}").rows
    (folder,) = re.findall(r"'file:([^']*)'", detail)
    return Path(folder)


@pytest.mark.parametrize("kind", TABLES)
def test_queries(formats: Statements, kind: str) -> None:
    name = table(formats, f"early_{kind}", TABLES[kind])
    formats.sql(f"INSERT INTO {name} VALUES (NULL, NULL, NULL, NULL), (-1, -1, '', NULL)")
    if kind != "plain":
        formats.sql(f"DELETE FROM {name} WHERE id IN (0, 105, 199)")
    if kind == "named":
        formats.sql(f"ALTER TABLE {name} RENAME COLUMN s TO t")
        formats.sql(f"ALTER TABLE {name} RENAME COLUMN t TO s")
    queries = QUERIES if kind in ("plain", "vectors") else QUERIES[::2]
    kept = []
    for query in queries:
        answer = formats.same(query.replace("{t}", name), **EARLY, **NOT_LEARNT)
        assert not answer.warnings
        kept.append(sum(answer.kept))
    by_delta = planned(
        formats, [query.replace("{t}", name) for query in queries], **LATE, **NOT_LEARNT
    )
    pairs = zip(queries, kept, by_delta, strict=True)
    assert [query for query, mine, (_, deltas) in pairs if mine > deltas] == []
    formats.same(united(queries[::5], name), **LATE)


def test_planning_runs_no_job(formats: Statements) -> None:
    name = table(formats, "early_jobs")
    query = f"SELECT * FROM {name} WHERE id = 250"
    formats.same(query, **EARLY)
    assert jobs(formats, query, **LATE) > 0
    assert jobs(formats, query, **EARLY) == 0
    assert early(formats, query).kept == [1]


#: Filters, and whether tamis chooses the files.
FILTERS = [
    ("id < 100 AND s LIKE '%7' AND f(s)", True),  # which Delta does not use either
    ("size(list) = 1", True),
    ("p.x < 100", True),
    ("p.x IS NOT NULL", True),
    ("p IS NULL", True),
    ("p.x IS NULL", False),  # writers count these in different ways
    ("NOT (p.x <=> 5)", False),
    ("f > 0.5", False),  # its bounds are wider by one number
    ("x > 450.5D", False),  # some writers leave NaN out of bounds
    ("i < 0 OR 450.5D <= x", False),
    ("x IN (450.5D, double('NaN'))", False),
    ("NOT (x = 450.5D)", False),
    ("x < 50.5D", True),
    ("i > 450 OR 50.5D > x", True),
    ("x = 450.5D", True),
    ("item IS NULL", False),  # also counted for elements of lists by some writers
    ("id < 100 AND rand() < 2", True),  # Delta, too, sees the scan without this filter
    ("d > DATE'0001-01-05'", False),  # bounds of another calendar are wider
    ("wide > 123456789012345.01BD", False),  # which other writers round
    ("s > 'a text of at least thirty-two bytes'", False),  # may be cut
    ("s = 'a text of at least thirty-two bytes'", True),
    ("s = 'a\ufffd'", False),
]


def test_filters_of_all_kinds(formats: Statements) -> None:
    """No part of the filter alone chooses the files, nor does a scan of all files replace it."""
    formats.sql("DROP TABLE IF EXISTS early_kinds")
    formats.sql(
        "CREATE TABLE early_kinds (id BIGINT, s STRING, p STRUCT<x: BIGINT>, "
        "list ARRAY<INT>, item INT, d DATE, f FLOAT, x DOUBLE, i INT, wide DECIMAL(25,5)) USING delta"
    )
    formats.sql(
        "INSERT INTO early_kinds SELECT /*+ REPARTITION_BY_RANGE(4, id) */ id, "
        "concat('text ', id), IF(id > 300, NULL, named_struct('x', id)), array(1), "
        "CAST(id AS INT) AS item, IF(id < 200, DATE'0001-01-01', DATE'2024-01-01'), "
        "CAST(id AS FLOAT) AS f, id + 0.5D AS x, CAST(id AS INT) AS i, "
        "123456789012345 + id / 100000 FROM range(500)"
    )
    formats.text_of("tests.formats.in_session:has_text")
    queries = [f"SELECT id FROM early_kinds WHERE {where}" for where, _ in FILTERS]
    early(formats, united(queries))
    jobs_of_planning = [jobs for jobs, _ in check_kept(formats, queries)]
    found = [(where, jobs == 0) for (where, _), jobs in zip(FILTERS, jobs_of_planning, strict=True)]
    assert found == FILTERS


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("d >= DATE'2024-01-01'", 1),  # not the file of dates of another calendar
        ("ts >= TIMESTAMP'2024-01-01'", 1),
        ("s = 'bc'", 0),  # less than a text with U+FFFD
    ],
)
def test_filters_at_edges(formats: Statements, where: str, kept: int) -> None:
    formats.sql(
        "CREATE TABLE IF NOT EXISTS early_edges (d DATE, ts TIMESTAMP, s STRING) USING delta"
    )
    if formats.sql("SELECT s FROM early_edges").rows == []:
        for values in [
            "DATE'0001-01-01', TIMESTAMP'0001-01-01', 'b\ufffd'",
            "DATE'2024-01-01', TIMESTAMP'2024-01-01', 'c'",
        ]:
            formats.sql(f"INSERT INTO early_edges VALUES ({values})")
    assert sum(early(formats, f"SELECT s FROM early_edges WHERE {where}").kept) == kept


def test_generated_partitions(formats: Statements) -> None:
    """Delta derives a filter over the partition."""
    formats.sql("DROP TABLE IF EXISTS early_generated")
    formats.sql(
        "CREATE TABLE early_generated (id BIGINT, g INT, part INT GENERATED ALWAYS AS (g)) "
        "USING delta PARTITIONED BY (part)"
    )
    formats.sql(
        "INSERT INTO early_generated (id, g) SELECT id, CAST(id DIV 100 AS INT) FROM range(500)"
    )
    early(formats, "SELECT * FROM early_generated WHERE g = 4")


def test_minima_of_equal_values(formats: Statements) -> None:
    """Delta can evaluate any filter on files in which all values are equal, if a conf allows this."""
    formats.sql("DROP TABLE IF EXISTS early_minima")
    formats.sql("CREATE TABLE early_minima (s STRING) USING delta CLUSTER BY (s)")
    for text in "abcd":
        formats.sql(f"INSERT INTO early_minima VALUES ('{text}')")
    skipping = {
        "spark.databricks.delta.skipping.partitionLikeFilters.enabled": "true",
        "spark.databricks.delta.skipping.partitionLikeDataSkippingFilesThreshold": "1",
    }
    query = "SELECT * FROM early_minima WHERE reverse(md5(s)) < '8'"
    early(formats, query)
    early(formats, query, **skipping)


def test_log_that_cannot_be_read(formats: Statements) -> None:
    """The query then ends as with Delta alone, which knows the snapshot from before."""
    name = table(formats, "early_unreadable")
    query = f"SELECT * FROM {name} WHERE id = 250"

    def ending(**confs: str) -> list[str] | str:
        try:
            return formats.sql(query, **confs).rows
        except AssertionError as error:
            (code,) = set(re.findall(r"\[(FAILED_\w+)", str(error)))
            return str(code)

    assert len(ending(**OFF)) == 1
    logs = folder_of(formats, name).glob("_delta_log/*.json")
    (log,) = (each for each in logs if b'"add"' in each.read_bytes())
    content = log.read_bytes()
    log.write_bytes(b"{" * len(content))
    try:
        alone, early = ending(**OFF), ending(**EARLY)
    finally:
        log.write_bytes(content)
    assert early == alone


def test_random_filters(formats: Statements, tmp_path: Path) -> None:
    run = "tests.formats.random_delta_filters:run"
    tally = json.loads(formats.text_of(run, 1, 48, str(tmp_path)))
    assert tally["problems"] == []
    assert tally["queries"] >= 48
    assert tally["early"] > tally["queries"] / 2
    assert tally["kept"] < tally["by Delta"]


def test_commits_between_queries(formats: Statements) -> None:
    name = table(formats, "early_commits", TABLES["vectors"], files=2)
    query = united(
        ["SELECT count(*) FROM {t} WHERE id >= 50", "SELECT * FROM {t} WHERE k = 1"], name
    )
    for statement in [
        f"DELETE FROM {name} WHERE id = 60",
        f"DELETE FROM {name} WHERE id < 100",
        f"UPDATE {name} SET k = 1 WHERE id BETWEEN 120 AND 130",
        f"MERGE INTO {name} t USING (SELECT explode(sequence(190, 210)) id) s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, k) VALUES (s.id, 1)",
        f"OPTIMIZE {name}",
        f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE id <> 150",
        f"RESTORE TABLE {name} TO VERSION AS OF 0",
        f"ALTER TABLE {name} ADD COLUMN more INT",
        f"TRUNCATE TABLE {name}",
    ]:
        early(formats, query)
        formats.sql(statement, **EARLY)
    early(formats, query)


def test_other_versions(formats: Statements) -> None:
    name = table(formats, "early_versions", TABLES["vectors"], files=2)
    fill(formats, name, 2, 2)
    formats.sql(f"DELETE FROM {name} WHERE id = 160")
    log = folder_of(formats, name) / "_delta_log"
    for version in (0, 1, 2):
        old_rows = f"SELECT count(id), max(s) FROM {name} VERSION AS OF {version} WHERE id > 5"
        assert jobs(formats, old_rows, **EARLY) == jobs(formats, old_rows, **LATE)
        old = f"{name} VERSION AS OF {version}"
        time = (log / f"{version:020}.json").stat().st_mtime_ns // 10**6
        at_time = f"{name} TIMESTAMP AS OF timestamp_millis({time})"
        queries = [
            old_rows,
            f"SELECT * FROM {at_time} WHERE id > 150",
            f"SELECT count(*) FROM {old} WHERE id > 150",
            f"SELECT * FROM {old} a LEFT JOIN {name} b ON a.id = b.id AND b.id < 170 WHERE a.id > 155",
        ]
        early(formats, united(queries))


def test_commit_after_analysis(formats: Statements) -> None:
    """All scans of a query read one snapshot: that of Delta."""
    name = table(formats, "early_later", files=2)
    query = (
        f"SELECT (SELECT count(*) FROM {name} WHERE id >= 0), (SELECT count(*) FROM {name} WHERE "
        f"id % 2 < 2), a.n, b.n FROM (SELECT count(*) n FROM {name} WHERE id < 1000) a, "
        f"(SELECT count(*) n FROM {name} WHERE f(s) OR id < 1000) b"
    )
    for confs in (OFF, EARLY):
        text = formats.text_of("tests.formats.in_session:after_insert", query, name, **confs)
        counts = {int(each) for each in text.split()}
        assert len(counts) == 1, text


def test_partitions_of_times(formats: Statements) -> None:
    formats.sql("DROP TABLE IF EXISTS early_times")
    formats.sql("CREATE TABLE early_times (id INT, ts TIMESTAMP) USING delta PARTITIONED BY (ts)")
    formats.sql(
        "INSERT INTO early_times SELECT id, TIMESTAMP'2024-03-10 00:00:00' + make_dt_interval(0, id) "
        "FROM (SELECT CAST(id AS INT) id FROM range(30))"
    )
    for zone in ("UTC", "America/New_York", "Asia/Kolkata"):
        queries = [
            f"SELECT id, CAST(ts AS STRING) FROM early_times WHERE {where}"
            for where in ("ts >= TIMESTAMP'2024-03-10 20:00:00'", "hour(ts) = 3", "id < 3")
        ]
        early(formats, united(queries), **{"spark.sql.session.timeZone": zone})


def test_unusual_partitions(formats: Statements) -> None:
    formats.sql("DROP TABLE IF EXISTS early_unusual")
    formats.sql(
        "CREATE TABLE early_unusual (id INT, `a b=c` STRING, `\u00dc.x` DATE, n DECIMAL(10,2), "
        "b BOOLEAN) USING delta PARTITIONED BY (`a b=c`, `\u00dc.x`, n, b) "
        + properties(columnMapping_mode="name")
    )
    formats.sql(
        "INSERT INTO early_unusual VALUES (1, 'x/y', DATE'2024-01-01', 1.5, true), "
        "(2, NULL, NULL, NULL, NULL), (3, '', DATE'1500-01-01', -0.01, false), "
        "(4, 'a=b%20', DATE'2024-01-01', 1.50, NULL), "
        "(5, '__HIVE_DEFAULT_PARTITION__', NULL, 0, true), (6, ' ', DATE'9999-12-31', 9e7, false)"
    )
    for where in [
        "`a b=c` = 'x/y' OR length(`a b=c`) = 1",
        "`a b=c` IS NULL",
        "`a b=c` <=> '' OR `a b=c` LIKE 'a=b%20'",
        "`a b=c` = '__HIVE_DEFAULT_PARTITION__'",
        "year(`\u00dc.x`) = 9999 OR `\u00dc.x` < DATE'1600-01-01'",
        "n = 1.5 AND b",
        "NOT b AND id > 1",
    ]:
        early(formats, f"SELECT * FROM early_unusual WHERE {where}")


def test_row_ids(formats: Statements) -> None:
    clause = properties(enableRowTracking="true", enableDeletionVectors="true")
    name = table(formats, "early_row_ids", clause, files=3)
    formats.sql(f"UPDATE {name} SET s = 'changed' WHERE id = 120")
    for query in [
        f"SELECT id, _metadata.row_id FROM {name} WHERE id BETWEEN 95 AND 125",
        f"SELECT id FROM {name} WHERE _metadata.row_id < 5 OR id = 120",
        f"SELECT id, _metadata.row_commit_version FROM {name} WHERE id + 1 = 121",
    ]:
        early(formats, query)


def test_replaced_table(formats: Statements) -> None:
    name = table(formats, "early_replaced", files=2)
    for number in (0, 100):
        early(formats, f"SELECT * FROM {name} WHERE id < 150")
        formats.sql(
            f"CREATE OR REPLACE TABLE {name} USING delta AS "
            f"SELECT id + {number} AS id, CAST(id AS STRING) AS s, id AS k FROM range(200)"
        )
    early(formats, f"SELECT * FROM {name} WHERE id < 150 AND k > 20")


def test_frames_around_commits(formats: Statements) -> None:
    """A cached frame, and one that is collected again, are what they are with Delta alone."""
    found = []
    for kind, confs in (("off", OFF), ("on", EARLY)):
        name = table(formats, f"early_frames_{kind}", files=2)
        found.append(formats.text_of("tests.formats.in_session:around_commits", name, **confs))
    assert found[0] == found[1]


def test_streams_that_join_a_table_that_changes(formats: Statements) -> None:
    """Each batch joins the version that is the latest when it begins."""
    tables = table(formats, "early_streamed", files=2), table(formats, "early_static", files=2)
    found = formats.text_of("tests.formats.in_session:joined_batches", *tables, **EARLY)
    batches = literal_eval(found)
    assert len(batches) == 2
    for number, rows in enumerate(batches):
        ids = range(95, 100) if rows[0][0] < 100 else range(100, 200)
        of_ids = {key: 10 if number == 1 and key % 3 == 0 else key % 7 for key in ids}
        assert rows == [(key, k) for key, k in of_ids.items() if k != 5]


def test_renamed_column_is_another_one(formats: Statements) -> None:
    """The files stay the same, and what was learnt of them remains."""
    name = table(formats, "early_renamed", files=2)
    condition = "s RLIKE 'text [0-9]+'"  # true for every row
    until = time.monotonic() + 60
    while name not in str(formats.sql("SELECT * FROM tamis_remembered()").rows):
        assert time.monotonic() < until  # notes are stored after the query
        formats.same(f"SELECT * FROM {name} WHERE {condition}", **EARLY)
    formats.sql(f"ALTER TABLE {name} SET {properties(columnMapping_mode='name')}")
    formats.sql(f"ALTER TABLE {name} RENAME COLUMN s TO old")
    formats.sql(f"ALTER TABLE {name} ADD COLUMN s STRING")
    assert formats.same(f"SELECT * FROM {name} WHERE {condition}", **EARLY).rows == []
    assert len(formats.same(f"SELECT id FROM {name} WHERE old RLIKE 'text'", **EARLY).rows) == 200
