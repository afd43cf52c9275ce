"""A scan that ran, as the shim tells of it: `record` of io.tamis.bridge.Planner.

Versioned as the other messages are. Field for field what io.tamis.report.ScanRecords writes.
"""

from __future__ import annotations

import msgspec

from tamis.wire.file_sets import Kept
from tamis.wire.messages import PlanRequest, read_versioned

__all__ = [
    "HistorySettings",
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


class ScanRecord(msgspec.Struct, frozen=True):
    """`question`: the plan request of the scan, to be asked again for what it did not ask.

    `kept`: what was decided, of the files of its snapshot. `time`: milliseconds since 1970.
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
    files_read: int | None = None
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


_record = msgspec.json.Decoder(ScanRecord)


def read_record(text: str) -> ScanRecord:
    """Read a record; WireVersionError if it is of another version, WireError if malformed.

    >>> read_record('{"version": 1}')
    Traceback (most recent call last):
    tamis.errors.WireError: the record of a scan cannot be read: Object missing required field `id`
    """
    return read_versioned(_record, text, "the record of a scan")
