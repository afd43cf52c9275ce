"""Statistics of the rows that pass conditions that an index has recorded, or conjuncts for which
an earlier scan has found them.

    file    rows with payload LIKE '%timeout%'    day of all rows    day of these rows
    f1      12                                    1 .. 31            3 .. 3
    f2      5                                     1 .. 31            17 .. 20

A scan that is filtered by this condition returns no row of f1 with `day > 10`, although f1 has such
rows and has rows that pass the condition. The same bounds serve an ORDER BY day and a join on day.

An earlier scan that was filtered by conjuncts of this one has seen every row that passes them, and
so every row that this scan can return. The bounds that it found hold for these rows.

What is known of the rows that pass a condition proves nothing about other rows. So these statistics
rule out files, and never prove that a conjunct is true for all rows of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.domain.exact_counts import Certain
from tamis.evaluation.domain.intersection import intersect
from tamis.evaluation.interpreter import truth
from tamis.evaluation.statistics import LimitedStatistics, Passing, Statistics
from tamis.evaluation.udf.declared_calls import relies_on_declaration
from tamis.expr.condition_keys import condition_key
from tamis.expr.nodes import And, Column, Evaluated, Expr, Subdivided, walk
from tamis.expr.rewrites import without_outcomes
from tamis.files.segments import Segment

__all__ = [
    "LearntValues",
    "PassingStatistics",
    "conditions_of",
    "passing_columns",
    "passing_segments",
    "rule_out_by_passing_rows",
]

#: The most conditions of a scan that are looked up.
_MOST: Final = 16


@dataclass(frozen=True, slots=True, eq=False)
class LearntValues:
    """What an earlier scan has found of the rows of containers that pass some conjuncts of a scan.

    - `conjuncts`: the ordinals of these conjuncts.
    - `columns`: bounds of columns, by path. They say nothing about NULL. Each edge that is known is
      the value of a row that passed.
    - `is_whole`: whether no row has been deleted since.
    """

    conjuncts: frozenset[int]
    columns: Mapping[tuple[str, ...], Bounds]
    is_whole: bool

    def bounds(self, column: Column) -> Bounds | None:
        known = self.columns.get(column.path)
        return known if known is not None and known.type == column.type else None

    def slice(self, start: int, stop: int) -> LearntValues:
        return self._each(lambda bounds: bounds.slice(start, stop))

    def take(self, ordinals: npt.NDArray[np.intp]) -> LearntValues:
        return self._each(lambda bounds: bounds.take(ordinals))

    def _each(self, change: Callable[[Bounds], Bounds]) -> LearntValues:
        return replace(self, columns={path: change(each) for path, each in self.columns.items()})


@dataclass(frozen=True, slots=True)
class PassingStatistics(LimitedStatistics):
    """The statistics of containers without the rows that do not pass some conditions.

    - `conditions`: the keys of the conditions. A container may have rows that pass all of them, or
      none.
    - `learnt`: what earlier scans have found of the rows that pass.
    """

    conditions: tuple[str, ...]
    learnt: tuple[LearntValues, ...] = ()

    def bounds(self, column: Column) -> Bounds:
        # The rows that pass all conditions are among those that pass one of them, and among all
        # rows. So each of these bounds holds, and so does what they have in common.
        bounds = self.whole.bounds(column)
        recorded = (self.whole.expression(Passing(each, column)) for each in self.conditions)
        for limited in (*recorded, *(each.bounds(column) for each in self.learnt)):
            if limited is not None and limited.type == bounds.type:
                # NULL stands for the rows that do not pass as well: only `bounds` knows about NULL.
                bounds = intersect(bounds, replace(limited, can_be_null=bounds.can_be_null))
        return bounds

    def certain(self, column: Column) -> Certain:
        return self.whole.certain(column)  # of all rows, as counts are: see `passing_segments`

    def slice(self, start: int, stop: int) -> Statistics:
        learnt = tuple(each.slice(start, stop) for each in self.learnt)
        return PassingStatistics(self.whole.slice(start, stop), self.conditions, learnt)

    def take(self, ordinals: npt.NDArray[np.intp]) -> Statistics:
        learnt = tuple(each.take(ordinals) for each in self.learnt)
        return PassingStatistics(self.whole.take(ordinals), self.conditions, learnt)


def passing_segments(
    conjuncts: Sequence[Expr],
    segments: Sequence[Segment],
    learnt: Sequence[LearntValues] = (),
) -> list[Segment]:
    """Return what is known of the rows that pass the conjuncts.

    Counts are still those of all rows. So callers count rows only in files in which all rows pass.

    Args:
        conjuncts: Those that an index may have recorded.
        segments: The statistics of the files.
        learnt: What earlier scans have found of the files, by their ordinals.
    """
    conditions = conditions_of(conjuncts)
    if not conditions and not learnt:
        return list(segments)
    return [_passing(each, conditions, learnt) for each in segments]


def _passing(
    segment: Segment, conditions: tuple[str, ...], learnt: Sequence[LearntValues]
) -> Segment:
    places = segment.ordinals
    if isinstance(places, slice):
        start, stop = places.start or 0, places.stop
        of_files = tuple(each.slice(start, stop) for each in learnt)
    else:
        of_files = tuple(each.take(places) for each in learnt)
    return Segment(places, PassingStatistics(segment.statistics, conditions, of_files))


def passing_columns(conjuncts: Sequence[Expr]) -> tuple[Passing, ...]:
    """Return what may be known of the rows that pass the conjuncts: a column under a condition."""
    conditions = conditions_of(conjuncts)[:_MOST]
    columns = dict.fromkeys(
        Column(node.path, node.type)
        for conjunct in conjuncts
        for node in walk(conjunct)
        if isinstance(node, Column)
    )
    return tuple(Passing(condition, column) for condition in conditions for column in columns)


def rule_out_by_passing_rows(
    survivors: Flags,
    statistics: Statistics,
    conjuncts: Sequence[Expr],
    passing: Sequence[Passing],
) -> None:
    """Clear the flags of the containers in which no row that passes a condition passes the rest.

    Args:
        survivors: The flags.
        statistics: The statistics of the containers.
        conjuncts: What is true for each row of the scan.
        passing: What `passing_columns` returns for them.
    """
    if not passing or not survivors.any():
        return
    known = tuple(
        dict.fromkeys(each.condition for each in passing if statistics.expression(each) is not None)
    )
    if not known:
        return
    left = np.flatnonzero(survivors)
    limited = PassingStatistics(statistics.take(left), known)
    alive = np.ones(len(left), np.bool_)
    for conjunct in conjuncts:
        # A row that the scan returns passes the conditions, and the conjunct is true for it. Where
        # no row that passes the conditions makes the conjunct true, the scan returns no row.
        alive &= truth(conjunct, limited).can_be_true
        if not alive.any():
            break
    survivors[left[~alive]] = False


def conditions_of(conjuncts: Iterable[Expr]) -> tuple[str, ...]:
    """Return the keys of what is true for every row that passes all of the conjuncts."""
    return tuple(dict.fromkeys(_conditions(conjuncts)))


def _conditions(conjuncts: Iterable[Expr]) -> Iterator[str]:
    for conjunct in conjuncts:
        match conjunct:
            case And(parts=parts):
                yield from _conditions(parts)
            case Subdivided(predicate=predicate) | Evaluated(predicate=predicate):
                yield from _conditions([predicate])
            case _ if not relies_on_declaration(conjunct):
                key = condition_key(without_outcomes(conjunct))
                if key is not None:
                    yield key
