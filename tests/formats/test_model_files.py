"""Model files: every gallery system there and back, the grammar, and messages with lines."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import casadi as ca
import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

import files
import mechgraph as mg
from mechgraph import gallery
from mechgraph.cli import main
from mechgraph.formats.model_files import document, expressions, model_file
from mechgraph.formats.model_files.expressions import Formula
from mechgraph.formats.model_files.schema import model_schema
from mechgraph.formats.model_files.spelling import name_text, spell
from mechgraph.formats.model_files.starter import starter as first_model
from mechgraph.model.described import canonical

NAMES = gallery.names()


def _functions(said: mg.Description) -> list[str]:
    """Names of elements that were said with Python functions."""
    given = {e.name: e._given.values() for e in (*said.elements, *said.speeds.values())}
    return [
        *(name for name, values in given.items() if any(callable(v) for v in values)),
        *said.outputs,
    ]


# --- there and back -------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_every_gallery_system_goes_there_and_back(name):
    example = gallery.load(name)
    system = example.system()
    said = system.snapshot()
    read = model_file.parse(model_file.write(system)).system
    if not _functions(said):
        assert read.snapshot() == said
    again = model_file.parse(model_file.write(read, as_json=True), is_json=True).system
    assert again.snapshot() == read.snapshot()
    jsonschema.validate(json.loads(model_file.write(system, as_json=True)), model_schema())


def test_tables_of_files_are_those_of_python(tmp_path):
    text = """
mechgraph: 1
tables:
  gas: {x: [0, 1, 3], y: [0, 2, 2.5], kind: smooth, outside: extend}
  road: {file: road.csv}
  soft: {x: [-1, 0, 1], y: [-3, 0, 3]}
bodies: {cart: {mass: 2, inertia: 0}}
joints:
  x: {type: prismatic, parent: ground, child: cart, axis: x, stiffness: soft}
forces:
  push: {type: torque, joint: x, value: "gas(coordinate(x)) + road(time)*gas(2)"}
"""
    (tmp_path / "road.csv").write_text("way, height\n0, 1\n2, 5\n")
    (tmp_path / "m.yaml").write_text(text)
    read = mg.load(tmp_path / "m.yaml")
    gas = mg.table([0, 1, 3], [0, 2, 2.5], kind="smooth", outside="extend", name="gas")
    found = read.equations().accelerations([0.7], [0.0], 0.5)
    exact = (gas(0.7) + 2.0 * gas(2.0) - 3 * 0.7) / 2
    assert found[0] == pytest.approx(exact, rel=1e-14)
    again = mg.load(read.save(tmp_path / "again.json"))
    assert again.equations().accelerations([0.7], [0.0], 0.5) == found


@pytest.mark.parametrize("kind", ["linear", "smooth"])
@pytest.mark.parametrize("outside", ["hold", "extend", "refuse", ("repeat", "hold")])
def test_tables_over_two_numbers_go_to_files_and_back(kind, outside, tmp_path):
    x, y = np.array([0.0, 0.5, 2, 3]), np.array([-1.0, 0, 0.4, 2, 5])
    z = np.random.default_rng(3).normal(size=(4, 5))
    z[-1] = z[0]  # as one that repeats itself has to be
    plain = mg.table(x, y, z, kind=kind, outside=outside, name="map")
    s = mg.System("cart")
    k = s.parameter("k", 0.7)
    s.prismatic("x", s.ground, s.body("cart", mass=2.0, inertia=0), axis="x")
    s.torque("known", "x", 3 * plain(k, 2 * s.time) + s.time)
    s.torque("asked", "x", lambda m: plain(m.coordinate("x"), m.speed("x") - k) * m.time)
    read = mg.load(s.save(tmp_path / "m.yaml"))
    again = mg.load(read.save(tmp_path / "m.json"))
    assert again.snapshot() == read.snapshot()
    assert read.snapshot().forces["known"] == s.snapshot().forces["known"]
    places = [(0.7, 1.0, 0.6), (2.2, 3.0, 0.1)]
    if outside != "refuse":
        places += [(-0.4, 1.2, 7.0), (9.0, -4.0, -3.0)]
    for q, u, t in places:
        exact = (3 * plain(0.7, 2 * t) + t + plain(q, u - 0.7) * t) / 2
        for each in (s, read, again):
            found = each.equations().accelerations([q], [u], t)[0]
            assert found == pytest.approx(exact, rel=1e-13, abs=1e-14)
    jsonschema.validate(json.loads(model_file.write(s, as_json=True)), model_schema())


def test_tables_have_units_and_grids_of_files(tmp_path):
    (tmp_path / "map.csv").write_text("x\\y, 0, 90\n0, 1, 2\n1000, 3, 4\n")
    text = """
