"""Functions of strings."""

from __future__ import annotations

from tamis.expr.nodes import Call, Expr, In, Not
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


def like(pattern: str, text: Expr = s) -> Expr:
    return Call(
        "Like", call("Like", BOOLEAN, text, pattern).arguments, (("escapeChar", "!"),), BOOLEAN
    )


def starts(prefix: str, text: Expr) -> Expr:
    return call("StartsWith", BOOLEAN, text, prefix)


def in_(text: Expr, *options: str) -> Expr:
    return In(text, options)


CASES = (
    # Every value contains each part of the common prefix.
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
    # The characters after a common prefix of five characters.
    Case(
        s,
        data=("2024-03-01", "2024-04-30"),
        misses=(is_("=", month, "02"), is_(">", month, "04")),
        full=(is_(">=", month, "03"),),
    ),
    Case(s, data=("2023-03-01", "2024-01-30"), hits=(is_("=", month, "12"),)),
    # "é" is one character of two bytes.
    Case(s, data=("éa-b", "éa-c"), hits=(is_("=", call("Substring", STRING, s, 3, 1), "-"),)),
    # Trailing spaces: at least the text before the first space, at most the upper edge.
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
    # The mapped common prefix, up to an i: the case of i depends on the locale.
    Case(
        s,
        data=("abcx", "abcz"),
        misses=(is_("<", upper, "ABC"), is_(">=", upper, "ABD")),
        full=(is_(">=", upper, "ABC"),),
    ),
    Case(s, data=("Bill", "Bilz"), misses=(is_(">", lower, "bz"), is_(">=", lower, "c"))),
    Case(s, data=("BIll", "BIlz"), hits=(is_(">", lower, "bz"),), misses=(is_(">=", lower, "c"),)),
    # Two strings: whether a string between them, in byte order, has this image.
    Case(
        s,
        data=("FOB", "MAIL"),
        hits=(
            is_("=", upper, "MAIL"),
            is_("=", lower, "mail"),
            is_("=", trim, "FOB"),
            is_("=", ltrim, "GUM"),
            is_("=", rtrim, "GUM"),
            is_("=", upper, "LAX"),  # the image of LAX and Lax
            in_(upper, "AIR", "MAIL"),
            like("m%", lower),
        ),
        misses=(
            is_("=", upper, "AIR"),  # AIR is less than both, air is greater
            is_("=", upper, "RAIL"),
            is_("=", lower, "Fob"),  # no result of lower has capitals
            is_("=", trim, "AIR"),  # " AIR" is less
            is_("=", trim, "RAIL"),
            is_("=", ltrim, " GUM"),
            is_("=", rtrim, "MAIL "),
            is_("=", call("Upper", STRING, trim), "RAIL"),
            is_("=", call("Substring", STRING, upper, 1, 2), "RA"),
            is_("<", upper, "F"),
            is_(">=", upper, "N"),
            in_(upper, "AIR", "RAIL"),
            starts("RA", upper),
            like("r%", lower),
        ),
        full=(
            is_(">=", upper, "F"),
            is_("<", upper, "N"),
            is_("<>", upper, "RAIL"),
            Not(in_(upper, "AIR", "RAIL")),
            Not(starts("ra", lower)),
        ),
    ),
    # In byte order "Rail" lies between these.
    Case(s, data=("REG AIR", "SHIP"), hits=(is_("=", upper, "RAIL"), is_("=", lower, "rail"))),
    # Non-ASCII characters with ASCII images: the long s, the Kelvin sign, sharp s.
    Case(s, data=("\u017ff", "\u017fi"), hits=(is_("=", upper, "SH"),)),
    Case(
        s, data=("\u212a", "\u212b"), hits=(is_("=", lower, "k"),), misses=(is_("=", lower, "j"),)
    ),
    Case(s, data=("maR", "ma\u00df"), hits=(is_("=", upper, "MASS"), is_("=", upper, "MAR"))),
    # "I" and "i" have non-ASCII images in Turkish, and only there.
    Case(s, data=("IA", "IB"), hits=(is_(">", lower, "j"),), misses=(is_("=", lower, "j"),)),
    # Leading spaces: up to four are distinguished.
    Case(
        s,
        data=("   10", "   42"),
        hits=(is_("=", ltrim, "10"), is_("=", trim, "42"), is_("=", trim, "11")),
        misses=(
            is_("=", ltrim, "5"),
            is_("=", trim, "43"),
            is_(">", trim, "43"),
            is_("<", trim, "1"),
        ),
        full=(is_(">=", trim, "10"), is_("<", ltrim, "43")),
    ),
    Case(
        s,
        data=("MAIL ", "MAIL  "),
        hits=(is_("=", rtrim, "MAIL"),),
        misses=(is_("=", rtrim, "MAI"), is_("=", rtrim, "MAIL ")),
    ),
    # A single string is computed.
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

#: Swept against Spark over random strings.
SWEEP = {
    "string": (
        "upper(x) = 'AB'",
        "lower(x) = 'ab'",
        "upper(x) >= 'B' AND upper(x) < 'S'",
        "lower(x) > 'i'",
        "upper(x) IN ('A', 'SS', 'I')",
        "upper(trim(x)) = 'A'",
        "trim(x) = 'a'",
        "ltrim(x) < 'b'",
        "rtrim(x) <= 'ab'",
        "trim(BOTH 'ab' FROM x) = ''",
        "substring(lower(x), 1, 2) = 'ab'",
        "NOT (upper(x) <=> 'AB')",
    )
}
