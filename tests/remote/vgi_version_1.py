"""Unmodified reference implementations of VGI 1, in virtual environments of their own."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.remote.published import bin_of

#: The last releases of VGI 1.4 and 1.5. The first loses rows for an OR with a NULL operand.
RELEASES = {
    "1.4.0": ("vgi-python==0.30.0", "vgi-rpc[http]==0.44.1"),
    "1.5.0": ("vgi-python==0.31.3", "vgi-rpc[http]==0.45.1"),
}
_SHARED = ("duckdb==1.5.5", "numpy==2.4.6")
WORKER = Path(__file__).with_name("vgi_worker_1.py")


def python_of(version: str) -> str:
    """Return the Python that has the implementation of a version."""
    return str(bin_of(f"vgi-{version}", (3, 13), (*RELEASES[version], *_SHARED)) / "python")


def worker_command(version: str) -> str:
    """Return the command of a worker on standard input and output."""
    return shlex.join([python_of(version), str(WORKER), "--quiet"])
