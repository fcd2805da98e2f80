"""The simulated world: MuJoCo's own contacts decide, and the same plans, scenes and scenarios live in it."""

import json

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import interplay as ip
from interplay.catalogue import scenario
from interplay.io.export import export
from interplay.runs.run import finished, run


def standing(dt=0.01, world="simulated", balls=(), **body):
    scene = ip.Scene().add(ip.Humanoid(1.74, 68, **body), "ann")
    for k, ball in enumerate(balls):
        scene.add(ball, f"ball_{k}", pos=(-1.5, 0.3 * k))
    sim = ip.Simulation(scene, dt=dt, world=world)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND, friction=0.8)
    sim.objectives += [
        ip.Posture("ann", weight=0.3),
        ip.AngularMomentum("ann", weight=0.005),
        ip.Com("ann", weight=60),
        ip.Orientation("ann/pelvis", weight=1),
        ip.Orientation("ann/chest", weight=1),
    ]
    return sim


@pytest.mark.parametrize("dt", [0.033, 0.01, 0.002])
def test_she_stands_still(dt):
    sim = standing(dt)
    sim.run(1.0)
    before, coms, torques = sim.com("ann")[0], [], []
    while sim.time < 3.0:
        torques.append(sim.step().tau)
        coms.append(sim.com("ann")[0] - before)
    assert np.ptp(coms, axis=0).max() < 1e-3
    assert np.std(torques, axis=0).max() < 0.5
    weight = 9.81 * sim.scene.model.body_mass.sum()
    assert sim.force("ann/left_sole")[2] + sim.force("ann/right_sole")[2] == pytest.approx(weight, rel=1e-3)


def test_what_is_saved_is_what_ran(tmp_path):
    """Door, with a push: scene.xml in plain MuJoCo with the recorded torques and forces gives the same bits at every step."""
    (tmp_path / "push.csv").write_text("2.6, push alice/chest, 0, 0, 0.1, 40, 20, 0, 0.1\n")
    report = run(
        "door", tmp_path, seconds=3.0, dt=0.01, world="simulated", substeps=True, targets=tmp_path / "push.csv"
    )
    assert report["failure"] is None
    export(tmp_path, tmp_path / "door.npz")
    with np.load(tmp_path / "door.npz") as found:
        a = dict(found)
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "scene.xml"))
    assert m.opt.timestep == 0.002
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = a["sub_qpos"][0], a["sub_qvel"][0]
    assert len(a["sub_time"]) == 5 * len(a["time"])
    for k in range(len(a["sub_time"])):
        assert_array_equal(d.qpos, a["sub_qpos"][k])
        assert_array_equal(d.qvel, a["sub_qvel"][k])
        d.ctrl[:], d.qfrc_applied[:] = a["sub_ctrl"][k], a["sub_qfrc_applied"][k]
        mujoco.mj_step(m, d)
    assert np.abs(a["sub_qfrc_applied"]).max() > 1.0  # the grip, and the push
    # What touched is told by name, and the plan beside what came of it.
    names = {tuple(pair) for pair in a["touch_names"]}
    assert ("world", "alice/left_foot") in names
    left = [set(pair) == {"world", "alice/left_foot"} for pair in a["touch_names"]].index(True)
    weight = -a["touch_force"][10:100, left, 2].mean()  # ON the world
    assert 100 < weight < 500
    assert a["plan_contact_wrench"].shape == a["contact_wrench"].shape
    assert_allclose(a["plan_contact_wrench"][50, :2, 2].sum(), a["contact_wrench"][50, :2, 2].sum(), rtol=0.05)
    assert a["plan_qacc"].shape == a["qacc"].shape


def test_twice_is_the_same_and_so_is_a_resumed_run(tmp_path):
    states = []
    for resumed in (False, False, True):
        chosen = scenario("door")()
        sim = chosen.simulation(0.01, world="simulated")
        while sim.time < 2.5:  # she holds the knob by then
            sim.step()
        if resumed:
            kept = json.loads(json.dumps(sim.checkpoint()))
            sim = chosen.simulation(0.01, world="simulated")
            sim.restore(kept)
        while sim.time < 3.0:
            sim.step()
        states.append(sim.state)
    assert_array_equal(states[1].qpos, states[0].qpos)
    assert_array_equal(states[1].qvel, states[0].qvel)
    # The program's solver begins anew, and finds the same to 1e-9 in q̈: the simulator makes a little more of it.
    assert_allclose(states[2].qpos, states[0].qpos, atol=1e-6)
    assert_allclose(states[2].qvel, states[0].qvel, atol=1e-4)


