"""Fixed-base mechanisms: door, valve, lever, moving platform and drop leaf with passive joints, and a block that slides on a rail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import mujoco
import numpy as np

from interplay.errors import number, vector
from interplay.models.base import HANDLE, Model, grip, new_spec, patch, solid
from interplay.models.objects import STEEL, WOOD

_BOX, _CYLINDER, _CAPSULE = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_CAPSULE
_HINGE, _SLIDE = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
_FRAME, _PANEL, _DECK = [0.55, 0.42, 0.30, 1], [0.86, 0.80, 0.70, 1], [0.62, 0.66, 0.72, 1]
_BEYOND = 1.5
"""Stops of a platform's joints lie so many times farther than it is made to move: limits act from some way before a stop."""
_ALONG_X = (0.7071067811865476, 0.0, 0.7071067811865476, 0.0)
_ALONG_Y = (0.7071067811865476, -0.7071067811865476, 0.0, 0.0)


class _Mechanism(Model):
    kind: ClassVar[str] = "mechanism"
    floating: ClassVar[bool] = False


class Door(_Mechanism):
    """A door in the plane x = 0, its hinge at y = width/2, opening toward +x; joints ``hinge`` and ``knob`` are passive.

    The knob is a lever handle on the −x side: it turns about the door's normal and springs back. ``knob_grip`` lies on it.
    """

    def __init__(self, width: float = 0.9, height: float = 2.05, mass: float = 22.0, handle_height: float = 1.0):
        """Take the leaf's width and height [m], its mass [kg] and the height of the handle [m]."""
        super().__init__()
        self.width, self.height = number("Door width", width, 0.4, 3, "m"), number("Door height", height, 0.8, 5, "m")
        self.mass = number("Door mass", mass, 0.5, 500, "kg")
        self.handle_height = number("Door handle_height", handle_height, 0.3, self.height - 0.2, "m")

    def build(self) -> mujoco.MjSpec:
        """Return the specification."""
        spec, frame = new_spec("frame")
        w, h = self.width, self.height
        for side, sign in (("left", 1), ("right", -1)):
            solid(
                frame,
                _BOX,
                [0.05, 0.04, h / 2 + 0.04],
                name=f"{side}_post",
                rgba=_FRAME,
                mass=5,
                pos=(0, sign * (w / 2 + 0.05), h / 2 + 0.04),
            )
        solid(frame, _BOX, [0.05, w / 2 + 0.09, 0.04], name="lintel", rgba=_FRAME, mass=5, pos=(0, 0, h + 0.05))
        leaf = frame.add_body(name="leaf", pos=[0, w / 2, 0])
        leaf.add_joint(name="hinge", type=_HINGE, axis=[0, 0, 1], range=[-0.05, 1.9], damping=1.5)
        solid(
            leaf,
            _BOX,
            [0.02, w / 2 - 0.005, h / 2 - 0.005],
            name="panel",
            rgba=_PANEL,
            mass=self.mass,
            pos=(0, -w / 2, h / 2 + 0.005),
        )
        knob = leaf.add_body(name="handle", pos=[-0.02, -w + 0.07, self.handle_height])
        bar, arm, spring = 0.25, 0.055, 2.0
        # The spring carries the lever's own weight, so that the handle rests level.
        knob.add_joint(
            name="knob",
            type=_HINGE,
            axis=[1, 0, 0],
            range=[-0.9, 0.9],
            stiffness=spring,
            damping=0.1,
            armature=0.01,
            springref=bar * 9.81 * arm / spring,
        )
        solid(knob, _CYLINDER, [0.012, 0.03], name="spindle", rgba=STEEL, mass=0.15, pos=(-0.03, 0, 0), quat=_ALONG_X)
        solid(
            knob,
            _CAPSULE,
            [HANDLE, 0.055],
            name="handle_bar",
            rgba=STEEL,
            mass=bar,
            pos=(-0.062, arm, 0),
            quat=_ALONG_Y,
        )
        grip(knob, "knob_grip", (-0.062, 0.06, 0), (0, 1, 0), 0.05, HANDLE)
        return spec


