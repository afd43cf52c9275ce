"""MIN and MAX read a sample first where statistics do not show which files hold the result."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import read_parquet
from tests.spark.test_topk_sample import compared, files_read, jobs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 40


@pytest.fixture(scope="module")
def sorted_path(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 4,000 rows in 40 files clustered by id, in partitions of 2,000, and index them.

    Of these columns, each value of `mode` is in 14 files, and all files have the same bounds of
    `kind`. The bounds of `long` are truncated to one value. `some` is NULL in half of the files.
    """
    path = str(tmp_path_factory.mktemp("extremes") / "t")
    frame = spark_session.range(0, 4000, 1, FILES).selectExpr(
        "id",
        "CAST(pmod(hash(id), 7) AS INT) AS k",
        "concat('mode', id DIV 1334) AS mode",
        "concat('kind', pmod(hash(id, 1), 5)) AS kind",
        "concat(repeat('x', 200), lpad(CAST(id AS STRING), 6, '0')) AS long",
        "CAST(lpad(CAST(id AS STRING), 6, '0') AS BINARY) AS bytes",
        "IF(id < 2000, NULL, concat('some', id DIV 300)) AS some",
        "CAST(NULL AS STRING) AS nothing",
        "CAST(id DIV 400 AS DECIMAL(9, 2)) AS price",
        "date_add(DATE '1995-01-01', CAST(id DIV 500 AS INT)) AS day",
        "CASE WHEN id % 100 = 7 THEN -0.0D WHEN id = 3333 THEN DOUBLE('NaN') "
        "WHEN id > 2000 THEN 0.0D ELSE id END AS x",
        "named_struct('a.b', concat('s', id DIV 1000)) AS item",
        "id DIV 2000 AS part",
    )
    frame.write.partitionBy("part").parquet(path)
    tamis.index(spark_session, path).build(fill_gaps=False)
    return path


@pytest.fixture
def rows(spark: SparkSession, sorted_path: str) -> SparkSession:
    """Return the session with the view `t`, where a small gain is enough."""
    spark.conf.set("spark.tamis.topK.sample.minSaved", "1ms")
    read_parquet(spark, sorted_path).createOrReplaceTempView("t")
    return spark


_KNOWN: dict[str, list[str]] = {}


def compared_once(rows: SparkSession, statement: str) -> DataFrame:
    return compared(rows, statement, _KNOWN)


# statement, files that samples open, files that scans open
HITS: list[tuple[str, list[int], list[int]]] = [
    # ties
    ("SELECT min(mode), max(mode) FROM t", [2], [2]),
    ("SELECT min(mode) FROM t", [1], [1]),
    ("SELECT max(mode) FROM t HAVING max(mode) > 'a'", [1], [1]),
    ("SELECT min(kind), max(kind) FROM t", [1], [1]),
    ("SELECT min(mode), max(item.`a.b`) FROM t", [2], [2]),
    ("SELECT min(m) || 'x' FROM (SELECT mode AS m, k FROM t)", [1], [1]),
    # a filter that no file fully matches
    ("SELECT min(mode), max(mode) FROM t WHERE k = 3", [2], [2]),
    ("SELECT min(id), max(id) FROM t WHERE k = 3", [2], [2]),
    ("SELECT min(day), max(price) FROM t WHERE k = 3 AND kind <> 'kind0'", [2], [2]),
    ("SELECT min(DISTINCT id) FROM t WHERE k = 3", [1], [1]),
    ("SELECT max(bytes) FROM t WHERE k = 3", [1], [1]),
    ("SELECT min(part), max(part) FROM t WHERE k = 3", [2], [2]),
    ("SELECT min(mode), max(id) FROM t WHERE part = 1 AND k = 3", [2], [2]),
    # files with only NULLs cannot change the result
    ("SELECT min(some), max(some) FROM t WHERE k = 3", [2], [2]),
    ("SELECT min(mode) FROM (SELECT DISTINCT mode FROM t)", [1], [1]),
]

