"""A captured clip as an action: made physical first, then a row like any other, whose phases are minimised in the manner of a gait."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from interplay.errors import InputError
from interplay.motion.clip import Clip
from interplay.spacetime.actions import Doing
from interplay.spacetime.body import SIDES
from interplay.spacetime.interrupting import asked
from interplay.spacetime.part import SWING
from interplay.spacetime.physical import hasty, phased, physical
from interplay.spacetime.rows import OTHER, Row, course_of, row_of
from interplay.spacetime.styles import style


class Captured(NamedTuple):
    """What a clip shows. Before it she lands, or stands, as it begins: cut clips so that what touches the ground goes on."""

    clip: Clip
    like: str = "walk"
    """The gait whose manner it is in."""
    who: str | None = None

    def after(self, done: Doing) -> Doing:
        """Append it, made physical."""
        row, manner = self._row(done), style(done.body, self.like)
        manner = manner._replace(haste=manner.haste + hasty(done.body))
        row = row._replace(phases=tuple(phase._replace(manner=manner) for phase in row.phases))
        before = (done.row or row).phases[-1 if done.row else 0]
        landings = [
            (done.count + k, side)
            for k, (was, now) in enumerate(pairwise([before, *row.phases]))
            for side in SIDES
            if was.mode(side) == SWING and now.mode(side) != SWING
        ]
        steps, leads = dict.fromkeys(k for k, _ in landings), OTHER[landings[-1][1]] if landings else done.leads
        return done.then(row, steps=False)._replace(landings=(*done.landings, *steps), leads=leads)

    def _row(self, done: Doing) -> Row:
        """Return it as a row, made physical unless gaits are crude, too."""
        who = self.who or next(iter(self.clip.motions))
        if done.gaits.crude:
            course = course_of(done.body, self.clip, who)
            return row_of(done.body, phased(self.clip, who), course, style(done.body, self.like))
        found = physical({who: done.body}, self.clip, progress=done.gaits.progress).found
        last = found.solutions[-1]
        if not last.solved and not asked():
            raise InputError(
                f"clip {self.clip.title!r}: cannot be made physical ({last.status}); what is violated most: "
                f"{', '.join(last.worst) or 'nothing'}"
            )
        (part,) = found.parts.values()
        return Row.found(part, found.x)
