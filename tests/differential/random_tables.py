"""Random Parquet tables where engines tend to differ: unusual names, values and files.

Every table has a column `_row` with the number of the row, a key `k` with values that the other
tables share, and `p`, a row number that restarts. The other columns are random.

The files of a table have a layout (clustered, sorted, random, one file, tiny files). Older files
may lack a column, store it in a narrower type, or have a column that the table has dropped.
"""

from __future__ import annotations

import datetime
import decimal
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.differential.keys import order_key
from tests.differential.random_values import KINDS, Kind, integer

NAMES = ["a", "B", "a b", "c.d", "ünï", "select", "x-y", "p%q", "Z_9", "é", "1st", "k"]
PARTITION_KINDS = {
    "INT": [-1, 0, 7, 1995, None],
    "STRING": ["x", "a b", "x=1", "100%", "ü", None],
    "DATE": [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), None],
}


@dataclass(frozen=True)
class Leaf:
    """A column, or a field of one, that predicates may use.

    Attributes:
        samples: Some of its values.
        edges: The least and the greatest value of each file, where verdicts change, in turn.
    """

    sql: str
    kind: Kind
    samples: tuple[Any, ...]
    edges: tuple[Any, ...] = ()


@dataclass(frozen=True)
class File:
    """A Parquet file: its path in the folder of the table, its rows, and writer options."""

    path: str
    data: pa.Table
    options: tuple[tuple[str, Any], ...]

    def write(self, folder: Path) -> None:
        """Write the file to the folder of its table."""
        target = folder / self.path
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(self.data, target, **dict(self.options))


@dataclass(frozen=True)
class RandomTable:
    """A table: its initial files, and files that are added or that replace others."""

    name: str
    columns: tuple[tuple[str, str], ...]
    partition: str | None
    leaves: tuple[Leaf, ...]
    rows: int
    files: tuple[File, ...]
    spare: tuple[File, ...]
    layout: str
    #: Top-level columns by which most files are sorted.
    order: tuple[str, ...] = ()

    @property
    def ddl(self) -> str:
        """The columns as CREATE TABLE lists them."""
        return ", ".join(f"{name} {sql}" for name, sql in self.columns)


def aside(rng: random.Random) -> random.Random:
    """Return a generator that depends on another one and leaves its draws as they are."""
    state = rng.getstate()[1]
    return random.Random(f"{state[0]} {state[-1]}")


def quoted(name: str) -> str:
    """Quote the name for SQL."""
    return "`" + name.replace("`", "``") + "`"


def _key(number: int) -> Callable[[random.Random, float], Any]:
    """Return keys from -2 to 41, as in every table; `number` per 100 are far outside."""

    def value(rng: random.Random, position: float) -> int:
        if rng.random() * 100 < number:
            return rng.choice([-1, 0, 100])
        return int(position * 40) + rng.randint(-2, 1)

    return value


def _key_kind(rng: random.Random) -> Kind:
    value = _key(rng.choice([0, 0, 3]))
    return rng.choice(
        [
            Kind("INT", pa.int32(), value),
            Kind("BIGINT", pa.int64(), value),
            Kind("BIGINT", pa.int64(), value),
            Kind("SMALLINT", pa.int16(), value),
            Kind("DECIMAL(9,2)", pa.decimal128(9, 2), lambda r, p: decimal.Decimal(value(r, p))),
            Kind("DOUBLE", pa.float64(), lambda r, p: float(value(r, p))),
            Kind("STRING", pa.string(), lambda r, p: str(value(r, p))),
        ]
    )


#: Most layouts are ordered, so that files are pruned: otherwise a mistake has no effect.
LAYOUTS = (*["clustered"] * 5, "sorted", "sorted", "mixed", "mixed", "random", "single", "tiny")


def _sorted_places(columns: list[pa.Array]) -> list[int]:
    """Return the places of rows in the order of Spark's ORDER BY."""

    def keys(array: pa.Array) -> list[Any]:
        if pa.types.is_temporal(array.type):  # years that Python does not have
            array = array.cast(pa.int32() if pa.types.is_date(array.type) else pa.int64())
        return [() if value is None else (order_key(value),) for value in array.to_pylist()]

    rows = [*zip(*map(keys, columns), strict=True)]
    return sorted(range(len(rows)), key=rows.__getitem__)


