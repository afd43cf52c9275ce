"""Enough files for a LIMIT: never fewer rows than asked for, and no file that need not be read."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis.plan.goals.limit import enough_files


@given(
    st.lists(st.integers(-1, 9), min_size=1, max_size=12),
    st.lists(st.lists(st.integers(0, 11), max_size=6, unique=True), max_size=4),
    st.integers(1, 40),
)
def test_enough_and_not_more(records: list[int], blocks: list[list[int]], rows: int) -> None:
    held = np.array(records, np.int64)
    matching = [np.array([o for o in block if o < len(held)], np.intp) for block in blocks]
    found = enough_files(rows, iter(matching), held, len(held))
    named = {int(o) for block in matching for o in block}
    total = sum(held[o] for o in named if held[o] > 0)
    if found is None:
        assert total < rows
        return
    chosen = np.flatnonzero(found)
    assert set(chosen.tolist()) <= named
    assert held[chosen].sum() >= rows
    # none of the files is one too many
    assert all(held[chosen].sum() - held[o] < rows for o in chosen)


def test_no_more_blocks_than_needed() -> None:
    def blocks() -> object:
        yield np.array([0])
        raise AssertionError("the first file was enough")

    assert enough_files(2, blocks(), np.array([2, 2]), 2) is not None  # type: ignore[arg-type]


def test_rows_that_are_not_known() -> None:
    assert enough_files(1, [np.array([0])], None, 1) is None
    assert enough_files(1, [np.array([0])], np.array([-1]), 1) is None
