"""From a file to a scenario: load, build the scene, check every name, start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pydantic

import interplay as ip
from interplay.errors import InterplayError
from interplay.scenario import Camera, Scenario
from interplay.script.entries import Entry, contact_pairs, kind_key
from interplay.script.file import Adjustment, Based, File, Point, Pose, filled, parameter_class, validated
from interplay.script.models import inside
from interplay.script.names import check_names
from interplay.script.play import Play
from interplay.script.reader import Document, Problem, ScriptError, read

Find = Callable[[str], type[Scenario]]
"""Finds a built-in scenario by name."""


def load(path: Path, find: Find) -> type[Scenario]:
    """Return the scenario class of a file; all that is wrong in it without looking at a scene is raised together."""
    return made_from(read(path), path, find)


def made_from(document: Document, path: Path, find: Find, seen: tuple[Path, ...] = ()) -> type[Scenario]:
    """Return the scenario class of what was read from a file; ``seen`` are the files that are based on it."""
    if isinstance(document.data, dict) and "scenario" in document.data:
        return _based(document, path, find, (*seen, path.resolve()))
    parameters = parameter_class(document)
    file: File = validated(File, filled(document, defaults(parameters, document)))
    space = {
        "name": path.name,
        "summary": file.title or path.stem,
        "dt": file.dt,
        "timeout": file.timeout,
        "hold_interactive": file.hold,
        "camera": Camera(**file.camera.model_dump(exclude_none=True)),
        "Parameters": parameters,
        "document": document,
        "path": path.resolve(),
        "sources": (document.text,),
    }
    return type("FileScenario", (ScriptScenario,), space)


def defaults(parameters: type[pydantic.BaseModel], document: Document) -> dict[str, Any]:
    """Return the default values of parameters; they must be within their own bounds."""
    try:
        return parameters().model_dump()
    except pydantic.ValidationError as error:
        problems = [
            Problem(document.line(("parameters", *e["loc"])), f"{e['loc'][0]}: default: {e['msg']}")
            for e in error.errors()
        ]
        raise ScriptError(document.name, [*document.problems, *problems]) from None


def _based(document: Document, path: Path, find: Find, seen: tuple[Path, ...]) -> type[Scenario]:
    """Return the class of a file that changes another scenario."""
    file: Based = validated(Based, filled(document, {}))
    line = document.line(("scenario",))
    try:
        if file.scenario.endswith((".yaml", ".yml")):
            found = inside(path.parent, file.scenario)
            if found in seen:
                raise ip.InputError(f"{file.scenario!r} is based on itself")
            base = made_from(read(found), found, find, seen)
        else:
            base = find(file.scenario)
    except ScriptError as error:
        raise ScriptError(document.name, [Problem(line, f"the base has problems: {error}")]) from None
    except ip.InputError as error:
        raise ScriptError(document.name, [Problem(line, str(error))]) from None
    parameters = _with_defaults(base, file.parameters, document)
    space = {
        "name": path.name,
        "summary": file.title or base.summary,
        "Parameters": parameters,
        "adjusted": (*getattr(base, "adjusted", ()), (document.name, file.adjust)),
        "sources": (document.text, *base.sources),
    }
    return type("FileScenario", (base,) if issubclass(base, _Adjusted) else (_Adjusted, base), space)


def _with_defaults(base: type[Scenario], values: Mapping[str, Any], document: Document) -> type[pydantic.BaseModel]:
    """Return the parameters of a scenario with other defaults, if it accepts them."""
    problems = []
    for key, value in values.items():
        try:
            base({key: value})
        except ip.InputError as error:
            problems.append(Problem(document.line(("parameters", key)), str(error)))
    if problems:
        raise ScriptError(document.name, problems)
    own = base(values).p
    fields: dict[str, Any] = {}
    for key, field in type(own).model_fields.items():
        changed = pydantic.fields.FieldInfo.merge_field_infos(field, default=getattr(own, key))
        fields[key] = (field.annotation, changed)
    return pydantic.create_model("Parameters", __base__=base.Parameters, **fields)


class _Adjusted(Scenario):
    """A scenario whose objectives have other gains than it says itself."""

    adjusted: ClassVar[Sequence[tuple[str, Sequence[Adjustment]]]] = ()
    """Files that adjust it, one based on the other, and what each says."""

    def start(self, sim: ip.Simulation) -> None:
        """Start it, then adjust."""
        super().start(sim)
        for name, adjustments in self.adjusted:
            _adjust(sim, adjustments, name)


def _adjust(sim: ip.Simulation, adjustments: Sequence[Adjustment], name: str) -> None:
    problems = []
    for entry in adjustments:
        try:
            sim.live.adjust(entry.objective, **entry.model_dump(exclude={"objective"}, exclude_none=True))
        except InterplayError as error:
            problems.append(Problem(entry.line, str(error)))
    if problems:
        raise ScriptError(name, problems)


class ScriptScenario(Scenario):
    """A scenario that a file describes."""

    document: ClassVar[Document]
    path: ClassVar[Path]

    def __init__(self, parameters: Mapping[str, Any] | None = None, character: ip.Model | None = None):
        """Take values of the file's parameters."""
        super().__init__(parameters, character)
        if character is not None:
            raise ip.InputError(f"{self.document.name} names its characters itself: no --character")
        self.filled = filled(self.document, self.p.model_dump())
        self.file: File = validated(File, self.filled)

    @property
    def warnings(self) -> list[Problem]:
        """What is odd about the file, but does not keep it from running."""
        return [p for p in self.filled.problems if p.warning]

    def build(self) -> ip.Scene:
        """Place and pose the models; check every name of the file against them."""
        problems = Problems(self.document.name)
        scene = ip.Scene(self.file.gravity)
        same: dict[str, ip.Model] = {}  # those that are alike share their meshes
        for name, entry in self.file.models.items():
            with problems.at(entry):
                alike = entry.model_dump_json(include={kind_key(type(entry))})
                same[alike] = same.get(alike) or entry.make(self.path.parent)
                entry.place(scene, str(name), same[alike])
        problems.raise_any()
        with problems.at_line(self.filled.line(("models",))):
            _ = scene.model
        problems.raise_any()
        problems.found += check_names(self.file, scene, self.filled)
        problems.raise_any()
        for entry in self.file.pose:
            with problems.at(entry):
                entry.make(scene)
        problems.raise_any()
        return scene

    def start(self, sim: ip.Simulation) -> None:
        """Add contacts, marks, pairs, controls, background and phases, as the file says."""
        file, problems = self.file, Problems(self.document.name)
        self.play = play = Play(sim, self.path, file.sets)
        for k, contact in enumerate(file.contacts):
            for first, second, options in contact_pairs(contact):
                with problems.at_line(self.filled.line(("contacts", k))):
                    sim.contacts.add(first, second, **options)
        for name, where in file.marks.items():
            with problems.at_line(self.filled.line(("marks", name))):
                play.marks[str(name)] = play.pose(where)
        for entry in file.avoid:
            with problems.at(entry):
                distances = {k: getattr(entry, k) for k in ("influence", "security") if getattr(entry, k) is not None}
                for second in entry.between[1]:
                    for first in entry.between[0]:
                        sim.collisions.add(first, second, **distances)
        for entry in file.may_touch:
            with problems.at(entry):
                for first in entry.between[0]:
                    for second in entry.between[1]:
                        sim.collisions.remove(first, second)
        for name, delay in file.late.items():
            with problems.at_line(self.filled.line(("late", name))):
                sim.perceive(name, delay)
        for name, entry in file.controls.items():
            with problems.at(entry):
                _add_control(play, str(name), entry)
        with problems.at_line(self.filled.line(("background",))):
            sim.objectives += play.make(file.background)
        with problems.at_line(self.filled.line(("phases",))):
            sim.behaviour = self._machine(play)
        problems.raise_any()
        _adjust(sim, file.adjust, self.document.name)

    def rehearsed(self, entries: Sequence[Any]) -> list[ip.Objective]:
        """Return objectives as a phase would make them at the start; what goes along with a walk is left out."""
        sim = self.play.sim
        self.play.stance = ip.Entry("", 0.0, sim.state.qpos, sim.state.qvel, True)
        return self.play.make([entry for entry in entries if getattr(entry, "along", None) is None])

    def _machine(self, play: Play) -> ip.Machine:
        problems, parts = Problems(self.document.name), []
        for entry in self.file.phases:
            with problems.at(entry):
                parts.append((entry, entry.phases(play, None)))
        problems.raise_any()
        first = {entry.name: phases[0].name for entry, phases in parts}  # a walk has many
        return ip.Machine(
            [
                phase
                for entry, phases in parts
                for phase in (phases if entry.next is None else entry.phases(play, first[entry.next]))
            ]
        )


