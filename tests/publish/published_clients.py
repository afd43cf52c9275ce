"""The published clients and the conformance corpus of VGI, installed once into a cache."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from tests.remote.published import bin_of, installing, run

_VERSION = "0.47.0"
_PACKAGES = (f"vgi-python=={_VERSION}", "vgi-rpc[http]==0.52.2", "vgi-polars==0.9.1")
_NPM = ("@query-farm/vgi@0.36.1", "@query-farm/vgi-rpc@0.25.4")


def python() -> Path:
    """Return the interpreter of an environment with the published clients, or skip the test."""
    return bin_of("vgi-clients", (3, 13), _PACKAGES) / "python"


def corpus() -> Path:
    """Return the folder of the conformance corpus for filters, or skip the test.

    It comes from the source distribution, because the wheel does not have it.
    """
    interpreter = python()
    name = f"vgi-corpus-{_VERSION}"
    with installing(name, [_VERSION]) as folder:
        if folder is not None:
            options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", folder]
            run(name, interpreter, "-m", "pip", "download", *options, f"vgi-python=={_VERSION}")
            with tarfile.open(folder / f"vgi_python-{_VERSION}.tar.gz") as archive:
                archive.extractall(folder, filter="data")
    content = interpreter.parents[2] / name / f"vgi_python-{_VERSION}"
    return content / "conformance" / "filter-v2"


def typescript() -> Path:
    """Return a folder in which Node.js finds the published TypeScript client, or skip the test."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("the TypeScript client needs Node.js and npm, which were not found")
    name = "vgi-typescript"
    with installing(name, _NPM) as folder:
        if folder is not None:
            quiet = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
            run(name, "npm", "install", "--prefix", folder, *quiet, *_NPM)
    return python().parents[2] / name
