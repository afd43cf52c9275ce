"""The SQL of aggregates that users ask to record, and the types for which they are exact."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from tamis.errors import StatisticsIndexError
from tamis.expr.types import DataType

__all__ = [
    "AGGREGATES",
    "APPROXIMATE",
    "ROWS",
    "Written",
    "is_exact",
    "is_group",
    "register_bytes",
    "written",
]

#: The kind of entries that hold registers: see evaluation.domain.registers.
APPROXIMATE: Final = "approx_count_distinct"
#: The kinds of entries that hold aggregates. AVG is computed from a sum, with its count.
AGGREGATES: Final = ("count", "sum", "min", "max", APPROXIMATE)
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
    APPROXIMATE: APPROXIMATE,
}
#: A constant as the second argument of approx_count_distinct, which is its last one.
_DEVIATION: Final = re.compile(
    r"(.*),\s*((?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(?:d|bd)?\s*", re.DOTALL | re.IGNORECASE
)
_DEFAULT_DEVIATION: Final = 0.05
#: Spark computes registers for deviations up to this one.
_GREATEST_DEVIATION: Final = 0.39
#: The most bytes of the registers of one group. A deviation of 0.01 takes 13,112.
_MOST_REGISTER_BYTES: Final = 16_384
_DISTINCT: Final = re.compile(r"\s*distinct\b", re.IGNORECASE)
_GROUPS: Final = (
    *("boolean", "byte", "short", "integer", "long", "string"),
    *("date", "timestamp", "timestamp_ntz"),
)


@dataclass(frozen=True, slots=True)
class Written:
    """An aggregate: its kind, and the SQL of its argument. None: it counts rows.

    `deviation`: the relative standard deviation of approx_count_distinct.
    """

    kind: str
    argument: str | None
    deviation: float | None = None


def written(sql: str) -> Written:
    """Return what the SQL of an aggregate says.

    The argument may be any text. To analyze it shows whether it is one expression.

    Raises:
        StatisticsIndexError: It is not one of these aggregates.

    >>> written("SUM(price * (1 - discount))")
    Written(kind='sum', argument='price * (1 - discount)', deviation=None)
    >>> written("count(*)")
    Written(kind='count', argument=None, deviation=None)
    >>> written("approx_count_distinct(user, 0.02)")
    Written(kind='approx_count_distinct', argument='user', deviation=0.02)
    """
    call = _CALL.fullmatch(sql)
    kind = None if call is None else _FUNCTIONS.get(call[1].lower())
    if call is None or kind is None:
        raise StatisticsIndexError(
            f"aggregates: {sql} is not an aggregate that can be recorded: write count, sum, avg, "
            "min, max or approx_count_distinct of one expression, such as sum(price * quantity)"
        )
    argument = call[2].strip()
    if _DISTINCT.match(argument):
        raise StatisticsIndexError(
            f"aggregates: {sql} cannot be recorded, because distinct values of several files "
            "cannot be added up: leave DISTINCT out"
        )
    if kind == "count" and (argument == "*" or argument.isdigit()):
        return Written(kind, None)
    if kind == APPROXIMATE:
        return _approximate(sql, argument)
    return Written(kind, argument)


def _approximate(sql: str, arguments: str) -> Written:
    call = _DEVIATION.fullmatch(arguments)
    argument, deviation = (call[1], float(call[2])) if call else (arguments, _DEFAULT_DEVIATION)
    if not 0 < deviation <= _GREATEST_DEVIATION:
        raise StatisticsIndexError(
            f"aggregates: {sql} allows a relative standard deviation of {deviation}: Spark needs a "
            f"number above 0, and at most {_GREATEST_DEVIATION}"
        )
    size = register_bytes(deviation)
    if size > _MOST_REGISTER_BYTES:
        raise StatisticsIndexError(
            f"aggregates: {sql} would take {size:,} bytes for each file and group, more than "
            f"{_MOST_REGISTER_BYTES:,}: allow a greater relative standard deviation, such as 0.01"
        )
    return Written(APPROXIMATE, argument, deviation)


def register_bytes(deviation: float) -> int:
    """Return about how many bytes the registers of approx_count_distinct take.

    >>> register_bytes(0.05), register_bytes(0.01), register_bytes(0.003)
    (416, 13112, 209720)
    """
    bits = max(4, math.ceil(2 * math.log2(1.106 / deviation)))
    return ((1 << min(bits, 60)) // 10 + 1) * 8


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
