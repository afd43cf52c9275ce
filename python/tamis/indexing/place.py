"""Where the index of a table is, and the list of what it records."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, TypeAlias

from tamis.errors import StatisticsIndexError, warn_caller
from tamis.indexing.build.current_index import held_by
from tamis.indexing.build.listing import (
    TableListing,
    cache_location,
    conf_of,
    index_location,
    list_table,
    storage_settings,
)
from tamis.indexing.build.table_reader import TableReader
from tamis.indexing.format.recording_spec import RecordingSpec
from tamis.indexing.format.specification import FORMAT as SPECIFICATION_FORMAT
from tamis.indexing.format.specification import Specification, SpecificationFile
from tamis.indexing.format.store import Store
from tamis.indexing.problems import IndexUnusable
from tamis.indexing.read.automatic_location import location_of, maintained_location
from tamis.indexing.read.command_options import command_options
from tamis.indexing.storage import StorageUnreachableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.readwriter import DataFrameReader


#: Columns whose footer statistics are read; None: all.
Selected: TypeAlias = Sequence[str] | None
#: Attempts to write a specification while other processes commit builds.
ATTEMPTS: Final = 10


class IndexPlace:
    """A table, the place of its index, and the list of what the index records."""

    def __init__(
        self,
        spark: SparkSession,
        path_or_table: str | os.PathLike[str],
        reader: DataFrameReader | None = None,
    ) -> None:
        self._spark = spark
        self._target = _text_of(path_or_table)
        self._reader = reader
        self._location: str | None = None
        self._is_changed = False

    @property
    def directory(self) -> str | None:
        """The directory of indexes; None: the index is in the directory of the table.

        Nothing is written into the directory of a Delta or Iceberg table. If there is no other
        directory, its index is in the cache directory.
        """
        return self._location or index_location(self._spark)

    def _directory_for(self, listing: TableListing) -> str | None:
        directory = self.directory
        if directory is not None or listing.table_format is None:
            return directory
        directory = maintained_location(cache_location(self._spark))
        if directory is None:
            raise StatisticsIndexError(
                f"the index of {self._target} cannot be in the cache directory, which cannot be "
                "used: set spark.tamis.index.location"
            )
        return directory

    @property
    def is_changed(self) -> bool:
        """Whether this object has changed the index or dropped it."""
        return self._is_changed

    @property
    def spark(self) -> SparkSession:
        """The session that reads the files."""
        return self._spark

    @property
    def target(self) -> str:
        """The path or table, as the user named it."""
        return self._target

    def _list(self) -> TableListing:
        return list_table(self._spark, self._target, self._reader)

    def _store(self, listing: TableListing) -> Store:
        return Store.at(
            listing.root,
            self._directory_for(listing),
            storage_settings(self._spark),
            command_options(listing.reading),
        )

    def _specification(self, listing: TableListing) -> SpecificationFile | None:
        """Return the file of the specification of this index; None if it cannot be reached."""
        try:
            directory = self._directory_for(listing)
            return SpecificationFile.at(listing.root, directory, storage_settings(self._spark))
        except StorageUnreachableError:
            return None

    def _requested(self, listing: TableListing) -> tuple[Selected, RecordingSpec] | None:
        """Return what the index should hold, from the index or else from its specification.

        Returns None if it is unknown.

        Raises:
            IndexUnusable: The index must not be overwritten.
        """
        store = self._store(listing)
        held = held_by(store)
        if held is not None:
            return held.pointer.selected, held.spec
        specification = self._specification(listing)
        kept = None if specification is None else specification.read()
        if kept is not None:
            return kept.selected, kept.recorded
        try:
            # only the row statistics are damaged
            return store.pointer().selected, RecordingSpec(fills_gaps=True)
        except IndexUnusable:
            return None

    def _keep_specification(self, listing: TableListing, store: Store) -> None:
        """Write the specification of the current index, whichever process built it.

        Of concurrent builds, the one that ends last finds the current index and keeps that.
        """
        file = self._specification(listing)
        if file is None:
            return
        try:
            for _ in range(ATTEMPTS):
                held = held_by(store)
                if held is None:
                    return
                pointer = held.pointer
                file.write(
                    Specification(
                        SPECIFICATION_FORMAT,
                        file.root,
                        pointer.name,
                        pointer.selected,
                        held.spec,
                    )
                )
                current = store.current()
                if current is not None and current.name == pointer.name:
                    return
        except (OSError, StatisticsIndexError) as problem:
            warn_caller(
                f"the columns and expressions that the index of {listing.root} records cannot be "
                f"saved in {file.path} ({problem}). Make the directory of this file writable, or "
                "set spark.tamis.index.location. Otherwise refresh() cannot restore the index "
                "after an overwrite of the table.",
            )

    def _reader_of(self, listing: TableListing) -> TableReader:
        return TableReader(self._spark, self._target, listing)

    def _automatic_location(self, listing: TableListing) -> str | None:
        """Return where queries of this session keep the automatic index; None if they do not."""
        is_off = conf_of(self._spark, "spark.tamis.index.auto") == "off"
        if is_off or listing.reading is not None or listing.table_format is not None:
            return None
        cache = cache_location(self._spark)
        return location_of(cache, listing.schema, listing.case_sensitive)


def _text_of(path_or_table: str | os.PathLike[str]) -> str:
    """Return the text for Spark. Paths are made absolute: one without a slash means a table."""
    if isinstance(path_or_table, PurePath):
        return os.path.abspath(path_or_table)
    return os.fspath(path_or_table)
