"""Random changes of Delta tables with column mapping, with an index that is built now and then.

    python tests/formats/random_mapped_tables.py --seed 7 --count 200

After each change, queries must return the rows that they return without tamis.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "python")]

import tamis
from tests.differential.queries import confs_of_formats, session
from tests.formats.tables import united
from tests.launch.statements import OFF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Names that columns exchange, and their types: one of each.
_NAMES: Final = ("a", "b", "A b", "a.b", "x`y", "key")
_FIELDS: Final = ("u", "v", "U v")
_CHANGES_PER_TABLE: Final = 10
_QUERIES: Final = 8


@dataclass
class Tally:
    """The counts of a run."""

    queries: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    files_kept: int = 0
    files_total: int = 0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.queries} queries, {len(self.differences)} differences; {self.files_kept} of "
            f"{self.files_total} files kept; changes: {dict(self.changes)}; errors: "
            f"{dict(self.errors)}"
        )


@dataclass
class _Table:
    """A table with numbers in its columns and in the fields of the struct `s`."""

    name: str
    columns: list[str]
    fields: list[str]
    part: str | None
    rows: int = 0

    def numbers(self) -> list[str]:
        """Return the columns and fields as SQL, without that of partitions."""
        columns = [_quoted(each) for each in self.columns if each != self.part]
        return [*columns, *(f"s.{_quoted(each)}" for each in self.fields)]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _created(spark: SparkSession, rng: random.Random, name: str) -> _Table:
    columns = rng.sample(_NAMES, 3)
    part = rng.choice([None, None, columns[-1]])
    mode = rng.choice(["name", "name", "id", "none"])
    if mode == "none":  # turned on later
        columns, part = ["a", "b", "key"], None
    table = _Table(name, columns, ["u", "v"], part)
    clause = "" if part is None else f"PARTITIONED BY ({_quoted(part)})"
    vectors = rng.choice(["true", "false"])
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    declared = ", ".join(f"{_quoted(each)} BIGINT" for each in columns)
    spark.sql(
        f"CREATE TABLE {name} ({declared}, s STRUCT<u: BIGINT, v: BIGINT>) USING delta {clause} "
        f"TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}', "
        f"'delta.enableDeletionVectors' = '{vectors}')"
    )
    _insert(spark, rng, table)
    if mode == "none":
        if rng.random() < 0.7:
            _index(spark, rng, table)
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    return table


def _value(rng: random.Random) -> str:
    """Return SQL of one of several kinds of numbers, which differ in their ranges."""
    return rng.choice(
        [
            "id",
            "id * 7919 % 1000",
            "id * 7919 % 1000 + 3000",
            "id div 50",
            "IF(id % 7 = 3, NULL, 5000 - id)",
        ]
    )


def _insert(spark: SparkSession, rng: random.Random, table: _Table) -> None:
    files = rng.choice([1, 3])
    values = [
        f"{'id % 2' if each == table.part else _value(rng)} {_quoted(each)}"
        for each in table.columns
    ]
    inside = ", ".join(f"'{each}', {_value(rng)}" for each in table.fields)
    values.append(f"IF(id % 11 = 5, NULL, named_struct({inside})) s")
    spark.sql(
        f"INSERT INTO {table.name} BY NAME SELECT /*+ REPARTITION_BY_RANGE({files}, id) */ "
        f"{', '.join(values)} FROM range({table.rows}, {table.rows + 100})"
    )
    table.rows += 100


def _index(spark: SparkSession, rng: random.Random, table: _Table) -> None:
    index = tamis.index(spark, table.name)
    method = rng.choice(["build", "build", "refresh", "refresh", "add", "describe", "drop"])
    if method in ("refresh", "describe", "drop"):
        if method != "describe":
            getattr(index, method)()
        return
    numbers = table.numbers()
    leaves = [each for each in numbers if "`" not in each.strip("`") and "``" not in each]
    columns = {
        each.replace("`", ""): rng.choice(["values", "bloom", "bounds", ["values", "bloom"]])
        for each in rng.sample(leaves, min(len(leaves), 2))
    }
    expressions = [f"{each} % 10" for each in rng.sample(numbers, 2)]
    by = rng.choice([[], [each.strip("`") for each in numbers if each == "`key`"]])
    aggregates = [f"sum({numbers[0]})", f"max({numbers[-1]})", "count(*)"] if by else None
    getattr(index, method)(
        columns=columns, expressions=expressions, aggregates=aggregates, by=by if by else ()
    )


def _changed(spark: SparkSession, rng: random.Random, table: _Table) -> str:
    """Change the table or its index; return what was done."""
    name = table.name
    what = rng.choice(
        [
            "rename",
            "rename",
            "swap",
            "again",
            "field",
            "insert",
            "delete",
            "index",
            "index",
            "index",
        ]
    )
    plain = [each for each in table.columns if each != table.part]
    match what:
        case "rename":
            old = rng.choice(table.columns)
            new = rng.choice(_NAMES)
            if new.lower() not in {each.lower() for each in table.columns}:
                spark.sql(f"ALTER TABLE {name} RENAME COLUMN {_quoted(old)} TO {_quoted(new)}")
                table.columns[table.columns.index(old)] = new
                table.part = new if table.part == old else table.part
        case "swap":
            one, other = rng.sample(table.columns, 2)
            for old, new in ((one, "between"), (other, one), ("between", other)):
                spark.sql(f"ALTER TABLE {name} RENAME COLUMN {_quoted(old)} TO {_quoted(new)}")
            names = {one: other, other: one}
            table.columns = [names.get(each, each) for each in table.columns]
            table.part = None if table.part is None else names.get(table.part, table.part)
        case "again" if len(plain) > 1:
            old = rng.choice(plain)
            spark.sql(f"ALTER TABLE {name} DROP COLUMN {_quoted(old)}")
            spark.sql(f"ALTER TABLE {name} ADD COLUMN {_quoted(old)} BIGINT")
        case "field":
            old = rng.choice(table.fields)
            new = rng.choice(_FIELDS)
            if new.lower() not in {each.lower() for each in table.fields}:
                path = f"s.{_quoted(old)}"
                spark.sql(f"ALTER TABLE {name} RENAME COLUMN {path} TO {_quoted(new)}")
                table.fields[table.fields.index(old)] = new
        case "insert":
            _insert(spark, rng, table)
        case "delete":
            column = rng.choice(table.numbers())
            spark.sql(f"DELETE FROM {name} WHERE {column} % 10 = {rng.randrange(10)}")
        case "index":
            _index(spark, rng, table)
    return what


def _query(rng: random.Random, table: _Table) -> str:
    columns = table.numbers()
    one, other = rng.choice(columns), rng.choice(columns)
    version = rng.choice(["", "", "", " VERSION AS OF 1"])
    value = rng.choice([rng.randrange(1000), rng.randrange(3000, 4000), rng.randrange(20), 750])
    where = rng.choice(
        [
            f"{one} = {value}",
            f"{one} IN ({value}, {value + 1})",
            f"{one} > {value}",
            f"{one} % 10 = {value % 10}",
            f"NOT ({one} % 10 = {value % 10})",
            f"{one} IS NULL",
            f"{one} IS NOT NULL AND {other} < {value}",
            f"{one} + 0 <= {value} OR {other} = {value}",
        ]
    )
    result = rng.choice(
        [
            "*",
            f"count(*) n, min({one}), max({one}), sum({other})",
            f"count({one}), max({columns[-1]}), sum({columns[0]})",
        ]
    )
    if version:  # with its own names
        return f"SELECT count(*) n FROM {{t}}{version} WHERE a + 0 >= 0 OR key = {value}"
    return f"SELECT {result} FROM {{t}} WHERE {where}"


def run(spark: SparkSession, folder: Path, seed: int, count: int) -> Tally:
    """Compare at least this many queries.

    Args:
        spark: The session.
        folder: A directory of the run.
        seed: The seed.
        count: The number of queries.
    """
    tally = Tally()
    plain = spark.newSession()
    for key, value in OFF.items():
        plain.conf.set(key, value)
    spark.conf.set("spark.tamis.evaluateValues.enabled", "false")
    spark.conf.set("spark.tamis.index.location", f"file:{folder}/indexes")
    shim = spark._jvm.io.tamis.Tamis  # type: ignore[union-attr]
    number = 0
    while tally.queries < count:
        rng = random.Random(f"{seed} {number}")
        table = _created(spark, rng, f"random_mapped_{number}")
        number += 1
        _index(spark, rng, table)
        done: list[str] = []
        for _ in range(_CHANGES_PER_TABLE):
            try:
                done.append(_changed(spark, rng, table))
                tally.changes[done[-1]] += 1
            except tamis.TamisError as problem:  # such as an index that is missing
                tally.errors[f"{type(problem).__name__}: {problem}"[:60]] += 1
            queries = [_query(rng, table) for _ in range(_QUERIES)]
            usable = [each for each in queries if _is_valid(plain, each.replace("{t}", table.name))]
            tally.queries += len(usable)
            text = united(usable, table.name)
            frame = spark.sql(text)
            for scan in _scans(shim, frame):
                tally.files_kept += scan["files_kept"] or 0
                tally.files_total += scan["files_total"] or 0
            found = sorted(map(str, frame.collect()))
            expected = sorted(map(str, plain.sql(text).collect()))
            if found != expected:
                wrong = sorted({*found} ^ {*expected})[:3]
                tally.differences.append(f"seed {seed} {number - 1}: {done}: {usable}: {wrong}")
                break
        spark.sql(f"DROP TABLE {table.name}")
    return tally


def _is_valid(plain: SparkSession, query: str) -> bool:
    """Return whether the version of a query has its columns."""
    from pyspark.errors import AnalysisException

    try:
        plain.sql(query)
    except AnalysisException:
        return False
    return True


def _scans(shim: object, frame: object) -> list[dict[str, int | None]]:
    found: list[dict[str, int | None]] = json.loads(shim.scans(frame._jdf))  # type: ignore[attr-defined]
    return found


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spark = session(folder, "local[2]", confs_of_formats(folder))
        tally = run(spark, folder, arguments.seed, arguments.count)
        spark.stop()
    print(tally, *tally.differences, sep="\n")
    return 1 if tally.differences or tally.files_kept == tally.files_total else 0


if __name__ == "__main__":
    raise SystemExit(main())
