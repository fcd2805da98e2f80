"""Platform: she keeps her balance on a deck that shifts and tilts at random, by a step where that is not enough (abe2007)."""

from __future__ import annotations

from collections.abc import Callable
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

SOLES = ("ann/left_sole", "ann/right_sole")
_WAVES, _SLOWEST, _FASTEST = 4, 0.15, 0.6
"""A disturbance is so many sines of random frequencies [Hz] between these …"""
_COMES = 2.0
"""… and has come up after so many seconds."""
_READY = {
    "hip_flexion": 0.3,
    "knee_flexion": 0.5,
    "ankle_flexion": 0.2,
    "shoulder_abduction": 0.5,
    "shoulder_flexion": 0.2,
    "elbow_flexion": 0.7,
}
"""How she expects what comes [rad]: knees bent, arms a little out …"""
_APART = 0.13
"""… and each foot so far from the middle [m]; of a body of 1.70 m."""
_JOINTS = {
    "x": ("m", "shifted forward"),
    "y": ("m", "shifted to her left"),
    "roll": ("rad", "tilted to her right"),
    "pitch": ("rad", "tilted forward"),
}


class Aboard(base.Scenario):
    """What scenarios on such a platform share."""

    world: ClassVar[str | None] = "simulated"
    dt: ClassVar[float] = 0.01
    longest_dt: ClassVar[float] = 0.02
    timeout: ClassVar[float] = 660.0
    edge: ClassVar[float] = 1.8
    """Edge of the platform [m]."""
    shift: ClassVar[float] = 0.12
    tilt: ClassVar[float] = 0.12
    """How far it shifts [m] and tilts [rad] each way at strength 1, at most."""

    class Parameters(base.Parameters):
        """How the platform moves and how slippery it is."""

        strength: float = Field(1.4, ge=0, le=4, description="how far it moves: 1 is 12 cm and 7 degrees at most")
        tilting: float = Field(
            1.0, ge=0, le=2, description="how far it tilts beside how far it shifts: 0 keeps it level"
        )
        brisk: float = Field(1.0, ge=0.2, le=4, description="how fast it moves: 1 is waves of 0.15 to 0.6 Hz")
        friction: float = Field(0.8, ge=0.05, le=1.5, description="friction of the platform, which she knows")
        seconds: float = Field(20.0, ge=1, le=600, description="how long it goes on [s]")

    p: Parameters

    def deck(self) -> ip.MovingPlatform:
        """Return a platform that can move as far as strength and controls ask it to."""
        shift, tilt = (1.0 + self.p.strength) * self.shift, (1.0 + self.p.strength * self.p.tilting) * self.tilt
        size = (self.edge, self.edge, 0.12)
        return ip.MovingPlatform(size, travel=(shift, shift, 0), tilt=(tilt, tilt))

    def disturb(self, sim: ip.Simulation) -> None:
        """Let the platform shift and tilt by smooth waves, others for each seed, and by live controls."""
        for joint, (unit, moved) in _JOINTS.items():
            most = self.shift if unit == "m" else self.tilt
            control = sim.live.add_control(
                ip.Control(
                    joint,
                    "scalar",
                    [0.0],
                    [-most],
                    [most],
                    max_speed=0.3,
                    unit=unit,
                    help=f"how far the platform is {moved}, beside its own motion",
                )
            )
            far = self.p.strength * most * (1.0 if unit == "m" else self.p.tilting)
            sim.live.drive(f"platform/{joint}", _both(wave(sim.rng, far, self.p.brisk), control))

    def view(self) -> base.Camera:
        """Look at her: the platform is the higher the more it tilts."""
        x, y, z = self.camera.lookat
        return self.camera.model_copy(update={"lookat": (x, y, z + self.deck().height)})

    def figures(self, out: Path) -> None:
        """Draw her centre of mass against her feet, and how the platform moves."""
        recording = ip.Recording(out)

        def moves(axis: Axes, m: mujoco.MjModel) -> None:
            for name, (unit, _) in _JOINTS.items():
                value = recording["qpos"][:, m.joint(f"platform/{name}").qposadr[0]]
                shown, shift = (100 * value, "cm") if unit == "m" else (np.degrees(value), "°")
                axis.plot(recording["time"], shown, label=f"{name} [{shift}]")
            axis.set_ylabel("platform")
            axis.legend(loc="upper right", ncols=4)

        figure.draw_balance(recording, out / "balance.png", "ann", moves)


class Platform(Aboard):
    """A character on a platform that moves."""

    name: ClassVar[str] = "platform"
    summary: ClassVar[str] = "a character keeps her balance on a platform that shifts and tilts at random"
    camera: ClassVar[base.Camera] = base.Camera(lookat=(0, 0, 0.7), distance=3.4, azimuth=145)

    class Parameters(Aboard.Parameters):
        """How the platform moves and how slippery it is, and whether she steps."""

        steps: bool = Field(True, description="whether she steps when feet in place are not enough: true or false")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her on the platform."""
        deck = self.deck()
        scene = ip.Scene().add(deck, "platform", friction=self.p.friction)
        ready = {f"{side}_{joint}": angle for side in ("left", "right") for joint, angle in _READY.items()}
        posture = ready if self.character is None else None
        self.add_character(scene, "ann", ip.Humanoid(1.70, 62, "female"), (0, 0, deck.height), posture=posture)
        left, right = ((0, y * _APART * self.scale(1.70), deck.height, 0, 0, 1) for y in (1, -1))
        return scene.reach(SOLES[0], left, (SOLES[1], right))

    def start(self, sim: ip.Simulation) -> None:
        """Let the platform move and her stand."""
        self.disturb(sim)
        # Recovery leaves it to what it interrupts where her centre of mass is.
        wanted = _over_her_feet if self.p.steps else ()
        sim.behaviour = ip.Machine([ip.Phase("balance", wanted, seconds=self.p.seconds, timeout=None)])
        base.stands(sim, "ann", "platform/top", self.p.friction, self.p.steps, loose=True)


def _over_her_feet(sim: ip.Simulation) -> list[ip.Objective]:
    return [
        ip.ComOver("ann", over=SOLES, reference=(0.0, 0.0), weight=60.0),
        ip.ComOver("ann", over=SOLES, axes="z", weight=30.0),
    ]


def _both(own: Callable[[float], float], control: ip.Control) -> Callable[[float], float]:
    return lambda time: own(time) + float(control.at(time).value[0])


def wave(rng: np.random.Generator, size: float, brisk: float = 1.0) -> Callable[[float], float]:
    """Return a smooth random function of time that stays within ± size and begins at rest at 0."""
    rate = 2 * np.pi * brisk * rng.uniform(_SLOWEST, _FASTEST, _WAVES)
    phase = rng.uniform(0, 2 * np.pi, _WAVES)

    def at(time: float) -> float:
        come = min(max(time / _COMES, 0.0), 1.0)
        return size * come**3 * (10 - 15 * come + 6 * come**2) * float(np.sin(rate * time + phase).mean())

    return at
