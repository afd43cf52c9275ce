"""The report as one page: HTML with its style and its plots in it, and nothing that runs or loads.

Whatever comes from data (names of tables and columns, predicates, paths) goes through `escape`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from typing import Final

from tamis._version import __version__
from tamis.report.findings import Audits, ColumnUse, Findings, Predicate, TableUse
from tamis.report.markup import bar, cut, grid, name, row, short, tag
from tamis.report.numbers import count, milliseconds, moment, percent, size
from tamis.report.plot import pruning_over_time
from tamis.report.quality import OPEN_COST, cost

__all__ = ["to_html"]

#: Rows of a table on the page; JSON has them all.
_MOST_ROWS: Final = 50
_MOST_PLOTS: Final = 24


def to_html(found: Findings, source: str, now: float | None = None) -> str:
    """The page. `source` says where the history is."""
    style = resources.files("tamis.report").joinpath("page.css").read_text("utf-8")
    made = moment(time.time() if now is None else now)
    body = "\n".join(_body(found, source)) if found.scans else _nothing(source)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>tamis: what was read, and what need not have been</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>What was read, and what need not have been</h1>
{body}
<footer>Made by tamis {escape(__version__)} on {made} UTC, of {escape(source)}. Sizes are of files:
1 kB is 1,000 bytes.</footer>
</main>
</body>
</html>
"""


def _nothing(source: str) -> str:
    return f"""<p class="soft">The history in {escape(source)} is empty: no scan has been recorded.
</p>
<p>A scan is recorded some seconds after its query has ended, where <code>spark.tamis.enabled</code>
and <code>spark.tamis.history.enabled</code> are true. Plans that are only explained are not
recorded. Where <code>spark.tamis.history.location</code> is set, give that folder:
<code>python -m tamis report --history DIR</code>.</p>"""


def _body(found: Findings, source: str) -> Iterator[str]:
    first, last = found.first or 0.0, found.last or 0.0
    older = f" (the latest; {found.left_out:,} older ones are left out)" if found.left_out else ""
    tables = count(len(found.tables), "table")
    yield (
        f'<p class="soft">{count(found.scans, "scan")} of {tables}{older}, '
        f"{moment(first)} to {moment(last)} UTC.</p>"
    )
    yield _figures(found)
    yield _audits(found.audits)
    yield "<h2>Selective, and yet nothing is pruned</h2>"
    yield _predicates(found.predicates, found.mended)
    yield "<h2>Columns worth clustering by</h2>"
    yield _worth(found.columns)
    yield "<h2>How well the filtered columns are clustered</h2>"
    yield _depths(found.columns)
    yield "<h2>Pruning over time</h2>"
    yield (
        '<p class="soft">For each scan with a filter, the share of the files that it did not read. '
        "The line is the mean.</p>"
    )
    for table in found.tables[:_MOST_PLOTS]:
        yield _table(table, first, last)
    yield cut(len(found.tables), _MOST_PLOTS)


def _figures(found: Findings) -> str:
    read = sum(each.bytes_read for each in found.tables)
    total = sum(each.bytes_total for each in found.tables)
    fallbacks = sum(each.fallbacks for each in found.tables)
    planned = [each.planning_ms for each in found.tables if each.planning_ms is not None]
    shown = [
        (percent(1 - read / total) if total else "–", f"not read, of {size(total)}"),
        (size(read), "read"),
        (
            size(found.lost_bytes),
            f"read, and {count(found.lost_files, 'file')} opened, for selective predicates that "
            "prune nothing",
        ),
        (milliseconds(max(planned, default=None)), "median planning, of the slowest table"),
        (f"{fallbacks:,}", f"of {count(found.scans, 'scan')} read as plain Spark would"),
    ]
    return tag("div", "figures", *(f"<div><b>{a}</b>{b}</div>" for a, b in shown))


def _audits(audits: Audits) -> str:
    """Nothing where no scan was audited."""
    scans = audits.passed + audits.disagreements + audits.failed
    if not scans:
        return ""
    told = [f"{audits.passed:,} of {count(scans, 'audited scan')} passed"]
    if audits.failed:
        told.append(f"{audits.failed:,} could not be audited")
    text = f"{', '.join(told)}; {count(audits.files, 'file')} were read again."
    if not audits.disagreements:
        return f'<h2>The audit</h2><p class="soft">{text} No row was missed.</p>'
    wrong = f"<b>{count(audits.disagreements, 'scan')} with a wrong result.</b> {text}"
    items = "".join(f"<li>{escape(each)}</li>" for each in audits.texts[:_MOST_ROWS])
    return f'<h2>The audit</h2><p class="wrong">{wrong}</p><ul>{items}</ul>'


_CAUSES: Final = (
    ("coarse", "The ranges of the files overlap: rows lie in no useful order."),
    ("missing", "Nothing is known of the column in most files that were read."),
    ("stale", "An index is there, and most files that were read are newer."),
    ("opaque", "No statistics would help: the predicate is not understood."),
)


