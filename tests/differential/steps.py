"""Changes of the tables of queries that can be replayed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Step"]


@dataclass(frozen=True)
class Step:
    """A change of a table.

    Attributes:
        table: Name of the table.
        code: Python that makes the change; it can use `spark`, `tamis` and `folder` (a Path).
        needed: Whether no query runs without it.
    """

    table: str
    code: str
    needed: bool = False

    def run(self, spark: SparkSession, folder: Path) -> None:
        """Run the step."""
        import tamis

        exec(self.code, {"spark": spark, "tamis": tamis, "folder": folder, "Path": Path})

    def script(self) -> str:
        """Return the lines of a script that run the step."""
        return self.code
