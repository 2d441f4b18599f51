"""Speeds of the user's own choice (quasi-velocities): joint coordinates, other speeds.

Each is linear in the speeds u_J of the joints, u = V(q, t) u_J + v(q, t), and takes the place of
one of them; those that are not replaced stay as they are. Then

    u_J = W u + w,    W = V⁻¹,    w = −W v,    u̇_J = W u̇ + c,    c = Ẇ u + ẇ,

and N = N_J W. Frames and bodies move with u_J as ever; what is differentiated with respect to u
(partial velocities, the energy of accelerations, rows of constraints) is so in the new speeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg
from casadi import SX

from ..errors import ModelError, unknown
from ..graph.rounding import is_rounding
from ..model.description import Description, derived_once
from ..model.speeds import Speed
from ..numerics.rank import dependent, rank, weighed_inverse
from .topology import topology
from .tree import TreeChart, TreeFrame, relative, tree_chart
from .turns import count_turns
from .variables import Variables, column_of

STATES = 3  # random configurations at which speeds are seen to determine the motion
BESIDE = (
    "a speed beside those of the system is an extra one of mg.compose(name, [system], speeds=…)"
)
SMALL = 3  # size up to which a matrix is inverted by its minors
MOVED = ("description", "topology", "body_frame", "body_pose", "chain_end", "closed", "flat",
    "joint_coordinates", "joint_speeds", "reference", "quaternion_speeds", "counted")  # fmt: skip


class SpeedChart(TreeChart):
    """The coordinates of the joints with other speeds; ``V``, ``v``, ``W``, ``w`` and ``c`` lead to
    those of the joints and back."""

    def __init__(
        self, joints: TreeChart, own_speeds: Mapping[str, int], V: SX, v: SX, W: SX
    ) -> None:
        vars(self).update({key: vars(joints)[key] for key in MOVED if key in vars(joints)})
        self._joints, self.V, self.v, self.W = joints, V, v, W
        self.own_speeds, self.replaced = own_speeds, frozenset(own_speeds.values())
        self.symbols = _rename(joints.symbols, own_speeds)
        self.w = ca.sparsify(-self.W @ self.v)
        self.N = joints.N @ self.W
        offset = joints.N @ self.w
        self.n = offset if joints.n is None else offset + joints.n
        self.frames = tuple(self._move_frame(frame) for frame in joints.frames)

    def _move_frame(self, frame: TreeFrame) -> TreeFrame:
        if not frame.speeds:
            return frame
        return replace(frame, relative=relative(*frame.S, self.joint_rates[list(frame.speeds)]))

    @cached_property
    def joint_rates(self) -> SX:
        """u_J = W u + w."""
        return ca.densify(self.W @ self.symbols.u + self.w)

    @property
    def joint_speed_names(self) -> tuple[str, ...]:
        return self.joints.symbols.speeds

    @cached_property
    def c(self) -> SX:
        """Ẇ u + ẇ in u̇_J = W u̇ + c."""
        return ca.densify(self.rate(self.joint_rates))

    @cached_property
    def joint_accelerations(self) -> SX:
        """u̇_J = W u̇ + c."""
        return self.W @ self.symbols.udot + self.c

    @property
    def _biased_joint_accelerations(self) -> SX | None:
        return self.c

    @property
    def condition(self) -> SX:
        return ca.sumsqr(self.V) * ca.sumsqr(self.W)

    @property
    def joints(self) -> TreeChart:
        return self._joints

    def speeds_of(self, joint_rates: SX) -> SX:
        return self.V @ joint_rates + self.v

    def along_speeds(self, efforts: SX) -> SX:
        return self.W.T @ efforts

    @property
    def working_speeds(self) -> SX:
        return self.symbols.u - self.v

    @property
    def tangent(self) -> SX:
        return self.joints.tangent

    @property
    def variations(self) -> tuple[str, ...]:
        return self.joints.variations

    @property
    def fixed_axes(self) -> Sequence[tuple[Any, tuple[int, ...], SX]]:
        return [found for found in super().fixed_axes if self.replaced.isdisjoint(found[1])]


@derived_once
def joint_chart(description: Description) -> TreeChart:
    """Coordinates of the joints of the spanning tree, and the speeds that the user chose; one chart
    for all who ask."""
    chart = count_turns(tree_chart(description, topology(description)))
    return _with_own_speeds(chart) if description.speeds else chart


def _with_own_speeds(joints: TreeChart) -> SpeedChart:
    """V has the rows of the user's speeds in the places of those that they replace."""
    u, values = joints.symbols.u, ca.vertcat(*_values(joints))
    rows = _drop_rounding(joints, ca.jacobian(values, u))
    places = _choose_replaced(joints, rows)
    V, v = SX.eye(u.numel()), SX(u.numel(), 1)
    V[places, :], v[places] = rows, ca.substitute(values, u, SX.zeros(u.numel()))
    V, own = ca.sparsify(V), dict(zip(joints.description.speeds, places, strict=True))
    return SpeedChart(joints, own, V, ca.sparsify(v), _inverse(V))


