"""Model files: MJCF and URDF read into one canonical specification, with their meshes as bytes."""

from __future__ import annotations

import sys
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError
from interplay.models.meshes import FORMATS, Meshes
from interplay.models.remedies import reshape, weigh
from interplay.models.sidecar import Remedies, Sidecar

_LARGEST = 50_000_000
"""Largest model file [bytes]."""


class ModelFile(NamedTuple):
    """A file's specification (radians, values resolved), its compiled model, its meshes, and what was left out."""

    spec: mujoco.MjSpec
    model: mujoco.MjModel
    assets: dict[str, bytes]
    velocity: dict[str, float]
    dropped: list[str]
    turned: dict[str, str]
    """Mesh files that were turned because they say that another axis than z is up, by the names of their meshes."""


def read_model(path: Path, remedies: Remedies | None = None, within: Path | None = None) -> ModelFile:
    """Read a file, apply remedies and check that its bodies can exist; every problem is named with the file.

    The folders of packages are taken as they are given. Meshes and pictures must lie ``within`` a folder, where one is given,
    also after following links.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path.name}: larger than {_LARGEST // 1_000_000} MB is no model file")
        text = path.read_bytes()
        root = _parse(path, text)
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    _refuse_impossible(path, root)
    reader = {"robot": _read_urdf, "mujoco": _read_mjcf}.get(root.tag)
    if reader is None:
        raise InputError(f"{path.name}: expected <mujoco> (MJCF) or <robot> (URDF), got <{root.tag}>")
    remedies = remedies or Remedies()
    meshes = Meshes(path.name, remedies.meshes, within)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = reader(path, root, remedies, meshes)
    except (ValueError, OSError, KeyError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise meshes.blame(str(error)) from None
    check_bodies(path.name, found.model)
    return found


def _parse(path: Path, text: bytes) -> ET.Element:
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise InputError(f"{path.name}: document types and entities are not allowed in a model file")
    try:
        return ET.fromstring(text)
    except (ET.ParseError, ValueError, LookupError) as error:
        raise InputError(f"{path.name} is not readable as XML: {error}") from None


_NAMES = ("name", "class", "childclass", "file", "filename", "link", "joint", "mesh", "material", "texture", "target")
"""Attributes that hold names, which may look like numbers."""


def _refuse_impossible(path: Path, root: ET.Element) -> None:
    """Refuse numbers that are not finite, negative masses and reversed ranges: MuJoCo takes some of them with a warning."""
    for element in root.iter():
        for attribute, text in element.attrib.items():
            if attribute in _NAMES:
                continue
            try:
                values = [float(token) for token in text.split()]
            except ValueError:
                continue
            if not values:
                continue
            if not np.isfinite(values).all():
                problem = "finite numbers"
            elif (attribute == "mass" or (element.tag, attribute) == ("mass", "value")) and min(values, default=0) < 0:
                problem = "a mass ≥ 0 kg"
            elif (element.tag, attribute, len(values)) == ("joint", "range", 2) and values[0] > values[1]:
                problem = "low ≤ high"
            elif (element.tag, attribute) == ("limit", "lower") and values[0] > _or_infinite(element.get("upper")):
                problem = f"at most the upper limit {element.get('upper')}"
            else:
                continue
            name = f" {element.get('name')!r}" if element.get("name") else ""
            raise InputError(f"{path.name}: <{element.tag}>{name}: {attribute}: expected {problem}, got {text!r}")


def _or_infinite(text: str | None) -> float:
    try:
        return float(text or "inf")
    except ValueError:
        return np.inf


def _read_mjcf(path: Path, root: ET.Element, remedies: Remedies, meshes: Meshes) -> ModelFile:
    """Read MJCF with its includes; meshes, textures and height fields become bytes."""
    spec = mujoco.MjSpec.from_file(str(path))
    dropped: list[str] = []
    meshes.refuse_unknown([mesh.file for mesh in spec.meshes if mesh.file])
    for mesh in [mesh for mesh in spec.meshes if meshes.dropped(mesh.file)]:
        dropped.append(f"mesh {Path(mesh.file).name}")
        for geom in [geom for geom in spec.geoms if geom.meshname == mesh.name]:
            spec.delete(geom)
        spec.delete(mesh)
    for kind, folder in ((spec.meshes, spec.meshdir), (spec.textures, spec.texturedir), (spec.hfields, spec.meshdir)):
        for item in kind:
            if item.file:
                item.file = meshes.keep(path.parent / (folder or "") / item.file)
    spec.meshdir = spec.texturedir = ""
    return _canonical(path.name, spec, meshes, remedies, {}, dropped)


def _read_urdf(path: Path, root: ET.Element, remedies: Remedies, meshes: Meshes) -> ModelFile:
    """Read URDF: meshes are found, velocity limits kept, and what MuJoCo would take wrongly is left out and said."""
    dropped: list[str] = []
    folder = ""
    for extension in root.findall("mujoco"):  # a compiler section of the file's own: its mesh folder counts
        compiler = extension.find("compiler")
        folder = compiler.get("meshdir", "") if compiler is not None else folder
        root.remove(extension)
    meshes.refuse_unknown([mesh.get("filename", "") for mesh in root.iter("mesh")])
    for link in root.iter("link"):
        for part in ("visual", "collision"):
            for element in link.findall(part):
                mesh = element.find("geometry/mesh")
                if mesh is None:
                    continue
                name = mesh.get("filename", "")
                if meshes.dropped(name):
                    dropped.append(f"{part} mesh {Path(name).name}")
                    link.remove(element)
                elif Path(name).suffix.lower() not in FORMATS:
                    dropped.append(f"{part} mesh {Path(name).name} (expected {', '.join(FORMATS)})")
                    link.remove(element)
                else:
                    mesh.set("filename", meshes.keep(_locate(name, path, remedies.packages, folder)))
    velocity, rubbing = {}, 0
    for joint in root.findall("joint"):
        for tag in ("mimic", "safety_controller", "calibration"):
            for element in joint.findall(tag):
                joint.remove(element)
                if tag == "mimic" and joint.get("type") != "fixed":
                    dropped.append(f"mimic of joint {joint.get('name')}")
        for dynamics in joint.findall("dynamics"):
            if _number(path, dynamics.get("friction", "0"), f"friction of joint {joint.get('name')!r}") != 0:
                dynamics.set("friction", "0")
                rubbing += 1
        limit = joint.find("limit")
        if limit is not None and limit.get("velocity") is not None:
            what = f"velocity limit of joint {joint.get('name')!r}"
            velocity[joint.get("name", "")] = _number(path, limit.get("velocity", ""), what)
    if rubbing:
        dropped.append(f"dry friction of {rubbing} joints")
    extension = ET.SubElement(root, "mujoco")
    ET.SubElement(extension, "compiler", discardvisual="false", fusestatic="false", strippath="false", meshdir="")
    spec = mujoco.MjSpec.from_string(ET.tostring(root, "unicode"), assets=meshes.assets)
    for geom in spec.geoms:
        geom.density = 0.0  # a link weighs what its <inertial> says, and nothing without one
    return _canonical(path.name, spec, meshes, remedies, velocity, dropped)


def _number(path: Path, text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InputError(f"{path.name}: {what}: expected a number, got {text!r}")
    return value


def _canonical(
    file: str,
    spec: mujoco.MjSpec,
    meshes: Meshes,
    remedies: Remedies,
    velocity: dict[str, float],
    dropped: list[str],
) -> ModelFile:
    """Apply the remedies, write the specification out and read it back: angles are then radians and defaults resolved."""
    weigh(file, spec, remedies)
    spec.assets = meshes.assets
    spec.compile()
    spec = mujoco.MjSpec.from_string(spec.to_xml(), assets=meshes.assets)
    reshape(file, spec, remedies)
    model = spec.compile()
    return ModelFile(spec, model, meshes.assets, velocity, dropped, meshes.turned)


def alone(xml: str, root: str) -> str:
    """Return canonical MJCF with nothing in the world but one body: no floor, options, sensors, motors of the file's own."""
    tree = ET.fromstring(xml)
    above = {child: parent for parent in tree.iter() for child in parent}
    body = next(b for b in tree.iter("body") if b.get("name") == root)
    outer = body
    while outer is not None and body.get("childclass") is None:  # defaults that it has from bodies above it stay
        outer = above.get(outer)
        if outer is not None and outer.get("childclass") is not None:
            body.set("childclass", outer.get("childclass", ""))
    for part in list(tree):
        if part.tag not in ("compiler", "default", "asset"):
            tree.remove(part)
    for parent in list(body.iter()):
        parent.attrib.pop("user", None)
        for child in list(parent):
            if child.tag in ("camera", "light"):
                parent.remove(child)
    ET.SubElement(tree, "worldbody").append(body)
    return ET.tostring(tree, "unicode")


