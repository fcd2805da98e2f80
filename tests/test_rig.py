"""Rigs, skins, conventions, frames and events: what exports for other tools are made of."""

import itertools
import json

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import interplay as ip
from interplay.io.events import events_of
from interplay.io.moments import Moments
from interplay.io.recording import Recording
from interplay.io.rig import rigs_of
from interplay.io.skeletons import SKELETONS, armature_of, names_of
from interplay.io.skin import skin_of
from interplay.io.take import frame_times


@pytest.fixture(scope="module")
def human():
    m = ip.Scene().add(ip.Humanoid(), "alice").model
    (rig,) = rigs_of(m)
    return m, rig


def test_the_rest_pose_is_a_t(human):
    _, rig = human
    at = {bone.name: rig.rest[k] for k, bone in enumerate(rig.bones)}
    assert rig.pose == "T"
    for side, sign in (("left", 1), ("right", -1)):
        row = [f"{side}_{part}" for part in ("upper_arm", "forearm", "hand", "middle_1", "middle_3")]
        assert all(sign * at[b][0] > sign * at[a][0] + 0.02 for a, b in itertools.pairwise(row))
        assert max(abs(at[name][2] - at[row[0]][2]) for name in row) < 0.01
        assert at[f"{side}_thumb_3"][1] < at[f"{side}_thumb_1"][1] - 0.02  # it looks along −y, and so do thumbs
        np.testing.assert_allclose(at[f"{side}_foot"][:2], at[f"{side}_thigh"][:2], atol=1e-9)
    np.testing.assert_allclose(at["pelvis"][:2], 0, atol=1e-9)


def test_a_skin_stands_on_the_ground_and_is_bound_to_neighbours(human):
    m, rig = human
    skin = skin_of(m, rig)
    assert skin.surface.vertices[:, 2].min() == pytest.approx(0, abs=1e-9)
    assert skin.surface.vertices[:, 2].max() == pytest.approx(1.74, abs=0.02)
    np.testing.assert_allclose(skin.weights.sum(axis=1), 1, atol=1e-12)
    families = [
        {k, bone.parent, *(c for c, other in enumerate(rig.bones) if other.parent == k)}
        for k, bone in enumerate(rig.bones)
    ]
    used = {frozenset(bones[weights > 0].tolist()) for bones, weights in zip(skin.bones, skin.weights, strict=True)}
    assert all(any(together <= family for family in families) for together in used)


def test_a_bent_elbow_is_smooth_along_the_arm(human):
    """Neighbours on the arm's shapes stay neighbours when the forearm turns: no edge of a face is torn long."""
    m, rig = human
    skin, elbow = skin_of(m, rig), rig.place("left_forearm")
    moved = {k for k in range(len(rig.bones)) if rig.bones[k].name.startswith("left_") and _hangs_on(rig, k, elbow)}
    share = (skin.weights * np.isin(skin.bones, sorted(moved))).sum(axis=1)[:, None]
    bend, at = Rotation.from_euler("z", 80, degrees=True).as_matrix(), skin.surface.vertices
    bent = (1 - share) * at + share * (rig.rest[elbow] + (at - rig.rest[elbow]) @ bend.T)
    edges = np.concatenate([skin.surface.faces[:, pair] for pair in ((0, 1), (1, 2), (2, 0))])
    before, after = (np.linalg.norm(v[edges[:, 0]] - v[edges[:, 1]], axis=1) for v in (at, bent))
    assert (after - before).max() < 0.02
    assert 0.2 < share[(share > 0) & (share < 1)].mean() < 0.8


def _hangs_on(rig, bone, ancestor):
    while bone >= 0 and bone != ancestor:
        bone = rig.bones[bone].parent
    return bone == ancestor


@pytest.mark.parametrize("skeleton", SKELETONS)
def test_every_convention_has_all_bones_below_one_root(skeleton, human):
    armature = armature_of(human[1], skeleton)
    assert len(set(armature.names)) == len(armature.names)
    assert armature.parents[0] == -1
    assert all(0 <= parent < k for k, parent in enumerate(armature.parents) if k)
    assert set(names_of(skeleton).values()) - {
        names_of(skeleton).get(f"{s}_clavicle") for s in ("left", "right")
    } <= set(armature.names)


