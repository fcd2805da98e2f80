"""BVH files: what is read, what is guessed, and that no damaged file does harm."""

import time as clock

import numpy as np
import pytest
from numpy.testing import assert_allclose

import interplay as ip
from bvh_files import TO_Y_UP, bvh_text, squats
from interplay.errors import InputError
from interplay.io.clips.bvh import poses, read_bvh
from interplay.io.clips.capture import read_capture
from interplay.io.clips.names import guess_parts, read_table, write_table
from interplay.io.clips.retarget import retarget
from interplay.io.export import export


@pytest.fixture(scope="module")
def moved():
    return squats(ip.Humanoid())


@pytest.fixture(scope="module")
def text(moved):
    scene, time, qpos = moved
    return bvh_text(scene.model, time, qpos, "ann")


def test_joints_are_where_bodies_were(moved, text, tmp_path):
    scene, _, qpos = moved
    (tmp_path / "a.bvh").write_text(text)
    take = read_bvh(tmp_path / "a.bvh")
    found = poses(take.skeleton, take.values)
    terms = scene.kinematics()
    for t in (0, 40, 149):
        terms.place(qpos[t])
        for part in ("left_hand", "head", "right_foot"):
            place = TO_Y_UP.T @ found.positions[t, take.skeleton.names.index(part)] * 0.01
            assert_allclose(place, terms.xpos[scene.body(f"ann/{part}")], atol=1e-6)


@pytest.mark.parametrize(
    ("unit", "axes"), [(0.01, TO_Y_UP), (1.0, np.eye(3)), (0.0254 / 0.45, TO_Y_UP), (0.001, np.eye(3))]
)
def test_units_and_axes_are_guessed(moved, unit, axes, tmp_path):
    scene, time, qpos = moved
    (tmp_path / "a.bvh").write_text(bvh_text(scene.model, time[:30], qpos[:30], "ann", unit, axes))
    capture = read_capture(tmp_path / "a.bvh")
    assert capture.unit == pytest.approx(unit)
    terms = scene.kinematics()
    terms.place(qpos[7])
    assert_allclose(capture.points["left_hand"][7], terms.xpos[scene.body("ann/left_hand")], atol=2e-6)


@pytest.mark.parametrize("model", [ip.Humanoid(), ip.Humanoid(1.6, sex="female", joints=34), ip.Humanoid.child()])
def test_round_trip_gives_the_same_angles(model, tmp_path):
    scene, time, qpos = squats(model)
    (tmp_path / "a.bvh").write_text(bvh_text(scene.model, time, qpos, "ann"))
    found = retarget([read_capture(tmp_path / "a.bvh")], scene, ["ann"])
    assert np.degrees(np.abs(found.qpos[:, 7:] - qpos[:, 7:]).max()) < 0.5
    assert np.abs(found.qpos[:, :3] - qpos[:, :3]).max() < 2e-3
    assert all(pins.all() for pins in found.pins[0].weights.values())  # both feet stand all the time


def test_what_is_exported_comes_back(moved, tmp_path):
    """Through a file of our own writer, whose skeleton stands in a T and has fingers."""
    scene, time, qpos = moved
    ip.write_recording(tmp_path / "out", scene, time, qpos)
    export(tmp_path / "out", tmp_path / "a.bvh", fps=60)
    found = retarget([read_capture(tmp_path / "a.bvh")], scene, ["ann"])
    assert len(found.qpos) == len(qpos)
    assert np.degrees(np.abs(found.qpos[:, 7:] - qpos[:, 7:]).max()) < 0.5


def test_a_first_frame_apart_is_no_part_of_the_motion(text, tmp_path):
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("Frame Time")) + 1
    rest = " ".join(lines[start].split()[:3] + ["0"] * (len(lines[start].split()) - 3))
    lines[start - 2] = "Frames: 151"
    (tmp_path / "a.bvh").write_text("\n".join([*lines[:start], rest, *lines[start:]]))
    capture = read_capture(tmp_path / "a.bvh")
    assert len(capture.time) == 150
    assert any("first frame" in line for line in capture.said)


