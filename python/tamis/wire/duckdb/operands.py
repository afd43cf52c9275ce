"""The rules for nodes that are values: constants, columns, struct fields, casts, CASE, COALESCE."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeAlias

from tamis.expr.nodes import And, Call, Column, Compare, Comparison, Expr, IsNull, Not, Or
from tamis.expr.rewrites import TRUE
from tamis.wire.duckdb.column_references import Place
from tamis.wire.duckdb.comparisons import Constant, Day, Operand, expr_of_type
from tamis.wire.duckdb.constant_comparisons import Term
from tamis.wire.duckdb.constants import constant
from tamis.wire.duckdb.document import NotUnderstood, children, mapping, require
from tamis.wire.duckdb.node import Node, Reader, kind_of, operands_of
from tamis.wire.duckdb.types import LogicalType, keeps_value, logical_type

__all__ = ["OPERANDS"]

_Rule: TypeAlias = Callable[[Reader, Node, int], Operand]

_BOOLEAN: Final = LogicalType("BOOLEAN")
_TIMESTAMP: Final = LogicalType("TIMESTAMP")
#: The expressions of CASE and COALESCE grow with the square of their branches, and each adds a few
#: levels.
_MAX_BRANCHES: Final = 16
_LEVELS: Final = 5


def _constant(reader: Reader, node: Node, depth: int) -> Operand:
    return Constant(*constant(node.get("value")))


def _column(reader: Reader, node: Node, depth: int) -> Operand:
    place = _place(reader, node)
    reader.columns.require_own_name(place.path)
    return Term(Column(place.path, place.source.data_type), place.source, place.type)


def _place(reader: Reader, node: Node) -> Place:
    """Return a column, or a field of one: struct_extract(struct, 'field')."""
    outer: list[Node] = []
    while node.get("type") != "BOUND_COLUMN_REF":
        require(kind_of(node) in _FIELDS)
        outer.append(node)
        node = mapping(operands_of(node, "left", "right")[0])
    place = reader.columns.place(node)
    for node in reversed(outer):
        require(place.type.id == "STRUCT")
        which = _field(operands_of(node, "left", "right")[1])
        place = place.field(which) if isinstance(which, str) else place.field_at(which)
        require(place.type == logical_type(node.get("return_type")))
    return place


def _field(node: object) -> str | int:
    """Return the name of a field, or its position from 1. The constant may be inside a cast."""
    document = mapping(node)
    if kind_of(document) == "OPERATOR_CAST":
        document = mapping(operands_of(document, "child")[0])
    require(kind_of(document) == "VALUE_CONSTANT")
    value, data_type = constant(document.get("value"))
    if isinstance(value, str):
        return value
    require(data_type.id in ("INTEGER", "BIGINT"))
    if not isinstance(value, Fraction):
        raise NotUnderstood
    return int(value)


def _cast(reader: Reader, node: Node, depth: int) -> Operand:
    (child,) = operands_of(node, "child")
    target = logical_type(node.get("return_type"))
    operand = reader.operand(child, depth + 1)
    if isinstance(operand, Constant) and operand.value is None:
        return Constant(None, target)
    is_try = mapping(node.get("function_data", node)).get("try_cast")
    # TRY_CAST returns NULL for values that do not fit, where CAST fails.
    require(is_try is False or operand.type == target)
    match operand:
        case Term(expr=expr, source=source) if (source, target.id) == (_TIMESTAMP, "DATE"):
            require(operand.type == source)
            return Day(expr)
        case Term(expr=expr, source=source):
            require(keeps_value(operand.type, target))
            return Term(expr, source, target)
        case Constant(value=value):
            require(keeps_value(operand.type, target))
            return Constant(value, target)
    raise NotUnderstood


def _case(reader: Reader, node: Node, depth: int) -> Operand:
    """Return a CASE of predicates: the branch of the first condition that is true."""
    checks = [mapping(each) for each in children(node.get("case_checks"))]
    require(0 < len(checks) <= _MAX_BRANCHES)
    require(logical_type(node.get("return_type")) == _BOOLEAN)
    branches: list[Expr] = []
    refused: tuple[Expr, ...] = ()
    for check in checks:
        # `c <=> true` is never NULL: like a false condition, a NULL one does not take its branch.
        condition = reader.predicate(check.get("when_expr"), depth + _LEVELS)
        taken = Compare(Comparison.NULL_SAFE_EQUAL, condition, TRUE)
        branch = reader.predicate(check.get("then_expr"), depth + _LEVELS)
        branches.append(And((*refused, taken, branch)))
        refused = (*refused, Not(taken))
    branches.append(And((*refused, reader.predicate(node.get("else_expr"), depth + _LEVELS))))
    # For every row all branches but one have a false guard, and false OR x is x, also if x is NULL.
    return Term(Or(tuple(branches)), _BOOLEAN, _BOOLEAN)


def _coalesce(reader: Reader, node: Node, depth: int) -> Operand:
    data_type, below = logical_type(node.get("return_type")), children(node.get("children"))
    require(0 < len(below) <= _MAX_BRANCHES)
    if data_type == _BOOLEAN:
        parts = [reader.predicate(each, depth + _LEVELS) for each in below]
        return Term(_first_not_null(parts), _BOOLEAN, _BOOLEAN)
    # The microsecond of a TIMESTAMP_NS is not its value. Catalyst's Coalesce does not cast, so all
    # parts must have the result's type.
    require(data_type.id != "TIMESTAMP_NS")
    exprs = tuple(expr_of_type(reader.operand(each, depth + 1), data_type) for each in below)
    return Term(Call("Coalesce", exprs, (), data_type.data_type), data_type, data_type)


def _first_not_null(parts: list[Expr]) -> Expr:
    """Return a COALESCE of predicates, with guards like the branches of a CASE."""
    branches: list[Expr] = []
    null_before: tuple[Expr, ...] = ()
    for part in parts[:-1]:
        branches.append(And((*null_before, Not(IsNull(part)), part)))
        null_before = (*null_before, IsNull(part))
    return Or((*branches, And((*null_before, parts[-1]))))


_FIELDS: Final = ("struct_extract()", "array_extract()", "struct_extract_at()")

#: The rule for each kind of node.
OPERANDS: Final[dict[str, _Rule]] = {
    "VALUE_CONSTANT": _constant,
    "BOUND_COLUMN_REF": _column,
    "OPERATOR_CAST": _cast,
    "CASE_EXPR": _case,
    "OPERATOR_COALESCE": _coalesce,
    **dict.fromkeys(_FIELDS, _column),
}
