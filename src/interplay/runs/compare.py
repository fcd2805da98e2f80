"""One integrated program beside independent ones, on the same scenario: how well each does what is asked.

Both are judged by the same references: what the phases of the integrated run ask at each moment, whatever phase the other
run has reached by then. So a run that is left behind is as far off as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from interplay.catalogue import scenario
from interplay.io.recording import Recording
from interplay.motion.targets import read_targets
from interplay.objectives.balance import Balance
from interplay.objectives.base import Objective
from interplay.objectives.com import Com
from interplay.objectives.gaze import Gaze
from interplay.objectives.joint import JointAngle
from interplay.objectives.pose import Orientation, Point
from interplay.runs.run import INTERRUPTED, run
from interplay.runs.tables import markdown, pyplot, table
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene
from interplay.simulation import Simulation

Progress = Callable[[str, float], None]
"""Called with (controller, simulated seconds) now and then."""

_UNITS: dict[type[Objective], str] = {Com: "m", Point: "m", Orientation: "rad", Gaze: "rad", JointAngle: "rad"}
_BACKGROUND = 0.05
"""Objectives of less than this part of the first one's weight are background: a phase names its task first."""

_COLOURS = {"integrated": "#3b6ea5", "independent": "#c0504d"}


def compare(
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
    """Run a scenario with each controller, write ``compare.json``, ``compare.md`` and ``compare.png``, and return the tables.

    Args:
        name: the scenario.
        out: the folder; each run is written into a folder of its controller's name below it.
        parameters, targets, dt, seed: as of :func:`interplay.runs.run.run`.
        seconds: simulate exactly so long; without it until the integrated run finishes.
        progress: called with the controller and its simulated seconds.
    """
    out, reports = Path(out), {}
    options: dict[str, Any] = {"parameters": parameters, "targets": targets, "dt": dt, "seed": seed}
    for controller in _COLOURS:

        def show(now: float, _: float | None, __: str, controller: str = controller) -> None:
            if progress:
                progress(controller, now)

        reports[controller] = report = run(
            name, out / controller, controller=controller, seconds=seconds, progress=show, **options
        )
        if report["failure"] == INTERRUPTED:
            raise KeyboardInterrupt
        seconds = seconds or report["sim_seconds"]
    errors = _judge(name, {c: Recording(out / c) for c in _COLOURS}, options)
    result = {
        "scenario": name,
        "parameters": reports["integrated"]["parameters"],
        "dt": reports["integrated"]["dt"],
        "runs": {c: _outcome(report) for c, report in reports.items()},
        "errors": {label: {c: _size(e) for c, e in by.items()} for label, by in errors.items()},
    }
    (out / "compare.json").write_text(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    tables = _tables(result)
    text = "\n\n".join([f"# {name}: one program, or one each", *map(markdown, tables), "![errors](compare.png)"])
    (out / "compare.md").write_text(text + "\n")
    _draw(errors, result, out / "compare.png")
    return tables


def _judge(name: str, runs: Mapping[str, Recording], options: Mapping[str, Any]) -> dict[str, dict[str, np.ndarray]]:
    """Return by feature and run the error over time: of the objectives that the integrated run's phases have in force.

    The integrated run is stepped again for its objectives; NaN where a feature is not asked for, or a run has ended.
    """
    header = runs["integrated"].header
    sim = scenario(name)(header["parameters"]).simulation(header["dt"], header["solver"], header["seed"])
    if options["targets"] is not None:
        sim.live.targets = sorted([*sim.live.targets, *read_targets(options["targets"], sim)], key=lambda t: t.time)
    states = {c: (r["qpos"], r["qvel"]) for c, r in runs.items()}
    terms, steps = Kinematics(sim.scene.model), runs["integrated"].steps
    errors: dict[str, dict[str, np.ndarray]] = {}
    for k in range(steps):
        time = sim.time
        sim.step()
        asked = tasks(sim, time)
        for controller, (qpos, qvel) in states.items():
            if k >= len(qpos):
                continue
            terms.update(qpos[k], qvel[k])
            for label, error in missed(sim.scene, asked, terms, time).items():
                by = errors.setdefault(label, {c: np.full(steps, np.nan) for c in states})
                by[controller][k] = error
    return errors


def tasks(sim: Simulation, time: float) -> list[Objective]:
    """Return the objectives in force that say what is to be done: no postures, forces and guards, nothing far below the first task."""
    asked = [o for o in (sim.behaviour.objectives if sim.behaviour else sim.objectives) if o.level(time) >= 0.5]
    found = [o for o in asked if o.dim and not o.diagonal and not isinstance(o, Balance)]
    return [o for o in found if o.weight >= _BACKGROUND * found[0].weight]


def missed(scene: Scene, asked: Sequence[Objective], terms: Kinematics, time: float) -> dict[str, float]:
    """Return by feature how far what is asked is missed; objectives of one feature, such as of single axes, are one."""
    squares: dict[str, float] = {}
    for objective in asked:
        for label, error in _features(scene, objective, terms, time):
            squares[label] = squares.get(label, 0.0) + float(error @ error)
    return {label: math.sqrt(square) for label, square in squares.items()}


def _features(scene: Scene, objective: Objective, terms: Kinematics, time: float) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what an objective is about, with its unit, and its error; positions and turns of a pose apart."""
    m = scene.model
    trees = dict.fromkeys(int(t) for t in m.dof_treeid[objective.dofs])
    models = [m.body(int(m.tree_bodyadr[t])).name.split("/")[0] for t in trees]
    of = getattr(objective, "frame_name", None) or getattr(objective, "joint_name", None) or " + ".join(models)
    error = objective.error(terms, time)
    if len(error) == 6:
        yield f"position of {of} [m]", error[:3]
        yield f"turn of {of} [rad]", error[3:]
    else:
        unit = next((unit for kind, unit in _UNITS.items() if isinstance(objective, kind)), "")
        yield f"{type(objective).__name__.lower()} of {of}" + f" [{unit}]" * bool(unit), error


def _outcome(report: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("finished", "failure", "sim_seconds", "states_visited", "fallbacks", "relaxed", "timing")
    return {**{key: report[key] for key in keys}, "certificate": report["certificate"]}


def _size(error: np.ndarray) -> dict[str, float] | None:
    """Return RMS and largest error; None where nothing was asked while the run lasted."""
    there = error[~np.isnan(error)]
    return {"rms": float(np.sqrt(np.mean(there**2))), "max": float(there.max())} if len(there) else None


def _tables(result: Mapping[str, Any]) -> list[Table]:
    runs = result["runs"]
    ends = table(f"{result['scenario']}: how it went", ("", *runs))
    ends.add_row("finished", *("yes" if r["finished"] else "no" for r in runs.values()))
    ends.add_row("failure", *((r["failure"] or "–").split("; the state")[0] for r in runs.values()))
    ends.add_row("seconds", *(f"{r['sim_seconds']:.2f}" for r in runs.values()))
    ends.add_row("last phase", *(r["states_visited"][-1] or "–" for r in runs.values()))
    ends.add_row("steps on which something gave way", *(str(r["fallbacks"]) for r in runs.values()))
    for key, name in (("contact_drift_mm", "contact slip [mm]"), ("penetration_mm", "penetration [mm]")):
        ends.add_row(name, *(f"{r['certificate'][key]:.3g}" for r in runs.values()))
    for key in ("eom_residual", "third_law_residual", "torque_ratio"):
        ends.add_row(key.replace("_", " "), *(f"{r['certificate'][key]:.2g}" for r in runs.values()))
    ends.add_row("median step [ms]", *(f"{r['timing']['median_ms']:.2f}" for r in runs.values()))
    columns = [f"{c} {kind}" for c in runs for kind in ("RMS", "max")]
    errors = table("errors against what the integrated run is asked", ("feature", *columns))
    for label, by in result["errors"].items():
        cells = [f"{size[k]:.4f}" if size else "–" for size in by.values() for k in ("rms", "max")]
        errors.add_row(label, *cells)
    return [ends, errors]


def _draw(errors: Mapping[str, Mapping[str, np.ndarray]], result: Mapping[str, Any], path: Path) -> None:
    """Draw the errors over time, one panel for each feature."""
    plt, dt = pyplot(), result["dt"]
    figure, axes = plt.subplots(
        max(len(errors), 1), 1, figsize=(9, 1.9 * max(len(errors), 1)), sharex=True, squeeze=False
    )
    for axis, (label, by) in zip(axes[:, 0], errors.items(), strict=False):
        for controller, error in by.items():
            axis.plot(dt * np.arange(len(error)), error, color=_COLOURS[controller], lw=1.4, label=controller)
        for controller, outcome in result["runs"].items():
            if outcome["failure"]:
                axis.axvline(outcome["sim_seconds"], color=_COLOURS[controller], lw=0.8, ls=":")
        axis.set(title=label, ylim=(0, None))
        axis.title.set_fontsize(10)
    axes[0, 0].legend(frameon=False, ncols=2)
    axes[-1, 0].set_xlabel("time [s]; dotted: the run fails")
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)
