"""Quantities of robotics on arrays: Jacobians of places, momentum, bias and gravity, Coriolis
matrix, inertia as seen at a place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np
from casadi import SX

from ...arguments import Numbers, choice, flag
from ...closures.expressions import Factor
from ...contract.accelerations import undetermined_message
from ...errors import ArgumentError, UnsupportedError
from ...model.motion import Place
from ...motion.motion import checked_place
from ...motion.rotors import rotor_coriolis, rotor_terms
from ...motion.spatial import Columns, centre_of_mass, columns, momentum, rate, total_mass
from ...numerics.rank import Independent

if TYPE_CHECKING:
    from ...equations import Equations

Axes = Literal["world", "body"]
Part = Literal["pose", "position", "rotation"]

PARTS = {"pose": slice(0, 6), "position": slice(0, 3), "rotation": slice(3, 6)}
SINGULAR = 1e-12  # of what a place gives way, beside the most it does: directions it cannot move in


class Robotics:
    """Quantities of robotics of some equations: ``eqs.robotics.centre_of_mass(q)``.

    Six numbers of a place are linear, then angular: (v, ω) of its origin. They are in world axes,
    or with ``frame="body"`` in the axes of the place. Columns belong to the speeds u, in the order
    of ``eqs.speeds``, whatever these are: rates of coordinates, components of ω, the user's own.
    Batches are leading axes; ``out`` is an array for the result, ``threads`` share a batch.

    >>> import mechgraph as mg
    >>> arm = mg.System("arm", gravity=(0, 0, -9.81))
    >>> rod = arm.body("rod", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    >>> hinge = arm.revolute("hinge", arm.ground, rod, axis="y")
    >>> tip = arm.marker("tip", rod, at=(0, 0, -1))
    >>> eqs = arm.equations()
    >>> eqs.robotics.frame_jacobian("tip", [0.0]).T
    array([[-1.,  0.,  0.,  0.,  1.,  0.]])
    >>> eqs.robotics.gravity_efforts([np.pi / 2]).round(3)
    array([9.81])
    """

    def __init__(self, equations: Equations) -> None:
        self._equations = equations

    def __repr__(self) -> str:
        return f"<Robotics of {self._equations.terms.name!r} by {self._equations.formalism}>"

    # --- places -----------------------------------------------------------------------------------

    def frame_jacobian(
        self,
        place: Place,
        q: Numbers,
        t: Any = 0.0,
        parameters: Any = None,
        frame: Axes = "world",
        admissible: bool = False,
        threads: int = 1,
        out: Any = None,
    ) -> np.ndarray:
        """J with (v, ω) = J u, and what time drives, of a body's or marker's origin: 6 rows, a
        column for each speed.

        admissible: J S instead, a column for each freedom that the constraints leave, with S of
            ``admissible_speeds``.
        """
        key, given = (
            ("frame jacobian", checked_place(place), _axes(frame)),
            (q, None, t, None, parameters),
        )
        J = self._value(key, lambda: self._jacobian(place, frame), 2, *given, threads, out)
        if admissible is False or not flag("admissible", admissible):
            return J
        return np.asarray(J @ self.admissible_speeds(q, None, t, parameters))

    def frame_jacobian_rate(
        self,
        place: Place,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        parameters: Any = None,
        frame: Axes = "world",
        threads: int = 1,
        out: Any = None,
    ) -> np.ndarray:
        """J̇ along the motion: J u̇ + J̇ u is the rate of (v, ω), and of what time drives."""
        key = "frame jacobian rate", checked_place(place), _axes(frame)
        given = q, u, t, None, parameters, threads, out
        return self._value(key, lambda: self._jacobian_rate(place, frame), 2, *given)

    def spatial_velocity(
        self,
        place: Place,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        parameters: Any = None,
        frame: Axes = "world",
    ) -> np.ndarray:
        """(v, ω) of a body's or marker's origin."""
        m, axes = self._equations.terms.chart.motion, _in_frame(place, frame)

        def derive() -> SX:
            return ca.vertcat(m.velocity(place, axes), m.angular_velocity(place, axes))

        key = "spatial velocity", checked_place(place), frame
        return self._value(key, derive, 1, q, u, t, None, parameters)

    def spatial_acceleration(
        self,
        place: Place,
        q: Numbers,
        u: Numbers,
        udot: Any = None,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        frame: Axes = "world",
    ) -> np.ndarray:
        """(a, ε) of a body's or marker's origin: the acceleration of the point itself, turned into
        the axes that are asked for.

        udot: accelerations u̇; those of the motion, if not given.
        """
        m, axes = self._equations.terms.chart.motion, _in_frame(place, frame)
        kernel = self._equations.numeric.kernel(
            ("spatial acceleration", checked_place(place), frame),
            lambda: [ca.vertcat(m.acceleration(place, axes), m.angular_acceleration(place, axes))],
            [1],
            self._equations.terms.symbols.udot,
        )
        given = q, u, t, inputs, parameters
        if udot is None:
            udot = self._equations.accelerations(*given)
        numeric = self._equations.numeric
        return kernel(*numeric.arguments(*given), numeric.arguments.accelerations(udot))[0]

    def _jacobian(self, place: Place, frame: Axes) -> SX:
        chart = self._equations.terms.chart
        J = self._columns.jacobian(*chart.motion.spot(place))
        return J if frame == "world" else _turned(chart.motion.rotation(place).T, J)

    def _jacobian_rate(self, place: Place, frame: Axes) -> SX:
        """In body axes: Rᵀ (J̇ − ω̃ J)."""
        m = self._equations.terms.chart.motion
        rates = self._columns.jacobian_rate(*m.spot(place))
        if frame == "world":
            return rates
        turning = _turned(ca.skew(m.angular_velocity(place)), self._jacobian(place, "world"))
        return _turned(m.rotation(place).T, rates - turning)

    # --- everything -------------------------------------------------------------------------------

    def centre_of_mass(self, q: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """c = Σ m r_C / Σ m."""
        given = q, None, t, None, parameters
        return self._value("centre", lambda: centre_of_mass(self._massive), 1, *given)

    def centre_of_mass_jacobian(
        self,
        q: Numbers,
        t: Any = 0.0,
        parameters: Any = None,
        threads: int = 1,
        out: Any = None,
    ) -> np.ndarray:
        """∂ċ/∂u: 3 rows."""

        def derive() -> SX:
            return self._columns.momentum_matrix[:3, :] / total_mass(self._massive)

        given = q, None, t, None, parameters, threads, out
        return self._value("centre jacobian", derive, 2, *given)

    def momentum(self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """h: linear momentum, and angular momentum about the centre of mass; world axes."""
        given = q, u, t, None, parameters
        return self._value("momentum", lambda: momentum(self._massive), 1, *given)

    def momentum_matrix(
        self,
        q: Numbers,
        t: Any = 0.0,
        parameters: Any = None,
        threads: int = 1,
        out: Any = None,
    ) -> np.ndarray:
        """The centroidal momentum matrix ∂h/∂u: 6 rows."""
        given = q, None, t, None, parameters, threads, out
        return self._value("momentum matrix", self._momentum_matrix, 2, *given)

    def momentum_matrix_rate(
        self,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        parameters: Any = None,
        threads: int = 1,
        out: Any = None,
    ) -> np.ndarray:
        """Its rate along the motion."""

        def derive() -> SX:
            return rate(self._massive, self._momentum_matrix())

        given = q, u, t, None, parameters, threads, out
        return self._value("momentum matrix rate", derive, 2, *given)

    def momentum_bias(
        self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """ḣ at u̇ = 0: the rate of the momentum matrix times u, and what time drives."""

        def derive() -> SX:
            return self._massive.rate(momentum(self._massive))

        return self._value("momentum bias", derive, 1, q, u, t, None, parameters)

    def _momentum_matrix(self) -> SX:
        assert self._massive
        return self._columns.momentum_matrix

    # --- dynamics ---------------------------------------------------------------------------------

    def bias_efforts(
        self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None, threads: int = 1
    ) -> np.ndarray:
        """C u + g: what holds u̇ at zero against inertia and gravity, along the speeds; the model's
        springs, dampers, motors and other forces left aside (``efforts`` has them)."""

        def derive() -> SX:
            rotors = -rotor_terms(self._equations.terms.chart)[1]
            return self._rigid.bias + self._rigid.gravity + rotors

        return self._value("bias", derive, 1, q, u, t, None, parameters, threads)

    def gravity_efforts(
        self, q: Numbers, t: Any = 0.0, parameters: Any = None, threads: int = 1
    ) -> np.ndarray:
        """g: what holds everything against gravity, along the speeds."""
        given = q, None, t, None, parameters, threads
        return self._value("gravity", lambda: self._rigid.gravity, 1, *given)

    def coriolis_matrix(
        self,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        parameters: Any = None,
        threads: int = 1,
        out: Any = None,
    ) -> np.ndarray:
        """C with Ṁ = C + Cᵀ, so that Ṁ − 2C is skew; C u are the inertia forces at u̇ = 0, but for
        those of what time drives.

        Where u = q̇ it is made of Christoffel's symbols: C_ij = Σ_k Γ_ijk u_k.
        """

        def derive() -> SX:
            return self._rigid.coriolis + rotor_coriolis(self._equations.terms.chart)

        return self._value("coriolis", derive, 2, q, u, t, None, parameters, threads, out)

    # --- what constraints leave -------------------------------------------------------------------

    def admissible_speeds(
        self, q: Numbers, u: Numbers | None = None, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """S with A S = 0: orthonormal columns, one for each freedom; the identity without
        constraints. Which basis it is means nothing, and may jump with q."""
        eqs, terms = self._equations, self._equations.terms
        if not eqs.constraints:
            shape = self._equations.numeric.arguments(q, u, t, None, parameters)[0].shape[:-1]
            count = len(eqs.speeds)
            return np.broadcast_to(np.eye(count), (*shape, count, count)).copy()
        if u is None and ca.depends_on(terms.A, terms.symbols.u):
            raise ArgumentError(
                "the constraints are not linear in the speeds, so that what they leave depends on "
                "them; multiply with admissible_speeds(q, u)"
            )
        scales = terms.scales
        A = eqs.constraint_jacobian(q, u, t, parameters)
        held = Independent(A, scales.rows, scales.speeds)
        ranks = np.unique(held.kept.sum(axis=-1))
        if len(ranks) != 1:
            raise ArgumentError(
                "the states of this batch have different numbers of freedoms (some are singular "
                "positions); ask for them one by one"
            )
        Vt = np.linalg.svd(held.rows / scales.speeds)[2]
        return np.swapaxes(Vt[..., ranks[0] :, :], -1, -2)

    def operational_inertia(
        self,
        place: Place,
        q: Numbers,
        t: Any = 0.0,
        parameters: Any = None,
        frame: Axes = "world",
        part: Part = "pose",
        constrained: bool = True,
    ) -> np.ndarray:
        """Λ = (J M⁻¹ Jᵀ)⁻¹, the inertia that is felt at a place; with constraints
        (J S (SᵀM S)⁻¹ Sᵀ Jᵀ)⁻¹, unless ``constrained=False``.

        part: rows of J: "pose" (all six), "position" or "rotation".

        In directions in which the place cannot move there is no inertia to speak of, and Λ is zero
        there (the pseudo-inverse).
        """
        rows = PARTS[choice("part", part, tuple(PARTS))]
        given = checked_place(place), q, t, parameters, _axes(frame)
        if flag("constrained", constrained) and self._equations.constraints:
            way = self._constrained_mobility(*given)
        else:
            way = self._mobility(*given)
        return np.linalg.pinv(way[..., rows, rows], rcond=SINGULAR, hermitian=True)

    def _mobility(
        self, place: Place, q: Numbers, t: Any, parameters: Any, frame: Axes
    ) -> np.ndarray:
        """J M⁻¹ Jᵀ."""

        def derive() -> SX:
            J = self._jacobian(place, frame)
            return J @ Factor(self._equations.terms.M).solve(J.T)

        key = "mobility", place, frame
        found = self._value(key, derive, 2, q, None, t, None, parameters)
        if not np.isfinite(found).all():
            raise self._singular(q, t, parameters)
        return found

    def _constrained_mobility(
        self, place: Place, q: Numbers, t: Any, parameters: Any, frame: Axes
    ) -> np.ndarray:
        S = self.admissible_speeds(q, None, t, parameters)
        J = self.frame_jacobian(place, q, t, parameters, frame) @ S
        M = np.swapaxes(S, -1, -2) @ self._equations.mass_matrix(q, t, parameters) @ S
        try:
            return np.asarray(J @ np.linalg.solve(M, np.swapaxes(J, -1, -2)))
        except np.linalg.LinAlgError:
            raise self._singular(q, t, parameters) from None

    def _singular(self, q: Numbers, t: Any, parameters: Any) -> ArgumentError:
        numeric = self._equations.numeric
        why = undetermined_message(numeric, numeric.arguments(q, None, t, None, parameters))
        return ArgumentError(f"operational_inertia: {why}")

    def manipulability(
        self,
        place: Place,
        q: Numbers,
        t: Any = 0.0,
        parameters: Any = None,
        part: Part = "position",
    ) -> np.ndarray:
        """√det(J Jᵀ) with J of the admissible speeds (Yoshikawa): zero where a direction is lost.

        part: rows of J: "position", "rotation" or "pose" (all six), but for those that are zero
            whatever q is. With fewer freedoms than rows it is √det(Jᵀ J): zero where a freedom
            leaves the place at rest.
        """
        rows = range(6)[PARTS[choice("part", part, tuple(PARTS))]]
        J = self.frame_jacobian(place, q, t, parameters, admissible=True)
        structure = self._jacobian(place, "world")
        moving = [k for k in rows if structure[k, :].nnz()]
        sigma = np.linalg.svd(J[..., moving, :], compute_uv=False)
        return np.asarray(sigma.prod(axis=-1))

    # --- inside -----------------------------------------------------------------------------------

    @property
    def _columns(self) -> Columns:
        return columns(self._equations.terms.chart)

    @property
    def _rigid(self) -> Columns:
        """The columns, if every motion along the speeds is one of rigid bodies."""
        if self._equations.terms.chart.own_constraints:
            raise UnsupportedError(
                f"{self._equations.formalism}: points may move as no rigid body does, so that "
                "these forces are not determined along their speeds; use joint coordinates, "
                'equations("kane")'
            )
        return self._columns

    @property
    def _massive(self) -> Any:
        """The chart, if there is any mass."""
        chart = self._equations.terms.chart
        if total_mass(chart).is_zero():
            raise UnsupportedError(
                f"{self._equations.terms.name!r} has no body with mass, so it has no centre of "
                "mass and no momentum; what is composed or written down has no bodies, "
                "system.equations() has"
            )
        return chart

    def _value(self, key: Any, derive: Callable[[], SX], axes: int, *given: Any) -> np.ndarray:
        return self._equations.numeric.evaluate(("robotics", key), derive, axes, *given)


def _axes(frame: Any) -> Axes:
    if type(frame) is str and frame == "world":  # soon said, for calls of microseconds
        return "world"
    return "world" if choice("frame", frame, ("world", "body")) == "world" else "body"


def _in_frame(place: Place, frame: Axes) -> Place | None:
    return None if _axes(frame) == "world" else checked_place(place)


def _turned(R: SX, J: SX) -> SX:
    """Both halves of J, turned."""
    return ca.vertcat(R @ J[:3, :], R @ J[3:, :])