MISSES: list[tuple[str, list[int], list[int]]] = [
    # every file may hold a smaller value
    ("SELECT min(long) FROM t", [1], [40]),
    ("SELECT min(kind), max(kind) FROM t WHERE k = 3", [], [40]),
    # a zero may change a zero
    ("SELECT abs(min(x)) FROM t WHERE k = 3", [1], [40]),
    # no value is known
    ("SELECT min(nothing) FROM t WHERE k = 3", [], [40]),
    # statistics are enough
    ("SELECT min(id), max(day) FROM t", [], []),
    ("SELECT min(bytes), max(bytes) FROM t", [], [2]),
    # other functions, groups, expressions, and conditions of their own
    ("SELECT count(*), min(mode) FROM t", [], [40]),
    ("SELECT max(mode), sum(id) FROM t", [], [40]),
    ("SELECT part, min(mode) FROM t WHERE k = 3 GROUP BY part ORDER BY part", [], [40]),
    ("SELECT min(upper(mode)) FROM t", [], [40]),
    ("SELECT min(mode COLLATE UNICODE_CI) FROM t", [], [40]),
    ("SELECT min(mode) FILTER (WHERE k = 3) FROM t", [], [40]),
    ("SELECT min(mode) FROM t WHERE k = (SELECT max(k) - 3 FROM t)", [], [40]),
    ("SELECT min(mode) FROM (SELECT mode FROM t LIMIT 4000)", [], [40]),
]


@pytest.mark.parametrize(
    ("statement", "samples", "opened"), HITS + MISSES, ids=[each for each, *_ in HITS + MISSES]
)
def test_values_of_a_sample_rule_out_files(
    rows: SparkSession, statement: str, samples: list[int], opened: list[int]
) -> None:
    frame = compared_once(rows, statement)
    assert files_read(frame) == {"samples": samples, "scans": opened}


MODES = "SELECT min(mode) AS a, max(mode) AS b FROM t WHERE k = 3"
TIES = "SELECT min(kind) AS a, max(kind) AS b FROM t"
LATE = "SELECT max(mode) AS a, min(some) AS b FROM t WHERE id > 100"
ONE = "(SELECT min(mode) FROM t WHERE k = 3)"

SHAPES = [
    f"({MODES}) UNION ALL ({TIES}) UNION ALL ({LATE}) UNION ALL ({MODES})",
    f"SELECT * FROM ({MODES}) x FULL JOIN ({TIES}) y ON x.a = y.a FULL JOIN ({LATE}) z ON x.b = z.a",
    f"SELECT count(*), min(id) FROM t LEFT JOIN ({MODES}) x ON t.mode = x.a WHERE t.id < 900",
    f"SELECT count(*) FROM t JOIN ({LATE}) x ON t.mode = x.a",
    f"SELECT count(*) FROM t LEFT ANTI JOIN ({MODES}) x ON t.mode = x.b",
    f"SELECT {ONE}, (SELECT max(mode) FROM t WHERE k = 3), (SELECT min(mode) FROM t)",
    f"SELECT count(*), max(kind) FROM t WHERE mode = {ONE} AND k = 3",
    f"SELECT count(*) FROM t WHERE mode IN (SELECT a FROM ({MODES}) UNION SELECT b FROM ({LATE}))",
    f"SELECT part, max(id) FROM t WHERE EXISTS ({MODES} HAVING min(mode) > 'mode') GROUP BY part "
    "ORDER BY part",
    f"WITH c AS ({MODES}) SELECT * FROM c x JOIN c y ON x.a = y.a",
    f"SELECT DISTINCT a FROM (({MODES}) UNION ALL ({LATE})) ORDER BY a",
    f"SELECT a, rank() OVER (ORDER BY b) FROM (({MODES}) UNION ALL ({TIES})) ORDER BY a",
    "SELECT o.part, (SELECT min(i.mode) FROM t i WHERE i.part = o.part AND i.k = 3) FROM "
    "(SELECT DISTINCT part FROM t) o ORDER BY 1",
    # the partition of the keys is known when the query runs
    "SELECT min(t.mode), max(t.mode) FROM t JOIN (SELECT max(part) AS p FROM t WHERE k = 3) x "
    "ON t.part = x.p",
    "SELECT min(mode), max(kind) FROM t WHERE part = (SELECT max(part) FROM t WHERE k = 3)",
    "SELECT min(mode), max(kind) FROM t WHERE 1 = 0",
    "SELECT min(mode), max(some) FROM t WHERE k = 99",
    "SELECT min(x) IS NULL, isnan(max(x)), abs(min(x)) FROM t WHERE k = 3",
]


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.adaptive.enabled": "true"},
        {
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.execution.reuseSubquery": "false",
            "spark.sql.parquet.enableVectorizedReader": "false",
        },
    ],
    ids=str,
)
def test_samples_in_other_places_of_a_plan(rows: SparkSession, settings: dict[str, str]) -> None:
    rows.conf.set("spark.tamis.topK.sample.minSaved", "0ms")
    for name, value in settings.items():
        rows.conf.set(name, value)
    read = 0
    for statement in SHAPES:
        read += len(files_read(compared_once(rows, statement))["samples"])
    assert read >= 20