mechgraph: 1
tables:
  gas: {x: [0, 1 cm], y: [0 kN, 2], units: {y: N}}
  map: {file: map.csv, units: {x: mm, y: deg}}
bodies: {cart: {mass: 1, inertia: 0}}
joints: {x: {type: prismatic, parent: ground, child: cart, axis: x}}
forces:
  push: {type: torque, joint: x, value: "gas(coordinate(x)) + map(coordinate(x), 45 deg)"}
"""
    (tmp_path / "m.yaml").write_text(text)
    found = mg.load(tmp_path / "m.yaml").equations().accelerations([0.005], [0.0])[0]
    assert found == pytest.approx(1.0 + 1.5 + 2 * 0.005, rel=1e-12)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("{x: [0, 1], y: [0, 1], z: [[0, 1]]}", "z"),
        ("{x: [0, 1], y: [0, 1], z: [[0, 1], [1, 2]], outside: repeat}", "repeats itself along x"),
        ("{x: [0, 1], y: [0, 1], z: [[0, 1], [1, 2]], outside: [hold]}", "outside"),
        ("{x: [0, 1], y: [0, 1], units: {x: furlong}}", "'furlong' is no unit"),
        ("{x: [0, 1], y: [0, 1], units: mm}", "units must be such as"),
        ("{x: [0, 1], y: [0]}", "one of each"),
        ("{x: [1, 0], y: [0, 1]}", "gas"),
        ("{x: [0, 1]}", "x and y"),
        ("{file: ../secret.txt}", ".csv"),
        ("{file: none.csv}", "cannot be read"),
        ("{x: [0, 1], y: [0, a]}", "gas"),
        ("{x: [0, 1], y: [0, 1], kind: round}", "kind"),
    ],
)
def test_wrong_tables_are_told_with_their_line(table, told):
    with pytest.raises(mg.ModelError) as caught:
        model_file.parse(f"mechgraph: 1\ntables:\n  gas: {table}\n")
    assert "line 3: tables: gas" in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize("name", ["bicycle", "bogie", "car_axis", "five_bar", "trough", "wheelset"])
def test_equations_of_a_file_are_those_of_the_system(name):
    system = gallery.load(name).system()
    read = model_file.parse(model_file.write(system)).system
    one, other = system.equations(), read.equations()
    assert one.coordinates == other.coordinates
    assert one.parameters == other.parameters
    chance = np.random.default_rng(1)
    q, u = chance.uniform(0.1, 0.9, len(one.coordinates)), chance.normal(size=len(one.speeds))
    for each in ("mass_matrix", "constraint_matrix"):
        if hasattr(one, each):
            a, b = getattr(one, each)(q), getattr(other, each)(q)
            np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14 * np.abs(a).max(initial=1))
    a, b = one.accelerations(q, u), other.accelerations(q, u)
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(a).max())


def test_a_saved_system_is_loaded_and_runs(tmp_path):
    s = mg.System("s", gravity=(0, 0, -9.81))
    length = s.parameter("length", 0.5)
    rod = s.body("rod", mass=1.0, com=(0, 0, -length / 2), inertia=(0.02, 0.02, 1e-3))
    s.revolute("hinge", s.ground, rod, axis="y", stiffness=3.0 * length, damping=0.1)
    s.torque("motor", "hinge", s.input("w") + mg.sin(2 * s.time))
    for ending in (".yaml", ".yml", ".json"):
        path = s.save(tmp_path / f"model{ending}")
        loaded = mg.load(path)
        assert loaded.snapshot() == s.snapshot()
        a = s.equations().simulate(0.5, {"hinge": 0.3})
        b = loaded.equations().simulate(0.5, {"hinge": 0.3})
        np.testing.assert_allclose(a.q, b.q, rtol=1e-12)


def test_inputs_of_a_run_may_be_expressions(tmp_path):
    text = """mechgraph: 1
