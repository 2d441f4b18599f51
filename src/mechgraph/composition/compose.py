"""``compose``: the equations of a system from the known equations of its parts.

With the speeds u = (u⊕, (…, u of the parts, …)) and the rows of constraints in the same way, M and
f of the parts stand beside each other, the new rows and forces are added, and the orthogonal
complement follows along the tree of subsystems (``node.py``). Whatever a part is made of, its
matrices are put in as they are, not derived again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
from casadi import SX

from .. import door
from ..contract.composed import Composed
from ..contract.plain import PlainChart
from ..contract.terms import Terms
from ..errors import ArgumentError, ModelError, blamed, unknown
from ..model.constraints import LEVELS
from ..motion.levels import Levels
from ..motion.variables import Variables, variables
from ..vectors import NO_NUMBER, NOT_AN_EXPRESSION, has_nan, symbol
from .complement import Choice
from .friction import check_homogeneous, dragged
from .node import Node, Route
from .part import PIECES, Part, chosen, constraint_order, known
from .placement import Placement
from .samples import Samples
from .seen import Seen, Use

if TYPE_CHECKING:
    from ..equations import Equations

Stated = Callable[[Seen], Any]  # an expression, as a function of what is seen


def compose(
    name: str,
    parts: Mapping[str, Any] | Sequence[Any],
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

    parts: by name, which is put before the names of its variables (``"left.angle"``), or a list,
        whose names stay what they are; equations, ``Terms``, or ``Part`` of these.
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
        no choice goes bad), "partition" (independent speeds are chosen once), or "orthonormal".
    reference: coordinates where assembly begins, if not those of the parts.
    """
    with blamed(name):
        made = _Composition(name, parts, coordinates, speeds, inputs, parameters)
        made.define(dict(outputs or {}))
        made.constrain({**made.definitions, **dict(constraints or {})})
        made.force(dict(forces or {}))
        made.choose(independent, complement, dict(reference or {}))
        terms = made.terms()
    made_of: Equations = door.equations.Equations(terms, closure)
    return made_of


