"""Terms read from MuJoCo's quantities, against MuJoCo's own functions and central differences."""

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.scene.kinematics import Kinematics, weigh_subtrees


@pytest.fixture(scope="module")
def scene():
    s = ip.Scene()
    s.add(ip.Humanoid(1.7, 65, "female"), "alice")
    s.add(ip.Humanoid(joints="planar"), "flat", pos=(0, 1))
    s.add(ip.Door(), "door", pos=(1, 0))
    s.add(ip.Box(), "box", pos=(0.5, 0, 1))
    return s


def random_state(scene, seed):
    rng = np.random.default_rng(seed)
    q = scene.qpos
    mujoco.mj_integratePos(scene.model, q, rng.normal(0, 0.4, scene.model.nv), 1.0)
    return q, rng.normal(0, 1.5, scene.model.nv)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("body", ["alice/right_hand", "alice/left_foot", "box", "door/handle", "flat/left_foot"])
def test_point_jacobian_velocity_and_bias(scene, body, seed):
    m, terms = scene.model, scene.kinematics()
    q, v = random_state(scene, seed)
    terms.update(q, v)
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = q, v
    mujoco.mj_forward(m, d)
    b = scene.body(body)
    p = d.xpos[b] + [0.1, -0.2, 0.3]
    full, dot = np.zeros((6, m.nv)), np.zeros((6, m.nv))
    mujoco.mj_jac(m, d, full[:3], full[3:], p, b)
    mujoco.mj_jacDot(m, d, dot[:3], dot[3:], p, b)
    ours = np.zeros((6, m.nv))
    chain = terms.chain(b)
    ours[:, chain] = terms.point(b, p)[2]
    assert_allclose(ours, full, atol=1e-12)
    motion = terms.motion(b, p)
    assert_allclose(motion.velocity, full @ v, atol=1e-11)
    assert_allclose(motion.bias, dot @ v, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_mass_matrix_and_bias_are_mujocos(scene, seed):
    m, terms = scene.model, scene.kinematics()
    q, v = random_state(scene, seed)
    terms.update(q, v)
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = q, v
    mujoco.mj_forward(m, d)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M)
    assert_allclose(terms.full_mass(), M, atol=1e-12)
    assert_allclose(terms.mass_times(v), M @ v, atol=1e-12)
    assert_allclose(terms.qfrc_bias, d.qfrc_bias, atol=1e-9)
    assert_allclose(terms.qfrc_passive, d.qfrc_passive, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_centroidal_momentum_and_its_bias(scene, seed):
    m, terms = scene.model, scene.kinematics()
    q, v = random_state(scene, seed)
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = q, v
    mujoco.mj_forward(m, d)
    mujoco.mj_subtreeVel(m, d)
    for name in ("alice", "box"):
        tree, root = scene.trees(name)[0], scene.body(name)
        terms.update(q, v)
        h, _, bias = terms.momentum(tree)
        assert_allclose(h[:3], d.subtree_linvel[root] * m.body_subtreemass[root], atol=1e-10)
        assert_allclose(h[3:], d.subtree_angmom[root], atol=1e-10)
        sides = []
        for s in (1e-6, -1e-6):
            moved = q.copy()
            mujoco.mj_integratePos(m, moved, v, s)
            terms.update(moved, v)
            sides.append(terms.momentum(tree)[0])
        assert_allclose(bias, (sides[0] - sides[1]) / 2e-6, atol=2e-6 * max(1, np.abs(bias).max()))


def test_changed_masses_are_added_up_as_mujoco_does():
    scene = ip.Scene().add(ip.Humanoid(), "alice").add(ip.Barbell(), "bar", pos=(1, 0, 1))
    m, q = scene.model, scene.rest.qpos.copy()
    masses = m.body_mass * np.random.default_rng(3).uniform(0.3, 3, m.nbody)
    m.body_mass[:] = masses
    weigh_subtrees(m)
    terms = Kinematics(m)
    terms.update(q, np.ones(m.nv))
    mine = m.body_subtreemass.copy(), terms.subtree_com.copy(), terms.M.copy(), terms.qfrc_bias.copy()
    mujoco.mj_setConst(m, mujoco.MjData(m))
    terms.update(q, np.ones(m.nv))
    for a, b in zip(mine, (m.body_subtreemass, terms.subtree_com, terms.M, terms.qfrc_bias), strict=True):
        assert_allclose(a, b, rtol=1e-12, atol=1e-12)
