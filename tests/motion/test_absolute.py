"""Absolute coordinates against joint coordinates: the same accelerations of every body and the same
reactions."""

from __future__ import annotations

import warnings
from inspect import unwrap

import numpy as np
import pytest
from click.testing import CliRunner

import mechgraph as mg
from measure import gap
from mechgraph import cli, gallery
from mechgraph.runtime.stepper import METHODS
from mechgraph.studies.assembly.conversion import convert

SYSTEMS = (
    "double_pendulum",
    "fourbar",
    "slider_crank_3d",
    "garifulin",
    "heavy_top",
    "acrobot",
    "puma560",
)


@pytest.mark.parametrize("name", SYSTEMS)
def test_accelerations_and_reactions_are_those_of_joint_coordinates(name):
    example = gallery.load(name)
    system = example.system()
    joint, free = system.equations(), system.equations("absolute")
    t = 0.3
    q, u = joint.assemble(example.start, t=t, guess=example.guess)
    Q, U = convert(joint, free, q, u, t)
    np.testing.assert_allclose(free.position_violation(Q, t), 0, atol=1e-10)
    np.testing.assert_allclose(
        free.velocity_violation(Q, U, t), 0, atol=1e-9 * max(1.0, np.abs(u).max())
    )
    for body in system.bodies.values():
        quantity = _accelerations(body)
        expected = joint.observe(quantity, q, u, t)
        np.testing.assert_allclose(
            free.observe(quantity, Q, U, t),
            expected,
            rtol=0,
            atol=1e-9 * max(1.0, np.abs(expected).max()),
        )
    if (
        not joint.constraints or name == "slider_crank_3d"
    ):  # redundant rows share their load as the coordinates have it
        for name in system.joints:
            expected = joint.reaction(name, q, u, t)
            np.testing.assert_allclose(
                free.reaction(name, Q, U, t),
                expected,
                rtol=0,
                atol=1e-9 * max(1.0, np.abs(expected).max()),
            )


def _accelerations(body: mg.Body):
    return lambda m: [m.acceleration(body), m.angular_acceleration(body)]


def test_the_same_motion():
    example = gallery.load("fourbar")
    runs = [
        example.system()
        .equations(formalism)
        .simulate(2.0, example.start, guess=example.guess, rtol=1e-10, method="rk8")
        for formalism in ("newton-euler", "absolute")
    ]
    for name in ("qA", "qB", "qC"):
        np.testing.assert_allclose(runs[1][name], runs[0][name], atol=1e-7)
    assert runs[1].violation.max() < 1e-11


def test_cost_is_linear_in_the_number_of_bodies():
    def operations(n: int) -> int:
        s = mg.System("chain", gravity=(0, 0, -9.81))
        parent = s.ground
        for k in range(n):
            body = s.body(f"b{k}", mass=1.0, com=(0, 0, 0.1), inertia=(0.1, 0.1, 0.1))
            s.revolute(f"j{k}", parent, body, axis="xy"[k % 2], at=(0, 0, 0.2 if k else 0))
            parent = body
        eqs = s.equations("absolute")
        return eqs.numeric.kernel(
            "udot", lambda: [eqs.numeric.closed.udot], [1]
        ).function.n_instructions()

    assert (operations(24) - operations(12)) / 12 == pytest.approx(
        (operations(12) - operations(6)) / 6, rel=0.05
    )


# --- every study ----------------------------------------------------------------------------------

# tree, loop, quaternion, driven, mixed
STUDIED = (
    "double_pendulum",
    "fourbar",
    "heavy_top",
    "garifulin",
    "slider_crank_3d",
)


def both(name: str) -> tuple[gallery.Example, mg.Equations, mg.Equations]:
    example = gallery.load(name)
    system = example.system()
    return example, system.equations(), system.equations("absolute")


@pytest.mark.parametrize("name", STUDIED)
def test_the_same_run(name):
    """Motion, energy, power and reactions of a short run, by the names of joints and bodies."""
    example, joint, free = both(name)
    options = {"start": example.start, "guess": example.guess, "rtol": 1e-11, "step": 0.02}
    expected, run = (e.simulate(0.1, **options) for e in (joint, free))
    scalar = [
        name
        for name, each in joint.system.joints.items()
        if len(each.coordinates) == len(each.speeds) > 0
    ]
    for column in (
        *scalar,
        *joint.system.bodies,
    ):  # a measured quaternion has the other sign half of the time
        assert gap(expected[column], run[column], floor=1.0) < 1e-8, column
    assert gap(expected.energy, run.energy, floor=1.0) < 1e-8
    assert gap(expected.power, run.power, floor=expected.kinetic.max()) < 1e-7
    assert run.violation.max() < 1e-11
    if not joint.redundant(*joint.assemble(example.start, guess=example.guess)):
        for column in joint.system.joints:
            assert gap(expected.reaction(column), run.reaction(column), floor=1.0) < 1e-7, column


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method):
    example, joint, free = both("fourbar")
    loose = method in ("radau", "rk45")
    options = {"start": example.start, "guess": example.guess, "step": 0.05}
    expected = joint.simulate(0.1, **options, rtol=1e-10)
    run = free.simulate(0.1, **options, rtol=1e-6 if loose else 1e-9, method=method)
    assert np.abs(run["qA"] - expected["qA"]).max() < (1e-4 if loose else 1e-7)
    assert run.violation.max() < 1e-11


