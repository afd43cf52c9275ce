"""Random aggregates over a random table: what statistics may answer, alone and beside what they may not."""

from __future__ import annotations

import random

from tests.differential.random_tables import RandomTable

#: Zeros of either sign are equal, and Spark gives the one that it meets first.
_FLOATING = ("FLOAT", "DOUBLE")


def aggregate(rng: random.Random, table: RandomTable, condition: str) -> str:
    """A query of COUNT, MIN and MAX under the predicate, under none, or by partition."""
    where = rng.choice(["", f" WHERE {condition}", f" WHERE {condition}", _range(rng, table)])
    source = f"{table.name}{where}"
    if rng.random() < 0.15:
        source = f"(SELECT * FROM {table.name}{where})"
    functions = [_function(rng, table) for _ in range(rng.choice([1, 1, 2, 3, 4]))]
    if rng.random() < 0.1:
        functions.append(rng.choice(["sum(_row)", "count(DISTINCT _row)", "max(_row) + min(_row)"]))
    if rng.random() < 0.05:
        functions.append(f"count(*) FILTER (WHERE _row > {rng.randint(0, table.rows)})")
    listed = ", ".join(f"{f} AS f{i}" for i, f in enumerate(functions))
    if table.partition and rng.random() < 0.5:
        return _grouped(rng, table.partition, listed, source)
    text = f"SELECT {listed} FROM {source}"
    kind = rng.random()
    if kind < 0.1:
        return f"SELECT * FROM ({text}) UNION ALL ({text})"
    if kind < 0.2:
        return f"SELECT _row FROM {table.name} WHERE _row >= (SELECT max(_row) FROM {source}) - 1"
    if kind < 0.25:
        return f"WITH w AS ({text}) SELECT * FROM w a, w b"
    return text


def _grouped(rng: random.Random, partition: str, listed: str, source: str) -> str:
    having = rng.choice(["", "", " HAVING count(*) > 3", " HAVING min(_row) < 20"])
    return rng.choice(
        [
            f"SELECT {partition}, {listed} FROM {source} GROUP BY {partition}{having}",
            f"SELECT {listed}, {partition} AS p FROM {source} GROUP BY {partition}{having}",
            f"SELECT {listed} FROM {source} GROUP BY {partition}{having}",
            f"SELECT DISTINCT {partition} FROM {source}",
        ]
    )


def _range(rng: random.Random, table: RandomTable) -> str:
    """Files are clustered by `_row`: some match as a whole, some in part."""
    first, second = sorted(rng.randint(-1, table.rows + 1) for _ in range(2))
    return f" WHERE _row BETWEEN {first} AND {second}"


def _function(rng: random.Random, table: RandomTable) -> str:
    leaf = rng.choice(table.leaves)
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(["count(*)", "count(1)", "count(_row)"])
    if kind < 0.4:
        return f"count({leaf.sql})"
    if kind < 0.55:
        return rng.choice(["min(_row)", "max(_row)", "max(_row) - min(_row)"])
    function = rng.choice(["min", "max"])
    if leaf.kind.sql in _FLOATING:
        return f"{function}({leaf.sql}) + 0"
    return f"{function}({leaf.sql})"
