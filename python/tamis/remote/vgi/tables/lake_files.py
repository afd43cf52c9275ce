"""The files of a branch that is a Delta or Iceberg table, as tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from tamis.evaluation import NONE, verdicts
from tamis.expr.nodes import Expr
from tamis.expr.rewrites import TRUE
from tamis.files.table import ArrowStatistics
from tamis.indexing.executor.executor_job import files_table
from tamis.remote.contract import ColumnStatistics, TableStatistics
from tamis.remote.file_pruning import leaves_of
from tamis.remote.proof import rules_out_all
from tamis.remote.vgi.protocol.framing import READ_FAILURES
from tamis.remote.vgi.tables.lake_task import LakeTask
from tamis.remote.vgi.transports.connection import one_line
from tamis.sources.delta import DeltaSource
from tamis.sources.errors import SourceError
from tamis.sources.fields import Field, table_schema
from tamis.sources.file_source import DataFile, FileSource, Listing
from tamis.sources.footer_binding import BoundFooterReader, bound_to
from tamis.sources.iceberg import IcebergSource
from tamis.sources.recognition import open_source
from tamis.sources.schemas import file_schema

__all__ = ["FORMATS", "LakeFiles"]

#: The formats of branches, and the functions of DuckDB that read them.
FORMATS: Final = {
    "delta": "delta",
    "delta_scan": "delta",
    "iceberg": "iceberg",
    "iceberg_scan": "iceberg",
}
_SOURCES: Final[dict[str, type[FileSource]]] = {"delta": DeltaSource, "iceberg": IcebergSource}


class LakeFiles:
    """The files of a table at one version.

    Args:
        name: The branch, for errors.
        path: The table on this machine.
        kind: `delta` or `iceberg`.
        where: The server and the table, for errors of executors.

    Raises:
        SourceError: It is not such a table, or cannot be read.
    """

    def __init__(self, name: str, path: str, kind: str, where: str) -> None:
        self._name = name
        self._where = where
        source = open_source(path, f"{name}: {path}")
        if not isinstance(source, _SOURCES[kind]):
            raise SourceError(f"{name}: {path} is not a table of the format {kind}")
        if isinstance(source, IcebergSource):
            source.keep_statistics()
        self._listing = source.listing()
        if not isinstance(self._listing.storage.file_system, pafs.LocalFileSystem):
            raise SourceError(f"{name}: {path} has files that are not local")
        assert self._listing.columns is not None  # of these formats
        self._columns = self._listing.columns

    @property
    def columns(self) -> pa.Schema:
        """The columns of the table."""
        return table_schema(self._columns)

    def tasks(self, names: tuple[str, ...], whole: Expr) -> Iterator[LakeTask]:
        """Yield the files that may have rows for which a predicate is true.

        Args:
            names: The columns to read. If there is none, the first column of the table is read,
                because a batch without columns would not know its number of rows.
            whole: The predicate.

        Raises:
            SourceError: A file cannot be read, or does not fit the table.
        """
        names = names or (self._columns[0].name,)
        listing = self._listing
        fields = tuple(each for each in self._columns if each.name not in listing.partitions.values)
        columns = [each for each in self._columns if each.name in names]
        # A column with a name in another case is not known, rather than absent.
        leaves = [each for each in leaves_of([whole]) if _has(self._columns, each.path)]
        reader = BoundFooterReader(leaves)
        ruled_out = None
        if whole != TRUE and listing.ruled_out is not None:
            ruled_out = listing.ruled_out(whole)
        for place, file in enumerate(listing.files):
            if ruled_out is not None and ruled_out[place]:
                continue
            if whole != TRUE and rules_out_all([whole], _of_partition(listing, place)):
                continue
            where = f"{self._name}: {file.path}"
            metadata = self._metadata(file, where)
            published = file_schema(metadata.schema, where)
            bound = bound_to(fields, metadata.schema.to_arrow_schema(), published, where)
            values = _values(listing, place)
            footer = reader.read(metadata, bound, values)
            statistics = ArrowStatistics(files_table([0], [footer], leaves))
            if whole != TRUE and verdicts(whole, statistics)[0] == NONE:
                continue
            deleted = listing.deleted.get(file.path)
            yield LakeTask(
                self._where,
                listing.storage.path_of(file),
                file.size,
                names,
                tuple(each for each in fields if each.name in names),
                {each.name: _constant(each, values) for each in columns},
                None if deleted is None else pa.array(deleted(), pa.int64()),
            )

    def _metadata(self, file: DataFile, where: str) -> pq.FileMetaData:
        try:
            return pq.read_metadata(self._listing.storage.path_of(file))
        except READ_FAILURES as error:
            raise SourceError(f"{where} cannot be read ({one_line(error)})") from error


def _has(fields: Sequence[Field], path: tuple[str, ...]) -> bool:
    """Return whether fields have a path with these very names."""
    below = [each for each in fields if each.name == path[0]]
    return bool(below) and (len(path) == 1 or _has(below[0].children, path[1:]))


def _of_partition(listing: Listing, place: int) -> TableStatistics:
    """Return the bounds that the partition values of a file give its rows."""
    group = listing.partitions.group[place]
    columns = {}
    for name, values in listing.partitions.values.items():
        value = values[group]
        if not value.is_valid:
            columns[name] = ColumnStatistics(has_nulls=True, has_values=False)
        elif not pa.types.is_floating(value.type):  # NaN is not a bound
            columns[name] = ColumnStatistics(value, value, has_nulls=False, has_values=True)
    return TableStatistics(columns=columns)


def _values(listing: Listing, place: int) -> dict[str, pa.Scalar]:
    """Return the partition values of a file, and the values of columns that it may lack."""
    group = listing.partitions.group[place]
    known = {**listing.absent, **listing.partitions.values}
    return {name: values[group] for name, values in known.items()}


def _constant(field: Field, values: dict[str, pa.Scalar]) -> pa.Array:
    value = values.get(field.name)
    return pa.nulls(1, field.type) if value is None else pa.repeat(value, 1)
