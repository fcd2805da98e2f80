"""Running a scenario headless: recording, scene, report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from interplay.catalogue import scenario
from interplay.errors import InputError, InterplayError, number, pick
from interplay.io.recording import Recorder, Recording
from interplay.io.report import make_report, write_report
from interplay.models.loader import Character
from interplay.motion.targets import read_targets
from interplay.qp import solvers
from interplay.rehearsal import keep_what_is_loaded
from interplay.scenario import Scenario
from interplay.simulation import ON_FALL, Simulation

Progress = Callable[[float, float | None, str], None]
"""Called with (simulated seconds, expected seconds or None, phase) now and then."""


def run(
    name: str,
    out: str | Path,
    *,
    seconds: float | None = None,
    dt: float | None = None,
    solver: str = solvers.DEFAULT,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    character: str | Path | None = None,
    targets: str | Path | None = None,
    world: str | None = None,
    controller: str = "integrated",
    resume: bool = False,
    on_fall: str = "stop",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run a scenario, write ``recording``, ``scene.xml`` and ``report.json`` into a folder, and return the report.

    Args:
        name: the scenario, or the path of a scenario file.
        out: the folder.
        seconds: simulate exactly so long; without it until the scenario finishes.
        dt: control step [s]; by default the scenario's own.
        solver, seed, world, controller: see :class:`interplay.Simulation`.
        parameters: values of the scenario's parameters.
        character: sidecar of a body that plays instead of the scenario's own.
        targets: CSV file with timed values of live controls.
        resume: continue the recording in ``out`` (made with the same scenario and parameters).
        on_fall: whether the run stops when someone falls (the report then says so under ``failure``), or goes on (continue).
        progress: called about ten times a second.
    """
    out = Path(out)
    before = Recording(out) if resume else None
    if before is not None:
        header = before.header
        found = scenario(name)
        if header["scenario"] != found.name:
            raise InputError(f"resume: {str(out)!r} holds {header['scenario']!r}, not {found.name!r}")
        if header.get("sources", []) != [*found.sources]:
            raise InputError(f"resume: {found.name} (or what it is based on) has changed since {str(out)!r} was made")
        given = _all_parameters(name, parameters) if parameters else header["parameters"]
        if given != header["parameters"] or dt not in (None, header["dt"]):
            raise InputError(
                f"resume: {str(out)!r} was made with dt {header['dt']:g} and {header['parameters']}; they cannot change"
            )
        parameters, dt = header["parameters"], header["dt"]
        seed, solver, world = header["seed"], header["solver"], header["world"]
        controller = header.get("controller", controller)
        targets = targets or header["targets"]
        character = header["character"]
    chosen = scenario(name)(parameters, Character(character) if character is not None else None)
    sim = chosen.simulation(dt, solver, seed, world, controller)
    sim.on_fall = pick("on_fall", on_fall, ON_FALL)
    if targets is not None:
        sim.live.targets = sorted([*sim.live.targets, *read_targets(targets, sim)], key=lambda t: t.time)
    last_target = sim.live.targets[-1].time if sim.live.targets else 0.0
    if seconds is not None:
        seconds = number("seconds", seconds, sim.dt, 1e7, "s")
    make_folder(out)
    if before is not None:
        if not before.scene_path.exists() or sim.scene.xml != before.scene_path.read_text():
            raise InputError(f"resume: {str(before.scene_path)!r} is not the scene that {name!r} builds now")
        with open(before.path, "r+b") as file:  # cut off a torn tail
            file.truncate(before.bytes_read)
        sim.restore(before.checkpoint)
    else:
        sim.scene.save(out / "scene.xml")
    head = {
        "scenario": chosen.name,
        "sources": chosen.sources,
        "camera": chosen.view().model_dump(),
        "parameters": json.loads(chosen.p.model_dump_json()),
        "dt": sim.dt,
        "seed": seed,
        "solver": solver,
        "world": sim.world.name,
        "controller": controller,
        "character": str(Path(character).resolve()) if character is not None else None,
        "targets": str(Path(targets).resolve()) if targets is not None else None,
        "table_phase": chosen.table_phase,
        "table_pairs": chosen.table_pairs,
    }
    recorder = Recorder(out / "recording", sim, head, resume=before is not None)
    sim.observers.append(recorder)
    keep_what_is_loaded()
    failure = _loop(sim, chosen, seconds, last_target, progress)
    recorder.close()
    done = failure is None and finished(sim, chosen, last_target)
    report = make_report(Recording(out), done, failure) | {
        "falls": dict(sim.fallen),
        "unused_adjustments": sim.live.adjustments.unused(),
    }
    write_report(report, out / "report.json")
    chosen.figures(out)
    return report


def make_folder(path: Path) -> None:
    """Make a folder for results, or say why that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {str(path)!r}: {error.strerror}") from None


def _all_parameters(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters of a scenario, given some of them."""
    return json.loads(scenario(name)(parameters).p.model_dump_json())


def finished(sim: Simulation, chosen: Scenario, last_target: float = 0.0) -> bool:
    """Return whether a scenario has come to its end: its phases are over, or its interactive one was held long enough."""
    behaviour = sim.behaviour
    if behaviour is None or behaviour.done:
        return behaviour is not None
    since = behaviour.waiting_since
    return since is not None and sim.time - max(since, last_target) >= chosen.hold_interactive - 1e-9


def _loop(
    sim: Simulation, chosen: Scenario, seconds: float | None, last_target: float, progress: Progress | None
) -> str | None:
    """Step until the end and return what failed, if anything did."""
    every = max(1, round(0.1 / sim.dt))
    try:
        while True:
            if seconds is not None:
                if sim.time >= seconds - sim.dt / 2:
                    return None
            elif finished(sim, chosen, last_target):
                return None
            elif sim.time >= chosen.timeout + last_target:
                return f"not finished after {chosen.timeout + last_target:g} s"
            sim.step()
            if failure := sim.failure:
                return failure
            if progress and not sim.steps % every:
                progress(sim.time, seconds, sim.behaviour.label if sim.behaviour else "")
    except InterplayError as error:
        return str(error)
