"""Verdicts from values that Spark has evaluated hold for every row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation import Verdict, verdicts
from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.domain.edge_values import edge_of
from tamis.evaluation.evaluated import evaluated_together
from tamis.evaluation.raising import may_raise
from tamis.evaluation.subdivision import subdivided_conjuncts
from tamis.expr.nodes import And, Column, Compare, Comparison, Evaluated, Literal, Not, Opaque
from tamis.expr.outcomes import Outcome, Outcomes
from tamis.expr.types import DOUBLE, LONG, STRING, DataType
from tests.properties.test_recorded import POOL, RecordedFiles, Rows, of_row

VALUES: dict[DataType, list[Any]] = {**POOL, LONG: [0, 1, 2, 3, 5, 2**63 - 1, -(2**63)]}
#: What a predicate may be for a value, by the sign of zero, NULL and NaN.
Function = Mapping[Any, Outcome]


class Files(RecordedFiles):
    """Files whose bounds are known where their values are."""

    def _edge(self, values: list[Any]) -> pa.Array:
        return pa.array(values, pa.int64()) if self.data_type == LONG else super()._edge(values)

    def bounds(self, column: Column) -> Bounds:
        return self.recorded


def key(value: Any) -> Any:
    """Return a key that tells 0.0 from -0.0, and equals itself for NaN."""
    return repr(value) if isinstance(value, float) else value


def outcomes_of(function: Function, data_type: DataType, evaluated: list[Any]) -> Outcomes:
    ascending = sorted({value + 0.0 if data_type == DOUBLE else value for value in evaluated})
    codes = []
    for value in ascending:
        forms = [0.0, -0.0] if data_type == DOUBLE and value == 0 else [value]
        (outcome, *others) = {function[key(each)] for each in forms}
        codes.append(Outcome.NOT_EVALUATED if others else outcome)
    return Outcomes(
        data_type,
        edge_of(ascending, data_type),
        np.array(codes, np.uint8),
        function[key(None)],
        function[key(math.nan)],
    )


@st.composite
def functions(draw: st.DrawFn, data_type: DataType) -> tuple[Function, Evaluated]:
    column = Column(("x",), data_type)
    inputs = [*VALUES[data_type], None, math.nan]
    likely = st.sampled_from([Outcome.FALSE, Outcome.FALSE, Outcome.TRUE, Outcome.NULL])
    code = st.one_of(likely, likely, st.sampled_from(list(Outcome)))
    function = {key(each): draw(code) for each in inputs}
    some = draw(st.lists(st.sampled_from(VALUES[data_type]), max_size=9))
    evaluated = draw(st.sampled_from([VALUES[data_type], some]))
    outcomes = outcomes_of(function, data_type, evaluated)
    known = {key(each) for each in evaluated} | {key(None), key(math.nan)}
    if key(0.0) in known or key(-0.0) in known:
        known |= {key(0.0), key(-0.0)}
    # Nothing is known of a value that was not evaluated: the predicate may be anything there.
    unevaluated = {each: Outcome.NOT_EVALUATED for each in function if each not in known}
    return {**function, **unevaluated}, Evaluated(Opaque("f(x)", (("x",),)), column, outcomes)


@st.composite
def files(draw: st.DrawFn, data_type: DataType) -> Files:
    cells = st.one_of(st.sampled_from(VALUES[data_type]), st.none())
    if data_type == DOUBLE:
        cells = st.one_of(cells, cells, st.just(math.nan))
    rows: list[Rows] = draw(st.lists(st.lists(cells, max_size=5), min_size=1, max_size=5))
    listed = draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    return Files(draw(st.sampled_from(["values", "bloom", "both"])), data_type, rows, listed)


types = st.sampled_from([DOUBLE, STRING, LONG])


@given(types.flatmap(lambda each: st.tuples(functions(each), files(each))), st.booleans())
def test_no_row_contradicts_a_verdict(
    question: tuple[tuple[Function, Evaluated], Files], negated: bool
) -> None:
    (function, evaluated), recorded = question
    expr = Not(evaluated) if negated else evaluated
    wanted = Outcome.FALSE if negated else Outcome.TRUE
    for code, rows in zip(verdicts(expr, recorded), recorded.files, strict=True):
        found = [function[key(value)] for value in rows]
        if code == 0:
            assert all(each.is_known and each is not wanted for each in found), (Verdict.NONE, rows)
        if code == 2:
            assert all(each is wanted for each in found), (Verdict.ALL, rows)


@given(types.flatmap(lambda each: st.tuples(functions(each), files(each))))
def test_no_error_is_overlooked(question: tuple[tuple[Function, Evaluated], Files]) -> None:
    (function, evaluated), recorded = question
    flags = np.broadcast_to(may_raise(evaluated, recorded), len(recorded.files))
    for flag, rows in zip(flags, recorded.files, strict=True):
        assert flag or all(function[key(value)].is_known for value in rows)


@given(types.flatmap(lambda each: st.tuples(functions(each), files(each))))
def test_verdicts_of_listed_values_are_exact(
    question: tuple[tuple[Function, Evaluated], Files],
) -> None:
    (function, evaluated), recorded = question
    recorded.kind = "values"
    codes = verdicts(evaluated, recorded)
    for code, rows, count in zip(codes, recorded.files, recorded.lists.counts, strict=True):
        # a list does not tell 0.0 from -0.0
        forms = [
            [0.0, -0.0] if value == 0 and recorded.data_type == DOUBLE else [value]
            for value in rows
        ]
        found = [function[key(value)] for each in forms for value in each]
        if count < 0 or not rows or not all(each.is_known for each in found):
            continue
        if all(len({function[key(form)] for form in each}) == 1 for each in forms):
            assert (code == 0) == (Outcome.TRUE not in found)
            assert (code == 2) == (set(found) == {Outcome.TRUE})


@given(
    types.flatmap(
        lambda each: st.tuples(
            functions(each), functions(each), files(each), st.sampled_from(VALUES[each])
        )
    ),
    st.sampled_from([None, Comparison.EQUAL, Comparison.NOT_EQUAL]),
)
def test_predicates_over_the_same_column_are_evaluated_together(
    question: tuple[tuple[Function, Evaluated], tuple[Function, Evaluated], Files, Any],
    operator: Comparison | None,
) -> None:
    (one, first), (other, second), recorded, constant = question
    conjuncts: list[Any] = [first, second]
    if operator is not None:
        literal = Literal(constant, recorded.data_type)
        equal = Compare(Comparison.EQUAL, first.column, literal)
        conjuncts.append(equal if operator is Comparison.EQUAL else Not(equal))
    (whole,) = evaluated_together(conjuncts)
    assert isinstance(whole.predicate, And)
    pruned = verdicts(whole, recorded) == 0
    for form in subdivided_conjuncts(conjuncts):
        pruned |= verdicts(form, recorded) == 0
    for flag, rows in zip(pruned, recorded.files, strict=True):
        for value in rows if flag else ():
            found = {one[key(value)], other[key(value)]}
            rest = [of_row(each, value) for each in conjuncts[2:]]
            is_ruled_out = bool(found & {Outcome.FALSE, Outcome.NULL}) or any(
                each is not True for each in rest
            )
            assert is_ruled_out, (value, rows)
