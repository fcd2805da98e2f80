"""Every feature: Jacobian and bias against central differences in tangent space; the base against equation (33)."""

import copy

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from interplay.control.cost import Cost
from interplay.control.trees import Trees
from interplay.models.motors import torque_limits


@pytest.fixture(scope="module")
def scene():
    s = ip.Scene()
    s.add(ip.Humanoid(1.7, 65, "female"), "alice")
    s.add(ip.Humanoid.child(), "kim", pos=(0, 1))
    s.add(ip.Door(), "door", pos=(1, 0))
    s.add(ip.Box(), "box", pos=(0.5, 0, 1))
    return s


def wrist_height(terms):
    m = terms.model
    body = m.body("alice/left_hand").id
    jac = np.zeros((3, m.nv))
    chain = terms.chain(body)
    jac[:, chain] = terms.point(body, terms.xpos[body])[2][:3]
    return [terms.xpos[body][2]], jac[2:], [terms.motion(body, terms.xpos[body]).bias[2]]


FEATURES = {
    "posture": lambda: ip.Posture("alice"),
    "com": lambda: ip.Com("alice"),
    "com-xy": lambda: ip.Com("alice", axes="xy"),
    "group-com": lambda: ip.Com("alice", "kim", "box"),
    "com-over": lambda: ip.ComOver("alice", over=("alice/left_sole", "alice/right_sole"), axes="xyz"),
    "group-com-over": lambda: ip.ComOver("alice", "box", over="kim/left_shoulder"),
    "com-over-near": lambda: ip.ComOver("alice", over=("alice/left_sole", "kim/left_shoulder"), near=0.02),
    "point": lambda: ip.Point("alice/right_palm", (0.3, 0.1, 1.0)),
    "orientation": lambda: ip.Orientation("alice/chest"),
    "pose-site": lambda: ip.Pose("alice/left_sole"),
    "pose-object": lambda: ip.Pose("box"),
    "relative-pose": lambda: ip.RelativePose("alice/right_palm", "box/right"),
    "relative-own": lambda: ip.RelativePose("alice/right_palm", "alice/left_palm"),
    "joint": lambda: ip.JointAngle("door/hinge", 0.5),
    "custom": lambda: ip.Custom(wrist_height, [1.2], "alice"),
}


def state(scene, seed, spread=0.3):
    rng = np.random.default_rng(seed)
    q = scene.qpos
    mujoco.mj_integratePos(scene.model, q, rng.normal(0, spread, scene.model.nv), 1.0)
    return q, rng.normal(0, 1.0, scene.model.nv)


def feature(objective, terms, q, v):
    terms.update(q, v)
    return objective.feature(terms, 0.0)


def check_jacobian(objective, scene, q, seed, h, tolerance):
    """Compare J times random directions with central differences of the error."""
    terms, m, rng = scene.kinematics(), scene.model, np.random.default_rng(seed)
    x = feature(objective, terms, q, np.zeros(m.nv))
    for _ in range(4):
        direction = rng.normal(size=m.nv)
        ends = []
        for s in (h, -h):
            moved = q.copy()
            mujoco.mj_integratePos(m, moved, direction, s)
            ends.append(feature(objective, terms, moved, np.zeros(m.nv)).error)
        assert_allclose(x.jacobian @ direction[objective.dofs], (ends[0] - ends[1]) / (2 * h), atol=tolerance)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", FEATURES)
