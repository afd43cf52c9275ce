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
    added,
    effect,
    known_when_run,
    pruned_by,
    read_figures,
    scan_figures,
    timing,
)

__all__ = ["as_text", "tree"]

_STYLES = {"exact": "green", "inexact": "yellow", "unsupported": "red"}
_ENDLESS = 1_000_000  # lines are not wrapped if there is no terminal


def as_text(document: dict[str, Any]) -> str:
    """Return the tree as text.

    If standard output is a terminal, the text has colours and is wrapped to its width. Otherwise it
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
    answered = document.get("answered", [])
    if not document["scans"] and not answered:
        yield Tree(Text(document.get("nothing") or "tamis plans no scan of this query"))
    for each in answered:
        yield Tree(
            Text(
                f"{each['table']}: {each['goal']} answered from the statistics of "
                f"{each['files']:,} files, none is read"
            )
        )
    for scan in document["scans"]:
        yield _scan(scan)
    for relation in document["left_alone"]:
        branch = Tree(Text(f"{relation['table']}: left alone, because {relation['reason']}"))
        for each in relation.get("reasons", []):
            _fix(branch, each)
        yield branch


def _scan(scan: dict[str, Any]) -> Tree:
    branch = Tree(Text.assemble((scan["table"], "bold"), f": {scan_figures(scan)}"))
    if scan["fallback"] and not scan.get("observed"):
        why = branch.add(Text(f"read as in plain Spark: {scan['fallback']}", "red"))
        _fix(why, scan.get("fallback_reason"))
    read = read_figures(scan)
    if read:
        node = branch.add(Text(read, "red" if scan.get("observed") else "green"))
        _fix(node, scan.get("fallback_reason"))
    for conjunct in scan["conjuncts"]:
        _conjunct(branch, conjunct, scan)
    for condition in scan.get("runtime", []):
        node = branch.add(Text.assemble((f"{'run time':<11} ", "yellow"), condition["sql"]))
        node.add(Text(known_when_run(condition)))
    for implied in scan.get("implied", []):
        branch.add(Text.assemble(f"{'implied':<11} {implied}"))
    for goal in scan.get("goals", []):
        reason = goal["reason"]
        style = "yellow" if reason else "green"
        node = branch.add(Text.assemble((f"{'goal':<11} ", style), goal["goal"]))
        if reason:
            node.add(Text(f"no: {reason['text']}"))
            _fix(node, reason)
    branch.add(Text(timing(scan), "dim"))
    return branch


def _conjunct(branch: Tree, conjunct: dict[str, Any], scan: dict[str, Any]) -> None:
    kind = conjunct["pushdown"]
    node = branch.add(Text.assemble((f"{kind:<11} ", _STYLES[kind]), conjunct["sql"]))
    alone, more = effect(conjunct, scan), added(conjunct, scan)
    if alone:
        node.add(Text(f"prunes {alone} on its own{pruned_by(conjunct)}"))
    if more:
        node.add(Text(f"prunes {more} beyond the conjuncts before it"))
    if conjunct["reason"] and (scan.get("observed") or not scan["fallback"]):
        node.add(Text(conjunct["reason"]["text"]))
        _fix(node, conjunct["reason"])


def _fix(node: Tree, reason: dict[str, Any] | None) -> None:
    if reason and reason["fix"]:
        node.add(Text(f"-> {reason['fix']}", "cyan"))
