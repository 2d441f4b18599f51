"""What is seen of a run: shapes on bodies, derived from the graph, and where the bodies are at each
time.

A body is drawn as rods through the points that matter on it: its joints, its markers and its centre
of mass, joined by the shortest tree. One that hangs on a single point reaches as far as the uniform
rod with its inertia would; one whose points coincide is the box with its inertia. A body that
rolls, slides or touches is drawn with its surface instead, and the floor is the plane on the ground
that something rolls on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from casadi import SX
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform
from scipy.spatial.transform import Rotation as Turn

from ..equations import Equations
from ..model.axial import AxialJoint
from ..model.bodies import Body, Marker
from ..model.contact.surfaces import Plane, Surface
from ..model.element import Element
from ..model.forces import Force
from ..model.joints import Joint
from ..model.transitions import Rotation, Transition, Translation
from ..results.trajectory import Trajectory
from .palette import color
from .shells import Shell, edges_of, shell_of

MOST_FRAMES = 600
MOST_TRAILS = 6
DARK = "#3d4855"  # joints
GROUND = "#8b97a4"
STRAIGHT = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
ZIGZAG = np.array(
    [
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 0.175],
        *([2.0 * (-1) ** k, 0.0, 0.2 + 0.05 * k] for k in range(13)),
        [0.0, 0.0, 0.825],
        [0.0, 0.0, 1.0],
    ]
)
FAR, NEAR = (
    5.0,
    2.0,
)  # what travels farther than the first, in units of its own size, is followed within the second
SLENDER = 0.035  # radius of rods over the size of a typical body
SLIM = 0.3  # at most, over the radius of the smallest wheel


@dataclass(frozen=True)
class Rod:
    """A rounded rod from a to b."""

    a: np.ndarray
    b: np.ndarray
    radius: float
    color: str


@dataclass(frozen=True)
class Box:
    """A box with half edges along the columns of ``axes``."""

    centre: np.ndarray
    half: np.ndarray
    axes: np.ndarray
    color: str


@dataclass(frozen=True)
class Solid:
    """The shapes that ride on a body, in its frame; balls are rods of no length."""

    name: str
    color: str
    rods: tuple[Rod, ...]
    boxes: tuple[Box, ...] = ()
    shells: tuple[Shell, ...] = ()


@dataclass(frozen=True)
class Trail:
    """The path of a point."""

    name: str
    color: str
    points: np.ndarray


@dataclass(frozen=True)
class Link:
    """What acts between two points: a straight line (constraints) or a zigzag (forces), stretched
    between its ends.

    ``path`` leads from (0, 0, 0) to (0, 0, 1), its first two coordinates across in units of the
    scene's thickness.
    """

    name: str
    path: np.ndarray
    ends: np.ndarray  # (n, 2, 3)

    def points(self, row: int, thickness: float) -> np.ndarray:
        """The path in the world at one time."""
        a, b = self.ends[row]
        side = np.cross(b - a, [0.31, 0.52, 0.79])
        side /= max(float(np.linalg.norm(side)), 1e-300)
        return a + thickness * np.outer(self.path[:, 0], side) + np.outer(self.path[:, 2], b - a)


@dataclass(frozen=True)
class Scene:
    """Solids (ground first) with their poses at each time: ``positions`` (n, solids, 3),
    ``rotations`` (n, solids, 3, 3)."""

    title: str
    time: np.ndarray
    solids: tuple[Solid, ...]
    positions: np.ndarray
    rotations: np.ndarray
    trails: tuple[Trail, ...]
    links: tuple[Link, ...]
    up: np.ndarray
    floor: float  # height of the ground grid along ``up``
    centre: np.ndarray
    radius: float  # of a ball around everything
    across: np.ndarray  # the horizontal direction in which least happens: to look along
    thickness: float
    path: np.ndarray | None = (
        None  # of the centre at each time, (n, 3), where the look has to follow what travels far
    )

    def looked_at(self, row: int) -> Scene:
        """The scene with its centre where it is at one time."""
        return self if self.path is None else replace(self, centre=self.path[row])

    @property
    def quaternions(self) -> np.ndarray:
        """Scalar-first quaternions (n, solids, 4), without jumps of sign along time."""
        count, solids = self.rotations.shape[:2]
        q = (
            Turn.from_matrix(self.rotations.reshape(-1, 3, 3))
            .as_quat()[:, [3, 0, 1, 2]]
            .reshape(count, solids, 4)
        )
        flips = np.cumprod(np.where((q[1:] * q[:-1]).sum(axis=-1) < 0, -1.0, 1.0), axis=0)
        return np.concatenate([q[:1], q[1:] * flips[..., None]])


def scene(run: Trajectory, most_frames: int = MOST_FRAMES) -> Scene:
    """The scene of a run, on at most ``most_frames`` of its times."""
    sample = _Sample.of(run, most_frames)
    points = {name: list(_points(sample, name)) for name in ["ground", *sample.bodies]}
    positions, rotations = _poses(sample, list(points))
    wheels = [shell.radius for name in points for shell in _shells(sample, name, GROUND)]
    thickness = min(
        _thickness(_typical_size(sample, points), _spread(points, positions, rotations)),
        *(SLIM * r for r in wheels),
        np.inf,
    )
    solids = tuple(
        _solid(sample, k, name, points[name], thickness) for k, name in enumerate(points)
    )
    trails = tuple(_trails(sample, {s.name: s.color for s in solids}))
    links, up = tuple(_links(sample)), _up(sample)
    cloud = _cloud(solids, positions, rotations)
    seen = np.concatenate([cloud, *(link.ends.reshape(-1, 3) for link in links)])
    centre, radius = (
        (seen.min(axis=0) + seen.max(axis=0)) / 2,
        max(float(np.ptp(seen, axis=0).max()) / 2, 4 * thickness),
    )
    path, size = _path(solids, positions), _reach(cloud, len(sample.time))
    if path is not None and radius > FAR * size:
        radius = NEAR * size
    else:
        path = None
    floor = _floor(sample, up, float((seen @ up).min()) - 2 * thickness)
    return Scene(
        run.name,
        sample.time,
        solids,
        positions,
        rotations,
        trails,
        links,
        up,
        floor,
        centre,
        radius,
        _across(seen, up),
        thickness,
        path,
    )


# --- numbers --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sample:
    """A run on fewer times."""

    equations: Equations
    run: Trajectory
    rows: np.ndarray

    @staticmethod
    def of(run: Trajectory, most: int) -> _Sample:
        rows = np.unique(np.linspace(0, len(run) - 1, min(len(run), most)).round().astype(int))
        return _Sample(run._need(), run, rows)

    @property
    def time(self) -> np.ndarray:
        return self.run.time[self.rows]

    @property
    def bodies(self) -> Mapping[str, Body]:
        return self.equations.system.bodies

    @property
    def arguments(self) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
        return self.run.q[self.rows], self.time, dict(self.run.parameters)

    def constant(self, expression: SX) -> np.ndarray:
        """A number of the description with the run's parameters, at the run's first time."""
        s = self.equations.terms.symbols
        values = [
            float(self.run.parameters.get(name, self.equations.system.defaults[name]))
            for name in s.parameters
        ]
        function = ca.Function("constant", [s.p, s.t, s.w], [ca.densify(expression)])
        out = np.array(function(values, float(self.run.time[0]), np.zeros(len(s.inputs))))
        return out.ravel() if out.shape[1] == 1 else out


def _poses(sample: _Sample, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    q, t, p = sample.arguments
    positions = np.stack([sample.equations.position(name, q, t, p) for name in names], axis=1)
    rotations = np.stack([sample.equations.rotation(name, q, t, p) for name in names], axis=1)
    return positions, rotations


def _points(sample: _Sample, body: str) -> Iterator[np.ndarray]:
    """Points of a body that shapes lead through: those that hold it, and the centre of mass of one
    that has mass."""
    yield from _held(sample, body)
    if body != "ground" and not sample.bodies[body].weightless:
        yield sample.constant(sample.bodies[body].com)


def _held(sample: _Sample, body: str) -> Iterator[np.ndarray]:
    """Joints (their frames, and where they turn or slide) and markers."""
    system = sample.equations.system
    for joint in system.joints.values():
        hinge = _hinge(sample, joint)
        for end, at in ((joint.parent, hinge.on_parent), (joint.child, hinge.on_child)):
            if end.body.name == body:
                yield from (sample.constant(end.at), at)
    if body != "ground":
        yield from (
            sample.constant(marker.at)
            for marker in system.markers.values()
            if marker.body.name == body
        )


@dataclass(frozen=True)
class _Hinge:
    """Where a joint moves: after the constant steps that lead to its first moving one, and before
    those that end it."""

    on_parent: np.ndarray
    on_child: np.ndarray
    moving: tuple[Transition, ...]
    direction: (
        np.ndarray | None
    )  # of a joint with a single step that turns or slides, on the parent


def _hinge(sample: _Sample, joint: Joint) -> _Hinge:
    steps = joint.transitions
    fixed = [
        not step.moves and not ca.depends_on(SX(step.amount), sample.equations.terms.symbols.t)
        for step in steps
    ]
    lead = fixed.index(False) if False in fixed else 0
    tail = fixed[::-1].index(False) if False in fixed else 0
    R, d = _place(sample, joint.parent, steps[:lead])
    T, e = (sample.constant(x) for x in _chain(steps[len(steps) - tail :]))
    C, c = _place(sample, joint.child, [])
    moving = tuple(steps[lead : len(steps) - tail])
    single = moving[0] if len(moving) == 1 else None
    direction = (
        R @ sample.constant(single.direction)
        if isinstance(single, (Rotation, Translation))
        else None
    )
    return _Hinge(d, c - C @ T.T @ e, moving, direction)


def _place(
    sample: _Sample, frame: Marker, steps: Sequence[Transition]
) -> tuple[np.ndarray, np.ndarray]:
    """Axes and origin, on its body, of a frame that constant steps lead to."""
    R, d = _chain(steps)
    return sample.constant(frame.rotation @ R), sample.constant(frame.at + frame.rotation @ d)


def _chain(steps: Sequence[Transition]) -> tuple[SX, SX]:
    R, d = SX.eye(3), SX.zeros(3)
    for step in steps:
        turn, shift = step.pose(SX(step.amount))
        R, d = R @ turn, d + R @ shift
    return R, d


def _typical_size(sample: _Sample, points: dict[str, list[np.ndarray]]) -> float:
    """The median extent of the bodies that are not small beside the others; without any, that of
    their boxes."""
    spans = [
        float(pdist(np.array(p)).max())
        for name, p in points.items()
        if len(p) > 1 and name != "ground"
    ]
    boxes = [
        2 * float(_box_of(sample, body)[0].max())
        for body in sample.bodies.values()
        if not body.weightless
    ]
    sizes = [size for size in spans if size > 0] or [size for size in boxes if size > 0] or [1.0]
    return float(np.median([size for size in sizes if size >= 0.3 * max(sizes)]))


def _spread(
    points: dict[str, list[np.ndarray]], positions: np.ndarray, rotations: np.ndarray
) -> float:
    """Half the extent of the whole motion."""
    seen = [
        positions[:, k] + rotations[:, k] @ p for k, own in enumerate(points.values()) for p in own
    ]
    return float(np.ptp(np.concatenate(seen), axis=0).max()) / 2 if seen else 0.0


def _thickness(size: float, spread: float) -> float:
    """Radius of rods: slender beside a typical body, but still visible where bodies move far."""
    return min(max(SLENDER * size, 0.012 * spread), 2.5 * SLENDER * size)


# --- shapes ---------------------------------------------------------------------------------------


def _solid(sample: _Sample, k: int, name: str, points: list[np.ndarray], thickness: float) -> Solid:
    joints = (*_pins(sample, name, thickness), *_rails(sample, name, thickness))
    tint = GROUND if name == "ground" else color(k - 1)
    shells, boxes = tuple(_shells(sample, name, tint)), tuple(_boxes(sample, name, tint))
    if name == "ground":
        return Solid(name, tint, (*joints, *_anchors(sample, name, thickness)), boxes, shells)
    body, surfaced = sample.bodies[name], bool(shells or boxes)
    ends = [] if surfaced else _far_end(sample, body, 0.5 * thickness)
    rods = [
        Rod(a, b, thickness, tint)
        for a, b in _skeleton([*_distinct(points, 0.5 * thickness), *ends])
    ]
    if surfaced:
        return Solid(name, tint, (*rods, *joints), boxes, shells)
    if body.weightless:
        return Solid(name, tint, (*rods, *joints, *_anchors(sample, name, thickness)))
    if not rods and _box_of(sample, body)[0].any():
        return Solid(name, tint, joints, (_box(sample, body, thickness, tint),))
    com = sample.constant(body.com)
    return Solid(
        name, tint, (*rods, Rod(com, com, (1.7 if rods else 2.5) * thickness, tint), *joints)
    )


def _surfaces(sample: _Sample, body: str) -> Iterator[Surface]:
    """Surfaces on a body that roll, slide or touch, each once for every marker that it sits on."""
    seen = set()
    for element in sample.equations.system.elements:
        for surface in (getattr(element, "surface", None), getattr(element, "base", None)):
            if isinstance(surface, Surface) and surface.marker.body.name == body:
                key = (type(surface), surface.marker)
                if key not in seen:
                    seen.add(key)
                    yield surface


def _shells(sample: _Sample, body: str, tint: str) -> Iterator[Shell]:
    for surface in _surfaces(sample, body):
        shell = shell_of(surface, sample.constant, tint)
        if shell is not None:
            yield shell


def _boxes(sample: _Sample, body: str, tint: str) -> Iterator[Box]:
    for surface in _surfaces(sample, body):
        edges = edges_of(surface, sample.constant)
        if edges is not None:
            R, at = (
                sample.constant(surface.marker.rotation).reshape(3, 3),
                sample.constant(surface.marker.at),
            )
            yield Box(at, edges / 2, R, tint)


def _distinct(points: Iterable[np.ndarray], tolerance: float) -> list[np.ndarray]:
    out: list[np.ndarray] = []
    for point in points:
        if all(np.linalg.norm(point - other) > tolerance for other in out):
            out.append(point)
    return out


def _skeleton(points: list[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The shortest tree through all points."""
    if len(points) > 1:
        tree = minimum_spanning_tree(squareform(pdist(np.array(points)))).tocoo()
        yield from ((points[i], points[j]) for i, j in zip(tree.row, tree.col, strict=True))


