"""The text of a part of a request, as a key of what follows from it."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["text_of"]

#: Bytes of a text.
_LONGEST: Final = 16_384


def text_of(parts: object) -> bytes | None:
    """Return the text of parts of a request; None if it is too long to be kept.

    The text and not the decoded parts, which are equal for 0.0 and -0.0.
    """
    text = msgspec.json.encode(parts)
    return text if len(text) <= _LONGEST else None
