"""Exports for other tools, read back with their own libraries: bones are where MuJoCo says, skins are sound, names are as expected."""

import json
import sys

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from interplay.errors import InputError, InterplayError
from interplay.io.export import export
from interplay.io.recording import Recording
from interplay.io.skeletons import names_of
from interplay.io.take import frame_times
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
