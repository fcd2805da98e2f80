"""What a composition's file says: what characters do, one thing after another, and what must hold when. A new word is one new class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from interplay.script.entries import Duration, Entry, Flag, ModelName, Seconds, SurfaceName, Vector, Weight, one_of
from interplay.script.file import NAME, Parameter
from interplay.script.models import AnyModel
from interplay.script.play import clip_named

if TYPE_CHECKING:
    from interplay.spacetime.actions import Action
    from interplay.spacetime.composing import Score
    from interplay.spacetime.hand_in_hand import Hands
    from interplay.spacetime.problem import Law

Speed = Annotated[float, Field(strict=True, ge=0.2, le=8)]
Steps = Annotated[int, Field(strict=True, ge=1, le=50)]
Angle = Annotated[float, Field(strict=True, ge=-math.tau, le=math.tau)]
Margin = Annotated[float, Field(strict=True, ge=0, le=1)]
Moment = Literal["begin", "end"] | Steps
"""Begin, end, or a step: when its foot lands."""


class _Action(Entry):
    def make(self, folder: Path) -> Action:
        """Return the action; files it names lie in a folder or below."""
        raise TypeError(f"{type(self).__name__} does not define make()")


class Walk(_Action):
    """Steps of a walk."""

    walk: Speed = Field(description="speed [m/s]")
    steps: Steps = Field(2, description="how many")

    def make(self, folder: Path) -> Action:
        """Return the action."""
        from interplay.spacetime.actions import Walk

        return Walk(self.walk, self.steps)


class Run(_Action):
    """Steps of a run."""

    run: Speed = Field(description="speed [m/s]")
    steps: Steps = Field(2, description="how many")

    def make(self, folder: Path) -> Action:
        """Return the action."""
        from interplay.spacetime.actions import Run

        return Run(self.run, self.steps)


class Turn(_Action):
    """Steps of a walk that turns."""

    turn: Angle = Field(description="by how much [rad], or such as 45 deg; to the left is positive")
    steps: Steps = Field(2, description="in how many steps")
    speed: Speed = Field(1.2, description="[m/s]")

    def make(self, folder: Path) -> Action:
        """Return the action."""
        from interplay.spacetime.actions import Walk

        return Walk(self.speed, self.steps, self.turn)


class Pivot(_Action):
    """A sharp turn nearly on the spot, in as few steps as it takes."""

    pivot: Angle = Field(description="by how much [rad], or such as 90 deg; to the left is positive")
    speed: Speed = Field(0.5, description="[m/s]")

    def make(self, folder: Path) -> Action:
        """Return the action."""
        from interplay.spacetime.actions import Pivot

        return Pivot(self.pivot, self.speed)


class Stand(_Action):
    """She stands, or comes to a stand with a last step."""

    stand: Duration = Field(description="for how long [s]")

    def make(self, folder: Path) -> Action:
        """Return the action."""
        from interplay.spacetime.actions import Stand

        return Stand(self.stand)


class Jump(_Action):
    """A jump with both feet, from standing to standing."""

    jump: Annotated[float, Field(strict=True, ge=0, le=3)] = Field(description="how far ahead [m]")
    up: Annotated[float, Field(strict=True, ge=-1, le=1.5)] = Field(0.0, description="how much higher she lands [m]")

    def make(self, folder: Path) -> Action:
        """Return the action."""
        from interplay.spacetime.actions import Jump

        return Jump(self.jump, self.up)


class Clip(_Action):
    """What a clip shows, made physical first: before it she lands, or stands, as it begins."""

    clip: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        description="a clip that comes with Interplay, such as walk, or a file (….clip) in this file's folder or below; one "
        "that knows what touches the ground, as interplay import writes it"
    )
    like: Literal["walk", "run"] = Field("walk", description="the gait in whose manner she goes on from there")
    actor: str | None = Field(None, description="whom of the clip; by default the first")
    begin: Seconds = Field(0.0, description="where it begins in the clip [s]")
    end: Seconds | None = Field(None, description="where it ends in the clip [s]; by default at its end")

    def make(self, folder: Path) -> Action:
        """Return the action."""
        from interplay.spacetime.captured import Captured

        clip = clip_named(folder, self.clip)
        if self.begin or self.end is not None:
            clip = clip.cut(self.begin, clip.duration if self.end is None else self.end)
        return Captured(clip, self.like, self.actor)


class _Held(Entry):
    def who(self) -> tuple[str, ...]:
        """Return whom it is about."""
        raise TypeError(f"{type(self).__name__} does not define who()")

    def make(self, scores: Mapping[str, Score]) -> Sequence[Law]:
        """Return what must hold."""
        raise TypeError(f"{type(self).__name__} does not define make()")


class Reach(_Held):
    """A hand, or another surface, is at a place when something happens."""

    reach: SurfaceName = Field(description="the surface, such as ann/right_palm")
    at: Vector = Field(description="where its middle is [m]")
    when: Moment = Field(description="begin, end, or the step whose foot lands then")
    still: Flag = Field(False, description="whether it rests there for a moment")

    def who(self) -> tuple[str, ...]:
        """Return whose it is."""
        return (str(self.reach).split("/")[0],)

    def make(self, scores: Mapping[str, Score]) -> Sequence[Law]:
        """Return the law."""
        from interplay.spacetime.laws import Reaches

        x, y, z = self.at
        who, _, site = str(self.reach).partition("/")
        score = scores[who]
        score.doing.body.scene.site(str(self.reach))
        return [Reaches(who, site, score.when(self.when), (x, y, z), self.still)]


class Time(_Held):
    """A foot lands at a real time."""

    time: Duration = Field(description="when, from the beginning [s]")
    of: ModelName = Field(description="who")
    when: Steps = Field(description="the step whose foot lands then")

    def who(self) -> tuple[str, ...]:
        """Return who."""
        return (str(self.of),)

    def make(self, scores: Mapping[str, Score]) -> Sequence[Law]:
        """Return the law."""
        from interplay.spacetime.laws import AtTime

        return [AtTime(str(self.of), scores[str(self.of)].when(self.when), self.time)]


class Height(_Held):
    """From some step on, or a landing, feet stand at a height: on what is there."""

    height: Weight = Field(description="how high the ground is under it [m]")
    of: ModelName = Field(description="who")
    when: Moment = Field(description="begin, end, or the step whose foot lands there")

    def who(self) -> tuple[str, ...]:
        """Return who."""
        return (str(self.of),)

    def make(self, scores: Mapping[str, Score]) -> Sequence[Law]:
        """Return the law."""
        from interplay.spacetime.encounters import raised

        return raised(scores, str(self.of), self.when, self.height)


class PassBy(_Held):
    """Two whose ways cross pass each other by, whoever gives way."""

    pass_by: Annotated[list[ModelName], Field(min_length=2, max_length=2)] = Field(
        description="who, such as [ann, ben]"
    )
    margin: Margin = Field(0.1, description="how far they keep from each other at least [m]")

    def who(self) -> tuple[str, ...]:
        """Return both."""
        return tuple(map(str, self.pass_by))

    def make(self, scores: Mapping[str, Score]) -> Sequence[Law]:
        """Return the law."""
        from interplay.spacetime.encounters import passes

        one, other = self.who()
        return passes(scores, one, other, self.margin)


class Tackle(_Held):
    """At the end one meets another's chest with his, hands around it; schedule: horizon."""

    tackle: ModelName = Field(description="whom")
    by: ModelName = Field(description="who")
    speed: Speed = Field(3.5, description="at which speed [m/s]")

    def who(self) -> tuple[str, ...]:
        """Return both."""
        return str(self.by), str(self.tackle)

    def make(self, scores: Mapping[str, Score]) -> Sequence[Law]:
        """Return the law."""
        from interplay.spacetime.encounters import tackles

        return tackles(scores, str(self.by), str(self.tackle), self.speed)


