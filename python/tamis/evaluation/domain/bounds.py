"""Bounds of a value in each of n containers.

A container is anything that has statistics: a manifest, a file, a row group. A *value* is a column
or an expression over columns. For each row of a container it is NULL, NaN (floating-point types
only), or *ordinary*, which means neither.

    container    rows of c          lower  upper  can_be_null  can_be_nan  can_be_value
    f1           3, 7, NULL         3      7      True         False       True
    f2           NULL, NULL         (any)  (any)  True         False       False
    f3           not known          (any)  (any)  True         True        True

All of this is conservative: bounds may be wider than the data, and a flag may be True although no
row needs it. Everything computed from bounds preserves this direction: unknown means possible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.expr.types import DataType

__all__ = [
    "NO",
    "YES",
    "Bounds",
    "Buckets",
    "Edge",
    "Flags",
    "is_always",
    "is_never",
    "same_length",
]

#: Booleans: one per container, or a single one that holds for all containers.
Flags: TypeAlias = npt.NDArray[np.bool_]

#: Edges of an interval: one per container, or a single one that holds for all containers. An edge
#: is numpy int64 (booleans, integers, dates in days, timestamps in microseconds, unscaled values
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
    """Return whether the flags are a single True that holds for every container."""
    return len(flags) == 1 and bool(flags[0])


def is_never(flags: Flags) -> bool:
    """Return whether the flags are a single False that holds for every container."""
    return len(flags) == 1 and not flags[0]


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """The bucket, one of `count`, that contains all ordinary values of a container.

    `ordinals`: one per container, or a single one that holds for all containers; -1 is not known.
    """

    count: int
    ordinals: npt.NDArray[np.int64]

    def map(self, pick: Callable[[Any], Any]) -> Buckets:
        """Return the buckets of other containers, given a function that picks their ordinals."""
        return Buckets(self.count, pick(self.ordinals))


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Outer bounds of a value in each container.

    Every array has length n, or length 1 if all containers share one value.

    - `lower`, `upper`: every ordinary value v of the container satisfies lower <= v <= upper.
      None: unknown for all containers. Where an edge of one container is unknown, a numpy array
      holds the extreme of the type (which is a true bound) and an Arrow array holds null.
    - `lower_known`, `upper_known`: False where a numpy edge is only the extreme of the type; None
      if every edge is known. Comparisons can ignore these flags; functions that compute with the
      edges cannot.
    - `upper_open`: True where v < upper holds as well, as for strings that share a prefix. Ignoring
      this flag is sound.
    - `can_be_null`, `can_be_nan`, `can_be_value`: False only where no row is NULL, NaN or an
      ordinary value, respectively. If all three are False, the container has no row.
    - `buckets`: the hash buckets of the ordinary values, one entry per bucket transform. Every
      entry holds.
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
    #: Sort keys of Arrow edges, computed on first use; see evaluation.domain.order.
    keys: tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]] | None = None
    buckets: tuple[Buckets, ...] = ()

    @staticmethod
    def unknown(data_type: DataType) -> Bounds:
        """Return bounds that say nothing about any container.

        >>> from tamis.expr.types import LONG
        >>> Bounds.unknown(LONG).can_be_null
        array([ True])
        """
        return Bounds(data_type, None, None, YES, YES if data_type.is_floating else NO, YES)

    def slice(self, start: int, stop: int) -> Bounds:
        """Return the bounds of containers start to stop, without a copy."""
        return self._map(lambda edge: edge[start:stop])

    def take(self, ordinals: npt.NDArray[np.intp]) -> Bounds:
        """Return the bounds of the containers at these ordinals, in that order."""
        return self._map(
            lambda edge: (
                edge[ordinals] if isinstance(edge, np.ndarray) else edge.take(pa.array(ordinals))
            )
        )

    def _map(self, pick: Any) -> Bounds:
        def each(array: Any) -> Any:
            # A single value that holds for all containers also holds for the selected ones.
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


def same_length(lower: pa.Array, upper: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return both edges with the same length, repeating a single one, as Arrow requires."""
    count = max(len(lower), len(upper))
    low, high = (
        pa.repeat(each[0], count) if len(each) == 1 != count else each for each in (lower, upper)
    )
    return low, high
