"""From words to a motion: actions in a row, what must hold, a schedule, and what is free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

import numpy as np

from interplay.errors import InputError, pick
from interplay.spacetime.actions import Action, Doing, Gaits, placed
from interplay.spacetime.body import Body
from interplay.spacetime.laws import Fixed, Given, Heads, InAll, Lasts, PerDistance
from interplay.spacetime.meeting import Meet, bonds_of, meet
from interplay.spacetime.part import Style
from interplay.spacetime.problem import BEGIN, END, Found, Law, Problem, Role, Schedule, When, find
from interplay.spacetime.schedules import Joint, Layered
from interplay.spacetime.solving import Progress
from interplay.spacetime.splicing import headed
from interplay.spacetime.styles import style
from interplay.spacetime.tackling import Dodge, Tackle, horizon

TURNED, STANDS = 0.1, 0.1
"""From which turn on it costs nothing to head elsewhere [rad], and how fast along any axis who stands goes at most [m/s]."""
WIGGLE = 0.3
"""How far hips turn within a gait at most [rad]."""
INTERVAL = 0.035
"""About how long an interval of a sketch is [s]."""
FREE = ("timing", "footprints")


class Score(NamedTuple):
    """A character's actions made a row, and what must hold along it."""

    doing: Doing
    laws: tuple[Law, ...]

    def when(self, moment: str | int) -> When:
        """Return a moment: ``"begin"``, ``"end"``, or a step (1, 2 …): when its foot lands."""
        if moment in ("begin", "end"):
            return BEGIN if moment == "begin" else END
        landings = self.doing.landings
        if isinstance(moment, str) or not 1 <= moment <= len(landings):
            raise InputError(f"moment {moment!r}: expected begin, end, or a step from 1 to {len(landings)}")
        return When(landings[moment - 1])

    def schedule(self, kind: str) -> Schedule:
        """Return a schedule by name: ``joint``, or ``layered`` about the first seam between two actions."""
        seams, count = self.doing.seams, self.doing.count
        if kind == "layered" and not seams:
            raise InputError("schedule layered: expected two actions at least, between which there is a seam")
        made: dict[str, Callable[[], Schedule]] = {
            "joint": Joint,
            "layered": lambda: Layered(
                self.doing.body.name, max(seams[0] // 2, 1), count - max((count - seams[0]) // 2, 1)
            ),
        }
        return pick("schedule", kind, made)()


def scored(
    body: Body,
    actions: Sequence[Action],
    progress: Progress | None = None,
    *,
    free: Sequence[str] = FREE,
    seconds: float | None = None,
    ends: bool = True,
) -> Score:
    """Return actions as a row that begins and ends as they would alone.

    ``free``: timing, footprints; ``seconds``: how long it lasts, if given; ``ends``: whether how it ends, and when, is given here.
    """
    if not actions:
        raise InputError(f"{body.name}: expected at least one action, such as walk")
    for one in free:
        pick("what is free", one, dict.fromkeys(FREE))
    doing = Doing(Gaits(body, progress))
    for action in actions:
        before = doing.count
        doing = action.after(doing)
        if before:
            doing = doing._replace(seams=(*doing.seams, before))
    row, who = doing.row, body.name
    if row is None or doing.end is None:
        raise InputError(f"{body.name}: expected an action that lasts")
    turned = any(isinstance(law, Heads) for law in doing.laws)
    turned = turned or abs(float(doing.end[0][3] - row.knots.q[0, 3])) > WIGGLE
    still = min(np.abs(row.knots.v[0, :2]).max(), np.abs(doing.end[1][:2]).max()) <= STANDS
    paced = seconds is None and not (turned or still)
    free_place = not doing.there and (paced or seconds is not None)
    laws: list[Law] = [
        Given(who, BEGIN, row.knots.q[0], row.knots.v[0]),
        Fixed(who, timing="timing" not in free, footprints="footprints" not in free),
        *doing.laws,
    ]
    if not ends:
        if seconds is not None:
            raise InputError(
                f"{who} for {seconds:g} s: expected no seconds in a horizon: it lasts as the target's steps do"
            )
        return Score(doing, tuple(laws))
    laws.append(Given(who, END, *doing.end, free=(0, 1) if free_place else ()))
    if seconds is not None:
        laws.append(Lasts(who, seconds))
    laws.append(PerDistance(who, float(placed(body)[2])) if paced and free_place else InAll(who))
    return Score(doing, tuple(laws))


def composed(
    score: Score, further: Sequence[Law] = (), schedule: str = "joint", progress: Progress | None = None
) -> Found:
    """Return the motion of least effort that does all of it."""
    return composed_all({score.doing.body.name: score}, further, schedule, progress)


def composed_all(
    scores: Mapping[str, Score],
    further: Sequence[Law] = (),
    schedule: str = "joint",
    progress: Progress | None = None,
    last: str | None = None,
) -> Found:
    """Return the motions of several characters: jointly, or by a horizon, where somebody tackles, which ``last`` decides.

    All that binds characters is one meeting; what holds twice, as of one who dodges two, holds once.
    """
    contest = any(isinstance(bond, Tackle | Dodge) for bond in bonds_of(further))
    if contest != (schedule == "horizon"):
        raise InputError(f"schedule {schedule}: expected horizon where somebody tackles or dodges, and only there")
    if last is not None and not contest:
        raise InputError(f"last {last!r}: expected only with the schedule horizon")
    if schedule == "layered" and len(scores) > 1:
        raise InputError(f"schedule {schedule}: expected one character that acts, got {len(scores)}")
    if bonds := bonds_of(further):
        others = [law for law in further if not isinstance(law, Meet)]
        further = [*(law for k, law in enumerate(others) if law not in others[:k]), meet(*bonds)]
    roles, laws = dict[str, Role](), list[Law]()
    for who, score in scores.items():
        roles[who] = begun(score, schedule != "layered")
        laws += score.laws
    problem = Problem(roles, [*laws, *further])
    turns = horizon(further, last) if contest else next(iter(scores.values())).schedule(schedule)
    return find(problem, turns, sketched=True, progress=progress)


def begun(score: Score, coarse: bool = True) -> Role:
    """Return what she begins with, on the mesh of a sketch, and what is minimised: who turns is not held to where she headed at first."""
    body, row = score.doing.body, score.doing.row
    if row is None:
        raise InputError(f"{body.name}: expected at least one action, such as walk")
    if coarse:
        row = row.on([max(2, ceil(phase.seconds / INTERVAL)) for phase in row.phases])
    heading, turns = float(placed(body)[2]), np.ptp(row.knots.q[:, 3]) > TURNED + WIGGLE

    def goes(manner: Style) -> Style:
        return turning(manner) if turns else headed(manner, heading)

    own = {id(phase.manner): phase.manner and goes(phase.manner) for phase in row.phases}
    phases = tuple(phase._replace(manner=own[id(phase.manner)]) for phase in row.phases)
    return row._replace(phases=phases).role(body, goes(style(body)))


def turning(manner: Style) -> Style:
    """Return a manner in which it costs nothing to head elsewhere."""
    posture = manner.posture.copy()
    posture[3] = 0.0
    return manner._replace(posture=posture, ties=tuple(t for t in manner.ties if all(k != 3 for k, _ in t.parts)))
