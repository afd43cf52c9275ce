"""Exact facts about a column in each of n containers.

Bounds only say what is possible: they may be wider than the data, and report that a container may
have NULLs where it has none. That suffices to skip a container, but not to compute an aggregate of
its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import NO, YES, Flags

__all__ = ["ATTAINED", "UNCERTAIN", "UNKNOWN", "Certain"]

#: The number of rows is not known.
UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class Certain:
    """Exact facts about a column. Arrays have length n, or length 1 if all containers are alike.

    - `nulls`: the number of rows with NULL; UNKNOWN where it is not known or the statistics
      contradict themselves.
    - `attained`: True where the known edges of the column's Bounds are values of rows, as Spark
      reads them. A truncated bound is not attained.
    """

    nulls: npt.NDArray[np.int64]
    attained: Flags

    def slice(self, start: int, stop: int) -> Certain:
        """Return the facts about containers start to stop."""
        return Certain(*(a if len(a) == 1 else a[start:stop] for a in self._arrays()))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Certain:
        """Return the facts about the containers at these ordinals, in that order."""
        return Certain(*(a if len(a) == 1 else a[ordinals] for a in self._arrays()))

    def _arrays(self) -> tuple[Any, Any]:
        return self.nulls, self.attained


_NOT_COUNTED = np.array([UNKNOWN], np.int64)

#: Nothing is known for certain.
UNCERTAIN: Final = Certain(_NOT_COUNTED, NO)

#: All known edges are values of rows. NULLs are not counted; the flags of Bounds may exclude them.
ATTAINED: Final = Certain(_NOT_COUNTED, YES)
