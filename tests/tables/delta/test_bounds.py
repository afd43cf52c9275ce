"""Which bounds of the log are believed, and how far they are widened."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.tables.delta.logs import (
    Log,
    add,
    column,
    edges,
    flags,
    recorded,
    schema_of,
    stats,
    struct,
    struct_field,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(text: str) -> int:
    moment = datetime.fromisoformat(text)
    delta = moment.replace(tzinfo=moment.tzinfo or UTC) - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def days(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


@pytest.mark.parametrize(
    ("data_type", "low", "high", "expected"),
    [
        ("byte", -128, 127, (-128, 127)),
        ("short", -5, 5, (-5, 5)),
        ("integer", 1, 2, (1, 2)),
        ("long", -(2**63), 2**63 - 1, (-(2**63), 2**63 - 1)),
        ("long", 2**53 + 1, 2**53 + 3, (2**53 + 1, 2**53 + 3)),
        ("long", 2**64, 2**70, (None, None)),
        ("long", "1", "2", (None, None)),
        ("long", 1.5, 2, (None, 2)),
        ("long", True, 2, (None, 2)),
        ("byte", 1, 1000, (None, None)),  # outside of the type: corrupt
        ("long", 5, 2, (None, None)),  # inverted: corrupt
        ("double", 1.5, 2.5, (1.5, 2.5)),
        ("double", 1, 2, (1.0, 2.0)),
        ("double", "-Infinity", "Infinity", (float("-inf"), float("inf"))),
        ("double", 1.0, "NaN", (1.0, None)),
        ("double", "NaN", "NaN", (None, None)),
        ("double", 0.0, 0.0, (0.0, 0.0)),
        ("double", -0.0, 0.0, (0.0, 0.0)),
        ("float", 0.5, 0.75, (0.5, 0.75)),
        ("double", "1.5", 2.5, (None, 2.5)),
        ("date", "2024-02-29", "2024-03-01", (days("2024-02-29"), days("2024-03-01"))),
        ("date", "2023-02-29", "2023-03-01", (None, days("2023-03-01"))),
        ("date", "0001-01-01", "1969-12-31", (None, -1)),
        ("date", "1582-10-14", "1582-10-15", (None, days("1582-10-15"))),
        ("date", "0001-01-01", "0001-01-01", (None, days("0001-01-16"))),  # another calendar
        ("date", "-0044-01-01", "+10000-01-01", (None, None)),
        ("date", "2024-01-01T00:00:00", "2024-01-02\n", (None, None)),
        ("boolean", False, True, (None, None)),
        ("binary", "a", "b", (None, None)),
    ],
)
def test_values_of_a_type(
    tmp_path: Path, data_type: str, low: Any, high: Any, expected: tuple[Any, Any]
) -> None:
    assert recorded(Log(tmp_path, schema_of(c=data_type)), data_type, low, high) == expected


def test_float_is_between_its_neighbours(tmp_path: Path) -> None:
    low, high = recorded(Log(tmp_path, schema_of(c="float")), "float", 0.1, 0.1)
    assert low <= 0.100000001490116119384765625 <= high
    assert high - low < 1e-7


@pytest.mark.parametrize(
    ("data_type", "low", "high", "expected"),
    [
        ("decimal(10,2)", "1.5", "12345678.90", (150, 1_234_567_890)),
        ("decimal(10,2)", '"1.50"', '"2"', (150, 200)),  # Trino writes strings
        ("decimal(10,2)", "-1.555", "1e2", (None, 10_000)),
        ("decimal(10,2)", '"NaN"', "1e400", (None, None)),
        ("decimal(15,0)", "-999999999999999", "999999999999999", (-(10**15) + 1, 10**15 - 1)),
        ("decimal(18,2)", "-7.25", "7.25", (-725, 725)),
    ],
)
def test_decimals_are_read_without_a_loss(
    tmp_path: Path, data_type: str, low: str, high: str, expected: tuple[Any, Any]
) -> None:
    log = Log(tmp_path, schema_of(c=data_type))
    text = f'{{"numRecords":2,"minValues":{{"c":{low}}},"maxValues":{{"c":{high}}}}}'
    log.commit(add("f", text))
    assert edges(log.statistics("f").bounds(column("c", data_type))) == expected


@pytest.mark.parametrize("value", ["12345678901234567.89", "-12345678901234567.89"])
def test_long_decimals_may_have_been_doubles(tmp_path: Path, value: str) -> None:
    """delta-rs writes decimals as doubles."""
    log = Log(tmp_path, schema_of(c="decimal(38,2)"))
    low, high = recorded(log, "decimal(38,2)", float(value), float(value))
    assert low < Decimal(value) < high
    assert high - low < abs(Decimal(value)) / 10**14


def test_decimals_of_few_digits_may_have_been_doubles(tmp_path: Path) -> None:
    value = Decimal("9007199254740.9931")
    log = Log(tmp_path, schema_of(c="decimal(17,4)"))
    low, high = recorded(log, "decimal(17,4)", float(value), float(value))
    assert low <= value.scaleb(4) <= high


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (
            "2024-01-01T00:00:00.123Z",
            "2024-01-01T00:00:00.123Z",
            (micros("2024-01-01T00:00:00.123"), micros("2024-01-01T00:00:00.123999")),
        ),
        (
            "2024-01-01T02:00:00.000+02:00",
            "2024-01-01T02:00:00Z",
            (micros("2024-01-01T00:00"), micros("2024-01-01T02:00:00.000999")),
        ),
        (
            "2024-01-01T00:00:00.123456789Z",
            "2024-01-01T00:00:00.123456789Z",
            (micros("2024-01-01T00:00:00.123456"), micros("2024-01-01T00:00:00.123457")),
        ),
        ("2024-01-01T00:00:00", "2024-01-01", (None, None)),  # of which time zone?
        ("0001-01-01T00:00:00Z", "+10000-01-01T00:00:00Z", (None, None)),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", (None, micros("0001-01-17T00:00"))),
        ("2024-02-30T00:00:00Z", "2024-01-01T25:00:00Z", (None, None)),
        (
            "1969-12-31T23:59:59.999Z",
            "1969-12-31T23:59:59.999Z",
            (micros("1969-12-31T23:58:59.999"), micros("1970-01-01T00:00:59.999")),
        ),
    ],
)
def test_timestamps_are_cut_to_milliseconds(
    tmp_path: Path, low: str, high: str, expected: tuple[Any, Any]
) -> None:
    log = Log(tmp_path, schema_of(c="timestamp"))
    assert recorded(log, "timestamp", low, high) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-01T00:00:00.123", micros("2024-01-01T00:00:00.123")),
        ("2024-01-01 00:00:00.123", micros("2024-01-01T00:00:00.123")),
        ("2024-01-01T00:00:00.123Z", micros("2024-01-01T00:00:00.123")),  # delta-rs
        ("2024-01-01T00:00:00.123+00:00", micros("2024-01-01T00:00:00.123")),
        ("2024-01-01T00:00:00.123+02:00", None),
        ("2024-01-01", micros("2024-01-01T00:00:00")),  # a date before its column was widened
    ],
)
def test_local_timestamps(tmp_path: Path, text: str, expected: int | None) -> None:
    log = Log(tmp_path, schema_of(c="timestamp_ntz"))
    upper = None if expected is None else expected + 999
    assert recorded(log, "timestamp_ntz", text, text) == (expected, upper)


def holds(log: Log, low: str | None, high: str | None, value: bytes) -> bool:
    """Return whether the bounds of these texts contain a value."""
    bounds = recorded(log, "string", low, high)
    lower, upper = bounds
    return (lower is None or lower <= value) and (upper is None or value <= upper)


PREFIX = "x" * 32


@pytest.mark.parametrize(
    ("recorded_maximum", "value"),
    [
        (PREFIX + "\x7f", PREFIX + "~~~"),
        (PREFIX + "\U0010ffff", PREFIX + "\U0001f600"),
        (PREFIX + "\ufffd", PREFIX + "\U0001f600"),  # Delta before 3.0
        ("x" * 31 + "?\ufffd", "x" * 31 + "\U0001f600"),  # and it cut a character in half
        (PREFIX, PREFIX + "zzz"),  # delta-kernel-rs
        ("é" * 16, "é" * 16 + "z"),
        ("a\ufffd", b"a\xff\xfe"),  # not UTF-8
        ("\ufffd", b"\xff\xfe"),
        (PREFIX, PREFIX),
        ("short", "short"),
        ("", ""),
    ],
)
def test_maximum_of_long_strings(tmp_path: Path, recorded_maximum: str, value: str | bytes) -> None:
    raw = value if isinstance(value, bytes) else value.encode()
    assert holds(Log(tmp_path, schema_of(c="string")), "", recorded_maximum, raw)


@pytest.mark.parametrize(
    ("recorded_minimum", "value"),
    [(PREFIX, PREFIX + "a"), ("a\ufffdb", b"a\x80b"), ("\ufffd", b"\x80"), ("a", "a")],
)
def test_minimum_of_strings(tmp_path: Path, recorded_minimum: str, value: str | bytes) -> None:
    raw = value if isinstance(value, bytes) else value.encode()
    assert holds(Log(tmp_path, schema_of(c="string")), recorded_minimum, None, raw)


def test_short_strings_are_exact_bounds(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(c="string"))
    assert recorded(log, "string", "a'\"\\", "é\u20ac") == (b"a'\"\\", "é\u20ac".encode())
    assert recorded(log, "string", "a", PREFIX) == (b"a", b"x" * 31 + b"y")
    assert recorded(log, "string", "a\ufffdb", "b") == (b"a\x7f", b"b")


def test_half_of_a_surrogate_pair_is_unknown(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(c="string", d="long"))
    log.commit(
        add("f", r'{"numRecords":1,"minValues":{"c":"a\ud83d","d":4},"maxValues":{"c":"b","d":4}}')
    )
    log.commit(add("g", stats(1, {"c": "a"}, {"c": "b"})))
    statistics = log.statistics("g", "f")
    assert edges(statistics.bounds(column("c", "string"))) == (b"a", b"b")
    low, _ = edges(statistics.bounds(column("c", "string")), 1)
    assert low is None or low <= b"a"


@pytest.mark.parametrize(
    ("data_type", "before", "low", "high", "inside"),
    [
        ("long", "integer", 1, 2, (1, 2)),
        ("double", "float", 0.1, 0.1, (0.100000001490116119384765625,) * 2),
        ("double", "float", 16777216.0, 3.4028235e38, (16777216.0, 3.4028234663852886e38)),
        ("double", "integer", 5, 7, (5.0, 7.0)),
        ("decimal(12,4)", "decimal(10,2)", 1.25, 2.5, (12_500, 25_000)),
        ("decimal(12,2)", "integer", 3, 4, (300, 400)),
        (
            "timestamp_ntz",
            "date",
            "2024-01-01",
            "2024-01-02",
            (micros("2024-01-01T00:00"), micros("2024-01-02T00:00")),
        ),
    ],
)
def test_widened_types(
    tmp_path: Path, data_type: str, before: str, low: Any, high: Any, inside: tuple[Any, Any]
) -> None:
    changes = [{"fromType": before, "toType": data_type}]
    field = struct_field("c", data_type, **{"delta.typeChanges": changes})
    log = Log(tmp_path, json.dumps(struct(field)))
    lower, upper = recorded(log, data_type, low, high)
    assert lower is not None
    assert lower <= inside[0]
    assert upper is not None
    assert upper >= inside[1]


def test_collated_columns_are_unknown(tmp_path: Path) -> None:
    schema = struct(
        struct_field("c", "string", __COLLATIONS={"c": "icu.UNICODE_CI"}),
        struct_field("d", "string collate UNICODE_CI"),
    )
    log = Log(tmp_path, json.dumps(schema))
    log.commit(add("f", stats(1, {"c": "a", "d": "a"}, {"c": "b", "d": "b"}, {"c": 0, "d": 0})))
    statistics = log.statistics("f")
    for name in ("c", "d"):
        assert edges(statistics.bounds(column(name, "string"))) == (None, None)
        assert flags(statistics.bounds(column(name, "string"))) == (True, True)


def test_other_type_than_that_of_the_schema_is_unknown(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(c="integer"))
    log.commit(add("f", stats(1, {"c": 1}, {"c": 1}, {"c": 0})))
    assert edges(log.statistics("f").bounds(column("c", "long"))) == (None, None)
    assert edges(log.statistics("f").bounds(column("nothing", "long"))) == (None, None)


def test_partition_columns_have_no_statistics(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(p="long", c="long"), partitions=["P"])
    log.commit(add("f", stats(1, {"p": 1, "c": 1}, {"p": 1, "c": 1}, {"p": 0})))
    assert edges(log.statistics("f").bounds(column("p", "long"))) == (None, None)
    assert edges(log.statistics("f").bounds(column("c", "long"))) == (1, 1)
