"""Decode the records of a manifest together, field by field, with numpy.

A decoder of Avro reads byte after byte, because nothing says where a record starts. Here, the
location of each file is searched, which every record has: the locations of a table begin alike.
Each record becomes a lane with a position in the data, and one step moves all lanes over one field.
With thousands of records, this takes about a third of the time of polars.

Searching locations is a guess, which is proven afterwards: the fields before the location, decoded
from where the lane before ends, must end where the location was found. The first lane starts with
the data, so by induction every lane starts where its record does. Whatever is not as expected
raises `NotInLanes`, and polars decodes the manifest.

Source: Apache Avro specification, "Binary Encoding".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["NotInLanes", "Pairs", "PairsOfAll", "decode_lanes"]

Numbers = npt.NDArray[np.int64]

_NUMBERS: Final[Mapping[str, pa.DataType]] = {"int": pa.int32(), "long": pa.int64()}
_FLOATS: Final[Mapping[str, np.dtype[Any]]] = {"float": np.dtype("<f4"), "double": np.dtype("<f8")}
_LOGICAL: Final[Mapping[tuple[str, str], pa.DataType]] = {
    ("int", "date"): pa.date32(),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-micros"): pa.timestamp("us"),
}
#: The most entries of a list. Each takes a step, so polars is faster with longer ones.
_MOST_ENTRIES: Final = 10_000
_MOST_BYTES: Final = 2**31 - 1
#: The bytes of the longest number.
_LONGEST: Final = 10
_POSITIVE: Final = 2**63 - 1
#: Most bounds are as long.
_WORD: Final = np.dtype("<u8")
#: The numbers of one byte.
_SHORT: Final = np.arange(0x80) >> 1 ^ -(np.arange(0x80) & 1)


class NotInLanes(Exception):
    """The data is not as expected here. It need not be damaged."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The pairs of a key and a value in a list of each record.

    Attributes:
        parents: The records.
        keys: The keys.
        values: int64 or binary.
        is_sorted: Whether they are ordered by key and then by record, and no record has a key
            twice. Otherwise they are ordered by record.
    """

    parents: Numbers
    keys: Numbers
    values: pa.Array
    is_sorted: bool = False

    def where(self, is_kept: npt.NDArray[np.bool_]) -> Pairs:
        """Return the pairs of some records, which are counted anew."""
        kept = is_kept[self.parents]
        parents = (np.cumsum(is_kept) - 1)[self.parents[kept]]
        return Pairs(parents, self.keys[kept], self.values.filter(pa.array(kept)), self.is_sorted)


@dataclass(frozen=True, slots=True, eq=False)
class PairsOfAll:
    """The pairs of lists that all have the same keys, ordered by key and then by record.

    Attributes:
        keys: The keys of each list, ascending.
        values: int64 or binary.
    """

    keys: Numbers
    values: pa.Array

    def where(self, is_kept: npt.NDArray[np.bool_]) -> PairsOfAll:
        """Return the pairs of some records."""
        kept = np.tile(is_kept, len(self.keys))
        return PairsOfAll(self.keys, self.values.filter(pa.array(kept)))

    def of(self, parents: Numbers) -> Pairs:
        """Return the pairs of these records."""
        keys = np.repeat(self.keys, len(parents))
        return Pairs(np.tile(parents, len(self.keys)), keys, self.values, is_sorted=True)


def decode_lanes(
    data: bytes,
    count: int,
    schema: Mapping[str, Any],
    record: str,
    key: str,
    unused: Collection[str],
) -> tuple[pa.Table, dict[str, Pairs | PairsOfAll]]:
    """Return the records, and by name the lists of pairs in their inner record.

    Args:
        data: The records, without anything between them.
        count: Their number, which is not 0.
        schema: What `plain_schema` returns.
        record: The name of a field that is a record.
        key: The name of a text field of that record, whose values begin alike.
        unused: The names of fields of that record that are not needed.

    Raises:
        NotInLanes: See there.
    """
    try:
        return _Decoder(data, count, unused).records(schema, record, key)
    except (KeyError, TypeError, ValueError, ArithmeticError, pa.ArrowException) as problem:
        raise NotInLanes(f"{problem!r:.200}") from problem


@dataclass(frozen=True, slots=True, eq=False)
class _Field:
    """A field, after those of the inner record took its place."""

    name: str
    type: Any
    is_inner: bool


class _Decoder:
    def __init__(self, data: bytes, count: int, unused: Collection[str]) -> None:
        self._bytes = data
        self._data = np.frombuffer(data, np.uint8)
        self._count = count
        self._unused = unused
        if len(data) > _MOST_BYTES:
            raise NotInLanes("offsets of 32 bits do not suffice")

    def records(
        self, schema: Mapping[str, Any], record: str, key: str
    ) -> tuple[pa.Table, dict[str, Pairs | PairsOfAll]]:
        fields = _flattened(schema, record)
        place = next(n for n, each in enumerate(fields) if each.is_inner and each.name == key)
        if fields[place].type != "string":
            raise NotInLanes("a location is not a text")
        head, tail = fields[:place], fields[place + 1 :]
        places = self._locations(head)
        lengths = self._numbers_before(places)
        columns: dict[_Field, Any] = {}
        ends = self._read(tail, places + lengths, columns)
        # The proof: see the module.
        starts = np.append(0, ends[:-1])
        again, found = self._number(self._read(head, starts, columns))
        if not np.array_equal(found, places) or not np.array_equal(again, lengths):
            raise NotInLanes("a record does not start where the one before ends")
        if ends[-1] != len(self._data):
            raise NotInLanes("the last record does not end with the data")
        columns[fields[place]] = self._slices(places, lengths).cast(pa.string())
        pairs = {each.name: columns.pop(each) for each in fields if _is_pairs(columns.get(each))}
        outer = {each.name: values for each, values in columns.items() if not each.is_inner}
        inner = {each.name: values for each, values in columns.items() if each.is_inner}
        outer[record] = pa.StructArray.from_arrays(list(inner.values()), list(inner))
        return pa.table(outer), pairs

    # ---- where records are ----

    def _locations(self, head: Sequence[_Field]) -> Numbers:
        """Return where the text of each location starts, if the guess is right."""
        (length,), (start,) = self._number(self._read(head, np.zeros(1, np.int64), None))
        begin = self._bytes[int(start) : int(start + length)]
        while b"/" in begin:
            # the directory of the file, or one above it
            begin = begin[: begin.rstrip(b"/").rfind(b"/") + 1]
            matches = re.finditer(re.escape(begin), self._bytes) if begin else iter(())
            found = [each.start() for each in islice(matches, self._count + 1)]
            if len(found) == self._count:
                return np.array(found, np.int64)
            if len(found) > self._count:
                break
        raise NotInLanes("locations do not begin alike, or not only locations do")

    def _numbers_before(self, ends: Numbers) -> Numbers:
        """Return the numbers that end at these positions, which are lengths and follow numbers.

        All bytes of a number but the last one have the high bit.
        """
        place = ends - 1
        values, more = self._at(place).astype(np.int64), self._at(place - 1) >= 0x80
        for _ in range(_LONGEST):
            if not more.any():
                return values >> 1
            place = place - more
            values = np.where(more, values << 7 | self._at(place) & 0x7F, values)
            more &= self._at(place - 1) >= 0x80
        raise NotInLanes("a number is too long")

    # ---- steps: each takes positions of lanes, and returns those after a value ----

    def _at(self, positions: Numbers) -> npt.NDArray[np.uint8]:
        # A wrong guess may lead beyond the data. The proof finds it.
        return self._data.take(positions, mode="clip")

    def _number(self, positions: Numbers) -> tuple[Numbers, Numbers]:
        byte, after = self._at(positions), positions + 1
        if byte.max(initial=0) < 0x80:
            return _SHORT.take(byte), after
        values, more = (byte & 0x7F).astype(np.int64), byte >= 0x80
        for n in range(1, _LONGEST + 1):
            if not more.any():
                return (values >> 1 & _POSITIVE) ^ -(values & 1), after
            byte = np.where(more, self._at(after), 0)
            if n == _LONGEST - 1 and byte.max() > 1:
                break  # it has more than 64 bits
            values |= (byte & 0x7F).astype(np.int64) << 7 * n
            after = after + more
            more = byte >= 0x80
        raise NotInLanes("a number is too long")

    def _read(
        self, fields: Sequence[_Field], positions: Numbers, columns: dict[_Field, Any] | None
    ) -> Numbers:
        """Move over fields, and add the values of those that are needed to the columns."""
        for field in fields:
            is_kept = columns is not None and not (field.is_inner and field.name in self._unused)
            values, positions = self._value(field.type, positions, is_kept)
            if columns is not None and values is not None:
                columns[field] = values
        return positions

    def _value(self, of: Any, positions: Numbers, is_kept: bool) -> tuple[Any, Numbers]:
        """Return values (an Arrow array, or Pairs), or None if they are not kept."""
        if isinstance(of, list):
            return self._optional(of, positions, is_kept)
        kind = _kind(of)
        if kind == "array":
            return self._list(of["items"], positions, is_kept)
        if kind == "record":
            return self._struct(of["fields"], positions, is_kept)
        if not is_kept:
            return None, self._skip(of, positions)
        logical = None if isinstance(of, str) else of.get("logicalType")
        if kind in _NUMBERS:
            numbers, after = self._number(positions)
            values = pa.array(numbers).cast(_NUMBERS[kind])
            return (values if logical is None else values.cast(_LOGICAL[kind, logical])), after
        if logical is not None:
            raise NotInLanes(f"the logical type {logical}")
        if kind in ("bytes", "string"):
            lengths, starts = self._number(positions)
            values = self._slices(starts, lengths)
            return (values.cast(pa.string()) if kind == "string" else values), starts + lengths
        size = _size(of)
        if kind == "fixed":
            return self._slices(positions, np.full(len(positions), size)), positions + size
        cells = self._at(positions[:, np.newaxis] + np.arange(size))
        if kind == "boolean":
            if cells.max(initial=0) > 1:
                raise NotInLanes("a boolean value is neither true nor false")
            return pa.array(cells[:, 0] == 1), positions + size
        return pa.array(cells.view(_FLOATS[kind])[:, 0]), positions + size

    def _skip(self, of: Any, positions: Numbers) -> Numbers:
        kind = _kind(of)
        if kind in _NUMBERS:
            return self._number(positions)[1]
        if kind in ("bytes", "string"):
            lengths, starts = self._number(positions)
            return starts + lengths
        return positions + _size(of)

    def _optional(
        self, of: Sequence[Any], positions: Numbers, is_kept: bool
    ) -> tuple[Any, Numbers]:
        if len(of) != 2 or "null" not in of:
            raise NotInLanes("a union of several types")
        place = 1 - list(of).index("null")
        options, after = self._number(positions)
        is_value = options == place
        if not np.all(is_value | (options == 1 - place)):
            raise NotInLanes("an option that does not exist")
        if is_value.all():
            return self._value(of[place], after, is_kept)
        values, after[is_value] = self._value(of[place], after[is_value], is_kept)
        parents = np.flatnonzero(is_value)
        if isinstance(values, Pairs):
            return replace(values, parents=parents[values.parents]), after
        if isinstance(values, PairsOfAll):
            return values.of(parents), after
        if values is not None:
            values = values.take(pa.array(np.cumsum(is_value) - 1, mask=~is_value))
        return values, after

    def _struct(
        self, fields: Sequence[Mapping[str, Any]], positions: Numbers, is_kept: bool
    ) -> tuple[Any, Numbers]:
        count, columns = len(positions), {}
        for field in fields:
            columns[field["name"]], positions = self._value(field["type"], positions, is_kept)
        if not is_kept:
            return None, positions
        if not fields:
            return pa.array([{}] * count, pa.struct([])), positions
        return pa.StructArray.from_arrays(list(columns.values()), list(columns)), positions

    def _list(
        self, of: Any, positions: Numbers, is_kept: bool
    ) -> tuple[Pairs | PairsOfAll | None, Numbers]:
        """Move over lists, which are in one block each, as all writers write them."""
        counts, positions = self._number(positions)
        least, most = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
        if least < 0 or most > _MOST_ENTRIES:
            raise NotInLanes("a list in several blocks, or a long one")
        types = [each["type"] for each in of["fields"]] if _kind(of) == "record" else [of]
        collected = _Collected(types, counts) if is_kept else None
        all_lanes = np.arange(len(counts))
        for n in range(most):
            lanes = all_lanes if n < least else np.flatnonzero(counts > n)
            after = positions if n < least else positions[lanes]
            if collected is None:
                for each in types:
                    after = self._skip(each, after)
            else:
                keys, starts = self._number(after)
                values, after = self._number(starts)
                if collected.is_binary:  # that was the length
                    starts, after = after, after + values
                collected.parts.append((lanes, keys, starts, values))
            if n < least:
                positions = after
            else:
                positions[lanes] = after
        filled = np.flatnonzero(counts)
        rest, positions[filled] = self._number(positions[filled])
        if rest.any():
            raise NotInLanes("a list in several blocks")
        return None if collected is None else self._pairs(collected), positions

    def _pairs(self, collected: _Collected) -> Pairs | PairsOfAll:
        keys_of_all = collected.keys_of_all()
        if keys_of_all is not None:
            return self._pairs_of_all(keys_of_all, collected)
        lanes, keys, starts, values = collected.joined()
        # If all lists have the same keys in ascending order, the pairs are sorted already.
        order = keys << 32 | lanes
        is_sorted = bool(np.all(order[1:] > order[:-1]))
        places = collected.places()
        if not is_sorted:
            back = np.empty(len(places), np.int64)
            back[places] = np.arange(len(places))
            lanes, keys, starts, values = (each[back] for each in (lanes, keys, starts, values))
            places = places[back]
        if not collected.is_binary:
            return Pairs(lanes, keys, pa.array(values), is_sorted)
        return Pairs(lanes, keys, self._between(starts, values, places), is_sorted)

    def _pairs_of_all(self, keys: Numbers, collected: _Collected) -> PairsOfAll:
        """Return the pairs of lists that all have these keys."""
        values = np.concatenate([each for *_, each in collected.parts])
        if collected.is_binary:
            parts = [self._part(starts, lengths) for _, _, starts, lengths in collected.parts]
            content = np.concatenate(parts)
            if len(content) > _MOST_BYTES:
                raise NotInLanes("values overlap")
            offsets = np.zeros(len(values) + 1, np.int32)
            np.cumsum(values, out=offsets[1:])
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
            return PairsOfAll(keys, pa.BinaryArray.from_buffers(pa.binary(), len(values), buffers))
        return PairsOfAll(keys, pa.array(values))

    def _part(self, starts: Numbers, lengths: Numbers) -> npt.NDArray[np.uint8]:
        """Return the bytes of parts of the data, one after the other, which are in its order."""
        if (lengths == _WORD.itemsize).all() and len(self._data) >= _WORD.itemsize:
            if starts.min() < 0 or starts.max() > len(self._data) - _WORD.itemsize:
                raise NotInLanes("a value lies outside of the data")
            # the word at each byte of the data
            places = len(self._data) - _WORD.itemsize + 1
            return np.ndarray(places, _WORD, self._data, strides=(1,))[starts].view(np.uint8)
        _, _, content = self._slices(starts, lengths).buffers()
        return np.frombuffer(content, np.uint8)[: int(lengths.sum())]

    def _slices(self, starts: Numbers, lengths: Numbers) -> pa.Array:
        """Return parts of the data, which are in its order."""
        return self._between(starts, lengths, np.arange(len(starts)))

    def _between(self, starts: Numbers, lengths: Numbers, places: Numbers) -> pa.Array:
        """Return parts of the data, given the place of each in the order of the data."""
        ends = starts + lengths
        if len(places) and (starts.min() < 0 or ends.max() > len(self._data)):
            raise NotInLanes("a value lies outside of the data")
        edges = np.empty((len(places), 2), np.int32)
        edges[places, 0], edges[places, 1] = starts, ends
        offsets = edges.ravel()
        if np.any(offsets[1:] < offsets[:-1]):
            raise NotInLanes("values overlap")
        # Every other value of this array is what lies between two parts.
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._bytes)]
        parts = pa.BinaryArray.from_buffers(pa.binary(), max(0, len(offsets) - 1), buffers)
        return parts.take(pa.array(2 * places))


class _Collected:
    """The pairs of lists: the first ones of all lists, then the second ones, and so on."""

    def __init__(self, types: Sequence[Any], counts: Numbers) -> None:
        if len(types) != 2 or types[0] not in _NUMBERS or types[1] not in (*_NUMBERS, "bytes"):
            raise NotInLanes("a list of other values than pairs")
        self.is_binary = types[1] == "bytes"
        self.parts: list[tuple[Numbers, Numbers, Numbers, Numbers]] = []
        self.counts = counts

    def keys_of_all(self) -> Numbers | None:
        """Return the keys if they are the same in all lists, in ascending order."""
        if not self.parts or (self.counts != len(self.parts)).any():
            return None
        firsts = np.array([keys[0] for _, keys, *_ in self.parts])
        if (firsts[1:] <= firsts[:-1]).any():
            return None
        is_one = all((keys == keys[0]).all() for _, keys, *_ in self.parts)
        return firsts if is_one else None

    def joined(self) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Return lanes, keys, starts, and values or lengths."""
        if not self.parts:
            none = np.empty(0, np.int64)
            return none, none, none, none
        lanes, keys, starts, values = (
            np.concatenate(each) for each in zip(*self.parts, strict=True)
        )
        return lanes, keys, starts, values

    def places(self) -> Numbers:
        """Return the place of each pair in the order of the data: by lists, then within them."""
        firsts = np.cumsum(self.counts) - self.counts
        places = [firsts[lanes] + n for n, (lanes, *_) in enumerate(self.parts)]
        return np.concatenate(places) if places else np.empty(0, np.int64)


def _kind(of: Any) -> Any:
    return of["type"] if isinstance(of, dict) else of


def _is_pairs(values: object) -> bool:
    return isinstance(values, Pairs | PairsOfAll)


def _size(of: Any) -> int:
    """Return the bytes of a value of a type that always has as many."""
    kind = _kind(of)
    return int(of["size"]) if kind == "fixed" else {"boolean": 1, "float": 4, "double": 8}[kind]


def _flattened(schema: Mapping[str, Any], record: str) -> list[_Field]:
    """Return the fields in the order of their values, with those of the record in its place."""
    fields = []
    for each in schema["fields"]:
        if each["name"] != record:
            fields.append(_Field(each["name"], each["type"], False))
        elif _kind(each["type"]) != "record":
            raise NotInLanes("the record is optional")
        else:
            fields += [_Field(f["name"], f["type"], True) for f in each["type"]["fields"]]
    return fields
