"""What an FMU holds: a model's variables with their value references, and its functions as
expressions of one vector x = (q, u, t, p, w)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import listed, named, number
from ..contract.names import RATE
from ..equations import Equations
from ..errors import UnsupportedError
from ..graph.kinks import pieces
from ..kernels.flow import Flow
from ..model.parameter_checks import Fraction, Limit
from ..runtime.contact_resolver import Layout
from ..studies.contact.modes import Contacts
from ..studies.contact.resolution import expressions, layout
from ..studies.simulation.context import Context

RETURN = 10.0  # 1/s, RATE of fmu.h
ILLEGAL = re.compile("[^ -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in a name, by XML and FMI


@dataclass(frozen=True)
class Variable:
    """A number that others can ask for; ``kind`` says what it is."""

    name: str
    kind: str
    reference: int
    unit: str = ""
    start: float | None = None
    fixed: bool = False  # a parameter that cannot be changed in a running simulation


@dataclass(frozen=True)
class FmuModel:
    """Equations with a start, outputs by name, and an experiment."""

    equations: Equations
    state: tuple[np.ndarray, np.ndarray]
    t: float
    parameters: np.ndarray
    outputs: tuple[str, ...]
    duration: float
    rtol: float

    @property
    def identifier(self) -> str:
        """The model's name as one of C."""
        name = re.sub(r"\W", "_", self.equations.terms.name, flags=re.ASCII)
        return name if re.match(r"[A-Za-z_]", name) else f"model_{name}"

    # --- expressions ------------------------------------------------------------------------------

    @cached_property
    def flow(self) -> Flow:
        """q̇, u̇ and the way back to the constraints."""
        return self.equations.numeric.closed.flow()

    @property
    def is_kept(self) -> bool:
        """True if there are constraints that a state may leave."""
        return self.flow.projected is not None

    @property
    def needs_looks(self) -> bool:
        """True if there is something to look after at every step."""
        return self.is_kept or self.contacts is not None

    @property
    def y(self) -> SX:
        """(q, u)."""
        return ca.vertcat(self.flow.q, self.flow.u)

    @property
    def x(self) -> SX:
        """All numbers that something depends on."""
        return ca.vertcat(self.y, self.flow.t, self.flow.p, self.flow.w)

    @property
    def start(self) -> np.ndarray:
        """x at the start; inputs are zero."""
        inputs = np.zeros(len(self.equations.inputs))
        return np.concatenate([*self.state, [self.t], self.parameters, inputs])

    @cached_property
    def slope(self) -> SX:
        """ẏ, taken at the state after the way back."""
        rates = ca.vertcat(self.flow.qdot, self.flow.udot)
        if self.flow.projected is None:
            return rates
        return ca.substitute(rates, self.y, self.flow.projected)

    @cached_property
    def kept(self) -> SX:
        """The state after the way back."""
        return self.y if self.flow.projected is None else self.flow.projected

    @cached_property
    def derivatives(self) -> SX:
        """ẏ for integrators of others: the constraints attract."""
        return self.slope + RETURN * (self.kept - self.y) if self.is_kept else self.slope

    @cached_property
    def observed(self) -> SX:
        """The outputs, one after the other."""
        values = [self.equations.expression(name) for name in self.output_names]
        return ca.densify(ca.vertcat(SX(0, 1), *values))

    @cached_property
    def contacts(self) -> Contacts | None:
        """All that is switched, if anything is."""
        if not self.equations.terms.chart.description.switched:
            return None
        given = dict(zip(self.equations.parameters, map(float, self.parameters), strict=True))
        return Contacts(self.equations, Context.make(self.equations, None, given))

    @property
    def layout(self) -> Layout:
        """Where contacts.c finds in x what it switches."""
        assert self.contacts is not None
        first = self.y.numel() + 1
        places = {name: first + k for k, name in enumerate(self.equations.parameters)}
        return layout(self.equations, self.contacts.points, places)

    @property
    def tolerance(self) -> float:
        """Of the default experiment: what was asked for, or the largest that contacts allow."""
        return min(self.rtol, self.largest_tolerance)

    @property
    def largest_tolerance(self) -> float:
        """With which the end of a slip is still seen."""
        return 1.0 if self.contacts is None else min(1.0, self.contacts.tolerance)

    @cached_property
    def surfaces(self) -> SX:
        """What falls through zero where contacts change, then what is zero where forces change from
        one piece to another, then pieces of tables."""
        margins = SX(0, 1) if self.contacts is None else self.contacts.margins
        return ca.vertcat(margins, self.equations.numeric.closed.kinks, self.pieces)

    @cached_property
    def pieces(self) -> SX:
        """Numbers of pieces, which tell how many stops of a table are passed."""
        return pieces(self.equations.numeric.closed.kinks)

    @cached_property
    def limits(self) -> tuple[SX, SX]:
        """What must be positive, and what must not be negative, with all values of the
        parameters."""
        terms = self.equations.terms
        description, p = terms.chart.description, terms.symbols.p
        found = [limit for element in description.elements for limit in element.limits]
        strict = [limit.value for limit in found if limit.positive and type(limit) is Limit]
        strict += [b.mass for b in description.bodies.values() if not b.allow_unphysical]
        loose = [limit.value for limit in found if type(limit) is not Limit or not limit.positive]
        loose += [1 - limit.value for limit in found if isinstance(limit, Fraction)]
        return _deciding(strict, p), _deciding(loose, p)

    @cached_property
    def unknowns(self) -> SX:
        """All that is computed: derivatives, outputs, event indicators."""
        return ca.vertcat(self.derivatives, self.observed, self.surfaces)

    def functions(self) -> dict[str, ca.Function]:
        """The functions that the C code calls, by name."""
        x, dx = self.x, SX.sym("dx", self.x.numel())
        results = {
            "flow": self.slope,
            "keep": self.kept,
            "output": self.observed,
            "surface": self.surfaces,
            "limit": ca.vertcat(*self.limits),
        }
        if self.contacts is not None:
            found = expressions(self.equations, self.contacts.points)
            results |= {f"contact_{name}": expression for name, expression in found.items()}
        made = {name: ca.Function(name, [x], [ca.densify(e)]) for name, e in results.items()}
        along = ca.densify(ca.jtimes(self.unknowns, x, dx))
        return made | {"direction": ca.Function("direction", [ca.vertcat(x, dx)], [along])}

    # --- variables --------------------------------------------------------------------------------

    @property
    def output_names(self) -> tuple[str, ...]:
        """The user's outputs, and what else was asked for; states are there anyway."""
        states = {*self.equations.coordinates, *self.equations.speeds}
        asked = dict.fromkeys((*self.equations.terms.outputs, *self.outputs))
        return tuple(name for name in asked if name not in states)

    @cached_property
    def variables(self) -> list[Variable]:
        """In the order of their value references, with names that a file can carry, each one
        once."""
        found: list[Variable] = []
        taken: set[str] = set()
        for name, kind, unit, start, fixed in self._listed():
            name = _unique(ILLEGAL.sub(lambda m: ascii(m[0])[1:-1], name), taken)
            found.append(Variable(name, kind, len(found), unit, start, fixed))
        return found

    def _listed(self) -> Iterator[tuple[str, str, str, float | None, bool]]:
        eqs, names = self.equations, self.equations.names
        states = [(n, *names.resolve(n).units) for n in (*eqs.coordinates, *eqs.speeds)]
        yield "time", "time", "s", None, False
        for (name, unit), value in zip(states, np.concatenate(self.state), strict=True):
            yield name, "state", unit, float(value), False
        for name, unit in states:
            yield f"der({name})", "derivative", RATE.get(unit, ""), None, False
        fixed, switches = self._fixed, () if self.contacts is None else self.contacts.switches
        for k, name in enumerate(eqs.parameters):
            if name in switches:
                yield name, "mode", "", None, True
            else:
                yield name, "parameter", "", float(self.parameters[k]), fixed[k]
        for name in eqs.inputs:
            yield name, "input", "", 0.0, False
        for name in self.output_names:
            quantity = names.resolve(name)
            for label, unit in zip(quantity.labels, quantity.units, strict=True):
                yield label, "output", unit, None, False
        for k in range(self.surfaces.numel()):
            yield f"event indicator {k + 1}", "indicator", "", None, False

    @property
    def _fixed(self) -> list[bool]:
        """Of each parameter, whether constraints depend on it: a change would tear them apart."""
        terms = self.equations.terms
        held = ca.vertcat(terms.phi, terms.psi)
        return [bool(ca.depends_on(held, p)) for p in ca.vertsplit(terms.symbols.p)]

    def of(self, *kinds: str) -> list[Variable]:
        """The variables of some kinds."""
        return [variable for variable in self.variables if variable.kind in kinds]

    def dependencies(self) -> dict[int, list[int]]:
        """Of each unknown, by value reference, those of time, states and inputs that it depends
        on."""
        known = [*self.of("state"), *self.of("time"), *self.of("parameter", "mode", "input")]
        pattern = ca.Function("f", [self.x], [self.unknowns]).jac_sparsity(0, 0)
        out: dict[int, list[int]] = {v.reference: [v.reference] for v in self.of("state")}
        unknown = self.of("derivative", "output", "indicator")
        out |= {variable.reference: [] for variable in unknown}
        for row, column in zip(*pattern.get_triplet(), strict=True):
            if known[column].kind not in ("parameter", "mode"):
                out[unknown[row].reference].append(known[column].reference)
        return {reference: sorted(found) for reference, found in out.items()}


