"""A small run of the differential check; tests/differential/verdicts.py is the large one."""

from __future__ import annotations

from tests.differential.verdicts import run


def test_no_verdict_is_wrong() -> None:
    wrong, counts = run(seed=20_261_121, count=5_000)
    assert not [str(each) for each in wrong]
    # A check that sees nothing but "some" would prove nothing.
    assert counts["none"] > counts.total() / 10
    assert counts["all"] > counts.total() / 20
