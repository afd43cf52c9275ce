"""A note: in these files, and in these row groups of others, no row passes these conjuncts, and in
these every row does. In others, the rows that pass have values within these bounds.

A note is one file, written once and never changed:

    8 bytes     b"tamisRP4", with the version of the form
    16 bytes    BLAKE2b of the rest
    MessagePack the fields of `Note`, in their order

A file that is truncated, damaged, or of another version holds no note.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from tamis.remembered.identities import WIDTH
from tamis.remembered.partial import PartialFiles
from tamis.remembered.values import PassingValues

__all__ = ["MAGIC", "Note", "read_note", "write_note"]

MAGIC: Final = b"tamisRP4"
_CHECKSUM: Final = 16


class Note(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What scans have found about the rows of files and some conjuncts.

    Together, the conjuncts are true for no row of some files. For every row of others they are true
    together, and so each of them is true alone.

    Attributes:
        reading: A digest of the settings under which the files were read.
        keys: The keys of the conjuncts, sorted.
        sql: The conjuncts, for users.
        table: The name of the table for users.
        learnt: Milliseconds since 1970.
        files: The names of the files without a row that passes (see `identities`), one after the
            other.
        partial: The rows of other files that do not pass.
        passing_files: The names of the files in which every row passes.
        passing_partial: The rows of other files that pass.
        values: Bounds of columns in the rows that pass, of files in which some pass.
    """

    reading: str
    keys: tuple[str, ...]
    sql: tuple[str, ...]
    table: str
    learnt: int
    files: bytes
    partial: PartialFiles = PartialFiles()
    passing_files: bytes = b""
    passing_partial: PartialFiles = PartialFiles()
    values: PassingValues = PassingValues()

    @property
    def num_files(self) -> int:
        return len(self.files) // WIDTH

    @property
    def is_empty(self) -> bool:
        parts = (self.partial.files, self.passing_partial.files, self.values.names)
        return not (self.files or self.passing_files or any(parts))

    @property
    def subject(self) -> str:
        """A digest that notes have in common if they are about the same conjuncts of a table."""
        text = "\n".join((self.reading, *self.keys, self.table))
        return hashlib.sha256(text.encode()).hexdigest()[:24]


_decoder: Final = msgspec.msgpack.Decoder(Note)
_encoder: Final = msgspec.msgpack.Encoder()


def write_note(note: Note) -> bytes:
    """Return the file of a note.

    >>> note = Note("r", ("k",), ("a LIKE '%x%'",), "t", 0, bytes(16))
    >>> read_note(write_note(note)) == note, read_note(write_note(note)[:-1]) is None
    (True, True)
    """
    payload = _encoder.encode(note)
    return MAGIC + _checksum(payload) + payload


def read_note(data: bytes) -> Note | None:
    """Return the note of a file; None if it holds none."""
    head = len(MAGIC) + _CHECKSUM
    payload = data[head:]
    if data[: len(MAGIC)] != MAGIC or data[len(MAGIC) : head] != _checksum(payload):
        return None
    try:
        note = _decoder.decode(payload)
    except msgspec.MsgspecError:
        return None
    # A note without conjuncts would be about every scan.
    if not note.keys or len(note.files) % WIDTH or len(note.passing_files) % WIDTH:
        return None
    is_valid = note.partial.is_valid and note.passing_partial.is_valid and note.values.is_valid
    return note if is_valid and not note.is_empty else None


def _checksum(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_CHECKSUM).digest()
