"""Random columns, containers, statistics and predicates that favor special values.

Statistics are true of the rows but otherwise as poor as possible: missing cells, missing columns,
bounds wider than the data, and every kind of corruption that the reader can detect.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any, TypeAlias

import pyarrow as pa

from tamis.expr.nodes import (
    And,
    Column,
    Compare,
    Comparison,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
    type_of,
)
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.files.partition import PartitionField
from tests.differential.buckets import bucket
from tests.differential.random_calls import random_call, random_test
from tests.differential.rows import Row, order_key

DAY = 86_400_000_000
_STRINGS = ["", "a", "ab", "abc", "b", "a\0", "é", "\ud7ff", "\U0010ffff", "a\U0010ffff"]
_STRINGS += ["customer#000001", "customer#000002", "customer", "z" * 9, " a", "a ", "a  b "]
_STRINGS += ["17", "-4", "300", "1.5", "t", "2024-01-05", "2024-01-20", "2024-1-9", "2024-02-01"]
_FLOATS = [-math.inf, -1.5, -0.0, 0.0, 1.5, 2.0, math.inf, math.nan]
_MICROSECONDS = [
    -(1 << 63),
    -DAY - 1,
    -DAY,
    -1,
    0,
    1,
    DAY - 1,
    DAY,
    19_797 * DAY + 5,
    (1 << 63) - 1,
]

#: Type -> (values to draw from, Arrow type of its statistics).
POOLS: dict[DataType, tuple[list[Any], pa.DataType]] = {
    BOOLEAN: ([False, True], pa.bool_()),
    BYTE: ([-128, -1, 0, 1, 2, 127], pa.int8()),
    SHORT: ([-(1 << 15), -1, 0, 1, 2, (1 << 15) - 1], pa.int16()),
    INTEGER: ([-(1 << 31), -2, -1, 0, 1, 2, 3, 4, (1 << 31) - 1], pa.int32()),
    LONG: ([-(1 << 63), -2, -1, 0, 1, 2, 3, 4, (1 << 63) - 1], pa.int64()),
    FLOAT: (_FLOATS, pa.float32()),
    DOUBLE: ([*_FLOATS, 1e300, 5e-324], pa.float64()),
    decimal(9, 2): (
        [Decimal(n).scaleb(-2) for n in (-999, -1, 0, 1, 100, 101)],
        pa.decimal128(9, 2),
    ),
    decimal(38, 10): (
        [Decimal(n).scaleb(-10) for n in (-(10**37), -1, 0, 1, 10**37)],
        pa.decimal128(38, 10),
    ),
    STRING: (_STRINGS, pa.string()),
    BINARY: ([b"", b"\0", b"a", b"ab", b"\xff", b"\xff\xff", b"a\xff"], pa.binary()),
    DATE: ([-719_162, -366, -365, -1, 0, 1, 30, 31, 365, 19_797], pa.date32()),
    TIMESTAMP: (_MICROSECONDS, pa.timestamp("us", "UTC")),
    TIMESTAMP_NTZ: (_MICROSECONDS, pa.timestamp("us")),
}

_TRANSFORMS: dict[str, list[str]] = {
    "date": ["year", "month", "day", "bucket[3]"],
    "timestamp": ["year", "month", "day", "hour", "bucket[3]"],
    "timestamp_ntz": ["year", "month", "day", "hour"],
    "string": ["truncate[1]", "truncate[2]", "bucket[4]"],
    "binary": ["truncate[1]", "truncate[2]", "bucket[3]"],
    "byte": ["truncate[2]"],
    "short": ["truncate[3]", "bucket[2]"],
    "integer": ["truncate[10]", "bucket[4]"],
    "long": ["truncate[4]", "bucket[3]"],
    "decimal": ["truncate[50]", "bucket[4]"],
}


#: Name of a statistics column -> its cells and their type.
Cells: TypeAlias = dict[str, tuple[list[Any], pa.DataType]]


@dataclass(frozen=True, slots=True)
class Case:
    """A table of containers: their rows, their statistics, and the columns of predicates."""

    columns: tuple[Column, ...]
    containers: tuple[tuple[Row, ...], ...]
    files: pa.Table
    partition_spec: tuple[PartitionField, ...]


def random_case(random: Random, containers: int = 12, *, perfect: bool = False) -> Case:
    """Draw two or three columns and a table of containers.

    Args:
        random: The source of randomness.
        containers: How many containers.
        perfect: Whether all statistics are present and exact.
    """
    first, second = random.choices(list(POOLS), k=2)
    columns = (Column(("a",), first), Column(("s", "b"), first), Column(("c",), second))
    spec = () if perfect else _random_spec(random, columns)
    rows = tuple(_random_rows(random, columns, spec) for _ in range(containers))
    table = _random_statistics(random, columns, spec, rows, perfect)
    return Case(columns, rows, table, spec)


def _random_spec(random: Random, columns: Sequence[Column]) -> tuple[PartitionField, ...]:
    fields = []
    for ordinal in range(random.choice([0, 0, 1, 1, 2])):
        column = random.choice(columns)
        transform = random.choice(["identity", "void", *_TRANSFORMS.get(column.type.name, [])])
        fields.append(PartitionField(".".join(column.path), transform, f"p{ordinal}"))
    return tuple(fields)


def _random_rows(
    random: Random, columns: Sequence[Column], spec: Sequence[PartitionField]
) -> tuple[Row, ...]:
    pools = {}
    for column in columns:
        pool = POOLS[column.type][0]
        pools[column.path] = random.sample(pool, k=min(len(pool), random.choice([1, 1, 2, 3])))
    nulls = random.choice([0.0, 0.0, 0.2, 1.0])
    rows = []
    for _ in range(random.choice([0, 1, 2, 3, 4])):
        row = {}
        for column in columns:
            is_null = random.random() < nulls and random.random() < 0.7
            row[column.path] = None if is_null else random.choice(pools[column.path])
        rows.append(row)
    # All rows of a container share its partition values.
    return tuple(row for row in rows if _same_partition(row, rows[0], columns, spec))


def _same_partition(
    row: Row, first: Row, columns: Sequence[Column], spec: Sequence[PartitionField]
) -> bool:
    return all(
        _partition_key(partition_value(field, columns, row))
        == _partition_key(partition_value(field, columns, first))
        for field in spec
    )


def _partition_key(value: Any) -> Any:
    return None if value is None else order_key(value)


def partition_value(field: PartitionField, columns: Sequence[Column], row: Row) -> Any:
    """Return the value of Iceberg's transform on one row: the reference implementation."""
    column = next(each for each in columns if ".".join(each.path) == field.source)
    value = row[column.path]
    kind, _, rest = field.transform.partition("[")
    if value is None or kind == "void":
        return None
    if kind == "identity":
        return value
    if kind == "bucket":
        return bucket(value, column.type, int(rest[:-1]))
    if kind == "truncate":
        width = int(rest[:-1])
        if isinstance(value, str | bytes):
            return value[:width]
        if isinstance(value, Decimal):
            unscaled = int(value.scaleb(column.type.scale or 0))
            return Decimal(unscaled - unscaled % width).scaleb(-(column.type.scale or 0))
        truncated = value - value % width
        bits = {"byte": 8, "short": 16, "integer": 32, "long": 64}[column.type.name]
        # Wraps around at the end of the type, as in Java.
        return (truncated + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    if kind == "hour":
        return _wrapped_to_int(value // (DAY // 24))
    days = value if column.type == DATE else value // DAY
    if kind == "day":
        return _wrapped_to_int(days)
    if not -719_162 <= days <= 2_932_896:
        return None  # outside of Python's calendar: not recorded
    date = datetime.date(1970, 1, 1) + datetime.timedelta(days=days)
    return date.year - 1970 if kind == "year" else (date.year - 1970) * 12 + date.month - 1


def _wrapped_to_int(ordinal: int) -> int | None:
    """Return the ordinal; None if it does not fit 32 bits and so is not recorded."""
    return ordinal if -(1 << 31) <= ordinal < 1 << 31 else None


def _random_statistics(
    random: Random,
    columns: Sequence[Column],
    spec: Sequence[PartitionField],
    containers: Sequence[Sequence[Row]],
    perfect: bool,
) -> pa.Table:
    drop = 0.0 if perfect else random.choice([0.0, 0.1, 0.5])
    cells: Cells = {}

    def cell(value: Any) -> Any:
        return None if random.random() < drop else value

    for column in columns:
        name, arrow = ".".join(column.path), POOLS[column.type][1]
        recorded = [_statistics_of(random, column, rows, perfect) for rows in containers]
        kinds = {"min": arrow, "max": arrow, "null_count": pa.int64()}
        if column.type.is_floating:
            kinds["nan_count"] = pa.int64()
        for kind, data_type in kinds.items():
            if perfect or random.random() < 0.9:
                values = [cell(each[kind]) for each in recorded]
                cells[f"{kind}.{name}"] = values, data_type
        for ordinal in range(0 if perfect else len(containers)):
            if random.random() < 0.08:
                _corrupt(random, column, cells, ordinal)
    for field in spec:
        column = next(each for each in columns if ".".join(each.path) == field.source)
        same_type = field.transform == "identity" or field.transform.startswith("truncate")
        values = [
            cell(partition_value(field, columns, rows[0])) if rows else None for rows in containers
        ]
        data_type = POOLS[column.type][1] if same_type else pa.int32()
        cells[f"partition.{field.name}"] = values, data_type
    counts = [len(rows) for rows in containers]
    for ordinal in range(0 if perfect else len(counts)):
        if random.random() < 0.05 and _is_shown(cells, ordinal):
            counts[ordinal] = random.choice([0, -1])
    if perfect or random.random() < 0.9:
        cells["num_records"] = [cell(count) for count in counts], pa.int64()
    cells["path"] = [f"f{ordinal}" for ordinal in range(len(counts))], pa.string()
    return pa.table({name: pa.array(values, kind) for name, (values, kind) in cells.items()})


def _is_shown(cells: Cells, ordinal: int) -> bool:
    """Return whether some statistic proves a row, so that "no rows" is a detectable error."""
    for name, (values, _) in cells.items():
        is_edge, is_count = name.startswith(("min.", "max.")), "_count." in name
        if values[ordinal] is not None and (is_edge or (is_count and values[ordinal] != 0)):
            return True
    return False


def _statistics_of(
    random: Random, column: Column, rows: Sequence[Row], perfect: bool
) -> dict[str, Any]:
    values = [row[column.path] for row in rows]
    nans = sum(isinstance(value, float) and math.isnan(value) for value in values)
    ordinary = sorted(
        (v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))),
        key=order_key,
    )
    recorded: dict[str, Any] = {"min": None, "max": None, "null_count": values.count(None)}
    recorded["nan_count"] = nans
    if ordinary:
        recorded["min"], recorded["max"] = ordinary[0], ordinary[-1]
        if not perfect and random.random() < 0.3:
            _widen(random, column, recorded)
    return recorded


