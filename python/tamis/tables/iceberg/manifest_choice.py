"""Which data manifests of a snapshot a query reads.

Those that cannot hold a matching row are not opened. Queries over other partitions need other
manifests, and each set of manifests is listed anew, so sets are merged as in a log-structured
merge: one that is no larger than what has to be listed anyway becomes a part of it. A listing thus
costs at most a few times as much as the manifests that its query needs, and queries over many
partitions soon find one that serves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Choice", "choose"]

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Which manifests are read.

    Attributes:
        manifests: One flag per data manifest of the manifest list; None: all of them.
        known: The place of the known set that serves, None if there is none.
    """

    manifests: Flags | None
    known: int | None = None


def choose(files: Sequence[int | None], needed: Flags, known: Sequence[Flags] = ()) -> Choice:
    """Choose the manifests to read.

    Args:
        files: The live files of each data manifest; None: not known.
        needed: Which manifests may hold a matching row.
        known: Sets of manifests whose files are listed already.

    >>> choose([5, 5, 5], np.array([True, False, False])).manifests.tolist()
    [True, False, False]
    >>> choose([5, None, 5], np.array([True, False, False])).manifests is None
    True
    """
    if any(each is None for each in files):
        # The number of files of the table, which every scan reports, needs all manifests.
        return Choice(None)
    counts = np.array(files, np.int64)
    has_files = counts > 0
    needed = needed & has_files  # a manifest without a live file has no row
    sizes = [int(counts[each].sum()) for each in known]
    # A listing of more files than are needed serves: the additional ones hold no matching row, and
    # their own statistics are evaluated in any case.
    serving = [n for n, each in enumerate(known) if not (needed & ~each).any()]
    if serving:
        least = min(serving, key=sizes.__getitem__)
        return Choice(known[least], least)
    wanted = needed.copy()
    for n in sorted(range(len(known)), key=sizes.__getitem__):
        if sizes[n] <= int(counts[wanted].sum()):
            wanted |= known[n]
    return Choice(None if wanted[has_files].all() else wanted)
