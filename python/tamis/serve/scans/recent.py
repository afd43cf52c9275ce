"""What was computed last from a request, by the part of its text that it depends on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
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
        self._values: OrderedDict[bytes, V] = OrderedDict()

    def get_or(
        self, text: bytes | None, make: Callable[[], V], keeps: Callable[[], bool] = lambda: True
    ) -> V:
        """Return the value of a text: the known one, or what `make` returns.

        Args:
            text: None: nothing is kept.
            make: May take long; several threads may make a value at once.
            keeps: Whether to keep what was made.
        """
        if text is None:
            return make()
        with self._lock:
            if text in self._values:
                self._values.move_to_end(text)
                return self._values[text]
        made = make()
        if keeps():
            with self._lock:
                self._values[text] = made
                while len(self._values) > self._most:
                    self._values.popitem(last=False)
        return made