def _widen(random: Random, column: Column, recorded: dict[str, Any]) -> None:
    """Replace bounds by outer values that no row has, as writers that truncate strings do."""
    pool = [v for v in POOLS[column.type][0] if not (isinstance(v, float) and math.isnan(v))]
    below = [v for v in pool if order_key(v) <= order_key(recorded["min"])]
    above = [v for v in pool if order_key(v) >= order_key(recorded["max"])]
    recorded["min"], recorded["max"] = random.choice(below), random.choice(above)


def _corrupt(random: Random, column: Column, cells: Cells, ordinal: int) -> None:
    """Insert a contradiction that the cells themselves reveal."""
    name = ".".join(column.path)
    kinds = ("min", "max", "null_count", "nan_count")
    lists = {kind: cells[f"{kind}.{name}"][0] for kind in kinds if f"{kind}.{name}" in cells}
    lower, upper = (lists.get(kind, {ordinal: None})[ordinal] for kind in ("min", "max"))
    ways: list[tuple[str, Any]] = [("null_count", -1), ("null_count", -(1 << 63))]
    if lower is not None and upper is not None and order_key(lower) != order_key(upper):
        ways.append(("swap", None))
    if column.type.is_floating:
        ways += [("min", math.nan), ("max", math.nan), ("nan_count", -1)]
    kind, value = random.choice(ways)
    if kind == "swap":
        lists["min"][ordinal], lists["max"][ordinal] = upper, lower
    elif kind in lists:
        lists[kind][ordinal] = value


