"""Systems that move in a plane: what they may be made of, and what their joints close there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import scipy.linalg
from casadi import SX

from ..errors import ModelError
from ..numerics.tolerances import GIVEN, RANK, TINY
from ..vectors import axis, normals, turn
from .element import Wrench

if TYPE_CHECKING:
    from .description import Description
    from .joints import Joint

NORMALS = {"xy": "z", "yz": "x", "zx": "y"}
POSES = 3  # at which rows are compared


def read_plane(value: Any) -> str | None:
    """``"xy"``, ``"yz"``, ``"zx"`` (or the letters the other way round); None for space."""
    named = {name: plane for plane in NORMALS for name in (plane, plane[::-1])}
    if value is None:
        return None
    if not isinstance(value, str) or value not in named:
        raise ModelError(f"plane must be 'xy', 'yz' or 'zx', or None for space, got {value!r}")
    return named[value]


def normal(system: Description) -> SX:
    """The normal of a system's plane."""
    assert system.plane is not None
    return axis(NORMALS[system.plane])


def planar_problems(system: Description) -> Iterator[str]:
    """Problems of all that moves, points or lies out of the plane, each with what to do instead."""
    if system.plane is None:
        return
    n, size = normal(system), system.size
    out = {"gravity": ca.dot(n, system.gravity) / (ca.norm_1(system.gravity) + TINY)}
    for name, body in system.bodies.items():
        products = ca.horzcat(*normals(n)).T @ body.inertia @ n / (ca.trace(body.inertia) + TINY)
        out[f"body {name!r}"] = ca.vertcat(ca.dot(n, body.com) / size, products)
    for name, marker in system.markers.items():
        out[f"marker {name!r}"] = ca.dot(n, marker.at) / size
    for joint in system.joints.values():
        out[f"joint {joint.name!r}"] = _leaves(joint, n, size)
    for culprit, components in out.items():
        if np.abs(system.default_value(components)).max(initial=0.0) > GIVEN:
            told = f"{culprit}: is not in the plane {system.plane!r} of this system"
            yield f"{told}; {_fix(culprit, n)}"


def _fix(culprit: str, n: SX) -> str:
    letter = "xyz"[int(np.argmax(np.array(ca.DM(n))))]
    if culprit.startswith("joint"):
        return (
            f"use revolute(axis={letter!r}), prismatic with an axis in the plane, "
            f"planar(axis={letter!r}), pin_in_slot or fixed, with frames that turn about {letter} "
            "only, or leave plane= away"
        )
    return f"its component along {letter} (products of inertia, too) must be zero"


def _leaves(joint: Joint, n: SX, size: float) -> SX:
    """Expressions that must vanish: heights of its frames beside a size, the angle between their
    normals, and what its transitions do out of the plane."""
    near, far = joint.parent, joint.child
    own = near.rotation.T @ n
    rows = [ca.dot(n, near.at) / size, ca.dot(n, far.at) / size, far.rotation.T @ n - own]
    across = ca.horzcat(*normals(own))
    for step in joint.transitions:
        turns, slides = step.subspace(SX.ones(max(len(step.coordinates), 1)))
        rows += [ca.vec(across.T @ turns), ca.vec(own.T @ slides)]
    return ca.vertcat(*rows)


def independent_rows(system: Description, joint: Joint, shared: bool) -> list[int]:
    """Closing rows of a joint that say something in the plane, and not the same as others: the
    pivots of their slopes along x, y and the angle, at a few poses."""
    n = normal(system)
    own, x = joint.parent.rotation.T @ n, SX.sym("x", 3)
    n1, n2 = normals(own)
    closing = joint.kind.closing_rows(turn(own, x[2]), n1 * x[0] + n2 * x[1], shared)
    rows = ca.vertcat(SX(0, 1), *(value for _, value in closing))
    poses = np.random.default_rng(0).uniform(-0.5, 0.5, (POSES, 3))
    slopes = [ca.substitute(ca.jacobian(rows, x), x, SX(pose)) for pose in poses]
    return pivot_rows(system.default_value(ca.horzcat(*slopes)))


def in_plane(system: Description, force: SX, torque: SX) -> tuple[SX, SX]:
    """The part of a constraint's wrench in the plane, where there is one: what is across it is not
    known, because no row asks for it."""
    if system.plane is None:
        return force, torque
    n = normal(system)
    return force - n * ca.dot(n, force), n * ca.dot(n, torque)


def pivot_rows(matrix: np.ndarray) -> list[int]:
    """Rows of a matrix that are independent, in their order."""
    if not matrix.size:
        return []
    R, order = scipy.linalg.qr(matrix.T, mode="r", pivoting=True)
    sizes = np.abs(np.diag(R))
    return sorted(int(k) for k in order[: int((sizes > RANK * sizes[0]).sum())])


def out_of_plane(system: Description, wrenches: list[Wrench]) -> tuple[SX, SX]:
    """Components of wrenches out of the plane, and all of them, as forces at the system's size."""
    n, out, every = normal(system), SX(0, 1), SX(0, 1)
    for wrench in wrenches:
        force, turning = wrench.force, wrench.torque / system.size
        out = ca.vertcat(out, ca.dot(n, force), ca.horzcat(*normals(n)).T @ turning)
        every = ca.vertcat(every, force, turning)
    return out, every
