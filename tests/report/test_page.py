"""The HTML page of a report: complete, self-contained, well formed, and with all data escaped."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from random import Random

import pytest

from tamis.report.findings import findings
from tamis.report.page import to_html
from tamis.scan_history import Log
from tests.report.histories import conjunct, history_of, scan

NASTY = "<script>alert('x')</script>\"&amp;`"
VOID = {"br", "meta", "wbr"}


class Strict(HTMLParser):
    """Rejects elements that are not nested; collects text, and attributes by name."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> has an attribute twice"
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" in self.open, f"<{tag}/> is not valid in HTML"
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> of nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        assert "<" not in data or self.open[-1] != "style"
        self.text.append(data)


def parsed(page: str) -> Strict:
    parser = Strict()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def many(count: int = 60):
    """Yield the scans of a history with every kind of finding."""
    random = Random(7)
    tables = [
        "parquet file:/data/events",
        "spark_catalog.sales.orders",
        f"parquet file:/data/{NASTY}",
    ]
    for number in range(count):
        files_kept = random.choice([2, 10, 60, 100])
        name = random.choice(["user", "day", f"c{NASTY}"])
        changes = {
            "table": random.choice(tables),
            "files_kept": files_kept,
            "bytes_kept": files_kept * 1_000_000,
            "rows_passed": random.choice([5, 500, 900_000, None]),
            "columns": [{"name": name, "depth": random.choice([1.2, 44.0, None])}],
            "conjuncts": [conjunct(f"({name} = '{NASTY}{number}')", [name], fix=NASTY)],
        }
        changes |= random.choice([{}, {"has_index": False}, {"files_without_index": 100}])
        yield scan(number, **changes)
    yield scan(count, fallback="no sidecar", conjuncts=[])


def test_page_is_well_formed_and_loads_nothing() -> None:
    page = to_html(findings(history_of(*many())), "/history")
    html = parsed(page)
    assert {"script", "link", "img", "iframe", "object", "form"}.isdisjoint(html.tags)
    assert {"src", "href", "onclick", "onload"}.isdisjoint({name for name, _ in html.attributes})
    assert "url(" not in page
    assert "@import" not in page
    assert html.tags.count("svg") == 3
    values = [v for name, v in html.attributes if name == "content"]
    assert any("default-src 'none'" in (v or "") for v in values)


def test_data_is_escaped() -> None:
    html = parsed(to_html(findings(history_of(*many())), f"/history/{NASTY}"))
    text = "".join(html.text)
    assert text.count(NASTY) > 5  # the text is as written and made no element
    assert "script" not in html.tags


@pytest.mark.parametrize(
    "history",
    [
        history_of(),
        history_of(scan()),  # all at one moment
        history_of(scan(conjuncts=[], rows_read=None)),
        history_of(scan(files_total=0, files_kept=0, bytes_kept=0, bytes_total=0)),
        history_of(*(scan(n) for n in range(1000))),  # more than the plot has dots
        history_of(scan(conjuncts=None, columns=None, planning_ms=None, roots=None, goals=None)),
    ],
    ids=["empty", "one", "no filter", "no files", "thousand", "nothing known"],
)
def test_unusual_histories_make_a_well_formed_page(history) -> None:
    html = parsed(to_html(findings(history), "/history"))
    assert "NaN" not in "".join(v or "" for _, v in html.attributes)


def test_page_of_an_empty_history_has_instructions() -> None:
    text = " ".join("".join(parsed(to_html(findings(history_of()), "/h")).text).split())
    assert "The history in /h is empty" in text
    assert "spark.tamis.history.enabled" in text


def test_plot_has_one_dot_per_scan() -> None:
    shares = [100, 50, 0]
    page = to_html(
        findings(
            history_of(*(scan(n, files_kept=count_kept) for n, count_kept in enumerate(shares)))
        ),
        "/h",
    )
    dots = re.findall(r'class="dot" d="M([\d.]+) ([\d.]+)h0"', page)
    assert dots == [("0.0", "100.0"), ("500.0", "50.0"), ("1000.0", "0.0")]


def command(*arguments: str, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tamis", "report", *arguments],
        capture_output=True, text=True, check=False, **more,
    )  # fmt: skip


