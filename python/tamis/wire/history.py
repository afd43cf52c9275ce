"""What the shim records with `record` of io.tamis.bridge.Planner: a scan that ran, or its audit.

Records are versioned like the other messages. Their fields are exactly those that
io.tamis.report.ScanRecords writes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tamis.wire.file_sets import Kept
from tamis.wire.messages import PlanRequest, read_versioned

__all__ = [
    "AuditRecord",
    "HistorySettings",
    "RecordableAggregates",
    "RecordedAudit",
    "RecordedConjunct",
    "RecordedGoal",
    "RecordedReason",
    "ScanRecord",
    "read_record",
]


class HistorySettings(msgspec.Struct, frozen=True):
    """Where and how long the history is kept. A null `location` means the user's default."""

    location: str | None = None
    max_age_ms: int = 90 * 86_400_000
    max_bytes: int = 64 << 20


class RecordedReason(msgspec.Struct, frozen=True):
    code: str
    text: str
    fix: str | None = None


class RecordedGoal(msgspec.Struct, frozen=True):
    """A goal of a scan. `reason` is null if the goal was reached."""

    goal: str
    reason: RecordedReason | None = None


class RecordedConjunct(msgspec.Struct, frozen=True):
    sql: str
    pushdown: str
    reason: RecordedReason | None = None


class RecordableAggregates(msgspec.Struct, frozen=True):
    """The aggregates of a query over a scan that an index could record, and does not.

    - `aggregates`, `by`: the arguments of `tamis.Index.add`. `by` has no partition columns.
    - `groups`: the number of rows that the aggregate returned; null if it is not known.
    - `filters`: the conditions of FILTER (WHERE …), as documents (see `wire.catalyst`).
    """

    aggregates: list[str]
    by: list[str]
    groups: int | None = None
    filters: list[Any] = []


class RecordedAudit(msgspec.Struct, frozen=True):
    """The result of an audit.

    - `result`: passed, disagreement or failed.
    - `files`: the number of files read by the audit.
    """

    result: str
    files: int
    text: str | None = None


class AuditRecord(msgspec.Struct, frozen=True):
    """The audit of a scan, which ends after the scan was recorded. `id` is the id of the scan."""

    version: int
    id: str
    time: int
    audit: RecordedAudit
    history: HistorySettings = HistorySettings()


class ScanRecord(msgspec.Struct, frozen=True):
    """A scan that ran.

    - `question`: the plan request of the scan. It can be sent again for details that it did not
      request.
    - `kept`: the files of its snapshot that the planner kept. If `observed`, this was not applied.
    - `time`: milliseconds since 1970.
    """

    version: int
    id: str
    time: int
    table: str
    files_kept: int
    files_total: int
    bytes_kept: int
    bytes_total: int
    application: str | None = None
    execution: int | None = None
    observed: bool = False
    files_read: int | None = None
    bytes_read: int | None = None
    rows_kept: int | None = None
    rows_total: int | None = None
    row_groups_kept: int | None = None
    row_groups_total: int | None = None
    rows_read: int | None = None
    rows_passed: int | None = None
    planning_ms: float | None = None
    fallback: str | None = None
    goals: list[RecordedGoal] = []
    conjuncts: list[RecordedConjunct] = []
    aggregates: RecordableAggregates | None = None
    history: HistorySettings = HistorySettings()
    kept: Kept | None = None
    question: PlanRequest | None = None


class _Kind(msgspec.Struct, frozen=True):
    kind: str = "scan"


_kind = msgspec.json.Decoder(_Kind)
_scan = msgspec.json.Decoder(ScanRecord)
_audit = msgspec.json.Decoder(AuditRecord)


def read_record(text: str) -> ScanRecord | AuditRecord:
    """Read a record.

    Raises:
        WireVersionError: The record has another version.
        WireError: The record is malformed.

    >>> read_record('{"version": 1}')
    Traceback (most recent call last):
    tamis.errors.WireError: the record of a scan cannot be read: Object missing required field `id`
    """
    if read_versioned(_kind, text, "the record of a scan").kind == "audit":
        return read_versioned(_audit, text, "the record of an audit")
    return read_versioned(_scan, text, "the record of a scan")
