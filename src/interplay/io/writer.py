"""The writer of a recording: it takes plain arrays of steps and adds them to the file, whoever made them.

Kept are accelerations, torques, wrenches in contact axes, pushes, phases and contacts; states as what differs from integrating the
accelerations (nothing, in the direct world). Whatever is a multiple of its quantum is stored as a whole number. What is written is
what is read back, to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import mujoco
import numpy as np

from interplay.control.plan import ACCELERATION_QUANTUM, FORCE_QUANTUM
from interplay.control.state import Touching
from interplay.errors import cannot_write
from interplay.io import blocks
from interplay.worlds.direct import integrate
from interplay.worlds.world import Substeps, Touches

if TYPE_CHECKING:
    from interplay.io.recording import Recording

TIMES = ("step_ms", "solve_ms", "model_ms", "assemble_ms")
"""What a step took: all of it, and parts of it."""

QUANTA = {
    "qacc": ACCELERATION_QUANTUM,
    "wrench": FORCE_QUANTUM,
    "tau": FORCE_QUANTUM,
    "plan_tau": FORCE_QUANTUM,
    "plan_qacc": ACCELERATION_QUANTUM,
    "plan_wrench": FORCE_QUANTUM,
}


@dataclass(frozen=True)
class Steps:
    """Consecutive steps as arrays, one row each; None: not known."""

    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    qacc: np.ndarray
    tau: np.ndarray | None = None
    """What the motors gave."""
    plan_tau: np.ndarray | None = None
    """What they were told to give, where that is something else."""
    touching: Sequence[Touching] | None = None
    """Contacts in force, and their wrenches in contact axes."""
    applied: np.ndarray | None = None
    """Generalized forces of pushes; None: there are none."""
    body_mass: np.ndarray | None = None
    body_inertia: np.ndarray | None = None
    """Masses and inertias of all bodies; None: those of the scene."""
    times: np.ndarray | None = None
    """Milliseconds, ``TIMES`` in columns."""
    phases: Sequence[str] | None = None
    plan_qacc: np.ndarray | None = None
    plan_wrenches: Sequence[np.ndarray] | None = None
    """Accelerations and wrenches of contacts that were planned, where a simulator made something else of them."""
    touches: Sequence[Touches] | None = None
    """All that touched, where a simulator found it."""
    substeps: Sequence[Substeps] | None = None
    """Every step of the simulator, where they are kept."""
    stopped: np.ndarray | None = None
    """Generalized forces of ground, obstacles and stops where no contact was declared; None: there are none."""

    def part(self, begin: int, end: int) -> Steps:
        """Return some of the steps."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: value[begin:end] for name, value in values.items() if value is not None})


class Place(NamedTuple):
    """Where a file stood: how many steps it held, and where it ended [bytes]."""

    steps: int
    end: int


