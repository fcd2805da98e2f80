"""A recording as USD: characters as UsdSkel, objects as UsdGeom, a camera; metres, z up, one time code a frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from interplay.errors import InterplayError
from interplay.io.events import events_of
from interplay.io.formats.base import Format, Progress
from interplay.io.formats.exchange import Motion, Performance, camera_poses, moves, needed, performance_of, quaternions
from interplay.io.props import prop_poses
from interplay.io.recording import Recording
from interplay.io.skeletons import Armature, local
from interplay.io.skin import Skin, skin_of
from interplay.io.surfaces import Color, Surface
from interplay.io.take import Poses
from interplay.view.cast import linear

_APERTURE = 24.0
"""Height of the camera's film [mm]; what is seen does not depend on it."""


def write(recording: Recording, out: Path, options: Motion, progress: Progress) -> None:
    """Write everything that is seen and how it moves; events are JSON in the layer's custom data."""
    pxr = needed("pxr", out.suffix)
    for name in ("Gf", "Sdf", "Tf", "Usd", "UsdGeom", "UsdShade", "UsdSkel", "Vt"):
        needed(f"pxr.{name}", out.suffix)
    play = performance_of(recording, options)
    progress(0.3)
    stage = _Stage(pxr, options.fps, len(play.take.times))
    for armature, poses in zip(play.armatures, play.poses, strict=True):
        stage.add_character(armature, poses, skin_of(recording.model, armature.rig))
    progress(0.7)
    stage.add_props(play)
    stage.add_camera(play)
    stage.save(out, {"interplay": json.dumps(events_of(recording, options.fps))})


