"""A motion in the world, whatever coordinates it came from: what one chart hands on to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class World:
    """Poses and twists of all bodies' frames, in world axes; leading axes are a batch.

    ``position``, ``velocity``, ``angular_velocity`` have the axes (…, body, 3), ``rotation`` has
    (…, body, 3, 3). ``carried`` are coordinates and speeds of what has its own in every chart:
    chains of cut joints, points of contact. ``turns`` are angles with all their turns, by name.
    """

    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    carried: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    turns: Mapping[str, np.ndarray] = field(default_factory=dict)
