"""Variations motions, and whether they are steady: whether their coefficients are the same a moment
later.

In a steady turn they may be constant only for axes that turn along: with the rate Ω of the turn and
Ξ v = Ω × v for all vectors among the variations that have their components along fixed axes, the
flow F of the variations becomes F − Ξ. Ω is the one for which the matrices a moment later are those
of now.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
from casadi import SX
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from ...errors import ArgumentError
from ...numerics.rank import pseudoinverse, weighed_inverse
from ...numerics.tolerances import EPSILON, GIVEN, KNOWN, MET, ROUNDING
from ...results.linear_model import balanced

if TYPE_CHECKING:
    from ...equations import Equations

TURN = GIVEN / 10  # how well the rate of a steady turn is known, relative: the run's tolerance
LOOKS = 4000  # evaluations on the way there
# the part of it after which they are looked at, too: no period fits both
BETWEEN = 0.38196601125


class OperatingPoint(NamedTuple):
    """Where to linearize; as ``Equations.arguments`` takes it."""

    q: np.ndarray
    u: np.ndarray
    t: float
    inputs: Any
    parameters: Any


class Vector(NamedTuple):
    """Variations that are the components of one vector along axes fixed in the world."""

    indices: list[int]
    axes: np.ndarray  # as columns
    inverse: np.ndarray


class Variations(NamedTuple):
    """(δs, δu)' = flow (δs, δu) + by_input δw, rows (δs, δu) = 0, δy = watched (δs, δu) +
    watched_input δw; the rows are usually of length one over variations in units of ``sizes``."""

    flow: np.ndarray
    by_input: np.ndarray
    rows: np.ndarray
    watched: np.ndarray
    watched_input: np.ndarray
    sizes: np.ndarray

    def reduced(self, independent: list[int]) -> np.ndarray:
        """A: the flow of the independent variations."""
        return (self.flow @ self.expansion(independent))[independent]

    def expansion(self, independent: list[int]) -> np.ndarray:
        """Z with (δs, δu) = Z x: ones for the independent variations, the others by the
        constraints."""
        count = len(self.sizes)
        others = [k for k in range(count) if k not in set(independent)]
        Z = np.zeros((count, len(independent)))
        Z[independent, range(len(independent))] = 1.0
        if others:
            inverse = pseudoinverse(self.rows[:, others], columns=self.sizes[others])
            Z[others] = -inverse @ self.rows[:, independent]
        return Z

    def scaled(self, sizes: np.ndarray, rate: float) -> Variations:
        """The same for variations in units of these sizes, and time in units of 1/rate."""
        flow = self.flow * sizes / sizes[:, None] / rate
        rows = self.rows * sizes
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(lengths > 0, lengths, 1.0)
        return self._replace(flow=flow, rows=rows, sizes=self.sizes / sizes)

    def turned(self, vectors: list[Vector], Omega: np.ndarray, h: float = 0.0) -> Variations:
        """The same for axes that turn with Ω and were those of now a time h ago: T⁻¹ flow T − Ξ,
        rows T with T = exp(h Ξ)."""
        T, back = (_turned_by(way * h * Omega, vectors, len(self.flow)) for way in (1, -1))
        Xi = _blocks(np.zeros_like(self.flow), vectors, tilde(Omega))
        return self._replace(flow=back @ self.flow @ T - Xi, rows=self.rows @ T)


def steadied(
    equations: Equations,
    state: OperatingPoint,
    now: Variations,
    at: Callable[[OperatingPoint], Variations],
    independent: list[int],
    noise: np.ndarray,
) -> tuple[Variations, np.ndarray, bool, np.ndarray]:
    """The varied motion for fixed axes, or for axes that turn with Ω if only that makes it
    constant; Ω; whether it is; and how much of its flow may be due to an error of Ω. ``noise`` is
    what may be rounding of the flow."""
    none = np.zeros((len(independent), len(independent)))
    flow, still = now.reduced(independent), np.zeros(3)
    values = np.linalg.eigvals(np.where(np.abs(flow) > noise, flow, 0.0))
    rate = _rate(equations, state, values)
    if not rate:  # nothing moves, and nothing would if it were moved
        return now, still, True, none
    h = 1 / max(5 * rate, values.real.max(initial=0.0))
    moments = (BETWEEN * h, h)
    seen = _later(equations, state, moments, rate)
    if seen is None:
        return now, still, False, none
    chart = equations.terms.chart
    sizes = now.sizes.copy()
    n = len(chart.variations)
    sizes[n : n + len(equations.speeds)] *= rate
    here, *later = (v.scaled(sizes, rate) for v in (now, *map(at, seen)))
    angles = tuple(rate * t for t in moments)

    def constant(vectors: list[Vector], turn: np.ndarray) -> bool:
        first = here.turned(vectors, turn).reduced(independent)
        turned = (v.turned(vectors, turn, t) for v, t in zip(later, angles, strict=True))
        return all(_same(first, each.reduced(independent)) for each in turned)

    if constant([], still):
        return now, still, True, none
    vectors = _vectors(equations, state)
    turn = _turn(here, later[-1], angles[-1], vectors, here.expansion(independent))
    if not constant(vectors, turn):
        return now, still, False, none
    Omega = rate * turn
    found = now.turned(vectors, Omega)
    plain, error = found.reduced(independent), TURN * np.linalg.norm(Omega) * np.eye(3)
    others = (now.turned(vectors, Omega + each).reduced(independent) for each in error)
    return found, Omega, True, sum((np.abs(other - plain) for other in others), none)


def _rate(equations: Equations, state: OperatingPoint, values: np.ndarray) -> float:
    """How quickly a motion turns, or goes as far as the bodies are large, or is left where it is
    disturbed, by its eigenvalues; zero where nothing moves."""
    weight = 1 / equations.terms.chart.spans(equations.speeds)
    speed = (weight * np.abs(state.u)).max(initial=0.0)
    change = (weight * np.abs(equations.accelerations(*state))).max(initial=0.0)
    inertia = np.diagonal(equations.mass_matrix(state.q, state.t, state.parameters))
    alone = np.abs(equations.forces(*state)) / np.where(inertia > 0, inertia, np.inf)
    if change <= ROUNDING * (weight * alone).max(initial=0.0):
        change = 0.0
    return float(max(speed, np.sqrt(change), np.abs(values).max(initial=0.0) / 100))


def _later(
    equations: Equations, state: OperatingPoint, moments: tuple[float, ...], pace: float
) -> list[OperatingPoint] | None:
    """The states these times later, with speeds as well known as coordinates at this pace; None if
    the motion is not known so far."""
    n, looks = len(state.q), itertools.count()

    def rates(elapsed: float, y: np.ndarray) -> np.ndarray:
        q, u, t = y[:n], y[n:], state.t + elapsed
        if next(looks) > LOOKS or not np.isfinite(y).all():
            raise _Unknown
        return np.concatenate(
            [
                equations.coordinate_rates(q, u, t, state.parameters),
                equations.accelerations(q, u, t, *state[3:]),
            ]
        )

    start = np.concatenate(state[:2])
    chart = equations.terms.chart
    far = np.maximum(chart.spans(equations.coordinates), np.abs(state.q))
    known = MET * np.concatenate([far, pace * chart.spans(equations.speeds)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what is known badly tells nothing
        try:
            run = solve_ivp(
                rates, (0, moments[-1]), start, "DOP853", moments, rtol=TURN, atol=known
            )
        except (_Unknown, ArgumentError, Warning):
            return None
    if not run.success:
        return None
    seen = zip(moments, run.y.T, strict=True)
    return [OperatingPoint(y[:n], y[n:], state.t + elapsed, *state[3:]) for elapsed, y in seen]


class _Unknown(Exception):
    """A motion that takes too long to follow, or runs away."""


def _same(A: np.ndarray, B: np.ndarray) -> bool:
    """True if two flows agree, but for states that nothing depends on: they do not come back to the
    others."""
    A, B = balanced(A, B)
    sizes, used = np.abs(A) + np.abs(B), list(range(len(A)))
    noise = GIVEN * sizes.max(initial=0.0)
    while unused := [k for k in used if sizes[used, k].max() <= noise]:
        used = [k for k in used if k not in unused]
    own = (sizes.sum(axis=0) + sizes.sum(axis=1))[used]
    allowed = KNOWN * np.sqrt(np.outer(own, own)) + noise
    return bool((np.abs(A - B)[np.ix_(used, used)] <= allowed).all())


def _turn(
    now: Variations, later: Variations, h: float, vectors: list[Vector], Z: np.ndarray
) -> np.ndarray:
    """Ω of least size for which flow and constraints a time h later are most nearly those of
    now."""

    def difference(Omega: np.ndarray) -> np.ndarray:
        T, back = (_turned_by(way * h * Omega, vectors, len(Z)) for way in (1, -1))
        moved = T @ Z
        return np.concatenate(
            [(back @ (later.flow @ moved) - flow).ravel(), (later.rows @ moved).ravel()]
        )

    flow = now.flow @ Z
    exact = {"xtol": EPSILON, "ftol": EPSILON, "gtol": EPSILON}
    return least_squares(difference, np.zeros(3), max_nfev=8, **exact).x


def _turned_by(angle: np.ndarray, vectors: list[Vector], count: int) -> np.ndarray:
    """T: all vectors turned by an angle, given as a rotation vector."""
    return _blocks(np.eye(count), vectors, Rotation.from_rotvec(angle).as_matrix())


def _blocks(matrix: np.ndarray, vectors: list[Vector], R: np.ndarray) -> np.ndarray:
    """The matrix with D⁺ R D, which is what R does to a vector of components along D, for each of
    the vectors."""
    for indices, D, inverse in vectors:
        matrix[np.ix_(indices, indices)] = inverse @ R @ D
    return matrix


def _vectors(equations: Equations, state: OperatingPoint) -> list[Vector]:
    """All vectors among the variations: of places and of speeds, joint by joint."""
    chart = equations.terms.chart
    found, count = list(chart.fixed_axes), len(chart.variations)
    columns = [(key, k) for key, speeds, _ in found for k in speeds]
    kernel = equations.numeric.kernel(
        "axes", lambda: [ca.horzcat(SX(3, 0), *(axes for *_, axes in found))], [2]
    )
    axes, vectors = kernel(*equations.numeric.arguments(*state))[0], []
    for key in dict.fromkeys(key for key, _ in columns):
        own = [i for i, (other, _) in enumerate(columns) if other == key]
        D, places = axes[:, own], [columns[i][1] for i in own]
        inverse = weighed_inverse(D)
        vectors += [Vector([first + k for k in places], D, inverse) for first in (0, count)]
    return vectors


def tilde(x: np.ndarray) -> np.ndarray:
    """x̃ y = x × y."""
    return np.cross(x, np.eye(3)).T
