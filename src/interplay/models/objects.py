"""Free rigid objects: box, ball, barbell, litter, sword, table."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco

from interplay.errors import number, vector
from interplay.models.base import HANDLE, SITE_GROUP, Model, grip, new_spec, patch, solid

_BOX, _CYLINDER, _SPHERE, _CAPSULE = (
    mujoco.mjtGeom.mjGEOM_BOX,
    mujoco.mjtGeom.mjGEOM_CYLINDER,
    mujoco.mjtGeom.mjGEOM_SPHERE,
    mujoco.mjtGeom.mjGEOM_CAPSULE,
)
WOOD, STEEL, CARD, RUBBER = [0.72, 0.53, 0.35, 1], [0.60, 0.63, 0.67, 1], [0.80, 0.66, 0.45, 1], [0.85, 0.35, 0.25, 1]
_ALONG_X = (0.7071067811865476, 0.0, 0.7071067811865476, 0.0)
_ALONG_Y = (0.7071067811865476, -0.7071067811865476, 0.0, 0.0)


class Box(Model):
    """A box with a contact patch on every face: ``left``, ``right``, ``front``, ``rear``, ``top``, ``bottom``."""

    def __init__(
        self, size: Sequence[float] = (0.30, 0.36, 0.26), mass: float = 5.0, color: Sequence[float] = tuple(CARD[:3])
    ):
        """Take the full edge lengths [m] along x (forward), y, z and the mass [kg]."""
        super().__init__()
        self.size = vector("Box size", size, 3)
        for edge in self.size:
            number("Box size", edge, 0.01, 20, "m")
        self.mass = number("Box mass", mass, 1e-3, 5000, "kg")
        self.color = vector("Box color", color, 3)

    @property
    def placement_height(self) -> float:
        """Half the height: a box placed at z = 0 stands on the ground."""
        return float(self.size[2]) / 2

    def build(self) -> mujoco.MjSpec:
        """Return the specification."""
        spec, body = new_spec("box")
        hx, hy, hz = (float(v) / 2 for v in self.size)
        solid(body, _BOX, [hx, hy, hz], name="hull", rgba=[*self.color, 1], mass=self.mass)
        patch(body, "left", (0, hy, 0), (0, 1, 0), (hx, hz))
        patch(body, "right", (0, -hy, 0), (0, -1, 0), (hx, hz))
        patch(body, "front", (hx, 0, 0), (1, 0, 0), (hy, hz), along=(0, 1, 0))
        patch(body, "rear", (-hx, 0, 0), (-1, 0, 0), (hy, hz), along=(0, 1, 0))
        patch(body, "top", (0, 0, hz), (0, 0, 1), (hx, hy))
        patch(body, "bottom", (0, 0, -hz), (0, 0, -1), (hx, hy))
        return spec


class Ball(Model):
    """A ball."""

    def __init__(self, radius: float = 0.12, mass: float = 0.6):
        """Take the radius [m] and mass [kg]."""
        super().__init__()
        self.radius, self.mass = (
            number("Ball radius", radius, 0.005, 5, "m"),
            number("Ball mass", mass, 1e-3, 5000, "kg"),
        )

    @property
    def placement_height(self) -> float:
        """The radius: a ball placed at z = 0 lies on the ground."""
        return self.radius

    def build(self) -> mujoco.MjSpec:
        """Return the specification."""
        spec, body = new_spec("ball")
        solid(body, _SPHERE, [self.radius], name="hull", rgba=RUBBER, mass=self.mass)
        return spec


class Barbell(Model):
    """A bar along y with a weight at each end; bodies ``left_weight`` and ``right_weight`` may change mass while running.

    The weights are bodies of their own, welded to the bar, so that ``Simulation.set_mass("bar/left_weight", kg)`` can
    change one end.
    """

    def __init__(
        self, length: float = 1.8, bar_mass: float = 4.0, left: float = 3.0, right: float = 3.0, grip_at: float = 0.28
    ):
        """Take the bar's length [m], masses [kg], and the distance of each grip from the middle [m]."""
        super().__init__()
        self.length, self.bar_mass = (
            number("Barbell length", length, 0.3, 10, "m"),
            number("Barbell bar_mass", bar_mass, 0.05, 200, "kg"),
        )
        self.left, self.right = (
            number("Barbell left", left, 0.01, 200, "kg"),
            number("Barbell right", right, 0.01, 200, "kg"),
        )
        self.grip_at = number("Barbell grip_at", grip_at, 0.05, self.length / 2 - 0.05, "m")

    def build(self) -> mujoco.MjSpec:
        """Return the specification."""
        spec, body = new_spec("bar")
        solid(body, _CAPSULE, [HANDLE, self.length / 2], name="bar_hull", rgba=STEEL, mass=self.bar_mass, quat=_ALONG_Y)
        for side, sign, mass in (("left", 1, self.left), ("right", -1, self.right)):
            end = body.add_body(name=f"{side}_weight", pos=[0, sign * self.length / 2, 0])
            solid(
                end, _CYLINDER, [0.1, 0.035], name=f"{side}_disc", rgba=[0.2, 0.22, 0.25, 1], mass=mass, quat=_ALONG_Y
            )
            grip(body, f"{side}_grip", (0, sign * self.grip_at, 0), (0, 1, 0), 0.06, HANDLE)
        return spec


