"""Which strings upper and lower map into a span: a superset that is as good as exact.

Strings are followed byte by byte, with what is left of both limits of the span:

    upper(s) in ["MA", "MB")     "M", "m"      left: ["A", "B")
                                 "MA", "Ma"    left: everything, so all that begin so

Spark maps strings that are ASCII throughout byte by byte. Others are mapped by Java or ICU, with
the whole of Unicode and the locale of the JVM, which is not known here. In each of these

- ASCII maps as above, except that upper(i) and lower(I) may be beyond ASCII (Turkish, Azeri);
- U+0307 may vanish after an i or j (Lithuanian, Turkish): whatever follows it is possible;
- few characters beyond ASCII have an image that begins with ASCII: the tables below. Every other
  image, and that of what is not UTF-8, begins beyond ASCII. tests/spark/test_letter_case.py asks
  Spark of every character, in these locales, with Java and with ICU.

So all that a string beyond ASCII can do is told by its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tamis.evaluate.spans import Span, Spans, beginning_with, merged, only
from tamis.evaluate.text import successor

__all__ = ["case_preimage"]

#: What lies behind this many characters is not told apart.
_LONGEST: Final = 64

#: Characters whose image is ASCII, in one locale or another.
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
#: Characters whose image begins with ASCII and goes on beyond it, in one locale or another.
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
    """Strings that begin with `prefix`; what follows is mapped into [lower, upper)."""

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
        return not self.lower  # and no upper limit is left empty: see `_next`

    @property
    def allows_beyond_ascii(self) -> bool:
        return self.upper is None or self.upper[0] >= 0x80


@lru_cache(maxsize=256)
def case_preimage(to_upper: bool, span: Span, most: int = 192) -> Spans:
    """The strings s with upper(s), or lower(s), in the span, and maybe some more.

    More pieces than `most` are not told apart: then all strings that begin so count.

    >>> [lower for lower, _ in case_preimage(True, (b"OK", b"OK" + bytes(1)))]
    [b'OK', b'Ok', b'oK', b'ok']
    >>> case_preimage(True, (b"ok", b"ok" + bytes(1)))
    ()
    """
    lower, upper = span
    if upper == b"":
        return ()
    found: list[Span] = []
    level = [_Node(b"", lower, upper)]
    for depth in range(_LONGEST):
        following = [each for node in level for each in _expanded(node, to_upper, found)]
        if len(found) + len(following) > most or depth == _LONGEST - 1:
            # What a person writes is followed on: the text as it is, in small letters, capitalised.
            rare = [node for node in following if not _is_common(node.prefix)]
            found.extend(beginning_with(node.prefix) for node in rare)
            following = [node for node in following if _is_common(node.prefix)]
        level = following
    found.extend(beginning_with(node.prefix) for node in level)
    return merged(found)


def _is_common(prefix: bytes) -> bool:
    return prefix in (prefix.upper(), prefix.lower(), prefix.capitalize())


def _expanded(node: _Node, to_upper: bool, found: list[Span]) -> Iterator[_Node]:
    """The strings of a node by their next character; those that need no look go to `found`."""
    if node.is_free:
        found.append(beginning_with(node.prefix))
        return
    if node.allows_the_end:
        found.append(only(node.prefix))
    if node.is_dotted:
        found.append(beginning_with(node.prefix + _DOT_ABOVE))
    if node.allows_beyond_ascii:
        # Any other character, and what is no character.
        found.append((node.prefix + b"\x80", successor(node.prefix)))
        dotted = b"i" if to_upper else b"I"
        found.append(beginning_with(node.prefix + dotted))
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
                found.append(beginning_with(following.prefix))


def _ascii(node: _Node, to_upper: bool) -> Iterator[tuple[bytes, bytes]]:
    """The bytes of ASCII, with their images, that may come next."""
    least = node.lower[0] if node.lower else 0
    greatest = 0x7F if node.upper is None else min(node.upper[0], 0x7F)
    for image in range(least, greatest + 1):
        mapped = bytes([image])
        if mapped != (mapped.upper() if to_upper else mapped.lower()):
            continue  # no image of a letter
        yield mapped, mapped
        other = mapped.lower() if to_upper else mapped.upper()
        if other != mapped:
            yield other, mapped


def _next(node: _Node, source: bytes, image: bytes) -> _Node | None:
    """What is left of the limits behind an image; None: it lies outside of them."""
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
                return None  # nothing is below the empty string
    return _Node(node.prefix + source, lower, upper, image[-1:].lower() in (b"i", b"j"))
