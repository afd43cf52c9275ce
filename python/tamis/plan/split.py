"""Whether it pays to scan the files that pass a filter as a whole apart, without it.

saved, a row of these files    what the filter costs, and the columns that only it needs
added, a row                   what it costs to put the rows of both scans together
added, a query                 a second scan: planning it, and its tasks; this is what
                               spark.tamis.residualSplit.minSavedMs stands for

All in nanoseconds of one core, measured on Spark 4.1 over files in memory, and rounded against
splitting. An OR counts with its first part alone: Spark evaluates the others only where that one is
not true, and of a file that passes as a whole nobody knows which part is.
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
#: What it costs to read a value of a column.
_READ_NUMBER: Final = 2.0
_READ_TEXT: Final = 30.0
#: What it costs to copy a row, and a value of it, into a Union.
_ROW: Final = 10.0
_VALUE: Final = 5.0

_SEARCHES: Final = {"Contains", "EndsWith", "StartsWith", "Like", "StringInstr", "StringLocate"}
_REGEXES: Final = {"RLike", "RegExpReplace", "RegExpExtract", "RegExpInStr", "RegExpCount"}
_TEXTS: Final = {"DateFormatClass", "FromUnixTime", "FormatNumber", "ToCharacter"}


def saved_by_splitting(
    rows: int, others: int, residual: Sequence[Expr], freed: Sequence[str], columns: int
) -> float:
    """Nanoseconds that a split saves, less what it adds for each row; the second scan not counted.

    rows: of the files that pass as a whole. others: of the files that do not. residual: what is
    applied to them now. freed, columns: as of wire.goals.SplitGoal.
    """
    text = sum(each.startswith(("string", "binary")) for each in freed)
    read = _READ_TEXT * text + _READ_NUMBER * (len(freed) - text)
    saved = rows * (read + sum(map(_cost, residual)))
    return saved - (rows + others) * (_ROW + _VALUE * columns)


def _cost(expr: Expr) -> float:
    """Of one row for which the expression is true.

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


def _comparison(of: Expr) -> float:
    data_type = type_of(of)
    return _OF_TEXT if data_type is not None and data_type.is_text else _COMPARISON


def _call(name: str, call: Call) -> float:
    if name in _REGEXES:
        return _REGEX
    if name in _SEARCHES:
        return _SEARCH
    if name in _TEXTS or (name == "Cast" and call.type.is_text):
        return _TO_TEXT
    return _OTHER_CALL
