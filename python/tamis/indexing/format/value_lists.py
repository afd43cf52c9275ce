"""Lists of the distinct values of each file, for columns with few distinct values.

The values are stored as codes of one sorted dictionary for the whole table. So a constant is looked
up once, and its code is compared with those of each file.
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

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Edge, Flags
from tamis.evaluation.domain.edge_values import edge_of
from tamis.evaluation.statistics import Members
from tamis.expr.nodes import Value
from tamis.expr.types import DataType

__all__ = ["MAX_LENGTH", "MAX_VALUES", "UNKNOWN", "ValueLists", "ValueMembers", "key_sql", "listed"]

#: A file with more distinct values, or with a longer value (in bytes), has no list.
MAX_VALUES: Final = 1000
MAX_LENGTH: Final = 1024
UNKNOWN: Final = -1
#: Containers per lookup, which bounds its memory however many containers there are.
_BLOCK: Final = 1 << 16
#: More options are looked up together instead of one by one.
_FEW: Final = 64

Longs = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


def key_sql(value: str, data_type: str) -> str:
    """Return SQL of a value as BINARY, equal for equal values. `_value` decodes it."""
    match data_type:
        case "binary":
            return value
        case "string":
            return f"CAST({value} AS BINARY)"
        case "boolean":
            number = f"CAST({value} AS INT)"
        case "float" | "double":
            number = f"CAST({value} AS DOUBLE) + 0D"  # + 0: turns -0.0 into 0.0
        case "date":
            number = f"unix_date({value})"
        case "timestamp":
            number = f"unix_micros({value})"
        case "timestamp_ntz":  # no time zone: the day and the microseconds within the day
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
    """The lists of files, in order.

    Attributes:
        counts: Number of values of each list, or UNKNOWN.
        values: The concatenated values of all lists, as an edge.
    """

    counts: Longs
    values: Edge

    def __len__(self) -> int:
        return len(self.counts)


def listed(lists: Sequence[Sequence[bytes] | None], data_type: DataType) -> ValueLists:
    """Return the lists of files, in order, from keys (see `key_sql`). None: unknown."""
    decoded: list[list[Value] | None] = []
    for keys in lists:
        try:
            decoded.append(None if keys is None else [_value(key, data_type) for key in keys])
        except UnicodeDecodeError:  # a string that is not UTF-8, which no constant can represent
            decoded.append(None)
    counts = [UNKNOWN if values is None else len(values) for values in decoded]
    flat = [value for values in decoded if values is not None for value in values]
    return ValueLists(np.array(counts, np.int64), edge_of(flat, data_type))


@dataclass(frozen=True, slots=True, eq=False)
class ValueMembers:
    """Lists in the form that the evaluator uses.

    Attributes:
        dictionary: The distinct values of the table, ascending.
        codes: The concatenated lists, as places in the dictionary.
        starts: The first place in `codes` of each container.
        counts: The number of values of each container, or UNKNOWN.
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
        places = pc.index_in(lists.values, value_set=dictionary)
        return ValueMembers(dictionary, places.to_numpy(zero_copy_only=False), starts, lists.counts)

    def may_match(self, options: Edge) -> Flags:
        # Some value of the list is an option. A container without a list may have any value.
        flags: Flags = (self.counts == UNKNOWN) | (self._matched(options) > 0)
        return flags

    def may_miss(self, options: Edge) -> Flags:
        # The values of a list are distinct, so if fewer of them match than there are, some value is
        # not an option.
        flags: Flags = (self.counts == UNKNOWN) | (self._matched(options) < self.counts)
        return flags

    def distinct(self) -> Edge:
        is_present = np.zeros(len(self.dictionary), np.bool_)
        for start in range(0, len(self.counts), _BLOCK):
            stop = start + _BLOCK
            codes, _ = self._codes_of(self.starts[start:stop], self.counts[start:stop])
            is_present[codes] = True
        if isinstance(self.dictionary, np.ndarray):
            present: Edge = self.dictionary[is_present]
            return present
        return self.dictionary.filter(pa.array(is_present))

    def parts(self) -> Mapping[str, Members]:
        return {"values": self}

    def _matched(self, options: Edge) -> Longs:
        """Return how many of the distinct values of each container are options."""
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
        """Return the same for some containers, given the codes of the options."""
        codes, ends = self._codes_of(starts, counts)
        if len(wanted) == 1:
            hits = np.flatnonzero(codes == wanted[0])
        else:
            hits = np.flatnonzero(np.isin(codes, wanted))
        # a hit belongs to the first container that ends after it, which skips those without values
        within: Longs = np.bincount(
            np.searchsorted(ends, hits, side="right"), minlength=len(counts)
        )
        return within

    def _codes_of(self, starts: Longs, counts: Longs) -> tuple[Codes, Longs]:
        """Return the concatenated lists of some containers, and where each list ends."""
        sizes = np.maximum(counts, 0)
        ends = np.cumsum(sizes)
        total, first = int(ends[-1]), int(starts[0])
        moved = starts - (ends - sizes)
        if (moved == first).all():  # the codes of the containers are contiguous
            return self.codes[first : first + total], ends
        return self.codes[np.arange(total) + np.repeat(moved, sizes)], ends

    def bounds(self, data_type: DataType) -> Bounds:
        """Return the least and the greatest value of each container that has a list with values."""
        known = self.counts > 0
        if not len(self.codes) or not known.any():
            return Bounds(
                data_type, None, None, YES, YES if data_type.is_floating else NO, self.counts != 0
            )
        where = self.starts[known]
        low, high = (np.zeros(len(known), np.int64) for _ in range(2))
        # the lists that are not empty are contiguous
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
    """Return the places of the options in a sorted dictionary, without those that it lacks."""
    if not len(dictionary):
        return np.zeros(0, np.int32)
    if isinstance(dictionary, np.ndarray):
        at = np.searchsorted(dictionary, options).clip(max=len(dictionary) - 1)
        codes: Codes = at[dictionary[at] == options].astype(np.int32)
        return codes
    typed = pa.array(options).cast(dictionary.type)
    if len(typed) > _FEW:  # hashing the dictionary pays off
        found = pc.drop_null(pc.index_in(typed, value_set=dictionary))
        several: Codes = found.to_numpy().astype(np.int32)
        return several
    places = []
    for option in typed.to_pylist():
        if option is None:
            continue
        place = bisect_left(_Values(dictionary), option)
        if place < len(dictionary) and dictionary[place].as_py() == option:
            places.append(place)
    return np.array(places, np.int32)


@dataclass(frozen=True, slots=True)
class _Values:
    """An Arrow array as a sequence of Python values."""

    array: pa.Array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, at: int) -> Value:
        value: Value = self.array[at].as_py()
        return value
