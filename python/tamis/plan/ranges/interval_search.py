"""Find the intervals of one column's values in which a predicate can be true.

The column holds integers, dates, timestamps, or decimals that fit 64 bits. Its domain is cut into
*cells*: adjacent intervals without gaps. The predicate is evaluated over one made-up container per
cell. In this container the column takes the values of the cell and is never NULL, and nothing is
known about any other column. If the evaluation proves that the predicate is true for no row of the
container, then it is true for no row whose value lies in the cell, whatever the other columns hold.
This gives the invariant:

    the predicate is true only for rows whose value lies in a cell that is still possible.

The first cells get narrower towards 0 and towards both ends of the domain. Numbers are small in
practice, and arithmetic overflows at the ends; a cell stays possible wherever a row might raise an
error. Only wide gaps between possible cells matter. The search narrows down the edges of a gap by
repeatedly cutting the cell at the edge. It is sound no matter when it stops, because what was not
cut stays possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.interpreter import truth
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Column, Expr
from tamis.expr.types import DataType

__all__ = ["Cell", "MadeUp", "can_be_true_of_null", "possible_runs"]

#: The first and the last value of an interval.
Cell: TypeAlias = tuple[int, int]

#: Cells of the first cut between one power of two and the next.
_PER_OCTAVE: Final = 16
#: Pieces that each later cut makes of one cell.
_PER_CUT: Final = 128
#: Rounds of cutting. Eight suffice for 64 bits. More are needed where a cell as a whole is possible
#: but none of its pieces is, as for `month(d) = 3 AND year(d) = 1995`.
_ROUNDS: Final = 24
#: A gap is wide if it takes up at least this share of the domain, or of the first cells.
_WIDE: Final = 0.15


@dataclass(frozen=True, slots=True)
class MadeUp(Statistics):
    """Statistics of made-up containers in which the bounds of only one column are known."""

    column: Column
    known: Bounds
    num_containers: int

    def bounds(self, column: Column) -> Bounds:
        same = column.path == self.column.path and column.type == self.column.type
        return self.known if same else Bounds.unknown(column.type)

    def slice(self, start: int, stop: int) -> Statistics:
        return MadeUp(self.column, self.known.slice(start, stop), stop - start)

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        return MadeUp(self.column, self.known.take(ordinals), len(ordinals))


def can_be_true_of_null(expr: Expr, column: Column) -> bool:
    """Return whether the predicate may be true for a row whose value of the column is NULL."""
    # There is no value, so these edges bound nothing. Rules that compute with edges need some.
    edge = pa.array([b"1"], pa.large_binary()) if column.type.is_text else np.array([1])
    only_null = Bounds(column.type, edge, edge, YES, NO, NO)
    return bool(truth(expr, MadeUp(column, only_null, 1)).can_be_true.any())


def possible_runs(expr: Expr, column: Column) -> tuple[Cell, ...] | None:
    """Return the intervals of the column's values outside which the predicate is true for no row.

    Returns:
        Intervals in ascending order, within the domain of the type. None if there is no wide gap,
        if the predicate may be true where the column is NULL, or if it is never true.

    >>> import tamis.evaluation.nodes.operators  # fills the registries
    >>> from tamis.expr.nodes import Call, Compare, Comparison, Literal
    >>> from tamis.expr.types import DATE, INTEGER
    >>> day = Column(("day",), DATE)
    >>> year = Call("Year", (day,), (), INTEGER)
    >>> possible_runs(Compare(Comparison.EQUAL, year, Literal(1971, INTEGER)), day)
    ((365, 729),)
    """
    if can_be_true_of_null(expr, column):
        return None
    first = _first_cells(column.type)
    edges = _edges(_possible(expr, column, first.lower, first.upper), first)
    if all(edge.is_fixed for edge in edges):
        return None
    for _ in range(_ROUNDS):
        sought = [edge for edge in edges if not edge.is_settled]
        if not sought:
            break
        cuts = [_cut(*edge.pending[-1]) for edge in sought]
        lower, upper = (np.array(each, np.int64) for each in zip(*chain(*cuts), strict=True))
        flags = iter(_possible(expr, column, lower, upper).tolist())
        for edge, pieces in zip(sought, cuts, strict=True):
            edge.narrow([piece for piece in pieces if next(flags)])
    pairs = zip(edges[::2], edges[1::2], strict=True)
    runs = [(low.value, high.value) for low, high in pairs if low.pending and high.pending]
    return tuple(runs) or None


@dataclass(frozen=True, slots=True, eq=False)
class _First:
    """The first cells of a domain in ascending order, and the share of the domain of each."""

    lower: npt.NDArray[np.int64]
    upper: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]


@lru_cache(maxsize=64)
def _first_cells(data_type: DataType) -> _First:
    low, high = data_type.domain
    starts = {low, 0}
    power = 1
    while power <= high:
        steps = range(_PER_OCTAVE)
        starts.update(power + power * step // _PER_OCTAVE for step in steps)
        starts.update(1 - power - power * step // _PER_OCTAVE for step in steps)
        starts.update((low + power, high - power + 1))
        power *= 2
    inside = sorted(start for start in starts if low <= start <= high)
    lower = np.array(inside, np.int64)
    upper = np.array([start - 1 for start in inside[1:]] + [high], np.int64)
    if data_type.is_integral or data_type.is_decimal:
        # Numbers are spread over magnitudes, so each octave counts the same.
        share = np.full(len(lower), 1 / len(lower))
    else:
        # Times are spread over the domain, so each cell counts by its width.
        share = (upper.astype(np.float64) - lower.astype(np.float64) + 1) / (high - low + 1)
    return _First(lower, upper, share)


def _possible(
    expr: Expr, column: Column, lower: npt.NDArray[np.int64], upper: npt.NDArray[np.int64]
) -> Flags:
    """Return one flag per cell, set if the predicate may be true in it."""
    known = Bounds(column.type, lower, upper, NO, NO, YES)
    flags = truth(expr, MadeUp(column, known, len(lower))).can_be_true
    return np.broadcast_to(flags, len(lower))


def _cut(low: int, high: int) -> list[Cell]:
    """Return the pieces of the cell in ascending order."""
    size = high - low + 1
    count = min(size, _PER_CUT)
    starts = [low + size * piece // count for piece in range(count + 1)]
    return [(start, stop - 1) for start, stop in pairwise(starts)]


class _Edge:
    """One end of a run of possible cells, searched from the outside inwards.

    - `pending`: cells of the run that may hold the edge, the outermost one last. The predicate is
      true for no row between the gap next to the run and the outermost pending cell.
    - `fixed`: the end of the domain if no wide gap separates the run from it, else None.
    """

    __slots__ = ("_fixed", "_from_below", "pending")

    def __init__(self, cells: Sequence[Cell], from_below: bool, fixed: int | None) -> None:
        self.pending = list(reversed(cells) if from_below else cells)
        self._from_below = from_below
        self._fixed = fixed

    @property
    def is_fixed(self) -> bool:
        return self._fixed is not None

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to cut."""
        if self.is_fixed or not self.pending:
            return True
        low, high = self.pending[-1]
        return low == high

    @property
    def value(self) -> int:
        low, high = self.pending[-1]
        return self._fixed if self._fixed is not None else low if self._from_below else high

    def narrow(self, possible: Sequence[Cell]) -> None:
        """Replace the outermost pending cell by its possible pieces, given in ascending order."""
        del self.pending[-1]
        self.pending.extend(reversed(possible) if self._from_below else possible)


def _edges(possible: Flags, first: _First) -> list[_Edge]:
    """Return the lower and upper edge of every run of possible cells between two wide gaps."""
    cells = list(zip(first.lower.tolist(), first.upper.tolist(), strict=True))
    runs: list[list[Cell]] = []
    gap, leading = 0.0, 0.0
    for cell, share, is_possible in zip(
        cells, first.share.tolist(), possible.tolist(), strict=True
    ):
        if not is_possible:
            gap += share
            continue
        if not runs:
            leading = gap
        if not runs or gap >= _WIDE:
            runs.append([])
        runs[-1].append(cell)
        gap = 0.0
    lowest = cells[0][0] if leading < _WIDE else None
    highest = cells[-1][1] if gap < _WIDE else None
    edges = []
    for ordinal, run in enumerate(runs):
        edges.append(_Edge(run, True, lowest if ordinal == 0 else None))
        edges.append(_Edge(run, False, highest if ordinal == len(runs) - 1 else None))
    return edges