def _drop_rounding(chart: TreeChart, rows: SX) -> SX:
    """Rows of V without entries whose terms cancel, whatever the configuration is."""
    s, random = chart.symbols, np.random.default_rng(0)
    arguments, found = ca.vertcat(s.q, s.t, s.p), ca.vertcat(SX(0, 1), *rows.nonzeros())
    states = random.uniform(-1, 1, (STATES, arguments.numel()))
    count = len(s.coordinates)
    states[:, :count] = chart.scattered(random, STATES)
    states[:, count + 1 :] = s.defaults
    void = is_rounding(found, arguments, states)
    kept = [0 if gone else entry for gone, entry in zip(void, rows.nonzeros(), strict=True)]
    return ca.sparsify(SX(rows.sparsity(), ca.vertcat(SX(0, 1), *kept)))


def _rename(s: Variables, own: Mapping[str, int]) -> Variables:
    """Variables with new symbols for all speeds; coordinates, inputs and parameters are kept."""
    names = list(s.speeds)
    for name, k in own.items():
        names[k] = name
    rates = column_of([f"{name}'" for name in names])
    return replace(s, u=column_of(names), udot=rates, speeds=tuple(names))


# --- what the user says ---------------------------------------------------------------------------


def _values(chart: TreeChart) -> list[SX]:
    """The speeds as expressions of the joints' speeds, if they can be speeds."""
    found, problems = [], []
    for speed in chart.description.speeds.values():
        try:
            found.append(chart.motion.speed(speed.name))
            problems += _faults(chart, speed, found[-1])
        except ModelError as error:
            problems += error.problems
    if problems:
        raise ModelError(problems)
    return found


def _faults(chart: TreeChart, speed: Speed, value: SX) -> list[str]:
    s, slopes = chart.symbols, ca.jacobian(value, chart.symbols.u)
    carried = [k for name in chart.chain_end for k in chart.joint_speeds[name]]
    strangers = s.strangers(value)
    wrong = ""
    if strangers:
        wrong = f"uses {strangers[0]!r}, which is not a symbol of this system"
    elif ca.depends_on(value, s.udot):
        wrong = "must not use accelerations"
    elif ca.depends_on(value, s.w):
        wrong = "uses an input, which has no known rate"
    elif ca.depends_on(slopes, s.u):
        wrong = f"must be linear in the joints' speeds; use an output for what is not ({BESIDE})"
    elif slopes[:, carried].nnz():
        wrong = "uses a joint that is cut and carries its coordinates; cut another one"
    return [f"speed {speed.name!r}: {wrong}"] if wrong else []


# --- which speeds they replace --------------------------------------------------------------------


