"""Random joins for tests.differential.queries.

Joins of every type between two random tables, or of one with itself, on random columns, types that
differ and NULLs among them, with filters on either side; IN, EXISTS, NOT IN, NOT EXISTS and scalar
subqueries.
"""

from __future__ import annotations

import random

from tests.differential.random_tables import RandomTable

_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")
_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
_TYPES = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]


def _family(sql: str) -> str:
    name = sql.partition("(")[0]
    return "number" if name in _NUMBERS else "time" if name in _TIMES else name


def _keys(rng: random.Random, left: RandomTable, right: RandomTable) -> tuple[str, str]:
    """Expressions of both tables that may be compared, without the names of the tables."""
    pairs = [
        (a.sql, b.sql)
        for a in left.leaves
        for b in right.leaves
        if _family(a.kind.sql) == _family(b.kind.sql)
    ]
    if pairs and rng.random() < 0.6:
        return rng.choice(pairs)
    shift = rng.choice([0, 0, 1, 7, 40])
    numbers = ["_row", f"_row + {shift}", "CAST(_row AS INT)", "CAST(_row AS DECIMAL(20, 2))"]
    return rng.choice(numbers), rng.choice([*numbers, f"_row * {shift}"])


def _side(rng: random.Random, table: RandomTable, condition: str | None) -> str:
    """A table expression of the rows that pass, with all columns."""
    filters = [] if condition is None else [f"({condition})"]
    if rng.random() < 0.3:
        low = rng.randint(0, max(table.rows, 1))
        filters.append(f"_row + 1 BETWEEN {low} AND {low + rng.randint(0, 30)}")
    if rng.random() < 0.1:
        filters.append(f"_row % 3 = {rng.randint(0, 2)}")
    return f"(SELECT * FROM {table.name}{' WHERE ' + ' AND '.join(filters) if filters else ''})"


def join_of(
    rng: random.Random,
    left: RandomTable,
    right: RandomTable,
    of_left: str | None = None,
    of_right: str | None = None,
) -> str:
    """A query with a join, or what becomes one, of two tables or of one with itself."""
    x, y = _side(rng, left, of_left), _side(rng, right, of_right)
    a, b = _keys(rng, left, right)
    equal = rng.choice(["=", "=", "=", "=", "=", "<=>"])
    a, b = _qualified("x", a), _qualified("y", b)
    qualified = f"{a} {equal} {b}"
    if rng.random() < 0.2:
        qualified += rng.choice([" AND x._row < y._row + 20", " AND x._row % 2 = 0"])
    kind = rng.choice(_TYPES)
    both = "x._row, y._row" if kind not in _TYPES[4:] else "x._row"
    shapes = [
        f"SELECT {both} FROM {x} x {kind} {y} y ON {qualified}",
        f"SELECT {both} FROM {x} x {kind} {y} y ON {qualified}",
        f"SELECT {both} FROM {x} x {kind} {y} y ON {qualified} WHERE x._row + 1 < {rng.randint(1, 90)}",
        f"SELECT count(*), sum(x._row) FROM {x} x {kind} {y} y ON {qualified}",
        f"SELECT x._row FROM {x} x WHERE {a} IN (SELECT {b} FROM {y} y)",
        f"SELECT x._row FROM {x} x WHERE {a} NOT IN (SELECT {b} FROM {y} y)",
        f"SELECT x._row FROM {x} x WHERE EXISTS (SELECT 1 FROM {y} y WHERE {qualified})",
        f"SELECT x._row FROM {x} x WHERE NOT EXISTS (SELECT 1 FROM {y} y WHERE {qualified})",
        f"SELECT x._row FROM {x} x WHERE x._row {rng.choice(['=', '<', '>='])} (SELECT max(y._row) FROM {y} y)",
        f"SELECT x._row FROM {x} x WHERE {a} {rng.choice(['=', '<', '>=', '<=>'])} "
        f"(SELECT {rng.choice(['min', 'max'])}({b}) FROM {y} y)",
        f"WITH c AS {y} SELECT x._row, z._row FROM {x} x JOIN c y ON {qualified} JOIN c z ON y._row = z._row",
        f"SELECT x._row, z._row FROM {x} x JOIN {y} y ON {qualified} {rng.choice(_TYPES[:4])} "
        f"{left.name} z ON z._row = x._row + 1",
        f"SELECT x._row, y.n FROM {x} x JOIN (SELECT {b} AS k, count(*) AS n "
        f"FROM {y} y GROUP BY 1) y ON {a} = y.k",
        f"SELECT x._row FROM (SELECT * FROM {x} UNION ALL SELECT * FROM {left.name}) x {rng.choice(_TYPES[4:])} "
        f"{y} y ON {qualified}",
    ]
    return rng.choice(shapes)


def _qualified(name: str, key: str) -> str:
    return key.replace("_row", f"{name}._row") if "_row" in key else f"{name}.{key}"
