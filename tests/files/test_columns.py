"""Edges of columns at the limits of 64 bits, in every Arrow type."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.files.columns import (
    NotLossless,
    Side,
    bytes_edge,
    count_column,
    decimal_edge,
    number_edge,
    plain,
)

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
SHORT_DECIMAL, LONG_SCALE, WIDE = decimal(9, 2), decimal(18, 18), decimal(30, 6)
_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}


def edge(array: pa.Array, data_type: DataType, side: Side = Side.LOWER) -> list[Any]:
    """Return the values. None where unknown."""
    values, valid = number_edge(array, data_type, side)
    known_flags = (
        [True] * len(array) if valid is None else np.broadcast_to(valid, len(array)).tolist()
    )
    return [
        value if is_known else None
        for value, is_known in zip(values.tolist(), known_flags, strict=True)
    ]


@pytest.mark.parametrize("unit", _UNIT)
def test_timestamps_of_every_unit_are_converted(unit: str) -> None:
    factor = _UNIT[unit]
    limit = GREATEST // factor
    values = [0, 1, -1, limit, -limit, None]
    array = pa.array(values, pa.timestamp(unit))
    expected = [None if each is None else each * factor for each in values]
    assert edge(array, TIMESTAMP_NTZ) == expected
    if factor > 1:
        beyond = pa.array([limit + 1, -limit - 1, 5], pa.timestamp(unit))
        assert edge(beyond, TIMESTAMP) == [None, None, 5 * factor]


@pytest.mark.parametrize("side", Side, ids=str)
def test_nanoseconds_and_milliseconds_are_rounded_outwards(side: Side) -> None:
    values = [0, 1, 999, 1_000, -1, -1_000, -1_001]
    rounded = edge(pa.array(values, pa.timestamp("ns")), TIMESTAMP_NTZ, side)
    down, up = [each // 1_000 for each in values], [-(-each // 1_000) for each in values]
    assert rounded == (down if side is Side.LOWER else up)
    day = 86_400_000
    # Arrow's millisecond date should be a whole day. Other values are rounded outwards.
    array = pa.array([0, day, -day, 5 * day], pa.int64()).cast(pa.date64())
    assert edge(array, DATE, side) == [0, 1, -1, 5]


@pytest.mark.parametrize("side", Side, ids=str)
@pytest.mark.parametrize(
    "arrow",
    [pa.decimal128(38, 4), pa.decimal256(60, 4), pa.decimal64(18, 4), pa.decimal32(9, 4)],
    ids=str,
)
def test_decimals_of_another_scale_are_rounded_outwards(side: Side, arrow: pa.DataType) -> None:
    values = [
        Decimal(each).scaleb(-4) for each in (0, 1, 99, 100, 101, -1, -99, -100, -101, 12_345)
    ]
    array = pa.array([None, *values], arrow)
    down = [int(each.scaleb(2).to_integral_value("ROUND_FLOOR")) for each in values]
    up = [int(each.scaleb(2).to_integral_value("ROUND_CEILING")) for each in values]
    for part, expected in ((array, [None]), (array.slice(1), [])):
        rounded = edge(part, SHORT_DECIMAL, side)
        assert rounded == [*expected, *(down if side is Side.LOWER else up)]
    assert edge(array.slice(3, 2), decimal(9, 4), side) == [99, 100]
    assert edge(array.slice(3, 2), decimal(9, 6), side) == [9_900, 10_000]
    assert edge(array.slice(3, 2), decimal(9, 4), side) == edge(array, decimal(9, 4), side)[3:5]


@pytest.mark.parametrize("arrow", [pa.decimal128(38, 0), pa.decimal256(60, 0)], ids=str)
def test_decimals_beyond_64_bits_are_unknown(arrow: pa.DataType) -> None:
    limit = GREATEST // 100
    values = [limit, -limit, limit + 1, -limit - 1, 1 << 63, -(1 << 63) - 1, 1 << 70, -(1 << 70), 0]
    values += [GREATEST, LEAST, 1 << 62, -(1 << 62), -(1 << 62) - 1, (1 << 64) + 5, -(1 << 64) - 5]
    array = pa.array([Decimal(each) for each in values], arrow)
    expected = [100 * each if abs(each) <= limit else None for each in values]
    assert edge(array, SHORT_DECIMAL) == expected
    plain_scale = [each if LEAST <= each <= GREATEST else None for each in values]
    assert edge(array, decimal(18, 0)) == plain_scale


def test_whole_numbers_are_converted_to_decimals() -> None:
    limit = GREATEST // 10**18
    values = [0, 1, -1, limit, -limit, limit + 1, -limit - 1]
    expected = [each * 10**18 if abs(each) <= limit else None for each in values]
    assert edge(pa.array(values), LONG_SCALE) == expected
    assert edge(pa.array([7, -7], pa.int8()), SHORT_DECIMAL) == [700, -700]


def test_unsigned_numbers_beyond_63_bits_are_unknown() -> None:
    array = pa.array([0, GREATEST, GREATEST + 1, None], pa.uint64())
    assert edge(array, LONG) == [0, GREATEST, None, None]
    assert edge(pa.array([200], pa.uint8()), LONG) == [200]


@pytest.mark.parametrize("side", Side, ids=str)
def test_doubles_are_rounded_outwards_to_floats(side: Side) -> None:
    values = [0.0, 1.5, 1.1, -1.1, 1e300, -1e300, 1e-60, float("inf"), -float("inf")]
    rounded = edge(pa.array(values, pa.float64()), FLOAT, side)
    for value, bound in zip(values, rounded, strict=True):
        near = (
            struct.unpack("<f", struct.pack("<f", value))[0]
            if abs(value) < 1e38 or np.isinf(value)
            else None
        )
        assert bound <= value if side is Side.LOWER else bound >= value
        assert near is None or near != value or bound == value
        assert float(np.float32(bound)) == bound
        toward = np.float32(-np.inf if side is Side.UPPER else np.inf)
        if bound != value and np.isfinite(bound):  # no float lies between them
            inner = float(np.nextafter(np.float32(bound), toward))
            assert inner > value if side is Side.LOWER else inner < value
    assert edge(pa.array([1.1], pa.float32()), FLOAT, side) == [float(np.float32(1.1))]
    assert edge(pa.array([1.1], pa.float64()), DOUBLE, side) == [1.1]
    assert edge(pa.array([(1 << 31) - 1], pa.int32()), DOUBLE, side) == [2147483647.0]


REFUSED: list[tuple[pa.Array, DataType]] = [
    (pa.array([1], pa.int64()), DOUBLE),
    (pa.array(["1"]), DOUBLE),
    (pa.array([1.0]), LONG),
    (pa.array([1]), BOOLEAN),
    (pa.array([True]), LONG),
    (pa.array([1]), DATE),
    (pa.array([1], pa.timestamp("us")), DATE),
    (pa.array([1], pa.date32()), TIMESTAMP),
    (pa.array([1], pa.timestamp("us", "UTC")), TIMESTAMP_NTZ),
    (pa.array([1.5]), SHORT_DECIMAL),
]


@pytest.mark.parametrize(("array", "data_type"), REFUSED, ids=str)
def test_other_types_are_rejected(array: pa.Array, data_type: DataType) -> None:
    with pytest.raises(NotLossless):
        number_edge(array, data_type, Side.LOWER)


@pytest.mark.parametrize(
    "arrow",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
    ],
    ids=str,
)
def test_all_arrow_types_of_bytes_are_read(arrow: pa.DataType) -> None:
    array = pa.array(["a", None, ""], pa.string()).cast(arrow)
    for data_type in (STRING, BINARY):
        assert bytes_edge(array, data_type).to_pylist() == [b"a", None, b""]


def test_fixed_size_bytes_are_binary_only() -> None:
    array = pa.array([b"ab", None], pa.binary(2))
    assert bytes_edge(array, BINARY).to_pylist() == [b"ab", None]
    for refused in (array, pa.array([1])):
        with pytest.raises(NotLossless):
            bytes_edge(refused, STRING)


def test_chunks_and_encodings_are_removed() -> None:
    texts = pa.array(["a", None, "a"])
    for array in (
        pa.chunked_array([texts]),
        pa.chunked_array([texts[:1], texts[1:]]),
        texts.dictionary_encode(),
        pa.chunked_array([texts.dictionary_encode()]),
        pc.run_end_encode(texts),
    ):
        assert plain(array).equals(texts)
    empty = plain(pa.chunked_array([], pa.string()))
    assert (empty.type, len(empty)) == (pa.string(), 0)


def test_counts_beyond_64_bits_are_read_as_negative() -> None:
    """A negative count is corrupt, so nothing is concluded from it."""
    counted = count_column(pa.array([1, (1 << 64) - 5], pa.uint64()))
    assert counted is not None
    assert counted[0].tolist() == [1, -5]


def test_decimals_without_a_fraction_reject_one() -> None:
    for written in ("1.5", "5.0"):
        fraction = pa.array([Decimal(written)], pa.decimal128(30, 1))
        with pytest.raises(NotLossless):
            decimal_edge(fraction, decimal(30, 0), Side.LOWER)
    whole = pa.array([Decimal(5)], pa.decimal128(30, 0))
    assert decimal_edge(whole, decimal(30, 0), Side.LOWER).type == pa.decimal128(38, 0)


def test_long_decimals_are_read() -> None:
    values = [Decimal("1.5"), None, Decimal(-(10**20))]
    result = decimal_edge(pa.array(values, pa.decimal128(30, 1)), WIDE, Side.LOWER)
    assert result.type == pa.decimal128(38, 6)
    assert result.to_pylist() == [Decimal("1.500000"), None, Decimal(-(10**20))]
    for data_type in (WIDE, decimal(30, 0)):
        numbers = decimal_edge(pa.array([GREATEST]), data_type, Side.LOWER)
        assert numbers.to_pylist() == [Decimal(GREATEST)]
    for refused in (pa.array([Decimal("1.5")], pa.decimal128(30, 7)), pa.array([1.5])):
        with pytest.raises(NotLossless):
            decimal_edge(refused, WIDE, Side.LOWER)


def test_counts_are_read() -> None:
    assert count_column(None) is None
    assert count_column(pa.array([1.0])) is None
    for values in ([3, 0], [3, None]):
        result = count_column(pa.array(values, pa.int32()))
        assert result is not None
        counts, valid = result
        assert counts.tolist() == [3, -1 if values[1] is None else 0]
        assert np.broadcast_to(valid, 2).tolist() == [True, values[1] is not None]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", "b", "b"]).dictionary_encode(),
        pa.chunked_array([["a"], ["b", "b"]]),
        pa.chunked_array([["a", "b", "b"]]),
        pa.chunked_array(
            [pa.array(["a", "b"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()]
        ),
        pa.RunEndEncodedArray.from_arrays([1, 3], ["a", "b"]),
    ],
    ids=lambda each: type(each).__name__,
)
def test_encoded_columns_are_decoded(array: Any) -> None:
    result = plain(array)
    assert result.type == pa.string()
    assert result.to_pylist() == ["a", "b", "b"]
    assert plain(pa.chunked_array([], pa.int64())).to_pylist() == []
