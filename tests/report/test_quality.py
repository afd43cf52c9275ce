"""Coarse, missing, stale and opaque told apart; what was lost, measured."""

from __future__ import annotations

import pytest

from tamis.report.findings import findings
from tamis.report.quality import Cause, lost_bytes, shape, suspects
from tests.report.histories import conjunct, lived, scan

SOME = [conjunct("(user = 5L)", ["user"])]

CAUSES = [
    # what is different of the scan or its conjunct, the cause
    ({}, {}, Cause.COARSE),
    ({}, {"files_without_bounds": 49}, Cause.COARSE),
    ({}, {"files_without_bounds": 50}, Cause.MISSING),
    (
        {"has_index": False, "files_without_index": 100},
        {"files_without_bounds": 100},
        Cause.MISSING,
    ),
    ({"files_without_index": 50}, {"files_without_bounds": 50}, Cause.STALE),
    ({"files_without_index": 49}, {"files_without_bounds": 49}, Cause.COARSE),
    ({}, {"reason": "FUNCTION_NOT_UNDERSTOOD"}, Cause.OPAQUE),
    ({}, {"reason": "COLUMNS_ARE_COMPARED", "files_without_bounds": 100}, Cause.OPAQUE),
    ({"files_without_index": 100}, {"reason": "FUNCTION_NOT_UNDERSTOOD"}, Cause.STALE),
    # nobody looked: the reason of the decision is all there is
    ({"has_index": None}, {"reason": "NO_STATISTICS", "files_without_bounds": None}, Cause.MISSING),
    ({"has_index": None}, {"reason": "RANGES_OVERLAP", "files_without_bounds": None}, Cause.COARSE),
]


@pytest.mark.parametrize(("of_scan", "of_conjunct", "cause"), CAUSES)
def test_cause(of_scan, of_conjunct, cause) -> None:
    told = scan(conjuncts=[conjunct("(user = 5L)", ["user"], **of_conjunct)], **of_scan)
    assert [each.cause for each in suspects(told)] == [cause]


NO_SUSPECT = [
    ("most rows pass", {"rows_passed": 500_000}),
    ("nobody counted rows", {"rows_passed": None}),
    ("nothing was read", {"rows_read": 0, "rows_passed": 0}),
    ("files are pruned", {"files_kept": 80}),
    ("one file cannot be pruned by halves", {"files_total": 1, "files_kept": 1}),
    ("it was not planned", {"fallback": "no answer within 5000 ms"}),
    ("it is exact", {"conjuncts": [conjunct("(user = 5L)", ["user"], pushdown="exact")]}),
    ("Spark inferred it", {"conjuncts": [conjunct("(user IS NOT NULL)", ["user"])]}),
    ("it prunes", {"conjuncts": [conjunct("(user = 5L)", ["user"], pruned_files=10)]}),
    ("there is none", {"conjuncts": []}),
    ("nothing of it is known", {"conjuncts": None}),
]


@pytest.mark.parametrize(("why", "told"), NO_SUSPECT)
def test_no_suspect(why, told) -> None:
    assert list(suspects(scan(**told))) == []


LOST = [
    # rows read, rows passed, of 100 MB in 100 files, lost
    (1000, 1000, 0),
    (1000, 500, 50_000_000),
    (1000, 1, 99_000_000),  # one file is read whole
    (1000, 0, 100_000_000),  # none has to be
    (0, 0, None),
    (1000, None, None),
    (10, 1000, 0),  # counts that cannot be: nothing is made of them
    (2_000_000, 1000, 99_000_000),
]


@pytest.mark.parametrize(("read", "passed", "lost"), LOST)
def test_lost_bytes(read, passed, lost) -> None:
    assert lost_bytes(scan(rows_kept=1000, rows_read=read, rows_passed=passed)) == lost
    assert lost_bytes(scan(rows_kept=None, rows_read=read, rows_passed=passed)) == lost


def test_what_the_reader_skipped_was_not_read() -> None:
    """Spark's reader skips row groups by itself, by dictionaries for instance."""
    half = scan(rows_kept=1000, rows_read=500, rows_passed=1)
    assert lost_bytes(half) == 49_000_000


