"""A glTF document while it is written: arrays in one buffer, nodes, materials, and tracks of animations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from interplay.io.formats.exchange import moves, needed, quaternions
from interplay.io.surfaces import Color, Surface
from interplay.io.take import Poses
from interplay.view.cast import linear

Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Turns our axes (z up) into those of glTF (y up): x stays x, the left of who faces x is −z. Blender turns them back."""

_FLOAT, _BYTE, _SHORT, _INT = 5126, 5121, 5123, 5125
_TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
_KINDS = {
    np.dtype(np.float32): _FLOAT,
    np.dtype(np.uint8): _BYTE,
    np.dtype(np.uint16): _SHORT,
    np.dtype(np.uint32): _INT,
}
_VERTICES, _INDICES = 34962, 34963

Track = tuple[int, str, int]
"""What an animation changes: a node, which of its properties, and the values."""


class Gltf:
    """A document."""

    def __init__(self, fps: int, frames: int):
        """Begin a document whose animations have some number of frames."""
        self._lib = needed("pygltflib", ".glb")
        self.doc = self._lib.GLTF2(asset=self._lib.Asset(version="2.0", generator="Interplay"))
        self.doc.scene, self.doc.scenes = 0, [self._lib.Scene(nodes=[])]
        self._blob, self._materials = bytearray(), {}
        self._times = self.array(np.arange(frames, dtype=np.float32) / np.float32(fps), bounds=True)

    def array(self, values: np.ndarray, target: int | None = None, bounds: bool = False) -> int:
        """Add an array (n, width) and return its number."""
        values = np.ascontiguousarray(values)
        if values.dtype == np.float64:
            values = values.astype(np.float32)
        flat = values.reshape(len(values), -1)
        self._blob += b"\0" * (-len(self._blob) % 4)
        self.doc.bufferViews.append(
            self._lib.BufferView(buffer=0, byteOffset=len(self._blob), byteLength=values.nbytes, target=target)
        )
        self._blob += values.tobytes()
        self.doc.accessors.append(
            self._lib.Accessor(
                bufferView=len(self.doc.bufferViews) - 1,
                componentType=_KINDS[values.dtype],
                count=len(values),
                type=_TYPES[flat.shape[1]],
                min=flat.min(axis=0).tolist() if bounds else None,
                max=flat.max(axis=0).tolist() if bounds else None,
            )
        )
        return len(self.doc.accessors) - 1

    def node(self, name: str, parent: int = -1, **content: Any) -> int:
        """Add a node below another one, or (−1) to the scene."""
        self.doc.nodes.append(self._lib.Node(name=name, **content))
        number = len(self.doc.nodes) - 1
        if parent < 0:
            self.doc.scenes[0].nodes.append(number)
        else:
            self.doc.nodes[parent].children = [*(self.doc.nodes[parent].children or []), number]
        return number

    def placed(self, name: str, parent: int, position: np.ndarray, rotation: np.ndarray, **content: Any) -> int:
        """Add a node that has a place."""
        number = self.node(name, parent, **content)
        node, quat = self.doc.nodes[number], quaternions(rotation[None])[0]
        node.translation = [float(v) for v in position] if np.abs(position).max() > 0 else None
        node.rotation = [float(v) for v in quat] if np.abs(quat[:3]).max() > 1e-9 else None
        return number

    def mesh(self, name: str, patches: list[tuple[Color, int, dict[str, int]]]) -> int:
        """Add a mesh of patches: colour, the number of the array of triangles' vertices, numbers of vertices' attributes."""
        primitives = [
            self._lib.Primitive(
                attributes=self._lib.Attributes(**attributes), indices=indices, material=self._material(c)
            )
            for c, indices, attributes in patches
        ]
        self.doc.meshes.append(self._lib.Mesh(name=name, primitives=primitives))
        return len(self.doc.meshes) - 1

    def attributes(self, surface: Surface) -> dict[str, int]:
        """Add the vertices of a surface, whose axes are those that they shall have."""
        normals = surface.normals / np.linalg.norm(surface.normals, axis=1, keepdims=True)
        return {
            "POSITION": self.array(surface.vertices, _VERTICES, bounds=True),
            "NORMAL": self.array(normals, _VERTICES),
        }

    def weights(self, joints: np.ndarray, weights: np.ndarray) -> dict[str, int]:
        """Add the joints that move vertices (n, 4), and how much."""
        small = joints.astype(np.uint8 if joints.max() < 256 else np.uint16)
        return {"JOINTS_0": self.array(small, _VERTICES), "WEIGHTS_0": self.array(weights, _VERTICES)}

    def triangles(self, faces: np.ndarray) -> int:
        """Add triangles (n, 3)."""
        kind = np.uint16 if faces.max() < 65535 else np.uint32
        return self.array(faces.reshape(-1).astype(kind), _INDICES)

    def _material(self, color: Color) -> int:
        if color not in self._materials:
            light = [*linear(np.array(color[:3])).tolist(), float(color[3])]
            look = self._lib.PbrMetallicRoughness(baseColorFactor=light, metallicFactor=0.0, roughnessFactor=0.75)
            self._materials[color] = len(self.doc.materials)
            self.doc.materials.append(
                self._lib.Material(
                    name=f"color_{len(self._materials)}",
                    pbrMetallicRoughness=look,
                    alphaMode="BLEND" if color[3] < 0.99 else "OPAQUE",
                    alphaCutoff=None,
                )
            )
        return self._materials[color]

    def skin(self, name: str, joints: list[int], inverse: np.ndarray) -> int:
        """Add a skin: its joints, and what takes vertices into their frames in the rest pose (n, 4, 4)."""
        matrices = self.array(inverse.transpose(0, 2, 1).reshape(-1, 16))  # column by column
        self.doc.skins.append(
            self._lib.Skin(name=name, joints=joints, inverseBindMatrices=matrices, skeleton=joints[0])
        )
        return len(self.doc.skins) - 1

    def camera(self, name: str, fov: float) -> int:
        """Add a camera with a vertical field of view [rad]."""
        view = self._lib.Perspective(yfov=fov, znear=0.05, zfar=200.0, aspectRatio=16 / 9)
        self.doc.cameras.append(self._lib.Camera(name=name, type="perspective", perspective=view))
        return len(self.doc.cameras) - 1

    def tracks(self, nodes: list[int], poses: Poses) -> list[Track]:
        """Add what moves of nodes, whose poses are given in the frames of their parents."""
        out: list[Track] = []
        for k, node in enumerate(nodes):
            at, rest = poses.positions[:, k], np.array(self.doc.nodes[node].translation or [0.0, 0.0, 0.0])
            if moves(np.vstack([rest, at])):
                out.append((node, "translation", self.array(at)))
            quats = quaternions(poses.rotations[:, k])
            if moves(np.vstack([self.doc.nodes[node].rotation or [0.0, 0.0, 0.0, 1.0], quats])):
                out.append((node, "rotation", self.array(quats)))
        return out

    def animation(self, name: str, tracks: list[Track]) -> None:
        """Add an animation, unless nothing moves."""
        if not tracks:
            return
        self.doc.animations.append(
            self._lib.Animation(
                name=name,
                samplers=[
                    self._lib.AnimationSampler(input=self._times, output=values, interpolation="LINEAR")
                    for *_, values in tracks
                ],
                channels=[
                    self._lib.AnimationChannel(sampler=k, target=self._lib.AnimationChannelTarget(node=node, path=path))
                    for k, (node, path, _) in enumerate(tracks)
                ],
            )
        )

    def save(self, out: Path) -> None:
        """Write the document with its arrays as one file."""
        self._blob += b"\0" * (-len(self._blob) % 4)
        self.doc.buffers = [self._lib.Buffer(byteLength=len(self._blob))]
        self.doc.set_binary_blob(bytes(self._blob))
        self.doc.save_binary(str(out))
