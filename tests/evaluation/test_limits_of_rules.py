"""Rules at the limits beyond which they say nothing, and for arguments that few queries have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Buckets
from tamis.evaluation.functions.strings.string_parts import beginning
from tamis.evaluation.interpreter import truth, value
from tamis.expr.nodes import (
    CalendarInterval,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Opaque,
)
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    DAY_TIME_INTERVAL,
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
from tests.differential.exact_claims import DAY
from tests.evaluation.given import Given, between, texts
from tests.evaluation.test_exact_bounds import call, cast


def edges(expr: Expr, data_type: DataType, lower: Any, upper: Any) -> tuple[Any, Any] | None:
    """Return the edges of an expression over a column `c`; None if nothing is known."""
    bounds = value(expr, Given(between(data_type, lower, upper)))
    if bounds is None or bounds.lower is None or bounds.upper is None:
        return None
    if bounds.lower_known is not None and not bounds.lower_known[0]:
        return None
    if isinstance(bounds.lower, pa.Array):
        low, high = bounds.lower[0].as_py(), bounds.upper[0].as_py()
        return None if low is None else (low, high)
    low, high = bounds.lower[0].item(), bounds.upper[0].item()
    return None if (low, high) == (-(1 << 63), (1 << 63) - 1) else (low, high)


def column(data_type: DataType) -> Column:
    return Column(("c",), data_type)


@pytest.mark.parametrize("target", [TIMESTAMP, TIMESTAMP_NTZ], ids=str)
@pytest.mark.parametrize(
    ("day", "is_known"),
    [(80_000_000, True), (106_751_000, True), (106_752_100, False), (2_000_000_000, False)],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_dates_far_from_1970_as_timestamps(
    target: DataType, day: int, is_known: bool, sign: int
) -> None:
    """64 bits of microseconds hold the days up to 106,751,991."""
    moment = sign * day * DAY
    expected = (moment, moment) if is_known else None
    assert edges(cast(column(DATE), target, "ANSI"), DATE, sign * day, sign * day) == expected


@pytest.mark.parametrize("source", [TIMESTAMP, TIMESTAMP_NTZ], ids=str)
@pytest.mark.parametrize("day", [80_000_000, -80_000_000])
def test_timestamps_far_from_1970_as_dates(source: DataType, day: int) -> None:
    moment = day * DAY + 5
    assert edges(cast(column(source), DATE, "ANSI"), source, moment, moment) == (day, day)


@pytest.mark.parametrize(
    ("lower", "upper", "is_known"),
    [
        (3e12, 3e12, True),
        (-3e12, -3e12, True),
        (0.0, 6e12, False),
        (-6e12, 0.0, False),
    ],
)
def test_seconds_as_timestamps(lower: float, upper: float, is_known: bool) -> None:
    """2 ** 62 microseconds are 4.6e12 seconds."""
    expected = (int(lower * 1e6), int(upper * 1e6)) if is_known else None
    assert edges(cast(column(DOUBLE), TIMESTAMP, "TRY"), DOUBLE, lower, upper) == expected


@pytest.mark.parametrize(
    ("lower", "upper", "is_known"),
    [
        (4e15, 4e15, True),
        (-4e15, -4e15, True),
        (0.0, 6e15, False),
        (-6e15, 0.0, False),
    ],
)
def test_doubles_as_decimals(lower: float, upper: float, is_known: bool) -> None:
    """From 2 ** 52 on, the error of the product is not below one unit."""
    claimed = edges(cast(column(DOUBLE), decimal(18, 0), "TRY"), DOUBLE, lower, upper)
    assert claimed == ((int(lower) - 1, int(upper) + 1) if is_known else None)


@pytest.mark.parametrize("day", [80_000_000, -80_000_000])
def test_clock_of_a_moment_far_from_1970(day: int) -> None:
    moment = day * DAY + DAY // 24 * 5
    hour = call("Hour", INTEGER, column(TIMESTAMP_NTZ))
    assert edges(hour, TIMESTAMP_NTZ, moment, moment) == (5, 5)


def test_text_of_an_interval_is_unknown() -> None:
    assert edges(cast(column(DAY_TIME_INTERVAL), STRING, "ANSI"), DAY_TIME_INTERVAL, 5, 5) is None


@pytest.mark.parametrize(
    ("data_type", "divisor", "is_possible"),
    [
        (DOUBLE, 2e38, False),
        (DOUBLE, 0.45 * np.finfo(np.float64).max, False),
        (DOUBLE, 0.55 * np.finfo(np.float64).max, True),
        (FLOAT, 0.45 * float(np.finfo(np.float32).max), False),
        (FLOAT, 0.55 * float(np.finfo(np.float32).max), True),
    ],
    ids=str,
)
def test_pmod_is_nan_if_the_sum_may_overflow(
    data_type: DataType, divisor: float, is_possible: bool
) -> None:
    modulus = call("Pmod", data_type, column(data_type), Literal(divisor, data_type))
    bounds = value(modulus, Given(between(data_type, -5.0, 5.0)))
    assert bounds is not None
    assert bounds.can_be_nan.tolist() == [is_possible]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (b"\x7fb", b"\x7f"),
        (b"\x80b", b"\x80"),
        (b"\xc1b", b"\xc1"),
        (b"\xc2\xa9b", b"\xc2\xa9"),
        (b"\xdf\xbfb", b"\xdf\xbf"),
        (b"\xe0\xa0\x80b", b"\xe0\xa0\x80"),
        (b"\xef\xbf\xbdb", b"\xef\xbf\xbd"),
        (b"\xf0\x9f\x98\x80b", b"\xf0\x9f\x98\x80"),
        (b"\xf4\x8f\xbf\xbfb", b"\xf4\x8f\xbf\xbf"),
        (b"\xf5bbbb", b"\xf5"),
        (b"\xffbbbb", b"\xff"),
    ],
)
def test_first_byte_gives_the_length_of_a_character(text: bytes, first: bytes) -> None:
    assert beginning(text, 1) == first


def test_padding_beyond_the_limit_is_unknown() -> None:
    for length, expected in ((3, (b"  a", b"  a")), (100_000_000, None)):
        padded = call("StringLPad", STRING, column(STRING), length, " ")
        assert edges(padded, STRING, "a", "a") == expected


@pytest.mark.parametrize(
    ("name", "data_type", "expected"),
    [
        ("Length", STRING, 2),
        ("Length", BINARY, 3),
        ("OctetLength", STRING, 3),
        ("BitLength", BINARY, 24),
    ],
)
def test_length_of_binary_counts_bytes(name: str, data_type: DataType, expected: int) -> None:
    length = call(name, INTEGER, column(data_type))
    edge = b"\xc3\xa9a" if data_type == BINARY else "éa"
    assert edges(length, data_type, edge, edge) == (expected, expected)


def truths(predicate: Expr, lower: Any, upper: Any) -> tuple[bool, bool]:
    """Return whether a predicate over strings may be true, and may be false."""
    found = truth(predicate, Given(between(STRING, lower, upper)))
    return bool(found.can_be_true.any()), bool(found.can_be_false.any())


@pytest.mark.parametrize(
    ("pattern", "escape", "text", "matches"),
    [
        ("a!%b%", "!", "a%bc", True),
        ("a!%b%", "!", "a!xbc", False),
        ("a!%b%", "!", "axbc", False),
        ("a!_b%", "!", "a_b", True),
        ("a!_b%", "!", "axb", False),
        ("a!!%", "!", "a!x", True),
        ("a!!%", "!", "ax", False),
        ("%\\_%", "\\", "x_y", True),
        ("%\\_%", "\\", "xy", False),
    ],
)
def test_like_with_an_escape_character(pattern: str, escape: str, text: str, matches: bool) -> None:
    arguments = (column(STRING), Literal(pattern, STRING))
    like = Call("Like", arguments, (("escapeChar", escape),), BOOLEAN)
    assert truths(like, text, text) == (matches, not matches)


def test_pattern_that_is_not_constant_allows_true_and_false() -> None:
    for name in ("RLike", "Like", "EndsWith", "Contains", "StartsWith"):
        predicate = call(name, BOOLEAN, column(STRING), column(STRING))
        assert truths(predicate, "a", "b") == (True, True)


FAR = 5 * 10**18  # microseconds: 64 bits hold the distance of one from zero, but not of two


@pytest.mark.parametrize(
    ("end", "start", "is_known"),
    [
        ((0, FAR), (-FAR, 0), False),  # only the greatest distance is too far
        ((-FAR, 0), (0, FAR), False),  # only the least one is
        ((0, FAR), (0, 0), True),
    ],
)
def test_distances_beyond_64_bits_are_not_known(
    end: tuple[int, int], start: tuple[int, int], is_known: bool
) -> None:
    x, y = (Column((name,), TIMESTAMP_NTZ) for name in "xy")
    given = {x: between(TIMESTAMP_NTZ, *end), y: between(TIMESTAMP_NTZ, *start)}
    bounds = value(call("SubtractTimestamps", DAY_TIME_INTERVAL, x, y), Given(given))
    assert _is_unlimited(bounds) != is_known


def _is_unlimited(bounds: Bounds | None) -> bool:
    """Return whether the bounds are unknown, or the ends of 64 bits."""
    if bounds is None or bounds.lower is None or bounds.upper is None:
        return True
    return bool(np.all(bounds.lower == -(1 << 63)) and np.all(bounds.upper == (1 << 63) - 1))


@pytest.mark.parametrize("name", ["EndsWith", "Contains"])
def test_edges_of_different_lengths_are_not_one_string(name: str) -> None:
    """One lower edge for two containers that have an upper edge each."""
    predicate = call(name, BOOLEAN, column(STRING), "x")
    for lower, upper in ((["a"], ["a", "b"]), (["a", "b"], ["b"])):
        found = truth(predicate, Given(between(STRING, lower, upper), 2))
        assert found.can_be_true.all()
        assert found.can_be_false.all()


@pytest.mark.parametrize(
    "function",
    [
        call("Upper", STRING, column(STRING)),
        call("Lower", STRING, column(STRING)),
        cast(column(STRING), DATE, "LEGACY"),
        cast(column(STRING), TIMESTAMP, "LEGACY"),
        call("GetTimestamp", TIMESTAMP_NTZ, column(STRING), "yyyy-MM-dd"),
    ],
    ids=["Upper", "Lower", "DATE", "TIMESTAMP", "GetTimestamp"],
)
def test_edges_of_different_lengths_bound_nothing(function: Expr) -> None:
    """One lower edge for two containers that have an upper edge each, and the reverse."""
    years = ["2024-01-01", "2024-12-31"]
    for lower, upper in ((years[:1], years), (years, years[1:])):
        assert _is_unlimited(value(function, Given(between(STRING, lower, upper), 2)))


def test_list_with_an_option_of_another_type_allows_true_and_false() -> None:
    upper = call("Upper", STRING, column(STRING))
    assert truths(In(upper, ("B", "C")), "x", "y") == (False, True)
    assert truths(In(upper, ("B", 1)), "x", "y") == (True, True)


def one_sided(lower: str | None, upper: str | None) -> Bounds:
    edges = [None if each is None else texts(each) for each in (lower, upper)]
    return Bounds(STRING, edges[0], edges[1], NO, NO, YES)


@pytest.mark.parametrize(("lower", "upper"), [("a", None), (None, "a"), (None, None)])
@pytest.mark.parametrize("name", ["EndsWith", "Contains", "StartsWith"])
def test_pattern_may_match_beyond_an_edge_that_is_unknown(
    name: str, lower: str | None, upper: str | None
) -> None:
    found = truth(call(name, BOOLEAN, column(STRING), "a"), Given(one_sided(lower, upper)))
    assert found.can_be_true.all()
    assert found.can_be_false.all()


@pytest.mark.parametrize(
    ("lower", "upper", "mapped", "may_equal"),
    [
        ("b", None, "A", False),  # only A and a are mapped to A
        ("a", None, "A", True),
        (None, "A", "B", False),
        (None, "B", "B", True),
    ],
)
def test_one_edge_decides_what_a_mapped_string_equals(
    lower: str | None, upper: str | None, mapped: str, may_equal: bool
) -> None:
    upper_case = call("Upper", STRING, column(STRING))
    equal = Compare(Comparison.EQUAL, upper_case, Literal(mapped, STRING))
    found = truth(equal, Given(one_sided(lower, upper)))
    assert bool(found.can_be_true.any()) == may_equal
    assert found.can_be_false.all()


def test_mapped_string_that_is_unknown_may_equal_anything() -> None:
    unknown = call("NoSuchFunction", STRING, column(STRING))
    equal = Compare(Comparison.EQUAL, call("Upper", STRING, unknown), Literal("A", STRING))
    assert truths(equal, "a", "a") == (True, True)


def test_mapped_value_that_is_no_string_may_equal_anything() -> None:
    """The bounds of a logarithm are numbers, whatever type its call has."""
    logarithm = call("Log", STRING, column(DOUBLE))
    equal = Compare(Comparison.EQUAL, call("Upper", STRING, logarithm), Literal("A", STRING))
    found = truth(equal, Given(between(DOUBLE, 1.0, 2.0)))
    assert found.can_be_true.all()
    assert found.can_be_false.all()


@pytest.mark.parametrize("name", ["GetTimestamp", "UnixTimestamp"])
@pytest.mark.parametrize(
    ("lower", "upper"), [("2024-01-01", None), (None, "2024-01-01"), (None, None)]
)
def test_text_with_an_unknown_edge_is_any_moment(
    name: str, lower: str | None, upper: str | None
) -> None:
    result = LONG if name == "UnixTimestamp" else TIMESTAMP_NTZ
    moment = call(name, result, column(STRING), "yyyy-MM-dd")
    assert _is_unlimited(value(moment, Given(one_sided(lower, upper))))


@pytest.mark.parametrize("name", ["GetTimestamp", "UnixTimestamp"])
@pytest.mark.parametrize("argument", [Opaque("f(c)"), column(LONG)], ids=str)
def test_moment_of_anything_but_text_is_unknown(name: str, argument: Expr) -> None:
    result = LONG if name == "UnixTimestamp" else TIMESTAMP_NTZ
    moment = call(name, result, argument, "yyyy-MM-dd")
    assert edges(moment, LONG, 20_240_101, 20_240_101) is None


@pytest.mark.parametrize(
    ("argument", "scale"), [(Opaque("f(c)"), 6), (column(LONG), 6), (column(TIMESTAMP_NTZ), 3)]
)
def test_seconds_of_a_minute_have_six_digits_and_belong_to_a_moment(
    argument: Expr, scale: int
) -> None:
    data_type = argument.type if isinstance(argument, Column) else LONG
    seconds = call("SecondWithFraction", decimal(8, scale), argument)
    assert edges(seconds, data_type, 5, 5) is None


@pytest.mark.parametrize("child", [Opaque("f(c)"), call("Log", DOUBLE, column(STRING))], ids=str)
def test_unknown_value_may_be_null_and_may_not_be(child: Expr) -> None:
    assert truths(IsNull(child), "a", "a") == (True, True)
    assert not truth(IsNull(child), Given(between(STRING, "a", "a"))).can_be_null.any()
    assert truths(Not(IsNull(child)), "a", "a") == (True, True)


@pytest.mark.parametrize(
    ("predicate", "may_be_false"),
    [
        (In(call("Log", DOUBLE, column(STRING)), (0.0, 2.0)), True),
        # With NULL in the list, a value without a match gives NULL.
        (In(call("Log", DOUBLE, column(STRING)), (0.0, 2.0), True), False),
        (In(Opaque("f(c)"), (0.0, 2.0)), True),
        (In(Opaque("f(c)"), (0.0, 2.0), True), True),
        (In(column(DOUBLE), ("not a number",)), True),
        (In(call("Upper", DOUBLE, column(STRING)), (1.0,)), True),
    ],
    ids=str,
)
def test_list_of_unknown_values_allows_true_and_false(predicate: In, may_be_false: bool) -> None:
    assert truths(predicate, "a", "a") == (True, may_be_false)


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 0.0), (-0.0, 0.0), (-0.0, -0.0)])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_list_with_a_zero_has_both_zeros(lower: float, upper: float, zero: float) -> None:
    found = truth(In(column(DOUBLE), (zero, 1.0)), Given(between(DOUBLE, lower, upper)))
    assert found.can_be_true.all()
    assert not found.can_be_false.any()


def test_bucket_of_a_type_without_hashes_excludes_no_option() -> None:
    buckets = (Buckets(8, np.array([0])),)
    found = truth(In(column(DOUBLE), (2.0,)), Given(between(DOUBLE, 1.0, 3.0, buckets=buckets)))
    assert found.can_be_true.all()


def test_case_mapping_stops_at_bytes_beyond_ascii() -> None:
    """A string may begin with a byte that is not UTF-8."""
    for name, expected in (("Upper", b"A"), ("Lower", b"a")):
        bounds = value(
            call(name, STRING, column(STRING)),
            Given(between(STRING, [b"a\x80x"], [b"a\x80y"])),
        )
        assert bounds is not None
        assert bounds.lower is not None
        assert bounds.lower.to_pylist() == texts(expected).to_pylist()


@pytest.mark.parametrize(
    ("unit", "count", "first_day", "last_day"),
    [
        ("DAY", 2, "1970-01-17", None),
        ("DAYOFYEAR", -2, "1970-01-13", None),
        ("WEEK", 2, "1970-01-29", None),
        ("MONTH", 2, "1970-03-15", "1970-03-15"),
        ("QUARTER", 2, "1970-07-15", "1970-07-15"),
        ("YEAR", 2, "1972-01-15", "1972-01-15"),
        ("YEAR", 10_000, "11970-01-15", "11970-01-15"),
        ("YEAR", 10_001, None, None),
    ],
)
def test_units_that_are_added(
    unit: str, count: int, first_day: str | None, last_day: str | None
) -> None:
    """A shift by months gives the whole day, because it depends on the day of the month."""
    start = int(np.datetime64("1970-01-15", "D").astype(int)) * DAY
    added = call("TimestampAdd", TIMESTAMP_NTZ, count, column(TIMESTAMP_NTZ), unit=unit)
    found = edges(added, TIMESTAMP_NTZ, start, start)
    if first_day is None:
        assert found is None
        return
    low = int(np.datetime64(first_day, "D").astype(int)) * DAY
    assert found == (low, low if last_day is None else low + DAY - 1)


@pytest.mark.parametrize(
    ("day", "days", "hours"),
    [(9, 1, 23), (9, -1, -24), (9, 2, 47), (9, 0, 0), (8, 1, 24), (8, 2, 47)],
)
def test_days_are_added_to_the_local_time(day: int, days: int, hours: int) -> None:
    """The clocks of New York were set forward on 2024-03-10, at 07:00 UTC."""
    noon = int(np.datetime64(f"2024-03-0{day}T17:00", "us").astype(int))
    added = call(
        "TimestampAddInterval",
        TIMESTAMP,
        column(TIMESTAMP),
        Literal(days * DAY, DAY_TIME_INTERVAL),
        timeZoneId="America/New_York",
    )
    moment = noon + hours * DAY // 24
    assert edges(added, TIMESTAMP, noon, noon) == (moment, moment)


@pytest.mark.parametrize("day", DATE.domain)
def test_interval_without_fields_changes_no_date(day: int) -> None:
    nothing = Literal(CalendarInterval(0, 0, 0), CALENDAR_INTERVAL)
    added = call("DateAddInterval", DATE, column(DATE), nothing)
    assert edges(added, DATE, day, day) == (day, day)


def test_moments_far_from_1970_are_not_shifted_by_months() -> None:
    """One of the edges is enough to leave the shift unknown."""
    far, near = (1 << 63) - 1_000 * DAY, 0
    added = call("TimestampAdd", TIMESTAMP_NTZ, 1, column(TIMESTAMP_NTZ), unit="MONTH")
    for lower, upper in ((-far, near), (near, far)):
        assert edges(added, TIMESTAMP_NTZ, lower, upper) is None
