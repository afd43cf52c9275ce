"""Scans that ran, on their way into the history: taken at once, written in batches."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import deque
from pathlib import Path
from typing import Any, Final

__all__ = ["Recorder"]

#: Scans come in bursts; until so many seconds have passed they wait for others, and for planning.
_WAIT: Final = 5.0
#: So many do not wait.
_BATCH: Final = 256
#: Of more than so many the oldest are left out.
_MOST: Final = 1_024


class Recorder:
    """Appends records to the history they name. Thread-safe; no method raises."""

    def __init__(self, seconds: float = _WAIT) -> None:
        self._seconds = seconds
        self._waiting: deque[str] = deque(maxlen=_MOST)
        self._come = threading.Event()
        self._enough = threading.Event()
        self._writing = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._trouble = ""

    def take(self, record: str) -> str:
        """Take a record. Gives what is wrong with the history, as far as is known; mostly ""."""
        self._waiting.append(record)
        self._come.set()
        if len(self._waiting) >= _BATCH:
            self._enough.set()
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tamis-history", daemon=True)
                self._thread.start()
        return self._trouble

    def flush(self) -> str:
        """Write what was taken so far. Gives what is wrong with the history; mostly ""."""
        with self._writing:
            records = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if records:
                self._trouble = _write(records)
            return self._trouble

    def end(self, seconds: float) -> None:
        """Write what was taken so far, if that takes no longer."""
        if not self._waiting and not self._writing.locked():
            return
        last = threading.Thread(target=self.flush, daemon=True)
        last.start()
        last.join(seconds)

    def _run(self) -> None:
        while True:
            self._come.wait()
            self._enough.wait(self._seconds)
            self._come.clear()
            self._enough.clear()
            self.flush()


def _write(records: list[str]) -> str:
    """Write them, each to the history that it names. Gives what went wrong, or ""."""
    try:
        return _append(records)
    except BaseException as error:  # nothing is worth the sidecar
        traceback.print_exc(file=sys.stderr)
        return f"the history cannot be written ({error!r}). {_OFF}"


_OFF: Final = "Queries are not affected; spark.tamis.history.enabled=false turns it off."


def _append(records: list[str]) -> str:
    from tamis.history import Log, default_location
    from tamis.history.schema import rows_to_table
    from tamis.index.memory import give_back
    from tamis.serve.recorded_scan import audit_row_of, row_of
    from tamis.wire.history import AuditRecord, HistorySettings, read_record

    rows: dict[HistorySettings, list[dict[str, Any]]] = {}
    trouble = ""
    for text in records:
        try:
            record = read_record(text)
            row = audit_row_of(record) if isinstance(record, AuditRecord) else row_of(record)
            rows.setdefault(record.history, []).append(row)
        except Exception as error:  # one that cannot be read does not keep out the others
            traceback.print_exc(file=sys.stderr)
            trouble = f"a scan could not be recorded in the history ({error}). {_OFF}"
        time.sleep(0.001)  # whoever plans goes first
    for settings, of_one in rows.items():
        folder = default_location() if settings.location is None else Path(settings.location)
        log = Log(folder)
        try:
            log.append(rows_to_table(of_one))
            log.tidy(settings.max_age_days, settings.max_megabytes)
        except OSError as error:
            trouble = f"the history in {folder} cannot be written ({error}). {_OFF}"
    give_back()
    return trouble
