"""The statistics of a file, in the columns of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.indexing.executor.columns_schema import Leaf
from tamis.indexing.executor.footers import UNKNOWN, Footer, FooterReader, Triple, unreadable
from tamis.sources.errors import SourceError
from tamis.sources.fields import Bound, Field, bind, stored_path
from tamis.sources.schemas import fits

__all__ = ["BoundFooterReader", "bound_to"]


def bound_to(
    fields: Sequence[Field], stored: pa.Schema, published: pa.Schema | None, where: str
) -> Bound:
    """Return the columns of a file that are columns of a table.

    Args:
        fields: The columns of the table.
        stored: The columns of the file, with their field ids.
        published: The same columns as `schemas.file_schema` returns them, to compare their types
            with those of the table; None: the types fit.
        where: The file, for errors.

    Raises:
        SourceError: It is not known which columns they are, or a type does not fit.
    """
    try:
        bound = bind(fields, stored)
    except ValueError as problem:
        raise SourceError(f"{where} {problem}") from problem
    for each in bound:
        if each is None or published is None:
            continue
        own, wanted = each.type_of(published.field(each.place).type), each.field.type
        if not fits(own, wanted):
            raise SourceError(
                f"{where} has the type {own} for {each.field.name}, but the table has {wanted}: "
                "rewrite the file"
            )
    return bound


class BoundFooterReader:
    """Reads the statistics of files in the columns of a table.

    Args:
        leaves: The leaves of the table.
    """

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self._leaves = leaves
        self._readers: dict[tuple[Leaf, ...], FooterReader] = {}

    def read(
        self, metadata: pq.FileMetaData, bound: Bound, absent: Mapping[str, pa.Scalar]
    ) -> Footer:
        """Return the statistics of a file, one triple per leaf.

        Args:
            metadata: The footer.
            bound: The columns of the file that are columns of the table.
            absent: The values of columns that the file may lack, other than NULL.
        """
        paths = [stored_path(bound, leaf.path) for leaf in self._leaves]
        pairs = zip(self._leaves, paths, strict=True)
        present = tuple(replace(leaf, path=path) for leaf, path in pairs if path is not None)
        if present not in self._readers:
            self._readers[present] = FooterReader(present, case_sensitive=True)
        footer = self._readers[present].read(metadata)
        if footer.num_records is None:
            return unreadable(self._leaves, footer.problem or "")
        if len(present) == len(paths):
            return footer

        def spread(triples: Sequence[Triple], rows: int) -> list[Triple]:
            read = iter(triples)
            return [
                _absent_triple(leaf, absent.get(leaf.path[0]), rows) if path is None else next(read)
                for leaf, path in zip(self._leaves, paths, strict=True)
            ]

        groups = [
            replace(each, columns=spread(each.columns, each.num_records))
            for each in footer.row_groups
        ]
        columns = spread(footer.columns, footer.num_records)
        return replace(footer, columns=columns, row_groups=groups)


def _absent_triple(leaf: Leaf, value: pa.Scalar | None, rows: int) -> Triple:
    """Return the statistics of a leaf that a file lacks.

    Args:
        leaf: The leaf.
        value: The value of its column in every row; None or null: NULL.
        rows: The number of rows.

    >>> _absent_triple(Leaf(("a",), "decimal(9,2)"), pa.scalar(None), 5)
    (None, None, 5)
    >>> _absent_triple(Leaf(("a",), "date"), pa.scalar(7, pa.date32()), 5)
    (7, 7, 0)
    """
    if value is None or not value.is_valid:
        return (None, None, rows)  # every row is NULL
    if leaf.type in ("string", "binary"):
        edge = value.cast(pa.binary()).as_py()
    elif pa.types.is_timestamp(value.type) and value.type.unit != "us":
        return UNKNOWN
    elif leaf.type in ("date", "timestamp", "timestamp_ntz"):
        edge = value.cast(pa.int32() if leaf.type == "date" else pa.int64()).as_py()
    elif leaf.type in ("boolean", "byte", "short", "integer", "long"):
        edge = int(value.as_py())
    else:
        return UNKNOWN
    return (edge, edge, 0)
