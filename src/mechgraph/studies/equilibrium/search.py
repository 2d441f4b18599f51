"""The search for a state at which the rows of a balance vanish.

Levenberg–Marquardt steps find the one near the guess, be it stable or not. Where the residual has
valleys (a mass on a stiff spring) they get stuck; what then helps is to let go, and to see where
the system creeps. Both begin at the guess, and of what they find the nearer is taken; if they find
nothing, they begin beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...contract.valueless import refused_or_valueless
from ...errors import AssemblyError
from ...numerics.rank import pseudoinverse
from ...numerics.search import normal_by_name
from ...numerics.tolerances import GIVEN, MET
from .balance import Balance, BalanceRows, State, inverse
from .creep import crept

SPREADS = (0.0, 0.1, 0.3, 1.0, 3.0)  # of the starts about the guess
WHILE, STEPS = 0.1, 10  # how far the fastest coordinate moves meanwhile, and in how many steps
LASTING = (WHILE / STEPS) ** 4  # tolerance of the rows after it: the order of the method


def found(balance: Balance, start: State) -> State:
    """A state at which all rows vanish, and go on doing so."""
    tried: list[State] = []
    for begin in _starts(balance, start):
        balance.weigh(begin)
        ends = [_search(balance, begin)]
        if not balance.accelerating:  # which a drag would hold back
            ends.append(_search(balance, crept(balance, begin)))
        good = [end for end in ends if not balance(end).unmet().any()]
        lasting = [end for end in good if not _later(balance, end).unmet(LASTING).any()]
        if lasting:
            return min(lasting, key=lambda end: _distance(balance, start, end))
        tried += ends
    raise AssemblyError(_failure(balance, tried))


def _starts(balance: Balance, start: State) -> Iterator[State]:
    """The guess and states beside it."""
    random, equations = np.random.default_rng(0), balance.equations
    for spread in SPREADS:
        step = normal_by_name(random, equations.terms.chart.variations)[balance.moves]
        rates = normal_by_name(random, equations.speeds)[balance.rates]
        yield balance.moved(start, spread * np.concatenate([step, rates]))


def _distance(balance: Balance, start: State, end: State) -> float:
    """Between states, with speeds in proportion to their size."""
    q, u = (b - a for a, b in zip(start, end, strict=True))
    return float(np.hypot(np.linalg.norm(q), np.linalg.norm(u) / max(1.0, balance.pace(start[1]))))


def _search(balance: Balance, start: State) -> State:
    """Levenberg–Marquardt steps on all rows, without what y can do."""

    def rows(state: State) -> tuple[np.ndarray, np.ndarray]:
        now, scale = balance(state), balance.scale[:, None]
        own = now.own / scale
        rest = np.eye(len(own)) - own @ inverse(own)
        return now.values / balance.scale, rest @ (now.along / scale)

    return balance.search(rows, start)


# --- a while later --------------------------------------------------------------------------------


def _later(balance: Balance, state: State) -> BalanceRows:
    """The rows after the fastest coordinate has moved by a tenth (Runge–Kutta): what is steady for
    an instant only does not meet them."""
    (q, u), a = state, balance.accelerations(state)
    fast = balance.pace(u, a)
    if fast > GIVEN:
        h = WHILE / STEPS / fast
        for _ in range(STEPS):
            k1 = _rates(balance, q, u)
            k2 = _rates(balance, q + h / 2 * k1, u + h / 2 * a)
            k3 = _rates(balance, q + h / 2 * k2, u + h / 2 * a)
            k4 = _rates(balance, q + h * k3, u + h * a)
            q, u = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), u + h * a
            q = balance.equations.terms.chart.normalized(q)
    rows = balance((q, _followed(balance, q, u)))
    rows.values[len(rows.values) - len(balance.values) :] = 0.0  # what is held may well move on
    return rows


def _rates(balance: Balance, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    return balance.equations.coordinate_rates(q, _followed(balance, q, u))


def _followed(balance: Balance, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The speeds, those that may change as ψ gives them."""
    own, u, p = balance.changing, u.copy(), balance.given[1]
    psi = balance.equations.velocity_violation(q, u, 0.0, p)
    A = balance.equations.constraint_jacobian(q, u, 0.0, p)[: len(psi), own]
    u[own] -= pseudoinverse(A) @ psi
    return u


# --- failure --------------------------------------------------------------------------------------


def _failure(balance: Balance, tried: list[State]) -> str:
    """What was tried, how near it came, and what is left there."""
    best = min(tried, key=lambda end: _error(balance, balance(end)))
    rows = balance(best)
    if not np.isfinite(rows.values).all():
        numeric = balance.equations.numeric
        why = refused_or_valueless(numeric, numeric.arguments(*best, 0.0, *balance.given))
        return f"no equilibrium was looked for: at the guess {why or 'there are no forces'}"
    if not rows.unmet().any():
        left = _left(balance, _later(balance, best))
        return f"the motion found near the guess is steady for an instant only: then {left}"
    what = "steady motion" if balance.moving else "equilibrium"
    return (
        f"no {what} found near the guess, by Levenberg–Marquardt steps and by damped motion from "
        f"{len(SPREADS)} starts: where they came nearest, {_left(balance, rows)}; give a guess "
        f"nearer to one, or hold fewer names{_open(balance)}{_rubbing(balance)}"
    )


def _open(balance: Balance) -> str:
    """How something is said to lie on something rigid."""
    names = balance.equations.terms.symbols.parameters
    touching = [name for name in names if name.endswith(".touching")]
    if not touching:
        return ""
    return (
        f". Rigid contacts and stops count as open: parameters={{{touching[0]!r}: 1}} keeps one "
        "closed; or simulate until things rest"
    )


def _rubbing(balance: Balance) -> str:
    """How a joint with dry friction is said to stick."""
    elements = balance.equations.terms.chart.description.elements
    dry = [each.name for each in elements if each.sticks]
    if balance.moving or not dry:
        return ""
    return (
        f". Dry friction ({', '.join(dry)}) is left out: with parameters={{'{dry[0]}.sticking': 1}}"
        " that joint stays where the guess has it, and its multiplier is what friction holds"
    )


def _error(balance: Balance, rows: BalanceRows) -> float:
    error = float(np.linalg.norm(rows.values / balance.scale))
    return error if np.isfinite(error) else np.inf


def _left(balance: Balance, rows: BalanceRows) -> str:
    """The worst row by name, and by how much it is out of balance."""
    relative = np.abs(rows.values) / balance.scale
    worst = int(np.argmax(np.where(np.isnan(relative), np.inf, relative)))
    name, left = balance.names[worst], abs(rows.values[worst])
    if not balance.forces[worst]:
        return f"{name!r} is not met (by {left:.3g})"
    slopes = np.concatenate([rows.along[worst], rows.own[worst]])
    alone = np.abs(slopes).max(initial=0.0) <= MET * left
    why = ", and nothing that may move has an influence on it" if alone else ""
    return f"{name!r} still changes (unbalanced by {left:.3g}{why})"
