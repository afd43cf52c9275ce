"""tamis_files and tamis_history show every file, what decided it, and evidence for the decision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.conftest import scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

NOT_IN_CELLS = "not_in_cells"


def files(spark: SparkSession, query: str) -> list[Row]:
    """Return the rows of tamis_files. The kept ones are those that the plan of the query keeps."""
    text = query.replace("\\", "\\\\").replace("'", "\\'")
    file_rows = spark.sql(f"SELECT * FROM tamis_files('{text}') ORDER BY scan, file").collect()
    decided = scans(spark.sql(query))
    assert {row.scan for row in file_rows} <= set(range(1, len(decided) + 1))
    for number, scan in enumerate(decided, 1):
        own = [row for row in file_rows if row.scan == number]
        assert sum(row.kept for row in own) == scan["files_kept"]
        assert {row.table for row in own} == {scan["table"]}
        for row in own:
            assert row.kept == (row.decided_by is None)
    return file_rows


def evidence(spark: SparkSession, file_rows: list[Row]) -> pa.Table:
    """Return the cells as a `files` table. Spark itself reads the literals."""
    names = sorted({name for row in file_rows for name in row.statistics})
    tuples = ", ".join(
        "(" + ", ".join(row.statistics.get(name, "NULL") for name in names) + ")"
        for row in file_rows
    )
    columns = ", ".join(f"`{name.replace('`', '``')}`" for name in names)
    return spark.sql(f"SELECT * FROM VALUES {tuples} AS cells({columns})").toArrow()


PREDICATES = [
    "id < 150",
    "id = 555",
    "NOT (id >= 300)",
    "id IN (5, 555, 2000)",
    "id < 500 AND id > 700",
    "day = DATE '1995-05-05'",
    "year(day) = 1996",
    "year(day) = 1995 AND month(day) = 3",
    "ts < TIMESTAMP '1995-01-02 03:00:00'",
    "name >= 'n0950'",
    "upper(name) = 'N0100' OR id = 3",
    "amount > 1400.5",
    "amount IS NULL",
    "amount IS NOT NULL AND day < '1995-03-01'",
    "x > 0.25D",
    "x = double('NaN')",
    "b",
    "item.sku BETWEEN 210 AND 220",
    "soundex(name) = 'x'",
    "p = 3",
    "p <> 3 AND id % 7 = 5",
    "p IS NULL OR q = 'a b'",
    "q > 'a' AND id >= 0",
    "length(q) = 3",
]


@pytest.fixture(scope="module")
def varied(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 1,000 rows of most types, partitioned by p (with a NULL) and q.

    Some files have no index.
    """
    path = str(tmp_path_factory.mktemp("varied") / "t")
    frame = spark_session.range(1000).selectExpr(
        "id",
        "date_add(DATE '1995-01-01', CAST(id AS INT)) AS day",
        "timestamp_seconds(788918400 + id * 1000) AS ts",
        "concat('n', lpad(CAST(id AS STRING), 4, '0'), '''') AS name",
        "CASE WHEN id % 10 = 0 THEN NULL ELSE CAST(id * 1.5 AS DECIMAL(12, 2)) END AS amount",
        "CASE WHEN id > 900 THEN double('NaN') ELSE id / 1000 END AS x",
        "id < 400 AS b",
        "named_struct('sku', CAST(id AS INT)) AS item",
        "CASE WHEN id < 100 THEN NULL ELSE CAST(id DIV 250 AS INT) END AS p",
        "CASE WHEN id < 500 THEN 'a b' ELSE 'a/b' END AS q",
    )

    def write(rows: DataFrame) -> None:
        parts = rows.repartitionByRange(8, "id").sortWithinPartitions("id")
        parts.write.mode("append").partitionBy("p", "q").parquet(path)

    write(frame)
    tamis.index(spark_session, path).build()
    write(frame.where("id >= 800"))
    return path


@pytest.mark.parametrize("predicate", PREDICATES)
def test_replayed_evidence_gives_the_same_verdicts(
    spark: SparkSession, varied: str, predicate: str
) -> None:
    frame = spark.read.parquet(varied)
    frame.createOrReplaceTempView("varied")
    file_rows = files(spark, f"SELECT id FROM varied WHERE {predicate}")
    assert len(file_rows) > 10
    expression = tamis.parse(spark, predicate, frame.schema)
    replayed = tamis.evaluate(expression, evidence(spark, file_rows)).to_pylist()
    for row, verdict in zip(file_rows, replayed, strict=True):
        if NOT_IN_CELLS in row.statistics:
            assert verdict == "some"
        else:
            assert verdict == (row.verdict or "some"), row
    # the verdict of a file is true of its rows
    spark.conf.set("spark.tamis.enabled", "false")
    counted = {
        row.file: (row.passed, row.rows)
        for row in frame.groupBy("_metadata.file_path")
        .agg({"*": "count"})
        .withColumnsRenamed({"file_path": "file", "count(1)": "rows"})
        .join(
            frame.where(predicate)
            .groupBy("_metadata.file_path")
            .agg({"*": "count"})
            .withColumnsRenamed({"file_path": "file", "count(1)": "passed"}),
            "file",
            "left",
        )
        .collect()
    }
    for row in file_rows:
        passed, rows = counted[row.file]
        if row.verdict == "none" or not row.kept:
            assert not passed
        if row.verdict == "all":
            assert passed == rows
        if row.rows is not None:
            assert row.rows == rows
    assert sum(row.rows is None for row in file_rows) == 8  # written after the index was built


