"""The recorder: an observer that writes the steps of a live simulation, one block for each simulated second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from interplay.control.state import State
from interplay.io.recording import Recording
from interplay.io.writer import Place, Steps, Writer
from interplay.simulation import Simulation
from interplay.view.camera import Camera
from interplay.worlds.world import Outcome


class Recorder:
    """Writes a simulation's steps; give it to ``Simulation.observers``, and ``close`` it."""

    def __init__(self, path: str | Path, sim: Simulation, header: Mapping[str, Any], resume: Recording | None = None):
        """Open a new file beside the scene's XML, or continue a recording; the header names at least the ``scenario``."""
        own = {"parameters": {}, "dt": sim.dt, "world": sim.world.name, "camera": Camera().model_dump()}
        self._sim, self._writer = sim, Writer(path, sim.scene.model, {**own, **header}, resume)
        self._per_block = 2 * sim.afresh
        self._masses = (-1, np.zeros(0), np.zeros(0))
        self._clear()

    def _clear(self) -> None:
        self._states: list[State] = []
        self._outcomes: list[Outcome] = []
        self._seconds: list[float] = []
        self._phases: list[str] = []
        self._conflicts: list[tuple[int, list]] = []
        self._sizes: dict[str, dict[str, int]] = {}
        self._mass: list[np.ndarray] = []
        self._inertia: list[np.ndarray] = []

    def __call__(self, state: State, outcome: Outcome, seconds: float) -> None:
        """Take one step."""
        sim, before = self._sim, self._outcomes[-1].touching.contacts if self._outcomes else None
        self._states.append(state)
        self._outcomes.append(outcome)
        self._seconds.append(seconds)
        self._phases.append(sim.behaviour.label if sim.behaviour else "")
        if outcome.touching.contacts is not before or self._phases[-1] not in self._sizes:
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
        if not sim.steps % self._per_block:  # whenever the run was interrupted before
            self.flush()

    def flush(self) -> None:
        """Write what has been taken as one block, with a checkpoint from which the run can be resumed."""
        if not self._states:
            return
        sim, states, outcomes = self._sim, self._states, self._outcomes
        tau, planned = np.array([o.tau for o in outcomes]), np.array([o.plan.tau for o in outcomes])
        parts = [(o.plan.timing.solve, o.plan.timing.model, o.plan.timing.assemble) for o in outcomes]
        changing = bool(sim.live.masses.changes)
        steps = Steps(
            np.array([s.time for s in states]),
            np.array([s.qpos for s in states]),
            np.array([s.qvel for s in states]),
            np.array([o.qacc for o in outcomes]),
            tau,
            planned if (planned != tau).any() else None,
            [o.touching for o in outcomes],
            np.array([s.applied for s in states]),
            np.array(self._mass) if changing else None,
            np.array(self._inertia) if changing else None,
            1e3 * np.column_stack([self._seconds, parts]),
            self._phases,
            stopped=np.array([o.stopped for o in outcomes]),
            **_simulated(outcomes) if sim.world.finds_contacts else {},
        )
        inputs, sim.live.inputs = sim.live.inputs, []
        info = {
            "conflicts": self._conflicts,
            "sizes": self._sizes,
            "inputs": [t.row() for t in inputs],
            "checkpoint": sim.checkpoint(),
        }
        self._clear()
        self._writer.write(steps, info)

    @property
    def place(self) -> Place:
        """Where the file stands, without what is still to be flushed."""
        return self._writer.place

    def cut(self, place: Place) -> None:
        """Take back all steps since a place: the simulation has been taken back, too."""
        self._clear()
        self._writer.cut(place)

    def close(self) -> None:
        """Write the rest and close the file; one that could not be written any more is closed already."""
        if not self._writer.closed:
            self.flush()
            self._writer.close()


def _simulated(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return what a simulator has to tell beside: the plans, all that touched, and its own steps where they are kept."""
    substeps = [o.substeps for o in outcomes if o.substeps is not None]
    return {
        "plan_qacc": np.array([o.plan.qacc for o in outcomes]),
        "plan_wrenches": [o.plan.wrenches for o in outcomes],
        "touches": [o.touches for o in outcomes],
        "substeps": substeps if len(substeps) == len(outcomes) else None,
    }


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
