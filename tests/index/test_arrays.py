"""Bounds that are written block by block read back as if they had been one."""

from __future__ import annotations

import decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluate.domain.bounds import Bounds
from tamis.evaluate.domain.order import with_keys
from tamis.expr.types import DataType
from tamis.files.bounds import column_bounds
from tamis.index.read.arrays import map_bounds, write_bounds

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
    """Of (value or None, NULLs or None) a file; a block without any edge has no edge column."""
    values, nulls = [value for value, _ in cells], [count for _, count in cells]
    known = any(value is not None for value in values)
    edge = pa.array(values, ARROW[data_type]) if known else None
    counts = pa.array(nulls, pa.int64())
    records = pa.array([10] * len(cells), pa.int64())
    return with_keys(column_bounds(data_type, edge, edge, counts, None, records))


def facts(bounds: Bounds, rows: int) -> list[tuple]:
    """Everything that bounds say, a row at a time."""

    def spread(array: object) -> list:
        if array is None:
            return [None] * rows
        listed = array.tolist()
        return listed * rows if len(listed) == 1 and rows != 1 else listed

    edges = zip(spread(bounds.lower), spread(bounds.upper), strict=True)
    flags = (bounds.can_be_null, bounds.can_be_nan, bounds.can_be_value)
    known = [
        [True] * rows if flags is None else spread(flags)
        for flags in (bounds.lower_known, bounds.upper_known)
    ]
    rest = zip(*map(spread, flags), *known, strict=True)
    return [(*edge, *flags) for edge, flags in zip(edges, rest, strict=True)]


@pytest.mark.parametrize("data_type", ARROW, ids=str)
@given(data=st.data())
def test_blocks_read_back(
    data_type: DataType, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    cell = st.tuples(st.none() | VALUES[data_type], st.sampled_from([None, 0, 3, 10, 11]))
    blocks = data.draw(st.lists(st.lists(cell, min_size=1, max_size=5), min_size=1, max_size=4))
    folder = tmp_path_factory.mktemp("arrays")
    rows = sum(map(len, blocks))
    write_bounds(folder, [(len(block), bounds_of(data_type, block)) for block in blocks], rows)
    found = map_bounds(folder, data_type, rows)
    whole = bounds_of(data_type, [cell for block in blocks for cell in block])
    assert facts(found, rows) == facts(whole, rows)


def test_a_number_of_rows_that_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 rows of statistics instead of 2"):
        write_bounds(tmp_path, [(1, bounds_of(LONG, [(1, 0)]))], 2)


@pytest.mark.parametrize("data_type", ARROW, ids=str)
def test_what_is_cut_off_is_refused(tmp_path: Path, data_type: DataType) -> None:
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
