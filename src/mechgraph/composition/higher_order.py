"""Constraints of an order above two: rows of jerks, or rows that are not affine in accelerations.

A row h(q, u, u̇, …) whose highest derivatives are u⁽ᵏ⁾ forbids variations of these alone, all lower
ones frozen. With A = ∂h/∂u⁽ᵏ⁾ and the complement S of all constraints of lower order, the motion is

    u̇ = u₁, u̇₁ = u₂, …,    Sᵀ(M u₁ − f − Aᵀλ) = 0,    h = 0,

with the accelerations u₁ (up to u₍ᵣ₎, r + 1 = k) and the constraint forces λ among the speeds
(Orsino 2016, §4.2: the order σ is raised to that of the constraints; a row that is not affine in
its highest derivatives is differentiated once more). How these begin is up to the start, as far as
the equations leave it open. All of it are rows of orders 0 to 2 in the variables of the raised
system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import casadi as ca
from casadi import SX

from ..closures.expressions import multipliers_of
from ..contract.terms import Terms
from ..errors import ModelError, UnsupportedError
from ..motion.variables import variables
from .node import TreeNode
from .rows import MONITORS, Higher, HigherRow, derivatives


def raise_order(
    terms: Terms, tree: TreeNode, rows: Sequence[HigherRow], higher: Higher
) -> tuple[Terms, TreeNode]:
    """Terms with these rows, too, whose speeds include accelerations and forces; and the tree of
    the system that was raised, in their variables, with ν°."""
    if ca.depends_on(terms.f, terms.symbols.w):
        raise UnsupportedError(
            f"constraint {rows[0].name!r} is of an order above 2, which takes the rates of all "
            "forces, and inputs have none; write the forces as functions of time instead"
        )
    if terms.has_friction:
        raise UnsupportedError(
            f"constraint {rows[0].name!r} is of an order above 2, which does not go with forces "
            "that grow with constraint forces"
        )
    made = _RaisedSystem(terms, rows, higher)
    return made.terms(), made.tree(tree)


class _RaisedSystem:
    """The raised system on the way: u₁ … u₍ᵣ₎ and λ, λ̇ … λ⁽ʳ⁻¹⁾ beside u."""

    def __init__(self, terms: Terms, rows: Sequence[HigherRow], higher: Higher) -> None:
        self.inner, self.rows, self.higher = terms, rows, higher
        self.r = max(row.raised for row in rows) - 1
        s, r = terms.symbols, range(self.r)
        raised = [f"{name}{(k + 1) * chr(39)}" for k in r for name in s.speeds]
        forces = [f"{row.name}: force{k * chr(39)}" for k in r for row in rows]
        names = [*s.speeds, *raised, *forces]
        taken = sorted({name for name in names if names.count(name) > 1 or name in s.coordinates})
        if taken:
            raise ModelError(f"{taken[0]!r} is the name of an acceleration here; rename the other")
        constants = dict(zip(s.parameters, s.defaults, strict=True))
        self.s = variables(s.coordinates, names, s.inputs, constants)

    def u(self, k: int) -> SX:
        """u₍ₖ₎; that of r + 1 is a rate."""
        n = len(self.inner.symbols.speeds)
        return self.s.udot[self.r * n : k * n] if k > self.r else self.s.u[k * n : (k + 1) * n]

    def force(self, k: int) -> SX:
        """λ⁽ᵏ⁾."""
        first = (self.r + 1) * len(self.inner.symbols.speeds)
        m = len(self.rows)
        return self.s.u[first + k * m : first + (k + 1) * m]

    def put(self, value: SX) -> SX:
        """An expression of the inner system in the variables of the raised one."""
        old, s = self.inner.symbols, self.s
        blocks = [(derivatives(old, self.higher, k), self.u(k)) for k in range(1, self.r + 2)]
        pairs = [(old.q, s.q), (old.u, self.u(0)), (old.w, s.w), (old.p, s.p), (old.t, s.t)]
        before, after = zip(*pairs, *blocks, strict=True)
        return ca.substitute([SX(value)], list(before), list(after))[0]

    def rate(self, value: SX) -> SX:
        """d/dt along the raised system, of what is not of its highest variables."""
        s, r = self.s, self.r
        steps = [(s.q, self.put(self.inner.qdot)), (s.t, SX(1))]
        steps += [(self.u(k), self.u(k + 1)) for k in range(r)]
        steps += [(self.force(k), self.force(k + 1)) for k in range(r - 1)]
        return sum((ca.jtimes(value, x, xdot) for x, xdot in steps), SX(value.shape[0], 1))

    def rising(self, name: str, value: SX, k: int) -> dict[str, SX]:
        """Rows of u⁽ᵏ⁾ and their rates, up to those of u₍ᵣ₎."""
        out = {}
        for order in range(k + 1, self.r + 2):
            out[name if order == k + 1 else f"{name}, order {order}"] = value
            value = self.rate(value)
        return out

    @cached_property
    def directions(self) -> SX:
        """A of the rows, over the speeds of the inner system."""
        slopes = (ca.jacobian(row.value, row.highest) for row in self.rows)
        return self.put(ca.vertcat(*slopes))

    @cached_property
    def loads(self) -> SX:
        """f + Aᵀλ."""
        return self.put(self.inner.f) + self.directions.T @ self.force(0)

    def velocity(self) -> dict[str, SX]:
        """All rows of speeds, accelerations and forces."""
        inner, first = self.inner, self.inner.phi.numel()
        given = inner.constraints[first : inner.psi.numel()]
        out = dict(zip(given, _split(self.put(inner.psi[first:])), strict=True))
        second = inner.A @ inner.symbols.udot + inner.b
        for name, value in zip(inner.constraints, _split(self.put(second)), strict=True):
            out |= self.rising(f"{name}, order 2", value, 1)
        S = SX.eye(len(inner.symbols.speeds)) if inner.S is None else inner.S
        balance = self.put(S).T @ (self.put(inner.M) @ self.u(1) - self.loads)
        for k, value in enumerate(_split(balance)):
            out |= self.rising(f"balance of forces {k + 1}", value, 1)
        for row in self.rows:
            if row.k <= self.r:
                out |= self.rising(row.name, self.put(row.value), row.k)
        return out

    def acceleration(self) -> dict[str, SX]:
        """What rates are, and the rows of the highest order."""
        n, m = len(self.inner.symbols.speeds), len(self.rows)
        moving = [*range(self.r * n), *((self.r + 1) * n + k for k in range((self.r - 1) * m))]
        to = ca.vertcat(*(self.u(k + 1) for k in range(self.r)))
        to = ca.vertcat(to, *(self.force(k + 1) for k in range(self.r - 1)))
        rates = self.s.udot[moving] - to
        names = (f"rate of {self.s.speeds[k]}" for k in moving)
        out = dict(zip(names, _split(rates), strict=True))
        return out | {row.name: self.put(row.value) for row in self.rows if row.k > self.r}

    def tree(self, old: TreeNode) -> TreeNode:
        """The tree of the inner system, with the forces of the rows at its top."""
        values = iter([self.put(value) for value in old.expressions()])
        new = old.place(old.name, "", range(len(self.inner.constraints)), values)
        names = tuple(row.name for row in self.rows)
        f = new.f + self.directions.T @ self.force(0)
        return replace(new, f=f, order=self.r + 2, higher=names)

    def with_forces(self, value: SX) -> SX:
        """The same of an expression of the inner constraint forces."""
        inner = self.inner
        if inner.constraints and ca.depends_on(value, inner.multipliers):
            lam = multipliers_of(self.put(inner.M), self.put(inner.A), self.loads, self.u(1))
            return ca.substitute(self.put(value), inner.multipliers, lam)
        return self.put(value)

    def _output(self, name: str) -> Callable[[], SX]:
        def value() -> SX:
            found = self.inner.output(name)
            assert found is not None
            return self.with_forces(found)

        return value

    def terms(self) -> Terms:
        """The raised system."""
        inner, more = self.inner, len(self.s.speeds) - len(self.inner.symbols.speeds)
        names = inner.constraints[: inner.phi.numel()]
        chart = inner.chart
        fours = [[inner.symbols.coordinates[k] for k in four] for four in chart.quaternions]
        power = ca.dot(self.directions.T @ self.force(0), self.u(0))
        return Terms(
            self.s,
            name=inner.name,
            N=ca.horzcat(self.put(inner.N), SX(inner.N.shape[0], more)),
            n=self.put(inner.n),
            M=ca.diagcat(self.put(inner.M), SX(more, more)),
            f=ca.vertcat(self.put(inner.f), SX(more, 1)),
            position=dict(zip(names, _split(self.put(inner.phi)), strict=True)),
            velocity=self.velocity(),
            acceleration=self.acceleration(),
            kinetic=self.put(inner.kinetic),
            potential=self.put(inner.potential),
            supplied=self.with_forces(inner.supplied) + power,
            dissipated=self.with_forces(inner.dissipated),
            outputs={name: self._output(name) for name in inner.outputs if name not in MONITORS},
            reference=chart.reference,
            quaternions=fours,
        )


def _split(column: SX) -> list[SX]:
    return list(ca.vertsplit(column)) if column.numel() else []
