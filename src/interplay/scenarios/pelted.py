"""Pelted (abe2007): balls are thrown at her while she dodges behind her guard; she follows the clip only so firmly, and steps when hit hard."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import mujoco
import numpy as np
from pydantic import Field

import interplay as ip
from interplay import figure
from interplay import scenario as base

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BALLS, _FROM = 8, 2.6
"""How many balls lie there; how far from her they are thrown [m]."""
_AIMED_AT = (
    "head",
    "chest",
    "chest",
    "abdomen",
    "pelvis",
    "left_upper_arm",
    "right_upper_arm",
    "left_thigh",
    "right_thigh",
)
"""Parts of her at which balls are thrown, as often as they stand here."""
_STIFFNESS = {"high": 150.0, "low": 12.0}
"""What the clip is followed with [1/s²]."""
_RUBBER = 600.0
"""Density of the balls [kg/m³]."""
_FEET = {"left": (0.08, 0.12), "right": (-0.08, -0.12)}
"""Where a boxer of 1.74 m has her feet [m]."""
_GUARD = {"knee_flexion": 0.85, "hip_flexion": 0.55, "ankle_flexion": 0.3}
"""How she bends her legs [rad]."""


def _played() -> ip.Playback:
    return ip.Playback(dodging(), begin=0.5, loop=True)


def dodging() -> ip.Clip:
    """Return the clip that she follows again and again: dodges to both sides and below, from the same guard."""
    left, right, duck = (ip.Clip.load(name) for name in ("dodge_left", "dodge_right", "duck"))
    return left.joined(right).joined(duck)


class Pelted(base.Scenario):
    """A moving target."""

    name: ClassVar[str] = "pelted"
    summary: ClassVar[str] = "balls are thrown at her while she dodges behind her guard; the user throws more"
    dt: ClassVar[float] = 0.01
    longest_dt: ClassVar[float] = 0.02
    world: ClassVar[str | None] = "simulated"
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0, 0, 0.9), distance=4.0, azimuth=145, elevation=-10)

    class Parameters(base.Parameters):
        """What is thrown, and how firmly she follows the clip."""

        seconds: float = Field(20.0, ge=1, le=600, description="how long balls are thrown [s]")
        rate: float = Field(1.0, ge=0.05, le=10, description="balls in a second, on the mean [1/s]")
        mass: float = Field(
            2.5, ge=0.05, le=20, description="mass of the heaviest ball [kg]; the lightest has a third of it"
        )
        speed: float = Field(
            8.0, ge=2, le=30, description="speed of the balls, on the mean [m/s]; each by up to a quarter otherwise"
        )
        arc: float = Field(
            100.0, ge=0, le=180, description="balls come from up to so far to either side of what is before her [°]"
        )
        stiffness: Literal["high", "low"] | Annotated[float, Field(ge=1, le=1000)] = Field(
            "low",
            description="how firmly she follows the clip: high, low, or a number [1/s²]; low reacts more lifelike",
        )

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her in her guard, the balls in a row beside her."""
        return self._balls(self._boxer(ip.Scene(), self._body()))

    def _body(self) -> ip.Humanoid:
        return ip.Humanoid(1.74, 68, "female", 34)

    def _boxer(self, scene: ip.Scene, body: ip.Humanoid, floor: float = 0.0) -> ip.Scene:
        """Place her on a floor of some height [m] in the stance and the first pose of the clip."""
        if self.character is not None:
            return self.add_character(scene, "alice", body, (0, 0, floor))
        motion = next(iter(dodging().motions.values()))
        pose = {joint: float(angle) for joint, angle in zip(motion.joints, motion.angles[0], strict=True)}
        pose |= {f"{side}_{joint}": angle for side in _FEET for joint, angle in _GUARD.items()}
        scene.add(body, "alice", pos=(0, 0, floor), posture={j: pose[j] for j in body.posture if j in pose})
        goals = [(f"alice/{s}_sole", [*(body.scale * np.array(at)), floor, 0, 0, 1]) for s, at in _FEET.items()]
        return scene.reach(*goals[0], goals[1])

    def _balls(self, scene: ip.Scene) -> ip.Scene:
        """Lay the balls down, the lightest first."""
        for k, mass in enumerate(np.linspace(self.p.mass / 3, self.p.mass, _BALLS)):
            radius = (0.75 * mass / (math.pi * _RUBBER)) ** (1 / 3)
            scene.add(ip.Ball(radius, float(mass)), f"ball_{k}", pos=(0.35 * (k - 0.5 * (_BALLS - 1)), 1.6))
        return scene

    def start(self, sim: ip.Simulation) -> None:
        """Let her stand, follow the clip and look where the user wants; say when which ball is thrown."""
        self._stand(sim)
        self._throws(sim)

    def _stand(self, sim: ip.Simulation, on: str = ip.GROUND, waist: float = 1.0) -> None:
        """Let her stand in her place for the time of the experiment, behind her guard: her waist less firmly by a factor."""
        soles = ("alice/left_sole", "alice/right_sole")
        opponent = sim.live.add_control(
            ip.Control(
                "opponent", "point", [2.0, 0.0, 1.5], [-3, -3, 0], [3, 3, 3], max_speed=4.0, help="what she looks at"
            )
        )
        guard: list[ip.Objective] = [
            ip.ComOver("alice", over=soles, reference=(0.0, 0.0), weight=60.0),
            ip.ComOver("alice", over=soles, axes="z", weight=30.0),
        ]
        if self.character is None:
            firm = _STIFFNESS[self.p.stiffness] if isinstance(self.p.stiffness, str) else self.p.stiffness
            guard += ip.track(
                _played(), "alice", gaze=0.0, stiffness=firm, weights={"torso": 10.0}, stiffnesses={"torso": waist}
            )
            guard += [ip.Gaze("alice/head", opponent, weight=2.0, stiffness=firm)]
        sim.behaviour = ip.Machine([ip.Phase(self.name, guard, seconds=self.p.seconds, timeout=None)])
        base.stands(sim, "alice", on)

    def _throws(self, sim: ip.Simulation) -> None:
        """Say when which ball is thrown from where at what: at where it is now; those that were thrown are thrown again."""
        rng, time, k = sim.rng, 0.8, 0
        parts = base.parts(sim, "alice", *_AIMED_AT)
        while time < self.p.seconds - 1.0:
            goal = sim.terms.xipos[sim.scene.body(parts[rng.integers(len(parts))])]
            away = math.radians(rng.uniform(-self.p.arc, self.p.arc))
            place = np.array([_FROM * math.cos(away), _FROM * math.sin(away), rng.uniform(0.9, 1.7)])
            way = goal - place
            flight = float(np.linalg.norm(way)) / (self.p.speed * rng.uniform(0.75, 1.25))
            velocity = way / flight + [0.0, 0.0, 0.5 * sim.scene.gravity * flight]
            sim.live.targets.append(
                ip.Target(round(time, 2), f"throw ball_{k % _BALLS}", np.concatenate([place, velocity]))
            )
            time, k = time + rng.uniform(0.5, 1.5) / self.p.rate, k + 1

    def figures(self, out: Path) -> None:
        """Draw her centre of mass against her feet, how far she is off the clip, and when balls hit her."""
        recording = ip.Recording(out)

        def off_the_clip(axis: Axes, m: mujoco.MjModel) -> None:
            time = recording["time"]
            if self.character is None:
                clip = ip.Track(_played(), "alice", joints="upper")
                clip.attach(self.build())
                angles = recording["qpos"][:, [m.joint(joint).qposadr[0] for joint in clip.joints]]
                wanted = np.array([clip.reference.at(float(t)).value for t in time])
                axis.plot(time, np.degrees(np.sqrt(np.mean((angles - wanted) ** 2, axis=1))))
            tree, balls = m.body("alice/pelvis").rootid[0], [b for b in range(m.nbody) if "ball_" in m.body(b).name]
            mine = {b for b in range(m.nbody) if m.body_rootid[b] == tree}
            hit = np.linalg.norm(figure.pressed(recording, mine, set(balls)), axis=1) > 0
            for begin in time[hit & ~np.roll(hit, 1)]:
                axis.axvline(begin, color="C3", alpha=0.5, linewidth=1)
            axis.set_ylabel("joints off the clip, RMS [°]; hits")

        figure.draw_balance(recording, out / "balance.png", "alice", off_the_clip)
