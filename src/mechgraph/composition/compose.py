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
from ..contract.written import PlainChart, WrittenRows, later
from ..errors import ModelError, blamed, shown, unknown
from ..formalisms.dynamics import Dynamics
from ..graph.expressions import has_nan
from ..model.description import Description
from ..model.system import System
from ..motion.energy import Energies
from ..motion.levels import Levels
from ..motion.reactions import NoReactions
from ..motion.samples import Samples
from ..motion.variables import Variables
from ..vectors import NO_NUMBER, NOT_AN_EXPRESSION, symbol
from .from_system import composition_of
from .higher_order import raise_order
from .monitors import MONITORS, monitors
from .naming import listed_parts, names_of, part_input, part_parameter, whole_variables
from .node import TreeNode
from .part import PIECES, Part, chosen, constraint_order, derive_part, pivoting
from .parts_view import PartsView, PlacedPart
from .placement import Placement
from .rows import WithRate, new_rows, rated_rows, raw_order, stacked
from .tree_closure import PivotedWay, TreeClosure, TreeWay

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
        whole = composition_of(name, any(given))
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
            terms = _raised(made, terms, complement)
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
        self.name, self.least, given = name, 0, listed_parts(parts)
        extra = names_of("coordinates", coordinates), names_of("speeds", speeds)
        self.extra = extra
        commands = names_of("inputs", inputs)
        self.symbols = whole_variables(extra, given, commands, named("parameters", parameters))
        self.parts = self._place(given)
        self.pieces = [
            dict(zip((*PIECES, "tree"), self._pieces(placed), strict=True)) for placed in self.parts
        ]
        self.seen = PartsView(self.symbols, self.parts)
        self._kinematics(coordinates)
        self.definitions = {
            key: _defined(key, value)
            for key, value in (speeds.items() if isinstance(speeds, Mapping) else ())
            if value is not None
        }

    # --- parts ------------------------------------------------------------------------------------

    def _place(self, given: Sequence[tuple[str, str, Part]]) -> list[PlacedPart]:
        s, out = self.symbols, []
        q, u = len(self.extra[0]), len(self.extra[1])
        for key, prefix, part in given:
            own = part.terms.symbols
            slices = slice(q, q + len(own.coordinates)), slice(u, u + len(own.speeds))
            p = [part_parameter(part, prefix, each, s) for each in own.parameters]
            w = [part_input(part, prefix, each, s) for each in own.inputs]
            arguments = [
                s.q[slices[0]],
                s.u[slices[1]],
                s.udot[slices[1]],
                ca.vertcat(SX(0, 1), *w),
                ca.vertcat(SX(0, 1), *p),
                s.t,
            ]
            out.append(PlacedPart(key, prefix, derive_part(part), arguments))
            q, u = slices[0].stop, slices[1].stop
        return out

    def _pieces(self, placed: PlacedPart) -> list[Any]:
        terms = placed.derived.terms
        lam = ca.vertcat(SX(0, 1), *(symbol(f"{placed.prefix}{row}") for row in terms.constraints))
        values = placed.put_in(placed.derived.function, lam)
        count = len(PIECES)
        return [*values[:count], (lam, values[count:])]

    def _kinematics(self, coordinates: Any) -> None:
        """N and n of the whole, and the rates of extra coordinates."""
        s, stated = self.symbols, coordinates if isinstance(coordinates, Mapping) else {}
        rates = []
        for name in self.extra[0]:
            value = self._value(f"coordinate {name!r}", stated.get(name) or _speed_of(name))
            rates.append(value)
        own = ca.vertcat(SX(0, 1), *rates)
        barred = ca.vertcat(s.udot, s.w)
        slopes = ca.jacobian(own, s.u)
        if ca.depends_on(own, barred) or ca.depends_on(slopes, s.u):
            raise ModelError("rates of extra coordinates must be affine in the speeds")
        count = len(self.extra[0])
        parts = ca.diagcat(*(piece["N"] for piece in self.pieces))
        below = ca.horzcat(SX(parts.shape[0], len(self.extra[1])), parts)
        offsets = ca.substitute(own, s.u, SX.zeros(s.u.numel()))
        self.N = ca.vertcat(slopes if count else SX(0, s.u.numel()), below)
        self.n = ca.vertcat(offsets, *(piece["n"] for piece in self.pieces))
        named = dict(zip((f"{name}'" for name in self.extra[0]), rates, strict=True))
        unnamed = {name: rate for name, rate in named.items() if name not in s.speeds}
        self.seen.moves(self.N @ s.u + self.n, unnamed)

    def _chart(self, reference: Mapping[str, float]) -> PlainChart:
        s = self.symbols
        start = dict.fromkeys(s.coordinates, 0.0)
        fours: list[list[str]] = []
        sizes: dict[str, float] = {}
        for placed in self.parts:
            chart = placed.derived.terms.chart
            names = [f"{placed.prefix}{each}" for each in chart.symbols.coordinates]
            start |= dict(zip(names, chart.reference, strict=True))
            fours += [[names[k] for k in four] for four in chart.quaternions]
            own = [*chart.symbols.coordinates, *chart.variations, *chart.symbols.speeds]
            spans = chart.spans(own)
            sizes |= {f"{placed.prefix}{x}": span for x, span in zip(own, spans, strict=True)}
        for each in reference:
            if each not in start:
                raise ModelError(f"reference: {unknown('coordinate', each, start)}")
            number(f"reference of {each!r}", reference[each])
        n = None if self.n.is_zero() else self.n
        return PlainChart(
            self.name, s, self.N, n, list((start | dict(reference)).values()), fours, sizes
        )

    # --- constraints ------------------------------------------------------------------------------

    def define(self, outputs: Mapping[str, Stated]) -> None:
        """Quantities of the whole, each of those before it, too."""
        self.own_outputs: dict[str, SX] = {}
        for name, stated in outputs.items():
            self.own_outputs[name] = self._value(f"output {name!r}", stated)
            self.seen.define(name, self.own_outputs[name])

    def constrain(self, constraints: Mapping[str, Stated]) -> None:
        """Read the new rows, find their orders, and put all rows in order."""
        rated: dict[str, Any] = {
            key: each for key, each in constraints.items() if isinstance(each, WithRate)
        }
        constraints = {key: each for key, each in constraints.items() if key not in rated}
        for name in constraints:
            if name in self.definitions:
                raise ModelError(f"{name!r} is a constraint and an extra speed with a value")
        stated = (
            (name, self._value(f"constraint {name!r}", each, higher=True))
            for name, each in (self.definitions | dict(constraints)).items()
        )
        seen = self.seen
        self.own, self.high = new_rows(self.symbols, self._rate, list(stated), seen.higher)
        if rated:
            self.own = stacked([self.own, self._rated(rated)]).levels
        self.stack = stacked([self.own, *map(self._rows_of, self.parts, self.pieces)])
        self.levels, order = self.stack.levels, self.stack.order
        self.own_lam = ca.vertcat(SX(0, 1), *map(symbol, self.own.names))
        every = ca.vertcat(self.own_lam, *(piece["tree"][0] for piece in self.pieces))
        self.lam = every[order] if order else SX(0, 1)
        self.seen.hold({row: self.lam[k] for k, row in enumerate(self.levels.names)})

    def _rated(self, rows: Mapping[str, WithRate]) -> Levels:
        """Rows that are stated with their rates."""
        read = {
            key: (self._value(f"constraint {key!r}", x.value), self._value(key, x.rate))
            for key, x in rows.items()
        }
        return rated_rows(self.symbols, self._rate, read)

    def _rows_of(self, placed: PlacedPart, piece: Mapping[str, Any]) -> Levels:
        """The rows of a part, over all speeds."""
        names = tuple(f"{placed.prefix}{row}" for row in placed.derived.terms.constraints)
        A = SX(len(names), self.symbols.u.numel())
        own = [f"{placed.prefix}{speed}" for speed in placed.derived.terms.symbols.speeds]
        A[:, [self.symbols.speeds.index(speed) for speed in own]] = piece["A"]
        return Levels.known(names, piece["phi"], piece["psi"], ca.sparsify(A), piece["b"])

    def _rate(self, value: SX) -> SX:
        s = self.symbols
        qdot = self.N @ s.u + self.n
        return ca.jtimes(value, s.q, qdot) + ca.jtimes(value, s.t, SX(1))

    # --- forces -----------------------------------------------------------------------------------

    def force(self, forces: Mapping[str, Any]) -> None:
        """f⊕ and M⊕ over all speeds."""
        s, total = self.symbols, SX.zeros(self.symbols.u.numel())
        self.drag = SX(s.u.numel(), 1)
        for name, stated in forces.items():
            value = self._value(f"force along {name!r}", stated, self.lam)
            velocity = self.seen[name]
            slopes = ca.jacobian(velocity, s.u)
            if slopes.nnz() == 0 or value.numel() != velocity.numel():
                raise ModelError(
                    f"force along {name!r}: "
                    + (
                        "it is no velocity"
                        if slopes.nnz() == 0
                        else f"it has {velocity.numel()} components, the force {value.numel()}"
                    )
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
        children = tuple(
            placed.derived.tree.used(
                placed.key, placed.prefix, self.stack.where[k + 1], iter(piece["tree"][1])
            )
            for k, (placed, piece) in enumerate(zip(self.parts, self.pieces, strict=True))
        )
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
            where=self.stack.where[0],
            A=self.own.A,
            b=self.own.b,
            M=self.own_M,
            f=self.own_f,
            udot=s.udot,
            choice=Choice("automatic"),
            order=constraint_order(s.q, s.u, self.own.A, least),
            children=children,
        )
        columns, kept = base.columns, len(self.extra[1])
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
        choice = chosen(base.B, samples, columns, kept, independent, method, terms)
        self.tree = replace(base, choice=choice).following(self.levels.b, samples)

    # --- terms ------------------------------------------------------------------------------------

    def terms(self, shown: TreeNode | None = None) -> Terms:
        """The terms of the whole; ``shown`` is the tree to look at, if it is another one."""
        s, count = self.symbols, len(self.extra[1])
        blocks = ca.diagcat(SX(count, count), *(piece["M"] for piece in self.pieces))
        M = ca.sparsify(blocks + self.own_M)
        f = ca.densify(ca.vertcat(SX(count, 1), *(p["f"] for p in self.pieces)) + self.own_f)
        tree, A = self.tree, self.levels.A
        factors = np.array(self.choice.factors)
        pivoted = PivotedWay(A, M, factors, self.choice)
        way = pivoted if self.pivoted else TreeWay(A, M, factors, tree)
        placement = Placement(self.chart, self.levels, every=self.pivoted)
        drag = SX(ca.vertcat(SX(count, 1), *(p["drag"] for p in self.pieces)) + self.drag)

        def left() -> SX:
            return way.S.T @ (f + drag - M @ s.udot)

        own_energy = ca.dot(s.u, self.own_M @ s.u) / 2
        # ½ uᵀM⊕u changes with M⊕, too, which forces along speeds know nothing of
        supplied = ca.dot(self.own_f, s.u) + self._rate(own_energy) + self._driven_power()
        supplied = supplied + _total(self.pieces, "supplied")
        dissipated = _total(self.pieces, "dissipated") - ca.dot(self.drag, s.u)
        energies = _total(self.pieces, "T") + own_energy, _total(self.pieces, "V")
        G = self._G()
        made = Terms.of(
            TermsParts(
                self.chart,
                Dynamics(later(M), later(f)),
                WrittenRows(self.levels, self.lam, None if G is None else later(G), drag),
                TreeClosure(tree, way, placement, tree if shown is None else shown),
                Energies(*map(later, (*energies, supplied, dissipated))),
                NoReactions(self.chart),
                "composition",
                self._outputs() | monitors(self.levels, s.udot, left),
            )
        )
        check_expressions(made)
        return made

    def _driven_power(self) -> SX:
        """Power of the new constraint forces, if they have any: λᵀ A u."""
        s = self.symbols
        offsets = ca.substitute(self.own.psi, s.u, SX.zeros(s.u.numel()))
        linear = offsets.is_zero() and not ca.depends_on(self.own.A, s.u)
        ideal = linear and raw_order(self.own) < 2
        return SX(1, 1) if ideal else ca.dot(self.own_lam, self.own.A @ s.u)

    def _G(self) -> SX | None:
        """Directions of the constraint forces, where friction of parts goes with them linearly."""
        if not any(
            placed.derived.terms.rows.directions is not placed.derived.terms.A
            for placed in self.parts
        ):
            return None
        below = ca.diagcat(*(piece["G"] for piece in self.pieces))
        G = ca.vertcat(self.own.A, ca.horzcat(SX(below.shape[0], len(self.extra[1])), below))
        return G[self.stack.order, :]

    def _outputs(self) -> dict[str, Any]:
        """Those of the parts, the places of bodies and markers among them, then the whole's own."""
        out: dict[str, Any] = {}
        taken = {*self.symbols.coordinates, *self.symbols.speeds}
        for placed in self.parts:
            terms = placed.derived.terms
            own = [each for each in terms.outputs if each not in MONITORS]
            for each in (*terms.chart.description.places, *own):
                if each != "ground" and f"{placed.prefix}{each}" not in taken:
                    out[f"{placed.prefix}{each}"] = _later(placed, each)
        return out | self.own_outputs

    # --- reading ----------------------------------------------------------------------------------

    def _value(self, what: str, stated: Any, also: SX | None = None, higher: bool = False) -> SX:
        """An expression as a column, of variables of the whole alone (and ``also`` of these, or of
        derivatives of higher order)."""
        with blamed(what):
            found = stated(self.seen) if callable(stated) else stated
            if isinstance(found, (list, tuple)):
                found = ca.vertcat(*map(SX, found))
            try:
                value = ca.densify(ca.vec(SX(found)))
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


