"""The data files of a snapshot, with what the planner needs to know about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.statistics import Statistics
from tamis.tables.iceberg.deletes import DataFiles, DeletedRows, deletes_of
from tamis.tables.iceberg.entries import Entries
from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode
from tamis.tables.iceberg.locations import hadoop_uris
from tamis.tables.iceberg.manifest import Content, ManifestFile
from tamis.tables.iceberg.schema import SchemaColumn, Spec
from tamis.tables.iceberg.statistics import ManifestStatistics

__all__ = ["IcebergFiles", "list_files"]


@dataclass(frozen=True, slots=True, eq=False)
class IcebergFiles:
    """The data files of a snapshot, ordered by location. Arrays have one entry per file.

    - `locations`: as Iceberg writes them.
    - `uris`: as Hadoop's `new Path(location).toUri.toString` writes them, URL-encoded.
    - `sizes`: bytes.
    - `num_records`: rows of the file, also those that are deleted; -1 where not known.
    - `manifests_of_files`: the place of its manifest in `manifests`.
    - `deletes`: which deletes may apply to the file.
    - `statistics`: what the manifests say about the rows of the file.
    - `total_files`, `total_records`: those of all manifests, also of those that were not read
      because none of their rows matches; None if not known. Deleted rows are counted.
    - `has_deletes`: whether the snapshot has delete files.
    - `manifests`: the locations of the data manifests that were read.
    """

    locations: pa.Array
    uris: pa.Array
    sizes: npt.NDArray[np.int64]
    num_records: npt.NDArray[np.int64]
    manifests_of_files: npt.NDArray[np.int64]
    deletes: DeletedRows
    statistics: Statistics
    total_files: int | None
    total_records: int | None
    has_deletes: bool
    manifests: tuple[str, ...]
    manifests_total: int

    def __len__(self) -> int:
        return len(self.locations)


def list_files(
    data: Entries,
    deletes: Entries,
    columns: tuple[SchemaColumn, ...],
    specs: Mapping[int, Spec],
    format_version: int,
    manifests: Sequence[ManifestFile],
) -> IcebergFiles:
    """Return the data files of a snapshot.

    Args:
        data: The files of the data manifests that were read.
        deletes: The files of all delete manifests.
        columns: The columns of the schema that the query reads with.
        specs: The partition specs of the table.
        format_version: The format version of the table.
        manifests: All data manifests.

    Raises:
        SnapshotUnreadable: A file is not as the specification says, or is there twice.
    """
    content = data.column("content", pa.int8())
    if pc.any(pc.not_equal(content, Content.DATA), min_count=0).as_py():
        raise SnapshotUnreadable(
            UnreadableCode.METADATA, "a manifest of data files has a delete file"
        )
    uris = hadoop_uris(data.locations)
    _require_distinct(data.locations, uris)
    records = np.maximum(data.column("records", pa.int64()).to_numpy(), -1)
    rows = deletes_of(DataFiles(data, _sequence_numbers(data), records), deletes, specs)
    statistics = ManifestStatistics(
        data,
        {each.path: each for each in columns},
        tuple(specs.values()),
        format_version,
        records,
        rows.any,
    )
    return IcebergFiles(
        data.locations,
        uris,
        data.column("size", pa.int64()).to_numpy(),
        records,
        data.manifest_places(),
        rows,
        statistics,
        _total([each.live_files for each in manifests]),
        _total([each.live_records for each in manifests]),
        len(deletes) > 0,
        data.manifests,
        len(manifests),
    )


def _sequence_numbers(data: Entries) -> npt.NDArray[np.int64]:
    """Return the sequence numbers of data files.

    An added file without one has that of its manifest. An existing one must have one; without, it
    counts as oldest, to which most deletes apply.
    """
    numbers = data.column("sequence_number", pa.int64())
    given: npt.NDArray[np.int64] = numbers.fill_null(0).to_numpy()
    is_added = data.column("status", pa.int8()).to_numpy() == 1
    inherited = data.of_manifest(lambda each: each.sequence_number)
    missing = np.asarray(numbers.is_null())
    return np.where(missing & is_added, inherited, given)


def _require_distinct(locations: pa.Array, uris: pa.Array) -> None:
    again = pc.equal(locations[1:], locations[:-1]) if len(locations) > 1 else pa.array([], "bool")
    twice = pc.index(again, True).as_py()
    if twice < 0 and uris is not locations and len(pc.unique(uris)) < len(uris):
        counts = pc.value_counts(uris)
        place = pc.index(pc.greater(counts.field("counts"), 1), True).as_py()
        name: Any = counts.field("values")[place]
    elif twice >= 0:
        name = locations[twice]
    else:
        return
    raise SnapshotUnreadable(
        UnreadableCode.METADATA,
        f"the snapshot has the file {name} twice: compact the table (rewrite_data_files)",
    )


def _total(counts: Sequence[int | None]) -> int | None:
    known = [each for each in counts if each is not None]
    return sum(known) if len(known) == len(counts) else None
