"""The files of the history. Any number of processes append to it at once, each atomically.

    scans-<newest scan, ms since 1970>-<random>.parquet

Each flush writes one file under a unique name. When there are many small files, any of the
processes may merge them. The merged file appears before the old ones are removed, so a reader may
see a scan twice but never misses one; `id` identifies duplicates. Files with other names are not
touched.
"""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis.scan_history.schema import SCHEMA
from tamis.whole_files import UNFINISHED, writing_whole

__all__ = ["MAINTENANCE", "Log", "Skipped", "default_location"]

#: How the names of files begin that `tamis.scan_history.maintenance_log` writes.
MAINTENANCE: Final = "maintenance-"
_STEP: Final = re.compile(MAINTENANCE + r"(\d{13})-[0-9a-f]{16}\.parquet")
_SCANS: Final = "scans-"
_NAME: Final = re.compile(_SCANS + r"(\d{13})-[0-9a-f]{16}\.parquet")
#: From this number of small files on, they are merged into one.
_MANY: Final = 32
#: Files below this size, in bytes, are small.
_SMALL: Final = 1 << 20
#: The partial file of a process that ended while it wrote is removed after an hour.
_ABANDONED_S: Final = 3600


def default_location() -> Path:
    """Return the directory of this user's history if spark.tamis.history.location is not set."""
    return Path(platformdirs.user_state_dir("tamis", appauthor=False)) / "history"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file of the directory that was not read."""

    path: Path
    why: str
    is_foreign: bool = False  # its name is not that of a file of a history

    def __str__(self) -> str:
        return f"{self.path.name} ({self.why})"


@dataclass(frozen=True, slots=True)
class Log:
    """The directory of a history. It is created by the first write."""

    folder: Path

    def append(self, table: pa.Table) -> Path:
        """Write the scans as one more file, and return its path.

        Raises:
            OSError: The file cannot be written.
        """
        newest = pc.max(table.column("time").cast(pa.int64())).as_py()
        stamp = int(time.time() * 1000) if newest is None else newest
        return self.write(_SCANS, stamp, table.cast(SCHEMA))

    def write(self, kind: str, stamp: int, table: pa.Table) -> Path:
        """Write a file atomically, and return its path.

        Args:
            kind: How its name begins.
            stamp: The time in its name, in milliseconds since 1970.
            table: Its content.

        Raises:
            OSError: The file cannot be written.
        """
        # Predicates contain values of the data, so only this user may read them.
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.folder / f"{kind}{stamp:013d}-{secrets.token_hex(8)}.parquet"
        with writing_whole(path) as unfinished:
            pq.write_table(table, unfinished, compression="zstd")
        return path

    def read(self) -> tuple[pa.Table, list[Skipped]]:
        """Return every scan once, oldest first, and the files that were not read."""
        tables: list[pa.Table] = []
        skipped: list[Skipped] = []
        seen: set[str] = set()
        # A merge may remove files while we read. Their scans are then in a new file.
        while new := [path for path in self._listed() if path.name not in seen]:
            for path in new:
                seen.add(path.name)
                if _NAME.fullmatch(path.name) is None:
                    skipped.append(Skipped(path, "not a history file", is_foreign=True))
                    continue
                try:
                    tables.append(_read(path))
                except FileNotFoundError:
                    continue
                except (OSError, pa.ArrowException, ValueError) as error:
                    skipped.append(Skipped(path, _first_line(error)))
        return _once(tables), skipped

    def tidy(self, max_age_ms: int, max_bytes: int, now_ms: int | None = None) -> None:
        """Merge small files, and remove the oldest beyond the limits.

        Args:
            max_age_ms: Scans that are older are removed.
            max_bytes: The oldest files are removed until the rest takes at most this much.
            now_ms: The current time in milliseconds since 1970. Default: the clock.

        Raises:
            OSError: A file cannot be removed or written.
        """
        now = int(time.time() * 1000) if now_ms is None else now_ms
        oldest = now - max_age_ms
        for kind in (_SCANS, MAINTENANCE):
            for path in self.folder.glob(f"{kind}*{UNFINISHED}"):
                if _age_s(path, now) > _ABANDONED_S:
                    path.unlink(missing_ok=True)
        for path in self.maintenance():
            if _newest_ms(path) < oldest:
                path.unlink(missing_ok=True)
        sizes: dict[Path, int] = {}
        for path in self._ours():
            if _newest_ms(path) < oldest:
                path.unlink(missing_ok=True)
            else:
                sizes[path] = _size(path)
        left = sum(sizes.values())
        for path in sorted(sizes, key=_newest_ms):
            if left <= max_bytes:
                break
            left -= sizes.pop(path)
            path.unlink(missing_ok=True)
        small = [path for path, size in sizes.items() if size < _SMALL]
        if len(small) >= _MANY:
            self._put_together(small, oldest)

    def _put_together(self, paths: list[Path], oldest_ms: int) -> None:
        tables: dict[Path, pa.Table] = {}
        for path in paths:
            try:
                tables[path] = _read(path)
            except (OSError, pa.ArrowException, ValueError):
                continue  # removed or damaged; `read` reports damaged files
        whole = _once(list(tables.values()), keep_audits=True)
        recent = whole.filter(pc.greater_equal(whole.column("time").cast(pa.int64()), oldest_ms))
        if len(recent):
            self.append(recent)
        for path in tables:
            path.unlink(missing_ok=True)

    def maintenance(self) -> list[Path]:
        """Return the files of `tamis.scan_history.maintenance_log`, oldest first."""
        if not self.folder.is_dir():
            return []
        return [p for p in sorted(self.folder.iterdir()) if _STEP.fullmatch(p.name)]

    def _listed(self) -> list[Path]:
        if not self.folder.is_dir():
            return []
        names = sorted(self.folder.iterdir())
        return [
            p
            for p in names
            if p.suffix != UNFINISHED and not p.name.startswith(".") and not _STEP.fullmatch(p.name)
        ]

    def _ours(self) -> list[Path]:
        return [path for path in self._listed() if _NAME.fullmatch(path.name)]


def _read(path: Path) -> pa.Table:
    """Read a file in the current schema. Missing columns are null, and unknown ones are dropped."""
    table = pq.read_table(path, partitioning=None)
    if "id" not in table.column_names or "time" not in table.column_names:
        raise ValueError("not a history: the column id or time is missing")
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(len(table), field.type)
        for field in SCHEMA
    ]
    return pa.table(columns, schema=SCHEMA)


def _once(tables: list[pa.Table], *, keep_audits: bool = False) -> pa.Table:
    """Return every scan once, oldest first, with its audit.

    The audit of a scan ends later than the scan. It is a separate row with the id of the scan and a
    null table.

    Args:
        tables: Rows of scans and audits.
        keep_audits: Also return the rows of audits whose scan is not in these tables.
    """
    whole = pa.concat_tables([SCHEMA.empty_table(), *tables])
    is_audit = whole.column("table").is_null()
    scans, audits = whole.filter(pc.invert(is_audit)), whole.filter(is_audit)
    scans = _first_of_each(scans)
    if len(audits):
        audits = _first_of_each(audits)
        scans = _with_audits(scans, audits)
        if keep_audits:
            known = scans.column("id").combine_chunks()
            orphans = pc.invert(pc.is_in(audits.column("id"), value_set=known))
            scans = pa.concat_tables([scans, audits.filter(orphans)])
    order = pc.sort_indices(scans, sort_keys=[("time", "ascending"), ("id", "ascending")])
    return scans.take(order)


def _first_of_each(table: pa.Table) -> pa.Table:
    ids = table.column("id").to_pylist()
    first = dict(zip(reversed(ids), range(len(ids) - 1, -1, -1), strict=True))
    return table.take(pa.array(sorted(first.values()), pa.int64()))


def _with_audits(scans: pa.Table, audits: pa.Table) -> pa.Table:
    by_id = dict(
        zip(audits.column("id").to_pylist(), audits.column("audit").to_pylist(), strict=True)
    )
    own = zip(scans.column("id").to_pylist(), scans.column("audit").to_pylist(), strict=True)
    merged = [by_id.get(name) or audit for name, audit in own]
    place = scans.schema.get_field_index("audit")
    field = SCHEMA.field("audit")
    return scans.set_column(place, field, pa.array(merged, field.type))


def _newest_ms(path: Path) -> int:
    match = _NAME.fullmatch(path.name) or _STEP.fullmatch(path.name)
    assert match is not None
    return int(match[1])


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _age_s(path: Path, now_ms: int) -> float:
    try:
        return now_ms / 1000 - path.stat().st_mtime
    except FileNotFoundError:
        return 0


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
