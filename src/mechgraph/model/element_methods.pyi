"""Written by ``python -m mechgraph.model.element_stub``; do not edit."""

from collections.abc import Sequence
from mechgraph.model.axial import FixedControlledJoint, FixedIdealJoint, FixedServoJoint, FreeIdealJoint, FreeSlideJoint, SpringIdealJoint
from mechgraph.model.bodies import Place
from mechgraph.model.constraints import Coupling, Distance, Expression, Servo
from mechgraph.model.contact.compliant import CompliantContact
from mechgraph.model.contact.friction import FrictionLaw
from mechgraph.model.contact.rigid import RigidContact
from mechgraph.model.contact.rolling import KnifeEdge, Rolling, Sliding
from mechgraph.model.contact.surfaces import Surface
from mechgraph.model.drives import Drive
from mechgraph.model.elements.bearing import BallBearing
from mechgraph.model.elements.bushing import Bushing
from mechgraph.model.elements.curves import Curve
from mechgraph.model.elements.fluids import Drag, HydraulicCylinder, Propeller
from mechgraph.model.elements.gears import InvoluteGears, RigidGears
from mechgraph.model.elements.guide import Guide
from mechgraph.model.elements.motor import DCMotor
from mechgraph.model.elements.rope import Node, RigidRope, Rope
from mechgraph.model.elements.transmission import Belt, ElasticBelt, ElasticCoupling, RackAndPinion
from mechgraph.model.elements.wheels import OmniWheel, Tyre, TyreLaw
from mechgraph.model.fields import AngleLaw, Axis, ByName, Law, MotionFunction, Number, Numbers, Orientation, PerCoordinate, Vector
from mechgraph.model.forces import BodyTorque, JointTorque, PointForce, SpringDamper
from mechgraph.model.joint_limits import Backlash
from mechgraph.model.joint_options import JointFrictionLaw, JointLimits
from mechgraph.model.joints import Coordinate, Joint, JointKind, JointOrName
from mechgraph.model.transitions import Transition
from mechgraph.tables.table import Table

