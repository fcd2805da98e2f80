"""A composition's file as a composition: models become a scene, actions rows, what must hold laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import interplay as ip
from interplay.composition import Composition
from interplay.errors import unknown_name
from interplay.models.base import Model
from interplay.script.actions import CompositionFile, Dodge, HoldHands, Tackle
from interplay.script.file import filled, parameter_class, validated
from interplay.script.reader import Document, read
from interplay.script.scenario import Problems, defaults
from interplay.spacetime.body import Body
from interplay.spacetime.composing import Score, check_asked, composed_all, scored
from interplay.spacetime.hand_in_hand import hand_in_hand
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.problem import Law
from interplay.spacetime.rounds import Walker
from interplay.spacetime.solving import Progress
from interplay.spacetime.tackling import outcomes


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

    def __init__(self, parameters: Any = None, character: Model | None = None):
        """Take values of the file's parameters; who plays is in the file."""
        super().__init__(parameters, character)
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
                if isinstance(entry, Tackle | Dodge) and self.file.schedule != "horizon":
                    raise ip.InputError("expected schedule: horizon, by which those who tackle and dodge plan in turn")
        problems.raise_any()
        with problems.at_line(self.filled.line(("models",))):
            _ = scene.model
        problems.raise_any()
        return scene

    def asked(self, progress: Progress | None = None, crude: bool = False) -> tuple[dict[str, Score], list[Law]]:
        """Return what all do and what must hold; ``crude``: of gaits that nobody solves, and what cannot be is refused."""
        scene, file, problems = self.scene(), self.file, Problems(self.document.name)
        scores, laws, ends = dict[str, Score](), list[Law](), file.schedule != "horizon"
        for who, actions in file.actions.items():
            with problems.at_line(who.line):
                made, body = [action.make(self.path.parent) for action in actions], Body(scene, str(who))
                given = (body, made, progress)
                scores[str(who)] = scored(*given, free=file.free, seconds=file.seconds, ends=ends, crude=crude)
        problems.raise_any()
        for entry in file.hold:
            with problems.at(entry):
                laws += entry.make(scores)
        problems.raise_any()
        if crude:
            with problems.at_line(self.filled.line(("hold",) if file.hold else ("actions",))):
                check_asked(scores, laws, file.schedule, self._last)
            problems.raise_any()
        return scores, laws

    def look(self) -> tuple[list[Walker], float, str | None] | None:
        """Refuse what cannot be, before anything is solved; return who walks hand in hand, if anybody does."""
        walking = self._walkers()
        if walking is None:
            self.asked(crude=True)
        return walking

    def _walkers(self) -> tuple[list[Walker], float, str | None] | None:
        """Return who walks hand in hand, how fast [m/s], and who leads; None: nobody holds hands."""
        found, problems = [e for e in self.file.hold if isinstance(e, HoldHands)], Problems(self.document.name)
        if not found:
            return None
        with problems.at(found[0]):
            if len(self.file.hold) > 1:
                raise ip.InputError("hold_hands: expected that nothing else must hold")
            if self.file.schedule not in ("joint", "alternating"):
                raise ip.InputError(f"schedule of held hands: expected joint or alternating, got {self.file.schedule}")
            doing = {
                str(who): [one.make(self.path.parent) for one in actions] for who, actions in self.file.actions.items()
            }
            hands = found[0].hands()
            walkers, speed = hands.walkers(self.scene(), doing)
            return walkers, speed, hands.leader
        problems.raise_any()
        return None

    @property
    def _last(self) -> str | None:
        return None if self.file.last is None else str(self.file.last)

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        if walking := self.look():
            turns = self.file.schedule == "alternating"
            return hand_in_hand(*walking, alternating=turns, progress=progress, name=self.name)
        found = composed_all(*self.asked(progress), self.file.schedule, progress, self._last)
        return perform(self.name, found, between=outcomes)
