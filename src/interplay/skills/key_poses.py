"""Skills by key poses, from files: servos lead every joint from pose to pose, in given times.

A file says ``name``, ``summary``, ``bid`` (what it bids where its conditions hold), ``when`` (its pre-conditions: sensors within bounds),
``keys`` (poses [rad], each after so many ``seconds``), ``until`` (its post-conditions, at the end, with so many seconds of ``patience``),
and ``mirrored: true`` where it suits the other side as well: which one is taken, ``side`` says, a sensor that is above 0 for the poses as
they are written. Joints without a side are both of a pair. What no key names stays as it is. ``along`` (weights of sensors) is what is
good on the way there, for who tunes it; ``learned`` is a file of what it has learned (``interplay learn``), beside this one.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pydantic
import yaml

from interplay.control.plan import Servo
from interplay.errors import InputError, checked, unknown_name
from interplay.skills.learned import Learned
from interplay.skills.sensing import Sensed, known
from interplay.skills.skill import MOST, NOT, RUNNING, SUCCEEDED, Bid, Skill

if TYPE_CHECKING:
    from interplay.simulation import Simulation

Bounds = dict[str, tuple[float | None, float | None]]
_FAR = 0.2
"""So far out of its bounds a sensor counts half."""


class Key(pydantic.BaseModel):
    """A pose, and how long it takes to come there."""

    model_config = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)
    seconds: float = pydantic.Field(ge=0.02, le=10.0)
    pose: dict[str, float]


class Poses(pydantic.BaseModel):
    """What a file of key poses says."""

    model_config = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)
    name: str = pydantic.Field(min_length=1)
    summary: str
    bid: float = pydantic.Field(ge=NOT, le=MOST)
    when: Bounds
    keys: list[Key] = pydantic.Field(min_length=1)
    until: Bounds = {}
    along: dict[str, float] = {}
    learned: str | None = None
    patience: float = pydantic.Field(0.0, ge=0.0, le=10.0)
    mirrored: bool = False
    side: str = "leaning"

    @pydantic.field_validator("when", "until")
    @classmethod
    def _bounded(cls, bounds: Bounds) -> Bounds:
        for name, (low, high) in bounds.items():
            known(name)
            if low is not None and high is not None and low > high:
                raise ValueError(f"{name}: expected a lower and an upper bound, got {low:g} and {high:g}")
        return bounds

    @pydantic.field_validator("along")
    @classmethod
    def _sensors(cls, along: dict[str, float]) -> dict[str, float]:
        return {known(name): weight for name, weight in along.items()}

    @pydantic.field_validator("side")
    @classmethod
    def _sensor(cls, side: str) -> str:
        return known(side)


def read(path: str | Path) -> Poses:
    """Read a file of key poses."""
    try:
        given = yaml.safe_load(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"key poses {path}: {error}") from error
    if not isinstance(given, dict):
        raise InputError(f"key poses {path}: expected name, summary, bid, when, keys, got {type(given).__name__}")
    poses = checked(Poses, f"key poses {path}", given)
    if poses.learned is not None:
        poses = poses.model_copy(update={"learned": str(Path(path).parent / poses.learned)})
    return poses


def outside(bounds: Bounds, sensed: Sensed) -> str:
    """Return what is out of bounds, in words; nothing if all is within."""
    for name, (low, high) in bounds.items():
        value = sensed.number(name)
        if (low is not None and value < low) or (high is not None and value > high):
            wanted = f"{'' if low is None else f'{low:g} ≤ '}{name}{'' if high is None else f' ≤ {high:g}'}"
            return f"{name} is {value:.2f}, not {wanted}"
    return ""


def short_of(bounds: Bounds, sensed: Sensed) -> float:
    """Return how far what is sensed is from bounds: 0 within all of them, up to 1 for each that it is out of."""
    short = 0.0
    for name, (low, high) in bounds.items():
        value = sensed.number(name)
        off = max(0.0 if low is None else low - value, 0.0 if high is None else value - high, 0.0)
        short += off / (off + _FAR)
    return short


class KeyPoses(Skill):
    """A skill by key poses."""

    def __init__(self, model: str, poses: Poses):
        """Take the character and what the file says."""
        super().__init__(model)
        self.name, self.summary, self.poses = poses.name, poses.summary, poses  # type: ignore[misc]
        self.learned = None if poses.learned is None else Learned.read(poses.learned)
        self._times = np.cumsum([0.0, *(key.seconds for key in poses.keys)])
        self._dofs = np.zeros(0, np.int64)
        self._way = np.zeros((0, 0))
        """Angles (keys + 1, k) of all motors' joints, from where they were."""

    def bid(self, sensed: Sensed) -> Bid:
        """Return what the file bids where its conditions hold."""
        out = outside(self.poses.when, sensed)
        return Bid(NOT, out) if out else Bid(self.poses.bid, "its conditions hold")

    def begin(self, sim: Simulation, sensed: Sensed) -> None:
        """Set out from where she is."""
        mirrored = self.poses.mirrored and sensed.number(self.poses.side) < 0.0
        joints, self._dofs = driven(sim, self.model)
        now = [sensed.angles[joint] for joint in joints]
        way = [now]
        for key in self.poses.keys:
            pose = spelled(key.pose, joints, mirrored, self.name)
            way.append([pose.get(joint, before) for joint, before in zip(joints, way[-1], strict=True)])
        self._way = np.array(way)

    def update(self, sim: Simulation, sensed: Sensed) -> str:
        """Say when all keys are through, and whether she is where they should have led."""
        late = sim.time - self.began - self._times[-1]
        if late < -1e-9:
            return RUNNING
        out = outside(self.poses.until, sensed)
        if not out:
            return SUCCEEDED
        return RUNNING if late < self.poses.patience else out

    def servo(self, sim: Simulation) -> Servo:
        """Return the servos towards the key that comes."""
        t, last = sim.time + sim.dt - self.began, len(self._times) - 1
        k = min(int(np.searchsorted(self._times, t)), last)
        part = min((t - self._times[k - 1]) / (self._times[k] - self._times[k - 1]), 1.0)
        position = self._way[k - 1] + part * (self._way[k] - self._way[k - 1])
        return Servo(self._dofs, position, np.zeros(len(position)))

    def checkpoint(self) -> Any:
        """Return the way it goes."""
        return self._way.tolist()

    def restore(self, sim: Simulation, data: Any) -> None:
        """Go on with it."""
        self._dofs, self._way = driven(sim, self.model)[1], np.array(data)


