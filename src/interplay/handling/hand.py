"""One hand of a character that does what one hand of an operator shows: where it should be, and what it presses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.handling.intention import HOLDING, MANIPULATING, RELEASING, Intention, Seen
from interplay.handling.thing import Face, Thing
from interplay.maths.rotations import quaternion_of, rotation, turn_from, turned
from interplay.objectives.handling import Handling
from interplay.objectives.pose import pose_value
from interplay.objectives.reference import Sample

if TYPE_CHECKING:
    from interplay.motion.controls import Control
    from interplay.simulation import Simulation

FASTEST, TURNS = 1.5, 3.0
"""How fast a hand's aim moves and turns at most [m/s, rad/s]: input may jump."""
LEANS, STRETCHED = 0.25, 0.97
"""How far a shoulder follows a hand [m], and how much of an arm's length is used."""
PRESSED, RAISED = 0.4, 0.25
"""Seconds in which a hand comes to press as it should, or lets go; and in which it takes up what a thing weighs."""
LEANING = 20.0
"""How fast a hand that pushes presses more by itself [N/s]."""
EASES, DEEP = 40.0, 0.005
"""How fast a hand that pushes eases off at most [N/s], and by its aim: she must come back over her feet; an aim no deeper in a
thing than this [m] presses no more."""
TURNED = 0.25
"""From how near a palm turns towards what it is about to touch [m]."""
GONE = 2.0
"""A hand that lets go leaves when it presses no more than this [N]."""
SAFE = 1.6
"""How many times more than friction asks for a hand presses what it carries."""
SOFT, FIRM = (2.0, 0.1), (10.0, 0.5)
"""Gains of a hand's turn [N·m/rad, N·m·s/rad]: liu2012's, and those with which it carries, or a box would err by 12°."""
FELT = 1.0
"""A hand touches when it is pressed so much [N]."""


class Aim:
    """A reference that moves: the pose (7,) that a palm should have now, and its velocity (6,)."""

    full = True

    def __init__(self, pose: np.ndarray):
        """Begin at a pose, at rest."""
        self.pose, self.velocity, self._still = pose, np.zeros(6), np.zeros(6)

    def at(self, time: float) -> Sample:
        """Return what it is now."""
        return Sample(self.pose, self.velocity, self._still)


class Offset:
    """A wrench that changes: what a palm presses and turns with besides now (6,) [N, N·m]."""

    full = True

    def __init__(self) -> None:
        """Begin with none."""
        self.wrench, self._still = np.zeros(6), np.zeros(6)

    def at(self, time: float) -> Sample:
        """Return what it is now."""
        return Sample(self.wrench, self._still, self._still)