def locate(name: str, beside: Path) -> Path:
    """Return the file of an address: relative to another file, or ``python://`` and a path below the installed packages."""
    if not name.startswith("python://"):
        if not (beside.parent / name).is_file():
            raise InputError(f"{beside.name}: model: there is no file {name!r}")
        return beside.parent / name
    for folder in dict.fromkeys(sys.path):
        if folder and (Path(folder) / name[9:]).is_file():
            return Path(folder) / name[9:]
    raise InputError(
        f"{beside.name}: model {name!r} was not found; is the package {name[9:].split('/')[0]!r} installed?"
    )


def refuse_outside(path: Path, sidecar: Sidecar) -> None:
    """Refuse a sidecar whose model file, or what that includes, does not lie beside it or below, or in an installed package."""
    for package, folder in sidecar.packages.items():
        _refuse_path(path.name, f"package {package!r}", folder)
    if sidecar.model.startswith("python://"):
        _refuse_path(path.name, "model", sidecar.model[9:])
    else:
        _refuse_path(path.name, "model", sidecar.model)
        _refuse_named(locate(sidecar.model, path), path.resolve().parent, set())


def _refuse_named(path: Path, folder: Path, seen: set[Path]) -> None:
    """Refuse what a model file and the files it includes name outside a folder."""
    found = path.resolve()
    if not found.is_relative_to(folder):
        raise InputError(f"{path.name!r} leads out of the folder of what names it")
    if found in seen or not found.is_file():
        return
    seen.add(found)
    for element in _parse(path, path.read_bytes()).iter():
        for attribute, name in element.attrib.items():
            if attribute.startswith("file") or attribute in ("meshdir", "texturedir", "assetdir"):
                _refuse_path(path.name, f"<{element.tag}> {attribute}", name.removeprefix("package://"))
                if element.tag in ("include", "model"):
                    _refuse_named(path.parent / name, folder, seen)


