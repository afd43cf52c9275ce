"""A second reader of the statistics index, written from docs/index_format.md alone.

It shares no code with tamis, so a test that compares the two finds what the page leaves out.
Values are those of value lists: days, microseconds and unscaled decimals as `int`, and strings as
`str`. None means unknown.
"""

import decimal
import hashlib
import io
import json
import os
import re
import struct
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote_to_bytes

import pyarrow as pa
import pyarrow.parquet as pq

Value: TypeAlias = Any  # int, float, str or bytes
Pointer: TypeAlias = dict[str, Any]

POINTER_FIELDS = (
    "format", "tamis", "generation", "created", "root", "schema", "partition_schema",
    "case_sensitive", "columns", "selected", "totals", "data", "problems", "appended", "checksum",
)  # fmt: skip
COLUMN_FIELDS = (
    "path", "type", "has_default", "files_with_bounds", "files_with_null_count", "nulls",
)  # fmt: skip
TOTALS_FIELDS = ("files", "rows", "row_groups", "bytes", "unreadable")
APPENDED_FIELDS = ("directory", "files", "row_groups", "data")
PARQUET = re.compile(r"(files|rowgroups|recorded|recordedgroups)\.stats|\d+\.(values|groups)")
VERIFIED_WHOLE = re.compile(r"(checksums|recorded)\.json|\d+\.(bits|sketches|union)")
SEGMENT_TIME = re.compile(r"_?(\d{8}T\d{12}Z)-[0-9a-f]{8}")


KINDS = ("bounds", "bloom", "values", "ndv")
AGGREGATES = ("count", "sum", "min", "max")


