"""Appended segments: an index that grew says the same as one that was built at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.errors import StatisticsIndexError
from tamis.expr.nodes import Column
from tamis.expr.types import LONG
from tamis.files.columns import plain
from tamis.indexing.build import segments
from tamis.indexing.build.listing import TableListing
from tamis.indexing.build.rows.row_aggregation import Job
from tamis.indexing.format import store as stores
from tamis.indexing.format.layout import FILES, ROW_GROUPS, Pointer, seal
from tamis.indexing.format.row_statistics import load, recording_of
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexMissing, IndexUnusable
from tamis.indexing.read.open_indexes import OpenIndex, open_index
from tests.indexing.local import LocalIndex, spark_schema, uri_of

SCHEMA = spark_schema(a="long", b="long", x="double")
RICH: dict[str, Any] = {
    "columns": {"a": ["bounds", "bloom", "values", "ndv"]},
    "expressions": {"twice(a)": ["bounds"]},
}


def write(path: Path, *a: int | None, nan: bool = False) -> None:
    numbers = pa.array(a, pa.int64())
    floats = [None if v is None else float("nan") if nan else v / 2 for v in a]
    table = pa.table({"a": numbers, "b": numbers, "x": pa.array(floats, pa.float64())})
    pq.write_table(table, path, row_group_size=2)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "table"
    root.mkdir()
    write(root / "b.parquet", 1, 2, 3)
    write(root / "d.parquet", 4, None)
    return root


@pytest.fixture
def index(root: Path, tmp_path: Path) -> LocalIndex:
    return LocalIndex(root, SCHEMA, tmp_path / "scratch")


def pointer_of(index: LocalIndex) -> Pointer:
    return index.store().pointer()


def sizes(index: LocalIndex) -> list[int]:
    """Return the number of files of each segment."""
    return [segment.files for segment in pointer_of(index).segments]


def known(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without NULLs: a missing column is NULL. Numbers are text, because of NaN."""
    return [{name: str(v) for name, v in row.items() if v is not None} for row in rows]


def content(index: LocalIndex) -> dict[str, Any]:
    """Return everything that an index says, independent of the order of its files."""
    store = index.store()
    pointer = store.pointer()
    table = store.columns(pointer, FILES)
    files = [f"{row['directory']}/{row['name']}" for row in table.to_pylist()]
    order = np.argsort(files)
    row_groups: dict[str, list[Any]] = {name: [] for name in files}
    for row in known(store.columns(pointer, ROW_GROUPS).to_pylist()):
        row_groups[files[int(row.pop("file"))]].append(row)
    recording = recording_of(store, pointer)
    recorded = {}
    for k, entry in enumerate(() if recording is None else recording.entries):
        part = load(store, pointer, k, entry)
        values: list[Any] = []
        if part.columns is not None:
            values = known(pa.table(dict(part.columns)).to_pylist())
        elif part.filters is not None:
            values = [None if words is None else words.tolist() for words in part.filters.each()]
        elif part.lists is not None:
            sizes = np.maximum(part.lists.counts, 0)
            flat = np.split(np.asarray(part.lists.values), np.cumsum(sizes)[:-1])
            values = [
                None if count < 0 else sorted(one.tolist())
                for count, one in zip(part.lists.counts, flat, strict=True)
            ]
        if any(values):  # an entry that knows nothing may be missing
            recorded[entry.meaning] = entry.files, [values[i] for i in order]
    return {
        "files": known([table.to_pylist()[i] for i in order]),
        "row groups": row_groups,
        "recorded": recorded,
        "spec": None if recording is None else recording.spec,
        "columns": pointer.columns,
        "totals": pointer.totals,
        "problems": sorted(pointer.problems),
        "schema": (pointer.root, pointer.schema, pointer.selected, pointer.case_sensitive),
    }


def built(index: LocalIndex, **spec: Any) -> dict[str, Any]:
    """Return what an index says that is built at once."""
    location = uri_of(index.scratch / "other")
    other = LocalIndex(index.root, index.schema, index.scratch, location)
    return content(other.build(**spec))


