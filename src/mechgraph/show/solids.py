"""The shapes that ride on a body, derived from the graph.

A body is drawn as rods through the points that matter on it: its joints, its markers and its centre
of mass, joined by the shortest tree. One that hangs on a single point reaches as far as the uniform
rod with its inertia would; one whose points coincide is the box with its inertia. A body that
rolls, slides or touches is drawn with its surface instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from ..model.bodies import Body, Marker
from ..model.contact.surfaces import Surface
from ..model.element import Element
from ..model.transitions import Translation
from ..model.visuals import Mesh
from ..numerics.tolerances import GIVEN
from .palette import color
from .sample import Sample
from .shapes import Facets, Rod, box, facets_of, triangles_of

DARK = "#3d4855"  # joints
GROUND = "#8b97a4"
HEAVY, LIGHT = "#2f6d62", "#b5483a"  # particles, and those of negative mass
SLENDER = 0.035  # radius of rods over the size of a typical body
MOST_TRIANGLES = 20_000  # of all meshes of a scene
SLIM = 0.3  # at most, over the radius of the smallest wheel


@dataclass(frozen=True)
class Solid:
    """The shapes that ride on a body, in its frame."""

    name: str
    color: str
    rods: tuple[Rod, ...] = ()
    meshes: tuple[Facets, ...] = ()

    @property
    def corners(self) -> list[np.ndarray]:
        """Points that all shapes lie between, but for the thickness of rods."""
        shapes: tuple[Rod | Facets, ...] = (*self.rods, *self.meshes)
        return [corner for shape in shapes for corner in shape.corners]


def tint(k: int) -> str:
    """The colour of solid k; the ground comes first."""
    return color(k - 1) if k else GROUND


def solid(sample: Sample, name: str, tint: str, thickness: float) -> Solid:
    """The shapes of a body or of the ground: as it looks, if that is told; where others look like
    something, a mere frame on another body is not seen."""
    visuals = sample.equations.system.visuals
    if name in visuals or (visuals and _is_mere_frame(sample, name)):
        return Solid(name, tint, meshes=tuple(_visuals(sample, name, tint)))
    joints = (*_pins(sample, name, thickness), *_rails(sample, name, thickness))
    meshes = tuple(_surfaces(sample, name, tint))
    if name == "ground":
        return Solid(name, tint, (*joints, *_anchors(sample, name, thickness)), meshes)
    body = sample.equations.system.bodies[name]
    if meshes:
        rods = _skeleton(sample.points(name), thickness, tint)
    else:
        rods, meshes = _without_surface(sample, body, tint, thickness)
    return Solid(name, tint, (*rods, *joints, *_particles(sample, name, thickness)), meshes)


def _visuals(sample: Sample, name: str, tint: str) -> Iterator[Facets]:
    """The meshes and surfaces that a file tells."""
    visuals = sample.equations.system.visuals
    count = sum(isinstance(look, Mesh) for each in visuals.values() for look in each)
    for look in visuals.get(name, ()):
        if isinstance(look, Mesh):
            found = triangles_of(look, tint, MOST_TRIANGLES // count)
        else:
            found = facets_of(look, sample.constant, tint)
        if found is not None:
            yield found


def _is_mere_frame(sample: Sample, name: str) -> bool:
    """True for ground, bodies without weight, and those that are fixed on others."""
    system = sample.equations.system
    fixed = (j.child.body.name for j in system.joints.values() if not j.transitions)
    return name == "ground" or system.bodies[name].weightless or name in fixed


def _without_surface(
    sample: Sample, body: Body, tint: str, thickness: float
) -> tuple[list[Rod], tuple[Facets, ...]]:
    """A body as rods, or as the box with its inertia if its points coincide."""
    far_end = _far_end(sample, body, 0.5 * thickness)
    rods = _skeleton([*sample.points(body.name), *far_end], thickness, tint)
    if body.weightless:
        return [*rods, *_anchors(sample, body.name, thickness)], ()
    com = sample.constant(body.com)
    half, axes = _inertia_box(sample, body)
    if not rods and half.any():
        return [], (box(com, np.clip(half, 1.6 * thickness, 20 * thickness), axes, tint),)
    ball = Rod(com, com, (1.7 if rods else 2.5) * thickness, tint)
    return [*rods, ball], ()


# --- sizes ----------------------------------------------------------------------------------------


def thickness_of(
    sample: Sample, points: Mapping[str, Sequence[np.ndarray]], spread: float
) -> float:
    """The radius of rods: slender beside a typical body and beside wheels, but still visible where
    bodies move far (by the ``spread``)."""
    slender = SLENDER * _typical_size(sample, points)
    visible = min(max(slender, 0.012 * spread), 2.5 * slender)
    wheels = [mesh.radius for name in points for mesh in _surfaces(sample, name, GROUND)]
    return min([visible, *(SLIM * radius for radius in wheels)])


def _typical_size(sample: Sample, points: Mapping[str, Sequence[np.ndarray]]) -> float:
    """The median extent of the bodies that are not small beside the others; without any, that of
    the boxes with their inertia."""
    sizes = [_extent(own) for name, own in points.items() if name != "ground"]
    if not any(sizes):
        bodies = sample.equations.system.bodies.values()
        massive = [body for body in bodies if not body.weightless]
        sizes = [2 * float(_inertia_box(sample, body)[0].max()) for body in massive]
    largest = max(sizes, default=0.0)
    if largest == 0:
        return 1.0
    return float(np.median([size for size in sizes if size >= 0.3 * largest]))


def _extent(points: Sequence[np.ndarray]) -> float:
    """The largest distance between two of the points."""
    return float(pdist(np.array(points)).max()) if len(points) > 1 else 0.0


def _inertia_box(sample: Sample, body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Half edges and axes of the uniform box with a body's inertia: a² = 3 (I_b + I_c − I_a) / 2m
    for half an edge a."""
    mass = float(sample.constant(body.mass).item())
    values, axes = np.linalg.eigh(sample.constant(body.inertia))
    squares = 1.5 * (values.sum() - 2 * values) / mass if mass > 0 else np.zeros(3)
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1
    return np.sqrt(np.maximum(squares, 0)), axes