def random_predicate(random: Random, columns: Sequence[Column], depth: int = 3) -> Expr:
    kind = random.random()
    if depth > 0 and kind < 0.45:
        if random.random() < 0.3:
            return Not(random_predicate(random, columns, depth - 1))
        parts = tuple(
            random_predicate(random, columns, depth - 1) for _ in range(random.choice([2, 2, 3]))
        )
        return (And if random.random() < 0.5 else Or)(parts)
    if random.random() < 0.04:
        return random.choice(
            [
                Opaque("f(a)"),
                Literal(True, BOOLEAN),
                Literal(False, BOOLEAN),
                Literal(None, BOOLEAN),
            ]
        )
    column = random.choice(columns)
    if depth > 0 and random.random() < 0.25:
        return random_limits(random, column, columns)
    if column.type == BOOLEAN and random.random() < 0.3:
        return column
    return random_leaf(random, column, columns)


def random_limits(random: Random, column: Column, columns: Sequence[Column]) -> Expr:
    """Draw a conjunction of predicates on one column, which may contain an OR."""

    def several(count: int) -> tuple[Expr, ...]:
        return tuple(random_leaf(random, column, columns) for _ in range(count))

    parts = several(random.choice([2, 2, 3, 4]))
    if random.random() < 0.3:
        branches = [And(several(2)) if random.random() < 0.5 else several(1)[0] for _ in range(2)]
        parts = (*parts, Or(tuple(branches)))
    return Not(And(parts)) if random.random() < 0.1 else And(parts)


