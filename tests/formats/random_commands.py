"""Random MERGE, UPDATE and DELETE over Delta and Iceberg tables, with tamis and without.

    python tests/formats/random_commands.py --seed 7 --count 200

Two tables with the same rows receive the same commands, one with tamis and one without. Both must
raise the same error or return the same rows, count the same in the history of the table, and hold the
same rows afterwards.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "python")]

from tests.differential.queries import confs_of_formats, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILES: Final = 8
#: What a command counts, apart from times, and from sizes, which depend on the order of rows.
_NOT_COUNTED: Final = ("Ms", "Bytes", "bytes", "size", "spark.", "app-id", "-version", "engine")


@dataclass
class Tally:
    """The counts of a run."""

    commands: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    changes: int = 0
    files_kept: int = 0
    files_total: int = 0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.commands} commands, {self.changes} with changes, {len(self.differences)} "
            f"differences; the history has {self.files_kept} of {self.files_total} files kept; "
            f"errors: {dict(self.errors)}"
        )


def _create(rng: random.Random, kind: str) -> str:
    """Return the clauses of CREATE TABLE after the columns."""
    if kind == "delta":
        properties = {
            "delta.enableDeletionVectors": rng.choice(["true", "false"]),
            "delta.columnMapping.mode": rng.choice(["none", "name"]),
            "delta.enableChangeDataFeed": rng.choice(["true", "false"]),
            "delta.enableRowTracking": rng.choice(["true", "false", "false"]),
        }
    else:
        properties = {
            "format-version": rng.choice(["2", "3"]),
            **{
                f"write.{change}.mode": rng.choice(["copy-on-write", "merge-on-read"])
                for change in ("delete", "update", "merge")
            },
        }
    partitions = rng.choice(["", "", "PARTITIONED BY (k)"])
    each = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    return f"USING {kind} {partitions} TBLPROPERTIES ({each})"


def _rows(first: int, count: int, files: int) -> str:
    """Return a query of rows in files that are clustered by id, with NULLs and NaN."""
    return (
        f"SELECT /*+ REPARTITION_BY_RANGE({files}, id) */ id, CAST(id % 5 AS INT) k, "
        "IF(id % 11 = 3, NULL, concat('text ', id)) s, "
        "IF(id % 13 = 5, NULL, date_add(DATE'2024-01-01', CAST(id div 3 AS INT))) d, "
        "IF(id % 17 = 1, double('NaN'), id / 4D) f "
        f"FROM range({first}, {first + count})"
    )


def _condition(rng: random.Random, t: str = "") -> str:
    """Return a condition over the columns, with this prefix."""
    low = rng.randrange(400)
    return rng.choice(
        [
            f"{t}id * 2 >= {2 * low} AND {t}id * 2 <= {2 * low + rng.choice([0, 10, 90])}",
            f"{t}id = {low}",
            f"({t}id + {t}k) % 1000 = {low}",
            f"month({t}d) = {rng.randrange(1, 13)} AND {t}k <> 2",
            f"{t}s LIKE 'text {low // 10}%'",
            f"substring({t}s, 6) = '{low}'",
            f"coalesce({t}id, 0) IN ({low}, {low + 1}, {low + 200})",
            f"{t}f * 4 >= {low + 300} OR {t}s IS NULL AND {t}id < {low // 4}",
            f"NOT ({t}id * 3 < {low * 3 + 300})",
            f"year({t}d) = 1999",
            f"CAST(substring({t}s, 6) AS INT) = {low}",
            f"{t}id <=> {low}",
        ]
    )


def _source(rng: random.Random) -> str:
    """Return a query with the columns a, b and c for MERGE; some repeat keys, or have NULL as one."""
    low = rng.randrange(400)
    keys = [low + rng.randrange(rng.choice([3, 40, 400])) for _ in range(rng.choice([1, 3, 8]))]
    if rng.random() < 0.85:
        keys = sorted(set(keys))
    values = ", ".join(f"({key}L, {key % 5}, 'from {key}')" for key in keys)
    if rng.random() < 0.2:
        values += ", (CAST(NULL AS BIGINT), 1, 'none')"
    return rng.choice(
        [
            f"SELECT * FROM VALUES {values} v(a, b, c)",
            f"SELECT * FROM VALUES {values} v(a, b, c)",
            f"SELECT a, b, c FROM updates WHERE a * 2 BETWEEN {2 * low} AND {2 * low + 60}",
            f"SELECT id a, CAST(id % 5 AS INT) b, 'range' c FROM range({low}, {low + 30}, 7)",
        ]
    )


def _merge(rng: random.Random) -> str:
    on = rng.choice(
        [
            "t.id = s.a",
            "t.id = s.a AND t.k = s.b",
            f"t.id = s.a AND {_condition(rng, 't.')}",
            "t.id <=> s.a",
            "t.id * 2 = s.a * 2 AND s.b < 4",
            "substring(t.s, 6) = CAST(s.a AS STRING)",
            "t.id > s.a AND t.id < s.a + 2",
        ]
    )
    matched = rng.choice(
        [
            "WHEN MATCHED THEN UPDATE SET s = c",
            "WHEN MATCHED THEN DELETE",
            f"WHEN MATCHED AND {_condition(rng, 't.')} THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET k = b, id = id + 1000",
            "",
        ]
    )
    inserted = "WHEN NOT MATCHED THEN INSERT (id, k, s, d, f) VALUES (a, b, c, NULL, NULL)"
    others = rng.choice(
        ["", "", "", f"WHEN NOT MATCHED BY SOURCE AND {_condition(rng, 't.')} THEN DELETE"]
    )
    clauses = [matched, inserted if not matched or rng.random() < 0.5 else "", others]
    return f"MERGE INTO {{t}} t USING ({_source(rng)}) s ON {on} {' '.join(filter(None, clauses))}"


def _statement(rng: random.Random) -> str:
    """Return a command for the table `{t}`."""
    return rng.choice(
        [
            lambda: f"DELETE FROM {{t}} WHERE {_condition(rng)}",
            lambda: f"UPDATE {{t}} SET s = concat('u', s), k = k WHERE {_condition(rng)}",
            lambda: f"UPDATE {{t}} SET id = id + 500 WHERE {_condition(rng)} AND {_condition(rng)}",
            lambda: (
                f"DELETE FROM {{t}} WHERE id IN (SELECT a FROM updates WHERE b = 1) AND {_condition(rng)}"
            ),
            lambda: _merge(rng),
            lambda: _merge(rng),
            lambda: _merge(rng),
        ]
    )()


def _counted(spark: SparkSession, table: str, kind: str) -> dict[str, str]:
    """Return what the newest commit has counted."""
    if kind == "delta":
        found = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0].operationMetrics
    else:
        snapshots = f"SELECT summary FROM {table}.snapshots ORDER BY committed_at DESC LIMIT 1"
        found = spark.sql(snapshots).collect()[0].summary
    return {k: v for k, v in sorted(found.items()) if not any(part in k for part in _NOT_COUNTED)}


def _name_of(error: Exception) -> str:
    """Return the class of an error, with the condition that Spark or a format gives it."""
    words = str(error).replace("[", " ").replace("]", " ").split()
    conditions = [word for word in words if "_" in word and word.replace("_", "").isupper()]
    return f"{type(error).__name__} {conditions[:1]}"


def _outcome(spark: SparkSession, statement: str, table: str, kind: str) -> tuple[str, object]:
    """Return the error or what was counted, and the rows of the table."""
    try:
        affected = spark.sql(statement.replace("{t}", table)).collect()
        result = f"{affected} {_counted(spark, table, kind)}"
    except Exception as error:
        result = _name_of(error)
    rows = sorted((tuple(row) for row in spark.table(table).collect()), key=repr)
    return result, [repr(row) for row in rows]


def _round(spark: SparkSession, plain: SparkSession, label: str, kind: str, tally: Tally) -> None:
    """Run commands over two new tables."""
    rng = random.Random(f"{label}/{kind}")
    prefix = "ice.db." if kind == "iceberg" else ""
    tables = {prefix + "commands_on": spark, prefix + "commands_off": plain}
    clauses = _create(rng, kind)
    for table in tables:
        plain.sql(f"DROP TABLE IF EXISTS {table}")
        plain.sql(f"CREATE TABLE {table} {clauses} AS {_rows(0, 400, _FILES)}")
    before: object = None
    for _ in range(6):
        statement = _statement(rng)
        on, off = (_outcome(of, statement, table, kind) for table, of in tables.items())
        tally.commands += 1
        tally.changes += off[1] != before
        before = off[1]
        if off[0][:1] != "[":
            tally.errors[off[0][:80]] += 1
        if on != off:
            tally.differences.append(f"{label}, {clauses}\n{statement}\n{on[0]}\n{off[0]}")
            print(tally.differences[-1][:3000], flush=True)
            return


def run(spark: SparkSession, folder: Path, seed: int, count: int) -> Tally:
    """Compare at least this many commands.

    Args:
        spark: A session with tamis, Delta and Iceberg.
        folder: An empty folder for the history.
        seed: The seed of tables and commands.
        count: How many commands.
    """
    tally = Tally()
    plain = spark.newSession()
    for of, enabled in ((spark, "true"), (plain, "false")):
        for key, value in {
            "spark.tamis.enabled": enabled,
            "spark.tamis.history.enabled": "true",
            "spark.tamis.history.location": str(folder),
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.catalog.ice.cache-enabled": "false",  # each session sees new tables
        }.items():
            of.conf.set(key, value)
    plain.sql("DROP TABLE IF EXISTS updates")
    plain.sql(
        "CREATE TABLE updates USING parquet AS SELECT id a, CAST(id % 5 AS INT) b, "
        "concat('update ', id) c FROM range(0, 800, 1, 4)"
    )
    number = 0
    while tally.commands < count:
        for kind in ("delta", "iceberg"):
            _round(spark, plain, f"{seed}/{number}", kind, tally)
        number += 1
    _count_files(spark, tally)
    return tally


def _count_files(spark: SparkSession, tally: Tally) -> None:
    found = spark.sql(
        "SELECT sum(files_kept) kept, sum(files_total) total FROM tamis_history() "
        "WHERE files_kept < files_total"
    ).collect()[0]
    tally.files_kept, tally.files_total = found.kept or 0, found.total or 0


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spark = session(folder, "local[2]", confs_of_formats(folder))
        tally = run(spark, folder / "history", arguments.seed, arguments.count)
        spark.stop()
    print(tally)
    return 1 if tally.differences or not tally.changes or not tally.files_total else 0


if __name__ == "__main__":
    raise SystemExit(main())
