"""A small run of the differential check; tests/differential/verdicts.py is the large one."""

from __future__ import annotations

from tests.differential.verdicts import run


def test_no_row_contradicts_a_random_verdict() -> None:
    wrong, counts = run(seed=20_261_121, count=5_000)
    assert not [str(each) for each in wrong]
    # A check that only ever gives "some" proves nothing.
    assert counts["none"] > counts.total() / 10
    assert counts["all"] > counts.total() / 20
