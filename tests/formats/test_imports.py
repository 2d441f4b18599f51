"""Robots of other programs' files: the same numbers as the programs that they were written for."""

from __future__ import annotations

import importlib.resources
import importlib.util
import re
import warnings
from functools import cache
from importlib.metadata import files
from pathlib import Path
from xml.etree import ElementTree

import casadi as ca
import mujoco
import numpy as np
import pinocchio as pin
import pytest
from click.testing import CliRunner
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph.cli import main
from mechgraph.formats.model_files import model_file
from mechgraph.show.rasteriser import Stage
from mechgraph.show.scene import scene_of
from mechgraph.show.shapes import coarsen
from pinocchio_models import Twin

URDFS = sorted(
    Path(str(file.locate())).resolve()
    for file in files("example-robot-data") or ()
    if file.suffix == ".urdf"
)
EMPTY = {"ur3.urdf"}  # it has neither links nor a name
FLOATING = {
    "a1.urdf", "anymal.urdf", "b1.urdf", "bolt.urdf", "g1_29dof_rev_1_0.urdf", "go1.urdf",
    "go2.urdf", "hyq_no_sensors.urdf", "icub.urdf", "iris.urdf", "iris_simple.urdf",
    "laikago.urdf", "quadrotor_base.urdf",
    "romeo.urdf", "simple_humanoid.urdf", "solo12.urdf", "talos_full_v2.urdf",
}  # fmt: skip
# hands that weigh nothing: accelerations are not determined
WEIGHTLESS = {"romeo_laas_small.urdf": "l_gripper_joint", "romeo.urdf": "LFinger"}
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
        with pytest.raises(mg.ArgumentError, match=WEIGHTLESS[path.name]):
            twin.equations.accelerations(own, u)
    else:
        found = twin.equations.accelerations(own, u)
        exact = pin.aba(twin.model, twin.data, q, v, -damping @ v)
        exact = _coupled(path, twin, mine, np.linalg.solve(B, exact - rate @ u))
        np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-9 * np.abs(exact).max())


def _coupled(path, twin, M, free):
    """Accelerations of least constraint (Gauss), u̇ = free + M⁻¹Aᵀ(A M⁻¹Aᵀ)⁺(−A free), with a row
    in A for each mimic joint of the file."""
    rows = []
    for mimic in ElementTree.parse(path).getroot().findall("joint/mimic/.."):
        one, other = mimic.get("name"), mimic.find("mimic").get("joint")
        if {one, other} <= {*twin.model.names}:  # there are hands that mimic what is not there
            row = np.zeros(len(free))
            row[_speed(twin, one)] = 1
            row[_speed(twin, other)] = -float(mimic.find("mimic").get("multiplier", 1))
            rows.append(row)
    A = np.reshape(rows, (-1, len(free)))
    back = np.linalg.solve(M, A.T)
    return free - back @ np.linalg.lstsq(A @ back, A @ free, rcond=1e-12)[0]


def _speed(twin, joint):
    return twin.speed_order[twin.model.joints[twin.model.getJointId(joint)].idx_v]


@pytest.mark.parametrize("path", [p for p in URDFS if p.name in EMPTY], ids=lambda p: p.name)
def test_a_file_without_a_robot_is_refused_as_by_pinocchio(path):
    with pytest.raises(ValueError, match="does not contain a valid URDF"):
        pin.buildModelFromUrdf(str(path))
    with pytest.raises(mg.ModelError, match="describes no links"):
        mg.from_urdf(path)


