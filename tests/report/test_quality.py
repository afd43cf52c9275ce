"""The causes of lost pruning (coarse, missing, stale, opaque), and the measured loss."""

from __future__ import annotations

import pytest

from tamis.report.findings import Audits, findings
from tamis.report.quality import Cause, lost_bytes, lost_files, shape, suspects
from tests.report.histories import conjunct, history_of, scan

SOME = [conjunct("(user = 5L)", ["user"])]

CAUSES = [
    # Changes of the scan, changes of its conjunct, the cause.
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
    # Without details of the conjunct, the reason of the decision decides.
    ({"has_index": None}, {"reason": "NO_STATISTICS", "files_without_bounds": None}, Cause.MISSING),
    ({"has_index": None}, {"reason": "RANGES_OVERLAP", "files_without_bounds": None}, Cause.COARSE),
    # A record of another version of tamis may have a code that this version does not know.
    ({"has_index": None}, {"reason": "OTHER_CODE", "files_without_bounds": None}, Cause.COARSE),
]


@pytest.mark.parametrize(("of_scan", "of_conjunct", "cause"), CAUSES)
def test_cause_of_a_suspect(of_scan, of_conjunct, cause) -> None:
    suspect = scan(conjuncts=[conjunct("(user = 5L)", ["user"], **of_conjunct)], **of_scan)
    assert [each.cause for each in suspects(suspect)] == [cause]


NO_SUSPECT = [
    ("most rows pass", {"rows_passed": 500_000}),
    ("the rows were not counted", {"rows_passed": None}),
    ("nothing was read", {"rows_read": 0, "rows_passed": 0}),
    ("files are pruned", {"files_kept": 80}),
    ("one file cannot be pruned by halves", {"files_total": 1, "files_kept": 1}),
    ("it was not planned", {"fallback": "no answer within 5000 ms"}),
    ("it is exact", {"conjuncts": [conjunct("(user = 5L)", ["user"], pushdown="exact")]}),
    ("Spark inferred it", {"conjuncts": [conjunct("(user IS NOT NULL)", ["user"])]}),
    ("it prunes", {"conjuncts": [conjunct("(user = 5L)", ["user"], pruned_files=10)]}),
    ("there is no conjunct", {"conjuncts": []}),
    ("its conjuncts are not recorded", {"conjuncts": None}),
]


@pytest.mark.parametrize(("case", "changes"), NO_SUSPECT)
def test_scan_without_a_suspect(case, changes) -> None:
    assert list(suspects(scan(**changes))) == []


LOST = [
    # Rows read, rows passed of 100 MB in 100 files, bytes lost.
    (1000, 1000, 0),
    (1000, 500, 50_000_000),
    (1000, 1, 99_000_000),  # one file is read whole
    (1000, 0, 100_000_000),  # no file has to be read
    (0, 0, None),
    (1000, None, None),
    (10, 1000, 0),  # impossible counts are not used
    (2_000_000, 1000, 99_000_000),
]


@pytest.mark.parametrize(("read", "passed", "lost"), LOST)
def test_lost_bytes_of_a_scan(read, passed, lost) -> None:
    assert lost_bytes(scan(rows_kept=1000, rows_read=read, rows_passed=passed)) == lost
    assert lost_bytes(scan(rows_kept=None, rows_read=read, rows_passed=passed)) == lost


def test_bytes_skipped_by_the_reader_are_not_lost() -> None:
    """Spark's reader skips row groups on its own, for example by dictionaries."""
    half = scan(rows_kept=1000, rows_read=500, rows_passed=1)
    assert lost_bytes(half) == 49_000_000


def test_predicates_with_different_constants_are_grouped() -> None:
    result = findings(history_of(*(scan(number) for number in range(3))))
    (predicate,) = result.predicates
    assert (predicate.predicate, predicate.example, predicate.scans) == (
        "(user = ?)",
        "(user = 2L)",
        3,
    )
    assert predicate.lost_bytes == result.lost_bytes == 3 * 99_000_000
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
def test_shape_of_a_predicate(sql, expected) -> None:
    assert shape(sql) == expected


def test_fix_of_each_cause() -> None:
    stale = scan(0, files_without_index=100)
    missing = scan(
        1, conjuncts=[conjunct("(b = 1)", ["b"], files_without_bounds=100, fix="record b")]
    )
    opaque = scan(
        2, conjuncts=[conjunct("(f(c) = 1)", ["c"], reason="FUNCTION_NOT_UNDERSTOOD", fix=None)]
    )
    fixes = {
        each.cause: each.fix for each in findings(history_of(stale, missing, opaque)).predicates
    }
    assert fixes == {
        Cause.STALE: "refresh the index: python -m tamis index refresh file:/data/events",
        Cause.MISSING: "record b",
        Cause.OPAQUE: "rewrite the predicate: no statistics can help as it stands",
    }


