"""Conflicting demands: finite, physically consistent motion, and every conflict named."""

import mujoco
import numpy as np
import pytest

import interplay as ip
from interplay.constraints.collision import COLLISION
from interplay.constraints.contact import LEAST_FORCE, SLIP, TURN
from interplay.constraints.limits import JOINT, TORQUE
from interplay.constraints.manner import EXACT
from interplay.control.state import State
from interplay.qp.problem import QP

PROBLEMS = 125

LIMITS = (ip.SpeedLimit, ip.KeepWithin)
DECLARED = {way.kind: way for way in (LEAST_FORCE, COLLISION, JOINT, TORQUE, SLIP, *(x.gives_way for x in LIMITS))}


def weak_pair(strength):
    scene = ip.Scene()
    scene.add(ip.Humanoid(1.7, 65, strength=strength), "ann")
    scene.add(ip.Box((0.2, 0.2, 0.2), 8.0), "box", pos=(0.35, 0, 0.9))
    scene.add(ip.Door(), "door", pos=(1.2, 0))
    return scene


@pytest.fixture(scope="module")
def cases():
    """Simulations to draw from: strong, weak and feeble bodies, one with two contacts that fight each other, one in haste."""
    sims = []
    for strength, manner in ((1.0, EXACT), (0.2, EXACT), (0.02, EXACT), (0.5, EXACT._replace(hasty=True))):
        sim = ip.Simulation(weak_pair(strength), manner=manner)
        for side in ("left", "right"):
            sim.contacts.add(f"ann/{side}_sole", ip.GROUND, min_force=50.0)
        for part in ("chest", "pelvis", "head", "left_hand", "right_hand"):
            sim.collisions.add("box", f"ann/{part}", influence=0.2, security=0.05)
        sim.objectives += [ip.Posture("ann"), ip.Com("ann"), ip.Pose("box", weight=10)]
        if strength == 0.2:
            sim.limits += [ip.SpeedLimit("ann/right_palm", 0.5), ip.KeepWithin("box", (0, -1, 0.5), (1, 1, 1.5))]
        sims.append(sim)
    return sims


def random_demand(sim, rng):
    """A state in which demands conflict: speeds beyond limits, joints beyond their range, feet torn off, shapes inside each other."""
    m, start = sim.scene.model, sim.controller.initial_state()
    q, v = start.qpos.copy(), np.zeros(m.nv)
    for fault in rng.choice(
        ["speed", "range", "slip", "penetrate", "push", "spin"], size=rng.integers(1, 4), replace=False
    ):
        if fault == "speed":
            v += rng.normal(0, rng.choice([1, 10, 60]), m.nv)
        elif fault == "range":
            joints = rng.choice(np.flatnonzero(m.jnt_limited), 6)
            q[m.jnt_qposadr[joints]] = m.jnt_range[joints, 1] + rng.uniform(0, 1, 6)
        elif fault == "slip":
            q[:3] += rng.normal(0, 0.05, 3)
        elif fault == "penetrate":
            adr = m.jnt_qposadr[m.joint("box/free").id]
            q[adr : adr + 3] = q[:3] + rng.normal(0, 0.08, 3)
        elif fault == "spin":
            v[:6] += rng.normal(0, 8, 6)
    applied = rng.normal(0, rng.choice([0, 100, 5000]), m.nv) if rng.random() < 0.4 else np.zeros(m.nv)
    mujoco.mj_normalizeQuat(m, q)
    return State(0.0, q, v, applied, start.memory)


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 8))])
def test_a_thousand_conflicting_problems(cases, part):
    rng = np.random.default_rng(2017 + part)
    relaxed, kinds = 0, set()
    for k in range(PROBLEMS):
        sim = cases[k % len(cases)]
        state = random_demand(sim, rng)
        solution = sim.controller.solve(state, sim.demands)
        m = sim.scene.model
        assert np.isfinite(solution.qacc).all()
        assert np.isfinite(solution.wrenches).all()
        # Dynamics, unilaterality and friction never give way.
        d = mujoco.MjData(m)
        d.qpos[:], d.qvel[:] = state.qpos, state.qvel
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fwdPosition(m, d)
        mujoco.mj_fwdVelocity(m, d)
        mujoco.mj_fullM(m, d, M)
        terms = [M @ solution.qacc, d.qfrc_bias, -d.qfrc_passive, -state.applied, -solution.qfrc_contact, -solution.tau]
        assert np.abs(sum(terms)).max() < 1e-5 * max(np.abs(x).max() for x in terms)
        fz = solution.wrenches[:, 2]
        size = max(1.0, fz.max())
        assert (fz >= -1e-6 * size).all()
        assert (np.abs(solution.wrenches[:, :2]).max(1) <= 0.8 / np.sqrt(2) * fz + 1e-6 * size).all()
        if solution.fallback:
            relaxed += 1
            assert solution.conflicts, "a relaxed step names its conflict"
            for conflict in solution.conflicts:
                kinds.add(conflict.kind)
                assert conflict.unit in {DECLARED[conflict.kind].unit, TURN.unit}
                assert conflict.name
                assert conflict.amount > 0
    assert relaxed > PROBLEMS // 4
    assert kinds == DECLARED.keys()


def test_the_order_is_that_of_the_paper_and_our_additions():
    """Each kind declares its place; this is what they add up to."""
    order = sorted(DECLARED, key=lambda kind: DECLARED[kind].order)
    assert order == ["force", "collision", "within", "speed", "limit", "torque", "slip"]
    assert SLIP._replace(unit=TURN.unit) == TURN


