"""The audit reads some skipped files. It reports nothing unless a result is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tests.spark.test_metrics import counters
from tests.spark.test_remembered import age

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# query, files that the audit reads: up to three skipped ones per scan, and as many that were read
QUERIES = [
    ("SELECT name FROM events WHERE id = 5", 4),
    ("SELECT name FROM events WHERE year(day) = 1995 AND name > ''", 6),
    ("SELECT a.name FROM events a JOIN events b ON a.id = b.id WHERE a.id < 50", 8),
    ("SELECT name FROM events WHERE id > (SELECT max(id) - 3 FROM events) AND id > 7", 3),
    ("SELECT name FROM events WHERE id > 500 LIMIT 3", 1),
    ("SELECT name FROM events", 0),
]


@pytest.fixture
def audited(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.tamis.audit", "3")
    yield spark
    spark.conf.unset("spark.tamis.audit")


def audit_warnings(spark: SparkSession) -> list[str]:
    """Wait for the audits to end, and return their warnings."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    audit = spark._jvm.io.tamis.Tamis
    assert audit.awaitAudits(60_000)
    return [text for text in audit.warnings() if "audit" in text]


@pytest.mark.parametrize(("query", "files"), QUERIES)
def test_correct_pruning_passes_the_audit(
    audited: SparkSession, events: DataFrame, query: str, files: int
) -> None:
    before = audit_warnings(audited)
    checks = audited._jvm.io.tamis.Tamis.auditedFiles()
    audited.sql(query).collect()
    assert audit_warnings(audited) == before
    assert audited._jvm.io.tamis.Tamis.auditedFiles() - checks == files


def executions(spark: SparkSession) -> dict[int, tuple[int, int]]:
    """Return the submission time and number of jobs of each execution of the SQL tab, by its id."""
    listed = spark._jsparkSession.sharedState().statusStore().executionsList()
    listed_executions = [listed.apply(i) for i in range(listed.size())]
    return {
        each.executionId(): (each.submissionTime(), each.jobs().size())
        for each in listed_executions
    }


def test_audit_does_not_change_the_sql_tab(audited: SparkSession, events: DataFrame) -> None:
    """Jobs of an audit belong to no query: neither to its execution nor to its job group or tag."""
    context = audited.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    others = executions(audited)  # of tests before this one
    context.setJobGroup("mine", "my own description")
    context.setLocalProperty("spark.scheduler.pool", "mine")
    try:
        for number in (3, 4):
            audited.sql(f"SELECT name FROM events WHERE id = {number}").collect()
            audited.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
            before = executions(audited)
            audit_warnings(audited)
            context._jsc.sc().listenerBus().waitUntilEmpty(60_000)
            assert executions(audited) == before
        mine = [before[each] for each in before.keys() - others.keys()]
        assert len(mine) == 2
        assert all(submitted > 0 for submitted, _ in mine)
        listed = context._jsc.sc().statusStore().jobsList(None)
        jobs = [listed.apply(i) for i in range(listed.size())]
        audits = [j for j in jobs if "tamis audit of" in j.description().toString()]
    finally:
        for key in ("spark.jobGroup.id", "spark.job.description", "spark.scheduler.pool"):
            context.setLocalProperty(key, None)
    assert audits
    for job in audits:
        assert job.jobGroup().isEmpty()
        assert job.jobTags().isEmpty()


def test_audits_are_counted_in_metrics(audited: SparkSession, events: DataFrame) -> None:
    audit_warnings(audited)
    before = counters(audited)
    audited.sql("SELECT name FROM events WHERE id = 5").collect()
    audit_warnings(audited)
    more = {name: count - before[name] for name, count in counters(audited).items()}
    assert (more["audits.passed"], more["audits.files"]) == (1, 4)
    assert (more["audits.disagreement"], more["audits.failed"]) == (0, 0)