CMU = {"pelvis": "Hips", "chest": "Spine1", "abdomen": "Spine", "left_thigh": "LeftUpLeg", "left_shank": "LeftLeg", "left_foot": "LeftFoot",
       "left_upper_arm": "LeftArm", "left_forearm": "LeftForeArm", "left_hand": "LeftHand", "head": "Head", "neck": "Neck"}  # fmt: skip
UNREAL = {"pelvis": "pelvis", "abdomen": "spine_01", "chest": "spine_02", "left_thigh": "thigh_l", "left_shank": "calf_l", "left_foot": "foot_l",
          "left_upper_arm": "upperarm_l", "left_forearm": "lowerarm_l", "left_hand": "hand_l", "head": "head", "neck": "neck_01"}  # fmt: skip
VRM = {"pelvis": "hips", "abdomen": "spine", "chest": "chest", "left_thigh": "leftUpperLeg", "left_shank": "leftLowerLeg", "left_foot": "leftFoot",
       "left_upper_arm": "leftUpperArm", "left_forearm": "leftLowerArm", "left_hand": "leftHand", "head": "head", "neck": "neck"}  # fmt: skip
DIALECTS = {
    "cmu": CMU,
    "mixamo": {part: f"mixamorig:{name}" for part, name in CMU.items()},
    "unreal": UNREAL,
    "vrm": VRM,
    "vroid": {part: f"J_Bip_C_{name}" if not part.startswith("left") else f"J_Bip_L_{name.replace('left', '')}" for part, name in VRM.items()},
}  # fmt: skip


def _renamed(dialect, part):
    left = part.replace("right_", "left_")
    name = DIALECTS[dialect][left]
    if part == left:
        return name
    for a, b in (("Left", "Right"), ("left", "right"), ("_L_", "_R_"), ("_l", "_r")):
        if a in name:
            return name.replace(a, b)
    raise AssertionError(name)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_in_use_are_known(moved, dialect, tmp_path):
    scene, time, qpos = moved
    text = bvh_text(scene.model, time[:10], qpos[:10], "ann", rename=lambda part: _renamed(dialect, part))
    (tmp_path / "a.bvh").write_text(text)
    parts = guess_parts(read_bvh(tmp_path / "a.bvh").skeleton)
    for part, name in DIALECTS[dialect].items():
        assert parts.get(part) == name
        twin = part.replace("left_", "right_")
        assert parts.get(twin) == _renamed(dialect, twin)


def test_a_table_overrides_the_guess(moved, tmp_path):
    scene, time, qpos = moved
    names = {part: f"bone{k}" for k, part in enumerate(["left_thigh", "left_shank", "left_foot"])}
    text = bvh_text(scene.model, time[:10], qpos[:10], "ann", rename=lambda part: names.get(part, part))
    (tmp_path / "a.bvh").write_text(text)
    with pytest.raises(InputError, match=r"left_thigh.*--map"):
        read_capture(tmp_path / "a.bvh")
    skeleton = read_bvh(tmp_path / "a.bvh").skeleton
    write_table(tmp_path / "parts.yaml", skeleton, {**guess_parts(skeleton), **names})
    capture = read_capture(tmp_path / "a.bvh", read_table(tmp_path / "parts.yaml"))
    assert capture.parts["left_shank"] == "bone1"
    with pytest.raises(InputError, match="did you mean 'bone1'"):
        read_capture(tmp_path / "a.bvh", {**names, "left_shank": "bones1"})


