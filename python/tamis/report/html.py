"""Writes an explanation as HTML for notebooks: inline SVG, no scripts, all text escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from tamis.report.figures import (
    added,
    effect,
    known_when_run,
    of,
    pruned_by,
    read_figures,
    scan_figures,
    timing,
)

__all__ = ["to_html"]

_WIDTH = 240
_KINDS = ("exact", "inexact", "unsupported")

# Colours that are legible on white and on black. Notebooks with a dark theme of their own mark it
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
    answered = document.get("answered", [])
    if not document["scans"] and not answered:
        yield f"<p>{escape(document.get('nothing') or 'tamis plans no scan of this query')}</p>"
    for each in answered:
        yield (
            f"<p><b>{escape(each['table'])}</b>: {escape(each['goal'])} answered from the "
            f"statistics of {each['files']:,} files, none is read</p>"
        )
    for scan in document["scans"]:
        yield _scan(scan)
    for relation in document["left_alone"]:
        fixes = "".join(map(_fix, relation.get("reasons", [])))
        yield (
            f"<p><b>{escape(relation['table'])}</b>: left alone, because "
            f"{escape(relation['reason'])}{fixes}</p>"
        )


def _scan(scan: dict[str, Any]) -> str:
    rows = [
        f"<tr><td>{what}</td><td>{_bar(kept, total)}</td><td>{of(kept, total, what)}</td></tr>"
        for what in ("files", "bytes", "rows")
        if (kept := scan[f"{what}_kept"]) is not None and (total := scan[f"{what}_total"])
    ]
    fallback = ""
    why = _fix(scan.get("fallback_reason"))
    read = read_figures(scan)
    if read:
        kind = "unsupported" if scan.get("observed") else "exact"
        fallback = f'<p class="{kind}">{escape(read)}{why}</p>'
    elif scan["fallback"]:
        fallback = (
            f'<p class="unsupported">read as in plain Spark: {escape(scan["fallback"])}{why}</p>'
        )
    lines = [_conjunct(each, scan) for each in scan["conjuncts"]]
    for implied in scan.get("implied", []):
        lines.append(f"<tr><td>implied</td><td><code>{escape(implied)}</code></td><td></td></tr>")
    lines += map(_goal, scan.get("goals", []))
    lines += map(_runtime, scan.get("runtime", []))
    return (
        f"<section><b>{escape(scan['table'])}</b>: {scan_figures(scan)}{fallback}"
        f"<table>{''.join(rows)}</table><table>{''.join(lines)}</table>"
        f'<span class="soft">{escape(timing(scan))}</span></section>'
    )


def _conjunct(conjunct: dict[str, Any], scan: dict[str, Any]) -> str:
    kind = conjunct["pushdown"] if conjunct["pushdown"] in _KINDS else ""
    lines = []
    pruned, total = conjunct.get("pruned_files"), scan["files_total"]
    if pruned is not None and total:
        if pruned:  # a full bar next to "prunes 0" would look like success
            lines.append(f"{_bar(total - pruned, total)} left")
        lines.append(f"prunes {effect(conjunct, scan)} on its own{pruned_by(conjunct)}")
    more = added(conjunct, scan)
    if more:
        lines.append(f"prunes {more} beyond the conjuncts before it")
    if conjunct["reason"] and (scan.get("observed") or not scan["fallback"]):
        lines.append(f"{escape(conjunct['reason']['text'])}{_fix(conjunct['reason'])}")
    return (
        f'<tr><td class="{kind}">{kind}</td><td><code>{escape(conjunct["sql"])}</code></td>'
        f"<td>{'<br>'.join(lines)}</td></tr>"
    )


def _goal(goal: dict[str, Any]) -> str:
    reason = goal["reason"]
    text = f"no: {escape(reason['text'])}{_fix(reason)}" if reason else "yes"
    return f"<tr><td>goal</td><td><code>{escape(goal['goal'])}</code></td><td>{text}</td></tr>"


def _runtime(condition: dict[str, Any]) -> str:
    return (
        f"<tr><td>run time</td><td><code>{escape(condition['sql'])}</code></td>"
        f"<td>{escape(known_when_run(condition))}</td></tr>"
    )


def _fix(reason: dict[str, Any] | None) -> str:
    if not reason or not reason["fix"]:
        return ""
    return f'<br><span class="soft">→ {escape(reason["fix"])}</span>'


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
