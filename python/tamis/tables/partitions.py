"""Statistics from the directories of a listing: the partition values of each file."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, Bounds, Flags
from tamis.evaluation.domain.exact_counts import ATTAINED, UNCERTAIN, Certain
from tamis.evaluation.statistics import Grouped, Members, Passing, Recorded, Statistics, Subject
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.files.bounds import constant_bounds
from tamis.indexing.executor.columns_schema import Leaf, arrow_type, is_known


@dataclass(frozen=True, slots=True, eq=False)
class DirectoryStatistics(Statistics):
    """Statistics with one container per directory, whose rows share their partition values.

    - `values`: the partition values by column name. A null cell means that the value *is* NULL in
      every row, because the listing is authoritative.
    - `types`: the type of each partition column, None if it is not understood.
    """

    directories: int
    values: dict[str, pa.Array]
    types: dict[str, DataType | None]
    case_sensitive: bool
    _bounds: dict[str, Bounds] = field(default_factory=dict)

    @property
    def num_containers(self) -> int:
        return self.directories

    def names(self, column: Column) -> str | None:
        """Return the name of a partition column as in the listing, None for any other column."""
        if len(column.path) != 1:
            return None
        name = column.path[0]
        if name in self.types:
            return name
        if self.case_sensitive:
            return None
        return next((each for each in self.types if each.lower() == name.lower()), None)

    def bounds(self, column: Column) -> Bounds:
        name = self.names(column)
        values = None if name is None else self.values.get(name)
        if name is None or values is None or self.types[name] != column.type:
            return Bounds.unknown(column.type)
        if name not in self._bounds:
            self._bounds[name] = _constants(column.type, values)
        return self._bounds[name]


def _constants(data_type: DataType, values: pa.Array) -> Bounds:
    if not is_known(str(data_type)):
        return Bounds.unknown(data_type)
    expected = arrow_type(Leaf(("value",), str(data_type)))
    text = data_type.is_text and (pa.types.is_string(values.type) or values.type == expected)
    if not text and values.type != expected:
        return Bounds.unknown(data_type)
    return constant_bounds(data_type, values)


@dataclass(frozen=True, slots=True, eq=False)
class FileStatistics(Statistics):
    """Files of a listing: partition columns come from their directories, the rest from an index.

    - `directory`: the directory of each file.
    - `columns`: the statistics of the index, None if no index describes these files.
    - `is_shadowed`: whether a partition column has the name of a column of the index. An expression
      that the index recorded may then be one over the other column.
    """

    partitions: DirectoryStatistics
    directory: npt.NDArray[np.int32]
    columns: Statistics | None
    is_shadowed: bool = False

    @property
    def num_containers(self) -> int:
        return len(self.directory)

    def bounds(self, column: Column) -> Bounds:
        if self.partitions.names(column) is not None:
            return self.partitions.bounds(column).take(self.directory.astype(np.intp))
        if self.columns is None:
            return Bounds.unknown(column.type)
        return self.columns.bounds(column)

    def expression(self, key: Recorded) -> Bounds | None:
        if self.columns is None or self.is_shadowed:
            return None
        return self.columns.expression(key)

    def members(self, subject: Subject) -> Members | None:
        if self.columns is None:
            return None
        if isinstance(subject, Column) and self.partitions.names(subject) is not None:
            return None  # its bounds are already its single value
        if isinstance(subject, str) and self.is_shadowed:
            return None
        return self.columns.members(subject)

    def certain(self, column: Column) -> Certain:
        if self.partitions.names(column) is not None:
            return ATTAINED  # every row has the value of its directory
        return UNCERTAIN if self.columns is None else self.columns.certain(column)

    def attained(self, passing: Passing) -> Flags:
        if self.columns is None or self.is_shadowed:
            return NO
        return self.columns.attained(passing)

    def empty(self) -> Flags | None:
        return None if self.columns is None else self.columns.empty()

    def grouped(self) -> tuple[Grouped, ...]:
        return () if self.columns is None or self.is_shadowed else self.columns.grouped()

    def slice(self, start: int, stop: int) -> Statistics:
        return FileStatistics(
            self.partitions,
            self.directory[start:stop],
            None if self.columns is None else self.columns.slice(start, stop),
            self.is_shadowed,
        )

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return FileStatistics(
            self.partitions,
            self.directory[ordinals],
            None if self.columns is None else self.columns.take(ordinals),
            self.is_shadowed,
        )
