"""Some containers of a table say what a table of these containers alone says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluate.domain.bounds import NO, YES, Bounds
from tamis.evaluate.domain.intersection import intersect
from tamis.evaluate.recorded import members_of, recorded_bounds
from tamis.evaluate.statistics import Statistics
from tamis.expr.nodes import Call, Column, Opaque
from tamis.expr.types import DOUBLE, LONG, STRING, DataType, decimal
from tamis.files.partition import PartitionField
from tamis.files.table import ArrowStatistics

WIDE = decimal(30, 0)
TYPES: dict[str, DataType] = {
    "a": LONG,
    "d": DOUBLE,
    "s": STRING,
    "w": WIDE,
    "p": LONG,
    "alike": LONG,
}
#: Five containers; the fourth is empty.
TABLE = pa.table(
    {
        "num_records": [5, 6, 7, 0, None],
        "min.a": [1, None, 3, None, 5],
        "max.a": [2, 3, None, None, 9],
        "null_count.a": [0, 1, 7, 0, None],
        "attained.a": [True, False, None, True, True],
        "min.d": [1.0, None, 3.0, None, 5.0],
        "max.d": [2.0, 3.0, None, None, 9.0],
        "null_count.d": [0, 1, None, 0, 2],
        "nan_count.d": [0, None, 1, 0, 0],
        "min.s": ["a", None, "c", None, "e"],
        "max.s": ["b", "x", None, None, "z"],
        "null_count.s": [0, 1, 2, 0, None],
        "min.w": pa.array([1, None, 3, None, 5], pa.decimal128(30, 0)),
        "max.w": pa.array([2, 3, None, None, 9], pa.decimal128(30, 0)),
        "partition.p": pa.array([0, 1, None, 0, 2], pa.int32()),
        "null_count.alike": [0, 0, 0, 0, 0],
    }
)
SPEC = (PartitionField("p", "bucket[3]", "p"), PartitionField("s", "truncate[1]", "none"))


def statistics(table: pa.Table = TABLE) -> ArrowStatistics:
    return ArrowStatistics(table, SPEC)


def listed(array: Any, count: int) -> Any:
    if array is None:
        return None
    values = array.tolist() if isinstance(array, np.ndarray) else array.to_pylist()
    return values * count if len(values) == 1 else values


def said_by(found: Statistics) -> list[Any]:
    """Everything that statistics say, container by container."""
    count = found.num_containers
    everything: list[Any] = [count, listed(found.empty(), count)]
    for name, data_type in TYPES.items():
        column = Column((name,), data_type)
        bounds, certain = found.bounds(column), found.certain(column)
        arrays = [bounds.can_be_null, bounds.can_be_nan, bounds.can_be_value]
        # Of no container a bucket is known: as if there were no bucket.
        buckets = [each.ordinals for each in bounds.buckets] or [np.array([-1])]
        arrays += [certain.nulls, certain.attained, *buckets]
        everything.append([name, *(listed(each, count) for each in arrays)])
        for edge, known in ((bounds.lower, bounds.lower_known), (bounds.upper, bounds.upper_known)):
            values, flags = listed(edge, count), listed(known, count) or [True] * count
            held = [None] * count if values is None else values
            everything.append([v if k else None for v, k in zip(held, flags, strict=True)])
    return everything


def without_none(everything: list[Any]) -> list[Any]:
    """No container known to be empty is the same as none of them being empty."""
    first, empty, *rest = everything
    return [first, empty or [False] * first, *rest]


CHOICES: dict[str, tuple[Callable[[Statistics], Statistics], list[int]]] = {
    "all": (lambda s: s.slice(0, 5), [0, 1, 2, 3, 4]),
    "a slice": (lambda s: s.slice(1, 4), [1, 2, 3]),
    "beyond the end": (lambda s: s.slice(3, 9), [3, 4]),
    "a slice of a slice": (lambda s: s.slice(1, 5).slice(1, 3), [2, 3]),
    "a slice that ends with the outer one": (lambda s: s.slice(1, 4).slice(1, 9), [2, 3]),
    "one": (lambda s: s.slice(4, 5), [4]),
    "some": (lambda s: s.take(np.array([4, 0, 3])), [4, 0, 3]),
    "one of some": (lambda s: s.take(np.array([4, 0, 3])).take(np.array([2])), [3]),
    "a slice of some": (lambda s: s.take(np.array([4, 0, 3])).slice(1, 3), [0, 3]),
    "some of a slice": (lambda s: s.slice(1, 5).take(np.array([3, 0])), [4, 1]),
    "some of some of a slice": (
        lambda s: s.slice(1, 5).take(np.array([3, 0, 2])).take(np.array([1, 2])),
        [1, 3],
    ),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_says_what_its_containers_say(choice: str) -> None:
    choose, ordinals = CHOICES[choice]
    alone = statistics(TABLE.take(pa.array(ordinals)))
    assert without_none(said_by(choose(statistics()))) == without_none(said_by(alone))


def test_what_is_said_of_each_container() -> None:
    found = said_by(statistics())
    assert found[:2] == [5, [False, False, False, True, False]]
    by_name = {each[0]: each[1:] for each in found[2:] if isinstance(each[0], str)}
    # Whether it may be NULL, NaN, a value; how many are NULL, and whether the edges are values.
    assert by_name["a"][:5] == [
        [False, True, True, False, True],
        [False] * 5,
        [True, True, True, False, True],
        [0, 1, -1, 0, -1],
        [True, False, False, True, True],
    ]
    assert by_name["d"][1] == [False, True, True, False, False]
    assert by_name["alike"][3] == [0, 0, 0, 0, -1]
    # No row lies in the bucket of an empty container.
    assert by_name["p"][-1] == [0, 1, -1, -1, 2]


OPEN: list[tuple[str | None, bool, str | None, bool, tuple[str | None, bool]]] = [
    # an upper edge and whether it is open, another one, and the tighter of the two
    ("b", True, "c", False, ("b", True)),
    ("b", True, "a", False, ("a", False)),
    ("b", True, "b", False, ("b", True)),
    ("b", False, "b", True, ("b", True)),
    ("b", True, "b", True, ("b", True)),
    ("b", False, "b", False, ("b", False)),
    ("b", True, None, False, ("b", True)),
    (None, False, "b", True, ("b", True)),
    (None, False, "b", False, ("b", False)),
    ("c", True, "b", True, ("b", True)),
    ("c", False, "b", True, ("b", True)),
    ("c", True, "b", False, ("b", False)),
]


def text(upper: list[str | None], is_open: list[bool], how: str) -> Bounds:
    edge = pa.array([None if each is None else each.encode() for each in upper], pa.large_binary())
    flags = np.array(is_open)
    given = None if how == "None where none is" and not flags.any() else flags
    lower = None if how == "no lower edge" else pa.array([b""] * len(upper), pa.large_binary())
    return Bounds(STRING, lower, edge, NO, NO, YES, upper_open=given)


@pytest.mark.parametrize("how", ["flags", "None where none is", "no lower edge"])
def test_the_tighter_upper_edge_says_whether_it_is_open(how: str) -> None:
    cases = [([line[0]], [line[1]], [line[2]], [line[3]], [line[4]]) for line in OPEN]
    cases.append(tuple([line[place] for line in OPEN] for place in range(5)))  # type: ignore[arg-type]
    for one, one_open, other, other_open, expected in cases:
        found = intersect(text(one, one_open, how), text(other, other_open, how))
        assert found.upper is not None
        edges = [each.decode() if each is not None else None for each in found.upper.to_pylist()]
        assert edges == [edge for edge, _ in expected]
        flags = [False] * len(edges) if found.upper_open is None else found.upper_open.tolist()
        assert (flags * len(edges))[: len(edges)] == [is_open for _, is_open in expected]


def test_one_edge_for_all_is_intersected_with_each() -> None:
    one = text(["b"], [True], "flags")
    several = text(["a", "b", "c", None], [False] * 4, "flags")
    for left, right in ((one, several), (several, one)):
        found = intersect(left, right)
        assert found.upper is not None
        assert found.upper_open is not None
        assert found.upper.to_pylist() == [b"a", b"b", b"b", b"b"]
        assert found.upper_open.tolist() == [False, True, True, True]


@pytest.mark.parametrize("data_type", [LONG, DOUBLE, WIDE], ids=str)
def test_edges_that_only_one_side_knows(data_type: DataType) -> None:
    dtype = np.float64 if data_type == DOUBLE else np.int64

    def edge(values: list[int | None], filler: float) -> Any:
        if data_type == WIDE:
            return pa.array(values, pa.decimal128(38, 0))
        return np.array([filler if each is None else each for each in values], dtype)

    least, greatest = (-np.inf, np.inf) if data_type == DOUBLE else (-(1 << 63), (1 << 63) - 1)
    known = np.array([True, False])
    some = Bounds(
        data_type, edge([3, None], least), edge([5, None], greatest), NO, NO, YES, known, known
    )
    nothing = Bounds(data_type, None, None, NO, NO, YES)
    every = Bounds(data_type, edge([1, 1], least), edge([9, 9], greatest), NO, NO, YES)
    for left, right in ((some, nothing), (nothing, some)):
        found = intersect(left, right)
        assert found.lower_known is not None
        assert found.upper_known is not None
        assert found.lower_known.tolist() == found.upper_known.tolist() == [True, False]
    for left, right in ((some, every), (every, some)):
        found = intersect(left, right)
        assert found.lower_known is None or found.lower_known.all()
        assert listed(found.lower, 2) == [3, 1]
        assert listed(found.upper, 2) == [5, 9]


class Recording(ArrowStatistics):
    """Statistics that hold bounds of one expression, and no members."""

    def expression(self, key: str) -> Bounds | None:
        edge = np.arange(self.num_containers)
        return Bounds(LONG, edge, edge + 1, NO, NO, YES) if key == "known" else None

    def members(self, subject: object) -> None:
        return None


@pytest.mark.parametrize("choice", CHOICES)
def test_recorded_expressions_of_a_choice(choice: str) -> None:
    choose, ordinals = CHOICES[choice]
    chosen = choose(Recording(TABLE, SPEC))
    for unknown in (chosen.expression("other"), chosen.members("known")):
        assert unknown is None
    found = chosen.expression("known")
    assert found is not None
    assert (listed(found.lower, 5), listed(found.upper, 5)) == (
        (ordinals * 5 if len(ordinals) == 1 else ordinals),
        ([each + 1 for each in ordinals] * (5 if len(ordinals) == 1 else 1)),
    )


def test_what_was_recorded_is_of_the_key_and_the_type() -> None:
    recording, plain = Recording(TABLE, SPEC), statistics()
    column = Column(("a",), LONG)
    for key, data_type, is_known in (
        ("known", LONG, True),
        ("other", LONG, False),
        (None, LONG, False),
        ("known", DOUBLE, False),
    ):
        call = Call("Abs", (column,), (), data_type, key=key)
        assert (recorded_bounds(call, recording) is not None) == is_known
        assert recorded_bounds(call, plain) is None
        assert members_of(call, recording) is None
    assert recorded_bounds(Opaque("f(a)", key="known"), recording) is not None
    assert recorded_bounds(column, recording) is None
