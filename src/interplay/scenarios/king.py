"""King: two carriers lift a litter with a third character on it, walk, put it down; then the king reaches, and they help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base

_CARRIERS = ("front", "rear")
_SIDES = ("left", "right")
_GRASPS = [(f"{c}/{s}_grip", f"litter/{c}_{s}_grip") for c in _CARRIERS for s in _SIDES]
_ALL = (*_CARRIERS, "litter", "king")
_HAND = "king/right_palm"
_TIMES = {"static": (0.9, 1.2), "preview": (0.95, 0.5)}
"""Seconds a carrier's foot is in the air, and both are on the ground."""


class King(base.Scenario):
    """Four subsystems, one program: whoever touches the litter helps whoever sits on it."""

    name: ClassVar[str] = "king"
    summary: ClassVar[str] = (
        "two carriers lift and walk a litter with a king on it and put it down; then her hand follows the user and they help"
    )
    longest_dt: ClassVar[float] = 0.05
    dt: ClassVar[float] = 1 / 30
    timeout: ClassVar[float] = 90.0
    hold_interactive: ClassVar[float] = 4.0
    table_phase: ClassVar[str | None] = "lift"
    table_pairs: ClassVar[int | None] = 6
    camera: ClassVar[base.Camera] = base.Camera(
        lookat=(0.25, 0, 0.78), distance=4.9, azimuth=125, elevation=-12, follow="litter/litter"
    )

    class Parameters(base.Parameters):
        """Cast and walk."""

        steps: int = Field(8, ge=2, le=40, description="steps of each carrier")
        stride: float = Field(0.30, ge=0.1, le=0.5, description="length of a step [m]")
        offset: float = Field(
            0.25, ge=0, le=0.5, description="how much later the rear carrier steps, as part of a cycle of two steps"
        )
        style: Literal["static", "preview"] = Field("preview", description="gait: static or preview")
        lift: float = Field(0.17, ge=0.05, le=0.25, description="how high the litter is lifted [m]")
        mass: float = Field(55.0, ge=20, le=90, description="mass of the king [kg]")
        carried: bool = Field(
            False, description="begin with the litter in their hands, and go on to the reaching at once"
        )
        fixed: bool = Field(False, description="hold the litter still while the king reaches, to compare")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place the litter on its legs, the king on it and the carriers between its poles."""
        if self.character is not None:
            raise ip.InputError("king has a cast of its own, whose hands fit the litter's poles: no --character")
        scene = ip.Scene()
        litter = ip.Litter()
        grip = 0.5 * litter.length - 0.12
        man = ip.Humanoid(1.76, 78, "male")
        for name, x in (("front", grip), ("rear", -grip)):
            scene.add(man, name, pos=(x - 0.02, 0))
        up = 0.21 if self.p.carried else 0.0  # in hanging arms
        scene.add(litter, "litter", pos=(0, 0, up))
        sitting = {f"{side}_{joint}": value for side in _SIDES for joint, value in _SITTING.items()}
        king = ip.Humanoid(1.64, self.p.mass, "female")
        scene.add(king, "king", pos=(0, 0, up + litter.legs + 0.11 - king.placement_height), posture=sitting)
        foot = [0.42, 0.10, up + litter.legs + 0.01 - litter.drop, 0, 0, 1]
        feet = [(f"king/{s}_sole", [foot[0], y * foot[1], *foot[2:]]) for s, y in (("left", 1), ("right", -1))]
        scene.reach("king/buttocks", [-0.03, 0, up + litter.legs + 0.015, 0, 0, 1], *feet, balance=False)
        for carrier in _CARRIERS if self.p.carried else ():
            grasps = [pair for pair in _GRASPS if pair[0].startswith(carrier)]
            scene.reach(*grasps[0], grasps[1])
        return scene

    def start(self, sim: ip.Simulation) -> None:
        """Feet on the ground, the king on the litter, the litter on its legs; then the phases."""
        self._stance: tuple[tuple[ip.Simulation, float], list[ip.Objective]] | None = None
        for carrier in _CARRIERS:
            for side in _SIDES:
                sim.contacts.add(f"{carrier}/{side}_sole", ip.GROUND, friction=1.0)
        sim.contacts.add("king/buttocks", "litter/seat")
        for side in _SIDES:
            sim.contacts.add(f"king/{side}_sole", "litter/footrest")
        standing = ("litter/underside", ip.GROUND)
        grasp = {"grip_torque": 40.0, "force_cost": 1e-4}
        for pair in _GRASPS if self.p.carried else ():
            sim.contacts.add(*pair, **grasp)
        if not self.p.carried:
            sim.contacts.add(*standing)
        sim.objectives += [
            ip.Posture(*_CARRIERS, weight=0.1),
            ip.Posture("king", weight=0.3),
        ]
        self._avoid(sim)
        terms = sim.terms
        palm = terms.site_xpos[sim.scene.site(_HAND)].copy()
        rest = ip.pose_value(terms.xpos[sim.scene.body("litter")])
        up = rest + [0, 0, self.p.lift, 0, 0, 0, 0]
        away = np.zeros(3) if self.p.carried else np.array([(self.p.steps - 1) * self.p.stride, 0.0, self.p.lift])
        control = sim.live.add_control(
            ip.Control(
                "reach",
                "point",
                palm + away,
                palm + away - [0.5, 0.8, 0.4],
                palm + away + [0.8, 1.0, 0.7],
                max_speed=0.4,
                help="point that the king's right hand reaches for",
            )
        )
        at_the_poles = ip.conditions.all_of(*(ip.conditions.met(*pair, gap=0.008, speed=0.02) for pair in _GRASPS))
        on_ground = ip.conditions.met(*standing, gap=0.008)
        swing, double = _TIMES[self.p.style]
        gait = ip.Gait(
            stride=self.p.stride,
            swing=swing,
            double=double,
            clearance=0.05,
            arm_swing=0.0,
            lower=0.02,
            style=self.p.style,
        )
        late = self.p.offset * 2.0 * (gait.swing + gait.double)
        walk = ip.Walk(
            "walk",
            [ip.Walker("front"), ip.Walker("rear", delay=late)],
            self.p.steps,
            gait,
            carried=("litter", "king"),
            extra=self._level,
            begin=1.0,
            finish=1.0,
        )
        down = up + [away[0], 0, -self.p.lift, 0, 0, 0, 0]

        def reaching(since: str) -> ip.Phase:
            reach = partial(self._reach, control=control)
            return ip.Phase("reach", reach, since=since, interactive=True, timeout=None)

        def carrying(name: str, to: np.ndarray, seconds: float, since: str, **more: Any) -> ip.Phase:
            return ip.Phase(name, self._carry(to, seconds), since=since, seconds=seconds + 0.1, **more)

        if self.p.carried:
            sim.behaviour = ip.Machine([carrying("hold", rest, 0.5, "hold"), reaching("hold")])
            return
        again = down + [0, 0, self.p.lift, 0, 0, 0, 0]
        grasps = [(*pair, grasp) for pair in _GRASPS]
        sim.behaviour = ip.Machine(
            [
                ip.Phase("bend", lambda sim: self._bend(sim, 1.6), seconds=1.6, until=at_the_poles),
                ip.Phase("grasp", self._still, since="grasp", make=grasps, seconds=0.5),
                carrying("take the weight", rest, 0.6, "grasp", release=[standing]),
                carrying("lift", up, 1.6, "grasp"),
                *walk.phases(),
                carrying("lower", down, 1.6, "lower", until=on_ground),
                ip.Phase("set down", self._still, since="lower", make=[standing], seconds=0.6),
                carrying("take it again", down, 0.6, "lower", release=[standing]),
                carrying("lift again", again, 1.6, "lower"),
                reaching("lower"),
            ]
        )

    @staticmethod
    def _avoid(sim: ip.Simulation) -> None:
        """Keep the king off the backrest and poles, and the carriers' legs off the litter."""
        for part in base.parts(sim, "king", "chest", "head"):
            sim.collisions.add("litter/backrest", part, influence=0.06, security=0.01)
        for side in _SIDES:
            for part in base.parts(sim, "king", f"{side}_hand", f"{side}_forearm", f"{side}_upper_arm"):
                for shape in ("left_pole", "right_pole", "backrest", "seat_board"):
                    sim.collisions.add(f"litter/{shape}", part, influence=0.05, security=0.01)
            for part in base.parts(sim, "front", f"{side}_foot", f"{side}_shank", f"{side}_thigh"):
                for shape in ("foot_board", "front_left_leg", "front_right_leg"):
                    sim.collisions.add(f"litter/{shape}", part, influence=0.06, security=0.015)
            for part in base.parts(sim, "rear", f"{side}_foot", f"{side}_shank", f"{side}_thigh"):
                for shape in ("backrest", "seat_board", "rear_left_leg", "rear_right_leg"):
                    sim.collisions.add(f"litter/{shape}", part, influence=0.06, security=0.015)

    @staticmethod
    def _upright(weight: float) -> list[ip.Objective]:
        return [ip.Orientation(f"{c}/{body}", weight=weight) for c in _CARRIERS for body in ("pelvis", "chest")]

    def _bend(self, sim: ip.Simulation, seconds: float) -> Sequence[ip.Objective]:
        """Bring all hands to the poles, knees and hips bent."""
        out: list[ip.Objective] = [ip.Meet(*pair, sim.terms, sim.time, seconds, weight=60.0) for pair in _GRASPS]
        for carrier in _CARRIERS:
            com = sim.com(carrier)[0]
            low = ip.MinimumJerk(com[2:], com[2:] - 0.16, sim.time, seconds)
            out += [ip.Com(carrier, reference=low, axes="z", weight=20.0), *self._stand(sim, carrier, 60.0)]
        return [*out, *self._upright(0.5), *self._sit(5.0)]

    @staticmethod
    def _stand(sim: ip.Simulation, carrier: str, weight: float) -> list[ip.Objective]:
        centre = sim.middle(*(f"{carrier}/{side}_sole" for side in _SIDES))[:2]
        return [ip.Com(carrier, reference=centre, axes="xy", weight=weight)]

    def _balance(self, sim: ip.Simulation, stance: ip.Entry) -> Sequence[ip.Objective]:
        """Keep the centre of mass of all four over all feet, and each carrier about over his own.

        The same objectives serve all phases of a stance, made where it began.
        """
        if self._stance is None or self._stance[0] != (sim, stance.time):
            feet = [f"{carrier}/{side}_sole" for carrier in _CARRIERS for side in _SIDES]
            with sim.at(stance):
                own = [o for carrier in _CARRIERS for o in self._stand(sim, carrier, 10.0)]
                guards = [
                    ip.Balance(*_ALL, on=feet, terms=sim.terms),
                    ip.Balance("king", on=("king/buttocks", "king/left_sole", "king/right_sole"), terms=sim.terms),
                ]
                centre = sim.middle(*feet)[:2]
            together = ip.Com(*_ALL, reference=centre, axes="xy", weight=100.0)
            self._stance = (sim, stance.time), [together, *guards, *own, *self._upright(0.5)]
        return self._stance[1]

    @staticmethod
    def _sit(weight: float) -> list[ip.Objective]:
        """Let the king sit upright."""
        return [ip.Orientation(f"king/{body}", weight=weight) for body in ("chest", "head")]

    def _still(self, sim: ip.Simulation, stance: ip.Entry) -> Sequence[ip.Objective]:
        return [*self._balance(sim, stance), *self._sit(5.0)]

    def _carry(self, goal: np.ndarray, seconds: float) -> Callable[..., Sequence[ip.Objective]]:
        """Move the litter, and with it whoever holds it."""

        def objectives(sim: ip.Simulation, stance: ip.Entry) -> Sequence[ip.Objective]:
            path = ip.PosePath(_litter(sim), goal, sim.time, seconds)
            return [ip.Pose("litter", path, weight=300.0, stiffness=40.0), *self._still(sim, stance)]

        return objectives

    @staticmethod
    def _level(sim: ip.Simulation, walk: ip.Walk) -> Sequence[ip.Objective]:
        """Let the litter go along, level."""
        along = ip.Pose("litter", walk.along(_litter(sim), "x"), weight=30.0, stiffness=40.0, max_speed=np.inf)
        return [along, *King._sit(5.0)]

    def _reach(self, sim: ip.Simulation, stance: ip.Entry, control: ip.Control) -> Sequence[ip.Objective]:
        """Let the king's hand follow the user; nobody tells the carriers what to do."""
        held = [ip.Pose("litter", _litter(sim), weight=1e5)] if self.p.fixed else []
        follow = ip.Point(_HAND, control, weight=30, max_speed=0.5)
        ease = ip.Posture(*_CARRIERS, values=base.present_posture(sim, *_CARRIERS), weight=0.4)
        gaze = ip.Gaze("king/head", _HAND, weight=0.5)
        return [follow, ease, gaze, *self._sit(0.3)[:1], *self._balance(sim, stance), *held]


_SITTING = {
    "hip_flexion": 1.45,
    "knee_flexion": 1.40,
    "ankle_flexion": 0.0,
    "elbow_flexion": 1.3,
    "shoulder_flexion": 0.1,
    "shoulder_abduction": 0.2,
}
"""Joints of the king on her seat [rad]."""


def _litter(sim: ip.Simulation) -> np.ndarray:
    return ip.Pose.value(*ip.Frame(sim.scene, "litter").pose(sim.terms))