@dataclass(frozen=True)
class _Rows:
    """Rows of one level, by name, with what follows from them."""

    names: tuple[str, ...]
    values: SX


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
        self.name, listed = name, _listed(parts)
        extra_speeds = list(speeds)
        extra = _names("coordinates", coordinates), _names("speeds", extra_speeds)
        self.extra = extra
        self.symbols = _variables(extra, listed, inputs, parameters)
        self.uses = self._placed(listed)
        self.pieces = [
            dict(zip((*PIECES, "tree"), self._pieces(use), strict=True)) for use in self.uses
        ]
        self.seen = Seen(self.symbols, self.uses)
        self._kinematics(coordinates)
        self.definitions = {
            key: _defined(key, value)
            for key, value in (speeds.items() if isinstance(speeds, Mapping) else ())
            if value is not None
        }

    # --- parts ------------------------------------------------------------------------------------

    def _placed(self, listed: Sequence[tuple[str, str, Part]]) -> list[Use]:
        s, uses = self.symbols, []
        q, u, w = len(self.extra[0]), len(self.extra[1]), 0
        for key, prefix, part in listed:
            own = part.terms.symbols
            slices = slice(q, q + len(own.coordinates)), slice(u, u + len(own.speeds))
            p = [s[_parameter(part, prefix, each)] for each in own.parameters]
            arguments = [
                s.q[slices[0]],
                s.u[slices[1]],
                s.udot[slices[1]],
                s.w[w : w + len(own.inputs)],
                ca.vertcat(SX(0, 1), *p),
                s.t,
            ]
            uses.append(Use(key, prefix, known(part), arguments))
            q, u, w = slices[0].stop, slices[1].stop, w + len(own.inputs)
        return uses

    def _pieces(self, use: Use) -> list[Any]:
        terms = use.known.terms
        lam = ca.vertcat(SX(0, 1), *(symbol(f"{use.prefix}{row}") for row in terms.constraints))
        values = use.put_in(use.known.function, lam)
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
        for use in self.uses:
            chart = use.known.terms.chart
            names = [f"{use.prefix}{each}" for each in chart.symbols.coordinates]
            start |= dict(zip(names, chart.reference, strict=True))
            fours += [[names[k] for k in four] for four in chart.quaternions]
        for each in reference:
            if each not in start:
                raise ModelError(f"reference: {unknown('coordinate', each, start)}")
        n = None if self.n.is_zero() else self.n
        return PlainChart(self.name, s, self.N, n, list((start | dict(reference)).values()), fours)

    # --- constraints ------------------------------------------------------------------------------

    def define(self, outputs: Mapping[str, Stated]) -> None:
        """Quantities of the whole, each of those before it, too."""
        self.own_outputs: dict[str, SX] = {}
        for name, stated in outputs.items():
            self.own_outputs[name] = self._value(f"output {name!r}", stated)
            self.seen.define(name, self.own_outputs[name])

    def constrain(self, constraints: Mapping[str, Stated]) -> None:
        """Read the new rows, find their orders, and put all rows in order."""
        s, zero = self.symbols, SX.zeros(self.symbols.u.numel())
        own: dict[str, list[tuple[str, SX]]] = {level: [] for level in LEVELS}
        for name, stated in constraints.items():
            value = self._value(f"constraint {name!r}", stated)
            rows = (
                [name] if value.numel() == 1 else [f"{name}: {k + 1}" for k in range(value.numel())]
            )
            for row, each in zip(rows, ca.vertsplit(value), strict=True):
                own[self._level(row, each)].append((row, each))
        found = {level: _rows(given) for level, given in own.items()}
        phi, velocity, acceleration = (found[level].values for level in LEVELS)
        rates = self._rate(phi)
        psi = ca.vertcat(rates, velocity)
        self.own_rows = tuple(name for level in LEVELS for name in found[level].names)
        self.own_A = ca.vertcat(ca.jacobian(psi, s.u), ca.jacobian(acceleration, s.udot))
        rest = ca.substitute(acceleration, s.udot, zero)
        self.own_b = ca.densify(ca.vertcat(self._rate(psi), rest))
        self.own_least = 2 if acceleration.numel() else 1 if velocity.numel() else 0
        self._held()
        self.own_psi = psi
        self._order_rows([phi.numel(), velocity.numel(), acceleration.numel()], phi, psi)
        self.own_lam = ca.vertcat(SX(0, 1), *map(symbol, self.own_rows))
        every = ca.vertcat(self.own_lam, *(piece["tree"][0] for piece in self.pieces))
        self.lam = every[self.order] if self.order else SX(0, 1)
        self.seen.hold(
            dict(zip(self.levels.names, ca.vertsplit(self.lam), strict=True)) if self.order else {}
        )

    def _rate(self, value: SX) -> SX:
        s = self.symbols
        qdot = self.N @ s.u + self.n
        return ca.jtimes(value, s.q, qdot) + ca.jtimes(value, s.t, SX(1))

    def _level(self, row: str, value: SX) -> Any:
        s = self.symbols
        if ca.depends_on(value, s.w):
            raise ModelError(f"constraint {row!r} must not depend on inputs")
        if ca.depends_on(value, s.udot):
            if ca.depends_on(ca.jacobian(value, s.udot), s.udot):
                raise ModelError(f"constraint {row!r} must be affine in the accelerations")
            return "acceleration"
        if ca.depends_on(value, s.u):
            return "velocity"
        if ca.depends_on(value, s.q):
            return "position"
        raise ModelError(
            f"constraint {row!r} has no order: it depends on no coordinate, speed or acceleration"
        )

    def _held(self) -> None:
        for k, row in enumerate(self.own_rows):
            if not ca.sparsify(self.own_A[k, :]).nnz():
                raise ModelError(
                    f"constraint {row!r} holds no speed: nothing of it changes with the motion"
                )

    def _order_rows(self, counts: list[int], phi: SX, psi: SX) -> None:
        """All rows: by level, and in each the new ones before those of the parts."""
        owners = [_levels_of(counts)]
        for use in self.uses:
            levels = use.known.terms.levels
            first, second = levels.phi.numel(), levels.psi.numel()
            owners.append(_levels_of([first, second - first, len(levels.names) - second]))
        flat = [
            (level, owner, k) for owner, found in enumerate(owners) for k, level in enumerate(found)
        ]
        order = sorted(range(len(flat)), key=lambda k: (flat[k][0], k))
        place = {flat[k][1:]: position for position, k in enumerate(order)}
        self.where = [
            tuple(place[owner, k] for k in range(len(found))) for owner, found in enumerate(owners)
        ]
        names = [*self.own_rows]
        for use in self.uses:
            names += [f"{use.prefix}{row}" for row in use.known.terms.constraints]
        taken = sorted({each for each in names if names.count(each) > 1})
        if taken:
            raise ModelError(f"two constraints have the name {taken[0]!r}; give parts a prefix")
        count = len(self.extra[1])
        parts = ca.diagcat(*(piece["A"] for piece in self.pieces))
        A = ca.vertcat(self.own_A, ca.horzcat(SX(parts.shape[0], count), parts))
        b = ca.vertcat(self.own_b, *(piece["b"] for piece in self.pieces))
        at = [[k for k in order if flat[k][0] <= level] for level in range(3)]
        all_phi = self._stacked("phi", phi, at[0], flat)
        all_psi = self._stacked("psi", psi, at[1], flat)
        self.levels = Levels.known(
            tuple(names[k] for k in order), all_phi, all_psi, A[order, :], ca.densify(b[order])
        )
        self.order = order

    def _stacked(self, key: str, own: SX, order: list[int], flat: list[Any]) -> SX:
        by_owner = [own, *(piece[key] for piece in self.pieces)]
        entries = [by_owner[owner][k] for _, owner, k in (flat[each] for each in order)]
        return ca.densify(ca.vertcat(SX(0, 1), *entries))

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
            if self.order and ca.depends_on(value, self.lam):
                check_homogeneous(name, value, self.lam)
                self.drag = self.drag + slopes.T @ value
            else:
                total = total + slopes.T @ value
        inertia = -ca.jacobian(total, s.udot)
        if ca.depends_on(inertia, ca.vertcat(s.u, s.udot, s.w)):
            raise ModelError("forces must be affine in the accelerations, with factors of position")
        self.own_M = ca.sparsify(inertia)
        self.own_f = ca.substitute(total, s.udot, SX.zeros(s.u.numel()))

    # --- the complement ---------------------------------------------------------------------------

    def choose(
        self, independent: Sequence[str] | None, complement: str, reference: Mapping[str, float]
    ) -> None:
        """The node of the whole, with its complement."""
        s = self.symbols
        children = tuple(
            use.known.tree.used(use.key, use.prefix, self.where[k + 1], iter(piece["tree"][1]))
            for k, (use, piece) in enumerate(zip(self.uses, self.pieces, strict=True))
        )
        self.chart = self._chart(reference)
        trivial = not self.extra[0] or set(self.extra[1]) == {f"{x}'" for x in self.extra[0]}
        least = max([self.own_least, 0 if trivial else 1, *(child.order for child in children)])
        base = Node(
            name=self.name,
            speeds=s.speeds,
            extra=self.extra[1],
            rows=self.own_rows,
            where=self.where[0],
            A=self.own_A,
            b=self.own_b,
            M=self.own_M,
            f=self.own_f,
            udot=s.udot,
            choice=Choice("automatic"),
            order=constraint_order(s.q, s.u, self.own_A, least),
            children=children,
        )
        columns, kept = base.columns, len(self.extra[1])
        nothing = Levels.known((), SX(0, 1), SX(0, 1), SX(0, s.u.numel()), SX(0, 1))
        samples = Samples(self.chart, self.levels if self.own_rows else nothing)
        choice = chosen(self.name, base.B, samples, columns, kept, independent, complement)
        self.tree = replace(base, choice=choice)

    # --- terms ------------------------------------------------------------------------------------

    def terms(self) -> Terms:
        """The terms of the whole."""
        s, count = self.symbols, len(self.extra[1])
        blocks = ca.diagcat(SX(count, count), *(piece["M"] for piece in self.pieces))
        M = ca.sparsify(blocks + self.own_M)
        f = ca.densify(ca.vertcat(SX(count, 1), *(p["f"] for p in self.pieces)) + self.own_f)
        tree, route = self.tree, Route(self.tree, M, not self.own_M.nnz())
        composed = Composed(
            self.levels,
            self.lam,
            route,
            Placement(tree, M, self.chart, self.levels),
            tree,
            dragging=bool(self.drag.nnz()) or any(_dragging(use) for use in self.uses),
        )

        def complement() -> SX:
            return tree.S

        supplied = ca.dot(self.own_f, s.u) + self._driven_power()
        return Terms(
            s,
            M=M,
            f=f,
            G=self._G(route, f),
            S=complement,
            kinetic=_total(self.pieces, "T"),
            potential=_total(self.pieces, "V"),
            supplied=supplied + _total(self.pieces, "supplied"),
            dissipated=_total(self.pieces, "dissipated") - ca.dot(self.drag, s.u),
            outputs=self._outputs() | _monitors(self, M, f),
            name=self.name,
            formalism="composition",
            chart=self.chart,
            composed=composed,
        )

    def _driven_power(self) -> SX:
        """Power of the new constraint forces, if they have any: λᵀ A u."""
        s = self.symbols
        offsets = ca.substitute(self.own_psi, s.u, SX.zeros(s.u.numel()))
        linear = offsets.is_zero() and not ca.depends_on(self.own_A, s.u)
        ideal = linear and self.own_least < 2
        return SX(1, 1) if ideal else ca.dot(self.own_lam, self.own_A @ s.u)

    def _G(self, route: Route, f: SX) -> Any:
        """Directions of the constraint forces, where friction goes with them."""
        parts = [piece["G"] for piece in self.pieces]
        dragging = bool(self.drag.nnz())
        if not dragging and not any(use.known.terms.has_friction for use in self.uses):
            return None
        below = ca.diagcat(*parts)
        G = ca.vertcat(self.own_A, ca.horzcat(SX(below.shape[0], len(self.extra[1])), below))
        G = G[self.order, :]
        if not dragging:
            return G
        levels = self.levels
        return lambda: G + dragged(self.drag, self.lam, route, levels.A, f, levels.b).T

    def _outputs(self) -> dict[str, Any]:
        """Those of the parts, the places of bodies and markers among them, then the whole's own."""
        out: dict[str, Any] = {}
        taken = {*self.symbols.coordinates, *self.symbols.speeds}
        for use in self.uses:
            terms = use.known.terms
            own = [each for each in terms.outputs if each not in MONITORS]
            for each in (*terms.chart.description.places, *own):
                if each != "ground" and f"{use.prefix}{each}" not in taken:
                    out[f"{use.prefix}{each}"] = _later(use, each)
        return out | self.own_outputs

    # --- reading ----------------------------------------------------------------------------------

    def _value(self, what: str, stated: Any, also: SX | None = None) -> SX:
        """An expression as a column, of variables of the whole alone (and ``also`` of these)."""
        with blamed(what):
            found = stated(self.seen) if callable(stated) else stated
            if isinstance(found, (list, tuple)):
                found = ca.vertcat(*map(SX, found))
            try:
                value = ca.densify(ca.vec(SX(found)))
            except NOT_AN_EXPRESSION:
                raise ModelError(f"must be an expression, got {found!r}") from None
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


