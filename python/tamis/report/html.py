"""Writes an explanation as HTML for notebooks: inline SVG, no scripts, all text escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from tamis.report.figures import (
    Note,
    answered,
    conjunct_notes,
    goal_note,
    known_when_run,
    left_to_spark,
    nothing,
    part_of_whole,
    remarks,
    scan_figures,
    timing,
)

__all__ = ["to_html"]

_WIDTH = 240

# Colors that are legible on white and on black. Notebooks with a dark theme of their own mark it
# on the page. The others follow the browser.
_LIGHT = (
    "--kept:#0f766e;--gone:#d4d4d8;--exact:#15803d;--inexact:#a16207;--unsupported:#b91c1c;"
    "--soft:#52525b;"
)
_DARK = (
    "--kept:#2dd4bf;--gone:#3f3f46;--exact:#4ade80;--inexact:#facc15;--unsupported:#f87171;"
    "--soft:#a1a1aa;"
)
_STYLE = f"""\
.tamis-explain{{{_LIGHT}font-family:system-ui,sans-serif;font-size:13px;line-height:1.5}}
@media (prefers-color-scheme:dark){{.tamis-explain{{{_DARK}}}}}
[data-jp-theme-light="true"] .tamis-explain,.vscode-light .tamis-explain{{{_LIGHT}}}
[data-jp-theme-light="false"] .tamis-explain,.vscode-dark .tamis-explain{{{_DARK}}}
.tamis-explain section{{margin:.6em 0 1.2em}}
.tamis-explain table{{border-collapse:collapse;margin:.4em 0;font-size:inherit}}
.tamis-explain td{{text-align:left;vertical-align:top;padding:.15em .8em .15em 0}}
.tamis-explain code{{background:none;color:inherit;white-space:pre-wrap}}
.tamis-explain .exact{{color:var(--exact)}}.tamis-explain .inexact{{color:var(--inexact)}}
.tamis-explain .unsupported{{color:var(--unsupported)}}.tamis-explain .soft{{color:var(--soft)}}
.tamis-explain rect.gone{{fill:var(--gone)}}.tamis-explain rect.kept{{fill:var(--kept)}}
"""


def to_html(document: dict[str, Any]) -> str:
    """Return the explanation as one element that includes its style."""
    return f'<div class="tamis-explain"><style>{_STYLE}</style>{"".join(_parts(document))}</div>'


def _parts(document: dict[str, Any]) -> Iterator[str]:
    if nothing(document):
        yield f"<p>{escape(nothing(document))}</p>"
    for goal in document.get("answered", []):
        yield f"<p><b>{escape(goal['table'])}</b>: {escape(answered(goal))}</p>"
    for scan in document["scans"]:
        yield _scan(scan)
    for relation in document["left_to_spark"]:
        text, fixes = left_to_spark(relation)
        advice = "".join(map(_fix, fixes))
        yield f"<p><b>{escape(relation['table'])}</b>: {escape(text)}{advice}</p>"


def _scan(scan: dict[str, Any]) -> str:
    sizes = [
        f"<tr><td>{what}</td><td>{_bar(kept, total)}</td>"
        f"<td>{part_of_whole(kept, total, what)}</td></tr>"
        for what in ("files", "bytes", "rows")
        if (kept := scan[f"{what}_kept"]) is not None and (total := scan[f"{what}_total"])
    ]
    about = "".join(f'<p class="{each.kind}">{_note(each)}</p>' for each in remarks(scan))
    lines = [_conjunct(each, scan) for each in scan["conjuncts"]]
    lines += (_line("implied", each, "") for each in scan.get("implied", []))
    lines += map(_goal, scan.get("goals", []))
    lines += (
        _line("run time", each["sql"], escape(known_when_run(each)))
        for each in scan.get("runtime", [])
    )
    return (
        f"<section><b>{escape(scan['table'])}</b>: {scan_figures(scan)}{about}"
        f"<table>{''.join(sizes)}</table><table>{''.join(lines)}</table>"
        f'<span class="soft">{escape(timing(scan))}</span></section>'
    )


def _conjunct(conjunct: dict[str, Any], scan: dict[str, Any]) -> str:
    notes = [_note(each) for each in conjunct_notes(conjunct, scan)]
    pruned, total = conjunct.get("pruned_files"), scan["files_total"]
    if pruned and total:  # a full bar next to "prunes 0" would look like success
        notes.insert(0, f"{_bar(total - pruned, total)} files left")
    kind = conjunct["pushdown"]
    return _line(kind, conjunct["sql"], "<br>".join(notes), kind)


def _goal(goal: dict[str, Any]) -> str:
    why = goal_note(goal)
    return _line("goal", goal["goal"], _note(why) if why else "reads only the files that it needs")


def _line(label: str, sql: str, about: str, kind: str = "") -> str:
    cell = f'<td class="{kind}">' if kind else "<td>"
    return f"<tr>{cell}{label}</td><td><code>{escape(sql)}</code></td><td>{about}</td></tr>"


def _note(note: Note) -> str:
    return escape(note.text) + _fix(note.fix)


def _fix(fix: str | None) -> str:
    return f'<br><span class="soft">→ {escape(fix)}</span>' if fix else ""


def _bar(part: int, whole: int) -> str:
    """Draw the part that is read over the whole.

    >>> _bar(1, 4).count("<rect")
    2
    """
    # One file of a million must still be visible.
    width = max(2.0 if part else 0.0, _WIDTH * part / whole)
    return (
        f'<svg width="{_WIDTH}" height="10" viewBox="0 0 {_WIDTH} 10" role="img" '
        f'aria-label="{part:,} of {whole:,}">{_rect("gone", _WIDTH)}{_rect("kept", width)}</svg>'
    )


def _rect(kind: str, width: float) -> str:
    return f'<rect class="{kind}" width="{width:.1f}" height="10" rx="2"></rect>'
