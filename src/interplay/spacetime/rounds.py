"""Walking hand in hand: full cycles of several characters, each with steps of their own, who come equally far in the same time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

import interplay as ip
from interplay.errors import InputError, number, pick, whole
from interplay.models.base import Model
from interplay.spacetime.actions import Gaits
from interplay.spacetime.avoiding import side_by_side
from interplay.spacetime.blocks import Block, Kernel, Program
from interplay.spacetime.body import ROOT, SIDES, Body
from interplay.spacetime.ends import again
from interplay.spacetime.holding import NAME, Hand, arm_of, between, hold_hands, holding, meeting_hands
from interplay.spacetime.looking import look
from interplay.spacetime.meeting import Bond, Meeting, meet
from interplay.spacetime.part import Style
from interplay.spacetime.problem import Found, Law, Problem, Role, Stage, Turn, Window, find
from interplay.spacetime.rows import Row
from interplay.spacetime.solving import Progress
from interplay.spacetime.splicing import meshed, placed, walked
from interplay.spacetime.styles import style

MESHES = 3
"""How many meshes are tried at most."""
APART = 0.36
"""How far apart people begin, for each metre of what both are high together, over 2 [1]."""
HELD = ("left_hand", "right_hand")
"""Links that may be on either side of the wall between two who hold hands."""
SPEEDS, MOST_STEPS = (0.2, 3.0), 20
"""Of what may be asked of walkers: speeds [m/s], and how many steps in a round."""
DOMINATES = 10.0
"""How many times more a leader's comfort counts."""


class Walker(NamedTuple):
    """Who walks, with how many steps in the time of all (an even number), and which foot lands first."""

    name: str
    model: Model
    steps: int
    leads: str = "left"


class Walked(NamedTuple):
    """A round that was found, what each would do alone, and whose hands are held."""

    found: Found
    alone: dict[str, Row]
    hands: tuple[tuple[Hand, Hand], ...]
    manners: dict[str, Style]
    """What each minimises, without what a leader's counts more."""

    def said(self) -> dict[str, float]:
        """Return what is to be said of held hands, and by how much each one's walk is not what it is alone.

        That is what it costs, its time over that alone, and joints but those of held arms, at equal shares of a cycle.
        """
        out = {name: value for hands in self.hands for name, value in between(*hands)(self.found).items()}
        for who, alone in self.alone.items():
            role = self.found.problem.roles[who]
            if role.knots is None:
                continue
            here, body = Row(role.phases, role.knots), role.body
            held = {point.link for point in role.pulled}
            arms = {k for side in SIDES if body.point(f"{side}_grip").link in held for k in arm_of(body, side)}
            joints = [k for k in range(ROOT, body.n) if k not in arms]
            (q, seconds), (own, least) = (_cycle(row) for row in (here, alone))
            out[f"{who}: cost"], out[f"{who}: cost alone"] = (
                _cost(body, row, self.manners[who]) for row in (here, alone)
            )
            out[f"{who}: time of a cycle, over that alone"] = seconds / least
            out[f"{who}: joints off those alone, rms [deg]"] = float(
                np.degrees(np.sqrt(np.mean((q - own)[:, joints] ** 2)))
            )
        return out


class Alternating(NamedTuple):
    """One after another, hands drawn together by a rubber band that is stiffer in each cycle (liu2006, 6.2).

    ``order``: whose turn it is in a cycle; who has more turns adjusts more often, and others dominate. The band stiffens from turn to
    turn: who has two in a row would else solve one problem twice. All keep the time that they begin with.
    """

    order: tuple[str, ...]
    cycles: int = 8
    stiffer: float = 100.0
    """By how much in each cycle [N/m]."""

    def turns(self, problem: Problem) -> Iterable[Turn]:
        """Return each one's turns."""
        for turn in range(self.cycles * len(self.order)):
            stiffness = (turn + 1) * self.stiffer / len(self.order)
            yield Turn(
                (Window(self.order[turn % len(self.order)]),), soft={NAME: stiffness}, near=turn >= len(self.order)
            )


