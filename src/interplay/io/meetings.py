"""Where bodies were meant to touch, step by step: at contacts in force, and where a hand was just taking or letting go.

A hand reaches for what it will hold and leaves it again: in the phase before its contact is made and in the one after it is
broken the two count as meeting there, though for no longer than ``HANDLING``.
"""

from __future__ import annotations

import mujoco
import numpy as np

from interplay.io.replay import Replay
from interplay.scene.penetration import Place, contact_places
from interplay.scene.surfaces import surface

HANDLING = 2.0
"""How long a hand may be taking or letting go [s]."""


class Meetings:
    """The contacts of a recording, with the steps during which a hand takes or lets go of what they join."""

    def __init__(self, replay: Replay):
        """Take a recording on its scene."""
        run, self._model, self._sites = replay.recording, replay.model, replay.sites
        in_force = np.zeros((run.steps, len(self._sites)), bool)
        members = [replay.columns(k) for k in range(len(run.contact_sets))]
        for step, k in enumerate(run["contact_set"].tolist()):
            in_force[step, members[k]] = True
        self._in_force, self._taking = in_force, np.zeros_like(in_force)
        phases = np.array([run.phases.index(phase) for phase in run.phases])
        longest = round(HANDLING / run.header["dt"])
        for column, (first, second) in enumerate(self._sites.tolist()):
            if any(_of_a_hand(self._model, site) for site in (first, second)):
                self._taking[:, column] = around(in_force[:, column], phases, longest)

    def places(self, step: int, data: mujoco.MjData) -> list[Place]:
        """Return the places at which bodies were meant to touch on a step, in the configuration of ``data``."""
        m, sites = self._model, self._sites
        return [
            *contact_places(m, data, sites[self._in_force[step]]),
            *contact_places(m, data, sites[self._taking[step]], "taking"),
        ]


def _of_a_hand(m: mujoco.MjModel, site: int) -> bool:
    """Return whether a surface is held or is a hand's: a grip, or a palm."""
    return surface(m, site).kind == "grasp" or m.site(site).name.endswith("_palm")


def around(in_force: np.ndarray, phases: np.ndarray, longest: int) -> np.ndarray:
    """Return the steps of the phases right before a contact was made and right after it was broken, at most so many of them."""
    out = np.zeros_like(in_force)
    changes = np.flatnonzero(np.diff(in_force.astype(int)))
    for last in changes:  # of what was before; the next step has it otherwise
        if in_force[last]:
            after = phases[last + 1 : last + 1 + longest]
            out[last + 1 : last + 1 + _run(after == after[0])] = True
        else:
            before = phases[max(0, last + 1 - longest) : last + 1][::-1]
            out[last + 1 - _run(before == before[0]) : last + 1] = True
    return out & ~in_force


def _run(same: np.ndarray) -> int:
    """Return how many are true before the first that is not."""
    return len(same) if same.all() else int(np.argmin(same))
