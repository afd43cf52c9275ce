"""The durable form of an index: names, the pointer, and where an index lies.

    <root>/_tamis/index.json                          the pointer: which generation is in force
    <root>/_tamis/<generation>/files.stats            Parquet, one row a file, in listing order
    <root>/_tamis/<generation>/rowgroups.stats        Parquet, one row a row group
    <root>/_tamis/<generation>/checksums.json         of every column chunk of the two

Spark and other engines pass over names that begin with `_`, and no name ends in `.parquet`.
"""

from __future__ import annotations

import hashlib
import secrets
import zlib
from datetime import UTC, datetime

import msgspec

from tamis.errors import StatisticsIndexError
from tamis.index.leaves import Leaf

FORMAT = 1
POINTER = "index.json"
FILES = "files.stats"
ROW_GROUPS = "rowgroups.stats"
CHECKSUMS = "checksums.json"
FOLDER = "_tamis"
_STAMP = "%Y%m%dT%H%M%S%fZ"


class ColumnEntry(msgspec.Struct, frozen=True):
    """A column that the index describes: path, Spark type, and how many files have each bound."""

    path: tuple[str, ...]
    type: str
    has_default: bool
    files_with_bounds: int
    files_with_null_count: int
    nulls: int | None = None  # in all files; None: not known of every one

    @property
    def leaf(self) -> Leaf:
        return Leaf(self.path, self.type, self.has_default)


class DataFile(msgspec.Struct, frozen=True):
    """A file of the generation: bytes and CRC-32 of the whole."""

    size: int
    checksum: int


class Totals(msgspec.Struct, frozen=True):
    """What is indexed. rows: of the readable files."""

    files: int
    rows: int
    row_groups: int
    bytes: int
    unreadable: int


class Pointer(msgspec.Struct, frozen=True):
    """The content of index.json. `checksum` is the CRC-32 of the rest, see `sealed`."""

    format: int
    tamis: str
    generation: str
    created: str  # ISO 8601, UTC
    root: str
    schema: str  # Spark's JSON of the data columns
    partition_schema: str
    case_sensitive: bool
    columns: tuple[ColumnEntry, ...]
    selected: tuple[str, ...] | None  # the columns that the build was asked for; None: all
    totals: Totals
    data: dict[str, DataFile]
    problems: tuple[str, ...] = ()  # of unreadable files, the first few
    checksum: int = 0


# Start, length and CRC-32 of a range of bytes.
Range = tuple[int, int, int]


class Checksums(msgspec.Struct, frozen=True):
    """Of one Parquet file: its footer, and the chunks of each column, one a row group."""

    footer: Range
    chunks: dict[str, tuple[Range, ...]]


def seal(pointer: Pointer) -> bytes:
    """The pointer as the bytes of index.json, with its checksum."""
    bare = msgspec.structs.replace(pointer, checksum=0)
    sealed = msgspec.structs.replace(bare, checksum=zlib.crc32(msgspec.json.encode(bare)))
    return msgspec.json.format(msgspec.json.encode(sealed), indent=1)


def unseal(content: bytes) -> Pointer:
    """The pointer from the bytes of index.json.

    Raises NewerFormatError where a later version wrote it, ValueError where it is damaged.
    """
    try:
        written = msgspec.json.decode(content, type=_Format).format
        if written > FORMAT:
            raise NewerFormatError(written)
        pointer = msgspec.json.decode(content, type=Pointer)
    except (msgspec.DecodeError, msgspec.ValidationError) as problem:
        raise ValueError(f"not an index pointer ({problem})") from problem
    bare = msgspec.structs.replace(pointer, checksum=0)
    if written != FORMAT or zlib.crc32(msgspec.json.encode(bare)) != pointer.checksum:
        raise ValueError("its checksum does not match")
    return pointer


class _Format(msgspec.Struct):
    format: int


class NewerFormatError(StatisticsIndexError):
    """The index was written by a later version of tamis."""

    def __init__(self, written: int) -> None:
        super().__init__(f"format {written}, this tamis reads {FORMAT}")


def index_uri(root: str, location: str | None) -> str:
    """The directory of the index of a root, both as URL-encoded URIs.

    >>> index_uri("file:/data/t", None)
    'file:/data/t/_tamis'
    >>> index_uri("file:/data/t", "file:/indexes/")
    'file:/indexes/2d6f6c3c4fa7af9c'
    """
    root = root.rstrip("/")
    if location is None:
        return f"{root}/{FOLDER}"
    return f"{location.rstrip('/')}/{hashlib.sha256(root.encode()).hexdigest()[:16]}"


def new_generation() -> str:
    """A name that no other generation has, and that tells when it was given."""
    return f"{datetime.now(UTC).strftime(_STAMP)}-{secrets.token_hex(4)}"


def born_at(generation: str) -> datetime | None:
    """When a generation got its name; None: it is no such name."""
    try:
        return datetime.strptime(generation.partition("-")[0], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
