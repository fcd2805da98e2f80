"""Phases, building blocks, walks and conditions of a file; each kind is a class that makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic
from pydantic import Field

import interplay as ip
from interplay.script.entries import (
    Contact,
    Duration,
    Entry,
    Flag,
    JointName,
    Many,
    ModelName,
    Number,
    Onto,
    Pairs,
    PhaseName,
    Positive,
    Released,
    Seconds,
    SurfaceName,
    Vector,
    Weight,
    Whole,
    contact_pairs,
    kind_key,
    one_of,
)
from interplay.script.objectives import AnyObjective, Use
from interplay.script.play import Play


class _Condition(Entry):
    """What a phase waits for."""

    def make(self) -> list[Any]:
        """Return the conditions that must all hold."""
        raise TypeError(f"{type(self).__name__} does not define make()")

    def given(self, *keys: str) -> dict[str, Any]:
        """Return those options that are given."""
        return {key: getattr(self, key) for key in keys if getattr(self, key) is not None}


class Met(_Condition):
    """Surfaces lie on each other and hardly move."""

    met: Pairs = Field(description="pairs of surfaces")
    gap: Positive | None = Field(None, description="largest distance [m]; 0.004 by default")
    speed: Positive | None = Field(None, description="largest speed [m/s]; 0.01 by default")

    def make(self) -> list[Any]:
        """Return one condition for each pair."""
        return [ip.conditions.met(a, b, **self.given("gap", "speed")) for a, b in self.met.items()]


class Joint(_Condition):
    """A joint has reached a value."""

    joint: JointName = Field(description="the joint")
    at: Number = Field(description="angle [rad] or position [m]")
    within: Positive | None = Field(None, description="how near [rad, m]; 0.03 by default")
    speed: Positive | None = Field(None, description="largest speed [rad/s, m/s]; 0.1 by default")

    def make(self) -> list[Any]:
        """Return the condition."""
        return [ip.conditions.joint_at(self.joint, self.at, **self.given("within", "speed"))]


class Com(_Condition):
    """The centre of mass of models stands over surfaces."""

    com: Many[ModelName] = Field(description="models, taken together")
    over: Many[SurfaceName] = Field(description="surfaces")
    within: Positive | None = Field(None, description="how near to their middle [m]; 0.03 by default")
    speed: Positive | None = Field(None, description="largest speed [m/s]; 0.05 by default")

    def make(self) -> list[Any]:
        """Return the condition."""
        return [ip.conditions.com_over(self.com, *self.over, **self.given("within", "speed"))]


class Unloaded(_Condition):
    """Contacts carry hardly any load."""

    unloaded: Many[SurfaceName] = Field(description="surfaces")
    force: Positive | None = Field(None, description="largest force [N]; 20 by default")

    def make(self) -> list[Any]:
        """Return one condition for each surface."""
        return [ip.conditions.unloaded(s, **self.given("force")) for s in self.unloaded]


if TYPE_CHECKING:
    AnyCondition = _Condition
else:
    AnyCondition = one_of("condition", _Condition)


class _Part(Entry):
    """A part of the play: one phase or several."""

    objectives: list[AnyObjective] = Field([], description="what should happen, made when the phase is entered")
    next: PhaseName | None = Field(None, description="the phase after it; by default the one below")

    @property
    def name(self) -> str:
        """Its name, given with its kind."""
        return str(getattr(self, kind_key(type(self))))

    def phases(self, play: Play, next_phase: str | None) -> list[ip.Phase]:
        """Return the phases that the entry stands for."""
        raise TypeError(f"{type(self).__name__} does not define phases()")

    def given(self, *keys: str) -> dict[str, Any]:
        """Return those options that are given."""
        return {key: getattr(self, key) for key in keys if getattr(self, key) is not None}


class _Timed(_Part):
    """What phases and building blocks share."""

    make: list[Contact] = Field([], description="contacts made on entry")
    unload: list[Released] = Field([], description="contacts whose force begins to fade; a later phase releases them")
    release: list[Released] = Field([], description="contacts that end with the phase, after their force has faded")
    seconds: Seconds | None = Field(None, description="the phase holds at least so long [s]")
    until: Many[AnyCondition] | None = Field(None, description="what it then waits for, all of it")
    timeout: Duration | None = Field(20.0, description="it has failed after this time [s]; null: never")
    fade: Positive | None = Field(None, description="seconds of the hand-over from the phase before; 0.4 by default")
    interactive: Flag = Field(False, description="a phase for live control, held until the end")

    @property
    def since(self) -> str | None:
        """The phase that its shared objectives refer to."""
        named = {str(entry.since): None for entry in self.objectives if isinstance(entry, Use) and entry.since}
        if len(named) > 1:
            raise ip.InputError(f"phase {self.name!r}: 'since' must name one phase, got {', '.join(named)}")
        return next(iter(named), None)

    def options(self, play: Play, next_phase: str | None) -> dict[str, Any]:
        """Return what every ip.Phase takes."""
        out: dict[str, Any] = {
            "make": [pair for contact in self.make for pair in contact_pairs(contact)],
            "unload": self.unload,
            "release": self.release,
            "timeout": self.timeout,
            "next": next_phase,
            "interactive": self.interactive,
            "origin": f"{play.path.name}:{self.line}",
        }
        if self.timeout is not None and (self.seconds or 0.0) > self.timeout:
            raise ip.InputError(
                f"{self.name!r} is held for {self.seconds:g} s, but has failed after {self.timeout:g} s: give it a longer timeout"
            )
        out |= self.given("seconds", "fade")
        if self.until is not None:
            out["until"] = ip.conditions.all_of(*(c for entry in self.until for c in entry.make()))
        return out


def _extra(entries: Sequence[Any], play: Play) -> Callable[..., Sequence[ip.Objective]]:
    """Return a function that makes objectives on entry of a phase, or of a walk."""

    def objectives(sim: ip.Simulation, begun: Any = None) -> Sequence[ip.Objective]:
        play.stance = begun if isinstance(begun, ip.Entry) else None
        play.walk = begun if isinstance(begun, ip.Walk) else None
        return play.make(entries)

    return objectives


class Phase(_Timed):
    """A fixed set of contacts and objectives, held until a condition."""

    phase: str = Field(min_length=1, description="its name")

    def phases(self, play: Play, next_phase: str | None) -> list[ip.Phase]:
        """Return the phase."""
        options = self.options(play, next_phase)
        return [ip.Phase(self.name, _extra(self.objectives, play), since=self.since, **options)]


class _Block(_Timed):
    balance: Many[ModelName] | None = Field(None, description="models whose centre of mass stays where it is")

    def block(self, play: Play, next_phase: str | None, make: Callable[..., ip.Phase], **more: Any) -> list[ip.Phase]:
        """Return the phase that a building block makes; what it sets itself may be given, too."""
        if self.since is not None:
            raise ip.InputError(f"{self.name!r}: 'since' is for a plain phase")
        options = {key: value for key, value in self.options(play, next_phase).items() if value != []}
        extra = _extra(self.objectives, play)
        return [make(self.name, balance=self.balance or (), extra=extra, **options, **more)]


class Hold(_Block):
    """Stays for some seconds."""

    hold: str = Field(min_length=1, description="name of the phase")

    def phases(self, play: Play, next_phase: str | None) -> list[ip.Phase]:
        """Return the phase."""
        if self.seconds is None:
            raise ip.InputError(f"{self.name!r}: expected 'seconds', how long it is held")
        return self.block(play, next_phase, ip.blocks.hold)


class Shift(_Block):
    """Moves a centre of mass over the middle of surfaces."""

    shift: str = Field(min_length=1, description="name of the phase")
    com: ModelName = Field(description="the model")
    over: Many[SurfaceName] = Field(description="surfaces")
    by: Vector | None = Field(None, description="offset from their middle, and of its height [m]")
    within: Positive | None = Field(None, description="how near it must come [m]; 0.03 by default")

    def phases(self, play: Play, next_phase: str | None) -> list[ip.Phase]:
        """Return the phase."""
        options = self.given("within") | ({"offset": self.by} if self.by else {})
        return self.block(play, next_phase, partial(_shift, self.com, self.over), **options)


def _shift(com: str, over: Sequence[str], name: str, **options: Any) -> ip.Phase:
    return ip.blocks.shift_com(name, com, *over, **options)


class Reach(_Block):
    """Brings a surface onto another one, ready for a contact, or to a point."""

    reach: str = Field(min_length=1, description="name of the phase")
    surface: SurfaceName = Field(description="the surface that is moved")
    onto: Onto = Field(description="the surface it meets, or a point [m]")
    via: Vector | None = Field(None, description="way-point [m]")
    by: Vector | None = Field(None, description="where on the patch: from its middle [m], world axes")
    pointing: Vector | None = Field(None, description="where the fingers or toes point in the end, world axes")
    gap: Positive | None = Field(None, description="it has met within this distance [m]; 0.004 by default")
    weight: Weight | None = Field(None, description="how much it matters; 100 by default")

    def phases(self, play: Play, next_phase: str | None) -> list[ip.Phase]:
        """Return the phase."""
        target = str(self.onto) if isinstance(self.onto, str) else self.onto
        options = {
            "surface": str(self.surface),
            "target": target,
            **self.given("via", "by", "pointing", "gap", "weight"),
        }
        return self.block(play, next_phase, ip.blocks.reach, **options)


class AddContact(_Block):
    """Makes contacts where surfaces meet; they take up their load while it holds."""

    add_contact: str = Field(min_length=1, description="name of the phase")

    def phases(self, play: Play, next_phase: str | None) -> list[ip.Phase]:
        """Return the phase."""
        return self.block(play, next_phase, _add_contact)


def _add_contact(name: str, make: Sequence[Any] = (), **options: Any) -> ip.Phase:
    return ip.blocks.add_contact(name, *make, **options)


class RemoveContact(_Block):
    """Holds surfaces where they are while the force of their contacts fades, then breaks them."""

    remove_contact: str = Field(min_length=1, description="name of the phase")
    surfaces: Many[SurfaceName] = Field(description="surfaces whose contacts end")
    force: Positive | None = Field(None, description="force below which they are broken [N]; 20 by default")

    def phases(self, play: Play, next_phase: str | None) -> list[ip.Phase]:
        """Return the phase."""
        return self.block(play, next_phase, partial(_remove_contact, self.surfaces), **self.given("force"))


def _remove_contact(surfaces: Sequence[str], name: str, **options: Any) -> ip.Phase:
    return ip.blocks.remove_contact(name, *surfaces, **options)


class Gait(Entry):
    """How to walk; what is not given is the style's own."""

    style: Literal["static", "preview"] = Field(
        "preview", description="static: the weight is shifted first; preview: it runs ahead of the feet"
    )
    stride: Number | None = Field(None, description="how far each step goes forward [m]")
    sideways: Number | None = Field(None, description="how far two steps go to the left [m]")
    turn: Number | None = Field(None, description="how far each step turns to the left [rad]")
    width: Weight | None = Field(None, description="distance of the feet across the way [m]")
    swing: Positive | None = Field(None, description="seconds a foot is in the air")
    double: Positive | None = Field(None, description="seconds both feet are on the ground")
    clearance: Positive | None = Field(None, description="how high the swinging sole is lifted [m]")
    aside: Weight | None = Field(None, description="how far the swinging foot goes round the standing leg [m]")
    toe: Weight | None = Field(None, description="how far the foot points down and up [rad]")
    arm_swing: Weight | None = Field(None, description="how far the arms swing [rad]")
    lower: Number | None = Field(None, description="how far the centre of mass goes down [m]")


