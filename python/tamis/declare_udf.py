"""Declarations of user-defined functions, which let predicates over them prune."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tamis.declarations.contract_files import is_about, write
from tamis.declarations.refute import check
from tamis.errors import DeclarationError
from tamis.evaluation.udf.udf_contract import Contract
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
    """Declare, for this session, that a user-defined function is monotone, or how it maps ranges.

    Predicates over the function then rule out files. They are never exact, so the filter stays in
    the plan. The planner trusts the declaration, so a wrong one loses rows. It is therefore first
    tested on random and adversarial values.

    Args:
        spark: A session of classic PySpark with tamis.
        function: The name under which the function is registered (Python, Scala, Java or Hive), or
            the result of `pyspark.sql.functions.udf`.
        monotone, image, increasing, argument, types, constants, null_to_null: See `tamis.Contract`.
        body: The function itself in Python, to check an `image` against. Not needed for a `udf(…)`.

    Returns:
        The contract that was declared.

    Raises:
        DeclarationError: The contract is refuted, with a counterexample, or cannot be used.
        TamisError: The session has no accessible JVM (Spark Connect), or runs without tamis.

    Example:
        tamis.declare(spark, "discretize", monotone=lambda x: x // 10, types=["INT"])
    """
    tamis = shim(spark)
    udf = _udf_of(function)
    name = function if isinstance(function, str) else getattr(udf, "_name", None)
    if name is None:
        raise DeclarationError(
            f"tamis.declare cannot use {function!r}: pass the name of a registered function, or "
            "the result of udf(…)"
        )
    contract = Contract(
        name,
        monotone=_python_function(monotone),
        image=_python_function(image),
        increasing=increasing,
        argument=argument,
        types=types,
        constants=constants,
        null_to_null=null_to_null,
        function_digest=_digest(tamis, spark, function, udf),
    )
    check(contract, _python_function(body or (function if udf is not None else None)))
    directory = Path(tamis.privateDirectory())
    # The name identifies a registered function. Many other functions may be called "<lambda>".
    subject = name if udf is None else f"{name} {contract.function_digest}"
    path = write(contract, _pickled(contract), directory, subject)
    others = [each for each in _declared(spark) if not is_about(each, subject)]
    spark.conf.set(_CONF, ",".join([*others, str(path)]))
    return contract


def _declared(spark: SparkSession) -> list[str]:
    return [each for each in (spark.conf.get(_CONF, None) or "").split(",") if each]


def _udf_of(function: object) -> Any | None:
    """Return PySpark's UserDefinedFunction, which `udf` wraps in a plain function."""
    from pyspark.sql.udf import UserDefinedFunction

    unwrapped = getattr(function, "_unwrapped", function)
    return unwrapped if isinstance(unwrapped, UserDefinedFunction) else None


def _python_function(function: Any) -> Any:
    udf = _udf_of(function)
    return function if udf is None else udf.func


def _digest(tamis: Any, spark: Any, function: object, udf: Any | None) -> str | None:
    """Return an identifier of the body of a Python function; None for other functions.

    It distinguishes the function from others with the same name.
    """
    if udf is not None:
        digest: str | None = tamis.functionBody(udf._judf)
    else:
        digest = tamis.functionBody(spark._jsparkSession, function)
    return digest


def _pickled(contract: Contract) -> bytes:
    """Pickle the contract by value: the sidecar may not have the module of the function."""
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
            f"{contract.name}: the declared function cannot be pickled ({error}). Declare a "
            "function that does not refer to the session."
        ) from error
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return pickled


def _own_module(function: object) -> ModuleType | None:
    """Return the module of a Python function; None if it belongs to a library."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is None or file is None or not hasattr(function, "__code__"):
        return None
    top = module.__name__.partition(".")[0]
    return None if "site-packages" in file or top in sys.stdlib_module_names else module
