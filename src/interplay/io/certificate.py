"""The certificate: a finished run checked against the laws, from the recording and the saved scene alone."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from interplay.constraints.limits import JointLimits
from interplay.io.recording import Recording
from interplay.io.replay import Replay


def certify(recording: Recording) -> dict[str, float]:
    """Return the worst residuals and violations of a run."""
    replay = Replay(recording)
    m, derived = replay.model, replay.derived
    limits = JointLimits.of(m)
    driven = ~np.isnan(limits.torque)
    worst: dict[str, float] = dict.fromkeys(
        (
            "momentum_residual",
            "eom_residual",
            "third_law_residual",
            "friction_violation",
            "torque_ratio",
            "limit_violation",
        ),
        0.0,
    )
    free = [
        t for t in range(m.ntree) if m.jnt_type[m.body_jntadr[m.tree_bodyadr[t]]] == int(mujoco.mjtJoint.mjJNT_FREE)
    ]
    for t in range(recording.steps):
        terms = replay.at(t)
        qacc, tau, applied = recording["qacc"][t], derived.tau[t], replay.applied(t)
        contact = _contact_force(replay, t)
        inertial = terms.full_mass() @ qacc
        size = max(np.abs(v).max() for v in (inertial, terms.qfrc_bias, tau, contact))
        residual = inertial + terms.qfrc_bias - tau - terms.qfrc_passive - applied - contact
        _raise(worst, "eom_residual", float(np.abs(residual).max()) / size)
        _raise(worst, "momentum_residual", _momentum(replay, t, free, qacc, applied))
        # What the program put on the two sides of its contacts against +w on the first and −w on the second at one point.
        _raise(
            worst,
            "third_law_residual",
            float(np.abs(derived.qfrc_contact[t] - contact).max()) / max(float(np.abs(contact).max()), 1e-9),
        )
        limited = driven & np.isfinite(limits.torque)
        _raise(worst, "torque_ratio", float((np.abs(tau[limited]) / limits.torque[limited]).max(initial=0.0)))
        q = recording["qpos"][t][limits.adr]
        _raise(worst, "limit_violation", float(np.maximum(limits.low - q, q - limits.high).max(initial=0.0)))
        _raise(worst, "friction_violation", _friction(replay, t))
    return {
        "contact_drift_mm": 1e3 * float(derived.drift.max(initial=0.0)),
        "penetration_mm": 1e3 * max(0.0, -float(recording["closest"].min(initial=0.0))),
        **worst,
    }


def _wrenches(replay: Replay, t: int) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Yield (first body, second body, world point, wrench on the first) of the contacts of a step."""
    for k in replay.columns(t):
        first, second = replay.sites[k]
        bodies = int(replay.model.site_bodyid[first]), int(replay.model.site_bodyid[second])
        yield *bodies, replay.terms.site_xpos[first].copy(), replay.derived.wrench[t, k]


def _contact_force(replay: Replay, t: int) -> np.ndarray:
    """Return the generalized force of all contacts of a step, through MuJoCo's own ``mj_applyFT``."""
    m, d, out = replay.model, replay.terms.data, np.zeros(replay.model.nv)
    for first, second, point, wrench in _wrenches(replay, t):
        mujoco.mj_applyFT(m, d, wrench[:3], wrench[3:], point, first, out)
        if m.body_treeid[second] >= 0:
            mujoco.mj_applyFT(m, d, -wrench[:3], -wrench[3:], point, second, out)
    return out


def _raise(worst: dict[str, float], key: str, value: float) -> None:
    worst[key] = max(worst[key], value)


def _momentum(replay: Replay, t: int, free: list[int], qacc: np.ndarray, applied: np.ndarray) -> float:
    """Return the worst residual of A q̈ + Ȧ q̇ = gravity + contacts + applied over the floating trees."""
    m, terms = replay.model, replay.terms
    outer = {tree: np.zeros(6) for tree in range(m.ntree)}
    for first, second, point, wrench in _wrenches(replay, t):
        for body, sign in ((first, 1.0), (second, -1.0)):
            tree = int(m.body_treeid[body])
            if tree >= 0:
                arm = point - terms.subtree_com[terms.root[body]]
                outer[tree] += sign * np.concatenate([wrench[:3], wrench[3:] + np.cross(arm, wrench[:3])])
    worst = 0.0
    for tree in free:
        _, matrix, bias = terms.momentum(tree)
        dofs = terms.tree_dofs(tree)
        body = int(m.tree_bodyadr[tree])
        weight = float(m.body_subtreemass[body]) * m.opt.gravity
        # A generalized force on a free base is a force at its origin (world axes) and a torque in body axes.
        push, R = applied[dofs[:6]], terms.xmat[body].reshape(3, 3)
        force = push[:3]
        torque = R @ push[3:] + np.cross(terms.xpos[body] - terms.subtree_com[body], force)
        right = outer[tree] + np.concatenate([weight + force, torque])
        left = matrix @ qacc[dofs] + bias
        size = max(float(np.abs(left).max()), float(np.abs(outer[tree]).max()), float(np.abs(weight).max()))
        worst = max(worst, float(np.abs(left - right).max()) / size)
    return worst


def _friction(replay: Replay, t: int) -> float:
    """Return the worst violation [N] of the friction facets of contacts that are no grasps."""
    worst, run = 0.0, replay.recording
    for contact, k in zip(replay.contact_sets[run["contact_set"][t]], replay.columns(t), strict=True):
        if contact.kind != "grasp":
            worst = max(worst, float(-(contact.cone() @ run["wrench"][t, k, : contact.dim]).min()))
    return worst
