"""Mishap (abe2007): one foot is perched on a flimsy table, which gives way; she regains her balance, and the free foot is led to the ground."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import mujoco
import numpy as np
from pydantic import Field

import interplay as ip
from interplay import figure
from interplay import scenario as base

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIDE = 0.1
"""How far her feet are from the middle [m]."""
_DEPTH, _DROPPED = 0.27, 1.45
"""Depth of the table [m]; how far its board drops [rad]."""
_GIVES_WAY = 0.02
"""She notices that the board has dropped so far [rad]."""
_NOTICED = 0.02
"""How long she goes on pressing on it then [s]."""
_JOLTED = 0.1
"""How long the push lasts that she gets with it [s]."""
_FELT = 0.07
"""After so long she knows what pushes her [s]."""
_STARTLED = {"shoulder_abduction": 1.1, "shoulder_flexion": 0.4, "elbow_flexion": 0.9}
"""Arms of who regains her balance [rad]."""
_EYES = (0.97, 0.0, -0.25)
"""Where her eyes look, in the head's frame."""
_UPRIGHT = (1.0, 0.0, 0.0, 0.0)
_FOOT, _STANDING = "alice/right_sole", "alice/left_sole"


class Mishap(base.Scenario):
    """A table that does not bear her."""

    name: ClassVar[str] = "mishap"
    summary: ClassVar[str] = (
        "one foot is perched on a flimsy table, which gives way; she regains her balance and puts the foot down"
    )
    dt: ClassVar[float] = 0.01
    longest_dt: ClassVar[float] = 0.02
    world: ClassVar[str | None] = "simulated"
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0.15, 0, 0.85), distance=3.2, azimuth=110, elevation=-8)

    class Parameters(base.Parameters):
        """The table, and how she treats it."""

        seconds: float = Field(8.0, ge=2, le=600, description="how long it takes [s]")
        when: float = Field(2.0, ge=0.3, le=600, description="when the table gives way [s]")
        height: float = Field(0.32, ge=0.3, le=0.45, description="height of the table [m]")
        ahead: float = Field(
            0.36, ge=0.3, le=0.5, description="how far before her other foot she has the one on it [m]"
        )
        jolt: float = Field(
            15.0, ge=0, le=60, description="she is pushed as it gives way, by so much at most, from any side [N·s]"
        )
        load: float = Field(
            0.25, ge=0, le=0.6, description="how far her centre of mass is on the way from the other foot to that one"
        )
        step: float = Field(
            0.16, ge=-0.3, le=0.5, description="how far before her other foot the free one is led to the ground [m]"
        )
        swing: float = Field(0.3, ge=0.15, le=2, description="how long that takes [s]")
        friction: float = Field(
            0.05, ge=0.01, le=1, description="what she believes of friction on the table: little presses straight down"
        )

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her beside the table, a foot on it."""
        bent = {"right_hip_flexion": 0.9, "right_knee_flexion": 1.1, "right_ankle_flexion": 0.2}
        scene = self.add_character(ip.Scene(), "alice", ip.Humanoid(1.74, 68, "female"), posture=bent)
        scene.add(ip.DropLeaf((_DEPTH, 0.34, self.p.height)), "table", pos=(self.p.ahead, -_SIDE))
        perched = [self.p.ahead, -_SIDE, self.p.height, 0, 0, 1]
        return scene.reach(_FOOT, perched, (_STANDING, [0, _SIDE, 0, 0, 0, 1]))

    def start(self, sim: ip.Simulation) -> None:
        """Perch, regain, put the foot down and stand."""
        table = sim.live.add_control(
            ip.Control(
                "table", "scalar", [0], [0], [_DROPPED], max_speed=12, unit="rad", help="how far the board has dropped"
            )
        )
        sim.live.drive("table/hinge", table)
        sim.live.targets.append(ip.Target(self.p.when, "table", np.array([_DROPPED])))
        sim.live.targets += self._jolts(sim)
        sim.contacts.add(_STANDING, ip.GROUND)
        sim.contacts.add(_FOOT, "table/top", friction=self.p.friction)
        sim.objectives += [
            ip.AngularMomentum("alice", weight=0.005),
            *(ip.Orientation(body, _UPRIGHT, weight=1.0) for body in base.parts(sim, "alice", "pelvis", "chest")),
            *(ip.Orientation(body, _UPRIGHT, weight=0.3) for body in base.parts(sim, "alice", "head")),
        ]
        sim.behaviour = ip.Machine(
            [
                ip.Phase("perched", self._perched, until=self._gives_way, timeout=None),
                ip.Phase("mishap", self._perched, release=[(_FOOT, "table/top")], fade=_NOTICED),
                ip.Phase("regain", self._regain, seconds=_FELT, fade=0.05),
                ip.Phase("put down", self._put_down, until=self._landed, fade=0.05),
                ip.Phase(
                    "stand", self._stand, make=[(_FOOT, ip.GROUND, {"landing": True})], fade=0.1, until=self._over
                ),
            ]
        )

    def figures(self, out: Path) -> None:
        """Draw her centre of mass against her feet, and what either foot bears."""
        recording = ip.Recording(out)

        def borne(axis: Axes, m: mujoco.MjModel) -> None:
            for sole, label in ((_STANDING, "the foot on the ground"), (_FOOT, "the foot on the table")):
                foot = int(m.site_bodyid[m.site(sole).id])
                axis.plot(recording["time"], figure.pressed(recording, {foot})[:, 2], label=label)
            axis.set_ylabel("borne [N]")
            axis.legend(loc="upper right")

        figure.draw_balance(recording, out / "balance.png", "alice", borne)

    def _jolts(self, sim: ip.Simulation) -> list[ip.Target]:
        """Return the push that she gets as the table gives way: by half of ``jolt`` to all of it, another one for each seed."""
        size, way = self.p.jolt * sim.rng.uniform(0.5, 1.0), sim.rng.uniform(0.0, 2 * np.pi)
        force = size / _JOLTED * np.array([np.cos(way), np.sin(way), 0.0])
        chest = base.parts(sim, "alice", "chest")
        return [ip.Target(self.p.when, f"push {c}", np.array([0, 0, 0, *force, _JOLTED])) for c in chest if size > 0]

    def _perched(self, sim: ip.Simulation) -> list[ip.Objective]:
        """Most of her weight on the foot that stands on the ground."""
        between = self.p.load * (sim.middle(_FOOT) - sim.middle(_STANDING))[:2]
        return [
            ip.Posture("alice", weight=0.3),
            *self._looks_at_the_foot(sim),
            ip.ComOver("alice", over=[_STANDING], reference=between, weight=60.0),
            ip.ComOver("alice", over=[_STANDING], axes="z", weight=30.0),
        ]

    def _regain(self, sim: ip.Simulation) -> list[ip.Objective]:
        """Balance on one foot, and begin to lead the other one to the ground."""
        return self._led(sim, self._beside(sim))

    def _put_down(self, sim: ip.Simulation) -> list[ip.Objective]:
        """Put the foot down where it stops her: it can be told where she will be now; beside the other one if that holds her."""
        place = base.place_to_step(sim, "alice", "right", self.p.swing)
        return self._led(sim, self._beside(sim) if place is None else place)

    def _beside(self, sim: ip.Simulation) -> np.ndarray:
        """Return the place (3,) on the ground to which the foot goes if nothing pushes her."""
        return np.array([*(sim.middle(_STANDING)[:2] + [self.p.step, -2 * _SIDE]), 0.0])

    def _led(self, sim: ip.Simulation, place: np.ndarray) -> list[ip.Objective]:
        """Balance on one foot, and lead the other one to a place."""
        way = ip.MinimumJerk(sim.middle(_FOOT), place, sim.time, self.p.swing)
        return [
            *self._upright(sim, [_STANDING], _STARTLED),
            *self._looks_at_the_foot(sim),
            ip.Balance("alice", on=[_STANDING], terms=sim.terms, margin=0.01),
            ip.Point(_FOOT, way, weight=200.0, stiffness=200.0, max_speed=3.0),
            ip.Orientation(_FOOT, weight=20.0, stiffness=300.0, max_speed=20.0),
        ]

    def _stand(self, sim: ip.Simulation) -> list[ip.Objective]:
        soles = [_STANDING, _FOOT]
        return [*self._upright(sim, soles), ip.Balance("alice", on=soles, terms=sim.terms)]

    def _looks_at_the_foot(self, sim: ip.Simulation) -> list[ip.Objective]:
        """Eyes on what the foot does; of other bodies we do not know where the eyes look from."""
        return [ip.Gaze("alice/head", _FOOT, axis=_EYES, weight=1.0)] if self.character is None else []

    def _upright(
        self, sim: ip.Simulation, over: list[str], arms: Mapping[str, float] | None = None
    ) -> list[ip.Objective]:
        """Stand as one does, over some soles, with the arms as they are wanted."""
        values = {f"alice/{joint}": angle for joint, angle in sim.scene.placed("alice").posture.items()}
        wanted = {f"alice/{side}_{joint}": angle for side in ("left", "right") for joint, angle in (arms or {}).items()}
        values |= {joint: angle for joint, angle in wanted.items() if joint in values}
        return [
            ip.Posture("alice", weight=0.3, values=values),
            ip.ComOver("alice", over=over, reference=(0.0, 0.0), weight=60.0),
            ip.ComOver("alice", over=[_STANDING], axes="z", weight=10.0),
        ]

    def _gives_way(self, sim: ip.Simulation) -> bool:
        m = sim.scene.model
        return float(sim.state.qpos[m.jnt_qposadr[sim.scene.joint("table/hinge")]]) > _GIVES_WAY

    def _landed(self, sim: ip.Simulation) -> bool:
        try:
            sim.contacts.prepare(_FOOT, ip.GROUND, landing=True)
        except ip.ContactError:
            return False
        return True

    def _over(self, sim: ip.Simulation) -> bool:
        return sim.time > self.p.seconds - 1e-9
