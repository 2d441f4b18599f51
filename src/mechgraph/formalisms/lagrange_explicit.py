"""The explicit coefficients of Lagrange's equations of a revolute tree on a moving base.

Dolgii, Sesekin and Chupin, *Using graphs in modeling the movements of a manipulation robot*,
corrected. Each body a hangs on one hinge a; its frame has the third axis along the hinge. With φ
the angles, V₁ the velocity of the base point, Ω₀ the angular velocity of the base (an extension:
the source has Ω₀ = 0), both in the base's axes,

    T = ½ (α₀ − 2 Σ α_b φ̇_b + Σ α_bc φ̇_b φ̇_c)                                        (Theorem 1)

and the equations of motion are

    Σ α_bc φ̈_c + Σ (∂α_bc/∂φ_d − ½ ∂α_dc/∂φ_b) φ̇_c φ̇_d
        + Σ (∂α_c/∂φ_b − ∂α_b/∂φ_c) φ̇_c − ½ ∂α₀/∂φ_b − ∂α_b/∂t = Q_b.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import casadi as ca
from casadi import SX

from ..arguments import named, number
from ..errors import ArgumentError, UnsupportedError, unknown
from ..model.bodies import MassProperties
from ..motion.tree import TreeChart, TreeFrame
from ..vectors import shortest_turn_to_z
from .dynamics import Coefficient, Dynamics, in_speeds

E3 = SX(ca.DM([0, 0, 1]))


@dataclass(frozen=True, eq=False)
class Hinge:
    """Body a of the source and the hinge that it hangs on. ``inboard`` is −1 for the base.

    ``turn`` is A_{bb⁺} (Lemma 1, at α = 0 unless it is given) from the inboard body's frame to the
    hinge's, ``arm`` is d_{bb⁺} from the hinge's point to the inboard body's; ``moment`` is m d_aa,
    with d_aa from the mass centre to the hinge's point, and ``inertia`` J_a is about the hinge's
    point, both in the body's frame of the source. ``speed`` is the index of its angle's rate in u
    (hinges come parents first, and those of a joint walked backwards in the other order than in
    u).
    """

    speed: int
    inboard: int
    turn: SX
    arm: SX
    mass: SX
    moment: SX
    inertia: SX


def derive(
    chart: TreeChart, Q: Callable[[], SX], angles: Mapping[str, Any] | None = None
) -> Dynamics:
    """Dynamics from α₀, α_b and α_bc; ``angles`` are the free angles of Lemma 1, by hinge, zero if
    not given."""
    tree = hinges(chart, _free_angles(chart, angles))  # refuses at once what is no revolute tree
    alphas = cache(lambda: coefficients(chart, tree))
    ordered = sorted(range(len(tree)), key=lambda a: tree[a].speed)
    along = chart.joint_speed_names

    def inertia_forces() -> SX:
        phi, u, t = chart.symbols.q, SX.sym("u", chart.symbols.u.numel()), chart.symbols.t
        alpha_0, alpha_b, alpha_bc = alphas()
        quadratic = ca.jtimes(alpha_bc @ u, phi, u) - ca.gradient(ca.dot(u, alpha_bc @ u), phi) / 2
        linear = ca.gradient(ca.dot(alpha_b, u), phi) - ca.jtimes(alpha_b, phi, u)
        driven = ca.gradient(alpha_0, phi) / 2 + ca.jtimes(alpha_b, t, SX(1))
        return ca.substitute(driven - quadratic - linear, u, chart.joint_rates)

    made = in_speeds(chart, Dynamics(lambda: alphas()[2], inertia_forces))
    return replace(
        made,
        f=lambda: Q() + made.f(),
        coefficients={
            "alpha_0": Coefficient(0, lambda: alphas()[0]),
            "alpha_b": Coefficient(1, lambda: alphas()[1], along),
            "alpha_bc": Coefficient(2, lambda: alphas()[2], along),
            "turns": Coefficient(3, lambda: [tree[a].turn for a in ordered]),
            "B_ab": Coefficient(2, lambda: _blocks(_turns_between(chart, tree), ordered, 3)),
            "C_ac": Coefficient(2, lambda: _blocks(_velocities(chart, tree)[3], ordered, 1)),
        },
    )


# --- the graph as the source has it ---------------------------------------------------------------


def _free_angles(chart: TreeChart, given: Mapping[str, Any] | None) -> dict[int, SX]:
    """α by the index of the hinge's speed."""
    found: dict[int, SX] = {}
    names = {name.removesuffix("'"): k for k, name in enumerate(chart.joint_speed_names)}
    for name, value in named("lagrange: angles", given).items():
        if name not in names:
            raise ArgumentError(f"lagrange: angles: {unknown('hinge', name, names)}")
        found[names[name]] = SX(number(f"lagrange: angle of {name!r}", value))
    return found