def test_what_a_urdf_says_of_its_joints(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    with pytest.warns(UserWarning, match="limits of joints"):
        arm = mg.from_urdf(path)
    assert any("friction" in each for each in arm.left_out)
    assert arm.equations().coordinates == ("ground", "slide")
    assert "slide mimics ground" in arm.constraints
    path.write_text(ARM.replace('mimic joint="ground"', 'mimic joint="grund"'))
    with pytest.warns(UserWarning, match=r"slide \(prismatic\) mimics grund \(not there\)"):
        assert not mg.from_urdf(path).constraints
    path.write_text(ARM)
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
        ("<robot/>", "wrong: the file describes no links"),
        (ARM.replace('child link="tip"', 'child link="top"'), "top"),
        (ARM.replace('type="prismatic"', 'type="magnetic"'), "magnetic"),
        (ARM.replace('xyz="0 2 0"', 'xyz="0 0 0"'), "no direction"),
        (
            ARM.replace('child link="link"', 'child link="tip"'),
            ".urdf: a URDF file has one root link",
        ),
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


XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="m" value="2"/>
  <xacro:macro name="bar" params="name">
    <link name="${name}"><inertial><mass value="${2*m}"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></xacro:macro>
  <xacro:bar name="base"/><xacro:bar name="tip"/>
  <joint name="j" type="continuous"><parent link="base"/><child link="tip"/></joint>
</robot>"""


def test_xacro_is_expanded_if_its_package_is_there(tmp_path):
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(XACRO)
    if importlib.util.find_spec("xacro") is None:
        with pytest.raises(mg.ArgumentError, match="pip install xacro"):
            mg.from_urdf(path)
        return
    assert float(mg.from_urdf(path).bodies["tip"].mass) == 4.0
    assert mg.gallery.load_file(path).system().equations().coordinates == ("j",)
    path.write_text(XACRO.replace("2*m", "2*k"))
    with pytest.raises(mg.ModelError, match="name 'k' is not defined"):
        mg.from_urdf(path)


# --- SDF ------------------------------------------------------------------------------------------

SDFS = sorted(
    Path(str(file.locate())).resolve()
    for file in files("example-robot-data") or ()
    if file.suffix == ".sdf"
)
POSE = '<pose relative_to="{}" rotation_format="quat_xyzw">{}</pose>'


def _plain_numbers(values) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def _as_sdf(path: Path, relative: bool) -> str:
    """A URDF in SDF: with poses relative to each other, or in the words of old versions, in which
    links are placed in the model and axes may be, too."""
    root = ElementTree.parse(path).getroot()
    joints = {joint.find("child").get("link"): joint for joint in root.findall("joint")}

    def at(link: str) -> np.ndarray:
        joint = joints.get(link)
        return np.eye(4) if joint is None else at(joint.find("parent").get("link")) @ _origin(joint)

    parts = []
    for link in root.findall("link"):
        name, own = link.get("name"), link.find("inertial")
        base = joints[name].get("name") if name in joints else "__model__"
        euler = Rotation.from_matrix(at(name)[:3, :3]).as_euler("xyz")
        old = f"<pose>{_plain_numbers([*at(name)[:3, 3], *euler])}</pose>"
        inertia = ""
        if own is not None:
            moments = own.find("inertia").attrib.items()
            inertia = "".join(f"<{key}>{value}</{key}>" for key, value in moments)
            inertia = f"<inertia>{inertia}</inertia><mass>{own.find('mass').get('value')}</mass>"
            inertia += POSE.format("", _seven(_origin(own)))
        pose = POSE.format(base, "0 0 0 0 0 0 1") if relative else old
        weight = inertia or "<mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia>"
        parts.append(f'<link name="{name}">{pose}<inertial>{weight}</inertial></link>')
    for joint in root.findall("joint"):
        parent, child = (joint.find(word).get("link") for word in ("parent", "child"))
        axis = joint.find("axis")
        given = np.array([1.0, 0, 0] if axis is None else axis.get("xyz").split(), dtype=float)
        turned = _plain_numbers(given if relative else at(child)[:3, :3] @ given)
        frame = "" if relative else "<use_parent_model_frame>1</use_parent_model_frame>"
        dynamics = joint.find("dynamics")
        damping = "0" if dynamics is None else dynamics.get("damping", "0")
        inside = f"<xyz>{turned}</xyz>{frame}<dynamics><damping>{damping}</damping></dynamics>"
        pose = POSE.format(parent, _seven(_origin(joint))) if relative else ""
        parts.append(
            f'<joint name="{joint.get("name")}" type="{joint.get("type")}">{pose}<axis>{inside}'
            f"</axis><parent>{parent}</parent><child>{child}</child></joint>"
        )
    (base,) = {link.get("name") for link in root.findall("link")} - {*joints}
    parts.append(
        f'<joint name="held" type="fixed"><parent>world</parent><child>{base}</child></joint>'
    )
    version = "1.9" if relative else "1.6"
    return f'<sdf version="{version}"><model name="robot">{"".join(parts)}</model></sdf>'


def _origin(element) -> np.ndarray:
    origin, out = element.find("origin"), np.eye(4)
    if origin is not None:
        turns, place = (origin.get(key, "0 0 0").split() for key in ("rpy", "xyz"))
        out[:3, :3] = Rotation.from_euler("xyz", np.array(turns, float)).as_matrix()
        out[:3, 3] = np.array(place, float)
    return out


def _seven(pose: np.ndarray) -> str:
    return _plain_numbers([*pose[:3, 3], *Rotation.from_matrix(pose[:3, :3]).as_quat()])


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("name", ["kinova.urdf", "panda.urdf", "double_pendulum_continuous.urdf"])
def test_a_robot_in_sdf_is_that_in_urdf(name, relative, tmp_path):
    (urdf,) = (path for path in URDFS if path.name == name)
    path = tmp_path / "robot.sdf"
    path.write_text(_as_sdf(urdf, relative))
    robots = [_of_file(mg.from_urdf, urdf), _of_file(mg.from_sdf, path)]
    robots[1].gravity = (0, 0, -9.81)
    one, other = (robot.equations() for robot in robots)
    assert one.coordinates == other.coordinates
    q, u, udot = np.random.default_rng(3).uniform(-1, 1, (3, len(one.coordinates)))
    for found, exact in (
        (other.mass_matrix(q), one.mass_matrix(q)),
        (other.efforts(q, u, udot), one.efforts(q, u, udot)),
        *((other.position(body, q), one.position(body, q)) for body in robots[0].bodies),
    ):
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())


@pytest.mark.parametrize("path", SDFS, ids=lambda path: path.name)
def test_a_public_robot_in_sdf_has_closed_loops(path):
    """Cassie: its loops are closed where the file shows it, and move as the mobility says."""
    with pytest.warns(UserWarning, match="not all could be taken over"):
        robot = mg.from_sdf(path)
    equations = robot.equations()
    assert len(robot.topology().cut) in (4, 6)
    q = np.array(equations.terms.chart.reference)
    assert np.abs(equations.position_violation(q)).max() < 1e-12
    assert robot.snapshot().visuals
    total = sum(float(body.mass) for body in robot.bodies.values())
    said = [float(each.text) for each in ElementTree.parse(path).getroot().iter("mass")]
    assert total == pytest.approx(sum(said), rel=1e-12)


ROD = """<sdf version="1.9"><world name="w"><gravity>0 0 -3.7</gravity><model name="m">
  <pose degrees="true">1 0 2 0 0 90</pose>
  <link name="rod"><pose relative_to="tip">0 0 -1 0 0 0</pose><inertial><mass>2</mass></inertial>
    </link><link name="bob"><pose>3 0 0 0 0 0</pose><gravity>false</gravity></link>
  <frame name="tip" attached_to="rod"><pose relative_to="__model__">0 0 1 0.3 0 0</pose></frame>
  <joint name="hook" type="universal"><parent>world</parent><child>rod</child>
    <axis><xyz expressed_in="__model__">0 1 0</xyz></axis><axis2><xyz>1 0 0</xyz></axis2></joint>
  <joint name="slide" type="prismatic"><parent>tip</parent><child>bob</child><axis><xyz>0 0 1</xyz>
    <limit><lower>-1</lower></limit><dynamics><spring_stiffness>5</spring_stiffness>
    <spring_reference>0.1</spring_reference><friction>0.2</friction></dynamics></axis></joint>
</model></world></sdf>"""


def test_what_an_sdf_says(tmp_path):
    path = tmp_path / "rod.sdf"
    path.write_text(ROD)
    with pytest.warns(UserWarning, match=r"no mass of the link 'bob': SDF has it weigh 1 kg"):
        rod = mg.from_sdf(path, limits=True, friction=True)
    assert {"slide limits", "slide friction"} <= {*rod.constraints, *rod.forces}
    eqs = rod.equations()
    assert eqs.coordinates == ("hook.1", "hook.2", "slide")
    assert float(rod.gravity[2]) == -3.7
    np.testing.assert_allclose(eqs.position("tip", [0, 0, 0]), (1, 0, 3), atol=1e-12)
    np.testing.assert_allclose(eqs.position("bob", [0, 0, 0]), (1, 3, 2), atol=1e-12)
    turned = eqs.rotation("rod", [0.2, 0, 0]) @ eqs.rotation("rod", [0, 0, 0]).T
    np.testing.assert_allclose(turned @ (-1, 0, 0), (-1, 0, 0), atol=1e-12)  # y of the model
    weight = eqs.forces([0, 0, 0.1], [0, 0, 0])[2]  # of the bob along the slide, but it has none
    assert weight == pytest.approx(0, abs=1e-12)
    assert mg.gallery.load_file(path, floating=False).system().equations().coordinates
    for old, new, told in (
        ('type="prismatic"', 'type="magnetic"', "joint 'slide': unknown type 'magnetic'"),
        ("<parent>tip</parent>", "<parent>top</parent>", "joint 'slide': unknown parent 'top'"),
        ('relative_to="__model__"', 'relative_to="rod"', "relative to itself"),
        ("0 0 -1 0 0 0", "0 0 -1", "expected 6 numbers"),
        ("</link>", "</link><include/>", "models inside of models"),
        ('<model name="m">', '<model name="n"/><model name="m">', "the file has 'n', 'm'"),
        ("<mass>2</mass>", "<mass>two</mass>", "link 'rod': expected a number, got 'two'"),
        ("sdf", "sfd", "its root is <sfd>"),
    ):
        path.write_text(ROD.replace(old, new))
        with pytest.raises(mg.ModelError, match=re.escape(told)), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mg.from_sdf(path)


# --- MuJoCo ---------------------------------------------------------------------------------------


@cache
def assets() -> Path:
    """Where gymnasium keeps its models of MuJoCo's."""
    return Path(str(importlib.resources.files("gymnasium"))) / "envs" / "mujoco" / "assets"


MODELS = sorted(path.name for path in assets().glob("*.xml"))


def _read(path: Path, **options: object) -> mg.System:
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
        self.system = _read(path, contacts="none")
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
    M = _mass_matrix(twin)
    order = np.ix_(twin.u_order, twin.u_order)
    np.testing.assert_allclose(twin.equations.mass_matrix(q)[order], M, rtol=1e-9, atol=1e-12)
    inputs = dict(zip(twin.equations.inputs, w, strict=True)) if twin.equations.inputs else None
    forces = twin.equations.forces(q, u, inputs=inputs)
    found = np.linalg.solve(twin.equations.mass_matrix(q), forces)[twin.u_order]
    exact = twin.data.qacc_smooth  # of the tree
    np.testing.assert_allclose(found, exact, rtol=1e-8, atol=1e-9 * np.abs(exact).max())


def _mass_matrix(twin):
    M = np.zeros((twin.model.nv, twin.model.nv))
    last = (twin.data, M) if _new() else (M, twin.data.qM)
    mujoco.mj_fullM(twin.model, *last)
    return M


def test_the_model_in_mujocos_own_wheel():
    """A list tells all that has no counterpart; the rest is as there."""
    path = Path(mujoco.__file__).parent / "testdata" / "model.xml"
    twin = MujocoTwin(path)
    told = " ".join(twin.system.left_out)
    for part in ("ball joint 'wheel_0'", "tendon 'spatial'", "of the fluid", "actuator 'actuator"):
        assert part in told
    ball = twin.model.joint("wheel_0").dofadr[0]
    twin.model.dof_armature[ball : ball + 3] = 0
    q, _, _ = twin.state(3)
    M = _mass_matrix(twin)
    order = np.ix_(twin.u_order, twin.u_order)
    np.testing.assert_allclose(twin.equations.mass_matrix(q)[order], M, rtol=1e-9, atol=1e-12)


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
    <body name="rocker" pos="2.5 0 0" gravcomp="0.6">
      <joint name="c" type="hinge" axis="0 1 0" damping="0.2"/>
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
    <position name="p" joint="b" kp="7" kv="0.5" ctrlrange="-0.1 0.1"/>
    <position name="w" tendon="both" kp="3" gear="2"/></actuator>
  <tendon><fixed name="both" stiffness="5" damping="0.4" springlength="-0.1 0.2">
    <joint joint="a" coef="2"/><joint joint="c" coef="-0.5"/></fixed>
    <fixed name="idle"><joint joint="a" coef="1"/></fixed></tendon>
</mujoco>
"""


GLUE, PIN = (
    '<weld name="glue" body1="held" body2="wheel"',
    'body1="rod" body2="rocker" anchor="2 0 0"',
)
SITES = {
    PIN: 'site1="end" site2="tip"',
    GLUE: '<weld name="glue" site1="one" site2="two"',
    '<inertial pos="1 0 0" mass="2"': '<site name="end" pos="2 0 0" euler="10 0 0"/>',
    '<inertial pos="0 0 0.1" mass="1"': '<site name="one" pos="0.1 0.2 0.3" euler="20 30 0"/>',
    '<inertial pos="0 0 0" mass="1"': '<site name="two" pos="0.3 0.2 0.3" euler="0 30 10"/>',
}
TIED = '<tendon name="tied" tendon1="free" tendon2="idle" polycoef="0.1 0.4 0 0 0"/></equality>'
FREE = '<fixed name="free"><joint joint="c" coef="2"/><joint joint="s" coef="1"/></fixed>'
EQUALITIES = {
    "bodies": ({}, 11),
    "an anchor": ({GLUE: f'{GLUE} anchor="0.3 0.2 0.1"'}, 11),
    "a pose": ({GLUE: f'{GLUE} anchor="0.3 0.2 0.1" relpose="0.1 0.2 0.3 1 0.2 0 0"'}, 11),
    "sites": (SITES, 11),
    "tendons": (
        {
            "</equality>": TIED,
            '<fixed name="idle">': f'{FREE}<fixed name="idle">',
            '<body name="ball"': """<body pos="0 3 0"><joint name="s" type="slide" axis="1 0 0"
              ref="0.2"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
              <body name="ball\"""",
        },
        12,
    ),
}


