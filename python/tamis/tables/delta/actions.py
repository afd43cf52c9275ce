"""Reading JSON files of the log: commits, compacted commits, and v2 checkpoints in JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pyarrow as pa

from tamis.tables.delta.added_files import AddedFiles
from tamis.tables.delta.errors import adaptive_metadata, unreadable
from tamis.tables.delta.paths import keys_in_log

__all__ = ["ADAPTIVE_METADATA", "Actions", "Sidecar", "read_actions"]

#: The table feature that stores statistics in another layout.
ADAPTIVE_METADATA: Final = "adaptiveMetadata"
_OF_FILES: Final = frozenset({"add", "remove", "cdc"})


class Sidecar(msgspec.Struct, frozen=True, rename="camel"):
    """A file that a v2 checkpoint refers to: size in bytes, time in milliseconds since 1970."""

    path: str
    size_in_bytes: int
    modification_time: int


@dataclass(frozen=True, slots=True, eq=False)
class Actions:
    """The actions of a file. `removed` are keys; see `paths`."""

    added: AddedFiles
    removed: pa.Array
    sidecars: tuple[Sidecar, ...]


class _Add(msgspec.Struct, gc=False, rename={"vector": "deletionVector"}):
    path: str
    stats: Any = None
    vector: Any = None


class _Remove(msgspec.Struct, gc=False):
    path: str


class _Action(msgspec.Struct, gc=False):
    add: _Add | None = None
    remove: _Remove | None = None
    sidecar: Sidecar | None = None


_actions = msgspec.json.Decoder(_Action)
_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_actions(content: bytes, uri: str, root: str) -> Actions:
    """Return the actions of a file that concern data files.

    Args:
        content: One JSON object per line.
        uri: The file, for errors.
        root: The URL-encoded URI of the table.

    Raises:
        SnapshotUnreadable: The content is malformed, or has another layout.
    """
    try:
        if ADAPTIVE_METADATA.encode() in content:
            _require_known_layout(content, uri)
        actions = _actions.decode_lines(content)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as problem:
        raise unreadable(uri, problem) from problem
    adds = [each.add for each in actions if each.add is not None]
    vectors = [each.vector for each in adds]
    added = AddedFiles(
        keys_in_log([each.path for each in adds], root),
        [each.stats if isinstance(each.stats, str) else None for each in adds],
        None,
        [each is not None for each in vectors],
        [_cardinality(each) for each in vectors],
    )
    removed = [each.remove.path for each in actions if each.remove is not None]
    sidecars = tuple(each.sidecar for each in actions if each.sidecar is not None)
    return Actions(added, keys_in_log(removed, root), sidecars)


def _cardinality(vector: Any) -> int | None:
    count = vector.get("cardinality") if isinstance(vector, dict) else None
    return count if type(count) is int else None


def _require_known_layout(content: bytes, uri: str) -> None:
    """Raise if the feature is named by another action than one of a file, which may contain it."""
    for line in content.split(b"\n"):
        if ADAPTIVE_METADATA.encode() in line and not _OF_FILES & _objects.decode(line).keys():
            raise adaptive_metadata(uri)
