"""Expressions that have a value for each row: None is NULL, FAILED stands for an error."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tamis.wire.duckdb.types import LogicalType
from tamis.wire.vgi.row_values import column_values
from tamis.wire.vgi.rowwise.types import BOOLEAN
from tamis.wire.vgi.rowwise.values import FAILED, order_key, python_values

__all__ = [
    "Apply",
    "ColumnOf",
    "ConstantOf",
    "Distinct",
    "IsNullOf",
    "Member",
    "RowExpr",
    "compared",
    "contained",
]


class RowExpr(ABC):
    """A value of each row of a batch, of the type `type`."""

    type: LogicalType

    @property
    @abstractmethod
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The columns that it reads."""

    @abstractmethod
    def values(self, batch: pa.RecordBatch) -> Sequence[Any]:
        """Return the value for each row."""


@dataclass(frozen=True)
class ColumnOf(RowExpr):
    """A column or a field."""

    path: tuple[str, ...]
    type: LogicalType

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return (self.path,)

    def values(self, batch: pa.RecordBatch) -> Sequence[Any]:
        return python_values(column_values(batch, self.path), self.type)


@dataclass(frozen=True)
class ConstantOf(RowExpr):
    """A constant."""

    value: Any
    type: LogicalType

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return ()

    def values(self, batch: pa.RecordBatch) -> Sequence[Any]:
        return [self.value] * batch.num_rows


@dataclass(frozen=True)
class Apply(RowExpr):
    """A function of other expressions, which is NULL if one of them is."""

    function: Callable[..., Any] = field(repr=False)
    arguments: tuple[RowExpr, ...]
    type: LogicalType

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return tuple(path for each in self.arguments for path in each.paths)

    def values(self, batch: pa.RecordBatch) -> Sequence[Any]:
        rows = zip(*(each.values(batch) for each in self.arguments), strict=True)
        return [self._value(row) for row in rows]

    def _value(self, row: Sequence[Any]) -> Any:
        if any(each is FAILED for each in row):
            return FAILED
        return None if any(each is None for each in row) else self.function(*row)


def compared(compare: Callable[[Any, Any], bool], left: RowExpr, right: RowExpr) -> RowExpr:
    """Return a comparison of values of one type, by their order."""
    kind = left.type
    return Apply(
        lambda a, b: compare(order_key(a, kind), order_key(b, kind)), (left, right), BOOLEAN
    )


@dataclass(frozen=True)
class Distinct(RowExpr):
    """`left IS DISTINCT FROM right` for values of one type, or its negation. It is never NULL."""

    left: RowExpr
    right: RowExpr
    is_negated: bool
    type: LogicalType = BOOLEAN

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return (*self.left.paths, *self.right.paths)

    def values(self, batch: pa.RecordBatch) -> Sequence[Any]:
        rows = zip(self.left.values(batch), self.right.values(batch), strict=True)
        return [self._value(left, right) for left, right in rows]

    def _value(self, left: Any, right: Any) -> Any:
        if left is FAILED or right is FAILED:
            return FAILED
        if left is None or right is None:
            is_distinct = left is not right
        else:
            is_distinct = order_key(left, self.left.type) != order_key(right, self.left.type)
        return is_distinct is not self.is_negated


@dataclass(frozen=True)
class Member(RowExpr):
    """`value IN (options)`. The options are not empty, and of the type of the value."""

    value: RowExpr
    options: tuple[Any, ...]
    type: LogicalType = BOOLEAN

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return self.value.paths

    def values(self, batch: pa.RecordBatch) -> Sequence[Any]:
        kind = self.value.type
        keys = {order_key(each, kind) for each in self.options if each is not None}
        otherwise = None if any(each is None for each in self.options) else False
        return [
            each if each is FAILED or each is None else (order_key(each, kind) in keys or otherwise)
            for each in self.value.values(batch)
        ]


@dataclass(frozen=True)
class IsNullOf(RowExpr):
    """`expression IS NULL`."""

    of_value: RowExpr
    type: LogicalType = BOOLEAN

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        return self.of_value.paths

    def values(self, batch: pa.RecordBatch) -> Sequence[Any]:
        return [each if each is FAILED else each is None for each in self.of_value.values(batch)]


def contained(lists: RowExpr, needle: RowExpr) -> RowExpr:
    """Return `list_contains(lists, needle)`: NULL elements match nothing."""
    kind = needle.type

    def contains(elements: tuple[Any, ...], value: Any) -> bool:
        key = order_key(value, kind)
        return any(each is not None and order_key(each, kind) == key for each in elements)

    return Apply(contains, (lists, needle), BOOLEAN)
