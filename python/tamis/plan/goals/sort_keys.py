"""The positions of the rows of each file in an ORDER BY, as far as its first key decides.

Rows form three groups: NULL, ordinary values, and NaN, which Spark treats as the greatest value.

ORDER BY k             groups, first to last      of a file      near edge   far edge
ASC NULLS FIRST        NULL, values, NaN          k in [3, 7]    3           7
ASC NULLS LAST         values, NaN, NULL                         3           7
DESC NULLS FIRST       NULL, NaN, values                         7           3
DESC NULLS LAST        NaN, values, NULL                         7           3

Every ordinary value of a file is at or after its near edge, and at or before its far edge. This
also holds for edges that lie outside the values, such as a truncated string or the extreme value of
a type. Spark sorts -0.0 and 0.0 as equal, and so do these edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import Edge, Flags
from tamis.expr.nodes import Expr

__all__ = ["Group", "KeyOfFiles", "Numbers", "Ordinals", "SortKey", "joined", "ranks"]

Numbers = npt.NDArray[np.int64]
Ordinals = npt.NDArray[np.intp]


class Group(StrEnum):
    """The kind of value that a row has for the key."""

    NULL = "NULL"
    VALUE = "value"
    NAN = "NaN"


@dataclass(frozen=True, slots=True)
class SortKey:
    """The first key of an ORDER BY. `only` is set if no other key follows."""

    expr: Expr
    descending: bool
    nulls_first: bool
    only: bool

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups in the order in which ORDER BY places them."""
        ordered = (Group.NAN, Group.VALUE) if self.descending else (Group.VALUE, Group.NAN)
        return (Group.NULL, *ordered) if self.nulls_first else (*ordered, Group.NULL)


@dataclass(frozen=True, slots=True, eq=False)
class KeyOfFiles:
    """The key in some files, with one entry per file.

    - `ordinals`: the ordinal of the file in the scan. No file occurs twice.
    - `near`, `far`: the edges. A null in an Arrow edge means not known; numpy edges are all known.
    - `attained`: whether the near edge is for certain the key of some row.
    - `passes`: whether it is for certain the key of some row that passes the filters.
    - `may_be`: for each group, whether a row that passes the filters may be in it.
    - `nulls`: the number of rows with NULL, whether they pass or not, -1 where not known.
    """

    descending: bool
    ordinals: Ordinals
    near: Edge
    far: Edge
    attained: Flags
    passes: Flags
    may_be: dict[Group, Flags]
    nulls: Numbers

    def far_is_known(self) -> Flags:
        if isinstance(self.far, np.ndarray):
            return np.ones(len(self.far), np.bool_)
        return np.asarray(self.far.is_valid().to_numpy(zero_copy_only=False))

    def earliest(self, rows: Numbers, count: int) -> Any:
        """Return the earliest edge that has `count` rows at or before it, or None.

        Args:
            rows: The number of ordinary values of each file. One of them is at the near edge if
                that is attained, and the others are at or before the far edge.
            count: The number of rows that are needed.
        """
        at_near = ((rows > 0) & self.attained).astype(np.int64)
        at_far = np.where(self.far_is_known(), rows - at_near, 0)
        near, far = np.flatnonzero(at_near > 0), np.flatnonzero(at_far > 0)
        rows_at = np.concatenate([at_near[near], at_far[far]])
        if int(rows_at.sum()) < count:
            return None
        edges = joined([_taken(self.near, near), _taken(self.far, far)])
        # Each edge accounts for at least one row, so `count` edges suffice.
        first = _first(edges, min(count, len(rows_at)), self.descending)
        last = int(np.searchsorted(np.cumsum(rows_at[first]), count))
        return edges[int(first[last])]

    def surely_stand(self, rows: Numbers, boundary: Any) -> Numbers:
        """Return a lower bound of how many of each file's rows are at or before the boundary."""
        near = self._stand(self.near, "_equal", boundary, unknown=False) & self.attained
        far = self._stand(self.far, "_equal", boundary, unknown=False) & self.far_is_known()
        return np.where(far, rows, np.minimum(rows, near))

    def far_before(self, boundary: Any) -> Flags:
        """Return where every ordinary value is for certain before the boundary."""
        return self._stand(self.far, "", boundary, unknown=False) & self.far_is_known()

    def all_at(self, boundary: Any) -> Flags:
        """Return where every row is for certain an ordinary value that equals the boundary."""
        # both edges are the boundary, and no row is NULL or NaN
        near = self._stand(self.near, "_equal", boundary, unknown=False)
        may_be_before = self._stand(self.near, "", boundary, unknown=True)
        far = self._stand(self.far, "_equal", boundary, unknown=False) & self.far_is_known()
        only_values = (self.nulls == 0) & ~self.may_be[Group.NAN]
        return np.asarray(near & ~may_be_before & far & only_values)

    def may_stand(self, before: bool, boundary: Any) -> Flags:
        """Return where an ordinary value may be before the boundary, or at it unless `before`."""
        return self._stand(self.near, "" if before else "_equal", boundary, unknown=True)

    def _stand(self, edge: Edge, or_equal: str, boundary: Any, unknown: bool) -> Flags:
        name = ("greater" if self.descending else "less") + or_equal
        if isinstance(edge, np.ndarray):
            return np.asarray(getattr(np, name)(edge, boundary))
        answer = pc.call_function(name, [edge, boundary])
        # null: the edge is not known.
        return np.asarray(pc.fill_null(answer, unknown).to_numpy(zero_copy_only=False))


