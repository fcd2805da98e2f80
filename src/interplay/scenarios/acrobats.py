"""Acrobats: three characters build a tower, one standing on the other's shoulders; then the user shakes the top one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

import interplay as ip
from interplay import scenario as base

_CAST = ("bottom", "middle", "top")
_SIDES = ("left", "right")
_REACHING, _CROSSING, _RISING = 0.055, 0.07, 0.03
"""How much lower a climber's centre of mass goes [m]: while the first foot reaches for the shoulder, while the weight goes
across, while the second foot follows. The legs span the step, and the standing knee keeps its bend."""

_STEP, _EDGE, _DEPTH = 0.26, 0.085, 0.30
"""Length of the step from a block on to shoulders, how far the block's edge is before the middle of the soles (the toes look
over it), and the depth of a block [m]."""

_SHIFTS = {"top": (1.2, 1.7), "middle": (2.0, 2.8)}
"""Seconds in which a climber's centre of mass goes over one foot, and across from block to shoulder. Going d in T, the
pressure point leads it by up to (z/g) 5.8 d/T², with z its height over the feet: who bears someone must go slower."""

_SWING = 1.0
"""Seconds of a foot's way through the air."""

_BENDS = {"right": 0.85, "left": 0.55}
"""Bend of the standing knee when a foot lands [rad]: the first one reaches out, the second one is drawn in."""

_MARGINS = {"bottom": 0.03, "middle": 0.07, "top": 0.07}
"""How far inside the outline of the soles balance is guarded [m]: on shoulders, heels and toes stand on nothing."""

_ROUNDS = 4
"""How often a pose is improved until its centre of mass is over the soles."""

