"""Modelica text: read back and computed line by line, it is the same model."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import mechgraph as mg
from mechgraph import gallery
from random_systems import every_function

LIBRARY = "sin cos tan asin acos atan atan2 sinh cosh tanh exp log sqrt floor ceil"
KNOWN = {name: getattr(math, name) for name in LIBRARY.split()} | {
    "abs": abs,
    "min": min,
    "max": max,
    "rem": math.fmod,
    "sign": lambda x: (x > 0) - (x < 0),
}
SECTION = re.compile(r"^(protected|initial equation|equation)$", re.MULTILINE)
FUNCTION = re.compile(r'^  function (\w+) ".*"\n(.*?)^  algorithm\n(.*?)^  end \1;\n', re.M | re.S)
CONSTANT = re.compile(r"^  constant Real (\w+)\[(\d+)\] = \{(.*)\};\n", re.MULTILINE)


class Array(list):
    """Numbers that are counted from one."""

    def __getitem__(self, place: int) -> float:
        assert 1 <= place <= len(self)
        return super().__getitem__(place - 1)


def function(inputs: str, algorithm: str):
    """A function of Modelica's as one of Python's."""
    names = re.findall(r"^    input Real (\w+)(?:\[:\])?;$", inputs, re.MULTILINE)
    (result,) = re.findall(r"^    output Real (\w+);$", inputs, re.MULTILINE)
    said = {" loop": ":", " then": ":", "else": "else:", ";": ""}
    lines = [line for line in algorithm.splitlines() if not line.strip().startswith("end ")]
    for word, own in said.items():
        lines = [line.removesuffix(word) + own if line.endswith(word) else line for line in lines]
    body = "\n".join(line.replace(":=", "=") for line in lines)
    own = {"size": lambda array, k: len(array), "div": lambda a, b: a // b, "integer": int}
    made: dict[str, object] = KNOWN | own
    body = body.replace("^", "**")
    exec(f"def made({', '.join(names)}):\n{body}\n    return float({result})", made)
    return made["made"]


class Model:
    """The parts of a text: declarations, and equations that can be computed in their order."""

    def __init__(self, text: str) -> None:
        head, *parts = SECTION.split(text)
        sections = dict(zip(parts[::2], parts[1::2], strict=True))
        self.name = re.match(r"model (\w+) \"", head)[1]
        assert text.endswith(f"end {self.name};\n")
        declared = head + sections.get("protected", "")
        self.functions = {name: function(*parts) for name, *parts in FUNCTION.findall(declared)}
        for name, size, numbers in CONSTANT.findall(declared):
            array = Array(float(x.strip("()")) for x in numbers.split(", "))
            assert len(array) == int(size)
            self.functions[name] = array
        declared = CONSTANT.sub("", FUNCTION.sub("", declared))
        pattern = r'^  (?:(\w+) )?(Real|Boolean) (\w+)(?:\((.*?)\))?(?: = (\S+))?(?: "(.*)")?;$'
        self.declared = re.findall(pattern, declared, re.MULTILINE)
        assert len(self.declared) == len([line for line in declared.splitlines()[1:] if line])
        self.started = self._rows(sections["initial equation"])
        self.rows = self._rows(sections["equation"].split("  annotation(")[0])

    @staticmethod
    def _rows(text: str) -> list[tuple[str, str]]:
        return [
            tuple(line.strip().removesuffix(";").split(" = ")) for line in text.strip().splitlines()
        ]

    def of(self, word: str) -> dict[str, str]:
        """Variables of a kind and the names that they stand for."""
        return {row[2]: row[5] for row in self.declared if row[0] == word and row[5]}

    def computed(self, values: dict[str, float]) -> dict[str, float]:
        """All that is computed from values of time, states, parameters and inputs."""
        values = {row[2]: float(row[4].strip("()")) for row in self.declared if row[4]} | values
        known = KNOWN | self.functions
        for target, text in self.rows:
            assert target not in values
            values[target] = eval(_python(text), {"__builtins__": {}}, known | values)
        return values


def _python(text: str) -> str:
    """An expression of Modelica as one of Python, whose conditions stand in the middle."""
    while "(if " in text:
        first = last = text.rindex("(if ")
        depth = 0
        while depth or last == first:
            depth += {"(": 1, ")": -1}.get(text[last], 0)
            last += 1
        condition, rest = text[first + 4 : last - 1].split(" then ", 1)
        yes, no = rest.split(" else ", 1)
        text = f"{text[:first]}(({yes}) if ({condition}) else ({no})){text[last:]}"
    return text.replace("^", "**")


def tree() -> mg.System:
    """A quaternion, names that are no words, time, a compliant contact, an output of three."""
    s = mg.System('a "tree"', gravity=(0, 0, -9.81))
    ball = s.body("ball", mass=s.parameter("the mass", 1.3), com=(0, 0.1, 0), inertia=(1, 1.1, 1.2))
    rod = s.body("rod", mass=0.5, com=(0.1, 0.2, -0.3), inertia=(0.1, 0.1, 0.1))
    s.free("end", s.ground, ball)
    s.revolute("time 1", ball, rod, axis="y", stiffness=2.0)
    s.torque("drive", "time 1", s.input("model") * mg.sin(3 * s.time))
    s.compliant_contact("floor", mg.Sphere(ball, 0.5), mg.Plane(s.ground), stiffness=1e3)
    s.output("tip", lambda m: m.position("rod"))
    return s


def tables() -> mg.System:
    """Over one number and over two, repeated, held, extended and refused; two of one name."""
    s = mg.System("tables", gravity=(0, 0, -9.81))
    s.revolute("a", s.ground, s.body("rod", mass=1.0, com=(0.3, 0, 0), inertia=(1, 1, 1)), axis="y")
    spring = mg.spline([-1.0, 0.1, 1.0], [-3.0, 0.2, 5.0], outside="extend", name="own")
    other = mg.table([0, 1, 2.5], [3, 1, 2], outside="refuse", name="own")
    gas = mg.table([0, 0.5, 2], [0, 1, 0], outside="repeat", name="gas")
    wind = mg.table([-1.0, 0, 2], [-3.0, 0, 3], [[0, 1, 2], [1, 2, 3], [5, 4, 1]], name="wind")
    s.torque("spring", "a", lambda m: -spring(m.coordinate("a")) + gas(5 * s.time))
    s.torque("other", "a", lambda m: other(1 + m.coordinate("a")) + gas(m.speed("a")))
    s.torque("wind", "a", lambda m: wind(m.coordinate("a"), m.speed("a")))
    return s


CASES = {
    "tables": lambda: (tables().equations(), {"start": {"a": 0.4, "a'": -0.7}}),
    "tree": lambda: (tree().equations(), {}),
    "acrobot": lambda: _of("acrobot"),
    "fourbar": lambda: _of("fourbar"),
    "functions": lambda: (every_function(), {"start": {"x": 0.3, "y": 0.4}}),
}


def _of(name: str):
    example = gallery.load(name)
    return example.system().equations(), {"start": example.start, "guess": example.guess}


@pytest.mark.parametrize("case", CASES)
def test_the_text_is_the_same_model(case, tmp_path):
    equations, given = CASES[case]()
    (path,) = equations.export(tmp_path / "own.mo", **given)
    model = Model(path.read_text())
    q, u = equations.assemble(given.get("start"), guess=given.get("guess"))
    states = model.of("")
    assert [*states.values()] == [*equations.coordinates, *equations.speeds]
    assert [*model.of("parameter").values()] == [*equations.parameters]
    begins = {name: float(value.strip("()")) for name, value in model.started}
    np.testing.assert_array_equal([begins[name] for name in states], np.concatenate([q, u]))
    rng = np.random.default_rng(2)
    w = dict(zip(model.of("input"), rng.normal(size=len(equations.inputs)), strict=True))
    found = model.computed({**begins, **w, "time": 0.4})
    at = {"t": 0.4, "inputs": [*w.values()]}
    rates = [found[f"der({name})"] for name in states]
    exact = np.concatenate(
        [equations.coordinate_rates(q, u, 0.4), equations.accelerations(q, u, **at)]
    )
    np.testing.assert_allclose(rates, exact, rtol=1e-11, atol=1e-11 * np.abs(exact).max())
    if case == "tree":
        tip = [found[name] for name, stands in model.of("output").items()]
        np.testing.assert_allclose(tip, equations.observe("tip", q, u, **at), atol=1e-13)


def test_tables_are_those_of_the_equations_everywhere(tmp_path):
    equations = tables().equations()
    (path,) = equations.export(tmp_path / "own.mo", start={"a": 0.4})
    model = Model(path.read_text())
    for a, rate in np.random.default_rng(4).uniform((-1, -4), (1.5, 4), (200, 2)):
        found = model.computed({"a": a, "a_dot": rate, "time": a + 2})["der(a_dot)"]
        exact = equations.accelerations([a], [rate], t=a + 2)[0]
        assert found == pytest.approx(exact, rel=1e-12, abs=1e-12)
    with pytest.raises(ValueError, match="math domain"):  # beyond what the other table has
        model.computed({"a": 1.6, "a_dot": 0.0, "time": 0.0})


def test_the_error_function_is_the_usual_one(tmp_path):
    (path,) = every_function().export(tmp_path / "own.mo", start={"x": 0.3, "y": 0.4})
    erf = Model(path.read_text()).functions["erf_"]
    for x in [*np.linspace(-7, 7, 57), 1e-9, 1e-300, 1e300]:
        assert erf(x) == pytest.approx(math.erf(x), rel=2e-15)


def test_beside_the_constraints_they_attract(tmp_path):
    equations, given = CASES["fourbar"]()
    (path,) = equations.export(tmp_path / "own.mo")
    model = Model(path.read_text())
    q, u = equations.assemble(given["start"], guess=given["guess"])
    off = q + np.array([1e-3, 0, 0])
    found = model.computed(dict(zip(model.of(""), np.append(off, u), strict=True)) | {"time": 0.0})
    rates = [found[f"der({name})"] for name in model.of("")][: len(q)]
    before, after = (equations.position_violation(x) for x in (off, off + 1e-3 * np.array(rates)))
    assert np.linalg.norm(after) / np.linalg.norm(before) == pytest.approx(1 - 10 * 1e-3, abs=2e-3)


def test_what_modelica_does_not_carry_is_told(tmp_path):
    s = mg.System("pendulum")
    s.revolute("hinge", s.ground, s.body("rod", mass=1.0, inertia=(1, 1, 1)))
    plain = s.equations()
    for name, said in {
        "model.mo": "no name of a Modelica",
        "two words.mo": "no name",
        "a.txt": "files that end in",
    }.items():
        with pytest.raises(mg.ArgumentError, match=said):
            plain.export(tmp_path / name)
    with pytest.raises(mg.UnsupportedError, match=r"rigid_contact 'floor'.*compliant contact"):
        gallery.load("bouncing_ball").system().equations().export(tmp_path / "own.mo")
    assert not list(tmp_path.iterdir())
