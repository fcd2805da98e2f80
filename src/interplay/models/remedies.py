"""What is wrong with a model file and what a sidecar can do about it: inertias, masses, collision shapes."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from interplay.errors import InputError, unknown_name
from interplay.models.sidecar import Remedies, Solid

_SMALLEST_MASS = 0.005
"""Mass [kg] that is advised for moving bodies without one: little beside a character, enough for its joints."""

_RADIUS = 0.02
"""Radius [m] of the ball as which a body without mass is given one, and thickness of those that are made possible."""


class NeedsRemedy(InputError):
    """A file that can be read once the sidecar has an entry: ``entry`` and ``value`` of it, and the ``reason``."""

    def __init__(self, file: str, reason: str, entry: str, value: Any):
        """Say what is wrong, and which line of a sidecar is the remedy."""
        shown = value if not isinstance(value, dict) else "{" + ", ".join(f"{k}: {v}" for k, v in value.items()) + "}"
        super().__init__(f"{file}: {reason}; the remedy is a line of the sidecar: '{entry}: {shown}'")
        self.reason, self.entry, self.value = reason, entry, value


# -- masses and inertias -----------------------------------------------------------------------------------------------


def weigh(file: str, spec: mujoco.MjSpec, remedies: Remedies) -> None:
    """Balance inertias and give masses in a specification as it was read, or refuse the bodies that need it."""
    impossible, massless = [], []
    for body in spec.bodies[1:]:
        if not body.explicitinertial:
            continue
        inertia = _inertia(body)
        if body.mass == 0 and not inertia.any():
            body.explicitinertial = False  # a frame: MuJoCo would take its zeros for a damaged inertia
        elif np.abs(inertia).max() < 1e-15 and not body.joints and body.parent.name != spec.worldbody.name:
            body.fullinertia = np.full(6, np.nan)  # a point mass that is held to a body, and does not turn by itself
            body.inertia = np.zeros(3)
        elif not _possible(inertia):
            impossible.append(body)
    for body in spec.bodies[1:]:
        if any(joint.type != mujoco.mjtJoint.mjJNT_FREE for joint in body.joints) and not _has_mass(body):
            massless.append(body)
    if impossible and remedies.inertias == "keep":
        shown = ", ".join(f"{value:.3g}" for value in np.linalg.eigvalsh(_inertia(impossible[0])))
        reason = f"{_listed(impossible)} impossible moments of inertia ({shown} kg·m²); expected all > 0, none above the sum of the others"
        raise NeedsRemedy(file, reason, "inertias", "balance")
    for body in impossible:
        _set_inertia(body, _balanced(_inertia(body), float(body.mass)))
    if massless and remedies.smallest_mass is None:
        raise NeedsRemedy(file, f"{_listed(massless)} joints but no mass", "smallest_mass", _SMALLEST_MASS)
    for body in massless:
        mass = float(remedies.smallest_mass or 0.0)
        body.mass, body.explicitinertial, body.ipos = mass, True, [0, 0, 0]
        _set_inertia(body, 0.4 * mass * _RADIUS**2 * np.eye(3))


def _listed(bodies: list) -> str:
    names = [body.name for body in bodies]
    if len(names) == 1:
        return f"body {names[0]!r} has"
    return f"{len(names)} bodies ({', '.join(names[:3])}{', …' if len(names) > 3 else ''}) have"


def _has_mass(body: mujoco.MjsBody) -> bool:
    """Return whether a body, or what is held to it without joints, has a mass or a shape that MuJoCo weighs."""
    own = body.mass > 0 if body.explicitinertial else any(g.mass > 0 or g.density > 0 for g in body.geoms)
    return own or any(_has_mass(child) for child in body.bodies if not child.joints)


def _inertia(body: mujoco.MjsBody) -> np.ndarray:
    """Return the inertia of a body as a matrix, in the frame that the file gives it in."""
    if np.isfinite(body.fullinertia).all():
        xx, yy, zz, xy, xz, yz = body.fullinertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.diag(body.inertia)


def _set_inertia(body: mujoco.MjsBody, inertia: np.ndarray) -> None:
    if np.isfinite(body.fullinertia).all():
        body.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
    else:
        body.inertia = np.diag(inertia)


def _possible(inertia: np.ndarray) -> bool:
    """Return whether moments are positive and none exceeds the sum of the others."""
    low, middle, high = np.linalg.eigvalsh(inertia)
    return bool(low > 0 and high <= low + middle)


def _balanced(inertia: np.ndarray, mass: float) -> np.ndarray:
    """Return the nearest inertia that a body can have.

    I = tr(Σ)1 − Σ with Σ = ∫ r rᵀ dm: a body's second moments are nowhere negative, and one that is not thinner than a
    centimetre or so everywhere has some in every direction.
    """
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    values, axes = np.linalg.eigh(second)
    values = np.maximum(values, 0.2 * mass * _RADIUS**2)
    return (values.sum() * np.eye(3)) - (axes * values) @ axes.T


# -- collision shapes --------------------------------------------------------------------------------------------------


def reshape(file: str, spec: mujoco.MjSpec, remedies: Remedies) -> None:
    """Give bodies of a canonical specification the collision shapes that the remedies name."""
    for name, solids in remedies.shapes.items():
        body = next((b for b in spec.bodies if b.name == name), None)
        if body is None:
            raise InputError(f"{file}: shapes: {unknown_name('body', name, [b.name for b in spec.bodies if b.name])}")
        _replace_shapes(spec, body, solids)
    if remedies.collision == "visual":
        for body in spec.bodies[1:]:
            if not any(_collides(geom) for geom in body.geoms):
                for geom in list(body.geoms):
                    _collide_as(body, geom)


def _collides(geom: mujoco.MjsGeom) -> bool:
    return bool(geom.contype or geom.conaffinity)


def _collide_as(body: mujoco.MjsBody, seen: mujoco.MjsGeom) -> None:
    """Add a collision shape that is like a geom that is only seen."""
    body.add_geom(
        type=seen.type,
        meshname=seen.meshname,
        pos=seen.pos,
        quat=seen.quat,
        size=seen.size,
        contype=1,
        conaffinity=1,
        mass=0,
        density=0,
    )


def _replace_shapes(spec: mujoco.MjSpec, body: mujoco.MjsBody, solids: list[Solid]) -> None:
    for geom in [g for g in body.geoms if _collides(g)]:
        spec.delete(geom)
    for solid in solids:
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=list(solid.pos),
            size=list(solid.size),
            contype=1,
            conaffinity=1,
            mass=0,
            density=0,
        )