class Litter(Model):
    """A seat with a back on two poles along x, for two carriers, on four legs.

    Grips ``front_left_grip`` … ``rear_right_grip``; patches ``seat``, ``footrest`` and, between the feet of its legs,
    ``underside``.
    """

    def __init__(
        self,
        length: float = 2.9,
        width: float = 0.56,
        mass: float = 14.0,
        footrest_depth: float = 0.42,
        legs: float = 0.56,
    ):
        """Take the poles' length and distance [m], the mass [kg], how far the footrest lies below the seat and how long the legs are [m]."""
        super().__init__()
        self.length, self.width = number("Litter length", length, 1, 6, "m"), number("Litter width", width, 0.3, 2, "m")
        self.mass, self.drop = (
            number("Litter mass", mass, 0.5, 500, "kg"),
            number("Litter footrest_depth", footrest_depth, 0.1, 1, "m"),
        )
        self.legs = number("Litter legs", legs, self.drop + 0.02, 2, "m")

    @property
    def placement_height(self) -> float:
        """Height of the poles when the legs stand on the ground."""
        return self.legs

    def build(self) -> mujoco.MjSpec:
        """Return the specification."""
        spec, body = new_spec("litter")
        m, half, y, back, front = self.mass, self.length / 2, self.width / 2, -0.24, 0.56
        for side, sign in (("left", 1), ("right", -1)):
            pole = (0, sign * y, 0)
            solid(body, _CAPSULE, [HANDLE, half], name=f"{side}_pole", rgba=WOOD, mass=0.2 * m, pos=pole, quat=_ALONG_X)
            for end, along in (("front", 1), ("rear", -1)):
                grip(body, f"{end}_{side}_grip", (along * (half - 0.12), sign * y, 0), (1, 0, 0), 0.07, HANDLE)
            for end, x in (("front", front), ("rear", back)):
                leg = (x, sign * y, -self.legs / 2)
                solid(
                    body, _BOX, [0.02, 0.02, self.legs / 2], name=f"{end}_{side}_leg", rgba=WOOD, mass=0.03 * m, pos=leg
                )
        solid(body, _BOX, [0.22, y, 0.015], name="seat_board", rgba=WOOD, mass=0.25 * m)
        solid(body, _BOX, [0.015, y - 0.04, 0.22], name="backrest", rgba=WOOD, mass=0.1 * m, pos=(back, 0, 0.235))
        rest = (0.5 * (0.28 + front), 0, -self.drop)
        solid(body, _BOX, [0.5 * (front - 0.28), y, 0.01], name="foot_board", rgba=WOOD, mass=0.13 * m, pos=rest)
        patch(body, "seat", (0, 0, 0.015), (0, 0, 1), (0.22, y))
        patch(body, "footrest", (rest[0], 0, 0.01 - self.drop), (0, 0, 1), (0.5 * (front - 0.28), y))
        patch(body, "underside", (0.5 * (front + back), 0, -self.legs), (0, 0, -1), (0.5 * (front - back), y))
        return spec


