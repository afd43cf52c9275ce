"""Matching of a listing with an index, checked against a dictionary."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tamis.indexing.read.freshness import OLDEST, match, match_keys, unchanging
from tamis.indexing.read.snapshot import FileKeys


class File(NamedTuple):
    directory: str
    name: str
    size: int
    mtime: int


def keys(files: list[File], chunk: int) -> FileKeys:
    directories = list(dict.fromkeys(f.directory for f in files))
    table = pa.table(
        {
            "group": pa.array([directories.index(f.directory) for f in files], pa.int32()),
            "name": pa.array([f.name for f in files], pa.string()),
            "size": pa.array([f.size for f in files], pa.int64()),
            "mtime": pa.array([f.mtime for f in files], pa.int64()),
        }
    )
    table = pa.Table.from_batches(table.to_batches(max_chunksize=chunk), table.schema)
    return FileKeys(tuple(directories), *table.columns)


FILES = st.lists(
    st.builds(
        File,
        st.sampled_from(["file:/t/x=1", "file:/t/x=2", "file:/t/x=3"]),
        st.integers(0, 30).map(lambda i: f"part-{i:05d}.parquet"),
        st.integers(0, 2),
        st.integers(OLDEST - 1, OLDEST + 2),
    ),
    max_size=60,
    unique_by=lambda f: (f.directory, f.name),
)


@given(listing=FILES, indexed=FILES, chunk=st.integers(1, 20))
def test_matched_rows_have_equal_keys(listing: list[File], indexed: list[File], chunk: int) -> None:
    rows = match(keys(listing, chunk), keys(indexed, 1 << 20))
    expected = [indexed.index(f) if f in indexed and f.mtime >= OLDEST else -1 for f in listing]
    assert (list(range(len(listing))) if rows is None else rows.tolist()) == expected


@given(indexed=FILES, data=st.data(), chunk=st.integers(1, 20))
def test_slightly_changed_listing_is_matched(
    indexed: list[File], data: st.DataObject, chunk: int
) -> None:
    listed = [f for f in indexed if data.draw(st.integers(0, 9)) > 0]
    listed = [
        f._replace(mtime=OLDEST + 9) if data.draw(st.integers(0, 9)) == 0 else f for f in listed
    ]
    test_matched_rows_have_equal_keys.hypothesis.inner_test(listed, indexed, chunk)


@given(listing=FILES, indexed=FILES, chunk=st.integers(1, 20))
def test_builds_match_whatever_the_time_says(
    listing: list[File], indexed: list[File], chunk: int
) -> None:
    rows = match_keys(keys(listing, chunk), keys(indexed, 1 << 20))
    expected = [indexed.index(f) if f in indexed else -1 for f in listing]
    assert (list(range(len(listing))) if rows is None else rows.tolist()) == expected


@given(files=FILES, chunk=st.integers(1, 20))
def test_unchanged_listing_is_matched(files: list[File], chunk: int) -> None:
    files = [f._replace(mtime=max(f.mtime, OLDEST)) for f in files]
    assert match(keys(files, chunk), keys(files, 1 << 20)) is None


@given(listing=FILES, indexed=FILES, chunk=st.integers(1, 20))
def test_files_that_never_change_are_matched_by_path_and_size(
    listing: list[File], indexed: list[File], chunk: int
) -> None:
    known = {file[:3]: row for row, file in enumerate(indexed)}
    rows = match(unchanging(keys(listing, chunk)), unchanging(keys(indexed, 1 << 20)))
    expected = [known.get(file[:3], -1) for file in listing]
    assert (list(range(len(listing))) if rows is None else rows.tolist()) == expected
    rows = match(keys(listing, chunk), unchanging(keys(indexed, 1 << 20)))
    assert rows is None or (rows == -1).all()
