"""Check verdicts on filter documents against the answers of DuckDB itself.

    python tests/differential/duckdb_verdicts.py --seed 1 --tables 50

DuckDB plans random predicates over a random table. tamis reads the filters of the plan and
evaluates them over containers of rows, with statistics that DuckDB computed. DuckDB then counts the
rows that satisfy the predicate: "none" is wrong if there is one, "all" if one does not.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "python")]

import duckdb
import pyarrow as pa

from tamis.expr.nodes import And
from tamis.files.partition import PartitionField
from tamis.files.verdicts import evaluate
from tamis.wire.duckdb import from_duckdb
from tests.differential.duckdb_predicates import POOLS, random_predicate
from tests.wire.duckdb.planned import planned_filters, prepare

CONTAINERS = 12
PREDICATES = 25

#: Columns with statistics of another expression: a HUGEINT becomes a decimal, a UUID its bytes.
_STATISTICS_OF = {
    "h": "h::DECIMAL(38,0)",
    "u": "unhex(replace(u::VARCHAR, '-', ''))",
    "x": "s.x",
    "z": "s.y.z",
}
_NAMES = {"x": "s.x", "z": "s.y.z"}
_FLOATING = ("f", "g")
_DAY = 86_400_000_000_000

SCHEMA = pa.schema(
    {
        "bo": pa.bool_(),
        "ti": pa.int8(),
        "i": pa.int32(),
        "b": pa.int64(),
        "ub": pa.uint64(),
        "h": pa.decimal128(38, 0),
        "f": pa.float32(),
        "g": pa.float64(),
        "n": pa.decimal128(9, 2),
        "w": pa.decimal128(30, 4),
        "t": pa.string(),
        "bl": pa.binary(),
        "d": pa.date32(),
        "ts": pa.timestamp("us"),
        "tsms": pa.timestamp("ms"),
        "tss": pa.timestamp("s"),
        "tsns": pa.timestamp("ns"),
        "tz": pa.timestamp("us", "UTC"),
        "u": pa.binary(16),
        "s": pa.struct({"x": pa.int32(), "y": pa.struct({"z": pa.string()})}),
    }
)


@dataclass(frozen=True, slots=True)
class Wrong:
    predicate: str
    verdict: str
    rows: int
    satisfying: int

    def __str__(self) -> str:
        return f"{self.verdict}: {self.predicate}: {self.satisfying} of {self.rows} rows"


def random_table(random: Random, connection: duckdb.DuckDBPyConnection) -> None:
    """Create table t: the container of each row, and values from small per-container pools."""
    connection.execute("DROP TABLE IF EXISTS t")
    columns = ", ".join(f'"{name}" {pool.type}' for name, pool in POOLS.items() if pool.is_column)
    struct = "s STRUCT(x INTEGER, y STRUCT(z VARCHAR))"
    connection.execute(f"CREATE TABLE t (k INTEGER, {columns}, {struct})")
    rows = []
    for container in range(CONTAINERS):
        nulls = random.choice([0.0, 0.0, 0.3, 1.0])
        picks = {
            name: random.sample(pool.values, k=min(len(pool.values), random.choice([1, 1, 2, 3])))
            for name, pool in POOLS.items()
        }
        for _ in range(random.choice([1, 2, 3, 5])):
            cells = {
                name: "NULL" if random.random() < nulls * 0.7 else random.choice(values)
                for name, values in picks.items()
            }
            x, z = cells.pop("x"), cells.pop("z")
            struct = f"{{'x': {x}::INTEGER, 'y': {{'z': {z}::VARCHAR}}}}"
            struct = "NULL" if random.random() < nulls / 3 else struct
            rows.append(f"({container}, {', '.join(cells.values())}, {struct})")
    connection.execute(f"INSERT INTO t VALUES {', '.join(rows)}")


def statistics(random: Random, connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return the statistics of each container, with some columns omitted."""
    parts = ["count(*) AS num_records"]
    for name in POOLS:
        value, path = _STATISTICS_OF.get(name, f'"{name}"'), _NAMES.get(name, name)
        ordinary = f"FILTER (WHERE NOT isnan({value}))" if name in _FLOATING else ""
        aggregates = {
            "min": f"min({value}) {ordinary}",
            "max": f"max({value}) {ordinary}",
            "null_count": f"count(*) - count({value})",
        }
        if name in _FLOATING:
            aggregates["nan_count"] = f"count(*) FILTER (WHERE isnan({value}))"
        for kind, expression in aggregates.items():
            if random.random() < 0.95:
                parts.append(f'{expression} AS "{kind}.{path}"')
    # A partition by day if all rows of a container have the same day. Computed with arithmetic: in
    # some versions a cast of such a timestamp to a date rounds it first.
    parts.append(
        "CASE WHEN count(day) = count(*) AND min(day) = max(day) THEN min(day)::INTEGER END "
        'AS "partition.day"'
    )
    selected = ", ".join(parts)
    nanoseconds = "epoch_ns(tsns)"
    in_day = f"(({nanoseconds} % {_DAY} + {_DAY}) % {_DAY})"
    rows = f"SELECT *, ({nanoseconds} - {in_day}) // {_DAY} AS day FROM t"
    query = f"SELECT {selected} FROM ({rows}) GROUP BY k ORDER BY k"
    return connection.sql(query).to_arrow_table()


def check(
    predicate: str, connection: duckdb.DuckDBPyConnection, files: pa.Table, counts: Counter[str]
) -> Iterator[Wrong]:
    try:
        # As DuckDB optimizes them, and as it binds them, with casts of constants still in place.
        documents = [
            planned_filters(connection, "t", predicate, optimize=each) for each in (True, False)
        ]
        counted = connection.execute(
            f"SELECT count(*), count(*) FILTER (WHERE {predicate}) FROM t GROUP BY k ORDER BY k"
        ).fetchall()
    except (ValueError, duckdb.Error):
        counts["refused by DuckDB"] += 1
        return
    spec = [PartitionField("tsns", "day", "day")]
    for document, schema in itertools.product(documents, (SCHEMA, None)):
        if document is None:  # folded to a constant: no filter remains
            counts["folded"] += 1
            continue
        expr = And(tuple(from_duckdb(document, schema)))
        verdicts = evaluate(expr, files, spec).to_pylist()
        for verdict, (rows, satisfying) in zip(verdicts, counted, strict=True):
            counts[verdict] += 1
            if (verdict == "none" and satisfying) or (verdict == "all" and satisfying < rows):
                yield Wrong(predicate, verdict, rows, satisfying)


def run(seed: int, tables: int) -> tuple[list[Wrong], Counter[str]]:
    random = Random(seed)
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    prepare(connection)
    counts: Counter[str] = Counter()
    wrong: list[Wrong] = []
    for _ in range(tables):
        random_table(random, connection)
        files = statistics(random, connection)
        for _ in range(PREDICATES):
            wrong.extend(check(random_predicate(random), connection, files, counts))
    return wrong, counts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables", type=int, default=50)
    options = parser.parse_args()
    wrong, counts = run(options.seed, options.tables)
    for each in wrong[:20]:
        print(each)
    print(f"DuckDB {duckdb.__version__}: {len(wrong)} wrong, {dict(counts)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
