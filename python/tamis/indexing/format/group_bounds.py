"""Bounds of an expression in the row groups of files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.group_places import places_of

__all__ = ["GroupBounds"]

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class GroupBounds:
    """The bounds of an expression in the row groups of files, in order.

    Attributes:
        counts: The number of row groups of each file.
        columns: Bounds and counts by name, as of files. One value per row group, file by file; null
            where nothing is known.
    """

    counts: Longs
    columns: Mapping[str, pa.Array]

    def take(self, ordinals: npt.NDArray[np.intp]) -> GroupBounds:
        """Return the row groups of the files at these ordinals, in that order."""
        places = pa.array(places_of(self.counts, ordinals))
        return GroupBounds(
            self.counts[ordinals], {name: each.take(places) for name, each in self.columns.items()}
        )

    def followed_by(self, more: GroupBounds) -> GroupBounds:
        """Return the row groups of these files and of others of the same expression."""
        return GroupBounds(
            np.concatenate([self.counts, more.counts]),
            {
                name: pa.chunked_array([each, more.columns[name]], each.type).combine_chunks()
                for name, each in self.columns.items()
                if name in more.columns
            },
        )