@pytest.mark.parametrize("way", EQUALITIES)
def test_equalities_close_loops_where_mujoco_has_them(way, tmp_path):
    changes, count = EQUALITIES[way]
    path, text = tmp_path / "loop.xml", LOOP
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, f"{new}{old}" if new.startswith("<site") else new)
    path.write_text(text)
    twin = MujocoTwin(path)
    assert {"pin", "glue"} <= set(twin.system.joints)
    assert {"law", "gear"} <= set(twin.system.constraints)
    assert "both effort on c" in twin.system.forces
    assert not twin.system.left_out
    q, _ = twin.equations.assemble({"a": 0.9}, guess={"c": 0.4, "b": 0.5})
    twin.data.qpos[:] = q[twin.q_order]
    mujoco.mj_forward(twin.model, twin.data)
    rows = twin.data.efc_pos[: twin.data.ne]
    assert len(rows) == count
    assert np.abs(rows).max() < 1e-9
    _moves_as_there(twin)


# --- what touches the ground ----------------------------------------------------------------------

FEET = """
<mujoco model="feet">
  <option cone="elliptic"/>
  <default><geom friction="0.7"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1" euler="0 0 20" pos="0 0 0.1" solref="0.01 1"
      margin="0.003" solmix="3"/>
    <body name="ball" pos="0 0 0.2"><freejoint name="a"/><geom name="skin" size="0.1"
      solref="0.03 0.7" solimp="0.8 0.9 0.01 0.5 2" margin="0.002"/></body>
    <body name="log" pos="1 0 0.15" quat="1 0 1 0"><freejoint name="b"/>
      <geom name="bark" type="capsule" size="0.05 0.2" friction="0.9"/></body>
    <body name="chest" pos="2 0 0.2"><freejoint name="c"/>
      <geom name="wood" type="box" size="0.2 0.15 0.1" condim="1"/></body>
    <body name="tin" pos="3 0 0.2"><freejoint name="d"/>
      <geom name="metal" type="cylinder" size="0.1 0.1" condim="4" solref="-9000 -80"/></body>
    <body name="egg" pos="4 0 0.18"><freejoint name="e"/>
      <geom name="shell" type="ellipsoid" size="0.1 0.09 0.08"/></body>
    <body name="ghost" pos="5 0 0.2"><freejoint name="f"/>
      <geom name="air" size="0.1" contype="0" conaffinity="0"/></body>
  </worldbody>
  <keyframe><key qpos="0 0 .21 1 0 0 0  1 0 .16 1 0 1 0  2 0 .22 1 0 0 0  3 0 .22 1 0 0 0
    4 0 .19 1 0 0 0  5 0 1 1 0 0 0" ctrl=""/></keyframe>
</mujoco>
"""
ON_THE_FLOOR = {"a": "skin", "b": "bark", "c": "wood", "d": "metal", "e": "shell"}


