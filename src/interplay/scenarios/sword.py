"""Sword: a swordsman cuts and thrusts at a bare-handed dodger, whom balance and collision avoidance alone move aside."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import mujoco
import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base
from interplay.maths.steps import FASTEST

_SIDES = ("left", "right")
_BLADE = [f"sword/blade_{k}" for k in range(3)]
_LIMBS = [f"{side}_{part}" for part in ("upper_arm", "forearm", "hand", "thigh") for side in _SIDES]
SECURITY = dict.fromkeys(("chest", "abdomen", "pelvis"), 0.05) | dict.fromkeys(("head", *_LIMBS), 0.03)
"""How far [m] the blade is kept from each part of the dodger."""

_DISTANCE = 1.25
"""How far the dodger stands before the swordsman [m], who stands at the origin and faces +x."""

_SLANT = 0.08
"""How far the hands' grips are aslant to the hilt [rad]."""


class Held(NamedTuple):
    """How the sword is held: hilt (x, y, z) [m], and where the blade points: yaw to the left and pitch up [rad]."""

    hilt: tuple[float, float, float]
    yaw: float
    pitch: float


_GUARD = Held((0.32, -0.02, 1.02), 0.0, 0.9)


class Swipe(NamedTuple):
    """An attack: how the sword is held before and after it, and its pace: the part of the tip's speed it takes."""

    ready: Held
    through: Held
    pace: float = 1.0


def _cut(side: int, reach: float, height: float, pitch: float, pace: float = 1.0) -> Swipe:
    """Return a cut from the swordsman's left (1) or right (−1), by the hilt's reach and height [m] and the blade's pitch."""
    ready, through = (Held((reach, 0.06 * s - 0.02, height), 0.85 * s, pitch) for s in (side, -side))
    return Swipe(ready, through, pace)


def _thrust(aside: float) -> Swipe:
    """Return a thrust at the chest, aside of its middle by some metres."""
    return Swipe(Held((0.10, aside, 0.95), 0.0, 0.3), Held((0.38, aside, 0.99), 0.0, 0.3), 0.5)


SWIPES = {
    "high from the left": _cut(1, 0.46, 1.08, 0.54),
    "low from the right": _cut(-1, 0.275, 0.84, -0.04, 0.85),
    "thrust at the left": _thrust(0.05),
    "low from the left": _cut(1, 0.275, 0.84, -0.04, 0.85),
    "high from the right": _cut(-1, 0.46, 1.08, 0.54),
    "thrust at the right": _thrust(-0.05),
}
"""The attacks in their order."""


