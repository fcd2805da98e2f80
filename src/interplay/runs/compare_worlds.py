"""One plan, two worlds: how well what is asked is done where plans are what happens, and where only their torques are used.

Each run is judged by its own references: what its phases ask at each moment, in the state in which they ask it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from interplay.control.state import State
from interplay.runs.compare import Progress, missed, tasks
from interplay.runs.run import INTERRUPTED, run
from interplay.runs.tables import markdown, table
from interplay.scene.kinematics import Kinematics
from interplay.simulation import Simulation
from interplay.worlds.world import Outcome

WORLDS = ("direct", "simulated")


class Tracking:
    """An observer that notes how far each task is missed, step by step."""

    def __init__(self, sim: Simulation):
        """Take a simulation that is about to run."""
        self._sim, self._terms = sim, Kinematics(sim.scene.model)
        self.errors: defaultdict[str, list[float]] = defaultdict(list)

    def __call__(self, state: State, outcome: Outcome, seconds: float) -> None:
        """Take one step."""
        self._terms.update(state.qpos, state.qvel)
        asked = tasks(self._sim, state.time)
        for label, error in missed(self._sim.scene, asked, self._terms, state.time).items():
            self.errors[label].append(error)


def compare_worlds(
    name: str,
    out: str | Path,
    *,
    parameters: Mapping[str, Any] | None = None,
    targets: str | Path | None = None,
    seconds: float | None = None,
    dt: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Table]:
    """Run a scenario in each world, write ``worlds.json`` and ``worlds.md``, and return the tables.

    Args:
        name: the scenario.
        out: the folder; each run is written into a folder of its world's name below it.
        parameters, targets, dt, seed: as of :func:`interplay.runs.run.run`.
        seconds: simulate exactly so long; without it until each finishes.
        progress: called with the world and its simulated seconds.
    """
    out, runs, errors = Path(out), {}, {}
    options: dict[str, Any] = {"parameters": parameters, "targets": targets, "dt": dt, "seed": seed}
    for world in WORLDS:
        watching: list[Tracking] = []

        def watch(sim: Simulation, watching: list[Tracking] = watching) -> Tracking:
            watching.append(Tracking(sim))
            return watching[0]

        def show(now: float, _: float | None, __: str, world: str = world) -> None:
            if progress:
                progress(world, now)

        report = run(name, out / world, world=world, seconds=seconds, progress=show, watch=watch, **options)
        if report["failure"] == INTERRUPTED:
            raise KeyboardInterrupt
        runs[world] = {key: report[key] for key in ("finished", "failure", "sim_seconds", "fallbacks")}
        errors[world] = {label: _size(found) for label, found in watching[0].errors.items()}
    labels = dict.fromkeys(label for by in errors.values() for label in by)
    result = {
        "scenario": name,
        "dt": report["dt"],
        "runs": runs,
        "errors": {label: {world: errors[world].get(label) for world in WORLDS} for label in labels},
    }
    (out / "worlds.json").write_text(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    tables = _tables(result)
    (out / "worlds.md").write_text("\n\n".join([f"# {name}: one plan, two worlds", *map(markdown, tables)]) + "\n")
    return tables


def _size(errors: list[float]) -> dict[str, float]:
    """Return the mean error, and the one that 95 % of steps do not exceed."""
    return {"mean": float(np.mean(errors)), "95 %": float(np.percentile(errors, 95))}


def _tables(result: Mapping[str, Any]) -> list[Table]:
    ends = table(f"{result['scenario']}: how it went", ("", *WORLDS))
    runs = [result["runs"][world] for world in WORLDS]
    ends.add_row("finished", *("yes" if r["finished"] else "no" for r in runs))
    ends.add_row("failure", *((r["failure"] or "–").split("; ")[0] for r in runs))
    ends.add_row("seconds", *(f"{r['sim_seconds']:.2f}" for r in runs))
    ends.add_row("steps on which something gave way", *(str(r["fallbacks"]) for r in runs))
    columns = [f"{world} {kind}" for world in WORLDS for kind in ("mean", "95 %")]
    errors = table("errors of what is asked", ("feature", *columns))
    for label, by in result["errors"].items():
        sizes = [by[world] for world in WORLDS]
        errors.add_row(label, *(f"{size[k]:.4f}" if size else "–" for size in sizes for k in ("mean", "95 %")))
    return [ends, errors]
