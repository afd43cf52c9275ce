"""Writes an explanation as text, with one rich tree per scan."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group
from rich.text import Text
from rich.tree import Tree

from tamis.report.figures import (
    Note,
    answered,
    conjunct_notes,
    goal_note,
    known_when_run,
    left_to_spark,
    nothing,
    remarks,
    scan_figures,
    timing,
)

__all__ = ["as_text", "tree"]

_STYLES = {"exact": "green", "inexact": "yellow", "unsupported": "red"}
_ENDLESS = 1_000_000  # lines are not wrapped if there is no terminal


def as_text(document: dict[str, Any]) -> str:
    """Return the tree as text.

    If standard output is a terminal, the text has colors and is wrapped to its width. Otherwise it
    is plain, with one fact per line.
    """
    terminal = sys.stdout is not None and sys.stdout.isatty()
    out = _Like(getattr(sys.stdout, "encoding", None) or "utf-8")
    console = Console(
        file=out,
        force_terminal=terminal,
        no_color=not terminal,
        width=None if terminal else _ENDLESS,
        highlight=False,
        emoji=False,
    )
    console.print(tree(document))
    lines = out.getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines)


class _Like(io.StringIO):
    """A text buffer with the encoding of the target, which determines how branches are drawn."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def tree(document: dict[str, Any]) -> Group:
    """Return one tree per scan, and one for each other part of the document."""
    return Group(*_trees(document))


def _trees(document: dict[str, Any]) -> Iterator[Tree]:
    if nothing(document):
        yield Tree(Text(nothing(document)))
    for goal in document.get("answered", []):
        yield Tree(Text(f"{goal['table']}: {answered(goal)}"))
    for scan in document["scans"]:
        yield _scan(scan)
    for relation in document["left_to_spark"]:
        text, fixes = left_to_spark(relation)
        branch = Tree(Text(f"{relation['table']}: {text}"))
        for fix in fixes:
            _add_fix(branch, fix)
        yield branch


def _scan(scan: dict[str, Any]) -> Tree:
    branch = Tree(Text.assemble((scan["table"], "bold"), f": {scan_figures(scan)}"))
    for remark in remarks(scan):
        _add_fix(branch.add(Text(remark.text, _STYLES[remark.kind])), remark.fix)
    for conjunct in scan["conjuncts"]:
        kind = conjunct["pushdown"]
        node = branch.add(Text.assemble((f"{kind:<11} ", _STYLES[kind]), conjunct["sql"]))
        for note in conjunct_notes(conjunct, scan):
            _add(node, note)
    for condition in scan.get("runtime", []):
        node = branch.add(Text.assemble((f"{'run time':<11} ", "yellow"), condition["sql"]))
        node.add(Text(known_when_run(condition)))
    for implied in scan.get("implied", []):
        branch.add(Text.assemble(f"{'implied':<11} {implied}"))
    for goal in scan.get("goals", []):
        why = goal_note(goal)
        style = "yellow" if why else "green"
        node = branch.add(Text.assemble((f"{'goal':<11} ", style), goal["goal"]))
        if why:
            _add(node, why)
    branch.add(Text(timing(scan), "dim"))
    return branch


def _add(node: Tree, note: Note) -> None:
    node.add(Text(note.text))
    _add_fix(node, note.fix)


def _add_fix(node: Tree, fix: str | None) -> None:
    if fix:
        node.add(Text(f"-> {fix}", "cyan"))
