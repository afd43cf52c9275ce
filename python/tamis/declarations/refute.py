"""Refutes contracts by testing the function or its image on random and adversarial values.

A contract that survives is not proven. A refuted one is rejected with a counterexample.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from random import Random
from typing import Any, Final

from tamis.declarations.edge_cases import random_values
from tamis.errors import DeclarationError
from tamis.evaluation.udf.udf_contract import Contract

__all__ = ["check"]

#: The check ends after this time.
_SECONDS: Final = 5.0
_SAMPLES: Final = 400
_CONSTANTS: Final = 6
_DEFAULT_CONSTANTS: Final[dict[object, Sequence[Any]]] = {
    int: (1, 2, 10, 100, 0, -1),
    float: (1.0, 0.5, 100.0, 0.0, -1.0),
    str: ("", "a", "yyyy"),
    bool: (True, False),
}


def check(contract: Contract, body: Callable[..., Any] | None = None, seed: int = 0) -> None:
    """Look for values that contradict the contract.

    Args:
        contract: The contract.
        body: The function itself, to check an image against. A `monotone` function is its own body.
        seed: The seed of the random values.

    Raises:
        DeclarationError: The values named in the message contradict the contract, or no value was
            accepted by the function.

    >>> check(Contract("tens", monotone=lambda x: x // 10, types=["INT"]))
    >>> check(Contract("rest", monotone=lambda x: x % 10, types=["INT"]))
    Traceback (most recent call last):
    tamis.errors.DeclarationError: rest is declared never to decrease, but rest(-1) = 9 and
    rest(0) = 0. If it ...
    """
    random = Random(seed)
    ends = time.monotonic() + _SECONDS
    answered = False
    for family in contract.types:
        for constants in _constants(contract, contract.monotone or body or contract.image, random):
            values = random_values(random, family, _SAMPLES)
            if contract.monotone is not None:
                checks = _check_order(contract, values, constants)
            else:
                checks = _check_image(contract, body, values, constants, random)
            for _ in checks:
                answered = True
                if time.monotonic() > ends:
                    return
    if not answered:
        raise DeclarationError(
            f"{contract.name}: the declared function raised an error or returned None for every "
            f"value that was tried ({', '.join(contract.types)}): declare the type of its "
            "argument with types=[…], and the values of each further argument with "
            "constants=[[…], …]"
        )


def _constants(contract: Contract, function: Any, random: Random) -> Iterator[tuple[Any, ...]]:
    if contract.constants is not None:
        pools: list[Sequence[Any]] = [_some(each, random) for each in contract.constants]
    else:
        pools = [_of_annotation(each) for each in _further(contract, function)]
    yield from product(*pools)


def _further(contract: Contract, function: Any) -> list[inspect.Parameter]:
    """Return the parameters of the signature for constants, without those with a default."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    varying = [contract.argument] if function is not contract.image else [0, 1]
    return [
        each
        for place, each in enumerate(parameters)
        if place not in varying
        and each.default is inspect.Parameter.empty
        and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]


def _of_annotation(parameter: inspect.Parameter) -> Sequence[Any]:
    hints = {**_DEFAULT_CONSTANTS, **{t.__name__: v for t, v in _DEFAULT_CONSTANTS.items()}}  # type: ignore[attr-defined]
    return hints.get(parameter.annotation, _DEFAULT_CONSTANTS[int])


def _some(allowed: Any, random: Random) -> list[Any]:
    """Return some of the constants that a contract allows; none if they cannot be listed."""
    if isinstance(allowed, range) or hasattr(allowed, "__getitem__"):
        chosen = list(allowed[:2]) + list(allowed[-1:])
        chosen += [random.choice(allowed) for _ in range(_CONSTANTS - 3)] if len(allowed) else []
        return list(dict.fromkeys(chosen))
    return sorted(allowed, key=repr)[:_CONSTANTS] if hasattr(allowed, "__iter__") else []


def _call(contract: Contract, value: Any, constants: tuple[Any, ...]) -> str:
    place = contract.argument
    arguments = (*constants[:place], value, *constants[place:])
    return f"{contract.name}({', '.join(map(_shown, arguments))})"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}… ({len(text)} characters)"


def _result_of(function: Any, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """Return whether the call gave a result that can be compared, and the result."""
    try:
        result = function(*arguments)
        return result is not None, result
    except Exception:  # a function that raises does not violate a contract
        return False, None


def _is_in_order(x: Any, y: Any) -> bool:
    """Return whether x <= y, where NaN is the greatest value."""
    return y != y or bool(x <= y)


def _check_order(
    contract: Contract, values: list[Any], constants: tuple[Any, ...]
) -> Iterator[None]:
    """Compare the results of neighboring values. If all of these are in order, every pair is."""
    place = contract.argument
    answers = []
    for value in values:
        arguments = (*constants[:place], value, *constants[place:])
        has, given = _result_of(contract.monotone, arguments)
        if has:
            answers.append((value, given))
            yield
    wrong = []
    for (x, f_x), (y, f_y) in pairwise(answers):
        try:
            kept = _is_in_order(f_x, f_y) if contract.increasing else _is_in_order(f_y, f_x)
        except TypeError as error:
            raise DeclarationError(
                f"{contract.name}: results cannot be compared: {_call(contract, x, constants)} = "
                f"{_shown(f_x)}, but {_call(contract, y, constants)} = {_shown(f_y)}. Return "
                "values of one type."
            ) from error
        if not kept:
            wrong.append((x, f_x, y, f_y))
    if wrong:
        x, f_x, y, f_y = min(wrong, key=lambda each: len(repr(each)))  # for people to read
        verb = "decrease" if contract.increasing else "increase"
        one, other = _call(contract, x, constants), _call(contract, y, constants)
        raise DeclarationError(
            f"{contract.name} is declared never to {verb}, but {one} = {_shown(f_x)} and "
            f"{other} = {_shown(f_y)}. If it is monotone for some types or constants only, pass "
            "types=… or constants=…; if it is not monotone at all, pass an image=… instead."
        )


def _check_image(
    contract: Contract,
    body: Callable[..., Any] | None,
    values: list[Any],
    constants: tuple[Any, ...],
    random: Random,
) -> Iterator[None]:
    """Check that results of the function lie in the image of an interval around their argument."""
    place = contract.argument
    for _ in range(_SAMPLES):
        first = random.randrange(len(values))
        last = min(len(values) - 1, first + random.choice([0, 0, 1, 2, 5, 20, len(values)]))
        lower, upper = values[first], values[last]
        try:
            image = contract.image(lower, upper, *constants)  # type: ignore[misc]
        except Exception:  # an image that raises makes no claim
            continue
        yield
        if image is None:
            continue
        try:
            low, high = image
        except (TypeError, ValueError) as error:
            raise DeclarationError(
                f"{contract.name}: the image of {_shown(lower)} to {_shown(upper)} is "
                f"{_shown(image)}, which is neither a pair (lower, upper) nor None"
            ) from error
        if low is not None and high is not None and low > high:
            raise DeclarationError(
                f"{contract.name}: the image of {_shown(lower)} to {_shown(upper)} is from "
                f"{_shown(low)} to {_shown(high)}: the lower bound is above the upper bound"
            )
        for x in {first, last, *(random.randint(first, last) for _ in range(4))} if body else ():
            arguments = (*constants[:place], values[x], *constants[place:])
            has, given = _result_of(body, arguments)
            inside = not has or (
                (low is None or _is_in_order(low, given))
                and (high is None or _is_in_order(given, high))
            )
            if not inside:
                raise DeclarationError(
                    f"{contract.name}: the image of {_shown(lower)} to {_shown(upper)} is "
                    f"{_shown(low)} to {_shown(high)}, but "
                    f"{_call(contract, values[x], constants)} = {_shown(given)}. Widen the image, "
                    "or declare the function for fewer types or constants."
                )
