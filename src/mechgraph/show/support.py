"""What works with what, found by trying it: ``python -m mechgraph.show.support`` prints the page ``docs/support.md``.

Every cell is the outcome of a small model that is built, derived and evaluated here; nothing is written down by hand, so
a new joint, force, constraint, formalism or closure appears by being listed. A cell that computes is also checked: its
accelerations must be those of the first formalism with the first closure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..closure import CLOSURES
from ..elements.constraints import CONSTRAINTS
from ..elements.forces import FORCES
from ..elements.joints import JOINTS
from ..elements.transitions import move, rot
from ..equations import Equations
from ..errors import UnsupportedError
from ..formalisms import FORMALISMS
from ..kernels.compiler import find_compiler
from ..studies.agreement import VARIANTS
from ..studies.integrators import METHODS, Compiled
from ..studies.simulate import DRIFT, Event
from ..system import System

YES, NO = "yes", "–"
AGREEMENT = 1e-9
CHAIN = "joint"  # the general chain of transitions, which has no class of its own in JOINTS
NEEDED = {"screw": {"pitch": 0.1}}  # arguments without a default


def _labelled(formalism: str, options: Mapping[str, str]) -> str:
    return ", ".join([formalism, *(f'{key}="{value}"' for key, value in options.items())])


FORMS: dict[str, tuple[str, Mapping[str, str]]] = {
    _labelled(name, options): (name, options) for name in FORMALISMS for options in VARIANTS.get(name, ({},))
}


def page() -> str:
    """The whole page."""
    return "\n\n".join([_HEAD, *_joints(), *_closures(), *_studies(), *_methods(), *_elements()]) + "\n"


_HEAD = """# What works with what

