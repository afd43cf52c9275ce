"""Files of the history: written atomically, each scan counted once, bounded in size and age."""

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
from tamis.scan_history import SCHEMA, Log, default_location
from tests.report.histories import START, history_of, scan

START_MS = int(START.timestamp() * 1000)
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
YEARS = 10_000 * DAY_MS  # no scan is too old


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "state" / "history")


def ids(log: Log) -> list[str]:
    table, skipped = log.read()
    assert skipped == []
    return table.column("id").to_pylist()


def test_missing_folder_is_an_empty_history(tmp_path: Path) -> None:
    table = tamis.history(tmp_path / "nowhere")
    assert (len(table), table.schema) == (0, SCHEMA)
    assert not (tmp_path / "nowhere").exists()


def test_scans_are_read_oldest_first(log: Log) -> None:
    log.append(history_of(scan(2), scan(3)))
    log.append(history_of(scan(1)))
    table = tamis.history(log.folder)
    assert table.column("id").to_pylist() == ["scan-1", "scan-2", "scan-3"]
    assert table.schema == SCHEMA
    (row,) = [r for r in table.to_pylist() if r["id"] == "scan-2"]
    assert row == dict.fromkeys(SCHEMA.names) | scan(2)


def test_folder_is_private_to_the_user(log: Log) -> None:
    log.append(history_of(scan()))
    assert stat.S_IMODE(log.folder.stat().st_mode) == 0o700


PASSED = {"result": "passed", "files": 4, "text": None}


def audit(number: int) -> dict[str, object]:
    """Return the row of an audit as the sidecar appends it."""
    return {"id": f"scan-{number}", "time": scan(number)["time"], "audit": PASSED}


def test_audit_is_joined_with_its_scan(log: Log) -> None:
    log.append(history_of(audit(2)))  # before its scan, or long after it
    log.append(history_of(scan(1), scan(2), scan(3)))
    log.append(history_of(audit(1), audit(9)))  # scan 9 is not in the history
    rows = tamis.history(log.folder).to_pylist()
    assert [(row["id"], row["audit"]) for row in rows] == [
        ("scan-1", PASSED),
        ("scan-2", PASSED),
        ("scan-3", None),
    ]


def test_compaction_preserves_audits(log: Log) -> None:
    for number in range(20):
        log.append(history_of(scan(number)))
        log.append(history_of(audit(number + 1)))
    log.tidy(YEARS, 64 << 20)
    assert len(list(log.folder.iterdir())) == 1
    assert [row["audit"] for row in tamis.history(log.folder).to_pylist()] == [None] + [PASSED] * 19
    log.append(history_of(scan(20)))  # its audit was appended earlier
    assert tamis.history(log.folder).to_pylist()[-1]["audit"] == PASSED


def test_scan_in_two_files_counts_once(log: Log) -> None:
    log.append(history_of(scan(1), scan(2)))
    log.append(history_of(scan(2), scan(3)))
    assert ids(log) == ["scan-1", "scan-2", "scan-3"]


def test_foreign_and_damaged_files_are_skipped_with_a_warning_each(log: Log) -> None:
    whole = log.append(history_of(scan(1)))
    damaged = log.append(history_of(scan(2)))
    damaged.write_bytes(damaged.read_bytes()[:-100])
    (log.folder / "scans-0000000000000-0123456789abcdef.parquet").write_bytes(b"")
    pq.write_table(
        pa.table({"x": [1]}), log.folder / "scans-0000000000001-0123456789abcdef.parquet"
    )
    pq.write_table(pa.table({"id": [1]}), log.folder / "other.parquet")
    (log.folder / ".hidden").write_text("of an editor")
    (log.folder / "scans-0000000000002-0123456789abcdef.part").write_text("under way")
    with pytest.warns(UserWarning, match="history") as warned:
        assert tamis.history(log.folder).column("id").to_pylist() == ["scan-1"]
    foreign, unreadable = (str(each.message) for each in warned)
    assert "files that are not part of a history: other.parquet. Check" in foreign
    assert re.search(r"ignores damaged files of the history .* and 2 more. Delete", unreadable)
    assert whole.exists()


def test_columns_of_another_version_are_null_or_left_out(log: Log) -> None:
    """A missing column is null, and an additional column is left out."""
    path = log.append(history_of(scan(1)))
    table = pq.read_table(path)
    changed = table.drop_columns(["has_index", "columns"]).append_column(
        "colour", pa.array(["red"])
    )
    pq.write_table(changed, path)
    (row,) = log.read()[0].to_pylist()
    assert (row["has_index"], row["columns"], row["table"]) == (
        None,
        None,
        "parquet file:/data/events",
    )


def test_small_files_are_compacted(log: Log) -> None:
    for number in range(40):
        log.append(history_of(scan(number)))
        log.tidy(YEARS, 64 << 20)
    assert len(list(log.folder.iterdir())) < 32
    assert ids(log) == [f"scan-{number}" for number in range(40)]


def test_old_files_are_removed(log: Log) -> None:
    for number in range(4):
        log.append(history_of(scan(number)))
    log.tidy(DAY_MS, 64 << 20, now_ms=START_MS + DAY_MS + 2 * MINUTE_MS)
    assert ids(log) == ["scan-2", "scan-3"]


def test_compaction_removes_old_scans(log: Log) -> None:
    log.append(history_of(scan(0, time=START - timedelta(days=2)), scan(1)))
    for number in range(2, 33):
        log.append(history_of(scan(number)))
    log.tidy(DAY_MS, 64 << 20, now_ms=START_MS)
    assert ids(log) == [f"scan-{number}" for number in range(1, 33)]


def test_oldest_files_are_removed_above_the_size_limit(log: Log) -> None:
    texts = [os.urandom(400_000).hex() for _ in range(4)]  # compresses to at least a half
    for number, text in enumerate(texts):
        log.append(history_of(scan(number, application=text)))
    log.tidy(YEARS, 1 << 20)
    assert ids(log) == ["scan-2", "scan-3"]


def test_foreign_files_are_not_removed(log: Log) -> None:
    log.append(history_of(scan()))
    foreign = log.folder / "other.parquet"
    pq.write_table(pa.table({"id": [1]}), foreign)
    log.tidy(DAY_MS, 1 << 20, now_ms=START_MS + 10**12)
    assert [path.name for path in log.folder.iterdir()] == ["other.parquet"]


def test_abandoned_files_are_removed(log: Log) -> None:
    log.append(history_of(scan()))
    part = log.folder / "scans-0000000000000-0123456789abcdef.part"
    part.write_bytes(b"half")
    log.tidy(YEARS, 64 << 20)
    assert part.exists()  # it may still be being written
    os.utime(part, (0, 0))
    log.tidy(YEARS, 64 << 20)
    assert not part.exists()


def _writer(folder: str, process: int) -> None:
    log = Log(Path(folder))
    for number in range(50):
        log.append(history_of(scan(number, id=f"{process}-{number}")))
        log.tidy(YEARS, 64 << 20)


@pytest.mark.programs
def test_concurrent_drivers_lose_no_scan(log: Log) -> None:
    """Writers lose and duplicate no scan. A concurrent reader never sees fewer scans."""
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
    assert counts == sorted(counts)  # a concurrent reader never loses scans
    assert sorted(ids(log)) == sorted(f"{p}-{n}" for p in range(3) for n in range(50))


def test_default_location_is_in_the_user_state_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere/state")
    assert re.fullmatch(r".*tamis.*history", str(default_location()))
