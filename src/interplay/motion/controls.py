"""Live controls: values a person (or a file) moves while the scene runs. A control is a smooth, rate-limited reference."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from interplay.errors import InputError, number, pick, quaternion, vector
from interplay.objectives.frame import rotation, turn_from, turned
from interplay.objectives.reference import Sample

KINDS = {"scalar": 1, "point": 3, "pose": 7}
"""How many numbers each kind of control takes."""

_SHORTEST = 0.25


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
        self._begin, self._seconds = -math.inf, 1.0
        self._coefficients, self._still = np.zeros((6, self._dim)), np.zeros(self._dim)

    @property
    def _dim(self) -> int:
        return 6 if self.kind == "pose" else self.size

    def _clamp(self, value: Any) -> np.ndarray:
        given = vector(f"control {self.name!r}", value, self.size)
        given[: len(self.low)] = np.clip(given[: len(self.low)], self.low, self.high)
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
        T = max(_SHORTEST, 1.875 * float(max(ways)))
        velocity, acceleration = np.zeros(self._dim) + start.velocity, np.zeros(self._dim) + start.acceleration
        # Quintic in s = t/T from (offset, velocity, acceleration) to rest at 0.
        a0, a1, a2 = offset, velocity * T, acceleration * T * T / 2
        self._coefficients = np.array(
            [a0, a1, a2, -10 * a0 - 6 * a1 - 3 * a2, 15 * a0 + 8 * a1 + 3 * a2, -6 * a0 - 3 * a1 - a2]
        )
        self.value, self._begin, self._seconds = target, time, T

    def at(self, time: float) -> Sample:
        """Return the smooth reference at a time."""
        T = self._seconds
        s = (time - self._begin) / T
        if s >= 1.0:
            return Sample(self.value, self._still, self._still)
        k = np.arange(6.0)
        c, power = self._coefficients, s**k
        offset = power @ c
        velocity = (k[1:] * power[:-1]) @ c[1:] / T
        acceleration = (k[2:] * k[1:-1] * power[:-2]) @ c[2:] / T**2
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
            "seconds": self._seconds,
            "coefficients": self._coefficients.tolist(),
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Put back what ``checkpoint`` returned."""
        self.value, self._begin, self._seconds = np.array(data["value"]), data["begin"], data["seconds"]
        self._coefficients = np.array(data["coefficients"])


class Target(NamedTuple):
    """One timed value of a control."""

    time: float
    control: str
    value: np.ndarray


def read_targets(path: str | Path, controls: dict[str, Control]) -> list[Target]:
    """Read timed targets from a CSV file with rows ``time, control, value, …``; every problem names its line."""
    path = Path(path)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"targets file {str(path)!r} cannot be read: {error}") from None
    out: list[Target] = []
    for line, row in enumerate(csv.reader(text.splitlines()), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#") or (line == 1 and cells[0].lower() == "time"):
            continue
        where = f"{path.name}, line {line}"
        if len(cells) < 3:
            raise InputError(f"{where}: expected time, control and values, got {', '.join(cells)!r}")
        try:
            time = float(cells[0])
            values = [float(cell) for cell in cells[2:] if cell]
        except ValueError as error:
            raise InputError(f"{where}: {error}") from None
        if not math.isfinite(time) or time < 0:
            raise InputError(f"{where}: expected a time ≥ 0 s, got {cells[0]}")
        try:
            control = pick("control", cells[1], controls)
            out.append(Target(time, control.name, vector(f"control {control.name!r}", values, control.size)))
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
    return sorted(out, key=lambda t: t.time)
