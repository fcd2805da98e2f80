"""Trials: a scenario played from many seeds, and who stands at the end.

A seed stands if for all of its time nobody falls (:mod:`interplay.motion.falls`), no phase of the scenario fails and no error ends it, and
if at its end every character has its centre of mass above 0.7 of the height at which it began. Otherwise it fell, and the simulation's own
words say how.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from interplay.catalogue import scenario
from interplay.errors import InputError, InterplayError, number, pick, whole
from interplay.motion.recovery import Recovery
from interplay.runs.pool import measured
from interplay.runs.run import make_folder
from interplay.runs.sweep import LOWEST, Progress
from interplay.simulation import CONTROLLERS, WORLDS, Simulation

SECONDS = 20.0
"""How long each seed is played [s]."""


class Case(NamedTuple):
    """One seed of a scenario."""

    name: str
    parameters: Mapping[str, Any]
    seed: int
    seconds: float
    controller: str
    world: str | None


class Trial(NamedTuple):
    """What became of a seed: whether it stands, until when it was played [s], how it fell, how many steps were to catch her."""

    seed: int
    stands: bool
    time: float
    fell: str
    steps: int


def trials(
    name: str,
    out: str | Path,
    *,
    seeds: str | Sequence[int] = "0:10",
    seconds: float = SECONDS,
    parameters: Mapping[str, Any] | None = None,
    controller: str | None = None,
    world: str | None = None,
    workers: int | str = 2,
    progress: Progress | None = None,
) -> list[Trial]:
    """Play a scenario from many seeds, write ``trials.json`` and ``trials.csv``, and return what became of each seed.

    Args:
        name: the scenario, or the path of a scenario file.
        out: the folder.
        seeds: ``"first:end"``, the end not among them, or one seed, or several.
        seconds: how long each is played [s].
        parameters: values of the scenario's parameters.
        controller, world: see :class:`interplay.Simulation`; the scenario's own unless named.
        workers: processes, or the address of a dask scheduler.
        progress: called when a seed is done.
    """
    chosen, out = scenario(name)(parameters), Path(out)  # which refuses what it does not know
    played: str = pick("controller", controller or chosen.controller, {name: name for name in CONTROLLERS})
    if world is not None:
        pick("world", world, WORLDS)
    seconds, wanted = number("seconds", seconds, chosen.dt, 1e6, "s"), read_seeds(seeds)
    make_folder(out)
    cases = [Case(name, dict(parameters or {}), seed, seconds, played, world) for seed in wanted]
    found: list[Trial] = []
    for trial in measured(tried, cases, workers):
        found = sorted([*found, trial])
        _write(out, chosen.name, chosen.p.model_dump(mode="json"), cases[0], found)  # it takes long: at once
        if progress:
            progress(len(found), len(cases), f"{sum(one.stands for one in found)} of {len(found)} stand")
    return found


def read_seeds(seeds: str | Sequence[int]) -> list[int]:
    """Return seeds, each once, of ``"first:end"``, of one seed, or of several."""
    if isinstance(seeds, str):
        first, colon, end = seeds.partition(":")
        try:
            found = list(range(int(first), int(end) if colon else int(first) + 1))
        except ValueError:
            raise InputError(f"seeds: expected FIRST:END, such as 1000:1050, or one seed, got {seeds!r}") from None
    else:
        found = list(dict.fromkeys(seeds))
    if not found:
        raise InputError(f"seeds: expected at least one, got {seeds!r}")
    return [whole("seed", seed, 0, 2**63 - 1) for seed in found]


def tried(case: Case) -> Trial:
    """Play one seed."""
    sim = scenario(case.name)(case.parameters).simulation(seed=case.seed, world=case.world, controller=case.controller)
    heights = _heights(sim)
    try:
        while sim.time < case.seconds - sim.dt / 2 and not sim.failure:
            sim.step()
        fell = sim.failure or ""
    except InterplayError as error:
        fell = str(error)
    sunk = [who for who, height in _heights(sim).items() if height < LOWEST * heights[who]]
    if sunk and not fell:
        fell = f"at the end the centre of mass of {' and '.join(sunk)} is below {LOWEST:g} of its height"
    steps = sim.behaviour.steps if isinstance(sim.behaviour, Recovery) else 0
    return Trial(case.seed, not fell, sim.time, fell, steps)


def _heights(sim: Simulation) -> dict[str, float]:
    """Return how high the centre of mass of each character is [m]."""
    return {who.name: float(sim.com(who.name)[0][2]) for who in sim.falls.characters}


def _write(out: Path, name: str, parameters: Mapping[str, Any], case: Case, found: Sequence[Trial]) -> None:
    rows = [trial._asdict() for trial in found]
    kept = {
        "scenario": name,
        "parameters": parameters,
        "controller": case.controller,
        "world": case.world,
        "seconds": case.seconds,
        "stand": sum(trial.stands for trial in found),
        "of": len(found),
        "trials": rows,
    }
    (out / "trials.json").write_text(json.dumps(kept, allow_nan=False, indent=1) + "\n")
    with (out / "trials.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
