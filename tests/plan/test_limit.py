"""Files for a LIMIT: at least the requested rows, and no unnecessary file."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis.plan.goals.limit import enough_files


@given(
    st.lists(st.integers(-1, 9), min_size=1, max_size=12),
    st.lists(st.lists(st.integers(0, 11), max_size=6, unique=True), max_size=4),
    st.integers(1, 40),
    st.randoms(use_true_random=False),
)
def test_chosen_files_suffice_and_are_the_largest(
    records: list[int], blocks: list[list[int]], rows: int, random: Random
) -> None:
    counts = np.array(records, np.int64)
    sizes = np.array([random.randint(1, 5) for _ in records], np.int64)
    matching = [np.array([o for o in block if o < len(counts)], np.intp) for block in blocks]
    flags = enough_files(rows, iter(matching), counts, sizes)
    named = {int(o) for block in matching for o in block}
    total = sum(counts[o] for o in named if counts[o] > 0)
    if flags is None:
        assert total < rows
        return
    chosen = np.flatnonzero(flags)
    assert set(chosen.tolist()) <= named
    assert counts[chosen].sum() >= rows
    # The smallest one completes the rows.
    smallest = sizes[chosen].min()
    assert counts[chosen[sizes[chosen] > smallest]].sum() < rows
    assert any(counts[chosen].sum() - counts[o] < rows for o in chosen if sizes[o] == smallest)


def test_no_further_blocks_are_read_once_rows_suffice() -> None:
    def blocks() -> object:
        yield np.array([0])
        raise AssertionError("the first file was enough")

    assert enough_files(2, blocks(), np.array([2, 2]), np.array([1, 1])) is not None  # type: ignore[arg-type]


def test_unknown_row_counts_give_no_choice() -> None:
    assert enough_files(1, [np.array([0])], None, np.array([1])) is None
    assert enough_files(1, [np.array([0])], np.array([-1]), np.array([1])) is None
