"""Checks a scenario file: everything that can be known before it runs, and whether its first step solves."""

from __future__ import annotations

from pathlib import Path

from interplay.errors import InterplayError, unknown_name
from interplay.scenarios import scenario
from interplay.script.names import unused
from interplay.script.phases import Walk
from interplay.script.reader import Problem, ScriptError
from interplay.script.scenario import ScriptScenario
from interplay.simulation import Simulation


def check(path: str | Path) -> list[Problem]:
    """Return all problems of a file, in the order of its lines, the odd ones marked as warnings."""
    try:
        chosen = scenario(Path(path))()
        sim = chosen.simulation()
    except ScriptError as error:
        return error.problems
    problems = _rehearse(chosen, sim) if isinstance(chosen, ScriptScenario) else []
    if not any(not p.warning for p in problems):
        try:
            sim.step()
        except ScriptError as error:
            problems += error.problems
        except InterplayError as error:
            problems.append(Problem(1, f"the first step cannot be made: {error}"))
    if isinstance(chosen, ScriptScenario):
        problems += [*unused(chosen.file, chosen.filled), *chosen.warnings]
    return sorted(set(problems))


def _rehearse(chosen: ScriptScenario, sim: Simulation) -> list[Problem]:
    """Make the objectives of every phase once at the start: what is wrong with their numbers shows."""
    problems: list[Problem] = []
    labels = {objective.label for objective in sim.objectives}
    for entry in chosen.file.phases:
        try:
            labels |= {objective.label for objective in chosen.rehearsed(entry)}
        except ScriptError as error:
            problems += error.problems
    if not problems and not any(isinstance(entry, Walk) for entry in chosen.file.phases):  # a walk has more of its own
        problems += [
            Problem(entry.line, str(unknown_name("objective", entry.objective, labels)), True)
            for entry in chosen.file.adjust
            if entry.objective not in labels
        ]
    return problems