@pytest.fixture(scope="module")
def feet(tmp_path_factory):
    path = tmp_path_factory.mktemp("feet") / "feet.xml"
    path.write_text(FEET)
    return path


def test_what_lies_on_the_floor_weighs_on_it_as_deep_as_in_mujoco(feet):
    with pytest.warns(UserWarning, match="torsional and rolling friction of 'metal on floor'"):
        example = mg.gallery.load_file(feet)
    system = example.system()
    assert list(system.forces) == [f"{geom} on floor" for geom in ON_THE_FLOOR.values()]
    assert example.start["a"] == [0, 0, 0.21, 1, 0, 0, 0]
    run = system.equations().simulate(0.6, example.start)
    model = mujoco.MjModel.from_xml_path(str(feet))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, 2000)
    for joint, geom in ON_THE_FLOOR.items():
        weight = 9.81 * model.body(model.joint(joint).bodyid[0]).mass[0]
        force = run.reaction(f"{geom} on floor")[-1][:3]
        np.testing.assert_allclose(force, (0, 0, weight), rtol=1e-7, atol=1e-6)
        z = float(data.qpos[model.joint(joint).qposadr[0] + 2])
        same = 1e-9 if geom in ("skin", "shell") else 3e-5  # one point, or several that share
        assert run[f"{joint}.z"][-1] == pytest.approx(z, abs=same)
    assert run["f.z"][-1] == pytest.approx(1 - 9.81 * 0.6**2 / 2, abs=1e-9)


