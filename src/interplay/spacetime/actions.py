"""Actions: the words a character's row is made of. Each turns what she has done so far into a longer row; a new word is one more class.

They say how a row begins (spliced from optimal gaits, or crude) and what must hold along it; the problem finds the motion.
"""

from __future__ import annotations

from math import ceil, pi
from typing import NamedTuple, Protocol

import casadi as ca
import numpy as np

from interplay.errors import InputError
from interplay.spacetime.blocks import INF
from interplay.spacetime.body import ROOT, Body
from interplay.spacetime.ends import moved, place_of
from interplay.spacetime.gaits import gait, guess, paced
from interplay.spacetime.interrupting import asked
from interplay.spacetime.laws import Between, Heads
from interplay.spacetime.part import FLAT, SWING, TOE, Course, Phase
from interplay.spacetime.problem import Law, When
from interplay.spacetime.rows import OTHER, Row, row_of
from interplay.spacetime.solving import Progress
from interplay.spacetime.styles import style

COMMON = {"walk": 1.3, "run": 3.0}
"""Speeds at which people do [m/s]."""
RAMP = 2.5
"""By what factor at most a step is slower or faster at its beginning than it is alone, where she was slower or faster before."""
AT_EASE = 0.25
"""How far legs are bent by who stands at ease, of what they are by who is ready."""
CROUCH = 0.2
"""How much lower than she stands hips go before a jump, at least: the share of their height."""
SHARPEST = pi / 4
"""How far one step of a pivot turns [rad]."""


class Gaits:
    """Optimal gaits of a body, each found once, by kind and speed: what rows are spliced from."""

    def __init__(self, body: Body, progress: Progress | None = None, crude: bool = False):
        """Begin with none; ``crude``: gaits as they are guessed, which nobody solves, to look at what is asked before anything is solved."""
        self.body, self.progress, self.crude = body, progress, crude
        self._found: dict[tuple[str, float], Row] = {}

    def half(self, kind: str, speed: float, leads: str = "left") -> Row:
        """Return half a cycle, on a coarse mesh, which begins when the foot that leads lands."""
        key = kind, round(speed, 3)
        if key not in self._found and self.crude:
            phases = paced(self.body, kind, speed)
            self._found[key] = row_of(self.body, phases, guess(self.body, phases, speed), style(self.body, kind))
        if key not in self._found:
            found = gait(self.body, kind, speed, self.progress, meshes=1)
            last = found.solutions[-1]
            if not last.solved and not asked():
                raise InputError(
                    f"{self.body.name}: no {kind} at {speed:g} m/s was found ({last.status}); what is violated most: "
                    f"{', '.join(last.worst) or 'nothing'}; expected a speed at which she can {kind}, such as {COMMON[kind]:g}"
                )
            row, manner = Row.found(found.part, found.x), found.part.style
            self._found[key] = row._replace(phases=tuple(phase._replace(manner=manner) for phase in row.phases))
        row = self._found[key]
        return row if leads == "left" else row.mirrored(self.body)


