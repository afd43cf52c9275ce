"""Columns of Iceberg tables, found by field id in an index of another schema.

The oracle reads files as Iceberg's specification says ("Column Projection"), and knows nothing of
how readings are compared.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.indexing.read.field_binding import FieldBinding, other_table
from tamis.indexing.read.field_ids import fixed_by_partitions, iceberg_reading
from tamis.wire.iceberg import IcebergSnapshot

Path = tuple[str, ...]

NAMES = ("a", "b", "c")
TYPES = ("int", "long", "string", "decimal(4, 2)", "decimal(6, 2)", "decimal(6, 3)", "float")
#: Casts that the reader makes. Other types do not occur in a file of a correct table.
READABLE = {
    ("int", "long"),
    ("decimal(4, 2)", "decimal(6, 2)"),
}


@dataclass
class Table:
    """The metadata of a table: fields by id, and what else decides how files are read."""

    fields: list[dict[str, Any]] = field(default_factory=list)
    mapping: list[dict[str, Any]] | None = None
    sources: tuple[int, ...] = ()
    next_id: int = 1
    uuid: str = "u"

    def snapshot(self) -> IcebergSnapshot:
        spec = {
            "spec-id": 0,
            "fields": [
                {"source-id": k, "field-id": 1000 + k, "transform": "identity", "name": f"p{k}"}
                for k in self.sources
            ],
        }
        return IcebergSnapshot(
            2,
            1,
            "list",
            json.dumps({"type": "struct", "schema-id": self.next_id, "fields": self.fields}),
            [json.dumps(spec)],
            None if self.mapping is None else json.dumps(self.mapping),
            self.uuid,
        )

    def paths(self) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
        """Yield every path with the fields along it."""
        yield from _along(self.fields, (), [])


def _along(
    fields: list[dict[str, Any]], path: Path, around: list[dict[str, Any]]
) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    for each in fields:
        here, along = (*path, each["name"]), [*around, each]
        yield here, along
        if isinstance(each["type"], dict):
            yield from _along(each["type"]["fields"], here, along)


@dataclass(frozen=True)
class File:
    """A data file: its columns, as nested lists of (id or None, name, type, value or columns).

    `partition` has the values of the metadata, by field id.
    """

    columns: list[Any]
    has_ids: bool
    partition: dict[int, int]

    def read(self, table: Table, along: list[dict[str, Any]]) -> object:
        """Return the value of a field, as Iceberg reads it."""
        leaf = along[-1]
        if leaf["id"] in table.sources and leaf["id"] in self.partition:
            return ("of the metadata", self.partition[leaf["id"]])
        columns, names = self.columns, table.mapping
        chosen: Any = None
        for depth, each in enumerate(along):
            chosen = None
            for position, column in enumerate(columns):
                if self.has_ids:
                    column_id = column[0]
                elif names is not None:
                    column_id = next(
                        (e["field-id"] for e in names if column[1] in e["names"]), None
                    )
                else:  # numbered at the top
                    column_id = position + 1 if not depth else None
                if column_id == each["id"]:
                    chosen = column
            if chosen is None:
                return ("default", each.get("initial-default"))
            entry = next((e for e in names or [] if e["field-id"] == each["id"]), {})
            names = None if names is None else entry.get("fields", [])
            columns = chosen[3] if isinstance(chosen[3], list) else []
        _, _, kind, value = chosen
        if isinstance(leaf["type"], dict) or isinstance(value, list):
            return ("struct", json.dumps(leaf["type"]), json.dumps(value), json.dumps(names))
        fits = kind == leaf["type"] or (kind, leaf["type"]) in READABLE
        return (value,) if fits else ("error", kind, leaf["type"])


@st.composite
def new_field(draw: st.DrawFn, table: Table, depth: int = 0) -> dict[str, Any]:
    made: dict[str, Any] = {"id": table.next_id, "name": draw(st.sampled_from(NAMES))}
    table.next_id += 1
    if depth == 0 and draw(st.integers(0, 3)) == 0:
        inner = [draw(new_field(table, 1)) for _ in range(draw(st.integers(1, 2)))]
        made["type"] = {"type": "struct", "fields": _distinct(inner)}
    else:
        made["type"] = draw(st.sampled_from(TYPES))
        if draw(st.booleans()):
            made["initial-default"] = draw(st.integers(0, 1))
    made["required"] = draw(st.booleans())
    return made


def _distinct(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({each["name"]: each for each in fields}.values())


CHANGES = (
    "add",
    "drop",
    "rename",
    "retype",
    "default",
    "swap",
    "mapping",
    "mapping",
    "no mapping",
    "partitions",
)


@st.composite
def changed(draw: st.DrawFn, table: Table) -> Table:
    """Return the table after a few changes."""
    table = copy.deepcopy(table)
    for _ in range(draw(st.integers(0, 4))):
        lists = [table.fields, *(e["type"]["fields"] for e in table.fields if _is_struct(e))]
        fields = draw(st.sampled_from(lists))
        match draw(st.sampled_from(CHANGES)):
            case "add":
                made = draw(new_field(table, int(fields is not table.fields)))
                if all(each["name"] != made["name"] for each in fields):
                    fields.append(made)
            case "drop" if len(fields) > 1:
                fields.pop(draw(st.integers(0, len(fields) - 1)))
            case "rename":
                name = draw(st.sampled_from((*NAMES, "d")))
                if all(each["name"] != name for each in fields):
                    draw(st.sampled_from(fields))["name"] = name
            case "retype":
                each = draw(st.sampled_from(fields))
                if not _is_struct(each):
                    each["type"] = draw(st.sampled_from(TYPES))
            case "default":  # only another table with the same UUID could do this
                each = draw(st.sampled_from(fields))
                each["initial-default"] = draw(st.integers(0, 1))
            case "swap" if len(fields) > 1:
                one, other = fields[0], fields[1]
                one["name"], other["name"] = other["name"], one["name"]
            case "mapping":
                table.mapping = draw(mappings(table))
            case "no mapping":
                table.mapping = None
            case "partitions":
                ids = [each["id"] for each in table.fields if not _is_struct(each)]
                table.sources = (
                    tuple(draw(st.sets(st.sampled_from(ids), max_size=1))) if ids else ()
                )
    return table


def _is_struct(each: dict[str, Any]) -> bool:
    return isinstance(each["type"], dict)


@st.composite
def mappings(draw: st.DrawFn, table: Table) -> list[dict[str, Any]]:
    def of(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        names = draw(st.permutations((*NAMES, "d")))
        return [
            {
                "field-id": each["id"],
                "names": [names[k]] if k < len(names) else [],
                **({"fields": of(each["type"]["fields"])} if _is_struct(each) else {}),
            }
            for k, each in enumerate(fields)
        ]

    return of(table.fields)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    table = Table()
    for _ in range(draw(st.integers(1, 2))):
        table.fields.append(draw(new_field(table)))
    table.fields = _distinct(table.fields)
    table.mapping = draw(st.none() | mappings(table))
    return table


@st.composite
def files(draw: st.DrawFn, table: Table) -> File:
    """Return a file that was written with the schema of a table, or that was added to it."""
    has_ids = draw(st.booleans())

    def of(fields: list[dict[str, Any]]) -> list[Any]:
        return [
            (
                each["id"] if has_ids else None,
                each["name"],
                each["type"] if not _is_struct(each) else "struct",
                of(each["type"]["fields"]) if _is_struct(each) else draw(st.integers(2, 99)),
            )
            for each in fields
        ]

    partition = {k: 100 + k for k in range(1, 6)} if draw(st.booleans()) else {}
    return File(of(table.fields), has_ids, partition)


@given(st.data())
def test_a_column_of_the_index_has_the_values_that_a_query_reads(data: st.DataObject) -> None:
    first = data.draw(tables())
    built = data.draw(changed(first))
    now = data.draw(changed(built))
    written = [data.draw(files(data.draw(st.sampled_from([first, built])))) for _ in range(2)]
    before, after = iceberg_reading(built.snapshot()), iceberg_reading(now.snapshot())
    if other_table(before, after) is not None:
        assert (built.mapping is None) != (now.mapping is None)
        return
    binding = FieldBinding(before, after)
    of_built = dict(built.paths())
    for path, along in now.paths():
        known = binding.path_in_index(path)
        if known is not None and not _is_struct(along[-1]):
            for file in written:
                recorded = file.read(built, of_built[known])
                # Statistics of values that could not be read do not exist.
                if recorded[:1] != ("error",):  # type: ignore[index]
                    assert file.read(now, along) == recorded, (path, known)
        if path in of_built and binding.reads_the_same([path]):
            for file in written:
                assert file.read(now, along) == file.read(built, of_built[path]), path


@given(st.data())
def test_nothing_is_lost_without_a_change(data: st.DataObject) -> None:
    table = data.draw(changed(data.draw(tables())))
    reading = iceberg_reading(table.snapshot())
    assert other_table(reading, reading) is None
    binding = FieldBinding(reading, reading)
    fixed = fixed_by_partitions(reading)
    for path, along in table.paths():
        assert (path in fixed) == any(each["id"] in table.sources for each in along), path
        assert (binding.path_in_index(path) == path) == (path not in fixed)
        assert binding.reads_the_same([path]) == (path not in fixed)


def reading_of(*fields: dict[str, Any], **more: Any) -> Any:
    table = Table(fields=list(fields), **more)
    return iceberg_reading(table.snapshot())


def of(field_id: int, name: str, kind: Any = "int", **more: Any) -> dict[str, Any]:
    return {"id": field_id, "name": name, "type": kind, "required": False, **more}


ROW = {"type": "struct", "fields": [of(2, "x")]}
LIST = {"type": "list", "element-id": 2, "element": "int", "element-required": False}


@pytest.mark.parametrize(
    ("built", "now", "path", "expected"),
    [
        ([of(1, "a")], [of(1, "b")], ("b",), ("a",)),
        ([of(1, "a")], [of(2, "a")], ("a",), None),
        ([of(1, "a")], [of(1, "a", "long")], ("a",), ("a",)),
        ([of(1, "a", "long")], [of(1, "a")], ("a",), None),
        ([of(1, "a", "date")], [of(1, "a", "timestamp")], ("a",), None),
        ([of(1, "a", "decimal(9, 2)")], [of(1, "a", "decimal(9, 3)")], ("a",), None),
        ([of(1, "a", "string")], [of(1, "a", "uuid")], ("a",), None),
        ([of(1, "a")], [of(1, "a", **{"initial-default": 3})], ("a",), None),
        ([of(1, "a")], [of(1, "a", doc="text", **{"write-default": 3})], ("a",), ("a",)),
        ([of(1, "s", ROW)], [of(1, "t", ROW)], ("t", "x"), ("s", "x")),
        ([of(1, "s", ROW)], [of(3, "s", ROW)], ("s", "x"), None),
        ([of(1, "A")], [of(1, "a")], ("a",), ("A",)),
        ([of(1, "a.b")], [of(1, "a.b")], ("a.b",), ("a.b",)),
        ([of(1, "a.b")], [of(1, "a.b")], ("a", "b"), None),
    ],
)
def test_paths_in_the_index(
    built: list[dict[str, Any]], now: list[dict[str, Any]], path: Path, expected: Path | None
) -> None:
    binding = FieldBinding(reading_of(*built), reading_of(*now))
    assert binding.path_in_index(path) == expected


def test_expressions_read_what_is_inside_a_column() -> None:
    built = reading_of(of(1, "l", LIST), of(3, "s", ROW))
    same = [of(1, "l", LIST), of(3, "s", ROW), of(9, "new")]
    assert FieldBinding(built, reading_of(*same)).reads_the_same([("l",), ("s",)])
    for changed in (
        [of(1, "l", {**LIST, "element": "long"}), of(3, "s", ROW)],
        [of(1, "l", LIST), of(3, "s", {"type": "struct", "fields": [of(2, "y")]})],
        [of(1, "l", LIST)],
        [of(5, "l", LIST), of(3, "s", ROW)],
    ):
        assert not FieldBinding(built, reading_of(*changed)).reads_the_same([("l",), ("s",)])
    assert not FieldBinding(built, built).reads_the_same([])


def test_another_name_mapping_inside_a_list() -> None:
    def mapped(name: str) -> Any:
        inside = [{"field-id": 2, "names": [name]}]
        return reading_of(
            of(1, "l", LIST), mapping=[{"field-id": 1, "names": ["l"], "fields": inside}]
        )

    assert FieldBinding(mapped("element"), mapped("element")).reads_the_same([("l",)])
    assert not FieldBinding(mapped("element"), mapped("array")).reads_the_same([("l",)])


def test_tables_without_a_uuid_are_others() -> None:
    assert other_table(reading_of(of(1, "a"), uuid=""), reading_of(of(1, "a"), uuid=""))


def test_a_transform_of_several_columns_is_understood() -> None:
    snapshot = Table(fields=[of(1, "a"), of(2, "b")]).snapshot()
    spec = {
        "spec-id": 0,
        "fields": [
            {"source-ids": [1], "field-id": 1000, "transform": "identity", "name": "p"},
            {"source-ids": [1, 2], "field-id": 1001, "transform": "bucketV2[4]", "name": "q"},
        ],
    }
    with_spec = IcebergSnapshot(2, 1, "list", snapshot.schema, [json.dumps(spec)], None, "u")
    assert fixed_by_partitions(iceberg_reading(with_spec)) == {("a",)}


def test_columns_of_partitions_are_not_used_whenever_they_became_so() -> None:
    plain, partitioned = reading_of(of(1, "a")), reading_of(of(1, "a"), sources=(1,))
    assert FieldBinding(plain, plain).path_in_index(("a",))
    for built, now in ((plain, partitioned), (partitioned, plain)):
        binding = FieldBinding(built, now)
        assert binding.path_in_index(("a",)) is None
        assert not binding.reads_the_same([("a",)])


def test_a_name_mapping_that_was_set_or_removed() -> None:
    plain = reading_of(of(1, "a"))
    mapped = reading_of(of(1, "a"), mapping=[{"field-id": 1, "names": ["a"]}])
    assert other_table(plain, plain) is None
    assert other_table(mapped, mapped) is None
    assert other_table(plain, mapped)
    assert other_table(mapped, plain)
