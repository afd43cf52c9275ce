"""Preimages of a span under upper and lower: a superset that is nearly exact.

The search extends the prefixes of s one character at a time, and keeps the rest of both limits of
the span:

    upper(s) in ["MA", "MB")     "M", "m"      rest: ["A", "B")
                                 "MA", "Ma"    rest: no limits, so all strings with these prefixes

Spark maps pure ASCII strings byte by byte. Java or ICU maps other strings, with the full Unicode
rules and the locale of the JVM, which is not known here. In all of these cases

- ASCII maps as above, except that upper(i) and lower(I) may be non-ASCII (Turkish, Azeri);
- U+0307 may vanish after an i or j (Lithuanian, Turkish): then anything may follow;
- a few non-ASCII characters have an image that begins with ASCII (see the tables below). Every
  other image, and the image of bytes that are not UTF-8, begins with a non-ASCII character.
  tests/spark/test_letter_case.py checks every character in Spark, in these locales, with Java and
  with ICU.

So a prefix of s suffices to cover all images that a non-ASCII string can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tamis.evaluation.domain.spans import Span, Spans, beginning_with, merged, only, successor

__all__ = ["case_preimage"]

#: The search follows at most this many characters.
_LONGEST: Final = 64

#: Characters whose image is ASCII in some locale, for upper (True) and lower (False).
_TO_ASCII: Final = {
    True: {
        "\u0131": "I",
        "\u017f": "S",
        "\u00df": "SS",
        "\ufb00": "FF",
        "\ufb01": "FI",
        "\ufb02": "FL",
        "\ufb03": "FFI",
        "\ufb04": "FFL",
        "\ufb05": "ST",
        "\ufb06": "ST",
    },
    False: {"\u0130": "i", "\u212a": "k"},
}
#: Characters whose image begins with ASCII and continues with non-ASCII in some locale.
_BEGINS_ASCII: Final = {
    True: {
        "\u01f0": "J",
        "\u1e96": "H",
        "\u1e97": "T",
        "\u1e98": "W",
        "\u1e99": "Y",
        "\u1e9a": "A",
    },
    False: {"\u0130": "i", "\u00cc": "i", "\u00cd": "i", "\u0128": "i"},
}
_DOT_ABOVE: Final = "\u0307".encode()


@dataclass(frozen=True, slots=True)
class _Node:
    """The strings that begin with `prefix` and whose rest is mapped into [lower, upper)."""

    prefix: bytes
    lower: bytes
    upper: bytes | None
    #: Whether the image so far ends with an i or j.
    is_dotted: bool = False

    @property
    def is_free(self) -> bool:
        return not self.lower and self.upper is None

    @property
    def allows_the_end(self) -> bool:
        return not self.lower  # the upper limit is never empty: see `_next`

    @property
    def allows_beyond_ascii(self) -> bool:
        return self.upper is None or self.upper[0] >= 0x80


@lru_cache(maxsize=256)
def case_preimage(to_upper: bool, span: Span, most: int = 192) -> Spans:
    """Return a superset of the strings s with upper(s), or lower(s), in the span.

    With more than `most` pieces, only prefixes in a common spelling are extended. For any other
    prefix the result contains all strings that begin with it.

    >>> [lower for lower, _ in case_preimage(True, (b"OK", b"OK" + bytes(1)))]
    [b'OK', b'Ok', b'oK', b'ok']
    >>> case_preimage(True, (b"ok", b"ok" + bytes(1)))
    ()
    """
    lower, upper = span
    if upper == b"":
        return ()
    pieces: list[Span] = []
    level = [_Node(b"", lower, upper)]
    for depth in range(_LONGEST):
        following = [each for node in level for each in _expanded(node, to_upper, pieces)]
        if len(pieces) + len(following) > most or depth == _LONGEST - 1:
            # Follow only the common spellings: upper case, lower case and capitalized.
            rare = [node for node in following if not _is_common(node.prefix)]
            pieces.extend(beginning_with(node.prefix) for node in rare)
            following = [node for node in following if _is_common(node.prefix)]
        level = following
    pieces.extend(beginning_with(node.prefix) for node in level)
    return merged(pieces)


def _is_common(prefix: bytes) -> bool:
    return prefix in (prefix.upper(), prefix.lower(), prefix.capitalize())


def _expanded(node: _Node, to_upper: bool, pieces: list[Span]) -> Iterator[_Node]:
    """Yield the node once for each next character; finished spans are appended to `pieces`."""
    if node.is_free:
        pieces.append(beginning_with(node.prefix))
        return
    if node.allows_the_end:
        pieces.append(only(node.prefix))
    if node.is_dotted:
        pieces.append(beginning_with(node.prefix + _DOT_ABOVE))
    if node.allows_beyond_ascii:
        # Any non-ASCII character, and bytes that are not UTF-8.
        pieces.append((node.prefix + b"\x80", successor(node.prefix)))
        dotted = b"i" if to_upper else b"I"
        pieces.append(beginning_with(node.prefix + dotted))
    for source, image in _ascii(node, to_upper):
        following = _next(node, source, image)
        if following is not None:
            yield following
    for characters, stays_ascii in ((_TO_ASCII, True), (_BEGINS_ASCII, False)):
        for character, text in characters[to_upper].items():
            following = _next(node, character.encode(), text.encode())
            if following is None:
                continue
            if stays_ascii:
                yield following
            elif following.allows_beyond_ascii:
                pieces.append(beginning_with(following.prefix))


def _ascii(node: _Node, to_upper: bool) -> Iterator[tuple[bytes, bytes]]:
    """Yield the ASCII bytes that may come next, with their images."""
    least = node.lower[0] if node.lower else 0
    greatest = 0x7F if node.upper is None else min(node.upper[0], 0x7F)
    for image in range(least, greatest + 1):
        mapped = bytes([image])
        if mapped != (mapped.upper() if to_upper else mapped.lower()):
            continue  # a letter of the other case is not the image of any byte
        yield mapped, mapped
        other = mapped.lower() if to_upper else mapped.upper()
        if other != mapped:
            yield other, mapped


def _next(node: _Node, source: bytes, image: bytes) -> _Node | None:
    """Return the node after one more character; None if the image is outside of the limits."""
    lower, upper = node.lower, node.upper
    for byte in image:
        if lower:
            if byte < lower[0]:
                return None
            lower = lower[1:] if byte == lower[0] else b""
        if upper is not None:
            if byte > upper[0]:
                return None
            upper = upper[1:] if byte == upper[0] else None
            if upper == b"":
                return None  # no string is less than the empty string
    return _Node(node.prefix + source, lower, upper, image[-1:].lower() in (b"i", b"j"))
