"""Moving pictures without a browser: rods and faces are drawn pixel by pixel into a depth buffer,
and the frames are written as a GIF."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont

from ..arguments import number, replacing, whole
from ..errors import ArgumentError, shown
from ..numerics.tolerances import SMOOTH
from .palette import INK, MUTED, PAPER
from .scene import AZIMUTH, ELEVATION, Scene
from .shapes import Facets, Rod
from .solids import Solid

FINER = 2  # pixels are computed this many times finer and averaged
MOST_FRAMES = 240
LINK = "#7a8794"
MOST_PIXELS = 1_000_000  # that are drawn at once
ANGLE = 0.54  # of view, from top to bottom


@dataclass(frozen=True)
class Camera:
    """A perspective view: ``axes`` are its right, up and backward directions as rows."""

    eye: np.ndarray
    axes: np.ndarray
    focal: float  # pixels
    centre: np.ndarray  # pixel of the optical axis

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pixels (…, 2) and depths (…) of points in the world."""
        local = (points - self.eye) @ self.axes.T
        depth = -local[..., 2]
        flat = local[..., :2] * np.array([1.0, -1.0])  # pixels count downwards
        return self.centre + self.focal * flat / depth[..., None], depth


def camera_of(scene: Scene, width: int, height: int) -> Camera:
    """The camera of the first look of the interactive page."""
    aside = np.cross(scene.up, scene.across)
    level = np.cos(AZIMUTH) * scene.across + np.sin(AZIMUTH) * aside
    back = np.cos(ELEVATION) * level + np.sin(ELEVATION) * scene.up
    distance = 1.25 * scene.radius / (np.tan(ANGLE / 2) * min(1.0, width / height))
    right = np.cross(scene.up, back)
    right /= np.linalg.norm(right)
    return Camera(
        eye=scene.centre + distance * back,
        axes=np.array([right, np.cross(back, right), back]),
        focal=height / 2 / np.tan(ANGLE / 2),
        centre=np.array([width, height]) / 2,
    )


def animation(
    scene: Scene,
    path: Path,
    speed: float,
    title: str,
    size: tuple[int, int] = (600, 450),
    frames: int = 20,
) -> Path:
    """Write a GIF of about ``frames`` a second; long runs get fewer, so that there are never more
    than 240."""
    try:
        width, height = size
        right = all(32 <= side <= 4000 for side in whole(width=width, height=height))
        right = right and 1 <= number("frames", frames) <= 50
    except (TypeError, ValueError):
        right = False
    if not right:
        raise ArgumentError(
            "size must be two whole numbers within 32 … 4000 pixels and frames within 1 … 50, got "
            f"{shown(size)} and {shown(frames)}"
        )
    length = float(scene.time[-1] - scene.time[0]) / speed
    count = int(np.clip(round(length * frames), 1, MOST_FRAMES))
    images = [stage.picture(row) for stage, row in _stages(scene, title, size, count)]
    palette = _palette(images)
    first, *others = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    pause = max(20, round(1000 * length / count / 10) * 10)  # GIF counts hundredths of a second
    with replacing(path) as file:
        first.save(
            file, save_all=True, append_images=others, duration=pause, loop=0, optimize=False
        )
    return path


def _stages(
    scene: Scene, title: str, size: tuple[int, int], count: int
) -> Iterator[tuple[Stage, int]]:
    """The rows of the scene that are drawn, each on its stage: always the same unless the look
    follows what travels far."""
    times = np.linspace(scene.time[0], scene.time[-1], count, endpoint=False)
    rows = np.searchsorted(scene.time, times).clip(0, len(scene.time) - 1)
    still = Stage(scene, title, *size)
    for row in rows.tolist():
        yield still if scene.path is None else Stage(scene.looked_at(row), title, *size), row


