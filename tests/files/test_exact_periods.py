"""The periods of partition values: their first and last values."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.expr.types import DATE, INTEGER, LONG, TIMESTAMP, TIMESTAMP_NTZ, DataType
from tamis.files.partition import Transform
from tamis.files.transforms import partition_bounds

DAY = 86_400_000_000
HOUR = DAY // 24
ORDINALS = (-730, -25, -13, -12, -2, -1, 0, 1, 2, 11, 12, 13, 54, 365, 648)


def month_start(index: int) -> int:
    year, month = divmod(index + 1970 * 12, 12)
    return datetime.date(year, month + 1, 1).toordinal() - datetime.date(1970, 1, 1).toordinal()


def start_of(transform: str, ordinal: int, data_type: DataType) -> int:
    """Return the first value of a period."""
    if transform == "hour":
        return ordinal * HOUR
    if transform == "day":
        days = ordinal
    else:
        days = month_start(ordinal * 12 if transform == "year" else ordinal)
    return days if data_type == DATE else days * DAY


def periods(
    transform: str, data_type: DataType, values: list[int | None], arrow: Any = None
) -> list[Any]:
    parsed = Transform.parse(transform)
    assert parsed is not None
    bounds = partition_bounds(data_type, parsed, pa.array(values, arrow or pa.int32()))
    if bounds.lower is None or bounds.upper is None:
        return [None] * len(values)
    known_flags = (
        [True] * len(values) if bounds.lower_known is None else bounds.lower_known.tolist()
    )
    nulls = np.broadcast_to(bounds.can_be_null, len(values)).tolist()
    edges = zip(bounds.lower.tolist(), bounds.upper.tolist(), known_flags, nulls, strict=True)
    assert all(is_known is not null for _, _, is_known, null in edges)
    edges = zip(bounds.lower.tolist(), bounds.upper.tolist(), known_flags, nulls, strict=True)
    return [(low, high) if is_known else None for low, high, is_known, _ in edges]


@pytest.mark.parametrize("data_type", [DATE, TIMESTAMP, TIMESTAMP_NTZ], ids=str)
@pytest.mark.parametrize("transform", ["year", "month", "day", "hour"])
def test_period_spans_its_first_to_its_last_value(transform: str, data_type: DataType) -> None:
    """Up to 0, a writer may have filed a value one period late, except for the day of a date."""
    if transform == "hour" and data_type == DATE:
        assert periods(transform, data_type, [1, 2]) == [None, None]
        return
    ordinals = [each for each in ORDINALS if transform not in ("year",) or -200 < each < 200]
    is_late = not (transform == "day" and data_type == DATE)
    expected = [
        (
            start_of(transform, each - 1 if is_late and each <= 0 else each, data_type),
            start_of(transform, each + 1, data_type) - 1,
        )
        for each in ordinals
    ]
    assert periods(transform, data_type, ordinals) == expected
    assert periods(transform, data_type, [*ordinals, None]) == [*expected, None]
    for ordinal, each in zip(ordinals, expected, strict=True):
        assert periods(transform, data_type, [ordinal]) == [each]


@pytest.mark.parametrize(
    ("transform", "data_type", "least", "greatest"),
    [
        ("day", DATE, -(1 << 31), (1 << 31) - 1),
        ("day", TIMESTAMP, -106_751_990, 106_751_990),
        ("hour", TIMESTAMP, -106_751_990 * 24, 106_751_990 * 24),
    ],
)
def test_periods_at_the_ends_of_the_type(
    transform: str, data_type: DataType, least: int, greatest: int
) -> None:
    size = {"day": 1 if data_type == DATE else DAY, "hour": HOUR}[transform]
    for ordinal in (least + 30, greatest - 30):
        late = int(ordinal <= 0 and data_type != DATE)
        expected = ((ordinal - late) * size, (ordinal + 1) * size - 1)
        assert periods(transform, data_type, [ordinal], pa.int64()) == [expected]
    if data_type != DATE:
        for ordinal in (least - 30, greatest + 30, 1 << 62, -(1 << 62)):
            assert periods(transform, data_type, [ordinal], pa.int64()) == [None]


@pytest.mark.parametrize("ordinal", [20_000_000, -20_000_000, 1 << 31, -(1 << 40), 1 << 62])
def test_years_beyond_the_date_range_are_unknown(ordinal: int) -> None:
    for data_type in (DATE, TIMESTAMP):
        for transform in ("year", "month"):
            if transform == "month" and abs(ordinal) == 20_000_000 and data_type == DATE:
                continue
            assert periods(transform, data_type, [ordinal, 5], pa.int64())[0] is None
            assert periods(transform, data_type, [ordinal, 5], pa.int64())[1] is not None


@pytest.mark.parametrize("width", [1, 2, 7, 10])
@pytest.mark.parametrize("data_type", [INTEGER, LONG], ids=str)
def test_truncated_numbers_span_their_width(data_type: DataType, width: int) -> None:
    least, greatest = data_type.domain
    values = [*range(-25, 26), greatest - greatest % width, least - least % width + width]
    expected = [
        (each, min(each + width - 1, greatest)) if each % width == 0 else None for each in values
    ]
    assert periods(f"truncate[{width}]", data_type, list(values), pa.int64()) == expected


@pytest.mark.parametrize("arrow", [pa.string(), pa.float64(), pa.bool_()], ids=str)
def test_ordinals_of_other_types_are_unknown(arrow: pa.DataType) -> None:
    values: list[Any] = {pa.string(): ["1"], pa.float64(): [1.0]}.get(arrow, [True])
    for transform in ("year", "month", "day", "hour", "bucket[4]"):
        parsed = Transform.parse(transform)
        assert parsed is not None
        bounds_of_ordinals = partition_bounds(TIMESTAMP, parsed, pa.array(values, arrow))
        assert bounds_of_ordinals.lower is None
        assert bounds_of_ordinals.can_be_null.all()
        assert not bounds_of_ordinals.buckets
