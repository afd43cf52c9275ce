"""Conjuncts that limit the same column, combined into one range, one list, or false."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation import NONE, verdicts
from tamis.evaluation.interpreter import truth
from tamis.evaluation.nodes.ranges import narrowed
from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import And, Column, Compare, Comparison, Expr, Literal, Or, Within
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    decimal,
)
from tamis.files.table import ArrowStatistics
from tests.cases.case import FALSE, compare, is_in, is_not_null, not_in, statistics_of
from tests.evaluation.given import Given, between

c, d = (Column((name,), LONG) for name in "cd")
f, s = Column(("f",), FLOAT), Column(("s",), STRING)
ABOVE = compare(">", c, 5)


@pytest.mark.parametrize("part", [ABOVE, compare("=", c, 5), is_in(c, 1, 2)], ids=to_sql)
def test_is_not_null_is_left_out_beside_a_part_that_rejects_null(part: Expr) -> None:
    assert narrowed(And((part, is_not_null(c)))) == part


def test_list_that_stays_complete_is_the_same_node() -> None:
    """What was computed for a node is reused for the same node only."""
    listed = is_in(c, 6, 7)
    assert narrowed(And((listed, ABOVE))) is listed


MANY = tuple(range(200))


@pytest.mark.parametrize(
    ("listed", "value"),
    [(is_in(c, *MANY), 500), (not_in(c, *MANY), 5)],
    ids=["IN", "NOT IN"],
)
def test_long_list_is_not_repeated_in_the_branches_of_an_or(listed: Expr, value: int) -> None:
    predicate = And((listed, Or((compare("=", c, value), compare("=", d, 1)))))
    assert narrowed(predicate) == predicate


def test_or_with_thousands_of_parts_is_unchanged() -> None:
    branches = (And((compare("=", c, k), compare("=", d, k))) for k in range(700))
    predicate = And((ABOVE, Or(tuple(branches))))
    assert narrowed(predicate) == predicate


NEIGHBORS: list[tuple[DataType, Any, Any]] = [
    (LONG, 2, 3),
    (decimal(9, 0), Decimal(2), Decimal(3)),
    (decimal(9, 2), Decimal(2), Decimal("2.01")),
    (decimal(30, 0), Decimal(2), Decimal(3)),
    (decimal(30, 2), Decimal(2), Decimal("2.01")),
]


@pytest.mark.parametrize(("data_type", "value", "following"), NEIGHBORS, ids=str)
def test_no_value_lies_between_neighbors(data_type: DataType, value: Any, following: Any) -> None:
    column = Column(("c",), data_type)
    assert narrowed(And((compare(">", column, value), compare("<", column, following)))) == FALSE
    assert narrowed(And((compare(">", column, value), compare("<=", column, following)))) != FALSE


MOST = 10**38 - 1
#: The least and the greatest value that a file may hold.
ENDS: list[tuple[DataType, Any, Any]] = [
    *((each, each.domain[0], each.domain[1]) for each in (BYTE, INTEGER, LONG, DATE, TIMESTAMP)),
    (decimal(9, 2), from_unscaled(LONG.domain[0], 2), from_unscaled(LONG.domain[1], 2)),
    (decimal(18, 0), Decimal(LONG.domain[0]), Decimal(LONG.domain[1])),
    (decimal(38, 0), Decimal(-MOST), Decimal(MOST)),
    (decimal(30, 10), from_unscaled(-MOST, 10), from_unscaled(MOST, 10)),
]


@pytest.mark.parametrize(("data_type", "least", "greatest"), ENDS, ids=str)
def test_values_end_at_the_ends_of_their_type(
    data_type: DataType, least: Any, greatest: Any
) -> None:
    column = Column(("c",), data_type)
    other = compare("<>", column, Decimal(0) if data_type.is_decimal else 0)
    for op, end in ((">", greatest), ("<", least)):
        assert narrowed(And((compare(op, column, end), other))) == FALSE
        assert narrowed(And((compare(f"{op}=", column, end), other))) != FALSE


def test_equal_limits_at_an_open_upper_edge_match_nothing() -> None:
    below_b = Given(between(STRING, "a", "b", upper_open=np.array([True])))
    predicate = And((compare(">=", s, "b"), compare("<=", s, "b")))
    assert verdicts(predicate, below_b).tolist() == [NONE]


def test_double_that_is_no_float_equals_no_float() -> None:
    files = ArrowStatistics(statistics_of(f, [(float(np.float32(0.1)),)]))
    equal, positive = (
        Compare(op, f, Literal(value, DOUBLE))
        for op, value in ((Comparison.EQUAL, 0.1), (Comparison.GREATER_EQUAL, 0.0))
    )
    assert verdicts(And((equal, positive)), files).tolist() == [NONE]


def test_range_over_no_files_has_no_verdicts() -> None:
    nothing = pa.array([], pa.int64())
    files = ArrowStatistics(pa.table({"min.c": nothing, "max.c": nothing}))
    assert verdicts(And((ABOVE, compare("<", c, 9))), files).tolist() == []


@pytest.mark.parametrize(
    ("of_bounds", "limit"), [(LONG, "5"), (DOUBLE, 5)], ids=["limit", "bounds"]
)
def test_range_of_another_type_proves_nothing(of_bounds: DataType, limit: Any) -> None:
    truths = truth(Within(c, limit, None), Given(between(of_bounds, 0, 1)))
    for flags in (truths.can_be_true, truths.can_be_false, truths.can_be_null):
        assert flags.tolist() == [True]