def test_predicates_that_differ_in_constants_count_together() -> None:
    found = findings(lived(*(scan(number) for number in range(3))))
    (predicate,) = found.predicates
    assert (predicate.predicate, predicate.example, predicate.scans) == (
        "(user = ?)",
        "(user = 2L)",
        3,
    )
    assert predicate.lost_bytes == found.lost_bytes == 3 * 99_000_000
    assert (predicate.rows_read, predicate.rows_passed) == (3_000_000, 60)
    assert predicate.fix == "cluster the table by user"


SHAPES = [
    ("(a = 1)", "(a = ?)"),
    ("(a1 = 1.5E10D)", "(a1 = ?)"),
    ("(name = 'O''Neill, 5')", "(name = ?)"),
    (r"(name = 'it\'s 5')", "(name = ?)"),
    ("(`col 5` = 5)", "(`col 5` = ?)"),
    ("(day = DATE '2020-01-01')", "(day = DATE ?)"),
    ("(a IN (1, 2, 3))", "(a IN (?, …))"),
    ("(a IN (1))", "(a IN (?))"),
    ("startswith(name, 'a')", "startswith(name, ?)"),
    ("(a = true)", "(a = true)"),
]


@pytest.mark.parametrize(("sql", "expected"), SHAPES)
def test_shape(sql, expected) -> None:
    assert shape(sql) == expected


def test_fix_of_each_cause() -> None:
    stale = scan(0, files_without_index=100)
    missing = scan(
        1, conjuncts=[conjunct("(b = 1)", ["b"], files_without_bounds=100, fix="record b")]
    )
    opaque = scan(
        2, conjuncts=[conjunct("(f(c) = 1)", ["c"], reason="FUNCTION_NOT_UNDERSTOOD", fix=None)]
    )
    fixes = {each.cause: each.fix for each in findings(lived(stale, missing, opaque)).predicates}
    assert fixes == {
        Cause.STALE: "refresh the index: python -m tamis index refresh file:/data/events",
        Cause.MISSING: "record b",
        Cause.OPAQUE: "no statistics would help: write the predicate another way",
    }


def test_columns_in_order_of_what_was_lost() -> None:
    both = [conjunct("(a = 1)", ["a"]), conjunct("(b = 1)", ["b"])]
    exact = [conjunct("(a = 1)", ["a"], pushdown="exact"), conjunct("(c < 9)", ["c"])]
    found = findings(
        lived(
            scan(0, conjuncts=both, rows_passed=500_000),
            scan(1, conjuncts=both[1:], rows_passed=500_000),
            scan(2, conjuncts=exact, rows_passed=900_000),
            scan(3, conjuncts=both[1:], rows_passed=None),
            scan(4, conjuncts=[conjunct("(f(d) = 1)", ["d"], reason="FUNCTION_NOT_UNDERSTOOD")]),
        )
    )
    assert [(c.column, c.lost_bytes, c.lost_alone, c.measured, c.scans) for c in found.columns] == [
        ("b", 100_000_000, 50_000_000, 2, 3),
        ("a", 50_000_000, 0, 1, 2),  # of scan 2 every row passes it: no order would spare more
        ("c", 10_000_000, 10_000_000, 1, 1),
        ("d", 0, 0, 0, 1),  # in whatever order, its predicate is not understood
    ]


def test_depth_is_that_of_the_latest_scan() -> None:
    found = findings(
        lived(
            scan(0, columns=[{"name": "user", "depth": 80.0}]),
            scan(1, columns=[{"name": "user", "depth": 1.5}], files_total=200),
        )
    )
    assert [(c.depth, c.files_total) for c in found.columns] == [(1.5, 200)]


def test_table_counts() -> None:
    found = findings(
        lived(
            scan(0),
            scan(1, conjuncts=[], columns=None),
            scan(2, files_kept=10, bytes_kept=10_000_000),
            scan(3, conjuncts=[], files_kept=1, bytes_kept=1_000_000),  # a LIMIT
            scan(4, fallback="no sidecar"),
        )
    )
    (table,) = found.tables
    assert (table.scans, table.unfiltered, table.fallbacks) == (5, 1, 1)
    assert table.bytes_read == 311_000_000
    assert [point.files_kept for point in table.points] == [100, 10, 1, 100]


def test_a_scan_with_two_suspects_is_lost_once() -> None:
    both = [conjunct("(a = 1)", ["a"]), conjunct("(b = 1)", ["b"])]
    found = findings(lived(scan(0, conjuncts=both)))
    assert [each.lost_bytes for each in found.predicates] == [99_000_000] * 2
    assert found.lost_bytes == 99_000_000
