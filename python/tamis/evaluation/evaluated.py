"""The rule for predicates over one column that Spark has evaluated for some of its values.

    soundex(kind) = 'B000', evaluated: 'buy' -> true; 'click', 'view' -> false; NULL -> NULL

    file    values of kind     can be true    can be false    can be NULL
    f1      click, view        no             yes             no
    f2      buy                yes            no              no
    f3      buy, NULL          yes            no              yes
    f4      buy, sell          yes            yes             yes        nothing is known of 'sell'
    f5      not listed         yes            yes             yes

Proof: the predicate depends on nothing but the column. If every value that a container can hold has
an outcome other than true, the predicate is true for none of its rows; the same for false and NULL.
What a container can hold follows from its list of values or, if they are few, from the values
between its bounds. A value whose evaluation raised an error has no outcome, so nothing is concluded
about a container that may hold it.

Predicates over the same column are also evaluated together: of NOT (soundex(kind) = 'B000') and
kind < 'd', each is true for a value of f2 and f3, but not for the same one (`evaluated_together`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Edge, Flags, same_length
from tamis.evaluation.domain.flags import all_of, any_of
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.interpreter import truth
from tamis.evaluation.node_cache import once_a_node
from tamis.evaluation.row_statistics import narrowed
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import (
    And,
    Column,
    Compare,
    Evaluated,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Within,
    walk,
)
from tamis.expr.outcomes import Outcome, Outcomes

__all__ = ["evaluated_together", "may_be_unknown", "truth_of_evaluated"]


def truth_of_evaluated(expr: Evaluated, statistics: Statistics) -> TruthSet:
    """Return the truth set by the rules of the predicate, narrowed by the outcomes."""
    ruled = truth(expr.predicate, statistics)

    def can_be(flags: Flags, outcome: Outcome) -> Flags:
        # The rules and the outcomes hold for the same rows, so both limit the result.
        return all_of((flags, _may_lie_outside(_others(expr, outcome), expr, statistics)))

    return TruthSet(
        lambda: can_be(ruled.can_be_true, Outcome.TRUE),
        lambda: can_be(ruled.can_be_false, Outcome.FALSE),
        lambda: can_be(ruled.can_be_null, Outcome.NULL),
    )


def may_be_unknown(expr: Evaluated, statistics: Statistics) -> Flags:
    """Return where a row may hold a value for which the outcome is not known, or was an error."""
    return _may_lie_outside(_others(expr, None), expr, statistics)


def evaluated_together(conjuncts: Sequence[Expr]) -> Iterator[Evaluated]:
    """Yield for each column the conjunction of all predicates over it, if values are evaluated.

    It follows from the conjuncts. A single predicate needs no conjunction.
    """
    columns = dict.fromkeys(each.column for each in conjuncts if isinstance(each, Evaluated))
    for column in columns:
        parts = tuple(each for each in conjuncts if _reads_only(each, column))
        if len(parts) > 1:
            whole = And(parts)
            given = [each.outcomes for each in parts if isinstance(each, Evaluated)]
            if all(each.type == column.type for each in given):
                yield Evaluated(whole, column, _outcomes(whole, column, given))


#: What is evaluated for single values: no functions, which take long.
_SIMPLE: Final = (And, Or, Not, Compare, In, IsNull, Within, Literal, Column)


def _reads_only(expr: Expr, column: Column) -> bool:
    if isinstance(expr, Evaluated):
        return expr.column == column
    nodes = list(walk(expr))
    columns = {each for each in nodes if isinstance(each, Column)}
    return columns == {column} and all(type(each) in _SIMPLE for each in nodes)


def _outcomes(whole: Expr, column: Column, given: Sequence[Outcomes]) -> Outcomes:
    """Evaluate a predicate for the values whose outcome is given, and for NULL and NaN."""
    values: Edge = given[0].values
    for each in given[1:]:
        if isinstance(values, pa.Array):
            values = pa.concat_arrays([values, each.values]).unique()
        else:
            values = np.union1d(values, each.values)
    if isinstance(values, pa.Array):
        values = values.take(pc.sort_indices(values))
    truths = truth(whole, _Values(column, values))
    flags = [truths.can_be_false, truths.can_be_true, truths.can_be_null]
    # A value has a known outcome if it can have no other.
    can_be = np.stack(np.broadcast_arrays(*flags, np.zeros(len(values) + 2, np.bool_))[:3])
    codes = np.array([Outcome.FALSE, Outcome.TRUE, Outcome.NULL], np.uint8)[can_be.argmax(axis=0)]
    codes[can_be.sum(axis=0) != 1] = Outcome.NOT_EVALUATED
    of_null, of_nan = (Outcome(int(code)) for code in codes[-2:])
    return Outcomes(column.type, values, codes[:-2], of_null, of_nan)


class _Values(Statistics):
    """Values of a column as containers, then one in which it is NULL, and one with NaN."""

    __slots__ = ("_bounds", "_column")

    def __init__(self, column: Column, values: Edge) -> None:
        count = len(values) + 2
        if isinstance(values, pa.Array):
            edge = pa.concat_arrays([values, pa.nulls(2, values.type)])
        else:
            # any value: neither of the two has an ordinary one
            edge = np.concatenate([values, np.zeros(2, values.dtype)])
        places = np.arange(count)
        is_null, is_nan = places == count - 2, places == count - 1
        self._column = column
        self._bounds = Bounds(column.type, edge, edge, is_null, is_nan, ~(is_null | is_nan))

    @property
    def num_containers(self) -> int:
        return len(self._bounds.can_be_null)

    def bounds(self, column: Column) -> Bounds:
        return self._bounds if column == self._column else Bounds.unknown(column.type)


@dataclass(frozen=True, slots=True, eq=False)
class _Others:
    """The values, ascending, and the special values whose outcome is known, and not a given one."""

    values: Edge
    has_null: bool
    has_nan: bool


@once_a_node
def _others(expr: Evaluated, outcome: Outcome | None) -> _Others:
    known = expr.outcomes
    others: Final = tuple(each for each in Outcome if each.is_known and each is not outcome)
    places = np.isin(known.codes, others)
    if isinstance(known.values, pa.Array):
        values = known.values.filter(pa.array(places))
    else:
        values = known.values[places]
    return _Others(values, known.of_null in others, known.of_nan in others)


def _may_lie_outside(others: _Others, expr: Evaluated, statistics: Statistics) -> Flags:
    """Return where a row may have a value that is not among these."""
    column = expr.column
    bounds = statistics.bounds(column)
    if bounds.type != column.type or expr.outcomes.type != column.type:
        return YES  # these values may be other values than the query reads
    ordinary = all_of((bounds.can_be_value, ~_is_within(bounds, others.values)))
    members = statistics.members(column)
    ordinary = narrowed(ordinary, members, lambda listed: listed.may_miss(others.values))
    return any_of(
        (
            ordinary,
            NO if others.has_null else bounds.can_be_null,
            NO if others.has_nan else bounds.can_be_nan,
        )
    )


def _is_within(bounds: Bounds, values: Edge) -> Flags:
    """Return where every value from the lower to the upper bound is among these."""
    lower, upper = bounds.lower, bounds.upper
    if lower is None or upper is None or not len(values):
        return NO
    if isinstance(values, pa.Array):
        return _is_single(lower, upper, values)
    assert isinstance(lower, np.ndarray)
    assert isinstance(upper, np.ndarray)
    first, last = np.searchsorted(values, lower), np.searchsorted(values, upper, side="right")
    if bounds.type.is_floating:  # too many values lie between two of them
        single: Flags = (lower == upper) & (last > first)
        return single
    # Between l and u there are u - l + 1 values, and this many of ours are distinct. Unsigned: the
    # difference may exceed int64. Contradictory bounds (l > u) have none of ours between them.
    width = upper.astype(np.uint64) - lower.astype(np.uint64)
    whole: Flags = (last > first) & ((last - first - 1).astype(np.uint64) == width)
    return whole


def _is_single(lower: Edge, upper: Edge, values: pa.Array) -> Flags:
    """Return where both bounds are the same value, and it is among these."""
    lower, upper = same_length(lower, upper)
    # null: an unknown bound, which equals nothing
    equal = pc.and_(pc.equal(lower, upper), pc.is_in(lower, value_set=values.cast(lower.type)))
    flags: npt.NDArray[np.bool_] = pc.fill_null(equal, False).to_numpy(zero_copy_only=False)
    return flags
