"""What the shim records: a scan that ran, or its audit: `record` of io.tamis.bridge.Planner.

Versioned as the other messages are. Field for field what io.tamis.report.ScanRecords writes.
"""

from __future__ import annotations

import msgspec

from tamis.wire.file_sets import Kept
from tamis.wire.messages import PlanRequest, read_versioned

__all__ = [
    "AuditRecord",
    "HistorySettings",
    "RecordedAudit",
    "RecordedConjunct",
    "RecordedGoal",
    "RecordedReason",
    "ScanRecord",
    "read_record",
]


class HistorySettings(msgspec.Struct, frozen=True):
    """`location` null: that of the user."""

    location: str | None = None
    max_age_days: int = 90
    max_megabytes: int = 64


class RecordedReason(msgspec.Struct, frozen=True):
    code: str
    text: str
    fix: str | None = None


class RecordedGoal(msgspec.Struct, frozen=True):
    """`reason` null: it was reached."""

    goal: str
    reason: RecordedReason | None = None


class RecordedConjunct(msgspec.Struct, frozen=True):
    sql: str
    pushdown: str
    reason: RecordedReason | None = None


class RecordedAudit(msgspec.Struct, frozen=True):
    """`result`: passed, disagreement or failed. `files`: how many were read again."""

    result: str
    files: int
    text: str | None = None


class AuditRecord(msgspec.Struct, frozen=True):
    """The audit of a scan, which ends after the scan was recorded. `id` is that of the scan."""

    version: int
    id: str
    time: int
    audit: RecordedAudit
    history: HistorySettings = HistorySettings()


class ScanRecord(msgspec.Struct, frozen=True):
    """A scan that ran.

    `question`: the plan request of the scan, to be asked again for what it did not ask.
    `kept`: what was decided, of the files of its snapshot; where `observed`, it was not applied.
    `time`: milliseconds since 1970.
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
    history: HistorySettings = HistorySettings()
    kept: Kept | None = None
    question: PlanRequest | None = None


class _Kind(msgspec.Struct, frozen=True):
    kind: str = "scan"


_kind = msgspec.json.Decoder(_Kind)
_scan = msgspec.json.Decoder(ScanRecord)
_audit = msgspec.json.Decoder(AuditRecord)


def read_record(text: str) -> ScanRecord | AuditRecord:
    """Read a record; WireVersionError if it is of another version, WireError if malformed.

    >>> read_record('{"version": 1}')
    Traceback (most recent call last):
    tamis.errors.WireError: the record of a scan cannot be read: Object missing required field `id`
    """
    if read_versioned(_kind, text, "the record of a scan").kind == "audit":
        return read_versioned(_audit, text, "the record of an audit")
    return read_versioned(_scan, text, "the record of a scan")
