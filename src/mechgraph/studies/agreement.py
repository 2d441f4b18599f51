"""Agreement: every formalism and closure on one system, compared at random consistent states.

In the same coordinates the formalisms must agree in M and f to rounding, and every formalism with every closure in the
accelerations and the reactions of all joints. The reference is ``newton-euler`` with ``multipliers``.
"""

from __future__ import annotations

import textwrap
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from ..closure import CLOSURES, RANK_TOLERANCE
from ..equations import Equations
from ..errors import ArgumentError, AssemblyError, UnsupportedError
from ..formalisms import DEFAULT, FORMALISMS
from ..system import System
from .initial import assemble, normalized, project

TOLERANCES = (1e-11, 1e-11, 1e-9, 1e-9)  # relative; accelerations and reactions carry the condition of M and A as well
WELL_CONDITIONED = 1e-3  # states nearer to a singular position than this ratio of singular values of A are not compared
PROBING_LIMIT = 10  # speeds; probing evaluates the energy of accelerations about n³/2 times
VARIANTS: Mapping[str, Sequence[Mapping[str, str]]] = {
    "appell": ({}, {"coefficients": "probing"}),
    "lagrange": ({}, {"form": "explicit"}),
}


@dataclass(frozen=True)
class States:
    """A batch of consistent states: rows of ``q``, ``u``, ``w`` belong to the times ``t``."""

    q: np.ndarray
    u: np.ndarray
    t: np.ndarray
    w: np.ndarray


@dataclass(frozen=True)
class Row:
    """One formalism (with its options) and closure: largest errors relative to the reference, and what deriving took.

    ``seconds`` is the time to derive M and f; ``note`` says why a row has no errors.
    """

    formalism: str
    closure: str
    M: float = np.nan
    f: float = np.nan
    accelerations: float = np.nan
    reactions: float = np.nan
    seconds: float = np.nan
    note: str = ""

    @property
    def errors(self) -> tuple[float, float, float, float]:
        """Errors in M, f, accelerations, reactions."""
        return self.M, self.f, self.accelerations, self.reactions

    @property
    def ok(self) -> bool:
        """True if all errors are at rounding level, or if the formalism says that it does not serve this system."""
        return bool(self.note) or all(e < limit for e, limit in zip(self.errors, TOLERANCES, strict=True))


@dataclass(frozen=True)
class Agreement:
    """The rows of the comparison; ``ok`` if all of them agree. Prints as a table."""

    name: str
    states: int
    rows: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        """True if every row agrees with the reference."""
        return all(row.ok for row in self.rows)

    @property
    def worst(self) -> float:
        """The largest error of all rows."""
        return max((error for row in self.rows if not row.note for error in row.errors), default=0.0)

    def __str__(self) -> str:
        table = self.table()
        widths = [max(len(line[k]) for line in table) for k in range(len(table[0]))]
        lines = ["  ".join(_aligned(line, widths)).rstrip() for line in table]
        rule = "─" * (sum(widths) + 2 * len(widths) - 2)
        notes = [_wrapped(f"{row.formalism}: {row.note}", len(rule)) for row in self.rows if row.note]
        return "\n".join([lines[0], rule, *lines[1:], rule, *notes, self.verdict])

    @property
    def verdict(self) -> str:
        """One sentence."""
        wrong = [f"{row.formalism} / {row.closure}" for row in self.rows if not row.ok]
        if wrong:
            return f"DISAGREEMENT at {self.states} random states of {self.name!r}: {', '.join(wrong)}."
        return f"All agree at {self.states} random states of {self.name!r}; largest relative difference {self.worst:.1e}."

    def table(self) -> list[tuple[str, ...]]:
        """The header and the rows as text; what a formalism's further rows only repeat is left out."""
        out: list[tuple[str, ...]] = [("formalism", "closure", "M", "f", "accelerations", "reactions", "derived in")]
        for before, row in zip((None, *self.rows), self.rows, strict=False):
            cells = _cells(row)
            repeated = before is not None and before.formalism == row.formalism
            out.append(("", cells[1], "", "", cells[4], cells[5], "") if repeated else cells)
        return out


