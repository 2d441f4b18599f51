"""The equations of a system for other programs: functions by name, of coordinates q,
speeds u, accelerations u̇ (inverse dynamics only), time t, inputs w and parameters p."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from ..arguments import some_of
from ..closures.expressions import PROXIMAL_SINGLE
from ..contract.closed import Closed
from ..contract.derivatives import ColumnFunction, of_accelerations
from ..equations import Equations
from ..graph import Program, trace

ARGUMENTS = ("q", "u", "t", "w", "p")
LONG = "accelerations_jacobian"  # a closure for every column
INVERSE = ("q", "u", "udot", "t", "w", "p")


@dataclass(frozen=True)
class Exported:
    """A function for other programs: what it is, its value, and what it is a function of."""

    meaning: str
    value: SX | ColumnFunction
    arguments: tuple[str, ...] = ARGUMENTS

    @property
    def prepared(self) -> SX:
        """The part that is computed of the arguments at once: the value, row by row; of one by
        columns what they share, and the own part of each."""
        if isinstance(self.value, SX):
            return ca.densify(ca.vec(self.value.T))
        return ca.densify(ca.vertcat(self.value.shared, ca.vec(self.value.own)))


def exported(
    equations: Equations,
    functions: Sequence[str] | None = None,
    beside: Sequence[str] = (),
    single: bool = False,
) -> dict[str, Exported]:
    """The functions by name: all but the ``LONG`` one with constraints, or those that are asked
    for. ``beside`` are names that may be asked for, too, and are made elsewhere; ``single`` is for
    computers that round in single precision."""
    closed = equations.numeric.closed
    if single:
        closed = Closed(equations.terms, closed.closure, PROXIMAL_SINGLE)
    known = _available(equations, closed)
    usual = [name for name in known if name != LONG or not equations.constraints]
    asked = usual if functions is None else some_of("function", functions, [*known, *beside])
    return {name: make() for name, make in known.items() if name in asked}


def casadi_functions(
    equations: Equations, functions: Sequence[str] | None = None
) -> dict[str, ca.Function]:
    """CasADi functions by name."""
    made = exported(equations, functions)
    return {name: casadi_function(equations, name, each) for name, each in made.items()}


def casadi_function(equations: Equations, name: str, each: Exported) -> ca.Function:
    """It as a function of CasADi's; one by columns calls that of its column for each of them."""
    x, value, options = symbols(equations, each), each.value, {"cse": True}
    if isinstance(value, SX):
        return ca.Function(name, x, [value], [*each.arguments], [name], options)
    prepare = ca.Function("prepare", x, [value.shared, value.own], options)
    given = [ca.MX.sym(symbol, *own.shape) for symbol, own in zip(each.arguments, x, strict=True)]
    shared, own = prepare(*given)
    columns = [value.column(shared, column) for column in ca.horzsplit(own)]
    return ca.Function(name, given, [ca.horzcat(*columns)], [*each.arguments], [name])


def row_by_row(function: ca.Function) -> Program:
    """A function of one result as a program, with that result row by row."""
    x = function.sx_in()
    return trace(ca.Function("rows", x, [ca.densify(ca.vec(function.call(x)[0].T))]))


def symbols(equations: Equations, function: Exported) -> list[SX]:
    """The arguments of a function, as symbols."""
    return [getattr(equations.terms.symbols, name) for name in function.arguments]


def frames(equations: Equations) -> tuple[str, ...]:
    """Bodies and markers: the order of positions, rotations and Jacobians of frames."""
    description = equations.terms.chart.description
    return (*description.bodies, *description.markers)


def _available(equations: Equations, closed: Closed) -> dict[str, Callable[[], Exported]]:
    """All functions of these equations, each derived if it is asked for."""
    terms = equations.terms
    results: dict[str, Callable[[], Exported]] = {
        "accelerations": lambda: Exported("forward dynamics, u'", closed.udot),
        "efforts": lambda: Exported("inverse dynamics, M u' - f", terms.tau, INVERSE),
        "mass_matrix": lambda: Exported("M", ca.densify(terms.M)),
        "forces": lambda: Exported("f, applied minus inertia forces", terms.f),
        "coordinate_rates": lambda: Exported("q'", terms.qdot),
        "energies": lambda: Exported(
            "kinetic, potential", ca.vertcat(terms.kinetic, terms.potential)
        ),
        "accelerations_jacobian": lambda: Exported(
            "derivatives of u' by (q, u, w)",
            of_accelerations(closed, "q", "u", "inputs"),
        ),
    }
    if terms.outputs:
        results["outputs"] = lambda: Exported(
            "of the model: " + ", ".join(terms.outputs),
            ca.vertcat(*(equations.expression(name) for name in terms.outputs)),
        )
    if frames(equations):
        results |= _kinematics(equations)
    if equations.constraints:
        results["constraints"] = lambda: Exported(
            "of positions, then of speeds", ca.vertcat(terms.phi, terms.psi)
        )
        results["constraint_jacobian"] = lambda: Exported("A", ca.densify(terms.A))
    if terms.psi.numel() or terms.chart.quaternions:
        results["projected"] = lambda: Exported(
            "(q, u) after one Newton step back to the constraints", closed.projected
        )
    return results


def _kinematics(equations: Equations) -> dict[str, Callable[[], Exported]]:
    """Where bodies and markers are, and how they move with the speeds."""
    m, u, places = equations.terms.chart.motion, equations.terms.symbols.u, frames(equations)

    def jacobians() -> SX:
        twists = [ca.vertcat(m.velocity(name), m.angular_velocity(name)) for name in places]
        return ca.densify(ca.jacobian(ca.vertcat(*twists), u))

    return {
        "positions": lambda: Exported(
            "of the frames, in the world", ca.vertcat(*map(m.position, places))
        ),
        "rotations": lambda: Exported(
            "of the frames to the world", ca.densify(ca.vertcat(*map(m.rotation, places)))
        ),
        "frame_jacobians": lambda: Exported(
            "(velocity, angular velocity) of each frame by u, 6 rows each", jacobians()
        ),
    }
