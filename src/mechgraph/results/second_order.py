"""``SecondOrderModel``: linear equations of motion in a minimal set of variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import bisect, brentq, linear_sum_assignment

from .. import door
from ..arguments import array_of, listed, number, one_of, whole
from ..errors import ArgumentError, blamed, shown
from ..numerics.tolerances import EPSILON, GIVEN, KNOWN, ROUNDING
from .linear_model import LinearModel
from .response import LinearDynamics, LinearSystem

MATRICES = ("M", "C", "K", "E", "P", "Q", "udot")


@dataclass(frozen=True, eq=False)
class SecondOrderModel(LinearDynamics):
    """M δu̇ + C δu + K δq = E δw,  δq' = P δq + Q δu, about a reference motion.

    Deviations of the named independent ``coordinates`` and ``speeds``; ``udot`` are all
    accelerations of the reference; ``residual`` tells how far the rows of constraints are from
    compatible to first order: zero, unless they are a compromise of least squares.
    """

    M: np.ndarray
    C: np.ndarray
    K: np.ndarray
    E: np.ndarray
    P: np.ndarray
    Q: np.ndarray
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    inputs: tuple[str, ...]
    udot: np.ndarray
    residual: float = 0.0

    @property
    def A(self) -> np.ndarray:
        """(δq, δu)' = A (δq, δu) + B δw."""
        lower = -np.linalg.solve(self.M, np.hstack([self.K, self.C]))
        return np.vstack([np.hstack([self.P, self.Q]), lower])

    @property
    def B(self) -> np.ndarray:
        """Of the inputs."""
        none = np.zeros((len(self.coordinates), len(self.inputs)))
        return np.vstack([none, np.linalg.solve(self.M, self.E)])

    def of(self, coordinates: Sequence[str], speeds: Sequence[str]) -> SecondOrderModel:
        """The equations of some variables alone, where the others do not act on them."""
        q = [_index("coordinate", name, self.coordinates) for name in coordinates]
        u = [_index("speed", name, self.speeds) for name in speeds]
        parts, coupled = dict[str, Any](), False
        for group in ({"M": (u, u), "C": (u, u), "K": (u, q)}, {"P": (q, q), "Q": (q, u)}):
            size = max(np.abs(getattr(self, name)).max(initial=0.0) for name in group)
            for name, (rows, columns) in group.items():
                matrix = getattr(self, name)[rows]
                parts[name] = matrix[:, columns]
                others = np.abs(np.delete(matrix, columns, axis=1)).max(initial=0.0)
                coupled |= others > GIVEN * size
        if coupled:
            raise ArgumentError(
                f"{', '.join((*coordinates, *speeds))} do not move by themselves: others act on "
                "them; name these as well"
            )
        parts |= {"coordinates": tuple(coordinates), "speeds": tuple(speeds)}
        return replace(self, **parts, E=self.E[u])

    def ratio(self, above: str, below: str) -> np.ndarray:
        """One coordinate over another in each mode: modulus and phase, as complex numbers."""
        return _ratio(self.modes()[1], above, below, self.coordinates)

    @property
    def variations(self) -> tuple[str, ...]:
        """Names of the rows of a mode: coordinates, then speeds."""
        return (*self.coordinates, *self.speeds)

    @property
    def _system(self) -> LinearSystem:
        names, none = self.variations, np.zeros((len(self.A), len(self.inputs)))
        one, forces = np.eye(len(self.A)), np.abs(np.hstack([self.K, self.C]))
        rows = np.broadcast_to(forces.max(axis=1, initial=0.0, keepdims=True), forces.shape)
        own = np.vstack([np.abs(self.A[: len(self.P)]), np.abs(np.linalg.inv(self.M)) @ rows])
        rounding = 4 * EPSILON * own
        return LinearSystem(self.A, self.B, one, none, names, self.inputs, names, rounding, one)

    def show(self) -> str:
        """A table of the modes: eigenvalue, frequency, damping, and modulus and phase of every
        coordinate, with the largest as one."""
        return str(door.show.linear.mode_table(self, self.coordinates))

    def __repr__(self) -> str:
        counts = f"{len(self.coordinates)} coordinates, {len(self.speeds)} speeds"
        return f"<SecondOrderModel: {counts}, {len(self.inputs)} inputs>"


