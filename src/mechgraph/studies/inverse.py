"""Inverse dynamics: the efforts along the speeds, or the efforts of chosen drives, that a motion
needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import numbers, some_of
from ..contract.state import State
from ..errors import ArgumentError, UnsupportedError
from ..formalisms import DEFAULT
from ..graph.rounding import sizes_of_terms
from ..interrupts import remembered_interrupts
from ..numerics.rank import weighed_inverse
from ..results.trajectory import Trajectory
from .assembly.conversion import is_jointed
from .prescribed import prescribed_motion

if TYPE_CHECKING:
    from ..equations import Equations

TOLERANCE = (
    1e-8  # error of the accelerations, and of the balance of forces, relative to what makes them up
)
NEWTON, CONVERGED = 60, 1e-13


@remembered_interrupts()
def inverse_dynamics(
    equations: Equations,
    motion: Any,
    u: Any = None,
    udot: Any = None,
    t: Any = 0.0,
    inputs: Any = None,
    parameters: Any = None,
    drives: Sequence[str] | None = None,
    guess: Mapping[str, float] | None = None,
) -> np.ndarray:
    """Efforts that a motion needs: τ with M u̇ = f + τ along all speeds of a tree.

    motion: a ``Trajectory``, with its inputs, parameters and contacts unless others are given; the
        coordinates q with ``u`` and ``udot`` beside it, batches by
        leading axes; or functions of time by the names of what they prescribe, such as
        ``{"slider": lambda t: 0.1 * mg.sin(t)}``, as many as there are freedoms, at the times
        ``t``: then the whole motion is found first.
    drives: names of inputs or of speeds of joints, whose efforts are asked for instead, with
        M u̇ = f + D τ + Gᵀλ: also with constraints, in any coordinates, where they are as many as
        needed and not more. Forces may depend on these inputs in any smooth way (friction on the
        forces of a guide, if these are among the inputs); ``inputs`` is where the search begins.
    guess: where assembly of a prescribed motion begins.
    """
    if isinstance(motion, Mapping) and any(callable(value) for value in motion.values()):
        motion, u, udot = prescribed_motion(equations, motion, t, parameters, guess)
    if isinstance(motion, Trajectory):
        motion, u, udot, t, inputs, parameters = _along(equations, motion, inputs, parameters)
    if u is None or udot is None:
        raise ArgumentError("inverse_dynamics needs a Trajectory, or q, u and udot")
    if equations.terms.has_drag:
        raise UnsupportedError(
            "forces grow with constraint forces here, and those of this motion are not known: "
            "leave the constraint out, name inputs along what it blocks, let the force depend on "
            "these, and prescribe zero motion there"
        )
    if drives is not None:
        return _efforts_of(
            equations,
            _checked(equations, drives),
            udot,
            equations.numeric.arguments(motion, u, t, inputs, parameters),
        )
    if not is_jointed(equations):
        raise UnsupportedError(
            "inverse dynamics gives efforts along the speeds of joints, which "
            f"{equations.formalism} does not have; "
            f"use a formalism in joint coordinates, such as {DEFAULT}, or name the drives=[…] "
            "whose efforts are asked for"
        )
    if equations.constraints:
        raise UnsupportedError(
            "with constraints the efforts along all speeds are not unique: name the drives=[…], "
            "inputs or speeds of joints, "
            "whose efforts are asked for; or add servo constraints, whose multipliers are the "
            "efforts of the drives"
        )
    return equations.efforts(motion, u, udot, t, inputs, parameters)


def _along(equations: Equations, run: Trajectory, inputs: Any, parameters: Any) -> tuple[Any, ...]:
    """q, u, u̇, t, inputs and parameters of a run of these coordinates and speeds."""
    kinds = {
        "coordinates": equations.coordinates,
        "speeds": equations.speeds,
        "inputs": equations.inputs,
    }
    for kind, own in kinds.items():
        if run.columns[kind] != own:
            raise ArgumentError(
                f"this is a run of {run.name!r} with the {kind} {', '.join(run.columns[kind])}, "
                f"not with those of these equations, {', '.join(own)}"
            )
    if parameters is None or isinstance(parameters, Mapping):
        parameters = {**run.constants, **(parameters or {})}
    w = run.w if inputs is None else inputs
    return run.q, run.u, run.udot, run.time, w, parameters


def _checked(equations: Equations, drives: Any) -> tuple[str, ...]:
    """Names of inputs, and of velocities along which an effort may act."""
    if isinstance(drives, str) or not isinstance(drives, Sequence):
        raise ArgumentError(f"drives: expected a list of names, got {drives!r}")
    s = equations.terms.symbols
    for name in drives:
        quantity = equations.names.resolve(name)
        moving = ca.depends_on(quantity.value, s.u) and quantity.value.numel() == 1
        if quantity.kind != "input" and not moving:
            raise ArgumentError(f"drive {name!r} is neither an input nor a speed ({quantity.kind})")
    return some_of("drive", drives, list(drives))


def _expressions(equations: Equations, drives: tuple[str, ...]) -> list[SX]:
    """M u̇ − f, the directions D of the drives, those of the constraint forces G, and A u̇, b."""
    s = equations.terms.symbols
    by_input = ca.jacobian(equations.terms.f, s.w)
    columns = [
        by_input[:, equations.inputs.index(name)]
        if name in equations.inputs
        else ca.jacobian(equations.names.resolve(name).value, s.u).T
        for name in drives
    ]
    D = ca.horzcat(SX(s.u.numel(), 0), *columns)
    return [
        equations.terms.tau,
        D,
        equations.terms.G,
        equations.terms.A @ s.udot,
        equations.terms.b,
    ]


def _efforts_of(equations: Equations, drives: tuple[str, ...], udot: Any, at: State) -> np.ndarray:
    """τ of least squares in D τ + Gᵀλ = M u̇ − f, which must be unique and exact; inputs among the
    drives count as zero in f, or are found by Newton's method where f is not linear in them."""
    q, u, t, w, p = at
    kernel = equations.numeric.kernel(
        ("drives", drives),
        lambda: _expressions(equations, drives),
        [1, 2, 2, 1, 1],
        equations.terms.symbols.udot,
    )
    given = numbers("accelerations", equations.speeds, udot)

    def step(w: np.ndarray) -> np.ndarray:
        values = q, u, t, w, p, given
        return _step(drives, kernel(*values), lambda: _sizes(equations, drives, values))

    if not _nonlinear(equations):
        return step(np.where([name in drives for name in equations.inputs], 0.0, w))
    searched = [k for k, name in enumerate(drives) if name in equations.inputs]
    own = [equations.inputs.index(drives[k]) for k in searched]
    shape = np.broadcast_shapes(*(x.shape[:-1] for x in (q, u, t, w, p, given)))
    w = np.array(np.broadcast_to(w, (*shape, w.shape[-1])))
    if not w[..., own].any():
        w[..., own] = 1.0  # laws such as √(y² + z²) have no slope at zero
    for _ in range(NEWTON):
        efforts = step(w)
        change = np.abs(efforts[..., searched]).max(initial=0.0)
        w[..., own] += efforts[..., searched]
        if change <= CONVERGED * np.abs(w).max(initial=1.0):
            efforts[..., searched] = w[..., own]
            return efforts
    raise ArgumentError(
        f"the efforts of {', '.join(drives)} were not found: the forces depend on them in a way "
        "that Newton's method does not solve from here; give a guess as inputs="
    )