def _cells(row: Row) -> tuple[str, ...]:
    if row.note:
        return (row.formalism, "not compared", "", "", "", "", "")
    return (row.formalism, row.closure, *(f"{error:.1e}" if error else "0" for error in row.errors), f"{row.seconds:.3f} s")


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(zip(cells, widths, strict=True))]


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, subsequent_indent="  ")


def agreement(
    system: System,
    states: int = 5,
    seed: int = 0,
    formalisms: Sequence[str] | None = None,
    guess: Mapping[str, Any] | None = None,
) -> Agreement:
    """Compare all formalisms (or those named) with all closures at random consistent states.

    ``guess`` is where assembly begins, as in ``assemble``.

    >>> import mechgraph as mg
    >>> arm = mg.System("pendulum", gravity=(0, 0, -9.81))
    >>> rod = arm.body("rod", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    >>> hinge = arm.revolute("hinge", arm.ground, rod, axis="y")
    >>> mg.agreement(arm).ok
    True
    """
    if states < 1:
        raise ArgumentError(f"states must be at least 1, got {states}")
    reference = system.equations(DEFAULT)
    at, reactions = random_states(reference, states, seed, guess), _reactions(reference)
    expected = next(_values(reference, at, reactions))[1]
    rows: list[Row] = []
    for formalism in FORMALISMS if formalisms is None else formalisms:
        for options in VARIANTS.get(formalism, ({},)):
            rows += _compare(system, formalism, options, at, expected, reactions)
    return Agreement(system.name, states, tuple(rows))


# --- comparing -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Values:
    """M, f, accelerations and reactions at all states."""

    M: np.ndarray
    f: np.ndarray
    accelerations: np.ndarray
    reactions: np.ndarray


Reactions = Callable[..., list[np.ndarray]]  # of the state, u̇ and λ


def _reactions(equations: Equations) -> Reactions:
    """All joints' reactions as one function of the state, u̇ and λ: they need no formalism beyond these."""
    joints = equations.system.joints
    return equations.kernel(
        "all reactions",
        lambda: [ca.vertcat(ca.SX(0, 1), *(equations.reactions.of(name) for name in joints))],
        [1],
        equations.force_symbols,
    )


def _values(equations: Equations, at: States, reactions: Reactions) -> Iterator[tuple[str, _Values]]:
    """By closure; derived and evaluated once for all of them."""
    M, f = equations.mass_matrix(at.q, at.t), equations.forces(at.q, at.u, at.t, at.w)
    arguments = equations.arguments(at.q, at.u, at.t, at.w, None)
    for closure, udot, multipliers in _solutions(equations, at, M, f):
        transmitted = reactions(*arguments, np.concatenate([udot, multipliers], axis=-1))[0]
        yield closure, _Values(M, f, udot, transmitted)