def _growing(values: Any) -> np.ndarray:
    out = array_of(values)
    if out is None or out.ndim != 1 or not out.size or not (np.diff(out) > 0).all():
        raise ArgumentError(f"values must be a list of growing numbers, got {shown(values)}")
    return out


def _index(kind: str, name: str, known: Sequence[str]) -> int:
    return known.index(one_of(kind, name, known))


def _ratio(shapes: np.ndarray, above: str, below: str, known: Sequence[str]) -> np.ndarray:
    """One coordinate over another: rows of shapes, of one model or of many."""
    upper, lower = (_index("coordinate", name, known) for name in (above, below))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(shapes[..., upper, :] / shapes[..., lower, :])


# --- against a parameter --------------------------------------------------------------------------


class SecondOrderSweep:
    """Models for the values of a parameter, such as the speed; modes are followed from one to the
    next.

    model: gives the linear model for a value, a ``SecondOrderModel`` or a ``LinearModel``.
    values: of the parameter, in growing order.
    parameter: what it is called, with its unit, such as "speed (m/s)".
    names: of the modes, in the order of the eigenvalues at the first value, the most unstable
        first; both of a pair may have the same.
    """

    def __init__(
        self,
        model: Callable[[float], Any],
        values: Sequence[float] | np.ndarray,
        parameter: str = "parameter",
        names: Sequence[str] = (),
    ) -> None:
        self.values, self.parameter = _growing(values), parameter
        self._model = model
        self.models = tuple(self._made(float(value)) for value in self.values)
        count, names = len(self.models[0].A), listed("names", names)
        if any(len(each.A) != count for each in self.models):
            raise ArgumentError("the models of a sweep must have the same number of states")
        if names and len(names) != count:
            raise ArgumentError(f"there are {count} modes, but {len(names)} names: {names}")
        self.names = tuple(names) or tuple(f"mode {k + 1}" for k in range(count))
        self._fitted: dict[int, dict[str, np.ndarray]] = {}

    def _made(self, value: float) -> Any:
        """The model for a value."""
        with blamed(f"the model for {self.parameter} = {value:g}"):
            made = self._model(value)
        if not isinstance(made, (SecondOrderModel, LinearModel)):
            raise ArgumentError(
                "a sweep takes a function from a number to a linear model, such as "
                f"lambda v: eqs.linearize(…); for {value:g} it gives {shown(made)}"
            )
        return made

    @cached_property
    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, a row for each value and a column for each mode, and their vectors."""
        followed = [self.models[0].modes()]
        for model in self.models[1:]:
            values, vectors = model.modes()
            before, shapes = followed[-1]
            apart = np.abs(values[None, :] - before[:, None])
            alike = np.abs(shapes.conj().T @ vectors)
            order = linear_sum_assignment(apart / (1 + np.abs(before[:, None])) - alike)[1]
            followed.append((values[order], vectors[:, order]))
        return np.array([v for v, _ in followed]), np.array([x for _, x in followed])

    @property
    def eigenvalues(self) -> np.ndarray:
        """A row for each value, a column for each mode."""
        return self.modes[0]

    def ratio(self, above: str, below: str) -> np.ndarray:
        """One coordinate over another in every mode: modulus and phase, as complex numbers."""
        return _ratio(self.modes[1], above, below, self.models[0].variations)

    @property
    def stable(self) -> np.ndarray:
        """For each value, whether it is known that no mode grows."""
        return np.array([model.is_stable() for model in self.models])

    def boundaries(self) -> np.ndarray:
        """Values of the parameter at which stability changes, to rounding: where the largest real
        part of an eigenvalue leaves zero."""
        changes = np.flatnonzero(np.diff(self.stable.astype(int)))
        return np.array([self._boundary(int(k)) for k in changes])

    def _boundary(self, k: int) -> float:
        """The one between two values; where nothing is damped, growth is zero on one side of it,
        and only the verdict changes."""
        verdicts = {each.stability().verdict for each in self.models[k : k + 2]}
        leaves = verdicts == {"asymptotically stable", "unstable"}
        search, quantity = (brentq, self._growth) if leaves else (bisect, self._verdict)
        return float(
            search(quantity, *self.values[k : k + 2], xtol=EPSILON * np.abs(self.values).max())
        )

    def _growth(self, value: float) -> float:
        return float(self._made(value).eigenvalues().real.max())

    def _verdict(self, value: float) -> float:
        return -1.0 if self._made(value).is_stable() else 1.0

    def polynomial(self, name: str, degree: int = 2) -> np.ndarray:
        """Coefficients of a matrix, "M", "C", "K", "E", over the parameter, lowest power first; an
        error if it is no polynomial of that degree."""
        known = [each for each in (*MATRICES, "A", "B") if hasattr(self.models[0], each)]
        one_of("matrix", name, known)
        (degree,) = whole(0, degree=degree)
        if len(self.values) < degree + 2:
            raise ArgumentError(
                f"a polynomial of degree {degree} is seen at {degree + 2} values or more, got "
                f"{len(self.values)}"
            )
        matrices = np.array([getattr(model, name) for model in self.models])
        powers = self.values[:, None] ** np.arange(degree + 1)
        flat = matrices.reshape(len(matrices), -1)
        found = np.linalg.lstsq(powers, flat, rcond=None)[0]
        error = np.abs(powers @ found - flat).max(initial=0.0)
        if error > KNOWN * np.abs(flat).max(initial=0.0) + ROUNDING * self._largest:
            raise ArgumentError(
                f"{name} is no polynomial of degree {degree}: the error is {error:.2g}"
            )
        return found.reshape(degree + 1, *matrices.shape[1:])

    @property
    def _largest(self) -> float:
        """The largest entry of all matrices: where one has nothing but rounding, it is of this."""
        matrices = (getattr(model, name, 0) for model in self.models for name in (*MATRICES, "A"))
        return float(max(np.abs(matrix).max(initial=0.0) for matrix in matrices))

    def at(self, value: float, degree: int = 2) -> SecondOrderModel:
        """The model for any value of the parameter, from the polynomials of its matrices: so few
        models serve a fine sweep, ``SecondOrderSweep(coarse.at, fine_values)``."""
        first: Any = self.models[0]
        if not isinstance(first, SecondOrderModel):
            raise ArgumentError("at: a sweep has polynomials of second-order models only")
        (degree,) = whole(0, degree=degree)
        powers = number("value", value) ** np.arange(degree + 1)
        matrices: dict[str, Any] = {
            name: np.tensordot(powers, coefficients, 1)
            for name, coefficients in self._polynomials(degree).items()
        }
        return replace(first, **matrices)

    def _polynomials(self, degree: int) -> dict[str, np.ndarray]:
        if degree not in self._fitted:
            self._fitted[degree] = {name: self.polynomial(name, degree) for name in MATRICES}
        return self._fitted[degree]

    # --- looking at it ----------------------------------------------------------------------------

    def plot(self, path: str | Path | None = None, beside: Sequence[SecondOrderSweep] = ()) -> Any:
        """Real part and frequency of every mode against the parameter, where it is stable shaded,
        with thin lines of other sweeps ``beside``; saved to ``path`` if given."""
        return door.show.linear.eigenvalues(self, path, beside)

    def plot_ratio(
        self,
        above: str,
        below: str,
        path: str | Path | None = None,
        beside: Sequence[SecondOrderSweep] = (),
    ) -> Any:
        """Modulus and phase of one coordinate over another in every mode against the parameter."""
        return door.show.linear.ratio(self, above, below, path, beside)

    def show(self) -> str:
        """A table of the eigenvalues against the parameter."""
        return str(door.show.linear.eigenvalue_table(self))

    def __repr__(self) -> str:
        return f"<SecondOrderSweep: {len(self.values)} values, {self.models[0]!r}>"
