"""Random queries over random tables return the same rows with tamis on and off.

    python tests/differential/queries.py --seed 7 --count 2000

The command has no time limit. It shrinks each difference and prints a script that reproduces it.
The grammar is in tests/differential/grammar, the tables are in tests/differential/worlds.py.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "python")]

from tests.class_archive import class_path, java_options
from tests.differential.answers import Difference, Tally, compare
from tests.differential.grammar import Grammar, Statement
from tests.differential.grammar.productions import RECENT
from tests.differential.shrink import Shrinker
from tests.differential.tree import Items
from tests.differential.worlds import World, changes, random_world, settings
from tests.small_queries import save_work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES_PER_WORLD = 60
#: Number of queries until settings are drawn again, and until tables change.
QUERIES_PER_SETTINGS = 12
QUERIES_PER_CHANGE = 20
#: How often one of the last statements, or of their filters alone, is compared again: a scan may
#: then use what one before it has learnt, about a table that has changed since, or under other
#: settings.
AGAIN = 0.5
#: How many differences of a run are shrunk; the others are only printed.
SHRUNK = 12


def run(
    spark: SparkSession,
    folder: Path,
    seed: int,
    count: int,
    report: Callable[[str], None] = lambda text: None,
    shrink_seconds: float = 0,
    first: int = 0,
    only: Sequence[str] = (),
    grammar: type[Grammar] = Grammar,
    with_formats: bool = False,
) -> Tally:
    """Compare queries. The same seed makes the same tables and queries.

    Args:
        spark: A session that has the extension.
        folder: The folder of the tables.
        seed: The seed of tables and queries.
        count: How many queries.
        report: Receives each difference as it occurs.
        shrink_seconds: Time limit for shrinking a difference; 0 disables shrinking.
        first: Number of the first world, to start in the middle of a run.
        only: Names of the productions that statements start with; empty for all.
        grammar: The class that draws the statements.
        with_formats: Whether most tables are tables of Delta and Iceberg.

    Returns:
        The counts and differences of the run.
    """
    tally = Tally()
    number = first
    reported = time.monotonic()
    while tally.queries < count:
        rng = random.Random(f"{seed}/{number}")
        world = random_world(rng, number, with_formats=with_formats)
        label = f"{seed}/{number}"
        queries = _Run(spark, folder, world, rng, tally, report, shrink_seconds, label)
        queries.until(
            min(count, tally.queries + QUERIES_PER_WORLD), grammar(rng, world.tables, only)
        )
        number += 1
        if time.monotonic() - reported > 60:
            reported = time.monotonic()
            report(f"{label}, {cpu_seconds(spark):.0f} s of CPU: {tally}")
    return tally


@dataclass
class _Run:
    """The queries over one set of tables."""

    spark: SparkSession
    folder: Path
    world: World
    rng: random.Random
    tally: Tally
    report: Callable[[str], None]
    shrink_seconds: float
    label: str
    recent: deque[Statement] = field(default_factory=lambda: deque(maxlen=RECENT))

    def until(self, stop: int, grammar: Grammar) -> None:
        """Compare statements until the tally has counted this many."""
        self.world.set_up(self.spark, self.folder / "tables")
        place = 0
        while self.tally.queries < stop:
            if place and place % QUERIES_PER_CHANGE == 0:
                self._change()
            if place and place % QUERIES_PER_SETTINGS == 0:
                self.world = replace(self.world, settings=settings(self.rng, self.world))
                self.world.configure(self.spark)
            self._compare(self._drawn(grammar), place)
            place += 1
        self.world.tear_down(self.spark)

    def _drawn(self, grammar: Grammar) -> Statement:
        if self.recent and self.rng.random() < AGAIN:
            self.spark._jvm.io.tamis.Tamis.flushLearnt(self.spark._jsparkSession)
            if grammar.earlier and self.rng.random() < 0.5:
                return grammar.filtered_again()
            return self.rng.choice(self.recent)
        statement = grammar.statement()
        self.recent.append(statement)
        return statement

    def _change(self) -> None:
        steps = changes(self.rng, self.world)
        for step in steps:
            step.run(self.spark, self.folder / "tables")
        self.world = replace(self.world, steps=(*self.world.steps, *steps))

    def _compare(self, statement: Statement, place: int) -> None:
        failed = self.tally.failed
        difference = compare(self.spark, statement, self.tally)
        if self.tally.failed > failed and isinstance(statement.query, Items):
            # One of several filters raises an error: compare the others without it.
            for branch in statement.query.items:
                self._compare(replace(statement, query=branch), place)
        if difference is not None:
            self._note(statement, difference, place)

    def _note(self, statement: Statement, difference: Difference, place: int) -> None:
        head = f"{difference.kind}, seed {self.label}, query {place}"
        self.report(f"{head}: {statement.sql}\n{difference.text}")
        if self.shrink_seconds > 0 and len(self.tally.differences) < SHRUNK:
            started = time.monotonic()
            shrinker = Shrinker(self.spark, self.folder / "shrunk", self.shrink_seconds)
            world, statement, difference = shrinker.shrink(self.world, statement, difference)
            self.report(
                f"shrunk in {time.monotonic() - started:.0f} s: {statement.sql}\n{difference.text}\n"
                f"---- script\n{world.script(statement.sql)}\n----"
            )
            self.world.set_up(self.spark, self.folder / "tables")
        self.tally.differences.append(f"{head}: {statement.sql}\n{difference.text}")


def session(folder: Path, master: str, extra: list[str]) -> SparkSession:
    """Return a session for many small queries."""
    from pyspark.sql import SparkSession

    import tamis

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.update(class_path())
    confs = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.memory": "1g",
        "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
        "spark.driver.extraJavaOptions": f"{java_options()} -Dderby.system.home={folder}",
        "spark.log.level": "OFF",
        "spark.sql.maxPlanStringLength": "0",  # Spark formats the plan on every execution
        "spark.sql.debug.maxToStringFields": "0",
        "spark.sql.ui.explainMode": "simple",
        "spark.ui.liveUpdate.period": "-1",
        "spark.shuffle.compress": "false",
        "spark.broadcast.compress": "false",
        "spark.broadcast.checksum": "false",
        "spark.shuffle.checksum.enabled": "false",
        "spark.sql.codegen.cache.maxEntries": "3000",
        "spark.sql.ui.retainedExecutions": "2",
        "spark.tamis.cache.location": str(folder / "cache"),
        "spark.tamis.history.enabled": "false",
        "spark.tamis.timeout": "60s",
        **dict(pair.split("=", 1) for pair in extra),
    }
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    builder = SparkSession.builder.master(master)
    for name, value in confs.items():
        builder = builder.config(name, value)
    spark = tamis.configure(builder).getOrCreate()
    save_work(spark)
    return spark


def confs_of_formats(folder: Path) -> list[str]:
    """Return the confs that load Delta and Iceberg."""
    from bench.peers.packages import confs, lakes

    small = {
        # `save_work` removes the defaults of Hadoop by which Delta finds this class
        "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    given = {**confs(), **lakes(folder / "iceberg"), **small}
    return [f"{key}={value}" for key, value in given.items()]


def cpu_seconds(spark: SparkSession) -> float:
    """Return the CPU time of the JVM and of this process, independent of other processes."""
    handle = spark._jvm.java.lang.ProcessHandle.current()
    return float(handle.info().totalCpuDuration().get().toMillis()) / 1000 + time.process_time()


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=1, help="one seed each, from --seed on")
    parser.add_argument("--shrink", type=float, default=90, help="seconds per difference")
    parser.add_argument("--first", type=int, default=0, help="number of the first set of tables")
    parser.add_argument("--only", default="", help="productions to start with: join,recursive,…")
    parser.add_argument("--folder", type=Path, help="keeps the tables, in a folder per seed")
    parser.add_argument("--conf", action="append", default=[], help="key=value for the session")
    parser.add_argument("--formats", action="store_true", help="tables of Delta and Iceberg")
    arguments = parser.parse_args()
    if arguments.processes > 1:
        return _spread(arguments.processes, arguments.seed, arguments.count, sys.argv[1:])
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.folder or Path(temporary)) / str(arguments.seed)
        folder.mkdir(parents=True, exist_ok=True)
        confs = confs_of_formats(folder) if arguments.formats else []
        spark = session(folder, "local[1]", [*confs, *arguments.conf])
        started = time.monotonic()
        tally = run(
            spark,
            folder,
            arguments.seed,
            arguments.count,
            lambda text: print(text, flush=True),
            arguments.shrink,
            arguments.first,
            arguments.only.split(",") if arguments.only else (),
            with_formats=arguments.formats,
        )
        minutes, cpu = (time.monotonic() - started) / 60, cpu_seconds(spark)
        spark.stop()
    print(f"seed {arguments.seed}, {minutes:.1f} minutes, {cpu:.0f} s of CPU: {tally}")
    return 1 if tally.differences else 0


def _spread(processes: int, seed: int, count: int, given: list[str]) -> int:
    """Run several processes, each with its own seed and its share of the queries."""
    share = ["--processes", "1", "--count", str(-(-count // processes)), "--seed"]
    command = [sys.executable, __file__, *given, *share]
    running = [subprocess.Popen([*command, str(seed + n)]) for n in range(processes)]
    return max(each.wait() for each in running)


if __name__ == "__main__":
    raise SystemExit(main())
