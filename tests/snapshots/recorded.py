"""The recorded answers: one file for each family of questions.

    python -m tests.snapshots.recorded

This command records them again. A file has sections `[group]` and lines `digest name`.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tests.snapshots.questions import FAMILIES, questions
from tests.snapshots.spell import digest

_FOLDER = Path(__file__).parent


def read(family: str) -> dict[str, dict[str, str]]:
    """Return the digest of the answer to each question, by group."""
    digests: dict[str, dict[str, str]] = {}
    group: dict[str, str] = {}
    for line in _path(family).read_text("utf-8").splitlines():
        if line.startswith("["):
            group = digests[line[1:-1]] = {}
        else:
            answer, _, name = line.partition(" ")
            group[name] = answer
    return digests


def write(family: str) -> int:
    """Record the current answers. Return the number of questions."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name, drawn in questions(family):
        groups[drawn.group].append(f"{digest(drawn.ask())} {name}")
    lines = [line for name in sorted(groups) for line in (f"[{name}]", *groups[name])]
    _path(family).write_text("\n".join(lines) + "\n", "utf-8")
    return sum(map(len, groups.values()))


def _path(family: str) -> Path:
    return _FOLDER / f"{family}.txt"


if __name__ == "__main__":
    for each in FAMILIES:
        print(f"{each}: {write(each)} answers")
