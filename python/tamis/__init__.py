"""Make Spark read only the files that a query needs, and explain each decision.

Importing the package is cheap: a public name loads its modules when it is first used.

>>> import tamis
>>> sorted(tamis.__all__)[:4]
['Capabilities', 'Classification', 'ConfError', 'Contract']
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from tamis._version import __version__ as __version__

if TYPE_CHECKING:
    # Type checkers do not follow __getattr__ and would take `tamis.index` for the subpackage.
    from tamis.classify import Capabilities as Capabilities
    from tamis.classify import Classification as Classification
    from tamis.classify import LiftingRule as LiftingRule
    from tamis.classify import Pushdown as Pushdown
    from tamis.classify import classify as classify
    from tamis.declare import declare as declare
    from tamis.errors import ConfError as ConfError
    from tamis.errors import DeclarationError as DeclarationError
    from tamis.errors import TamisError as TamisError
    from tamis.evaluate import Verdict as Verdict
    from tamis.evaluate import evaluate as evaluate
    from tamis.evaluate.udf.contract import Contract as Contract
    from tamis.expr import Expr as Expr
    from tamis.files import PartitionField as PartitionField
    from tamis.history import history as history
    from tamis.index import Index as Index
    from tamis.index import index as index
    from tamis.reasons import Reason as Reason
    from tamis.report import Explanation as Explanation
    from tamis.report import explain as explain
    from tamis.report import what_if as what_if
    from tamis.report import why_not as why_not
    from tamis.session import configure as configure
    from tamis.session import parse as parse
    from tamis.wire.duckdb import from_duckdb as from_duckdb
    from tamis.wire.duckdb import to_duckdb as to_duckdb

# Public names and the modules that define them. Everything else is private.
_DEFINED_IN = {
    "Capabilities": "tamis.classify",
    "Classification": "tamis.classify",
    "ConfError": "tamis.errors",
    "Contract": "tamis.evaluate.udf.contract",
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
        # `tamis.classify` is both a subpackage and a public function. Importing the subpackage
        # would bind its module here and hide the function. `from tamis.classify import …` finds
        # the module without this attribute.
        if not (name in _DEFINED_IN and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


if not TYPE_CHECKING:  # so type checkers report names that are not imported above

    def __getattr__(name: str) -> object:
        if name not in _DEFINED_IN:
            raise AttributeError(f"module 'tamis' has no attribute {name!r}")
        value = getattr(importlib.import_module(_DEFINED_IN[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
