"""Verdicts on stability: with the eigensolver's error, defective eigenvalues, and any clock."""

from __future__ import annotations

import numpy as np
import pytest

import mechgraph as mg
from cases.test_cases import BICYCLE, bicycle
from mechgraph.results.stability import stability_of

GRAVITY = 9.81
CLOCKS = [1e-8, 1e-5, 0.1, 3.0, 100.0, 1e4]


def racket(ratio: tuple[float, float, float] = (1.0, 2.0, 2.5)) -> mg.Equations:
    s = mg.System("racket")
    s.free("flight", s.ground, s.body("racket", mass=1.0, inertia=ratio))
    return s.equations()


@pytest.fixture(scope="module")
def thrown() -> mg.Equations:
    return racket()


@pytest.mark.parametrize("omega", CLOCKS)
def test_the_middle_axis_is_unstable_by_any_clock(thrown, omega):
    """λ² = ω² (I₂ − I₁)(I₃ − I₂)/(I₁ I₃)."""
    model = thrown.linearize({"flight.wy": omega})
    np.testing.assert_allclose(model.turning, [0, omega, 0], atol=1e-9 * omega)
    found = model.stability()
    assert found.verdict == "unstable"
    assert found.margin == pytest.approx(omega * np.sqrt(0.2), rel=1e-9)
    assert found.uncertainty < 1e-6 * omega


@pytest.mark.parametrize("axis", ["x", "z"])
@pytest.mark.parametrize("omega", CLOCKS)
def test_the_other_axes_are_not(thrown, omega, axis):
    found = thrown.linearize({f"flight.w{axis}": omega}).stability()
    assert found.verdict == "stable"
    assert any("rad/s" in name for name in found.neutral)


@pytest.mark.parametrize("spin", [45.0, 100.0, 2000.0])
@pytest.mark.parametrize("way", [1, -1])
def test_fast_and_slow_precession_are_steady(spin, way):
    """C ω₃ Ω − A Ω² cos θ = m g l has two solutions Ω."""
    A, C, mgl, theta = 0.35, 0.1, 0.5 * GRAVITY, 0.6
    s = mg.System("top", gravity=(0, 0, -GRAVITY))
    top = s.body("top", mass=1.0, com=(0, 0, 0.5), inertia=(0.1, 0.1, C))
    s.joint("j", s.ground, top, [mg.rot("z", "yaw"), mg.rot("x", "tilt"), mg.rot("z", "spin")])
    c, b = np.cos(theta), C * spin
    Omega = (b + way * np.sqrt(b**2 - 4 * A * c * mgl)) / (2 * A * c)
    start = {"j.tilt": theta, "j.yaw'": Omega, "j.spin'": spin - Omega * c}
    model = s.equations().linearize(start)
    assert model.constant
    nutation = np.hypot(Omega * np.sin(theta), C * spin / A - 2 * Omega * c)
    assert np.abs(model.eigenvalues() - 1j * nutation).min() < 1e-6 * nutation
    assert model.stability().verdict == "stable"


@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_a_bead_on_the_tilted_branch_of_a_hoop_is_never_called_unstable(damping):
    """cos θ = g/(r Ω²): where the bead moves the hoop turns slower, which only makes it stiffer."""
    s = mg.System("hoop", gravity=(0, 0, -GRAVITY))
    ring = s.body("ring", mass=1.0, inertia=(0.2, 0.2, 0.3))
    bead = s.body("bead", mass=0.3, inertia=0)
    s.revolute("turn", s.ground, ring, axis="z")
    s.revolute("swing", ring, bead, axis="y", child_at=(0, 0, 0.5), damping=damping)
    equations = s.equations()
    for Omega in np.linspace(4.5, 60, 54):
        start = {"swing": np.arccos(GRAVITY / 0.5 / Omega**2), "turn'": Omega}
        found = equations.linearize(start).stability()
        assert found.verdict == "stable", found
        assert any("turn" in name for name in found.neutral)
        assert any("rad/s" in name for name in found.neutral) is not bool(damping)
    for Omega, verdict in ((4.4, "asymptotically "), (4.46, "unstable")):
        found = equations.linearize({"swing": 0.0, "turn'": Omega}).stability()
        assert found.is_stable is (verdict != "unstable")


@pytest.mark.parametrize("beside", [1e-3, -1e-3])
@pytest.mark.parametrize("which", ["v_weave", "v_capsize"])
def test_a_bicycle_a_millimetre_a_second_beside_its_stable_range(which, beside):
    parameters, reference = BICYCLE["parameters"], BICYCLE["reference"]
    equations = bicycle(parameters).equations()
    v = reference[which] + beside
    found = equations.linearize({"rear wheel'": -v / parameters["rR"]}).stability()
    inside = (beside > 0) == (which == "v_weave")
    assert found.verdict == ("stable" if inside else "unstable"), found


# --- matrices -------------------------------------------------------------------------------------


def verdict(A: np.ndarray, error: float = 1e-14) -> str:
    A = np.asarray(A, dtype=float)
    names = [f"x{k}" for k in range(len(A))]
    return stability_of(A, error * np.abs(A), names).verdict


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([[[-1.0]], [[0, 1], [-4, -0.1]]], ["asymptotically stable"]),
        ([[[-1.0]], [[0, 1], [-4, 0]]], ["stable"]),
        ([[[0, 1], [0, 0]], [[-1.0]]], ["stable"]),
        ([[[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[-1.0]]], ["stable", "undecided"]),
        ([[[0, 2, 1, 0], [-2, 0, 0, 1], [0, 0, 0, 2], [0, 0, -2, 0]]], ["undecided"]),
        ([[[0.01, 1], [0, 0.01]], [[-1.0]]], ["unstable"]),
        ([[[1e-9, 0], [0, -1.0]]], ["unstable"]),
    ],
)
def test_any_basis_and_clock_gives_the_verdict(blocks, expected, seed):
    """Jordan blocks in a random basis, by a random clock."""
    A, random = np.zeros((0, 0)), np.random.default_rng(seed)
    for block in blocks:
        n, m = len(A), len(block)
        A = np.block([[A, np.zeros((n, m))], [np.zeros((m, n)), np.array(block)]])
    T = random.standard_normal((len(A), len(A))) + 2 * np.eye(len(A))
    A = 10 ** random.uniform(-9, 9) * np.linalg.solve(T, A @ T)
    rounding = 1e-14 * np.linalg.cond(T) ** 2 * np.abs(A).max()
    names = [f"x{k}" for k in range(len(A))]
    assert stability_of(A, np.full(A.shape, rounding), names).verdict in expected


def test_what_grows_slowly_beside_what_is_fast():
    assert verdict(np.diag([1e-9, -1e9])) == "unstable"
    assert verdict([[1e-9, 0], [1.0, -1e9]]) == "unstable"
    assert verdict(np.zeros((0, 0))) == "asymptotically stable"
    assert verdict([[0.0, 1.0], [1e-18, 0.0]]) == "unstable"  # if it is known to be so
    error = np.array([[0.0, 0.0], [1e-16, 0.0]])
    assert stability_of(np.array([[0, 1], [1e-18, 0]]), error, ["x", "v"]).verdict == "stable"
