"""Bounds of declared functions: f applied to the edges, over every small container of a type."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest

from tamis.evaluation.udf.declared_calls import bind
from tamis.evaluation.udf.images import Declared
from tamis.evaluation.udf.udf_contract import Contract
from tamis.evaluation.udf.udf_guard import UdfGuard
from tamis.expr.nodes import Call, Column, Literal
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tests.differential.claims import Claim
from tests.differential.exact_claims import DAY, Rows, Table, claim_over, edge_of, table_of

EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)
SHORT_DECIMAL, WIDE = decimal(9, 2), decimal(30, 6)


def day(value: int) -> datetime.date:
    return (EPOCH + datetime.timedelta(days=value)).date()


def moment(value: int) -> datetime.datetime:
    return EPOCH + value * MICROSECOND


def micros(at: datetime.datetime) -> int:
    return (at - EPOCH) // MICROSECOND


#: Type of x, x as a Python value, f, whether f rises, type of f(x), and f(x) as an edge.
Line = tuple[DataType, Callable[..., Any], Callable[..., Any], bool, DataType, Callable[..., Any]]


def same(value: Any) -> Any:
    return value


TABLE: tuple[Line, ...] = (
    (BYTE, same, lambda x: x // 10, True, LONG, same),
    (INTEGER, same, lambda x: -x, False, LONG, same),
    (INTEGER, same, lambda x: x * 2, True, DOUBLE, float),
    (BOOLEAN, bool, lambda x: not x, False, BOOLEAN, int),
    (DOUBLE, same, lambda x: x / 2, True, DOUBLE, same),
    (DOUBLE, same, lambda x: -x, False, DOUBLE, same),
    (SHORT_DECIMAL, same, lambda x: x / 4, True, decimal(12, 3), lambda x: x.quantize(Decimal("0.001"), ROUND_HALF_UP)),
    (SHORT_DECIMAL, same, lambda x: -x, False, WIDE, same),
    (WIDE, same, lambda x: x + 1, True, WIDE, same),
    (STRING, same, lambda x: "p" + x, True, STRING, str.encode),
    (BINARY, same, lambda x: x + b"!", True, BINARY, same),
    (DATE, day, lambda x: x.year, True, INTEGER, same),
    (DATE, day, lambda x: x + datetime.timedelta(days=3), True, DATE, lambda x: (x - EPOCH.date()).days),
    (TIMESTAMP_NTZ, moment, lambda x: x + datetime.timedelta(hours=1), True, TIMESTAMP_NTZ, micros),
    (TIMESTAMP_NTZ, moment, lambda x: x.date(), True, DATE, lambda x: (x - EPOCH.date()).days),
)  # fmt: skip


def claimed(contract: Contract, data_type: DataType, result: DataType, table: Table) -> Claim:
    call = Call("udf:f", (Column(("c",), data_type),), (), result)
    expr = bind(call, {"f": [Declared(contract)]}, UdfGuard())
    assert isinstance(expr, Call)
    return claim_over(expr, table)


def values_in(rows: Rows) -> list[Any]:
    return [row["c",] for row in rows]


@pytest.mark.parametrize(("data_type", "to_python", "f", "rises", "result", "as_edge"), TABLE)
@pytest.mark.parametrize("kind", ["monotone", "image"])
def test_bounds_are_f_of_the_edges(
    kind: str,
    data_type: DataType,
    to_python: Callable[..., Any],
    f: Callable[..., Any],
    rises: bool,
    result: DataType,
    as_edge: Callable[..., Any],
) -> None:
    def image(lower: Any, upper: Any) -> Any:
        return (f(lower), f(upper)) if rises else (f(upper), f(lower))

    table = table_of((Column(("c",), data_type),))
    how: dict[str, Any] = (
        {"monotone": f, "increasing": rises} if kind == "monotone" else {"image": image}
    )
    contract = Contract("f", types=[str(data_type)], null_to_null=True, **how)
    claim = claimed(contract, data_type, result, table)
    call = Call("udf:f", (), (), result)
    for place, rows in enumerate(table.rows):
        values = [each for each in values_in(rows) if each is not None and each == each]
        has_nan = any(each is not None and each != each for each in values_in(rows))
        assert claim.can_be_null[place], rows[0]
        if has_nan:
            assert claim.can_be_nan[place] or not result.is_floating, rows[0]
            continue
        assert claim.can_be_value[place] == bool(values), rows[0]
        assert not claim.can_be_nan[place], rows[0]
        if values:
            images = [as_edge(f(to_python(each))) for each in values]
            edges = edge_of(claim.lower[place], call), edge_of(claim.upper[place], call)
            assert edges == (min(images), max(images)), rows[0]


@pytest.mark.parametrize("rises", [True, False])
def test_timestamps_are_widened_by_a_day_before_and_after_f(rises: bool) -> None:
    def f(x: datetime.datetime) -> datetime.datetime:
        return x if rises else EPOCH - (x - EPOCH)

    table = table_of((Column(("c",), TIMESTAMP),))
    contract = Contract("f", monotone=f, increasing=rises, types=["TIMESTAMP"], null_to_null=True)
    claim = claimed(contract, TIMESTAMP, TIMESTAMP, table)
    for place, rows in enumerate(table.rows):
        values = [each if rises else -each for each in values_in(rows) if each is not None]
        if values:
            edges = claim.lower[place], claim.upper[place]
            assert edges == (min(values) - 2 * DAY, max(values) + 2 * DAY)


#: Name, f(NULL), and the bounds of a container that has NULLs only.
NULLS: list[tuple[str, Any, tuple[Any, Any] | None]] = [
    ("NULL", None, None),
    ("a value", 17, (17, 17)),
]


@pytest.mark.parametrize(("case", "of_null", "alone"), NULLS, ids=[each[0] for each in NULLS])
def test_f_of_null_widens_the_bounds(
    case: str, of_null: Any, alone: tuple[Any, Any] | None
) -> None:
    contract = Contract("f", monotone=lambda x: of_null if x is None else x, types=["INT"])
    table = table_of((Column(("c",), INTEGER),))
    claim = claimed(contract, INTEGER, LONG, table)
    for place, rows in enumerate(table.rows):
        values = [each for each in values_in(rows) if each is not None]
        images = [*values, *([of_null] if None in values_in(rows) and of_null is not None else [])]
        assert claim.can_be_null[place]
        assert claim.can_be_value[place] == bool(images)
        if images:
            assert (claim.lower[place], claim.upper[place]) == (min(images), max(images))
    assert (alone is None) == (of_null is None)


@pytest.mark.parametrize("of_nan", [None, math.nan, 1.5])
def test_f_of_nan_widens_the_bounds(of_nan: float | None) -> None:
    contract = Contract(
        "f", monotone=lambda x: of_nan if x != x else x, types=["DOUBLE"], null_to_null=True
    )
    table = table_of((Column(("c",), DOUBLE),))
    claim = claimed(contract, DOUBLE, DOUBLE, table)
    for place, rows in enumerate(table.rows):
        values = [each for each in values_in(rows) if each is not None and each == each]
        has_nan = any(each is not None and each != each for each in values_in(rows))
        assert claim.can_be_nan[place] == (has_nan and of_nan is not None and of_nan != of_nan)
        images = [*values, *([of_nan] if has_nan and of_nan == 1.5 else [])]
        assert claim.can_be_value[place] == bool(images)
        if images:
            assert (claim.lower[place], claim.upper[place]) == (min(images), max(images))


def test_image_does_not_cover_null() -> None:
    contract = Contract("f", image=lambda low, high: (low, high), types=["INT"])
    table = table_of((Column(("c",), INTEGER),))
    claim = claimed(contract, INTEGER, LONG, table)
    for place, rows in enumerate(table.rows):
        assert claim.says_anything[place] == (None not in values_in(rows))


#: f fails for 5. Bounds are unknown where 5 is an edge.
FAILURES: list[tuple[str, Callable[..., Any]]] = [
    ("raises", lambda x: 1 // (x - 5) * 0 + x),
    ("gives NULL", lambda x: None if x == 5 else x),
    ("gives text", lambda x: "5" if x == 5 else x),
    ("gives a number beyond the type", lambda x: 1 << 63 if x == 5 else x),
]


@pytest.mark.parametrize(("case", "f"), FAILURES, ids=[each[0] for each in FAILURES])
def test_failure_at_an_edge_makes_the_container_unknown(case: str, f: Callable[..., Any]) -> None:
    contract = Contract("f", monotone=f, types=["INT"], null_to_null=True)
    table = table_of((Column(("c",), INTEGER),))
    claim = claimed(contract, INTEGER, LONG, table)
    for place, rows in enumerate(table.rows):
        values = [each for each in values_in(rows) if each is not None]
        if not values:
            continue
        if 5 in (min(values), max(values)):
            assert not claim.says_anything[place], rows[0]
        else:
            assert (claim.lower[place], claim.upper[place]) == (min(values), max(values))


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_image_with_one_edge_bounds_one_side(side: str) -> None:
    def image(lower: int, upper: int) -> tuple[int | None, int | None]:
        return (lower, None) if side == "lower" else (None, upper)

    contract = Contract("f", image=image, types=["INT"], null_to_null=True)
    table = table_of((Column(("c",), INTEGER),))
    claim = claimed(contract, INTEGER, LONG, table)
    for place, rows in enumerate(table.rows):
        values = [each for each in values_in(rows) if each is not None]
        if values:
            least, greatest = LONG.domain
            bounds_of_one_side = (
                (min(values), greatest) if side == "lower" else (least, max(values))
            )
            assert (claim.lower[place], claim.upper[place]) == bounds_of_one_side


def test_contradicted_direction_makes_bounds_unknown() -> None:
    contract = Contract("f", monotone=lambda x: -x, types=["INT"], null_to_null=True)
    table = table_of((Column(("c",), INTEGER),))
    claim = claimed(contract, INTEGER, LONG, table)
    for place, rows in enumerate(table.rows):
        values = [each for each in values_in(rows) if each is not None]
        assert claim.says_anything[place] == (len(set(values)) <= 1)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_constants_surround_the_varying_argument(place: int) -> None:
    def f(*arguments: Any) -> int:
        x = arguments[place]
        assert [each for spot, each in enumerate(arguments) if spot != place] == [70, 80]
        return int(x) + 1

    contract = Contract("f", monotone=f, argument=place, types=["INT"], null_to_null=True)
    column = Column(("c",), INTEGER)
    arguments: list[Any] = [Literal(70, INTEGER), Literal(80, INTEGER)]
    arguments.insert(place, column)
    call = Call("udf:f", tuple(arguments), (), LONG)
    expr = bind(call, {"f": [Declared(contract)]}, UdfGuard())
    assert isinstance(expr, Call)
    table = table_of((column,))
    claim = claim_over(expr, table)
    for ordinal, rows in enumerate(table.rows):
        values = [each for each in values_in(rows) if each is not None]
        if values:
            assert (claim.lower[ordinal], claim.upper[ordinal]) == (
                min(values) + 1,
                max(values) + 1,
            )
