"""Exports for other tools, read back with their own libraries: bones are where MuJoCo says, skins are sound, names are as expected."""

import itertools
import json
import sys

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import interplay as ip
from interplay.errors import InputError, InterplayError
from interplay.io.events import events_of
from interplay.io.export import export
from interplay.io.recording import Recording
from interplay.io.rig import rigs_of
from interplay.io.skeletons import SKELETONS, armature_of, names_of
from interplay.io.skin import skin_of
from interplay.io.take import frame_times, resampled
from interplay.runs.run import run

pygltflib = pytest.importorskip("pygltflib")
pxr = pytest.importorskip("pxr")

Z_UP = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
"""From the axes of glTF and BVH (y up) back to ours."""

BODIES = (
    "pelvis",
    "chest",
    "head",
    "left_hand",
    "right_hand",
    "left_foot",
    "right_foot",
    "left_forearm",
    "right_shank",
)


@pytest.fixture(scope="module")
def lever(tmp_path_factory):
    """Alice takes hold of a lever: the folder of its run."""
    folder = tmp_path_factory.mktemp("lever")
    run("lever", folder, seconds=2.5)
    return folder


@pytest.fixture(scope="module")
def king(tmp_path_factory):
    """Three characters and a litter."""
    folder = tmp_path_factory.mktemp("king")
    run("king", folder, seconds=0.3)
    return folder


def on_steps(recording, fps=30):
    """Return frames that fall on a step, and those steps."""
    times = frame_times(recording, fps)
    steps = np.argmin(np.abs(recording["time"][None] - times[:, None]), axis=1)
    on = np.flatnonzero(np.abs(recording["time"][steps] - times) < 1e-9)
    on = on[np.linspace(0, len(on) - 1, 6).round().astype(int)]
    return list(zip(on.tolist(), steps[on].tolist(), strict=True))


def world(recording, step):
    """Return where bodies are, by MuJoCo."""
    d = mujoco.MjData(recording.model)
    d.qpos[:] = recording["qpos"][step]
    mujoco.mj_kinematics(recording.model, d)
    return d


# -- glTF --------------------------------------------------------------------------------------------------------------


class Glb:
    """A file read back."""

    def __init__(self, path):
        self.doc = pygltflib.GLTF2().load(str(path))
        self.parents = {c: k for k, n in enumerate(self.doc.nodes) for c in n.children or []}

    def array(self, number):
        a = self.doc.accessors[number]
        view = self.doc.bufferViews[a.bufferView]
        kind = {5126: np.float32, 5121: np.uint8, 5123: np.uint16, 5125: np.uint32}[a.componentType]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}[a.type]
        values = np.frombuffer(self.doc.binary_blob(), kind, a.count * width, view.byteOffset).reshape(-1, width)
        if a.min:
            np.testing.assert_allclose(values.min(axis=0), a.min, rtol=1e-6)
            np.testing.assert_allclose(values.max(axis=0), a.max, rtol=1e-6)
        return values

    def animation(self, name):
        return next(a for a in self.doc.animations if a.name == name)

    def tracks(self, name, frame):
        """Return what an animation makes of nodes at a frame."""
        found = self.animation(name)
        return {
            (c.target.node, c.target.path): self.array(found.samplers[c.sampler].output)[frame] for c in found.channels
        }

    def pose(self, node, tracks):
        """Return a node's matrix in the world, in our axes."""
        out = np.eye(4)
        while node is not None:
            n, local = self.doc.nodes[node], np.eye(4)
            turn = tracks.get((node, "rotation"), n.rotation or [0, 0, 0, 1])
            local[:3, :3] = Rotation.from_quat(turn).as_matrix()
            local[:3, 3] = tracks.get((node, "translation"), n.translation or [0, 0, 0])
            out, node = local @ out, self.parents.get(node)
        back = np.eye(4)
        back[:3, :3] = Z_UP
        return back @ out

    def bones(self, character):
        """Return the nodes of a character's bones by name."""
        skin = next(s for s in self.doc.skins if s.name == character)
        return {self.doc.nodes[k].name: k for k in skin.joints}


def test_bones_in_a_glb_are_where_bodies_are(lever, tmp_path):
    export(lever, tmp_path / "lever.glb")
    glb, recording = Glb(tmp_path / "lever.glb"), Recording(lever)
    bones = glb.bones("alice")
    assert len(bones) == 47
    for frame, step in on_steps(recording):
        d, tracks = world(recording, step), glb.tracks("alice", frame)
        for name in BODIES:
            np.testing.assert_allclose(glb.pose(bones[name], tracks)[:3, 3], d.body(f"alice/{name}").xpos, atol=1e-4)