tables: {gust: {x: [0, 1, 2], y: [0, 5, 0]}}
parameters: {k: 2}
inputs: [wind, hand]
bodies: {rod: {mass: 1, inertia: [1, 1, 1]}}
joints: {hinge: {type: revolute, parent: ground, child: rod}}
forces: {t: {type: torque, joint: hinge, value: wind + hand}}
start: {hinge: [20 deg]}
options: {inputs: {wind: k*gust(time), hand: gust}}
"""
    (tmp_path / "a.yaml").write_text(text)
    first = gallery.load_file(tmp_path / "a.yaml")
    model_file.save(first.system(), tmp_path / "b.yaml", start=first.start, options=first.options)
    for path in ("a.yaml", "b.yaml"):
        read = gallery.load_file(tmp_path / path)
        run = read.system().equations().simulate(2.0, read.start, step=0.5, **read.options)
        np.testing.assert_allclose(run["hand"], [0, 2.5, 5, 2.5, 0])
        np.testing.assert_allclose(run["wind"], 2 * run["hand"])
        assert run["hinge"][0] == np.deg2rad(20)


def test_order_of_what_was_said_is_kept(tmp_path):
    leg = mg.System("leg")
    leg.revolute("knee", leg.ground, leg.body("shin", mass=leg.parameter("m", 1.0), inertia=0))
    car = mg.System("car")
    k = car.parameter("k", 2.0)
    hull = car.body("hull", mass=10.0, inertia=(1, 1, 1))
    car.free("float", car.ground, hull)
    car.place("left", leg, at=(0, 1, 0), on=hull, parameters={"m": k / 2})
    extra = car.body("extra", mass=1.0, inertia=(1, 1, 1))
    car.revolute("mast", hull, extra)
    car.place("right", leg, at=(0, -1, 0), on=hull, orientation=[("z", 0.3)])
    car.parameter("last", 1.0)
    read = mg.load(car.save(tmp_path / "car.yaml"))
    assert read.snapshot() == car.snapshot()
    assert read.equations().coordinates == car.equations().coordinates


def test_a_file_places_a_file_beside_it(tmp_path):
    wheel = gallery.load("wheelset").system()
    wheel.save(tmp_path / "wheelset.yaml")
    text = """
mechgraph: 1
name: two
placed:
  front: {file: wheelset.yaml, at: [1, 0, 0]}
  rear: {file: wheelset.yaml}
