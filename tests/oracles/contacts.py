"""What happens at an event of rigid contacts, in Python and by LAPACK: what contacts.c is compared
with.

*Impacts* of one pair of surfaces are one complementarity problem of all its points (see
``impacts``). Pairs that rebound come one after the other, the fastest approach first, so that a row
of balls passes its momentum on, as it does in nature; what is left when nothing rebounds any more,
all of it at once.

*Modes* of the points that then rest on each other are such that forces and accelerations fit
together: all points closed, and stuck if they do not slip, if that is so; else by the one
complementarity problem of all points.
"""

from __future__ import annotations

import numpy as np

from mechgraph.numerics.tolerances import GIVEN, KNOWN, MET, TINY
from mechgraph.studies.contact.modes import Contacts
from mechgraph.studies.contact.points import (
    quantities,
    ring_quantities,
    stuck_forces,
)
from mechgraph.studies.contact.resolution import driven, endless, warn_of_paradoxes
from mechgraph.studies.projection import project, shifted
from oracles.complementarity import NoSolution, Site, responses, solve
from oracles.contact_instant import ContactInstant, contact_terms
from oracles.impacts import impulses

IMPACTS = 10_000
SPARED = KNOWN  # relative: what is left of forces that hold, so that no rounding undoes it
ALIGNED = 4  # times that the points of a flat ring are turned towards its pressure


