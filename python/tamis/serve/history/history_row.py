"""Conversion of the record of a scan to a row of the history, with further facts on its filter.

These are computed here from statistics, after the query has ended, so that no query waits for them:
what each conjunct rules out on its own, for how many files a column has no bounds, and how well the
files are clustered by each column. They are null if they cannot be computed any more, or would take
long.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import structs

from tamis._version import __version__
from tamis.evaluation.domain.bounds import Flags
from tamis.expr.nodes import Column, Expr, columns_of, walk
from tamis.expr.rewrites import simplify
from tamis.files.table import dotted
from tamis.indexing.problems import arguments
from tamis.indexing.read.command_options import command_options
from tamis.indexing.read.reader_options import reading_of
from tamis.plan.detail.reason_detail import better_reason
from tamis.plan.goals.aggregate_filters import counting
from tamis.plan.goals.fully_matching import fully_matching
from tamis.plan.joins.clustering import depth_of_files
from tamis.plan.joins.key_bounds import files_without_bounds
from tamis.plan.scan_decision import decide, kept_blocks
from tamis.reasons import Reason
from tamis.scan_history.schema import SCHEMA
from tamis.serve.scans.deep_recursion import DEEPEST, depth_of, with_room
from tamis.tables.parquet import open_scan
from tamis.tables.scan_input import ScanInput
from tamis.wire.catalyst import decode_conjuncts
from tamis.wire.history import AuditRecord, RecordedConjunct, ScanRecord
from tamis.wire.kept import decode_kept
from tamis.wire.messages import PlanRequest

__all__ = ["audit_row_of", "row_of"]

#: With more files or conjuncts, counting what each conjunct rules out takes long.
_MOST_FILES: Final = 200_000
_MOST_CONJUNCTS: Final = 32
#: Characters of SQL that are kept: the beginning of a list of thousands of values is enough.
_LONGEST_SQL: Final = 2_000

#: Fields that are copied from the record to the row.
_COPIED: Final = sorted(
    set(SCHEMA.names) & set(ScanRecord.__struct_fields__) - {"goals", "conjuncts", "aggregates"}
)


@dataclass(frozen=True, slots=True)
class _Conjunct:
    columns: list[str]
    pruned_files: int | None
    files_without_bounds: int | None
    #: A more specific reason than the one from planning; None: there is none.
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class _Facts:
    """What statistics show about a scan."""

    conjuncts: Sequence[_Conjunct]
    depths: dict[str, float | None]
    has_index: bool
    files_without_index: int
    index_arguments: str | None
    #: The sizes of the kept files whose rows all pass the filters, and in which each FILTER of the
    #: aggregates is true for all rows or for none.
    matching: npt.NDArray[np.int64]


def row_of(record: ScanRecord) -> dict[str, Any]:
    """Return the row of a scan, in `tamis.scan_history.SCHEMA`."""
    looked_up = _looked_up(record)
    row: dict[str, Any] = {name: getattr(record, name) for name in _COPIED}
    row["roots"] = [] if record.question is None else record.question.table.roots
    row["goals"] = [
        {"goal": each.goal, "reason": each.reason.code if each.reason else None}
        for each in record.goals
    ]
    row["conjuncts"] = [
        _conjunct(each, looked_up.conjuncts[place] if looked_up else None)
        for place, each in enumerate(record.conjuncts)
    ]
    if looked_up is not None:
        row["columns"] = [{"name": name, "depth": d} for name, d in looked_up.depths.items()]
        row["has_index"] = looked_up.has_index
        row["files_without_index"] = looked_up.files_without_index
        row["index_arguments"] = looked_up.index_arguments
    if record.aggregates is not None:
        wanted = structs.asdict(record.aggregates)
        del wanted["filters"]
        row["aggregates"] = wanted | _answerable(looked_up)
    return row | {"tamis": __version__}


def _answerable(facts: _Facts | None) -> dict[str, int | None]:
    """Return the number and size of the files that recorded aggregates would have replaced.

    They are at least these: aggregates of groups also replace files in which the filters decide
    each group.
    """
    if facts is None:
        return {"files": None, "bytes": None}
    return {
        "files": len(facts.matching),
        "bytes": int(facts.matching.sum()),
    }


def audit_row_of(record: AuditRecord) -> dict[str, Any]:
    """Return the row of an audit, which `tamis.history` joins with the scan of the same id."""
    audit = structs.asdict(record.audit)
    audit["text"] = audit["text"] and audit["text"][:_LONGEST_SQL]
    return {"id": record.id, "time": record.time, "audit": audit}


def _conjunct(recorded: RecordedConjunct, facts: _Conjunct | None) -> dict[str, Any]:
    why = (facts and facts.reason) or recorded.reason
    return {
        "sql": recorded.sql[:_LONGEST_SQL],
        "pushdown": recorded.pushdown,
        "reason": why and str(why.code),
        "text": why and why.text[:_LONGEST_SQL],
        "fix": why and why.fix and why.fix[:_LONGEST_SQL],
        "columns": facts and facts.columns,
        "pruned_files": facts and facts.pruned_files,
        "files_without_bounds": facts and facts.files_without_bounds,
    }


def _looked_up(record: ScanRecord) -> _Facts | None:
    """Plan the scan again; None if that fails, for example because its listing was deleted."""
    question = record.question
    if question is None or record.kept is None:
        return None
    try:
        kept = decode_kept(record.kept, question.snapshot.files)
        filters = [] if record.aggregates is None else record.aggregates.filters
        depth = depth_of([*question.conjuncts, *filters])
        result = with_room(depth, lambda: _replan(question, filters, kept))
    except Exception:  # the rest of the record does not depend on it
        traceback.print_exc(file=sys.stderr)
        return None
    return result if len(result.conjuncts) == len(record.conjuncts) else None


def _replan(question: PlanRequest, filters: Sequence[object], kept: Flags) -> _Facts:
    scan = open_scan(question)
    files = len(kept)
    # Declared functions are treated as not declared, so a conjunct may prune less than it did.
    conjuncts = [simplify(each) for each in decode_conjuncts(question.conjuncts, DEEPEST)]
    short = files <= _MOST_FILES and len(conjuncts) <= _MOST_CONJUNCTS
    pruned: list[int | None] = [None] * len(conjuncts)
    reasons: list[Reason | None] = [None] * len(conjuncts)
    if short and not question.declarations:
        decision = decide(conjuncts, scan.segments, files, detail=True)
        pruned = [each.pruned_files for each in decision.conjuncts]
        reasons = [
            _finer(conjunct, each.reason, scan, files)
            for conjunct, each in zip(conjuncts, decision.conjuncts, strict=True)
        ]
    named = {each: None for c in conjuncts for each in walk(c) if isinstance(each, Column)}
    unknown = {each.path: files_without_bounds(each, scan.segments, kept) for each in named}
    return _Facts(
        [
            _Conjunct(_names(each), count, _most_unknown(each, unknown), why)
            for each, count, why in zip(conjuncts, pruned, reasons, strict=True)
        ],
        {dotted(each.path): _depth(each, scan, files) for each in named},
        bool(scan.indexes or scan.automatic),
        _without_index(scan, kept),
        _index_arguments(question, scan),
        scan.sizes.to_numpy()[_matching(conjuncts, filters, scan, kept)],
    )


def _matching(
    conjuncts: Sequence[Expr], filters: Sequence[object], scan: ScanInput, kept: Flags
) -> Flags:
    # without a filter all rows pass, whether or not there are statistics
    matching = fully_matching(conjuncts, scan.segments, kept) if conjuncts else kept
    for condition in decode_conjuncts(filters, DEEPEST):
        decided = np.zeros(len(kept), np.bool_)
        for ordinals, statistics in kept_blocks(scan.segments, matching):
            decided[ordinals] |= counting(simplify(condition), statistics)[1]
        matching = matching & decided
    return matching


#: Specific reasons with their own fix, which the report shows.
_FINER: Final = frozenset(
    {"VALUE_WITHIN_RANGES", "VALUES_NOT_LISTED", "BOUNDS_DECIDE_SINGLE_VALUES_ONLY"}
)


def _finer(conjunct: Expr, why: Reason | None, scan: ScanInput, files: int) -> Reason | None:
    better = better_reason(conjunct, why, scan.segments, files)
    return better if better is not None and better.code in _FINER else None


def _names(conjunct: Expr) -> list[str]:
    return [dotted(path) for path in dict.fromkeys(columns_of(conjunct))]


def _most_unknown(conjunct: Expr, unknown: dict[tuple[str, ...], int]) -> int | None:
    known = [unknown[path] for path in columns_of(conjunct) if path in unknown]
    return max(known) if known else None


def _depth(column: Column, scan: ScanInput, files: int) -> float | None:
    return depth_of_files(column, scan.segments, np.ones(files, np.bool_))


def _index_arguments(request: PlanRequest, scan: ScanInput) -> str | None:
    """Return the arguments of `python -m tamis index …`; None for a scan of several tables."""
    if len(scan.tables) != 1:
        return None
    (root,) = scan.tables
    reading = None if request.reading is None else reading_of(request.reading)
    if request.iceberg is not None:  # a catalog finds the table
        root = request.table.name
    return arguments(root, request.index.location, command_options(reading))


def _without_index(scan: ScanInput, kept: Flags) -> int:
    without = kept.copy()
    for part in scan.parts:
        if part.index is not None:
            without[part.ordinals] = False
    return int(np.count_nonzero(without))
