"""Random Parquet tables that lie where engines differ: odd names, odd values, odd files.

Every table has a column `_row` that numbers its rows, so that two answers are compared by a list of
integers and a difference names the row.
"""

from __future__ import annotations

import datetime
import decimal
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

decimal.getcontext().prec = 80  # or 38 digits are rounded
EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_UTC = EPOCH.replace(tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Kind:
    """A column type: its SQL, its Arrow type, and a value that grows with `position` in 0 … 1."""

    sql: str
    arrow: pa.DataType
    value: Callable[[random.Random, float], Any]


def _integer(bits: int) -> Callable[[random.Random, float], int]:
    limit = 2 ** (bits - 1)

    def value(rng: random.Random, position: float) -> int:
        if rng.random() < 0.02:
            return rng.choice([-limit, limit - 1, 0, -1, 1])
        spread = min(limit, 2000)
        return (
            int((position - 0.5) * spread) + rng.randint(-3, 3) if bits > 8 else rng.randint(-5, 5)
        )

    return value


def _floating(rng: random.Random, position: float) -> float:
    if rng.random() < 0.06:
        return rng.choice([float("nan"), 0.0, -0.0, float("inf"), float("-inf"), 5e-324])
    return round((position - 0.5) * 100 + rng.uniform(-2, 2), rng.choice([0, 1, 3]))


def _decimal(precision: int, scale: int) -> Callable[[random.Random, float], decimal.Decimal]:
    def value(rng: random.Random, position: float) -> decimal.Decimal:
        if rng.random() < 0.02:
            return decimal.Decimal(rng.choice([1, -1]) * (10**precision - 1)).scaleb(-scale)
        return decimal.Decimal(int((position - 0.5) * 10**4) + rng.randint(-9, 9)).scaleb(-scale)

    return value


WORDS = ["", "a", "A", "ab", "abc", "b", "ba", "ä", "é", "é", "z", "zz", "\uffff", "\U0010ffff",
         "a\U0010ffff", "ab\x00", " a", "a ", "%", "_", "a%b", "NULL", "𝔘", "ﬀ", "17", "-4",
         "300", "1.5", "true", "2024-01-05", "2024-01-20", "2024-1-9", "2024-02-29 10:00:00",
         "a  b "]  # fmt: skip


def _string(rng: random.Random, position: float) -> str:
    if rng.random() < 0.5:
        # Words of one kind lie together, or no file would hold dates alone.
        return WORDS[int(position * (len(WORDS) - 1))] if rng.random() < 0.7 else rng.choice(WORDS)
    return chr(97 + int(position * 25)) * rng.randint(1, 3) + rng.choice(WORDS)


def _date(rng: random.Random, position: float) -> datetime.date:
    if rng.random() < 0.05:
        return rng.choice(
            [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(1582, 10, 4),
             datetime.date(1582, 10, 15), datetime.date(1969, 12, 31), datetime.date(1970, 1, 1)]
        )  # fmt: skip
    return datetime.date(1965, 1, 1) + datetime.timedelta(
        days=int(position * 4000) + rng.randint(0, 30)
    )


def _moment(rng: random.Random, position: float) -> int:
    """Microseconds since 1970, before and after."""
    if rng.random() < 0.05:
        return rng.choice([0, -1, 1, -62135596800000000, 253402300799999999, -2208988800000000 - 1])
    day = 86400 * 10**6
    return int((position - 0.5) * 4000) * day + rng.choice([0, 1, -1, 3600 * 10**6, day - 1])


KINDS = [
    Kind("BOOLEAN", pa.bool_(), lambda rng, position: rng.random() < position),
    Kind("TINYINT", pa.int8(), _integer(8)),
    Kind("SMALLINT", pa.int16(), _integer(16)),
    Kind("INT", pa.int32(), _integer(32)),
    Kind("BIGINT", pa.int64(), _integer(64)),
    Kind("FLOAT", pa.float32(), _floating),
    Kind("DOUBLE", pa.float64(), _floating),
    Kind("DECIMAL(9,2)", pa.decimal128(9, 2), _decimal(9, 2)),
    Kind("DECIMAL(18,4)", pa.decimal128(18, 4), _decimal(18, 4)),
    Kind("DECIMAL(38,10)", pa.decimal128(38, 10), _decimal(38, 10)),
    Kind("STRING", pa.string(), _string),
    Kind("BINARY", pa.binary(), lambda rng, position: _string(rng, position).encode()),
    Kind("DATE", pa.date32(), _date),
    Kind("TIMESTAMP", pa.timestamp("us", "UTC"), _moment),
    Kind("TIMESTAMP_NTZ", pa.timestamp("us"), _moment),
]
NAMES = ["a", "B", "a b", "c.d", "ünï", "select", "x-y", "p%q", "Z_9", "é", "1st", "k"]
PARTITION_KINDS = {
    "INT": [-1, 0, 7, 1995, None],
    "STRING": ["x", "a b", "x=1", "100%", "ü", None],
    "DATE": [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), None],
}


