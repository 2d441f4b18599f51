"""Snakeboard: a board on two steered axles that a swinging flywheel drives, turns on the spot and
parks sideways.

I. Kosenko, *How one can arrange the multibody system dynamics computer model*: nine bodies, two
halves of the board, a flywheel, two rods and four wheels, and twelve constraints: the halves are
coupled elastically along the board (and may twist), three servos with vertical axes turn the
flywheel and the rods, the wheels sit elastically on the rods and roll on the floor.
``system(network=True)`` is that, with every body free and joints that are constraints, 54 speeds
and 50 rows; ``system()`` is the same machine as a tree with driven joints, 16 speeds and 12 rows,
for fast runs. Both have four freedoms: the run of the board, and three of the springs.

The servos turn by φ = ±a sin ω t (front and rear axle) and ψ = b sin ω′ t (flywheel), a = 0.3, b =
0.7. The gaits are *drive* ω′ = ω, *rotate* ω′ = 2 ω and *parking* 2 ω′ = 3 ω. The source has no
numbers; ours: 6 kg in all, inertias about the vertical
0.016 (board), 0.072 (flywheel) and 0.0013 kg m² (axle), half a wheelbase l = 0.2 m (figures in
circulation for this system, not checked against their origin); wheels of 5 cm; c = 10⁴ N/m, d = 300
N s/m. Masses of rods and wheels, 0.2 and 0.1 kg, have a factor ε.

The check is the reduced model, which neglects those masses and the springs, J the sum of all
inertias about the vertical:

    ẋ = u cos θ,   ẏ = u sin θ,   θ̇ = u tan φ / l,
    (m + J tan² φ / l²) u̇ + J tan φ (1 + tan² φ) φ̇ u / l² = −J_r tan φ ψ̈ / l.

All gaits are compared with it at small ε, with springs a hundred times as stiff, so that what is
left is due to ε: the difference goes to zero in proportion to it. Servos supply and dampers take
what the energy balance says. Network and tree are compared in the accelerations of all bodies at
states of a run; a run of the network itself takes minutes to compile.
"""

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph.gallery import present, verified

MASS, ROTOR, ROD, WHEEL = 6.0, 2.0, 0.2, 0.1  # kg; the first is the board with the rotor
J_BOARD, J_ROTOR, J_AXLE = 0.016, 0.072, 0.0013  # kg m², about the vertical
HALF, TRACK, R, G = 0.2, 0.08, 0.05, 9.81  # half the wheelbase, half an axle, wheels
STIFFNESS, DAMPING = 1e4, 300.0
STEER, SWING = 0.3, 0.7
BAR, OFFSET = (MASS - ROTOR) / 2, 0.05  # a half of the board, and its mass centre from the middle
J_BAR = J_BOARD / 2 - BAR * OFFSET**2
ENDS, SIDES = {"rear": -1, "front": 1}, {"left": 1, "right": -1}
BODIES = ["rear half", "front half", "flywheel", *(f"{end} rod" for end in ENDS)]
BODIES += [f"{end} {side} wheel" for end in ENDS for side in SIDES]
# ω of the axles, ω′ of the flywheel
GAITS = {
    "drive": (1.0, 1.0),
    "rotate": (1.0, 2.0),
    "parking": (2.0, 3.0),
}
REST = {"board.x'": 0.0, "board.y'": 0.0, "board.wz": 0.0}
START = {**REST, "board.x'": 0.1}
PERIOD = 2 * np.pi
DURATION = 4 * PERIOD
OPTIONS = {"rtol": 1e-9, "step": PERIOD / 100}


class Tree:
    """Joints of the tree: what a servo turns has no coordinate; elastic joints are cylindrical."""

    def __init__(self, s: mg.System, c: ca.SX, d: ca.SX) -> None:
        self.s, self.c, self.d = s, c, d

    def servo(self, name: str, a: mg.Marker, b: mg.Body, place: tuple, angle: ca.SX) -> None:
        """b turns on a about the vertical as it is told."""
        self.s.joint(name, a, b, [mg.rot("z", angle)])

    def elastic(self, name: str, a: mg.Marker, b: mg.Body, place: tuple, axis: str) -> None:
        """b turns freely on a about an axis and shifts along it against a spring."""
        self.s.cylindrical(name, a, b, axis=axis, stiffness=[0, self.c], damping=[0, self.d])


