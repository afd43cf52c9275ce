"""Whatever happens to the sidecar, the query returns the right rows, in time, with one warning."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.bridge.conftest import requests_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Two conjuncts: Spark itself prunes partitions by the first, only the planner by the second.
PREDICATE = "p >= 1 AND (p = 2 OR id < 10)"
ROWS = sorted(i for i in range(400) if i % 4 >= 1 and (i % 4 == 2 or i < 10))


def rows(frame: DataFrame) -> list[int]:
    return sorted(r.id for r in frame.collect())


def query(spark: SparkSession, table: str) -> list[int]:
    return rows(spark.read.parquet(table).where(PREDICATE))


# failure | text of the warning
ANSWERS = [
    ("raising", "the call to the sidecar failed"),
    ("leaving", "no answer within"),
    ("hanging", "no answer within"),
    ("dying", "died"),
    ("garbage", "not JSON"),
    ("nothing", "not JSON"),
    ("array", "not a JSON object"),
    ("other_fingerprint", "fingerprint"),
    ("other_question", "id"),
    ("other_version", "version"),
    ("other_listing", "files"),
    ("too_few_conjuncts", "conjuncts"),
    ("unknown_pushdown", "maybe"),
    ("unknown_form", "some"),
    ("short_bitmap", "bitmap"),
    ("wild_ranges", "range"),
    ("other_wire", "uses 99"),
    ("noisy", "the sidecar did not start"),
    ("ending", "cannot start today"),
    ("silent", "still starting"),
]

#: Sidecars that fail before the first question.
NOT_STARTED = {"other_wire", "noisy", "ending", "silent"}


@pytest.mark.parametrize(("mode", "says"), ANSWERS)
def test_misbehaving_sidecar_changes_no_row_and_is_warned_once(
    spark: SparkSession,
    shim: Any,
    table: str,
    use_fake: Callable[[str], None],
    tmp_path: Path,
    mode: str,
    says: str,
) -> None:
    use_fake(mode)
    spark.conf.set("spark.tamis.timeout", "4s")
    before = len(shim.warnings())
    assert query(spark, table) == ROWS
    # only one question waits for its deadline, although the scan is planned several times
    log = requests_of(tmp_path)
    questions = len(log.read_text().splitlines()) if log.exists() else 0
    assert questions == (0 if mode in NOT_STARTED else 1)
    warnings = list(shim.warnings())[before:]
    assert len(warnings) == 1, warnings
    assert says in warnings[0]
    assert "read what plain Spark would read" in warnings[0]
    assert query(spark, table) == ROWS
    assert len(list(shim.warnings())[before:]) == 1, "one warning"


def test_missing_python_is_warned_once(spark: SparkSession, shim: Any, table: str) -> None:
    spark.conf.set("spark.tamis.python", "/nowhere/python")
    before = len(shim.warnings())
    assert query(spark, table) == ROWS
    (warning,) = list(shim.warnings())[before:]
    assert "cannot run the Python interpreter /nowhere/python" in warning
    assert "Set spark.tamis.python" in warning


def test_python_without_tamis_is_warned_once(
    spark: SparkSession, shim: Any, table: str, use_python: Callable[[str], None]
) -> None:
    # -I: neither PYTHONPATH nor the working directory; -S: no site-packages
    use_python(f'exec "{sys.executable}" -I -S -m tamis.serve')
    before = len(shim.warnings())
    assert query(spark, table) == ROWS
    (warning,) = list(shim.warnings())[before:]
    assert "has no module 'tamis'" in warning
    assert "Install the tamis package there" in warning


def test_killed_sidecar_is_restarted(spark: SparkSession, shim: Any, table: str) -> None:
    assert query(spark, table) == ROWS
    first = _pid(spark)
    os.kill(first, signal.SIGKILL)
    shim.invalidate("")  # clear the cache: the next query needs an answer
    assert query(spark, table) == ROWS
    shim.invalidate("")
    assert query(spark, table) == ROWS
    assert _pid(spark) != first
    assert _kept(spark, table) < 4


def test_stopped_sidecar_costs_one_deadline(spark: SparkSession, shim: Any, table: str) -> None:
    from tests.bridge.conftest import alive

    assert query(spark, table) == ROWS
    pid = _pid(spark)
    os.kill(pid, signal.SIGSTOP)
    shim.invalidate("")
    spark.conf.set("spark.tamis.timeout", "1s")
    before = len(shim.warnings())
    assert query(spark, table) == ROWS
    (warning,) = list(shim.warnings())[before:]
    assert "no answer within 1000 ms" in warning
    deadline = time.monotonic() + 20
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(pid), "a process that does not answer a ping is ended"


def test_sidecar_killed_during_a_call(
    spark: SparkSession, shim: Any, table: str, use_fake: Callable[[str], None], tmp_path: Path
) -> None:
    use_fake("hanging")
    spark.conf.set("spark.tamis.timeout", "60s")
    before = len(shim.warnings())

    def kill() -> None:
        deadline = time.monotonic() + 60
        while not requests_of(tmp_path).exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(_pid(spark), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert query(spark, table) == ROWS
    killer.join()
    # the call ended with the process, not at its deadline
    (warning,) = list(shim.warnings())[before:]
    assert "died" in warning


def test_concurrent_queries(spark: SparkSession, shim: Any, table: str) -> None:
    results: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: results.append(query(spark, table))) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [ROWS] * 12


@pytest.mark.parametrize("greeting", [b"", b"A\nwrong\n", b"A\n\n"])
def test_client_without_the_token_is_refused(
    spark: SparkSession, shim: Any, table: str, greeting: bytes
) -> None:
    assert query(spark, table) == ROWS
    port = spark._jvm.io.tamis.bridge.SidecarSupervisor.current().get().port()
    received_bytes = b""
    with socket.create_connection(("127.0.0.1", port), timeout=2) as stranger:
        stranger.sendall(greeting + b"c\nt\nping\ne\n")
        try:
            while received := stranger.recv(4096):
                received_bytes += received
        except OSError:  # connection closed, or silent until the time limit
            pass
    assert b"pong" not in received_bytes
    shim.invalidate("")
    assert query(spark, table) == ROWS


def _pid(spark: SparkSession) -> int:
    """Return the process id of the sidecar, once it is ready."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        current = spark._jvm.io.tamis.bridge.SidecarSupervisor.current()
        if current.isDefined():
            return int(current.get().pid())
        time.sleep(0.1)
    raise AssertionError("no sidecar became ready")


def _kept(spark: SparkSession, table: str) -> int:
    import json

    frame = spark.read.parquet(table).where(PREDICATE)
    (scan,) = json.loads(spark._jvm.io.tamis.Tamis.scans(frame._jdf))
    assert scan["fallback"] is None, scan["fallback"]
    return int(scan["files_kept"])