def _raised(made: _Composition, terms: Terms, complement: str) -> Terms:
    """The same with constraints of higher orders: a composition of the raised system alone."""
    part, tree = raise_order(terms, made.tree, made.high, made.seen.higher)
    whole = _Composition(made.name, [part], (), (), (), None)
    whole.least = tree.order
    whole.define({})
    whole.constrain({})
    whole.force({})
    whole.choose(None, complement, {})
    return whole.terms(_renamed(tree, part.symbols, whole.symbols))


def _renamed(tree: TreeNode, old: Variables, new: Variables) -> TreeNode:
    """The same tree in other symbols for the same variables."""
    before, after = ([s.q, s.u, s.udot, s.w, s.p, s.t] for s in (old, new))
    values = ca.Function("tree", before, tree.given()).call(after)
    rows = range(len(tree.all_rows))
    return tree.used(tree.name, "", rows, iter(values))


# --- small things ---------------------------------------------------------------------------------


def _defined(name: str, stated: Stated) -> Stated:
    return lambda v: v[name] - stated(v)


def _speed_of(coordinate: str) -> Stated:
    def rate(v: PartsView) -> SX:
        speed = f"{coordinate}'"
        if speed not in v._symbols.speeds:
            raise ModelError(
                f"there is no speed {speed!r}: list it among speeds, or give the rate, "
                f"coordinates={{{coordinate!r}: lambda v: …}}"
            )
        return v[speed]

    return rate


def _total(pieces: Sequence[Mapping[str, SX]], key: str) -> SX:
    return sum((piece[key] for piece in pieces), SX(0))


def _symmetric(M: SX) -> bool:
    """Seen at a random state."""
    arguments = ca.vertcat(SX(0, 1), *ca.symvar(M))
    state = np.random.default_rng(0).uniform(0.5, 1.5, arguments.numel())
    values = np.array(ca.Function("M", [arguments], [ca.densify(M)])(state))
    return bool(np.allclose(values, values.T, rtol=1e-9, atol=0))


def _later(placed: PlacedPart, name: str) -> Callable[[], SX]:
    return lambda: placed.quantity(name)
