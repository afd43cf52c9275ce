"""Random tables: what their metrics prove holds for their rows."""

from __future__ import annotations

import math
import struct
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.utils.truncate import truncate_upper_bound_text_string

from tests.tables.iceberg.hand_made import File, Lake, Spec, double, integer, long, unscaled
from tests.tables.iceberg.verdict_check import check_verdicts

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MODES: Final = ("none", "counts", "truncate", "full")

#: Types of columns: the values, their Arrow type, and the bytes of a bound.
TYPES: Final[dict[str, tuple[Any, pa.DataType, Callable[[Any], bytes]]]] = {
    "int": (st.integers(-3, 3), pa.int32(), integer),
    "long": (st.integers(-3, 3) | st.integers(-(1 << 63), (1 << 63) - 1), pa.int64(), long),
    "double": (
        st.sampled_from([0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf]),
        pa.float64(),
        double,
    ),
    "float": (
        st.sampled_from([0.0, -0.0, 1.5, math.nan]),
        pa.float32(),
        lambda value: struct.pack("<f", value),
    ),
    "string": (
        st.sampled_from(["", "a", "ab", "abc", "abd", "b", "é", "éé", "\U0010ffff\U0010ffffa"]),
        pa.string(),
        str.encode,
    ),
    "boolean": (st.booleans(), pa.bool_(), lambda value: bytes([value])),
    "decimal(9, 2)": (
        st.sampled_from([Decimal(each).scaleb(-2) for each in (-129, -128, 0, 1, 127, 128, 10**8)]),
        pa.decimal128(9, 2),
        lambda value: unscaled(value, 2),
    ),
    "date": (
        st.sampled_from([date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29)]),
        pa.date32(),
        lambda value: integer((value - EPOCH.date()).days),
    ),
    "timestamptz": (
        st.sampled_from(
            [EPOCH + timedelta(days=d, microseconds=u) for d in (-1, 0, 19783) for u in (0, 1, 999)]
        ),
        pa.timestamp("us", "UTC"),
        lambda value: long((value - EPOCH) // timedelta(microseconds=1)),
    ),
}
#: Transforms of long columns with a function.
TRANSFORMS: Final[dict[str, Callable[[Any], Any]]] = {
    "identity": lambda value: value,
    "truncate[4]": lambda value: value - value % 4,
}


def metrics(
    field_id: int, type_name: str, values: Sequence[Any], mode: str
) -> dict[str, dict[int, Any]]:
    """Return the metrics that a writer collects in a mode."""
    if mode == "none":
        return {}
    _, _, encode = TYPES[type_name]
    present = [each for each in values if each is not None]
    ordinary = [each for each in present if each == each]
    found: dict[str, dict[int, Any]] = {
        "values": {field_id: len(values)},
        "nulls": {field_id: len(values) - len(present)},
    }
    if type_name in ("float", "double"):
        found["nans"] = {field_id: len(present) - len(ordinary)}
    if mode == "counts" or not ordinary:
        return found
    lower, upper = min(ordinary), max(ordinary)
    if mode == "truncate" and type_name == "string":
        lower, upper = lower[:1], truncate_upper_bound_text_string(upper, 1)
    found["lower"] = {field_id: encode(lower)}
    if upper is not None:
        found["upper"] = {field_id: encode(upper)}
    return found


@st.composite
def tables(draw: Any) -> tuple[list[tuple[str, str]], list[list[list[Any]]], list[list[str]]]:
    """Return columns, the values of each file by column, and the modes of each."""
    names = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=3))
    columns = [(f"c{n}", name) for n, name in enumerate(names)]
    files, modes = [], []
    for _ in range(draw(st.integers(1, 4))):
        rows = draw(st.integers(1, 4))
        files.append(
            [
                draw(st.lists(st.none() | TYPES[name][0], min_size=rows, max_size=rows))
                for _, name in columns
            ]
        )
        modes.append([draw(st.sampled_from(MODES)) for _ in columns])
    return columns, files, modes


@given(tables(), st.booleans())
def test_verdicts_hold_for_the_rows(table: Any, joined: bool) -> None:
    columns, files, modes = table
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder), [(n + 1, name, t) for n, (name, t) in enumerate(columns)])
        entries = []
        for place, (values, of_file) in enumerate(zip(files, modes, strict=True)):
            merged: dict[str, dict[int, Any]] = {}
            for n, ((_, t), each, mode) in enumerate(zip(columns, values, of_file, strict=True)):
                for kind, found in metrics(n + 1, t, each, mode).items():
                    merged.setdefault(kind, {}).update(found)
            entries.append(File(f"/{place}", records=len(values[0]), **merged))
        for group in [entries] if joined else [[each] for each in entries]:
            lake.add(*group)
        check_verdicts(lake.open(), rows_of(columns, files))


def rows_of(columns: Sequence[tuple[str, str]], files: Sequence[Sequence[Any]]) -> pa.Table:
    locations = [f"/{n}" for n, values in enumerate(files) for _ in values[0]]
    arrays = {
        name: pa.array([v for values in files for v in values[n]], TYPES[t][1])
        for n, (name, t) in enumerate(columns)
    }
    return pa.table({"_file": locations, **arrays})


@given(st.lists(st.tuples(st.sampled_from(sorted(TRANSFORMS)), st.none() | st.integers(-9, 9))))
def test_partition_values_hold_for_the_rows(rows: list[tuple[str, int | None]]) -> None:
    """Each row is in a file of its own, in the partition of its value."""
    specs = [
        Spec(n, [(1000 + n, "p", 1, name, "long")]) for n, name in enumerate(sorted(TRANSFORMS))
    ]
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder), [(1, "c0", "long")], specs)
        for place, (name, value) in enumerate(rows):
            spec = next(each for each in specs if each.fields[0][3] == name)
            of_row = None if value is None else TRANSFORMS[name](value)
            lake.add(File(f"/{place}", records=1, partition=[of_row]), spec=spec.id)
        files = [[[value]] for _, value in rows]
        check_verdicts(lake.open(), rows_of([("c0", "long")], files))
