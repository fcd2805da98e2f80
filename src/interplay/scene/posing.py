"""Inverse kinematics for initial states: surfaces meet, feet stay, balance is kept, joints stay inside their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from scipy.optimize import least_squares

from interplay.errors import InputError, SceneError, vector
from interplay.scene.surfaces import surface

if TYPE_CHECKING:
    from interplay.scene.kinematics import Kinematics
    from interplay.scene.scene import Scene

_MEET, _KEEP, _BALANCE, _POSTURE = 30.0, 100.0, 3.0, 0.08
"""Weights of the residuals [1/m, 1/rad]: meeting surfaces, kept surfaces, balance, staying near the posture."""

TOLERANCE = 2e-4
"""Largest remaining error of a reached surface [m, rad]."""

_MOST_FOUND = 64
_found: dict[tuple, np.ndarray] = {}
"""Poses found lately, by all that they depend on: a scenario that is built again stands there at once."""


def solve_reach(
    scene: Scene, goals: Sequence[tuple[str, str | Sequence[float]]], keep: Sequence[str] | None, balance: bool
) -> np.ndarray:
    """Return the configuration in which every goal is met, moving only the models that own the reaching surfaces."""
    asked = tuple((name, t if isinstance(t, str) else tuple(np.ravel(t).tolist())) for name, t in goals)
    key = scene.xml, scene.qpos.tobytes(), asked, None if keep is None else tuple(keep), balance
    if key not in _found:
        _found[key] = _solve(scene, goals, keep, balance)
        while len(_found) > _MOST_FOUND:
            del _found[next(iter(_found))]
    return _found[key].copy()


def _solve(
    scene: Scene, goals: Sequence[tuple[str, str | Sequence[float]]], keep: Sequence[str] | None, balance: bool
) -> np.ndarray:
    m, q0 = scene.model, scene.qpos
    terms = scene.kinematics()
    movers = sorted({name.split("/")[0] for name, _ in goals})
    dofs = np.concatenate([terms.tree_dofs(t) for name in movers for t in scene.trees(name)])
    kept = (
        list(keep)
        if keep is not None
        else [
            f"{n}/{s}"
            for n in movers
            if scene.kind(n) == "character"
            for s in ("left_sole", "right_sole")
            if mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, f"{n}/{s}") >= 0
        ]
    )
    reaching = {name for name, _ in goals}
    kept_sites = [scene.site(name) for name in kept if name not in reaching]
    kept_pose = [(terms.site_xpos[s].copy(), terms.site_xmat[s].reshape(3, 3).copy()) for s in kept_sites]
    pairs = [
        (scene.site(name), target if isinstance(target, str) else vector(f"target of {name!r}", target, (3, 6)))
        for name, target in goals
    ]
    for s, target in pairs:
        if not isinstance(target, str) and target.size == 6 and np.linalg.norm(target[3:]) < 1e-9:
            raise InputError(
                f"target of {m.site(s).name!r}: expected a direction after the point, got one of zero length"
            )
    pairs = [(s, scene.site(t) if isinstance(t, str) else t) for s, t in pairs]
    planar = [surface(m, s).kind == "planar" for s, _ in pairs]
    bodies = {name: scene.body(name) for name in movers}
    balanced = [
        n for n in movers if balance and scene.kind(n) == "character" and any(k.startswith(f"{n}/") for k in kept)
    ]
    places = {m.site(s).name: p for (p, _), s in zip(kept_pose, kept_sites, strict=True)}
    for s, target in pairs:  # soles that are being placed will carry, too
        places[m.site(s).name] = target[:3] if isinstance(target, np.ndarray) else terms.site_xpos[target].copy()
    supports = {n: np.mean([places[k][:2] for k in kept if k.startswith(f"{n}/")], axis=0) for n in balanced}

    nv = m.nv
    lower, upper = _bounds(m, dofs, q0)

    def configuration(x: np.ndarray) -> np.ndarray:
        q, step = q0.copy(), np.zeros(nv)
        step[dofs] = x
        mujoco.mj_integratePos(m, q, step, 1.0)
        return q

    def residuals(x: np.ndarray, comfort: float, start: np.ndarray) -> np.ndarray:
        terms.place(configuration(x))
        if balanced:
            mujoco.mj_comPos(m, terms.data)
        parts = [_MEET * _gap(terms, s, t, flat) for (s, t), flat in zip(pairs, planar, strict=True)]
        parts += [_KEEP * _pose_error(terms, s, pose) for s, pose in zip(kept_sites, kept_pose, strict=True)]
        parts += [comfort * _BALANCE * (terms.subtree_com[bodies[name]][:2] - supports[name]) for name in balanced]
        return np.concatenate([*parts, comfort * _POSTURE * (x - start)])

    # First a comfortable posture near the goal, then from there exactly onto it.
    x = np.zeros(len(dofs))
    for comfort in (1.0, 1e-5):
        start = np.clip(x, lower, upper)
        x = least_squares(
            residuals,
            start,
            bounds=(lower, upper),
            args=(comfort, start),
            max_nfev=100,
            xtol=1e-14,
            ftol=1e-15,
            gtol=1e-15,
        ).x
    q = configuration(x)
    terms.place(q)
    for (s, t), flat in zip(pairs, planar, strict=True):
        error = float(np.abs(_gap(terms, s, t, flat)).max())
        if error > TOLERANCE:
            goal = t if isinstance(t, np.ndarray) else m.site(t).name
            raise SceneError(
                f"{m.site(s).name!r} cannot reach {goal!r}: {error * 100:.1f} cm (or {np.degrees(error):.0f}°) remain"
            )
    return q


def _bounds(m: mujoco.MjModel, dofs: np.ndarray, q0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of the step of each DOF that keep 2 % of the joint's range free."""
    lower, upper = np.full(len(dofs), -np.inf), np.full(len(dofs), np.inf)
    for k, dof in enumerate(dofs):
        joint = int(m.dof_jntid[dof])
        if m.jnt_limited[joint]:
            low, high = m.jnt_range[joint]
            margin = 0.02 * (high - low)
            now = q0[m.jnt_qposadr[joint]]
            # A posture already nearer to a limit than that stays where it is.
            lower[k], upper[k] = min(low + margin - now, 0.0), max(high - margin - now, 1e-9)
            if now + upper[k] > high:
                lower[k], upper[k] = min(low + margin - now, -1e-9), 0.0
    return lower, upper


def _gap(terms: Kinematics, site: int, target: int | np.ndarray, planar: bool) -> np.ndarray:
    """Return what separates a surface from its target: position, and misalignment of its axis unless the target is a point."""
    p, axis = terms.site_xpos[site], terms.site_xmat[site].reshape(3, 3)[:, 2]
    if isinstance(target, np.ndarray):
        if target.size == 3:
            return p - target
        place, other = target[:3], target[3:] / np.linalg.norm(target[3:])
    else:
        place, other = terms.site_xpos[target], terms.site_xmat[target].reshape(3, 3)[:, 2]
    if planar:
        aim = -other
    else:
        aim = other if axis @ other >= 0 else -other
    return np.concatenate([p - place, axis - aim])


def _pose_error(terms: Kinematics, site: int, pose: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the 6D error of a site from a pose, world axes."""
    R = terms.site_xmat[site].reshape(3, 3)
    turn = pose[1] @ R.T
    return np.concatenate(
        [
            terms.site_xpos[site] - pose[0],
            -0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]),
        ]
    )
