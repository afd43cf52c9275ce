"""Constants as edges, and types whose edges can be compared."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.edge_values import comparable, edge_of
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
    DataType,
    decimal,
)

LENGTHS = (1, 8, 9, 40)
EDGES: list[tuple[DataType, Any, Any]] = [
    (LONG, lambda n: n - 3, lambda n: n - 3),
    (BYTE, lambda n: n, lambda n: n),
    (DATE, lambda n: n - 20, lambda n: n - 20),
    (BOOLEAN, lambda n: n % 2 == 0, lambda n: int(n % 2 == 0)),
    (DOUBLE, lambda n: n / 4, lambda n: n / 4),
    (DOUBLE, lambda n: n, float),
    (FLOAT, lambda n: n / 10, lambda n: float(np.float32(n / 10))),
    (STRING, lambda n: f"é{n}", lambda n: f"é{n}".encode()),
    (BINARY, lambda n: bytes([n]), lambda n: bytes([n])),
    (decimal(9, 2), lambda n: Decimal(n).scaleb(-2), lambda n: n),
    (decimal(9, 2), lambda n: n, lambda n: 100 * n),
    (decimal(18, 0), lambda n: n, lambda n: n),
    (decimal(30, 2), lambda n: Decimal(n), lambda n: Decimal(n).quantize(Decimal("0.01"))),
    (decimal(30, 2), lambda n: n, lambda n: Decimal(n).quantize(Decimal("0.01"))),
]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("case", range(len(EDGES)))
def test_constants_become_an_edge_in_their_order(case: int, length: int) -> None:
    data_type, of, stored = EDGES[case]
    edge = edge_of([of(n) for n in range(length)], data_type)
    values = edge.tolist() if isinstance(edge, np.ndarray) else edge.to_pylist()
    assert values == [stored(n) for n in range(length)]
    if not isinstance(edge, np.ndarray):
        wide = pa.decimal128(38, 2)
        assert edge.type == (wide if data_type.is_decimal else pa.large_binary())


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(
    ("data_type", "good", "wrong", "error"),
    [
        (LONG, 1, 1.5, TypeError),
        (LONG, 1, True, TypeError),
        (LONG, 1, "1", TypeError),
        (LONG, 1, 1 << 63, OverflowError),
        (BYTE, 1, 128, OverflowError),
        (BYTE, 1, -129, OverflowError),
        (BOOLEAN, True, 1, TypeError),
        (DATE, 1, "1970-01-01", TypeError),
        (STRING, "a", b"a", TypeError),
        (BINARY, b"a", "a", TypeError),
        (DOUBLE, 1.5, "1.5", TypeError),
        (DOUBLE, 1.5, True, TypeError),
        (decimal(9, 2), Decimal("1.50"), 1.5, TypeError),
        (decimal(9, 2), Decimal("1.50"), Decimal("1.505"), ValueError),
        (decimal(9, 2), Decimal("1.50"), True, TypeError),
        (decimal(30, 2), Decimal("1.50"), "1.50", TypeError),
    ],
)
def test_constants_of_another_type_are_an_error(
    data_type: DataType, good: Any, wrong: Any, error: type[Exception], length: int
) -> None:
    for place in {0, length - 1}:
        values = [good] * length
        values[place] = wrong
        with pytest.raises(error):
            edge_of(values, data_type)


COMPARABLE = [
    (LONG, LONG, True),
    (BYTE, LONG, True),
    (FLOAT, DOUBLE, True),
    (INTEGER, DOUBLE, False),
    (STRING, BINARY, False),
    (DATE, TIMESTAMP, False),
    (DATE, INTEGER, False),
    (BOOLEAN, INTEGER, False),
    (decimal(9, 2), decimal(12, 2), True),
    (decimal(9, 2), decimal(9, 3), False),
    (decimal(18, 2), decimal(19, 2), False),  # 64 bits, and more
    (decimal(20, 2), decimal(30, 2), True),
    (decimal(9, 0), LONG, False),
    (decimal(9, 0), INTEGER, False),
]


@pytest.mark.parametrize(("left", "right", "expected"), COMPARABLE)
def test_types_with_the_same_form_and_order_are_comparable(
    left: DataType, right: DataType, expected: bool
) -> None:
    assert comparable(left, right) == comparable(right, left) == expected