class Network(Tree):
    """Joints of the network: bodies are free, and constraints hold them."""

    def servo(self, name: str, a: mg.Marker, b: mg.Body, place: tuple, angle: ca.SX) -> None:
        self.s.free(f"{name} body", self.s.ground, b, at=place)
        self.s.fixed_servo_joint(name, a, b, angle=angle)

    def elastic(self, name: str, a: mg.Marker, b: mg.Body, place: tuple, axis: str) -> None:
        self.s.free(f"{name} body", self.s.ground, b, at=place)
        self.s.spring_ideal_joint(name, a, b, axis=axis, stiffness=self.c, damping=self.d)


def system(network: bool = False) -> mg.System:
    """The board runs along x; the frames of both halves are in its middle, at the height of the
    axles."""
    s = mg.System("snakeboard", gravity=(0, 0, -G))
    small = s.parameter("epsilon", 1.0)
    steering, swinging = s.parameter("steering", 1.0), s.parameter("swinging", 1.0)
    joints = (Network if network else Tree)(
        s, s.parameter("c", STIFFNESS), s.parameter("d", DAMPING)
    )
    halves = {
        end: s.body(
            f"{end} half", mass=BAR, com=(sign * OFFSET, 0, 0), inertia=(J_BAR, J_BAR, J_BAR)
        )
        for end, sign in ENDS.items()
    }
    s.free("board", s.ground, halves["rear"], at=(0, 0, R))
    joints.elastic("coupler", s.marker("middle", halves["rear"]), halves["front"], (0, 0, R), "x")
    flywheel = s.body("flywheel", mass=ROTOR, inertia=(J_ROTOR, 0.001, J_ROTOR))  # a bar along y
    joints.servo(
        "motor",
        s.marker("seat", halves["rear"]),
        flywheel,
        (0, 0, R),
        SWING * mg.sin(swinging * s.time),
    )
    for end, sign in ENDS.items():
        pivot = s.marker(f"{end} pivot", halves[end], at=(sign * HALF, 0, 0))
        rod = s.body(f"{end} rod", mass=ROD * small, inertia=(J_AXLE, 1e-4, J_AXLE))
        joints.servo(
            f"{end} steering",
            pivot,
            rod,
            (sign * HALF, 0, R),
            sign * STEER * mg.sin(steering * s.time),
        )
        for side, where in SIDES.items():
            add_wheel(joints, f"{end} {side}", rod, small, (sign * HALF, where * TRACK, R))
    return s


def add_wheel(joints: Tree, name: str, rod: mg.Body, small: ca.SX, place: tuple) -> None:
    """A uniform disc on its rod and on the floor."""
    s = joints.s
    wheel = s.body(
        f"{name} wheel",
        mass=WHEEL * small,
        inertia=WHEEL * small * R**2 * np.array([0.25, 0.5, 0.25]),
    )
    joints.elastic(
        f"{name} bearing", s.marker(f"{name} hub", rod, at=(0, place[1], 0)), wheel, place, "y"
    )
    rim = s.marker(f"{name} rim", wheel, orientation=[("x", -np.pi / 2)])
    s.roll(f"{name} floor", mg.Disc(rim, R), mg.Plane(s.ground))


# --- the reduced model ----------------------------------------------------------------------------


def reduced(gait: str, times: np.ndarray) -> np.ndarray:
    """x, y, θ, u at the times, from rest."""
    state, t = ca.SX.sym("state", 4), ca.SX.sym("t")
    theta, u = state[2], state[3]
    steering, swinging = GAITS[gait]
    slope = mg.tan(phi := STEER * mg.sin(steering * t))
    acceleration = -SWING * swinging**2 * mg.sin(swinging * t)
    J = J_BOARD + J_ROTOR + 2 * J_AXLE
    turning = J * slope * (1 + slope**2) * ca.jacobian(phi, t) * u / HALF**2
    rate = (-J_ROTOR * slope * acceleration / HALF - turning) / (MASS + J * slope**2 / HALF**2)
    problem = {
        "x": state,
        "t": t,
        "ode": ca.vertcat(u * mg.cos(theta), u * mg.sin(theta), u * slope / HALF, rate),
    }
    options = {"linear_multistep_method": "adams", "reltol": 1e-12, "abstol": 1e-14}
    flow = ca.integrator("reduced", "cvodes", problem, times[0], list(times[1:]), options)
    return np.vstack([np.zeros(4), np.array(flow(x0=np.zeros(4))["xf"]).T])