@pytest.mark.parametrize("stabilization", ["baumgarte", "none"])
def test_other_ways_to_keep_constraints(stabilization):
    example, joint, free = both("fourbar")
    options = {"start": example.start, "guess": example.guess, "step": 0.05, "rtol": 1e-10}
    expected, run = (
        joint.simulate(0.2, **options),
        free.simulate(0.2, stabilization=stabilization, **options),
    )
    assert np.abs(run["qA"] - expected["qA"]).max() < 1e-6
    assert run.violation.max() < 1e-6


@pytest.mark.smoke
def test_a_start_by_the_names_of_bodies():
    _, joint, free = both("double_pendulum")
    body = next(iter(free.system.bodies))
    q, _ = joint.assemble({joint.coordinates[0]: 0.7})
    place = free.assemble({joint.coordinates[0]: 0.7})[0][
        list(free.terms.chart.joint_coordinates[body])
    ]
    there, _ = free.assemble({body: place})
    np.testing.assert_allclose(
        there[list(free.terms.chart.joint_coordinates[body])], place, atol=1e-9
    )
    assert np.abs(free.position_violation(there)).max() < 1e-10
    assert joint.position(body, q) == pytest.approx(free.position(body, there), abs=1e-9)


def test_equilibria_and_linear_models_have_the_same_frequencies():
    _, joint, free = both("fourbar")
    guess = {"qA": 1.5}
    rest = [e.equilibrium(guess) for e in (joint, free)]
    angles = [
        e.observe(lambda m: m.coordinate("qA"), *state)
        for e, state in zip((joint, free), rest, strict=True)
    ]
    assert angles[1] == pytest.approx(angles[0], abs=1e-9)
    models = [e.linearize(state) for e, state in zip((joint, free), rest, strict=True)]
    np.testing.assert_allclose(models[1].eigenvalues(), models[0].eigenvalues(), atol=1e-8)


def test_steady_motions_are_found_in_joint_coordinates():
    s = mg.System("governor", gravity=(0, 0, -9.81))
    arm = s.body("arm", mass=1.0, com=(0, 0, -0.5), inertia=(0.01, 0.01, 0.001))
    s.universal("pivot", s.ground, arm, axis="z", second_axis="y")
    equations = s.equations("absolute")
    q, u = equations.steady(
        {"pivot.second": 1.0, "pivot.first'": 6.0}, hold=["pivot.first", "pivot.first'"]
    )
    tilt = equations.observe(lambda m: m.coordinate("pivot.second"), q)[0]
    rate = equations.observe(lambda m: m.speed("pivot.first'"), q, u)[0]
    # (A − C) Ω² cos ϑ = m g l, about the pivot
    inertia, moment = (
        0.01 + 0.25 - 0.001,
        1.0 * 9.81 * 0.5,
    )
    assert rate == pytest.approx(6.0)
    assert np.cos(tilt) == pytest.approx(moment / inertia / 36.0, rel=1e-8)


def test_rollouts_events_c_and_pictures(tmp_path):
    example, joint, free = both("double_pendulum")
    state, expected = (e.assemble(example.start) for e in (free, joint))
    rolled = free.rollout(state[0][None], state[1][None], step=1e-3, steps=50)
    there = joint.rollout(expected[0][None], expected[1][None], step=1e-3, steps=50)
    body = list(free.system.bodies)[-1]
    places = [e.position(body, r.q[0, -1]) for e, r in ((free, rolled), (joint, there))]
    np.testing.assert_allclose(*places, atol=1e-8)
    hinge = joint.coordinates[0]
    quantity = lambda m: m.coordinate(hinge) - example.start[hinge] / 2  # noqa: E731
    runs = [
        e.simulate(1.0, example.start, step=0.1, rtol=1e-10, events={"turn": mg.Event(quantity)})
        for e in (free, joint)
    ]
    assert runs[0].time[-1] == pytest.approx(runs[1].time[-1], abs=1e-7)
    assert len(free.export_c(tmp_path / "model")) == 3
    for path in (runs[0].view(tmp_path / "run.html"), runs[0].report(tmp_path / "report.html")):
        assert (tmp_path / path.name).stat().st_size > 1000
    loaded = mg.load_run(runs[0].save(tmp_path / "run.npz"), free.system)
    np.testing.assert_array_equal(loaded[body], runs[0][body])


