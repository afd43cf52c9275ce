"""Which deletes may apply to which data files.

    kind               applies to the data files
    deletion vector    that it refers to, written before it or in the same commit
    position deletes   of its partition, or the one that it refers to; before or in the same commit
    equality deletes   of its partition, or all if its spec is unpartitioned; written before it

Position deletes narrow the data files by the bounds of their column `file_path`: if both are equal,
there is one. A deletion vector replaces position deletes. All of this errs on the side of applying.

Source: Iceberg table specification, "Scan Planning".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.tables.iceberg.entries import Entries
from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode
from tamis.tables.iceberg.manifest import Content, MetricKind
from tamis.tables.iceberg.schema import Spec

__all__ = ["DataFiles", "DeletedRows", "deletes_of"]

Booleans = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

#: The field id of the column `file_path` of position delete files.
_FILE_PATH: Final = 2147483546
#: Data files that are compared with ranges of paths. Beyond it, ranges are not considered.
_MAX_COMPARISONS: Final = 50_000_000
_LAST: Final = "\U0010ffff"


@dataclass(frozen=True, slots=True, eq=False)
class DataFiles:
    """The data files, ordered by location."""

    entries: Entries
    sequence_numbers: Numbers
    num_records: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class DeletedRows:
    """What may apply to each data file, and the number of rows that are deleted, -1 if unknown."""

    position_deletes: Booleans
    deletion_vectors: Booleans
    equality_deletes: Booleans
    deleted_records: Numbers

    @property
    def any(self) -> Booleans:
        """Whether any deletes may apply to a file."""
        return self.position_deletes | self.deletion_vectors | self.equality_deletes


@dataclass(frozen=True, slots=True)
class _Delete:
    """A delete file. `first` and `last` are the paths between which its data files are."""

    content: int
    is_vector: bool
    spec_id: int
    sequence_number: int
    records: int
    key: tuple[object, ...] | None
    file: str | None
    first: str | None
    last: str | None


def deletes_of(data: DataFiles, deletes: Entries | None, specs: Mapping[int, Spec]) -> DeletedRows:
    """Return which deletes may apply to the data files.

    Args:
        data: The data files.
        deletes: The delete files of the snapshot; None: there is none.
        specs: The partition specs of the table.

    Raises:
        SnapshotUnreadable: A delete file is not as the specification says.
    """
    count = len(data.entries)
    rows = _none_deleted(count)
    if deletes is None or not len(deletes) or not count:
        return rows
    paths: list[str] = data.entries.locations.to_pylist()
    of_files = [each for each in _listed(deletes, specs) if each.file is not None]
    of_partitions = [each for each in _listed(deletes, specs) if each.file is None]
    vectors = _apply_to_files(of_files, paths, data, rows)
    if of_partitions:
        _apply_to_partitions(of_partitions, paths, data, specs, rows)
    unknown = rows.position_deletes | rows.equality_deletes
    rows.deleted_records[unknown] = -1
    for place, records in vectors.items():
        # A vector replaces position deletes, and counts the rows that it deletes.
        is_exact = len(records) == 1 and not rows.equality_deletes[place]
        fits = is_exact and 0 <= records[0] <= data.num_records[place]
        rows.deleted_records[place] = records[0] if fits else -1
    return rows


def _none_deleted(count: int) -> DeletedRows:
    flags = [np.zeros(count, np.bool_) for _ in range(3)]
    return DeletedRows(flags[0], flags[1], flags[2], np.zeros(count, np.int64))


def _listed(deletes: Entries, specs: Mapping[int, Spec]) -> list[_Delete]:
    fields = {each.id: [field.id for field in each.fields] for each in specs.values()}
    # A file without a number gets that of its manifest, the greatest possible one.
    manifests = deletes.of_manifest(lambda each: each.sequence_number).tolist()
    numbers = deletes.column("sequence_number", pa.int64()).to_pylist()
    lower, upper = (_paths(deletes, kind) for kind in (MetricKind.LOWER, MetricKind.UPPER))
    listed = []
    for n, (content, form, spec_id, records, key, referenced) in enumerate(
        zip(
            deletes.column("content", pa.int8()).to_pylist(),
            deletes.column("format", pa.string()).to_pylist(),
            deletes.of_manifest(lambda each: each.spec_id).tolist(),
            deletes.column("records", pa.int64()).to_pylist(),
            deletes.partition_keys(fields),
            deletes.column("referenced", pa.string()).to_pylist(),
            strict=True,
        )
    ):
        is_vector = form.upper() == "PUFFIN"
        if content not in (Content.POSITION_DELETES, Content.EQUALITY_DELETES):
            raise _unexpected("a manifest of deletes has a data file")
        if is_vector and referenced is None:
            raise _unexpected("a deletion vector does not name its data file")
        is_positions = content == Content.POSITION_DELETES
        first, last = (lower.get(n), upper.get(n)) if is_positions else (None, None)
        file = referenced if is_positions else None
        if file is None and first is not None and first == last:
            file = first
        number = manifests[n] if numbers[n] is None else numbers[n]
        listed.append(_Delete(content, is_vector, spec_id, number, records, key, file, first, last))
    return listed


def _paths(deletes: Entries, kind: MetricKind) -> dict[int, str]:
    """Return the bounds of the paths in position delete files, by their ordinals."""
    metric = deletes.metric(kind, _FILE_PATH)
    if metric is None:
        return {}
    paths = {}
    for place, value in zip(metric.places.tolist(), metric.values.to_pylist(), strict=True):
        try:
            paths[place] = value.decode()
        except UnicodeDecodeError:
            continue  # not known
    return paths


def _unexpected(text: str) -> SnapshotUnreadable:
    return SnapshotUnreadable(UnreadableCode.METADATA, text)


def _apply_to_files(
    deletes: Sequence[_Delete], paths: Sequence[str], data: DataFiles, rows: DeletedRows
) -> dict[int, list[int]]:
    """Mark the data files that deletes refer to. Return the rows of the vectors of each file."""
    vectors: dict[int, list[int]] = defaultdict(list)
    for each in deletes:
        assert each.file is not None
        start = bisect_left(paths, each.file)
        # Both bounds of the path may be cut to the same prefix.
        for place in range(start, bisect_right(paths, each.file + _LAST, start)):
            if data.sequence_numbers[place] > each.sequence_number:
                continue
            if not each.is_vector:
                rows.position_deletes[place] = True
            elif paths[place] == each.file:
                rows.deletion_vectors[place] = True
                vectors[place].append(each.records)
    return vectors


def _apply_to_partitions(
    deletes: Sequence[_Delete],
    paths: Sequence[str],
    data: DataFiles,
    specs: Mapping[int, Spec],
    rows: DeletedRows,
) -> None:
    fields = {each.id: [field.id for field in each.fields] for each in specs.values()}
    spec_ids = data.entries.of_manifest(lambda each: each.spec_id).tolist()
    files: dict[tuple[int, tuple[object, ...] | None], list[int]] = defaultdict(list)
    for place, (spec_id, key) in enumerate(
        zip(spec_ids, data.entries.partition_keys(fields), strict=True)
    ):
        files[spec_id, key].append(place)
    groups: dict[tuple[int, tuple[object, ...] | None] | None, list[_Delete]] = defaultdict(list)
    for each in deletes:
        spec = specs.get(each.spec_id)
        is_global = spec is None or spec.is_unpartitioned
        groups[None if is_global else (each.spec_id, each.key)].append(each)
    for group, of_group in groups.items():
        chosen = np.array(sorted(_of_group(group, files)), np.intp)
        _apply_to_group(of_group, chosen, paths, data, rows)


def _of_group(
    group: tuple[int, tuple[object, ...] | None] | None,
    files: Mapping[tuple[int, tuple[object, ...] | None], Sequence[int]],
) -> Iterable[int]:
    """Yield the data files whose partition may be that of a group of deletes."""
    for (spec_id, key), places in files.items():
        if group is not None:
            is_known = key is not None and group[1] is not None
            if spec_id != group[0] or (is_known and key != group[1]):
                continue
        yield from places


def _apply_to_group(
    deletes: Sequence[_Delete],
    chosen: npt.NDArray[np.intp],
    paths: Sequence[str],
    data: DataFiles,
    rows: DeletedRows,
) -> None:
    """Mark the chosen data files to which deletes of their partition apply."""
    numbers = data.sequence_numbers[chosen]
    of_chosen = [paths[place] for place in chosen.tolist()]
    compared = 0
    for each in deletes:
        if each.content == Content.EQUALITY_DELETES:
            rows.equality_deletes[chosen] |= numbers < each.sequence_number
            continue
        start, stop = 0, len(chosen)
        if compared < _MAX_COMPARISONS:
            if each.first is not None:
                start = bisect_left(of_chosen, each.first)
            if each.last is not None:  # it may be cut
                stop = bisect_right(of_chosen, each.last + _LAST)
            compared += max(0, stop - start)
        inside = chosen[start:stop]
        rows.position_deletes[inside] |= numbers[start:stop] <= each.sequence_number
