"""Agreement: every formalism and closure on one system, compared at random consistent states.

In the same coordinates the formalisms must agree in M and f to rounding, and every formalism with
every closure in the accelerations and the reactions of all joints. A formalism in coordinates of
its own is compared in the accelerations of all bodies instead, and in the reactions where no
constraint is redundant (else they are not unique). The reference is ``newton-euler`` with
``multipliers``.
"""

from __future__ import annotations

import textwrap
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import some_of, whole
from ..closures.closure import CLOSURES
from ..closures.numbers import Solution, bordered, solve_constrained
from ..contract.accelerations import contradiction, undetermined_message
from ..contract.coefficients import coefficient
from ..contract.derive import derive_terms
from ..contract.valueless import searching
from ..errors import ArgumentError, AssemblyError, UnsupportedError
from ..formalisms import DEFAULT, FORMALISMS
from ..interrupts import remembered_interrupts
from ..kernels import Kernel
from ..model.description import Description
from ..model.system import System
from ..numerics.rank import Independent, rank
from ..numerics.tolerances import UNKNOWN
from .assembly.assemble import assemble
from .assembly.conversion import convert
from .assembly.positions import closed
from .projection import moved, project, violations
from .simulation.context import Context

if TYPE_CHECKING:
    from ..equations import Equations

# relative; accelerations and reactions carry the condition of M and A as well
TOLERANCES = (
    1e-11,
    1e-11,
    1e-9,
    1e-9,
)
# states nearer to a singular position than this ratio of singular values of A are not compared
WELL_CONDITIONED = 1e-3
CONSISTENT = 1e-10  # violation of a constraint up to which states are compared
ATTEMPTS = 12
FAINT = 1e-5  # rows of A, beside what they are elsewhere: what they bind is badly known
HEAVY = 1e-8  # inertia, relative: what has less is not asked how it would move if it were free
PROBING_LIMIT = 10  # speeds; probing evaluates the energy of accelerations about n³/2 times
OWN_WAYS = ("minimal", "its own")
VARIANTS: Mapping[str, Sequence[Mapping[str, str]]] = {
    "appell": ({}, {"coefficients": "probing"}),
    "lagrange": ({}, {"form": "explicit"}),
    "maggi": ({}, {"form": "appell"}, {"form": "kane"}),
    "points": ({}, {"form": "unreduced"}),
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
    """One formalism (with its options) and closure: largest errors relative to the reference, and
    what deriving took.

    None stands for what cannot be compared. ``seconds`` is the time to derive M and f; ``note``
    says why a row has no errors.
    """

    formalism: str
    closure: str
    M: float | None = None
    f: float | None = None
    accelerations: float | None = None
    reactions: float | None = None
    seconds: float = np.nan
    note: str = ""

    @property
    def errors(self) -> tuple[float | None, ...]:
        """Errors in M, f, accelerations, reactions."""
        return self.M, self.f, self.accelerations, self.reactions

    @property
    def ok(self) -> bool:
        """True if all errors are at rounding level, or if the formalism says that it does not serve
        this system."""
        compared = [
            (e, limit) for e, limit in zip(self.errors, TOLERANCES, strict=True) if e is not None
        ]
        return bool(self.note) or all(error < limit for error, limit in compared)


@dataclass(frozen=True, repr=False)
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
        return max(
            (error for row in self.rows for error in row.errors if error is not None), default=0.0
        )

    def __repr__(self) -> str:
        return f"<Agreement: {self.verdict}>"

    def __str__(self) -> str:
        table = self.table()
        widths = [max(len(line[k]) for line in table) for k in range(len(table[0]))]
        lines = ["  ".join(_aligned(line, widths)).rstrip() for line in table]
        rule = "─" * (sum(widths) + 2 * len(widths) - 2)
        notes = [
            _wrapped(f"{row.formalism}: {row.note}", len(rule)) for row in self.rows if row.note
        ]
        return "\n".join([lines[0], rule, *lines[1:], rule, *notes, self.verdict])

    @property
    def verdict(self) -> str:
        """One sentence."""
        wrong = [f"{row.formalism} / {row.closure}" for row in self.rows if not row.ok]
        if wrong:
            return (
                f"DISAGREEMENT at {self.states} random states of {self.name!r}: {', '.join(wrong)}."
            )
        return (
            f"All agree at {self.states} random states of {self.name!r}; largest relative "
            f"difference {self.worst:.1e}."
        )

    def table(self) -> list[tuple[str, ...]]:
        """The header and the rows as text; what a formalism's further rows only repeat is left
        out."""
        out: list[tuple[str, ...]] = [
            ("formalism", "closure", "M", "f", "accelerations", "reactions", "derived in")
        ]
        for before, row in zip((None, *self.rows), self.rows, strict=False):
            cells = _cells(row)
            repeated = before is not None and before.formalism == row.formalism
            out.append(("", cells[1], "", "", cells[4], cells[5], "") if repeated else cells)
        return out


def _cells(row: Row) -> tuple[str, ...]:
    if row.note:
        return (row.formalism, "not compared", "", "", "", "", "")
    errors = ("–" if error is None else f"{error:.1e}" if error else "0" for error in row.errors)
    return (row.formalism, row.closure, *errors, f"{row.seconds:.3f} s")


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        c.ljust(w) if k < 2 else c.rjust(w)
        for k, (c, w) in enumerate(zip(cells, widths, strict=True))
    ]


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, subsequent_indent="  ")