@dataclass
class _Writer:
    """Makes the files of one table, one after the other."""

    rng: random.Random
    layout: str
    columns: dict[str, Kind]
    nested: dict[str, Kind]
    struct: str
    partition: str | None
    count: int
    total: int
    row: int = 0

    def __post_init__(self) -> None:
        rng = self.rng
        self.samples: dict[str, list[Any]] = {n: [] for n in [*self.columns, *self.nested]}
        self.edges: dict[str, list[Any]] = {n: [] for n in self.samples}
        self.partition_values: list[Any] = []
        self.int96 = rng.random() < 0.1
        self.millis = rng.random() < 0.6
        self.scattered = {n for n in self.samples if rng.random() < 0.15}
        self.null_free = {n for n in self.samples if rng.random() < 0.6}
        self.can_narrow = rng.random() < 0.3
        self.own = aside(rng)
        names = [*self.columns, "_row"]
        drawn = self.own.sample(names, min(len(names), self.own.choice([1, 1, 2])))
        self.order = tuple(drawn) if self.own.random() < 0.6 else ()

    def file(self, number: int, size: int) -> File:
        """Return the next file. Row numbers continue those of the previous file."""
        rng = self.rng
        position = min(number / self.count, 1.0)
        clustered = self.layout not in ("random", "mixed") or rng.random() < 0.6
        arrays: dict[str, pa.Array] = {
            "_row": pa.array(range(self.row, self.row + size), pa.int64())
        }
        for name, kind in self.columns.items():
            if name not in ("k", "p") and number and rng.random() < 0.08:
                continue  # a file older than the column
            arrays[name] = self._narrowed(kind, self._values(name, kind, size, position, clustered))
        if self.nested and not (number and rng.random() < 0.1):
            children = {
                n: self._values(n, k, size, position, clustered) for n, k in self.nested.items()
            }
            mask = pa.array([rng.random() < 0.15 for _ in range(size)], pa.bool_())
            arrays[self.struct] = pa.StructArray.from_arrays(
                list(children.values()),
                fields=[pa.field(n, array.type) for n, array in children.items()],
                mask=mask,
            )
        if rng.random() < 0.08:
            arrays["dropped"] = pa.array(range(size), pa.int32())
        self.row += size
        if self.order and all(key in arrays for key in self.order) and self.own.random() < 0.9:
            places = _sorted_places([arrays[key] for key in self.order])
            arrays = {
                key: array.take(pa.array(places, pa.int64())) for key, array in arrays.items()
            }
        items = list(arrays.items())
        rng.shuffle(items)
        name = f"part-{number:03d}{rng.choice(['', '', '', ' x', '%20', '=', 'ü'])}.parquet"
        return File(self._folder() + name, pa.table(dict(items)), self._options(items))

    def _values(
        self, key: str, kind: Kind, size: int, position: float, clustered: bool
    ) -> pa.Array:
        rng = self.rng
        nulls = 0 if key in self.null_free else rng.choice([0, 0, 0.2, 1])
        if key in ("k", "p") and nulls == 1:
            nulls = rng.choice([0.1, 1])
        constant = rng.random() < 0.2
        made: list[Any] = []
        for index in range(size):
            where = position if clustered and key not in self.scattered else rng.random()
            if self.layout in ("sorted", "single"):
                where = (self.row + index) / max(self.total, 1)
            value = made[0] if constant and made else kind.value(rng, min(where, 1.0))
            made.append(None if rng.random() < nulls else value)
        if self.millis and kind.sql in ("TIMESTAMP", "TIMESTAMP_NTZ"):
            made = [v and v - v % 1000 for v in made]
        present = [v for v in made if v is not None and v == v]  # without NaN, which has no order
        self.samples[key] += present[:8]
        self.edges[key] += [min(present), max(present)] if present else []
        array = pa.array(made, kind.arrow)
        if self.millis and kind.sql in ("TIMESTAMP", "TIMESTAMP_NTZ"):
            return array.cast(pa.timestamp("ms", kind.arrow.tz))
        return array

    def _narrowed(self, kind: Kind, array: pa.Array) -> pa.Array:
        """Return the values in the type before the column was widened, if they fit."""
        narrow = {"BIGINT": pa.int32(), "INT": pa.int16(), "DOUBLE": pa.float32()}.get(kind.sql)
        if not self.can_narrow or narrow is None or self.rng.random() < 0.6:
            return array
        try:
            return array.cast(narrow)
        except pa.ArrowInvalid:
            return array

    def _folder(self) -> str:
        if self.partition is None:
            return ""
        value = self.rng.choice(PARTITION_KINDS[self.partition])
        self.partition_values.append(value)
        text = "__HIVE_DEFAULT_PARTITION__" if value is None else quote(str(value), safe=" -ü")
        return f"part={text}/"

    def _options(self, items: list[tuple[str, pa.Array]]) -> tuple[tuple[str, Any], ...]:
        rng = self.rng
        statistics: Any = rng.random() < 0.9
        if statistics and rng.random() < 0.15:
            statistics = [
                n for n, _ in items if "." not in n and rng.random() < 0.7 and n != self.struct
            ]
        return (
            ("row_group_size", rng.choice([1, 3, 10, 1000])),
            ("write_statistics", statistics),
            ("use_dictionary", rng.random() < 0.5),
            ("write_page_index", rng.random() < 0.5),
            ("use_deprecated_int96_timestamps", self.int96 and self._fits_int96(items)),
        )

    @staticmethod
    def _fits_int96(items: list[tuple[str, pa.Array]]) -> bool:
        """Return whether the values fit INT96: it is written through nanoseconds, 1677 to 2262."""
        for _, array in items:
            if pa.types.is_timestamp(array.type):
                try:
                    array.cast(pa.timestamp("ns", array.type.tz))
                except pa.ArrowInvalid:
                    return False
            elif pa.types.is_struct(array.type):
                return False
        return True


