"""MJCF: MuJoCo's own compiler reads the file; its model is said again as a ``System``.

Bodies, joints, sites (markers), equalities and actuators keep their names. A body with several
joints has frames between them. The hinge or slide of MuJoCo at qpos has moved by qpos − ref from
where the file shows it; here the coordinate is qpos itself.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .. import door
from ..arguments import choice, file_path
from ..errors import ModelError, blamed, error_text
from ..model.bodies import Marker
from ..model.contact.surfaces import Plane
from ..model.system import System
from ..model.visuals import Mesh
from .imported import Imported, Pose, hex_color, xml_of
from .mjcf_contacts import MESH, PLANE, Touch, surface_of, touches
from .model_files.expressions import Formula
from .model_files.meshes import MESHES
from .model_files.sections import ModelFile
from .model_files.spelling import name_text, number_text

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
CONNECT, WELD, JOINT, EQ_TENDON = range(4)  # mjtEq
OBJ_BODY, OBJ_JOINT, OBJ_GEOM, OBJ_SITE = 1, 3, 5, 6  # mjtObj
OBJ_EQUALITY, OBJ_TENDON, OBJ_ACTUATOR = 17, 18, 19
WRAP_JOINT, TENDON = 1, 3  # mjtWrap, mjtTrn
NO_CONTACTS, NO_GRAVITY, NO_FILTER = 1 << 4, 1 << 7, 1 << 10  # mjtDisableBit
NO_PASSIVE = 1 << 5 | 1 << 6 | 1 << 11
UNTAKEN = {  # what a field that is not zero says, of those that are not read
    "nflex": "flexible bodies",
    "jnt_stiffnesspoly": "springs of joints beyond their linear part",
    "dof_dampingpoly": "dampers of joints beyond their linear part",
    "jnt_actfrclimited": "limits of what actuators do to joints",
    "tendon_stiffnesspoly": "springs of tendons beyond their linear part",
    "tendon_dampingpoly": "dampers of tendons beyond their linear part",
    "tendon_limited": "ranges of tendons",
    "tendon_frictionloss": "friction of tendons",
    "tendon_armature": "armature of tendons",
    "actuator_damping": "dampers of actuators",
    "actuator_armature": "armature of actuators",
    "actuator_delay": "delays of actuators",
    "geom_adhesion": "adhesion of geoms",
    "geom_surfacevel": "velocities of geoms' surfaces",
}
HIDDEN = 3  # groups of geoms that MuJoCo does not show unless it is asked to
CONTACTS = ("compliant", "rigid", "none")


def from_mjcf(
    path: str | Path, limits: bool = False, friction: bool = False, contacts: str = "compliant"
) -> System:
    """The system in an MJCF file (.xml) of MuJoCo.

    limits, friction: True makes stops of the joints' ranges, and friction that sticks of their
        frictionloss; a simulation switches them.
    contacts: of spheres, capsules, ellipsoids, cylinders and boxes with planes: "compliant", as
        deep at rest as MuJoCo's; "rigid", which a simulation switches; or "none".

    Equality constraints are exact here, and joints' springs, dampers and armature are MuJoCo's.
    What could not be taken over is warned of, and kept as ``system.left_out``.
    """
    return read_mjcf(path, limits, friction, contacts).system


def read_mjcf(
    path: str | Path, limits: bool = False, friction: bool = False, contacts: str = "compliant"
) -> ModelFile:
    """The system in an MJCF file, and where it begins: its first keyframe, else where it is
    drawn."""
    choice("contacts", contacts, CONTACTS)
    path = file_path(path)
    return _MjcfRobot(path, contacts, limits=limits, friction=friction).read()


def _compiled(path: Path) -> Any:
    xml_of(path, "a model of MuJoCo's")
    mujoco = door.library("mujoco")
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except Exception as error:  # whatever a file that others wrote makes of it
        raise ModelError(f"{path.name}: not a model of MuJoCo's: {error_text(error)}") from None


class _MjcfRobot(Imported):
    def __init__(self, path: Path, contacts: str, **taken: bool) -> None:
        self.mujoco, self.model = door.library("mujoco"), _compiled(path)
        self.path, self.contacts, model = path, contacts, self.model
        self.gravity = np.array(model.opt.gravity) * (not model.opt.disableflags & NO_GRAVITY)
        super().__init__(self._text(model.names, 0) or "model", self.gravity, path.parent, **taken)
        self.bodies = ["ground", *(self._name("body", OBJ_BODY, k) for k in range(1, model.nbody))]
        self.joints = [self._name("joint", OBJ_JOINT, k) for k in range(model.njnt)]
        self.driven: list[int] = []  # actuators that are taken over

    def read(self) -> ModelFile:
        model = self.model
        for k in range(1, model.nbody):
            with blamed(f"body {self.bodies[k]!r}"):
                self._body(k)
        for k in range(model.nsite):
            body, (R, at) = self.bodies[model.site_bodyid[k]], self._pose("site", k)
            self.system.marker(self._name("site", OBJ_SITE, k), body, at, R)
        for k in range(model.neq):
            with blamed(f"equality {self._called('equality', OBJ_EQUALITY, k)!r}"):
                self._equality(k)
        for k in map(int, np.flatnonzero(model.body_gravcomp)):
            lift = -float(model.body_gravcomp[k] * model.body_mass[k]) * self.gravity
            self.lift(self.bodies[k], Pose(at=model.body_ipos[k]), lift)
        for k in range(model.ntendon):
            self._tendon(k)
        for k in range(model.nu):
            self._actuator(k)
        for g in range(model.ngeom):
            self._seen(g)
        if self.contacts != "none":
            for touch in touches(model):
                self._contact(touch)
        self._rest()
        return ModelFile(self.result(), **self._beginning())

    def _text(self, letters: Any, address: int) -> str:
        text = bytes(letters)
        return text[address : text.index(b"\0", address)].decode(errors="replace")

    def _pose(self, what: str, k: int) -> Pose:
        """Of a body, site or geom, in what it is on."""
        at, quaternion = (getattr(self.model, f"{what}_{word}")[k] for word in ("pos", "quat"))
        return Pose(_matrix(quaternion), at)

    def _called(self, what: str, kind: int, k: int) -> str:
        return self.mujoco.mj_id2name(self.model, kind, k) or f"{what} {k}"

    def _name(self, what: str, kind: int, k: int) -> str:
        """The name in the file; bodies and joints may share one, all else has its own."""
        name, taken = self._called(what, kind, k), self.system._names
        clashing = name == "ground" or (what not in ("body", "joint") and name in taken)
        return f"{what} {name}" if clashing else name

    # --- bodies and joints ------------------------------------------------------------------------

    def _body(self, k: int) -> None:
        m, name = self.model, self.bodies[k]
        centre = Pose(_matrix(m.body_iquat[k]), m.body_ipos[k])
        self.body(name, float(m.body_mass[k]), np.diag(m.body_inertia[k]), centre)
        parent, pose = self.bodies[m.body_parentid[k]], self._pose("body", k)
        first, count = int(m.body_jntadr[k]), int(m.body_jntnum[k])
        if not count:
            self.system.fixed(f"{name} fixed", parent, name, at=pose.at, orientation=pose.R)
        for j in range(first, first + count):
            after = f"{name} after {self.joints[j]}"
            child = name if j == first + count - 1 else self.system.frame(after).name
            self._joint(j, parent, child, pose)
            parent, pose = child, Pose()

    def _joint(self, j: int, parent: str, child: str, pose: Pose) -> None:
        m, name, kind = self.model, self.joints[j], int(self.model.jnt_type[j])
        dof, q, R = int(m.jnt_dofadr[j]), int(m.jnt_qposadr[j]), pose.R
        if kind == FREE:
            self.system.free(name, parent, child)
            for what in ("damping", "armature", "frictionloss"):
                if np.any(getattr(m, f"dof_{what}")[dof : dof + 6]):
                    self.left_out.append(f"{what} of the free joint {name!r}")
            return
        where: dict[str, Any] = {"at": pose.at + R @ m.jnt_pos[j], "child_at": m.jnt_pos[j]}
        damping = float(m.dof_damping[dof])
        if kind == BALL:
            self.system.spherical(name, parent, child, orientation=R, **where)
            self._ball(j, parent, child)
            return
        axis, ref = m.jnt_axis[j] / np.linalg.norm(m.jnt_axis[j]), float(m.qpos0[q])
        if kind == HINGE:
            R = R @ Rotation.from_rotvec(-ref * axis).as_matrix() if ref else R
        else:
            where["at"] = where["at"] - R @ axis * ref
        options = {
            "damping": damping,
            "stiffness": float(m.jnt_stiffness[j]),
            "rest": float(m.qpos_spring[q]),
            "armature": float(m.dof_armature[dof]) or None,
            **self._built(j, dof),
        }
        given = {key: value for key, value in options.items() if value}
        join = self.system.revolute if kind == HINGE else self.system.prismatic
        join(name, parent, child, axis=axis, orientation=R, **where, **given)

    def _built(self, j: int, dof: int) -> dict[str, Any]:
        m, out, name = self.model, dict[str, Any](), self.joints[j]
        if m.jnt_limited[j]:
            out |= self.switched("limits", name, tuple(map(float, m.jnt_range[j])))
        if m.dof_frictionloss[dof]:
            out |= self.switched("friction", name, float(m.dof_frictionloss[dof]))
        return out

    def _ball(self, j: int, parent: str, child: str) -> None:
        """The damper of a ball joint; its spring and armature have no counterpart."""
        m, name, dof = self.model, self.joints[j], int(self.model.jnt_dofadr[j])
        damping = float(m.dof_damping[dof])
        if damping:
            speeds = [f"speed({name_text(f'{name}.w{letter}')})" for letter in "xyz"]
            self.system.torque(
                f"{name} damper",
                name,
                Formula([f"-{number_text(damping)}*{s}" for s in speeds], {}),
            )
        for what, value in (("stiffness", m.jnt_stiffness[j]), ("armature", m.dof_armature[dof])):
            if value:
                self.left_out.append(f"{what} of the ball joint {name!r}")
        if m.jnt_limited[j]:
            self.left_out.append(f"range of the ball joint {name!r}")

    # --- what closes loops, and what drives -------------------------------------------------------

    def _equality(self, k: int) -> None:
        m = self.model
        name, kind, data = self._name("equality", OBJ_EQUALITY, k), int(m.eq_type[k]), m.eq_data[k]
        if not m.eq_active0[k]:
            self.left_out.append(f"{name!r}, which is not active")
        elif kind in (CONNECT, WELD):
            join = self.system.spherical if kind == CONNECT else self.system.fixed
            join(name, *self._ends(k), **self._places(k, kind), cut=True)
        elif kind == JOINT:
            self._coupled(name, int(m.eq_obj1id[k]), int(m.eq_obj2id[k]), data)
        elif not (kind == EQ_TENDON and self._tied(name, k)):
            self.left_out.append(f"the equality {name!r}")

    def _ends(self, k: int) -> tuple[str, str]:
        """The bodies that an equality is between; sites are on theirs."""
        m, ids = self.model, (int(self.model.eq_obj1id[k]), int(self.model.eq_obj2id[k]))
        if int(m.eq_objtype[k]) == OBJ_SITE:
            ids = (int(m.site_bodyid[ids[0]]), int(m.site_bodyid[ids[1]]))
        return self.bodies[ids[0]], self.bodies[ids[1]]

    def _places(self, k: int, kind: int) -> dict[str, Any]:
        """Where on both bodies an equality holds: at its sites, or where it says."""
        m, data = self.model, self.model.eq_data[k]
        if int(m.eq_objtype[k]) == OBJ_SITE:
            sites = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
            (R, at), (child_R, child_at) = (self._pose("site", s) for s in sites)
            turned = {"orientation": R, "child_orientation": child_R} if kind == WELD else {}
            return {"at": at, "child_at": child_at, **turned}
        if kind == CONNECT:
            return {"at": data[:3], "child_at": data[3:6]}
        # a point of the second body in the first, and the second's orientation there
        return {"at": data[3:6], "orientation": _matrix(data[6:10]), "child_at": data[:3]}

    def _tied(self, name: str, k: int) -> bool:
        """L₁ = a₀ + a₁ L₂ of tendons that are sums of joints, from where the file shows both; False
        if it is another law."""
        m, data = self.model, self.model.eq_data[k]
        tendons = [int(x) for x in (m.eq_obj1id[k], m.eq_obj2id[k]) if x >= 0]
        along = [self._joints_of(tendon) for tendon in tendons]
        if None in along or (len(tendons) > 1 and np.any(data[2:5])):
            return False
        terms, constant = dict[str, float](), float(data[0])
        for factor, tendon, own in zip((1.0, -float(data[1])), tendons, along, strict=False):
            constant += factor * float(m.tendon_length0[tendon])
            for joint, c in (own or {}).items():
                terms[joint] = terms.get(joint, 0.0) + factor * c
        self.system.coupling(name, terms, constant)
        return True

    def _coupled(self, name: str, one: int, other: int, data: np.ndarray) -> None:
        """q₁ − ref₁ = Σ aₖ (q₂ − ref₂)ᵏ."""
        refs = [float(self.model.qpos0[self.model.jnt_qposadr[j]]) for j in (one, other)]
        if other < 0 or not np.any(data[2:5]):
            slope = float(data[1]) if other >= 0 else 0.0
            terms = {self.joints[one]: 1.0, **({self.joints[other]: -slope} if other >= 0 else {})}
            self.system.coupling(name, terms, refs[0] + float(data[0]) - slope * refs[1])
            return
        x, y = (
            f"(coordinate({name_text(self.joints[j])}) - {number_text(ref)})"
            for j, ref in zip((one, other), refs, strict=True)
        )
        powers = " + ".join(
            f"({number_text(float(a))})*{y}^{n}" for n, a in enumerate(data[:5]) if a
        )
        self.system.constrain(name, position=Formula(f"{x} - ({powers})", {}))

    def _tendon(self, k: int) -> None:
        """A spring and damper along L = Σ cⱼ qⱼ: nothing pulls between the two spring lengths."""
        m, along = self.model, self._joints_of(k)
        name = self._called("tendon", OBJ_TENDON, k)
        stiffness, damping = float(m.tendon_stiffness[k]), float(m.tendon_damping[k])
        if along is None:
            self.left_out.append(f"the tendon {name!r}, which is led over sites")
        elif stiffness or damping:
            length, rate = _lengths(along)
            low, high = (f"({number_text(float(x))})" for x in m.tendon_lengthspring[k])
            stretch = f"max({low} - {length}, 0) + min({high} - {length}, 0)"
            k_text, d_text = number_text(stiffness), number_text(damping)
            self._pull(name, along, f"{k_text}*({stretch}) - {d_text}*{rate}", {})

    def _joints_of(self, tendon: int) -> dict[str, float] | None:
        """Coefficients of the joints that make a tendon's length; None if it is led over sites."""
        m = self.model
        first, count = int(m.tendon_adr[tendon]), int(m.tendon_num[tendon])
        parts = range(first, first + count)
        if any(int(m.wrap_type[w]) != WRAP_JOINT for w in parts):
            return None
        return {self.joints[m.wrap_objid[w]]: float(m.wrap_prm[w]) for w in parts}

    def _pull(self, name: str, along: dict[str, float], effort: str, names: dict[str, Any]) -> None:
        """An effort along Σ cⱼ qⱼ, which is cⱼ times that in each joint."""
        for joint, c in along.items():
            text = effort if c == 1 else f"({number_text(c)})*({effort})"
            own = f"{name} effort" + (f" on {joint}" if len(along) > 1 else "")
            self.system.torque(own, joint, Formula(text, names))

    def _driven(self, k: int) -> dict[str, float] | None:
        """Coefficients of the joints that an actuator acts along; None if it is no plain motor or
        servo of hinges and slides."""
        m, kind, driven = self.model, int(self.model.actuator_trntype[k]), self.model.actuator_trnid
        plain = (
            int(m.actuator_dyntype[k]) == 0
            and int(m.actuator_gaintype[k]) == 0
            and int(m.actuator_biastype[k]) in (0, 1)
        )
        if plain and kind in (0, 1) and int(m.jnt_type[driven[k][0]]) in (SLIDE, HINGE):
            return {self.joints[driven[k][0]]: 1.0}
        return self._joints_of(int(driven[k][0])) if plain and kind == TENDON else None

    def _actuator(self, k: int) -> None:
        """Effort = gear · (gain · input + bias), both affine in the length and speed of what it
        drives."""
        m, name, along = self.model, self._name("actuator", OBJ_ACTUATOR, k), self._driven(k)
        if along is None:
            self.left_out.append(f"the actuator {name!r}, which is no motor or servo of joints")
            return
        self.driven.append(k)
        gear = float(m.actuator_gear[k][0])
        symbol = self.system.input(f"{name} input" if name in self.system._names else name)
        bias = m.actuator_biasprm[k][:3] if m.actuator_biastype[k] else np.zeros(3)
        wanted = name_text(symbol.name())
        if m.actuator_ctrllimited[k]:
            wanted = _clipped(wanted, m.actuator_ctrlrange[k])
        length, rate = _lengths(along)
        terms = [
            f"{number_text(float(m.actuator_gainprm[k][0]))}*{wanted}",
            f"{number_text(float(bias[0]))}",
            f"({number_text(float(bias[1] * gear))})*{length}",
            f"({number_text(float(bias[2] * gear))})*{rate}",
        ]
        used = [terms[0], *(t for t, b in zip(terms[1:], bias, strict=True) if b)]
        effort = " + ".join(used)
        if m.actuator_forcelimited[k]:
            effort = _clipped(effort, m.actuator_forcerange[k])
        self._pull(name, along, f"({number_text(gear)})*({effort})", {symbol.name(): symbol})

    # --- what touches the ground ------------------------------------------------------------------

    def _contact(self, touch: Touch) -> None:
        name = " on ".join(self._called("geom", OBJ_GEOM, g) for g in (touch.geom, touch.plane))
        above = _matrix(self.model.geom_quat[touch.plane])[:, 2] * touch.margin
        kind, size = int(self.model.geom_type[touch.geom]), self.model.geom_size[touch.geom]
        surface = surface_of(kind, self._place(touch.geom), size)
        if surface is None:
            self.left_out.append(f"the contact {name!r}, of a shape that is no primitive one")
            return
        if touch.dim > 3:
            self.left_out.append(f"torsional and rolling friction of {name!r}")
        plane = Plane(self._place(touch.plane, above))
        if self.contacts == "rigid":
            self.system.rigid_contact(name, surface, plane, friction=touch.friction)
            return
        strength = float(np.linalg.norm(self.gravity))
        law = touch.law(self._mass_of(touch.geom), strength, 2 * float(self.model.opt.timestep))
        self.system.compliant_contact(name, surface, plane, **law, friction=touch.friction)

    def _seen(self, geom: int) -> None:
        """How a geom is drawn: those that MuJoCo shows unasked, but no planes."""
        m, kind = self.model, int(self.model.geom_type[geom])
        rgba = m.mat_rgba[m.geom_matid[geom]] if m.geom_matid[geom] >= 0 else m.geom_rgba[geom]
        if m.geom_group[geom] >= HIDDEN or not rgba[3]:
            return
        body, pose = self.bodies[m.geom_bodyid[geom]], self._pose("geom", geom)
        surface = surface_of(kind, self._place(geom), m.geom_size[geom])
        if surface is not None:
            self.draw(body, surface)
        elif kind == MESH:
            color = None if np.allclose(rgba[:3], 0.5) else hex_color(rgba)  # 0.5 is not said
            mesh = int(m.geom_dataid[geom])
            own, source = self._triangles(mesh), self._file_of(mesh, pose, color)
            self.draw(body, Mesh(pose.at, pose.R, color, None, None, *own, source))

    @cached_property
    def meshes(self) -> dict[str, Any]:
        """What the file says of its meshes; one without a name has that of its own file."""
        said = self.mujoco.MjSpec.from_file(str(self.path)).meshes
        return {mesh.name or Path(mesh.file).stem: mesh for mesh in said}

    def _file_of(self, mesh: int, pose: Pose, color: str | None) -> Mesh | None:
        """A mesh by its file, of which MuJoCo's compiler moves the origin to the mass centre; None
        if it is of none that is drawn here, or is turned before it is scaled."""
        m, said = self.model, self.meshes[self.model.mesh(mesh).name]
        start = int(m.mesh_pathadr[mesh])
        file = Path(self._text(m.paths, start) if start >= 0 else "")
        if file.suffix.lower() not in MESHES or np.any(said.refquat != [1, 0, 0, 0]):
            return None
        scale, moved = np.array(m.mesh_scale[mesh]), self._pose("mesh", mesh)
        R, at = pose @ moved.inverse @ Pose(at=scale * said.refpos * -1)
        return Mesh(at, R, color, scale, file)

    def _triangles(self, mesh: int) -> tuple[np.ndarray, np.ndarray]:
        m = self.model
        first, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
        face, faces = int(m.mesh_faceadr[mesh]), int(m.mesh_facenum[mesh])
        return m.mesh_vert[first : first + count].copy(), m.mesh_face[face : face + faces].copy()

    def _mass_of(self, geom: int) -> float:
        """What a geom's body shows of mass; one that turns about its centre shows no end of it."""
        shown = float(self.model.body_invweight0[self.model.geom_bodyid[geom]][0])
        whole = float(self.model.body_subtreemass[0]) or 1.0
        return 1 / max(shown, 1 / whole)

    def _place(self, geom: int, above: Any = 0.0) -> Marker:
        R, at = self._pose("geom", geom)
        body = self.bodies[self.model.geom_bodyid[geom]]
        return self.marker(body, Pose(R, at + above), self._called("geom", OBJ_GEOM, geom))

    # --- where it begins, and what is not taken over ----------------------------------------------

    def _beginning(self) -> dict[str, Any]:
        """The first keyframe, or where the file shows it; where loops are closed, a guess."""
        m = self.model
        q, u, w = (
            (m.key_qpos[0], m.key_qvel[0], m.key_ctrl[0])
            if m.nkey
            else (m.qpos0, np.zeros(m.nv), np.zeros(m.nu))
        )
        places, rates = dict[str, Any](), dict[str, Any]()
        for j, name in enumerate(self.joints):
            kind, first, dof = (int(x[j]) for x in (m.jnt_type, m.jnt_qposadr, m.jnt_dofadr))
            sizes = {FREE: (7, 6), BALL: (4, 3)}.get(kind, (1, 1))
            places[name] = _plain(q[first : first + sizes[0]])
            rates[f"{name}'"] = _plain(u[dof : dof + sizes[1]])
        start = {**places, **{key: value for key, value in rates.items() if np.any(value)}}
        inputs = dict(zip(self.system.inputs, map(float, w[self.driven]), strict=True))
        options = {"inputs": inputs} if any(inputs.values()) else {}
        return {"guess" if m.neq else "start": start, "options": options}

    def _rest(self) -> None:
        """What a file of MuJoCo's may have that is not taken over at all."""
        m = self.model
        self.left_out += [told for field, told in UNTAKEN.items() if np.any(getattr(m, field, 0))]
        if int(m.opt.disableflags) & NO_PASSIVE:
            self.left_out.append("that springs, dampers or actuators are switched off")
        if self._collides():
            self.left_out.append(
                "contacts of geoms with others than planes; say rigid_contact or "
                "compliant_contact for those that meet"
            )
        if m.opt.density or m.opt.viscosity:
            self.left_out.append("forces of the fluid around it")

    def _collides(self) -> bool:
        """True if geoms meet that are not a plane and a shape of which it was told already."""
        m, flags = self.model, int(self.model.opt.disableflags)
        if flags & NO_CONTACTS:
            return False
        others = np.flatnonzero((m.geom_type != PLANE) | (self.contacts == "none"))
        types, partners = m.geom_contype[others], m.geom_conaffinity[others]
        meet = (types[:, None] & partners) | (partners[:, None] & types)
        roots = m.body_weldid[m.geom_bodyid[others]]
        next_to = (m.body_weldid[m.body_parentid[roots]][:, None] == roots) & (roots != 0)
        kin = (next_to | next_to.T) & (not flags & NO_FILTER)
        paired = m.geom_type[m.pair_geom1].astype(bool) & m.geom_type[m.pair_geom2].astype(bool)
        return bool(np.any(meet & (roots[:, None] != roots) & ~kin) or np.any(paired))


def _lengths(along: dict[str, float]) -> tuple[str, str]:
    """Σ cⱼ qⱼ and its rate, as texts."""

    def summed(word: str) -> str:
        parts = ((f"{word}({name_text(joint)})", c) for joint, c in along.items())
        return " + ".join(x if c == 1 else f"({number_text(c)})*{x}" for x, c in parts)

    sums = summed("coordinate"), summed("speed")
    return sums if len(along) == 1 else (f"({sums[0]})", f"({sums[1]})")


def _clipped(text: str, limits: np.ndarray) -> str:
    low, high = (number_text(float(x)) for x in limits)
    return f"clip({text}, {low}, {high})"


def _plain(values: np.ndarray) -> Any:
    return float(values[0]) if len(values) == 1 else [float(x) for x in values]


def _matrix(quaternion: Any) -> np.ndarray:
    if not np.linalg.norm(quaternion) > 0:
        raise ModelError(f"the quaternion {np.asarray(quaternion).tolist()} is no orientation")
    return Rotation.from_quat(np.asarray(quaternion), scalar_first=True).as_matrix()
