"""Bounds written block by block read back like bounds written at once."""

from __future__ import annotations

import decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.order import with_keys
from tamis.expr.types import DataType
from tamis.files.bounds import column_bounds
from tamis.indexing.read.arrays import map_bounds, write_bounds

LONG = DataType.parse("long")
STRING = DataType.parse("string")
DECIMAL = DataType.parse("decimal(38,2)")
DOUBLE = DataType.parse("double")
ARROW = {LONG: pa.int64(), STRING: pa.string(), DECIMAL: pa.decimal128(38, 2), DOUBLE: pa.float64()}
VALUES = {
    LONG: st.integers(-(2**63), 2**63 - 1),
    STRING: st.text(max_size=12),
    DECIMAL: st.integers(-(10**37), 10**37).map(lambda i: decimal.Decimal(i).scaleb(-2)),
    DOUBLE: st.floats(allow_nan=False),
}


def bounds_of(data_type: DataType, cells: list[tuple]) -> Bounds:
    """Return bounds from one (value or None, NULL count or None) per file.

    A block without any edge has no edge column.
    """
    values, nulls = [value for value, _ in cells], [count for _, count in cells]
    has_edge = any(value is not None for value in values)
    edge = pa.array(values, ARROW[data_type]) if has_edge else None
    counts = pa.array(nulls, pa.int64())
    records = pa.array([10] * len(cells), pa.int64())
    return with_keys(column_bounds(data_type, edge, edge, counts, None, records))


def facts(bounds: Bounds, rows: int) -> list[tuple]:
    """Return all facts that the bounds state, one row at a time."""

    def as_list(array: object) -> list:
        if array is None:
            return [None] * rows
        elements = array.tolist()
        return elements * rows if len(elements) == 1 and rows != 1 else elements

    edges = zip(as_list(bounds.lower), as_list(bounds.upper), strict=True)
    flags = (bounds.can_be_null, bounds.can_be_nan, bounds.can_be_value)
    known_edges = [
        [True] * rows if flags is None else as_list(flags)
        for flags in (bounds.lower_known, bounds.upper_known)
    ]
    rest = zip(*map(as_list, flags), *known_edges, strict=True)
    return [(*edge, *flags) for edge, flags in zip(edges, rest, strict=True)]


@pytest.mark.parametrize("data_type", ARROW, ids=str)
@given(data=st.data())
def test_bounds_written_in_blocks_read_back_unchanged(
    data_type: DataType, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    cell = st.tuples(st.none() | VALUES[data_type], st.sampled_from([None, 0, 3, 10, 11]))
    blocks = data.draw(st.lists(st.lists(cell, min_size=1, max_size=5), min_size=1, max_size=4))
    folder = tmp_path_factory.mktemp("arrays")
    rows = sum(map(len, blocks))
    write_bounds(folder, [(len(block), bounds_of(data_type, block)) for block in blocks], rows)
    mapped = map_bounds(folder, data_type, rows)
    whole = bounds_of(data_type, [cell for block in blocks for cell in block])
    assert facts(mapped, rows) == facts(whole, rows)


def test_wrong_row_count_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 rows of statistics instead of 2"):
        write_bounds(tmp_path, [(1, bounds_of(LONG, [(1, 0)]))], 2)


@pytest.mark.parametrize("data_type", ARROW, ids=str)
def test_missing_files_are_refused(tmp_path: Path, data_type: DataType) -> None:
    """A file that says which bounds are known is absent if all of them are."""
    value = {STRING: "abc", DECIMAL: decimal.Decimal("1.25"), LONG: 7, DOUBLE: 1.5}[data_type]
    write_bounds(tmp_path, [(2, bounds_of(data_type, [(value, 0), (None, None)]))], 2)
    written = sorted(tmp_path.iterdir())
    assert len(written) > 5
    for path in written:
        content = path.read_bytes()
        path.unlink()
        with pytest.raises((OSError, ValueError)):
            map_bounds(tmp_path, data_type, 2)
        path.write_bytes(content)
    map_bounds(tmp_path, data_type, 2)


@pytest.mark.parametrize("data_type", ARROW, ids=str)
def test_truncated_files_are_refused(tmp_path: Path, data_type: DataType) -> None:
    value = {STRING: "abc", DECIMAL: decimal.Decimal("1.25"), LONG: 7, DOUBLE: 1.5}[data_type]
    write_bounds(tmp_path, [(3, bounds_of(data_type, [(value, 0)] * 3))], 3)
    written = [path for path in tmp_path.iterdir() if path.name.startswith("lower.")]
    assert written
    for path in written:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) - 4])
        with pytest.raises((OSError, ValueError, EOFError, pa.ArrowException)):
            map_bounds(tmp_path, data_type, 3)
        path.write_bytes(content)
    assert np.array_equal(map_bounds(tmp_path, data_type, 3).can_be_value, [True])
