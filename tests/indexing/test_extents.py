"""Extents of row groups, and the midpoint byte by which Spark's readers assign them."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.indexing.executor import row_group_ranges as module
from tamis.indexing.executor.row_group_ranges import extents
from tamis.indexing.executor.thrift import StatedGroup, _Compact, stated_groups


def written(table: pa.Table, **options: Any) -> pq.FileMetaData:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return pq.read_metadata(sink)


def summed(metadata: pq.FileMetaData) -> list[int]:
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return [
        sum(group.column(k).total_compressed_size for k in range(group.num_columns))
        for group in groups
    ]


WIDE = pa.table({f"column {i} é": [i * k for k in range(40)] for i in range(20)})
NESTED = pa.table(
    {
        "a": [{"x": [1, 2], "y": {"z": "t"}}, None, {"x": None, "y": None}] * 4,
        "m": pa.array([[("k", 1)], None, []] * 4, pa.map_(pa.string(), pa.int64())),
    }
)


@pytest.mark.parametrize("table", [WIDE, NESTED], ids=["wide", "nested"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_dictionary": False},
        {"write_statistics": False},
        {"write_page_index": True, "data_page_version": "2.0", "compression": "zstd"},
        {"sorting_columns": [pq.SortingColumn(0), pq.SortingColumn(1, descending=True)]},
    ],
    ids=["plain", "no dictionary", "no statistics", "page index", "sorted"],
)
def test_stated_sizes_are_read(table: pa.Table, options: dict[str, Any]) -> None:
    metadata = written(table, row_group_size=5, **options)
    stated = stated_groups(metadata)
    assert [group.size for group in stated] == summed(metadata)
    assert [group.unusable for group in stated] == [frozenset()] * len(stated)


@given(st.integers(1, 30), st.integers(1, 30), st.booleans())
def test_midpoint_lies_in_its_row_group(rows: int, size: int, dictionary: bool) -> None:
    table = pa.table({"a": list(range(rows)), "b": ["x" * k for k in range(rows)]})
    metadata = written(table, row_group_size=size, use_dictionary=dictionary)
    reached = 4
    for start, length, midpoint in extents(metadata, None):
        assert reached <= start
        reached = start + length
        if metadata.num_row_groups > 1:
            assert midpoint is not None
            assert start <= midpoint < reached
        else:
            assert midpoint is None  # not requested by any reader


def chunk(data: int, dictionary: int | None, size: int) -> Any:
    return SimpleNamespace(
        data_page_offset=data,
        has_dictionary_page=dictionary is not None,
        dictionary_page_offset=dictionary,
        total_compressed_size=size,
    )


def group(*chunks: Any) -> Any:
    return SimpleNamespace(num_columns=len(chunks), column=lambda i: chunks[i])


@pytest.mark.parametrize(
    ("chunks", "stated", "expected"),
    [
        ([chunk(100, None, 50)], None, (100, 50, 125)),
        ([chunk(100, 80, 50)], None, (80, 50, 105)),
        ([chunk(100, None, 51), chunk(151, None, 10)], None, (100, 61, 130)),
        # The stated size takes precedence over the sum, even if it is wrong.
        ([chunk(100, None, 50)], 500, (100, 50, 350)),
        ([chunk(100, None, 50)], 0, (100, 50, 100)),
        ([chunk(100, None, 50)], -3, (100, 50, None)),
        # An offset of 0 for "no dictionary": parquet-mr takes it as the start.
        ([chunk(100, 0, 50)], None, (100, 50, 25)),
        # The midpoint's start depends only on the first column.
        ([chunk(200, None, 50), chunk(100, None, 100)], None, (100, 150, 275)),
        ([], None, (0, 0, None)),
    ],
)
def test_midpoint_equals_that_of_parquet_mr(
    chunks: list[Any], stated: int | None, expected: tuple[int, int, int | None]
) -> None:
    assert module._extent(group(*chunks), stated) == expected


def test_encrypted_columns_make_the_row_group_unknown() -> None:
    def encrypted(_: int) -> Any:
        raise OSError("encrypted")

    hidden: Any = SimpleNamespace(num_columns=1, column=encrypted)
    assert module._extent(hidden, None) == (0, 0, None)


def test_stated_sizes_take_precedence() -> None:
    metadata = written(WIDE, row_group_size=20)
    first, second = extents(metadata, None)
    stated = [StatedGroup(None, frozenset()), StatedGroup(10, frozenset())]
    assert extents(metadata, stated) == [first, (*second[:2], second[0] + 5)]


# --- the compact protocol, byte by byte -----------------------------------------------------------


def test_row_group_sizes_are_parsed() -> None:
    footer = bytes.fromhex(
        "15 02"  # 1: i32 version = 1
        "19 1c 48 01 78 00"  # 2: list of structs, with 4: binary "x"
        "16 02"  # 3: i64 num_rows = 1
        "19 3c"  # 4: three row groups
        "19 1c 26 08 00"  # 1: list with one column chunk {2: i64}
        "16 02 16 02 36 c801"  # 2: total_byte_size, 3: num_rows, 6: total_compressed_size = 100
        "00"
        "19 0c 00"  # without columns and without a size
        "11 12 13 05 17 0000000000000000"  # booleans, a byte, a double
        "06 0c c901 00"  # long form of a field number: 6, -101
        "00"
    )
    groups = _Compact(footer, 0, [None]).groups()
    assert [group.size for group in groups] == [100, None, -101]


@pytest.mark.parametrize(
    ("footer", "error"),
    [("19", IndexError), ("18 7f", IndexError), ("1d00", ValueError), ("19 1c 1d 00", ValueError)],
)
def test_malformed_bytes_raise(footer: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        _Compact(bytes.fromhex(footer), 0, []).groups()