@dataclass(frozen=True)
class Leaf:
    """A column, or a field of one, that predicates may use."""

    sql: str
    kind: Kind
    samples: tuple[Any, ...]


@dataclass(frozen=True)
class RandomTable:
    """A table of the catalog over files in `path`."""

    name: str
    path: Path
    ddl: str
    partition: str | None
    leaves: tuple[Leaf, ...]
    rows: int


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def write(rng: random.Random, folder: Path, name: str) -> RandomTable:
    """Write the files of a random table. The catalog does not know of it yet: see `create`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = rng.sample(NAMES, rng.randint(2, 5))
    columns = {n: rng.choice(KINDS) for n in names}
    nested = {f"s{i}": rng.choice(KINDS) for i in range(rng.randint(0, 2))}
    struct_name = "c" if "c.d" in names and rng.random() < 0.5 else "st"
    partition_kind = rng.choice([None, None, *PARTITION_KINDS])
    row = 0
    samples: dict[str, list[Any]] = {n: [] for n in [*columns, *nested]}
    count = rng.randint(1, 10)
    partition_values: list[Any] = []
    for number in range(count):
        size = rng.choice([0, 1, 2, 5, 20, 20, 50])
        clustered = rng.random() < 0.8
        arrays: dict[str, pa.Array] = {"_row": pa.array(range(row, row + size), pa.int64())}
        row += size

        def values(
            kind: Kind,
            key: str,
            size: int = size,
            number: int = number,
            clustered: bool = clustered,
        ) -> pa.Array:
            nulls = rng.choice([0, 0, 0.2, 1])
            constant = rng.random() < 0.15
            made: list[Any] = []
            for _ in range(size):
                position = number / count if clustered else rng.random()
                value = made[0] if constant and made else kind.value(rng, position)
                made.append(None if rng.random() < nulls else value)
            samples[key] += [v for v in made if v is not None][:8]
            return pa.array(made, kind.arrow)

        for column, kind in columns.items():
            if number and rng.random() < 0.1:
                continue  # an older file without the column
            arrays[column] = values(kind, column)
        if nested and not (number and rng.random() < 0.1):
            fields = [pa.field(n, k.arrow) for n, k in nested.items()]
            mask = pa.array([rng.random() < 0.15 for _ in range(size)], pa.bool_())
            arrays[struct_name] = pa.StructArray.from_arrays(
                [values(k, n) for n, k in nested.items()], fields=fields, mask=mask
            )
        directory = folder
        if partition_kind is not None:
            value = rng.choice(PARTITION_KINDS[partition_kind])
            partition_values.append(value)
            text = "__HIVE_DEFAULT_PARTITION__" if value is None else quote(str(value), safe=" -ü")
            directory = folder / f"part={text}"
            directory.mkdir(exist_ok=True)
        items = list(arrays.items())
        rng.shuffle(items)
        statistics: Any = rng.random() < 0.9
        if statistics and rng.random() < 0.2:
            statistics = [
                n for n, _ in items if "." not in n and rng.random() < 0.7 and n != struct_name
            ]
        pq.write_table(
            pa.table(dict(items)),
            directory / f"part-{number:03d}{rng.choice(['', ' x', '%20', '=', 'ü'])}.parquet",
            row_group_size=rng.choice([3, 10, 1000]),
            write_statistics=statistics,
            use_dictionary=rng.random() < 0.5,
        )
    leaves = [Leaf(quoted(n), k, tuple(samples[n])) for n, k in columns.items()]
    leaves += [
        Leaf(f"{quoted(struct_name)}.{quoted(n)}", k, tuple(samples[n])) for n, k in nested.items()
    ]
    ddl = ["_row BIGINT", *(f"{quoted(n)} {k.sql}" for n, k in columns.items())]
    if nested:
        inner = ", ".join(f"{quoted(n)}: {k.sql}" for n, k in nested.items())
        ddl.append(f"{quoted(struct_name)} STRUCT<{inner}>")
    if partition_kind is not None:
        ddl.append(f"part {partition_kind}")
        kind = next(k for k in KINDS if k.sql == partition_kind)
        leaves.append(Leaf("part", kind, tuple(v for v in partition_values if v is not None)))
    return RandomTable(
        name, folder, ", ".join(ddl), "part" if partition_kind else None, tuple(leaves), row
    )


def create(spark: Any, table: RandomTable, buckets: str = "") -> None:
    """Put the table into the session's catalog; `buckets` is what CREATE TABLE says of them."""
    spark.sql(f"DROP TABLE IF EXISTS {table.name}")
    partitioned = f"PARTITIONED BY ({table.partition})" if table.partition else ""
    spark.sql(
        f"CREATE TABLE {table.name} ({table.ddl}) USING parquet {partitioned} {buckets} "
        f"LOCATION '{table.path.as_uri()}'"
    )
    if table.partition:
        spark.sql(f"MSCK REPAIR TABLE {table.name}")
