"""The durable form of an index: file names, the pointer, and the location of an index.

    <root>/_tamis/_index.json                         the pointer, which names the segments
    <root>/_tamis/_<segment>/_files.stats             Parquet, one row per file, in listing order
    <root>/_tamis/_<segment>/_rowgroups.stats         Parquet, one row per row group
    <root>/_tamis/_<segment>/_checksums.json          of every column chunk of these two

A build writes one segment. A refresh that finds only new files appends a segment of these files.
The index describes the files of all segments, in the order of the pointer.

Every name is hidden, at every level. Spark (`HadoopFSUtils.shouldFilterOutPathName`, 4.0 to 4.3)
ignores names that begin with `_` or `.` in the directories that it lists, but not in the paths that
a glob matches: for `<root>/*` it lists the content of `_tamis`, for `<root>/*/*` the content of a
generation. It does not ignore names that contain `=`, or begin with `_metadata` or
`_common_metadata`, so no name here does. No name ends in `.parquet`, for engines that do not ignore
hidden names.

Older formats are still read, and the next build or refresh replaces them:

    1  the same names without the underscore
    2  NULL counts of footers are not used: some writers count wrongly, and older versions believed
       them
    3  one segment. It is still written where there is only one.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from tamis.errors import StatisticsIndexError
from tamis.indexing.executor.columns_schema import Leaf

FORMAT = 4
#: The format of an index with one segment, which older versions read too.
ONE_SEGMENT_FORMAT = 3
#: The first format whose NULL counts leave out writers that count wrongly.
COUNTED_FORMAT = 3
#: The format whose names are not hidden.
VISIBLE_FORMAT = 1
POINTER = "_index.json"
VISIBLE_POINTER = "index.json"
FILES = "files.stats"
ROW_GROUPS = "rowgroups.stats"
CHECKSUMS = "checksums.json"
#: The table of row statistics: see `row_statistics`.
RECORDED = "recorded.stats"
#: The bounds of expressions in row groups, one row per row of ROW_GROUPS.
RECORDED_GROUPS = "recordedgroups.stats"
FOLDER = "_tamis"
_STAMP = "%Y%m%dT%H%M%S%fZ"
_SEGMENT = re.compile(r"_?[0-9]{8}T[0-9]{12}Z-[0-9a-f]{8}")


class ColumnEntry(msgspec.Struct, frozen=True):
    """A column that the index describes, and for how many files its statistics are known."""

    path: tuple[str, ...]
    type: str
    has_default: bool
    files_with_bounds: int
    files_with_null_count: int
    nulls: int | None = None  # in all files; None: unknown for some file

    @property
    def leaf(self) -> Leaf:
        return Leaf(self.path, self.type, self.has_default)


class DataFile(msgspec.Struct, frozen=True):
    """A file of a segment: its size in bytes and its CRC-32."""

    size: int
    checksum: int


class Segment(msgspec.Struct, frozen=True):
    """Files that were indexed together.

    Attributes:
        directory: The name of the directory of the segment.
        files: The number of its files.
        row_groups: The number of their row groups.
        data: The files in the directory, by the names of the constants above; `place` returns
            their names in storage.
    """

    directory: str
    files: int
    row_groups: int
    data: dict[str, DataFile]


class Totals(msgspec.Struct, frozen=True):
    """Totals of the indexed files. rows: of the readable files only."""

    files: int
    rows: int
    row_groups: int
    bytes: int
    unreadable: int


class Pointer(msgspec.Struct, frozen=True):
    """The content of the pointer file.

    Attributes:
        generation: The name of the directory of the first segment.
        totals: The totals of all segments, as all fields but the next.
        data: The files in the directory of the first segment.
        appended: The other segments. Unset: there are none.
        checksum: The CRC-32 of the rest, see `seal`.
    """

    format: int
    tamis: str
    generation: str
    created: str  # ISO 8601, UTC
    root: str
    schema: str  # Spark's JSON of the data columns
    partition_schema: str
    case_sensitive: bool
    columns: tuple[ColumnEntry, ...]
    selected: tuple[str, ...] | None  # the columns that the build requested; None: all
    totals: Totals
    data: dict[str, DataFile]
    problems: tuple[str, ...] = ()  # of unreadable files, the first few
    appended: tuple[Segment, ...] | msgspec.UnsetType = msgspec.UNSET
    checksum: int = 0

    @property
    def name(self) -> str:
        """The name of the last segment, which identifies this version of the index."""
        return self.segments[-1].directory

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All segments, in order."""
        appended = () if self.appended is msgspec.UNSET else self.appended
        first = Segment(
            self.generation,
            self.totals.files - sum(each.files for each in appended),
            self.totals.row_groups - sum(each.row_groups for each in appended),
            self.data,
        )
        return first, *appended

    @property
    def size(self) -> int:
        """The bytes of all files of the index but the pointer."""
        return sum(file.size for segment in self.segments for file in segment.data.values())

    def with_segments(self, segments: Sequence[Segment]) -> Pointer:
        """Return a pointer to other segments, with the same totals of bytes and rows."""
        first, *appended = segments
        return msgspec.structs.replace(
            self,
            format=FORMAT if appended else ONE_SEGMENT_FORMAT,
            generation=first.directory,
            totals=msgspec.structs.replace(
                self.totals,
                files=sum(each.files for each in segments),
                row_groups=sum(each.row_groups for each in segments),
            ),
            data=first.data,
            appended=tuple(appended) or msgspec.UNSET,
        )


