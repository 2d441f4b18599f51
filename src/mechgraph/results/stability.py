"""Whether solutions of x' = A x grow, and how well that is known.

A is known to within an error of each entry, and eigenvalues are those of A + E with |E| of the size
n ε |A| besides (the eigensolver's own). Neither makes an eigenvalue wrong by as much as itself: a
double one that is defective moves by the root of what E is. So

- variables that do not act on each other, or one way only, are judged apart, each group in units of
  its own that make its matrix even;
- motions along which A is nothing but its error are *neutral*: a matrix within the error has a zero
  eigenvalue there. They are taken out, one after the other (what drifts with a constant speed is
  two of them);
- every eigenvalue left has a disc in which it lies to first order, its error times its condition.
  Those whose discs of twice the size overlap are one cluster, of which no member is known; but its
  mean is: as tr(P A)/m with the projector P on what the cluster spans, it moves by tr(P E)/m at
  most, without any root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from ..numerics.tolerances import EPSILON, KNOWN, TINY

NAMED = 3  # states in the name of a motion


@dataclass(frozen=True)
class Stability:
    """``verdict`` is one of

    - "asymptotically stable": every deviation fades;
    - "stable": none grows, but those named in ``neutral`` neither grow nor fade (a free coordinate,
      its constant speed, an oscillation without damping);
    - "unstable": one grows for sure;
    - "undecided": the largest rates are nearer to zero than they are known.

    ``margin`` is the largest rate of growth, and ``uncertainty`` how well it is known.
    """

    verdict: str
    margin: float
    uncertainty: float
    neutral: tuple[str, ...] = ()

    @property
    def is_stable(self) -> bool:
        """True if it is known that nothing grows."""
        return self.verdict in ("asymptotically stable", "stable")

    def __str__(self) -> str:
        rate = f"{self.margin:+.3g} ± {self.uncertainty:.1g} /s"
        but = f", but for {', '.join(self.neutral)}" if self.verdict == "stable" else ""
        return f"{self.verdict}{but}: the largest rate is {rate}"


class Rate(NamedTuple):
    """The rate of growth of a motion, how well it is known, and what it does."""

    growth: float
    error: float
    kind: str  # "grows", "fades", "neutral" or "unknown"
    name: str


def stability_of(A: np.ndarray, error: np.ndarray, names: Sequence[str]) -> Stability:
    """Whether solutions of x' = A x grow, where each entry of A may be off by ``error``."""
    rates = [rate for own in _groups(A, error) for rate in _rates(A, error, own, names)]
    neutral = tuple(dict.fromkeys(rate.name for rate in rates if rate.kind == "neutral"))
    for kind, verdict in (("grows", "unstable"), ("unknown", "undecided"), ("neutral", "stable")):
        found = [rate for rate in rates if rate.kind == kind]
        if found:
            worst = max(found, key=lambda rate: rate.growth + (kind != "grows") * rate.error)
            return Stability(verdict, worst.growth, worst.error, neutral)
    worst = max(rates, default=Rate(-np.inf, 0.0, "", ""), key=lambda rate: rate.growth)
    return Stability("asymptotically stable", worst.growth, worst.error)


def _groups(A: np.ndarray, error: np.ndarray) -> list[list[int]]:
    """Groups of variables that act on each other, there and back: A has the eigenvalues of the
    blocks of these."""
    if not len(A):
        return []
    count, label = connected_components(
        csr_matrix((A != 0) | (error != 0)), directed=True, connection="strong"
    )
    return [np.flatnonzero(label == k).tolist() for k in range(count)]


def _rates(A: np.ndarray, error: np.ndarray, own: list[int], names: Sequence[str]) -> list[Rate]:
    """Of one group."""
    A, error = A[np.ix_(own, own)], error[np.ix_(own, own)]
    clean = np.where(np.abs(A) > error, A, 0.0)
    units = scipy.linalg.matrix_balance(clean, permute=False, separate=True)[1][0]
    A, error = (matrix * units / units[:, None] for matrix in (A, error))
    error = error + EPSILON * np.linalg.norm(A)  # n entries of it: n ε |A|
    found, A, error, basis = _without_neutral(A, error, [names[k] for k in own])
    if len(A):
        found += _of_clusters(A, error, basis, [names[k] for k in own])
    return found


