"""The list of suites and the list of excused tests."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.spark_suites.suite_lists import Group, PlanShape, chosen, read_groups, read_plan_shapes

GROUPS = (
    Group("joins", ("JoinSuite", "OuterJoinSuite")),
    Group("caching", ("CacheSuite",), ("a",)),
)


def test_groups_and_suites_are_selected_by_name() -> None:
    assert chosen(GROUPS, []) == GROUPS
    assert chosen(GROUPS, ["joins"]) == GROUPS[:1]
    assert chosen(GROUPS, ["JoinSuite"]) == (Group("joins", ("JoinSuite",)),)
    assert chosen(GROUPS, ["CacheSuite"]) == GROUPS[1:]


def test_unknown_name_is_an_error() -> None:
    with pytest.raises(ValueError, match="NoSuite"):
        chosen(GROUPS, ["JoinSuite", "NoSuite"])


def test_entry_matches_tests_by_name_or_pattern() -> None:
    exact = PlanShape("S", "a (b)", False, "why")
    pattern = PlanShape("S", "a .*", True, "why")
    assert exact.matches("S", "a (b)")
    assert not exact.matches("S", "a (b) c")
    assert not exact.matches("T", "a (b)")
    assert pattern.matches("S", "a (b)")
    assert not pattern.matches("S", "b a (b)")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('suite = "S"\ntests = ["a"]\nreason = " "', "needs a reason"),
        ('suite = "S"\nreason = "why"', "needs tests or patterns"),
    ],
)
def test_incomplete_entry_is_an_error(tmp_path: Path, entry: str, message: str) -> None:
    file = tmp_path / "list.toml"
    file.write_text(f"[[entry]]\n{entry}\n")
    with pytest.raises(ValueError, match=message):
        read_plan_shapes(file)


def test_every_excused_test_belongs_to_a_listed_suite() -> None:
    stated = {suite for group in read_groups() for suite in group.suites}
    assert {shape.suite for shape in read_plan_shapes()} <= stated


def test_each_suite_is_listed_once() -> None:
    times = Counter(suite for group in read_groups() for suite in group.suites)
    assert [suite for suite, n in times.items() if n > 1] == []
