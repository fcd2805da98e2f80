"""What a humanoid looks like: lofted limbs over ball joints, in one colour with lighter hands and head."""

from __future__ import annotations

import mujoco
import numpy as np

from interplay.models.base import VISUAL_GROUP
from interplay.models.shapes import Section, add_shape, loft

DEFAULT_COLOR = np.array([0.62, 0.66, 0.72])


class Looks:
    """Adds the visual geoms of one humanoid; every size is for a stature of 1.74 m and scales with it."""

    def __init__(self, spec: mujoco.MjSpec, color: np.ndarray | None, scale: float):
        """Take the colour of the clothes; joints are darker, skin lighter."""
        base = DEFAULT_COLOR if color is None else color
        self.spec, self.s = spec, scale
        self.cloth = [*base, 1.0]
        self.joint = [*(0.55 * base + 0.05), 1.0]
        self.skin = [*(0.2 * base + 0.8 * np.array([0.93, 0.79, 0.69])), 1.0]

    def _loft(
        self,
        body: mujoco.MjsBody,
        name: str,
        rows: list[tuple[float, ...]],
        rgba: list[float],
        top: float,
        span: float,
        **options: float,
    ) -> None:
        """Add a loft; rows are (fraction of span below top, rx, ry, cx, cy) with radii in metres at stature 1.74 m."""
        s = self.s
        rows5 = [(*row, 0.0, 0.0)[:5] for row in rows]
        sections = tuple(Section(top - f * span, rx * s, ry * s, cx * s, cy * s) for f, rx, ry, cx, cy in rows5)
        add_shape(self.spec, body, name, loft(sections, **options), rgba)  # type: ignore[arg-type]

    def _ball(self, body: mujoco.MjsBody, name: str, radius: float, rgba: list[float] | None = None) -> None:
        body.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_SPHERE,
            size=[radius * self.s, 0, 0],
            rgba=rgba or self.joint,
            contype=0,
            conaffinity=0,
            group=VISUAL_GROUP,
            mass=0,
        )

    def trunk(
        self,
        pelvis: mujoco.MjsBody,
        abdomen: mujoco.MjsBody,
        chest: mujoco.MjsBody,
        lower: float,
        mid: float,
        upper: float,
        thigh: float,
        sex: str,
    ) -> None:
        """Pelvis, abdomen and chest; a female body has wider hips and a narrower waist."""
        hips, waist, ribs = (0.162, 0.112, 0.142) if sex == "female" else (0.156, 0.122, 0.152)
        crotch = -0.075 * self.s
        self._loft(
            pelvis,
            "pelvis",
            [
                (0, 0.088, waist + 0.008, 0.005),
                (0.3, 0.098, 0.5 * (hips + waist) + 0.008, 0.0),
                (0.62, 0.112, hips, -0.008),
                (0.85, 0.098, hips - 0.022, -0.008),
                (1, 0.065, 0.09, -0.004),
            ],
            self.cloth,
            lower * 0.96,
            lower * 0.96 - crotch,
            exponent=2.3,
            dome=0.35,
        )
        self._loft(
            abdomen,
            "abdomen",
            [(0, 0.095, ribs - 0.022, 0.004), (0.5, 0.088, waist, 0.006), (1, 0.086, waist + 0.004, 0.005)],
            self.cloth,
            mid,
            mid,
            exponent=2.3,
            dome=0.3,
        )
        self._loft(
            chest,
            "chest",
            [
                (0, 0.050, 0.064, -0.012),
                (0.12, 0.072, 0.138, -0.010),
                (0.28, 0.098, 0.172, -0.004),
                (0.55, 0.115, 0.164, 0.004),
                (0.8, 0.108, ribs + 0.004, 0.006),
                (1, 0.098, ribs - 0.014, 0.005),
            ],
            self.cloth,
            upper * 1.0,
            upper * 1.02,
            exponent=2.3,
            dome=0.25,
        )

    def head(self, neck: mujoco.MjsBody, skull: mujoco.MjsBody, neck_length: float, height: float) -> None:
        """Neck and an egg-shaped head with the hint of a face."""
        k = height / (0.17 * self.s)
        self._loft(
            neck,
            "neck_shape",
            [(0, 0.047, 0.046, 0.006), (0.5, 0.05, 0.05, -0.002), (1, 0.058, 0.06, -0.01)],
            self.skin,
            neck_length * 1.15,
            neck_length * 1.35,
            dome=0.2,
        )
        rows = [
            (0.0, 0.014, 0.011, -0.004),
            (0.02, 0.034, 0.026, -0.004),
            (0.06, 0.056, 0.043, -0.003),
            (0.13, 0.077, 0.059, -0.002),
            (0.27, 0.096, 0.074, 0.0),
            (0.45, 0.1, 0.078, 0.004),
            (0.62, 0.094, 0.073, 0.010),
            (0.8, 0.078, 0.058, 0.020),
            (0.95, 0.052, 0.042, 0.031),
            (1.02, 0.032, 0.028, 0.036),
        ]
        self._loft(
            skull,
            "head_shape",
            [(f, rx * k, ry * k, cx * k) for f, rx, ry, cx in rows],
            self.skin,
            height * 0.975,
            height * 1.06,
            dome=0.3,
            rings=18,
        )
        size = 0.011 * self.s * k
        for side, sign in (("left", 1), ("right", -1)):
            skull.add_geom(
                name=f"{side}_eye",
                type=mujoco.mjtGeom.mjGEOM_SPHERE,
                size=[size, 0, 0],
                pos=[0.097 * self.s * k, sign * 0.031 * self.s * k, 0.5 * height],
                rgba=[0.12, 0.12, 0.15, 1],
                contype=0,
                conaffinity=0,
                group=VISUAL_GROUP,
                mass=0,
            )
        skull.add_geom(
            name="nose",
            type=mujoco.mjtGeom.mjGEOM_ELLIPSOID,
            size=[0.016 * self.s * k, 0.011 * self.s * k, 0.02 * self.s * k],
            pos=[0.108 * self.s * k, 0, 0.38 * height],
            rgba=self.skin,
            contype=0,
            conaffinity=0,
            group=VISUAL_GROUP,
            mass=0,
        )

    def leg(
        self,
        thigh: mujoco.MjsBody,
        shank: mujoco.MjsBody,
        foot: mujoco.MjsBody,
        side: str,
        thigh_length: float,
        shank_length: float,
        ankle: float,
        heel: float,
        sole: float,
        width: float,
    ) -> None:
        """Thigh, calf and shoe."""
        self._ball(thigh, f"{side}_hip_ball", 0.068, self.cloth)
        self._loft(
            thigh,
            f"{side}_thigh_shape",
            [
                (0, 0.079, 0.070, -0.004),
                (0.15, 0.084, 0.076, -0.002),
                (0.4, 0.079, 0.071, 0.004),
                (0.7, 0.064, 0.058, 0.004),
                (0.9, 0.054, 0.051, 0.002),
                (1, 0.050, 0.049, 0.0),
            ],
            self.cloth,
            -0.02 * self.s,
            thigh_length - 0.05 * self.s,
        )
        self._ball(shank, f"{side}_knee_ball", 0.05)
        self._loft(
            shank,
            f"{side}_shank_shape",
            [
                (0, 0.047, 0.046, 0.0),
                (0.1, 0.050, 0.048, -0.003),
                (0.28, 0.057, 0.053, -0.014),
                (0.45, 0.052, 0.048, -0.013),
                (0.7, 0.039, 0.036, -0.005),
                (0.92, 0.033, 0.031, 0.0),
                (1, 0.033, 0.031, 0.0),
            ],
            self.cloth,
            -0.03 * self.s,
            shank_length - 0.045 * self.s,
        )
        self._ball(foot, f"{side}_ankle_ball", 0.037)
        # The shoe is lofted along the vertical: a sole outline that narrows to the ankle.
        half, mid = sole / 2 / self.s, (sole / 2 - heel) / self.s
        w = width / 2 / self.s
        self._loft(
            foot,
            f"{side}_foot_shape",
            [
                (0, 0.045, 0.036, -0.006),
                (0.3, 0.062, 0.039, 0.008),
                (0.55, half * 0.80, w * 0.92, mid - 0.014),
                (0.8, half * 0.97, w, mid),
                (1, half, w, mid),
            ],
            self.joint,
            -0.005 * self.s,
            ankle - 0.007 * self.s,
            exponent=2.7,
            dome=0.02,
        )

    def arm(
        self,
        arm: mujoco.MjsBody,
        forearm: mujoco.MjsBody,
        hand: mujoco.MjsBody,
        side: str,
        sign: float,
        upper_length: float,
        fore_length: float,
        hand_length: float,
    ) -> None:
        """Upper arm, forearm and a mitten hand with a thumb."""
        self._ball(arm, f"{side}_shoulder_ball", 0.055, self.cloth)
        self._loft(
            arm,
            f"{side}_upper_arm_shape",
            [
                (0, 0.050, 0.048),
                (0.2, 0.053, 0.050),
                (0.5, 0.046, 0.043, 0.003),
                (0.85, 0.039, 0.038),
                (1, 0.037, 0.037),
            ],
            self.cloth,
            -0.015 * self.s,
            upper_length - 0.045 * self.s,
        )
        self._ball(forearm, f"{side}_elbow_ball", 0.037)
        self._loft(
            forearm,
            f"{side}_forearm_shape",
            [
                (0, 0.037, 0.036),
                (0.2, 0.043, 0.039, 0.002),
                (0.5, 0.036, 0.034),
                (0.85, 0.028, 0.024),
                (1, 0.026, 0.022),
            ],
            self.cloth,
            -0.02 * self.s,
            fore_length - 0.035 * self.s,
        )
        self._ball(hand, f"{side}_wrist_ball", 0.025)
        self._loft(
            hand,
            f"{side}_hand_shape",
            [
                (0, 0.026, 0.017),
                (0.2, 0.038, 0.0175),
                (0.5, 0.041, 0.0165),
                (0.75, 0.037, 0.013),
                (0.95, 0.027, 0.010),
                (1, 0.022, 0.008),
            ],
            self.skin,
            -0.008 * self.s,
            hand_length - 0.014 * self.s,
            exponent=2.5,
            dome=0.5,
        )
        thumb = hand_length / 0.19
        hand.add_geom(
            name=f"{side}_thumb",
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            size=[0.0125 * thumb, 0, 0],
            rgba=self.skin,
            mass=0,
            fromto=[
                0.03 * thumb,
                -sign * 0.008 * thumb,
                -0.045 * thumb,
                0.056 * thumb,
                -sign * 0.022 * thumb,
                -0.092 * thumb,
            ],
            contype=0,
            conaffinity=0,
            group=VISUAL_GROUP,
        )
