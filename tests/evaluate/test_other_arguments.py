"""A rule that is given arguments or a result of another type knows nothing, and does not fail."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from tamis.evaluate.interpreter import truth, value
from tamis.expr.nodes import Call, Column, Expr, Opaque
from tamis.expr.types import BOOLEAN
from tamis.files.table import ArrowStatistics
from tests.differential.generate import POOLS
from tests.differential.row_sweep import drawn

DRAWN = drawn(20_261_121, 3_000, most=3)
FILES = ArrowStatistics(pa.table({"num_records": [3, 4]}))


def _evaluate(call: Expr) -> None:
    if isinstance(call, Call) and call.type == BOOLEAN:
        truth(call, FILES)
    value(call, FILES)


@pytest.mark.parametrize("function", DRAWN)
def test_arguments_of_any_type_are_understood_or_unknown(function: str) -> None:
    for call, _ in DRAWN[function]:
        assert isinstance(call, Call)
        for place in range(len(call.arguments)):
            others: list[Expr] = [Opaque("f(a)"), *(Column(("a",), each) for each in POOLS)]
            for other in others:
                arguments = (*call.arguments[:place], other, *call.arguments[place + 1 :])
                _evaluate(replace(call, arguments=arguments))


@pytest.mark.parametrize("function", DRAWN)
def test_missing_arguments_are_unknown(function: str) -> None:
    for call, _ in DRAWN[function]:
        assert isinstance(call, Call)
        for count in range(len(call.arguments)):
            _evaluate(replace(call, arguments=call.arguments[:count]))
