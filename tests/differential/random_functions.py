"""Random predicates over functions of a column as SQL text; some imply a range."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.differential.random_tables import Leaf

_Value = Callable[[random.Random, Leaf], str]

_DAYS = [
    "year({x}) = {year}",
    "year({x}) {op} {year}",
    "year({x}) IN ({year}, {year})",
    "year({x}) = {year} AND month({x}) = {month}",
    "month({x}) = {month}",
    "quarter({x}) = 2 AND year({x}) >= {year}",
    "last_day({x}) = last_day({v})",
    "date_add({x}, 10) {op} CAST({v} AS DATE)",
    "date_sub({x}, 3) {op} CAST({v} AS DATE)",
    "date_trunc('MONTH', {x}) = date_trunc('MONTH', {v})",
    "trunc({x}, 'YEAR') = trunc({v}, 'YEAR')",
    "date_format({x}, 'yyyy-MM') = '{year}-0{digit}'",
    "date_format({x}, 'dd.MM.yyyy') LIKE '0{digit}.%'",
    "date_format({x}, 'MM/dd/yyyy') {op} date_format({v}, 'MM/dd/yyyy')",
    "coalesce({x}, {v}) = {v}",
    "coalesce(year({x}), {year}) = {year}",
    "datediff({x}, {v}) BETWEEN -5 AND 40",
    "add_months({x}, 1) {op} CAST({v} AS DATE)",
    "if(year({x}) = {year}, TRUE, NULL)",
    "NOT (year({x}) = {year})",
    "(year({x}) = {year}) <=> NULL",
]
_CLOCKS = [
    *_DAYS,
    "to_date({x}) = to_date({v})",
    "to_date({x}) {op} to_date({v})",
    "hour({x}) = 3 AND year({x}) = {year}",
    "date_trunc('DAY', {x}) = date_trunc('DAY', {v})",
    "date_trunc('HOUR', {x}) {op} date_trunc('HOUR', {v})",
    "{x} + INTERVAL 1 DAY {op} {v}",
    "unix_timestamp({x}) {op} unix_timestamp({v})",
]
_NUMBERS = [
    "{x} + 1 {op} {v}",
    "{x} - 2 {op} {v}",
    "{x} * 2 {op} {v}",
    "-{x} {op} {v}",
    "{x} % 7 = {digit}",
    "abs({x}) {op} {v}",
    "CAST({x} AS INT) {op} {digit}",
    "CAST({x} AS BIGINT) DIV 10 = {digit}",
    "CAST({x} AS DOUBLE) {op} {digit}.5D",
    "coalesce({x}, 0) {op} {v}",
    "nullif({x}, {v}) = {digit}",
    "CASE WHEN {x} > 0 THEN {x} ELSE 0 END {op} {v}",
    "greatest({x}, {digit}) = {digit}",
    "floor({x} / 10) = {digit}",
    "sign({x}) = 1",
]
_TEXTS = [
    "substring({x}, 1, 1) = substring({v}, 1, 1)",
    "left({x}, 2) = left({v}, 2)",
    "left({x}, 2) IN (left({v}, 2), left({v}, 2))",
    "upper({x}) LIKE 'A%'",
    "upper({x}) = upper({v})",
    "lower({x}) LIKE 'b_%'",
    "{x} LIKE 'a_%c'",
    "{x} RLIKE '^a'",
    "concat({x}, 'b') = concat({v}, 'b')",
    "concat('p', {x}) {op} concat('p', {v})",
    "trim({x}) = {v}",
    "length({x}) = {digit}",
    "coalesce({x}, 'zz') {op} {v}",
]
_BY_TYPE = {
    "DATE": _DAYS,
    "TIMESTAMP": _CLOCKS,
    "TIMESTAMP_NTZ": _CLOCKS,
    "STRING": _TEXTS,
    **dict.fromkeys(["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"], _NUMBERS),
    **dict.fromkeys(["DECIMAL(9,2)", "DECIMAL(18,4)", "DECIMAL(38,10)"], _NUMBERS),
}


def function_predicate(rng: random.Random, leaf: Leaf, value: _Value) -> str | None:
    """Return a predicate over functions of the leaf; None if there is none for its type."""
    templates = _BY_TYPE.get(leaf.kind.sql)
    if templates is None:
        return None
    text = rng.choice(templates)
    while "{v}" in text:
        text = text.replace("{v}", value(rng, leaf), 1)
    while "{year}" in text:
        text = text.replace("{year}", str(rng.choice([1, 1582, 1900, 1965, 1969, 1970, 1972])), 1)
    return text.format(
        x=leaf.sql,
        op=rng.choice(["=", "<", "<=", ">", ">=", "<>", "<=>"]),
        month=rng.randint(1, 12),
        digit=rng.randint(0, 9),
    )