class Walker(Entry):
    """One who walks."""

    first: Annotated[str, Field(pattern="^(left|right)$")] = Field("left", description="first foot: left or right")
    delay: Seconds = Field(0.0, description="when it begins [s]")
    surfaces: Many[SurfaceName] | None = Field(None, description="what it steps on, one or one for each step; ground")
    backward: Flag = Field(False, description="whether it walks backward, facing who walks forward")


def _form_of_walkers(data: Any) -> str:
    return "<mapping>" if isinstance(data, dict) else "<list>"


class Walk(_Part):
    """A walk of one or several characters, alone or carrying something together; it becomes many phases."""

    walk: str = Field(min_length=1, description="its name, before that of each of its phases")
    walkers: Annotated[
        Annotated[Many[ModelName], pydantic.Tag("<list>")]
        | Annotated[dict[ModelName, Walker | None], Field(min_length=1), pydantic.Tag("<mapping>")],
        pydantic.Discriminator(_form_of_walkers),
    ] = Field(description="characters that walk; or character: {first, delay, surfaces}")
    steps: Whole = Field(description="how many each takes")
    gait: Gait | None = Field(None, description="how they walk")
    carried: Many[ModelName] | None = Field(None, description="models they carry, and who sits on those")
    begin: Duration | None = Field(None, description="seconds before the first foot lifts")
    finish: Duration | None = Field(None, description="seconds after the last one has landed")
    friction: Positive | None = Field(None, description="between soles and ground; 1 by default")

    def phases(self, play: Play, next_phase: str | None) -> list[ip.Phase]:
        """Return the phases of the walk."""
        cast = self.walkers if isinstance(self.walkers, dict) else {name: None for name in self.walkers}
        walkers = [_walker(str(name), given or Walker.model_validate({})) for name, given in cast.items()]
        gait = ip.Gait(**self.gait.model_dump(exclude_none=True)) if self.gait is not None else None
        walk = ip.Walk(
            self.name,
            walkers,
            self.steps,
            gait,
            carried=self.carried or (),
            extra=_extra(self.objectives, play),
            **self.given("begin", "finish", "friction"),
        )
        *phases, last = (replace(phase, origin=f"{play.path.name}:{self.line}") for phase in walk.phases())
        return [*phases, replace(last, next=next_phase)]


def _walker(name: str, given: Walker) -> ip.Walker:
    surfaces = given.surfaces or [ip.GROUND]
    return ip.Walker(
        name, given.first, given.delay, surfaces if len(surfaces) > 1 else str(surfaces[0]), given.backward
    )


if TYPE_CHECKING:
    AnyPhase = _Part
else:
    AnyPhase = one_of("phase", _Part)
