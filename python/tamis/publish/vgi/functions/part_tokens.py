"""Tokens of splits. A token lists the row groups, by file, that a worker reads.

    ["12", [["day=1/a.parquet", size, modification time or null, [0, 1] or null], …]]

This JSON, compressed, begins with the version of the table, which is empty for a directory. A token
is data from a client. It is accepted only if each of its files is in that version of the table and
has the same size and modification time. So it gives access to nothing outside of the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from tamis.publish.footer_cache import FileFooter
from tamis.publish.part_reader import Part
from tamis.publish.pruning import Snapshot
from tamis.publish.vgi.refusals import Refused
from tamis.sources.file_source import DataFile

__all__ = ["parts_of", "single_groups", "token_of", "version_of"]

_CODEC: Final = "zstd"
_MOST_BYTES: Final = 16 << 20
_LENGTH: Final = 4


def token_of(parts: Sequence[Part], version: str) -> bytes:
    """Return a token of parts of a version of a table."""
    files = [
        [each.file.path, each.file.size, each.file.mtime_ns, each.row_groups] for each in parts
    ]
    content = json.dumps([version, files]).encode()
    compressed: bytes = pa.compress(content, codec=_CODEC, asbytes=True)
    return len(content).to_bytes(_LENGTH, "big") + compressed


def version_of(tokens: Iterable[bytes]) -> str:
    """Return the version of the table that tokens name.

    Raises:
        Refused: A token is malformed, or they name different versions.
    """
    versions = {_content(each)[0] for each in tokens}
    if len(versions) > 1:
        raise _invalid()
    return versions.pop() if versions else ""


def parts_of(tokens: Iterable[bytes], snapshot: Snapshot, surviving: Sequence[Part]) -> list[Part]:
    """Return the parts of tokens that survive the filters of the request.

    Args:
        tokens: The tokens.
        snapshot: The table at the version of the tokens.
        surviving: The parts of the table that survive.

    Raises:
        Refused: A token is malformed, or a file has changed since the token was made.
    """
    files = {each.path: each for each in snapshot.files}
    by_file = {each.file.path: each for each in surviving}
    footers = _footers(snapshot)
    parts: list[Part] = []
    for token in tokens:
        for entry in _content(token)[1]:
            path, groups = _checked(entry, files)
            whole = by_file.get(path)
            part = None if whole is None else _common(whole, groups, footers[path])
            if part is not None:
                parts.append(part)
    return parts


def _content(token: bytes) -> tuple[str, list[Any]]:
    """Return the version of a token, and its entries."""
    length = int.from_bytes(token[:_LENGTH], "big")
    if length > _MOST_BYTES:
        raise _invalid()
    try:
        content = pa.decompress(token[_LENGTH:], length, codec=_CODEC, asbytes=True)
        decoded = json.loads(content)
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        raise _invalid() from error
    match decoded:
        case [str(version), list(entries)]:
            return version, entries
    raise _invalid()


def _checked(entry: object, files: Mapping[str, DataFile]) -> tuple[str, list[int] | None]:
    """Return the path of an unchanged file, and the row groups to read."""
    match entry:
        case [str(path), int(size), None | int() as time, None | list() as groups]:
            pass
        case _:
            raise _invalid()
    if groups is not None and not all(type(each) is int and each >= 0 for each in groups):
        raise _invalid()
    if files.get(path) != DataFile(path, size, time):
        raise Refused(
            "[SPLIT_SNAPSHOT_EXPIRED] a file has changed since the splits were planned",
            "FAILED_PRECONDITION",
        )
    return path, groups


def _invalid() -> Refused:
    return Refused("[SPLIT_TOKEN_INVALID] the token is not one of this table")


def _common(part: Part, groups: list[int] | None, footer: FileFooter) -> Part | None:
    """Return the row groups of a part that a token names; None: no such row group survives."""
    if groups is None:
        return part
    if part.row_groups is None:
        # The row groups were known when the token was made, and the file has not changed.
        raise _invalid()
    return _of_groups(part, footer, tuple(each for each in part.row_groups if each in groups))


def single_groups(parts: Sequence[Part], snapshot: Snapshot) -> Iterator[Part]:
    """Yield the row groups of parts, one by one. A file about which nothing is known is one."""
    footers = _footers(snapshot)
    for part in parts:
        if part.row_groups is None:
            yield part
            continue
        for ordinal in part.row_groups:
            group = _of_groups(part, footers[part.file.path], (ordinal,))
            if group is not None:
                yield group


def _of_groups(part: Part, footer: FileFooter, groups: tuple[int, ...]) -> Part | None:
    if not groups:
        return None
    rows = sum(footer.statistics.row_groups[each].num_records for each in groups)
    size = sum(footer.sizes[each] for each in groups)
    return replace(part, row_groups=groups, rows=rows, size=size)


def _footers(snapshot: Snapshot) -> Mapping[str, FileFooter]:
    paths = (each.path for each in snapshot.files)
    return dict(zip(paths, snapshot.footers, strict=True))
