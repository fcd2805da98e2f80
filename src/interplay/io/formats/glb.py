"""A recording as glTF: skinned characters on armatures, objects as nodes, a camera, animations, and events as extras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from interplay.io.events import events_of
from interplay.io.formats.base import Format, Progress
from interplay.io.formats.exchange import Motion, Performance, camera_poses, performance_of
from interplay.io.formats.gltf import Y_UP, Gltf, Track
from interplay.io.props import prop_poses
from interplay.io.recording import Recording
from interplay.io.skeletons import Armature, local, names_of
from interplay.io.skin import skin_of
from interplay.io.take import Poses

_VRM_BONES = ("hips", "spine", "head") + tuple(
    f"{side}{part}"
    for side in ("left", "right")
    for part in ("UpperLeg", "LowerLeg", "Foot", "UpperArm", "LowerArm", "Hand")
)
"""Without these no body is a humanoid for VRM."""


def write(recording: Recording, out: Path, options: Motion, progress: Progress) -> None:
    """Write everything that is seen and how it moves; the first animation moves all at once, others one character each."""
    play = performance_of(recording, options)
    progress(0.3)
    file = Gltf(options.fps, len(play.take.times))
    casts = [
        (armature.rig.name, _add_character(file, recording.model, armature, poses))
        for armature, poses in zip(play.armatures, play.poses, strict=True)
    ]
    casts.append(("objects", _add_props(file, play) + _add_camera(file, play)))
    casts = [(name, tracks) for name, tracks in casts if tracks]
    progress(0.7)
    if len(casts) > 1:
        file.animation("all", [track for _, tracks in casts for track in tracks])
    for name, tracks in casts:
        file.animation(name, tracks)
    file.doc.scenes[0].name = str(recording.header["scenario"])
    file.doc.scenes[0].extras = {"interplay": events_of(recording, options.fps)}
    if options.skeleton == "vrm" and len(play.armatures) == 1 and play.armatures[0].rig.pose == "T":
        _declare_vrm(file, play.armatures[0].rig.name)
    file.save(out)


def _turned(poses: Poses, root: int = 0) -> Poses:
    """Return local poses with that of a root, which is given in our world, in the world of glTF."""
    positions, rotations = poses.positions.copy(), poses.rotations.copy()
    positions[:, root], rotations[:, root] = positions[:, root] @ Y_UP.T, Y_UP @ rotations[:, root]
    return Poses(positions, rotations)


def _add_character(file: Gltf, m: mujoco.MjModel, armature: Armature, poses: Poses) -> list[Track]:
    """Add an armature, and the skin that is bound to it."""
    axes, rig = armature.axes(), armature.rig
    rest = _turned(local(armature, armature.rest_pose(), axes))
    top = file.node(rig.name, extras=_about(armature))
    nodes: list[int] = []
    for name, parent, at, turn in zip(
        armature.names, armature.parents, rest.positions[0], rest.rotations[0], strict=True
    ):
        nodes.append(file.placed(name, nodes[parent] if parent >= 0 else top, at, turn))
    skin = skin_of(m, rig)
    if skin is not None:
        shape = skin.surface.moved(np.zeros(3), Y_UP)
        joints = np.where(skin.weights > 0, np.array(armature.own)[skin.bones], 0)
        attributes = file.attributes(shape) | file.weights(joints, skin.weights)
        patches = [
            (color, file.triangles(faces), attributes) for color, faces in zip(skin.colors, skin.patches, strict=True)
        ]
        inverse = np.tile(np.eye(4), (len(nodes), 1, 1))
        for k, (at, turn) in enumerate(zip(armature.rest @ Y_UP.T, Y_UP @ axes, strict=True)):
            inverse[k, :3, :3], inverse[k, :3, 3] = turn.T, -turn.T @ at
        mesh = file.mesh(f"{rig.name}_skin", patches)
        file.node(f"{rig.name}_skin", mesh=mesh, skin=file.skin(rig.name, nodes, inverse))
    return file.tracks(nodes, _turned(local(armature, poses, axes)))


def _about(armature: Armature) -> dict[str, Any]:
    """Return what an armature tells about itself: its rest pose, and its bones by the names that events use."""
    rig = armature.rig
    bones = {f"{rig.name}/{bone.name}": armature.names[k] for bone, k in zip(rig.bones, armature.own, strict=True)}
    return {"character": rig.name, "rest_pose": rig.pose, "bones": bones}


def _add_props(file: Gltf, play: Performance) -> list[Track]:
    """Add objects, mechanisms and environment, each part in the frame of the one that carries it."""
    poses, nodes = prop_poses(play.props, play.take), []
    for k, prop in enumerate(play.props):
        if prop.parent < 0:
            poses = _turned(poses, k)
        content = {}
        if prop.looks:
            patches = [(c, file.triangles(shape.faces), file.attributes(shape)) for c, shape in prop.looks]
            content["mesh"] = file.mesh(prop.name, patches)
        parent = nodes[prop.parent] if prop.parent >= 0 else -1
        nodes.append(file.placed(prop.name, parent, poses.positions[0, k], poses.rotations[0, k], **content))
    return file.tracks(nodes, poses)


def _add_camera(file: Gltf, play: Performance) -> list[Track]:
    poses = _turned(camera_poses(play.take))
    camera = file.camera("camera", play.take.shots[0].fov)
    return file.tracks([file.placed("camera", -1, poses.positions[0, 0], poses.rotations[0, 0], camera=camera)], poses)


def _declare_vrm(file: Gltf, name: str) -> None:
    """Say which nodes are which bones of VRM's humanoid, if it has all that it must have. A file has room for one character."""
    places = {node.name: k for k, node in enumerate(file.doc.nodes)}
    if not all(bone in places for bone in _VRM_BONES):
        return
    bones = {bone: {"node": places[bone]} for bone in names_of("vrm").values() if bone in places}
    meta = {"name": name, "authors": ["Interplay"], "licenseUrl": "https://vrm.dev/licenses/1.0/"}
    file.doc.extensionsUsed = ["VRMC_vrm"]
    file.doc.extensions = {"VRMC_vrm": {"specVersion": "1.0", "meta": meta, "humanoid": {"humanBones": bones}}}


FORMAT = Format(
    (".glb",), "glTF: skinned characters, objects, camera, animations, events (docs/exchange.md)", write, Motion
)