# --- monitors -------------------------------------------------------------------------------------

MONITORS = ("‖q̄0‖", "‖q̄1‖", "‖q̄2‖", "‖f̄‖", "‖q̄2, f̄‖")


def _monitors(made: _Composition, M: SX, f: SX) -> dict[str, Callable[[], SX]]:
    """Norms of what a motion should leave zero: rows at each order, and projected forces."""
    levels, tree, udot = made.levels, made.tree, made.symbols.udot

    def rows() -> SX:
        return levels.A @ udot + levels.b

    def forces() -> SX:
        return tree.S.T @ (f + made.drag - M @ udot)

    found = (
        lambda: levels.phi,
        lambda: levels.psi,
        rows,
        forces,
        lambda: ca.vertcat(rows(), forces()),
    )
    return {name: _norm(value) for name, value in zip(MONITORS, found, strict=True)}


def _norm(value: Callable[[], SX]) -> Callable[[], SX]:
    return lambda: ca.sqrt(ca.sumsqr(value())) if value().numel() else SX(0)


# --- small things ---------------------------------------------------------------------------------


def _listed(parts: Any) -> list[tuple[str, str, Part]]:
    """(key, prefix, part) of each."""
    if isinstance(parts, Mapping):
        given = [(str(key), f"{key}.", each) for key, each in parts.items()]
    elif isinstance(parts, Sequence) and not isinstance(parts, str):
        given = [("", "", each) for each in parts]
    else:
        raise ArgumentError(
            f"parts must be a mapping of names to equations, or a list of these, got {parts!r}"
        )
    out = []
    for key, prefix, each in given:
        part = each if isinstance(each, Part) else Part(each)
        prefix = prefix if part.prefix is None else part.prefix
        out.append((key or prefix.rstrip(".") or part.terms.name, prefix, part))
    return out


