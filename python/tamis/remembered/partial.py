"""Rows of files that do not pass the conjuncts of a note, or do: the form on disk, and its use."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.files.row_ranges import MOST_FILES, RowRanges
from tamis.remembered.identities import WIDTH

__all__ = ["PartialFiles"]

_FILE: Final = "<i4"
_ROW: Final = "<i8"


class PartialFiles(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Ranges of the rows of files, ordered by file and start.

    Attributes:
        names: The names of the files (see `identities`), sorted, one after the other.
        files: For each range, the place of its file in `names`, as int32.
        starts, stops: The first row, and the row after the last one, as int64.
    """

    names: bytes = b""
    files: bytes = b""
    starts: bytes = b""
    stops: bytes = b""

    @staticmethod
    def of(names: pa.Array, ranges: RowRanges) -> PartialFiles:
        """Return these rows of files with these names. Files without a name are left out."""
        files, starts, stops = ranges.arrays()
        texts = names.take(pa.array(files)).to_pylist()
        known = sorted({each for each in texts if each is not None})[:MOST_FILES]
        places = {each: place for place, each in enumerate(known)}
        numbers = np.array([places.get(each, -1) for each in texts], np.int64)
        return _encoded(known, RowRanges.of(numbers, starts, stops))

    @property
    def num_files(self) -> int:
        return len(self.names) // WIDTH

    @property
    def is_valid(self) -> bool:
        """Whether the parts fit each other; what was read from a file may say anything."""
        count = len(self.files) // 4
        if len(self.names) % WIDTH or self.num_files > MOST_FILES or len(self.files) % 4:
            return False
        if len(self.starts) != count * 8 or len(self.stops) != count * 8:
            return False
        files = np.frombuffer(self.files, _FILE)
        return not count or bool((files >= 0).all() and (files < self.num_files).all())

    def name_array(self) -> pa.Array:
        buffers = [None, pa.py_buffer(self.names)]
        return pa.Array.from_buffers(pa.binary(WIDTH), self.num_files, buffers)

    def located(self, identities: pa.Array) -> RowRanges:
        """Return the ranges by the ordinals of the files of a listing.

        Args:
            identities: The name of each file of the listing; null: nothing is known about it.
        """
        places = pc.index_in(identities, value_set=self.name_array(), skip_nulls=True)
        listed = np.flatnonzero(places.is_valid().to_numpy(zero_copy_only=False))
        ordinals = np.full(self.num_files, -1, np.int64)  # -1: not in the listing, left out
        ordinals[places.drop_null().to_numpy()] = listed
        files, starts, stops = self._arrays()
        return RowRanges.of(ordinals[files], starts, stops)

    def joined(self, other: PartialFiles, whole: Collection[bytes]) -> PartialFiles:
        """Return the rows of both, except those of files that are known as a whole."""
        names = pa.concat_arrays([self.name_array(), other.name_array()])
        texts = names.to_pylist()
        known = sorted(set(texts) - set(whole))[:MOST_FILES]
        places = {each: place for place, each in enumerate(known)}
        moved = np.array([places.get(each, -1) for each in texts], np.int64)
        both = [self._arrays(), other._arrays()]
        files = np.concatenate([both[0][0], both[1][0] + self.num_files])
        starts, stops = (np.concatenate([each[i] for each in both]) for i in (1, 2))
        return _encoded(known, RowRanges.of(moved[files], starts, stops))

    def _arrays(self) -> tuple[npt.NDArray[np.int64], ...]:
        files = np.frombuffer(self.files, _FILE).astype(np.int64)
        return files, np.frombuffer(self.starts, _ROW), np.frombuffer(self.stops, _ROW)


def _encoded(names: list[bytes], ranges: RowRanges) -> PartialFiles:
    files, starts, stops = ranges.arrays()
    return PartialFiles(
        b"".join(names),
        files.astype(_FILE).tobytes(),
        starts.astype(_ROW).tobytes(),
        stops.astype(_ROW).tobytes(),
    )
