"""Sword: a swordsman cuts and thrusts at a bare-handed dodger, whom balance and collision avoidance alone move aside."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import mujoco
import numpy as np
from pydantic import Field

import interplay as ip
from interplay.scenarios import base

_SIDES = ("left", "right")
_BLADE = [f"sword/blade_{k}" for k in range(3)]
_LIMBS = [f"{side}_{part}" for part in ("upper_arm", "forearm", "hand", "thigh") for side in _SIDES]
SECURITY = {"chest": 0.10, "pelvis": 0.10, "head": 0.05} | dict.fromkeys(_LIMBS, 0.05)
"""How far [m] the blade is kept from the hull of each part of the dodger; that of the trunk keeps it off her waist too,
which has no hull of its own."""


_SLANT = 0.3
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


def _cut(side: int, reach: float, height: float, pitch: float) -> Swipe:
    """Return a cut from the swordsman's left (1) or right (−1), by the hilt's reach and height [m] and the blade's pitch."""
    return Swipe(*(Held((reach, 0.06 * s - 0.02, height), 0.85 * s, pitch) for s in (side, -side)))


def _thrust(aside: float) -> Swipe:
    """Return a thrust at the chest, aside of its middle by some metres."""
    return Swipe(Held((0.10, aside, 0.95), 0.0, 0.3), Held((0.38, aside, 0.99), 0.0, 0.3), 0.5)


SWIPES = {
    "high from the left": _cut(1, 0.46, 1.08, 0.54),
    "low from the right": _cut(-1, 0.26, 0.84, -0.04),
    "thrust at the left": _thrust(0.05),
    "low from the left": _cut(1, 0.26, 0.84, -0.04),
    "high from the right": _cut(-1, 0.46, 1.08, 0.54),
    "thrust at the right": _thrust(-0.05),
}
"""The attacks in their order."""


