"""Makes Spark read only the files a query needs, and says why.

Importing the package is cheap: a public name loads what it needs when it is first used.

>>> import tamis
>>> sorted(tamis.__all__)[:4]
['Capabilities', 'Classification', 'ConfError', 'Contract']
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from tamis._version import __version__ as __version__

# Public name -> the module that defines it. Everything else is private.
_DEFINED_IN = {
    "Capabilities": "tamis.classify",
    "Classification": "tamis.classify",
    "ConfError": "tamis.errors",
    "Contract": "tamis.evaluate.contract",
    "DeclarationError": "tamis.errors",
    "Explanation": "tamis.report",
    "Expr": "tamis.expr",
    "Index": "tamis.index",
    "LiftingRule": "tamis.classify",
    "PartitionField": "tamis.files",
    "Pushdown": "tamis.classify",
    "Reason": "tamis.reasons",
    "TamisError": "tamis.errors",
    "Verdict": "tamis.evaluate",
    "classify": "tamis.classify",
    "configure": "tamis.session",
    "declare": "tamis.declare",
    "evaluate": "tamis.evaluate",
    "explain": "tamis.report",
    "from_duckdb": "tamis.wire.duckdb",
    "history": "tamis.history",
    "index": "tamis.index",
    "parse": "tamis.session",
    "to_duckdb": "tamis.wire.duckdb",
    "what_if": "tamis.report",
    "why_not": "tamis.report",
}

__all__ = sorted([*_DEFINED_IN, "__version__"])


class _Package(ModuleType):
    def __setattr__(self, name: str, value: object) -> None:
        # `tamis.classify` is a sub-package and a public function. Importing the sub-package would
        # bind its module here, and the function would be gone; whoever means the module says
        # `from tamis.classify import …`, which does not look here.
        if not (name in _DEFINED_IN and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _DEFINED_IN:
        raise AttributeError(f"module 'tamis' has no attribute {name!r}")
    value = getattr(importlib.import_module(_DEFINED_IN[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
