"""Drives: joints of mechanisms that follow a reference, as if by a strong motor of their own. To everyone else they are plain forces."""

from __future__ import annotations

from typing import Any, NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError
from interplay.objectives.reference import Reference, as_reference
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

FREQUENCY = 40.0
"""ω [rad/s] of a drive …"""
WITHIN_STEP = 0.4
"""… and the most that ωΔt may be: a force that is held over a step overshoots from 0.8 on."""


class Drive(NamedTuple):
    """A joint and what it follows."""

    dof: int
    adr: int
    reference: Reference


class Drives:
    """The drives of one scene: f = M (ω²(q_ref − q) + 2ω(v_ref − v) + a_ref) + N − passive, on the joints that are driven."""

    def __init__(self, scene: Scene):
        """Start with none."""
        self._scene, self._drives = scene, []

    def __len__(self) -> int:
        """Return how many joints are driven."""
        return len(self._drives)

    def add(self, joint: str, reference: Any) -> None:
        """Let a joint follow a reference (numbers, a function of time, a live control) [rad, m]."""
        m, index = self._scene.model, self._scene.joint(joint)
        dof = int(m.jnt_dofadr[index])
        if self._scene.kind(joint.split("/")[0]) != "mechanism":
            raise InputError(f"drive {joint!r}: expected a joint of a mechanism, such as 'platform/x'")
        if index in m.actuator_trnid[m.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT, 0]:
            raise InputError(f"drive {joint!r}: it has a motor already, which the program moves")
        if any(drive.dof == dof for drive in self._drives):
            raise InputError(f"drive {joint!r}: it is driven already")
        followed = as_reference(f"drive {joint!r}", reference, 1)
        self._drives.append(Drive(dof, int(m.jnt_qposadr[index]), followed))

    def push(self, terms: Kinematics, time: float, dt: float, out: np.ndarray) -> None:
        """Add the generalized forces (nv,) of all drives."""
        omega, asked = min(FREQUENCY, WITHIN_STEP / dt), np.zeros_like(out)
        for dof, adr, reference in self._drives:
            q, v, a = (float(np.asarray(part).flat[0]) for part in reference.at(time))
            asked[dof] = omega**2 * (q - terms.qpos[adr]) + 2.0 * omega * (v - terms.qvel[dof]) + a
        force = terms.mass_times(asked) + terms.qfrc_bias - terms.qfrc_passive
        dofs = [drive.dof for drive in self._drives]
        out[dofs] += force[dofs]