# Start, length and CRC-32 of a range of bytes.
Range = tuple[int, int, int]


class Checksums(msgspec.Struct, frozen=True):
    """The checksums of a Parquet file: of its footer, and of each column's chunk per row group."""

    footer: Range
    chunks: dict[str, tuple[Range, ...]]


def place(pointer: Pointer, segment: Segment, name: str) -> str:
    """Return the path of a file of a segment below the directory of the index."""
    stored = name if pointer.format == VISIBLE_FORMAT else hidden(name)
    return f"{segment.directory}/{stored}"


def hidden(name: str) -> str:
    """Return the name in storage of a file of a segment.

    >>> hidden(FILES)
    '_files.stats'
    """
    return f"_{name}"


def now() -> str:
    """Return the current time as in `Pointer.created`."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def seal(pointer: Pointer) -> bytes:
    """Return the content of the pointer file, with the checksum."""
    bare = msgspec.structs.replace(pointer, checksum=0)
    sealed = msgspec.structs.replace(bare, checksum=zlib.crc32(msgspec.json.encode(bare)))
    return msgspec.json.format(msgspec.json.encode(sealed), indent=1)


def unseal(content: bytes) -> Pointer:
    """Parse the content of the pointer file.

    Raises:
        NewerFormatError: A later version of tamis wrote it.
        ValueError: It is damaged.
    """
    try:
        written = msgspec.json.decode(content, type=_Format).format
        if written > FORMAT:
            raise NewerFormatError(written)
        pointer = msgspec.json.decode(content, type=Pointer)
    except (msgspec.DecodeError, msgspec.ValidationError) as problem:
        raise ValueError(f"not an index pointer ({problem})") from problem
    if written <= ONE_SEGMENT_FORMAT:  # an unknown field there
        pointer = msgspec.structs.replace(pointer, appended=msgspec.UNSET)
    elif not pointer.appended:
        raise ValueError(f"format {written} without appended segments")
    bare = msgspec.structs.replace(pointer, checksum=0)
    if written < VISIBLE_FORMAT or zlib.crc32(msgspec.json.encode(bare)) != pointer.checksum:
        raise ValueError("its checksum does not match")
    for name in {pointer.generation, *(each.directory for each in pointer.segments)}:
        if not _SEGMENT.fullmatch(name):  # it could be the path of another directory
            raise ValueError(f"{name!r} is not the name of a segment")
    return pointer


class _Format(msgspec.Struct):
    format: int


class NewerFormatError(StatisticsIndexError):
    """The index was written by a later version of tamis."""

    def __init__(self, written: int) -> None:
        super().__init__(f"format {written}, this tamis reads {FORMAT}")


def index_uri(root: str, location: str | None) -> str:
    """Return the directory of the index of a root, both as URL-encoded URIs.

    >>> index_uri("file:/data/t", None)
    'file:/data/t/_tamis'
    >>> index_uri("file:/data/t", "file:/indexes/")
    'file:/indexes/2d6f6c3c4fa7af9c'
    """
    root = root.rstrip("/")
    if location is None:
        return f"{root}/{FOLDER}"
    return f"{location.rstrip('/')}/{digest_of(root)}"


def digest_of(root: str) -> str:
    """Return a name for a root (a URI without a trailing slash), for use outside of it.

    >>> digest_of("file:/data/t")
    '2d6f6c3c4fa7af9c'
    """
    return hashlib.sha256(root.encode()).hexdigest()[:16]


def new_segment() -> str:
    """Return a unique directory name that contains the current time."""
    return f"_{datetime.now(UTC).strftime(_STAMP)}-{secrets.token_hex(4)}"


def born_at(directory: str) -> datetime | None:
    """Return when a segment was named, in any format; None if the name is not a segment's.

    >>> born_at("_20240102T030405000006Z-0a1b2c3d") == born_at("20240102T030405000006Z-0a1b2c3d")
    True
    """
    try:
        stamp = directory.removeprefix("_").partition("-")[0]
        return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def is_later(one: Pointer, other: Pointer) -> bool:
    """Return whether the last segment of `one` was started after that of `other`."""
    born, before = (born_at(each.name) for each in (one, other))
    return born is not None and before is not None and born > before
