"""Inverse kinematics: coordinates that bring places where they should be, within limits and through
loops; many at once.

Levenberg–Marquardt steps on the errors r of all targets, of positions and of rotation vectors,
along the variations that the constraints φ leave:

    δs = δ₀ + δ,   δ₀ = −A⁺φ,   Z = 1 − A⁺A,   (Z JᵀJ Z + λ) δ = −Z Jᵀ(r + J δ₀).

After every step φ = 0 is met again, so that only what reaches nearer is taken. A coordinate that
would leave its limits stays on them. What is not reached from the guess is tried from elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX
from scipy.spatial.transform import Rotation

from ...arguments import Numbers, flag, named, number
from ...contract.valueless import searching
from ...errors import ArgumentError, AssemblyError, shown, unknown
from ...interrupts import remembered_interrupts
from ...numerics.rank import pseudoinverse
from ...numerics.search import damped_step, search
from ...numerics.tolerances import EPSILON, GIVEN, KNOWN, ROUNDING, TINY
from ..assembly.change_of_coordinates import convert, jointed, with_turns
from ..assembly.nearest import PositionRows
from ..projection import moved
from .targets import Target, broadcast, read_targets

if TYPE_CHECKING:
    from ...equations import Equations

# a step for some rows, from which of the variations are free, and what the others are fixed at
Solve = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

MET = GIVEN / 10  # error of a target, beside the size of the bodies or a radian, that is none
LONGEST = 0.5  # step of a coordinate: beyond, slopes tell little
CLOSING = 20  # steps
# rounds of starts; those that bring nothing, after which there is nothing; starts of a round, for
# each target, and together
ROUNDS, IDLE, STARTS, MOST = 12, 4, 16, 20_000
SPREADS = (0.3, 1.0, 3.0)  # of the starts about the guess, in turn
SLOW, STILL = KNOWN, 10 * ROUNDING  # relative change of r² that leads nowhere, and one that is none
SAME = KNOWN**0.5  # relative difference of r² that tells nothing


@remembered_interrupts()
def inverse_kinematics(
    equations: Equations,
    targets: Mapping[Any, Any],
    guess: Numbers | None = None,
    *,
    limits: Mapping[str, Any] | None = None,
    t: float = 0.0,
    parameters: Any = None,
    nearest: bool = False,
) -> np.ndarray:
    """Coordinates q, on all position constraints, with which every target is reached.

    targets: by place (a body, a marker, the name of one): a position in the world, or a mapping
        with "position", "rotation" (a matrix, a quaternion, a SciPy Rotation, turns; world axes)
        and "weight". With leading axes they are a batch, and so is q.
    guess: coordinates near which the search begins, by name or as an array; the reference
        configuration, if not given. The first solution that is found from there is taken.
    limits: (least, most) by coordinate, None for an open end; two equal numbers hold it. Those that
        are not named have the limits of the model's joints.
    nearest: take what comes nearest, errors squared and weighted (metres and radians count the
        same), instead of raising ``AssemblyError`` where a target cannot be reached.
    """
    wanted, t = read_targets(equations, targets), number("t", t)
    own = jointed(equations)
    constants = equations.numeric.arguments(None, None, t, None, parameters)[-1]
    if constants.ndim > 1:
        raise ArgumentError("parameters: expected one number for each, not a batch")
    first = own.terms.chart.normalized(_first(equations, own, guess, t, parameters))
    batch = broadcast("guess and targets", first.shape[:-1], *(each.batch for each in wanted))
    if 0 in batch:
        return np.zeros((*batch, len(equations.coordinates)))
    context = {"t": t, "parameters": parameters}
    size = int(np.prod(batch)), first.shape[-1]
    starts = np.broadcast_to(first, (*batch, first.shape[-1])).reshape(size)
    search = Search(own, wanted, _bounds(own, limits, context), batch, starts[0], context)
    q, errors = search.found(starts)
    if not flag("nearest", nearest) or not np.isfinite(errors).all():
        search.check(q, errors)
    q = _same_turn(own, q, starts, search.limited).reshape(*batch, q.shape[-1])
    return q if own is equations else _converted(own, equations, q, t, parameters)


def _same_turn(
    equations: Equations, q: np.ndarray, guess: np.ndarray, limited: np.ndarray
) -> np.ndarray:
    """q with angles within half a turn of the guess, where whole turns mean nothing."""
    if equations.constraints:
        return q
    angles = {name for joint in equations.system.joints.values() for name in joint.angles}
    names = enumerate(equations.coordinates)
    free = [k for k, name in names if name in angles and k not in limited]
    way = (q - guess)[:, free]
    q[:, free] = guess[:, free] + way - 2 * np.pi * np.round(way / (2 * np.pi))
    return q


def _converted(
    source: Equations, target: Equations, q: np.ndarray, t: float, parameters: Any
) -> np.ndarray:
    still = np.zeros((*q.shape[:-1], len(source.speeds)))
    return convert(source, target, q, still, t, parameters)[0]


def _first(
    equations: Equations, own: Equations, guess: Any, t: float, parameters: Any
) -> np.ndarray:
    """Where the search begins, in joint coordinates."""
    if guess is None or isinstance(guess, Mapping):
        return own.numeric.arguments(guess, None, t, None, None)[0]
    q = equations.numeric.arguments(guess, None, t, None, None)[0]
    return q if own is equations else _converted(equations, own, q, t, parameters)


def _bounds(equations: Equations, limits: Any, context: dict[str, Any]) -> np.ndarray:
    """Least and most of each coordinate."""
    names, chart = equations.coordinates, equations.terms.chart
    bounds = np.array([[-np.inf], [np.inf]]) * np.ones(len(names))
    whole = {k for four in chart.quaternions for k in four} | set(chart.counted.values())
    free = [name for k, name in enumerate(names) if k not in whole]
    given = named("limits", limits)
    stops = _stops(equations, context)
    cut = [name for name in stops if name not in free and name not in given]
    if cut:
        warnings.warn(
            f"the limits of {', '.join(map(repr, cut))} are not kept: their joints are cut here; "
            "cut others (cut=True), or look at what is found",
            stacklevel=4,
        )
    for name, pair in ({name: stops[name] for name in free if name in stops} | given).items():
        if name not in free:
            raise ArgumentError(f"limits: {unknown('coordinate', name, free)}")
        bounds[:, names.index(name)] = _pair(name, pair)
    return bounds


def _stops(equations: Equations, context: dict[str, Any]) -> dict[str, list[float | None]]:
    """Limits of the model's joints, by coordinate."""
    stops = (element.coordinate_ends() for element in equations.system.elements)
    found = [stop for stop in stops if stop is not None]

    def derive() -> SX:
        ends = [known.get(end, SX.inf()) for _, known in found for end in ("low", "high")]
        return ca.vertcat(SX(0, 1), *ends)

    values = equations.numeric.evaluate("ends of limits", derive, 1, None, **context)
    pairs = [[x if np.isfinite(x) else None for x in pair] for pair in values.reshape(-1, 2)]
    return {coordinate: pair for (coordinate, _), pair in zip(found, pairs, strict=True)}


