"""Conversion between edges and distinct Python values.

Work that needs a Python call is done once per distinct edge and spread over the containers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluation.domain.bounds import Bounds, Edge, Flags
from tamis.expr.types import DataType

__all__ = ["Codes", "distinct_edges", "spread"]

#: For each container, or once for all of them, a position in a list of distinct values.
Codes: TypeAlias = npt.NDArray[np.int64]


def distinct_edges(bounds: Bounds, name: str) -> tuple[list[Any], Codes]:
    """Return the distinct edges of one side, and for each container the position of its edge.

    Args:
        bounds: The bounds.
        name: The side: "lower" or "upper".

    Returns:
        The distinct edges as Python values, with None for unknown, and the position in this list
        for each container.

    >>> from tamis.evaluation.domain.bounds import NO, YES
    >>> from tamis.expr.types import LONG
    >>> values, codes = distinct_edges(
    ...     Bounds(LONG, np.array([3, 5, 3]), None, NO, NO, YES), "lower"
    ... )
    >>> values, codes.tolist()
    ([3, 5, None], [0, 1, 0])
    """
    edge: Edge | None = getattr(bounds, name)
    known: Flags | None = getattr(bounds, f"{name}_known")
    if edge is None:
        return [None], np.zeros(1, np.int64)
    if isinstance(edge, np.ndarray):
        unique, codes = np.unique(edge, return_inverse=True)
        values = unique.tolist()
    else:
        encoded = edge.dictionary_encode()
        values = encoded.dictionary.to_pylist()
        codes = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    values.append(None)
    codes = codes.astype(np.int64)
    return values, codes if known is None else np.where(known, codes, len(values) - 1)


def spread(values: Sequence[Any], codes: Codes, data_type: DataType, is_lower: bool) -> Edge:
    """Return the edge of each container from the distinct ones; None is unknown.

    >>> from tamis.expr.types import BYTE
    >>> spread([7, None], np.array([0, 1, 0]), BYTE, is_lower=True).tolist()
    [7, -128, 7]
    """
    if not (data_type.is_discrete or data_type.is_floating):
        arrow = pa.decimal128(38, data_type.scale or 0) if data_type.is_decimal else None
        return pa.array(values, arrow or pa.large_binary()).take(pa.array(codes))
    # An unknown edge becomes the extreme of the type, which is a true bound.
    ends = (-np.inf, np.inf) if data_type.is_floating else data_type.domain
    filler = ends[0] if is_lower else ends[1]
    dtype = np.float64 if data_type.is_floating else np.int64
    return np.array([filler if each is None else each for each in values], dtype)[codes]
