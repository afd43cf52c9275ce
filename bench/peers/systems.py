"""The six ways in which the same files are read, and what exceeds what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

#: Headings of the files that each of them opens, in the order of the figures.
SYSTEMS: Final = ("tamis", "Spark", "Iceberg", "+ tamis", "Delta", "+ tamis")
_ALONE_AND_WITH: Final = {"Iceberg": (2, 3), "Delta": (4, 5)}


def exceeded(ideal: int, files: Iterable[int]) -> str:
    """Return what a format with tamis exceeds: itself without tamis, or the ideal; else empty."""
    opened = [*files]
    names = [
        f"**{name}**"
        for name, (alone, with_tamis) in _ALONE_AND_WITH.items()
        if opened[with_tamis] > opened[alone]
    ]
    names += [
        f"ideal ({name})"
        for name, (_, with_tamis) in _ALONE_AND_WITH.items()
        if opened[with_tamis] > ideal
    ]
    return ", ".join(names)


@dataclass(slots=True)
class Totals:
    """Counts of the rows of all tables."""

    rows: int = 0
    above_ideal: int = 0
    above_format: list[str] = field(default_factory=list)

    def counted(self, rows: Iterable[list[str]]) -> Iterator[list[str]]:
        """Yield the rows, whose last cell is the text of `exceeded`, and count them."""
        for row in rows:
            self.rows += 1
            self.above_ideal += "ideal" in row[-1]
            if "**" in row[-1]:
                self.above_format.append(row[0])
            yield row

    def sentences(self) -> Iterator[str]:
        if self.above_format:
            yield "A format opens more files with tamis than alone:"
            yield from (f"  {text}" for text in self.above_format)
        else:
            yield f"In none of {self.rows} rows, a format opens more files with tamis than alone."
        yield f"In {self.above_ideal} rows, a format with tamis opens more files than the ideal."
