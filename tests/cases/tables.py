"""All tables of cases: each module in this folder that has CASES is included automatically."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.cases.case import Case

_NOT_TABLES = ("case", "tables")

TABLES: tuple[ModuleType, ...] = tuple(
    import_module(f"tests.cases.{file.stem}")
    for file in sorted(Path(__file__).parent.glob("*.py"))
    if file.stem not in _NOT_TABLES and not file.stem.startswith("test_")
)

CASES: tuple[Case, ...] = tuple(case for table in TABLES for case in table.CASES)

#: Catalyst's name of a function -> the function on one row, from tables that define it.
ON_ROWS: Mapping[str, Callable[..., Any]] = {
    name: function for table in TABLES for name, function in getattr(table, "ON_ROWS", {}).items()
}


def swept(expressions: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the expressions to sweep by the type of x and y, including those of the tables."""
    return {
        kind: (
            *own,
            *(sql for table in TABLES for sql in getattr(table, "SWEEP", {}).get(kind, ())),
        )
        for kind, own in expressions.items()
    }
