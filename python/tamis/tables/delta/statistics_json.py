"""Parsing the JSON of `add.stats`.

The expected shape is a typed msgspec struct, one per schema. A text that does not have it is read
again value by value, and what does not fit its type there is not known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final

import msgspec

from tamis.expr.types import DataType
from tamis.tables.delta.columns import TableColumns

__all__ = ["DecodedStatistics", "StatisticsDecoder"]

#: The kinds of statistics of columns, as the log names them.
_KINDS: Final = ("minValues", "maxValues", "nullCount")

_MALFORMED: Final = (msgspec.MsgspecError, ValueError, RecursionError)
_raw_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class _Level:
    """A JSON object: its keys, and the type of each value or the level inside of it."""

    keys: tuple[str, ...]
    values: tuple[Any, ...]
    struct: type[msgspec.Struct]

    def empty(self) -> msgspec.Struct:
        """Return an object with all inner objects and no values."""
        inner = (each.empty() if isinstance(each, _Level) else None for each in self.values)
        return self.struct(*inner)


class DecodedStatistics:
    """The statistics of files, one value per file. None: unknown."""

    def __init__(
        self,
        objects: list[msgspec.Struct],
        level: _Level,
        places: Mapping[tuple[str, int], tuple[int, ...]],
    ) -> None:
        self._places = places
        self._objects: dict[tuple[int, ...], tuple[list[Any], _Level]] = {(): (objects, level)}

    def counts(self) -> list[int | None]:
        """Return `numRecords`."""
        return self._at((0,))

    def tight(self) -> list[bool | None]:
        """Return `tightBounds`."""
        return self._at((1,))

    def values(self, kind: str, ordinal: int) -> list[Any]:
        """Return a statistic of a column. There are no bounds of some types."""
        return self._at(self._places[kind, ordinal])

    def _at(self, place: tuple[int, ...]) -> list[Any]:
        objects, _ = self._inner(place[:-1])
        return list(map(attrgetter(f"f{place[-1]}"), objects))

    def _inner(self, place: tuple[int, ...]) -> tuple[list[Any], _Level]:
        """Return the inner objects at a place. Those that are absent have no values."""
        if place not in self._objects:
            outer, around = self._inner(place[:-1])
            level = around.values[place[-1]]
            empty = level.empty()
            inner = map(attrgetter(f"f{place[-1]}"), outer)
            self._objects[place] = [empty if each is None else each for each in inner], level
        return self._objects[place]


class StatisticsDecoder:
    """Reads texts of the statistics of one schema.

    Raises nothing: a malformed text has no values.
    """

    def __init__(self, columns: TableColumns) -> None:
        self._places: dict[tuple[str, int], tuple[int, ...]] = {}
        trees = []
        for kind in _KINDS:
            tree: dict[str, Any] = {}
            for ordinal, column in enumerate(columns.columns):
                if kind == "nullCount":
                    wanted: Any = int | None
                elif column.has_bounds:
                    wanted = _json_type(column.type)
                else:
                    continue
                node = tree
                for part in column.physical[:-1]:
                    node = node.setdefault(part, {})
                node[column.physical[-1]] = wanted
                self._places[kind, ordinal] = ()
            trees.append(tree)
        names = [name for column in columns.columns for name in column.physical]
        # msgspec cannot name a field like others
        self._is_regular = all(
            json.dumps(name, ensure_ascii=False) == f'"{name}"' for name in names
        )
        shape = {"numRecords": int | None, "tightBounds": bool | None}
        self._level = _level(shape | dict(zip(_KINDS, trees, strict=True)), self._is_regular)
        for kind, ordinal in self._places:
            physical = (kind, *columns.columns[ordinal].physical)
            self._places[kind, ordinal] = _place(self._level, physical)
        self._empty = self._level.empty()
        self._decoder = msgspec.json.Decoder(self._level.struct)

    def decode(self, texts: Iterable[str | None]) -> DecodedStatistics:
        """Return the statistics of texts. An absent or unreadable text has none."""
        decode, empty = self._decoder.decode, self._empty
        objects = []
        for text in texts:
            if text is None:
                objects.append(empty)
                continue
            try:
                objects.append(decode(text) if self._is_regular else self._by_value(text))
            except _MALFORMED:
                objects.append(self._by_value(text))
        return DecodedStatistics(objects, self._level, self._places)

    def _by_value(self, text: str) -> msgspec.Struct:
        try:
            return _lenient(msgspec.Raw(text.encode()), self._level) or self._empty
        except _MALFORMED:
            return self._empty


def _level(shape: dict[str, Any], is_regular: bool) -> _Level:
    keys = tuple(shape)
    values = tuple(
        _level(each, is_regular) if isinstance(each, dict) else each for each in shape.values()
    )
    fields = [
        (f"f{k}", each.struct | None if isinstance(each, _Level) else each, None)
        for k, each in enumerate(values)
    ]
    names = {f"f{k}": name for k, name in enumerate(keys)} if is_regular else None
    struct = msgspec.defstruct("Statistics", fields, rename=names, gc=False)
    return _Level(keys, values, struct)


def _place(level: _Level, physical: Sequence[str]) -> tuple[int, ...]:
    steps = []
    for part in physical:
        step = level.keys.index(part)
        steps.append(step)
        level = level.values[step]
    return tuple(steps)


def _lenient(raw: msgspec.Raw, level: _Level) -> msgspec.Struct | None:
    """Return the values of an object that fit their types."""
    try:
        found = _raw_object.decode(raw)
    except _MALFORMED:
        return None
    values: list[Any] = []
    for key, wanted in zip(level.keys, level.values, strict=True):
        value: Any = None
        if key in found:
            if isinstance(wanted, _Level):
                value = _lenient(found[key], wanted)
            else:
                try:
                    value = msgspec.json.decode(found[key], type=wanted)
                except _MALFORMED:
                    value = None
        values.append(value)
    return level.struct(*values)


def _json_type(data_type: DataType) -> Any:
    if data_type.is_integral:
        return int | None
    if data_type.is_floating:
        return float | str | None  # "NaN", "Infinity"
    if data_type.is_decimal:
        return Decimal | None
    return str | None