def test_each_file_is_listed_once_with_its_statistics(
    spark: SparkSession, events: DataFrame
) -> None:
    file_rows = files(spark, "SELECT name FROM events WHERE id >= 150 AND day < DATE '1995-09-01'")
    assert len({row.file for row in file_rows}) == len(file_rows) == 10
    assert [row.kept for row in file_rows] == [False, True, True] + [False] * 7
    assert {row.rows for row in file_rows} == {100}
    assert [row.verdict for row in file_rows] == ["none", "some", "some"] + ["none"] * 7
    assert file_rows[0].decided_by == "(id >= 150L)"
    assert {row.decided_by for row in file_rows[1:3]} == {None}
    assert {row.decided_by for row in file_rows[3:]} == {"(day < DATE '1995-09-01')"}
    assert file_rows[2].statistics == {
        "num_records": "100",
        "min.id": "200L",
        "max.id": "299L",
        "null_count.id": "0",
        "min.day": "DATE '1995-07-20'",
        "max.day": "DATE '1995-10-27'",
        "null_count.day": "0",
    }
    for row in file_rows:
        path = Path(row.file.removeprefix("file:"))
        assert row.size == path.stat().st_size
        assert row.modified.timestamp() == pytest.approx(path.stat().st_mtime, abs=0.01)


def test_conjuncts_that_exclude_each_other_decide_together(
    spark: SparkSession, events: DataFrame
) -> None:
    file_rows = files(spark, "SELECT name FROM events WHERE id < 120 AND id > 180")
    assert not any(row.kept for row in file_rows)
    second = [row for row in file_rows if row.statistics["min.id"] == "100L"]
    assert [row.verdict for row in second] == ["none"]
    assert "(id < 120L) AND (id > 180L)" in second[0].decided_by


def test_verdict_that_needs_all_conjuncts(spark: SparkSession, events: DataFrame) -> None:
    file_rows = files(spark, "SELECT name FROM events WHERE year(day) = 1995 AND month(day) = 3")
    # Around New Year, 1995 is among the years, and the months are between October and January.
    (around,) = [row for row in file_rows if row.statistics["min.day"] == "DATE '1995-10-28'"]
    assert not around.kept
    assert "(month(day) = 3)" in around.decided_by


def test_partition_values_decide(spark: SparkSession, folder: str) -> None:
    frame = spark.range(100).selectExpr("id", "id DIV 10 AS p")
    frame.write.partitionBy("p").parquet(f"{folder}/t")
    spark.read.parquet(f"{folder}/t").createOrReplaceTempView("parts")
    file_rows = files(
        spark, "SELECT id FROM parts WHERE soundex(CAST(p AS STRING)) = '7' AND id > 0"
    )
    kept = [row for row in file_rows if row.kept]
    assert {row.file.split("/p=")[1][0] for row in kept} == {"7"}
    assert {row.verdict for row in kept} == {"some"}  # the value of p is known
    assert all("soundex" in row.decided_by for row in file_rows if not row.kept)


def test_goals_and_joins_decide(spark: SparkSession, events: DataFrame) -> None:
    file_rows = files(spark, "SELECT name FROM events LIMIT 3")
    assert [row.decided_by for row in file_rows if not row.kept] == ["LIMIT 3"] * 9
    file_rows = files(
        spark, "SELECT a.name FROM events a JOIN events b ON a.id = b.id WHERE b.day < '1995-02-01'"
    )
    (scan,) = {row.scan for row in file_rows if row.decided_by and "JOIN ON" in row.decided_by}
    own = [row for row in file_rows if row.scan == scan]
    assert sum(row.kept for row in own) == 1
    assert len(file_rows) == 20


