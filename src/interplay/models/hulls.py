"""What of a humanoid collides: capsules for its limbs, and the shapes that are seen where no primitive fits them.

A capsule's distance costs least and its nearest point moves smoothly: limbs have one, or two where they taper. Trunk, palms
and shoes collide as they look: their shapes are convex. Fingers do not collide: a shape that fits an open hand would not fit
a fist. Every size is for a stature of 1.74 m and scales with it; lengths along limbs are the segments' own.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from interplay.models.base import COLLISION_GROUP, frame_quat

_HULL = [0.9, 0.4, 0.1, 0.25]

SEAT, SHOULDER, BACK = 0.095, 0.011, 0.111
"""How far a pelvis reaches below the hip joints, how far shoulders lie below the upper end of the trunk, and how far a back
lies behind its middle [m]."""

UPPER_ARM, FOREARM, THIGH, KNEE, CALF, ANKLE, NECK = 0.0485, 0.0375, 0.073, 0.058, 0.054, 0.0395, 0.052
"""Radii of the limbs' capsules [m]."""

THIGH_SHARE, CALF_END = 0.41, 0.17
"""Where the thick part of a thigh ends, of its length; where that of a calf does [m]."""


class Hulls:
    """Adds the collision shapes of one humanoid; the first of a body is ``<body>_hull``."""

    def __init__(self, scale: float):
        """Take the stature relative to 1.74 m."""
        self.s = scale

    def capsule(
        self, body: mujoco.MjsBody, name: str, start: Sequence[float], end: Sequence[float], radius: float
    ) -> None:
        """Add a capsule by the centres of its round ends [m, of this body] and its radius at a stature of 1.74 m."""
        a, b = np.asarray(start, float), np.asarray(end, float)
        body.add_geom(
            name=f"{name}_hull",
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            pos=((a + b) / 2).tolist(),
            quat=frame_quat(tuple(b - a), (1, 0, 0)),
            size=[radius * self.s, float(np.linalg.norm(b - a)) / 2, 0],
            group=COLLISION_GROUP,
            mass=0,
            rgba=_HULL,
        )

    def as_seen(self, body: mujoco.MjsBody, name: str, mesh: str) -> None:
        """Add the convex hull of what is seen."""
        body.add_geom(
            name=f"{name}_hull",
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh,
            group=COLLISION_GROUP,
            mass=0,
            rgba=_HULL,
        )

    def trunk(self, pelvis: mujoco.MjsBody, abdomen: mujoco.MjsBody, chest: mujoco.MjsBody) -> None:
        """Pelvis, abdomen and chest."""
        for body, name in ((pelvis, "pelvis"), (abdomen, "abdomen"), (chest, "chest")):
            self.as_seen(body, name, name)

    def head(self, neck: mujoco.MjsBody, skull: mujoco.MjsBody, neck_length: float, height: float) -> None:
        """Neck and head; a head of another scale than the body's keeps its proportions."""
        s, k = self.s, height / 0.17
        self.capsule(neck, "neck", (-0.004 * s, 0, 0.0), (0.004 * s, 0, neck_length), NECK)
        lean = 0.61  # its longest axis rises from the chin to the back of the head
        skull.add_geom(
            name="head_hull",
            type=mujoco.mjtGeom.mjGEOM_ELLIPSOID,
            pos=[0.009 * k, 0, 0.448 * height],
            quat=[float(np.cos(lean / 2)), 0, float(np.sin(lean / 2)), 0],
            size=[0.1086 * k, 0.0834 * k, 0.0957 * k],
            group=COLLISION_GROUP,
            mass=0,
            rgba=_HULL,
        )

    def leg(
        self,
        thigh: mujoco.MjsBody,
        shank: mujoco.MjsBody,
        foot: mujoco.MjsBody,
        side: str,
        thigh_length: float,
        shank_length: float,
    ) -> None:
        """Thigh and calf, each with a thick and a thin part, and shoe."""
        s = self.s
        self.capsule(thigh, f"{side}_thigh", (0, 0, 0), (0, 0, -THIGH_SHARE * thigh_length), THIGH)
        self.capsule(thigh, f"{side}_knee", (0, 0, -0.55 * thigh_length), (0, 0, -thigh_length), KNEE)
        self.capsule(shank, f"{side}_shank", (-0.009 * s, 0, -0.06 * s), (-0.009 * s, 0, -CALF_END * s), CALF)
        self.capsule(shank, f"{side}_ankle", (-0.006 * s, 0, -0.2 * s), (0, 0, -shank_length), ANKLE)
        self.as_seen(foot, f"{side}_foot", f"{side}_foot_shape")

    def arm(
        self,
        arm: mujoco.MjsBody,
        forearm: mujoco.MjsBody,
        hand: mujoco.MjsBody,
        side: str,
        upper_length: float,
        fore_length: float,
    ) -> None:
        """Upper arm, forearm and palm."""
        self.capsule(arm, f"{side}_upper_arm", (0, 0, 0), (0, 0, 0.009 * self.s - upper_length), UPPER_ARM)
        self.capsule(forearm, f"{side}_forearm", (0, 0, 0), (0, 0, 0.0138 * self.s - fore_length), FOREARM)
        self.as_seen(hand, f"{side}_hand", f"{side}_hand_shape")
