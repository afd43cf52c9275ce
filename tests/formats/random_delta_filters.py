"""Random filters over random Delta tables, whose files tamis chooses before Delta does.

A query opens no file that Delta alone leaves out, and returns the same rows. For longer than a test:
`python -m tests.formats.random_delta_filters --seed 7 --count 500`, which prints a line for every 80
filters, with the seed of their tables.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import string
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from tests.formats.in_session import planned_frame

__all__ = ["run"]

_FILES: Final = 8
_ROWS: Final = 30  # of a file
_FILTERS: Final = 80  # of a seed

_SCHEMA: Final = (
    "id BIGINT, i INT, x DOUBLE, f FLOAT, dec DECIMAL(12,2), wide DECIMAL(25,5), s STRING, "
    "long STRING, hash STRING, d DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, b BOOLEAN, y BINARY, "
    "c CHAR(5), v VARCHAR(8), p STRUCT<a: INT, q: STRUCT<z: STRING>>, item STRING, g INT, "
    "part DATE"
)

#: Clauses of CREATE TABLE, and what happens to the table after its first rows.
_TABLES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "plain": ("", ()),
    "listed": ("", ()),
    "clustered": ("CLUSTER BY (i)", ()),
    "partitioned": ("PARTITIONED BY (g)", ()),
    "dates": ("PARTITIONED BY (part)", ()),
    "vectors": (
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        ("DELETE FROM {t} WHERE id % 5 = 0", "DELETE FROM {t} WHERE i IS NULL"),
    ),
    "named": (
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        (
            "ALTER TABLE {t} RENAME COLUMN s TO other",
            "ALTER TABLE {t} RENAME COLUMN long TO s",
            "ALTER TABLE {t} RENAME COLUMN other TO long",
        ),
    ),
    "some statistics": (
        "TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '6')",
        ("ALTER TABLE {t} SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '32')",),
    ),
}


class _Rows:
    """Random rows. Most of their columns grow with the number of the file."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._dates = {file: self._date(file) for file in range(3)}

    def of_file(self, file: int) -> list[list[Any]]:
        null = {column: self._rng.choice((0, 0, 0.2, 1)) for column in range(20)}
        same = self._row(file, 0)
        equal = {column for column in range(20) if self._rng.random() < 0.15}
        rows = []
        for number in range(_ROWS):
            row = self._row(file, number)
            for column in range(1, 20):
                if column in equal:
                    row[column] = same[column]
                elif self._rng.random() < null[column] and column not in (18, 19):
                    row[column] = None
            rows.append(row)
        return rows

    def _row(self, file: int, number: int) -> list[Any]:
        rng, k = self._rng, file * _ROWS + number
        text = "".join(rng.choices("ab é😀\ufffdz", k=rng.randrange(4)))
        moment = datetime(1960, 1, 1, tzinfo=UTC) + timedelta(days=700 * k, microseconds=k * 37)
        if file % 4 == 3:
            moment = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(hours=number, microseconds=number)
        return [
            k,
            k // 2 - 20,
            float("nan") if rng.random() < 0.05 and file % 3 == 0 else k / 4,
            float("inf") if rng.random() < 0.02 else k / 8 + 0.1,
            Decimal(k * 7).scaleb(-2),
            Decimal(10**17 + 1000 * k).scaleb(-5) if file % 2 else Decimal(k).scaleb(-5),
            f"{'abcdefgh'[file]}{number:02d}{text}",
            f"https://example.com/{'x' * rng.choice((0, 8, 20))}/{k:04d}{text}",
            f"{k // 3:032x}",
            self._date(file) + timedelta(days=number),
            moment,
            moment.replace(tzinfo=None),
            rng.random() < 0.5,
            bytes([k % 256]),
            rng.choice("pqr") * rng.randrange(1, 5),
            f"v{k // 9}",
            None if rng.random() < 0.1 else [None if rng.random() < 0.1 else k, [f"z{file}"]],
            f"item {k // 10}",
            None if file == 5 else file // 2,
            date(2024, 1, 1 + file // 2),
        ]

    def _date(self, file: int) -> date:
        first = {0: date(1, 1, 1), 1: date(1582, 10, 1), 2: date(1969, 12, 20)}
        return first.get(file, date(2020, 1, 1) + timedelta(days=20 * file))


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, float):
        return f"DOUBLE('{value}')"
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, datetime):
        kind = "TIMESTAMP" if value.tzinfo else "TIMESTAMP_NTZ"
        return f"{kind}'{value:%Y-%m-%d %H:%M:%S.%f}'"
    if isinstance(value, date):
        return f"DATE'{value.isoformat()}'"
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


