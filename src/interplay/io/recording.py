"""The recording: an append-only file of checked blocks, one for each simulated second, readable up to its last whole block.

File = magic, then blocks of (length, CRC-32, zlib-compressed payload). A payload is a JSON part and named arrays. Floating-point
columns are stored as differences of their bit patterns, bytes of one significance together: exact, and small for smooth motion.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from interplay.constraints.contact import Contact
from interplay.control.state import Solution, State
from interplay.errors import InputError
from interplay.simulation import Simulation

MAGIC = b"INTERPLAY1\n"
PATCH = 15
"""Numbers that describe a planar contact: half sizes 2, friction 1, position 3, rotation 9."""

_HEAD = struct.Struct("<QI")
_COLUMNS = ("qpos", "qvel", "qacc", "tau", "qfrc_contact", "applied")


class Recorder:
    """Writes a simulation's steps; give it to ``Simulation.observers``."""

    def __init__(self, path: str | Path, sim: Simulation, header: dict[str, Any], resume: bool = False):
        """Open a new file (or continue one) beside the scene's XML."""
        self.path, self._sim = Path(path), sim
        self._file = open(self.path, "ab" if resume else "wb")  # noqa: SIM115 - closed by close()
        if not resume:
            self._file.write(MAGIC)
            self._write({"header": header}, {})
        self._per_block = max(1, round(1.0 / sim.dt))
        self._masses = (-1, np.zeros(0), np.zeros(0))
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, list] = {
            name: []
            for name in (
                *_COLUMNS,
                "time",
                "step_ms",
                "solve_ms",
                "model_ms",
                "assemble_ms",
                "closest",
                "wrench",
                "drift",
            )
        }
        self._contacts: list[tuple] = []
        self._phases: list[str] = []
        self._conflicts: list[tuple[int, list]] = []
        self._sizes: dict[str, dict[str, int]] = {}
        self._mass: list[np.ndarray] = []
        self._inertia: list[np.ndarray] = []

    def __call__(self, state: State, solution: Solution, seconds: float) -> None:
        """Take one step."""
        sim, rows, timing = self._sim, self._rows, solution.timing
        for name, value in (
            ("qpos", state.qpos),
            ("qvel", state.qvel),
            ("qacc", solution.qacc),
            ("tau", solution.tau),
            ("qfrc_contact", solution.qfrc_contact),
            ("applied", state.applied),
            ("time", state.time),
            ("step_ms", 1e3 * seconds),
            ("solve_ms", 1e3 * timing.solve),
            ("model_ms", 1e3 * timing.model),
            ("assemble_ms", 1e3 * timing.assemble),
            ("closest", solution.closest),
            ("wrench", solution.site_wrenches),
            ("drift", solution.drift),
        ):
            rows[name].append(value)
        self._contacts.append(sim.contacts.items)
        self._phases.append(sim.machine.phase.name if sim.machine and sim.machine.phase else "")
        if self._phases[-1] not in self._sizes or len(self._contacts) < 2 or self._contacts[-1] != self._contacts[-2]:
            size, known = problem_size(sim), self._sizes.get(self._phases[-1], {})
            if size["vars"] >= known.get("vars", -1):
                self._sizes[self._phases[-1]] = size
        if solution.fallback:
            self._conflicts.append((len(rows["time"]) - 1, [list(c) for c in solution.conflicts]))
        if self._masses[0] != sim.mass_changes:
            m = sim.scene.model
            self._masses = (sim.mass_changes, m.body_mass.copy(), m.body_inertia.copy())
        self._mass.append(self._masses[1])
        self._inertia.append(self._masses[2])
        if len(rows["time"]) >= self._per_block:
            self.flush()

    def flush(self) -> None:
        """Write what has been taken as one block, with a checkpoint from which the run can be resumed."""
        if not self._rows["time"]:
            return
        rows, count = self._rows, len(self._rows["time"])
        labels = list(dict.fromkeys((c.first.name, c.second.name) for contacts in self._contacts for c in contacts))
        place = {label: k for k, label in enumerate(labels)}
        shape = (count, len(labels))
        active, wrench, drift, patch = (
            np.zeros(shape, bool),
            np.zeros((*shape, 6)),
            np.zeros(shape),
            np.zeros((*shape, PATCH)),
        )
        for t, contacts in enumerate(self._contacts):
            for k, contact in enumerate(contacts):
                at = place[contact.first.name, contact.second.name]
                active[t, at], wrench[t, at] = True, rows["wrench"][t][k]
                drift[t, at] = corner_drift(contact, rows["drift"][t][k])
                patch[t, at] = patch_numbers(self._sim.scene.model, contact)
        arrays = {
            name: np.array(rows[name])
            for name in (*_COLUMNS, "time", "step_ms", "solve_ms", "model_ms", "assemble_ms", "closest")
        }
        arrays.update(active=active, wrench=wrench, drift=drift, patch=patch)
        if not arrays["applied"].any():
            del arrays["applied"]
        if self._sim.mass_changes:
            arrays["body_mass"], arrays["body_inertia"] = np.array(self._mass), np.array(self._inertia)
        names = list(dict.fromkeys(self._phases))
        inputs, self._sim.inputs = self._sim.inputs, []
        arrays["phase"] = np.array([names.index(p) for p in self._phases], np.int32)
        info = {
            "contacts": labels,
            "phases": names,
            "conflicts": self._conflicts,
            "sizes": self._sizes,
            "inputs": [[t.time, t.control, t.value.tolist()] for t in inputs],
            "checkpoint": self._sim.checkpoint(),
        }
        self._write(info, arrays)
        self._clear()

    def close(self) -> None:
        """Write the rest and close the file."""
        self.flush()
        self._file.close()

    def _write(self, info: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        payload = _pack(info, arrays)
        self._file.write(_HEAD.pack(len(payload), zlib.crc32(payload)) + payload)
        self._file.flush()


def corner_drift(contact: Contact, error: np.ndarray) -> float:
    """Return the largest displacement [m] of a contact's corners (of its centre, for a grasp) from where it was made."""
    corners = np.array([[sx * contact.half[0], sy * contact.half[1], 0.0] for sx in (1, -1) for sy in (1, -1)])
    return float(np.linalg.norm(error[:3] + np.cross(error[3:], corners), axis=1).max())


def patch_numbers(m: mujoco.MjModel, contact: Contact) -> np.ndarray:
    """Return a planar contact's half sizes, friction, position and rotation in the frame of its first site; zeros for a grasp."""
    if contact.kind != "planar":
        return np.zeros(PATCH)
    site, R_BS = contact.first.site, np.empty(9)
    mujoco.mju_quat2Mat(R_BS, m.site_quat[site])
    R_BS = R_BS.reshape(3, 3)
    position, rotation = R_BS.T @ (contact.p1 - m.site_pos[site]), R_BS.T @ contact.R1
    return np.concatenate([contact.half, [contact.friction], position, rotation.ravel()])


def problem_size(sim: Simulation) -> dict[str, int]:
    """Return the size of the present program, counted our way and the paper's (Table 1 of vaillant2017)."""
    subsystems = sim.scene.subsystems
    dofs, actuated = sim.scene.model.nv, sum(len(s.actuated) for s in subsystems)
    planar = 4 * sum(c.kind == "planar" for c in sim.contacts)
    grasp = 4 * sum(c.kind == "grasp" for c in sim.contacts)
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


def _pack(info: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    text = json.dumps(info).encode()
    buffer.write(struct.pack("<I", len(text)) + text)
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        if array.dtype == np.float64 and len(array):
            bits = array.view(np.int64).reshape(len(array), -1)
            data = (
                np.diff(bits, axis=0, prepend=np.zeros((1, bits.shape[1]), np.int64))
                .view(np.uint8)
                .reshape(-1, 8)
                .T.tobytes()
            )
        else:
            data = array.tobytes()
        head = json.dumps([name, array.dtype.str, array.shape, len(data)]).encode()
        buffer.write(struct.pack("<I", len(head)) + head + data)
    return zlib.compress(buffer.getvalue(), 3)


def _unpack(payload: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    raw, arrays = zlib.decompress(payload), {}
    (size,) = struct.unpack_from("<I", raw)
    at = 4 + size
    info = json.loads(raw[4:at])
    while at < len(raw):
        (size,) = struct.unpack_from("<I", raw, at)
        name, dtype, shape, length = json.loads(raw[at + 4 : at + 4 + size])
        at += 4 + size
        data = raw[at : at + length]
        at += length
        if dtype == "<f8" and shape[0]:
            bits = np.frombuffer(data, np.uint8).reshape(8, -1).T.copy().view(np.int64).reshape(shape[0], -1)
            arrays[name] = np.cumsum(bits, axis=0).view(np.float64).reshape(shape)
        else:
            arrays[name] = np.frombuffer(data, dtype).reshape(shape).copy()
    return info, arrays


class Recording:
    """A recording read back: header, arrays over all steps, contacts that ever existed, conflicts, the last checkpoint."""

    def __init__(self, path: str | Path):
        """Read a file, or the file ``recording`` in a folder; a broken tail is left out (``complete`` is then False)."""
        self.path = Path(path)
        if self.path.is_dir():
            self.path = self.path / "recording"
        try:
            raw = self.path.read_bytes()
        except OSError as error:
            raise InputError(f"no recording at {str(path)!r}: {error.strerror or error}") from None
        if not raw.startswith(MAGIC):
            raise InputError(f"{str(self.path)!r} is not a recording")
        blocks, at, self.complete = [], len(MAGIC), True
        while at < len(raw):
            try:
                size, crc = _HEAD.unpack_from(raw, at)
                payload = raw[at + _HEAD.size : at + _HEAD.size + size]
                if len(payload) != size or zlib.crc32(payload) != crc:
                    raise ValueError
                blocks.append(_unpack(payload))
            except (struct.error, ValueError, zlib.error):
                self.complete = False
                break
            at += _HEAD.size + size
        self.bytes_read = at
        if not blocks or "header" not in blocks[0][0]:
            raise InputError(f"{str(self.path)!r} holds no readable block")
        self.header: dict[str, Any] = blocks[0][0]["header"]
        self._join(blocks[1:])

    def _join(self, blocks: list[tuple[dict[str, Any], dict[str, np.ndarray]]]) -> None:
        self.contacts = list(dict.fromkeys(tuple(label) for info, _ in blocks for label in info["contacts"]))
        self.checkpoint: dict[str, Any] | None = blocks[-1][0]["checkpoint"] if blocks else None
        self.conflicts: list[tuple[int, list]] = []
        self.phases: list[str] = []
        self.inputs: list[tuple[float, str, list[float]]] = []
        self.sizes: dict[str, dict[str, int]] = {}
        columns: dict[str, list[np.ndarray]] = {}
        place = {label: k for k, label in enumerate(self.contacts)}
        every = {name for _, arrays in blocks for name in arrays}
        start = 0
        for info, arrays in blocks:
            count = len(arrays["time"])
            mine = [place[tuple(label)] for label in info["contacts"]]
            for name, shape in (("active", ()), ("wrench", (6,)), ("drift", ()), ("patch", (PATCH,))):
                wide = np.zeros((count, len(self.contacts), *shape), arrays[name].dtype)
                wide[:, mine] = arrays[name]
                arrays[name] = wide
            if "applied" in every and "applied" not in arrays:
                arrays["applied"] = np.zeros_like(arrays["qvel"])
            self.phases += [info["phases"][k] for k in arrays.pop("phase")]
            self.inputs += [(time, control, values) for time, control, values in info["inputs"]]
            for phase, size in info["sizes"].items():
                if size["vars"] >= self.sizes.get(phase, {}).get("vars", -1):
                    self.sizes[phase] = size
            self.conflicts += [(start + t, found) for t, found in info["conflicts"]]
            for name, array in arrays.items():
                columns.setdefault(name, []).append(array)
            start += count
        self.steps = start
        self.arrays = {
            name: np.concatenate(parts) for name, parts in columns.items() if name not in ("body_mass", "body_inertia")
        }
        self._masses = (
            [(len(a["time"]), a.get("body_mass"), a.get("body_inertia")) for _, a in blocks]
            if "body_mass" in every
            else []
        )
        if not blocks:
            raise InputError(f"{str(self.path)!r} holds no step yet")

    def __getitem__(self, name: str) -> np.ndarray:
        """Return an array over all steps."""
        return self.arrays[name]

    @property
    def scene_path(self) -> Path:
        """The scene's XML beside the recording."""
        return self.path.parent / "scene.xml"

    def masses(self, body_mass: np.ndarray, body_inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return masses (T, nbody) and inertias (T, nbody, 3) when they change; the arguments are those of the scene file."""
        if not self._masses:
            return None
        mass = [np.repeat(body_mass[None], n, 0) if part is None else part for n, part, _ in self._masses]
        inertia = [np.repeat(body_inertia[None], n, 0) if part is None else part for n, _, part in self._masses]
        return np.concatenate(mass), np.concatenate(inertia)
