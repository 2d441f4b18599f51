"""Systems that move in a plane: everything turns about one axis of the world, and stays at one
height along it. What does not is named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ..errors import UnsupportedError
from ..model.bodies import Marker
from ..model.description import Description
from ..model.joints import Joint
from .chart import Chart
from .loads import split
from .tree import joint_chart

ROUNDING = 1e-9


@dataclass(frozen=True)
class Flat:
    """The plane of a system: index of the world's axis across it, height along that axis, and the
    axis in the frame of each body."""

    axis: int
    height: float
    normals: dict[str, np.ndarray]

    @property
    def axes(self) -> list[int]:
        """Those of the world in the plane."""
        return [k for k in range(3) if k != self.axis]


def flat(description: Description) -> Flat:
    """The plane that a system moves in, in the reference configuration of its joints."""
    poses = _poses(description)
    found = [(axis, list(_problems(description, poses, axis))) for axis in (2, 1, 0)]
    axis, problems = min(found, key=lambda each: len(each[1]))
    if problems:
        raise UnsupportedError(
            f"points: form='planar' needs a system that moves in a plane across "
            f"{'xyz'[axis]}; {problems[0]}"
        )
    heights = [h for _, h in _heights(description, poses, axis)]
    normals = {name: R[axis] for name, (R, _) in poses.items()}
    return Flat(axis, float(heights[0]) if heights else 0.0, normals)


Poses = dict[str, tuple[np.ndarray, np.ndarray]]


def _poses(description: Description) -> Poses:
    """R and p of ground and all bodies."""
    chart = joint_chart(description)
    s, m, names = chart.symbols, chart.motion, ["ground", *description.bodies]
    columns = (ca.vertcat(ca.vec(m.rotation(x)), m.position(x)) for x in names)
    function = ca.Function("poses", [s.q, s.t, s.p], [ca.densify(ca.horzcat(*columns))])
    numbers = np.array(function(list(chart.reference), 0.0, list(s.defaults))).T
    return {
        name: (row[:9].reshape(3, 3).T, row[9:]) for name, row in zip(names, numbers, strict=True)
    }


def _problems(description: Description, poses: Poses, axis: int) -> Iterator[str]:
    """Everything that leaves the plane across an axis."""
    if abs(description.default_value(description.gravity).ravel()[axis]) > ROUNDING:
        yield "gravity does not act in it"
    for joint in description.joints.values():
        if not joint.kind.closes or _driven(description, joint):
            yield f"joint {joint.name!r} is a general chain, or moved by time"
        elif any(_leaves(description, joint, poses, end, axis) for end in _ends(joint)):
            yield f"joint {joint.name!r} moves out of it"
    heights = list(_heights(description, poses, axis))
    for what, height in heights[1:]:
        if abs(height - heights[0][1]) > ROUNDING * (1 + abs(height)):
            yield f"{what} is at another height than {heights[0][0]}"
    others = [k for k in range(3) if k != axis]
    for name, body in description.bodies.items():
        R, inertia = poses[name][0], description.default_value(body.inertia)
        turned = R @ inertia @ R.T
        if np.abs(turned[others, axis]).max() > ROUNDING * np.abs(turned).max(initial=1e-300):
            yield f"the axis across it is no principal axis of body {name!r}"


def _ends(joint: Joint) -> tuple[Marker, Marker]:
    return joint.parent, joint.child


def _driven(description: Description, joint: Joint) -> bool:
    places = (ca.vertcat(end.at, ca.vec(end.rotation)) for end in _ends(joint))
    return bool(ca.depends_on(ca.vertcat(*places), description.time))


def _leaves(description: Description, joint: Joint, poses: Poses, end: Marker, axis: int) -> bool:
    """True if a joint turns about another axis, or slides along it, as one of its ends has it."""
    R = poses[end.body.name][0] @ description.default_value(end.rotation)
    others = [k for k in range(3) if k != axis]
    for step in joint.transitions:
        turns, shifts = (
            R @ description.default_value(part)
            for part in step.subspace(ca.SX.zeros(len(step.coordinates)))
        )
        if max(np.abs(turns[others]).max(), np.abs(shifts[axis]).max()) > ROUNDING:
            return True
    return False


def _heights(description: Description, poses: Poses, axis: int) -> Iterator[tuple[str, float]]:
    """Of all ends of joints and all mass centres."""

    def height(body: str, place: ca.SX) -> float:
        R, p = poses[body]
        return float((p + R @ description.default_value(place).ravel())[axis])

    for joint in description.joints.values():
        for end in _ends(joint):
            yield f"joint {joint.name!r} on {end.body.name!r}", height(end.body.name, end.at)
    for name, body in description.bodies.items():
        if not body.weightless:
            yield f"the mass centre of body {name!r}", height(name, body.com)


def check_loads(chart: Chart, plane: Flat, states: int = 2) -> None:
    """Refuse forces that push out of the plane or turn about its axes, which nothing could take
    up."""
    s, random, m = chart.symbols, np.random.default_rng(0), chart.motion
    for element in chart.description.elements:
        acting = [*element.conservative(m), *element.nonconservative(m)]
        parts = [
            ca.vertcat(w.force[plane.axis], w.torque[plane.axes], m.position(w.marker)[plane.axis])
            for w in split(chart, acting)[0]
        ]
        for part in parts:
            function = ca.Function("out", [s.q, s.u, s.t, s.w, s.p], [part])
            for _ in range(states):
                q = np.array(chart.reference)
                u, w = random.standard_normal(s.u.numel()), random.standard_normal(s.w.numel())
                out = np.array(function(q, u, 0.3, w, list(s.defaults))).ravel()
                out[-1] -= plane.height
                if np.abs(out).max() > 1e-7 * (1 + abs(plane.height)):
                    raise UnsupportedError(
                        f"points: form='planar' needs forces in the plane; {element.called} acts "
                        "out of it"
                    )
