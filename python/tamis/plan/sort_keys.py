"""Where the rows of each file stand in an ORDER BY, as far as its first key tells.

Rows stand in three groups: NULL, ordinary values, and NaN, which Spark takes for the greatest one.

ORDER BY k             groups, first to last      of a file      near edge   far edge
ASC NULLS FIRST        NULL, values, NaN          k in [3, 7]    3           7
ASC NULLS LAST         values, NaN, NULL                         3           7
DESC NULLS FIRST       NULL, NaN, values                         7           3
DESC NULLS LAST        NaN, values, NULL                         7           3

Every ordinary value of a file stands at its near edge or after it, and at its far edge or before
it. Edges may lie outside of the values (a truncated string, a type's extreme), and both stay true.
Spark sorts -0.0 and 0.0 as equal, and so do edges here.
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

from tamis.evaluate.bounds import Edge, Flags
from tamis.expr.nodes import Expr

__all__ = ["Group", "KeyOfFiles", "Numbers", "Ordinals", "SortKey", "joined"]

Numbers = npt.NDArray[np.int64]
Ordinals = npt.NDArray[np.intp]


class Group(StrEnum):
    """What kind of a value a row has for the key."""

    NULL = "NULL"
    VALUE = "value"
    NAN = "NaN"


@dataclass(frozen=True, slots=True)
class SortKey:
    """The first key of an ORDER BY. `only`: no other key follows."""

    expr: Expr
    descending: bool
    nulls_first: bool
    only: bool = False

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups in which rows stand, first to last."""
        ordered = (Group.NAN, Group.VALUE) if self.descending else (Group.VALUE, Group.NAN)
        return (Group.NULL, *ordered) if self.nulls_first else (*ordered, Group.NULL)


@dataclass(frozen=True, slots=True, eq=False)
class KeyOfFiles:
    """The key in some files, one entry a file.

    ordinals: of each among those of the scan, each once.
    near, far: a null of an Arrow edge is not known; numpy edges are all true.
    attained: where the near edge is for certain the key of some row.
    may_be: where a row that passes the filters may be of that group.
    nulls: how many rows are NULL, whether they pass or not, -1 where not known.
    """

    descending: bool
    ordinals: Ordinals
    near: Edge
    far: Edge
    attained: Flags
    may_be: dict[Group, Flags]
    nulls: Numbers

    def far_is_known(self) -> Flags:
        if isinstance(self.far, np.ndarray):
            return np.ones(len(self.far), np.bool_)
        return np.asarray(self.far.is_valid().to_numpy(zero_copy_only=False))

    def earliest(self, rows: Numbers, count: int) -> Any:
        """The earliest edge such that `count` rows stand at it or before it; None: there is none.

        rows: how many ordinary values each file has. Of these one stands at the near edge, where
        that is attained, and the others at the far edge or before it.
        """
        at_near = ((rows > 0) & self.attained).astype(np.int64)
        at_far = np.where(self.far_is_known(), rows - at_near, 0)
        near, far = np.flatnonzero(at_near > 0), np.flatnonzero(at_far > 0)
        held = np.concatenate([at_near[near], at_far[far]])
        if int(held.sum()) < count:
            return None
        edges = joined([_taken(self.near, near), _taken(self.far, far)])
        # Each edge has a row at least, so no more edges are needed than rows.
        first = _first(edges, min(count, len(held)), self.descending)
        last = int(np.searchsorted(np.cumsum(held[first]), count))
        return edges[int(first[last])]

    def surely_stand(self, rows: Numbers, boundary: Any) -> Numbers:
        """How many of these rows of each file stand at the boundary or before it, at the least."""
        near = self._stand(self.near, "_equal", boundary, unknown=False) & self.attained
        far = self._stand(self.far, "_equal", boundary, unknown=False) & self.far_is_known()
        return np.where(far, rows, np.minimum(rows, near))

    def may_stand(self, before: bool, boundary: Any) -> Flags:
        """Where an ordinary value may stand before the boundary; not `before`: or at it."""
        return self._stand(self.near, "" if before else "_equal", boundary, unknown=True)

    def _stand(self, edge: Edge, or_equal: str, boundary: Any, unknown: bool) -> Flags:
        name = ("greater" if self.descending else "less") + or_equal
        if isinstance(edge, np.ndarray):
            return np.asarray(getattr(np, name)(edge, boundary))
        answer = pc.call_function(name, [edge, boundary])
        # null: an edge is not known
        return np.asarray(pc.fill_null(answer, unknown).to_numpy(zero_copy_only=False))


def joined(arrays: Sequence[Any]) -> Any:
    """Arrays of one kind, of numpy or of Arrow, in a row."""
    if isinstance(arrays[0], np.ndarray):
        return np.concatenate(arrays)
    return pa.concat_arrays(arrays)


def _taken(edge: Edge, places: Ordinals) -> Edge:
    return edge[places] if isinstance(edge, np.ndarray) else edge.take(pa.array(places))


def _mirrored(edge: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The order turned round. Not -x of whole numbers: the least of them has no negative."""
    return -edge if edge.dtype.kind == "f" else ~edge


def _first(edges: Edge, count: int, descending: bool) -> Ordinals:
    """Of these edges, all of them known, the places of the first `count`, in order."""
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
