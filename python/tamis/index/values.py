"""Lists of the distinct values of each file, of columns that have few.

Kept as numbers of values in one sorted dictionary of the whole table, so that a constant is looked
up once, and a file is asked for numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluate.bounds import NO, YES, Bounds, Edge, Flags
from tamis.evaluate.recorded import Members
from tamis.evaluate.storage import edge_of
from tamis.expr.nodes import Value
from tamis.expr.types import DataType

__all__ = ["MAX_LENGTH", "MAX_VALUES", "UNKNOWN", "ValueLists", "ValueMembers", "key_sql", "listed"]

#: Files with more distinct values than that, or with a longer one (bytes), have no list.
MAX_VALUES: Final = 1000
MAX_LENGTH: Final = 1024
UNKNOWN: Final = -1
#: So many containers are asked at a time: what that takes is small, however many there are.
_BLOCK: Final = 1 << 16

Longs = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


def key_sql(value: str, data_type: str) -> str:
    """SQL of a value as BINARY: the same for equal values, read by `_value`."""
    match data_type:
        case "binary":
            return value
        case "string":
            return f"CAST({value} AS BINARY)"
        case "boolean":
            number = f"CAST({value} AS INT)"
        case "float" | "double":
            number = f"CAST({value} AS DOUBLE) + 0D"  # + 0: one zero
        case "date":
            number = f"unix_date({value})"
        case "timestamp":
            number = f"unix_micros({value})"
        case "timestamp_ntz":  # without a time zone: the day, and what of it has passed
            number = (
                f"unix_date(CAST({value} AS DATE)) * 86400000000L + hour({value}) * 3600000000L "
                f"+ minute({value}) * 60000000L "
                f"+ CAST(extract(SECOND FROM {value}) * 1000000 AS BIGINT)"
            )
        case _:
            number = value
    return f"CAST(CAST({number} AS STRING) AS BINARY)"


def _value(key: bytes, data_type: DataType) -> Value:
    if data_type.name == "string":
        return key.decode()
    if data_type.name == "binary":
        return key
    text = key.decode("ascii")
    if data_type.name == "boolean":
        return text == "1"
    if data_type.is_floating:
        return float(text)
    return Decimal(text) if data_type.is_decimal else int(text)


@dataclass(frozen=True, slots=True, eq=False)
class ValueLists:
    """Lists of files in order. counts: of each, or UNKNOWN.  values: of all, as an edge."""

    counts: Longs
    values: Edge

    def __len__(self) -> int:
        return len(self.counts)


def listed(lists: Sequence[Sequence[bytes] | None], data_type: DataType) -> ValueLists:
    """Lists of keys (see `key_sql`) of files in order; None: not known."""
    decoded: list[list[Value] | None] = []
    for keys in lists:
        try:
            decoded.append(None if keys is None else [_value(key, data_type) for key in keys])
        except UnicodeDecodeError:  # a string that is not UTF-8: no constant speaks of it
            decoded.append(None)
    counts = [UNKNOWN if values is None else len(values) for values in decoded]
    flat = [value for values in decoded if values is not None for value in values]
    return ValueLists(np.array(counts, np.int64), edge_of(flat, data_type))


@dataclass(frozen=True, slots=True, eq=False)
class ValueMembers:
    """Lists as the evaluator asks them.

    dictionary: the distinct values of the table, ascending.  codes: of all lists.  starts, counts:
    of each container.
    """

    dictionary: Edge
    codes: Codes
    starts: Longs
    counts: Longs

    @staticmethod
    def of(lists: ValueLists) -> ValueMembers:
        sizes = np.maximum(lists.counts, 0)
        starts = np.cumsum(sizes) - sizes
        if isinstance(lists.values, np.ndarray):
            dictionary, codes = np.unique(lists.values, return_inverse=True)
            return ValueMembers(dictionary, codes.astype(np.int32), starts, lists.counts)
        distinct = lists.values.unique()
        dictionary = distinct.take(pc.sort_indices(distinct))
        found = pc.index_in(lists.values, value_set=dictionary)
        return ValueMembers(dictionary, found.to_numpy(zero_copy_only=False), starts, lists.counts)

    def may_match(self, options: Edge) -> Flags:
        # A value is an option; what has no list may hold any.
        flags: Flags = (self.counts == UNKNOWN) | (self._matched(options) > 0)
        return flags

    def may_miss(self, options: Edge) -> Flags:
        # The values of a list are distinct, and so are the options that they equal.
        flags: Flags = (self.counts == UNKNOWN) | (self._matched(options) < self.counts)
        return flags

    def parts(self) -> Mapping[str, Members]:
        return {"values": self}

    def _matched(self, options: Edge) -> Longs:
        """How many of the values of each container are options; the values are distinct."""
        matched = np.zeros(len(self.counts), np.int64)
        wanted = _places(self.dictionary, options)
        if not len(wanted):
            return matched
        for start in range(0, len(matched), _BLOCK):
            stop = start + _BLOCK
            matched[start:stop] = self._matched_in(
                wanted, self.starts[start:stop], self.counts[start:stop]
            )
        return matched

    def _matched_in(self, wanted: Codes, starts: Longs, counts: Longs) -> Longs:
        """The same of some containers, for the codes of options."""
        sizes = np.maximum(counts, 0)
        ends = np.cumsum(sizes)
        total, first = int(ends[-1]), int(starts[0])
        moved = starts - (ends - sizes)
        if (moved == first).all():  # the codes of each container lie one after the other
            codes = self.codes[first : first + total]
        else:
            codes = self.codes[np.arange(total) + np.repeat(moved, sizes)]
        if len(wanted) == 1:
            hits = np.flatnonzero(codes == wanted[0])
        else:
            hits = np.flatnonzero(np.isin(codes, wanted))
        # a hit lies in the first container that ends after it; those without values are passed over
        within: Longs = np.bincount(
            np.searchsorted(ends, hits, side="right"), minlength=len(counts)
        )
        return within

    def bounds(self, data_type: DataType) -> Bounds:
        """The least and the greatest value of each container, where they are known."""
        known = self.counts > 0
        if not len(self.codes) or not known.any():
            return Bounds(
                data_type, None, None, YES, YES if data_type.is_floating else NO, self.counts != 0
            )
        where = self.starts[known]
        low, high = (np.zeros(len(known), np.int64) for _ in range(2))
        # the lists that are not empty lie one after the other
        low[known] = np.minimum.reduceat(self.codes, where)
        high[known] = np.maximum.reduceat(self.codes, where)
        lower, upper = self._edge(low, known, data_type, 0), self._edge(high, known, data_type, 1)
        flags = None if not isinstance(lower, np.ndarray) or known.all() else known
        return Bounds(
            data_type,
            lower,
            upper,
            YES,
            YES if data_type.is_floating else NO,
            self.counts != 0,
            flags,
            flags,
        )

    def _edge(self, codes: Longs, known: Flags, data_type: DataType, side: int) -> Edge:
        if isinstance(self.dictionary, np.ndarray):
            extremes = (-np.inf, np.inf) if data_type.is_floating else data_type.domain
            values = self.dictionary[codes]
            return np.where(known, values, extremes[side]).astype(self.dictionary.dtype)
        return self.dictionary.take(pa.array(codes, mask=~known))

    def slice(self, start: int, stop: int) -> Members:
        return ValueMembers(
            self.dictionary, self.codes, self.starts[start:stop], self.counts[start:stop]
        )

    def take(self, ordinals: npt.NDArray[np.intp]) -> Members:
        return ValueMembers(
            self.dictionary, self.codes, self.starts[ordinals], self.counts[ordinals]
        )


def _places(dictionary: Edge, options: Edge) -> Codes:
    """Where the options lie in a sorted dictionary; those that it does not have are left out."""
    if not len(dictionary):
        return np.zeros(0, np.int32)
    if isinstance(dictionary, np.ndarray):
        at = np.searchsorted(dictionary, options).clip(max=len(dictionary) - 1)
        codes: Codes = at[dictionary[at] == options].astype(np.int32)
        return codes
    found = []
    for option in pa.array(options).cast(dictionary.type).to_pylist():
        if option is None:
            continue
        place = bisect_left(_Values(dictionary), option)
        if place < len(dictionary) and dictionary[place].as_py() == option:
            found.append(place)
    return np.array(found, np.int32)


@dataclass(frozen=True, slots=True)
class _Values:
    """An Arrow array as a sequence of Python's values."""

    array: pa.Array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, at: int) -> Value:
        value: Value = self.array[at].as_py()
        return value
