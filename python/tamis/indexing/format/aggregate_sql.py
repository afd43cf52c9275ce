"""The SQL of aggregates that users ask to record, and the types for which they are exact."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tamis.errors import StatisticsIndexError
from tamis.expr.types import DataType

__all__ = ["AGGREGATES", "ROWS", "Written", "is_exact", "is_group", "written"]

#: The kinds of entries that hold aggregates. AVG is computed from a sum, with its count.
AGGREGATES: Final = ("count", "sum", "min", "max")
#: The argument of COUNT(*), as SQL.
ROWS: Final = "1"

_CALL: Final = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
_FUNCTIONS: Final = {
    "count": "count",
    "sum": "sum",
    "avg": "sum",
    "mean": "sum",
    "min": "min",
    "max": "max",
}
_DISTINCT: Final = re.compile(r"\s*distinct\b", re.IGNORECASE)
_GROUPS: Final = (
    *("boolean", "byte", "short", "integer", "long", "string"),
    *("date", "timestamp", "timestamp_ntz"),
)


@dataclass(frozen=True, slots=True)
class Written:
    """An aggregate: its kind, and the SQL of its argument. None: it counts rows."""

    kind: str
    argument: str | None


def written(sql: str) -> Written:
    """Return what the SQL of an aggregate says.

    The argument may be any text. To analyze it shows whether it is one expression.

    Raises:
        StatisticsIndexError: It is not one of these aggregates.

    >>> written("SUM(price * (1 - discount))")
    Written(kind='sum', argument='price * (1 - discount)')
    >>> written("count(*)")
    Written(kind='count', argument=None)
    """
    call = _CALL.fullmatch(sql)
    kind = None if call is None else _FUNCTIONS.get(call[1].lower())
    if call is None or kind is None:
        raise StatisticsIndexError(
            f"aggregates: {sql} is not an aggregate that can be recorded: write count, sum, avg, "
            "min or max of one expression, such as sum(price * quantity)"
        )
    argument = call[2].strip()
    if _DISTINCT.match(argument):
        raise StatisticsIndexError(
            f"aggregates: {sql} cannot be recorded, because distinct values of several files "
            "cannot be added up: leave DISTINCT out"
        )
    if kind == "count" and (argument == "*" or argument.isdigit()):
        return Written(kind, None)
    return Written(kind, argument)


def is_exact(kind: str, type_name: str) -> bool:
    """Return whether an aggregate of values of a type does not depend on the order of the rows.

    Sums of FLOAT and DOUBLE do.

    >>> is_exact("sum", "decimal(12,2)"), is_exact("sum", "double"), is_exact("max", "double")
    (True, False, True)
    """
    data_type = DataType.parse(type_name)
    if data_type is None:
        return False
    return kind != "sum" or data_type.is_integral or data_type.is_decimal


def is_group(type_name: str) -> bool:
    """Return whether rows can be grouped by columns of a type: equal values are identical.

    >>> is_group("string"), is_group("decimal(9,2)"), is_group("double"), is_group("binary")
    (True, True, False, False)
    """
    return type_name in _GROUPS or type_name.startswith("decimal(")
