"""Numbers of files, as Spark computes them, and the listed files that they are of."""

from __future__ import annotations

import pytest

from tamis.indexing.build.rows.file_ids import FileIds, file_id

URIS = ["file:/t/a%20b.parquet", "file:/t/c.parquet"]
SIZES, MTIMES = [7, 8], [1000, 2000]


# path, size, modification time | SELECT xxhash64(path, size, mtime)
NUMBERS = [
    ("file:/t/a.parquet", 7, 1000, -7413564244362061976),
    ("file:/t/a.parquet", None, 1000, 3195389429801472409),
    ("s3a://b/größe=1/a", 1 << 40, -2, -7708161273500445573),
]


@pytest.mark.parametrize(("path", "size", "mtime", "number"), NUMBERS)
def test_numbers_are_those_of_spark(path: str, size: int | None, mtime: int, number: int) -> None:
    assert file_id(path, size, mtime) == number


@pytest.mark.parametrize("decoded", [False, True])
@pytest.mark.parametrize("sized", [False, True])
def test_files_are_found_however_spark_spells_them(decoded: bool, sized: bool) -> None:
    spelled = [uri.replace("%20", " ") if decoded else uri for uri in URIS]
    sizes = SIZES if sized else [None, None]
    found = [file_id(*each) for each in zip(spelled, sizes, MTIMES, strict=True)]
    places = FileIds(URIS, SIZES, MTIMES).places(found)
    assert [places[number] for number in found] == [0, 1]


def test_changed_and_other_files_have_no_place() -> None:
    ids = FileIds(URIS, SIZES, MTIMES)
    changed = [(URIS[1], 9, 2000), (URIS[1], 8, 2001), ("file:/t/d.parquet", 8, 2000)]
    listed = file_id(URIS[0], 7, 1000)
    for each in changed:
        assert file_id(*each) not in ids.places([listed, file_id(*each)])


def test_files_that_share_a_number_have_no_place() -> None:
    ids = FileIds([*URIS, URIS[0]], [*SIZES, 7], [*MTIMES, 1000])
    first, second = file_id(URIS[0], 7, 1000), file_id(URIS[1], 8, 2000)
    assert first not in ids.places([first, second])
    assert ids.places([first, second])[second] == 1


def test_a_path_that_is_two_files_has_no_place() -> None:
    """Decoded, the first is the second. With other sizes, they have other numbers."""
    uris = ["file:/t/a%2520b", "file:/t/a%20b"]
    path = "file:/t/a%20b"
    assert file_id(path, 7, 1000) not in FileIds(uris, [7, 7], [1000, 1000]).places([])
    places = FileIds(uris, [7, 8], [1000, 1000]).places([])
    assert [places[file_id(path, size, 1000)] for size in (7, 8)] == [0, 1]
