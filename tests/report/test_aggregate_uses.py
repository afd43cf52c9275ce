"""The report names the aggregates that would pay, with the call that records them."""

from __future__ import annotations

import ast
import shlex
from typing import Any

import pytest
from typer.testing import CliRunner

from tamis.indexing.cli import app
from tamis.indexing.format.groups import MAX_GROUPS
from tamis.report.findings import findings
from tamis.report.page import to_html
from tests.report.histories import history_of, scan


def aggregated(number: int = 0, by: tuple[str, ...] = ("flag",), **changes: Any) -> dict[str, Any]:
    """Return a scan of 100 files of 1 MB below sum(x). 98 would not have been read."""
    wanted = {
        "aggregates": ["sum(x)"],
        "by": [*by],
        "groups": 3,
        "files": 98,
        "bytes": 98_000_000,
    }
    others = {k: changes.pop(k) for k in [*changes] if k not in wanted}
    return scan(number, aggregates=wanted | changes, conjuncts=[], rows_passed=1_000_000, **others)


def uses(*scans: dict[str, Any]) -> list[tuple[list[str], list[str], int]]:
    found = findings(history_of(*scans)).aggregates
    return [(each.aggregates, each.by, each.scans) for each in found]


def four(**changes: Any) -> list[dict[str, Any]]:
    return [aggregated(number, **changes) for number in range(4)]


def test_aggregates_that_save_more_than_two_scans() -> None:
    assert uses(*four()) == [(["sum(x)"], ["flag"], 4)]
    assert uses(*four()[:3]) == [(["sum(x)"], ["flag"], 3)]
    assert uses(*four()[:2]) == []
    (use,) = findings(history_of(*four())).aggregates
    assert (use.saved_files, use.saved_bytes, use.files_kept, use.groups) == (
        392,
        392_000_000,
        400,
        3,
    )
    assert use.call == (
        'tamis.index(spark, "file:/data/events").add(aggregates=["sum(x)"], by=["flag"])'
    )
    assert (
        use.command == "python -m tamis index add --aggregate 'sum(x)' --by flag file:/data/events"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"groups": MAX_GROUPS + 1},
        {"groups": None},
        {"files": 0, "bytes": 0},
        {"files": None, "bytes": None},
        {"files": 49, "bytes": 49_000_000},
        {"fallback": "DEADLINE"},
    ],
    ids=["many groups", "groups not known", "cut files", "not known", "few files", "fallback"],
)
def test_aggregates_that_would_not_pay(changes: dict[str, Any]) -> None:
    assert uses(*four(**changes)) == []


def test_observed_scans_count() -> None:
    assert uses(*four(observed=True, fallback="OBSERVED")) == [(["sum(x)"], ["flag"], 4)]


def test_queries_by_fewer_columns_use_the_same_aggregates() -> None:
    scans = [
        aggregated(0, ("flag", "status"), aggregates=["sum(x)", "count(*)"]),
        aggregated(1, ("status", "flag")),
        aggregated(2, ("flag",), aggregates=["max(y)"]),
        aggregated(3, ()),
        *(aggregated(10 + n, ("country",), aggregates=["count(*)"]) for n in range(5)),
    ]
    assert uses(*scans) == [
        (["count(*)"], ["country"], 5),
        (["count(*)", "max(y)", "sum(x)"], ["flag", "status"], 4),
    ]


def test_tables_are_separate() -> None:
    others = [aggregated(10 + n, table="db.other", index_arguments="db.other") for n in range(5)]
    found = findings(history_of(*four(), *others)).aggregates
    assert [(each.table, each.scans) for each in found] == [
        ("db.other", 5),
        ("parquet file:/data/events", 4),
    ]
    assert found[0].call.startswith('tamis.index(spark, "db.other").add(')


@pytest.mark.parametrize(
    "sql", ["count(*)", "sum(`a b` * 2)", "max(concat(s, 'it''s \"ß\" \\\\'))", "sum(x)\n"]
)
def test_call_and_command_hold_the_text_as_it_is(sql: str) -> None:
    by = ("Größe.a`b", 'q"')
    path = "'file:/data/my \"table\"' --conf spark.tamis.index.location=s3a://i/"
    scans = four(aggregates=[sql], by=by, index_arguments=path)
    (use,) = findings(history_of(*scans)).aggregates
    call = ast.parse(use.call, mode="eval").body
    assert isinstance(call, ast.Call)
    given = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    assert given == {"aggregates": [sql], "by": sorted(by)}
    assert isinstance(call.func, ast.Attribute)
    assert isinstance(call.func.value, ast.Call)
    assert ast.literal_eval(call.func.value.args[1]) == 'file:/data/my "table"'
    words = shlex.split(use.command)
    assert words[:5] == ["python", "-m", "tamis", "index", "add"]
    assert words[5:] == [
        *("--aggregate", sql, *(word for name in sorted(by) for word in ("--by", name))),
        *('file:/data/my "table"', "--conf", "spark.tamis.index.location=s3a://i/"),
    ]
    helped = CliRunner().invoke(app, ["add", "--help"]).output
    assert "--aggregate" in helped
    assert "--by" in helped


def test_page_shows_the_call() -> None:
    page = to_html(findings(history_of(*four(aggregates=["sum(IF(x < 5, x, 0))"]))), "h", 0)
    assert "Aggregates worth recording" in page
    assert "add(aggregates=[&quot;sum(IF(x &lt; 5, x, 0))&quot;], by=[&quot;flag&quot;])" in page
    assert "392 of 400" in page
    assert "Aggregates worth recording" not in to_html(findings(history_of(scan())), "h", 0)


def test_history_of_an_earlier_version_has_no_aggregates() -> None:
    assert uses(*(scan(number, aggregates=None) for number in range(9))) == []
