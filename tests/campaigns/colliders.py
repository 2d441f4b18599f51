"""Random systems that hit each other, and stops, and pass through events; each is a program.

    python tests/campaigns/campaign.py --ask collides --count 1000
    python tests/campaigns/colliders.py 17        # prints number 17

What is asked of them: the same events and the same end whatever the output step is, no event that
the output shows and the run does not tell of, nothing passes through anything, and energy is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

ROWS = 777  # of the output in which everything is looked for
RTOL = 1e-8
SMALLEST = 0.05  # radius of what is thrown
SHIFT = 1e-7  # of the start, to see how much a motion depends on it


class Words:
    """Lines of a program with random numbers in it."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.lines = ["import casadi as ca", "import mechgraph as mg"]
        self.start: dict[str, float] = {}
        self.events: list[str] = []
        self.gaps: list[str] = []
        self.depth = "1e-9"  # how deep things may be in each other; E is the largest kinetic energy

    def __call__(self, line: str) -> None:
        self.lines.append(line)

    def number(self, low: float, high: float) -> float:
        return float(np.round(self.random.uniform(low, high), 4))

    def power(self, low: float, high: float) -> float:
        return float(f"{10 ** self.random.uniform(low, high):.3g}")

    def chance(self, part: float) -> bool:
        return bool(self.random.random() < part)

    def pick(self, choices: list[Any]) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def event(self, quantity: str) -> None:
        """Of a quantity of the motion m; a few of them end the run."""
        direction = self.pick([0, 0, -1, 1])
        told = f"lambda m: {quantity}, {direction}, stop={self.chance(0.05)}"
        self.events.append(f"'e{len(self.events)}': mg.Event({told})")

    @property
    def program(self) -> str:
        ending = [
            f"start = {self.start}",
            f"events = {{{', '.join(self.events)}}}",
            f"gaps = lambda m: ca.vertcat({', '.join(self.gaps) or '1'})",
            f"depth = lambda E: {self.depth}",
        ]
        return "\n".join([*self.lines, *ending])


def contact(w: Words, hard: bool, stiff: float, name: str, surface: str, base: str) -> None:
    """Rigid, or compliant."""
    if hard:
        law = f"restitution={w.number(0, 1)}"
        law += f", friction={w.pick([0.0, w.number(0, 1)])}"
    else:
        law = f"stiffness={stiff}, damping={w.pick([0, 0.2])}"
    kind = "rigid" if hard else "compliant"
    w(f"s.{kind}_contact({name!r}, {surface}, {base}, {law})")


def row(w: Words) -> float:
    """Masses in a row, some on springs, between two stops that are kinks of forces, or planes."""
    count, hard, stiff = int(w.random.integers(1, 4)), w.chance(0.5), w.power(3, 7)
    w("s = mg.System('row', gravity=(0, 0, -9.81))")
    for k in range(count):
        w(f"b{k} = s.body('b{k}', mass={w.number(0.1, 2)}, inertia=(1e-3, 1e-3, 1e-3))")
        spring = f", stiffness={w.power(0, 3)}, rest={k}.0" if w.chance(0.4) else ""
        w(f"s.prismatic('x{k}', s.ground, b{k}, axis='x'{spring})")
        w.start |= {f"x{k}": k + w.number(-0.2, 0.2), f"x{k}'": w.number(-3, 3)}
        if w.chance(0.7):
            w.event(f"m.coordinate('x{k}') - {k + w.number(-0.1, 0.1)}")
    for k in range(count - 1):
        pair = f"mg.Sphere(b{k + 1}, 0.05)", f"mg.Sphere(b{k}, 0.05)"
        contact(w, hard, stiff, f"c{k}", *pair)
        w.gaps.append(f"m.coordinate('x{k + 1}') - m.coordinate('x{k}') - 0.1")
    for name, sign, place, k in (("left", 1, -0.7, 0), ("right", -1, count - 0.3, count - 1)):
        w.gaps.append(f"{sign} * (m.coordinate('x{k}') - {place})")
        if hard:
            turn = f"[('y', {sign} * 1.5707963267948966)]"
            at = f"({place - 0.05 * sign}, 0, 0)"
            w(f"{name} = s.marker('{name}', s.ground, {at}, {turn})")
            contact(w, hard, stiff, f"at {name}", f"mg.Sphere(b{k}, 0.05)", f"mg.Plane({name})")
        else:
            depth = f"ca.fmax(0, {sign} * ({place} - m.coordinate('x{k}')))"
            w(f"s.force('{name}', b{k}, lambda m: ({sign} * {stiff} * {depth}, 0, 0))")
    if not hard:
        w.depth = f"2 * (2.5 * E / {stiff}) ** 0.4 + 2 * (2 * E / {stiff}) ** 0.5"
    return 2.0


