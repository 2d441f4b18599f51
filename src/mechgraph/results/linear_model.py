"""``LinearModel``: what linearization returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg

from .. import door
from ..arguments import array_of, number
from ..control.controller import Controller
from ..control.laws import StateFeedback, gain_of, sampling
from ..errors import ArgumentError, shown
from ..numerics.tolerances import EPSILON, MET
from .response import LinearDynamics, LinearSystem

NOT_CONSTANT = (
    "this linear model changes along the motion, so its eigenvalues would tell nothing; take an "
    "equilibrium or a steady motion "
    "(equilibrium, steady). If this is a steady motion: describe bodies that turn by chains of "
    "rotations, such as "
    "s.joint(…, [mg.rot('z', 'yaw'), mg.rot('x', 'tilt'), …]), and name the coordinates and speeds "
    "that stay the same with "
    "independent=. A, B, C, D hold at this moment"
)


@dataclass(frozen=True, eq=False)
class LinearModel(LinearDynamics):
    """x' = A x + B w, y = C x + D w about a state: deviations of the named states, inputs and
    outputs.

    ``Z`` gives the deviations of all coordinates and speeds (``variations``) for those of the
    states. The matrices are those of the moment ``t``; ``constant`` tells if A stays what it is
    along the motion (but for states that nothing depends on). In a steady turn it may do so for
    axes that turn along: then ``turning`` is their angular velocity.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    Z: np.ndarray
    variations: tuple[str, ...]
    q: np.ndarray
    u: np.ndarray
    t: float = 0.0
    constant: bool = True
    turning: np.ndarray = field(default_factory=lambda: np.zeros(3))
    w: np.ndarray = field(default_factory=lambda: np.zeros(0))  # inputs there
    noise: np.ndarray | None = None  # how much of each entry of A was seen to be rounding

    @property
    def _system(self) -> LinearSystem:
        self._refuse_change()
        seen = [k for k, name in enumerate(self.outputs) if name not in self.states]
        C = np.vstack([np.eye(len(self.A)), self.C[seen]])
        D = np.vstack([np.zeros_like(self.B), self.D[seen]])
        names = (*self.states, *(self.outputs[k] for k in seen))
        own = 4 * EPSILON * np.abs(self.A)
        rounding = own if self.noise is None else own + self.noise
        states, inputs = self.states, self.inputs
        return LinearSystem(self.A, self.B, C, D, states, inputs, names, rounding, self.Z)

    def _refuse_change(self) -> None:
        if not self.constant:
            raise ArgumentError(NOT_CONSTANT)

    def lqr(self, Q: Any, R: Any, rate: float | None = None) -> Controller:
        """The state feedback w = w₀ − K (x − x₀) that makes ∫ (xᵀQx + wᵀRw) dt of the deviations
        least, as a controller for all inputs.

        Q, R: matrices, or the diagonals of them: a number for each state and each input.
        rate: samples in a second; then the sum over the samples is made least, with the inputs held
            in between. None: at every moment.
        """
        Q, R = _weights("Q", self.states, Q), _weights("R", self.inputs, R)
        return self.feedback(self.lqr_gain(Q, R, rate), rate)

    def lqr_gain(self, Q: Any, R: Any, rate: float | None = None) -> np.ndarray:
        """K of ``lqr``: R⁻¹BᵀP, with P of Riccati's equation."""
        self._refuse_change()
        Q, R, A, B = _weights("Q", self.states, Q), _weights("R", self.inputs, R), self.A, self.B
        period = None if rate is None else 1 / number("rate", rate, positive=True)
        if not self.inputs and self.states:
            raise ArgumentError("lqr: there is no input to act with; say one by system.input")
        if not A.size:
            return np.zeros(B.T.shape)
        try:
            if period is None:
                return np.linalg.solve(R, B.T @ scipy.linalg.solve_continuous_are(A, B, Q, R))
            A, B = _held(A, B, period)
            P = scipy.linalg.solve_discrete_are(A, B, period * Q, period * R)
            return np.linalg.solve(period * R + B.T @ P @ B, B.T @ P @ A)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise ArgumentError(
                f"lqr: Riccati's equation has no solution here ({error}); do the inputs reach "
                "every motion that is not stable, is R positive, and does Q see what has to be "
                "stopped?"
            ) from None

    def feedback(self, K: Any, rate: float | None = None) -> Controller:
        """w = w₀ − K (x − x₀) with the states of this model, as a controller for all inputs: of a
        gain found elsewhere, such as ``control.lqr(linear.to_control(), Q, R)[0]``."""
        gain = gain_of(K, len(self.inputs), len(self.states))
        law = StateFeedback(gain, self.q, self.u, self.w, self.states)
        return Controller(law, "equations", sampling(rate))

    def show(self) -> str:
        """A table of the modes: eigenvalue, frequency, damping, and modulus and phase of every
        state, with the largest as one."""
        return str(door.show.linear.mode_table(self, self.states))

    def to_control(self) -> Any:
        """The same as a ``control.StateSpace`` (needs the package ``control``); dots in names
        become underscores there."""
        control = door.library("control")
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        labels = {
            key: [name.replace(".", "_") for name in value] for key, value in names.items() if value
        }
        return control.ss(self.A, self.B, self.C, self.D, **labels)

    def __repr__(self) -> str:
        axes = (
            f", for axes that turn with {self.turning.round(6).tolist()}"
            if self.turning.any()
            else ""
        )
        change = "" if self.constant else ", changing along the motion"
        sizes = (
            (len(self.states), "states"),
            (len(self.inputs), "inputs"),
            (len(self.outputs), "outputs"),
        )
        counts = ", ".join(f"{count} {kind}" for count, kind in sizes)
        return f"<LinearModel: {counts}{axes}{change}>"


def _held(A: np.ndarray, B: np.ndarray, T: float) -> tuple[np.ndarray, np.ndarray]:
    """A and B of the states at samples T apart, with inputs that are held in between."""
    n, m = B.shape
    whole = scipy.linalg.expm(T * np.block([[A, B], [np.zeros((m, n + m))]]))
    return whole[:n, :n], whole[:n, n:]


def _weights(what: str, names: tuple[str, ...], given: Any) -> np.ndarray:
    """A symmetric matrix of weights, from itself or from its diagonal."""
    matrix, count = array_of(given), len(names)
    if matrix is not None and matrix.shape in ((), (count,)):
        matrix = np.diag(np.broadcast_to(matrix, count))
    if matrix is None or matrix.shape != (count, count) or not np.allclose(matrix, matrix.T):
        raise ArgumentError(
            f"lqr: {what} must be a symmetric matrix of {count} rows, or {count} numbers, for "
            f"{', '.join(names)}; got {shown(given)}"
        )
    return matrix


def balanced(A: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """A, and others with it, in units of the states that make its rows and columns alike; rounding
    in A does not count."""
    clean = np.where(np.abs(A) > MET * np.abs(A).max(initial=0.0), A, 0.0)
    units = (
        scipy.linalg.matrix_balance(clean, permute=False, separate=True)[1][0]
        if A.size
        else np.ones(0)
    )
    return [matrix * units / units[:, None] for matrix in (A, *others)]
