"""Loading of the declared functions that the conf `spark.tamis.declarations` names.

They are loaded on first use and kept, because a file never changes and a module is imported once
per process.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tamis.declarations.contract_files import read
from tamis.declarations.refute import check
from tamis.errors import DeclarationError
from tamis.evaluation.udf.declared_calls import Declarations, Declared
from tamis.evaluation.udf.udf_contract import Contract
from tamis.evaluation.udf.udf_guard import UdfGuard
from tamis.recent import Recent

__all__ = ["in_force"]

#: Seconds to wait for loading, which may import a library. Functions that take longer are used from
#: a later query on.
_SECONDS: Final = 3.0
_MOST_KEPT: Final = 1_000


class _Loading:
    """One entry of the conf, loaded in a separate thread."""

    def __init__(self, entry: str, directory: Path) -> None:
        self._entry, self._directory = entry, directory
        self._declared: list[Declared] | None = None
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._load, name="tamis-load", daemon=True)
        self._thread.start()

    def _load(self) -> None:
        try:
            self._declared = [Declared(each) for each in _contracts(self._entry, self._directory)]
        except BaseException as error:  # a module may also raise SystemExit
            traceback.print_exc(file=sys.stderr)
            text = str(error) if isinstance(error, DeclarationError) else repr(error)
            self._failure = (
                f"cannot load {self._entry!r} of spark.tamis.declarations ({text}). Its functions "
                "count as not declared. Correct the entry, or remove it."
            )

    def failed(self) -> bool:
        return self._failure is not None

    def result(self, ends: float, watch: UdfGuard) -> list[Declared]:
        """Return the declared functions; none, with a warning, if loading failed or takes long."""
        self._thread.join(max(0.0, ends - time.monotonic()))
        if self._declared is None:
            still = (
                f"{self._entry!r} of spark.tamis.declarations is still loading. This query is "
                "planned without its declarations; later queries use them."
            )
            watch.warn(f"declaration_unusable:{self._entry}", self._failure or still)
        return self._declared or []


_loaded: Final = Recent[_Loading](_MOST_KEPT)
_lock = threading.Lock()


def in_force(entries: Sequence[str], directory: Path, watch: UdfGuard) -> Declarations:
    """Return the declared functions by name, in the order of the entries."""
    declared: dict[str, list[Declared]] = {}
    ends = time.monotonic() + _SECONDS
    for loading in [_loading(entry, directory) for entry in entries]:
        for each in loading.result(ends, watch):
            declared.setdefault(each.contract.name, []).append(each)
    return declared


def _loading(entry: str, directory: Path) -> _Loading:
    with _lock:
        known = _loaded.get((entry, directory))
        if known is None or known.failed():  # the cause of a failure may have been fixed
            known = _Loading(entry, directory)
            _loaded.keep((entry, directory), known)
        return known


def _contracts(entry: str, directory: Path) -> Iterable[Contract]:
    if entry.startswith("/") or ":" not in entry:
        return [read(Path(entry), directory)]
    module, _, attribute = entry.partition(":")
    value = getattr(importlib.import_module(module), attribute)
    contracts = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(each, Contract) for each in contracts):
        raise DeclarationError(f"{entry} is neither a tamis.Contract nor a list of them")
    for each in contracts:
        check(each)
    return contracts