@pytest.mark.parametrize("name", ["box", "lever"])
def test_scenarios_live_in_it_as_they_are(name, tmp_path):
    chosen = scenario(name)()
    sim, fallbacks = chosen.simulation(0.01, world="simulated"), 0
    while not finished(sim, chosen) and not sim.failure and sim.time < 8.0:
        fallbacks += sim.step().fallback
    assert not sim.failure
    assert fallbacks == 0


def test_certificate(tmp_path):
    report = run("door", tmp_path, seconds=3.0, dt=0.01, world="simulated")
    laws = report["certificate"]
    assert set(laws) == {"impulse_residual", "skate_mm", "penetration_mm", "torque_ratio", "limit_violation"}
    assert laws["impulse_residual"] < 0.01
    assert laws["skate_mm"] < 10
    assert laws["penetration_mm"] < 2
    assert laws["torque_ratio"] <= 1.0
    assert report["fallbacks"] == 0


def test_a_push_is_survived_and_a_hard_one_is_a_fall_that_goes_on():
    for impulse, falls in ((20.0, False), (90.0, True)):
        sim = standing()
        sim.on_fall = "continue"
        sim.run(0.5)
        sim.live.push("ann/chest", force=(impulse / 0.1, 0, 0), seconds=0.1)
        deepest = 0.0
        while sim.time < 3.0:
            sim.step()
            deepest = max(deepest, -float(sim.world._data.contact.dist.min(initial=0.0)))
        assert bool(sim.fallen) == falls
        assert deepest < 0.03  # nobody goes through the floor
        assert np.isfinite(sim.state.qvel).all()


def test_momentum_is_what_forces_made_of_it():
    """Over a push: the change of momentum is the impulse of weight, soles and hand, as they were measured."""
    sim = standing()
    sim.run(0.2)
    sim.live.push("ann/chest", force=(150, 30, 0), seconds=0.1)
    mass = sim.scene.model.body_mass.sum()
    before, given = mass * sim.com("ann")[1], np.zeros(3)
    for _ in range(20):
        state = sim.state
        outcome = sim.step()
        applied = np.array([150.0, 30.0, 0.0]) if state.time < 0.3 - 1e-9 else np.zeros(3)
        given += 0.01 * ((outcome.qfrc_contact + outcome.stopped)[:3] + applied - [0, 0, 9.81 * mass])
    assert_allclose(mass * sim.com("ann")[1] - before, given, atol=0.15)


def test_an_overloaded_grip_slips_off_and_says_so():
    sim = scenario("lever")().simulation(0.01, world="simulated")
    while not any(c.kind == "grasp" for c in sim.contacts):
        sim.step()
    sim.run(0.6)
    sim.on_fall = "continue"
    sim.live.push("alice/right_hand", force=(-2500, 0, 0), seconds=0.2)
    said = []
    for _ in range(40):
        said += [c.name for c in sim.step().conflicts if c.unit == "m"]
    assert any("right_grip" in name for name in said)
    assert np.isfinite(sim.state.qpos).all()


def test_pads_are_the_simulators_alone():
    scene = ip.Scene().add(ip.Humanoid(), "ann")
    twin = scene.simulated(0.002)
    pads = {twin.model.geom(g).name for g in range(twin.model.ngeom)} - {
        scene.model.geom(g).name for g in range(scene.model.ngeom)
    }
    assert {"ann/left_sole_pad", "ann/right_palm_pad"} <= pads
    assert_array_equal(twin.model.body_mass, scene.model.body_mass)
    assert ip.simulation.CollisionSet(twin).pairs[0].name == ip.simulation.CollisionSet(scene).pairs[0].name
    assert len(ip.simulation.CollisionSet(twin).pairs) == len(ip.simulation.CollisionSet(scene).pairs)


def test_parts_that_begin_inside_each_other_collide():
    """A hand that begins inside a thigh is put out of it: only what overlaps in a body's own posture may pass through."""
    posture = {"left_hip_abduction": 0.4, "left_shoulder_abduction": 0.05, "left_elbow_flexion": 0.1}
    scene = ip.Scene().add(
        ip.Humanoid(1.74, 68), "ann", pos=(0, 0, 1.0), posture={**posture, "left_shoulder_flexion": 0}
    )
    sim = ip.Simulation(scene, 0.002, world="simulated")
    ours = [sim.scene.body(f"ann/left_{part}") for part in ("hand", "thigh")]

    def depth():
        contact = sim.world._data.contact
        met = np.isin(sim.scene.model.geom_bodyid[contact.geom], ours).all(axis=1)
        return -float(contact.dist[met].min(initial=0.0))

    sim.step()
    deep = depth()
    sim.run(0.2)
    assert deep > 0.01
    assert depth() < 0.001
    assert np.abs(sim.state.qvel).max() < 30.0
