"""Tables without an index are indexed when they are read, in the cache of the user."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from tamis._version import __version__
from tamis.indexing.automatic import automatic_indexes, file_adder, local_footers, low_priority
from tamis.indexing.automatic.automatic_indexes import AutomaticIndexes
from tamis.indexing.format import store as stores
from tamis.indexing.format.layout import FORMAT, unseal
from tamis.indexing.read import cache_sweep, index_statistics
from tamis.indexing.read.automatic_location import location_of
from tamis.indexing.read.snapshot import FileKeys
from tamis.indexing.storage import FileSystems
from tamis.serve.process.handler import Handler
from tamis.tables import parquet, roots
from tamis.tables.parquet import ParquetTables
from tamis.wire.messages import VERSION, WrittenFilesRequest
from tamis.wire.scans import AutomaticIndex
from tests.indexing.local import spark_schema
from tests.tables.test_parquet import SCHEMA, A, Scene, lowers, uri_of, write
from tests.waiting import wait_until

ALL = [1, 3, 5, 8]


class Automatic(Scene):
    """A table without an index, read with automatic indexes."""

    schema = SCHEMA
    max_files = 1000
    patience_ms = 60_000

    def open(self, only: set[int] | None = None, **options: Any) -> Any:
        """Open the files as a query does that keeps these files; None: all."""
        request = self.request(**{"automatic": self.automatic(), **options})
        scan = self.tables.open_scan(request)
        files = request.snapshot.files
        kept = np.array([only is None or i in only for i in range(files)], bool)
        if self.tables.index_files(request, scan, kept):
            scan = self.tables.open_scan(request)
        return scan

    def automatic(self) -> AutomaticIndex:
        return AutomaticIndex(self.schema, self.max_files, self.patience_ms)

    def written(self, *names: str, root: Path | None = None, **changed: Any) -> None:
        """Report that a query has written these files of the table."""
        paths = [self.root / name for name in names]
        request = WrittenFilesRequest(
            version=VERSION,
            id="w",
            root=uri_of(root or self.root),
            schema=self.schema,
            case_sensitive=False,
            directories=[uri_of(path.parent) for path in paths],
            group=[*range(len(paths))],
            name=[quote(path.name) for path in paths],
            size=[path.stat().st_size for path in paths],
            mtime=[path.stat().st_mtime_ns // 1_000_000 for path in paths],
            cache_directory=str(self.cache),
        )
        self.tables.index_written_files(structs.replace(request, **changed))

    def with_clock(self, clock: Callable[[], float]) -> None:
        forget = self.tables._automatic_open.forget
        self.tables._automatic = AutomaticIndexes(forget, clock)

    @property
    def cache(self) -> Path:
        return self.tmp_path / "cache"

    def sizes(self) -> list[int]:
        """Return the number of files of each segment of the only automatic index."""
        (pointer,) = self.cache.glob("automatic-*/*/*/_index.json")
        return [segment.files for segment in unseal(pointer.read_bytes()).segments]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Automatic:
    """Return a table whose queries wait as long as it takes, because a machine may be loaded."""
    monkeypatch.setattr(automatic_indexes, "_PATIENCE", 60.0)
    return Automatic(tmp_path)


@pytest.fixture(autouse=True)
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the files whose footers were read."""
    names: list[str] = []
    read_footers = local_footers.read_footers

    def noted(keys: Any, *rest: Any) -> Any:
        names.extend(uri.rpartition("/")[2] for uri in keys.uris())
        return read_footers(keys, *rest)

    monkeypatch.setattr(file_adder, "read_footers", noted)
    return names


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process also run large jobs, so that tests can change how footers are read."""
    monkeypatch.setattr(low_priority, "add_files", file_adder.add_files)


def wait_for(scene: Automatic) -> None:
    """Wait until the thread has no job."""
    while scene.tables._automatic._running:
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let later tests use the tables of this process again."""
    monkeypatch.setattr(parquet, "_open", parquet._open)


