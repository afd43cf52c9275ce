"""One spelling for the path of a data file, for all writers of logs.

The log has paths relative to the table, or URIs. Both are percent-encoded, but writers differ in
which characters they escape. Keys are decoded and are bytes, because a path need not be UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote_to_bytes

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.files.columns import plain
from tamis.indexing.read.snapshot import FileKeys

__all__ = ["key_of", "keys_in_log", "keys_of_listing"]

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def key_of(uri: str) -> bytes:
    """Return the key of a percent-encoded URI.

    >>> key_of("file:/t/a%20b"), key_of("file:///t/a b")
    (b'file:///t/a b', b'file:///t/a b')
    >>> key_of("s3a://bucket/x=1%25")
    b's3a://bucket/x=1%'
    """
    scheme, rest = "file", uri
    if _SCHEME.match(uri):
        scheme, _, rest = uri.partition(":")
    authority = ""
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
    return f"{scheme.lower()}://{authority}".encode() + unquote_to_bytes(rest)


def keys_in_log(paths: Iterable[str], root: str) -> pa.Array:
    """Return the keys of paths of the log, as binary.

    Args:
        paths: Percent-encoded: relative to the table, absolute, or URIs.
        root: The URL-encoded URI of the table.

    >>> keys_in_log(["p=1/f%20g", "/else/where", "s3a://b/f"], "file:/t").to_pylist()
    [b'file:///t/p=1/f g', b'file:///else/where', b's3a://b/f']
    """
    table = key_of(root.rstrip("/")) + b"/"
    start = table.index(b"//") + 2
    storage = table[: table.index(b"/", start)]  # scheme and authority
    keys = []
    for path in paths:
        if ":" in path and _SCHEME.match(path):
            keys.append(key_of(path))
        else:
            inside = unquote_to_bytes(path) if "%" in path else path.encode()
            keys.append((storage if inside.startswith(b"/") else table) + inside)
    return pa.array(keys, pa.binary())


def keys_of_listing(files: FileKeys) -> pa.Array:
    """Return the keys of the files of a listing, in its order."""
    directories = pa.array([key_of(each) + b"/" for each in files.directories], pa.binary())
    names = plain(files.name)
    escaped = pc.match_substring(names, "%")
    names = names.cast(pa.binary())
    if pc.any(escaped).as_py():
        decoded = [unquote_to_bytes(each) for each in names.filter(escaped).to_pylist()]
        names = pc.replace_with_mask(names, escaped, pa.array(decoded, pa.binary()))
    group = np.asarray(files.group.to_numpy())
    return pc.binary_join_element_wise(directories.take(pa.array(group)), names, b"")
