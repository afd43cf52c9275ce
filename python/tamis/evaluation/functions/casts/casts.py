"""CAST: one rule for each pair of types.

evalMode decides what happens to a value that the target type cannot hold
(evaluation.functions.casts.conversion). Where a row might raise, the result is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.interval import Interval, interval
from tamis.evaluation.functions.casts import numeric_casts as numeric
from tamis.evaluation.functions.casts import time_casts as time
from tamis.evaluation.functions.casts.conversion import Conversion
from tamis.evaluation.functions.casts.text_to_values import text_to_value
from tamis.evaluation.functions.casts.values_to_text import number_text
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.temporal.formats import moment_text
from tamis.evaluation.functions.temporal.zones import zone_of
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call
from tamis.expr.types import BINARY, DAY_TIME_INTERVAL, STRING, YEAR_MONTH_INTERVAL, DataType

__all__ = ["ENTRIES", "cast"]

_INTERVALS: Final = (DAY_TIME_INTERVAL, YEAR_MONTH_INTERVAL)
Rule = Callable[[Interval, Conversion], Bounds | None]


def cast(call: Call, statistics: Statistics) -> Bounds | None:
    source = value(call.arguments[0], statistics) if len(call.arguments) == 1 else None
    if source is None:
        return None
    if source.type == call.type:
        return source if call.type not in _INTERVALS else _same_fields(call, source)
    mode = call.option("evalMode")
    conversion = Conversion(call.type, mode if isinstance(mode, str) else None, zone_of(call))
    if source.type == STRING:
        if call.type == BINARY:
            # The same bytes, which sort the same way. The buckets may be those of UUIDs, which
            # hash as other bytes than their text.
            return replace(source, type=BINARY, buckets=())
        return text_to_value(source, conversion)
    x = interval(source)
    if x is None:
        return None
    if call.type == STRING:
        return moment_text(x, conversion.clock) or number_text(x)
    rule = _RULES.get((_family(x.type), _family(call.type)))
    return None if rule is None else rule(x, conversion)


def _same_fields(call: Call, source: Bounds) -> Bounds | None:
    """Return the source if the target has fields down to seconds or months; others truncate."""
    fields = call.option("dataType")
    is_whole = isinstance(fields, str) and fields.endswith((" second", " month"))
    return source if is_whole else None


def _family(data_type: DataType) -> str:
    if data_type.is_integral:
        return "whole"
    return "floating" if data_type.is_floating else data_type.name


_RULES: Final[dict[tuple[str, str], Rule]] = {
    ("whole", "whole"): numeric.whole_to_whole,
    ("whole", "floating"): numeric.whole_to_floating,
    ("whole", "decimal"): numeric.whole_to_decimal,
    ("whole", "boolean"): numeric.number_to_boolean,
    ("whole", "timestamp"): time.whole_to_timestamp,
    ("boolean", "whole"): numeric.boolean_to_number,
    ("boolean", "floating"): numeric.boolean_to_number,
    ("boolean", "decimal"): numeric.boolean_to_decimal,
    ("boolean", "timestamp"): time.boolean_to_timestamp,
    ("floating", "whole"): numeric.floating_to_whole,
    ("floating", "floating"): numeric.floating_to_floating,
    ("floating", "decimal"): numeric.double_to_decimal,
    ("floating", "boolean"): numeric.number_to_boolean,
    ("floating", "timestamp"): time.floating_to_timestamp,
    ("decimal", "whole"): numeric.decimal_to_whole,
    ("decimal", "floating"): numeric.decimal_to_floating,
    ("decimal", "decimal"): numeric.decimal_to_decimal,
    ("decimal", "boolean"): numeric.number_to_boolean,
    ("decimal", "timestamp"): time.decimal_to_timestamp,
    ("date", "timestamp"): time.date_to_timestamp,
    ("date", "timestamp_ntz"): time.date_to_ntz,
    ("timestamp", "date"): time.timestamp_to_date,
    ("timestamp", "timestamp_ntz"): time.timestamp_to_ntz,
    ("timestamp", "whole"): time.timestamp_to_whole,
    ("timestamp", "floating"): time.timestamp_to_floating,
    ("timestamp", "decimal"): time.timestamp_to_decimal,
    ("timestamp", "boolean"): time.timestamp_to_boolean,
    ("timestamp_ntz", "date"): time.ntz_to_date,
    ("timestamp_ntz", "timestamp"): time.ntz_to_timestamp,
}


ENTRIES: Final = (
    FunctionEntry(
        "Cast",
        "CAST, TRY_CAST",
        Knowledge.MONOTONE,
        cast,
        note="numbers, dates, timestamps; to strings: dates and timestamps of the years 1900 to "
        "9999, whole numbers with the same sign and number of digits, otherwise a single value; "
        "from strings: a single value or, outside of ANSI mode, dates and timestamps of one year",
    ),
)
