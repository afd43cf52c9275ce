"""Tables whose files are clustered by their first column."""

from __future__ import annotations

from typing import Any

from tests.launch.statements import Answer, Statements

__all__ = ["fill", "only"]


def fill(formats: Statements, table: str, first: int, files: int) -> None:
    """Add files of 100 rows each, with the ids from 100 times `first` on."""
    formats.sql(
        f"INSERT INTO {table} SELECT /*+ REPARTITION_BY_RANGE({files}, id) */ id, "
        "CAST(id % 7 AS INT) k, concat('text ', id) s, "
        "date_add(DATE'2024-01-01', CAST(id div 10 AS INT)) d "
        f"FROM range({first * 100}, {(first + files) * 100})"
    )


def only(answer: Answer) -> dict[str, Any]:
    """Return the only scan of a query."""
    (scan,) = answer.scans
    assert scan["fallback"] is None
    return scan
