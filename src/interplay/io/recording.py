"""A recording read back: what was decided and what became of it, step by step, and enough to resume.

Generalized forces and wrenches at sites follow from what is recorded: see :mod:`.replay`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError
from interplay.io import blocks
from interplay.io.writer import QUANTA, TIMES, restored_states
from interplay.motion.targets import Target
from interplay.view.camera import Camera

_SMALL = (*TIMES, "time", "contact_set", "phase")
"""Arrays that are kept for the whole run as soon as a recording is opened."""


class Gap(NamedTuple):
    """Steps that cannot be read: from when to when [s], and how many; None: that is not known, they are the last ones."""

    begin: float
    end: float | None
    steps: int | None

    def __str__(self) -> str:
        """Say what is missing."""
        if self.end is None:
            return f"what follows {self.begin:.2f} s is torn or damaged and left out"
        count = f"{self.steps} step{'s' if self.steps != 1 else ''}"
        return f"{self.begin:.2f} s to {self.end:.2f} s ({count}) is damaged and left out"


class Recording:
    """A recording read back: header, contacts that ever existed, conflicts, the last checkpoint; arrays when they are asked for.

    Large runs are read piece by piece: ``chunks`` yields the arrays of one block after another.
    """

    def __init__(self, path: str | Path):
        """Read a file, or the file ``recording`` in a folder; what is damaged is left out, and named by ``missing``."""
        self.path = Path(path)
        if self.path.is_dir():
            self.path = self.path / "recording"
        found = blocks.survey(self.path)
        self.bytes_read = found.end
        """Where its last sound block ends: what comes then cannot be read."""
        self.scene_path = self.path.parent / "scene.xml"
        """The scene's XML beside the recording."""
        self._survey(found)
        try:
            self.model = mujoco.MjModel.from_xml_path(str(self.scene_path))
        except ValueError as error:
            raise InputError(
                f"the scene beside the recording, {str(self.scene_path)!r}, does not load: {error}"
            ) from None

    @property
    def camera(self) -> Camera:
        """The camera that its scenario declares."""
        return Camera(**self.header["camera"])

    @property
    def world(self) -> str:
        """The world it was made in, or is judged by."""
        return self.header["world"]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    def _survey(self, found: blocks.Survey) -> None:
        """Go through the blocks once and keep what is small."""
        self.header: dict[str, Any] = {}
        self.checkpoint: dict[str, Any] = {}
        self.conflicts: list[tuple[int, list]] = []
        self.phases: list[str] = []
        self.inputs: list[Target] = []
        """Live input, in the form of a targets file."""
        self.sizes: dict[str, dict[str, int]] = {}
        self.contact_sets: list[list[dict[str, Any]]] = []
        """The contacts of each set that was in force, as checkpoints; ``self["contact_set"]`` says which, step by step."""
        self.contacts: list[tuple[str, str]] = []
        """Names of the two surfaces of every contact that ever existed."""
        self.steps, self.next_step = 0, 0
        """How many steps can be read; number of the step to come, had the run gone on."""
        self.changing, self.overruled = False, False
        """Whether masses change; whether motors ever gave other torques than they were told to (``plan_tau``)."""
        self.touched: list[tuple[int, int]] = []
        """Pairs of bodies that a simulator found touching at some time; ``self["touch_force"]`` (T, k, 3) says how hard."""
        self.starts: list[int] = []
        """First step of each block, counted without what is missing …"""
        self.continues: list[bool] = []
        """… and whether it follows on the block before (the first: on the beginning)."""
        self.missing: list[Gap] = []
        self._places: list[tuple[int, int]] = []
        self._set_index: list[np.ndarray] = []
        small: dict[str, list[np.ndarray]] = {name: [] for name in _SMALL}
        known: dict[str, int] = {}
        names: set[str] | None = None
        for place, (info, arrays) in zip(found.places, blocks.load(self.path, found.places, _SMALL), strict=True):
            if "header" in info:
                self.header = info["header"]
                continue
            if not self.header:
                raise InputError(f"the header of {str(self.path)!r} is damaged: it cannot be read")
            names = set(info["arrays"]) if names is None else names & set(info["arrays"])
            self._take_contacts(info, known)
            self._fill(arrays, len(arrays["time"]))
            arrays["contact_set"] = self._set_index[-1][arrays["contact_set"]]
            self._note_gap(info["first"], small["time"], arrays["time"])
            for name, parts in small.items():
                parts.append(arrays[name])
            self.phases += [info["phases"][k] for k in arrays["phase"]]
            self.inputs += map(Target.of_row, info.get("inputs", ()))
            for phase, size in info.get("sizes", {}).items():
                if size["vars"] >= self.sizes.get(phase, {}).get("vars", -1):
                    self.sizes[phase] = size
            self.conflicts += [(self.steps + t, conflicts) for t, conflicts in info.get("conflicts", ())]
            self.checkpoint = info.get("checkpoint", {})
            self.changing = self.changing or "body_mass" in info["arrays"]
            self.overruled = self.overruled or "plan_tau" in info["arrays"]
            self._places.append(place)
            self.starts.append(self.steps)
            self.steps += len(arrays["time"])
            self.next_step = info["first"] + len(arrays["time"])
        if not self.header:
            raise InputError(f"{str(self.path)!r} holds no readable block")
        if not self.steps:
            raise InputError(f"{str(self.path)!r} holds no step" + (" that can be read" if found.torn else " yet"))
        self._columns = {name: np.concatenate(parts) for name, parts in small.items()}
        if found.torn:
            self.missing.append(Gap(float(self["time"][-1]) + self.header["dt"], None, None))
        self.known = frozenset(names or ()) - set(self.header.get("derived", ()))
        """Names of the arrays that it holds throughout; without those that were derived from others.

        ``wrench`` stands for all about contacts, ``step_ms`` for all times.
        """

    def _note_gap(self, first: int, before: list[np.ndarray], time: np.ndarray) -> None:
        """Note whether a block whose first step has that number in the run follows on the one before it."""
        count, dt = first - self.next_step, self.header["dt"]
        self.continues.append(not count)
        if count:
            begin = float(before[-1][-1]) + dt if before else float(time[0]) - count * dt
            self.missing.append(Gap(begin, float(time[0]), count))

    def _take_contacts(self, info: dict[str, Any], known: dict[str, int]) -> None:
        """Note the contacts of a block, and which of all sets its own are."""
        places = []
        for members in info["contact_sets"]:
            contacts = [info["contacts"][k] for k in members]
            places.append(known.setdefault(json.dumps(contacts), len(self.contact_sets)))
            self.contact_sets += [contacts] if places[-1] == len(self.contact_sets) else []
        self._set_index.append(np.array(places))
        self.touched += [p for p in map(tuple, info.get("touches", ())) if p not in self.touched]
        self.contacts += [c for c in dict.fromkeys(map(_label, info["contacts"])) if c not in self.contacts]

    @staticmethod
    def _fill(arrays: dict[str, np.ndarray], count: int) -> None:
        """Put in what a block lacks of the small arrays."""
        arrays.setdefault("contact_set", np.zeros(count, np.int32))
        for name in TIMES:
            arrays.setdefault(name, np.full(count, np.nan, np.float32))

    def chunks(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the arrays of one block after another; what was not written because it was zero or constant is filled in."""
        for k in range(len(self.starts)):
            yield self.block(k)[0]

    def block(self, k: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the arrays of one block and the checkpoint at its end."""
        m, (info, arrays) = self.model, next(blocks.load(self.path, [self._places[k]]))
        count = len(arrays["time"])
        for name, quantum in QUANTA.items():
            if name in arrays and arrays[name].dtype == np.int64:
                arrays[name] = arrays[name] * quantum
        arrays["qpos"], arrays["qvel"] = restored_states(m, arrays, self.header["dt"])
        self._fill(arrays, count)
        arrays["contact_set"] = self._set_index[k][arrays["contact_set"]]
        columns = [self.contacts.index(label) for label in dict.fromkeys(map(_label, info["contacts"]))]
        for name in ("wrench", "plan_wrench"):
            wide = np.zeros((count, len(self.contacts), 6))
            if name in arrays:
                wide[:, columns] = arrays[name]
            arrays[name] = wide
        touched = np.zeros((count, len(self.touched), 3))
        if "touch_force" in arrays:
            touched[:, [self.touched.index(tuple(pair)) for pair in info["touches"]]] = arrays["touch_force"]
        arrays["touch_force"] = touched
        for name in ("applied", "tau", "stopped"):
            arrays.setdefault(name, np.zeros((count, m.nv)))
        arrays["applied"] = arrays["applied"] + arrays["stopped"]  # all that acts from outside, as it acts
        arrays.setdefault("plan_tau", arrays["tau"])
        if self.changing:
            arrays.setdefault("body_mass", np.repeat(m.body_mass[None], count, 0))
            arrays.setdefault("body_inertia", np.repeat(m.body_inertia[None], count, 0))
        return arrays, info.get("checkpoint", {})

    def __getitem__(self, name: str) -> np.ndarray:
        """Return an array over all steps."""
        if name not in self._columns:
            wanted = ("qpos", "qvel", "qacc") if name in ("qpos", "qvel", "qacc") else (name,)
            chunks = [[chunk[key] for key in wanted] for chunk in self.chunks()]
            self._columns |= {
                key: np.concatenate(parts) for key, parts in zip(wanted, zip(*chunks, strict=True), strict=True)
            }
        return self._columns[name]


def _label(contact: dict[str, Any]) -> tuple[str, str]:
    return contact["first"], contact["second"]
