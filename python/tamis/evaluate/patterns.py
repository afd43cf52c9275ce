"""Predicates on strings: startswith, endswith, contains, LIKE, RLIKE.

Strings that begin with p are an interval: from p up to, not including, the next prefix. So

    x in [l, u]                                   StartsWith(x, p)
    u < p, or l is at or beyond the end of p      never true
    both l and u begin with p                     always true

LIKE and RLIKE with a literal beginning are at most as true as StartsWith. Of one single string
LIKE, EndsWith and Contains are computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.evaluate.bounds import NO, YES, Bounds, Flags
from tamis.evaluate.byte_rows import shared_beginning, strings_of
from tamis.evaluate.flags import all_of
from tamis.evaluate.interpreter import value
from tamis.evaluate.preimages import narrowed_by_preimage
from tamis.evaluate.statistics import Statistics
from tamis.evaluate.text import literal_prefix, of_points, successor
from tamis.evaluate.truth import TruthSet
from tamis.expr.nodes import Call, Literal
from tamis.expr.types import STRING

__all__ = ["contains", "ends_with", "like", "regular_expression", "starts_with"]


def _operands(call: Call, statistics: Statistics) -> tuple[Bounds, str] | None:
    """The bounds of the first argument, a string, and the constant second one."""
    match call.arguments:
        case (left, Literal(value=str(pattern), type=data_type)) if data_type == STRING:
            x = value(left, statistics)
            return (x, pattern) if x is not None and x.type == STRING else None
    return None


def starts_with(call: Call, statistics: Statistics) -> TruthSet:
    found = _operands(call, statistics)
    if found is None:
        return TruthSet.anything()
    x, prefix = found
    truths = TruthSet(
        lambda: all_of((x.can_be_value, _may_start(x, prefix.encode()))),
        lambda: all_of((x.can_be_value, _may_start_otherwise(x, prefix.encode()))),
        x.can_be_null,
    )
    return narrowed_by_preimage(truths, call, statistics)


def _may_start(x: Bounds, prefix: bytes) -> Flags:
    """Where [l, u] and the interval of the prefix meet."""
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
    """Where not both edges lie in the interval of the prefix."""
    if not prefix:
        return NO
    if x.lower is None or x.upper is None:
        return YES
    inside = pc.greater_equal(x.lower, pa.scalar(prefix, pa.large_binary()))
    end = successor(prefix)
    if end is not None:
        below = pc.less(x.upper, pa.scalar(end, pa.large_binary()))
        if x.upper_open is not None:  # the end itself is no value then
            at_end = pc.equal(x.upper, pa.scalar(end, pa.large_binary()))
            is_open = pa.array(np.broadcast_to(x.upper_open, len(x.upper)))
            below = pc.or_(below, pc.and_(at_end, is_open))
        inside = pc.and_(inside, below)
    flags: Flags = ~pc.fill_null(inside, False).to_numpy(zero_copy_only=False)
    return flags


def _flags(answer: pa.Array) -> Flags:
    """null: the edge is not known, so it may be."""
    flags: Flags = pc.fill_null(answer, True).to_numpy(zero_copy_only=False)
    return flags


#: No more than this is looked at of what all strings begin with.
_WIDTH = 64


def contains(call: Call, statistics: Statistics) -> TruthSet:
    """contains(x, part): computed of one string; true of all that begin with what contains it."""
    found = _operands(call, statistics)
    if found is None or found[0].lower is None or found[0].upper is None:
        return TruthSet.anything()
    x, part = found
    if len(found[0].lower) != len(found[0].upper):
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
    """endswith(x, end): computed of one string."""
    found = _operands(call, statistics)
    if found is None or found[0].lower is None or found[0].upper is None:
        return TruthSet.anything()
    x, end = found
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
    """What every string between the edges begins with."""
    known = pc.and_(pc.is_valid(x.lower), pc.is_valid(x.upper)).to_numpy(zero_copy_only=False)
    return strings_of(*shared_beginning(x.lower, x.upper, _WIDTH, x.upper_open), known)


def _holds(answer: pa.Array) -> Flags:
    """null: the edge is not known, so it is not known to hold."""
    flags: Flags = pc.fill_null(answer, False).to_numpy(zero_copy_only=False)
    return flags


def like(call: Call, statistics: Statistics) -> TruthSet:
    """LIKE: true only of strings that begin as the pattern does, up to its first wildcard."""
    found = _operands(call, statistics)
    escape = call.option("escapeChar")
    if found is None or not isinstance(escape, str) or len(escape) != 1:
        return TruthSet.anything()
    x, pattern = found
    split = literal_prefix(pattern, escape)
    if split is None:
        return TruthSet.anything()  # Spark raises
    prefix, has_wildcard = split
    may_start = all_of((x.can_be_value, _may_start(x, prefix.encode())))
    if has_wildcard:
        found_in = of_points(x, _matcher(pattern, escape))
        # null: not one string.
        may_hold = _flags(pc.not_equal(found_in, pa.scalar(b"0", found_in.type)))
        may_fail = _flags(pc.not_equal(found_in, pa.scalar(b"1", found_in.type)))
        truths = TruthSet(
            all_of((may_start, may_hold)), all_of((x.can_be_value, may_fail)), x.can_be_null
        )
        return narrowed_by_preimage(truths, call, statistics)
    # Without a wildcard it is equality.
    text = pa.scalar(prefix.encode(), pa.large_binary())
    may_equal = YES
    if x.lower is not None and x.upper is not None:
        may_equal = _flags(
            pc.and_kleene(pc.less_equal(x.lower, text), pc.greater_equal(x.upper, text))
        )
    truths = TruthSet(all_of((may_start, may_equal)), x.can_be_value, x.can_be_null)
    return narrowed_by_preimage(truths, call, statistics)


def _matcher(pattern: str, escape: str) -> Callable[[str], str]:
    """Whether a text is LIKE the pattern, which is not broken: "1" or "0"."""
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


#: Characters that mean themselves in Java's regular expressions, wherever they stand.
_PLAIN = re.compile(r"\^([A-Za-z0-9 _,:;/@#~=<>!\"'%&\u00a1-\ud7ff-]*)")


def regular_expression(call: Call, statistics: Statistics) -> TruthSet:
    """RLIKE '^abc…': true only of strings that begin with abc.

    A quantifier may follow and speak of the last character, so that one is left out unless the
    pattern ends there. An alternative (|) or an inline flag, (?i), undoes the anchor: unknown.
    """
    found = _operands(call, statistics)
    match = None if found is None else _PLAIN.match(found[1])
    if found is None or match is None or "|" in found[1] or "(?" in found[1]:
        return TruthSet.anything()
    x, pattern = found
    if not _is_java_expression(pattern[match.end() :]):
        return TruthSet.anything()
    prefix = match[1] if match.end() == len(pattern) else match[1][:-1]
    may_start = all_of((x.can_be_value, _may_start(x, prefix.encode())))
    return TruthSet(may_start, x.can_be_value, x.can_be_null)


def _is_java_expression(rest: str) -> bool:
    """Whether what follows is surely a valid expression of Java, which otherwise raises."""
    return (
        re.fullmatch(r"(?:\.[*+?]?|[A-Za-z0-9 _-][*+?]?|\[(?:0-9|a-z|A-Z)+\][*+?]?)*\$?", rest)
        is not None
    )
