"""IN over constants.

x is an ordinary value in [l, u], NaN or NULL. A NULL in the list is represented by a flag
(`has_null`) and is not one of the options:

    x is       condition                list without NULL    list with NULL
    ordinary   an option equals x       true                 true
    ordinary   no option equals x       false                NULL
    NaN        NaN is an option         true                 true
    NaN        NaN is not an option     false                NULL
    NULL                                NULL                 NULL

So x IN (…, NULL) is never false, and x NOT IN (…, NULL) is never true.

Recorded values of a container (evaluation.recorded) narrow the result further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Buckets, Edge, Flags, is_never
from tamis.evaluation.domain.buckets import Hashed, hashed
from tamis.evaluation.domain.edge_values import edge_of, is_nan
from tamis.evaluation.domain.flags import all_of, any_of
from tamis.evaluation.domain.intersection import alike
from tamis.evaluation.domain.search import count_at_most, count_less
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.functions.strings.preimages import narrowed_by_preimage
from tamis.evaluation.interpreter import value
from tamis.evaluation.node_cache import once_a_node
from tamis.evaluation.row_statistics import members_of, narrowed
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import In, Value, type_of
from tamis.expr.types import DataType

__all__ = ["Options", "is_in", "options_of"]


@dataclass(frozen=True, slots=True)
class Options:
    """The distinct options in ascending order, without NaN."""

    edge: Edge
    has_nan: bool
    data_type: DataType


@once_a_node
def options_of(expr: In) -> Options | None:
    """Return the options of a list, or None if one of them is not a value of the type."""
    data_type = type_of(expr.value)
    if data_type is None:
        return None
    ordinary: Sequence[Value] = expr.options
    if data_type.is_floating:
        ordinary = [option for option in expr.options if not is_nan(option)]
    try:
        edge = edge_of(ordinary, data_type)
    except (TypeError, ValueError, ArithmeticError):
        return None
    ascending = np.unique(edge) if isinstance(edge, np.ndarray) else _distinct(edge)
    return Options(ascending, len(ordinary) < len(expr.options), data_type)


def _distinct(edge: pa.Array) -> pa.Array:
    distinct = edge.unique()
    return distinct.take(pc.sort_indices(distinct))


def is_in(expr: In, statistics: Statistics) -> TruthSet:
    x = value(expr.value, statistics)
    options = options_of(expr)
    if x is None or options is None or x.type != options.data_type:
        return TruthSet.anything()
    members = members_of(expr.value, statistics) if len(options.edge) else None

    def can_be_matched() -> Flags:
        nan_matches = x.can_be_nan if options.has_nan else NO
        if is_never(x.can_be_value):
            return nan_matches
        meets = _may_match(x, options.edge)
        for buckets in x.buckets:
            meets = _in_bucket(meets, buckets, x, expr)
        may_match = all_of((x.can_be_value, meets))
        may_match = narrowed(may_match, members, lambda recorded: recorded.may_match(options.edge))
        return any_of((may_match, nan_matches))

    def can_be_unmatched() -> Flags:
        nan_misses = NO if options.has_nan else x.can_be_nan
        if is_never(x.can_be_value):
            return nan_misses
        may_miss = all_of((x.can_be_value, _may_miss(x, options)))
        may_miss = narrowed(may_miss, members, lambda recorded: recorded.may_miss(options.edge))
        return any_of((may_miss, nan_misses))

    if expr.has_null:
        unmatched = lambda: any_of((x.can_be_null, can_be_unmatched()))  # noqa: E731
        return narrowed_by_preimage(TruthSet(can_be_matched, NO, unmatched), expr, statistics)
    if not expr.options:
        # NULL IN () is false or NULL, depending on a Spark setting. Allow both.
        return TruthSet(NO, YES, x.can_be_null)
    truths = TruthSet(can_be_matched, can_be_unmatched, x.can_be_null)
    return narrowed_by_preimage(truths, expr, statistics)


def _may_match(x: Bounds, options: Edge) -> Flags:
    """Return where an option may lie in [l, u]: the first option that is >= l is <= u."""
    if len(options) == 0:
        return NO
    if x.lower is None and x.upper is None:
        return YES
    if isinstance(options, np.ndarray):
        return _numbers_may_match(x, options)
    return _values_may_match(x, options)


@once_a_node
def _hashed(expr: In) -> Hashed | None:
    options = options_of(expr)
    return None if options is None else hashed(options.edge, options.data_type)


def _in_bucket(meets: Flags, buckets: Buckets, x: Bounds, expr: In) -> Flags:
    """Narrow `meets` to the containers whose bucket has an option in [l, u].

    `meets`: where any option may lie in [l, u]. Containers whose bucket is unknown keep their flag.
    """
    options, hashes = options_of(expr), _hashed(expr)
    if options is None or hashes is None:
        return meets
    assigned = hashes.buckets(buckets.count)
    meets, ordinals = (np.array(each) for each in np.broadcast_arrays(meets, buckets.ordinals))
    rows = np.flatnonzero(meets & (ordinals >= 0))
    rows = rows[np.argsort(ordinals[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(ordinals[rows], prepend=-1))
    for same_bucket in np.split(rows, starts[1:]) if len(rows) else ():
        own = hashes.ordinals[assigned == ordinals[same_bucket[0]]]
        # An option may have two hashes, hence unique, which also sorts the positions: _may_match
        # needs the options in ascending order.
        positions = np.unique(np.concatenate([own, hashes.anywhere]))
        meets[same_bucket] = _may_match(x.take(same_bucket), _picked(options.edge, positions))
    return meets


def _picked(edge: Edge, positions: Any) -> Edge:
    return edge[positions] if isinstance(edge, np.ndarray) else edge.take(pa.array(positions))


def _values_may_match(x: Bounds, options: pa.Array) -> Flags:
    """_may_match for strings and long decimals: fewer options are below l than are at most u."""
    lower: pa.Array | None = x.lower
    upper: pa.Array | None = x.upper
    below: Any = 0 if lower is None else count_less(options, lower)
    up_to: Any = len(options)
    if upper is not None:
        unknown = upper.is_null().to_numpy(zero_copy_only=False)
        up_to = np.where(unknown, len(options), count_at_most(options, upper))
    return np.atleast_1d(below < up_to)


def _numbers_may_match(x: Bounds, options: Any) -> Flags:
    lower, upper = x.lower, x.upper
    if lower is None:
        below: Flags = upper >= options[0]
        return below
    if upper is None:
        above: Flags = lower <= options[-1]
        return above
    if len(lower) != len(upper):
        lower, upper = np.broadcast_arrays(lower, upper)
    # Searching is expensive, so search only where [l, u] meets the range of the whole list.
    meets: Flags = (lower <= options[-1]) & (upper >= options[0])
    rows = np.flatnonzero(meets)
    first = options[np.searchsorted(options, lower[rows])]
    meets[rows] = first <= upper[rows]
    return meets


def _may_miss(x: Bounds, options: Options) -> Flags:
    """Return where [l, u] may hold a value that is not one of the options.

    It holds no such value if l = u is an option, or, for whole numbers, if u - l + 1 options lie
    between l and u.
    """
    if len(options.edge) == 0 or x.lower is None or x.upper is None:
        return YES
    if not isinstance(options.edge, np.ndarray):
        lower, upper = alike(x.lower, x.upper)
        listed = pc.is_in(lower, value_set=options.edge)
        single_option = pc.fill_null(pc.and_(pc.equal(lower, upper), listed), False)
        other: Flags = ~single_option.to_numpy(zero_copy_only=False)
        return other
    first = np.searchsorted(options.edge, x.lower, side="left")
    after = np.searchsorted(options.edge, x.upper, side="right")
    among = after - first
    if options.data_type.is_floating:
        # l = u is an option. (The point zero stands for 0.0 and -0.0, which compare equal.)
        single_value: Flags = (x.lower == x.upper) & (among == 1)
        return ~single_value
    # u - l as an unsigned number, which is correct even where it needs more than 63 bits.
    width = x.upper.view(np.uint64) - x.lower.view(np.uint64)
    every_one: Flags = (among > 0) & (width == (among - 1).astype(np.uint64))
    return ~every_one