class _Filters:
    """Random filters whose constants are values of the rows, or beside them."""

    def __init__(self, rng: random.Random, rows: Sequence[list[Any]], names: list[str]) -> None:
        self._rng = rng
        self._rows = rows
        self._names = [name for name in names if name in _COLUMNS] or list(_COLUMNS)

    def next(self, depth: int = 2) -> str:
        kind = self._rng.random()
        if depth and kind < 0.2:
            return f"({self.next(depth - 1)} AND {self.next(depth - 1)})"
        if depth and kind < 0.4:
            return f"({self.next(depth - 1)} OR {self.next(depth - 1)})"
        if depth and kind < 0.5:
            return f"(NOT {self.next(depth - 1)})"
        if depth and kind < 0.55:
            return f"(({self.next(depth - 1)}) IS NULL)"
        return self._leaf()

    def _leaf(self) -> str:
        rng = self._rng
        name = rng.choice(self._names)
        value = self._value(name)
        forms: list[Callable[[], str]] = [
            lambda: f"{name} {rng.choice(_OPERATORS)} {_literal(value)}",
            lambda: f"{_literal(value)} {rng.choice(_OPERATORS)} {name}",
            lambda: f"{name} IN ({', '.join(_literal(self._value(name)) for _ in range(3))})",
            lambda: f"{name} IN ({', '.join(_literal(self._value(name)) for _ in range(15))})",
            lambda: f"{name} BETWEEN {_literal(value)} AND {_literal(self._value(name))}",
            lambda: f"{name} IS NULL",
            lambda: f"{name} IS NOT NULL",
        ]
        if isinstance(value, str):
            start = value[: rng.randrange(1, len(value) + 1)].replace("%", "")
            forms += [
                lambda: f"{name} LIKE {_literal(start + '%')}",
                lambda: f"startswith({name}, {_literal(value)})",
                lambda: f"upper({name}) = upper({_literal(value)})",
                lambda: f"substring({name}, 1, 3) = {_literal(value[:3])}",
            ]
        elif isinstance(value, datetime):
            forms += [
                lambda: f"CAST({name} AS DATE) = DATE'{value:%Y-%m-%d}'",
                lambda: f"year({name}) <= {value.year}",
            ]
        elif isinstance(value, date):
            forms += [lambda: f"month({name}) = {value.month}"]
        elif isinstance(value, int) and not isinstance(value, bool):
            forms += [
                lambda: f"{name} + 1 > {value}",
                lambda: f"{name} % 7 = {value % 7}",
                lambda: f"CAST({name} AS STRING) = '{value}'",
            ]
        return f"({rng.choice(forms)()})"

    def _value(self, name: str) -> Any:
        value = _COLUMNS[name](self._rng.choice(self._rows))
        if value is None:
            return _COLUMNS[name](self._rows[0]) or _DEFAULTS.get(name, "b")
        if self._rng.random() < 0.7:
            return value
        if isinstance(value, str):
            return value[:-1] if self._rng.random() < 0.5 and value[1:] else value + "a"
        if isinstance(value, bool | bytes | float):
            return value
        if isinstance(value, datetime):
            return value + timedelta(microseconds=self._rng.choice((-1000, -1, 1, 1000)))
        if isinstance(value, date):
            return value + timedelta(days=self._rng.choice((-1, 1))) if value.year > 1 else value
        return value + self._rng.choice((-1, 1))


_OPERATORS: Final = ("=", "<>", "<", "<=", ">", ">=", "<=>")
_NAMES: Final = [
    "id",
    "i",
    "x",
    "f",
    "dec",
    "wide",
    "s",
    "long",
    "hash",
    "d",
    "ts",
    "n",
    "b",
    "y",
    "c",
    "v",
    "p",
    "item",
    "g",
    "part",
]
_COLUMNS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    **{
        name: (lambda row, at=at: row[at])  # type: ignore[misc]
        for at, name in enumerate(_NAMES)
        if name != "p"
    },
    "p.a": lambda row: row[16] and row[16][0],
    "p.q.z": lambda row: row[16] and row[16][1][0],
}
_DEFAULTS: Final[dict[str, Any]] = {
    "i": 5, "x": 1.5, "f": 0.5, "dec": Decimal("1.23"), "wide": Decimal("1.00001"),
    "d": date(2020, 1, 1), "ts": datetime(2000, 1, 1, tzinfo=UTC), "n": datetime(2000, 1, 1),
    "b": True, "y": b"\x01", "g": 1, "p.a": 7,
}  # fmt: skip