def test_objects_are_nodes_that_move_with_their_bodies(lever, tmp_path):
    export(lever, tmp_path / "lever.glb")
    glb, recording = Glb(tmp_path / "lever.glb"), Recording(lever)
    m = recording.model
    nodes = {n.name: k for k, n in enumerate(glb.doc.nodes)}
    others = [m.body(b).name for b in range(1, m.nbody) if not m.body(b).name.startswith("alice/")]
    assert set(others) <= nodes.keys()
    frame, step = on_steps(recording)[-1]
    d, tracks = world(recording, step), glb.tracks("all", frame)
    for name in others:
        np.testing.assert_allclose(glb.pose(nodes[name], tracks)[:3, 3], d.body(name).xpos, atol=1e-4)
    camera = glb.doc.nodes[nodes["camera"]]
    assert glb.doc.cameras[camera.camera].type == "perspective"


def test_every_character_has_an_animation_on_one_time_line(king, tmp_path):
    export(king, tmp_path / "king.glb", fps=60)
    glb = Glb(tmp_path / "king.glb")
    names = [a.name for a in glb.doc.animations]
    assert names[0] == "all"
    assert {"front", "rear", "king"} <= set(names)
    times = {s.input for a in glb.doc.animations for s in a.samplers}
    assert len(times) == 1
    np.testing.assert_allclose(glb.array(times.pop())[:, 0], frame_times(Recording(king), 60), atol=1e-6)
    assert len(glb.doc.skins) == 3
    assert len([n for n in glb.doc.nodes if n.skin is not None]) == 3


def test_a_glb_tells_what_happens(lever, tmp_path):
    export(lever, tmp_path / "lever.glb", skeleton="mixamo")
    glb = Glb(tmp_path / "lever.glb")
    events = glb.doc.scenes[0].extras["interplay"]
    assert [phase["name"] for phase in events["phases"]]
    held = next(e for e in events["hands"] if e["event"] == "grasp")
    armature = next(n for n in glb.doc.nodes if n.name == "alice")
    assert armature.extras["rest_pose"] == "T"
    assert armature.extras["bones"][held["hand"]] in ("mixamorig:LeftHand", "mixamorig:RightHand")
    assert held["held"] in {n.name for n in glb.doc.nodes}


def test_a_skin_in_a_glb_is_sound(king, tmp_path):
    export(king, tmp_path / "king.glb")
    glb = Glb(tmp_path / "king.glb")
    for node in (n for n in glb.doc.nodes if n.skin is not None):
        joints = glb.doc.skins[node.skin].joints
        for primitive in glb.doc.meshes[node.mesh].primitives:
            a = primitive.attributes
            weights, used = glb.array(a.WEIGHTS_0), glb.array(a.JOINTS_0)
            np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)
            assert used.max() < len(joints)
            assert not used[weights == 0].any()
            np.testing.assert_allclose(np.linalg.norm(glb.array(a.NORMAL), axis=1), 1, atol=1e-5)
            assert glb.array(primitive.indices).max() < glb.doc.accessors[a.POSITION].count


def test_bound_where_it_is(lever, tmp_path):
    """In the rest pose, what takes vertices into a joint's frame undoes the joint's place."""
    export(lever, tmp_path / "lever.glb", skeleton="unreal")
    glb = Glb(tmp_path / "lever.glb")
    back = np.eye(4)
    back[:3, :3] = Z_UP
    for joint, inverse in zip(glb.doc.skins[0].joints, glb.array(glb.doc.skins[0].inverseBindMatrices), strict=True):
        np.testing.assert_allclose(glb.pose(joint, {}) @ inverse.reshape(4, 4).T, back, atol=1e-5)


def test_a_vrm_names_its_humanoid(lever, tmp_path):
    export(lever, tmp_path / "lever.glb", skeleton="vrm")
    glb = Glb(tmp_path / "lever.glb")
    humanoid = glb.doc.extensions["VRMC_vrm"]["humanoid"]["humanBones"]
    assert {
        "hips",
        "spine",
        "chest",
        "neck",
        "head",
        "leftUpperArm",
        "rightLowerLeg",
        "leftThumbMetacarpal",
    } <= humanoid.keys()
    assert all(glb.doc.nodes[bone["node"]].name == name for name, bone in humanoid.items())


# -- USD ---------------------------------------------------------------------------------------------------------------


def test_joints_in_usd_are_where_bodies_are(lever, tmp_path):
    from pxr import Gf, Usd, UsdGeom, UsdSkel

    export(lever, tmp_path / "lever.usdc")
    stage, recording = Usd.Stage.Open(str(tmp_path / "lever.usdc")), Recording(lever)
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == 30
    assert stage.GetEndTimeCode() == len(frame_times(recording, 30)) - 1
    assert json.loads(stage.GetRootLayer().customLayerData["interplay"])["phases"]
    skeleton = UsdSkel.Skeleton(stage.GetPrimAtPath("/World/alice/Skeleton"))
    cache = UsdSkel.Cache()
    cache.Populate(UsdSkel.Root(stage.GetPrimAtPath("/World/alice")), Usd.TraverseInstanceProxies())
    query = cache.GetSkelQuery(skeleton)
    names = [str(joint).rpartition("/")[2] for joint in query.GetJointOrder()]
    places = {str(p.GetName()): p for p in stage.Traverse() if p.IsA(UsdGeom.Xform)}
    for frame, step in on_steps(recording):
        d = world(recording, step)
        found = np.array(query.ComputeJointSkelTransforms(frame))
        for name in BODIES:
            np.testing.assert_allclose(found[names.index(name)][3, :3], d.body(f"alice/{name}").xpos, atol=1e-4)
        handle = UsdGeom.Xformable(places["lever_arm"]).ComputeLocalToWorldTransform(frame)
        np.testing.assert_allclose(handle.Transform(Gf.Vec3d(0)), d.body("lever/arm").xpos, atol=1e-4)


