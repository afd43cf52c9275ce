"""The filters that are sent to Airport servers keep every row that passes."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from tamis.expr.nodes import And, Column, Compare, Comparison, Expr, In, IsNull, Literal, Not, Or
from tamis.expr.types import DOUBLE, LONG, STRING
from tamis.remote.airport.sendable_filters import filter_document, sendable
from tests.remote.airport_filters import run, run_with_server, served_by_tamis

N, X, S = (Column((name,), kind) for name, kind in (("n", LONG), ("x", DOUBLE), ("s", STRING)))
SCHEMA = pa.schema({"n": pa.int64(), "x": pa.float64(), "s": pa.large_string()})


def over(column: Column, value: object, op: Comparison = Comparison.GREATER) -> Compare:
    return Compare(op, column, Literal(value, column.type))  # type: ignore[arg-type]


def sent_document(filters: list[Expr], schema: pa.Schema = SCHEMA) -> str:
    return filter_document(sendable(filters, schema), schema)


SENT = [
    over(N, -5),
    over(S, "é", Comparison.LESS_EQUAL),
    over(N, 1, Comparison.NOT_EQUAL),
    Not(over(N, 1, Comparison.EQUAL)),
    In(N, (1, 2)),
    In(N, (1, 2), has_null=True),
    Not(In(S, ("a",))),
    IsNull(X),
    Not(IsNull(X)),
    over(X, 1.5, Comparison.LESS_EQUAL),
    over(X, 1.5, Comparison.NOT_EQUAL),
    Not(In(X, (1.5,))),
    Or((over(N, 1), And((over(X, 1.5), over(X, 2.5, Comparison.LESS))))),
]

NOT_SENT = [
    over(N, None),
    over(N, 1, Comparison.NULL_SAFE_EQUAL),
    Not(over(N, 1)),
    Not(In(N, (1,), has_null=True)),
    In(N, ()),
    over(X, 0.0, Comparison.LESS),
    over(X, -0.0, Comparison.LESS),
    over(X, float("nan"), Comparison.LESS),
    over(X, float("inf"), Comparison.LESS),
    over(X, 1.5),
    over(X, 1.5, Comparison.GREATER_EQUAL),
    Or((over(N, 1), And((over(X, 1.5), IsNull(S))))),
    And((over(X, 1.5), over(X, float("nan"), Comparison.LESS_EQUAL))),
    over(S, ""),
    over(S, "a\0"),
    over(Column(("n", "f"), LONG), 1),
    over(Column(("nowhere",), LONG), 1),
    over(Column(("n",), STRING), "a"),
    Compare(Comparison.LESS, N, N),
    Or((over(N, 1), over(X, 0.0))),
    Not(Or((over(N, 1), IsNull(S)))),
]


@pytest.mark.parametrize("predicate", SENT, ids=str)
def test_predicate_is_sent(predicate: Expr) -> None:
    document = json.loads(sent_document([predicate, over(X, 0.0)]))
    assert len(document["filters"]) == 1
    assert document["column_binding_names_by_index"] == ["n", "x", "s"]


@pytest.mark.parametrize("predicate", NOT_SENT, ids=str)
def test_predicate_is_not_sent(predicate: Expr) -> None:
    assert sent_document([predicate]) == ""


X_OVER = over(X, 1.5)
EXCLUDES_NAN = [
    over(X, 9.5, Comparison.LESS),
    over(X, 0.0, Comparison.LESS_EQUAL),
    over(X, 9.5, Comparison.EQUAL),
    In(X, (1.5, 2.5)),
]


@pytest.mark.parametrize("other", EXCLUDES_NAN, ids=str)
def test_lower_bound_is_sent_beside_a_filter_that_excludes_nan(other: Expr) -> None:
    """Servers lose NaN, which is above every lower bound."""
    assert sendable([X_OVER, other], SCHEMA)[0] == X_OVER
    assert sendable([other, X_OVER], SCHEMA)[1] == X_OVER


KEEPS_NAN = [
    over(X, 1.5, Comparison.GREATER_EQUAL),
    over(X, 9.5, Comparison.NOT_EQUAL),
    over(X, float("nan"), Comparison.LESS_EQUAL),
    over(X, float("nan"), Comparison.EQUAL),
    In(X, (1.5, float("nan"))),
    Not(In(X, (1.5,))),
    Not(over(X, 9.5, Comparison.LESS)),
    Not(IsNull(X)),
    Or((over(X, 9.5, Comparison.LESS), IsNull(S))),
    over(Column(("y",), DOUBLE), 9.5, Comparison.LESS),
]


@pytest.mark.parametrize("other", KEEPS_NAN, ids=str)
def test_lower_bound_is_not_sent_beside_a_filter_that_nan_passes(other: Expr) -> None:
    assert sendable([X_OVER, other], SCHEMA)[0] is None


def test_lower_bound_is_sent_to_a_server_that_orders_nan() -> None:
    assert sendable([X_OVER], SCHEMA, orders_nan=True) == [X_OVER]


def test_columns_that_cannot_be_named_or_have_another_type_are_not_sent() -> None:
    for schema in (
        pa.schema({"n": pa.uint64()}),
        pa.schema({"n": pa.int32()}),
        pa.schema([("n", pa.int64()), ("n", pa.int64())]),
        pa.schema([("n", pa.int64()), ("N", pa.int64())]),
    ):
        assert sent_document([over(N, 1)], schema) == ""
    quoted = Column(('n"',), LONG)
    assert sent_document([over(quoted, 1)], pa.schema({'n"': pa.int64()})) == ""


@pytest.mark.programs
def test_random_filters_keep_every_row_that_passes() -> None:
    sent, wrong = run(seed=7, count=1600)
    assert sent > 100
    assert wrong == []


@pytest.mark.programs
def test_random_filters_over_our_server_return_the_rows() -> None:
    sent, exact, wrong = run_with_server(7, 640, served_by_tamis)
    assert sent > 40
    assert exact > 10
    assert wrong == []
