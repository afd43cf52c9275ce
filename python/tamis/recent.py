"""The values that this process has needed last."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from cachetools import LRUCache

__all__ = ["Recent"]

V = TypeVar("V")


class Recent(Generic[V]):
    """The values that were needed last, by key. Thread-safe.

    Args:
        most: The size of all values together. A value that is larger is kept alone.
        size_of: The size of a value; None: every value counts as 1.
    """

    def __init__(self, most: int, size_of: Callable[[V], int] | None = None) -> None:
        self._lock = threading.Lock()
        if size_of is None:
            self._values = LRUCache[Hashable, V](most)
        else:
            self._values = LRUCache[Hashable, V](most, lambda value: min(size_of(value), most))

    def get(self, key: Hashable) -> V | None:
        """Return the value of a key; None if there is none."""
        with self._lock:
            return self._values.get(key)

    def keep(self, key: Hashable, value: V) -> None:
        """Keep a value, in place of another one of this key."""
        with self._lock:
            self._values[key] = value

    def forget(self, key: Hashable) -> None:
        """Keep no value of a key."""
        with self._lock:
            self._values.pop(key, None)

    def get_or(
        self, key: Hashable | None, make: Callable[[], V], keeps: Callable[[], bool] = lambda: True
    ) -> V:
        """Return the value of a key, the same object for all callers while it is kept.

        Args:
            key: Such as a text of a request. None: nothing is kept.
            make: Makes a missing value. It may take long; several threads may make one at once.
            keeps: Whether to keep what was made.
        """
        if key is None:
            return make()
        known = self.get(key)
        if known is not None:
            return known
        made = make()
        if not keeps():
            return made
        with self._lock:
            return self._values.setdefault(key, made)