def test_usd_is_valid(king, tmp_path):
    from pxr import Usd, UsdValidation

    export(king, tmp_path / "king.usda", skeleton="mixamo")
    every = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    errors = UsdValidation.ValidationContext(every).Validate(Usd.Stage.Open(str(tmp_path / "king.usda")))
    assert [error.GetMessage() for error in errors] == []


# -- BVH ---------------------------------------------------------------------------------------------------------------


def bvh_pose(path, frame, scale=1.0):
    """Return where a file's joints are at a frame, in our axes [m]."""
    lines = [line.split() for line in path.read_text().splitlines()]
    start = lines.index(["MOTION"])
    values = iter([float(v) for v in lines[start + 3 + frame]])
    out, stack, offset, name = {}, [np.eye(4)], np.zeros(3), ""
    for words in lines[1:start]:
        if words[0] in ("ROOT", "JOINT"):
            name = words[1]
        elif words[0] == "OFFSET":
            offset = np.array([float(v) for v in words[1:]]) * scale
        elif words[0] == "CHANNELS":
            local = np.eye(4)
            local[:3, 3] = offset
            for channel in words[2:]:
                value, axis = next(values), "XYZ".index(channel[0])
                if channel.endswith("position"):
                    local[axis, 3] = value * scale
                else:
                    local[:3, :3] = local[:3, :3] @ Rotation.from_euler("xyz"[axis], value, degrees=True).as_matrix()
            stack.append(stack[-1] @ local)
            out[name] = Z_UP @ stack[-1][:3, 3]
        elif words == ["End", "Site"]:
            stack.append(stack[-1])
        elif words == ["}"]:
            stack.pop()
    assert next(values, None) is None
    return out


@pytest.mark.parametrize(("skeleton", "unit"), [("interplay", "m"), ("unreal", "cm")])
def test_joints_in_a_bvh_are_where_bodies_are(skeleton, unit, lever, tmp_path):
    written = export(lever, tmp_path / "lever.bvh", skeleton=skeleton, unit=unit)
    assert written == [tmp_path / "lever.bvh"]
    recording, names = Recording(lever), names_of(skeleton)
    for frame, step in on_steps(recording):
        d, found = world(recording, step), bvh_pose(written[0], frame, 0.01 if unit == "cm" else 1.0)
        for name in BODIES:
            np.testing.assert_allclose(found[names.get(name, name)], d.body(f"alice/{name}").xpos, atol=1e-4)


def test_a_bvh_of_each_of_several_characters(king, tmp_path):
    written = export(king, tmp_path / "king.bvh", fps=24)
    assert sorted(path.name for path in written) == ["king_front.bvh", "king_king.bvh", "king_rear.bvh"]
    assert "Frame Time: 0.041666667" in written[0].read_text()


def test_in_place_a_character_stays_over_where_it_begins(lever, tmp_path):
    (path,) = export(lever, tmp_path / "lever.bvh", root_motion=False)
    recording = Recording(lever)
    frames = len(frame_times(recording, 30))
    pelvis = np.array([bvh_pose(path, frame)["pelvis"] for frame in range(0, frames, 7)])
    assert np.ptp(pelvis[:, :2], axis=0).max() < 1e-5
    assert np.ptp(recording["qpos"][:, recording.model.joint("alice/free").qposadr[0]]) > 1e-3


# -- rigs, skins, conventions ------------------------------------------------------------------------------------------


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
    found = resampled(recording, halves)
    way, ahead = np.zeros(m.nv), np.zeros(m.nv)
    for n, qpos in enumerate(found):
        mujoco.mj_differentiatePos(m, way, 1.0, recording["qpos"][n], qpos)
        mujoco.mj_differentiatePos(m, ahead, 1.0, qpos, recording["qpos"][n + 1])
        np.testing.assert_allclose(way, ahead, atol=1e-12)
    np.testing.assert_array_equal(resampled(recording, steps), recording["qpos"][:20])


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


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_bad_options_are_named(lever, tmp_path):
    with pytest.raises(InputError, match="fps"):
        export(lever, tmp_path / "x.glb", fps=25)
    with pytest.raises(InputError, match="skeleton"):
        export(lever, tmp_path / "x.glb", skeleton="mixam")
    assert export(lever, tmp_path / "x.bvh", fps="24")


@pytest.mark.parametrize(("ending", "library"), [(".glb", "pygltflib"), (".usdc", "pxr")])
def test_a_missing_library_names_the_extra(ending, library, lever, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InterplayError, match=r"interplay\[exchange\]"):
        export(lever, tmp_path / f"x{ending}")
