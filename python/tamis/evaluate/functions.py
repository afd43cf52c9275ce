"""The functions that are taught, one line each: Catalyst's name, how much is known, the rule.

docs/operators.md is made from this table: `make operators`. How to add a function:
docs/adding_an_operator.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Final

import numpy as np

from tamis.evaluate import (
    arithmetic,
    calendar,
    casts,
    conditional,
    dates,
    elementary,
    formats,
    patterns,
    rounding,
    strings,
    timestamps,
)
from tamis.evaluate.taught import Knowledge, Taught
from tamis.evaluate.zones import DAY, HOUR, SECOND

__all__ = ["FILES", "TAUGHT", "Knowledge", "Taught", "to_markdown"]

_MINUTE: Final = 60 * SECOND


M, P, I, X, S, C = Knowledge  # noqa: E741


#: Files of this folder that bring a table TAUGHT of their own, one line each.
FILES: Final = (
    "factorial",
    "tagging",
)


def _of_files() -> Iterator[Taught]:
    for file in FILES:
        yield from import_module(f"tamis.evaluate.{file}").TAUGHT


TAUGHT: Final = (
    # Casts.
    Taught("Cast", "CAST, TRY_CAST", M, casts.cast, note="where the target type holds the values"),
    # Parts of dates.
    Taught("Year", "year", M, dates.date_part(dates.year, None, 0, 0)),
    Taught("YearOfWeek", "extract(YEAROFWEEK)", M, dates.date_part(dates.year_of_week, None, 0, 0)),
    Taught("Quarter", "quarter", P, dates.date_part(dates.quarter, dates.year, 1, 4)),
    Taught("Month", "month", P, dates.date_part(dates.month, dates.year, 1, 12)),
    Taught(
        "DayOfMonth", "day", P, dates.date_part(dates.day_of_month, calendar.month_index, 1, 31)
    ),
    Taught("DayOfYear", "dayofyear", P, dates.date_part(calendar.day_of_year, dates.year, 1, 366)),
    Taught("DayOfWeek", "dayofweek", P, dates.date_part(dates.day_of_week, dates.sunday, 1, 7)),
    Taught("WeekDay", "weekday", P, dates.date_part(dates.weekday, dates.week, 0, 6)),
    Taught(
        "WeekOfYear",
        "weekofyear",
        P,
        dates.date_part(dates.week_of_year, dates.year_of_week, 1, 53),
    ),
    # Dates.
    Taught("TruncDate", "trunc", M, dates.trunc_date),
    Taught("LastDay", "last_day", M, dates.last_day),
    Taught("NextDay", "next_day", M, dates.next_day, note="days as MO, TU, …"),
    Taught("DateAdd", "date_add, date + n", M, dates.add_days),
    Taught("DateSub", "date_sub, date - n", M, dates.subtract_days),
    Taught("DateDiff", "datediff", I, dates.date_diff),
    Taught("AddMonths", "add_months", M, dates.add_months),
    Taught("DateAddYMInterval", "date + INTERVAL n MONTH", M, dates.add_months),
    Taught("UnixDate", "unix_date", M, dates.identity_days),
    Taught("DateFromUnixDate", "date_from_unix_date", M, dates.identity_days),
    Taught("MakeDate", "make_date", I, dates.make_date, note="days up to the 28th"),
    # Timestamps.
    Taught("Hour", "hour", P, timestamps.clock_part(HOUR, DAY)),
    Taught("Minute", "minute", P, timestamps.clock_part(_MINUTE, HOUR)),
    Taught("Second", "second", P, timestamps.clock_part(SECOND, _MINUTE)),
    Taught("SecondWithFraction", "extract(SECOND)", P, timestamps.second_with_fraction),
    Taught("TruncTimestamp", "date_trunc", M, timestamps.trunc_timestamp),
    Taught(
        "TimestampAddInterval",
        "timestamp + INTERVAL",
        M,
        timestamps.add_interval,
        note="days to seconds",
    ),
    Taught(
        "TimestampAddYMInterval",
        "timestamp + INTERVAL",
        M,
        timestamps.add_months,
        note="months and years, to the day",
    ),
    Taught("TimestampAdd", "timestampadd", M, timestamps.timestamp_add, note="up to weeks"),
    Taught("UnixTimestamp", "unix_timestamp", M, timestamps.unix_timestamp),
    Taught("ToUnixTimestamp", "to_unix_timestamp", M, timestamps.unix_timestamp),
    Taught("UnixSeconds", "unix_seconds", M, timestamps.to_unix(SECOND)),
    Taught("UnixMillis", "unix_millis", M, timestamps.to_unix(1_000)),
    Taught("UnixMicros", "unix_micros", M, timestamps.to_unix(1)),
    Taught("SecondsToTimestamp", "timestamp_seconds", M, timestamps.from_unix(SECOND)),
    Taught("MillisToTimestamp", "timestamp_millis", M, timestamps.from_unix(1_000)),
    Taught("MicrosToTimestamp", "timestamp_micros", M, timestamps.from_unix(1)),
    Taught("DateFormatClass", "date_format", M, formats.date_format, note="patterns that sort"),
    Taught("FromUnixTime", "from_unixtime", M, formats.from_unix_time, note="patterns that sort"),
    # Arithmetic.
    Taught("Add", "+", I, arithmetic.add),
    Taught("Subtract", "-", I, arithmetic.subtract),
    Taught("Multiply", "*", I, arithmetic.multiply),
    Taught("Divide", "/", I, arithmetic.divide, note="by what keeps one sign"),
    Taught("IntegralDivide", "div", I, arithmetic.integral_divide, note="by what keeps one sign"),
    Taught("Remainder", "%, mod", P, arithmetic.remainder, note="by what is above zero"),
    Taught("Pmod", "pmod", P, arithmetic.pmod, note="by what is above zero"),
    Taught("UnaryMinus", "-", M, arithmetic.negate),
    Taught("Abs", "abs", I, arithmetic.absolute),
    Taught("Floor", "floor", M, rounding.floor),
    Taught("Ceil", "ceil", M, rounding.ceil),
    Taught("Round", "round", M, rounding.round_half_up),
    Taught("BRound", "bround", M, rounding.bround),
    Taught("Signum", "sign", M, elementary.signum),
    Taught("Sqrt", "sqrt", M, elementary.sqrt),
    Taught("Cbrt", "cbrt", M, elementary.is_rising(np.cbrt)),
    Taught("Exp", "exp", M, elementary.is_rising(np.exp)),
    Taught("Log", "ln", M, elementary.logarithm_of(np.log, 0.0)),
    Taught("Log10", "log10", M, elementary.logarithm_of(np.log10, 0.0)),
    Taught("Log2", "log2", M, elementary.logarithm_of(np.log2, 0.0)),
    Taught("Log1p", "log1p", M, elementary.logarithm_of(np.log1p, -1.0)),
    Taught("Pow", "power", M, elementary.power, note="to a constant above zero"),
    # Strings.
    Taught("StartsWith", "startswith, LIKE 'p%'", X, predicate=patterns.starts_with),
    Taught("Like", "LIKE", X, predicate=patterns.like),
    Taught("RLike", "RLIKE", X, predicate=patterns.regular_expression, note="'^literal…'"),
    Taught(
        "EndsWith",
        "endswith, LIKE '%s'",
        S,
        predicate=patterns.of_single_value(lambda text, end: text.endswith(end)),
    ),
    Taught(
        "Contains",
        "contains, LIKE '%s%'",
        S,
        predicate=patterns.of_single_value(lambda text, part: part in text),
    ),
    Taught("Substring", "substring, left", M, strings.substring, note="from the first character"),
    Taught("Concat", "concat, ||", I, strings.concat),
    Taught("Upper", "upper", X, strings.case_mapped(str.upper)),
    Taught("Lower", "lower", X, strings.case_mapped(str.lower)),
    Taught("StringTrim", "trim", S, strings.trimmed(str.strip)),
    Taught("StringTrimLeft", "ltrim", S, strings.trimmed(str.lstrip)),
    Taught("StringTrimRight", "rtrim", S, strings.trimmed(str.rstrip)),
    Taught("Length", "length", S, strings.length(strings.characters)),
    Taught("OctetLength", "octet_length", S, strings.length(strings.octets)),
    # Choices.
    Taught("Coalesce", "coalesce, nvl, ifnull", C, conditional.coalesce),
    Taught("If", "if, nullif, nvl2", C, conditional.choose),
    Taught("CaseWhen", "CASE", C, conditional.case_when),
    Taught("Greatest", "greatest", C, conditional.greatest),
    Taught("Least", "least", C, conditional.least),
    Taught("NaNvl", "nanvl", C, conditional.nanvl),
    Taught("IsNaN", "isnan", M, predicate=conditional.is_nan),
    *_of_files(),
)


def _line(taught: Taught) -> str:
    sql = taught.sql.replace("|", "\\|")
    note = f" {taught.note} " if taught.note else " "
    return f"| `{sql}` | {taught.name} | {taught.knowledge} |{note}|"


def to_markdown() -> str:
    """The text of docs/operators.md."""
    kinds = {
        M: "the edges of the argument map to the edges of the result",
        P: "monotone within a piece (a year, a day); over more than one, the full range",
        I: "interval arithmetic",
        X: "by what all strings of a file begin with",
        S: "computed where all values of a file are the same one; otherwise not known",
        C: "anything from the least to the greatest of the arguments that may be chosen",
    }
    lines = [
        "# Operators and functions",
        "",
        "<!-- Made by `make operators` from python/tamis/evaluate/functions.py. -->",
        "",
        "Comparisons, IN, IS NULL, AND, OR and NOT prune over columns, constants and the",
        "functions below, nested as they come. A function that is not here keeps every file. So",
        "does one that might raise or overflow within the bounds of a file: Spark reads it.",
        "",
        "Of your own functions, what is declared is known:",
        "[declared_functions.md](declared_functions.md).",
        "",
        "| known | meaning |",
        "| --- | --- |",
        *(f"| {kind} | {meaning} |" for kind, meaning in kinds.items()),
        "",
        "| function | in Catalyst | known | where |",
        "| --- | --- | --- | --- |",
        *map(_line, TAUGHT),
        "",
    ]
    return "\n".join(lines)
