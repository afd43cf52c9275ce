"""Texts without credentials. Runs on executors too, so it imports only the standard library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

__all__ = ["MASK", "masked", "without_secrets"]

MASK: Final = "…"

_URL: Final = re.compile(r"""([A-Za-z][A-Za-z0-9+.-]*://)([^\s'"<>]*)""")
_ADDRESS: Final = re.compile(r"""(?<![^\s'"=(])[^\s'"/@:=]+:[^\s'"/@]+@""")  # user:password@host
_NAME: Final = r"[\w.-]*(?:token|secret|passw|pwd|credential|api[_-]?key|bearer|auth)[\w.-]*"
_VALUE: Final = r"""("[^"]*"|'[^']*'|[^\s"']+)"""
_OPTION: Final = re.compile(rf"((?<![\w-])--?{_NAME}\s+){_VALUE}", re.IGNORECASE)
_ASSIGNED: Final = re.compile(rf"((?<!\w){_NAME}=){_VALUE}", re.IGNORECASE)
_HEADER: Final = re.compile(r"\b((?:bearer|basic)\s+)([\w.~+/=-]{8,})", re.IGNORECASE)
#: Shorter values of a query, such as those of `?version=2`, are not looked for in other texts.
_SHORTEST: Final = 6


def masked(text: str) -> str:
    """Return a text without what looks like a credential.

    Masks the user and the query of URLs, and values of options that are named like credentials.

    >>> masked("grpc://user:secret@h:8815"), masked("http://h/vgi?token=secret&v=2")
    ('grpc://…@h:8815', 'http://h/vgi?…')
    >>> masked("worker --token=secret --api-key 'a b' --rows 3")
    'worker --token=… --api-key … --rows 3'
    """
    text = _URL.sub(lambda url: url[1] + _masked_rest(url[2]), text)
    text = _ADDRESS.sub(f"{MASK}@", text)
    for pattern in (_OPTION, _ASSIGNED, _HEADER):
        text = pattern.sub(lambda each: each[1] + MASK, text)
    return text


def without_secrets(text: str, location: str, token: str | None = None) -> str:
    """Return a message without the credentials that a location contains, and without the token.

    Libraries quote parts of a location in their messages, and servers may quote the token.

    >>> without_secrets("cannot resolve user:p%40ss:1 with p@ss", "grpc://user:p%40ss@h:1")
    'cannot resolve …:1 with …'
    """
    secrets = {each for each in (*_secrets(location), token) if each}
    for secret in sorted(secrets, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, text)
    return masked(text)


def _masked_rest(rest: str) -> str:
    """Mask a URL behind its scheme."""
    address, query = _split(rest)
    if "@" in query:
        return MASK  # a password may contain a question mark
    _, at, host = address.rpartition("@")
    return (MASK + at if at else "") + host + (rest[len(address)] + MASK if query else "")


def _split(rest: str) -> tuple[str, str]:
    """Return what precedes the query or fragment of a URL, and what follows."""
    address = re.split(r"[?#]", rest, maxsplit=1)[0]
    return address, rest[len(address) + 1 :]


def _secrets(location: str) -> Iterator[str]:
    """Yield the credentials of a location, also as the server reads them."""
    for raw in _raw_secrets(location):
        yield raw
        yield unquote(raw)


def _raw_secrets(location: str) -> Iterator[str]:
    for url in _URL.finditer(location):
        address, query = _split(url[2])
        user = url[2].rpartition("@")[0] if "@" in query else address.rpartition("@")[0]
        yield user
        yield user.partition(":")[2]
        if query:
            yield query
            values = (each.partition("=")[2] or each for each in re.split("[&;#]", query))
            yield from (each for each in values if len(each) >= _SHORTEST)
    for user in _ADDRESS.finditer(location):
        yield user[0].removesuffix("@")
        yield user[0].removesuffix("@").partition(":")[2]
    for pattern in (_OPTION, _ASSIGNED, _HEADER):
        for option in pattern.finditer(location):
            yield option[2].strip("\"'")
