"""A recording at any moment, also between its steps: films have frames of their own."""

from __future__ import annotations

import mujoco
import numpy as np

from interplay.io.grips import recorded_grips
from interplay.io.recording import Recording
from interplay.view.fingers import Grip


class Moments:
    """Configurations, phases and grips of a recording over time [s]."""

    def __init__(self, recording: Recording):
        """Take a recording."""
        self.recording = recording
        self._time, self._qpos = recording["time"], recording["qpos"]
        self._grips = recorded_grips(recording)
        self._turn = np.empty(recording.model.nv)

    def step(self, time: float) -> int:
        """Return the last step that has begun; the first one before it has."""
        return int(np.clip(np.searchsorted(self._time, time + 1e-9, side="right") - 1, 0, len(self._time) - 1))

    def qpos(self, time: float) -> np.ndarray:
        """Return the configuration (nq,) at a moment, on the way from one step to the next; where some are missing, the last stays.

        That way is on the manifold: joint values linearly, the orientation of what floats along the shortest turn.
        """
        m, t = self.recording.model, self.step(time)
        q = self._qpos[t].copy()
        if t + 1 < len(self._time):
            wait = float(self._time[t + 1] - self._time[t])
            share = (time - float(self._time[t])) / wait
            if share > 1e-6 and wait < 1.5 * self.recording.header["dt"]:
                mujoco.mj_differentiatePos(m, self._turn, 1.0, q, self._qpos[t + 1])
                mujoco.mj_integratePos(m, q, self._turn, min(share, 1.0))
        return q

    def phase(self, time: float) -> str:
        """Return the name of the phase at a moment."""
        return self.recording.phases[self.step(time)]

    def grips(self, time: float) -> tuple[Grip, ...]:
        """Return what hands hold at a moment."""
        return self._grips.at(time)
