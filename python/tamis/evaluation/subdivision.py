"""Predicates over one column, evaluated on cells of the range of that column.

Rules map the bounds of a container to the bounds of a function. What a container can hold is often
less than that: over a week, dayofweek has every value from 1 to 7, and weekofyear has one or two,
but of the pairs of both only seven occur. So a predicate that reads a single column is also
evaluated on *cells* of the domain of the column, each as if it were a container. A cell is one
value; for timestamps, it is an hour or a day.

    dayofweek(d) = 1 AND weekofyear(d) = 5; the Sunday of week 5 is 2024-02-04

    file    d                            by its bounds    by its days
    f1      2024-01-26 to 2024-02-01     some             none
    f2      2024-02-02 to 2024-02-08     some             some

Proof: let the column have bounds [l, u] in a container. In each row it is NULL or lies in exactly
one of the cells from that of l to that of u. The value of the predicate in that row is among those
that it can have in that cell, or for NULL, because rules know nothing about an opaque part and
take every value for it. The union over these cells and NULL is thus a superset of the values that
occur. The truth set of the bounds is one too, and so is their intersection.

The cells are evaluated in windows that do not depend on the containers, and are cached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags, is_never
from tamis.evaluation.domain.flags import all_of
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.functions.function_entry import Knowledge
from tamis.evaluation.functions.registry import FUNCTION_ENTRIES
from tamis.evaluation.interpreter import TRUTHS, truth
from tamis.evaluation.node_cache import once_a_node
from tamis.evaluation.nodes.ranges import is_long
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Evaluated,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Opaque,
    Or,
    Subdivided,
    Within,
    children_of,
    walk,
)
from tamis.expr.types import (
    BOOLEAN,
    BYTE,
    DATE,
    INTEGER,
    LONG,
    SHORT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
)

__all__ = ["subdivided", "subdivided_conjuncts", "truth_in_cells"]

_HOUR: Final = 3_600_000_000
#: The sizes of cells to try, in units of the edges of the type.
_SIZES: Final[dict[DataType, tuple[int, ...]]] = {
    **dict.fromkeys((BOOLEAN, BYTE, SHORT, INTEGER, LONG, DATE), (1,)),
    **dict.fromkeys((TIMESTAMP, TIMESTAMP_NTZ), (_HOUR, 24 * _HOUR)),
}
#: Cells per window: a window takes about as long as the bounds of a few thousand containers.
_WINDOW: Final = 1024
#: The most windows for the containers that are evaluated together.
_MOST_WINDOWS: Final = 16
#: Wider containers are evaluated by their bounds only.
_WIDEST: Final = 4 * _WINDOW

#: The most nodes of a predicate. A thousand cells take about 70 microseconds for each.
_MOST_NODES: Final = 500

_IN_CELLS: Final = (Literal, And, Or, Not, Compare, In, IsNull, Within, Call, Evaluated, Opaque)

_KNOWLEDGE: Final = {entry.name: entry.knowledge for entry in FUNCTION_ENTRIES}

_Ordinals: TypeAlias = npt.NDArray[np.int64]


def subdivided(expr: Expr) -> Expr:
    """Return a predicate with the same value, whose parts over single columns use cells.

    Parts of an AND or OR that read the same column form one predicate. What bounds decide as well,
    such as ranges and single calls of monotone functions, stays as it is.

    >>> from tamis.expr.nodes import Comparison
    >>> day = Column(("d",), DATE)
    >>> sunday = Compare(
    ...     Comparison.EQUAL, Call("DayOfWeek", (day,), (), INTEGER), Literal(1, INTEGER)
    ... )
    >>> type(subdivided(sunday)).__name__, type(subdivided(IsNull(day))).__name__
    ('Subdivided', 'IsNull')
    """
    column = _only_column(expr)
    if column is not None:
        return Subdivided(expr, column) if _gains(expr) else expr
    match expr:
        case And(parts=parts):
            return And(subdivided_conjuncts(parts))
        case Or(parts=parts):
            return Or(tuple(_by_column(parts, Or)))
        case Not(child=child):
            return Not(subdivided(child))
        case Evaluated(predicate=predicate):
            return replace(expr, predicate=subdivided(predicate))
        case _:
            return expr


def subdivided_conjuncts(conjuncts: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return conjuncts that are true together for the same rows; see `subdivided`."""
    return tuple(_by_column(conjuncts, And))


