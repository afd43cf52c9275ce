"""Large jobs of automatic indexes, in a process of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.indexing.automatic import file_adder, local_footers, low_priority
from tamis.indexing.automatic.file_adder import Unindexed
from tamis.indexing.build.current_index import held_by, reusable_rows
from tamis.indexing.format.layout import Pointer
from tamis.indexing.format.store import Store
from tamis.indexing.read.snapshot import FileKeys
from tests.indexing.local import spark_schema, uri_of
from tests.tables.test_parquet import write

pytestmark = pytest.mark.programs

FILES = 40


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(low_priority, "_PAUSE", 0.0)


@pytest.fixture
def wanted(tmp_path: Path) -> Unindexed:
    root = tmp_path / "t"
    for k in range(FILES):
        write(root / f"{k:02}.parquet", k)
    (root / "bad.parquet").write_text("nothing")
    files = sorted(root.iterdir())
    stats = [file.stat() for file in files]
    columns = pa.table(
        {
            "group": pa.array([0] * len(files), pa.int32()),
            "name": [file.name for file in files],
            "size": [stat.st_size for stat in stats],
            "mtime": [stat.st_mtime_ns // 1_000_000 for stat in stats],
        }
    ).columns
    location = str(tmp_path / "cache")
    keys = FileKeys((uri_of(root),), *columns)
    return Unindexed(uri_of(root), location, spark_schema(a="long"), False, keys, {})


def indexed(wanted: Unindexed) -> int:
    held = held_by(Store.at(wanted.root, wanted.location, {}))
    return 0 if held is None else held.pointer.totals.files


def test_files_are_added_by_another_process(wanted: Unindexed) -> None:
    described, missed = low_priority.add_files(wanted)
    assert (described, missed.name.to_pylist()) == (FILES, ["bad.parquet"])
    assert indexed(wanted) == FILES


def test_process_has_the_lowest_priority(
    wanted: Unindexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    priorities: list[int] = []
    popen = subprocess.Popen

    def noted(*arguments: object, **options: object) -> object:
        process = popen(*arguments, **options)  # type: ignore[call-overload]

        def note() -> None:
            while process.poll() is None:
                priorities.append(os.getpriority(os.PRIO_PROCESS, process.pid))
                time.sleep(0.005)

        threading.Thread(target=note, daemon=True).start()
        return process

    monkeypatch.setattr(subprocess, "Popen", noted)
    low_priority.add_files(wanted)
    assert max(priorities) == 19
    assert os.getpriority(os.PRIO_PROCESS, 0) < 19


def test_process_that_is_killed_is_an_error(
    wanted: Unindexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    popen = subprocess.Popen

    def killed(*arguments: object, **options: object) -> object:
        process = popen(*arguments, **options)  # type: ignore[call-overload]
        process.send_signal(signal.SIGKILL)
        return process

    monkeypatch.setattr(subprocess, "Popen", killed)
    with pytest.raises(OSError, match="has failed"):
        low_priority.add_files(wanted)
    assert indexed(wanted) == 0


def test_process_that_hangs_is_killed(
    wanted: Unindexed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(low_priority, "_HUNG", 1.0)
    os.mkfifo(tmp_path / "t" / "pipe.parquet")  # opening it blocks, as hanging storage does
    pipe = FileKeys(
        wanted.files.directories,
        *pa.table({"group": pa.array([0], pa.int32()), "name": ["pipe.parquet"]}).columns,
        *pa.table({"size": [100], "mtime": [0]}).columns,
    )
    hanging = Unindexed(wanted.root, wanted.location, wanted.schema, False, pipe, {})
    with pytest.raises(OSError, match="has failed"):
        low_priority.add_files(hanging)


def test_process_ends_with_its_parent(wanted: Unindexed, tmp_path: Path) -> None:
    """It does if the parent is killed while the process reads a file that never ends."""
    os.mkfifo(tmp_path / "t" / "pipe.parquet")
    script = f"""
import pyarrow as pa
from tamis.indexing.automatic import file_adder, local_footers, low_priority
from tamis.indexing.automatic.file_adder import Unindexed
from tamis.indexing.read.snapshot import FileKeys
import subprocess
popen = subprocess.Popen
def noted(*arguments, **options):
    process = popen(*arguments, **options)
    print(process.pid, flush=True)
    return process
subprocess.Popen = noted
columns = pa.table(dict(group=pa.array([0], pa.int32()), name=["pipe.parquet"], size=[9], mtime=[0]))
keys = FileKeys(({wanted.files.directories[0]!r},), *columns.columns)
low_priority.add_files(
    Unindexed({wanted.root!r}, {wanted.location!r}, {wanted.schema!r}, False, keys, {{}})
)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    while _runs(child):
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    """Return whether a process runs: not whether it is still to be reaped by its parent."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_segments_of_others_are_kept(wanted: Unindexed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that index a new table at the same time both find no index at first."""
    half = replace(wanted, files=wanted.files.take(np.arange(20)))
    rest = replace(wanted, files=wanted.files.take(np.arange(20, FILES)))
    read, calls = local_footers.read_footers, 0

    def meanwhile(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            file_adder.add_files(rest)
        return read(*arguments)

    monkeypatch.setattr(file_adder, "read_footers", meanwhile)
    file_adder.add_files(half)
    assert indexed(wanted) == FILES


def test_index_that_another_process_has_replaced_is_not_removed(
    wanted: Unindexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = replace(wanted, files=wanted.files.take(np.arange(20)))
    file_adder.add_files(half)
    rows, calls = reusable_rows, 0

    def damaged_at_first(files: FileKeys, store: Store, pointer: Pointer) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            other = replace(wanted, files=wanted.files.take(np.arange(20, 30)))
            file_adder.add_files(other)  # calls this again
            raise store.damaged("its segments were removed")
        return rows(files, store, pointer)

    monkeypatch.setattr(file_adder, "reusable_rows", damaged_at_first)
    file_adder.add_files(wanted)
    assert indexed(wanted) == FILES
    sizes = [each.files for each in Store.at(wanted.root, wanted.location, {}).pointer().segments]
    assert sizes == [20, 10, 10]