def _refuse_path(file: str, what: str, name: str) -> None:
    if Path(name).is_absolute() or ".." in Path(name).parts or "://" in name or "\\" in name:
        raise InputError(f"{file}: {what}: expected a path beside it or below, got {name!r}")


def _locate(name: str, path: Path, packages: Mapping[str, str], folder: str) -> Path:
    """Return the file of a mesh address: package://NAME/…, file://…, or relative to the model file."""
    if name.startswith("file://"):
        return Path(name[7:])
    if not name.startswith("package://"):
        beside = path.parent / folder / Path(name).name
        return beside if folder and beside.is_file() else path.parent / name
    package, _, rest = name[10:].partition("/")
    if package in packages:
        return Path(packages[package]) / rest
    for parent in path.resolve().parents:
        for place in (parent / package / rest, parent.parent / package / rest if parent.name == package else None):
            if place is not None and place.exists():
                return place
    known = f" (its packages are {', '.join(packages)})" if packages else ""
    raise InputError(
        f"{path.name}: package {package!r} of mesh {name!r} was not found{known}; name its folder: "
        f"'packages: {{{package}: FOLDER}}' in the sidecar, '--package {package}=FOLDER' for 'interplay sidecar'"
    )


def check_bodies(file: str, m: mujoco.MjModel) -> None:
    """Refuse masses, inertias and frames that no body can have."""
    for body in range(1, m.nbody):
        name, mass, inertia = m.body(body).name, float(m.body_mass[body]), np.sort(m.body_inertia[body])
        frame = np.concatenate([m.body_pos[body], m.body_quat[body], m.body_ipos[body], m.body_iquat[body]])
        if not np.isfinite(frame).all():
            raise InputError(f"{file}: body {name!r}: its position or orientation is not finite")
        if not np.isfinite(mass) or mass < 0:
            raise InputError(f"{file}: body {name!r}: mass {mass:g} kg; expected a finite number ≥ 0")
        if not np.isfinite(inertia).all() or inertia[0] < 0:
            raise InputError(f"{file}: body {name!r}: inertia {inertia.tolist()}; expected finite numbers ≥ 0")
        if inertia[2] > (inertia[0] + inertia[1]) * 1.001 + 1e-12:
            raise InputError(
                f"{file}: body {name!r}: inertia {inertia.tolist()} is impossible: the largest moment exceeds the sum of the others"
            )
        if m.body_jntnum[body] and m.body_subtreemass[body] < 1e-6:
            raise InputError(f"{file}: body {name!r} moves but has no mass")
    for joint in range(m.njnt):
        low, high = m.jnt_range[joint]
        if not np.isfinite([low, high]).all() or (m.jnt_limited[joint] and low > high):
            raise InputError(f"{file}: joint {m.joint(joint).name!r}: range [{low:g}, {high:g}]; expected low ≤ high")
        dof = int(m.jnt_dofadr[joint])
        for what, value in (
            ("damping", m.dof_damping[dof]),
            ("stiffness", m.jnt_stiffness[joint]),
            ("armature", m.dof_armature[dof]),
        ):
            if not np.isfinite(value) or value < 0:
                raise InputError(f"{file}: joint {m.joint(joint).name!r}: {what} {value:g}; expected a number ≥ 0")
