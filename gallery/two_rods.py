"""Two rods and a slider: three ball joints in a row; where the variables make it singular, and
where it is.

R. Orsino (2016), Examples 2.2 to 2.4. Rods of lengths l₁, l₂ join the origin, a point p₁ and a
slider p₂ on an axis parallel to x. The source has no masses: here p₁ and p₂ are particles of 1 and
2 kg under gravity, the rods have none, and gravity and masses are ours.

``composed(theta=True)`` has the angle θ between the rods as a coordinate more, as the source does:
the rank of A drops where sin θ = 0, and only there. Without θ most of these configurations are
regular; with the axis at y = 1, l₁ = 1, l₂ = 2, one of them stays singular. The check finds all by
rank, compares the complement of Example 2.4 (with its signs corrected), and the accelerations with
a plain system. The figure shows how far A is from losing rank, over the places that the slider can
have.
"""

from itertools import product

import numpy as np
from scipy.optimize import minimize_scalar

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

L1, L2 = 1.0, 2.0
START = {"p.z": 0.3, "slide": 2.0, "p.z'": 0.5}
GUESS = {"p.x": 0.5, "p.y": 0.7, "p.z": 0.3, "slide": 2.0}
DURATION = 2.0
ROOT = 2 * np.sqrt(2)


def system(height: float = 0.0) -> mg.System:
    """The plain twin: a point free in space, a slider, and two distances."""
    s = mg.System("two rods", gravity=(0, 0, -9.81))
    point = s.body("point", mass=1.0, inertia=0)
    slider = s.body("slider", mass=2.0, inertia=0)
    s.joint("p", s.ground, point, [mg.move(axis, axis) for axis in "xyz"])
    s.prismatic("slide", s.ground, slider, axis="x", at=(0, height, 0))
    s.distance("first rod", s.ground, point, L1)
    s.distance("second rod", point, slider, L2)
    return s


def composed(theta: bool = True, height: float = 0.0, **options) -> mg.Equations:
    """The same from two particles; ``theta`` adds the angle between the rods."""
    gravity = (0, 0, -9.81)
    rows = {
        "first rod": lambda v: squares(v, "a") - L1**2,
        "second rod": lambda v: sum((v[f"a.{x}"] - v[f"b.{x}"]) ** 2 for x in "xyz") - L2**2,
        "axis y": lambda v: v["b.y"] - height,
        "axis z": lambda v: v["b.z"],
    }
    angle = {"angle": lambda v: squares(v, "b") - L1**2 - L2**2 - 2 * L1 * L2 * mg.cos(v["theta"])}
    return mg.compose(
        "two rods",
        {
            "a": mg.leaves.particle(mass=1.0, gravity=gravity),
            "b": mg.leaves.particle(mass=2.0, gravity=gravity),
        },
        coordinates=["theta"] if theta else [],
        speeds=["theta'"] if theta else [],
        constraints=rows | (angle if theta else {}),
        reference={"a.x": 0.5, "a.y": 0.7, "a.z": 0.3, "b.x": 2.0}
        | ({"theta": 1.0} if theta else {}),
        **options,
    )


def squares(v, point):
    """The squared distance of a point from the origin."""
    return v[f"{point}.x"] ** 2 + v[f"{point}.y"] ** 2 + v[f"{point}.z"] ** 2


def ranks(height: float, points: list[list[float]], theta: bool) -> list[int]:
    """Rank of A at points (x₁, y₁, z₁, x₂, y₂, z₂, θ)."""
    equations = composed(theta, height)
    found = []
    for *places, angle in points:
        q = [angle, *places] if theta else places
        assert np.abs(equations.position_violation(q)).max() < 1e-12
        found.append(len(equations.speeds) - equations.mobility(q))
        typical = 5 if theta else 4
        assert bool(equations.composition.singular(q)) == (found[-1] < typical)
    return found


IN_LINE = [
    [L1, 0, 0, L1 + L2, 0, 0, 0],
    [-L1, 0, 0, -L1 - L2, 0, 0, 0],
    [L1, 0, 0, L1 - L2, 0, 0, np.pi],
    [-L1, 0, 0, L2 - L1, 0, 0, np.pi],
]
RAISED = [
    [-ROOT / 3, 1 / 3, 0, -ROOT, 1, 0, 0],
    [ROOT / 3, 1 / 3, 0, ROOT, 1, 0, 0],
    [0, -1, 0, 0, 1, 0, np.pi],
]


def margin(equations: mg.Equations, height: float, slide: float, turn: float) -> float:
    """The smallest singular value of A with the slider at x₂ and the rods turned about the line
    from the origin to it; infinite where they do not reach."""
    q = posed(height, slide, turn)
    if q is None:
        return np.inf
    A = equations.constraint_jacobian(q[-len(equations.coordinates) :])
    return float(np.linalg.svd(A, compute_uv=False)[-1])


