"""The requests with which Python reads and writes an index in an object store."""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from bench.s3.store import BUCKET, Request, Store
from tamis.indexing.format import store as index_store
from tamis.indexing.format.layout import FILES, POINTER, DataFile, Pointer, Totals
from tamis.indexing.format.small_objects import SmallObjects
from tamis.indexing.format.store import Store as IndexStore
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.open_indexes import Indexes, OpenIndex

pytestmark = pytest.mark.programs

SEGMENTS = 6


@pytest.fixture
def index(
    store: Store, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> IndexStore:
    """Write an index of some segments; nothing of it is in memory."""
    root = f"s3a://{BUCKET}/{request.node.name}"
    index = IndexStore.at(root, None, store.settings)
    keys = {"directory": [root] * 2, "name": ["a", "b"], "size": [1, 2], "mtime": [3, 4]}
    files = pa.table({**keys, "num_records": [5, 6]})
    segments = [index.write_segment(files, pa.table({"file": [0, 1]})) for _ in range(SEGMENTS)]
    count = 2 * SEGMENTS
    first = Pointer(
        3,
        "0",
        segments[0].directory,
        "",
        root,
        "",
        "",
        False,
        (),
        None,
        Totals(count, 0, count, 0, 0),
        segments[0].data,
    )
    index.commit(first.with_segments(segments))
    monkeypatch.setattr(index_store, "_small_objects", SmallObjects())
    store.requests()
    return index


def test_small_files_are_read_once(store: Store, index: IndexStore) -> None:
    pointer = index.pointer()
    index.prefetch(pointer)
    requests = Counter(each.path for each in store.requests() if each.method == "GET")
    assert set(requests.values()) == {1}
    assert len(requests) == 1 + 3 * SEGMENTS
    assert index.columns(pointer, FILES).column("name").to_pylist() == ["a", "b"] * SEGMENTS
    assert index.columns(pointer, FILES, ["name"]).num_rows == 2 * SEGMENTS
    assert store.requests() == []


def test_state_of_an_index_takes_one_request(store: Store, index: IndexStore) -> None:
    assert index.stamp() is not None
    assert [each.kind for each in store.requests()] == ["LIST"]
    assert IndexStore.at(f"s3a://{BUCKET}/none", None, store.settings).stamp() is None
    assert [each.kind for each in store.requests()] == ["LIST"]


def test_pointer_that_is_replaced_while_it_is_read(
    index: IndexStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading an object takes two requests: for the size that it has, and for that many bytes."""
    whole = index._read(POINTER)
    contents = [whole[:100], whole[:200], whole]
    monkeypatch.setattr(IndexStore, "_read", lambda store, name: contents.pop(0))
    assert index._pointer_in(POINTER) is not None
    contents = [whole[:100]] * 2
    with pytest.raises(IndexUnusable, match="is damaged"):
        index._pointer_in(POINTER)


def test_only_files_are_written(index: IndexStore) -> None:
    """Not objects that stand for directories, which would be left when the table is dropped."""
    selector = pa.fs.FileSelector(index.path, recursive=True)
    infos = index.file_system.get_file_info(selector)
    assert len([info for info in infos if info.is_file]) == 1 + 3 * SEGMENTS


def test_content_with_another_checksum_is_not_kept(store: Store, index: IndexStore) -> None:
    pointer = index.pointer()
    place = f"{index.path}/{pointer.segments[1].directory}/_files.stats"
    with index.file_system.open_input_file(place) as file:
        content = file.read()
    for damaged in (content[:-1], content[:-1] + b"x"):
        with index.file_system.open_output_stream(place) as sink:
            sink.write(damaged)
        with pytest.raises(IndexUnusable, match=r"_files\.stats: (it has|its checksum)"):
            index.columns(pointer, FILES)
    with index.file_system.open_output_stream(place) as sink:
        sink.write(content)
    assert index.columns(pointer, FILES).num_rows == 2 * SEGMENTS


def test_large_files_are_read_in_parts(
    store: Store, index: IndexStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_store, "MOST_BYTES", 10)
    pointer = index.pointer()
    index.prefetch(pointer)
    assert index.columns(pointer, FILES, ["name"]).num_rows == 2 * SEGMENTS
    ranges = [
        each for each in store.requests() if each.path.endswith("_files.stats") and each.range
    ]
    assert len(ranges) >= 2 * SEGMENTS


class TestOpenIndexes:
    """What `Indexes` returns, and requests, as time passes."""

    @pytest.fixture(autouse=True)
    def opened(self, store: Store, index: IndexStore, tmp_path: Path) -> None:
        self.now = 0.0
        self.indexes = Indexes(clock=lambda: self.now)
        self.arguments = (index.root, None, store.settings, str(tmp_path))

    def find(self, epoch: int = 0, patience: float = 60.0) -> OpenIndex | IndexUnusable:
        return self.indexes.find(*self.arguments, epoch, patience)

    def test_open_index_is_checked_every_30_seconds(self, store: Store) -> None:
        first = self.find()
        assert isinstance(first, OpenIndex)
        store.requests()
        self.now = 29.0
        assert self.find() is first
        assert self.running() is None
        assert store.requests() == []
        self.now = 31.0
        assert self.find() is first
        assert [each.kind for each in wait_for_requests(store)] == ["LIST"]

    def test_queries_do_not_wait_for_a_check(self, store: Store) -> None:
        first = self.find()
        store.requests()
        self.now = 31.0
        with store.failing({"status": 0}):
            assert self.find() is first
            # without an answer, pyarrow sends three requests before it reports an error
            assert len(wait_for_requests(store)) == 1

    def test_change_of_this_session_is_waited_for(self, index: IndexStore) -> None:
        first = self.find()
        pointer = index.pointer()
        index.commit(pointer.with_segments([*pointer.segments, *pointer.segments]))
        assert self.find() is first
        second = self.find(epoch=1)
        assert isinstance(second, OpenIndex)
        assert len(second.pointer.segments) == 2 * SEGMENTS

    def test_answer_that_comes_late_is_used(self, store: Store) -> None:
        with store.failing({"status": 0}):
            problem = self.find(patience=0.5)
            assert isinstance(problem, IndexUnusable)
            assert problem.code == "index.storage_unreachable"
            assert "does not answer in time" in problem.text
            assert self.find(patience=3600).text == problem.text  # no query waits for it again
        while (running := self.running()) is not None:
            running.wait()
        assert isinstance(self.find(), OpenIndex)

    def test_storage_that_fails_after_the_wait_is_one_problem(self, store: Store) -> None:
        with store.failing({"status": 0}):
            problem = self.find(patience=0.1)
            with store.failing({"status": 403}):
                while (running := self.running()) is not None:
                    running.wait()
                assert self.find().text == problem.text
        self.now = 31.0
        assert self.find().text == problem.text  # and a thread checks
        while (running := self.running()) is not None:
            running.wait()
        assert isinstance(self.find(), OpenIndex)

    def running(self) -> threading.Event | None:
        (slot,) = self.indexes._slots.values()
        return slot.running


def wait_for_requests(store: Store) -> list[Request]:
    requests: list[Request] = []
    while not requests:
        requests = store.requests()
    return requests


def test_least_recently_read_content_is_dropped() -> None:
    kept = SmallObjects(most=10)
    reads: list[str] = []

    def get(name: str) -> bytes:
        def read() -> bytes:
            reads.append(name)
            return name.encode() * 4

        return kept.get(name, DataFile(4, zlib.crc32(name.encode() * 4)), read)

    for name in "ababcba":
        assert get(name) == name.encode() * 4
    assert reads == ["a", "b", "c", "a"]
