"""The scans in progress over HTTP, and the cursors with which their clients continue them.

A cursor is the number of a scan and of a turn, signed with a key of the process for one caller. It
holds nothing else. A client that did not get an answer may repeat its last request.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tamis.publish.vgi.refusals import Refused
from tamis.publish.vgi.requests.scan_batches import Scan

__all__ = ["Cursors"]

#: Scans beyond this number end the one that was idle for the longest time.
_MOST: Final = 256
_IDLE_SECONDS: Final = 600.0
_FORM: Final = struct.Struct(">16sQ")
_DIGEST: Final = "sha256"


@dataclass(slots=True)
class _Open:
    """A scan in progress: the number of its next turn, and the answer to the one before."""

    scan: Scan
    caller: str
    used: float
    turn: int = 0
    answered: bytes = b""
    lock: threading.Lock = field(default_factory=threading.Lock)


class Cursors:
    """The scans in progress. Thread-safe."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._open: dict[bytes, _Open] = {}
        self._lock = threading.Lock()

    def begin(self, scan: Scan, caller: str, turn: Callable[[Scan, bytes], bytes]) -> bytes:
        """Return the answer to the first turn of a scan.

        Args:
            scan: The scan.
            caller: Who may continue it.
            turn: Returns the answer to a turn, given the scan and the cursor of the next turn.
        """
        number = secrets.token_bytes(16)
        now = time.monotonic()
        with self._lock:
            self._expire(now)
            self._open[number] = opened = _Open(scan, caller, now)
        return self._turn(number, opened, turn)

    def resume(self, cursor: bytes, caller: str, turn: Callable[[Scan, bytes], bytes]) -> bytes:
        """Return the answer to the turn of a cursor.

        Raises:
            Refused: The cursor is not one of this caller, or its scan has expired.
        """
        number, ordinal = self._verified(cursor, caller)
        with self._lock:
            opened = self._open.get(number)
        if opened is None:
            raise Refused("the scan has expired: run the query again", "FAILED_PRECONDITION")
        with opened.lock:
            opened.used = time.monotonic()
            if ordinal == opened.turn - 1:
                return opened.answered
            if ordinal != opened.turn:
                raise Refused("the cursor is not the last one of its scan", "FAILED_PRECONDITION")
            return self._turn(number, opened, turn)

    def _turn(self, number: bytes, opened: _Open, turn: Callable[[Scan, bytes], bytes]) -> bytes:
        following = self._signed(_FORM.pack(number, opened.turn + 1), opened.caller)
        opened.answered = turn(opened.scan, following)
        opened.turn += 1
        return opened.answered

    def _expire(self, now: float) -> None:
        idle = sorted(self._open, key=lambda each: self._open[each].used)
        surplus = len(idle) - _MOST + 1
        for place, number in enumerate(idle):
            opened = self._open[number]
            if place >= surplus and now - opened.used <= _IDLE_SECONDS:
                break
            del self._open[number]

    def _signed(self, content: bytes, caller: str) -> bytes:
        return base64.b64encode(content + self._signature(content, caller))

    def _signature(self, content: bytes, caller: str) -> bytes:
        return hmac.digest(self._key, content + caller.encode(), _DIGEST)

    def _verified(self, cursor: bytes, caller: str) -> tuple[bytes, int]:
        try:
            signed = base64.b64decode(cursor, validate=True)
        except binascii.Error:
            signed = b""
        content, signature = signed[: _FORM.size], signed[_FORM.size :]
        if not hmac.compare_digest(signature, self._signature(content, caller)):
            raise Refused("the cursor is not valid", kind="opaque_data_not_recognized")
        number, ordinal = _FORM.unpack(content)
        return number, ordinal
