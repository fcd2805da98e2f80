"""Clips: what can be done with motion as data, contacts that are found, and captured motion that plays."""

import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import interplay as ip
from bvh_files import bvh_text, squats
from interplay.cli import app
from interplay.errors import InputError
from interplay.io.clips.capture import read_capture
from interplay.io.clips.contacts import find_meetings
from interplay.io.clips.footing import on_ground, runs, still
from interplay.io.clips.persons import prepare
from interplay.io.export import export
from interplay.io.recording import Recording
from interplay.motion.clip import Clip, Touch, motion
from interplay.motion.clip_file import load_clip, read_touches, save_clip, write_touches
from interplay.motion.clip_model import clip_from_configurations


@pytest.fixture(scope="module")
def squat():
    scene, time, qpos = squats(ip.Humanoid())
    touches = [
        Touch("ann/left_sole", "ground", 0.0, float(time[-1])),
        Touch("ann/right_palm", "ann/left_thigh", 0.5, 1.0),
    ]
    return clip_from_configurations(scene.model, time, qpos, ["ann"], touches=touches, title="squat"), scene, qpos


@pytest.fixture(scope="module")
def walk():
    """One leg-swinging walk of 1.2 m/s along a curve, without regard to feet."""
    time = np.arange(121) / 60
    yaw = 0.4 * time
    place = np.column_stack([np.sin(yaw), 1 - np.cos(yaw), 0.01 * np.cos(6 * time)]) * 3 + [0, 0, 0.9]
    root = np.column_stack([place, np.cos(yaw / 2), 0 * yaw, 0 * yaw, np.sin(yaw / 2)])
    swing = np.column_stack([0.4 * np.sin(np.pi * time), -0.4 * np.sin(np.pi * time), 0.1 * np.cos(np.pi * time)])
    joints = ("left_hip_flexion", "right_hip_flexion", "torso_yaw")
    steps = [Touch("ann/left_sole", "ground", 0.0, 0.9), Touch("ann/right_sole", "ground", 0.9, 2.0)]
    return Clip.from_arrays(time, {"ann": motion(joints, swing, root)}, steps, "walk")


def _same(a, b, tolerance=1e-9):
    assert_allclose(a.time, b.time, atol=tolerance)
    for name in a.motions:
        assert_allclose(a.motions[name].angles, b.motions[name].angles, atol=tolerance)
        assert_allclose(a.motions[name].root[:, :3], b.motions[name].root[:, :3], atol=tolerance)
        assert_allclose(np.abs((a.motions[name].root[:, 3:] * b.motions[name].root[:, 3:]).sum(1)), 1.0, atol=tolerance)
    assert len(a.touches) == len(b.touches)
    for one, two in zip(a.touches, b.touches, strict=True):
        assert one[:2] == two[:2]
        assert one[2:] == pytest.approx(two[2:])


def test_configurations_come_back(squat):
    clip, scene, qpos = squat
    assert_allclose(clip.configurations(scene), qpos, atol=1e-12)


def test_mirrored_twice_is_the_same(squat, walk):
    for clip in (squat[0], walk):
        _same(clip.mirrored().mirrored(), clip)


def test_a_mirror_swaps_the_sides_of_a_body(squat):
    clip, scene, _ = squat
    twin, terms, seen = clip.mirrored(), scene.kinematics(), scene.kinematics()
    assert {t.first for t in twin.touches} == {"ann/right_sole", "ann/left_palm"}
    for q, mirrored in zip(clip.configurations(scene)[::25], twin.configurations(scene)[::25], strict=True):
        terms.place(q)
        seen.place(mirrored)
        for part in ("pelvis", "head", "left_hand", "right_hand", "left_foot", "right_forearm"):
            other = part.replace("left", "~").replace("right", "left").replace("~", "right")
            expected = terms.xpos[scene.body(f"ann/{part}")] * [1, -1, 1]
            assert_allclose(seen.xpos[scene.body(f"ann/{other}")], expected, atol=1e-9)


