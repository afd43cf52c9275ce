"""Random predicates over a random table, as SQL text."""

from __future__ import annotations

import datetime
import decimal
import math
import random
import re
from typing import Any

from tests.cases.tables import swept
from tests.differential.expressions import EXPRESSIONS
from tests.differential.random_functions import function_predicate
from tests.differential.random_tables import Leaf, RandomTable
from tests.differential.random_values import EPOCH, EPOCH_UTC, near

COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]


def literal(value: Any, sql_type: str) -> str:
    """Return the value as a SQL literal of the type."""
    if value is None:
        return f"CAST(NULL AS {sql_type})"
    if isinstance(value, bool):
        return str(value).upper()
    if sql_type in ("FLOAT", "DOUBLE"):
        if math.isnan(value):
            return f"CAST('NaN' AS {sql_type})"
        if math.isinf(value):
            return f"CAST('{'-' if value < 0 else ''}Infinity' AS {sql_type})"
        return f"CAST('{value!r}' AS {sql_type})"
    if isinstance(value, decimal.Decimal):
        return f"CAST('{value}' AS {sql_type})"
    if isinstance(value, datetime.date):
        return f"DATE '{value.year:04d}-{value.month:02d}-{value.day:02d}'"
    if sql_type in ("TIMESTAMP", "TIMESTAMP_NTZ"):
        base = EPOCH_UTC if sql_type == "TIMESTAMP" else EPOCH
        moment = base + datetime.timedelta(microseconds=value)
        zone = "Z" if sql_type == "TIMESTAMP" else ""
        text = moment.strftime("%m-%d %H:%M:%S.%f")
        return f"{sql_type} '{moment.year:04d}-{text}{zone}'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\x00", "\\u0000")
        return f"'{escaped}'"
    if sql_type == "BIGINT" and value == -(2**63):
        return "(-9223372036854775807L - 1L)"
    return f"CAST({value} AS {sql_type})"


def near_edge(rng: random.Random, leaf: Leaf, place: int | None = None) -> str:
    """Return the bound of a file at this position or a value next to it, usually outside of it."""
    place = rng.randrange(len(leaf.edges)) if place is None else place
    value, outward = leaf.edges[place], 1 if place % 2 else -1
    if rng.random() < 0.75:
        value = near(rng, value, leaf.kind, outward if rng.random() < 0.75 else -outward)
    return literal(value, leaf.kind.sql)


def _value(rng: random.Random, leaf: Leaf) -> str:
    if rng.random() < 0.04:
        return literal(None, leaf.kind.sql)
    if leaf.edges and rng.random() < 0.3:
        return near_edge(rng, leaf)
    if leaf.samples and rng.random() < 0.6:
        return literal(rng.choice(leaf.samples), leaf.kind.sql)
    return literal(leaf.kind.value(rng, rng.random()), leaf.kind.sql)


def _list(rng: random.Random, leaf: Leaf) -> str:
    values = [_value(rng, leaf) for _ in range(rng.choice([1, 2, 3, 5, 15]))]
    if rng.random() < 0.1:
        values.append("NULL")
    return ", ".join(values)


#: Every swept expression, including those of the tables of cases: new functions are drawn too.
_EXPRESSIONS = swept(EXPRESSIONS)
#: Kinds of sweeps that fit a column type; for decimals and others the name is the same.
_SWEPT = {"STRING": ("string", "numeral", "day_text"), "DECIMAL": ("decimal",)}
_VARIABLE = re.compile(r"'(?:[^'\\]|\\.)*'|\b[xyk]\b")


def swept_of(sql_type: str) -> list[str]:
    """Return the swept expressions over x of a column type."""
    name = sql_type.partition("(")[0]
    return [each for kind in _SWEPT.get(name, (name.lower(),)) for each in _EXPRESSIONS[kind]]


def _function(rng: random.Random, table: RandomTable, leaf: Leaf) -> str:
    """Compare a swept function of the column with the same function of a constant."""
    expression = rng.choice(swept_of(leaf.kind.sql))
    same = [other for other in table.leaves if other.kind.sql == leaf.kind.sql]

    def function_of(x: str) -> str:
        names = {"x": x, "y": other, "k": small}
        # Do not replace text between quotes.
        return _VARIABLE.sub(lambda match: names.get(match[0], match[0]), expression)

    other = rng.choice(same).sql if rng.random() < 0.3 else _value(rng, leaf)
    small = str(rng.randint(-3, 30))
    call = function_of(leaf.sql)
    shape = rng.random()
    if shape < 0.1:
        return f"({call}) IS {rng.choice(['', 'NOT '])}NULL"
    if shape < 0.2:
        return f"({call}) IN ({function_of(_value(rng, leaf))}, {function_of(_value(rng, leaf))})"
    return f"({call}) {rng.choice(COMPARISONS)} ({function_of(_value(rng, leaf))})"