"""
    (tmp_path / "two.yaml").write_text(text)
    two = mg.load(tmp_path / "two.yaml")
    assert len(two.bodies) == 2 * len(wheel.bodies)
    (tmp_path / "wheelset.yaml").write_text("mechgraph: 1\nplaced: {a: {file: wheelset.yaml}}")
    with pytest.raises(mg.ModelError, match="places itself"):
        mg.load(tmp_path / "two.yaml")


def test_what_no_file_has_is_named(tmp_path):
    class Wind(mg.Force):
        def __init__(self, name):
            self.name = name

    s = mg.System("s")
    s.revolute("hinge", s.ground, s.body("rod", mass=1.0, inertia=(1, 1, 1)))
    s.add(Wind("wind"))
    s.torque("motor", "hinge", lambda m: 1.0 if m.speed("hinge") > 0 else -1.0)
    with pytest.raises(mg.ModelError) as caught:
        s.save(tmp_path / "model.yaml")
    assert len(caught.value.problems) == 2
    assert "wind" in str(caught.value)
    assert "motor" in str(caught.value)
    assert not (tmp_path / "model.yaml").exists()
    with pytest.raises(mg.ArgumentError, match="ends in"):
        s.save(tmp_path / "model.txt")
    with pytest.raises(mg.ArgumentError, match="load_run"):
        mg.load(tmp_path / "run.npz")


def test_the_words_of_files_are_those_of_python():
    """The reader gives arguments by the names that the constructors have."""
    import inspect

    for known in (mg.FORCES, mg.CONSTRAINTS):
        for word, kind in known.items():
            say = getattr(mg.System, word, kind)
            said = [key for key in inspect.signature(say).parameters if key != "self"]
            assert said == list(inspect.signature(kind).parameters), word


# --- expressions ----------------------------------------------------------------------------------


def _random_expression(chance: random.Random, symbols: list[ca.SX], depth: int) -> ca.SX:
    if depth == 0 or chance.random() < 0.1:
        number = chance.choice([chance.uniform(-3, 3), 2.0, -1.0, 1e-7, 3e22])
        return chance.choice([*symbols, ca.SX(number)])
    a, b, c = (_random_expression(chance, symbols, depth - 1) for _ in range(3))
    return chance.choice(
        [
            a + b, a - b, a * b, a / b, -a, a**2, a**b, ca.sin(a), ca.sqrt(a), ca.fmax(a, b),
            ca.if_else(a < b, b, c), ca.atan2(a, b), a * a, ca.fabs(a), 1 / a, 2 * a, a**-1.5,
            ca.if_else(ca.logic_and(a <= b, ca.logic_not(c == a)), a, 0), ca.fmod(a, b), ca.sign(a),
        ]
    )  # fmt: skip


@pytest.mark.smoke("0", "1", "2", "3")
@pytest.mark.parametrize("seed", range(300))
def test_random_expressions_are_spelled_and_read(seed):
    chance = random.Random(seed)
    symbols = [ca.SX.sym(name) for name in ("x", "sin", "my k", "a1")]
    e = _random_expression(chance, symbols, 4)
    try:
        text = spell(e, {s.__hash__(): name_text(s.name()) for s in symbols})
    except mg.ModelError:  # inf and NaN are no numbers of a file
        assert "inf" in str(e) or "nan" in str(e)
        return
    read = expressions.evaluate(text, {s.name(): s for s in symbols})
    x, numbers = ca.vertcat(*symbols), np.random.default_rng(seed).normal(size=(4, 20))
    values = [np.array(ca.Function("f", [x], [each])(numbers)) for each in (e, read)]
    np.testing.assert_array_equal(*values, err_msg=text)
    if "?" not in str(e):  # CasADi may turn squares of conditions into conditions on squares
        assert canonical(read) == canonical(e), text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2*3^2", 19),
        ("-2^2", -4),
        ("2^-1", 0.5),
        ("2**3**2", 512),
        ("(1 + 2)*3 - -1", 10),
        ("10 mm + 2 cm", 0.03),
        ("210 N/mm", 210e3),
        ("1 kg*m/s^2", 1),
        ("90 deg", np.pi / 2),
        ("60 rpm", 2 * np.pi),
        ("if(1 < 2 and not 3 < 2, 5, 6)", 5),
        ("a = 2; b = a*a; b + a", 6),
        ("[1, 2, 3][1] + [[1, 2], [3, 4]][1, 0]", 5),
        ("dot([1, 2, 3], [1, 1, 1])", 6),
        ("norm(cross([1, 0, 0], [0, 2, 0]))", 2),
        ("min(3, 2) + max(3, 2) + clip(9, 0, 1)", 6),
        ("1e3 + .5 + 2.", 1002.5),
    ],
)
def test_what_a_text_means(text, value):
    assert float(expressions.evaluate(text)) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 +", "got the end"),
        ("(1", "expected ')'"),
        ("foo(1)", "unknown function 'foo'"),
        ("sin", "sin is a function"),
        ("sin(1, 2)", "takes 1 arguments"),
        ("lenght", "unknown name 'lenght'"),
        ("1 2", "'2' cannot stand there"),
        ("[1, 2][2]", "outside"),
        ("[1, 2] + [1, 2, 3]", "do not fit"),
        ("position(tip)", "asks the motion"),
        ("__import__('os')", "unknown function"),
        ("a.__class__", "unknown name"),
        ("(" * 1000 + "1" + ")" * 1000, "brackets"),
        ("1 ? 2 : 3", "if(a < b"),
        ("'open", "same quote"),
    ],
)
def test_wrong_texts_are_told(text, told):
    with pytest.raises(mg.ModelError) as caught:
        expressions.evaluate(text)
    assert told in str(caught.value)


def test_long_sums_are_read():
    assert float(expressions.evaluate("+".join(["1"] * 20_000))) == 20_000


def test_a_formula_asks_the_motion():
    s = mg.System("s")
    k = s.parameter("k", 2.0)
    rod = s.body("rod", mass=1.0, inertia=(1, 1, 1))
    s.revolute("hinge", s.ground, rod)
    tip = s.marker("tip", rod, at=(1, 0, 0))
    s.output(
        "text", Formula("k*dot(velocity(tip), axis(rod, y)) + position(tip, rod)[0]", {"k": k})
    )
    s.output(
        "python",
        lambda m: k * mg.dot(m.velocity(tip), m.axis(rod, "y")) + m.position(tip, rod)[0],
    )
    run = s.equations().simulate(0.1, {"hinge'": 2.0})
    np.testing.assert_allclose(run["text"], run["python"], rtol=1e-15)
    np.testing.assert_allclose(run["text"], 5.0, rtol=1e-12)


# --- documents ------------------------------------------------------------------------------------


def test_a_document_remembers_its_lines():
    node = document.read("a: 1\nb:\n  - [1, x]\n  - {c: 'no', d: no, e: 1e3}\n")
    assert node.plain() == {"a": 1, "b": [[1, "x"], {"c": "no", "d": "no", "e": 1000.0}]}
    assert node["b"][1]["e"].line == 4
    tabbed = '{"a":\t"\\ud83d\\ude00 \\/", "b": [1.5e-3, null, true]}'
    assert document.read(tabbed, is_json=True).plain() == json.loads(tabbed)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: the file is empty"),
        ("a: 1\na: 2", "line 2: the key 'a' stands twice"),
        ("a: &x 1\nb: *x", "line 1: anchors"),
        ("a: !!python/object/apply:os.system [true]", "line 1: tags"),
        ("a: [1", "not valid YAML"),
        ("a: 1\n---\nb: 2", "line 3: a second document"),
        ("[" * 10_000, "brackets"),
        ("? [1]\n: 2", "a key must be a text"),
    ],
)
def test_wrong_documents_are_told(text, told):
    with pytest.raises(mg.ModelError) as caught:
        document.read(text)
    assert told in str(caught.value)


def test_what_is_said_on_itself_is_told():
    """It is unknown because it could not be made, but nothing else tells why."""
    text = """
