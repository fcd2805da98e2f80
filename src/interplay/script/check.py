"""Checks a scenario file: everything that can be known before it runs, and whether its first step solves.

Some problems hide others: a scene must stand before the names of its surfaces are known, objectives must have known names before
their numbers matter. So what has a problem is reported, left out, and the rest is looked at again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from interplay.errors import InterplayError, unknown_name
from interplay.script.entries import FAMILIES
from interplay.script.names import names_of, unused
from interplay.script.phases import Walk
from interplay.script.reader import Document, Problem, ScriptError, in_order, read
from interplay.script.scenario import Find, ScriptScenario, made_from
from interplay.simulation import Simulation

_ROUNDS = 12
_NAMED = ("models", "controls", "marks", "sets", "parameters", "late")
"""Sections whose entries have names."""
_LISTS = ("pose", "contacts", "avoid", "may_touch", "background", "phases", "adjust", "objectives", "make", "until")
"""Lists whose items can be left out."""
_NEEDED = ("models", "phases", "scenario")
"""Sections that a file cannot be without."""
_OPTIONS = {"models": ("at", "facing", "quat", "posture"), "phases": ("until", "next")}
"""Keys of entries of a section that can be left out."""


def check(path: Path, find: Find) -> list[Problem]:
    """Return all problems of a file, in the order of its lines, the odd ones marked as warnings."""
    try:
        document = read(path)
    except ScriptError as error:
        return error.problems
    if isinstance(document.data, dict) and "actions" in document.data and "phases" not in document.data:
        return _composition(document, path)
    found, gone = set[Problem](), set[str]()
    for _ in range(_ROUNDS):
        problems = _look(document, path, find, try_it=not found)
        fresh = [p for p in problems if not p.warning and p not in found]
        found |= {p for p in problems if p.warning and not found} | {p for p in fresh if not _follows(p, gone)}
        if not fresh or not isinstance(document.data, dict):
            break
        smaller = _Without(fresh, document)
        if any(smaller.document.data.get(key) in ({}, []) for key in ("models", "phases")):
            break
        gone |= smaller.names
        document = smaller.document._replace(known=frozenset(found), problems=[])
    return in_order(found)


def _composition(document: Document, path: Path) -> list[Problem]:
    """Return the problems of a composition's file, as far as they can be known before it is solved."""
    from interplay.script.composing import made_from as composition_of

    try:
        chosen = composition_of(document, path)()
        chosen.look()
    except ScriptError as error:
        return error.problems
    return in_order(chosen.filled.problems)


def names_in(path: Path, find: Find) -> dict[str, dict[str, list[str]]]:
    """Return the surfaces, bodies, joints and shapes of each model of a file, of which only the models need be right yet."""
    document = read(path)
    if isinstance(document.data, dict) and "models" in document.data:
        wait = {"hold": "wait", "seconds": 1.0}
        data = {key: document.data[key] for key in ("parameters", "models") if key in document.data} | {
            "phases": [wait]
        }
        known = document.lines[id(document.data)]
        lines = {
            id(data): {key: known.get(key, 1) for key in data},
            id(data["phases"]): {0: 1},
            id(wait): dict.fromkeys(wait, 1),
        }
        document = document._replace(data=data, lines=document.lines | lines)
    return names_of(made_from(document, path, find)().build())


def _look(document: Document, path: Path, find: Find, try_it: bool) -> list[Problem]:
    """Return the problems that can be seen; the first step is tried where there are none."""
    try:
        chosen = made_from(document, path, find)()
        sim = chosen.simulation()
    except ScriptError as error:
        return error.problems
    problems: list[Problem] = []
    if isinstance(chosen, ScriptScenario):
        problems += [*_rehearse(chosen, sim), *unused(chosen.file, chosen.filled), *chosen.warnings]
    if try_it and all(p.warning for p in problems):
        try:
            sim.step()
        except ScriptError as error:
            problems += error.problems
        except InterplayError as error:
            first = chosen.file.phases[0].line if isinstance(chosen, ScriptScenario) else 1
            problems.append(Problem(first, f"the first step cannot be made: {error}"))
    return problems


