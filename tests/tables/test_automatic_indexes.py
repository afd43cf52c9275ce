"""Tables without an index are indexed when they are read, in the cache of the user."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis._version import __version__
from tamis.indexing.automatic import automatic_indexes, local_footers
from tamis.indexing.automatic.automatic_indexes import AutomaticIndexes
from tamis.indexing.automatic.local_footers import portions
from tamis.indexing.format.layout import unseal
from tamis.indexing.read import cache_sweep
from tamis.indexing.read.snapshot import FileKeys
from tamis.indexing.storage import FileSystems
from tamis.tables import parquet
from tamis.tables.parquet import ParquetTables
from tamis.wire.scans import AutomaticIndex
from tests.indexing.local import spark_schema
from tests.tables.test_parquet import SCHEMA, A, Scene, lowers, write

ALL = [1, 3, 5, 8]


class Automatic(Scene):
    """A table without an index, read with automatic indexes."""

    schema = SCHEMA
    max_files = 1000

    def open(self, only: set[int] | None = None, **options: Any) -> Any:
        """Open the files as a query does that keeps these files; None: all."""
        automatic = AutomaticIndex(self.schema, spark_schema(day="integer"), self.max_files)
        request = self.request(**{"automatic": automatic, **options})
        scan = self.tables.open_scan(request)
        files = request.snapshot.files
        kept = np.array([only is None or i in only for i in range(files)], bool)
        if self.tables.index_files(request, scan, kept):
            scan = self.tables.open_scan(request)
        return scan

    @property
    def cache(self) -> Path:
        return self.tmp_path / "cache"

    def sizes(self) -> list[int]:
        """Return the number of files of each segment of the only automatic index."""
        (pointer,) = self.cache.glob("automatic-*/*/*/_index.json")
        return [segment.files for segment in unseal(pointer.read_bytes()).segments]


@pytest.fixture
def scene(tmp_path: Path) -> Automatic:
    return Automatic(tmp_path)


@pytest.fixture(autouse=True)
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the files whose footers were read."""
    names: list[str] = []
    read_footers = automatic_indexes.read_footers

    def noted(keys: Any, *rest: Any) -> Any:
        names.extend(uri.rpartition("/")[2] for uri in keys.uris())
        return read_footers(keys, *rest)

    monkeypatch.setattr(automatic_indexes, "read_footers", noted)
    return names


def wait_for(scene: Automatic) -> None:
    """Wait until the thread has no job."""
    while scene.tables._automatic._running:
        time.sleep(0.01)


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
    monkeypatch.setattr(parquet, "_PATIENCE", 0.05)
    slow, read_footers = threading.Event(), automatic_indexes.read_footers

    def late(*arguments: Any) -> Any:
        slow.wait(60)
        return read_footers(*arguments)

    monkeypatch.setattr(automatic_indexes, "read_footers", late)
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
    scene.tables._automatic = AutomaticIndexes(lambda: now[0])
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
    location_of = parquet.location_of

    def changed(*arguments: Any) -> Any:
        write(file, 7, None)
        return location_of(*arguments)

    listed = file.stat()
    monkeypatch.setattr(parquet, "location_of", changed)
    assert lowers(scene.open()) == [1, None, 5, 8]
    assert file.stat().st_size == listed.st_size
    monkeypatch.setattr(parquet, "location_of", location_of)
    scene.tables = ParquetTables()
    assert lowers(scene.open()) == [1, 7, 5, 8]


def test_tables_with_too_many_files_are_not_indexed(scene: Automatic, read: list[str]) -> None:
    scene.max_files = 3
    assert lowers(scene.open()) == [None] * 4
    assert read == []


def test_index_starts_again_when_most_files_are_gone(
    scene: Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automatic_indexes, "FEW", 4)
    scene.max_files = 5
    for i in range(12):
        write(scene.root / "day=1" / "x.parquet", *range(i + 1))  # another file each time
        scene.open()
        wait_for(scene)
    assert scene.sizes() == [5, *[1] * 11]
    write(scene.root / "day=1" / "x.parquet", -1)
    scene.open()
    wait_for(scene)
    assert scene.sizes() == [1]  # 16 files were more than three times the limit
    scene.open()
    wait_for(scene)
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


def test_other_tables_do_not_wait_for_a_long_job(
    scene: Automatic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, read_footers = threading.Event(), automatic_indexes.read_footers

    def late(*arguments: Any) -> Any:
        slow.wait(60)
        return read_footers(*arguments)

    monkeypatch.setattr(automatic_indexes, "read_footers", late)
    monkeypatch.setattr(parquet, "_PATIENCE", 0.01)
    scene.open()
    monkeypatch.setattr(parquet, "_PATIENCE", 3600)
    write(tmp_path / "o" / "f.parquet", 70)
    assert lowers(scene.open(root=tmp_path / "o")) == [None]
    assert lowers(scene.open()) == [None] * 4
    slow.set()
    wait_for(scene)
    assert lowers(scene.open()) == ALL
    assert lowers(scene.open(root=tmp_path / "o")) == [70]


def test_thread_that_cannot_start_is_no_error(
    scene: Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    request = scene.request(automatic=AutomaticIndex(scene.schema, spark_schema(day="integer"), 10))
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
    scene.tables._automatic = AutomaticIndexes(lambda: now[0])
    file = scene.root / "day=1" / "b.parquet"
    os.utime(file, (int(time.time()) + 3600,) * 2)
    assert lowers(scene.open()) == [1, None, 5, 8]
    monkeypatch.setattr(local_footers, "_YOUNG", -3_700_000)
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


def test_wide_files_are_read_in_portions() -> None:
    names = pa.chunked_array([[f"{i}" for i in range(5000)]])
    numbers = pa.chunked_array([pa.array(range(5000), pa.int64())])
    keys = FileKeys(
        ("file:/t",), pa.chunked_array([pa.array([0] * 5000, pa.int32())]), names, numbers, numbers
    )
    assert [len(some) for some in portions(keys, 1)] == [2000, 2000, 1000]
    assert {len(some) for some in portions(keys, 300)} == {25}
    assert len(next(portions(keys, 100_000))) == 16
    read = [name for some in portions(keys, 50) for name in some.name.to_pylist()]
    assert read == names.to_pylist()


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
        base = scene.cache / f"automatic-{__version__}-{automatic_indexes.FORMAT}"
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
    assert not first.exists()
    assert lowers(scene.open()) == ALL


def test_used_indexes_are_kept(scene: Automatic, tmp_path: Path) -> None:
    now = [0.0]
    scene.tables._automatic = AutomaticIndexes(lambda: now[0])
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