class Sword(base.Scenario):
    """The dodger is told to stand, to keep her balance and to keep away from the blade; nothing scripts her dodging."""

    name: ClassVar[str] = "sword"
    summary: ClassVar[str] = "a character dodges a swordsman's cuts and thrusts by avoidance; then the user moves the sword"
    dt: ClassVar[float] = 0.010
    table_phase: ClassVar[str | None] = "follow"
    table_pairs: ClassVar[int | None] = 33
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0.62, 0, 0.95), distance=3.4, azimuth=60, elevation=-12)

    class Parameters(base.Parameters):
        """Distance, and what the dodger does about it."""

        distance: float = Field(1.25, ge=1.0, le=2.0, description="how far the dodger stands before the swordsman [m]")
        speed: float = Field(2.0, ge=0.2, le=3, description="highest speed of the sword's tip in a cut [m/s]")
        avoid: bool = Field(True, description="whether she avoids the blade")
        delay: float = Field(0.0, ge=0, le=0.5, description="how late she perceives the others [s]")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place the swordsman in his guard, and the dodger before him with bent knees."""
        legs = {"hip_flexion": 0.45, "knee_flexion": 0.75, "ankle_flexion": 0.3}
        bent = {f"{side}_{joint}": angle for joint, angle in legs.items() for side in _SIDES}
        arms = {"elbow_flexion": 1.1, "shoulder_flexion": 0.45}
        armed = bent | {f"{side}_{joint}": angle for joint, angle in arms.items() for side in _SIDES}
        ready = bent | {"left_shoulder_abduction": 0.5, "right_shoulder_abduction": 0.5, "torso_flexion": 0.15}
        ready |= {"left_elbow_flexion": 1.6, "right_elbow_flexion": 1.6}
        scene = ip.Scene().add(ip.Humanoid(1.78, 76, "male"), "bob", posture=armed)
        scene.add(ip.Humanoid(1.68, 60, "female"), "alice", pos=(self.p.distance, 0.0), yaw=math.pi, posture=ready)
        scene.add(ip.Sword(), "sword")
        up = (0, 0, 1)
        scene.reach("bob/right_sole", [0.20, -0.13, 0, *up], ("bob/left_sole", [-0.22, 0.13, 0, *up]), balance=False)
        x = self.p.distance
        scene.reach(
            "alice/right_sole", [x, 0.21, 0, *up], ("alice/left_sole", [x, -0.21, 0, *up]), balance=False
        )
        guard = _pose(_GUARD)
        scene.move("sword", guard[:3], guard[3:])
        terms = scene.kinematics()
        # A hand holds a hilt aslant: the thumbs' side leans back from the blade.
        thumbs = _direction(_GUARD._replace(pitch=_GUARD.pitch + _SLANT))
        upper, lower = ([*terms.site_xpos[scene.site(f"sword/{g}_grip")], *thumbs] for g in ("upper", "lower"))
        return scene.reach("bob/right_grip", upper, ("bob/left_grip", lower))

    def start(self, sim: ip.Simulation) -> None:
        """Soles on the ground, hands on the hilt; one attack after another, then the user's."""
        for name in ("bob", "alice"):
            for side in _SIDES:
                sim.contacts.add(f"{name}/{side}_sole", ip.GROUND, friction=1.0)
        for hand, grip in (("right", "upper"), ("left", "lower")):
            sim.contacts.add(f"bob/{hand}_grip", f"sword/{grip}_grip", force_cost=1e-5)
        soles = {name: [f"{name}/{side}_sole" for side in _SIDES] for name in ("bob", "alice")}
        centre = {name: base.support_centre(sim, soles[name]) for name in soles}
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
        if self.p.avoid:
            for blade in _BLADE:
                for part, security in SECURITY.items():
                    sim.collisions.add(blade, f"alice/{part}", influence=security + 0.3, security=security)
        for part in ("head", "chest", "pelvis", *(f"{side}_{p}" for p in ("thigh", "shank") for side in _SIDES)):
            for blade in _BLADE:
                sim.collisions.add(blade, f"bob/{part}", influence=0.08, security=0.03)
        sim.collisions.add("sword/blade_2", ip.GROUND, influence=0.1, security=0.03)
        for hers in ("head", *(f"{side}_{p}" for p in ("hand", "forearm") for side in _SIDES)):
            for his in (f"{side}_{p}" for p in ("hand", "forearm") for side in _SIDES):
                sim.collisions.add(f"bob/{his}", f"alice/{hers}", influence=0.08, security=0.02)
        tip = float(sim.scene.model.site_pos[sim.scene.site("sword/tip")][0])
        home = _pose(_GUARD)
        control = sim.add_control(
            ip.Control(
                "sword",
                "pose",
                home,
                home[:3] - [0.1, 0.2, 0.15],
                home[:3] + [0.14, 0.2, 0.15],
                max_speed=0.5,
                max_turn=1.0,
                max_angle=1.1,
                help="pose of the sword",
            )
        )

        def held(path: ip.Reference) -> list[ip.Objective]:
            """Move hilt and tip; how the sword turns about its own axis is left to the hands."""
            rest = {"weight": 30.0, "stiffness": 100.0, "max_speed": np.inf}
            return [ip.Point("sword", _carried(path, 0.0), **rest), ip.Point("sword/tip", _carried(path, tip), **rest)]

        def move(name: str, start: Held, goal: Held, speed: float) -> ip.Phase:
            """Take the sword from one hold to another; the tip's highest speed is about the given one."""
            first, last = _pose(start), _pose(goal)
            way = ip.Pose.between(last, first)
            seconds = 1.875 * float(np.linalg.norm(way[:3]) + tip * np.linalg.norm(way[3:])) / speed
            return ip.Phase(name, lambda sim: held(ip.PosePath(first, last, sim.time, seconds)), seconds=seconds)

        phases, at, speed = [], _GUARD, self.p.speed
        for name, (ready, through, pace) in SWIPES.items():
            phases += [move(f"ready, {name}", at, ready, 0.6 * speed), move(name, ready, through, pace * speed)]
            at = through
        phases += [
            move("draw back", at, ready, 0.3 * speed),
            move("guard", ready, _GUARD, 0.6 * speed),
            ip.Phase("follow", held(control), interactive=True, timeout=None),
        ]
        sim.machine = ip.Machine(phases)


def _pose(held: Held) -> np.ndarray:
    """Return the pose (7,) of a sword held so."""
    c, s = (np.cos, np.sin)
    y, p = held.yaw / 2, -held.pitch / 2
    return ip.pose_value(held.hilt, (c(y) * c(p), -s(y) * s(p), c(y) * s(p), s(y) * c(p)))


def _direction(held: Held) -> np.ndarray:
    """Return the unit vector along the blade."""
    flat = math.cos(held.pitch)
    return np.array([flat * math.cos(held.yaw), flat * math.sin(held.yaw), math.sin(held.pitch)])


def _carried(path: ip.Reference, ahead: float) -> Callable[[float], np.ndarray]:
    """Return the point (3,) some way [m] ahead along the x axis of a moving pose, as a function of time."""

    def point(time: float) -> np.ndarray:
        value, arm = path.at(time).value, np.empty(3)
        mujoco.mju_rotVecQuat(arm, np.array([ahead, 0.0, 0.0]), value[3:])
        return value[:3] + arm

    return point
