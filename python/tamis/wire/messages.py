"""The messages between the shim and Python: versioned JSON, one request and one answer a scan.

The schema of both is the structs below, field for field. Paths never travel: files are ordinals of
the snapshot that both sides have mapped, and `fingerprint` says which snapshot that is.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from tamis.errors import WireError, WireVersionError
from tamis.wire.file_sets import Kept
from tamis.wire.goals import Goal, GoalAnswer, ReasonDocument

__all__ = [
    "VERSION",
    "ConjunctAnswer",
    "Failure",
    "HistoryRequest",
    "ImpliedAnswer",
    "ImpliedInterval",
    "ImpliedRange",
    "ImpliedRequest",
    "IndexOptions",
    "PartitionColumn",
    "PlanAnswer",
    "PlanFailure",
    "PlanRequest",
    "RowGroupsAnswer",
    "Share",
    "Snapshot",
    "Table",
    "Warning_",
    "Written",
    "read_history_request",
    "read_implied_request",
    "read_request",
    "read_versioned",
    "write_answer",
]

VERSION: Final = 1


class Snapshot(msgspec.Struct, frozen=True):
    """Where the file table of one listing is mapped from: `<directory>/<fingerprint>.*.arrow`."""

    fingerprint: str
    directory: str
    files: int


class PartitionColumn(msgspec.Struct, frozen=True):
    name: str
    type: str


class Table(msgspec.Struct, frozen=True):
    name: str = ""
    roots: list[str] = []
    partition_columns: list[PartitionColumn] = []
    case_sensitive: bool = False


class IndexOptions(msgspec.Struct, frozen=True):
    """`epoch` counts the changes of the index that this session made, so that caches notice."""

    enabled: bool = True
    location: str | None = None
    epoch: int = 0


class PlanRequest(msgspec.Struct, frozen=True):
    """Which files does this scan need? `conjuncts` are expression documents: see wire.catalyst.

    `declarations`: what is declared of functions in this session: see serve.declarations.
    `row_groups`: the shim reads the byte ranges of an answer, and no more of those files. One that
    does not say so would drop filters that only hold in the ranges.
    `among`: only these files are in question; null: all. `goal`: what else to find out of those
    that are kept. `reading`: how Spark reads files that are not Parquet, see index.reading.
    """

    version: int
    id: str
    snapshot: Snapshot
    table: Table = Table()
    index: IndexOptions = IndexOptions()
    storage: dict[str, str] = {}
    cache_directory: str | None = None
    conjuncts: list[Any] = []
    detail: bool = False
    declarations: list[str] = []
    row_groups: bool = False
    among: Kept | None = None
    goal: Goal | None = None
    reading: str | None = None


class Share(msgspec.Struct, frozen=True):
    """What is ruled out. None: not known of each of these files."""

    files: int
    bytes: int | None = None
    rows: int | None = None


class ConjunctAnswer(msgspec.Struct, frozen=True):
    """What became of the conjunct at the same place of the request.

    Where `detail` was asked for: `pruned`, what the conjunct rules out on its own; `added`, what of
    all files is ruled out by the conjuncts up to this one, and not by those before it; `pruned_by`,
    the kinds of statistics by which it rules out files.
    """

    pushdown: str
    reason: ReasonDocument | None = None
    pruned_files: int | None = None
    pruned: Share | None = None
    added: Share | None = None
    pruned_by: list[str] = []


class ImpliedInterval(msgspec.Struct, frozen=True):
    """Values as the constants of expression documents; null: not bounded there."""

    lower: int | str | None
    upper: int | str | None
    upper_open: bool = False


class ImpliedRange(msgspec.Struct, frozen=True):
    """The value of the column lies in one of the intervals wherever the conjuncts are all true."""

    column: list[str]
    intervals: list[ImpliedInterval]


class Warning_(msgspec.Struct, frozen=True):  # noqa: N801 - Warning is a builtin
    code: str
    text: str


class RowGroupsAnswer(msgspec.Struct, frozen=True):
    """The bytes to read of the files that are kept and not read whole: one entry a range.

    In base64, little-endian, by file and start: `files` int32, ordinals of the snapshot; `starts`
    and `lengths` int64, bytes. `kept` and `total` count row groups; null: not known of every file.
    """

    files: str
    starts: str
    lengths: str
    kept: int | None = None
    total: int | None = None


class PlanAnswer(msgspec.Struct, frozen=True):
    """`row_groups`: null where all files that are kept are read whole, or nobody looked.

    `milliseconds`: from the request to the answer, of which `opening_milliseconds` until the
    listing and its statistics were open.
    """

    id: str
    fingerprint: str
    files: int
    kept: Kept
    kept_records: int | None = None
    total_records: int | None = None
    conjuncts: list[ConjunctAnswer] = []
    #: Of the conjuncts that are not exact, all of them together.
    implied: list[ImpliedRange] = []
    warnings: list[Warning_] = []
    milliseconds: float = 0.0
    opening_milliseconds: float = 0.0
    row_groups: RowGroupsAnswer | None = None
    goal: GoalAnswer | None = None
    version: int = VERSION


class ImpliedRequest(msgspec.Struct, frozen=True):
    """Which ranges follow from these conjuncts? Asked of relations that tamis does not scan."""

    version: int
    id: str
    conjuncts: list[Any] = []


class ImpliedAnswer(msgspec.Struct, frozen=True):
    id: str
    implied: list[ImpliedRange] = []
    version: int = VERSION


class HistoryRequest(msgspec.Struct, frozen=True):
    """The history, please, as an Arrow file in `directory`. `location` null: that of the user."""

    version: int
    id: str
    directory: str
    location: str | None = None


class Written(msgspec.Struct, frozen=True):
    """What was asked for lies in the private directory, as `<id>.<kind>.arrow`: see serve.written.

    `rows`: of the file. `notes`: what the person who asked ought to know.
    """

    id: str
    rows: int
    notes: list[str] = []
    version: int = VERSION


class Failure(msgspec.Struct, frozen=True):
    code: str
    text: str


class PlanFailure(msgspec.Struct, frozen=True):
    """No answer: the shim keeps every file and every filter."""

    id: str
    error: Failure
    version: int = VERSION


class _Envelope(msgspec.Struct, frozen=True):
    version: int | None = None


_Request = TypeVar("_Request")

_envelope = msgspec.json.Decoder(_Envelope)
_request = msgspec.json.Decoder(PlanRequest)
_implied_request = msgspec.json.Decoder(ImpliedRequest)
_history_request = msgspec.json.Decoder(HistoryRequest)
_encoder = msgspec.json.Encoder()


def read_request(text: str | bytes) -> PlanRequest:
    """Read a request; WireVersionError if it is of another version, WireError if it is malformed.

    >>> read_request('{"version": 3}')
    Traceback (most recent call last):
    tamis.errors.WireVersionError: the shim speaks 3, this package speaks 1: install ...
    """
    return read_versioned(_request, text)


def read_implied_request(text: str | bytes) -> ImpliedRequest:
    """The same of the other request.

    >>> read_implied_request('{"version": 1, "id": "q1"}').conjuncts
    []
    """
    return read_versioned(_implied_request, text)


def read_history_request(text: str | bytes) -> HistoryRequest:
    """The same of the request for the history.

    >>> read_history_request('{"version": 1, "id": "q1", "directory": "d"}').location
    """
    return read_versioned(_history_request, text)


def read_versioned(
    decoder: msgspec.json.Decoder[_Request],
    text: str | bytes,
    what: str = "the request of the shim",
) -> _Request:
    """Read a document of this version of the wire; `what` it is, for the error.

    Raises WireVersionError if it is of another version, WireError if it is malformed.
    """
    try:
        # The version first: what else is in a message of another version is not ours to judge.
        version = _envelope.decode(text).version
        if version != VERSION:
            raise WireVersionError(version, VERSION)
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise WireError(f"{what} cannot be read: {error}") from error


def write_answer(answer: PlanAnswer | ImpliedAnswer | Written | PlanFailure) -> str:
    """Write an answer as JSON.

    >>> write_answer(PlanFailure("q1", Failure("INTERNAL_ERROR", "no luck")))
    '{"id":"q1","error":{"code":"INTERNAL_ERROR","text":"no luck"},"version":1}'
    """
    return _encoder.encode(answer).decode()
