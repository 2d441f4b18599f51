"""Robots of other programs' files: the same numbers as the programs that they were written for."""

from __future__ import annotations

import importlib.resources
import warnings
from functools import cache
from importlib.metadata import files
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from click.testing import CliRunner

import mechgraph as mg
from mechgraph.cli import main
from pinocchio_models import Twin

URDFS = sorted(
    Path(str(file.locate())).resolve()
    for file in files("example-robot-data") or ()
    if file.suffix == ".urdf"
)
EMPTY = {"ur3.urdf"}  # a robot without links
FLOATING = {
    "a1.urdf", "anymal.urdf", "b1.urdf", "bolt.urdf", "g1_29dof_rev_1_0.urdf", "go1.urdf",
    "go2.urdf", "hyq_no_sensors.urdf", "icub.urdf", "iris.urdf", "iris_simple.urdf",
    "laikago.urdf", "quadrotor_base.urdf",
    "romeo.urdf", "simple_humanoid.urdf", "solo12.urdf", "talos_full_v2.urdf",
}  # fmt: skip
WEIGHTLESS = {"romeo_laas_small.urdf"}  # its grippers
QUICK = {"panda.urdf", "go2.urdf", "double_pendulum_continuous.urdf", "kinova.urdf", "tiago.urdf"}


class Read(Twin):
    """A file as both programs read it."""

    def __init__(self, path: Path, floating: bool) -> None:
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.data = self.model.createData()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # limits, which are of no matter here
            self.system = mg.from_urdf(path, floating)
        self.mimics = bool(self.system.constraints)
        if floating:
            self.model.names[1] = "root joint"
        self.equations = self.system.equations()


def _listed(path: Path) -> list[pytest.param]:
    marks = [] if path.name in QUICK else [pytest.mark.slow]
    return pytest.param(path, marks=marks, id=f"{path.parents[1].name}/{path.name}")


@pytest.mark.parametrize("path", [_listed(p) for p in URDFS if p.name not in EMPTY])
def test_a_public_robot_is_pinocchios(path):
    twin = Read(path, floating=path.name in FLOATING)
    q, v = twin.state(1)
    B, rate, u = twin.speeds_of(q, v)
    own = twin.coordinates(q)
    M = pin.crba(twin.model, twin.data, q)
    M = np.triu(M) + np.triu(M, 1).T
    mine = B.T @ M @ B
    scale = np.abs(mine).max()
    np.testing.assert_allclose(twin.equations.mass_matrix(own), mine, rtol=1e-9, atol=1e-9 * scale)
    damping = np.diag(twin.model.damping)
    wanted = np.random.default_rng(2).normal(size=twin.model.nv)
    tau = pin.rnea(twin.model, twin.data, q, v, B @ wanted + rate @ u) + damping @ v
    f = twin.equations.mass_matrix(own) @ wanted - twin.equations.forces(own, u)
    np.testing.assert_allclose(f, B.T @ tau, rtol=1e-9, atol=1e-9 * np.abs(tau).max())
    if path.name in WEIGHTLESS:
        with pytest.raises(mg.ArgumentError, match="l_gripper_joint"):
            twin.equations.accelerations(own, u)
    elif not twin.mimics:
        found = twin.equations.accelerations(own, u)
        exact = pin.aba(twin.model, twin.data, q, v, -damping @ v)
        exact = np.linalg.solve(B, exact - rate @ u)
        np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-9 * np.abs(exact).max())


