"""Servos: joint PD beside a plan's torques, integrated by MuJoCo's own actuators; the controller that has nothing else."""

import json

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import interplay as ip
from interplay.control.plan import Servo
from interplay.io.export import export
from interplay.models.motors import servo_gains, torque_limits
from interplay.runs.run import run
from interplay.runs.sweep import sweep
from interplay.scenario import stands
from interplay.worlds.simulated import SimulatedWorld


def standing(dt=0.01, **options):
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), dt=dt, **options)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    return sim


def a_plan(sim, servo, tau=0.0):
    """A plan of torques and servos towards a reference, at a state in motion."""
    rng, m = np.random.default_rng(3), sim.scene.model
    driven = np.flatnonzero(~np.isnan(torque_limits(m)))
    state = sim.state.with_(qvel=np.where(np.isin(np.arange(m.nv), driven), rng.normal(0, 0.2, m.nv), 0.0))
    q = state.qpos[m.jnt_qposadr[m.dof_jntid[driven]]]
    wanted = Servo(driven, q + rng.normal(0, servo, len(driven)), rng.normal(0, servo, len(driven)))
    plan = sim.controller.solve(state, sim.demands)
    return state, plan._replace(tau=np.where(np.isnan(torque_limits(m)), 0.0, tau), servo=wanted)


def test_a_servo_is_pd_at_the_beginning_of_a_step():
    sim = standing(world="simulated")
    state, plan = a_plan(sim, 0.02, tau=1.0)
    m, d, k = sim.scene.model, sim.world._data, plan.servo.dofs
    sim.world.advance(state, plan, sim.controller.at(state), 0.01)
    d.qpos[:], d.qvel[:] = state.qpos, state.qvel
    mujoco.mj_forward(m, d)
    limit = torque_limits(m)[k]
    expected = 1.0 + 3.0 * limit * (plan.servo.position - state.qpos[k + 1])
    expected += 0.25 * limit * (plan.servo.velocity - state.qvel[k])
    assert_allclose(d.qfrc_actuator[k], np.clip(expected, -limit, limit), rtol=1e-5, atol=1e-5)
    assert (np.abs(expected) < limit).all()


def test_servos_stay_within_the_limits_of_their_motors():
    sim = standing(world="simulated")
    state, plan = a_plan(sim, 2.0)
    outcome, limit = sim.world.advance(state, plan, sim.controller.at(state), 0.01), torque_limits(sim.scene.model)
    ratio = np.abs(outcome.tau)[plan.servo.dofs] / limit[plan.servo.dofs]
    assert ratio.max() == 1.0
    rigid = standing(world="rigid")
    given = rigid.world.advance(state, plan, rigid.controller.at(state), 0.01).tau
    asked = plan.servo.torque(rigid.scene.model, servo_gains(rigid.scene.model), state.qpos, state.qvel)
    assert_allclose(given, np.clip(asked, -np.nan_to_num(limit), np.nan_to_num(limit)), atol=1e-6)


@pytest.mark.parametrize("far", [0.02, 0.5])
def test_recorded_torques_are_those_of_the_motion(far):
    """In the air: the torques that the outcome tells, and no others, account for the motion of one step of the simulator (12)."""
    scene = ip.Scene().add(ip.Humanoid(1.74, 68), "ann", pos=(0, 0, 3))
    sim = ip.Simulation(scene, dt=0.002, world="simulated")
    state, plan = a_plan(sim, far)
    outcome, terms = sim.world.advance(state, plan, sim.controller.at(state), 0.002), sim.controller.at(state)
    # Steps are implicit in Coriolis forces, too: b(v) + ∂b/∂v δ with δ = Δt q̈, which is b(v + δ) − (b(δ) − b(0)): b is quadratic in v.
    gained = sim.dt * outcome.qacc
    bias = terms.qfrc_bias + _bias(sim, state.qpos, state.qvel + gained) - _bias(sim, state.qpos, state.qvel)
    bias -= _bias(sim, state.qpos, gained) - _bias(sim, state.qpos, 0.0 * gained)
    needed = terms.mass_times(outcome.qacc) + bias - outcome.stopped
    assert_allclose(needed, outcome.tau, atol=1e-6 * np.abs(outcome.tau).max())


def _bias(sim, qpos, qvel):
    """Return Coriolis and gravity forces, by MuJoCo's recursive Newton-Euler."""
    data = mujoco.MjData(sim.scene.model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    mujoco.mj_forward(sim.scene.model, data)
    return data.qfrc_bias.copy()


def test_who_uses_no_servos_does_not_notice_them(monkeypatch):
    """The same bits with and without the gains in the scene."""
    ends = []
    for there in (True, False):
        if not there:
            monkeypatch.setattr("interplay.scene.simulator._servos", lambda spec, m: None)
        sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), dt=0.01, world="simulated")
        assert (sim.scene.model.actuator_biasprm.any()) == there
        stands(sim, "ann")
        sim.live.push("ann/chest", force=(300, 100, 0), seconds=0.1)
        sim.run(0.8)
        ends.append((sim.state.qpos, sim.state.qvel, sim.outcome.tau))
    for one, other in zip(*ends, strict=True):
        assert_array_equal(one, other)


