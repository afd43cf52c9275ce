"""Functions, by family."""

from __future__ import annotations

from typing import Any

from tamis.expr.nodes import Call, Compare, Comparison, Expr, IsNull, Literal, Not
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING, DataType
from tests.cases.case import Case
from tests.cases.comparison import NAN, d, day, i, l, s, ts

DAY = 86_400_000_000
_OPTIONS = (("timeZoneId", "UTC"), ("evalMode", "LEGACY"))
#: 2024-01-01, 2024-07-01 and 2025-01-01 as days.
JANUARY, JULY, NEXT_YEAR = 19_723, 19_905, 20_089


def call(name: str, data_type: DataType, *arguments: Any) -> Call:
    """Return a call of columns, calls and constants. Integer constants are INT here."""
    return Call(name, tuple(map(_argument, arguments)), _OPTIONS, data_type)


def _argument(argument: Any) -> Expr:
    types = {int: INTEGER, float: DOUBLE, str: STRING}
    data_type = types.get(type(argument))
    return argument if data_type is None else Literal(argument, data_type)


def is_(op: str, left: Call, value: Any) -> Expr:
    return Compare(Comparison(op), left, Literal(value, left.type))


year, month = call("Year", INTEGER, day), call("Month", INTEGER, day)
week_day, hour = call("DayOfWeek", INTEGER, day), call("Hour", INTEGER, ts)
to_date = call("Cast", DATE, ts)
next_number, double = call("Add", INTEGER, i, 1), call("Multiply", INTEGER, i, 2)
modulo, size = call("Remainder", INTEGER, i, 10), call("Abs", INTEGER, i)
half, sign = call("Divide", DOUBLE, d, 2.0), call("Signum", DOUBLE, d)
first_two, length = call("Substring", STRING, s, 1, 2), call("Length", INTEGER, s)
with_suffix, upper = call("Concat", STRING, s, "z"), call("Upper", STRING, s)
or_zero = call("Coalesce", INTEGER, i, 0)


def starts(prefix: str) -> Expr:
    return call("StartsWith", BOOLEAN, s, prefix)


def truncated(unit: str) -> Call:
    return call("TruncDate", DATE, day, unit)