def ranks(edge: Edge, descending: bool) -> Numbers:
    """Return the rank of each edge in sort order, from 0. Equal edges have equal ranks.

    Edges that are not known have the last rank.

    >>> ranks(np.array([5, 3, 5]), descending=False).tolist()
    [1, 0, 1]
    >>> ranks(pa.array([b"b", None, b"a"], pa.large_binary()), descending=True).tolist()
    [0, 2, 1]
    """
    if isinstance(edge, np.ndarray):
        line = _mirrored(edge) if descending else edge
        return np.asarray(np.unique(line, return_inverse=True)[1], np.int64).reshape(-1)
    order = "descending" if descending else "ascending"
    places = np.asarray(pc.array_sort_indices(edge, order=order, null_placement="at_end"))
    sorted_edges = edge.take(pa.array(places))
    count = len(edge)
    known = np.asarray(sorted_edges.is_valid().to_numpy(zero_copy_only=False))
    steps = np.zeros(count, np.int64)
    if count > 1:
        differs = pc.fill_null(pc.not_equal(sorted_edges[1:], sorted_edges[:-1]), False)
        steps[1:] = np.asarray(differs.to_numpy(zero_copy_only=False)) | (known[:-1] & ~known[1:])
    line = np.empty(count, np.int64)
    line[places] = np.cumsum(steps)
    return line


def joined(arrays: Sequence[Any]) -> Any:
    """Concatenate arrays that are all of numpy or all of Arrow."""
    if isinstance(arrays[0], np.ndarray):
        return np.concatenate(arrays)
    return pa.concat_arrays(arrays)


def _taken(edge: Edge, places: Ordinals) -> Edge:
    return edge[places] if isinstance(edge, np.ndarray) else edge.take(pa.array(places))


def _mirrored(edge: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values that sort in reverse. Integers use ~x: the least one has no negative."""
    return -edge if edge.dtype.kind == "f" else ~edge


def _first(edges: Edge, count: int, descending: bool) -> Ordinals:
    """Return the places of the first `count` edges in sort order. All edges must be known."""
    if isinstance(edges, np.ndarray):
        line = _mirrored(edges) if descending else edges
        if count < len(line):
            some = np.argpartition(line, count - 1)[:count]
            return np.asarray(some[np.argsort(line[some], kind="stable")])
        return np.asarray(np.argsort(line, kind="stable"))
    order = "descending" if descending else "ascending"
    table = pa.table({"edge": edges})
    first = pc.select_k_unstable(table, k=count, sort_keys=[("edge", order)])
    return np.asarray(first.to_numpy())
