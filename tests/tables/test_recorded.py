"""What table formats record, for the files of a listing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tamis.expr.nodes import Column
from tamis.expr.types import LONG
from tamis.indexing.read.snapshot import FileKeys, Snapshot
from tamis.tables.recorded import RecordedFiles, RecordedTables
from tamis.wire.scans import ScanRequest
from tamis.wire.scans import Snapshot as ListingOfRequest
from tests.tables.delta.logs import Log, add, edges, files, schema_of, stats
from tests.tables.iceberg.hand_made import File, Lake, long

C = Column(("c",), LONG)
BOUNDS = {"values": {1: 10}, "nulls": {1: 0}, "lower": {1: long(1)}, "upper": {1: long(9)}}


def request(**recorded: object) -> ScanRequest:
    return ScanRequest(ListingOfRequest("f", "d", 2), **recorded)  # type: ignore[arg-type]


def listing(keys: FileKeys) -> Snapshot:
    return Snapshot(keys, {})


def iceberg(lake: Lake, *names: str) -> RecordedFiles:
    keys = listing(files("file:/w", names))
    found = RecordedTables().find(request(iceberg=lake.snapshot()), keys)
    assert found is not None
    return found


def test_directories_have_no_records() -> None:
    assert RecordedTables().find(request(), listing(files("file:/t", ["a"]))) is None


def test_manifests_describe_the_files_in_their_order(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    lake.add(File("file:/w/a", **BOUNDS), File("file:/w/b", records=7))
    found = iceberg(lake, "a", "b")
    assert found.problem is None
    assert found.num_records.tolist() == [10, 7]
    assert found.total_records == 17
    bounds = found.statistics.bounds(C)
    assert [edges(bounds, place) for place in range(2)] == [(1, 9), (None, None)]


def test_vectors_are_subtracted_and_other_deletes_leave_no_count(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")], version=3)
    lake.add(*(File(f"file:/w/{name}") for name in "abc"))
    lake.add(
        File("file:/w/v", 4, content=1, format="PUFFIN", referenced="file:/w/a"),
        File("file:/w/p", 2, content=1, referenced="file:/w/b"),
        deletes=True,
        sequence_number=2,
    )
    assert iceberg(lake, "a", "b", "c").num_records.tolist() == [6, -1, 10]


@pytest.mark.parametrize("names", [("a",), ("a", "c"), ("b", "a"), ("a", "b", "b")])
def test_other_files_than_those_of_the_manifests_are_unknown(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    lake.add(File("file:/w/a", **BOUNDS), File("file:/w/b", **BOUNDS))
    found = iceberg(lake, *names)
    assert found.problem is not None
    assert found.num_records.tolist() == [-1] * len(names)
    assert edges(found.statistics.bounds(C)) == (None, None)


def test_a_snapshot_that_cannot_be_read_is_unknown_and_tried_again(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    manifest = lake.add(File("file:/w/a", **BOUNDS))
    content = manifest.read_bytes()
    manifest.write_bytes(content[:50])
    tables, keys = RecordedTables(), listing(files("file:/w", ["a"]))
    asked = request(iceberg=lake.snapshot())
    broken = tables.find(asked, keys)
    assert broken is not None
    assert broken.problem is not None
    assert "plain Spark" in broken.problem.text or "without tamis" in broken.problem.text
    manifest.write_bytes(content)
    mended = tables.find(asked, keys)
    assert mended is not None
    assert mended.problem is None
    assert tables.find(asked, keys) is mended


def test_a_log_describes_a_part_of_its_files(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(c="long"))
    log.commit(add("a", stats(10, {"c": 1}, {"c": 9}, {"c": 0})), add("b", stats(5)))
    keys = listing(files(log.root, ["b", "a", "other"]))
    found = RecordedTables().find(request(delta=log.snapshot()), keys)
    assert found is not None
    assert found.num_records.tolist() == [5, 10, -1]
    assert found.total_records is None
    bounds = found.statistics.bounds(C)
    assert [edges(bounds, place)[0] for place in range(3)] == [None, 1, None]


def test_a_log_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(c="long"))
    log.commit("{")
    Path(tmp_path, "_delta_log", "00000000000000000000.json").unlink()
    keys = listing(files(log.root, ["a"]))
    found = RecordedTables().find(request(delta=log.snapshot()), keys)
    assert found is not None
    assert found.problem is not None
    assert np.array_equal(found.num_records, [-1])
    assert edges(found.statistics.bounds(C)) == (None, None)


def test_another_schema_over_the_same_files_has_its_own_statistics(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(c="long"))
    log.commit(add("a", stats(10, {"c": 1}, {"c": 9}, {"c": 0})))
    tables, keys = RecordedTables(), listing(files(log.root, ["a"]))
    first = tables.find(request(delta=log.snapshot()), keys)
    log.schema = schema_of(d="long")
    second = tables.find(request(delta=log.snapshot()), keys)
    assert first is not None
    assert second is not None
    assert first.derived is not second.derived
    assert edges(first.statistics.bounds(C)) == (1, 9)
    assert edges(second.statistics.bounds(C)) == (None, None)


def test_the_names_of_a_listing_are_joined_with_their_directories(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    lake.add(File("file:/w/p=1/a b", **BOUNDS), File("file:/w/p=2/a", **BOUNDS))
    keys = FileKeys(
        ("file:/w/p=1", "file:/w/p=2"),
        pa.chunked_array([[0], [1]], pa.int32()),
        pa.chunked_array([["a%20b"], ["a"]]),
        pa.chunked_array([[1, 1]], pa.int64()),
        pa.chunked_array([[1, 1]], pa.int64()),
    )
    found = RecordedTables().find(request(iceberg=lake.snapshot()), listing(keys))
    assert found is not None
    assert found.problem is None
