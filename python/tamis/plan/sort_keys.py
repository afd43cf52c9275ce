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

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluate.bounds import Edge, Flags
from tamis.expr.nodes import Expr

__all__ = ["Group", "KeyOfFiles", "Numbers", "Ordinals", "SortKey"]

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
    may_be: where a row that passes the filters may be of that group.
    nulls: how many rows are NULL, whether they pass or not, -1 where not known.
    """

    descending: bool
    ordinals: Ordinals
    near: Edge
    far: Edge
    may_be: dict[Group, Flags]
    nulls: Numbers

    def far_is_known(self) -> Flags:
        if isinstance(self.far, np.ndarray):
            return np.ones(len(self.far), np.bool_)
        return np.asarray(self.far.is_valid().to_numpy(zero_copy_only=False))

    def first_by_far_edge(self, places: Ordinals, count: int) -> Ordinals:
        """Of these places, whose far edges are known, the `count` first by far edge, in order."""
        edge = _taken(self.far, places)
        if isinstance(edge, np.ndarray):
            line = _mirrored(edge) if self.descending else edge
            if count < len(line):
                some = np.argpartition(line, count - 1)[:count]
                return np.asarray(places[some[np.argsort(line[some], kind="stable")]])
            return np.asarray(places[np.argsort(line, kind="stable")])
        direction = "descending" if self.descending else "ascending"
        table = pa.table({"far": edge})
        first = pc.select_k_unstable(
            table, k=min(count, len(places)), sort_keys=[("far", direction)]
        )
        return np.asarray(places[first.to_numpy()])

    def may_stand(self, before: bool, boundary: Any) -> Flags:
        """Where an ordinary value may stand before the boundary; not `before`: or at it."""
        name = ("greater" if self.descending else "less") + ("" if before else "_equal")
        if isinstance(self.near, np.ndarray):
            return np.asarray(getattr(np, name)(self.near, boundary))
        answer = pc.call_function(name, [self.near, boundary])
        # null: an edge is not known, so it may.
        return np.asarray(pc.fill_null(answer, True).to_numpy(zero_copy_only=False))

    def far_edge(self, place: int) -> Any:
        return self.far[place]


def _taken(edge: Edge, places: Ordinals) -> Edge:
    return edge[places] if isinstance(edge, np.ndarray) else edge.take(pa.array(places))


def _mirrored(edge: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The order turned round. Not -x of whole numbers: the least of them has no negative."""
    return -edge if edge.dtype.kind == "f" else ~edge
