"""Live controls: values a person (or a file) moves while the scene runs. A control is a smooth, rate-limited reference."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from interplay.errors import InputError, number, pick, quaternion, vector
from interplay.maths.rotations import rotation, turn_from, turned
from interplay.maths.steps import FASTEST, QuinticToRest
from interplay.motion.targets import VERBS, deed
from interplay.objectives.reference import Sample

KINDS = {"scalar": 1, "point": 3, "pose": 7}
"""How many numbers each kind of control takes."""

_SHORTEST = 0.25
_FARTHEST = 1e5
"""A control without bounds goes no farther: beyond, its smooth way there would be lost in rounding."""


class Control:
    """A live value: ``scalar``, ``point`` (3) or ``pose`` (position and quaternion).

    Setting it starts a quintic from the reference's present value, velocity and acceleration to the new value, long
    enough to stay below ``max_speed`` [unit/s] (``max_turn`` [rad/s] for the orientation of a pose): input may jump, the
    reference never does. ``low`` and ``high`` bound its position, ``max_angle`` [rad] how far a pose may turn from the first one.
    """

    full: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        kind: str,
        value: Any,
        low: Any = None,
        high: Any = None,
        *,
        max_speed: float = 0.5,
        max_turn: float = 1.0,
        max_angle: float = math.inf,
        unit: str = "m",
        help: str = "",
    ):
        """Take name, kind, first value, bounds, rate limits and a line of help."""
        if not isinstance(name, str) or name != name.strip() or deed(name):
            raise InputError(f"control: expected a name that is not {', '.join(VERBS)} …, got {name!r}")
        self.name, self.kind, self.unit, self.help = name, kind, unit, help
        self.size = pick("kind of control", kind, KINDS)
        self.max_speed = number(f"max_speed of {name}", max_speed, 1e-6, 1e6)
        self.max_turn = number(f"max_turn of {name}", max_turn, 1e-6, 1e6)
        bounded = min(self.size, 3)
        self.low = np.full(bounded, -np.inf) if low is None else vector(f"low of {name}", low, bounded)
        self.high = np.full(bounded, np.inf) if high is None else vector(f"high of {name}", high, bounded)
        if (self.low > self.high).any():
            raise InputError(f"control {name!r}: expected low ≤ high, got {self.low.tolist()} and {self.high.tolist()}")
        self.max_angle = math.inf if max_angle == math.inf else number(f"max_angle of {name}", max_angle, 0, math.pi)
        self._home: np.ndarray | None = None
        self.value = self._clamp(value)
        self._home = self.value[3:].copy()
        self._begin, self._still = -math.inf, np.zeros(self._dim)
        self._way = QuinticToRest(np.zeros((6, self._dim)), 1.0)

    @property
    def _dim(self) -> int:
        return 6 if self.kind == "pose" else self.size

    def _clamp(self, value: Any) -> np.ndarray:
        given = vector(f"control {self.name!r}", value, self.size)
        bounded = slice(0, len(self.low))
        given[bounded] = np.clip(given[bounded], np.maximum(self.low, -_FARTHEST), np.minimum(self.high, _FARTHEST))
        if self.kind == "pose":
            given[3:] = quaternion(f"control {self.name!r}", given[3:])
            if self._home is not None:
                turn = turn_from(self._home, rotation(given[3:]))
                angle = float(np.linalg.norm(turn))
                if angle > self.max_angle:
                    given[3:] = turned(turn * (self.max_angle / angle), self._home)
        return given

    def set(self, value: Any, time: float) -> None:
        """Move toward a new value, clamped to the control's bounds."""
        target = self._clamp(value)
        start = self.at(time)
        offset = np.empty(self._dim)
        offset[: min(self.size, 3)] = start.value[:3] - target[:3]
        if self.kind == "pose":
            offset[3:] = turn_from(target[3:], rotation(start.value[3:]))
        ways = [np.linalg.norm(offset[:3]) / self.max_speed] + (
            [np.linalg.norm(offset[3:]) / self.max_turn] if self.kind == "pose" else []
        )
        still, seconds = np.zeros(self._dim), max(_SHORTEST, FASTEST * float(max(ways)))
        self._way = QuinticToRest.of(offset, still + start.velocity, still + start.acceleration, seconds)
        self.value, self._begin = target, time

    def at(self, time: float) -> Sample:
        """Return the smooth reference at a time."""
        s = (time - self._begin) / self._way.seconds
        if s >= 1.0:
            return Sample(self.value, self._still, self._still)
        offset, velocity, acceleration = self._way.at(s)
        value = self.value.copy()
        value[:3] += offset[:3]
        if self.kind == "pose":
            value[3:] = turned(offset[3:], self.value[3:])
        return Sample(value, velocity, acceleration)

    def checkpoint(self) -> dict[str, Any]:
        """Return what restores the control."""
        return {
            "value": self.value.tolist(),
            "begin": self._begin,
            "seconds": self._way.seconds,
            "coefficients": self._way.coefficients.tolist(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Put back what ``checkpoint`` returned."""
        self.value, self._begin = np.array(data["value"]), data["begin"]
        self._way = QuinticToRest(np.array(data["coefficients"]), data["seconds"])
