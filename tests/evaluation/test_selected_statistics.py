"""Selected containers of a table give the same statistics as a table of only these containers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.intersection import intersect
from tamis.evaluation.row_statistics import members_of, recorded_bounds
from tamis.evaluation.statistics import Statistics, Subject
from tamis.expr.nodes import Call, Column, Opaque
from tamis.expr.types import DOUBLE, FLOAT, INTEGER, LONG, STRING, DataType, decimal
from tamis.files.partition import PartitionField
from tamis.files.table import ArrowStatistics
from tests.evaluation.given import Given

WIDE = decimal(30, 0)
TYPES: dict[str, DataType] = {
    "a": LONG,
    "d": DOUBLE,
    "s": STRING,
    "w": WIDE,
    "p": LONG,
    "alike": LONG,
}
#: Five containers. The fourth is empty.
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


def as_list(array: Any, count: int) -> Any:
    if array is None:
        return None
    values = array.tolist() if isinstance(array, np.ndarray) else array.to_pylist()
    return values * count if len(values) == 1 else values


def facts_of(selected: Statistics) -> list[Any]:
    """Return all facts in the statistics, container by container."""
    count = selected.num_containers
    everything: list[Any] = [count, as_list(selected.empty(), count)]
    for name, data_type in TYPES.items():
        column = Column((name,), data_type)
        bounds, certain = selected.bounds(column), selected.certain(column)
        arrays = [bounds.can_be_null, bounds.can_be_nan, bounds.can_be_value]
        # A bucket that is unknown for all containers counts as no bucket.
        buckets = [each.ordinals for each in bounds.buckets] or [np.array([-1])]
        arrays += [certain.nulls, certain.attained, *buckets]
        everything.append([name, *(as_list(each, count) for each in arrays)])
        for edge, edge_known in (
            (bounds.lower, bounds.lower_known),
            (bounds.upper, bounds.upper_known),
        ):
            values, flags = as_list(edge, count), as_list(edge_known, count) or [True] * count
            cells = [None] * count if values is None else values
            everything.append([v if k else None for v, k in zip(cells, flags, strict=True)])
    return everything


def normalized(everything: list[Any]) -> list[Any]:
    """Treat "no container known to be empty" like "no container empty"."""
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
def test_selection_has_the_statistics_of_its_containers(choice: str) -> None:
    choose, ordinals = CHOICES[choice]
    alone = statistics(TABLE.take(pa.array(ordinals)))
    assert normalized(facts_of(choose(statistics()))) == normalized(facts_of(alone))


def test_statistics_of_each_container() -> None:
    facts = facts_of(statistics())
    assert facts[:2] == [5, [False, False, False, True, False]]
    by_name = {each[0]: each[1:] for each in facts[2:] if isinstance(each[0], str)}
    # May be NULL, NaN, a value; the NULL count; and whether the edges are values.
    assert by_name["a"][:5] == [
        [False, True, True, False, True],
        [False] * 5,
        [True, True, True, False, True],
        [0, 1, -1, 0, -1],
        [True, False, False, True, True],
    ]
    assert by_name["d"][1] == [False, True, True, False, False]
    assert by_name["alike"][3] == [0, 0, 0, 0, -1]
    # An empty container has no row in its bucket.
    assert by_name["p"][-1] == [0, 1, -1, -1, 2]


OPEN: list[tuple[str | None, bool, str | None, bool, tuple[str | None, bool]]] = [
    # An upper edge and whether it is open, another edge, and the tighter of the two.
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
    open_flags = None if how == "None if no edge is open" and not flags.any() else flags
    lower = None if how == "no lower edge" else pa.array([b""] * len(upper), pa.large_binary())
    return Bounds(STRING, lower, edge, NO, NO, YES, upper_open=open_flags)


@pytest.mark.parametrize("how", ["flags", "None if no edge is open", "no lower edge"])
def test_intersection_takes_openness_from_the_tighter_edge(how: str) -> None:
    cases = [([line[0]], [line[1]], [line[2]], [line[3]], [line[4]]) for line in OPEN]
    cases.append(tuple([line[place] for line in OPEN] for place in range(5)))  # type: ignore[arg-type]
    for one, one_open, another, another_open, expected in cases:
        both = intersect(text(one, one_open, how), text(another, another_open, how))
        assert both.upper is not None
        edges = [each.decode() if each is not None else None for each in both.upper.to_pylist()]
        assert edges == [edge for edge, _ in expected]
        flags = [False] * len(edges) if both.upper_open is None else both.upper_open.tolist()
        assert (flags * len(edges))[: len(edges)] == [is_open for _, is_open in expected]


def test_shared_edge_is_intersected_with_each_container() -> None:
    one = text(["b"], [True], "flags")
    several = text(["a", "b", "c", None], [False] * 4, "flags")
    for left, right in ((one, several), (several, one)):
        both = intersect(left, right)
        assert both.upper is not None
        assert both.upper_open is not None
        assert both.upper.to_pylist() == [b"a", b"b", b"b", b"b"]
        assert both.upper_open.tolist() == [False, True, True, True]


@pytest.mark.parametrize("data_type", [LONG, DOUBLE, WIDE], ids=str)
def test_intersection_preserves_edges_known_on_one_side(data_type: DataType) -> None:
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
        both = intersect(left, right)
        assert both.lower_known is not None
        assert both.upper_known is not None
        assert both.lower_known.tolist() == both.upper_known.tolist() == [True, False]
    for left, right in ((some, every), (every, some)):
        both = intersect(left, right)
        assert both.lower_known is None, both.lower_known
        assert as_list(both.lower, 2) == [3, 1]
        assert as_list(both.upper, 2) == [5, 9]


class Recording(ArrowStatistics):
    """Statistics with bounds of one expression, and without members."""

    def expression(self, key: str) -> Bounds | None:
        edge = np.arange(self.num_containers)
        return Bounds(LONG, edge, edge + 1, NO, NO, YES) if key == "known" else None

    def members(self, subject: object) -> None:
        return None


@pytest.mark.parametrize("choice", CHOICES)
def test_selection_has_the_bounds_of_recorded_expressions(choice: str) -> None:
    choose, ordinals = CHOICES[choice]
    chosen = choose(Recording(TABLE, SPEC))
    for unknown in (chosen.expression("other"), chosen.members("known")):
        assert unknown is None
    bounds = chosen.expression("known")
    assert bounds is not None
    assert (as_list(bounds.lower, 5), as_list(bounds.upper, 5)) == (
        (ordinals * 5 if len(ordinals) == 1 else ordinals),
        ([each + 1 for each in ordinals] * (5 if len(ordinals) == 1 else 1)),
    )


@dataclass(frozen=True, slots=True)
class OneFlag(Given):
    """Statistics with one flag for all containers, and members of every column."""

    def empty(self) -> Flags | None:
        return YES

    def members(self, subject: Subject) -> Any:
        return subject


def test_selection_keeps_a_flag_for_all_containers() -> None:
    every = OneFlag(Bounds.unknown(LONG), 5)
    for chosen in (every.slice(2, 4), every.slice(0, 1), every.take(np.array([3, 4]))):
        assert as_list(chosen.empty(), chosen.num_containers) == [True] * chosen.num_containers


@pytest.mark.parametrize(
    ("given", "wanted", "keeps"),
    [
        (INTEGER, LONG, True),
        (INTEGER, INTEGER, True),
        (LONG, INTEGER, False),
        (FLOAT, DOUBLE, True),
        (DOUBLE, FLOAT, False),
        (STRING, INTEGER, False),
        (INTEGER, STRING, False),
        (INTEGER, DOUBLE, False),
        (STRING, STRING, False),
        (decimal(10, 2), decimal(12, 2), False),
    ],
    ids=str,
)
def test_only_casts_that_keep_values_have_the_members_of_their_argument(
    given: DataType, wanted: DataType, keeps: bool
) -> None:
    column = Column(("c",), given)
    cast = Call("Cast", (column,), (("evalMode", "ANSI"),), wanted)
    assert members_of(cast, OneFlag(Bounds.unknown(given))) == (column if keeps else None)


def test_cast_of_an_unknown_type_has_no_members() -> None:
    unknown = Opaque("f(a)", (("a",),), key="known")
    cast = Call("Cast", (unknown,), (("evalMode", "ANSI"),), LONG)
    every = OneFlag(Bounds.unknown(LONG))
    assert members_of(unknown, every) == "known"
    assert members_of(cast, every) is None


def test_recorded_bounds_require_key_and_type() -> None:
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
