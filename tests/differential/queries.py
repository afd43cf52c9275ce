"""Random queries over random tables give the same rows with tamis on and off.

    python tests/differential/queries.py --seed 7 --count 2000

runs for as long as it takes, shrinks what it finds, and prints for each difference a script that shows it.
The grammar is tests/differential/grammar, the tables are tests/differential/worlds.py.
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "python")]

from tests.differential.answers import Difference, Tally, compare
from tests.differential.grammar import Grammar, Statement
from tests.differential.shrink import Shrinker
from tests.differential.tree import Items
from tests.differential.worlds import World, changes, random_world, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES_PER_WORLD = 60
#: Settings are drawn anew after so many queries, and tables change after so many.
QUERIES_PER_SETTINGS = 12
QUERIES_PER_CHANGE = 20
#: Differences of one run that are shrunk; the others are only shown.
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
) -> Tally:
    """Compare queries. The same seed makes the same tables and queries.

    Args:
        spark: A session that has the extension.
        folder: Where the tables lie.
        seed: What tables and queries are drawn from.
        count: How many queries.
        report: Takes what is found, as it is found.
        shrink_seconds: How long a difference may be shrunk; 0 leaves it as it is.
        first: Number of the first world, to start in the middle of a run.
        only: Names of the productions that statements start with, all of them if empty.
        grammar: What draws the statements.

    Returns:
        What was seen.
    """
    tally = Tally()
    number = first
    reported = time.monotonic()
    while tally.queries < count:
        rng = random.Random(f"{seed}/{number}")
        world = random_world(rng, number)
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

    def until(self, stop: int, grammar: Grammar) -> None:
        """Compare statements until the tally counts that many."""
        self.world.set_up(self.spark, self.folder / "tables")
        place = 0
        while self.tally.queries < stop:
            if place and place % QUERIES_PER_CHANGE == 0:
                self._change()
            if place and place % QUERIES_PER_SETTINGS == 0:
                self.world = replace(self.world, settings=settings(self.rng, self.world))
                self.world.configure(self.spark)
            self._compare(grammar.statement(), place)
            place += 1
        self.world.tear_down(self.spark)

    def _change(self) -> None:
        steps = changes(self.rng, self.world)
        for step in steps:
            step.run(self.spark, self.folder / "tables")
        self.world = replace(self.world, steps=(*self.world.steps, *steps))

    def _compare(self, statement: Statement, place: int) -> None:
        failed = self.tally.failed
        found = compare(self.spark, statement, self.tally)
        if self.tally.failed > failed and isinstance(statement.query, Items):
            # One filter of several raises an error: the others are compared without it.
            for branch in statement.query.items:
                self._compare(replace(statement, query=branch), place)
        if found is not None:
            self._note(statement, found, place)

    def _note(self, statement: Statement, found: Difference, place: int) -> None:
        head = f"{found.kind}, seed {self.label}, query {place}"
        self.report(f"{head}: {statement.sql}\n{found.text}")
        if self.shrink_seconds > 0 and len(self.tally.differences) < SHRUNK:
            started = time.monotonic()
            shrinker = Shrinker(self.spark, self.folder / "shrunk", self.shrink_seconds)
            world, statement, found = shrinker.shrink(self.world, statement, found)
            self.report(
                f"shrunk in {time.monotonic() - started:.0f} s: {statement.sql}\n{found.text}\n"
                f"---- script\n{world.script(statement.sql)}\n----"
            )
            self.world.set_up(self.spark, self.folder / "tables")
        self.tally.differences.append(f"{head}: {statement.sql}\n{found.text}")


def session(folder: Path, master: str, extra: list[str]) -> SparkSession:
    """A session for many small queries."""
    from pyspark.sql import SparkSession

    import tamis

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    confs = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        "-XX:ReservedCodeCacheSize=400m "  # or the JVM sweeps code all the time
        f"-Dderby.system.home={folder}",
        "spark.log.level": "OFF",
        "spark.sql.maxPlanStringLength": "0",  # plans are described for every execution
        "spark.sql.debug.maxToStringFields": "0",
        "spark.sql.ui.explainMode": "simple",
        "spark.ui.liveUpdate.period": "-1",
        "spark.shuffle.compress": "false",
        "spark.broadcast.compress": "false",
        "spark.broadcast.checksum": "false",
        "spark.shuffle.checksum.enabled": "false",
        "spark.sql.codegen.cache.maxEntries": "3000",
        "spark.sql.ui.retainedExecutions": "2",
        "spark.tamis.history.enabled": "false",
        "spark.tamis.timeoutMs": "60000",
        **dict(pair.split("=", 1) for pair in extra),
    }
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    builder = SparkSession.builder.master(master)
    for name, value in confs.items():
        builder = builder.config(name, value)
    spark = tamis.configure(builder).getOrCreate()
    _save_work(spark)
    return spark


def _save_work(spark: SparkSession) -> None:
    """Spare each job what small queries spend more time on than on rows."""
    context = spark.sparkContext._jsc
    # Each scan copies Hadoop's configuration and sends it to its tasks: 1,500 defaults that the code
    # has as well.
    context.hadoopConfiguration().clear()
    # A job records the stack that it was started from, unless it is given one.
    context.sc().setLocalProperty("callSite.short", "query")
    context.sc().setLocalProperty("callSite.long", "query")


def cpu_seconds(spark: SparkSession) -> float:
    """Time on processors of the JVM and of this process, which other processes do not lengthen."""
    handle = spark._jvm.java.lang.ProcessHandle.current()
    return float(handle.info().totalCpuDuration().get().toMillis()) / 1000 + time.process_time()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=1, help="seeds from --seed on, one each")
    parser.add_argument("--shrink", type=float, default=90, help="seconds for each difference")
    parser.add_argument("--first", type=int, default=0, help="number of the first set of tables")
    parser.add_argument("--only", default="", help="productions to start with: join,recursive,…")
    parser.add_argument("--folder", type=Path, help="keep the tables here")
    parser.add_argument("--conf", action="append", default=[], help="key=value, of the session")
    arguments = parser.parse_args()
    if arguments.processes > 1:
        return _spread(arguments.processes, arguments.seed, arguments.count, sys.argv[1:])
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        spark = session(folder, "local[1]", arguments.conf)
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
        )
        minutes, cpu = (time.monotonic() - started) / 60, cpu_seconds(spark)
        spark.stop()
    print(f"seed {arguments.seed}, {minutes:.1f} minutes, {cpu:.0f} s of CPU: {tally}")
    return 1 if tally.differences else 0


def _spread(processes: int, seed: int, count: int, given: list[str]) -> int:
    """Run in several processes, each with a seed of its own and its share of the queries."""
    share = ["--processes", "1", "--count", str(-(-count // processes)), "--seed"]
    command = [sys.executable, __file__, *given, *share]
    running = [subprocess.Popen([*command, str(seed + n)]) for n in range(processes)]
    return max(each.wait() for each in running)


if __name__ == "__main__":
    raise SystemExit(main())