# --- bodies ---------------------------------------------------------------------------------------


def _skeleton(points: Iterable[np.ndarray], thickness: float, tint: str) -> list[Rod]:
    """Rods along the shortest tree through all points."""
    distinct = _distinct(points, 0.5 * thickness)
    if len(distinct) < 2:
        return []
    tree = minimum_spanning_tree(squareform(pdist(np.array(distinct)))).tocoo()
    pairs = zip(tree.row, tree.col, strict=True)
    return [Rod(distinct[i], distinct[j], thickness, tint) for i, j in pairs]


def _distinct(points: Iterable[np.ndarray], tolerance: float) -> list[np.ndarray]:
    """The points without those that are close to an earlier one."""
    out: list[np.ndarray] = []
    for point in points:
        if all(np.linalg.norm(point - other) > tolerance for other in out):
            out.append(point)
    return out


def _far_end(sample: Sample, body: Body, tolerance: float) -> list[np.ndarray]:
    """Where a body on one point ends: the end of the uniform rod with its inertia across the line
    through its centre; nothing for other bodies."""
    attached = _distinct(sample.attachments(body.name), tolerance)
    mass = float(sample.constant(body.mass).item())
    if len(attached) != 1 or mass <= 0:
        return []
    arm = sample.constant(body.com) - attached[0]
    reach = float(np.linalg.norm(arm))
    if reach <= tolerance:
        return []
    inertia, along = sample.constant(body.inertia), arm / reach
    across = max(0.0, (np.trace(inertia) - along @ inertia @ along) / 2)
    beyond = min(float(np.sqrt(3 * across / mass)), reach)
    return [attached[0] + (reach + beyond) * along] if beyond > tolerance else []