def _by_column(parts: Sequence[Expr], join: type[And | Or]) -> Iterator[Expr]:
    """Yield the parts, with those that read the same column as one."""
    groups: dict[Column, list[Expr]] = {}
    for part in parts:
        column = _only_column(part)
        if column is None:
            yield subdivided(part)
        else:
            groups.setdefault(column, []).append(part)
    for column, group in groups.items():
        whole = group[0] if len(group) == 1 else join(tuple(group))
        if not _gains(whole):
            yield from group
            continue
        if join is And:
            # Once more on their own: ranges are cheap, and leave fewer containers for the others.
            yield from (part for part in group if not _has_call(part))
        yield Subdivided(whole, column)


def _only_column(expr: Expr) -> Column | None:
    """Return the column of a predicate that reads no other; None if cells cannot evaluate it."""
    column: Column | None = None
    for node in walk(expr):
        if isinstance(node, Column):
            if node.type not in _SIZES or column not in (None, node):
                return None
            column = node
        # exactly these: a declared function may do anything with a range, and takes its time
        elif type(node) not in _IN_CELLS:
            return None
    return column


def _gains(expr: Expr) -> bool:
    """Return whether cells may decide more than bounds, and do not take too long."""
    if is_long(expr, _MOST_NODES):
        return False
    kinds = [_KNOWLEDGE.get(each.name) for each in walk(expr) if isinstance(each, Call)]
    if any(kind is not None and kind is not Knowledge.MONOTONE for kind in kinds):
        return True
    return sum(1 for each in walk(expr) if _compares_call(each)) > 1


def _has_call(expr: Expr) -> bool:
    return any(isinstance(each, Call) for each in walk(expr))


def _compares_call(expr: Expr) -> bool:
    is_leaf = not isinstance(expr, And | Or | Not | Call | Column | Literal)
    return is_leaf and any(isinstance(child, Call) for child in children_of(expr))