def together(
    walkers: Sequence[Walker],
    speed: float | None,
    leader: str | None = None,
    alternating: bool = False,
    progress: Progress | None = None,
) -> Walked:
    """Return people who walk along x hand in hand, from right to left.

    ``speed``: [m/s]; None: what is best for all, by effort per metre. ``alternating``: one after another, not all at once. ``leader``:
    whose comfort counts more, or who has one turn where others have two.
    """
    check_walkers(walkers, speed, leader)
    names = [one.name for one in walkers]
    others = [name for name in names if name != leader]
    schedule = Alternating((*others, *others, leader) if leader else tuple(names)) if alternating else None
    scene, y = ip.Scene(), _beside(walkers)
    for walker, beside in zip(walkers, y, strict=True):
        scene = scene.add(walker.model, walker.name, pos=(0.0, beside))
    bodies = {walker.name: Body(scene, walker.name) for walker in walkers}
    begin = speed or 1.0
    alone = {w.name: walked(Gaits(bodies[w.name], progress), "walk", begin, w.steps, w.leads) for w in walkers}
    seconds = float(np.mean([sum(p.seconds for p in row.phases) for row in alone.values()]))
    roles, manners = dict[str, Role](), dict[str, Style]()
    postures = {who: body.coordinates(scene.qpos) for who, body in bodies.items()}
    for one, other in pairwise(names):
        postures[one], postures[other] = meeting_hands(bodies[one], bodies[other], postures[one], postures[other])
    for k, (walker, beside) in enumerate(zip(walkers, y, strict=True)):
        body, posture = bodies[walker.name], postures[walker.name]
        held = tuple(["right"] * (k > 0) + ["left"] * (k + 1 < len(walkers)))
        row = placed(meshed(alone[walker.name], seconds), 0.0, begin=(0.0, beside))
        row = row._replace(phases=tuple(phase._replace(manner=None) for phase in row.phases))  # not that of the gait
        for one in (row.knots.v, row.knots.q):  # all come equally far
            one[:, 0] *= begin * seconds / row.knots.q[-1, 0]
        for side in held:
            row.knots.q[:, arm_of(body, side)], row.knots.v[:, arm_of(body, side)] = posture[arm_of(body, side)], 0.0
        manner = manners[walker.name] = holding(style(body), body, held, posture)
        manner = _weighted(manner, DOMINATES) if walker.name == leader and not alternating else manner
        role = row.role(body, manner, tuple(body.point(f"{side}_grip") for side in held))
        roles[walker.name] = role
    hands = tuple(((one.name, len(roles[one.name].pulled) - 1), (other.name, 0)) for one, other in pairwise(walkers))
    bonds: list[Bond] = [hold_hands(one, other) for one, other in hands]
    for (one, _), (other, _) in hands:
        bonds += [side_by_side(one, other, HELD), *_glances(bodies[one], bodies[other])]
    bonds.append(_pace(speed) if speed is not None else _per_metre)
    laws: list[Law] = [_begins(walkers[0].name), meet(*bonds, cycle=True)]
    found = find(Problem(roles, laws), schedule, near=True, meshes=MESHES, progress=progress)
    return Walked(found, alone, hands, manners)


def check_walkers(walkers: Sequence[Walker], speed: float | None, leader: str | None) -> None:
    """Refuse what nobody can walk."""
    if len(walkers) < 2:
        raise InputError(f"hand in hand: expected two walkers at least, got {len(walkers)}")
    for one in walkers:
        pick(f"foot with which {one.name} begins", one.leads, dict.fromkeys(SIDES))
        if whole(f"steps of {one.name}", one.steps, 2, MOST_STEPS) % 2:
            raise InputError(f"steps of {one.name}: expected an even number, got {one.steps}")
    if speed is not None:
        number("hand in hand: speed", speed, *SPEEDS, "m/s")
    if leader is not None:
        pick("leader", leader, {one.name: one for one in walkers})


def _beside(walkers: Sequence[Walker]) -> list[float]:
    heights = [Body(ip.Scene().add(one.model, "one"), "one").height for one in walkers]
    return [0.0, *np.cumsum([APART * (a + b) / 2 for a, b in pairwise(heights)]).tolist()]


def _weighted(manner: Style, weight: float) -> Style:
    ties = tuple(tie._replace(weight=tie.weight * weight) for tie in manner.ties)
    more = {name: getattr(manner, name) * weight for name in ("effort", "haste", "posture", "calm", "force", "jerk")}
    return manner._replace(ties=ties, **more)


def _glances(one: Body, other: Body) -> list[Bond]:
    """Return who looks at whom: the smaller one up, more than the taller one down."""
    if abs(one.height - other.height) < 0.2:
        return [look(one.name, other.name, 0.01), look(other.name, one.name, 0.01)]
    small, tall = sorted((one, other), key=lambda body: body.height)
    return [look(small.name, tall.name, 0.05), look(tall.name, small.name, 0.02)]


def _cycle(row: Row) -> tuple[np.ndarray, float]:
    """Return coordinates (200, n) at equal shares of a cycle, and how long it takes [s]."""
    course = row.knots.course(row.phases)
    span = float(course.time[-1])
    return course.at(np.linspace(0.0, span, 200, endpoint=False), course.q), span


def _cost(body: Body, row: Row, manner: Style) -> float:
    """Return what a full cycle costs, per second, by what its phases minimise, or else by a manner."""
    problem = Problem({body.name: row.role(body, manner)})
    stage = Stage(problem, problem.whole())
    part = stage.parts[body.name]
    again(part)
    return Program(stage.unknowns, part.blocks()).values(stage.unknowns.guess)[0]


def _begins(first: str) -> Law:
    """Return where a round begins: somewhere along x and y; how far apart people walk is free."""

    def law(stage: Stage) -> list[Block]:
        for who, part in stage.parts.items():
            if who == first:
                where = part.q[0, :2]
                stage.unknowns.low[where] = stage.unknowns.high[where] = stage.unknowns.guess[where] = 0.0
        return []

    return law


def _pace(speed: float) -> Bond:
    """Return the bond that all walk at a speed."""

    def bond(meeting: Meeting) -> list[Block]:
        if meeting.travel is None:
            raise RuntimeError("a pace needs a full cycle")
        where = np.concatenate([meeting.travel, meeting.duration])[None]
        zero, given = np.zeros((1, 1)), np.full((1, 1), speed)
        kernel = Kernel("pace", 2, 1, lambda y, c: (0, y[0] - c[0] * y[1]))
        return [Block(kernel, where, given, zero, zero, lambda p, r: "speed")]

    return bond


def _per_metre(meeting: Meeting) -> list[Block]:
    """All pay by the metre, and find the speed that is best for all."""
    for part in meeting.stage.parts.values():
        if meeting.travel is not None:
            part.over = meeting.travel
    return []
