"""Columns of Delta tables with column mapping, found by physical name or id in an index.

The oracle reads files as Delta's protocol says ("Column Mapping"), and knows nothing of how readings
are compared.
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

from tamis.indexing.read.field_binding import FieldBinding, other_table, places_in
from tamis.indexing.read.mapped_columns import delta_reading, logical_name, unmapped
from tamis.indexing.read.reader_options import Reading

Path = tuple[str, ...]

NAMES = ("a", "b", "A")
TYPES = ("integer", "long", "string", "float", "double", "decimal(4,2)", "decimal(6,2)")


@dataclass
class Table:
    """The metadata of a table. A field has a name, a physical name, an id and a type or fields."""

    fields: list[dict[str, Any]] = field(default_factory=list)
    mode: str = "name"
    partitions: tuple[str, ...] = ()
    next_id: int = 1

    def reading(self) -> Reading:
        return delta_reading(json.dumps(self.schema()), self.mode, self.partitions)

    def schema(self) -> dict[str, Any]:
        return {"type": "struct", "fields": [self._spark(each) for each in self.fields]}

    def _spark(self, each: dict[str, Any]) -> dict[str, Any]:
        mapping = {
            "delta.columnMapping.id": each["id"],
            "delta.columnMapping.physicalName": each["physical"],
        }
        kind = each["type"]
        if isinstance(kind, list):
            kind = {"type": "struct", "fields": [self._spark(inner) for inner in kind]}
        metadata = {"comment": str(self.next_id), **({} if self.mode == "none" else mapping)}
        return {"name": each["name"], "type": kind, "nullable": True, "metadata": metadata}

    def paths(self) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
        """Yield every path with the fields along it."""
        yield from _along(self.fields, (), [])


def _along(
    fields: list[dict[str, Any]], path: Path, around: list[dict[str, Any]]
) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    for each in fields:
        here, along = (*path, each["name"]), [*around, each]
        yield here, along
        if isinstance(each["type"], list):
            yield from _along(each["type"], here, along)


@dataclass(frozen=True)
class File:
    """A data file: its columns, as nested lists of (id, name, type, value or columns)."""

    columns: list[Any]

    def read(self, table: Table, along: list[dict[str, Any]]) -> object:
        """Return the value of a field, as Delta reads it."""
        if along[0]["name"] in table.partitions:
            return "of the log"
        columns, chosen = self.columns, None
        for each in along:
            match table.mode:
                case "id":
                    found = [column for column in columns if column[0] == each["id"]]
                case "name":
                    found = [column for column in columns if column[1] == each["physical"]]
                case _:
                    found = [column for column in columns if column[1] == each["name"]]
            if not found:
                return None
            chosen = found[0]
            columns = chosen[3] if isinstance(chosen[3], list) else []
        assert chosen is not None
        kind = along[-1]["type"]
        if isinstance(kind, list) or isinstance(chosen[3], list):
            inside = [] if not isinstance(kind, list) else kind
            return [(each["name"], self.read(table, [*along, each])) for each in inside]
        return kind, chosen[2], chosen[3]


@st.composite
def new_field(draw: st.DrawFn, table: Table, depth: int = 0) -> dict[str, Any]:
    name = draw(st.sampled_from(NAMES))
    number, table.next_id = table.next_id, table.next_id + 1
    physical = name if table.mode == "none" else draw(st.sampled_from((name, f"col-{number}")))
    made: dict[str, Any] = {"id": number, "name": name, "physical": physical}
    if depth == 0 and draw(st.integers(0, 3)) == 0:
        inner = [draw(new_field(table, 1)) for _ in range(draw(st.integers(1, 2)))]
        made["type"] = _distinct(inner)
    else:
        made["type"] = draw(st.sampled_from(TYPES))
    return made


def _distinct(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    by_name = {each["name"]: each for each in fields}
    return list({each["physical"]: each for each in by_name.values()}.values())


CHANGES = ("add", "drop", "rename", "retype", "swap", "overwrite", "partitions", "map")


@st.composite
def changed(draw: st.DrawFn, table: Table) -> Table:
    """Return the table after a few changes."""
    table = copy.deepcopy(table)
    for _ in range(draw(st.integers(0, 4))):
        lists = [table.fields, *(e["type"] for e in table.fields if isinstance(e["type"], list))]
        fields = draw(st.sampled_from(lists))
        match draw(st.sampled_from(CHANGES)):
            case "add":
                made = draw(new_field(table, int(fields is not table.fields)))
                fields[:] = _distinct([*fields, made])
            case "drop" if len(fields) > 1:
                fields.pop(draw(st.integers(0, len(fields) - 1)))
            case "rename" if table.mode != "none":
                name = draw(st.sampled_from((*NAMES, "d")))
                if all(each["name"] != name for each in fields):
                    draw(st.sampled_from(fields))["name"] = name
            case "retype":
                each = draw(st.sampled_from(fields))
                if not isinstance(each["type"], list):
                    each["type"] = draw(st.sampled_from(TYPES))
            case "swap" if len(fields) > 1 and table.mode != "none":
                one, other = fields[0], fields[1]
                one["name"], other["name"] = other["name"], one["name"]
            case "overwrite":  # new columns may have the ids or the physical names of others
                numbers = draw(st.permutations([each["id"] for each in fields]))
                for each, number in zip(fields, numbers, strict=True):
                    each["id"] = number
                if table.mode != "none":
                    names = draw(st.permutations([each["physical"] for each in fields]))
                    for each, name in zip(fields, names, strict=True):
                        each["physical"] = name
            case "partitions":
                table.partitions = tuple(
                    draw(st.sets(st.sampled_from([each["name"] for each in table.fields])))
                )
            case "map" if table.mode == "none":
                table.mode = "name"  # columns keep their names as physical names
    return table


@st.composite
def tables(draw: st.DrawFn) -> Table:
    table = Table(mode=draw(st.sampled_from(("none", "name", "id"))))
    made = [draw(new_field(table)) for _ in range(draw(st.integers(1, 3)))]
    table.fields = _distinct(made)
    return table


@st.composite
def files(draw: st.DrawFn, table: Table) -> File:
    """Return a file that was written with the schema of a table."""

    def of(fields: list[dict[str, Any]]) -> list[Any]:
        return [
            (
                each["id"],
                each["physical"],
                each["type"] if isinstance(each["type"], str) else "struct",
                of(each["type"]) if isinstance(each["type"], list) else draw(st.integers()),
            )
            for each in fields
        ]

    return File(of(table.fields))


@given(st.data())
def test_a_column_of_the_index_has_the_values_that_a_query_reads(data: st.DataObject) -> None:
    first = data.draw(tables())
    built = data.draw(changed(first))
    now = data.draw(changed(built))
    written = [data.draw(files(data.draw(st.sampled_from([first, built])))) for _ in range(2)]
    before, after = built.reading(), now.reading()
    assert other_table(before, after) is None
    binding = FieldBinding(before, after)
    of_built = dict(built.paths())
    for path, along in now.paths():
        known = binding.path_in_index(path)
        if known is not None:
            for file in written:
                assert file.read(now, along) == file.read(built, of_built[known]), (path, known)
        if binding.reads_the_same([path]):
            for file in written:
                assert file.read(now, along) == file.read(built, of_built[path]), path


@given(st.data())
def test_nothing_is_lost_without_a_change(data: st.DataObject) -> None:
    table = data.draw(changed(data.draw(tables())))
    reading = table.reading()
    binding = FieldBinding(reading, reading)
    for path, _ in table.paths():
        is_of_files = path[0].lower() not in {name.lower() for name in table.partitions}
        assert (path in places_in(reading)) == is_of_files
        assert (binding.path_in_index(path) == path) == is_of_files
        assert binding.reads_the_same([path]) == is_of_files


def of(name: str, physical: str, kind: Any = "long", **metadata: Any) -> dict[str, Any]:
    mapping = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": physical}
    return {"name": name, "type": kind, "metadata": {**mapping, **metadata}, "nullable": True}


def reading_of(*fields: dict[str, Any], mode: str = "name", by: tuple[str, ...] = ()) -> Reading:
    return delta_reading(json.dumps({"type": "struct", "fields": list(fields)}), mode, by)


def array(inner: dict[str, Any]) -> dict[str, Any]:
    struct = {"type": "struct", "fields": [inner]}
    return {"type": "array", "elementType": struct, "containsNull": True}


ROW = {"type": "struct", "fields": [of("x", "p")]}


@pytest.mark.parametrize(
    ("built", "now", "path", "expected"),
    [
        (of("a", "p"), of("b", "p"), ("b",), ("a",)),
        (of("a", "p"), of("a", "q"), ("a",), None),
        (of("a", "p"), of("a", "P"), ("a",), None),
        (of("a", "p", "integer"), of("a", "p", "long"), ("a",), None),
        (of("a", "p", "float"), of("a", "p", "double"), ("a",), None),
        (of("a", "p"), of("a", "p", comment="text"), ("a",), ("a",)),
        (of("a", "p"), of("a", "p", EXISTS_DEFAULT="1"), ("a",), None),
        (of("a", "p"), of("a", "p", CURRENT_DEFAULT="1"), ("a",), ("a",)),
        (of("a", "p"), of("a", "p", **{"delta.identity.highWaterMark": 5}), ("a",), ("a",)),
        (of("a", "p", "string"), of("a", "p", "string", __COLLATIONS={"a": "x"}), ("a",), None),
        (of("s", "o", ROW), of("t", "o", ROW), ("t", "x"), ("s", "x")),
        (of("s", "o", ROW), of("s", "q", ROW), ("s", "x"), None),
        (of("A", "p"), of("a", "p"), ("a",), ("A",)),
        (of("a.b", "p"), of("a.b", "p"), ("a.b",), ("a.b",)),
        (of("a.b", "p"), of("a.b", "p"), ("a", "b"), None),
    ],
)
def test_paths_in_the_index(
    built: dict[str, Any], now: dict[str, Any], path: Path, expected: Path | None
) -> None:
    binding = FieldBinding(reading_of(built), reading_of(now))
    assert binding.path_in_index(path) == expected


def test_expressions_read_what_is_inside_a_column() -> None:
    built = reading_of(of("l", "p", array(of("x", "q"))))
    assert FieldBinding(built, built).reads_the_same([("l",)])
    for inner in (of("y", "q"), of("x", "r"), of("x", "q", "string")):
        now = reading_of(of("l", "p", array(inner)))
        assert not FieldBinding(built, now).reads_the_same([("l",)])
    assert not FieldBinding(built, built).reads_the_same([])


def test_a_table_whose_mapping_was_turned_on_later() -> None:
    built = unmapped(json.dumps({"type": "struct", "fields": [of("a", "x"), of("b", "y")]}))
    now = reading_of(of("b", "a"), of("a", "b"), of("c", "col-3"))
    binding = FieldBinding(built, now)
    assert [binding.path_in_index((name,)) for name in "abc"] == [("b",), ("a",), None]
    assert not binding.reads_the_same([("a",)])


def test_columns_of_partitions_are_left_out() -> None:
    built, now = reading_of(of("a", "a")), reading_of(of("a", "a"), by=("A",))
    for one, other in ((built, now), (now, built)):
        assert FieldBinding(one, other).path_in_index(("a",)) is None
        assert not FieldBinding(one, other).reads_the_same([("a",)])


def test_ids_are_not_compared_with_names() -> None:
    by_id, by_name = reading_of(of("a", "p"), mode="id"), reading_of(of("a", "p"))
    assert places_in(by_id) == {("a",): (1,)}
    assert other_table(by_id, by_id) is None
    assert other_table(by_id, by_name)
    assert other_table(by_name, by_id)
    assert FieldBinding(by_name, by_id).path_in_index(("a",)) is None


def test_fields_without_a_physical_name_are_an_error() -> None:
    with pytest.raises(LookupError):
        delta_reading('{"fields": [{"name": "a", "type": "long", "metadata": {}}]}', "name", [])
    with pytest.raises(ValueError, match="position"):
        delta_reading('{"fields": []}', "position", [])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("p", "a"),
        ("o.p", "s.x"),
        ("l.list.element.p", "l.list.element.p"),
        ("col.l.list.element.p", "m.list.element.p"),
        ("pp", "pp"),
    ],
)
def test_names_of_columns_of_files(path: str, expected: str) -> None:
    reading = reading_of(of("a", "p"), of("s", "o", ROW), of("m", "col.l", array(of("x", "p"))))
    assert logical_name(reading, path) == expected
