"""`tamis.maintain` and `python -m tamis index maintain`, with Spark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import tamis
from tamis.indexing.problems import IndexMissing
from tamis.maintenance.commands import app
from tests.indexing.commands import use_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 20


@pytest.fixture(scope="module")
def written(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 20 files, each of which has `key` from its whole range."""
    folder = tmp_path_factory.mktemp("maintained") / "t"
    rows = spark_session.range(8000).selectExpr(
        "id",
        "(id * 7919) % 8000 * 1000 AS key",
        "concat('n', (id * 7919) % 8000) AS name",
        "CAST(id AS DOUBLE) AS x",
    )
    rows.repartitionByRange(FILES, "id").write.parquet(str(folder))
    return folder


@pytest.fixture
def path(spark: SparkSession, written: Path, tmp_path: Path) -> str:
    """Return a copy of this table, without an index and with a history of its own."""
    spark.conf.set("spark.tamis.history.enabled", "true")
    spark.conf.set("spark.tamis.history.location", str(tmp_path / "history"))
    return str(shutil.copytree(written, tmp_path / "t"))


def query(spark: SparkSession, path: str) -> list[int]:
    """Run queries that match one row each; return the most files that each predicate keeps."""
    kept = []
    for values in (
        ("key = 4000000", "key = 4111000"),
        ("reverse(name) = '5n'", "reverse(name) = '77n'"),
    ):
        for condition in values:
            rows = spark.read.parquet(path).where(condition)
            assert rows.count() == 1
            (scan,) = tamis.explain(rows).to_dict()["scans"]
            kept.append(scan["files_kept"])
    return [max(kept[:2]), max(kept[2:])]


def steps(done: tamis.Maintenance) -> list[tuple[Any, ...]]:
    return [(step.action, step.kind, step.name) for step in done.steps]


def has_index(spark: SparkSession, path: str) -> bool:
    try:
        tamis.index(spark, path).describe()
    except IndexMissing:
        return False
    return True


BLOOM = ("record", "bloom", "key")
REVERSE = ("record", "bloom", "reverse(name)")


