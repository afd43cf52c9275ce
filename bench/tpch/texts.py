"""The texts of the queries, with the validation parameters of the specification."""

from __future__ import annotations

from pathlib import Path

_QUERIES = Path(__file__).with_name("queries")


def text(number: int, scale: float) -> str:
    sql = (_QUERIES / f"q{number:02}.sql").read_text("utf-8")
    return sql.replace("{fraction}", f"{0.0001 / scale:.10f}")
