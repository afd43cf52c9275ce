"""Functions of strings."""

from __future__ import annotations

from tamis.expr.nodes import Call, Expr
from tamis.expr.types import BOOLEAN, INTEGER, STRING
from tests.cases.case import Case
from tests.cases.comparison import s
from tests.cases.functions import call, is_

trim, ltrim, rtrim = (
    call(name, STRING, s) for name in ("StringTrim", "StringTrimLeft", "StringTrimRight")
)
month = call("Substring", STRING, s, 6, 2)
upper, lower = call("Upper", STRING, s), call("Lower", STRING, s)
with_m = call("Concat", STRING, s, "m")


def contains(part: str) -> Expr:
    return call("Contains", BOOLEAN, s, part)


def like(pattern: str) -> Expr:
    return Call(
        "Like", call("Like", BOOLEAN, s, pattern).arguments, (("escapeChar", "!"),), BOOLEAN
    )


CASES = (
    # All of them contain what all of them begin with.
    Case(
        s,
        data=("Customer#1", "Customer#7"),
        hits=(contains("x"),),
        full=(contains("stom"), contains("")),
    ),
    Case(
        s,
        data=("abc",),
        misses=(contains("d"), like("%b"), like("_b")),
        full=(like("a%c"), like("%b_")),
    ),
    # What follows the same five characters.
    Case(
        s,
        data=("2024-03-01", "2024-04-30"),
        misses=(is_("=", month, "02"), is_(">", month, "04")),
        full=(is_(">=", month, "03"),),
    ),
    Case(s, data=("2023-03-01", "2024-01-30"), hits=(is_("=", month, "12"),)),
    # "é" is one character of two bytes.
    Case(s, data=("éa-b", "éa-c"), hits=(is_("=", call("Substring", STRING, s, 3, 1), "-"),)),
    # Spaces behind: at least what comes before the first space, at most the upper edge.
    Case(
        s,
        data=("ab  ", "ad "),
        hits=(is_("=", rtrim, "ab"),),
        misses=(is_("<", rtrim, "ab"), is_(">", trim, "ad "), is_("<", trim, "ab")),
        full=(is_(">=", ltrim, "ab"),),
    ),
    Case(s, data=("  b", "a"), hits=(is_("=", trim, "b"), is_("=", ltrim, "b"))),
    Case(s, data=("a\x01",), full=(is_("=", rtrim, "a\x01"),)),
    # "a" || "m" is greater than "ab" || "m", and "az" || "m" greater still.
    Case(
        s,
        data=("a", "az"),
        hits=(is_("=", with_m, "am"), is_("=", with_m, "azm")),
        misses=(is_(">", with_m, "azm"), is_("<", with_m, "a")),
    ),
    Case(s, data=("a", "ab"), hits=(is_(">", with_m, "abz"),), misses=(is_(">", with_m, "am"),)),
    # What all begin with, mapped, up to an i: its case is the locale's.
    Case(
        s,
        data=("abcx", "abcz"),
        misses=(is_("<", upper, "ABC"), is_(">=", upper, "ABD")),
        full=(is_(">=", upper, "ABC"),),
    ),
    Case(s, data=("Bill", "Bilz"), hits=(is_(">", lower, "bz"),), misses=(is_(">=", lower, "c"),)),
    # One string is computed.
    Case(
        s,
        data=("abab", "abab"),
        misses=(is_("=", call("StringInstr", INTEGER, s, "b"), 1),),
        full=(
            is_("=", call("StringReplace", STRING, s, "ab", "x"), "xx"),
            is_("=", call("StringLPad", STRING, s, 6, "é"), "ééabab"),
            is_("=", call("StringRPad", STRING, s, 2, "é"), "ab"),
            is_("=", call("Reverse", STRING, s), "baba"),
            is_("=", call("BitLength", INTEGER, s), 32),
        ),
    ),
)
