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
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
from casadi import SX

from ..closures.complement import free_columns
from ..errors import ArgumentError, unknown
from ..numerics.rank import pseudoinverse, rank, typical_rank, weighed_inverse
from ..results.second_order import SecondOrderModel
from .node import TreeNode

if TYPE_CHECKING:
    from ..equations import Equations

NAMED = 8  # names in a message, up to
INCOMPATIBLE = 1e-8  # residual of rows that is no rounding, relative


class Taylor(NamedTuple):
    """X₀ and X₁: a matrix, and its slopes along each ξ as the last axis."""

    value: np.ndarray
    slope: np.ndarray

    def __matmul__(self, other: Taylor) -> Taylor:
        slope = np.einsum("ijk,jl->ilk", self.slope, other.value)
        slope = slope + np.einsum("ij,jlk->ilk", self.value, other.slope)
        return Taylor(self.value @ other.value, slope)

    @property
    def T(self) -> Taylor:
        return Taylor(self.value.T, np.swapaxes(self.slope, 0, 1))

    def plus(self, other: Taylor) -> Taylor:
        """The sum."""
        return Taylor(self.value + other.value, self.slope + other.slope)


class Reference(NamedTuple):
    """A reference motion at one moment, and the deviations by ξ: x = (q, u, u̇, w)."""

    x: np.ndarray
    p: np.ndarray
    t: float
    deviations: np.ndarray  # of x