def run_of(
    equations: mg.Equations, gait: str, epsilon: float, duration: float = PERIOD, **options: float
) -> mg.Trajectory:
    """A run of a gait from rest."""
    steering, swinging = GAITS[gait]
    parameters = {"epsilon": epsilon, "steering": steering, "swinging": swinging, **options}
    return equations.simulate(duration, REST, parameters=parameters, **OPTIONS)


def difference(run: mg.Trajectory, gait: str) -> float:
    """Largest distance of the middle of the board from that of the reduced model."""
    return np.linalg.norm(run["rear half"][:, :2] - reduced(gait, run.time)[:, :2], axis=1).max()


# --- the network ----------------------------------------------------------------------------------


def network_state(
    network: mg.Equations, tree: mg.Equations, q: np.ndarray, u: np.ndarray, t: float
) -> tuple[np.ndarray, np.ndarray]:
    """The state of the network, where all bodies are free, that is a state of the tree."""
    places, speeds = [], []
    for joint in network.system.joints.values():
        body = joint.child.body.name
        turn = Rotation.from_matrix(tree.rotation(body, q, t)).as_quat(scalar_first=True)
        places += [*(tree.position(body, q, t) - np.array(ca.DM(joint.parent.at)).ravel()), *turn]
        speeds += [
            *tree.observe(
                lambda m, b=body: [m.velocity(b), m.angular_velocity(b, in_frame=b)], q, u, t
            )
        ]
    return np.array(places), np.array(speeds)


def network_error(run: mg.Trajectory) -> tuple[float, float]:
    """Accelerations of all bodies in the network and in the tree, relative; and what the network's
    constraints miss."""
    tree, network = run.equations, system(network=True).equations()
    off, missed = 0.0, 0.0
    for row in np.linspace(0, len(run) - 1, 4).astype(int):
        q, u, t = run.q[row], run.u[row], run.time[row]
        Q, U = network_state(network, tree, q, u, t)
        found, expected = (
            network.observe(accelerations, Q, U, t),
            tree.observe(accelerations, q, u, t),
        )
        off = max(off, np.abs(found - expected).max() / np.abs(expected).max())
        missed = max(
            missed,
            np.abs(network.velocity_violation(Q, U, t)).max(),
            np.abs(network.position_violation(Q, t)).max(),
        )
    return off, missed


def accelerations(m: mg.Motion) -> list[ca.SX]:
    """Of the bodies that both systems have."""
    return [x for body in BODIES for x in (m.acceleration(body), m.angular_acceleration(body))]


def check() -> dict[str, float]:
    """The gaits, the limit of small ε, the energy balance, and the network."""
    equations = system().equations()
    stiff = {"c": 100 * STIFFNESS, "d": 10 * DAMPING}
    light, lighter = (
        {gait: run_of(equations, gait, e, **stiff) for gait in GAITS} for e in (0.01, 0.001)
    )
    off = {gait: difference(light[gait], gait) / difference(lighter[gait], gait) for gait in GAITS}
    yaw = lighter["rotate"].observe(
        lambda m: mg.atan2(m.axis("rear half", "x")[1], m.axis("rear half", "x")[0])
    )[-1, 0]
    run = run_of(equations, "drive", 1.0)
    apart, missed = network_error(run)
    return verified(
        {
            "drive: 0.1244 m along the board in a period": (
                abs(lighter["drive"]["rear half"][-1, 0] - 0.1244),
                1e-4,
            ),
            "rotate: 0.1208 rad in a period": (abs(yaw - 0.1208), 1e-4),
            "parking: 7.7 mm sideways in a period": (
                abs(lighter["parking"]["rear half"][-1, 1] - 0.0077),
                5e-5,
            ),
            "reduced model, ε = 0.001: distance": (
                max(difference(lighter[gait], gait) for gait in GAITS),
                3e-5,
            ),
            "ε = 0.01: 10 times that, relative": (
                max(abs(ratio / 10 - 1) for ratio in off.values()),
                0.03,
            ),
            "energy balance, relative": (np.abs(run.imbalance).max() / run.supplied[-1], 1e-9),
            "constraint violation": (
                max(r.violation.max() for r in (run, *light.values(), *lighter.values())),
                1e-9,
            ),
            "network and tree: accelerations, relative": (apart, 1e-9),
            "network: constraints at states of the tree": (missed, 1e-12),
        }
    )


if __name__ == "__main__":
    present(system(), check)
