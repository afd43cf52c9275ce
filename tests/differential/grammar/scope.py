"""Columns in scope, and the families of their types."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.differential.random_predicates import literal, near_edge
from tests.differential.random_tables import RandomTable

#: Types that behave alike in expressions, by their SQL name.
FAMILIES = {
    **dict.fromkeys(["TINYINT", "SMALLINT", "INT", "BIGINT"], "int"),
    **dict.fromkeys(["FLOAT", "DOUBLE"], "dbl"),
    "DECIMAL": "dec",
    "STRING": "str",
    "BINARY": "bin",
    "DATE": "date",
    "TIMESTAMP": "ts",
    "TIMESTAMP_NTZ": "ntz",
    "BOOLEAN": "bool",
}
#: Families whose values are compared with each other.
KIN = [("int", "dec", "dbl"), ("date", "ts", "ntz"), ("str",), ("bool",), ("bin",)]


@dataclass(frozen=True)
class Column:
    """A column in scope.

    Attributes:
        sql: The SQL that refers to it.
        family: The family of its type.
        samples: Literals of values that it may have.
        is_key: Whether its values are few, small, and shared with other tables.
    """

    sql: str
    family: str
    samples: tuple[str, ...] = ()
    is_key: bool = False


Columns = tuple[Column, ...]


def family_of(sql_type: str) -> str:
    """Return the family of a type."""
    return FAMILIES[sql_type.partition("(")[0]]


def kin_of(family: str) -> tuple[str, ...]:
    """Return the families that values of this one are compared with."""
    return next(each for each in KIN if family in each)


def columns_of(rng: random.Random, table: RandomTable) -> Columns:
    """Return the columns of a table, still without an alias."""
    columns = [Column("_row", "int", tuple(f"{n}L" for n in range(0, table.rows + 2, 3)), True)]
    for leaf in table.leaves:
        samples = [literal(value, leaf.kind.sql) for value in leaf.samples]
        if leaf.edges:
            samples += [near_edge(rng, leaf) for _ in range(1 + len(samples) // 2)]
        is_key = leaf.sql in ("`k`", "`p`") and family_of(leaf.kind.sql) != "dbl"
        columns.append(Column(leaf.sql, family_of(leaf.kind.sql), tuple(samples), is_key))
    return tuple(columns)


def keys_of(table: RandomTable) -> list[int]:
    """Return keys that occur in the table."""
    (keys,) = (leaf.samples for leaf in table.leaves if leaf.sql == "`k`")
    return [int(value) for value in keys]


def qualified(columns: Columns, alias: str) -> Columns:
    """Return the columns with an alias."""
    return tuple(replace(c, sql=f"{alias}.{c.sql}") for c in columns)
