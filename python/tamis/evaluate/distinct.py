"""The distinct cells of bounds: what costs a call of Python is done once for each, and spread out.

Many files share their edges, and most share their flags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.evaluate.bounds import Bounds, Edge, Flags
from tamis.expr.types import DataType

__all__ = ["Cell", "Distinct", "distinct_of", "spread"]

_Codes = npt.NDArray[np.int64]


class Cell(NamedTuple):
    """What is known of a value in one container; an edge is None where it is not known."""

    lower: Any
    upper: Any
    can_be_null: bool
    can_be_nan: bool
    can_be_value: bool


@dataclass(frozen=True, slots=True)
class Distinct:
    """`codes`: for each container (or one for all) the ordinal of its cell among `cells`."""

    cells: list[Cell]
    codes: _Codes


def distinct_of(bounds: Bounds) -> Distinct:
    """The distinct cells of bounds.

    >>> from tamis.evaluate.bounds import NO, YES
    >>> from tamis.expr.types import LONG
    >>> edges = np.array([3, 5, 3])
    >>> found = distinct_of(Bounds(LONG, edges, None, NO, NO, YES))
    >>> [cell.lower for cell in found.cells], found.codes.tolist()
    ([3, 5], [0, 1, 0])
    """
    lower, lower_codes = _distinct_edge(bounds.lower, bounds.lower_known)
    upper, upper_codes = _distinct_edge(bounds.upper, bounds.upper_known)
    flags = (bounds.can_be_null, bounds.can_be_nan, bounds.can_be_value)
    bits = sum(flag.astype(np.int64) << place for place, flag in enumerate(flags))
    keys = (lower_codes * len(upper) + upper_codes) * 8 + bits
    unique, codes = np.unique(np.atleast_1d(keys), return_inverse=True)
    cells = []
    for key in unique.tolist():
        edges, bit = divmod(key, 8)
        low, high = divmod(edges, len(upper))
        cells.append(Cell(lower[low], upper[high], bool(bit & 1), bool(bit & 2), bool(bit & 4)))
    return Distinct(cells, codes)


def _distinct_edge(edge: Edge | None, known: Flags | None) -> tuple[list[Any], _Codes]:
    if edge is None:
        return [None], np.zeros(1, np.int64)
    if isinstance(edge, np.ndarray):
        unique, codes = np.unique(edge, return_inverse=True)
        values, codes = unique.tolist(), codes.astype(np.int64)
    else:
        encoded = edge.dictionary_encode()
        values = encoded.dictionary.to_pylist()
        codes = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        codes = codes.astype(np.int64)
    values.append(None)
    return values, codes if known is None else np.where(known, codes, len(values) - 1)


def spread(
    values: Sequence[Any], codes: _Codes, data_type: DataType, unknown: str
) -> tuple[Edge, Flags | None]:
    """One edge for each container from those of the cells, and where a numpy edge is known.

    `unknown`: "least" or "greatest", the extreme of the type that stands for None.
    """
    if data_type.is_text:
        return pa.array(values, pa.large_binary()).take(pa.array(codes)), None
    if not (data_type.is_discrete or data_type.is_floating):
        arrow = pa.decimal128(38, data_type.scale or 0)
        return pa.array(values, arrow).take(pa.array(codes)), None
    ends = (-np.inf, np.inf) if data_type.is_floating else data_type.domain
    filler = ends[0] if unknown == "least" else ends[1]
    dtype = np.float64 if data_type.is_floating else np.int64
    filled = np.array([filler if each is None else each for each in values], dtype)
    known = np.array([each is not None for each in values], np.bool_)
    return filled[codes], known[codes]
