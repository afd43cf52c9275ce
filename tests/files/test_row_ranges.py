"""Ranges of rows, compared with sets of rows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.files.row_ranges import MOST_FILES, RowRanges

Range = tuple[int, int, int]


def row_ranges(ranges: Iterable[Range]) -> RowRanges:
    files, starts, stops = columns(ranges)
    return RowRanges.of(files, starts, stops)


def columns(ranges: Iterable[Range]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = np.array([*ranges], np.int64).reshape(-1, 3)
    return rows[:, 0], rows[:, 1], rows[:, 2]


def rows_of(ranges: Iterable[Range]) -> set[tuple[int, int]]:
    return {(file, row) for file, start, stop in ranges for row in range(max(start, 0), stop)}


RANGES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.integers(0, 12)), max_size=8)


@given(RANGES, RANGES)
def test_ranges_hold_the_rows_of_their_parts_and_cover_what_is_within(
    parts: list[Range], others: list[Range]
) -> None:
    ranges = row_ranges(parts)
    found = [*zip(*(each.tolist() for each in ranges.arrays()), strict=True)]
    assert rows_of(found) == rows_of(parts)
    left = ranges.without(row_ranges(others)).arrays()
    assert rows_of(zip(*(each.tolist() for each in left), strict=True)) == (
        rows_of(parts) - rows_of(others)
    )
    assert found == sorted(found)
    for (file, _, stop), (after, start, _) in pairwise(found):
        assert (file, stop) < (after, start)  # they do not touch
    expected = [
        start < stop and rows_of([(f, start, stop)]) <= rows_of(parts) for f, start, stop in others
    ]
    assert ranges.cover(*columns(others)).tolist() == expected


@pytest.mark.parametrize(
    "wrong",
    [(0, -1, 5), (-1, 0, 5), (MOST_FILES, 0, 5), (0, 5, 5), (0, 7, 2), (0, 1 << 40, 1 << 41)],
)
def test_impossible_range_is_left_out(wrong: Range) -> None:
    ranges = row_ranges([wrong, (1, 2, 3)])
    assert [each.tolist() for each in ranges.arrays()] == [[1], [2], [3]]


def test_rows_beyond_the_numbers_are_not_covered() -> None:
    far = (1 << 40) - 1
    ranges = row_ranges([(0, 0, 1 << 62), (1, 3, 9)])
    assert ranges.cover(*columns([(0, 0, far), (0, 5, far + 1), (0, 5, 1 << 62)])).tolist() == [
        True,
        False,
        False,
    ]
    assert ranges.cover(*columns([(1, 0, 4), (1, -3, 4), (1, 3, 9), (2, 3, 9)])).tolist() == [
        False,
        False,
        True,
        False,
    ]
