"""Refuting contracts: the function, or its image, on random and adversarial values.

What survives is not proven. What does not is rejected, with the counter-example.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from random import Random
from typing import Any, Final

from tamis.declarations.values import random_values
from tamis.errors import DeclarationError
from tamis.evaluate.contract import Contract

__all__ = ["check"]

#: After this time the check has seen enough.
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
    """Look for values that contradict the contract; DeclarationError names those that were found.

    `body`: the function itself, against which an image is held. Of `monotone` it is that function.

    >>> check(Contract("tens", monotone=lambda x: x // 10, types=["INT"]))
    >>> check(Contract("rest", monotone=lambda x: x % 10, types=["INT"]))
    Traceback (most recent call last):
    tamis.errors.DeclarationError: rest never falls, its contract says, but rest(-1) = 9 and
    rest(0) = 0. If it ...
    """
    random = Random(seed)
    ends = time.monotonic() + _SECONDS
    answered = False
    for family in contract.types:
        for constants in _constants(contract, contract.monotone or body or contract.image, random):
            values = random_values(random, family, _SAMPLES)
            if contract.monotone is not None:
                checks = _falls(contract, values, constants)
            else:
                checks = _escapes(contract, body, values, constants, random)
            for _ in checks:
                answered = True
                if time.monotonic() > ends:
                    return
    if not answered:
        raise DeclarationError(
            f"{contract.name}: the declared function raises, or gives nothing, for every value "
            f"that was tried ({', '.join(contract.types)}): give types=…, and constants=… (lists) "
            "if it has more than one argument"
        )


def _constants(contract: Contract, function: Any, random: Random) -> Iterator[tuple[Any, ...]]:
    if contract.constants is not None:
        pools: list[Sequence[Any]] = [_some(each, random) for each in contract.constants]
    else:
        pools = [_of_annotation(each) for each in _further(contract, function)]
    yield from product(*pools)


def _further(contract: Contract, function: Any) -> list[inspect.Parameter]:
    """The parameters for constants, as the signature has them; without those with a default."""
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
    """Some of the constants that a contract allows; none of a collection that lists nothing."""
    if isinstance(allowed, range) or hasattr(allowed, "__getitem__"):
        found = list(allowed[:2]) + list(allowed[-1:])
        found += [random.choice(allowed) for _ in range(_CONSTANTS - 3)] if len(allowed) else []
        return list(dict.fromkeys(found))
    return sorted(allowed, key=repr)[:_CONSTANTS] if hasattr(allowed, "__iter__") else []


def _call(contract: Contract, value: Any, constants: tuple[Any, ...]) -> str:
    place = contract.argument
    arguments = (*constants[:place], value, *constants[place:])
    return f"{contract.name}({', '.join(map(_shown, arguments))})"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}… ({len(text)} characters)"


def _asked(function: Any, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """Whether there is an answer that can be compared, and the answer."""
    try:
        given = function(*arguments)
        return given is not None, given
    except Exception:  # raising is not against a contract
        return False, None


def _is_in_order(x: Any, y: Any) -> bool:
    """x <= y, NaN being the greatest."""
    return y != y or bool(x <= y)


def _falls(contract: Contract, values: list[Any], constants: tuple[Any, ...]) -> Iterator[None]:
    """Holds neighbours against each other; with all of them in order, so is every pair."""
    place = contract.argument
    answers = []
    for value in values:
        arguments = (*constants[:place], value, *constants[place:])
        has, given = _asked(contract.monotone, arguments)
        if has:
            answers.append((value, given))
            yield
    wrong = []
    for (x, f_x), (y, f_y) in pairwise(answers):
        try:
            kept = _is_in_order(f_x, f_y) if contract.increasing else _is_in_order(f_y, f_x)
        except TypeError as error:
            raise DeclarationError(
                f"{contract.name}: results cannot be compared: {_shown(f_x)} of {_shown(x)}, "
                f"{_shown(f_y)} of {_shown(y)}"
            ) from error
        if not kept:
            wrong.append((x, f_x, y, f_y))
    if wrong:
        x, f_x, y, f_y = min(wrong, key=lambda each: len(repr(each)))  # for people to read
        verb = "falls" if contract.increasing else "rises"
        one, other = _call(contract, x, constants), _call(contract, y, constants)
        raise DeclarationError(
            f"{contract.name} never {verb}, its contract says, but {one} = {_shown(f_x)} and "
            f"{other} = {_shown(f_y)}. If it does so only for some types or constants, say so "
            "with types=… or constants=…; if it is not monotone at all, give an image=…"
        )


def _escapes(
    contract: Contract,
    body: Callable[..., Any] | None,
    values: list[Any],
    constants: tuple[Any, ...],
    random: Random,
) -> Iterator[None]:
    """Holds values of the function against the image of intervals that they lie in."""
    place = contract.argument
    for _ in range(_SAMPLES):
        first = random.randrange(len(values))
        last = min(len(values) - 1, first + random.choice([0, 0, 1, 2, 5, 20, len(values)]))
        lower, upper = values[first], values[last]
        try:
            image = contract.image(lower, upper, *constants)  # type: ignore[misc]
        except Exception:  # nothing is known then
            continue
        yield
        if image is None:
            continue
        try:
            low, high = image
        except (TypeError, ValueError) as error:
            raise DeclarationError(
                f"{contract.name}: the image of {_shown(lower)} to {_shown(upper)} is no pair "
                f"(lower, upper), nor None, but {_shown(image)}"
            ) from error
        if low is not None and high is not None and low > high:
            raise DeclarationError(
                f"{contract.name}: the image of {_shown(lower)} to {_shown(upper)} is from "
                f"{_shown(low)} to {_shown(high)}, which is upside down"
            )
        for x in {first, last, *(random.randint(first, last) for _ in range(4))} if body else ():
            arguments = (*constants[:place], values[x], *constants[place:])
            has, given = _asked(body, arguments)
            inside = not has or (
                (low is None or _is_in_order(low, given))
                and (high is None or _is_in_order(given, high))
            )
            if not inside:
                raise DeclarationError(
                    f"{_call(contract, values[x], constants)} = {_shown(given)} is outside of "
                    f"{_shown(low)} to {_shown(high)}, the image that the contract gives of "
                    f"{_shown(lower)} to {_shown(upper)}"
                )
