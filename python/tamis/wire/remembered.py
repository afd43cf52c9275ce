"""What scans have learnt about their files: messages of the shim.

    learnt      in these files of a listing, and in these row groups of other files, no row passes
                these conjuncts together; in others, every row passes, or the rows that pass have
                values between these
    remembered  with a question: the keys of its conjuncts, to find what was learnt before

A conjunct is identified by a key, which two conjuncts have in common only if they have the same
value for the same row (io.tamis.remember.PredicateKeys).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tamis.wire.file_sets import Kept
from tamis.wire.messages import VERSION, read_versioned
from tamis.wire.scans import Snapshot

__all__ = [
    "LearntAnswer",
    "LearntRequest",
    "PassingFiles",
    "RememberedRequest",
    "RowsOfFiles",
    "ValuesOfFiles",
    "read_learnt_request",
    "read_remembered_request",
]


class RowsOfFiles(msgspec.Struct, frozen=True):
    """Half-open ranges of the rows of files, which are numbered from 0 in each file.

    - `files`: the ordinals in the snapshot, one int32 per range, little-endian, in base64.
    - `starts`, `stops`: one int64 per range, little-endian, in base64.
    """

    files: str = ""
    starts: str = ""
    stops: str = ""


class PassingFiles(msgspec.Struct, frozen=True):
    """Files, and rows of other files, for which each of some conjuncts is true.

    - `keys`, `sql`: the conjuncts.
    - `files`: the files, of the snapshot.
    - `rows`: the rows of other files.
    """

    keys: list[str]
    sql: list[str]
    files: Kept
    rows: RowsOfFiles = RowsOfFiles()


class ValuesOfFiles(msgspec.Struct, frozen=True):
    """The least and the greatest value of columns in the rows of files that pass.

    - `columns`: the documents of the columns.
    - `files`: the ordinals in the snapshot, int32, little-endian, in base64.
    - `least`, `greatest`: for each file, the value of each column as int64, little-endian, in
      base64. If all of the rows have NULL, the least one is greater than the greatest one.
    """

    columns: list[Any]
    files: str = ""
    least: str = ""
    greatest: str = ""


class LearntRequest(msgspec.Struct, frozen=True):
    """Files, and rows of other files, of which none passes some conjuncts.

    - `files`: the files, of the snapshot.
    - `rows`: the rows of other files.
    - `reading`: a digest of the settings under which they were read.
    - `keys`, `sql`: the conjuncts.
    - `started`: milliseconds since 1970 before the first of the files was read.
    - `max_bytes`: the most bytes of all that is stored.
    - `passing`: what is known of rows that pass.
    - `values`: the values of rows that pass, of files in which some rows do.
    """

    version: int
    id: str
    snapshot: Snapshot
    table: str
    reading: str
    keys: list[str]
    sql: list[str]
    files: Kept
    started: int
    max_bytes: int
    cache_directory: str | None = None
    rows: RowsOfFiles = RowsOfFiles()
    passing: PassingFiles | None = None
    values: ValuesOfFiles | None = None


class LearntAnswer(msgspec.Struct, frozen=True):
    """The answer to a LearntRequest.

    - `changed`: whether more is known than before.
    """

    id: str
    changed: bool = False
    version: int = VERSION


class RememberedRequest(msgspec.Struct, frozen=True):
    """A request for what is stored, as `<id>.remembered.arrow` in `directory`."""

    version: int
    id: str
    directory: str
    cache_directory: str | None = None


_learnt: Final = msgspec.json.Decoder(LearntRequest)
_remembered: Final = msgspec.json.Decoder(RememberedRequest)


def read_learnt_request(text: str | bytes) -> LearntRequest:
    """Read a LearntRequest. Raises as read_versioned does."""
    return read_versioned(_learnt, text)


def read_remembered_request(text: str | bytes) -> RememberedRequest:
    """Read a RememberedRequest. Raises as read_versioned does."""
    return read_versioned(_remembered, text)
