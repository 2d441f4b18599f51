"""Three-vectors, rotations and quaternions on CasADi ``SX``, and reading them from what a user may
write.

Rotation matrix ``R_ab`` takes components in frame b to components in frame a. Quaternions are
scalar-first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Sized
from functools import cache, wraps
from typing import Any, TypeVar, cast

import casadi as ca
import numpy as np
from casadi import SX
from scipy.spatial.transform import Rotation

from .errors import ModelError, shown
from .numerics.tolerances import EPSILON, GIVEN, SMOOTH

Traced = TypeVar("Traced", bound=Callable[..., Any])
# what CasADi raises for a value that it cannot take
NOT_AN_EXPRESSION = (
    NotImplementedError,
    RuntimeError,
    TypeError,
)
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def traced(function: Traced) -> Traced:
    """Trace a function of ``SX`` matrices once for each set of shapes; further calls put in the
    whole of it.

    CasADi's Python layer needs 10 to 30 µs for an operation, and no more for a function of a
    hundred operations. Its expressions are the same as if each operation were called: zeros and
    ones of the arguments are folded on the way.
    """

    @cache
    def graph(*shapes: tuple[int, int]) -> ca.Function:
        symbols = [SX.sym(f"x{k}", *shape) for k, shape in enumerate(shapes)]
        out = function(*symbols)
        return ca.Function("traced", symbols, list(out) if isinstance(out, tuple) else [out])

    @wraps(function)
    def put_in(*arguments: SX) -> SX | tuple[SX, ...]:
        out = graph(*[argument.shape for argument in arguments]).call(arguments)
        return out[0] if len(out) == 1 else tuple(out)

    return cast(Traced, put_in)


def symbol(name: str) -> SX:
    """One symbol, whatever its name; CasADi makes several of a name such as "[a, b]"."""
    return SX.sym(str(name).replace("[", "(").replace("]", ")"))


def scalar(value: Any, what: str = "value") -> SX:
    """One finite number or one expression as a 1x1 ``SX``."""
    try:
        result = (
            value if isinstance(value, SX) else SX(value) if not isinstance(value, str) else None
        )
    except NOT_AN_EXPRESSION:
        result = None
    if result is None or result.shape != (1, 1):
        got = (
            f"a {value.shape[0]}x{value.shape[1]} matrix" if isinstance(value, SX) else shown(value)
        )
        hint = "; call it first, with an expression" if callable(value) else ""
        raise ModelError(f"{what} must be one number or expression, got {got}{hint}")
    if not result.is_dense():
        result = ca.densify(result)
    if result.is_constant() and not math.isfinite(float(result)):
        hint = f"; it {NO_NUMBER}" if math.isnan(float(result)) else ""
        raise ModelError(f"{what} must be finite, got {shown(value)}{hint}")
    return result


NO_NUMBER = (
    "is not a number (NaN); functions such as math.sin take no expressions, use mg.sin, and "
    "mg.table or mg.spline for those of SciPy that interpolate"
)


def column(values: Any, size: int = 3, what: str = "vector") -> SX:
    """``size`` numbers or expressions as a column; accepts lists, tuples, arrays (also of ``SX``)
    and ``SX``."""
    if isinstance(values, (SX, ca.DM)):
        entries: list[Any] = [values[i] for i in range(values.numel())]
    elif isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, (str, bytes)):
        entries = list(np.ravel(values)) if isinstance(values, np.ndarray) else list(values)
    else:
        raise ModelError(f"{what} must be {size} numbers, got {shown(values)}")
    if len(entries) != size:
        raise ModelError(f"{what} must have {size} numbers, got {len(entries)}")
    out = SX.zeros(size)
    for k, entry in enumerate(entries):
        out[k] = scalar(entry, what)
    return out


def matrix3(values: Any, what: str) -> SX:
    """A 3x3 matrix of numbers or expressions."""
    if isinstance(values, (SX, ca.DM)):
        if values.shape != (3, 3):
            raise ModelError(f"{what} must be 3x3, got {values.shape[0]}x{values.shape[1]}")
        return ca.densify(SX(values))
    rows = list(values)
    if len(rows) != 3:
        raise ModelError(f"{what} must have 3 rows, got {len(rows)}")
    return ca.vertcat(*(column(row, 3, what).T for row in rows))


def axis(value: Any, what: str = "axis") -> SX:
    """A unit vector from ``"x"``, ``"-y"`` or three numbers of length one."""
    if isinstance(value, str):
        sign, letter = (-1.0, value[1:]) if value.startswith("-") else (1.0, value)
        if letter not in AXES:
            raise ModelError(
                f"{what} {value!r} is not one of 'x', 'y', 'z', '-x', '-y', '-z' or three numbers"
            )
        return SX([sign * c for c in AXES[letter]])
    result = column(value, 3, what)
    if result.is_constant():
        numbers = np.array(ca.DM(result)).ravel()
        length = float(np.linalg.norm(numbers))
        if length == 0:
            raise ModelError(f"{what} is zero; give a direction such as 'z' or (0, 0, 1)")
        if abs(length - 1) > GIVEN:
            unit = ", ".join(f"{c:.12g}" for c in numbers / length)
            raise ModelError(f"{what} has length {length:.12g}, not 1; the unit axis is ({unit})")
        result = SX(ca.DM(numbers / length))
    return result


def tidy(matrix: SX) -> SX:
    """Constant entries within one rounding of 0 and ±1 made exact, so that right angles leave
    structural zeros."""
    out = ca.densify(matrix)
    for i, entry in enumerate(out.elements()):
        if entry.is_constant():
            value = float(entry)
            nearest = round(value)
            if value != nearest and abs(value - nearest) < 2 * EPSILON and nearest in (-1, 0, 1):
                out[i] = nearest
    return out


def rotated(R: SX, x: SX) -> SX:
    """R x of a vector or matrix; the identity costs nothing."""
    return x if R.is_eye() else shifted(SX.zeros(*x.shape), R, x)


def shifted(d: SX, R: SX, x: SX) -> SX:
    """d + R x. Constants that cancel leave nothing: what rounding leaves of 100 m, 1e-14 m, is no
    lever."""
    if x.is_zero():
        return d
    if d.is_zero() and R.is_eye():
        return x
    total = d + R @ x
    if not all(part.is_constant() for part in (d, R, x)):
        return total
    values, before, turned, added = (np.array(ca.DM(part)) for part in (total, d, R, x))
    # entries of a rotation are 0, or known to the rounding of 1
    sizes = np.abs(before) + (turned != 0) @ np.abs(added)
    return SX(ca.DM(np.where(np.abs(values) < 4 * EPSILON * sizes, 0.0, values)))


def composed(first: SX, second: SX) -> SX:
    """R_ab R_bc of two rotations; right angles stay exact."""
    if first.is_eye() or second.is_eye():
        return second if first.is_eye() else first
    R = first @ second
    return tidy(R) if R.is_constant() else R


def turn(direction: SX, angle: Any) -> SX:
    """Rotation by ``angle`` about the unit vector ``direction`` (Rodrigues): ``1 + sin·ẽ +
    (1−cos)·ẽ²``.

    The columns of an axis-aligned turn keep their exact zeros and ones.
    """
    e, c, s = direction, ca.cos(angle), ca.sin(angle)
    if is_coordinate_axis(e):
        R = _axis_turn(e, c, s)
        return tidy(R) if R.is_constant() else R
    return tidy(c * SX.eye(3) + s * ca.skew(e) + (1 - c) * (e @ e.T))


def is_coordinate_axis(e: SX) -> bool:
    """True for the constants ±x, ±y, ±z."""
    return bool(e.is_constant()) and sorted(abs(float(c)) for c in e.elements()) == [0.0, 0.0, 1.0]


def _axis_turn(e: SX, c: SX, s: SX) -> SX:
    k, sign = next((i, float(x)) for i, x in enumerate(e.elements()) if not x.is_zero())
    i, j = (k + 1) % 3, (k + 2) % 3
    R = SX.zeros(3, 3)
    R[k, k], R[i, i], R[j, j] = 1, c, c
    R[i, j], R[j, i] = (-s, s) if sign > 0 else (s, -s)
    return R


def quaternion_matrix(q: SX) -> SX:
    """R(q) of a scalar-first unit quaternion."""
    w, x, y, z = (q[i] for i in range(4))
    return ca.vertcat(
        ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def turned_by(q: SX, start: Any) -> SX:
    """The rotation vector, of at most half a turn, that turns a frame with the attitude ``start``
    into one with ``q``, in the axes that both quaternions are seen from: log(R Rₛᵀ)."""
    cosine = ca.dot(q, start)
    sine = start[0] * q[1:] - q[0] * start[1:] - ca.cross(q[1:], SX(start)[1:])
    size = ca.sqrt(ca.dot(sine, sine) + SMOOTH)  # so that there is a slope at zero
    nearer = ca.if_else(cosine < 0, -2, 2)
    return nearer * ca.atan2(size, ca.fabs(cosine)) / size * sine


def quaternion_rates(q: SX) -> SX:
    """N in q̇ = N ω, with ω in the turned frame: q̇ = ½ q∘(0, ω)."""
    w, x, y, z = (q[i] for i in range(4))
    return 0.5 * ca.vertcat(
        ca.horzcat(-x, -y, -z), ca.horzcat(w, -z, y), ca.horzcat(z, w, -x), ca.horzcat(-y, x, w)
    )


def orientation(value: Any, what: str = "orientation") -> SX:
    """A rotation, as a user may write it:

    - a 3x3 matrix; a ``Rotation`` of SciPy; a scalar-first quaternion;
    - turns one after the other, each about the axes turned so far: ``[("z", 0.3), ("x", 1.2)]``;
    - Euler angles with their sequence: ``("ZYX", (0.3, 0.2, 0.1))`` about turned axes, ``("xyz",
      (0.1, 0.2, 0.3))`` about fixed ones, as in SciPy, but in radians only;
    - two axes and where they point: ``{"x": (1, 1, 0), "z": "z"}``; the first is kept, the second
      is brought across it.
    """
    if value is None:
        return SX.eye(3)
    if isinstance(value, Rotation):
        if not value.single:
            raise ModelError(f"{what} must be one rotation, got {len(value)}")
        value = value.as_matrix()
    if isinstance(value, Mapping):
        return tidy(_from_axes(value, what))
    if _is_turns(value):
        return _turned(value, what)
    if _is_euler(value):
        return _from_euler(value[0], value[1], what)
    if _length(value) == 4:
        return tidy(quaternion_matrix(_unit_quaternion(value, what)))
    if _length(value) in (3, 9):
        return _rotation_matrix(matrix3(value, what), what)
    raise ModelError(
        f"{what} must be a 3x3 matrix, a Rotation of SciPy, a quaternion (4 numbers, scalar "
        "first), turns [('z', 0.3), …], Euler angles ('ZYX', (a, b, c)) or two axes {'x': …, "
        f"'z': …}}, got {shown(value)}"
    )


def _turned(turns: Any, what: str) -> SX:
    R = SX.eye(3)
    for direction, angle in turns:
        R = R @ turn(axis(direction, f"{what}: axis"), scalar(angle, f"{what}: angle"))
    return tidy(R)


def _is_euler(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[0], str)


def _from_euler(sequence: str, angles: Any, what: str) -> SX:
    """Turns about axes named one after the other: capital letters are turned along."""
    letters = sequence.lower()
    mixed = sequence not in (letters, sequence.upper())
    if not letters or set(letters) - set("xyz") or mixed or len(letters) > 3:
        raise ModelError(
            f"{what}: the sequence must be one to three letters such as 'ZYX' (about turned axes) "
            f"or 'xyz' (about fixed axes), got {sequence!r}"
        )
    given = [angles] if len(letters) == 1 and not isinstance(angles, (list, tuple)) else angles
    each = column(given, len(letters), f"{what}: the angles of {sequence!r}")
    turns = list(zip(letters, ca.vertsplit(each), strict=True))
    return _turned(turns if sequence == sequence.upper() else turns[::-1], what)


def _from_axes(axes: Mapping[Any, Any], what: str) -> SX:
    """The columns of a rotation from two of them: e, and the other without its part along e."""
    names = list(axes)
    if len(names) != 2 or any(name not in AXES for name in names):
        raise ModelError(f"{what} must name two of 'x', 'y', 'z', such as {{'x': …, 'z': …}}")
    first, second = (_direction(axes[name], f"{what}: {name!r}") for name in names)
    across = second - ca.dot(first, second) * first
    if across.is_constant() and float(ca.norm_2(across)) < GIVEN:
        raise ModelError(f"{what}: {names[0]!r} and {names[1]!r} point along one line")
    i, j = ("xyz".index(name) for name in names)
    columns = {i: first, j: across / ca.norm_2(across)}
    even = (j - i) % 3 == 1
    third = ca.cross(columns[i], columns[j])
    columns[3 - i - j] = third if even else -third
    return ca.horzcat(*(columns[k] for k in range(3)))


def _direction(value: Any, what: str) -> SX:
    """A unit vector along a named axis or three numbers of any length."""
    if isinstance(value, str):
        return axis(value, what)
    vector = column(value, 3, what)
    if vector.is_constant() and float(ca.norm_2(vector)) == 0:
        raise ModelError(f"{what} is zero; give a direction")
    return vector / ca.norm_2(vector)


def _is_turns(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and len(value) > 0
        and all(isinstance(item, (list, tuple)) and len(item) == 2 for item in value)
    )


def _length(value: Any) -> int:
    return (
        int(value.numel())
        if isinstance(value, (SX, ca.DM))
        else len(value)
        if isinstance(value, Sized)
        else 0
    )


def _unit_quaternion(value: Any, what: str) -> SX:
    q = column(value, 4, what)
    if q.is_constant():
        length = float(ca.norm_2(ca.DM(q)))
        if abs(length - 1) > GIVEN:
            raise ModelError(
                f"{what}: the quaternion has norm {length:.6g}, not 1; divide it by its norm"
            )
        q = q / length
    return q


def _rotation_matrix(R: SX, what: str) -> SX:
    if R.is_constant():
        numbers = np.array(ca.DM(R))
        if np.abs(numbers.T @ numbers - np.eye(3)).max() > GIVEN or np.linalg.det(numbers) < 0:
            raise ModelError(
                f"{what}: the matrix is not a rotation (orthonormal columns, determinant +1)"
            )
    return tidy(R)


def normals(e: SX) -> tuple[SX, SX]:
    """Two unit vectors that complete ``e`` to a right-handed frame (e, n1, n2)."""
    R = shortest_turn_to_z(e)
    return R[0, :].T, R[1, :].T


def shortest_turn_to_z(e: SX) -> SX:
    """The matrix L with L e = (0, 0, 1): Lemma 1 of Dolgii, Sesekin and Chupin at α = 0, safe for
    every e.

    For e₃ < 0 the half turn X = diag(1, −1, −1) goes first, so that 1 + e₃ is never small.
    """
    if e.is_constant():
        return tidy(_lemma_1(e) if float(e[2]) >= 0 else _lemma_1(_X @ e) @ _X)
    down = e[2] < 0
    L = _lemma_1(ca.if_else(down, _X @ e, e))
    return ca.if_else(down, L @ _X, L)


_X = ca.diag(ca.SX([1, -1, -1]))


def _lemma_1(e: SX) -> SX:
    e1, e2, e3 = (e[i] for i in range(3))
    k = 1 + e3
    return ca.vertcat(
        ca.horzcat((k - e1 * e1) / k, -e1 * e2 / k, -e1),
        ca.horzcat(-e1 * e2 / k, (k - e2 * e2) / k, -e2),
        ca.horzcat(e1, e2, e3),
    )


def angle_about(e: SX, R: SX) -> SX:
    """The angle in (−π, π] of a rotation R about ``e``."""
    n1, n2 = normals(e)
    return ca.atan2(ca.dot(n2, R @ n1), ca.dot(n1, R @ n1))


def vee(R: SX) -> SX:
    """½ (R − Rᵀ) as a vector: sin(angle) times the axis; zero for R = 1."""
    return 0.5 * ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])


ARCSINE = [math.comb(2 * k, k) / (4**k * (2 * k + 1)) for k in range(18)]  # asin(√z)/√z


def rotation_vector(R: SX) -> SX:
    """The angle times the axis of a rotation of less than half a turn, smooth at R = 1.

    sin θ e is ``vee``, and θ / sin θ = asin(√z)/√z / (cos θ/2 cos θ/4 cos θ/8), z = sin² θ/8, whose
    series is exact to rounding.
    """
    half = ca.sqrt((1 + ca.trace(R)) / 4)
    quarter = ca.sqrt((1 + half) / 2)
    z, series = (1 - quarter) / 2, SX(0)
    for coefficient in reversed(ARCSINE):
        series = series * z + coefficient
    return vee(R) * series / (half * quarter * ca.sqrt((1 + quarter) / 2))


def quaternion_of(R: SX) -> SX:
    """The unit quaternion of R with non-negative scalar part: the largest column of 4 q qᵀ, so that
    half turns are safe."""
    (a, b, c), (d, e, f), (g, h, i) = ([R[row, column] for column in range(3)] for row in range(3))
    K = ca.vertcat(
        ca.horzcat(1 + a + e + i, h - f, c - g, d - b),
        ca.horzcat(h - f, 1 + a - e - i, b + d, c + g),
        ca.horzcat(c - g, b + d, 1 - a + e - i, f + h),
        ca.horzcat(d - b, c + g, f + h, 1 - a - e + i),
    )
    best, size = K[:, 0], K[0, 0]
    for k in range(1, 4):
        better = K[k, k] > size
        best, size = ca.if_else(better, K[:, k], best), ca.fmax(K[k, k], size)
    return ca.if_else(best[0] < 0, -best, best) / ca.norm_2(best)


def angular_velocity(R: SX, rates: SX) -> SX:
    """ω in body axes from Rᵀ Ṙ = ω̃."""
    return ca.vertcat(
        ca.dot(R[:, 2], rates[:, 1]), ca.dot(R[:, 0], rates[:, 2]), ca.dot(R[:, 1], rates[:, 0])
    )
