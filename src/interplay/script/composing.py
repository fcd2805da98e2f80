"""A composition's file as a composition: models become a scene, actions rows, what must hold laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import mujoco

import interplay as ip
from interplay.composition import Composition
from interplay.errors import unknown_name
from interplay.models.base import solid_shapes
from interplay.script.actions import CompositionFile, Dodge, Tackle, Time
from interplay.script.file import filled, parameter_class, validated
from interplay.script.reader import Document, read
from interplay.script.scenario import Problems, defaults
from interplay.spacetime.body import SIDES, Body
from interplay.spacetime.composing import Score, composed_all, scored
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.problem import Law
from interplay.spacetime.solving import Progress
from interplay.spacetime.tackling import outcomes

DEEPEST = 0.02
"""How far a character may be in something else at the beginning [m]."""


def load_composition(path: Path) -> type[ScriptComposition]:
    """Return the composition of a file; all that is wrong in it without looking at a scene is raised together."""
    return made_from(read(path), path)


def made_from(document: Document, path: Path) -> type[ScriptComposition]:
    """Return the composition of what was read from a file."""
    parameters = parameter_class(document)
    file: CompositionFile = validated(CompositionFile, filled(document, defaults(parameters, document)))
    space = {
        "name": path.stem,
        "summary": file.title or path.stem,
        "Parameters": parameters,
        "document": document,
        "path": path.resolve(),
    }
    return type("FileComposition", (ScriptComposition,), space)


class ScriptComposition(Composition):
    """A composition that a file describes."""

    document: ClassVar[Document]
    path: ClassVar[Path]

    def __init__(self, parameters: Any = None):
        """Take values of the file's parameters."""
        super().__init__(parameters)
        self.filled = filled(self.document, self.p.model_dump())
        self.file: CompositionFile = validated(CompositionFile, self.filled)

    def scene(self) -> ip.Scene:
        """Place the models, and check who acts."""
        problems, scene = Problems(self.document.name), ip.Scene()
        for name, entry in self.file.models.items():
            with problems.at(entry):
                entry.place(scene, str(name), entry.make(self.path.parent))
        for who in self.file.actions:
            with problems.at_line(who.line):
                if who not in self.file.models:
                    raise unknown_name("model", str(who), self.file.models)
        for entry in self.file.hold:
            with problems.at(entry):
                for who in entry.who():
                    if who not in self.file.actions:
                        raise unknown_name("model that acts", who, self.file.actions)
                if isinstance(entry, Time):
                    self._check_order(entry)
                if isinstance(entry, Tackle | Dodge) and self.file.schedule != "horizon":
                    raise ip.InputError("expected schedule: horizon, by which those who tackle and dodge plan in turn")
        problems.raise_any()
        with problems.at_line(self.filled.line(("models",))):
            _ = scene.model
        problems.raise_any()
        for who in self.file.actions:
            with problems.at_line(who.line):
                _check_fit(Body(scene, str(who)))
        problems.raise_any()
        return scene

    def _check_order(self, entry: Time) -> None:
        """Refuse steps that would land before earlier ones."""
        for other in self.file.hold:
            if (
                isinstance(other, Time)
                and other.of == entry.of
                and other.when < entry.when
                and other.time >= entry.time
            ):
                raise ip.InputError(
                    f"step {entry.when} of {entry.of} at {entry.time:g} s: step {other.when} is at {other.time:g} s; "
                    "expected later steps at later times"
                )

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        scene, file, problems = self.scene(), self.file, Problems(self.document.name)
        scores: dict[str, Score] = {}
        for who, actions in file.actions.items():
            with problems.at_line(who.line):
                made = [action.make() for action in actions]
                body, ends = Body(scene, str(who)), file.schedule != "horizon"
                scores[str(who)] = scored(body, made, progress, free=file.free, seconds=file.seconds, ends=ends)
        problems.raise_any()
        laws: list[Law] = []
        for entry in file.hold:
            with problems.at(entry):
                laws += entry.make(scores)
        problems.raise_any()
        last = None if file.last is None else str(file.last)
        return perform(self.name, composed_all(scores, laws, file.schedule, progress, last), between=outcomes)


def _check_fit(body: Body) -> None:
    """Refuse what has no feet to stand on, or stands in something else."""
    for side in SIDES:
        if not body.has_site(f"{side}_sole"):
            raise ip.InputError(f"{body.name!r} has no {side}_sole: expected a character that stands on two feet")
    m, d = body.scene.model, mujoco.MjData(body.scene.model)
    d.qpos[:] = body.scene.qpos
    mujoco.mj_forward(m, d)
    solid = solid_shapes(m)
    for contact in d.contact:
        one, other = (m.body(b).name for b in m.geom_bodyid[contact.geom])
        names = {one.split("/")[0], other.split("/")[0]}
        if solid[contact.geom].all() and len(names) == 2 and body.name in names and contact.dist < -DEEPEST:
            raise ip.InputError(
                f"{one} is {-1e3 * contact.dist:.0f} mm inside {other} at the beginning; expected room for both"
            )
