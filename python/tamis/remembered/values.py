"""Bounds of columns in the rows of files that pass the conjuncts of a note: the form on disk."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.remembered.identities import WIDTH

__all__ = ["ColumnName", "Edges", "PassingValues"]

#: The path of a column, and its type.
ColumnName: TypeAlias = tuple[tuple[str, ...], str]
#: The least and the greatest value in each file.
Edges: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

_VALUE: Final = "<i8"
_LONG: Final = np.iinfo(np.int64)


class PassingValues(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The least and the greatest value of columns in the rows of files that pass.

    If nothing is known of a column in a file, these are the least and the greatest int64. If all of
    the rows have NULL, the least value is greater than the greatest one.

    Attributes:
        names: The names of the files (see `identities`), sorted, one after the other.
        columns: The columns.
        least, greatest: For each file, the values of each column, as int64.
    """

    names: bytes = b""
    columns: tuple[ColumnName, ...] = ()
    least: bytes = b""
    greatest: bytes = b""

    @staticmethod
    def of(names: pa.Array, columns: Sequence[ColumnName], edges: Edges) -> PassingValues:
        """Return these values. Files without a name are left out.

        Args:
            names: The name of each file.
            columns: The columns, each once.
            edges: One row per file, and one column per column.
        """
        places = {name: i for i, name in enumerate(names.to_pylist()) if name is not None}
        known = sorted(places)
        if not known or not columns:
            return PassingValues()
        order = [places[each] for each in known]
        least, greatest = (each[order].astype(_VALUE).tobytes() for each in edges)
        return PassingValues(b"".join(known), tuple(columns), least, greatest)

    @property
    def num_files(self) -> int:
        return len(self.names) // WIDTH

    @property
    def is_valid(self) -> bool:
        """Whether the parts fit each other; what was read from a file may say anything."""
        size = self.num_files * len(self.columns) * 8
        is_whole = len(self.names) % WIDTH == 0 and bool(self.names) == bool(self.columns)
        is_distinct = len(set(self.columns)) == len(self.columns)
        return is_whole and is_distinct and len(self.least) == len(self.greatest) == size

    def located(self, identities: pa.Array) -> dict[ColumnName, Edges]:
        """Return the values of each column, by the ordinals of the files of a listing.

        Args:
            identities: The name of each file of the listing; null: nothing is known about it.
        """
        places = pc.index_in(identities, value_set=self._name_array(), skip_nulls=True)
        rows = places.fill_null(self.num_files).to_numpy()
        unknown = (
            np.full((1, len(self.columns)), _LONG.min),
            np.full((1, len(self.columns)), _LONG.max),
        )
        least, greatest = (
            np.concatenate([each, other])[rows]
            for each, other in zip(self._edges(), unknown, strict=True)
        )
        return {
            column: (least[:, i].copy(), greatest[:, i].copy())
            for i, column in enumerate(self.columns)
        }

    def joined(self, other: PassingValues, whole: Collection[bytes]) -> PassingValues:
        """Return what both say, except of files that are known as a whole."""
        texts = {name for each in (self, other) for name in each._name_array().to_pylist()}
        names = pa.array(sorted(texts - set(whole)), pa.binary(WIDTH))
        columns = tuple(sorted({*self.columns, *other.columns}))
        found = [each.located(names) for each in (self, other)]

        def tightest(column: ColumnName, edge: int, of: Any) -> npt.NDArray[np.int64]:
            # Both are about the same rows, so that both hold.
            known = [each[column][edge] for each in found if column in each]
            values: npt.NDArray[np.int64] = of.reduce(known)
            return values

        if not len(names) or not columns:
            return PassingValues()
        least = np.stack([tightest(each, 0, np.maximum) for each in columns], axis=1)
        greatest = np.stack([tightest(each, 1, np.minimum) for each in columns], axis=1)
        return PassingValues.of(names, columns, (least, greatest))

    def _name_array(self) -> pa.Array:
        buffers = [None, pa.py_buffer(self.names)]
        return pa.Array.from_buffers(pa.binary(WIDTH), self.num_files, buffers)

    def _edges(self) -> Edges:
        shape = self.num_files, len(self.columns)
        least, greatest = (
            np.frombuffer(each, _VALUE).reshape(shape) for each in (self.least, self.greatest)
        )
        return least, greatest