class Doing(NamedTuple):
    """What a character has done so far: her gaits, her row (None: nothing), and which foot lands next."""

    gaits: Gaits
    row: Row | None = None
    leads: str = "left"
    landings: tuple[int, ...] = ()
    """The phase with which each step begins, and each landing of a jump."""
    seams: tuple[int, ...] = ()
    """The phases with which actions begin, but the first."""
    laws: tuple[Law, ...] = ()
    """What must hold along it: effort alone would turn no farther than to where it ends, and jump with straight knees."""
    end: tuple[np.ndarray, np.ndarray] | None = None
    """The state she would end in, were this all: coordinates and rates."""
    there: bool = False
    """Whether where she ends is given, too, or only how."""

    @property
    def body(self) -> Body:
        """Who."""
        return self.gaits.body

    @property
    def count(self) -> int:
        """How many phases."""
        return len(self.row.phases) if self.row else 0

    def factor(self, row: Row) -> float:
        """Return how many times as fast what comes next would begin as she is, within bounds."""
        if self.row is None:
            return 1.0
        now, then = (float(np.linalg.norm(v[:2])) for v in (self.row.knots.v[-1], row.knots.v[0]))
        return float(np.clip(then / max(now, 0.1), 1.0 / RAMP, RAMP))

    def then(self, row: Row, end: Row | None = None, steps: bool = True) -> Doing:
        """Return it with more; a step of which the other foot lands next. ``end``: what it would end as, if not as it does."""
        joined = self.row.then(row) if self.row else row
        last = (end or row).knots
        there = moved(last, place_of(last.q[-1]), place_of(joined.knots.q[-1]))
        done = self._replace(row=joined, end=(there.q[-1], there.v[-1]), there=False)
        return done._replace(leads=OTHER[self.leads], landings=(*self.landings, self.count)) if steps else done


class Action(Protocol):
    """What a character does next."""

    def after(self, done: Doing) -> Doing:
        """Return what she has done with it."""
        ...


class Walk(NamedTuple):
    """Steps of a walk."""

    speed: float = 1.3
    steps: int = 2
    turn: float = 0.0
    """By how much she turns on the way [rad]."""
    kind: str = "walk"

    def after(self, done: Doing) -> Doing:
        """Append half cycles, each bent by its share."""
        for _ in range(self.steps):
            half = done.gaits.half(self.kind, self.speed, done.leads)
            if done.row is None:
                half = half._replace(knots=moved(half.knots, np.zeros(3), placed(done.body)))
            done = done.then(half.ramped(done.factor(half)).bent(self.turn / self.steps), half)
        if self.turn and done.row:
            (ahead, aside, *_), yaw = done.row.knots.v[-1], float(done.row.knots.q[-1, 3])
            heads = Heads(done.body.name, When(done.count), yaw, float(np.arctan2(aside, ahead)))
            done = done._replace(laws=(*done.laws, heads))
        return done


class Run(NamedTuple):
    """Steps of a run."""

    speed: float = 3.0
    steps: int = 2
    turn: float = 0.0

    def after(self, done: Doing) -> Doing:
        """Append half cycles."""
        return Walk(self.speed, self.steps, self.turn, "run").after(done)


class Pivot(NamedTuple):
    """A sharp turn nearly on the spot, in as few steps as it takes."""

    angle: float = pi / 2
    speed: float = 0.5

    def after(self, done: Doing) -> Doing:
        """Append short steps that turn."""
        return Walk(self.speed, max(1, ceil(abs(self.angle) / SHARPEST - 1e-9)), self.angle).after(done)


class Stand(NamedTuple):
    """She stands: at first, or, after steps, with a last step in which the other foot comes beside."""

    seconds: float = 0.5

    def after(self, done: Doing) -> Doing:
        """Append a phase at rest; a row that walked ends with a step up to it."""
        body = done.body
        q = stance(body)
        rest = Phase(max(3, ceil(self.seconds / 0.05)), self.seconds, FLAT, FLAT)
        if done.row is None:
            return done.then(still(body, q, (rest,)), steps=False)
        if done.row.phases[-1][2:4] == (FLAT, FLAT):
            return done.then(still(body, done.row.knots.q[-1], (rest,)), steps=False)
        half = done.gaits.half("walk", COMMON["walk"], done.leads)
        swung = Row(half.phases[:-1], half.knots.between(half.phases, 0, len(half.phases) - 1))
        return done.then(swung.ramped(done.factor(swung))).then(still(body, q, (rest,)), steps=False)


