"""Statistics of a Parquet file from its footer: bounds and null counts per file and row group.

An unknown statistic is None. If a bound of one row group is unknown, so is the bound of the file,
unless the row group has no value. Runs on executors, which need only pyarrow: see
`build.jobs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.executor.decoding import (
    OLDEST_DATE,
    OLDEST_MICROS,
    Decoder,
    Family,
    counts_dictionaries,
    counts_nulls,
    counts_nulls_of_dictionaries,
    decoder,
    family_of,
    is_signed,
    misstated,
    orders_dictionaries,
    reads_old_dates_unchanged,
)
from tamis.indexing.executor.field_paths import ByIds, ByNames, Ids, Stored, all_ids, stored_paths
from tamis.indexing.executor.row_group_ranges import extents
from tamis.indexing.executor.thrift import stated_groups

# The minimum, the maximum and the null count; None: not known.
Triple = tuple[Any, Any, int | None]
UNKNOWN: Triple = (None, None, None)
# Writers whose footers are not parsed a second time, which takes three times as long as everything
# else. Their total_compressed_size is the sum of the chunks (BlockMetaData.getCompressedSize, and
# RowGroupMetaDataBuilder::Finish), and their bounds of numbers are values of rows.
_WELL_KNOWN = ("parquet-mr version ", "parquet-cpp-arrow version ")


@dataclass(frozen=True)
class Reader:
    """How to read the statistics of one leaf from the files of one schema."""

    ordinal: int  # of the leaf column in the file
    minimum: Decoder
    maximum: Decoder
    family: Family  # decides which writers are trusted
    one_sided: bool  # one bound may be known alone: a truncated text may have no successor
    oldest: int | None  # values before it may be in the Julian calendar
    required: bool  # NULL cannot be written
    is_field: bool  # of a struct


@dataclass(frozen=True)
class Absent:
    """The file does not have the column: Spark reads NULL in every row."""


# None: nothing can be known (an unsupported type, an ambiguous name …).
Plan = Sequence[Reader | Absent | None]


@dataclass(frozen=True)
class Writer:
    """How far the writer of a file is trusted; `decoding` has a function for each field."""

    misstated: frozenset[Family]
    orders_dictionaries: bool
    counts_dictionaries: bool
    counts_nulls: bool
    counts_nulls_of_fields: bool
    counts_nulls_of_dictionaries: bool
    old_dates_unchanged: bool


@dataclass(frozen=True)
class RowGroup:
    """The statistics of one row group.

    Attributes:
        start: Offset in the file of the first byte of its column chunks.
        length: Number of bytes of its column chunks.
        midpoint: The byte by which Spark's readers assign the row group to a task, see `extents`.
        num_records: Number of rows.
        columns: One triple per leaf.
    """

    start: int
    length: int
    midpoint: int | None
    num_records: int
    columns: list[Triple]


@dataclass(frozen=True)
class Footer:
    """The statistics of one file. num_records None: the footer could not be read."""

    num_records: int | None
    columns: list[Triple]
    row_groups: list[RowGroup] = field(default_factory=list)
    problem: str | None = None


def unreadable(leaves: Sequence[Leaf], problem: str) -> Footer:
    """Return the footer of a file about which nothing is known."""
    return Footer(None, [UNKNOWN] * len(leaves), problem=problem)


class FooterReader:
    """Reads footers of the files of one table; keeps one plan per distinct schema.

    Args:
        leaves: The columns of the table.
        case_sensitive: Whether the case of their names matters.
        stored: Where files have them; None: under their names.
    """

    def __init__(
        self,
        leaves: Sequence[Leaf],
        case_sensitive: bool,
        stored: Stored | None = None,
    ) -> None:
        self.leaves = leaves
        self.case_sensitive = case_sensitive
        self._stored = stored
        self._plans: dict[tuple[object, ...], Plan] = {}

    def read(self, metadata: pq.FileMetaData) -> Footer:
        plan = self._plan(metadata)
        writer = Writer(
            misstated(metadata.created_by),
            orders_dictionaries(metadata.created_by),
            counts_dictionaries(metadata.created_by, metadata),
            counts_nulls(metadata.created_by, False, metadata.num_row_groups),
            counts_nulls(metadata.created_by, True, metadata.num_row_groups),
            counts_nulls_of_dictionaries(metadata.created_by),
            reads_old_dates_unchanged(metadata.metadata),
        )
        stated = None
        if not (metadata.created_by or "").startswith(_WELL_KNOWN):
            try:
                stated = stated_groups(metadata)
            except Exception as problem:  # it cannot be parsed as pyarrow parsed it
                return unreadable(self.leaves, f"{type(problem).__name__}: {problem}")
        groups = []
        places = extents(metadata, stated)
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            unusable = frozenset() if stated is None else stated[i].unusable
            columns = [
                _chunk_triple(group, entry, writer, unusable)
                if isinstance(entry, Reader)
                else _whole(entry, group.num_rows)
                for entry in plan
            ]
            groups.append(RowGroup(*places[i], group.num_rows, columns))
        total = sum(group.num_records for group in groups)
        if total != metadata.num_rows or any(group.num_records < 0 for group in groups):
            return unreadable(self.leaves, "the row counts of the footer contradict each other")
        columns = [
            _whole(entry, total) if not isinstance(entry, Reader) else _union(groups, k)
            for k, entry in enumerate(plan)
        ]
        return Footer(total, columns, groups)

    def _plan(self, metadata: pq.FileMetaData) -> Plan:
        # ParquetSchema.equals does not compare the names of the groups around a leaf. Its text
        # does, and together with the paths of the leaves is unique if no name has the characters
        # that the text is built with. (Without the paths, a binary "c (String)" looks like a
        # string "c".) A name with ";" makes the count differ, and then the plan is not cached.
        schema = metadata.schema
        text = _SCHEMA_HEADER.sub("", repr(schema), count=1)
        if text.count(";") != metadata.num_columns:
            return self._plan_of(schema)
        paths = tuple(schema.column(i).path for i in range(metadata.num_columns))
        key = (text, *paths, all_ids(schema) if isinstance(self._stored, ByIds) else None)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan_of(schema)
            self._plans[key] = plan
        return plan

    def _plan_of(self, schema: pq.ParquetSchema) -> Plan:
        match self._stored:
            case ByIds(ids):
                return plan_by_id(schema, self.leaves, ids)
            case ByNames(paths):
                pairs = zip(self.leaves, paths, strict=True)
                renamed = [replace(leaf, path=path) for leaf, path in pairs]
                return plan_of(schema, renamed, self.case_sensitive)
            case _:
                return plan_of(schema, self.leaves, self.case_sensitive)


_SCHEMA_HEADER = re.compile(r"^<[^>]*>\n")


def plan_of(schema: pq.ParquetSchema, leaves: Sequence[Leaf], case_sensitive: bool) -> Plan:
    """Return how to read each leaf of the table from files of this schema."""
    try:
        paths = _paths(schema)
    except (pa.ArrowException, ValueError):
        return [None] * len(leaves)
    return [_entry(leaf, schema, paths, case_sensitive) for leaf in leaves]


def plan_by_id(schema: pq.ParquetSchema, leaves: Sequence[Leaf], ids: Sequence[Ids]) -> Plan:
    """Return how to read each leaf from files of this schema, which has it under its field id.

    Nothing is known of a leaf that the file lacks, or has without a field id: a name mapping or a
    default may give it values.
    """
    try:
        paths = _paths(schema)
        stored = stored_paths(schema.to_arrow_schema(), ids)
    except (pa.ArrowException, ValueError):
        return [None] * len(leaves)
    plan: list[Reader | Absent | None] = []
    for leaf, path in zip(leaves, stored, strict=True):
        entry = None
        if path is not None:
            entry = _entry(replace(leaf, path=path), schema, paths, case_sensitive=True)
        # The specification has no unsigned integers, so it does not say how they are read.
        usable = isinstance(entry, Reader) and is_signed(schema.column(entry.ordinal))
        plan.append(entry if usable else None)
    return plan


Path = tuple[str, ...]


def _paths(schema: pq.ParquetSchema) -> list[Path | None]:
    """Return the path of every leaf column; None for those inside a list or a map.

    The dotted path of pyarrow does not distinguish the column `b.c` from the field `c` of `b`, so
    the names come from the Arrow schema.

    Raises:
        ValueError: The Arrow schema and the Parquet schema do not agree.
    """
    paths: list[Path | None] = []
    for column in schema.to_arrow_schema():
        paths.extend(_leaf_paths(column.type, (column.name,)))
    if len(paths) != len(schema.names):
        raise ValueError("the Arrow schema and the Parquet schema have different leaves")
    for i, path in enumerate(paths):
        column = schema.column(i)
        if (path is None) != (column.max_repetition_level > 0):
            raise ValueError("the Arrow schema and the Parquet schema have different lists")
        if path is not None and ".".join(path) != column.path:
            raise ValueError("the Arrow schema and the Parquet schema have different names")
    return paths


def _leaf_paths(kind: pa.DataType, path: Path | None) -> Iterable[Path | None]:
    if pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            child = kind.field(i)
            yield from _leaf_paths(child.type, None if path is None else (*path, child.name))
    elif pa.types.is_nested(kind):  # lists and maps
        for i in range(kind.num_fields):
            yield from _leaf_paths(kind.field(i).type, None)
    else:
        yield path


def _entry(
    leaf: Leaf, schema: pq.ParquetSchema, paths: list[Path | None], case_sensitive: bool
) -> Reader | Absent | None:
    if case_sensitive:
        ordinals = [i for i, path in enumerate(paths) if path == leaf.path]
    else:
        # Spark's reader rejects a file with two matches, even if the spelling of one is exact
        folded = _fold(leaf.path)
        ordinals = [i for i, p in enumerate(paths) if p is not None and _fold(p) == folded]
    if len(ordinals) == 1:
        column = schema.column(ordinals[0])
        pair = decoder(leaf, column)
        if pair is None:
            return None
        oldest = {"date": OLDEST_DATE, "timestamp": OLDEST_MICROS, "timestamp_ntz": OLDEST_MICROS}
        return Reader(
            ordinals[0],
            *pair,
            family=family_of(column),
            one_sided=leaf.type in ("string", "binary"),
            oldest=oldest.get(leaf.type),
            required=column.max_definition_level == 0,
            is_field=len(leaf.path) > 1,
        )
    if ordinals or leaf.has_default or not _is_absent(leaf.path, schema, case_sensitive):
        return None
    return Absent()


def _is_absent(path: Path, schema: pq.ParquetSchema, case_sensitive: bool) -> bool:
    """Return whether the file has neither a column of this path nor anything else in its place."""

    def same(a: str, b: str) -> bool:
        return a == b if case_sensitive else a.lower() == b.lower()

    fields: list[pa.Field] = list(schema.to_arrow_schema())
    for part in path:
        matching = [column for column in fields if same(column.name, part)]
        if not matching:
            return True
        if len(matching) > 1 or not pa.types.is_struct(matching[0].type):
            return False
        kind = matching[0].type
        fields = [kind.field(i) for i in range(kind.num_fields)]
    return False  # the file has a struct where the table has a leaf


def _fold(path: Path) -> Path:
    return tuple(part.lower() for part in path)


def _whole(entry: Absent | None, rows: int) -> Triple:
    return UNKNOWN if entry is None else (None, None, rows)


def _chunk_triple(
    group: pq.RowGroupMetaData, reader: Reader, writer: Writer, unusable: Set[int]
) -> Triple:
    """Return the known statistics of one column chunk."""
    rows = group.num_rows
    if reader.ordinal in unusable:
        return UNKNOWN
    if rows == 0:
        return (None, None, 0)
    try:
        chunk = group.column(reader.ordinal)
        statistics = chunk.statistics if chunk.num_values == rows else None
        if reader.family is Family.BYTES and chunk.has_dictionary_page:
            # statistics of a part of the rows: neither the bounds nor the count holds for all
            statistics = statistics if writer.counts_dictionaries else None
        is_counted = writer.counts_nulls_of_fields if reader.is_field else writer.counts_nulls
        if is_counted and not writer.counts_nulls_of_dictionaries:
            # not has_dictionary_page: some files of Polars do not state the offset of that page
            is_counted = not any(each.endswith("DICTIONARY") for each in chunk.encodings)
        counted = statistics if is_counted else None
        nulls = 0 if reader.required else _null_count(counted, rows)
        if statistics is None or not statistics.has_min_max:
            return (None, None, nulls)
        if nulls == rows:
            return UNKNOWN  # there are bounds, so some value is not NULL
        if reader.family in writer.misstated:
            return (None, None, nulls)
        if chunk.has_dictionary_page and not writer.orders_dictionaries:
            return (None, None, nulls)
        minimum = reader.minimum(statistics.min_raw)
        maximum = reader.maximum(statistics.max_raw)
    except Exception:  # an encrypted column, or a statistic of the wrong length: nothing is known
        return UNKNOWN
    if minimum is None or maximum is None:
        # NaN or a value out of range: if one bound is wrong, the other is not trusted either.
        return (minimum, maximum, nulls) if reader.one_sided else (None, None, nulls)
    if minimum > maximum:
        return (None, None, nulls)
    if reader.oldest is not None and not writer.old_dates_unchanged and minimum < reader.oldest:
        # the calendars differ by days, so neither bound of such a chunk holds
        return (None, None, nulls)
    return (minimum, maximum, nulls)


def _null_count(statistics: Any, rows: int) -> int | None:
    if statistics is None or not statistics.has_null_count:
        return None
    nulls = statistics.null_count
    return nulls if 0 <= nulls <= rows else None


def _union(groups: Sequence[RowGroup], k: int) -> Triple:
    """Return the known statistics of a column of the whole file."""
    nulls: int | None = 0
    lowest: list[Any] = []
    highest: list[Any] = []
    for group in groups:
        minimum, maximum, count = group.columns[k]
        nulls = None if nulls is None or count is None else nulls + count
        # Equal numbers: all values are NULL or there is no row, so there is no value to bound.
        if count != group.num_records:
            lowest.append(minimum)
            highest.append(maximum)
    return (
        min(lowest) if lowest and None not in lowest else None,
        max(highest) if highest and None not in highest else None,
        nulls,
    )
