"""A captured clip made physical: the smallest change of it that a body can make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

import interplay as ip
from interplay import composition as base
from interplay.errors import InputError, unknown_name
from interplay.io.clips.importing import body_of_height
from interplay.models.anthropometry import JOINT_SETS
from interplay.spacetime.body import Body
from interplay.spacetime.captured import Captured
from interplay.spacetime.composing import composed, scored
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.physical import physical
from interplay.spacetime.solving import Progress


def _several(value: Any) -> Any:
    """Return numbers of a text, such as 1.75,1.15, or of one number."""
    if isinstance(value, str):
        return tuple(value.split(","))
    return (value,) if isinstance(value, int | float) else value


class Physical(base.Composition):
    """A clip made physical, of all who are in it."""

    name: ClassVar[str] = "physical"
    summary: ClassVar[str] = "the motion nearest to a clip's that obeys physics, of all who are in it"

    class Parameters(base.Worn):
        """Which clip, from when to when, and who plays it."""

        clip: str = Field(
            "", description="folder or file of a clip that knows its contacts, as interplay import writes it"
        )
        who: str = Field("", description="one of its characters alone; by default all")
        begin: float = Field(0.0, ge=0, description="where it begins in the clip [s]")
        end: float = Field(0.0, ge=0, description="where it ends in the clip [s]; 0: at its end")
        height: Annotated[tuple[Annotated[float, Field(ge=0.8, le=2.2)], ...], BeforeValidator(_several)] = Field(
            (1.75,), description="of who plays it [m]; of several, in the clip's order: 1.75,1.15"
        )
        mass: Annotated[tuple[Annotated[float, Field(ge=0, le=200)], ...], BeforeValidator(_several)] = Field(
            (0.0,), description="of who plays it [kg]; 0: as people of that height have"
        )

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        p = self.p
        if not p.clip:
            raise InputError("physical: expected a clip; say --set clip=FOLDER")
        clip = _cut(p.clip, p.begin, p.end)
        if p.who and p.who not in clip.motions:
            raise unknown_name("character of the clip", p.who, clip.motions)
        names, scene = [p.who] if p.who else list(clip.motions), ip.Scene()
        heights, masses = _each("height", p.height, names), _each("mass", p.mass, names)
        for name, height, mass in zip(names, heights, masses, strict=True):
            model = body_of_height(height, mass or None, joints=_joints(clip, name), shoes=p.shoes)
            scene = scene.add(model, name)
        made = physical({name: Body(scene, name) for name in names}, clip, progress=progress)
        return perform(self.name, made.found, between=lambda _: made.said(), held=made.held)


class Transition(base.Composition):
    """From one captured clip to another."""

    name: ClassVar[str] = "transition"
    summary: ClassVar[str] = "from one captured clip to another, both made physical first"

    class Parameters(base.Worn):
        """Which clips, from when to when, in which manner, and who plays them."""

        first: str = Field("", description="folder or file of a clip that knows its contacts")
        first_begin: float = Field(0.0, ge=0, description="where it begins in the clip [s]")
        first_end: float = Field(0.0, ge=0, description="where it ends in the clip [s]; 0: at its end")
        first_like: Literal["walk", "run"] = Field("walk", description="the gait whose manner it is in")
        second: str = Field(
            "", description="the clip that follows: it begins with the feet that stand as the first ends"
        )
        second_begin: float = Field(0.0, ge=0, description="where it begins in the clip [s]")
        second_end: float = Field(0.0, ge=0, description="where it ends in the clip [s]; 0: at its end")
        second_like: Literal["walk", "run"] = Field("run", description="the gait whose manner it is in")
        height: float = Field(1.75, ge=0.8, le=2.2, description="of who plays them [m]")
        mass: float = Field(0.0, ge=0, le=200, description="of who plays them [kg]; 0: as people of that height have")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        p = self.p
        if not p.first or not p.second:
            raise InputError("transition: expected two clips; say --set first=FOLDER --set second=FOLDER")
        body = Body(ip.Scene().add(ip.Humanoid(p.height, p.mass or None, springs=True, shoes=p.shoes), "ann"), "ann")
        first = Captured(_cut(p.first, p.first_begin, p.first_end), p.first_like)
        second = Captured(_cut(p.second, p.second_begin, p.second_end), p.second_like)
        return perform(self.name, composed(scored(body, [first, second], progress), (), "joint", progress))


def _cut(name: str, begin: float, end: float) -> ip.Clip:
    clip = ip.Clip.load(name)
    return clip.cut(begin, end or clip.duration) if begin or end else clip


def _joints(clip: ip.Clip, who: str) -> str:
    """Return the set of a humanoid's joints that has all of a character's in a clip."""
    mine = {joint.removeprefix("left_").removeprefix("right_") for joint in clip.motions[who].joints}
    for name, links in JOINT_SETS.items():
        if not (missing := mine - {joint for joints in links.values() for joint in joints}):
            return name
    raise InputError(f"clip {clip.title!r}: expected joints of a humanoid, got {', '.join(sorted(missing))}")


def _each(what: str, given: Sequence[float], names: Sequence[str]) -> Sequence[float]:
    """Return a number for each character: the one that is given, or theirs."""
    if len(given) not in (1, len(names)):
        raise InputError(f"{what}: expected one number, or one for each of {', '.join(names)}, got {len(given)}")
    return given if len(given) == len(names) else [given[0]] * len(names)
