"""HTML elements of the page. Callers escape text from data, except for `name`, which does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["bar", "cut", "grid", "name", "row", "short", "tag"]


def short(table: str) -> tuple[str, str]:
    """Return the last part of a path and the whole path. A table name is returned unchanged.

    >>> short("parquet file:/data/events"), short("spark_catalog.default.events")
    (('events', 'parquet file:/data/events'), ('spark_catalog.default.events', 'spark_...'))
    """
    last = table.rstrip("/").rpartition("/")[2]
    return last or table, table


def name(table: str) -> str:
    """Return the cell for the name of a table."""
    last, whole = short(table)
    return f'<td title="{escape(whole)}">{escape(last)}</td>'


def bar(share: float) -> str:
    """Return a bar that is filled to this share of its width."""
    width = 100 * min(1.0, max(0.0, share))
    return f'<span class="bar"><i style="width:{width:.1f}%"></i></span>'


def grid(heads: Sequence[str], rows: Iterable[str]) -> str:
    """Return a scrollable table. A head that starts with # is above numbers."""
    cells = (
        f'<th scope="col" class="n">{each[1:]}</th>'
        if each.startswith("#")
        else f'<th scope="col">{each}</th>'
        for each in heads
    )
    head = f"<thead><tr>{''.join(cells)}</tr></thead>"
    return tag("div", "scroll", f"<table>{head}<tbody>", *rows, "</tbody></table>")


def row(*cells: str) -> str:
    """Return a row of these cells."""
    return f"<tr>{''.join(cells)}</tr>"


def tag(element: str, kind: str, *parts: str) -> str:
    """Return an element of this class. Scrollable elements can be reached with the keyboard."""
    focusable = ' tabindex="0"' if kind == "scroll" else ""
    return f'<{element} class="{kind}"{focusable}>{"".join(parts)}</{element}>\n'


def cut(there: int, most: int) -> str:
    """Return a note if there are more entries than are shown; else an empty string."""
    if there <= most:
        return ""
    return f'<p class="soft"><code>--json</code> lists {there - most:,} more.</p>'
