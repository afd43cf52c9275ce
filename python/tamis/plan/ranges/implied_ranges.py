"""Implied predicates: ranges of columns that follow from a predicate over functions of them.

    year(ts) = 1995                    ts >= '1995-01-01' AND ts < '1996-01-01'
    x + 1 = 5                          x = 4 OR x = 9223372036854775807, which raises in ANSI mode
    substring(s, 1, 3) = 'abc'         s >= 'abc' AND s < 'abd'
    month(d) = 3                       nothing: there is a March in every year

Parquet readers and other sources skip row groups, pages and rows only by a range of a column. An
implied range is added to the filters that they receive. It never replaces the predicate.

No function has a rule of its own. The predicate is evaluated over made-up containers
(plan.ranges.interval_search, plan.ranges.prefix_search), and this evaluation is sound. Proof that
every row for which the predicate is true passes the range: its value of the column is not NULL,
because the predicate is not true in a container in which the column has only NULLs; and the value
lies in a possible cell, and therefore in the range.

No ranges are derived for

- FLOAT and DOUBLE: Parquet's filters order NaN and -0.0 differently from Spark, and lose rows;
- strings that are not ordered by their bytes: these have no type here;
- dates and timestamps before 1900 or after 9999: readers of files in the old calendar and
  databases disagree on these. A bound in that region is moved outward to the limit, or dropped;
- predicates that are never true: these rule out whole files instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from tamis.evaluation.nodes.operators import FUNCTIONS, PREDICATES
from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Value,
    children_of,
    walk,
)
from tamis.expr.rewrites import conjoin, disjoin, simplify
from tamis.expr.types import BOOLEAN, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from tamis.plan.ranges.interval_search import possible_runs
from tamis.plan.ranges.prefix_search import possible_texts

__all__ = ["ImpliedRange", "Interval", "implied", "implied_ranges", "plain_domain"]

_DAY: Final = 86_400_000_000
#: 1900-01-01 and 9999-12-31, in days since 1970.
_YEAR_1900, _YEAR_9999 = -25_567, 2_932_896
#: Longer lists are not evaluated over a thousand cells.
_MOST_OPTIONS: Final = 1_000
#: Nor are predicates of more nodes. A predicate is evaluated about ten times, and one over a string
#: about a hundred times.
_MOST_NODES: Final = 1_000
_MOST_NODES_OF_TEXT: Final = 200
#: A search takes one or two milliseconds per part. Leaving out parts of an AND weakens the range.
_MOST_COLUMNS: Final = 8
_MOST_PARTS: Final = 8


@dataclass(frozen=True, slots=True)
class Interval:
    """The values from `lower` to `upper`, in the form of Literal.value.

    None means unbounded on that side. With `upper_open`, the interval excludes `upper`.
    """

    lower: Value
    upper: Value
    upper_open: bool = False


@dataclass(frozen=True, slots=True)
class ImpliedRange:
    """The predicate that a column is not NULL and its value lies in one of the intervals."""

    column: Column
    intervals: tuple[Interval, ...]

    @property
    def predicate(self) -> Expr:
        return disjoin(_predicate(self.column, interval) for interval in self.intervals)


def implied(expr: Expr) -> tuple[Expr, ...]:
    """Return the ranges of columns that a predicate implies, one predicate per column.

    Never raises. Predicates that a source can use as they are (`x < 5`, `x IN (1, 2)`,
    `x IS NULL`) imply nothing new.

    >>> from tamis.expr.sql import to_sql
    >>> from tamis.expr.types import INTEGER
    >>> year = Call("Year", (Column(("day",), DATE),), (), INTEGER)
    >>> [to_sql(each) for each in implied(Compare(Comparison.EQUAL, year, Literal(1995, INTEGER)))]
    ["day >= DATE '1995-01-01' AND day <= DATE '1995-12-31'"]
    """
    return tuple(each.predicate for each in implied_ranges([expr]))


def implied_ranges(conjuncts: Iterable[Expr]) -> tuple[ImpliedRange, ...]:
    """Return the ranges of columns that the AND of several predicates implies.

    The AND of `year(d) = 1995` and `month(d) = 3` implies a narrower range than either of them.
    """
    parts = tuple(part for conjunct in conjuncts for part in _parts(simplify(conjunct)))
    if not any(map(_is_worth_a_search, parts)):
        return ()
    columns = dict.fromkeys(
        column for part in parts if _is_worth_a_search(part) for column in _searched(part)
    )
    ranges = (_range_of(column, parts) for column in list(columns)[:_MOST_COLUMNS])
    return tuple(each for each in ranges if each is not None)


def _parts(expr: Expr) -> tuple[Expr, ...]:
    return expr.parts if isinstance(expr, And) else (expr,)


def _is_worth_a_search(part: Expr) -> bool:
    """Return whether the part contains a known function and is not usable by a source as it is."""
    if _is_sargable(part):
        return False
    return any(
        isinstance(node, Call) and (node.name in FUNCTIONS or node.name in PREDICATES)
        for node in walk(part)
    )


def _is_sargable(expr: Expr) -> bool:
    """Return whether sources take the predicate as it is and derive what follows from it."""
    match expr:
        case Literal() | Column():
            return True
        case Compare(left=left, right=right):
            return isinstance(left, Literal | Column) and isinstance(right, Literal | Column)
        case In(value=child) | IsNull(child=child):
            return isinstance(child, Column)
        case Call(name="StartsWith" | "EndsWith" | "Contains", arguments=(Column(), Literal())):
            return True
        case And() | Or() | Not():
            return all(map(_is_sargable, children_of(expr)))
        case _:
            return False


def _searched(part: Expr) -> Iterator[Column]:
    for node in walk(part):
        if isinstance(node, Column) and (node.type == STRING or _is_on_a_line(node.type)):
            yield node


def _is_on_a_line(data_type: DataType) -> bool:
    return data_type.is_discrete and data_type != BOOLEAN


def _range_of(column: Column, parts: Sequence[Expr]) -> ImpliedRange | None:
    about = [part for part in parts if _is_about(part, column)]
    sargable = [part for part in about if _is_sargable(part)][:_MOST_PARTS]
    others = [part for part in about if not _is_sargable(part)][:_MOST_PARTS]
    implied_range = _searched_range(conjoin([*sargable, *others]), column)
    # The source already receives the sargable parts, so a range that they imply adds nothing.
    is_redundant = (
        implied_range is not None
        and sargable
        and implied_range == _searched_range(conjoin(sargable), column)
    )
    return None if is_redundant else implied_range


def _is_about(part: Expr, column: Column) -> bool:
    most = _MOST_NODES_OF_TEXT if column.type == STRING else _MOST_NODES
    nodes = list(islice(walk(part), most + 1))
    if len(nodes) > most or any(
        isinstance(node, In) and len(node.options) > _MOST_OPTIONS for node in nodes
    ):
        return False
    return any(isinstance(node, Column) and node.path == column.path for node in nodes)


def _searched_range(expr: Expr, column: Column) -> ImpliedRange | None:
    if column.type == STRING:
        texts = possible_texts(expr, column)
        if texts is None:
            return None
        return ImpliedRange(column, (Interval(texts.lower, texts.upper, texts.upper_open),))
    runs = possible_runs(expr, column)
    if runs is None:
        return None
    intervals = tuple(_interval(low, high, column.type) for low, high in runs)
    is_everything = any(each.lower is None and each.upper is None for each in intervals)
    return None if is_everything else ImpliedRange(column, intervals)


def _interval(low: int, high: int, data_type: DataType) -> Interval:
    least, greatest = plain_domain(data_type)
    lower = None if low <= least else min(low, greatest)
    upper = None if high >= greatest else max(high, least)
    return Interval(_value(lower, data_type), _value(upper, data_type))


def plain_domain(data_type: DataType) -> tuple[int, int]:
    """Return the first and the last value that may be used as a bound in the filter of a reader.

    Readers of files in the old calendar and databases disagree on dates and timestamps outside of
    it, and Spark cannot convert the first and the last ones of the type for a reader at all.
    """
    if data_type == DATE:
        return _YEAR_1900, _YEAR_9999
    if data_type in (TIMESTAMP, TIMESTAMP_NTZ):
        return _YEAR_1900 * _DAY, (_YEAR_9999 + 1) * _DAY - 1
    if data_type.precision is not None:
        return 1 - 10**data_type.precision, 10**data_type.precision - 1
    return data_type.domain


def _value(number: int | None, data_type: DataType) -> Value:
    if number is None or data_type.scale is None:
        return number
    return from_unscaled(number, data_type.scale)


def _predicate(column: Column, interval: Interval) -> Expr:
    lower = Literal(interval.lower, column.type)
    upper = Literal(interval.upper, column.type)
    if interval.lower == interval.upper and not interval.upper_open:
        return Compare(Comparison.EQUAL, column, lower)
    below = Comparison.LESS if interval.upper_open else Comparison.LESS_EQUAL
    ends = []
    if interval.lower is not None:
        ends.append(Compare(Comparison.GREATER_EQUAL, column, lower))
    if interval.upper is not None:
        ends.append(Compare(below, column, upper))
    return conjoin(ends)