class Unusable(Exception):
    """There is no index that a reader may use."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row of `files.stats`."""

    directory: str
    name: str
    size: int
    mtime: int
    num_records: int | None
    row_groups: int | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Outer bounds of the ordinary values of a container, and counts of NULL and NaN."""

    low: Value = None
    high: Value = None
    null_count: int | None = None
    nan_count: int | None = None
    attained: bool = False

    def checked(self, rows: int | None) -> "Statistics":
        """Return these statistics, or unknown ones if they contradict each other."""
        bounds = [edge for edge in (self.low, self.high) if edge is not None]
        absent = (self.null_count or 0) + (self.nan_count or 0)
        is_contradictory = (
            any(edge != edge for edge in bounds)
            or (len(bounds) == 2 and bounds[0] > bounds[1])
            or min(self.null_count or 0, self.nan_count or 0) < 0
            # With a bound, at least one row is neither NULL nor NaN.
            or (rows is not None and absent > rows - bool(bounds))
        )
        return Statistics() if is_contradictory else self


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row of `rowgroups.stats`, with statistics of the requested columns in their order."""

    start: int
    length: int
    midpoint: int | None
    num_records: int
    statistics: tuple[Statistics, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """Row statistics of a column. `number` is k in the names of its columns and files."""

    number: int
    kind: str
    path: tuple[str, ...]
    type: str
    by: tuple[tuple[tuple[str, ...], str], ...] | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of an index, and its place in the tables of the index."""

    listed: dict[str, dict[str, int]]  # `data` in the pointer
    contents: dict[str, bytes]  # only of data files without damage
    files: int
    row_groups: int
    first_file: int
    first_row_group: int

    def stored(self, table: str, name: str, spark_type: str = "") -> list[Value] | None:
        """Return a column of a Parquet file, or None if it is missing or damaged."""
        try:
            content = self.contents[table]
            parts = json.loads(self.contents["checksums.json"])[table]
            ranges = [parts["footer"], *parts["chunks"][name]]
        except KeyError:
            return None
        if any(zlib.crc32(content[start : start + n]) != crc for start, n, crc in ranges):
            return None
        values = list(_decoded(content, name, spark_type))
        is_whole = table.endswith((".values", ".groups")) or len(values) == self._rows_of(table)
        return values if is_whole else None

    def column(self, table: str, name: str, spark_type: str = "") -> list[Value]:
        """Return a column of a table. Without the column, every row is NULL: unknown."""
        stored = self.stored(table, name, spark_type)
        return [None] * self._rows_of(table) if stored is None else stored

    def ranges(self, entry: Entry, total: int, unit: int) -> Iterator[tuple[int, int, int]]:
        """Yield the row in the index, start and end of each filter or list of this segment.

        Yield nothing if the sum of the sizes is wrong.
        """
        sizes = self.column("recorded.stats", f"{entry.number}.size")
        end = 0
        for row, size in enumerate(sizes if sum(filter(None, sizes)) * unit == total else []):
            if size is not None:
                start, end = end, end + size * unit
                yield self.first_file + row, start, end

    def _rows_of(self, table: str) -> int:
        return self.row_groups if table == "rowgroups.stats" else self.files


@lru_cache(maxsize=512)
def _decoded(content: bytes, name: str, spark_type: str) -> tuple[Value, ...]:
    """Decode a column of a Parquet file. Readers of one index decode the same columns again."""
    return tuple(plain_values(pq.ParquetFile(io.BytesIO(content)).read([name])[0], spark_type))


class PageReader:
    """The current generation of an index. Damaged parts are unknown.

    Args:
        directory: The index directory.
        root: The URI of the table. An index of another root is not used.

    Raises:
        Unusable: There is no index for this root, or its list of files is damaged.
    """

    def __init__(self, directory: Path, root: str) -> None:
        while True:
            self.pointer = current_pointer(directory)
            self._segments, is_complete = _read_segments(directory, self.pointer)
            # A later commit may have deleted the file. Otherwise this part is damaged.
            segments = segment_names(self.pointer)
            if is_complete or segment_names(current_pointer(directory)) == segments:
                break
        if unquote_to_bytes(self.pointer["root"]) != unquote_to_bytes(root):
            raise Unusable(f"{directory} is the index of {self.pointer['root']}")
        if "reading.json" in self.pointer["data"]:
            raise Unusable(f"{directory} is the index of files that are not Parquet")
        names = ("directory", "name", "size", "mtime", "num_records", "row_groups")
        if None in [each.stored("files.stats", name) for each in self._segments for name in names]:
            raise Unusable(f"{directory}: files.stats is damaged")
        columns = [self._column("files.stats", name) for name in (*names, "problem")]
        self.files = [FileRow(*row) for row in zip(*columns, strict=True)]
        self.entries = self._read_entries()

    @classmethod
    def find(cls, table: Path, location: Path | None = None) -> "PageReader | None":
        """Return the index that serves queries over a local directory or file, or None.

        Args:
            table: The directory or file, possibly below partition directories.
            location: The local directory in `spark.tamis.index.location`.
        """
        for root in _roots(table):
            uri = path_uri(root)
            digest = hashlib.sha256(uri.encode()).hexdigest()[:16]
            try:
                return cls(root / "_tamis" if location is None else location / digest, uri)
            except Unusable:
                continue
        return None

    def row_of(self, file: Path) -> int | None:
        """Return the row number of the present version of a file. None: it must be read."""
        status = file.stat()
        if status.st_mtime_ns // 10**6 < 631_152_000_000:
            return None
        key = (unquote_to_bytes(path_uri(file)), status.st_size, status.st_mtime_ns // 10**6)
        for row, listed in enumerate(self.files):
            uri = unquote_to_bytes(f"{listed.directory}/{listed.name}")
            if (uri, listed.size, listed.mtime) == key:
                return row
        return None

    def statistics(self, *path: str) -> list[Statistics]:
        """Return what is known about a column in each file: from its rows, or from its footer."""
        chosen = self._of_footers("files.stats", path)
        described = self._described(path)
        for entry in self._entries_of("bounds", path):
            # Row statistics hold for the recorded type only.
            if described is None or described["type"] == entry.type:
                rows = self._statistics("recorded.stats", f"{entry.number}.", "", entry.type)
                # No mixing: all numbers come from the rows if `null_count` is known, or none does.
                pairs = zip(rows, chosen, strict=True)
                chosen = [footer if row.null_count is None else row for row, footer in pairs]
        counts = [file.num_records for file in self.files]
        return [known.checked(rows) for known, rows in zip(chosen, counts, strict=True)]

    def row_groups(self, row: int, *paths: Sequence[str]) -> list[RowGroup] | None:
        """Return the row groups of a file with statistics of some columns. None: unknown."""
        names = ("file", "start", "length", "midpoint", "num_records")
        segment = next(each for each in self._segments if row < each.first_file + each.files)
        columns = [segment.stored("rowgroups.stats", name) for name in names]
        if None in columns:
            return None
        known = [self._of_footers("rowgroups.stats", path) for path in paths]
        groups = []
        numbered = enumerate(zip(*columns, strict=True), segment.first_row_group)
        for at, (file, start, length, midpoint, rows) in numbered:
            if segment.first_file + file == row:
                parts = tuple(column[at].checked(rows) for column in known)
                groups.append(RowGroup(start, length, midpoint, rows, parts))
        wholes = [self.statistics(*path)[row] for path in paths]
        return groups if _can_use_row_groups(self.files[row], wholes, groups) else None

    def probe(self, value: Value, *path: str) -> list[bool | None]:
        """Return for each file whether it may contain a value. None: it has no Bloom filter."""
        answers: list[bool | None] = [None] * len(self.files)
        for entry in self._entries_of("bloom", path):
            code = xxh64(hashed_bytes(value, entry.type))
            for segment in self._segments:
                bits = segment.contents.get(f"{entry.number}.bits", b"")
                for row, start, end in segment.ranges(entry, len(bits), 32):
                    answers[row] = end > start and _is_in_filter(bits[start:end], code)
        return answers

    def values(self, *path: str) -> list[list[Value] | None]:
        """Return all distinct ordinary values of a column in each file. None: it has no list."""
        lists: list[list[Value] | None] = [None] * len(self.files)
        for entry in self._entries_of("values", path):
            for segment in self._segments:
                values = segment.stored(f"{entry.number}.values", "value", entry.type) or []
                for row, start, end in segment.ranges(entry, len(values), 1):
                    lists[row] = values[start:end]
        return lists

    def groups(
        self, kind: str, by: Sequence[Sequence[str]], *path: str
    ) -> list[list[dict[str, Value]] | None]:
        """Return the groups of each file with an aggregate of a column (no path: of rows)."""
        found: list[list[dict[str, Value]] | None] = [None] * len(self.files)
        for entry in self._entries_of(kind, path):
            columns = [column for column, _ in entry.by or ()]
            if len(columns) != len(by) or not all(map(self._is_same, columns, by)):
                continue
            types = {f"by.{i}": spark_type for i, (_, spark_type) in enumerate(entry.by or ())}
            types["rows"] = "long"
            if path:
                types["count"] = "long"
            if kind == "sum":
                scale = re.search(r",(\d+)\)", entry.type)
                wide = f"decimal(38,{scale[1] if scale else 0})"
                types |= {"positive": wide, "negative": wide}
            elif kind != "count":
                types["value"] = entry.type
            for segment in self._segments:
                table = f"{entry.number}.groups"
                stored = [segment.stored(table, name, types[name]) for name in types]
                known = [cells for cells in stored if cells is not None]
                if len(known) < len(types):
                    continue
                rows = [dict(zip(types, row, strict=True)) for row in zip(*known, strict=True)]
                for row, start, end in segment.ranges(entry, len(rows), 1):
                    found[row] = rows[start:end]
        return found

    def sketches(self, *path: str) -> list[bytes | None]:
        """Return the sketch of a column in each file. None: it has no sketch."""
        sketches: list[bytes | None] = [None] * len(self.files)
        for entry in self._entries_of("ndv", path):
            for segment in self._segments:
                content = segment.contents.get(f"{entry.number}.sketches", b"")
                for row, start, end in segment.ranges(entry, len(content), 1):
                    sketches[row] = content[start:end]
        return sketches

    def unions(self, *path: str) -> list[bytes]:
        """Return the union of the sketches of each segment that has an intact one."""
        names = [f"{entry.number}.union" for entry in self._entries_of("ndv", path)]
        return [s.contents[name] for name in names for s in self._segments if name in s.contents]

    def lengths(self, *path: str) -> list[tuple[int | None, int | None]]:
        """Return the total and the greatest length of the values of a column in each file."""
        (entry,) = self._entries_of("ndv", path)
        names = (f"{entry.number}.length", f"{entry.number}.longest")
        return list(zip(*(self._column("recorded.stats", name) for name in names), strict=True))

    def _read_entries(self) -> list[Entry]:
        having = [each for each in self._segments if "recorded.json" in each.listed]
        if not having:
            return []
        try:
            recorded = json.loads(having[-1].contents["recorded.json"])
            # An unknown kind has a number too. The key of an expression has no meaning here.
            return [
                Entry(
                    number,
                    entry["kind"],
                    tuple(entry.get("path") or ()),
                    entry["type"],
                    _columns(entry.get("by")),
                )
                for number, entry in enumerate(recorded["entries"])
                if recorded["format"] in (1, 2)
                and entry["kind"] in (AGGREGATES if _is_aggregate(entry) else KINDS)
                and entry.get("key") is None
                and (entry.get("path") is not None or _is_aggregate(entry))
            ]
        except (KeyError, TypeError, ValueError):
            return []

    def _column(self, table: str, name: str, spark_type: str = "") -> list[Value]:
        """Return a column of a table of the index: of its segments, one after the other."""
        return [row for each in self._segments for row in each.column(table, name, spark_type)]

    def _statistics(
        self, table: str, prefix: str, suffix: str, spark_type: str
    ) -> list[Statistics]:
        low, high = (
            self._column(table, f"{prefix}{kind}{suffix}", spark_type) for kind in ("min", "max")
        )
        nulls, nans, attained = (
            self._column(table, f"{prefix}{kind}{suffix}")
            for kind in ("null_count", "nan_count", "attained")
        )
        if spark_type not in ("float", "double"):
            nans = [0] * len(low)
        rows = zip(low, high, nulls, nans, map(bool, attained), strict=True)
        return [Statistics(*row) for row in rows]

    def _of_footers(self, table: str, path: Sequence[str]) -> list[Statistics]:
        """Return the statistics of a column in `files.stats` or `rowgroups.stats`."""
        described = self._described(path)
        if described is None:
            totals = self.pointer["totals"]
            return [Statistics()] * totals["files" if table == "files.stats" else "row_groups"]
        suffix = "." + ".".join(described["path"])
        known = self._statistics(table, "", suffix, described["type"])
        if self.pointer["format"] >= 3:
            return known
        # Formats 1 and 2 include NULL counts of writers that count NULLs wrongly.
        return [replace(each, null_count=None) for each in known]

    def _described(self, path: Sequence[str]) -> dict[str, Any] | None:
        """Return the element of `columns` with this path, or None if there is not exactly one."""
        same = [each for each in self.pointer["columns"] if self._is_same(each["path"], path)]
        return same[0] if len(same) == 1 else None

    def _entries_of(self, kind: str, path: Sequence[str]) -> list[Entry]:
        of_kind = [each for each in self.entries if each.kind == kind]
        return [each for each in of_kind if self._is_same(each.path, path)]

    def _is_same(self, left: Sequence[str], right: Sequence[str]) -> bool:
        if self.pointer["case_sensitive"]:
            return list(left) == list(right)
        return [name.lower() for name in left] == [name.lower() for name in right]


def _can_use_row_groups(
    file: FileRow, wholes: Sequence[Statistics], groups: Sequence[RowGroup]
) -> bool:
    """Return whether the row groups are disjoint and agree with the file."""
    counts = [group.num_records for group in groups]
    if file.row_groups != len(groups) or None in counts or sum(counts) != file.num_records:
        return False
    end = 0
    for group in groups:
        if group.num_records:
            # An extent without bytes stands for encrypted metadata, and identifies no row group.
            if group.start < end or group.length <= 0:
                return False
            end = group.start + group.length
    for at, whole in enumerate(wholes):
        parts = [group.statistics[at] for group in groups]
        # A value of a row group is a value of the file, so their bounds intersect.
        crossed = [Statistics(part.low, whole.high) for part in parts]
        crossed += [Statistics(whole.low, part.high) for part in parts]
        if any(each.checked(None) != each for each in crossed):
            return False
        nulls = [part.null_count for part in parts]
        known = sum(count for count in nulls if count is not None)
        expected = whole.null_count
        if expected is not None and (known > expected or (None not in nulls and known < expected)):
            return False
    return end <= file.size


def segment_names(pointer: Pointer) -> list[str]:
    """Return the directories of the segments of an index, in order."""
    return [pointer["generation"], *(each["directory"] for each in pointer["appended"])]


def _read_segments(directory: Path, pointer: Pointer) -> tuple[list[Segment], bool]:
    """Return the segments of an index, and whether all of their data files exist."""
    appended, totals = pointer["appended"], pointer["totals"]
    # The pointer has the numbers of rows of all segments together, and of all but the first.
    files, row_groups = (
        totals[field] - sum(each[field] for each in appended) for field in ("files", "row_groups")
    )
    first = {"directory": pointer["generation"], "data": pointer["data"]}
    prefix = "" if pointer["format"] == 1 else "_"
    segments, is_complete, places = [], True, (0, 0)
    for part in ({**first, "files": files, "row_groups": row_groups}, *appended):
        contents, is_whole = _read_data(directory / part["directory"], part["data"], prefix)
        is_complete = is_complete and is_whole
        counts = part["files"], part["row_groups"]
        segments.append(Segment(part["data"], contents, *counts, *places))
        places = places[0] + counts[0], places[1] + counts[1]
    return segments, is_complete


def _read_data(
    segment: Path, data: dict[str, dict[str, int]], prefix: str
) -> tuple[dict[str, bytes], bool]:
    """Return the contents of the data files that are not damaged, and whether all files exist.

    Of a Parquet file, only the size is verified.
    """
    contents, is_complete = {}, True
    for name, listed in data.items():
        if not (PARQUET.fullmatch(name) or VERIFIED_WHOLE.fullmatch(name)):
            continue
        try:
            content = (segment / f"{prefix}{name}").read_bytes()
        except OSError:
            is_complete = False
            continue
        is_valid = PARQUET.fullmatch(name) or zlib.crc32(content) == listed["checksum"]
        if len(content) == listed["size"] and is_valid:
            contents[name] = content
    return contents, is_complete


def current_pointer(directory: Path) -> Pointer:
    """Return the current pointer of an index directory.

    Raises:
        Unusable: There is no pointer, or it is not valid or of a newer format.
    """
    hidden, visible = directory / "_index.json", directory / "index.json"
    if not hidden.exists():
        return read_pointer(visible)
    pointer = read_pointer(hidden)
    try:
        other = read_pointer(visible)
    except Unusable:
        return pointer
    ours, theirs = (SEGMENT_TIME.fullmatch(segment_names(each)[-1]) for each in (pointer, other))
    return other if ours and theirs and theirs[1] > ours[1] else pointer


def read_pointer(path: Path) -> Pointer:
    """Return a valid pointer of a known format.

    Raises:
        Unusable: There is no such file, it is not valid, or it has a newer format.
    """
    try:
        pointer = json.loads(path.read_bytes().decode())
        if type(pointer["format"]) is not int or not 1 <= pointer["format"] <= 4:
            raise Unusable(f"{path} has format {pointer['format']}")
        pointer = {"problems": [], **pointer}
        if pointer["format"] < 4:
            pointer["appended"] = []  # ignored
        known = _with_fields(pointer, POINTER_FIELDS)
        columns = [{"nulls": None, **column} for column in known["columns"]]
        known["columns"] = [_with_fields(column, COLUMN_FIELDS) for column in columns]
        known["totals"] = _with_fields(known["totals"], TOTALS_FIELDS)
        known["appended"] = [_with_fields(each, APPENDED_FIELDS) for each in known["appended"]]
        for part in (known, *known["appended"]):
            part["data"] = {
                name: _with_fields(listed, ("size", "checksum"))
                for name, listed in part["data"].items()
            }
        covered = {**known, "checksum": 0}
        if known["format"] < 4:
            del covered["appended"]
        text = json.dumps(covered, ensure_ascii=False, separators=(",", ":"))
        if zlib.crc32(text.encode()) != known["checksum"]:
            raise Unusable(f"{path} has a wrong checksum")
        return known
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unusable(f"{path} is missing or damaged: {error!r}") from error


def _with_fields(document: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return some fields of an object in the order of their names."""
    return {name: document[name] for name in names}


def _roots(table: Path) -> Iterator[Path]:
    """Yield the directories whose index serves queries over a directory or a file."""
    root = Path(os.path.abspath(table))
    root = root.parent if root.is_file() else root
    yield root
    while "=" in root.name:
        root = root.parent
        yield root


def path_uri(path: Path) -> str:
    """Return the URI of a local path as Hadoop spells it."""

    def spelled(char: str) -> str:
        if char.isascii():
            is_kept = char.isalnum() or char in "!$&'()*+,-./:;=@_~"
        else:
            is_kept = unicodedata.category(char) not in ("Zs", "Zl", "Zp", "Cc")
        return char if is_kept else "".join(f"%{byte:02X}" for byte in char.encode())

    return "file:" + "".join(map(spelled, os.path.abspath(path)))


def plain_values(column: pa.ChunkedArray, spark_type: str) -> list[Value]:
    """Return stored bounds, values or counts as numbers, `str` or `bytes`."""
    stored = column.type
    if pa.types.is_decimal(stored):
        exact = decimal.Context(prec=76)  # the default context rounds to 28 digits
        values = column.to_pylist()
        return [None if each is None else int(each.scaleb(stored.scale, exact)) for each in values]
    if pa.types.is_date32(stored):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(stored) or pa.types.is_boolean(stored):
        column = column.cast(pa.int64())
    if spark_type == "string":
        column = column.cast(pa.string())
    return list(column.to_pylist())


def hashed_bytes(value: Value, spark_type: str) -> bytes:
    """Return the bytes of a value whose hash is in a Bloom filter."""
    if spark_type in ("string", "binary"):
        return value.encode() if isinstance(value, str) else bytes(value)
    if spark_type in ("float", "double"):
        # The sum of -0.0 and 0.0 is 0.0.
        return struct.pack("<f" if spark_type == "float" else "<d", value + 0.0)
    precision = re.match(r"decimal\((\d+)", spark_type)
    if precision and int(precision[1]) > 18:
        length = (value if value >= 0 else ~value).bit_length() // 8 + 1
        return int(value).to_bytes(length, "big", signed=True)
    has_eight_bytes = precision or spark_type in ("long", "timestamp", "timestamp_ntz")
    return int(value).to_bytes(8 if has_eight_bytes else 4, "little", signed=True)


def _is_in_filter(bits: bytes, code: int) -> bool:
    """Return whether all eight bits of a hash are set in its block of a filter."""
    block = (code >> 40) & (len(bits) // 32 - 1)
    words = struct.unpack_from("<8I", bits, 32 * block)
    return all(word >> ((code >> 5 * at) & 31) & 1 for at, word in enumerate(words))


def xxh64(data: bytes, seed: int = 42) -> int:
    """Return the XXH64 of some bytes (github.com/Cyan4973/xxHash, doc/xxhash_spec.md)."""
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5, mask = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5, (1 << 64) - 1

    def rotated(number: int, count: int) -> int:
        return ((number & mask) << count | (number & mask) >> 64 - count) & mask

    def mixed(lane: int, word: int) -> int:
        return rotated(lane + word * p2, 31) * p1 & mask

    code = seed + p5
    if len(data) >= 32:
        lanes = [seed + p1 + p2, seed + p2, seed, seed - p1]
        for stripe in struct.iter_unpack("<4Q", data[: len(data) // 32 * 32]):
            lanes = list(map(mixed, lanes, stripe))
        code = sum(map(rotated, lanes, (1, 7, 12, 18)))
        for lane in lanes:
            code = (code ^ mixed(0, lane)) * p1 + p4
            code &= mask
    code = code + len(data) & mask
    tail = data[len(data) // 32 * 32 :]
    for (word,) in struct.iter_unpack("<Q", tail[: len(tail) // 8 * 8]):
        code = rotated(code ^ mixed(0, word), 27) * p1 + p4 & mask
    tail = tail[len(tail) // 8 * 8 :]
    if len(tail) >= 4:
        code = rotated(code ^ (int.from_bytes(tail[:4], "little") * p1 & mask), 23) * p2 + p3
        tail = tail[4:]
    for byte in tail:
        code = rotated(code ^ byte * p5, 11) * p1
    for shift, prime in ((33, p2), (29, p3), (32, 1)):
        code &= mask
        code = (code ^ code >> shift) * prime
    return code & mask


def _is_aggregate(entry: dict[str, Any]) -> bool:
    return entry.get("by") is not None


def _columns(by: Any) -> tuple[tuple[tuple[str, ...], str], ...] | None:
    return None if by is None else tuple((tuple(path), spark_type) for path, spark_type in by)
