"""What is known for certain of a column in each of n containers, where Bounds say what is possible.

Bounds err on one side: they may be wider than the data, and say that there may be NULLs where there
are none. That is enough to leave a container unread, and not enough to answer for its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tamis.evaluate.bounds import NO, YES, Flags
from tamis.expr.nodes import Column

__all__ = ["ATTAINED", "UNCERTAIN", "Certain", "certain_of"]

#: A number of rows that is not known.
UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class Certain:
    """Arrays of length n, or 1 for "all alike".

    nulls: how many rows hold NULL; UNKNOWN where nobody knows, or the statistics contradict
    themselves.  attained: the edges of the column's Bounds, where they are known, are values of
    rows, as Spark reads them; a bound that was cut short is not.
    """

    nulls: npt.NDArray[np.int64]
    attained: Flags

    def slice(self, start: int, stop: int) -> Certain:
        """The same of containers start to stop."""
        return Certain(*(a if len(a) == 1 else a[start:stop] for a in self._arrays()))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Certain:
        """The same of the containers at these ordinals, in that order."""
        return Certain(*(a if len(a) == 1 else a[ordinals] for a in self._arrays()))

    def _arrays(self) -> tuple[Any, Any]:
        return self.nulls, self.attained


_NOBODY_COUNTED = np.array([UNKNOWN], np.int64)

#: Nothing is known for certain.
UNCERTAIN: Final = Certain(_NOBODY_COUNTED, NO)

#: Whatever edges are known are values; how many NULLs there are the flags of Bounds may tell.
ATTAINED: Final = Certain(_NOBODY_COUNTED, YES)


def certain_of(statistics: object, column: Column) -> Certain:
    """`statistics.certain(column)`, of statistics that need not say anything for certain."""
    ask = getattr(statistics, "certain", None)
    found: Certain = UNCERTAIN if ask is None else ask(column)
    return found
