"""Find CSV files in which Spark's parser reads a column differently if it skips another one.

A query parses only the columns that it needs. In a column that it skips, the parser takes the quote
after an escape character as escaped, even if that character is itself escaped or is the opening
quote, and then reads on over the following columns (univocity 2.9, `skipQuotedString`). So
statistics, for which all columns are parsed, hold for every query only if quotes are plain: each
line consists of fields without a quote, and of fields in quotes that hold neither a quote nor the
escape character.
"""

from __future__ import annotations

from typing import Final

from tamis.indexing.read.reader_options import Reading

__all__ = ["SUSPICIOUS", "plain_lines"]

#: The problem of a file with other quotes.
SUSPICIOUS: Final = (
    "some lines have quotes that Spark may read differently, depending on the columns that a query "
    "needs"
)


def plain_lines(reading: Reading) -> str | None:
    r"""Return a Java regular expression that matches lines with plain quotes only.

    Returns:
        None: the reader knows no quotes, or is not that of CSV.

    >>> import re
    >>> pattern = re.compile(plain_lines(Reading("csv", "", "", {}, {}, {})) or "")
    >>> [bool(pattern.search(line)) for line in ('a,"b c",,7', '"a,b"', '"",7', 'a"b', '"a\\",7')]
    [True, True, True, False, False]
    """
    options = reading.options
    quote, escape = options.get("quote", '"'), options.get("escape", "\\")
    if reading.format != "csv" or quote in ("", "\0"):
        return None
    separator = options.get("sep", options.get("delimiter", ","))
    if len(separator) != 1:  # longer, or an escape such as backslash and t
        return f"^{_except(quote)}*+$"
    some = "++" if escape == quote else "*+"
    quoted = f"{_one(quote)}{_except(quote + escape)}{some}{_one(quote)}"
    field = f"(?:{quoted}|{_except(quote + separator)}*+)"
    return f"^{field}(?:{_one(separator)}{field})*+$"


def _one(character: str) -> str:
    return f"\\u{ord(character):04x}"


def _except(characters: str) -> str:
    return f"[^{''.join(map(_one, characters))}]"