def test_plain_mujoco_repeats_a_run_of_servos(tmp_path):
    """Also where someone falls, and goes limp: from then on her motors are torques."""
    (tmp_path / "push.csv").write_text("0.3, push alice/chest, 0, 0, 0.1, 400, 60, 0, 0.1\n")
    options = dict(seconds=2.5, dt=0.01, controller="servos", targets=tmp_path / "push.csv", on_fall="continue")
    run("stand", tmp_path / "out", substeps=True, **options)
    export(tmp_path / "out", tmp_path / "stand.npz")
    with np.load(tmp_path / "stand.npz") as found:
        a = dict(found)
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "out/scene.xml"))
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = a["sub_qpos"][0], a["sub_qvel"][0]
    for k in range(len(a["sub_time"])):
        assert_array_equal(d.qpos, a["sub_qpos"][k])
        assert_array_equal(d.qvel, a["sub_qvel"][k])
        d.ctrl[:], d.qfrc_applied[:] = a["sub_ctrl"][k], a["sub_qfrc_applied"][k]
        m.actuator_biastype[:] = a["sub_servo"][k]
        mujoco.mj_step(m, d)
    assert a["sub_servo"][0].all()
    assert not a["sub_servo"][-1].any()


def test_joint_pd_stands_quietly():
    sim = standing(controller="servos")
    assert isinstance(sim.world, SimulatedWorld)
    before, coms = sim.com("ann")[0], []
    while sim.time < 3.0:
        sim.step()
        coms.append(sim.com("ann")[0] - before)
    assert not sim.fallen
    assert np.abs(coms).max() < 0.03
    assert np.linalg.norm(sim.com("ann")[1]) < 0.02


def test_joint_pd_follows_a_posture():
    sim = standing(controller="servos")
    sim.objectives += [ip.Posture("ann", values={"left_elbow_flexion": 1.0})]
    sim.run(1.0)
    joint = sim.scene.joint("ann/left_elbow_flexion")
    assert sim.state.qpos[sim.scene.model.jnt_qposadr[joint]] == pytest.approx(1.0, abs=0.1)


def test_servos_are_no_motion():
    with pytest.raises(ip.InputError, match="expected 'simulated', got 'direct'"):
        standing(controller="servos", world="direct")
    # Where a plan of another controller has servos, the direct world lets physics decide.
    sim = standing()
    state, plan = a_plan(sim, 0.0)
    outcome = sim.world.advance(state, plan, sim.controller.at(state), 0.01)
    assert not plan.possible
    assert np.abs(outcome.qacc - plan.qacc).max() > 1.0


def test_a_push_sweep(tmp_path):
    tables = sweep(tmp_path, ways=["joint PD"], directions=1, workers=1)
    [found] = json.loads((tmp_path / "pushes.json").read_text())
    assert 5.0 < found["impulse"] < 25.0
    assert found["per_kg"] == pytest.approx(found["impulse"] / 68, rel=1e-2)
    tried = dict(found["tried"])
    assert all(well for impulse, well in tried.items() if impulse <= found["impulse"])
    assert not tried[min(impulse for impulse in tried if impulse > found["impulse"])]
    assert (
        (tmp_path / "pushes.csv").read_text().startswith("way,rate,direction,mass,impulse,per_kg\njoint PD,100.0,0.0,")
    )
    assert (tmp_path / "pushes.png").stat().st_size > 1e4
    assert tables[0].row_count == 1 + 3  # of directions, and least, mean, least per kg
    with pytest.raises(ip.InputError, match="joint PD"):
        sweep(tmp_path, ways=["joint_pd"])


def test_servos_hold_loose_limbs_too():
    """What springs would hold for a program, servos hold at the same angles."""
    sim = ip.Simulation(ip.Scene().add(ip.Humanoid(1.74, 68), "ann"), dt=0.01, controller="servos")
    sim.objectives += [ip.Posture("ann"), ip.Loose("ann", values={"left_elbow_flexion": 0.9})]
    servo = sim.step().plan.servo
    assert servo is not None
    wanted = dict(zip(servo.dofs.tolist(), servo.position.tolist(), strict=True))
    m = sim.scene.model
    assert wanted[m.joint("ann/left_elbow_flexion").dofadr[0]] == 0.9
    assert (
        wanted[m.joint("ann/right_elbow_flexion").dofadr[0]] == sim.scene.placed("ann").posture["right_elbow_flexion"]
    )
