"""The files of several manifests together, in one order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.tables.iceberg.manifest import Manifest, ManifestFile, MetricKind, partition_column

__all__ = ["Entries", "MetricValues", "PartitionColumn"]

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class MetricValues:
    """The known values of one metric of a column, and the ordinals of their files."""

    places: Places
    values: pa.Array


@dataclass(frozen=True, slots=True, eq=False)
class PartitionColumn:
    """The values of a partition field, one per file.

    `known` says of which files: those whose manifest has the field in a usable type. There, a null
    means that the value is NULL.
    """

    values: pa.Array
    known: npt.NDArray[np.bool_]


class Entries:
    """The live files of manifests, ordered by location.

    Args:
        manifests: The manifests, each with its entry of the manifest list.
    """

    def __init__(self, manifests: Sequence[tuple[ManifestFile, Manifest]]) -> None:
        self._manifests = manifests
        lengths = [len(each) for _, each in manifests]
        self._starts = np.append(0, np.cumsum(lengths)).astype(np.intp)
        locations = self._concatenated("location", pa.string())
        order = pc.sort_indices(locations).to_numpy()
        self._order = order.astype(np.intp)
        self._place = np.empty(len(order), np.intp)  # in this order, by place in the manifests
        self._place[self._order] = np.arange(len(order))
        self.locations: pa.Array = locations.take(pa.array(order))

    def __len__(self) -> int:
        return len(self._order)

    def column(self, name: str, data_type: pa.DataType) -> pa.Array:
        """Return a column of `Manifest.files`."""
        return self._concatenated(name, data_type).take(pa.array(self._order))

    @property
    def manifests(self) -> tuple[str, ...]:
        """The locations of the manifests."""
        return tuple(each.location for each, _ in self._manifests)

    def manifest_places(self) -> npt.NDArray[np.int64]:
        """Return the place of the manifest of each file in `manifests`."""
        places = np.repeat(np.arange(len(self._manifests)), np.diff(self._starts))
        of_files: npt.NDArray[np.int64] = places[self._order]
        return of_files

    def of_manifest(self, value: Callable[[ManifestFile], int]) -> npt.NDArray[np.int64]:
        """Return a number of the manifest of each file."""
        values = np.array([value(each) for each, _ in self._manifests], np.int64)
        of_files: npt.NDArray[np.int64] = values[self.manifest_places()]
        return of_files

    def metric(self, kind: MetricKind, field_id: int) -> MetricValues | None:
        """Return a metric of a column; None if no file has it."""
        places, values = [], []
        for start, (_, manifest) in zip(self._starts, self._manifests, strict=False):
            metrics = manifest.metrics.get(kind)
            of_column = None if metrics is None else metrics.of(field_id)
            if of_column is None:
                continue
            rows, of_rows = of_column
            chosen = slice(start, start + len(manifest)) if rows is None else rows + start
            places.append(self._place[chosen])
            values.append(of_rows)
        if not values:
            return None
        return MetricValues(np.concatenate(places), pa.concat_arrays(values))

    def partition(
        self,
        spec_id: int,
        field_id: int,
        convert: Callable[[pa.Array], pa.Array | None],
        empty: Any,
    ) -> PartitionColumn | None:
        """Return the values of a field of one partition spec.

        Args:
            spec_id: The spec.
            field_id: The field id of the partition field.
            convert: Converts the values of one manifest; None if their type is not usable.
            empty: The Arrow type of what `convert` returns.

        Returns:
            The values, not known for files of other specs. None if they are known for no file.
        """
        known = np.zeros(len(self), np.bool_)
        chunks = []
        for start, (entry, manifest) in zip(self._starts, self._manifests, strict=False):
            values = None
            name = partition_column(field_id)
            if entry.spec_id == spec_id and name in manifest.files.column_names:
                values = convert(_whole(manifest.files.column(name)))
            if values is None:
                values = pa.nulls(len(manifest), empty)
            else:
                known[self._place[start : start + len(manifest)]] = True
            chunks.append(values)
        if not known.any():
            return None
        return PartitionColumn(pa.concat_arrays(chunks).take(pa.array(self._order)), known)

    def partition_keys(self, specs: Mapping[int, Sequence[int]]) -> list[tuple[object, ...] | None]:
        """Return the partition values of each file as a key; None if they are not known.

        Equal partitions have equal keys. Args: `specs`: the field ids of each spec.
        """
        keys: list[tuple[object, ...] | None] = []
        for entry, manifest in self._manifests:
            names = [partition_column(each) for each in specs.get(entry.spec_id, ())]
            if entry.spec_id not in specs or not set(names) <= set(manifest.files.column_names):
                keys.extend([None] * len(manifest))
            elif not names:
                keys.extend([()] * len(manifest))
            else:
                columns = (_comparable(_whole(manifest.files.column(name))) for name in names)
                keys.extend(zip(*columns, strict=True))
        return [keys[place] for place in self._order.tolist()]

    def _concatenated(self, name: str, data_type: pa.DataType) -> pa.Array:
        chunks = [_whole(each.files.column(name)) for _, each in self._manifests]
        return pa.concat_arrays(chunks) if chunks else pa.nulls(0, data_type)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def _comparable(values: pa.Array) -> list[object]:
    """Return values that are equal if the partition values are, in the form of any writer.

    Days are written as dates or as integers. NaN does not equal itself, and -0.0 equals 0.0.
    """
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type) or pa.types.is_time64(values.type):
        values = values.cast(pa.int64())
    listed: list[object] = values.to_pylist()
    if pa.types.is_floating(values.type):
        return ["NaN" if each is not None and each != each else each for each in listed]
    return listed
