"""Keys of files that a top-k cannot use, and edges as constants."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.udf.udf_contract import Contract
from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, Literal, Not, Opaque
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    DataType,
    decimal,
)
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.goals.file_keys import constant_of_edge, key_of_files
from tamis.plan.goals.sort_keys import Group, KeyOfFiles, SortKey
from tests.evaluation.test_declared_calls import declared

C = Column(("c",), LONG)


def keys(
    expr: Expr, conjuncts: tuple[Expr, ...] = (), descending: bool = False, **columns: object
) -> KeyOfFiles | None:
    table = pa.table({"min.c": [1, 4], "max.c": [5, 9], "num_records": [3, 3]} | columns)
    segments = [Segment(slice(0, 2), ArrowStatistics(table))]
    key = SortKey(expr, descending, nulls_first=False, only=False)
    return key_of_files(key, conjuncts, segments, np.ones(2, np.bool_))


CONTRACT = Contract("f", monotone=lambda x: x // 10, types=["BIGINT"])
CALL = Call("udf:f", (C,), (), LONG)
WIDER = Call("Cast", (Column(("c",), INTEGER),), (("evalMode", "LEGACY"),), LONG)


@pytest.mark.parametrize(
    ("expr", "is_known"),
    [
        (C, True),
        (WIDER, True),
        (Call("Abs", (C,), (("failOnError", False),), LONG), True),
        (Opaque("f(c)"), False),  # has no type
        (Column(("c",), CALENDAR_INTERVAL), False),  # Spark cannot sort these
        (CALL, False),
        (declared(CONTRACT, CALL), False),  # a declaration may be wrong
        (Call("NoSuchFunction", (C,), (), LONG), False),
        (Column(("d",), LONG), False),  # no statistics
        # Statistics of another type than that of the key.
        (Call("Abs", (C,), (("failOnError", False),), DATE), False),
    ],
)
def test_only_keys_with_bounds_are_known(expr: Expr, is_known: bool) -> None:
    assert (keys(expr) is not None) == is_known


def test_key_that_is_only_known_not_to_be_null_is_known() -> None:
    found = keys(C, **{"min.c": pa.nulls(2, pa.int64()), "max.c": pa.nulls(2, pa.int64()),
                       "null_count.c": [0, None]})  # fmt: skip
    assert found is not None
    assert found.may_be[Group.NULL].tolist() == [False, True]


def test_filter_on_a_declared_function_excludes_no_group() -> None:
    excluding = Compare(Comparison.GREATER, C, Literal(0, LONG))
    declaring = Compare(Comparison.GREATER, declared(CONTRACT, CALL), Literal(0, LONG))
    for conjunct, may_be in ((excluding, False), (declaring, True)):
        found = keys(C, (conjunct,))
        assert found is not None
        assert found.may_be[Group.NULL].tolist() == [may_be] * 2


@pytest.mark.parametrize("comparison", Comparison)
def test_filter_that_no_nan_passes_excludes_nan(comparison: Comparison) -> None:
    """NaN is greater than every other value."""
    x = Column(("c",), DOUBLE)
    numbers = {"min.c": [1.0, 4.0], "max.c": [5.0, 9.0]}
    passes = comparison in (Comparison.NOT_EQUAL, Comparison.GREATER, Comparison.GREATER_EQUAL)
    found = keys(x, (Compare(comparison, x, Literal(3.0, DOUBLE)),), **numbers)
    assert found is not None
    assert found.may_be[Group.NAN].tolist() == [passes] * 2
    found = keys(x, (Not(Compare(comparison, x, Literal(3.0, DOUBLE))),), **numbers)
    assert found is not None
    assert found.may_be[Group.NAN].tolist() == [not passes] * 2


def test_filters_of_long_texts_and_wide_decimals_exclude_null() -> None:
    wide = decimal(30, 2)
    for data_type, constant, low in (
        (STRING, "a", pa.array(["b", "c"])),
        (BINARY, b"a", pa.array([b"b", b"c"])),
        (wide, Decimal("1.00"), pa.array([Decimal(2), Decimal(3)], pa.decimal128(30, 2))),
    ):
        column = Column(("c",), data_type)
        above = Compare(Comparison.GREATER, column, Literal(constant, data_type))
        found = keys(column, (above,), **{"min.c": low, "max.c": low})
        assert found is not None, data_type
        assert found.may_be[Group.NULL].tolist() == [False] * 2
        assert keys(column, **{"min.c": low, "max.c": low}).may_be[Group.NULL].all()  # type: ignore[union-attr]


# Type, an edge, the constant in an expression document.
CONSTANTS = [
    (LONG, np.int64(5), 5),
    (DATE, np.int64(-1), -1),
    (BOOLEAN, np.int64(1), None),
    (DOUBLE, np.float64(0.5), None),
    (FLOAT, np.float64(0.5), None),
    (STRING, pa.scalar(b"\xc3\xa4", pa.large_binary()), "ä"),
    (STRING, pa.scalar(b"ab", pa.large_binary()), "ab"),
    (STRING, pa.scalar(b"\xc3", pa.large_binary()), None),
    (BINARY, pa.scalar(b"ab", pa.large_binary()), None),
    (decimal(9, 2), np.int64(1250), "12.50"),
    (decimal(9, 0), np.int64(1250), "1250"),
    (decimal(9, 2), np.int64(-5), "-0.05"),
    (decimal(30, 2), pa.scalar(Decimal("12.50"), pa.decimal128(38, 2)), "12.50"),
    (decimal(38, 0), pa.scalar(Decimal(10**30), pa.decimal128(38, 0)), "1" + "0" * 30),
    (decimal(38, 10), pa.scalar(Decimal("1E-10"), pa.decimal128(38, 10)), "0.0000000001"),
    (LONG, None, None),
]


@pytest.mark.parametrize(("data_type", "edge", "constant"), CONSTANTS)
def test_edge_becomes_a_constant(data_type: DataType, edge: object, constant: object) -> None:
    assert constant_of_edge(edge, Column(("c",), data_type)) == constant


def test_edge_of_an_expression_is_not_a_constant() -> None:
    assert constant_of_edge(np.int64(5), WIDER) is None
    assert constant_of_edge(np.int64(5), Opaque("f(c)")) is None


@pytest.mark.parametrize("descending", [False, True])
def test_edge_for_all_files_is_the_edge_of_each(descending: bool) -> None:
    """The beginning of length 0 is the empty string in every file."""
    text = Column(("c",), STRING)
    nothing = Call("Substring", (text, Literal(1, INTEGER), Literal(0, INTEGER)), (), STRING)
    found = keys(nothing, descending=descending, **{"min.c": ["a", "b"], "max.c": ["c", "d"]})
    assert found is not None
    assert found.near.to_pylist() == found.far.to_pylist() == [b"", b""]


def test_only_row_at_an_attained_edge_is_at_that_edge() -> None:
    certain, unknown = np.array([True]), np.array([False])
    may_be = {group: np.array([group is Group.VALUE]) for group in Group}
    for attained, expected in ((certain, 5), (unknown, 9)):
        key = KeyOfFiles(
            False,
            np.array([0]),
            np.array([5]),
            np.array([9]),
            attained,
            unknown,
            may_be,
            np.array([0]),
        )
        assert key.earliest(np.array([1]), 1) == expected
