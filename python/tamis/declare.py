"""Declaring what a user-defined function keeps, so that predicates over it prune."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tamis.declarations.files import is_about, write
from tamis.declarations.refute import check
from tamis.errors import DeclarationError
from tamis.evaluate.contract import Contract
from tamis.session import shim

if TYPE_CHECKING:
    from types import ModuleType

    from pyspark.sql import SparkSession

__all__ = ["declare"]

_CONF: Final = "spark.tamis.declarations"


def declare(
    spark: SparkSession,
    function: str | Callable[..., Any],
    *,
    monotone: Callable[..., Any] | None = None,
    image: Callable[..., Any] | None = None,
    increasing: bool = True,
    argument: int = 0,
    types: Collection[str] = (),
    constants: Sequence[Container[Any]] | None = None,
    null_to_null: bool = False,
    body: Callable[..., Any] | None = None,
) -> Contract:
    """Declare, for this session, that a user-defined function is monotone or has a range image.

    Predicates over the function then rule files out. They are never exact: the filter stays. The
    declaration is believed there, so a wrong one loses rows: it is tried on random and adversarial
    values first.

    Args:
        spark: a session of classic PySpark with tamis.
        function: the name under which it is registered (Python, Scala, Java or Hive), or what
            `pyspark.sql.functions.udf` gave.
        monotone, image, increasing, argument, types, constants, null_to_null: see `tamis.Contract`.
        body: the function itself in Python, to hold an `image` against; not needed for a `udf(…)`.

    Raises:
        DeclarationError: the contract is refuted (the counter-example is named), or cannot be used.
        TamisError: the session has no JVM in reach (Spark Connect), or no tamis.

    Example:
        tamis.declare(spark, "discretize", monotone=lambda x: x // 10, types=["INT"])
    """
    tamis = shim(spark)
    udf = _udf_of(function)
    name = function if isinstance(function, str) else getattr(udf, "_name", None)
    if name is None:
        raise DeclarationError("declare takes the name of a function, or a udf of PySpark")
    contract = Contract(
        name,
        monotone=_python_function(monotone),
        image=_python_function(image),
        increasing=increasing,
        argument=argument,
        types=types,
        constants=constants,
        null_to_null=null_to_null,
        body=_body(tamis, spark, function, udf),
    )
    check(contract, _python_function(body or (function if udf is not None else None)))
    directory = Path(tamis.privateDirectory())  # type: ignore[attr-defined]
    # A registered function is its name. Of the others many may be called "<lambda>".
    subject = name if udf is None else f"{name} {contract.body}"
    path = write(contract, _pickled(contract), directory, subject)
    others = [each for each in _declared(spark) if not is_about(each, subject)]
    spark.conf.set(_CONF, ",".join([*others, str(path)]))
    return contract


def _declared(spark: SparkSession) -> list[str]:
    return [each for each in (spark.conf.get(_CONF, None) or "").split(",") if each]


def _udf_of(function: object) -> Any | None:
    """PySpark's UserDefinedFunction, which `udf` hides in a plain function."""
    from pyspark.sql.udf import UserDefinedFunction

    hidden = getattr(function, "_unwrapped", function)
    return hidden if isinstance(hidden, UserDefinedFunction) else None


def _python_function(function: Any) -> Any:
    udf = _udf_of(function)
    return function if udf is None else udf.func


def _body(tamis: Any, spark: Any, function: object, udf: Any | None) -> str | None:
    """What tells this Python function from another of its name; None of other functions."""
    if udf is not None:
        found: str | None = tamis.functionBody(udf._judf)
    else:
        found = tamis.functionBody(spark._jsparkSession, function)
    return found


def _pickled(contract: Contract) -> bytes:
    """By value, for the sidecar need not find the module in which the function was written."""
    from pyspark import cloudpickle

    own = map(_own_module, (contract.monotone, contract.image))
    by_value = cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    modules = [module for module in own if module and module.__name__ not in by_value]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        pickled: bytes = cloudpickle.dumps(contract)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise DeclarationError(
            f"{contract.name}: the declared function cannot be pickled ({error}): let it use "
            "nothing of the session"
        ) from error
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return pickled


def _own_module(function: object) -> ModuleType | None:
    """The module of a Python function, unless it is a library's."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is None or file is None or not hasattr(function, "__code__"):
        return None
    top = module.__name__.partition(".")[0]
    return None if "site-packages" in file or top in sys.stdlib_module_names else module
