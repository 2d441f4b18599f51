"""``compose``: the equations of a system from the known equations of its parts.

With the speeds u = (u⊕, (…, u of the parts, …)) and the rows of constraints in the same way, M and
f of the parts stand beside each other, the new rows and forces are added, and the orthogonal
complement follows along the tree of subsystems (``node.py``). Whatever a part is made of, its
matrices are put in as they are, not derived again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from .. import door
from ..arguments import is_name, listed, named, number
from ..closures.complement import Choice
from ..closures.friction import is_homogeneous
from ..contract.checks import check_expressions
from ..contract.terms import Terms, TermsParts
from ..contract.written import PlainChart, WrittenRows, expression, later
from ..errors import ModelError, blamed, shown, unknown
from ..formalisms.dynamics import Dynamics
from ..graph.expressions import has_nan
from ..model.description import Description
from ..model.system import System
from ..motion.energy import Energies
from ..motion.levels import Levels
from ..motion.reactions import NoReactions
from ..motion.samples import Samples
from ..motion.variables import column_of
from ..numerics.tolerances import GIVEN
from ..vectors import NO_NUMBER, NOT_AN_EXPRESSION
from .choices import choose, pivoting
from .from_system import read_composition
from .higher_order import raise_order
from .naming import read_names, read_parts, whole_variables
from .node import TreeNode
from .part import PlacedPart, constraint_order
from .parts_view import PartsView
from .rows import MONITORS, WithRate, monitors, new_rows, rated_rows, raw_order, stack
from .tree_closure import Placement, TreeClosure, TreeWay

if TYPE_CHECKING:
    from ..equations import Equations

Stated = Callable[[PartsView], Any]  # an expression, as a function of what is seen


def compose(
    name: str | System | Description,
    parts: Mapping[str, Any] | Sequence[Any] = (),
    *,
    coordinates: Mapping[str, Stated] | Sequence[str] = (),
    speeds: Mapping[str, Stated | None] | Sequence[str] = (),
    constraints: Mapping[str, Stated] | None = None,
    forces: Mapping[str, Any] | None = None,
    inputs: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
    outputs: Mapping[str, Stated] | None = None,
    independent: Sequence[str] | None = None,
    complement: str = "automatic",
    reference: Mapping[str, float] | None = None,
    closure: str = "multipliers",
) -> Equations:
    """Equations of a system that consists of parts whose equations are known.

    name: of the whole; or a ``System`` with others placed inside, which are its parts: each is
        derived once, and what joins them are the constraints. Nothing else is to be said then but
        ``independent``, ``complement``, ``reference`` and ``closure``.
    parts: by name, which is put before the names of its variables (``"left.angle"``), or a list,
        whose names stay what they are; equations, ``Terms``, a ``System``, or ``Part`` of these.
    coordinates: names of extra ones, each the integral of the speed of its name with a prime; or
        by name a function for its rate, such as ``lambda v: v["left.rate"] - v["right.rate"]``.
    speeds: names of extra ones; or by name a function that they are equal to, or None.
    constraints: functions of what is seen, ``lambda v: v["left.x"] - v["right.x"]``, that stay
        zero; of coordinates, speeds, or accelerations (``v["left.x''"]``), which tells their order.
        Several are a list, or a mapping of labels.
    forces: by the name of a speed, or of any velocity such as ``"left.tip'"``: a force along it, a
        number or a function; it may be affine in accelerations, and may grow with constraint forces
        (``v.multiplier("guide: 1")``), as friction does.
    inputs, parameters: further ones of the whole.
    outputs: further quantities, as functions of what is seen; constraints and forces may name
        them, too.
    independent: names of the speeds that stay free, the columns of S; chosen, if not given.
    complement: "automatic" (what constants do not eliminate is found anew at every state, so that
        no choice goes bad), "partition" (independent speeds are chosen once), "orthonormal", or
        "pivoted" (accelerations by QR with pivoting of all rows at every state: also where rows
        lose rank, or others of them are the independent ones; the slowest).
    reference: coordinates where assembly begins, if not those of the parts.
    """
    if isinstance(name, (System, Description)):
        given = (parts, coordinates, speeds, constraints, forces, inputs, parameters, outputs)
        whole = read_composition(name, any(given))
        start = {**whole.pop("reference"), **(reference or {})}
        chosen_by: Any = {"independent": independent, "complement": complement, "closure": closure}
        return compose(**whole, reference=start, **chosen_by)
    if not is_name(name):
        raise ModelError(f"the first argument of compose is a name, got {shown(name)}")
    with blamed(name):
        free = None if independent is None else listed("independent", independent, ModelError)
        made = _Composition(name, parts, coordinates, speeds, inputs, parameters)
        made.define(named("outputs", outputs))
        made.constrain(named("constraints", constraints))
        made.force(named("forces", forces))
        made.choose(free, complement, named("reference", reference))
        terms = made.terms()
        if made.high:
            terms = _raise(made, terms, complement)
    made_of: Equations = door.equations.Equations(terms, closure)
    return made_of


class _Composition:
    """What is known on the way from parts to terms."""

    def __init__(
        self,
        name: str,
        parts: Any,
        coordinates: Any,
        speeds: Any,
        inputs: Sequence[str],
        parameters: Mapping[str, float] | None,
    ) -> None:
        self.name, self.least, given = name, 0, read_parts(parts)
        self.extra = read_names("coordinates", coordinates), read_names("speeds", speeds)
        commands = read_names("inputs", inputs)
        self.symbols = whole_variables(
            *self.extra, given, commands, named("parameters", parameters)
        )
        self.parts: list[PlacedPart] = []
        first = len(self.extra[0]), len(self.extra[1])
        for key, prefix, part in given:
            placed = PlacedPart(key, prefix, part, self.symbols, first)
            first = placed.q.stop, placed.u.stop
            self.parts.append(placed)
        self.seen = PartsView(self.symbols, self.parts)
        self._kinematics(coordinates if isinstance(coordinates, Mapping) else {})
        self.definitions = {
            key: _definition(key, value)
            for key, value in (speeds.items() if isinstance(speeds, Mapping) else ())
            if value is not None
        }

    # --- parts ------------------------------------------------------------------------------------

    def _column(self, piece: str) -> SX:
        """A piece of all parts, one below the other, under zeros along the extra speeds."""
        return ca.vertcat(SX(len(self.extra[1]), 1), *self._pieces(piece))

    def _blocks(self, piece: str) -> SX:
        """The same along a diagonal."""
        count = len(self.extra[1])
        return ca.diagcat(SX(count, count), *self._pieces(piece))

    def _total(self, piece: str) -> SX:
        return sum(self._pieces(piece), SX(0))

    def _pieces(self, piece: str) -> list[SX]:
        return [getattr(placed.pieces, piece) for placed in self.parts]

    def _kinematics(self, stated: Mapping[str, Any]) -> None:
        """N and n of the whole, and the rates of extra coordinates."""
        s, extra = self.symbols, self.extra[0]
        rates = [
            self._value(f"coordinate {name!r}", stated.get(name) or _speed_of(name))
            for name in extra
        ]
        own = ca.vertcat(SX(0, 1), *rates)
        slopes = ca.jacobian(own, s.u) if extra else SX(0, s.u.numel())
        if ca.depends_on(own, ca.vertcat(s.udot, s.w)) or ca.depends_on(slopes, s.u):
            raise ModelError("rates of extra coordinates must be affine in the speeds")
        offsets = ca.substitute(own, s.u, SX.zeros(s.u.numel()))
        below = ca.diagcat(SX(0, len(self.extra[1])), *self._pieces("N"))
        self.N = ca.vertcat(slopes, below)
        self.n = ca.vertcat(offsets, *self._pieces("n"))
        self.seen.qdot = self.N @ s.u + self.n
        named = zip((f"{name}'" for name in extra), rates, strict=True)
        self.seen.rates = {name: rate for name, rate in named if name not in s.speeds}

    def _chart(self, reference: Mapping[str, float]) -> PlainChart:
        start = dict.fromkeys(self.symbols.coordinates, 0.0)
        fours: list[tuple[str, ...]] = []
        sizes: dict[str, float] = {}
        for placed in self.parts:
            chart, own = placed.terms.chart, placed.terms.symbols
            names = placed.outer_names(own.coordinates)
            start |= dict(zip(names, chart.reference, strict=True))
            fours += [tuple(names[k] for k in four) for four in chart.quaternions]
            measured = [*own.coordinates, *chart.variations, *own.speeds]
            sizes |= dict(zip(placed.outer_names(measured), chart.spans(measured), strict=True))
        for each in reference:
            if each not in start:
                raise ModelError(f"reference: {unknown('coordinate', each, start)}")
            number(f"reference of {each!r}", reference[each])
        n = None if self.n.is_zero() else self.n
        begin = list((start | dict(reference)).values())
        return PlainChart(self.name, self.symbols, self.N, n, begin, fours, sizes)

    # --- constraints ------------------------------------------------------------------------------

    def define(self, outputs: Mapping[str, Stated]) -> None:
        """Quantities of the whole, each of those before it, too."""
        for name, stated in outputs.items():
            self.seen.outputs[name] = self._value(f"output {name!r}", stated)

    def constrain(self, constraints: Mapping[str, Any]) -> None:
        """Read the new rows, find their orders, and put all rows in order."""
        for name in constraints:
            if name in self.definitions:
                raise ModelError(f"{name!r} is a constraint and an extra speed with a value")
        stated, rated = list[tuple[str, SX]](), list[tuple[str, SX, SX]]()
        for name, each in (self.definitions | dict(constraints)).items():
            if isinstance(each, WithRate):
                rates, rows = dict(self._rows(name, each.rate)), self._rows(name, each.value)
                rated += [(row, value, rates[row]) for row, value in rows if row in rates]
                stated += [(row, value) for row, value in rows if row not in rates]
            else:
                stated += self._rows(name, each)
        self.own, self.high = new_rows(self.symbols, self._rate, stated, self.seen.higher)
        if rated:
            self.own = stack([self.own, rated_rows(self.symbols, self._rate, rated)]).levels
        count = self.symbols.u.numel()
        self.stack = stack([self.own, *(placed.levels(count) for placed in self.parts)])
        self.levels, self.own_lam = self.stack.levels, column_of(self.own.names)
        every = ca.vertcat(self.own_lam, *(placed.lam for placed in self.parts))
        self.lam = every[self.stack.order, :]
        self.seen.multipliers = {row: self.lam[k] for k, row in enumerate(self.levels.names)}

    def _rows(self, name: str, stated: Any) -> list[tuple[str, SX]]:
        """Rows of a constraint by name: one, or several, with numbers or with labels of their
        own."""
        labels: list[str] = []

        def column(v: PartsView) -> Any:
            found = stated(v) if callable(stated) else stated
            if not isinstance(found, Mapping):
                return found
            labels.extend(found)
            return list(found.values())

        value = self._value(f"constraint {name!r}", column, higher=True)
        if value.numel() == 1 and not labels:
            return [(name, value)]
        numbered = labels or map(str, range(1, value.numel() + 1))
        return [
            (f"{name}: {label}", row)
            for label, row in zip(numbered, ca.vertsplit(value), strict=True)
        ]

    def _rate(self, value: SX) -> SX:
        s = self.symbols
        return ca.jtimes(value, s.q, self.seen.qdot) + ca.jtimes(value, s.t, SX(1))

    # --- forces -----------------------------------------------------------------------------------

    def force(self, forces: Mapping[str, Any]) -> None:
        """f⊕ and M⊕ over all speeds."""
        s, total = self.symbols, SX.zeros(self.symbols.u.numel())
        self.drag = SX(s.u.numel(), 1)
        for name, stated in forces.items():
            value = self._value(f"force along {name!r}", stated, self.lam)
            velocity = self.seen[name]
            slopes = ca.jacobian(velocity, s.u)
            if slopes.nnz() == 0:
                raise ModelError(f"force along {name!r}: it is no velocity")
            if value.numel() != velocity.numel():
                raise ModelError(
                    f"force along {name!r}: it has {velocity.numel()} components, the force "
                    f"{value.numel()}"
                )
            if self.levels.names and ca.depends_on(value, self.lam):
                if not is_homogeneous(value, self.lam):
                    raise ModelError(
                        f"force along {name!r}: where it depends on constraint forces, it must "
                        "grow in proportion to them, as friction does"
                    )
                self.drag = self.drag + slopes.T @ value
            else:
                total = total + slopes.T @ value
        inertia = -ca.jacobian(total, s.udot)
        if ca.depends_on(inertia, ca.vertcat(s.u, s.udot, s.w)):
            raise ModelError("forces must be affine in the accelerations, with factors of position")
        if not _symmetric(inertia):
            raise ModelError(
                "forces that depend on accelerations make up a mass matrix, which must be symmetric"
            )
        self.own_M = ca.sparsify(inertia)
        self.own_f = ca.substitute(total, s.udot, SX.zeros(s.u.numel()))

    # --- the complement ---------------------------------------------------------------------------

    def choose(
        self, independent: Sequence[str] | None, complement: str, reference: Mapping[str, float]
    ) -> None:
        """The node of the whole, with its complement."""
        s = self.symbols
        own, *below = self.stack.where
        children = tuple(placed.tree(rows) for placed, rows in zip(self.parts, below, strict=True))
        self.chart = self._chart(reference)
        trivial = not self.extra[0] or set(self.extra[1]) == {f"{x}'" for x in self.extra[0]}
        least = max(
            self.least,
            raw_order(self.own),
            0 if trivial else 1,
            *(child.order for child in children),
        )
        base = TreeNode(
            name=self.name,
            speeds=s.speeds,
            extra=self.extra[1],
            rows=self.own.names,
            where=own,
            A=self.own.A,
            M=self.own_M,
            f=self.own_f - self.own_M @ s.udot,
            choice=Choice("automatic"),
            order=constraint_order(s, self.own.A, least),
            children=children,
        )
        nothing = Levels.known((), SX(0, 1), SX(0, 1), SX(0, s.u.numel()), SX(0, 1))
        samples = Samples(self.chart, self.levels if self.own.names else nothing)
        if not samples.met:
            rows = " and ".join(map(repr, samples.unmet()[:4])) or "rows"
            warnings.warn(
                f"{self.name}: no state was found that meets all constraints, nearest left {rows} "
                "unmet, so that freedoms were counted at states that do not; mend these rows, or "
                "give a reference={…} that meets them",
                stacklevel=4,
            )
        self.pivoted = complement == "pivoted"
        self.choice = pivoting(self.levels.A, samples)
        method = "automatic" if self.pivoted else complement
        terms = ca.fabs(base.A) @ ca.fabs(base.R)
        kept = len(self.extra[1])
        choice = choose(base.B, samples, base.columns, kept, independent, method, terms)
        self.tree = replace(base, choice=choice).with_implied(self.levels.b, samples)

    # --- terms ------------------------------------------------------------------------------------

    def terms(self, shown: TreeNode | None = None) -> Terms:
        """The terms of the whole; ``shown`` is the tree to look at, if it is another one."""
        s, tree, A = self.symbols, self.tree, self.levels.A
        M = ca.sparsify(self._blocks("M") + self.own_M)
        f = ca.densify(self._column("f") + self.own_f)
        drag = SX(self._column("drag") + self.drag)
        node = self._node_of_all(M) if self.pivoted else tree
        way = TreeWay(A, M, np.array(self.choice.factors), node)
        placement = Placement(self.chart, self.levels, every=self.pivoted)

        def left() -> SX:
            return node.S.T @ (f + drag - M @ s.udot)

        own_energy = ca.dot(s.u, self.own_M @ s.u) / 2
        kinetic, potential = self._total("kinetic") + own_energy, self._total("potential")
        # ½ uᵀM⊕u changes with M⊕, too, which forces along speeds know nothing of
        supplied = ca.dot(self.own_f, s.u) + self._rate(own_energy) + self._driven_power()
        supplied = supplied + self._total("supplied")
        dissipated = self._total("dissipated") - ca.dot(self.drag, s.u)
        G = self._directions()
        made = Terms.of(
            TermsParts(
                self.chart,
                Dynamics(later(M), later(f)),
                WrittenRows(self.levels, self.lam, None if G is None else later(G), drag),
                TreeClosure(tree, way, placement, tree if shown is None else shown),
                Energies(*map(later, (kinetic, potential, supplied, dissipated))),
                NoReactions(self.chart),
                "composition",
                self._outputs() | monitors(self.levels, s.udot, left),
            )
        )
        check_expressions(made)
        return made

    def _node_of_all(self, M: SX) -> TreeNode:
        """All rows at once, over all speeds."""
        return replace(
            self.tree,
            extra=self.symbols.speeds,
            rows=self.levels.names,
            where=tuple(range(len(self.levels.names))),
            A=self.levels.A,
            M=M,
            choice=self.choice,
            children=(),
            implied=(),
        )

    def _driven_power(self) -> SX:
        """Power of the new constraint forces, if they have any: λᵀ A u."""
        s = self.symbols
        offsets = ca.substitute(self.own.psi, s.u, SX.zeros(s.u.numel()))
        linear = offsets.is_zero() and not ca.depends_on(self.own.A, s.u)
        ideal = linear and raw_order(self.own) < 2
        return SX(1, 1) if ideal else ca.dot(self.own_lam, self.own.A @ s.u)

    def _directions(self) -> SX | None:
        """Directions of the constraint forces, where friction of parts goes with them linearly."""
        if all(placed.terms.rows.directions is placed.terms.A for placed in self.parts):
            return None
        below = ca.diagcat(SX(0, len(self.extra[1])), *self._pieces("G"))
        return ca.vertcat(self.own.A, below)[self.stack.order, :]

    def _outputs(self) -> dict[str, Any]:
        """Those of the parts, the places of bodies and markers among them, then the whole's own."""
        out: dict[str, Any] = {}
        taken = {*self.symbols.coordinates, *self.symbols.speeds}
        for placed in self.parts:
            places, every = placed.terms.chart.description.places, placed.terms.outputs
            own = [each for each in (*places, *every) if each not in ("ground", *MONITORS)]
            for name, full in zip(own, placed.outer_names(own), strict=True):
                if full not in taken:
                    out[full] = partial(placed.quantity, name)
        return out | self.seen.outputs

    # --- reading ----------------------------------------------------------------------------------

    def _value(self, what: str, stated: Any, also: SX | None = None, higher: bool = False) -> SX:
        """An expression as a column, of variables of the whole alone (and ``also`` of these, or of
        derivatives of higher order)."""
        with blamed(what):
            found = stated(self.seen) if callable(stated) else stated
            try:
                value = ca.densify(ca.vec(expression(found)))
            except NOT_AN_EXPRESSION:
                raise ModelError(f"must be an expression, got {found!r}") from None
            if higher:
                also = ca.vertcat(SX(0, 1), *self.seen.higher.values())
            own = value if also is None else ca.substitute(value, also, SX.ones(also.shape))
            strangers = self.symbols.strangers(own)
            if strangers:
                raise ModelError(
                    f"uses {strangers[0]!r}, which is not among the variables of {self.name!r}; "
                    "write it as a function of these, such as lambda v: v['left.x']"
                )
            if has_nan(value):
                raise ModelError(NO_NUMBER)
        return value


