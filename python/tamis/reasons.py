"""Why something was not pruned, not exact or left alone: one registry of reasons.

A reason is a stable code, its arguments, one sentence and the fix. The registry is `reasons.json`,
which the Spark extension reads too, so that both sides say the same; docs/reasons.md is generated
from it.

>>> why = reason("NO_STATISTICS", column="price")
>>> why.text
'no statistics are known for price'
>>> why.fix
'build the statistics index: tamis.index(spark, path).build()'
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from typing import Any, Final, TypeAlias

__all__ = [
    "REASONS",
    "About",
    "Argument",
    "Reason",
    "ReasonKind",
    "for_table",
    "reason",
    "to_markdown",
]

Argument: TypeAlias = str | int
_INDEX_OF_PATH: Final = "tamis.index(spark, path)"


class About(StrEnum):
    """What a reason is given for."""

    PREDICATE = "predicate"  # a conjunct that prunes nothing, or is applied again
    SCAN = "scan"  # a scan that reads what plain Spark would
    GOAL = "goal"  # LIMIT, ORDER BY, a join, an aggregate of which nothing came
    TABLE = "table"  # a relation that was left to Spark


@dataclass(frozen=True, slots=True)
class Reason:
    """One "no" and its explanation; `fix` is None where nothing can be done."""

    code: str
    arguments: Mapping[str, Argument]
    text: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class ReasonKind:
    """A line of the registry: what it means, templates of the sentence and of the fix, and example
    arguments."""

    code: str
    about: About
    meaning: str
    text: str
    fix: str | None
    example: Mapping[str, Argument]


def _kinds() -> Iterator[ReasonKind]:
    text = resources.files("tamis").joinpath("reasons.json").read_text("utf-8")
    each: dict[str, Any]
    for each in json.loads(text):
        yield ReasonKind(**each | {"about": About(each["about"])})


REASONS: Final[Mapping[str, ReasonKind]] = {kind.code: kind for kind in _kinds()}


def reason(code: str, **arguments: Argument) -> Reason:
    """The reason of that code with these arguments; KeyError for a code that is not registered.

    A fix that comes out empty is none:

    >>> reason("AND_KEEPS_BRANCH", because="a < b compares columns", then="").fix is None
    True
    """
    kind = REASONS[code]
    fix = None if kind.fix is None else kind.fix.format(**arguments)
    return Reason(code, arguments, kind.text.format(**arguments), fix or None)


def for_table(fix: str, table: str) -> str:
    """A fix with the table that it is about, in place of the `path` that templates have.

    Args:
        fix: as in the registry, with its arguments.
        table: what `tamis.index(spark, …)` takes, as Python source.

    >>> for_table("build the statistics index: tamis.index(spark, path).build()", '"/data/t"')
    'build the statistics index: tamis.index(spark, "/data/t").build()'
    """
    return fix.replace(_INDEX_OF_PATH, f"tamis.index(spark, {table})")


def to_markdown() -> str:
    """The text of docs/reasons.md.

    >>> to_markdown().splitlines()[0]
    '# Reasons'
    """
    return _HEAD + "".join(_section(about) for about in About)


def _section(about: About) -> str:
    rows = "".join(_row(kind) for kind in REASONS.values() if kind.about is about)
    return f"\n## {_TITLES[about]}\n\n{_TABLE}{rows}"


def _row(kind: ReasonKind) -> str:
    example = reason(kind.code, **kind.example)
    cells = (f"`{kind.code}`", kind.meaning, example.text, example.fix or "nothing to be done")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


_HEAD = """\
# Reasons

<!-- Made by `make reasons` from python/tamis/reasons.json. -->

Why something was not pruned, as `tamis.explain(df)` and `tamis.why_not(df)` say it. Codes are
stable; sentences and fixes are for people, and may change. A test reaches every code, applies the
fix, and looks whether it helps (`tests/spark/test_reasons.py`).
"""

_TABLE = "| code | when | for example | what to do |\n| --- | --- | --- | --- |\n"

_TITLES = {
    About.PREDICATE: "A predicate is inexact or unsupported",
    About.SCAN: "A scan reads what plain Spark would",
    About.GOAL: "LIMIT, ORDER BY, a join or an aggregate reads no fewer files",
    About.TABLE: "A table is left to Spark",
}
