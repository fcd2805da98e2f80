"""Dumps: a step that failed, written to a file with everything that replays it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from interplay.constraints.collision_set import Pair
from interplay.constraints.contact_set import contact_from
from interplay.control.controller import Demands
from interplay.control.plan import Conflict
from interplay.control.state import State
from interplay.scene.scene import Scene


class Dump(NamedTuple):
    """A step that failed: scene, state, and what was asked."""

    xml: str
    """The scene, as MJCF …"""
    assets: dict[str, bytes]
    """… with the files it names; ``model`` compiles it."""
    masses: tuple[np.ndarray, np.ndarray]
    """Masses [kg] and inertias [kg·m²] of all bodies then."""
    state: State
    demands: Demands
    """Without the objectives, which are code; ``objectives`` names them."""
    objectives: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    """What had given way in the step before."""

    def model(self) -> mujoco.MjModel:
        """Return the scene's model, with the masses of then."""
        return _compiled(self.xml, self.assets, self.masses)


def write_dump(scene: Scene, state: State, demands: Demands, conflicts: Sequence[Conflict]) -> str:
    """Write a step, and what had given way in the one before it, to a new file in ``$INTERPLAY_DUMPS`` (or the temporary folder) and return its path.

    ``load_dump`` reads it back: give ``dump.state`` and ``dump.demands``, with the objectives of the same simulation, to ``solve``.
    """
    folder = os.environ.get("INTERPLAY_DUMPS") or tempfile.gettempdir()
    if not os.path.isdir(folder):
        folder = tempfile.gettempdir()
    m, none = scene.model, np.zeros(0)
    info = {
        "state": state.checkpoint(),
        "contacts": [c.checkpoint() for c in demands.contacts],
        "pairs": [list(p) for p in demands.pairs],
        "late": dict(demands.late),
        "objectives": [o.label for o in demands.objectives],
        "conflicts": [list(c) for c in conflicts],
        "assets": list(scene.assets),
    }
    assets = {f"asset{k}": np.frombuffer(data, np.uint8) for k, data in enumerate(scene.assets.values())}
    with tempfile.NamedTemporaryFile("wb", prefix="interplay_step_", suffix=".npz", dir=folder, delete=False) as file:
        np.savez_compressed(
            file,
            xml=np.array(scene.xml),
            info=np.array(json.dumps(info)),
            body_mass=m.body_mass,
            body_inertia=m.body_inertia,
            ceded=none if demands.ceded_acceleration is None else demands.ceded_acceleration,
            **assets,  # type: ignore[arg-type]
        )
    return file.name


def load_dump(path: str | Path) -> Dump:
    """Return a step written by ``write_dump``."""
    with np.load(path, allow_pickle=False) as data:
        info: dict[str, Any] = json.loads(str(data["info"]))
        assets = {name: data[f"asset{k}"].tobytes() for k, name in enumerate(info["assets"])}
        xml, masses, ceded = str(data["xml"]), (data["body_mass"], data["body_inertia"]), data["ceded"]
    m = _compiled(xml, assets, masses)
    demands = Demands(
        contacts=tuple(contact_from(m, entry) for entry in info["contacts"]),
        pairs=tuple(Pair(*entry) for entry in info["pairs"]),
        late=info["late"],
        ceded_acceleration=ceded if ceded.size else None,
    )
    conflicts = tuple(Conflict(*entry) for entry in info["conflicts"])
    state = State.restore(m, info["state"])
    return Dump(xml, assets, masses, state, demands, tuple(info["objectives"]), conflicts)


def _compiled(xml: str, assets: dict[str, bytes], masses: tuple[np.ndarray, np.ndarray]) -> mujoco.MjModel:
    m = mujoco.MjModel.from_xml_string(xml, assets)
    m.body_mass[:], m.body_inertia[:] = masses
    return m