def waiting(scene: Automatic) -> int:
    """Return the planner's answer to the question how many files wait."""
    parquet.use_tables(scene.tables)
    location = location_of(str(scene.cache), scene.schema, False)
    request = {"version": VERSION, "id": "n", "root": uri_of(scene.root), "location": location}
    answer = json.loads(Handler().waiting(json.dumps(request)))
    assert answer["id"] == "n"
    return int(answer["files"])


def test_few_files_are_indexed_before_the_first_answer(scene: Automatic, read: list[str]) -> None:
    before = sorted(scene.root.rglob("*"))
    assert lowers(scene.open()) == ALL
    assert lowers(scene.open()) == ALL
    assert sorted(read) == ["a.parquet", "a.parquet", "b.parquet", "c%20d%23%25.parquet"]
    assert scene.sizes() == [4]
    assert sorted(scene.root.rglob("*")) == before


def test_without_the_option_nothing_is_read(scene: Automatic, read: list[str]) -> None:
    assert lowers(scene.open(automatic=None)) == [None] * 4
    assert read == []


def test_many_files_are_indexed_for_later_queries(
    scene: Automatic, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automatic_indexes, "FEW", 3)
    assert lowers(scene.open()) == [None] * 4
    wait_for(scene)
    assert lowers(scene.open()) == ALL
    assert len(read) == 4