def linearized(
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
    _known(equations, coordinates, speeds, weights or {})
    q, u = at if isinstance(at, tuple) else equations.assemble(at, t=t, parameters=parameters)
    q, u, _, w, p = (x.ravel() for x in equations.numeric.arguments(q, u, t, inputs, parameters))
    scales = np.array([float((weights or {}).get(row, 1.0)) for row in equations.constraints])
    udot = _accelerations(equations, node, (q, u, w, p, t), speeds, scales)
    flat = _flat(equations, (q, u, udot, w, p, t), scales)
    deviations = _deviations(equations, flat, coordinates, speeds)
    reference = Reference(np.concatenate([q, u, udot, w]), p, t, deviations)
    left = _Residual(_sizes(flat))
    f = _projected(equations, node, reference, tuple(speeds), scales, left)[1]
    if left.found > INCOMPATIBLE:
        warnings.warn(
            f"the constraints are compatible to zeroth order only ({left.row!r} most of all): what "
            "is given is a compromise of least squares, which depends on the weights of the rows",
            stacklevel=3,
        )
    counts = np.cumsum([len(coordinates), len(speeds), len(speeds), len(w)])
    K, C, M, E = np.split(f.slope[:, 0], counts[:-1], axis=1)
    rates = flat["rates"] @ deviations
    own = [equations.coordinates.index(name) for name in coordinates]
    P, Q = rates[own][:, : counts[0]], rates[own][:, counts[0] : counts[1]]
    return SecondOrderModel(
        -M, -C, -K, E, P, Q, tuple(coordinates), tuple(speeds), equations.inputs, udot, left.found
    )


def _known(
    equations: Equations, coordinates: Sequence[str], speeds: Sequence[str], weights: Any
) -> None:
    listed = (
        ("coordinate", coordinates, equations.coordinates),
        ("speed", speeds, equations.speeds),
        ("constraint", weights, equations.constraints),
    )
    for kind, names, known in listed:
        for name in names:
            if name not in known:
                raise ArgumentError(unknown(kind, name, known))


# --- the rows, all at once ------------------------------------------------------------------------


def _flat(equations: Equations, state: tuple[Any, ...], scales: np.ndarray) -> dict[str, Any]:
    """Slopes of φ, ψ, A u̇ + b and q̇ over (q, u, u̇, w) at the reference, rows weighed."""
    terms, s = equations.terms, equations.terms.symbols
    x = ca.vertcat(s.q, s.u, s.udot, s.w)

    def expressions() -> list[SX]:
        third = terms.A @ s.udot + terms.b
        norms = (ca.sumsqr(s.q[list(four)]) / 2 for four in terms.chart.quaternions)
        rows = terms.phi, ca.vertcat(SX(0, 1), *norms), terms.psi, third, terms.qdot
        return [ca.densify(ca.jacobian(each, x)) for each in rows]

    kernel = equations.numeric.kernel("linear rows", expressions, [2] * 5, s.udot)
    q, u, udot, w, p, t = state
    phi, norms, psi, third, rates = kernel(q, u, np.array([t]), w, p, udot)
    first, second = len(phi), len(psi)
    return {
        "phi": np.vstack([scales[:first, None] * phi, norms]),
        "psi": scales[:second, None] * psi,
        "third": scales[:, None] * third,
        "rates": rates,
        "counts": (len(q), len(u), len(w)),
    }


def _deviations(
    equations: Equations, flat: dict[str, Any], coordinates: Sequence[str], speeds: Sequence[str]
) -> np.ndarray:
    """(δq, δu, δu̇, δw) by ξ = (δq#, δu#, δu̇#, δw): the rest follows from the rows at each order."""
    n, m, k = flat["counts"]
    a, b = len(coordinates), len(speeds)
    out = np.zeros((n + 2 * m + k, a + 2 * b + k))
    out[n + 2 * m :, a + 2 * b :] = np.eye(k)
    at_q = [equations.coordinates.index(name) for name in coordinates]
    at_u = [equations.speeds.index(name) for name in speeds]
    orders = (
        (slice(0, n), at_q, slice(0, a), flat["phi"], "coordinates"),
        (slice(n, n + m), at_u, slice(a, a + b), flat["psi"], "speeds"),
        (slice(n + m, n + 2 * m), at_u, slice(a + b, a + 2 * b), flat["third"], "speeds"),
    )
    for block, own, columns, rows, kind in orders:
        mine = rows[:, block]
        wanted = mine.shape[1] - rank(mine)
        if len(own) != wanted:
            every = ", ".join(getattr(equations, kind)[:NAMED])
            raise ArgumentError(
                f"{wanted} {kind} are independent here, but {len(own)} were named: rows on speeds "
                f"alone leave all coordinates; name {wanted} of {every}"
            )
        others = [j for j in range(mine.shape[1]) if j not in own]
        out[np.arange(block.start, block.stop)[own], columns] = np.eye(len(own))
        if others:
            known = rows @ out
            found = -weighed_inverse(mine[:, others]) @ known
            out[np.arange(block.start, block.stop)[others]] = found
    return out


def _sizes(flat: dict[str, Any]) -> float:
    return float(max(1.0, np.abs(flat["third"]).max(initial=0.0)))


def _accelerations(
    equations: Equations,
    node: TreeNode,
    state: tuple[Any, ...],
    speeds: Sequence[str],
    scales: np.ndarray,
) -> np.ndarray:
    """u̇ of the reference: f̄ = 0 and A u̇ + b = 0, with f̄ affine in u̇."""
    q, u, w, p, t = state
    count, n = len(u), len(q)
    along = np.zeros((n + 2 * count + len(w), count))
    along[n + count : n + 2 * count] = np.eye(count)
    rest = Reference(np.concatenate([q, u, np.zeros(count), w]), p, t, along)
    f = _projected(equations, node, rest, tuple(speeds), scales, _Residual(1.0))[1]
    A = scales[:, None] * equations.constraint_jacobian(q, u, t, p)
    b = scales * equations.numeric.evaluate("b", lambda: equations.terms.b, 1, q, u, t, None, p)
    K = np.vstack([f.slope[:, 0], A])
    return -pseudoinverse(K) @ np.concatenate([f.value[:, 0], b])


# --- along the tree -------------------------------------------------------------------------------


class _Residual:
    """The largest part of a row that no complement to first order takes away."""

    def __init__(self, size: float) -> None:
        self.size, self.found, self.row = size, 0.0, ""

    def note(self, rows: Sequence[str], left: np.ndarray) -> None:
        worst = np.abs(left).reshape(len(rows), -1).max(axis=1, initial=0.0) / self.size
        if len(rows) and worst.max() > self.found:
            self.found, self.row = float(worst.max()), rows[int(worst.argmax())]


def _projected(
    equations: Equations,
    node: TreeNode,
    at: Reference,
    wanted: tuple[str, ...],
    scales: np.ndarray,
    left: _Residual,
    top: bool = True,
) -> tuple[Taylor, Taylor, tuple[str, ...]]:
    """S and f̄ of a node to first order, and the labels of their columns and rows: of the whole
    those that are wanted, of parts these as far as they can be."""
    below = [
        _projected(equations, child, at, wanted, scales, left, top=False) for child in node.children
    ]
    count = at.deviations.shape[1]
    R = _diagonal([_constant(np.eye(len(node.extra)), count), *(S for S, _, _ in below)])
    columns = (*node.extra, *(label for *_, labels in below for label in labels))
    A, own = _of_node(equations, node, at)
    none = _constant(np.zeros((len(node.extra), 1)), count)
    f = (R.T @ own).plus(_stacked([none, *(g for _, g, _ in below)]))
    B, own_scales = A @ R, scales[list(node.where)]
    terms = np.linalg.norm(np.abs(A.value) @ np.abs(R.value), axis=1) * own_scales
    usual = np.where(terms > 0, terms, 1.0)
    free = _free(node, own_scales[:, None] * B.value, columns, wanted, top, usual)
    C = _complement(node, B, free, own_scales, left)
    return R @ C, C.T @ f, tuple(columns[k] for k in free)


def _free(
    node: TreeNode,
    B: np.ndarray,
    columns: Sequence[str],
    wanted: tuple[str, ...],
    top: bool,
    usual: np.ndarray,
) -> list[int]:
    """Which columns stay free, where ``usual`` are the sizes of the terms of the rows."""
    if top:
        missing = [name for name in wanted if name not in columns]
        if missing:
            raise ArgumentError(
                f"{missing[0]!r} is not free in the parts of {node.name!r}; free are "
                f"{', '.join(columns)}"
            )
        return [columns.index(name) for name in wanted]
    extra = len(node.extra) if node.children else 0
    first = [k for k, name in enumerate(columns) if name in wanted]
    order = list(dict.fromkeys([*first, *range(len(columns))]))
    kept, bound = len({*first, *range(extra)}), typical_rank(B, usual)
    return sorted(order[k] for k in free_columns(B[:, order] / usual[:, None], kept, bound))


def _of_node(equations: Equations, node: TreeNode, at: Reference) -> tuple[Taylor, Taylor]:
    """A⊕ and the forces that are new at a node, to first order."""
    s = equations.terms.symbols
    x = ca.vertcat(s.q, s.u, s.udot, s.w)
    direction = SX.sym("direction", x.numel(), 1)
    found = []
    for value in (node.A, node.f - node.M @ node.udot):
        column = ca.vec(ca.densify(value))
        function = ca.Function(
            "node", [x, s.p, s.t, direction], [column, ca.jtimes(column, x, direction)]
        )
        outcome = function(ca.DM(at.x), ca.DM(at.p), at.t, ca.DM(at.deviations))
        zero, slope = (np.array(part) for part in outcome)
        shape, count = value.shape, at.deviations.shape[1]
        matrix = zero[:, 0].reshape(shape, order="F")
        slopes = slope.reshape(*shape, count, order="F")
        found.append(Taylor(matrix, slopes))
    return found[0], found[1]


def _complement(
    node: TreeNode, B: Taylor, free: list[int], scales: np.ndarray, left: _Residual
) -> Taylor:
    """C to first order."""
    value, slope = scales[:, None] * B.value, scales[:, None, None] * B.slope
    total, count = value.shape[1], B.slope.shape[-1]
    bound = [k for k in range(total) if k not in set(free)]
    C, slopes = np.zeros((total, len(free))), np.zeros((total, len(free), count))
    C[free] = np.eye(len(free))
    if bound:
        inverse = weighed_inverse(value[:, bound])
        C[bound] = -inverse @ value[:, free]
        moved = np.einsum("ijk,jl->ilk", slope, C)
        slopes[bound] = -np.einsum("ij,jlk->ilk", inverse, moved)
        left.note(node.rows, value @ C)
        left.note(node.rows, moved + np.einsum("ij,jlk->ilk", value, slopes))
    return Taylor(C, slopes)


def _constant(value: np.ndarray, count: int) -> Taylor:
    return Taylor(value, np.zeros((*value.shape, count)))


def _diagonal(blocks: Sequence[Taylor]) -> Taylor:
    rows, columns = (sum(b.value.shape[k] for b in blocks) for k in (0, 1))
    count = blocks[0].slope.shape[-1]
    out = Taylor(np.zeros((rows, columns)), np.zeros((rows, columns, count)))
    i = j = 0
    for block in blocks:
        height, width = block.value.shape
        out.value[i : i + height, j : j + width] = block.value
        out.slope[i : i + height, j : j + width] = block.slope
        i, j = i + height, j + width
    return out


def _stacked(blocks: Sequence[Taylor]) -> Taylor:
    return Taylor(
        np.concatenate([b.value for b in blocks]), np.concatenate([b.slope for b in blocks])
    )
