"""Predicates as SQL text of DuckDB: the filters of branches, and those of the function files.

    predicate   comparison, AND, OR, NOT, parentheses
    comparison  operand op operand, one of them a column; column [NOT] IN (constants);
                column [NOT] BETWEEN c AND c; column IS [NOT] NULL; a boolean column;
                column [NOT] LIKE 'text', with % at one end or at both ends
    constant    42, -1.5, 'text', DATE '2026-01-31', TIMESTAMP '2026-01-31 12:00:00', TRUE, NULL

Constants are compared as DuckDB compares them with the column. A text with other syntax, or whose
meaning depends on settings, is refused as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Final

import numpy as np
import pyarrow as pa

from tamis.expr.nodes import And, Call, Column, Comparison, Expr, IsNull, Literal, Not, Or
from tamis.expr.types import BOOLEAN, STRING
from tamis.wire.duckdb import comparisons
from tamis.wire.duckdb.arrow_types import schema_types
from tamis.wire.duckdb.comparisons import Constant, Operand
from tamis.wire.duckdb.constant_comparisons import Term
from tamis.wire.duckdb.constants import ConstantValue
from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import Line, LogicalType

__all__ = ["UnknownPredicate", "parse_predicate"]

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.])
      |'(?P<text>(?:[^']|'')*)'
      |"(?P<quoted>(?:[^"]|"")+)"
      |(?P<word>[A-Za-z_]\w*)
      |(?P<sign><>|!=|<=|>=|[=<>(),])
      |(?P<end>$))""",
    re.VERBOSE | re.ASCII,
)
_OPERATORS: Final = {
    str(each): each for each in Comparison if each is not Comparison.NULL_SAFE_EQUAL
} | {"!=": Comparison.NOT_EQUAL}
_TYPED: Final = ("date", "timestamp", "timestamptz")
_RESERVED: Final = frozenset(
    (
        *("all", "and", "any", "between", "case", "cast", "collate", "else", "end", "exists"),
        *("false", "from", "glob", "ilike", "in", "interval", "is", "like", "not", "null", "or"),
        *("select", "similar", "then", "true", "try_cast", "when", "where"),
    )
)
_MOST_DEPTH: Final = 30
_SHOWN: Final = 60
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:Z|[-+]\d{2}(?::\d{2})?)?)?"
)
#: With at most so many digits, and so many of them after the point, DuckDB's conversion of a
#: decimal rounds once, as Python's does.
_EXACT_DIGITS: Final = {"FLOAT": (7, 10), "DOUBLE": (15, 22)}
#: With so few digits, DuckDB compares a constant with an integer without rounding or overflow.
_MOST_DIGITS: Final = 18


class UnknownPredicate(ValueError):
    """A text is not a predicate that is understood."""


def parse_predicate(sql: str, columns: pa.Schema, zone: tzinfo | None = None) -> Expr:
    """Return a predicate.

    Args:
        sql: The text.
        columns: The columns.
        zone: The zone of times without an offset that are compared with a TIMESTAMP WITH TIME ZONE;
            None: such a time is refused.

    Raises:
        UnknownPredicate: The text has another syntax, an unknown column, or a constant that does
            not have the type of its column.

    >>> from tamis.expr.sql import to_sql
    >>> columns = pa.schema({"n": pa.int64(), "s": pa.string()})
    >>> to_sql(parse_predicate("n < 5 AND NOT (s LIKE 'a%')", columns))
    "n < 5L AND NOT (startswith(s, 'a'))"
    """
    parser = _Parser(_tokens(sql), columns, zone)
    parsed = parser.disjunction(0)
    parser.expect("end")
    return parsed


