"""The messages between the shim and Python: versioned JSON, one request and one answer per scan.

Their schema is exactly that of the structs below. Messages never contain paths of files. Files are
ordinals of a snapshot that both sides have mapped, and `fingerprint` identifies that snapshot.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from tamis.errors import WireError, WireVersionError
from tamis.wire.file_sets import Kept
from tamis.wire.goals import Goal, GoalAnswer, ReasonDocument
from tamis.wire.scans import IndexOptions, ScanRequest, Table

__all__ = [
    "VERSION",
    "ConjunctAnswer",
    "Failure",
    "HistoryRequest",
    "ImpliedAnswer",
    "ImpliedInterval",
    "ImpliedRange",
    "ImpliedRequest",
    "OpenIndexesAnswer",
    "OpenIndexesRequest",
    "PlanAnswer",
    "PlanFailure",
    "PlanRequest",
    "RowGroupsAnswer",
    "Share",
    "ValueOutcomes",
    "WaitingFilesAnswer",
    "WaitingFilesRequest",
    "WantedValues",
    "Warning_",
    "Written",
    "WrittenFilesAnswer",
    "WrittenFilesRequest",
    "read_history_request",
    "read_implied_request",
    "read_open_indexes_request",
    "read_request",
    "read_versioned",
    "read_waiting_files_request",
    "read_written_files_request",
    "write_answer",
]

VERSION: Final = 1


class PlanRequest(ScanRequest, frozen=True, kw_only=True):
    """A request for the files that a scan needs.

    - `row_groups`: the shim accepts byte ranges, and promises to read nothing else of those files.
      Filters that are exact only within the ranges depend on this.
    - `goal`: what else to find out about the kept files.
    - `most_values`: of a column, at most this many values are evaluated; 0: none are.
    - `outcomes`: what was found out about the values that an earlier answer asked for.
    """

    version: int
    id: str
    detail: bool = False
    row_groups: bool = False
    goal: Goal | None = None
    most_values: int = 0
    outcomes: tuple[ValueOutcomes, ...] = ()


class ValueOutcomes(msgspec.Struct, frozen=True):
    """What an evaluable predicate is for each value of a file that an earlier answer named.

    - `request`, `place`: the id of that request, and the place of the file in its answer.
    - `key`: the key of the predicate.
    - `codes`: one byte per value (expr.outcomes.Outcome), then one for NULL, then one for NaN; in
      base64.
    """

    request: str
    place: int
    key: str
    codes: str


class WantedValues(msgspec.Struct, frozen=True):
    """Values for which an evaluable predicate would decide more files.

    They are the column `value` of `<id>.values<place>.arrow` in the private directory, where
    `place` counts the wanted values of the answer: whole numbers of up to 64 bits (also of
    booleans, dates, moments, and decimals of up to 18 digits), doubles, longer decimals, or bytes.
    """

    key: str
    rows: int


class Share(msgspec.Struct, frozen=True):
    """The files that are ruled out. Bytes or rows are None if not known for each of these files."""

    files: int
    bytes: int | None = None
    rows: int | None = None


class ConjunctAnswer(msgspec.Struct, frozen=True):
    """What was decided for the conjunct at the same place in the request.

    - `remembered`: whether it is exact because of what earlier scans have found.

    The following are set if `detail` was requested:

    - `pruned`: what the conjunct rules out on its own.
    - `added`: what the conjuncts up to this one rule out of all files, and those before it do not.
    - `pruned_by`: the kinds of statistics by which the conjunct rules out files.
    """

    pushdown: str
    reason: ReasonDocument | None = None
    pruned_files: int | None = None
    remembered: bool = False
    pruned: Share | None = None
    added: Share | None = None
    pruned_by: list[str] = []


class ImpliedInterval(msgspec.Struct, frozen=True):
    """An interval. The bounds are constants of expression documents; null means unbounded."""

    lower: int | str | None
    upper: int | str | None
    upper_open: bool = False


class ImpliedRange(msgspec.Struct, frozen=True):
    """The intervals that contain the column's value in every row that satisfies all conjuncts."""

    column: list[str]
    intervals: list[ImpliedInterval]


