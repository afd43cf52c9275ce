"""Conjunctions on one column: some row may satisfy each conjunct, but no row satisfies all."""

from __future__ import annotations

import math
from decimal import Decimal

from tamis.expr.nodes import And, Expr, Not, Opaque, Or
from tests.cases.case import Case, compare, is_in, is_not_null, is_null, not_in
from tests.cases.comparison import NAN, d, day, f, flag, i, l, n, s, ts, w, x


def both(*parts: Expr) -> Expr:
    return And(parts)


def either(*parts: Expr) -> Expr:
    return Or(parts)


ANYTHING = Opaque("f(i)", (("i",),))
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1

CASES = (
    Case(
        i,
        data=(1, 20),
        hits=(
            both(compare(">", i, 5), compare("<", i, 7)),
            both(compare(">=", i, 5), compare("<=", i, 5)),
            both(is_in(i, 1, 6), compare("<", i, 6)),
            both(compare("<>", i, 5), compare(">=", i, 5), compare("<=", i, 6)),
            both(compare("=", i, 5), ANYTHING),
            either(both(compare("<", i, 5), ANYTHING), compare("=", i, 20)),
            both(compare(">", i, 5), either(compare("<", i, 3), compare("=", i, 7))),
        ),
        misses=(
            both(compare("<", i, 5), compare(">", i, 10)),
            both(compare("=", i, 2), compare("=", i, 3)),
            both(compare("=", i, 2), compare("<=>", i, 3)),
            # Integers: none lies between 5 and 6.
            both(compare(">", i, 5), compare("<", i, 6)),
            both(compare(">=", i, 5), compare("<=", i, 6), not_in(i, 5, 6)),
            both(compare("=", i, 5), compare("<>", i, 5)),
            both(is_in(i, 2, 4), is_in(i, 3, 5)),
            both(is_in(i, 2, 4), compare(">", i, 4)),
            both(is_in(i, 2, 4, null=True), not_in(i, 2, 4)),
            both(is_in(i, 2, 30), compare(">", i, 2)),  # only 30 remains, which is not in the file
            both(is_null(i), compare("<", i, 5)),
            both(is_null(i), is_not_null(i)),
            both(compare(">", i, 5), ANYTHING, compare("<", i, 5)),
            both(compare(">", i, 5), either(compare("<", i, 3), both(compare("=", i, 4)))),
            both(compare(">", i, 5), either(compare("<", i, 3), is_null(i))),
            either(both(compare("<", i, 2), compare(">", i, 2)), compare(">", i, 20)),
            Not(either(compare("<", i, 9), compare(">", i, 3))),
            both(compare("=", i, 9), either(both(ANYTHING, compare("=", i, 8)), is_in(i, 7, 10))),
            both(compare(">", i, (1 << 31) - 1), ANYTHING),
        ),
        full=(
            both(compare(">=", i, 1), compare("<", i, 21), is_not_null(i)),
            both(compare(">", i, 0), compare("<>", i, 0), compare("<", i, 50)),
            both(compare(">", i, 0), either(compare("<", i, 30), compare("=", i, -5))),
        ),
    ),
    # An excluded value at the only limit moves the limit.
    Case(
        i,
        data=(1, 5),
        hits=(
            both(compare(">=", i, 5), compare("<>", i, 1)),
            both(compare("<=", i, 1), compare("<>", i, 5)),
        ),
        misses=(
            both(compare(">=", i, 5), compare("<>", i, 5)),
            both(compare("<=", i, 1), compare("<>", i, 1)),
        ),
    ),
    Case(
        i,
        data=(1, 20, None),
        hits=(
            both(Not(compare("<=>", i, 5)), compare(">", i, 3)),
            both(Not(compare("<=>", i, 5)), is_null(i)),
            either(both(is_null(i), compare("=", i, 1)), is_null(i)),
        ),
        misses=(
            both(is_null(i), is_not_null(i)),
            both(is_null(i), compare("=", i, 1)),
            both(is_null(i), is_in(i, 1, null=True)),
            both(compare("<=>", i, None), compare(">", i, 1)),
            both(Not(compare("<=>", i, 5)), compare("=", i, 5)),
        ),
    ),
    Case(
        l,
        data=(LEAST, GREATEST),
        hits=(both(compare(">=", l, GREATEST), compare("<>", l, 0)),),
        misses=(
            both(compare(">", l, GREATEST), compare("<>", l, 0)),
            both(compare("<", l, LEAST), is_not_null(l)),
        ),
    ),
    # NaN is the greatest value; -0.0 is 0.0.
    Case(
        d,
        data=(-1.0, 1.0, NAN),
        hits=(
            both(compare(">", d, 0.5), compare(">", d, 0.25)),
            both(compare(">=", d, -0.0), compare("<=", d, 0.0)),
            both(compare(">", d, 5.0), compare("<>", d, 7.0)),
            both(compare("=", d, NAN), compare(">", d, math.inf)),
            both(compare("<=", d, NAN), compare(">", d, 7.0)),
        ),
        misses=(
            both(compare(">", d, 5.0), compare("<=", d, 9.0)),
            both(compare("<", d, 0.0), compare(">", d, -0.0)),
            both(compare("=", d, NAN), compare("<", d, NAN)),
            both(is_in(d, NAN, 9.0), compare("<", d, 10.0)),
            both(compare(">", d, NAN), is_not_null(d)),
            both(compare(">", d, 0.5), compare("<", d, math.nextafter(0.5, 1))),
        ),
    ),
    Case(
        f,
        data=(-1.0, 1.0),
        hits=(both(compare(">=", f, 0.1), compare("<=", f, 0.1)),),
        misses=(
            both(compare(">", f, 0.1), compare("<", f, 0.1)),
            both(compare(">", f, 1.0), compare("<", f, 5.0)),
        ),
    ),
    Case(
        n,
        data=(Decimal("1.00"), Decimal("9.00")),
        hits=(both(compare(">", n, Decimal("2.00")), compare("<", n, Decimal("2.02"))),),
        misses=(both(compare(">", n, Decimal("2.00")), compare("<", n, Decimal("2.01"))),),
    ),
    Case(
        w,
        data=(Decimal(1), Decimal(9)),
        hits=(both(compare(">", w, Decimal(2)), compare("<", w, Decimal("2.0000000002"))),),
        misses=(
            both(compare(">", w, Decimal(2)), compare("<", w, Decimal("2.0000000001"))),
            both(compare("=", w, Decimal(2)), compare(">", w, Decimal(3))),
        ),
    ),
    Case(
        s,
        data=("a", "z"),
        hits=(
            both(compare(">", s, "b"), compare("<", s, "b\0\0")),
            both(compare(">", s, "b"), compare("<=", s, "b\0")),
        ),
        misses=(
            both(compare("<", s, "c"), compare(">", s, "é")),
            # The least string above b is b followed by a NUL character.
            both(compare(">", s, "b"), compare("<", s, "b\0")),
            both(compare(">=", s, "b"), compare("<", s, "b")),
            both(compare("<", s, "\uffff"), compare(">=", s, "\U00010000")),
            both(is_in(s, "b", "c"), compare(">", s, "c")),
        ),
        full=(both(compare(">=", s, "a"), compare("<", s, "z\0")),),
    ),
    Case(
        x,
        data=(b"\x00", b"\xff"),
        hits=(both(compare(">=", x, b"\xff"), compare("<=", x, b"\xff")),),
        misses=(both(compare(">", x, b"\xff"), compare("<", x, b"\xff\x00")),),
    ),
    Case(
        day,
        data=(-5, 5),
        hits=(both(compare(">", day, -2), compare("<", day, 0)),),
        misses=(
            both(compare(">", day, -1), compare("<", day, 0)),
            both(compare("=", day, 1), compare("=", day, 2)),
        ),
    ),
    Case(
        ts,
        data=(-5, 5),
        hits=(both(compare(">", ts, -2), compare("<", ts, 0)),),
        misses=(both(compare(">", ts, -1), compare("<", ts, 0)),),
    ),
    Case(
        flag,
        data=(False, True, None),
        hits=(both(compare(">=", flag, False), compare("<=", flag, False)),),
        misses=(
            both(flag, Not(flag)),
            both(compare("<>", flag, True), compare("<>", flag, False)),
            both(flag, compare("<", flag, True)),
            both(flag, is_null(flag)),
        ),
    ),
)
