"""Sets of files on the wire, by their ordinals in a snapshot."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = ["Kept", "KeptAll", "KeptBitmap", "KeptNone", "KeptRanges"]


class KeptAll(msgspec.Struct, frozen=True, tag_field="form", tag="all"):
    """Every file."""


class KeptNone(msgspec.Struct, frozen=True, tag_field="form", tag="none"):
    """No file."""


class KeptBitmap(msgspec.Struct, frozen=True, tag_field="form", tag="bitmap"):
    """One bit a file, least significant first, in base64."""

    data: str


class KeptRanges(msgspec.Struct, frozen=True, tag_field="form", tag="ranges"):
    """Ordinals from the first of a pair up to, and without, the second."""

    data: list[tuple[int, int]]


Kept: TypeAlias = KeptAll | KeptNone | KeptBitmap | KeptRanges
