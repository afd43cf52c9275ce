"""The rules for nodes that are values: columns, fields, constants, casts and arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tamis.expr.nodes import Call, Column
from tamis.wire.duckdb.arrow_types import arrow_logical_type
from tamis.wire.duckdb.comparisons import Constant, Operand
from tamis.wire.duckdb.constant_comparisons import Term
from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import Line, LogicalType
from tamis.wire.vgi.coercion import ANSI, SIGNED, cast, signed
from tamis.wire.vgi.document import Malformed, Node
from tamis.wire.vgi.payloads import constants
from tamis.wire.vgi.reader import Reader
from tamis.wire.vgi.structure import matching_field

__all__ = ["OPERANDS", "Place", "place"]

_ARITHMETIC: Final = {"add": "Add", "subtract": "Subtract", "multiply": "Multiply"}
_SESSION: Final = "vgi.duckdb.session.v1"


@dataclass(frozen=True, slots=True)
class Place:
    """A column or a field, whether or not its values have a type in expressions."""

    path: tuple[str, ...]
    arrow_type: Any
    type: LogicalType

    def term(self) -> Term:
        """Return the values as an operand, or raise NotUnderstood."""
        if self.type.line is None:
            raise NotUnderstood(f"comparisons of {self.arrow_type} are not supported")
        return Term(Column(self.path, self.type.data_type), self.type, self.type)


def place(reader: Reader, node: Node) -> Place | None:
    """Return the column or field of a node; None if the node is something else.

    Raises:
        Malformed: There is no such column or field.
        NotUnderstood: Another column may have the same dotted path.
    """
    if node.get("node") == "column_ref":
        field = matching_field(reader.schema, node, "column")
        if reader.schema.get_all_field_indices(field.name) != [node["column_index"]]:
            raise NotUnderstood(f"several columns are named {field.name!r}")
        return Place((field.name,), field.type, arrow_logical_type(field.type))
    if node.get("node") != "field_ref":
        return None
    outer = place(reader, node["expression"])
    if outer is None:
        raise NotUnderstood("fields are supported only of columns")
    if not pa.types.is_struct(outer.arrow_type):
        raise Malformed("a field_ref needs an expression of a struct type")
    field = matching_field(pa.schema(list(outer.arrow_type)), node, "field")
    if outer.arrow_type.get_all_field_indices(field.name) != [node["field_index"]]:
        raise NotUnderstood(f"several fields are named {field.name!r}")
    path = (*outer.path, field.name)
    if any("." in part for part in path):
        raise NotUnderstood("fields with a dot in their names are not supported")
    return Place(path, field.type, arrow_logical_type(field.type))


def _column(reader: Reader, node: Node) -> Operand:
    column = place(reader, node)
    assert column is not None
    if len(column.path) == 1 and "." in column.path[0]:
        _require_own_path(reader.schema, column.path[0])
    return column.term()


def _require_own_path(schema: pa.Schema, name: str) -> None:
    """Raise NotUnderstood if a field of a struct may have the dotted path `name`."""
    if name.split(".")[0] in schema.names:
        raise NotUnderstood(f"the column {name!r} may be confused with a field")


def _literal(reader: Reader, node: Node) -> Operand:
    array = reader.container.value(node["value_ref"])
    (value,), data_type = constants(array)
    return Constant(value, data_type)


def _cast(reader: Reader, node: Node) -> Operand:
    target = arrow_logical_type(reader.container.cast_type(node["type_ref"]))
    operand = reader.operand(node["expression"])
    if _needs_time_zone(operand.type) != _needs_time_zone(target) and all(
        each.line in (Line.CALENDAR, Line.INSTANT, Line.TEXT) for each in (operand.type, target)
    ):
        raise Malformed(f"a cast of {operand.type.id} to {target.id} requires {_SESSION}")
    return cast(operand, target)


def _needs_time_zone(data_type: LogicalType) -> bool:
    return data_type.line is Line.INSTANT


def _arithmetic(reader: Reader, node: Node) -> Operand:
    left, right = reader.operand(node["left"]), reader.operand(node["right"])
    op = node["op"]
    if op in ("divide", "modulo"):
        raise Malformed(f"the operator {op} requires {_SESSION}")
    if left.type.id not in SIGNED or right.type.id not in SIGNED:
        raise NotUnderstood("arithmetic is supported for signed integers only")
    wider = max(left.type, right.type, key=lambda each: SIGNED.index(each.id))
    sides = (signed(left, wider), signed(right, wider))
    return Term(Call(_ARITHMETIC[op], sides, ANSI, wider.data_type), wider, wider)


def _negate(reader: Reader, node: Node) -> Operand:
    operand = reader.operand(node["expression"])
    if operand.type.id not in SIGNED:
        raise NotUnderstood("negation is supported for signed integers only")
    negated = Call("UnaryMinus", (signed(operand, operand.type),), ANSI, operand.type.data_type)
    return Term(negated, operand.type, operand.type)


#: The rule for each kind of node.
OPERANDS: Final[dict[str, Callable[[Reader, Node], Operand]]] = {
    "column_ref": _column,
    "field_ref": _column,
    "literal": _literal,
    "cast": _cast,
    "arithmetic": _arithmetic,
    "negate": _negate,
}