def test_what_a_urdf_says_of_its_joints(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    with pytest.warns(UserWarning, match="limits of joints"):
        arm = mg.from_urdf(path)
    assert any("friction" in each for each in arm.left_out)
    assert arm.equations().coordinates == ("ground", "slide")
    assert "slide mimics ground" in arm.constraints
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = mg.from_urdf(path, limits=True, friction=True)
    assert "ground limits" in arm.constraints
    assert not arm.left_out
    state = mg.from_urdf(path, limits=True, friction=True, gravity=(0, 0, 0)).equations()
    run = state.simulate(2.0, {"ground'": 1.0})
    assert run["ground"].max() == pytest.approx(0.3, abs=1e-6)


ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="ground"/>
  <link name="link"><inertial><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="ground" type="revolute"><parent link="ground"/><child link="link"/>
    <axis xyz="0 2 0"/><limit lower="-1" upper="0.3" effort="1" velocity="1"/>
    <dynamics damping="0.1" friction="0.01"/></joint>
  <joint name="slide" type="prismatic"><parent link="link"/><child link="tip"/>
    <axis xyz="0 0 1"/><mimic joint="ground" multiplier="0.5" offset="0.2"/></joint>
</robot>
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a URDF"),
        ("<robot/>", "not a URDF"),
        (ARM.replace('child link="tip"', 'child link="top"'), "top"),
        (ARM.replace('type="prismatic"', 'type="magnetic"'), "magnetic"),
        (ARM.replace('xyz="0 2 0"', 'xyz="0 0 0"'), "no direction"),
        (ARM.replace('child link="link"', 'child link="tip"'), "root link"),
    ],
)
def test_wrong_urdfs_are_told(tmp_path, text, told):
    path = tmp_path / "wrong.urdf"
    path.write_text(text)
    with pytest.raises(mg.ModelError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mg.from_urdf(path).equations()
    assert told in str(caught.value)
    with pytest.raises(mg.ArgumentError, match="no such file"):
        mg.from_urdf(tmp_path / "none.urdf")


# --- MuJoCo ---------------------------------------------------------------------------------------


@cache
def assets() -> Path:
    """Where gymnasium keeps its models of MuJoCo's."""
    return Path(str(importlib.resources.files("gymnasium"))) / "envs" / "mujoco" / "assets"


MODELS = sorted(path.name for path in assets().glob("*.xml"))


def _read(path: Path, **options: bool) -> mg.System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mg.from_mjcf(path, **options)


class MujocoTwin:
    """A file as MuJoCo and mechgraph read it; contacts, limits and friction are off."""

    def __init__(self, path: Path) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(path))
        off = mujoco.mjtDisableBit
        self.model.opt.disableflags |= (
            off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS | off.mjDSBL_EULERDAMP
        )
        self.model.opt.viscosity = self.model.opt.density = 0
        self.data = mujoco.MjData(self.model)
        self.system = _read(path)
        self.equations = self.system.equations()
        where = self.equations.terms.chart
        names = [self.model.joint(k).name or f"joint {k}" for k in range(self.model.njnt)]
        self.q_order = [k for name in names for k in where.joint_coordinates[name]]
        speeds = where.joint_speeds
        self.u_order = [k for name in names for k in speeds.get(f"{name}'", speeds.get(name, ()))]

    def state(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Our q and u, and inputs; MuJoCo is there, too."""
        random = np.random.default_rng(seed)
        self.data.qpos[:] = self.model.qpos0
        mujoco.mj_integratePos(
            self.model, self.data.qpos, random.uniform(-1, 1, self.model.nv), 1.0
        )
        self.data.qvel[:] = random.uniform(-1, 1, self.model.nv)
        self.data.ctrl[:] = random.uniform(-0.3, 0.3, self.model.nu)
        mujoco.mj_forward(self.model, self.data)
        q, u = np.zeros(self.model.nq), np.zeros(self.model.nv)
        q[self.q_order], u[self.u_order] = self.data.qpos, self.data.qvel
        return q, u, self.data.ctrl.copy()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_mujocos_moves_as_there(name):
    _moves_as_there(MujocoTwin(assets() / name))


def _moves_as_there(twin):
    q, u, w = twin.state(3)
    M = np.zeros((twin.model.nv, twin.model.nv))
    mujoco.mj_fullM(twin.model, twin.data, M) if _new() else mujoco.mj_fullM(
        twin.model, M, twin.data.qM
    )
    order = np.ix_(twin.u_order, twin.u_order)
    np.testing.assert_allclose(twin.equations.mass_matrix(q)[order], M, rtol=1e-9, atol=1e-12)
    inputs = dict(zip(twin.equations.inputs, w, strict=True)) if twin.equations.inputs else None
    forces = twin.equations.forces(q, u, inputs=inputs)
    found = np.linalg.solve(twin.equations.mass_matrix(q), forces)[twin.u_order]
    exact = twin.data.qacc_smooth  # of the tree
    np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-9 * np.abs(exact).max())


LOOP = """
<mujoco model="loop">
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="crank" pos="0 0 0">
      <joint name="a" type="hinge" axis="0 1 0" ref="0.3" armature="0.1"/>
      <inertial pos="0.5 0 0" mass="1" diaginertia="0.01 0.1 0.1"/>
      <body name="rod" pos="1 0 0">
        <joint name="b" type="hinge" axis="0 1 0" stiffness="3" springref="0.2"/>
        <inertial pos="1 0 0" mass="2" diaginertia="0.01 0.3 0.3"/></body></body>
    <body name="rocker" pos="2.5 0 0"><joint name="c" type="hinge" axis="0 1 0" damping="0.2"/>
      <inertial pos="0 0 0.7" mass="1.5" diaginertia="0.2 0.2 0.01"/>
      <site name="tip" pos="0 0 1.5" euler="0 30 0"/></body>
    <body name="wheel" pos="0 2 0"><joint name="d" type="hinge" axis="1 0 0"/>
      <joint name="e" type="slide" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
    <body name="ball" pos="0 -2 0"><joint name="f" type="ball" damping="0.3"/>
      <inertial pos="0.1 0 0" mass="1" diaginertia="1 2 2.5"/></body>
    <body name="held" pos="1 1 1"><freejoint name="g"/>
      <inertial pos="0 0 0.1" mass="1" diaginertia="1 1 1"/></body>
  </worldbody>
  <equality>
    <connect name="pin" body1="rod" body2="rocker" anchor="2 0 0"/>
    <joint name="law" joint1="d" joint2="a" polycoef="0.1 0.5 0.2 0 0"/>
    <joint name="gear" joint1="e" joint2="a" polycoef="0.1 0.5 0 0 0"/>
    <weld name="glue" body1="held" body2="wheel"/>
  </equality>
  <actuator><motor name="m" joint="a" gear="3"/>
    <position name="p" joint="b" kp="7" kv="0.5"/></actuator>
</mujoco>
"""


def test_equalities_close_loops_where_mujoco_has_them(tmp_path):
    path = tmp_path / "loop.xml"
    path.write_text(LOOP)
    twin = MujocoTwin(path)
    assert {"pin", "glue"} <= set(twin.system.joints)
    assert {"law", "gear"} <= set(twin.system.constraints)
    q, _ = twin.equations.assemble({"a": 0.9}, guess={"c": 0.4, "b": 0.5})
    twin.data.qpos[:] = q[twin.q_order]
    mujoco.mj_forward(twin.model, twin.data)
    rows = twin.data.efc_pos[: twin.data.ne]
    assert len(rows) == 3 + 1 + 1 + 6
    assert np.abs(rows).max() < 1e-9
    _moves_as_there(twin)


def _new() -> bool:
    """MuJoCo 4 takes the data where 3 took the matrix first."""
    return not hasattr(mujoco.MjData, "qM")


def test_the_command_line_tells_in_plain_words_what_is_left_out(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    shown = CliRunner().invoke(main, ["describe", str(path)])
    assert shown.exit_code == 0
    assert "Warning: arm: not all could be taken over" in shown.output
    assert "urdf.py" not in shown.output
