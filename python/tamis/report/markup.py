"""Parts of the page. Text that comes from data is escaped by who gives it, but in `name`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["bar", "cut", "grid", "name", "row", "short", "tag"]


def short(table: str) -> tuple[str, str]:
    """The last part of a path, and all of it; a name is short as it is.

    >>> short("parquet file:/data/events"), short("spark_catalog.default.events")
    (('events', 'parquet file:/data/events'), ('spark_catalog.default.events', 'spark_...'))
    """
    last = table.rstrip("/").rpartition("/")[2]
    return last or table, table


def name(table: str) -> str:
    """The cell of a table's name."""
    last, whole = short(table)
    return f'<td title="{escape(whole)}">{escape(last)}</td>'


def bar(share: float) -> str:
    """A bar of that share of its width."""
    width = 100 * min(1.0, max(0.0, share))
    return f'<span class="bar"><i style="width:{width:.1f}%"></i></span>'


def grid(heads: Sequence[str], rows: Iterable[str]) -> str:
    """A table that scrolls in itself; a head with # is over numbers."""
    cells = (
        f'<th scope="col" class="n">{each[1:]}</th>'
        if each.startswith("#")
        else f'<th scope="col">{each}</th>'
        for each in heads
    )
    head = f"<thead><tr>{''.join(cells)}</tr></thead>"
    return tag("div", "scroll", f"<table>{head}<tbody>", *rows, "</tbody></table>")


def row(*cells: str) -> str:
    """A row of these cells."""
    return f"<tr>{''.join(cells)}</tr>"


def tag(element: str, kind: str, *parts: str) -> str:
    """An element of that class; what scrolls can be reached by the keyboard."""
    focusable = ' tabindex="0"' if kind == "scroll" else ""
    return f'<{element} class="{kind}"{focusable}>{"".join(parts)}</{element}>\n'


def cut(there: int, most: int) -> str:
    """What is said where there is more than is shown."""
    if there <= most:
        return ""
    return f'<p class="soft">{there - most:,} more are in <code>--json</code>.</p>'
