"""The rows of a part of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from tamis.publish.errors import PublishError
from tamis.publish.listing import DataFile
from tamis.publish.schemas import converted

__all__ = ["Part", "PartReader"]

_ROWS: Final = 65_536  # of a batch
#: What precedes the paths of a file system.
_PREFIXES: Final = {"local": "", "s3": "s3://", "gcs": "gs://"}


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or some of its row groups.

    - `file`: the file.
    - `row_groups`: the ordinals of the row groups to read; None: the whole file.
    - `rows`: the number of rows; None: unknown.
    - `size`: about how many bytes are read.
    - `matches`: for each filter, whether every row of the part passes.
    """

    file: DataFile
    row_groups: tuple[int, ...] | None
    rows: int | None
    size: int
    matches: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PartReader:
    """Reads parts of a table.

    - `file_system`, `root`: where the files are.
    - `table`: the table as the user has named it, for errors.
    - `schema`: the columns of the table.
    - `constants`: the partition values of a directory.
    """

    file_system: pafs.FileSystem
    root: str
    table: str
    schema: pa.Schema
    constants: Mapping[str, Mapping[str, pa.Scalar]]

    def batches(
        self, part: Part, columns: Sequence[str], *, with_others: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part.

        Args:
            part: The part.
            columns: The columns to read.
            with_others: Also return all other columns of the table, as NULL, in its order.

        Raises:
            PublishError: The file has changed, or cannot be read. Rows that were yielded before
                are then not the rows of the part.
        """
        where = f"{self.table}: {part.file.path}"
        if part.file.directory not in self.constants:
            raise PublishError(f"{where} is not in the table any more: run the query again")
        self._require_unchanged(part.file, where)
        wanted = set(columns)
        fields = [each for each in self.schema if with_others or each.name in wanted]
        rows = 0
        try:
            for batch in self._stored(part, wanted):
                rows += batch.num_rows
                yield self._published(batch, part.file, fields, wanted)
        except (OSError, pa.ArrowException, IndexError) as problem:
            raise PublishError(f"{where} cannot be read ({problem})") from problem
        # a file that is overwritten in place while it is read
        self._require_unchanged(part.file, where)
        if part.rows is not None and rows != part.rows:
            raise PublishError(
                f"{where} has {rows} rows, but its footer states {part.rows}: rewrite the file"
            )

    def uri_of(self, file: DataFile) -> str | None:
        """Return how other engines name a file. None: only this process can read it."""
        prefix = _PREFIXES.get(self.file_system.type_name)
        return None if prefix is None else f"{prefix}{self.root}/{file.path}"

    def _require_unchanged(self, file: DataFile, where: str) -> None:
        try:
            now = self.file_system.get_file_info(f"{self.root}/{file.path}")
        except OSError as problem:
            raise PublishError(f"{where} cannot be read ({problem})") from problem
        if now.type == pafs.FileType.NotFound:
            raise PublishError(f"{where} was deleted after it was listed: run the query again")
        if (now.size, now.mtime_ns or 0) != (file.size, file.mtime_ns):
            raise PublishError(f"{where} has changed since it was listed: run the query again")

    def _stored(self, part: Part, wanted: set[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows with all columns of the file that are wanted, and perhaps others."""
        folded = {
            name.lower() for name in wanted if name not in self.constants[part.file.directory]
        }
        path = f"{self.root}/{part.file.path}"
        with (
            self.file_system.open_input_file(path) as source,
            pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=True) as parquet,
        ):
            groups = range(parquet.num_row_groups) if part.row_groups is None else part.row_groups
            if any(each >= parquet.num_row_groups for each in groups):
                raise PublishError(
                    f"{self.table}: {part.file.path} has fewer row groups than when it was listed: "
                    "run the query again"
                )
            present = [name for name in parquet.schema_arrow.names if name.lower() in folded]
            if present:
                yield from parquet.iter_batches(_ROWS, row_groups=list(groups), columns=present)
                return
            rows = sum(parquet.metadata.row_group(each).num_rows for each in groups)
        for start in range(0, rows, _ROWS):
            yield pa.record_batch({"": pa.nulls(min(_ROWS, rows - start))})

    def _published(
        self, batch: pa.RecordBatch, file: DataFile, fields: list[Any], wanted: set[str]
    ) -> pa.RecordBatch:
        constants = self.constants[file.directory]
        places = {name.lower(): place for place, name in enumerate(batch.schema.names)}
        columns = []
        for field in fields:
            if field.name not in wanted:
                columns.append(pa.nulls(batch.num_rows, field.type))
            elif field.name in constants:
                columns.append(pa.repeat(constants[field.name], batch.num_rows))
            elif field.name.lower() in places:
                column = batch.column(places[field.name.lower()])
                columns.append(converted(column, field.type))
            else:
                columns.append(pa.nulls(batch.num_rows, field.type))
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
