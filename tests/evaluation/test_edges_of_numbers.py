"""Edges of numbers, decimals and bytes at the ends of what 64 bits, and their arrays, hold."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.bounds import NO, YES, Bounds, _constant
from tamis.evaluation.domain.distinct_edges import distinct_edges, spread
from tamis.evaluation.domain.interval import decimal_edge, decimal_parts, interval
from tamis.evaluation.functions.strings.byte_rows import (
    is_ascii,
    lengths_of,
    rows_of,
    shared_beginning,
)
from tamis.evaluation.functions.strings.case_preimages import case_preimage
from tamis.evaluation.interpreter import value
from tamis.expr.nodes import Call, Column, Expr, Literal
from tamis.expr.types import (
    BOOLEAN,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    YEAR_MONTH_INTERVAL,
    DataType,
    decimal,
)
from tamis.files.verdicts import evaluate
from tests.cases.case import compare, statistics_of
from tests.evaluation.given import Given, between, texts

WIDE = decimal(30, 2)
LEAST, GREATEST = LONG.domain
c = Column(("c",), LONG)


def test_shared_flags_are_read_only() -> None:
    for flags in (YES, NO, _constant(True), _constant(False)):
        with pytest.raises(ValueError, match="read-only"):
            flags[0] = True


def test_statistics_may_be_a_record_batch() -> None:
    (batch,) = statistics_of(c, [(1, 2), (8, 9)]).to_batches()
    assert evaluate(compare(">", c, 5), batch).to_pylist() == ["none", "all"]


@pytest.mark.parametrize("files", [None, 5, "files"])
def test_anything_but_a_table_has_no_files(files: Any) -> None:
    assert evaluate(compare(">", c, 5), files).to_pylist() == []


@pytest.mark.parametrize(
    ("data_type", "least", "greatest"),
    [
        (LONG, LEAST, GREATEST),
        (INTEGER, -(1 << 31), (1 << 31) - 1),
        (DOUBLE, -np.inf, np.inf),
        (FLOAT, -np.inf, np.inf),
    ],
)
def test_side_that_is_not_known_reaches_the_end_of_the_type(
    data_type: DataType, least: float, greatest: float
) -> None:
    dtype = np.float64 if data_type.is_floating else np.int64
    edge = np.array([5], dtype)
    for lower, upper in ((edge, None), (None, edge), (None, None), (edge, edge)):
        found = interval(Bounds(data_type, lower, upper, NO, NO, YES))
        assert found is not None
        assert found.lower.tolist() == [least if lower is None else 5]
        assert found.upper.tolist() == [greatest if upper is None else 5]
        assert found.lower.dtype == found.upper.dtype == dtype


@pytest.mark.parametrize("count", [0, 1, 3])
def test_interval_of_decimals_has_their_length(count: int) -> None:
    edge = pa.array([Decimal("1.25")] * count, pa.decimal128(38, 2))
    found = interval(Bounds(WIDE, edge, edge, NO, NO, YES))
    assert found is not None
    assert found.lower.tolist() == found.upper.tolist() == [125] * count
    assert found.known.all() == (count > 0)
    unknown = interval(Bounds(WIDE, None, edge, NO, NO, YES))
    assert unknown is not None
    assert len(unknown.lower) == 1
    assert not unknown.known.any()


@pytest.mark.parametrize("scale", [0, 2, 20])
def test_decimals_up_to_64_bits_round_trip_through_unscaled_values(scale: int) -> None:
    whole = [0, 1, -1, 1 << 62, -(1 << 62), (1 << 62) - 1, -(1 << 62) - 1, GREATEST, LEAST]
    values = pa.array([Decimal(each).scaleb(-scale) for each in whole], pa.decimal128(38, scale))
    numbers, known = decimal_parts(values)
    assert known.all()
    assert numbers.tolist() == whole
    edge = decimal_edge(np.array(whole), YES, decimal(30, scale))
    assert edge.type == pa.decimal128(38, scale)
    assert edge.equals(values)


def test_decimals_beyond_64_bits_are_not_known() -> None:
    whole = [GREATEST + 1, LEAST - 1, 1 << 64, -(1 << 64), (1 << 64) + 5, None]
    values = pa.array([None if n is None else Decimal(n) for n in whole], pa.decimal128(38, 0))
    assert not decimal_parts(values)[1].any()


@pytest.mark.parametrize("name", ["lower", "upper"])
def test_missing_edge_is_one_unknown_value_for_all_containers(name: str) -> None:
    values, codes = distinct_edges(Bounds.unknown(LONG), name)
    assert values == [None]
    assert codes.tolist() == [0]


@pytest.mark.parametrize("scale", [0, 2])
def test_decimals_are_spread_with_all_their_digits(scale: int) -> None:
    long = Decimal("9" * 38 + f"E-{scale}")
    for is_lower in (True, False):
        found = spread([long, None], np.array([1, 0, 0]), decimal(38, scale), is_lower)
        assert isinstance(found, pa.Array)
        assert found.type == pa.decimal128(38, scale)
        assert found.to_pylist() == [None, long, long]


def test_empty_array_may_have_no_offsets() -> None:
    nothing = pa.py_buffer(b"")
    edge = pa.Array.from_buffers(pa.large_binary(), 0, [None, nothing, nothing])
    assert lengths_of(edge).tolist() == []
    assert is_ascii(edge).tolist() == []
    assert rows_of(edge, 3).tolist() == []


#: Edges, whether the upper one is left out, and what all strings between them begin with.
BEGINNINGS: list[tuple[bytes, bytes, bool, bytes]] = [
    (b"abc", b"abd", False, b"ab"),
    (b"abc", b"abd", True, b"abc"),
    (b"abcx", b"abd", True, b"abc"),
    (b"abx", b"acz", True, b"a"),
    (b"abx", b"ac", True, b"ab"),
    (b"abx", b"ad", True, b"a"),
    (b"ab", b"ac", True, b"ab"),
    (b"a", b"a\x01", True, b"a"),
    (b"a", b"ab", True, b"a"),
    (b"ab", b"b", True, b"a"),
    (b"ab", b"ba", True, b""),
    (b"abc", b"abc", True, b"abc"),
    (b"", b"a", True, b""),
    (b"a\xff", b"b", True, b"a"),
]


@pytest.mark.parametrize(("lower", "upper", "is_open", "expected"), BEGINNINGS)
def test_shared_beginning_is_the_common_prefix(
    lower: bytes, upper: bytes, is_open: bool, expected: bytes
) -> None:
    for others in ((), (b"longer than that",), (b"",)):
        low, high = texts(lower, *others), texts(upper, *others)
        opened = np.array([is_open, *[False] * len(others)])
        rows, lengths = shared_beginning(low, high, 64, opened)
        assert rows[0, : lengths[0]].tobytes() == expected


@pytest.mark.parametrize("most", [1, 2, 3])
def test_shared_beginning_is_cut_at_the_limit(most: int) -> None:
    for upper, opened in ((b"abcd", None), (b"abce", YES), (b"abd", YES), (b"ac", YES)):
        rows, lengths = shared_beginning(texts("abcd"), texts(upper), most, opened)
        assert rows.shape[1] <= most, (rows.shape, most, upper)
        beginning = rows[0, : lengths[0]].tobytes()
        assert b"abcd".startswith(beginning)
        assert lengths[0] == min(most, len(upper) if opened is not None else 4)


@pytest.mark.parametrize("ligature", ["\ufb01", "\ufb03"])
def test_dot_above_may_follow_a_ligature_that_ends_in_i(ligature: str) -> None:
    """FI and FFI end in an I, behind which U+0307 may vanish."""
    image = ligature.upper().encode() + b"X"
    following = (ligature + "\u0307x").encode()
    found = case_preimage(True, (image, image + b"\0"))
    assert any(low <= following and (high is None or following < high) for low, high in found)
    other = "\ufb00\u0307x".encode()
    assert not any(low <= other and (high is None or other < high) for low, high in found)


def test_ascii_pieces_are_exact_although_the_span_goes_beyond_ascii() -> None:
    """As pieces of their own they would be too many, and all that begins with kK would count."""
    found = case_preimage(False, (b"kkk", b"\x80\x80"))
    inside = [
        any(low <= text and (high is None or text < high) for low, high in found)
        for text in (b"kKA", b"kKJ", b"kKK", b"kKk", b"kKl", b"\x7f", b"\x80")
    ]
    assert inside == [False, False, True, True, True, True, True]


#: Types of intervals with their fields, and whether a value of the type keeps them all.
FIELDS: list[tuple[DataType, Any, bool]] = [
    (DAY_TIME_INTERVAL, "interval day to second", True),
    (DAY_TIME_INTERVAL, "interval second", True),
    (DAY_TIME_INTERVAL, "interval day to minute", False),
    (DAY_TIME_INTERVAL, "interval day", False),
    (DAY_TIME_INTERVAL, None, False),
    (YEAR_MONTH_INTERVAL, "interval year to month", True),
    (YEAR_MONTH_INTERVAL, "interval month", True),
    (YEAR_MONTH_INTERVAL, "interval year", False),
    (YEAR_MONTH_INTERVAL, 5, False),
]


@pytest.mark.parametrize(("data_type", "fields", "keeps"), FIELDS)
def test_interval_is_cast_to_fewer_fields(data_type: DataType, fields: Any, keeps: bool) -> None:
    column = Column(("c",), data_type)
    call = Call("Cast", (column,), (("evalMode", "LEGACY"), ("dataType", fields)), data_type)
    bounds = value(call, Given(between(data_type, 3, 7)))
    assert bounds is not None
    low, high = (None if each is None else each.tolist() for each in (bounds.lower, bounds.upper))
    assert (low, high) == (([3], [7]) if keeps else (None, None))


LEAST_DAY, GREATEST_DAY = DATE.domain


def is_known(name: str, data_type: DataType, lower: int, upper: int, *constants: Literal) -> bool:
    """Whether anything is known of a function of days, or of the year that make_date gets."""
    call = Call(name, (Column(("c",), data_type), *constants), (), DATE)
    bounds = value(call, Given(between(data_type, lower, upper)))
    assert bounds is not None
    known: bool = not bounds.can_be_null.any()
    return known


#: Functions that give an earlier day, or a later one.
EARLIER = [("TruncDate", Literal("YEAR", STRING)), ("NextDay", Literal("MO", STRING))]
LATER = [("LastDay",), ("NextDay", Literal("MO", STRING))]


@pytest.mark.parametrize("tried", EARLIER, ids=lambda each: each[0])
def test_day_near_the_first_one_is_not_moved(tried: Any) -> None:
    name, *constants = tried
    assert is_known(name, DATE, LEAST_DAY + 401, 0, *constants)
    assert not is_known(name, DATE, LEAST_DAY + 400, 0, *constants)


@pytest.mark.parametrize("tried", LATER, ids=lambda each: each[0])
def test_day_near_the_last_one_is_not_moved(tried: Any) -> None:
    name, *constants = tried
    assert is_known(name, DATE, 0, GREATEST_DAY - 401, *constants)
    assert not is_known(name, DATE, 0, GREATEST_DAY - 400, *constants)


@pytest.mark.parametrize(
    ("first", "last", "known"),
    [
        (-1_000_000, 1_000_000, True),
        (-1_000_001, 0, False),
        (0, 1_000_001, False),
        (-1_000_001, 1_000_001, False),
    ],
)
def test_date_of_a_year_within_a_million(first: int, last: int, known: bool) -> None:
    parts = Literal(5, INTEGER), Literal(6, INTEGER)
    assert is_known("MakeDate", INTEGER, first, last, *parts) is known


@pytest.mark.parametrize("place", [0, 1, 2])
def test_make_date_of_arguments_that_are_not_integers_is_unknown(place: int) -> None:
    parts: list[Expr] = [Literal(5, INTEGER)] * 3
    parts[place] = Literal(5.0, DOUBLE)
    bounds = value(Call("MakeDate", tuple(parts), (), DATE), Given(between(LONG, 0, 0)))
    assert bounds is not None
    assert bounds.lower is None
    assert bounds.upper is None


@pytest.mark.parametrize("result", [DATE, BOOLEAN, LONG, DOUBLE])
@pytest.mark.parametrize("name", ["Add", "Subtract"])
def test_sum_of_decimals_is_a_decimal(name: str, result: DataType) -> None:
    column = Column(("c",), decimal(9, 0))
    call = Call(name, (column, column), (("evalMode", "LEGACY"),), result)
    bounds = value(call, Given(between(decimal(9, 0), 0, 1)))
    assert bounds is not None
    assert bounds.lower is None
    assert bounds.upper is None
