"""The JSON text of a filter document.

    {"encoding", "semantics", "kind": "snapshot", "predicates": [{id, revision, mode, source,
                                                                  expression}]}
    {"encoding", "semantics", "kind": "delta",    "updates": [{operation, id, revision, …}]}

Every object has exactly the properties of its kind, and no property twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NoReturn

__all__ = [
    "MAX_DEPTH",
    "MAX_IDS",
    "MAX_NODES",
    "Entry",
    "Malformed",
    "Mode",
    "Node",
    "Removal",
    "exactly",
    "index",
    "parse",
    "read_delta",
    "read_snapshot",
    "text",
]

ENCODING: Final = "vgi.filters.v2"
SEMANTICS: Final = "vgi.duckdb.standard.v1"

MAX_JSON_BYTES: Final = 1 << 20
#: Evaluation recurses with about ten calls per level, and Python allows 1,000. The specification
#: recommends 64 and allows less.
MAX_DEPTH: Final = 48
MAX_NODES: Final = 10_000
MAX_PREDICATES: Final = 1_024
MAX_IDS: Final = 4_096
_MAX_ID_BYTES: Final = 128

_SOURCES: Final = ("query", "join", "top_n", "split_refinement", "other")
_PREDICATE: Final = frozenset({"id", "revision", "mode", "source", "expression"})

Node = Mapping[str, Any]


class Malformed(ValueError):
    """A document breaks a rule of the encoding."""


class Mode(StrEnum):
    """Whether the engine relies on the worker to apply a predicate."""

    REQUIRED = "required"  # the worker applies it exactly, or fails
    ADVISORY = "advisory"  # the engine applies it too


@dataclass(frozen=True, slots=True)
class Entry:
    """A predicate of a snapshot, or an upsert of a delta. `expression` is not yet checked."""

    id: str
    revision: int
    mode: Mode
    source: str
    expression: object


@dataclass(frozen=True, slots=True)
class Removal:
    """A removal of a delta."""

    id: str
    revision: int


def parse(document: str) -> Node:
    """Return the object of a JSON text.

    Raises:
        Malformed: It is not JSON, names a property twice, or is too long or too deep.

    >>> parse('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    tamis.wire.vgi.document.Malformed: the JSON property 'a' occurs twice
    """
    if len(document.encode(errors="surrogatepass")) > MAX_JSON_BYTES:
        raise Malformed(f"the filter document is longer than {MAX_JSON_BYTES} bytes")
    try:
        parsed = json.loads(document, object_pairs_hook=_object, parse_constant=_constant)
    except Malformed:
        raise
    except (ValueError, RecursionError) as error:
        raise Malformed("the filter document is not JSON") from error
    if not isinstance(parsed, dict):
        raise Malformed("the filter document is not a JSON object")
    return parsed


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for name, value in pairs:
        if name in parsed:
            raise Malformed(f"the JSON property {name[:60]!r} occurs twice")
        parsed[name] = value
    return parsed


def _constant(name: str) -> NoReturn:
    raise Malformed(f"{name} is not JSON")


def read_snapshot(document: Node) -> list[Entry]:
    """Return the predicates of a snapshot.

    Raises:
        Malformed: It is not a snapshot, or an ID occurs twice.
    """
    _check_header(document, "snapshot", "predicates")
    entries = [_entry(each) for each in _list(document["predicates"], "predicates")]
    if len(entries) > MAX_PREDICATES:
        raise Malformed(f"the snapshot has more than {MAX_PREDICATES} predicates")
    _check_unique((each.id for each in entries), "predicate")
    return entries


def read_delta(document: Node) -> list[Entry | Removal]:
    """Return the updates of a delta.

    Raises:
        Malformed: It is not a delta, an ID occurs twice, or an upsert is not advisory.
    """
    _check_header(document, "delta", "updates")
    updates = [_update(each) for each in _list(document["updates"], "updates")]
    _check_unique((each.id for each in updates), "update")
    return updates


def exactly(value: object, properties: Iterable[str], what: str) -> Node:
    """Return an object that has exactly these properties."""
    if not isinstance(value, dict):
        raise Malformed(f"{what} is not an object")
    wanted = set(properties)
    if value.keys() != wanted:
        missing, unknown = sorted(wanted - value.keys()), sorted(value.keys() - wanted)
        problem = f"lacks {missing[0]!r}" if missing else f"has the unknown property {unknown[0]!r}"
        raise Malformed(f"{what} {problem}")
    return value


def text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise Malformed(f"{what} is not a string")
    return value


def index(value: object, what: str) -> int:
    """Return a whole number that is not negative. `true` and `1.0` are not such numbers."""
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise Malformed(f"{what} is not an unsigned integer of 64 bits")
    return value


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise Malformed(f"{what} is not an array")
    return value


def _check_header(document: Node, kind: str, content: str) -> None:
    if document.get("encoding") != ENCODING:
        raise Malformed(f"the encoding of the filter document is not {ENCODING}")
    if document.get("semantics") != SEMANTICS:
        raise Malformed(f"the semantics of the filter document are not {SEMANTICS}")
    if document.get("kind") != kind:
        raise Malformed(f"the filter document is not a {kind}")
    exactly(document, ("encoding", "semantics", "kind", content), "the filter document")


def _entry(value: object) -> Entry:
    node = exactly(value, _PREDICATE, "a predicate")
    mode, source = node["mode"], node["source"]
    if mode not in tuple(Mode):
        raise Malformed("a predicate has an unknown mode")
    if source not in _SOURCES:
        raise Malformed("a predicate has an unknown source")
    revision = index(node["revision"], "a revision")
    return Entry(_id(node["id"]), revision, Mode(mode), source, node["expression"])


def _update(value: object) -> Entry | Removal:
    operation = value.get("operation") if isinstance(value, dict) else None
    if operation == "remove":
        node = exactly(value, ("operation", "id", "revision"), "a removal")
        return Removal(_id(node["id"]), index(node["revision"], "a revision"))
    if operation != "upsert":
        raise Malformed("an update has an unknown operation")
    node = exactly(value, {"operation", *_PREDICATE}, "an upsert")
    entry = _entry({name: node[name] for name in _PREDICATE})
    if entry.mode is not Mode.ADVISORY:
        raise Malformed("an upsert is not advisory")
    return entry


def _id(value: object) -> str:
    name = text(value, "an ID")
    try:
        length = len(name.encode())
    except UnicodeEncodeError as error:
        raise Malformed("an ID is not UTF-8") from error
    if not 1 <= length <= _MAX_ID_BYTES:
        raise Malformed(f"an ID does not have 1 to {_MAX_ID_BYTES} bytes")
    return name


def _check_unique(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise Malformed(f"duplicate {what} ID {name!r}")
        seen.add(name)
