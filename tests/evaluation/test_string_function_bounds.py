"""Functions of strings between two edges: every pair of edges from a few dozen strings.

For each function the table states its bounds as a function of the two edges. If both edges are the
same string, the bounds are its value. No string between the edges has a value outside the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement, product
from typing import Any

import pyarrow as pa
import pytest

from tamis.expr.nodes import Call, Column, type_of
from tamis.expr.sql import to_sql
from tamis.expr.types import BINARY, BOOLEAN, INTEGER, STRING
from tamis.files.table import ArrowStatistics
from tests.differential.claims import claim_of
from tests.differential.exact_claims import Table, claim_over, table_over
from tests.differential.rows import row_value
from tests.evaluation.test_exact_bounds import call

s = Column(("s",), STRING)
_LETTERS = ("a", "B", "i", " ", "\x7f", "é")
STRINGS = sorted(
    {
        *("".join(each) for size in range(3) for each in product(_LETTERS, repeat=size)),
        *("aa ", "aaB", "aB a", "aBa", "aBb", "aBé", "aBi", "  a", "a\0", "aBaB", "\U0010ffffa"),
    },
    key=str.encode,
)
PAIRS = list(combinations_with_replacement(STRINGS, 2))
#: The lower and the upper edge. None: unknown.
Edges = tuple[bytes | int | None, bytes | int | None]
Rule = Callable[[bytes, bytes], Edges]


def common_prefix(low: bytes, high: bytes) -> bytes:
    """Return the common prefix."""
    size = next(
        (place for place, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), None
    )
    return low[: min(len(low), len(high)) if size is None else size]


def unknown(low: bytes, high: bytes) -> Edges:
    return None, None


def unknown_truth(low: bytes, high: bytes) -> Edges:
    return 0, 1


def monotone(function: Callable[[bytes], Any]) -> Rule:
    """Bounds of a function that rises: the edges map to the edges."""
    return lambda low, high: (function(low), function(high))


def followed_by(end: bytes) -> Rule:
    """Bound x || end. The greatest is a prefix of the upper edge, not below the lower edge."""

    def rule(low: bytes, high: bytes) -> Edges:
        beginnings = [high[:size] for size in range(len(high) + 1)]
        return low, max(each + end for each in beginnings if each >= low)

    return rule


def trimmed_at_end(low: bytes, high: bytes) -> Edges:
    stops = [place for place, byte in enumerate(low) if byte <= 0x20]
    return low[: stops[0]] if stops else low, high


def trimmed_at_start(low: bytes, high: bytes) -> Edges:
    return (low, high) if low[:1] > b" " else (None, None)


def trimmed(low: bytes, high: bytes) -> Edges:
    return trimmed_at_end(low, high) if low[:1] > b" " else (None, None)


def mapped(function: Callable[[str], str]) -> Rule:
    """Bounds by the mapped common prefix, up to an i or the first non-ASCII character."""

    def rule(low: bytes, high: bytes) -> Edges:
        prefix = common_prefix(low, high)
        stops = [place for place, byte in enumerate(prefix) if byte >= 0x80 or byte in b"iI"]
        begin = function(prefix[: stops[0] if stops else None].decode()).encode()
        return begin, begin[:-1] + bytes([begin[-1] + 1]) if begin else None

    return rule


def part_of(start: int, size: int) -> Rule:
    """Monotone after a common ASCII prefix."""

    def rule(low: bytes, high: bytes) -> Edges:
        begin = start - 1
        if low[:begin] != high[:begin] or len(low) < begin or not low[:begin].isascii():
            return None, None
        rest = (each[begin:].decode()[:size].encode() for each in (low, high))
        return next(rest), next(rest)

    return rule


def containing(part: bytes) -> Rule:
    return lambda low, high: (int(part in common_prefix(low, high)), 1)


def may_begin_with(begin: bytes) -> Rule:
    """LIKE and RLIKE are at most as true as StartsWith."""
    return lambda low, high: (0, begins_with(begin)(low, high)[1])


def begins_with(begin: bytes) -> Rule:
    end = begin[:-1] + bytes([begin[-1] + 1])
    return lambda low, high: (int(begin <= low and high < end), int(low < end and high >= begin))


def first_characters(size: int) -> Callable[[bytes], bytes]:
    return lambda text: text.decode()[:size].encode()


TABLE: tuple[tuple[Call, Rule], ...] = (
    *((call("Substring", STRING, s, start, size), monotone(first_characters(size))) for start in (0, 1) for size in (1, 2, 3)),
    *((call("Substring", STRING, s, start, size), part_of(start, size)) for start in (2, 3) for size in (1, 2)),
    *((call("Substring", STRING, s, start, 1), unknown) for start in (-1, -2)),
    *((call("Substring", STRING, s, start, 0), monotone(lambda text: b"")) for start in (1, 2, -1)),
    *((call("Concat", STRING, before, s), monotone(before.encode().__add__)) for before in ("", "p", "é")),
    *((call("Concat", STRING, s, end), followed_by(end.encode())) for end in ("a", "B", "aB", "é", "\0", "ba", "\U0010ffff")),
    (call("Concat", STRING, s, ""), monotone(lambda text: text)),
    (call("StringTrimRight", STRING, s), trimmed_at_end),
    (call("StringTrimLeft", STRING, s), trimmed_at_start),
    (call("StringTrim", STRING, s), trimmed),
    (call("Upper", STRING, s), mapped(str.upper)),
    (call("Lower", STRING, s), mapped(str.lower)),
    *((call("Contains", BOOLEAN, s, part), containing(part.encode())) for part in ("a", "aB", "é", "i")),
    *((call("EndsWith", BOOLEAN, s, end), unknown_truth) for end in ("a", "é")),
    *((call("Like", BOOLEAN, s, text, escapeChar="\\"), unknown_truth) for text in ("%a", "_%B", "%")),
    *((call("Like", BOOLEAN, s, f"{text}%", escapeChar="\\"), may_begin_with(text.encode())) for text in ("a", "aB", "é")),
    *((call("StartsWith", BOOLEAN, s, text), begins_with(text.encode())) for text in ("a", "aB", "é")),
    *((call("StringReplace", STRING, s, *pair), unknown) for pair in (("a", "b"), ("B", ""))),
    *((call(name, STRING, s, 3, "x"), unknown) for name in ("StringLPad", "StringRPad")),
    # An escaped character matches itself.
    *((call("Like", BOOLEAN, s, text, escapeChar="\\"), may_begin_with(b"a")) for text in ("a%B", "a_", "a%\\%")),
    (call("Like", BOOLEAN, s, "a\\%%", escapeChar="\\"), may_begin_with(b"a%")),
    (call("StringRepeat", STRING, s, 2), unknown),
    (call("Reverse", STRING, s), unknown),
    (call("Cast", BINARY, s), monotone(lambda text: text)),
)  # fmt: skip


def _id(value: Any) -> str:
    return to_sql(value) if isinstance(value, Call) else ""


def _value(tried: Call, text: str) -> Any:
    if tried.name == "Cast":
        return text.encode()
    value = row_value(tried, {s.path: text})
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize(("tried", "rule"), TABLE, ids=_id)
def test_bounds_follow_from_the_edges(tried: Call, rule: Rule) -> None:
    claim = claim_over(tried, table_over((s,), [(pair,) for pair in PAIRS]))
    values = {text: _value(tried, text) for text in STRINGS}
    places = {text: place for place, text in enumerate(STRINGS)}
    for place, (low, high) in enumerate(PAIRS):
        claimed = claim.lower[place], claim.upper[place]
        text = (to_sql(tried), low, high, claimed)
        flags = claim.can_be_null[place], claim.can_be_nan[place], claim.can_be_value[place]
        assert flags == (False, False, True) or not claim.says_anything[place], text
        between = [values[each] for each in STRINGS[places[low] : places[high] + 1]]
        assert claimed[0] is None or claimed[0] <= min(between), text
        assert claimed[1] is None or max(between) <= claimed[1], text
        if low == high and (low.isascii() or tried.name not in ("Upper", "Lower")):
            assert claimed == (values[low], values[low]), text
        elif low != high:
            assert claimed == rule(low.encode(), high.encode()), text


#: The common prefix of all matching strings. A quantifier may remove the last character.
REGULAR_EXPRESSIONS = [
    ("^a", b"a"),
    ("^aB", b"aB"),
    ("^aB.*", b"a"),
    ("^aB[a-z]?", b"a"),
    ("^aB a$", b"aB "),
    ("^aB.+", b"a"),
    ("^é", "é".encode()),
]


@pytest.mark.parametrize(("pattern", "begin"), REGULAR_EXPRESSIONS)
def test_regular_expressions_bound_by_the_common_prefix(pattern: str, begin: bytes) -> None:
    tried = call("RLike", BOOLEAN, s, pattern)
    claim = claim_over(tried, table_over((s,), [(pair,) for pair in PAIRS]))
    matching = [text for text in STRINGS if row_value(tried, {s.path: text})]
    assert matching
    assert all(text.encode().startswith(begin) for text in matching)
    for place, (low, high) in enumerate(PAIRS):
        expected = may_begin_with(begin)(low.encode(), high.encode())
        assert (claim.lower[place], claim.upper[place]) == expected, (low, high)


@pytest.mark.parametrize("prefix", ["A", "AB", "B", "C", "é", " ", ""])
def test_open_upper_edge_is_not_a_value(prefix: str) -> None:
    """upper(x) lies in [prefix, next prefix). No value has the prefix that is the open edge."""
    tried = call("StartsWith", BOOLEAN, call("Upper", STRING, s), prefix)
    claim = claim_over(tried, table_over((s,), [(pair,) for pair in PAIRS]))
    least = prefix.encode()
    end = least[:-1] + bytes([least[-1] + 1]) if least else b"\xff"
    for place, (low, high) in enumerate(PAIRS):
        if low == high:
            continue
        lower, upper = mapped(str.upper)(low.encode(), high.encode())
        if lower is None or upper is None:
            expected: Edges = (int(not prefix), 1)
        else:
            assert isinstance(lower, bytes)
            assert isinstance(upper, bytes)
            expected = int(least <= lower and upper <= end), int(lower < end and upper > least)
        claimed = claim.lower[place], claim.upper[place]
        # The strings whose capitals have the prefix may say more than the edges.
        assert claimed[0] >= expected[0], (low, high)
        assert claimed[1] <= expected[1], (low, high)
        places = range(STRINGS.index(low), STRINGS.index(high) + 1)
        matches = [STRINGS[each].upper().startswith(prefix) for each in places]
        assert claimed[0] <= min(matches), (low, high)
        assert claimed[1] >= max(matches), (low, high)


@pytest.mark.parametrize("name", ["Length", "OctetLength", "BitLength"])
def test_length_bounds(name: str) -> None:
    tried = call(name, INTEGER, s)
    claim = claim_over(tried, table_over((s,), [(pair,) for pair in PAIRS]))
    unit = 8 if name == "BitLength" else 1
    for place, (low, high) in enumerate(PAIRS):
        if low == high:
            value = row_value(tried, {s.path: low})
            assert (claim.lower[place], claim.upper[place]) == (value, value), low
        else:
            # Greater than the empty string, so not empty.
            assert claim.lower[place] == (unit if low else 0), (low, high)
            assert claim.upper[place] == (1 << 31) - 1


@pytest.mark.parametrize("tried", [tried for tried, _ in TABLE], ids=_id)
def test_bounds_are_sound_if_one_edge_is_unknown(tried: Call) -> None:
    """Check that no string beyond the known edge has a value outside the bounds."""
    values = [_value(tried, text) for text in STRINGS]
    for side in ("min.s", "max.s"):
        cells = {
            side: pa.array(STRINGS),
            "null_count.s": pa.array([0, 1] * (len(STRINGS) // 2) + [0] * (len(STRINGS) % 2)),
        }
        other_side = "max.s" if side == "min.s" else "min.s"
        for table in (cells, {**cells, other_side: pa.array([None] * len(STRINGS), pa.string())}):
            statistics = ArrowStatistics(pa.table(table))
            data_type = type_of(tried)
            assert data_type is not None
            claim = claim_of("", data_type.name, tried, statistics, len(STRINGS))
            assert claim is not None
            for place in range(len(STRINGS)):
                possible = values[place:] if side == "min.s" else values[: place + 1]
                lower, upper = claim.lower[place], claim.upper[place]
                text = (STRINGS[place], side, lower, upper)
                assert lower is None or lower <= min(possible), text
                assert upper is None or max(possible) <= upper, text
                assert claim.can_be_null[place] or place % 2 == 0, text


@pytest.mark.parametrize("tried", [tried for tried, _ in TABLE], ids=_id)
def test_containers_are_evaluated_independently(tried: Call) -> None:
    some = [(pair,) for pair in PAIRS[:: len(PAIRS) // 25]]
    together = claim_over(tried, table_over((s,), some))
    for place, pair in enumerate(some):
        alone = claim_over(tried, table_over((s,), [pair]))
        for name in ("lower", "upper", "can_be_null", "can_be_value"):
            assert getattr(alone, name)[0] == getattr(together, name)[place], (name, pair)


@pytest.mark.parametrize("text", ["aB", "é", "", "zz"])
def test_like_without_a_wildcard_is_equality(text: str) -> None:
    tried = call("Like", BOOLEAN, s, text, escapeChar="\\")
    claim = claim_over(tried, table_over((s,), [(pair,) for pair in PAIRS]))
    for place, (low, high) in enumerate(PAIRS):
        between = low.encode() <= text.encode() <= high.encode()
        assert (claim.lower[place], claim.upper[place]) == (0, int(between)), (low, high)
    for side in ("min.s", "max.s"):
        claim = claim_over(
            tried, Table([[{}]] * len(STRINGS), ArrowStatistics(pa.table({side: STRINGS})))
        )
        for place, each in enumerate(STRINGS):
            is_met = (
                each.encode() <= text.encode()
                if side == "min.s"
                else each.encode() >= text.encode()
            )
            assert claim.upper[place] >= int(is_met), (side, each)