def _without_neutral(
    A: np.ndarray, error: np.ndarray, names: Sequence[str]
) -> tuple[list[Rate], np.ndarray, np.ndarray, np.ndarray]:
    """Neutral motions, and what is left without them: A, its error, and the basis it is in."""
    found, basis = list[Rate](), np.eye(len(A))
    while len(A):
        size = float(np.linalg.norm(error))
        sigma, Vt = np.linalg.svd(A)[1:]
        if sigma[-1] > size:
            break
        found.append(Rate(0.0, size, "neutral", _name(basis @ Vt[-1], names)))
        rest = Vt[:-1].T
        A, error, basis = rest.T @ A @ rest, np.abs(rest.T) @ error @ np.abs(rest), basis @ rest
    return found, A, error, basis


def _of_clusters(
    A: np.ndarray, error: np.ndarray, basis: np.ndarray, names: Sequence[str]
) -> list[Rate]:
    values, left, right = scipy.linalg.eig(A, left=True, right=True)
    across = np.abs(np.sum(left.conj() * right, axis=0))
    moved = np.einsum("ik,ij,jk->k", np.abs(left), error, np.abs(right))
    n, size, whole = len(A), np.linalg.norm(error), np.linalg.norm(A)
    # to first order; beyond, Elsner's bound for any matrix of this size
    radii = np.minimum(moved / np.maximum(across, TINY), whole ** (1 - 1 / n) * size ** (1 / n))
    apart = np.abs(values[:, None] - values)
    _, label = connected_components(
        csr_matrix(apart <= 2 * (radii[:, None] + radii)), directed=False
    )
    rates = []
    for k in range(label.max() + 1):
        own = np.flatnonzero(label == k)
        name = _mode_name(values[own[0]], basis @ right[:, own[0]], names)
        upper = float((values.real + radii)[own].max())
        if len(own) == 1:
            mean, known = float(values.real[own[0]]), float(radii[own[0]])
        else:
            mean, known = _mean(A, error, values[own], radii[own])
        if mean > known:
            rates.append(Rate(mean, known, "grows", name))
        elif upper < 0:
            rates.append(
                Rate(float(values.real[own].max()), float(radii[own].max()), "fades", name)
            )
        else:
            sure = len(own) == 1 and known <= KNOWN * whole
            rates.append(Rate(mean, upper - mean, "neutral" if sure else "unknown", name))
    return rates


def _mean(
    A: np.ndarray, error: np.ndarray, values: np.ndarray, radii: np.ndarray
) -> tuple[float, float]:
    """The real part of the mean of a cluster, and its error, |tr(P E)|/m ≤ |P| |E|/m with the
    Frobenius norms: in Schur's form A = Q [T₁, T₁₂; 0, T₂] Qᴴ, P = Q [1, −Z; 0, 0] Qᴴ with
    T₁ Z − Z T₂ = T₁₂."""
    m = len(values)

    def belongs(value: complex) -> bool:
        return bool((np.abs(values - value) <= radii).any())

    T, _, count = scipy.linalg.schur(A, output="complex", sort=belongs)
    if count != m:
        return float(values.real.mean()), float(np.inf)
    Z = scipy.linalg.solve_sylvester(T[:m, :m], -T[m:, m:], T[:m, m:])
    size = np.sqrt(m + np.linalg.norm(Z) ** 2) * np.linalg.norm(error)
    return float(np.diag(T)[:m].real.mean()), float(2 * size / m)


def _name(direction: np.ndarray, names: Sequence[str]) -> str:
    """The states that are most part of a motion."""
    parts = np.abs(direction)
    most = np.flatnonzero(parts > 0.5 * parts.max(initial=0.0))[:NAMED]
    return " and ".join(repr(names[k]) for k in most)


def _mode_name(value: complex, direction: np.ndarray, names: Sequence[str]) -> str:
    own = _name(direction, names)
    return f"{own} at {abs(value.imag):.3g} rad/s" if value.imag else own