def _solutions(equations: Equations, at: States, M: np.ndarray, f: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(closure, u̇, λ); without constraints by the formalism's own route."""
    if not equations.constraints:
        yield "none needed", equations.accelerations(at.q, at.u, at.t, at.w), np.zeros((len(at.t), 0))
        return
    A = equations.constraint_jacobian(at.q, at.u, at.t)
    b = equations.evaluate("b", lambda: equations.b, 1, at.q, at.u, at.t)
    for name, closure in CLOSURES.items():
        yield name, *closure.solve(M, f, A, b)


def _compare(
    system: System, formalism: str, options: Mapping[str, str], at: States, expected: _Values, reactions: Reactions
) -> Iterator[Row]:
    label = " ".join([formalism, *(f"({value})" for value in options.values())])
    began = clock.perf_counter()
    try:
        equations = _derived(system, formalism, options)
    except UnsupportedError as error:
        if not options:
            raise
        yield Row(label, "", note=str(error))
        return
    seconds = clock.perf_counter() - began
    for closure, found in _values(equations, at, reactions):
        yield Row(label, closure, *_errors(found, expected, at.u), seconds)


def _derived(system: System, formalism: str, options: Mapping[str, str]) -> Equations:
    """Equations with M and f derived, not only promised."""
    equations = system.equations(formalism, **options)
    if options.get("coefficients") == "probing" and len(equations.speeds) > PROBING_LIMIT:
        raise UnsupportedError(f"compared up to {PROBING_LIMIT} speeds only, because it grows with their third power")
    _ = equations.M, equations.f  # asking for them derives them
    return equations


def _errors(found: _Values, expected: _Values, u: np.ndarray) -> tuple[float, float, float, float]:
    """Largest differences at each state over the largest entry of the reference there; the worst state counts.

    Forces, accelerations and reactions may cancel to nothing, so they are measured against what they are sums of, too:
    inertia forces M u², u², and the forces.
    """
    M, squares = _largest(expected.M), _largest(u) ** 2
    f = np.maximum(_largest(expected.f), M * squares)
    udot = np.maximum(_largest(expected.accelerations), squares)
    transmitted = np.maximum(_largest(expected.reactions), f)
    return (
        _worst(found.M - expected.M, M),
        _worst(found.f - expected.f, f),
        _worst(found.accelerations - expected.accelerations, udot),
        _worst(found.reactions - expected.reactions, transmitted),
    )


def _worst(difference: np.ndarray, scale: np.ndarray) -> float:
    return float(np.max(_largest(difference) / np.where(scale > 0, scale, 1.0), initial=0.0))


def _largest(values: np.ndarray) -> np.ndarray:
    """The largest entry at each state."""
    return np.abs(values).reshape(len(values), -1).max(axis=1, initial=0.0)


# --- states ----------------------------------------------------------------------------------------------------------


def random_states(
    equations: Equations, count: int, seed: int = 0, guess: Mapping[str, Any] | None = None, spread: float = 0.5
) -> States:
    """Consistent states around an assembled one, at random times in (0, 1) with random inputs.

    Coordinates are moved by steps of about ``spread`` along the speeds and assembled again, with smaller steps where that
    fails; random speeds are projected on ψ = 0.
    """
    random = np.random.default_rng(seed)
    first = assemble(equations, t=0.0, guess=guess)[0]
    drawn = [_random_state(equations, first, random, spread) for _ in range(count)]
    q, u, t, w = (np.array(part) for part in zip(*drawn, strict=True))
    return States(q, u, t, w)


def _random_state(equations: Equations, first: np.ndarray, random: np.random.Generator, spread: float) -> tuple:
    t, q = float(random.uniform()), first
    for attempt in range(12):
        step = spread * 0.7**attempt * random.standard_normal(len(equations.speeds))
        near = normalized(equations, first + equations.coordinate_rates(first, step))
        try:
            q = assemble(equations, t=t, guess=dict(zip(equations.coordinates, near, strict=True)))[0]
        except AssemblyError:
            continue
        if _well_conditioned(equations, q, t):
            break
    u = random.standard_normal((1, len(equations.speeds)))
    for _ in range(3):  # constraints that are not linear in the speeds need more than one
        u = project(equations, q[None], u, np.array([t]))[1]
    return q, u[0], t, random.standard_normal(len(equations.inputs))


def _well_conditioned(equations: Equations, q: np.ndarray, t: float) -> bool:
    sigma = np.linalg.svd(equations.constraint_jacobian(q, None, t), compute_uv=False)
    kept = sigma[sigma > RANK_TOLERANCE * sigma.max(initial=0.0)]
    return not kept.size or bool(kept.min() > WELL_CONDITIONED * kept.max())
