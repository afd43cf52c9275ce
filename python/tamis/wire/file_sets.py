"""The wire format of sets of files, given by their ordinals in a snapshot."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = ["Kept", "KeptAll", "KeptBitmap", "KeptNone", "KeptRanges"]


class KeptAll(msgspec.Struct, frozen=True, tag_field="form", tag="all"):
    """Every file."""


class KeptNone(msgspec.Struct, frozen=True, tag_field="form", tag="none"):
    """No file."""


class KeptBitmap(msgspec.Struct, frozen=True, tag_field="form", tag="bitmap"):
    """One bit per file, least significant bit first, in base64."""

    data: str


class KeptRanges(msgspec.Struct, frozen=True, tag_field="form", tag="ranges"):
    """Half-open ranges of ordinals: from the first of a pair up to, but excluding, the second."""

    data: list[tuple[int, int]]


Kept: TypeAlias = KeptAll | KeptNone | KeptBitmap | KeptRanges
