"""Random mechanisms composed in random trees of subsystems with random independent speeds, against
plain systems of joints, and the self-checks of the method on each."""

from __future__ import annotations

from dataclasses import dataclass, field
from runpy import run_path

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation

import mechgraph as mg
from composition.test_composition import self_checks
from mechgraph import gallery
from mechgraph.errors import ModelError

GRAVITY = (0.6, -9.81, 0.4)


@dataclass
class Body:
    """A body on another, or on ground (None): its joint's point on either, from the mass
    centres."""

    name: str
    parent: Body | None
    on_parent: np.ndarray
    on_body: np.ndarray
    mass: float
    inertia: np.ndarray


@dataclass
class Mechanism:
    """Bodies on ball joints, or on pins in the plane, and whether the last one is held at a point
    of its own, too."""

    planar: bool
    bodies: list[Body] = field(default_factory=list)
    held: np.ndarray | None = None
    place: np.ndarray | None = None


def random_mechanism(random: np.random.Generator, planar: bool, loop: bool) -> Mechanism:
    size = 2 if planar else 3
    out = Mechanism(planar)
    for k in range(int(random.integers(3, 6))):
        parent = None if k == 0 else out.bodies[int(random.integers(max(0, k - 2), k))]
        points = [np.r_[random.uniform(-0.6, 0.6, size), np.zeros(3 - size)] for _ in range(2)]
        inertia = random.uniform(0.2, 0.4, 3)
        out.bodies.append(Body(f"b{k}", parent, *points, random.uniform(0.5, 2), inertia))
    if loop:
        out.held = np.r_[random.uniform(-0.6, 0.6, size), np.zeros(3 - size)]
    return out


def system(mechanism: Mechanism) -> mg.System:
    """The plain twin."""
    s = mg.System("plain", gravity=(*GRAVITY[:2], 0.0) if mechanism.planar else GRAVITY)
    word = s.revolute if mechanism.planar else s.spherical
    for b in mechanism.bodies:
        made = s.body(b.name, mass=b.mass, inertia=tuple(b.inertia))
        on = s.ground if b.parent is None else b.parent.name
        word(f"j{b.name}", on, made, at=tuple(b.on_parent), child_at=tuple(b.on_body))
    if mechanism.held is not None:
        held = s.marker("held", mechanism.bodies[-1].name, tuple(mechanism.held))
        rows = 2 if mechanism.planar else 3
        place = mg.leaves.vector(list(mechanism.place))
        s.constrain("hold", position=lambda m: (m.position(held) - place)[:rows])
    return s


def leaf(mechanism: Mechanism, body: Body) -> mg.Terms:
    if mechanism.planar:
        return mg.leaves.planar_body(
            body.name, mass=body.mass, inertia=body.inertia[2], gravity=GRAVITY[:2]
        )
    return mg.leaves.rigid_body(
        body.name, mass=body.mass, inertia=tuple(body.inertia), gravity=GRAVITY
    )


def point(mechanism: Mechanism, v, name: str, at: np.ndarray):
    """A point of a body, in the world."""
    if not mechanism.planar:
        return v.point(name, tuple(at))
    c, s = mg.cos(v[f"{name}.theta"]), mg.sin(v[f"{name}.theta"])
    return v[f"{name}.place"] + mg.leaves.vector([c * at[0] - s * at[1], s * at[0] + c * at[1]])


def rows(mechanism: Mechanism, bodies: list[Body], names: dict[str, str], done: set[str]) -> dict:
    """Joints between these bodies that are not done yet, with the names that they have here."""
    size, out = 2 if mechanism.planar else 3, {}
    inside = {b.name for b in bodies}
    for b in bodies:
        if b.name in done or (b.parent is not None and b.parent.name not in inside):
            continue
        done.add(b.name)
        out[f"joint {b.name}"] = lambda v, b=b: (
            point(mechanism, v, names[b.name], b.on_body)
            - (
                mg.leaves.vector(list(b.on_parent[:size]))
                if b.parent is None
                else point(mechanism, v, names[b.parent.name], b.on_parent)
            )
        )
    last = mechanism.bodies[-1]
    if mechanism.held is not None and last in bodies and "hold" not in done:
        done.add("hold")
        place = mg.leaves.vector(list(mechanism.place[:size]))
        out["hold"] = lambda v: point(mechanism, v, names[last.name], mechanism.held) - place
    return out


