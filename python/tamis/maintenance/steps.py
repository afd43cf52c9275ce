"""What maintenance does to an index, with its cost and its saving."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from tamis.report.numbers import count, size
from tamis.report.quality import cost

__all__ = ["Maintenance", "Step"]

_KINDS: Final = {
    "bloom": "Bloom filters of {}",
    "values": "the distinct values of {}",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One change of an index.

    Attributes:
        action: "build", "refresh" or "record".
        files: The number of files that are read.
        read_bytes: An estimate of the bytes of rows that are read, in addition to footers.
        kind: What is recorded: "bloom" or "values"; None for the other actions.
        name: The column, with dots, or the SQL of the expression; None for the other actions.
        is_expression: Whether an expression is recorded.
        scans: The number of scans of the history that would have used what is recorded.
        lost_bytes: The bytes that these scans read needlessly, at most.
        lost_files: The files that these scans opened needlessly, at most.
        added: The number of new files.
        changed: The number of files that have changed.
        gone: The number of files that were deleted.
    """

    action: str
    files: int
    read_bytes: int
    kind: str | None = None
    name: str | None = None
    is_expression: bool = False
    scans: int = 0
    lost_bytes: int = 0
    lost_files: int = 0
    added: int = 0
    changed: int = 0
    gone: int = 0

    @property
    def is_worthwhile(self) -> bool:
        """Whether the scans of the history lost more than the step costs.

        Opening a file counts as reading 4 MiB, as in `spark.sql.files.openCostInBytes`. An index is
        always built and refreshed.
        """
        lost = cost(self.lost_bytes, self.lost_files)
        return self.action != "record" or lost > cost(self.read_bytes, self.files)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "is_worthwhile": self.is_worthwhile}

    def __str__(self) -> str:
        files = count(self.files, "file")
        if self.action == "refresh":
            files = f"{self.added:,} new, {self.changed:,} changed and {self.gone:,} deleted files"
        if self.action != "record":
            rows = f"; reads about {size(self.read_bytes)} of rows" if self.read_bytes else ""
            return f"{self.action} the index: {files}{rows}"
        assert self.kind is not None
        return (
            f"record {_KINDS[self.kind].format(self.name)}: reads about {size(self.read_bytes)} of "
            f"{files}; without them, {count(self.scans, 'scan')} in the history read up to "
            f"{size(self.lost_bytes)} and opened up to {count(self.lost_files, 'file')} needlessly"
        )


@dataclass(frozen=True)
class Maintenance:
    """What maintenance does, or has done, to the index of a table.

    `str()` gives text for people, `to_dict()` data for programs.

    Attributes:
        table: The path or table.
        steps: The steps, in order. Those that are not worthwhile are left out when it runs.
        seconds: How long the steps took; None if they were not run.
        location: The directory of indexes; None: the index is in the directory of the table.
    """

    table: str
    steps: tuple[Step, ...]
    seconds: float | None = None
    location: str | None = None

    @property
    def worthwhile(self) -> tuple[Step, ...]:
        """The steps that are run."""
        return tuple(step for step in self.steps if step.is_worthwhile)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON. Sizes are in bytes."""
        return {
            "table": self.table,
            "steps": [step.to_dict() for step in self.steps],
            "seconds": self.seconds,
            "location": self.location,
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        done = "" if self.seconds is None else f", done in {self.seconds:.1f} s"
        steps = self.worthwhile
        yield (
            f"{self.table}: {count(len(steps), 'step')}{done}"
            if steps
            else (f"{self.table}: nothing to do")
        )
        for step in steps:
            yield f"  {step}"
        for step in self.steps:
            if not step.is_worthwhile:
                yield f"  left out, because it would cost more than it saves: {step}"