def box(w: Words) -> float:
    """Balls in a box, or discs in a frame."""
    count, hard, stiff = int(w.random.integers(1, 4)), w.chance(0.5), w.power(4, 7)
    w("s = mg.System('box', gravity=(0, 0, -9.81))")
    half, walls = "1.5707963267948966", {"floor": ("(0, 0, 0)", "[('x', 0)]", "m.position({b})[2]")}
    walls["left"] = "(-0.5, 0, 0)", f"[('y', {half})]", "m.position({b})[0] + 0.5"
    walls["right"] = "(0.5, 0, 0)", f"[('y', -{half})]", "0.5 - m.position({b})[0]"
    flat = w.chance(0.6)
    if not flat:
        walls["front"] = "(0, -0.5, 0)", f"[('x', -{half})]", "m.position({b})[1] + 0.5"
        walls["back"] = "(0, 0.5, 0)", f"[('x', {half})]", "0.5 - m.position({b})[1]"
    for name, (at, turn, _) in walls.items():
        w(f"{name} = s.marker({name!r}, s.ground, {at}, {turn})")
    for k in range(count):
        w(f"b{k} = s.body('b{k}', mass={w.number(0.2, 2)}, inertia=(0.002, 0.002, 0.002))")
        moves = "mg.move('x', 'x'), mg.move('z', 'z'), mg.rot('y', 'angle')"
        kind = (
            f"joint('p{k}', s.ground, b{k}, [{moves}])" if flat else f"free('p{k}', s.ground, b{k})"
        )
        w(f"s.{kind}")
        place = (k - count / 2) * 0.25 + 0.125
        w.start |= {f"p{k}.x": place, f"p{k}.z": w.number(0.2, 0.8), f"p{k}.x'": w.number(-3, 3)}
        w.start |= {f"p{k}.z'": w.number(-3, 3)}
        w.start |= {} if flat else {f"p{k}.y'": w.number(-3, 3), f"p{k}.wx": w.number(-3, 3)}
        for name, (_, _, gap) in walls.items():
            pair = f"mg.Sphere(b{k}, 0.07)", f"mg.Plane({name})"
            contact(w, hard, stiff, f"{name} {k}", *pair)
            w.gaps.append(gap.format(b=f"b{k}") + " - 0.07")
        for other in range(k):
            pair = f"mg.Sphere(b{k}, 0.07)", f"mg.Sphere(b{other}, 0.07)"
            contact(w, hard, stiff, f"c {other} {k}", *pair)
            w.gaps.append(f"ca.norm_2(m.position(b{k}) - m.position(b{other})) - 0.14")
        w.event(f"m.position(b{k})[{w.pick([0, 2])}] - {w.number(-0.1, 0.3)}")
    if not hard:
        w.depth = f"2 * (2.5 * E / {stiff}) ** 0.4"
    return 0.6


def pendulum(w: Words) -> float:
    """A pendulum that swings against two stops, is pushed for a while, and passes marks."""
    left, right, stiff = w.number(-1.5, -0.3), w.number(0.3, 1.5), w.power(1, 5)
    w("s = mg.System('pendulum', gravity=(0, 0, -9.81))")
    w(f"rod = s.body('rod', mass={w.number(0.5, 2)}, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))")
    w("s.revolute('hinge', s.ground, rod, axis='y')")
    depth = (
        f"ca.fmax(0, {left} - m.coordinate('hinge')) - ca.fmax(0, m.coordinate('hinge') - {right})"
    )
    w(f"s.torque('stops', 'hinge', lambda m: {stiff} * ({depth}))")
    begin, lasts = w.number(0.1, 2), w.power(-4, -1)
    pulse = f"mg.if_else(s.time > {begin}, 1, 0) * mg.if_else(s.time < {begin} + {lasts}, 1, 0)"
    w(f"s.torque('push', 'hinge', {w.number(-1, 1) / lasts:.4g} * {pulse})")
    w.start = {"hinge": w.number(left, right), "hinge'": w.number(-6, 6)}
    w.gaps = [f"m.coordinate('hinge') - {left}", f"{right} - m.coordinate('hinge')"]
    w.depth = f"3 * ((2 * E + 100) / {stiff}) ** 0.5"
    for _ in range(int(w.random.integers(1, 4))):
        w.event(f"m.coordinate('hinge') - {w.number(left, right)}")
    w.event(f"mg.sin({int(w.random.integers(1, 60))} * m.coordinate('hinge'))")
    return 3.0


