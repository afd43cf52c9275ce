"""The table of all functions that have a rule, joined from the families that own its entries.

`make operators` writes docs/operators.md from this table. docs/adding_an_operator.md describes how
to add a function.
"""

from __future__ import annotations

from typing import Final

from tamis.evaluation.functions import conditional, tagging
from tamis.evaluation.functions.arithmetic import (
    elementary,
    factorial,
    products,
    remainders,
    rounding,
    signs,
    sums,
    width_bucket,
)
from tamis.evaluation.functions.casts import casts
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.strings import (
    concatenation,
    letter_case,
    patterns,
    single_values,
    string_parts,
)
from tamis.evaluation.functions.temporal import (
    dates,
    formats,
    moved_moments,
    parsing,
    time_differences,
    timestamps,
)

__all__ = ["FAMILIES", "FUNCTION_ENTRIES", "to_markdown"]

#: The modules that own entries, in the order of docs/operators.md.
FAMILIES: Final = (
    casts,
    dates,
    timestamps,
    moved_moments,
    time_differences,
    formats,
    parsing,
    sums,
    products,
    remainders,
    signs,
    rounding,
    elementary,
    factorial,
    width_bucket,
    patterns,
    string_parts,
    concatenation,
    letter_case,
    single_values,
    conditional,
    tagging,
)
FUNCTION_ENTRIES: Final[tuple[FunctionEntry, ...]] = tuple(
    entry for family in FAMILIES for entry in family.ENTRIES
)


def _line(entry: FunctionEntry) -> str:
    sql = entry.sql.replace("|", "\\|")
    note = f" {entry.note} " if entry.note else " "
    return f"| `{sql}` | {entry.name} | {entry.knowledge} |{note}|"


def to_markdown() -> str:
    """Return the text of docs/operators.md."""
    kinds = {
        Knowledge.MONOTONE: "the edges of the argument map to the edges of the result",
        Knowledge.PIECEWISE: "monotone within a piece (a year, a day); otherwise the full range",
        Knowledge.INTERVAL: "interval arithmetic",
        Knowledge.PREFIX: "by the prefix that all strings of a file share",
        Knowledge.POINT: "computed where all values of a file are equal; otherwise not known",
        Knowledge.CHOICE: "from the least to the greatest of the arguments that may be chosen",
    }
    lines = [
        "# Operators and functions",
        "",
        "<!-- Made by `make operators` from the entries in python/tamis/evaluation/functions. -->",
        "",
        "Comparisons, IN, IS NULL, AND, OR and NOT prune over columns, constants and the functions",
        "below, nested in any way. Predicates over upper, lower, trim and prefixes of a string",
        "also prune by the string itself. A predicate over a function that is not listed keeps",
        "every file. A listed function keeps a file if it might raise an error or overflow for a",
        "value within the bounds of the file.",
        "",
        "For your own functions, tamis uses what you declare:",
        "[declared_functions.md](declared_functions.md).",
        "",
        "| known | meaning |",
        "| --- | --- |",
        *(f"| {kind} | {meaning} |" for kind, meaning in kinds.items()),
        "",
        "| function | in Catalyst | known | note |",
        "| --- | --- | --- | --- |",
        *map(_line, FUNCTION_ENTRIES),
        "",
    ]
    return "\n".join(lines)
