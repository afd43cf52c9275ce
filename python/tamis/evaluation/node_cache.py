"""A cache for what rules derive from a node alone, independent of statistics."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

__all__ = ["once_a_node"]

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
