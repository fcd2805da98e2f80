"""What entries see of the running scenario when they are made: the simulation, its controls, marks and sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import interplay as ip
from interplay.errors import InterplayError, pick
from interplay.maths.rotations import quaternion_of, turned
from interplay.motion.clip_file import shipped_clip
from interplay.script.entries import Place
from interplay.script.models import inside
from interplay.script.reader import Problem, ScriptError


def clip_named(folder: Path, name: str) -> ip.Clip:
    """Return a clip: a file ``….clip`` in a folder or below, or one that comes with Interplay."""
    return ip.Clip.load(inside(folder, name) if name.endswith(".clip") else shipped_clip(name))


class Play:
    """One run of a scenario file."""

    def __init__(self, sim: ip.Simulation, path: Path, sets: Mapping[str, Sequence[Any]]):
        """Take the simulation, the file and its sets of objectives."""
        self.sim, self.path, self.sets = sim, path, sets
        self.marks: dict[str, np.ndarray] = {}
        self.walk: ip.Walk | None = None
        """The walk whose objectives are being made."""
        self.stance: ip.Entry | None = None
        """The moment that objectives with ``since`` refer to."""
        self._clips: dict[str, ip.Clip] = {}
        self._shared: dict[tuple[str, str, float], list[ip.Objective]] = {}

    def make(self, entries: Sequence[Any]) -> list[ip.Objective]:
        """Return the objectives of some entries, made at the present state."""
        out: list[ip.Objective] = []
        problems: list[Problem] = []
        for entry in entries:
            try:
                made = entry.make(self)
                for objective in made:
                    objective.attach(self.sim.scene)
                    if (priority := getattr(entry, "priority", None)) is not None:
                        objective.priority = priority
                out += made
            except ScriptError as error:
                problems += error.problems
            except InterplayError as error:
                problems.append(Problem(entry.line, str(error)))
        if problems:
            raise ScriptError(self.path.name, problems)
        return out

    def shared(self, name: str, since: str) -> list[ip.Objective]:
        """Return the objectives of a set as they were made when a phase was entered: all phases since then share them."""
        stance = self.stance
        if stance is None:
            raise ip.InputError(f"'since: {since}' is for the objectives of phases")
        key = (name, since, stance.time)
        if key not in self._shared:
            with self.sim.at(stance):
                self._shared = {k: v for k, v in self._shared.items() if k[1:] == key[1:]}
                self._shared[key] = self.make(self.sets[name])
        return self._shared[key]

    def control(self, name: str) -> ip.Control:
        """Return a live control."""
        return pick("control", str(name), self.sim.live.controls)

    def clip(self, name: str) -> ip.Clip:
        """Return a clip: a file ``….clip`` in the folder of the scenario's or below, or one that comes with Interplay."""
        if name not in self._clips:
            self._clips[name] = clip_named(self.path.parent, name)
        return self._clips[name]

    def joint(self, name: str) -> float:
        """Return the present value of a joint [rad, m]."""
        return float(self.sim.state.qpos[self.sim.scene.model.jnt_qposadr[self.sim.scene.joint(name)]])

    def pose(self, where: Any) -> np.ndarray:
        """Return the pose (7,) that numbers, a name or a place stand for at present."""
        if isinstance(where, Place):
            out = self.pose(where.of if where.of is not None else where.pos or [0.0, 0.0, 0.0])
            if where.middle is not None:
                out[:3] = self.sim.middle(*where.middle)
            out[:3] += where.by or (0.0, 0.0, 0.0)
            if where.turn is not None:
                out[3:] = turned(np.array(where.turn, float), out[3:])
            return out
        if not isinstance(where, str):
            given = [where] if isinstance(where, (int, float)) else where
            if len(given) not in (3, 7):
                raise ip.InputError(f"expected x, y, z [m] (and a quaternion w, x, y, z), got {len(given)} numbers")
            return ip.pose_value(given[:3], given[3:] or (1, 0, 0, 0))
        if where in self.marks:
            return self.marks[where].copy()
        p, R = ip.Frame(self.sim.scene, str(where)).pose(self.sim.terms)
        return np.concatenate([p, quaternion_of(R)])

    def relative(self, frame: str, base: str) -> np.ndarray:
        """Return the present pose (7,) of a frame in another one's axes."""
        (p, R), (q, Q) = (ip.Frame(self.sim.scene, str(name)).pose(self.sim.terms) for name in (frame, base))
        return np.concatenate([Q.T @ (p - q), quaternion_of(Q.T @ R)])
