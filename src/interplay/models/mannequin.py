"""What a humanoid looks like: lofted limbs over ball joints, in one colour with lighter hands and head."""

from __future__ import annotations

import mujoco
import numpy as np

from interplay.models.base import VISUAL_GROUP
from interplay.models.hand import Hand
from interplay.models.hulls import CALF_END, SEAT, SHOULDER, THIGH_SHARE
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
        """Add a loft; rows are (fraction of span below top, rx, ry, cx) with radii in metres at stature 1.74 m."""
        self._rings(body, name, [((top - f * span) / self.s, *row) for f, *row in rows], rgba, **options)

    def _rings(
        self, body: mujoco.MjsBody, name: str, rows: list[tuple[float, ...]], rgba: list[float], **options: float
    ) -> None:
        """Add a loft; rows are (height, rx, ry, cx) in metres at stature 1.74 m."""
        sections = tuple(Section(*(v * self.s for v in row)) for row in rows)
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
        sex: str,
    ) -> None:
        """Pelvis, abdomen and chest; a female body has wider hips and a narrower waist."""
        hips, waist, ribs = (0.162, 0.112, 0.142) if sex == "female" else (0.156, 0.122, 0.152)
        low, high = lower * 0.96 / self.s, upper / self.s
        # Flat below, where it sits; a flat yoke on top, where others stand.
        self._rings(
            pelvis,
            "pelvis",
            [
                (low, 0.088, waist + 0.008, 0.005),
                (0.7 * low - 0.023, 0.098, 0.5 * (hips + waist) + 0.008, 0.0),
                (0.38 * low - 0.047, 0.112, hips, -0.008),
                (-0.055, 0.102, hips - 0.018, -0.008),
                (-0.083, 0.075, 0.110, -0.006),
            ],
            self.cloth,
            exponent=2.3,
            dome=(SEAT - 0.083) / 0.0925,
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
        self._rings(
            chest,
            "chest",
            [
                (high - SHOULDER + 0.0003, 0.045, 0.075, -0.005),
                (high - SHOULDER, 0.056, 0.125, -0.004),
                (high - 0.026, 0.075, 0.154, -0.004),
                (high - 0.065, 0.098, 0.170, -0.004),
                (0.45 * high, 0.115, 0.164, 0.004),
                (0.20 * high, 0.108, ribs + 0.004, 0.006),
                (-0.02 * high, 0.098, ribs - 0.014, 0.005),
            ],
            self.cloth,
            exponent=2.3,
            dome=0.01,
        )

    def head(self, neck: mujoco.MjsBody, skull: mujoco.MjsBody, neck_length: float, height: float) -> None:
        """Neck and an egg-shaped head with the hint of a face."""
        k = height / (0.17 * self.s)
        self._loft(
            neck,
            "neck_shape",
            [(0, 0.047, 0.046, 0.006), (0.5, 0.049, 0.049, -0.001), (1, 0.051, 0.052, -0.003)],
            self.skin,
            neck_length,
            neck_length,
            dome=1.0,  # round about both its joints, so that it shows no ends when it bends
        )
        rows = [
            (0.0, 0.020, 0.016, -0.003),
            (0.02, 0.039, 0.031, -0.002),
            (0.06, 0.056, 0.043, 0.0),
            (0.13, 0.076, 0.059, 0.002),
            (0.27, 0.094, 0.074, 0.003),
            (0.45, 0.100, 0.079, 0.005),
            (0.62, 0.097, 0.077, 0.010),
            (0.8, 0.080, 0.062, 0.0135),
            (0.95, 0.056, 0.046, 0.0195),
            (1.0, 0.037, 0.033, 0.021),
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
                pos=[0.0925 * self.s * k, sign * 0.031 * self.s * k, 0.5 * height],
                rgba=[0.12, 0.12, 0.15, 1],
                contype=0,
                conaffinity=0,
                group=VISUAL_GROUP,
                mass=0,
            )
        skull.add_geom(
            name="nose",
            type=mujoco.mjtGeom.mjGEOM_ELLIPSOID,
            size=[0.013 * self.s * k, 0.010 * self.s * k, 0.019 * self.s * k],
            pos=[0.100 * self.s * k, 0, 0.38 * height],
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
        s, thick = self.s, THIGH_SHARE * thigh_length / self.s
        self._ball(thigh, f"{side}_hip_ball", 0.068, self.cloth)
        self._rings(
            thigh,
            f"{side}_thigh_shape",
            [
                (-0.02, 0.0715, 0.0695),
                (-0.06, 0.0745, 0.0720),
                (-0.7 * thick, 0.0725, 0.0700),
                (-thick, 0.0690, 0.0675),
                (-thick - 0.028, 0.0635, 0.0627),
                (-thick - 0.050, 0.0572, 0.0568),
                (-0.5 * (thick + 0.050 + thigh_length / s), 0.055, 0.054),
                (0.03 - thigh_length / s, 0.0525, 0.0525),
            ],
            self.cloth,
        )
        self._ball(shank, f"{side}_knee_ball", 0.0535)
        self._rings(
            shank,
            f"{side}_shank_shape",
            [
                (-0.03, 0.0465, 0.0465, -0.003),
                (-0.06, 0.0500, 0.0495, -0.007),
                (-0.125, 0.0545, 0.0515, -0.010),
                (-CALF_END, 0.0505, 0.0492, -0.010),
                (-CALF_END - 0.025, 0.0425, 0.0420, -0.008),
                (-CALF_END - 0.040, 0.0393, 0.0388, -0.0045),
                (-0.5 * (CALF_END + 0.040 + shank_length / s), 0.036, 0.035, -0.003),
                (0.02 - shank_length / s, 0.0335, 0.0325, 0.0),
            ],
            self.cloth,
        )
        self._ball(foot, f"{side}_ankle_ball", 0.036)
        # The shoe is lofted along the vertical: a sole outline that narrows to the ankle.
        half, mid, w = sole / 2 / s, (sole / 2 - heel) / s, width / 2 / s
        self._rings(
            foot,
            f"{side}_foot_shape",
            [
                (-0.005, 0.045, 0.036, -0.006),
                (-0.027, 0.068, 0.039, 0.012),
                (-0.045, half * 0.83, w * 0.92, mid - 0.012),
                (-0.063, half * 0.97, w, mid),
                (0.002 - ankle / s, half, w, mid),
            ],
            self.joint,
            exponent=2.9,
            dome=0.002 / (0.5 * (half + w)),
        )

    def arm(
        self,
        arm: mujoco.MjsBody,
        forearm: mujoco.MjsBody,
        hand: mujoco.MjsBody,
        side: str,
        upper_length: float,
        fore_length: float,
        hand_length: float,
    ) -> None:
        """Upper arm, forearm and hand."""
        self._ball(arm, f"{side}_shoulder_ball", 0.050, self.cloth)
        self._loft(
            arm,
            f"{side}_upper_arm_shape",
            [
                (0, 0.047, 0.046),
                (0.2, 0.0495, 0.0485),
                (0.5, 0.0465, 0.045, 0.001),
                (0.85, 0.043, 0.0425),
                (1, 0.043, 0.043),
            ],
            self.cloth,
            -0.015 * self.s,
            upper_length - 0.035 * self.s,
        )
        self._ball(forearm, f"{side}_elbow_ball", 0.043)
        self._loft(
            forearm,
            f"{side}_forearm_shape",
            [
                (0, 0.0365, 0.036),
                (0.2, 0.0385, 0.0385),
                (0.5, 0.036, 0.035),
                (0.85, 0.0315, 0.031),
                (1, 0.031, 0.0305),
            ],
            self.cloth,
            -0.02 * self.s,
            fore_length - 0.035 * self.s,
        )
        self._ball(hand, f"{side}_wrist_ball", 0.0275)
        Hand(side, hand_length).add(self.spec, hand, self.skin)
