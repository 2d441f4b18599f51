"""What composed equations cost beside those of a plain system of joints, and what it costs to use a
part again.

    python benchmarks/composition.py            rewrites the section "composition" of RESULTS.md
    python benchmarks/composition.py --quick    small sizes, prints only

The five-bar mechanism of the gallery and a 3RRR mechanism, each composed with independent speeds
that are named and with the choice left open, against their plain twins. The accelerations of a
crank are compared first. Operations are counted, too: they tell without noise. Times are the least
of many short rounds in which the models take turns.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from runpy import run_path
from time import process_time

import casadi as ca
import numpy as np

import mechgraph as mg
from derivation import table, versions, write_section
from measuring import Call, fastest, microseconds
from mechgraph import gallery
from mechgraph.contract import accelerations

BATCH, TRAJECTORIES, STEPS, STEP = 4096, 512, 50, 1e-4
SQUARE = np.sqrt(3)
BASE = [(3, 0), (-1.5, 1.5 * SQUARE), (-1.5, -1.5 * SQUARE)]
VERTICES = [(1, 0), (-0.5, SQUARE / 2), (-0.5, -SQUARE / 2)]
ELBOWS = [(2, SQUARE), (-2.5, SQUARE / 2), (0.5, -1.5 * SQUARE)]
NEAR = {"mass": 0.5, "inertia": 2 / 3, "centre": 0.0}
FAR = {"mass": 0.5, "inertia": 1 / 6, "centre": 1.0}  # mass centres of the links, of the length 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, print only")
    quick = parser.parse_args().quick
    parts = [f"## Composition\n\n{versions()}", kernel_section(quick), leg_section(quick)]
    print("\n\n".join(parts))
    if not quick:
        write_section("composition", "\n\n".join(parts))


# --- kernels --------------------------------------------------------------------------------------


@dataclass
class Model:
    """Equations at a state, and the acceleration that all models of a mechanism must agree in."""

    name: str
    equations: mg.Equations
    q: np.ndarray
    u: np.ndarray
    watched: str

    @property
    def acceleration(self) -> float:
        index = self.equations.speeds.index(self.watched)
        return float(self.equations.accelerations(self.q, self.u)[index])

    def operations(self) -> tuple[int, int, int]:
        """Of u̇, of u̇ with its own check, and of the way back to the constraints."""
        closed, s = self.equations.numeric.closed, self.equations.terms.symbols
        checked = accelerations.checked(closed)
        arguments = [s.q, s.u, s.t, s.w, s.p]
        return tuple(_count(arguments, x) for x in (closed.udot, checked, closed.projected))


def _count(arguments: Sequence[ca.SX], value: ca.SX) -> int:
    function = ca.Function("f", list(arguments), [ca.cse(ca.densify(value))])
    moved = ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST
    ids = (function.instruction_id(k) for k in range(function.n_instructions()))
    return sum(each not in moved for each in ids)


def kernel_section(quick: bool) -> str:
    text = []
    for name, models in (("five-bar", five_bar()), ("3RRR", three_rrr())):
        plain = models[-1].acceleration
        for model in models:
            assert abs(model.acceleration - plain) < 1e-9 * abs(plain), model.name
        text.append(
            f"**{name}**: operations, and microseconds, the least of many short rounds in turn "
            "(ratios to the plain twin)."
        )
        text.append(_kernel_table(models, quick))
    return "### Kernels\n\n" + "\n\n".join(text)


def _kernel_table(models: list[Model], quick: bool) -> str:
    times = [_times(models, kind, 30 if quick else 300) for kind in ("one", "batch", "rollout")]
    rows = [
        [
            model.name,
            str(len(model.equations.speeds)),
            *map(str, model.operations()),
            *(
                f"{microseconds(each[model.name])} ({_ratio(each, model, models)})"
                for each in times
            ),
        ]
        for model in models
    ]
    header = [
        "",
        "speeds",
        "u̇",
        "u̇, checked",
        "way back",
        "one call",
        "kernel, batch",
        "step, rollout",
    ]
    return table(header, rows)


def _ratio(times: dict[str, float], model: Model, models: list[Model]) -> str:
    return f"{times[model.name] / times[models[-1].name]:.2f}"


def _times(models: list[Model], kind: str, repeats: int) -> dict[str, float]:
    """Seconds for one state, or for one step of a trajectory."""
    calls, share = {}, 1
    for model in models:
        eqs, q, u = model.equations, model.q, model.u
        if kind == "one":
            calls[model.name] = lambda eqs=eqs, q=q, u=u: eqs.accelerations(q, u)
        elif kind == "batch":
            share, Q, U = BATCH, np.tile(q, (BATCH, 1)), np.tile(u, (BATCH, 1))
            calls[model.name] = _kernel_call(eqs, Q, U)
        else:
            share, Q = TRAJECTORIES * STEPS, np.tile(q, (TRAJECTORIES, 1))
            U = np.tile(u, (TRAJECTORIES, 1))
            calls[model.name] = lambda eqs=eqs, q=Q, u=U: eqs.rollout(
                q, u, step=STEP, steps=STEPS, every=STEPS, method="symplectic"
            )
    for model, call in zip(models, calls.values(), strict=True):
        call()
        model.equations.compile()
    return {name: each / share for name, each in fastest(calls, repeats).items()}


def _kernel_call(eqs: mg.Equations, q: np.ndarray, u: np.ndarray) -> Call:
    """The kernel of the accelerations alone, into memory that is there."""
    eqs.accelerations(q[0], u[0])
    kernel, arguments = eqs.numeric.kernels["closed"], eqs.numeric.arguments(q, u, 0.0, None, None)
    out = kernel(*arguments)
    return lambda: kernel(*arguments, out=out)


# --- mechanisms -----------------------------------------------------------------------------------


def five_bar() -> list[Model]:
    """That of the gallery: composed as it is there, with the choices of its levels left open, and
    plain."""
    module = run_path(str(gallery.folder() / "five_bar.py"))
    plain = module["system"]().equations()
    q, u = plain.assemble(module["START"], guess=module["GUESS"])
    given, found = module["state"](plain, q, u, (0.0, 0.0)), []
    for name, named in (("composed, named", True), ("composed, open", False)):
        whole = module["composed"](named)
        found.append(Model(name, whole, *whole.assemble(given), "linkage.L.theta'"))
    return [*found, Model("plain", plain, q, u, "L'")]


def link(mass: float, inertia: float, centre: float) -> mg.Terms:
    """A bar of length 2 with nodes at its ends, its mass centre at a distance from the first."""
    nodes = {"a": (-centre, 0), "b": (2 - centre, 0)}
    return mg.leaves.planar_body(mass=mass, inertia=inertia, nodes=nodes)


def leg(near: mg.Terms, far: mg.Terms, **options: object) -> mg.Equations:
    """A proximal link about a base point, and a distal one."""
    return mg.compose(
        "leg",
        {"near": near, "far": far},
        parameters={"x0": 0.0, "y0": 0.0},
        inputs=["u"],
        forces={"near.theta'": lambda v: v["u"]},
        constraints={
            "base": lambda v: v["near.a"] - mg.leaves.vector([v["x0"], v["y0"]]),
            "elbow": lambda v: v["near.b"] - v["far.b"],
        },
        **options,
    )


def three_rrr() -> list[Model]:
    """Three legs and a platform (R. Orsino 2016, §5.3.2), composed and plain."""
    platform = mg.leaves.planar_body(
        mass=1.0, inertia=0.25, nodes={f"v{k}": vertex for k, vertex in enumerate(VERTICES)}
    )
    free = ["platform.x'", "platform.y'", "platform.theta'"]
    found = []
    for name, own, all_free in (
        ("composed, named", {"independent": ["near.theta'", "far.theta'"]}, free),
        ("composed, open", {}, None),
    ):
        one = leg(link(**NEAR), link(**FAR), **own)
        legs = {
            f"{k}": mg.Part(one, parameters={"x0": x, "y0": y}) for k, (x, y) in enumerate(BASE)
        }
        whole = mg.compose(
            "3RRR",
            legs | {"platform": platform},
            constraints={
                f"vertex {k}": lambda v, k=k: v[f"{k}.far.a"] - v[f"platform.v{k}"]
                for k in range(3)
            },
            independent=all_free,
        )
        at = whole.assemble({"platform.theta": 0.1, "platform.x'": 0.3}, guess=places())
        found.append(Model(name, whole, *at, "0.near.theta'"))
    plain = plain_rrr().equations()
    guess = {f"{k} {name}": value for k in range(3) for name, value in _angles(k).items()}
    start = {"place.x": 0.0, "place.y": 0.0, "place.theta": 0.1, "place.x'": 0.3}
    still = {"place.y'": 0.0, "place.theta'": 0.0}
    return [*found, Model("plain", plain, *plain.assemble(start | still, guess=guess), "0 base'")]


def _directions(k: int) -> tuple[float, float]:
    """Angles of the links of a leg in the first position."""
    near = np.subtract(ELBOWS[k], BASE[k])
    far = np.subtract(ELBOWS[k], VERTICES[k])
    return float(np.arctan2(near[1], near[0])), float(np.arctan2(far[1], far[0]))


def _angles(k: int) -> dict[str, float]:
    near, far = _directions(k)
    return {"base": near, "elbow": far - near}


def places() -> dict[str, float]:
    """Where assembly of the composed mechanism begins."""
    guess = {"platform.x": 0.0, "platform.y": 0.0}
    for k, (base, vertex, elbow) in enumerate(zip(BASE, VERTICES, ELBOWS, strict=True)):
        near, far = _directions(k)
        middle = np.add(elbow, vertex) / 2
        guess |= {f"{k}.near.theta": near, f"{k}.near.x": base[0], f"{k}.near.y": base[1]}
        guess |= {f"{k}.far.theta": far, f"{k}.far.x": middle[0], f"{k}.far.y": middle[1]}
    return guess


def plain_rrr() -> mg.System:
    """The same by joints."""
    s = mg.System("3RRR", gravity=(0, 0, 0))
    platform = s.body("platform", mass=1.0, inertia=(0.25, 0.25, 0.25))
    s.joint(
        "place", s.ground, platform, [mg.move("x", "x"), mg.move("y", "y"), mg.rot("z", "theta")]
    )
    for k, (base, vertex) in enumerate(zip(BASE, VERTICES, strict=True)):
        near = s.body(f"{k} near", mass=0.5, inertia=(2 / 3,) * 3)
        far = s.body(f"{k} far", mass=0.5, com=(-1, 0, 0), inertia=(1 / 6,) * 3)
        s.revolute(f"{k} base", s.ground, near, axis="z", at=(*base, 0))
        s.revolute(f"{k} elbow", near, far, axis="z", at=(2, 0, 0))
        end = s.marker(f"{k} end", far, (-2, 0, 0))
        corner = s.marker(f"{k} corner", platform, (*vertex, 0))
        s.constrain(
            f"vertex {k}",
            position=lambda m, a=end, b=corner: (m.position(a) - m.position(b))[:2],
        )
    return s


# --- a part that is used again --------------------------------------------------------------------


def leg_section(quick: bool) -> str:
    """Seconds of composing legs that are derived once, and of legs that are derived each time."""
    rows = []
    for count in (1, 2, 5) if quick else (1, 2, 5, 10, 20):
        once = min(_composing(count, shared=True) for _ in range(3))
        each = min(_composing(count, shared=False) for _ in range(3))
        rows.append([str(count), f"{once:.3f}", f"{each:.3f}"])
    text = table(["legs", "derived once, s", "derived each time, s"], rows)
    return (
        "### A part that is used again\n\nProcessor time from the description to composed "
        f"equations, legs of a 3RRR mechanism.\n\n{text}"
    )


def _composing(count: int, shared: bool) -> float:
    began = process_time()
    one = leg(link(**NEAR), link(**FAR))
    legs = {
        f"leg {k}": one if shared or not k else leg(link(**NEAR), link(**FAR)) for k in range(count)
    }
    whole = mg.compose("legs", legs)
    assert len(whole.composition.independent) == 2 * count
    return process_time() - began


if __name__ == "__main__":
    main()