def test_command_writes_the_page(tmp_path: Path) -> None:
    folder, page = tmp_path / "history", tmp_path / "page.html"
    Log(folder).append(history_of(*many()))
    (folder / "notes.txt").write_text("mine")
    done = command("--history", str(folder), "--output", str(page))
    assert (done.returncode, done.stdout) == (0, f"{page}\n")
    assert "not part of a history: notes.txt. Check" in done.stderr
    parsed(page.read_text("utf-8"))
    as_json = command("--history", str(folder), "--json", cwd=tmp_path)
    assert json.loads(as_json.stdout)["scans"] == 61
    assert not (tmp_path / "report.html").exists()


def test_command_for_selected_tables(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    Log(folder).append(history_of(*(scan(n, table=f"db.t{n % 3}") for n in range(9))))

    def table_names(*tables: str) -> subprocess.CompletedProcess[str]:
        words = [word for each in tables for word in ("--table", each)]
        return command("--history", str(folder), "--json", *words)

    assert json.loads(table_names("t1").stdout)["scans"] == 3
    assert json.loads(table_names("b.t1", "t2").stdout)["scans"] == 6
    none = table_names("orders", "T1")
    assert (none.returncode, none.stdout) == (1, "")
    assert (
        "no table of the history has orders or T1 in its name: the tables of the history are"
        in none.stderr
    )


def test_command_with_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    done = command("--history", str(tmp_path / "nowhere"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "nowhere is not a directory" in done.stderr


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def test_browser_renders_the_page(tmp_path: Path) -> None:
    """If a browser is installed, its document must have the elements of the page."""
    page = tmp_path / "page.html"
    page.write_text(to_html(findings(history_of(*many())), "/history"), "utf-8")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        parsed(page.read_text("utf-8"))
        return
    done = subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=1000",
         f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    dom = done.stdout
    assert dom.count("<svg") == 3
    assert dom.count('class="dot"') > 50
    assert "<script" not in dom
    assert "What was read, and what was read needlessly" in dom


def test_audits_are_shown() -> None:
    passed = {"result": "passed", "files": 4, "text": None}
    wrong = {"result": "disagreement", "files": 2, "text": f"5 rows of {NASTY}"}
    page = "".join(parsed(to_html(findings(history_of(scan(0, audit=passed))), "here")).text)
    assert "1 of 1 audited scan passed; 4 files read by the audit. No wrong row was found." in page
    result = findings(history_of(scan(0, audit=passed), scan(1, audit=wrong)))
    page = "".join(parsed(to_html(result, "here")).text)
    assert "1 scan with a wrong result." in page
    assert "wrong decision" not in page
    assert f"5 rows of {NASTY}" in page
    assert "audited" not in to_html(findings(history_of(scan(0))), "here")


def test_wrong_decision_of_an_observed_scan_is_not_called_a_wrong_result() -> None:
    wrong = {"result": "disagreement", "files": 2, "text": "5 rows"}
    observed = {"observed": True, "fallback": "spark.tamis.mode is observe", "audit": wrong}
    result = findings(history_of(scan(0, **observed)))
    page = "".join(parsed(to_html(result, "here")).text)
    assert "1 scan with a wrong decision that was only observed." in page
    assert "wrong result" not in page
    both = "".join(
        parsed(
            to_html(findings(history_of(scan(0, **observed), scan(1, audit=wrong))), "here")
        ).text
    )
    assert "1 scan with a wrong result. 1 scan with a wrong decision" in both


def test_observed_fixed_and_opened_counts_are_shown() -> None:
    pruned = [conjunct("(user = 9L)", ["user"], pruned_files=98)]
    result = findings(
        history_of(
            scan(0),
            scan(1, conjuncts=pruned, files_kept=2, observed=True, bytes_read=100_000_000,
                 bytes_kept=2_000_000, fallback="spark.tamis.mode is observe"),
            scan(2, conjuncts=[conjunct("(day = 1)", ["day"])]),
        )
    )  # fmt: skip
    page = " ".join("".join(parsed(to_html(result, "here")).text).split())
    assert "1 predicate of earlier scans prunes now and is omitted." in page
    assert "and 99 files opened, in 1 scan" in page
    assert "1 scan only observed: would have read 2.00 MB instead of 100 MB" in page
