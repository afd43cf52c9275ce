"""The function scan: the rows of a published table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar, Final

import pyarrow as pa

from tamis.publish.errors import PublishError
from tamis.publish.part_reader import Part
from tamis.publish.pruning import Snapshot
from tamis.publish.tables import PublishedTable
from tamis.publish.vgi.functions.column_statistics import statistics_of
from tamis.publish.vgi.functions.part_tokens import parts_of, single_groups, token_of, version_of
from tamis.publish.vgi.functions.table_function import (
    Argument,
    BoundFunction,
    Rows,
    Split,
    TableFunction,
)
from tamis.publish.vgi.refusals import Refused
from tamis.wire.vgi import Predicate

__all__ = ["ScanTable", "table_argument", "table_named"]

#: Row groups are put together to splits of about this size.
_SPLIT_BYTES: Final = 32 << 20

table_argument: Final = Argument("table", pa.string(), "The name of a published table.")


def table_named(tables: Mapping[str, PublishedTable], name: str) -> PublishedTable:
    """Return a published table.

    Raises:
        Refused: There is no such table.
    """
    if name not in tables:
        raise Refused(f"there is no table {name[:60]!r}", "NOT_FOUND")
    return tables[name]


class ScanTable(TableFunction):
    """The rows of a published table, from the row groups that may have matching rows."""

    name: ClassVar[str] = "scan"
    description: ClassVar[str] = "The rows of a published table"
    arguments: ClassVar[tuple[Argument, ...]] = (table_argument,)
    supports_splits: ClassVar[bool] = True

    def __init__(self, tables: Mapping[str, PublishedTable]) -> None:
        self._tables = tables

    def bind(self, arguments: Mapping[str, Any]) -> BoundFunction:
        table = table_named(self._tables, arguments["table"])
        return _TableRows(table, table.current())


@dataclass(frozen=True, slots=True, eq=False)
class _TableRows(BoundFunction):
    has_splits: ClassVar[bool] = True

    table: PublishedTable
    snapshot: Snapshot

    @property
    def schema(self) -> pa.Schema:
        return self.snapshot.schema

    def rows(
        self,
        columns: Sequence[str],
        predicates: Sequence[Predicate],
        tokens: Sequence[bytes] | None,
    ) -> Iterator[Rows]:
        if tokens is None:
            return _read(self.snapshot, _surviving(self.snapshot, predicates), columns, predicates)
        planned = self._planned(version_of(tokens))
        parts = parts_of(tokens, planned, _surviving(planned, predicates))
        return _read(planned, parts, columns, predicates)

    def _planned(self, version: str) -> Snapshot:
        """Return the snapshot of tokens."""
        if version in ("", self.snapshot.version):
            return self.snapshot
        try:
            planned = self.table.at(version)
        except PublishError as problem:
            raise Refused(f"[SPLIT_SNAPSHOT_EXPIRED] {problem}", "FAILED_PRECONDITION") from problem
        if planned.schema != self.snapshot.schema:
            raise Refused(
                "[SPLIT_SNAPSHOT_EXPIRED] the columns have changed since the splits were planned",
                "FAILED_PRECONDITION",
            )
        return planned

    def splits(
        self, predicates: Sequence[Predicate], size: int | None = None, least: int = 1
    ) -> Sequence[Split]:
        parts = list(single_groups(_surviving(self.snapshot, predicates), self.snapshot))
        share = sum(each.size for each in parts) // max(least, 1)
        most = min(size or _SPLIT_BYTES, max(share, 1))
        splits: list[Split] = []
        group: list[Part] = []
        filled = 0
        for part in parts:
            if group and filled + part.size > most:
                splits.append(_split(group, self.snapshot.version))
                group, filled = [], 0
            group.append(part)
            filled += part.size
        return [*splits, _split(group, self.snapshot.version)] if group else splits

    def version(self) -> str:
        listed = [(each.path, each.size, each.mtime_ns) for each in self.snapshot.files]
        return sha256(repr((self.snapshot.version, listed)).encode()).hexdigest()

    def cardinality(self) -> int | None:
        return self.snapshot.rows

    def statistics(self) -> pa.RecordBatch | None:
        return statistics_of(self.snapshot)


def _surviving(snapshot: Snapshot, predicates: Sequence[Predicate]) -> Sequence[Part]:
    return snapshot.surviving([each.expr for each in predicates if each.expr is not None])


def _read(
    snapshot: Snapshot,
    parts: Sequence[Part],
    columns: Sequence[str],
    predicates: Sequence[Predicate],
) -> Iterator[Rows]:
    for part in parts:
        matches = zip(predicates, part.matches, strict=True)
        passed = frozenset(each.id for each, is_match in matches if is_match)
        for batch in snapshot.reader.batches(part, columns):
            yield Rows(batch, passed)


def _split(parts: Sequence[Part], version: str) -> Split:
    """Return a split of row groups, with those of one file together."""
    together: list[Part] = []
    for each in parts:
        last = together[-1] if together else None
        if last is None or last.file != each.file or last.row_groups is None:
            together.append(each)
        else:
            groups = (*last.row_groups, *(each.row_groups or ()))
            together[-1] = replace(last, row_groups=groups)
    rows = [each.rows for each in parts]
    count = None if None in rows else sum(each or 0 for each in rows)
    return Split(token_of(together, version), count, sum(each.size for each in parts))
