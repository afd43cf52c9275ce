"""Relations that remain Spark's own, bucketed or with _metadata, list fewer files."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import tamis
from tests.spark.conftest import kept, rows, scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

Same = Callable[[str], "DataFrame"]

COLUMNS = "id BIGINT, k BIGINT, day DATE, name STRING, amount DECIMAL(12,2), part INT"
ROWS = """
    SELECT id, id % 7 AS k, date_add(DATE '1995-01-01', CAST(id AS INT)) AS day,
           concat('n', lpad(CAST(id AS STRING), 4, '0')) AS name,
           IF(id % 10 = 0, NULL, CAST(id * 1.5 AS DECIMAL(12, 2))) AS amount,
           CAST(id DIV 250 AS INT) AS part
    FROM range(1000)
"""


@pytest.fixture(scope="module")
def folders(
    spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Write 1,000 rows to indexed Parquet tables; file counts are counts of bucket files.

    by_id: 5 ranges of id, each in 4 buckets of id. by_k: the same ranges in 3 of 4 buckets of k.
    sorted: one file per bucket of part, 3 of 8 hold rows, sorted. parts: partitioned by part, 2
    ranges of id and 4 buckets of id each.
    """
    root = tmp_path_factory.mktemp("swap")
    frame = spark_session.sql(ROWS)
    five = frame.repartitionByRange(5, "id")
    writers = {
        "by_id": five.write.bucketBy(4, "id"),
        "by_k": five.write.bucketBy(4, "k"),
        "sorted": frame.coalesce(1).write.bucketBy(8, "part").sortBy("part", "id"),
        "parts": frame.repartitionByRange(8, "id").write.partitionBy("part").bucketBy(4, "id"),
    }
    for name, writer in writers.items():
        writer.option("path", f"{root}/{name}").saveAsTable(f"made_{name}")
        tamis.index(spark_session, f"made_{name}").build()
        spark_session.sql(f"DROP TABLE made_{name}")
    return {name: f"{root}/{name}" for name in writers}


BUCKETS = {
    "by_id": "CLUSTERED BY (id) INTO 4 BUCKETS",
    "by_k": "CLUSTERED BY (k) INTO 4 BUCKETS",
    "sorted": "CLUSTERED BY (part) SORTED BY (part, id) INTO 8 BUCKETS",
    "parts": "PARTITIONED BY (part) CLUSTERED BY (id) INTO 4 BUCKETS",
}


@pytest.fixture
def tables(spark: SparkSession, folders: dict[str, str]) -> dict[str, str]:
    """Register the tables in the catalog. Joins are not broadcast, so that buckets matter."""
    for name, buckets in BUCKETS.items():
        spark.sql(
            f"CREATE TABLE {name} ({COLUMNS}) USING parquet {buckets} LOCATION '{folders[name]}'"
        )
    spark.sql("MSCK REPAIR TABLE parts")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    return folders


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def conjuncts(frame: DataFrame) -> dict[str, str]:
    (scan,) = scans(frame)
    return {c["sql"]: c["pushdown"] for c in scan["conjuncts"]}


