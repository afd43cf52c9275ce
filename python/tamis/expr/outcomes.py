"""What a predicate over one column is for some of the values of that column.

Spark has computed it on the driver, value by value. So it is a fact about the predicate, and not
about the files that hold the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.expr.types import DataType

__all__ = ["Outcome", "Outcomes"]

#: Values in the form of edges (evaluation.domain.bounds).
_Edge: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64] | pa.Array


class Outcome(IntEnum):
    """The result for one value. The numbers are those of the wire."""

    NOT_EVALUATED = 0
    FALSE = 1
    TRUE = 2
    NULL = 3
    RAISED = 4

    @property
    def is_known(self) -> bool:
        """Whether the value gives this result and no error."""
        return self in _KNOWN


_KNOWN = frozenset({Outcome.FALSE, Outcome.TRUE, Outcome.NULL})


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """The results of a predicate.

    Attributes:
        type: The type of the column.
        values: Distinct ordinary values (not NULL, not NaN), ascending. 0.0 stands for -0.0, too:
            its result is known only if both have the same.
        codes: The Outcome of each of these values.
        of_null: The outcome where the column is NULL.
        of_nan: The outcome where the column is NaN.
    """

    type: DataType
    values: _Edge
    codes: npt.NDArray[np.uint8]
    of_null: Outcome
    of_nan: Outcome = Outcome.NOT_EVALUATED

    def has(self, outcome: Outcome) -> bool:
        """Return whether some value, or NULL, has this outcome."""
        return self.of_null is outcome or bool((self.codes == outcome).any())
