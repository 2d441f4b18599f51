"""Linearization about a state, on the manifold of all constraints, by exact derivatives.

A variation of the motion is (δs, δu): δq = T δs are the variations of the coordinates along the
tangent space of their manifold (for a quaternion the small rotation δθ in the turned axes), so no
condition on norms is left over. From q̇ = N u + n it obeys

    T d(δs)/dt = (∂q̇/∂q T − Ṫ) δs + N δu,    d(δu)/dt = ∂u̇/∂q T δs + ∂u̇/∂u δu + ∂u̇/∂w δw,

and the constraints ∂φ/∂q T δs = 0, ∂ψ/∂q T δs + ∂ψ/∂u δu = 0. (For quaternions the first says
d(δθ)/dt = δω − ω × δθ.) δθ and δω of quaternions are then turned into the axes of the joint's
parent, where a spinning body of revolution has constant coefficients. Independent variations x are
picked out of them, the rest follows, (δs, δu) = Z x, and the rows of the independent ones are the
linear model. This holds along any motion; where the matrices are constant (at an equilibrium, in a
steady motion) the eigenvalues tell the stability. Whether they are is seen by comparing them with
those a moment later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import scipy.linalg
from casadi import SX
from scipy.spatial.transform import Rotation

from ...arguments import numbers, one_state, some_of
from ...contract.accelerations import undetermined_message, undetermined_speeds
from ...errors import ArgumentError
from ...graph.rounding import WRONG, Tried
from ...interrupts import remembered_interrupts
from ...numerics.rank import rank
from ...numerics.tolerances import RANK, ROUNDING
from ...results.linear_model import LinearModel
from ...results.trajectory import Trajectory
from ..assembly.assemble import GIVEN, assemble
from ..assembly.conversion import convert, jointed
from ..contact.points import approach, points_of
from .singular import warn_if_singular
from .variational import OperatingPoint, Variations, steadied, tilde

if TYPE_CHECKING:
    from ...equations import Equations

NOISE_STATES, LAST_DIGITS = 3, 1e-15
LARGEST = 100_000  # operations of the matrices that are tried out
# A sliding speed is left to the constraints before a turning one, if they hold it at least this
# well.
WELL_HELD = 1e-3


def linearize(
    equations: Equations,
    at: Any = None,
    *,
    guess: Mapping[str, float] | None = None,
    t: float = 0.0,
    inputs: Any = None,
    parameters: Any = None,
    independent: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
) -> LinearModel:
    """The linear model x' = A x + B δw, δy = C x + D δw about a state, on the constraints.

    at: a start as for ``simulate`` (names, or a pair (q, u)), or a ``Trajectory``, whose last state
        is taken, with its inputs and parameters.
    guess: where assembly begins.
    t, inputs, parameters: time, inputs and parameters there.
    independent: names of the coordinates and speeds to keep as states; well-conditioned ones are
        chosen if it is not given.
    outputs: any names (see ``names``); by default the states.
    """
    own = [*equations.terms.chart.variations, *equations.speeds]
    wanted = _names("coordinate or speed", independent)
    seen = _names("output", outputs)
    measured = tuple(name for name in wanted if name not in own)
    for name in (*measured, *seen):
        equations.names.resolve(name)
    if isinstance(at, Trajectory):
        state = _end(equations, at, inputs, parameters)
    else:
        found = assemble(equations, at, guess=guess, t=t, parameters=parameters)
        state = OperatingPoint(*found, t, inputs, parameters)
    equations.accelerations(*state)  # refused where nothing is known of them
    _refuse_standing(equations, state)
    _refuse_touching(equations, state)
    now = _variations(equations, seen, measured, state)
    _refuse_unknown(equations, state, now)
    warn_if_singular(equations, state)
    names = [*own, *measured]
    even = now.rows * now.sizes
    chosen = _named(names, even, wanted) if wanted else _chosen(equations, even)

    def later(state: OperatingPoint) -> Variations:
        return _variations(equations, seen, measured, state)

    noise = _noise(equations, state, now, later, chosen, seen, measured)
    now, turning, constant, blurred = steadied(equations, state, now, later, chosen, noise)
    noise = noise + blurred
    Z, states = now.expansion(chosen), tuple(names[k] for k in chosen)
    if seen:
        C, D = now.watched @ Z, now.watched_input
        labels = tuple(label for name in seen for label in equations.names.resolve(name).labels)
    else:
        C, D, labels = np.eye(len(chosen)), np.zeros((len(chosen), len(equations.inputs))), states
    return LinearModel(
        A=now.reduced(chosen),
        B=now.by_input[chosen],
        C=C,
        D=D,
        states=states,
        inputs=equations.inputs,
        outputs=labels,
        Z=Z,
        variations=tuple(names),
        q=state.q,
        u=state.u,
        t=state.t,
        constant=constant,
        turning=turning,
        w=numbers("inputs", equations.inputs, state.inputs),
        noise=noise,
    )


def _refuse_standing(equations: Equations, state: OperatingPoint) -> None:
    """Refuse joints with dry friction that stand still and are not said to stick or to slide: what
    holds them has no slope."""
    elements = equations.terms.chart.description.constraints.values()
    rubbing = [each for each in elements if each.sticks]
    if not rubbing:
        return

    def moving() -> SX:
        m = equations.terms.chart.motion
        return ca.vertcat(SX(0, 1), *(each.moving(m) for each in rubbing))

    known = equations.numeric.evaluate("moving joints", moving, 1, *state)
    for each, values in zip(rubbing, np.moveaxis(known, -1, 0), strict=True):
        if np.any(values < 1):
            raise ArgumentError(
                f"no linear model here: {each.called} is dry, and its joint stands still; say that "
                f"it sticks, parameters={{'{each.name}.sticking': 1}}, or which way it begins to "
                f"slide, {{'{each.name}.heading': 1}}"
            )


def _refuse_touching(equations: Equations, state: OperatingPoint) -> None:
    """Refuse states in which rigid things touch, or overlap, that are not said to be closed: they
    may part, and not come nearer."""
    if not equations.terms.chart.description.switched:
        return
    points = list(points_of(equations))
    arguments = equations.numeric.arguments(*state)
    values = dict(zip(equations.parameters, np.ravel(arguments[4]), strict=True))
    known = approach(equations, points)(*arguments)
    for point, gap, rate in zip(points, *known, strict=True):
        name = point.switches.get("touching")
        if name and not values[name] and max(gap, rate) <= GIVEN:
            raise ArgumentError(
                f"no linear model here: {point.name!r} touches, and counts as open; say that it is "
                f"closed, parameters={{{name!r}: 1}}, or take a state in which it does not touch"
            )


def _refuse_unknown(equations: Equations, state: OperatingPoint, now: Variations) -> None:
    """Refuse a state at which something has no value or no slope."""
    if all(np.isfinite(part).all() for part in now):
        return
    numeric, at = equations.numeric, equations.numeric.arguments(*state)
    if undetermined_speeds(numeric, at) is not None:
        raise ArgumentError(undetermined_message(numeric, at))
    udot = equations.numeric.evaluate("udot", lambda: equations.numeric.closed.udot, 1, *state)
    unknown = [
        name for name, value in zip(equations.speeds, udot, strict=True) if not np.isfinite(value)
    ]
    raise ArgumentError(
        f"no linear model here: the rate of {', '.join(unknown) or 'something'} has no value, or "
        "no slope (0/0, a root at zero, a spring of length zero); linearize a little beside it"
    )


@remembered_interrupts()
def _noise(
    equations: Equations,
    state: OperatingPoint,
    now: Variations,
    at: Callable[[OperatingPoint], Variations],
    chosen: list[int],
    outputs: tuple[str, ...],
    measured: tuple[str, ...],
) -> np.ndarray:
    """How much of each entry of A is rounding: of the terms that it is made of, found by trying;
    what changes of it with the last digits of the state, where there are too many operations."""
    key = ("linearize", outputs, measured)
    tried = equations.numeric.keep(
        ("tried", key), lambda: _tried(equations, _expressions_of(equations, outputs, measured))
    )
    if tried is not None:
        arguments = one_state(equations.numeric.arguments(*state))
        given = (np.ravel(each) for each in arguments)
        plain, *others = (
            _read(equations, state, values, len(measured)).reduced(chosen)
            for values in tried.trials(*given)
        )
        sizes = np.abs(np.array(others) - plain).max(axis=0) / WRONG
        return ROUNDING * sizes
    random, here = np.random.default_rng(0), now.reduced(chosen)
    found = np.zeros_like(here)
    for _ in range(NOISE_STATES):
        q, u = (x * (1 + LAST_DIGITS * random.uniform(-1, 1, x.shape)) for x in state[:2])
        beside = at(state._replace(q=q, u=u)).reduced(chosen)
        found = np.maximum(found, np.abs(beside - here))
    return 10 * found


def _names(kind: str, given: Any) -> tuple[str, ...]:
    """Names, none of them twice."""
    if given is None:
        return ()
    listed = isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given)
    if not listed:
        raise ArgumentError(f"{kind}: expected a list of names, got {given!r}")
    return some_of(kind, given, given)


def _end(equations: Equations, run: Trajectory, inputs: Any, parameters: Any) -> OperatingPoint:
    """The last state of a run, with its inputs, parameters and contacts unless others are given."""
    constants = {name: np.ravel(value)[-1] for name, value in run.constants.items()}
    q, u, t = run.q[-1], run.u[-1], float(run.time[-1])
    columns = tuple(run.columns[kind] for kind in ("coordinates", "speeds", "inputs"))
    own = [(e.coordinates, e.speeds, e.inputs) for e in (equations, jointed(equations))]
    another = run.name != equations.terms.name or columns not in own
    if another or set(constants) != set(equations.parameters):
        raise ArgumentError(
            f"this is a run of {run.name!r} with {columns[0]}, not of these equations with "
            f"{own[0][0]}"
        )
    if columns != own[0]:
        q, u = convert(jointed(equations), equations, q, u, t, constants)
    if parameters is None or isinstance(parameters, Mapping):
        parameters = {**constants, **(parameters or {})}
    return OperatingPoint(q, u, t, run.w[-1] if inputs is None else inputs, parameters)


# --- the variations of a motion -------------------------------------------------------------------


@remembered_interrupts()
def _variations(
    equations: Equations, outputs: tuple[str, ...], measured: tuple[str, ...], state: OperatingPoint
) -> Variations:
    """The matrices at a state. Measured quantities join the variations, each with a row that ties
    it to the others."""
    kernel = equations.numeric.kernel(
        ("linearize", outputs, measured),
        lambda: _expressions_of(equations, outputs, measured),
        [2] * 8,
    )
    values = kernel(*one_state(equations.numeric.arguments(*state)))
    return _read(equations, state, values, len(measured))


def _expressions_of(
    equations: Equations, outputs: tuple[str, ...], measured: tuple[str, ...]
) -> list[SX]:
    return equations.numeric.keep(
        ("linearize", outputs, measured), lambda: _expressions(equations, outputs, measured)
    )


def _tried(equations: Equations, expressions: list[SX]) -> Tried | None:
    """The matrices with wrong operations; None if there are too many of them."""
    s = equations.terms.symbols
    function = ca.Function("matrices", [s.q, s.u, s.t, s.w, s.p], expressions)
    return Tried(function) if function.n_instructions() <= LARGEST else None


def _read(
    equations: Equations, state: OperatingPoint, values: Sequence[np.ndarray], measured: int
) -> Variations:
    T, drift, N, flow, by_input, rows, watched, watched_input = values
    inverse = np.linalg.pinv(T, rcond=1e-12)
    top = np.hstack([inverse @ drift, inverse @ N, np.zeros((T.shape[1], measured))])
    none = np.zeros((T.shape[1], by_input.shape[1]))
    sizes = _sizes(equations, measured)
    found = Variations(
        np.vstack([top, flow]),
        np.vstack([none, by_input]),
        _evened(equations, rows, sizes),
        watched,
        watched_input,
        sizes,
    )
    return _seen_by_parent(equations, state, found)


def _expressions(
    equations: Equations, outputs: tuple[str, ...], measured: tuple[str, ...]
) -> list[SX]:
    terms, s, m = equations.terms, equations.terms.symbols, len(measured)
    chart, udot = terms.chart, equations.numeric.closed.udot
    y, watched = _values(equations, measured), _values(equations, outputs)
    rate = chart.rate(y) + ca.jtimes(y, s.u, udot)
    uncounted = [k for k in range(s.q.numel()) if k not in set(chart.counted.values())]
    T = chart.tangent

    def along(values: SX) -> SX:
        slopes = ca.jacobian(values, s.q) @ T, ca.jacobian(values, s.u)
        return ca.horzcat(*slopes, SX(values.numel(), m))

    turned = ca.reshape(chart.rate(ca.vec(ca.densify(T))), *T.shape)  # Ṫ
    drift = ca.jacobian(terms.qdot, s.q) @ T - turned
    flow = ca.vertcat(along(udot), along(rate))
    by_input = ca.jacobian(ca.vertcat(udot, rate), s.w)
    ties = along(y) - ca.horzcat(SX(m, T.shape[1] + s.u.numel()), SX.eye(m))
    rows = ca.vertcat(along(ca.vertcat(terms.phi, terms.psi)), ties)
    kinematic = [T[uncounted, :], drift[uncounted, :], terms.N[uncounted, :]]
    dynamic = [flow, by_input, rows, along(watched), ca.jacobian(watched, s.w)]
    return [ca.densify(x) for x in (*kinematic, *dynamic)]


def _values(equations: Equations, names: tuple[str, ...]) -> SX:
    """What the names stand for, one below the other; accelerations and forces are those of the
    motion."""
    resolved = (equations.names.resolve(name).value for name in names)
    values, closed = ca.vertcat(SX(0, 1), *resolved), equations.numeric.closed
    if not ca.depends_on(values, closed.force_symbols):
        return values
    return ca.substitute(values, closed.force_symbols, ca.vertcat(closed.udot, closed.lam))


def _seen_by_parent(equations: Equations, state: OperatingPoint, v: Variations) -> Variations:
    """The matrices for δθ and δω of quaternions in the axes of the joint's parent: T flow T⁻¹ + Ṫ
    T⁻¹, T by_input, map T⁻¹."""
    chart = equations.terms.chart
    count = len(chart.variations)
    T, spin = np.eye(len(v.flow)), np.zeros_like(v.flow)
    rates = equations.numeric.evaluate("joint rates", lambda: chart.joint_rates, 1, *state)
    for four, three in chart.quaternion_speeds:
        R = Rotation.from_quat(state.q[list(four)], scalar_first=True).as_matrix()
        cross = tilde(R @ rates[list(three)])  # Ṙ = ω̃ R
        own = [[count + k for k in three]] if chart.replaced.isdisjoint(three) else []
        for block in (list(three), *own):
            T[np.ix_(block, block)], spin[np.ix_(block, block)] = R, cross
    return v._replace(
        flow=T @ v.flow @ T.T + spin,
        by_input=T @ v.by_input,
        rows=v.rows @ T.T,
        watched=v.watched @ T.T,
    )


def _sizes(equations: Equations, measured: int) -> np.ndarray:
    """Of variations, of speeds, and of what is measured."""
    terms = equations.terms
    found = [terms.chart.spans(terms.chart.variations), terms.scales.speeds, np.ones(measured)]
    return np.concatenate(found)


def _evened(equations: Equations, rows: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Rows of φ, of ψ, and of what is measured, each over its usual length."""
    terms = equations.terms
    count, total = terms.phi.numel(), terms.psi.numel()
    ties = np.linalg.norm(rows[count + total :] * sizes, axis=1)
    usual = [terms.scales.rows[:count], terms.scales.rows[:total], ties]
    return np.asarray(rows / np.concatenate(usual)[:, None])