def _nonlinear(equations: Equations) -> bool:
    """True if the forces are not linear in the inputs."""
    s = equations.terms.symbols
    return bool(ca.depends_on(ca.jacobian(equations.terms.f, s.w), s.w))


def _sizes(
    equations: Equations, drives: tuple[str, ...], values: tuple[np.ndarray, ...]
) -> list[np.ndarray]:
    """How large the terms are that M u̇ − f and A u̇ + b are made of; one, if that is not known."""
    s = equations.terms.symbols

    def derive() -> list[SX]:
        tau, _, _, gained, b = _expressions(equations, drives)
        arguments = ca.vertcat(s.q, s.u, s.t, s.w, s.p, s.udot)
        found = [sizes_of_terms(ca.densify(row), arguments) for row in (tau, gained + b)]
        return [SX(1) if each is None else each for each in found]

    return equations.numeric.kernel(("sizes", drives), derive, [1, 1], s.udot)(*values)


def _step(
    drives: tuple[str, ...], found: list[np.ndarray], sizes: Callable[[], list[np.ndarray]]
) -> np.ndarray:
    """τ for the values of the kernel."""
    tau, D, G, gained, b = found
    if _exceeds(gained + b, np.abs(gained) + np.abs(b), lambda: sizes()[1]):
        raise ArgumentError("the accelerations contradict the constraints: A u̇ + b is not zero")
    K = np.concatenate([D, np.swapaxes(G, -1, -2)], axis=-1)
    lengths = np.linalg.norm(K, axis=-2, keepdims=True)
    K, lengths, count = (
        K / np.where(lengths > 0, lengths, 1.0),
        lengths[..., 0, : len(drives)],
        len(drives),
    )
    inverse = weighed_inverse(K)
    if (
        np.abs((inverse @ K)[..., :count, :] - np.eye(K.shape[-1])[:count]).max(initial=0.0)
        > TOLERANCE
    ):
        raise ArgumentError(
            f"the efforts of {', '.join(drives)} are not unique: there are more drives than "
            "freedoms"
        )
    efforts = np.einsum("...ij,...j->...i", inverse, tau)
    left = np.einsum("...ij,...j->...i", K, efforts) - tau
    if _exceeds(left, np.abs(tau), lambda: sizes()[0]):
        raise ArgumentError(
            f"{', '.join(drives) or 'no drives'} cannot make this motion; name more drives"
        )
    return np.asarray(efforts[..., :count] / lengths)


def _exceeds(error: np.ndarray, size: np.ndarray, terms: Callable[[], np.ndarray]) -> bool:
    """True if an error is no rounding: neither beside the size of what it is the error of, nor
    beside that of its terms, which is asked for only then."""

    def beyond(size: np.ndarray) -> bool:
        largest = np.abs(error).max(axis=-1, initial=0.0)
        return bool(np.any(largest > TOLERANCE * size.max(axis=-1, initial=0.0)))

    return beyond(size) and beyond(terms())