def make(rng: random.Random, name: str) -> RandomTable:
    """Return a random table."""
    names = rng.sample(NAMES, rng.randint(1, 4))
    columns = {"k": _key_kind(rng), "p": Kind("BIGINT", pa.int64(), integer(8))}
    moments = [
        kind for kind in KINDS if kind.sql == "TIMESTAMP"
    ] * 5  # these types are written in many ways
    columns |= {n: rng.choice([*KINDS, *moments]) for n in names if n != "k"}
    nested = {f"s{i}": rng.choice(KINDS) for i in range(rng.choice([0, 0, 1, 2]))}
    struct = "c" if "c.d" in names and rng.random() < 0.5 else "st"
    partition = rng.choice([None, None, *PARTITION_KINDS])
    layout = rng.choice(LAYOUTS)
    sizes = _sizes(rng, layout)
    total = sum(sizes)
    columns["p"] = Kind("BIGINT", pa.int64(), lambda r, at: int(at * total) - r.randint(1, 9))
    writer = _Writer(
        rng, layout, columns, nested, struct, partition, max(len(sizes), 1), total
    )  # fmt: skip
    files = tuple(writer.file(number, size) for number, size in enumerate(sizes))
    spare = tuple(writer.file(900 + number, rng.choice([1, 5, 20])) for number in range(3))
    named = [(quoted(n), n, k) for n, k in columns.items()]
    named += [(f"{quoted(struct)}.{quoted(n)}", n, k) for n, k in nested.items()]
    leaves = [Leaf(q, k, tuple(writer.samples[n]), tuple(writer.edges[n])) for q, n, k in named]
    listed = [("_row", "BIGINT"), *((quoted(n), k.sql) for n, k in columns.items())]
    if nested:
        inner = ", ".join(f"{quoted(n)}: {k.sql}" for n, k in nested.items())
        listed.append((quoted(struct), f"STRUCT<{inner}>"))
    if partition is not None:
        listed.append(("part", partition))
        kind = next(k for k in KINDS if k.sql == partition)
        values = tuple(v for v in writer.partition_values if v is not None)
        leaves.append(Leaf("part", kind, values))
    return RandomTable(
        name, tuple(listed), "part" if partition else None, tuple(leaves), writer.row, files, spare,
        layout, writer.order,
    )  # fmt: skip


def _sizes(rng: random.Random, layout: str) -> list[int]:
    """Return the number of rows of each file."""
    if layout == "single":
        return [rng.choice([1, 20, 60])]
    if layout == "tiny":
        return [rng.randint(0, 4) for _ in range(9)]
    return [rng.choice([0, 1, 3, 5, 12, 12, 20]) for _ in range(rng.choice([2, 4, 5, 6, 7]))]
