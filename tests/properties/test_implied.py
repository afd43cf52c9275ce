"""A row that satisfies a predicate lies in every range that the predicate implies."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tamis.expr.nodes import Column, Expr, Value, columns_of
from tamis.expr.types import BOOLEAN, DataType
from tamis.plan.ranges.implied_ranges import ImpliedRange, implied_ranges
from tests.differential.generate import POOLS, random_case, random_function, random_predicate
from tests.differential.rows import Row, row_value

randoms = st.randoms(use_true_random=False)


@given(randoms)
def test_matching_rows_lie_in_the_implied_ranges(random: Random) -> None:
    case = random_case(random, containers=3)
    rows = [row for container in case.containers for row in container]
    conjuncts = [random_predicate(random, case.columns) for _ in range(random.choice([1, 1, 2]))]
    _check(conjuncts, rows)


@given(randoms)
def test_matching_rows_lie_in_the_ranges_implied_by_functions(random: Random) -> None:
    """Draw functions of one column, alone or with another predicate. Most imply a range."""
    case = random_case(random, containers=3)
    rows = [row for container in case.containers for row in container]
    column = random.choice(case.columns)
    functions = [random_function(random, column), random_function(random, column)]
    conjuncts = [each for each in functions if each is not None]
    _check(conjuncts[: random.choice([1, 2])], rows)


def _check(conjuncts: list[Expr], rows: list[Row]) -> None:
    for implied in implied_ranges(conjuncts):
        for row in [*rows, *_around(implied, rows)]:
            if all(row_value(each, row) is True for each in conjuncts):
                assert row_value(implied.predicate, row) is True, (conjuncts, implied, row)


def _around(implied: ImpliedRange, rows: list[Row]) -> Iterator[Row]:
    """Yield rows whose value is at an edge of the range, next to it, anywhere, or NULL."""
    values: list[Value] = [None, *POOLS[implied.column.type][0]]
    for interval in implied.intervals:
        for edge in (interval.lower, interval.upper):
            values += _near(edge, implied.column.type)
    for value in values:
        for row in rows[:3]:
            yield {**row, implied.column.path: value}


def _near(edge: Value, data_type: DataType) -> list[Value]:
    match edge:
        case Decimal():
            unit = Decimal(1).scaleb(-(data_type.scale or 0))
            return [edge - unit, edge, edge + unit]
        case int():
            least, greatest = data_type.domain
            return [v for v in (edge - 1, edge, edge + 1) if least <= v <= greatest]
        case str():
            below = edge[:-1] + chr(max(ord(edge[-1]) - 1, 0)) + "~" if edge else ""
            return [edge, edge + "\0", edge + "~", edge[:-1], below]
        case _:
            return []


@given(randoms)
def test_implied_ranges_are_over_columns_of_the_predicate(random: Random) -> None:
    case = random_case(random, containers=1)
    predicate = random_predicate(random, case.columns)
    for implied in implied_ranges([predicate]):
        assert isinstance(implied.column, Column)
        assert implied.column.path in columns_of(predicate)
        assert not implied.column.type.is_floating
        assert implied.column.type != BOOLEAN
        assert implied.intervals