def files_read(spark: SparkSession, statement: str) -> list[int]:
    """Return `number of files read` of each scan of the plan that ran."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    frame = spark.sql(statement)
    frame.collect()
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    spark.conf.unset("spark.sql.adaptive.enabled")
    return [
        int(leaf.metrics().apply("numFiles").value())
        for leaf in map(leaves.apply, range(leaves.size()))
        if leaf.nodeName().startswith("Scan parquet")
    ]


# table | predicate | files kept | files in all | whether every conjunct leaves the filter
HITS_AND_MISSES = [
    ("by_id", "id < 200", 4, 20, True),
    ("by_id", "id >= 150 AND id < 250", 8, 20, False),
    ("by_id", "id BETWEEN 200 AND 599", 8, 20, True),
    ("by_id", "id < 10 OR id >= 990", 7, 20, False),
    ("by_id", "year(day) = 1997 AND month(day) = 9", 4, 20, False),
    ("by_id", "name LIKE 'n09%'", 4, 20, False),
    ("by_id", "upper(name) = 'N0950'", 4, 20, False),
    ("by_id", "amount IS NULL AND id > 800", 4, 20, False),
    ("by_id", "id < 0", 0, 20, True),
    ("by_id", "id >= 0", 20, 20, True),
    ("by_id", "id <> 5", 20, 20, False),
    ("by_id", "hash(k, id) % 3 = 1", 20, 20, False),
    ("by_k", "id >= 800", 3, 15, True),
    ("by_k", "id >= 800 AND k + 1 > 0", 3, 15, True),
    ("by_k", "day >= DATE '1997-03-11'", 3, 15, True),
    ("sorted", "id >= 990", 1, 3, False),
    ("sorted", "id < 300 AND part >= 0", 2, 3, False),
    ("parts", "part = 3", 8, 32, True),
    ("parts", "part = 3 AND id < 875", 4, 32, True),
    ("parts", "part + 1 = 4 OR id < 10", 11, 32, False),
    ("parts", "id < 125", 4, 32, True),
    ("parts", "part > 5", 0, 32, True),
]


@pytest.mark.parametrize(("table", "predicate", "files", "total", "exact"), HITS_AND_MISSES)
def test_predicates_keep_the_expected_files(
    spark: SparkSession,
    tables: dict[str, str],
    same: Same,
    table: str,
    predicate: str,
    files: int,
    total: int,
    exact: bool,
) -> None:
    statement = f"SELECT * FROM {table} WHERE {predicate}"
    frame = same(statement)
    (scan,) = tamis.explain(frame).to_dict()["scans"]
    assert (scan["files_kept"], scan["files_total"]) == (files, total)
    assert (set(conjuncts(frame).values()) == {"exact"}) == exact
    assert ("Filter " in plan(frame)) is not exact
    assert files_read(spark, statement) == [files]
    assert "Location: TamisFileIndex" in plan(frame).replace(" [", "[")
    same(f"SELECT count(*), sum(k) FROM {table} WHERE {predicate}")


def test_explain_reports_a_swapped_file_index(spark: SparkSession, tables: dict[str, str]) -> None:
    frame = spark.table("by_id").where("id < 250 AND k = 3")
    document = tamis.explain(frame).to_dict()
    (scan,) = document["scans"]
    assert document["left_to_spark"] == []
    assert scan["table"].endswith("by_id")
    assert (scan["files_kept"], scan["files_total"], scan["rows_total"]) == (8, 20, 1000)
    assert 0 < scan["bytes_kept"] < scan["bytes_total"]
    assert scan["planning_ms"] > 0
    by_sql = {c["sql"]: c for c in scan["conjuncts"]}
    assert by_sql["(id < 250L)"]["pruned_files"] == 12
    assert by_sql["(k = 3L)"]["reason"]["code"] == "VALUES_NOT_LISTED"
    assert "8 of 20 files" in str(tamis.explain(frame))


def test_relation_left_to_spark_reports_the_reason(
    spark: SparkSession, tables: dict[str, str]
) -> None:
    def why(frame: DataFrame) -> str:
        document = tamis.explain(frame).to_dict()
        assert document["scans"] == []
        (alone,) = document["left_to_spark"]
        return str(alone["reason"])

    table = spark.table("by_id")
    assert why(table) == "it is bucketed, and no filter shows which of its files are needed"
    assert "filter" in why(table.where("rand() < 2"))
    assert "each condition of its filter reads _metadata" in why(
        table.selectExpr("*", "_metadata").where("_metadata.file_size > 0")
    )
    spark.conf.set("spark.tamis.fileIndexSwap.enabled", "false")
    frame = spark.table("by_id").where("id < 5")
    assert "spark.tamis.fileIndexSwap.enabled" in why(frame)
    assert "TamisFileIndex" not in plan(frame)
    assert frame.count() == 5


# ---- buckets ----


def test_bucket_pruning_still_applies(
    spark: SparkSession, tables: dict[str, str], same: Same
) -> None:
    """Predicates by which Spark prunes buckets stay in the filter.

    They stay even if all kept rows satisfy them.
    """
    spark.conf.set(
        "spark.sql.sources.bucketing.autoBucketedScan.enabled", "false"
    )  # EXPLAIN says it
    for predicate in ("id = 5", "id IN (5, 950)", "id <=> 5", "id = 5 OR id = 6", "id IS NULL"):
        frame = same(f"SELECT * FROM by_id WHERE {predicate}")
        assert kept(frame)[0] <= 8
        assert "SelectedBucketsCount: " in plan(frame), predicate
    frame = same("SELECT * FROM by_k WHERE k = 3 AND id < 200")
    assert "SelectedBucketsCount: 1 out of 4" in plan(frame)
    assert conjuncts(frame)["(id < 200L)"] == "exact"


def test_files_written_with_another_number_of_buckets(
    spark: SparkSession, folders: dict[str, str], same: Same
) -> None:
    """Rows lie outside their bucket: the same number is lost with tamis as without."""
    for buckets in (2, 3, 8):
        spark.sql(
            f"CREATE TABLE other ({COLUMNS}) USING parquet CLUSTERED BY (part) INTO {buckets} "
            f"BUCKETS LOCATION '{folders['sorted']}'"
        )
        for predicate in (
            "part = 1",
            "part IN (0, 3)",
            "part = 2 AND id >= 500",
            "id < 250",
            "part + 1 = 2",  # implies part = 1, by which Spark would prune buckets
        ):
            same(f"SELECT id FROM other WHERE {predicate}")
            same(f"SELECT count(*) FROM other WHERE {predicate}")
        same("SELECT a.id FROM other a JOIN other b ON a.part = b.part WHERE a.id < 9 AND b.id < 5")
        spark.sql("DROP TABLE other")


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("ordering", ["true", "false"])
def test_bucketed_joins_need_no_exchange(
    spark: SparkSession, tables: dict[str, str], same: Same, adaptive: str, ordering: str
) -> None:
    """No exchange where Spark needs none without tamis, even if whole buckets are empty."""
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    spark.conf.set("spark.sql.legacy.bucketedTableScan.outputOrdering", ordering)
    frame = same(
        "SELECT a.id, b.name FROM by_id a JOIN by_id b ON a.id = b.id WHERE a.id < 250 AND b.k = 3"
    )
    assert "Exchange" not in plan(frame).replace("Exchange SinglePartition", "")
    assert kept(frame) == [8, 8]  # Spark infers the range for both sides
    frame = same(
        "SELECT a.part, count(*), max(b.id) FROM sorted a JOIN sorted b ON a.part = b.part "
        "WHERE a.id >= 740 AND b.id >= 760 AND b.id < 770 GROUP BY a.part"
    )
    assert "Exchange hashpartitioning" not in plan(frame)
    assert sorted(kept(frame)) == [1, 2]
    same("SELECT a.id, b.id FROM by_id a LEFT JOIN sorted b ON a.id = b.id AND b.id < 5 "
         "WHERE a.id < 20")  # fmt: skip
    same("SELECT a.id, b.id FROM by_id a FULL JOIN (SELECT * FROM by_id WHERE id > 990) b "
         "ON a.id = b.id WHERE b.id IS NULL OR b.id < 995")  # fmt: skip
    same("SELECT id FROM by_id WHERE id > 790 AND id NOT IN (SELECT id FROM by_id WHERE id > 810)")
    same("SELECT part, id, row_number() OVER (PARTITION BY part ORDER BY id) FROM sorted "
         "WHERE id >= 740 AND id < 760")  # fmt: skip


def test_coalesced_buckets_keep_all_partners(
    spark: SparkSession, tables: dict[str, str], same: Same
) -> None:
    spark.conf.set("spark.sql.bucketing.coalesceBucketsInJoin.enabled", "true")
    spark.sql(ROWS).where("id >= 700").write.bucketBy(8, "id").saveAsTable("eight")
    frame = same("SELECT a.id FROM by_id a JOIN eight b ON a.id = b.id WHERE a.id < 790")
    assert min(kept(frame)) >= 4


def test_swap_with_bucketing_disabled(
    spark: SparkSession, tables: dict[str, str], same: Same
) -> None:
    spark.conf.set("spark.sql.sources.bucketing.enabled", "false")
    assert kept(same("SELECT * FROM by_id WHERE id < 200")) == [4]
    assert kept(same("SELECT * FROM by_id WHERE id = 7"))[0] <= 4


# ---- partitions ----


def test_dynamic_partition_pruning_of_swapped_relations(
    spark: SparkSession, tables: dict[str, str], same: Same
) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10485760")
    spark.sql("SELECT CAST(id AS INT) AS part, id * 10 AS label FROM range(4)").write.saveAsTable(
        "labels"
    )
    statement = (
        "SELECT p.id, l.label FROM parts p JOIN labels l ON p.part = l.part "
        "WHERE l.label = 30 AND p.k >= 0"
    )
    frame = same(statement)
    assert "dynamicpruning" in plan(frame)
    assert "TamisFileIndex" in plan(frame)
    assert 8 in files_read(spark, statement)  # of 32: those of one partition
    same(statement.replace("k >= 0", "id < 800"))


def test_filters_applied_only_to_partitions(
    spark: SparkSession, tables: dict[str, str], same: Same
) -> None:
    """Spark does not apply them to rows, so that the index has to."""
    spark.udf.register("odd", lambda n: n % 2 == 1, "boolean")
    for predicate in (
        "part = (SELECT max(part) FROM parts)",
        "part IN (SELECT 2) AND id < 700",
        "part >= (SELECT 1) AND id < 700 AND part <> 2",
        "odd(part) AND id < 600",
        "CAST(concat('1', part) AS INT) = 12",
        "part < 2 OR (part = 3 AND id > 980)",
    ):
        same(f"SELECT * FROM parts WHERE {predicate}")
        same(f"SELECT count(*) FROM parts WHERE {predicate}")


def test_catalog_partitions_are_pruned(
    spark: SparkSession, tables: dict[str, str], same: Same
) -> None:
    spark.sql("ALTER TABLE parts DROP PARTITION (part = 3)")
    assert same("SELECT count(*) FROM parts WHERE id >= 740").first()[0] == 10
    spark.sql("MSCK REPAIR TABLE parts")
    assert same("SELECT count(*) FROM parts WHERE id >= 740").first()[0] == 260


# ---- metadata ----


def test_relation_with_metadata_columns_is_pruned(
    spark: SparkSession, events_path: str, same: Same
) -> None:
    events = f"parquet.`{events_path}`"  # views have no metadata columns
    every = f"SELECT *, _metadata.file_name AS file, _metadata.row_index AS at FROM {events}"
    name = spark.sql(f"SELECT file FROM ({every}) WHERE id = 105").first()[0]
    # predicate | files that tamis keeps | files that are read
    for predicate, by_tamis, read in (
        ("id < 150", 2, 2),
        ("id >= 100 AND id < 200", 1, 1),
        (f"id < 300 AND _metadata.file_name = '{name}'", 3, 1),
        (f"id >= 200 AND _metadata.file_name = '{name}'", 8, 0),
        ("id < 300 AND _metadata.row_index < 5", 3, 3),
        ("id < 300 AND (_metadata.file_size > 5 OR name = 'x')", 3, 3),
        ("id < 300 AND _metadata.file_path LIKE '%parquet' AND _metadata.file_size > 0", 3, 3),
        ("id = 5 OR id = 995", 2, 2),
    ):
        statement = every + f" WHERE {predicate}"
        assert kept(same(statement)) == [by_tamis], predicate
        assert files_read(spark, statement) == [read], predicate
    assert conjuncts(spark.sql(every + " WHERE id < 200")) == {
        "(id IS NOT NULL)": "exact",
        "(id < 200L)": "exact",
    }
    same(f"SELECT _metadata, id FROM {events} WHERE day < DATE '1995-02-01'")
    same(f"SELECT _metadata.row_index, count(*) FROM {events} WHERE id > 850 GROUP BY ALL")
    same(f"SELECT input_file_name() AS f, _metadata.file_size, id FROM {events} WHERE id < 150")
    same(
        f"SELECT a.id FROM {events} a JOIN {events} b ON a._metadata.file_name = b._metadata.file_name "
        "AND a._metadata.row_index = b._metadata.row_index WHERE a.id < 110 AND b.id < 220"
    )


def test_partitioned_relation_with_metadata_is_pruned(
    spark: SparkSession, tables: dict[str, str], same: Same
) -> None:
    frame = same("SELECT _metadata.file_name, * FROM parts WHERE part = 2 AND id > 600")
    assert "TamisFileIndex" in plan(frame)
    assert spark.sql("SELECT input_file_name() FROM by_id WHERE id < 200").distinct().count() == 4
    assert len(spark.table("by_id").where("id < 200").inputFiles()) == 4


# ---- plans that are optimized twice, cached, and written from ----


def test_relations_of_subqueries_are_optimized_twice(
    spark: SparkSession, tables: dict[str, str], same: Same
) -> None:
    frame = same(
        "SELECT id FROM by_k WHERE id < 300 AND id IN (SELECT id + 100 FROM by_id WHERE id < 390)"
    )
    assert all(files < 20 for files in kept(frame))
    same("SELECT id FROM by_k WHERE id = (SELECT max(id) FROM by_id WHERE id < 300 AND k = 1)")
    same(
        "SELECT id FROM by_k o WHERE EXISTS (SELECT 1 FROM by_id i WHERE i.id = o.id AND i.id > 990)"
    )
    same("WITH c AS (SELECT * FROM by_id WHERE id < 300) SELECT a.id FROM c a JOIN c b USING (id)")
    execution = spark.sql("SELECT * FROM by_id WHERE id < 250 AND year(day) = 1995")
    once = execution._jdf.queryExecution().optimizedPlan()
    again = spark._jsparkSession.sessionState().optimizer().execute(once)
    assert again.toString() == once.toString()
    assert once.toString().count("1995-12-31") == 1  # the implied range, added once


def test_equal_scans_share_an_exchange(
    spark: SparkSession, tables: dict[str, str], same: Same
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    grouped = "SELECT k, count(*) AS n FROM by_id WHERE id < {} GROUP BY k"
    frame = same(
        f"SELECT * FROM ({grouped.format(200)}) a JOIN ({grouped.format(200)}) b ON a.k = b.k"
    )
    assert "ReusedExchange" in plan(frame)
    other = same(
        f"SELECT * FROM ({grouped.format(200)}) a JOIN ({grouped.format(400)}) b ON a.k = b.k"
    )
    assert "ReusedExchange" not in plan(other)  # no filter is left: only the files tell them apart
    assert kept(other) == [4, 8]


def test_caches_writes_and_refreshes_see_current_files(
    spark: SparkSession, tables: dict[str, str], same: Same, folder: str
) -> None:
    spark.sql(
        "CREATE TABLE b USING parquet CLUSTERED BY (id) INTO 2 BUCKETS AS SELECT id FROM by_id WHERE id < 200"
    )
    tamis.index(spark, "b").build()
    spark.sql("CREATE VIEW v AS SELECT * FROM b WHERE id >= 100")
    spark.sql("CACHE TABLE hot AS SELECT * FROM b WHERE id < 50")
    cached_listing = spark.table("b").where("id < 60")
    assert cached_listing.count() == 60
    assert same("SELECT count(*) FROM v").first()[0] == 100
    spark.sql("INSERT INTO b SELECT id + 1000 FROM b WHERE id < 10")
    assert same("SELECT count(*), max(id) FROM v").first() == (110, 1009)
    spark.sql("INSERT OVERWRITE b SELECT id - 30 FROM by_id WHERE id < 60")
    assert same("SELECT count(*) FROM hot").first()[0] == 60
    assert same("SELECT count(*) FROM b WHERE id < 0").first()[0] == 30
    with pytest.raises(Exception, match=r"(?i)overwrite"):
        spark.sql("INSERT OVERWRITE b SELECT id FROM b WHERE id < 20")
    spark.sql("CREATE TABLE c AS SELECT * FROM b WHERE id > 20")
    assert spark.table("c").count() == 9
    spark.sql("UNCACHE TABLE hot")  # otherwise Spark lists the files that are gone
    spark.sql("TRUNCATE TABLE b")
    assert same("SELECT count(*) FROM b WHERE id < 50").first()[0] == 0
    spark.sql("DROP VIEW v")


def test_files_newer_than_the_index_are_read(spark: SparkSession, same: Same, folder: str) -> None:
    spark.sql(
        f"CREATE TABLE b (id BIGINT) USING parquet CLUSTERED BY (id) INTO 2 BUCKETS LOCATION '{folder}/b'"
    )
    spark.range(100).write.insertInto("b")
    tamis.index(spark, "b").build()
    spark.range(50, 200).write.insertInto("b")
    frame = same("SELECT id FROM b WHERE id >= 60")
    assert frame.count() == 180
    assert conjuncts(frame)["(id >= 60L)"] != "exact"
    assert kept(same("SELECT id FROM b WHERE id >= 100")) == [2]


def test_ignored_missing_files_give_the_rows_of_plain_spark(
    spark: SparkSession, folder: str
) -> None:
    spark.sql(
        f"CREATE TABLE b (id BIGINT) USING parquet CLUSTERED BY (id) INTO 2 BUCKETS LOCATION '{folder}/b'"
    )
    spark.range(100).write.insertInto("b")
    tamis.index(spark, "b").build()
    spark.table("b").where("id < 60").count()  # Spark caches the listing
    next(iter(pathlib.Path(folder, "b").glob("*.parquet"))).unlink()
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    answers = []
    for enabled in ("false", "true"):
        spark.conf.set("spark.tamis.enabled", enabled)
        answers.append(rows(spark.table("b").where("id >= 0")))
    assert answers[0] == answers[1]
    assert 0 < len(answers[0]) < 100


def test_catalog_statistics_follow_the_kept_files(
    spark: SparkSession, tables: dict[str, str]
) -> None:
    spark.sql("ANALYZE TABLE by_id COMPUTE STATISTICS FOR COLUMNS id, k")
    spark.conf.set("spark.sql.cbo.enabled", "true")

    def estimated(condition: str) -> tuple[int, int | None]:
        """Return the bytes and rows that are estimated for the relation in the optimized plan."""
        text = str(spark.sql(f"EXPLAIN COST SELECT * FROM by_id WHERE {condition}").first()[0])
        line = next(each for each in text.splitlines() if "Relation spark_catalog" in each)
        size = re.search(r"sizeInBytes=([\d.]+) (\w+)", line)
        count = re.search(r"rowCount=([\d.E+]+)", line)
        assert size
        unit = {"B": 1, "KiB": 1024, "MiB": 1024**2}[size[2]]
        return int(float(size[1]) * unit), int(float(count[1])) if count else None

    for cbo, few, many in (("true", 200, 1000), ("false", None, None)):
        spark.conf.set("spark.sql.cbo.enabled", cbo)
        assert estimated("id < 200")[1] == few
        assert estimated("id >= 0")[1] == many
        assert estimated("id < 200")[0] * 3 < estimated("id >= 0")[0]


def test_random_numbers_samples_and_topk_above_a_swap(
    spark: SparkSession, tables: dict[str, str], same: Same
) -> None:
    assert kept(spark.sql("SELECT id, rand(1) AS r FROM by_id WHERE id < 200")) == [4]
    same("SELECT id FROM by_id TABLESAMPLE (100 PERCENT) WHERE id < 200")
    same("SELECT id FROM by_id WHERE id < 200 ORDER BY id DESC LIMIT 3")


def test_missing_sidecar_leaves_the_relation_to_spark(
    spark: SparkSession, tables: dict[str, str], no_sidecar: None
) -> None:
    before = len(spark._jvm.io.tamis.Tamis.warnings())
    frame = spark.table("by_id").where("id < 5 AND k >= 0")
    assert frame.count() == 5
    assert "TamisFileIndex" not in plan(frame)
    assert spark.table("parts").where("part = 1 AND id < 300").count() == 50
    assert len(spark._jvm.io.tamis.Tamis.warnings()) == before + 1
