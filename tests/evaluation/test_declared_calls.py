"""Bounds of declared functions: facts that a contract provides, and cases where it provides none."""

from __future__ import annotations

import contextlib
import datetime
import math
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.classification import Capabilities, Pushdown, classify
from tamis.errors import DeclarationError
from tamis.evaluation import verdicts
from tamis.evaluation.udf.declared_calls import DeclaredCall, bind, relies_on_declaration
from tamis.evaluation.udf.images import Declared
from tamis.evaluation.udf.udf_contract import Contract
from tamis.evaluation.udf.udf_guard import UdfGuard, run_within
from tamis.expr.nodes import And, Call, Column, Compare, Comparison, Expr, IsNull, Literal, Not, Or
from tamis.expr.sql import to_sql
from tamis.expr.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    decimal,
)
from tamis.files.table import ArrowStatistics
from tamis.files.verdicts import evaluate
from tests.cases.case import statistics_of
from tests.differential.keys import order_key

NONE, SOME, ALL = range(3)
NTZ = datetime.datetime(2024, 2, 29, 12)


def declared(contract: Contract, expr: Expr, watch: UdfGuard | None = None) -> Expr:
    return bind(expr, {contract.name: [Declared(contract)]}, watch or UdfGuard())


def compare(op: str, data_type: DataType, result: DataType, constant: Any, *more: Expr) -> Expr:
    call = Call("udf:f", (Column(("c",), data_type), *more), (), result)
    return Compare(Comparison(op), call, Literal(constant, result))


def verdict(contract: Contract, expr: Expr, data_type: DataType, data: tuple[Any, ...]) -> int:
    files = statistics_of(Column(("c",), data_type), [data])
    return int(verdicts(declared(contract, expr), ArrowStatistics(files))[0])


