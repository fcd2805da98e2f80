"""Runs in a Python that has Blender's module: imports a file, tells where bones are at some times, and may render a frame.

    python blender_import.py REQUEST.json ANSWER.json

The request names the file, frames a second, frames, and bones; of ``render`` (a picture, and at which frame) and ``fbx`` (a
file to write) either may be absent. The answer has, of every armature, the bones that were found at every frame [m].
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import bpy


def main() -> None:
    """Do what a request asks."""
    request = json.loads(Path(sys.argv[1]).read_text())
    first = read(request["file"], request["fps"])
    bpy.context.scene.render.fps = request["fps"]
    answer = {"version": bpy.app.version_string, "armatures": armatures(request["frames"], first, request["bones"])}
    if "fbx" in request:  # before there is a lamp in the scene
        write_fbx(request["fbx"])
    if "render" in request:
        render(**request["render"])
    Path(sys.argv[2]).write_text(json.dumps(answer))


def read(file: str, fps: int) -> int:
    """Import a file into an empty scene, and return at which frame time 0 is: Blender puts no BVH before 1."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = fps
    kind = Path(file).suffix
    if kind == ".glb":
        bpy.ops.import_scene.gltf(filepath=file)
    elif kind == ".bvh":
        bpy.ops.import_anim.bvh(filepath=file, frame_start=1)
        return 1
    elif kind == ".fbx":
        bpy.ops.import_scene.fbx(filepath=file, anim_offset=0.0)
    else:
        bpy.ops.wm.usd_import(filepath=file)
    return 0


def armatures(frames: list[int], first: int, bones: list[str]) -> dict[str, dict]:
    """Return of every armature how many bones it has, its last frame, and where some of them begin at some frames [m]."""
    out = {}
    for thing in [thing for thing in bpy.data.objects if thing.type == "ARMATURE"]:
        action = thing.animation_data and thing.animation_data.action
        found = {bone: [] for bone in bones if bone in thing.pose.bones}
        for frame in frames:
            bpy.context.scene.frame_set(first + frame)
            for bone in found:
                found[bone].append(list(thing.matrix_world @ thing.pose.bones[bone].head))
        parent = thing.parent.name if thing.parent else ""
        last = action.frame_range[1] - first if action else 0.0
        out[thing.name] = {"parent": parent, "bones": len(thing.pose.bones), "last": last, "heads": found}
    return out


def write_fbx(file: str) -> None:
    """Write the scene as FBX, with the motion that is shown, frame by frame."""
    actions = [thing.animation_data.action for thing in bpy.data.objects if thing.animation_data]
    last = max((action.frame_range[1] for action in actions if action), default=1)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, round(last)
    bpy.ops.export_scene.fbx(
        filepath=file,
        add_leaf_bones=False,
        bake_anim_use_nla_strips=False,
        bake_anim_use_all_actions=False,
        bake_anim_simplify_factor=0.0,
    )


def render(
    picture: str, frame: int, width: int = 960, height: int = 720, engine: str = "CYCLES", camera: dict | None = None
) -> None:
    """Render a frame as the imported camera sees it, or from one of its own."""
    from mathutils import Vector

    scene = bpy.context.scene
    scene.frame_set(frame)
    if camera is not None:
        own = bpy.data.objects.new("own", bpy.data.cameras.new("own"))
        scene.collection.objects.link(own)
        own.location = camera["at"]
        own.rotation_euler = (Vector(camera["to"]) - Vector(camera["at"])).to_track_quat("-Z", "Y").to_euler()
        own.data.lens = camera.get("lens", 50)
        scene.camera = own
    else:
        scene.camera = next(thing for thing in bpy.data.objects if thing.type == "CAMERA")
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy, sun.rotation_euler = 3.0, (0.6, 0.2, 0.8)
    scene.collection.objects.link(sun)
    bpy.ops.mesh.primitive_plane_add(size=30)
    world = scene.world = bpy.data.worlds.new("sky")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs[0].default_value = (0.8, 0.85, 0.9, 1)
    scene.render.engine = engine
    if engine == "CYCLES":
        scene.cycles.samples, scene.cycles.device, scene.render.threads_mode, scene.render.threads = (
            12,
            "CPU",
            "FIXED",
            2,
        )
    scene.render.resolution_x, scene.render.resolution_y, scene.render.filepath = width, height, picture
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # Blender as a module may crash while Python ends