def posed(height: float, slide: float, turn: float) -> list[float] | None:
    """(θ, x₁, y₁, z₁, x₂, y₂, z₂), or None."""
    reach = np.hypot(slide, height)
    along = (reach**2 + L1**2 - L2**2) / (2 * max(reach, 1e-300))
    if not abs(along) <= L1 * (1 + 1e-12):
        return None
    n = np.array([slide, height, 0]) / reach
    across = np.sqrt(max(L1**2 - along**2, 0.0))
    p = along * n + across * (np.cos(turn) * np.array([-n[1], n[0], 0]) + [0, 0, np.sin(turn)])
    cosine = np.clip((reach**2 - L1**2 - L2**2) / (2 * L1 * L2), -1, 1)
    return [np.arccos(cosine), *p, slide, height, 0.0]


def found(height: float, turn: float = 0.6) -> list[float]:
    """Places x₂ of the slider at which A loses rank, by search over θ."""
    equations, places = composed(True, height), set()

    def slide(theta: float) -> float:
        reach = L1**2 + L2**2 + 2 * L1 * L2 * np.cos(theta)
        return np.sqrt(max(reach - height**2, 0.0))

    for side, theta in product((-1, 1), np.linspace(0, np.pi, 9)):
        end = minimize_scalar(
            lambda x, side=side: margin(equations, height, side * slide(x), turn),
            bounds=(theta - 0.21, theta + 0.21),
            options={"xatol": 1e-10},
        )
        if end.fun < 1e-6:
            places.add(round(side * slide(end.x), 5) + 0.0)
    return sorted(places)


def searched() -> float:
    """How far the places that were found are from those of the source."""
    wanted = {0.0: [-3, -1, 1, 3], 1.0: [-ROOT, 0, ROOT]}
    pairs = [(found(height), places) for height, places in wanted.items()]
    if any(len(a) != len(b) for a, b in pairs):
        return np.inf
    return max(np.abs(np.subtract(a, b)).max() for a, b in pairs)


def complement() -> float:
    """Example 2.4 with # = (ż₁, ẋ₂), y₁ ≠ 0; all dependent entries with the sign turned."""
    equations = composed(independent=["a.z'", "b.x'"])
    q, _ = equations.assemble({"a.z": 0.4, "b.x": 1.9})
    theta, x1, y1, z1, x2, _, z2 = q
    expected = {
        "a.x'": (-z2 / x2, 1 - x1 / x2),
        "a.y'": (-(z1 * x2 - x1 * z2) / (y1 * x2), -x1 * (x2 - x1) / (y1 * x2)),
        "a.z'": (1, 0),
        "b.x'": (0, 1),
        "b.y'": (0, 0),
        "b.z'": (0, 0),
        "theta'": (0, -x2 / (L1 * L2 * np.sin(theta))),
    }
    S = equations.composition.S(q)
    return np.abs(S - [expected[name] for name in equations.speeds]).max()


def difference(states: int = 5) -> float:
    """Accelerations against the plain twin at random states, relative."""
    plain, random, worst = system().equations(), np.random.default_rng(0), 0.0
    for theta in (True, False):
        whole = composed(theta)
        for _ in range(states):
            q, u = plain.assemble(
                {"p.z": random.uniform(-0.5, 0.5), "slide": random.uniform(1.2, 2.5),
                 "p.z'": random.standard_normal(), "slide'": random.standard_normal()},
                guess=GUESS,
            )  # fmt: skip
            (x, y, z, s), (vx, vy, vz, vs) = q, u
            angle = np.arccos((s**2 - L1**2 - L2**2) / (2 * L1 * L2))
            rate = -s * vs / (L1 * L2 * np.sin(angle))
            own = ([angle], [rate]) if theta else ([], [])
            at = [*own[0], x, y, z, s, 0, 0], [*own[1], vx, vy, vz, vs, 0, 0]
            found = whole.accelerations(*at)[-6:-2]
            expected = plain.accelerations(q, u)
            worst = max(worst, np.abs(found - expected).max() / np.abs(expected).max())
    return worst


def check() -> dict[str, float]:
    """Ranks of the source, its complement, and the plain twin."""
    wanted = [
        (ranks(0.0, IN_LINE, True), [4, 4, 4, 4]),
        (ranks(0.0, IN_LINE, False), [4, 4, 4, 4]),
        (ranks(1.0, RAISED, True), [4, 4, 3]),
        (ranks(1.0, RAISED, False), [4, 4, 3]),
    ]
    return verified(
        {
            "ranks at singular configurations": (sum(a != b for a, b in wanted), 0),
            "singular places found by search": (searched(), 2e-5),
            "complement of Example 2.4": (complement(), 1e-12),
            "accelerations against the plain twin": (difference(), 1e-9),
        }
    )


def figures() -> dict[str, object]:
    """The smallest singular value of A over the slider's place, with and without θ."""
    places, panels = np.linspace(-3.1, 3.1, 1241), {}
    for height, turn in ((0.0, 0.6), (1.0, 0.6)):
        panels[f"smallest singular value of A, axis at y = {height:g}"] = {
            name: [_finite(margin(model, height, x, turn)) for x in places]
            for name, model in (
                ("with θ", composed(True, height)),
                ("without θ", composed(False, height)),
            )
        }
    return {"singular": curves(places, panels, "place x₂ of the slider (m)", logarithmic=panels)}


def _finite(x: float) -> float:
    return max(x, 1e-9) if np.isfinite(x) else np.nan


if __name__ == "__main__":
    present(system(), check)
