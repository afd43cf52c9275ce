"""Files that pass contracts from the Python of the driver to the sidecar.

A file holds one line of JSON (the versions of Python and tamis that wrote it) and the pickled
contract. Its name consists of a hash of its subject and a hash of its content, so a file never
changes, and a partly written file is not accepted. Unpickling runs code, so a file is read only
from the private directory of the driver, which only the driver's user can write to.
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
from tamis.evaluation.udf.udf_contract import Contract
from tamis.whole_files import writing_whole

__all__ = ["is_about", "read", "write"]

_PREFIX = "declared-"


def write(contract: Contract, pickled: bytes, directory: Path, subject: str) -> Path:
    """Write a pickled contract into the private directory, and return its path.

    Args:
        contract: The contract.
        pickled: The contract, pickled by value.
        directory: The private directory of the driver.
        subject: What the contract is about. A later file with the same subject replaces this one.
    """
    header = json.dumps({"function": contract.name, **_writer()}).encode()
    content = header + b"\n" + pickled
    path = directory / f"{_stem(subject)}{hashlib.sha256(content).hexdigest()}"
    with writing_whole(path) as unfinished:
        unfinished.touch(mode=0o600)
        unfinished.write_bytes(content)
    return path


def is_about(entry: str, subject: str) -> bool:
    """Return whether an entry of the conf is a file about this subject.

    >>> is_about("/tmp/tamis-1/" + _stem("f") + "abc", "f"), is_about("module:f", "f")
    (True, False)
    """
    return Path(entry).name.startswith(_stem(subject))


def read(path: Path, directory: Path) -> Contract:
    """Read a contract.

    Raises:
        DeclarationError: This process must not read the file, or cannot.
    """
    content = _trusted(path, directory)
    header, _, pickled = content.partition(b"\n")
    written = json.loads(header)
    if {key: written.get(key) for key in _writer()} != _writer():
        raise DeclarationError(
            f"the declaration of {written.get('function')} was written by Python "
            f"{written.get('python')} and tamis {written.get('tamis')}, but the sidecar runs "
            f"Python {_writer()['python']} and tamis {__version__}: set spark.tamis.python to the "
            "driver's Python"
        )
    # _trusted has checked that the file belongs to this user.
    contract = pickle.loads(pickled)
    if not isinstance(contract, Contract):
        raise DeclarationError(f"{path} does not hold a contract: call tamis.declare again")
    return contract


def _trusted(path: Path, directory: Path) -> bytes:
    if path.parent == Path():
        raise DeclarationError(
            f"'{path}' is neither module:attribute nor a file that tamis.declare has written: name "
            f"the attribute of a module, such as {path}:contracts"
        )
    if path.parent != directory:
        raise DeclarationError(
            f"{path} is not in the private directory of this driver: call tamis.declare in this "
            "application, or declare the function in a module (docs/declared_functions.md)"
        )
    try:
        for each, kind in ((directory, stat.S_ISDIR), (path, stat.S_ISREG)):
            status = each.lstat()
            # Not a link, owned by this user, and not accessible to others.
            if not kind(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
                raise DeclarationError(
                    f"{each} is not private to the user of the driver, so it is not read: restart "
                    "the driver, and declare the function again"
                )
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DeclarationError(f"{path} does not exist: call tamis.declare again") from error
    if not path.name.endswith(hashlib.sha256(content).hexdigest()):
        raise DeclarationError(f"{path} has changed since it was written: call tamis.declare again")
    return content


def _stem(subject: str) -> str:
    return f"{_PREFIX}{hashlib.sha256(subject.encode()).hexdigest()[:16]}-"


def _writer() -> dict[str, str]:
    """Return the writer's versions: pickles depend on Python's minor version and on tamis."""
    return {"python": "{}.{}".format(*sys.version_info), "tamis": __version__}
