"""Remainders, rounding, powers and logarithms."""

from __future__ import annotations

from decimal import Decimal

from tamis.expr.nodes import Call, Expr, IsNull, Literal, Not
from tamis.expr.types import DOUBLE, INTEGER, LONG, DataType, decimal
from tests.cases.case import Case
from tests.cases.comparison import NAN, d, i, l, n
from tests.cases.functions import call, is_


def remainder(name: str, divisor: float) -> Call:
    return call(name, DOUBLE, d, divisor)


def rounded(name: str, scale: int, data_type: DataType = INTEGER) -> Call:
    return call(name, data_type, i if data_type == INTEGER else n, scale)


SEVEN = Literal(Decimal(7), decimal(9, 2))
by_seven, positive_by_seven = (
    call(name, decimal(9, 2), n, SEVEN) for name in ("Remainder", "Pmod")
)
#: A divisor with more digits before the point than n has.
MANY = Literal(Decimal(100_000_000), decimal(9, 0))
positive_by_many = call("Pmod", decimal(9, 2), n, MANY)
square, root, inverse = (call("Pow", DOUBLE, d, each) for each in (2.0, 0.5, -1.0))
logarithm = call("Logarithm", DOUBLE, 2.0, d)


def ansi(name: str, *arguments: Expr) -> Call:
    return Call(name, arguments, (("evalMode", "ANSI"),), LONG)


CASES = (
    Case(
        d,
        data=(-2.5, 10.0),
        hits=(is_("=", remainder("Remainder", 3.0), -2.5), is_("=", remainder("Pmod", 3.0), 0.5)),
        misses=(is_("<", remainder("Remainder", 3.0), -2.5), is_("<", remainder("Pmod", 3.0), 0.0)),
        full=(is_("<=", remainder("Remainder", -3.0), 3.0),),
    ),
    Case(d, data=(1.0, NAN), hits=(is_(">", remainder("Remainder", 3.0), 3.0),)),
    # Division by zero: NULL, or an error, about which statistics claim nothing.
    Case(d, data=(1.0, 2.0), hits=(IsNull(remainder("Remainder", 0.0)),)),
    Case(l, data=(1, 2), hits=(is_("=", ansi("Remainder", l, Literal(0, LONG)), 5),)),
    # Decimals: 15.50 % 7 is 1.50 and 16.00 % 7 is 2.00.
    Case(
        n,
        data=(Decimal("15.50"), Decimal("16.00")),
        misses=(is_("<", by_seven, Decimal("1.50")), is_(">", positive_by_seven, Decimal("2.00"))),
        full=(is_(">=", by_seven, Decimal("1.50")),),
    ),
    Case(n, data=(Decimal("-1.00"),), full=(is_("=", positive_by_seven, Decimal("6.00")),)),
    # pmod(-1.00, 100000000) is 99999999.00. Its type has seven digits before the point, as n has.
    Case(n, data=(Decimal("-1.00"),), hits=(IsNull(positive_by_many),)),
    Case(n, data=(Decimal("1.00"),), misses=(IsNull(positive_by_many),)),
    # Rounding to tens: 14 to 10, 15 to 20; half-even rounding is bracketed.
    Case(
        i,
        data=(14, 26),
        misses=(is_("<", rounded("Round", -1), 10), is_(">", rounded("Round", -1), 30)),
        full=(is_(">=", rounded("BRound", -1), 10), is_("<=", rounded("BRound", -1), 30)),
    ),
    Case(i, data=((1 << 31) - 3,), hits=(is_("<", rounded("Round", -1), 0),)),
    Case(
        n,
        data=(Decimal("14.99"), Decimal("15.01")),
        full=(
            is_(">=", rounded("Round", -1, decimal(9, 0)), Decimal(10)),
            is_("=", rounded("RoundFloor", -1, decimal(9, 0)), Decimal(10)),
            is_("=", rounded("RoundCeil", -1, decimal(9, 0)), Decimal(20)),
        ),
        misses=(is_("<", rounded("RoundCeil", 1, decimal(9, 1)), Decimal("15.0")),),
    ),
    # Powers: even ones mirror, fractional ones are NaN below zero, negative ones decrease above it.
    Case(
        d,
        data=(-3.0, 2.0),
        hits=(is_("=", square, 0.0), is_(">", root, 1e9)),
        misses=(is_(">", square, 9.1), is_("<", square, -0.1), is_("<", root, -0.1)),
    ),
    Case(d, data=(-3.0, 2.0), hits=(is_("<", inverse, -1e9),)),
    Case(
        d,
        data=(2.0, 4.0),
        misses=(is_(">", inverse, 0.51), is_("<", inverse, 0.24), is_(">", logarithm, 2.1)),
        full=(is_(">", logarithm, 0.9), Not(IsNull(logarithm))),
    ),
    Case(d, data=(0.0, 4.0), hits=(IsNull(logarithm),)),
)
