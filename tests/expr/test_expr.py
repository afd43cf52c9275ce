"""Types, SQL text and rewrites of expressions."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
    columns_of,
    type_of,
)
from tamis.expr.rewrites import simplify
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tests.cases.case import FALSE, TRUE, UNKNOWN, compare
from tests.differential.rows import row_value

a, b = Column(("a",), LONG), Column(("b",), BOOLEAN)


@pytest.mark.parametrize(
    "data_type", [BOOLEAN, BYTE, FLOAT, STRING, TIMESTAMP_NTZ, decimal(38, 10)]
)
def test_type_round_trips_through_text(data_type: DataType) -> None:
    assert DataType.parse(str(data_type)) == data_type


OTHER_TYPES = ["int", "Long", "array", "char(5)", "varchar(5)", "interval", "decimal(0,0)"]
OTHER_TYPES += ["decimal(39,0)", "decimal(5,6)", "decimal(5)"]


@pytest.mark.parametrize(
    "text", [*OTHER_TYPES, "", "string collate UTF8_LCASE", None, 5, {"type": "struct"}]
)
def test_other_types_are_rejected(text: Any) -> None:
    assert DataType.parse(text) is None


@pytest.mark.parametrize(
    ("value", "data_type", "sql"),
    [
        (None, LONG, "NULL"),
        (True, BOOLEAN, "true"),
        (5, BYTE, "5Y"),
        (5, SHORT, "5S"),
        (5, INTEGER, "5"),
        (-5, LONG, "-5L"),
        (1.5, FLOAT, "1.5F"),
        (math.nan, DOUBLE, "double('NaN')"),
        (-math.inf, FLOAT, "float('-Infinity')"),
        (Decimal("1E+3"), decimal(9, 2), "1000BD"),
        ("it's \\", STRING, r"'it\'s \\'"),
        (b"\x00\xff", BINARY, "X'00FF'"),
        (-1, DATE, "DATE '1969-12-31'"),
        (10**9, DATE, "DATE_FROM_UNIX_DATE(1000000000)"),
        (-1, TIMESTAMP, "TIMESTAMP '1969-12-31 23:59:59.999999Z'"),
        (0, TIMESTAMP_NTZ, "TIMESTAMP_NTZ '1970-01-01 00:00:00'"),
        ("no date", DATE, "'no date'"),
    ],
)
def test_sql_of_constants(value: Any, data_type: DataType, sql: str) -> None:
    assert to_sql(Literal(value, data_type)) == sql


@pytest.mark.parametrize(
    ("expr", "sql"),
    [
        (compare("<=", a, 5), "a <= 5L"),
        (Column(("s", "b.c", "`"), LONG), "s.`b.c`.````"),
        (And((Or((b, TRUE)), Not(b))), "(b OR true) AND NOT (b)"),
        (Or((And((b, TRUE)), b)), "b AND true OR b"),
        (Not(IsNull(a)), "a IS NOT NULL"),
        (IsNull(compare("<", a, 5)), "(a < 5L) IS NULL"),
        (In(a, (1, 2), True), "a IN (1L, 2L, NULL)"),
        (Not(In(a, (1,))), "a NOT IN (1L)"),
        (In(a, tuple(range(14))), f"a IN ({', '.join(f'{n}L' for n in range(12))}, … 2 more)"),
        (Call("Year", (a,), (), INTEGER), "year(a)"),
        (Opaque("rand() < 0.5"), "rand() < 0.5"),
        (And(()), "true"),
        (Or(()), "false"),
    ],
)
def test_sql_of_expressions(expr: Expr, sql: str) -> None:
    assert to_sql(expr) == sql


LESS, MORE = compare("<", a, 5), compare(">=", a, 5)


@pytest.mark.parametrize(
    ("expr", "simplified"),
    [
        (And((LESS, And((b, LESS)))), And((LESS, b, LESS))),
        (Or((LESS, Or((b, LESS)))), Or((LESS, b, LESS))),
        (Not(Not(LESS)), LESS),
        (Not(LESS), MORE),
        (Not(And((LESS, b))), Or((MORE, compare("=", b, False)))),
        (Not(Or((LESS, b))), And((MORE, compare("=", b, False)))),
        (Not(compare("<=>", a, 5)), Not(compare("<=>", a, 5))),
        (And((LESS, TRUE)), LESS),
        (And((LESS, FALSE)), FALSE),
        (And((LESS, UNKNOWN)), And((LESS, UNKNOWN))),
        (Or((LESS, FALSE)), LESS),
        (Or((LESS, TRUE)), TRUE),
        (And(()), TRUE),
        (Or(()), FALSE),
        (Not(UNKNOWN), UNKNOWN),
        (compare("<", a, None), UNKNOWN),
        (compare("<=>", a, None), IsNull(a)),
        (Not(compare("<=>", a, None)), Not(IsNull(a))),
        (Not(In(a, (1,))), Not(In(a, (1,)))),
        (Not(Opaque("f(a)")), Not(Opaque("f(a)"))),
    ],
)
def test_expression_is_simplified(expr: Expr, simplified: Expr) -> None:
    assert simplify(expr) == simplified


def test_columns_are_listed_once_in_order() -> None:
    expr = And((IsNull(b), compare("<", a, 5), Opaque("f", (("z",), ("b",))), In(a, (1,))))
    assert columns_of(expr) == (("b",), ("a",), ("z",))


def test_predicates_are_boolean() -> None:
    assert type_of(In(a, (1,))) == BOOLEAN
    assert type_of(Opaque("f(a)")) is None


@pytest.mark.parametrize("op", list(Comparison))
def test_swapping_operands_twice_restores_the_operator(op: Comparison) -> None:
    assert op.swapped.swapped is op
    assert op.negated is None or op.negated.negated is op


def _many(op: str, *values: int) -> tuple[Expr, ...]:
    return tuple(compare(op, a, value) for value in values)


FEW, SEVEN = _many("=", 1, 2), _many("=", *range(7))
LISTS = [
    (Or(FEW), "a = 1L OR a = 2L"),
    (Or((*SEVEN, compare("=", a, 7))), "a IN (0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L)"),
    # The list takes the position of its first part. Duplicates count once.
    (
        Or((b, *SEVEN, IsNull(a), In(a, (6, 9), has_null=True))),
        "b OR a IN (0L, 1L, 2L, 3L, 4L, 5L, 6L, 9L, NULL) OR a IS NULL",
    ),
    (Not(Or((*SEVEN, In(a, (7, 8))))), "a NOT IN (0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L)"),
    (And((*_many("<>", *range(8)), b)), "a NOT IN (0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L) AND b"),
    # x IN () is NULL or false, depending on a setting.
    (Or((*SEVEN, In(a, ()))), to_sql(Or((*SEVEN, In(a, ()))))),
    (And((*SEVEN, compare("=", a, 7))), to_sql(And((*SEVEN, compare("=", a, 7))))),
]


@pytest.mark.parametrize(("expr", "sql"), LISTS)
def test_many_equalities_become_a_list(expr: Expr, sql: str) -> None:
    assert to_sql(simplify(expr)) == sql


@given(st.lists(st.none() | st.integers(0, 3), min_size=8, max_size=12), st.booleans())
def test_list_equals_its_equalities(values: list[int | None], negated: bool) -> None:
    parts = tuple(
        compare("=", a, value)
        if place % 3
        else In(a, (0 if value is None else value,), value is None)
        for place, value in enumerate(values)
    )
    whole: Expr = Not(Or(parts)) if negated else Or(parts)
    for value in (None, 0, 1, 2, 3, 4):
        row = {a.path: value}
        assert row_value(simplify(whole), row) is row_value(whole, row)
