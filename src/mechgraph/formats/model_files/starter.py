"""A first model, with comments, for those who begin: as a model file or as a Python file."""

from __future__ import annotations

from ...errors import ArgumentError

YAML = """\
# A model of mechgraph: `mechgraph run FILE --plot run.png`, `mechgraph describe FILE`,
# `mechgraph equations FILE`. Nothing in it is executed. All words: `mechgraph schema`.
mechgraph: 1
title: "NAME: a crank that pulls a slider over a rod."
name: NAME
gravity: [0, 0, -9.81]            # world components, m/s²

parameters: {crank: 0.1, rod: 300 mm, k: 20 N/m}   # changed by --set crank=0.12

inputs: [torque]                  # zero unless a study says otherwise

bodies:                           # mass, com, inertia about com along the body's axes
  crank body: {mass: 0.5, com: [crank/2, 0, 0], inertia: [1e-4, 4e-4, 4e-4]}
  rod body: {mass: 0.8, com: [rod/2, 0, 0], inertia: [1e-4, 6e-3, 6e-3]}
  slider: {mass: 1.2, inertia: [1e-3, 1e-3, 1e-3]}

joints:                           # parent and child are bodies; loops are closed by themselves
  theta: {type: revolute, parent: ground, child: crank body, axis: y}
  elbow: {type: revolute, parent: crank body, child: rod body, axis: y, at: [crank, 0, 0]}
  pin: {type: revolute, parent: rod body, child: slider, axis: y, at: [rod, 0, 0]}
  x: {type: prismatic, parent: ground, child: slider, axis: x}

forces:
  motor: {type: torque, joint: theta, value: torque}
  return: {type: force, at: slider, value: ["-k*(position(slider)[0] - crank)", 0, 0]}

outputs:
  height of the elbow: crank*sin(-coordinate(theta))

start: {theta: 30 deg, "theta'": 6}
guess: {x: 0.4}
duration: 2
options: {rtol: 1.0e-9}
"""

PYTHON = '''\
"""NAME: a pendulum on a spring."""

import mechgraph as mg

START = {"swing": 0.3}
DURATION = 5.0


def system(length: float = 0.5) -> mg.System:
    """`mechgraph run FILE --set k=20 --plot run.png`."""
    s = mg.System("NAME", gravity=(0, 0, -9.81))
    k = s.parameter("k", 10.0)
    rod = s.body("rod", mass=1.0, com=(0, 0, -length / 2), inertia=(0.02, 0.02, 1e-4))
    s.revolute("swing", s.ground, rod, axis="y", stiffness=k, damping=0.05)
    tip = s.marker("tip", rod, at=(0, 0, -length))
    s.output("height", lambda m: m.position(tip)[2])
    return s
'''


def starter(ending: str, name: str) -> str:
    """The text of a first model."""
    texts = {".yaml": YAML, ".yml": YAML, ".py": PYTHON}
    if ending not in texts:
        raise ArgumentError(f"a new model ends in {', '.join(texts)}, got {ending!r}")
    return texts[ending].replace("NAME", "".join(c for c in name if c.isalnum() or c in "_- "))
