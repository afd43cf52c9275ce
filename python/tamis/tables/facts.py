"""What is known of a whole table: the number of rows, and per column what ANALYZE TABLE records.

The facts are for Spark's optimizer, which estimates with them. They never become results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from tamis.evaluation.domain.exact_counts import UNKNOWN
from tamis.expr.decimals import from_unscaled
from tamis.expr.nodes import Column, Value
from tamis.expr.types import DataType
from tamis.files.extremes import Containers, extreme
from tamis.files.segments import Segment
from tamis.indexing.format import distinct_sketches
from tamis.indexing.read.open_indexes import OpenIndex
from tamis.indexing.read.row_statistics import DistinctValues
from tamis.tables.scan_input import ScanInput

__all__ = ["ColumnFacts", "TableFacts", "table_facts"]

Longs: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What is known of a column. None: unknown.

    - `least`, `greatest`: of the values that are neither NULL nor NaN. None for strings and binary,
      for which Spark does not use them, and for types and values with which its estimates fail.
    - `nulls`: the number of rows with NULL.
    - `distinct`: the estimated number of distinct values other than NULL.
    - `average_length`, `longest`: of strings, in characters, and of binary, in bytes.
    """

    least: Value = None
    greatest: Value = None
    nulls: int | None = None
    distinct: int | None = None
    average_length: int | None = None
    longest: int | None = None


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What is known of the files of a scan.

    - `rows`: the number of rows.
    - `counts_distinct`: whether the numbers of distinct values of some column were recorded of all
      files.
    - `columns`: one per requested column.
    """

    rows: int
    counts_distinct: bool
    columns: tuple[ColumnFacts, ...]


def table_facts(scan: ScanInput, columns: Sequence[Column | None]) -> TableFacts | None:
    """Return what is known of all files of a scan; None unless an index describes each of them.

    Args:
        scan: The scan.
        columns: The columns. Nothing is known of None.
    """
    rows, records = scan.total_records, scan.num_records
    if not scan.is_indexed or rows is None or records is None:
        return None
    indexes = list({id(part.index): part.index for part in scan.parts}.values())
    return TableFacts(
        rows,
        # after an append, the files of an automatic index have none
        all(index is not None and index.statistics.records_distinct for index in indexes),
        tuple(
            ColumnFacts() if column is None else _remembered(scan, column, rows, records)
            for column in columns
        ),
    )


def _remembered(scan: ScanInput, column: Column, rows: int, records: Longs) -> ColumnFacts:
    """Return the facts of a column, which are computed once per listing and generation."""
    key = ("facts", column)
    facts = scan.derived.get(key)
    if not isinstance(facts, ColumnFacts):
        facts = _facts(scan, column, rows, records)
        if all(part.index is None or part.index.statistics.problem is None for part in scan.parts):
            scan.derived[key] = facts
    return facts


def _facts(scan: ScanInput, column: Column, rows: int, records: Longs) -> ColumnFacts:
    each = [Containers.of(segment.statistics, column) for segment in scan.segments]
    low, high = (extreme(each, is_upper=side) for side in (False, True))
    nulls = _nulls(scan.segments, column, records)
    if nulls == rows:
        return ColumnFacts(nulls=nulls, distinct=0)
    distinct = _distinct_partitions(scan, column, records)
    values = None if distinct is not None else _distinct(scan, column)
    if values is not None:
        distinct = distinct_sketches.estimate([values.sketch])
    distinct = _limited(distinct, low, high, column.type, rows - (nulls or 0))
    average_length, longest = None, None
    if values is not None and values.length is not None and nulls is not None:
        average_length, longest = -(-values.length // (rows - nulls)), values.longest
    if column.type.is_text:
        return ColumnFacts(None, None, nulls, distinct, average_length, longest)
    least, greatest = _value(low, column.type), _value(high, column.type)
    if least is None or greatest is None:
        # Spark takes a number of distinct values without bounds for a column with only NULLs
        # (ValueInterval, 4.0 to 4.3), and would estimate that no row matches a predicate or a join.
        return ColumnFacts(nulls=nulls)
    return ColumnFacts(least, greatest, nulls, distinct)


def _nulls(segments: Sequence[Segment], column: Column, records: Longs) -> int | None:
    """Return the number of rows with NULL; None if it is not known for some file."""
    total = 0
    for segment in segments:
        statistics, of_files = segment.statistics, records[segment.ordinals]
        bounds = statistics.bounds(column)
        counted = np.broadcast_to(statistics.certain(column).nulls, of_files.shape)
        only_null = ~(bounds.can_be_value | bounds.can_be_nan)
        nulls = np.where(only_null, of_files, np.where(bounds.can_be_null, UNKNOWN, 0))
        nulls = np.where(of_files == 0, 0, np.where(counted == UNKNOWN, nulls, counted))
        if (nulls == UNKNOWN).any():
            return None
        total += int(nulls.sum())
    return total


def _distinct_partitions(scan: ScanInput, column: Column, records: Longs) -> int | None:
    """Return the exact number of values of a partition column; None for other columns."""
    name = scan.partitions.names(column)
    if name is None:
        return None
    directories = np.unique(scan.directories[records > 0]).astype(np.int64)
    values = scan.partitions.values[name].take(directories)
    return int(pc.count_distinct(values, mode="only_valid").as_py())


def _distinct(scan: ScanInput, column: Column) -> DistinctValues | None:
    """Return the distinct values in all files; None if they are not recorded for one of them."""
    found: list[DistinctValues] = []
    for index, rows in _rows_by_index(scan):
        values = index.statistics.distinct(column, rows)
        if values is None:
            return None
        found.append(values)
    if len(found) == 1:
        return found[0]
    lengths = [each.length for each in found if each.length is not None]
    longest = [each.longest for each in found if each.longest is not None]
    return DistinctValues(
        distinct_sketches.union_of(each.sketch for each in found),
        sum(lengths) if len(lengths) == len(found) else None,
        max(longest, default=None),
    )


def _rows_by_index(scan: ScanInput) -> Iterator[tuple[OpenIndex, slice | Longs]]:
    """Yield each index with the rows of the files that it describes."""
    parts: dict[int, list[Any]] = {}
    indexes: dict[int, OpenIndex] = {}
    for part in scan.parts:
        if part.index is not None:
            indexes[id(part.index)] = part.index
            parts.setdefault(id(part.index), []).append(part.rows)
    for key, index in indexes.items():
        if len(parts[key]) == 1:
            yield index, parts[key][0]
        else:
            everything = np.arange(len(index.files), dtype=np.int64)
            yield index, np.concatenate([everything[rows] for rows in parts[key]])


def _limited(
    distinct: int | None, low: Any, high: Any, data_type: DataType, values: int
) -> int | None:
    """Return the number of distinct values within what rows and bounds allow."""
    possible = values
    if data_type.is_discrete and low is not None and high is not None:
        possible = min(values, high - low + 1)
        # a single possible value, or both values of a BOOLEAN: bounds are values of rows
        if high == low or data_type.name == "boolean":
            return int(possible)
    if distinct is None:
        return None
    # As far as the sketch can tell, the column is a key, or has every possible value. Estimates of
    # joins depend on the exact number.
    is_full = distinct >= possible * (1 - 2 * distinct_sketches.STANDARD_ERROR)
    return int(possible) if is_full else max(1, distinct)


def _value(edge: Any, data_type: DataType) -> Value:
    """Return an edge as a value of its type; None if Spark cannot estimate with it.

    Spark divides by the range of a column, which must be finite, and does not convert TIMESTAMP_NTZ
    to a number (EstimationUtils.toDouble, 4.1).
    """
    if edge is None or data_type.name == "timestamp_ntz":
        return None
    if data_type.name == "boolean":
        return bool(edge)
    if data_type.is_floating:
        return float(edge) if math.isfinite(edge) else None
    if data_type.is_decimal and isinstance(edge, int):
        return from_unscaled(edge, data_type.scale or 0)
    value: Value = edge
    return value