def _rehearse(chosen: ScriptScenario, sim: Simulation) -> list[Problem]:
    """Make the objectives of every phase once at the start: what is wrong with their numbers shows."""
    problems: list[Problem] = []
    labels = {objective.label for objective in sim.objectives}
    for entries in (*chosen.file.sets.values(), *(entry.objectives for entry in chosen.file.phases)):
        try:
            labels |= {objective.label for objective in chosen.rehearsed(entries)}
        except ScriptError as error:
            problems += error.problems
    if not problems and not any(isinstance(entry, Walk) for entry in chosen.file.phases):  # a walk has more of its own
        problems += [
            Problem(entry.line, str(unknown_name("objective", entry.objective, labels)), True)
            for entry in chosen.file.adjust
            if entry.objective not in labels
        ]
    return problems


def _follows(problem: Problem, gone: set[str]) -> bool:
    """Return whether a problem is only that something is missing that was left out for a problem of its own."""
    missing = re.search(r"unknown [\w ,]+ '([^']+)'", problem.message)
    return missing is not None and missing[1].split("/")[0] in gone


class _Without:
    """A document without the smallest entries that have problems and can be left out."""

    def __init__(self, problems: list[Problem], document: Document):
        self._before = document
        self._paths = {self._removable(p.path) for p in problems if p.path} - {()}
        self._at = {p.line for p in problems if not p.path and not p.left_out}
        self.names: set[str] = set()
        self._dropped = 0
        self._lines: dict[int, dict[Any, int]] = {}
        data = self._kept(document.data, ())
        self.document = document._replace(data=data, lines=self._lines)

    def _kept(self, item: Any, path: tuple[Any, ...]) -> Any:
        if not isinstance(item, (dict, list)):
            return item
        known = self._before.lines[id(item)]
        out: list[tuple[Any, Any]] = []
        for key in known:
            before = self._dropped
            value = self._kept(item[key], (*path, key))
            bad = (*path, key) in self._paths or (
                before == self._dropped and _may_go(path, key) and self._at & self._span(item[key], known[key])
            )
            if bad:
                self._dropped += 1
                self.names |= {_name(item[key]) if path == ("phases",) else str(key)}
            else:
                out.append((key, value))
        kept: Any = [value for _, value in out] if isinstance(item, list) else dict(out)
        self._lines[id(kept)] = {k if isinstance(item, list) else key: known[key] for k, (key, _) in enumerate(out)}
        return kept

    def _removable(self, path: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the path to the smallest entry around another one that can be left out."""
        while len(path) > 1 and not _may_go(path[:-1], path[-1]):
            path = path[:-1]
        return () if len(path) == 1 and path[0] in _NEEDED else path

    def _span(self, item: Any, line: int) -> set[int]:
        """Return the lines of an entry."""
        out = {line}
        if isinstance(item, (dict, list)):
            known = self._before.lines[id(item)]
            for key, value in item.items() if isinstance(item, dict) else enumerate(item):
                out |= self._span(value, known[key])
        return out


def _may_go(path: tuple[Any, ...], key: Any) -> bool:
    """Return whether an entry can be left out without touching others."""
    if isinstance(key, int):  # an item of a list
        return path[-1] in _LISTS or (len(path) == 2 and path[0] == "sets")
    if len(path) == 0:
        return key not in (*_NAMED, *_LISTS, *_NEEDED)
    if len(path) == 2 and key in _OPTIONS.get(path[0], ()):
        return True
    return (len(path) == 1 and path[0] in _NAMED) or (len(path) == 3 and path[0] == "models")


def _name(phase: Any) -> str:
    """Return the name of a phase, given with its kind."""
    return str(next((phase[key] for key in FAMILIES["phase"] if key in phase), "")) if isinstance(phase, dict) else ""
