"""Constants as edges: values of a type, and values of other types."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.edge_values import edge_of
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.udf.python_values import NotAValue, from_python, to_python
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)

SHORT_DECIMAL, WIDE = decimal(4, 2), decimal(30, 6)
DAY = 86_400_000_000

#: A type, values of it, and the edges that represent them.
VALUES: list[tuple[DataType, list[Any], list[Any]]] = [
    (BOOLEAN, [True, False], [1, 0]),
    (BYTE, [-128, 0, 127], [-128, 0, 127]),
    (LONG, [-(1 << 63), (1 << 63) - 1], [-(1 << 63), (1 << 63) - 1]),
    (DATE, [-719_162, 0], [-719_162, 0]),
    (TIMESTAMP, [5], [5]),
    (DOUBLE, [1.5, -math.inf, 7], [1.5, -math.inf, 7.0]),
    (FLOAT, [1.5, 1.1], [1.5, float(np.float32(1.1))]),
    (SHORT_DECIMAL, [Decimal("1.50"), Decimal("-99.99"), 2], [150, -9999, 200]),
    (WIDE, [Decimal("1.5"), 3], [Decimal("1.500000"), Decimal("3.000000")]),
    (STRING, ["a", "é", ""], [b"a", "é".encode(), b""]),
    (BINARY, [b"a", b""], [b"a", b""]),
]


@pytest.mark.parametrize(("data_type", "values", "expected"), VALUES, ids=str)
@pytest.mark.parametrize("times", [1, 9])
def test_values_become_edges(
    data_type: DataType, values: list[Any], expected: list[Any], times: int
) -> None:
    """Many values are converted together, few one by one."""
    edge = edge_of(values * times, data_type)
    listed = edge.tolist() if isinstance(edge, np.ndarray) else edge.to_pylist()
    assert listed == expected * times


NO_VALUES: list[tuple[DataType, Any, type[Exception]]] = [
    *((BOOLEAN, each, TypeError) for each in (1, "t", 1.0)),
    *((BYTE, each, OverflowError) for each in (128, -129)),
    *((BYTE, each, TypeError) for each in (1.0, "1", True, Decimal(1))),
    *((LONG, each, OverflowError) for each in (1 << 63, -(1 << 63) - 1)),
    *((LONG, each, TypeError) for each in (1.0, "1", True)),
    (INTEGER, 1 << 31, OverflowError),
    (INTEGER, b"1", TypeError),
    *((DOUBLE, each, TypeError) for each in ("1", True, b"1")),
    *((SHORT_DECIMAL, each, ValueError) for each in (Decimal("1.005"), Decimal("NaN"))),
    *((SHORT_DECIMAL, each, TypeError) for each in (1.5, "1")),
    (WIDE, Decimal("1E-7"), ValueError),
    *((WIDE, each, TypeError) for each in (1.5, "1")),
    *((STRING, each, TypeError) for each in (b"a", 1)),
    *((BINARY, each, TypeError) for each in ("a", 1)),
    (DATE, 1 << 31, OverflowError),
    *((DATE, each, TypeError) for each in (1.5, "2024-01-01")),
]


@pytest.mark.parametrize(("data_type", "value", "error"), NO_VALUES, ids=str)
@pytest.mark.parametrize("times", [1, 9])
def test_values_of_another_type_are_rejected(
    data_type: DataType, value: Any, error: type[Exception], times: int
) -> None:
    with pytest.raises(error):
        edge_of([value] * times, data_type)


@pytest.mark.parametrize("place", [0, 5, 11])
@pytest.mark.parametrize("beyond", [-129, 128])
def test_one_invalid_value_among_many_is_rejected(place: int, beyond: int) -> None:
    values = [*range(12)]
    values[place] = beyond
    with pytest.raises(OverflowError):
        edge_of(values, BYTE)


NTZ = datetime.datetime(2024, 2, 29, 12, 0, 0, 5)
MICROS = (NTZ - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)

#: A type, the result of a Python function, and the edge.
GIVEN: list[tuple[DataType, Any, Any]] = [
    (LONG, 7, 7),
    (BYTE, 127, 127),
    (BOOLEAN, True, 1),
    (DOUBLE, 7, 7.0),
    (DOUBLE, 1.5, 1.5),
    (FLOAT, 2, 2.0),
    (SHORT_DECIMAL, Decimal("1.005"), 101),
    (SHORT_DECIMAL, Decimal("-1.005"), -101),
    (SHORT_DECIMAL, 7, 700),
    (SHORT_DECIMAL, Decimal("99.99"), 9999),
    (SHORT_DECIMAL, Decimal("0.001"), 0),
    (decimal(2, 2), 0, 0),
    (decimal(3, 0), Decimal("7.5"), 8),
    (decimal(3, 0), Decimal("999.4"), 999),
    (decimal(30, 0), Decimal("7.5"), Decimal(8)),
    (WIDE, Decimal("1.5"), Decimal("1.500000")),
    (STRING, "a", b"a"),
    (BINARY, b"a", b"a"),
    (BINARY, bytearray(b"a"), b"a"),
    (DATE, datetime.date(1970, 1, 3), 2),
    (DATE, NTZ, MICROS // DAY),
    (TIMESTAMP_NTZ, NTZ, MICROS),
]


@pytest.mark.parametrize(("data_type", "result", "expected"), GIVEN, ids=str)
def test_result_of_a_python_function_becomes_an_edge(
    data_type: DataType, result: Any, expected: Any
) -> None:
    for widen in (-1, 0, 1):
        assert from_python(result, data_type, widen) == expected


@pytest.mark.parametrize("widen", [-1, 0, 1])
def test_timestamp_is_widened(widen: int) -> None:
    with_zone = NTZ.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    assert from_python(NTZ, TIMESTAMP, widen) == MICROS + widen * DAY
    assert from_python(with_zone, TIMESTAMP, widen) == MICROS - DAY // 12 + widen * DAY


NOT_GIVEN: list[tuple[DataType, Any]] = [
    *((LONG, each) for each in (1 << 63, 1.0, True, "1", None, math.nan)),
    *((BYTE, each) for each in (128, -129)),
    *((DOUBLE, each) for each in (math.nan, True, "1")),
    *(
        (SHORT_DECIMAL, each)
        for each in (Decimal(100), Decimal("99.995"), True, 1.5, Decimal("NaN"))
    ),
    *((decimal(3, 0), each) for each in (Decimal(1000), Decimal("999.5"))),
    (decimal(2, 2), 1),
    *((DATE, each) for each in (5, "1970-01-01")),
    *((TIMESTAMP, each) for each in (5, datetime.date(1970, 1, 1))),
    *((TIMESTAMP_NTZ, each) for each in (5, datetime.date(1970, 1, 1))),
    (STRING, b"a"),
    (BINARY, "a"),
    (BOOLEAN, 1),
]


@pytest.mark.parametrize(("data_type", "result"), NOT_GIVEN, ids=str)
def test_invalid_result_of_a_python_function_is_rejected(data_type: DataType, result: Any) -> None:
    with pytest.raises(NotAValue):
        from_python(result, data_type)


@pytest.mark.parametrize(
    ("data_type", "edge", "expected"),
    [
        (BOOLEAN, 1, True),
        (LONG, np.int64(5), 5),
        (DOUBLE, 1.5, 1.5),
        (SHORT_DECIMAL, 150, Decimal("1.50")),
        (SHORT_DECIMAL, Decimal("1.5"), Decimal("1.50")),
        (decimal(3, 0), 15, Decimal(15)),
        (WIDE, Decimal("1.5"), Decimal("1.500000")),
        (STRING, b"a", "a"),
        (STRING, "a", "a"),
        (BINARY, b"a", b"a"),
        (DATE, -1, datetime.date(1969, 12, 31)),
        (TIMESTAMP_NTZ, MICROS, NTZ),
        (TIMESTAMP, MICROS, NTZ),
    ],
    ids=str,
)
def test_edge_becomes_the_argument_of_a_python_function(
    data_type: DataType, edge: Any, expected: Any
) -> None:
    argument = to_python(edge, data_type)
    assert argument == expected
    assert type(argument) is type(expected)


@pytest.mark.parametrize(
    ("data_type", "edge"), [(STRING, b"\xff"), (DATE, 1 << 31), (TIMESTAMP, 1 << 62)]
)
def test_edge_without_a_python_value_is_rejected(data_type: DataType, edge: Any) -> None:
    with pytest.raises(NotAValue):
        to_python(edge, data_type)


@pytest.mark.parametrize("value", [True, False, None])
def test_constant_truth_set_has_one_value(value: bool | None) -> None:
    truth_set = TruthSet.constant(value)
    flags = [
        bool(each[0])
        for each in (truth_set.can_be_true, truth_set.can_be_false, truth_set.can_be_null)
    ]
    assert flags == [value is True, value is False, value is None]
    opposite = truth_set.negated()
    assert bool(opposite.can_be_true[0]) is (value is False)
    assert bool(opposite.can_be_false[0]) is (value is True)
    assert bool(opposite.can_be_null[0]) is (value is None)


def test_edges_have_the_arrow_type() -> None:
    assert edge_of([Decimal(1)], WIDE).type == pa.decimal128(38, 6)
    assert edge_of(["a"], STRING).type == pa.large_binary()