This page is printed by `python -m mechgraph.show.support`, which tries every combination; a test compares the two. A dash
is an `UnsupportedError` that names what is supported."""


# --- joints ----------------------------------------------------------------------------------------------------------


def _joints() -> list[str]:
    kinds = [*JOINTS, CHAIN]
    rows = [[f"`{kind}`", *_counts(kind), *(_tree_cell(kind, name) for name in FORMS), _cut_cell(kind)] for kind in kinds]
    head = ["joint", "coordinates", "speeds", "rows if cut", *(f"`{name}`" for name in FORMS), "closes a loop"]
    return ["## Joints and formalisms", _table(head, rows)]


def _counts(kind: str) -> list[str]:
    equations = _cut(kind).equations()
    joint = equations.system.joints["joint"]
    return [str(len(joint.coordinates)), str(len(joint.speeds)), str(len(equations.constraints))]


def _tree_cell(kind: str, name: str) -> str:
    formalism, options = FORMS[name]
    return _cell(lambda: _check_same(_tree(kind).equations(formalism, **options), _tree(kind).equations()))


def _cut_cell(kind: str) -> str:
    return _cell(lambda: np.isfinite(_cut(kind).equations().reaction("joint", *_cut(kind).equations().assemble())).all())


def _tree(kind: str) -> System:
    """Two bodies: one on a revolute, the other on the joint in question."""
    system = System("tree", gravity=(1, 2, -9))
    first = _block(system, "first")
    system.revolute("hinge", system.ground, first, axis="y")
    _join(system, kind, first, _block(system, "second"), at=(0.1, 0.2, 0.3))
    return system


def _cut(kind: str) -> System:
    """A body that hangs on a free joint and on the joint in question, which is cut."""
    system = System("loop", gravity=(1, 2, -9))
    body = _block(system, "body")
    system.free("carrier", system.ground, body)
    _join(system, kind, system.ground, body, cut=True)
    return system


def _block(system: System, name: str) -> Any:
    return system.body(name, mass=2.0, com=(0.1, -0.2, 0.3), inertia=(0.2, 0.3, 0.4))


def _join(system: System, kind: str, parent: Any, child: Any, **options: Any) -> None:
    if kind == CHAIN:
        system.joint("joint", parent, child, [rot("x", "alpha"), move("y", 0.1), move("z", "height")], **options)
    else:
        getattr(system, kind)("joint", parent, child, **NEEDED.get(kind, {}), **options)


def _check_same(equations: Equations, reference: Equations) -> None:
    """Accelerations at a state off the reference configuration must agree."""
    q, u = _state(reference)
    expected = reference.accelerations(q, u)
    error = np.abs(equations.accelerations(q, u) - expected).max(initial=0) / np.abs(expected).max(initial=1)
    if not error < AGREEMENT:
        raise AssertionError(f"{equations.formalism} with {equations.closure} is off by {error:.1e}")


def _state(equations: Equations) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    u = random.uniform(-1, 1, len(equations.speeds))
    q = np.array(equations.kinematics.reference) + 0.3 * random.standard_normal(len(equations.coordinates))
    for four in map(list, equations.kinematics.quaternions):
        q[four] /= np.linalg.norm(q[four])
    return equations.assemble({}, guess=dict(zip(equations.coordinates, q, strict=True)))[0] if equations.constraints else q, u


# --- closures --------------------------------------------------------------------------------------------------------


def _closures() -> list[str]:
    reference = _four_bar().equations()
    rows = [[f"`{name}`", *(_closure_cell(name, closure, reference) for closure in CLOSURES)] for name in FORMS]
    return [
        "## Formalisms and closures",
        "On a planar four-bar of spatial revolutes, three of whose five closing rows are redundant.",
        _table(["formalism", *(f"`{closure}`" for closure in CLOSURES)], rows),
    ]


def _closure_cell(name: str, closure: str, reference: Equations) -> str:
    formalism, options = FORMS[name]
    return _cell(lambda: _check_same(_four_bar().equations(formalism, closure, **options), reference))


def _four_bar() -> System:
    system = System("four-bar", gravity=(0, 0, -9.8))
    A, B, C = (system.body(name, mass=2, com=(x / 2, 0, 0), inertia=(0.1, 1, 1)) for name, x in (("A", 4), ("B", 4), ("C", 4)))
    system.revolute("crank", system.ground, A, axis="y")
    system.revolute("coupler", A, B, axis="y", at=(4, 0, 0))
    system.revolute("rocker", system.ground, C, axis="y", at=(2, 0, 0))
    system.revolute("close", B, C, axis="y", at=(4, 0, 0), child_at=(4, 0, 0), cut=True)
    return system


# --- studies ---------------------------------------------------------------------------------------------------------


ROLLOUTS = "rollouts"
STUDIES: dict[str, Callable[[Equations, tuple], Any]] = {
    "accelerations": lambda e, s: e.accelerations(*s),
    "multipliers": lambda e, s: e.multipliers(*s),
    "reactions": lambda e, s: e.reaction("crank", *s),
    "initial assembly": lambda e, s: e.assemble({"crank": 1.0}, guess={"coupler": 1.0}),
    "simulation": lambda e, s: e.simulate(0.01, s, step=0.01).energy,
    "events": lambda e, s: e.simulate(0.01, s, step=0.01, events={"top": Event(lambda m: m.coordinate("crank"), stop=False)}),
    "inverse dynamics": lambda e, s: e.inverse_dynamics(s[0], s[1], s[1]),
    "exact derivatives": lambda e, s: e.jacobian("accelerations", "q", *s),
    ROLLOUTS: lambda e, s: e.rollout(s[0][None], s[1][None], step=0.01, steps=1),
    "text and LaTeX": lambda e, s: (e.show(), e.latex()),
    "C export": lambda e, s: _export(e),
}


def _export(equations: Equations) -> None:
    with TemporaryDirectory() as folder:
        equations.export_c(Path(folder) / "model")


def _studies() -> list[str]:
    open_chain = System("chain", gravity=(0, 0, -9.8))
    first, second = _block(open_chain, "first"), _block(open_chain, "second")
    open_chain.revolute("crank", open_chain.ground, first, axis="y")
    open_chain.revolute("coupler", first, second, axis="y", at=(1, 0, 0))
    tree, loop = open_chain.equations(), _four_bar().equations()
    states = (tree.assemble(), loop.assemble({"crank": 1.0}, guess={"coupler": 1.0}))
    rows = [[name, *(_study_cell(name, e, s) for e, s in zip((tree, loop), states, strict=True))] for name in STUDIES]
    return [
        "## Studies",
        "They use `Equations` alone, so formalism and closure do not matter. Rollouts need a C compiler.",
        _table(["study", "trees", "with constraints"], rows),
    ]


def _study_cell(name: str, equations: Equations, state: tuple) -> str:
    return _cell(lambda: STUDIES[name](equations, state), compiled=name == ROLLOUTS)


def _methods() -> list[str]:
    rows = [[f"`{name}`", _method_cell(name, 0.0), _method_cell(name, lambda t: 0.0)] for name in METHODS]
    return [
        "### Integrators",
        f"By `method=`. Constraints are kept by `drift=` {', '.join(f'`{name}`' for name in DRIFT)}. {_compiled()}",
        _table(["method", "inputs as numbers and expressions of time", "inputs as Python functions"], rows),
    ]


def _compiled() -> str:
    names = ", ".join(f"`{name}`" for name, kind in METHODS.items() if issubclass(kind, Compiled))
    return f"Needs a C compiler: {names}."


def _method_cell(method: str, signal: Any) -> str:
    system = System("driven")
    body = _block(system, "body")
    system.revolute("crank", system.ground, body, axis="y")
    system.torque("motor", "crank", system.input("w"))
    run = partial(system.equations().simulate, 0.01, step=0.01, method=method, inputs={"w": signal})
    return _cell(run, compiled=issubclass(METHODS[method], Compiled) and not callable(signal))


# --- forces and constraints ------------------------------------------------------------------------------------------


def _elements() -> list[str]:
    head = ["", "what it is"]
    return [
        "## Forces",
        "Besides gravity, and `stiffness`, `damping`, `rest` of every joint with scalar coordinates.",
        _table(head, _described(FORCES)),
        "## Constraints",
        "Besides the joints that close loops.",
        _table(head, _described(CONSTRAINTS)),
    ]


def _described(kinds: dict[str, Any]) -> list[list[str]]:
    return [[f"`{name}`", str(kind.__doc__).splitlines()[0].replace("``", "`")] for name, kind in kinds.items()]


# --- the page --------------------------------------------------------------------------------------------------------


def _cell(attempt: Callable[[], Any], compiled: bool = False) -> str:
    """The outcome of an attempt; one that has to be compiled is taken on trust where there is no compiler."""
    if compiled and find_compiler() is None:
        return YES
    try:
        attempt()
    except UnsupportedError:
        return NO
    return YES


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(page(), end="")
