"""Files of Delta tables that tamis chooses before Delta does (`spark.tamis.deltaFiles.enabled`).

The rows are those without tamis, and no query reads more files than when Delta chooses first. What
could go wrong, besides what tests of queries over Delta cover:

    another snapshot than Delta's               test_other_versions, test_commit_after_analysis
    scans of one query at two snapshots         test_commit_after_analysis
    entries of another snapshot of the table    test_commits_between_queries
    a filter that only Delta understands        test_delta_chooses
    a scan below a part of its filters          test_delta_chooses
    Delta's LIMIT and answers from metadata     test_queries
    deletion vectors, names of columns          test_queries
    partition values of another time zone       test_partitions_of_times
    conflicts with other commits                test_commands_leave_the_choice_to_delta
"""

from __future__ import annotations

import pytest

from tests.formats.tables import fill
from tests.formats.test_delta import properties, table
from tests.launch.statements import Answer, Statements

pytestmark = pytest.mark.spark

EARLY = {"spark.tamis.deltaFiles.enabled": "true"}

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
    confs |= {"spark.tamis.remember.enabled": "false"}  # of what the first query found
    answer = formats.same(query, **EARLY, **confs)
    later = formats.sql(query, **confs)
    assert answer.rows == later.rows, query
    assert sum(answer.kept) <= sum(later.kept), query
    assert not answer.warnings
    return answer


def jobs(formats: Statements, query: str, **confs: str) -> int:
    """Return the number of jobs that Spark runs to plan a query."""
    return int(formats.text_of("tests.formats.in_session:jobs_of_planning", query, **confs))


@pytest.mark.parametrize("kind", TABLES)
def test_queries(formats: Statements, kind: str) -> None:
    name = table(formats, f"early_{kind}", TABLES[kind])
    formats.sql(f"INSERT INTO {name} VALUES (NULL, NULL, NULL, NULL), (-1, -1, '', NULL)")
    if kind != "plain":
        formats.sql(f"DELETE FROM {name} WHERE id IN (0, 105, 199)")
    if kind == "named":
        formats.sql(f"ALTER TABLE {name} RENAME COLUMN s TO t")
        formats.sql(f"ALTER TABLE {name} RENAME COLUMN t TO s")
    for query in QUERIES:
        early(formats, query.replace("{t}", name))


def test_planning_runs_no_job(formats: Statements) -> None:
    name = table(formats, "early_jobs")
    query = f"SELECT * FROM {name} WHERE id = 250"
    formats.same(query, **EARLY)
    assert jobs(formats, query) > 0
    assert jobs(formats, query, **EARLY) == 0
    assert early(formats, query).kept == [1]


@pytest.mark.parametrize(
    "where",
    [
        "id < 100 AND s LIKE '%7' AND f(s)",  # nothing is known about a function of the user
        "p.x < 100",  # of a field
        "p IS NULL",
        "id < 100 AND rand() < 2",
        "g = 4",  # Delta derives a filter over the partition
    ],
)
def test_delta_chooses(formats: Statements, where: str) -> None:
    """No part of the filter alone chooses the files, nor does a scan of all files replace it."""
    formats.sql("DROP TABLE IF EXISTS early_left")
    formats.sql(
        "CREATE TABLE early_left (id BIGINT, s STRING, p STRUCT<x: BIGINT>, g INT, "
        "part INT GENERATED ALWAYS AS (g)) USING delta PARTITIONED BY (part)"
    )
    formats.sql(
        "INSERT INTO early_left (id, s, p, g) SELECT /*+ REPARTITION_BY_RANGE(4, id) */ id, "
        "concat('text ', id), IF(id > 300, NULL, named_struct('x', id)), CAST(id DIV 100 AS INT) "
        "FROM range(500)"
    )
    formats.text_of("tests.formats.in_session:has_text")
    early(formats, f"SELECT * FROM early_left WHERE {where}")


def test_commits_between_queries(formats: Statements) -> None:
    name = table(formats, "early_commits", TABLES["vectors"], files=2)
    counted, rows = (
        f"SELECT count(*) FROM {name} WHERE id >= 50",
        f"SELECT * FROM {name} WHERE k = 1",
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
        for query in (counted, rows):
            early(formats, query)
        formats.sql(statement, **EARLY)
    early(formats, counted)
    early(formats, rows)


def test_other_versions(formats: Statements) -> None:
    name = table(formats, "early_versions", TABLES["vectors"], files=2)
    fill(formats, name, 2, 2)
    formats.sql(f"DELETE FROM {name} WHERE id = 160")
    for version in (0, 1, 2):
        old = f"{name} VERSION AS OF {version}"
        for query in [
            f"SELECT * FROM {old} WHERE id > 150",
            f"SELECT count(*) FROM {old} WHERE id > 150",
            f"SELECT * FROM {old} a LEFT JOIN {name} b ON a.id = b.id AND b.id < 170 WHERE a.id > 155",
        ]:
            early(formats, query)


def test_commit_after_analysis(formats: Statements) -> None:
    """All scans of a query read one snapshot: that of Delta."""
    name = table(formats, "early_later", files=2)
    query = (
        f"SELECT (SELECT count(*) FROM {name} WHERE id >= 0), (SELECT count(*) FROM {name} WHERE "
        f"id % 2 < 2), a.n, b.n FROM (SELECT count(*) n FROM {name} WHERE id < 1000) a, "
        f"(SELECT count(*) n FROM {name} WHERE f(s) OR id < 1000) b"
    )
    for confs in ({"spark.tamis.enabled": "false"}, EARLY):
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
        for where in ("ts >= TIMESTAMP'2024-03-10 20:00:00'", "hour(ts) = 3", "id < 3"):
            early(
                formats,
                f"SELECT id, CAST(ts AS STRING) FROM early_times WHERE {where}",
                **{"spark.sql.session.timeZone": zone},
            )


def test_commands_leave_the_choice_to_delta(formats: Statements) -> None:
    """Within its transaction, Delta remembers what is read."""
    names = []
    for on in ("false", "true"):
        names.append(table(formats, f"early_written_{on}", TABLES["vectors"]))
        for statement in [
            f"UPDATE {names[-1]} SET s = 'changed' WHERE id BETWEEN 95 AND 105",
            f"DELETE FROM {names[-1]} WHERE id > 440 AND k = 1",
            f"INSERT INTO {names[-1]} SELECT id + 1000, k, s, d FROM {names[-1]} WHERE id < 40",
            f"MERGE INTO {names[-1]} t USING (SELECT * FROM {names[-1]} WHERE id < 50) s "
            "ON t.id = s.id + 1 WHEN MATCHED THEN UPDATE SET k = 100 WHEN NOT MATCHED THEN INSERT *",
            f"INSERT OVERWRITE {names[-1]} SELECT * FROM {names[-1]} WHERE id <> 3",
        ]:
            formats.sql(statement, **{"spark.tamis.deltaFiles.enabled": on})
    by_delta, by_tamis = (formats.sql(f"SELECT * FROM {name}").rows for name in names)
    assert by_tamis == by_delta
