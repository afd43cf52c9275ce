"""Columns of files that are columns of a table, and their values under the names of the table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tamis.sources.fields import Field, bind, fields_of, ids_of, stored_path, table_schema

INNER = pa.struct({"a": pa.int32(), "b": pa.string()})
VALUES = [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]


def identified(name: str, data_type: Any, number: int) -> pa.Field:
    return pa.field(name, data_type, metadata={"PARQUET:field_id": str(number)})


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize(
    ("data_type", "wrap"),
    [
        (lambda t: t, lambda v: v),
        (pa.list_, lambda v: None if v is None else [v, None, v]),
        (pa.large_list, lambda v: [] if v is None else [v]),
        (lambda t: pa.list_(t, 2), lambda v: None if v is None else [v, v]),
        (lambda t: pa.map_(pa.string(), t), lambda v: None if v is None else [("k", v), ("l", None)]),
        (lambda t: pa.list_(pa.list_(t)), lambda v: None if v is None else [[v], None, []]),
        (lambda t: pa.struct({"s": t}), lambda v: None if v is None else {"s": v}),
        (lambda t: pa.map_(pa.string(), pa.list_(t)), lambda v: [("k", None), ("l", [v])]),
    ],
)  # fmt: skip
def test_values_get_the_names_of_the_table(data_type: Any, wrap: Any, offset: int) -> None:
    """NULLs of structs, lists and maps stay; fields that the file lacks are NULL."""
    wanted = pa.struct({"B": pa.string(), "c": pa.int64(), "A": pa.int32()})
    stored = pa.array([wrap(each) for each in [None, *VALUES]], data_type(INNER)).slice(offset)
    (bound,) = bind(
        fields_of(pa.schema({"v": data_type(wanted)})), pa.schema({"V": data_type(INNER)})
    )
    assert bound is not None

    def renamed(value: Any) -> Any:
        if isinstance(value, dict) and "a" in value:
            return {"B": value["b"], "c": None, "A": value["a"]}
        if isinstance(value, dict):
            return {key: renamed(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(renamed(each) for each in value)
        return value

    assert not bound.is_alike
    assert bound.array_of(stored).to_pylist() == [renamed(each) for each in stored.to_pylist()]


def test_values_with_the_same_names_are_not_copied() -> None:
    (bound,) = bind(fields_of(pa.schema({"v": INNER})), pa.schema({"v": INNER}))
    values = pa.array(VALUES, INNER)
    assert bound is not None
    assert bound.array_of(values) is values


def test_ids_decide_and_not_names() -> None:
    fields = (Field("a", pa.int64(), "a", 1), Field("b", pa.int64(), "b", 2))
    swapped = pa.schema([identified("b", pa.int64(), 1), identified("a", pa.int64(), 7)])
    first, second = bind(fields, swapped)
    assert (first and first.place, second) == (0, None)
    assert ids_of(swapped) == (1, 7)
    assert ids_of(pa.schema([identified("b", pa.int64(), -1), pa.field("c", INNER)])) == (
        *(None,) * 4,
    )


@pytest.mark.parametrize(
    ("fields", "schema", "says"),
    [
        ((Field("a", pa.int64(), "a", 1),), pa.schema({"a": pa.int64()}), "has no field ids"),
        (fields_of(pa.schema({"a": INNER})), pa.schema([("a", INNER), ("A", INNER)]),
         "has several columns for a"),
        ((Field("a", pa.int64(), "a", 1),),
         pa.schema([identified("x", pa.int64(), 1), identified("y", pa.int64(), 1)]),
         "has several columns for a"),
    ],
)  # fmt: skip
def test_ambiguous_files_are_refused(fields: Any, schema: pa.Schema, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        bind(fields, schema)


def test_paths_of_leaves_are_those_of_the_file() -> None:
    table = fields_of(pa.schema({"S": pa.struct({"X": INNER}), "n": pa.int64()}))
    bound = bind(table, pa.schema({"n": pa.int64(), "s": pa.struct({"x": INNER})}))
    assert stored_path(bound, ("S", "X", "a")) == ("s", "x", "a")
    assert stored_path(bound, ("S", "X", "z")) is None
    assert stored_path(bound, ("n",)) == ("n",)
    assert stored_path(bind(table, pa.schema({"n": pa.int64()})), ("S", "X", "a")) is None
    assert table_schema(table).names == ["S", "n"]
