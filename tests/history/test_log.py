"""The files of the history: whole or not there, each scan once, bounded, and no other touched."""

from __future__ import annotations

import multiprocessing
import os
import re
import stat
import threading
import warnings
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tamis
from tamis.history import SCHEMA, Log, default_location
from tests.report.histories import START, lived, scan

START_MS = int(START.timestamp() * 1000)
MINUTE_MS = 60_000
YEARS = 10_000  # days: nothing is too old


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "state" / "history")


def ids(log: Log) -> list[str]:
    table, skipped = log.read()
    assert skipped == []
    return table.column("id").to_pylist()


def test_no_folder_is_an_empty_history(tmp_path: Path) -> None:
    table = tamis.history(tmp_path / "nowhere")
    assert (len(table), table.schema) == (0, SCHEMA)
    assert not (tmp_path / "nowhere").exists()


def test_what_was_appended_is_read_the_oldest_first(log: Log) -> None:
    log.append(lived(scan(2), scan(3)))
    log.append(lived(scan(1)))
    table = tamis.history(log.folder)
    assert table.column("id").to_pylist() == ["scan-1", "scan-2", "scan-3"]
    assert table.schema == SCHEMA
    (row,) = [r for r in table.to_pylist() if r["id"] == "scan-2"]
    assert row == dict.fromkeys(SCHEMA.names) | scan(2)


def test_folder_is_of_this_user_only(log: Log) -> None:
    log.append(lived(scan()))
    assert stat.S_IMODE(log.folder.stat().st_mode) == 0o700


PASSED = {"result": "passed", "files": 4, "text": None}


def audit(number: int) -> dict[str, object]:
    """The row of an audit, as the sidecar appends it."""
    return {"id": f"scan-{number}", "time": scan(number)["time"], "audit": PASSED}


def test_an_audit_is_told_with_its_scan(log: Log) -> None:
    log.append(lived(audit(2)))  # before its scan, or long after it
    log.append(lived(scan(1), scan(2), scan(3)))
    log.append(lived(audit(1), audit(9)))  # of scan 9 nothing is known
    found = tamis.history(log.folder).to_pylist()
    assert [(row["id"], row["audit"]) for row in found] == [
        ("scan-1", PASSED),
        ("scan-2", PASSED),
        ("scan-3", None),
    ]


def test_putting_files_together_keeps_audits(log: Log) -> None:
    for number in range(20):
        log.append(lived(scan(number)))
        log.append(lived(audit(number + 1)))
    log.tidy(YEARS, 64)
    assert len(list(log.folder.iterdir())) == 1
    assert [row["audit"] for row in tamis.history(log.folder).to_pylist()] == [None] + [PASSED] * 19
    log.append(lived(scan(20)))  # its audit was there before
    assert tamis.history(log.folder).to_pylist()[-1]["audit"] == PASSED


def test_a_scan_that_lies_in_two_files_counts_once(log: Log) -> None:
    log.append(lived(scan(1), scan(2)))
    log.append(lived(scan(2), scan(3)))
    assert ids(log) == ["scan-1", "scan-2", "scan-3"]


def test_foreign_and_damaged_files_are_left_out_with_one_warning(log: Log) -> None:
    whole = log.append(lived(scan(1)))
    damaged = log.append(lived(scan(2)))
    damaged.write_bytes(damaged.read_bytes()[:-100])
    (log.folder / "scans-0000000000000-0123456789abcdef.parquet").write_bytes(b"")
    pq.write_table(
        pa.table({"x": [1]}), log.folder / "scans-0000000000001-0123456789abcdef.parquet"
    )
    pq.write_table(pa.table({"id": [1]}), log.folder / "other.parquet")
    (log.folder / ".hidden").write_text("of an editor")
    (log.folder / "scans-0000000000002-0123456789abcdef.part").write_text("under way")
    with pytest.warns(UserWarning, match=r"skipped in the history .* and 3 more") as warned:
        assert tamis.history(log.folder).column("id").to_pylist() == ["scan-1"]
    assert len(warned) == 1
    assert whole.exists()