def test_names_and_hierarchy_are_as_tools_expect(human):
    def way(skeleton, bone):
        armature, out = armature_of(human[1], skeleton), []
        k = armature.names.index(bone)
        while k >= 0:
            out.insert(0, armature.names[k])
            k = armature.parents[k]
        return out

    mixamo = [
        "Hips",
        "Spine",
        "Spine1",
        "Spine2",
        "LeftShoulder",
        "LeftArm",
        "LeftForeArm",
        "LeftHand",
        "LeftHandIndex1",
    ]
    assert way("mixamo", "mixamorig:LeftHandIndex1") == [f"mixamorig:{name}" for name in mixamo]
    assert way("mixamo", "mixamorig:RightToeBase")[1:] == [
        f"mixamorig:Right{name}" for name in ("UpLeg", "Leg", "Foot", "ToeBase")
    ]
    assert way("unreal", "pinky_03_r") == [
        *("root", "pelvis", "spine_01", "spine_02", "spine_03", "clavicle_r", "upperarm_r", "lowerarm_r", "hand_r"),
        *("pinky_01_r", "pinky_02_r", "pinky_03_r"),
    ]
    assert way("unreal", "ball_l") == ["root", "pelvis", "thigh_l", "calf_l", "foot_l", "ball_l"]
    assert way("vrm", "leftThumbDistal") == [
        *("hips", "spine", "chest", "leftShoulder", "leftUpperArm", "leftLowerArm", "leftHand"),
        *("leftThumbMetacarpal", "leftThumbProximal", "leftThumbDistal"),
    ]


def test_a_body_with_clavicles_keeps_them():
    (rig,) = rigs_of(ip.Scene().add(ip.Humanoid(joints=34), "alice").model)
    assert armature_of(rig, "mixamo").names.count("mixamorig:LeftShoulder") == 1
    assert len(armature_of(rig, "mixamo").names) == len(rig.bones) + 3  # Spine1 and toes


# -- time and events ---------------------------------------------------------------------------------------------------


def test_resampled_between_steps_on_the_manifold(lever):
    recording = Recording(lever)
    m, steps = recording.model, recording["time"][:20]
    halves = (steps[1:] + steps[:-1]) / 2
    moments = Moments(recording)
    found = [moments.qpos(time) for time in halves]
    way, ahead = np.zeros(m.nv), np.zeros(m.nv)
    for n, qpos in enumerate(found):
        mujoco.mj_differentiatePos(m, way, 1.0, recording["qpos"][n], qpos)
        mujoco.mj_differentiatePos(m, ahead, 1.0, qpos, recording["qpos"][n + 1])
        np.testing.assert_allclose(way, ahead, atol=1e-12)
    np.testing.assert_array_equal([moments.qpos(time) for time in steps], recording["qpos"][:20])


def test_events_are_plain_data(lever):
    recording = Recording(lever)
    events = json.loads(json.dumps(events_of(recording, fps=60)))
    assert events["phases"][0]["begin"] == 0
    assert all(a["end"] == b["begin"] for a, b in itertools.pairwise(events["phases"]))
    assert [e["foot"] for e in events["feet"] if e["event"] == "down" and e["time"] == 0] == [
        "alice/left_foot",
        "alice/right_foot",
    ]
    grasps = [e for e in events["hands"] if e["event"] == "grasp" and e["how"] == "grip"]
    assert {e["hand"] for e in grasps} == {"alice/left_hand", "alice/right_hand"}
    assert all(e["held"].startswith("lever/") and e["time"] > 0 for e in grasps)
    soles = [c for c in events["contacts"] if c["surfaces"][0].endswith("sole")]
    weight = sum(np.array(c["force"][0])[2] for c in soles)
    mass = recording.model.body_subtreemass[recording.model.body("alice/pelvis").id]
    assert weight == pytest.approx(9.81 * mass, rel=0.05)
    assert len(soles[0]["force"]) == len(frame_times(recording, 60))


def test_names_that_a_body_has_twice_are_told_apart(human):
    _, rig = human
    bones = [bone._replace(name="spine") if bone.name == "left_ring_3" else bone for bone in rig.bones]
    names = armature_of(rig._replace(bones=tuple(bones)), "vrm").names
    assert len(set(names)) == len(names)
    assert "spine_2" in names
