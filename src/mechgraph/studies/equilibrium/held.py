"""What the user wrote of an equilibrium: what is held, and where to begin."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...arguments import named, one_state
from ...errors import ArgumentError
from ..assembly.assemble import assemble
from ..assembly.named_values import check_quaternions

if TYPE_CHECKING:
    from ...equations import Equations


@dataclass(frozen=True)
class HeldVariables:
    """What is to stay as it is: variations of coordinates and speeds by index, and quantities that
    are no variables, by name."""

    directions: frozenset[int] = frozenset()
    speeds: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()


def read_hold(equations: Equations, hold: Any) -> HeldVariables:
    """All that the names stand for, with quaternions held as a whole or not at all."""
    if isinstance(hold, str) or not isinstance(hold, Collection):
        raise ArgumentError(f"hold: expected a list of names, got {hold!r}")
    try:
        parts = [meaning(equations, name) for name in hold]
    except ArgumentError as error:
        raise ArgumentError(f"hold: {error}") from None
    _refuse_parts_of_quaternions(equations, hold)
    return HeldVariables(
        frozenset().union(*(part.directions for part in parts)),
        frozenset().union(*(part.speeds for part in parts)),
        tuple(name for part in parts for name in part.names),
    )


def meaning(equations: Equations, name: str) -> HeldVariables:
    """What a name stands for: coordinates, and so directions; speeds; or another quantity."""
    quantity = equations.names.resolve(name)
    if quantity.coordinates:
        return HeldVariables(directions=_directions(equations, quantity.coordinates))
    if quantity.speeds:
        return HeldVariables(speeds=frozenset(quantity.speeds))
    return HeldVariables(names=(name,))


def _directions(equations: Equations, coordinates: Sequence[int]) -> frozenset[int]:
    """The variations that move these coordinates."""
    moved = np.array(ca.DM(equations.terms.chart.tangent.sparsity(), 1)) != 0
    return frozenset(int(k) for k in np.flatnonzero(moved[list(coordinates)].any(axis=0)))


def _refuse_parts_of_quaternions(equations: Equations, hold: Collection[str]) -> None:
    given = {index for name in hold for index in equations.names.resolve(name).coordinates}
    for four in equations.terms.chart.quaternions:
        if given & set(four) and not set(four) <= given:
            name = equations.coordinates[four[0]]
            raise ArgumentError(
                f"hold: {name!r} is a part of a quaternion; hold its joint "
                f"{name.rpartition('.')[0]!r} as a whole"
            )


def initial_state(
    equations: Equations, guess: Any, held: HeldVariables, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    """An assembled state with what is held as it is guessed (speeds at rest, if they are not), as
    near to the rest of the guess as the constraints allow."""
    guess = _by_name(equations, guess)
    meanings = {name: meaning(equations, str(name)) for name in guess}
    given = frozenset().union(*(part.speeds for part in meanings.values()))
    still = {equations.speeds[i]: 0.0 for i in held.speeds - given}
    kept = {name: guess[name] for name, part in meanings.items() if _within(part, held)}
    rest = {name: value for name, value in guess.items() if name not in kept}
    return assemble(equations, still | kept, guess=rest, parameters=parameters)


def _by_name(equations: Equations, guess: Any) -> dict[str, Any]:
    """A guess by names, also of a pair (q, u)."""
    if not isinstance(guess, tuple):
        return named("guess", guess)
    if len(guess) != 2:
        raise ArgumentError(f"guess: expected names or the pair (q, u), got {len(guess)} values")
    q, u = one_state(equations.numeric.arguments(*guess, 0.0, None, None))[:2]
    check_quaternions(equations, dict(enumerate(q)), "guess")
    names = *equations.coordinates, *equations.speeds
    return dict(zip(names, (*q, *u), strict=True))


def _within(part: HeldVariables, held: HeldVariables) -> bool:
    """True if all that a name stands for is held."""
    return (
        part.directions <= held.directions
        and part.speeds <= held.speeds
        and set(part.names) <= set(held.names)
    )