def _particles(sample: Sample, body: str, thickness: float) -> list[Rod]:
    """Balls for the particles of a body, if it is moved as such: as large as their masses, another
    colour for those that are negative."""
    found = sample.equations.terms.chart.particles(body)
    masses = [float(sample.constant(mass).item()) for mass, _ in found]
    places = [sample.constant(place) for _, place in found]
    largest = max(map(abs, masses), default=1.0)
    sizes = [thickness * (0.4 + 1.2 * (abs(mass) / largest) ** (1 / 3)) for mass in masses]
    return [
        Rod(at, at, size, LIGHT if mass < 0 else HEAVY)
        for at, size, mass in zip(places, sizes, masses, strict=True)
        if abs(mass) > GIVEN * largest
    ]


# --- surfaces -------------------------------------------------------------------------------------


def surfaces_on(sample: Sample, body: str) -> Iterator[Surface]:
    """Surfaces on a body that roll, slide or touch, each once for every marker that it sits on."""
    known = set()
    for element in sample.equations.system.elements:
        for surface in element.surfaces():
            if surface.marker.body.name == body:
                key = (type(surface), surface.marker)
                if key not in known:
                    known.add(key)
                    yield surface


def _surfaces(sample: Sample, body: str, tint: str) -> Iterator[Facets]:
    for surface in surfaces_on(sample, body):
        found = facets_of(surface, sample.constant, tint)
        if found is not None:
            yield found


# --- joints ---------------------------------------------------------------------------------------


def _pins(sample: Sample, body: str, thickness: float) -> Iterator[Rod]:
    """Joints that turn, drawn on their parents; none that moves in three directions as well."""
    for joint in sample.joints_on(body):
        hinge = sample.hinges[joint.name]
        slides = sum(isinstance(step, Translation) for step in hinge.moving)
        turns = len(hinge.moving) - slides
        if turns and slides < 3:
            yield _pin(hinge.on_parent, hinge.direction, thickness)
    for element in sample.equations.system.elements:
        for place, axis in element.pins():
            if place.body.name == body:
                along = sample.constant(place.rotation @ axis)
                yield _pin(sample.constant(place.at), along, thickness)


def _pin(at: np.ndarray, axis: np.ndarray | None, thickness: float) -> Rod:
    """A pin along the axis of a single turn, else a ball."""
    if axis is None:
        return Rod(at, at, 1.5 * thickness, DARK)
    reach = 1.3 * thickness * axis
    return Rod(at - reach, at + reach, 1.25 * thickness, DARK)


def _rails(sample: Sample, body: str, thickness: float) -> Iterator[Rod]:
    """The stretch of line that each sliding joint on this body covers during the run."""
    for joint in sample.joints_on(body):
        hinge = sample.hinges[joint.name]
        if hinge.direction is None:
            continue
        step = hinge.moving[0]
        if isinstance(step, Translation) and step.moves:
            shifts = sample.run[joint.name][sample.rows]
            low, high = float(shifts.min()) - 6 * thickness, float(shifts.max()) + 6 * thickness
            at, direction = hinge.on_parent, hinge.direction
            yield Rod(at + low * direction, at + high * direction, 0.4 * thickness, GROUND)


def _anchors(sample: Sample, body: str, thickness: float) -> Iterator[Rod]:
    """Points of a body without a shape that a force or constraint holds on to."""
    for _, ends in spans(sample):
        for end in ends:
            if end.body.name == body:
                at = sample.constant(end.at)
                yield Rod(at, at, 1.3 * thickness, DARK)


def spans(sample: Sample) -> Iterator[tuple[Element, Sequence[Marker]]]:
    """Forces and constraints between two points; what touches or is hinged there is drawn
    otherwise."""
    for element in sample.equations.system.elements:
        for ends in element.spans():
            yield element, ends
