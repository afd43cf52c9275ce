"""The fields of a table, and what decides which values are read of them from a data file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Field", "Path"]

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field that is not in a list or a map.

    Attributes:
        place: Where files have it: its field id after those of the structs around it, or its path
            in the files.
        type: Its type, with the places of everything inside it.
        others: What else decides which values are read.
        is_of_partitions: Its values, or some inside it, may come from the metadata of partitions.
    """

    place: tuple[int | str, ...]
    type: Any
    others: object
    is_of_partitions: bool = False

    def has_values_of(self, other: Field) -> bool:
        """Return whether both have the same values in every file, after a conversion at most."""
        return (
            self.place == other.place
            and self.others == other.others
            and not self.is_of_partitions
            and not other.is_of_partitions
        )
