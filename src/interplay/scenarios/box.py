"""Box: a character takes a box between her palms (planar contacts, no grasp), tracks a 6D trajectory, puts it down; then the user moves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import mujoco
import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base

_PALMS = (("alice/left_palm", "box/left"), ("alice/right_palm", "box/right"))

_DEPTH = 0.22
"""Depth of the box [m]."""

_BY, _POINTING = {"hers": (-0.055, 0.0, 0.0), "others'": (-0.03, 0.0, 0.0)}, (1.0, 0.0, -0.2)
"""Where on the sides her palms, or those of another body, lie, from their middle [m]: near enough to her that wrists and forearms
stay behind the box; and where fingers point."""


class Box(base.Scenario):
    """Carrying between two palms."""

    name: ClassVar[str] = "box"
    summary: ClassVar[str] = (
        "a character holds a box between her palms and moves it along a random 6D trajectory; then the user moves the box"
    )
    longest_dt: ClassVar[float] = 0.1
    timeout: ClassVar[float] = 90.0
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0.15, 0, 0.95), distance=2.7, azimuth=130, elevation=-14)

    class Parameters(base.Parameters):
        """Box and trajectory."""

        mass: float = Field(4.0, ge=0.2, le=15, description="mass of the box [kg]")
        size: float = Field(0.30, ge=0.15, le=0.45, description="width of the box between the palms [m]")
        moves: int = Field(4, ge=1, le=50, description="number of random poses the box visits")
        reach: float = Field(0.12, ge=0, le=0.25, description="how far a random pose lies from the middle [m]")
        turn: float = Field(0.35, ge=0, le=0.8, description="how far a random pose is turned [rad]")
        friction: float = Field(0.8, ge=0.3, le=2, description="friction between palms and box")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her before a table with the box on it."""
        ready = {
            f"{s}_{j}": v
            for s in ("left", "right")
            for j, v in (("shoulder_flexion", 0.25), ("shoulder_abduction", 0.3), ("elbow_flexion", 0.95))
        }
        usual = ip.Humanoid(1.68, 62, "female")
        k = self.scale(usual.height)
        scene = self.add_character(ip.Scene(), "alice", usual, posture=ready)
        scene.add(ip.Platform((0.45, 0.9, 0.92 * k)), "table", pos=(0.225 + 0.375 * k, 0))
        scene.add(ip.Box((_DEPTH, self.p.size, 0.24), self.p.mass), "box", pos=(0.13 + 0.35 * k, 0, 0.92 * k))
        return scene

    def start(self, sim: ip.Simulation) -> None:
        """Feet on the ground, box on the table; reach, squeeze, lift, follow the poses, put down, let go."""
        for side in ("left", "right"):
            sim.contacts.add(f"alice/{side}_sole", ip.GROUND, friction=1.0)
        sim.contacts.add("box/bottom", "table/top")
        sim.objectives += [
            ip.Posture("alice", weight=0.3),
            ip.AngularMomentum("alice", weight=0.005),
            *(ip.Orientation(body, weight=1.0) for body in base.parts(sim, "alice", "chest")),
        ]
        if self.character is None:
            sim.objectives += [ip.Gaze("alice/head", "box", axis=(0.96, 0, -0.28), weight=1.0)]
        limbs = ("chest", "pelvis", "head", "left_thigh", "right_thigh", "left_shank", "right_shank")
        for part in base.parts(sim, "alice", *limbs):
            sim.collisions.add("box", part, influence=0.08, security=0.02)
            sim.collisions.add("table", part, influence=0.06, security=0.015)
        for part in base.parts(sim, "alice", "abdomen"):
            sim.collisions.add("box", part, influence=0.08, security=0.02)
        # Wrists bend, so that forearms stay off it.
        for part in base.parts(sim, "alice", "left_forearm", "right_forearm"):
            sim.collisions.add("box", part, influence=0.08, security=0.002)
        sim.collisions.add("box", "table", influence=0.06, security=0.002)
        terms = sim.terms
        rest = np.concatenate([terms.xpos[sim.scene.body("box")], [1, 0, 0, 0]])
        k = self.scale(1.68)
        home = ip.pose_value((0.13 + 0.30 * k, 0, 1.22 * k))
        control = sim.live.add_control(
            ip.Control(
                "box",
                "pose",
                home,
                home[:3] - [0.1, 0.25, 0.12],
                home[:3] + [0.08, 0.25, 0.25],
                max_speed=0.25,
                max_turn=0.5,
                max_angle=0.6,
                help="pose of the box",
            )
        )
        centre = sim.middle("alice/left_sole", "alice/right_sole")[:2]
        friction = {"friction": self.p.friction}
        by = _BY["hers" if self.character is None else "others'"]

        def balance(sim: ip.Simulation) -> Sequence[ip.Objective]:
            return [
                ip.Com("alice", "box", reference=centre, axes="xy", weight=100.0),
                ip.Com("alice", axes="z", weight=0.5),
                ip.Balance("alice", "box", on=("alice/left_sole", "alice/right_sole"), terms=sim.terms),
            ]

        def alone(sim: ip.Simulation) -> Sequence[ip.Objective]:
            return [ip.Com("alice", reference=centre, axes="xy", weight=100.0), ip.Com("alice", axes="z", weight=0.5)]

        def hands(offset: float, seconds: float) -> Sequence[ip.Objective]:
            """Bring both palms to the box's sides, at a distance from them [m]."""
            return [
                ip.Meet(
                    palm, side, sim.terms, sim.time, seconds, stand_off=offset, by=by, pointing=_POINTING, weight=80.0
                )
                for palm, side in _PALMS
            ]

        def squeeze(force: float) -> Sequence[ip.Objective]:
            return [ip.ContactForce(palm, (0, 0, force), weight=2e-4) for palm, _ in _PALMS]

        def carry(goal: np.ndarray, seconds: float) -> Callable[[ip.Simulation], Sequence[ip.Objective]]:
            def objectives(sim: ip.Simulation) -> Sequence[ip.Objective]:
                return [
                    ip.Pose("box", ip.PosePath(_pose(sim), goal, sim.time, seconds), weight=60.0, stiffness=60.0),
                    *squeeze(grip),
                    *balance(sim),
                ]

            return objectives

        grip = 12.0 + 9.81 * self.p.mass / self.p.friction
        resting = [("box/bottom", "table/top")]
        away, onto = 0.06, 0.0
        near = ip.conditions.all_of(*(ip.conditions.met(a, b, gap=0.006) for a, b in _PALMS))
        phases = [
            ip.Phase("approach", lambda sim: [*hands(away, 1.4), *alone(sim)], seconds=1.5),
            ip.Phase("touch", lambda sim: [*hands(onto, 0.9), *alone(sim)], seconds=0.9, until=near),
            ip.Phase(
                "squeeze",
                lambda sim: [*squeeze(grip), *alone(sim)],
                make=[(a, b, friction) for a, b in _PALMS],
                seconds=0.6,
            ),
            ip.Phase(
                "take the weight",
                lambda sim: [*squeeze(grip), *balance(sim)],
                release=resting,
                until=ip.conditions.unloaded("box/bottom", 1.0),
                seconds=0.5,
            ),
            ip.Phase("lift", carry(home, 1.6), seconds=1.7),
        ]
        for k in range(self.p.moves):
            goal = home.copy()
            goal[:3] += sim.rng.uniform(-1, 1, 3) * self.p.reach * np.array([0.5, 1.0, 0.8])
            turn = sim.rng.uniform(-1, 1, 3) * self.p.turn
            mujoco.mju_quatIntegrate(goal[3:], turn, 1.0)
            phases.append(ip.Phase(f"pose {k + 1}", carry(goal, 1.8), seconds=1.9))
        above = rest.copy()
        above[2] += 0.08
        phases += [
            ip.Phase("bring back", carry(above, 1.8), seconds=1.9),
            ip.Phase(
                "lower", carry(rest, 1.4), seconds=1.5, until=ip.conditions.met("box/bottom", "table/top", gap=0.006)
            ),
            ip.Phase("set down", lambda sim: [*squeeze(grip), *balance(sim)], make=resting, seconds=0.6),
            ip.Phase(
                "take again",
                lambda sim: [*squeeze(grip), *balance(sim)],
                release=resting,
                until=ip.conditions.unloaded("box/bottom", 1.0),
                seconds=0.5,
            ),
            ip.Phase("lift again", carry(home, 1.6), seconds=1.7),
            ip.Phase(
                "follow",
                lambda sim: [ip.Pose("box", control, weight=60.0, stiffness=60.0), *squeeze(grip), *balance(sim)],
                interactive=True,
                timeout=None,
            ),
        ]
        sim.behaviour = ip.Machine(phases)


def _pose(sim: ip.Simulation) -> np.ndarray:
    return ip.Pose.value(*ip.Frame(sim.scene, "box").pose(sim.terms))
