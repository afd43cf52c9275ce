"""What it costs to evaluate an expression: over the statistics of a container, and for a row.

`container_cost` is relative to a comparison of numbers, measured over a million files. Cheap
conjuncts are evaluated first, and so are those that turn out to prune the most. Expensive conjuncts
then see few containers.

`row_cost` is in nanoseconds of one core, measured on Spark 4.1. A filter is worth avoiding for the
rows of fully matching files if it is expensive (see plan.residual_split).
"""

from __future__ import annotations

from typing import Final

from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Evaluated,
    Expr,
    In,
    Literal,
    Opaque,
    Or,
    children_of,
    type_of,
)
from tamis.expr.types import DataType

__all__ = ["container_cost", "row_cost"]

_NUMBER: Final = 1.0
_TEXT: Final = 6.0
_LONG_DECIMAL: Final = 10.0
#: Calendar and time zone functions take twenty to sixty passes over the edges.
_FUNCTION: Final = 40.0
#: A search in a list, whatever its length.
_LIST: Final = 12.0


def container_cost(expr: Expr) -> float:
    """Return the cost of evaluating `can_be_true` for one container.

    >>> from tamis.expr.nodes import IsNull
    >>> from tamis.expr.types import LONG
    >>> c = Column(("c",), LONG)
    >>> container_cost(IsNull(c)) < container_cost(In(c, (1, 2, 3)))
    True
    """
    match expr:
        case Opaque() | Literal() | Column():
            return 0.1
        case Compare(left=left, right=right):
            each = max(_of_type(type_of(left)), _of_type(type_of(right)))
            return each + container_cost(left) + container_cost(right)
        case In(value=value):
            return _LIST * _of_type(type_of(value)) + container_cost(value)
        case Evaluated(column=column, predicate=predicate):
            return _LIST * _of_type(column.type) + container_cost(predicate)
        case Call(arguments=arguments):
            return _FUNCTION + sum(container_cost(argument) for argument in arguments)
        case _:
            return 0.1 + sum(container_cost(child) for child in children_of(expr))


def _of_type(data_type: DataType | None) -> float:
    if data_type is None:
        return 0.1
    if data_type.is_text:
        return _TEXT
    return _NUMBER if data_type.is_discrete or data_type.is_floating else _LONG_DECIMAL


_ROW_COMPARISON: Final = 1.0
_ROW_TEXT: Final = 5.0
_ROW_SEARCH: Final = 30.0
_ROW_REGEX: Final = 150.0
_ROW_CALL: Final = 5.0
_ROW_TO_TEXT: Final = 80.0

_SEARCHES: Final = {"Contains", "EndsWith", "StartsWith", "Like", "StringInstr", "StringLocate"}
_REGEXES: Final = {"RLike", "RegExpReplace", "RegExpExtract", "RegExpInStr", "RegExpCount"}
_TEXTS: Final = {"DateFormatClass", "FromUnixTime", "FormatNumber", "ToCharacter"}


def row_cost(expr: Expr) -> float:
    """Return the nanoseconds that Spark takes to evaluate a predicate for a row where it is true.

    An OR counts only its first part. Spark evaluates the others only where that part is not true,
    and for a fully matching file it is not known which part is true.

    >>> from tamis.expr.nodes import Comparison
    >>> from tamis.expr.types import BOOLEAN, STRING
    >>> name = Column(("name",), STRING)
    >>> is_foo = Compare(Comparison.EQUAL, name, Literal("foo", STRING))
    >>> has_foo = Call("Contains", (name, Literal("foo", STRING)), (), BOOLEAN)
    >>> row_cost(Or((is_foo, has_foo))) < row_cost(Or((has_foo, is_foo)))
    True
    """
    match expr:
        case Or(parts=parts):
            return row_cost(parts[0])
        case And(parts=parts):
            return sum(map(row_cost, parts))
        case Compare(left=left, right=right):
            return _comparison(left) + row_cost(left) + row_cost(right)
        case In(value=value):
            return _comparison(value) + row_cost(value)
        case Call(name=name, arguments=arguments):
            return _call(name, expr) + sum(map(row_cost, arguments))
        case _:
            return sum(map(row_cost, children_of(expr)))


def _comparison(operand: Expr) -> float:
    data_type = type_of(operand)
    return _ROW_TEXT if data_type is not None and data_type.is_text else _ROW_COMPARISON


def _call(name: str, call: Call) -> float:
    if name in _REGEXES:
        return _ROW_REGEX
    if name in _SEARCHES:
        return _ROW_SEARCH
    if name in _TEXTS or (name == "Cast" and call.type.is_text):
        return _ROW_TO_TEXT
    return _ROW_CALL