def rotor(w: Words) -> float:
    """A wheel that is driven this way and that by a clock, passes marks, and lifts a tappet."""
    w("s = mg.System('rotor')")
    w(f"wheel = s.body('wheel', mass=1.0, inertia=({w.number(0.5, 2)},) * 3)")
    w("s.revolute('turn', s.ground, wheel, axis='z')")
    period = w.number(0.05, 0.5)
    clock = f"ca.sign(mg.sin({2 * np.pi / period:.5g} * s.time))"
    w(f"s.torque('drive', 'turn', {w.number(5, 50)} * {clock})")
    w("tappet = s.body('tappet', mass=0.2, inertia=0)")
    w(f"s.prismatic('lift', s.ground, tappet, axis='x', stiffness={w.power(2, 4)}, damping=0.5)")
    cam = f"0.02 * mg.cos({int(w.random.integers(1, 5))} * m.coordinate('turn'))"
    stiff = w.power(4, 6)
    push = f"{stiff} * ca.fmax(0, {cam} - m.coordinate('lift'))"
    w(f"s.force('cam', tappet, lambda m: ({push}, 0, 0))")
    w.start = {"turn'": w.number(-60, 60), "lift": 0.03}
    w.event(f"mg.sin({int(w.random.integers(1, 9))} * m.coordinate('turn'))")
    w.event(f"m.coordinate('lift') - {w.number(-0.005, 0.015)}")
    w.event(f"mg.sin({w.number(50, 400)} * m.time - 1)")
    return 1.0


KINDS: list[Callable[[Words], float]] = [row, box, pendulum, rotor]


def random_collider(seed: int) -> tuple[str, float, int]:
    """A program that makes ``s``, ``start``, ``events``, ``gaps`` and the ``depth`` that these may
    have; a duration; and a number of rows for the output."""
    words = Words(seed)
    duration = KINDS[seed % len(KINDS)](words)
    return words.program, duration, int(words.random.integers(2, 2000))


# --- what is asked of them ------------------------------------------------------------------------


def wrong_with(seed: int, do: Callable[[str], Any]) -> tuple[str, object] | None:
    """What must not be, in words, and what was seen; None, if all is well. ``do`` runs a line."""
    program, duration, rows = random_collider(seed)
    do(program)
    do("eqs = s.equations()")

    def run(count: int, rtol: float = RTOL, start: str = "start") -> Any:
        given = f"{start}, step={duration} / {count}, rtol={rtol}, events=events"
        return do(f"run = eqs.simulate({duration}, {given})")

    seen, plain, other, finer = run(ROWS), run(1), run(rows), run(1, RTOL / 100)
    shifted = run(1, start=f"{{name: value + {SHIFT} for name, value in start.items()}}")
    grows = max(1.0, _apart(shifted, plain) / SHIFT)
    known = _apart(plain, finer)
    if known > 1e3 * RTOL * grows:
        return "an end that is not right", f"off by {known}, grows by {grows}"
    for each, how in ((seen, ROWS), (other, rows)):
        if _apart(each, plain) > 1e-9 + known:
            return "another end with another step", (how, _apart(each, plain), known)
        found = _other_events(plain, each, 1e-9 + 10 * known)
        if found:
            return "other events with another step", (how, found)
    found = _other_events(plain, finer, 1e-7 + 100 * known)
    if found:
        return "other events with a smaller tolerance", found
    return _unseen(seen, do) or _passed(seen, do) or _unbalanced(seen)


def _apart(a: Any, b: Any) -> float:
    if a.outcome != b.outcome:
        return float("inf")
    return float(np.abs(a.q[-1] - b.q[-1]).max() + abs(a.time[-1] - b.time[-1]))


def _other_events(a: Any, b: Any, tolerance: float) -> str:
    for name, times in a.events.items():
        others = b.events[name]
        if len(times) != len(others):
            return f"{name}: {len(times)} and {len(others)}: {times} and {others}"
        off = np.abs(times - others).max(initial=0.0)
        if off > tolerance:
            return f"{name}: off by {off}, {tolerance} allowed"
    return ""


def _unseen(run: Any, do: Callable[[str], Any]) -> tuple[str, object] | None:
    """An event that two rows of the output show, and that the run does not tell of."""
    for name, event in do("events = events").items():
        g = np.ravel(run.observe(event.quantity))
        flips = np.flatnonzero(g[:-1] * g[1:] < 0)
        ways = np.sign(g[1:] - g[:-1])[flips]
        flips = flips[(ways == event.direction) | (event.direction == 0)]
        for k in flips:
            among = (run.events[name] >= run.time[k]) & (run.events[name] <= run.time[k + 1])
            if not among.any():
                return "an event that is not told", f"{name} in {run.time[k : k + 2]}"
    return None


def _passed(run: Any, do: Callable[[str], Any]) -> tuple[str, object] | None:
    least = run.observe(do("gaps = gaps")).min()
    allowed = do("depth = depth")(run.kinetic.max())
    if allowed > SMALLEST:  # softer than the impact: things do pass, and the run warns of it
        return None
    if least < -allowed:
        return "something passes through something", f"{least}, {allowed} allowed"
    return None


def _unbalanced(run: Any) -> tuple[str, object] | None:
    size = max(run.kinetic.max(), np.ptp(run.potential), 1e-3)
    lost = np.abs(run.imbalance).max() / size
    return ("energy is lost or gained", lost) if lost > 1e-5 else None


if __name__ == "__main__":
    print(random_collider(int(sys.argv[1]))[0])