def _predicates(predicates: Sequence[Predicate], mended: int) -> str:
    about = (
        '<p class="soft">Scans whose filters let at most 10 % of the rows pass, and ruled out less '
        "than 10 % of the files. Rows are as Spark counted them, after all filters of the scan.</p>"
    )
    if mended:
        now = "prunes now and is" if mended == 1 else "prune now and are"
        about += (
            f'<p class="soft">{count(mended, "predicate")} of earlier scans {now} left out.</p>'
        )
    if not predicates:
        return f'{about}<p class="empty">None: what was selective did prune.</p>'
    rows = (
        row(
            f'<td class="wide"><b title="{escape(each.table)}">{_breakable(each.table)}</b><br>'
            f"<code>{escape(each.predicate)}</code>{_example(each)}</td>",
            f'<td class="wide"><span class="cause {each.cause}">{each.cause}</span>'
            f"<small>{escape(_because(each))}</small>{escape(each.fix)}</td>",
            f'<td class="n">{each.files_kept:,} of {each.files_total:,}'
            f"<small>{percent(each.share_passed)} of the rows pass</small></td>",
            f'<td class="n">{size(each.lost_bytes)}<small>{_opened(each.lost_files)}in '
            f"{count(each.scans, 'scan')}</small></td>",
        )
        for each in predicates[:_MOST_ROWS]
    )
    heads = ("predicate", "why, and what to do", "#files read", "#read for nothing")
    shown = grid(heads, rows)
    causes = "".join(f'<dt class="cause {a}">{a}</dt><dd>{b}</dd>' for a, b in _CAUSES)
    return f"{about}{shown}{cut(len(predicates), _MOST_ROWS)}<dl>{causes}</dl>"


def _opened(files: int) -> str:
    """Files that were opened for nothing."""
    return f"and {count(files, 'file')} opened, " if files else ""


def _breakable(table: str) -> str:
    """The name of a table, which may go on in the next line after each dot."""
    return escape(short(table)[0]).replace(".", ".<wbr>")


def _example(each: Predicate) -> str:
    if each.example == each.predicate:
        return ""
    text = each.example if len(each.example) <= 160 else each.example[:160] + "…"
    return f"<small>such as {escape(text)}</small>"


def _because(each: Predicate) -> str:
    unknown = "" if each.files_unknown is None else f"{each.files_unknown:,} of {each.files_kept:,}"
    columns = ", ".join(each.columns)
    match each.cause:
        case "stale":
            return f"{unknown} files are not in the index"
        case "missing" if unknown:
            return f"{unknown} files: nothing is known of {columns}"
        case "missing":
            return f"nothing is known of {columns}"
        case "coarse":
            return f"any of the files may hold such values of {columns}"
        case _:
            return "its function or form is not understood"


def _worth(columns: Sequence[ColumnUse]) -> str:
    about = (
        '<p class="soft">By what was read and dropped again by filters on the column: a perfect '
        "layout has the rows that pass in files of their own, and reads at least one. Columns that "
        "a scan filters by together each bear its whole loss; what the column bears by itself is "
        f"told apart. Opening a file counts as much as reading {size(OPEN_COST)}.</p>"
    )
    worth = [each for each in columns if _cost(each) > 0]
    if not worth:
        measured = any(each.measured for each in columns)
        why = "nothing was read that a filter dropped" if measured else "no filter was measured"
        return f'{about}<p class="empty">None: {why}.</p>'
    most = max(map(_cost, worth))
    rows = (
        row(
            name(each.table),
            f'<td class="code"><code>{escape(each.column)}</code></td>',
            f'<td class="n">{size(each.lost_bytes)}{bar(_cost(each) / most)}</td>',
            f'<td class="n">{each.lost_files:,}</td>',
            f'<td class="n">{size(each.lost_alone)}</td>',
            f'<td class="n">{each.measured:,} of {each.scans:,}</td>',
        )
        for each in worth[:_MOST_ROWS]
    )
    heads = (
        "table",
        "column",
        "#read for nothing",
        "#files opened for nothing",
        "#bytes by itself",
        "#scans measured",
    )
    return about + grid(heads, rows) + cut(len(worth), _MOST_ROWS)


def _cost(each: ColumnUse) -> int:
    return cost(each.lost_bytes, each.lost_files)


def _depths(columns: Sequence[ColumnUse]) -> str:
    about = (
        '<p class="soft">With how many files, itself among them, a file shares part of its range '
        "of the column, on average, by the statistics of the latest scan. 1 is perfect; all of the "
        "files means that values rule out none.</p>"
    )
    if not columns:
        return f'{about}<p class="empty">No scan had a filter.</p>'
    ordered = sorted(columns, key=lambda each: (-each.scans, each.table, each.column))
    rows = (
        row(
            name(each.table),
            f'<td class="code"><code>{escape(each.column)}</code></td>',
            _depth(each),
            f'<td class="n">{each.scans:,}</td>',
        )
        for each in ordered[:_MOST_ROWS]
    )
    return (
        about
        + grid(("table", "column", "#depth", "#scans that filter by it"), rows)
        + cut(len(ordered), _MOST_ROWS)
    )


def _depth(use: ColumnUse) -> str:
    if use.depth is None:
        return '<td class="n soft">not known</td>'
    share = use.depth / use.files_total if use.files_total else 0
    return f'<td class="n">{use.depth:,.1f} of {count(use.files_total, "file")}{bar(share)}</td>'


def _table(table: TableUse, first: float, last: float) -> str:
    called, whole = short(table.table)
    told = [
        count(table.scans, "scan"),
        f"{size(table.bytes_read)} of {size(table.bytes_total)} read",
        f"planned in {milliseconds(table.planning_ms)} (median)",
    ]
    if table.unfiltered:
        told.append(f"{count(table.unfiltered, 'scan')} without a filter")
    if table.fallbacks:
        told.append(f"{table.fallbacks:,} read as plain Spark would")
    if table.observed:
        told.append(
            f"{count(table.observed, 'scan')} only observed: would have read "
            f"{size(table.would_read)} instead of {size(table.observed_bytes)}"
        )
    path = f"<small>{escape(whole)}</small>" if whole != called else ""
    plot = pruning_over_time(table.points, first, last)
    told_as = f"<small>{escape(' · '.join(told))}</small>"
    return tag("section", "card", f"<h3>{escape(called)}</h3>{path}{told_as}{plot}")
