"""Registers of several sets of rows are merged by the maximum of each register."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation.domain.registers import are_alike, merged, merged_lists, sketch_kind

RANKS = st.lists(st.integers(0, 63), min_size=30, max_size=30)


def packed(ranks: list[int]) -> bytes:
    """Return registers as words of ten; no bytes if all are 0."""
    words = [
        sum(rank << 6 * k for k, rank in enumerate(ranks[at : at + 10]))
        for at in range(0, len(ranks), 10)
    ]
    return b"".join(word.to_bytes(8, "little") for word in words) if any(words) else b""


@given(groups=st.lists(st.lists(st.none() | RANKS, max_size=4), max_size=5))
def test_each_register_is_the_greatest(groups: list[list[list[int] | None]]) -> None:
    listed = [[None if ranks is None else packed(ranks) for ranks in each] for each in groups]
    expected = [
        packed([max(ranks) for ranks in zip(*(r for r in each if r is not None), strict=True)])
        for each in groups
    ]
    flat = pa.array([each for some in listed for each in some], pa.binary())
    sizes = np.array([len(each) for each in groups], np.int64)
    assert merged(flat, sizes).to_pylist() == expected
    lists = pa.array(listed, pa.list_(pa.binary()))
    assert merged_lists(lists).to_pylist() == expected


def test_no_registers() -> None:
    for none in (pa.nulls(2), pa.array([None, b""], pa.binary())):
        assert merged(none, np.array([1, 0, 1, -1])).to_pylist() == [b"", b"", b"", b""]
        assert are_alike(none).tolist() == [True, True]
    lists = pa.array([None, [], [None]], pa.list_(pa.null()))
    assert merged_lists(lists).to_pylist() == [b"", b"", b""]


def test_a_group_that_is_not_recorded_has_no_registers() -> None:
    one, other = packed([1] * 10), packed([2] * 10)
    found = merged(pa.array([one, other], pa.binary()), np.array([1, -1, 1]))
    assert found.to_pylist() == [one, b"", other]


ALIKE = [
    ([8, 8, 0, None], [True, True, True, True]),
    ([8, 16], [True, False]),
    ([None, 16, 8], [True, True, False]),
    ([0, 9, 9], [True, False, False]),
    ([], []),
]


@pytest.mark.parametrize(("lengths", "expected"), ALIKE)
def test_numbers_of_bytes(lengths: list[int | None], expected: list[bool]) -> None:
    cells = pa.array([None if n is None else b"\1" * n for n in lengths], pa.binary())
    assert are_alike(cells).tolist() == expected
    if all(expected):
        merged(cells, np.array([len(cells)]))


def test_registers_of_different_sizes_are_an_error() -> None:
    cells = pa.array([b"\1" * 8, None, b"\1" * 16], pa.binary())
    with pytest.raises(ValueError, match="different sizes"):
        merged(cells, np.array([3]))


def test_kinds_differ_by_deviation_and_version() -> None:
    kinds = {
        sketch_kind(d, v) for d in (0.05, 0.050000000000000003, 0.02) for v in ("4.1.3", "4.2.0")
    }
    assert len(kinds) == 4
