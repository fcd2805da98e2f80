"""Funambulist: she walks a beam as wide as her foot, holding a barbell whose end weights change; then the user changes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base

_HEIGHT, _LANDING = 0.6, 0.7
"""Height of beam and landing [m]; length of the landing [m]."""

_LEGS = ("thigh", "shank", "foot")


class Funambulist(base.Scenario):
    """A walk in line, with a load that is never the same on both sides."""

    name: ClassVar[str] = "funambulist"
    summary: ClassVar[str] = (
        "she walks a beam as wide as her foot, holding a barbell whose weights change at random; then the user changes them"
    )
    longest_dt: ClassVar[float] = 0.05
    timeout: ClassVar[float] = 90.0
    table_phase: ClassVar[str | None] = "balance"
    table_pairs: ClassVar[int | None] = 7
    camera: ClassVar[base.Camera] = base.Camera(
        lookat=(0.1, 0, 1.45), distance=3.4, azimuth=150, elevation=-10, follow="alice/pelvis"
    )

    class Parameters(base.Parameters):
        """Beam, barbell and walk."""

        steps: int = Field(7, ge=6, le=30, description="steps on the beam")
        stride: float = Field(0.30, ge=0.27, le=0.4, description="length of a step [m]")
        style: Literal["static", "preview"] = Field("preview", description="gait: static or preview")
        length: float = Field(2.2, ge=1.2, le=4, description="length of the barbell [m]")
        lightest: float = Field(1.0, ge=0.2, le=5, description="least weight of an end [kg]")
        heaviest: float = Field(6.0, ge=1, le=12, description="largest weight of an end [kg]")
        every: float = Field(1.5, ge=0.3, le=20, description="seconds between two changes of the weights")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place her on the landing at the beam's beginning, the bar in her hands."""
        beam = (self.p.steps + 1.5) * self.p.stride
        scene = self.add_character(ip.Scene(), "alice", ip.Humanoid(1.68, 58, "female"), (0, 0, _HEIGHT))
        scene.add(ip.Platform((_LANDING, 0.7, _HEIGHT)), "landing", pos=(-0.5 * _LANDING + 0.25, 0))
        scene.add(ip.Beam(beam, 0.095, _HEIGHT), "beam", pos=(0.25 + 0.5 * beam, 0))
        scene.add(ip.Barbell(self.p.length, 3.0, 3.0, 3.0, 0.30), "bar", pos=(0.34, 0, _HEIGHT + 1.0))
        return scene.reach("alice/left_grip", "bar/left_grip", ("alice/right_grip", "bar/right_grip"))

    def start(self, sim: ip.Simulation) -> None:
        """Feet on the landing, hands on the bar; walk, then stand and balance."""
        for side in ("left", "right"):
            sim.contacts.add(f"alice/{side}_sole", "landing/top", friction=1.0)
            sim.contacts.add(f"alice/{side}_grip", f"bar/{side}_grip", grip_force=300.0)
        sim.objectives += [ip.Posture("alice", weight=0.05), ip.AngularMomentum("alice", weight=0.002)]
        sim.objectives += [ip.Orientation("bar", weight=1.0)]
        if self.character is None:  # before her, so that nothing has to push it off her body; it turns with her balance
            sim.objectives += [ip.RelativePose("bar", "alice/chest", weight=6.0, turn_weight=0.3)]
        for one in _LEGS:
            for other in _LEGS:
                if abs(_LEGS.index(one) - _LEGS.index(other)) < 2:
                    sim.collisions.add(f"alice/left_{one}", f"alice/right_{other}", influence=0.02, security=0.004)
        # On a line her thighs pass each other within millimetres, and never touch: a damper there would only jerk.
        sim.collisions.remove("alice/left_thigh", "alice/right_thigh")
        trunk = ("pelvis", "abdomen", "chest", "left_thigh", "right_thigh")
        for part in base.parts(sim, "alice", *trunk):
            sim.collisions.add("bar/bar_hull", part, influence=0.06, security=0.01)
        gait = ip.Gait(
            stride=self.p.stride,
            width=0.0,
            aside=0.16,
            clearance=0.05,
            swing=1.0,
            double=0.5,
            arm_swing=0.0,
            style=self.p.style,
        )
        walk = ip.Walk(
            "walk", ip.Walker("alice", surfaces="beam/top"), self.p.steps, gait, carried=("bar",), finish=1.0
        )
        weights = [
            sim.live.add_control(
                ip.Control(
                    f"{side}_weight",
                    "scalar",
                    [3.0],
                    [self.p.lightest],
                    [self.p.heaviest],
                    max_speed=6.0,
                    unit="kg",
                    help=f"weight at the {side} end of the bar",
                )
            )
            for side in ("left", "right")
        ]
        for side, control in zip(("left", "right"), weights, strict=True):
            sim.live.weigh(f"bar/{side}_weight", control)
        for time in np.arange(0.5, walk.seconds, self.p.every):
            for control in weights:
                sim.live.targets.append(
                    ip.Target(float(time), control.name, sim.rng.uniform(self.p.lightest, self.p.heaviest, 1))
                )
        sim.behaviour = ip.Machine([*walk.phases(), ip.Phase("balance", self._balance, interactive=True, timeout=None)])

    def _balance(self, sim: ip.Simulation) -> Sequence[ip.Objective]:
        """Keep the centre of mass of both over the two feet."""
        soles = ("alice/left_sole", "alice/right_sole")
        centre = sim.middle(*soles)[:2]
        return [
            ip.Balance("alice", "bar", on=soles, terms=sim.terms, margin=0.02),
            ip.Com("alice", "bar", reference=centre, axes="xy", weight=100.0, stiffness=40.0),
            ip.Com("alice", reference=[sim.com("alice")[0][2]], axes="z", weight=10.0),
            *(ip.Orientation(body, weight=2.0) for body in base.parts(sim, "alice", "pelvis", "chest", "head")),
        ]