_GRIP, _UPRIGHT = {"friction": 1.0}, (1, 0, 0, 0)

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
    longest_dt: ClassVar[float] = 0.07
    dt: ClassVar[float] = 0.010
    table_phase: ClassVar[str | None] = "tower"
    table_pairs: ClassVar[int | None] = 6
    camera: ClassVar[base.Camera] = base.Camera(lookat=(-0.2, 0, 2.17), distance=6.6, azimuth=120, elevation=-4)

    class Parameters(base.Parameters):
        """The cast."""

        middle: float = Field(62.0, ge=50, le=80, description="mass of the middle character [kg]")
        top: float = Field(50.0, ge=30, le=60, description="mass of the top character [kg]")

    p: Parameters

    def build(self) -> ip.Scene:
        """Place the strong man on the ground, and behind him two blocks as high as shoulders with the others on them."""
        if self.character is not None:
            raise ip.InputError(
                "acrobats has a cast of its own, who must fit on each other's shoulders: no --character"
            )
        arms = {f"{side}_shoulder_abduction": 0.75 for side in _SIDES}
        cast = (
            ip.Humanoid(1.86, 100, strength=math.inf),
            ip.Humanoid(1.70, self.p.middle, strength=1.3),  # trained: he walks with her on his shoulders
            ip.Humanoid(1.60, self.p.top, "female"),
        )
        scene = ip.Scene()
        sole, wide, z = 0.0, 0.16, 0.0
        for k, (name, body) in enumerate(zip(_CAST, cast, strict=True)):
            if k:
                scene.add(ip.Platform((_DEPTH, 1.0 - 0.1 * k, z)), f"block_{name}", pos=(sole + _EDGE - _DEPTH / 2, 0))
            scene.add(body, name, pos=(sole - 0.06, 0, z), posture=arms if k else None)
            feet = [(f"{name}/{s}_sole", (sole, y * wide, z, 0, 0, 1)) for s, y in zip(_SIDES, (1, -1), strict=True)]
            for _ in range(_ROUNDS):  # feet apart, and the body forward until its centre of mass is over them
                terms = scene.kinematics()
                root, ahead = terms.xpos[scene.body(name)], sole - terms.subtree_com[scene.body(name)][0]
                scene.move(name, root + [1.5 * ahead, 0, 0]).reach(*feet[0], feet[1], balance=False)
            shoulder = scene.kinematics().site_xpos[scene.site(f"{name}/left_shoulder")]
            sole, wide, z = shoulder - [_STEP, 0, 0]
        return scene

    def start(self, sim: ip.Simulation) -> None:
        """The top one steps on the middle one's shoulders, who then carries her on to the strong man's."""
        for name in _CAST:
            for side in _SIDES:
                sim.contacts.add(f"{name}/{side}_sole", ip.GROUND if name == "bottom" else f"block_{name}/top", **_GRIP)
            sim.objectives += [
                ip.Posture(name, weight=0.2),
                ip.AngularMomentum(name, weight=0.005),
                ip.Orientation(f"{name}/pelvis", _UPRIGHT, weight=2.0),
                ip.Orientation(f"{name}/chest", _UPRIGHT, weight=10.0),
            ]
        for carrier, climber in itertools.pairwise(_CAST):
            for side in _SIDES:
                for part in ("shank", "foot"):
                    sim.collisions.add(f"{carrier}/head", f"{climber}/{side}_{part}", influence=0.03, security=0.004)
            for part in ("chest", "pelvis"):
                sim.collisions.add(f"block_{climber}", f"{carrier}/{part}", influence=0.03, security=0.004)
        self._height = {name: _over(sim, [name], _soles(name))[2] for name in _CAST}
        alone: Carried = {name: () for name in _CAST}
        pair: Carried = {**alone, "middle": ("top",)}
        tower: Carried = {**pair, "bottom": ("middle", "top")}
        stand: Standing = {name: _soles(name) for name in _CAST}
        control = sim.live.add_control(self._control(sim))

        def shake(sim: ip.Simulation) -> list[ip.Objective]:
            """Her centre of mass follows the user; whom she stands on come under her, and all stay over their soles."""
            return [
                ip.Com("top", reference=control, weight=200.0),
                ip.ComOver("top", over=_soles("top"), reference=(0, 0), weight=150.0),
                *self._balance({name: stand[name] for name in ("bottom", "middle")}, tower, 1.0)(sim),
                *(
                    ip.Balance(name, *tower[name], on=_soles(name), terms=sim.terms, margin=_MARGINS[name])
                    for name in _CAST
                ),
            ]

        sim.behaviour = ip.Machine(
            [
                ip.Phase("ready", self._balance(stand, alone, 1.0), seconds=1.0),
                *self._climb("top", "middle", alone, pair),
                *self._climb("middle", "bottom", pair, tower),
                ip.Phase("tower", self._balance(stand, tower, 1.0), seconds=1.5),
                ip.Phase("shake", shake, interactive=True, timeout=None),
            ]
        )

    def _control(self, sim: ip.Simulation) -> ip.Control:
        """Return the live control of the top one's centre of mass, about where it will be on the finished tower."""
        # The blocks are as high as the shoulders they lead to: she starts as high as she will stand.
        home = np.array([*sim.middle(*_soles("bottom"))[:2], sim.com("top")[0][2]])
        span = np.array([0.05, 0.15, 0.06])
        return ip.Control(
            "com",
            "point",
            home,
            home - span,
            home + span * [1, 1, 0.3],
            max_speed=0.2,
            help="centre of mass of the top one",
        )

    def _climb(self, climber: str, carrier: str, before: Carried, after: Carried) -> list[ip.Phase]:
        """Step from a block on to a carrier's shoulders, right foot first, with whomever the climber bears."""
        left, right = f"{climber}/left_sole", f"{climber}/right_sole"
        stand: Standing = {name: _soles(name) for name in _CAST}
        on_left, on_right = {**stand, climber: (left,)}, {**stand, climber: (right,)}
        group = (climber, *before[climber])
        shift, cross = _SHIFTS[climber]
        arrived = ip.conditions.com_over
        return [
            ip.Phase(
                f"{climber}: shift",
                self._balance(on_left, before, shift, _REACHING),
                seconds=shift,
                until=arrived(group, left, within=0.02),
            ),
            *self._step(climber, "right", carrier, on_left, before, _REACHING),
            ip.Phase(
                f"{climber}: cross over",
                self._balance(on_right, after, cross, _CROSSING),
                seconds=cross,
                until=arrived(group, right, within=0.015),
            ),
            *self._step(climber, "left", carrier, on_right, after, _RISING),
            ip.Phase(
                f"{climber}: stand",
                self._balance(stand, after, shift),
                seconds=shift,
                until=arrived(group, left, right, within=0.015),
            ),
        ]

    def _step(
        self, climber: str, side: str, carrier: str, stand: Standing, carried: Carried, lower: float
    ) -> list[ip.Phase]:
        """Unload a foot, lift it over to the shoulder of its side and put it down."""
        sole, shoulder = f"{climber}/{side}_sole", f"{carrier}/{side}_shoulder"
        knee = f"{climber}/{_SIDES[side == 'left']}_knee_flexion"

        def swinging(sim: ip.Simulation) -> list[ip.Objective]:
            ends = [sim.terms.site_xpos[sim.scene.site(s)] for s in (sole, shoulder)]
            over = np.mean(ends, axis=0) + [0, 0, 0.12]
            meet = ip.Meet(
                sole, shoulder, sim.terms, sim.time, _SWING, via=over, weight=200.0, turn_weight=1.0, stiffness=100.0
            )
            now = float(sim.state.qpos[sim.scene.model.jnt_qposadr[sim.scene.joint(knee)]])
            # The foot is lifted by its own leg, not by straightening the one that stands.
            bent = ip.JointAngle(knee, ip.MinimumJerk(now, _BENDS[side], sim.time, _SWING), weight=20.0)
            return [meet, bent, *self._balance(stand, carried, _SWING, lower)(sim)]

        return [
            ip.blocks.remove_contact(
                f"{climber}: unload {side}", sole, extra=self._balance(stand, carried, 0.4, lower), timeout=5.0
            ),
            ip.Phase(
                f"{climber}: swing {side}", swinging, seconds=_SWING, until=ip.conditions.met(sole, shoulder, 0.005)
            ),
            ip.blocks.add_contact(
                f"{climber}: land {side}",
                (sole, shoulder, _GRIP),
                seconds=0.4,
                extra=self._balance(stand, carried, 0.4, lower),
            ),
        ]

    def _balance(self, stand: Standing, carried: Carried, seconds: float, lower: float = 0.0) -> base.Objectives:
        """Bring everyone, together with whom they bear, over the soles they stand on; lower, who stands on one."""

        def objectives(sim: ip.Simulation) -> list[ip.Objective]:
            out: list[ip.Objective] = []
            for name, soles in stand.items():
                group = [name, *carried[name]]
                start = _over(sim, group, soles)[:2]
                across = ip.MinimumJerk(start, np.zeros(2), sim.time, seconds)
                out.append(ip.ComOver(*group, over=soles, reference=across))
                goal = self._height[name] - (lower if len(soles) == 1 else 0.0)
                up = ip.MinimumJerk(_over(sim, [name], soles)[2], goal, sim.time, seconds)
                out.append(ip.ComOver(name, over=soles, reference=up, axes="z", weight=300.0))
            return out

        return objectives


def _soles(name: str) -> tuple[str, ...]:
    return tuple(f"{name}/{side}_sole" for side in _SIDES)


def _over(sim: ip.Simulation, models: Sequence[str], surfaces: Sequence[str]) -> np.ndarray:
    """Return where the common centre of mass is, seen from the middle of some surfaces [m]."""
    middle = sim.middle(*surfaces)
    return sim.com(*models)[0] - middle
