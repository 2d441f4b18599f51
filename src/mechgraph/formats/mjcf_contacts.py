"""Contacts of MuJoCo's geoms with planes on the ground, as compliant or rigid contacts of ours.

MuJoCo itself is asked which geoms touch which plane, and how: its filters and its mixing of two
geoms' numbers are not repeated here.

Its contact is soft: in a depth r it presses with the force

    F(r) = d² r / ((1 − d) A T²),    T = dmax · timeconst · dampratio,

where d(r) is the impedance of ``solimp`` and 1/A the mass that the body shows there. Ours, N = K r
(1 + D ṙ), has K such that a body lies as deep as MuJoCo's under its own weight, and D such that it
has the file's dampratio about that depth: D = 2 dampratio / √(g r).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from .. import door
from ..model.bodies import Marker
from ..model.contact.surfaces import Box, Capsule, Cylinder, Ellipsoid, Sphere, Surface
from ..numerics.tolerances import MET, TINY

PLANE, MESH = 0, 7  # mjtGeom
STANDARD = 9.81  # where there is no gravity
FAR = 1e6  # nothing is farther from a plane


@dataclass(frozen=True)
class Touch:
    """A geom that touches a plane, with the numbers that MuJoCo has for the two."""

    plane: int
    geom: int
    friction: float
    dim: int
    solref: np.ndarray
    solimp: np.ndarray
    margin: float  # by which the plane is felt above itself

    def law(self, mass: float, gravity: float, slowest: float) -> dict[str, float]:
        """Arguments of a compliant contact."""
        time, ratio = self._time_and_ratio(slowest)
        depth = self._depth((time * ratio * self.solimp[1]) ** 2, gravity or STANDARD)
        g = gravity or STANDARD
        damping = 2 * ratio / np.sqrt(g * depth)
        return {"stiffness": mass * g / depth, "exponent": 1.0, "damping": float(damping)}

    def _time_and_ratio(self, slowest: float) -> tuple[float, float]:
        """timeconst and dampratio, which may be told as −stiffness and −damping."""
        a, b = map(float, self.solref[:2])
        if a > 0:
            return max(a, slowest), max(b, door.library("mujoco").mjMINVAL)
        root = float(np.sqrt(max(-a, door.library("mujoco").mjMINVAL)))
        ratio = max(-b / (2 * root), door.library("mujoco").mjMINVAL)
        return 1 / (root * ratio), ratio

    def _depth(self, square: float, gravity: float) -> float:
        """At rest under its own weight: d² r / (1 − d) = g T²."""

        def excess(r: float) -> float:
            d = impedance(self.solimp, r)
            return d * d * r / (1 - d) - gravity * square

        highest = gravity * square
        while excess(highest) < 0:
            highest *= 2
        return float(brentq(excess, 0.0, highest, xtol=TINY, rtol=MET))


def impedance(solimp: np.ndarray, r: float) -> float:
    """d(r): from solimp's d0 to dmax over its width, by powers that meet at its midpoint."""
    low, high, width, middle, power = solimp[:5]
    x = min(abs(r) / max(width, TINY), 1.0)
    if x <= middle:
        y = x**power / middle ** (power - 1) if middle > 0 else x
    else:
        y = 1 - (1 - x) ** power / (1 - middle) ** (power - 1) if middle < 1 else x
    mujoco = door.library("mujoco")
    return float(np.clip(low + y * (high - low), mujoco.mjMINIMP, mujoco.mjMAXIMP))


def touches(model: Any) -> Iterator[Touch]:
    """Geoms that touch planes, as MuJoCo finds them where every plane is felt from anywhere."""
    mujoco = door.library("mujoco")
    felt = deepcopy(model)
    planes = model.geom_type == PLANE
    felt.geom_margin[planes] = FAR
    for k in range(model.npair):
        if planes[model.pair_geom1[k]] or planes[model.pair_geom2[k]]:
            felt.pair_margin[k] = FAR
    data = mujoco.MjData(felt)
    mujoco.mj_kinematics(felt, data)
    mujoco.mj_comPos(felt, data)
    mujoco.mj_collision(felt, data)
    found: dict[tuple[int, int], Touch] = {}
    for contact in data.contact[: data.ncon] if data.ncon else ():
        pair = sorted(map(int, contact.geom), key=lambda g: not planes[g])
        if planes[pair[0]] and not planes[pair[1]]:
            found.setdefault((pair[0], pair[1]), _touch(model, contact, pair))
    yield from found.values()


def _touch(model: Any, contact: Any, pair: list[int]) -> Touch:
    friction = float(contact.friction[0]) if contact.dim > 1 else 0.0
    solref, solimp = np.array(contact.solref), np.array(contact.solimp)
    plane, geom = pair
    return Touch(plane, geom, friction, int(contact.dim), solref, solimp, _margin(model, pair))


def _margin(model: Any, pair: list[int]) -> float:
    """MuJoCo 4 adds the margins of two geoms, 3 takes the larger one less the gap."""
    for k in range(model.npair):
        if {int(model.pair_geom1[k]), int(model.pair_geom2[k])} == {*pair}:
            margin, gap = float(model.pair_margin[k]), float(model.pair_gap[k])
            return margin if _new() else margin - gap
    if _new():
        return float(model.geom_margin[pair].sum())
    return float(model.geom_margin[pair].max() - model.geom_gap[pair].max())


def _new() -> bool:
    return int(door.library("mujoco").__version__.partition(".")[0]) >= 4


def surface_of(kind: int, at: Marker, size: np.ndarray) -> Surface | None:
    """The surface of a geom; None if it is no primitive shape."""
    a, b, c = map(float, size)
    made: dict[int, Callable[[], Surface]] = {  # by mjtGeom
        2: lambda: Sphere(at, a),
        3: lambda: Capsule(at, a, 2 * b),
        4: lambda: Ellipsoid(at, (a, b, c)),
        5: lambda: Cylinder(at, a, 2 * b),
        6: lambda: Box(at, (2 * a, 2 * b, 2 * c)),
    }
    return made[kind]() if kind in made else None
