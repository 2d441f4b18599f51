"""Absolute coordinates against joint coordinates: the same accelerations of every body and the same reactions."""

from __future__ import annotations

import numpy as np
import pytest

import mechgraph as mg
from mechgraph import gallery
from mechgraph.studies.initial import to_absolute

SYSTEMS = ("double_pendulum", "fourbar", "slider_crank_3d", "garifulin", "heavy_top", "acrobot", "puma560")


@pytest.mark.parametrize("name", SYSTEMS)
def test_accelerations_and_reactions_are_those_of_joint_coordinates(name):
    example = gallery.load(name)
    system = example.system()
    joint, free = system.equations(), system.equations("absolute")
    t = 0.3
    q, u = joint.assemble(example.start, t=t, guess=example.guess)
    Q, U = to_absolute(free, joint, q, u, t)
    np.testing.assert_allclose(free.position_violation(Q, t), 0, atol=1e-10)
    np.testing.assert_allclose(free.velocity_violation(Q, U, t), 0, atol=1e-9 * max(1.0, np.abs(u).max()))
    for body in system.bodies.values():
        quantity = _accelerations(body)
        expected = joint.observe(quantity, q, u, t)
        np.testing.assert_allclose(
            free.observe(quantity, Q, U, t), expected, rtol=0, atol=1e-9 * max(1.0, np.abs(expected).max())
        )
    if not joint.constraints or name == "slider_crank_3d":  # redundant rows share their load as the coordinates have it
        for name in system.joints:
            expected = joint.reaction(name, q, u, t)
            np.testing.assert_allclose(
                free.reaction(name, Q, U, t), expected, rtol=0, atol=1e-9 * max(1.0, np.abs(expected).max())
            )


def _accelerations(body: mg.Body):
    return lambda m: [m.acceleration(body), m.angular_acceleration(body)]


def test_the_same_motion():
    example = gallery.load("fourbar")
    runs = [
        example.system().equations(formalism).simulate(2.0, example.start, guess=example.guess, rtol=1e-10, method="rk8")
        for formalism in ("newton-euler", "absolute")
    ]
    for name in ("qA", "qB", "qC"):
        np.testing.assert_allclose(runs[1][name], runs[0][name], atol=1e-7)
    assert runs[1].violation.max() < 1e-11


def test_cost_is_linear_in_the_number_of_bodies():
    def operations(n: int) -> int:
        s = mg.System("chain", gravity=(0, 0, -9.81))
        parent = s.ground
        for k in range(n):
            body = s.body(f"b{k}", mass=1.0, com=(0, 0, 0.1), inertia=(0.1, 0.1, 0.1))
            s.revolute(f"j{k}", parent, body, axis="xy"[k % 2], at=(0, 0, 0.2 if k else 0))
            parent = body
        eqs = s.equations("absolute")
        return eqs.kernel("udot", lambda: [eqs.udot], [1]).function.n_instructions()

    assert (operations(24) - operations(12)) / 12 == pytest.approx((operations(12) - operations(6)) / 6, rel=0.05)
