"""Spherical chain: bodies one after the other on ball joints, in Cartesian coordinates of points.

The system of H. A. Attia, *Dynamic simulation of constrained mechanical systems using recursive
projection algorithm*, Fig. 3: each body has four primary points, one at each of its ball joints and
two off the line between them; points of a joint belong to both bodies. 6 N coordinates and 3 N
distances for 3 N freedoms if the first joint is at rest, three more of each if the chain floats.
Sizes and masses are ours.

The checks, on a hanging chain of four: the run by Attia's momenta against joint coordinates, and
with forces in joints as unknowns; then a chain that floats without gravity: momentum and moment of
momentum stay, as does the energy.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

BODIES, LENGTH, G = 4, 0.5, 9.81
START = {"joint 0": [0.8, 0.6, 0, 0], "joint 1.wx": 3.0, "joint 2.wz": -5.0, "joint 3.wy": 2.0}
DURATION = 2.0


def system(bodies: int = BODIES, floating: bool = False) -> mg.System:
    """A chain that hangs on ground, or floats freely without gravity."""
    s = mg.System("spherical chain", gravity=(0, 0, 0 if floating else -G))
    parent, at = s.ground, (0, 0, 0)
    for k in range(bodies):
        shape = {"com": (0.02, 0.01, -LENGTH / 2), "inertia": (0.03, 0.025, 0.01)}
        body = s.body(f"body {k}", mass=1.0 + 0.2 * k, **shape)
        join = s.free if floating and k == 0 else s.spherical
        join(f"joint {k}", parent, body, at=at)
        parent, at = body, (0, 0, -LENGTH)
    s.marker("end", parent, at=at)
    s.output("momenta", momenta(s))
    return s


def momenta(s: mg.System):
    """Momentum and moment of momentum about the origin, from the mass centres."""
    bodies = [
        (s.marker(f"centre of {name}", body, at=body.com), body) for name, body in s.bodies.items()
    ]

    def quantity(m: mg.Motion) -> list:
        total, moment = 0, 0
        for centre, body in bodies:
            push, R = body.mass * m.velocity(centre), m.rotation(body)
            total += push
            moment += mg.cross(m.position(centre), push)
            moment += R @ (body.inertia @ (R.T @ m.angular_velocity(body)))
        return [total, moment]

    return quantity


def check() -> dict[str, float]:
    """Three ways of one motion, and what a floating chain conserves."""
    options = {"rtol": 1e-11, "step": 0.01}
    expected = system().equations().simulate(DURATION, START, **options)
    by = {
        route: system().equations("points", route=route).simulate(DURATION, START, **options)
        for route in ("momenta", "forces")
    }
    start = {"joint 0.x": 0.3, "joint 0.y'": 0.5, "joint 1.wx": 3.0, "joint 2.wz": -5.0}
    free = system(3, floating=True).equations("points").simulate(DURATION, start, **options)
    kept = free["momenta"]
    return verified(
        {
            **{
                f"{route} against joint coordinates": (
                    np.abs(run["end"] - expected["end"]).max(),
                    1e-7,
                )
                for route, run in by.items()
            },
            "energy drift, relative": (
                np.ptp(by["momenta"].energy) / by["momenta"].kinetic.max(),
                1e-8,
            ),
            "distances": (by["momenta"].violation.max(), 1e-11),
            "momenta of the floating chain": (
                np.ptp(kept, axis=0).max() / np.abs(kept).max(),
                1e-9,
            ),
            "energy of the floating chain": (np.ptp(free.energy) / free.energy[0], 1e-9),
        }
    )


if __name__ == "__main__":
    present(system(), check)