class Dodge(_Held):
    """At the end one is out of the bounding sphere of another who tackles; schedule: horizon."""

    dodge: ModelName = Field(description="whom")
    by: ModelName = Field(description="who")
    margin: Margin = Field(0.2, description="how far out of it [m]")

    def who(self) -> tuple[str, ...]:
        """Return both."""
        return str(self.by), str(self.dodge)

    def make(self, scores: Mapping[str, Score]) -> Sequence[Law]:
        """Return the law."""
        from interplay.spacetime.encounters import dodges

        return dodges(scores, str(self.by), str(self.dodge), self.margin)


class HoldHands(_Held):
    """All who act walk hand in hand, along x and side by side, each with one walk of an even number of steps in the time of all."""

    hold_hands: Annotated[list[ModelName], Field(min_length=2, max_length=4)] = Field(
        description="who, from right to left, such as [mother, child]"
    )
    leader: ModelName | None = Field(None, description="whose own way of walking counts more; others do the work")

    def who(self) -> tuple[str, ...]:
        """Return all of them."""
        return tuple(map(str, self.hold_hands))

    def hands(self) -> Hands:
        """Return who holds hands."""
        from interplay.spacetime.hand_in_hand import Hands

        return Hands(self.who(), None if self.leader is None else str(self.leader))


if TYPE_CHECKING:
    AnyAction = _Action
    AnyHeld = _Held
else:
    AnyAction, AnyHeld = one_of("action", _Action), one_of("what must hold", _Held)

_Name = Annotated[str, Field(pattern=NAME)]


class CompositionFile(Entry):
    """A composition: who and what is there, what they do, and what must hold when."""

    title: str | None = Field(None, description="one line that says what happens")
    parameters: dict[_Name, Parameter] = Field({}, description="numbers that --set can change, used as $name")
    models: dict[_Name, AnyModel] = Field(min_length=1, max_length=20, description="who and what is there, by name")
    actions: dict[ModelName, Annotated[list[AnyAction], Field(min_length=1, max_length=50)]] = Field(
        min_length=1, max_length=4, description="what each does, one after another"
    )
    hold: list[AnyHeld] = Field([], description="what must hold when")
    schedule: Literal["joint", "layered", "horizon", "alternating"] = Field(
        "joint",
        description="all at once; before, after, across a seam; each against the others' plans, who tackle and dodge; or, "
        "who hold hands, one after another",
    )
    last: ModelName | None = Field(
        None, description="who adjusts last in a horizon, and decides; by default who is tackled"
    )
    free: list[Literal["timing", "footprints"]] = Field(
        ["timing", "footprints"], description="what else than the motion is found"
    )
    seconds: Duration | None = Field(None, description="how long it lasts [s]; by default as long as is best")
