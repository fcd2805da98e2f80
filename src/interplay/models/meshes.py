"""Mesh files as MuJoCo takes them: binary STL, OBJ and MSH as they are, ASCII STL and COLLADA as binary STL."""

from __future__ import annotations

import hashlib
import io
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from interplay.errors import InputError, unknown_name
from interplay.models.remedies import NeedsRemedy

FORMATS = (".stl", ".obj", ".msh", ".dae")
"""Endings of the mesh files that are read."""

_THICKNESS = 0.002
"""How thick [m] a mesh at least is that is thickened."""


class Meshes:
    """The meshes and pictures of one model file, as bytes under names of their own, and what the files are called."""

    def __init__(self, file: str, treatment: dict[str, Literal["drop", "thicken", "z_up"]], within: Path | None):
        """Take the model file's name, what to do with which mesh, and the folder in which all must lie."""
        self.file, self.treatment, self.within = file, treatment, within
        self.assets: dict[str, bytes] = {}
        self._names: dict[str, str] = {}
        self.turned: dict[str, str] = {}
        """Files that say that another axis than z is up, by the names of their meshes."""

    def dropped(self, name: str) -> bool:
        """Return whether a mesh is to be left out."""
        return self.treatment.get(Path(name).name) == "drop"

    def keep(self, path: Path) -> str:
        """Read a file and return the name under which it is kept."""
        if self.within is not None and not path.resolve().is_relative_to(self.within):
            raise InputError(f"{self.file}: mesh {path.name!r} leads out of the folder of what names it")
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(
                f"{self.file}: mesh {path.name!r}: {error.strerror or error}; the sidecar may leave it out: "
                f"'meshes: {{{path.name}: drop}}'"
            ) from None
        kind, stem = path.suffix.lower(), hashlib.sha256(content).hexdigest()[:8] + "_" + path.stem.lower()
        if kind == ".dae":
            as_is = self.treatment.get(path.name) == "z_up"
            if b"<up_axis>Z_UP" not in content and not as_is:
                self.turned[stem] = path.name
            content, kind = self._read(path.name, _collada, content, as_is), ".stl"
        elif kind == ".stl" and _is_text(content):
            content = self._read(path.name, _ascii_stl, content)
        if self.treatment.get(path.name) == "thicken":
            content, kind = self._read(path.name, _thickened, content, kind), ".stl"
        self.assets[stem + kind] = content
        self._names[stem] = path.name
        return stem + kind

    def _read(self, name: str, how, *given) -> bytes:
        try:
            triangles = how(*given)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, ET.ParseError) as error:
            raise InputError(f"{self.file}: mesh {name!r} is damaged: {error}") from None
        if not len(triangles) or not np.isfinite(triangles).all():
            raise NeedsRemedy(self.file, f"mesh {name!r} has no triangles", "meshes", {name: "drop"})
        return _binary_stl(triangles)

    def refuse_unknown(self, met: list[str]) -> None:
        """Refuse entries of the sidecar for meshes that the file does not name."""
        known = {Path(name).name for name in met}
        for name in self.treatment:
            if name not in known:
                raise InputError(f"{self.file}: meshes: {unknown_name('mesh', name, known)}")

    def blame(self, message: str) -> InputError:
        """Return MuJoCo's complaint with the files' own names; one about a mesh that can be thickened says so."""
        culprit = None
        for stem, name in self._names.items():
            if stem in message:
                message, culprit = message.replace(stem, Path(name).stem), name
        message = " ".join(message.split())
        if culprit is None:
            return InputError(f"{self.file}: {message}")
        return NeedsRemedy(
            self.file,
            f"mesh {culprit!r}: {message}",
            "meshes",
            {culprit: "drop" if culprit in self.treatment else "thicken"},
        )


def _is_text(content: bytes) -> bool:
    """Return whether an STL file is an ASCII one; binary ones have the length that their count says."""
    binary = len(content) >= 84 and len(content) == 84 + 50 * int.from_bytes(content[80:84], "little")
    return not binary and content.lstrip()[:5].lower() == b"solid"


def _ascii_stl(content: bytes) -> np.ndarray:
    lines = (line.split() for line in content.decode("utf-8", "replace").splitlines())
    points = [[float(v) for v in line[1:4]] for line in lines if line[:1] == ["vertex"]]
    return np.array(points, float).reshape(-1, 3, 3)


def _thickened(content: bytes, kind: str) -> np.ndarray:
    """Return the convex hull of a mesh, moved apart along its thinnest direction where it is thinner than 2 mm."""
    import trimesh  # takes long to load, and few need it

    mesh = trimesh.load(io.BytesIO(content), file_type=kind[1:], force="mesh", process=False)
    points = np.asarray(mesh.vertices, float)  # type: ignore[attr-defined]
    axes = np.linalg.svd(points - points.mean(0), full_matrices=False)[2]
    for axis in axes:
        missing = _THICKNESS - np.ptp(points @ axis)
        if missing > 0:
            points = np.vstack([points - 0.5 * missing * axis, points + 0.5 * missing * axis])
    import trimesh  # takes long to load, and few need it

    return np.asarray(trimesh.convex.convex_hull(points).triangles)


