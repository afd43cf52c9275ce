"""Reading a Parquet file on an executor. Imports only pyarrow and `executor`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.remote.executor import Task

__all__ = ["ParquetTask"]


@dataclass
class ParquetTask(Task):
    """The rows of a file on the machine of the executor.

    - `columns`: those to read, by name. One that the file does not have is NULL, and one that has
      another type in the file keeps that type.
    """

    where: str
    path: str
    columns: pa.Schema = field(repr=False)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the file.

        Raises:
            RuntimeError: The file cannot be read.
        """
        try:
            with pq.ParquetFile(self.path) as file:
                present = [name for name in self.columns.names if name in file.schema_arrow.names]
                for batch in file.iter_batches(columns=present):
                    yield self._complete(batch)
        except (pa.ArrowException, OSError, ValueError) as error:
            what = next(iter(str(error).splitlines()), type(error).__name__)
            raise RuntimeError(f"{self.where}: reading {self.path} failed: {what}") from error

    def _complete(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = []
        for each in self.columns:
            places = batch.schema.get_all_field_indices(each.name)
            if len(places) > 1:
                raise ValueError(f"the file has {len(places)} columns named {each.name}")
            present = batch.column(places[0]) if places else pa.nulls(batch.num_rows, each.type)
            columns.append(present)
        return pa.RecordBatch.from_arrays(columns, names=self.columns.names)
