"""A small run of the check against DuckDB; tests/differential/duckdb_verdicts.py is the large one."""

from __future__ import annotations

from tests.differential.duckdb_verdicts import run


def test_no_row_in_duckdb_contradicts_a_verdict() -> None:
    wrong, counts = run(seed=20_261_121, tables=8)
    assert not [str(each) for each in wrong]
    # A check that only ever gives "some" proves nothing.
    verdicts = counts["none"] + counts["some"] + counts["all"]
    assert counts["none"] > verdicts / 10
    assert counts["all"] > verdicts / 20
    assert counts["refused by DuckDB"] < verdicts / 100