TABLE: list[tuple[DataType, tuple[Any, ...], Callable[..., Any], DataType, Any, Any]] = [
    # Type of x, x in a file, f, type of f(x), a possible value, an impossible value.
    (INTEGER, (3, 17), lambda x: x // 10, LONG, 1, 2),
    (LONG, (-(1 << 63), 5), lambda x: x, LONG, -7, 6),
    (BOOLEAN, (False, False), lambda x: x, BOOLEAN, False, True),
    (DOUBLE, (1.0, 2.5), math.floor, LONG, 2, 3),
    (FLOAT, (1.5, 2.5), lambda x: x * 2, FLOAT, 4.0, 5.5),
    (DOUBLE, (0.0, 1.0), lambda x: math.copysign(1.0, x), DOUBLE, -1.0, 1.5),
    (decimal(9, 2), (Decimal("1.50"), Decimal("2.25")), lambda x: x + 1, decimal(9, 2), Decimal("3"), Decimal("3.26")),
    (decimal(38, 10), (Decimal(1), Decimal(2)), lambda x: x, decimal(38, 10), Decimal("1.5"), Decimal("2.1")),
    (decimal(9, 2), (Decimal("1.005"),) * 0 + (Decimal("1.01"),), lambda x: x / 2, decimal(9, 2), Decimal("0.51"), Decimal("0.50")),
    (STRING, ("ab", "b"), lambda x: x[:1], STRING, "a", "c"),
    (BINARY, (b"a", b"b"), lambda x: x + b"!", BINARY, b"a?", b"c"),
    (DATE, (0, 400), lambda x: x.year, INTEGER, 1971, 1972),
    (DATE, (-1, 0), lambda x: x, DATE, 0, 1),
    (TIMESTAMP_NTZ, (0, 1), lambda x: x, TIMESTAMP_NTZ, 1, 2),
]  # fmt: skip


@pytest.mark.parametrize(("data_type", "data", "f", "result", "hit", "miss"), TABLE)
def test_monotone_contract_prunes(
    data_type: DataType,
    data: tuple[Any, ...],
    f: Callable[..., Any],
    result: DataType,
    hit: Any,
    miss: Any,
) -> None:
    contract = Contract("f", monotone=f, types=[str(data_type)])
    assert verdict(contract, compare("=", data_type, result, hit), data_type, data) == SOME
    assert verdict(contract, compare("=", data_type, result, miss), data_type, data) == NONE


def test_timestamp_edges_are_widened_by_a_day() -> None:
    """Workers see the rows in their local time, and the zone is not known."""
    contract = Contract("f", monotone=lambda x: x.toordinal() - 719_163, types=["TIMESTAMP"])
    noon = 10 * 86_400_000_000 + 43_200_000_000
    for day, expected in [(8, NONE), (9, SOME), (10, SOME), (11, SOME), (12, NONE)]:
        predicate = compare("=", TIMESTAMP, LONG, day)
        assert verdict(contract, predicate, TIMESTAMP, (noon,)) == expected
    same = Contract("f", monotone=lambda x: x, types=["TIMESTAMP"])
    day = 86_400_000_000
    for shift, expected in [(-3, NONE), (-2, SOME), (0, SOME), (2, SOME), (3, NONE)]:
        predicate = compare("=", TIMESTAMP, TIMESTAMP, noon + shift * day)
        assert verdict(same, predicate, TIMESTAMP, (noon,)) == expected


NOT_KNOWN: list[tuple[str, Callable[..., Any]]] = [
    ("raises", lambda x: 1 // 0),
    ("exits", lambda x: sys.exit(1)),
    ("gives NULL at an edge", lambda x: None),
    ("gives another type", lambda x: str(x)),
    ("gives a boolean", lambda x: True),
    ("gives NaN", lambda x: math.nan),
    ("overflows", lambda x: 1 << 63),
    ("falls, against its contract", lambda x: -x),
]


@pytest.mark.parametrize(("case", "f"), NOT_KNOWN, ids=[case for case, _ in NOT_KNOWN])
def test_bounds_are_unknown_for_a_function(case: str, f: Callable[..., Any]) -> None:
    contract = Contract("f", monotone=f, types=["INT"])
    assert verdict(contract, compare("=", INTEGER, LONG, 1234), INTEGER, (3, 17)) == SOME


def test_contradiction_is_a_warning() -> None:
    watch = UdfGuard()
    contract = Contract("f", monotone=lambda x: -x, types=["INT"])
    expr = declared(contract, compare("=", INTEGER, LONG, 1234), watch)
    files = statistics_of(Column(("c",), INTEGER), [(3, 17), (4, 19)])
    assert verdicts(expr, ArrowStatistics(files)).tolist() == [SOME, SOME]
    assert list(watch.warnings) == ["declaration_refuted:f"]


def test_result_for_null_is_computed_or_declared() -> None:
    predicate = compare("=", INTEGER, LONG, 7)
    data = (3, 17, None)
    f = lambda x: 7 if x is None else x // 10  # noqa: E731
    computes = Contract("f", monotone=f, types=["INT"])
    assert verdict(computes, predicate, INTEGER, data) == SOME
    assert verdict(computes, predicate, INTEGER, (3, 17)) == NONE
    raises = Contract("f", monotone=lambda x: x // 10, types=["INT"])
    assert verdict(raises, predicate, INTEGER, data) == SOME
    declares = Contract("f", monotone=lambda x: x // 10, types=["INT"], null_to_null=True)
    assert verdict(declares, predicate, INTEGER, data) == NONE
    assert verdict(declares, predicate, INTEGER, (None,)) == NONE
    image = Contract("f", image=lambda low, high: (low // 10, high // 10), types=["INT"])
    assert verdict(image, predicate, INTEGER, data) == SOME
    assert verdict(image, predicate, INTEGER, (3, 17)) == NONE


def test_nan_is_the_greatest_result() -> None:
    above = compare(">", DOUBLE, DOUBLE, 5.0)
    halve = Contract("f", monotone=lambda x: x / 2, types=["DOUBLE"])
    assert verdict(halve, above, DOUBLE, (1.0, 9.0)) == NONE
    assert verdict(halve, above, DOUBLE, (1.0, math.nan)) == SOME
    rises_to_nan = Contract("f", monotone=lambda x: x if x < 8 else math.nan, types=["DOUBLE"])
    assert verdict(rises_to_nan, above, DOUBLE, (1.0, 9.0)) == SOME
    assert verdict(rises_to_nan, above, DOUBLE, (1.0, 4.0)) == NONE
    falls = Contract("f", monotone=lambda x: -x, increasing=False, types=["DOUBLE"])
    assert verdict(falls, above, DOUBLE, (1.0, 9.0)) == NONE
    open_ = Contract("f", image=lambda low, high: (low, None), types=["DOUBLE"])
    assert verdict(open_, above, DOUBLE, (1.0, 2.0)) == SOME
    null = Contract("f", monotone=lambda x: math.nan if x is None else x, types=["DOUBLE"])
    assert verdict(null, above, DOUBLE, (1.0, 2.0, None)) == SOME
    assert verdict(null, compare("=", DOUBLE, DOUBLE, 5.0), DOUBLE, (1.0, None)) == NONE


def test_result_for_nan_is_computed() -> None:
    predicate = compare("=", DOUBLE, DOUBLE, 7.0)
    f = Contract("f", monotone=lambda x: 7.0 if x != x else x, types=["DOUBLE"])
    assert verdict(f, predicate, DOUBLE, (1.0, math.nan)) == SOME
    assert verdict(f, predicate, DOUBLE, (1.0, 2.0)) == NONE
    image = Contract("f", image=lambda low, high: (low, high), types=["DOUBLE"])
    # NaN is not an edge, so the result for NaN is not known.
    assert verdict(image, predicate, DOUBLE, (1.0, math.nan)) == SOME
    assert verdict(image, predicate, DOUBLE, (1.0, 2.0)) == NONE


@pytest.mark.parametrize("answer", [None, (None, None), (5, 4), "no", 7, (1, 2, 3)])
def test_invalid_image_proves_nothing(answer: Any) -> None:
    contract = Contract("f", image=lambda low, high: answer, types=["INT"])
    assert verdict(contract, compare("=", INTEGER, LONG, 1234), INTEGER, (3, 17)) == SOME


def test_image_with_one_edge_bounds_one_side() -> None:
    contract = Contract("f", image=lambda low, high: (low, None), types=["INT"])
    assert verdict(contract, compare("<", INTEGER, LONG, 3), INTEGER, (3, 17)) == NONE
    assert verdict(contract, compare(">", INTEGER, LONG, 99), INTEGER, (3, 17)) == SOME


def test_contract_covers_only_its_types_and_constants() -> None:
    ten = Literal(10, INTEGER)
    contract = Contract("f", monotone=lambda x, n: x // n, types=["INT"], constants=[[10, 20]])
    miss = compare("=", INTEGER, LONG, 5, ten)
    assert verdict(contract, miss, INTEGER, (3, 17)) == NONE
    for more in [(Literal(3, INTEGER),), (Column(("c",), INTEGER),), (), (ten, ten)]:
        not_covered = compare("=", INTEGER, LONG, 500, *more)
        assert verdict(contract, not_covered, INTEGER, (3, 17)) == SOME
    double = compare("=", DOUBLE, LONG, 500, ten)
    assert verdict(contract, double, DOUBLE, (3.0, 17.0)) == SOME


def test_varying_argument_is_configurable() -> None:
    contract = Contract("f", monotone=lambda n, x: x // n, argument=1, types=["INT"])
    call = Call("udf:f", (Literal(10, INTEGER), Column(("c",), INTEGER)), (), LONG)
    miss = Compare(Comparison.EQUAL, call, Literal(5, LONG))
    assert verdict(contract, miss, INTEGER, (3, 17)) == NONE


def test_types_come_from_annotations() -> None:
    def of_day(x: datetime.date | None) -> int:
        return 0 if x is None else x.year

    def of_moment(x: datetime.datetime) -> int:
        return x.year

    def of_either(x: int | float) -> int:
        return int(x)

    assert Contract("f", monotone=of_day).types == ("date",)
    assert Contract("f", monotone=of_moment).types == ("timestamp", "timestamp_ntz")
    assert Contract("f", monotone=of_either).types == ("integral", "floating")
    assert len(Contract("f", monotone=lambda x: x).types) == 9


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"monotone": abs, "image": abs},
        {"monotone": 5},
        {"monotone": abs, "argument": -1},
        {"monotone": abs, "types": "INT"},
        {"monotone": abs, "types": ["ARRAY<INT>"]},
    ],
)
def test_invalid_contract_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError, match=r"^f: "):
        Contract("f", **wrong)


def test_predicate_on_a_declared_function_is_never_exact() -> None:
    contract = Contract("f", monotone=lambda x: x // 10, types=["INT"])
    column = Column(("c",), INTEGER)
    call = Call("udf:f", (column,), (), LONG)
    files = statistics_of(column, [(3, 17)])
    for predicate in [
        Not(Compare(Comparison.NULL_SAFE_EQUAL, call, Literal(9, LONG))),
        Or((IsNull(call), Compare(Comparison.LESS, call, Literal(9, LONG)))),
        Or((Compare(Comparison.LESS, column, Literal(99, INTEGER)), IsNull(call))),
    ]:
        bound = declared(contract, predicate)
        assert relies_on_declaration(bound)
        assert evaluate(bound, files).to_pylist() == ["some"]
        classified = classify(bound, Capabilities.of_files(files))
        assert classified.pushdown is Pushdown.INEXACT
        assert classified.residual == bound


def test_undeclared_function_is_unknown_with_a_reason() -> None:
    predicate = compare("=", INTEGER, LONG, 3)
    files = statistics_of(Column(("c",), INTEGER), [(3, 17)])
    assert evaluate(predicate, files).to_pylist() == ["some"]
    classified = classify(predicate, Capabilities.of_files(files))
    assert classified.pushdown is Pushdown.UNSUPPORTED
    assert classified.reason is not None
    assert classified.reason.code == "FUNCTION_NOT_DECLARED"
    assert to_sql(predicate) == "f(c) = 3L"


def test_contract_applies_only_to_its_function_body() -> None:
    contract = Contract("f", monotone=lambda x: x // 10, types=["INT"], function_digest="abc")
    column = Column(("c",), INTEGER)
    for body, applies in [("abc", True), ("def", False), (None, False)]:
        options = () if body is None else (("body", body),)
        watch = UdfGuard()
        bound = declared(contract, Call("udf:f", (column,), options, LONG), watch)
        assert isinstance(bound, DeclaredCall) is applies
        assert bool(watch.warnings) is not applies
    # The last contract that names this body applies.
    contracts = [
        Declared(Contract("f", monotone=abs, function_digest=digest))
        for digest in (None, "abc", "def")
    ]
    call = Call("udf:f", (column,), (("body", "abc"),), LONG)
    bound = bind(call, {"f": contracts}, UdfGuard())
    assert isinstance(bound, DeclaredCall)
    assert bound.declared is contracts[1]
    # A Catalyst function is never a function of the user.
    assert type(declared(contract, Call("f", (column,), (), LONG))) is Call


def test_all_calls_in_a_predicate_are_bound() -> None:
    contract = Contract("f", monotone=lambda x: x // 10, types=["INT"])
    call = Call("udf:f", (Column(("c",), INTEGER),), (), LONG)
    sum_ = Call("Add", (call, Literal(1, LONG)), (("evalMode", "LEGACY"),), LONG)
    three = Compare(Comparison.EQUAL, sum_, Literal(3, LONG))
    predicate = And((Not(Or((three, IsNull(call)))), three))
    assert verdict(contract, three, INTEGER, (3, 17)) == NONE
    assert verdict(contract, predicate, INTEGER, (3, 17)) == NONE


def test_hanging_call_is_abandoned() -> None:
    calls: list[int] = []
    never = threading.Event()

    def hang(x: int) -> int:
        calls.append(x)
        while True:  # returns to Python, because a tracer of CPython 3.11 waits for this thread
            with contextlib.suppress(SystemExit):
                if never.wait(0.001):
                    return x

    contracts = {"f": [Declared(Contract("f", monotone=hang, types=["INT"]))]}
    predicate = compare("=", INTEGER, LONG, 1234)
    files = ArrowStatistics(statistics_of(Column(("c",), INTEGER), [(3, 17)]))
    first, next_plan = UdfGuard(seconds=0.05), UdfGuard(seconds=0.05)
    for watch in (first, first, next_plan):
        assert verdicts(bind(predicate, contracts, watch), files).tolist() == [SOME]
    assert list(first.warnings) == ["declaration_hangs:f"]
    assert next_plan.warnings == {}
    assert len(calls) == 1
    never.set()


def test_loop_that_does_not_end_in_time_is_ended() -> None:
    ended, never = threading.Event(), threading.Event()

    def loop() -> None:
        with contextlib.suppress(SystemExit):
            while not never.wait(0.001):
                pass
        ended.set()

    assert not run_within(loop, 0.01)
    is_ended = ended.wait(5)
    never.set()
    assert is_ended


def test_results_of_earlier_questions_are_kept() -> None:
    """A question has time for 60 calls, and the 150 files need 300: first all lower bounds."""
    calls: list[int] = []

    def slow(x: int) -> int:
        calls.append(x)
        return x

    contracts = {"f": [Declared(Contract("f", monotone=slow, types=["INT"]))]}
    predicate = compare("<", INTEGER, LONG, -1)
    data = [(n, n) for n in range(150)]
    files = ArrowStatistics(statistics_of(Column(("c",), INTEGER), data))
    for made, known in ((60, 0), (120, 0), (180, 30), (240, 90), (300, 150), (300, 150)):
        guard = UdfGuard(seconds=60, clock=lambda: len(calls))
        answer = verdicts(bind(predicate, contracts, guard), files).tolist()
        assert (len(calls), answer.count(NONE)) == (made, known)


def test_unknown_and_truncated_edges() -> None:
    files = pa.table(
        {
            "num_records": [9, 9, 9, 9],
            "min.c": ["b", None, "b", "b"],
            "max.c": ["c", "c", None, "c"],
            "null_count.c": [0, 0, 0, None],
        }
    )
    contract = Contract("f", monotone=lambda x: x[:1], types=["STRING"])
    expr = declared(contract, compare("=", STRING, STRING, "d"))
    assert evaluate(expr, files).to_pylist() == ["none", "none", "some", "some"]
    expr = declared(contract, compare("=", STRING, STRING, "a"))
    assert evaluate(expr, files).to_pylist() == ["none", "some", "none", "some"]


STEPS: list[Callable[[Any], Any]] = [
    lambda x: x // 3,
    lambda x: x,
    lambda x: max(x, 2),
    lambda x: None if x % 2 else x,
    lambda x: 10**6 if x > 100 else -5,
]


@given(st.randoms(use_true_random=False))
def test_no_row_contradicts_a_verdict(random: Random) -> None:
    step, sign = random.choice(STEPS), random.choice((1, -1))

    def f(x: int | None) -> int | None:
        result = random_of_null if x is None else step(x)
        return None if result is None else sign * result

    random_of_null = random.choice((None, 0, 50))
    contract = Contract("f", monotone=f, increasing=sign == 1, types=["INT"])
    column = Column(("c",), INTEGER)
    files = [
        tuple(
            None if random.random() < 0.1 else random.randint(-20, 20) * random.choice((1, 1, 40))
            for _ in range(random.randint(1, 5))
        )
        for _ in range(4)
    ]
    op, constant = random.choice(list(Comparison)), random.randint(-30, 60)
    call = Call("udf:f", (column,), (), LONG)
    expr = declared(contract, Compare(op, call, Literal(constant, LONG)))
    codes = verdicts(expr, ArrowStatistics(statistics_of(column, files)))
    for code, rows in zip(codes, files, strict=True):
        results = [f(x) for x in rows]
        if code == NONE:
            assert not any(_holds(op, each, constant) for each in results), (rows, op, constant)
        assert code != ALL


def _holds(op: Comparison, left: Any, right: Any) -> bool:
    if left is None:
        return False  # also of <=>: the constant is not NULL
    x, y = order_key(left), order_key(right)
    holds = {"=": x == y, "<=>": x == y, "<>": x != y, "<": x < y}
    return bool({**holds, "<=": x <= y, ">": x > y, ">=": x >= y}[str(op)])
