"""The rows of a part of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from tamis.publish.errors import PublishError
from tamis.sources.errors import SourceError
from tamis.sources.fields import BoundField, Field, bind
from tamis.sources.file_source import DataFile, Listing
from tamis.sources.schemas import converted

__all__ = ["Part", "PartReader"]

_ROWS: Final = 65_536  # of a batch
#: What precedes the paths of a file system.
_PREFIXES: Final = {"local": "", "s3": "s3://", "gcs": "gs://"}


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or some of its row groups.

    - `file`: the file.
    - `row_groups`: the ordinals of the row groups to read; None: the whole file.
    - `rows`: the number of rows, with deleted ones; None: unknown.
    - `size`: about how many bytes are read.
    - `matches`: for each filter, whether every row of the part passes.
    """

    file: DataFile
    row_groups: tuple[int, ...] | None
    rows: int | None
    size: int
    matches: tuple[bool, ...] = ()


@dataclass(frozen=True, eq=False)
class PartReader:
    """Reads parts of a table.

    - `table`: the table as the user has named it, for errors.
    - `schema`: the columns of the table.
    - `listing`: the files of the table.
    - `fields`: the columns that come from files.
    """

    table: str
    schema: pa.Schema
    listing: Listing
    fields: Sequence[Field]

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
        if part.file.path not in self._places:
            raise PublishError(f"{where} is no longer in the table: run the query again")
        self._require_unchanged(part.file, where)
        wanted = set(columns)
        fields = [each for each in self.schema if with_others or each.name in wanted]
        rows = 0
        try:
            deletes = self.listing.deleted.get(part.file.path)
            deleted = None if deletes is None else deletes()
            for batch, places in self._stored(part, wanted):
                rows += batch.num_rows
                published = self._published(batch, part.file, fields, wanted)
                yield published if deleted is None else _without(published, places, deleted)
        except SourceError as problem:
            raise PublishError(str(problem)) from problem
        except (OSError, pa.ArrowException, IndexError, ValueError) as problem:
            raise PublishError(f"{where} cannot be read ({problem})") from problem
        # a file that is overwritten in place while it is read
        self._require_unchanged(part.file, where)
        if part.rows is not None and rows != part.rows:
            raise PublishError(
                f"{where} has {rows} rows, but its footer states {part.rows}: rewrite the file"
            )

    def uri_of(self, file: DataFile) -> str | None:
        """Return how other engines name a file. None: only this process can read it."""
        storage = self.listing.storage
        prefix = _PREFIXES.get(storage.file_system.type_name)
        return None if prefix is None else f"{prefix}{storage.path_of(file)}"

    def is_complete(self, file: DataFile) -> bool:
        """Return whether a file has all values and no other rows than the table has from it."""
        listing = self.listing
        has_constants = listing.partitions.values or listing.absent
        return not has_constants and file.path not in listing.deleted

    @cached_property
    def _places(self) -> dict[str, int]:
        return {file.path: place for place, file in enumerate(self.listing.files)}

    def _require_unchanged(self, file: DataFile, where: str) -> None:
        storage = self.listing.storage
        try:
            now = storage.file_system.get_file_info(storage.path_of(file))
        except OSError as problem:
            raise PublishError(f"{where} cannot be read ({problem})") from problem
        if now.type == pafs.FileType.NotFound:
            raise PublishError(f"{where} was deleted after it was listed: run the query again")
        time = None if file.mtime_ns is None else now.mtime_ns or 0
        if (now.size, time) != (file.size, file.mtime_ns):
            raise PublishError(f"{where} has changed since it was listed: run the query again")

    def _stored(
        self, part: Part, wanted: set[str]
    ) -> Iterator[tuple[_StoredBatch, npt.NDArray[np.int64]]]:
        """Yield the rows as they are stored, and their places in the file."""
        storage = self.listing.storage
        path = storage.path_of(part.file)
        with (
            storage.file_system.open_input_file(path) as source,
            pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=True) as parquet,
        ):
            counts = [
                parquet.metadata.row_group(each).num_rows for each in range(parquet.num_row_groups)
            ]
            groups = range(len(counts)) if part.row_groups is None else part.row_groups
            if any(each >= len(counts) for each in groups):
                raise PublishError(
                    f"{self.table}: {part.file.path} has fewer row groups than when it was listed: "
                    "run the query again"
                )
            bound = bind(self.fields, parquet.schema_arrow)
            present = [each for each in bound if each is not None and each.field.name in wanted]
            starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            places = np.concatenate(
                [np.arange(starts[each], starts[each + 1]) for each in groups]
                or [np.array([], np.int64)]
            )
            first = 0
            for batch in _batches(parquet, list(groups), present, len(places)):
                yield batch, places[first : first + batch.num_rows]
                first += batch.num_rows

    def _published(
        self, batch: _StoredBatch, file: DataFile, fields: list[Any], wanted: set[str]
    ) -> pa.RecordBatch:
        listing = self.listing
        group = listing.partitions.group[self._places[file.path]]
        columns = []
        for field in fields:
            stored = batch.columns.get(field.name)
            constants = listing.partitions.values.get(field.name)
            if constants is None and stored is None:
                constants = listing.absent.get(field.name)
            if field.name not in wanted or (constants is None and stored is None):
                columns.append(pa.nulls(batch.num_rows, field.type))
            elif constants is not None:
                columns.append(pa.repeat(constants[group], batch.num_rows))
            else:
                columns.append(converted(stored, field.type))
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


@dataclass(frozen=True, slots=True, eq=False)
class _StoredBatch:
    """Some rows of a file, by column of the table. Columns that the file lacks are not there."""

    num_rows: int
    columns: Mapping[str, pa.Array]


def _batches(
    parquet: pq.ParquetFile, groups: list[int], present: Sequence[BoundField], rows: int
) -> Iterator[_StoredBatch]:
    if not present:
        for start in range(0, rows, _ROWS):
            yield _StoredBatch(min(_ROWS, rows - start), {})
        return
    names = [each.stored.name for each in present]
    for batch in parquet.iter_batches(_ROWS, row_groups=groups, columns=names):
        columns = {
            each.field.name: each.array_of(batch.column(batch.schema.get_field_index(name)))
            for each, name in zip(present, names, strict=True)
        }
        yield _StoredBatch(batch.num_rows, columns)


def _without(
    batch: pa.RecordBatch, places: npt.NDArray[np.int64], deleted: npt.NDArray[np.int64]
) -> pa.RecordBatch:
    """Return the rows whose places in the file are not those of deleted rows."""
    return batch.filter(pa.array(~np.isin(places, deleted)))