CASES = (
    # Dates: year is monotone, month is monotone within a year.
    Case(
        day,
        data=(JANUARY, JULY),
        hits=(is_("=", year, 2024), is_("=", month, 5), is_("=", week_day, 1)),
        misses=(is_("=", year, 2023), is_("<", year, 2024), is_(">", month, 7)),
        full=(is_("=", year, 2024), is_("<=", month, 7), is_("<", week_day, 8)),
    ),
    Case(
        day,
        data=(JULY, NEXT_YEAR),
        hits=(is_("=", month, 8), is_("=", year, 2025)),
        misses=(is_("=", month, 3), is_("=", month, 13), is_("=", month, 0), is_(">", year, 2025)),
        full=(is_(">=", month, 1),),
    ),
    Case(
        day,
        data=(JANUARY + 1, JANUARY + 5),
        misses=(is_("<", truncated("MM"), JANUARY), is_("=", week_day, 1)),
        full=(is_("=", truncated("MM"), JANUARY), is_("=", truncated("YEAR"), JANUARY)),
    ),
    Case(
        day,
        data=(-1, 0),
        hits=(is_("=", year, 1969), is_("=", month, 12)),
        misses=(is_("=", year, 1968),),
        full=(is_(">=", call("DateAdd", DATE, day, 1), 0),),
    ),
    Case(day, data=(None,), misses=(is_("=", year, 1970),), full=(IsNull(year),)),
    # Before 1970 a timestamp is rounded down to its day and hour.
    Case(
        ts,
        data=(-1, -1),
        misses=(is_("=", hour, 0), is_("=", to_date, 0)),
        full=(is_("=", hour, 23), is_("=", to_date, -1)),
    ),
    Case(
        ts,
        data=(5 * DAY, 5 * DAY + DAY // 4),
        hits=(is_("=", hour, 3),),
        misses=(is_("=", hour, 7), is_("=", to_date, 4), is_("=", to_date, 6)),
        full=(is_("=", to_date, 5), is_("<=", hour, 6)),
    ),
    Case(
        ts,
        data=(DAY - 1, DAY),
        hits=(is_("=", hour, 23),),
        misses=(is_("=", hour, 5), is_("=", hour, 24)),
    ),
    # Integers: nothing is proven if the sum may wrap around.
    Case(
        i,
        data=(3, 7),
        hits=(is_("=", next_number, 4), is_("=", double, 8)),
        misses=(
            is_("=", double, 7),
            is_("=", next_number, 3),
            is_(">", double, 14),
            is_("=", modulo, 8),
        ),
        full=(is_("<=", next_number, 8), is_(">=", modulo, 3)),
    ),
    Case(i, data=(3, (1 << 31) - 1), hits=(is_("<", next_number, 0), is_("=", double, -2))),
    Case(
        i,
        data=(8, 12),
        hits=(is_("=", modulo, 2),),
        misses=(is_("=", modulo, 5), is_("=", modulo, 10)),
    ),
    Case(
        i,
        data=(-3, 7),
        hits=(is_("=", size, 0),),
        misses=(is_("<", size, 0), is_(">", size, 7)),
        full=(is_(">=", size, 0),),
    ),
    Case(i, data=(-(1 << 31), 0), hits=(is_("<", size, 0),)),
    Case(
        l,
        data=(10, 20),
        misses=(is_("=", call("UnaryMinus", LONG, l), 10),),
        full=(is_("<=", call("UnaryMinus", LONG, l), -10),),
    ),
    # Floating-point numbers: NaN stays NaN, and is the greatest value.
    Case(
        d,
        data=(1.0, 3.0),
        hits=(is_("=", half, 0.5),),
        misses=(is_(">", half, 1.5), is_("=", sign, 0.0)),
        full=(is_("=", sign, 1.0), Not(call("IsNaN", BOOLEAN, d))),
    ),
    Case(
        d,
        data=(1.0, NAN),
        hits=(is_(">", half, 1e9), call("IsNaN", BOOLEAN, d)),
        misses=(is_("<", half, 0.5),),
    ),
    Case(d, data=(None,), misses=(call("IsNaN", BOOLEAN, d),)),
    # Strings.
    Case(
        s,
        data=("abc", "abd"),
        hits=(starts("abc"), is_("=", with_suffix, "abcz")),
        misses=(starts("ac"), starts("b"), is_("=", first_two, "aa"), is_("=", length, 0)),
        full=(starts("ab"), starts(""), is_("=", first_two, "ab"), is_(">=", upper, "AB")),
    ),
    # One string begins with the prefix, the other is beyond all strings that do.
    Case(s, data=("a\U0010ffff", "b"), hits=(starts("a"), starts("b")), misses=(starts("c"),)),
    Case(s, data=("\U0010ffff",), full=(starts("\U0010ffff"),), misses=(starts("a"),)),
    # "a" || "z" is greater than "ab" || "z": appending a suffix does not preserve the order.
    Case(
        s,
        data=("a", "ab"),
        hits=(is_("=", with_suffix, "az"),),
        misses=(is_(">", with_suffix, "b"),),
    ),
    Case(
        s,
        data=("xyx", "xyx"),
        misses=(call("EndsWith", BOOLEAN, s, "y"), is_("=", length, 2)),
        full=(call("Contains", BOOLEAN, s, "yx"), is_("=", upper, "XYX"), is_("=", length, 3)),
    ),
    # Conditional functions.
    Case(
        i,
        data=(3, None),
        hits=(is_("=", or_zero, 0), is_("=", or_zero, 3)),
        misses=(is_(">", or_zero, 3), IsNull(or_zero)),
    ),
    Case(i, data=(3, 4), misses=(is_("=", or_zero, 0),), full=(is_(">=", or_zero, 3),)),
    Case(
        i,
        data=(3, 9),
        hits=(is_("=", call("Greatest", INTEGER, i, 5), 5),),
        misses=(
            is_("<", call("Greatest", INTEGER, i, 5), 5),
            is_(">", call("Least", INTEGER, i, 5), 5),
        ),
        full=(is_(">=", call("Greatest", INTEGER, i, 5), 5),),
    ),
    Case(
        i,
        data=(3, 4),
        # The condition is true for every row.
        full=(is_("=", call("If", INTEGER, is_("<", next_number, 9), 1, 2), 1),),
        misses=(is_("=", call("CaseWhen", INTEGER, is_(">", next_number, 9), 1), 1),),
    ),
)
