"""Statistics of columns on Airport servers.

    request  {flight_descriptor, column_name, type}    type: the name that DuckDB has for it
    answer   an Arrow stream of one row:
             has_not_null, has_null, distinct_count, min, max, and for texts max_string_length

Servers offer them if the metadata of the table's schema has `can_produce_statistics`. The request
does not name a version of the table, so they describe the newest one.

What servers send is not always a bound. So these are not used:

- bounds that are inverted, NULL or NaN, or have another type than the column. Servers that know
  nothing send the greatest value as the minimum, and then `has_null` is not known either. For
  texts, they send an empty text as both bounds.
- `has_null` that is false, if the longest text has 0 bytes: such servers send zeros and false for
  what they do not know.
- the maximum of texts of 8 bytes or more, unless the server says that no text is longer: DuckDB
  keeps the first 8 bytes of a text, and such a prefix is below the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.remote.airport.messages import MalformedAnswer
from tamis.remote.arrow_form import converted
from tamis.remote.contract import ColumnStatistics
from tamis.wire.duckdb.arrow_types import schema_types

__all__ = ["column_statistics", "duckdb_type"]

_DUCKDB_PREFIX: Final = 8  # bytes of a text that DuckDB's statistics keep

#: The types whose order is the same in DuckDB, Arrow and Spark.
_ORDERED: Final = frozenset(
    {
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
        "DATE",
        "TIMESTAMP",
        "TIMESTAMP WITH TIME ZONE",
        "VARCHAR",
    }
)


def duckdb_type(data_type: Any) -> str | None:
    """Return DuckDB's name of a type whose statistics are used; None for other types.

    >>> duckdb_type(pa.decimal128(12, 2)), duckdb_type(pa.timestamp("us", "UTC"))
    ('DECIMAL(12,2)', 'TIMESTAMP WITH TIME ZONE')
    >>> duckdb_type(pa.list_(pa.int8()))
    """
    logical = schema_types(pa.schema({"column": data_type}))["column"]
    if logical.id not in _ORDERED:
        return None
    return f"DECIMAL({logical.width},{logical.scale})" if logical.id == "DECIMAL" else logical.id


def column_statistics(answer: bytes, data_type: Any) -> ColumnStatistics:
    """Read the answer about a column of this type.

    Raises:
        MalformedAnswer: The answer is not a stream of one row.
        pyarrow.ArrowException: The answer is not an Arrow stream.
    """
    with pa.ipc.open_stream(answer) as stream:
        table = stream.read_all()
    if table.num_rows != 1 or len(set(table.column_names)) != table.num_columns:
        raise MalformedAnswer("the statistics are not one row")
    cells = {name: table.column(name).combine_chunks() for name in table.column_names}
    minimum, maximum = _bound(cells, "min", data_type), _bound(cells, "max", data_type)
    if minimum is None or maximum is None or pc.greater(minimum, maximum).as_py():
        return ColumnStatistics()
    if minimum.as_py() == maximum.as_py() == "":  # a server that knows nothing
        return ColumnStatistics()
    if not _is_whole(maximum, cells.get("max_string_length")):
        maximum = None
    return ColumnStatistics(
        minimum,
        maximum,
        has_nulls=False if _excludes_nulls(cells) else None,
        distinct=_positive(cells.get("distinct_count")),
    )


def _bound(cells: Mapping[str, pa.Array], name: str, data_type: Any) -> pa.Scalar | None:
    """Return a bound in the type in which Spark reads the column; None if it is not usable."""
    cell = cells.get(name)
    if cell is None or cell.type != data_type:
        return None
    bound = converted(cell)[0]
    # NaN does not equal itself
    return bound if bound.is_valid and bound == bound else None


def _excludes_nulls(cells: Mapping[str, pa.Array]) -> bool:
    """Return whether a server knows that there are no NULLs."""
    has_null, longest = cells.get("has_null"), cells.get("max_string_length")
    fills_in_zeros = longest is not None and longest[0].as_py() == 0
    return has_null is not None and has_null[0].as_py() is False and not fills_in_zeros


def _is_whole(maximum: pa.Scalar, longest: pa.Array | None) -> bool:
    """Return whether a maximum is a value, and not a prefix of one."""
    if not pa.types.is_string(maximum.type):
        return True
    text = maximum.as_py()
    length, most = len(text.encode()), _positive(longest)
    # a server may count characters, which are bytes in ASCII only
    return length < _DUCKDB_PREFIX or (text.isascii() and most is not None and most <= length)


def _positive(cell: pa.Array | None) -> int | None:
    value = None if cell is None else cell[0].as_py()
    return value if isinstance(value, int) and value > 0 else None
