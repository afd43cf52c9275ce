"""Functions of DuckDB that mean the same as a function of Spark.

Both systems treat text as UTF-8 and compare it byte by byte, return NULL for NULL, and find the
empty string in every text. Functions that are not here may differ: `/` and `//` divide differently,
`+` fails differently, `year` and `date_trunc` treat infinite dates differently, and months are
added differently.
"""

from __future__ import annotations

import re
from typing import Final

from tamis.expr.nodes import And, Call, Compare, Comparison, Expr, Literal, Opaque
from tamis.expr.types import BOOLEAN, STRING
from tamis.wire.duckdb.document import NotUnderstood, require

__all__ = ["TEXT_PREDICATES", "like", "text_predicate"]

#: DuckDB's name -> Catalyst's.
TEXT_PREDICATES: Final = {
    "prefix": "StartsWith",
    "starts_with": "StartsWith",
    "^@": "StartsWith",
    "suffix": "EndsWith",
    "ends_with": "EndsWith",
    "contains": "Contains",
}


def text_predicate(name: str, value: Expr, part: Expr) -> Expr:
    return Call(TEXT_PREDICATES[name], (value, part), (), BOOLEAN)


def like(value: Expr, pattern: Expr, shown: Opaque) -> Expr:
    """Return `value LIKE pattern`, using the part of the pattern before its first wildcard.

        R%      StartsWith(value, 'R')
        R_d%    StartsWith(value, 'R') AND ?    false or NULL where StartsWith is, else unknown
        Red     value = 'Red'

    DuckDB's LIKE has no escape character, so a backslash is an ordinary character.
    """
    if not (isinstance(pattern, Literal) and isinstance(pattern.value, str)):
        raise NotUnderstood
    start = re.split("[%_]", pattern.value, maxsplit=1)[0]
    if start == pattern.value:
        return Compare(Comparison.EQUAL, value, pattern)
    begins = text_predicate("prefix", value, Literal(start, STRING))
    if pattern.value == start + "%":
        return begins
    require(bool(start))
    return And((begins, shown))
