"""What is seen of a run: solids on bodies, links between them, trails of points, and where to look.

The floor is the plane on the ground that something rolls on; without one it is below everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from casadi import SX
from scipy.spatial.transform import Rotation as Turn

from ..model.bodies import Marker
from ..model.contact.surfaces import Plane
from ..numerics.tolerances import GIVEN, TINY
from ..results.trajectory import Trajectory
from .sample import Sample
from .solids import Solid, solid, spans, surfaces_on, thickness_of, tint

MOST_FRAMES = 600
ELEVATION, AZIMUTH = 0.30, 0.55  # of the first look, in radians
MOST_TRAILS = 6
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
FAR = 5.0  # what travels farther than this, in units of its own size, is followed …
NEAR = 2.0  # … within this


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
        side /= float(np.linalg.norm(side)) + TINY
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
    # of the centre at each time, (n, 3), where the look has to follow what travels far
    path: np.ndarray | None = None

    def looked_at(self, row: int) -> Scene:
        """The scene with its centre where it is at one time."""
        return self if self.path is None else replace(self, centre=self.path[row])

    @property
    def quaternions(self) -> np.ndarray:
        """Scalar-first quaternions (n, solids, 4), without jumps of sign along time."""
        turns = Turn.from_matrix(self.rotations.reshape(-1, 3, 3))
        q = turns.as_quat()[:, [3, 0, 1, 2]].reshape(*self.rotations.shape[:2], 4)
        flips = np.cumprod(np.where((q[1:] * q[:-1]).sum(axis=-1) < 0, -1.0, 1.0), axis=0)
        return np.concatenate([q[:1], q[1:] * flips[..., None]])


def scene_of(run: Trajectory, most_frames: int = MOST_FRAMES) -> Scene:
    """The scene of a run, on at most ``most_frames`` of its times."""
    sample = Sample.of(run, most_frames)
    names = ["ground", *sample.equations.system.bodies]
    positions = np.stack([sample.positions(name) for name in names], axis=1)
    rotations = np.stack([sample.rotations(name) for name in names], axis=1)
    points = {name: list(sample.points(name)) for name in names}
    spread = _half_extent(_in_world(list(points.values()), positions, rotations))
    thickness = thickness_of(sample, points, spread)
    solids = tuple(solid(sample, name, tint(k), thickness) for k, name in enumerate(names))
    links = tuple(_links(sample))
    shapes = _in_world([solid.corners for solid in solids], positions, rotations)
    everything = np.concatenate([shapes, *(link.ends.reshape(-1, 3) for link in links)])
    up = _up(sample)
    radius = max(_half_extent(everything), 4 * thickness)
    path = _path(solids, positions)
    size = _size_at_one_time(shapes, len(sample.time))
    follow = path is not None and radius > FAR * size
    return Scene(
        title=run.name,
        time=sample.time,
        solids=solids,
        positions=positions,
        rotations=rotations,
        trails=tuple(_trails(sample, {solid.name: solid.color for solid in solids})),
        links=links,
        up=up,
        floor=_floor(sample, up, float((everything @ up).min()) - 2 * thickness),
        centre=(everything.min(axis=0) + everything.max(axis=0)) / 2,
        radius=NEAR * size if follow else radius,
        across=_across(everything, up),
        thickness=thickness,
        path=path if follow else None,
    )


def _in_world(
    points: Sequence[Sequence[np.ndarray]], positions: np.ndarray, rotations: np.ndarray
) -> np.ndarray:
    """The points of each solid at every time, those of one point together; the origin if there are
    none."""
    moved = [
        positions[:, k] + rotations[:, k] @ point for k, own in enumerate(points) for point in own
    ]
    return np.concatenate(moved) if moved else np.zeros((1, 3))


# --- lines ----------------------------------------------------------------------------------------


def _links(sample: Sample) -> Iterator[Link]:
    for element, ends in spans(sample):
        path = ZIGZAG if element.drawn_as == "spring" else STRAIGHT
        yield Link(element.name, path, np.stack([sample.positions(end) for end in ends], axis=1))


def _trails(sample: Sample, colors: dict[str, str]) -> Iterator[Trail]:
    """Paths of the markers on bodies; without markers, of the mass centres of the outermost
    bodies."""
    system = sample.equations.system
    chosen = [marker for marker in system.markers.values() if marker.body is not system.ground]
    if not chosen:
        inner = {arc.inboard for arc in system.topology().arcs}
        outer = [body for name, body in system.bodies.items() if name not in inner]
        massive = [body for body in outer if not body.weightless]
        chosen = [Marker(body.name, body, body.com, SX.eye(3)) for body in massive]
    for marker in chosen[:MOST_TRAILS]:
        yield Trail(marker.name, colors[marker.body.name], sample.positions(marker))


# --- where to look --------------------------------------------------------------------------------


def _up(sample: Sample) -> np.ndarray:
    """The direction against gravity, z if there is none."""
    gravity = sample.constant(sample.equations.system.gravity)
    size = float(np.linalg.norm(gravity))
    return -gravity / size if size > 0 else np.array([0.0, 0.0, 1.0])


def _floor(sample: Sample, up: np.ndarray, lowest: float) -> float:
    """The height of the level plane on the ground that something rolls on, else the lowest point of
    all."""
    heights = []
    for surface in surfaces_on(sample, "ground"):
        normal = sample.constant(surface.marker.rotation)[:, 2]
        if isinstance(surface, Plane) and float(normal @ up) > 1 - GIVEN:
            heights.append(float(sample.constant(surface.marker.at) @ up))
    return min(heights, default=lowest)


def _path(solids: Sequence[Solid], positions: np.ndarray) -> np.ndarray | None:
    """The middle of all bodies at each time; None if something stands on the ground, or if there is
    no body."""
    ground = solids[0]
    fixed = ground.rods or ground.meshes or len(solids) == 1
    return None if fixed else positions[:, 1:].mean(axis=1)


def _half_extent(points: np.ndarray) -> float:
    """Half of the largest extent along an axis of the world."""
    return float(np.ptp(points, axis=0).max()) / 2


def _size_at_one_time(shapes: np.ndarray, times: int) -> float:
    """Half the extent of everything at one time, at its largest."""
    if len(shapes) % times:
        return np.inf
    return float(np.ptp(shapes.reshape(-1, times, 3), axis=0).max()) / 2


def _across(points: np.ndarray, up: np.ndarray) -> np.ndarray:
    """The horizontal direction of least extent, such that x (else y) of the world points to the
    right of who looks along it."""
    flat = points - points.mean(axis=0)
    flat = flat - np.outer(flat @ up, up)
    upward = (float((flat**2).sum()) or 1.0) * np.outer(up, up)  # never the least
    values, vectors = np.linalg.eigh(flat.T @ flat + upward)
    across = vectors[:, int(np.argmin(values))]
    return across if np.cross(up, across) @ [1.0, 0.1, 0.01] > 0 else -across