def _choose_replaced(chart: TreeChart, rows: SX) -> list[int]:
    """For each row of V the index of the joint's speed that it takes the place of: the one that the
    user names, else those that are left best determined, at the reference configuration if it
    can be."""
    speeds = list(chart.description.speeds.values())
    named = {i: _find_named(chart, speed) for i, speed in enumerate(speeds) if speed.replaces}
    carried = {k for name in chart.chain_end for k in chart.joint_speeds[name]}
    free = [k for k in range(rows.shape[1]) if k not in carried and k not in named.values()]
    found: list[list[int]] = []
    for V in sample(chart, rows):
        rest = [i for i in range(len(speeds)) if i not in named]
        left = _eliminate(V, list(named), list(named.values()))
        *_, order = scipy.linalg.qr(left[np.ix_(rest, free)], mode="economic", pivoting=True)
        taken = sorted(free[k] for k in order[: len(rest)])
        places = {**named, **dict(zip(rest, taken, strict=False))}
        if len(places) == len(speeds):
            columns = [places[i] for i in range(len(speeds))]
            found += [columns] if rank(V[:, columns]) == len(speeds) else []
    if not found:
        raise ModelError(_explain(chart, rows, named))
    return found[0]


def _find_named(chart: TreeChart, speed: Speed) -> int:
    known = [name for name, where in chart.joint_speeds.items() if len(where) == 1]
    known = [name for name in known if name in chart.symbols.speeds]
    if speed.replaces not in known:
        problem = unknown("speed of a joint", str(speed.replaces), known)
        raise ModelError(f"speed {speed.name!r}: replaces: {problem}")
    return chart.joint_speeds[speed.replaces][0]


def sample(chart: TreeChart, rows: SX) -> list[np.ndarray]:
    """A matrix at the reference configuration and at random ones, with the parameters' defaults."""
    s, random = chart.symbols, np.random.default_rng(0)
    function = ca.Function("V", [s.q, s.t, s.p], [ca.densify(rows)])
    places = [np.array(chart.reference), *chart.scattered(random, STATES)]
    found = [np.array(function(q, 0.0, list(s.defaults))) for q in places]
    return [V for V in found if np.isfinite(V).all()]


def _eliminate(V: np.ndarray, rows: list[int], columns: list[int]) -> np.ndarray:
    """V after the named speeds are eliminated: what the others are left to determine."""
    if not rows:
        return V
    inverse = weighed_inverse(V[np.ix_(rows, columns)])
    return np.asarray(V - V[:, columns] @ inverse @ V[rows])


def _explain(chart: TreeChart, rows: SX, named: dict[int, int]) -> list[str]:
    """Message on speeds that leave something of the motion open."""
    names = list(chart.description.speeds)
    V = max(sample(chart, rows), key=rank)
    for i in np.flatnonzero(dependent(V)):
        if not V[i].any():
            return [f"speed {names[i]!r}: does not depend on the speed of any joint"]
        others = ", ".join(map(repr, names[:i])) or "constants"
        return [
            f"speed {names[i]!r}: follows from {others}, so that these speeds do not determine the "
            f"motion; leave it out, or choose another one ({BESIDE})"
        ]
    listed = ", ".join(f"{names[i]!r} for {chart.symbols.speeds[k]!r}" for i, k in named.items())
    return [
        f"speeds: {listed}: without the speeds that are replaced, these do not determine the "
        "motion; replace others, or leave the choice open"
    ]


# --- W --------------------------------------------------------------------------------------------


def _inverse(V: SX) -> SX:
    """W = V⁻¹, block after block of its triangular form: those are small, and what they hold is
    short."""
    count, rows, columns, first_row, first_column, *_ = V.sparsity().btf()
    W, one = SX(*V.shape), SX.eye(V.shape[0])
    for k in range(count):
        own_rows = rows[first_row[k] : first_row[k + 1]]
        known, own = columns[: first_column[k]], columns[first_column[k] : first_column[k + 1]]
        block = ca.densify(V[own_rows, own])
        inverse = (ca.inv_minor if len(own) <= SMALL else ca.inv)(block)
        W[own, :] = inverse @ (one[own_rows, :] - V[own_rows, known] @ ca.sparsify(W[known, :]))
    return ca.sparsify(W)
