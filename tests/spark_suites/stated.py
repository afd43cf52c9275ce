"""What is stated: the suites that run (`suites.toml`) and the tests excused (`plan_shapes.toml`)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SUITES = HERE / "suites.toml"
PLAN_SHAPES = HERE / "plan_shapes.toml"


@dataclass(frozen=True, slots=True)
class Group:
    """Suites that run in one JVM, in this order. `tests`: run only these of them; empty: all."""

    name: str
    suites: tuple[str, ...]
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanShape:
    """Tests of one suite that fail with tamis because they look at the shape of Spark's own plan.

    Attributes:
        suite: the class name, without its package.
        test: the full name of a test, or a regular expression that matches the full name.
        is_pattern: whether `test` is a regular expression.
        reason: what the test asserts, and what is there with tamis.
    """

    suite: str
    test: str
    is_pattern: bool
    reason: str

    def matches(self, suite: str, test: str) -> bool:
        if suite != self.suite:
            return False
        return re.fullmatch(self.test, test) is not None if self.is_pattern else test == self.test


def read_groups(path: Path = SUITES) -> tuple[Group, ...]:
    """The groups of suites, in the order in which they run."""
    document = tomllib.loads(path.read_text("utf-8"))
    return tuple(
        Group(each["name"], tuple(each["suites"]), tuple(each.get("tests", ())))
        for each in document["group"]
    )


def read_plan_shapes(path: Path = PLAN_SHAPES) -> tuple[PlanShape, ...]:
    """The excused tests, one entry a name or pattern.

    Raises:
        ValueError: an entry has no reason, or names no test.
    """
    document = tomllib.loads(path.read_text("utf-8"))
    return tuple(shape for entry in document.get("entry", ()) for shape in _shapes(entry))


def _shapes(entry: dict[str, Any]) -> list[PlanShape]:
    suite, reason = entry["suite"], entry.get("reason", "").strip()
    if not reason:
        raise ValueError(f"{suite}: an entry needs a reason")
    shapes = [PlanShape(suite, each, False, reason) for each in entry.get("tests", ())]
    shapes += [PlanShape(suite, each, True, reason) for each in entry.get("patterns", ())]
    if not shapes:
        raise ValueError(f"{suite}: an entry needs tests or patterns")
    return shapes


def chosen(groups: Iterable[Group], only: Sequence[str]) -> tuple[Group, ...]:
    """The groups, reduced to some suites, each named by its class or by its group.

    >>> groups = [Group("joins", ("JoinSuite", "OuterJoinSuite")), Group("caching", ("CacheSuite",))]
    >>> chosen(groups, ["OuterJoinSuite", "caching"])
    (Group(name='joins', suites=('OuterJoinSuite',), tests=()), \
Group(name='caching', suites=('CacheSuite',), tests=()))

    Raises:
        ValueError: a name is neither a suite nor a group.
    """
    groups = tuple(groups)
    known = {group.name for group in groups} | {s for group in groups for s in group.suites}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ValueError(f"not a suite or group of {SUITES.name}: {', '.join(unknown)}")
    if not only:
        return groups
    reduced = (
        Group(
            group.name,
            tuple(s for s in group.suites if s in only or group.name in only),
            group.tests,
        )
        for group in groups
    )
    return tuple(group for group in reduced if group.suites)
