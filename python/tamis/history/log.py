"""The files of the history: appended whole or not at all, by any number of processes at once.

    scans-<newest scan, ms since 1970>-<random>.parquet

Each flush makes one file under a name that nobody else makes. When there are many small ones, one
process or another puts them together: the new file is there before the old ones go, so a reader may
meet a scan twice, never not at all; `id` tells. Files of other names are not touched.
"""

from __future__ import annotations

import os
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

from tamis.history.schema import SCHEMA

__all__ = ["Log", "Skipped", "default_location"]

_NAME: Final = re.compile(r"scans-(\d{13})-[0-9a-f]{16}\.parquet")
_DAY_MS: Final = 86_400_000
#: So many small files are put together into one.
_MANY: Final = 32
_SMALL: Final = 1 << 20
#: What was left by a process that ended while it wrote is removed after an hour.
_ABANDONED_S: Final = 3600


def default_location() -> Path:
    """Where the history of this user is, unless spark.tamis.history.location says otherwise."""
    return Path(platformdirs.user_state_dir("tamis", appauthor=False)) / "history"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file of the folder that was not read."""

    path: Path
    why: str


@dataclass(frozen=True, slots=True)
class Log:
    """A folder with the history in it; made when something is first written."""

    folder: Path

    def append(self, table: pa.Table) -> Path:
        """Write the scans as one more file. Raises OSError where that cannot be done."""
        # Predicates hold values of the data: nobody else's business.
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        newest = pc.max(table.column("time").cast(pa.int64())).as_py()
        stamp = int(time.time() * 1000) if newest is None else newest
        path = self.folder / f"scans-{stamp:013d}-{secrets.token_hex(8)}.parquet"
        part = path.with_suffix(".part")
        try:
            pq.write_table(table.cast(SCHEMA), part, compression="zstd")
            os.replace(part, path)  # whole, or not there
        finally:
            part.unlink(missing_ok=True)
        return path

    def read(self) -> tuple[pa.Table, list[Skipped]]:
        """Every scan once, the oldest first; and the files that are none of ours."""
        tables: list[pa.Table] = []
        skipped: list[Skipped] = []
        seen: set[str] = set()
        # Files go while we read, where they are put together: then their scans are in a new one.
        while new := [path for path in self._listed() if path.name not in seen]:
            for path in new:
                seen.add(path.name)
                if _NAME.fullmatch(path.name) is None:
                    skipped.append(Skipped(path, "not a file of the history"))
                    continue
                try:
                    tables.append(_read(path))
                except FileNotFoundError:
                    continue
                except (OSError, pa.ArrowException, ValueError) as error:
                    skipped.append(Skipped(path, _first_line(error)))
        return _once(tables), skipped

    def tidy(self, max_age_days: int, max_megabytes: int, now_ms: int | None = None) -> None:
        """Put small files together, and remove what is too old or too much. Raises OSError."""
        now = int(time.time() * 1000) if now_ms is None else now_ms
        oldest = now - max_age_days * _DAY_MS
        for path in self.folder.glob("scans-*.part"):
            if _age_s(path, now) > _ABANDONED_S:
                path.unlink(missing_ok=True)
        sizes: dict[Path, int] = {}
        for path in self._ours():
            if _newest_ms(path) < oldest:
                path.unlink(missing_ok=True)
            else:
                sizes[path] = _size(path)
        left = sum(sizes.values())
        for path in sorted(sizes, key=_newest_ms):
            if left <= max_megabytes << 20:
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
                continue  # gone, or damaged: that is for the reader to say
        whole = _once(list(tables.values()), keep_audits=True)
        recent = whole.filter(pc.greater_equal(whole.column("time").cast(pa.int64()), oldest_ms))
        if len(recent):
            self.append(recent)
        for path in tables:
            path.unlink(missing_ok=True)

    def _listed(self) -> list[Path]:
        if not self.folder.is_dir():
            return []
        names = sorted(self.folder.iterdir())
        return [p for p in names if p.suffix != ".part" and not p.name.startswith(".")]

    def _ours(self) -> list[Path]:
        return [path for path in self._listed() if _NAME.fullmatch(path.name)]


def _read(path: Path) -> pa.Table:
    """The file in the schema of now: a column that it lacks is null, one more is left out."""
    found = pq.read_table(path, partitioning=None)
    if "id" not in found.column_names or "time" not in found.column_names:
        raise ValueError("no history: it has no column id, or none of time")
    columns = [
        found.column(field.name).cast(field.type)
        if field.name in found.column_names
        else pa.nulls(len(found), field.type)
        for field in SCHEMA
    ]
    return pa.table(columns, schema=SCHEMA)


def _once(tables: list[pa.Table], *, keep_audits: bool = False) -> pa.Table:
    """Every scan once, the oldest first, with its audit.

    The audit of a scan ends later. It is a row of its own, with the id of the scan and no table.

    Args:
        keep_audits: also the rows of audits whose scan is not in these tables.
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
    found = [by_id.get(name) or audit for name, audit in own]
    place = scans.schema.get_field_index("audit")
    field = SCHEMA.field("audit")
    return scans.set_column(place, field, pa.array(found, field.type))


def _newest_ms(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
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
