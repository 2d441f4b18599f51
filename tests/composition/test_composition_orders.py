"""Constraints of orders above two, against closed forms, other integrations, and the same
constraints at lower orders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mechgraph as mg
from composition.test_composition import RADIUS, bob, sphere
from mechgraph.errors import ModelError, UnsupportedError

MASS, MU, SIZE = 1.3, 4.0, 1.0


def satellite(**options) -> mg.Equations:
    """A particle drawn to the origin, whose acceleration keeps its size: not affine in
    accelerations, so of order 3 (M. Yushkov, S. Zegzhda: a spacecraft with w² = constant)."""

    def pull(v):
        r = v["place"]
        return -MASS * MU * r / mg.sqrt(r[0] ** 2 + r[1] ** 2) ** 3

    return mg.compose(
        "satellite",
        [mg.leaves.particle(mass=MASS, plane=True)],
        forces={"place'": pull},
        constraints={"size": lambda v: v["x''"] ** 2 + v["y''"] ** 2 - SIZE**2},
        **options,
    )


def test_an_acceleration_that_keeps_its_size():
    """The constraint force λ r̈ is along the acceleration, (m − 2λ) r̈ = F, so the acceleration is
    along the force: r̈ = −w r/|r|."""
    equations = satellite()
    assert equations.composition.order == 3
    start = {"x": 1.8, "y": 0.1, "x'": 0.1, "y'": 1.4}
    run = equations.simulate(5.0, start, guess={"x''": -1.0}, rtol=1e-11)
    closed = solve_ivp(
        lambda _, y: np.r_[y[2:], -SIZE * y[:2] / np.linalg.norm(y[:2])],
        (0, 5),
        [1.8, 0.1, 0.1, 1.4],
        t_eval=run.time,
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
    )
    assert np.allclose(run.q, closed.y[:2].T, atol=1e-8)
    assert np.allclose(np.hypot(run["x''"], run["y''"]), SIZE, atol=1e-10)
    r = np.linalg.norm(run.q, axis=1)
    assert np.allclose(run["size: force"], MASS * (1 - MU / r**2 / SIZE) / 2, atol=1e-7)
    assert np.abs(run.imbalance).max() < 1e-8


def test_a_law_for_a_jerk():
    """A mass whose jerk follows a law of time and acceleration drives another by a spring; with an
    independent integration of (x, ẋ, ẍ, y, ẏ)."""
    k, c = 30.0, 0.7
    whole = mg.compose(
        "driven",
        {"a": mg.leaves.particle(mass=1.0), "b": mg.leaves.particle(mass=2.0)},
        forces={
            "a.x'": lambda v: k * (v["b.x"] - v["a.x"]),
            "b.x'": lambda v: k * (v["a.x"] - v["b.x"]),
        },
        constraints={"law": lambda v: v["a.x'''"] + c * v["a.x''"] - mg.sin(3 * v["t"])},
    )
    assert whole.composition.order == 3
    run = whole.simulate(2.0, {"a.x": 0.1, "a.x''": 0.5}, rtol=1e-11)

    def rates(t, y):
        return [y[1], y[2], np.sin(3 * t) - c * y[2], y[4], k / 2 * (y[0] - y[3])]

    other = solve_ivp(
        rates, (0, 2), [0.1, 0, 0.5, 0, 0], t_eval=run.time, rtol=1e-12, atol=1e-13, method="DOP853"
    )
    assert np.allclose(run["a.x"], other.y[0], atol=1e-9)
    assert np.allclose(run["b.x"], other.y[3], atol=1e-9)
    force = other.y[2] + k * (other.y[0] - other.y[3])
    assert np.allclose(run["law: force"], force, atol=1e-8)


ORDERS = {
    2: lambda v: v["z''"] - 0.8 - 0.3 * v["t"],
    3: lambda v: v["z'''"] - 0.3,
    4: lambda v: v["z''''"],
    5: lambda v: v["z'''''"],
}


@pytest.mark.parametrize("order", [3, 4, 5])
def test_orders_agree(order):
    """A spherical pendulum that is pushed along z with z̈ = 0.8 + 0.3 t, said at every order: below
    are the pendulum's own constraint, of order 0, and its complement."""
    place = {"x": np.sqrt(RADIUS**2 - 0.05), "y": 0.1, "z": 0.2, "y'": 0.3, "z'": -0.1}
    guess = {"x": 0.65, "x'": 0.0}

    def pendulum(order):
        rows = {"sphere": sphere, "push": ORDERS[order]}
        return mg.compose("pendulum", [bob()], constraints=rows)

    start = place | {"z''": 0.8} | ({"z'''": 0.3} if order > 3 else {})
    start |= {"z''''": 0.0} if order > 4 else {}
    raised = pendulum(order)
    assert raised.composition.order == order
    given = {"rtol": 1e-11, "step": 0.1}
    run = raised.simulate(0.5, start, guess=guess, **given)
    plain = pendulum(2).simulate(0.5, place, guess=guess, **given)
    assert np.allclose(run["x"], plain["x"], atol=1e-9)
    assert np.allclose(run["y"], plain["y"], atol=1e-9)
    assert np.allclose(run["push: force"], plain["push"], atol=1e-7)
    assert run["‖q̄1‖"].max() < 1e-9
    assert np.abs(run.imbalance).max() < 1e-7
    own = raised.composition  # what is looked at is the user's system, not the raised one
    assert (own.speeds, own.constraints) == (("x'", "y'", "z'"), ("sphere", "push"))
    assert own.show().startswith(f"pendulum: 3 speeds, 1 row, push of order {order}; free: ")
    assert [*own.parts] == ["bob"]
    assert np.abs(own.A(run.q, run.u) @ own.S(run.q, run.u)).max() < 1e-12
    assert np.abs(own.fbar(run.q, run.u)).max() < 1e-8  # with the force of the push


def test_raised_equations_are_parts():
    """Two satellites, one of them also held by a spring to the other, beside the first alone."""
    one = satellite()
    pair = mg.compose("pair", {"a": one, "b": one})
    assert pair.composition.order == 3
    q, u = one.assemble({"x": 1.8, "y'": 1.4}, guess={"x''": -1.0})
    udot = one.accelerations(q, u)
    assert np.allclose(pair.accelerations([*q, *q], [*u, *u]), [*udot, *udot])


def test_what_orders_do_not_take():
    with pytest.raises(UnsupportedError, match=r"'c' is of an order above 2.*inputs have none"):
        mg.compose(
            "c",
            [bob()],
            inputs=["push"],
            forces={"x'": lambda v: v["push"]},
            constraints={"c": lambda v: v["x'''"]},
        )
    with pytest.raises(ModelError, match="'c' must not depend on inputs"):
        mg.compose("c", [bob()], inputs=["w"], constraints={"c": lambda v: v["x'''"] - v["w"]})
    with pytest.raises(ModelError, match="force along \"x'\": uses \"x'''\""):
        mg.compose("c", [bob()], forces={"x'": lambda v: v["x'''"]})
