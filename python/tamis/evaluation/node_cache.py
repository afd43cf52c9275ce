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


def once_a_node(function: Callable[..., T]) -> Callable[..., T]:
    """Cache a function of a node, so that it is not computed again for each block of containers.

    Further arguments must be hashable.
    """

    @lru_cache(maxsize=256)
    def cached(key: _Identity, *rest: Any) -> T:
        return function(key.node, *rest)

    @wraps(function)
    def of_node(node: Any, *rest: Any) -> T:
        return cached(_Identity(node), *rest)

    return of_node
