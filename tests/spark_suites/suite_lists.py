"""The two lists: suites that run (`suites.toml`) and excused tests (`plan_shapes.toml`)."""

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
    """Suites that run in one JVM, in this order. `tests`: the only ones to run; empty: all."""

    name: str
    suites: tuple[str, ...]
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanShape:
    """Tests of one suite that fail with tamis because they examine the shape of Spark's own plan.

    Attributes:
        suite: The class name, without its package.
        test: The full name of a test, or a regular expression that matches the full name.
        is_pattern: Whether `test` is a regular expression.
        reason: What the test asserts, and how the plan differs with tamis.
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
    """Return the groups of suites in execution order."""
    document = tomllib.loads(path.read_text("utf-8"))
    return tuple(
        Group(each["name"], tuple(each["suites"]), tuple(each.get("tests", ())))
        for each in document["group"]
    )


def read_plan_shapes(path: Path = PLAN_SHAPES) -> tuple[PlanShape, ...]:
    """Return the excused tests, one entry per name or pattern.

    Raises:
        ValueError: An entry has no reason, or no test.
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
    """Return the groups, reduced to the suites that are named by class or by group.

    >>> groups = [Group("joins", ("JoinSuite", "OuterJoinSuite")), Group("caching", ("CacheSuite",))]
    >>> chosen(groups, ["OuterJoinSuite", "caching"])
    (Group(name='joins', suites=('OuterJoinSuite',), tests=()), \
Group(name='caching', suites=('CacheSuite',), tests=()))

    Raises:
            ValueError: A name is neither a suite nor a group.
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
