"""Files that are pruned by groups of rows hold no row, and exact conjuncts hold for every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.evaluation.domain.bounds import Bounds
from tamis.evaluation.statistics import Grouped, GroupRows, Statistics, Subject
from tamis.expr.nodes import Column, Compare, Comparison, Expr, In, IsNull, Literal, Not, Or
from tamis.expr.types import INTEGER, STRING, DataType
from tamis.files.bounds import column_bounds
from tamis.files.segments import Segment
from tamis.indexing.format.groups import Groups
from tamis.plan import scan_decision
from tamis.plan.scan_decision import decide

MODE, OTHER, DAY = Column(("mode",), STRING), Column(("other",), STRING), Column(("day",), INTEGER)
MODES: list[str | None] = ["AIR", "MAIL", "SHIP", None]
Row = dict[str, Any]


def of_row(expr: Expr, row: Row) -> bool | None:
    match expr:
        case Or(parts=parts):
            values = [of_row(part, row) for part in parts]
            return True if True in values else None if None in values else False
        case Not(child=child):
            value = of_row(child, row)
            return None if value is None else not value
        case IsNull(child=Column(path=(name,))):
            return row[name] is None
        case In(value=Column(path=(name,)), options=options):
            return None if row[name] is None else row[name] in options
        case Compare(op=op, left=Column(path=(name,)), right=Literal(value=other)):
            value = row[name]
            if value is None:
                return None
            assert isinstance(other, type(value))
            return {
                Comparison.EQUAL: value == other,
                Comparison.NOT_EQUAL: value != other,
                Comparison.LESS: value < other,
                Comparison.GREATER_EQUAL: value >= other,
            }[op]
    raise AssertionError(expr)


@dataclass(frozen=True, eq=False)
class ByMode:
    """MIN and MAX of `day` by `mode`; nothing is recorded of the files in `unknown`."""

    files: list[list[Row]]
    unknown: frozenset[int]
    with_extremes: bool = True

    @property
    def by(self) -> tuple[DataType, ...]:
        return (STRING,)

    def place_of(self, column: Column) -> int | None:
        return 0 if column.path == ("mode",) else None

    def rows(self, kind: str, argument: Subject | None) -> GroupRows | None:
        if kind != "count" and not (
            self.with_extremes and isinstance(argument, Column) and argument.path == ("day",)
        ):
            return None
        sizes, cells = [], []
        for number, rows in enumerate(self.files):
            if number in self.unknown:
                sizes.append(-1)
                continue
            groups = sorted({row["mode"] for row in rows}, key=lambda mode: mode or "")
            sizes.append(len(groups))
            for mode in groups:
                days = [row["day"] for row in rows if row["mode"] == mode]
                ordinary = [day for day in days if day is not None]
                extreme = {"min": min, "max": max}.get(kind, min)
                cells.append(
                    (mode, len(days), len(ordinary), extreme(ordinary) if ordinary else None)
                )
        columns = [list(each) for each in zip(*cells, strict=True)] if cells else [[], [], [], []]
        types = [pa.string(), pa.int64(), pa.int64(), pa.int32()]
        names = ["by.0", "rows", "count", "value"]
        arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
        return GroupRows(INTEGER, np.array(sizes, np.int64), pa.table(arrays, names))

    def take(self, ordinals: npt.NDArray[np.intp]) -> Grouped:
        return _Taken(self, ordinals)


@dataclass(frozen=True, eq=False)
class _Taken:
    whole: ByMode
    ordinals: npt.NDArray[np.intp]

    @property
    def by(self) -> tuple[DataType, ...]:
        return self.whole.by

    def place_of(self, column: Column) -> int | None:
        return self.whole.place_of(column)

    def rows(self, kind: str, argument: Subject | None) -> GroupRows | None:
        found = self.whole.rows(kind, argument)
        if found is None:
            return None
        chosen = Groups(found.sizes, found.table).take(self.ordinals)
        return GroupRows(found.type, chosen.sizes, chosen.table)

    def take(self, ordinals: npt.NDArray[np.intp]) -> Grouped:
        return _Taken(self.whole, self.ordinals[ordinals])


@dataclass(frozen=True, eq=False)
class Files(Statistics):
    files: list[list[Row]]
    choices: tuple[ByMode, ...]

    @property
    def num_containers(self) -> int:
        return len(self.files)

    def bounds(self, column: Column) -> Bounds:
        (name,) = column.path
        values = [[row[name] for row in rows if row[name] is not None] for rows in self.files]
        kind = pa.string() if column.type == STRING else pa.int32()
        return column_bounds(
            column.type,
            pa.array([min(each, default=None) for each in values], kind),
            pa.array([max(each, default=None) for each in values], kind),
            pa.array([len(r) - len(v) for r, v in zip(self.files, values, strict=True)]),
            None,
            pa.array([len(rows) for rows in self.files]),
        )

    def grouped(self) -> tuple[Grouped, ...]:
        return self.choices


@st.composite
def conjuncts(draw: st.DrawFn) -> Expr:
    texts = st.sampled_from(["AIR", "B", "MAIL", "SHIP"])
    column, value = draw(
        st.one_of(
            st.tuples(st.just(DAY), st.integers(-1, 6)),
            st.tuples(st.sampled_from([MODE, MODE, OTHER]), texts),
        )
    )
    ops = [Comparison.EQUAL, Comparison.NOT_EQUAL, Comparison.LESS, Comparison.GREATER_EQUAL]
    literal = Literal(value, column.type)
    expr: Expr = Compare(draw(st.sampled_from(ops)), column, literal)
    if column is not DAY and draw(st.booleans()):
        expr = In(column, tuple(draw(st.lists(texts, min_size=1, max_size=2, unique=True))))
    wrap = draw(st.integers(0, 4))
    if wrap == 0:
        return IsNull(column)
    if wrap == 1:
        return Not(expr)
    if wrap == 2:
        return Or((expr, draw(conjuncts())))
    return expr


def rows() -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(
        {
            "mode": st.sampled_from(MODES),
            "other": st.sampled_from(MODES),
            "day": st.one_of(st.integers(0, 5), st.none()),
        }
    )


@st.composite
def questions(draw: st.DrawFn) -> tuple[Files, list[Expr]]:
    files = draw(st.lists(st.lists(rows(), max_size=4), min_size=1, max_size=6))
    unknown = draw(st.frozensets(st.integers(0, 5), max_size=2))
    choices = (ByMode(files, unknown, draw(st.booleans())),)
    return Files(files, choices), draw(st.lists(conjuncts(), min_size=1, max_size=3))


def decided(files: Files, predicates: list[Expr]) -> scan_decision.ScanDecision:
    number = len(files.files)
    return decide(predicates, [Segment(slice(0, number), files)], number)


@settings(max_examples=500, deadline=None)
@given(questions())
def test_decision_holds_for_every_row(question: tuple[Files, list[Expr]]) -> None:
    files, predicates = question
    decision = decided(files, predicates)
    for kept, file in zip(decision.kept.tolist(), files.files, strict=True):
        passing = [row for row in file if all(of_row(each, row) is True for each in predicates)]
        assert kept or not passing, (file, predicates)
        for predicate, outcome in zip(predicates, decision.conjuncts, strict=True):
            if kept and str(outcome.pushdown) == "exact":
                assert all(of_row(predicate, row) is True for row in file), (file, predicate)


def row(mode: str | None, day: int | None) -> Row:
    return {"mode": mode, "other": None, "day": day}


def equal(column: Column, value: Any) -> Compare:
    return Compare(Comparison.EQUAL, column, Literal(value, column.type))


def below(day: int) -> Compare:
    return Compare(Comparison.LESS, DAY, Literal(day, INTEGER))


#: Rows of one file: MAIL on the days 5 and 6, AIR on 0 and 9, NULL on 3, SHIP on 4 or NULL.
ONE = [row("MAIL", 5), row("MAIL", 6), row("AIR", 0), row("AIR", 9), row(None, 3)]
ONE += [row("SHIP", None), row("SHIP", 4)]
CASES: list[tuple[list[Expr], bool]] = [
    ([equal(MODE, "MAIL"), below(5)], False),
    ([equal(MODE, "MAIL"), below(6)], True),
    ([equal(MODE, "AIR"), below(5)], True),
    ([equal(MODE, "BUS")], False),
    ([IsNull(MODE), below(3)], False),
    ([IsNull(MODE), below(4)], True),
    ([equal(MODE, "AIR"), IsNull(DAY)], False),
    ([equal(MODE, "SHIP"), IsNull(DAY)], True),
    ([equal(MODE, "SHIP"), below(4)], False),
    ([Not(equal(MODE, "AIR")), below(4)], False),
    ([Not(equal(MODE, "AIR")), Not(below(5))], True),
    ([Or((equal(MODE, "MAIL"), IsNull(MODE))), below(3)], False),
    ([Or((equal(MODE, "MAIL"), below(1))), equal(MODE, "MAIL"), below(5)], False),
]


def test_groups_rule_out_what_bounds_do_not() -> None:
    for predicates, kept in CASES:
        assert decided(Files([ONE], (ByMode([ONE], frozenset()),)), predicates).kept[0] == kept
        hidden = Files([ONE], (ByMode([ONE], frozenset({0})),))
        assert decided(hidden, predicates).kept[0], predicates


def test_conjunct_that_holds_in_every_group_is_exact() -> None:
    """The bounds of `mode` are AIR and SHIP, which hold MAIL as well."""
    file = [row("AIR", 1), row("SHIP", 2)]
    predicate = Not(equal(MODE, "MAIL"))
    exact = decided(Files([file], (ByMode([file], frozenset()),)), [predicate])
    assert str(exact.conjuncts[0].pushdown) == "exact"
    unknown = decided(Files([file], (ByMode([file], frozenset({0})),)), [predicate])
    assert str(unknown.conjuncts[0].pushdown) == "inexact"


def test_entry_with_other_groups_is_ignored() -> None:
    """MIN and MAX of a damaged index may belong to other groups than the counts."""

    class Damaged(ByMode):
        def rows(self, kind: str, argument: Subject | None) -> GroupRows | None:
            found = super().rows(kind, argument)
            if found is None or kind == "count":
                return found
            return GroupRows(found.type, found.sizes, found.table.slice(1))

        def take(self, ordinals: npt.NDArray[np.intp]) -> Grouped:
            return self

    files = Files([ONE], (Damaged([ONE], frozenset()),))
    assert decided(files, [equal(MODE, "MAIL"), below(5)]).kept[0]


def test_blocks_of_files_have_their_own_groups(monkeypatch: Any) -> None:
    monkeypatch.setattr(scan_decision, "BLOCK", 2)
    files = [ONE, [row("MAIL", 1)], ONE, [row("MAIL", 2)], []]
    kept = decided(
        Files(files, (ByMode(files, frozenset()),)), [equal(MODE, "MAIL"), below(5)]
    ).kept
    assert kept.tolist() == [False, True, False, True, False]
