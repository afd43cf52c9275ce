"""Bounds that hold together: every pair of small bounds, compared with the values that both allow."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.intersection import contradict, forget, intersect
from tamis.expr.types import DOUBLE, LONG, STRING, DataType, decimal

WIDE = decimal(30, 0)
TYPES = (LONG, DOUBLE, STRING, WIDE)
EDGES = (None, 1, 2, 3)
#: Which rows may exist: NULL and ordinary values.
KINDS = ((True, True), (False, True), (True, False))


def as_edge(data_type: DataType, values: list[int | None], least: Any) -> Any:
    if data_type == STRING:
        return pa.array([None if v is None else b"%d" % v for v in values], pa.large_binary())
    if data_type == WIDE:
        return pa.array(values, pa.decimal128(38, 0))
    dtype = np.float64 if data_type == DOUBLE else np.int64
    return np.array([least if v is None else v for v in values], dtype)


def known(values: list[int | None]) -> Flags | None:
    return None if None not in values else np.array([v is not None for v in values])


Cell = tuple[int | None, int | None, tuple[bool, bool]]


def bounds_of(data_type: DataType, cells: list[Cell], without: str = "") -> Bounds:
    """Return the bounds of several containers. `without` names an edge that does not exist."""
    low, high = [each[0] for each in cells], [each[1] for each in cells]
    ends = (-np.inf, np.inf) if data_type.is_floating else (-(1 << 63), (1 << 63) - 1)
    return Bounds(
        data_type,
        None if without == "lower" else as_edge(data_type, low, ends[0]),
        None if without == "upper" else as_edge(data_type, high, ends[1]),
        np.array([each[2][0] for each in cells]),
        NO,
        np.array([each[2][1] for each in cells]),
        None if without == "lower" else known(low),
        None if without == "upper" else known(high),
    )


def facts(bounds: Bounds, count: int) -> list[tuple[Any, ...]]:
    """Return the known edges and the flags of each container."""

    def edge(values: Any, is_known: Flags | None) -> list[Any]:
        if values is None:
            return [None] * count
        if isinstance(values, np.ndarray):
            flags = np.broadcast_to(YES if is_known is None else is_known, count)
            pairs = zip(np.broadcast_to(values, count).tolist(), flags.tolist(), strict=True)
            return [value if flag else None for value, flag in pairs]
        return [None if each is None else int(each) for each in values.to_pylist()]

    flags = [
        np.broadcast_to(each, count).tolist()
        for each in (bounds.can_be_null, bounds.can_be_nan, bounds.can_be_value)
    ]
    edges = edge(bounds.lower, bounds.lower_known), edge(bounds.upper, bounds.upper_known)
    return list(zip(*edges, *flags, strict=True))


def together(left: Cell, right: Cell, data_type: DataType) -> tuple[Any, ...]:
    """Return what both say of a container. What contradicts itself says nothing."""
    lows = [each for each in (left[0], right[0]) if each is not None]
    highs = [each for each in (left[1], right[1]) if each is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    null, value = left[2][0] and right[2][0], left[2][1] and right[2][1]
    crossed = value and low is not None and high is not None and low > high
    if crossed or not (null or value):
        return None, None, True, data_type.is_floating, True
    return low, high, null, False, value


@pytest.mark.parametrize("data_type", TYPES, ids=str)
@pytest.mark.parametrize(
    ("left_without", "right_without"),
    [("", ""), ("lower", ""), ("", "upper"), ("upper", "lower"), ("lower", "lower")],
)
def test_intersection_allows_a_value_iff_both_bounds_do(
    data_type: DataType, left_without: str, right_without: str
) -> None:
    cells = [
        (low, high, kinds)
        for low, high, kinds in product(EDGES, EDGES, KINDS)
        if low is None or high is None or low <= high
    ]
    pairs = list(product(cells, cells))
    left, right = (
        bounds_of(data_type, [pair[side] for pair in pairs], without)
        for side, without in enumerate((left_without, right_without))
    )

    def seen(cell: Cell, without: str) -> Cell:
        low, high, kinds = cell
        return None if without == "lower" else low, None if without == "upper" else high, kinds

    expected = [
        together(seen(a, left_without), seen(b, right_without), data_type) for a, b in pairs
    ]
    assert facts(intersect(left, right), len(pairs)) == expected
    denied = np.broadcast_to(contradict(left, right), len(pairs)).tolist()
    assert denied == [_clash(a, b, left_without, right_without) for a, b in pairs]


def _clash(a: Cell, b: Cell, left_without: str, right_without: str) -> bool:
    """Return whether no row satisfies both."""
    null, value = a[2][0] and b[2][0], a[2][1] and b[2][1]
    lows = [c[0] for c, w in ((a, left_without), (b, right_without)) if w != "lower"]
    highs = [c[1] for c, w in ((a, left_without), (b, right_without)) if w != "upper"]
    low = max((each for each in lows if each is not None), default=None)
    high = min((each for each in highs if each is not None), default=None)
    crossed = low is not None and high is not None and low > high
    return (not null and not value) or (value and crossed)


@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_corrupt_containers_become_unknown_and_the_others_stay(data_type: DataType) -> None:
    cells: list[Cell] = [(1, 3, (False, True)), (2, None, (True, True)), (None, 2, (False, True))]
    bounds = bounds_of(data_type, cells)
    nothing = (None, None, True, data_type.is_floating, True)
    for corrupt in product((False, True), repeat=3):
        expected = [
            nothing if flag else (low, high, kinds[0], False, kinds[1])
            for flag, (low, high, kinds) in zip(corrupt, cells, strict=True)
        ]
        assert facts(forget(bounds, np.array(corrupt)), 3) == expected
    plain = bounds_of(data_type, [(1, 3, (False, True))] * 3)
    after = facts(forget(plain, np.array([True, False, False])), 3)
    assert after == [nothing, *[(1, 3, False, False, True)] * 2]


def text(high: str | None, is_open: bool | None) -> Bounds:
    edge = None if high is None else pa.array([high.encode()], pa.large_binary())
    flag = None if is_open is None else np.array([is_open])
    return Bounds(STRING, None, edge, NO, NO, YES, upper_open=flag)


@pytest.mark.parametrize(
    ("left", "right", "is_open"),
    [
        (("b", True), (None, None), True),
        ((None, None), ("b", True), True),
        (("b", False), (None, None), False),
        (("b", True), ("c", False), True),
        (("c", True), ("b", False), False),
        (("b", True), ("b", False), True),
        (("b", False), ("b", True), True),
        (("b", None), ("b", True), True),
        (("b", None), ("c", True), False),
        (("b", None), ("c", None), False),
    ],
)
def test_tighter_upper_edge_decides_whether_it_is_exclusive(
    left: tuple[str | None, bool | None], right: tuple[str | None, bool | None], is_open: bool
) -> None:
    both = intersect(text(*left), text(*right))
    assert (both.upper_open is not None and bool(both.upper_open[0])) == is_open
