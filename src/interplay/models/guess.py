"""A first sidecar from a model file: remedies, root, soles, hands, names, posture and limits, each guess marked as one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from interplay.models.files import ModelFile, read_model
from interplay.models.fit import Patch, shapes_of
from interplay.models.motors import torque_limits
from interplay.models.remedies import NeedsRemedy
from interplay.models.sidecar import Remedies, Solid
from interplay.models.skeleton import SIDES, Limb, Skeleton
from interplay.models.stance import Sole, palm, posture, sole, weights_held


def guess_sidecar(
    path: str | Path, root: str | None = None, beside: Path | None = None, packages: Mapping[str, str] | None = None
) -> str:
    """Return the text of a first sidecar for a model file, to be written into the folder ``beside`` (by default the file's).

    ``root`` names the root body where the guess would be wrong; ``packages`` are folders of package:// addresses.
    """
    path = Path(path)
    folder = path.parent if beside is None else beside
    return _Guess(path, folder, root, dict(packages or {})).text()


class _Guess:
    """Reads a file, with every remedy that it needs, and writes down what is seen."""

    def __init__(self, path: Path, folder: Path, root: str | None, packages: dict[str, str]):
        self.path, self.folder = path, folder
        self.remedies = Remedies(packages=packages)
        self.reasons: dict[str, list[str]] = {}
        self._read(root)
        self._give_shapes(root)

    def _read(self, root: str | None) -> None:
        """Read the file; where that needs a remedy, note it and read again."""
        while True:
            try:
                self.found: ModelFile = read_model(self.path, self.remedies)
                break
            except NeedsRemedy as need:
                self._note(need.entry, need.value, need.reason)
        self.body = Skeleton(self.path.name, self.found, root)
        astray = {file for mesh, file in self.found.turned.items() if self.body.mistaken(mesh)}
        if astray:  # files of some tools name an axis that they do not mean: what collides shows which
            for file in sorted(astray):
                self._note(
                    "meshes", {file: "z_up"}, "as it is, it looks as its body collides; turned as it says, it does not"
                )
            return self._read(root)
        self.m, self.limbs = self.body.m, self.body.limbs()

    def _note(self, entry: str, value: Any, reason: str) -> None:
        if isinstance(value, dict):
            value = {**getattr(self.remedies, entry), **value}
        self.remedies = self.remedies.model_copy(update={entry: value})
        self.reasons.setdefault(entry, []).append(reason)

    def _give_shapes(self, root: str | None) -> None:
        """Note remedies for feet that nothing collides with, and for shapes that are far from what is seen of their body."""
        feet = [limb for name, limb in self.limbs.items() if name.endswith("foot")]
        if any(not shapes_of(self.m, foot.held) and self.body.box(foot.held) for foot in feet):
            self._note("collision", "visual", "its feet are seen but do not collide")
            self._read(root)
        astray = {self.m.body(b).name: off for b in self.body.bodies if (off := self.body.astray(b)) > 0}
        if astray:
            reason = ", ".join(f"{name} collides {off:.2f} m from where it is seen" for name, off in astray.items())
            self._note("shapes", {name: [] for name in astray}, reason)
            self._note("collision", "visual", "for bodies whose collision shapes are left out")
            self._read(root)
        feet = [limb for name, limb in self.limbs.items() if name.endswith("foot")]
        vast = self.body.vast()
        if vast and feet:
            reason = f"shapes of {', '.join(self.m.body(b).name for b in vast)} are larger than the whole body: boxes as wide as its hips"
            self._note("shapes", {self.m.body(b).name: [self._hip_box(b)] for b in vast}, reason)
        bare = [foot for foot in feet if not self.body.box(foot.held)]
        if bare:
            boxes = {self.m.body(foot.end).name: [self._foot_box(foot)] for foot in bare}
            self._note("shapes", boxes, "the file has no shape for its feet: boxes to the measure of its legs")
        if vast or bare:
            self._read(root)

    def _hip_box(self, body: int) -> Solid:
        """Return a box as wide as the hips are apart, around a body's frame."""
        wide = 0.5 * float(np.linalg.norm(np.subtract(*self.body.d.xpos[self.body.hips(self.limbs)])))
        half = np.abs(
            self.body.turned(body, wide * (0.6 * np.abs(self.body.facing) + np.abs(self.body.left) + [0, 0, 1]))
        )
        return Solid(pos=(0.0, 0.0, 0.0), size=tuple(np.round(half, 4)))

    def _foot_box(self, foot: Limb) -> Solid:
        """Return a box as large as a foot of a person with such legs, below the ankle."""
        d = self.body.d
        hip = next((b for b in foot.chain if self.body.joints(b)), foot.end)
        length = float(np.linalg.norm(d.xpos[foot.end] - d.xpos[hip]))
        ahead = abs(np.array([self.body.facing, self.body.left, [0, 0, 1]])).T
        half = np.abs(d.xmat[foot.end].reshape(3, 3).T) @ ahead @ (length * np.array([0.15, 0.06, 0.02]))
        centre = self.body.turned(foot.end, length * (0.05 * self.body.facing - np.array([0, 0, 0.08])))
        return Solid(pos=tuple(np.round(centre, 4) + 0.0), size=tuple(np.round(half, 4)))

    # -- text ----------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return the sidecar."""
        body = self.body
        soles = {name: sole(body, limb) for name, limb in self.limbs.items() if name.endswith("foot")}
        up = _numbers(body.upward)
        lines = [
            f"# A first sidecar for {self.path.name}. What is marked as a guess was guessed: check it, then remove the mark.",
            f"model: {_text(os.path.relpath(self.path, self.folder))}",
            f"root: {_text(self.m.body(body.root).name)}  # guess: the heaviest tree",
            f"facing: {_numbers(body.file_axes @ body.facing)}  # guess: its left is where the bodies called left are, or its feet point there",
            *([f"up: {up}  # guess: from the feet to the head"] if up != "[0, 0, 1]" else []),
            *self._remedies(bool(soles)),
            *self._names(),
            *self._surfaces(soles),
        ]
        values = posture(body, self.limbs, soles)
        if values:
            lines += ["posture:  # guess: arms hanging, knees a little bent"]
            lines += [f"  {_text(name)}: {value:.4f}" for name, value in values.items()]
        lines += self._limits()
        lines += [f"# left out: {what}" for what in dict.fromkeys(self.found.dropped)]
        return "\n".join(lines) + "\n"

    def _remedies(self, legs: bool) -> list[str]:
        """Return the entries without which the file cannot be used, with the reason of each."""
        lines, given = [], self.remedies
        if given.packages:
            lines += ["packages:"]
            lines += [f"  {_text(k)}: {_text(os.path.relpath(v, self.folder))}" for k, v in given.packages.items()]
        for entry in ("inertias", "smallest_mass", "collision"):
            if entry in self.reasons:
                lines.append(f"{entry}: {getattr(given, entry)}  # guess: {self.reasons[entry][0]}")
        if given.meshes:
            reasons = self.reasons["meshes"]
            lines += ["meshes:"]
            lines += [
                f"  {_text(k)}: {v}  # guess: {why}" for (k, v), why in zip(given.meshes.items(), reasons, strict=False)
            ]
        if given.shapes:
            lines += [f"shapes:  # guess: {'; '.join(self.reasons['shapes'])}"]
            for name, solids in given.shapes.items():
                boxes = ", ".join(f"{{pos: {_numbers(s.pos)}, size: {_numbers(s.size)}}}" for s in solids)
                lines.append(f"  {_text(name)}: [{boxes}]")
        joints = self.body.root_joints()
        if not legs:
            lines.append("base: fixed  # guess: it has no legs to stand on")
        elif joints:
            lines.append(f"base: free  # guess: the file joins the root to the world by {', '.join(joints)}")
        return lines

    def _names(self) -> list[str]:
        m, out, limbs = self.m, {}, self.limbs
        hands = [limbs[f"{s}_hand"].chain for s in SIDES if f"{s}_hand" in limbs]
        feet = [limbs[f"{s}_foot"].chain for s in SIDES if f"{s}_foot" in limbs]
        if len(hands) == 2:
            out["chest"] = [b for b in hands[0] if b in hands[1]][-1]
        if len(feet) == 2:
            out["pelvis"] = [b for b in feet[0] if b in feet[1]][-1]
        head = [b for b in self.body.bodies if "head" in m.body(b).name.lower() and self.body.box(self.body.below(b))]
        if head:
            out["head"] = max(head, key=lambda b: float(m.body_mass[b]))
        for side in SIDES:
            for end, parts in (("foot", ("thigh", "shank")), ("hand", ("upper_arm", "forearm"))):
                limb = limbs.get(f"{side}_{end}")
                if limb:
                    out[f"{side}_{end}"] = limb.end
                    segments = self.body.segments(limb.chain)
                    out |= dict(zip((f"{side}_{part}" for part in parts), segments, strict=False))
        used: dict[str, str] = {}
        for name, part in out.items():  # avoidance measures from a body's own shapes: one that has none is no use there
            own = m.body(self.body.shaped(part)).name
            if own and own not in used.values():
                used[name] = own
        lines = [f"  {name}: {_text(own)}  # guess" for name, own in used.items()]
        theirs = {m.body(b).name for b in self.body.bodies} & set(used) - set(used.values())
        lines += [
            f"  {name}_frame: {_text(name)}  # guess: another body of the file is the {name}" for name in sorted(theirs)
        ]
        return ["bodies:", *lines] if lines else []

    def _surfaces(self, soles: dict[str, Sole]) -> list[str]:
        surfaces, grips = [], []
        for side in SIDES:
            foot, hand = soles.get(f"{side}_foot"), self.limbs.get(f"{side}_hand")
            if foot is not None:
                name = _text(self.m.body(self.limbs[f"{side}_foot"].end).name)
                if foot.point:
                    shape = f"ball: {{pos: {_numbers(foot.centre)}, radius: {foot.radius:.4g}}}"
                    surfaces.append(
                        f"  {side}_sole: {{body: {name}, {shape}}}  # guess: a point, as legs without ankles stand on"
                    )
                else:
                    surfaces.append(f"  {side}_sole: {{body: {name}, {_box(foot.face)}}}  # guess: the lowest face")
            flat = palm(self.body, hand, self.body.left * (-1.0 if side == "left" else 1.0)) if hand else None
            if hand and flat:
                name = _text(self.m.body(hand.end).name)
                surfaces.append(f"  {side}_palm: {{body: {name}, {_box(flat)}}}  # guess")
                hold, axis = flat.pos - 0.01 * flat.normal, np.cross(flat.along, flat.normal)
                grips.append(
                    f"  {side}_grip: {{body: {name}, pos: {_numbers(hold)}, axis: {_numbers(axis)}, "
                    f"along: {_numbers(flat.along)}}}  # guess"
                )
        return [*(["surfaces:", *surfaces] if surfaces else []), *(["grips:", *grips] if grips else [])]

    def _limits(self) -> list[str]:
        m, out = self.m, []
        torque = torque_limits(m)
        joints = [j for b in self.body.bodies for j in self.body.joints(b)]
        efforts = {
            j: float(np.abs(m.jnt_actfrcrange[j]).min() if m.jnt_actfrclimited[j] else torque[m.jnt_dofadr[j]])
            for j in joints
        }
        efforts = {j: given for j, given in efforts.items() if np.isfinite(given) and given > 0}
        if len(efforts) < len(joints):
            out.append("torque: 100  # guess: joints that the file gives no limit [N·m]")
        if not all(self.found.velocity.get(m.joint(j).name) for j in joints):
            out.append("velocity: 10  # guess: joints that the file gives no limit [rad/s]")
        dofs = m.jnt_dofadr[joints]
        if (0.005 * m.dof_damping[dofs] > 0.8 * m.dof_M0[dofs]).any() or (
            2.5e-5 * m.jnt_stiffness[joints] > 0.8 * m.dof_M0[dofs]
        ).any():
            out.append("passive: drop  # guess: the file's dampers are too quick for control steps of 5 ms")
        single = [
            f"  {_text(m.joint(j).name)}: {{range: [-3.14, 3.14]}}  # guess: the file has no range"
            for j in joints
            if not m.jnt_limited[j] and m.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE
        ]
        single += [
            f"  {_text(m.joint(j).name)}: {{torque: {2 * load:.2g}}}  # guess: at rest it holds {load:.3g}, the file allows {efforts[j]:.3g} [N·m]"
            for j, load in weights_held(self.body, self.limbs).items()
            if j in efforts and m.jnt_limited[j] and load > 0.9 * efforts[j]
        ]
        out += ["limits:", *single] if single else []
        return out


def _box(patch: Patch) -> str:
    return (
        f"box: {{pos: {_numbers(patch.pos)}, size: {_numbers(patch.half)}, "
        f"normal: {_numbers(patch.normal)}, along: {_numbers(patch.along)}}}"
    )


def _numbers(values: Iterable[float]) -> str:
    return "[" + ", ".join(f"{float(v) + 0.0:.4g}" if abs(v) > 5e-5 else "0" for v in values) + "]"


def _text(name: str) -> str:
    """Return a name as YAML reads it back as text."""
    plain = name.replace("_", "").replace("-", "").isalnum() and not name[:1].isdigit()
    return (
        name
        if plain and name.lower() not in ("yes", "no", "on", "off", "true", "false", "null", "y", "n")
        else repr(name)
    )