class Valve(_Mechanism):
    """A hand wheel facing −x on a stand: joint ``wheel``, and joint ``handle`` of the spinning handle on its rim (parallel axes)."""

    def __init__(self, radius: float = 0.2, mass: float = 6.0, height: float = 1.05):
        """Take the radius of the handle's circle [m], the wheel's mass [kg] and the height of its axis [m]."""
        super().__init__()
        self.radius, self.mass = (
            number("Valve radius", radius, 0.05, 1, "m"),
            number("Valve mass", mass, 0.1, 200, "kg"),
        )
        self.height = number("Valve height", height, 0.2, 3, "m")

    def build(self) -> mujoco.MjSpec:
        """Return the specification."""
        spec, stand = new_spec("stand")
        solid(
            stand, _BOX, [0.08, 0.06, self.height / 2], name="post", rgba=STEEL, mass=20, pos=(0.13, 0, self.height / 2)
        )
        wheel = stand.add_body(name="wheel", pos=[0, 0, self.height])
        wheel.add_joint(name="wheel", type=_HINGE, axis=[1, 0, 0], damping=0.8)
        solid(
            wheel,
            _CYLINDER,
            [self.radius + 0.02, 0.012],
            name="disc",
            rgba=[0.75, 0.25, 0.2, 1],
            mass=self.mass,
            quat=_ALONG_X,
        )
        handle = wheel.add_body(name="handle", pos=[-0.012, 0, self.radius])
        handle.add_joint(name="handle", type=_HINGE, axis=[1, 0, 0], damping=0.02, armature=0.005)
        solid(
            handle,
            _CAPSULE,
            [HANDLE, 0.05],
            name="handle_bar",
            rgba=[0.15, 0.15, 0.15, 1],
            mass=0.3,
            pos=(-0.065, 0, 0),
            quat=_ALONG_X,
        )
        grip(handle, "handle_grip", (-0.065, 0, 0), (1, 0, 0), 0.05, HANDLE, along=(0, 0, 1))
        return spec


class Lever(_Mechanism):
    """A lever that swings about y, with a spring-damper at its hinge and a bulky end above the grip.

    It falls over where the spring is weaker than the weight of its end (17 N·m/rad by default).
    """

    def __init__(
        self,
        length: float = 0.7,
        mass: float = 3.0,
        stiffness: float = 40.0,
        damping: float = 3.0,
        height: float = 0.55,
    ):
        """Take arm length [m], mass [kg], spring [N·m/rad], damper [N·m·s/rad] and the height of the hinge [m]."""
        super().__init__()
        self.length, self.mass = number("Lever length", length, 0.2, 3, "m"), number("Lever mass", mass, 0.1, 100, "kg")
        self.stiffness, self.damping = (
            number("Lever stiffness", stiffness, 0, 1e4),
            number("Lever damping", damping, 0, 1e4),
        )
        self.height = number("Lever height", height, 0.1, 3, "m")

    def build(self) -> mujoco.MjSpec:
        """Return the specification; at angle 0 the lever stands upright, positive angles lean toward +x."""
        spec, base = new_spec("base")
        solid(base, _BOX, [0.1, 0.1, self.height / 2], name="post", rgba=STEEL, mass=20, pos=(0, 0, self.height / 2))
        arm = base.add_body(name="arm", pos=[0, 0, self.height])
        arm.add_joint(
            name="hinge", type=_HINGE, axis=[0, 1, 0], range=[-1.2, 1.2], stiffness=self.stiffness, damping=self.damping
        )
        solid(
            arm,
            _CAPSULE,
            [0.018, self.length / 2],
            name="rod",
            rgba=WOOD,
            mass=0.5 * self.mass,
            pos=(0, 0, self.length / 2),
        )
        solid(
            arm,
            _BOX,
            [0.09, 0.09, 0.09],
            name="bulk",
            rgba=[0.75, 0.25, 0.2, 1],
            mass=0.5 * self.mass,
            pos=(0, 0, self.length + 0.1),
        )
        bar = 0.62 * self.length
        solid(arm, _CAPSULE, [HANDLE, 0.115], name="cross_bar", rgba=STEEL, mass=0.2, pos=(0, 0, bar), quat=_ALONG_Y)
        grip(arm, "left_grip", (0, 0.07, bar), (0, 1, 0), 0.05, HANDLE)
        grip(arm, "right_grip", (0, -0.07, bar), (0, 1, 0), 0.05, HANDLE)
        return spec


