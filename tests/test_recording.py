"""Recordings: exact, crash-safe, resumable, bitwise repeatable."""

import os
import signal
import subprocess
import sys
import time

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import interplay as ip
from interplay.io.blocks import pack, unpack
from interplay.io.certificate import certify
from interplay.io.export import export
from interplay.io.recorder import Recorder
from interplay.io.recording import Recording
from interplay.runs.run import run
from plain import machine


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Runs of some seconds that nobody interrupts, with seed 5; each once."""
    lengths = {"stand": 4.0, "box": 10.0, "door": 6.0}
    made = {}

    def get(name):
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name)
            run(name, made[name], seconds=lengths[name], seed=5)
        return Recording(made[name])

    return get


@pytest.mark.parametrize("name", ["stand", "box", "door"])
def test_the_same_run_twice_is_bitwise_equal(name, whole, tmp_path):
    run(name, tmp_path, seconds=4.0, seed=5)
    a, b = whole(name), Recording(tmp_path)
    for key in ("qpos", "qvel", "qacc", "wrench", "time"):
        assert_array_equal(a[key][: b.steps], b[key])


def test_another_process_gives_the_same_bits(tmp_path):
    run("stand", tmp_path / "here", seconds=2.0)
    subprocess.run(
        [sys.executable, "-m", "interplay", "run", "stand", "--out", str(tmp_path / "there"), "--seconds", "2"],
        check=True,
        capture_output=True,
    )
    assert_array_equal(Recording(tmp_path / "here")["qpos"], Recording(tmp_path / "there")["qpos"])


@pytest.mark.parametrize(("name", "cut"), [("stand", 2.0), ("box", 3.0), ("door", 2.0), ("door", 4.0), ("box", 8.0)])
def test_a_resumed_run_equals_the_uninterrupted_one(name, cut, whole, tmp_path):
    run(name, tmp_path, seconds=cut, seed=5)
    report = run(name, tmp_path, seconds=cut + 2.0, resume=True)
    assert report["sim_seconds"] == pytest.approx(cut + 2.0)
    a, b = whole(name), Recording(tmp_path)
    assert a.phases[: b.steps] == b.phases
    for key in ("qpos", "qvel", "qacc"):
        assert_array_equal(b[key], a[key][: b.steps])


def test_resuming_with_targets_and_masses(tmp_path):
    """Live controls under way, changed masses and the random generator all come back."""
    targets = tmp_path / "t.csv"
    targets.write_text("0.2, com, 0.06, 0.05, 0.75\n1.6, com, 0.06, -0.05, 0.8\n")

    def fresh():
        from interplay.catalogue import scenario
        from interplay.motion.targets import read_targets

        sim = scenario("stand")().simulation(seed=7)
        sim.behaviour = ip.Machine([machine(sim).phases["follow"]])
        sim.live.targets = read_targets(targets, sim)
        return sim

    whole, first = fresh(), fresh()
    for sim in (whole, first):
        sim.run(1.0)
        sim.live.set_mass("alice/left_hand", 2.0)
        sim.rng.normal()
        checkpoint = sim.checkpoint()
    second = fresh()
    second.restore(checkpoint)
    second.live.targets = [t for t in second.live.targets if t.time > second.time]
    for sim in (whole, second):
        sim.run(1.5)
    assert_array_equal(second.state.qpos, whole.state.qpos)
    assert second.rng.normal() == whole.rng.normal()
    assert second.scene.model.body("alice/left_hand").mass == pytest.approx(2.0)


def test_killed_runs_leave_a_readable_recording(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "interplay", "run", "stand", "--out", str(tmp_path), "--seconds", "600"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.time() + 120
    while time.time() < deadline and (
        not (tmp_path / "recording").exists() or (tmp_path / "recording").stat().st_size < 200_000
    ):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    recording = Recording(tmp_path)
    assert recording.steps >= 200
    assert recording.steps % 200 == 0
    assert np.isfinite(recording["qpos"]).all()
    export(tmp_path, tmp_path / "run.npz")
    report = run("stand", tmp_path, seconds=recording.steps * 0.005 + 1.0, resume=True)
    assert report["steps"] == recording.steps + 200


@pytest.mark.parametrize("cut", [1, 7, 100, 1000])
def test_a_torn_tail_is_left_out(cut, tmp_path):
    run("stand", tmp_path, seconds=3.0)
    whole = Recording(tmp_path)
    motion = whole["qpos"]
    raw = (tmp_path / "recording").read_bytes()
    (tmp_path / "recording").write_bytes(raw[:-cut])
    torn = Recording(tmp_path)
    assert not torn.complete
    assert torn.steps == whole.steps - 200
    assert_array_equal(torn["qpos"], motion[: torn.steps])
    (gap,) = torn.missing
    assert (gap.end, gap.steps) == (None, None)
    assert str(gap) == "what follows 2.00 s is torn or damaged and left out"


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"INTERPLAY3\n", b"INTERPLAY3\n\x00\x01"])
def test_what_is_no_recording_is_refused(raw, tmp_path):
    (tmp_path / "recording").write_bytes(raw)
    with pytest.raises(ip.InputError):
        Recording(tmp_path)
    with pytest.raises(ip.InputError, match="no recording"):
        Recording(tmp_path / "elsewhere")


def test_packing_is_exact():
    rng = np.random.default_rng(0)
    arrays = {
        "a": rng.normal(size=(50, 7)),
        "b": rng.normal(size=(50, 3, 6)),
        "c": rng.integers(0, 9, 50).astype(np.int32),
        "d": rng.random(50) > 0.5,
        "e": np.zeros((50, 0, 6)),
        "f": np.array([np.inf, -0.0, 1e-310]),
    }
    info, back = unpack(pack({"x": 1}, arrays))
    assert info == {"x": 1}
    for key, array in arrays.items():
        assert back[key].dtype == array.dtype
        assert back[key].tobytes() == array.tobytes()


def test_changed_masses_are_in_the_record(tmp_path):
    scene = ip.Scene().add(ip.Barbell(), "bar", pos=(0, 0, 50))
    sim = ip.Simulation(scene)
    scene.save(tmp_path / "scene.xml")
    recorder = Recorder(tmp_path / "recording", sim, {"scenario": "bar"})
    sim.observers.append(recorder)
    sim.run(1.3)
    sim.live.set_mass("bar/left_weight", 8.0)
    sim.run(0.4)
    recorder.close()
    export(tmp_path, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as data:
        weight = data["body_mass"][:, scene.body("bar/left_weight")]
        assert data["body_inertia"].shape == (340, scene.model.nbody, 3)
    assert_allclose(weight, [3.0] * 260 + [8.0] * 80)


def test_exported_record_has_the_documented_arrays(finished):
    with np.load(finished("box") / "run.npz") as data:
        T, nv = data["qvel"].shape
        C = len(data["contact_names"])
        shapes = {
            "time": (T,),
            "qacc": (T, nv),
            "tau": (T, nv),
            "qfrc_contact": (T, nv),
            "qfrc_applied": (T, nv),
            "contact_names": (C, 2),
            "contact_active": (T, C),
            "contact_wrench": (T, C, 6),
            "phase": (T,),
            "step_ms": (T,),
            "solve_ms": (T,),
            "joint_names": data["joint_qposadr"].shape,
            "joint_dofadr": data["joint_qposadr"].shape,
        }
        for key, shape in shapes.items():
            assert data[key].shape == shape, key
        assert data["contact_active"].dtype == bool
        assert ["alice/left_sole", "world"] in data["contact_names"].tolist()
        assert "lift" in data["phase"]
        m = mujoco.MjModel.from_xml_path(str(finished("box") / "scene.xml"))
        assert data["body_names"].tolist() == [m.body(b).name for b in range(m.nbody)]
        knee = data["joint_names"].tolist().index("alice/left_knee_flexion")
        assert data["joint_qposadr"][knee] == m.joint("alice/left_knee_flexion").qposadr[0]
        assert data["joint_dofadr"][knee] == m.joint("alice/left_knee_flexion").dofadr[0]


def test_pushes_and_forces_survive_a_resume():
    def fresh():
        scene = ip.Scene().add(ip.Platform((0.5, 0.5, 0.4)), "table").add(ip.Box(mass=5.0), "box", pos=(0, 0, 0.4))
        sim = ip.Simulation(scene)
        sim.contacts.add("box/bottom", "table/top")
        return sim

    whole = fresh()
    whole.live.push("box", (20.0, 0, 0), 0.5)
    whole.run(0.2)
    twin = fresh()
    twin.restore(whole.checkpoint())
    assert_allclose(twin.force("box/bottom"), whole.force("box/bottom"))
    assert twin.force("box/bottom")[2] > 40
    for sim in (whole, twin):
        sim.contacts.remove("box/bottom")
        sim.run(0.05)  # it falls by a centimetre, into a table that it does not avoid
    assert_allclose(twin.state.qvel, whole.state.qvel, atol=1e-9)
    assert whole.state.qvel[0] == pytest.approx(0.2, rel=1e-3)


def test_one_patch_on_two_supports_has_two_columns(tmp_path):
    """A box across two platforms: both contacts are recorded, and the record obeys the equation of motion."""
    scene = (
        ip.Scene()
        .add(ip.Platform((0.5, 0.5, 0.3)), "p", pos=(-0.3, 0))
        .add(ip.Platform((0.5, 0.5, 0.3)), "q", pos=(0.3, 0))
    )
    scene.add(ip.Box((0.8, 0.3, 0.2), 6.0), "box", pos=(0, 0, 0.3))
    sim = ip.Simulation(scene)
    sim.contacts.add("box/bottom", "p/top")
    sim.contacts.add("box/bottom", "q/top")
    scene.save(tmp_path / "scene.xml")
    recorder = Recorder(tmp_path / "recording", sim, {"scenario": "two"})
    sim.observers.append(recorder)
    sim.run(0.2)
    recorder.close()
    certificate = certify(Recording(tmp_path)).laws
    assert certificate["eom_residual"] < 1e-9
    assert certificate["friction_violation"] < 1e-6
    export(tmp_path, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as data:
        assert data["contact_names"].tolist() == [["box/bottom", "world"]] * 2
        assert data["contact_wrench"][-1, :, 2].sum() == pytest.approx(6 * 9.81, rel=1e-6)


def test_resuming_a_finished_run_keeps_its_report(tmp_path):
    first = run("door", tmp_path, seconds=5.0)
    again = run("door", tmp_path, seconds=5.0, resume=True)
    assert again["size"] == first["size"]
    assert again["certificate"] == first["certificate"]
    with pytest.raises(ip.InputError, match="cannot change"):
        run("door", tmp_path, seconds=6.0, resume=True, dt=0.01)
    with pytest.raises(ip.InputError, match="cannot change"):
        run("door", tmp_path, seconds=6.0, resume=True, parameters={"mass": 30.0})


def test_live_input_is_recorded_as_a_targets_file(tmp_path):
    (tmp_path / "in.csv").write_text("0.3, com, 0.05, 0.02, 0.8\n0.996, com, 0.05, -0.02, 0.8\n")
    run("stand", tmp_path / "a", seconds=1.0, targets=tmp_path / "in.csv")
    run("stand", tmp_path / "a", seconds=2.0, targets=tmp_path / "in.csv", resume=True)
    export(tmp_path / "a", tmp_path / "out.targets.csv")
    rows = (tmp_path / "out.targets.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["time", "0.3", "1"]
    run("stand", tmp_path / "b", seconds=2.0, targets=tmp_path / "out.targets.csv")
    assert_allclose(Recording(tmp_path / "b")["qpos"], Recording(tmp_path / "a")["qpos"], atol=1e-7)


def test_three_characters_take_less_than_ten_megabytes_a_minute(tmp_path):
    run("ring", tmp_path, seconds=6.0)
    assert (tmp_path / "recording").stat().st_size * 10 < 10e6


def test_states_that_no_integration_predicts_are_kept_exactly(tmp_path):
    """The record holds what was, not what its accelerations would have made: a state that jumps is read back to the bit."""
    scene = ip.Scene().add(ip.Box(), "box", pos=(0, 0, 1))
    sim = ip.Simulation(scene)
    scene.save(tmp_path / "scene.xml")
    recorder = Recorder(tmp_path / "recording", sim, {"scenario": "jump"})
    states = []
    sim.observers += [recorder, lambda state, solution, seconds: states.append(state.qpos)]
    rng = np.random.default_rng(0)
    for _ in range(50):
        sim.step()
        q = sim.state.qpos.copy()
        q[:3] += rng.normal(0, 0.3, 3)
        sim._state = sim.state.with_(qpos=q)
    recorder.close()
    assert_array_equal(Recording(tmp_path)["qpos"], np.array(states))
