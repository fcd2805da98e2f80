"""Rollouts: one skill of one character, from one state, in the simulated world, until it has ended; and what came of it.

Everything that a rollout depends on is in its :class:`Rollout`, which travels; the simulation of a body is built once in each process,
kept, and brought back to its beginning for each rollout, so that none depends on those before it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from interplay.constraints.limits import JointLimits
from interplay.control.plan import Servo
from interplay.errors import InterplayError, pick
from interplay.objectives.base import Objective
from interplay.runs.bodies import Body
from interplay.scene.scene import Scene
from interplay.simulation import Simulation
from interplay.skills.key_poses import KeyPoses, Poses, short_of
from interplay.skills.repertoire import repertoire
from interplay.skills.repertoire.settle import Settle
from interplay.skills.sensing import Sensed
from interplay.skills.skill import MOST, NOT, RUNNING, SUCCEEDED, Bid, Skill
from interplay.skills.supervisor import Supervisor

WHO = "ann"
"""What the character is called."""
DT = 0.01
"""Control step [s], that of the scenario ``stunt``."""
LONGEST = 10.0
"""Seconds after which a skill is given up."""
KEPT, WITHIN = 0.5, 6.0
"""What is reached by the skills that follow has to last so long [s], and is waited for so long [s]; who only waits has succeeded after the
first of them."""


class Rollout(NamedTuple):
    """One rollout: of a skill by its name or by its key poses, from a configuration and velocities."""

    body: Body
    skill: str | Poses
    qpos: np.ndarray
    qvel: np.ndarray
    then: tuple[str, ...] = ()
    """Skills that may act after it; the last of them has to be reached, and to last."""


class Result(NamedTuple):
    """What came of a rollout."""

    said: str
    """``succeeded``, or why not."""
    seconds: float
    """How long the skill took [s]."""
    short: float
    """How far the skill's post-conditions are at its end: 0 where they hold, up to 1 for each that does not."""
    along: float
    """Mean of what the skill's file rewards along the way."""
    effort: float
    """Mean of the squares of torques over their limits, over all motors."""
    fast: float
    """Part of the time in which a joint was above its speed limit …"""
    fastest: float
    """… and the largest of its limit that one reached."""
    after: float | None = None
    """How long the skills after it took to reach the last of them [s]; None: they did not."""


class Tried(Skill):
    """A skill under trial: it acts at once, whatever it would bid, and only once."""

    def __init__(self, skill: Skill):
        """Take the skill."""
        super().__init__(skill.model)
        self.name, self.summary, self.skill = skill.name, skill.summary, skill  # type: ignore[misc]
        self.said = RUNNING
        """How it has ended …"""
        self.ended = 0.0
        """… and when [s]."""
        self.short = self.along = 0.0
        """As in :class:`Result`."""
        self._looks = 0

    def bid(self, sensed: Sensed) -> Bid:
        """Bid most until it has ended."""
        return Bid(MOST, "it is tried") if self.said == RUNNING else Bid(NOT, "it was tried")

    def begin(self, sim: Simulation, sensed: Sensed) -> None:
        """Begin."""
        self.skill.began = self.began
        self.skill.begin(sim, sensed)

    def update(self, sim: Simulation, sensed: Sensed) -> str:
        """Let it act; who has nothing left to do but to wait has succeeded."""
        said, waiting = self.skill.update(sim, sensed), self.skill.waiting_since
        if said == RUNNING and waiting is not None and sim.time - waiting > KEPT:
            said = SUCCEEDED
        elif said == RUNNING and sim.time - self.began > LONGEST:
            said = f"it has not ended after {LONGEST:g} s"
        if isinstance(self.skill, KeyPoses):
            poses, self._looks = self.skill.poses, self._looks + 1
            reward = sum(weight * sensed.number(name) for name, weight in poses.along.items())
            self.along += (reward - self.along) / self._looks
            self.short = short_of(poses.until, sensed)
        if said != RUNNING:
            self.said, self.ended = said, sim.time
        return said

    def end(self, sim: Simulation) -> None:
        """Let go."""
        self.skill.end(sim)
        if self.said == RUNNING:
            self.said, self.ended = "it could not go on", sim.time

    @property
    def objectives(self) -> Sequence[Objective]:
        """What it asks of the program."""
        return self.skill.objectives

    def servo(self, sim: Simulation) -> Servo | None:
        """Return its servos."""
        return self.skill.servo(sim)


class Ground:
    """The simulation of one body on the ground, which always begins anew."""

    def __init__(self, body: Body):
        """Build it."""
        self.sim = Simulation(Scene().add(body.model(), WHO), DT, world="simulated", on_fall="continue")
        m = self.sim.scene.model
        self.limits = JointLimits.of(m)
        self.root = m.body(int(m.tree_bodyadr[self.sim.scene.trees(WHO)[0]])).name
        """Her pelvis."""
        self._first = self.sim.checkpoint()

    def begin(self, skills: Sequence[Skill], qpos: np.ndarray, qvel: np.ndarray) -> Simulation:
        """Return the simulation at a state, she moved by some skills."""
        sim = self.sim
        sim.behaviour = None
        sim.restore(self._first)
        sim.set_state(qpos, qvel)
        sim.behaviour = Supervisor(WHO, skills)
        return sim


@functools.lru_cache(maxsize=2)
def ground(body: Body) -> Ground:
    """Return the simulation of a body that this process keeps."""
    return Ground(body)


def skill_of(skill: str | Poses) -> Skill:
    """Return a skill by its name, or by its key poses."""
    if isinstance(skill, Poses):
        return KeyPoses(WHO, skill)
    return pick("skill", skill, {one.name: one for one in repertoire(WHO)})


def rolled(rollout: Rollout) -> Result:
    """Make a rollout."""
    place = ground(rollout.body)
    return followed(place, place.begin([Settle(WHO)], rollout.qpos, rollout.qvel), rollout.skill, rollout.then)


def followed(place: Ground, sim: Simulation, skill: str | Poses, then: Sequence[str] = ()) -> Result:
    """Let a skill, and those that may follow, act from where a simulation is."""
    tried, after, begin = Tried(skill_of(skill)), [skill_of(name) for name in then], sim.time
    sim.behaviour = Supervisor(WHO, [tried, *after, Settle(WHO)])
    speed, torque = place.limits.speed, np.nan_to_num(place.limits.torque, nan=np.inf)
    motors = np.isfinite(torque).sum()
    effort, fast, fastest, steps, reached, since = 0.0, 0, 0.0, 0, None, None
    try:
        while tried.said == RUNNING:
            outcome = sim.step()
            share = float((np.abs(sim.state.qvel) / speed).max())
            effort += float(((outcome.tau / torque) ** 2).sum() / motors)
            fast, fastest, steps = fast + (share > 1.0), max(fastest, share), steps + 1
        while tried.said == SUCCEEDED and after and reached is None and sim.time - tried.ended < WITHIN:
            sim.step()
            at_last = sim.behaviour is not None and sim.behaviour.label == then[-1]
            since = None if not at_last else sim.time if since is None else since
            if since is not None and sim.time - since > KEPT:
                reached = since - tried.ended
    except InterplayError as error:
        tried.said, tried.ended = str(error), sim.time
    count, seconds = max(steps, 1), tried.ended - begin
    return Result(tried.said, seconds, tried.short, tried.along, effort / count, fast / count, fastest, reached)
