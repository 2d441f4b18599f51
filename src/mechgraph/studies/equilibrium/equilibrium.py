"""Equilibria and steady motions: states whose speeds stay as they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import named, one_state, some_of
from ...contract.valueless import searching
from ...errors import ArgumentError, AssemblyError, UnsupportedError
from ...interrupts import remembered_interrupts
from ..assembly.change_of_coordinates import convert, in_joint_coordinates
from ..contact.modes import Contacts
from ..simulation.context import Context
from .balance import Balance
from .held import initial_state, read_hold
from .search import found

if TYPE_CHECKING:
    from ...equations import Equations


def equilibrium(
    equations: Equations,
    guess: Mapping[str, Any] | tuple[Any, ...] | None = None,
    *,
    hold: Sequence[str] = (),
    inputs: Any = None,
    parameters: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A state of rest (q, u = 0) with u̇ = 0, on the constraints, near the guess.

    guess: names with values, as in a start, or a pair (q, u).
    hold: names that stay as they are in the guess.
    inputs, parameters: by name, numbers.

    Joints with dry friction rest anywhere in a range: what is found is the one without friction, in
    the middle of it; with "NAME friction.sticking" 1 among the parameters, the one where the guess
    has that joint, which holds if its multiplier is at most what friction can hold.
    """
    return _found(equations, guess, hold, None, False, (), inputs, parameters)


def steady(
    equations: Equations,
    guess: Mapping[str, Any] | tuple[Any, ...] | None = None,
    *,
    hold: Sequence[str] = (),
    constant: Sequence[str] | None = None,
    accelerating: Sequence[str] = (),
    inputs: Any = None,
    parameters: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A state (q, u) whose speeds stay constant, on the constraints, near the guess; or change at
    constant rates.

    guess: names with values, as in a start, or a pair (q, u).
    hold: names that stay as they are in the guess (speeds that it does not give at zero); as many
        as the family of steady motions has parameters make the answer definite.
    constant: names of the speeds that must not change; by default all but those of coordinates that
        nothing depends on, where the other speeds determine them: the velocity of a disc that rolls
        in a circle turns.
    accelerating: names of the speeds that change at a constant rate each, which ``accelerations``
        tells of the state found: all speeds of a cart that is pushed, and not that of the load
        which hangs back on it.
    inputs, parameters: by name, numbers.

    Where coordinates are not those of joints, it is found in joint coordinates, unless a name is
    one of their own.
    """
    return _found(equations, guess, hold, constant, True, accelerating, inputs, parameters)


@remembered_interrupts()
@searching()
def _found(
    equations: Equations,
    guess: Any,
    hold: Any,
    constant: Any,
    moving: bool,
    accelerating: Any,
    inputs: Any,
    parameters: Any,
) -> tuple[np.ndarray, np.ndarray]:
    one_state(equations.numeric.arguments(None, None, 0.0, inputs, parameters))
    listed = () if constant is None else constant
    joint = _in_joint_coordinates(equations, guess, hold, listed, accelerating)
    if joint is not None:
        state = _found(joint, guess, hold, constant, moving, accelerating, inputs, parameters)
        return convert(joint, equations, *state, 0.0, parameters)
    held = read_hold(equations, hold)
    changing = None if constant is None else _others(equations, constant)
    names = some_of("accelerating speed", accelerating, equations.speeds)
    rising = [equations.speeds.index(name) for name in names]
    q, u = initial_state(equations, guess, held, parameters)
    if not moving:
        _refuse_offsets(equations)
        u, held = np.zeros_like(u), replace(held, speeds=frozenset(range(len(u))))
    balance = Balance(equations, held, moving, (inputs, parameters), (q, u), changing, rising)
    state = found(balance, (q, u))
    _refuse_overlaps(equations, *state, inputs, parameters)
    return state


def _refuse_overlaps(
    equations: Equations, q: np.ndarray, u: np.ndarray, inputs: Any, parameters: Any
) -> None:
    """Rigid contacts and stops are open here: what is found beyond them is no state at all."""
    if not equations.terms.chart.description.switched:
        return
    try:
        Contacts(equations, Context.make(equations, inputs, parameters)).check_start(0.0, q, u)
    except ArgumentError as error:
        raise AssemblyError(
            "the equilibrium that was found is none, for rigid contacts and stops count as open "
            f"here: {error}; or simulate until things rest"
        ) from None


def _refuse_offsets(equations: Equations) -> None:
    """Rest is u = 0, unless a speed of the user's own has an offset."""
    chart = equations.terms.chart
    if not (chart.working_speeds - chart.symbols.u).is_zero():
        raise UnsupportedError(
            f"at rest, the speeds {', '.join(map(repr, chart.own_speeds))} are not all zero; leave "
            "their offsets out, or use steady()"
        )


def _in_joint_coordinates(equations: Equations, guess: Any, *names: Any) -> Equations | None:
    """As ``in_joint_coordinates``; a guess may also be the pair (q, u), which is in the equations'
    own."""
    if isinstance(guess, tuple):
        return None
    lists = (each for each in names if isinstance(each, Collection))
    listed = [name for each in lists for name in each if isinstance(name, str)]
    return in_joint_coordinates(equations, [*named("guess", guess), *listed])


def _others(equations: Equations, constant: Any) -> list[int]:
    """Speeds that are not among those that must be constant."""
    names = some_of("constant speed", constant, equations.speeds)
    return [i for i, name in enumerate(equations.speeds) if name not in names]
