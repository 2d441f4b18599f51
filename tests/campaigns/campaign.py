"""What random models must show, and the campaign that asks it of one seed after the other.

    python tests/campaigns/campaign.py --seed 0 --count 200        # or --hours 2
    python tests/campaigns/campaign.py --seed 17 --count 1         # one of them again

A seed is examined in a process of its own that is ended when it takes too long. A failure is
printed as a program that shows it, and they are counted by class. An error of the family in
``errors.py`` is an answer; any other is a failure, and so is a wrong number without a warning.
"""

from __future__ import annotations

import argparse
import collections
import copy
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import colliders
import mechgraph as mg
import nonholonomic
import written
from mechgraph.studies.agreement import TOLERANCES
from models import Model, random_model
from runs import random_call, random_run
from worker import Finding, Worker
from written import random_terms

SHOWN = 2  # programs of a class of failures
EXACT = 1e-9  # violations of assembled states


class Failure(Exception):
    """What must not be: its class, and what was seen."""

    def __init__(self, kind: str, seen: object = "") -> None:
        super().__init__(kind, seen)
        self.kind, self.seen = kind, seen


@dataclass
class Script:
    """A program that is run line by line; ``told`` is called with its text before each."""

    told: Callable[[str], None]
    text: str = "import numpy as np"
    space: dict[str, Any] = field(default_factory=lambda: {"np": np})
    warned: list[Warning] = field(default_factory=list)

    def do(self, lines: str) -> Any:
        """Run further lines; the value of ``x = …`` is returned."""
        self.text = f"{self.text}\n{lines}"
        self.told(self.text)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                exec(lines, self.space)
            finally:
                self.warned += [each.message for each in caught]
        return self.space.get(lines.rpartition("\n")[2].partition(" = ")[0])


# --- what is asked of a model ---------------------------------------------------------------------


def is_described(model: Model, script: Script) -> None:
    script.do("text = s.describe()")
    script.do("text = str(s.snapshot()) + str(s.equations())")


def is_assembled(model: Model, script: Script) -> None:
    """The configuration is on the constraints, so it is found; and speeds, if there are any."""
    eqs = script.do("eqs = s.equations()")
    given = np.array([model.configuration[name] for name in eqs.coordinates])
    try:
        q, u = script.do("state = eqs.assemble(guess=configuration, t=now)")
    except mg.AssemblyError as error:
        if has_speeds(eqs, given, model.t) or "velocity level" not in str(error):
            raise Failure("not assembled though it can be", error) from error
        raise
    left = np.abs(eqs.position_violation(q, model.t)).max(initial=0.0)
    rate = np.abs(eqs.velocity_violation(q, u, model.t)).max(initial=0.0)
    if max(left, rate) > EXACT:
        raise Failure("assembled off the constraints", (left, rate))
    if np.abs(q - given).max(initial=0.0) > 1e-6:
        raise Failure("assembled elsewhere though the guess is on the constraints", q - given)


def has_speeds(eqs: mg.Equations, q: np.ndarray, t: float) -> bool:
    """Whether ψ = A u + ψ(0) = 0 has a solution, by least squares; rows that are not linear have
    the benefit of the doubt."""
    still = np.zeros(len(eqs.speeds))
    rest = eqs.velocity_violation(q, still, t)
    A = eqs.constraint_jacobian(q, still, t)[: len(rest)]
    u = np.linalg.lstsq(A, -rest, rcond=1e-9)[0]
    return bool(np.abs(eqs.velocity_violation(q, u, t)).max(initial=0.0) < 1e-8)


def agrees(model: Model, script: Script, formalisms: list[str] | None = None) -> None:
    """All formalisms (or those named) and closures, at random states on the constraints."""
    asked = "" if formalisms is None else f", formalisms={formalisms}"
    found = script.do(f"found = mg.agreement(s, 2, {model.seed}, guess=configuration{asked})")
    wrong = [row for row in found.rows if not row.ok]
    if wrong:
        columns = zip(*(_beyond(row) for row in wrong), strict=True)
        what = [name for name, any_of in zip(COLUMNS, map(any, columns), strict=True) if any_of]
        who = {row.formalism.partition(" ")[0] for row in wrong}
        by = "many formalisms" if len(who) > 2 else " and ".join(sorted(who))
        still = " where nothing can move" if _is_still(model) else ""
        raise Failure(f"disagreement in {', '.join(what)} of {by}{still}", found)


COLUMNS = ("M", "f", "accelerations", "reactions")