class Slider(_Mechanism):
    """A block on a rail along x: joint ``slide``, patches ``front`` (+x) and ``back`` (−x), grips ``front_hitch`` and ``back_hitch``.

    With a force it has a thruster. Without damping nothing but who holds it stops it: palms push, but cannot pull.
    """

    def __init__(
        self,
        size: float = 0.3,
        mass: float = 20.0,
        force: float | None = None,
        rgba: Sequence[float] = STEEL,
        damping: float = 0.0,
    ):
        """Take the block's edge [m], mass [kg], the thruster's largest force [N] (None: no thruster), the rail's damping [N·s/m]."""
        super().__init__()
        self.size, self.mass = number("Slider size", size, 0.02, 5, "m"), number("Slider mass", mass, 0.01, 1e4, "kg")
        self.force = None if force is None else number("Slider force", force, 1e-3, 1e6, "N")
        self.damping = number("Slider damping", damping, 0, 1e5, "N·s/m")
        self.rgba = list(rgba)

    def build(self) -> mujoco.MjSpec:
        """Return the specification; the block's centre is at the slide's value."""
        spec, rail = new_spec("rail")
        half = 0.5 * self.size
        block = rail.add_body(name="block", pos=[0, 0, half])
        block.add_joint(name="slide", type=_SLIDE, axis=[1, 0, 0], damping=self.damping)
        solid(block, _BOX, [half] * 3, name="hull", rgba=self.rgba, mass=self.mass)
        patch(block, "front", (half, 0, 0), (1, 0, 0), (half, half), along=(0, 1, 0))
        patch(block, "back", (-half, 0, 0), (-1, 0, 0), (half, half), along=(0, 1, 0))
        for name, end in (("front_hitch", half), ("back_hitch", -half)):
            grip(block, name, (end, 0, 0), (0, 0, 1), min(0.05, half), 0.002)  # a pin in the face
        if self.force is not None:
            motor = spec.add_actuator(name="thruster", target="slide", trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_motor()
            motor.forcelimited, motor.forcerange = 1, [-self.force, self.force]
        return spec


class MovingPlatform(_Mechanism):
    """A heavy deck to stand on that moves: joints ``x``, ``y``, ``z``, ``roll`` and ``pitch`` about the middle of its patch ``top``.

    They are passive, and its own weight is carried: ``sim.live.drive("platform/x", control)`` moves it; what is not driven, moves
    freely. A joint whose travel or tilt is zero is not there.
    """

    def __init__(
        self,
        size: Sequence[float] = (1.6, 1.6, 0.12),
        mass: float = 2000.0,
        travel: Sequence[float] = (0.5, 0.5, 0.0),
        tilt: Sequence[float] = (0.26, 0.26),
        height: float | None = None,
    ):
        """Take the deck's edge lengths [m], its mass [kg], how far it is made to move along x, y, z [m] and about x and y [rad].

        ``height`` [m] is that of ``top`` when nothing is moved; by default so low that its corners just stay clear of the ground.
        """
        super().__init__()
        self.size, self.travel = vector("MovingPlatform size", size, 3), vector("MovingPlatform travel", travel, 3)
        self.tilt = vector("MovingPlatform tilt", tilt, 2)
        for edge in self.size:
            number("MovingPlatform size", edge, 0.05, 50, "m")
        for way in self.travel:
            number("MovingPlatform travel", way, 0, 20, "m")
        for angle in self.tilt:
            number("MovingPlatform tilt", angle, 0, 0.8, "rad")
        self.mass = number("MovingPlatform mass", mass, 1, 1e5, "kg")
        edge, stops = self.size / 2, np.sin(_BEYOND * self.tilt)
        least = float(edge[0] * stops[1] + edge[1] * stops[0] + self.size[2] + _BEYOND * self.travel[2] + 0.05)
        self.height = least if height is None else number("MovingPlatform height", height, least, 100, "m")

    def build(self) -> mujoco.MjSpec:
        """Return the specification."""
        spec, base = new_spec("base")
        hx, hy, thick = float(self.size[0]) / 2, float(self.size[1]) / 2, float(self.size[2])
        post = 0.5 * (self.height - thick)
        foot = 0.3 * min(hx, hy)
        solid(base, _CYLINDER, [foot, post], name="post", rgba=STEEL, mass=50, pos=(0, 0, post))
        deck = base.add_body(name="deck", pos=[0, 0, self.height], gravcomp=1.0)
        axes = np.eye(3)
        for name, axis, way in zip("xyz", axes, self.travel, strict=True):
            if way > 0:
                deck.add_joint(name=name, type=_SLIDE, axis=axis, range=[-_BEYOND * way, _BEYOND * way])
        for name, axis, angle in zip(("roll", "pitch"), axes[:2], self.tilt, strict=True):
            if angle > 0:
                deck.add_joint(name=name, type=_HINGE, axis=axis, range=[-_BEYOND * angle, _BEYOND * angle])
        solid(deck, _BOX, [hx, hy, thick / 2], name="hull", rgba=_DECK, mass=self.mass, pos=(0, 0, -thick / 2))
        patch(deck, "top", (0, 0, 0), (0, 0, 1), (hx, hy))
        return spec


class DropLeaf(_Mechanism):
    """A small table whose board hangs on a hinge at its far edge (+x): joint ``hinge`` lets the near edge drop; patch ``top``.

    Like a :class:`MovingPlatform` it is passive, heavy, and carries its own weight: ``sim.live.drive("table/hinge", control)`` holds
    it up, and lets it give way.
    """

    def __init__(self, size: Sequence[float] = (0.36, 0.34, 0.3), mass: float = 300.0):
        """Take the board's depth and width, its height over the ground [m], and its mass [kg]."""
        super().__init__()
        self.size, self.mass = vector("DropLeaf size", size, 3), number("DropLeaf mass", mass, 1, 1e5, "kg")
        for edge in self.size:
            number("DropLeaf size", edge, 0.05, 5, "m")

    def build(self) -> mujoco.MjSpec:
        """Return the specification; the middle of the board is over the origin."""
        spec, base = new_spec("base")
        hx, hy, height = float(self.size[0]) / 2, float(self.size[1]) / 2, float(self.size[2])
        for side, sign in (("left", 1), ("right", -1)):
            at = (hx, sign * (hy + 0.02), height / 2)
            solid(base, _BOX, [0.015, 0.015, height / 2], name=f"{side}_post", rgba=_FRAME, mass=2, pos=at)
        leaf = base.add_body(name="leaf", pos=[hx, 0, height], gravcomp=1.0)
        leaf.add_joint(name="hinge", type=_HINGE, axis=[0, -1, 0], range=[-0.2, 1.6])
        solid(leaf, _BOX, [hx, hy, 0.012], name="board", rgba=WOOD, mass=self.mass, pos=(-hx, 0, -0.012))
        patch(leaf, "top", (-hx, 0, 0), (0, 0, 1), (hx, hy))
        return spec
