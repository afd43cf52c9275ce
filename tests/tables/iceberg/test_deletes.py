"""Which deletes may apply to which data files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tamis.expr.types import INTEGER
from tamis.tables.iceberg import IcebergFiles, SnapshotUnreadable
from tests.tables.iceberg.hand_made import FILE_PATH, File, Lake, Spec, integer, summary
from tests.tables.iceberg.test_statistics import EQUAL, compare

SPECS = [
    Spec(0, [(1000, "p", 1, "identity", "int")]),
    Spec(1),
    Spec(2, [(1001, "v", 1, "void", "int")]),
]


def lake(folder: Path, version: int = 3) -> Lake:
    """Return a table with a partition of two files, another one, and an unpartitioned file."""
    made = Lake(folder, [(1, "c", "int")], SPECS, version)
    made.add(
        File("/a1", partition=[1], sequence_number=2),
        File("/a2", partition=[1], sequence_number=4),
        File("/b", partition=[2], sequence_number=2),
        File("/n", partition=[None], sequence_number=2),
    )
    made.add(File("/u", sequence_number=2), spec=1)
    return made


def marked(files: IcebergFiles, flags: Any) -> list[str]:
    return [each for each, flag in zip(files.locations.to_pylist(), flags, strict=True) if flag]


def delete(content: int = 1, **options: Any) -> File:
    return File("/d", content=content, **options)


def paths(first: str, last: str) -> dict[str, Any]:
    return {"lower": {FILE_PATH: first.encode()}, "upper": {FILE_PATH: last.encode()}}


@pytest.mark.parametrize(
    ("file", "spec", "expected"),
    [
        (delete(partition=[1], sequence_number=4), 0, ["/a1", "/a2"]),
        (delete(partition=[1], sequence_number=3), 0, ["/a1"]),
        (delete(partition=[1], sequence_number=1), 0, []),
        (delete(partition=[None], sequence_number=9), 0, ["/n"]),
        (delete(partition=[1], sequence_number=4, **paths("/a2", "/a2")), 0, ["/a2"]),
        (delete(partition=[1], sequence_number=4, **paths("/a", "/a")), 0, ["/a1", "/a2"]),  # cut
        (delete(partition=[1], sequence_number=4, **paths("/a11", "/z")), 0, ["/a2"]),
        (delete(partition=[1], sequence_number=4, **paths("/", "/a")), 0, ["/a1", "/a2"]),  # cut
        (delete(partition=[1], sequence_number=4, **paths("/b", "/c")), 0, []),
        (delete(partition=[1], sequence_number=9, referenced="/a1"), 0, ["/a1"]),
        (delete(partition=[1], sequence_number=9, referenced="/gone"), 0, []),
        (delete(partition=[1], sequence_number=1, referenced="/a1"), 0, []),
        (delete(sequence_number=2), 1, ["/a1", "/b", "/n", "/u"]),
        (delete(partition=[1], lower={FILE_PATH: b"\xff"}, upper={FILE_PATH: b"\xff"}), 0, ["/a1", "/a2"]),
        # the sequence number of the manifest
        (delete(partition=[1], sequence_number=None), 0, ["/a1", "/a2"]),
        (delete(partition=[1], sequence_number=None, status=0), 0, ["/a1", "/a2"]),
        (delete(partition=[1], sequence_number=9, status=2), 0, []),
    ],
)  # fmt: skip
def test_position_deletes(tmp_path: Path, file: File, spec: int, expected: list[str]) -> None:
    made = lake(tmp_path)
    made.add(file, spec=spec, deletes=True, sequence_number=7)
    files = made.open()
    assert marked(files, files.deletes.position_deletes) == expected
    assert marked(files, files.deletes.deleted_records < 0) == expected
    assert marked(files, files.deletes.any) == expected


@pytest.mark.parametrize(
    ("file", "spec", "expected"),
    [
        (delete(2, partition=[1], sequence_number=4), 0, ["/a1"]),
        (delete(2, partition=[1], sequence_number=5), 0, ["/a1", "/a2"]),
        (delete(2, sequence_number=3), 1, ["/a1", "/b", "/n", "/u"]),
        (delete(2, sequence_number=3, partition=[None]), 2, ["/a1", "/b", "/n", "/u"]),
        (delete(2, partition=[1], sequence_number=5, **paths("/a2", "/a2")), 0, ["/a1", "/a2"]),
        (delete(2, partition=[1], sequence_number=5, referenced="/b"), 0, ["/a1", "/a2"]),
    ],
)
def test_equality_deletes(tmp_path: Path, file: File, spec: int, expected: list[str]) -> None:
    made = lake(tmp_path)
    made.add(file, spec=spec, deletes=True, sequence_number=7)
    files = made.open()
    assert marked(files, files.deletes.equality_deletes) == expected
    assert marked(files, files.deletes.deleted_records < 0) == expected


@pytest.mark.parametrize(
    ("deletes", "deleted"),
    [
        ([delete(format="PUFFIN", referenced="/a1", partition=[1], records=3)], 3),
        ([delete(format="puffin", referenced="/a1", partition=[1], records=10)], 10),
        ([delete(format="PUFFIN", referenced="/a1", partition=[1], records=11)], -1),
        ([delete(format="PUFFIN", referenced="/a1", partition=[1], records=3)] * 2, -1),
        (
            [
                delete(format="PUFFIN", referenced="/a1", partition=[1], records=3),
                delete(partition=[1], records=5),  # the vector replaces it
            ],
            3,
        ),
        (
            [
                delete(format="PUFFIN", referenced="/a1", partition=[1], records=3),
                delete(2, partition=[1], records=1),
            ],
            -1,
        ),
    ],
)
def test_deletion_vectors_count_their_rows(
    tmp_path: Path, deletes: Sequence[File], deleted: int
) -> None:
    made = lake(tmp_path)
    made.add(*deletes, deletes=True, sequence_number=7)
    files = made.open()
    assert marked(files, files.deletes.deletion_vectors) == ["/a1"]
    assert files.deletes.deleted_records.tolist()[0] == deleted
    assert files.deletes.deleted_records.tolist()[2:] == [0, 0, 0]


def test_keys_of_partitions_do_not_depend_on_the_writer(tmp_path: Path) -> None:
    """Days are dates or integers, NaN does not equal itself, and an int may be a long."""
    day = {"type": "int", "logicalType": "date"}

    def spec(*types: Any) -> Spec:
        fields = [(1000 + n, f"p{n}", n + 1, "day", each) for n, each in enumerate(types)]
        return Spec(0, fields)

    made = Lake(tmp_path, [(1, "c", "date")], [spec(day, "double", "int")])
    made.add(File("/a", partition=[5, float("nan"), 7]), sequence_number=1)
    made.specs = [spec("int", "double", "long")]
    made.add(delete(partition=[5, float("nan"), 7]), deletes=True, sequence_number=2)
    files = made.open()
    assert marked(files, files.deletes.position_deletes) == ["/a"]


def test_partitions_that_are_not_known_may_be_any(tmp_path: Path) -> None:
    made = Lake(tmp_path, [(1, "c", "int")], [SPECS[0]])
    made.add(File("/a", partition=[5]), sequence_number=1)
    made.specs = [Spec(0, [(1009, "p", 1, "identity", "int")])]
    made.add(delete(partition=[6]), deletes=True, sequence_number=2)
    made.specs = [SPECS[0]]
    files = made.open()
    assert marked(files, files.deletes.position_deletes) == ["/a"]


def test_data_files_without_a_sequence_number(tmp_path: Path) -> None:
    made = Lake(tmp_path, [(1, "c", "int")])
    made.add(File("/added"), File("/existing", status=0), sequence_number=5)
    made.add(delete(2), deletes=True, sequence_number=5)
    files = made.open()
    assert marked(files, files.deletes.equality_deletes) == ["/existing"]


def test_deletes_of_manifests_that_are_not_read(tmp_path: Path) -> None:
    """A delete manifest is read although its own summaries do not match."""
    made = Lake(tmp_path, [(1, "c", "int")], SPECS)
    one = [summary(integer(1), integer(1))]
    made.add(File("/a", partition=[1]), summaries=one)
    made.add(delete(2, partition=[1]), deletes=True, sequence_number=2, summaries=one)
    made.add(delete(2), spec=1, deletes=True, sequence_number=2)
    files = made.open(None, compare(EQUAL, 1, INTEGER))
    assert marked(files, files.deletes.equality_deletes) == ["/a"]


@pytest.mark.parametrize("file", [File("/x"), delete(format="PUFFIN"), delete(3)])
def test_unexpected_delete_files_are_refused(tmp_path: Path, file: File) -> None:
    made = Lake(tmp_path, [(1, "c", "int")])
    made.add(File("/a"))
    made.add(file, deletes=True, sequence_number=2)
    with pytest.raises(SnapshotUnreadable):
        made.open()


def test_data_manifests_with_delete_files_are_refused(tmp_path: Path) -> None:
    made = Lake(tmp_path, [(1, "c", "int")])
    made.add(delete())
    with pytest.raises(SnapshotUnreadable, match="delete file"):
        made.open()
