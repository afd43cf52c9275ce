"""The same rows in the same files as Parquet, Iceberg and Delta get the same verdicts.

    python tests/formats/same_data.py --seed 7 --count 2000

Each predicate must return from all three the rows that plain Spark returns from Parquet. It must keep
the same files, too, unless a format records less about a column of that file than others:
`_knows_less` has the complete list.
"""

from __future__ import annotations

import argparse
import datetime
import math
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "python")]

import pyarrow as pa

import tamis
from tests.differential.queries import confs_of_formats, session
from tests.differential.random_predicates import conjunction, edge_predicate, predicate
from tests.differential.random_tables import Leaf, RandomTable, make
from tests.differential.random_values import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("parquet", "iceberg", "delta")
PREDICATES_PER_TABLE = 25
#: Characters that Delta refuses in names, unless it maps columns.
_REFUSED = set(" ,;{}()\n\t=")


#: Characters that Delta or another writer appends to what it cuts.
_MARKS = ("\ufffd", "\U0010ffff")
#: Predicates for which NULLs matter, other than that they are not TRUE.
_OF_NULLS = re.compile(
    r"NULL|<=>|coalesce|nvl|nullif|\bif\(|hash|CASE|concat_ws|isnan", re.IGNORECASE
)


def _knows_less(
    table_format: str, leaf: Leaf, values: Sequence[Any], where: str, *, deleted: bool
) -> bool:
    """Return whether tamis knows less than the bounds and NULLs of a column in a file.

    ======== =============== ====================================================================
    Parquet  FLOAT, DOUBLE   there is no bound beside NaN
    Iceberg  FLOAT, DOUBLE   NaN is not in the bounds
    Iceberg  STRING          bounds are cut to 16 characters; the number of NULLs is not trusted
    Iceberg  BINARY          bounds are not used; the number of NULLs is not trusted
    Iceberg  TIMESTAMP       a bound near 1970 may be in milliseconds; the greatest value may have
                             been cut to a millisecond
    Iceberg  fields          the number of NULLs is not trusted
    Delta    FLOAT, DOUBLE   some writers leave NaN out of the bounds
    Delta    STRING          bounds are cut to 32 characters, and some characters mark that
    Delta    BINARY, BOOLEAN there are no bounds
    Delta    TIMESTAMP       bounds are cut to milliseconds, before 1973 to minutes
    Delta    DATE            bounds before 1582 may be of another calendar
    Delta    DECIMAL         bounds of over 15 digits may be doubles
    Delta    with NULLs      their number is that of the rows before some were deleted
    ======== =============== ====================================================================

    Args:
        table_format: One of `FORMATS`.
        leaf: The column.
        values: All its values in the file.
        where: The predicate.
        deleted: Whether the table of Delta has deletion vectors.
    """
    present = [value for value in values if value is not None]
    kind = leaf.kind.sql.partition("(")[0]
    if kind in ("FLOAT", "DOUBLE") and (table_format == "delta" or any(map(math.isnan, present))):
        return True
    if table_format == "iceberg":
        if _OF_NULLS.search(where) and (kind in ("STRING", "BINARY") or "." in leaf.sql):
            return True
        if kind.startswith("TIMESTAMP"):
            edges = [min(present), max(present)] if present else []
            return any(abs(edge) < 10**13 or edge % 1000 == 0 for edge in edges)
        return kind == "BINARY" or (kind == "STRING" and any(len(value) > 16 for value in present))
    if table_format == "delta":
        if deleted and 0 < len(present) < len(values):
            return True
        if kind == "STRING":
            return any(len(each.encode()) >= 32 or each[-1:] in _MARKS for each in present)
        if kind == "DATE":
            return any(each < datetime.date(1582, 10, 15) for each in present)
        if kind == "DECIMAL":
            return any(abs(each.scaleb(leaf.kind.arrow.scale)) >= 10**15 for each in present)
        return kind in ("BOOLEAN", "BINARY") or kind.startswith("TIMESTAMP")
    return False