def test_inverse_dynamics_names_what_works():
    _, _, free = both("double_pendulum")
    with pytest.raises(
        mg.UnsupportedError, match="use a formalism in joint coordinates, such as newton-euler"
    ):
        free.inverse_dynamics(*(np.zeros(n) for n in (14, 12, 12)))


def test_the_command_line():
    done = CliRunner().invoke(
        cli.main, ["run", "double_pendulum", "--formalism", "absolute", "--duration", "0.1"]
    )
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6])
def test_accelerations_near_a_singular_position(distance):
    """All bars of the four-bar nearly in line: the last row that tells the two ways on is as weak
    as the distance."""
    system = gallery.load("a02_fourbar").system()
    jointed, equations = system.equations(), system.equations("absolute")
    angle = -np.pi / 2 + distance
    q = np.array([angle if name[0] == "A" else -angle for name in jointed.coordinates])
    u = np.array([-5.0 if name[0] == "A" else 5.0 for name in jointed.speeds])
    expected = jointed.observe(lambda m: m.angular_acceleration("up 0"), q, u)
    state = convert(jointed, equations, q, u)
    assert equations.mobility(state[0]) == 1
    assert equations.observe(lambda m: m.angular_acceleration("up 0"), *state)[2] == pytest.approx(
        expected[2], rel=2e-8
    )


def test_singular_positions_are_passed_at_default_settings():
    """One parallelogram for ten seconds, through its flat position again and again, against its one
    equation of motion."""
    example = gallery.load("a02_fourbar")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it tells what rounding leaves there
        run = example.system(N=1).equations("absolute").simulate(10.0, example.start, step=0.1)
    exact = unwrap(example.system).__globals__["reduced"](1, run.time)
    assert np.abs(run["top"][:, :2] - exact[:, :2]).max() < 2e-5


def test_a_rod_between_two_points_of_one_body_is_no_constraint():
    s = mg.System("rod in a body", gravity=(0, 0, -9.81))
    body = s.body("body", mass=1.8, inertia=(0.02, 0.02, 0.03))
    s.free("place", s.ground, body)
    ends = np.array([[0.41, -0.094, -0.566], [0.533, -0.214, -0.008]])
    markers = [s.marker(f"end {k}", body, at=tuple(end)) for k, end in enumerate(ends)]
    s.distance("rod", *markers, float(np.linalg.norm(np.diff(ends, axis=0))))
    assert mg.agreement(s, states=3, seed=29).worst < 1e-12


@pytest.mark.slow
def test_machine_code_does_not_ask_for_accelerations_at_the_reference():
    """Where the disc's frame and its chain do not fit together, and so nothing holds it."""
    equations = gallery.load("disc_three_ways").system().equations("absolute")
    with pytest.raises(mg.ArgumentError, match="singular"):
        equations.accelerations(equations.terms.chart.reference, np.zeros(len(equations.speeds)))
    assert equations.compile() in (True, False)
    assert np.isfinite(equations.accelerations(*equations.assemble({"place.tilt": 0.4}))).all()


@pytest.mark.parametrize("ends", [("ground", "b"), ("b", "ground")])
@pytest.mark.parametrize("kind", ["free", "spherical"])
def test_speeds_across_frames_that_time_drives(kind, ends):
    """What turns in time on its body is no part of the speeds of a joint, wherever it is read."""
    s = mg.System("driven frames")
    s.body("b", 1.4, (-0.4, -0.3, -0.1), (0.3, 0.4, 0.2))
    s.body("c", 1.4, (-0.4, -0.3, -0.1), (0.3, 0.4, 0.2))
    s.free("j0", "ground", "b")
    waves = [0.7 * mg.sin(k * s.time + 0.3) for k in (1.1, 1.7, 2.3)]
    parent, child = ("c" if end == "ground" else end for end in ends)
    turning = [("x", waves[0]), ((0, 0.6, 0.8), waves[1])]
    places = {"at": waves, "orientation": turning[::-1], "child_at": waves[::-1]}
    getattr(s, kind)("j", parent, child, **places, child_orientation=turning)
    names = [name for name in s.equations().speeds if name.startswith("j.")]
    s.force("damper", "c", lambda m: -m.speed("j.wx") * m.axis("b", "y"))
    start = {name: 0.1 * (k + 1) for k, name in enumerate(names)}
    absolute = s.equations("absolute")
    q, u = absolute.assemble(start, t=0.4)
    for name, value in start.items():
        assert absolute.observe(name, q, u, 0.4) == pytest.approx(value, abs=1e-12)
    found = mg.agreement(s, 2, formalisms=["absolute"])
    assert found.ok, found
