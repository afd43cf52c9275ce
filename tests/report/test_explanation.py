"""The forms of an explanation: text without a terminal, HTML without scripts."""

from __future__ import annotations

import io
import re
import sys
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

from tamis.errors import TamisError
from tamis.report.explanation import Explanation, explain, only_what_did_not, why_not

NASTY = "(name = '<script>alert(1)</script>\" [bold]&amp;')"


def conjunct(sql: str, pushdown: str, **more: Any) -> dict[str, Any]:
    return {"sql": sql, "pushdown": pushdown, "reason": None, "pruned_files": None} | more


def why(code: str = "RANGES_OVERLAP", fix: str | None = "cluster <it>") -> dict[str, Any]:
    return {"code": code, "text": "files may hold [red]rows[/red] & more", "fix": fix}


def document(**more: Any) -> dict[str, Any]:
    scan = {
        "table": "parquet file:/data/<b>t</b>",
        "files_kept": 3,
        "files_total": 1200,
        "bytes_kept": 10_000,
        "bytes_total": 4_000_000,
        "rows_kept": None,
        "rows_total": None,
        "row_groups_kept": None,
        "row_groups_total": None,
        "planning_ms": 3.14,
        "timing": {"listing_ms": 1.0, "question_ms": 2.0, "planner_ms": 1.5, "opening_ms": 0.5},
        "fallback": None,
        "fallback_reason": None,
        "implied": ["(id <= 98L)"],
        "goals": [
            {"goal": "LIMIT 10", "reason": why("LIMIT_NOT_COVERED", None)},
            {"goal": "JOIN ON k", "reason": None},
        ],
        "conjuncts": [
            conjunct("(id IS NOT NULL)", "exact", pruned_files=0, pruned_bytes=0, pruned_rows=0),
            conjunct(
                NASTY,
                "inexact",
                reason=why(),
                pruned_files=1190,
                pruned_bytes=3_990_000,
                pruned_rows=None,
                added_files=1100,
                added_bytes=3_000_000,
                added_rows=None,
            ),
        ],
    }
    return {"scans": [scan | more], "left_to_spark": [], "answered": []}


LEFT_TO_SPARK = {
    "table": "<i>other</i>",
    "reason": "it is bucketed, and no filter shows",
    "reasons": [why("BUCKETED", None), why("NO_FILTER", "filter it by <a>")],
}


def test_text_has_every_numerator_and_denominator() -> None:
    text = str(Explanation(document()))
    assert text.splitlines()[0] == (
        "parquet file:/data/<b>t</b>: 3 of 1,200 files, 10,000 of 4,000,000 bytes"
    )
    assert "prunes 0 of 1,200 files on its own" in text
    assert "prunes 1,190 of 1,200 files, 3,990,000 of 4,000,000 bytes on its own" in text
    assert "prunes 1,100 of 1,200 files, 3,000,000 of 4,000,000 bytes beyond the" in text
    assert f"inexact     {NASTY}" in text
    assert "files may hold [red]rows[/red] & more" in text
    assert "-> cluster <it>" in text
    assert "implied     (id <= 98L)" in text
    assert (
        "planned in 3.1 ms: listing 1.0, request to the planner 2.0 (planner 1.5, including 0.5"
        in text
    )


def test_text_without_a_terminal_is_plain() -> None:
    text = str(Explanation(document()))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 13  # No line is wrapped, however long.


def test_text_in_a_terminal_has_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", Terminal())
    text = str(Explanation(document()))
    assert "\x1b[33minexact" in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(map(len, plain.splitlines())) <= 60


def test_tree_characters_depend_on_the_output_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/null", "w", encoding="ascii") as out:
        monkeypatch.setattr(sys, "stdout", out)
        text = str(Explanation(document()))
    assert text.isascii()
    assert "inexact" in text


