"""The columns of an index of a table format, found by what identifies them in data files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tamis.indexing.read import field_ids, mapped_columns
from tamis.indexing.read.fields import Field, Path
from tamis.indexing.read.reader_options import DELTA, ICEBERG, Reading

__all__ = ["FieldBinding", "other_table", "places_in"]


def other_table(built: Reading, now: Reading) -> str | None:
    """Return why nothing that was recorded under one reading holds under another; None: some does.

    Both are of the same format.
    """
    if now.format == DELTA:
        return mapped_columns.other_table(built, now)
    return field_ids.other_table(built, now)


def places_in(reading: Reading) -> dict[Path, tuple[int | str, ...]]:
    """Return where files have the fields that are not in lists or maps, by their paths."""
    return {path: each.place for path, each in _fields_of(reading).items()}


def _fields_of(reading: Reading) -> dict[Path, Field]:
    if reading.format == DELTA:
        return mapped_columns.fields_of(reading)
    return field_ids.fields_of(reading)


@dataclass(frozen=True, eq=False)
class FieldBinding:
    """The fields that a query reads, and those of the index that have the same values.

    Attributes:
        built: The reading for which the index was built.
        now: The reading of the query, of the same format.
    """

    built: Reading
    now: Reading
    _built: Mapping[Path, Field] = field(init=False, repr=False)
    _now: Mapping[Path, Field] = field(init=False, repr=False)
    _paths: Mapping[tuple[int | str, ...], Path] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        built, now = _fields_of(self.built), _fields_of(self.now)
        object.__setattr__(self, "_built", built)
        object.__setattr__(self, "_now", now)
        object.__setattr__(self, "_paths", {each.place: path for path, each in built.items()})

    def path_in_index(self, path: Path) -> Path | None:
        """Return the path under which the index has a column of the query; None: it has not."""
        now = self._now.get(path)
        before = None if now is None else self._paths.get(now.place)
        if now is None or before is None:
            return None
        built = self._built[before]
        is_same = built.type == now.type or self._is_promotion(built, now)
        return before if is_same and built.has_values_of(now) else None

    def _is_promotion(self, built: Field, now: Field) -> bool:
        return self.now.format == ICEBERG and field_ids.is_promotion(built.type, now.type)

    def reads_the_same(self, paths: Sequence[Path]) -> bool:
        """Return whether an expression over these columns reads the same values as in the index.

        An expression is found by what it computes from the names of columns.
        """
        for path in paths:
            built, now = self._built.get(path), self._now.get(path)
            if built is None or now is None:
                return False
            # The expression may compute something else from another type.
            if built.type != now.type or not built.has_values_of(now):
                return False
        return bool(paths)

    def is_used(self, path: Path) -> bool:
        """Return whether a column of the index has the values of a column of the query."""
        return any(self.path_in_index(each) == path for each in self._now)
