"""Which counts of the log are believed, and what is certain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tables.delta.logs import (
    Log,
    add,
    column,
    edges,
    flags,
    schema_of,
    stats,
    struct,
    struct_field,
)

VECTOR = {"cardinality": 3}


@pytest.mark.parametrize(
    ("records", "nulls", "more", "vector", "can_be_null", "can_be_value"),
    [
        (10, 0, {}, None, False, True),
        (10, 10, {}, None, True, False),
        (10, 3, {}, None, True, True),
        (10, None, {}, None, True, True),
        (10, 11, {}, None, True, True),
        (10, -1, {}, None, True, True),
        (10, "0", {}, None, True, True),
        (None, 0, {}, None, False, True),
        (None, 10, {}, None, True, True),
        (0, 0, {}, None, False, True),  # writers that do not count rows
        (10, 0, {"tightBounds": False}, VECTOR, False, True),
        (10, 10, {"tightBounds": False}, VECTOR, True, False),
        (10, 7, {"tightBounds": False}, VECTOR, True, True),  # not those that are left
        (10, 7, {}, VECTOR, True, True),
        (10, 7, {"tightBounds": "false"}, None, True, True),
    ],
)
def test_null_counts(
    tmp_path: Path,
    records: Any,
    nulls: Any,
    more: dict[str, Any],
    vector: Any,
    can_be_null: bool,
    can_be_value: bool,
) -> None:
    log = Log(tmp_path, schema_of(c="long"))
    log.commit(add("f", stats(records, nulls={"c": nulls}, **more), vector))
    bounds = log.statistics("f").bounds(column("c", "long"))
    assert flags(bounds) == (can_be_null, can_be_value)


@pytest.mark.parametrize(
    ("records", "vector", "expected"),
    [
        (10, None, 10),
        (10, VECTOR, 7),
        (10, {}, -1),
        (10, {"cardinality": "3"}, -1),
        (10, {"cardinality": -1}, -1),
        (2, VECTOR, -1),
        (3, VECTOR, 0),
        (0, None, -1),
        (-1, None, -1),
        (2**80, None, -1),
        ("10", None, -1),
        (10.5, None, -1),
        (None, None, -1),
    ],
)
def test_number_of_rows(tmp_path: Path, records: Any, vector: Any, expected: int) -> None:
    log = Log(tmp_path, schema_of(c="long"))
    log.commit(add("f", stats(records), vector))
    assert log.statistics("f").num_records.tolist() == [expected]


@pytest.mark.parametrize(
    ("data_type", "low", "more", "vector", "attained", "nulls"),
    [
        ("long", 1, {}, None, True, 4),
        ("long", 1, {"tightBounds": True}, None, True, 4),
        ("long", 1, {"tightBounds": False}, None, False, -1),
        ("long", 1, {}, VECTOR, False, -1),
        ("date", "2024-01-01", {}, None, True, 4),
        ("date", "1582-10-14", {}, None, False, 4),
        ("decimal(10,2)", 1.5, {}, None, True, 4),
        ("decimal(38,2)", 1.5, {}, None, False, 4),
        ("double", 1.5, {}, None, False, 4),
        ("string", "a", {}, None, False, 4),
        ("timestamp", "2024-01-01T00:00:00.000Z", {}, None, False, 4),
    ],
)
def test_what_is_certain(
    tmp_path: Path,
    data_type: str,
    low: Any,
    more: dict[str, Any],
    vector: Any,
    attained: bool,
    nulls: int,
) -> None:
    log = Log(tmp_path, schema_of(c=data_type))
    log.commit(add("f", stats(10, {"c": low}, {"c": low}, {"c": 4}, **more), vector))
    certain = log.statistics("f").certain(column("c", data_type))
    assert (bool(certain.attained[0]), int(certain.nulls[0])) == (attained, nulls)


def test_nulls_of_deleted_rows_are_not_certain(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(c="long"))
    log.commit(add("f", stats(10, nulls={"c": 10}, tightBounds=False), VECTOR))
    assert log.statistics("f").certain(column("c", "long")).nulls.tolist() == [-1]


def test_bounds_of_fields_may_be_those_of_structs_that_are_null(tmp_path: Path) -> None:
    log = Log(tmp_path, json.dumps(struct(struct_field("s", struct(struct_field("x", "long"))))))
    log.commit(add("f", stats(10, {"s": {"x": 1}}, {"s": {"x": 2}})))
    statistics = log.statistics("f")
    assert edges(statistics.bounds(column(("s", "x"), "long"))) == (1, 2)
    assert not statistics.certain(column(("s", "x"), "long")).attained.any()


@pytest.mark.parametrize(
    ("nulls", "expected"), [(0, (True, True)), (4, (True, True)), (10, (True, False))]
)
def test_nulls_of_fields_of_structs(
    tmp_path: Path, nulls: int, expected: tuple[bool, bool]
) -> None:
    """delta-kernel-rs does not count the rows whose struct is NULL."""
    log = Log(tmp_path, json.dumps(struct(struct_field("s", struct(struct_field("x", "long"))))))
    log.commit(add("f", stats(10, nulls={"s": {"x": nulls}})))
    assert flags(log.statistics("f").bounds(column(("s", "x"), "long"))) == expected


def test_nulls_counted_for_a_map_are_not_those_of_a_column(tmp_path: Path) -> None:
    """delta-rs counts NULLs of the keys of a map m under "key"."""
    of_map = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
    log = Log(tmp_path, schema_of(key="long", m=of_map))
    log.commit(add("f", stats(10, {"key": 1}, {"key": 2}, {"key": 0})))
    bounds = log.statistics("f").bounds(column("key", "long"))
    assert (edges(bounds), flags(bounds)) == ((1, 2), (True, True))


def test_columns_that_a_file_does_not_describe(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(old="long", new="long"))
    log.commit(add("f", stats(10, {"old": 1}, {"old": 2}, {"old": 0})))
    log.commit(add("g", stats(10, {"old": 1, "new": 5}, {"old": 2, "new": 6}, {"new": 0})))
    bounds = log.statistics("f", "g").bounds(column("new", "long"))
    assert [edges(bounds, place) for place in (0, 1)] == [(None, None), (5, 6)]
    assert [flags(bounds, place) for place in (0, 1)] == [(True, True), (False, True)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        '"text"',
        '{"numRecords":10,"minValues":{"c":NaN}}',
        '{"numRecords":10,"minValues":{"c":1}',
        '{"minValues":[1],"maxValues":"x","nullCount":3}',
        "[" * 5000,
    ],
)
def test_malformed_statistics_are_unknown(tmp_path: Path, text: str) -> None:
    log = Log(tmp_path, schema_of(c="long"))
    log.commit(add("f", text), add("g", stats(2, {"c": 1}, {"c": 2}, {"c": 0})), add("h"))
    statistics = log.statistics("f", "g", "h")
    bounds = statistics.bounds(column("c", "long"))
    assert [edges(bounds, place) for place in range(3)] == [(None, None), (1, 2), (None, None)]
    assert statistics.num_records.tolist() == [-1, 2, -1]


def test_a_value_of_another_kind_makes_only_itself_unknown(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(c="long", d="long"))
    low: dict[str, Any] = {"c": {"x": 1}, "d": 1, "unknown": [1, {}]}
    log.commit(add("f", stats(10, low, {"c": 2, "d": 2}, {"c": [], "d": 0}, extra={"a": [1]})))
    statistics = log.statistics("f")
    assert edges(statistics.bounds(column("c", "long"))) == (None, 2)
    assert edges(statistics.bounds(column("d", "long"))) == (1, 2)
    assert flags(statistics.bounds(column("c", "long"))) == (True, True)
    assert flags(statistics.bounds(column("d", "long"))) == (False, True)


def test_statistics_that_are_not_a_text_are_unknown(tmp_path: Path) -> None:
    log = Log(tmp_path, schema_of(c="long"))
    log.commit(json.dumps({"add": {"path": "f", "stats": {"numRecords": 1}}}))
    assert log.statistics("f").num_records.tolist() == [-1]
