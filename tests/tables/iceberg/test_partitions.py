"""Partition values: what they prove, and what manifests are not read because of them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tamis.evaluation import verdicts
from tamis.expr.nodes import Column, Expr, IsNull, Not
from tamis.expr.types import (
    BOOLEAN,
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
from tests.tables.iceberg.hand_made import File, Lake, Spec, integer, long, summary
from tests.tables.iceberg.test_statistics import EQUAL, GREATER, LESS, compare

DAY = 86_400_000_000
#: 2024-03-01
MARCH = 19783
AVRO_DATE = {"type": "int", "logicalType": "date"}
AVRO_TIMESTAMP = {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}


def avro_decimal(precision: int, scale: int, size: int) -> Any:
    return {
        "type": "fixed",
        "name": f"decimal_{precision}_{scale}",
        "size": size,
        "logicalType": "decimal",
        "precision": precision,
        "scale": scale,
    }


def answers(
    folder: Path,
    column_type: str,
    transform: str,
    avro_type: Any,
    values: Sequence[Any],
    on: Sequence[Expr],
    version: int = 2,
) -> list[str]:
    """Return the verdicts on files with these partition values: - is none, ? some, + all."""
    spec = Spec(0, [(1000, "p", 1, transform, avro_type)])
    lake = Lake(folder, [(1, "c", column_type)], [spec], version)
    lake.add(*(File(f"/{n}", partition=[value]) for n, value in enumerate(values)))
    statistics = lake.open().statistics
    return ["".join("-?+"[code] for code in verdicts(each, statistics)) for each in on]


def null(data_type: DataType) -> list[Expr]:
    return [IsNull(Column(("c",), data_type)), Not(IsNull(Column(("c",), data_type)))]


@pytest.mark.parametrize("avro_type", ["int", AVRO_DATE])
def test_days_are_dates_or_integers(tmp_path: Path, avro_type: Any) -> None:
    on = [compare(LESS, MARCH * DAY, TIMESTAMP), *null(TIMESTAMP)]
    found = answers(tmp_path, "timestamptz", "day", avro_type, [MARCH, MARCH - 1, None], on)
    assert found == ["-+-", "--+", "++-"]


@pytest.mark.parametrize(
    ("transform", "value", "inside", "outside"),
    [
        ("year", 54, 19723, 19722),
        ("month", 650, 19783, 19782),
        ("hour", MARCH * 24, MARCH, MARCH + 1),
    ],
)
def test_other_times(tmp_path: Path, transform: str, value: int, inside: int, outside: int) -> None:
    on = [compare(EQUAL, each * DAY, TIMESTAMP) for each in (inside, outside)]
    assert answers(tmp_path, "timestamptz", transform, "int", [value], on) == ["?", "-"]


@pytest.mark.parametrize("transform", ["identity", "truncate[10]", "bucket[4]", "zorder", "void"])
def test_null_partition_values_are_null_but_for_void(tmp_path: Path, transform: str) -> None:
    expected = ["?", "?"] if transform in ("zorder", "void") else ["+", "-"]
    assert answers(tmp_path, "int", transform, "int", [None], null(INTEGER)) == expected


def test_values_of_promoted_columns(tmp_path: Path) -> None:
    on = [compare(EQUAL, 5, LONG), compare(EQUAL, 6, LONG)]
    assert answers(tmp_path, "long", "identity", "int", [5], on) == ["+", "-"]
    ten = decimal(20, 2)
    on = [compare(EQUAL, Decimal("1.50"), ten), compare(EQUAL, Decimal("0.15"), ten)]
    raw = (150).to_bytes(4, "big")
    found = answers(tmp_path, "decimal(20, 2)", "identity", avro_decimal(9, 2, 4), [raw], on)
    assert found == ["+", "-"]


@pytest.mark.parametrize(
    ("column_type", "data_type", "transform", "avro_type", "value", "other"),
    [
        ("timestamptz", TIMESTAMP, "identity", AVRO_DATE, MARCH, 0),
        ("timestamptz", TIMESTAMP, "identity", "long", MARCH, 0),
        ("date", DATE, "identity", "int", MARCH, 0),
        ("string", STRING, "identity", "bytes", b"a", "b"),
        ("double", DOUBLE, "identity", "double", 1.0, 2.0),
        ("timestamptz", TIMESTAMP, "month", AVRO_DATE, 650, 0),
    ],
)
def test_values_of_other_types_are_unknown(
    tmp_path: Path, column_type: str, data_type: DataType, transform: str, avro_type: Any,
    value: Any, other: Any,
) -> None:  # fmt: skip
    on = [compare(EQUAL, other, data_type), *null(data_type)]
    found = answers(tmp_path, column_type, transform, avro_type, [value, None], on)
    assert found == ["??", "??", "??"]


def test_buckets_of_timestamps_may_be_those_of_dates_in_version_3(tmp_path: Path) -> None:
    on = [compare(EQUAL, each * DAY, TIMESTAMP) for each in range(40)]
    for version, expected in ((2, {"?", "-"}), (3, {"?"})):
        found = answers(tmp_path, "timestamptz", "bucket[4]", "int", [1], on, version)
        assert set(found) == expected


def test_strings_truncated_to_their_prefix(tmp_path: Path) -> None:
    on = [compare(LESS, "ab", STRING), compare(EQUAL, "abz", STRING), compare(EQUAL, "ac", STRING)]
    assert answers(tmp_path, "string", "truncate[2]", "string", ["ab"], on) == ["-", "?", "-"]


def test_specs_with_dropped_sources_and_reused_names(tmp_path: Path) -> None:
    specs = [
        Spec(0, [(1000, "p", 1, "identity", "long"), (1001, "gone", 7, "identity", "string")]),
        Spec(1, [(1002, "p", 2, "truncate[10]", "long")]),
        Spec(2),
    ]
    lake = Lake(tmp_path, [(1, "c", "long"), (2, "d", "long")], specs)
    lake.add(File("/0", partition=[5, "x"]), spec=0)
    lake.add(File("/1", partition=[20]), spec=1)
    lake.add(File("/2"), spec=2)
    files = lake.open()

    def code(expr: Expr) -> list[int]:
        return [int(each) for each in verdicts(expr, files.statistics)]

    assert code(compare(EQUAL, 5, LONG)) == [2, 1, 1]
    assert code(compare(EQUAL, 6, LONG)) == [0, 1, 1]
    assert code(compare(EQUAL, 29, LONG, "d")) == [1, 1, 1]
    assert code(compare(EQUAL, 30, LONG, "d")) == [1, 0, 1]


@pytest.mark.parametrize(
    ("column_type", "avro_type", "value", "data_type", "constant"),
    [
        ("boolean", "boolean", True, BOOLEAN, True),
        ("int", "int", 5, INTEGER, 5),
        ("long", "int", 5, LONG, 5),
        ("string", "string", "ü", STRING, "ü"),
        ("date", AVRO_DATE, MARCH, DATE, MARCH),
        ("timestamptz", AVRO_TIMESTAMP, DAY, TIMESTAMP, DAY),
        ("timestamp", AVRO_TIMESTAMP, DAY, DataType("timestamp_ntz"), DAY),
        (
            "decimal(11, 2)",
            avro_decimal(9, 2, 4),
            (-150).to_bytes(4, "big", signed=True),
            decimal(11, 2),
            Decimal("-1.50"),
        ),
    ],
)
def test_identity_values_are_those_of_all_rows(
    tmp_path: Path, column_type: str, avro_type: Any, value: Any, data_type: DataType, constant: Any
) -> None:
    on = [compare(EQUAL, constant, data_type), *null(data_type)]
    found = answers(tmp_path, column_type, "identity", avro_type, [value, None], on)
    assert found == ["+-", "-+", "+-"]


def test_types_may_be_named_again(tmp_path: Path) -> None:
    """Avro defines a fixed type once; later fields of the type have its name."""
    fields: list[tuple[int, str, int, str, Any]] = [
        (1000, "p", 1, "identity", avro_decimal(9, 2, 4)),
        (1001, "q", 2, "identity", "decimal_9_2"),
    ]
    nine = decimal(9, 2)
    lake = Lake(tmp_path, [(1, "c", "decimal(9, 2)"), (2, "d", "decimal(9, 2)")], [Spec(0, fields)])
    lake.add(File("/a", partition=[(150).to_bytes(4, "big"), (250).to_bytes(4, "big")]))
    statistics = lake.open().statistics
    for name, value in (("c", "1.50"), ("d", "2.50")):
        assert verdicts(compare(EQUAL, Decimal(value), nine, name), statistics).tolist() == [2]


# --- summaries ----------------------------------------------------------------------------------


def opened(
    folder: Path,
    column_type: str,
    transform: str,
    summaries: Sequence[Any],
    predicate: Expr,
    version: int = 2,
) -> list[str]:
    """Return which manifests are read. They have one file each, with NULL as partition value."""
    spec = Spec(0, [(1000, "p", 1, transform, "int")])
    lake = Lake(folder, [(1, "c", column_type)], [spec], version)
    for n, each in enumerate(summaries):
        of_fields = None if each is None else [each]
        lake.add(File(f"/{n}", partition=[None]), summaries=of_fields)
    return [each[1:] for each in lake.open(None, predicate).locations.to_pylist()]


def test_manifests_are_left_out_by_their_summaries(tmp_path: Path) -> None:
    summaries = [
        summary(integer(1), integer(5)),
        summary(integer(5), integer(9)),
        summary(integer(5), integer(9), contains_null=True),
        summary(None, None, contains_null=True),  # only NULL
        summary(integer(9), integer(1)),  # inverted
        summary(b"\1", integer(1)),  # of another length
        None,
        summary(None, None),  # neither values nor NULL, so it is not known
        summary(None, integer(5), contains_null=True),
    ]
    found = opened(tmp_path, "int", "identity", summaries, compare(EQUAL, 3, INTEGER))
    assert found == ["0", "4", "5", "6", "7", "8"]
    is_null = IsNull(Column(("c",), INTEGER))
    assert opened(tmp_path, "int", "identity", summaries, is_null) == [str(n) for n in range(2, 9)]
    found = opened(tmp_path, "int", "identity", summaries, Not(is_null))
    assert found == ["0", "1", "2", "4", "5", "6", "7", "8"]
    found = opened(tmp_path, "float", "identity", summaries, IsNull(Column(("c",), FLOAT)))
    assert len(found) == len(summaries)  # all of them may be NaN


@pytest.mark.parametrize(
    ("column_type", "transform", "lower", "upper", "inside", "outside"),
    [
        ("timestamptz", "month", integer(650), integer(651), MARCH * DAY, (MARCH - 1) * DAY),
        ("timestamptz", "day", integer(MARCH), integer(MARCH), MARCH * DAY, (MARCH + 1) * DAY),
        ("timestamptz", "identity", long(5), long(DAY), DAY, DAY + 1),
        ("date", "identity", integer(MARCH), integer(MARCH), MARCH, MARCH + 1),
        ("date", "day", integer(MARCH), integer(MARCH), MARCH, MARCH + 1),
        ("date", "year", integer(54), integer(54), MARCH, MARCH + 366),
        ("long", "truncate[10]", integer(10), long(20), 29, 30),
        ("boolean", "identity", b"\1", b"\1", True, False),
        ("string", "truncate[2]", b"ab", b"ac", "acz", "ad"),
        ("decimal(9, 2)", "identity", b"\x01", b"\x02", Decimal("0.02"), Decimal("0.03")),
    ],
)
def test_summaries_of_transforms(
    tmp_path: Path, column_type: str, transform: str, lower: bytes, upper: bytes,
    inside: Any, outside: Any,
) -> None:  # fmt: skip
    types = {
        "timestamptz": TIMESTAMP,
        "date": DATE,
        "long": LONG,
        "string": STRING,
        "boolean": BOOLEAN,
    }
    data_type = types.get(column_type, decimal(9, 2))
    for value, expected in ((inside, ["0"]), (outside, [])):
        predicate = compare(EQUAL, value, data_type)
        found = opened(tmp_path, column_type, transform, [summary(lower, upper)], predicate)
        assert found == expected


def test_only_manifests_of_one_bucket_are_left_out(tmp_path: Path) -> None:
    summaries = [summary(integer(n), integer(n)) for n in range(4)]
    summaries.append(summary(integer(0), integer(3)))
    found = opened(tmp_path, "int", "bucket[4]", summaries, compare(EQUAL, 34, INTEGER))
    assert found == ["3", "4"]  # the specification: 34 has the hash 2017239379


def test_truncated_integers_wrap_around(tmp_path: Path) -> None:
    """The least integer, truncated to 10, is greater than all others."""
    wrapped = summary(integer(0), integer((1 << 31) - 2))
    predicate = compare(LESS, 0, INTEGER)
    assert opened(tmp_path, "int", "truncate[10]", [wrapped], predicate) == ["0"]
    found = answers(tmp_path, "int", "truncate[10]", "int", [(1 << 31) - 2], [predicate])
    assert found == ["?"]


def test_summaries_that_prove_nothing(tmp_path: Path) -> None:
    one, two = struct.pack("<d", 1), struct.pack("<d", 2)
    cases = [
        ("double", "identity", summary(one, two), compare(EQUAL, 5.0, DOUBLE), 2),
        ("int", "void", summary(None, None), IsNull(Column(("c",), INTEGER)), 2),
        ("int", "zorder", summary(integer(1), integer(2)), compare(EQUAL, 5, INTEGER), 2),
        ("timestamptz", "bucket[4]", summary(integer(1), integer(1)), compare(EQUAL, 0, TIMESTAMP), 3),
    ]  # fmt: skip
    for column_type, transform, of_field, predicate, version in cases:
        found = opened(tmp_path, column_type, transform, [of_field], predicate, version)
        assert found == ["0"], column_type


def test_manifests_that_do_not_match_are_not_opened(tmp_path: Path) -> None:
    spec = Spec(0, [(1000, "p", 1, "identity", "int")])
    lake = Lake(tmp_path, [(1, "c", "int")], [spec])
    lake.add(File("/a", partition=[1]), summaries=[summary(integer(1), integer(1))], counts=(2, 20))
    gone = lake.add(File("/b", partition=[2]), summaries=[summary(integer(2), integer(2))])
    gone.unlink()
    files = lake.open(None, compare(EQUAL, 1, INTEGER))
    assert files.locations.to_pylist() == ["/a"]
    assert (files.total_files, files.total_records) == (4, 40)
    assert (len(files.manifests), files.manifests_total) == (1, 2)
    assert np.array_equal(verdicts(compare(EQUAL, 1, INTEGER), files.statistics), [2])
    none = lake.open(None, compare(GREATER, 2, INTEGER))
    assert len(none) == 0
    assert len(verdicts(compare(EQUAL, 1, INTEGER), none.statistics)) == 0


def test_totals_are_unknown_if_one_manifest_lacks_them(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "int")], version=1)
    lake.add(File("/a"))
    lake.add(File("/b"), counts=(None, None))
    files = lake.open()
    assert len(files) == 2
    assert (files.total_files, files.total_records) == (None, None)