class Warning_(msgspec.Struct, frozen=True):  # noqa: N801 - Warning is a builtin
    code: str
    text: str


class RowGroupsAnswer(msgspec.Struct, frozen=True):
    """The byte ranges to read of the kept files that are not read whole, ordered by file and start.

    - `files`: the ordinals in the snapshot, one int32 per range, little-endian, in base64.
    - `starts`, `lengths`: bytes, one int64 per range, little-endian, in base64.
    - `kept`, `total`: the number of row groups, null if it is not known for every file.
    - `remembered`: how many row groups only earlier scans have ruled out.
    """

    files: str
    starts: str
    lengths: str
    kept: int | None = None
    total: int | None = None
    remembered: int = 0


class PlanAnswer(msgspec.Struct, frozen=True):
    """The answer to a PlanRequest.

    - `row_groups`: null if all kept files are read whole, or row groups were not evaluated.
    - `milliseconds`: the time from the request to the answer.
    - `opening_milliseconds`: the part of it until the listing and its statistics were open.
    - `remembered_files`: how many files only earlier scans have ruled out.
    - `wanted`: with the outcomes for these values, the same question may have a better answer.
    """

    id: str
    fingerprint: str
    files: int
    kept: Kept
    kept_records: int | None = None
    total_records: int | None = None
    conjuncts: list[ConjunctAnswer] = []
    #: The ranges that the AND of all conjuncts that are not exact implies.
    implied: list[ImpliedRange] = []
    warnings: list[Warning_] = []
    milliseconds: float = 0.0
    opening_milliseconds: float = 0.0
    row_groups: RowGroupsAnswer | None = None
    goal: GoalAnswer | None = None
    remembered_files: int = 0
    wanted: list[WantedValues] = []
    version: int = VERSION


class ImpliedRequest(msgspec.Struct, frozen=True):
    """A request for the ranges that conjuncts imply, for relations that tamis does not scan."""

    version: int
    id: str
    conjuncts: list[Any] = []


class ImpliedAnswer(msgspec.Struct, frozen=True):
    id: str
    implied: list[ImpliedRange] = []
    version: int = VERSION


class HistoryRequest(msgspec.Struct, frozen=True):
    """A request to write the history as an Arrow file to `directory`.

    A null `location` means the user's default.
    """

    version: int
    id: str
    directory: str
    location: str | None = None


class WrittenFilesRequest(msgspec.Struct, frozen=True):
    """Parquet files that a query has written, to be indexed automatically.

    - `root`: the directory of the table, a URL-encoded URI.
    - `schema`: Spark's JSON of the data columns.
    - `directories`: URL-encoded URIs of directories.
    - `group`, `name`, `size`, `mtime`: one value per file: the index into `directories`, the last
      part of the path, URL-encoded, bytes, and milliseconds since 1970.
    """

    version: int
    id: str
    root: str
    schema: str
    case_sensitive: bool
    directories: list[str]
    group: list[int]
    name: list[str]
    size: list[int]
    mtime: list[int]
    storage: dict[str, str] = {}
    cache_directory: str | None = None


class PlansRequest(msgspec.Struct, frozen=True):
    """Several questions, each a PlanRequest."""

    version: int
    id: str
    questions: list[msgspec.Raw]


class PlansAnswer(msgspec.Struct, frozen=True):
    """The answers in the order of the questions, each a PlanAnswer or a PlanFailure."""

    id: str
    answers: list[msgspec.Raw]
    version: int = VERSION


class WrittenFilesAnswer(msgspec.Struct, frozen=True):
    """The files will be indexed in the background, or after some time by a query."""

    id: str
    version: int = VERSION


class OpenIndexesRequest(msgspec.Struct, frozen=True):
    """A request to open the indexes that may describe files of a table, for later requests."""

    version: int
    id: str
    table: Table
    index: IndexOptions = IndexOptions()
    storage: dict[str, str] = {}
    cache_directory: str | None = None


class OpenIndexesAnswer(msgspec.Struct, frozen=True):
    """The indexes are being opened."""

    id: str
    version: int = VERSION


class WaitingFilesRequest(msgspec.Struct, frozen=True):
    """A request for the number of files that wait for an automatic index.

    - `root`, `location`: the root and the location of the automatic index.
    """

    version: int
    id: str
    root: str
    location: str