def _is_still(model: Model) -> bool:
    eqs = model.system.equations()
    q = [model.configuration[name] for name in eqs.coordinates]
    return eqs.mobility(q, t=model.t) == 0


def _beyond(row: Any) -> list[bool]:
    return [bool(e is not None and e > TOLERANCES[k]) for k, e in enumerate(row.errors)]


def answers(model: Model, script: Script) -> None:
    """Every question that a state can be asked gets numbers or an error of ours."""
    script.do("eqs = s.equations()")
    script.do("q, u = eqs.assemble(guess=configuration, t=now)")
    for _ in range(4):
        told = len(script.warned)
        value = script.do(f"value = {random_call(model)}")
        finite = not isinstance(value, np.ndarray) or np.isfinite(value).all()
        if not finite and len(script.warned) == told:
            raise Failure("numbers that are not finite", value)


# --- what is asked of a run -----------------------------------------------------------------------


def runs(model: Model, script: Script) -> None:
    """A run ends, keeps its constraints and its balance of energy, and depends neither on the
    output nor on the order in which the model was said."""
    call = random_run(model)
    script.do(f"eqs = s.equations({call.formalism!r})")
    run = script.do(f"run = {call}")
    if not np.isfinite(np.hstack([run.q, run.u])).all():
        raise Failure("a run with numbers that are not finite", run)
    if script.warned or call.stabilization != "projection":
        return  # it need not be right
    _is_kept(run, call.rtol)
    finer = script.do(f"finer = {call.finer()}")
    known = _known(run, finer, call.rtol)
    other = script.do(f"other = {call.another_step()}")
    _same_end("another output step", run, other, known)
    script.do("joint = s.equations()")
    script.do("start = {name: run[name][0] for name in (*joint.coordinates, *joint.speeds)}")
    script.do(f"{model.shuffled()}\nshuffled = s.equations({call.formalism!r})")
    other = script.do(f"other = {call.of('shuffled', 'start')}")
    _same_end("another order of description", run, other, known)


def _is_kept(run: mg.Trajectory, rtol: float) -> None:
    """Constraints and the balance of energy."""
    if run.violation.max(initial=0.0) > 1e-6:
        raise Failure("a run off its constraints without a word", run.violation.max())
    size = max(np.abs(run.kinetic).max(), np.ptp(run.potential), 1e-3)
    lost = np.abs(run.imbalance).max() / size
    if lost > 10 * np.sqrt(rtol):
        raise Failure("a run that loses energy without a word", lost)


def _end(run: mg.Trajectory) -> np.ndarray:
    """Places of all bodies at the end."""
    assert run.equations is not None
    return np.array([run[name][-1] for name in sorted(run.equations.system.bodies)])


def _known(run: mg.Trajectory, finer: mg.Trajectory, rtol: float) -> float:
    """How well the end of a run is known: by a finer one, not better than the tolerance."""
    gap = np.abs(_end(run) - _end(finer)).max(initial=0.0)
    return float(gap + 1e3 * rtol * (1.0 + np.abs(_end(run)).max(initial=0.0)))


def _same_end(what: str, run: mg.Trajectory, other: mg.Trajectory, known: float) -> None:
    if run.outcome != other.outcome:
        raise Failure(f"another outcome with {what}", (run.outcome, other.outcome))
    gap = np.abs(_end(run) - _end(other)).max(initial=0.0)
    if gap > 30 * known:
        raise Failure(f"another end with {what}", f"{gap}, known to {known}")


# --- one seed -------------------------------------------------------------------------------------

QUESTIONS: dict[str, Callable[[Model, Script], None]] = {
    "described": is_described,
    "assembled": is_assembled,
    "agrees": agrees,
    "answers": answers,
    "runs": runs,
}
# questions that are not about such a model: terms written by hand, things that collide, and systems
# that are not holonomic
TERMS, COLLIDES, ROLLS = "terms", "collides", "rolls"
OTHERS = (TERMS, COLLIDES, ROLLS)


def examine(seed: int, question: str, told: Callable[[str], None]) -> list[Finding]:
    """All that is found when a seed is asked one question."""
    script = Script(told)

    def finding(kind: str, seen: object, is_failure: bool = True) -> Finding:
        comment = "\n".join(f"# {line}" for line in str(seen).splitlines())
        return Finding(seed, f"{question}: {kind}", f"{script.text}\n{comment}", is_failure)

    found = []
    try:
        _ask(seed, question, script)
    except Failure as failure:
        found.append(finding(failure.kind, failure.seen))
    except mg.MechgraphError as error:
        found.append(finding(_class(error), error, is_failure=False))
    except Exception as error:
        found.append(finding(f"raw {_class(error)}", f"{type(error).__name__}: {error}"))
    told_once = {_class(each): each for each in script.warned}
    return found + [
        finding(f"warning {kind}", each, type(each) is not UserWarning)
        for kind, each in told_once.items()
    ]


