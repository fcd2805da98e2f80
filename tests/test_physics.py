"""What a run must show, checked from scene.xml and the exported record alone."""

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import plain


@pytest.fixture(scope="module", params=plain.RUNS, ids=lambda r: f"{r[0]}-{round(1000 * r[1])}ms")
def run(request, finished):
    return plain.Run(finished(*request.param))


def sample(run, count=60):
    return np.unique(np.linspace(0, run.T - 1, count).astype(int))


def test_equation_of_motion_and_third_law(run):
    for t in range(0, run.T, 3):
        run.at(t)
        assert run.eom_residual(t) < 1e-6
        assert run.third_law_residual(t) < 1e-8


def test_momentum_of_every_floating_tree(run):
    free = run.free_trees()
    for t in sample(run):
        run.at(t)
        rate, external = run.momentum_rate(t), run.external(t)
        size = max(np.abs(rate).max(), run.m.body_mass.sum() * 9.81)
        assert np.abs(rate - external)[free].max() / size < 1e-6


def test_internal_contact_forces_cancel_over_the_scene(run):
    """The contact wrench the program put on each free base, summed over the scene, is the environment's alone."""
    free = run.free_trees()
    for t in range(0, run.T, 3):
        run.at(t)
        total, largest = np.zeros(6), 1.0
        for tree in free:
            body = int(run.m.tree_bodyadr[tree])
            base = run.a["qfrc_contact"][t][run.m.tree_dofadr[tree] : run.m.tree_dofadr[tree] + 6]
            force, torque = base[:3], run.d.xmat[body].reshape(3, 3) @ base[3:]
            wrench = np.concatenate([force, torque + np.cross(run.d.xpos[body], force)])
            total += wrench
            largest = max(largest, np.abs(wrench).max())
        for c in np.flatnonzero(run.a["contact_active"][t]):
            trees = [int(run.m.body_treeid[b]) for b in run.bodies(c)]
            point, w = run.d.site_xpos[run.sites[c][0]], run.a["contact_wrench"][t, c]
            inside = [tree in free for tree in trees]
            if inside[0] != inside[1]:  # a mechanism's base, or the fixed environment, stands on one side
                sign = 1 if inside[0] else -1
                total -= sign * np.concatenate([w[:3], w[3:] + np.cross(point, w[:3])])
        assert np.abs(total).max() / largest < 1e-8


def test_no_torque_on_passive_dofs_and_limits_kept(run):
    limits = run.torque_limits()
    assert not run.a["tau"][:, np.isnan(limits)].any()
    powered = np.isfinite(limits)
    assert (np.abs(run.a["tau"][:, powered]) <= limits[powered] + 1e-6).all()
    m = run.m
    for joint in np.flatnonzero(m.jnt_limited):
        q = run.a["qpos"][:, m.jnt_qposadr[joint]]
        assert q.min() >= m.jnt_range[joint, 0] - 1e-6
        assert q.max() <= m.jnt_range[joint, 1] + 1e-6


def test_contacts_do_not_drift(run):
    assert run.drift() < 0.5e-3


def test_feet_push_inside_friction_and_patch(run):
    """Wrench of each sole on the ground, at the sole's centre in its own axes: fz ≥ 0, friction, pressure inside the patch.

    Each from where it landed; soles that are set by inverse kinematics or land lie a little off.
    """
    posed = {"sword/hilt", "block_top/hull"} & names(run)
    rough = {"box/hull", "door/panel", "valve/disc", "lever/bulk", "litter/left_pole", "bar/bar_hull"}
    friction = 1.0 if posed or rough & names(run) else 0.8
    checked = 0
    for c, (first, second) in enumerate(run.a["contact_names"]):
        if not first.endswith("_sole") or second != "world":
            continue
        half = run.m.site_size[run.m.site(first).id, :2]
        active = run.a["contact_active"][:, c]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], active, [0]])))
        for begin, end in edges.reshape(-1, 2):
            run.at(int(begin))
            ahead = run.d.site(first).xmat.reshape(3, 3)[:, 0]
            turn = np.array([[ahead[0], ahead[1], 0], [-ahead[1], ahead[0], 0], [0, 0, 1]])
            w = run.a["contact_wrench"][begin:end, c].reshape(-1, 2, 3) @ turn.T
            fz = w[:, 0, 2]
            landed = begin > 0 or not active.all()
            tilt, arm = (0.05, 0.004) if landed else (1e-3, 1e-3) if posed else (0.0, 0.0)
            assert (fz >= -1e-6).all()
            assert (np.abs(w[:, 0, :2]) <= (friction / np.sqrt(2) + tilt) * fz[:, None] + 1e-6).all()
            assert (np.abs(w[:, 1, 0]) <= (half[1] + arm) * fz + 1e-6).all()
            assert (np.abs(w[:, 1, 1]) <= (half[0] + arm) * fz + 1e-6).all()
            assert (np.abs(w[:, 1, 2]) <= (friction / np.sqrt(2) * half.sum() + arm) * fz + 1e-6).all()
            checked += 1
    assert checked


def names(run):
    return {run.m.geom(g).name for g in range(run.m.ngeom)}


def test_avoided_pairs_do_not_penetrate(run):
    """Distances recomputed by MuJoCo: box against table and body, door against body, limbs against limbs."""
    m, d, fromto = run.m, run.d, np.zeros(6)
    cast = sorted({name.split("/")[0] for name in names(run) if name.endswith("chest_hull")})
    parts = ("chest", "pelvis", "head", "left_thigh", "right_thigh", "left_shank", "right_shank")
    things = ("box/hull", "table/hull", "door/panel", "valve/disc", "valve/post", "lever/bulk", "lever/post")
    pairs = [(a, f"{who}/{p}_hull") for a in things for who in cast for p in parts if a in names(run)]
    if "box/hull" in names(run):
        pairs.append(("box/hull", "table/hull"))
    limbs = ("thigh", "shank", "foot", "forearm", "hand")
    pairs += [(f"{who}/left_{p}_hull", f"{who}/right_{p}_hull") for who in cast for p in limbs]
    ids = [(m.geom(a).id, m.geom(b).id) for a, b in pairs]
    closest = np.inf
    for t in range(0, run.T, 4):
        d.qpos[:] = run.a["qpos"][t]
        mujoco.mj_kinematics(m, d)
        closest = min(closest, *(mujoco.mj_geomDistance(m, d, a, b, 1.0, fromto) for a, b in ids))
    assert closest > -1e-3


def test_joints_keep_their_speed(run):
    m = run.m
    for joint in range(m.njnt):
        if m.jnt_user[joint, 0] > 0:
            assert np.abs(run.a["qvel"][:, m.jnt_dofadr[joint]]).max() <= m.jnt_user[joint, 0] + 1e-6


def test_the_state_is_what_the_accelerations_make_of_it(run):
    a, dt = run.a, (run.a["time"][-1] - run.a["time"][0]) / (run.T - 1)
    assert_allclose(a["qvel"][1:], a["qvel"][:-1] + dt * a["qacc"][:-1], rtol=0, atol=1e-9)