def test_cuts_and_what_touches_in_them(walk):
    cut = walk.cut(0.5, 1.5)
    assert cut.duration == pytest.approx(1.0)
    assert cut.touches == (Touch("ann/left_sole", "ground", 0.0, 0.4), Touch("ann/right_sole", "ground", 0.4, 1.0))
    _same(walk.cut(0.0, 2.0), walk)
    _same(cut.cut(0.2, 0.7), walk.cut(0.7, 1.2))
    assert walk.touching("ann/left_sole").sum() == 55
    with pytest.raises(InputError, match="from 0 s to 2 s"):
        walk.cut(3.0, 4.0)


def test_resampling_keeps_frames_and_rotations(walk):
    _same(walk.resampled(60), walk, 1e-6)
    fine = walk.resampled(240)
    assert len(fine.time) == 481
    assert_allclose(fine.motions["ann"].angles[::4], walk.motions["ann"].angles, atol=1e-9)
    assert_allclose(np.linalg.norm(fine.motions["ann"].root[:, 3:], axis=1), 1.0)
    exact = 0.4 * np.sin(np.pi * fine.time)
    assert_allclose(fine.motions["ann"].angles[:, 0], exact, atol=1e-6)
    _same(walk.resampled(240).resampled(60), walk, 1e-6)


def test_a_loop_walks_on_without_a_jump(walk):
    loop = walk.looped(3, blend=0.2)
    assert loop.duration == pytest.approx(3 * walk.duration)
    root, angles = loop.motions["ann"].root, loop.motions["ann"].angles
    step = np.linalg.norm(np.diff(root[:, :3], axis=0), axis=1)
    assert step.max() < 1.3 * np.linalg.norm(np.diff(walk.motions["ann"].root[:, :3], axis=0), axis=1).max()
    assert np.abs(np.diff(angles, axis=0)).max() < 0.05
    yaw = 2 * np.unwrap(np.arctan2(root[:, 6], root[:, 3]))
    assert yaw[-1] == pytest.approx(3 * 0.8, abs=1e-6)  # each time it turns as far again
    assert len(loop.touches) == 6
    _same(walk.looped(1), walk)


def test_contacts_over_a_seam_are_one(squat):
    loop = squat[0].looped(2)
    assert [t[2:] for t in loop.touches if t.first == "ann/left_sole"] == [(0.0, pytest.approx(2 * squat[0].duration))]


def test_blends_lie_between(walk):
    other = walk.cut(0.0, 1.0)
    _same(walk.blended(other, 0.0), walk)
    _same(walk.blended(walk, 0.3), walk, 1e-6)
    half = walk.blended(other, 0.5)
    assert half.duration == pytest.approx(1.5)
    assert_allclose(np.linalg.norm(half.motions["ann"].root[:, 3:], axis=1), 1.0)
    with pytest.raises(InputError, match="same characters"):
        walk.blended(Clip.from_arrays([0, 1], {"bob": motion((), np.zeros((2, 0)), np.eye(7)[[3, 3]])}), 0.5)


def test_files_give_back_what_was_saved_and_hold_no_objects(squat, tmp_path):
    clip = squat[0]
    path = clip.save(tmp_path / "a.clip")
    _same(Clip.load(path), clip, 0)
    assert Clip.load(path).title == "squat"
    with zipfile.ZipFile(path) as archive, archive.open("header.npy") as file:
        header = np.lib.format.read_array(file, allow_pickle=False)
    assert json.loads(header.tobytes())["version"] == 1


def test_damaged_clips_are_clear_errors(squat, tmp_path):
    good, rng = save_clip(squat[0], tmp_path / "a.clip").read_bytes(), np.random.default_rng(1)
    path, messages = tmp_path / "bad.clip", []
    for k in range(60):
        data = bytearray(good[: int(rng.integers(0, len(good)))] if k % 2 else good)
        if data and not k % 2:
            for at in rng.integers(0, len(data), 20):
                data[at] ^= 0xFF
        path.write_bytes(bytes(data))
        try:
            load_clip(path)
        except InputError as error:
            messages.append(str(error))
    assert len(messages) > 50
    assert all("bad.clip" in message for message in messages)
    np.savez(path.open("wb"), header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match=r"bad\.clip"):
        load_clip(path)
    with pytest.raises(InputError, match="cannot read"):
        load_clip(tmp_path / "none.clip")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": [0.0, 0.0]}, "ascending"),
        ({"time": [0.0, np.nan]}, "finite"),
        ({"time": [0.0]}, "ascending"),
        ({"motions": {}}, "at least one"),
        ({"touches": [Touch("bob/left_sole", "ground", 0, 1)]}, "did you mean|Available: ann"),
        ({"touches": [Touch("ann/left_sole", "ground", 1, 0)]}, "begin before its end"),
    ],
)
def test_what_is_no_clip(change, message):
    given = {"time": [0.0, 1.0], "motions": {"ann": motion(("a",), [[0.0], [1.0]], np.eye(7)[[3, 3]])}, "touches": []}
    with pytest.raises(InputError, match=message):
        Clip.from_arrays(**{**given, **change})


