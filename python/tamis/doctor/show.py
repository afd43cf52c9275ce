"""The output of `python -m tamis doctor`."""

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
    """Run the checks, print the results, and return the exit code: 0, or 1 if anything failed.

    Prints one line per check as soon as it has run. If standard output is not a terminal, there are
    no colors and no spinner.
    """
    if as_json:
        findings = list(examine(with_spark))
        is_ok = not any(each.status is Status.FAILED for each in findings)
        document = {"ok": is_ok, "checks": [each.to_dict() for each in findings]}
        print(json.dumps(document, indent=2))
        return 0 if is_ok else 1
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    failures = 0
    for finding in _watched(console, examine(with_spark)):
        _print(console, finding)
        failures += finding.status is Status.FAILED
    success = "tamis works here" if with_spark else "all checks that do not start Spark passed"
    failure = "1 check failed" if failures == 1 else f"{failures} checks failed"
    console.print(failure if failures else success)
    return 1 if failures else 0


def _watched(console: Console, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield the findings. In a terminal, show a spinner while the next check runs."""
    if not sys.stdout.isatty():
        yield from findings
        return
    while True:
        with console.status("checking…"):
            finding = next(findings, None)
        if finding is None:
            return
        yield finding


def _print(console: Console, finding: Finding) -> None:
    status = (f"{finding.status:<8}", _STYLES[finding.status])
    console.print(Text.assemble(status, f"{finding.check:<10} ", finding.text))
    if finding.fix:
        console.print(Text(f"{'':19}-> {finding.fix}", "cyan"))
