"""Statistics of a Parquet file from its footer: bounds and null counts per file and row group.

What is not known is None, and one row group of which a bound is not known makes the bound of the
whole file not known. Runs on executors, which need pyarrow and nothing else: see `ship`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.index.decoding import (
    OLDEST_DATE,
    OLDEST_MICROS,
    Decoder,
    decoder,
    orders_bytes,
    orders_dictionaries,
    reads_old_dates_unchanged,
)
from tamis.index.extents import extents
from tamis.index.leaves import Leaf

# The minimum, the maximum and the null count; None: not known.
Triple = tuple[Any, Any, int | None]
UNKNOWN: Triple = (None, None, None)


@dataclass(frozen=True)
class Reader:
    """How the statistics of one leaf are read from the files of one schema."""

    ordinal: int  # of the leaf column in the file
    minimum: Decoder
    maximum: Decoder
    of_bytes: bool  # bounds that old writers got wrong
    one_sided: bool  # one bound may be lost and the other stand: text has a cut without successor
    oldest: int | None  # values before it may be in the Julian calendar
    required: bool  # NULL cannot be written


@dataclass(frozen=True)
class Absent:
    """The file does not have the column: Spark reads NULL in every row."""


# None: there is nothing to know (a type that is not understood, an ambiguous name …).
Plan = Sequence[Reader | Absent | None]


@dataclass(frozen=True)
class Writer:
    """How far the writer of a file is trusted: see the functions of these names in `decoding`."""

    orders_bytes: bool
    orders_dictionaries: bool
    old_dates_unchanged: bool


@dataclass(frozen=True)
class RowGroup:
    """start, length: bytes of its column chunks in the file.  columns: one triple a leaf.

    midpoint: the byte by which Spark's readers tell whose row group it is, see `extents`.
    """

    start: int
    length: int
    midpoint: int | None
    num_records: int
    columns: list[Triple]


@dataclass(frozen=True)
class Footer:
    """num_records None: the footer could not be read, and nothing is known."""

    num_records: int | None
    columns: list[Triple]
    row_groups: list[RowGroup] = field(default_factory=list)
    problem: str | None = None


def unreadable(leaves: Sequence[Leaf], problem: str) -> Footer:
    """The footer of a file of which nothing is known."""
    return Footer(None, [UNKNOWN] * len(leaves), problem=problem)


class FooterReader:
    """Reads footers of the files of one table; keeps one plan per distinct schema."""

    def __init__(self, leaves: Sequence[Leaf], case_sensitive: bool) -> None:
        self.leaves = leaves
        self.case_sensitive = case_sensitive
        self._plans: dict[str, Plan] = {}

    def read(self, metadata: pq.FileMetaData) -> Footer:
        plan = self._plan(metadata)
        writer = Writer(
            orders_bytes(metadata.created_by),
            orders_dictionaries(metadata.created_by),
            reads_old_dates_unchanged(metadata.metadata),
        )
        groups = []
        places = extents(metadata)
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            columns = [
                _chunk_triple(group, entry, writer)
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
        # ParquetSchema.equals does not compare the names of the groups around a leaf; its text
        # does, and is one to one for names without the characters that the text is made of.
        text = _SCHEMA_HEADER.sub("", repr(metadata.schema), count=1)
        if text.count(";") != metadata.num_columns:
            return plan_of(metadata.schema, self.leaves, self.case_sensitive)
        plan = self._plans.get(text)
        if plan is None:
            plan = plan_of(metadata.schema, self.leaves, self.case_sensitive)
            self._plans[text] = plan
        return plan


_SCHEMA_HEADER = re.compile(r"^<[^>]*>\n")


def plan_of(schema: pq.ParquetSchema, leaves: Sequence[Leaf], case_sensitive: bool) -> Plan:
    """How each leaf of the table is read from files of this schema."""
    try:
        paths = _paths(schema)
    except (pa.ArrowException, ValueError):
        return [None] * len(leaves)
    return [_entry(leaf, schema, paths, case_sensitive) for leaf in leaves]


Path = tuple[str, ...]


def _paths(schema: pq.ParquetSchema) -> list[Path | None]:
    """The path of every leaf column; None: inside a list or a map.

    The dotted path of pyarrow does not tell the column `b.c` from the field `c` of `b`, so that
    the names come from the Arrow schema. Raises ValueError where the two do not agree.
    """
    found: list[Path | None] = []
    for column in schema.to_arrow_schema():
        found.extend(_leaf_paths(column.type, (column.name,)))
    if len(found) != len(schema.names):
        raise ValueError("the Arrow schema has other leaves than the Parquet schema")
    for i, path in enumerate(found):
        column = schema.column(i)
        if (path is None) != (column.max_repetition_level > 0):
            raise ValueError("the Arrow schema has other lists than the Parquet schema")
        if path is not None and ".".join(path) != column.path:
            raise ValueError("the Arrow schema has other names than the Parquet schema")
    return found


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
        # Spark's reader refuses a file with two matches, exact spelling or not
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
            of_bytes=column.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"),
            one_sided=leaf.type in ("string", "binary"),
            oldest=oldest.get(leaf.type),
            required=column.max_definition_level == 0,
        )
    if ordinals or leaf.has_default or not _is_absent(leaf.path, schema, case_sensitive):
        return None
    return Absent()


def _is_absent(path: Path, schema: pq.ParquetSchema, case_sensitive: bool) -> bool:
    """Whether the file has no column of this path, nor one of another shape in its place."""

    def same(a: str, b: str) -> bool:
        return a == b if case_sensitive else a.lower() == b.lower()

    fields: list[pa.Field] = list(schema.to_arrow_schema())
    for part in path:
        found = [column for column in fields if same(column.name, part)]
        if not found:
            return True
        if len(found) > 1 or not pa.types.is_struct(found[0].type):
            return False
        kind = found[0].type
        fields = [kind.field(i) for i in range(kind.num_fields)]
    return False  # the file has a struct where the table has a leaf


def _fold(path: Path) -> Path:
    return tuple(part.lower() for part in path)


def _whole(entry: Absent | None, rows: int) -> Triple:
    return UNKNOWN if entry is None else (None, None, rows)


def _chunk_triple(group: pq.RowGroupMetaData, reader: Reader, writer: Writer) -> Triple:
    """What is known of one column chunk."""
    rows = group.num_rows
    if rows == 0:
        return (None, None, 0)
    try:
        chunk = group.column(reader.ordinal)
        statistics = chunk.statistics if chunk.num_values == rows else None
        nulls = 0 if reader.required else _null_count(statistics, rows)
        if statistics is None or not statistics.has_min_max or nulls == rows:
            return (None, None, nulls)
        if reader.of_bytes and not writer.orders_bytes:
            return (None, None, nulls)
        if chunk.has_dictionary_page and not writer.orders_dictionaries:
            return (None, None, nulls)
        minimum = reader.minimum(statistics.min_raw)
        maximum = reader.maximum(statistics.max_raw)
    except Exception:  # an encrypted column, a statistic of the wrong length: nothing is known
        return UNKNOWN
    if minimum is None or maximum is None:
        # A NaN, or a value out of range: who wrote the one wrongly is not trusted with the other.
        return (minimum, maximum, nulls) if reader.one_sided else (None, None, nulls)
    if minimum > maximum:
        return (None, None, nulls)
    if reader.oldest is not None and not writer.old_dates_unchanged and minimum < reader.oldest:
        # the calendars differ by days, so that no bound of such a chunk is left
        return (None, None, nulls)
    return (minimum, maximum, nulls)


def _null_count(statistics: Any, rows: int) -> int | None:
    if statistics is None or not statistics.has_null_count:
        return None
    nulls = statistics.null_count
    return nulls if 0 <= nulls <= rows else None


def _union(groups: Sequence[RowGroup], k: int) -> Triple:
    """What is known of a column of the whole file."""
    nulls: int | None = 0
    lowest: list[Any] = []
    highest: list[Any] = []
    for group in groups:
        minimum, maximum, count = group.columns[k]
        nulls = None if nulls is None or count is None else nulls + count
        if count != group.num_records:  # equal: only NULL, or no row: no value to bound
            lowest.append(minimum)
            highest.append(maximum)
    return (
        min(lowest) if lowest and None not in lowest else None,
        max(highest) if highest and None not in highest else None,
        nulls,
    )
