"""The files that are kept, in the shortest of the forms that a message has for them."""

from __future__ import annotations

import base64
from typing import Final

import numpy as np
import numpy.typing as npt

from tamis.wire.messages import Kept, KeptAll, KeptBitmap, KeptNone, KeptRanges

__all__ = ["encode_kept"]

#: Up to this many ranges are shorter than the bitmap of a table that is worth pruning.
_MAX_RANGES: Final = 32


def encode_kept(kept: npt.NDArray[np.bool_]) -> Kept:
    """The form of one flag a file.

    >>> encode_kept(np.array([False, True, True, False]))
    KeptRanges(data=[(1, 3)])
    """
    count = int(np.count_nonzero(kept))
    if count == len(kept):
        return KeptAll()
    if count == 0:
        return KeptNone()
    edges = np.flatnonzero(kept[1:] != kept[:-1]) + 1
    if len(edges) < 2 * _MAX_RANGES:
        bounds = [0] if kept[0] else []
        bounds += edges.tolist()
        bounds += [len(kept)] if kept[-1] else []
        return KeptRanges(list(zip(bounds[::2], bounds[1::2], strict=True)))
    return KeptBitmap(base64.b64encode(np.packbits(kept, bitorder="little").tobytes()).decode())
