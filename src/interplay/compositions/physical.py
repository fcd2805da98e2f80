"""A captured clip made physical: the smallest change of it that a body can make."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

import interplay as ip
from interplay import composition as base
from interplay.errors import InputError
from interplay.spacetime.body import Body
from interplay.spacetime.performing import Performance, perform
from interplay.spacetime.physical import physical
from interplay.spacetime.solving import Progress


class Physical(base.Composition):
    """A clip made physical."""

    name: ClassVar[str] = "physical"
    summary: ClassVar[str] = "the motion nearest to a clip's that obeys physics"

    class Parameters(base.Parameters):
        """Which clip, from when to when, and who plays it."""

        clip: str = Field(
            "", description="folder or file of a clip that knows its contacts, as interplay import writes it"
        )
        who: str = Field("", description="which of its characters; by default the first")
        begin: float = Field(0.0, ge=0, description="where it begins in the clip [s]")
        end: float = Field(0.0, ge=0, description="where it ends in the clip [s]; 0: at its end")
        height: float = Field(1.75, ge=0.8, le=2.2, description="of who plays it [m]")
        mass: float = Field(0.0, ge=0, le=200, description="of who plays it [kg]; 0: as people of that height have")
        timing: bool = Field(False, description="whether its timing may change")

    p: Parameters

    def compose(self, progress: Progress | None = None) -> Performance:
        """Return the motion."""
        p = self.p
        if not p.clip:
            raise InputError("physical: expected a clip; say --set clip=FOLDER")
        clip = ip.Clip.load(p.clip)
        if p.end or p.begin:
            clip = clip.cut(p.begin, p.end or clip.duration)
        body = Body(ip.Scene().add(ip.Humanoid(p.height, p.mass or None), "ann"), "ann")
        found, _ = physical(body, clip, p.who or None, timing=p.timing, progress=progress)
        return perform(self.name, found)
