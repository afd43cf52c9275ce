"""Reading a file of a Delta or Iceberg table on an executor.

Imports only pyarrow, `executor` and `sources.fields`, which is pickled by value too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis.remote.executor import Task
from tamis.sources.fields import BoundField, Field, bind

__all__ = ["LakeTask"]

_ROWS = 65_536  # of a batch


@dataclass
class LakeTask(Task):
    """The rows of a file, under the names of its table.

    - `path`, `size`: the file on the machine of the executor.
    - `names`: the columns to return. A column of the file keeps the type that it has there.
    - `fields`: those of the columns that files store.
    - `constants`: for each column, its value in every row if the file does not store it.
    - `deleted`: the places of rows to leave out; None: none.
    """

    where: str
    path: str
    size: int
    names: tuple[str, ...]
    fields: tuple[Field, ...] = field(repr=False)
    constants: Mapping[str, pa.Array] = field(repr=False)
    deleted: pa.Array | None = field(default=None, repr=False)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the file.

        Raises:
            RuntimeError: The file cannot be read, or is another one than when it was planned.
        """
        try:
            yield from self._read()
        except (pa.ArrowException, OSError, ValueError) as error:
            what = next(iter(str(error).splitlines()), type(error).__name__)
            raise RuntimeError(f"{self.where}: reading {self.path} failed: {what}") from error

    def _read(self) -> Iterator[pa.RecordBatch]:
        if os.path.getsize(self.path) != self.size:
            raise ValueError("the file has changed since the query was planned")
        with pq.ParquetFile(self.path, coerce_int96_timestamp_unit="us") as file:
            bound = {
                each.field.name: each
                for each in bind(self.fields, file.schema_arrow)
                if each is not None and each.field.name in self.names
            }
            place = 0
            for rows, stored in _batches(file, [each.stored.name for each in bound.values()]):
                columns = [self._column(each, rows, stored, bound.get(each)) for each in self.names]
                batch = pa.RecordBatch.from_arrays(columns, names=list(self.names))
                yield batch if self.deleted is None else self._kept(batch, place)
                place += rows

    def _column(
        self, name: str, rows: int, stored: pa.RecordBatch | None, bound: BoundField | None
    ) -> pa.Array:
        if bound is not None and stored is not None:
            place = stored.schema.get_field_index(bound.stored.name)
            return bound.array_of(stored.column(place))
        return pa.repeat(self.constants[name][0], rows)

    def _kept(self, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        places = pa.array(range(first, first + batch.num_rows), pa.int64())
        return batch.filter(pc.invert(pc.is_in(places, value_set=self.deleted)))


def _batches(file: pq.ParquetFile, names: list[str]) -> Iterator[tuple[int, pa.RecordBatch | None]]:
    """Yield the numbers of rows, and the rows with some columns if there are any."""
    if names:
        for batch in file.iter_batches(_ROWS, columns=names):
            yield batch.num_rows, batch
        return
    for start in range(0, file.metadata.num_rows, _ROWS):
        yield min(_ROWS, file.metadata.num_rows - start), None