def _palette(images: list[Image.Image]) -> Image.Image:
    """One set of colours for all frames, from a few of them."""
    chosen = images[:: max(1, len(images) // 6)]
    width, height = images[0].size
    sheet = Image.new("RGB", (width, height * len(chosen)))
    for k, image in enumerate(chosen):
        sheet.paste(image, (0, k * height))
    return sheet.quantize(255)


class Stage:
    """Everything that stays the same from frame to frame, and the drawing of one frame."""

    def __init__(self, scene: Scene, title: str, width: int, height: int) -> None:
        self.scene, self.title, self.size = scene, title, (width, height)
        self.camera = camera_of(scene, FINER * width, FINER * height)
        self.aside = np.cross(scene.up, scene.across)
        light = scene.up + 0.45 * scene.across + 0.55 * self.aside
        self.light = light / np.linalg.norm(light)
        self.ground = self._grid(Image.new("RGB", (FINER * width, FINER * height), PAPER))
        font = font_manager.findfont("DejaVu Sans")
        self.title_font = ImageFont.truetype(font, round(height / 28))
        self.time_font = ImageFont.truetype(font, round(height / 34))

    def picture(self, row: int) -> Image.Image:
        """The frame at one time."""
        under = self._trails(self._shadows(self.ground.copy(), row), row)
        axes = self.camera.axes
        light = Light(axes @ self.scene.up, axes @ self.light)
        buffer = Buffer(np.asarray(under, dtype=np.float32) / 255, self.camera, light)
        for rod in self._rods(row):
            buffer.rod(rod)
        for mesh in self._meshes(row):
            buffer.mesh(mesh)
        image = Image.fromarray((np.clip(buffer.colors, 0, 1) * 255).astype(np.uint8))
        return self._caption(image.resize(self.size, Image.Resampling.BOX), row)

    def _rods(self, row: int) -> Iterator[Rod]:
        """The rods of all solids and links in the world at one time."""
        scene = self.scene
        for solid, R, p in self._placed(row):
            for rod in solid.rods:
                yield replace(rod, a=p + R @ rod.a, b=p + R @ rod.b)
        for link in scene.links:
            for a, b in pairwise(link.points(row, scene.thickness)):
                yield Rod(a, b, 0.3 * scene.thickness, LINK)

    def _meshes(self, row: int) -> Iterator[Facets]:
        """The faces of all solids in the world at one time."""
        for solid, R, p in self._placed(row):
            for mesh in solid.meshes:
                yield replace(mesh, points=p + mesh.points @ R.T, normals=mesh.normals @ R.T)

    def _placed(self, row: int) -> Iterator[tuple[Solid, np.ndarray, np.ndarray]]:
        scene = self.scene
        yield from zip(scene.solids, scene.rotations[row], scene.positions[row], strict=True)

    def _caption(self, image: Image.Image, row: int) -> Image.Image:
        draw, margin = ImageDraw.Draw(image), self.size[1] // 32
        draw.text((margin, margin), self.title, fill=INK, font=self.title_font)
        foot, time = (margin, self.size[1] - margin), f"{self.scene.time[row]:.2f} s"
        draw.text(foot, time, fill=MUTED, font=self.time_font, anchor="ls")
        return image

    def _grid(self, image: Image.Image) -> Image.Image:
        """Lines on the ground that fade with the distance."""
        draw, scene, aside = ImageDraw.Draw(image), self.scene, self.aside
        step = grid_step(scene.radius)
        foot = scene.centre + (scene.floor - scene.centre @ scene.up) * scene.up
        reach = int(np.ceil(3.5 * scene.radius / step))
        corner = scene.floor * scene.up
        for d in (scene.across, aside):
            corner = corner + round(float(foot @ d) / step) * step * d
        parts = np.linspace(-reach, reach, 4 * reach + 1) * step
        for d, e in ((scene.across, aside), (aside, scene.across)):
            for i in range(-reach, reach + 1):
                line = corner + i * step * d + parts[:, None] * e
                self._fading_line(draw, line, foot, reach * step)
        return image

    def _fading_line(
        self, draw: ImageDraw.ImageDraw, points: np.ndarray, centre: np.ndarray, reach: float
    ) -> None:
        pixels, depth = self.camera.project(points)
        shade = np.linalg.norm(points - centre, axis=1) / reach
        for k in np.flatnonzero((depth[:-1] > 0) & (depth[1:] > 0) & (shade[:-1] < 1)):
            grey = round(253 - 66 * (1 - shade[k]) ** 1.2)
            ends = [tuple(pixels[k]), tuple(pixels[k + 1])]
            draw.line(ends, fill=(grey - 3, grey, grey + 2), width=FINER)

    def _shadows(self, image: Image.Image, row: int) -> Image.Image:
        mask = Image.new("L", image.size, 0)
        draw = ImageDraw.Draw(mask)
        for rod in self._rods(row):
            self._rod_shadow(draw, np.array([rod.a, rod.b]), rod.radius)
        for mesh in self._meshes(row):
            pixels, _ = self.camera.project(self._on_ground(mesh.points))
            for corners in pixels[mesh.faces].tolist():
                draw.polygon([tuple(corner) for corner in corners], fill=255)
        image.paste((206, 213, 222), mask=mask)
        return image

    def _rod_shadow(self, draw: ImageDraw.ImageDraw, ends: np.ndarray, radius: float) -> None:
        pixels, depth = self.camera.project(self._on_ground(ends))
        size = float(radius * self.camera.focal / depth.mean())
        draw.line([tuple(p) for p in pixels], fill=255, width=max(1, round(2 * size * 0.8)))
        for x, y in pixels:
            draw.ellipse([x - size, y - 0.6 * size, x + size, y + 0.6 * size], fill=255)

    def _on_ground(self, points: np.ndarray) -> np.ndarray:
        """Where the light throws points."""
        height = points @ self.scene.up - self.scene.floor
        return points - np.outer(height / (self.light @ self.scene.up), self.light)

    def _trails(self, image: Image.Image, row: int) -> Image.Image:
        """Paths of the last part of the run, fading into the past."""
        draw, time = ImageDraw.Draw(image), self.scene.time
        past = 0.45 * float(time[-1] - time[0])
        age = (time[row] - time[: row + 1]) / (past or 1.0)
        for trail in self.scene.trails:
            pixels, _ = self.camera.project(trail.points[: row + 1])
            tint = _rgb(trail.color)
            for k in np.flatnonzero(age[:-1] < 1):
                mixed = 1 - (1 - tint) * (1 - age[k]) * 0.85
                fill = tuple(int(v) for v in mixed * 255)
                draw.line([tuple(pixels[k]), tuple(pixels[k + 1])], fill=fill, width=2 * FINER)
        return image


def grid_step(radius: float) -> float:
    """1, 2 or 5 times a power of ten, somewhat below 0.6 of the radius."""
    power = 10 ** np.floor(np.log10(radius))
    return float(max(s * power for s in (0.5, 1, 2, 5) if s * power < 0.6 * radius))


@dataclass(frozen=True)
class Light:
    """The light of the interactive page: directions of the sky and of the sun, along the axes of
    the camera."""

    sky: np.ndarray
    sun: np.ndarray

    def on(self, normals: np.ndarray, tint: np.ndarray) -> np.ndarray:
        """Colours of a surface with these normals: light of sky and ground, of the sun, and a
        highlight."""
        half = self.sun + np.array([0.0, 0.0, 1.0])
        above = (0.5 + 0.5 * normals @ self.sky)[:, None]
        direct = np.maximum(normals @ self.sun, 0)[:, None]
        shine = np.maximum(normals @ (half / np.linalg.norm(half)), 0)[:, None] ** 48
        ambient = (1 - above) * np.array([0.30, 0.31, 0.36]) + above * np.array([0.62, 0.65, 0.70])
        return np.sqrt(tint**2 * (ambient + direct * np.array([0.62, 0.59, 0.54])) + 0.16 * shine)


class Buffer:
    """Colours and depths of pixels; nearer things win."""

    def __init__(self, colors: np.ndarray, camera: Camera, light: Light) -> None:
        self.colors, self.camera, self.light = colors.copy(), camera, light
        self.depths: np.ndarray = np.full(colors.shape[:2], np.inf, dtype=np.float32)
        self.bounds = colors.shape[1], colors.shape[0]

    def rod(self, rod: Rod) -> None:
        """Draw a capsule: in the picture a thick line with round ends, its normals those of a round
        bar."""
        (pa, pb), (za, zb) = self.camera.project(np.array([rod.a, rod.b]))
        if min(za, zb) <= rod.radius:
            return
        ra, rb = (self.camera.focal * rod.radius / z for z in (za, zb))
        ends = np.array([pa - ra, pa + ra, pb - rb, pb + rb])
        low = np.clip(np.floor(ends.min(axis=0)), 0, self.bounds).astype(int)
        high = np.clip(np.ceil(ends.max(axis=0)) + 1, 0, self.bounds).astype(int)
        window = slice(low[1], high[1]), slice(low[0], high[0])
        y, x = np.mgrid[window].astype(np.float32)
        x, y = x - float(pa[0]), y - float(pa[1])
        dx, dy = float(pb[0] - pa[0]), float(pb[1] - pa[1])
        along = np.clip((x * dx + y * dy) / (dx * dx + dy * dy + SMOOTH), 0, 1)
        r = float(ra) + along * float(rb - ra)
        nx, ny = (x - along * dx) / r, (y - along * dy) / r
        rise = 1 - nx**2 - ny**2
        h = np.sqrt(np.maximum(rise, 0))
        depth = float(za) + along * float(zb - za) - h * float(rod.radius)
        near = (rise > 0) & (depth < self.depths[window])
        self.depths[window][near] = depth[near]
        normals = np.stack([nx, -ny, h], axis=-1)[near]
        self.colors[window][near] = self.light.on(normals, _rgb(rod.color))

    def mesh(self, mesh: Facets) -> None:
        """Draw faces between points in the world, each with depth and normals that change linearly
        over its pixels; of smooth ones those that look at the eye."""
        pixels, depths = (values[mesh.faces] for values in self.camera.project(mesh.points))
        normals = mesh.corner_normals
        facing = ((self.camera.eye - mesh.points[mesh.faces]) * normals).sum(axis=-1) > 0
        towards = np.where(facing.any(axis=1), 1.0, 0.0 if len(mesh.normals) else -1.0)
        seen = (towards != 0) & (depths.min(axis=1) > 0)
        normals = towards[:, None, None] * normals @ self.camera.axes.T
        values = np.concatenate([depths[..., None], normals], axis=-1)[seen]
        places = np.concatenate([pixels, np.ones_like(pixels[..., :1])], axis=-1)[seen]
        slopes = np.linalg.pinv(places) @ values
        tints = np.array([_rgb(color) for color in mesh.colors])[mesh.tones][seen]
        for face, x, y in self._covered(pixels[seen]):
            a, b, c = slopes[face, :, 0].T
            near = self._nearest(x, y, (a * x + b * y + c).astype(np.float32))
            face, x, y = face[near], x[near], y[near]
            a, b, c = np.moveaxis(slopes[face, :, 1:], 1, 0)
            self.colors[y, x] = self.light.on(a * x[:, None] + b * y[:, None] + c, tints[face])

    def _nearest(self, x: np.ndarray, y: np.ndarray, depth: np.ndarray) -> np.ndarray:
        """Which of these pixels are nearer than what is there, and than the others."""
        near = np.flatnonzero(depth < self.depths[y, x])
        np.minimum.at(self.depths, (y[near], x[near]), depth[near])
        return near[depth[near] <= self.depths[y[near], x[near]]]

    def _covered(self, corners: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The pixels in convex polygons (m, n, 2), between the sides that each row meets: whose
        they are, x and y; so many at once."""
        width, height = self.bounds
        low = np.ceil(corners[..., 1].min(axis=1)).clip(0, height)
        high = np.floor(corners[..., 1].max(axis=1)).clip(-1, height - 1)
        owner, y = _ranges(low.astype(int), high.astype(int) + 1)
        ends = corners[owner], np.roll(corners, -1, axis=1)[owner]
        (px, py), (qx, qy) = (np.moveaxis(end, -1, 0) for end in ends)
        after, rise = y[:, None] - py, qy - py
        meets = (after * (y[:, None] - qy) <= 0) & (rise != 0)
        x = px + after * (qx - px) / np.where(rise == 0, 1.0, rise)
        left = np.ceil(np.where(meets, x, np.inf).min(axis=1)).clip(0, width)
        right = np.floor(np.where(meets, x, -np.inf).max(axis=1)).clip(-1, width - 1) + 1
        parts = np.cumsum(np.maximum(right - left, 0)) // MOST_PIXELS
        for part in np.unique(parts):
            rows = np.flatnonzero(parts == part)
            row, columns = _ranges(left[rows].astype(int), right[rows].astype(int))
            yield owner[rows][row], columns, y[rows][row]


def _ranges(first: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers from each first to before its stop: whose they are, and the numbers."""
    count = np.maximum(stop - first, 0)
    owner = np.repeat(np.arange(len(count)), count)
    return owner, np.arange(len(owner)) + (first - np.cumsum(count) + count)[owner]


def _rgb(text: str) -> np.ndarray:
    return np.array([int(text[k : k + 2], 16) for k in (1, 3, 5)]) / 255
