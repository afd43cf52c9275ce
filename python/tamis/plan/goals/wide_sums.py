"""Exact sums of decimals of up to 38 digits, as sums of their 32-bit limbs.

Arrow adds 128-bit decimals without noticing an overflow. Limbs are less than 2**32, so 2**31 of
them can be added in 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["LIMBS", "from_limbs", "to_limbs"]

#: The number of limbs of a decimal of 128 bits.
LIMBS: Final = 4


def to_limbs(name: str, values: pa.Array) -> dict[str, pa.Array]:
    """Return the limbs of the magnitudes of unscaled values, least significant first.

    Args:
        name: The prefix of the names of the limbs.
        values: Decimals of 128 bits, all >= 0 or all <= 0. Null counts as 0.

    >>> from decimal import Decimal
    >>> limbs = to_limbs("p", pa.array([Decimal("4294967297.00")], pa.decimal128(38, 2)))
    >>> [limb.to_pylist() for limb in limbs.values()]
    [[100], [100], [0], [0]]
    """
    filled = pc.fill_null(pc.abs(values), pa.scalar(0, pa.int64()).cast(values.type))
    if isinstance(filled, pa.ChunkedArray):
        filled = filled.combine_chunks()
    content = filled.buffers()[1]
    words = np.zeros((len(filled), LIMBS), np.uint32)
    if len(filled):
        words = np.frombuffer(content, "<u4", (filled.offset + len(filled)) * LIMBS)
        words = words.reshape(-1, LIMBS)[filled.offset :]
    return {f"{name}{j}": pa.array(words[:, j].astype(np.int64)) for j in range(LIMBS)}


def from_limbs(name: str, sums: Mapping[str, int]) -> int:
    """Return the magnitude whose limbs were added up.

    >>> from_limbs("p", {"p0": 100, "p1": 100, "p2": 0, "p3": 0})
    429496729700
    """
    return sum(sums[f"{name}{j}"] << (32 * j) for j in range(LIMBS))