def driven(sim: Simulation, model: str) -> tuple[list[str], np.ndarray]:
    """Return the joints of a character that have motors, by name, and their DOFs."""
    m, prefix = sim.scene.model, f"{model}/"
    joints = sorted({int(j) for j in m.actuator_trnid[:, 0] if m.joint(int(j)).name.startswith(prefix)})
    return [m.joint(j).name.removeprefix(prefix) for j in joints], m.jnt_dofadr[joints].astype(np.int64)


def spelled(pose: Mapping[str, float], joints: list[str], mirrored: bool, whose: str) -> dict[str, float]:
    """Return the angles of single joints of a pose, which may name both of a pair at once; mirrored on request."""
    out: dict[str, float] = {}
    for name, angle in pose.items():
        both = [f"left_{name}", f"right_{name}"]
        found = [name] if name in joints else [joint for joint in both if joint in joints]
        if not found:
            raise unknown_name(f"joint of {whose}", name, joints)
        for joint in found:
            out[joint] = angle
    if not mirrored:
        return out
    # Joints of a pair mean the same on both sides; of the trunk's, those that turn and lean are the other way round.
    swapped = {"left": "right", "right": "left"}
    turned = {}
    for joint, angle in out.items():
        side, _, rest = joint.partition("_")
        middle = side not in swapped
        turned[joint if middle else f"{swapped[side]}_{rest}"] = (
            -angle if middle and not joint.endswith("flexion") else angle
        )
    return turned


def written(poses: Poses, remarks: str = "") -> str:
    """Return key poses as the text of a file."""
    given = poses.model_dump(mode="json", exclude_defaults=True)
    keys = given.pop("keys")
    head = yaml.safe_dump(given, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    lines = [*(f"# {line}" for line in remarks.splitlines()), head.rstrip(), "keys:"]
    for key in keys:
        pose = ", ".join(f"{joint}:{_STUCK}{angle:g}" for joint, angle in key["pose"].items())
        lines += [f"  - seconds: {key['seconds']:g}", *textwrap.wrap(f"pose:{_STUCK}{{{pose}}}", 112, **_INDENT)]
    return "\n".join(lines).replace(_STUCK, " ") + "\n"


_STUCK = "\N{WORD JOINER}"
"""Stands for a space at which no line ends."""
_INDENT: dict[str, Any] = {"initial_indent": "    ", "subsequent_indent": "      "}