#: What an earlier query found leaves out no files.
_EARLY: Final = {"spark.tamis.deltaFiles.enabled": "true", "spark.tamis.remember.enabled": "false"}


def run(spark: SparkSession, seed: int, count: int, folder: str) -> str:
    """Return a JSON object: `queries`, `early` (planned without a job), and `problems`."""
    rng = random.Random(seed)
    problems: list[str] = []
    early = queries = kept = alone = 0
    kinds = rng.sample(sorted(_TABLES), len(_TABLES))
    for kind in kinds:
        name = f"delta.`{folder}/{''.join(rng.choices(string.ascii_lowercase, k=8))}`"
        rows = _create(spark, rng, name, kind)
        filters = _Filters(rng, rows, spark.table(name).columns)
        for _ in range(-(-count // len(kinds))):
            where = filters.next()
            queries += 1
            try:
                by_delta = _answer(spark, name, where, {"spark.tamis.enabled": "false"})
                by_tamis = _answer(spark, name, where, _EARLY)
            except Exception as problem:
                if "DATATYPE_MISMATCH" in str(problem) or "CAST_INVALID" in str(problem):
                    continue
                problems.append(f"{kind} WHERE {where}: {problem}"[:2000])
                continue
            early += by_tamis[2] == 0
            kept, alone = kept + len(by_tamis[0]), alone + len(by_delta[0])
            if not by_tamis[0] <= by_delta[0]:
                more = len(by_tamis[0] - by_delta[0])
                problems.append(f"{kind} WHERE {where}: {more} files more")
            if by_tamis[1] != by_delta[1]:
                problems.append(f"{kind} WHERE {where}: other rows")
    found = {"queries": queries, "early": early, "kept": kept, "by Delta": alone}
    return json.dumps(found | {"problems": problems}, ensure_ascii=False)


def _create(spark: SparkSession, rng: random.Random, name: str, kind: str) -> list[list[Any]]:
    clause, after = _TABLES[kind]
    more, last = (", list ARRAY<INT>", ["array(i, 1)"]) if kind == "listed" else ("", [])
    spark.sql(f"CREATE TABLE {name} ({_SCHEMA}{more}) USING delta {clause}")
    source = _Rows(rng)
    files = [source.of_file(file) for file in range(_FILES)]
    rows = [row for file in files for row in file]
    half = len(rows) // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        plain = _SCHEMA.replace("CHAR(5)", "STRING").replace("VARCHAR(8)", "STRING")
        plain = plain.replace("VARSTRING", "STRING")
        frame = spark.createDataFrame(part, plain)
        frame = frame.selectExpr("*", *last)
        frame.repartitionByRange(_FILES // 2, "id").write.insertInto(name)
        if number == 0:
            for statement in after:
                spark.sql(statement.format(t=name))
    return rows


def _answer(
    spark: SparkSession, name: str, where: str, confs: dict[str, str]
) -> tuple[set[str], list[int], int]:
    """Return the files that a query opens, its rows, and the jobs of its planning."""
    for key, value in confs.items():
        spark.conf.set(key, value)
    try:
        frame, jobs = planned_frame(spark, f"SELECT id FROM {name} WHERE {where}")
        files = {file.replace("file:///", "file:/") for file in frame.inputFiles()}
        return files, sorted(row.id for row in frame.collect()), jobs
    finally:
        for key in confs:
            spark.conf.unset(key)


def _main() -> None:
    from bench.peers import packages
    from bench.session import session

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=500)
    given = parser.parse_args()
    folder = Path("build/random-delta").resolve() / str(given.seed)
    shutil.rmtree(folder, ignore_errors=True)
    more = {
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }
    spark = session("2g", {**packages.confs(), **packages.lakes(folder / "iceberg"), **more})
    for seed in range(given.seed, given.seed + -(-given.count // _FILTERS)):
        print(seed, run(spark, seed, _FILTERS, str(folder)).replace('", "', '",\n"'), flush=True)
    spark.stop()


if __name__ == "__main__":
    _main()
