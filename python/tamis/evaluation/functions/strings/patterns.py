"""Predicates on strings: startswith, endswith, contains, LIKE, RLIKE.

The strings that begin with p form an interval: from p up to, but not including, the successor of
p, which is the least string greater than all of them. So

    x in [l, u]                    StartsWith(x, p)
    u < p, or l >= successor(p)    never true
    both l and u begin with p      always true

LIKE and RLIKE with a literal prefix can be true only where StartsWith is. LIKE, EndsWith and
Contains are computed where all strings of a container are the same one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluation.domain.bounds import NO, YES, Bounds, Flags
from tamis.evaluation.domain.flags import all_of
from tamis.evaluation.domain.spans import successor
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.functions.function_entry import FunctionEntry, Knowledge
from tamis.evaluation.functions.strings.byte_rows import shared_beginning, strings_of
from tamis.evaluation.functions.strings.preimages import narrowed_by_preimage
from tamis.evaluation.functions.strings.text import literal_prefix, of_points
from tamis.evaluation.interpreter import value
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import STRING

__all__ = ["ENTRIES", "contains", "ends_with", "like", "regular_expression", "starts_with"]


def _operands(call: Call, statistics: Statistics) -> tuple[Bounds, str] | None:
    """Return the bounds of the first argument, a string, and the constant second argument."""
    match call.arguments:
        case (left, Literal(value=str(pattern), type=data_type)) if data_type == STRING:
            x = value(left, statistics)
            return (x, pattern) if x is not None and x.type == STRING else None
    return None


def starts_with(call: Call, statistics: Statistics) -> TruthSet:
    operands = _operands(call, statistics)
    if operands is None:
        return TruthSet.anything()
    x, prefix = operands
    truths = TruthSet(
        lambda: all_of((x.can_be_value, _may_start(x, prefix.encode()))),
        lambda: all_of((x.can_be_value, _may_start_otherwise(x, prefix.encode()))),
        x.can_be_null,
    )
    return narrowed_by_preimage(truths, call, statistics)


def _may_start(x: Bounds, prefix: bytes) -> Flags:
    """Return where [l, u] and the interval of the prefix may meet."""
    meets = YES
    if x.upper is not None:
        meets = meets & _flags(pc.greater_equal(x.upper, pa.scalar(prefix, pa.large_binary())))
        if x.upper_open is not None:
            above = _flags(pc.greater(x.upper, pa.scalar(prefix, pa.large_binary())))
            meets = meets & (above | ~x.upper_open)
    end = successor(prefix)
    if x.lower is not None and end is not None:
        meets = meets & _flags(pc.less(x.lower, pa.scalar(end, pa.large_binary())))
    return meets


def _may_start_otherwise(x: Bounds, prefix: bytes) -> Flags:
    """Return where the edges are not both known to lie in the interval of the prefix."""
    if not prefix:
        return NO
    if x.lower is None or x.upper is None:
        return YES
    inside = _holds(pc.greater_equal(x.lower, pa.scalar(prefix, pa.large_binary())))
    end = successor(prefix)
    if end is not None:
        below = _holds(pc.less(x.upper, pa.scalar(end, pa.large_binary())))
        if x.upper_open is not None:  # an upper edge at the end is then not itself a value
            at_end = _holds(pc.equal(x.upper, pa.scalar(end, pa.large_binary())))
            below = below | (at_end & x.upper_open)
        inside = inside & below
    return ~inside


def _flags(answer: pa.Array) -> Flags:
    """Return the answers as flags. null means an unknown edge, so the answer may be True."""
    flags: Flags = pc.fill_null(answer, True).to_numpy(zero_copy_only=False)
    return flags


#: The shared prefix of all strings is cut to this many bytes.
_WIDTH = 64


def contains(call: Call, statistics: Statistics) -> TruthSet:
    """contains(x, part).

    Computed where there is a single string. True where all strings share a prefix that contains
    the part.
    """
    operands = _operands(call, statistics)
    if operands is None or operands[0].lower is None or operands[0].upper is None:
        return TruthSet.anything()
    x, part = operands
    if len(operands[0].lower) != len(operands[0].upper):
        return TruthSet.anything()
    one = _is_one(x)
    may_hold = ~one | _holds(pc.match_substring(x.lower, pattern=part.encode()))

    def may_fail() -> Flags:
        if one.all():
            return ~may_hold
        holds = _holds(pc.match_substring(_beginning_of_all(x), pattern=part.encode()))
        return ~(holds | (one & may_hold))

    return TruthSet(
        all_of((x.can_be_value, may_hold)),
        lambda: all_of((x.can_be_value, may_fail())),
        x.can_be_null,
    )


def ends_with(call: Call, statistics: Statistics) -> TruthSet:
    """endswith(x, end), computed where there is a single string."""
    operands = _operands(call, statistics)
    if operands is None or operands[0].lower is None or operands[0].upper is None:
        return TruthSet.anything()
    x, end = operands
    one = _is_one(x)
    holds = _holds(pc.ends_with(x.lower, pattern=end.encode())) | (not end)
    return TruthSet(
        all_of((x.can_be_value, ~one | holds)),
        all_of((x.can_be_value, ~one | ~holds)),
        x.can_be_null,
    )


def _is_one(x: Bounds) -> Flags:
    if x.lower is None or x.upper is None or len(x.lower) != len(x.upper):
        return NO
    return _holds(pc.equal(x.lower, x.upper))


def _beginning_of_all(x: Bounds) -> pa.Array:
    """Return the prefix that all strings between the edges share."""
    known = pc.and_(pc.is_valid(x.lower), pc.is_valid(x.upper)).to_numpy(zero_copy_only=False)
    return strings_of(*shared_beginning(x.lower, x.upper, _WIDTH, x.upper_open), known)


def _holds(answer: pa.Array) -> Flags:
    """Return the answers as flags. null means an unknown edge, so nothing is known to hold."""
    flags: Flags = pc.fill_null(answer, False).to_numpy(zero_copy_only=False)
    return flags


def like(call: Call, statistics: Statistics) -> TruthSet:
    """LIKE: true only for strings with the literal prefix of the pattern, before any wildcard."""
    operands = _operands(call, statistics)
    escape = call.option("escapeChar")
    if operands is None or not isinstance(escape, str) or len(escape) != 1:
        return TruthSet.anything()
    x, pattern = operands
    split = literal_prefix(pattern, escape)
    if split is None:
        return TruthSet.anything()  # Spark raises
    prefix, has_wildcard = split
    may_start = all_of((x.can_be_value, _may_start(x, prefix.encode())))
    if has_wildcard:
        matches = of_points(x, _matcher(pattern, escape))
        # null: not a single string.
        may_hold = _flags(pc.not_equal(matches, pa.scalar(b"0", matches.type)))
        may_fail = _flags(pc.not_equal(matches, pa.scalar(b"1", matches.type)))
        truths = TruthSet(
            all_of((may_start, may_hold)), all_of((x.can_be_value, may_fail)), x.can_be_null
        )
        return narrowed_by_preimage(truths, call, statistics)
    # Without a wildcard, LIKE is equality.
    text = pa.scalar(prefix.encode(), pa.large_binary())
    may_equal = YES
    if x.lower is not None and x.upper is not None:
        may_equal = _flags(
            pc.and_kleene(pc.less_equal(x.lower, text), pc.greater_equal(x.upper, text))
        )
    truths = TruthSet(all_of((may_start, may_equal)), x.can_be_value, x.can_be_null)
    return narrowed_by_preimage(truths, call, statistics)


def _matcher(pattern: str, escape: str) -> Callable[[str], str]:
    """Return a function that gives "1" for text that is LIKE the pattern, else "0".

    The pattern must be valid (literal_prefix accepts it).
    """
    parts, position = [], 0
    while position < len(pattern):
        character = pattern[position]
        if character == escape:
            position += 1
            parts.append(re.escape(pattern[position]))
        else:
            parts.append({"_": ".", "%": ".*"}.get(character, re.escape(character)))
        position += 1
    expression = re.compile("".join(parts), re.DOTALL)
    return lambda text: "1" if expression.fullmatch(text) else "0"


#: An anchor, then characters that stand for themselves anywhere in a Java regular expression.
_PLAIN = re.compile(r"\^([A-Za-z0-9 _,:;/@#~=<>!\"'%&\u00a1-\ud7ff-]*)")


def regular_expression(call: Call, statistics: Statistics) -> TruthSet:
    """RLIKE '^abc…': true only for strings that begin with abc.

    A quantifier may follow and apply to the last literal character, so that character is left out
    unless the pattern ends there. With an alternative (|) or an inline flag such as (?i), the
    string need not begin with the literal: nothing is known.
    """
    operands = _operands(call, statistics)
    match = None if operands is None else _PLAIN.match(operands[1])
    if operands is None or match is None or "|" in operands[1] or "(?" in operands[1]:
        return TruthSet.anything()
    x, pattern = operands
    if not _is_java_expression(pattern[match.end() :]):
        return TruthSet.anything()
    prefix = match[1] if match.end() == len(pattern) else match[1][:-1]
    may_start = all_of((x.can_be_value, _may_start(x, prefix.encode())))
    return TruthSet(may_start, x.can_be_value, x.can_be_null)


def _is_java_expression(rest: str) -> bool:
    """Return whether the rest is surely a valid Java expression; an invalid pattern raises."""
    return (
        re.fullmatch(r"(?:\.[*+?]?|[A-Za-z0-9 _-][*+?]?|\[(?:0-9|a-z|A-Z)+\][*+?]?)*\$?", rest)
        is not None
    )


ENTRIES: Final = (
    FunctionEntry(
        "StartsWith",
        "startswith, LIKE 'p%'",
        Knowledge.PREFIX,
        predicate=starts_with,
        never_raises=True,
    ),
    FunctionEntry("Like", "LIKE", Knowledge.PREFIX, predicate=like),
    FunctionEntry(
        "RLike", "RLIKE", Knowledge.PREFIX, predicate=regular_expression, note="'^literal…'"
    ),
    FunctionEntry(
        "EndsWith", "endswith, LIKE '%s'", Knowledge.POINT, predicate=ends_with, never_raises=True
    ),
    FunctionEntry(
        "Contains", "contains, LIKE '%s%'", Knowledge.PREFIX, predicate=contains, never_raises=True
    ),
)