def test_slow_footers_do_not_delay_a_query(
    scene: Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.patience_ms = 50
    slow, read_footers = threading.Event(), local_footers.read_footers

    def late(*arguments: Any) -> Any:
        slow.wait(60)
        return read_footers(*arguments)

    monkeypatch.setattr(file_adder, "read_footers", late)
    assert lowers(scene.open()) == [None] * 4
    assert lowers(scene.open()) == [None] * 4  # while the first job runs
    slow.set()
    wait_for(scene)
    assert lowers(scene.open()) == ALL


def test_only_new_files_are_read(scene: Automatic, read: list[str]) -> None:
    scene.open()
    read.clear()
    write(scene.root / "day=1" / "aa.parquet", -1)
    assert lowers(scene.open()) == [1, -1, 3, 5, 8]
    assert read == ["aa.parquet"]
    assert scene.sizes() == [4, 1]


def test_changed_file_is_read_again(scene: Automatic, read: list[str]) -> None:
    scene.open()
    read.clear()
    write(scene.root / "day=1" / "b.parquet", 33, 44, 55)
    assert lowers(scene.open()) == [1, 33, 5, 8]
    assert read == ["b.parquet"]


def test_other_drivers_use_the_same_index(scene: Automatic, read: list[str]) -> None:
    scene.open()
    read.clear()
    scene.tables = ParquetTables()
    assert lowers(scene.open()) == ALL
    assert read == []


def test_index_of_the_table_comes_first(scene: Automatic, read: list[str]) -> None:
    scene.index.build(columns=["s"])
    write(scene.root / "day=1" / "aa.parquet", -1)
    assert lowers(scene.open()) == [None, -1, None, None, None]
    assert read == ["aa.parquet"]
    assert [each.pointer.selected for each in scene.open().indexes] == [("s",)]


def test_partition_directory_uses_the_index_of_the_table(scene: Automatic, read: list[str]) -> None:
    part = scene.root / "day=2"
    one = {"day": ("integer", pa.array([2], pa.int32()))}
    assert lowers(scene.open(root=part, partitions=one)) == [5, 8]
    assert lowers(scene.open()) == ALL
    assert len(read) == 4
    assert scene.sizes() == [2, 2]


def test_single_file_uses_the_index_of_its_directory(scene: Automatic) -> None:
    file = scene.root / "day=2" / "a.parquet"
    roots = ["file:" + str(file)]
    day = {"day": ("integer", pa.array([2], pa.int32()))}
    assert lowers(scene.open(root=file.parent, roots=roots, order=[file], partitions=day)) == [5]
    assert lowers(scene.open()) == ALL
    assert scene.sizes() == [1, 3]


def test_several_roots_have_an_index_each(scene: Automatic, tmp_path: Path) -> None:
    other = tmp_path / "o"
    write(other / "f.parquet", 70)
    files = [*sorted(scene.root.rglob("*.parquet")), other / "f.parquet"]
    roots = ["file:" + str(root) for root in (scene.root, other)]
    found = lowers(scene.open(root=tmp_path, roots=roots, order=files, partitions={}))
    assert sorted(found) == [1, 3, 5, 8, 70]
    assert len(list(scene.cache.glob("automatic-*/*/*/_index.json"))) == 2


def test_each_schema_has_its_own_index(scene: Automatic, read: list[str]) -> None:
    scene.open()
    scene.schema = spark_schema(a="long")
    assert lowers(scene.open()) == ALL
    assert lowers(scene.open(case_sensitive=True)) == ALL
    assert len(read) == 12


def test_files_without_a_column_have_its_default(scene: Automatic) -> None:
    pq.write_table(pa.table({"s": ["x"]}), scene.root / "day=1" / "b.parquet")
    with_default = SCHEMA.replace('"metadata": {}', '"metadata": {"EXISTS_DEFAULT": "7"}', 1)
    assert with_default != SCHEMA
    scene.schema = with_default
    found = lowers(scene.open())
    assert [found[0], *found[2:]] == [1, 5, 8]
    (segment,) = scene.open().segments
    may_be_7 = np.broadcast_to(segment.statistics.bounds(A).can_be_value, 4)
    assert may_be_7.tolist() == [True] * 4


def test_unreadable_file_is_tried_again_later(
    scene: Automatic, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    scene.with_clock(lambda: now[0])
    bad = scene.root / "day=1" / "b.parquet"
    content = bad.read_bytes()
    bad.write_bytes(b"PAR1" * (len(content) // 4) + b"P" * (len(content) % 4))
    os.utime(bad, ns=(0, 1_600_000_000_123_000_000))
    times = bad.stat()
    assert lowers(scene.open()) == [1, None, 5, 8]
    read.clear()
    bad.write_bytes(content)
    os.utime(bad, ns=(times.st_atime_ns, times.st_mtime_ns))
    now[0] += 200
    assert lowers(scene.open()) == [1, None, 5, 8]
    assert read == []
    now[0] += 200
    assert lowers(scene.open()) == ALL
    assert read == ["b.parquet"]


def test_file_that_changes_while_it_is_read_stays_unknown(
    scene: Automatic, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer replaces a file by one of the same size after it was listed."""
    file = scene.root / "day=1" / "b.parquet"
    location_of = roots.location_of

    def changed(*arguments: Any) -> Any:
        write(file, 7, None)
        return location_of(*arguments)

    listed = file.stat()
    monkeypatch.setattr(roots, "location_of", changed)
    assert lowers(scene.open()) == [1, None, 5, 8]
    assert file.stat().st_size == listed.st_size
    monkeypatch.setattr(roots, "location_of", location_of)
    scene.tables = ParquetTables()
    assert lowers(scene.open()) == [1, 7, 5, 8]


def test_tables_with_too_many_files_are_not_indexed(scene: Automatic, read: list[str]) -> None:
    scene.max_files = 3
    assert lowers(scene.open()) == [None] * 4
    assert read == []


def test_index_of_too_many_files_starts_again(
    scene: Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_adder, "_MOST_FILES", 6)
    for i in range(3):
        write(scene.root / "day=1" / "x.parquet", *range(i + 1))  # another file each time
        scene.open()
    assert scene.sizes() == [5, 1, 1]  # two of them are gone
    write(scene.root / "day=1" / "x.parquet", -1)
    assert lowers(scene.open()) == [None, None, -1, None, None]
    assert scene.sizes() == [1]
    assert lowers(scene.open()) == [1, 3, -1, 5, 8]


def test_only_files_that_a_query_reads_are_indexed(scene: Automatic, read: list[str]) -> None:
    assert lowers(scene.open(only={1, 2})) == [None, 3, 5, None]
    assert read == ["b.parquet", "a.parquet"]
    scene.max_files = 2
    assert lowers(scene.open(only={2, 3})) == [None, 3, 5, 8]


def test_index_of_the_table_comes_first_if_both_have_all_files(scene: Automatic) -> None:
    write(scene.root / "day=2" / "e.parquet", 9)
    scene.open()
    (scene.root / "day=2" / "e.parquet").unlink()
    scene.index.build(columns=["s"])
    write(scene.root / "day=2" / "e.parquet", 10)
    scene.open()
    shutil.rmtree(next(scene.cache.glob("automatic-*")))
    scene.tables = ParquetTables()
    assert lowers(scene.open(only=set())) == [None] * 5
    # an automatic index of all files, in the order of the listing
    scene.tables = ParquetTables()
    shutil.move(scene.root / "_tamis", scene.tmp_path / "aside")
    scene.open()
    shutil.move(scene.tmp_path / "aside", scene.root / "_tamis")
    assert lowers(scene.open()) == [None] * 4 + [10]


def test_files_that_a_running_job_lacks_are_read_next(
    scene: Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, slow = threading.Event(), threading.Event()
    read_footers = local_footers.read_footers

    def late(*arguments: Any) -> Any:
        started.set()
        slow.wait(60)
        return read_footers(*arguments)

    monkeypatch.setattr(file_adder, "read_footers", late)
    scene.patience_ms = 0
    assert lowers(scene.open({0})) == [None] * 4
    started.wait(60)
    assert waiting(scene) == 1
    for _ in range(3):  # at most one job of an index waits
        assert lowers(scene.open({0, 1, 2, 3})) == [None] * 4
    assert waiting(scene) == 4
    assert scene.tables._automatic._queues[True].qsize() == 1
    threading.Timer(0.05, slow.set).start()
    scene.patience_ms = 60_000
    assert lowers(scene.open()) == ALL
    wait_for(scene)
    assert waiting(scene) == 0


def test_small_jobs_do_not_wait_for_large_ones(
    scene: Automatic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, read_footers = threading.Event(), local_footers.read_footers

    def late(keys: Any, *rest: Any) -> Any:
        if len(keys) > 1:
            slow.wait(60)
        return read_footers(keys, *rest)

    monkeypatch.setattr(file_adder, "read_footers", late)
    monkeypatch.setattr(automatic_indexes, "FEW", 2)
    scene.patience_ms = 3_600_000
    assert lowers(scene.open({0, 1, 2})) == [None] * 4  # many files, in the background
    assert lowers(scene.open({3})) == [None, None, None, 8]
    assert lowers(scene.open({2})) == [None, None, None, 8]  # the large job has this file
    write(tmp_path / "o" / "f.parquet", 70)
    assert lowers(scene.open(root=tmp_path / "o")) == [70]
    slow.set()
    wait_for(scene)
    assert lowers(scene.open()) == ALL
    assert lowers(scene.open(root=tmp_path / "o")) == [70]


def test_ended_job_takes_no_memory(scene: Automatic, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that waits for the next job does not keep the last one, with its list of files."""
    jobs: list[weakref.ref[automatic_indexes.Job]] = []
    start = AutomaticIndexes._start

    def noting(self: AutomaticIndexes, job: automatic_indexes.Job) -> automatic_indexes.Job | None:
        jobs.append(weakref.ref(job))
        return start(self, job)

    monkeypatch.setattr(AutomaticIndexes, "_start", noting)
    assert lowers(scene.open()) == ALL
    wait_until(lambda: [job() for job in jobs] == [None])


def test_all_files_of_a_listing_are_not_copied() -> None:
    numbers = pa.chunked_array([pa.array([1, 2, 3])])
    files = FileKeys(("file:/t",), numbers, numbers.cast(pa.string()), numbers, numbers)
    assert files.take(np.array([0, 1, 2])) is files
    for ordinals in ([], [0, 1], [1, 0, 2]):
        taken = files.take(np.array(ordinals, np.int64))
        assert taken.size.to_pylist() == [ordinal + 1 for ordinal in ordinals]


def test_jobs_of_an_index_are_limited(scene: Automatic, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, read_footers = threading.Event(), local_footers.read_footers

    def late(*arguments: Any) -> Any:
        slow.wait(60)
        return read_footers(*arguments)

    monkeypatch.setattr(file_adder, "read_footers", late)
    monkeypatch.setattr(automatic_indexes, "_MOST_JOBS", 2)
    scene.patience_ms = 0
    for number in range(4):
        scene.open({number})
    assert [len(jobs) for jobs in scene.tables._automatic._running.values()] == [2]
    slow.set()
    wait_for(scene)
    scene.patience_ms = 60_000
    assert lowers(scene.open()) == ALL


def test_files_that_were_added_meanwhile_are_described(
    scene: Automatic, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two drivers index the same files: the second one finds nothing left to read."""
    other = ParquetTables()
    scene.open()
    assert len(read) == 4
    described = []
    monkeypatch.setattr(other._automatic, "_changed", lambda root, location: described.append(root))
    scene.tables = other
    scene.written("day=1/a.parquet", "day=1/b.parquet")
    wait_for(scene)
    assert (len(read), len(described)) == (4, 1)
    assert other._automatic._failed == {}


def test_written_files_are_indexed(scene: Automatic, read: list[str]) -> None:
    scene.written("day=1/a.parquet", "day=1/b.parquet", root=scene.root / "day=1")
    wait_for(scene)
    assert sorted(read) == ["a.parquet", "b.parquet"]
    scene.max_files = 0
    assert lowers(scene.open()) == [1, 3, None, None]


def test_malformed_report_of_written_files_is_refused(scene: Automatic, read: list[str]) -> None:
    with pytest.raises(ValueError, match="expected length"):
        scene.written("day=1/a.parquet", size=[1, 2])
    scene.written("day=1/a.parquet", size=[1])  # another file than the current one
    scene.written()
    wait_for(scene)
    assert lowers(scene.open({1})) == [None, 3, None, None]


def test_thread_that_cannot_start_is_no_error(
    scene: Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    request = scene.request(automatic=scene.automatic())
    scan = scene.tables.open_scan(request)
    everything = np.ones(4, bool)
    monkeypatch.setattr(parquet, "_open", scene.tables)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        assert not parquet.index_files(request, scan, everything)
    assert parquet.index_files(request, scan, everything)


def test_young_file_on_storage_with_whole_seconds_stays_unknown(
    scene: Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    scene.with_clock(lambda: now[0])
    file = scene.root / "day=1" / "b.parquet"
    os.utime(file, (int(time.time()),) * 2)
    assert lowers(scene.open()) == [1, None, 5, 8]
    monkeypatch.setattr(local_footers, "_YOUNG", -10_000)
    assert lowers(scene.open()) == [1, None, 5, 8]
    now[0] += 4
    assert lowers(scene.open()) == ALL


def test_storage_with_coarser_times_than_the_listing(
    scene: Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDFS lists milliseconds, and its native client returns seconds."""
    for k, file in enumerate(scene.root.rglob("*.parquet")):
        times = 1_700_000_000_123_000_000 + k * 10**9
        os.utime(file, ns=(times, times))
    get_file_info = FileSystems.locate

    class Coarse:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def open_input_file(self, path: str) -> Any:
            return self.inner.open_input_file(path)

        def get_file_info(self, path: str) -> Any:
            info = self.inner.get_file_info(path)
            seconds = info.mtime_ns // 10**9 * 10**9
            return SimpleNamespace(size=info.size, mtime_ns=seconds)

    def locate(self: FileSystems, uri: str) -> Any:
        inner, path = get_file_info(self, uri)
        return Coarse(inner), path

    monkeypatch.setattr(FileSystems, "locate", locate)
    assert lowers(scene.open()) == ALL


@pytest.mark.parametrize("mask", [0o002, 0o077])
def test_directories_are_private_with_every_mask(scene: Automatic, mask: int) -> None:
    before = os.umask(mask)
    try:
        assert lowers(scene.open()) == ALL
    finally:
        os.umask(before)


def test_disabled_indexes_are_not_built(scene: Automatic, read: list[str]) -> None:
    scene.open(only={0})
    read.clear()
    assert lowers(scene.open(enabled=False)) == [None] * 4
    assert read == []


def test_footers_are_read_in_portions_and_committed_together(
    scene: Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    read_footers = local_footers.read_footers

    def noted(keys: FileKeys, *rest: Any) -> Any:
        sizes.append(len(keys))
        return read_footers(keys, *rest)

    monkeypatch.setattr(file_adder, "read_footers", noted)
    monkeypatch.setattr(file_adder, "_FIRST", 2)
    monkeypatch.setattr(file_adder, "_CELLS", 5 * 2)  # of files of two columns
    monkeypatch.setattr(file_adder, "_COMMITTED", 10)
    for i in range(20):
        write(scene.root / "day=1" / f"b{i:02d}.parquet", i)
    bad = scene.root / "day=1" / "b05.parquet"
    bad.write_bytes(b"x" * bad.stat().st_size)
    scene.open()
    wait_for(scene)
    assert sizes == [2, 4, 4, 5, 5, 4]
    assert scene.sizes() == [9, 10, 4]
    row_groups = scene.open().automatic[0].row_groups.table()
    assert row_groups.first.tolist() == list(range(24))  # one of each file that could be read
    expected = [1, 3, *(None if i == 5 else i for i in range(20)), 5, 8]
    assert sorted(lowers(scene.open()), key=str) == sorted(expected, key=str)


def test_fewer_footers_are_read_together_after_files_with_many_row_groups(
    scene: Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells: list[int] = []
    read_footers = local_footers.read_footers

    def noted(keys: FileKeys, leaves: Any, *rest: Any) -> Any:
        files, groups = read_footers(keys, leaves, *rest)
        cells.append(len(groups) * len(leaves))
        return files, groups

    monkeypatch.setattr(file_adder, "read_footers", noted)
    monkeypatch.setattr(file_adder, "_FIRST", 2)
    monkeypatch.setattr(file_adder, "_CELLS", 100)
    large = pa.table({"a": pa.array(range(20), pa.int64())})
    for i in range(8):
        pq.write_table(large, scene.root / "day=2" / f"z{i}.parquet", row_group_size=1)
    scene.open()
    wait_for(scene)
    assert cells[0] < 10
    assert sum(cells) > 300
    assert max(cells) <= 4 * 20 * 2  # twice as many files as before, at most
    assert set(cells[3:]) == {2 * 20 * 2}  # two files at a time, of 20 row groups and two columns


@pytest.mark.parametrize("seconds", [0, 1, 315_532_800])
def test_files_with_the_times_of_archives_stay_unknown(
    scene: Automatic, read: list[str], seconds: int
) -> None:
    """Another version may have the same size, and has the same time."""
    file = scene.root / "day=1" / "a.parquet"
    os.utime(file, (seconds, seconds))
    scene.written("day=1/a.parquet")
    wait_for(scene)
    assert read == []
    assert lowers(scene.open()) == [None, 3, 5, 8]
    assert len(read) == 3
    size = file.stat().st_size
    write(file, 9, 2)
    os.utime(file, (seconds, seconds))
    assert file.stat().st_size == size
    assert lowers(scene.open()) == [None, 3, 5, 8]


def test_pipes_are_not_opened(scene: Automatic, tmp_path: Path) -> None:
    os.mkfifo(scene.root / "day=1" / "pipe.parquet")
    assert lowers(scene.open()) == [1, 3, None, 5, 8]
    write(tmp_path / "o" / "f.parquet", 70)
    assert lowers(scene.open(root=tmp_path / "o")) == [70]


def test_many_unreadable_files_are_not_read_by_each_query(
    scene: Automatic, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automatic_indexes, "_TRACKED", 20)
    for file in scene.root.rglob("*.parquet"):
        file.write_bytes(b"x" * file.stat().st_size)
    for _ in range(3):
        scene.open()
        wait_for(scene)
    assert len(read) == 4


def test_readable_files_do_not_wait_for_unreadable_ones(scene: Automatic, read: list[str]) -> None:
    bad = scene.root / "day=1" / "b.parquet"
    bad.write_bytes(b"x" * bad.stat().st_size)
    os.utime(bad, (10**9, 10**9))
    scene.open()
    read.clear()
    write(scene.root / "day=1" / "aa.parquet", -1)
    assert lowers(scene.open()) == [1, -1, None, 5, 8]
    assert read == ["aa.parquet"]


def test_queries_wait_for_a_second_in_ten() -> None:
    now = [100.0]
    indexes = AutomaticIndexes(clock=lambda: now[0])

    class Slow:
        def wait(self, seconds: float) -> bool:
            now[0] += seconds
            return False

    def waited(seconds: float) -> float:
        started = now[0]
        indexes.wait([Slow()], seconds)  # type: ignore[list-item]
        return round(now[0] - started, 3)

    assert [waited(0.4) for _ in range(3)] == [0.4, 0.4, 0.28]
    assert waited(0.4) == 0.028
    now[0] += 5
    assert waited(3600) == pytest.approx(0.5, abs=0.01)
    now[0] += 3600
    assert waited(3600) == 1


def test_queries_do_not_wait_for_the_same_second() -> None:
    indexes = AutomaticIndexes()
    waits: list[float] = []

    class Slow:
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            if len(waits) < 3:  # another query, while this one waits
                indexes.wait([Slow()], 0.7)  # type: ignore[list-item]
            return False

    indexes.wait([Slow()], 0.7)  # type: ignore[list-item]
    assert [round(each, 1) for each in waits] == [0.7, 0.3, 0.0]


def test_tables_that_cannot_be_read_are_tried_ever_more_rarely(
    scene: Automatic, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    scene.with_clock(lambda: now[0])
    scene.patience_ms = 0

    def fail(self: FileSystems, uri: str) -> Any:
        raise OSError("access denied")

    for file in scene.root.rglob("*.parquet"):
        os.utime(file, (10**9, 10**9))
    tried = []
    with monkeypatch.context() as patch:
        patch.setattr(FileSystems, "locate", fail)
        for hour in range(100):
            now[0] = 1000 + hour * 300
            read.clear()
            scene.open()
            wait_for(scene)
            tried += [hour] if read else []
    assert tried == [0, 1, 3, 7, 15, 31, 63]
    now[0] += 6 * 3600
    scene.open()
    wait_for(scene)
    assert lowers(scene.open()) == ALL


def test_unreadable_file_does_not_delay_others(scene: Automatic, read: list[str]) -> None:
    now = [1000.0]
    scene.with_clock(lambda: now[0])
    scene.open()
    (scene.root / "day=1" / "bad.parquet").write_text("nothing")
    os.utime(scene.root / "day=1" / "bad.parquet", (10**9, 10**9))
    for _ in range(3):
        now[0] += 301
        scene.open()
        wait_for(scene)
    write(scene.root / "day=1" / "c.parquet", 4)
    assert lowers(scene.open()) == [1, 3, None, 4, 5, 8]


def test_roots_of_one_table_share_an_index(scene: Automatic, read: list[str]) -> None:
    files = sorted(scene.root.rglob("*.parquet"))
    roots = ["file:" + str(scene.root / day) for day in ("day=1", "day=2")]
    assert lowers(scene.open(roots=roots, order=files)) == ALL
    assert len(read) == 4
    assert scene.sizes() == [4]


def test_unreachable_column_does_not_disable_an_index(
    scene: Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.open()
    scene.tables = ParquetTables()
    for cached in scene.cache.glob("[!a]*"):
        shutil.rmtree(cached)
    opened = scene.open()

    def fail(*_: Any) -> Any:
        raise OSError("too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(stores, "open_verified", fail)
        assert lowers(opened) == [None] * 4
    monkeypatch.setattr(index_statistics, "_RETRY", 0.0)
    assert lowers(scene.open()) == ALL


@pytest.mark.parametrize("damage", ["pointer", "keys", "column"])
def test_damaged_index_is_built_again(scene: Automatic, read: list[str], damage: str) -> None:
    scene.open()
    read.clear()
    pattern = "_index.json" if damage == "pointer" else "_2*/_files.stats"
    (path,) = scene.cache.glob(f"automatic-*/*/*/{pattern}")
    content = bytearray(path.read_bytes())
    if damage == "column":
        checksums = json.loads((path.parent / "_checksums.json").read_bytes())
        ((start, length, _),) = checksums["files.stats"]["chunks"]["min.a"]
        content[start : start + length] = b"x" * length
    else:
        content[:] = b"x" * len(content)
    path.write_bytes(content)
    scene.tables = ParquetTables()
    for cached in scene.cache.glob("[!a]*"):
        shutil.rmtree(cached, ignore_errors=True)
    if damage == "column":  # noticed when a query needs it
        assert lowers(scene.open()) == [None] * 4
    assert lowers(scene.open()) == ALL
    assert len(read) == 4
    assert scene.open().warnings == []


@pytest.mark.parametrize("problem", ["read-only", "writable by others", "a file"])
def test_unusable_cache_directory_is_no_error(
    scene: Automatic, read: list[str], problem: str
) -> None:
    if problem == "a file":
        scene.cache.write_text("")
    else:
        scene.cache.mkdir()
        base = scene.cache / f"automatic-{__version__}-{FORMAT}"
        base.mkdir()
        base.chmod(0o777 if problem == "writable by others" else 0o555)
    if problem == "read-only" and os.access(base, os.W_OK):
        pytest.skip("this user may write to read-only directories")
    assert lowers(scene.open()) == [None] * 4
    assert read == []


def test_unused_indexes_are_removed(scene: Automatic, tmp_path: Path) -> None:
    scene.open()
    (first,) = scene.cache.glob("automatic-*/*/*")
    os.utime(first, (0, 0))
    other = tmp_path / "o"
    write(other / "f.parquet", 70)
    scene.open(root=other)
    assert first.exists()  # this was checked less than a day ago
    (mark,) = scene.cache.glob("automatic-*/.swept")
    os.utime(mark, (0, 0))
    foreign = [
        scene.cache / "automatic-backups" / "db" / "2024-01-01",
        scene.cache / "automatic-backups-1" / ("0" * 16) / ("f" * 16),
        mark.parent / "notes" / "old",
    ]
    for directory in foreign:
        directory.mkdir(parents=True)
        os.utime(directory, (0, 0))
    write(tmp_path / "p" / "f.parquet", 70)
    scene.open(root=tmp_path / "p")
    assert not first.exists()
    assert all(directory.exists() for directory in foreign)
    assert lowers(scene.open()) == ALL


def test_used_indexes_are_kept(scene: Automatic, tmp_path: Path) -> None:
    now = [0.0]
    scene.with_clock(lambda: now[0])
    scene.open()
    (first,) = scene.cache.glob("automatic-*/*/*")
    scene.open()
    os.utime(first, (0, 0))
    now[0] += 86400
    scene.open()
    other = tmp_path / "o"
    write(other / "f.parquet", 70)
    scene.open(root=other)
    assert first.exists()


@pytest.fixture(autouse=True)
def no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the cache of ordinary indexes alone."""
    monkeypatch.setattr(cache_sweep, "sweep", lambda *_: None)
