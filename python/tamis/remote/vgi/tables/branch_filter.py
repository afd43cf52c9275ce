"""The filters of branches: DuckDB's SQL, limited to comparisons, AND and OR.

    n < 50 AND (day >= DATE '2026-01-01' OR name = 'it''s')

A filter restricts which rows belong to the table. So it is either understood completely, or the
table is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

import pyarrow as pa

from tamis.expr.nodes import And, Column, Compare, Comparison, Expr, Literal, Or, Value
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.remote.arrow_form import readable_type
from tamis.remote.vgi.transports.connection import one_line

__all__ = ["UnknownFilter", "parse_branch_filter"]

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<number>\d+(?:\.\d+)?(?![\w.]))
      | '(?P<text>(?:[^']|'')*)'
      | "(?P<quoted>(?:[^"]|"")+)"
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<operator><>|!=|<=|>=|=|<|>)
      | (?P<sign>[-()])
    )""",
    re.VERBOSE,
)
_OPERATORS: Final = {str(each): each for each in Comparison} | {"!=": Comparison.NOT_EQUAL}
_TYPED: Final = frozenset({"date", "timestamp"})
_RESERVED: Final = frozenset(
    (
        *("all", "and", "any", "between", "case", "cast", "collate", "else", "end", "exists"),
        *("false", "from", "glob", "ilike", "in", "interval", "is", "like", "not", "null", "or"),
        *("select", "similar", "then", "true", "try_cast", "when", "where"),
    )
)
_MOST_DEPTH: Final = 50
_EPOCH: Final = datetime(1970, 1, 1)
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?)?")
_SPARK_TYPES: Final = {
    pa.bool_(): BOOLEAN,
    pa.int8(): BYTE,
    pa.int16(): SHORT,
    pa.int32(): INTEGER,
    pa.int64(): LONG,
    pa.float64(): DOUBLE,
    pa.string(): STRING,
    pa.binary(): BINARY,
    pa.date32(): DATE,
    pa.timestamp("us"): TIMESTAMP_NTZ,
}


class UnknownFilter(ValueError):
    """The filter of a branch is not understood."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class _Constant:
    """A constant as it is written: `kind` is number, text, date, timestamp, boolean or null."""

    kind: str
    text: str


def parse_branch_filter(sql: str, columns: pa.Schema) -> Expr:
    """Return the filter of a branch.

    Args:
        sql: The filter.
        columns: The columns of the table.

    Raises:
        UnknownFilter: The filter has another syntax, an unknown column, or a constant that does
            not have the type of its column.

    >>> from tamis.expr.sql import to_sql
    >>> to_sql(parse_branch_filter("n < 50 AND n <> -1", pa.schema({"n": pa.int64()})))
    'n < 50L AND n <> -1L'
    """
    parser = _Parser(_tokens(sql), columns)
    parsed = parser.disjunction(0)
    parser.expect_end()
    return parsed


def _tokens(sql: str) -> list[_Token]:
    tokens = []
    at, end = 0, len(sql.rstrip())
    while at < end:
        match = _TOKEN.match(sql, at)
        if match is None or match.lastgroup is None:
            raise UnknownFilter(f"the syntax at {one_line(sql[at : at + 20])!r} is not supported")
        kind, text = match.lastgroup, match[match.lastgroup]
        if kind in ("text", "quoted"):
            mark = "'" if kind == "text" else '"'
            text = text.replace(mark * 2, mark)
        tokens.append(_Token(kind, text))
        at = match.end()
    return tokens


class _Parser:
    """Recursive descent: OR of AND of comparisons."""

    def __init__(self, tokens: Sequence[_Token], columns: pa.Schema) -> None:
        self._tokens = tokens
        self._at = 0
        self._columns = columns

    def disjunction(self, depth: int) -> Expr:
        parts = [self._conjunction(depth)]
        while self._accept("word", "or"):
            parts.append(self._conjunction(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _conjunction(self, depth: int) -> Expr:
        parts = [self._comparison(depth)]
        while self._accept("word", "and"):
            parts.append(self._comparison(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _comparison(self, depth: int) -> Expr:
        if depth > _MOST_DEPTH:
            raise UnknownFilter("the filter is nested too deeply")
        if self._accept("sign", "("):
            inner = self.disjunction(depth + 1)
            if not self._accept("sign", ")"):
                raise self._unexpected()
            return inner
        left = self._operand()
        token = self._peek()
        if token is None or token.kind != "operator":
            raise self._unexpected()
        self._at += 1
        op, right = _OPERATORS[token.text], self._operand()
        match left, right:
            case Column(), Column() if left.type == right.type:
                return Compare(op, left, right)
            case Column(), _Constant():
                return Compare(op, left, _literal(right, left))
            case _Constant(), Column():
                return Compare(op.swapped, right, _literal(left, right))
        raise UnknownFilter("a comparison needs a column, and a constant or a column of its type")

    def _operand(self) -> Column | _Constant:
        token = self._peek()
        if token is None:
            raise self._unexpected()
        self._at += 1
        word = token.text.lower()
        match token.kind:
            case "number" | "text":
                return _Constant(token.kind, token.text)
            case "quoted":
                return self._column(token.text)
            case "sign" if token.text == "-" and (number := self._peek()) is not None:
                if number.kind == "number":
                    self._at += 1
                    return _Constant("number", f"-{number.text}")
            case "word" if word in ("true", "false"):
                return _Constant("boolean", word)
            case "word" if word == "null":
                return _Constant("null", "")
            case "word" if word in _TYPED and (text := self._peek()) is not None:
                if text.kind == "text":
                    self._at += 1
                    return _Constant(word, text.text)
                return self._column(token.text)
            case "word" if word not in _RESERVED:
                return self._column(token.text)
        self._at -= 1
        raise self._unexpected()

    def _column(self, name: str) -> Column:
        """Return a column. DuckDB's names have no case."""
        same = [each for each in self._columns if each.name.lower() == name.lower()]
        if len(same) != 1:
            raise UnknownFilter(f"there is not exactly one column named {one_line(name)}")
        data_type = _spark_type(same[0].type)
        if data_type is None:
            raise UnknownFilter(
                f"the column {one_line(name)} has the type {same[0].type}, which is not supported"
            )
        return Column((same[0].name,), data_type)

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _accept(self, kind: str, text: str) -> bool:
        token = self._peek()
        is_same = token is not None and token.kind == kind and token.text.lower() == text
        self._at += is_same
        return is_same

    def expect_end(self) -> None:
        if self._peek() is not None:
            raise self._unexpected()

    def _unexpected(self) -> UnknownFilter:
        token = self._peek()
        where = "the end" if token is None else repr(one_line(token.text))
        return UnknownFilter(f"the syntax at {where} is not supported")