def test_columns_are_ordered_by_loss() -> None:
    two_conjuncts = [conjunct("(a = 1)", ["a"]), conjunct("(b = 1)", ["b"])]
    exact = [conjunct("(a = 1)", ["a"], pushdown="exact"), conjunct("(c < 9)", ["c"])]
    result = findings(
        history_of(
            scan(0, conjuncts=two_conjuncts, rows_passed=500_000),
            scan(1, conjuncts=two_conjuncts[1:], rows_passed=500_000),
            scan(2, conjuncts=exact, rows_passed=900_000),
            scan(3, conjuncts=two_conjuncts[1:], rows_passed=None),
            scan(4, conjuncts=[conjunct("(f(d) = 1)", ["d"], reason="FUNCTION_NOT_UNDERSTOOD")]),
        )
    )
    assert [
        (c.column, c.lost_bytes, c.lost_alone, c.measured, c.scans) for c in result.columns
    ] == [
        ("b", 100_000_000, 50_000_000, 2, 3),
        (
            "a",
            50_000_000,
            0,
            1,
            2,
        ),  # every row passes its predicate in scan 2: no order would save more
        ("c", 10_000_000, 10_000_000, 1, 1),
        ("d", 0, 0, 0, 1),  # no order helps, since its predicate is opaque
    ]


def test_depth_comes_from_the_latest_scan() -> None:
    result = findings(
        history_of(
            scan(0, columns=[{"name": "user", "depth": 80.0}]),
            scan(1, columns=[{"name": "user", "depth": 1.5}], files_total=200),
        )
    )
    assert [(c.depth, c.files_total) for c in result.columns] == [(1.5, 200)]


def test_counts_of_a_table() -> None:
    result = findings(
        history_of(
            scan(0),
            scan(1, conjuncts=[], columns=None),
            scan(2, files_kept=10, bytes_kept=10_000_000),
            scan(3, conjuncts=[], files_kept=1, bytes_kept=1_000_000),  # a LIMIT
            scan(4, fallback="no sidecar"),
        )
    )
    (table,) = result.tables
    assert (table.scans, table.unfiltered, table.fallbacks) == (5, 1, 1)
    assert table.bytes_read == 311_000_000
    assert [point.files_kept for point in table.points] == [100, 10, 1, 100]


def test_scan_with_two_suspects_counts_once_in_the_total() -> None:
    two_conjuncts = [conjunct("(a = 1)", ["a"]), conjunct("(b = 1)", ["b"])]
    result = findings(history_of(scan(0, conjuncts=two_conjuncts)))
    assert [each.lost_bytes for each in result.predicates] == [99_000_000] * 2
    assert result.lost_bytes == 99_000_000


FILES_LOST = [
    # Changes of the scan, and the opened files that a perfect layout would not open.
    ({}, 99),
    ({"rows_passed": 0}, 100),
    ({"rows_passed": 1_000_000}, 0),
    ({"rows_passed": 10_001}, 98),  # 10,000 rows per file
    ({"rows_read": 8_000, "rows_passed": 8_000}, 99),  # the reader skipped the other rows
    ({"files_read": 3}, 2),  # run-time filters left out the other files
    ({"rows_total": None, "rows_passed": 500_000}, 50),
    ({"rows_passed": None}, None),
    ({"observed": True, "files_kept": 2, "rows_kept": 20_000}, 1),
]


@pytest.mark.parametrize(("changes", "lost"), FILES_LOST)
def test_lost_files_of_a_scan(changes, lost) -> None:
    assert lost_files(scan(**changes)) == lost


def test_opening_files_is_a_cost() -> None:
    """The reader skips nearly all rows of each file, so almost no bytes are read needlessly."""
    opened = scan(
        rows_read=8_000,
        rows_passed=8_000,
        rows_kept=3_000_000,
        rows_total=3_000_000,
        bytes_kept=3_000_000,
        bytes_total=3_000_000,
        conjuncts=[conjunct("(a = 5L)", ["a"])],
        files_kept=300,
        files_read=300,
        files_total=300,
        table="t",
    )
    read = scan(1, conjuncts=[conjunct("(b = 5L)", ["b"])], table="t")
    result = findings(history_of(opened, read))
    assert [(c.column, c.lost_bytes, c.lost_files) for c in result.columns] == [
        ("a", 0, 299),
        ("b", 99_000_000, 99),
    ]


