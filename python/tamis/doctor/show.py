"""What `python -m tamis doctor` prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from tamis.doctor.checks import examine
from tamis.doctor.finding import Finding, Status

__all__ = ["report"]

_STYLES = {Status.OK: "green", Status.FAILED: "bold red", Status.SKIPPED: "dim"}


def report(with_spark: bool, as_json: bool) -> int:
    """Examine, print, and give the exit code: 0, or 1 if anything failed.

    A line a check, as it is found; without colours and without a spinner where standard output is
    no terminal.
    """
    if as_json:
        found = list(examine(with_spark))
        is_well = not any(each.status is Status.FAILED for each in found)
        document = {"ok": is_well, "checks": [each.to_dict() for each in found]}
        print(json.dumps(document, indent=2))
        return 0 if is_well else 1
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    failures = 0
    for finding in _watched(console, examine(with_spark)):
        _print(console, finding)
        failures += finding.status is Status.FAILED
    well = "tamis works here" if with_spark else "nothing failed of what needs no Spark"
    console.print(f"{failures} of the checks failed" if failures else well)
    return 1 if failures else 0


def _watched(console: Console, findings: Iterator[Finding]) -> Iterator[Finding]:
    """The findings, with a spinner while the next one is looked for, in a terminal."""
    if not sys.stdout.isatty():
        yield from findings
        return
    while True:
        with console.status("looking…"):
            found = next(findings, None)
        if found is None:
            return
        yield found


def _print(console: Console, finding: Finding) -> None:
    status = (f"{finding.status:<8}", _STYLES[finding.status])
    console.print(Text.assemble(status, f"{finding.check:<10} ", finding.text))
    if finding.fix:
        console.print(Text(f"{'':19}-> {finding.fix}", "cyan"))
