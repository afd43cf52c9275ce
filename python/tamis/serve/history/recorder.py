"""Recording of scans that ran: received immediately, written to the history in batches."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import deque
from pathlib import Path
from typing import Any, Final

__all__ = ["Recorder"]

#: Seconds that scans wait for further ones, which come in bursts, and for planning to finish.
_WAIT: Final = 5.0
#: As many scans are written without waiting.
_BATCH: Final = 256
#: If more scans are waiting, the oldest are dropped.
_MOST: Final = 1_024


class Recorder:
    """Appends records to the history that each names. Thread-safe; no method raises."""

    def __init__(self, seconds: float = _WAIT) -> None:
        self._seconds = seconds
        self._waiting: deque[str] = deque(maxlen=_MOST)
        self._come = threading.Event()
        self._enough = threading.Event()
        self._writing = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._problem = ""

    def take(self, record: str) -> str:
        """Take a record. Return the last known problem with the history, or ""."""
        self._waiting.append(record)
        self._come.set()
        if len(self._waiting) >= _BATCH:
            self._enough.set()
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tamis-history", daemon=True)
                self._thread.start()
        return self._problem

    def flush(self) -> str:
        """Write the records taken so far. Return the problem with the history, or ""."""
        with self._writing:
            records = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if records:
                self._problem = _write(records)
            return self._problem

    def end(self, seconds: float) -> None:
        """Write the records taken so far, and wait for that for at most `seconds`."""
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
    """Write records, each to the history that it names. Return the problem, or ""."""
    try:
        return _append(records)
    except BaseException as error:  # no failure may harm the sidecar
        traceback.print_exc(file=sys.stderr)
        return f"the history cannot be written ({type(error).__name__}: {error}). {_REPORT}"


_REPORT: Final = (
    "Queries are not affected. Report this error, or set spark.tamis.history.enabled=false."
)


def _append(records: list[str]) -> str:
    from tamis.indexing.read.memory import release_unused_memory
    from tamis.scan_history import Log, default_location
    from tamis.scan_history.schema import rows_to_table
    from tamis.serve.history.history_row import audit_row_of, row_of
    from tamis.wire.history import AuditRecord, HistorySettings, read_record

    rows: dict[HistorySettings, list[dict[str, Any]]] = {}
    problem = ""
    for text in records:
        try:
            record = read_record(text)
            row = audit_row_of(record) if isinstance(record, AuditRecord) else row_of(record)
            rows.setdefault(record.history, []).append(row)
        except Exception as error:  # a record that cannot be read must not affect the others
            traceback.print_exc(file=sys.stderr)
            problem = f"a scan could not be recorded in the history ({error}). {_REPORT}"
        time.sleep(0.001)  # lets planning go first
    for settings, new_rows in rows.items():
        folder = default_location() if settings.location is None else Path(settings.location)
        log = Log(folder)
        try:
            log.append(rows_to_table(new_rows))
            log.tidy(settings.max_age_ms, settings.max_bytes)
        except OSError as error:
            problem = (
                f"the history in {folder} cannot be written ({error}). Make the directory "
                "writable, or set spark.tamis.history.location to another one. Queries are not "
                "affected."
            )
    release_unused_memory()
    return problem