class Writer:
    """An open file to which steps are added, block by block; each block stands on its own."""

    def __init__(self, path: str | Path, m: mujoco.MjModel, header: Mapping[str, Any], resume: Recording | None = None):
        """Begin a file with a header (it names at least the ``dt``), or continue the recording that it holds."""
        self.path, self._model, self._dt = Path(path), m, float(header["dt"])
        self.steps = resume.next_step if resume else 0
        """Number of the next step in the whole run."""
        self._sound = resume.bytes_read if resume else 0
        self._open("r+b" if resume else "wb")
        if not resume:
            # Twice: without its header a recording could not be read at all.
            head = blocks.encode({"header": dict(header)}, {})
            self._append(blocks.MAGIC + head + head)

    def write(self, steps: Steps, info: Mapping[str, Any]) -> None:
        """Add steps as one block; ``info`` are plain values: conflicts, sizes, inputs, the checkpoint after them."""
        count = len(steps.time)
        if not count:
            return
        arrays: dict[str, np.ndarray] = {"time": steps.time}
        arrays["first_qpos"], arrays["first_qvel"] = steps.qpos[0], steps.qvel[0]
        arrays["qpos"], arrays["qvel"] = _surprise(self._model, steps, self._dt)
        contacts: dict[str, Any] = {"contacts": [], "contact_sets": [[]]}
        plain: dict[str, np.ndarray | None] = {
            name: getattr(steps, name) for name in ("qacc", "tau", "plan_tau", "plan_qacc")
        }
        if steps.touching is not None:
            contacts, arrays["contact_set"], plain["wrench"] = _contacts(steps.touching)
            if steps.plan_wrenches is not None:
                planned = zip(steps.touching, steps.plan_wrenches, strict=True)
                plain["plan_wrench"] = _contacts([t._replace(wrenches=w) for t, w in planned])[2]
        arrays |= {name: _whole(array, QUANTA[name]) for name, array in plain.items() if array is not None}
        if steps.touches is not None:
            contacts["touches"], arrays["touch_force"] = _touches(steps.touches)
        if steps.substeps is not None:
            for name in Substeps._fields:
                arrays[f"sub_{name}"] = np.concatenate([getattr(s, name) for s in steps.substeps])
        if steps.applied is not None and steps.applied.any():
            arrays["applied"] = steps.applied
        if steps.stopped is not None and steps.stopped.any():
            arrays["stopped"] = steps.stopped
        if steps.body_mass is not None and steps.body_inertia is not None:
            arrays["body_mass"], arrays["body_inertia"] = steps.body_mass, steps.body_inertia
        if steps.times is not None:
            arrays |= dict(zip(TIMES, steps.times.T.astype(np.float32), strict=True))
        phases = steps.phases or [""] * count
        names = list(dict.fromkeys(phases))
        place = {name: k for k, name in enumerate(names)}
        arrays["phase"] = np.array([place[p] for p in phases], np.int32)
        own = {"first": self.steps, "arrays": list(arrays), "phases": names}
        self._append(blocks.encode({**own, **contacts, **info}, arrays))
        self.steps += count

    @property
    def place(self) -> Place:
        """Where the file stands."""
        return Place(self.steps, self._sound)

    def cut(self, place: Place) -> None:
        """Take back what was written since a place; a file that could not be written any more may be again."""
        self._file.close()
        self.steps, self._sound = place
        self._open("r+b")

    def _open(self, mode: str) -> None:
        """Open the file at the end of what is sound: what follows it (a torn block, or one taken back) is cut off."""
        try:
            # Unbuffered: what could not be written is known at once, and nothing is left that would be tried again.
            self._file = open(self.path, mode, buffering=0)  # noqa: SIM115 - closed by close()
            self._file.truncate(self._sound)
            self._file.seek(self._sound)
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _append(self, data: bytes) -> None:
        """Write a block and pass it on to the system; where that fails, the file ends with the block before."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._file.truncate(self._sound)
            self._file.close()
            raise cannot_write(self.path, error, f"it holds the {self.steps} steps before") from None
        self._sound += len(data)

    @property
    def closed(self) -> bool:
        """Whether nothing more can be written."""
        return self._file.closed


def _contacts(touching: Sequence[Touching]) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Return the contacts and sets of them as plain values, the set of each step, and wrenches by the contacts' names (T, n, 6)."""
    made = list({id(c): c for touch in touching for c in touch.contacts}.values())
    place = {id(c): k for k, c in enumerate(made)}
    columns = {label: k for k, label in enumerate(dict.fromkeys((c.first.name, c.second.name) for c in made))}
    sets = [tuple(place[id(c)] for c in touch.contacts) for touch in touching]
    kinds = {members: k for k, members in enumerate(dict.fromkeys(sets))}
    wrench = np.zeros((len(touching), len(columns), 6))
    for t, touch in enumerate(touching):
        if touch.contacts:
            wrench[t, [columns[c.first.name, c.second.name] for c in touch.contacts]] = touch.wrenches
    info = {"contacts": [c.checkpoint() for c in made], "contact_sets": list(kinds)}
    return info, np.array([kinds[s] for s in sets], np.int32), wrench


def _touches(touches: Sequence[Touches]) -> tuple[list[list[int]], np.ndarray]:
    """Return all pairs of bodies that touched, and the forces (T, k, 3) between them."""
    pairs = {pair: k for k, pair in enumerate(dict.fromkeys(tuple(p) for t in touches for p in t.bodies.tolist()))}
    force = np.zeros((len(touches), len(pairs), 3))
    for t, touch in enumerate(touches):
        for pair, f in zip(touch.bodies.tolist(), touch.force, strict=True):
            force[t, pairs[tuple(pair)]] = f
    return [list(pair) for pair in pairs], force


def _whole(array: np.ndarray, quantum: float) -> np.ndarray:
    """Return an array as whole multiples of a quantum, if that is what it is."""
    multiples = np.rint(array / quantum)
    exact = np.abs(multiples).max(initial=0.0) < 2.0**53 and (multiples * quantum == array).all()
    return multiples.astype(np.int64) if exact else array


def _surprise(m: mujoco.MjModel, steps: Steps, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return how the bits of the states (int64) differ from those of integrating the step before."""
    qpos, qvel, qacc = (np.ascontiguousarray(a) for a in (steps.qpos, steps.qvel, steps.qacc))
    bits = qpos.view(np.int64).copy(), qvel.view(np.int64).copy()
    for part in bits:
        part[0] = 0  # the first state is kept as it is
    for t in range(1, len(qpos)):
        for part, guess in zip(bits, integrate(m, qpos[t - 1], qvel[t - 1], qacc[t - 1], dt), strict=True):
            part[t] -= guess.view(np.int64)
    return bits


def restored_states(m: mujoco.MjModel, arrays: dict[str, np.ndarray], dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of a block that was written; takes the first one out of its arrays."""
    bits = arrays["qpos"].copy(), arrays["qvel"].copy()
    qpos, qvel = bits[0].view(np.float64), bits[1].view(np.float64)
    qpos[0], qvel[0] = arrays.pop("first_qpos"), arrays.pop("first_qvel")
    for t in range(1, len(qpos)):
        for part, guess in zip(bits, integrate(m, qpos[t - 1], qvel[t - 1], arrays["qacc"][t - 1], dt), strict=True):
            part[t] += guess.view(np.int64)
    return qpos, qvel
