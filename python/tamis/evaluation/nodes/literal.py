"""Constants: the same value in every row of every container."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from tamis.evaluation.domain.bounds import NO, YES, Bounds
from tamis.evaluation.domain.edge_values import edge_of, is_nan
from tamis.evaluation.domain.order import with_keys
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Literal

__all__ = ["literal", "once_a_node"]

T = TypeVar("T")


class _Identity:
    """A node as a cache key, compared by identity: the hash of a node visits all of its values."""

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        self.node = node

    def __hash__(self) -> int:
        return id(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.node is other.node


def once_a_node(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Cache a function of a node, so that it is not computed again for each block of containers."""

    @lru_cache(maxsize=256)
    def cached(key: _Identity) -> T:
        return function(key.node)

    @wraps(function)
    def of_node(node: Any) -> T:
        return cached(_Identity(node))

    return of_node


def literal(expr: Literal, statistics: Statistics) -> Bounds:
    return _bounds(expr)


@once_a_node
def _bounds(expr: Literal) -> Bounds:
    if expr.value is None:
        return Bounds(expr.type, None, None, YES, NO, NO)
    if is_nan(expr.value) and expr.type.is_floating:
        return Bounds(expr.type, None, None, NO, YES, NO)
    try:
        edge = edge_of([expr.value], expr.type)
    except (TypeError, ValueError, ArithmeticError):
        # Not a value of its type, so nothing is known. (OverflowError is an ArithmeticError.)
        return Bounds.unknown(expr.type)
    return with_keys(Bounds(expr.type, edge, edge, NO, NO, YES))
