"""The aggregates that an index records by the values of the same columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.evaluation.statistics import GroupRows, Subject
from tamis.expr.nodes import Column
from tamis.expr.types import DataType
from tamis.indexing.format.aggregate_sql import AGGREGATES
from tamis.indexing.format.groups import Groups

__all__ = ["By", "Named", "RecordedGroups"]

#: A column: its path in the spelling of the index, and its type.
Named: TypeAlias = tuple[tuple[str, ...], DataType | None]
By: TypeAlias = tuple[Named, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RecordedGroups:
    """Aggregates by the values of some columns, of all files of an index or of some.

    Attributes:
        columns: These columns.
        entries: Number and type of the argument of each aggregate, by its kind and its argument: a
            path, the key of an expression, or None for rows.
        spelled: Returns a column of the query as the index names it; None: the index lacks it.
        is_usable: Whether an expression of the query computes the same as in the index.
        read: Reads the entry with a number; None: it cannot be read now.
        ordinals: The chosen files; None: all.
    """

    columns: By
    entries: Mapping[tuple[str, object], tuple[int, DataType]]
    spelled: Callable[[Column], Named | None]
    is_usable: Callable[[str], bool]
    read: Callable[[int], Groups | None]
    ordinals: npt.NDArray[np.intp] | None = None

    @property
    def by(self) -> tuple[DataType, ...]:
        return tuple(kind for _, kind in self.columns if kind is not None)

    def place_of(self, column: Column) -> int | None:
        named = self.spelled(column)
        # a column of another type may have other values than those that were recorded
        return self.columns.index(named) if named in self.columns else None

    def rows(self, kind: str, argument: Subject | None) -> GroupRows | None:
        entry = self._entry(kind, argument)
        groups = None if entry is None else self.read(entry[0])
        if entry is None or groups is None:
            return None
        if self.ordinals is not None:
            groups = groups.take(self.ordinals)
        return GroupRows(entry[1], groups.sizes, groups.table)

    def _entry(self, kind: str, argument: Subject | None) -> tuple[int, DataType] | None:
        if argument is None:
            # every aggregate counts the rows of its groups, those of fewer files if it is large
            counting = (each for (kind, _), each in self.entries.items() if kind in AGGREGATES)
            return next(counting, next(iter(self.entries.values()), None))
        subject: object = argument
        if isinstance(argument, str):
            if not self.is_usable(argument):
                return None
        else:
            named = self.spelled(argument)
            if named is None:
                return None
            subject = named[0]
        kinds = (kind, "sum", "min", "max") if kind == "count" else (kind,)
        for each in kinds:  # every aggregate with an argument counts its values
            entry = self.entries.get((each, subject))
            if entry is not None and (isinstance(argument, str) or argument.type == entry[1]):
                return entry
        return None

    def take(self, ordinals: npt.NDArray[np.intp]) -> RecordedGroups:
        chosen = ordinals if self.ordinals is None else self.ordinals[ordinals]
        return replace(self, ordinals=chosen)
