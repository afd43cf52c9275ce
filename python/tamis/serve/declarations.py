"""What is declared of functions, as the conf `spark.tamis.declarations` names it.

Loaded when first asked for, and kept: a file never changes, a module is imported once a process.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tamis.declarations.files import read
from tamis.declarations.refute import check
from tamis.errors import DeclarationError
from tamis.evaluate.contract import Contract
from tamis.evaluate.declared import Declarations, Declared
from tamis.evaluate.watch import Watch

__all__ = ["in_force"]

#: Loading may import a library. What takes longer is in force from the next query on.
_SECONDS: Final = 3.0
_MOST_KEPT: Final = 1_000


class _Loading:
    """One entry of the conf, being loaded in a thread of its own."""

    def __init__(self, entry: str, directory: Path) -> None:
        self._entry, self._directory = entry, directory
        self._declared: list[Declared] | None = None
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._load, name="tamis-load", daemon=True)
        self._thread.start()

    def _load(self) -> None:
        try:
            self._declared = [Declared(each) for each in _contracts(self._entry, self._directory)]
        except BaseException as error:  # SystemExit of a module too
            traceback.print_exc(file=sys.stderr)
            text = str(error) if isinstance(error, DeclarationError) else repr(error)
            self._failure = f"{text}. Functions of spark.tamis.declarations entry {self._entry!r} "
            self._failure += "are taken as not declared."

    def failed(self) -> bool:
        return self._failure is not None

    def result(self, ends: float, watch: Watch) -> list[Declared]:
        """What was loaded; nothing, and a warning, if that failed or takes long."""
        self._thread.join(max(0.0, ends - time.monotonic()))
        if self._declared is None:
            still = f"{self._entry} is still being loaded, and taken as not declared until then."
            watch.warn(f"declaration_unusable:{self._entry}", self._failure or still)
        return self._declared or []


_loaded: OrderedDict[tuple[str, Path], _Loading] = OrderedDict()
_lock = threading.Lock()


def in_force(entries: Sequence[str], directory: Path, watch: Watch) -> Declarations:
    """The declared functions by name, in the order of the entries."""
    found: dict[str, list[Declared]] = {}
    ends = time.monotonic() + _SECONDS
    for loading in [_loading(entry, directory) for entry in entries]:
        for each in loading.result(ends, watch):
            found.setdefault(each.contract.name, []).append(each)
    return found


def _loading(entry: str, directory: Path) -> _Loading:
    with _lock:
        known = _loaded.pop((entry, directory), None)
        if known is None or known.failed():  # what was wrong may have been mended
            known = _Loading(entry, directory)
        _loaded[entry, directory] = known
        while len(_loaded) > _MOST_KEPT:
            _loaded.popitem(last=False)
        return known


def _contracts(entry: str, directory: Path) -> Iterable[Contract]:
    if entry.startswith("/") or ":" not in entry:
        return [read(Path(entry), directory)]
    module, _, attribute = entry.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    contracts = found if isinstance(found, list | tuple) else [found]
    if not all(isinstance(each, Contract) for each in contracts):
        raise DeclarationError(f"{entry} is no tamis.Contract, and no list of them")
    for each in contracts:
        check(each)
    return contracts
