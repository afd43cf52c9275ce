"""ORDER BY with LIMIT reads a sample first where a filter decides which rows count."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import read_parquet, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 100


@pytest.fixture(scope="module")
def kinds_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a number for some values of `mode`, in one file."""
    path = str(tmp_path_factory.mktemp("sampled") / "kinds")
    kinds = spark_session.sql("SELECT * FROM VALUES ('0', 9L), ('1', 4L), ('2', 7L) AS v (kind, k)")
    kinds.coalesce(1).write.parquet(path)
    return path


@pytest.fixture(scope="module")
def sorted_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 100,000 rows in 100 files clustered by id, with columns that follow id and others."""
    path = str(tmp_path_factory.mktemp("sampled") / "t")
    # one partition for each file: repartitionByRange takes its bounds from a sample
    frame = spark_session.range(0, 100_000, 1, FILES).selectExpr(
        "id",
        "CAST(pmod(hash(id), 7) AS STRING) AS mode",
        "date_add(DATE '1995-01-01', CAST(id DIV 125 AS INT)) AS day",
        "CAST(id * 1.5 AS DECIMAL(12, 2)) AS price",
        "concat('name ', lpad(CAST(id AS STRING), 6, '0')) AS name",
        "IF(id % 10 = 0, NULL, id) AS some",
        "IF(id = 7777, DOUBLE('NaN'), IF(id = 50000, -0.0D, id - 50000.0D)) AS x",
        "id DIV 50000 AS half",
        "named_struct('a', id, 'b.c', -id) AS item",
        "-id AS `odd ``na.me`",
        "pmod(hash(id, 3), 1000) AS spread",
    )
    frame.write.parquet(path)
    tamis.index(spark_session, path).build(fill_gaps=False, columns={"x": "bounds"})
    return path


@pytest.fixture
def rows(spark: SparkSession, sorted_path: str, kinds_path: str) -> SparkSession:
    """Return the session with the views `t` and `kinds`, where a small gain is enough."""
    spark.conf.set("spark.tamis.topK.sample.minSaved", "1ms")
    read_parquet(spark, sorted_path).createOrReplaceTempView("t")
    read_parquet(spark, kinds_path).createOrReplaceTempView("kinds")
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW dims AS "
        "SELECT * FROM VALUES ('0', 0), ('1', 2), ('2', 4), ('3', 6) AS dims (m, n)"
    )
    return spark


def compared(
    spark: SparkSession, statement: str, known: dict[str, list[str]] | None = None
) -> DataFrame:
    """Return the frame, which has run with tamis on, and whose rows are those with tamis off.

    Args:
        spark: The session.
        statement: A query.
        known: The rows of queries with tamis off. Those of this query are added.
    """
    known = {} if known is None else known
    if statement not in known:
        spark.conf.set("spark.tamis.enabled", "false")
        known[statement] = [repr(tuple(row)) for row in spark.sql(statement).collect()]
        spark.conf.set("spark.tamis.enabled", "true")
    frame = spark.sql(statement)
    assert [repr(tuple(row)) for row in frame.collect()] == known[statement]
    return frame


_OF_FIXED_TABLES: dict[str, list[str]] = {}


def compared_once(rows: SparkSession, statement: str) -> DataFrame:
    """Compare as `compared` does. A query of the views of `rows` runs with tamis off only once."""
    return compared(rows, statement, _OF_FIXED_TABLES)


def files_read(frame: DataFrame) -> dict[str, list[int]]:
    """Return the number of files that samples and other scans have opened."""
    opened: dict[str, list[int]] = {"samples": [], "scans": []}
    for scan in scans(frame):
        is_sample = any(each["goal"].startswith("sample for") for each in scan["goals"])
        opened["samples" if is_sample else "scans"].append(scan["files_read"])
    return opened


# statement, files that samples open, files that the scan opens
SAMPLED: list[tuple[str, list[int], list[int]]] = [
    ("SELECT * FROM t WHERE mode = '3' ORDER BY id DESC LIMIT 10", [1], [1]),
    ("SELECT * FROM t WHERE mode = '3' ORDER BY id LIMIT 10", [1], [1]),
    ("SELECT id FROM t WHERE mode LIKE '%3%' ORDER BY id NULLS LAST LIMIT 10", [1], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY day, id LIMIT 10", [1], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY price DESC, id LIMIT 10", [1], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY name, id LIMIT 10", [1], [1]),
    ("SELECT name AS n FROM t WHERE mode = '3' ORDER BY n LIMIT 1", [1], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY id LIMIT 10 OFFSET 5", [2], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY -id LIMIT 10", [1], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY year(day), id LIMIT 10", [1], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY item.a LIMIT 10", [1], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY item.`b.c` LIMIT 10", [1], [1]),
    ("SELECT id FROM t WHERE mode = '3' ORDER BY `odd ``na.me` LIMIT 10", [1], [1]),
    ("SELECT id, x FROM t WHERE mode = '3' ORDER BY x, id LIMIT 10", [1], [1]),
    # NaN is the greatest value
    ("SELECT id, x FROM t WHERE mode = '3' ORDER BY x DESC, id LIMIT 3", [1], [2]),
    # NULLs in every file
    ("SELECT id, some FROM t WHERE mode = '3' ORDER BY some, id LIMIT 10", [], [100]),
    ("SELECT id, some FROM t WHERE mode = '3' ORDER BY some DESC, id LIMIT 10", [1], [1]),
    ("SELECT id, some FROM t WHERE mode = '3' ORDER BY some NULLS LAST, id LIMIT 9", [1], [1]),
    ("SELECT id, some FROM t WHERE mode = '3' AND some > 0 ORDER BY some LIMIT 9", [3], [1]),
    # ties of the first key
    ("SELECT half, id FROM t WHERE mode = '3' ORDER BY half, id LIMIT 10", [1], [1]),
    ("SELECT half, id FROM t WHERE mode = '3' ORDER BY half DESC, id DESC LIMIT 10", [1], [1]),
    # the second sample gives the answer
    ("SELECT id, name, price FROM t WHERE name LIKE '%77%3' ORDER BY id LIMIT 3", [1, 5], [3]),
    # of a thousand values, one is too rare
    ("SELECT id FROM t WHERE spread = 3 ORDER BY id LIMIT 3", [], [100]),
    # no sample has enough rows
    ("SELECT id FROM t WHERE name LIKE '%4444%3' ORDER BY id DESC LIMIT 2", [1, 3], [100]),
    # statistics are enough
    ("SELECT id FROM t WHERE id > 500 ORDER BY id LIMIT 10", [], [2]),
    # every file may hold one of the first rows
    ("SELECT id FROM t WHERE mode = '3' ORDER BY spread, id LIMIT 3", [], [100]),
    # not repeatable, or not on the scan
    (
        "SELECT id FROM t WHERE mode = '3' AND monotonically_increasing_id() >= 0 ORDER BY id LIMIT 10",
        [],
        [100],
    ),
    ("SELECT id FROM t WHERE mode = (SELECT max(m) FROM dims) ORDER BY id LIMIT 3", [], [100]),
    ("SELECT DISTINCT id FROM t WHERE mode = '3' ORDER BY id LIMIT 10", [], [100]),
    # joins
    ("SELECT id, n FROM t JOIN dims ON mode = m ORDER BY id LIMIT 10", [1], [1]),
    (
        "SELECT id, n FROM t JOIN dims ON mode = m WHERE n > 2 ORDER BY id DESC, n LIMIT 9",
        [1],
        [1],
    ),
    ("SELECT id, n FROM t LEFT JOIN dims ON mode = m ORDER BY id DESC LIMIT 10", [1], [1]),
    ("SELECT id, n FROM dims RIGHT JOIN t ON mode = m ORDER BY id DESC, n LIMIT 10", [1], [1]),
    ("SELECT id FROM t LEFT SEMI JOIN dims ON mode = m ORDER BY id LIMIT 10", [1], [1]),
    ("SELECT id FROM t LEFT ANTI JOIN dims ON mode = m ORDER BY id LIMIT 10", [1], [1]),
    (
        "SELECT id, n FROM t RIGHT JOIN dims ON mode = m ORDER BY id NULLS LAST, n LIMIT 10",
        [],
        [100],
    ),
    ("SELECT id, n FROM t FULL JOIN dims ON mode = m ORDER BY id DESC LIMIT 10", [], [100]),
    ("SELECT id, n FROM t JOIN dims ON mode = m ORDER BY n, id LIMIT 10", [], [100]),
    # the second key is of another scan
    (
        "SELECT id, k FROM t JOIN kinds ON mode = kind ORDER BY day, k, id LIMIT 10",
        [1],
        [1, 1, 1],
    ),
]


@pytest.mark.parametrize(
    ("statement", "samples", "opened"), SAMPLED, ids=[each for each, *_ in SAMPLED]
)
def test_sample_rules_out_files(
    rows: SparkSession, statement: str, samples: list[int], opened: list[int]
) -> None:
    frame = compared_once(rows, statement)
    assert files_read(frame) == {"samples": samples, "scans": opened}


ROWS_OF_MODE = "SELECT id FROM t WHERE mode = '3' ORDER BY id DESC LIMIT 10"


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.adaptive.enabled": "false"},
        {"spark.sql.adaptive.enabled": "false", "spark.sql.execution.reuseSubquery": "false"},
        {"spark.sql.execution.reuseSubquery": "false"},
        {"spark.sql.exchange.reuse": "false"},
        {"spark.sql.parquet.enableVectorizedReader": "false"},
        {"spark.sql.execution.topKSortFallbackThreshold": "1"},
        {"spark.sql.ansi.enabled": "false"},
        {"spark.sql.cbo.enabled": "true"},
    ],
    ids=str,
)
def test_samples_in_other_execution_modes(rows: SparkSession, settings: dict[str, str]) -> None:
    for name, value in settings.items():
        rows.conf.set(name, value)
    read = files_read(compared_once(rows, ROWS_OF_MODE))
    assert (read["samples"][0], read["scans"]) == (1, [1])
    # the second sample answers
    rare = "SELECT id, name FROM t WHERE name LIKE '%77%3' ORDER BY id LIMIT 3"
    assert files_read(compared_once(rows, rare))["scans"] == [3]


# statement, files that scans other than samples open
POSITIONS = [
    (f"SELECT count(*) FROM t WHERE id IN ({ROWS_OF_MODE})", [1, 1]),
    (f"SELECT max(id) FROM ({ROWS_OF_MODE})", [1]),
    (f"SELECT a.id FROM ({ROWS_OF_MODE}) a JOIN ({ROWS_OF_MODE}) b USING (id) ORDER BY 1", [1]),
    (f"({ROWS_OF_MODE}) UNION ALL (SELECT id FROM t WHERE mode = '4' ORDER BY id LIMIT 2)", [1, 1]),
    (f"WITH c AS ({ROWS_OF_MODE}) SELECT * FROM c WHERE id > 3 ORDER BY id", [1]),
    ("SELECT (SELECT id FROM t WHERE mode = '3' ORDER BY id DESC LIMIT 1) FROM range(1)", [1]),
    (
        "SELECT * FROM (SELECT id, rank() OVER (ORDER BY id) r FROM t WHERE mode = '3') WHERE r < 4",
        [100],
    ),
]


@pytest.mark.parametrize(("statement", "opened"), POSITIONS, ids=[each for each, _ in POSITIONS])
def test_samples_in_other_places_of_a_plan(
    rows: SparkSession, statement: str, opened: list[int]
) -> None:
    read = files_read(compared_once(rows, statement))
    assert sorted(set(read["scans"])) == sorted(set(opened))


def test_no_sample_where_a_filter_may_raise(rows: SparkSession) -> None:
    """Plain Spark evaluates the filter on the rows of every file."""
    rows.conf.set("spark.sql.ansi.enabled", "true")
    statement = (
        "SELECT id FROM t WHERE 1000 / (id - {}) <> 7.5 AND mode = '3' ORDER BY id DESC LIMIT 3"
    )
    for enabled in ("false", "true"):
        rows.conf.set("spark.tamis.enabled", enabled)
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            rows.sql(statement.format(5)).collect()
    # statistics show that no row raises
    assert files_read(compared_once(rows, statement.format("100000"))) == {
        "samples": [1],
        "scans": [1],
    }


def test_a_sample_that_was_too_small_is_not_read_again(rows: SparkSession) -> None:
    statement = "SELECT name, price FROM t WHERE name LIKE '%55556%7' ORDER BY id LIMIT 3"
    assert files_read(compared_once(rows, statement)) == {"samples": [1, 5], "scans": [100]}
    frame = compared_once(rows, statement)
    assert files_read(frame) == {"samples": [], "scans": [100]}
    assert scans(frame)[0]["goals"][0]["reason"]["code"] == "TOPK_SAMPLE_TOO_SMALL"
    # other rows may be found
    assert files_read(compared_once(rows, statement.replace("LIMIT 3", "LIMIT 2")))["samples"] == [
        1,
        3,
    ]


def test_conf_turns_samples_off(rows: SparkSession) -> None:
    rows.conf.set("spark.tamis.topK.sample.enabled", "false")
    assert files_read(compared_once(rows, ROWS_OF_MODE)) == {"samples": [], "scans": [100]}


def test_small_gains_are_left(rows: SparkSession) -> None:
    rows.conf.unset("spark.tamis.topK.sample.minSaved")
    rows.conf.set("spark.tamis.topK.sample.minSaved", "10s")
    assert files_read(compared_once(rows, ROWS_OF_MODE)) == {"samples": [], "scans": [100]}


def test_explanations_name_the_sample(rows: SparkSession) -> None:
    frame = compared_once(rows, ROWS_OF_MODE)
    text = str(tamis.explain(frame))
    assert "(among the first 10 by id DESC NULLS LAST, known from a sample)" in text
    assert "goal        sample for the first 10 by id DESC NULLS LAST" in text
    assert "1 of 100 files were read after run-time filters" in text


def test_a_frame_runs_again_and_is_cached(rows: SparkSession) -> None:
    frame = rows.sql(ROWS_OF_MODE)
    assert frame.collect() == frame.collect()
    cached = rows.sql(ROWS_OF_MODE).cache()
    assert cached.collect() == frame.collect()
    assert rows.table("t").where("mode = '3'").count() > 10
    cached.unpersist()


def jobs_of(spark: SparkSession, action: Callable[[], object]) -> int:
    """Return the number of jobs that the action runs."""
    tracker = spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup("counted"))
    spark.sparkContext.setJobGroup("counted", "counted")
    try:
        action()
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        spark.sparkContext.setLocalProperty("spark.job.description", None)
    return len(tracker.getJobIdsForGroup("counted")) - before


def test_a_sample_is_read_once_and_only_when_the_query_runs(rows: SparkSession) -> None:
    frame = rows.sql(ROWS_OF_MODE)
    assert jobs_of(rows, frame.explain) == 0
    assert jobs_of(rows, lambda: tamis.explain(frame)) == 0
    assert jobs_of(rows, frame.collect) == 2  # the sample, and the scan
    assert jobs_of(rows, frame.collect) == 1
    # an action of its own has a plan of its own
    assert jobs_of(rows, lambda: frame.toLocalIterator()) == 0
    assert [row.id for row in frame.toLocalIterator()] == [row.id for row in frame.collect()]
    assert [row.id for row in frame.rdd.collect()] == [row.id for row in frame.collect()]


def test_a_sample_leaves_the_plan_as_spark_plans_it(rows: SparkSession) -> None:
    def plan(on: str) -> list[str]:
        rows.conf.set("spark.tamis.enabled", on)
        frame = rows.sql(ROWS_OF_MODE)
        frame.collect()
        text = frame._jdf.queryExecution().executedPlan().toString()
        return [line.split("(")[0].strip(" +-:*") for line in text.splitlines()]

    # no exchange, and so no adaptive execution and no subquery
    assert plan("true")[0] == plan("false")[0] == "TakeOrderedAndProject"
    assert not any("Adaptive" in line or "Subquery" in line for line in plan("true"))


def test_frames_that_run_at_the_same_time_share_a_sample(rows: SparkSession) -> None:
    frame = rows.sql(ROWS_OF_MODE)
    found: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: found.append([row.id for row in frame.collect()]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[row.id for row in compared_once(rows, ROWS_OF_MODE).collect()]] * 4


# parts of one query over the same files, which need different rows of them
DIFFERENT = [
    "SELECT id FROM t WHERE mode = '3' ORDER BY id LIMIT 10",
    "SELECT id FROM t WHERE mode = '3' ORDER BY id LIMIT 700",
    "SELECT id FROM t WHERE mode = '3' ORDER BY id DESC LIMIT 10",
    "SELECT id FROM t WHERE mode = '4' ORDER BY id LIMIT 10",
    "SELECT id FROM t WHERE mode = '3' ORDER BY name LIMIT 10 OFFSET 300",
    "SELECT id FROM t WHERE mode = '3'",
]


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.adaptive.enabled": "true"},
        {"spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"},
        # Spark then sorts all rows, and the exchange below the LIMIT may be reused
        {"spark.sql.execution.topKSortFallbackThreshold": "1"},
        {
            "spark.sql.execution.topKSortFallbackThreshold": "1",
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.execution.reuseSubquery": "false",
        },
    ],
    ids=str,
)
def test_scans_of_the_same_files_do_not_share_a_boundary(
    rows: SparkSession, settings: dict[str, str]
) -> None:
    for name, value in settings.items():
        rows.conf.set(name, value)
    counts = ", ".join(f"(SELECT sum(id) FROM ({each}))" for each in DIFFERENT)
    compared_once(rows, f"SELECT {counts}")
    compared_once(
        rows, " UNION ALL ".join(f"SELECT count(*), max(id) FROM ({e})" for e in DIFFERENT)
    )
    for one, other in zip(DIFFERENT, DIFFERENT[1:] + DIFFERENT[:1], strict=True):
        compared_once(
            rows, f"SELECT count(*), sum(a.id) FROM ({one}) a LEFT JOIN ({other}) b USING (id)"
        )


def test_a_cached_frame_follows_a_refresh(spark: SparkSession, folder: str) -> None:
    spark.conf.set("spark.tamis.topK.sample.minSaved", "0ms")
    path = f"{folder}/t"
    frame = spark.range(10_000).selectExpr("id", "hash(id) % 7 AS k")
    frame.repartitionByRange(20, "id").write.parquet(path)
    tamis.index(spark, path).build()
    statement = "SELECT id FROM t WHERE k = 3 ORDER BY id LIMIT 5"
    read_parquet(spark, path).createOrReplaceTempView("t")
    cached = spark.sql(statement).cache()
    first = [row.id for row in cached.collect()]
    assert files_read(spark.sql(statement.replace("5", "6")))["scans"]
    frame.selectExpr("id - 20000 AS id", "k").coalesce(1).write.mode("append").parquet(path)
    spark.catalog.refreshByPath(path)
    second = [row.id for row in compared(spark, statement).collect()]
    assert first[0] >= 0 > second[-1]
    assert [row.id for row in spark.sql(statement).collect()] == second
    cached.unpersist()


def test_a_plan_that_was_explained_with_tamis_on_runs_with_tamis_off(rows: SparkSession) -> None:
    expected = [row.id for row in compared_once(rows, ROWS_OF_MODE).collect()]
    frame = rows.sql(ROWS_OF_MODE)
    frame.explain()
    rows.conf.set("spark.tamis.enabled", "false")
    assert jobs_of(rows, lambda: frame.collect()) == 1  # no sample
    assert [row.id for row in frame.collect()] == expected


def test_writes_and_batches_of_streams_read_samples(rows: SparkSession, folder: str) -> None:
    expected = [row.id for row in compared_once(rows, ROWS_OF_MODE).collect()]
    rows.sql(ROWS_OF_MODE).write.parquet(f"{folder}/written")
    assert sorted(row.id for row in rows.read.parquet(f"{folder}/written").collect()) == sorted(
        expected
    )
    rows.range(3).selectExpr("CAST(id AS STRING) AS m").write.parquet(f"{folder}/stream")
    batches: list[list[int]] = []

    def write(batch: DataFrame, _: int) -> None:
        batch.createOrReplaceTempView("batch")
        text = f"SELECT id FROM ({ROWS_OF_MODE}) WHERE (SELECT count(*) FROM batch) = 3"
        batches.append([row.id for row in batch.sparkSession.sql(text).collect()])

    stream = rows.readStream.schema("m STRING").parquet(f"{folder}/stream")
    query = stream.writeStream.foreachBatch(write).trigger(availableNow=True).start()
    query.awaitTermination()
    assert batches == [expected]


def test_files_that_no_index_describes_stay(spark: SparkSession, folder: str) -> None:
    spark.conf.set("spark.tamis.topK.sample.minSaved", "0ms")
    spark.conf.set("spark.tamis.index.auto", "off")
    path = f"{folder}/t"
    frame = spark.range(10_000).selectExpr("id", "hash(id) % 7 AS k")
    frame.repartitionByRange(20, "id").write.parquet(path)
    tamis.index(spark, path).build()
    frame.selectExpr("id + 5000 AS id", "k").coalesce(1).write.mode("append").parquet(path)
    read_parquet(spark, path).createOrReplaceTempView("t")
    frame = compared(spark, "SELECT id FROM t WHERE k = 3 ORDER BY id DESC LIMIT 5")
    read = files_read(frame)
    assert read["samples"][0] == 1
    assert 2 <= read["scans"][0] < 21  # the last indexed file, and the one that is not indexed


def test_a_missing_file_of_the_sample_raises_as_in_spark(spark: SparkSession, folder: str) -> None:
    spark.conf.set("spark.tamis.topK.sample.minSaved", "0ms")
    path = f"{folder}/t"
    spark.range(1000).selectExpr("id", "id % 7 AS k").repartitionByRange(20, "id").write.parquet(
        path
    )
    tamis.index(spark, path).build()
    statement = "SELECT id FROM t WHERE k = 3 ORDER BY id LIMIT 5"
    read_parquet(spark, path).createOrReplaceTempView("t")
    assert files_read(compared(spark, statement))["scans"] == [1]
    frame = spark.sql(statement)
    frame.explain()  # planned, and the files are listed
    min(Path(path).glob("part-*.parquet")).unlink()
    with pytest.raises(Exception, match=r"FILE_NOT_EXIST|does not exist"):
        frame.collect()


def test_partition_values_are_ruled_out(spark: SparkSession, folder: str) -> None:
    spark.conf.set("spark.tamis.topK.sample.minSaved", "0ms")
    frame = spark.range(3000).selectExpr("id", "hash(id) % 5 AS k", "id DIV 100 AS `P q`")
    frame.repartition(1).write.partitionBy("P q").parquet(f"{folder}/t")
    tamis.index(spark, f"{folder}/t").build()
    read_parquet(spark, f"{folder}/t").createOrReplaceTempView("parts")
    for order in ("`p Q` DESC, id", "`p Q`, id DESC", "id DESC", "`p Q` + 1, id"):
        frame = compared(spark, f"SELECT id FROM parts WHERE k = 3 ORDER BY {order} LIMIT 5")
        read = files_read(frame)
        assert (read["samples"][0], read["scans"]) == (2, [1]) or read["scans"] == [1]