def test_contacts_as_a_table(tmp_path, walk):
    path = write_touches(tmp_path / "c.csv", walk.touches)
    assert read_touches(path) == list(walk.touches)
    path.write_text("first,second,begin,end\nann/left_sole,ground,0.5\n")
    with pytest.raises(InputError, match=r"c\.csv:2"):
        read_touches(path)


def test_a_foot_is_on_the_ground_when_it_is_low_and_slow():
    fps, rng = 120.0, np.random.default_rng(3)
    for begin, end in ((40, 100), (55, 80)):
        t = np.arange(160)
        since = np.clip((begin - t) / 25, 0, 1) + np.clip((t - end + 1) / 25, 0, 1)
        height, speed = 0.15 * since**1.5, 4.0 * np.sqrt(since)
        found = runs(on_ground(speed + 0.03 * rng.standard_normal(160) ** 2, height, fps))
        assert len(found) == 1
        assert abs(found[0][0] - begin) <= 2
        assert abs(found[0][1] - end) <= 2


def test_what_was_made_is_known_to_the_frame_and_what_was_captured_is_left():
    t, rng = np.arange(100.0), np.random.default_rng(4)
    mask = (t >= 18) & (t < 85)
    place = np.column_stack([0.01 * (np.maximum(20 - t, 0) + np.maximum(t - 79, 0)), 0 * t, 0 * t])
    rolling = place + np.column_stack([0.002 * np.maximum(t - 50, 0), 0 * t, 0 * t])
    assert runs(still([rolling, place], mask)) == [(20, 80)]
    assert (still([place + 0.006 * rng.standard_normal(place.shape)], mask) == mask).all()


def _pair(folder, gap, drift, frames=120):
    """Files of two who stand face to face, right hands held out so far apart [m], one hand moving by itself at a speed."""
    files = []
    for k, name in enumerate(("a", "b")):
        scene, time, qpos = squats(ip.Humanoid(), frames)
        m = scene.model
        qpos[:] = qpos[0]
        joints = {"right_shoulder_flexion": 0.9, "right_shoulder_abduction": 0.0, "right_elbow_flexion": 0.6}
        for joint, value in {**joints, "torso_yaw": (0.25 if k == 0 else -0.25) * np.sin(4 * time)}.items():
            qpos[:, m.jnt_qposadr[scene.joint(f"ann/{joint}")]] = value
        terms, hands = scene.kinematics(), []
        for q in qpos[::10]:
            terms.place(q)
            hands.append(terms.site_xpos[scene.site("ann/right_palm")].copy())
        side = float(np.mean([h[1] for h in hands]))
        reach = float(np.mean([h[0] for h in hands]))
        if k:  # turned round, opposite, so that palms are at one place but for the gap
            qpos[:, :2] = [2 * reach + gap, 2 * side] - qpos[:, :2]
            qpos[:, 3:7] = [0.0, 0.0, 0.0, 1.0]
            qpos[:, 0] += drift * time
        file = folder / f"{name}.bvh"
        file.write_text(bvh_text(m, time, qpos, "ann"))
        files.append(file)
    return files