@dataclass
class Tally:
    """The counts of a run. `pruned` shows that the comparison was not trivial."""

    predicates: int = 0
    failed: int = 0
    rows: int = 0
    files: int = 0
    kept: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FORMATS, 0))
    excused: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FORMATS, 0))
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.predicates} predicates, {len(self.differences)} differences; {self.rows} rows, "
            f"{self.failed} failed in plain Spark; of {self.files} files, kept: {self.kept}, among "
            f"them because the format records less: {self.excused}"
        )


@dataclass(frozen=True)
class _Copies:
    """A table in three formats.

    Attributes:
        table: The table. File `n` of each copy has the rows of its file `n`.
        names: The name of each copy in the catalog.
        files: For each copy, the number of the file by its name.
        deleted: Whether every row of the copy in Delta was written twice, and one of the two was
            deleted since: the bounds of files stay the same.
    """

    table: RandomTable
    names: dict[str, str]
    files: dict[str, dict[str, int]]
    deleted: bool

    def file_of(self, row: int) -> int:
        """Return the number of the file that has a row."""
        for number, file in enumerate(self.table.files):
            if row in file.data["_row"].to_pylist():
                return number
        raise ValueError(f"no file of the table has row {row}")

    def rows_with_nan(self, leaves: Sequence[Leaf]) -> set[int]:
        """Return the rows in which one of these columns is NaN."""
        return {
            row
            for leaf in leaves
            if leaf.kind.sql in ("FLOAT", "DOUBLE")
            for number, file in enumerate(self.table.files)
            for row, value in zip(
                file.data["_row"].to_pylist(), self.values(leaf, number), strict=False
            )
            if value is not None and math.isnan(value)
        }

    def values(self, leaf: Leaf, number: int) -> list[Any]:
        """Return the values of a column in a file."""
        data = self.table.files[number].data
        for part in leaf.sql.strip("`").split("`.`"):
            if part not in data.column_names:
                return []
            column = data[part]
            if pa.types.is_struct(column.type):
                data = pa.Table.from_batches(
                    pa.RecordBatch.from_struct_array(chunk) for chunk in column.chunks
                )
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        return list(column.to_pylist())


def _with_long_texts(rng: random.Random, table: RandomTable) -> RandomTable:
    """Add a column of strings that formats cut, and remove files without rows."""
    beginning = "x" * rng.choice([0, 12, 28])

    def text(row: int) -> str:
        return f"{beginning}{row:05d}{'y' * 20}"

    files = []
    edges: list[str] = []
    for file in table.files:
        rows = file.data["_row"].to_pylist()
        if rows:
            texts = pa.array([text(row) for row in rows], pa.string())
            files.append(replace(file, data=file.data.append_column("long", texts)))
            edges += [text(rows[0]), text(rows[-1])]
    kind = Kind("STRING", pa.string(), lambda r, at: text(int(at * table.rows)))
    leaf = Leaf("`long`", kind, tuple(edges), tuple(edges))
    # Iceberg has no smaller integers than INT
    columns = [(n, "INT" if t in ("TINYINT", "SMALLINT") else t) for n, t in table.columns]
    columns = [
        (n, t.replace(": TINYINT", ": INT").replace(": SMALLINT", ": INT")) for n, t in columns
    ]
    return replace(
        table,
        columns=(("_row", "BIGINT"), ("`long`", "STRING"), *columns[1:]),
        leaves=(*table.leaves, leaf),
        files=tuple(files),
    )