def random_leaf(random: Random, column: Column, columns: Sequence[Column]) -> Expr:
    pool = POOLS[column.type][0]
    kind = random.random()
    if random.random() < 0.4:
        predicate = random_function(random, column)
        if predicate is not None:
            return predicate
    if kind < 0.15:
        return IsNull(column)
    if kind < 0.4:
        count = random.choice([0, 1, 2, 3, min(6, len(pool))])
        return In(column, tuple(random.choices(pool, k=count)), random.random() < 0.2)
    op = random.choice(list(Comparison))
    if kind < 0.55:
        same = [other for other in columns if other.type == column.type]
        return Compare(op, column, random.choice(same))
    if kind < 0.6:
        # Predicates are values too.
        return Compare(
            op, IsNull(column), random.choice([Literal(True, BOOLEAN), IsNull(columns[0])])
        )
    value = None if random.random() < 0.05 else random.choice(pool)
    sides = (column, Literal(value, column.type))
    return Compare(op, *(sides if random.random() < 0.7 else reversed(sides)))


def _pool(data_type: DataType) -> list[Any]:
    """Return values for the result type of a function, which may not be a column type."""
    if data_type in POOLS:
        return POOLS[data_type][0]
    if data_type.is_decimal:
        return [Decimal(number).scaleb(-(data_type.scale or 0)) for number in (-100, 0, 1, 900)]
    return [-3 * DAY, -1, 0, 1, DAY]


def random_function(random: Random, column: Column) -> Expr | None:
    """Return a predicate over a function of the column; None if the type has no function."""
    if random.random() < 0.3:
        return random_test(random, column)
    call = random_call(random, column)
    data_type = None if call is None else type_of(call)
    if call is None or data_type is None:
        return None
    if random.random() < 0.1:
        return IsNull(call)
    small = [0, 1, 2, 12, 1969, 1970] if data_type == INTEGER else []
    options = [*_pool(data_type), *small]
    if random.random() < 0.3:
        return In(call, tuple(random.choices(options, k=3)), random.random() < 0.2)
    value = Literal(random.choice(options), data_type)
    return Compare(random.choice(list(Comparison)), call, value)
