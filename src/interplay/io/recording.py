"""The recording: what the controller decided, step by step, and enough to resume; one block for each simulated second.

Kept are accelerations, wrenches in contact axes, pushes, phases and contacts. States are kept as what differs from integrating
the accelerations (nothing, in the direct world); torques and generalized forces follow from the rest: see :mod:`.replay`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from interplay.constraints.contact import Contact
from interplay.control.plan import ACCELERATION_QUANTUM, FORCE_QUANTUM
from interplay.control.state import State
from interplay.errors import InputError
from interplay.io import blocks
from interplay.motion.targets import Target
from interplay.simulation import Simulation
from interplay.view.camera import Camera
from interplay.worlds.direct import integrate
from interplay.worlds.world import Outcome

_TIMES = ("step_ms", "solve_ms", "model_ms", "assemble_ms")
_QUANTA = {"qacc": ACCELERATION_QUANTUM, "wrench": FORCE_QUANTUM}


class Recorder:
    """Writes a simulation's steps; give it to ``Simulation.observers``."""

    def __init__(self, path: str | Path, sim: Simulation, header: dict[str, Any], resume: bool = False):
        """Open a new file (or continue one) beside the scene's XML."""
        self.path, self._sim = Path(path), sim
        self._file = open(self.path, "ab" if resume else "wb")  # noqa: SIM115 - closed by close()
        if not resume:
            self._file.write(blocks.MAGIC)
            self._write({"header": header}, {})
        self._per_block = max(1, round(1.0 / sim.dt))
        self._masses = (-1, np.zeros(0), np.zeros(0))
        self._clear()

    def _clear(self) -> None:
        self._states: list[State] = []
        self._outcomes: list[Outcome] = []
        self._seconds: list[float] = []
        self._contacts: list[tuple[Contact, ...]] = []
        self._phases: list[str] = []
        self._conflicts: list[tuple[int, list]] = []
        self._sizes: dict[str, dict[str, int]] = {}
        self._mass: list[np.ndarray] = []
        self._inertia: list[np.ndarray] = []

    def __call__(self, state: State, outcome: Outcome, seconds: float) -> None:
        """Take one step."""
        sim = self._sim
        self._states.append(state)
        self._outcomes.append(outcome)
        self._seconds.append(seconds)
        self._contacts.append(outcome.touching.contacts)
        self._phases.append(sim.behaviour.label if sim.behaviour else "")
        changed = len(self._contacts) < 2 or self._contacts[-1] is not self._contacts[-2]
        if changed or self._phases[-1] not in self._sizes:
            size, known = problem_size(sim), self._sizes.get(self._phases[-1], {})
            if size["vars"] >= known.get("vars", -1):
                self._sizes[self._phases[-1]] = size
        if outcome.fallback:
            self._conflicts.append((len(self._states) - 1, [list(c) for c in outcome.conflicts]))
        if self._masses[0] != sim.live.masses.changes:
            m = sim.scene.model
            self._masses = (sim.live.masses.changes, m.body_mass.copy(), m.body_inertia.copy())
        self._mass.append(self._masses[1])
        self._inertia.append(self._masses[2])
        if len(self._states) >= self._per_block:
            self.flush()

    def flush(self) -> None:
        """Write what has been taken as one block, with a checkpoint from which the run can be resumed."""
        if not self._states:
            return
        states, outcomes = self._states, self._outcomes
        made = list({id(c): c for contacts in self._contacts for c in contacts}.values())
        place = {id(c): k for k, c in enumerate(made)}
        labels = list(dict.fromkeys((c.first.name, c.second.name) for c in made))
        column = {id(c): labels.index((c.first.name, c.second.name)) for c in made}
        sets = [tuple(place[id(c)] for c in contacts) for contacts in self._contacts]
        kinds = list(dict.fromkeys(sets))
        wrench = np.zeros((len(states), len(labels), 6))
        for t, contacts in enumerate(self._contacts):
            if contacts:
                wrench[t, [column[id(c)] for c in contacts]] = outcomes[t].touching.wrenches
        arrays = {
            "time": np.array([s.time for s in states]),
            "qpos": np.array([s.qpos for s in states]),
            "qvel": np.array([s.qvel for s in states]),
            "qacc": np.array([o.qacc for o in outcomes]),
            "contact_set": np.array([kinds.index(s) for s in sets], np.int32),
            "closest": np.array([o.plan.closest for o in outcomes], np.float32),
        }
        arrays["qpos"], arrays["qvel"] = _surprise(self._sim.scene.model, arrays, self._sim.dt)
        arrays["first_qpos"], arrays["first_qvel"] = states[0].qpos, states[0].qvel
        arrays["qacc"], arrays["wrench"] = _whole(arrays["qacc"], _QUANTA["qacc"]), _whole(wrench, _QUANTA["wrench"])
        timing = [
            (seconds, o.plan.timing.solve, o.plan.timing.model, o.plan.timing.assemble)
            for seconds, o in zip(self._seconds, outcomes, strict=True)
        ]
        arrays |= dict(zip(_TIMES, (1e3 * np.array(timing)).T.astype(np.float32), strict=True))
        applied = np.array([s.applied for s in states])
        if applied.any():
            arrays["applied"] = applied
        stopped = np.array([o.stopped for o in outcomes])
        if stopped.any():
            arrays["stopped"] = stopped
        if self._sim.live.masses.changes:
            arrays["body_mass"], arrays["body_inertia"] = np.array(self._mass), np.array(self._inertia)
        names = list(dict.fromkeys(self._phases))
        inputs, self._sim.live.inputs = self._sim.live.inputs, []
        arrays["phase"] = np.array([names.index(p) for p in self._phases], np.int32)
        info = {
            "contacts": [c.checkpoint() for c in made],
            "contact_sets": kinds,
            "phases": names,
            "conflicts": self._conflicts,
            "sizes": self._sizes,
            "inputs": [t.row() for t in inputs],
            "checkpoint": self._sim.checkpoint(),
        }
        self._write(info, arrays)
        self._clear()

    def close(self) -> None:
        """Write the rest and close the file."""
        self.flush()
        self._file.close()

    def _write(self, info: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._file.write(blocks.encode(info, arrays))
        self._file.flush()


def _whole(array: np.ndarray, quantum: float) -> np.ndarray:
    """Return an array as whole multiples of a quantum, if that is what it is."""
    multiples = np.rint(array / quantum)
    exact = np.abs(multiples).max(initial=0.0) < 2.0**53 and (multiples * quantum == array).all()
    return multiples.astype(np.int64) if exact else array


def _surprise(m: mujoco.MjModel, arrays: dict[str, np.ndarray], dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return how the bits of the states (int64) differ from those of integrating the step before."""
    qpos, qvel, qacc = arrays["qpos"], arrays["qvel"], arrays["qacc"]
    bits = qpos.view(np.int64).copy(), qvel.view(np.int64).copy()
    for part in bits:
        part[0] = 0  # the first state is kept as it is
    for t in range(1, len(qpos)):
        for part, guess in zip(bits, integrate(m, qpos[t - 1], qvel[t - 1], qacc[t - 1], dt), strict=True):
            part[t] -= guess.view(np.int64)
    return bits


def _states(m: mujoco.MjModel, arrays: dict[str, np.ndarray], dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the states whose surprise was recorded."""
    bits = arrays["qpos"].copy(), arrays["qvel"].copy()
    qpos, qvel = bits[0].view(np.float64), bits[1].view(np.float64)
    qpos[0], qvel[0] = arrays.pop("first_qpos"), arrays.pop("first_qvel")
    for t in range(1, len(qpos)):
        for part, guess in zip(bits, integrate(m, qpos[t - 1], qvel[t - 1], arrays["qacc"][t - 1], dt), strict=True):
            part[t] += guess.view(np.int64)
    return qpos, qvel


def problem_size(sim: Simulation) -> dict[str, int]:
    """Return the size of the present program, counted our way and the paper's (Table 1 of vaillant2017)."""
    subsystems = sim.scene.subsystems
    dofs, actuated = sim.scene.model.nv, sum(len(s.actuated) for s in subsystems)
    counts = {kind: sum(c.kind == kind for c in sim.contacts) for kind in ("planar", "point", "grasp")}
    planar, grasp = 4 * counts["planar"] + counts["point"], 4 * counts["grasp"]
    pairs, points = len(sim.collisions.pairs), planar + grasp
    return {
        "subsystems": len(subsystems),
        "dofs": dofs,
        "actuated": actuated,
        "planar_points": planar,
        "grasp_points": grasp,
        "collision_pairs": pairs,
        "paper_qp": dofs + actuated + 4 * points,
        "paper_eq": dofs + 3 * points,
        "paper_ineq": 2 * actuated + 4 * planar + pairs,
        **sim.controller.size(),
    }


class Recording:
    """A recording read back: header, contacts that ever existed, conflicts, the last checkpoint; arrays when they are asked for.

    Large runs are read piece by piece: ``chunks`` yields the arrays of one block after another.
    """

    def __init__(self, path: str | Path):
        """Read a file, or the file ``recording`` in a folder; a broken tail is left out (``complete`` is then False)."""
        self.path = Path(path)
        if self.path.is_dir():
            self.path = self.path / "recording"
        self._places, self.complete = blocks.whole(self.path)
        self.bytes_read = sum(self._places[-1]) if self._places else 0
        first = next(blocks.load(self.path, self._places[:1]), ({}, {}))[0]
        if "header" not in first:
            raise InputError(f"{str(self.path)!r} holds no readable block")
        if len(self._places) < 2:
            raise InputError(f"{str(self.path)!r} holds no step yet")
        self.header: dict[str, Any] = first["header"]
        self.scene_path = self.path.parent / "scene.xml"
        """The scene's XML beside the recording."""
        try:
            self.model = mujoco.MjModel.from_xml_path(str(self.scene_path))
        except ValueError as error:
            raise InputError(
                f"the scene beside the recording, {str(self.scene_path)!r}, does not load: {error}"
            ) from None
        self._survey()

    @property
    def camera(self) -> Camera:
        """The camera that its scenario declares."""
        return Camera(**self.header["camera"])

    def _survey(self) -> None:
        """Go through the blocks once and keep what is small."""
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
        self._columns: dict[str, np.ndarray] = {}
        small: dict[str, list[np.ndarray]] = {name: [] for name in (*_TIMES, "time", "closest", "contact_set")}
        self._set_index: list[np.ndarray] = []
        known: dict[str, int] = {}
        self.steps, self.changing = 0, False
        self.starts: list[int] = []
        """First step of each block."""
        for info, arrays in blocks.load(self.path, self._places[1:]):
            places = []
            for members in info["contact_sets"]:
                contacts = [info["contacts"][k] for k in members]
                places.append(known.setdefault(json.dumps(contacts), len(self.contact_sets)))
                self.contact_sets += [contacts] if places[-1] == len(self.contact_sets) else []
            self._set_index.append(np.array(places))
            arrays["contact_set"] = self._set_index[-1][arrays["contact_set"]]
            for name, parts in small.items():
                parts.append(arrays[name])
            self.contacts += [c for c in dict.fromkeys(map(_label, info["contacts"])) if c not in self.contacts]
            self.phases += [info["phases"][k] for k in arrays["phase"]]
            self.inputs += map(Target.of_row, info["inputs"])
            for phase, size in info["sizes"].items():
                if size["vars"] >= self.sizes.get(phase, {}).get("vars", -1):
                    self.sizes[phase] = size
            self.conflicts += [(self.steps + t, conflicts) for t, conflicts in info["conflicts"]]
            self.checkpoint = info["checkpoint"]
            self.changing = self.changing or "body_mass" in arrays
            self.starts.append(self.steps)
            self.steps += len(arrays["time"])
        self._columns = {name: np.concatenate(parts) for name, parts in small.items()}

    def chunks(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the arrays of one block after another; what was not written because it was zero or constant is filled in."""
        for k in range(len(self.starts)):
            yield self.block(k)[0]

    def block(self, k: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the arrays of one block and the checkpoint at its end."""
        m, (info, arrays) = self.model, next(blocks.load(self.path, [self._places[1 + k]]))
        count = len(arrays["time"])
        for name, quantum in _QUANTA.items():
            if arrays[name].dtype == np.int64:
                arrays[name] = arrays[name] * quantum
        arrays["qpos"], arrays["qvel"] = _states(m, arrays, self.header["dt"])
        labels = list(dict.fromkeys(map(_label, info["contacts"])))
        wide = np.zeros((count, len(self.contacts), 6))
        wide[:, [self.contacts.index(label) for label in labels]] = arrays["wrench"]
        arrays["wrench"] = wide
        arrays["contact_set"] = self._set_index[k][arrays["contact_set"]]
        if "applied" not in arrays:
            arrays["applied"] = np.zeros((count, m.nv))
        if "stopped" not in arrays:
            arrays["stopped"] = np.zeros((count, m.nv))
        if "body_mass" not in arrays and self.changing:
            arrays["body_mass"] = np.repeat(m.body_mass[None], count, 0)
            arrays["body_inertia"] = np.repeat(m.body_inertia[None], count, 0)
        return arrays, info["checkpoint"]

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