def test_rigid_contacts_of_mujocos_geoms(tmp_path):
    path = tmp_path / "ball.xml"
    kept = FEET[: FEET.index('    <body name="log"')], FEET[FEET.index("  </worldbody>") :]
    path.write_text("".join(kept).replace(FEET[FEET.index("  1 0 .16") : FEET.index('" ctrl')], ""))
    run = _read(path, contacts="rigid").equations().simulate(0.2, {"a.z": 0.21, "a.x'": 0.1})
    weight = 9.81 * 4 / 3 * np.pi  # of 1000 kg/m³, 0.1 m
    assert run.reaction("skin on floor")[-1][2] == pytest.approx(weight, rel=1e-9)
    assert run["a.z"][-1] == pytest.approx(0.1 + 0.1 + 0.003 + 0.002, abs=1e-9)
    with pytest.raises(mg.ArgumentError, match="contacts"):
        mg.from_mjcf(path, contacts="soft")


@pytest.mark.parametrize("name", ["ant.xml", "half_cheetah.xml", "humanoid.xml", "feet"])
def test_gaps_of_contacts_are_mujocos_distances(name, feet):
    path = feet if name == "feet" else assets() / name
    model = mujoco.MjModel.from_xml_path(str(path))
    planes = model.geom_type == 0
    model.geom_margin[:], model.geom_margin[planes] = 0.0, 1e3  # each geom is told of
    twin = MujocoTwin(path)
    q, _, _ = twin.state(5)
    data = mujoco.MjData(model)
    data.qpos[:] = twin.data.qpos
    mujoco.mj_forward(model, data)
    nearest: dict[str, float] = {}
    for contact in data.contact[: data.ncon]:
        one, plane = sorted(contact.geom, key=lambda g: planes[g])
        if planes[plane] and not planes[one]:
            key = f"{_geom(model, one)} on {_geom(model, plane)}"
            nearest[key] = min(nearest.get(key, np.inf), contact.dist)
    system = _read(path)
    assert nearest.keys() == {each for each in system.forces if " on " in each}
    original = mujoco.MjModel.from_xml_path(str(path))
    gaps = _gaps(system, q)
    for key, distance in nearest.items():
        ids = [original.geom(_number(each)).id for each in key.split(" on ")]
        margin = original.geom_margin[ids].sum() if _new() else original.geom_margin[ids].max()
        assert gaps[key] == pytest.approx(distance - margin, abs=1e-9), key


