"""The printed output of the demonstration."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

Result = dict[str, Any]


def command_line(command: Sequence[str], repository: Path) -> str:
    """Return the command as a user would type it in the repository."""
    words = [word.replace(f"{repository}/", "") for word in command]
    return "[dim]" + shlex.join(words) + "[/]\n"


def without_jars(command: Sequence[str]) -> list[str]:
    """Return the command with only the first of its jars."""
    shown = [*command]
    position = shown.index("--jars") + 1
    first, comma, _ = shown[position].partition(",")
    shown[position] = first + comma + "…" * bool(comma)
    return shown


def table(results: Sequence[Result]) -> Table:
    """Return numerator and denominator of every query; fits 80 columns."""
    made = _plain("TPC-H at scale 1: opened files and bytes, and median time in seconds")
    made.add_column("query", no_wrap=True)
    for heading in ("files\nopened", "Spark\nalone", "MB\nopened", "exact", "resi-\ndual"):
        made.add_column(heading, justify="right", no_wrap=True)
    for heading in ("off", "on", "on/off"):
        made.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        made.add_row(*_cells(result))
    return made


def _cells(result: Result) -> list[str | Text]:
    scans = result["scans"]
    pushdowns = [c["pushdown"] for scan in scans for c in scan["conjuncts"]]
    exact = pushdowns.count("exact")
    ratio = result["seconds_on"] / result["seconds_off"]
    return [
        Text(result["query"], style="" if result["equal"] else "bold red"),
        f"{_sum(scans, 'files_kept')} of {_sum(scans, 'files_total')}",
        str(result["native_files"]),
        f"{_sum(scans, 'bytes_kept') / 1e6:.1f} of {_sum(scans, 'bytes_total') / 1e6:.0f}",
        str(exact),
        str(len(pushdowns) - exact),
        f"{result['seconds_off']:.2f}",
        f"{result['seconds_on']:.2f}",
        Text(f"{ratio:.2f}", style="green" if ratio < 0.9 else ""),
    ]


def _sum(scans: Sequence[dict[str, Any]], field: str) -> int:
    return sum(scan[field] for scan in scans)


def reasons(results: Sequence[Result]) -> Table:
    """Return why scans that open every file cannot prune, each residual once."""
    made = _plain("Queries that open every file, and why")
    made.add_column("predicate", ratio=2)
    made.add_column("reason", ratio=3)
    scans = (scan for result in results for scan in result["scans"])
    unpruned = (scan for scan in scans if scan["files_kept"] == scan["files_total"])
    conjuncts = (conjunct for scan in unpruned for conjunct in scan["conjuncts"])
    for sql, reason in {c["sql"]: c["reason"] for c in conjuncts if c["reason"]}.items():
        made.add_row(sql, _sentence(reason))
    return made


def _sentence(reason: dict[str, Any]) -> str:
    fix = f". Fix: {reason['fix']}" if reason.get("fix") else ""
    return f"{reason['text'].rstrip('.')}{fix}."


def _plain(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
    )


def formats(results: Sequence[Result]) -> Table:
    """Return the files that each table format opens alone and with tamis, by query."""
    made = _plain("The same 200 files as an Iceberg and a Delta table: opened files")
    made.add_column("query", no_wrap=True)
    for name in results[0]["files"] if results else ():
        made.add_column(f"{name}\nalone", justify="right", no_wrap=True)
        made.add_column("with\ntamis", justify="right", no_wrap=True)
    for result in results:
        cells = [Text(result["query"], style="" if result["equal"] else "bold red")]
        for alone, with_tamis in result["files"].values():
            style = "green" if with_tamis < alone else ""
            cells += [Text(str(alone)), Text(str(with_tamis), style=style)]
        made.add_row(*cells)
    return made


def failures_of_formats(results: Sequence[Result]) -> list[str]:
    """Return what is wrong with the queries over table formats, in sentences."""
    problems = [
        f"{r['query']}: the answers over Iceberg and Delta, with tamis on and off, differ."
        for r in results
        if not r["equal"]
    ]
    return problems + [
        f"{r['query']}: {name} opens {alone} files alone, and {with_tamis} with tamis."
        for r in results
        for name, (alone, with_tamis) in r["files"].items()
        if with_tamis > alone
    ]


def failures(results: Sequence[Result]) -> list[str]:
    """Return what is wrong, in sentences; empty if the demonstration succeeded."""
    problems = [
        f"{r['query']}: the answers with tamis on and off differ."
        for r in results
        if not r["equal"]
    ]
    if all(_sum(r["scans"], "files_kept") == _sum(r["scans"], "files_total") for r in results):
        problems.append("tamis skipped no file at all.")
    return problems
