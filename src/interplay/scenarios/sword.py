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

_HOME = np.array([0.36, -0.03, 1.08])
"""Where the hilt is held in guard [m]; the swordsman stands at the origin and faces +x."""

_SIDES = ("left", "right")
_BLADE = [f"sword/blade_{k}" for k in range(3)]
_DODGING = ("head", "chest", "pelvis", *(f"{s}_{p}" for p in ("upper_arm", "forearm", "hand", "thigh") for s in _SIDES))


_SLANT = 0.3
"""How far the hands' grips are aslant to the hilt [rad]."""


class Held(NamedTuple):
    """How the sword is held: hilt (x, y, z) [m], and where the blade points: yaw to the left and pitch up [rad]."""

    hilt: tuple[float, float, float]
    yaw: float
    pitch: float


class Swipe(NamedTuple):
    """One attack: its name, how the sword is held before and after it, and how long it takes [s]."""

    name: str
    ready: Held
    through: Held
    seconds: float


def _across(side: float, height: float, pitch: float, reach: float = 0.32) -> tuple[Held, Held]:
    """Return both ends of a cut from the swordsman's left (side 1) or right (−1): height of the hilt [m], pitch of the blade."""
    return tuple(Held((reach, 0.06 * s - 0.02, height), 0.85 * s, pitch) for s in (side, -side))  # type: ignore[return-value]


def _thrust(height: float, aside: float, pitch: float) -> tuple[Held, Held]:
    """Return both ends of a thrust at a height [m], aside of the middle by some metres."""
    return Held((0.22, aside, height), 0.0, pitch), Held((0.42, aside, height), 0.0, pitch)


_GUARD = Held((0.32, -0.02, 1.02), 0.0, 0.9)
_SWIPES = (
    Swipe("high from the left", *_across(1, 1.08, 0.42), 1.8),
    Swipe("low from the right", *_across(-1, 0.90, 0.0), 1.8),
    Swipe("low from the left", *_across(1, 0.90, 0.0), 1.8),
    Swipe("high from the right", *_across(-1, 1.08, 0.42), 1.8),
    Swipe("thrust at the left", *_thrust(0.95, 0.05, 0.3), 1.2),
    Swipe("thrust at the right", *_thrust(0.95, -0.05, 0.3), 1.2),
)


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
        avoid: bool = Field(True, description="whether she avoids the blade")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place the swordsman in his guard, and the dodger before him with bent knees."""
        legs = {"hip_flexion": 0.45, "knee_flexion": 0.75, "ankle_flexion": 0.3}
        bent = {f"{side}_{joint}": angle for joint, angle in legs.items() for side in _SIDES}
        arms = {"elbow_flexion": 1.1, "shoulder_flexion": 0.45}
        armed = bent | {f"{side}_{joint}": angle for joint, angle in arms.items() for side in _SIDES}
        ready = bent | {"left_shoulder_abduction": 0.5, "right_shoulder_abduction": 0.5, "torso_flexion": 0.15}
        ready |= {"left_elbow_flexion": 0.9, "right_elbow_flexion": 0.9}
        scene = ip.Scene().add(ip.Humanoid(1.78, 76, "male"), "bob", posture=armed)
        scene.add(ip.Humanoid(1.68, 60, "female"), "alice", pos=(self.p.distance, 0.0), yaw=math.pi, posture=ready)
        scene.add(ip.Sword(), "sword")
        up = (0, 0, 1)
        scene.reach("bob/right_sole", [0.20, -0.13, 0, *up], ("bob/left_sole", [-0.22, 0.13, 0, *up]), balance=False)
        x = self.p.distance
        scene.reach(
            "alice/right_sole", [x, 0.18, 0, *up], ("alice/left_sole", [x, -0.18, 0, *up]), balance=False
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
            sim.contacts.add(f"bob/{hand}_grip", f"sword/{grip}_grip")
        soles = {name: [f"{name}/{side}_sole" for side in _SIDES] for name in ("bob", "alice")}
        centre = {name: base.support_centre(sim, soles[name]) for name in soles}
        sim.objectives += [
            ip.Posture("bob", weight=0.5, weights={"torso_yaw": 0.1, "torso_flexion": 4.0}),
            ip.AngularMomentum("bob", weight=0.005),
            ip.Com("bob", "sword", reference=centre["bob"], axes="xy", weight=2000.0),
            ip.Com("bob", axes="z", weight=20.0),
            ip.Orientation("bob/pelvis", weight=5.0),
            ip.Gaze("bob/head", "alice/head", weight=1.0),
            ip.Posture("alice", weight=0.02),
            ip.AngularMomentum("alice", weight=0.0005),
            ip.Com("alice", reference=centre["alice"], axes="xy", weight=6.0),
            ip.Orientation("alice/pelvis", weight=0.03),
        ]
        if self.p.avoid:
            for blade in _BLADE:
                for part in _DODGING:
                    sim.collisions.add(blade, f"alice/{part}", influence=0.25, security=0.05)
        tip = float(sim.scene.model.site_pos[sim.scene.site("sword/tip")][0])
        control = sim.add_control(
            ip.Control(
                "sword",
                "pose",
                _pose(_GUARD),
                _HOME - [0.1, 0.25, 0.15],
                _HOME + [0.1, 0.25, 0.35],
                max_speed=0.5,
                max_turn=1.0,
                help="pose of the sword",
            )
        )

        def held(path: ip.Reference) -> list[ip.Objective]:
            """Move hilt and tip; how the sword turns about its own axis is left to the hands."""
            rest = {"weight": 500.0, "stiffness": 100.0, "max_speed": np.inf}
            return [ip.Point("sword", _carried(path, 0.0), **rest), ip.Point("sword/tip", _carried(path, tip), **rest)]

        def move(start: np.ndarray, goal: np.ndarray, seconds: float) -> base.Objectives:
            return lambda sim: held(ip.PosePath(start, goal, sim.time, seconds))

        phases, last = [], _pose(_GUARD)
        for swipe in _SWIPES:
            ready, through = _pose(swipe.ready), _pose(swipe.through)
            phases += [
                ip.Phase(f"ready {swipe.name}", move(last, ready, 1.6), seconds=1.6),
                ip.Phase(swipe.name, move(ready, through, swipe.seconds), seconds=swipe.seconds),
            ]
            last = through
        phases += [
            ip.Phase("guard", move(last, _pose(_GUARD), 1.5), seconds=1.6),
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