def _geom(model, k):
    return model.geom(int(k)).name or f"geom {k}"


def _number(name):
    return int(name[5:]) if name.startswith("geom ") else name


def _gaps(system, q):
    """The least gap of each contact."""
    chart = system.equations().terms.chart
    symbols = system.equations().terms.symbols
    out = {}
    for name, force in system.forces.items():
        if hasattr(force, "pairs"):
            gap = ca.mmin(ca.vertcat(*(pair.contact(chart.motion).gap for pair in force.pairs)))
            out[name] = float(ca.Function("gap", [symbols.q], [gap])(q))
    return out


WALKER = """<robot name="walker">
  <link name="hull"><inertial><mass value="3"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  %s
</robot>"""
FOOT = """<link name="{0}"><inertial><mass value="0.5"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 -0.3"/><geometry>{1}</geometry></collision></link>
  <joint name="{0} joint" type="fixed"><parent link="hull"/><child link="{0}"/>
    <origin xyz="{2} {3} 0"/></joint>"""


def test_shapes_of_a_urdf_touch_a_ground_that_is_asked_for(tmp_path):
    shapes = {
        "a": ('<sphere radius="0.1"/>', 0.5, 0),
        "b": ('<cylinder radius="0.05" length="0.2"/>', -0.4, 0.3),
        "c": ('<box size="0.1 0.1 0.2"/>', -0.4, -0.3),
        "d": ('<mesh filename="none.stl"/>', 0, 0),
    }
    path = tmp_path / "walker.urdf"
    path.write_text(WALKER % "".join(FOOT.format(name, *each) for name, each in shapes.items()))
    law = {"stiffness": 1e5, "damping": 100.0, "friction": 0.8, "height": 0.05}
    with pytest.warns(UserWarning, match="contacts of the meshes of d"):
        walker = mg.from_urdf(path, floating=True, ground=law)
    names = [f"{foot} on the ground" for foot in "abc"]
    assert list(walker.forces) == names
    run = walker.equations().simulate(1.0, {"root joint.z": 0.4499})
    forces = sum(run.reaction(name)[-1][:3] for name in names)
    np.testing.assert_allclose(forces, (0, 0, 5 * 9.81), rtol=1e-5, atol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rigid = mg.from_urdf(path, floating=True, ground={"friction": 0.8, "links": ["a"]})
        assert list(rigid.constraints) == ["a on the ground"]
        assert not mg.from_urdf(path, ground={"friction": 0.8, "links": "abc"}).constraints
    for wrong, told in (({"stifness": 1}, "stiffness"), ({"links": ["e"]}, "unknown link 'e'")):
        with pytest.raises(mg.ArgumentError, match=told):
            mg.from_urdf(path, ground=wrong)


# --- how robots look ------------------------------------------------------------------------------

BRICK = """
v 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\nv 0 0 3\nv 2 0 3\nv 2 1 3\nv 0 1 3
f 1 3 2\nf 1 4 3\nf 5 6 7\nf 5 7 8\nf 1 2 6\nf 1 6 5\nf 2 3 7\nf 2 7 6\nf 3 4 8
f 3 8 7\nf 4 1 5\nf 4 5 8
"""
SEEN = """<robot name="seen"><material name="red"><color rgba="0.8 0 0 1"/></material>
  <link name="brick"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/><material name="red"/><geometry>
      <mesh filename="package://robots/meshes/brick.obj" scale="0.1 0.1 0.2"/></geometry></visual>
    <visual><geometry><mesh filename="meshes/lost.stl"/></geometry></visual></link>
  <link name="mark"/>
  <joint name="j" type="fixed"><parent link="brick"/><child link="mark"/></joint>
</robot>"""


@pytest.fixture
def brick(tmp_path):
    (tmp_path / "robots" / "meshes").mkdir(parents=True)
    (tmp_path / "robots" / "urdf").mkdir()
    (tmp_path / "robots" / "meshes" / "brick.obj").write_text(BRICK)
    return tmp_path / "robots"


def test_meshes_of_a_urdf_are_drawn_where_they_are(brick):
    path = brick / "urdf" / "seen.urdf"
    path.write_text(SEEN)
    with pytest.warns(UserWarning, match=r"meshes that are not found.*lost\.stl"):
        robot = mg.from_urdf(path, floating=True)
    again = mg.load(robot.save(brick / "seen.yaml"))
    assert again.snapshot() == robot.snapshot()
    assert "meshes/brick.obj" in (brick / "seen.yaml").read_text()
    for ending in ("yaml", "json"):
        again = mg.load(again.save(brick / f"again.{ending}"))
        _drawn_alike(again, robot)
    run = robot.equations().simulate(0.1, {"root joint.x": 1.0})
    scene = scene_of(run)
    (mesh,) = (mesh for solid in scene.solids for mesh in solid.meshes)
    assert (mesh.colors[0], len(mesh.faces)) == ("#cc0000", 12)
    corners = np.array([[x, y, z] for x in (-0.1, 0) for y in (0, 0.2) for z in (1, 1.6)])
    np.testing.assert_allclose(_sorted(mesh.points), _sorted(corners), atol=1e-15)
    stage = Stage(scene, "brick", 300, 200)
    picture = np.asarray(stage.picture(0), dtype=int)
    (x, y), _ = stage.camera.project(np.array([1 - 0.05, 0.1, 1.3]))  # its middle
    r, g, b = picture[round(y / 2), round(x / 2)]
    assert r > 100 > max(g, b) + 50
    assert '"meshes":[{"points":"' in run.view().html


def _drawn_alike(one, other):
    """The same triangles in the same colours."""
    scenes = [scene_of(each.equations().simulate(0.1)) for each in (one, other)]
    pairs = zip(*([m for x in scene.solids for m in x.meshes] for scene in scenes), strict=True)
    for a, b in pairs:
        assert a.colors == b.colors
        np.testing.assert_allclose(_sorted(a.points), _sorted(b.points), atol=1e-7)


def _sorted(points):
    points = np.round(points, 12) + 0.0
    return points[np.lexsort(points.T)]


def test_a_fine_mesh_is_drawn_with_few_triangles():
    angles = np.linspace(0, np.pi, 90), np.linspace(0, 2 * np.pi, 180)
    s, t = np.meshgrid(*angles, indexing="ij")
    points = np.stack([np.sin(s) * np.cos(t), np.sin(s) * np.sin(t), np.cos(s)], axis=-1)
    corner = np.arange(90 * 180).reshape(90, 180)
    a, b, c, d = corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]
    faces = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
    few, kept = coarsen(points.reshape(-1, 3), faces, 2000)
    assert 500 < len(kept) <= 2000
    assert kept.max() < len(few)
    assert np.abs(np.linalg.norm(few, axis=1) - 1).max() < 0.05
    middles = few[kept].mean(axis=1)
    assert np.abs(np.linalg.norm(middles, axis=1) - 1).max() < 0.05


