"""Predicates that may raise: only the bounds of a file can prove that they do not."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tamis.evaluation.functions.registry import FUNCTION_ENTRIES
from tamis.evaluation.interpreter import truth
from tamis.evaluation.raising import can_raise, may_raise
from tamis.expr.nodes import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    Literal,
    Not,
    Opaque,
    Or,
)
from tamis.expr.types import BOOLEAN, DATE, DOUBLE, INTEGER, LONG, STRING, DataType, decimal
from tamis.files.table import ArrowStatistics

# 1 .. 5, 0 .. 5, up to the end of the type, unknown, NULL only.
FILES = pa.table(
    {
        "num_records": [10, 10, 10, 10, 10],
        "min.a": pa.array([1, 0, 1, None, None], pa.int32()),
        "max.a": pa.array([5, 5, 2**31 - 1, None, None], pa.int32()),
        "null_count.a": [0, 3, 0, None, 10],
        "min.d": pa.array([1, 0, 1, None, None], pa.decimal128(5, 2)),
        "max.d": pa.array([5, 5, 9, None, None], pa.decimal128(5, 2)),
        "null_count.d": [0, 3, 0, None, 10],
        "min.s": ["7", "12", "", None, None],
        "max.s": ["7", "99", "z", None, None],
        "null_count.s": [0, 0, 0, None, 10],
    }
)
a = Column(("a",), INTEGER)
d = Column(("d",), decimal(5, 2))
s = Column(("s",), STRING)


def call(name: str, *arguments: Expr, to: DataType = INTEGER, mode: str = "ANSI") -> Call:
    return Call(name, arguments, (("evalMode", mode),), to)


def above(value: Expr, limit: object = 1, data_type: DataType = INTEGER) -> Expr:
    return Compare(Comparison.GREATER, value, Literal(limit, data_type))  # type: ignore[arg-type]


ten, one = Literal(10, INTEGER), Literal(1, INTEGER)
divided = call("IntegralDivide", Call("Cast", (ten,), (), LONG), a, to=LONG)
casted = call("Cast", s)

# Predicate, and the files in which it may raise.
TABLE: list[tuple[Expr, list[bool]]] = [
    (above(a), [False] * 5),
    (above(call("Add", a, one)), [False, False, True, True, False]),
    (above(call("Add", a, one, mode="LEGACY")), [False] * 5),
    (above(call("Add", a, one, mode="TRY")), [False] * 5),
    (above(call("Remainder", ten, a)), [False, True, False, True, False]),
    (Not(above(call("Remainder", ten, a))), [False, True, False, True, False]),
    (And((above(a), above(call("Remainder", ten, a)))), [False, True, False, True, False]),
    (Or((above(a), above(call("Remainder", ten, a)))), [False, True, False, True, False]),
    (above(call("Coalesce", call("Remainder", ten, a), one)), [False, True, False, True, False]),
    (above(casted), [False, True, True, True, False]),
    (Opaque("f(a)"), [True] * 5),
    (above(Call("udf:f", (a,), (), INTEGER)), [True] * 5),
    (above(Call("Year", (Column(("day",), DATE),), (), INTEGER)), [False] * 5),
    (Call("Like", (s, Literal("%x%", STRING)), (("escapeChar", "\\"),), BOOLEAN), [False] * 5),
    (Call("Contains", (s, Literal("x", STRING)), (), BOOLEAN), [False] * 5),
]


@pytest.mark.parametrize(("predicate", "raises"), TABLE)
def test_predicate_may_raise_only_where_bounds_allow(predicate: Expr, raises: list[bool]) -> None:
    flags = np.broadcast_to(may_raise(predicate, ArrowStatistics(FILES)), 5)
    assert flags.tolist() == raises
    assert can_raise(predicate) == any(raises)


@pytest.mark.parametrize(
    ("escape", "may"), [("\\", [True, False]), ("#", [False, True]), (None, [True, False])]
)
def test_like_pattern_with_an_escape_may_raise(escape: str | None, may: list[bool]) -> None:
    options = () if escape is None else (("escapeChar", escape),)
    patterns = [Literal(text, STRING) for text in ("a\\b%", "a#b%")]
    assert [can_raise(Call("Like", (s, each), options, BOOLEAN)) for each in patterns] == may


#: Functions that Spark defines for all arguments, in every mode.
TOTAL = """
    Atan BitLength CaseWhen Cbrt Coalesce Contains Cos DateDiff DayOfMonth DayOfWeek DayOfYear
    EndsWith Exp Expm1 Factorial Greatest Hour If IsNaN Least Length Log Log10 Log1p Log2 Lower
    Minute Month NaNvl OctetLength Pow Quarter Reverse Rint Second SecondWithFraction Signum Sin
    Sinh Sqrt StartsWith StringInstr StringReplace StringTrim StringTrimLeft StringTrimRight
    Substring Tanh ToDegrees ToRadians UnixDate Upper WeekDay WeekOfYear WidthBucket Year YearOfWeek