class Sword(Model):
    """A two-handed sword along x: three blade shapes for avoidance, grips ``upper_grip`` and ``lower_grip``, point ``tip``."""

    def __init__(self, length: float = 1.1, mass: float = 1.6):
        """Take the overall length [m] and mass [kg]."""
        super().__init__()
        self.length, self.mass = number("Sword length", length, 0.3, 3, "m"), number("Sword mass", mass, 0.1, 20, "kg")

    def build(self) -> mujoco.MjSpec:
        """Return the specification; the origin lies between the two grips."""
        spec, body = new_spec("sword")
        hilt, blade = 0.28, self.length - 0.28
        solid(
            body,
            _CAPSULE,
            [HANDLE, hilt / 2],
            name="hilt",
            rgba=[0.35, 0.22, 0.12, 1],
            mass=0.3 * self.mass,
            quat=_ALONG_X,
        )
        solid(
            body, _BOX, [0.01, 0.09, 0.01], name="guard", rgba=STEEL, mass=0.1 * self.mass, pos=(hilt / 2 + 0.01, 0, 0)
        )
        third = blade / 3
        for k, radius in enumerate((0.014, 0.012, 0.010)):
            solid(
                body,
                _CAPSULE,
                [radius, third / 2 - radius],
                name=f"blade_{k}",
                rgba=STEEL,
                mass=0.2 * self.mass,
                pos=(hilt / 2 + 0.02 + (k + 0.5) * third, 0, 0),
                quat=_ALONG_X,
            )
        body.add_site(
            name="tip", type=_SPHERE, pos=[hilt / 2 + 0.02 + blade, 0, 0], size=[0.005, 0, 0], group=SITE_GROUP
        )
        grip(body, "upper_grip", (0.075, 0, 0), (1, 0, 0), 0.05, HANDLE)
        grip(body, "lower_grip", (-0.075, 0, 0), (1, 0, 0), 0.05, HANDLE)
        return spec


class Table(Model):
    """A table that can be carried: grips on rails along its sides, patches ``top``, ``foot_0`` … under each leg, ``underside`` between."""

    def __init__(self, size: Sequence[float] = (0.8, 1.2, 0.74), mass: float = 18.0):
        """Take length in x, width in y, height [m] and the mass [kg]."""
        super().__init__()
        self.size = vector("Table size", size, 3)
        for edge in self.size:
            number("Table size", edge, 0.2, 10, "m")
        self.mass = number("Table mass", mass, 0.5, 1000, "kg")

    @property
    def placement_height(self) -> float:
        """Height of the table's frame, which lies in the middle of its top board."""
        return float(self.size[2]) - HANDLE

    def build(self) -> mujoco.MjSpec:
        """Return the specification."""
        spec, body = new_spec("table")
        hx, hy, height = float(self.size[0]) / 2, float(self.size[1]) / 2, float(self.size[2])
        m, rail = self.mass, hy - HANDLE
        room = min(0.07, 0.25 * hy)  # for the fingers that close around a rail
        edge = rail - room
        solid(body, _BOX, [hx, edge, HANDLE], name="board", rgba=WOOD, mass=0.5 * m)
        patch(body, "top", (0, 0, HANDLE), (0, 0, 1), (hx, edge))
        leg = height / 2 - HANDLE
        for k, (sx, sy) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
            at = (sx * (hx - 0.05), sy * (hy - 0.05))
            middle = (*at, -HANDLE - leg)
            solid(body, _BOX, [0.03, 0.03, leg], name=f"leg_{k}", rgba=WOOD, mass=0.1 * m, pos=middle)
            patch(body, f"foot_{k}", (*at, -HANDLE - 2 * leg), (0, 0, -1), (0.03, 0.03))
        patch(body, "underside", (0, 0, -HANDLE - 2 * leg), (0, 0, -1), (hx - 0.02, hy - 0.02))
        for side, sign in (("left", 1), ("right", -1)):
            # The rails to carry it by are as thick as a hand takes hold of.
            at, size = (0, sign * rail, 0), [HANDLE, hx - HANDLE]
            solid(body, _CAPSULE, size, name=f"{side}_rail", rgba=WOOD, mass=0.04 * m, pos=at, quat=_ALONG_X)
            for end, sx in (("front", 1), ("rear", -1)):
                arm = (sx * (hx - 0.03), sign * (edge + 0.5 * room), 0)
                half = [0.02, 0.5 * room, 0.7 * HANDLE]
                solid(body, _BOX, half, name=f"{end}_{side}_arm", rgba=WOOD, mass=0.005 * m, pos=arm)
                along = sx * min(0.24, 0.6 * hx)
                grip(body, f"{end}_{side}_grip", (along, sign * rail, 0), (1, 0, 0), min(0.06, 0.3 * hx), HANDLE)
        return spec
