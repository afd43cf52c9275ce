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

    - `columns`: those to read, by name; if the file has no such name, by a name that differs in
      letter case only. A column that the file does not have is NULL, and one that has another type
      in the file keeps that type.
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
                names = [_stored_name(each, file.schema_arrow.names) for each in self.columns.names]
                for batch in file.iter_batches(
                    columns=[each for each in names if each is not None]
                ):
                    yield self._complete(batch, names)
        except (pa.ArrowException, OSError, ValueError) as error:
            what = next(iter(str(error).splitlines()), type(error).__name__)
            raise RuntimeError(f"{self.where}: reading {self.path} failed: {what}") from error

    def _complete(self, batch: pa.RecordBatch, names: list[str | None]) -> pa.RecordBatch:
        columns = []
        for each, name in zip(self.columns, names, strict=True):
            places = [] if name is None else batch.schema.get_all_field_indices(name)
            if len(places) > 1:
                raise ValueError(f"the file has {len(places)} columns named {each.name}")
            present = batch.column(places[0]) if places else pa.nulls(batch.num_rows, each.type)
            columns.append(present)
        return pa.RecordBatch.from_arrays(columns, names=self.columns.names)


def _stored_name(name: str, stored: list[str]) -> str | None:
    """Return the name of a column in the file, or None if the file does not have it."""
    if name in stored:
        return name
    alike = [each for each in stored if each.lower() == name.lower()]
    if len(alike) > 1:
        raise ValueError(f"the file has {len(alike)} columns that differ from {name} only in case")
    return alike[0] if alike else None
