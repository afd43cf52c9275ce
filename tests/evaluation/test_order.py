"""The comparisons `may_be_less` and `may_be_less_equal`, edge by edge, with and without sort keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.domain.order import may_be_less, may_be_less_equal, with_keys
from tamis.expr.types import BINARY

Edge = bytes | None
#: Values with equal first eight bytes, shorter values, and values with zeros and the greatest byte.
VALUES: list[Edge] = [
    *(b"", b"\0", b"\0" * 9, b"a", b"a\0", b"ab", b"b", b"customer", b"customer\0", b"customer#1"),
    *(b"customer#2", b"custome", b"customes", b"\xff" * 7, b"\xff" * 8, b"\xff" * 9, b"\x80"),
]
#: Mostly distinct values, so that few keys are equal.
APART: list[Edge] = [bytes([place]) * 9 for place in range(1, 200)]


def bounds(
    lower: Sequence[Edge], upper: Sequence[Edge], is_open: Sequence[bool] | None = None
) -> Bounds:
    edges = (pa.array(each, pa.large_binary()) for each in (lower, upper))
    flags = None if is_open is None else np.array(is_open)
    return Bounds(BINARY, *edges, NO, NO, YES, upper_open=flags)


def answers(x: Bounds, y: Bounds, count: int) -> tuple[list[bool], list[bool]]:
    results = (may_be_less(x, y), may_be_less_equal(x, y))
    less, equal = (np.broadcast_to(each, (count,)).tolist() for each in results)
    return less, equal


def expected(
    lower: Sequence[Edge], upper: Sequence[Edge], is_open: Sequence[bool]
) -> tuple[list[bool], list[bool]]:
    pairs = list(zip(lower, upper, is_open, strict=True))
    less = [low is None or high is None or low < high for low, high, _ in pairs]
    equal = [
        low is None or high is None or (low < high if left_out else low <= high)
        for low, high, left_out in pairs
    ]
    return less, equal


@pytest.mark.parametrize("many", [1, 8, 60])
@pytest.mark.parametrize("seed", range(6))
def test_comparison_equals_that_of_single_edges(seed: int, many: int) -> None:
    random = Random(seed)
    for _ in range(30):
        pool = VALUES if random.random() < 0.5 else [*APART, *random.sample(VALUES, 3)]
        pool = [*pool, None] if random.random() < 0.5 else pool
        low, high = ([random.choice(pool) for _ in range(many)] for _ in range(2))
        is_open = [random.random() < 0.5 for _ in range(many)]
        one_low, one_high = random.choice(pool), random.choice(pool)
        for lower, upper in ((low, high), ([one_low], high), (low, [one_high])):
            flags = is_open if len(upper) == many else is_open[:1]
            wide = [each * (many if len(each) == 1 else 1) for each in (lower, upper, flags)]
            # The upper edge of x and the lower edge of y do not matter.
            rest = [[random.choice(pool) for _ in each] for each in (lower, upper)]
            x = bounds(lower, rest[0])
            for y in (bounds(rest[1], upper, flags), bounds(rest[1], upper)):
                answer = expected(
                    wide[0], wide[1], [False] * many if y.upper_open is None else wide[2]
                )
                assert answers(x, y, many) == answer
                assert answers(with_keys(x), with_keys(y), many) == answer
                assert answers(x, with_keys(y), many) == answer
                assert answers(with_keys(x), y, many) == answer


def test_slices_have_their_own_keys() -> None:
    whole = bounds(VALUES, VALUES)
    for start, stop in ((0, 5), (3, 9), (10, len(VALUES)), (4, 4)):
        bounds_of_slice = bounds(VALUES[start:stop], VALUES[start:stop])
        cut = with_keys(
            replace(whole, lower=whole.lower[start:stop], upper=whole.upper[start:stop])  # type: ignore[index]
        )
        keys = with_keys(bounds_of_slice).keys
        assert cut.keys is not None
        assert keys is not None
        for key, expected_key in zip(cut.keys, keys, strict=True):
            assert key.tolist() == expected_key.tolist()
        assert with_keys(whole).slice(start, stop).keys is not None
        for key, expected_key in zip(
            with_keys(whole).slice(start, stop).keys or (), keys, strict=True
        ):
            assert key.tolist() == expected_key.tolist()


def test_empty_column_has_empty_keys() -> None:
    sort_keys = with_keys(bounds([], [])).keys
    assert sort_keys is not None
    assert [len(each) for each in sort_keys] == [0, 0]


def test_empty_column_without_offsets_has_empty_keys() -> None:
    """Arrow allows an empty array an offsets buffer of no bytes."""
    nothing = pa.py_buffer(b"")
    edge = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 0, [None, nothing, nothing])
    sort_keys = with_keys(Bounds(BINARY, edge, edge, YES, NO, YES)).keys
    assert sort_keys is not None
    assert [len(each) for each in sort_keys] == [0, 0]


def test_each_edge_has_its_own_keys() -> None:
    sort_keys = with_keys(bounds([b"a", None], [b"b", None])).keys
    assert sort_keys is not None
    greatest = (1 << 64) - 1
    assert [each.tolist() for each in sort_keys] == [
        [ord("a") << 56, 0],
        [ord("b") << 56, greatest],
    ]


def test_keys_are_the_first_eight_bytes() -> None:
    sort_keys = with_keys(bounds(VALUES, VALUES)).keys
    assert sort_keys is not None
    wanted = [int.from_bytes((each or b"")[:8].ljust(8, b"\0"), "big") for each in VALUES]
    assert [each.tolist() for each in sort_keys] == [wanted, wanted]
    unknown = with_keys(bounds([None], [None])).keys
    assert unknown is not None
    assert [each.tolist() for each in unknown] == [[0], [(1 << 64) - 1]]


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_bounds_without_an_edge_have_no_keys(side: str) -> None:
    half = replace(bounds([b"a"], [b"b"]), **{side: None})
    assert with_keys(half).keys is None
    whole = bounds([b"a"], [b"b"])
    result = may_be_less(half, whole) if side == "lower" else may_be_less(whole, half)
    assert result.all()