def composed(mechanism, bodies, random, done=None) -> tuple[mg.Equations, dict[str, str]]:
    """These bodies in random groups of groups; and what each body is called."""
    done = set() if done is None else done
    shuffled = [bodies[int(k)] for k in random.permutation(len(bodies))]
    cuts = np.sort(random.choice(np.arange(1, len(bodies)), min(2, len(bodies) - 1), replace=False))
    parts, names = {}, {}
    for k, group in enumerate(np.split(np.arange(len(bodies)), cuts)):
        own = [shuffled[int(j)] for j in group]
        if len(own) == 1:
            parts[own[0].name], names[own[0].name] = leaf(mechanism, own[0]), own[0].name
            continue
        made, inner = composed(mechanism, own, random, done)
        parts[f"g{k}"] = made
        names |= {body: f"g{k}.{name}" for body, name in inner.items()}
    given = rows(mechanism, bodies, names, done)
    return chosen("group", parts, given, random), names


def chosen(name, parts, constraints, random) -> mg.Equations:
    """With a random method of complements, or random independent speeds."""
    method = str(random.choice(["automatic", "partition", "orthonormal", "pivoted", "named"]))
    if method != "named":
        return mg.compose(name, parts, constraints=constraints, complement=method)
    first = mg.compose(name, parts, constraints=constraints, complement="partition")
    columns, count = first.composition.B.columns, len(first.composition.independent)
    for _ in range(5):
        names = [str(n) for n in random.choice(columns, count, replace=False)]
        try:
            return mg.compose(name, parts, constraints=constraints, independent=names)
        except ModelError as error:
            if "do not determine the other speeds" not in str(error):
                raise
    return first


def start(plain: mg.Equations, mechanism, names, q, u) -> dict[str, float]:
    """The twin's state by the names of the composition."""
    out = {}
    for b in mechanism.bodies:
        name, R = names[b.name], plain.rotation(b.name, q)
        place, velocity = plain.position(b.name, q), plain.observe(f"{b.name}'", q, u)
        omega = plain.observe(lambda m, b=b: m.angular_velocity(b.name), q, u)
        if mechanism.planar:
            out |= dict(zip([f"{name}.x", f"{name}.y"], place, strict=False))
            out |= dict(zip([f"{name}.x'", f"{name}.y'"], velocity, strict=False))
            out |= {f"{name}.theta": np.arctan2(R[1, 0], R[0, 0]), f"{name}.theta'": omega[2]}
        else:
            turn = Rotation.from_matrix(R).as_quat(scalar_first=True)
            values = [*place, *turn], [*velocity, *(R.T @ omega)]
            keys = ("x y z q0 q1 q2 q3", "vx vy vz wx wy wz")
            for group, own in zip(keys, values, strict=True):
                out |= {f"{name}.{key}": x for key, x in zip(group.split(), own, strict=True)}
    return out


def states(mechanism: Mechanism, random, count: int):
    """The twin, and random states of it."""
    bare = system(Mechanism(mechanism.planar, mechanism.bodies)).equations()
    q = bare.terms.chart.normalized(random.uniform(-1, 1, len(bare.coordinates)))
    if mechanism.held is not None:
        end = mechanism.bodies[-1].name
        mechanism.place = bare.position(end, q) + bare.rotation(end, q) @ mechanism.held
    plain = system(mechanism).equations()
    for _ in range(count):
        moved = q + 0.1 * random.standard_normal(len(q))
        guess = dict(zip(plain.coordinates, plain.terms.chart.normalized(moved), strict=True))
        u = random.standard_normal(len(plain.speeds))
        wanted = {} if mechanism.held is not None else dict(zip(plain.speeds, u, strict=True))
        yield plain, *_assembled(plain, guess, wanted, u)


