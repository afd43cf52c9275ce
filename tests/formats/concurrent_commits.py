"""Queries over Delta and Iceberg tables while other sessions commit to them.

    python tests/formats/concurrent_commits.py --seed 7 --count 2000

A writer for each table appends, deletes, updates, merges, compacts, and removes old files. Meanwhile
queries run with tamis. A query of one version must return what plain Spark returns for it. A query of
the newest version must return the answer for a version that was the newest while it ran. If a query
fails because its files were removed, it must fail in plain Spark, too.

Each `pair` of a table has two rows with opposite values of `v`, and each commit keeps both, changes
both or deletes both. The sum of `v` over any range of pairs is therefore 0 in every version.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "python")]

from tests.differential.queries import confs_of_formats, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = "pair BIGINT, k INT, v BIGINT, s STRING"
_PAIRS_PER_APPEND = 40
#: Older pairs are deleted, so that commits and queries stay fast.
_MOST_PAIRS = 600


@dataclass(frozen=True)
class DeltaTable:
    """A table of Delta."""

    name: str = "commits"

    def create(self, rng: random.Random) -> str:
        """Return CREATE TABLE with random properties."""
        properties = {
            "delta.enableDeletionVectors": rng.choice(["true", "true", "false"]),
            "delta.columnMapping.mode": rng.choice(["none", "none", "name"]),
            "delta.checkpointInterval": rng.choice(["3", "10"]),
            "delta.checkpointPolicy": rng.choice(["classic", "v2"]),
        }
        return f"CREATE TABLE {self.name} ({_COLUMNS}) USING delta {_properties(properties)}"

    def maintenance(self) -> list[str]:
        """Return the statements that rewrite or remove files."""
        return [
            f"OPTIMIZE {self.name}",
            f"OPTIMIZE {self.name} ZORDER BY (k)",
            f"REORG TABLE {self.name} APPLY (PURGE)",
            *[f"VACUUM {self.name} RETAIN 0 HOURS"] * 2,
        ]

    def versions(self, spark: SparkSession) -> list[int]:
        """Return the versions, oldest first."""
        return sorted(row.version for row in spark.sql(f"DESCRIBE HISTORY {self.name}").collect())


@dataclass(frozen=True)
class IcebergTable:
    """A table of Iceberg."""

    name: str = "ice.db.commits"

    def create(self, rng: random.Random) -> str:
        """Return CREATE TABLE with random properties."""
        properties = {
            "format-version": rng.choice(["2", "3"]),
            **{
                f"write.{change}.mode": rng.choice(["copy-on-write", "merge-on-read"])
                for change in ("delete", "update", "merge")
            },
        }
        return f"CREATE TABLE {self.name} ({_COLUMNS}) USING iceberg {_properties(properties)}"

    def maintenance(self) -> list[str]:
        """Return the statements that rewrite or remove files."""
        table = f"table => '{self.name.removeprefix('ice.')}'"
        return [
            f"CALL ice.system.rewrite_data_files({table}, options => map('rewrite-all', 'true'))",
            f"CALL ice.system.rewrite_manifests({table})",
            f"CALL ice.system.rewrite_position_delete_files({table})",
            f"CALL ice.system.expire_snapshots({table}, retain_last => 2, "
            f"older_than => TIMESTAMP '{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f}')",
        ]

    def versions(self, spark: SparkSession) -> list[int]:
        """Return the snapshots, oldest first."""
        found = spark.sql(f"SELECT snapshot_id FROM {self.name}.snapshots ORDER BY committed_at")
        return [row.snapshot_id for row in found.collect()]


Table = DeltaTable | IcebergTable


def _properties(given: dict[str, str]) -> str:
    return f"TBLPROPERTIES ({', '.join(f'{key!r} = {value!r}' for key, value in given.items())})"


def _rows(first: int, pairs: int, files: int) -> str:
    """Return a query of the two rows of each new pair, in files that are clustered by pair."""
    return (
        f"SELECT /*+ REPARTITION_BY_RANGE({files}, pair) */ pair, CAST(pair % 7 AS INT) k, "
        "side * (pair % 100 + 1) v, concat('text ', pair) s "
        f"FROM (SELECT id pair, explode(array(1L, -1L)) side FROM range({first}, {first + pairs}))"
    )


@dataclass
class Tally:
    """The counts of a run."""

    queries: int = 0
    compared: int = 0
    failed: int = 0  # in plain Spark, too
    spared: int = 0  # in plain Spark only: a removed file that tamis does not read, or a later one
    rows: int = 0
    files_kept: int = 0
    files_total: int = 0
    commits: Counter[str] = field(default_factory=Counter)
    failed_commits: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.queries} queries, {self.compared} compared, {len(self.differences)} differences; "
            f"{self.rows} rows, {self.files_kept} of {self.files_total} files kept; {self.failed} "
            f"failed in plain Spark too, {self.spared} there only\n"
            f"commits: {dict(self.commits)}\nfailed commits: {dict(self.failed_commits)}\n"
            f"errors with tamis: {dict(self.errors)}"
        )


@dataclass
class _Writer:
    """Commits to a table until the event."""

    spark: SparkSession
    table: Table
    rng: random.Random
    tally: Tally
    next_pair: int = 0

    def create(self) -> None:
        self.spark.sql(f"DROP TABLE IF EXISTS {self.table.name}")
        self.spark.sql(self.table.create(self.rng))
        for _ in range(3):
            self.spark.sql(self._append())

    def until(self, stop: threading.Event) -> None:
        first = [self._append, self._maintain, self._change]  # a short run has each kind
        self.rng.shuffle(first)
        while first or not stop.is_set():
            statement = first.pop()() if first else self._statement()
            kind = " ".join(statement.split(" (")[0].split()[:2]).split("(")[0]
            try:
                self.spark.sql(statement).collect()
                self.tally.commits[kind] += 1
            except Exception as error:
                self.tally.failed_commits[f"{kind}: {_first_line(error)}"] += 1
            stop.wait(self.rng.choice([0, 0, 0.1, 0.5]))

    def _append(self) -> str:
        first, self.next_pair = self.next_pair, self.next_pair + _PAIRS_PER_APPEND
        rows = _rows(first, _PAIRS_PER_APPEND, self.rng.choice([1, 2, 4]))
        return f"INSERT INTO {self.table.name} {rows}"

    def _maintain(self) -> str:
        return self.rng.choice(self.table.maintenance())

    def _statement(self) -> str:
        if self.rng.random() < 0.35:
            return self._append()
        return self._maintain() if self.rng.random() < 0.45 else self._change()

    def _change(self) -> str:
        rng, name = self.rng, self.table.name
        oldest = max(0, self.next_pair - _MOST_PAIRS)
        low = rng.randrange(oldest, self.next_pair)
        last = low + rng.choice([0, 3, 60])
        # only tamis prunes by the second one
        pairs = rng.choice(
            [f"pair BETWEEN {low} AND {last}", f"pair * 3 >= {low * 3} AND pair * 3 <= {last * 3}"]
        )
        # of distinct pairs, so that a row of the table matches once
        keys = ", ".join(f"({key}L)" for key in {low, low + 2, last})
        source = rng.choice(
            [
                f"SELECT DISTINCT pair FROM {name} WHERE {pairs}",
                f"SELECT * FROM VALUES {keys} v(pair)",
            ]
        )
        return rng.choice(
            [
                f"DELETE FROM {name} WHERE pair < {oldest} OR {pairs} AND pair % 3 = 1",
                f"DELETE FROM {name} WHERE pair < {oldest} OR {pairs}",
                f"UPDATE {name} SET v = -2 * v, s = 'changed' WHERE {pairs}",
                f"UPDATE {name} SET k = k + 1 WHERE {pairs} AND k % 2 = 0",
                f"MERGE INTO {name} t USING ({source}) s ON t.pair = s.pair "
                "WHEN MATCHED AND s.pair % 3 = 0 THEN DELETE "
                "WHEN MATCHED THEN UPDATE SET v = v * 3",
            ]
        )


@dataclass(frozen=True)
class _Answer:
    rows: list[tuple[Any, ...]] | None
    error: str = ""


@dataclass
class _Reader:
    """Compares queries of a table.

    Attributes:
        spark: A session with tamis.
        plain: One without.
    """

    spark: SparkSession
    plain: SparkSession
    table: Table
    rng: random.Random
    tally: Tally
    label: str

    def compare(self) -> None:
        """Compare a random query of one version or of the newest."""
        self.tally.queries += 1
        query, is_sum = self._query()
        versions = self.table.versions(self.plain)
        if self.rng.random() < 0.6:
            version = versions[-1] if self.rng.random() < 0.5 else self.rng.choice(versions)
            self._compare(query, is_sum, f" VERSION AS OF {version}", lambda: [version])
        else:
            self._compare(query, is_sum, "", lambda: self._since(versions[-1]))

    def _since(self, version: int) -> list[int]:
        """Return this version and those after it; an expired one had to be the oldest."""
        versions = self.table.versions(self.plain)
        return versions[versions.index(version) :] if version in versions else [version, *versions]

    def _compare(
        self, query: str, is_sum: bool, version: str, candidates: Callable[[], list[int]]
    ) -> None:
        sql = query.replace("{t}", self.table.name + version)
        found = self._run(self.spark, sql, is_counted=True)
        versions = candidates()
        pinned = [query.replace("{t}", f"{self.table.name} VERSION AS OF {v}") for v in versions]
        expected = [self._run(self.plain, each) for each in pinned]
        if found.rows is None:
            self.tally.errors[found.error] += 1
            self.tally.failed += 1
            if all(each.rows is not None for each in expected):
                self._differs(sql, f"fails only with tamis: {found.error}")
            return
        self.tally.rows += len(found.rows)
        if is_sum and sum(row[0] or 0 for row in found.rows) != 0:
            self._differs(sql, f"the sum is not 0: {found.rows}")
        if any(each.rows == found.rows for each in expected):
            self.tally.compared += 1
        elif any(each.rows is None for each in expected):
            self.tally.spared += 1
        else:
            answers = dict(zip(versions, (each.rows for each in expected), strict=True))
            self._differs(sql, f"with tamis: {found.rows}\nplain Spark by version: {answers}")

    def _differs(self, sql: str, text: str) -> None:
        self.tally.differences.append(f"{self.label}, {sql}\n{text}")
        print(self.tally.differences[-1][:3000], flush=True)

    def _run(self, spark: SparkSession, sql: str, is_counted: bool = False) -> _Answer:
        try:
            frame = spark.sql(sql)
            rows = sorted((tuple(row) for row in frame.collect()), key=repr)
        except Exception as error:
            return _Answer(None, _first_line(error))
        if is_counted:
            scans = spark._jvm.io.tamis.Tamis.scans(frame._jdf)
            self._count(scans)
        return _Answer(rows)

    def _count(self, scans: str) -> None:
        for scan in json.loads(scans):
            self.tally.files_kept += scan["files_kept"]
            self.tally.files_total += scan["files_total"]
            if scan["fallback"] is not None:
                self.tally.errors[f"fallback: {scan['fallback']}"] += 1

    def _query(self) -> tuple[str, bool]:
        """Return a query of `{t}`, and whether its first column sums up to 0."""
        rng = self.rng
        newest = 40 * 3 + self.tally.commits["INSERT INTO"] * _PAIRS_PER_APPEND
        low = rng.randrange(max(0, newest - _MOST_PAIRS), newest)
        where = rng.choice(
            [
                f"pair + 0 BETWEEN {low} AND {low + rng.choice([0, 5, 60])}",
                f"pair >= {low}",
                f"pair < {low} AND k % 3 = 1",
                f"pair IN ({low}, {low + 7}, {low + 50}) OR pair * 2 = {low * 2}",
                f"pair BETWEEN {low} AND {low + 80} AND s <> 'changed'",
                f"s = 'text {low}' OR s LIKE 'text {low // 10}%'",
                "TRUE",
            ]
        )
        queries = [
            (f"SELECT v, pair, k, s FROM {{t}} WHERE {where}", True),
            (f"SELECT sum(v), count(*), min(pair), max(pair) FROM {{t}} WHERE {where}", True),
            (f"SELECT sum(v), k, count(*) FROM {{t}} WHERE {where} GROUP BY k", True),
            (f"SELECT max(pair), min(k), count(*) FROM {{t}} WHERE {where}", False),
            (f"SELECT pair FROM {{t}} WHERE {where} ORDER BY pair DESC LIMIT 4", False),
            ("SELECT count(*), min(pair), max(pair) FROM {t}", False),
        ]
        return rng.choice(queries)


def _first_line(error: Exception) -> str:
    """Return the beginning of a message, without what differs between files and versions."""
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {' '.join(w for w in text.split() if '/' not in w)[:90]}"


def _session_of(spark: SparkSession, enabled: str) -> SparkSession:
    made = spark.newSession()
    for key, value in {
        "spark.tamis.enabled": enabled,
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "UTC",
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.catalog.ice.cache-enabled": "false",  # it sees the commits of others at once
        "spark.tamis.timeout": "60s",  # a loaded machine must not cause a failure
    }.items():
        made.conf.set(key, value)
    return made


def run(spark: SparkSession, seed: int, count: int, seconds: float = float("inf")) -> Tally:
    """Compare queries while sessions commit. The seed chooses the statements, not their order.

    Args:
        spark: A session with tamis, Delta and Iceberg.
        seed: The seed of statements and queries.
        count: How many queries.
        seconds: The time limit; the run then ends with fewer queries, but not without any rows.

    Returns:
        The counts and differences of the run.
    """
    tally = Tally()
    deadline = time.monotonic() + seconds
    number = 0
    while tally.queries < count and time.monotonic() < deadline:
        until = min(count, tally.queries + 300)  # other properties afterwards
        _round(spark, f"{seed}/{number}", until, deadline, tally)
        number += 1
    return tally


def _round(spark: SparkSession, label: str, until: int, deadline: float, tally: Tally) -> None:
    """Compare queries of two new tables."""
    stop = threading.Event()
    writers, readers = [], []
    for table in (DeltaTable(), IcebergTable()):
        rng = random.Random(f"{label}/{table.name}")
        writing = _session_of(spark, rng.choice(["true", "false"]))
        writers.append(_Writer(writing, table, random.Random(rng.random()), tally))
        with_tamis, plain = _session_of(spark, "true"), _session_of(spark, "false")
        reader_rng = random.Random(rng.random())
        readers.append(_Reader(with_tamis, plain, table, reader_rng, tally, label))

    def read(reader: _Reader) -> None:
        # a slow machine compares one query at least
        while tally.queries < until and (time.monotonic() < deadline or not tally.rows):
            try:
                reader.compare()
            except Exception as error:  # of the comparison itself
                tally.differences.append(f"{label}: {error!r}")
                raise

    for writer in writers:
        writer.create()
    writing_threads = [threading.Thread(target=writer.until, args=(stop,)) for writer in writers]
    reading_threads = [threading.Thread(target=read, args=(reader,)) for reader in readers]
    for thread in [*writing_threads, *reading_threads]:
        thread.start()
    for thread in reading_threads:
        thread.join()
    stop.set()
    for thread in writing_threads:
        thread.join()


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time limit")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spark = session(folder, "local[2]", confs_of_formats(folder))
        tally = run(spark, arguments.seed, arguments.count, arguments.seconds)
        spark.stop()
    print(tally)
    trivial = not tally.rows or not tally.commits or tally.files_kept == tally.files_total
    return 1 if tally.differences or trivial else 0


if __name__ == "__main__":
    raise SystemExit(main())