"""


def test_only_functions_that_are_defined_for_all_arguments_never_raise() -> None:
    never = {each.name for each in FUNCTION_ENTRIES if not can_raise(call(each.name, a))}
    assert never == set(TOTAL.split()), "Spark must define these for all arguments: see TOTAL"


@pytest.mark.parametrize(
    ("name", "may"), [*((name, False) for name in TOTAL.split()), ("Remainder", True)]
)
def test_function_of_an_unknown_value_may_raise_unless_it_is_always_defined(
    name: str, may: bool
) -> None:
    nothing = ArrowStatistics(pa.table({"num_records": [10]}))
    predicate = above(call(name, s))
    assert truth(predicate, nothing).can_be_true.all()
    assert may_raise(predicate, nothing).tolist() == [may]


def test_predicate_whose_truth_is_proven_does_not_raise() -> None:
    """An escape in a pattern may be an error. Where the bounds decide the pattern, it is none."""
    like = Call("Like", (s, Literal("7\\_%", STRING)), (("escapeChar", "\\"),), BOOLEAN)
    texts = pa.table(
        {
            "num_records": [10, 10, 10],
            "min.s": ["8", "7_x", "6"],
            "max.s": ["9", "7_x", "8"],
            "null_count.s": [3, 3, 3],
        }
    )
    assert may_raise(like, ArrowStatistics(texts)).tolist() == [False, False, True]


def test_double_functions_return_nan_and_do_not_raise() -> None:
    x = Column(("x",), DOUBLE)
    assert not can_raise(above(Call("Log", (x,), (), DOUBLE), 1.0, DOUBLE))


NINES = Decimal("9999999999999999999999999999.9999999999")
#: One file with few digits, one with the most, one with unknown bounds.
LONG_DECIMALS = pa.table(
    {
        "num_records": [10, 10, 10],
        "min.m": pa.array([Decimal(-1), NINES.copy_negate(), None], pa.decimal128(38, 10)),
        "max.m": pa.array([Decimal(5), Decimal(5), None], pa.decimal128(38, 10)),
        "null_count.m": [0, 0, None],
    }
)


@pytest.mark.parametrize("mode", ["LEGACY", "TRY", "ANSI"])
@pytest.mark.parametrize("name", ["UnaryMinus", "Abs"])
def test_negation_of_long_decimals_may_raise_in_any_mode(name: str, mode: str) -> None:
    m = Column(("m",), decimal(38, 10))
    predicate = above(call(name, m, to=m.type, mode=mode), Decimal(1), m.type)
    flags = np.broadcast_to(may_raise(predicate, ArrowStatistics(LONG_DECIMALS)), 3)
    assert flags.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("name", "arguments", "precision", "may"),
    [
        ("UnaryMinus", (), 34, False),
        ("UnaryMinus", (), 35, True),
        ("Round", (Literal(-3, INTEGER),), 34, False),
        ("Round", (Literal(-3, INTEGER),), 38, True),
        ("RoundCeil", (Literal(-3, INTEGER),), 38, True),
        ("Add", (one,), 38, False),
    ],
)
def test_rounding_of_long_decimals_may_raise_without_ansi(
    name: str, arguments: tuple[Expr, ...], precision: int, may: bool
) -> None:
    data_type = decimal(precision, 0)
    rounded = call(name, Column(("m",), data_type), *arguments, to=data_type, mode="LEGACY")
    assert can_raise(above(rounded, Decimal(1), data_type)) == may
