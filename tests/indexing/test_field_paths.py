"""Statistics of columns that files have under a field id or another name, from footers."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.executor.field_paths import ByIds, ByNames, Ids, stored_paths
from tamis.indexing.executor.footers import UNKNOWN, FooterReader


def field(name: str, kind: Any, number: int | None) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)} if number else None)


def written(*columns: tuple[pa.Field, list[Any]]) -> pq.FileMetaData:
    schema = pa.schema([each for each, _ in columns])
    arrays = [pa.array(values, each.type) for each, values in columns]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), sink, row_group_size=2)
    return pq.read_metadata(sink)


def read(metadata: pq.FileMetaData, path: tuple[str, ...], kind: str, ids: Ids) -> list[Any]:
    """Return the triples of a column in each row group."""
    footer = FooterReader([Leaf(path, kind)], True, ByIds((ids,))).read(metadata)
    return [group.columns[0] for group in footer.row_groups]


def test_a_column_is_found_under_another_name() -> None:
    metadata = written(
        (field("old", pa.int64(), 7), [1, 2, 3]), (field("a", pa.int64(), 8), [9, 9, 9])
    )
    assert read(metadata, ("a",), "long", (7,)) == [(1, 2, 0), (3, 3, 0)]
    assert read(metadata, ("a",), "long", (8,)) == [(9, 9, 0), (9, 9, 0)]


def test_a_field_of_a_struct_is_found_in_that_struct() -> None:
    inner = [field("z", pa.int32(), 3), field("x", pa.int32(), 4)]
    struct = field("old", pa.struct(inner), 1)
    other = field("s", pa.struct([field("x", pa.int32(), 30)]), 2)
    rows = [{"z": 5, "x": 1}, None, {"z": None, "x": 1}]
    metadata = written((other, [{"x": 0}] * 3), (struct, rows))
    assert read(metadata, ("s", "x"), "integer", (1, 3)) == [(5, 5, 1), (None, None, 1)]


@pytest.mark.parametrize(
    "columns",
    [
        # the file lacks the column: a default or the metadata may give it values
        [(field("a", pa.int64(), 8), [1, 2])],
        # a name mapping may give it the column of the same name
        [(field("a", pa.int64(), None), [1, 2])],
        # two columns have the id
        [(field("a", pa.int64(), 7), [1, 2]), (field("b", pa.int64(), 7), [3, 4])],
        # the id is of a struct, or of an element
        [(field("a", pa.struct([field("a", pa.int64(), 9)]), 7), [{"a": 1}, None])],
        [(field("l", pa.list_(field("element", pa.int64(), 7)), 6), [[1], [2]])],
        # Iceberg has no unsigned integers, and does not say how they are read
        [(field("a", pa.uint32(), 7), [1, 2])],
        [(field("a", pa.string(), 7), ["1", "2"])],
    ],
)
def test_nothing_is_known_of_other_columns(columns: list[Any]) -> None:
    assert read(written(*columns), ("a",), "long", (7,)) == [UNKNOWN]


def test_types_that_were_promoted() -> None:
    metadata = written(
        (field("i", pa.int32(), 1), [1, 2]),
        (field("f", pa.float32(), 2), [1.5, 2.5]),
    )
    assert read(metadata, ("i",), "long", (1,)) == [(1, 2, 0)]
    assert read(metadata, ("f",), "double", (2,)) == [(1.5, 2.5, 0)]


def test_plans_of_schemas_that_differ_in_their_ids_alone() -> None:
    reader = FooterReader([Leaf(("a",), "long")], True, ByIds(((1,),)))
    for numbers, expected in (((1, 2), (1, 1, 0)), ((2, 1), (5, 5, 0)), ((3, 4), UNKNOWN)):
        names = zip("ab", numbers, ([1], [5]), strict=True)
        metadata = written(*((field(name, pa.int64(), n), values) for name, n, values in names))
        assert reader.read(metadata).columns == [expected]


def test_paths_of_structs_inside_structs() -> None:
    inner = field("in", pa.struct([field("leaf", pa.int8(), 3)]), 2)
    schema = pa.schema([field("out", pa.struct([inner]), 1)])
    wanted = [(1, 2, 3), (1, 3), (2, 3), (1, 2), (1, 2, 3, 4)]
    assert stored_paths(schema, wanted) == [("out", "in", "leaf"), None, None, ("out", "in"), None]


def test_columns_that_files_have_under_another_name() -> None:
    inner = pa.struct([pa.field("col-2", pa.int32()), pa.field("x", pa.int32())])
    metadata = written(
        (pa.field("col-1", pa.int64()), [1, 2, 3]),
        (pa.field("a", pa.int64()), [9, 9, 9]),
        (pa.field("s.t", inner), [{"col-2": 5, "x": 1}, None, {"col-2": None, "x": 1}]),
    )
    columns = {
        ("a",): ("long", ("col-1",)),
        ("b",): ("long", ("a",)),
        ("s", "x"): ("integer", ("s.t", "col-2")),
        ("s", "y"): ("integer", ("s", "t", "col-2")),
        ("c",): ("long", ("c",)),
        ("t",): ("long", ("s.t",)),
        ("d",): ("long", ("COL-1",)),
    }
    leaves = [Leaf(path, kind) for path, (kind, _) in columns.items()]
    stored = ByNames(tuple(place for _, place in columns.values()))
    found = {}
    for case_sensitive in (True, False):
        footer = FooterReader(leaves, case_sensitive, stored).read(metadata)
        found[case_sensitive] = dict(zip(columns, footer.columns, strict=True))
    for triples in found.values():
        assert triples["a",] == (1, 3, 0)
        assert triples["b",] == (9, 9, 0)
        assert triples["s", "x"] == (5, 5, 2)
        assert triples["s", "y"] == triples["c",] == (None, None, 3)  # the file has neither
        assert triples["t",] == UNKNOWN  # a struct
    assert found[True]["d",] == (None, None, 3)
    assert found[False]["d",] == (1, 3, 0)
