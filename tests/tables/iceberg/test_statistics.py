"""What the metrics in manifests prove, and what they do not."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tamis.evaluation import verdicts
from tamis.expr.nodes import Column, Compare, Comparison, Expr, IsNull, Literal, Not
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
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
from tamis.tables.iceberg import IcebergSnapshots
from tests.tables.iceberg.hand_made import File, Lake, double, integer, long, unscaled

EQUAL, LESS, GREATER = Comparison.EQUAL, Comparison.LESS, Comparison.GREATER


def compare(op: Comparison, value: Any, data_type: DataType, name: str = "c") -> Expr:
    return Compare(op, Column(tuple(name.split(".")), data_type), Literal(value, data_type))


def answers(folder: Path, iceberg_type: Any, *files: File, on: Sequence[Expr]) -> list[str]:
    """Return the verdict of each predicate on each file: - is none, ? is some, + is all."""
    lake = Lake(folder, [(1, "c", iceberg_type)])
    lake.add(*files)
    statistics = lake.open().statistics
    return ["".join("-?+"[code] for code in verdicts(each, statistics)) for each in on]


def test_old_bounds_of_promoted_columns_are_decoded(tmp_path: Path) -> None:
    files = (
        File("/a", lower={1: integer(5)}, upper={1: integer(7)}, nulls={1: 0}),
        File("/b", lower={1: long(1 << 40)}, upper={1: long(1 << 41)}, nulls={1: 0}),
        File("/c", lower={1: b"\5\0"}, upper={1: b"\7\0"}, nulls={1: 0}),
    )
    on = [compare(LESS, 5, LONG), compare(LESS, 8, LONG), compare(GREATER, 1 << 41, LONG)]
    assert answers(tmp_path, "long", *files, on=on) == ["--?", "+-?", "--?"]


def test_int_columns_have_no_bounds_of_eight_bytes(tmp_path: Path) -> None:
    file = File("/a", lower={1: long(5)}, upper={1: long(7)})
    assert answers(tmp_path, "int", file, on=[compare(LESS, 5, INTEGER)]) == ["?"]


def test_a_predicate_of_another_type_proves_nothing(tmp_path: Path) -> None:
    file = File("/a", lower={1: integer(5)}, upper={1: integer(7)})
    assert answers(tmp_path, "int", file, on=[compare(LESS, 5, LONG)]) == ["?"]


def test_floats_that_became_doubles(tmp_path: Path) -> None:
    files = (
        File("/a", lower={1: struct.pack("<f", 0.1)}, upper={1: struct.pack("<f", 0.2)}),
        File("/b", lower={1: double(0.1)}, upper={1: double(0.2)}),
    )
    # the float nearest to 0.1 is greater than the double
    on = [compare(EQUAL, 0.1, DOUBLE), compare(EQUAL, 0.15, DOUBLE)]
    assert answers(tmp_path, "double", *files, on=on) == ["-?", "??"]


@pytest.mark.parametrize("text", ["decimal(9, 2)", "decimal(20,2)", "decimal(38, 2)"])
def test_decimals(tmp_path: Path, text: str) -> None:
    data_type = DataType.parse(text)
    assert data_type is not None

    def raw(number: str) -> bytes:
        return unscaled(Decimal(number), 2)

    files = (
        File("/a", lower={1: raw("-1.28")}, upper={1: raw("-0.01")}),
        File("/b", lower={1: raw("1.27")}, upper={1: raw("99999.99")}),
        File("/c", lower={1: b""}, upper={1: b"\0" * 17}),
        File("/d", lower={1: b"\0\0\0\0" + raw("3.00")}, upper={1: raw("4.00")}),
    )
    on = [
        compare(GREATER, Decimal("-0.01"), data_type),
        compare(LESS, Decimal("-1.28"), data_type),
        compare(LESS, Decimal("3.00"), data_type),
    ]
    assert answers(tmp_path, text, *files, on=on) == ["-???", "--?-", "???-"]


def test_decimals_beyond_their_precision_are_unknown(tmp_path: Path) -> None:
    file = File("/a", lower={1: unscaled(Decimal(10**9), 0)}, upper={1: unscaled(Decimal(1), 0)})
    nine = decimal(9, 0)
    on = [compare(LESS, Decimal(5), nine), compare(GREATER, Decimal(1), nine)]
    assert answers(tmp_path, "decimal(9, 0)", file, on=on) == ["?", "-"]


def test_dates_and_booleans(tmp_path: Path) -> None:
    day = (date(2024, 3, 1) - date(1970, 1, 1)).days
    file = File("/a", lower={1: integer(day)}, upper={1: integer(day + 1)})
    on = [compare(LESS, day, DATE), compare(GREATER, day, DATE)]
    assert answers(tmp_path, "date", file, on=on) == ["-", "?"]
    files = (
        File("/a", lower={1: b"\1"}, upper={1: b"\1"}, nulls={1: 0}),
        File("/b", lower={1: b"\0"}, upper={1: b"\1"}),
        File("/c", lower={1: b"\2"}, upper={1: b"\2"}),
    )
    on = [compare(EQUAL, False, BOOLEAN), compare(EQUAL, True, BOOLEAN)]
    assert answers(tmp_path, "boolean", *files, on=on) == ["-??", "+??"]


NOW = 1_700_000_000_123_456


@pytest.mark.parametrize(
    ("name", "data_type"), [("timestamptz", TIMESTAMP), ("timestamp", TIMESTAMP_NTZ)]
)
def test_bounds_of_timestamps_may_be_cut_or_in_other_units(
    tmp_path: Path, name: str, data_type: DataType
) -> None:
    files = (
        File("/a", lower={1: long(NOW)}, upper={1: long(NOW)}, nulls={1: 0}),
        File("/b", lower={1: long(NOW - 456)}, upper={1: long(NOW - 456)}),  # cut
        File("/c", lower={1: long(NOW // 1000)}, upper={1: long(NOW // 1000)}),  # milliseconds
        File("/d", lower={1: long(5)}, upper={1: long(NOW)}),
        File("/e", lower={1: integer(19000)}, upper={1: integer(19001)}),  # was a date
        File("/f", lower={1: long(-(1 << 63))}, upper={1: long((1 << 63) - 1)}),
    )
    on = [
        compare(GREATER, NOW, data_type),
        compare(GREATER, NOW - 456, data_type),
        compare(GREATER, NOW + 543, data_type),
        compare(LESS, NOW - 456, data_type),
    ]
    expected = ["-?????", "+?????", "--????", "--????"]
    assert answers(tmp_path, name, *files, on=on) == expected


def test_bounds_of_strings_may_be_cut(tmp_path: Path) -> None:
    files = (
        File("/a", lower={1: "aé".encode()}, upper={1: b"b"}, nulls={1: 0}, values={1: 10}),
        File("/b", lower={1: b"a\xc3"}, upper={1: b"b"}),  # cut within a character
        File("/c", lower={1: b"a"}),  # no upper bound
    )
    on = [compare(LESS, "aé", STRING), compare(GREATER, "b", STRING), compare(EQUAL, "b", STRING)]
    assert answers(tmp_path, "string", *files, on=on) == ["-??", "--?", "???"]
    lake = Lake(tmp_path, [(1, "c", "string")])
    lake.add(*files)
    assert not lake.open().statistics.certain(Column(("c",), STRING)).attained.any()


def test_bounds_of_other_types_are_not_used(tmp_path: Path) -> None:
    file = File("/a", lower={1: b"a"}, upper={1: b"b"}, nulls={1: 0}, values={1: 10})
    for name, data_type in (
        ("binary", BINARY),
        ("fixed[1]", BINARY),
        ("uuid", STRING),
        ("time", LONG),
        ("timestamp_ns", TIMESTAMP_NTZ),
        ("variant", STRING),
    ):
        value: Any = b"c" if data_type == BINARY else "c" if data_type == STRING else 1 << 60
        on = [compare(EQUAL, value, data_type), IsNull(Column(("c",), data_type))]
        assert answers(tmp_path, name, file, on=on) == ["?", "?"], name


def test_nan_is_outside_of_the_bounds(tmp_path: Path) -> None:
    nan = double(math.nan)
    files = (
        File("/a", lower={1: double(1)}, upper={1: double(2)}, nans={1: 0}, nulls={1: 0}),
        File("/b", lower={1: double(1)}, upper={1: double(2)}, nans={1: 1}),
        File("/c", lower={1: double(1)}, upper={1: double(2)}),  # not counted
        File("/d", lower={1: nan}, upper={1: double(2)}, nans={1: 0}),
        File("/e", lower={1: nan}, upper={1: nan}, nans={1: 0}),
        File("/f", nans={1: 10}, nulls={1: 0}),
    )
    on = [
        compare(GREATER, 2.0, DOUBLE),
        compare(EQUAL, math.nan, DOUBLE),
        compare(LESS, 1.0, DOUBLE),
    ]
    assert answers(tmp_path, "double", *files, on=on) == ["-????+", "-??--+", "---??-"]


def test_signed_zeros_are_equal(tmp_path: Path) -> None:
    file = File("/a", lower={1: double(0.0)}, upper={1: double(0.0)}, nans={1: 0}, nulls={1: 0})
    on = [compare(EQUAL, -0.0, DOUBLE), compare(LESS, 0.0, DOUBLE)]
    assert answers(tmp_path, "double", file, on=on) == ["+", "-"]
    assert answers(tmp_path, "float", file, on=[compare(LESS, 0.0, FLOAT)]) == ["?"]


def test_contradictions_prove_nothing(tmp_path: Path) -> None:
    files = (
        File("/a", lower={1: long(7)}, upper={1: long(5)}, nulls={1: 0}),  # inverted
        File("/b", lower=[(1, long(7)), (1, long(5))], upper={1: long(9)}),  # twice
        File("/c", lower={1: long(7)}, upper={1: long(9)}, nulls={1: 11}),
        File("/d", lower={1: long(7)}, upper={1: long(9)}, nulls={1: -1}),
    )
    on = [compare(EQUAL, 1, LONG), IsNull(Column(("c",), LONG))]
    assert answers(tmp_path, "long", *files, on=on) == ["??--", "????"]


@pytest.mark.parametrize(
    ("name", "data_type", "partial", "none"),
    [("long", LONG, "?", "-"), ("string", STRING, "?", "?"), ("binary", BINARY, "?", "?")],
)
def test_numbers_of_nulls(
    tmp_path: Path, name: str, data_type: DataType, partial: str, none: str
) -> None:
    """Row groups without the number make that of text too small (apache/iceberg#17557)."""
    files = (
        File("/a", nulls={1: 10}, values={1: 10}),
        File("/b", nulls={1: 3}, values={1: 10}),
        File("/c", nulls={1: 0}, values={1: 10}),
        File("/d", nulls={1: 0}, values={1: 20}),  # values of a list?
        File("/e", nulls={1: 10}, values={1: 20}),
        File("/f", nulls={1: 10}),
        File("/g", values={1: 10}),
        File("/h", records=-1, nulls={1: 0}, values={1: 10}),
        File("/i"),
    )
    on = [IsNull(Column(("c",), data_type)), Not(IsNull(Column(("c",), data_type)))]
    assert answers(tmp_path, name, *files, on=on) == [
        f"+{partial}{none}??+???",
        f"-{partial}{'+' if none == '-' else '?'}??-???",
    ]


def test_exact_counts(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long"), (2, "t", "timestamp")])
    lake.add(
        File("/a", nulls={1: 3}, lower={1: long(1)}, upper={1: long(2)}),
        File("/b", nulls={1: 3}, lower={1: long(1)}, upper={1: long(2)}),
        File("/c"),
    )
    lake.add(File("/d", content=1, referenced="/b", partition=()), deletes=True, sequence_number=2)
    statistics = lake.open().statistics
    certain = statistics.certain(Column(("c",), LONG))
    assert certain.nulls.tolist() == [3, -1, -1]
    assert certain.attained.tolist() == [True, False, True]
    assert not statistics.certain(Column(("t",), TIMESTAMP_NTZ)).attained.any()


def struct_type(*fields: tuple[int, str, Any]) -> Any:
    return {
        "type": "struct",
        "fields": [{"id": i, "name": n, "required": False, "type": t} for i, n, t in fields],
    }


def test_columns_are_found_by_field_id(tmp_path: Path) -> None:
    """Field 3 was renamed from `b` to `a` and moved; `b` was dropped and added again."""
    lake = Lake(tmp_path, [(5, "b", "long"), (3, "a", "long"), (9, "a.b", "long")])
    lake.columns = [
        *lake.columns,
        (6, "s", struct_type((7, "x", "int"), (8, "y", struct_type((4, "z", "int"))))),
    ]
    lower = {3: long(7), 1: long(0), 7: integer(1), 4: integer(100), 9: long(50)}
    lake.add(File("/a", lower=lower, upper=lower))
    statistics = lake.open().statistics

    def code(name: tuple[str, ...], value: int, data_type: DataType) -> int:
        found = verdicts(
            Compare(EQUAL, Column(name, data_type), Literal(value, data_type)), statistics
        )
        return int(found[0])

    assert code(("a",), 8, LONG) == 0
    assert code(("a",), 7, LONG) == 1
    assert code(("b",), 8, LONG) == 1
    assert code(("s", "x"), 2, INTEGER) == 0
    assert code(("s", "y", "z"), 1, INTEGER) == 0
    assert code(("a.b",), 51, LONG) == 0
    assert code(("a", "b"), 51, LONG) == 1
    assert code(("S", "x"), 2, INTEGER) == 1  # spelled as in the schema


def test_fields_of_structs_count_as_null_only_if_all_are(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "s", struct_type((2, "x", "long")))])
    lake.add(
        File("/a", nulls={2: 0}, values={2: 10}, lower={2: long(1)}, upper={2: long(2)}),
        File("/b", nulls={2: 10}, values={2: 10}),
        File("/c", nulls={2: 0}, values={2: 4}),
    )
    statistics = lake.open().statistics
    is_null = IsNull(Column(("s", "x"), LONG))
    assert verdicts(is_null, statistics).tolist() == [1, 2, 1]
    assert verdicts(compare(EQUAL, 5, LONG, "s.x"), statistics).tolist() == [0, 0, 1]


