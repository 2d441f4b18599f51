"""Terms written down by hand, at random, and the same text evaluated by NumPy and SciPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import mechgraph as mg

PLAIN = SimpleNamespace(sin=np.sin, cos=np.cos, exp=np.exp)
DURATION = 1.5


def random_text(seed: int) -> tuple[list[str], list[str], str, str]:
    """Coordinates, speeds, and the texts of M and f; there may be more speeds than coordinates."""
    random = np.random.default_rng([seed, 3])
    count = int(random.integers(1, 5))
    extra = int(random.integers(0, 2))
    names = [f"x{k}" for k in range(count)]
    rates = [f"v{k}" for k in range(count)] + [f"i{k}" for k in range(extra)]
    size = count + extra
    root = np.round(random.uniform(-1, 1, (size, size)), 2)
    constant = np.round(root @ root.T + np.eye(size), 4)
    M = [[repr(float(x)) for x in row] for row in constant]
    for k in range(size):
        M[k][k] += f" + 0.3 * mg.cos(v[{names[k % count]!r}])"
    rows = [_force(random, names, rates, rate) for rate in rates]
    return names, rates, f"[{', '.join('[' + ', '.join(row) + ']' for row in M)}]", _list(rows)


def _force(random: np.random.Generator, names: list[str], rates: list[str], rate: str) -> str:
    a, b, c, d = (round(float(x), 2) for x in random.uniform(0.1, 2, 4))
    x, y = (f"v[{str(random.choice(names))!r}]" for _ in range(2))
    other = f"v[{str(random.choice(rates))!r}]"
    spring = f"-{a} * {x} - {b} * v[{rate!r}]"
    return f"{spring} + {c} * mg.sin({y}) * {other} + v['k'] * mg.sin({d} * v['t']) + v['w']"


def _list(items: list[str]) -> str:
    return f"[{', '.join(items)}]"


def random_terms(seed: int) -> str:
    """A program that makes ``terms``."""
    names, rates, M, f = random_text(seed)
    N = [[float(j == k) for k in range(len(rates))] for j in range(len(names))]
    head = f"v = mg.variables({names}, {rates}, ['w'], {{'k': 1.3}})"
    terms = f"terms = mg.Terms(v, name='written', N={N}, M={M}, f={f})"
    return f"import mechgraph as mg\n{head}\n{terms}"


def motion(seed: int, start: np.ndarray) -> np.ndarray:
    """The end of the motion by SciPy, from the same text."""
    names, rates, M, f = random_text(seed)

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        values = dict(zip([*names, *rates], y, strict=True)) | {"t": t, "w": 0.4, "k": 1.3}
        known = {"v": values, "mg": PLAIN}
        udot = np.linalg.solve(np.array(eval(M, known)), np.array(eval(f, known)))
        return np.concatenate([y[len(names) :][: len(names)], udot])

    return solve_ivp(slope, (0, DURATION), start, "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]


def gap(seed: int, equations: mg.Equations) -> float:
    """How far the end of a run is from SciPy's."""
    size = len(equations.coordinates) + len(equations.speeds)
    start = np.random.default_rng([seed, 4]).uniform(-1, 1, size)
    q, u = start[: len(equations.coordinates)], start[len(equations.coordinates) :]
    run: Any = equations.simulate(DURATION, (q, u), inputs={"w": 0.4})
    end = np.concatenate([run.q[-1], run.u[-1]])
    return float(np.abs(end - motion(seed, start)).max())
