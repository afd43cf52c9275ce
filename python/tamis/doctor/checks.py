"""All checks, in the order in which they depend on each other."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tamis
from tamis.doctor import installation, settings, sidecar
from tamis.doctor.finding import Finding, Status, failed, skipped

__all__ = ["examine"]

_MARK = "TAMIS-DOCTOR "  # as in doctor.query, which is a program and not imported here
_SECONDS = 240
_NAMED = re.compile(r"(Error|Exception)\b[^:]*:|^Error ")
_OF_SPARK = ("spark", "extension", "prune")


def examine(with_spark: bool = True) -> Iterator[Finding]:
    """Run the checks one after the other, and yield each result.

    Args:
        with_spark: Also start a local Spark in a separate process, with the confs that every Spark
            in this environment gets, and run one query over a temporary table with tamis on and
            off.
    """
    findings = []
    for check in (
        installation.python,
        installation.packages,
        installation.pyspark,
        installation.java,
    ):
        findings.append(check())
        yield findings[-1]
    findings.append(installation.jar_file())
    yield findings[-1]
    confs = settings.confs()
    yield confs
    trip = sidecar.round_trip(settings.found_confs())
    yield trip
    missing = [each.check for each in (*findings, confs) if each.status is Status.FAILED]
    if not with_spark:
        yield from (skipped(check, "skipped by --no-spark") for check in _OF_SPARK)
    elif missing:
        why = f"not run: {', '.join(missing)} failed"
        yield from (skipped(check, why) for check in _OF_SPARK)
    else:
        yield from _with_spark()


def _with_spark() -> Iterator[Finding]:
    """Yield the findings of doctor.query, and for the checks that it did not reach the reason."""
    with tempfile.TemporaryDirectory(prefix="tamis-doctor-") as directory:
        root = str(Path(tamis.__file__).resolve().parents[1])
        paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tamis.doctor.query", directory],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                cwd=directory,  # Spark leaves a warehouse where it runs
                env={**os.environ, "PYTHONPATH": paths},
                check=False,
            )
            output, errors = done.stdout, done.stderr
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"").decode("utf-8", "replace")
            errors = f"Spark did not finish within {_SECONDS} seconds"
    findings = [
        Finding(**json.loads(line.removeprefix(_MARK)))
        for line in output.splitlines()
        if line.startswith(_MARK)
    ]
    yield from (Finding(f.check, Status(f.status), f.text, f.fix) for f in findings if _is_news(f))
    left = [check for check in _OF_SPARK if check not in {each.check for each in findings}]
    if left:
        fix = (
            "start Spark without tamis (pyspark --master local[1]) and fix what it reports"
            if left[0] == _OF_SPARK[0]
            else "report this with the output of python -m tamis doctor --json"
        )
        yield failed(left[0], _last_words(errors), fix)
        yield from (skipped(check, f"not run: {left[0]} failed") for check in left[1:])


def _is_news(finding: Finding) -> bool:
    """Return whether to show a finding; confs are repeated only if the session has wrong ones."""
    return finding.check != "confs" or finding.status == Status.FAILED


def _last_words(errors: str) -> str:
    """Return the first error of the output, such as one of the JVM, and the last one.

    >>> _last_words("Traceback\\n  File x\\nValueError: no\\n")
    'ValueError: no'
    >>> _last_words("Exception in thread: bad\\n\\tat x\\nTraceback\\nRuntimeError: it ended\\n")
    'Exception in thread: bad; RuntimeError: it ended'
    """
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    named = [line for line in lines if _NAMED.search(line)]
    chosen = dict.fromkeys([*named[:1], *named[-1:]]) if named else lines[-1:]
    return "; ".join(line[:300] for line in chosen) or "the check ended without output"