def test_elements_of_lists_and_maps_are_not_columns(tmp_path: Path) -> None:
    inner = struct_type((4, "x", "long"))
    a_list = {"type": "list", "element-id": 3, "element": inner, "element-required": False}
    a_map = {"type": "map", "key-id": 6, "key": "string", "value-id": 7, "value": "long"}
    lake = Lake(tmp_path, [(1, "l", a_list), (2, "m", {**a_map, "value-required": False})])
    bounds = {3: long(1), 4: long(1), 6: b"k", 7: long(1)}
    lake.add(File("/a", lower=bounds, upper=bounds, nulls={4: 10, 7: 10}))
    statistics = lake.open().statistics
    for name in ("l.x", "l.element.x", "m.value", "m", "l"):
        assert verdicts(compare(EQUAL, 5, LONG, name), statistics).tolist() == [1]


def test_a_column_without_metrics_is_not_known_to_be_null(tmp_path: Path) -> None:
    """It may be absent, and NULL or its initial default; or metrics were not collected."""
    field = {"id": 2, "name": "later", "required": False, "type": "long", "initial-default": 5}
    lake = Lake(tmp_path, [(1, "c", "long")])
    lake.add(File("/a", values={1: 10}, nulls={1: 0}))
    snapshot = lake.snapshot()
    schema = json.loads(snapshot.schema)
    schema["fields"].append(field)
    files = IcebergSnapshots().open(replace(snapshot, schema=json.dumps(schema)), {}, None)
    later = Column(("later",), LONG)
    for predicate in (IsNull(later), Not(IsNull(later)), compare(EQUAL, 5, LONG, "later")):
        assert verdicts(predicate, files.statistics).tolist() == [1]


def test_files_without_rows_match_nothing(tmp_path: Path) -> None:
    on = [compare(EQUAL, 5, LONG), IsNull(Column(("c",), LONG))]
    assert answers(tmp_path, "long", File("/a", records=0), File("/b"), on=on) == ["-?", "-?"]


def test_slices_and_selections(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [(1, "c", "long")])
    lake.add(*(File(f"/{n}", lower={1: long(n)}, upper={1: long(n)}) for n in range(9)))
    statistics = lake.open().statistics
    predicate = compare(GREATER, 4, LONG)
    assert verdicts(predicate, statistics.slice(3, 7)).tolist() == [0, 0, 1, 1]
    assert verdicts(predicate, statistics.take(np.array([8, 0, 5]))).tolist() == [1, 0, 1]