def hinges(chart: TreeChart, angles: Mapping[int, SX] | None = None) -> list[Hinge]:
    """The bodies in the order of the tree, each on its hinge, in frames with the third axis along
    the hinge."""
    base = _base_frame(chart)
    moving = [j for j, frame in enumerate(chart.frames) if frame.speeds]
    number = {j: a for a, j in enumerate(moving)}
    out: list[Hinge] = []
    to_source: list[SX] = []  # user's frame of each body → its frame in the source
    for j in moving:
        parent, R, d, direction = _from_last_hinge(chart, j, base)
        b = number.get(parent, -1)
        C = to_source[b] if b >= 0 else SX.eye(3)
        turn = shortest_turn_to_z(C @ R @ direction)
        free = (angles or {}).get(chart.frames[j].speeds[0])
        if free is not None:
            turn = _spin(-free) @ turn
        to_source.append(turn @ C @ R)
        mass, first, inertia = _inertia_on(chart, j, number)
        C_a = to_source[-1]
        out.append(
            Hinge(
                chart.frames[j].speeds[0],
                b,
                turn,
                -(C @ d),
                mass,
                -(C_a @ first),
                C_a @ inertia @ C_a.T,
            )
        )
    return out


def _base_frame(chart: TreeChart) -> int:
    """The frame of the external body s₀: the last frame before the hinges that moves by functions
    of time."""
    driven = [
        j
        for j, frame in enumerate(chart.frames)
        if not frame.relative[0].is_zero() or not frame.relative[1].is_zero()
    ]
    base = 0
    for j in (j for j in driven if not chart.frames[j].speeds):
        if chart.frames[j].parent != base:
            _refuse("time may drive the base only")
        base = j
    for j in (j for j in driven if chart.frames[j].speeds):
        if not _is_hinge(chart.frames[j]):
            _refuse(f"joint {chart.frames[j].joint.name!r} is not a revolute")  # type: ignore[union-attr]
    if chart.chain_end:
        _refuse("a cut joint carries coordinates")
    if chart.counted:
        _refuse("turns of a cut joint are counted")
    return base


def _is_hinge(frame: TreeFrame) -> bool:
    return len(frame.speeds) == 1 and bool(frame.S[1].is_zero())


def _refuse(why: str) -> None:
    raise UnsupportedError(
        "lagrange: form='explicit' is for trees of revolute joints on one base that is fixed or "
        f"driven in time ({why}); "
        "use form='energy' or another formalism"
    )


def _from_last_hinge(chart: TreeChart, j: int, base: int) -> tuple[int, SX, SX, SX]:
    """Frame of the previous hinge (or the base), the pose of hinge j in it at φ_j = 0, and the
    hinge's axis."""
    frame = chart.frames[j]
    direction = frame.S[0]
    R, d, parent = ca.substitute(frame.R, *_zero(chart, frame)), frame.d, frame.parent
    while parent != base and not chart.frames[parent].speeds:
        step = chart.frames[parent]
        if parent == 0:
            _refuse("a body hangs beside the driven base")
        R, d, parent = step.R @ R, step.d + step.R @ d, step.parent
    return parent, R, d, direction


def _zero(chart: TreeChart, frame: TreeFrame) -> tuple[SX, SX]:
    x = chart.symbols.q[frame.speeds[0]]
    return x, SX(0)


def _inertia_on(chart: TreeChart, j: int, number: dict[int, int]) -> tuple[SX, SX, SX]:
    """Mass, first moment and inertia of all that rides on hinge j before the next hinges, about its
    origin."""
    mass, first, inertia = SX(0), SX.zeros(3), SX.zeros(3, 3)
    places: dict[int, tuple[SX, SX]] = {j: (SX.eye(3), SX.zeros(3))}
    for k in range(j, len(chart.frames)):
        frame = chart.frames[k]
        if k != j:
            if k in number or frame.parent not in places:
                continue
            R, d = places[frame.parent]
            places[k] = (R @ frame.R, d + R @ frame.d)
        body: MassProperties | None = chart.riders[k]
        if body is not None:
            R, d = places[k]
            c = d + R @ body.com
            mass, first = mass + body.mass, first + body.mass * c
            inertia = (
                inertia + R @ body.inertia @ R.T + body.mass * (ca.dot(c, c) * SX.eye(3) - c @ c.T)
            )
    return mass, first, inertia


