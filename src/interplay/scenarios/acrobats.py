"""Acrobats: three characters build a tower, one standing on the other's shoulders; then the user shakes the top one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

import interplay as ip
from interplay.scenarios import base

_CAST = ("bottom", "middle", "top")
_SIDES = ("left", "right")
_LOWER = 0.025
"""How much lower the centre of mass goes while one foot is up [m]: the standing knee keeps its bend."""

_STEP, _DEPTH = 0.31, 0.36
"""Length of the step from a block on to shoulders, and depth of a block [m]."""

_GRIP = {"friction": 1.0}

Standing = Mapping[str, Sequence[str]]
"""On which of its soles each character stands."""

Carried = Mapping[str, Sequence[str]]
"""Whom each character bears on its shoulders."""


class Acrobats(base.Scenario):
    """Balance of groups on moving supports."""

    name: ClassVar[str] = "acrobats"
    summary: ClassVar[str] = (
        "three characters build a tower, each standing on another's shoulders; then the user moves the top one's centre of mass"
    )
    dt: ClassVar[float] = 0.010
    table_phase: ClassVar[str | None] = "tower"
    table_pairs: ClassVar[int | None] = 6
    camera: ClassVar[base.Camera] = base.Camera(lookat=(-0.3, 0, 2.2), distance=6.6, azimuth=120, elevation=-6)

    class Parameters(base.Parameters):
        """The cast and its pace."""

        middle: float = Field(62.0, ge=40, le=90, description="mass of the middle character [kg]")
        top: float = Field(50.0, ge=30, le=80, description="mass of the top character [kg]")
        pace: float = Field(1.0, ge=0.5, le=1.5, description="how briskly they climb: 2 halves every duration")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place the strong man on the ground, and behind him two blocks as high as shoulders with the others on them."""
        arms = {f"{side}_shoulder_abduction": 0.75 for side in _SIDES}
        cast = (
            ip.Humanoid(1.86, 100, strength=math.inf),
            ip.Humanoid(1.70, self.p.middle),
            ip.Humanoid(1.60, self.p.top, "female"),
        )
        scene = ip.Scene()
        sole, wide, z = 0.0, 0.16, 0.0
        for k, (name, body) in enumerate(zip(_CAST, cast, strict=True)):
            if k:
                scene.add(ip.Platform((_DEPTH, 0.9, z)), f"block_{name}", pos=(sole + 0.14 - _DEPTH / 2, 0))
            scene.add(body, name, pos=(sole - 0.06, 0, z), posture=arms if k else None)
            feet = [(f"{name}/{s}_sole", (sole, y * wide, z, 0, 0, 1)) for s, y in zip(_SIDES, (1, -1), strict=True)]
            scene.reach(*feet[0], feet[1], balance=False)
            terms = scene.kinematics()
            _, wide, z = shoulder = terms.site_xpos[scene.site(f"{name}/left_shoulder")]
            # It will come forward when the centre of mass does, to the middle of the soles.
            sole += shoulder[0] - terms.subtree_com[scene.body(name)][0] - _STEP
        return scene

    def start(self, sim: ip.Simulation) -> None:
        """The top one steps on the middle one's shoulders, who then carries her on to the strong man's."""
        for name in _CAST:
            for side in _SIDES:
                sim.contacts.add(f"{name}/{side}_sole", "ground" if name == "bottom" else f"block_{name}/top", **_GRIP)
            sim.objectives += [
                ip.Posture(name, weight=0.2),
                ip.AngularMomentum(name, weight=0.005),
                ip.Orientation(f"{name}/pelvis", weight=2.0),
                ip.Orientation(f"{name}/chest", weight=10.0),
            ]
        for carrier, climber in zip(_CAST, _CAST[1:], strict=False):
            for side in _SIDES:
                for part in ("shank", "foot"):
                    sim.collisions.add(f"{carrier}/head", f"{climber}/{side}_{part}", influence=0.03, security=0.004)
        self._height = {name: _over(sim, [name], _soles(name))[2] for name in _CAST}
        alone: Carried = {name: () for name in _CAST}
        pair: Carried = {**alone, "middle": ("top",)}
        tower: Carried = {**pair, "bottom": ("middle", "top")}
        stand: Standing = {name: _soles(name) for name in _CAST}
        home = None
        sim.machine = ip.Machine(
            [
                ip.Phase("ready", self._balance(stand, alone, 1.0), seconds=1.0),
                *self._climb("top", "middle", alone, pair),
                *self._climb("middle", "bottom", pair, tower),
                ip.Phase("tower", self._balance(stand, tower, 1.0), seconds=1.5),
            ]
        )

    def _climb(self, climber: str, carrier: str, before: Carried, after: Carried) -> list[ip.Phase]:
        """Step from a block on to a carrier's shoulders, right foot first, with whomever the climber bears."""
        left, right = f"{climber}/left_sole", f"{climber}/right_sole"
        stand: Standing = {name: _soles(name) for name in _CAST}
        on_left, on_right = {**stand, climber: (left,)}, {**stand, climber: (right,)}
        group = (climber, *before[climber])
        far = self._seconds(1.2)
        arrived = ip.conditions.com_over
        return [
            ip.Phase(
                f"{climber}: shift",
                self._balance(on_left, before, self._seconds(0.9)),
                seconds=self._seconds(0.9),
                until=arrived(group, left, within=0.02),
            ),
            *self._step(climber, "right", carrier, on_left, before),
            ip.Phase(
                f"{climber}: cross over",
                self._balance(on_right, after, far),
                seconds=far,
                until=arrived(group, right, within=0.015),
            ),
            *self._step(climber, "left", carrier, on_right, after),
            ip.Phase(
                f"{climber}: stand",
                self._balance(stand, after, self._seconds(0.9)),
                seconds=self._seconds(0.9),
                until=arrived(group, left, right, within=0.015),
            ),
        ]

    def _step(self, climber: str, side: str, carrier: str, stand: Standing, carried: Carried) -> list[ip.Phase]:
        """Unload a foot, lift it over to the shoulder of its side and put it down."""
        sole, shoulder = f"{climber}/{side}_sole", f"{carrier}/{side}_shoulder"
        swing = self._seconds(0.9)

        def swinging(sim: ip.Simulation) -> list[ip.Objective]:
            ends = [sim.terms.site_xpos[sim.scene.site(s)] for s in (sole, shoulder)]
            over = np.mean(ends, axis=0) + [0, 0, 0.16]
            meet = ip.Meet(sole, shoulder, sim.terms, sim.time, swing, via=over, weight=100.0, stiffness=100.0)
            return [meet, *self._balance(stand, carried, swing)(sim)]

        return [
            ip.blocks.remove_contact(
                f"{climber}: unload {side}", sole, extra=self._balance(stand, carried, 0.4), timeout=5.0
            ),
            ip.Phase(
                f"{climber}: swing {side}", swinging, seconds=swing, until=ip.conditions.met(sole, shoulder, 0.005)
            ),
            ip.blocks.add_contact(
                f"{climber}: land {side}",
                (sole, shoulder, _GRIP),
                seconds=0.4,
                extra=self._balance(stand, carried, 0.4),
            ),
        ]

    def _balance(self, stand: Standing, carried: Carried, seconds: float) -> base.Objectives:
        """Bring everyone, together with whom they bear, over the soles they stand on."""

        def objectives(sim: ip.Simulation) -> list[ip.Objective]:
            out: list[ip.Objective] = []
            for name, soles in stand.items():
                group = [name, *carried[name]]
                start = _over(sim, group, soles)[:2]
                across = ip.MinimumJerk(start, np.zeros(2), sim.time, seconds)
                out.append(ip.ComOver(*group, over=soles, reference=across))
                goal = self._height[name] - (_LOWER if len(soles) == 1 else 0.0)
                up = ip.MinimumJerk(_over(sim, [name], soles)[2], goal, sim.time, seconds)
                out.append(ip.ComOver(name, over=soles, reference=up, axes="z", weight=20.0))
            return out

        return objectives

    def _seconds(self, usual: float) -> float:
        return usual / self.p.pace


def _soles(name: str) -> tuple[str, ...]:
    return tuple(f"{name}/{side}_sole" for side in _SIDES)


def _over(sim: ip.Simulation, models: Sequence[str], surfaces: Sequence[str]) -> np.ndarray:
    """Return where the common centre of mass is, seen from the middle of some surfaces [m]."""
    middle = np.mean([sim.terms.site_xpos[sim.scene.site(s)] for s in surfaces], axis=0)
    return sim.com(*models)[0] - middle