def _pair(name: str, pair: Any) -> tuple[float, float]:
    try:
        least, most = pair
    except (TypeError, ValueError):
        raise ArgumentError(
            f"limits of {name!r}: expected (least, most), got {shown(pair)}"
        ) from None
    low = -np.inf if least is None else number(f"limits of {name!r}", least)
    high = np.inf if most is None else number(f"limits of {name!r}", most)
    if low > high:
        raise ArgumentError(
            f"limits of {name!r}: the least, {low:g}, is above the most, {high:g}; swap them"
        )
    return low, high


class Search:
    """The search for a batch of targets; configurations are rows."""

    def __init__(
        self,
        equations: Equations,
        targets: list[Target],
        bounds: np.ndarray,
        batch: tuple[int, ...],
        first: np.ndarray,
        context: dict[str, Any],
    ) -> None:
        self.equations, self.targets, self.context = equations, targets, context
        self.bounds, self.batch, count = bounds, batch, int(np.prod(batch))
        self.count = equations.terms.chart.tangent.shape[1]
        self.positions, self.rotations = (
            [
                (k, np.broadcast_to(value, (*batch, *value.shape[-axes:])).reshape(count, *shape))
                for k, value in enumerate(values)
                if value is not None
            ]
            for values, axes, shape in (
                ([target.position for target in targets], 1, (3,)),
                ([target.rotation for target in targets], 2, (3, 3)),
            )
        )
        kinds = [(k, equations.system.size) for k, _ in self.positions]
        kinds += [(k, 1.0) for k, _ in self.rotations]
        self.none = MET * np.repeat([targets[k].weight * size for k, size in kinds], 3)
        self.rows, self.usual = len(self.none), np.ones(equations.terms.phi.numel())
        if self.usual.size:
            self.usual = PositionRows(equations, first, context).sizes[0]
        key = "inverse kinematics", *((each.place, each.rotation is None) for each in targets)
        self._kernel = equations.numeric.kernel(key, self._expressions, [1, 2, 1, 2, 1, 2])
        # the variation that each limited coordinate is
        pattern = np.array(ca.DM(equations.terms.chart.tangent.sparsity(), 1)) != 0
        self.limited = np.flatnonzero(np.isfinite(bounds).any(axis=0))
        limited = pattern[self.limited]
        self.moving = limited.argmax(axis=1) if limited.size else np.zeros(0, int)

    def _expressions(self) -> list[SX]:
        """φ, positions and rotations (row by row), each followed by its slopes; of rotations these
        are turns, in the axes of the place."""
        terms, chart = self.equations.terms, self.equations.terms.chart
        m, q, T = chart.motion, chart.symbols.q, chart.tangent
        positions = [m.position(self.targets[k].place) for k, _ in self.positions]
        rotations = [m.rotation(self.targets[k].place) for k, _ in self.rotations]
        places = ca.vertcat(SX(0, 1), *positions)
        turns = [_turning(R, q) @ T for R in rotations]
        return [
            terms.phi,
            ca.jacobian(terms.phi, q) @ T,
            places,
            ca.jacobian(places, q) @ T,
            ca.vertcat(SX(0, 1), *(ca.vec(R.T) for R in rotations)),
            ca.vertcat(SX(0, T.shape[1]), *turns),
        ]

    def _in_scale(self, phi: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """φ and its slopes, over what those usually are."""
        return phi / self.usual, A / self.usual[:, None]

    # --- errors -----------------------------------------------------------------------------------

    def _values(self, q: np.ndarray) -> list[np.ndarray]:
        t, p = self.context["t"], self.context["parameters"]
        return self._kernel(*self.equations.numeric.arguments(q, None, t, None, p))

    def at(self, q: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Errors at configurations q of the targets ``of`` the batch, then φ, with their slopes;
        infinite where φ = 0 does not hold."""
        phi, A, places, slopes, turned, turns = self._values(q)
        phi, A = self._in_scale(phi, A)
        errors, J = [], []
        for n, (k, wanted) in enumerate(self.positions):
            own, weight = slice(3 * n, 3 * n + 3), self.targets[k].weight
            errors.append(weight * (places[:, own] - wanted[of]))
            J.append(weight * slopes[:, own])
        for n, (k, wanted) in enumerate(self.rotations):
            R = turned[:, 9 * n : 9 * n + 9].reshape(-1, 3, 3)
            vector, inverse = _logarithm(np.swapaxes(wanted[of], -1, -2) @ R)
            weight = self.targets[k].weight
            errors.append(weight * vector)
            J.append(weight * inverse @ turns[:, 3 * n : 3 * n + 3])
        r = np.concatenate([*errors, phi], axis=1)
        closed = np.abs(phi).max(axis=-1, keepdims=True, initial=0.0) <= GIVEN
        return np.where(closed, r, np.inf), np.concatenate([*J, A], axis=1)

    def _cost(self, r: np.ndarray) -> np.ndarray:
        """r²; none where every target is reached."""
        reached = (np.abs(r[:, : self.rows]) <= self.none).all(axis=-1)
        return np.where(reached & np.isfinite(r).all(axis=-1), 0.0, (r**2).sum(axis=-1))

    # --- steps ------------------------------------------------------------------------------------

    @searching()
    def found(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Configurations that reach the targets, or come nearest; and r²."""
        every = np.arange(len(q))
        if not self.count:  # nothing to search in
            return q.copy(), self._cost(self.at(q, every)[0])
        best, cost = self._search(self._inside(q), every)
        random, idle = np.random.default_rng(0), np.zeros(len(q), dtype=int)
        for _ in range(ROUNDS):
            left = np.flatnonzero(~(cost == 0) & (idle < IDLE))
            if not left.size:
                break
            many = max(2, min(STARTS, MOST // len(left)))
            of = np.repeat(left, many)
            ends, costs = self._search(self._elsewhere(random, q[of], best[of]), of)
            winners = costs.reshape(-1, many).argmin(axis=1) + many * np.arange(len(left))
            new, least = costs[winners], cost[left]
            won = new < least
            idle[left] = np.where(new < (1 - SAME) * least, 0, idle[left] + 1)
            best[left[won]], cost[left[won]] = ends[winners[won]], new[won]
        left = np.flatnonzero(cost > 0)
        best[left], cost[left] = self._search(best[left], left, STILL)
        return best, cost

    def _elsewhere(
        self, random: np.random.Generator, q: np.ndarray, best: np.ndarray
    ) -> np.ndarray:
        """Where else to begin, at random: every fourth near the best so far, the others about the
        guess, and anywhere between limits where there are two."""
        kinds, (low, high) = np.arange(len(q)), self.bounds
        spread = np.take(SPREADS, kinds % len(SPREADS))[:, None]
        step = spread * random.standard_normal((len(q), self.count))
        out, ranged = moved(self.equations, q, step), np.isfinite(low) & np.isfinite(high)
        out[:, ranged] = random.uniform(low[ranged], high[ranged], (len(q), ranged.sum()))
        near = kinds % 4 == 0
        out[near] = moved(self.equations, best[near], 0.1 * step[near])
        return self._inside(out)

    def _search(
        self, q: np.ndarray, of: np.ndarray, slow: float = SLOW
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where steps lead, until nothing comes nearer any more, or only slowly; and r² there."""
        end = search(
            lambda q, lanes: self.at(q, of[lanes]),
            lambda q, step: self._closed(self._moved(q, step)),
            self._closed(q),
            ROUNDING,
            step=self._step,
            slow=slow,
            rivals=(of, float(self.none.min())),
        )
        return end.x, self._cost(end.r)

    def _step(self, q: np.ndarray, r: np.ndarray, J: np.ndarray, mu: np.ndarray) -> np.ndarray:
        """A step towards the targets, along what φ = 0 and the limits leave free."""
        r, phi = r[:, : self.rows], r[:, self.rows :]
        J, A = J[:, : self.rows], J[:, self.rows :]

        def solve(own: np.ndarray, free: np.ndarray, fixed: np.ndarray) -> np.ndarray:
            back, Z = _closing(A[own], phi[own], free, fixed)
            along = J[own] * free[:, None, :]
            left = r[own] + _apply(J[own], fixed) + _apply(along, back)
            return back + damped_step(q[own], left, along @ Z, mu[own])

        return self._within(q, solve)

    def _within(self, q: np.ndarray, solve: Solve) -> np.ndarray:
        """A step that crosses no limit: what would go beyond goes up to it, and the others are
        solved for again."""
        low, high = self.bounds[:, self.limited]
        step, rows = np.zeros((len(q), self.count)), np.arange(len(q))
        free, fixed = np.ones(step.shape, dtype=bool), np.zeros(step.shape)
        for _ in range(1 + len(self.limited)):
            found = np.where(free[rows], solve(rows, free[rows], fixed[rows]), fixed[rows])
            step[rows] = found
            x, dx = q[np.ix_(rows, self.limited)], found[:, self.moving]
            over = ((x + dx < low) | (x + dx > high)) & free[np.ix_(rows, self.moving)]
            row, k = np.nonzero(over)
            fixed[rows[row], self.moving[k]] = (np.clip(x + dx, low, high) - x)[row, k]
            free[rows[row], self.moving[k]] = False
            rows = rows[over.any(axis=1)]
            if not rows.size:
                break
        longest = np.abs(step).max(axis=-1, keepdims=True, initial=0.0)
        return np.asarray(step * np.minimum(1.0, LONGEST / np.maximum(longest, TINY)))

    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return self._inside(moved(self.equations, q, step))

    def _inside(self, q: np.ndarray) -> np.ndarray:
        """q with coordinates beyond their limits on them."""
        return np.clip(q, *self.bounds)

    def _closed(self, q: np.ndarray) -> np.ndarray:
        """Configurations with φ = 0, by least steps; where that fails, φ is left."""
        eqs, t, p = self.equations, self.context["t"], self.context["parameters"]

        def rows(q: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self._in_scale(*self._values(q)[:2])

        def step(q: np.ndarray, r: np.ndarray, A: np.ndarray, mu: np.ndarray) -> np.ndarray:
            def solve(own: np.ndarray, free: np.ndarray, fixed: np.ndarray) -> np.ndarray:
                left = r[own] + _apply(A[own], fixed)
                return damped_step(q[own], left, A[own] * free[:, None, :], mu[own])

            return self._within(q, solve)

        if self.equations.terms.phi.numel():
            q = search(rows, self._moved, q, 10 * ROUNDING, step=step, steps=CLOSING).x
        return with_turns(eqs, eqs, q, q.copy(), t, p)

    # --- what is not reached ----------------------------------------------------------------------

    @searching()
    def check(self, q: np.ndarray, errors: np.ndarray) -> None:
        """Name the targets that are not reached, and how near they came."""
        if not np.isfinite(errors).all():
            raise AssemblyError(
                "no configuration within the limits meets the constraints; give a guess nearer to "
                "one, or wider limits"
            )
        r = np.abs(self.at(q, np.arange(len(q)))[0])
        residuals: dict[str, float] = {}
        told = []
        kinds = [(k, "position", "m") for k, _ in self.positions]
        kinds += [(k, "rotation", "rad") for k, _ in self.rotations]
        for n, (k, what, unit) in enumerate(kinds):
            target = self.targets[k]
            own = slice(3 * n, 3 * n + 3)
            off = np.linalg.norm(r[:, own], axis=1) / target.weight
            worst = int(off.argmax())
            if (r[:, own] > self.none[own]).any():
                residuals[f"{target.name}: {what}"] = float(off[worst])
                which = f" {worst} of the batch" if self.batch else ""
                told.append(f"{target.name!r}: {what}{which} by {off[worst]:.6g} {unit}")
        if told:
            raise AssemblyError(
                f"targets are missed, at the nearest that was found: {'; '.join(told)}. Give other "
                "targets, wider limits or another guess; nearest=True takes the nearest",
                residuals,
            )


def _closing(
    A: np.ndarray, phi: np.ndarray, free: np.ndarray, fixed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The least step of what is free that closes φ = 0, beside what is fixed; and Z."""
    own = A * free[:, None, :]
    inverse = pseudoinverse(own)
    back = -_apply(inverse, phi + _apply(A, fixed))
    return back, np.eye(A.shape[-1]) - inverse @ own


def _turning(R: SX, q: SX) -> SX:
    """Slopes of the turn of a rotation, in its own axes: Rᵀ dR = δ̃."""
    x, y, z = ca.horzsplit(R)
    slopes = [ca.jacobian(column, q) for column in (x, y, z)]
    return ca.vertcat(z.T @ slopes[1], x.T @ slopes[2], y.T @ slopes[0])


def _logarithm(R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rotation vector e of R, and G with ė = G ω, ω in the axes that R turns from:
    G = 1 + ½ẽ + (1/θ² − cot(θ/2)/2θ) ẽ²."""
    e = Rotation.from_matrix(R).as_rotvec()
    theta = np.linalg.norm(e, axis=-1)[:, None, None]
    small = theta < EPSILON ** (1 / 6)  # there θ⁴, the next term, is what cancels beyond, ε/θ²
    safe = np.where(small, 1.0, theta)
    factor = np.where(small, 1 / 12 + theta**2 / 720, 1 / safe**2 - 0.5 / (safe * np.tan(safe / 2)))
    tilde = np.cross(np.eye(3), e[:, None, :])  # its rows are those of ẽ
    return e, np.eye(3) + tilde / 2 + factor * (tilde @ tilde)


def _apply(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.asarray((matrix @ vector[..., None])[..., 0])