def test_inertia_that_mujoco_finds_from_a_mesh_is_the_bodys(brick):
    path = brick / "brick.xml"
    path.write_text(
        """<mujoco><asset><mesh name="m" file="meshes/brick.obj" scale="0.1 0.1 0.1"/></asset>
        <worldbody><body name="brick"><freejoint name="j"/>
        <geom type="mesh" mesh="m" density="500" pos="0 0 0.5"/></body></worldbody></mujoco>"""
    )
    robot = _read(path)
    body, said = robot.bodies["brick"], robot.snapshot().default_value
    mass = 500 * 0.2 * 0.1 * 0.3
    assert float(said(body.mass).item()) == pytest.approx(mass, rel=1e-6)  # it computes in floats
    np.testing.assert_allclose(said(body.com).ravel(), (0.1, 0.05, 0.65), rtol=1e-6)
    a, b, c = 0.2**2, 0.1**2, 0.3**2
    box = mass / 12 * np.diag([b + c, a + c, a + b])
    np.testing.assert_allclose(said(body.inertia), box, rtol=1e-5, atol=1e-8)
    scene = scene_of(robot.equations().simulate(0.1))
    (mesh,) = (mesh for solid in scene.solids for mesh in solid.meshes)
    np.testing.assert_allclose(mesh.points.min(axis=0), (0, 0, 0.5), atol=1e-7)
    np.testing.assert_allclose(mesh.points.max(axis=0), (0.2, 0.1, 0.8), atol=1e-7)


