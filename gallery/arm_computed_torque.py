"""Seven-joint arm under computed torque, sampled at 1 kHz.

The arm has the proportions of light-weight arms (0.34, 0.40, 0.39 and 0.13 m to shoulder, elbow,
wrist and flange); masses and inertias are ours. At each sample the torques are those of inverse
dynamics for q̈ = r̈ + k_d (ṙ − q̇) + k_p (r − q), held until the next; the reference r is a sine in
every joint, and the arm starts beside it. The law is an expression of the equations, so a run goes
from sample to sample in machine code.

Checks: at every moment instead of sampled, the errors obey ë + k_d ė + k_p e = 0 in closed form;
what holding costs is in proportion to the time between samples (first order); the same law as a
Python function with `efforts` gives the same motion.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

JOINTS = 7
KP, KD, RATE = 400.0, 40.0, 1000.0
MASSES = (4.0, 4.0, 3.0, 2.7, 1.7, 1.8, 0.3)
HEIGHTS = (0.34, 0.0, 0.40, 0.0, 0.39, 0.0, 0.13)  # from joint to joint, along the arm
AXES = "zyzyzyz"
SIGNS = (1, 1, 1, -1, 1, 1, 1)
AMPLITUDES = np.array([0.6, 0.4, 0.5, 0.5, 0.7, 0.4, 0.9])
SPEEDS = np.array([1.0, 1.3, 0.8, 1.1, 1.7, 1.5, 2.0])
OFFSETS = np.array([0.0, 0.5, 0.0, 1.2, 0.0, 0.8, 0.0])
BESIDE = np.array([0.1, -0.1, 0.05, 0.1, -0.05, 0.1, -0.1])
DURATION = 5.0
START = {f"q{k + 1}": float(OFFSETS[k] + BESIDE[k]) for k in range(JOINTS)}


def system() -> mg.System:
    """The arm upright, z up; coordinates q1 … q7, inputs torque1 … torque7."""
    arm = mg.System("seven-joint arm", gravity=(0, 0, -9.81))
    inner = arm.ground
    for k, (mass, height) in enumerate(zip(MASSES, HEIGHTS, strict=True)):
        length = (*HEIGHTS[1:], 0.1)[k]
        com = (0.01, 0.02, length / 2 + 0.05)
        across, along = mass * (0.003 + length**2 / 12), mass * 0.002
        link = arm.body(f"link{k + 1}", mass=mass, com=com, inertia=(across, across, along))
        axis = [SIGNS[k] * (letter == AXES[k]) for letter in "xyz"]
        arm.revolute(f"q{k + 1}", inner, link, axis=axis, at=(0, 0, height))
        arm.torque(f"motor{k + 1}", f"q{k + 1}", arm.input(f"torque{k + 1}"))
        inner = link
    arm.marker("tool", inner, at=(0, 0, 0.1))
    return arm


def reference(k: int):
    """r of joint k."""
    return lambda t: OFFSETS[k] + AMPLITUDES[k] * mg.sin(SPEEDS[k] * t)


def law(rate: float | None = RATE) -> mg.Controller:
    """Computed torque for all joints."""
    wanted = {f"q{k + 1}": reference(k) for k in range(JOINTS)}
    return mg.computed_torque(wanted, kp=KP, kd=KD, rate=rate)


OPTIONS = {"inputs": law()}


def errors(run: mg.Trajectory) -> np.ndarray:
    """q − r, a column for each joint."""
    return run.q - OFFSETS - AMPLITUDES * np.sin(np.outer(run.time, SPEEDS))


def closed_form(t: np.ndarray) -> np.ndarray:
    """e = (e₀ + (ė₀ + a e₀) t) exp(−a t), both roots being −a."""
    a, rates = KD / 2, -AMPLITUDES * SPEEDS
    return (BESIDE + np.outer(t, rates + a * BESIDE)) * np.exp(-a * t)[:, None]


def in_python(equations: mg.Equations):
    """The same law as a function of (t, q, u)."""

    def torques(t, q, u):
        r = OFFSETS + AMPLITUDES * np.sin(SPEEDS * t)
        v, a = (
            AMPLITUDES * SPEEDS * np.cos(SPEEDS * t),
            -AMPLITUDES * SPEEDS**2 * np.sin(SPEEDS * t),
        )
        return equations.efforts(q, u, a + KD * (v - u) + KP * (r - q), t)

    return torques


def check() -> dict[str, float]:
    """Errors in closed form, at every moment and sampled; the same in Python."""
    eqs = system().equations()
    runs = {
        rate: eqs.simulate(0.5, START, inputs=law(rate), rtol=1e-10, step=0.01)
        for rate in (None, 500.0, 1000.0)
    }
    off = {rate: np.abs(errors(run) - closed_form(run.time)).max() for rate, run in runs.items()}
    python = mg.sampled(in_python(eqs), 1000)
    called = eqs.simulate(0.5, START, inputs=python, rtol=1e-10, step=0.01)
    return verified(
        {
            "at every moment: errors against the closed form (rad)": (off[None], 1e-8),
            "sampled at 1 kHz: what holding costs (rad)": (off[1000.0], 0.01),
            "sampled: its order, against 1": (abs(np.log2(off[500.0] / off[1000.0]) - 1), 0.05),
            "the law as a Python function: difference (rad)": (
                np.abs(called.q - runs[1000.0].q).max(),
                1e-9,
            ),
        }
    )


def figures():
    """Errors of the joints, and the torques."""
    run = system().equations().simulate(1.0, START, inputs=law(), step=1 / RATE)
    names = [f"q{k + 1}" for k in range(JOINTS)]
    angles = dict(zip(names, errors(run).T, strict=True))
    torques = {name: run[f"torque{name[1:]}"] for name in names}
    panels = {"q − r (rad)": angles, "torque (N m)": torques}
    return {"errors and torques": curves(run.time, panels)}


if __name__ == "__main__":
    present(system(), check)
