"""The same system told to MuJoCo: an independent program as judge of accelerations.

What MuJoCo can express: trees of hinges, slides, balls and free bodies without drives, springs in
joints and between points (tendons), and forces. Several joints of one MuJoCo body move it one after
the other, so a chain of transitions P·X₁(x₁)·X₂(x₂)…·C⁻¹ is T₀·exp(s₁ x₁)·exp(s₂ x₂)… with T₀ its
pose at x = 0 and sᵢ the axis of step i seen in the body there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import mujoco
import numpy as np

import mechgraph as mg
from mechgraph.model.forces import (
    BodyTorque,
    JointSpring,
    JointTorque,
    PointForce,
    Rotor,
    SpringDamper,
)
from mechgraph.model.transitions import Ball, Rotation, Transition, Translation
from random_systems import Build, Drag, State

KINDS = (
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
    "free",
    "fixed",
    "chain",
)

Pose = tuple[np.ndarray, np.ndarray]


@dataclass
class Degree:
    """How a joint's speeds (indices in u) map to MuJoCo's: v = B u, and its place in qpos."""

    name: str
    speeds: list[int]
    B: Any  # function of q
    position: Any  # q → qpos of this joint


@dataclass
class Oracle:
    """A MuJoCo model of a system."""

    build: Build
    equations: mg.Equations
    degrees: list[Degree] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.system = self.build.system
        self.model = mujoco.MjModel.from_xml_string(self._xml())
        self.data = mujoco.MjData(self.model)

    # --- the model --------------------------------------------------------------------------------

    def _xml(self) -> str:
        bodies: dict[str, list[str]] = {"ground": []}
        arcs = self.equations.terms.chart.topology.arcs
        for arc in arcs:
            bodies[arc.outboard] = self._body(arc)
        sites = {
            name: f'<site name="{name}" pos="{_row(m.at)}"/>'
            for name, m in self.system.markers.items()
        }
        for name, marker in self.system.markers.items():
            bodies[marker.body.name].append(sites[name])
        for arc in reversed(arcs):
            bodies[arc.inboard] += [*bodies.pop(arc.outboard), "</body>"]
        return f"""<mujoco><compiler angle="radian" balanceinertia="false"/>
            <option gravity="{_row(self.system.gravity)}">
                <flag constraint="disable" contact="disable"/>
            </option>
            <worldbody>{" ".join(bodies["ground"])}</worldbody>
            <tendon>{" ".join(self._tendons())}</tendon></mujoco>"""

    def _body(self, arc: Any) -> list[str]:
        joint, body = arc.joint, self.system.bodies[arc.outboard]
        near, far = (joint.child, joint.parent) if arc.reversed else (joint.parent, joint.child)
        steps = list(self._steps(joint, arc.reversed))
        R, d = self._pose(near)
        for step, *_ in steps:
            R, d = _then((R, d), _constant(step))
        R, d = _then((R, d), _inverse(self._pose(far)))
        inertia = self._value(body.inertia)
        full = " ".join(
            repr(float(inertia[k])) for k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        )
        lines = [f'<body name="{body.name}" pos="{_row(d)}" quat="{_row(_quaternion(R))}">']
        lines.append(
            f'<inertial pos="{_row(body.com)}" mass="{float(self._value(body.mass).item())!r}" '
            f'fullinertia="{full}"/>'
        )
        if self._is_free(joint, arc):
            return [*lines, self._free(joint, near)]
        tail: Pose = _inverse(self._pose(far))
        tags: list[str] = []
        for step, q, u in reversed(steps):
            if u:
                tags.insert(0, self._joint(joint, step, q, u, _inverse(tail)))
            tail = _then(_constant(step), tail)
        return lines + tags

    def _steps(
        self, joint: mg.Joint, backwards: bool
    ) -> list[tuple[Transition, list[int], list[int]]]:
        k = self.equations.terms.chart
        qs, us = iter(k.joint_coordinates[joint.name]), iter(k.joint_speeds[joint.name])
        steps = [
            (
                step,
                [next(qs) for _ in step.coordinates] if step.moves else [],
                [next(us) for _ in step.speeds] if step.moves else [],
            )
            for step in joint.transitions
        ]
        return [(step.reversed(), q, u) for step, q, u in reversed(steps)] if backwards else steps

    def _joint(
        self, joint: mg.Joint, step: Transition, q: list[int], u: list[int], place: Pose
    ) -> str:
        """A MuJoCo joint at ``place``: the frame after the step, seen from the body at x = 0."""
        name, (R, d) = f"{joint.name} {u[0]}", place
        if isinstance(step, Ball):
            self.degrees.insert(0, _ball_degree(name, step, q, u, R))
            return f'<joint name="{name}" type="ball" pos="{_row(d)}"/>'
        kind = "hinge" if isinstance(step, Rotation) else "slide"
        self.degrees.append(Degree(name, u, lambda _: np.eye(1), lambda state: state[q]))
        where = f'pos="{_row(d)}" axis="{_row(R @ _column(step.direction))}"'
        fitted = f"{self._spring(joint, u)} {self._rotor(joint)}"
        return f'<joint name="{name}" type="{kind}" {where} {fitted}/>'

    def _rotor(self, joint: mg.Joint) -> str:
        force = self.system.forces.get(f"{joint.name} rotor")
        return f'armature="{float(force.inertia)!r}"' if isinstance(force, Rotor) else ""

    def _spring(self, joint: mg.Joint, u: list[int]) -> str:
        force = self.system.forces.get(f"{joint.name} spring")
        if not isinstance(force, JointSpring):
            return ""
        i = self.equations.terms.chart.joint_speeds[joint.name].index(u[0])
        k, c, rest = (float(_column(x)[i]) for x in (force.stiffness, force.damping, force.rest))
        return f'stiffness="{k!r}" damping="{c!r}" springref="{rest!r}"'

    def _is_free(self, joint: mg.Joint, arc: Any) -> bool:
        plain = np.allclose(self._pose(joint.child)[0], np.eye(3)) and not np.any(
            self._pose(joint.child)[1]
        )
        return (
            len(joint.speeds) == 6
            and len(joint.coordinates) == 7
            and arc.inboard == "ground"
            and not arc.reversed
            and plain
        )

    def _free(self, joint: mg.Joint, near: mg.Marker) -> str:
        R, d = self._pose(near)
        k = self.equations.terms.chart
        q, u = list(k.joint_coordinates[joint.name]), list(k.joint_speeds[joint.name])
        B = np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), np.eye(3)]])
        turn = _quaternion(R)
        self.degrees.append(
            Degree(
                joint.name,
                u,
                lambda _: B,
                lambda s: np.concatenate([d + R @ s[q[:3]], _product(turn, s[q[3:]])]),
            )
        )
        return f'<freejoint name="{joint.name}"/>'

    def _tendons(self) -> list[str]:
        return [
            _tendon(force)
            for force in self.system.forces.values()
            if isinstance(force, SpringDamper)
        ]

    # --- the motion -------------------------------------------------------------------------------

    def accelerations(self, state: State) -> np.ndarray:
        """u̇ by MuJoCo, in the speeds of the system."""
        model, data = self.model, self.data
        maps = [(self._addresses(degree), degree, degree.B(state.q)) for degree in self.degrees]
        for (at, dof), degree, B in maps:
            position = degree.position(state.q)
            data.qpos[at : at + len(position)] = position
            data.qvel[dof : dof + len(B)] = B @ state.u[degree.speeds]
        data.qfrc_applied[:], data.xfrc_applied[:] = 0, 0
        mujoco.mj_forward(model, data)
        self._load(state, maps)
        mujoco.mj_forward(model, data)
        udot = np.zeros(model.nv)
        for (_, dof), degree, B in maps:
            udot[degree.speeds] = np.linalg.solve(B, data.qacc[dof : dof + len(B)])
        return udot

    def positions(self) -> dict[str, Pose]:
        return {
            name: (self.data.body(name).xmat.reshape(3, 3), self.data.body(name).xpos)
            for name in self.system.bodies
        }

    def _addresses(self, degree: Degree) -> tuple[int, int]:
        index = self.model.joint(degree.name).id
        return int(self.model.jnt_qposadr[index]), int(self.model.jnt_dofadr[index])

    def _load(self, state: State, maps: list) -> None:
        efforts = np.zeros(self.model.nv)
        for force in self.system.forces.values():
            if isinstance(force, JointTorque):
                names = self.equations.terms.chart.joint_speeds
                indices = list(names.get(force.joint, names.get(f"{force.joint}'", ())))
                efforts[indices] += self._value(_stacked(force.value), state).ravel()
            elif isinstance(force, PointForce):
                self._push(force, state)
        for (_, dof), degree, B in maps:
            self.data.qfrc_applied[dof : dof + len(B)] = np.linalg.solve(
                B.T, efforts[degree.speeds]
            )

    def _push(self, force: PointForce, state: State) -> None:
        body = self.data.body(force.at.body.name)
        R = body.xmat.reshape(3, 3)
        if isinstance(force.value, Drag):
            velocity = np.zeros(6)
            mujoco.mj_objectVelocity(
                self.model, self.data, mujoco.mjtObj.mjOBJ_XBODY, body.id, velocity, 0
            )
            vector = -force.value.factor * velocity[3:]
        else:
            vector = self._value(force.value, state).ravel()
        vector = R @ vector if force.frame == "body" else vector
        applied = self.data.xfrc_applied[body.id]
        if isinstance(force, BodyTorque):
            applied[3:] += vector
        else:
            applied[:3] += vector
            applied[3:] += np.cross(body.xpos - body.xipos, vector)

    # --- numbers ----------------------------------------------------------------------------------

    def _value(self, expression: Any, state: State | None = None) -> np.ndarray:
        s = self.equations.terms.symbols
        function = ca.Function("f", [s.t, s.w, s.p], [ca.densify(ca.SX(expression))])
        t, w, p = (
            (0.0, np.zeros(len(self.equations.inputs)), None)
            if state is None
            else (state.t, state.inputs, state.parameters)
        )
        return np.array(function(t, w, list((p or self.system.defaults).values())))

    def _pose(self, marker: mg.Marker) -> Pose:
        return self._value(marker.rotation), self._value(marker.at).ravel()


def _tendon(spring: SpringDamper) -> str:
    k, c, length = (float(x) for x in (spring.stiffness, spring.damping, spring.length))
    ends = f'<site site="{spring.a.name}"/><site site="{spring.b.name}"/>'
    law = f'stiffness="{k!r}" damping="{c!r}" springlength="{length!r} {length!r}"'
    return f"<spatial {law}>{ends}</spatial>"


def _stacked(value: Any) -> Any:
    return ca.vertcat(*value) if isinstance(value, (list, tuple)) else value


def _ball_degree(name: str, step: Ball, q: list[int], u: list[int], R: np.ndarray) -> Degree:
    """In the body's axes the ball's quaternion is R∘x∘R⁻¹, and its angular velocity R ω (−R R(x) ω
    walked backwards)."""
    turn = _quaternion(R)

    def x(state: np.ndarray) -> np.ndarray:
        return state[q] * ([1, -1, -1, -1] if step.inverse else [1, 1, 1, 1])

    def B(state: np.ndarray) -> np.ndarray:
        return -R @ _matrix(state[q]) if step.inverse else R

    return Degree(
        name, u, B, lambda state: _product(_product(turn, x(state)), turn * [1, -1, -1, -1])
    )


def _constant(step: Transition) -> Pose:
    """The pose of a step at x = 0 (coordinates) or at its amount (constants)."""
    amount = 0.0 if step.moves else float(step.amount)  # type: ignore[arg-type]
    if isinstance(step, Ball):
        return np.eye(3), np.zeros(3)
    e = _column(step.direction)  # type: ignore[attr-defined]
    turning = 0.0 if isinstance(step, Translation) else amount
    shift = amount if isinstance(step, Translation) else amount * float(getattr(step, "pitch", 0.0))
    W = np.array([[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])
    return np.eye(3) + np.sin(turning) * W + (1 - np.cos(turning)) * W @ W, shift * e


def _then(a: Pose, b: Pose) -> Pose:
    return a[0] @ b[0], a[1] + a[0] @ b[1]


def _inverse(a: Pose) -> Pose:
    return a[0].T, -(a[0].T @ a[1])


def _column(vector: Any) -> np.ndarray:
    return np.array(ca.DM(ca.densify(ca.SX(vector)))).ravel()


def _row(vector: Any) -> str:
    values = vector if isinstance(vector, np.ndarray) else _column(vector)
    return " ".join(repr(float(x)) for x in values)


def _quaternion(R: np.ndarray) -> np.ndarray:
    out = np.zeros(4)
    mujoco.mju_mat2Quat(out, np.ascontiguousarray(R).ravel())
    return out


def _matrix(q: np.ndarray) -> np.ndarray:
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, np.asarray(q, dtype=float))
    return out.reshape(3, 3)


def _product(a: Any, b: Any) -> np.ndarray:
    out = np.zeros(4)
    mujoco.mju_mulQuat(out, np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    return out
