"""The function files: the files of a published table, with what is known of each.

files('orders')                                one row per file: size, rows, bounds
files('orders', filter => 'day > 5 OR n = 7')  also whether its rows match: all, none, some
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from tamis.classification import classify
from tamis.classification.capabilities import capabilities_of
from tamis.evaluation import ALL, NONE, SOME, Verdict, verdicts
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import And, Expr
from tamis.expr.rewrites import simplify
from tamis.expr.sql import to_sql
from tamis.files.segments import Segment
from tamis.publish.column_facts import column_facts
from tamis.publish.pruning import Snapshot
from tamis.publish.table_statistics import TableStatistics
from tamis.publish.tables import PublishedTable
from tamis.publish.vgi.functions.scan_function import table_argument, table_named
from tamis.publish.vgi.functions.table_function import Argument, BoundFunction, Rows, TableFunction
from tamis.publish.vgi.refusals import Refused
from tamis.wire.duckdb.sql_predicate import UnknownPredicate, parse_predicate
from tamis.wire.vgi import Predicate

__all__ = ["Files"]

_FIXED: Final = pa.schema(
    {
        "path": pa.string(),
        "size": pa.int64(),
        "modified": pa.timestamp("us", "UTC"),
        "rows": pa.int64(),
        "row_groups": pa.int64(),
        "verdict": pa.string(),
        "reason": pa.string(),
    }
)
_FILES_OF_A_BATCH: Final = 1_024
_NAMES: Final = {NONE: Verdict.NONE, SOME: Verdict.SOME, ALL: Verdict.ALL}


class Files(TableFunction):
    """The files of a published table."""

    name: ClassVar[str] = "files"
    description: ClassVar[str] = "The files of a published table, and whether their rows match"
    arguments: ClassVar[tuple[Argument, ...]] = (
        table_argument,
        Argument("filter", pa.string(), "A predicate in SQL.", is_named=True, default=""),
    )

    def __init__(self, tables: Mapping[str, PublishedTable]) -> None:
        self._tables = tables

    def bind(self, arguments: Mapping[str, Any]) -> BoundFunction:
        snapshot = table_named(self._tables, arguments["table"]).current()
        text = arguments["filter"]
        if not text:
            return _FileRows(snapshot, None)
        try:
            return _FileRows(snapshot, parse_predicate(text, snapshot.schema, UTC))
        except UnknownPredicate as error:
            raise Refused(f"the argument filter: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class _FileRows(BoundFunction):
    snapshot: Snapshot
    filter: Expr | None

    @property
    def schema(self) -> pa.Schema:
        bounds = [
            pa.field(f"{side}.{field.name}", field.type)
            for field in self.snapshot.schema
            if not pa.types.is_nested(field.type)
            for side in ("min", "max")
        ]
        return pa.schema([*_FIXED, *bounds])

    def rows(
        self,
        columns: Sequence[str],
        predicates: Sequence[Predicate],
        tokens: Sequence[bytes] | None,
    ) -> Iterator[Rows]:
        verdicts_of = _Verdicts(self.snapshot, self.filter)
        for start in range(0, len(self.snapshot.files), _FILES_OF_A_BATCH):
            places = range(start, min(start + _FILES_OF_A_BATCH, len(self.snapshot.files)))
            arrays = [self._column(name, places, verdicts_of) for name in columns]
            fields = [self.schema.field(name) for name in columns]
            yield Rows(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)))

    def _column(self, name: str, places: range, verdicts_of: _Verdicts) -> pa.Array:
        files = [self.snapshot.files[each] for each in places]
        footers = [self.snapshot.footers[each].statistics for each in places]
        field = self.schema.field(name)
        values: Sequence[Any]
        match name:
            case "path":
                values = [each.path for each in files]
            case "size":
                values = [each.size for each in files]
            case "modified":
                values = [each.mtime_ns and each.mtime_ns // 1_000 for each in files]
            case "rows":
                deleted = self.snapshot.reader.listing.deleted
                known = zip(files, footers, strict=True)
                values = [None if f.path in deleted else each.num_records for f, each in known]
            case "row_groups":
                values = [len(each.row_groups) or None for each in footers]
            case "verdict":
                values = [verdicts_of.verdict(each) for each in places]
            case "reason":
                values = [verdicts_of.reason(each) for each in places]
            case _:
                side, _, column = name.partition(".")
                return self._bounds(side, self.snapshot.schema.field(column), places)
        return pa.array(values, field.type)

    def _bounds(self, side: str, field: pa.Field, places: range) -> pa.Array:
        cells = []
        for each in places:
            facts = column_facts(_of_file(self.snapshot.statistics, each), field)
            bound = facts.minimum if side == "min" else facts.maximum
            cells.append(pa.nulls(1, field.type) if bound is None else pa.repeat(bound, 1))
        return pa.concat_arrays(cells)

    def cardinality(self) -> int | None:
        return len(self.snapshot.files)


class _Verdicts:
    """What the statistics of each file prove about a predicate."""

    def __init__(self, snapshot: Snapshot, predicate: Expr | None) -> None:
        self._snapshot, self._predicate = snapshot, predicate
        self._codes = np.full(len(snapshot.files), SOME, np.int8)
        if predicate is not None:
            for segment in snapshot.statistics.segments:
                self._codes[segment.ordinals] = verdicts(predicate, segment.statistics)

    def verdict(self, place: int) -> str | None:
        return None if self._predicate is None else str(_NAMES[int(self._codes[place])])

    def reason(self, place: int) -> str | None:
        """Return one sentence about the verdict of a file."""
        if self._predicate is None:
            return None
        if self._codes[place] == ALL:
            return "every row matches"
        simplified = simplify(self._predicate)
        conjuncts = simplified.parts if isinstance(simplified, And) else (simplified,)
        statistics = _statistics_of_file(self._snapshot.statistics, place)
        for each in conjuncts:
            code = NONE if statistics is None else verdicts(each, statistics)[0]
            if statistics is not None and code == self._codes[place]:
                return _sentence(each, statistics, is_ruled_out=bool(code == NONE))
        return "no row matches all conjuncts" if self._codes[place] == NONE else None


def _sentence(conjunct: Expr, statistics: Statistics, *, is_ruled_out: bool) -> str:
    if is_ruled_out:
        return f"no row matches {to_sql(conjunct)}"
    why = classify(conjunct, capabilities_of(conjunct, [statistics])).reason
    text = "the bounds allow rows that match and rows that do not" if why is None else why.text
    return f"{to_sql(conjunct)}: {text}"


def _statistics_of_file(statistics: TableStatistics, place: int) -> Statistics | None:
    segments = _of_file(statistics, place).segments
    return segments[0].statistics if segments else None


def _of_file(statistics: TableStatistics, place: int) -> TableStatistics:
    """Return the statistics of one file."""
    segments = []
    for segment in statistics.segments:
        among = np.flatnonzero(np.asarray(segment.ordinals) == place)
        if len(among):
            only = np.zeros(1, np.intp)
            segments.append(Segment(only, segment.statistics.take(among)))
    return TableStatistics(tuple(segments), statistics.groups, statistics.first)
