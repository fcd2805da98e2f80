"""The parametric human: anthropometric masses, clinical joint ranges, contact surfaces, a mannequin's looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import mujoco
import numpy as np

from interplay.errors import InputError, number, pick, vector
from interplay.models import mannequin
from interplay.models.anthropometry import JOINT_SETS, MOTIONS, SHOES, SPRINGS, WIDTHS, Segment, segments
from interplay.models.base import HANDLE, Model, grip, new_spec, patch
from interplay.models.hand import Hand
from interplay.models.hulls import BACK, SEAT, SHOULDER, THIGH, THIGH_SHARE, Hulls

_NECK_SHARE = 0.26
"""Part of the head segment's length (vertex to cervicale) that is neck."""

_BENT = {
    "hip_flexion": 0.16,
    "knee_flexion": 0.32,
    "ankle_flexion": 0.16,
    "shoulder_flexion": 0.05,
    "shoulder_abduction": 0.16,
    "elbow_flexion": 0.35,
    "torso_flexion": 0.02,
    "neck_flexion": 0.05,
}
"""Relaxed standing posture [rad]: knees unlocked, arms hanging."""


class Humanoid(Model):
    """A human of any size: ``Humanoid(height=1.65, mass=58, sex="female")``.

    Args:
        height: stature [m].
        mass: [kg]; by default that of a lean adult or child of this stature (body-mass index 22, 16 below 1.3 m).
        sex: ``male`` or ``female`` (segment table).
        joints: 30 (default; vaillant2017), 31 (faloutsos2001), 34 (liu2012) or ``planar``.
        head_scale, leg_scale: proportions relative to an adult (a child: 1.25 and 0.9).
        strength: multiplies every torque limit; ``inf`` lifts them.
        color: red, green, blue in [0, 1]; by default each character of a scene gets its own.
        springs: whether passive tissue pulls where joints are stretched (``SPRINGS``): it costs motors nothing.
        shoes: whether soles give as shoes do (``SHOES``) where motions are composed; simulators know nothing of it.
    """

    kind: ClassVar[str] = "character"

    def __init__(
        self,
        height: float = 1.74,
        mass: float | None = None,
        sex: str = "male",
        joints: int | str = 30,
        *,
        head_scale: float = 1.0,
        leg_scale: float = 1.0,
        strength: float = 1.0,
        color: Sequence[float] | None = None,
        springs: bool = False,
        shoes: bool = False,
    ):
        """See the class."""
        super().__init__()
        self.height = number("Humanoid height", height, 0.5, 2.6, "m")
        index = 16.0 if height < 1.3 else 22.0
        self.mass = number("Humanoid mass", index * height**2 if mass is None else mass, 3, 400, "kg")
        self.sex = sex
        pick("sex", sex, {"male": 0, "female": 1})
        self.joints = str(joints)
        self._motions = pick("joint set", self.joints, JOINT_SETS)
        if not (isinstance(strength, (int, float)) and strength > 0):
            raise InputError(f"Humanoid strength: expected a positive number, got {strength!r}")
        self.strength, self.springs, self.shoes = float(strength), bool(springs), bool(shoes)
        self.color = None if color is None else vector("Humanoid color", color, 3)
        if self.color is not None and not ((self.color >= 0) & (self.color <= 1)).all():
            raise InputError(f"Humanoid color: expected values in [0, 1], got {color!r}")
        scales = number("Humanoid head_scale", head_scale, 0.5, 2.5), number("Humanoid leg_scale", leg_scale, 0.5, 1.5)
        self.segments = segments(self.height, self.mass, sex, *scales)
        self.head_scale = scales[0]
        self.scale = self.height / 1.74
        self.posture = {}
        for part, motions in self._motions.items():
            for motion in motions:
                for side in _sides(part):
                    self.posture[side + motion] = _BENT.get(motion, 0.0)

    @classmethod
    def child(cls, height: float = 1.15, mass: float | None = None, **options: object) -> Humanoid:
        """Return a child: a larger head and shorter legs for its stature."""
        return cls(height, mass, **{"head_scale": 1.3, "leg_scale": 0.9, **options})  # type: ignore[arg-type]

    @property
    def placement_height(self) -> float:
        """Height [m] of the pelvis frame (between the hip joints) over the soles in the standing posture."""
        p, s = self.posture, self.segments
        hip = p["left_hip_flexion"]
        knee = hip - p["left_knee_flexion"]
        return (
            s["thigh"].length * float(np.cos(hip))
            + s["shank"].length * float(np.cos(knee))
            + WIDTHS["ankle_height"] * self.scale
        )

    def build(self) -> mujoco.MjSpec:
        """Return the specification of the body."""
        spec, pelvis = new_spec("pelvis")
        seg, s = self.segments, self.scale
        if self.joints == "planar":
            for name, kind, axis in (
                ("root_x", "SLIDE", (1, 0, 0)),
                ("root_z", "SLIDE", (0, 0, 1)),
                ("root_pitch", "HINGE", (0, 1, 0)),
            ):
                pelvis.add_joint(name=name, type=getattr(mujoco.mjtJoint, f"mjJNT_{kind}"), axis=list(axis))
        lower, mid, upper, head = seg["lower_trunk"], seg["mid_trunk"], seg["upper_trunk"], seg["head"]
        neck_length = _NECK_SHARE * head.length
        self._inertia(pelvis, lower, (0, 0, lower.length - lower.cm))
        abdomen = self._child(spec, pelvis, "abdomen", (0, 0, lower.length), mid, (0, 0, mid.length - mid.cm))
        chest = self._child(spec, abdomen, "chest", (0, 0, mid.length), upper, (0, 0, upper.length - upper.cm))
        neck_part, head_part = _split(head, 0.15)
        neck = self._child(spec, chest, "neck", (0, 0, upper.length), neck_part, (0, 0, neck_length / 2))
        skull = self._child(
            spec, neck, "head", (0, 0, neck_length), head_part, (0, 0, head.length - head.cm - 0.5 * neck_length)
        )
        looks = mannequin.Looks(spec, self.color, s)
        hulls = Hulls(s)
        looks.trunk(pelvis, abdomen, chest, lower.length, mid.length, upper.length, self.sex)
        hulls.trunk(pelvis, abdomen, chest)
        for outer in (looks, hulls):
            outer.head(neck, skull, neck_length, head.length - neck_length)
        for side, sign in (("left", 1.0), ("right", -1.0)):
            self._leg(spec, looks, hulls, pelvis, side, sign)
            self._arm(spec, looks, hulls, chest, side, sign)
        self._trunk_surfaces(pelvis, chest)
        return spec

    def _leg(
        self,
        spec: mujoco.MjSpec,
        looks: mannequin.Looks,
        hulls: Hulls,
        pelvis: mujoco.MjsBody,
        side: str,
        sign: float,
    ) -> None:
        seg, s = self.segments, self.scale
        thigh_s, shank_s, foot_s = seg["thigh"], seg["shank"], seg["foot"]
        thigh = self._child(
            spec, pelvis, f"{side}_thigh", (0, sign * WIDTHS["hip"] * s, 0), thigh_s, (0, 0, -thigh_s.cm), sign
        )
        shank = self._child(spec, thigh, f"{side}_shank", (0, 0, -thigh_s.length), shank_s, (0, 0, -shank_s.cm), sign)
        ankle, heel = WIDTHS["ankle_height"] * s, WIDTHS["heel"] * s
        length, width = WIDTHS["sole_length"] * s, WIDTHS["sole_width"] * s
        # De Leva's foot axis runs from heel to toe: longitudinal is x here, sagittal z.
        turned = foot_s._replace(inertia=(foot_s.inertia[2], foot_s.inertia[1], foot_s.inertia[0]))
        foot = self._child(
            spec, shank, f"{side}_foot", (0, 0, -shank_s.length), turned, (foot_s.cm - heel, 0, -0.55 * ankle), sign
        )
        middle = length / 2 - heel
        gives = SHOES * self.mass / 75 if self.shoes else 0.0
        patch(foot, f"{side}_sole", (middle, 0, -ankle), (0, 0, -1), (length / 2, width / 2), gives=gives)
        back = THIGH_SHARE * thigh_s.length
        patch(thigh, f"{side}_thigh_back", (-THIGH * s, 0, -0.5 * back), (-1, 0, 0), (0.5 * back, 0.03 * s), (0, 0, 1))
        looks.leg(thigh, shank, foot, side, thigh_s.length, shank_s.length, ankle, heel, length, width)
        hulls.leg(thigh, shank, foot, side, thigh_s.length, shank_s.length)

    def _arm(
        self, spec: mujoco.MjSpec, looks: mannequin.Looks, hulls: Hulls, chest: mujoco.MjsBody, side: str, sign: float
    ) -> None:
        seg, s = self.segments, self.scale
        upper, fore, hand_s = seg["upper_arm"], seg["forearm"], seg["hand"]
        shoulder = (0.0, sign * WIDTHS["shoulder"] * s, seg["upper_trunk"].length - 0.062 * s)
        parent = chest
        if "clavicle" in self._motions:
            inner = (0.0, sign * 0.03 * s, shoulder[2])
            parent = self._child(spec, chest, f"{side}_clavicle", inner, _POINT, (0, sign * 0.07 * s, 0), sign)
            shoulder = (0.0, shoulder[1] - inner[1], 0.0)
        arm = self._child(spec, parent, f"{side}_upper_arm", shoulder, upper, (0, 0, -upper.cm), sign)
        forearm = self._child(spec, arm, f"{side}_forearm", (0, 0, -upper.length), fore, (0, 0, -fore.cm), sign)
        hand = self._child(spec, forearm, f"{side}_hand", (0, 0, -fore.length), hand_s, (0, 0, -hand_s.cm), sign)
        # The palm looks toward the thigh; a handle it holds runs forward, and lies on it.
        palm = Hand(side, hand_s.length).palm
        half = WIDTHS["palm_length"] * s / 2, WIDTHS["palm_width"] * s / 2
        patch(hand, f"{side}_palm", tuple(palm), (0, -sign, 0), half, along=(0, 0, -1))
        held = palm - [0, sign * HANDLE, 0]
        grip(hand, f"{side}_grip", tuple(held), (1, 0, 0), 0.045 * s, HANDLE, along=(0, 0, -1))
        looks.arm(arm, forearm, hand, side, upper.length, fore.length, hand_s.length)
        hulls.arm(arm, forearm, hand, side, upper.length, fore.length)

    def _trunk_surfaces(self, pelvis: mujoco.MjsBody, chest: mujoco.MjsBody) -> None:
        s, upper = self.scale, self.segments["upper_trunk"].length
        patch(pelvis, "buttocks", (-0.006 * s, 0, -SEAT * s), (0, 0, -1), (0.06 * s, 0.09 * s))
        patch(chest, "back", (-BACK * s, 0, 0.45 * upper), (-1, 0, 0), (0.08 * s, 0.08 * s), along=(0, 0, 1))
        for side, sign in (("left", 1), ("right", -1)):
            at = (-0.004 * s, sign * 0.12 * s, upper - SHOULDER * s)
            patch(chest, f"{side}_shoulder", at, (0, 0, 1), (0.05 * s, 0.04 * s))

    def _child(
        self,
        spec: mujoco.MjSpec,
        parent: mujoco.MjsBody,
        name: str,
        pos: tuple[float, ...],
        segment: Segment,
        cm: tuple[float, ...],
        sign: float = 1.0,
    ) -> mujoco.MjsBody:
        """Add a body with its inertia, its joints and their motors; ``sign`` −1 mirrors the axes to the right side."""
        body = parent.add_body(name=name, pos=list(pos))
        self._inertia(body, segment, cm)
        side, part = name.split("_", 1) if name.startswith(("left_", "right_")) else ("", name)
        size = self.mass * self.height / (75 * 1.74)
        for motion in self._motions.get(part, ()):
            axis, low, high, torque, speed = MOTIONS[motion]
            joint = f"{side}_{motion}" if side else motion
            rest, stiffness = SPRINGS.get(motion, (0.0, 0.0)) if self.springs else (0.0, 0.0)
            body.add_joint(
                name=joint,
                type=mujoco.mjtJoint.mjJNT_HINGE,
                axis=[sign * axis[0], axis[1], sign * axis[2]],
                range=np.deg2rad([low, high]).tolist(),
                armature=0.005,
                springref=np.deg2rad(rest),
                stiffness=[0.0, 0.0, stiffness * size],
                userdata=[speed],
            )
            limit = torque * self.strength * size
            motor = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            if np.isfinite(limit):
                motor.ctrlrange = [-limit, limit]
        return body

    @staticmethod
    def _inertia(body: mujoco.MjsBody, segment: Segment, cm: tuple[float, ...]) -> None:
        body.explicitinertial = True
        body.mass, body.ipos, body.inertia = segment.mass, list(cm), list(segment.inertia)


_POINT = Segment(0.15, 0.25, 0.07, (4e-4, 4e-4, 4e-4))
"""A clavicle: a quarter of a kilogram, beside the trunk's own mass."""


def _sides(part: str) -> tuple[str, ...]:
    return ("",) if part in ("abdomen", "chest", "neck", "head") else ("left_", "right_")


def _split(segment: Segment, share: float) -> tuple[Segment, Segment]:
    """Split a segment's mass into a small part and the rest."""
    return tuple(
        segment._replace(mass=segment.mass * k, inertia=tuple(np.asarray(segment.inertia) * k))  # type: ignore[return-value]
        for k in (share, 1 - share)
    )