@remembered_interrupts()
def agreement(
    system: System | Description,
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
    if not isinstance(system, (System, Description)):
        raise ArgumentError(f"agreement compares the formalisms of a System, got {system!r}")
    description = system.snapshot() if isinstance(system, System) else system
    (states,) = whole(states=states)
    chosen = some_of(
        "formalism", FORMALISMS if formalisms is None else formalisms, FORMALISMS, UnsupportedError
    )
    reference = _Reference.of(description.equations(DEFAULT), states, seed, guess)
    rows: list[Row] = []
    for formalism in chosen:
        rows += _variants(reference, formalism, asked=formalisms is not None)
    return Agreement(system.name, states, tuple(rows))


def _variants(reference: _Reference, formalism: str, asked: bool) -> Iterator[Row]:
    """A formalism as it comes, and unless it refuses the system, with other options; Maggi's forms
    differ where there are constraints, and in his own ways of closing them."""
    for options in VARIANTS.get(formalism, ({},)):
        rows = list(_compare(reference, formalism, options, asked))
        if formalism == "maggi" and options:
            rows = [row for row in rows if row.closure in OWN_WAYS]
        yield from rows
        if not options and rows[0].note:
            return


# --- comparing ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Held:
    """What all formalisms in the same coordinates have in common at the states: A and b, and G if
    friction goes with the multipliers."""

    A: np.ndarray
    b: np.ndarray
    G: np.ndarray | None

    @staticmethod
    def of(equations: Equations, at: States) -> _Held:
        terms, evaluate = equations.terms, equations.numeric.evaluate
        A = equations.constraint_jacobian(at.q, at.u, at.t)
        b = evaluate("b", lambda: terms.b, 1, at.q, at.u, at.t)
        if not terms.has_friction:
            return _Held(A, b, None)
        return _Held(A, b, evaluate("G", lambda: terms.G, 2, at.q, at.u, at.t, at.w))


@dataclass(frozen=True)
class _Values:
    """What is compared, at all states: M, f, u̇, the joints' reactions, and the bodies'
    accelerations; and by what u̇ and the latter are large, if constraint forces cancel the rest."""

    M: np.ndarray
    f: np.ndarray
    udot: np.ndarray
    reactions: np.ndarray
    bodies: np.ndarray
    free_udot: np.ndarray
    free_bodies: np.ndarray


@dataclass(frozen=True)
class _Reference:
    """The reference's equations, the states, and its values there."""

    equations: Equations
    at: States
    held: _Held
    values: _Values
    redundant: bool

    @staticmethod
    def of(
        equations: Equations, states: int, seed: int, guess: Mapping[str, Any] | None
    ) -> _Reference:
        at = random_states(equations, states, seed, guess)
        _refuse_beyond_tables(equations, at)
        held = _Held.of(equations, at)
        _refuse_faint_rows(equations, at)
        redundant = any(rank(each, *_scales(equations)) < len(each) for each in held.A)
        values = next(_values(equations, at, held))[1]
        _refuse_contradictions(equations, held, values)
        return _Reference(equations, at, held, values, redundant)


@searching()
def _refuse_beyond_tables(equations: Equations, at: States) -> None:
    """Where a table refuses to answer there is nothing to compare."""
    if np.isfinite(equations.forces(at.q, at.u, at.t, at.w)).all():
        return
    context = Context.make(equations, None, None)
    for q, u, t in zip(at.q, at.u, at.t, strict=True):
        refused = context.refusal(q, u, float(t))
        if refused is not None:
            raise ArgumentError(f"no random states to compare at: {refused}")


def _refuse_faint_rows(equations: Equations, at: States) -> None:
    """A constraint that hardly binds where it holds is known to a few digits only."""
    faint = np.flatnonzero(_faint_rows(equations, at.q, at.u, at.t).any(axis=0))
    if len(faint):
        raise ArgumentError(
            f"no states to compare at: constraint {equations.terms.constraints[faint[0]]!r} hardly "
            "binds anything there (its gradient all but vanishes where it holds)"
        )


def _faint_rows(equations: Equations, q: np.ndarray, u: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Which rows, at each state, are small beside what they are elsewhere, but more than
    rounding."""
    steps = np.tile(0.3 * np.sin(1 + np.arange(u.shape[-1])), (len(q), 1))
    elsewhere = moved(equations, q, steps)
    here, there = (
        np.linalg.norm(equations.constraint_jacobian(place, u, t), axis=-1)
        for place in (q, elsewhere)
    )
    return np.asarray((here > 1e-14 * there) & (here < FAINT * there))


def _refuse_contradictions(equations: Equations, held: _Held, values: _Values) -> None:
    """Accelerations that no motion has are a compromise, another one in each set of coordinates."""
    usual = np.maximum(_largest(values.udot), _largest(values.free_udot))
    name = contradiction(equations.terms, held.A, held.b, values.udot, usual)
    if name is not None:
        raise ArgumentError(
            f"there is nothing to compare: constraints contradict each other in their "
            f"accelerations, {name!r} among them; take one away"
        )


def _consequences(equations: Equations) -> Kernel:
    """All joints' reactions, by the formalism's own way, and all bodies' accelerations, as a
    function of the state, u̇ and λ; formalisms that have no way of their own share it."""
    shared, key = equations.terms.chart.derived, ("consequences", equations.terms.reactions)
    if key not in shared:
        symbols = equations.numeric.closed.force_symbols
        shared[key] = equations.numeric.build(_consequence_expressions(equations), [1, 1], symbols)
    kernel: Kernel = shared[key]
    return kernel


def _consequence_expressions(equations: Equations) -> list[SX]:
    m, system, reactions = equations.terms.chart.motion, equations.system, equations.terms.reactions
    assert reactions is not None
    through = (reactions.of(name) for name in system.joints)
    moving = (ca.vertcat(m.acceleration(b), m.angular_acceleration(b)) for b in system.bodies)
    return [ca.vertcat(SX(0, 1), *through), ca.vertcat(SX(0, 1), *moving)]


def _values(equations: Equations, at: States, held: _Held) -> Iterator[tuple[str, _Values]]:
    """By closure; derived and evaluated once for all of them."""
    M, f = equations.mass_matrix(at.q, at.t), equations.forces(at.q, at.u, at.t, at.w)
    arguments = equations.numeric.arguments(at.q, at.u, at.t, at.w, None)

    def consequences(udot: np.ndarray, multipliers: np.ndarray) -> list[np.ndarray]:
        forces = np.concatenate([udot, multipliers], axis=-1)
        return _consequences(equations)(*arguments, forces)

    inverse = np.linalg.pinv(M, rcond=HEAVY, hermitian=True)
    free = (inverse @ f[..., None])[..., 0]
    free_bodies = consequences(free, np.zeros_like(held.b))[1]
    for closure, udot, multipliers in _solutions(equations, at, held, M, f):
        reactions, bodies = consequences(udot, multipliers)
        yield closure, _Values(M, f, udot, reactions, bodies, free, free_bodies)


def _solutions(
    equations: Equations, at: States, held: _Held, M: np.ndarray, f: np.ndarray
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(closure, u̇, λ); without constraints by the formalism's own route, with friction that goes
    with λ by the only one."""
    if not equations.constraints:
        udot = equations.accelerations(at.q, at.u, at.t, at.w)
        yield "none needed", udot, held.b
        return
    if held.G is not None:
        solve = partial(solve_constrained, bordered, M, f, held.A, held.b, held.G)
        yield "with friction", *_determined(equations, at, solve)
        return
    if equations.terms.S is not None:
        yield from _minimal(equations, at, M, f, held.A)
        yield from _by_complement(equations, at, held, M, f)
    for name, closure in CLOSURES.items():
        solve = partial(closure.solution, M, f, held.A, held.b)
        yield name, *_determined(equations, at, solve)
    closed = equations.numeric.closed
    if equations.terms.S is None and closed.has_own_way:
        out = equations.numeric.evaluate(
            "own way", lambda: ca.vertcat(closed.udot, closed.lam), 1, at.q, at.u, at.t, at.w
        )
        count = len(equations.speeds)
        if np.isfinite(out).all():
            yield "its own", out[..., :count], out[..., count:]


def _by_complement(
    equations: Equations, at: States, held: _Held, M: np.ndarray, f: np.ndarray
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """u̇ with the complement that the formalism knows, where it is one, and λ of least norm."""
    closed = equations.numeric.closed
    kernel = equations.numeric.kernel("by complement", lambda: [closed.udot], [1])
    (udot,) = kernel(*equations.numeric.arguments(at.q, at.u, at.t, at.w, None))
    if np.isfinite(udot).all():
        yield "its own", udot, _least_multipliers(udot, M, f, held.A)


def _minimal(
    equations: Equations, at: States, M: np.ndarray, f: np.ndarray, A: np.ndarray
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """u̇ = S ż + e by the minimal equations that the formalism shows, where they determine it."""
    own = equations.terms.coefficients
    if not own.keys() >= {"S", "e", "M", "f"}:
        return
    state = equations.numeric.arguments(at.q, at.u, at.t, at.w, None)
    S, e, M_z, f_z = (coefficient(equations.numeric, name, state) for name in "SeMf")
    if np.isfinite(S).all() and np.isfinite(M_z).all():
        udot = (S @ np.linalg.solve(M_z, f_z[..., None]))[..., 0] + e
        yield "minimal", udot, _least_multipliers(udot, M, f, A)


def _determined(
    equations: Equations, at: States, solve: Callable[[], Solution]
) -> tuple[np.ndarray, np.ndarray]:
    """u̇ and λ in numbers, if there are any."""
    with suppress(np.linalg.LinAlgError):
        solution = solve()
        if (solution.error < UNKNOWN).all():
            return solution.udot, solution.lam
    state = equations.numeric.arguments(at.q, at.u, at.t, at.w, None)
    raise ArgumentError(undetermined_message(equations.numeric, state))


def _least_multipliers(udot: np.ndarray, M: np.ndarray, f: np.ndarray, A: np.ndarray) -> np.ndarray:
    """λ of least norm in Aᵀλ = M u̇ − f."""
    left = (M @ udot[..., None])[..., 0] - f
    return Independent(A).multipliers(left)


def _compare(
    reference: _Reference, formalism: str, options: Mapping[str, str], asked: bool
) -> Iterator[Row]:
    label = " ".join([formalism, *(f"({value})" for value in options.values())])
    began = clock.perf_counter()
    try:
        equations = _derived(reference.equations, formalism, options)
    except UnsupportedError as error:
        if asked and not options:
            raise
        yield Row(label, "", note=str(error))
        return
    seconds = clock.perf_counter() - began
    for closure, errors in _errors_of(reference, equations):
        yield Row(label, closure, *errors, seconds)


def _derived(reference: Equations, formalism: str, options: Mapping[str, str]) -> Equations:
    """Equations with M and f derived, not only promised; here and now, for it is told how long it
    takes."""
    equations = type(reference)(derive_terms(reference.system, formalism, **options))
    if options.get("coefficients") == "probing" and len(equations.speeds) > PROBING_LIMIT:
        raise UnsupportedError(
            f"compared up to {PROBING_LIMIT} speeds only, because it grows with their third power"
        )
    _ = equations.terms.M, equations.terms.f  # asking for them derives them
    return equations


Errors = tuple[float | None, float | None, float, float | None]


def _errors_of(reference: _Reference, equations: Equations) -> Iterator[tuple[str, Errors]]:
    """Errors by closure."""
    at, expected = reference.at, reference.values
    if equations.terms.chart is reference.equations.terms.chart:
        for closure, found in _values(equations, at, reference.held):
            yield closure, _errors(found, expected, at.u)
        return
    there = States(*convert(reference.equations, equations, at.q, at.u, at.t), at.t, at.w)
    for closure, found in _values(equations, there, _Held.of(equations, there)):
        yield closure, _errors_in_the_world(found, expected, at.u, reference.redundant)


def _errors(found: _Values, expected: _Values, u: np.ndarray) -> Errors:
    """Largest differences at each state over the largest entry of the reference there; the worst
    state counts.

    Forces, accelerations and reactions may cancel to nothing, so they are measured against what
    they are sums of, too: inertia forces M u², u², the forces, and the accelerations M⁻¹f that the
    constraints take away.
    """
    M, f = _largest(expected.M), _forces(expected, u)
    return (
        _worst(found.M - expected.M, M),
        _worst(found.f - expected.f, f),
        _worst(found.udot - expected.udot, _squares(u), expected.udot, expected.free_udot),
        _worst(found.reactions - expected.reactions, f, expected.reactions),
    )


def _errors_in_the_world(
    found: _Values, expected: _Values, u: np.ndarray, redundant: bool
) -> Errors:
    """The same for a formalism in coordinates of its own: accelerations of bodies, and reactions if
    they are unique."""
    terms = expected.bodies, expected.free_bodies, found.free_bodies
    bodies = _worst(found.bodies - expected.bodies, _squares(u), *terms)
    forces = _forces(expected, u)
    reactions = _worst(found.reactions - expected.reactions, forces, expected.reactions)
    return None, None, bodies, None if redundant else reactions


def _forces(expected: _Values, u: np.ndarray) -> np.ndarray:
    """How large forces are: f, and inertia forces."""
    return np.maximum(_largest(expected.f), _largest(expected.M) * _squares(u))


def _squares(u: np.ndarray) -> np.ndarray:
    """u² at each state; of the speeds that were drawn, about one, where constraints leave nothing
    of them."""
    return np.maximum(_largest(u) ** 2, 1.0)


def _worst(difference: np.ndarray, scale: np.ndarray, *terms: np.ndarray) -> float:
    """The largest difference over the scale or the largest term at its state."""
    scale = np.max([scale, *(_largest(term) for term in terms)], axis=0)
    return float(np.max(_largest(difference) / np.where(scale > 0, scale, 1.0), initial=0.0))


def _largest(values: np.ndarray) -> np.ndarray:
    """The largest entry at each state."""
    return np.abs(values).reshape(len(values), -1).max(axis=1, initial=0.0)


# --- states ---------------------------------------------------------------------------------------


def random_states(
    equations: Equations,
    count: int,
    seed: int = 0,
    guess: Mapping[str, Any] | None = None,
    spread: float = 0.5,
) -> States:
    """Consistent states around an assembled one, at random times in (0, 1) with random inputs.

    Coordinates are moved by steps of about ``spread`` along the speeds and closed again, nearer and
    sooner where that fails, and at last where and when they were assembled; random speeds are
    projected on ψ = 0.
    """
    (seed,) = whole(least=0, seed=seed)
    first = assemble(equations, t=0.0, guess=guess)[0]
    return states_near(equations, first, count, np.random.default_rng(seed), spread)


def states_near(
    equations: Equations, first: np.ndarray, count: int, random: np.random.Generator, spread: float
) -> States:
    """Consistent states around an assembled one, well-conditioned if they are found soon."""
    q, u = np.tile(first, (count, 1)), np.zeros((count, len(equations.speeds)))
    t, left, missing = np.zeros(count), np.arange(count), np.ones(count, dtype=bool)
    for attempt in range(ATTEMPTS):
        drawn, met = _draw(equations, first, len(left), 0.7**attempt, spread, random)
        good = met.copy()
        good[met] = _well_conditioned(equations, *(x[met] for x in drawn))
        taken = good | (met & missing[left])
        for x, new in zip((q, u, t), drawn, strict=True):
            x[left[taken]] = new[taken]
        missing[left[taken]] = False
        left = left[~good]
        if not left.size:
            break
    if missing.any():
        speeds = random.standard_normal((int(missing.sum()), len(equations.speeds)))
        q[missing], u[missing], met = _moving(equations, q[missing], speeds, t[missing])
        if not met.all():
            raise AssemblyError("no random speeds were found that meet all constraints")
    return States(q, u, t, random.standard_normal((count, len(equations.inputs))))


def _draw(
    equations: Equations,
    first: np.ndarray,
    count: int,
    near_to: float,
    spread: float,
    random: np.random.Generator,
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """States q, u, t at random near to one, and which of them meet the constraints."""
    n = len(equations.speeds)
    rows = [(random.uniform(), *random.standard_normal((2, n))) for _ in range(count)]
    times, steps, u = (np.array(part) for part in zip(*rows, strict=True))
    t = near_to * times
    q, met = closed(
        equations, moved(equations, np.tile(first, (count, 1)), near_to * spread * steps), t
    )
    q[met], u[met], moving = _moving(equations, q[met], u[met], t[met])
    met[met] = moving
    return (q, u, t), met


def _moving(
    equations: Equations, q: np.ndarray, u: np.ndarray, t: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Configurations with speeds brought to the constraints, and where they meet them."""
    for _ in range(3):  # constraints that are not linear in the speeds need more than one
        q, u = project(equations, q, u, t)
    left = np.concatenate(violations(equations, q, u, t, None), axis=-1)
    return q, u, np.abs(left).max(axis=-1, initial=0.0) <= CONSISTENT


def _scales(equations: Equations) -> tuple[np.ndarray, np.ndarray]:
    scales = equations.terms.scales
    return scales.rows, scales.speeds


def _well_conditioned(
    equations: Equations, q: np.ndarray, u: np.ndarray, t: np.ndarray
) -> np.ndarray:
    if not len(q):
        return np.ones(0, dtype=bool)
    rows = Independent(equations.constraint_jacobian(q, u, t), *_scales(equations))
    least = np.where(rows.kept, rows.sigma, np.inf).min(axis=-1, initial=np.inf)
    rows_fit = least > WELL_CONDITIONED * rows.sigma.max(axis=-1, initial=0.0)
    inertias = np.linalg.eigvalsh(equations.mass_matrix(q, t))
    parts = inertias / np.maximum(inertias.max(axis=-1, initial=0.0), 1e-300)[:, None]
    light = (parts > 1e-14) & (parts < WELL_CONDITIONED**2)  # less is none, wherever it is
    faint = _faint_rows(equations, q, u, t).any(axis=-1)
    return np.asarray(rows_fit & ~light.any(axis=-1) & ~faint)
