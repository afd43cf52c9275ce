"""Values that only rows have, and that no statistics describe: most are predicates.

Each has a key. In an expression it stands as a Call with this key, so that the statistics of rows
provide its value, as an index provides the recorded bounds of an expression.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.expr.types import BOOLEAN, LONG, DataType
from tamis.wire.vgi.payloads import plain_array

__all__ = ["Computed", "FieldIsNull", "ListContains", "Nanoseconds", "TextMatch", "column_values"]


class Computed(ABC):
    """A value of each row of a batch."""

    __slots__ = ()

    #: The type of the values.
    type: ClassVar[DataType] = BOOLEAN

    @property
    @abstractmethod
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The columns that it reads."""

    @abstractmethod
    def values(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the value for each row; null is NULL."""


def column_values(batch: pa.RecordBatch, path: tuple[str, ...]) -> pa.Array:
    """Return the values of a column or of a field, which is null where its struct is null.

    >>> rows = pa.record_batch({"s": pa.array([{"x": 1}, None])})
    >>> column_values(rows, ("s", "x")).to_pylist()
    [1, None]
    """
    array = batch.column(path[0])
    for name in path[1:]:
        array = pc.struct_field(array, [array.type.get_field_index(name)])
    return plain_array(array)


@dataclass(frozen=True, slots=True)
class Nanoseconds(Computed):
    """A timestamp as a number of nanoseconds since 1970."""

    type: ClassVar[DataType] = LONG

    path: tuple[str, ...]

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return (self.path,)

    def values(self, batch: pa.RecordBatch) -> pa.Array:
        return column_values(batch, self.path).cast(pa.int64())


@dataclass(frozen=True, slots=True)
class FieldIsNull(Computed):
    """`path IS NULL`, for a column whose values have no type in expressions."""

    path: tuple[str, ...]

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return (self.path,)

    def values(self, batch: pa.RecordBatch) -> pa.Array:
        return column_values(batch, self.path).is_null()


@dataclass(frozen=True, slots=True, eq=False)
class ListContains(Computed):
    """`list_contains(path, needle)`: NULL if either is NULL; NULL elements match nothing.

    The needle is an array of length 1, of the type of the elements.
    """

    path: tuple[str, ...]
    needle: pa.Array

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return (self.path,)

    def values(self, batch: pa.RecordBatch) -> pa.Array:
        lists = column_values(batch, self.path)
        if not self.needle[0].is_valid:
            return pa.nulls(len(lists), pa.bool_())
        elements, rows = pc.list_flatten(lists), pc.list_parent_indices(lists)
        matches = pc.unique(rows.filter(pc.equal(elements, self.needle[0])))
        is_match = pc.is_in(pa.array(range(len(lists)), rows.type), value_set=matches)
        return pc.if_else(lists.is_valid(), is_match, pa.scalar(None, pa.bool_()))


_MATCHES: Final = {
    "StartsWith": str.startswith,
    "EndsWith": str.endswith,
    "Contains": str.__contains__,
}


@dataclass(frozen=True, slots=True)
class TextMatch(Computed):
    """`starts_with`, `ends_with` or `contains` of two columns."""

    name: str
    left: tuple[str, ...]
    right: tuple[str, ...]

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return (self.left, self.right)

    def values(self, batch: pa.RecordBatch) -> pa.Array:
        match = _MATCHES[self.name]
        sides = (column_values(batch, path).to_pylist() for path in (self.left, self.right))
        return pa.array(
            (
                None if text is None or part is None else match(text, part)
                for text, part in zip(*sides, strict=True)
            ),
            pa.bool_(),
        )
