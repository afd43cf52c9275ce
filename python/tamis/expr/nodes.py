"""The expression tree. Nodes are immutable; functions over them are in other modules.

Values of literals are plain Python values: bool; int for integers, for dates (days since
1970-01-01) and for both timestamp types (microseconds since 1970-01-01 00:00, UTC for `timestamp`);
float; decimal.Decimal; str; bytes; None for NULL.

>>> from tamis.expr.types import LONG
>>> price = Column(("price",), LONG)
>>> cheap = And((Compare(Comparison.LESS, price, Literal(5, LONG)), Not(IsNull(price))))
>>> cheap.parts[0].op
<Comparison.LESS: '<'>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

from tamis.expr.outcomes import Outcomes
from tamis.expr.types import BOOLEAN, DataType

__all__ = [
    "And",
    "CalendarInterval",
    "Call",
    "Column",
    "Compare",
    "Comparison",
    "Evaluated",
    "Expr",
    "In",
    "IsNull",
    "Literal",
    "Not",
    "Opaque",
    "Or",
    "Subdivided",
    "Value",
    "Within",
    "children_of",
    "columns_of",
    "type_of",
    "walk",
]


@dataclass(frozen=True, slots=True)
class CalendarInterval:
    """Months, days and microseconds, which are added in this order."""

    months: int
    days: int
    microseconds: int


Value: TypeAlias = bool | int | float | Decimal | str | bytes | CalendarInterval | None


class Comparison(StrEnum):
    """Spark's comparison operators."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    NULL_SAFE_EQUAL = "<=>"

    @property
    def swapped(self) -> Comparison:
        """The operator with its sides exchanged: `5 > x` is `x < 5`."""
        return _SWAPPED.get(self, self)

    @property
    def negated(self) -> Comparison | None:
        """The operator that is true where this one is false, and NULL where it is NULL.

        NaN is ordered in Spark (greatest, equal to itself), so NOT (a < b) is a >= b for floating
        types too. None for `<=>`, which has no negated operator.
        """
        return _NEGATED.get(self)


_SWAPPED = {
    Comparison.LESS: Comparison.GREATER,
    Comparison.LESS_EQUAL: Comparison.GREATER_EQUAL,
    Comparison.GREATER: Comparison.LESS,
    Comparison.GREATER_EQUAL: Comparison.LESS_EQUAL,
}
_NEGATED = {
    Comparison.EQUAL: Comparison.NOT_EQUAL,
    Comparison.NOT_EQUAL: Comparison.EQUAL,
    Comparison.LESS: Comparison.GREATER_EQUAL,
    Comparison.GREATER_EQUAL: Comparison.LESS,
    Comparison.GREATER: Comparison.LESS_EQUAL,
    Comparison.LESS_EQUAL: Comparison.GREATER,
}


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. A `value` of None means NULL."""

    value: Value
    type: DataType


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of a struct: one path part per level, spelled as in the schema.

    No other column of the schema has the same dotted path. If a schema has a column `b.c` and a
    struct b with a field c, the code that reads expressions makes both of them opaque.
    """

    path: tuple[str, ...]
    type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Opaque:
    """An expression that tamis does not understand. It may have any value, or raise an error.

    `key` is as in a Call.
    """

    sql: str
    columns: tuple[tuple[str, ...], ...] = ()
    key: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not:
    child: Expr


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison. `<>` is NOT (=)."""

    op: Comparison
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class In:
    """`value IN (options)`. The options are constants of the value's type, none of them NULL.

    `has_null` is set if the list also contained NULL: then the predicate is NULL rather than false
    for a row without a match.
    """

    value: Expr
    options: tuple[Value, ...]
    has_null: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """`child IS NULL`. IS NOT NULL is Not(IsNull(child))."""

    child: Expr


@dataclass(frozen=True, slots=True)
class Within:
    """`lower <= value <= upper`, which evaluation.nodes.ranges derives from comparisons.

    None means no limit on that side.

    - `upper_open`: the condition is value < upper. This is for text, because a string has no
      immediate predecessor.
    - `nan`: whether NaN satisfies the condition.
    """

    value: Column
    lower: Value
    upper: Value
    upper_open: bool = False
    nan: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A deterministic function or operator, identified by its Catalyst class name such as `Year`.

    - `options`: the scalar settings that change its meaning (timeZoneId, evalMode), by name.
    - `key`: the same for all expressions that have the same value for the same row. An index uses
      it to look up statistics of the expression. None if the front end cannot compute it.

    Nothing is known about a name that no operator module defines.
    """

    name: str
    arguments: tuple[Expr, ...]
    options: tuple[tuple[str, str | int | float | bool | None], ...]
    type: DataType
    key: str | None = field(default=None, compare=False)

    def option(self, name: str) -> str | int | float | bool | None:
        """Return the setting of that name, or None if it was not sent."""
        return dict(self.options).get(name)


@dataclass(frozen=True, slots=True)
class Subdivided:
    """A predicate that reads only `column`, which evaluation.subdivision evaluates in more detail.

    It has the same value as the predicate itself.
    """

    predicate: Expr
    column: Column


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A predicate that reads only `column`, and what it is for some values of the column."""

    predicate: Expr
    column: Column
    outcomes: Outcomes = field(compare=False)


Expr: TypeAlias = (
    Literal
    | Column
    | Opaque
    | And
    | Or
    | Not
    | Compare
    | In
    | IsNull
    | Within
    | Subdivided
    | Evaluated
    | Call
)


def type_of(expr: Expr) -> DataType | None:
    """Return the type of an expression's value, or None for an opaque expression.

    >>> from tamis.expr.types import LONG
    >>> str(type_of(IsNull(Column(("a",), LONG))))
    'boolean'
    """
    match expr:
        case Literal(type=data_type) | Column(type=data_type) | Call(type=data_type):
            return data_type
        case Opaque():
            return None
        case _:
            return BOOLEAN


def columns_of(expr: Expr) -> tuple[tuple[str, ...], ...]:
    """Return the distinct paths of the columns that an expression reads, in order of appearance.

    >>> from tamis.expr.types import LONG
    >>> columns_of(Or((IsNull(Column(("a",), LONG)), Opaque("f(s.x)", (("s", "x"),)))))
    (('a',), ('s', 'x'))
    """
    return tuple(dict.fromkeys(path for node in walk(expr) for path in _own_paths(node)))


def _own_paths(node: Expr) -> tuple[tuple[str, ...], ...]:
    match node:
        case Column(path=path):
            return (path,)
        case Opaque(columns=columns):
            return columns
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield the expression and all its descendants, parents first, from left to right."""
    pending = [expr]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children_of(node)))


def children_of(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct children of an expression."""
    match expr:
        case And(parts=children) | Or(parts=children) | Call(arguments=children):
            return children
        case Not(child=child) | IsNull(child=child) | In(value=child) | Within(value=child):
            return (child,)
        case Compare(left=left, right=right):
            return (left, right)
        case Subdivided(predicate=predicate):
            return (predicate,)
        case Evaluated(predicate=predicate, column=column):
            # The predicate may be opaque, and still reads this column.
            return (predicate, column)
        case _:
            return ()
