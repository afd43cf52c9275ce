"""Comparisons with a constant, type by type."""

from __future__ import annotations

import math
from decimal import Decimal

from tamis.expr.nodes import Column
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    decimal,
)
from tests.cases.case import Case, compare, comparisons

i = Column(("i",), INTEGER)
l = Column(("l",), LONG)  # noqa: E741 - the name of the column
b = Column(("b",), BYTE)
f = Column(("f",), FLOAT)
d = Column(("d",), DOUBLE)
n = Column(("n",), decimal(9, 2))
w = Column(("w",), decimal(38, 10))
s = Column(("s",), STRING)
x = Column(("x",), BINARY)
day = Column(("day",), DATE)
ts = Column(("ts",), TIMESTAMP)
ntz = Column(("ntz",), TIMESTAMP_NTZ)
flag = Column(("flag",), BOOLEAN)
field = Column(("st", "inner"), LONG)

NAN, INFINITY = math.nan, math.inf

CASES = (
    Case(
        i,
        data=(3, 5, 7),
        hits=(
            *comparisons("=", i, 3, 4, 7),
            *comparisons("<>", i, 3, 5),
            *comparisons("<", i, 4),
            *comparisons(">", i, 6),
            *comparisons("<=>", i, 5),
        ),
        misses=(
            *comparisons("=", i, 2, 8, -(1 << 31), None),
            *comparisons("<", i, 3, 2, None),
            *comparisons("<=", i, 2),
            *comparisons(">", i, 7, 8),
            *comparisons(">=", i, 8),
            *comparisons("<=>", i, 2, None),
        ),
        full=(
            *comparisons("<>", i, 2, 8),
            *comparisons("<", i, 8),
            *comparisons("<=", i, 7),
            *comparisons(">", i, 2),
            *comparisons(">=", i, 3),
        ),
    ),
    # NULL rows: still a miss if no value matches, and full only for <=> NULL.
    Case(
        i,
        data=(3, None),
        hits=(*comparisons("=", i, 3), *comparisons("<", i, 4), *comparisons("<=>", i, 3, None)),
        misses=(*comparisons("=", i, 4), *comparisons("<", i, 3), *comparisons("<=>", i, 4)),
    ),
    Case(
        i,
        data=(None, None),
        misses=(
            *comparisons("=", i, 3, None),
            *comparisons("<>", i, 3, None),
            *comparisons("<=", i, 3),
            *comparisons("<=>", i, 3),
        ),
        full=comparisons("<=>", i, None),
    ),
    # The same value in all rows: equality is full.
    Case(
        l,
        data=(5, 5),
        full=(*comparisons("=", l, 5), *comparisons("<=>", l, 5), *comparisons("<=", l, 5)),
        misses=(*comparisons("<>", l, 5), *comparisons("<", l, 5), *comparisons("=", l, 6)),
    ),
    # The ends of a type.
    Case(
        l,
        data=(-(1 << 63), (1 << 63) - 1),
        hits=(*comparisons("=", l, 0, -(1 << 63), (1 << 63) - 1), *comparisons("<", l, 0)),
        misses=(*comparisons("<", l, -(1 << 63)), *comparisons(">", l, (1 << 63) - 1)),
        full=(*comparisons(">=", l, -(1 << 63)), *comparisons("<=", l, (1 << 63) - 1)),
    ),
    Case(b, data=(-128, 127), hits=comparisons("=", b, 0), misses=comparisons(">", b, 127)),
    # NaN is greater than every other value, and equal to itself.
    Case(
        d,
        data=(1.0, NAN),
        hits=(
            *comparisons("=", d, NAN, 1.0),
            *comparisons(">", d, 1.0, INFINITY),
            *comparisons("<", d, NAN),
            *comparisons("<>", d, NAN),
        ),
        misses=(
            *comparisons("=", d, 2.0),
            *comparisons("<", d, 1.0),
            *comparisons(">", d, NAN),
        ),
        full=(*comparisons("<=", d, NAN), *comparisons(">=", d, 1.0)),
    ),
    Case(
        d,
        data=(NAN, NAN),
        misses=(*comparisons("<", d, NAN, INFINITY), *comparisons("<>", d, NAN)),
        full=(
            *comparisons("=", d, NAN),
            *comparisons(">", d, INFINITY),
            *comparisons(">=", d, NAN),
        ),
    ),
    Case(
        d,
        data=(1.0, INFINITY),
        misses=(*comparisons("=", d, NAN), *comparisons(">", d, INFINITY)),
        full=comparisons("<", d, NAN),
    ),
    # -0.0 = 0.0.
    Case(
        d,
        data=(-0.0, -0.0),
        full=(*comparisons("=", d, 0.0), *comparisons(">=", d, 0.0), *comparisons("<=>", d, 0.0)),
        misses=(*comparisons("<", d, 0.0), *comparisons("<>", d, 0.0)),
    ),
    # 1.1 as a float is 1.10000002384…: the constant is a float too.
    Case(
        f,
        data=(1.100000023841858,),
        full=(*comparisons("=", f, 1.1), *comparisons("<=", f, 1.1)),
        misses=(*comparisons(">", f, 1.1), *comparisons("<", f, 1.1)),
    ),
    Case(
        n,
        data=(Decimal("-0.01"), Decimal("1.00")),
        hits=comparisons("=", n, Decimal("0"), Decimal("1")),
        misses=(*comparisons(">", n, Decimal("1.00")), *comparisons("<", n, Decimal("-0.01"))),
        full=(*comparisons("<", n, Decimal("1.01")), *comparisons(">", n, Decimal("-0.02"))),
    ),
    Case(
        w,
        data=(Decimal(10**27), Decimal(10**27)),
        full=comparisons("=", w, Decimal(10**27)),
        misses=comparisons("=", w, Decimal("1000000000000000000000000000.0000000001")),
    ),
    # Strings compare as UTF-8 bytes: U+FF5E precedes U+1F600, in UTF-16 it follows.
    Case(
        s,
        data=("b", "\uff5e"),
        hits=comparisons("=", s, "b", "zz"),
        misses=(*comparisons("<", s, "b"), *comparisons(">", s, "\uff5e", "\U0001f600")),
        full=(
            *comparisons("<", s, "\U0001f600"),
            *comparisons(">=", s, "b"),
            *comparisons(">", s, ""),
        ),
    ),
    Case(
        s,
        data=("customer#000001", "customer#000009"),
        hits=comparisons("=", s, "customer#000005"),
        misses=(
            *comparisons("=", s, "customer", "customer#00001"),
            *comparisons("<", s, "customer"),
        ),
        full=(*comparisons(">", s, "customer#", "customer"), *comparisons("<", s, "customer#1")),
    ),
    # NUL is an ordinary byte.
    Case(s, data=("a\0",), misses=comparisons("=", s, "a"), full=comparisons(">", s, "a")),
    Case(
        x,
        data=(b"\x00", b"\x7f\xff"),
        hits=comparisons("=", x, b"\x01"),
        misses=(*comparisons(">", x, b"\x80", b"\xff"), *comparisons("<", x, b"\x00")),
        full=(*comparisons("<", x, b"\x80"), *comparisons(">", x, b"")),
    ),
    # Before 1970.
    Case(
        day,
        data=(-366, -1),
        hits=comparisons("=", day, -100),
        misses=(*comparisons(">=", day, 0), *comparisons("<", day, -366)),
        full=comparisons("<", day, 0),
    ),
    Case(
        ts,
        data=(-1, -1),
        full=(*comparisons("<", ts, 0), *comparisons("=", ts, -1)),
        misses=(*comparisons("<=", ts, -2), *comparisons(">=", ts, 0)),
    ),
    Case(ntz, data=(0, 10), hits=comparisons("=", ntz, 5), misses=comparisons(">", ntz, 10)),
    Case(field, data=(1, 2), hits=comparisons("=", field, 2), misses=comparisons("=", field, 3)),
    # A boolean column is a predicate itself.
    Case(flag, data=(True, True), full=(flag, compare("=", flag, True), compare(">", flag, False))),
    Case(flag, data=(False, None), misses=(flag, compare("=", flag, True))),
    Case(flag, data=(False, True), hits=(flag, compare("<>", flag, True))),
)
