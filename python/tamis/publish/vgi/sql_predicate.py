"""Predicates as SQL text, for the function files.

    predicate   comparison, AND, OR, NOT, parentheses
    comparison  column op constant; column [NOT] IN (constants); column [NOT] BETWEEN c AND c;
                column IS [NOT] NULL; column [NOT] LIKE 'prefix%'; a boolean column
    constant    42, -1.5, 'text', DATE '2026-01-31', TIMESTAMP '2026-01-31 12:00:00', TRUE, NULL

Constants are compared as DuckDB compares them with the column. TIMESTAMP is in UTC for columns with
a time zone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Final

import pyarrow as pa

from tamis.expr.nodes import And, Call, Column, Comparison, Expr, IsNull, Literal, Not, Or
from tamis.expr.types import BOOLEAN, STRING
from tamis.publish.vgi.refusals import Refused
from tamis.wire.duckdb import comparisons
from tamis.wire.duckdb.arrow_types import schema_types
from tamis.wire.duckdb.comparisons import Constant
from tamis.wire.duckdb.constant_comparisons import Term
from tamis.wire.duckdb.constants import ConstantValue
from tamis.wire.duckdb.document import NotUnderstood
from tamis.wire.duckdb.types import Line, LogicalType

__all__ = ["parse_predicate"]

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.])
      |'(?P<text>(?:[^']|'')*)'
      |"(?P<quoted>(?:[^"]|"")+)"
      |(?P<word>[A-Za-z_]\w*)
      |(?P<sign><>|!=|<=|>=|[=<>(),])
      |(?P<end>$))""",
    re.VERBOSE,
)
_OPERATORS: Final = {str(each): each for each in Comparison} | {"!=": Comparison.NOT_EQUAL}
_WORDS: Final = ("and", "or", "not", "in", "is", "null", "like", "between", "true", "false")
_MOST_DEPTH: Final = 30


def parse_predicate(sql: str, columns: pa.Schema) -> Expr:
    """Return a predicate.

    Raises:
        Refused: The text has another syntax, an unknown column, or a constant of another type.

    >>> from tamis.expr.sql import to_sql
    >>> columns = pa.schema({"n": pa.int64(), "s": pa.string()})
    >>> to_sql(parse_predicate("n < 5 AND NOT (s LIKE 'a%')", columns))
    "n < 5L AND NOT (startswith(s, 'a'))"
    """
    parser = _Parser(_tokens(sql), columns)
    try:
        parsed = parser.disjunction(0)
    except (NotUnderstood, ArithmeticError) as error:
        raise Refused("a constant of the predicate does not have the type of its column") from error
    parser.expect("end")
    return parsed


def _tokens(sql: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    at = 0
    while not tokens or tokens[-1][0] != "end":
        match = _TOKEN.match(sql, at)
        if match is None or match.lastgroup is None:
            raise Refused(f"the predicate has an unknown syntax at {sql[at : at + 20]!r}")
        kind = match.lastgroup
        mark = {"text": "'", "quoted": '"'}.get(kind, "")
        text = match[kind]
        tokens.append((kind, text.replace(mark * 2, mark) if mark else text))
        at = match.end()
    return tokens


class _Parser:
    """Recursive descent: OR of AND of NOT of comparisons."""

    def __init__(self, tokens: Sequence[tuple[str, str]], columns: pa.Schema) -> None:
        self._tokens, self._at = tokens, 0
        self._types = schema_types(columns)

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
            raise Refused("the predicate is nested too deeply")
        if self._accept("not"):
            return Not(self._negation(depth + 1))
        if self._accept("("):
            inside = self.disjunction(depth + 1)
            self.expect(")")
            return inside
        return self._comparison()

    def _comparison(self) -> Expr:
        column = self._column()
        kind, text = self._tokens[self._at]
        if kind == "sign" and text in _OPERATORS:
            self._at += 1
            return comparisons.compare(_OPERATORS[text], column, self._constant(column.type))
        if self._accept("is"):
            is_negated = self._accept("not")
            self.expect("null")
            tested = IsNull(column.expr)
            return Not(tested) if is_negated else tested
        is_negated = self._accept("not")
        predicate = self._listed_or_between(column)
        if predicate is None and not is_negated and column.type.line is Line.TRUTH:
            return column.expr
        if predicate is None:
            raise self._unexpected()
        return Not(predicate) if is_negated else predicate

    def _listed_or_between(self, column: Term) -> Expr | None:
        if self._accept("in"):
            self.expect("(")
            options = [self._constant(column.type)]
            while self._accept(","):
                options.append(self._constant(column.type))
            self.expect(")")
            return comparisons.is_in(column, options)
        if self._accept("between"):
            lower = self._constant(column.type)
            self.expect("and")
            upper = self._constant(column.type)
            above = comparisons.compare(Comparison.GREATER_EQUAL, column, lower)
            return And((above, comparisons.compare(Comparison.LESS_EQUAL, column, upper)))
        if self._accept("like"):
            kind, pattern = self._tokens[self._at]
            start = pattern.removesuffix("%")
            if kind != "text" or start == pattern or re.search("[%_]", start):
                raise Refused("LIKE is supported for patterns of the form 'prefix%'")
            self._at += 1
            arguments = (comparisons.text_of(column), Literal(start, STRING))
            return Call("StartsWith", arguments, (), BOOLEAN)
        return None

    def _column(self) -> Term:
        kind, text = self._tokens[self._at]
        if kind not in ("word", "quoted") or (kind == "word" and text.lower() in _WORDS):
            raise self._unexpected()
        self._at += 1
        same = [name for name in self._types if name.lower() == text.lower()]
        data_type = self._types[same[0]] if len(same) == 1 else None
        if data_type is None or data_type.line is None:
            raise Refused(f"{text[:60]!r} is not a column with values that can be compared")
        return Term(Column((same[0],), data_type.data_type), data_type, data_type)

    def _constant(self, target: LogicalType) -> Constant:
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "word" and text.lower() in ("date", "timestamp"):
            kind, text = self._tokens[self._at]
            self._at += 1
        if kind == "word" and text.lower() == "null":
            return Constant(None, target)
        try:
            value = _value(kind, text, target)
        except ValueError as error:
            raise NotUnderstood from error
        if value is None:
            self._at -= 1
            raise self._unexpected()
        return Constant(value, target)

    def _accept(self, word: str) -> bool:
        kind, text = self._tokens[self._at]
        is_there = kind in ("word", "sign", "end") and (text.lower() or "end") == word
        self._at += is_there and kind != "end"
        return is_there

    def expect(self, word: str) -> None:
        if not self._accept(word):
            raise self._unexpected()

    def _unexpected(self) -> Refused:
        return Refused(f"the predicate has an unknown syntax at {self._tokens[self._at][1][:60]!r}")


def _value(kind: str, text: str, target: LogicalType) -> ConstantValue:
    """Return the value of a constant on the line of a column; None if it is not one."""
    match target.line, kind:
        case Line.NUMBER, "number" if target.is_floating:
            return float(text)
        case Line.NUMBER, "number":
            return Fraction(Decimal(text))
        case Line.TEXT, "text":
            return text
        case Line.TRUTH, "word" if text.lower() in ("true", "false"):
            return text.lower() == "true"
        case Line.CALENDAR, "text":
            return _microseconds(datetime.fromisoformat(text).replace(tzinfo=UTC))
        case Line.INSTANT, "text":
            moment = datetime.fromisoformat(text)
            return _microseconds(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return None


def _microseconds(moment: datetime) -> Fraction:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return Fraction((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
