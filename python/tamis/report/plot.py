"""Plots for one table the share of files that each scan did not read, over time.

The plot is plain SVG that stretches to the available width. Lines and dots keep their size (they
are strokes that do not scale), and labels are text of the page, so the plot is legible on a phone.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from tamis.report.findings import Point
from tamis.report.numbers import moment, percent

__all__ = ["pruning_over_time"]

_WIDTH: Final = 1000
_HEIGHT: Final = 100
#: If there are more scans than this, only the line of means is drawn.
_MOST_DOTS: Final = 400
#: The number of stretches of time whose means form the line.
_STRETCHES: Final = 80


def pruning_over_time(points: Sequence[Point], first: float, last: float) -> str:
    """Return a figure in HTML.

    All plots span the time from `first` to `last`, in seconds since 1970, so they can be compared.
    """
    if not points:
        return '<p class="empty">No scan of this table had a filter.</p>'
    ordered = sorted(points, key=lambda each: each.time)
    spanned = last - first
    means = _means(ordered, first, spanned)
    dots = ordered if len(ordered) <= _MOST_DOTS else []
    marks = "".join(_dot(each, first, spanned) for each in dots)
    line = _line(means, first, spanned)
    label = f"Share of files not read, from {moment(first)} to {moment(last)} UTC"
    middle = f"<span>{moment(first + spanned / 2, spanned)}</span>" if spanned else ""
    end = f"<span>{moment(last, spanned)}</span>" if spanned else ""
    return (
        '<div class="plot"><div class="ticks"><span>100 %</span><span>50 %</span><span>0 %</span>'
        f'</div><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">'
        f'<path class="grid" d="M0 0H{_WIDTH}M0 {_HEIGHT / 2}H{_WIDTH}M0 {_HEIGHT}H{_WIDTH}"/>'
        f"{line}{marks}</svg>"
        f'<div class="times"><span>{moment(first, spanned)}</span>{middle}{end}</div></div>'
    )


def _x(time: float, first: float, spanned: float) -> float:
    return _WIDTH * (time - first) / spanned if spanned else _WIDTH / 2


def _y(share: float) -> float:
    return _HEIGHT * (1 - share)


def _dot(point: Point, first: float, spanned: float) -> str:
    label = (
        f"{moment(point.time)} UTC: {point.files_kept:,} of {point.files_total:,} files read, "
        f"{percent(point.pruned)} not read"
    )
    place = f"{_x(point.time, first, spanned):.1f} {_y(point.pruned):.1f}"
    # A line of zero length with round ends is a dot that does not stretch.
    return f'<path class="dot" d="M{place}h0"><title>{escape(label)}</title></path>'


def _means(ordered: Sequence[Point], first: float, spanned: float) -> list[tuple[float, float]]:
    """Return the mean time and share for each stretch of time in which there was a scan."""
    stretches: dict[int, list[Point]] = {}
    for point in ordered:
        place = int(_STRETCHES * (point.time - first) / spanned) if spanned else 0
        stretches.setdefault(min(place, _STRETCHES - 1), []).append(point)
    return [
        (
            sum(each.time for each in its) / len(its),
            sum(each.pruned for each in its) / len(its),
        )
        for its in stretches.values()
    ]


def _line(means: Sequence[tuple[float, float]], first: float, spanned: float) -> str:
    if len(means) < 2:
        return ""
    places = " ".join(f"{_x(time, first, spanned):.1f},{_y(share):.1f}" for time, share in means)
    return f'<polyline class="mean" points="{places}"/>'
