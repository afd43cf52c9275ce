"""Synthetic histories for tests of reports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from tamis.scan_history.schema import rows_to_table

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def conjunct(sql: str, columns: list[str], **changes: Any) -> dict[str, Any]:
    """Return an inexact conjunct that rules out nothing. `changes` overrides its fields."""
    return {
        "sql": sql,
        "pushdown": "inexact",
        "reason": "RANGES_OVERLAP",
        "text": "…",
        "fix": f"cluster the table by {columns[0] if columns else ''}",
        "columns": columns,
        "pruned_files": 0,
        "files_without_bounds": 0,
    } | changes


def scan(number: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a selective scan that reads all 100 files of 1 MB. `changes` overrides its fields."""
    return {
        "id": f"scan-{number}",
        "time": START + timedelta(minutes=number),
        "application": "app-1",
        "execution": number,
        "table": "parquet file:/data/events",
        "roots": ["file:/data/events"],
        "files_kept": 100,
        "files_read": 100,
        "files_total": 100,
        "bytes_kept": 100_000_000,
        "bytes_total": 100_000_000,
        "rows_kept": 1_000_000,
        "rows_total": 1_000_000,
        "rows_read": 1_000_000,
        "rows_passed": 20,
        "planning_ms": 2.5,
        "fallback": None,
        "goals": [],
        "conjuncts": [conjunct(f"(user = {number}L)", ["user"])],
        "columns": [{"name": "user", "depth": 93.5}],
        "has_index": True,
        "files_without_index": 0,
        "index_arguments": "file:/data/events",
        "aggregates": None,
    } | changes


def history_of(*scans: dict[str, Any]) -> pa.Table:
    """Return the scans as `tamis.history()` does."""
    return rows_to_table(list(scans))
