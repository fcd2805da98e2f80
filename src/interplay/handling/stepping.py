"""One step ahead, before hands push: weight over one foot, the other goes to its place, and both carry again (liu2012, VI.A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.errors import ContactError
from interplay.motion.footsteps import Footprint, Gait, Swing, other_side, standing
from interplay.motion.touchdown import felt, land
from interplay.objectives.base import Objective
from interplay.objectives.pose import Pose
from interplay.scene.scene import GROUND

if TYPE_CHECKING:
    from interplay.simulation import Simulation

OVER, CALM = 0.025, 0.08
"""A foot is lifted when the centre of mass is so near to over the other one [m], and no faster [m/s]; or after …"""
PATIENCE = 1.5
"""… so long [s]."""
SWING, FIRM, SEEKS = 0.8, 150.0, 0.01
"""How long a foot is in the air [s], how firmly it is led [1/s²], and how far below the ground it aims [m]: so that it lands."""


class Step:
    """A step of one foot, from when it is decided until it has landed."""

    def __init__(self, sim: Simulation, model: str, side: str, ahead: float, friction: float):
        """Take who, which foot, how far it goes ahead [m], and the friction that plans count on."""
        self.model, self.side, self._friction = model, side, friction
        self._sole = f"{model}/{side}_sole"
        start = self._start = standing(sim, model)[side]
        way = np.array([np.cos(start.heading), np.sin(start.heading), 0.0])
        self._end = start._replace(place=start.place + ahead * way)
        self._begun = sim.time
        self._lifted: float | None = None
        self._objectives: list[Objective] = []

    @property
    def objectives(self) -> Sequence[Objective]:
        """What leads the foot in the air."""
        return self._objectives

    def over(self, sim: Simulation) -> np.ndarray:
        """Return over what the centre of mass should be (2,): the foot that stays."""
        return standing(sim, self.model)[other_side(self.side)].place[:2]

    def update(self, sim: Simulation) -> bool:
        """Lift, lead, land; return whether it has landed."""
        if self._lifted is None:
            place, speed = sim.com(self.model)
            near = np.linalg.norm(place[:2] - self.over(sim)) < OVER and np.linalg.norm(speed[:2]) < CALM
            if near or sim.time - self._begun > PATIENCE:
                self._lift(sim, standing(sim, self.model)[self.side], sim.time)
            return False
        gone = sim.time - self._lifted
        feels = gone > 0.5 * SWING and felt(sim, self._sole, GROUND)
        if not feels and gone < SWING - 1e-9:
            return False
        try:
            sim.contacts.add(self._sole, GROUND, landing=True, friction=self._friction)
        except ContactError:  # not there yet, unless it stands on something that nobody knew of
            return feels and land(sim, self._sole, GROUND, friction=self._friction) is not None
        return True

    def _lift(self, sim: Simulation, start: Footprint, time: float) -> None:
        """Let the foot go on its way from where it was at a time [s]."""
        if any(c.first.name == self._sole for c in sim.contacts):
            sim.contacts.remove(self._sole, GROUND)
        self._lifted, self._start = time, start
        end = self._end._replace(place=self._end.place - [0.0, 0.0, SEEKS])
        way = Swing(start, end, time, Gait(swing=SWING, clearance=0.06, toe=0.15))
        self._objectives = [Pose(self._sole, way, weight=20.0, stiffness=FIRM, max_speed=np.inf)]

    def checkpoint(self) -> Any:
        """Return what restores it."""
        return {
            "side": self.side,
            "friction": self._friction,
            "begun": self._begun,
            "lifted": self._lifted,
            "start": [self._start.place.tolist(), self._start.heading],
            "end": [self._end.place.tolist(), self._end.heading],
        }

    @classmethod
    def restore(cls, sim: Simulation, model: str, data: Any) -> Step:
        """Return a step that goes on."""
        step = cls(sim, model, data["side"], 0.0, data["friction"])
        start, step._end = (Footprint(step.side, np.array(p), heading) for p, heading in (data["start"], data["end"]))
        step._begun = data["begun"]
        if data["lifted"] is not None:
            step._lift(sim, start, data["lifted"])
        return step
