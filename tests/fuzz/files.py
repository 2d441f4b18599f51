"""Model files that went wrong: those of the gallery, and robots of URDF, SDF and MJCF, altered at
random.

    python tests/fuzz/files.py --seed 0 --count 100000
    python tests/fuzz/files.py --seed 0 --count 10000 --kind urdf xml

Each is a system, or an error of the family in ``errors.py`` that tells a line; nothing else is
raised, nothing is run, and none takes longer than ``LIMIT`` seconds of the processor, or more than
``MEMORY`` bytes.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import mechgraph as mg
from mechgraph import gallery
from mechgraph.formats import model_file

LIMIT = 5.0
MEMORY = 500_000_000
MODELS = (
    "a02_fourbar", "bicycle", "bogie", "branched_tree", "chaplygin_sleigh", "five_bar",
    "newtons_cradle", "rattleback", "slider_crank_3d", "whitworth",
)  # fmt: skip
ODD = (
    "", "~", "null", "true", "nan", ".inf", "1e999", "-1", "0", "1e-300", "9" * 400, "[]", "{}",
    "[[[[1]]]]", "'", '"', "\\", "\t", "\x00", "\ud800", "&a", "*a", "!!python/name:os.system",
    "<<: *a",
    "__import__('os').system('true')", "ground", "time", "x", "sin(", "sin()", "if(1,2)", "((((",
    "a = 1; a", "position(ground)", "position(nobody)[2]", "coordinate(1)", "1 +", "1/0", "2^1024",
    "[1, 2, 3]", "[1, 2]", "axis(ground, z)", "speed(time)", "5 mm", "5 furlong", "---", "...", "%",
    "[" * 100, "{a: " * 60, "-" * 200, "(" * 5000, "1+" * 3000 + "1", "k" * 5000, "é", "日本", "🙂",
)  # fmt: skip


ROBOTS = {
    "urdf": """<robot name="arm">
  <link name="base"/>
  <link name="link"><inertial><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="none.stl" scale="1 1 1"/></geometry></visual>
    <collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision></link>
  <link name="tip"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><sphere radius="0.1"/></geometry></visual>
    <collision><geometry><cylinder radius="0.1" length="0.2"/></geometry></collision></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="link"/>
    <axis xyz="0 2 0"/><limit lower="-1" upper="0.3" effort="1" velocity="1"/>
    <dynamics damping="0.1" friction="0.01"/></joint>
  <joint name="slide" type="prismatic"><parent link="link"/><child link="tip"/>
    <axis xyz="0 0 1"/><mimic joint="turn" multiplier="0.5" offset="0.2"/></joint>
</robot>
""",
    "xml": """<mujoco model="loop">
  <option gravity="0 0 -9.81"/>
  <asset><mesh name="brick" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="0.1 0.1 0.1"/></asset>
  <default><geom friction="0.7" solref="0.01 1" solimp="0.9 0.95 0.001"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="crank" pos="0 0 1">
      <joint name="a" type="hinge" axis="0 1 0" ref="0.3" armature="0.1" range="-1 1"/>
      <inertial pos="0.5 0 0" mass="1" diaginertia="0.01 0.1 0.1"/>
      <geom type="capsule" size="0.1" fromto="0 0 0 1 0 0"/>
      <body name="rod" pos="1 0 0">
        <joint name="b" type="hinge" axis="0 1 0" stiffness="3" springref="0.2"/>
        <inertial pos="1 0 0" mass="2" diaginertia="0.01 0.3 0.3"/></body></body>
    <body name="rocker" pos="2.5 0 0"><joint name="c" type="hinge" axis="0 1 0" damping="0.2"/>
      <inertial pos="0 0 0.7" mass="1.5" diaginertia="0.2 0.2 0.01"/>
      <site name="tip" pos="0 0 1.5" euler="0 30 0"/></body>
    <body name="ball" pos="0 -2 0"><joint name="f" type="ball" damping="0.3"/>
      <geom type="box" size="0.1 0.2 0.3"/></body>
    <body name="held" pos="1 1 1"><freejoint name="g"/><geom size="0.1" mass="1"/>
      <site name="other"/><geom type="mesh" mesh="brick"/></body>
  </worldbody>
  <equality>
    <connect name="pin" body1="rod" body2="rocker" anchor="2 0 0"/>
    <joint name="law" joint1="b" joint2="a" polycoef="0.1 0.5 0.2 0 0"/>
    <weld name="glue" body1="held" body2="ball" anchor="0.1 0 0"/>
    <connect name="sites" site1="tip" site2="other"/>
    <tendon name="tied" tendon1="t" polycoef="0.1 0 0 0 0"/>
  </equality>
  <tendon><fixed name="t"><joint joint="a" coef="2"/><joint joint="c" coef="-1"/></fixed></tendon>
  <actuator><motor name="m" joint="a" gear="3" ctrlrange="-1 1"/>
    <position name="p" joint="b" kp="7" kv="0.5"/></actuator>
  <keyframe><key qpos="0.1 0.2 0.3 1 0 0 0 0 0 1 1 0 0 0"/></keyframe>
