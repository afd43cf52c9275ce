"""The cost of evaluating a conjunct over one container, relative to a comparison of numbers.

Cheap conjuncts are evaluated first, and so are those that turn out to prune the most. Expensive
conjuncts then see few containers. The figures are ratios, measured over a million files.
"""

from __future__ import annotations

from typing import Final

from tamis.expr.nodes import Call, Column, Compare, Expr, In, Literal, Opaque, children_of, type_of
from tamis.expr.types import DataType

__all__ = ["cost_of"]

_NUMBER: Final = 1.0
_TEXT: Final = 6.0
_LONG_DECIMAL: Final = 10.0
#: Calendar and time zone functions take twenty to sixty passes over the edges.
_FUNCTION: Final = 40.0
#: A search in a list, whatever its length.
_LIST: Final = 12.0


def cost_of(expr: Expr) -> float:
    """Return the cost of evaluating `can_be_true` for one container.

    >>> from tamis.expr.nodes import IsNull
    >>> from tamis.expr.types import LONG
    >>> c = Column(("c",), LONG)
    >>> cost_of(IsNull(c)) < cost_of(In(c, (1, 2, 3)))
    True
    """
    match expr:
        case Opaque() | Literal() | Column():
            return 0.1
        case Compare(left=left, right=right):
            each = max(_of_type(type_of(left)), _of_type(type_of(right)))
            return each + cost_of(left) + cost_of(right)
        case In(value=value):
            return _LIST * _of_type(type_of(value)) + cost_of(value)
        case Call(arguments=arguments):
            return _FUNCTION + sum(cost_of(argument) for argument in arguments)
        case _:
            return 0.1 + sum(cost_of(child) for child in children_of(expr))


def _of_type(data_type: DataType | None) -> float:
    if data_type is None:
        return 0.1
    if data_type.is_text:
        return _TEXT
    return _NUMBER if data_type.is_discrete or data_type.is_floating else _LONG_DECIMAL