class WaitingFilesAnswer(msgspec.Struct, frozen=True):
    """`files`: the number of files whose footers are being read, or will be read next."""

    id: str
    files: int
    version: int = VERSION


class Written(msgspec.Struct, frozen=True):
    """The result was written to the private directory, as `<id>.<kind>.arrow` (see
    serve.arrow_export.written).

    - `rows`: the number of rows of the file.
    - `notes`: remarks for the user.
    """

    id: str
    rows: int
    notes: list[str] = []
    version: int = VERSION


class Failure(msgspec.Struct, frozen=True):
    code: str
    text: str


class PlanFailure(msgspec.Struct, frozen=True):
    """The planner has no answer, so the shim keeps every file and every filter."""

    id: str
    error: Failure
    version: int = VERSION


class _Envelope(msgspec.Struct, frozen=True):
    version: int | None = None


_Request = TypeVar("_Request")

_envelope = msgspec.json.Decoder(_Envelope)
_request = msgspec.json.Decoder(PlanRequest)
_plans_request = msgspec.json.Decoder(PlansRequest)
_implied_request = msgspec.json.Decoder(ImpliedRequest)
_history_request = msgspec.json.Decoder(HistoryRequest)
_open_indexes_request = msgspec.json.Decoder(OpenIndexesRequest)
_written_files_request = msgspec.json.Decoder(WrittenFilesRequest)
_waiting_files_request = msgspec.json.Decoder(WaitingFilesRequest)
_encoder = msgspec.json.Encoder()


def read_request(text: str | bytes) -> PlanRequest:
    """Read a PlanRequest. Raises as read_versioned does.

    >>> read_request('{"version": 3}')
    Traceback (most recent call last):
    tamis.errors.WireVersionError: the jar uses version 3 of the wire protocol, ...
    """
    return read_versioned(_request, text)


def read_plans_request(text: str | bytes) -> PlansRequest:
    """Read a PlansRequest. Raises as read_versioned does."""
    return read_versioned(_plans_request, text)


def read_implied_request(text: str | bytes) -> ImpliedRequest:
    """Read an ImpliedRequest. Raises as read_versioned does.

    >>> read_implied_request('{"version": 1, "id": "q1"}').conjuncts
    []
    """
    return read_versioned(_implied_request, text)


def read_history_request(text: str | bytes) -> HistoryRequest:
    """Read a HistoryRequest. Raises as read_versioned does.

    >>> read_history_request('{"version": 1, "id": "q1", "directory": "d"}').location
    """
    return read_versioned(_history_request, text)


def read_written_files_request(text: str | bytes) -> WrittenFilesRequest:
    """Read a WrittenFilesRequest. Raises as read_versioned does."""
    return read_versioned(_written_files_request, text)


def read_open_indexes_request(text: str | bytes) -> OpenIndexesRequest:
    """Read an OpenIndexesRequest. Raises as read_versioned does."""
    return read_versioned(_open_indexes_request, text)


def read_waiting_files_request(text: str | bytes) -> WaitingFilesRequest:
    """Read a WaitingFilesRequest. Raises as read_versioned does."""
    return read_versioned(_waiting_files_request, text)


def read_versioned(
    decoder: msgspec.json.Decoder[_Request],
    text: str | bytes,
    what: str = "the request from the jar",
) -> _Request:
    """Read a document of this version of the wire format.

    Args:
        decoder: The decoder of the document.
        text: The document, as JSON.
        what: The name of the document in errors.

    Raises:
        WireVersionError: The document has another version.
        WireError: The document is malformed.
    """
    try:
        # Check the version first. A message of another version may have any other content.
        version = _envelope.decode(text).version
        if version != VERSION:
            raise WireVersionError(version, VERSION)
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise WireError(f"{what} cannot be read: {error}") from error


def write_answer(answer: msgspec.Struct) -> str:
    """Write an answer as JSON.

    >>> write_answer(PlanFailure("q1", Failure("INTERNAL_ERROR", "no luck")))
    '{"id":"q1","error":{"code":"INTERNAL_ERROR","text":"no luck"},"version":1}'
    """
    return _encoder.encode(answer).decode()
