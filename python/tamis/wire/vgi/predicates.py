"""The rules for nodes that are true, false or NULL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import pyarrow as pa

from tamis.expr.nodes import And, Call, Column, Comparison, Expr, Not, Or
from tamis.expr.rewrites import FALSE, NULL
from tamis.expr.types import BOOLEAN
from tamis.wire.duckdb import comparisons
from tamis.wire.duckdb.arrow_types import arrow_logical_type
from tamis.wire.duckdb.comparisons import Constant, Operand, text_of
from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import Line
from tamis.wire.vgi import nanoseconds
from tamis.wire.vgi.coercion import aligned, is_null_constant
from tamis.wire.vgi.document import Malformed, Node
from tamis.wire.vgi.operands import place
from tamis.wire.vgi.payloads import constants
from tamis.wire.vgi.reader import Reader
from tamis.wire.vgi.row_values import FieldIsNull, ListContains, TextMatch
from tamis.wire.vgi.sets import options_of

__all__ = ["PREDICATES"]

_Rule: TypeAlias = Callable[[Reader, Node], Expr]

_COMPARISONS: Final = {
    "eq": Comparison.EQUAL,
    "ne": Comparison.NOT_EQUAL,
    "lt": Comparison.LESS,
    "le": Comparison.LESS_EQUAL,
    "gt": Comparison.GREATER,
    "ge": Comparison.GREATER_EQUAL,
    "distinct_from": Comparison.NULL_SAFE_EQUAL,
    "not_distinct_from": Comparison.NULL_SAFE_EQUAL,
}
_MATCHES: Final = {"starts_with": "StartsWith", "ends_with": "EndsWith", "contains": "Contains"}


def _comparison(reader: Reader, node: Node) -> Expr:
    left, right = aligned([reader.operand(node["left"]), reader.operand(node["right"])])
    op = _COMPARISONS[node["op"]]
    if nanoseconds.is_nanoseconds(left) or nanoseconds.is_nanoseconds(right):
        compared = nanoseconds.compare(reader, op, left, right)
    else:
        compared = comparisons.compare(op, left, right)
    return Not(compared) if node["op"] == "distinct_from" else compared


def _and(reader: Reader, node: Node) -> Expr:
    return And(tuple(reader.predicate(each) for each in node["children"]))


def _or(reader: Reader, node: Node) -> Expr:
    return Or(tuple(reader.predicate(each) for each in node["children"]))


def _not(reader: Reader, node: Node) -> Expr:
    return Not(reader.predicate(node["expression"]))


def _is_null(reader: Reader, node: Node) -> Expr:
    column = place(reader, node["expression"])
    if column is not None and column.type.line is None:
        tested = reader.compute("IsNull", (), FieldIsNull(column.path))
    else:
        tested = comparisons.is_null(reader.operand(node["expression"]))
    return Not(tested) if node["negated"] else tested


def _in(reader: Reader, node: Node) -> Expr:
    value, options = reader.operand(node["expression"]), options_of(reader, node["set"])
    if len(options) == 0:
        predicate: Expr = FALSE  # also for NULL
    else:
        values, data_type = constants(options)
        given: list[Operand] = [Constant(each, data_type) for each in values]
        value, *given = aligned([value, *given])
        if nanoseconds.is_nanoseconds(value):
            predicate = nanoseconds.among(reader, value, given)
        else:
            predicate = comparisons.is_in(value, given)
    return Not(predicate) if node["negated"] else predicate


def _call(reader: Reader, node: Node) -> Expr:
    function, arguments = node["function"], node["arguments"]
    if not isinstance(function, str):
        raise NotUnderstood(f"the function {function['name']} is not supported")
    if len(arguments) != 2:
        raise Malformed(f"{function} does not bind to {len(arguments)} arguments")
    if function == "list_contains":
        return _list_contains(reader, *arguments)
    return _text_match(reader, function, *arguments)


def _text_match(reader: Reader, function: str, text: Node, part: Node) -> Expr:
    sides = [reader.operand(text), reader.operand(part)]
    kinds = [each.type for each in sides if not is_null_constant(each)]
    if any(each.line is not Line.TEXT for each in kinds):
        raise Malformed(f"{function} does not bind to {kinds[0].id}")
    if any(is_null_constant(each) for each in sides):
        return NULL
    left, right = (text_of(each) for each in sides)
    name = _MATCHES[function]
    if isinstance(left, Column) and isinstance(right, Column):
        return reader.compute(name, (left, right), TextMatch(name, left.path, right.path))
    return Call(name, (left, right), (), BOOLEAN)


def _list_contains(reader: Reader, lists: Node, needle: Node) -> Expr:
    column = place(reader, lists)
    if column is None or needle["node"] != "literal":
        raise NotUnderstood("list_contains is supported for a column and a constant")
    if not (pa.types.is_list(column.arrow_type) or pa.types.is_large_list(column.arrow_type)):
        raise Malformed("list_contains does not bind to a value that is not a list")
    element = column.arrow_type.value_type
    value = reader.container.value(needle["value_ref"])
    if pa.types.is_null(value.type):
        value = pa.nulls(1, element)
    data_type = arrow_logical_type(element)
    if value.type != element or data_type.line is None or data_type.is_floating:
        raise NotUnderstood("list_contains is supported for exact elements of one type")
    return reader.compute("ListContains", (), ListContains(column.path, value))


#: The rule for each kind of node.
PREDICATES: Final[dict[str, _Rule]] = {
    "comparison": _comparison,
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _is_null,
    "in": _in,
    "call": _call,
}