class Jump(NamedTuple):
    """She crouches, jumps with both feet and lands on both, so far ahead and so much higher [m]; she begins and ends standing."""

    ahead: float = 0.6
    up: float = 0.0

    def after(self, done: Doing) -> Doing:
        """Append crouch, push, flight, and landing."""
        q0 = stance(done.body) if done.row is None else done.row.knots.q[-1]
        begin = done.count
        landing = begin + 1 + [phase.left for phase in JUMP].index(SWING)
        done = done.then(crude_jump(done.body, q0, self.ahead, self.up), steps=False)
        crouch = Between(done.body.name, When(begin + 1), (2,), -INF, (1.0 - CROUCH) * float(q0[2]))
        return done._replace(landings=(*done.landings, landing), laws=(*done.laws, crouch), there=True)


def placed(body: Body) -> np.ndarray:
    """Return where its scene has a body, and which way it faces: x, y, yaw."""
    return place_of(body.coordinates(body.scene.qpos))


def stance(body: Body) -> np.ndarray:
    """Return coordinates of who stands at ease, soles on the ground: knees hardly bent, unlike those of who is ready for a push."""
    q = body.coordinates(body.scene.qpos)
    low = _lowest(body, q)
    for k, (joint, _) in enumerate(body.does):
        if joint.endswith(("hip_flexion", "knee_flexion", "ankle_flexion")):
            q[ROOT + k] *= AT_EASE
    q[2] += low - _lowest(body, q)
    if body.shoes:  # heels and toes of both sink by what they carry
        q[2] -= body.mass * body.gravity / (4 * body.shoes)
    return q


def _lowest(body: Body, q: np.ndarray) -> float:
    """Return how high the middle of the left sole is [m]."""
    point = body.point("left_sole")
    R, place = body.frames(ca.DM(q))[point.link]
    return float((place + R @ ca.DM(point.place))[2])


def still(body: Body, q: np.ndarray, phases: tuple[Phase, ...]) -> Row:
    """Return a row in which nothing moves."""
    time = np.array([0.0, sum(phase.seconds for phase in phases)])
    return row_of(body, phases, Course(time, np.stack([q, q]), np.zeros((2, body.n))), style(body))


JUMP = (
    Phase(8, 0.30, FLAT, FLAT),
    Phase(6, 0.20, FLAT, FLAT),
    Phase(4, 0.10, TOE, TOE),
    Phase(10, 0.35, SWING, SWING),
    Phase(4, 0.08, TOE, TOE),
    Phase(8, 0.30, FLAT, FLAT),
    Phase(6, 0.30, FLAT, FLAT),
)
"""Down, up, on the toes, in the air, on the toes, flat, up."""


def crude_jump(body: Body, q0: np.ndarray, ahead: float, up: float) -> Row:
    """Return a jump that nobody can make: a crouch, a parabola, a crouch."""
    ends = np.cumsum([0.0, *(phase.seconds for phase in JUMP)])
    time = np.linspace(0.0, ends[-1], 81)
    air = np.clip((time - ends[3]) / (ends[4] - ends[3]), 0, 1)
    q = np.tile(q0, (len(time), 1))
    crouch = np.interp(time, [0, ends[1], ends[3], ends[4], ends[6] - 0.1, ends[7]], [0, 1, 0.1, 0.5, 1, 0])
    c, s = np.cos(q0[3]), np.sin(q0[3])
    q[:, 0] += ahead * c * air
    q[:, 1] += ahead * s * air
    leg = 0.45 * float(q0[2])
    bend = 1.1 * crouch
    q[:, 2] += up * air + 0.15 * np.sin(np.pi * air) - 2 * leg * (1 - np.cos(bend / 2))
    for side in ("left", "right"):
        swing = -0.8 * crouch + 1.0 * np.sin(np.pi * air)
        for joint, more in (("knee", bend), ("hip", bend / 2), ("shoulder", swing)):
            if (found := body.doing(f"{side}_{joint}_flexion")) is not None:
                q[:, found[0]] += found[1] * more
    course, manner = Course(time, q, np.gradient(q, time, axis=0)), style(body, "jump")
    return row_of(body, [phase._replace(manner=manner) for phase in JUMP], course, manner)