def _damages(text, rng):
    """Yield ways of damaging a file, each of which leaves no file that could be read."""
    lines = text.splitlines()
    motion = lines.index("MOTION")
    head, body = lines[:motion], lines[motion:]
    joint = [k for k, line in enumerate(head) if "OFFSET" in line]
    channel = [k for k, line in enumerate(head) if "CHANNELS" in line]
    brace = [k for k, line in enumerate(head) if line.strip() in ("{", "}")]
    frame = [k for k in range(motion + 3, len(lines))]

    def changed(index, line):
        return "\n".join([*lines[:index], *([] if line is None else [line]), *lines[index + 1 :]])

    def worded(index, word, value):
        words = lines[index].split()
        words[word] = value
        return changed(index, " ".join(words))

    pick = rng.choice
    yield lambda: text[: int(rng.integers(0, len(text) * 0.98))].rsplit(" ", 1)[0]  # truncated
    yield lambda: changed(int(pick(frame)), None)  # a frame too few
    yield lambda: text + lines[-1] + "\n"  # a frame too many
    yield lambda: worded(motion + 1, 1, str(pick(["0", "-5", "nan", "1e3", "999999999999", "1000000", "12x", "٣"])))
    yield lambda: worded(motion + 2, 2, str(pick(["0", "-1", "nan", "inf", "1e9", "fast", "1_0"])))
    yield lambda: worded(
        int(pick(frame)),
        int(rng.integers(0, 50)),
        str(pick(["nan", "inf", "-inf", "1e300", "1e999", "x", "--1", "1,5"])),
    )
    yield lambda: worded(int(pick(joint)), int(rng.integers(1, 4)), str(pick(["nan", "inf", "1e99", "", "a"])))
    yield lambda: changed(int(pick(joint)), None)  # no offset
    yield lambda: changed(int(pick(channel)), None)  # no channels
    yield lambda: changed(int(pick(brace)), None)  # a brace is lost
    yield lambda: worded(int(pick(channel)), 1, str(pick(["7", "99999999", "-3", "2"])))
    yield lambda: worded(int(pick(channel)), 2, str(pick(["Wrotation", "Xscale", "Zrotation Zrotation"])))
    yield lambda: "\n".join(
        [
            "HIERARCHY",
            *(
                f"{'ROOT' if k == 0 else 'JOINT'} j{k}\n{{\nOFFSET 0 1 0\nCHANNELS 0"
                for k in range(int(rng.integers(250, 20000)))
            ),
        ]
    )
    yield lambda: "HIERARCHY\n" + "{" * int(rng.integers(1, 1_000_000))
    yield lambda: bytes(rng.integers(0, 256, int(rng.integers(0, 5000)), dtype=np.uint8)).decode("latin-1")
    yield lambda: text.replace("JOINT", "ROOT", 1)
    yield lambda: text.replace(
        "JOINT left_thigh", str(pick(["JOINT", "JOINT " + "x" * 5000, "JOINT right_thigh", "JOINT a\x00b"]))
    )
    yield lambda: text.replace("MOTION", "MOTOIN")
    yield lambda: lines[0] + "\n" + text  # HIERARCHY twice
    yield lambda: "\n".join(head[:-1] + ["9" * 200_000] + body)


def test_every_damaged_file_is_a_clear_error(text, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "bad.bvh"
    count, longest = 0, 0.0
    while count < 300:
        for damage in _damages(text, rng):
            path.write_bytes(damage().encode("utf-8", "surrogatepass"))
            begin = clock.perf_counter()
            with pytest.raises(InputError, match=r"bad\.bvh:\d+: ") as caught:
                read_bvh(path)
            longest = max(longest, clock.perf_counter() - begin)
            assert len(str(caught.value)) < 400
            count += 1
    assert longest < 2.0


def test_files_that_cannot_be_opened_and_bodies_that_cannot_stand(moved, tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        read_bvh(tmp_path / "none.bvh")
    with pytest.raises(InputError, match="cannot read"):
        read_bvh(tmp_path)
    scene, time, qpos = moved
    flat = bvh_text(
        scene.model, time[:10], np.zeros_like(qpos[:10]) + scene.qpos, "ann", axes=np.zeros((3, 3)) + np.eye(3) * 1e-9
    )
    (tmp_path / "flat.bvh").write_text(flat)
    with pytest.raises(InputError, match=r"stands upright|no length"):
        read_capture(tmp_path / "flat.bvh")