MESHED = """<mujoco><compiler meshdir="meshes"/><asset>
  <mesh file="brick.obj" scale="0.1 0.2 0.3" refpos="0.1 0.2 0.3"/>
  <mesh name="turned" file="brick.obj" scale="0.1 0.2 0.3" refquat="1 0.2 0 0"/></asset>
  <worldbody><geom type="mesh" mesh="brick" pos="1 2 3"/>
  <body name="a"><freejoint name="j"/>
    <geom type="mesh" mesh="brick" euler="10 20 30" rgba="1 0 0 1"/>
    <geom type="sphere" size="0.1" pos="0.3 0 0"/></body>
  <body name="b"><freejoint name="k"/><geom type="mesh" mesh="turned"/></body>
  </worldbody></mujoco>"""


def test_how_a_model_of_mujocos_looks_is_kept_in_model_files(brick):
    path = brick / "seen.xml"
    path.write_text(MESHED)
    robot = _read(path)
    with pytest.warns(UserWarning, match="meshes that are of no file are not written: b$"):
        again = mg.load(robot.save(brick / "again.yaml"))
    assert again.snapshot() == robot.snapshot()
    assert [len(again.snapshot().visuals[name]) for name in ("ground", "a")] == [1, 2]
    robot._stores["visuals"].pop("b")
    robot._snapshot = None
    _drawn_alike(again, robot)
    whole = mg.System("whole", gravity=(0, 0, -9.81))
    whole.place("left", again, at=(1, 0, 0))
    _drawn_alike(mg.load(whole.save(brick / "whole.json")), whole)


@pytest.mark.parametrize(
    ("look", "told"),
    [
        ("{mesh: a.exe}", "visual: rod: mesh must be the name of a file .stl, .obj, .dae, got"),
        ("{mesh: a.stl, scale: [1, 2]}", "scale of a mesh must be a number or three"),
        ("{mesh: a.stl, at: [k, 0, 0]}", "at of a mesh must be numbers"),
        ("{mesh: a.stl, color: red}", "color must be such as"),
        ("{mesh: a.stl, size: 2}", "unknown argument 'size'"),
        ("{type: linear_tyre, longitudinal: 1, cornering: 1, friction: 1}", "shape or a mesh"),
        ("brick", "must be a mapping"),
    ],
)
def test_wrong_looks_are_told(look, told):
    text = f"""
mechgraph: 1
parameters: {{k: 2}}
bodies: {{rod: {{mass: 1, inertia: 0}}}}
joints: {{j: {{type: revolute, parent: ground, child: rod}}}}
visual:
  rod: [{look}]
"""
    with pytest.raises(mg.ModelError) as caught:
        model_file.parse(text)
    assert told in str(caught.value)
    with pytest.raises(mg.ModelError, match="unknown body 'bar'"):
        model_file.parse(text.replace("  rod:", "  bar:"))


def _new() -> bool:
    """MuJoCo 4 takes the data where 3 took the matrix first."""
    return not hasattr(mujoco.MjData, "qM")


def test_robots_are_converted_with_what_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shape = '<collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
    Path("arm.urdf").write_text(ARM.replace("</inertial></link>", f"</inertial>{shape}"))

    def convert(*words):
        return CliRunner().invoke(main, ["convert", *words])

    asked = ("--floating", "--limits", "--friction", "--ground", "0.7", "--foot", "tip")
    shown = convert("arm.urdf", "arm.yaml", *asked)
    assert shown.exit_code == 0, shown.output
    assert "Warning" not in shown.output
    arm = mg.load("arm.yaml")
    assert {"tip on the ground", "ground limits"} <= set(arm.constraints)
    assert "link on the ground" not in arm.constraints
    assert arm.equations().coordinates[0] == "root joint.x"
    assert convert("arm.urdf", "again.xml").exit_code == 0
    assert convert("again.xml", "again.urdf").exit_code == 0
    original, again = (_of_file(mg.from_urdf, each) for each in ("arm.urdf", "again.urdf"))
    found = [each.equations().mass_matrix([0.3, 0.1]) for each in (original, again)]
    np.testing.assert_allclose(*found, rtol=1e-12)
    for words, told in (
        (("arm.yaml", "b.yaml", "--limits"), "unknown option of reading .yaml files 'limits'"),
        (("arm.urdf", "b.yaml", "--contacts", "rigid"), "'contacts'; Known: floating"),
        (("arm.urdf", "b.yaml", "--foot", "tip"), "--foot needs --ground"),
        (("arm.urdf", "b.yaml", "--ground", "1", "--foot", "toe"), "unknown link 'toe'"),
    ):
        shown = convert(*words)
        assert (shown.exit_code, told in shown.output) == (2, True), shown.output


def _of_file(read, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read(path)


def test_the_command_line_tells_in_plain_words_what_is_left_out(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    shown = CliRunner().invoke(main, ["describe", str(path)])
    assert shown.exit_code == 0
    assert "Warning: arm: not all could be taken over" in shown.output
    assert "urdf.py" not in shown.output