def _add_control(play: Play, name: str, entry: Any) -> None:
    options = {"help": entry.help}
    for key in ("max_speed", "max_turn", "max_angle", "unit"):
        if getattr(entry, key, None) is not None:
            options[key] = getattr(entry, key)
    low, high = entry.low, entry.high
    if isinstance(entry, (Point, Pose)):
        kind = "point" if isinstance(entry, Point) else "pose"
        value = play.pose(entry.point if isinstance(entry, Point) else entry.pose)
        value[:3] += entry.by or (0.0, 0.0, 0.0)
        if entry.range is not None:
            low, high = (value[:3] + np.array(way) for way in entry.range)
        play.sim.live.add_control(ip.Control(name, kind, value[: 3 if kind == "point" else 7], low, high, **options))
        return
    control = play.sim.live.add_control(ip.Control(name, "scalar", [entry.slider], low, high, **options))
    if entry.weighs is not None:
        play.sim.live.weigh(entry.weighs, control)
    if entry.drives is not None:
        play.sim.live.drive(entry.drives, control)


class Problems:
    """Collects what goes wrong, so that all of it can be told at once."""

    def __init__(self, name: str):
        self.name, self.found = name, list[Problem]()

    def at(self, entry: Entry) -> Any:
        """Collect errors as problems of an entry."""
        return self.at_line(entry.line)

    @contextmanager
    def at_line(self, line: int) -> Any:
        """Collect errors as problems of a line."""
        try:
            yield
        except ScriptError as error:
            self.found += error.problems
        except InterplayError as error:
            self.found.append(Problem(line, str(error)))

    def raise_any(self) -> None:
        """Raise what was found, if anything."""
        if self.found:
            raise ScriptError(self.name, self.found)
