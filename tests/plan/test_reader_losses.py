"""Constants for which Spark's Parquet reader loses rows. The filter is kept, and files are pruned."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from tamis.classification.pushdown import Pushdown
from tamis.expr.nodes import (
    And,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Value,
)
from tamis.expr.types import DATE, DOUBLE, LONG, TIMESTAMP, TIMESTAMP_NTZ, DataType, decimal
from tamis.files.segments import Segment
from tamis.files.table import ArrowStatistics
from tamis.plan.reader_losses import ReaderLoss, loses_within, loss_of
from tamis.plan.scan_decision import decide

WIDE = decimal(18, 2)
WHOLE = decimal(18, 0)
LONGEST = decimal(38, 2)


def days(text: str) -> int:
    return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()


def micros(text: str) -> int:
    return days(text) * 86_400_000_000


# Constant, type, loss.
CONSTANTS: list[tuple[Value, DataType, ReaderLoss | None]] = [
    (0.0, DOUBLE, ReaderLoss.SIGNED_ZERO),
    (-0.0, DOUBLE, ReaderLoss.SIGNED_ZERO),
    (1e-300, DOUBLE, None),
    (float("nan"), DOUBLE, None),
    (0, LONG, None),
    (1 << 40, LONG, None),
    (1_500, TIMESTAMP, ReaderLoss.SUBMILLISECOND),
    (-1, TIMESTAMP, ReaderLoss.SUBMILLISECOND),
    (-1_000, TIMESTAMP, None),
    (2_000, TIMESTAMP, None),
    (1_500, TIMESTAMP_NTZ, ReaderLoss.SUBMILLISECOND),
    (1_500, LONG, None),
    (Decimal("21474836.47"), WIDE, None),
    (Decimal("21474836.48"), WIDE, ReaderLoss.WIDE_DECIMAL),
    (Decimal("-21474836.48"), WIDE, ReaderLoss.WIDE_DECIMAL),
    (Decimal("30000000"), WIDE, ReaderLoss.WIDE_DECIMAL),
    (30000000, WIDE, ReaderLoss.WIDE_DECIMAL),
    (1, WIDE, None),
    ((1 << 31) - 1, WHOLE, None),
    (1 << 31, WHOLE, ReaderLoss.WIDE_DECIMAL),
    (days("1582-10-03"), DATE, ReaderLoss.CALENDAR_GAP),
    (days("1582-10-04"), DATE, ReaderLoss.CALENDAR_GAP),
    (days("1582-10-16"), DATE, ReaderLoss.CALENDAR_GAP),
    (days("1582-10-10"), DATE, ReaderLoss.CALENDAR_GAP),
    (days("1582-10-02"), DATE, None),
    (days("1582-10-17"), DATE, None),
    (micros("1582-10-14"), TIMESTAMP, ReaderLoss.CALENDAR_GAP),
    (micros("1582-10-17"), TIMESTAMP, None),
    (micros("1582-10-17") - 1_000, TIMESTAMP, ReaderLoss.CALENDAR_GAP),
    (micros("1582-10-03"), TIMESTAMP, ReaderLoss.CALENDAR_GAP),
    (micros("1582-10-03") - 1_000, TIMESTAMP, None),
    (None, TIMESTAMP, None),
    (None, WIDE, None),
]


def predicates(constant: Value, data_type: DataType) -> list[Expr]:
    column = Column(("c",), data_type)
    less = Compare(Comparison.LESS, column, Literal(constant, data_type))
    return [
        less,
        Not(less),
        And((IsNull(column), less)),
        Compare(Comparison.NOT_EQUAL, Literal(constant, data_type), column),
        *([] if constant is None else [In(column, (constant,), False)]),
    ]


@pytest.mark.parametrize(("constant", "data_type", "loss"), CONSTANTS)
def test_loss_of_a_constant_in_any_position(
    constant: Value, data_type: DataType, loss: ReaderLoss | None
) -> None:
    assert {loss_of(each) for each in predicates(constant, data_type)} == {loss}


@pytest.mark.parametrize("constant", [1_500, 2_000])
def test_filter_below_milliseconds_stays_in_the_residual(constant: int) -> None:
    kind = pa.timestamp("us", "UTC")
    cells = {
        "min.c": pa.array([0, 3_000], kind),
        "max.c": pa.array([1_000, 4_000], kind),
        "null_count.c": [0, 0],
    }
    files = ArrowStatistics(pa.table(cells))
    less = Compare(Comparison.LESS, Column(("c",), TIMESTAMP), Literal(constant, TIMESTAMP))
    decision = decide([less], [Segment(slice(0, 2), files)], files=2)
    assert decision.kept.tolist() == [True, False]
    is_exact = decision.conjuncts[0].pushdown is Pushdown.EXACT
    assert is_exact == (constant == 2_000)


# Lower edge, upper edge, whether the upper edge is open, whether a reader loses values of the
# interval.
INTERVALS: list[tuple[Value, Value, DataType, bool, bool]] = [
    (0, 999_999, TIMESTAMP, False, False),
    (0, 999_999, TIMESTAMP, True, True),
    (500, 2_000, TIMESTAMP, True, False),
    (500, 500, TIMESTAMP, False, False),
    (None, None, TIMESTAMP, True, False),
    (micros("1582-10-10"), None, TIMESTAMP, False, True),
    (Decimal("1"), Decimal("30000000"), WIDE, False, True),
    (Decimal("1"), Decimal("2"), WIDE, True, False),
    (Decimal("30000000"), Decimal("40000000"), WIDE, False, True),
    (Decimal("30000000"), None, WIDE, False, True),
    (Decimal("-30000000"), Decimal("1"), WIDE, False, True),
    (Decimal("-40000000"), Decimal("-30000000"), WIDE, False, True),
    (Decimal("30000000"), Decimal(10**20), decimal(38, 2), False, True),
    (Decimal(10**20), Decimal(10**21), decimal(38, 2), False, True),
    (days("1582-10-10"), days("1583-01-01"), DATE, False, True),
    # A bound at a limit is beyond it: files with 32 bits hold unscaled values from -2^31 to 2^31 - 1.
    (None, Decimal((1 << 31) - 1), WHOLE, False, False),
    (None, Decimal(1 << 31), WHOLE, False, True),
    (Decimal(1 << 31), Decimal(1 << 32), WHOLE, False, True),
    (Decimal((1 << 31) - 1), Decimal(1 << 32), WHOLE, False, True),
    (Decimal(-(1 << 31)), Decimal(1), WHOLE, False, False),
    (Decimal(-(1 << 31) - 1), Decimal(1), WHOLE, False, True),
    (Decimal(-(1 << 32)), Decimal(-(1 << 31)), WHOLE, False, True),
    (Decimal(-(1 << 32)), Decimal(-(1 << 31) - 1), WHOLE, False, True),
    (Decimal(-(1 << 32)), None, WHOLE, False, True),
    (None, Decimal("21474836.47"), LONGEST, False, False),
    (None, Decimal("21474836.48"), LONGEST, False, True),
]


@pytest.mark.parametrize(("lower", "upper", "data_type", "is_open", "loses"), INTERVALS)
def test_intervals_that_lose_rows_are_detected(
    lower: Value, upper: Value, data_type: DataType, is_open: bool, loses: bool
) -> None:
    assert loses_within(lower, upper, data_type, is_open) == loses
