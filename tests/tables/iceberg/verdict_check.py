"""Compare the verdicts of an opened snapshot with the rows of each file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tamis.evaluation import ALL, NONE, verdicts
from tamis.expr.nodes import Column, Compare, Comparison, Expr, IsNull, Literal, Not
from tamis.expr.types import DataType
from tamis.tables.iceberg import IcebergFiles

OPERATORS = (
    Comparison.EQUAL,
    Comparison.NOT_EQUAL,
    Comparison.LESS,
    Comparison.LESS_EQUAL,
    Comparison.GREATER,
    Comparison.GREATER_EQUAL,
)


def values_of(array: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return values as literals hold them: days and microseconds as integers."""
    if pa.types.is_date(array.type):
        array = array.cast(pa.int32())
    elif pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
    return list(array.to_pylist())


def spark_type(data_type: pa.DataType) -> DataType | None:
    """Return Spark's type of an Arrow type."""
    if pa.types.is_decimal(data_type):
        return DataType.parse(f"decimal({data_type.precision},{data_type.scale})")
    if pa.types.is_timestamp(data_type):
        return DataType.parse("timestamp" if data_type.tz else "timestamp_ntz")
    names = {
        pa.bool_(): "boolean",
        pa.int32(): "integer",
        pa.int64(): "long",
        pa.float32(): "float",
        pa.float64(): "double",
        pa.date32(): "date",
        pa.string(): "string",
        pa.binary(): "binary",
    }
    return DataType.parse(names.get(data_type))


def columns_of(rows: pa.Table) -> Iterator[tuple[Column, list[Any]]]:
    """Yield each column that can be compared, and fields of structs, with the values."""
    for name in rows.column_names:
        if name != "_file":
            yield from _inside((name,), rows.column(name).combine_chunks())


def _inside(path: tuple[str, ...], array: Any) -> Iterator[tuple[Column, list[Any]]]:
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_struct(array.type):
        for n, field in enumerate(array.type):
            yield from _inside((*path, field.name), array.flatten()[n])
        return
    data_type = spark_type(array.type)
    if data_type is not None:
        yield Column(path, data_type), values_of(array)


def predicates(column: Column, values: Sequence[Any]) -> Iterator[Expr]:
    """Yield predicates whose constants are values of the column or between them."""
    yield IsNull(column)
    yield Not(IsNull(column))
    present = sorted((each for each in set(values) if each is not None), key=_key)
    step = max(1, len(present) // 8)
    for value in {*present[::step], *present[:1], *present[-1:]}:
        for op in OPERATORS:
            yield Compare(op, column, Literal(value, column.type))
            yield Not(Compare(op, column, Literal(value, column.type)))


def _key(value: Any) -> Any:
    """Return the sort key of a value in Spark's order, in which NaN is the greatest."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def true_of(predicate: Expr, value: Any) -> bool | None:
    """Return the truth value of one of `predicates`; None is NULL."""
    if isinstance(predicate, IsNull):
        return value is None
    if isinstance(predicate, Not):
        inner = true_of(predicate.child, value)
        return None if inner is None else not inner
    assert isinstance(predicate, Compare)
    assert isinstance(predicate.right, Literal)
    if value is None:
        return None
    left, right = _key(value), _key(predicate.right.value)
    return {
        Comparison.EQUAL: left == right,
        Comparison.NOT_EQUAL: left != right,
        Comparison.LESS: left < right,
        Comparison.LESS_EQUAL: left <= right,
        Comparison.GREATER: left > right,
        Comparison.GREATER_EQUAL: left >= right,
    }[predicate.op]


def check_verdicts(files: IcebergFiles, rows: pa.Table) -> dict[str, int]:
    """Check every predicate on every file, given the rows with the location of their file.

    Returns:
        How often some file was ruled out, by the dotted path of the column.
    """
    places: dict[str, list[int]] = {each: [] for each in files.locations.to_pylist()}
    for n, location in enumerate(rows.column("_file").to_pylist()):
        places[location].append(n)
    useful: dict[str, int] = {}
    for column, values in columns_of(rows):
        for predicate in predicates(column, values):
            useful.setdefault(".".join(column.path), 0)
            answers = verdicts(predicate, files.statistics).tolist()
            for (location, ordinals), verdict in zip(places.items(), answers, strict=True):
                truths = [true_of(predicate, values[n]) for n in ordinals]
                if verdict == NONE:
                    assert True not in truths, (predicate, location)
                    useful[".".join(column.path)] += 1
                elif verdict == ALL:
                    assert all(truths), (predicate, location)
    return useful


def check_manifest_pruning(
    opened: Mapping[Expr, IcebergFiles], rows: pa.Table, values: Sequence[Any]
) -> None:
    """Check that the files that were left out have no row for which the predicate is true."""
    locations = rows.column("_file").to_pylist()
    for predicate, files in opened.items():
        kept = set(files.locations.to_pylist())
        for location, value in zip(locations, values, strict=True):
            assert location in kept or true_of(predicate, value) is not True, predicate
