"""What is known of one value in each of n containers.

A container is whatever has statistics: a manifest, a file, a row group. A *value* is a column or
an expression over columns. In every container the rows give that value three kinds of results:
NULL, NaN (floating types only), and *ordinary* values, which are all others.

    container    rows of c          lower  upper  can_be_null  can_be_nan  can_be_value
    f1           3, 7, NULL         3      7      True         False       True
    f2           NULL, NULL         (any)  (any)  True         False       False
    f3           not known          (any)  (any)  True         True        True

Everything errs on one side: bounds may be wider than the data, and a flag may be True where it
need not be. So every answer that is computed from them is monotone in "unknown means possible".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.expr.types import DataType

if TYPE_CHECKING:
    from tamis.evaluate.buckets import Buckets

__all__ = ["NO", "YES", "Bounds", "Edge", "Flags", "is_always", "is_never"]

#: Booleans, one a container, or a single one that holds for all of them.
Flags: TypeAlias = npt.NDArray[np.bool_]

#: Edges of an interval, one a container, or a single one that holds for all of them:
#: numpy int64 (booleans, whole numbers, dates in days, timestamps in microseconds, unscaled values
#: of decimals of up to 18 digits), numpy float64, pyarrow large_binary (strings as UTF-8, binary)
#: or pyarrow decimal128 (longer decimals).
Edge: TypeAlias = npt.NDArray[Any] | pa.Array


def _constant(value: bool) -> Flags:
    flags = np.array([value])
    flags.flags.writeable = False
    return flags


YES: Final[Flags] = _constant(True)
NO: Final[Flags] = _constant(False)


def is_always(flags: Flags) -> bool:
    """Whether the flags are one True that holds for every container."""
    return len(flags) == 1 and bool(flags[0])


def is_never(flags: Flags) -> bool:
    """Whether the flags are one False that holds for every container."""
    return len(flags) == 1 and not flags[0]


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Outer bounds of a value in each container; every array has length n, or 1 for "all alike".

    - `lower`, `upper`: every ordinary value v of the container satisfies lower <= v <= upper.
      None: nothing is known of any container. Numpy edges hold the type's extreme (which is a true
      bound) where nothing is known; Arrow edges hold null there.
    - `lower_known`, `upper_known`: False where a numpy edge is only the type's extreme; None where
      every edge is known. Comparisons need not look; functions that compute with the edges do.
    - `upper_open`: True where even v < upper holds, as for the strings that share a prefix. Leaving
      it out of account is sound.
    - `can_be_null`, `can_be_nan`, `can_be_value`: False only where no row gives NULL, NaN or an
      ordinary value. All three False: the container holds no row.
    - `buckets`: by which hashes ordinary values are confined; each of them says so.
    """

    type: DataType
    lower: Edge | None
    upper: Edge | None
    can_be_null: Flags
    can_be_nan: Flags
    can_be_value: Flags
    lower_known: Flags | None = None
    upper_known: Flags | None = None
    upper_open: Flags | None = None
    #: Sort keys of Arrow edges, computed when first needed: see evaluate.order.
    keys: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]] | None = None
    buckets: tuple[Buckets, ...] = ()

    @staticmethod
    def unknown(data_type: DataType) -> Bounds:
        """Nothing is known, in any container.

        >>> from tamis.expr.types import LONG
        >>> Bounds.unknown(LONG).can_be_null
        array([ True])
        """
        return Bounds(data_type, None, None, YES, YES if data_type.is_floating else NO, YES)

    def slice(self, start: int, stop: int) -> Bounds:
        """The same of containers start to stop, without a copy."""
        return self._map(lambda edge: edge[start:stop])

    def take(self, ordinals: npt.NDArray[np.intp]) -> Bounds:
        """The same of the containers at these ordinals, in that order."""
        return self._map(
            lambda edge: (
                edge[ordinals] if isinstance(edge, np.ndarray) else edge.take(pa.array(ordinals))
            )
        )

    def _map(self, pick: Any) -> Bounds:
        def each(array: Any) -> Any:
            # One value that holds for all containers holds for some of them.
            return array if array is None or len(array) == 1 else pick(array)

        return Bounds(
            self.type,
            each(self.lower),
            each(self.upper),
            each(self.can_be_null),
            each(self.can_be_nan),
            each(self.can_be_value),
            each(self.lower_known),
            each(self.upper_known),
            each(self.upper_open),
            None if self.keys is None else (each(self.keys[0]), each(self.keys[1])),
            tuple(buckets.map(each) for buckets in self.buckets),
        )
