"""The footers of files. Each footer is read once, as long as its file does not change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.indexing.executor.columns_schema import Leaf, is_known
from tamis.indexing.executor.decoding import reads_old_dates_unchanged
from tamis.indexing.executor.footers import Footer
from tamis.publish.errors import PublishError
from tamis.sources.fields import Bound, Field, fields_of, ids_of, table_schema
from tamis.sources.file_source import DataFile, Listing, Storage
from tamis.sources.footer_binding import BoundFooterReader, bound_to
from tamis.sources.schemas import file_schema, merged
from tamis.wire.duckdb.arrow_types import schema_types
from tamis.wire.duckdb.types import LogicalType

__all__ = ["FileFooter", "Footers", "leaves_of"]

_CONCURRENT: Final = 16  # the threads wait for storage rather than compute


@dataclass(frozen=True, slots=True)
class FileFooter:
    """The footer of a file.

    - `statistics`: bounds and null counts per file and row group.
    - `sizes`: the compressed bytes of each row group.
    - `schema`: its columns in published types, under their names in the file.
    - `is_plain`: whether the file has exactly these types, and only columns of the table, with the
      names that they have in the table, so that any reader returns them.
    - `keeps_old_dates`: whether Spark reads dates of other calendars as they are stored.
    """

    statistics: Footer
    sizes: tuple[int, ...]
    schema: pa.Schema
    is_plain: bool
    keeps_old_dates: bool


class Footers:
    """The footers of the files of one table.

    Args:
        table: The table as the user has named it, for errors.
    """

    def __init__(self, table: str) -> None:
        self._table = table
        self._fields: tuple[Field, ...] = ()
        self._known: dict[DataFile, FileFooter] = {}

    def read(self, listing: Listing) -> tuple[tuple[Field, ...], tuple[FileFooter, ...]]:
        """Return the columns that come from files, and the footers of the files.

        Raises:
            PublishError: A file cannot be read.
            SourceError: The columns of a file are not those of the table.
        """
        files, storage = listing.files, listing.storage
        unknown = [each for each in files if each not in self._known or not each.has_time]
        metadata = dict(self._metadata(unknown, storage))
        schemas = {
            each: file_schema(metadata[each].schema, self._where(each))
            if each in metadata
            else self._known[each].schema
            for each in files
        }
        fields = self._columns(listing, schemas)
        if fields != self._fields:
            # statistics are read in the types of the table
            rest = [each for each in files if each not in metadata]
            metadata.update(self._metadata(rest, storage))
        readers = _Readers(fields, is_declared=listing.columns is not None)
        shared: dict[pa.Schema, pa.Schema] = {}
        known = {}
        for place, (file, own) in enumerate(schemas.items()):
            if file not in metadata:
                known[file] = self._known[file]
                continue
            group = listing.partitions.group[place]
            absent = {name: values[group] for name, values in listing.absent.items()}
            schema = shared.setdefault(own, own)
            known[file] = readers.footer(metadata[file], schema, absent, self._where(file))
        self._fields, self._known = fields, known
        return fields, tuple(known.values())

    def _columns(
        self, listing: Listing, schemas: Mapping[DataFile, pa.Schema]
    ) -> tuple[Field, ...]:
        """Return the columns of the table without those that have partition values."""
        fields = listing.columns
        if fields is None:
            paths = [(file.path, schema) for file, schema in schemas.items()]
            fields = fields_of(merged(paths, self._table))
        replaced = {name.lower() for name in listing.partitions.values}
        return tuple(each for each in fields if each.name.lower() not in replaced)

    def _metadata(
        self, files: Sequence[DataFile], storage: Storage
    ) -> Iterator[tuple[DataFile, pq.FileMetaData]]:
        with ThreadPoolExecutor(_CONCURRENT) as pool:
            read = pool.map(lambda file: self._read(file, storage), files)
            yield from zip(files, read, strict=True)

    def _read(self, file: DataFile, storage: Storage) -> pq.FileMetaData:
        try:
            with storage.file_system.open_input_file(storage.path_of(file)) as source:
                if source.size() != file.size:
                    raise PublishError(
                        f"{self._where(file)} has changed since it was listed: try again"
                    )
                return pq.read_metadata(source)
        except FileNotFoundError as problem:
            raise PublishError(
                f"{self._where(file)} does not exist, but is a file of the table: run the query "
                "again, or restore the file"
            ) from problem
        except (OSError, pa.ArrowException) as problem:
            raise PublishError(f"{self._where(file)} cannot be read ({problem})") from problem

    def _where(self, file: DataFile) -> str:
        return f"{self._table}: {file.path}"


class _Readers:
    """Reads footers in the columns of a table. Files with the same columns share the work.

    Args:
        fields: The columns of the table that come from files.
        is_declared: Whether they come from the format of the table, not from the files.
    """

    def __init__(self, fields: tuple[Field, ...], *, is_declared: bool) -> None:
        self._fields = fields
        self._is_declared = is_declared
        self._reader = BoundFooterReader(leaves_of(table_schema(fields)))
        self._bound: dict[tuple[object, ...], Bound] = {}

    def footer(
        self,
        metadata: pq.FileMetaData,
        schema: pa.Schema,
        absent: Mapping[str, pa.Scalar],
        where: str,
    ) -> FileFooter:
        """Return the footer of a file.

        Args:
            metadata: The footer as pyarrow reads it.
            schema: The columns of the file in published types.
            absent: The values of columns that the file may lack, other than NULL.
            where: The file, for errors.
        """
        stored = metadata.schema.to_arrow_schema()
        bound = self._bound_to(stored, schema, where)
        physical = {metadata.schema.column(i).physical_type for i in range(metadata.num_columns)}
        own = {
            each.field.name: each.type_of(schema.field(each.place).type) for each in bound if each
        }
        is_same = own == dict(zip(schema.names, schema.types, strict=True))
        return FileFooter(
            self._reader.read(metadata, bound, absent),
            tuple(_compressed(metadata.row_group(i)) for i in range(metadata.num_row_groups)),
            schema,
            is_plain=is_same and stored.equals(schema) and "INT96" not in physical,
            keeps_old_dates=reads_old_dates_unchanged(metadata.metadata),
        )

    def _bound_to(self, stored: pa.Schema, schema: pa.Schema, where: str) -> Bound:
        key = (stored, ids_of(stored), schema)  # equal schemas may have different ids
        if key not in self._bound:
            self._bound[key] = bound_to(
                self._fields, stored, schema if self._is_declared else None, where
            )
        return self._bound[key]


def _compressed(group: pq.RowGroupMetaData) -> int:
    try:
        return sum(group.column(i).total_compressed_size for i in range(group.num_columns))
    except (OSError, pa.ArrowException):  # an encrypted column
        return int(group.total_byte_size)


def leaves_of(schema: pa.Schema) -> tuple[Leaf, ...]:
    """Return the leaf columns that can have statistics, in the types in which filters name them.

    >>> leaves_of(pa.schema({"a": pa.uint8(), "s": pa.struct({"b": pa.date32()})}))
    (Leaf(path=('a',), type='short', ...), Leaf(path=('s', 'b'), type='date', ...))
    """
    leaves = [
        leaf
        for name, data_type in schema_types(schema).items()
        for leaf in _leaves((name,), data_type)
    ]
    names = [leaf.name for leaf in leaves]
    return tuple(leaf for leaf in leaves if names.count(leaf.name) == 1)


def _leaves(path: tuple[str, ...], data_type: LogicalType) -> Iterator[Leaf]:
    for name, field in data_type.fields:
        yield from _leaves((*path, name), field)
    if data_type.line is not None and is_known(str(data_type.data_type)):
        yield Leaf(path, str(data_type.data_type))
