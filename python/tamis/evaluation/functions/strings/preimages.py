"""Predicates over a function of a string, evaluated on the string itself.

    upper(c) = 'MAIL'          c is one of MAIL, MAIl, … mail
    trim(c) = 'MAIL'           c is MAIL, or begins with a space, or with MAIL and a space
    lower(c) LIKE 'ma%'        c begins with MA, Ma, mA or ma

The predicate restricts f(c) to a set of spans of strings. It is true only if c lies in the preimage
of these spans under f, and false only if c lies in the preimage of all other strings. Both
preimages are computed as supersets. So where [l, u] meets no span of the first, no ordinary value
makes the predicate true; where it meets no span of the second, none makes it false. Nested
functions are inverted one by one, from the outside. The result only narrows what the bounds of f(c)
prove: those are more precise where a container holds a single string, and where there are
statistics of f(c) itself.

For a superset of the preimage of T = [lower, upper), let t = f(s) be in T. Either s = t, or s is
longer than t:

rtrim      s = t w, where w consists of trimmed characters. If s < upper, then s is in T, because
           s >= t. Otherwise t < upper <= t w, so upper begins with t, and s begins with t and the
           first character of w.
ltrim      s = w t. If w is not empty, s begins with a trimmed character. If only one character is
           trimmed, repetitions of it are distinguished by their number, up to _MOST_TRIMMED. t
           itself never begins with a trimmed character.
substring  s = t r, where t is the first n characters. If s < upper, then s is in T. Otherwise, as
           above, upper begins with t, so t is the first n characters of upper, and s begins with t.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from tamis.evaluation.domain.bounds import Bounds, Flags, is_always
from tamis.evaluation.domain.spans import (
    Edges,
    Span,
    Spans,
    beginning_with,
    complement,
    edges_of,
    may_meet,
    merged,
    only,
    successor,
    without,
)
from tamis.evaluation.domain.truth import TruthSet
from tamis.evaluation.functions.strings.case_preimages import case_preimage
from tamis.evaluation.functions.strings.string_parts import beginning
from tamis.evaluation.functions.strings.text import literal_prefix
from tamis.evaluation.interpreter import value
from tamis.evaluation.node_cache import once_a_node
from tamis.evaluation.statistics import Statistics
from tamis.expr.nodes import Call, Compare, Comparison, Expr, In, Literal, type_of
from tamis.expr.types import STRING

__all__ = ["narrowed_by_preimage"]

#: Longer lists and sets of more spans are not inverted.
_MOST_OPTIONS: Final = 64
_MOST_SPANS: Final = 4_096
#: Limits on the pieces of a preimage under upper or lower: all spans share the first, but no span
#: has a limit below the second.
_MOST_PIECES: Final = 96
_FEWEST_PIECES: Final = 16
#: Up to this many leading trimmed characters, their exact number is distinguished.
_MOST_TRIMMED: Final = 4

#: Returns the preimage of spans under a call, or None if it is not known.
_Preimage: TypeAlias = Callable[[Call, Spans], Spans | None]


def narrowed_by_preimage(truths: TruthSet, expr: Expr, statistics: Statistics) -> TruthSet:
    """Narrow the truth set of a predicate if its first argument is an invertible function."""
    if not isinstance(_subject(expr), Call):
        return truths
    limits = _limits_of(expr)
    if limits is None:
        return truths
    x = value(limits.subject, statistics)
    if x is None or x.type != STRING or (x.lower is None and x.upper is None):
        return truths
    return TruthSet(
        lambda: _met(truths.can_be_true, x, limits.of_true),
        lambda: _met(truths.can_be_false, x, limits.of_false),
        lambda: truths.can_be_null,
    )


def _met(flags: Flags, x: Bounds, edges: Edges | None) -> Flags:
    if edges is None or not flags.any():
        return flags
    if is_always(flags):
        return may_meet(x, edges)
    rows = np.flatnonzero(flags)
    narrower = np.zeros(len(flags), np.bool_)
    narrower[rows] = may_meet(x.take(rows), edges)
    return narrower


@dataclass(frozen=True, slots=True, eq=False)
class _Limits:
    """The values of the subject that may make the predicate true or false; None: any value."""

    subject: Expr
    of_true: Edges | None
    of_false: Edges | None


def _subject(expr: Expr) -> Expr | None:
    match expr:
        case Compare(left=subject, right=Literal()) | Compare(left=Literal(), right=subject):
            return subject
        case Call(arguments=(subject, Literal())) | In(value=subject):
            return subject
        case _:
            return None


@once_a_node
def _limits_of(expr: Expr) -> _Limits | None:
    spans, subject = _true_spans(expr), _subject(expr)
    if spans is None or subject is None or type_of(subject) != STRING:
        return None
    of_true: Spans | None
    of_false: Spans | None
    of_true, false_elsewhere = spans
    of_false = complement(of_true) if false_elsewhere else None
    start = subject
    while isinstance(subject, Call) and subject.name in _PREIMAGES and subject.arguments:
        preimage = _PREIMAGES[subject.name]
        above = (of_true, of_false)
        of_true, of_false = (_followed(preimage, subject, each) for each in above)
        if of_true is None and of_false is None:
            of_true, of_false = above
            break
        subject = subject.arguments[0]
    if subject is start or type_of(subject) != STRING:
        return None
    edges = [None if each is None else edges_of(each) for each in (of_true, of_false)]
    return _Limits(subject, edges[0], edges[1])


def _followed(preimage: _Preimage, call: Call, spans: Spans | None) -> Spans | None:
    inverted = None if spans is None else preimage(call, spans)
    return None if inverted is None or len(inverted) > _MOST_SPANS else inverted


def _true_spans(expr: Expr) -> tuple[Spans, bool] | None:
    """Return the strings for which the predicate is true, and whether all others make it false."""
    match expr:
        case Compare(op=op, right=Literal(value=str(constant))):
            return _compared(op, constant.encode())
        case Compare(op=op, left=Literal(value=str(constant))):
            return _compared(op.swapped, constant.encode())
        case In(options=options, has_null=has_null) if 0 < len(options) <= _MOST_OPTIONS:
            texts = [option.encode() for option in options if isinstance(option, str)]
            all_strings = len(texts) == len(options)
            return (merged(map(only, texts)), not has_null) if all_strings else None
        case Call(name="StartsWith", arguments=(_, Literal(value=str(prefix)))):
            return (beginning_with(prefix.encode()),), True
        case Call(name="Like", arguments=(_, Literal(value=str(pattern)))):
            return _like(pattern, expr.option("escapeChar"))
        case _:
            return None


def _like(pattern: str, escape: object) -> tuple[Spans, bool] | None:
    split = literal_prefix(pattern, escape) if isinstance(escape, str) else None
    if split is None:
        return None
    prefix, has_wildcard = split[0].encode(), split[1]
    return ((beginning_with(prefix) if has_wildcard else only(prefix)),), not has_wildcard


def _compared(op: Comparison, constant: bytes) -> tuple[Spans, bool] | None:
    point = only(constant)
    match op:
        case Comparison.EQUAL | Comparison.NULL_SAFE_EQUAL:
            spans: Spans = (point,)
        case Comparison.NOT_EQUAL:
            spans = complement((point,))
        case Comparison.LESS:
            spans = merged([(b"", constant)])
        case Comparison.LESS_EQUAL:
            spans = ((b"", point[1]),)
        case Comparison.GREATER:
            spans = ((constant + b"\0", None),)
        case Comparison.GREATER_EQUAL:
            spans = ((constant, None),)
    # x <=> c is false for NULL too. NULL is not an ordinary value, so spans must not rule it out.
    return spans, op is not Comparison.NULL_SAFE_EQUAL


def _cased(to_upper: bool) -> _Preimage:
    def preimage(call: Call, spans: Spans) -> Spans | None:
        if len(call.arguments) != 1:
            return None
        most = max(_FEWEST_PIECES, _MOST_PIECES // max(len(spans), 1))
        return merged(each for span in spans for each in case_preimage(to_upper, span, most))

    return preimage


def _trimmed(left: bool, right: bool) -> _Preimage:
    def preimage(call: Call, spans: Spans) -> Spans | None:
        match call.arguments:
            case (_,):
                characters = " "
            case (_, Literal(value=str(characters))) if characters.isascii():
                pass
            case _:
                return None
        bytes_ = [bytes([byte]) for byte in sorted(set(characters.encode()))]
        if right and len(call.arguments) == 1:
            # Trailing spaces are removed, so no result ends with one: drop the spans of single
            # strings that do.
            spans = tuple(span for span in spans if span != only(span[0]) or span[0][-1:] != b" ")
        if right:
            spans = merged(each for span in spans for each in _with_ends(span, bytes_))
        return _with_beginnings(spans, bytes_) if left else spans

    return preimage


def _with_ends(span: Span, trimmed: list[bytes]) -> list[Span]:
    """Return the strings that rtrim may map into the span; see above."""
    lower, upper = span
    beginnings = [] if upper is None else [upper[:length] for length in range(len(upper))]
    return [
        span,
        *(beginning_with(t + each) for t in beginnings if t >= lower for each in trimmed),
    ]


def _with_beginnings(spans: Spans, trimmed: list[bytes]) -> Spans:
    """Return the strings that ltrim may map into the spans; see above."""
    for each in trimmed:
        spans = without(spans, beginning_with(each))
    if len(trimmed) != 1:
        return merged([*spans, *map(beginning_with, trimmed)])
    (byte,) = trimmed
    inverted = [*spans, beginning_with(byte * (_MOST_TRIMMED + 1))]
    for count in range(1, _MOST_TRIMMED + 1):
        start = byte * count
        end = successor(start)
        inverted.extend(
            (start + lower, end if upper is None else start + upper) for lower, upper in spans
        )
    return merged(inverted)


def _beginning(call: Call, spans: Spans) -> Spans | None:
    match call.arguments:
        case (_, Literal(value=0 | 1), Literal(value=int(count))) if count > 0:
            pass
        case _:
            return None
    inverted: list[Span] = list(spans)
    for lower, upper in spans:
        text = None if upper is None else beginning(upper, count)
        if text is not None and text != upper and text >= lower:
            inverted.append(beginning_with(text))
    return merged(inverted)


_PREIMAGES: Final[dict[str, _Preimage]] = {
    "Upper": _cased(to_upper=True),
    "Lower": _cased(to_upper=False),
    "StringTrim": _trimmed(left=True, right=True),
    "StringTrimLeft": _trimmed(left=True, right=False),
    "StringTrimRight": _trimmed(left=False, right=True),
    "Substring": _beginning,
}
