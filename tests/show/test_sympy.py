"""Equations as a student has them in SymPy: what is right simplifies to zero, both ways."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import mechgraph as mg
from mechgraph.motion.variables import variables
from mechgraph.show.expressions import from_sympy


def pendulum() -> mg.System:
    s = mg.System("pendulum")
    m, length, g = s.parameter("m", 1.2), s.parameter("l", 0.7), s.parameter("g", 9.81)
    s.gravity = ca.vertcat(0, 0, -g)
    rod = s.body("rod", mass=m, com=(0, 0, -length), inertia=0)
    s.revolute("theta", s.ground, rod, axis="y")
    s.torque("motor", "theta", s.input("tau"))
    return s


@pytest.mark.smoke
@pytest.mark.parametrize("formalism", ["lagrange", "kane", "newton-euler", "appell"])
def test_homework_with_plain_symbols_is_right(formalism) -> None:
    m, length, g, theta, tau = sp.symbols("m l g theta tau")
    found = pendulum().equations(formalism).to_sympy()
    assert sp.simplify(m * length**2 - found["M"][0]) == 0
    assert sp.simplify(tau - m * g * length * sp.sin(theta) - found["f"][0]) == 0


def test_homework_with_functions_of_time_is_right() -> None:
    """By Lagrange's equations, done by SymPy."""
    theta, tau = dynamicsymbols("theta tau")
    m, length, g, t = sp.symbols("m l g t")
    rate = theta.diff(t)
    L = m * length**2 * rate**2 / 2 + m * g * length * sp.cos(theta)
    mine = L.diff(rate).diff(t) - L.diff(theta) - tau
    eqs = pendulum().equations("lagrange")
    found = eqs.to_sympy(symbols="dynamic")
    assert sp.simplify(mine - (found["M"][0] * rate.diff(t) - found["f"][0])) == 0
    assert found.symbols["theta'"] == rate
    value = found.function("f")(0.3, 0.0, 0.1, 1.2, 0.7, 9.81, 0.0)[0]
    np.testing.assert_allclose(value.ravel(), eqs.forces([0.3], [0.0], inputs=[0.1]), rtol=1e-14)


def test_homework_with_symbols_of_ones_own_is_right() -> None:
    m, length = sp.symbols("m l", positive=True)
    found = (
        pendulum().equations().to_sympy(symbols={"m": m, "l": length, "theta": sp.Symbol("phi")})
    )
    assert sp.sqrt(found["M"][0]) == sp.sqrt(m) * length
    assert found["f"].has(sp.Symbol("phi"))
    with pytest.raises(mg.ArgumentError, match="did you mean 'theta'"):
        pendulum().equations().to_sympy(symbols={"thetta": m})


def test_terms_take_matrices_of_sympy() -> None:
    """A pendulum on a cart: by hand in SymPy, and by the formalisms."""
    x, phi = dynamicsymbols("x phi")
    m, M, length, g, t = sp.symbols("m M l g t")
    q = sp.Matrix([x, phi])
    place = sp.Matrix([x + length * sp.sin(phi), -length * sp.cos(phi)])
    velocity = place.diff(t)
    T = (M * x.diff(t) ** 2 + m * velocity.dot(velocity)) / 2
    V = m * g * place[1]
    mass = sp.hessian(T, list(q.diff(t)))
    rest = sp.Matrix([T]).jacobian(q.diff(t)).T.diff(t) - mass * q.diff(t, 2)
    force = (sp.Matrix([T - V]).jacobian(q).T - rest).expand()
    constants = {"m": 1.0, "M": 3.0, "l": 0.5, "g": 9.81}
    v = mg.variables(["x", "phi"], ["x'", "phi'"], parameters=constants)
    mine = mg.Equations(mg.Terms(v, M=mass, f=force, kinetic=T, potential=V))
    s = mg.System("cart", gravity=(0, 0, -9.81))
    cart = s.body("cart", mass=3.0, inertia=(1, 1, 1))
    bob = s.body("bob", mass=1.0, com=(0, 0, -0.5), inertia=0)
    s.prismatic("x", s.ground, cart, axis="x")
    s.revolute("phi", cart, bob, axis="-y")
    for state in np.random.default_rng(3).uniform(-2, 2, (4, 4)):
        at = state[:2], state[2:]
        theirs = s.equations().accelerations(*at)
        np.testing.assert_allclose(mine.accelerations(*at), theirs, rtol=1e-12)
    assert mine.kinetic_energy(*at) == pytest.approx(s.equations().kinetic_energy(*at), rel=1e-12)


def test_every_function_of_sympy_has_its_number() -> None:
    x, y = sp.symbols("x y")
    expressions = [
        sp.sqrt(x) / y**3 + x**y - 2 * sp.pi,
        sp.Piecewise((x, x < y), (y**2, sp.And(y > 0, x >= 1)), (0, True)),
        sp.Min(x, y, 0.5) + sp.Max(x, 2 * y) + sp.Abs(x - y) + sp.Mod(3 * x, y),
        sp.atan2(y, x) + sp.asin(x / 9) * sp.exp(-y) * sp.sign(x - y) + sp.ceiling(x) + sp.floor(y),
        sp.Piecewise((1, sp.Or(sp.Eq(x, 1), sp.Ne(y, y))), (3, sp.Not(x > 7))),
    ]
    v = variables(["x", "y"])
    found = ca.Function("f", [v.q], [ca.vertcat(*from_sympy(expressions, v))])
    for state in np.random.default_rng(0).uniform(0.1, 3, (5, 2)):
        wanted = [float(each.subs({x: state[0], y: state[1]})) for each in expressions]
        np.testing.assert_allclose(np.array(found(state)).ravel(), wanted, rtol=1e-13)
    with pytest.raises(mg.UnsupportedError, match="gamma"):
        from_sympy(sp.gamma(x), v)
    with pytest.raises(mg.ModelError, match="variable"):
        from_sympy(sp.Symbol("z"), v)