class Tags(HTMLParser):
    """Elements and text, as a browser sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.stack: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name == "href"]
        if tag != "br":
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "shown",
    [
        document(),
        document(fallback="the <sidecar> died", fallback_reason=why("PLANNER_FAILED")),
        {"scans": [], "left_to_spark": [LEFT_TO_SPARK], "answered": []},
        document() | {"left_to_spark": [LEFT_TO_SPARK]},
        {
            "scans": [],
            "left_to_spark": [],
            "answered": [{"table": "<t>", "goal": "max(<x>)", "files": 4}],
        },
        document(files_total=0, bytes_total=0, files_kept=0, bytes_kept=0),
    ],
)
def test_html_is_well_formed_escaped_and_without_scripts(shown: dict[str, Any]) -> None:
    tags = Tags()
    tags.feed(Explanation(shown)._repr_html_())
    tags.close()
    assert tags.stack == []
    known = {"div", "style", "section", "b", "p", "br", "code", "span"}
    assert set(tags.opened) <= known | {"table", "tr", "td", "svg", "rect"}
    for scan in shown["scans"]:
        assert scan["table"] in tags.text
        assert NASTY in tags.text
    for alone in shown["left_to_spark"]:
        assert alone["table"] in tags.text
        assert "filter it by <a>" in tags.text


def test_html_supports_light_and_dark_pages() -> None:
    style = Explanation(document())._repr_html_()
    for page in ("prefers-color-scheme:dark", 'data-jp-theme-light="true"', ".vscode-dark"):
        assert page in style


def test_bars_show_what_is_read() -> None:
    html = Explanation(document())._repr_html_()
    widths = re.findall(r'class="kept" width="([0-9.]+)"', html)
    # Files and bytes of the scan (never too thin to be seen), then the conjunct that prunes.
    assert widths == ["2.0", "2.0", "2.0"]


def test_why_not_omits_scans_without_problems() -> None:
    omitted = only_what_did_not(document() | {"left_to_spark": [LEFT_TO_SPARK]})
    (scan,) = omitted["scans"]
    assert [each["sql"] for each in scan["conjuncts"]] == [NASTY]
    assert [each["goal"] for each in scan["goals"]] == ["LIMIT 10"]
    assert omitted["left_to_spark"] == [LEFT_TO_SPARK]
    exact = document(conjuncts=[conjunct("a", "exact")], goals=[])
    assert only_what_did_not(exact)["scans"] == []
    assert str(Explanation(only_what_did_not(exact))) == (
        "every filter that is known before the query runs is exact, or decided for all but a few files"
    )
    failed = document(conjuncts=[], goals=[], fallback="it died")
    assert len(only_what_did_not(failed)["scans"]) == 1


def test_error_for_a_connect_dataframe_names_the_alternative() -> None:
    from pyspark.sql.connect.dataframe import DataFrame

    frame = DataFrame(object(), object())  # type: ignore[arg-type] # never called
    for function in (explain, why_not):
        with pytest.raises(TamisError, match="use EXPLAIN"):
            function(frame)


def observed_scan(**more: Any) -> dict[str, Any]:
    """Return a scan of two of ten files, decided but not applied."""
    return {
        "table": "t", "files_kept": 2, "files_total": 10, "bytes_kept": 20, "bytes_total": 100,
        "rows_kept": None, "rows_total": None, "planning_ms": 1.0,
        "fallback": "spark.tamis.mode is observe", "observed": True, "files_read": 10,
        "fallback_reason": {"code": "OBSERVING", "text": "…", "fix": "SET spark.tamis.mode = apply"},
        "conjuncts": [conjunct("(a = 1)", "inexact", pruned_files=8, pruned_by=["bounds", "bloom"],
                               reason={"code": "X", "text": "because", "fix": None})],
    } | more  # fmt: skip


def texts(scan: dict[str, Any]) -> list[str]:
    explanation = Explanation({"scans": [scan], "left_to_spark": []})
    return [str(explanation), unescape(re.sub("<[^>]*>", "", explanation._repr_html_()))]


def test_observed_scan_is_marked() -> None:
    for text in texts(observed_scan()):
        assert "t: would keep 2 of 10 files, 20 of 100 bytes" in text
        assert "observed, not applied: 10 of 10 files are read" in text
        assert "SET spark.tamis.mode = apply" in text
        assert "because" in text
        assert "read as in plain Spark" not in text


def test_deciding_statistics_are_named() -> None:
    for text in texts(observed_scan()):
        assert "prunes 8 of 10 files on its own, by bounds and Bloom filters" in text
    for kinds in ([], ["bounds"]):
        for text in texts(observed_scan(conjuncts=[conjunct("(a = 1)", "inexact", pruned_files=8, pruned_by=kinds)])):  # fmt: skip
            assert "on its own" in text
            assert ", by " not in text


def test_run_time_conditions_are_listed() -> None:
    prunes = {"sql": "(ts >= (SELECT …))", "prunes": True}
    filters = {"sql": "(b = (SELECT …))", "prunes": False}
    changes = {"observed": False, "fallback": None, "fallback_reason": None, "files_kept": 10}
    for text in texts(observed_scan(**changes, runtime=[prunes, filters], files_read=None)):
        assert "(ts >= (SELECT …))" in text
        assert "it then rules out files" in text
        assert "it rules out no files" in text
        assert "the query has run" not in text
    for text in texts(observed_scan(**changes, runtime=[prunes], files_read=1)):
        assert "the query has run: 1 of 10 files were read after run-time filters" in text
