"""Leaves: terms of single bodies and machines, to be composed; ``mg.leaves``.

Masses, inertias and lengths are parameters, so that one leaf serves for many bodies:
``mg.Part(leaf, parameters={"m": 2.0})``. Gravity is a vector of numbers. Rigid bodies have the
outputs ``place`` (mass centre) and ``rotation`` (column by column), from which ``v.point`` and
``v.axis`` make points and directions in constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import dist
from typing import Any

import casadi as ca
from casadi import SX

from ..arguments import flag, listed, named, number
from ..contract.terms import Terms
from ..contract.written import PlainChart, expression
from ..contract.written import rates as read_rates
from ..errors import ModelError, blamed, shown
from ..model.bodies import read_inertia
from ..motion.variables import Variables, variables
from ..vectors import (
    NOT_AN_EXPRESSION,
    axis,
    column,
    quaternion_matrix,
    quaternion_rates,
    scalar,
    turn,
)

NO_GRAVITY = (0.0, 0.0, 0.0)
TURNS = {"quaternion": ["q0", "q1", "q2", "q3"], "none": []}
Vector = Sequence[float]


def particle(
    name: str = "particle", *, mass: float = 1.0, gravity: Vector = NO_GRAVITY, plane: bool = False
) -> Terms:
    """A mass point: x, y, z and their rates; only x, y with ``plane``. Parameter m."""
    axes = "xy" if flag(f"{name}: plane", plane) else "xyz"
    s = variables(list(axes), [f"{axis}'" for axis in axes], parameters={"m": mass})
    g = _gravity(name, gravity, len(axes))
    return Terms(s, name=name, **_newton_euler(s, s["m"], SX(0, 0), g, s.q), outputs={"place": s.q})


def rigid_body(
    name: str = "body",
    *,
    mass: float = 1.0,
    inertia: Any = (1.0, 1.0, 1.0),
    gravity: Vector = NO_GRAVITY,
    orientation: str = "quaternion",
    angles: Sequence[str] = ("psi", "phi", "theta"),
    rates: bool = False,
) -> Terms:
    """A free rigid body by Newton and Euler: m v̇ = m g, I ω̇ + ω × I ω = 0, with v of the mass
    centre in the world's axes and ω in the body's.

    inertia: about the mass centre, in the body's axes: 3 numbers, 6 (xx yy zz xy xz yz) or 3x3;
        parameters Ixx, Iyy, … for those that are not zero.
    orientation: "quaternion" (q0, q1, q2, q3); a sequence of axes such as "zxy", turned about one
        after the other by ``angles``; or "none": ω has no coordinates, and what the body is a part
        of tells how it turns.
    rates: with angles, their rates are speeds, too, tied to ω: no inverse is needed, and none
        fails where the sequence does.
    """
    rates, mass = flag(f"{name}: rates", rates), number(f"{name}: mass", mass)
    own = read_inertia(inertia, "com", SX(mass), SX.zeros(3))
    constants = {"m": mass, **_inertias(own)}
    turns = _turns(name, orientation, angles)
    extra = [f"{angle}'" for angle in turns] if rates else []
    speeds = ["vx", "vy", "vz", "wx", "wy", "wz", *extra]
    s = variables(["x", "y", "z", *turns], speeds, parameters=constants)
    R, N, ties = _orientation(orientation, s, rates)
    g = _gravity(name, gravity)
    return Terms(
        s,
        name=name,
        N=N,
        **_newton_euler(s, s["m"], _matrix_of(s, own), g, s.q[:3]),
        velocity=ties,
        outputs={"place": s.q[:3]} | ({"rotation": ca.vec(R)} if turns else {}),
        quaternions=[turns] if orientation == "quaternion" else (),
    )


def thin_rod(
    name: str = "rod",
    *,
    mass: float = 1.0,
    inertia: float = 1.0,
    gravity: Vector = NO_GRAVITY,
    angles: Sequence[str] = ("psi", "phi", "theta"),
) -> Terms:
    """A rod along its x axis without inertia about it; turned about z, y, x, whose rates are
    speeds. What turns it about its axis has to be held by a constraint. Parameters m, Iyy, Izz."""
    return rigid_body(
        name,
        mass=mass,
        inertia=(0.0, inertia, inertia),
        gravity=gravity,
        orientation="zyx",
        angles=angles,
        rates=True,
    )


def rolling_disc(
    name: str = "wheel",
    *,
    mass: float = 1.0,
    radius: float = 1.0,
    axial: float = 0.5,
    radial: float = 0.25,
    gravity: Vector = NO_GRAVITY,
    down: bool = False,
    angles: Sequence[str] = ("psi", "phi", "theta"),
) -> Terms:
    """A knife-edge disc that rolls without slip on the plane z = 0, with its axis along its y:
    heading about z, lean about x, spin about y; v of its centre, ω in its axes, and the rates of
    the angles.

    down: z points downwards, as vehicle engineers have it. Parameters m, r, Ia, Ir.
    """
    constants = {"m": mass, "r": radius, "Ia": axial, "Ir": radial}
    angles, down = _turns(name, "zxy", angles), flag(f"{name}: down", down)
    rates = [f"{angle}'" for angle in angles]
    speeds = ["vx", "vy", "vz", "wx", "wy", "wz", *rates]
    s = variables(["x", "y", "z", *angles], speeds, parameters=constants)
    R, N, ties = _orientation("zxy", s, rates=True)
    upright = about("z", s.q[3]) @ about("x", s.q[4])
    arm = (1 if down else -1) * s["r"] * upright[:, 2]  # from the centre to the contact
    slip = s.u[:3] + ca.cross(R @ s.u[3:6], arm)
    moments, g = ca.diag(ca.vertcat(s["Ir"], s["Ia"], s["Ir"])), _gravity(name, gravity)
    return Terms(
        s,
        name=name,
        N=N,
        **_newton_euler(s, s["m"], moments, g, s.q[:3]),
        position={"height": s["z"] + arm[2]},
        velocity={**ties, "slip": slip[:2]},
        outputs={"place": s.q[:3], "rotation": ca.vec(R), "contact": s.q[:3] + arm},
        reference=[0, 0, -radius if down else radius, 0, 0, 0],
    )


def rolling_sphere(
    surface: Callable[[SX, SX, SX], SX],
    name: str = "sphere",
    *,
    mass: float = 1.0,
    radius: float = 1.0,
    inertia: float = 0.4,
    gravity: Vector = NO_GRAVITY,
    reference: Vector | None = None,
) -> Terms:
    """A sphere that rolls without slip on a surface γ(x, y, z) = 0, ∇γ towards it.

    x, y, z is the point of contact; ω and the velocity v of the centre are in the world's axes:
    v = r ω × n, (1 + r ∂n/∂x) ẋ = v. Parameters m, r, J. Output ``centre``.
    """
    constants = {"m": mass, "r": radius, "J": inertia}
    s = variables(
        ["q0", "q1", "q2", "q3", "x", "y", "z"],
        ["wx", "wy", "wz", "vx", "vy", "vz"],
        parameters=constants,
    )
    contact, omega, v, r = s.q[4:], s.u[:3], s.u[3:], s["r"]
    with blamed(f"{name}: surface"):
        level = scalar(surface(*ca.vertsplit(contact)), "its value")
    slope = ca.gradient(level, contact)
    n = slope / ca.norm_2(slope)
    R, g = quaternion_matrix(s.q[:4]), _gravity(name, gravity)
    moving = SX.eye(3) + r * ca.jacobian(n, contact)
    begin = [] if reference is None else _numbers(f"{name}: reference", reference, 3)
    return Terms(
        s,
        name=name,
        N=ca.diagcat(quaternion_rates(s.q[:4]) @ R.T, ca.solve(moving, SX.eye(3))),
        M=ca.diagcat(s["J"] * SX.eye(3), s["m"] * SX.eye(3)),
        f=ca.vertcat(SX(3, 1), s["m"] * g),
        position={"contact": level},
        velocity={"slip": v - r * ca.cross(omega, n)},
        S=ca.vertcat(SX.eye(3), -r * ca.skew(n)),
        kinetic=(s["m"] * ca.sumsqr(v) + s["J"] * ca.sumsqr(omega)) / 2,
        potential=-s["m"] * ca.dot(g, contact + r * n),
        outputs={"place": contact + r * n, "rotation": ca.vec(R)},
        quaternions=[["q0", "q1", "q2", "q3"]],
        reference=None if reference is None else [1, 0, 0, 0, *begin],
    )


def planar_body(
    name: str = "body",
    *,
    mass: float = 1.0,
    inertia: float = 1.0,
    gravity: Vector = NO_GRAVITY,
    nodes: Mapping[str, Sequence[Any]] | None = None,
) -> Terms:
    """A body in the plane by its mass centre and angle: x, y, theta and their rates.

    nodes: points of it by name, in its axes from the mass centre; each is an output of two
        components. Parameters m, I.
    """
    s = variables(["x", "y", "theta"], ["x'", "y'", "theta'"], parameters={"m": mass, "I": inertia})
    g = _gravity(name, gravity, 2)
    turn = about("z", s["theta"])[:2, :2]
    places = {
        node: column(at, 2, f"{name}: node {node!r}") for node, at in named("nodes", nodes).items()
    }
    points = {node: s.q[:2] + turn @ at for node, at in places.items()}
    return Terms(
        s,
        name=name,
        **_newton_euler(s, s["m"], s["I"], g, s.q[:2]),
        outputs={"place": s.q[:2], **points},
    )


def planar_element(
    name: str = "element",
    *,
    nodes: Sequence[Vector] = ((0.0, 0.0), (1.0, 0.0)),
    centre: tuple[float, float] = (0.5, 0.0),
    mass: float = 1.0,
    inertia: float = 1.0,
    gravity: Vector = NO_GRAVITY,
) -> Terms:
    """A body in the plane by the places of its nodes (p1x, p1y, p2x, …), with the speeds vx, vy of
    its mass centre, omega, and the rates of the nodes.

    nodes: their places in some position, which tell the distances.
    centre: (γ, ρ): the mass centre is at p1 + γ e + ρ z × e, with e from p1 to p2.
    Parameters m, I.
    """
    nodes = [_numbers(f"{name}: a node", x, 2) for x in listed(f"{name}: nodes", nodes, ModelError)]
    if len(nodes) < 2:
        raise ModelError(f"{name}: a planar element has at least two nodes")
    along, beside = _numbers(f"{name}: centre", centre, 2)
    axes = [f"p{k + 1}{axis}" for k in range(len(nodes)) for axis in "xy"]
    s = variables(
        axes,
        ["vx", "vy", "omega", *(f"{axis}'" for axis in axes)],
        parameters={"m": mass, "I": inertia},
    )
    places = [s.q[2 * k : 2 * k + 2] for k in range(len(nodes))]
    e = places[1] - places[0]
    c = places[0] + along * e + beside * _quarter(e)
    arms = ca.vertcat(*(_quarter(place - c) for place in places))
    both = ca.repmat(SX.eye(2), len(nodes), 1)
    g, count = _gravity(name, gravity, 2), len(axes)
    return Terms(
        s,
        name=name,
        N=ca.horzcat(SX(count, 3), SX.eye(count)),
        **_newton_euler(s, s["m"], s["I"], g, c),
        position={
            f"distance {i + 1}-{j + 1}": ca.sumsqr(places[i] - places[j])
            - dist(nodes[i], nodes[j]) ** 2
            for i in range(len(nodes))
            for j in range(i + 1, len(nodes))
            if i < 2
        },
        velocity={"nodes": s.u[3:] - both @ s.u[:2] - arms * s["omega"]},
        S=ca.vertcat(SX.eye(3), ca.horzcat(both, arms)),
        outputs={"place": c, **{f"p{k + 1}": place for k, place in enumerate(places)}},
        reference=[x for node in nodes for x in node],
    )


def dc_motor(
    name: str = "motor",
    *,
    torque_constant: float = 1.0,
    back_emf: float = 1.0,
    inertia: float = 1.0,
    damping: float = 0.0,
    inductance: float = 1.0,
    resistance: float = 1.0,
) -> Terms:
    """A DC motor: J ω̇ = k i − b ω, L i̇ = voltage − R i − κ ω.

    Speeds omega and i, which need no coordinates; input voltage; parameters k, kappa, J, b, L, R.
    """
    constants = {
        "k": torque_constant, "kappa": back_emf, "J": inertia, "b": damping,
        "L": inductance, "R": resistance,
    }  # fmt: skip
    s = variables([], ["omega", "i"], ["voltage"], constants)
    omega, i = s["omega"], s["i"]
    return Terms(
        s,
        name=name,
        N=SX(0, 2),
        M=ca.diagcat(s["J"], s["L"]),
        f=[
            s["k"] * i - s["b"] * omega,
            s["voltage"] - s["R"] * i - s["kappa"] * omega,
        ],
        kinetic=(s["J"] * omega**2 + s["L"] * i**2) / 2,
        supplied=s["voltage"] * i + (s["k"] - s["kappa"]) * omega * i,
        dissipated=s["R"] * i**2 + s["b"] * omega**2,
    )


def about(letter: str, angle: Any) -> SX:
    """The rotation matrix of a turn about "x", "y" or "z", to write constraints with."""
    return turn(axis(letter), angle)


def vector(values: Sequence[Any]) -> SX:
    """Numbers and expressions as a column, to write constraints with."""
    return ca.vertcat(*map(SX, values))


# --- by physical variables, by energies -----------------------------------------------------------


def physical(
    symbols: Variables,
    velocities: Any,
    *,
    inertia: Any,
    forces: Any,
    name: str = "leaf",
    **terms: Any,
) -> Terms:
    """A leaf by its physical velocities v′, whose effective forces f′ = F − M′ v̇′ are known: with
    V = ∂v′/∂u, f = Vᵀ f′ (Orsino 2016, theorem 2.8).

    velocities: v′ as expressions of ``symbols``; inertia: M′; forces: F.
    terms: whatever ``mg.Terms`` takes beside M and f.
    """
    v, F, own = (_matrix_expression(x) for x in (velocities, forces, inertia))
    if F.numel() != v.numel() or own.shape != (v.numel(), v.numel()):
        raise ModelError(
            f"{name}: {v.numel()} velocities need as many forces and a square inertia, got "
            f"{F.numel()} forces and an inertia of {own.shape[0]}x{own.shape[1]}"
        )
    V = ca.jacobian(v, symbols.u)
    rate = _chart(symbols, name, terms).rate(v)
    return Terms(symbols, name=name, M=V.T @ own @ V, f=V.T @ (F - own @ rate), **terms)


def by_accelerations(
    symbols: Variables, energy: Any, *, forces: Any, name: str = "leaf", **terms: Any
) -> Terms:
    """A leaf by Gibbs' and Appell's energy of accelerations 𝒢(q, u, u̇): inertia forces −∂𝒢/∂u̇."""
    slope = ca.gradient(_matrix_expression(energy), symbols.udot)
    return _affine_terms(symbols, _forces(forces, symbols, name) - slope, name, terms)


def by_kinetic_energy(
    symbols: Variables,
    kinetic: Any,
    *,
    forces: Any,
    speeds_of: Callable[[Mapping[str, SX]], Sequence[Any]] | None = None,
    name: str = "leaf",
    **terms: Any,
) -> Terms:
    """A leaf by its kinetic energy T(q, u) with quasi-velocities u (Boltzmann, Hamel): inertia
    forces N₀₀ ∂T/∂q + N₀₁ ∂T/∂u + N₁₁ d/dt ∂T/∂u (Orsino 2016, A.7).

    speeds_of: u by the rates of the coordinates, ``lambda rate: [rate["x"], …]``; the inverse of
        q̇ = N u + n, if not given.
    """
    s, chart, T = symbols, _chart(symbols, name, terms), _matrix_expression(kinetic)
    rates = SX.sym("rate", s.q.numel())
    if speeds_of is None:
        if s.q.numel() != s.u.numel():
            raise ModelError(
                f"{name}: {s.u.numel()} speeds of {s.q.numel()} coordinates have no inverse; say "
                "with speeds_of= how they follow from the rates"
            )
        U = ca.solve(chart.N, rates - (chart.qdot - chart.N @ s.u))
    else:
        by_name = dict(zip(s.coordinates, ca.vertsplit(rates), strict=True))
        U = _matrix_expression(list(speeds_of(by_name)))
    N, second = chart.N, chart.rate(chart.qdot) + chart.N @ s.udot

    def along(x: SX) -> SX:
        """Time derivative of an expression of q, q̇, u, t."""
        own = ca.jtimes(x, rates, second) + ca.jtimes(x, s.u, s.udot)
        return own + chart.rate(x)

    Y = ca.jacobian(U, rates)
    turned = ca.reshape(along(ca.vec(ca.densify(Y))), *Y.shape)
    by_q = ca.jacobian(U, s.q)
    momentum = ca.gradient(T, s.u)
    inertia = (
        N.T @ ca.gradient(T, s.q) + ((by_q - turned) @ N).T @ momentum - (Y @ N).T @ along(momentum)
    )
    inertia = ca.substitute(inertia, rates, chart.qdot)
    applied = _forces(forces, s, name)
    return _affine_terms(s, applied + inertia, name, {"kinetic": T, **terms})


def _chart(symbols: Variables, name: str, terms: Mapping[str, Any]) -> PlainChart:
    """How coordinates follow from speeds."""
    given = terms.get("reference"), terms.get("quaternions", ())
    return PlainChart(name, symbols, *read_rates(symbols, terms.get("N"), terms.get("n")), *given)


def _affine_terms(s: Variables, effective: SX, name: str, terms: Mapping[str, Any]) -> Terms:
    """Terms of effective forces f − M u̇."""
    M = -ca.jacobian(effective, s.udot)
    return Terms(
        s,
        name=name,
        M=ca.sparsify(ca.simplify(M)),
        f=ca.substitute(effective, s.udot, SX.zeros(s.u.numel())),
        **terms,
    )


def _forces(forces: Any, s: Variables, name: str) -> SX:
    """A force for each speed."""
    found = _matrix_expression(forces)
    if found.shape != (s.u.numel(), 1):
        raise ModelError(f"{name}: {s.u.numel()} speeds need as many forces, got {found.numel()}")
    return found


def _matrix_expression(value: Any) -> SX:
    try:
        return expression(value)
    except NOT_AN_EXPRESSION:
        raise ModelError(f"expected numbers and expressions, got {shown(value)}") from None


def _numbers(what: str, values: Any, *counts: int) -> list[float]:
    """So many plain numbers."""
    try:
        found = [number(what, value) for value in values]
    except Exception:
        found = []
    if len(found) not in counts:
        many = " or ".join(map(str, counts))
        raise ModelError(f"{what} must be {many} numbers, got {shown(values)}")
    return found


def _gravity(name: str, gravity: Any, count: int = 3) -> SX:
    """Its components; in the plane it may be given with two."""
    return SX(_numbers(f"{name}: gravity", gravity, *range(count, 4))[:count])


def _turns(name: str, orientation: Any, angles: Any) -> list[str]:
    """The names of the coordinates that turn it."""
    known = orientation if isinstance(orientation, str) else ""
    if known in TURNS:
        return TURNS[known]
    if len(known) != 3 or set(known) - set("xyz"):
        raise ModelError(
            f"{name}: orientation must be 'quaternion', 'none' or three axes such as 'zxy', got "
            f"{shown(orientation)}"
        )
    if len(found := listed(f"{name}: angles", angles, ModelError)) != 3:
        raise ModelError(f"{name}: angles must be three names, got {shown(angles)}")
    return found


# --- orientations ---------------------------------------------------------------------------------


def _orientation(orientation: str, s: Variables, rates: bool) -> tuple[SX, SX, dict[str, SX]]:
    """R, N, and the row ω − E(angles) rates, if the rates are speeds. Coordinates are x, y, z and
    those that turn, speeds are v, ω and the rates."""
    turned, moving = s.q[3:], SX.eye(3)
    if orientation == "quaternion":
        if rates:
            raise ModelError("a quaternion has no angles whose rates could be speeds")
        return quaternion_matrix(turned), ca.diagcat(moving, quaternion_rates(turned)), {}
    if orientation == "none":
        return SX.eye(3), ca.diagcat(moving, SX(0, 3)), {}
    R, E = SX.eye(3), SX(3, 0)
    for letter, angle in zip(orientation, ca.vertsplit(turned), strict=True):
        R, E = R @ about(letter, angle), ca.horzcat(about(letter, angle).T @ E, axis(letter))
    E = ca.sparsify(E)
    if rates:
        by_rates = ca.horzcat(SX(3, 3), SX.eye(3))
        return R, ca.diagcat(moving, by_rates), {"rates": s.u[3:6] - E @ s.u[6:]}
    return R, ca.diagcat(moving, ca.solve(E, SX.eye(3))), {}


def _newton_euler(s: Variables, m: SX, moments: SX, g: SX, place: SX) -> dict[str, SX]:
    """M, f, T and V of a mass and its moments of inertia: m v̇ = m g, I ω̇ + ω × I ω = 0. Speeds are
    v of the mass centre at ``place``, ω in the axes of the body, and others without inertia."""
    first, second = g.numel(), g.numel() + moments.shape[0]
    v, omega, count = s.u[:first], s.u[first:second], s.u.numel() - second
    gyroscopic = ca.cross(omega, moments @ omega) if omega.numel() == 3 else SX(omega.numel(), 1)
    return {
        "M": ca.diagcat(m * SX.eye(first), moments, SX(count, count)),
        "f": ca.vertcat(m * g, -gyroscopic, SX(count, 1)),
        "kinetic": (m * ca.sumsqr(v) + ca.dot(omega, moments @ omega)) / 2,
        "potential": -m * ca.dot(g, place),
    }


def _inertias(own: SX) -> dict[str, float]:
    entries = ((i, j, float(own[i, j])) for i in range(3) for j in range(i, 3))
    return {f"I{'xyz'[i]}{'xyz'[j]}": x for i, j, x in entries if x or i == j}


def _matrix_of(s: Variables, own: SX) -> SX:
    moments = SX(3, 3)
    for name in _inertias(own):
        i, j = "xyz".index(name[1]), "xyz".index(name[2])
        moments[i, j] = moments[j, i] = s[name]
    return moments


def _quarter(x: SX) -> SX:
    """z × x."""
    return ca.vertcat(-x[1], x[0])
