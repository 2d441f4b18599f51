"""What rollouts return: many trajectories at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..equations import Equations


@dataclass(frozen=True, eq=False, repr=False)
class Rollouts:
    """Trajectories: ``q`` and ``u`` have axes (trajectory, time, variable).

    ``runs["elbow"]`` is one quantity of all of them, by any name that a ``Trajectory`` takes which
    depends on neither inputs nor parameters. A trajectory that runs away ends in numbers that are
    not finite. ``tier`` says what computed them.
    """

    time: np.ndarray
    q: np.ndarray
    u: np.ndarray
    equations: Equations
    tier: str
    further: Mapping[str, np.ndarray] = field(default_factory=dict)  # states of controllers

    def __getitem__(self, name: str) -> np.ndarray:
        if isinstance(name, str) and name in self.further:
            return self.further[name]
        quantity = self.equations.names.resolve(name)
        if quantity.coordinates:
            values = self.q[..., list(quantity.coordinates)]
        elif quantity.speeds:
            values = self.u[..., list(quantity.speeds)]
        else:
            values = self.equations.observe(name, self.q, self.u, self.time)
        return values[..., 0] if values.shape[-1] == 1 else values

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} … {self.time[-1]:g} s, {len(self.time)} times"
        name = self.equations.terms.name
        return f"<Rollouts of {name!r}: {len(self)} trajectories, {span}, by {self.tier}>"
