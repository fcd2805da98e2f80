"""A captured clip as an action: made physical first, then a row like any other, whose phases are minimised in the manner of a gait."""

from __future__ import annotations

from typing import NamedTuple

from interplay.errors import InputError
from interplay.motion.clip import Clip
from interplay.spacetime.actions import Doing
from interplay.spacetime.body import SIDES
from interplay.spacetime.part import SWING
from interplay.spacetime.physical import hasty, physical
from interplay.spacetime.rows import OTHER, Row
from interplay.spacetime.styles import style


class Captured(NamedTuple):
    """What a clip shows. Before it she lands, or stands, as it begins: cut clips so that what touches the ground goes on."""

    clip: Clip
    like: str = "walk"
    """The gait whose manner it is in."""
    who: str | None = None

    def after(self, done: Doing) -> Doing:
        """Append it, made physical."""
        found, _ = physical(done.body, self.clip, self.who, progress=done.gaits.progress)
        last = found.solutions[-1]
        if not last.solved:
            raise InputError(
                f"clip {self.clip.title!r}: cannot be made physical ({last.status}); what is violated most: "
                f"{', '.join(last.worst) or 'nothing'}"
            )
        (part,) = found.parts.values()
        row, manner = Row.found(part, found.x), style(done.body, self.like)
        manner = manner._replace(haste=manner.haste + hasty(done.body))
        row = row._replace(phases=tuple(phase._replace(manner=manner) for phase in row.phases))
        begin, modes = done.count, [phase[2:4] for phase in ((done.row.phases if done.row else ())[-1:] + row.phases)]
        first = begin if done.row else 1
        landings = [
            first + k
            for k, (before, now) in enumerate(zip(modes, modes[1:], strict=False))
            if any(was == SWING != is_ for was, is_ in zip(before, now, strict=True))
        ]
        swings = [side for side in SIDES if row.phases[-1].mode(side) == SWING]
        done = done.then(row, steps=False)
        leads = swings[0] if len(swings) == 1 else OTHER[_last_down(row)]
        return done._replace(landings=(*done.landings, *landings), leads=leads)


def _last_down(row: Row) -> str:
    """Return which foot stood last, or lands last."""
    for phase in reversed(row.phases):
        stands = [side for side in SIDES if phase.mode(side) != SWING]
        if len(stands) == 1:
            return stands[0]
    return SIDES[0]