def test_velocity_is_jacobian_times_velocity(scene, name, seed):
    objective, terms = FEATURES[name](), scene.kinematics()
    objective.attach(scene)
    x = feature(objective, terms, *state(scene, seed))
    assert x.jacobian.shape == (objective.dim, len(objective.dofs))
    assert_allclose(x.velocity, x.jacobian @ terms.qvel[objective.dofs], atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", FEATURES)
def test_jacobian_against_central_differences(scene, name, seed):
    """Along random directions. Rotation errors are differentiated near their reference, where d(log) is the identity."""
    objective = FEATURES[name]()
    objective.attach(scene)
    turning = name in ("orientation", "pose-site", "pose-object", "relative-pose", "relative-own")
    q, _ = state(scene, seed, 0.0 if turning else 0.3)
    check_jacobian(objective, scene, q, seed + 100, 1e-6, 2e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [*FEATURES, "momentum"])
def test_bias_against_central_differences(scene, name, seed):
    """d/dt (J q̇) along q̈ = 0 is the bias."""
    objective = ip.AngularMomentum("alice") if name == "momentum" else FEATURES[name]()
    terms, m, h = scene.kinematics(), scene.model, 1e-6
    objective.attach(scene)
    q, v = state(scene, seed)
    x = feature(objective, terms, q, v)
    ends = []
    for s in (h, -h):
        moved = q.copy()
        mujoco.mj_integratePos(m, moved, v, s)
        ends.append(feature(objective, terms, moved, v).velocity)
    assert_allclose(x.bias, (ends[0] - ends[1]) / (2 * h), atol=3e-6 * max(1.0, np.abs(x.bias).max()))


def test_gaze_turns_the_axis_onto_the_target(scene):
    terms, head = scene.kinematics(), scene.body("alice/head")
    p, axis = terms.xpos[head].copy(), terms.xmat[head].reshape(3, 3)[:, 0].copy()
    for target in (np.array([2.0, 1.0, 1.2]), p - 3 * axis, p + 2 * axis):
        objective = ip.Gaze("alice/head", target)
        objective.attach(scene)
        sight = (target - p) / np.linalg.norm(target - p)
        assert_allclose(
            np.linalg.norm(objective.feature(terms, 0.0).error), np.arccos(np.clip(axis @ sight, -1, 1)), atol=1e-6
        )


def test_gaze_jacobian_against_central_differences(scene):
    """Where the axis points at a far target the derivative of the error is the angular velocity across the line of sight."""
    terms, head = scene.kinematics(), scene.body("alice/head")
    target = terms.xpos[head] + 1e6 * terms.xmat[head].reshape(3, 3)[:, 0]
    objective = ip.Gaze("alice/head", target)
    objective.attach(scene)
    check_jacobian(objective, scene, scene.qpos, 0, 1e-5, 1e-4)


def test_functions_of_time_are_differentiated_in_tangent_space(scene):
    """A pose given as a plain function: its velocity is a twist, so a frame that follows it has no velocity error."""
    spin, speed = 0.7, np.array([0.1, -0.2, 0.3])

    def path(t):
        return np.concatenate([speed * t, [np.cos(spin * t / 2), 0, 0, np.sin(spin * t / 2)]])

    for kind, value, rate in (
        (ip.Pose, path, np.concatenate([speed, [0, 0, spin]])),
        (ip.Orientation, lambda t: path(t)[3:], np.array([0, 0, spin])),
        (ip.Point, lambda t: path(t)[:3], speed),
    ):
        objective = kind("box", value)
        objective.attach(scene)
        assert_allclose(objective.reference.at(0.4).velocity, rate, atol=1e-6)
        assert_allclose(objective.reference.at(0.4).acceleration, np.zeros(len(rate)), atol=1e-5)
    given = ip.Com("alice", reference=lambda t: (np.zeros(3), np.ones(3), 2 * np.ones(3)))
    given.attach(scene)
    assert_allclose(given.reference.at(0.0).acceleration, 2.0)


def _trees(scene):
    return Trees(scene.model, torque_limits(scene.model))


def test_desired_acceleration_is_equation_33(scene):
    """Without anything else in its way the cost's minimum is ẍ = −k(x − x_ref) − 2√k ẋ."""
    terms = scene.kinematics()
    objective = ip.Com("alice", reference=(0.1, 0.2, 0.8), stiffness=30.0, weight=1.0, max_speed=None)
    objective.attach(scene)
    q, v = state(scene, 4)
    terms.update(q, v)
    cost = Cost(_trees(scene), [objective], [])
    cost.clear()
    objective.add_to(terms, 0.0, cost)
    n = 36
    H, g = cost.hessian[: n * n].reshape(n, n), cost.gradient[:n]
    H = H + np.triu(H, 1).T
    qacc = np.linalg.lstsq(H, -g, rcond=1e-12)[0]
    x = objective.feature(terms, 0.0)
    wanted = -30.0 * x.error - 2 * np.sqrt(30.0) * x.velocity
    assert_allclose(x.jacobian @ qacc + x.bias, wanted, atol=1e-4)


def test_pull_is_limited_to_a_speed(scene):
    objective = ip.Point("alice/right_palm", (9.0, 0.0, 1.0), stiffness=25.0, max_speed=0.4)
    objective.attach(scene)
    cost = Cost(_trees(scene), [objective], [])
    cost.clear()
    still, ahead = np.zeros(3), np.array([1.0, 0.0, 0.0])
    selected = np.eye(3, len(objective.dofs))
    # At the limited pull a critically damped feature approaches with max_speed, and is then neither driven nor braked.
    cost.add(objective, 1.0, ip.Feature(8.0 * ahead, -0.4 * ahead, selected, still))
    assert_allclose(cost.gradient, 0.0, atol=1e-12)


def test_fades_and_feed_forward():
    path = ip.MinimumJerk([0.0], [2.0], begin=1.0, seconds=2.0)
    for t in (0.5, 1.3, 2.0, 2.9, 3.5):
        h = 1e-5
        before, now, after = (path.at(t + s).value for s in (-h, 0, h))
        assert_allclose(path.at(t).velocity, (after - before) / (2 * h), atol=1e-6)
        assert_allclose(path.at(t).acceleration, (after - 2 * now + before) / h**2, atol=1e-3)
    objective = ip.Com("alice")
    objective.fades = ((1.0, 0.4, 9.0, 0.4),)
    assert objective.level(9.2) < 1
    assert objective.level(10.0) == 0.0
    assert objective.level(0.9) == 0.0
    assert 0 < objective.level(1.2) < 1
    assert objective.level(2.0) == 1.0


@pytest.mark.parametrize("kind", ["scalar", "point", "pose"])
def test_controls_never_jump(kind):
    start = {"scalar": [0.0], "point": [0.0, 0, 0], "pose": [0.0, 0, 0, 1, 0, 0, 0]}[kind]
    goal = {"scalar": [5.0], "point": [1.0, -2, 3], "pose": [1.0, -2, 3, 0.6, 0.8, 0, 0]}[kind]
    control = ip.Control("c", kind, start, max_speed=0.5, max_turn=1.0)
    control.set(goal, 0.0)
    dt, last, fastest, jump = 1e-3, control.at(0.0).value, 0.0, 0.0
    speed = np.zeros(control._dim)
    for k in range(1, 12000):
        if k == 700:
            control.set(start, k * dt)
        now = control.at(k * dt)
        fastest = max(fastest, np.linalg.norm((now.value - last)[:3]) / dt)
        jump = max(jump, np.abs(now.velocity - speed).max())
        last, speed = now.value, now.velocity
    assert fastest < 0.5 * 1.6
    assert jump < 0.02
    assert_allclose(last, start, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_loose_arms_move_as_springs_on_what_carries_them(scene, seed):
    """Whatever else pulls at the body: with those springs and the arms' weight as torques, MuJoCo's own accelerations are asked for."""
    objective = ip.Loose("alice", stiffness=15.0)
    objective.attach(scene)
    m, terms = copy.copy(scene.model), scene.kinematics()
    q, v = state(scene, seed)
    x = feature(objective, terms, q, v)
    own = [scene.model.joint(name).dofadr[0] for name in objective.joints]
    assert {name.split("_")[1] for name in objective.joints} >= {"shoulder", "elbow", "wrist"}
    M, d = terms.full_mass(), mujoco.MjData(m)
    d.qpos[:] = q
    mujoco.mj_forward(m, d)
    weight = d.qfrc_bias.copy()
    d.qvel[:] = v
    d.qfrc_applied[:] = np.random.default_rng(seed).normal(0, 20, m.nv)
    springs = -15.0 * objective.error(terms, 0.0) - 2 * np.sqrt(15.0) * v[own]
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_SPRING
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_DAMPER | mujoco.mjtDisableBit.mjDSBL_LIMIT
    d.qfrc_applied[own] = weight[own] + M[np.ix_(own, own)] @ springs
    mujoco.mj_forward(m, d)
    asked = objective.damping * x.velocity + objective.stiffness * x.error
    assert_allclose(x.jacobian @ d.qacc[objective.dofs] + x.bias + asked, 0.0, atol=1e-8)


def test_loose_parts_that_a_body_lacks(scene):
    objective = ip.Loose("box")
    objective.attach(scene)
    assert not len(objective.dofs)
    with pytest.raises(ip.InputError, match="shouldr"):
        ip.Loose("alice", ("shouldr",)).attach(scene)