def test_hands_that_stay_together_touch_and_others_do_not(tmp_path):
    scene = ip.Scene().add(ip.Humanoid(), "ann").add(ip.Humanoid(), "bob", (0, 1))
    for k, (gap, drift, expected) in enumerate(((0.1, 0.0, True), (0.0, 1.5, False), (0.7, 0.0, False))):
        folder = tmp_path / str(k)
        folder.mkdir()
        captures = [read_capture(file) for file in _pair(folder, gap, drift)]
        found = find_meetings(prepare(captures, scene, ["ann", "bob"]), ["ann", "bob"], captures[0].time)
        assert {m.sides for m in found} == ({((0, "right_palm"), (1, "right_palm"))} if expected else set())


def test_two_files_become_two_characters_who_hold_hands(tmp_path):
    """A child and an adult, from files of two adults whose hands stay 10 cm apart."""
    one, two = _pair(tmp_path, 0.1, 0.0)
    out = tmp_path / "out"
    done = CliRunner().invoke(
        app, ["import", str(one), str(two), "--out", str(out), "--height", "1.74", "--height", "1.2"]
    )
    assert done.exit_code == 0, done.output
    assert "ann/right_palm – bob/right_palm" in done.output
    assert {p.name for p in out.iterdir()} >= {"recording", "scene.xml", "motion.clip", "contacts.csv", "parts.yaml"}
    clip, recording = Clip.load(out), Recording(out)
    assert len(recording["time"]) == len(clip.time)
    model = recording.model
    scene = ip.Scene().add(ip.Humanoid(), "ann").add(ip.Humanoid.child(1.2), "bob", (0, 1))
    assert_allclose(clip.configurations(scene), recording["qpos"], atol=1e-9)
    limited = model.jnt_limited.astype(bool)
    angles = recording["qpos"][:, model.jnt_qposadr[limited]]
    assert (angles >= model.jnt_range[limited, 0] - 1e-9).all()
    assert (angles <= model.jnt_range[limited, 1] + 1e-9).all()
    together = clip.touching("ann/right_palm", "bob/right_palm")
    assert together.mean() > 0.8
    terms, soles = scene.kinematics(), []
    for q, touch in zip(recording["qpos"], together, strict=True):
        terms.place(q)
        palms = [terms.site_xpos[scene.site(f"{name}/right_palm")] for name in ("ann", "bob")]
        assert not touch or np.linalg.norm(palms[0] - palms[1]) < 0.01
        soles.append(
            [terms.site_xpos[scene.site(f"{n}/{s}_sole")].copy() for n in ("ann", "bob") for s in ("left", "right")]
        )
    assert np.ptp(np.array(soles), axis=0).max() < 0.002
    assert np.abs(np.array(soles)[:, :, 2]).max() < 0.002
    export(out, tmp_path / "strip.png")
    without = [t for t in read_touches(out / "contacts.csv") if "palm" not in t.first]
    write_touches(tmp_path / "edited.csv", without)
    arguments = [
        "import",
        str(one),
        str(two),
        "--out",
        str(tmp_path / "again"),
        "--contacts",
        str(tmp_path / "edited.csv"),
    ]
    again = CliRunner().invoke(app, [*arguments, "--map", str(out / "parts.yaml"), "--fps", "30"])
    assert again.exit_code == 0, again.output
    assert "palm" not in again.output
    assert Clip.load(tmp_path / "again").fps == pytest.approx(30)


def test_a_recording_becomes_a_clip(tmp_path):
    scene = ip.Scene().add(ip.Humanoid(), "ann", yaw=0.7)
    sim = ip.Simulation(scene, 0.01)
    for side in ("left", "right"):
        sim.contacts.add(f"ann/{side}_sole", ip.GROUND)
    sim.objectives += [ip.Com("ann", weight=50.0), ip.Posture("ann")]
    scene.save(tmp_path / "scene.xml")
    recorder = ip.Recorder(tmp_path / "recording", sim, {"scenario": "stand"})
    sim.observers.append(recorder)
    sim.run(0.3)
    recorder.close()
    clip = ip.clip_from_recording(tmp_path)
    assert list(clip.motions) == ["ann"]
    assert_allclose(clip.configurations(scene), Recording(tmp_path)["qpos"], atol=1e-12)
    assert {t[:2] for t in clip.touches} == {("ann/left_sole", "ground"), ("ann/right_sole", "ground")}
    _same(clip.mirrored().mirrored(), clip)
