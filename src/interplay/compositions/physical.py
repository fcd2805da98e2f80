"""A captured clip made physical: the smallest change of it that a body can make."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

import interplay as ip
from interplay import composition as base
from interplay.errors import InputError
from interplay.spacetime.body import Body
from interplay.spacetime.captured import Captured
from interplay.spacetime.composing import composed, scored
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.physical import physical
from interplay.spacetime.solving import Progress


class Physical(base.Composition):
    """A clip made physical."""

    name: ClassVar[str] = "physical"
    summary: ClassVar[str] = "the motion nearest to a clip's that obeys physics"

    class Parameters(base.Worn):
        """Which clip, from when to when, and who plays it."""

        clip: str = Field(
            "", description="folder or file of a clip that knows its contacts, as interplay import writes it"
        )
        who: str = Field("", description="which of its characters; by default the first")
        begin: float = Field(0.0, ge=0, description="where it begins in the clip [s]")
        end: float = Field(0.0, ge=0, description="where it ends in the clip [s]; 0: at its end")
        height: float = Field(1.75, ge=0.8, le=2.2, description="of who plays it [m]")
        mass: float = Field(0.0, ge=0, le=200, description="of who plays it [kg]; 0: as people of that height have")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        p = self.p
        if not p.clip:
            raise InputError("physical: expected a clip; say --set clip=FOLDER")
        clip = _cut(p.clip, p.begin, p.end)
        body = Body(ip.Scene().add(ip.Humanoid(p.height, p.mass or None, shoes=p.shoes), "ann"), "ann")
        found, change = physical(body, clip, p.who or None, progress=progress)
        return perform(self.name, found, between=lambda _: change.said())


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
