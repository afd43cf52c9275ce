"""Files that Spark identifies by a hash."""

from __future__ import annotations

from tamis.indexing.build.rows.file_rows import unambiguous


class Counted(int):
    """An id that counts its comparisons."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return int(self) == other

    __hash__ = int.__hash__


def test_unique_ids_map_to_their_positions() -> None:
    assert unambiguous([30, 10, 20], [(0, 2), (1, 0)]) == {20: 0, 30: 1}


def test_shared_id_maps_to_no_file() -> None:
    assert unambiguous([1, 2, 1], [(0, 0), (1, 1), (2, 2)]) == {2: 1}


def test_shared_id_maps_to_no_file_if_one_file_is_selected() -> None:
    assert unambiguous([1, 2, 1], [(0, 0), (1, 1)]) == {2: 1}


def test_collisions_are_found_in_linear_time() -> None:
    files = 5000
    ids = [Counted(k // 2) for k in range(files)]  # every id is shared by two files
    Counted.comparisons = 0
    assert unambiguous(ids, [(k, k) for k in range(files)]) == {}
    assert Counted.comparisons < 10 * files