def lowers(index: OpenIndex) -> list[int]:
    lower = index.statistics.bounds(Column(("a",), LONG)).lower
    assert isinstance(lower, np.ndarray)
    return lower.tolist()  # type: ignore[no-any-return]


class TestRefresh:
    def test_new_files_are_appended(self, index: LocalIndex, root: Path, tmp_path: Path) -> None:
        index.build(**RICH)
        first = pointer_of(index)
        before = {file: file.read_bytes() for file in (root / "_tamis").rglob("_*.stats")}
        write(root / "a.parquet", 7)
        write(root / "c.parquet", 8, 9)
        index.read.clear()
        index.aggregated.clear()
        index.refresh()
        assert index.read == ["a.parquet", "c.parquet"]
        assert set(index.aggregated) == {"a.parquet", "c.parquet"}
        assert sizes(index) == [2, 2]
        assert pointer_of(index).segments[0] == first.segments[0]
        assert all(file.read_bytes() == content for file, content in before.items())
        opened = open_index(index.store(), str(tmp_path / "cache"))
        assert lowers(opened) == [1, 4, 7, 8]
        assert opened.files.name.to_pylist() == [f"{c}.parquet" for c in "bdac"]
        assert content(index) == built(index, **RICH)

    def test_spark_reads_only_the_new_files(self, index: LocalIndex, root: Path) -> None:
        """Rows of the table are filtered by path."""
        write(root / "e.parquet", 5)
        new = index._list().only(np.array([2]))
        frame = MagicMock()
        records: list[int | None] = [1]
        job = Job(
            MagicMock(),
            frame,
            new.snapshot.files,
            new.all_files,
            np.array([0]),
            records,
            MagicMock(),
        )
        job.rows([], None)
        frame.where.assert_called_once_with(frame["_metadata.file_path"].isin.return_value)
        frame["_metadata.file_path"].isin.assert_called_once_with([uri_of(root / "e.parquet")])

    def test_schema_change_rewrites_the_index(self, index: LocalIndex, root: Path) -> None:
        index.build(columns=["a"])
        index.schema = spark_schema(a="long", b="long", x="double", later="long")
        write(root / "e.parquet", 5)
        index.refresh()
        assert sizes(index) == [3]
        assert pointer_of(index).schema == index.schema

    def test_empty_index_grows(self, index: LocalIndex, root: Path) -> None:
        for file in root.iterdir():
            file.unlink()
        index.build(**RICH)
        write(root / "e.parquet", 5)
        index.refresh()
        assert sizes(index) == [0, 1]
        assert content(index) == built(index, **RICH)

    def test_appended_segment_does_not_depend_on_the_size_of_the_index(
        self, index: LocalIndex, root: Path, tmp_path: Path
    ) -> None:
        added = []
        for files in (10, 200):
            for i in range(files):
                write(root / f"{i}.parquet", i)
            index.build(**RICH)
            write(root / "new.parquet", -1)
            index.refresh()
            added.append({n: f.size for n, f in pointer_of(index).segments[1].data.items()})
            (root / "new.parquet").unlink()
        small, large = added
        assert small.keys() == large.keys()
        for name in small:  # numbers have more or fewer digits
            assert abs(small[name] - large[name]) < 20

    def test_nothing_new_changes_nothing(self, index: LocalIndex, root: Path) -> None:
        index.build()
        before = sorted((root / "_tamis").rglob("*"))
        pointer = pointer_of(index)
        index.refresh()
        assert pointer_of(index) == pointer
        assert sorted((root / "_tamis").rglob("*")) == before

    @pytest.mark.parametrize("change", ["rewritten", "deleted", "unreadable before"])
    def test_other_changes_rewrite_the_index(
        self, index: LocalIndex, root: Path, change: str
    ) -> None:
        if change == "unreadable before":
            (root / "e.parquet").write_bytes(b"PAR1")
        index.build(**RICH)
        write(root / "f.parquet", 5)
        if change == "rewritten":
            write(root / "b.parquet", 6, 7, 8, 9)
        elif change == "deleted":
            (root / "b.parquet").unlink()
        index.refresh()
        assert sizes(index) == [pointer_of(index).totals.files]
        assert pointer_of(index).format == 3
        assert content(index) == built(index, **RICH)

    def test_damage_of_an_old_segment_is_repaired(self, index: LocalIndex, root: Path) -> None:
        index.build(**RICH)
        write(root / "e.parquet", 5)
        index.refresh()
        damaged = index.store().path + f"/{pointer_of(index).generation}/_files.stats"
        bytes_of = bytearray(Path(damaged).read_bytes())
        bytes_of[len(bytes_of) // 2] ^= 1
        Path(damaged).write_bytes(bytes_of)
        write(root / "f.parquet", 6)
        index.refresh()
        assert sizes(index) == [4]
        assert content(index) == built(index, **RICH)

    def test_wrong_number_of_files_of_a_segment_is_damage(
        self, index: LocalIndex, root: Path
    ) -> None:
        index.build()
        write(root / "e.parquet", 5)
        index.refresh()
        pointer = pointer_of(index)
        first, second = pointer.segments
        swapped = msgspec.structs.replace(
            pointer, appended=(msgspec.structs.replace(second, files=first.files),)
        )
        (root / "_tamis" / "_index.json").write_bytes(seal(swapped))
        with pytest.raises(IndexUnusable, match="has 2 rows instead of 1"):
            open_index(index.store(), None)

    def test_gap_that_only_new_files_have(self, index: LocalIndex, root: Path) -> None:
        (root / "b.parquet").unlink()
        pq.write_table(pa.table({"a": [1], "b": [1]}), root / "d.parquet")
        index.build()
        assert content(index)["recorded"] == {}
        write(root / "e.parquet", 5)
        write(root / "f.parquet", 6, nan=True)
        index.refresh()
        assert sizes(index) == [1, 2]
        write(root / "g.parquet", 7)
        index.refresh()
        assert sizes(index) == [1, 2, 1]
        assert content(index) == built(index)

    def test_unreadable_new_file_is_unknown(self, index: LocalIndex, root: Path) -> None:
        index.build()
        (root / "e.parquet").write_bytes(b"PAR1")
        index.refresh()
        assert sizes(index) == [2, 1]
        assert pointer_of(index).totals.unreadable == 1
        assert len(pointer_of(index).problems) == 1
        assert content(index) == built(index)

    def test_description_names_the_last_segment(self, index: LocalIndex, root: Path) -> None:
        index.build()
        write(root / "e.parquet", 5)
        described = index.refresh().describe().to_dict()
        assert described["files"] == 3
        assert described["segments"] == 2
        assert described["generation"] == pointer_of(index).segments[1].directory
        assert described["staleness"] == {"fresh": 3, "changed": 0, "added": 0, "gone": 0}
        stored = (root / "_tamis").rglob("_*.*")
        assert described["index_bytes"] == sum(
            path.stat().st_size for path in stored if path.name != "_index.json"
        )


class TestMerging:
    def test_number_of_segments_grows_slowly(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(segments, "_MOST", 3)
        for i in range(30):
            write(root / f"base{i}.parquet", i)
        index.build(**RICH)
        seen = []
        for i in range(25):
            write(root / f"new{i}.parquet", -i)
            index.refresh()
            seen.append(sizes(index))
        assert seen[:4] == [[32, 1], [32, 1, 1], [32, 3], [32, 3, 1]]
        assert max(map(len, seen)) == 5  # as in [32, 12, 6, 3, 1]
        assert all(each[0] == 32 for each in seen)
        assert content(index) == built(index, **RICH)

    def test_large_segments_are_not_merged(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(segments, "_MOST", 1)
        monkeypatch.setattr(segments, "_MOST_CELLS", 12)  # of two files of three columns
        index.build(fill_gaps=False)
        for i in range(4):
            write(root / f"e{i}.parquet", i)
            index.refresh()
        assert sizes(index) == [2, 2, 2]
        assert content(index) == built(index, fill_gaps=False)

    def test_segments_are_merged_with_the_first_one_when_they_are_as_large(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(segments, "_MOST", 1)
        index.build(**RICH)
        write(root / "e.parquet", 5)
        index.refresh()
        assert sizes(index) == [2, 1]
        write(root / "f.parquet", 6)
        index.refresh()
        assert sizes(index) == [4]
        assert pointer_of(index).format == 3
        assert content(index) == built(index, **RICH)

    def test_old_segments_are_removed_after_an_hour(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(segments, "_MOST", 1)
        monkeypatch.setattr(stores, "YOUNG", timedelta(0))
        index.build()
        (root / "_tamis" / "._index.json.0a1b2c3d").touch()  # of a killed process
        write(root / "e.parquet", 5)
        index.refresh()
        assert len(list((root / "_tamis").glob("_*/"))) == 2
        write(root / "f.parquet", 6)
        index.refresh()  # the segments before this commit stay
        write(root / "g.parquet", 7)
        index.refresh()
        kept = {path.name for path in (root / "_tamis").iterdir()} - {"_index.json"}
        assert kept == {segment.directory for segment in pointer_of(index).segments}
        assert content(index) == built(index)


class TestConcurrency:
    """A second process commits while the first one has written its segment."""

    @pytest.fixture
    def meanwhile(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Callable[[Callable[[], Any]], None]]:
        write_segment = Store.write_segment
        actions: list[Callable[[], Any]] = []

        def with_action(self: Store, *args: Any) -> Any:
            written = write_segment(self, *args)
            if actions:
                actions.pop()()
            return written

        monkeypatch.setattr(Store, "write_segment", with_action)
        yield actions.append
        assert not actions

    def test_both_segments_are_kept(self, index: LocalIndex, root: Path, meanwhile: Any) -> None:
        index.build(**RICH)
        other = LocalIndex(root, SCHEMA, index.scratch.with_name("other"))
        write(root / "e.parquet", 5)

        def append_another() -> None:
            write(root / "f.parquet", 6)
            other.refresh()

        meanwhile(append_another)
        index.refresh()
        assert sizes(index) == [2, 2, 1]  # the other process indexed e and f
        opened = open_index(index.store(), None)
        assert lowers(opened)[:4] == [1, 4, 5, 6]
        index.refresh()  # e is known twice
        assert sizes(index) == [4]
        assert content(index) == built(index, **RICH)

    def test_files_that_another_process_added_after_the_listing_are_kept(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index.build(**RICH)
        other = LocalIndex(root, SCHEMA, index.scratch.with_name("other"))
        list_files, late = LocalIndex._list, [True]

        def listed(self: LocalIndex) -> TableListing:
            listing = list_files(self)
            if self is index and late:
                late.pop()
                write(root / "f.parquet", 6)
                other.refresh()
            return listing

        write(root / "e.parquet", 5)
        monkeypatch.setattr(LocalIndex, "_list", listed)
        index.refresh()
        assert sizes(index) == [2, 2]
        assert content(index) == built(index, **RICH)

    def test_commits_during_a_merge_are_kept(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index.build(**RICH)
        write(root / "e.parquet", 5)
        index.refresh()
        other = LocalIndex(root, SCHEMA, index.scratch.with_name("other"))
        merged, late = segments._merged, [True]

        def slow(store: Store, pointer: Pointer) -> Pointer:
            result = merged(store, pointer)
            if late:
                late.pop()
                write(root / "g.parquet", 7)
                other.refresh()
            return result

        monkeypatch.setattr(segments, "_merged", slow)
        write(root / "f.parquet", 6)
        index.refresh()
        assert pointer_of(index).totals.files == 6  # f is known twice
        index.refresh()
        assert content(index) == built(index, **RICH)

    def test_clock_of_another_process_does_not_matter(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stores, "new_segment", lambda: "_29990101T000000000000Z-0a1b2c3d")
        index.build()
        monkeypatch.undo()
        write(root / "e.parquet", 5)
        index.refresh()
        assert sizes(index) == [2, 1]

    def test_refresh_gives_up_while_others_commit_without_pause(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index.build()
        write(root / "e.parquet", 5)
        monkeypatch.setattr("tamis.indexing.changes.append", lambda *_: None)
        with pytest.raises(StatisticsIndexError, match="run it again"):
            index.refresh()

    def test_missing_pointer_for_a_moment_is_no_error(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As on HDFS while another process replaces the pointer."""
        index.build(**RICH)
        write(root / "e.parquet", 5)
        commit, read, missing = Store.commit, Store.pointer, [0]

        def replaced(self: Store, pointer: Pointer) -> None:
            commit(self, pointer)
            missing[0] = 2

        def pointer(self: Store) -> Pointer:
            if missing[0]:
                missing[0] -= 1
                raise IndexMissing("index.missing", "no index", "build one")
            return read(self)

        monkeypatch.setattr(Store, "commit", replaced)
        monkeypatch.setattr(Store, "pointer", pointer)
        index.refresh()
        assert sizes(index) == [2, 1]

    def test_another_index_is_not_replaced(
        self, index: LocalIndex, root: Path, meanwhile: Any
    ) -> None:
        index.build()
        other = LocalIndex(root, SCHEMA, index.scratch.with_name("other"))
        write(root / "e.parquet", 5)
        meanwhile(lambda: other.build(**RICH))
        index.refresh()
        assert content(index) == built(index, **RICH)

    def test_dropped_index_is_built(self, index: LocalIndex, root: Path, meanwhile: Any) -> None:
        index.build(**RICH)
        write(root / "e.parquet", 5)
        meanwhile(lambda: shutil.rmtree(root / "_tamis"))
        index.refresh()  # as after an overwrite of the table
        assert content(index) == built(index, **RICH)

    def test_lost_commit_is_repeated(
        self, index: LocalIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index.build()
        before = (root / "_tamis" / "_index.json").read_bytes()
        write(root / "e.parquet", 5)
        commit, lost = Store.commit, [True]

        def overwritten_once(self: Store, pointer: Pointer) -> None:
            commit(self, pointer)
            if lost:
                lost.pop()
                (root / "_tamis" / "_index.json").write_bytes(before)

        monkeypatch.setattr(Store, "commit", overwritten_once)
        index.refresh()
        assert sizes(index) == [2, 1]
        assert content(index) == built(index)


FILES_OF_A_STEP = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"),
        st.lists(st.none() | st.integers(-3, 3), max_size=5),
        st.booleans(),
    ),
    max_size=3,
)


@settings(max_examples=min(40, settings().max_examples))
@given(
    st.lists(FILES_OF_A_STEP, min_size=1, max_size=6),
    st.sampled_from([{}, {"fill_gaps": False}, RICH]),
    st.integers(1, 3),
)
def test_grown_index_says_the_same_as_a_new_one(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[list[tuple[str, list[int | None], bool]]],
    spec: dict[str, Any],
    most: int,
) -> None:
    folder = tmp_path_factory.mktemp("grown")
    root = folder / "table"
    root.mkdir()
    index = LocalIndex(root, SCHEMA, folder / "scratch")
    write(root / "0.parquet", 0)
    index.build(**spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "_MOST", most)
        for step, files in enumerate(steps):
            for name, values, nan in files:  # the same name in a later step rewrites the file
                write(root / f"{name}{step % 4}.parquet", *values, nan=nan)
            index.refresh()
            assert content(index) == built(index, **spec)
    opened = open_index(index.store(), str(folder / "cache"))
    mapped = opened.statistics.bounds(Column(("a",), LONG))
    unmapped = open_index(index.store(), None).statistics.bounds(Column(("a",), LONG))
    assert str(mapped) == str(unmapped)
    assert (
        plain(opened.files.name).to_pylist()
        == index.store().columns(pointer_of(index), FILES, ["name"]).column(0).to_pylist()
    )
