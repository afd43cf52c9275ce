"""The entries of a manifest list and of a manifest, without any meaning of columns.

Metrics are kept by field id and undecoded, so they do not depend on the schema that a query reads
with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = [
    "NO_FILES",
    "Content",
    "Manifest",
    "ManifestFile",
    "MetricKind",
    "Metrics",
    "Summary",
    "partition_column",
]


class Content:
    """What the files of a manifest contain."""

    DATA: Final = 0
    POSITION_DELETES: Final = 1  # or a deletion vector, which is in a Puffin file
    EQUALITY_DELETES: Final = 2


class MetricKind(StrEnum):
    """The metrics of columns. Bounds are in Iceberg's single-value serialization."""

    VALUES = "values"
    NULLS = "nulls"
    NANS = "nans"
    LOWER = "lower"
    UPPER = "upper"

    @property
    def is_bound(self) -> bool:
        return self in (MetricKind.LOWER, MetricKind.UPPER)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a manifest list says about one partition field of a manifest; None: not known."""

    contains_null: bool | None
    contains_nan: bool | None
    lower: bytes | None
    upper: bytes | None


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """An entry of a manifest list.

    Attributes:
        location: As Iceberg writes it.
        length: Bytes.
        spec_id: The partition spec of all of its files.
        has_deletes: Whether its files are delete files rather than data files.
        sequence_number: That of its entries that have none. 0 in version 1.
        live_files: Files that are not deleted; None: not known.
        live_records: Their rows; None: not known.
        is_encrypted: Whether the manifest is encrypted.
        summaries: One per field of the partition spec; None: not known.
    """

    location: str
    length: int
    spec_id: int
    has_deletes: bool
    sequence_number: int
    live_files: int | None
    live_records: int | None
    is_encrypted: bool
    summaries: tuple[Summary, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Metrics:
    """One kind of metrics of all columns, sorted by field id and then by file.

    Attributes:
        ids: The field ids, ascending, int32.
        starts: Where the values of each id start, and the number of values, int64.
        row_starts: Where the rows of each id start. -1: the id has a value for every row in order.
        rows: The file of each value, int32.
        values: int64 for counts, binary for bounds.
    """

    ids: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    row_starts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    values: pa.Array

    def of(self, field_id: int) -> tuple[npt.NDArray[np.int32] | None, pa.Array] | None:
        """Return the values of a column and their files, or None if it has no value.

        The files are None if there is one value for every file, in order.
        """
        place = int(np.searchsorted(self.ids, field_id))
        if place == len(self.ids) or self.ids[place] != field_id:
            return None
        start, stop = int(self.starts[place]), int(self.starts[place + 1])
        first = int(self.row_starts[place])
        rows = None if first < 0 else self.rows[first : first + stop - start]
        return rows, self.values.slice(start, stop - start)


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """The live entries of a manifest.

    Attributes:
        files: One row per file:
            `content` int8 (see `Content`), `location` string, `format` string,
            `records` and `size` (bytes) int64, `sequence_number` int64 (null: that of the
            manifest, see `status`), `status` int8 (0 existing, 1 added),
            `referenced` string (the only data file that a delete file refers to), and the value of
            each partition field.
        metrics: The metrics by kind.
    """

    files: pa.Table
    metrics: Mapping[MetricKind, Metrics] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.files.num_rows)


#: A manifest without files.
NO_FILES: Final = Manifest(
    pa.table(
        {
            "content": pa.nulls(0, pa.int8()),
            "location": pa.nulls(0, pa.string()),
            "format": pa.nulls(0, pa.string()),
            "records": pa.nulls(0, pa.int64()),
            "size": pa.nulls(0, pa.int64()),
            "sequence_number": pa.nulls(0, pa.int64()),
            "status": pa.nulls(0, pa.int8()),
            "referenced": pa.nulls(0, pa.string()),
        }
    )
)


def partition_column(field_id: int) -> str:
    """Return the name of the column of `Manifest.files` with the values of a partition field."""
    return f"partition.{field_id}"