class Observed(Contacts):
    """Contacts of a run, with what is seen of a state."""

    tipping: dict[int, np.ndarray]

    @classmethod
    def of(cls, contacts: Contacts) -> Observed:
        """The same modes, which are changed here and there."""
        made = cls.__new__(cls)
        vars(made).update(vars(contacts))
        made.restitution, made.tangential, made.friction, made.static, *rest = (
            contacts.laws.values()
        )
        made.regularization, made.resting_speed, made.span = rest
        made.rebounding = (made.restitution > 0) | (made.tangential > 0)
        made.tipping = {}
        place = {name: k for k, name in enumerate(made.context.parameters)}
        made._own = [
            {mode: place[name] for mode, name in point.switches.items()} for point in made.points
        ]
        return made

    def closed_parameters(self, lying: int | None = None) -> np.ndarray:
        """The same as if all points were closed and stuck, and one flat."""
        values = self.parameters
        for k, own in enumerate(self._own):
            values[[at for mode, at in own.items() if mode != "flat" or k == lying]] = 1.0
        return values

    @property
    def resting(self) -> np.ndarray:
        """Speeds below which points do not rebound; they double where events pile up in one
        moment."""
        return self.resting_speed * 2.0 ** max(0, self.standing - 5)

    def seen(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """For each point: gap, its rate, normal force, tangential force (of sticking), slip speed,
        the tangential force of its pair, and forces that are rounding."""
        eqs = self.equations
        kernel = eqs.numeric.kernel("contacts", lambda: quantities(eqs, self.points), [1] * 7)
        return tuple(self.evaluated(kernel, t, q, u))

    def ring_seen(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """For each point: radius of the ring, moment of its pressure, its rise;
        ones if it is none."""
        if not self.rings.any():
            return (np.ones(len(self.points)),) * 3
        eqs = self.equations
        kernel = eqs.numeric.kernel("rings", lambda: ring_quantities(eqs, self.points), [1] * 3)
        return tuple(self.evaluated(kernel, t, q, u))

    def _reserve(
        self,
        normal: np.ndarray,
        tangential_force: np.ndarray,
        together: np.ndarray,
        small: np.ndarray,
    ) -> np.ndarray:
        """μ_s N − |F_t| of the sticking points of each pair of surfaces: the mean with |F_t| as
        weights, or that of all forces together, if it is less.

        How several points of one pair share the forces is not determined. F_t of least norm is
        the field of a rigid motion; so for any other shares F′ with the same resultants F·F = F·F′,
        summed, and if they are within their cones, Σ |F_t|² ≤ Σ |F_t| μ_s N: the mean is negative
        only if no shares hold. Nor do any if |Σ F_t| > Σ μ_s N.
        """
        weights = np.where(self.sticking, tangential_force + small, 0.0)
        spare = (weights * (self.static * normal - tangential_force)) @ self.same_pair
        mean = spare / (weights @ self.same_pair + TINY)
        most = np.where(self.sticking, self.static * normal, 0.0) @ self.same_pair
        return np.minimum(mean, most - together)

    def open(self, k: int) -> None:
        """Open a point."""
        self.touching[k] = self.sticking[k] = self.flat[k] = False

    def tip(self, k: int, arm: np.ndarray) -> None:
        """Let a flat ring tip over one of its points."""
        self.flat[k] = False
        self.tipping[k] = arm

    def release(
        self, t: float, q: np.ndarray, u: np.ndarray, shares: np.ndarray
    ) -> np.ndarray | None:
        """Open a point that would pull, or let one slide that friction does not hold; None, if
        there is none.

        ``shares`` (N and both tangential forces, for each point) keep all conditions, those of the
        motion may not: on the way from the former to the latter, it is the first that breaks one.
        So what is left keeps all conditions with the shares that are reached there, which are
        returned.
        """
        _, _, normal, tangential_force, _, together, small = self.seen(t, q, u)
        spare = normal - self._band(normal)
        reserve = self._reserve(spare, tangential_force, together, small)
        pulls = self.touching & (spare < -small / 2)
        strained = self.sticking & (reserve < -small / 2)
        if not (pulls | strained).any():
            return None
        own = np.column_stack([normal, *self._stuck_forces(t, q, u)])
        parts = np.full((2, len(self.points)), np.inf)
        for i in np.flatnonzero(pulls):
            parts[0, i] = _falling(shares[i, 0], own[i, 0])
        for i in np.flatnonzero(strained):
            parts[1, i] = _leaving(shares[i], own[i], self.static[i])
        slides, k = divmod(int(parts.argmin()), len(self.points))
        shares = shares + parts.min() * (own - shares)
        if slides:
            self.sticking[k] = False
            self.heading[k] = -shares[k, 1:] / max(np.hypot(*shares[k, 1:]), TINY)
        else:
            self.open(k)
        return shares * np.column_stack([self.touching, self.sticking, self.sticking])

    def _stuck_forces(self, t: float, q: np.ndarray, u: np.ndarray) -> list[np.ndarray]:
        """Along both tangents of each point."""
        eqs = self.equations
        kernel = eqs.numeric.kernel("stuck", lambda: stuck_forces(eqs, self.points), [1] * 2)
        return self.evaluated(kernel, t, q, u)

    def _band(self, normal: np.ndarray) -> np.ndarray:
        """What has to be left of the normal force of a point of several, whose shares are known no
        better."""
        return ~self.always * SPARED * (self.same_pair * normal).max(axis=1, initial=0.0)

    def fits(self, t: float, q: np.ndarray, u: np.ndarray) -> bool:
        """True if no closed point would pull, slide or tip."""
        _, _, normal, tangential_force, _, together, small = self.seen(t, q, u)
        radius, moment, _ = self.ring_seen(t, q, u)
        spare = normal - self._band(normal)
        least = -small / 2
        reserve = self._reserve(spare, tangential_force, together, small)
        return bool(
            (spare >= least)[self.touching].all()
            and (reserve >= least)[self.sticking].all()
            and (spare - moment / radius >= least)[self.flat].all()
        )

    def held(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, float]:
        """The nearest speeds that keep closed points closed and sticking ones stuck, and the work
        of moving bases in it."""
        eqs = self.equations
        kernel = eqs.numeric.kernel(
            "held",
            lambda: [eqs.terms.M, eqs.terms.A[: eqs.terms.psi.numel(), :], eqs.terms.psi],
            [2, 2, 1],
        )
        M, A, psi = self.evaluated(kernel, t, q, u)
        active = np.flatnonzero(np.abs(A).max(axis=1, initial=0.0) > 0)
        A, psi, m = A[active], psi[active], len(active)
        K = np.block([[M, A.T], [A, np.zeros((m, m))]])
        found = np.linalg.pinv(K, rcond=MET, hermitian=True) @ np.concatenate(
            [np.zeros(len(M)), psi]
        )
        change, impulse = -found[: len(M)], found[len(M) :]
        return u + change, float((u + change / 2) @ M @ change - impulse @ psi / 2)


def _falling(first: float, last: float) -> float:
    """The part of the way from one number to another after which it is zero; all of it, if it is
    not."""
    return max(first, 0.0) / max(first, first - last, TINY)


def _leaving(first: np.ndarray, last: np.ndarray, friction: float) -> float:
    """The part θ of the way from one force (N, F) to another after which it leaves its cone; all of
    it, if it does not: μ²N² − |F|² = a θ² + 2 b θ + c falls through zero."""
    metric, change = np.array([friction**2, -1.0, -1.0]), last - first
    a, b, c = metric @ change**2, metric @ (first * change), metric @ first**2
    squared = b * b - a * c
    if c <= 0 or squared < 0:
        return 0.0 if c <= 0 else 1.0
    return c / max(c, np.sqrt(squared) - b)


def settle(
    contacts: Observed, t: float, q: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """The state after all impacts, closed points without gap, and new modes in ``contacts``.

    And the work that moving bases did on the way: u·MΔu of the means before and after, less what is
    lost at the points.
    """
    near = _near(contacts, t, q, u)
    q, lift = _placed(contacts, t, q, u, near)
    # what bounds a joint's friction is finite, and does nothing in no time
    u, by_impacts = _impacts(contacts, t, q, u, near & ~contacts.always, lift)
    q, u, by_rest = _choose_modes(contacts, t, q, u, near)
    return _lifted(contacts, t, q, u), u, by_impacts + by_rest


# --- positions ------------------------------------------------------------------------------------


def _near(contacts: Observed, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Which points are closed or about to be; rings among them that lie flat."""
    contacts.flat[:] = False
    near = contacts.touching | (contacts.approach(t, q, u)[0] < GIVEN * contacts.span)
    radius, _, rise = contacts.ring_seen(t, q, u)
    contacts.flat[:] = near & contacts.rings & (rise < 2 * GIVEN * radius)
    return near


def _placed(
    contacts: Observed, t: float, q: np.ndarray, u: np.ndarray, near: np.ndarray
) -> tuple[np.ndarray, float]:
    """Positions without gap at points that are closed, or meet and do not rebound, and how much
    potential energy that takes."""
    gap, rate = contacts.approach(t, q, u)
    meeting = (rate < 0) & ~(contacts.rebounding & (rate < -contacts.resting))
    contacts.touching |= near & (meeting | (gap < -2 * MET * contacts.span))
    contacts.sticking[:] = False
    p = contacts.parameters
    placed = project(contacts.equations, q[None], u[None], np.array([t]), p)[0][0]
    return placed, _lift(contacts, t, placed, q, u)


def _lifted(contacts: Observed, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Positions in which no open point that hardly moves is still where it met its surface: it
    would meet it again at once; and in which points that were closed without an impact have no gap
    left, so that what they fall through is told as loss."""
    gap, rate = contacts.approach(t, q, u)
    low = ~contacts.touching & (gap <= -MET * contacts.span) & (rate < contacts.resting)
    high = contacts.touching & ~contacts.always & (gap > MET * contacts.span)
    if not (low | high).any():
        return q
    contacts.touching |= low
    lifted = project(contacts.equations, q[None], u[None], np.array([t]), contacts.parameters)[0][0]
    contacts.touching &= ~low
    return lifted


def _lift(contacts: Observed, t: float, q: np.ndarray, before: np.ndarray, u: np.ndarray) -> float:
    """The potential energy that it took to come here."""
    if np.array_equal(q, before):
        return 0.0
    return float(contacts.energy(t, q, u)[1] - contacts.energy(t, before, u)[1])


def _tipped(
    contacts: Observed, t: float, q: np.ndarray, u: np.ndarray, by_speed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """States in which rings that begin to tip stand on the point over which they do: their lowest
    one could be any, otherwise. What that takes is taken from their speed; a ring that tips by
    its speed, and has too little, stays flat."""
    for k, arm in contacts.tipping.items():
        rows = contacts.points[k].rows
        M, _, A, *_, psi = _terms(contacts, t, q, u, lying=k)
        held, rising = rows.all, rows.rising
        wanted = np.zeros(len(held))
        radius = np.hypot(*arm)
        wanted[:3] = 2.5 * GIVEN * np.array([radius, *-arm / radius])
        step = (_least(M, A[held]) @ wanted)[None]
        tilted = shifted(contacts.equations, q[None], step, t, contacts.parameters)[0]
        lift = _lift(contacts, t, tilted, q, u)
        change = _least(M, A[rising]) @ psi[rising]
        spent = _part(lift, float(change @ M @ change))
        if spent == 1 and by_speed:
            contacts.flat[k] = True
        else:
            q, u = tilted, u - spent * change
    contacts.tipping = {}
    return q, u


def _least(M: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Least changes of u, in the metric of M, for units of A u."""
    columns = np.linalg.pinv(M, rcond=MET, hermitian=True) @ A.T
    return columns @ np.linalg.pinv(A @ columns, rcond=MET, hermitian=True)


def _part(lift: float, twice: float) -> float:
    """The part κ of a speed that pays for a lift: (κ − κ²/2) m v², where m v² is ``twice`` its
    energy; all of it at most."""
    if lift <= 0:
        return 0.0
    return 1 - float(np.sqrt(max(0.0, 1 - 2 * lift / twice))) if twice > 0 else 1.0


# --- what forces do -------------------------------------------------------------------------------


def _terms(
    contacts: Observed, t: float, q: np.ndarray, u: np.ndarray, lying: int | None = None
) -> list[np.ndarray]:
    """``contact_terms``, as if all points were closed and stuck, and one flat."""
    eqs = contacts.equations
    kernel = eqs.numeric.kernel("contact terms", lambda: contact_terms(eqs), [2, 1, 2, 1, 2, 1])
    return contacts.evaluated(kernel, t, q, u, contacts.closed_parameters(lying))


def _moment(
    contacts: Observed, t: float, q: np.ndarray, u: np.ndarray, chosen: np.ndarray
) -> ContactInstant:
    radius = contacts.ring_seen(t, q, u)[0]
    rings = {int(k): float(radius[k]) for k in np.flatnonzero(contacts.flat & chosen)}
    terms = _terms(contacts, t, q, u)
    made = ContactInstant(contacts.points, np.flatnonzero(chosen), rings, terms, u)
    if (contacts.always & chosen).any():
        load = contacts.seen(t, q, u)[2]
        made.loads = {int(k): float(load[k]) for k in np.flatnonzero(contacts.always & chosen)}
    return made


def _sites(
    contacts: Observed,
    moment: ContactInstant,
    chosen: list[int],
    slips: dict[int, np.ndarray],
    part: float = 1.0,
) -> tuple[list[int], list[Site]]:
    """Rows of some points, and their sites among these rows; the slips of those that slip, and the
    part of the friction to break away that may hold them."""
    rows: list[int] = []
    static = np.where(contacts.always, 1.0, part) * contacts.static
    friction = np.minimum(contacts.friction, static)
    sites = []
    for k in chosen:
        place = {row: len(rows) + i for i, row in enumerate(moment.rows(k))}
        rows += place
        sites.append(
            Site(
                [place[row] for row in moment.normals[k]],
                [place[row] for row in moment.tangents[k]],
                float(contacts.friction[k] if k in slips else friction[k]),
                float(static[k]),
                slips.get(k),
                moment.loads.get(k, 0.0),
            )
        )
    return rows, sites


# --- impacts --------------------------------------------------------------------------------------


def _impacts(
    contacts: Observed, t: float, q: np.ndarray, u: np.ndarray, near: np.ndarray, lift: float
) -> tuple[np.ndarray, float]:
    """Speeds after all impacts, and the work of moving bases: what T gains, less what the points
    do."""
    given = 0.0
    for first in (True, False):  # a ring may rebound in another direction than it came
        moment = _moment(contacts, t, q, u, near)
        hits = _Hits(contacts, moment, t)
        if first:
            hits.pay(lift)
        hits.all()
        change = moment.change @ hits.x
        given += (u + change / 2) @ moment.M @ change - hits.work
        u = u + change
        if not moment.arms:
            break
    return u, given


class _Hits:
    """Impulses x at the points of a moment, one pair after the other; v are the velocities there
    now, and ``work`` is that of the impulses."""

    def __init__(self, contacts: Observed, moment: ContactInstant, t: float) -> None:
        self.contacts, self.moment, self.t = contacts, moment, t
        self.v, self.x = moment.velocity.copy(), np.zeros(len(moment.velocity))
        self.size, self.work = moment.size.copy(), 0.0

    def pay(self, lift: float) -> None:
        """Take the energy that closing the gaps has cost from the approach."""
        rows = [r for normals in self.moment.normals.values() for r in normals if self.v[r] < 0]
        Y = self.moment.Y[np.ix_(rows, rows)]
        towards = np.linalg.pinv(Y, rcond=MET, hermitian=True) @ self.v[rows]
        self.strike(rows, -_part(lift, float(towards @ self.v[rows])) * towards)

    def all(self) -> None:
        """Pairs that rebound, the fastest approach first; then all that still approaches."""
        for _ in range(IMPACTS):
            able = [k for k in self.moment.chosen if self.rebounds(k)]
            if not able:
                break
            fastest = min(able, key=self.speed)
            pair = np.flatnonzero(self.contacts.same_pair[fastest])
            self.hit([k for k in self.moment.chosen if k in pair], rebounding=True)
        else:
            raise endless(self.t)
        speeds = [self.speed(k) for k in self.moment.chosen]
        if any(self.approaches(k) for k in self.moment.chosen):
            resting = self.contacts.resting[self.moment.chosen]
            self.contacts.count += int((np.array(speeds) < -resting).any())
            self.hit(self.moment.chosen, rebounding=False)

    def speed(self, k: int) -> float:
        """The rate of the gap of a point."""
        return float(self.v[self.moment.normals[k]].min())

    def approaches(self, k: int) -> bool:
        """True if a point comes nearer by more than rounding."""
        rows = self.moment.normals[k]
        return bool((self.v[rows] < -MET * self.size[rows]).any())

    def rebounds(self, k: int) -> bool:
        """True if a point is to be turned back."""
        return bool(self.contacts.rebounding[k] and self.speed(k) < -self.contacts.resting[k])

    def hit(self, chosen: list[int], rebounding: bool) -> None:
        """All points of one pair, or all that there are, at once."""
        moment, contacts = self.moment, self.contacts
        rows, sites = _sites(contacts, moment, chosen, {})
        turned = np.zeros(len(self.v))
        for k in chosen if rebounding else ():
            normals, tangents = moment.normals[k], moment.tangents[k]
            turned[normals] = contacts.restitution[k] * np.minimum(self.v[normals], 0.0)
            if self.approaches(k):
                turned[tangents] = contacts.tangential[k] * self.v[tangents]
        try:
            x = impulses(moment.Y[np.ix_(rows, rows)], self.v[rows], turned[rows], sites)
        except NoSolution:
            raise driven(contacts, chosen, self.t) from None
        self.strike(rows, x)
        contacts.count += int(rebounding)

    def strike(self, rows: list[int], x: np.ndarray) -> None:
        """Impulses at some rows."""
        change = self.moment.Y[:, rows] @ x
        self.work += x @ (self.v + change / 2)[rows]
        self.v, self.x[rows] = self.v + change, self.x[rows] + x
        self.size += np.abs(change)


# --- modes ----------------------------------------------------------------------------------------


def _choose_modes(
    contacts: Observed, t: float, q: np.ndarray, u: np.ndarray, near: np.ndarray, again: bool = True
) -> tuple[np.ndarray, np.ndarray, float]:
    """Modes of the points that stay together, the nearest state that keeps closed points closed and
    sticking ones stuck, and the work of moving bases in that."""
    slips = _candidates(contacts, _moment(contacts, t, q, u, near))
    q, u = _tipped(contacts, t, q, u, by_speed=True)
    u, given = contacts.held(t, q, u)
    if not slips and contacts.fits(t, q, u):
        return q, u, given
    moment = _moment(contacts, t, q, u, contacts.touching)
    _tell_of_paradoxes(contacts, moment, slips, t)
    if contacts.fits(t, q, u):
        return q, u, given
    try:
        a, shares = _accelerations(contacts, moment, slips)
    except NoSolution:
        if not (slips and again):
            raise driven(contacts, moment.chosen, t) from None
        u, jammed = _jammed(contacts, moment, t, u)
        q, u, rest = _choose_modes(contacts, t, q, u, near, again=False)
        return q, u, given + jammed + rest
    _classify(contacts, moment, a)
    q, u = _tipped(contacts, t, q, u, by_speed=False)
    _release(contacts, t, q, u, shares)
    return q, u, given


def _release(
    contacts: Observed, t: float, q: np.ndarray, u: np.ndarray, shares: np.ndarray
) -> None:
    """Open points that would pull, and let slide what friction does not hold: how several points
    share a force is not determined, and the motion goes on with shares of its own."""
    for _ in range(2 * len(contacts.points)):
        left = contacts.release(t, q, u, shares)
        if left is None:
            break
        shares = left


def _candidates(contacts: Observed, moment: ContactInstant) -> dict[int, np.ndarray]:
    """Points that do not part are closed, and those of them that do not slip are stuck, for now;
    directions of the slip of the others."""
    contacts.touching[:], contacts.sticking[:], contacts.heading[:] = contacts.always, False, 0.0
    slips = {}
    for k in moment.chosen:
        rates, slip = moment.velocity[moment.normals[k]], moment.velocity[moment.tangents[k]]
        if len(rates):
            contacts.touching[k] = rates.min() <= contacts.resting[k]
        if contacts.touching[k] and contacts.flat[k] and rates.max() > contacts.resting[k]:
            contacts.tip(k, moment.arms[k][rates.argmin()])
        slow = not len(slip) or np.linalg.norm(slip) <= 2 * contacts.regularization[k]
        contacts.sticking[k] = contacts.touching[k] and slow and contacts.static[k] > 0
        if not slow:
            slips[k] = slip / np.linalg.norm(slip)
            contacts.heading[k, : len(slip)] = slips[k]
    contacts.flat &= contacts.touching
    return slips


def _accelerations(
    contacts: Observed, moment: ContactInstant, slips: dict[int, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Of all rows, by the one complementarity problem, and the shares of all points in its forces,
    N and F; flat rings are turned until their pressure is at one of their points, or within."""
    x = np.linalg.lstsq(moment.W, -moment.c, rcond=MET)[0]
    for _ in range(ALIGNED if moment.arms else 1):
        moment.align(x)
        _, sites = _sites(contacts, moment, moment.chosen, slips, 1 - SPARED)
        x = solve(moment.W, moment.c, sites)
    shares = np.zeros((len(contacts.points), 3))
    for k in moment.chosen:
        shares[k, 0] = x[moment.normals[k]].sum() + moment.loads.get(k, 0.0)
        shares[k, 1 : 1 + len(moment.tangents[k])] = x[moment.tangents[k]]
    return responses(moment.W, moment.c, x), shares


def _classify(contacts: Observed, moment: ContactInstant, a: np.ndarray) -> None:
    """Modes by the accelerations of all candidates."""
    for k in moment.chosen:
        rises, slip = a[moment.normals[k]], a[moment.tangents[k]]
        if len(rises) and rises.min() > 0:
            contacts.open(k)
        elif contacts.flat[k] and rises.max() > 0:
            contacts.tip(k, moment.arms[k][rises.argmin()])
        if contacts.sticking[k] and slip.any():
            contacts.sticking[k] = False
            contacts.heading[k, : len(slip)] = slip / np.linalg.norm(slip)


def _tell_of_paradoxes(
    contacts: Observed, moment: ContactInstant, slips: dict[int, np.ndarray], t: float
) -> None:
    """Say so where friction turns the response of a sliding point round: its normal force would
    accelerate it into the base, W_nn − μ W_nt·v/|v| < 0, so that no motion is possible or
    several."""
    odd = []
    for k in (set(slips) & set(moment.chosen)) - set(moment.loads):
        n, tangents = moment.normals[k][0], moment.tangents[k]
        odd += [k] * bool(moment.W[n, n] < contacts.friction[k] * moment.W[n, tangents] @ slips[k])
    warn_of_paradoxes(contacts, odd, t)


def _jammed(
    contacts: Observed, moment: ContactInstant, t: float, u: np.ndarray
) -> tuple[np.ndarray, float]:
    """Speeds after an impact without collision, which stops a slip that no forces allow; and the
    work of moving bases."""
    rows, sites = _sites(contacts, moment, moment.chosen, {})
    soon = KNOWN * np.abs(moment.velocity).max() / np.abs(moment.c).max()
    ahead = moment.velocity + soon * moment.c
    hits = _Hits(contacts, moment, t)
    try:
        hits.strike(rows, solve(moment.Y[np.ix_(rows, rows)], ahead[rows], sites))
    except NoSolution:
        raise driven(contacts, moment.chosen, t) from None
    change = moment.change @ hits.x
    return u + change, float((u + change / 2) @ moment.M @ change - hits.work)