</mujoco>
""",
}
ROBOTS["sdf"] = """<sdf version="1.9"><world name="w"><gravity>0 0 -3.7</gravity><model name="m">
  <pose degrees="true">1 0 2 0 0 90</pose>
  <link name="rod"><pose relative_to="tip">0 0 -1 0 0 0</pose><inertial><mass>2</mass></inertial>
    <visual name="v"><geometry><box><size>1 2 3</size></box></geometry></visual></link>
  <link name="bob"><pose rotation_format="quat_xyzw">3 0 0 0 0 0 1</pose></link>
  <frame name="tip" attached_to="rod"><pose relative_to="__model__">0 0 1 0.3 0 0</pose></frame>
  <joint name="hook" type="universal"><parent>world</parent><child>rod</child>
    <axis><xyz expressed_in="__model__">0 1 0</xyz></axis><axis2><xyz>1 0 0</xyz></axis2></joint>
  <joint name="turn" type="revolute"><parent>rod</parent><child>bob</child>
    <axis><mimic joint="slide"><multiplier>2</multiplier></mimic></axis></joint>
  <joint name="slide" type="prismatic"><parent>tip</parent><child>bob</child><axis><xyz>0 0 1</xyz>
    <limit><lower>-1</lower></limit><dynamics><spring_stiffness>5</spring_stiffness>
    <spring_reference>0.1</spring_reference><friction>0.2</friction></dynamics></axis></joint>
</model></world></sdf>"""
KINDS = ("yaml", "json", *ROBOTS)
SEEN = """
mechgraph: 1
bodies: {rod: {mass: 1, inertia: 0}}
joints: {turn: {type: revolute, parent: ground, child: rod, axis: y}}
visual:
  rod: [{mesh: parts/rod.stl, scale: 0.001, orientation: [[z, 0.3]], at: [0, 0, 1]},
    {type: sphere, at: {body: rod, at: [0, 0, 1]}, radius: 0.1}]
  ground: [{mesh: floor.obj, scale: [1, 2, 3], color: "#cc0000"}]
"""


def _of_robot(read: Callable[..., Any], **options: Any) -> Callable[[str, str], None]:
    """Reads a text as the file of a robot."""

    def reading(text: str, kind: str) -> None:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = Path(folder) / f"robot.{kind}"
            path.write_text(text, encoding="utf-8", errors="replace")
            read(path, **options).snapshot()

    return reading


READERS: dict[str, Callable[[str, str], Any]] = {
    "yaml": lambda text, kind: model_file.parse(text),
    "json": lambda text, kind: model_file.parse(text, True),
    "urdf": _of_robot(mg.from_urdf, floating=True, limits=True, friction=True, ground={}),
    "xml": _of_robot(mg.from_mjcf, limits=True, friction=True),
    "sdf": _of_robot(mg.from_sdf, limits=True, friction=True),
}


@cache
def texts() -> dict[str, list[str]]:
    """Good files of each kind."""
    systems = [gallery.load(name).system() for name in MODELS] + [model_file.parse(SEEN).system]
    written = {
        kind: [model_file.write(s, kind == "json") for s in systems] for kind in ("yaml", "json")
    }
    return {**written, **{kind: [text] for kind, text in ROBOTS.items()}}


def altered(seed: int, kinds: tuple[str, ...] = KINDS) -> tuple[str, str]:
    """A file with a few alterations, and its kind."""
    chance = random.Random(seed)
    kind = chance.choice(kinds)
    text = chance.choice(texts()[kind])
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        text = chance.choice(ALTERATIONS)(text, chance)
    return text, kind


def _place(text: str, chance: random.Random) -> tuple[int, int]:
    """A word, number, sign or text of a file."""
    found = list(re.finditer(r"[\w.']+|\S", text)) or [re.match("", text)]
    token = chance.choice(found)
    return token.span() if token else (0, 0)


def _replaced(text: str, chance: random.Random) -> str:
    a, b = _place(text, chance)
    return text[:a] + chance.choice(ODD) + text[b:]


def _inserted(text: str, chance: random.Random) -> str:
    a, _ = _place(text, chance)
    return f"{text[:a]}{chance.choice(ODD)} {text[a:]}"


def _swapped(text: str, chance: random.Random) -> str:
    (a, b), (c, d) = sorted(_place(text, chance) for _ in range(2))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:] if b <= c else text


def _without(text: str, chance: random.Random) -> str:
    a, b = _place(text, chance)
    return text[:a] + text[b:]


def _line_moved(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    line = lines.pop(chance.randrange(len(lines))) if lines else ""
    for _ in range(chance.choice((0, 1, 1, 2))):
        lines.insert(chance.randrange(len(lines) + 1), line)
    return "".join(lines)


def _letter(text: str, chance: random.Random) -> str:
    k = chance.randrange(len(text) + 1)
    return (
        text[:k]
        + chr(chance.choice((chance.randrange(128), chance.randrange(0x2FF))))
        + text[k + 1 :]
    )


def _cut(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text) + 1)]


ALTERATIONS = (
    _replaced,
    _replaced,
    _replaced,
    _inserted,
    _swapped,
    _without,
    _line_moved,
    _letter,
    _cut,
)


def wrong_with(seed: int, kinds: tuple[str, ...] = KINDS) -> str | None:
    """What must not be, if it is."""
    text, kind = altered(seed, kinds)
    began, before = time.process_time(), _memory()
    try:
        READERS[kind](text, kind)
    except mg.MechgraphError as error:
        lines = getattr(error, "problems", [])
        if not all(len(line) < 2000 for line in lines):
            return f"a message of {max(map(len, lines))} letters"
    except Exception as error:
        return f"raw {type(error).__name__}: {error}"
    took, grown = time.process_time() - began, _memory() - before
    if grown > MEMORY:
        return f"{grown} bytes more"
    return f"{took:.1f} s" if took > LIMIT else None


def _memory() -> int:
    """The most bytes that this process has held until now."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS)
    given = parser.parse_args()
    found: dict[str, list[int]] = {}
    for seed in range(given.seed, given.seed + given.count):
        wrong = wrong_with(seed, tuple(given.kind))
        if wrong is not None:
            found.setdefault(re.sub(r"\d+", "#", wrong)[:120], []).append(seed)
    for wrong, seeds in found.items():
        print(f"{len(seeds):6d}  {wrong}  {seeds[:5]}")
    print(f"{given.count} files, {sum(map(len, found.values()))} failures")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