def _copied(spark: SparkSession, folder: Path, table: RandomTable) -> _Copies:
    """Write the table in each format, each of its files by a task of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "source"
    for file in table.files:
        file.write(source)
    reader = spark.read.schema(table.ddl).option("basePath", str(source))
    parts = [reader.parquet(str(source / file.path)).coalesce(1) for file in table.files]
    rows = reduce(lambda above, below: above.unionAll(below), parts)
    by = [table.partition] if table.partition else []
    names = {
        "parquet": f"{table.name}_parquet",
        "iceberg": f"ice.db.{table.name}",
        "delta": f"{table.name}_delta",
    }
    for name in names.values():
        spark.sql(f"DROP TABLE IF EXISTS {name}")
    path = folder / "parquet"
    rows.write.partitionBy(*by).parquet(str(path))
    partitioned = f"PARTITIONED BY ({table.partition})" if by else ""
    spark.sql(
        f"CREATE TABLE {names['parquet']} ({table.ddl}) USING parquet {partitioned} LOCATION '{path}'"
    )
    if by:
        spark.sql(f"MSCK REPAIR TABLE {names['parquet']}")
    tamis.index(spark, names["parquet"]).build()
    rng = random.Random(table.name)
    deleted = rng.random() < 0.5
    delta = f"TBLPROPERTIES ('delta.columnMapping.mode' = '{_mapping(rng, table)}')"
    iceberg = (
        "TBLPROPERTIES ('write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true')"
    )
    for kind, properties in (("delta", delta), ("iceberg", iceberg)):
        name, written, columns = names[kind], rows, table.ddl
        if kind == "delta" and deleted:
            written = rows.selectExpr("*", "explode(array(false, true)) AS _again")
            columns += ", _again BOOLEAN"
            properties = properties[:-1] + ", 'delta.enableDeletionVectors' = 'true')"
        spark.sql(f"CREATE TABLE {name} ({columns}) USING {kind} {partitioned} {properties}")
        written.writeTo(name).append()
    if deleted:
        spark.sql(f"DELETE FROM {names['delta']} WHERE _again")
    files = {kind: _files(spark, name) for kind, name in names.items()}
    assert {len(each) for each in files.values()} == {len(table.files)}
    return _Copies(table, names, files, deleted)


def _mapping(rng: random.Random, table: RandomTable) -> str:
    plain = all(not _REFUSED & set(leaf.sql) for leaf in table.leaves)
    return rng.choice(["none", "none", "name", "id"] if plain else ["name", "id"])


def _files(spark: SparkSession, name: str) -> dict[str, int]:
    """Return the place of each file in the order of its rows, by the name of the file."""
    found = spark.sql(f"SELECT input_file_name(), min(_row) FROM {name} GROUP BY 1 ORDER BY 2")
    return {_base(path): number for number, (path, _) in enumerate(found.collect())}


def _base(path: str) -> str:
    return unquote(path).rpartition("/")[2]


def _session(spark: SparkSession, rng: random.Random) -> SparkSession:
    """Set confs in the session. Return one with the same confs, but without tamis."""
    plain = spark.newSession()
    confs = {
        "spark.sql.session.timeZone": rng.choice(["UTC", "America/New_York", "Asia/Kolkata"]),
        "spark.sql.ansi.enabled": rng.choice(["true", "false", "false"]),
        "spark.sql.parquet.enableVectorizedReader": rng.choice(["true", "false"]),
        "spark.sql.unionOutputPartitioning": "false",  # else all files are written as one
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # INT96 has no bounds
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.tamis.index.auto": "off",
    }
    for each in (spark, plain):
        for key, value in confs.items():
            each.conf.set(key, value)
    plain.conf.set("spark.tamis.enabled", "false")
    return plain


def _rows(frame: DataFrame) -> list[int]:
    return sorted(row[0] for row in frame.collect())


@dataclass(frozen=True)
class _Comparison:
    """A predicate over the three copies of a table."""

    spark: SparkSession
    plain: SparkSession
    copies: _Copies
    tally: Tally

    def compare(self, where: str) -> Iterator[str]:
        """Yield each difference."""
        self.tally.predicates += 1
        queries = {
            kind: f"SELECT _row FROM {n} WHERE {where}" for kind, n in self.copies.names.items()
        }
        try:
            expected = _rows(self.plain.sql(queries["parquet"]))
        except Exception:  # overflows and casts in ANSI mode
            self.tally.failed += 1
            return
        frames, found = {}, {}
        for kind, query in queries.items():
            try:
                frames[kind] = self.spark.sql(query)
                found[kind] = _rows(frames[kind])
            except Exception:  # one of a row that plain Spark does not read in Parquet's files
                if self._succeeds_without(query):
                    raise
                self.tally.failed += 1
                return
        leaves = [leaf for leaf in self.copies.table.leaves if leaf.sql in where]
        # Iceberg's own scan takes NaN for less than the bounds of a file or a row group.
        uncertain = {"iceberg": self.copies.rows_with_nan(leaves)}
        for kind in FORMATS:
            if set(found[kind]) ^ set(expected) <= uncertain.get(kind, set()):
                continue
            without = _rows(self.plain.sql(queries[kind]))
            yield f"rows of {kind}: {found[kind]}, without tamis: {without}, of Parquet: {expected}"
        self.tally.rows += len(expected)
        yield from self._compare_files(where, leaves, expected, frames)

    def _succeeds_without(self, query: str) -> bool:
        try:
            self.plain.sql(query).collect()
        except Exception:
            return False
        return True

    def _compare_files(
        self, where: str, leaves: list[Leaf], rows: list[int], frames: dict[str, DataFrame]
    ) -> Iterator[str]:
        kept = {kind: self._kept(kind, frame) for kind, frame in frames.items()}
        by_all = set.intersection(*kept.values())
        if missing := {self.copies.file_of(row) for row in rows} - by_all:
            yield f"files {missing} have rows, but are not kept: {kept}"
        self.tally.files += len(self.copies.table.files)
        for kind, files in kept.items():
            self.tally.kept[kind] += len(files)
            for number in sorted(files - by_all):
                values = {leaf.sql: self.copies.values(leaf, number) for leaf in leaves}
                deleted = self.copies.deleted
                if any(
                    _knows_less(kind, leaf, values[leaf.sql], where, deleted=deleted)
                    for leaf in leaves
                ):
                    self.tally.excused[kind] += 1
                else:
                    yield f"{kind} keeps file {number}, others do not: {kept}\n{values}"

    def _kept(self, kind: str, frame: DataFrame) -> set[int]:
        return {self.copies.files[kind][_base(path)] for path in frame.inputFiles()}


def run(spark: SparkSession, folder: Path, seed: int, count: int, first: int = 0) -> Tally:
    """Compare predicates. The same seed makes the same tables and predicates.

    Args:
        spark: A session with tamis, Delta and Iceberg.
        folder: The folder of the tables.
        seed: The seed of tables and predicates.
        count: How many predicates.
        first: The number of the first table, to start in the middle of a run.

    Returns:
        The counts and differences of the run.
    """
    tally = Tally()
    number = first
    while tally.predicates < count:
        rng = random.Random(f"{seed}/{number}")
        table = _with_long_texts(rng, make(rng, f"same{number}"))
        plain = _session(spark, rng)
        number += 1
        if not table.files:
            continue
        copies = _copied(spark, folder / table.name, table)
        comparison = _Comparison(spark, plain, copies, tally)
        for _ in range(min(PREDICATES_PER_TABLE, count - tally.predicates)):
            where = rng.choice([predicate, conjunction, edge_predicate, edge_predicate])(rng, table)
            for difference in comparison.compare(where):
                text = f"seed {seed}, table {number - 1} ({table.ddl}), {where}\n{difference}"
                print(text, flush=True)
                tally.differences.append(text)
        for name in copies.names.values():
            spark.sql(f"DROP TABLE {name}")
        shutil.rmtree(folder / table.name)
    return tally


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spark = session(folder, "local[2]", confs_of_formats(folder))
        tally = run(spark, folder / "tables", arguments.seed, arguments.count, arguments.first)
        spark.stop()
    print(tally)
    trivial = not tally.rows or any(kept == tally.files for kept in tally.kept.values())
    return 1 if tally.differences or trivial else 0


if __name__ == "__main__":
    raise SystemExit(main())
