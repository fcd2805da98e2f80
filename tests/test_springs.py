"""Grips in the simulated world: their kernel against MuJoCo's own velocities, Jacobians and rotations, one grip after another."""

import mujoco
import numpy as np
from numpy.testing import assert_allclose

from interplay.catalogue import scenario
from interplay.worlds.springs import DAMPING, FREQUENCY, OFF


def frames(d, contact):
    """Return place and rotation of both sides of a contact, in the world."""
    out = []
    for side, p, R in ((contact.first, contact.p1, contact.R1), (contact.second, contact.p2, contact.R2)):
        X = d.xmat[side.body].reshape(3, 3)
        out.append((d.xpos[side.body] + X @ p, X @ R))
    return out


def asked(m, d, contact):
    """Return ω² e + 2ζω ė (6) of a grip, by MuJoCo's functions."""
    (place, A), (other, B) = frames(d, contact)
    twist, turned, quat = np.zeros((2, 6)), np.zeros(3), np.zeros(4)
    for row, body in zip(twist, (contact.first.body, contact.second.body), strict=True):
        mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_XBODY, body, row, 0)
        row[3:] += np.cross(row[:3], place - d.xpos[body])
    mujoco.mju_mat2Quat(quat, (B @ A.T).ravel())
    mujoco.mju_quat2Vel(turned, quat, 1.0)
    off, rate = np.concatenate([other - place, turned]), np.roll(twist[1] - twist[0], 3)
    return FREQUENCY**2 * off + 2 * DAMPING * FREQUENCY * rate


def test_forces_of_grips():
    """Both hands on the barbell, everything moved and turned a little and moving: wrenches, and what they do to all DOFs."""
    sim = scenario("funambulist")().simulation(0.01, world="simulated")
    while not any(c.kind == "grasp" for c in sim.contacts):
        sim.step()
    while sim.time < 1.0:
        sim.step()
    m, world, rng = sim.scene.model, sim.world, np.random.default_rng(3)
    springs, d = world._springs, mujoco.MjData(m)
    grips = [(k, c) for k, c in enumerate(sim.outcome.plan.contacts) if c.kind == "grasp"]
    assert len(grips) == 2
    for size in (1e-4, 1e-3, 3e-3):
        d.qpos[:], d.qvel[:] = sim.state.qpos, sim.state.qvel + rng.normal(0, 10 * size, m.nv)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(0, size, m.nv), 1.0)
        mujoco.mj_normalizeQuat(m, d.qpos)
        mujoco.mj_step1(m, d)
        before = rng.normal(size=m.nv)
        d.qfrc_applied[:] = before
        springs.pull(d, sim.time)
        beside = springs._inertia @ np.concatenate([asked(m, d, c) for _, c in grips])
        wanted = springs._planned + beside.reshape(-1, 6)
        expected = before.copy()
        for (k, c), w in zip(grips, wanted, strict=True):
            most = np.repeat([c.grip_force, c.grip_torque], 3)
            w = np.clip(w, -most, most)
            assert_allclose(springs.wrenches[k], w, rtol=1e-9, atol=1e-9 * np.abs(w).max())
            place = frames(d, c)[0][0]
            mujoco.mj_applyFT(m, d, w[:3], w[3:], place, c.first.body, expected)
            mujoco.mj_applyFT(m, d, -w[:3], -w[3:], place, c.second.body, expected)
        assert_allclose(d.qfrc_applied, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert not springs.off
    # A hand that is too far away has slipped off, pulls no more, and stays off.
    d.qpos[m.jnt_qposadr[m.joint("bar/free").id] + 2] += 2 * OFF
    mujoco.mj_step1(m, d)
    d.qfrc_applied[:] = 0.0
    for _ in range(2):
        springs.pull(d, sim.time)
        assert len(springs.off) == 2
        assert not d.qfrc_applied.any()
        d.qpos[:] = sim.state.qpos
        mujoco.mj_step1(m, d)
