"""Formats numbers for people, with their units."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["count", "milliseconds", "moment", "percent", "size"]

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def size(number: float) -> str:
    """Format bytes with up to three digits before the point; 1 kB is 1,000 bytes.

    >>> size(0), size(999), size(1_530), size(12_345_678), size(999_999)
    ('0 bytes', '999 bytes', '1.53 kB', '12.3 MB', '1.00 MB')
    """
    if number < 1000:
        return f"{round(number)} bytes"
    unit = 0
    while number >= 999.5 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    digits = 2 if number < 9.995 else 1 if number < 99.95 else 0
    return f"{number:.{digits}f} {_UNITS[unit]}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Format a count with its noun.

    >>> count(1, "scan"), count(1234, "file"), count(0, "query", "queries")
    ('1 scan', '1,234 files', '0 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """Format a share in percent; "0 %" and "100 %" only if exact.

    >>> percent(0), percent(0.00004), percent(0.0312), percent(0.5), percent(0.9999), percent(1)
    ('0 %', '< 0.1 %', '3.1 %', '50 %', '> 99.9 %', '100 %')
    """
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    if share < 0.001:
        return "< 0.1 %"
    if share > 0.999:
        return "> 99.9 %"
    digits = 1 if share < 0.1 or share > 0.9 else 0
    return f"{100 * share:.{digits}f} %"


def milliseconds(number: float | None) -> str:
    """Format a duration; a dash if it is not known.

    >>> milliseconds(0.42), milliseconds(1234.5), milliseconds(None)
    ('0.4 ms', '1,234 ms', '–')
    """
    if number is None:
        return "–"
    return f"{number:,.1f} ms" if number < 100 else f"{number:,.0f} ms"


def moment(seconds: float, spanned: float = 0) -> str:
    """Format a time in UTC; without the time of day if the plot spans more than four days.

    >>> moment(0), moment(0, spanned=86_400 * 30)
    ('1970-01-01 00:00', '1970-01-01')
    """
    form = "%Y-%m-%d" if spanned > 86_400 * 4 else "%Y-%m-%d %H:%M"
    return datetime.fromtimestamp(seconds, UTC).strftime(form)
