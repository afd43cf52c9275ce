"""Pruning by buckets, over every pair of edges and every bucket of a small universe."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.interpreter import truth
from tamis.expr.nodes import Column, Compare, Comparison, Expr, In, Literal, Not
from tamis.expr.sql import to_sql
from tamis.expr.types import BINARY, DATE, LONG, STRING, DataType, decimal
from tamis.files.partition import PartitionField
from tamis.files.table import ArrowStatistics
from tests.differential.buckets import bucket
from tests.differential.keys import order_key
from tests.differential.rows import row_value

UUID = "f79c3e09-677c-4bbd-a479-3f349cb785e7"
WIDE = decimal(30, 6)
#: In ascending order, from one end of the type to the other.
UNIVERSES: dict[DataType, tuple[list[Any], pa.DataType]] = {
    LONG: ([-(1 << 63), *range(-3, 6), (1 << 63) - 1], pa.int64()),
    DATE: ([-(1 << 31), *range(17_480, 17_489), (1 << 31) - 1], pa.date32()),
    decimal(9, 2): (
        [Decimal(f"{each}E-2") for each in (1 - 10**9, -129, -128, -1, 0, 127, 128, 10**9 - 1)],
        pa.decimal128(9, 2),
    ),
    WIDE: (
        [Decimal(f"{each}E-6") for each in (1 - 10**30, -(10**20), -1, 0, 127, 10**20, 10**30 - 1)],
        pa.decimal128(30, 6),
    ),
    STRING: (["", "a", "b", UUID, "z", "\U0010ffff" * 9], pa.string()),
    BINARY: ([b"", b"a", b"b\0", b"\xff", b"\xff" * 9], pa.binary()),
}


def predicates(column: Column) -> Iterator[Expr]:
    universe = UNIVERSES[column.type][0]
    for constant in (universe[0], universe[2], universe[-1], None):
        literal = Literal(constant, column.type)
        for op in (Comparison.EQUAL, Comparison.NULL_SAFE_EQUAL, Comparison.NOT_EQUAL):
            yield Compare(op, column, literal)
            yield Compare(op, literal, column)
    yield Compare(Comparison.LESS, column, Literal(universe[2], column.type))
    for options in (universe[:1], universe[1:3], universe[::2]):
        for has_null in (False, True):
            yield In(column, tuple(options), has_null)
            yield Not(In(column, tuple(options), has_null))


@pytest.mark.parametrize("count", [3, 16])
@pytest.mark.parametrize("data_type", UNIVERSES, ids=str)
def test_equality_is_true_only_in_the_bucket_of_the_constant(
    data_type: DataType, count: int
) -> None:
    column = Column(("c",), data_type)
    universe, arrow = UNIVERSES[data_type]
    places = range(0, len(universe), 2)
    spans = [(low, high) for low, high in product((None, *places), repeat=2)]
    spans = [(low, high) for low, high in spans if _can_have_value(low, high, len(universe))]
    ordinals_to_try = [
        None,
        -1,
        count,
        *sorted({bucket(each, data_type, count) for each in universe}),
    ]
    cells = [(*span, ordinal) for span, ordinal in product(spans, dict.fromkeys(ordinals_to_try))]
    edges = [
        pa.array([None if cell[side] is None else universe[cell[side]] for cell in cells], arrow)
        for side in (0, 1)
    ]
    ordinals = pa.array([cell[2] for cell in cells], pa.int32())
    nulls = pa.array([None] * len(cells), pa.int64())
    table = pa.table(
        {"min.c": edges[0], "max.c": edges[1], "null_count.c": nulls, "partition.p": ordinals}
    )
    statistics = ArrowStatistics(table, (PartitionField("c", f"bucket[{count}]", "p"),))
    for predicate in predicates(column):
        truth_set = truth(predicate, statistics)
        claimed = list(
            zip(
                *(
                    np.broadcast_to(each, len(cells)).tolist()
                    for each in (
                        truth_set.can_be_true,
                        truth_set.can_be_false,
                        truth_set.can_be_null,
                    )
                ),
                strict=True,
            )
        )
        truths = {
            order_key(each): row_value(predicate, {("c",): each}) for each in [*universe, None]
        }
        for (low, high, ordinal), (true, false, null) in zip(cells, claimed, strict=True):
            contained = universe[low or 0 : len(universe) if high is None else high + 1]
            is_known = ordinal is not None and 0 <= ordinal < count
            inside = [
                each
                for each in contained
                if not is_known
                or bucket(each, data_type, count) == ordinal
                or (each == UUID and _of_uuid(count) == ordinal)
            ]
            if is_known:
                values = [truths[order_key(each)] for each in inside]
                whole = [truths[order_key(each)] for each in contained]
            else:
                values = whole = [truths[order_key(each)] for each in [*contained, None]]
            text = (to_sql(predicate), low, high, ordinal)
            _check(predicate, (true, false, null), values, whole, text)


def _can_have_value(low: int | None, high: int | None, size: int) -> bool:
    """Return whether the edges are in order. An unknown edge allows several values."""
    if low is not None and high is not None:
        return low <= high
    return (high is None or high >= 2) and (low is None or low <= size - 3)


def _of_uuid(count: int) -> int:
    return (1_488_055_340 & 0x7FFFFFFF) % count


def _check(
    predicate: Expr,
    claimed: tuple[bool, bool, bool],
    values: list[Any],
    whole: list[Any],
    text: Any,
) -> None:
    """Check that equality follows from bucket and edges, and all else from the edges alone."""
    true, false, null = claimed
    negated = isinstance(predicate, Not) or (
        isinstance(predicate, Compare) and predicate.op is Comparison.NOT_EQUAL
    )
    ordered = isinstance(predicate, Compare) and predicate.op is Comparison.LESS
    of_true, of_false = (whole, values) if negated else (values, whole)
    if ordered:
        of_true = of_false = whole
    assert true == (True in of_true), text
    assert false == (False in of_false), text
    assert null == (None in whole), text


@pytest.mark.parametrize("length", [4_096, 4_097])
def test_long_values_may_be_in_any_bucket(length: int) -> None:
    column = Column(("c",), STRING)
    text = "x" * length
    own = bucket(text, STRING, 16)
    table = pa.table({"partition.p": pa.array(range(16), pa.int32())})
    statistics = ArrowStatistics(table, (PartitionField("c", "bucket[16]", "p"),))
    for predicate in (
        Compare(Comparison.EQUAL, column, Literal(text, STRING)),
        In(column, (text,)),
    ):
        flags = np.broadcast_to(truth(predicate, statistics).can_be_true, 16).tolist()
        assert flags == [length > 4_096 or each == own for each in range(16)]
    both = In(column, (text, "a"))
    flags = np.broadcast_to(truth(both, statistics).can_be_true, 16).tolist()
    assert flags == [length > 4_096 or each in (own, bucket("a", STRING, 16)) for each in range(16)]


@pytest.mark.parametrize("statement", ["c = d", "d = c", "c <> d"])
def test_bucket_proves_nothing_about_another_column(statement: str) -> None:
    c, d = Column(("c",), LONG), Column(("d",), LONG)
    table = pa.table(
        {"partition.p": pa.array([0, 1, 2], pa.int32()), "min.d": [1, 2, 5], "max.d": [1, 2, 7]}
    )
    statistics = ArrowStatistics(table, (PartitionField("c", "bucket[3]", "p"),))
    left, op, right = statement.split()
    columns = {"c": c, "d": d}
    result = truth(Compare(Comparison(op), columns[left], columns[right]), statistics)
    assert np.broadcast_to(result.can_be_true, 3).all()
    assert np.broadcast_to(result.can_be_false, 3).all()


def test_varying_value_is_not_matched_with_buckets() -> None:
    """One constant is hashed once, for one container and for many."""
    c, d = Column(("c",), LONG), Column(("d",), LONG)
    for count in (1, 2):
        table = pa.table(
            {
                "partition.p": pa.array([0] * count, pa.int32()),
                "min.d": [1] * count,
                "max.d": [7] * count,
            }
        )
        statistics = ArrowStatistics(table, (PartitionField("c", "bucket[3]", "p"),))
        result = truth(Compare(Comparison.EQUAL, c, d), statistics)
        assert np.broadcast_to(result.can_be_true, count).all()
