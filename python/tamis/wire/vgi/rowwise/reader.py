"""From a node to an expression that is evaluated row by row."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tamis.expr.nodes import Expr, Not
from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import LogicalType
from tamis.wire.vgi.document import Malformed, Node
from tamis.wire.vgi.operands import place
from tamis.wire.vgi.payloads import plain_array
from tamis.wire.vgi.reader import Reader
from tamis.wire.vgi.row_values import Computed
from tamis.wire.vgi.rowwise.arithmetic import arithmetic, negation
from tamis.wire.vgi.rowwise.casts import cast_function
from tamis.wire.vgi.rowwise.expressions import (
    Apply,
    ColumnOf,
    ConstantOf,
    Distinct,
    IsNullOf,
    Member,
    RowExpr,
    compared,
    contained,
)
from tamis.wire.vgi.rowwise.types import BOOLEAN, common_type, is_known, row_type
from tamis.wire.vgi.rowwise.values import FAILED, python_values
from tamis.wire.vgi.sets import options_of

__all__ = ["RowTruth", "row_predicate"]

_NULL: Final = LogicalType("NULL")
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


@dataclass(frozen=True, slots=True, eq=False)
class RowTruth(Computed):
    """A predicate whose value each row has. It is unknown for rows that raise an error."""

    expression: RowExpr

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return self.expression.paths

    def values(self, batch: pa.RecordBatch) -> pa.Array:
        values, failed = self.outcome(batch)
        assert not failed.true_count
        return values

    def outcome(self, batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
        """Return the values, and for which rows there is an error instead."""
        values = self.expression.values(batch)
        failed = pa.array([each is FAILED for each in values], pa.bool_())
        known = [None if each is FAILED else each for each in values]
        return pa.array(known, pa.bool_()), failed


def row_predicate(reader: Reader, node: Node) -> Expr:
    """Return a node that is true, false or NULL as a value that rows have.

    Raises:
        NotUnderstood: DuckDB evaluates the node in a way that is not reproduced.
    """
    is_negated = node["node"] in ("in", "is_null") and node["negated"]
    expression = _expression(reader, {**node, "negated": False} if is_negated else node)
    if expression.type not in (BOOLEAN, _NULL):
        raise Malformed(f"{expression.type.id} is not a predicate")
    truth = reader.compute("RowTruth", (), RowTruth(expression))
    return Not(truth) if is_negated else truth


def _expression(reader: Reader, node: Node) -> RowExpr:
    match node["node"]:
        case "column_ref" | "field_ref":
            return _column(reader, node)
        case "literal":
            array = reader.container.value(node["value_ref"])
            return ConstantOf(*_constants(array)[0])
        case "cast":
            target = row_type(reader.container.cast_type(node["type_ref"]))
            return _cast(_expression(reader, node["expression"]), target)
        case "arithmetic":
            sides = [_expression(reader, node[side]) for side in ("left", "right")]
            return _arithmetic(node["op"], *sides)
        case "negate":
            value = _expression(reader, node["expression"])
            return Apply(negation(value.type), (value,), value.type)
        case "comparison":
            left, right = _aligned(*(_expression(reader, node[s]) for s in ("left", "right")))
            if node["op"] in _COMPARE:
                return compared(_COMPARE[node["op"]], left, right)
            return Distinct(left, right, node["op"] == "not_distinct_from")
        case "is_null":
            tested = IsNullOf(_expression(reader, node["expression"]))
            return Apply(operator.not_, (tested,), BOOLEAN) if node["negated"] else tested
        case "in":
            member = _member(reader, node)
            return Apply(operator.not_, (member,), BOOLEAN) if node["negated"] else member
        case "call" if node["function"] == "list_contains" and len(node["arguments"]) == 2:
            return _list_contains(*(_expression(reader, each) for each in node["arguments"]))
    raise NotUnderstood(f"the node {node['node']} is not supported here")


def _column(reader: Reader, node: Node) -> RowExpr:
    found = place(reader, node)
    assert found is not None
    data_type = row_type(found.arrow_type)
    if not is_known(data_type):
        raise NotUnderstood(f"values of {found.arrow_type} are not supported")
    return ColumnOf(found.path, data_type)


def _constants(array: pa.Array) -> list[tuple[Any, LogicalType]]:
    array = plain_array(array)
    if pa.types.is_null(array.type):
        return [(None, _NULL)] * len(array)
    data_type = row_type(array.type)
    if not is_known(data_type):
        raise NotUnderstood(f"constants of the type {array.type} are not supported")
    return [(value, data_type) for value in python_values(array, data_type)]


def _cast(value: RowExpr, target: LogicalType) -> RowExpr:
    if value.type == target:
        return value
    if isinstance(value, ConstantOf) and value.value is None:
        return ConstantOf(None, target)
    if not is_known(target):
        raise NotUnderstood(f"a cast to {target.id} is not supported")
    return Apply(cast_function(value.type, target), (value,), target)


def _aligned(left: RowExpr, right: RowExpr) -> tuple[RowExpr, RowExpr]:
    if left.type == _NULL or right.type == _NULL:
        target = right.type if left.type == _NULL else left.type
    else:
        target = common_type(left.type, right.type)
    return _cast(left, target), _cast(right, target)


def _arithmetic(op: str, left: RowExpr, right: RowExpr) -> RowExpr:
    resolved = arithmetic(op, left.type, right.type)
    sides = tuple(map(_cast, (left, right), resolved.operands))
    return Apply(resolved.compute, sides, resolved.type)


def _member(reader: Reader, node: Node) -> RowExpr:
    value = _expression(reader, node["expression"])
    options = _constants(options_of(reader, node["set"]))
    if not options:
        return ConstantOf(False, BOOLEAN)  # also for NULL
    kind = options[0][1]
    target = value.type if kind == _NULL else common_type(value.type, kind)
    convert = None if kind == _NULL else cast_function(kind, target)
    items = tuple(None if each is None or convert is None else convert(each) for each, _ in options)
    if any(each is FAILED for each in items):
        raise NotUnderstood("a value of the IN list does not fit the type of the comparison")
    return Member(_cast(value, target), items)


def _list_contains(lists: RowExpr, needle: RowExpr) -> RowExpr:
    if lists.type.id not in ("LIST", "ARRAY"):
        raise NotUnderstood("list_contains is supported for lists")
    ((name, element),) = lists.type.fields
    target = element if needle.type == _NULL else common_type(element, needle.type)
    whole = LogicalType(lists.type.id, lists.type.width, fields=((name, target),))
    return contained(_cast(lists, whole), _cast(needle, target))