def _raise(made: _Composition, terms: Terms, complement: str) -> Terms:
    """The same with constraints of higher orders: a composition of the raised system alone."""
    part, tree = raise_order(terms, made.tree, made.high, made.seen.higher)
    whole = _Composition(made.name, [part], (), (), (), None)
    whole.least = tree.order
    whole.define({})
    whole.constrain({})
    whole.force({})
    whole.choose(None, complement, {})
    values = whole.parts[0].put_in(*tree.expressions())
    return whole.terms(tree.place(tree.name, "", range(len(tree.all_rows)), iter(values)))


# --- small things ---------------------------------------------------------------------------------


def _definition(name: str, stated: Stated) -> Stated:
    return lambda v: v[name] - stated(v)


def _speed_of(coordinate: str) -> Stated:
    def rate(v: PartsView) -> SX:
        speed = f"{coordinate}'"
        if speed not in v.symbols.speeds:
            raise ModelError(
                f"there is no speed {speed!r}: list it among speeds, or give the rate, "
                f"coordinates={{{coordinate!r}: lambda v: …}}"
            )
        return v[speed]

    return rate


def _symmetric(M: SX) -> bool:
    """Seen at a random state."""
    arguments = ca.vertcat(SX(0, 1), *ca.symvar(M))
    state = np.random.default_rng(0).uniform(0.5, 1.5, arguments.numel())
    values = np.array(ca.Function("M", [arguments], [ca.densify(M)])(state))
    return bool(np.allclose(values, values.T, rtol=GIVEN, atol=0))