def test_what_queries_lacked_is_recorded(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert query(spark, path) == [FILES, FILES]
    # without an index, nothing shows that bounds of the columns are not enough
    assert steps(tamis.maintain(spark, path)) == [("build", None, None)]
    assert query(spark, path) == [FILES, FILES]

    planned = tamis.maintain(spark, path, dry_run=True)
    assert steps(planned) == [BLOOM, REVERSE]
    step = planned.steps[0]
    assert (step.files, step.scans, step.lost_files) == (FILES, 2, 2 * (FILES - 1))
    assert 0 < step.read_bytes < step.lost_bytes
    assert "2 scans in the history read up to" in str(planned)
    assert planned.seconds is None
    assert query(spark, path) == [FILES, FILES]

    done = tamis.maintain(spark, path)
    assert steps(done) == steps(planned)
    assert done.seconds is not None
    assert max(query(spark, path)) < 5
    # if there is nothing to do, no job estimates what it costs
    monkeypatch.delattr("tamis.indexing.build.table_reader.TableReader.column_bytes")
    assert steps(tamis.maintain(spark, path)) == []
    assert str(tamis.maintain(spark, path)) == f"{path}: nothing to do"


def test_functions_without_a_rule_need_no_index_first(spark: SparkSession, path: str) -> None:
    for _ in range(2):
        assert spark.read.parquet(path).where("soundex(name) = 'X'").count() == 0
    assert not has_index(spark, path)
    done = tamis.maintain(spark, path)
    assert steps(done) == [("build", None, None), ("record", "bloom", "SoundEx(name)")]
    (scan,) = tamis.explain(spark.read.parquet(path).where("soundex(name) = 'X'")).to_dict()[
        "scans"
    ]
    assert scan["files_kept"] < 5


def test_stale_indexes_are_refreshed(spark: SparkSession, path: str) -> None:
    tamis.index(spark, path).build(columns={"key": "bloom"})
    for file in sorted(Path(path).glob("part-*.parquet"))[:2]:
        file.unlink()
    more = spark.range(9000, 9100).selectExpr("id", "id AS key", "'m' AS name", "0.5D AS x")
    more.coalesce(1).write.mode("append").parquet(path)
    planned = tamis.maintain(spark, path, dry_run=True)
    (step,) = planned.steps
    assert (step.action, step.added, step.changed, step.gone) == ("refresh", 1, 0, 2)
    assert "refresh the index: 1 new, 0 changed and 2 deleted files; reads about" in str(planned)
    assert tamis.index(spark, path).describe().staleness.gone == 2
    tamis.maintain(spark, path)
    description = tamis.index(spark, path).describe()
    assert not description.staleness.is_stale
    assert [entry.name for entry in description.recorded if not entry.fills_gap] == ["key"]


@pytest.mark.parametrize("harm", ["damage", "overwrite"])
def test_what_an_index_recorded_is_restored(spark: SparkSession, path: str, harm: str) -> None:
    tamis.index(spark, path).build(columns={"key": "bloom"}, expressions=["reverse(name)"])
    before = tamis.index(spark, path).describe()
    if harm == "damage":
        (pointer,) = Path(path, "_tamis").glob("_index.json")
        pointer.write_bytes(b"{}")
    else:
        spark.read.parquet(path).localCheckpoint().write.mode("overwrite").parquet(path)
    done = tamis.maintain(spark, path)
    assert steps(done) == [("build", None, None)]
    after = tamis.index(spark, path).describe()
    assert not after.staleness.is_stale
    recorded = [[(e.kind, e.name) for e in each.recorded] for each in (before, after)]
    assert recorded[0] == recorded[1]


def test_indexes_of_other_columns_are_built(spark: SparkSession, path: str) -> None:
    tamis.index(spark, path).build(columns={"key": "bloom"})
    spark.sql(f"CREATE TABLE maintained USING parquet LOCATION '{path}'")
    try:
        spark.sql("ALTER TABLE maintained ADD COLUMNS (later INT)")
        assert steps(tamis.maintain(spark, "maintained")) == [("build", None, None)]
        assert steps(tamis.maintain(spark, "maintained")) == []
    finally:
        spark.sql("DROP TABLE maintained")


def test_costly_statistics_are_left_out(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tamis.index(spark, path).build()
    query(spark, path)
    monkeypatch.setattr("tamis.report.quality.OPEN_COST", 0)
    monkeypatch.setattr(
        "tamis.indexing.build.table_reader.TableReader.column_bytes",
        lambda self, ordinals: {("key", "INT64"): 10**12, ("name", "BYTE_ARRAY"): 1},
    )
    planned = tamis.maintain(spark, path)
    assert {each.name: each.is_worthwhile for each in planned.steps} == {
        "key": False,
        "reverse(name)": True,
    }
    assert "left out, because it would cost more than it saves: record Bloom" in str(planned)
    recorded = tamis.index(spark, path).describe().recorded
    assert [entry.name for entry in recorded if not entry.fills_gap] == ["reverse(name)"]


def test_history_of_other_tables_does_not_count(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    other = str(tmp_path / "other")
    shutil.copytree(path, other)
    tamis.index(spark, other).build()
    query(spark, other)
    assert steps(tamis.maintain(spark, path, dry_run=True)) == [("build", None, None)]
    both = spark.read.parquet(path, other).where("key = 4000000")
    assert [both.count(), both.count()] == [2, 2]
    assert steps(tamis.maintain(spark, path, dry_run=True)) == [("build", None, None)]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert steps(tamis.maintain(spark, other, dry_run=True, history=empty)) == []
    assert BLOOM in steps(tamis.maintain(spark, other, dry_run=True))


def test_tables_of_other_formats(spark: SparkSession, path: str, tmp_path: Path) -> None:
    orc = str(tmp_path / "orc")
    spark.read.parquet(path).write.orc(orc)
    reader = spark.read.format("orc").schema(spark.read.orc(orc).schema)
    done = tamis.maintain(spark, orc, reader=reader)
    (step,) = done.steps
    assert step.action == "build"
    assert step.read_bytes == sum(file.stat().st_size for file in Path(orc).glob("*.orc"))
    assert steps(tamis.maintain(spark, orc, reader=reader)) == []


def test_command(
    spark: SparkSession, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_session(monkeypatch, spark)

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, ["maintain", path, *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    query(spark, path)
    assert "build the index" in run("--dry-run")
    assert not has_index(spark, path)
    tamis.index(spark, path).build()
    query(spark, path)
    document = json.loads(run("--json", "--history", str(tmp_path / "history")))
    assert [step["name"] for step in document["steps"]] == ["key", "reverse(name)"]
    assert document["seconds"] > 0
    assert "nothing to do" in run()
    result = CliRunner().invoke(app, ["maintain", path, "--history", str(tmp_path / "none")])
    assert isinstance(result.exception, tamis.TamisError)
    assert "none is not a directory" in str(result.exception)
