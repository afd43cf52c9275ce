"""The report that the demonstration makes of its measurements."""

import io

from rich.console import Console

from bench.demo import report
from bench.demo.queries import QUERIES


def result(*, kept=188, equal=True):
    conjunct = {
        "sql": "contains(l_comment, 'special')",
        "pushdown": "unsupported",
        "reason": {"text": "Statistics cannot tell.", "fix": None},
        "pruned_files": 0,
    }
    scan = {
        "files_kept": kept,
        "files_total": 200,
        "bytes_kept": 199_200_000,
        "bytes_total": 212_400_000,
        "conjuncts": [conjunct, {**conjunct, "pushdown": "exact", "reason": None}],
    }
    return {
        "query": max((query.title for query in QUERIES), key=len),
        "equal": equal,
        "scans": [scan],
        "native_files": 200,
        "seconds_on": 0.05,
        "seconds_off": 0.5,
    }


def printed(table):
    console = Console(width=80, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()


def test_equal_rows_and_fewer_files_pass():
    assert report.failures([result(), result(kept=200)]) == []


def test_different_rows_are_a_failure():
    assert len(report.failures([result(), result(equal=False)])) == 1


def test_demonstration_that_skips_nothing_is_a_failure():
    assert report.failures([result(kept=200)]) == ["tamis skipped no file at all."]


def test_table_fits_80_columns_and_has_both_numbers():
    text = printed(report.table([result()]))
    assert "188 of 200" in text
    assert "199.2 of 212" in text
    assert "…" not in text


def test_no_reason_is_printed_where_files_were_skipped():
    assert "Statistics" not in printed(report.reasons([result()]))


def test_repeated_reason_is_printed_once():
    text = printed(report.reasons([result(kept=200), result(kept=200)]))
    assert text.count("Statistics cannot tell.") == 1


def result_of_formats(*, with_tamis=3, equal=True):
    return {
        "query": "a month",
        "equal": equal,
        "files": {"Iceberg": [188, with_tamis], "Delta": [188, 3]},
    }


def test_table_of_formats_fits_80_columns_and_has_both_numbers():
    text = printed(report.formats([result_of_formats()]))
    assert "Iceberg" in text
    assert "188" in text
    assert "…" not in text


def test_fewer_files_of_formats_pass():
    assert report.failures_of_formats([result_of_formats()]) == []


def test_different_rows_of_formats_are_a_failure():
    assert len(report.failures_of_formats([result_of_formats(equal=False)])) == 1


def test_more_files_than_the_format_alone_are_a_failure():
    assert report.failures_of_formats([result_of_formats(with_tamis=189)]) == [
        "a month: Iceberg opens 188 files alone, and 189 with tamis."
    ]


def test_command_is_shown_with_its_first_jar():
    assert report.without_jars(["--jars", "a.jar,b.jar", "x"]) == ["--jars", "a.jar,…", "x"]
    assert report.without_jars(["--jars", "a.jar"]) == ["--jars", "a.jar"]
