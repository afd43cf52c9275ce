"""Values and expressions with which the evaluation of rows is compared with DuckDB.

`python row_cases.py < request` prints what a DuckDB-like package computes; see `main`.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from itertools import cycle, islice, product
from typing import Any

#: The type of each column, and its values in SQL.
VALUES: dict[str, tuple[str, list[str]]] = {
    "b": ("BOOLEAN", ["true", "false"]),
    "t": ("TINYINT", ["-128", "0", "3", "127"]),
    "i": ("INTEGER", ["-2147483648", "0", "3", "16777217"]),
    "n": ("BIGINT", ["-9223372036854775808", "3", "9007199254740993", "9223372036854775807"]),
    "ut": ("UTINYINT", ["0", "3", "255"]),
    "ui": ("UINTEGER", ["0", "3", "4294967295"]),
    "un": ("UBIGINT", ["0", "3", "18446744073709551615"]),
    "c": ("DECIMAL(4,1)", ["-2.5", "0", "3", "0.5", "999.9"]),
    "d": ("DECIMAL(18,4)", ["-3.5000", "0.1", "3", "16777217.5", "99999999999999.9999"]),
    "e": ("DECIMAL(38,10)", ["-0.5", "3", "0.1", "12345678901234567.1234567891", "9e27"]),
    "g": ("DECIMAL(2,2)", ["-0.05", "0", "0.5", "0.99"]),
    "h": ("DECIMAL(38,30)", ["-0.5", "12345678.901234567890123456789012345678", "1e-30"]),
    "k": ("DECIMAL(38,15)", ["-0.5", "123456789012345.123456789012345", "7"]),
    "f": ("FLOAT", ["-0.0", "0.1", "3", "16777216", "3.4e38", "'nan'", "'inf'", "-2.5"]),
    "x": ("DOUBLE", ["0.1", "3", "9007199254740992", "1e308", "'nan'", "'-inf'", "2.5", "0.5"]),
    "s": ("VARCHAR", ["'3'", "'-0.1'", "'a'", "''", "'2024-02-29'", "'true'", "'999'",
                      "'123456789012345.123456789012345'", "'-0.5'"]),
    "y": ("DATE", ["'1969-12-31'", "'2024-02-29'"]),
    "z": ("TIMESTAMP", ["'1969-12-31 23:59:59.999999'", "'2024-02-29'"]),
    "zs": ("TIMESTAMP_S", ["'1969-12-31 23:59:59'", "'2024-02-29'"]),
    "zn": ("TIMESTAMP_NS", ["'1969-12-31 23:59:59.999999999'", "'1969-12-31 23:59:59.999998001'",
                            "'1970-01-01 23:59:59.999999999'"]),
    "tm": ("TIME", ["'00:00'", "'12:30:00.000001'", "'23:59:59.999999'"]),
    "iv": ("INTERVAL", ["'1 month'", "'30 days'", "'-31 days'", "'720 hours 1 microsecond'",
                        "'1 day -25 hours'", "'59 days 49 hours'", "'29 days 24 hours'", "'29 days'",
                        "'31 days -24 hours'", "'1 month -1 day'", "'-1 month 1 day'",
                        "'-29 days -24 hours'", "'1 month -1 hour'", "'-1 hour'"]),
    "l": ("INTEGER[]", ["[]", "[1]", "[1, NULL]", "[1, 2]", "[NULL]", "[2]"]),
    "lx": ("DOUBLE[]", ["[1]", "[1, 'nan'::DOUBLE]", "[1.5]", "[]"]),
    "ls": ("VARCHAR[]", ["['a']", "['a', NULL]", "['b', 'a']"]),
    "ll": ("INTEGER[][]", ["[[1]]", "[[1], NULL]", "[[], [1]]"]),
    "p": ("STRUCT(a INTEGER, s VARCHAR)", ["{a: 1, s: 'x'}", "{a: 1, s: NULL}", "{a: NULL, s: 'x'}"]),
    "q": ("STRUCT(a DOUBLE, s VARCHAR)", ["{a: 1, s: 'x'}", "{a: 1.5, s: NULL}"]),
}  # fmt: skip
OPERATORS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
DISTINCT = {"distinct_from": "IS DISTINCT FROM", "not_distinct_from": "IS NOT DISTINCT FROM"}
ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*"}
NUMBERS = ("t", "i", "n", "ut", "ui", "un", "c", "d", "e", "f", "x")
#: The groups of columns that are compared with each other.
GROUPS = (
    ("b", "t", "i", "n", "ut", "un"), NUMBERS, ("y", "z", "zs"), ("s",), ("tm",), ("iv",),
    ("l", "lx"), ("ls",), ("ll",), ("p", "q"),
)  # fmt: skip
CASTS = {
    **dict.fromkeys(NUMBERS, (*NUMBERS, "b")),
    **dict.fromkeys(("c", "d", "e"), (*NUMBERS, "b", "s")),
    **dict.fromkeys(("g", "h", "k"), ("d", "x", "s")),
    "b": ("i", "un", "d", "x", "s"),
    "s": ("i", "n", "ut", "c", "d", "k", "x", "b", "y", "s"),
    "y": ("z", "zs", "s"),
    "z": ("y",),
    "zs": ("y", "z"),
    "zn": ("y",),
    "l": ("lx",),
    "p": ("q",),
}


#: Versions of DuckDB differ in these.
NOT_CAST = {("f", "c"), ("f", "d"), ("f", "e")}


def table(name: str, other: str) -> str:
    """Return a query for all pairs of values of two columns, and their NULLs, in one order."""
    sides = []
    for column, alias in ((name, "l"), (other, "r")):
        data_type, values = VALUES[column]
        listed = enumerate([*values, "NULL"])
        rows = ", ".join(f"({place}, CAST({each} AS {data_type}))" for place, each in listed)
        sides.append(f"(VALUES {rows}) {alias}({alias}_place, {alias})")
    return f"SELECT * FROM {sides[0]}, {sides[1]}"


def cases() -> Iterator[tuple[str, str, str, Any]]:
    """Yield two columns, an expression of `l` and `r` in SQL, and how the node is made."""
    operators = cycle([*OPERATORS.items(), *DISTINCT.items(), ("lt", "<")])
    arithmetic = cycle(ARITHMETIC.items())
    for group in GROUPS:
        for left, right in product(group, group):
            few = 2 if len(group) > 1 else len(OPERATORS) + len(DISTINCT) + 1
            for name, sql in islice(operators, few):  # all of them, over the pairs
                yield left, right, f"l {sql} r", ("comparison", name)
            if group is NUMBERS:
                for name, sql in islice(arithmetic, 2):
                    yield left, right, f"l {sql} r", ("arithmetic", name)
    for left, rights in CASTS.items():
        for right in rights:
            if right != left and (left, right) not in NOT_CAST:
                yield left, right, f"CAST(l AS {VALUES[right][0]})", ("cast", right)
    for left in NUMBERS:
        yield left, "b", "-l", ("negate", "")
    for left, right in (("l", "i"), ("lx", "x"), ("ls", "s"), ("l", "x"), ("lx", "n")):
        yield left, right, "list_contains(l, r)", ("call", "list_contains")


def main() -> None:
    """Print, for each [table, expression], the type and the values as text; NULL for errors."""
    request = json.load(sys.stdin)
    connection = importlib.import_module(request["package"]).connect()
    computed = []
    for rows, expression in request["cases"]:
        sql = f"SELECT typeof(v), CAST(v AS VARCHAR) FROM (SELECT *, TRY({expression}) AS v "
        sql += f"FROM ({rows})) ORDER BY l_place, r_place"
        types, texts = zip(*connection.execute(sql).fetchall(), strict=True)
        computed.append([types[0], texts])
    json.dump(computed, sys.stdout)


if __name__ == "__main__":
    main()
