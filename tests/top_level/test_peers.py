"""The marks of rows in which a table format with tamis opens more files."""

from bench.peers.systems import Totals, exceeded


def test_mark_names_what_a_format_with_tamis_exceeds():
    assert exceeded(1, (1, 200, 1, 1, 188, 1)) == ""
    assert exceeded(1, (1, 200, 3, 2, 3, 1)) == "ideal (Iceberg)"
    assert exceeded(9, (1, 200, 3, 3, 2, 3)) == "**Delta**"


def test_totals_list_the_rows_above_the_format():
    totals = Totals()
    rows = [["a", "**Delta**, ideal (Delta)"], ["b", ""]]
    assert list(totals.counted(rows)) == rows
    assert list(totals.sentences())[:2] == [
        "A format opens more files with tamis than alone:",
        "  a",
    ]
    assert totals.above_ideal == 1