mechgraph: 1
bodies: {rod: {mass: 1, inertia: 0}}
markers: {tip: {body: tip}}
joints: {j: {type: revolute, parent: ground, child: rod}}"""
    with pytest.raises(mg.ModelError, match="line 4: markers: tip: unknown body or marker 'tip'"):
        model_file.parse(text)


BAD = """\
mechgraph: 1
gravty: [0, 0, -9.81]
parameters: {k: 2*q, L: 0.5}
bodies:
  rod: {mass: 1.0, com: [0, 0, -L/2], inertia: [0.1, 0.1]}
  arm: {mas: 2, inertia: 0}
  load: {mass: 1, inertia: 0}
joints:
  hinge: {type: revolut, parent: ground, child: load}
  other: {type: revolute, parent: ground, child: rod}
  third:
    type: revolute
    parent: ground
    child: load
    axis: [1, 1, 0]
forces:
  motor: {type: torque, joint: third, value: sin k}
  c: {type: rigid_contact, surface: {type: sphere, at: load, radus: 1}, base: {type: plane, at: x}}
constraints:
  d: {type: rigid_contact, surface: {type: sphere, at: load, radus: 1}, base: {type: plane, at: x}}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("mass: 0.5, ", "", "line 13: bodies: crank body: mass is missing; every body needs it, a"),
        ("  slider: {", "\tslider: {", "indent by spaces, not by tabs"),
        ("  x: {type", "  x {type", "is a colon missing"),
        ("axis: x}", "axis: w}", "line 21: joints: x: axis: must be x, y, z, -x"),
        (
            "rod: 300 mm",
            "rod: 300 mmm",
            "line 8: parameters: rod: '300 mmm': unknown unit 'mmm'; d",
        ),
        (
            "-k*(pos",
            "-kk*(pos",
            "line 25: '-kk*(position(slider)[0] - crank)': unknown name 'kk'; did",
        ),
        (
            "{theta: 30",
            "{thetta: 30",
            "line 30: start: unknown name 'thetta'; did you mean 'theta'?",
        ),
        ("guess: {x", "guess: {y", "line 31: guess: unknown name 'y'"),
        ("duration: 2", "duration: -2", "line 32: duration: must be"),
        ("rtol: 1", "rtoll: 1", "line 33: options: unknown name 'rtoll'; did you mean 'rtol'?"),
    ],
)
def test_a_newcomers_mistakes_in_the_starter_are_told_once(right, wrong, told):
    text = first_model(".yaml", "crane")
    assert right in text
    with pytest.raises(mg.ModelError) as caught:
        model_file.parse(text.replace(right, wrong, 1))
    assert told in str(caught.value)
    assert len(caught.value.problems) == 1


