"""Estimate whether it pays off to scan the fully matching files separately, without the filter.

saved per row of these files   evaluating the filter, and reading columns that only it needs
added per row                  combining the rows of both scans
added per query                planning the second scan and running its tasks; this is what
                               spark.tamis.residualSplit.minSaved stands for

All costs are in nanoseconds of one core, measured on Spark 4.1 over files in memory, and rounded so
that they favour not splitting. An OR counts only its first part. Spark evaluates the others only
where that part is not true, and for a fully matching file it is not known which part is true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tamis.expr.nodes import And, Call, Compare, Expr, In, Or, children_of, type_of

__all__ = ["saved_by_splitting"]

_COMPARISON: Final = 1.0
_OF_TEXT: Final = 5.0
_SEARCH: Final = 30.0
_REGEX: Final = 150.0
_OTHER_CALL: Final = 5.0
_TO_TEXT: Final = 80.0
#: The cost of reading a value of a column.
_READ_NUMBER: Final = 2.0
_READ_TEXT: Final = 30.0
#: The cost of copying a row, and each of its values, into a Union.
_ROW: Final = 10.0
_VALUE: Final = 5.0

_SEARCHES: Final = {"Contains", "EndsWith", "StartsWith", "Like", "StringInstr", "StringLocate"}
_REGEXES: Final = {"RLike", "RegExpReplace", "RegExpExtract", "RegExpInStr", "RegExpCount"}
_TEXTS: Final = {"DateFormatClass", "FromUnixTime", "FormatNumber", "ToCharacter"}


def saved_by_splitting(
    rows: int, others: int, residual: Sequence[Expr], freed: Sequence[str], columns: int
) -> float:
    """Return the nanoseconds that a split saves, not counting the second scan.

    Args:
        rows: The number of rows of the fully matching files.
        others: The number of rows of the other files.
        residual: The conjuncts that are applied to the rows.
        freed: As in wire.goals.SplitGoal.
        columns: As in wire.goals.SplitGoal.
    """
    text = sum(each.startswith(("string", "binary")) for each in freed)
    read = _READ_TEXT * text + _READ_NUMBER * (len(freed) - text)
    saved = rows * (read + sum(map(_cost, residual)))
    return saved - (rows + others) * (_ROW + _VALUE * columns)


def _cost(expr: Expr) -> float:
    """Return the cost of evaluating the expression for a row for which it is true.

    >>> from tamis.expr.nodes import Column, Comparison, Literal
    >>> from tamis.expr.types import BOOLEAN, STRING
    >>> name = Column(("name",), STRING)
    >>> is_foo = Compare(Comparison.EQUAL, name, Literal("foo", STRING))
    >>> has_foo = Call("Contains", (name, Literal("foo", STRING)), (), BOOLEAN)
    >>> _cost(Or((is_foo, has_foo))) < _cost(Or((has_foo, is_foo)))
    True
    """
    match expr:
        case Or(parts=parts):
            return _cost(parts[0])
        case And(parts=parts):
            return sum(map(_cost, parts))
        case Compare(left=left, right=right):
            return _comparison(left) + _cost(left) + _cost(right)
        case In(value=value):
            return _comparison(value) + _cost(value)
        case Call(name=name, arguments=arguments):
            return _call(name, expr) + sum(map(_cost, arguments))
        case _:
            return sum(map(_cost, children_of(expr)))


def _comparison(operand: Expr) -> float:
    data_type = type_of(operand)
    return _OF_TEXT if data_type is not None and data_type.is_text else _COMPARISON


def _call(name: str, call: Call) -> float:
    if name in _REGEXES:
        return _REGEX
    if name in _SEARCHES:
        return _SEARCH
    if name in _TEXTS or (name == "Cast" and call.type.is_text):
        return _TO_TEXT
    return _OTHER_CALL