def _leaf(rng: random.Random, table: RandomTable) -> str:
    leaf = rng.choice(table.leaves)
    if rng.random() < 0.4:
        return _function(rng, table, leaf)
    if rng.random() < 0.3:
        function = function_predicate(rng, leaf, _value)
        if function is not None:
            return f"({function})"
    if leaf.kind.sql == "BOOLEAN" and rng.random() < 0.5:
        return leaf.sql
    shape = rng.random()
    if shape < 0.5:
        sides = [leaf.sql, _value(rng, leaf)]
        if rng.random() < 0.2:
            sides.reverse()
        return f"{sides[0]} {rng.choice(COMPARISONS)} {sides[1]}"
    if shape < 0.62:
        return f"{leaf.sql} {rng.choice(['', 'NOT '])}IN ({_list(rng, leaf)})"
    if shape < 0.74:
        return f"{leaf.sql} IS {rng.choice(['', 'NOT '])}NULL"
    if shape < 0.82:
        return f"{leaf.sql} BETWEEN {_value(rng, leaf)} AND {_value(rng, leaf)}"
    same = [other for other in table.leaves if other.kind.sql == leaf.kind.sql]
    if shape < 0.88:
        return f"{leaf.sql} {rng.choice(COMPARISONS)} {rng.choice(same).sql}"
    # Predicates that only the engine can evaluate.
    return rng.choice(
        [
            f"hash({leaf.sql}) % 3 = 0",
            f"coalesce({leaf.sql}, {_value(rng, leaf)}) = {_value(rng, leaf)}",
            f"CAST({leaf.sql} AS STRING) LIKE '%1%'" if leaf.kind.sql != "BINARY" else "TRUE",
            f"if({leaf.sql} IS NULL, TRUE, {leaf.sql} = {_value(rng, leaf)})",
            f"nullif({leaf.sql}, {_value(rng, leaf)}) IS NULL",
        ]
    )


def _limits(rng: random.Random, table: RandomTable) -> str:
    """Combine several comparisons of one column with AND, or with an OR inside of the AND."""
    leaf = rng.choice(table.leaves)

    def one() -> str:
        if rng.random() < 0.2:
            return f"{leaf.sql} {rng.choice(['', 'NOT '])}IN ({_list(rng, leaf)})"
        if rng.random() < 0.1:
            return f"{leaf.sql} IS {rng.choice(['', 'NOT '])}NULL"
        return f"{leaf.sql} {rng.choice(COMPARISONS)} {_value(rng, leaf)}"

    if rng.random() < 0.6:
        return f"({' AND '.join(one() for _ in range(rng.choice([2, 2, 3, 4])))})"
    return f"({one()} AND ({one()} AND {one()} OR {one()}))"


def edge_predicate(rng: random.Random, table: RandomTable) -> str:
    """Compare a column with the least or greatest value of a file, or a value next to it."""
    leaves = [leaf for leaf in table.leaves if leaf.edges]
    if not leaves:
        return f"{table.leaves[0].sql} IS NOT NULL"
    # Files store timestamps in several units.
    leaf = rng.choices(leaves, [3 if each.kind.sql == "TIMESTAMP" else 1 for each in leaves])[0]
    place = rng.randrange(len(leaf.edges))
    comparison = rng.choice(["<", "<=", "<>"] if place % 2 else [">", ">=", "<>"])
    if rng.random() < 0.4:
        comparison = rng.choice(COMPARISONS)
    return f"{leaf.sql} {comparison} {near_edge(rng, leaf, place)}"


def conjunction(rng: random.Random, table: RandomTable) -> str:
    """Return one or two predicates over functions of columns, joined with AND."""
    predicates = [
        function_predicate(rng, leaf, _value) if rng.random() < 0.7 else _function(rng, table, leaf)
        for leaf in rng.choices(table.leaves, k=2)
    ]
    parts = [f"({each})" for each in predicates if each is not None]
    return " AND ".join(parts) if parts else predicate(rng, table)


def predicate(rng: random.Random, table: RandomTable, depth: int = 3) -> str:
    """Return a predicate of AND, OR and NOT over comparisons of the table's columns."""
    shape = rng.random()
    if shape > 0.85:
        return _limits(rng, table)
    if depth == 0 or shape < 0.35:
        return _leaf(rng, table)
    if shape < 0.5:
        return f"NOT ({predicate(rng, table, depth - 1)})"
    parts = [predicate(rng, table, depth - 1) for _ in range(rng.choice([2, 2, 3]))]
    return "(" + f" {rng.choice(['AND', 'OR'])} ".join(parts) + ")"
