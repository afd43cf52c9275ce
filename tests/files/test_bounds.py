"""Raw statistics as bounds: one row of the table per container."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.intersection import intersect
from tamis.expr.types import (
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
from tamis.files.bounds import column_bounds, constant_bounds

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


def bounds_of(
    data_type: DataType,
    minimum: Any = None,
    maximum: Any = None,
    nulls: Any = None,
    nans: Any = None,
    records: Any = None,
) -> Bounds:
    columns = (minimum, maximum, nulls, nans, records)
    return column_bounds(
        data_type,
        *(
            each if each is None or isinstance(each, pa.Array) else pa.array(each)
            for each in columns
        ),
    )


def is_unknown(bounds: Bounds) -> bool:
    nothing_known = bounds.lower is None or not (
        bounds.lower_known is None or bounds.lower_known.any()
    )
    return bool(
        nothing_known
        and bounds.can_be_null.all()
        and bounds.can_be_value.all()
        and (bounds.can_be_nan.all() or not bounds.type.is_floating)
    )


def test_null_cell_is_the_end_of_the_type_and_unknown() -> None:
    bounds = bounds_of(BYTE, [5, None], [None, 7])
    assert bounds.lower is not None
    assert bounds.upper is not None
    assert bounds.lower.tolist() == [5, -128]
    assert bounds.upper.tolist() == [127, 7]
    assert bounds.lower_known is not None
    assert bounds.lower_known.tolist() == [True, False]


@pytest.mark.parametrize(
    ("nulls", "nans", "records", "expected"),
    [
        # NULL, NaN, value
        (None, None, None, (True, True, True)),
        (0, None, None, (False, True, True)),
        (0, 0, 5, (False, False, True)),
        (2, 0, 5, (True, False, True)),
        (5, 0, 5, (True, False, False)),
        (5, None, 5, (True, False, False)),
        (0, 5, 5, (False, True, False)),
        (None, 5, 5, (False, True, False)),
        (2, 3, 5, (True, True, False)),
        (None, None, 5, (True, True, True)),
        # Contradictions.
        (6, 0, 5, (True, True, True)),
        (3, 3, 5, (True, True, True)),
        (-1, 0, 5, (True, True, True)),
        (0, -1, 5, (True, True, True)),
        (GREATEST, GREATEST, 5, (True, True, True)),
        (0, 0, -1, (False, False, True)),
    ],
)
def test_flags_follow_from_counts(
    nulls: Any, nans: Any, records: Any, expected: tuple[bool, bool, bool]
) -> None:
    bounds = bounds_of(
        DOUBLE,
        nulls=pa.array([nulls], pa.int64()),
        nans=pa.array([nans], pa.int64()),
        records=pa.array([records], pa.int64()),
    )
    assert (bounds.can_be_null[0], bounds.can_be_nan[0], bounds.can_be_value[0]) == expected


@pytest.mark.parametrize(
    "bounds",
    [
        bounds_of(LONG, [7], [3], [0]),
        bounds_of(DOUBLE, [math.nan], [3.0], [0], [0]),
        bounds_of(DOUBLE, [1.0], [math.nan], [0], [0]),
        bounds_of(STRING, ["b"], ["a"], [0]),
        bounds_of(LONG, [1], [3], [5], records=[5]),
        bounds_of(STRING, ["a"], None, [5], records=[5]),
        bounds_of(DOUBLE, [1.0], [3.0], [1], [3], records=[3]),
        bounds_of(DOUBLE, [1.0], [3.0], [4], [0], records=[3]),
        bounds_of(BYTE, [-129], [3], [0]),
        bounds_of(BYTE, [1], [128], [0]),
        bounds_of(LONG, ["1"], ["3"], [0]),
        bounds_of(LONG, [1.0], [3.0], [0]),
        bounds_of(BOOLEAN, [0], [1], [0]),
        bounds_of(STRING, [1], [3], [0]),
        bounds_of(DOUBLE, pa.array([1], pa.int64()), pa.array([3], pa.int64()), [0], [0]),
        bounds_of(DATE, pa.array([1], pa.timestamp("us")), pa.array([3], pa.timestamp("us")), [0]),
        bounds_of(TIMESTAMP_NTZ, pa.array([1], pa.timestamp("us", "UTC")), None, [0]),
        bounds_of(INTEGER, pa.array([[1]]), None, [0]),
    ],
)
def test_corrupt_column_is_unknown(bounds: Bounds) -> None:
    assert is_unknown(bounds)


@pytest.mark.parametrize(
    ("minimum", "maximum", "nulls"),
    [
        ([7, 1], [3, 3], [0, 0]),
        ([-129, 1], [3, 3], [0, 0]),
        ([1, 1], [128, 3], [0, 0]),
        ([1, 1], [3, 3], [-1, 0]),
        ([1, 1], [3, 3], [11, 0]),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_corrupt_container_does_not_affect_the_others(
    minimum: list[int], maximum: list[int], nulls: list[int], is_first: bool
) -> None:
    """The first of two containers is corrupt, or with the order reversed the second."""
    order = 1 if is_first else -1
    bounds = bounds_of(BYTE, minimum[::order], maximum[::order], nulls[::order], None, [10, 10])
    assert bounds.lower is not None
    assert bounds.upper is not None
    assert bounds.lower.tolist()[::order] == [-128, 1]
    assert bounds.upper.tolist()[::order] == [127, 3]
    assert bounds.can_be_null.tolist()[::order] == [True, False]


@pytest.mark.parametrize("minimum", [["a", None], None])
@pytest.mark.parametrize("maximum", [["c", "b"], None])
def test_strings_may_have_one_edge_only(minimum: Any, maximum: Any) -> None:
    bounds = bounds_of(STRING, minimum, maximum, [0, 0])
    for edge, values in ((bounds.lower, minimum), (bounds.upper, maximum)):
        expected = values and [None if each is None else each.encode() for each in values]
        assert (edge if edge is None else edge.to_pylist()) == expected


@pytest.mark.parametrize(
    ("data_type", "minimum", "maximum", "expected"),
    [
        (TIMESTAMP, pa.array([-1], pa.timestamp("ns")), pa.array([1], pa.timestamp("ns")), (-1, 1)),
        (
            TIMESTAMP,
            pa.array([-1], pa.timestamp("ms")),
            pa.array([1], pa.timestamp("s")),
            (-1_000, 1_000_000),
        ),
        (
            TIMESTAMP_NTZ,
            pa.array([-1], pa.timestamp("us")),
            pa.array([1], pa.timestamp("us")),
            (-1, 1),
        ),
        (DATE, pa.array([-86_400_000], pa.date64()), pa.array([86_400_000], pa.date64()), (-1, 1)),
        (BOOLEAN, [False], [True], (0, 1)),
        (LONG, pa.array([1], pa.uint8()), pa.array([3], pa.int32()), (1, 3)),
        (DOUBLE, pa.array([1], pa.int32()), pa.array([1.5], pa.float32()), (1.0, 1.5)),
        (
            FLOAT,
            pa.array([1.1], pa.float32()),
            pa.array([1.1], pa.float32()),
            (1.100000023841858,) * 2,
        ),
        (decimal(9, 2), pa.array([Decimal("-1.5")]), pa.array([Decimal("1.555")]), (-150, 156)),
        (decimal(9, 2), pa.array([Decimal("-1.555")]), pa.array([3]), (-156, 300)),
        (decimal(9, 2), pa.array([Decimal("1.5")], pa.decimal256(40, 1)), None, (150, GREATEST)),
    ],
)
def test_statistics_of_other_arrow_types_are_rounded_outwards(
    data_type: DataType, minimum: Any, maximum: Any, expected: tuple[Any, Any]
) -> None:
    bounds = bounds_of(data_type, minimum, maximum, [0])
    lower = bounds.lower.tolist()[0] if bounds.lower is not None else None
    upper = bounds.upper.tolist()[0] if bounds.upper is not None else GREATEST
    assert (lower, upper) == expected


def test_doubles_are_rounded_outwards_to_floats() -> None:
    bounds = bounds_of(FLOAT, [1.1], [1.1], [0], [0])
    assert bounds.lower is not None
    assert bounds.upper is not None
    above = np.float32(1.1)  # the nearest float, 1.10000002
    assert bounds.upper.tolist() == [float(above)]
    assert bounds.lower.tolist() == [float(np.nextafter(above, np.float32(0)))]


@pytest.mark.parametrize("scale", [9, 2])
def test_sliced_decimals_have_their_own_unscaled_values(scale: int) -> None:
    values = [Decimal(n).scaleb(-2) for n in (-3, 1, 2)] + [None]
    whole = pa.array(values, pa.decimal128(9 + scale, scale)).slice(1)
    bounds = bounds_of(decimal(9, 2), whole, whole)
    assert bounds.lower is not None
    assert bounds.lower.tolist() == [1, 2, LEAST]


def test_values_beyond_64_bits_are_unknown() -> None:
    large = pa.array([Decimal(10**30), Decimal(1)], pa.decimal128(38, 0))
    bounds = bounds_of(decimal(9, 2), large, None)
    assert bounds.lower is not None
    assert bounds.lower.tolist() == [LEAST, 100]


def test_constant_null_means_every_row_is_null() -> None:
    bounds = constant_bounds(DOUBLE, pa.array([1.5, None, math.nan]))
    assert bounds.can_be_null.tolist() == [False, True, False]
    assert bounds.can_be_nan.tolist() == [False, False, True]
    assert bounds.can_be_value.tolist() == [True, False, False]


def test_constant_of_another_type_is_unknown() -> None:
    assert is_unknown(constant_bounds(LONG, pa.array(["a"])))
    assert is_unknown(constant_bounds(DOUBLE, pa.array(["a"])))


def test_intersection_of_strings_has_the_tighter_edges() -> None:
    intersection = intersect(
        bounds_of(STRING, ["a", "x"], ["m", None]), bounds_of(STRING, ["c", "a"], [None, "b"])
    )
    assert intersection.lower is not None
    assert intersection.upper is not None
    assert intersection.lower.to_pylist() == [b"c", None]
    assert intersection.upper.to_pylist() == [b"m", None]


def test_intersection_of_contradictory_bounds_is_unknown() -> None:
    only_null = bounds_of(LONG, nulls=[5], records=[5])
    assert is_unknown(intersect(only_null, bounds_of(LONG, [1], [2], [0])))
