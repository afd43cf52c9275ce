"""Verdicts from value lists, filters and recorded expressions hold for every row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.evaluation import Verdict, verdicts
from tamis.evaluation.domain.bounds import Bounds, Flags
from tamis.evaluation.domain.edge_values import edge_of
from tamis.evaluation.statistics import Members, Statistics, Subject
from tamis.expr.nodes import And, Call, Column, Compare, Comparison, Expr, In, IsNull, Literal, Not
from tamis.expr.types import DOUBLE, STRING, DataType
from tamis.files.bounds import column_bounds
from tamis.indexing.format import blooms, value_lists
from tamis.indexing.format.hashing import hashes_of
from tamis.indexing.format.value_lists import UNKNOWN, ValueLists, ValueMembers
from tamis.indexing.read.row_statistics import _Together


@pytest.fixture(scope="module", autouse=True, params=[2, 1 << 16])
def files_at_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Set the block size, so that blocks also end inside of a table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_lists, "_BLOCK", request.param)
        patch.setattr(blooms, "_FILES_AT_ONCE", request.param)
        yield


NAN = math.nan
POOL: dict[DataType, list[Any]] = {
    DOUBLE: [0.0, -0.0, 1.0, 2.5, math.inf, 5e-324],
    STRING: ["", "a", "b", "ab", "é", "\U0010ffff"],
}
Rows = list[Any]


def key_of(value: Any) -> Any:
    return ("nan",) if isinstance(value, float) and value != value else value


class RecordedFiles(Statistics):
    """Statistics of files with known rows; the values of some files are recorded."""

    def __init__(
        self, kind: str, data_type: DataType, files: list[Rows], known: list[bool]
    ) -> None:
        self.files, self.data_type = files, data_type
        values = [sorted({v for v in rows if v is not None and v == v}) for rows in files]
        self.lists = ValueMembers.of(
            ValueLists(
                np.array([len(v) if k else UNKNOWN for v, k in zip(values, known, strict=True)]),
                edge_of([x for v, k in zip(values, known, strict=True) if k for x in v], data_type),
            )
        )
        self.filters = blooms.BloomMembers.of(
            blooms.joined(
                [
                    self._filter(v) if k else None
                    for v, k in zip(values, reversed(known), strict=True)
                ]
            ),
            data_type,
        )
        self.kind = kind
        count = [sum(v is None for v in rows) for rows in files]
        nans = [sum(v is not None and v != v for v in rows) for rows in files]
        self.recorded = column_bounds(
            data_type,
            self._edge([v[0] if v and k else None for v, k in zip(values, known, strict=True)]),
            self._edge([v[-1] if v and k else None for v, k in zip(values, known, strict=True)]),
            pa.array([c if k else None for c, k in zip(count, known, strict=True)], pa.int64()),
            pa.array([c if k else None for c, k in zip(nans, known, strict=True)], pa.int64()),
            pa.array([len(rows) for rows in files], pa.int64()),
        )

    def _edge(self, values: list[Any]) -> pa.Array:
        return pa.array(values, pa.float64() if self.data_type == DOUBLE else pa.string())

    def _filter(self, values: list[Any]) -> Any:
        words = np.zeros((4, 4), np.uint64)
        for hashed in hashes_of(edge_of(values, self.data_type), self.data_type):
            words[(hashed >> 40) & 3] |= blooms._bits(hashed)
        return words if values else words[:0]

    @property
    def num_containers(self) -> int:
        return len(self.files)

    def bounds(self, column: Column) -> Bounds:
        return Bounds.unknown(column.type)

    def expression(self, key: str) -> Bounds | None:
        return self.recorded if key == "f(x)" else None

    def members(self, subject: Subject) -> Members | None:
        if self.kind == "values":
            return self.lists
        return self.filters if self.kind == "bloom" else _Together(self.lists, self.filters)

    def empty(self) -> Flags | None:
        return np.array([not rows for rows in self.files])


def of_row(expr: Expr, value: Any) -> bool | None:
    """Return the predicate for a row whose column, or expression, has this value."""
    match expr:
        case Not(child=child):
            operand = of_row(child, value)
            return None if operand is None else not operand
        case And(parts=parts):
            found_parts = [of_row(part, value) for part in parts]
            return False if False in found_parts else None if None in found_parts else True
        case IsNull():
            return value is None
        case Compare(op=Comparison.NULL_SAFE_EQUAL, right=Literal(value=other)):
            return key_of(value) == key_of(other)
        case Compare(op=Comparison.EQUAL, right=Literal(value=other)):
            return None if value is None or other is None else key_of(value) == key_of(other)
        case In(options=options, has_null=has_null):
            if value is None:
                return None
            matched = key_of(value) in {key_of(option) for option in options}
            return True if matched else None if has_null else False
    raise AssertionError(expr)


@st.composite
def questions(draw: st.DrawFn) -> tuple[RecordedFiles, Expr]:
    data_type = draw(st.sampled_from([DOUBLE, STRING]))
    values = st.sampled_from(POOL[data_type])
    cells = st.one_of(values, values, st.none(), *([st.just(NAN)] if data_type == DOUBLE else []))
    files = draw(st.lists(st.lists(cells, max_size=5), min_size=1, max_size=5))
    known = draw(st.lists(st.booleans(), min_size=len(files), max_size=len(files)))
    kind = draw(st.sampled_from(["values", "bloom", "both"]))
    subject: Expr = draw(
        st.sampled_from([Column(("x",), data_type), Call("F", (), (), data_type, "f(x)")])
    )

    def leaf() -> Expr:
        constant = draw(cells)
        made: Expr = draw(
            st.sampled_from(
                [
                    Compare(Comparison.EQUAL, subject, Literal(constant, data_type)),
                    Compare(Comparison.NULL_SAFE_EQUAL, subject, Literal(constant, data_type)),
                    In(
                        subject,
                        tuple(
                            v
                            for v in draw(st.lists(cells, min_size=1, max_size=4))
                            if v is not None
                        )
                        or (POOL[data_type][0],),
                        draw(st.booleans()),
                    ),
                    IsNull(subject),
                ]
            )
        )
        return Not(made) if draw(st.booleans()) else made

    expr = leaf() if draw(st.booleans()) else And((leaf(), leaf()))
    return RecordedFiles(kind, data_type, files, known), expr


@given(questions())
def test_no_row_contradicts_a_verdict(question: tuple[RecordedFiles, Expr]) -> None:
    recorded, expr = question
    for code, rows in zip(verdicts(expr, recorded), recorded.files, strict=True):
        answers = [of_row(expr, value) for value in rows]
        if code == 0:
            assert True not in answers, (Verdict.NONE, rows, expr)
        if code == 2:
            assert all(each is True for each in answers), (Verdict.ALL, rows, expr)


@given(questions())
def test_verdicts_of_value_lists_are_exact(question: tuple[RecordedFiles, Expr]) -> None:
    """If the list of a file is known, the file is skipped if and only if no row matches."""
    recorded, _ = question
    options = POOL[recorded.data_type][:3]
    expr = In(Column(("x",), recorded.data_type), tuple(options))
    recorded.kind = "values"
    codes = verdicts(expr, recorded)
    for code, rows, count in zip(codes, recorded.files, recorded.lists.counts, strict=True):
        if count == UNKNOWN or not rows:
            continue
        assert (code == 0) == (not any(v in options for v in rows))


@given(st.lists(st.sets(st.sampled_from("abcdef"), max_size=5) | st.none(), max_size=6), st.data())
def test_bounds_of_value_lists_are_their_least_and_greatest_values(
    files: list[set[str] | None], data: st.DataObject
) -> None:
    counts = np.array([UNKNOWN if f is None else len(f) for f in files], np.int64)
    values = edge_of([v for f in files for v in sorted(f or ())], STRING)
    members = ValueMembers.of(ValueLists(counts, values))
    bounds = members.bounds(STRING)
    for i, file_values in enumerate(files):
        low = None if bounds.lower is None else bounds.lower[i].as_py()
        high = None if bounds.upper is None else bounds.upper[i].as_py()
        assert low == (min(file_values).encode() if file_values else None)
        assert high == (max(file_values).encode() if file_values else None)
    order = np.array(data.draw(st.permutations(range(len(files)))), np.intp)
    options = edge_of(["a", "b"], STRING)
    whole = members.may_match(options)
    assert members.take(order).may_match(options).tolist() == whole[order].tolist()
    assert members.slice(1, 3).may_miss(options).tolist() == members.may_miss(options)[1:3].tolist()
