"""Guards refuse queries and report the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import UnsupportedOperationException

import tamis
from tests.spark.conftest import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("no_codegen")

REQUIRE = "spark.tamis.requireFilter"
ASSERT = "spark.tamis.assertPruned"

NEED_A_FILTER = [
    "SELECT name FROM events",
    "SELECT name FROM events WHERE id IS NOT NULL",
    "SELECT name FROM events WHERE rand() < 2",
    "SELECT a.name FROM events a JOIN events b ON a.name <> b.name WHERE a.id = 5",
    "SELECT id FROM events WHERE id = (SELECT max(length(name)) FROM events)",
    "SELECT name FROM events WHERE id >= 0",  # every row satisfies it, and statistics prove so
    "SELECT name FROM events WHERE id <> 5",  # statistics can evaluate it, but it rules out no file
    "SELECT name FROM events WHERE id < 5000 AND name > ''",
]

HAVE_ONE = [
    "SELECT count(name) FROM events WHERE id = 5",
    "SELECT count(name) FROM events WHERE id >= 0",  # answered from statistics
    "SELECT count(name) FROM events WHERE year(day) = 1995 OR id = 3",
    "SELECT a.id FROM events a JOIN events b ON a.id = b.id WHERE a.id < 50",  # a prunes b
    "SELECT name FROM events LIMIT 5",
    "SELECT count(*) FROM events",  # no file is read
]


@pytest.mark.parametrize("query", NEED_A_FILTER)
@pytest.mark.parametrize("tables", ["*", "elsewhere, {path}", "{path}/"])
def test_scan_without_a_predicate_is_refused(
    spark: SparkSession, events: DataFrame, events_path: str, query: str, tables: str
) -> None:
    spark.conf.set(REQUIRE, tables.format(path=f"file:{events_path}"))
    with pytest.raises(UnsupportedOperationException, match="requireFilter"):
        spark.sql(query).collect()


@pytest.mark.parametrize("named", ["{path}", "file:{path}", "elsewhere, {path}/"])
def test_path_may_contain_spaces(spark: SparkSession, tmp_path: Path, named: str) -> None:
    path = str(tmp_path / "a b")
    spark.range(10).write.parquet(path)
    spark.conf.set(REQUIRE, named.format(path=path))
    with pytest.raises(UnsupportedOperationException, match="requireFilter"):
        spark.read.parquet(path).collect()
    spark.conf.set(REQUIRE, named.format(path=str(tmp_path / "a")))
    assert len(spark.read.parquet(path).collect()) == 10


@pytest.mark.parametrize("query", HAVE_ONE)
def test_scan_with_a_predicate_is_not_refused(
    spark: SparkSession, events: DataFrame, query: str
) -> None:
    spark.conf.set("spark.tamis.enabled", "false")
    expected = len(rows(spark.sql(query)))
    spark.conf.set("spark.tamis.enabled", "true")
    spark.conf.set(REQUIRE, "*")
    assert len(rows(spark.sql(query))) == expected


def test_split_scan_that_reads_all_files_is_refused(spark: SparkSession, events: DataFrame) -> None:
    """One part of the files is read without the filter, and the other part with it."""
    spark.conf.set("spark.tamis.residualSplit.minSaved", "0ms")
    query = "SELECT sum(item.sku) FROM events WHERE upper(name) >= 'N0050' OR name LIKE '%x%'"
    assert "UNION" in str(spark.sql(f"EXPLAIN {query}").first()[0]).upper()
    spark.conf.set(REQUIRE, "*")
    with pytest.raises(UnsupportedOperationException, match="requireFilter"):
        spark.sql(query).collect()


def test_pruning_row_groups_satisfies_the_guard(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path)
    one = spark.range(4000).coalesce(1)
    one.write.mode("overwrite").option("parquet.block.size", 4096).option(
        "parquet.block.size.row.check.min", 10
    ).parquet(path)
    tamis.index(spark, path).build()
    spark.conf.set(REQUIRE, "*")
    assert spark.read.parquet(path).where("id = 17").count() == 1
    with pytest.raises(UnsupportedOperationException, match="requireFilter"):
        spark.read.parquet(path).where("id >= 0").collect()


def test_single_file_table_needs_a_predicate_that_statistics_can_use(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path)
    spark.range(10).coalesce(1).write.mode("overwrite").parquet(path)
    tamis.index(spark, path).build()
    spark.conf.set(REQUIRE, "*")
    frame = spark.read.parquet(path)
    assert frame.where("id >= 3").count() == 7
    for condition in ("hash(id) <> 0", "id IS NOT NULL"):
        with pytest.raises(UnsupportedOperationException, match="requireFilter"):
            frame.where(condition).collect()


def test_metastore_pruning_satisfies_the_guard(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE apart (id BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO apart SELECT id, id % 4 FROM range(40)")
    spark.conf.set(REQUIRE, "apart")
    assert spark.sql("SELECT id FROM apart WHERE p = 1").count() == 10
    with pytest.raises(UnsupportedOperationException, match="requireFilter"):
        spark.sql("SELECT id FROM apart WHERE p >= 0").collect()
    spark.sql("ALTER TABLE apart ADD PARTITION (p = 7)")  # without files
    with pytest.raises(UnsupportedOperationException, match="requireFilter"):
        spark.sql("SELECT id FROM apart WHERE p >= 0").collect()
    assert spark.sql("SELECT id FROM apart WHERE p < 7").count() == 40
    mixed = "SELECT id FROM apart WHERE (p = 1 AND id > 5) OR p = 2"
    assert spark.sql(mixed).count() == 18


def warnings_with(spark: SparkSession, text: str) -> list[str]:
    return [each for each in spark._jvm.io.tamis.Tamis.warnings() if text in each]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("evnets_of_mine", "a table that does not exist"),
        ("default.evnets_too", "a table that does not exist"),
        ("no_such_database.events", "a table that does not exist"),
        ("elsewhere.default.events", "whose catalog this session does not have"),
        ("/no/such/path", "a path that does not exist"),
        ("events", "a view"),
        ("seen", "a view"),
    ],
)
def test_required_name_without_effect_is_warned_once(
    spark: SparkSession, events: DataFrame, events_path: str, name: str, problem: str
) -> None:
    spark.sql(f"CREATE VIEW seen AS SELECT * FROM parquet.`{events_path}`")
    spark.conf.set(REQUIRE, name)
    for _ in range(2):
        assert len(spark.sql("SELECT name FROM events").collect()) == 1000
    (text,) = warnings_with(spark, f"requireFilter names '{name}'")
    assert problem in text


def test_guarded_table_outside_the_query_is_not_warned(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    spark.sql("CREATE TABLE kept_for_later USING parquet AS SELECT * FROM events")
    names = f"kept_for_later, DEFAULT.kept_for_later, {tmp_path}"
    spark.conf.set(REQUIRE, names)
    assert len(spark.sql("SELECT name FROM events").collect()) == 1000
    for name in names.split(", "):
        assert warnings_with(spark, f"requireFilter names '{name}'") == []


def test_paths_are_compared_in_the_spelling_of_spark(
    spark: SparkSession, events: DataFrame, events_path: str
) -> None:
    for spelling in (f"file://{events_path}", f"file:{events_path}", events_path + "//"):
        spark.conf.set(REQUIRE, spelling)
        with pytest.raises(UnsupportedOperationException, match="requireFilter"):
            spark.sql("SELECT name FROM events").collect()


def test_column_of_an_unscanned_table_causes_a_warning(
    spark: SparkSession, events: DataFrame
) -> None:
    spark.conf.set(ASSERT, "idd, item.sku = 3, item.colour")
    for _ in range(2):
        assert len(spark.sql("SELECT name FROM events WHERE id = 5").collect()) == 1
    assert len(warnings_with(spark, "assertPruned names 'idd'")) == 1
    assert len(warnings_with(spark, "assertPruned names 'item.colour'")) == 1
    assert warnings_with(spark, "assertPruned names 'item.sku = 3'") == []


def test_names_are_compared_independently_of_the_locale(
    spark: SparkSession, events: DataFrame
) -> None:
    """In Turkish the lower case of I is a different letter."""
    locale = spark._jvm.java.util.Locale
    before = locale.getDefault()
    spark.sql("CREATE TABLE listed_items USING parquet AS SELECT * FROM events")
    try:
        locale.setDefault(locale.forLanguageTag("tr"))
        spark.conf.set(REQUIRE, "LISTED_ITEMS")
        with pytest.raises(UnsupportedOperationException, match="listed_items"):
            spark.sql("SELECT name FROM listed_items").collect()
    finally:
        locale.setDefault(before)


def test_other_tables_are_not_guarded(spark: SparkSession, events: DataFrame) -> None:
    spark.conf.set(REQUIRE, "elsewhere")
    assert spark.sql("SELECT name FROM events").count() == 1000


def test_tables_are_named_as_in_the_catalog(spark: SparkSession, events: DataFrame) -> None:
    spark.sql("CREATE TABLE kept_apart USING parquet AS SELECT * FROM events")
    for name in ("kept_apart", "default.KEPT_APART", "spark_catalog.default.kept_apart"):
        spark.conf.set(REQUIRE, name)
        with pytest.raises(UnsupportedOperationException, match="kept_apart"):
            spark.sql("SELECT name FROM kept_apart").collect()
        assert spark.sql("SELECT name FROM events").count() == 1000


def test_refusal_lists_the_predicates(spark: SparkSession, events: DataFrame) -> None:
    spark.conf.set(REQUIRE, "*")
    with pytest.raises(UnsupportedOperationException) as refused:
        spark.sql("SELECT id FROM events WHERE soundex(name) = 'x'").collect()
    assert "soundex" in str(refused.value)
    assert "no pruning rule" in str(refused.value)


def test_unavailable_planner_refuses_no_query(
    spark: SparkSession, events: DataFrame, no_sidecar: None
) -> None:
    spark.conf.set(REQUIRE, "*")
    assert spark.sql("SELECT id FROM events WHERE id = 717").count() == 1


@pytest.mark.parametrize("mode", ["observe", "off"])
def test_other_modes_refuse_nothing(spark: SparkSession, events: DataFrame, mode: str) -> None:
    spark.conf.set("spark.tamis.mode", mode)
    spark.conf.set(REQUIRE, "*")
    spark.conf.set(ASSERT, "name")
    assert spark.sql("SELECT id FROM events WHERE name > ''").count() == 1000


PRUNES = [
    ("id", "SELECT name FROM events WHERE id = 5"),
    ("ID", "SELECT name FROM events WHERE id = 5"),
    ("id = 5", "SELECT name FROM events WHERE id = 5 AND name > ''"),
    ("id + 1 < 50", "SELECT name FROM events WHERE 50 > 1 + id"),
    ("name", "SELECT name FROM events WHERE id = 5"),  # the query has no such conjunct
    ("no_such_column", "SELECT name FROM events WHERE id >= 0"),
    ("id, day", "SELECT name FROM events WHERE id = 5"),
    ("id IN (5, 7)", "SELECT name FROM events WHERE id IN (5, 7)"),
]

DOES_NOT_PRUNE = [
    ("id", "SELECT name FROM events WHERE id >= 0"),
    ("id >= 0", "SELECT name FROM events WHERE id >= 0 AND id < 50"),
    ("day, soundex(name)", "SELECT id FROM events WHERE soundex(name) = 'x' AND id = 5"),
    ("day; soundex(name)", "SELECT id FROM events WHERE soundex(name) = 'x' AND id = 5"),
    ("day, name LIKE '%,%'", "SELECT id FROM events WHERE name LIKE '%,%'"),
    ("name", "SELECT id FROM events WHERE soundex(name) = 'x' AND id = 5"),
]


@pytest.mark.parametrize(("asserted", "query"), PRUNES)
def test_pruning_conjunct_passes_assert_pruned(
    spark: SparkSession, events: DataFrame, asserted: str, query: str
) -> None:
    spark.conf.set(ASSERT, asserted)
    spark.sql(query).collect()


@pytest.mark.parametrize(("asserted", "query"), DOES_NOT_PRUNE)
def test_conjunct_that_prunes_nothing_fails_the_query(
    spark: SparkSession, events: DataFrame, asserted: str, query: str
) -> None:
    spark.conf.set(ASSERT, asserted)
    with pytest.raises(
        UnsupportedOperationException, match=r"rules out no file of .* \(10 in all\)"
    ):
        spark.sql(query).collect()


def test_assert_pruned_fails_without_a_planner(
    spark: SparkSession, events: DataFrame, no_sidecar: None
) -> None:
    spark.conf.set(ASSERT, "id")
    with pytest.raises(UnsupportedOperationException, match="cannot run the Python interpreter"):
        spark.sql("SELECT name FROM events WHERE id = 719").collect()


def test_invalid_sql_in_assert_pruned_is_reported(spark: SparkSession, events: DataFrame) -> None:
    spark.conf.set(ASSERT, "id = = 5")
    with pytest.raises(UnsupportedOperationException, match="assertPruned"):
        spark.sql("SELECT name FROM events WHERE id = 5").collect()
