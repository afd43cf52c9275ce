"""The files of a scan with their statistics, as the tables give them to the planner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.evaluation.statistics import Statistics

__all__ = ["BLOCK", "GroupedFiles", "Segment"]

Numbers = npt.NDArray[np.int64]

#: Containers per block. That is half a megabyte per column, which the flags of a conjunct do not
#: evict from the cache. Half the size costs a quarter more, because of the calls. Twice the size
#: gains a tenth.
BLOCK: Final = 65_536


@dataclass(frozen=True, slots=True)
class Segment:
    """Statistics of some files, and the ordinals of these files among those of the scan."""

    ordinals: slice | npt.NDArray[np.intp]
    statistics: Statistics


@dataclass(frozen=True, slots=True, eq=False)
class GroupedFiles:
    """Some kept files and their row groups, in order.

    One entry per file:

    - `ordinals`: the ordinal of the file in the scan.
    - `sizes`: bytes.
    - `num_records`: rows that were written.
    - `first`: the place of the first row group of the file. Each file has at least one.

    One entry per row group:

    - `start`, `stop`, `midpoint`: byte offsets in the file, -1 where not known.
    - `group_records`: rows that were written.

    `files` and `groups` are the statistics of the files and of the row groups. `has_deletes`: some
    of the rows may have been deleted since, and a scan does not return them.
    """

    ordinals: npt.NDArray[np.intp]
    sizes: Numbers
    num_records: Numbers
    first: Numbers
    start: Numbers
    stop: Numbers
    midpoint: Numbers
    group_records: Numbers
    files: Statistics
    groups: Statistics
    has_deletes: bool = False
