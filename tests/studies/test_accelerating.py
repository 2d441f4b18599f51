"""Steady motions of constant acceleration, and linear models about them."""

from __future__ import annotations

from runpy import run_path

import numpy as np
import pytest

import mechgraph as mg
from mechgraph import gallery
from mechgraph.errors import ArgumentError, AssemblyError

ROLLING = ["ring.x'", "ring.theta'", "disc.x'", "disc.theta'"]


@pytest.fixture(scope="module")
def ring_and_disc():
    return run_path(str(gallery.folder() / "ring_and_disc.py"))


# slope, ratio of the masses, steady angle in degrees, frequency (specification, §3.10)
@pytest.mark.parametrize(
    ("slope", "ratio", "angle", "frequency"),
    [
        (30, 8 / 67, 22.5253, 3.0074),
        (np.degrees(np.arcsin(0.8)), 8 / 67, 36.8699, 2.63296508),
        (80, 5, 66.2139, 3.1461),
    ],
)
def test_a_disc_in_a_ring_on_a_slope(ring_and_disc, slope, ratio, angle, frequency):
    whole = ring_and_disc["composed"](ratio, np.radians(slope))
    guess = {"theta": np.radians(0.7 * slope), "ring.x'": 2.0}
    q, u = whole.steady(guess, accelerating=ROLLING, hold=["ring.x'"])
    theta = q[whole.coordinates.index("theta")]
    assert np.degrees(theta) == pytest.approx(angle, abs=6e-5)
    down, masses = ring_and_disc["steady"](theta, np.radians(slope))
    assert masses == pytest.approx(ratio, rel=1e-9)
    udot = dict(zip(whole.speeds, whole.accelerations(q, u), strict=True))
    assert udot["ring.x'"] == pytest.approx(down, rel=1e-10)
    assert udot["disc.theta'"] == pytest.approx(-down / 0.3, rel=1e-10)
    for model in (
        whole.linearize((q, u)),
        whole.composition.linearize(
            (q, u), coordinates=whole.coordinates, speeds=["theta'", "disc.theta'"]
        ),
    ):
        values = np.linalg.eigvals(model.A)
        assert np.abs(values.imag).max() == pytest.approx(frequency, abs=6e-5)
        assert np.abs(values.real).max() < 1e-7


def test_the_plain_twin_goes_down_alike(ring_and_disc):
    plain = ring_and_disc["system"]().equations()
    speeds = ["x'", "ring turn'", "disc turn'"]
    q, u = plain.steady({"swing": 0.4}, accelerating=speeds)
    assert q[plain.coordinates.index("swing")] == pytest.approx(np.arcsin(0.6), rel=1e-12)
    values = plain.linearize((q, u)).eigenvalues()
    assert np.abs(values.imag).max() == pytest.approx(2.63296508, abs=1e-8)


def cart(drag=0.0) -> mg.System:
    """A cart of 2 kg that is pushed, with a load of 0.5 kg on a string of 0.8 m."""
    s = mg.System("cart", gravity=(0, 0, -9.81))
    body = s.body("cart", mass=2.0, inertia=(0, 0, 0))
    load = s.body("load", mass=0.5, com=(0, 0, -0.8), inertia=(0, 0, 0))
    s.prismatic("way", s.ground, body, axis="x", damping=drag)
    s.revolute("string", body, load, axis="y")
    s.torque("push", "way", s.input("force"))
    return s


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
def test_a_load_hangs_back_on_a_cart(formalism):
    """a = F/(M + m), tan θ = a/g, and the frequency of small swings about it."""
    equations = cart().equations(formalism)
    F, M, m, g, length = 6.0, 2.0, 0.5, 9.81, 0.8
    q, u = equations.steady(
        {"way'": 1.0}, accelerating=["way'"], hold=["way'"], inputs={"force": F}
    )
    theta = np.arctan2(F, (M + m) * g)
    angle = equations.observe("string", q)[0]
    assert angle == pytest.approx(theta, rel=1e-12)
    assert equations.observe("way''", q, u, inputs=[F])[0] == pytest.approx(F / (M + m), rel=1e-12)
    held = length * (1 - m * np.cos(theta) ** 2 / (M + m))
    squared = (g * np.cos(theta) + np.sin(theta) * F / (M + m)) / held
    values = equations.linearize((q, u), inputs={"force": F}).eigenvalues()
    assert np.abs(values.imag).max() == pytest.approx(np.sqrt(squared), rel=1e-9)


def test_what_is_not_steady_is_refused():
    """With drag the push of a moving cart does not last; a name that is no speed; and the string
    cannot swing up steadily."""
    equations = cart(drag=1.0).equations()
    given = {"inputs": {"force": 6.0}}
    with pytest.raises(AssemblyError, match="no steady motion found near the guess"):
        equations.steady({"way'": 1.0}, accelerating=["way'"], hold=["way'"], **given)
    with pytest.raises(ArgumentError, match="unknown accelerating speed 'way'"):
        equations.steady(accelerating=["way"])
    _, u = equations.steady({"way'": 1.0}, **given)
    assert u[0] == pytest.approx(6.0, rel=1e-10)
