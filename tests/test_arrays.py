"""Recordings from arrays: whoever made a motion, it is written, read, exported, certified and played."""

import json

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import interplay as ip
from interplay.io import laws
from interplay.io.certificate import certify
from interplay.io.export import export
from interplay.io.recorder import Recorder
from interplay.io.recording import Recording
from interplay.io.report import make_report
from interplay.runs.summary import summary
from interplay.stage.messages import Pace
from interplay.stage.moment import Status
from interplay.stage.recorded import RecordedAct

CONTRACT = {
    "contact_drift_mm",
    "penetration_mm",
    "momentum_residual",
    "eom_residual",
    "third_law_residual",
    "friction_violation",
    "torque_ratio",
    "limit_violation",
    "stopped_force",
}


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A short live run with its recording, and what an observer saw of it."""
    folder, steps = tmp_path_factory.mktemp("live"), []
    scene = ip.Scene().add(ip.Humanoid(), "ann")
    sim = ip.Simulation(scene, 0.01)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    sim.objectives += [ip.Com("ann", weight=50.0), ip.Posture("ann")]
    scene.save(folder / "scene.xml")
    recorder = Recorder(folder / "recording", sim, {"scenario": "live"})
    sim.observers += [recorder, lambda state, outcome, _: steps.append((state, outcome))]
    sim.live.push("ann/chest", (30.0, 0, 0), 0.5)
    sim.run(1.5)
    recorder.close()
    states, outcomes = zip(*steps, strict=True)
    arrays = {name: np.array([getattr(s, name) for s in states]) for name in ("time", "qpos", "qvel", "applied")}
    arrays |= {name: np.array([getattr(o, name) for o in outcomes]) for name in ("qacc", "tau")}
    arrays["touching"] = [o.touching for o in outcomes]
    return folder, scene, arrays


def test_torques_are_recorded_as_they_were(live):
    folder, _, arrays = live
    assert np.abs(arrays["tau"]).max() > 10
    assert_array_equal(Recording(folder)["tau"], arrays["tau"])
    assert not Recording(folder).overruled


def test_what_arrays_say_is_what_a_recorder_writes(live, tmp_path):
    folder, scene, arrays = live
    ip.write_recording(tmp_path, scene, **arrays)
    one, two = Recording(folder), Recording(tmp_path)
    for name in ("time", "qpos", "qvel", "qacc", "tau", "applied", "wrench", "contact_set"):
        assert_array_equal(one[name], two[name])
    assert one.contacts == two.contacts
    assert certify(one) == certify(two)
    assert set(certify(two).laws) == CONTRACT


def test_the_equation_of_motion_is_a_check_of_the_torques(live, tmp_path):
    _, scene, arrays = live
    ip.write_recording(tmp_path / "right", scene, **arrays)
    assert certify(Recording(tmp_path / "right")).laws["eom_residual"] < 1e-9
    wrong = arrays["tau"].copy()
    wrong[77, 20] += 1.0
    ip.write_recording(tmp_path / "wrong", scene, **{**arrays, "tau": wrong})
    assert certify(Recording(tmp_path / "wrong")).laws["eom_residual"] > 1e-4
    loose = [
        t if k != 50 else t._replace(wrenches=t.wrenches * [1, 1, -1, 1, 1, 1])
        for k, t in enumerate(arrays["touching"])
    ]
    ip.write_recording(tmp_path / "loose", scene, **{**arrays, "touching": loose})
    found = certify(Recording(tmp_path / "loose")).laws
    assert found["friction_violation"] > 100
    assert found["momentum_residual"] > 0.1
    assert found["third_law_residual"] < 1e-9


def test_motors_that_give_something_else_are_recorded_beside_the_command(tmp_path):
    scene = ip.Scene().add(ip.Humanoid(), "ann")
    sim = ip.Simulation(scene, 0.01, world="rigid")
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    sim.objectives += [ip.Com("ann", weight=50.0), ip.Posture("ann")]
    scene.save(tmp_path / "scene.xml")
    recorder, given = Recorder(tmp_path / "recording", sim, {"scenario": "weak"}), []
    sim.observers += [recorder, lambda state, outcome, _: given.append((outcome.plan.tau, outcome.tau))]
    sim.run(0.1)
    limits, asked = sim.world._physics._limits, np.abs(given[-1][0])
    sim.world._physics._limits = limits._replace(torque=np.where(np.isnan(limits.torque), np.nan, 0.9 * asked.max()))
    sim.run(0.05)
    recorder.close()
    found = Recording(tmp_path)
    assert found.overruled
    assert_array_equal(found["plan_tau"], [p for p, _ in given])
    assert_array_equal(found["tau"], [g for _, g in given])
    export(tmp_path, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as data:
        assert np.abs(data["plan_tau"]).max() > np.abs(data["tau"]).max()


def test_configurations_alone_are_a_recording(live, tmp_path):
    _, scene, arrays = live
    ip.write_recording(tmp_path, scene, arrays["time"], arrays["qpos"], name="a clip", phases=["sway"] * 150)
    found = Recording(tmp_path)
    assert_array_equal(found["qpos"], arrays["qpos"])
    assert_allclose(found["qvel"][1:], arrays["qvel"][1:], atol=1e-6)  # as they were: worlds integrate so, too
    assert_allclose(found["qacc"][1:-1], arrays["qacc"][1:-1], atol=1e-4)
    assert {law for law, worst in certify(found).laws.items() if worst is not None} == {
        "limit_violation",
        "penetration_mm",
    }
    report = make_report(found, True, None)
    assert json.loads(json.dumps(report))["timing"] is None
    assert summary(report).row_count > 5
    export(tmp_path, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as data:
        assert not {"tau", "contact_active", "contact_wrench", "step_ms"} & set(data.files)
        assert data["phase"][3] == "sway"


def test_a_clip_is_played_on_the_stage(live, tmp_path):
    _, scene, arrays = live
    ip.write_recording(tmp_path, scene, arrays["time"], arrays["qpos"])
    act = RecordedAct("clip", tmp_path)
    act.wait()
    act.seek(0.7)
    assert act.frame(Status(Pace(np.zeros(0), 1.0), False, True, act.span, 1.0, ""), stability=True)
    assert not len(act.take_step_ms())
    assert [n.level for n in act.notices] == ["info"]


def test_a_plain_specification_can_move(tmp_path):
    spec = mujoco.MjSpec.from_string(
        "<mujoco><worldbody><body name='ball'><freejoint name='fly'/><geom size='0.1'/></body></worldbody></mujoco>"
    )
    fall = np.zeros((50, 7))
    fall[:, 2], fall[:, 3] = 2.0 - 4.905 * (0.02 * np.arange(50)) ** 2, 1.0
    ip.write_recording(tmp_path, spec, 0.02 * np.arange(50), fall, touching=[ip.Touching()] * 50)
    found = Recording(tmp_path)
    assert_allclose(found["qacc"][5:-1, 2], -9.81, atol=1e-6)
    assert certify(found).laws["contact_drift_mm"] == 0.0
    export(tmp_path, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as data:
        assert data["joint_names"].tolist() == ["fly"]
        assert data["body_names"].tolist() == ["world", "ball"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"qpos": np.zeros((3, 7))}, "qpos"),
        ({"qpos": [[np.nan] * 7] * 4}, "step 0"),
        ({"qpos": [[10**400] * 7] * 4}, "qpos"),
        ({"time": [0, 1, 1, 2]}, "ascending"),
        ({"time": []}, "time"),
        ({"tau": np.zeros((4, 7))}, "tau"),
        ({"phases": ["a"]}, "phases"),
        ({"touching": []}, "touching"),
        ({"world": "dream"}, "world"),
    ],
)
def test_arrays_that_do_not_fit_are_named(change, words, tmp_path):
    good = {"time": [0, 1, 2, 3], "qpos": np.tile([0, 0, 1, 1, 0, 0, 0], (4, 1))}
    with pytest.raises(ip.InputError, match=words):
        ip.write_recording(tmp_path, ip.Scene().add(ip.Box(), "box"), **{**good, **change})
    assert not (tmp_path / "recording").exists()


def test_a_new_law_is_one_entry(live, monkeypatch):
    folder, _, arrays = live
    speed = laws.Law("highest_torque", "N·m", frozenset({"tau"}), lambda book: float(np.abs(book.tau).max()))
    monkeypatch.setitem(laws.LAWS, "direct", (*laws.MECHANICS, speed))
    assert certify(Recording(folder)).laws["highest_torque"] == np.abs(arrays["tau"]).max()
    monkeypatch.delitem(laws.LAWS, "direct")
    with pytest.raises(ip.InputError, match="direct"):
        certify(Recording(folder))