# --- the manifold ---------------------------------------------------------------------------------


def _chosen(equations: Equations, rows: np.ndarray) -> list[int]:
    """Independent variations.

    The constraints determine speeds first, then coordinates; sliding before turning ones, as far as
    they hold them well, because turns are the same in all directions that a motion takes; of equals
    what they hold best.
    """
    chart = equations.terms.chart
    count, total = len(chart.variations), len(chart.variations) + len(equations.speeds)
    turning, dependent, left = set(chart.turning), [], rows
    for first, last in ((count, total), (0, count)):
        level = list(range(first, last))
        sliding = [k for k in level if k - first not in turning]
        for columns, tolerance in ((sliding, WELL_HELD), (level, RANK)):
            found, left = _determined(left, columns, tolerance)
            dependent += found
    return [k for k in range(total) if k not in set(dependent)]


def _determined(rows: np.ndarray, columns: list[int], least: float) -> tuple[list[int], np.ndarray]:
    """Columns that the rows determine (pivoted QR), and the rows without what that takes."""
    if not rows.size or not columns:
        return [], rows
    Q, R, order = scipy.linalg.qr(rows[:, columns], mode="economic", pivoting=True)
    count = int((np.abs(np.diag(R)) > least).sum())
    taken = Q[:, :count]
    return [columns[k] for k in order[:count]], rows - taken @ (taken.T @ rows)


def _named(names: list[str], rows: np.ndarray, wanted: tuple[str, ...]) -> list[int]:
    """Indices of the wanted variations, which have to be independent and to determine the
    others."""
    free = len(names) - rank(rows)
    if len(wanted) != free:
        raise ArgumentError(
            f"independent: there are {free} independent variations here, got {len(wanted)} names"
        )
    chosen = [names.index(name) for name in wanted]
    if rank(np.delete(rows, chosen, axis=1)) < rank(rows):
        raise ArgumentError(
            f"independent: {', '.join(wanted)} do not determine the others here; leave the choice "
            "open"
        )
    return chosen
