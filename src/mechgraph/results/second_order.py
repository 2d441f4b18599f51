"""``SecondOrderModel``: linear equations of motion in a minimal set of variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
from scipy.optimize import linear_sum_assignment

from ..errors import ArgumentError, unknown

FITTED = 1e-7  # error of a polynomial that is no rounding, relative


@dataclass(frozen=True, eq=False)
class SecondOrderModel:
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
        others = [k for k in range(len(self.coordinates)) if k not in q]
        rest = [k for k in range(len(self.speeds)) if k not in u]
        coupling = [
            self.M[np.ix_(u, rest)], self.C[np.ix_(u, rest)], self.K[np.ix_(u, others)],
            self.P[np.ix_(q, others)], self.Q[np.ix_(q, rest)],
        ]  # fmt: skip
        size = max(np.abs(x).max(initial=0.0) for x in (self.M, self.C, self.K))
        if max(np.abs(x).max(initial=0.0) for x in coupling) > 1e-8 * size:
            raise ArgumentError(
                f"{', '.join((*coordinates, *speeds))} do not move by themselves: others act on "
                "them; name these as well"
            )
        return replace(
            self,
            M=self.M[np.ix_(u, u)],
            C=self.C[np.ix_(u, u)],
            K=self.K[np.ix_(u, q)],
            E=self.E[u],
            P=self.P[np.ix_(q, q)],
            Q=self.Q[np.ix_(q, u)],
            coordinates=tuple(coordinates),
            speeds=tuple(speeds),
        )

    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, the most unstable first, and for each a column with the motion of the
        coordinates, then the speeds."""
        values, vectors = np.linalg.eig(self.A)
        order = np.argsort(-values.real, kind="stable")
        return values[order], vectors[:, order]

    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues, the most unstable first."""
        return self.modes()[0]

    def ratio(self, above: str, below: str) -> np.ndarray:
        """One coordinate over another in each mode: modulus and phase, as complex numbers."""
        vectors = self.modes()[1]
        rows = (vectors[_index("coordinate", name, self.coordinates)] for name in (above, below))
        upper, lower = rows
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(upper / lower)

    def free_motion(
        self, times: np.ndarray | Sequence[float], start: Mapping[str, float]
    ) -> np.ndarray:
        """(δq, δu) at these times without inputs, from deviations by name: e^(At) x₀, a row for
        each time."""
        names = (*self.coordinates, *self.speeds)
        x = np.zeros(len(names))
        for name, value in start.items():
            x[_index("coordinate or speed", name, names)] = value
        return np.array([scipy.linalg.expm(self.A * t) @ x for t in times])

    def frequency_response(self, omega: np.ndarray | Sequence[float]) -> np.ndarray:
        """(δq, δu) for unit inputs e^(iωt): (iω − A)⁻¹ B, with the frequencies as first axis."""
        s = 1j * np.asarray(omega)[..., None, None] * np.eye(len(self.A))
        return np.linalg.solve(s - self.A, self.B + 0j * s[..., :, : self.B.shape[1]])

    def __repr__(self) -> str:
        counts = f"{len(self.coordinates)} coordinates, {len(self.speeds)} speeds"
        return f"<SecondOrderModel: {counts}, {len(self.inputs)} inputs>"


def _index(kind: str, name: str, known: Sequence[str]) -> int:
    if name not in known:
        raise ArgumentError(unknown(kind, name, known))
    return known.index(name)


# --- against a parameter --------------------------------------------------------------------------


class SecondOrderSweep:
    """Models for the values of a parameter, such as the speed; modes are followed from one to the
    next."""

    def __init__(
        self, model: Callable[[float], SecondOrderModel], values: Sequence[float] | np.ndarray
    ) -> None:
        self.values = np.asarray(values, dtype=float)
        self.models = tuple(model(float(value)) for value in self.values)

    @cached_property
    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, a row for each value and a column for each mode, and their vectors."""
        found = [self.models[0].modes(), *(each.modes() for each in self.models[1:])]
        followed = [found[0]]
        for values, vectors in found[1:]:
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
        rows = [_index("coordinate", name, self.models[0].coordinates) for name in (above, below)]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.modes[1][:, rows[0]] / self.modes[1][:, rows[1]])

    @property
    def stable(self) -> np.ndarray:
        """For each value, whether no mode grows."""
        return np.asarray((self.eigenvalues.real < 0).all(axis=1))

    def polynomial(self, name: str, degree: int = 2) -> np.ndarray:
        """Coefficients of the matrix "M", "C", "K" or "E" over the parameter, lowest power first;
        an error if it is no polynomial of that degree."""
        if name not in ("M", "C", "K", "E"):
            raise ArgumentError(unknown("matrix", name, ("M", "C", "K", "E")))
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
        if error > FITTED * max(1.0, np.abs(flat).max(initial=0.0)):
            raise ArgumentError(
                f"{name} is no polynomial of degree {degree}: the error is {error:.2g}"
            )
        return found.reshape(degree + 1, *matrices.shape[1:])

    def __repr__(self) -> str:
        return f"<SecondOrderSweep: {len(self.values)} values, {self.models[0]!r}>"