def started(
    call: str,
    equations: Equations,
    *,
    start: Any = None,
    guess: Any = None,
    t: float = 0.0,
    parameters: Any = None,
    outputs: Any = (),
    duration: float = 1.0,
    rtol: float = 1e-8,
    switched: bool = False,
) -> FmuModel:
    """Equations with all that a simulation elsewhere begins with; refused if anything in them is
    switched, unless it may be."""
    description = equations.terms.chart.description
    if description.switched and not switched:
        raise UnsupportedError(
            f"{call}: {description.switching} opens, closes or sticks, and its impacts are "
            "known to simulate and to FMUs only; export an FMU, or use a compliant contact, a stop "
            "with stiffness, or regularized friction"
        )
    asked = listed("outputs", outputs)
    for name in asked:
        equations.names.resolve(name)
    given = named("parameters", parameters) or None
    return FmuModel(
        equations,
        equations.assemble(start, guess=guess, t=number("t", t), parameters=given),
        float(t),
        equations.numeric.arguments.parameters(given),
        tuple(asked),
        number("duration", duration, positive=True),
        number("rtol", rtol, positive=True),
    )


def _deciding(values: list[SX], p: SX) -> SX:
    """Those that parameters alone decide."""
    own = {symbol.__hash__() for symbol in ca.vertsplit(p)} if p.numel() else set()
    kept = [
        v
        for v in values
        if not v.is_constant() and own.issuperset(s.__hash__() for s in ca.symvar(v))
    ]
    return ca.vertcat(SX(0, 1), *kept)


def _unique(name: str, taken: set[str]) -> str:
    """A name that is not taken yet."""
    count, free = 1, name
    while free in taken:
        count += 1
        free = f"{name} ({count})"
    taken.add(free)
    return free
