"""Perception delay: nothing changes without one; with one, a character acts on what she sees, and physics on what is."""

import json

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import interplay as ip
from interplay.catalogue import scenario
from interplay.io.recording import Recording
from interplay.runs.run import run

LATE = 6
"""Steps of 5 ms."""


def thrown_at(delay: float | None = None) -> ip.Simulation:
    """A ball is pushed at someone who stands and keeps away from it."""
    scene = ip.Scene(gravity=0.0).add(ip.Humanoid(1.7), "alice").add(ip.Ball(0.1, 1.0), "ball", pos=(0.7, 0.05, 1.1))
    sim = ip.Simulation(scene)
    for side in ("left", "right"):
        sim.contacts.add(f"alice/{side}_sole", ip.GROUND)
    sim.objectives = [ip.Posture("alice"), ip.Com("alice"), ip.Gaze("alice/head", "ball")]
    sim.collisions.add("ball", "alice", influence=0.4, security=0.02)
    if delay is not None:
        sim.perceive("alice", delay=delay)
    sim.live.push("ball", (-30, 0, 0), 0.05)
    return sim


def run_on(sim: ip.Simulation, steps: int) -> list[np.ndarray]:
    return [np.concatenate([sim.state.qpos, sim.step().qacc]) for _ in range(steps)]


def mixed(sim: ip.Simulation, then: ip.State) -> mujoco.MjData:
    """Alice as she is, the ball as it was."""
    m, d, ball = sim.scene.model, mujoco.MjData(sim.scene.model), sim.scene.joint("ball/free")
    q, v = m.jnt_qposadr[ball], m.jnt_dofadr[ball]
    d.qpos[:], d.qvel[:] = sim.state.qpos, sim.state.qvel
    d.qpos[q : q + 7], d.qvel[v : v + 6] = then.qpos[q : q + 7], then.qvel[v : v + 6]
    mujoco.mj_fwdPosition(m, d)
    mujoco.mj_fwdVelocity(m, d)
    return d


def test_no_delay_changes_no_bit():
    plain, none, lifted = thrown_at(), thrown_at(0.0), thrown_at(0.1)
    lifted.perceive("alice", 0.0)
    expected = run_on(plain, 60)
    for sim in (none, lifted):
        assert_array_equal(run_on(sim, 60), expected)
        assert sim.state.memory.past == ()
    assert not np.array_equal(run_on(thrown_at(0.03), 60), expected)


def test_rows_are_those_of_her_view():
    """Distance, direction and speed from her present and the ball's past; only her DOFs answer."""
    sim, states = thrown_at(LATE * 0.005), []
    for _ in range(30):
        states.append(sim.state)
        sim.step()
    m, d, dt = sim.scene.model, mixed(sim, states[-LATE]), sim.dt
    programs = sim.controller.programs
    qp = sim.controller.problem(sim.state, sim.demands)
    assembly = programs.assembly
    rows, _ = programs._pairs.update(sim.terms, dt, sim.state.memory.pairs, sim.contacts.items)
    hers, ball = (sim.terms.tree_dofs(sim.scene.trees(name)[0]) for name in ("alice", "ball"))
    seen = [n for n, k in enumerate(rows.pair) if "ball" in programs._pairs.pairs[k].name and rows.witness[n]]
    assert seen
    for n in seen:
        pair = programs._pairs.pairs[rows.pair[n]]
        fromto, jac = np.zeros(6), np.zeros((2, 3, m.nv))
        distance = mujoco.mj_geomDistance(m, d, pair.geom1, pair.geom2, 5.0, fromto)
        assert_allclose(rows.distance[n], distance, atol=1e-9)
        u = (fromto[:3] - fromto[3:]) / distance
        for k, body in enumerate((pair.body1, pair.body2)):
            mujoco.mj_jac(m, d, jac[k], None, fromto[3 * k : 3 * k + 3], body)
        gradient = u @ (jac[0] - jac[1])
        assert_allclose(rows.rate[n], gradient @ d.qvel, atol=1e-6)
        slot = int(np.flatnonzero(assembly.slot_pair == rows.pair[n])[0])
        row = qp.G[assembly.structure.collision_rows.start + slot].toarray().ravel()
        assert_allclose(row[hers], gradient[hers], atol=1e-6)
        assert not row[ball].any()


