"""The rules for nodes that are true, false or NULL.

These are comparisons, logic, and functions that mean the same as a function of Spark. Both systems
treat text as UTF-8 and compare it byte by byte, return NULL for NULL, and find the empty string in
every text. Functions that are not here may differ: `/` and `//` divide differently, `+` fails
differently, `year` and `date_trunc` treat infinite dates differently, and months are added
differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from tamis.expr.nodes import And, Call, Compare, Comparison, Expr, Literal, Not, Opaque, Or
from tamis.expr.types import BOOLEAN, STRING
from tamis.wire.duckdb import comparisons
from tamis.wire.duckdb.document import NotUnderstood, children, mapping, require
from tamis.wire.duckdb.node import Node, Reader, operands_of
from tamis.wire.duckdb.opaque_nodes import opaque

__all__ = ["PREDICATES"]

_Rule: TypeAlias = Callable[[Reader, Node, int], Expr]

#: DuckDB's name -> Catalyst's.
_TEXT_PREDICATES: Final = {
    "prefix": "StartsWith",
    "starts_with": "StartsWith",
    "^@": "StartsWith",
    "suffix": "EndsWith",
    "ends_with": "EndsWith",
    "contains": "Contains",
}


def _comparison(op: Comparison, reader: Reader, node: Node, depth: int) -> Expr:
    left, right = (reader.operand(side, depth + 1) for side in operands_of(node, "left", "right"))
    return comparisons.compare(op, left, right)


def _between(reader: Reader, node: Node, depth: int) -> Expr:
    """Return value >= lower AND value <= upper, in three-valued logic as in DuckDB."""
    value, lower, upper = (
        reader.operand(side, depth + 1) for side in operands_of(node, "input", "lower", "upper")
    )
    inclusive = mapping(node.get("function_data", node))
    with_lower, with_upper = inclusive.get("lower_inclusive"), inclusive.get("upper_inclusive")
    require(type(with_lower) is bool and type(with_upper) is bool)
    above = Comparison.GREATER_EQUAL if with_lower else Comparison.GREATER
    below = Comparison.LESS_EQUAL if with_upper else Comparison.LESS
    return And((comparisons.compare(above, value, lower), comparisons.compare(below, value, upper)))


def _in(reader: Reader, node: Node, depth: int) -> Expr:
    value, *options = (reader.operand(each, depth + 1) for each in children(node.get("children")))
    return comparisons.is_in(value, options)


def _conjunction(combine: type[And] | type[Or], reader: Reader, node: Node, depth: int) -> Expr:
    parts = tuple(reader.predicate(each, depth + 1) for each in children(node.get("children")))
    require(len(parts) > 0)
    return combine(parts)


def _not(reader: Reader, node: Node, depth: int) -> Expr:
    (child,) = operands_of(node, "child")
    return Not(reader.predicate(child, depth + 1))


def _is_null(reader: Reader, node: Node, depth: int) -> Expr:
    (child,) = operands_of(node, "child")
    return comparisons.is_null(reader.operand(child, depth + 1))


def _negated(rule: _Rule, reader: Reader, node: Node, depth: int) -> Expr:
    return Not(rule(reader, node, depth))


def _text_predicate(name: str, reader: Reader, node: Node, depth: int) -> Expr:
    value, part = (reader.operand(each, depth + 1) for each in operands_of(node, "left", "right"))
    return _text_call(name, comparisons.text_of(value), comparisons.text_of(part))


def _like(reader: Reader, node: Node, depth: int) -> Expr:
    value, pattern = (
        reader.operand(each, depth + 1) for each in operands_of(node, "left", "right")
    )
    shown = opaque(node, reader.columns)
    return _like_call(comparisons.text_of(value), comparisons.text_of(pattern), shown)


def _text_call(name: str, value: Expr, part: Expr) -> Expr:
    return Call(_TEXT_PREDICATES[name], (value, part), (), BOOLEAN)


def _like_call(value: Expr, pattern: Expr, shown: Opaque) -> Expr:
    """Return `value LIKE pattern`, using the part of the pattern before its first wildcard.

        R%      StartsWith(value, 'R')
        R_d%    StartsWith(value, 'R') AND ?    false or NULL where StartsWith is, else unknown
        Red     value = 'Red'

    DuckDB's LIKE has no escape character, so a backslash is an ordinary character.
    """
    if not (isinstance(pattern, Literal) and isinstance(pattern.value, str)):
        raise NotUnderstood
    start = re.split("[%_]", pattern.value, maxsplit=1)[0]
    if start == pattern.value:
        return Compare(Comparison.EQUAL, value, pattern)
    begins = _text_call("prefix", value, Literal(start, STRING))
    if pattern.value == start + "%":
        return begins
    require(bool(start))
    return And((begins, shown))


_distinct: _Rule = partial(_comparison, Comparison.NULL_SAFE_EQUAL)

#: The rule for each kind of node.
PREDICATES: Final[dict[str, _Rule]] = {
    "COMPARE_EQUAL": partial(_comparison, Comparison.EQUAL),
    "COMPARE_NOTEQUAL": partial(_comparison, Comparison.NOT_EQUAL),
    "COMPARE_LESSTHAN": partial(_comparison, Comparison.LESS),
    "COMPARE_GREATERTHAN": partial(_comparison, Comparison.GREATER),
    "COMPARE_LESSTHANOREQUALTO": partial(_comparison, Comparison.LESS_EQUAL),
    "COMPARE_GREATERTHANOREQUALTO": partial(_comparison, Comparison.GREATER_EQUAL),
    "COMPARE_NOT_DISTINCT_FROM": _distinct,
    "COMPARE_DISTINCT_FROM": partial(_negated, _distinct),
    "COMPARE_BETWEEN": _between,
    "COMPARE_NOT_BETWEEN": partial(_negated, _between),
    "COMPARE_IN": _in,
    "COMPARE_NOT_IN": partial(_negated, _in),
    "CONJUNCTION_AND": partial(_conjunction, And),
    "CONJUNCTION_OR": partial(_conjunction, Or),
    "OPERATOR_NOT": _not,
    "OPERATOR_IS_NULL": _is_null,
    "OPERATOR_IS_NOT_NULL": partial(_negated, _is_null),
    "~~()": _like,
    "!~~()": partial(_negated, _like),
    **{f"{name}()": partial(_text_predicate, name) for name in _TEXT_PREDICATES},
}
