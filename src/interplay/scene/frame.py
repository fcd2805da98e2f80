"""Frames that move with bodies."""

from __future__ import annotations

import mujoco
import numpy as np

from interplay.errors import InputError
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class Frame:
    """A frame that moves with a body: a site, a body's own frame, or a model's root."""

    def __init__(self, scene: Scene, name: str):
        """Find a site of this name, otherwise a body."""
        m = scene.model
        self.site = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, name) if isinstance(name, str) else -1
        self.body = int(m.site_bodyid[self.site]) if self.site >= 0 else scene.body(name)
        self.chain = scene.rest.chain(self.body)

    @classmethod
    def moving(cls, scene: Scene, name: str) -> Frame:
        """Find a frame that some DOF moves."""
        frame = cls(scene, name)
        if not len(frame.chain):
            raise InputError(f"{name!r} cannot move: it belongs to the fixed environment")
        return frame

    def pose(self, terms: Kinematics) -> tuple[np.ndarray, np.ndarray]:
        """Return position (3,) and rotation (3, 3) in the world."""
        if self.site >= 0:
            return terms.site_xpos[self.site], terms.site_xmat[self.site].reshape(3, 3)
        return terms.xpos[self.body], terms.xmat[self.body].reshape(3, 3)
