"""The size of the house, as the table at the end of docs/architecture.md: ``python docs/house.py``
prints it, ``python docs/house.py --write`` puts it there."""

from __future__ import annotations

import ast
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import mechgraph as mg

ROOT = Path(__file__).parents[1]
PACKAGE = Path(mg.__file__).parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- printed by docs/house.py -->", "<!-- to here -->"
TOLERANCE = re.compile(r"^[A-Z][A-Z_]* *(?::[^=]*)?= *[0-9.]+e-[0-9]+", re.MULTILINE)
OUTER = ("cli", "show", "formats", "gallery", "model/elements")  # rooms that are not the core


def arm(name: str = "arm") -> mg.System:
    s = mg.System(name, gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    s.revolute("hinge", s.ground, rod, axis="y")
    s.marker("tip", rod, at=(0, 0, -1))
    return s


def run() -> None:
    arm().equations().simulate(0.1, {"hinge": 0.5})


def compose() -> None:
    whole = mg.System("two arms", gravity=(0, 0, -9.81))
    whole.place("left", arm(), on=whole.ground)
    whole.place("right", arm(), on=whole.ground, at=(1, 0, 0))
    mg.compose(whole).accelerations([0.1, 0.2], [0.0, 0.0])


def contact() -> None:
    s = mg.System("ball", gravity=(0, 0, -9.81))
    ball = s.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.prismatic("height", s.ground, ball, axis="z")
    s.rigid_contact("floor", mg.Sphere(ball, 0.1), mg.Plane(s.ground), restitution=0.5)
    s.equations().simulate(0.6, {"height": 1.0})


def fmu() -> None:
    with tempfile.TemporaryDirectory() as folder:
        arm().equations().export(Path(folder) / "arm.fmu")


URDF = """<robot name="arm"><link name="base"/><link name="rod"><inertial><mass value="1"/>
<origin xyz="0 0 -0.5"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
</link><joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0"/></joint></robot>"""


def urdf() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        path.write_text(URDF)
        mg.from_urdf(path).equations().accelerations([0.1], [0.0])


WAYS = {"run": run, "compose": compose, "contact": contact, "FMU": fmu, "URDF": urdf}


def modules_passed(way: Callable[[], None]) -> int:
    """How many modules of the package a call goes through."""
    passed = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            passed.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        way()
    finally:
        sys.setprofile(None)
    return len(passed)


def files(*endings: str) -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*") if p.suffix in endings and p.is_file())


def lines(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def is_core(path: Path) -> bool:
    inner = path.relative_to(PACKAGE).as_posix()
    return not inner.startswith(OUTER)


def functions() -> Iterator[ast.FunctionDef]:
    for path in files(".py"):
        yield from (n for n in ast.walk(ast.parse(path.read_text())) if type(n) is ast.FunctionDef)


def body_lines(function: ast.FunctionDef) -> int:
    first = function.body[1:] if ast.get_docstring(function) else function.body
    return (first[-1].end_lineno or 0) - first[0].lineno + 1 if first else 0


def rows() -> Iterator[tuple[str, object]]:
    python, c = files(".py"), files(".c", ".h")
    text = "".join(path.read_text(encoding="utf-8") for path in python)
    bodies = [body_lines(function) for function in functions()]
    yield "modules of Python", len(python)
    yield "lines of Python", f"{lines(python):,}"
    yield "lines of C", f"{lines(c):,}"
    yield "of both, in the core", f"{lines([p for p in [*python, *c] if is_core(p)]):,}"
    yield "functions, lines of a body (median)", f"{len(bodies):,}, {statistics.median(bodies):g}"
    yield "named tolerances", len(TOLERANCE.findall(text))
    yield "public names, of `Equations`", f"{len(_public(mg))}, {len(_public(mg.Equations))}"
    for name, way in WAYS.items():
        yield f"modules passed by a first *{name}*", modules_passed(way)


def _public(thing: object) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def table() -> str:
    body = "\n".join(f"| {name} | {value} |" for name, value in rows())
    return f"{BEGIN}\n\n| | |\n| --- | ---: |\n{body}\n\n{END}"


if __name__ == "__main__":
    printed = table()
    print(printed)
    if "--write" in sys.argv:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2] or "\n"
        PAGE.write_text(before + printed + after, encoding="utf-8")
