"""The certificate: a finished run checked against the laws, from the recording and the saved scene alone."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from interplay.constraints.limits import JointLimits
from interplay.io.recording import Recording
from interplay.io.replay import Replay, Step


def certify(recording: Recording) -> dict[str, float]:
    """Return the worst residuals and violations of a run, and on how many steps something acted that no plan counted on.

    That is the ground under who has fallen, a joint's stop: its force is in the record, and in none of the residuals.
    """
    replay = Replay(recording)
    m = replay.model
    limits = JointLimits.of(m)
    limited = ~np.isnan(limits.torque) & np.isfinite(limits.torque)
    keys = ("contact_drift_mm", "penetration_mm", "momentum_residual", "eom_residual", "third_law_residual")
    worst: dict[str, float] = dict.fromkeys((*keys, "friction_violation", "torque_ratio", "limit_violation"), 0.0)
    worst["stopped_steps"] = 0.0
    worst["penetration_mm"] = 1e3 * max(0.0, -float(recording["closest"].min(initial=0.0)))
    free = [
        t for t in range(m.ntree) if m.jnt_type[m.body_jntadr[m.tree_bodyadr[t]]] == int(mujoco.mjtJoint.mjJNT_FREE)
    ]
    for step in replay.steps():
        terms = step.terms
        contact = _contact_force(replay, step)
        inertial = terms.mass_times(step.qacc)
        size = max(np.abs(v).max() for v in (inertial, terms.qfrc_bias, step.tau, contact))
        residual = inertial + terms.qfrc_bias - step.tau - terms.qfrc_passive - step.applied - contact
        # What the program put on the two sides of its contacts against +w on the first and −w on the second at one point.
        third = float(np.abs(step.qfrc_contact - contact).max()) / max(float(np.abs(contact).max()), 1e-9)
        q = terms.qpos[limits.adr]
        now = {
            "contact_drift_mm": 1e3 * float(step.drift.max(initial=0.0)),
            "eom_residual": float(np.abs(residual).max()) / size,
            "momentum_residual": _momentum(replay, step, free),
            "third_law_residual": third,
            "torque_ratio": float((np.abs(step.tau[limited]) / limits.torque[limited]).max(initial=0.0)),
            "limit_violation": float(np.maximum(limits.low - q, q - limits.high).max(initial=0.0)),
            "friction_violation": _friction(step),
        }
        worst["stopped_steps"] += step.stopped
        worst |= {key: max(worst[key], value) for key, value in now.items()}
    return worst


def _wrenches(replay: Replay, step: Step) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Yield (first body, second body, world point, wrench on the first) of the contacts of a step."""
    for k, wrench in zip(step.columns, step.site_wrenches, strict=True):
        first, second = replay.sites[k]
        bodies = int(replay.model.site_bodyid[first]), int(replay.model.site_bodyid[second])
        yield *bodies, step.terms.site_xpos[first].copy(), wrench


def _contact_force(replay: Replay, step: Step) -> np.ndarray:
    """Return the generalized force of all contacts of a step, through MuJoCo's own ``mj_applyFT``."""
    m, d, out = replay.model, step.terms.data, np.zeros(replay.model.nv)
    for first, second, point, wrench in _wrenches(replay, step):
        mujoco.mj_applyFT(m, d, wrench[:3], wrench[3:], point, first, out)
        if m.body_treeid[second] >= 0:
            mujoco.mj_applyFT(m, d, -wrench[:3], -wrench[3:], point, second, out)
    return out


def _momentum(replay: Replay, step: Step, free: list[int]) -> float:
    """Return the worst residual of A q̈ + Ȧ q̇ = gravity + contacts + applied over the floating trees."""
    m, terms = replay.model, step.terms
    outer = {tree: np.zeros(6) for tree in range(m.ntree)}
    for first, second, point, wrench in _wrenches(replay, step):
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
        push, R = step.applied[dofs[:6]], terms.xmat[body].reshape(3, 3)
        force = push[:3]
        torque = R @ push[3:] + np.cross(terms.xpos[body] - terms.subtree_com[body], force)
        right = outer[tree] + np.concatenate([weight + force, torque])
        left = matrix @ step.qacc[dofs] + bias
        size = max(float(np.abs(left).max()), float(np.abs(outer[tree]).max()), float(np.abs(weight).max()))
        worst = max(worst, float(np.abs(left - right).max()) / size)
    return worst


def _friction(step: Step) -> float:
    """Return the worst violation [N] of the friction facets of contacts that are no grasps."""
    worst = 0.0
    for contact, wrench in zip(step.contacts, step.wrenches, strict=True):
        if contact.kind != "grasp":
            worst = max(worst, float(-(contact.cone() @ wrench[: contact.dim]).min()))
    return worst
