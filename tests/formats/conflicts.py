"""Commands over Delta and Iceberg tables while another session commits, with tamis and without.

    python tests/formats/conflicts.py

The command waits, while it reads, until the other session has committed, so that the two always
overlap. With tamis, a command must fail in the same cases as without: where tamis reads fewer files, a
commit to the other files still counts. If it succeeds, the table must hold the same rows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "python")]

from tests.differential.queries import confs_of_formats, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: `waiting` returns its argument.
COMMANDS: Final = {
    "MERGE": "MERGE INTO {t} t USING (SELECT waiting(a) a FROM VALUES (450L) v(a)) s ON t.id = s.a "
    "AND t.id * 2 >= 800 {and} WHEN MATCHED THEN UPDATE SET s = 'changed here'",
    "UPDATE": "UPDATE {t} t SET s = 'changed here' WHERE t.id * 2 = 900 AND waiting(t.id) = 450 {and}",
    "DELETE": "DELETE FROM {t} t WHERE t.id * 2 = 900 AND waiting(t.id) = 450 {and}",
    "INSERT": "INSERT INTO {t} SELECT id + 500, k, 'inserted' FROM {t} t WHERE t.id * 2 = 900 "
    "AND waiting(t.id) = 450 {and}",
    "INSERT OVERWRITE": "INSERT OVERWRITE {t} SELECT id, k, 'kept' FROM {t} t WHERE t.id * 2 = 900 "
    "AND waiting(t.id) = 450 {and}",
}
#: Only the file with the ids from 400 on has a match, and only it is read with tamis.
COMMITS: Final = {
    "append of a row that matches": "INSERT INTO {t} VALUES (450, 4, 'new')",
    "append elsewhere": "INSERT INTO {t} VALUES (9000, 90, 'new')",
    "delete in a file that is not read": "DELETE FROM {t} WHERE id = 7",
    "delete in the file with the match": "DELETE FROM {t} WHERE id = 420",
    "update of the match": "UPDATE {t} SET s = 'changed' WHERE id = 450",
}
#: The clauses of CREATE TABLE, and of the condition of the command.
TABLES: Final = {
    "delta": ("USING delta", ""),
    "delta with partitions": (
        "USING delta PARTITIONED BY (k) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "AND t.k IN (3, 4)",
    ),
    "merge-on-read": (
        "USING iceberg TBLPROPERTIES ('format-version' = '2', "
        "'write.merge.mode' = 'merge-on-read', 'write.delete.mode' = 'merge-on-read', "
        "'write.update.mode' = 'merge-on-read')",
        "",
    ),
    "copy-on-write": ("USING iceberg TBLPROPERTIES ('format-version' = '2')", ""),
    "snapshot isolation": (
        "USING iceberg TBLPROPERTIES ('format-version' = '3', 'write.merge.mode' = 'merge-on-read', "
        "'write.merge.isolation-level' = 'snapshot', 'write.update.isolation-level' = 'snapshot', "
        "'write.delete.isolation-level' = 'snapshot')",
        "",
    ),
}


@dataclass(frozen=True)
class Outcome:
    """The result of a command.

    Attributes:
        error: The class of its error; empty if it succeeded.
        rows: The rows of the table afterwards.
    """

    error: str
    rows: tuple[str, ...]


def _class_of(error: Exception) -> str:
    """Return the innermost class of a conflict, or the beginning of another error."""
    known = (
        "ConcurrentAppend",
        "ConcurrentDelete",
        "Found conflicting",
        "conflicting delete",
        "missing data files",
        "Missing required files",
    )
    return " ".join(name for name in known if name in str(error)) or str(error)[:300]


def outcome(
    spark: SparkSession, other: SparkSession, command: str, kind: str, commit: str, folder: Path
) -> Outcome:
    """Run the command while the other session commits.

    Args:
        spark: The session of the command.
        other: The session of the commit.
        command: A value of `COMMANDS`.
        kind: A key of `TABLES`.
        commit: The statement of the other session.
        folder: A folder for the files by which both wait for each other.
    """
    clauses, condition = TABLES[kind]
    table = "ice.db.conflicts" if "iceberg" in clauses else "conflicts"
    other.sql(f"DROP TABLE IF EXISTS {table}")
    other.sql(
        f"CREATE TABLE {table} {clauses} AS SELECT /*+ REPARTITION_BY_RANGE(5, id) */ id, "
        "CAST(id div 100 AS INT) k, concat('text ', id) s FROM range(0, 500)"
    )
    reached, committed = folder / "reached", folder / "committed"
    for file in (reached, committed):
        file.unlink(missing_ok=True)

    def waiting(key: int) -> int:
        reached.touch()
        deadline = time.monotonic() + 120
        while not committed.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        return key

    spark.udf.register("waiting", waiting, "bigint")
    statement = command.replace("{t}", table).replace("{and}", condition)
    errors: list[str] = []

    def change() -> None:
        try:
            spark.sql(statement).collect()
        except Exception as error:
            errors.append(_class_of(error))

    thread = threading.Thread(target=change)
    thread.start()
    deadline = time.monotonic() + 120
    while not reached.exists() and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert reached.exists(), errors
    other.sql(commit.replace("{t}", table)).collect()
    committed.touch()
    thread.join()
    other.sql(f"REFRESH TABLE {table}")
    rows = sorted(repr(tuple(row)) for row in other.table(table).collect())
    return Outcome("".join(errors), tuple(rows))


@dataclass
class Tally:
    """The result of a run.

    Attributes:
        found: The error without tamis, for each command, table and commit; empty: none.
        differences: Where the result with tamis was another.
    """

    found: dict[str, str] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)


def run(
    spark: SparkSession, folder: Path, commands: list[str], tables: list[str], commits: list[str]
) -> Tally:
    """Compare what happens to commands with tamis and without.

    Args:
        spark: A session with tamis, Delta and Iceberg.
        folder: An empty folder.
        commands: Keys of `COMMANDS`.
        tables: Keys of `TABLES`.
        commits: Keys of `COMMITS`.
    """
    tally = Tally()
    other = spark.newSession()
    for of in (spark, other):
        of.conf.set("spark.sql.catalog.ice.cache-enabled", "false")  # it sees commits of the other
    other.conf.set("spark.tamis.enabled", "false")
    for command, table, commit in product(commands, tables, commits):
        outcomes = []
        for enabled in ("false", "true"):
            spark.conf.set("spark.tamis.enabled", enabled)
            statement = COMMANDS[command]
            outcomes.append(outcome(spark, other, statement, table, COMMITS[commit], folder))
        off, on = outcomes
        case = f"{command}, {table}, {commit}"
        tally.found[case] = off.error
        if on != off:
            text = f"{on.error or 'no conflict'}, {set(on.rows) ^ set(off.rows)}"
            tally.differences.append(f"{case}: {off.error}; with tamis: {text}")
        print(f"{case}: {off.error or 'no conflict'}", flush=True)
    return tally


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--command", choices=list(COMMANDS), action="append")
    parser.add_argument("--table", choices=list(TABLES), action="append")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spark = session(folder, "local[2]", confs_of_formats(folder))
        commands, tables = arguments.command or list(COMMANDS), arguments.table or list(TABLES)
        tally = run(spark, folder, commands, tables, list(COMMITS))
        spark.stop()
    print("\n".join(tally.differences))
    return 1 if tally.differences or not any(tally.found.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
