"""Gear train with backlash: a motor, two meshes with play, and a load that sticks.

The shafts a, b, c turn with the ratios a : b = −3 : 1 and b : c = −2 : 1. Each mesh has a play, and
teeth of a finite stiffness and damping: nothing acts while a + 3b (b + 2c) is within half its play,
beyond it a spring and damper that never pulls. The load's bearing has dry friction.

- From the middle of all plays the motor's torque τ turns the first shaft alone, and its teeth meet
  after √(J_a j₁/τ) at j₁/2.
- When all has settled, the train accelerates as one: the inertia that the motor feels is
  J = J_a + J_b/9 + J_c/36, the load's friction R is R/6 there, and the teeth are pressed together
  by what is needed behind them, (J_b/9 + J_c/36) ω̇ + R/6 and, on shaft b, three times what is left
  of that without J_b.
- Without damping the meshes rattle; then the motion is compared with an integration by SciPy.
- The load stands still, to the last digit, until its teeth meet.

All data are chosen by us.
"""

import numpy as np
from scipy.integrate import solve_ivp

import mechgraph as mg
from mechgraph.gallery import present, verified

INERTIAS = {"a": 2e-3, "b": 1e-2, "c": 5e-2}
PLAYS, STIFFNESSES, DAMPINGS = (0.04, 0.02), (400.0, 2000.0), (0.3, 1.5)
TORQUE, RUBBING = 0.8, 1.2
LOAD = INERTIAS["b"] / 9 + INERTIAS["c"] / 36
START = {"a": 0.0, "b": 0.0, "c": 0.0}
DURATION = 0.8
OPTIONS = {"rtol": 1e-11, "atol": 1e-13, "step": 2e-3, "inputs": {"torque": 5.0}}


def system(damped: bool = True, rubbing: float = RUBBING) -> mg.System:
    """The train; the input ``torque`` is limited to what the motor can give."""
    s = mg.System("gear train")
    friction = {"c": rubbing} if rubbing else {}
    for k, (name, inertia) in enumerate(INERTIAS.items()):
        wheel = s.body(f"wheel {name}", mass=1.0, inertia=(inertia,) * 3)
        s.revolute(name, s.ground, wheel, at=(0.1 * k, 0, 0), friction=friction.get(name))
    ratios = {"first mesh": {"a": 1.0, "b": 3.0}, "second mesh": {"b": 1.0, "c": 2.0}}
    for (name, ratio), play, stiffness, damping in zip(
        ratios.items(), PLAYS, STIFFNESSES, DAMPINGS, strict=True
    ):
        s.backlash(name, ratio, play, stiffness, damping if damped else 0.0)
    s.drive("motor", "a", s.input("torque"), effort=TORQUE)
    return s


def by_scipy(duration: float) -> np.ndarray:
    """The angles of the undamped train without friction at the end."""
    M, coefficients = np.diag(list(INERTIAS.values())), np.array([[1, 3, 0], [0, 1, 2]])

    def motion(t: float, y: np.ndarray) -> np.ndarray:
        x = coefficients @ y[:3]
        beyond = x - np.clip(x, -np.array(PLAYS) / 2, np.array(PLAYS) / 2)
        efforts = -coefficients.T @ (STIFFNESSES * beyond) + [TORQUE, 0, 0]
        return np.concatenate([y[3:], np.linalg.solve(M, efforts)])

    tight = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14, "max_step": 2e-4}
    return solve_ivp(motion, (0, duration), np.zeros(6), **tight).y[:3, -1]


def settled(run: mg.Trajectory) -> np.ndarray:
    """ω̇ of the motor, and how far both meshes are beyond their play, at the end."""
    x = np.array([run["a"][-1] + 3 * run["b"][-1], run["b"][-1] + 2 * run["c"][-1]])
    return np.array([run["a''"][-1], *(np.abs(x) - np.array(PLAYS) / 2)])


def check() -> dict[str, float]:
    """First contact, common motion, wind-up, rattling, work."""
    eqs = system().equations()
    touch = mg.Event(lambda m: m.coordinate("a") + 3 * m.coordinate("b") - PLAYS[0] / 2, stop=False)
    run = eqs.simulate(DURATION, START, events={"touch": touch}, **OPTIONS)
    felt = RUBBING / 6
    rate = (TORQUE - felt) / (INERTIAS["a"] + LOAD)
    behind = INERTIAS["c"] / 36 * rate + felt
    pressed = np.array([LOAD * rate + felt, 3 * behind]) / STIFFNESSES
    stuck = np.flatnonzero(np.diff(run.modes["c friction.sticking"]) < 0)[0]
    alone = system(damped=False, rubbing=0.0).equations()
    rattling = alone.simulate(0.2, START, **OPTIONS)
    return verified(
        {
            "first contact (s)": (
                abs(run.events["touch"][0] - np.sqrt(INERTIAS["a"] * PLAYS[0] / TORQUE)),
                1e-9,
            ),
            "load before it moves (rad)": (np.abs(run["c"][: stuck + 1]).max(), 1e-15),
            "common motion, relative": (abs(settled(run)[0] / rate - 1), 1e-7),
            "wind-up (rad)": (np.abs(settled(run)[1:] - pressed).max(), 1e-9),
            "rattling (rad)": (np.abs(rattling.q[-1] - by_scipy(0.2)).max(), 1e-8),
            "energy balance (J)": (np.abs(run.imbalance).max(), 1e-8),
        }
    )


if __name__ == "__main__":
    present(system(), check)