def _tokens(sql: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    at = 0
    while not tokens or tokens[-1][0] != "end":
        match = _TOKEN.match(sql, at)
        if match is None or match.lastgroup is None:
            raise UnknownPredicate(f"the syntax at {_shown(sql[at : at + 20])} is not supported")
        kind = match.lastgroup
        mark = {"text": "'", "quoted": '"'}.get(kind, "")
        text = match[kind]
        tokens.append((kind, text.replace(mark * 2, mark) if mark else text))
        at = match.end()
    return tokens


def _shown(text: str) -> str:
    return repr(" ".join(text.split())[:_SHOWN])


class _Parser:
    """Recursive descent: OR of AND of NOT of comparisons."""

    def __init__(
        self, tokens: Sequence[tuple[str, str]], columns: pa.Schema, zone: tzinfo | None
    ) -> None:
        self._tokens, self._at = tokens, 0
        self._types = schema_types(columns)
        self._zone = zone

    def disjunction(self, depth: int) -> Expr:
        parts = [self._conjunction(depth)]
        while self._accept("or"):
            parts.append(self._conjunction(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _conjunction(self, depth: int) -> Expr:
        parts = [self._negation(depth)]
        while self._accept("and"):
            parts.append(self._negation(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negation(self, depth: int) -> Expr:
        if depth > _MOST_DEPTH:
            raise UnknownPredicate("the predicate is nested too deeply")
        if self._accept("not"):
            return Not(self._negation(depth + 1))
        if self._accept("("):
            inside = self.disjunction(depth + 1)
            self.expect(")")
            return inside
        return self._comparison()

    def _comparison(self) -> Expr:
        column = self._column_or_none()
        if column is None:
            return self._reversed()
        op = self._operator()
        if op is not None:
            right: Operand = self._column_or_none() or self._constant(column)
            return _understood(lambda: comparisons.compare(op, column, right))
        if self._accept("is"):
            is_negated = self._accept("not")
            self.expect("null")
            tested = IsNull(column.expr)
            return Not(tested) if is_negated else tested
        is_negated = self._accept("not")
        test = self._membership(column)
        if test is None and not is_negated and column.type.line is Line.TRUTH:
            return column.expr
        if test is None:
            raise self._unexpected()
        return Not(test) if is_negated else test

    def _reversed(self) -> Expr:
        """Return `constant op column`."""
        at = self._at
        self._at += 2 if self._tokens[at][1].lower() in _TYPED else 1
        op = self._operator() if self._at < len(self._tokens) else None
        column = None if op is None else self._column_or_none()
        if op is None or column is None:
            self._at = at
            raise self._unexpected()
        end, self._at = self._at, at
        constant, self._at = self._constant(column), end
        return _understood(lambda: comparisons.compare(op.swapped, column, constant))

    def _operator(self) -> Comparison | None:
        kind, text = self._tokens[self._at]
        if kind != "sign" or text not in _OPERATORS:
            return None
        self._at += 1
        return _OPERATORS[text]

    def _membership(self, column: Term) -> Expr | None:
        if self._accept("in"):
            self.expect("(")
            options = [self._constant(column)]
            while self._accept(","):
                options.append(self._constant(column))
            self.expect(")")
            return _understood(lambda: comparisons.is_in(column, options))
        if self._accept("between"):
            lower = self._constant(column)
            self.expect("and")
            upper = self._constant(column)
            ends = ((Comparison.GREATER_EQUAL, lower), (Comparison.LESS_EQUAL, upper))
            return _understood(
                lambda: And(tuple(comparisons.compare(op, column, end) for op, end in ends))
            )
        if self._accept("like"):
            return self._like(column)
        return None

    def _like(self, column: Term) -> Expr:
        kind, pattern = self._tokens[self._at]
        text = pattern.removeprefix("%").removesuffix("%") if pattern != "%" else ""
        if kind != "text" or column.type.line is not Line.TEXT or re.search("[%_]", text):
            raise UnknownPredicate(
                "LIKE is supported only for strings, with % only at the ends of the pattern"
            )
        self._at += 1
        if text == pattern:
            return comparisons.compare(Comparison.EQUAL, column, Constant(text, column.type))
        if not pattern.startswith("%"):
            name = "StartsWith"
        else:
            name = "Contains" if pattern.endswith("%") else "EndsWith"
        return Call(name, (comparisons.text_of(column), Literal(text, STRING)), (), BOOLEAN)

    def _column_or_none(self) -> Term | None:
        """Return the column at this place. DuckDB's names have no case."""
        kind, text = self._tokens[self._at]
        if kind not in ("word", "quoted") or (kind == "word" and text.lower() in _RESERVED):
            return None
        if kind == "word" and text.lower() in _TYPED and self._tokens[self._at + 1][0] == "text":
            return None
        same = [name for name in self._types if name.lower() == text.lower()]
        data_type = self._types[same[0]] if len(same) == 1 else None
        if data_type is None or data_type.line is None:
            raise UnknownPredicate(
                f"{_shown(text)} is not a column with values that can be compared"
            )
        self._at += 1
        return Term(Column((same[0],), data_type.data_type), data_type, data_type)

    def _constant(self, column: Term) -> Constant:
        kind, text = self._tokens[self._at]
        typed = ""
        if kind == "word" and text.lower() in _TYPED:
            typed = text.lower()
            kind, text = self._tokens[self._at + 1]
            if kind != "text":
                raise self._unexpected()
        if kind == "word" and text.lower() == "null":
            self._at += 1
            return Constant(None, column.type)
        if kind not in ("number", "text") and text.lower() not in ("true", "false"):
            raise self._unexpected()
        value = _value(kind, text, typed, column.type, self._zone)
        if value is None:
            raise UnknownPredicate(
                f"the constant {_shown(text)} does not have the type {column.type.id} of its column"
            )
        self._at += 2 if typed else 1
        return Constant(value, column.type)

    def _accept(self, word: str) -> bool:
        kind, text = self._tokens[self._at]
        is_there = kind in ("word", "sign", "end") and (text.lower() or "end") == word
        self._at += is_there and kind != "end"
        return is_there

    def expect(self, word: str) -> None:
        if not self._accept(word):
            raise self._unexpected()

    def _unexpected(self) -> UnknownPredicate:
        kind, text = self._tokens[self._at]
        where = "the end" if kind == "end" else _shown(text)
        return UnknownPredicate(f"the syntax at {where} is not supported")


def _understood(compare: Callable[[], Expr]) -> Expr:
    try:
        return compare()
    except (NotUnderstood, ArithmeticError) as error:
        raise UnknownPredicate("a comparison has operands of different types") from error


def _value(
    kind: str, text: str, typed: str, target: LogicalType, zone: tzinfo | None
) -> ConstantValue:
    """Return the value of a constant on the line of a column; None if it is not one."""
    match target.line, kind:
        case Line.NUMBER, "number":
            return _number(text, target)
        case Line.TEXT, "text" if not typed:
            return text
        case Line.TRUTH, "word":
            return text.lower() == "true"
        case Line.CALENDAR, "text" if typed != "timestamptz":
            # DuckDB reads the text as a DATE if the column is one.
            is_day = typed == "date" or (not typed and target.id == "DATE")
            moment = _moment(text, _DAY if is_day else _MOMENT)
            if moment is None or moment.tzinfo is not None:
                return None
            return _microseconds(moment.replace(tzinfo=UTC))
        case Line.INSTANT, "text":
            moment = _moment(text, _MOMENT)
            if moment is None or (moment.tzinfo is None and zone is None):
                return None
            if zone is None and typed in ("date", "timestamp"):
                return None  # the zone of the session moves it
            return _microseconds(moment if moment.tzinfo else moment.replace(tzinfo=zone))
    return None


def _number(text: str, target: LogicalType) -> Fraction | float | None:
    number = Decimal(text)
    sign_and_digits = number.as_tuple()
    is_double = "e" in text.lower()  # DuckDB's type of a number with an exponent
    if is_double:
        # As a DOUBLE it would round exact columns.
        return float(text) if target.is_floating and isfinite(float(text)) else None
    digits, decimals = len(sign_and_digits.digits), -int(sign_and_digits.exponent)
    if not target.is_floating:
        return Fraction(number) if digits <= _MOST_DIGITS >= decimals else None
    most_digits, most_decimals = _EXACT_DIGITS[target.id]
    if digits > most_digits or decimals > most_decimals:
        return None
    return float(np.float32(float(text))) if target.id == "FLOAT" else float(text)


def _moment(text: str, form: re.Pattern[str]) -> datetime | None:
    if form.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _microseconds(moment: datetime) -> Fraction:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return Fraction((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