@pytest.mark.parametrize("seed", range(2))
def test_random_aggregates(rows: SparkSession, seed: int) -> None:
    rows.conf.set("spark.tamis.topK.sample.minSaved", "0ms")
    rng = Random(seed)
    columns = [
        "id",
        "mode",
        "kind",
        "long",
        "some",
        "nothing",
        "price",
        "day",
        "item.`a.b`",
        "part",
    ]
    filters = ["k = 3", "k < 5", "id > 1234", "mode < 'mode2'", "some IS NOT NULL", "part = 1"]
    filters += ["kind LIKE '%2'", "price <> 3", "some = 'some7' OR k = 1", "id % 977 = 5"]
    samples = 0
    for _ in range(2):
        parts = []
        for _ in range(5):
            calls = [
                f"{rng.choice(['min', 'max'])}({rng.choice(columns)})"
                for _ in range(rng.randint(1, 3))
            ]
            where = " AND ".join(rng.sample(filters, rng.randint(1, 2)))
            parts.append(f"SELECT concat_ws(',', {', '.join(calls)}) FROM t WHERE {where}")
        frame = compared(rows, " UNION ALL ".join(parts))
        samples += len(files_read(frame)["samples"])
    assert samples > 0


def test_no_sample_where_a_filter_may_raise(rows: SparkSession) -> None:
    """Plain Spark evaluates the filter on the rows of every file."""
    rows.conf.set("spark.sql.ansi.enabled", "true")
    statement = "SELECT min(mode) FROM t WHERE 1000 / (id - {}) <> 7.5 AND k = 3"
    for enabled in ("false", "true"):
        rows.conf.set("spark.tamis.enabled", enabled)
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            rows.sql(statement.format(2505)).collect()
    frame = compared_once(rows, statement.format(100000))
    assert files_read(frame) == {"samples": [1], "scans": [1]}


def test_confs_turn_samples_off(rows: SparkSession) -> None:
    rows.conf.set("spark.tamis.topK.sample.minSaved", "10s")
    assert files_read(compared_once(rows, MODES)) == {"samples": [], "scans": [40]}
    rows.conf.set("spark.tamis.topK.sample.minSaved", "0ms")
    rows.conf.set("spark.tamis.topK.sample.enabled", "false")
    assert files_read(compared_once(rows, MODES)) == {"samples": [], "scans": [40]}


def test_explanations_name_the_sample(rows: SparkSession) -> None:
    frame = compared_once(rows, MODES)
    text = str(tamis.explain(frame))
    assert "(may change min(mode), max(mode), known from a sample)" in text
    assert "sample for min(mode), max(mode)" in text
    assert "2 of 40 files were read after run-time filters" in text
    assert "a sample of 2 is read first" in text


def test_a_sample_is_read_once_and_when_the_query_runs(rows: SparkSession) -> None:
    frame = rows.sql(MODES)
    assert jobs_of(rows, frame.explain) == 0
    assert jobs_of(rows, lambda: tamis.explain(frame)) == 0
    first = jobs_of(rows, frame.collect)
    assert jobs_of(rows, frame.collect) < first
    cached = rows.sql(MODES).cache()
    assert cached.collect() == frame.collect()
    assert rows.table("t").where("k = 3").count() > 100
    cached.unpersist()


def test_empty_files_files_without_statistics_and_deleted_files(
    spark: SparkSession, folder: str
) -> None:
    spark.conf.set("spark.tamis.topK.sample.minSaved", "0ms")
    spark.conf.set("spark.tamis.index.auto", "off")
    path = f"{folder}/t"
    frame = spark.range(0, 1000, 1, 20).selectExpr("concat('m', id DIV 400) AS m", "id % 7 AS k")
    frame.write.parquet(path)
    frame.where("k > 10").coalesce(1).write.mode("append").parquet(path)
    tamis.index(spark, path).build()
    for value in ("a", "z"):  # no index describes these files
        more = spark.range(1).selectExpr(f"'{value}' AS m", "3L AS k")
        more.coalesce(1).write.mode("append").parquet(path)
    read_parquet(spark, path).createOrReplaceTempView("mixed")
    frame = compared(spark, "SELECT min(m), max(m) FROM mixed WHERE k = 3")
    assert frame.first() == ("a", "z")
    read = files_read(frame)
    assert read["samples"]
    assert 4 <= read["scans"][0] <= 5
    frame = spark.sql("SELECT min(m) FROM mixed")
    frame.explain()  # planned, and the files are listed
    for file in Path(path).glob("part-*.parquet"):
        file.unlink()
    with pytest.raises(Exception, match=r"FILE_NOT_EXIST|does not exist"):
        frame.collect()