def _spark_type(arrow: pa.DataType) -> DataType | None:
    """Return the type of a column that filters may use; FLOAT and TIMESTAMP are not among them.

    A constant would be rounded for FLOAT, and moved by the time zone of the session for TIMESTAMP.
    """
    if pa.types.is_dictionary(arrow):
        return None
    readable = readable_type(arrow)
    if readable is not None and pa.types.is_decimal(readable):
        return decimal(readable.precision, readable.scale)
    return _SPARK_TYPES.get(readable)


def _literal(constant: _Constant, column: Column) -> Literal:
    if constant.kind == "null":
        return Literal(None, column.type)
    try:
        value = _value(constant, column.type)
    except (ValueError, OverflowError, InvalidOperation):
        value = None
    if value is None:
        name = ".".join(column.path)
        raise UnknownFilter(
            f"the constant {one_line(constant.text)} does not have the type {column.type} of the "
            f"column {name}"
        )
    return Literal(value, column.type)


def _value(constant: _Constant, data_type: DataType) -> Value:
    """Return the value of a constant in the type of a column; None if it has none there."""
    kind, text = constant.kind, constant.text
    if kind == "boolean":
        return text == "true" if data_type == BOOLEAN else None
    if kind == "number":
        return _number(Decimal(text), data_type)
    if data_type == STRING and kind == "text":
        return text
    if data_type == DATE and kind in ("text", "date") and _DAY.fullmatch(text):
        return (date.fromisoformat(text) - _EPOCH.date()).days
    if data_type == TIMESTAMP_NTZ and kind in ("text", "timestamp") and _MOMENT.fullmatch(text):
        elapsed = datetime.fromisoformat(text) - _EPOCH
        return elapsed.days * 86_400_000_000 + elapsed.seconds * 1_000_000 + elapsed.microseconds
    return None


def _number(number: Decimal, data_type: DataType) -> Value:
    if data_type.is_integral:
        lower, upper = data_type.domain
        return int(number) if number == int(number) and lower <= number <= upper else None
    if data_type.is_decimal:
        precision, scale = data_type.precision or 0, data_type.scale or 0
        unscaled = number.scaleb(scale)
        is_exact = unscaled == int(unscaled) and abs(unscaled) < 10**precision
        return number if is_exact else None
    return float(number) if data_type == DOUBLE else None
