"""What was computed last from a request, by the parts of it that the result depends on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

import msgspec

__all__ = ["Recent", "text_of"]

V = TypeVar("V")

#: Bytes of a text.
_LONGEST: Final = 16_384


def text_of(parts: object) -> bytes | None:
    """Return the text of parts of a request; None if it is too long to be kept.

    The text and not the decoded parts, which are equal for 0.0 and -0.0.
    """
    text = msgspec.json.encode(parts)
    return text if len(text) <= _LONGEST else None


class Recent(Generic[V]):
    """The values that were needed last. Thread-safe.

    Args:
        most: How many there are.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, V] = OrderedDict()

    def get_or(
        self, key: Hashable | None, make: Callable[[], V], keeps: Callable[[], bool] = lambda: True
    ) -> V:
        """Return the value of a key: the known one, or what `make` returns.

        Args:
            key: Such as a text of a request. None: nothing is kept.
            make: May take long; several threads may make a value at once.
            keeps: Whether to keep what was made.
        """
        if key is None:
            return make()
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        made = make()
        if keeps():
            with self._lock:
                self._values[key] = made
                while len(self._values) > self._most:
                    self._values.popitem(last=False)
        return made
