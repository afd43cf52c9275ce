"""What the demonstration prints."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

Result = dict[str, Any]


def command_line(command: Sequence[str], repository: Path) -> str:
    """The command as someone would type it in the repository."""
    words = [word.replace(f"{repository}/", "") for word in command]
    return "[dim]" + shlex.join(words) + "[/]\n"


def table(results: Sequence[Result]) -> Table:
    """Numerator and denominator of every query."""
    made = Table(title="TPC-H scale 1: tamis on against off", caption="median of interleaved runs")
    made.add_column("query")
    for heading in ("files\nSpark", "files\ntamis", "files\nof", "MB\nread", "MB\nof"):
        made.add_column(heading, justify="right")
    for heading in ("exact", "residual"):
        made.add_column(heading, justify="right")
    made.add_column("seconds\noff", justify="right")
    made.add_column("seconds\non", justify="right")
    made.add_column("on / off", justify="right")
    made.add_column("answer")
    for result in results:
        made.add_row(*_cells(result))
    return made


def _cells(result: Result) -> list[str | Text]:
    scans = result["scans"]
    pushdowns = [c["pushdown"] for scan in scans for c in scan["conjuncts"]]
    exact = pushdowns.count("exact")
    ratio = result["seconds_on"] / result["seconds_off"]
    return [
        result["query"],
        str(result["native_files"]),
        str(sum(scan["files_kept"] for scan in scans)),
        str(sum(scan["files_total"] for scan in scans)),
        f"{sum(scan['bytes_kept'] for scan in scans) / 1e6:.1f}",
        f"{sum(scan['bytes_total'] for scan in scans) / 1e6:.1f}",
        str(exact),
        str(len(pushdowns) - exact),
        f"{result['seconds_off']:.2f}",
        f"{result['seconds_on']:.2f}",
        Text(f"{ratio:.2f}", style="green" if ratio < 0.9 else ""),
        Text("same", style="green") if result["equal"] else Text("DIFFERS", style="bold red"),
    ]


def reasons(results: Sequence[Result]) -> Table:
    """Why the conjuncts that pruned nothing did not, each once."""
    made = Table(title="What pruned nothing, and why")
    made.add_column("query")
    made.add_column("predicate")
    made.add_column("reason")
    for result in results:
        for scan in result["scans"]:
            for conjunct in scan["conjuncts"]:
                if not conjunct["pruned_files"] and conjunct["pushdown"] != "exact":
                    made.add_row(result["query"], conjunct["sql"], _sentence(conjunct["reason"]))
    return made


def _sentence(reason: dict[str, Any] | None) -> str:
    if not reason:
        return ""
    fix = f" Fix: {reason['fix']}" if reason.get("fix") else ""
    return f"{reason['text']}{fix}"


def conclusion(results: Sequence[Result]) -> Text:
    """One sentence: whether every answer is the same."""
    different = [result["query"] for result in results if not result["equal"]]
    if different:
        return Text(f"Answers differ: {', '.join(different)}.", style="bold red")
    return Text(f"All {len(results)} answers are the same with tamis on and off.", style="green")