def _names(what: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        raise ModelError(f"{what}: expected a list of names, got {given!r}")
    return tuple(given)


def _parameter(part: Part, prefix: str, name: str) -> str:
    """What the whole calls a parameter of a part."""
    given = part.parameters.get(name)
    return given if isinstance(given, str) else f"{prefix}{name}"


def _variables(
    extra: tuple[tuple[str, ...], tuple[str, ...]],
    listed: Sequence[tuple[str, str, Part]],
    inputs: Sequence[str],
    parameters: Mapping[str, float] | None,
) -> Variables:
    owners: dict[str, str] = {}
    coordinates, speeds = list(extra[0]), list(extra[1])
    commands: list[str] = []
    constants: dict[str, float] = dict(parameters or {})
    own = dict.fromkeys(constants, "the whole")
    for name in (*extra[0], *extra[1], *inputs, *constants):
        owners[name] = "the whole"
    for key, prefix, part in listed:
        s = part.terms.symbols
        for group, names in (
            (coordinates, s.coordinates),
            (speeds, s.speeds),
            (commands, s.inputs),
        ):
            for name in (f"{prefix}{each}" for each in names):
                if name in owners:
                    raise ModelError(
                        f"{name!r} is a name in {owners[name]} and in part {key!r}; list parts by "
                        "name, {'left': …, 'right': …}, or give mg.Part(…, prefix=…)"
                    )
                owners[name] = f"part {key!r}"
                group.append(name)
        _add_parameters(constants, own, owners, key, prefix, part)
    return variables(coordinates, speeds, [*commands, *inputs], constants)


def _add_parameters(
    constants: dict[str, float],
    own: dict[str, str],
    owners: dict[str, str],
    key: str,
    prefix: str,
    part: Part,
) -> None:
    """Parameters of a part among those of the whole; of the same name they are the same."""
    s = part.terms.symbols
    for given in part.parameters:
        if given not in s.parameters:
            raise ModelError(f"part {key!r}: {unknown('parameter', given, s.parameters)}")
    for name, default in zip(s.parameters, s.defaults, strict=True):
        value, full = part.parameters.get(name, default), _parameter(part, prefix, name)
        number = default if isinstance(value, str) else float(value)
        if full in owners and full not in own:
            raise ModelError(
                f"{full!r} is a parameter of part {key!r} and a name in {owners[full]}"
            )
        if full in constants and constants[full] != number and not isinstance(value, str):
            raise ModelError(
                f"parameter {full!r} is {constants[full]:g} in {own[full]} and {number:g} in part "
                f"{key!r}; give it once, with mg.Part(…, parameters={{{name!r}: {full!r}}})"
            )
        constants.setdefault(full, number)
        own.setdefault(full, f"part {key!r}")
        owners.setdefault(full, f"part {key!r}")


def _defined(name: str, stated: Stated) -> Stated:
    return lambda v: v[name] - stated(v)


def _speed_of(coordinate: str) -> Stated:
    def rate(v: Seen) -> SX:
        speed = f"{coordinate}'"
        if speed not in v._symbols.speeds:
            raise ModelError(
                f"there is no speed {speed!r}: list it among speeds, or give the rate, "
                f"coordinates={{{coordinate!r}: lambda v: …}}"
            )
        return v[speed]

    return rate


def _rows(given: Sequence[tuple[str, SX]]) -> _Rows:
    return _Rows(
        tuple(name for name, _ in given), ca.vertcat(SX(0, 1), *(value for _, value in given))
    )


def _levels_of(counts: Sequence[int]) -> list[int]:
    return [level for level, count in enumerate(counts) for _ in range(count)]


def _total(pieces: Sequence[Mapping[str, SX]], key: str) -> SX:
    return sum((piece[key] for piece in pieces), SX(0))


def _dragging(use: Use) -> bool:
    composed = use.known.terms.composed
    return composed is not None and composed.dragging


def _later(use: Use, name: str) -> Callable[[], SX]:
    return lambda: use.quantity(name)