def _ask(seed: int, question: str, script: Script) -> None:
    if question == TERMS:
        script.do(random_terms(seed))
        gap = written.gap(seed, script.do("eqs = mg.Equations(terms)"))
        if gap > 1e-6:
            raise Failure("terms that move otherwise than by SciPy", gap)
        return
    if question == COLLIDES:
        wrong = colliders.wrong_with(seed, script.do)
        if wrong is not None:
            raise Failure(*wrong)
        return
    if question == ROLLS:
        rolling = nonholonomic.system(seed)
        script.do(rolling.program)
        is_assembled(rolling, script)
        agrees(rolling, script, nonholonomic.formalisms(rolling))
        return
    kept, space = _built(seed)
    model = copy.copy(kept)
    model.random = copy.deepcopy(kept.random)  # whatever was asked before
    script.text, script.space = f"{script.text}\n{model.program}", {**script.space, **space}
    QUESTIONS[question](model, script)


@lru_cache(maxsize=1)
def _built(seed: int) -> tuple[Model, dict[str, Any]]:
    """The model of a seed and what its program makes, for all questions."""
    model, space = random_model(seed), {}
    exec(model.program, space)
    return model, space


def _class(error: BaseException) -> str:
    """An error without its names and numbers."""
    line = str(error).partition("\n")[0]
    line = re.sub(r"'[^']*'|\"[^\"]*\"", "…", line)
    line = re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", line)
    return f"{type(error).__name__}: {line[:100]}"


# --- the campaign ---------------------------------------------------------------------------------


def campaign(seeds: Iterator[int], questions: list[str], show: Callable[[str], None]) -> int:
    """Examine seeds, show failures when they are met and a summary at the end; the number of
    failures."""
    met: Met = collections.defaultdict(list)
    worker, began = Worker(examine), time.monotonic()
    try:
        for done, seed in enumerate(seeds, 1):
            for question in questions:
                _note(met, worker.examine(seed, question), show)
            line = f"\r{done} seeds, {_failures(met)} failures, {time.monotonic() - began:.0f} s"
            print(line, end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the summary is still to come
    finally:
        worker.close()
    show(summary(met))
    return _failures(met)


Met = dict[tuple[bool, str], list[int]]  # seeds by whether it is a failure, and its class


def _note(met: Met, findings: list[Finding], show: Callable[[str], None]) -> None:
    for finding in findings:
        seeds = met[finding.is_failure, finding.kind]
        seeds.append(finding.seed)
        if finding.is_failure and len(seeds) <= SHOWN:
            show(f"--- seed {finding.seed}: {finding.kind}\n{finding.program}\n")


def _failures(met: Met) -> int:
    return sum(len(seeds) for (is_failure, _), seeds in met.items() if is_failure)


def summary(met: Met) -> str:
    """Classes with how often, and seeds of each."""
    lines = [f"{_failures(met)} failures"]
    for chosen, title in ((True, "failures"), (False, "answers that refuse, and warnings")):
        lines += ["", f"{title}:"]
        rows = [
            (len(seeds), kind, seeds[:6]) for (each, kind), seeds in met.items() if each is chosen
        ]
        lines += [
            f"{count:6d}  {kind}  {seeds}" for count, kind, seeds in sorted(rows, reverse=True)
        ]
    return "\n".join(lines)


def _seeds(first: int, count: int | None, hours: float | None) -> Iterator[int]:
    end = time.monotonic() + 3600 * (hours if hours is not None else 1e9)
    seed = first
    while time.monotonic() < end and (count is None or seed < first + count):
        yield seed
        seed += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, help="how many seeds")
    parser.add_argument("--hours", type=float, help="how long")
    parser.add_argument("--ask", nargs="*", choices=[*QUESTIONS, *OTHERS], help="questions")
    given = parser.parse_args()
    count = 100 if given.count is None and given.hours is None else given.count
    seeds = _seeds(given.seed, count, given.hours)
    return min(1, campaign(seeds, given.ask or [*QUESTIONS, *OTHERS], print))


if __name__ == "__main__":
    sys.exit(main())
