"""Contracts as files, from the driver's Python to the sidecar.

A file holds one line of JSON (which Python wrote it, and which tamis) and the pickled contract. Its
name is a hash of what it speaks of and one of the content, so that a file never changes, and a
half-written one is none. Pickles run code when they are read: a file counts only where the driver
has it in its private directory, which nobody but its user can write to.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import stat
import sys
from pathlib import Path

from tamis._version import __version__
from tamis.errors import DeclarationError
from tamis.evaluate.contract import Contract

__all__ = ["is_about", "read", "write"]

_PREFIX = "declared-"


def write(contract: Contract, pickled: bytes, directory: Path, subject: str) -> Path:
    """Write a pickled contract into the private directory; gives the file.

    `subject`: a later file of the same subject takes its place.
    """
    header = json.dumps({"function": contract.name, **_writer()}).encode()
    content = header + b"\n" + pickled
    path = directory / f"{_stem(subject)}{hashlib.sha256(content).hexdigest()}"
    unfinished = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    unfinished.replace(path)
    return path


def is_about(entry: str, subject: str) -> bool:
    """Whether an entry of the conf is a file about that subject.

    >>> is_about("/tmp/tamis-1/" + _stem("f") + "abc", "f"), is_about("module:f", "f")
    (True, False)
    """
    return Path(entry).name.startswith(_stem(subject))


def read(path: Path, directory: Path) -> Contract:
    """Read a contract; DeclarationError for what this process must not read, or cannot."""
    content = _trusted(path, directory)
    header, _, pickled = content.partition(b"\n")
    written = json.loads(header)
    if {key: written.get(key) for key in _writer()} != _writer():
        raise DeclarationError(
            f"what is declared of {written.get('function')} was written by Python "
            f"{written.get('python')} and tamis {written.get('tamis')}, and this is Python "
            f"{_writer()['python']} and tamis {__version__}: let spark.tamis.python be the "
            "driver's Python"
        )
    # The file is this user's own, as _trusted has seen.
    contract = pickle.loads(pickled)
    if not isinstance(contract, Contract):
        raise DeclarationError(f"{path} holds no contract")
    return contract


def _trusted(path: Path, directory: Path) -> bytes:
    if path.parent != directory:
        raise DeclarationError(
            f"{path} is not in the private directory of this driver: only files that tamis.declare "
            "wrote for it are read"
        )
    try:
        for each, kind in ((directory, stat.S_ISDIR), (path, stat.S_ISREG)):
            status = each.lstat()
            # Neither a link, nor another's, nor open to others.
            if not kind(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
                raise DeclarationError(f"{each} is not private to the user of the driver")
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DeclarationError(f"{path} is gone: call tamis.declare again") from error
    if not path.name.endswith(hashlib.sha256(content).hexdigest()):
        raise DeclarationError(f"{path} was changed since it was written: call tamis.declare again")
    return content


def _stem(subject: str) -> str:
    return f"{_PREFIX}{hashlib.sha256(subject.encode()).hexdigest()[:16]}-"


def _writer() -> dict[str, str]:
    """Code is pickled for one minor version of Python, and contracts for one tamis."""
    return {"python": "{}.{}".format(*sys.version_info), "tamis": __version__}
