"""Impulses between rigid surfaces: Newton's restitution along the normal, Coulomb's cone for what
is tangential."""

from __future__ import annotations

import numpy as np

from ...model.contact.rigid import RigidContact


def impact(
    fastest: int,
    met: np.ndarray,
    response: np.ndarray,
    directions: np.ndarray,
    velocity: np.ndarray,
    law: RigidContact,
    rebounds: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Which points are hit, and the impulses on them: all that were ``met``, less those that would
    pull.

    The fastest alone, if nothing of the others is left, or if together they would add energy.
    """
    while len(met) > 1:
        W = np.einsum("pin,qnj->piqj", directions[met], response[met])
        impulse = impulses(W, velocity[met], law, rebounds)
        pulling = impulse[:, 0] < -1e-12 * np.abs(impulse).max()
        gained = np.vdot(impulse, velocity[met] + np.einsum("piqj,qj->pi", W, impulse) / 2)
        if not pulling.any() and gained <= 0:
            return met, impulse
        met = met[~pulling] if pulling.any() else met[:0]
    alone = np.array([fastest])
    return alone, impulses(
        (directions[fastest] @ response[fastest])[None, :, None, :], velocity[alone], law, rebounds
    )


def impulses(W: np.ndarray, velocity: np.ndarray, law: RigidContact, rebounds: bool) -> np.ndarray:
    """Impulses (normal, two tangential) on points of one pair, whose velocities respond by W: they
    stick, or slide on the cone.

    The smallest ones where they are not determined (four corners of a box), so that what is
    symmetric stays so.
    """
    wanted = -velocity
    wanted[:, 0] *= 1 + law.restitution * rebounds
    sticking = np.zeros_like(wanted)
    if law.static:
        sticking = np.linalg.lstsq(W.reshape(wanted.size, -1), wanted.ravel(), rcond=1e-12)[
            0
        ].reshape(wanted.shape)
        along = np.hypot(*sticking[:, 1:].T)
        if (sticking[:, 0] >= 0).all() and along.sum() <= law.static * sticking[:, 0].sum():
            return sticking
    slips = np.hypot(*velocity[:, 1:].T) > 1e-9 * np.abs(velocity).max()
    # what does not slip yet is held back
    against = np.where(slips[:, None], -velocity[:, 1:], sticking[:, 1:])
    length = np.hypot(*against.T)[:, None]
    direction = np.hstack(
        [np.ones_like(length), law.friction * against / np.where(length > 0, length, 1)]
    )
    normal = np.linalg.lstsq(
        np.einsum("pqj,qj->pq", W[:, 0], direction), wanted[:, 0], rcond=1e-12
    )[0]
    return direction * normal[:, None]


def around(radius: float, twist: np.ndarray) -> list[np.ndarray]:
    """Arms (along two tangents) from the middle of a flat ring to four points of it, one of them
    the fastest down or up."""
    steepest = np.array([-twist[5], twist[4]])
    size = np.hypot(*steepest)
    x, y = radius * steepest / size if size > 0 else (radius, 0.0)
    return [np.array(arm) for arm in ((x, y), (-y, x), (-x, -y), (y, -x))]


def moved_by(arm: np.ndarray) -> np.ndarray:
    """v + ω × arm, all in the axes of a contact (normal, two tangents), as a matrix over (v, ω)."""
    x, y = arm
    return np.hstack([np.eye(3), [[0, y, -x], [-y, 0, 0], [x, 0, 0]]])