# --- Lemmas 2 and 3, Theorem 1 --------------------------------------------------------------------


def coefficients(chart: TreeChart, tree: list[Hinge]) -> tuple[SX, SX, SX]:
    """α₀, α_b, α_bc of Theorem 1, with the base turning as well."""
    n = len(tree)
    alpha_0, alpha_b, alpha_bc = SX(0), SX.zeros(n), SX.zeros(n, n)
    for body, w, W, u, C in zip(tree, *_velocities(chart, tree), strict=True):
        m, md, J = body.mass, body.moment, body.inertia
        alpha_0 += m * ca.dot(W, W) - 2 * ca.dot(ca.cross(W, w), md) + ca.dot(J @ w, w)
        for b in u:
            alpha_b[b] += (
                m * ca.dot(W, C[b])
                + ca.dot(ca.cross(W, u[b]) - ca.cross(C[b], w), md)
                - ca.dot(J @ w, u[b])
            )
            for c in (c for c in u if c <= b):
                mixed = ca.dot(ca.cross(C[c], u[b]) + ca.cross(C[b], u[c]), md)
                alpha_bc[b, c] += m * ca.dot(C[b], C[c]) + mixed + ca.dot(J @ u[b], u[c])
    order = sorted(range(n), key=lambda a: tree[a].speed)
    return alpha_0, alpha_b[order], ca.tril2symm(ca.tril(alpha_bc))[order, order]


def _velocities(
    chart: TreeChart, tree: list[Hinge]
) -> tuple[list[SX], list[SX], list[dict[int, SX]], list[dict[int, SX]]]:
    """For each body, in its own axes: w = B_a0 Ω₀, W (the velocity of its point with the base alone
    moving), and for each hinge b on its path u_ab = B_ab e_b (Lemma 2) and C_ab (Lemma 3, by its
    recursion)."""
    omega, V = _base_motion(chart)
    ws: list[SX] = []
    Ws: list[SX] = []
    us: list[dict[int, SX]] = []
    Cs: list[dict[int, SX]] = []
    for a, hinge in enumerate(tree):
        step = _spin(chart.symbols.q[hinge.speed]) @ hinge.turn
        b = hinge.inboard
        w, W = (omega, V) if b < 0 else (ws[b], Ws[b])
        u, C = ({}, {}) if b < 0 else (us[b], Cs[b])
        ws.append(step @ w)
        Ws.append(step @ (W - ca.cross(w, hinge.arm)))
        Cs.append({c: step @ (C[c] + ca.cross(u[c], hinge.arm)) for c in u} | {a: SX.zeros(3)})
        us.append({c: step @ u[c] for c in u} | {a: E3})
    return ws, Ws, us, Cs


def _turns_between(chart: TreeChart, tree: list[Hinge]) -> list[dict[int, SX]]:
    """B_ab of each body, for each hinge b on its path: components in body b to those in body a."""
    out: list[dict[int, SX]] = []
    for a, hinge in enumerate(tree):
        step = _spin(chart.symbols.q[hinge.speed]) @ hinge.turn
        inner = {} if hinge.inboard < 0 else out[hinge.inboard]
        out.append({b: step @ B for b, B in inner.items()} | {a: SX.eye(3)})
    return out


def _blocks(parts: list[dict[int, SX]], order: list[int], width: int) -> SX:
    """Parts of body a and hinge b as block (a, b) of one matrix, in the order of u."""
    none = SX(3, width)
    rows = (ca.horzcat(*(parts[a].get(b, none) for b in order)) for a in order)
    return ca.vertcat(SX(0, width * len(order)), *rows)


def _base_motion(chart: TreeChart) -> tuple[SX, SX]:
    """Ω₀ and the velocity of the base's origin, in the base's axes: functions of time."""
    return chart.twists[_base_frame(chart)]


def _spin(phi: SX) -> SX:
    c, s = ca.cos(phi), ca.sin(phi)
    return ca.vertcat(ca.horzcat(c, s, 0), ca.horzcat(-s, c, 0), ca.horzcat(0, 0, 1))
