"""Bounds of source columns from their partition values."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import evaluate
from tamis.evaluation.domain.bounds import Bounds
from tamis.expr.nodes import Call, Column, Compare, Comparison, Expr, IsNull, Literal
from tamis.expr.types import (
    BINARY,
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
from tamis.files.partition import PartitionField, Transform
from tamis.files.transforms import partition_bounds
from tests.cases.case import arrow_type, compare
from tests.differential.generate import partition_value

DAY = 86_400_000_000
INT = pa.int32()
#: The last day that 64 bits of microseconds hold, less one day to spare.
LAST_DAY = (1 << 63) // DAY - 1


def year_is(year: int) -> Expr:
    call = Call("Year", (Column(("day",), DATE),), (), INTEGER)
    return Compare(Comparison.EQUAL, call, Literal(year, INTEGER))


def bounds(data_type: DataType, transform: str, values: list[Any], arrow: Any) -> Bounds:
    parsed = Transform.parse(transform)
    assert parsed is not None
    return partition_bounds(data_type, parsed, pa.array(values, arrow))


def edges(bounds: Bounds) -> tuple[Any, Any]:
    if bounds.lower is None or bounds.upper is None:
        return None, None
    if isinstance(bounds.lower, pa.Array):
        return bounds.lower.to_pylist()[0], bounds.upper.to_pylist()[0]
    known = bounds.lower_known is None or bool(bounds.lower_known[0])
    return (bounds.lower.tolist()[0], bounds.upper.tolist()[0]) if known else (None, None)


@pytest.mark.parametrize(
    ("data_type", "transform", "value", "arrow", "expected"),
    [
        (DATE, "day", -1, INT, (-1, -1)),
        (DATE, "day", -1, pa.date32(), (-1, -1)),
        # Up to 0: also the period before, where writers that round toward zero file values.
        (DATE, "month", -1, INT, (-61, -1)),
        (DATE, "month", 0, INT, (-31, 30)),
        (DATE, "month", 1, INT, (31, 58)),
        (DATE, "year", -1, INT, (-731, -1)),  # 1968 is a leap year
        (DATE, "year", 2, INT, (730, 1095)),  # 1972 is a leap year
        (DATE, "year", -69, INT, (-25_567, -24_838)),  # 1900 is not a leap year
        (DATE, "hour", 0, INT, (None, None)),
        (DATE, "year", 0, pa.date32(), (None, None)),
        (TIMESTAMP, "day", 1, INT, (DAY, 2 * DAY - 1)),
        (TIMESTAMP, "day", 0, INT, (-DAY, DAY - 1)),
        (TIMESTAMP, "day", -1, INT, (-2 * DAY, -1)),
        (TIMESTAMP, "hour", 1, INT, (3_600_000_000, 7_199_999_999)),
        (TIMESTAMP, "hour", -1, INT, (-7_200_000_000, -1)),
        (TIMESTAMP_NTZ, "month", -1, INT, (-61 * DAY, -1)),
        (TIMESTAMP, "year", 300_000, INT, (None, None)),  # beyond 64 bits of microseconds
        (TIMESTAMP, "year", (1 << 31) - 1, INT, (None, None)),
        (TIMESTAMP, "day", -(1 << 31), INT, (None, None)),
        (TIMESTAMP, "hour", (1 << 62), pa.int64(), (None, None)),
        (TIMESTAMP, "day", "x", pa.string(), (None, None)),
        (LONG, "day", 0, INT, (None, None)),
        (DATE, "day", -(1 << 31), INT, (-(1 << 31), -(1 << 31))),
        (DATE, "day", (1 << 31) - 1, INT, ((1 << 31) - 1, (1 << 31) - 1)),
        (TIMESTAMP, "day", LAST_DAY - 1, INT, ((LAST_DAY - 1) * DAY, LAST_DAY * DAY - 1)),
        (TIMESTAMP, "day", 1 - LAST_DAY, INT, (-LAST_DAY * DAY, (2 - LAST_DAY) * DAY - 1)),
        (BYTE, "truncate[127]", 0, INT, (0, 126)),
        (BYTE, "truncate[4]", 124, INT, (124, 127)),
        (LONG, "truncate[3]", (1 << 63) - 2, pa.int64(), ((1 << 63) - 2, (1 << 63) - 1)),
        (
            decimal(20, 0),
            "truncate[10]",
            Decimal(10),
            pa.decimal128(20, 0),
            (Decimal(10), Decimal(19)),
        ),
        (INTEGER, "truncate[10]", -10, INT, (-10, -1)),
        (INTEGER, "truncate[10]", 7, INT, (None, None)),  # not a multiple of 10
        (INTEGER, "truncate[10]", 2_147_483_640, INT, (2_147_483_640, 2_147_483_647)),
        (LONG, "truncate[4]", (1 << 63) - 4, pa.int64(), ((1 << 63) - 4, (1 << 63) - 1)),
        (decimal(9, 2), "truncate[50]", Decimal("-0.50"), pa.decimal128(9, 2), (-50, -1)),
        (
            decimal(30, 1),
            "truncate[50]",
            Decimal("5.0"),
            pa.decimal128(30, 1),
            (Decimal("5.0"), Decimal("9.9")),
        ),
        (STRING, "truncate[2]", "a", pa.string(), (b"a", b"a")),
        (STRING, "truncate[2]", "ab", pa.string(), (b"ab", b"ac")),
        (
            STRING,
            "truncate[2]",
            "a\U0010ffff",
            pa.string(),
            (b"a\xf4\x8f\xbf\xbf", b"a\xf4\x8f\xbf\xc0"),
        ),
        (STRING, "truncate[2]", "éé", pa.string(), ("éé".encode(), b"\xc3\xa9\xc3\xaa")),
        (STRING, "truncate[2]", "abc", pa.string(), (None, None)),
        (STRING, "truncate[2]", "", pa.string(), (b"", b"")),
        (BINARY, "truncate[2]", b"a\xff", pa.binary(), (b"a\xff", b"b")),
        (BINARY, "truncate[2]", b"\xff\xff", pa.binary(), (b"\xff\xff", None)),
        (LONG, "identity", 5, pa.int64(), (5, 5)),
        (DOUBLE, "identity", 1.5, pa.float64(), (1.5, 1.5)),
        (DATE, "truncate[2]", 0, pa.date32(), (None, None)),
        (LONG, "void", None, pa.int64(), (None, None)),
        (LONG, "bucket[4]", 3, INT, (None, None)),
    ],
)
def test_partition_value_bounds_its_source(
    data_type: DataType, transform: str, value: Any, arrow: Any, expected: tuple[Any, Any]
) -> None:
    assert edges(bounds(data_type, transform, [value], arrow)) == expected


@pytest.mark.parametrize("transform", ["identity", "bucket[4]", "truncate[2]"])
def test_partition_value_excludes_null(transform: str) -> None:
    arrow = INT if transform == "bucket[4]" else pa.int64()
    assert bounds(LONG, transform, [2, None], arrow).can_be_null.tolist() == [False, True]


def test_void_does_not_exclude_null() -> None:
    assert bounds(LONG, "void", [2], pa.int64()).can_be_null.all()


def test_bucket_out_of_range_is_corrupt() -> None:
    assert bounds(LONG, "bucket[4]", [4, -1, 3], INT).can_be_null.tolist() == [True, True, False]


def test_identity_partition_of_nan_has_only_nan() -> None:
    nan_bounds = bounds(DOUBLE, "identity", [math.nan, 1.0, None], pa.float64())
    assert nan_bounds.can_be_nan.tolist() == [True, False, True]
    assert nan_bounds.can_be_value.tolist() == [False, True, True]


@pytest.mark.parametrize(
    "text", ["", "bucket", "bucket[0]", "bucket[-1]", "truncate[]", "bucket[4", "days", None, 5]
)
def test_unknown_transform_is_rejected(text: Any) -> None:
    assert Transform.parse(text) is None


SOURCES = {
    "day": (TIMESTAMP, st.integers(-(1 << 62), 1 << 62)),
    "hour": (TIMESTAMP, st.integers(-(1 << 62), 1 << 62)),
    "month": (DATE, st.integers(-719_162, 2_932_896)),
    "year": (TIMESTAMP, st.integers(-719_162 * DAY, 2_932_896 * DAY)),
    "truncate[7]": (INTEGER, st.integers(-(1 << 31), (1 << 31) - 1)),
    "truncate[3]": (STRING, st.text(max_size=5)),
    "truncate[2]": (BINARY, st.binary(max_size=4)),
}


@given(st.data())
def test_every_value_lies_in_its_partition(data: st.DataObject) -> None:
    transform = data.draw(st.sampled_from(sorted(SOURCES)))
    data_type, values = SOURCES[transform]
    value = data.draw(values)
    column = Column(("c",), data_type)
    cell = partition_value(PartitionField("c", transform, "p"), [column], {("c",): value})
    arrow = arrow_type(data_type) if transform.startswith("truncate") else INT
    lower, upper = edges(bounds(data_type, transform, [cell], arrow))
    stored = value.encode() if isinstance(value, str) else value
    assert lower is None or lower <= stored
    assert upper is None or stored <= upper
    assert transform == "truncate[7]" or cell is None or lower is not None


@given(st.sampled_from(["year", "month", "day", "hour"]), st.integers(-(1 << 55), 1 << 55))
def test_value_lies_in_the_partition_of_writers_that_round_toward_zero(
    transform: str, value: int
) -> None:
    """Before 1970 such a writer files a value one period late, except at the start of a period."""
    column = Column(("c",), TIMESTAMP)
    field = PartitionField("c", transform, "p")
    cell = partition_value(field, [column], {("c",): value})
    before = partition_value(field, [column], {("c",): value - 1})
    if cell is None or before is None:
        return
    late = cell + 1 if cell < 0 and cell == before else cell
    lower, upper = edges(bounds(TIMESTAMP, transform, [late], INT))
    assert lower <= value <= upper


def test_null_cell_may_be_a_file_of_another_spec() -> None:
    # A file of another spec has no value for the field, so its cell is also null.
    spec = [PartitionField("c", "identity", "p"), PartitionField("c", "truncate[10]", "q")]
    files = pa.table(
        {
            "partition.p": pa.array([5, None, None, None], pa.int64()),
            "partition.q": pa.array([None, 0, None, None], pa.int64()),
            "null_count.c": [None, None, None, 3],
            "num_records": [3, 3, 3, 3],
        }
    )
    column = Column(("c",), LONG)
    assert evaluate(compare("=", column, 5), files, spec).to_pylist() == [
        "all", "some", "some", "none"
    ]  # fmt: skip
    assert evaluate(IsNull(column), files, spec).to_pylist() == ["none", "none", "some", "all"]
    assert evaluate(compare("<", column, 10), files, spec).to_pylist() == [
        "all", "all", "some", "none"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("transform", "cell", "predicate", "expected"),
    [
        # Functions of the source column prune by its bounds.
        ("month", 25 * 12 + 3, year_is(1995), "all"),
        ("month", 26 * 12, year_is(1995), "none"),
        ("year", 25, year_is(1995), "all"),
        ("year", 26, year_is(1995), "none"),
        ("day", 9131, year_is(1994), "none"),
        ("day", 9131, year_is(1995), "all"),
        ("bucket[4]", 1, year_is(1995), "some"),
        ("void", None, year_is(1995), "some"),
        ("zorder[4]", 1, year_is(1995), "some"),
        # The public text of a transform is exact. Only Iceberg's transforms are accepted.
        ("Year", 25, year_is(1996), "some"),
    ],
)
def test_functions_of_the_source_prune(
    transform: str, cell: Any, predicate: Expr, expected: str
) -> None:
    files = pa.table({"partition.p": pa.array([cell], INT)})
    spec = [PartitionField("day", transform, "p")]
    assert evaluate(predicate, files, spec).to_pylist() == [expected]


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("bucket[1]", True),
        ("bucket[0]", False),
        ("bucket[2147483647]", True),
        ("bucket[2147483648]", False),
        ("truncate[2147483647]", True),
        ("truncate[9999999999]", False),
        ("bucket", False),
        ("bucket[-1]", False),
        ("day", True),
        ("days", False),
        (5, False),
    ],
)
def test_transforms_are_written_as_they_are_parsed(text: object, is_known: bool) -> None:
    parsed = Transform.parse(text)
    assert (parsed is not None) == is_known
    if parsed is not None:
        assert str(parsed) == text


@pytest.mark.parametrize("value", [(1 << 63) - 8, (1 << 63) - 4, -(1 << 63), -(1 << 63) + 4])
def test_truncated_numbers_at_the_ends_of_64_bits(value: int) -> None:
    expected = (value, value + 3)
    assert edges(bounds(LONG, "truncate[4]", [value], pa.int64())) == expected
    assert edges(bounds(LONG, "truncate[4]", [value + 1], pa.int64())) == (None, None)


def test_truncated_numbers_beyond_their_type_are_clipped() -> None:
    # The partition is 2147483640 .. 2147483649, and the type ends at 2147483647.
    greatest = (1 << 31) - 1
    assert edges(bounds(INTEGER, "truncate[10]", [2_147_483_640], INT)) == (2_147_483_640, greatest)
    assert edges(bounds(INTEGER, "truncate[10]", [-2_147_483_650], pa.int64())) == (
        -(1 << 31),
        -2_147_483_641,
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("0.0"), (Decimal("0.0"), Decimal("4.9"))),
        (Decimal("-5.0"), (Decimal("-5.0"), Decimal("-0.1"))),
        (Decimal("2.0"), (None, None)),  # not a multiple of 5.0
    ],
)
def test_truncated_long_decimals(value: Decimal, expected: tuple[Any, Any]) -> None:
    found = bounds(decimal(30, 1), "truncate[50]", [value], pa.decimal128(30, 1))
    assert edges(found) == expected


def test_nan_partition_holds_only_nan() -> None:
    found = bounds(DOUBLE, "identity", [math.nan, 1.5, None], pa.float64())
    assert found.can_be_nan.tolist() == [True, False, True]
    assert found.can_be_value.tolist() == [False, True, True]
