"""Random queries with tamis on and off give the same rows.

    python tests/differential/queries.py --seed 7 --count 2000

runs for as long as it takes and prints every difference with the statement that makes it again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "python")]

from tests.differential import limits
from tests.differential.aggregates import aggregate
from tests.differential.joins import join_of
from tests.differential.random_predicates import conjunction, predicate
from tests.differential.random_tables import RandomTable, create, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERIES_PER_TABLE = 25
#: Filters of the same table in one statement, besides: most of the time goes into statements.
TOGETHER = 8
STATEMENTS_PER_TABLE = 8
_CONFS = {
    "spark.sql.session.timeZone": ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia"],
    "spark.sql.ansi.enabled": ["true", "false"],
    "spark.sql.files.maxPartitionBytes": ["2000", str(1 << 27)],
    "spark.sql.files.openCostInBytes": ["1", str(1 << 22)],
    "spark.sql.adaptive.enabled": ["true", "true", "false"],
    "spark.sql.autoBroadcastJoinThreshold": ["-1", "10485760"],
    "spark.sql.parquet.outputTimestampType": ["INT96", "TIMESTAMP_MICROS"],
    "spark.sql.sources.bucketing.enabled": ["true", "true", "false"],
    "spark.sql.legacy.bucketedTableScan.outputOrdering": ["true", "false"],
}


@dataclass
class Tally:
    """What a run saw. `pruned` and `exact` tell that the comparison was of something."""

    queries: int = 0
    failed: int = 0
    spared: int = 0
    files_kept: int = 0
    files_total: int = 0
    row_groups_kept: int = 0
    row_groups_total: int = 0  # of the scans for which they were looked at
    exact: int = 0
    implied: int = 0
    fallbacks: int = 0
    recorded: int = 0
    refused: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in what another run saw."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def __str__(self) -> str:
        return (
            f"{self.queries} queries, {len(self.differences)} differences; "
            f"{self.files_kept} of {self.files_total} files kept, {self.row_groups_kept} of "
            f"{self.row_groups_total} row groups, {self.exact} exact conjuncts, "
            f"{self.implied} plans with implied filters, {self.fallbacks} fallbacks, "
            f"{self.failed} queries failed on both sides, "
            f"{self.spared} without tamis alone, over a row of a file that it skips; rows "
            f"recorded of {self.recorded - self.refused} tables, refused of {self.refused}"
        )


def _rows(frame: DataFrame) -> list[str]:
    return sorted(repr(tuple(row)) for row in frame.collect())


def _shapes(rng: random.Random, table: RandomTable, other: RandomTable, condition: str) -> str:
    """A query around the predicate, which is over the first table."""
    column = rng.choice(table.leaves).sql
    second = f"a._row % 2 = {rng.randint(0, 1)}"
    return rng.choice(
        [
            f"SELECT _row FROM {table.name} WHERE {condition}",
            f"SELECT * FROM {table.name} WHERE {condition}",
            f"SELECT count(*), count({column}), min(_row), max(_row) FROM {table.name} WHERE {condition}",
            f"SELECT {column}, count(*) FROM {table.name} WHERE {condition} GROUP BY {column}",
            aggregate(rng, table, condition),
            f"SELECT x._row, y._row FROM (SELECT * FROM {table.name} WHERE {condition}) x "
            f"JOIN {table.name} y ON x._row = y._row + 1",
            f"WITH c AS (SELECT * FROM {table.name} WHERE {condition}) "
            f"SELECT a._row FROM c a JOIN c b ON a._row = b._row WHERE {second}",
            f"SELECT _row FROM {table.name} WHERE _row IN (SELECT _row FROM {table.name} WHERE {condition})",
            f"SELECT _row FROM {table.name} WHERE _row > (SELECT min(_row) FROM {table.name} WHERE {condition})",
            f"SELECT (SELECT sum(_row) FROM {table.name} WHERE {condition}), "
            f"(SELECT count({column}) FROM {table.name} WHERE {condition})",
            f"SELECT _row FROM {table.name} WHERE {condition} UNION ALL SELECT -_row FROM {table.name} WHERE NOT ({condition})",
            join_of(rng, table, rng.choice([table, other]), condition),
            join_of(rng, other, table, None, condition),
        ]
    )


def compare(spark: SparkSession, statement: str, tally: Tally) -> None:
    """Run the statement with tamis off and on, and note what differs."""
    answers: list[Any] = []
    for enabled in ("false", "true"):
        spark.conf.set("spark.tamis.enabled", enabled)
        try:
            frame = spark.sql(statement)
            answers.append(_rows(frame))
        except Exception as error:  # both sides may fail, in a task or in a broadcast
            answers.append(type(error))
            continue
        if enabled == "true":
            _count(spark, statement, frame, tally)
    tally.queries += 1
    off, on = answers
    if not isinstance(off, list):
        # Of `a AND f(x)` Spark may evaluate f(x) first, and f may raise where a is false.
        tally.spared += isinstance(on, list)
        tally.failed += not isinstance(on, list)
    elif off != on:
        tally.differences.append(f"{statement}\n  off: {_short(off)}\n  on:  {_short(on)}")


def compare_together(
    spark: SparkSession, table: RandomTable, conditions: list[str], tally: Tally, columns: str
) -> None:
    """The rows of each filter, in one statement; one by one if that fails or differs."""
    branches = [
        f"SELECT {number} AS filter, {columns} FROM {table.name} WHERE {condition}"
        for number, condition in enumerate(conditions)
    ]
    statement = " UNION ALL ".join(branches)
    trial = Tally()
    compare(spark, statement, trial)
    if trial.failed or trial.spared or trial.differences:
        for branch in branches:
            compare(spark, branch, tally)
        if trial.differences and not tally.differences:
            tally.differences += trial.differences
    else:
        trial.queries = len(branches)
        tally.add(trial)


def _count(spark: SparkSession, statement: str, frame: DataFrame, tally: Tally) -> None:
    plan = frame._jdf.queryExecution().executedPlan().toString()
    tally.implied += "Implied: [(" in plan or (
        " FileScan " in plan and _adds_filters(spark, statement)
    )
    for scan in json.loads(spark._jvm.io.tamis.Tamis.scans(frame._jdf)):
        tally.files_kept += scan["files_kept"]
        tally.files_total += scan["files_total"]
        if scan["row_groups_kept"] is not None and scan["row_groups_total"] is not None:
            tally.row_groups_kept += scan["row_groups_kept"]
            tally.row_groups_total += scan["row_groups_total"]
        tally.exact += sum(c["pushdown"] == "exact" for c in scan["conjuncts"])
        tally.fallbacks += scan["fallback"] is not None


def _adds_filters(spark: SparkSession, statement: str) -> bool:
    """Whether the optimized plan is another one with implied filters."""
    plans = []
    for enabled in ("false", "true"):
        spark.conf.set("spark.tamis.impliedFilters", enabled)
        plan = spark.sql(statement)._jdf.queryExecution().optimizedPlan().toString()
        plans.append(re.sub(r"#\d+", "", plan))
    return plans[0] != plans[1]


def _copy(rng: random.Random, spark: SparkSession, table: RandomTable) -> bool:
    """Put a copy of the table in its place that tamis does not scan, but adds filters to.

    A temporary view of the same name, which hides the table. Often it has an index of its own.
    """
    import tamis

    is_flat = all("BINARY" not in leaf.kind.sql and "." not in leaf.sql for leaf in table.leaves)
    file_format = rng.choice(["orc", "orc", "csv", "json"]) if is_flat else "orc"
    spark.conf.set("spark.sql.sources.useV1SourceList", rng.choice(["", "orc,csv,json"]))
    folder = str(table.path.with_name(f"{table.name}-{file_format}"))
    spark.conf.set("spark.tamis.enabled", "false")
    frame = spark.table(table.name)
    try:
        frame.write.format(file_format).mode("overwrite").save(folder)
    except Exception:  # not every format takes every name and type
        return False
    finally:
        spark.conf.set("spark.tamis.enabled", "true")
    reader = spark.read.format(file_format).schema(frame.schema)
    reader.load(folder).createOrReplaceTempView(table.name)
    if rng.random() < 0.7:
        # read by DataSource V2, or a value that does not parse
        with contextlib.suppress(tamis.TamisError):
            tamis.index(spark, folder, reader=reader).build()
    return True


def _bucket(rng: random.Random, spark: SparkSession, table: RandomTable) -> None:
    """Put a bucketed copy of the table in its place: Spark scans it, and tamis lists its files."""
    column = rng.choice([leaf.sql for leaf in table.leaves if "." not in leaf.sql] + ["_row"])
    plain = column.replace("`", "")
    if plain == table.partition or "." in plain:
        column = plain = "_row"
    folder = table.path.with_name(f"{table.name}-buckets")
    buckets = rng.choice([2, 3, 8])
    frame = spark.table(table.name).repartitionByRange(
        rng.randint(1, 5), rng.choice([column, "_row"])
    )
    writer = frame.write.bucketBy(buckets, plain).mode("overwrite").option("path", str(folder))
    is_sorted = rng.random() < 0.5
    if is_sorted:
        writer = writer.sortBy(plain)
    if table.partition:
        writer = writer.partitionBy(table.partition)
    writer.saveAsTable(f"{table.name}_made")
    spark.sql(f"DROP TABLE {table.name}_made")
    create(
        spark,
        replace(table, path=folder),
        f"CLUSTERED BY ({column}) {f'SORTED BY ({column})' if is_sorted else ''} "
        f"INTO {buckets} BUCKETS",
    )


def _short(answer: Any) -> str:
    return f"{len(answer)} rows: {answer[:5]}" if isinstance(answer, list) else str(answer)


EXPRESSIONS = {
    "STRING": ["upper({})", "soundex({})", "reverse({})", "length({}) % 3", "{} RLIKE 'b'"],
    "INT": ["{} % 7", "abs({}) % 5", "CAST({} AS STRING)"],
    "BIGINT": ["{} % 7", "hex({})"],
    "DATE": ["date_format({}, 'E')", "dayofweek({})"],
    "TIMESTAMP": ["hour({})", "date_format({}, 'E HH')"],
    "DOUBLE": ["signum({})", "{} * 2"],
}


def recorded(rng: random.Random, table: RandomTable) -> dict[str, Any]:
    """What an index records of the rows of a table, at random."""
    columns = {}
    expressions = []
    for leaf in table.leaves:
        if leaf.sql == "part":
            continue
        if rng.random() < 0.7:
            kinds = rng.sample(["bounds", "bloom", "values"], rng.randint(1, 3))
            columns[leaf.sql.replace("`", "")] = kinds
        # random predicates use this one themselves
        for text in ["hash({}) % 3", *EXPRESSIONS.get(leaf.kind.sql, [])]:
            if rng.random() < 0.4:
                expressions.append(text.replace("{}", leaf.sql))
    return {"columns": columns, "expressions": expressions}


def computed(rng: random.Random, table: RandomTable) -> str | None:
    """A predicate over an expression that an index may have recorded; None: the table has none."""
    found = [
        text.replace("{}", leaf.sql)
        for leaf in table.leaves
        for text in EXPRESSIONS.get(leaf.kind.sql, [])
    ]
    if not found:
        return None
    value = rng.choice(found)
    sample = (
        f"(SELECT max({value}) FROM {table.name} WHERE _row < {rng.randint(1, table.rows + 1)})"
    )
    constant = rng.choice(["'B'", "'A000'", "'0'", "'Mon'", "2", "0", "1"])
    return rng.choice(
        [
            f"TRY_CAST({value} AS STRING) = {constant}",
            f"CAST({value} AS STRING) IN ('1', '2', 'A', 'B', 'Sun')",
            f"{value} IS NULL",
            f"{value} <=> {sample}",
            f"{value} = {value} AND {value} IS NOT NULL",
        ]
    )


_PER_TABLE = QUERIES_PER_TABLE + TOGETHER * STATEMENTS_PER_TABLE


def _condition(rng: random.Random, table: RandomTable) -> str:
    condition = rng.choice([predicate, predicate, conjunction])(rng, table)
    of_expression = computed(rng, table)
    if of_expression is not None and rng.random() < 0.25:
        condition = rng.choice([of_expression, f"({of_expression}) AND ({condition})"])
    return condition


def _prepare(
    spark: SparkSession,
    rng: random.Random,
    table: RandomTable,
    tally: Tally,
    note: Callable[[str], None],
) -> bool:
    """Create the table, and mostly an index. True: in its place there is a copy without one."""
    import tamis

    create(spark, table)
    copied = rng.random() < 0.35 and _copy(rng, spark, table)
    if not copied and rng.random() < 0.3:
        _bucket(rng, spark, table)
    if not copied and rng.random() < 0.9:
        asked = recorded(rng, table) if rng.random() < 0.5 else {}
        try:
            tamis.index(spark, table.name).build(**asked)
        except tamis.TamisError as problem:  # an expression that raises, a calendar that is old
            note(f"{table.name} is indexed from footers alone: {problem}")
            tally.refused += 1
            tamis.index(spark, table.name).build()
        tally.recorded += bool(asked)
    return copied


def run(
    spark: SparkSession,
    folder: Path,
    seed: int,
    count: int,
    report: Callable[[str], None] = lambda text: None,
) -> Tally:
    """Compare `count` queries over random tables. The same seed makes the same tables and queries."""
    tally = Tally()
    for number in range(-(-count // _PER_TABLE)):
        rng = random.Random(f"{seed}/{number}")
        table, other = (write(rng, folder / name, name) for name in (f"t{number}", f"u{number}"))
        for key, values in _CONFS.items():
            spark.conf.set(key, rng.choice(values))
        copied = [each.name for each in (table, other) if _prepare(spark, rng, each, tally, report)]
        columns = "_row"
        if table.name not in copied and rng.random() < 0.2:
            columns = "_row, _metadata.file_name, _metadata.row_index"
        before = len(tally.differences)
        stop = tally.queries + min(_PER_TABLE, count - tally.queries)
        for _ in range(min(QUERIES_PER_TABLE, stop - tally.queries)):
            condition = _condition(rng, table)
            if columns != "_row" and rng.random() < 0.4:
                statement = f"SELECT {columns} FROM {table.name} WHERE {condition}"
                compare(spark, statement, tally)
            elif not limits.compared(spark, rng, table, condition, tally, compare):
                compare(spark, _shapes(rng, table, other, condition), tally)
        while tally.queries < stop:
            conditions = [
                _condition(rng, table) for _ in range(min(TOGETHER, stop - tally.queries))
            ]
            compare_together(spark, table, conditions, tally, columns)
        for difference in tally.differences[before:]:
            tables = " and ".join(f"{t.name} ({t.ddl}) in {t.path}" for t in (table, other))
            report(f"seed {seed}, table {number}: {tables}\n{difference}")
        for name in copied:
            spark.catalog.dropTempView(name)
        for each in (table, other):
            spark.sql(f"DROP TABLE {each.name}")
        if number % 10 == 9:
            report(str(tally))
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--folder", type=Path, help="keep the tables here")
    parser.add_argument("--conf", action="append", default=[], help="key=value, of the session")
    arguments = parser.parse_args()

    from pyspark.sql import SparkSession

    import tamis

    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.shuffle.partitions", "2")
        builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        for pair in arguments.conf:
            builder = builder.config(*pair.split("=", 1))
        spark = tamis.configure(builder).getOrCreate()
        tally = run(
            spark, folder, arguments.seed, arguments.count, lambda text: print(text, flush=True)
        )
        spark.stop()
    print(tally)
    return 1 if tally.differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