class _Stage:
    """A stage while it is written."""

    def __init__(self, pxr: Any, fps: int, frames: int):
        self.p, self.frames, self._materials = pxr, frames, {}
        self.stage = stage = pxr.Usd.Stage.CreateInMemory()
        pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.Tokens.z)
        pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(fps)
        stage.SetFramesPerSecond(fps)
        stage.SetStartTimeCode(0)
        stage.SetEndTimeCode(frames - 1)
        stage.SetDefaultPrim(pxr.UsdGeom.Xform.Define(stage, "/World").GetPrim())

    def _path(self, parent: str, name: str) -> str:
        """Return a path that is free below another one, with a name that USD takes."""
        plain = path = f"{parent}/{self._identifier(name)}"
        count = 1
        while self.stage.GetPrimAtPath(path):
            path, count = f"{plain}_{count}", count + 1
        return path

    def _identifier(self, name: str) -> str:
        return self.p.Tf.MakeValidIdentifier(name)

    def add_character(self, armature: Armature, poses: Poses, skin: Skin | None) -> None:
        """Add an armature with its motion, and the skin that is bound to it."""
        p, stage, axes = self.p, self.stage, armature.axes()
        path = self._path("/World", armature.rig.name)
        root = p.UsdSkel.Root.Define(stage, path)
        root.GetPrim().SetCustomDataByKey("interplay:rest_pose", armature.rig.pose)
        skeleton = p.UsdSkel.Skeleton.Define(stage, f"{path}/Skeleton")
        joints: list[str] = []
        for name, parent in zip(armature.names, armature.parents, strict=True):
            joints.append((f"{joints[parent]}/" if parent >= 0 else "") + self._identifier(name))
        rest = local(armature, armature.rest_pose(), axes)
        skeleton.CreateJointsAttr(joints)
        skeleton.CreateBindTransformsAttr(self._matrices(armature.rest, axes))
        skeleton.CreateRestTransformsAttr(self._matrices(rest.positions[0], rest.rotations[0]))
        animation = p.UsdSkel.Animation.Define(stage, f"{path}/Skeleton/Animation")
        animation.CreateJointsAttr(joints)
        animation.CreateScalesAttr(p.Vt.Vec3hArray(len(joints), p.Gf.Vec3h(1, 1, 1)))
        motion = local(armature, poses, axes)
        places, turns = animation.CreateTranslationsAttr(), animation.CreateRotationsAttr()
        quats = quaternions(motion.rotations).astype(np.float32)
        for n in range(self.frames):
            places.Set(p.Vt.Vec3fArray.FromNumpy(motion.positions[n].astype(np.float32)), n)
            turns.Set(p.Vt.QuatfArray.FromNumpy(quats[n]), n)
        binding = p.UsdSkel.BindingAPI.Apply(skeleton.GetPrim())
        binding.CreateAnimationSourceRel().SetTargets([animation.GetPath()])
        if skin is not None:
            self._add_skin(f"{path}/Skin", skeleton, armature, skin)

    def _add_skin(self, path: str, skeleton: Any, armature: Armature, skin: Skin) -> None:
        p = self.p
        faces = np.concatenate(skin.patches)
        mesh = self._mesh(path, skin.surface._replace(faces=faces))
        binding = p.UsdSkel.BindingAPI.Apply(mesh.GetPrim())
        binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
        binding.CreateGeomBindTransformAttr(p.Gf.Matrix4d(1.0))
        count = skin.bones.shape[1]
        joints = np.where(skin.weights > 0, np.array(armature.own)[skin.bones], 0)
        indices = p.Vt.IntArray.FromNumpy(joints.reshape(-1).astype(np.int32))
        weights = p.Vt.FloatArray.FromNumpy(skin.weights.reshape(-1).astype(np.float32))
        binding.CreateJointIndicesPrimvar(False, count).Set(indices)
        binding.CreateJointWeightsPrimvar(False, count).Set(weights)
        start = 0
        for k, (color, patch) in enumerate(zip(skin.colors, skin.patches, strict=True)):
            own = p.Vt.IntArray.FromNumpy(np.arange(start, start + len(patch), dtype=np.int32))
            part = p.UsdShade.MaterialBindingAPI(mesh).CreateMaterialBindSubset(f"color_{k + 1}", own)
            p.UsdShade.MaterialBindingAPI.Apply(part.GetPrim()).Bind(self._material(color))
            start += len(patch)

    def _matrices(self, positions: np.ndarray, rotations: np.ndarray) -> Any:
        """Return places as matrices that take row vectors, as USD does."""
        out = np.tile(np.eye(4), (len(positions), 1, 1))
        out[:, :3, :3], out[:, 3, :3] = rotations.transpose(0, 2, 1), positions
        return self.p.Vt.Matrix4dArray.FromNumpy(out)

    def _mesh(self, path: str, surface: Surface) -> Any:
        p = self.p
        mesh = p.UsdGeom.Mesh.Define(self.stage, path)
        points = p.Vt.Vec3fArray.FromNumpy(surface.vertices.astype(np.float32))
        mesh.CreatePointsAttr(points)
        mesh.CreateNormalsAttr(p.Vt.Vec3fArray.FromNumpy(surface.normals.astype(np.float32)))
        mesh.SetNormalsInterpolation(p.UsdGeom.Tokens.vertex)
        mesh.CreateFaceVertexCountsAttr(p.Vt.IntArray(len(surface.faces), 3))
        mesh.CreateFaceVertexIndicesAttr(p.Vt.IntArray.FromNumpy(surface.faces.reshape(-1).astype(np.int32)))
        mesh.CreateSubdivisionSchemeAttr(p.UsdGeom.Tokens.none)
        mesh.CreateExtentAttr(p.UsdGeom.PointBased.ComputeExtent(points))
        return mesh

    def _material(self, color: Color) -> Any:
        if color not in self._materials:
            p, path = self.p, f"/World/Looks/color_{len(self._materials) + 1}"
            p.UsdGeom.Scope.Define(self.stage, "/World/Looks")
            material = p.UsdShade.Material.Define(self.stage, path)
            shader = p.UsdShade.Shader.Define(self.stage, f"{path}/Surface")
            shader.CreateIdAttr("UsdPreviewSurface")
            light = p.Gf.Vec3f(*linear(np.array(color[:3])).tolist())
            kinds = p.Sdf.ValueTypeNames
            shader.CreateInput("diffuseColor", kinds.Color3f).Set(light)
            shader.CreateInput("roughness", kinds.Float).Set(0.75)
            shader.CreateInput("opacity", kinds.Float).Set(float(color[3]))
            material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
            self._materials[color] = material
        return self._materials[color]

    def add_props(self, play: Performance) -> None:
        """Add objects, mechanisms and environment, each part below the one that carries it."""
        poses, paths = prop_poses(play.props, play.take), []
        for k, prop in enumerate(play.props):
            paths.append(self._path(paths[prop.parent] if prop.parent >= 0 else "/World", prop.name))
            self._place(self.p.UsdGeom.Xform.Define(self.stage, paths[k]), poses, k)
            for color, surface in prop.looks:
                mesh = self._mesh(self._path(paths[k], "Shape"), surface)
                self.p.UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(self._material(color))

    def add_camera(self, play: Performance) -> None:
        """Add the camera."""
        camera = self.p.UsdGeom.Camera.Define(self.stage, self._path("/World", "Camera"))
        self._place(camera, camera_poses(play.take), 0)
        camera.CreateVerticalApertureAttr(_APERTURE)
        camera.CreateHorizontalApertureAttr(_APERTURE * 16 / 9)
        camera.CreateFocalLengthAttr(_APERTURE / 2 / float(np.tan(play.take.shots[0].fov / 2)))
        camera.CreateClippingRangeAttr(self.p.Gf.Vec2f(0.05, 200.0))

    def _place(self, prim: Any, poses: Poses, k: int) -> None:
        """Give a prim its place, over time if it moves."""
        p, at, quats = self.p, poses.positions[:, k], quaternions(poses.rotations[:, k])
        place, turn = prim.AddTranslateOp(), prim.AddOrientOp()
        for op, kind, values in (
            (place, p.Gf.Vec3d, at.tolist()),
            (turn, lambda x, y, z, w: p.Gf.Quatf(w, x, y, z), quats.tolist()),
        ):
            if moves(np.array(values)):
                for n, value in enumerate(values):
                    op.Set(kind(*value), n)
            else:
                op.Set(kind(*values[0]))

    def save(self, out: Path, notes: dict[str, str]) -> None:
        """Write the stage."""
        layer = self.stage.GetRootLayer()
        layer.customLayerData = notes
        if not layer.Export(str(out)):
            raise InterplayError(f"cannot write {str(out)!r}")


FORMAT = Format(
    (".usda", ".usdc"), "USD: skinned characters, objects, camera, motion (docs/exchange.md)", write, Motion
)
