"""``Equations``: what users hold. The terms of the contract on arrays, and every study as a
verb."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np
from casadi import SX

from . import door
from .arguments import Numbers, choice, flag, numbers, one_of
from .closures.closure import CLOSURES
from .composition.subsystem import composition
from .contract.accelerations import accelerations, constraint_forces, solve
from .contract.coefficients import Coefficients
from .contract.derivatives import derivatives, named
from .contract.derive import derive_terms
from .contract.evaluator import Evaluator
from .contract.mobility import mobility, redundant
from .contract.names import Names
from .contract.terms import Terms
from .errors import ArgumentError, ModelError, UnsupportedError, blamed, unknown
from .formalisms import DEFAULT, FORMALISMS
from .graph.expressions import has_nan
from .interrupts import remembered_interrupts
from .kernels import Kernel
from .model.described import canonical
from .model.description import Description
from .model.motion import Motion, Place
from .motion.motion import checked_place, column
from .studies.assembly.assemble import assemble
from .studies.equilibrium.equilibrium import equilibrium, steady
from .studies.inverse import inverse_dynamics
from .studies.linear.linearize import linearize
from .studies.robotics.inverse_kinematics import inverse_kinematics
from .studies.robotics.quantities import Axes, Robotics
from .studies.rollout import rollout
from .studies.simulation.simulate import simulate
from .vectors import NO_NUMBER

if TYPE_CHECKING:
    from .show.readable import Readable


class Equations:
    """The equations of motion: functions on arrays, with a batch as leading axes, and studies.

    Arguments come in one order: coordinates ``q``, speeds ``u`` (accelerations ``udot``), time
    ``t``, ``inputs``, ``parameters``; arrays, or mappings of some of the names to numbers.
    ``terms`` are the same equations as expressions.

    >>> import mechgraph as mg
    >>> arm = mg.System("pendulum", gravity=(0, 0, -9.81))
    >>> rod = arm.body("rod", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    >>> hinge = arm.revolute("hinge", arm.ground, rod, axis="y")
    >>> eqs = arm.equations("appell")
    >>> eqs
    <Equations of 'pendulum' by appell: 1 coordinate, 1 speed>
    >>> eqs.coordinates, eqs.speeds
    (('hinge',), ("hinge'",))
    >>> eqs.mass_matrix([0.3])
    array([[0.6]])
    """

    def __init__(self, terms: Terms, closure: str = "multipliers") -> None:
        """Equations of ``terms``, whatever they came from; ``closure`` is a name in
        ``mg.CLOSURES``."""
        if not isinstance(terms, Terms):
            raise ArgumentError(f"Equations takes mg.Terms, got {terms!r}")
        self.terms, self.closure = terms, one_of("closure", closure, CLOSURES, UnsupportedError)
        self.numeric = Evaluator(terms, closure)
        self._observed: WeakKeyDictionary[Any, tuple[Kernel, bool]] = WeakKeyDictionary()

    # --- names ------------------------------------------------------------------------------------

    @property
    def formalism(self) -> str:
        """How they were derived."""
        return self.terms.formalism

    @property
    def system(self) -> Description:
        """The description that these equations came from."""
        return self.terms.description

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of q."""
        return self.terms.symbols.coordinates

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of u."""
        return self.terms.symbols.speeds

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of w."""
        return self.terms.symbols.inputs

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of p."""
        return self.terms.symbols.parameters

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the rows of A, and so of λ."""
        return self.terms.constraints

    @cached_property
    def names(self) -> Names:
        """The table of names: ``eqs.names.resolve("elbow'")``."""
        return Names(self.terms)

    # --- functions on arrays ----------------------------------------------------------------------

    def mass_matrix(
        self, q: Numbers, t: Any = 0.0, parameters: Any = None, threads: int = 1
    ) -> np.ndarray:
        """M(q, t), symmetric."""
        kernel = self.numeric.kernels.get("M")
        if kernel is not None and parameters is None:
            M = kernel.quick(q, None, t)
            if M is not None:
                return M
        at = q, None, t, None, parameters
        return self.numeric.at(at, "M", lambda: self.terms.M, 2, threads)

    def forces(
        self,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        threads: int = 1,
    ) -> np.ndarray:
        """f(q, u, t, w): applied minus inertia forces."""
        return self.numeric.at((q, u, t, inputs, parameters), "f", lambda: self.terms.f, 1, threads)

    def accelerations(
        self,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        threads: int = 1,
    ) -> np.ndarray:
        """u̇ with all constraints."""
        kernel = self.numeric.kernels.get("known udot")  # there only without constraints
        if kernel is not None and inputs is None and parameters is None:
            udot = kernel.quick(q, u, t)
            if udot is not None:
                return udot
        return accelerations(self.numeric, (q, u, t, inputs, parameters), threads)

    def solve(
        self, q: Numbers, u: Numbers, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(u̇, λ) by the closure on numbers; redundant rows and singular positions are met."""
        return solve(self.numeric, (q, u, t, inputs, parameters))

    def multipliers(
        self, q: Numbers, u: Numbers, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> np.ndarray:
        """λ, the least-norm ones where constraints are redundant."""
        return self.solve(q, u, t, inputs, parameters)[1]

    def constraint_forces(
        self,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        nonideal: Any = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ideal and the non-ideal part of the constraint forces along the speeds, where the
        constraints exert ``nonideal`` besides what keeps them (Udwadia and Kalaba):
        M u̇ = f + ideal + non-ideal."""
        at = self.numeric.arguments(q, u, t, inputs, parameters)
        return constraint_forces(self.numeric, at, nonideal)[1:]

    def efforts(
        self,
        q: Numbers,
        u: Numbers,
        udot: Numbers,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        threads: int = 1,
    ) -> np.ndarray:
        """τ = M u̇ − f: the efforts along the speeds that the accelerations u̇ need beyond what is
        applied."""
        kernel = self.numeric.kernels.get("tau")
        if kernel is not None and inputs is None and parameters is None:
            tau = kernel.quick(q, u, t, None, None, udot)
            if tau is not None:
                return tau
        symbols = self.terms.symbols
        kernel = self.numeric.kernel("tau", lambda: [self.terms.tau], [1], symbols.udot)
        at = self.numeric.arguments(q, u, t, inputs, parameters)
        return kernel(*at, self.numeric.arguments.accelerations(udot), threads=threads)[0]

    def coordinate_rates(
        self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """q̇ = N u + n."""
        return self.numeric.at((q, u, t, None, parameters), "qdot", lambda: self.terms.qdot, 1)

    def constraint_jacobian(
        self, q: Numbers, u: Numbers | None = None, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """A(q, u, t), a row for each name in ``constraints``."""
        return self.numeric.at((q, u, t, None, parameters), "A", lambda: self.terms.A, 2)

    def position_violation(self, q: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """φ(q, t)."""
        return self.numeric.at((q, None, t, None, parameters), "phi", lambda: self.terms.phi, 1)

    def velocity_violation(
        self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """ψ(q, u, t)."""
        return self.numeric.at((q, u, t, None, parameters), "psi", lambda: self.terms.psi, 1)

    def kinetic_energy(
        self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """T."""
        return self.numeric.at((q, u, t, None, parameters), "T", lambda: self.terms.kinetic, 0)

    def potential_energy(self, q: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """V."""
        return self.numeric.at((q, None, t, None, parameters), "V", lambda: self.terms.potential, 0)

    def jacobian(
        self,
        of: str,
        wrt: str | Sequence[str],
        q: Numbers,
        u: Numbers | None = None,
        udot: Any = None,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        threads: int = 1,
        out: Any = None,
    ) -> Any:
        """Exact derivatives of a function of these equations.

        of: "accelerations", "efforts", "forces", "mass_matrix" (column by column),
            "coordinate_rates", "position_violation", "velocity_violation", "kinetic_energy" or
            "potential_energy"; its entries are the rows.
        wrt: "q", "u", "inputs", "parameters" or "t", whose entries are the columns; several,
            ``("q", "u")``, give a tuple of arrays, for which what they share is computed once.
        out: what an earlier call gave, to be written anew: a large batch then needs no fresh
            memory.
        """
        key = named(of, wrt)
        symbols = self.terms.symbols
        kernel = self.numeric.kernel(
            key, lambda: derivatives(self.numeric.closed, *key), [2] * (len(key) - 1), symbols.udot
        )
        at = self.numeric.arguments(q, u, t, inputs, parameters)
        given = self.numeric.arguments.accelerations(udot)
        into = [out] if isinstance(wrt, str) and out is not None else out
        values = kernel(*at, given, threads=threads, out=into)
        return values[0] if isinstance(wrt, str) else tuple(values)

    def observe(
        self,
        quantity: str | Callable[[Motion], Any],
        q: Numbers,
        u: Numbers | None = None,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        udot: Any = None,
    ) -> np.ndarray:
        """Any quantity of the motion as a column (matrices row by row).

        quantity: a name (see ``names``), or a function of the motion such as
            ``lambda m: m.velocity(tip)``.
        udot: accelerations, if it asks for them; those of the motion, if not given.
        """
        kernel, forced = self._observer(quantity)
        at, count = self.numeric.arguments(q, u, t, inputs, parameters), len(self.constraints)
        if not forced:
            solved = np.zeros(len(self.speeds) + count)
        elif udot is None:
            solved = np.concatenate(solve(self.numeric, at), axis=-1)
        else:
            given = self.numeric.arguments.accelerations(udot)
            given = np.broadcast_to(given, (*at.batch, len(self.speeds)))
            solved = np.concatenate([given, np.zeros((*at.batch, count))], axis=-1)
        return kernel(*at, solved)[0]

    def _observer(self, quantity: str | Callable[[Motion], Any]) -> tuple[Kernel, bool]:
        """The kernel of a quantity, a function of (u̇, λ), too, and whether it needs these."""
        forces = self.numeric.closed.force_symbols
        if isinstance(quantity, str):
            value = self.names.resolve(quantity).value
            kernel = self.numeric.kernel(("named", quantity), lambda: [value], [1], forces)
            return kernel, bool(ca.depends_on(value, forces))
        if not callable(quantity):
            raise ArgumentError(
                "observe takes a name, or a function of the motion such as "
                f"lambda m: m.velocity(tip), got {quantity!r}"
            )
        found = self._observed.get(quantity)
        if found is None:
            value = self._stated(quantity)
            kernel = self.numeric.build([value], [1], forces)
            found = self._observed[quantity] = kernel, bool(ca.depends_on(value, forces))
        return found

    def expression(self, quantity: str | Callable[[Motion], Any]) -> SX:
        """Any quantity of the motion as an expression of q, u, t, inputs and parameters, a column.

        quantity: a name, or a function of the motion, as ``observe`` takes them.
        """
        if isinstance(quantity, str):
            value = self.names.resolve(quantity).value
        else:
            value = self._stated(quantity)
        closed = self.numeric.closed
        if not ca.depends_on(value, closed.force_symbols):
            return value
        return ca.substitute(value, closed.force_symbols, ca.vertcat(closed.udot, closed.lam))

    def _stated(self, quantity: Callable[[Motion], Any]) -> SX:
        with blamed("quantity of the motion"):
            value = column(quantity(self.terms.chart.motion))
            if has_nan(value):
                raise ModelError(NO_NUMBER)
        return value

    def position(
        self, place: Place, q: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """Position of a body's or marker's origin in the world."""
        key, m = ("position", checked_place(place)), self.terms.chart.motion
        return self.numeric.at((q, None, t, None, parameters), key, lambda: m.position(place), 1)

    def rotation(
        self, place: Place, q: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """Rotation matrix of a body or marker: its components to world components."""
        key, m = ("rotation", checked_place(place)), self.terms.chart.motion
        return self.numeric.at((q, None, t, None, parameters), key, lambda: m.rotation(place), 2)

    @cached_property
    def robotics(self) -> Robotics:
        """Quantities of robotics: spatial velocities, momentum, Coriolis matrix and others."""
        return Robotics(self)

    def frame_jacobian(
        self,
        place: Place,
        q: Numbers,
        t: Any = 0.0,
        parameters: Any = None,
        frame: Axes = "world",
        admissible: bool = False,
    ) -> np.ndarray:
        """J with (v, ω) = J u of a body's or marker's origin, in world axes or those of the place;
        see ``Robotics.frame_jacobian``."""
        return self.robotics.frame_jacobian(place, q, t, parameters, frame, admissible)

    def reaction(
        self,
        name: str,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        frame: str = "world",
    ) -> np.ndarray:
        """(force, moment) of a joint's parent on its child through it, at the child's joint frame:
        world components, or with ``frame="joint"`` in the axes of that frame.

        Of a constraint or force: on the body of its last place, at that place; of a contact on its
        surface, at the point of contact.
        """
        system = self.system
        one_of("joint or constraint", name, [*system.joints, *system.constraints, *system.forces])
        axes = "joint " if choice("frame", frame, ("world", "joint")) == "joint" else ""
        return self.observe(f"{name}: {axes}reaction", q, u, t, inputs, parameters)

    # --- studies ----------------------------------------------------------------------------------

    assemble = assemble
    simulate = simulate
    rollout = rollout
    inverse_dynamics = inverse_dynamics
    inverse_kinematics = inverse_kinematics
    equilibrium = equilibrium
    steady = steady
    linearize = linearize
    mobility = mobility
    redundant = redundant

    def compile(self) -> bool:
        """Machine code for every function that has been called, and for ``accelerations``, now;
        False without a compiler."""
        # the reference need not meet the constraints, nor determine the motion
        with warnings.catch_warnings(), suppress(ArgumentError):
            warnings.simplefilter("ignore")
            self.accelerations(np.array(self.terms.chart.reference), np.zeros(len(self.speeds)))
        done = [kernel.compile() for kernel in self.numeric.kernels.values()]
        done += [routine.compile() for routine in self.numeric.closed.routines]
        return all(done)

    # --- for other programs, and for people -------------------------------------------------------

    def export_c(
        self,
        path: str | Path,
        precision: str = "double",
        functions: Sequence[str] | None = None,
    ) -> list[Path]:
        """Portable C of these equations: a header, a source, and a test that reproduces reference
        values; C99 that allocates nothing.

        path: name of the files, with or without an ending.
        precision: "double" or "float".
        functions: names of what is written, such as ["accelerations", "step"]; all, if not given.
        """
        return door.formats.c.export_c(self, path, precision, functions)

    def export_fmu(
        self,
        path: str | Path,
        version: str = "3.0",
        *,
        start: Any = None,
        guess: Mapping[str, float] | None = None,
        t: float = 0.0,
        parameters: Mapping[str, float] | None = None,
        outputs: Sequence[str] = (),
        duration: float = 1.0,
        rtol: float = 1e-8,
    ) -> Path:
        """An FMU of these equations for model exchange and co-simulation, with source and, where
        there is a compiler, machine code; the path of the file.

        path: NAME.fmu.
        version: of the standard FMI, "3.0" or "2.0".
        start, guess, t: as of ``simulate``; who uses the FMU may set another start.
        parameters: by name, other defaults.
        outputs: names (see ``names``) of what is given beside the states and the system's outputs.
        duration, rtol: of the default experiment.
        """
        given = {"start": start, "guess": guess, "t": t, "parameters": parameters}
        return door.formats.fmu.export_fmu(
            self, path, version, outputs=outputs, duration=duration, rtol=rtol, **given
        )

    def export(
        self,
        path: str | Path,
        functions: Sequence[str] | None = None,
        *,
        start: Any = None,
        guess: Mapping[str, float] | None = None,
        t: float | None = None,
        parameters: Mapping[str, float] | None = None,
        outputs: Sequence[str] | None = None,
        duration: float | None = None,
        rtol: float | None = None,
    ) -> list[Path]:
        """Write these equations for another program, by the ending of ``path``: C (.c), CasADi
        (.casadi), a module of Python that needs NumPy only (.py); or as a model with a start, an
        FMU (.fmu) or the text of a Modelica model (.mo) that needs no library.

        functions: names of what is written; all, if not given. Not of a model.
        start, guess, t, parameters, outputs, duration, rtol: of a model, as of ``export_fmu``.
        """
        about = {"start": start, "guess": guess, "t": t, "parameters": parameters}
        about |= {"outputs": outputs, "duration": duration, "rtol": rtol}
        given = {key: value for key, value in about.items() if value is not None}
        return door.formats.export.export(self, path, functions, given)

    def to_casadi(self, functions: Sequence[str] | None = None) -> dict[str, ca.Function]:
        """CasADi functions by name, of (q, u, t, w, p); inverse dynamics of (q, u, udot, t, w, p).

        functions: the names of those that are wanted; all, if not given.
        """
        return door.formats.exported.casadi_functions(self, functions)

    def to_jax(self, functions: Sequence[str] | None = None) -> dict[str, Any]:
        """The functions of ``to_casadi`` on JAX arrays: batched, differentiable."""
        return door.formats.arrays.to_jax(self, functions)

    def to_torch(self, functions: Sequence[str] | None = None) -> dict[str, Any]:
        """The functions of ``to_casadi`` on PyTorch tensors."""
        return door.formats.arrays.to_torch(self, functions)

    def rhs(self, t: Any, y: Numbers, inputs: Any = None, parameters: Any = None) -> np.ndarray:
        """(q̇, u̇) of y = (q, u), for integrators of others: the right-hand side of ẏ = F(t, y)."""
        state = numbers("y", (*self.coordinates, *self.speeds), y, copy=False)
        q, u = np.split(state, [len(self.coordinates)], axis=-1)
        rates = self.coordinate_rates(q, u, t, parameters)
        return np.concatenate([rates, self.accelerations(q, u, t, inputs, parameters)], axis=-1)

    def to_sympy(
        self, simplify: bool = True, symbols: Mapping[str, Any] | str | None = None
    ) -> Readable:
        """N, M, f, φ, ψ, A, b as SymPy matrices of plain symbols with the user's names.

        ``symbols``: others by name, or ``"dynamic"`` for functions of time, as ``dynamicsymbols``
        makes them.
        """
        simplified = flag("simplify", simplify)
        return door.show.readable.to_sympy(self, simplified, symbols=symbols)

    def show(self, simplify: bool = True) -> str:
        """The equations as text."""
        return door.show.readable.equations_text(self, flag("simplify", simplify))

    def latex(self, simplify: bool = True) -> str:
        """The equations as LaTeX."""
        return door.show.latex.equations_latex(self, flag("simplify", simplify))

    def __repr__(self) -> str:
        counts = [
            (len(self.coordinates), "coordinate"),
            (len(self.speeds), "speed"),
            (len(self.constraints), "constraint row"),
        ]
        listed = ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts if n)
        closed = f", closed by {self.closure}" if self.constraints else ""
        return f"<Equations of {self.terms.name!r} by {self.formalism}: {listed}{closed}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Equations, (self.terms, self.closure)

    # --- a formalism's own quantities -------------------------------------------------------------

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name in ("terms", "numeric"):
                raise AttributeError(name)
            if name == "composition" and (whole := composition(self)) is not None:
                return whole
            if name == self.formalism.replace("-", "_"):
                return Coefficients(self)
            raise AttributeError(self._missing(name))

    def _missing(self, name: str) -> str:
        """A message about an attribute that is not there."""
        formalism = name.replace("_", "-")
        if formalism in FORMALISMS:
            return (
                f"these equations are by {self.formalism}; the quantities of {formalism} are those "
                f"of system.equations({formalism!r}).{name}"
            )
        return unknown("attribute of Equations", name, [n for n in dir(self) if n[0] != "_"])


def derive(
    description: Description,
    formalism: str | None = None,
    closure: str = "multipliers",
    **options: Any,
) -> Equations:
    """Equations of a description by a formalism (see ``FORMALISMS``) with a closure (see
    ``CLOSURES``): the same to all who ask, for a description does not change, nor do they."""
    one_of("closure", closure, CLOSURES, UnsupportedError)
    name = DEFAULT if formalism is None else formalism
    made, key = description.derived, ("terms", canonical((name, options)))
    with remembered_interrupts():
        if key not in made:
            made[key] = derive_terms(description, formalism, **options)
        if (key, closure) not in made:
            made[key, closure] = Equations(made[key], closure)
    found: Equations = made[key, closure]
    return found