class Sword(base.Scenario):
    """The dodger is told to stand, to keep her balance and to keep away from the blade; nothing scripts her dodging."""

    name: ClassVar[str] = "sword"
    summary: ClassVar[str] = (
        "a character dodges a swordsman's cuts and thrusts by avoidance; then the user moves the sword"
    )
    longest_dt: ClassVar[float] = 0.05
    dt: ClassVar[float] = 0.010
    timeout: ClassVar[float] = 120.0
    table_phase: ClassVar[str | None] = "follow"
    table_pairs: ClassVar[int | None] = 33
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0.62, 0, 0.95), distance=3.4, azimuth=60, elevation=-12)

    class Parameters(base.Parameters):
        """How fast the sword is, and what the dodger does about it."""

        speed: float = Field(2.0, ge=0.5, le=3, description="highest speed of the sword's tip in a cut [m/s]")
        avoid: bool = Field(True, description="whether she avoids the blade")
        delay: float = Field(0.0, ge=0, le=0.5, description="how late she perceives the others [s]")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place the swordsman in his guard, right foot forward, and the dodger before him with bent knees."""
        if self.character is not None:
            raise ip.InputError("sword: its own two characters play it, expected no other")
        bent = _both(hip_flexion=0.45, knee_flexion=0.75, ankle_flexion=0.3)
        armed = bent | _both(elbow_flexion=1.4, shoulder_flexion=0.5, shoulder_abduction=0.5, shoulder_rotation=-0.8)
        ready = bent | _both(elbow_flexion=1.6, shoulder_abduction=0.5) | {"torso_flexion": 0.3}
        scene = ip.Scene().add(ip.Humanoid(1.78, 76, "male"), "bob", posture=armed)
        scene.add(ip.Humanoid(1.68, 60, "female"), "alice", pos=(_DISTANCE, 0.0), yaw=math.pi, posture=ready)
        scene.add(ip.Sword(), "sword")
        feet = {"bob/right": (0.20, -0.13), "bob/left": (-0.22, 0.13)}
        feet |= {"alice/right": (_DISTANCE, 0.21), "alice/left": (_DISTANCE, -0.21)}
        first, *more = ((f"{foot}_sole", [*place, 0.0, 0, 0, 1]) for foot, place in feet.items())
        scene.reach(*first, *more, balance=False)
        guard = _pose(_GUARD)
        scene.move("sword", guard[:3].tolist(), guard[3:].tolist())
        # Hands hold a hilt aslant: the thumbs' side leans back from the blade.
        thumbs = _ahead(_pose(_GUARD._replace(pitch=_GUARD.pitch + _SLANT)), 1.0) - guard[:3]
        grips = scene.kinematics().site_xpos[[scene.site(f"sword/{grip}_grip") for grip in ("upper", "lower")]]
        right, left = ([*place, *thumbs] for place in grips)
        return scene.reach("bob/right_grip", right, ("bob/left_grip", left))

    def start(self, sim: ip.Simulation) -> None:
        """Soles on the ground, hands on the hilt; one attack after another, then the user's."""
        centre = {}
        for name in ("bob", "alice"):
            soles = [f"{name}/{side}_sole" for side in _SIDES]
            for sole in soles:
                sim.contacts.add(sole, ip.GROUND, friction=1.0)
            centre[name] = sim.middle(*soles)[:2]
        for hand, grip in (("right", "upper"), ("left", "lower")):
            sim.contacts.add(f"bob/{hand}_grip", f"sword/{grip}_grip", force_cost=1e-5)
        # Hers weigh less than his and far less than the sword's: she gives way, not the sword.
        sim.objectives += [
            ip.Posture("bob", weight=0.03, weights={"torso_yaw": 0.1, "torso_flexion": 4.0}),
            ip.AngularMomentum("bob", weight=5e-4),
            ip.Com("bob", "sword", reference=centre["bob"], axes="xy", weight=100.0),
            ip.Com("bob", axes="z", weight=1.5),
            ip.Orientation("bob/pelvis", weight=0.3),
            ip.Gaze("bob/head", "alice/head", weight=0.2),
            ip.Posture("alice", weight=0.01),
            ip.AngularMomentum("alice", weight=2e-4),
            ip.Com("alice", reference=centre["alice"], axes="xy", weight=10.0),
            ip.Orientation("alice/pelvis", weight=0.01),
        ]
        sim.perceive("alice", self.p.delay)
        self._keep_apart(sim)
        self._attack(sim)

    def _keep_apart(self, sim: ip.Simulation) -> None:
        """Keep the blade off the dodger, the swordsman himself and the ground, and his arms off hers."""
        arms = [f"{side}_{part}" for part in ("hand", "forearm") for side in _SIDES]
        legs = [f"{side}_{part}" for part in ("thigh", "shank") for side in _SIDES]
        for blade in _BLADE:
            for part, security in SECURITY.items() if self.p.avoid else ():
                sim.collisions.add(blade, f"alice/{part}", influence=security + 0.3, security=security)
            for part in ("head", "chest", "abdomen", "pelvis", *legs):
                sim.collisions.add(blade, f"bob/{part}", influence=0.08, security=0.03)
        for part in ("chest", "abdomen", "pelvis", "left_thigh", "right_thigh"):
            sim.collisions.add("sword/hilt", f"bob/{part}", influence=0.05, security=0.005)
        sim.collisions.add("sword/blade_2", ip.GROUND, influence=0.1, security=0.03)
        for his in arms:
            for hers in ("head", *arms):
                sim.collisions.add(f"bob/{his}", f"alice/{hers}", influence=0.08, security=0.02)

    def _attack(self, sim: ip.Simulation) -> None:
        """Make the phases: ready and swipe for each attack, back to the guard, and the live sword."""
        tip = float(sim.scene.model.site_pos[sim.scene.site("sword/tip")][0])
        home = _pose(_GUARD)
        control = sim.live.add_control(
            ip.Control(
                "sword",
                "pose",
                home,
                home[:3] - [0.1, 0.15, 0.12],
                home[:3] + [0.1, 0.15, 0.12],
                max_speed=0.5,
                max_turn=1.0,
                max_angle=0.9,
                help="pose of the sword",
            )
        )

        def held(path: ip.Reference, weight: float = 30.0) -> list[ip.Objective]:
            """Move hilt and tip; how the sword turns about its own axis is left to the hands."""
            return [
                ip.Point(frame, _carried(path, ahead), weight=weight, stiffness=100.0, max_speed=np.inf)
                for frame, ahead in (("sword", 0.0), ("sword/tip", tip))
            ]

        def move(name: str, start: Held, goal: Held, speed: float) -> ip.Phase:
            """Take the sword from one hold to another; the tip's highest speed is about the given one."""
            first, last = _pose(start), _pose(goal)
            way = ip.Pose.between(last, first)
            seconds = FASTEST * float(np.linalg.norm(way[:3]) + tip * np.linalg.norm(way[3:])) / speed
            return ip.Phase(name, lambda sim: held(ip.PosePath(first, last, sim.time, seconds)), seconds=seconds)

        phases, at, speed = [], _GUARD, self.p.speed
        for name, (ready, through, pace) in SWIPES.items():
            phases += [move(f"ready, {name}", at, ready, 0.6 * speed), move(name, ready, through, pace * speed)]
            at = through
        back = at._replace(hilt=(0.10, *at.hilt[1:]))
        phases += [
            move("draw back", at, back, 0.3 * speed),
            move("guard", back, _GUARD, 0.6 * speed),
            # The user may drive the blade where no dodging helps: then it stops before her rather than push her over.
            ip.Phase("follow", held(control, 6.0), interactive=True, timeout=None),
        ]
        sim.behaviour = ip.Machine(phases)


def _both(**angles: float) -> dict[str, float]:
    """Return the angles [rad] of some joints for both sides of a body."""
    return {f"{side}_{joint}": angle for joint, angle in angles.items() for side in _SIDES}


def _pose(held: Held) -> np.ndarray:
    """Return the pose (7,) of a sword held so: yawed, then pitched."""
    y, p = 0.5 * held.yaw, -0.5 * held.pitch
    cos, sin = math.cos, math.sin
    return ip.pose_value(held.hilt, (cos(y) * cos(p), -sin(y) * sin(p), cos(y) * sin(p), sin(y) * cos(p)))


def _ahead(pose: np.ndarray, way: float) -> np.ndarray:
    """Return the point (3,) some way [m] ahead along the x axis of a pose."""
    arm = np.empty(3)
    mujoco.mju_rotVecQuat(arm, np.array([way, 0.0, 0.0]), pose[3:])
    return pose[:3] + arm


def _carried(path: ip.Reference, way: float) -> Callable[[float], np.ndarray]:
    """Return the point some way [m] ahead along a moving pose, as a function of time."""
    return lambda time: _ahead(path.at(time).value, way)
