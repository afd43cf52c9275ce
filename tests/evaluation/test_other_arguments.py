"""Rules called with arguments or a result of another type give no bounds and do not fail."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from tamis.evaluation.interpreter import truth, value
from tamis.expr.nodes import Call, Column, Expr, Literal, Opaque, type_of, walk
from tamis.expr.sql import to_sql
from tamis.expr.types import BOOLEAN, DataType
from tamis.files.table import ArrowStatistics
from tests.differential.claims import claim_of
from tests.differential.generate import POOLS
from tests.differential.keys import order_key
from tests.differential.row_sweep import drawn

DRAWN = drawn(20_261_121, 3_000, most=3)
FILES = ArrowStatistics(pa.table({"num_records": [3, 4]}))


def _evaluate(call: Expr) -> None:
    if isinstance(call, Call) and call.type == BOOLEAN:
        truth(call, FILES)
    value(call, FILES)


@pytest.mark.parametrize("function", DRAWN)
def test_arguments_of_any_type_do_not_raise(function: str) -> None:
    for call, _ in DRAWN[function]:
        assert isinstance(call, Call)
        for place in range(len(call.arguments)):
            others: list[Expr] = [Opaque("f(a)"), *(Column(("a",), each) for each in POOLS)]
            for other in others:
                arguments = (*call.arguments[:place], other, *call.arguments[place + 1 :])
                _evaluate(replace(call, arguments=arguments))


@pytest.mark.parametrize("function", DRAWN)
def test_missing_arguments_give_no_bounds(function: str) -> None:
    for call, _ in DRAWN[function]:
        assert isinstance(call, Call)
        for count in range(len(call.arguments)):
            _evaluate(replace(call, arguments=call.arguments[:count]))


#: Every column has a value in each file, so that any argument a rule may take has bounds.
COLUMNS = {each: Column((f"c{place}",), each) for place, each in enumerate(POOLS)}


def _known() -> ArrowStatistics:
    cells: dict[str, pa.Array] = {"num_records": pa.array([3, 3])}
    for data_type, column in COLUMNS.items():
        pool, arrow = POOLS[data_type]
        low, high = sorted((each for each in pool if each == each), key=order_key)[-2:]
        (name,) = column.path
        cells[f"min.{name}"] = pa.array([low, high], arrow)
        cells[f"max.{name}"] = pa.array([high, high], arrow)
        cells[f"null_count.{name}"] = pa.array([0, 0])
        if data_type.is_floating:
            cells[f"nan_count.{name}"] = pa.array([0, 0])
    return ArrowStatistics(pa.table(cells))


KNOWN = _known()
MANY = drawn(20_261_121, 6_000)
#: Types that Catalyst allows and the generator does not draw: function name and argument position.
ALSO = {
    **{(name, 0): {"binary"} for name in ("Length", "OctetLength", "BitLength")},
    **{
        (f"{unit}ToTimestamp", 0): {"byte", "short", "integer"}
        for unit in ("Seconds", "Millis", "Micros")
    },
    **{(name, 0): {"decimal(38,10)"} for name in ("RoundFloor", "RoundCeil")},
    ("IntegralDivide", "result"): {"byte", "short", "integer"},
    ("Cast", "result"): {"binary"},
    **{
        (name, "result"): {"decimal(9,2)", "decimal(38,10)"}
        for name in ("Remainder", "Pmod", "Add", "Subtract")
    },
}
#: Rules whose result has one type, whatever type the call has.
ONE_RESULT = {
    *("Cos", "Sin", "Pow", "Sqrt", "Log", "Log10", "Log1p", "Log2", "Logarithm", "LastDay"),
    *("TruncDate", "Contains", "EndsWith", "StartsWith", "Like", "IsNaN", "Lower", "Upper"),
    *("Substring", "StringTrim", "StringTrimLeft", "StringTrimRight"),
}


def _drawn_types() -> dict[tuple[str, Any], set[str]]:
    types = defaultdict[tuple[str, Any], set[str]](set)
    for name, calls in MANY.items():
        for call, _ in calls:
            assert isinstance(call, Call)
            types[name, "result"].add(str(call.type))
            for place, argument in enumerate(call.arguments):
                types[name, place].add(str(type_of(argument)))
    return types


TYPES = _drawn_types()


def _misfits(call: Call) -> Iterator[Call]:
    """Yield the call with an argument or a result of a type that Catalyst never gives it."""
    for data_type, column in COLUMNS.items():
        for place in range(len(call.arguments)):
            if _is_misfit(call.name, place, data_type):
                arguments = (*call.arguments[:place], column, *call.arguments[place + 1 :])
                yield replace(call, arguments=arguments)
        if _is_misfit(call.name, "result", data_type) and call.name not in ONE_RESULT:
            arguments = tuple(
                COLUMNS.get(each.type, each) if isinstance(each, Column) else each
                for each in call.arguments
            )
            yield replace(call, arguments=arguments, type=data_type)


def _is_misfit(name: str, place: Any, data_type: DataType) -> bool:
    return str(data_type) not in TYPES[name, place] | ALSO.get((name, place), set())


@pytest.mark.parametrize("function", DRAWN)
def test_mismatched_types_give_no_bounds(function: str) -> None:
    for call, _ in DRAWN[function]:
        assert isinstance(call, Call)
        for misfit in _misfits(call):
            claim = claim_of("", misfit.type.name, misfit, KNOWN, 2)
            assert claim is None or not any(claim.says_anything), (
                f"{to_sql(misfit)} of type {misfit.type} has bounds, but Catalyst never creates it. "
                f"Return None from the rule of {function} for this type. If Catalyst does create "
                "it, add the type to ALSO."
            )


#: Functions that may ignore a NULL argument, or replace it with another one.
IGNORES_NULL = {"Coalesce", "If", "CaseWhen", "Greatest", "Least"}


def _with_null(literal: Literal, column: Column) -> ArrowStatistics:
    """Return files in which the column `other` has the value of the literal, and a NULL."""
    kind = {"string": pa.string(), "integer": pa.int32(), "boolean": pa.bool_()}
    arrow = POOLS[literal.type][1] if literal.type in POOLS else kind[literal.type.name]
    pool, pooled = POOLS[column.type]
    values = sorted((each for each in pool if each == each), key=order_key)
    files = len(values) - 1
    (name,) = column.path
    return ArrowStatistics(
        pa.table(
            {
                "num_records": [3] * files,
                "min.other": pa.array([literal.value] * files, arrow),
                "max.other": pa.array([literal.value] * files, arrow),
                "null_count.other": [1] * files,
                f"min.{name}": pa.array(values[:-1], pooled),
                f"max.{name}": pa.array(values[1:], pooled),
                f"null_count.{name}": [0] * files,
                f"nan_count.{name}": [0] * files,
            }
        )
    )


@pytest.mark.parametrize("function", sorted(DRAWN.keys() - IGNORES_NULL))
def test_argument_that_may_be_null_makes_the_result_null(function: str) -> None:
    """The generators draw constants for all arguments but one. A query may pass columns."""
    for call, data_type in DRAWN[function]:
        assert isinstance(call, Call)
        column = next((each for each in walk(call) if isinstance(each, Column)), None)
        for place, argument in enumerate(call.arguments):
            if column is None or not isinstance(argument, Literal) or argument.value is None:
                continue
            if argument.type not in POOLS and argument.type.name != "boolean":
                continue
            other = Column(("other",), argument.type)
            arguments = (*call.arguments[:place], other, *call.arguments[place + 1 :])
            changed = replace(call, arguments=arguments)
            statistics = _with_null(argument, replace(column, type=data_type))
            if call.type == BOOLEAN:
                assert truth(changed, statistics).can_be_null.all(), to_sql(changed)
            bounds = value(changed, statistics)
            assert bounds is None or bounds.can_be_null.all(), to_sql(changed)