def truth_in_cells(expr: Subdivided, statistics: Statistics) -> TruthSet:
    """Return the truth set of the predicate by its bounds, narrowed by the cells."""
    by_bounds = truth(expr.predicate, statistics)
    found: list[tuple[_Covered, ...]] = []

    def narrowed(flags: Flags, kind: int) -> Flags:
        if is_never(flags) or not flags.any():
            return flags
        if not found:
            found.append(tuple(_covered(expr, statistics.bounds(expr.column))))
        return all_of((flags, *(each.can_be(kind) for each in found[0])))

    return TruthSet(
        lambda: narrowed(by_bounds.can_be_true, 0),
        lambda: narrowed(by_bounds.can_be_false, 1),
        lambda: narrowed(by_bounds.can_be_null, 2),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Covered:
    """The cells of n containers.

    - `counts`: for true, false and NULL, how many of the first i cells allow that value.
    - `of_null`: whether the predicate may have these values where the column is NULL.
    - `first`, `last`: the first and the last cell of each container.
    - `is_known`: False for containers whose cells were not evaluated.
    """

    counts: npt.NDArray[np.int32]
    of_null: Flags
    first: _Ordinals
    last: _Ordinals
    is_known: Flags
    can_be_null: Flags

    def can_be(self, kind: int) -> Flags:
        """Return where the predicate can be true (0), false (1) or NULL (2)."""
        counts = self.counts[kind]
        some: Flags = counts[self.last + 1] > counts[self.first]
        if self.of_null[kind]:
            some = some | self.can_be_null
        return some | ~self.is_known


def _covered(expr: Subdivided, bounds: Bounds) -> Iterator[_Covered]:
    """Yield the cells of containers, the smallest ones first. A container is covered only once.

    Containers without known bounds are not covered, nor are those with too many cells.
    """
    lower, upper = bounds.lower, bounds.upper
    if bounds.type != expr.column.type or not (
        isinstance(lower, np.ndarray) and isinstance(upper, np.ndarray)
    ):
        return
    low, high, left = np.broadcast_arrays(lower, upper, _known(bounds) & (lower <= upper))
    for size in _SIZES[bounds.type]:
        first, last = low // size, high // size
        # The difference may wrap around if edges are extremes: then it is negative.
        is_narrow = left & (last - first < _WIDEST) & (last - first >= 0)
        windows = _windows(first, last, is_narrow)
        if not 0 < len(windows) <= _MOST_WINDOWS:
            continue
        left = left & ~is_narrow
        flags = [_window(expr, size, int(window)) for window in windows]
        cells = np.concatenate([each[:, :_WINDOW] for each in flags], axis=1)
        counts = np.zeros((3, cells.shape[1] + 1), np.int32)
        np.cumsum(cells, axis=1, out=counts[:, 1:])
        yield _Covered(
            counts,
            flags[0][:, _WINDOW],
            np.where(is_narrow, _place(first, windows), 0),
            np.where(is_narrow, _place(last, windows), 0),
            is_narrow,
            bounds.can_be_null,
        )


def _known(bounds: Bounds) -> Flags:
    lower, upper = bounds.lower_known, bounds.upper_known
    return (YES if lower is None else lower) & (YES if upper is None else upper)


def _windows(first: _Ordinals, last: _Ordinals, is_narrow: Flags) -> _Ordinals:
    """Return the windows of these cells, in order. All windows of a container are among them."""
    starts, ends = first[is_narrow] // _WINDOW, last[is_narrow] // _WINDOW
    several = (ends - starts).max(initial=0)
    between = [np.minimum(starts + step, ends) for step in range(int(several) + 1)]
    return np.unique(np.concatenate(between)) if between else starts


def _place(cell: _Ordinals, windows: _Ordinals) -> _Ordinals:
    """Return where a cell is among those of the windows, one after another."""
    window = cell // _WINDOW
    return np.searchsorted(windows, window) * _WINDOW + (cell - window * _WINDOW)


@once_a_node
def _window(expr: Subdivided, size: int, window: int) -> npt.NDArray[np.bool_]:
    """Evaluate the predicate in the cells of a window, and for NULL.

    Returns:
        Whether it can be true, false and NULL, in this order: for each cell, and last for NULL.
    """
    cells = _Cells(expr.column, window * _WINDOW, size)
    truths = truth(expr.predicate, cells)
    flags = np.empty((3, cells.num_containers), np.bool_)
    flags[0], flags[1], flags[2] = truths.can_be_true, truths.can_be_false, truths.can_be_null
    return flags


class _Cells(Statistics):
    """The cells of a window as containers, and one in which the column is NULL."""

    __slots__ = ("_bounds", "_column")

    def __init__(self, column: Column, first: int, size: int) -> None:
        least, greatest = column.type.domain
        starts = [min(max((first + i) * size, least), greatest) for i in range(_WINDOW)]
        ends = [min(max((first + i + 1) * size - 1, least), greatest) for i in range(_WINDOW)]
        is_null = np.arange(_WINDOW + 1) == _WINDOW
        self._column = column
        self._bounds = Bounds(
            column.type,
            np.array([*starts, least], np.int64),
            np.array([*ends, greatest], np.int64),
            is_null,
            NO,
            ~is_null,
        )

    @property
    def num_containers(self) -> int:
        return _WINDOW + 1

    def bounds(self, column: Column) -> Bounds:
        return self._bounds if column == self._column else Bounds.unknown(column.type)


TRUTHS[Subdivided] = truth_in_cells
