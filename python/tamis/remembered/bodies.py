"""What a note says about files, ready for comparisons with a listing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Flags
from tamis.remembered.identities import WIDTH
from tamis.remembered.notes import Note
from tamis.remembered.partial import PartialFiles
from tamis.remembered.values import PassingValues

__all__ = ["Body", "Rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Whole files, by their names, and rows of other files."""

    names: pa.Array
    partial: PartialFiles

    @staticmethod
    def of(files: bytes, partial: PartialFiles) -> Rows:
        buffers = [None, pa.py_buffer(files)]
        names = pa.Array.from_buffers(pa.binary(WIDTH), len(files) // WIDTH, buffers)
        return Rows(names, partial)

    def whole(self, identities: pa.Array) -> Flags:
        """Return whether each of these files is among the whole files."""
        # a null name stands for a file about which nothing is known
        flags = pc.is_in(identities, value_set=self.names, skip_nulls=True)
        found: Flags = flags.to_numpy(zero_copy_only=False)
        return found

    def joined(self, others: Sequence[Rows]) -> tuple[bytes, PartialFiles]:
        """Return the rows of all, in the form of a note."""
        names = {name for each in (self, *others) for name in each.names.to_pylist()}
        partial = self.partial
        for each in (*others, _NOTHING):
            partial = partial.joined(each.partial, names)
        return b"".join(sorted(names)), partial

    @property
    def counts(self) -> tuple[int, int]:
        return len(self.names), self.partial.num_files


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """What a note says about files, ready for comparisons.

    - `failing`, `passing`: the rows that do not pass, and those that do.
    - `values`: bounds of columns in the rows that pass.
    """

    failing: Rows
    passing: Rows
    values: PassingValues
    size: int

    @staticmethod
    def of(note: Note, size: int) -> Body:
        return Body(
            Rows.of(note.files, note.partial),
            Rows.of(note.passing_files, note.passing_partial),
            note.values,
            size,
        )

    def says_the_same_as(self, other: Body) -> bool:
        """Return whether this, which says all that the other one says, says no more."""
        return self.values == other.values and all(
            len(mine.names) == len(theirs.names) and mine.partial == theirs.partial
            for mine, theirs in ((self.failing, other.failing), (self.passing, other.passing))
        )


_NOTHING: Final = Rows(pa.array([], pa.binary(WIDTH)), PartialFiles())