def test_row_groups_decide(spark: SparkSession, folder: str) -> None:
    Path(folder, "t").mkdir()
    for number in range(3):
        # the two halves leave a gap that only row groups show
        values = [*range(number, number + 10), *range(1000, 1010)]
        table = pa.table({"c": pa.array(values, pa.int64())})
        pq.write_table(table, f"{folder}/t/{number}.parquet", row_group_size=10)
    tamis.index(spark, f"{folder}/t").build()
    spark.read.parquet(f"{folder}/t").createOrReplaceTempView("groups")
    file_rows = files(spark, "SELECT c FROM groups WHERE c = 500")
    assert not any(row.kept for row in file_rows)
    assert {row.verdict for row in file_rows} == {"some"}
    assert {row.decided_by for row in file_rows} == {
        "none of its row groups can hold a row that passes"
    }
    assert [row.kept for row in files(spark, "SELECT c FROM groups WHERE c = 0")].count(True) == 1


def test_files_of_a_relation_of_spark_are_listed(spark: SparkSession, events_path: str) -> None:
    query = f"SELECT name, _metadata.file_name FROM parquet.`{events_path}` WHERE id < 150"
    file_rows = files(spark, query)
    assert [row.verdict for row in file_rows] == ["all", "some"] + ["none"] * 8
    assert [row.kept for row in file_rows] == [True, True] + [False] * 8


ALL_OF_IT = "SELECT * FROM tamis_files('SELECT name FROM events WHERE id < 50') ORDER BY file"


def test_observed_scan_lists_files_as_read(spark: SparkSession, events: DataFrame) -> None:
    spark.conf.set("spark.tamis.mode", "observe")
    file_rows = spark.sql(ALL_OF_IT).collect()
    assert all(row.read for row in file_rows)
    assert [row.kept for row in file_rows] == [True] + [False] * 9
    assert [row.verdict for row in file_rows] == ["some"] + ["none"] * 9
    assert {row.decided_by for row in file_rows[1:]} == {"(id < 50L)"}


def test_unavailable_planner_keeps_all_files(
    spark: SparkSession, events: DataFrame, no_sidecar: None
) -> None:
    file_rows = spark.sql(ALL_OF_IT).collect()
    assert len(file_rows) == 10
    assert all(row.kept for row in file_rows)
    assert {(row.verdict, row.rows, row.statistics, row.decided_by) for row in file_rows} == {
        (None, None, None, None)
    }
    with pytest.raises(Exception, match="tamis_history"):
        spark.sql("SELECT * FROM tamis_history()")


def test_function_runs_no_query_and_leaves_no_state(spark: SparkSession, events: DataFrame) -> None:
    directory = Path(spark._jvm.io.tamis.Tamis.privateDirectory())
    files(spark, "SELECT raise_error('it ran') FROM events WHERE id < 5")
    spark.sql("SELECT * FROM tamis_history()").collect()
    spark.sql("SELECT * FROM tamis_files('DROP VIEW events')").collect()
    assert spark.sql("SELECT 1 FROM events WHERE id = 1").count() == 1
    left = [each.name for each in directory.iterdir()]
    assert not [name for name in left if "evidence" in name or "history" in name]


def test_query_without_a_scan_lists_no_files(spark: SparkSession) -> None:
    assert spark.sql("SELECT * FROM tamis_files('SELECT 1')").count() == 0


@pytest.mark.parametrize("call", ["tamis_files()", "tamis_files(NULL)", "tamis_files('a', 'b')"])
def test_wrong_arguments_are_rejected(spark: SparkSession, call: str) -> None:
    with pytest.raises(Exception, match="takes one string literal"):
        spark.sql(f"SELECT * FROM {call}")


def test_history_function_equals_the_python_history(
    spark: SparkSession, events: DataFrame, folder: str
) -> None:
    bridge = spark._jvm.io.tamis.Tamis
    bridge.flushHistory(spark._jsparkSession)
    spark.conf.set("spark.tamis.history.enabled", "true")
    spark.conf.set("spark.tamis.history.location", f"{folder}/history")
    empty = spark.sql("SELECT * FROM tamis_history()")
    assert empty.count() == 0
    assert empty.columns == tamis.history(f"{folder}/history").column_names
    events.where("id < 150 AND hash(name) % 10 = 0").select("name").collect()
    events.limit(5).collect()
    bridge.flushHistory(spark._jsparkSession)
    from_sql = spark.sql("SELECT * FROM tamis_history()")
    expected: list[dict[str, Any]] = tamis.history(f"{folder}/history").to_pylist()
    assert len(expected) == 2
    file_rows = [row.asDict(recursive=True) for row in from_sql.collect()]
    for ours, theirs in zip(file_rows, expected, strict=True):
        assert ours.pop("time").timestamp() == theirs.pop("time").timestamp()
        assert ours == theirs
    (row,) = spark.sql(
        "SELECT c.sql, c.columns FROM tamis_history() LATERAL VIEW explode(conjuncts) AS c "
        "WHERE c.sql LIKE '%hash%'"
    ).collect()
    assert row.columns == ["name"]
    with pytest.raises(Exception, match="takes no argument"):
        spark.sql("SELECT * FROM tamis_history('x')")
