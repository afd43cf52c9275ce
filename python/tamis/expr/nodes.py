"""The expression tree: frozen nodes, and functions over them elsewhere.

Values of literals are plain Python: bool; int for whole numbers, for dates (days since 1970-01-01)
and for both timestamps (microseconds since 1970-01-01 00:00, UTC for `timestamp`); float;
decimal.Decimal; str; bytes; None for NULL.

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

from tamis.expr.types import BOOLEAN, DataType

__all__ = [
    "And",
    "CalendarInterval",
    "Call",
    "Column",
    "Compare",
    "Comparison",
    "Expr",
    "In",
    "IsNull",
    "Literal",
    "Not",
    "Opaque",
    "Or",
    "Value",
    "Within",
    "children_of",
    "columns_of",
    "type_of",
    "walk",
]


@dataclass(frozen=True, slots=True)
class CalendarInterval:
    """Months, days and microseconds, which are added one after the other."""

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
        types too. `<=>` has none among the operators: None.
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
    """A constant; `value` None is NULL."""

    value: Value
    type: DataType


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of a struct: one path part a level, spelled as in the schema.

    Its dotted path is that of no other column of the schema: who reads expressions makes a column
    `b.c` beside a struct b with a field c opaque, and that field too.
    """

    path: tuple[str, ...]
    type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Opaque:
    """What tamis does not understand: anything may come of it, an error included.

    `key`: as that of a Call.
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
    """`value IN (options)`: constants of the value's type, none of them NULL.

    `has_null`: the list also held NULL, so that a row without a match is NULL rather than false.
    """

    value: Expr
    options: tuple[Value, ...]
    has_null: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """`child IS NULL`; IS NOT NULL is Not(IsNull(child))."""

    child: Expr


@dataclass(frozen=True, slots=True)
class Within:
    """`lower <= value <= upper`, None for no limit: what evaluate.ranges makes of comparisons.

    - `upper_open`: value < upper; for text, in which no string is the one before another.
    - `nan`: whether NaN lies inside.
    """

    value: Column
    lower: Value
    upper: Value
    upper_open: bool = False
    nan: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A deterministic function or operator by its Catalyst class name, such as `Year`.

    `options` are the scalar settings that change its meaning (timeZoneId, evalMode), by name.
    Nothing is known of a name that no operator file teaches.

    `key` is the same for all expressions that give the same value for the same row: by it an index
    finds statistics of the expression. None where the front end cannot tell.
    """

    name: str
    arguments: tuple[Expr, ...]
    options: tuple[tuple[str, str | int | float | bool | None], ...]
    type: DataType
    key: str | None = field(default=None, compare=False)

    def option(self, name: str) -> str | int | float | bool | None:
        """The setting of that name; None when it was not sent."""
        return dict(self.options).get(name)


Expr: TypeAlias = Literal | Column | Opaque | And | Or | Not | Compare | In | IsNull | Within | Call


def type_of(expr: Expr) -> DataType | None:
    """The type of an expression's value; None for what is opaque.

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
    """The paths of the columns that an expression reads, each once, in order of appearance.

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
    """The expression and everything below it, from the top, left to right."""
    pending = [expr]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children_of(node)))


def children_of(expr: Expr) -> tuple[Expr, ...]:
    """The expressions right below one."""
    match expr:
        case And(parts=children) | Or(parts=children) | Call(arguments=children):
            return children
        case Not(child=child) | IsNull(child=child) | In(value=child) | Within(value=child):
            return (child,)
        case Compare(left=left, right=right):
            return (left, right)
        case _:
            return ()
