"""From words to a motion: actions in a row, what must hold, a schedule, and what is free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.errors import InputError, pick
from interplay.models.base import solid_shapes
from interplay.spacetime.actions import Action, Doing, Gaits, placed
from interplay.spacetime.body import SIDES, Body
from interplay.spacetime.laws import AtTime, Fixed, Given, Heads, InAll, Lasts, PerDistance, Reaches
from interplay.spacetime.meeting import Meet, bonds_of, meet
from interplay.spacetime.part import Style
from interplay.spacetime.problem import BEGIN, END, Found, Law, Problem, Role, Schedule, Stage, When, find
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
DEEPEST, APART = 0.02, 1e-3
"""How far a character may be in something else at the beginning, and how far apart two places are that are one [m]."""


class Score(NamedTuple):
    """A character's actions made a row, and what must hold along it."""

    doing: Doing
    laws: tuple[Law, ...]

    def when(self, moment: str | int) -> When:
        """Return a moment: ``"begin"``, ``"end"``, or a step (1, 2 …): when its foot lands."""
        if moment in ("begin", "end"):
            return BEGIN if moment == "begin" else END
        landings = self.doing.landings
        if isinstance(moment, bool) or not isinstance(moment, int) or not 1 <= moment <= len(landings):
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
    crude: bool = False,
) -> Score:
    """Return actions as a row that begins and ends as they would alone.

    ``free``: timing, footprints; ``seconds``: how long it lasts, if given; ``ends``: whether how it ends, and when, is given here;
    ``crude``: of gaits that nobody solves, to look at what is asked.
    """
    if not actions:
        raise InputError(f"{body.name}: expected at least one action, such as walk")
    if not isinstance(free, list | tuple):
        raise InputError(f"what is free: expected a list of {', '.join(FREE)}, got {free!r}")
    for one in free:
        pick("what is free", one, dict.fromkeys(FREE))
    check_fit(body)
    doing = Doing(Gaits(body, progress, crude))
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


def check_fit(body: Body) -> None:
    """Refuse who has no feet to stand on, or stands in something else."""
    for side in SIDES:
        if not body.has_site(f"{side}_sole"):
            raise InputError(f"{body.name!r} has no {side}_sole: expected a character that stands on two feet")
    m, d = body.scene.model, mujoco.MjData(body.scene.model)
    d.qpos[:] = body.scene.qpos
    mujoco.mj_forward(m, d)
    solid = solid_shapes(m)
    for contact in d.contact:
        one, other = (m.body(b).name for b in m.geom_bodyid[contact.geom])
        names = {one.split("/")[0], other.split("/")[0]}
        if solid[contact.geom].all() and len(names) == 2 and body.name in names and contact.dist < -DEEPEST:
            raise InputError(
                f"{one} is {-1e3 * contact.dist:.0f} mm inside {other} at the beginning; expected room for both"
            )


def check_asked(scores: Mapping[str, Score], laws: Sequence[Law], schedule: str, last: str | None = None) -> None:
    """Refuse what cannot be, by what gaits are about, before anything is solved."""
    scheduled(scores, laws, schedule, last)
    problem = Problem({who: begun(score) for who, score in scores.items()})
    stage = Stage(problem, problem.whole())
    laws = [*(law for score in scores.values() for law in score.laws), *laws]
    for law in laws:
        if isinstance(law, AtTime | Lasts | Reaches):
            law(stage)
    check_order(laws, stage)


def check_order(laws: Sequence[Law], stage: Stage) -> None:
    """Refuse steps that land before earlier ones, and a surface that is at two places at once."""
    timed = [law for law in laws if isinstance(law, AtTime)]
    timed += [AtTime(law.who, END, law.seconds) for law in laws if isinstance(law, Lasts)]
    known = [(law.who, stage.knot(law.who, law.when) or 0, law.seconds) for law in timed]
    for who, knot, seconds in known:
        for other, before, earlier in known:
            if who == other and before < knot and earlier >= seconds:
                raise InputError(
                    f"{who}: expected what comes later at a later time, got {seconds:g} s for what comes after "
                    f"what is at {earlier:g} s"
                )
    places: dict[tuple[str, str, int | None], Reaches] = {}
    for law in laws:
        if isinstance(law, Reaches):
            other = places.setdefault((law.who, law.site, stage.knot(law.who, law.when)), law)
            if (off := float(np.linalg.norm(np.subtract(law.place, other.place)))) > APART:
                raise InputError(
                    f"{law.who}'s {law.site} at {tuple(other.place)} and at {tuple(law.place)} at once: "
                    f"expected one place, got two that are {off:.2f} m apart"
                )


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
    turns = scheduled(scores, further, schedule, last)
    if bonds := bonds_of(further):
        others = [law for law in further if not isinstance(law, Meet)]
        further = [*(law for k, law in enumerate(others) if law not in others[:k]), meet(*bonds)]
    roles, laws = dict[str, Role](), list[Law]()
    for who, score in scores.items():
        roles[who] = begun(score, schedule != "layered")
        laws += score.laws
    problem = Problem(roles, [*laws, *further])
    return find(problem, turns, sketched=True, progress=progress)


def scheduled(scores: Mapping[str, Score], laws: Sequence[Law], schedule: str, last: str | None = None) -> Schedule:
    """Return a schedule by name, or refuse one that does not go with what must hold."""
    contest = any(isinstance(bond, Tackle | Dodge) for bond in bonds_of(laws))
    if contest != (schedule == "horizon"):
        raise InputError(f"schedule {schedule}: expected horizon where somebody tackles or dodges, and only there")
    if last is not None and not contest:
        raise InputError(f"last {last!r}: expected only with the schedule horizon")
    if schedule == "layered" and len(scores) > 1:
        raise InputError(f"schedule {schedule}: expected one character that acts, got {len(scores)}")
    return horizon(laws, last) if contest else next(iter(scores.values())).schedule(schedule)


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
