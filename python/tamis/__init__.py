"""Make Spark read only the files that a query needs, and explain each decision.

Importing the package is cheap: a public name loads its modules when it is first used.

>>> import tamis
>>> sorted(tamis.__all__)[:4]
['Capabilities', 'Classification', 'ConfError', 'Contract']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tamis._version import __version__ as __version__

if TYPE_CHECKING:
    # Type checkers do not follow __getattr__.
    from tamis.classification import Capabilities as Capabilities
    from tamis.classification import Classification as Classification
    from tamis.classification import LiftingRule as LiftingRule
    from tamis.classification import Pushdown as Pushdown
    from tamis.classification import classify as classify
    from tamis.declare_udf import declare as declare
    from tamis.errors import ConfError as ConfError
    from tamis.errors import DeclarationError as DeclarationError
    from tamis.errors import StatisticsIndexError as StatisticsIndexError
    from tamis.errors import TamisError as TamisError
    from tamis.evaluation import Verdict as Verdict
    from tamis.evaluation.udf.udf_contract import Contract as Contract
    from tamis.expr import Expr as Expr
    from tamis.files import PartitionField as PartitionField
    from tamis.files.verdicts import evaluate as evaluate
    from tamis.indexing import Description as Description
    from tamis.indexing import Index as Index
    from tamis.indexing import index as index
    from tamis.maintenance import Maintenance as Maintenance
    from tamis.maintenance import maintain as maintain
    from tamis.reasons import Reason as Reason
    from tamis.remote import RemoteError as RemoteError
    from tamis.remote import read_airport as read_airport
    from tamis.remote import read_vgi as read_vgi
    from tamis.report import Explanation as Explanation
    from tamis.report import WhatIf as WhatIf
    from tamis.report import explain as explain
    from tamis.report import what_if as what_if
    from tamis.report import why_not as why_not
    from tamis.scan_history import history as history
    from tamis.scan_history import maintenance_history as maintenance_history
    from tamis.session import configure as configure
    from tamis.session import parse as parse
    from tamis.wire.duckdb import from_duckdb as from_duckdb
    from tamis.wire.duckdb import to_duckdb as to_duckdb

# Public names and the modules that define them. Everything else is private.
_DEFINED_IN = {
    "Capabilities": "tamis.classification",
    "Classification": "tamis.classification",
    "ConfError": "tamis.errors",
    "Contract": "tamis.evaluation.udf.udf_contract",
    "DeclarationError": "tamis.errors",
    "Description": "tamis.indexing",
    "Explanation": "tamis.report",
    "Expr": "tamis.expr",
    "Index": "tamis.indexing",
    "LiftingRule": "tamis.classification",
    "Maintenance": "tamis.maintenance",
    "PartitionField": "tamis.files",
    "Pushdown": "tamis.classification",
    "Reason": "tamis.reasons",
    "RemoteError": "tamis.remote",
    "StatisticsIndexError": "tamis.errors",
    "TamisError": "tamis.errors",
    "Verdict": "tamis.evaluation",
    "WhatIf": "tamis.report",
    "classify": "tamis.classification",
    "configure": "tamis.session",
    "declare": "tamis.declare_udf",
    "evaluate": "tamis.files.verdicts",
    "explain": "tamis.report",
    "from_duckdb": "tamis.wire.duckdb",
    "history": "tamis.scan_history",
    "index": "tamis.indexing",
    "maintain": "tamis.maintenance",
    "maintenance_history": "tamis.scan_history",
    "parse": "tamis.session",
    "read_airport": "tamis.remote",
    "read_vgi": "tamis.remote",
    "to_duckdb": "tamis.wire.duckdb",
    "what_if": "tamis.report",
    "why_not": "tamis.report",
}

__all__ = sorted([*_DEFINED_IN, "__version__"])


if not TYPE_CHECKING:  # so type checkers report names that are not imported above

    def __getattr__(name: str) -> object:
        if name not in _DEFINED_IN:
            raise AttributeError(f"module 'tamis' has no attribute {name!r}")
        value = getattr(importlib.import_module(_DEFINED_IN[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