def _far_end(sample: _Sample, body: Body, tolerance: float) -> list[np.ndarray]:
    """Where a body on one point ends: the end of the uniform rod with its inertia across the line
    through its centre."""
    held = _distinct(_held(sample, body.name), tolerance)
    arm = sample.constant(body.com) - (held[0] if held else 0.0)
    reach, mass = float(np.linalg.norm(arm)), float(sample.constant(body.mass).item())
    if len(held) != 1 or mass <= 0 or reach <= tolerance:
        return []
    inertia, along = sample.constant(body.inertia).reshape(3, 3), arm / reach
    across = max(0.0, (np.trace(inertia) - along @ inertia @ along) / 2)
    beyond = min(float(np.sqrt(3 * across / mass)), reach)
    return [held[0] + (reach + beyond) * along] if beyond > tolerance else []


def _box_of(sample: _Sample, body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Half edges and axes of the uniform box with a body's inertia: a² = 3 (I_b + I_c − I_a) /
    2m."""
    inertia, mass = (
        sample.constant(body.inertia).reshape(3, 3),
        float(sample.constant(body.mass).item()),
    )
    values, axes = np.linalg.eigh(inertia)
    squares = 1.5 * (values.sum() - 2 * values) / mass if mass > 0 else np.zeros(3)
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1
    return np.sqrt(np.maximum(squares, 0)), axes


def _box(sample: _Sample, body: Body, thickness: float, tint: str) -> Box:
    half, axes = _box_of(sample, body)
    return Box(
        sample.constant(body.com), np.clip(half, 1.6 * thickness, 20 * thickness), axes, tint
    )


def _pins(sample: _Sample, body: str, thickness: float) -> Iterator[Rod]:
    """Joints that turn, drawn on their parents: a pin along the axis of a single turn, else a ball;
    none if free."""
    for hinge in (_hinge(sample, joint) for joint in _joints_on(sample, body)):
        turns = [step for step in hinge.moving if not isinstance(step, Translation)]
        if turns and len(hinge.moving) - len(turns) < 3:
            reach = np.zeros(3) if hinge.direction is None else 1.3 * thickness * hinge.direction
            radius = (1.5 if hinge.direction is None else 1.25) * thickness
            yield Rod(hinge.on_parent - reach, hinge.on_parent + reach, radius, DARK)
    for element in sample.equations.system.elements:
        if isinstance(element, AxialJoint) and element.a.body.name == body:
            at, reach = (
                sample.constant(element.a.at),
                1.3 * thickness * sample.constant(element.a.rotation @ element.n),
            )
            yield Rod(at - reach, at + reach, 1.25 * thickness, DARK)


def _joints_on(sample: _Sample, body: str) -> Iterator[Joint]:
    """Joints whose parent is a body."""
    yield from (
        joint for joint in sample.equations.system.joints.values() if joint.parent.body.name == body
    )


def _rails(sample: _Sample, body: str, thickness: float) -> Iterator[Rod]:
    """The stretch of line that each sliding joint on this body covers during the run."""
    for joint in _joints_on(sample, body):
        hinge = _hinge(sample, joint)
        if (
            hinge.direction is not None
            and isinstance(hinge.moving[0], Translation)
            and hinge.moving[0].moves
        ):
            shifts = sample.run[joint.name][sample.rows]
            low, high = float(shifts.min()) - 6 * thickness, float(shifts.max()) + 6 * thickness
            at, direction = hinge.on_parent, hinge.direction
            yield Rod(at + low * direction, at + high * direction, 0.4 * thickness, GROUND)


def _anchors(sample: _Sample, body: str, thickness: float) -> Iterator[Rod]:
    """Points of a body without a shape that a force or constraint holds on to."""
    for _, ends in _spans(sample):
        for at in (sample.constant(end.at) for end in ends if end.body.name == body):
            yield Rod(at, at, 1.3 * thickness, DARK)


def _spans(sample: _Sample) -> Iterator[tuple[Element, Sequence[Marker]]]:
    """Forces and constraints between two points; what touches or is hinged there is seen
    otherwise."""
    system = sample.equations.system
    for element in system.elements:
        if (
            len(element.places()) == 2
            and not isinstance(element, AxialJoint)
            and not hasattr(element, "surface")
        ):
            yield element, element.places()


def _links(sample: _Sample) -> Iterator[Link]:
    q, t, p = sample.arguments
    for element, ends in _spans(sample):
        places = [sample.equations.position(end, q, t, p) for end in ends]
        yield Link(
            element.name,
            ZIGZAG if isinstance(element, Force) else STRAIGHT,
            np.stack(places, axis=1),
        )


# --- around it ------------------------------------------------------------------------------------


def _trails(sample: _Sample, colors: dict[str, str]) -> Iterator[Trail]:
    """Paths of the markers on bodies; without markers, of the mass centres of the outermost
    bodies."""
    system = sample.equations.system
    chosen = [marker for marker in system.markers.values() if marker.body is not system.ground]
    if not chosen:
        inner = {arc.inboard for arc in system.topology().arcs}
        ends = [
            body
            for name, body in sample.bodies.items()
            if name not in inner and not body.weightless
        ]
        chosen = [Marker(body.name, body, body.com, SX.eye(3)) for body in ends]
    q, t, p = sample.arguments
    for marker in chosen[:MOST_TRAILS]:
        yield Trail(
            marker.name, colors[marker.body.name], sample.equations.position(marker, q, t, p)
        )


def _up(sample: _Sample) -> np.ndarray:
    gravity = sample.constant(sample.equations.system.gravity)
    size = float(np.linalg.norm(gravity))
    return -gravity / size if size > 0 else np.array([0.0, 0.0, 1.0])


def _floor(sample: _Sample, up: np.ndarray, lowest: float) -> float:
    """The height of the level plane on the ground that something rolls on; without one, below
    everything."""
    planes = [
        surface.marker for surface in _surfaces(sample, "ground") if isinstance(surface, Plane)
    ]
    level = [
        m for m in planes if float(sample.constant(m.rotation).reshape(3, 3)[:, 2] @ up) > 1 - 1e-9
    ]
    return min((float(sample.constant(m.at) @ up) for m in level), default=lowest)


def _cloud(solids: tuple[Solid, ...], positions: np.ndarray, rotations: np.ndarray) -> np.ndarray:
    """Every point of every shape at every time, in the world."""
    out = []
    for k, solid in enumerate(solids):
        local = [point for rod in solid.rods for point in (rod.a, rod.b)]
        local += [
            box.centre + sign * (box.axes @ box.half) for box in solid.boxes for sign in (-1, 1)
        ]
        local += [corner for shell in solid.shells for corner in shell.corners]
        out += [positions[:, k] + rotations[:, k] @ point for point in local]
    return np.concatenate(out) if out else np.zeros((1, 3))


def _path(solids: tuple[Solid, ...], positions: np.ndarray) -> np.ndarray | None:
    """The middle of all bodies at each time; None if something stands on the ground, or if there is
    no body."""
    ground = solids[0]
    fixed = ground.rods or ground.boxes or ground.shells or len(solids) == 1
    return None if fixed else positions[:, 1:].mean(axis=1)


def _reach(cloud: np.ndarray, times: int) -> float:
    """Half the extent of everything at one time, at its largest."""
    return (
        float(np.ptp(cloud.reshape(-1, times, 3), axis=0).max()) / 2
        if len(cloud) % times == 0
        else np.inf
    )


def _across(seen: np.ndarray, up: np.ndarray) -> np.ndarray:
    """The horizontal direction of least extent, such that x (else y) of the world points to the
    right of who looks along it."""
    flat = seen - seen.mean(axis=0)
    flat = flat - np.outer(flat @ up, up)
    values, vectors = np.linalg.eigh(
        flat.T @ flat + 1e9 * max(1.0, float((flat**2).sum())) * np.outer(up, up)
    )
    across = vectors[:, int(np.argmin(values))]
    return across if np.cross(up, across) @ [1.0, 0.1, 0.01] > 0 else -across