def _assembled(plain, guess, wanted, u):
    if wanted:
        return plain.assemble(guess | wanted)
    q, _ = plain.assemble({}, guess=guess)
    A = plain.constraint_jacobian(q)
    return q, u - np.linalg.pinv(A, rcond=1e-9) @ (A @ u)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("loop", [False, True], ids=["tree", "loop"])
@pytest.mark.parametrize("planar", [True, False], ids=["planar", "spatial"])
@pytest.mark.parametrize("seed", range(3))
def test_random_trees_of_subsystems_agree_with_the_plain_system(seed, planar, loop):
    random = np.random.default_rng([seed, planar, loop])
    mechanism = random_mechanism(random, planar, loop)
    found = list(states(mechanism, random, 2))
    whole, names = composed(mechanism, mechanism.bodies, random)
    for plain, q, u in found:
        given = start(plain, mechanism, names, q, u)
        at = (
            np.array([given[name] for name in whole.coordinates]),
            np.array([given[name] for name in whole.speeds]),
        )
        assert np.abs(whole.position_violation(at[0])).max() < 1e-9
        for b in mechanism.bodies:
            expected = plain.observe(f"{b.name}''", q, u)
            moving = ("x''", "y''") if planar else ("vx'", "vy'", "vz'")
            second = [whole.observe(f"{names[b.name]}.{x}", *at)[0] for x in moving]
            size = np.abs(expected).max() + np.abs(u).max() ** 2
            assert np.allclose(second, expected[: len(second)], rtol=0, atol=1e-9 * size)
        self_checks(whole, *at)
        more_checks(whole, *at)


def more_checks(whole: mg.Equations, q, u) -> None:
    """S spans the null space of the flat A; the power of a motion balances."""
    numeric, S = whole.composition.complement(q, u), whole.composition.S(q, u)
    assert scipy.linalg.subspace_angles(numeric, S).max(initial=0.0) < 1e-8
    udot, qdot = whole.accelerations(q, u), whole.coordinate_rates(q, u)
    gain = (
        whole.jacobian("kinetic_energy", "q", q, u)[0] @ qdot
        + whole.jacobian("kinetic_energy", "u", q, u)[0] @ udot
        + whole.jacobian("potential_energy", "q", q)[0] @ qdot
    )
    size = np.abs(whole.mass_matrix(q) @ udot) @ np.abs(u)
    assert abs(gain) < 1e-9 * (1 + size)


@pytest.mark.parametrize("seed", range(2))
def test_random_linear_models_agree(seed):
    """From linearized parts, and from the full equations, at any state: about the motion that
    begins there."""
    random = np.random.default_rng([seed, 99])
    mechanism = random_mechanism(random, True, False)
    whole, names = composed(mechanism, mechanism.bodies, random)
    [(plain, q, u)] = states(mechanism, random, 1)
    given = start(plain, mechanism, names, q, u)
    at = tuple(
        np.array([given[name] for name in group]) for group in (whole.coordinates, whole.speeds)
    )
    angles = [f"{names[b.name]}.theta" for b in mechanism.bodies]
    rates = [f"{angle}'" for angle in angles]
    ordinary = whole.linearize(at, independent=[*angles, *rates])
    model = whole.composition.linearize(at, coordinates=angles, speeds=rates)
    assert np.allclose(model.A, ordinary.A, atol=1e-7 * np.abs(ordinary.A).max())


def test_redundant_rows_may_leave_nothing_but_rounding():
    """A chain whose angles are tied to its nodes twice, by their rates and by their places: what
    elimination leaves of the second is rounding, and no constraint."""
    module = run_path(str(gallery.folder() / "five_bar.py"))
    side = module["SIDES"]["L"]
    open_choice, named = (module["chain"](side, named) for named in (False, True))
    assert open_choice.composition.independent == ("theta'", "phi'")
    q, u = named.assemble({"theta": 1.1, "phi": 0.3, "theta'": 0.5, "phi'": -0.8})
    assert np.allclose(open_choice.accelerations(q, u), named.accelerations(q, u), atol=1e-9)
    self_checks(open_choice, q, u)