def test_all_mistakes_are_told_at_once_with_their_lines(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(BAD)
    with pytest.raises(mg.ModelError) as caught:
        mg.load(path)
    told = caught.value.problems
    for line, words in (
        (2, "did you mean 'gravity'"),
        (3, "unknown name 'q'"),
        (5, "inertia must be"),
        (6, "did you mean 'mass'"),
        (9, "did you mean 'revolute'"),
        (15, "the unit axis is"),
        (17, "sin is a function"),
        (18, "A rigid_contact stands under constraints"),
        (20, "did you mean 'radius'"),
    ):
        assert any(t.startswith(f"bad.yaml, line {line}:") and words in t for t in told), (
            line,
            told,
        )
    assert len(told) == 9  # "other" only follows from "rod"


@pytest.mark.parametrize(
    ("more", "line", "told"),
    [
        ("  alone: {mass: 1, inertia: 0}", 5, "no path of joints"),
        ("outputs: {h: 'position(rood)[0]'}", 5, "did you mean 'rod'"),
        ("outputs: {h: 'position(rod)[3]'}", 5, "outside"),
        ("order: {bodies: [rod, rod]}", 5, "must list all"),
        ("placed: {a: {file: /etc/passwd}}", 5, "a model file ends in"),
        ("placed: {a: {}}", 5, "give either file"),
        ("forces: {f: {type: [1]}}", 5, "unknown type"),
        ("forces: {f: {type: {a: 1}}}", 5, "unknown type"),
        ("start: {hinge: soon}", 5, "start: hinge: 'soon': unknown name"),
        ("guess: {hinge: [1, time]}", 5, "guess: hinge: must be a number, got 'time'"),
        ("options: {inputs: {w: sin(tim)}}", 5, "inputs: w: 'sin(tim)': unknown name 'tim'"),
        ("tables: {g: {x: [0, 1], y: [0, 1]}}\nduration: g", 6, "must be a number, got 'g'"),
        ("plane: ab", 5, "plane must be 'xy'"),
    ],
)
def test_what_the_whole_shows_is_told_with_lines(more, line, told):
    joints = "joints: {hinge: {type: revolute, parent: ground, child: rod}}"
    text = f"mechgraph: 1\n{joints}\nbodies:\n  rod: {{mass: 1, inertia: [1, 1, 1]}}\n{more}\n"
    with pytest.raises(mg.ModelError) as caught:
        model_file.parse(text)
    assert f"line {line}: " in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize("start", range(0, 400, 50))
def test_altered_files_are_systems_or_told(start):
    wrong = {seed: files.wrong_with(seed) for seed in range(start, start + 50)}
    assert not {seed: what for seed, what in wrong.items() if what}


def test_nothing_in_a_file_is_executed(tmp_path):
    mark = tmp_path / "mark"
    for text in (
        f"mechgraph: 1\nname: !!python/object/apply:os.mkdir ['{mark}']",
        f"mechgraph: 1\nparameters: {{a: \"__import__('os').mkdir('{mark}')\"}}",
        f"mechgraph: 1\noutputs: {{a: \"exec(open('{mark}', 'w'))\"}}",
    ):
        with pytest.raises(mg.ModelError):
            model_file.parse(text)
    assert not mark.exists()


# --- the command line -----------------------------------------------------------------------------


def test_the_command_line_reads_and_writes_model_files(tmp_path):
    runner = CliRunner()
    starter = tmp_path / "crane.yaml"
    assert runner.invoke(main, ["new", str(starter)]).exit_code == 0
    again = runner.invoke(main, ["new", str(starter)])
    assert again.exit_code == 1
    assert "exists" in again.output
    ran = runner.invoke(main, ["run", str(starter), "--duration", "0.2", "--set", "k=30"])
    assert ran.exit_code == 0, ran.output
    assert "finished" in ran.output
    target = tmp_path / "fourbar.json"
    assert runner.invoke(main, ["convert", "fourbar", str(target)]).exit_code == 0
    example = gallery.load_file(target)
    assert dict(example.start) == dict(gallery.load("fourbar").start)
    assert runner.invoke(main, ["describe", str(target)]).exit_code == 0
    shown = runner.invoke(main, ["schema"])
    assert json.loads(shown.output) == model_schema()
    wrong = runner.invoke(main, ["run", str(tmp_path / "none.yaml")])
    assert wrong.exit_code == 2
    script = tmp_path / "own.py"
    assert runner.invoke(main, ["new", str(script)]).exit_code == 0
    ran = subprocess.run([sys.executable, script], capture_output=True, check=False)
    assert ran.returncode == 0