def test_bloom_filter_is_proposed_if_few_files_have_the_value() -> None:
    equality = [conjunct("(user = 5L)", ["user"], reason="VALUE_WITHIN_RANGES")]
    for changes, expected in (
        ({"rows_passed": 20}, "--bloom user"),
        ({"rows_passed": 51}, "cluster the table by user"),  # half of the files may have a match
        ({"conjuncts": SOME, "rows_passed": 20}, "cluster the table by user"),  # a range
    ):
        (predicate,) = findings(history_of(scan(**{"conjuncts": equality} | changes))).predicates
        assert expected in predicate.fix
        assert ("bloom" in predicate.fix) == ("bloom" in expected)


def test_value_list_is_proposed_if_few_files_have_a_match() -> None:
    reason = {"reason": "VALUES_NOT_LISTED"}
    unlisted = [conjunct("(NOT (kind IN ('a', 'b')))", ["kind"], **reason)]
    (few,) = findings(history_of(scan(conjuncts=unlisted, rows_passed=50))).predicates
    assert few.fix.startswith("record the distinct values of kind: in any sort order")
    assert "python -m tamis index add --values kind file:/data/events. This" in few.fix
    (many,) = findings(history_of(scan(conjuncts=unlisted, rows_passed=51))).predicates
    assert many.fix == "cluster the table by kind"


def test_commands_find_the_index_of_the_table() -> None:
    equality = [conjunct("(`user id` = 5L)", ["user id"], reason="VALUE_WITHIN_RANGES")]
    known = "'file:/data/my events' --conf spark.tamis.index.location=file:/indexes --format orc"
    stale = scan(0, index_arguments=known, files_without_index=100)
    (predicate,) = findings(history_of(stale)).predicates
    assert predicate.fix.endswith(f"python -m tamis index refresh {known}")
    coarse = scan(0, index_arguments=known, conjuncts=equality, rows_passed=20)
    (predicate,) = findings(history_of(coarse)).predicates
    assert f"python -m tamis index add --bloom 'user id' {known}. This" in predicate.fix


def test_command_for_a_scan_that_an_earlier_tamis_recorded() -> None:
    roots = ["file:/data/my%20events"]
    stale = scan(0, roots=roots, index_arguments=None, files_without_index=100)
    (predicate,) = findings(history_of(stale)).predicates
    assert "index refresh 'file:/data/my events', with the --format" in predicate.fix


def test_predicate_that_prunes_in_later_scans_is_omitted() -> None:
    before = [scan(number, conjuncts=SOME) for number in range(2)]
    unrelated = scan(2, conjuncts=[conjunct("(day = 1)", ["day"])])
    pruned = [conjunct("(user = 9L)", ["user"], pruned_files=98)]
    now = scan(3, conjuncts=pruned, files_kept=2, files_read=2, bytes_kept=2_000_000)
    result = findings(history_of(*before, unrelated, now))
    assert [each.predicate for each in result.predicates] == ["(day = ?)"]
    assert result.fixed == 1
    assert result.lost_bytes == 99_000_000
    assert {c.column: c.lost_files for c in result.columns} == {"user": 1, "day": 99}
    # A predicate that stops pruning is listed again, with the scans since then.
    again = findings(history_of(*before, unrelated, now, scan(4, conjuncts=SOME)))
    assert [(p.predicate, p.scans) for p in again.predicates] == [
        ("(day = ?)", 1),
        ("(user = ?)", 1),
    ]
    # On another table it is another predicate.
    elsewhere = findings(history_of(*before, now | {"table": "elsewhere"}))
    assert [each.scans for each in elsewhere.predicates] == [2]


def test_observed_scans_are_counted_separately() -> None:
    would = {
        "observed": True,
        "fallback": "spark.tamis.mode is observe",
        "bytes_read": 100_000_000,
    }
    prunes = scan(0, files_kept=2, bytes_kept=2_000_000, rows_kept=20_000, **would)
    does_not = scan(1, conjuncts=[conjunct("(day = 1)", ["day"])], **would)
    result = findings(history_of(prunes, does_not))
    (table,) = result.tables
    assert (table.observed, table.fallbacks) == (2, 0)
    assert (table.bytes_read, table.observed_bytes) == (200_000_000, 200_000_000)
    assert table.would_read == 102_000_000
    assert [point.files_kept for point in table.points] == [100, 100]
    assert [each.predicate for each in result.predicates] == ["(day = ?)"]


def test_audits_are_counted() -> None:
    result = findings(
        history_of(
            scan(0, audit={"result": "passed", "files": 4, "text": None}),
            scan(1, audit={"result": "disagreement", "files": 2, "text": "5 rows of t"}),
            scan(2, audit={"result": "failed", "files": 0, "text": "gone"}),
            scan(3),
        )
    )
    assert result.audits == Audits(1, 1, 1, 6, ["5 rows of t"])
    assert findings(history_of(scan(0))).audits == Audits()