def test_conflicts_name_the_culprit():
    """An elbow thrown far beyond its speed limit; then a standing leg in motion, which feeble joints cannot stop."""
    sim = ip.Simulation(weak_pair(0.02))
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    sim.objectives += [ip.Posture("ann")]
    m = sim.scene.model

    def moving(joint, speed):
        v = np.zeros(m.nv)
        v[m.jnt_dofadr[sim.scene.joint(joint)]] = speed
        return sim.controller.solve(sim.state.with_(qvel=v), sim.demands).conflicts

    elbow = moving("ann/left_elbow_flexion", 20.0)
    assert {c.kind for c in elbow} == {"limit"}
    assert "ann/left_elbow_flexion" in {c.name for c in elbow}
    knee = moving("ann/left_knee_flexion", 3.0)
    assert "torque" in {c.kind for c in knee}
    assert any(c.name.startswith("ann/left_") and c.unit == "N·m" and c.amount > 1 for c in knee)
    assert sim.explain() == ()


@pytest.mark.parametrize("weight", [1e4, 1e6])
def test_a_lasting_conflict_stays_finite(weight):
    """A hand pulled around a block by a weight that overrides balance: she falls, feet slip, and nothing is thrown."""
    scene = ip.Scene().add(ip.Humanoid(1.7), "ann").add(ip.Platform((0.3, 0.6, 0.9)), "block", pos=(0.62, 0))
    sim = ip.Simulation(scene)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    sim.collisions.add("block", "ann/right_hand", influence=0.08, security=0.02)
    pull = ip.Point("ann/right_palm", (0.62, -1.5, 0.5), weight=weight, max_speed=3.0)
    sim.objectives += [ip.Posture("ann"), ip.Com("ann"), pull]
    fallbacks = 0
    for _ in range(400):
        solution = sim.step()
        fallbacks += solution.fallback
        assert bool(solution.conflicts) == solution.fallback
    assert fallbacks > 0
    assert sim.fallen
    assert np.abs(sim.state.qvel).max() < 60.0


def test_conflicts_are_known_before_the_first_step():
    scene = ip.Scene().add(ip.Box((0.2, 0.2, 0.2)), "a").add(ip.Box((0.2, 0.2, 0.2)), "b", pos=(0.15, 0, 0))
    sim = ip.Simulation(scene)
    for name in ("a", "b"):
        sim.contacts.add(f"{name}/bottom", ip.GROUND)
    sim.collisions.add("a", "b", influence=0.2, security=0.05)
    assert [c.kind for c in sim.explain()] == ["collision"]


def test_order_of_giving_way():
    """A box held by its contact inside another one: the collision gives way, not the contact."""
    scene = (
        ip.Scene()
        .add(ip.Box((0.2, 0.2, 0.2)), "a")
        .add(ip.Box((0.2, 0.2, 0.2)), "b", pos=(0.15, 0, 0))
        .add(ip.Humanoid(), "ann", pos=(2, 0))
    )
    sim = ip.Simulation(scene)
    sim.contacts.add("a/bottom", ip.GROUND)
    sim.contacts.add("b/bottom", ip.GROUND)
    sim.collisions.add("a", "b", influence=0.2, security=0.05)
    solution = sim.step().plan
    assert solution.fallback
    assert [c.kind for c in solution.conflicts] == ["collision"]
    assert "a/hull" in solution.conflicts[0].name
    assert "b/hull" in solution.conflicts[0].name


def test_redundant_but_consistent_rows_are_no_conflict():
    """A table stands on four feet: 24 no-slip rows on 6 DOFs, no conflict, and each foot carries its share."""
    scene = ip.Scene().add(ip.Table(mass=20.0), "table")
    sim = ip.Simulation(scene)
    for k in range(4):
        sim.contacts.add(f"table/foot_{k}", ip.GROUND)
    for _ in range(400):
        solution = sim.step()
        assert not solution.fallback
    assert solution.touching.wrenches[:, 2].sum() == pytest.approx(20 * 9.81, rel=1e-6)
    assert np.abs(sim.state.qvel).max() < 1e-9


def test_a_contact_that_cannot_hold_slips_and_says_so():
    """A box stuck to ground and to a moving door: the no-slip rows cannot all hold."""
    scene = ip.Scene().add(ip.Box((0.2, 0.2, 0.2)), "a").add(ip.Box((0.2, 0.2, 0.2)), "b", pos=(0, 0, 0.2))
    sim = ip.Simulation(scene)
    sim.contacts.add("a/bottom", ip.GROUND)
    sim.contacts.add("b/bottom", "a/top")
    state = sim.state.with_(
        qvel=np.array([0, 0, 0, 0, 0, 0, 0, 0, 3.0, 0, 0, 0])
    )  # b flies up at 3 m/s: no pull can stop it
    solution = sim.controller.solve(state, sim.demands)
    assert solution.fallback
    assert {c.kind for c in solution.conflicts} == {"slip"}
    assert any("b/bottom" in c.name for c in solution.conflicts)
    assert solution.wrenches[:, 2].min() >= -1e-6


def test_qp_objective_counts_the_lower_triangle_too():
    from scipy import sparse

    qp = QP(
        sparse.csc_matrix(np.array([[2.0, 1.0], [0.0, 4.0]])),
        np.array([1.0, 1.0]),
        sparse.csc_matrix((0, 2)),
        np.zeros(0),
        sparse.csc_matrix((0, 2)),
        np.zeros(0),
        np.zeros(0),
        np.full(2, -np.inf),
        np.full(2, np.inf),
        None,
    )
    x = np.array([3.0, -2.0])
    P = np.array([[2.0, 1.0], [1.0, 4.0]])
    assert qp.objective(x) == pytest.approx(0.5 * x @ P @ x + x.sum())
