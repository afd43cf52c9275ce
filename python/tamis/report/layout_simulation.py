"""Simulates a layout: sorts the rows of a sample, cuts them into files, computes statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import TamisError
from tamis.files.table import dotted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Path", "Sample", "cut", "file_table"]

Path = tuple[str, ...]

#: A smaller piece says too little about the range of a file.
_ROWS_A_PIECE: Final = 50


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Rows in the order of the layout.

    Attributes:
        table: The rows, with one column per path, named by `dotted`.
        order: The path of the first sort column.
        groups: The number of rows of each partition, in order. No file spans two partitions.
    """

    table: pa.Table
    order: Path
    groups: Sequence[int]

    @staticmethod
    def of(
        rows: DataFrame,
        cluster_by: Sequence[str],
        partition_columns: Sequence[str],
        paths: Sequence[Path],
    ) -> Sample:
        """Read these columns of the rows and sort them.

        Raises:
            TamisError: A column does not exist, or its values have no order.
        """
        order = [_resolved(name, rows) for name in cluster_by]
        partitions = [(name,) for name in partition_columns]
        wanted = list(dict.fromkeys([*partitions, *order, *paths]))
        selected = rows.selectExpr(*(f"{_quoted(path)} AS c{i}" for i, path in enumerate(wanted)))
        simple = [i for i, each in enumerate(selected.schema.fields) if _has_order(each.dataType)]
        for path in (*partitions, *order):
            if wanted.index(path) not in simple:
                raise TamisError(
                    f"rows cannot be sorted by {dotted(path)}: its values have no order. Pass "
                    "columns of another type in cluster_by."
                )
        table = selected.select(*(f"c{i}" for i in simple)).toArrow()
        named = table.rename_columns([dotted(wanted[i]) for i in simple])
        return Sample.sorted(named, [dotted(each) for each in order], partition_columns, order[0])

    @staticmethod
    def sorted(
        table: pa.Table, order: Sequence[str], partition_columns: Sequence[str], first: Path
    ) -> Sample:
        """Sort the rows by partition, and then by these columns."""
        partitions = [dotted((name,)) for name in partition_columns]
        keys = [(name, "ascending") for name in dict.fromkeys([*partitions, *order])]
        # NULLs come last, and in Spark first. They are adjacent in both cases.
        table = table.take(pc.sort_indices(table, sort_keys=keys))
        groups = [len(table)]
        if partitions and len(table):
            grouped = table.group_by(partitions, use_threads=False).aggregate([([], "count_all")])
            groups = grouped.column("count_all").to_pylist()
        return Sample(table, first, groups)


def cut(sample: Sample, files: int) -> list[int]:
    """Return the start of each piece.

    There are about `files` pieces with similar numbers of rows, or fewer if there are few rows.

    >>> rows = pa.table({"c": list(range(400))})
    >>> cut(Sample.sorted(rows, ["c"], [], ("c",)), files=4)
    [0, 100, 200, 300]
    """
    rows = len(sample.table)
    if rows == 0:
        return []
    pieces = max(1, min(files, rows // _ROWS_A_PIECE))
    starts: list[int] = []
    first = 0
    for group in sample.groups:
        of_group = max(1, round(pieces * group / rows))
        starts += [first + group * piece // of_group for piece in range(of_group)]
        first += group
    return starts


def file_table(sample: Sample, starts: Sequence[int]) -> pa.Table:
    """Return the pieces as a `files` table for tamis.evaluate: bounds and counts of each column.

    Values that the sample lacks may lie between two pieces of a partition. For the first sort
    column, they are assigned to the earlier piece: its upper bound is the lower bound of the next
    piece, if that is known. There are no NaN counts, as in footers.
    """
    table = sample.table
    stops = [*starts, len(table)][1:]
    edges = set(np.cumsum(sample.groups).tolist())
    columns: dict[str, Any] = {"num_records": pa.array(np.diff([*starts, len(table)]), pa.int64())}
    for name in table.column_names:
        whole = table.column(name).combine_chunks()
        parts = [whole.slice(a, b - a) for a, b in zip(starts, stops, strict=True)]
        bounds = [pc.min_max(each) for each in parts]
        lower = [each["min"] for each in bounds]
        upper = [each["max"] for each in bounds]
        if name == dotted(sample.order):
            for i, stop in enumerate(stops[:-1]):
                if stop not in edges and lower[i + 1].is_valid:
                    upper[i] = lower[i + 1]
        columns[f"min.{name}"] = _array(lower, whole.type)
        columns[f"max.{name}"] = _array(upper, whole.type)
        columns[f"null_count.{name}"] = pa.array([each.null_count for each in parts], pa.int64())
    return pa.table(columns)


def _array(values: Sequence[pa.Scalar], data_type: pa.DataType) -> pa.Array:
    if not values:
        return pa.array([], data_type)
    return pa.concat_arrays([pa.repeat(each, 1) for each in values])


def _resolved(name: str, rows: DataFrame) -> Path:
    """Return the path of a column by its name.

    Raises:
        TamisError: There is no such column or struct field.
    """
    fields = rows.schema.fields
    if any(each.name == name for each in fields):  # the name may contain a dot
        return (name,)
    path: list[str] = []
    for part in name.split("."):
        exact = [each for each in fields if each.name == part]
        matches = exact or [each for each in fields if each.name.lower() == part.lower()]
        if not matches:
            within = f" of {'.'.join(path)}" if path else ""
            raise TamisError(
                f"{name}: there is no field {part}{within}; "
                f"the fields are {', '.join(each.name for each in fields) or 'none'}"
            )
        path.append(matches[0].name)
        fields = getattr(matches[0].dataType, "fields", [])
    return tuple(path)


_ORDERED: Final = frozenset(
    {
        "BooleanType", "ByteType", "ShortType", "IntegerType", "LongType", "FloatType",
        "DoubleType", "DecimalType", "DateType", "TimestampType", "TimestampNTZType", "StringType",
        "BinaryType",
    }
)  # fmt: skip


def _has_order(data_type: object) -> bool:
    return type(data_type).__name__ in _ORDERED


def _quoted(path: Path) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in path)
