"""Running a scenario headless: recording, scene, report."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from interplay.catalogue import scenario
from interplay.errors import InputError, InterplayError, cannot_write, number, pick
from interplay.io.lock import locked
from interplay.io.recorder import Recorder
from interplay.io.recording import Recording
from interplay.io.report import make_report, write_report
from interplay.models.loader import BodyFile
from interplay.motion.targets import read_targets
from interplay.qp import solvers
from interplay.rehearsal import keep_what_is_loaded
from interplay.scenario import Scenario
from interplay.simulation import ON_FALL, Observer, Simulation

Progress = Callable[[float, float | None, str], None]
"""Called with (simulated seconds, expected seconds or None, phase) now and then."""

INTERRUPTED = "interrupted"
"""The failure of a run that the user ended; it can be resumed."""


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
    controller: str | None = None,
    resume: bool = False,
    on_fall: str = "stop",
    substeps: bool = False,
    progress: Progress | None = None,
    watch: Callable[[Simulation], Observer] | None = None,
) -> dict[str, Any]:
    """Run a scenario, write ``recording``, ``scene.xml`` and ``report.json`` into a folder, and return the report.

    An interrupt (Ctrl-C) ends it after the step under way; its report has the failure ``INTERRUPTED``, and it can be resumed.

    Args:
        name: the scenario, or the path of a scenario file.
        out: the folder; one run at a time may write to it.
        seconds: simulate exactly so long; without it until the scenario finishes.
        dt: control step [s]; by default the scenario's own.
        solver, seed, world, controller: see :class:`interplay.Simulation`.
        parameters: values of the scenario's parameters.
        character: sidecar of a body that plays instead of the scenario's own.
        targets: CSV file with timed values of live controls.
        resume: continue the recording in ``out`` (made with the same scenario and parameters).
        on_fall: whether the run stops when someone falls (the report then says so under ``failure``), or goes on (continue).
        substeps: record every step of the simulator, so that the run can be repeated bit for bit in plain MuJoCo.
        progress: called about ten times a second.
        watch: returns an observer of the simulation that is about to run.
    """
    out = Path(out)
    if seconds is not None:
        seconds = number("seconds", seconds, 0.0, 1e7, "s")
    before = Recording(out) if resume else None
    if before is not None:
        header = before.header
        found = scenario(name)
        if header["scenario"] != found.name or header.get("arrays"):
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
    chosen = scenario(name)(parameters, BodyFile(character) if character is not None else None)
    controller = controller or chosen.controller
    sim = chosen.simulation(dt, solver, seed, world, controller)
    sim.on_fall = pick("on_fall", on_fall, ON_FALL)
    if substeps and sim.world.keeps_substeps is None:
        raise InputError(f"substeps: expected the simulated world, which has steps of its own, got {sim.world.name!r}")
    if sim.world.keeps_substeps is not None:
        sim.world.keeps_substeps = bool(substeps)
    if targets is not None:
        sim.live.targets = sorted([*sim.live.targets, *read_targets(targets, sim)], key=lambda t: t.time)
    if seconds is not None:
        number("seconds", seconds, sim.dt, 1e7, "s")
    head = {
        "scenario": chosen.name,
        "sources": chosen.sources,
        "camera": chosen.view().model_dump(),
        "parameters": json.loads(chosen.p.model_dump_json()),
        "seed": seed,
        "solver": solver,
        "controller": controller,
        "character": str(Path(character).resolve()) if character is not None else None,
        "targets": str(Path(targets).resolve()) if targets is not None else None,
        "table_phase": chosen.table_phase,
        "table_pairs": chosen.table_pairs,
    }
    if watch is not None:
        sim.observers.append(watch(sim))
    with locked(out):
        return _record(sim, chosen, out, head, resume, seconds, progress)


def _record(
    sim: Simulation,
    chosen: Scenario,
    out: Path,
    head: Mapping[str, Any],
    resume: bool,
    seconds: float | None,
    progress: Progress | None,
) -> dict[str, Any]:
    """Run a simulation into a folder that is ours, and return its report."""
    before = None
    last_target = sim.live.targets[-1].time if sim.live.targets else 0.0
    if resume:
        before = Recording(out)  # again: only now does nobody else write to it
        if not before.scene_path.exists() or sim.scene.xml != before.scene_path.read_text():
            raise InputError(f"resume: {str(before.scene_path)!r} is not the scene that {chosen.name!r} builds now")
        _take_up(sim, before)
    else:
        try:
            sim.scene.save(out / "scene.xml")
        except OSError as error:
            raise cannot_write(out / "scene.xml", error) from None
    recorder = Recorder(out / "recording", sim, head, before)
    sim.observers.append(recorder)
    keep_what_is_loaded()
    with _interruptible() as interrupted:
        failure = _loop(sim, chosen, seconds, last_target, progress, interrupted)
    try:
        recorder.close()
    except InterplayError as error:
        failure = failure or str(error)
    if not sim.steps:
        raise KeyboardInterrupt if failure == INTERRUPTED else InterplayError(f"{failure} before the first step")
    done = failure is None and finished(sim, chosen, last_target)
    report = make_report(Recording(out), done, failure) | {
        "falls": dict(sim.fallen),
        "unused_adjustments": sim.live.adjustments.unused(),
    }
    write_report(report, out / "report.json")
    chosen.figures(out)
    return report


def _take_up(sim: Simulation, before: Recording) -> None:
    """Bring a simulation to the end of a recording: to the last checkpoint where plans are made afresh, and on from there.

    Who goes on from where a run happened to be interrupted lacks the first guesses that it would have had.
    """
    made = (before.block(k)[1] for k in reversed(range(len(before.starts))))
    checkpoint = next((found for found in made if not found["steps"] % sim.afresh), None)
    if checkpoint is not None:
        sim.restore(checkpoint)
    while sim.steps < before.next_step:
        sim.step()
    sim.live.inputs.clear()  # which the recording has


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Let the first Ctrl-C set an event, so that no step is left half done; a second one interrupts at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    usual = signal.getsignal(signal.SIGINT)

    def ask(*_: Any) -> None:
        asked.set()
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, usual)


def make_folder(path: Path) -> None:
    """Make a folder for results, or say why that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None


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
    sim: Simulation,
    chosen: Scenario,
    seconds: float | None,
    last_target: float,
    progress: Progress | None,
    interrupted: threading.Event,
) -> str | None:
    """Step until the end and return what failed, if anything did."""
    every = max(1, round(0.1 / sim.dt))
    try:
        while True:
            if interrupted.is_set():
                return INTERRUPTED
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
