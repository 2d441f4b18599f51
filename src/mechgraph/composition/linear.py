"""Linear models from linearized leaves and constraints, without the equations of the whole.

About a reference motion every matrix of a node is X = X₀ + X₁ ξ to first order, with ξ the
deviations of independent coordinates, speeds, accelerations and inputs. Leaves and new rows are
differentiated one by one, and the recursion of ``node.py`` is done with such pairs, products of
small ones dropped:

    B₀ C₀ = 0,    B₀⋆ C₁⋆ = −B₁ C₀  (least squares, rows weighed),
    f̄ = C₀ᵀ f₀ + (C₁ᵀ f₀ + C₀ᵀ f₁) ξ

(Orsino 2016, §4.5, with the slope of the complement exact instead of a quotient of differences).
The forces f₀ of the reference times C₁ are what turns weight into stiffness. Where there are more
rows than needed and they hold to first order only, least squares give a compromise, which depends
on the weights.

A matrix to first order is an array of X₀ and its slopes along each ξ, one after the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
from casadi import SX
from scipy.linalg import block_diag

from ..closures.complement import free_columns
from ..errors import ArgumentError, unknown
from ..numerics.rank import pseudoinverse, rank, typical_rank, weighed_inverse
from ..numerics.tolerances import KNOWN
from ..results.second_order import SecondOrderModel
from .node import TreeNode

if TYPE_CHECKING:
    from ..equations import Equations

NAMED = 8  # names in a message, up to


class Slopes(NamedTuple):
    """Slopes of φ, ψ, A u̇ + b, rows weighed, and of q̇, over (q, u, u̇, w) at a state."""

    phi: np.ndarray
    psi: np.ndarray
    third: np.ndarray
    rates: np.ndarray


class FirstOrder(NamedTuple):
    """S and f̄ of a node to first order, and the labels of their columns and rows."""

    S: np.ndarray
    f: np.ndarray
    free: tuple[str, ...]


def linear_model(
    equations: Equations,
    node: TreeNode,
    at: Any,
    coordinates: Sequence[str],
    speeds: Sequence[str],
    t: float = 0.0,
    inputs: Any = None,
    parameters: Any = None,
    weights: Mapping[str, float] | None = None,
) -> SecondOrderModel:
    """The linear model about a state in the named independent coordinates and speeds."""
    weights = weights or {}
    _refuse_unknown("coordinate", coordinates, equations.coordinates)
    _refuse_unknown("speed", speeds, equations.speeds)
    _refuse_unknown("constraint", weights, equations.constraints)
    q, u = at if isinstance(at, tuple) else equations.assemble(at, t=t, parameters=parameters)
    q, u, _, w, p = (x.ravel() for x in equations.numeric.arguments(q, u, t, inputs, parameters))
    scales = np.array([float(weights.get(row, 1.0)) for row in equations.constraints])
    udot = _accelerations(equations, node, (q, u, w, p, t), speeds, scales)
    slopes = _slopes(equations, (q, u, udot, w, p, t), scales)
    deviations = _deviations(equations, slopes, (len(q), len(u)), coordinates, speeds)
    along = Along(equations, (q, u, udot, w, p, t), deviations, speeds, scales)
    f = along.project(node).f[..., 0]
    residual = along.residual / max(1.0, np.abs(slopes.third).max(initial=0.0))
    if residual > KNOWN:
        warnings.warn(
            f"the constraints are compatible to zeroth order only ({along.worst!r} most of all): "
            "what is given is a compromise of least squares, which depends on the weights of the "
            "rows",
            stacklevel=3,
        )
    counts = np.cumsum([len(coordinates), len(speeds), len(speeds)])
    K, C, M, E = np.split(f[1:].T, counts, axis=1)
    own = [equations.coordinates.index(name) for name in coordinates]
    P, Q, *_ = np.split((slopes.rates @ deviations)[own], counts, axis=1)
    return SecondOrderModel(
        -M, -C, -K, E, P, Q, tuple(coordinates), tuple(speeds), equations.inputs, udot, residual
    )


def _refuse_unknown(kind: str, names: Iterable[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise ArgumentError(unknown(kind, name, known))


# --- the rows, all at once ------------------------------------------------------------------------


def _slopes(equations: Equations, state: tuple[Any, ...], scales: np.ndarray) -> Slopes:
    """Slopes at a state (q, u, u̇, w, p, t)."""
    terms, s = equations.terms, equations.terms.symbols
    x = ca.vertcat(s.q, s.u, s.udot, s.w)

    def expressions() -> list[SX]:
        norms = (ca.sumsqr(s.q[list(four)]) / 2 for four in terms.chart.quaternions)
        third = terms.A @ s.udot + terms.b
        rows = terms.phi, ca.vertcat(SX(0, 1), *norms), terms.psi, third, terms.qdot
        return [ca.densify(ca.jacobian(each, x)) for each in rows]

    kernel = equations.numeric.kernel("linear rows", expressions, [2] * 5, s.udot)
    q, u, udot, w, p, t = state
    phi, norms, psi, third, rates = kernel(q, u, np.array([t]), w, p, udot)
    phi, psi, third = (scales[: len(rows), None] * rows for rows in (phi, psi, third))
    return Slopes(np.vstack([phi, norms]), psi, third, rates)


def _deviations(
    equations: Equations,
    slopes: Slopes,
    sizes: tuple[int, int],
    coordinates: Sequence[str],
    speeds: Sequence[str],
) -> np.ndarray:
    """(δq, δu, δu̇, δw) by ξ = (δq#, δu#, δu̇#, δw): the rest follows from the rows at each order."""
    (n, m), a, b = sizes, len(coordinates), len(speeds)
    inputs = slopes.rates.shape[1] - n - 2 * m
    out = np.zeros((slopes.rates.shape[1], a + 2 * b + inputs))
    out[n + 2 * m :, a + 2 * b :] = np.eye(inputs)
    orders = (
        (0, n, 0, coordinates, slopes.phi, "coordinates"),
        (n, m, a, speeds, slopes.psi, "speeds"),
        (n + m, m, a + b, speeds, slopes.third, "speeds"),
    )
    for first, count, column, named, rows, kind in orders:
        mine, every = rows[:, first : first + count], getattr(equations, kind)
        wanted = count - rank(mine)
        if len(named) != wanted:
            raise ArgumentError(
                f"{wanted} {kind} are independent here, but {len(named)} were named: rows on "
                f"speeds alone leave all coordinates; name {wanted} of {', '.join(every[:NAMED])}"
            )
        free = [every.index(name) for name in named]
        others = [j for j in range(count) if j not in free]
        out[[first + j for j in free], column : column + len(free)] = np.eye(len(free))
        if others:
            known = rows @ out
            out[[first + j for j in others]] = -weighed_inverse(mine[:, others]) @ known
    return out


def _accelerations(
    equations: Equations,
    node: TreeNode,
    state: tuple[Any, ...],
    speeds: Sequence[str],
    scales: np.ndarray,
) -> np.ndarray:
    """u̇ of the reference: f̄ = 0 and A u̇ + b = 0, with f̄ affine in u̇."""
    q, u, w, p, t = state
    still = np.zeros(len(u))
    by_udot = np.eye(len(q) + 2 * len(u) + len(w))[:, len(q) + len(u) :][:, : len(u)]
    rest = Along(equations, (q, u, still, w, p, t), by_udot, speeds, scales)
    f = rest.project(node).f[..., 0]
    A = scales[:, None] * equations.constraint_jacobian(q, u, t, p)
    b = scales * equations.numeric.evaluate("b", lambda: equations.terms.b, 1, q, u, t, None, p)
    return -pseudoinverse(np.vstack([f[1:].T, A])) @ np.concatenate([f[0], b])


# --- along the tree -------------------------------------------------------------------------------


class Along:
    """The recursion of ``node.py`` about a state (q, u, u̇, w, p, t), along deviations of the first
    four, and the largest part of a row that no complement to first order takes away."""

    def __init__(
        self,
        equations: Equations,
        state: tuple[Any, ...],
        deviations: np.ndarray,
        wanted: Sequence[str],
        scales: np.ndarray,
    ) -> None:
        *x, self._p, self._t = state
        self._x, self._deviations, self._scales = np.concatenate(x), deviations, scales
        self._symbols, self._wanted = equations.terms.symbols, wanted
        self.residual, self.worst = 0.0, ""

    def project(self, node: TreeNode, top: bool = True) -> FirstOrder:
        """S and f̄: of the whole by the speeds that are wanted, of parts by these as far as they can
        be."""
        below = [self.project(child, top=False) for child in node.children]
        columns = (*node.extra, *(label for part in below for label in part.free))
        R = _diagonal([_constant(np.eye(len(node.extra)), self._count), *(p.S for p in below)])
        none = _constant(np.zeros((len(node.extra), 1)), self._count)
        A, own = (self._expand(value) for value in (node.A, node.f))
        f = _product(_transposed(R), own) + np.concatenate([none, *(p.f for p in below)], axis=1)
        scales = self._scales[list(node.where)]
        B = scales[:, None] * _product(A, R)
        terms = np.linalg.norm(np.abs(A[0]) @ np.abs(R[0]), axis=1) * scales
        if top:
            free = self._wanted_of(node, columns)
        else:
            free = self._free(node, B[0], columns, np.where(terms > 0, terms, 1.0))
        C = self._complement(node.rows, B, free)
        labels = tuple(columns[k] for k in free)
        return FirstOrder(_product(R, C), _product(_transposed(C), f), labels)

    @property
    def _count(self) -> int:
        return int(self._deviations.shape[1])

    def _expand(self, value: SX) -> np.ndarray:
        """An expression of the variables to first order."""
        s, direction = self._symbols, SX.sym("direction", len(self._x))
        x, column = ca.vertcat(s.q, s.u, s.udot, s.w), ca.vec(ca.densify(value))
        results = [column, ca.jtimes(column, x, direction)]
        function = ca.Function("node", [x, s.p, s.t, direction], results)
        zero, slopes = function(self._x, self._p, self._t, self._deviations)
        every = np.hstack([np.array(zero)[:, :1], np.array(slopes)])
        return every.T.reshape(1 + self._count, *value.shape[::-1]).swapaxes(1, 2)

    def _wanted_of(self, node: TreeNode, columns: Sequence[str]) -> list[int]:
        for name in self._wanted:
            if name not in columns:
                raise ArgumentError(
                    f"{name!r} is not free in the parts of {node.name!r}; free are "
                    f"{', '.join(columns)}"
                )
        return [columns.index(name) for name in self._wanted]

    def _free(
        self, node: TreeNode, B: np.ndarray, columns: Sequence[str], usual: np.ndarray
    ) -> list[int]:
        """Which columns of a part stay free, where ``usual`` are the sizes of the terms of rows."""
        extra = range(len(node.extra) if node.children else 0)
        first = [k for k, name in enumerate(columns) if name in self._wanted]
        order = list(dict.fromkeys([*first, *range(len(columns))]))
        kept, bound = len({*first, *extra}), typical_rank(B, usual)
        return sorted(order[k] for k in free_columns(B[:, order] / usual[:, None], kept, bound))

    def _complement(self, rows: Sequence[str], B: np.ndarray, free: list[int]) -> np.ndarray:
        """C to first order."""
        bound = [k for k in range(B.shape[2]) if k not in set(free)]
        C = np.zeros((len(B), B.shape[2], len(free)))
        C[0, free] = np.eye(len(free))
        if bound:
            inverse = weighed_inverse(B[0][:, bound])
            C[0, bound] = -inverse @ B[0][:, free]
            C[1:, bound] = -inverse @ (B[1:] @ C[0])
            left = np.abs(_product(B, C)).max(axis=(0, 2), initial=0.0)
            if left.max() > self.residual:
                self.residual, self.worst = float(left.max()), rows[int(left.argmax())]
        return C


def _product(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """X Y to first order."""
    out = X[0] @ Y
    out[1:] += X[1:] @ Y[0]
    return np.asarray(out)


def _transposed(X: np.ndarray) -> np.ndarray:
    return np.swapaxes(X, 1, 2)


def _constant(value: np.ndarray, count: int) -> np.ndarray:
    return np.stack([value, *np.zeros((count, *value.shape))])


def _diagonal(blocks: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack([block_diag(*layers) for layers in zip(*blocks, strict=True)])
