"""All checks, in the order in which one needs the other."""

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
from tamis.doctor import installed, settings, sidecar
from tamis.doctor.finding import Finding, Status, failed, skipped

__all__ = ["examine"]

_MARK = "TAMIS-DOCTOR "  # as doctor.query has it, which is not imported here: it is a program
_SECONDS = 240
_NAMED = re.compile(r"(Error|Exception)\b[^:]*:|^Error ")
_OF_SPARK = ("spark", "extension", "prune")


def examine(with_spark: bool = True) -> Iterator[Finding]:
    """Look at one part after the other.

    with_spark: also start a local Spark in a process of its own, with the confs that every Spark of
    this environment gets, and run one query over a temporary table, with tamis on and off.
    """
    found = []
    for check in (installed.python, installed.packages, installed.pyspark, installed.java):
        found.append(check())
        yield found[-1]
    found.append(installed.jar_file())
    yield found[-1]
    confs = settings.confs()
    yield confs
    trip = sidecar.round_trip(settings.found_confs())
    yield trip
    missing = [each.check for each in (*found, confs) if each.status is Status.FAILED]
    if not with_spark:
        yield from (skipped(check, "asked for without Spark") for check in _OF_SPARK)
    elif missing:
        why = f"not tried: {', '.join(missing)} failed"
        yield from (skipped(check, why) for check in _OF_SPARK)
    else:
        yield from _with_spark()


def _with_spark() -> Iterator[Finding]:
    """What the process of doctor.query finds; of a check that it did not come to, why."""
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
            errors = f"Spark did not come to an end in {_SECONDS} seconds"
    told = [
        Finding(**json.loads(line.removeprefix(_MARK)))
        for line in output.splitlines()
        if line.startswith(_MARK)
    ]
    yield from (Finding(f.check, Status(f.status), f.text, f.fix) for f in told if _is_news(f))
    left = [check for check in _OF_SPARK if check not in {each.check for each in told}]
    if left:
        fix = "start Spark by itself (pyspark --master local[1]), and mend what it says"
        yield failed(left[0], _last_words(errors), fix)
        yield from (skipped(check, f"not tried: {left[0]} failed") for check in left[1:])


def _is_news(finding: Finding) -> bool:
    """Confs were told of before, unless the session has others that are wrong."""
    return finding.check != "confs" or finding.status == Status.FAILED


def _last_words(errors: str) -> str:
    """What Python says at the end, and before it the first thing that went wrong: the JVM's.

    >>> _last_words("Traceback\\n  File x\\nValueError: no\\n")
    'ValueError: no'
    >>> _last_words("Exception in thread: bad\\n\\tat x\\nTraceback\\nRuntimeError: it ended\\n")
    'Exception in thread: bad; RuntimeError: it ended'
    """
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    named = [line for line in lines if _NAMED.search(line)]
    told = dict.fromkeys([*named[:1], *named[-1:]]) if named else lines[-1:]
    return "; ".join(line[:300] for line in told) or "it said nothing"