def test_history_shows_a_passed_audit(
    audited: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    bridge = audited._jvm.io.tamis.Tamis
    bridge.flushHistory(audited._jsparkSession)
    audited.conf.set("spark.tamis.history.enabled", "true")
    audited.conf.set("spark.tamis.history.location", str(tmp_path / "history"))
    audited.sql("SELECT name FROM events WHERE id = 5").collect()
    audited.sql("SELECT name FROM events").collect()  # nothing to audit
    audit_warnings(audited)
    bridge.flushHistory(audited._jsparkSession)
    passed, nothing = tamis.history(tmp_path / "history").to_pylist()
    assert passed["audit"] == {"result": "passed", "files": 4, "text": None}
    assert nothing["audit"] is None
    assert [row.audit and row.audit.result for row in audited.sql(
        "SELECT audit FROM tamis_history() ORDER BY time"
    ).collect()] == ["passed", None]  # fmt: skip


def test_audit_covers_files_an_observed_scan_would_skip(
    audited: SparkSession, tmp_path: Path
) -> None:
    """The index is wrong but trusted. All files are read, so the query is right."""
    changed = tmp_path / "b.parquet"
    write(tmp_path / "a.parquet", 0)
    write(changed, 10)
    tamis.index(audited, str(tmp_path)).build()
    before, known = os.stat(changed), audit_warnings(audited)
    write(changed, 0)
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    audited.conf.set("spark.tamis.mode", "observe")
    assert len(audited.read.parquet(str(tmp_path)).where("c < 5").collect()) == 10
    (text,) = [text for text in audit_warnings(audited) if text not in known]
    assert text.startswith("the audit found a wrong decision: 5 rows of")
    assert "The query was not affected" in text
    assert "would not have been read: they are in" in text


def write(path: Path, first: int) -> None:
    table = pa.table({"c": pa.array(range(first, first + 10), pa.int64())})
    pq.write_table(table, path, use_dictionary=False, compression="none")


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("c < 5", "5 rows of .* pass .*, but were not read"),
        ("c >= 10", "10 rows of .* do not pass .*, but tamis removed this filter"),
    ],
)
def test_audit_reports_a_file_changed_under_the_same_key(
    audited: SparkSession, tmp_path: Path, condition: str, says: str
) -> None:
    """Path, size and time are the same, so the index is trusted; the rows differ."""
    changed = tmp_path / "b.parquet"
    write(tmp_path / "a.parquet", 0)
    write(changed, 10)
    tamis.index(audited, str(tmp_path)).build()
    frame = audited.read.parquet(str(tmp_path)).where(condition)
    before, known = os.stat(changed), audit_warnings(audited)
    write(changed, 0)
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(changed).st_size == before.st_size
    frame.collect()
    (text,) = [text for text in audit_warnings(audited) if text not in known]
    assert re.search(says, text), text
    assert text.startswith("the audit found a wrong result: ")
    assert "b.parquet" in text


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("a hay", "LOUSE", "10 rows of .* pass .*, but were not read"),
        ("LOUSE", "a hay", "10 rows of .* do not pass .*, but tamis removed this filter"),
    ],
)
@pytest.mark.usefixtures("no_codegen")
def test_audit_reports_what_earlier_scans_found_wrongly(
    audited: SparkSession,
    tmp_path: Path,
    learnt: Callable[[], list[Any]],
    before: str,
    after: str,
    says: str,
) -> None:
    """As above, but an earlier scan found that no row passes, or every row."""
    folder = tmp_path / "log"
    folder.mkdir()
    changed = folder / "b.parquet"
    write_text(folder / "a.parquet", after)
    write_text(changed, before)
    age(str(folder))
    of_file = os.stat(changed)
    run = lambda: audited.read.parquet(str(folder)).where("text LIKE '%OU%'").count()  # noqa: E731
    assert run() == 10
    (note,) = learnt()
    assert (note.files, note.passing_files) == (1, 1)
    known = audit_warnings(audited)
    write_text(changed, after)
    os.utime(changed, ns=(of_file.st_atime_ns, of_file.st_mtime_ns))
    assert os.stat(changed).st_size == of_file.st_size
    assert run() == 10
    (text,) = [text for text in audit_warnings(audited) if text not in known]
    assert text.startswith("the audit found a wrong result: ")
    assert re.search(says, text), text


def write_text(path: Path, text: str) -> None:
    table = pa.table({"text": [text] * 10})
    pq.write_table(table, path, use_dictionary=False, compression="none")


def test_error_on_rereading_is_not_a_disagreement(audited: SparkSession, tmp_path: Path) -> None:
    """Plain Spark raises for rows of a file that was skipped. That is not reported."""
    audited.conf.set("spark.sql.ansi.enabled", "true")
    write(tmp_path / "a.parquet", 0)
    write(tmp_path / "b.parquet", 10)
    tamis.index(audited, str(tmp_path)).build()
    known = audit_warnings(audited)
    frame = audited.read.parquet(str(tmp_path)).where("c >= 10 AND 100 / (c - 3) > 0")
    assert frame.count() == 10
    assert audit_warnings(audited) == known
