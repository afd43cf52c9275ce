"""The URIs that Hadoop makes of the locations in Iceberg's metadata.

Nothing in a location is escaped. Hadoop's `new Path(location).toUri.toString` collapses slashes,
drops a trailing slash, and percent-encodes what java.net.URI does not allow in a path: ASCII other
than `[0-9A-Za-z_.~!*'():@&=+$,;/-]`, and spaces and control characters beyond ASCII. Other
characters beyond ASCII stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tamis.tables.iceberg.errors import SnapshotUnreadable, UnreadableCode

__all__ = ["hadoop_uri", "hadoop_uris"]

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_AUTHORITY: Final = re.compile(r"[A-Za-z0-9_.:@-]*")
#: Java's Character.isSpaceChar
_SPACES: Final = frozenset(("Zs", "Zl", "Zp"))
_ALLOWED: Final = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.!~*'():@&=+$,;/"
)
#: Locations that are their own URI. A part of the path contains a character other than a dot.
_PLAIN: Final = (
    r"^([A-Za-z][A-Za-z0-9+.\-]*:(//[A-Za-z0-9_.:@\-]*)?)?"
    r"(/[A-Za-z0-9_\-.!~*'():@&=+$,;]*[A-Za-z0-9_\-!~*'():@&=+$,;][A-Za-z0-9_\-.!~*'():@&=+$,;]*)+$"
)


def hadoop_uris(locations: pa.Array) -> pa.Array:
    """Return the URI of each location. There is no null.

    Raises:
        SnapshotUnreadable: See `hadoop_uri`.
    """
    plain = pc.match_substring_regex(locations, _PLAIN)
    if pc.all(plain, min_count=0).as_py():
        return locations
    uris = [
        text if is_plain else hadoop_uri(text)
        for text, is_plain in zip(locations.to_pylist(), plain.to_pylist(), strict=True)
    ]
    return pa.array(uris, locations.type)


def hadoop_uri(location: str) -> str:
    """Return what Hadoop's `new Path(location).toUri.toString` returns.

    Raises:
        SnapshotUnreadable: Hadoop refuses the location, or opens another one: the path is not
            absolute, or contains the parts `.` or `..`, or the scheme or the authority is unusual.

    >>> hadoop_uri("s3a://bucket/a b//ü%20.parquet")
    's3a://bucket/a%20b/ü%2520.parquet'
    >>> hadoop_uri("/plain/path"), hadoop_uri("file:/x"), hadoop_uri("file:///x")
    ('/plain/path', 'file:/x', 'file:///x')
    """
    head, rest = "", location
    scheme, colon, after = location.partition(":")
    if colon and "/" not in scheme:
        head, rest = f"{scheme}:", after
        if not _SCHEME.fullmatch(scheme):
            raise _refused(location)
    if rest.startswith("//") and len(rest) > 2:
        authority, slash, path = rest[2:].partition("/")
        if not _AUTHORITY.fullmatch(authority):
            raise _refused(location)
        head, rest = f"{head}//{authority}", slash + path
    path = re.sub("/+", "/", rest)
    if len(path) > 1:
        path = path.removesuffix("/")
    if not path.startswith("/") or not {".", ".."}.isdisjoint(path.split("/")):
        raise _refused(location)
    if location.startswith("//"):  # Hadoop takes the first part for an authority
        raise _refused(location)
    try:
        return head + "".join(c if c in _ALLOWED else _quoted(c) for c in path)
    except UnicodeEncodeError as problem:
        raise _refused(location) from problem


def _quoted(character: str) -> str:
    if ord(character) >= 0x80:
        category = unicodedata.category(character)
        if category not in _SPACES and category != "Cc":
            character.encode()  # a surrogate has no URI
            return character
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _refused(location: str) -> SnapshotUnreadable:
    return SnapshotUnreadable(
        UnreadableCode.LOCATION, f"the location {location[:300]} has an unusual form"
    )
