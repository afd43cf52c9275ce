"""The footers of files. Each footer is read once, as long as its file does not change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from tamis.indexing.executor.columns_schema import Leaf, is_known
from tamis.indexing.executor.decoding import reads_old_dates_unchanged
from tamis.indexing.executor.footers import Footer, FooterReader
from tamis.publish.errors import PublishError
from tamis.publish.listing import DataFile
from tamis.publish.schemas import file_schema, merged
from tamis.wire.duckdb.arrow_types import schema_types
from tamis.wire.duckdb.types import LogicalType

__all__ = ["FileFooter", "Footers", "leaves_of"]

_CONCURRENT: Final = 16  # the threads wait for storage rather than compute


@dataclass(frozen=True, slots=True)
class FileFooter:
    """The footer of a file.

    - `statistics`: bounds and null counts per file and row group.
    - `sizes`: the compressed bytes of each row group.
    - `schema`: its columns in published types.
    - `is_plain`: whether the file has exactly these types, so that any reader returns them.
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
        file_system: The file system.
        root: The directory of the table, as a path of the file system.
        table: The table as the user has named it, for errors.
    """

    def __init__(self, file_system: pafs.FileSystem, root: str, table: str) -> None:
        self._file_system = file_system
        self._root = root
        self._table = table
        self._schema = pa.schema([])
        self._known: dict[DataFile, FileFooter] = {}

    def read(
        self, files: Sequence[DataFile], partitions: Collection[str]
    ) -> tuple[pa.Schema, tuple[FileFooter, ...]]:
        """Return the schema of the data columns, and the footers of the files.

        Args:
            files: The files.
            partitions: The partition columns, which replace columns of the files.

        Raises:
            PublishError: A file cannot be read, or the files have no common schema.
        """
        metadata = dict(self._metadata([each for each in files if each not in self._known]))
        schemas = [
            (
                each.path,
                self._known[each].schema
                if each in self._known
                else file_schema(metadata[each].schema, self._where(each)),
            )
            for each in files
        ]
        replaced = {name.lower() for name in partitions}
        schema = pa.schema(
            [each for each in merged(schemas, self._table) if each.name.lower() not in replaced]
        )
        if schema != self._schema:
            # statistics are read in the types of the table
            metadata.update(self._metadata([each for each in files if each not in metadata]))
        reader = FooterReader(leaves_of(schema), case_sensitive=False)
        shared: dict[pa.Schema, pa.Schema] = {}
        known = {
            file: _footer(metadata[file], reader, shared.setdefault(own, own))
            if file in metadata
            else self._known[file]
            for file, (_, own) in zip(files, schemas, strict=True)
        }
        self._schema, self._known = schema, known
        return schema, tuple(known.values())

    def _metadata(self, files: Sequence[DataFile]) -> Iterator[tuple[DataFile, pq.FileMetaData]]:
        with ThreadPoolExecutor(_CONCURRENT) as pool:
            yield from zip(files, pool.map(self._read, files), strict=True)

    def _read(self, file: DataFile) -> pq.FileMetaData:
        try:
            with self._file_system.open_input_file(f"{self._root}/{file.path}") as source:
                if source.size() != file.size:
                    raise PublishError(
                        f"{self._where(file)} has changed since it was listed: try again"
                    )
                return pq.read_metadata(source)
        except (OSError, pa.ArrowException) as problem:
            raise PublishError(f"{self._where(file)} cannot be read ({problem})") from problem

    def _where(self, file: DataFile) -> str:
        return f"{self._table}: {file.path}"


def _footer(metadata: pq.FileMetaData, reader: FooterReader, schema: pa.Schema) -> FileFooter:
    stored = metadata.schema.to_arrow_schema()
    leaves = {metadata.schema.column(i).physical_type for i in range(metadata.num_columns)}
    return FileFooter(
        reader.read(metadata),
        tuple(_compressed(metadata.row_group(i)) for i in range(metadata.num_row_groups)),
        schema,
        is_plain=stored.equals(schema) and "INT96" not in leaves,
        keeps_old_dates=reads_old_dates_unchanged(metadata.metadata),
    )


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