def test_files_of_another_version(log: Log) -> None:
    """A column that is not there is null, and one more is left out."""
    path = log.append(lived(scan(1)))
    table = pq.read_table(path)
    other = table.drop_columns(["has_index", "columns"]).append_column("colour", pa.array(["red"]))
    pq.write_table(other, path)
    (row,) = log.read()[0].to_pylist()
    assert (row["has_index"], row["columns"], row["table"]) == (
        None,
        None,
        "parquet file:/data/events",
    )


def test_small_files_are_put_together(log: Log) -> None:
    for number in range(40):
        log.append(lived(scan(number)))
        log.tidy(YEARS, 64)
    assert len(list(log.folder.iterdir())) < 32
    assert ids(log) == [f"scan-{number}" for number in range(40)]


def test_what_is_too_old_goes(log: Log) -> None:
    for number in range(4):
        log.append(lived(scan(number)))
    day = 86_400_000
    log.tidy(1, 64, now_ms=START_MS + day + 2 * MINUTE_MS)
    assert ids(log) == ["scan-2", "scan-3"]


def test_old_scans_go_when_files_are_put_together(log: Log) -> None:
    log.append(lived(scan(0, time=START - timedelta(days=2)), scan(1)))
    for number in range(2, 33):
        log.append(lived(scan(number)))
    log.tidy(1, 64, now_ms=START_MS)
    assert ids(log) == [f"scan-{number}" for number in range(1, 33)]


def test_of_too_much_the_oldest_goes(log: Log) -> None:
    texts = [os.urandom(400_000).hex() for _ in range(4)]  # does not compress to less than a half
    for number, text in enumerate(texts):
        log.append(lived(scan(number, application=text)))
    log.tidy(YEARS, 1)
    assert ids(log) == ["scan-2", "scan-3"]


def test_files_of_others_are_not_touched(log: Log) -> None:
    log.append(lived(scan()))
    mine = log.folder / "other.parquet"
    pq.write_table(pa.table({"id": [1]}), mine)
    log.tidy(1, 1, now_ms=START_MS + 10**12)
    assert [path.name for path in log.folder.iterdir()] == ["other.parquet"]


def test_what_was_abandoned_goes(log: Log) -> None:
    log.append(lived(scan()))
    part = log.folder / "scans-0000000000000-0123456789abcdef.part"
    part.write_bytes(b"half")
    log.tidy(YEARS, 64)
    assert part.exists()  # perhaps it is being written
    os.utime(part, (0, 0))
    log.tidy(YEARS, 64)
    assert not part.exists()


def _writer(folder: str, process: int) -> None:
    log = Log(Path(folder))
    for number in range(50):
        log.append(lived(scan(number, id=f"{process}-{number}")))
        log.tidy(YEARS, 64)


def test_several_drivers_at_once(log: Log) -> None:
    """Nothing is lost or counted twice, neither by those who write nor by who reads meanwhile."""
    spawn = multiprocessing.get_context("spawn")
    drivers = [spawn.Process(target=_writer, args=(str(log.folder), n)) for n in range(3)]
    for driver in drivers:
        driver.start()
    done = threading.Event()
    counts: list[int] = []

    def read() -> None:
        while not done.is_set():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                counts.append(len(tamis.history(log.folder)))

    reader = threading.Thread(target=read)
    reader.start()
    for driver in drivers:
        driver.join()
    done.set()
    reader.join()
    assert counts == sorted(counts)  # who reads meanwhile never loses what was there
    assert sorted(ids(log)) == sorted(f"{p}-{n}" for p in range(3) for n in range(50))


def test_default_location_is_in_the_state_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere/state")
    assert re.fullmatch(r".*tamis.*history", str(default_location()))