def test_a_shared_objective_is_split():
    """Of a common COM the late one gets her part as she sees it, the other his part as it is."""
    scene = ip.Scene().add(ip.Humanoid(1.7), "alice").add(ip.Humanoid(1.8), "bob", pos=(1.5, 0))
    sim = ip.Simulation(scene)
    for name in ("alice", "bob"):
        for side in ("left", "right"):
            sim.contacts.add(f"{name}/{side}_sole", ip.GROUND)
    common = ip.Com("alice", "bob", reference=lambda t: np.array([0.75 + 0.05 * np.sin(6 * t), 0.0, 0.95]))
    sim.objectives = [ip.Posture(), common]
    sim.perceive("alice", LATE * sim.dt)
    states = []
    for _ in range(40):
        states.append(sim.state)
        assert not sim.step().fallback
    state = sim.state
    sim.controller.problem(state, sim.demands)
    parts = [o for o in sim.controller.programs.assembly.objectives if o.label == common.label]
    assert len(parts) == 2
    dofs = {name: sim.terms.tree_dofs(scene.trees(name)[0]) for name in ("alice", "bob")}
    coms = {name: sim.com(name)[0] for name in dofs}
    then = states[-LATE]
    with sim.at(ip.Entry("then", then.time, then.qpos, then.qvel, first=False)):
        bob_then = sim.com("bob")[0].copy()
    mass = {
        name: sum(m for b, m in enumerate(scene.model.body_mass) if scene.model.body(b).name.startswith(f"{name}/"))
        for name in dofs
    }
    goal = common.reference.at(state.time).value
    for part, name, bob in ((parts[0], "alice", bob_then), (parts[1], "bob", coms["bob"])):
        assert_array_equal(part.dofs, dofs[name])
        value = (mass["alice"] * coms["alice"] + mass["bob"] * bob) / sum(mass.values())
        assert_allclose(part.error(sim.controller.at(state), state.time), value - goal, atol=1e-9)
    assert np.abs(bob_then - coms["bob"]).max() > 1e-4


def test_a_run_resumes_with_what_is_still_to_be_seen():
    """The plan after a resume is the same, and all that follows, to the bit."""
    whole, second = thrown_at(0.05), thrown_at(0.05)
    run_on(whole, 45)
    whole.controller.forget()  # as it does twice a second
    second.restore(json.loads(json.dumps(whole.checkpoint())))
    assert len(second.state.memory.past) == 10
    assert len(second.state.memory.pairs.xi)
    assert_array_equal(run_on(second, 25), run_on(whole, 25))


def test_physics_and_record_are_of_the_present(tmp_path):
    """Late by 0.2 s she is hit: the laws hold all the same, and the recorded distance is the true one."""
    report = run("sword", tmp_path, seconds=3.2, parameters={"delay": 0.2})
    assert max(report["certificate"][key] for key in ("eom_residual", "momentum_residual")) < 1e-6
    assert report["certificate"]["contact_drift_mm"] < 0.5
    recording = Recording(tmp_path)
    m, fromto = recording.model, np.zeros(6)
    d, worst = mujoco.MjData(m), 1.0
    head, blade = m.geom("alice/head_hull").id, [m.geom(f"sword/blade_{k}").id for k in range(3)]
    for qpos in recording["qpos"]:
        d.qpos[:] = qpos
        mujoco.mj_kinematics(m, d)
        worst = min(worst, *(mujoco.mj_geomDistance(m, d, b, head, 1.0, fromto) for b in blade))
    assert worst < -0.02
    assert report["certificate"]["penetration_mm"] == pytest.approx(-1000 * worst, abs=0.1)


def test_only_characters_perceive():
    sim = scenario("sword")().simulation()
    for name, delay in (("sword", 0.1), ("nobody", 0.1), ("alice", -0.1), ("alice", float("nan"))):
        with pytest.raises(ip.InputError):
            sim.perceive(name, delay)


def test_a_guard_seen_late_has_no_weight_inside():
    """Balance holds the height only when it must, in whose view ever."""
    soles = ("alice/left_sole", "alice/right_sole")
    lows = []
    for delay in (0.0, 0.1):
        sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.7), "alice").add(ip.Ball(), "ball", pos=(3, 0)))
        for sole in soles:
            sim.contacts.add(sole, ip.GROUND)
        com = sim.com("alice")[0]
        sim.objectives += [
            ip.Posture("alice", weight=0.05),
            ip.Com("alice", reference=com - [0, 0, 0.08]),
            ip.Balance("alice", on=soles, terms=sim.terms),
        ]
        sim.perceive("alice", delay)
        sim.run(2.0)
        lows.append(com[2] - sim.com("alice")[0][2])
    assert min(lows) > 0.06
    assert_allclose(*lows, atol=1e-3)