class Hand:
    """What one hand does; its character's body and the thing it means are told."""

    def __init__(self, sim: Simulation, model: str, side: str, control: Control):
        """Take the hand where it is."""
        scene = sim.scene
        self.side, self.palm, self.control = side, f"{model}/{side}_palm", control
        self.site = scene.site(self.palm)
        self.body = int(scene.model.site_bodyid[self.site])
        reach, body = 0.0, self.body
        chain = sim.terms.chain(self.body)
        first = next(int(d) for d in chain if f"{side}_shoulder" in scene.model.joint(scene.model.dof_jntid[d]).name)
        shoulder = int(scene.model.dof_bodyid[first])
        while body != shoulder:
            reach += float(np.linalg.norm(scene.model.body_pos[body]))
            body = int(scene.model.body_parentid[body])
        self._shoulder, self._reach = shoulder, reach
        self.intention = Intention()
        self.aim, self.offset = Aim(self.pose(sim)), Offset()
        self.objective = Handling(self.palm, self.aim, offset=self.offset)
        self.objective.attach(scene)
        self.least = 0.0
        """How hard it must go on pressing while it lets go, or she falls [N]."""
        self.pressed = self.carried = 0.0
        """How hard the palm should press [N], and what of the thing's weight it should bear [N]."""
        self.felt = np.zeros(3)
        """The force ON it, filtered [N]."""
        self._latched: np.ndarray | None = None
        """How the palm is turned against the operator's since it holds."""
        self._far: float | None = None

    def pose(self, sim: Simulation) -> np.ndarray:
        """Return where the palm is (7,)."""
        terms = sim.terms
        return pose_value(terms.site_xpos[self.site], quaternion_of(terms.site_xmat[self.site].reshape(3, 3)))

    def marker(self, sim: Simulation) -> np.ndarray:
        """Return where the operator's hand is (7,), as far as a hand here reaches."""
        wanted = self.control.at(sim.time).value.copy()
        shoulder, most = sim.terms.xpos[self._shoulder], STRETCHED * self._reach + LEANS
        away = wanted[:3] - shoulder
        far = float(np.linalg.norm(away))
        if far > most:
            wanted[:3] = shoulder + away * most / far
        return wanted

    def off(self, sim: Simulation, thing: Thing) -> float:
        """Return how far the operator's hand is off a thing [m], negative inside."""
        return thing.face(sim.terms, self.marker(sim)[:3], sim.terms.site_xpos[self.site]).distance

    def look(self, sim: Simulation, thing: Thing | None, asked: float) -> Face | None:
        """See what the hand means with a thing, of which so much is asked [N] until it is firm."""
        self._feel(sim, thing)
        if thing is None:
            self.intention.update(Seen(np.inf, 0.0, False, 0.0), sim.time)
            return None
        marker = self.marker(sim)
        face = thing.face(sim.terms, marker[:3], sim.terms.site_xpos[self.site])
        approach = 0.0 if self._far is None else (self._far - face.distance) / sim.dt
        self._far = face.distance
        touches = float(np.linalg.norm(self.felt)) > FELT
        pressing = float(self.objective.effort(sim.terms, sim.time).wrench[:3] @ -face.normal)
        self.intention.update(Seen(face.distance, approach, touches, pressing / max(asked, 1e-9)), sim.time)
        return face

    def lead(self, sim: Simulation, face: Face | None, press: float, weight: float, middle: np.ndarray | None) -> None:
        """Move the aim and the offset: so hard should it press [N] when it holds, and so much of a weight bear [N].

        ``middle``: the centre of mass of what is between the hands (3,); None: nothing is, they push.
        """
        marker, dt, means = self.marker(sim), sim.dt, self.intention.means
        between = middle is not None
        holds = means in HOLDING
        # What presses from both sides costs no balance, what pushes does: it grows no faster than she can lean.
        quickly = max(press, self.pressed, LEANING) / PRESSED
        grows, falls = dt * (press / PRESSED if between else LEANING), dt * (quickly if between else EASES)
        self.pressed += float(np.clip((press if holds else 0.0) - self.pressed, -falls, grows))
        if means == RELEASING:
            self.pressed = max(self.pressed, self.least)
        borne, most = weight if means == MANIPULATING else 0.0, dt * max(weight, 100.0) / RAISED
        self.carried += float(np.clip(borne - self.carried, -most, most))
        goal = marker
        if face is not None:
            if holds or means == RELEASING:
                if self._latched is None:
                    turn = rotation(marker[3:]).T @ sim.terms.site_xmat[self.site].reshape(3, 3)
                    self._latched = quaternion_of(turn)
                goal[3:] = quaternion_of(rotation(marker[3:]) @ rotation(self._latched))
                off = float((goal[:3] - face.place) @ face.normal)
                now = float((self.aim.pose[:3] - face.place) @ face.normal)
                if holds or self.pressed > GONE or now < -DEEP:  # it presses less and less before it lets go
                    slowly = np.inf if between else now + EASES / self.objective.gains[0][0] * dt
                    goal[:3] -= max(off - min(0.0, slowly), 0.0) * face.normal
            else:
                self._latched = None
                near = float(np.clip(1.0 - face.distance / TURNED, 0.0, 1.0))
                flat = _palm_on(face.normal, rotation(marker[3:])[:, 0])
                turn = near * turn_from(marker[3:], flat)
                goal[3:] = turned(turn, marker[3:])
        else:
            self._latched = None
        self.objective.gains[1] = FIRM if holds else SOFT
        self._move(goal, dt)
        self.offset.wrench = np.zeros(6)
        if face is not None:
            lifted = np.array([0.0, 0.0, self.carried])
            self.offset.wrench[:3] = lifted - self.pressed * face.normal
            if middle is not None:  # held beside its middle it would tip
                self.offset.wrench[3:] = np.cross(middle - sim.terms.site_xpos[self.site], lifted)

    def _move(self, goal: np.ndarray, dt: float) -> None:
        """Move the aim towards a pose, no faster than a hand."""
        way, before = goal[:3] - self.aim.pose[:3], self.aim.pose.copy()
        far = float(np.linalg.norm(way))
        place = before[:3] + way * min(1.0, FASTEST * dt / far if far > 0.0 else 1.0)
        turn = turn_from(before[3:], rotation(goal[3:]))
        angle = float(np.linalg.norm(turn))
        turn = turn * min(1.0, TURNS * dt / angle if angle > 0.0 else 1.0)
        self.aim.pose = np.concatenate([place, turned(turn, before[3:])])
        self.aim.velocity = np.concatenate([(place - before[:3]) / dt, turn / dt])

    def _feel(self, sim: Simulation, thing: Thing | None) -> None:
        """Filter the force that the thing presses the hand with, over a twentieth of a second."""
        force = np.zeros(3)
        if thing is not None:
            for (first, second), pressed in zip(sim.touches.bodies.tolist(), sim.touches.force, strict=True):
                if first == self.body and second in thing.bodies:
                    force += pressed
                elif second == self.body and first in thing.bodies:
                    force -= pressed
        self.felt += min(1.0, sim.dt / 0.05) * (force - self.felt)

    def checkpoint(self) -> Any:
        """Return what restores it."""
        return {
            "intention": self.intention.checkpoint(),
            "aim": [self.aim.pose.tolist(), self.aim.velocity.tolist()],
            "offset": self.offset.wrench.tolist(),
            "numbers": [self.pressed, self.carried, self._far],
            "felt": self.felt.tolist(),
            "latched": None if self._latched is None else self._latched.tolist(),
        }

    def restore(self, data: Any) -> None:
        """Go on."""
        self.intention.restore(data["intention"])
        self.aim.pose, self.aim.velocity = map(np.array, data["aim"])
        self.offset.wrench, self.felt = np.array(data["offset"]), np.array(data["felt"])
        self.pressed, self.carried, self._far = data["numbers"]
        self._latched = None if data["latched"] is None else np.array(data["latched"])


def _palm_on(normal: np.ndarray, fingers: np.ndarray) -> np.ndarray:
    """Return the rotation of a palm that lies on a face with an outward normal, its fingers as near to a direction as they can be."""
    z = -normal
    x = fingers - (fingers @ z) * z
    if np.linalg.norm(x) < 1e-3:
        x = np.array([0.0, 0.0, 1.0]) - z[2] * z
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