def _binary_stl(triangles: np.ndarray) -> bytes:
    record = np.zeros(len(triangles), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    record["corners"] = triangles
    return bytes(80) + len(triangles).to_bytes(4, "little") + record.tobytes()


# -- COLLADA -----------------------------------------------------------------------------------------------------------


_UPRIGHT = {
    "X_UP": np.array([[0.0, -1, 0, 0], [0, 0, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]),
    "Y_UP": np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]),
}
"""Turns of files whose up is not z."""


def _collada(content: bytes, as_is: bool) -> np.ndarray:
    """Return the triangles (n, 3, 3) of a COLLADA file, in metres, z up as in URDF; or ``as_is``, whatever axis it names."""
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise ValueError("document types and entities are not allowed")
    root = ET.fromstring(content)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    unit = root.find("asset/unit")
    metre = float(unit.get("meter", "1")) if unit is not None else 1.0
    up = "Z_UP" if as_is else (root.findtext("asset/up_axis") or "Y_UP").strip()
    axes = np.diag([metre, metre, metre, 1.0]) @ _UPRIGHT.get(up, np.eye(4))
    named = {f"#{e.get('id')}": e for e in root.iter() if e.get("id")}
    scene = root.find("scene/instance_visual_scene")
    top = named.get(scene.get("url", "")) if scene is not None else root.find("library_visual_scenes/visual_scene")
    if top is None:
        raise ValueError("it has no scene")
    parts = [p for node in top.findall("node") for p in _node(node, axes, named, 0)]
    return np.vstack(parts) if parts else np.zeros((0, 3, 3))


def _node(node: ET.Element, outer: np.ndarray, named: dict[str, ET.Element], depth: int) -> Iterator[np.ndarray]:
    """Yield the triangles of a node and of those in it."""
    if depth > 50:
        raise ValueError("its nodes are nested too deeply")
    X = outer
    for element in node:
        if element.tag in _TRANSFORMS:
            X = X @ _TRANSFORMS[element.tag](np.array((element.text or "").split(), float))
    for element in node:
        if element.tag == "instance_geometry":
            mesh = named[element.get("url", "")].find("mesh")
            if mesh is not None:
                for triangles in _primitives(mesh, named):
                    yield triangles @ X[:3, :3].T + X[:3, 3]
        elif element.tag == "node":
            yield from _node(element, X, named, depth + 1)
        elif element.tag == "instance_node":
            yield from _node(named[element.get("url", "")], X, named, depth + 1)


def _translation(v: np.ndarray) -> np.ndarray:
    X = np.eye(4)
    X[:3, 3] = v
    return X


def _rotation(v: np.ndarray) -> np.ndarray:
    import trimesh  # takes long to load, and few need it

    return trimesh.transformations.rotation_matrix(np.radians(v[3]), v[:3])


_TRANSFORMS = {
    "matrix": lambda v: v.reshape(4, 4),
    "translate": _translation,
    "rotate": _rotation,
    "scale": lambda v: np.diag([*v, 1.0]),
}


def _primitives(mesh: ET.Element, named: dict[str, ET.Element]) -> Iterator[np.ndarray]:
    """Yield the triangles of the primitives of a mesh; polygons are fans."""
    for kind in ("triangles", "polylist", "polygons"):
        for primitive in mesh.findall(kind):
            inputs = {i.get("semantic"): i for i in primitive.findall("input")}
            stride = 1 + max(int(i.get("offset", "0")) for i in primitive.findall("input"))
            position = named[inputs["VERTEX"].get("source", "")].find("input[@semantic='POSITION']")
            if position is None:
                raise ValueError("vertices without positions")
            source = named[position.get("source", "")]
            points = np.array((source.findtext("float_array") or "").split(), float).reshape(-1, 3)
            offset = int(inputs["VERTEX"].get("offset", "0"))
            lists = [
                np.array((p.text or "").split(), int).reshape(-1, stride)[:, offset] for p in primitive.findall("p")
            ]
            if kind == "triangles":
                counts = [np.full(len(one) // 3, 3) for one in lists]
            elif kind == "polylist":
                counts = [np.array((primitive.findtext("vcount") or "").split(), int)]
            else:
                counts = [np.array([len(one)]) for one in lists]
            for corners, sizes in zip(lists, counts, strict=True):
                yield points[_fans(corners, sizes)]


def _fans(corners: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the corners (n, 3) of the triangles of polygons that stand one after the other."""
    first = np.repeat(np.cumsum(sizes) - sizes, np.maximum(sizes - 2, 0))
    within = np.concatenate([np.arange(max(size - 2, 0)) for size in sizes]) if len(sizes) else np.zeros(0, int)
    return corners[np.column_stack([first, first + within + 1, first + within + 2])]