class ElementMethods:
    def joint(self, name: str, parent: Place, child: Place, transitions: Sequence[Transition] | JointKind, *, at: Vector = (0, 0, 0), orientation: Orientation = None, child_at: Vector = (0, 0, 0), child_orientation: Orientation = None, stiffness: Numbers | Table | Sequence[Number | Table] = 0, damping: Numbers = 0, rest: Numbers = 0, backlash: Number | None = None, limits: JointLimits | None = None, friction: JointFrictionLaw | None = None, armature: PerCoordinate | None = None, cut: bool | None = None) -> Joint:
        """The general joint: a chain of transitions from parent to child.

        transitions: a list of ``mg.rot``, ``mg.move``, ``mg.screw`` and ``mg.ball``; or a kind of one's
            own.

        at, orientation: where its frame is on the parent; (0, 0, 0) and the parent's axes if not given.
            An orientation is a 3x3 matrix, a scalar-first quaternion, or a list of turns such as
            [("z", 0.3), ("x", 1.2)].
        child_at, child_orientation: the same on the child.
        stiffness, damping, rest: a spring and damper along its coordinates, one number for all or one
            for each.
        backlash: play of that spring: it does not act within backlash/2 of rest.
        limits: stops of a coordinate, (low, high), or ``mg.Limits`` for restitution or stiffness; by
            coordinate, {"angle": (-1, 1)}, if there are several.
        friction: dry friction that sticks, a force or torque, or ``mg.DryFriction``; with
            ``mg.Friction`` it is smooth, and creeps.
        armature: inertia that turns with a coordinate and nothing else, such as that of a motor's rotor
            times the square of its gear's ratio.
        cut: True cuts this joint of a loop, False keeps it in the tree, None leaves the choice.
        """

    def revolute(self, name: str, parent: Place, child: Place, *, axis: Axis = 'z', at: Vector = (0, 0, 0), orientation: Orientation = None, child_at: Vector = (0, 0, 0), child_orientation: Orientation = None, stiffness: Numbers | Table | Sequence[Number | Table] = 0, damping: Numbers = 0, rest: Numbers = 0, backlash: Number | None = None, limits: JointLimits | None = None, friction: JointFrictionLaw | None = None, armature: PerCoordinate | None = None, cut: bool | None = None) -> Joint:
        """One rotation about ``axis``, given in the joint's frame; its coordinate is ``name``.

        For options see ``joint``.
        """

    def prismatic(self, name: str, parent: Place, child: Place, *, axis: Axis = 'z', at: Vector = (0, 0, 0), orientation: Orientation = None, child_at: Vector = (0, 0, 0), child_orientation: Orientation = None, stiffness: Numbers | Table | Sequence[Number | Table] = 0, damping: Numbers = 0, rest: Numbers = 0, backlash: Number | None = None, limits: JointLimits | None = None, friction: JointFrictionLaw | None = None, armature: PerCoordinate | None = None, cut: bool | None = None) -> Joint:
        """One translation along ``axis``, given in the joint's frame; its coordinate is ``name``.

        For options see ``joint``.
        """

    def cylindrical(self, name: str, parent: Place, child: Place, *, axis: Axis = 'z', at: Vector = (0, 0, 0), orientation: Orientation = None, child_at: Vector = (0, 0, 0), child_orientation: Orientation = None, stiffness: Numbers | Table | Sequence[Number | Table] = 0, damping: Numbers = 0, rest: Numbers = 0, backlash: Number | None = None, limits: JointLimits | None = None, friction: JointFrictionLaw | None = None, armature: PerCoordinate | None = None, cut: bool | None = None) -> Joint:
        """Rotation (``name.angle``) about and translation (``name.shift``) along one ``axis``.

        For options see ``joint``.
        """

    def screw(self, name: str, parent: Place, child: Place, pitch: Number, *, axis: Axis = 'z', at: Vector = (0, 0, 0), orientation: Orientation = None, child_at: Vector = (0, 0, 0), child_orientation: Orientation = None, stiffness: Numbers | Table | Sequence[Number | Table] = 0, damping: Numbers = 0, rest: Numbers = 0, backlash: Number | None = None, limits: JointLimits | None = None, friction: JointFrictionLaw | None = None, armature: PerCoordinate | None = None, cut: bool | None = None) -> Joint:
        """Rotation about ``axis`` with ``pitch`` metres of advance for each radian.

        For options see ``joint``.
        """

    def universal(self, name: str, parent: Place, child: Place, *, axis: Axis = 'x', second_axis: Axis = 'y', at: Vector = (0, 0, 0), orientation: Orientation = None, child_at: Vector = (0, 0, 0), child_orientation: Orientation = None, stiffness: Numbers | Table | Sequence[Number | Table] = 0, damping: Numbers = 0, rest: Numbers = 0, backlash: Number | None = None, limits: JointLimits | None = None, friction: JointFrictionLaw | None = None, armature: PerCoordinate | None = None, cut: bool | None = None) -> Joint:
        """Rotation (``name.first``) about ``axis`` of the parent, then (``name.second``) about
        ``second_axis`` of the child, which is perpendicular to it.

        For options see ``joint``.
        """

    def planar(self, name: str, parent: Place, child: Place, *, axis: Axis = 'z', at: Vector = (0, 0, 0), orientation: Orientation = None, child_at: Vector = (0, 0, 0), child_orientation: Orientation = None, stiffness: Numbers | Table | Sequence[Number | Table] = 0, damping: Numbers = 0, rest: Numbers = 0, backlash: Number | None = None, limits: JointLimits | None = None, friction: JointFrictionLaw | None = None, armature: PerCoordinate | None = None, cut: bool | None = None) -> Joint:
        """Two translations across and a rotation (``name.angle``) about the normal ``axis``.

        The translations are called after the axes that they go along: ``name.x``, ``name.y`` for the
        normal z, ``name.y``, ``name.z`` for x, ``name.z``, ``name.x`` for y (in this order, the other
        way round for -z, -x, -y); ``name.first``, ``name.second`` for a slanted one.

        For options see ``joint``.
        """

    def pin_in_slot(self, name: str, parent: Place, child: Place, *, slot: Axis = 'x', axis: Axis = 'z', at: Vector = (0, 0, 0), orientation: Orientation = None, child_at: Vector = (0, 0, 0), child_orientation: Orientation = None, stiffness: Numbers | Table | Sequence[Number | Table] = 0, damping: Numbers = 0, rest: Numbers = 0, backlash: Number | None = None, limits: JointLimits | None = None, friction: JointFrictionLaw | None = None, armature: PerCoordinate | None = None, cut: bool | None = None) -> Joint:
        """A pin that slides (``name.shift``) along a ``slot`` of the parent and turns in it
        (``name.angle``) about ``axis``, across the slot.

        For options see ``joint``.
        """

    def spherical(self, name: str, parent: Place, child: Place, *, at: Vector = (0, 0, 0), orientation: Orientation = None, child_at: Vector = (0, 0, 0), child_orientation: Orientation = None, stiffness: Numbers | Table | Sequence[Number | Table] = 0, damping: Numbers = 0, rest: Numbers = 0, backlash: Number | None = None, limits: JointLimits | None = None, friction: JointFrictionLaw | None = None, armature: PerCoordinate | None = None, cut: bool | None = None) -> Joint:
        """Any rotation: a quaternion ``name.q0`` … ``name.q3``, speeds ``name.wx``, ``name.wy``,
        ``name.wz`` in the child's joint axes.

        For options see ``joint``.
        """

    def free(self, name: str, parent: Place, child: Place, *, at: Vector = (0, 0, 0), orientation: Orientation = None, child_at: Vector = (0, 0, 0), child_orientation: Orientation = None, stiffness: Numbers | Table | Sequence[Number | Table] = 0, damping: Numbers = 0, rest: Numbers = 0, backlash: Number | None = None, limits: JointLimits | None = None, friction: JointFrictionLaw | None = None, armature: PerCoordinate | None = None, cut: bool | None = None) -> Joint:
        """All six freedoms: ``name.x``, ``name.y``, ``name.z`` in the parent's joint axes, then a
        rotation as in ``spherical``.

        For options see ``joint``.
        """

    def fixed(self, name: str, parent: Place, child: Place, *, at: Vector = (0, 0, 0), orientation: Orientation = None, child_at: Vector = (0, 0, 0), child_orientation: Orientation = None, stiffness: Numbers | Table | Sequence[Number | Table] = 0, damping: Numbers = 0, rest: Numbers = 0, backlash: Number | None = None, limits: JointLimits | None = None, friction: JointFrictionLaw | None = None, armature: PerCoordinate | None = None, cut: bool | None = None) -> Joint:
        """No freedom: parent and child move as one.

        For options see ``joint``.
        """

    def spring_damper(self, name: str, a: Place, b: Place, stiffness: Number | Table = 0, damping: Number = 0, length: Number = 0) -> SpringDamper:
        """Spring and damper on the line between two points: F = k (l − length) + c l̇, pulling them
        together.

        stiffness: k, or a table (``mg.table``) of the spring's force over l − length.
        damping, length: c, and the length of the spring without force.
        """

    def torque(self, name: str, joint: Coordinate, value: Law) -> JointTorque:
        """Effort along a joint's coordinate (a torque or a force): a number, an expression, an input,
        or a function of m.

        For a joint with several speeds, name one (``"wrist.first"``) or give one value for each speed.

        joint: the joint, or one of its coordinates ("wrist.first").
        value: a number, an expression, an input, or a function of the motion; one for each speed.
        """

    def force(self, name: str, at: Place, value: Law, frame: str = 'world') -> PointForce:
        """A force at a marker; components in the world (``frame="world"``) or in the marker
        (``frame="body"``).

        value: three numbers or expressions, or a function of the motion that returns them.
        frame: "world" for components in the world, "body" for those in the marker or body.
        """

    def body_torque(self, name: str, at: Place, value: Law, frame: str = 'world') -> BodyTorque:
        """A free torque on a body; ``value`` and ``frame`` as for ``force``."""

    def compliant_contact(self, name: str, surface: Surface, base: Surface, stiffness: Number, exponent: Number = 1.5, damping: Number = 0, friction: FrictionLaw = 0) -> CompliantContact:
        """Surfaces that press each other where they overlap by δ = −gap (Hertz; Hunt and Crossley):

        N = stiffness δ^exponent (1 + damping δ̇), never less than zero, and ``friction`` in proportion
        to N, both at the point halfway between the two.

        friction: a coefficient, or a law ``mg.Friction``.
        """

    def drive(self, name: str, coordinate: Coordinate, value: Law = 0, position: Number | None = None, stiffness: Number = 0, damping: Number = 0, effort: Number | None = None, speed: Number | None = None) -> Drive:
        """A motor along a coordinate x: it gives what is wanted, as far as it can.

            wanted = value + stiffness (position − x) + damping (ṗosition − ẋ)

        within ± ``effort``; with ``speed``, what it gives along the motion falls from ``effort`` at
        standstill to nothing at that speed: at most effort · min(1, max(0, 1 − ẋ/speed)), at least
        −effort · min(1, max(0, 1 + ẋ/speed)).

        value: an effort: a number, an expression, an input, or a function of the motion.
        position, stiffness, damping: a position to be held, a number or a function of time, by
            stiffness (position − x) and damping times the rate of that.
        effort: the largest, either way; without limit if it is not given.
        speed: at which nothing is left of ``effort`` along the motion; it falls to that on a line.
        """

    def backlash(self, name: str, coefficients: ByName, play: Number, stiffness: Number, damping: Number = 0, constant: Number = 0) -> Backlash:
        """A gear, coupling or spring with play: nothing acts while x = Σ c q is within ``play``/2 of
        ``constant``; beyond, a spring and damper that never pulls.

        ``coefficients`` c by coordinate, as of a coupling; ``stiffness`` and ``damping`` along x.

        coefficients: by the names of the coordinates, {"j1": 1.0, "j2": -2.5}.
        """

    def rope(self, name: str, path: Sequence[Node], length: Number, stiffness: Number, damping: Number = 0) -> Rope:
        """A rope along a ``path`` of places and pulleys, longer than ``length`` only under tension.

        It pulls with stiffness (l − length) + damping l̇ where it is longer by l − length, and never
        pushes: where the damper would push, there is no force.

        path: the places and pulleys (``mg.Pulley``) that it passes; a pulley at an end is a drum
            that it is wound on.
        """

    def elastic_belt(self, name: str, first: Coordinate, second: Coordinate, radii: Vector, stiffness: Number, damping: Number = 0, pretension: Number = 0, crossed: bool = False) -> ElasticBelt:
        """A belt that stretches, on two pulleys of ``radii`` r₁, r₂: with e = r₁ φ₁ − r₂ φ₂ (+,
        ``crossed``) its spans pull with pretension ± stiffness e, as long as that is positive.

        A span that would push is slack. Both are damped by ``damping`` ė together.

        first, second, radii, crossed: as for ``belt``.
        damping: of both spans together, along the belt.
        pretension: tension of both spans where nothing turns them.
        """

    def elastic_coupling(self, name: str, coefficients: ByName, stiffness: Number, damping: Number = 0, constant: Number = 0) -> ElasticCoupling:
        """Coordinates of joints tied by a spring: x = Σ c q − ``constant``, with ``coefficients`` c, is
        pushed back by stiffness x + damping ẋ. A shaft, a gear train, a chain; with play it is
        ``backlash``.

        coefficients: by the names of the coordinates, {"motor": 1.0, "arm": -50.0}.
        stiffness, damping: along Σ c q.
        """

    def involute_gears(self, name: str, pinion: JointOrName, wheel: JointOrName, teeth: Vector, module: float, stiffness: Number, damping: Number = 0, pressure_angle: float = 0.3490658503988659, rounding: Number | None = None) -> InvoluteGears:
        """Compliant involute teeth with backlash: every pair of flanks that overlaps by δ presses with
        stiffness δ (1 + damping δ̇), never less than zero, along the base tangent.

        Beyond the tips the gap is wider by x²/2ρ, x being the distance from the last regular point and
        ρ the ``rounding``: so the load passes smoothly from tooth to tooth, and the energy is kept. By
        virtual work the lever arms of the force are −∂gap/∂φ, and so its line is the common tangent of
        the circles with these radii, which regularly are the base circles.

        pinion, wheel: revolute joints with parallel axes on one carrier; how far these are apart
            decides the backlash, which is none at module (z₁ + z₂)/2.
        teeth: their numbers z₁ and z₂. At zero angles a tooth of the pinion points to a gap of the
            wheel.
        module: pitch diameter for each tooth, a length.
        stiffness, damping: of a pair of teeth that overlaps by δ: stiffness δ (1 + damping δ̇).
        pressure_angle: of the cutter, in radians; 20° if not given.
        rounding: of the tips, a radius; 2.5 modules if not given.
        """

    def bushing(self, name: str, a: Place, b: Place, stiffness: Numbers, damping: Numbers = 0, preload: Numbers = 0) -> Bushing:
        """Six springs and dampers between the frames ``a`` and ``b``: the force and torque on b, in the
        axes of a, are ``preload`` − stiffness x − damping ẋ.

        x is the place of b's origin and the rotation vector of b (angle times axis), both in a; ẋ its
        relative velocity and angular velocity there.

        stiffness, damping: six numbers (along x, y, z of a, then about them), or symmetric 6x6
            matrices.
        preload: force and torque on b, in the axes of a, where both frames coincide.
        """

    def ball_bearing(self, name: str, inner: Place, outer: Place, balls: int, ball_radius: Number, pitch_radius: Number, groove: Number, stiffness: Number, clearance: Number = 0, damping: Number = 0, phase: Number = 0) -> BallBearing:
        """Balls between the grooves of an ``inner`` and an ``outer`` ring, both about the z axes of
        their places: each presses with stiffness (δ/2)^(3/2) where the grooves squeeze it by δ.

        The balls have no inertia, do not hinder the rotation, and keep their places around the axis of
        the outer ring.

        balls: how many (n), ball k at ``phase`` + 2πk/n.
        ball_radius, pitch_radius, groove: radii of a ball, of the circle that the balls run on, and
            of the grooves across.
        stiffness: Hertz's, of one contact, in N/m^1.5.
        clearance: diametral, between a ball and both grooves.
        damping: makes the force stiffness (δ/2)^1.5 (1 + damping δ̇), never less than zero.
        """

    def tyre(self, name: str, wheel: Place, radius: Number, stiffness: Number, law: TyreLaw, damping: Number = 0, axis: Axis = 'y', regularization: Number = 0.1, road: Place = 'ground') -> Tyre:
        """A wheel of ``radius`` about its ``axis`` in one point on the plane z = 0 of the ``road``: the
        load is stiffness δ + damping δ̇ where it is pressed in by δ, never less than zero.

        With v_s the velocity of the tread at that point and v of the hub along the road, the slips are
        −v_s / √(v² + v₀²) along and across, v₀ the ``regularization``; ``law`` makes forces of them.

        stiffness, damping: of its load, along the road's normal.
        law: ``mg.LinearTyre(…)`` or ``mg.MagicFormula(…)``: forces for slips and load.
        axis: that the wheel turns about, in its place.
        regularization: speed in m/s along the road below which slips are taken as for it.
        """

    def drag(self, name: str, at: Place, area: Numbers, density: Number = 1.225, linear: Number = 0, wind: Vector = (0, 0, 0), air: Place = 'ground') -> Drag:
        """Drag at a place that moves with v through the ``air``, which moves with its place and with
        ``wind`` in the axes of that: −½ density area |v| v − linear v.

        area: c_d A, one number, or one for each axis of the place.
        density: of the air, or of water.
        wind: velocity of the air relative to the place ``air``, in the axes of that.
        """

    def propeller(self, name: str, at: Place, diameter: Number, thrust: Numbers, torque: Numbers = 0, density: Number = 1.225, air: Place = 'ground') -> Propeller:
        """A propeller about the z axis of its place: with n turns a second through the ``air`` and the
        speed v along z, the thrust ρD⁴n|n| (c₀ + c₁J) along z and the torque −ρD⁵n|n| (c₀ + c₁J) about
        it, J = v / |n|D.

        diameter: D.
        thrust, torque: c₀, or (c₀, c₁); a left-handed propeller has a negative thrust.
        density: ρ, of the air; ``air`` is what this moves with.
        """

    def hydraulic_cylinder(self, name: str, a: Place, b: Place, length: Number, areas: Vector, volumes: Vector, bulk_modulus: Number, pressure: Number = 0, oil: Vector = (0, 0), damping: Number = 0) -> HydraulicCylinder:
        """A double-acting cylinder on the line between two places, with oil that gives way: it pushes
        them apart with p₁A₁ − p₂A₂.

        Where they are ``length`` apart the chambers hold ``volumes`` V₁, V₂ of oil under ``pressure``.
        Moved by x, and with the volumes ``oil`` pumped in (functions of time), the pressures are

            p₁ = p₀ + β ln((V₁ + oil₁)/(V₁ + A₁x)),    p₂ = p₀ + β ln((V₂ + oil₂)/(V₂ − A₂x)),

        but never less than zero (the oil cavitates).

        length: their distance where the chambers hold ``volumes`` of oil under ``pressure``.
        areas: A₁ of the piston, A₂ of the ring on the side of the rod; 0 if it acts one way only.
        bulk_modulus: β of the oil, about 1.4e9 Pa.
        oil: volumes that are pumped in, numbers or functions of time.
        damping: c of the force c l̇ along the cylinder.
        """

    def dc_motor(self, name: str, joint: Coordinate, voltage: Number, constant: Number, resistance: Number, inductance: Number) -> DCMotor:
        """A motor with a current i on a ``joint`` with the speed ω: L di/dt = voltage − R i − K ω, and
        the effort K i.

        The charge is the coordinate ``name.charge``, the current its speed ``name.charge'``.

        joint: the joint, or one of its coordinates.
        voltage: a number, an expression, or an input.
        constant: K in N m/A, which is K in V s; with a gear, times its ratio.
        resistance, inductance: R and L.
        """

    def distance(self, name: str, a: Place, b: Place, length: Number) -> Distance:
        """Two points stay at a distance l: (|r|² − l²) / 2l = 0.

        length: l, a number or a function of time.
        """

    def coupling(self, name: str, coefficients: ByName, constant: Number = 0) -> Coupling:
        """Σ c q = constant, for coordinates of joints: gears, belts, differentials.

        coefficients: by the names of the coordinates, {"j1": 1.0, "j2": -2.5}.
        """

    def servo(self, name: str, coordinate: Coordinate, value: Number) -> Servo:
        """A ``coordinate`` has a ``value``, a number or a function of time; its multiplier is the
        effort that the drive supplies.
        """

    def constrain(self, name: str, position: MotionFunction | None = None, velocity: MotionFunction | None = None, acceleration: MotionFunction | None = None) -> Expression:
        """The user's own rows: exactly one of ``position``, ``velocity``, ``acceleration``, a function
        of the motion.

        position: must not use velocities.
        velocity: linear in the speeds or not.
        acceleration: linear in the accelerations.
        """

    def roll(self, name: str, surface: Surface, base: Surface, spinning: bool = True) -> Rolling:
        """A surface rolls on a base without slipping, and never leaves it.

        spinning: False if it does not spin about the common normal either.
        """

    def slide(self, name: str, surface: Surface, base: Surface, friction: FrictionLaw = 0) -> Sliding:
        """A surface slides on a base and never leaves it, with friction (a coefficient or a law
        ``mg.Friction``).

        The normal force is the multiplier of the gap, positive if it presses; friction goes with it.
        """

    def knife_edge(self, name: str, at: Place, across: Axis = 'y') -> KnifeEdge:
        """A blade at a marker moves along, not across: its velocity along ``across`` (in the marker's
        axes) is zero.
        """

    def rigid_contact(self, name: str, surface: Surface, base: Surface, restitution: Number = 0.0, friction: Number = 0.0, static_friction: Number | None = None, rebound_threshold: Number = 1e-05, regularization: Number = 1e-05, tangential_restitution: Number = 0.0) -> RigidContact:
        """Surfaces that cannot enter each other: they meet with restitution, press, stick or slide with
        friction (μ, and μ_s to break away), and part again.

        Each point of contact has two parameters, ``name.touching`` and ``name.sticking`` (0 or 1),
        which ``simulate`` sets as the motion goes, and ``name.flat`` if it is a ring on a plane. With
        the slip velocity v and the ``regularization`` v₀, sliding friction is

            F = −μ N w/|w|,    w = v + v₀ h,    |w|² = max(w·w + v₀² (1 − h·h), v₀²/4),

        where h (``name.heading 1``, ``name.heading 2``, along the tangents) is the unit vector along
        which ``simulate`` finds that slip begins, so that friction is all there from the start; h is
        zero elsewhere, which makes it smooth.

        restitution: Newton's, from 0 to 1.
        friction, static_friction: Coulomb's coefficients μ and μ_s, of sliding and to break away
            (``friction`` if not given).
        rebound_threshold: speed in m/s below which nothing rebounds.
        regularization: speed in m/s of slip that is taken for none.
        tangential_restitution: what part of the slip an impact turns back where friction holds it,
            from 0 to 1.
        """

    def fixed_ideal_joint(self, name: str, a: Place, b: Place, axis: Axis = 'z') -> FixedIdealJoint:
        """A revolute joint as a constraint, about ``axis`` of both places: ν = 0, M = 0."""

    def free_ideal_joint(self, name: str, a: Place, b: Place, axis: Axis = 'z') -> FreeIdealJoint:
        """A cylindrical joint as a constraint, along ``axis`` of both places: F = 0, M = 0."""

    def spring_ideal_joint(self, name: str, a: Place, b: Place, axis: Axis = 'z', stiffness: Number = 0, damping: Number = 0) -> SpringIdealJoint:
        """A revolute joint as a constraint, elastic along its ``axis``: F = c ν + d ν̇, M = 0.

        stiffness, damping: c and d.
        """

    def fixed_controlled_joint(self, name: str, a: Place, b: Place, law: AngleLaw, axis: Axis = 'z') -> FixedControlledJoint:
        """A driven revolute joint as a constraint, about ``axis`` of both places: ν = 0, and M =
        f(t, φ, φ̇) acts on A.

        law: the torque on ``a``, a function of (time, angle, its rate).
        """

    def free_slide_joint(self, name: str, a: Place, b: Place, axis: Axis = 'z') -> FreeSlideJoint:
        """A prismatic joint as a constraint, along ``axis`` of both places: F = 0, φ = 0."""

    def fixed_servo_joint(self, name: str, a: Place, b: Place, law: AngleLaw | None = None, axis: Axis = 'z', angle: Number | None = None) -> FixedServoJoint:
        """A servo as a constraint, about ``axis`` of both places: ν = 0 and φ̈ = f(t, φ, φ̇), or φ(t).

        law: the angular acceleration f, a function of (time, angle, its rate); or else
        angle: φ, a number or a function of time, at position level.
        """

    def rigid_rope(self, name: str, path: Sequence[Node], length: Number, restitution: Number = 0.0, rebound_threshold: Number = 1e-05) -> RigidRope:
        """A rope along a ``path`` of places and pulleys that is never longer than ``length``: slack, or
        taut with its multiplier as tension.

        The parameter ``name.touching`` is 1 where it is taut; ``simulate`` sets it as the motion goes.

        path: as for ``rope``.
        restitution: Newton's, from 0 to 1.
        rebound_threshold: speed in m/s below which nothing rebounds.
        """

    def belt(self, name: str, first: Coordinate, second: Coordinate, radii: Vector, crossed: bool = False) -> Belt:
        """A belt or chain that neither slips nor stretches, on two pulleys of ``radii`` r₁, r₂: r₁ φ₁ −
        r₂ φ₂ = 0, or, ``crossed``, r₁ φ₁ + r₂ φ₂ = 0.

        radii: r₁ and r₂ of the pulleys on the joints ``first`` and ``second``.
        crossed: True turns the second one the other way.
        """

    def rack_and_pinion(self, name: str, pinion: Coordinate, rack: Coordinate, radius: Number, offset: Number = 0) -> RackAndPinion:
        """The joint ``rack`` moves by x = radius φ + offset as the joint ``pinion`` turns by φ.

        radius: of the pinion's pitch circle; negative for a rack on its other side.
        """

    def rigid_gears(self, name: str, pinion: JointOrName, wheel: JointOrName, teeth: Vector, module: float, pressure_angle: float = 0.3490658503988659) -> RigidGears:
        """Rigid involute teeth without play: n·(v₁ − v₂) = 0 at the pitch point, with n along the base
        tangent. The ratio is −z₁/z₂.

        pinion, wheel, teeth, module, pressure_angle: as for ``involute_gears``.
        """

    def guide(self, name: str, at: Place, on: Place, curve: Curve, friction: FrictionLaw = 0) -> Guide:
        """The place ``at`` stays on a ``curve`` r(s) of the place ``on``: p − r(s) = 0, in the axes of
        on.

        s is a coordinate of its own without inertia, ``name.s``; the three multipliers are the force on
        the point, which therefore is across the curve: λ·r′(s) = 0. Friction along it
        goes with |λ|.

        curve: one of ``mg.curves``; its parameter is the coordinate ``name.s``.
        friction: along it, a coefficient or a law ``mg.Friction``.
        """

    def omni_wheel(self, name: str, wheel: Place, radius: Number, axis: Axis = 'y', rollers: Number = 0, floor: Place = 'ground') -> OmniWheel:
        """A wheel of ``radius`` on the plane z = 0 of the ``floor`` grips along the axes of its rollers
        only: d·v = 0 for its lowest point.

        axis: that the wheel turns about, in its place.
        rollers: angle between their axes and the rim: 0 for an omni-wheel (d level along the rim), ±π/4
            for Mecanum's.
        """
