"""What every model has: a specification with one named root body, and the posture in which it starts."""

from __future__ import annotations

from typing import ClassVar

import mujoco
import numpy as np

VISUAL_GROUP, COLLISION_GROUP, SITE_GROUP, PAD_GROUP = 2, 3, 4, 5
"""MuJoCo groups: what a viewer draws, what collision avoidance measures, contact surfaces, and what the simulator alone touches."""

HANDLE = 0.015
"""Radius of the handles that hands are made for [m]: so far before the palm, whatever its size, lies the axis of its grip."""


class Model:
    """One body that can be placed. Subclasses fill ``build``; the same model may be placed as often as wanted."""

    kind: ClassVar[str] = "object"
    """``character``, ``object``, ``mechanism`` or ``environment``."""
    floating: ClassVar[bool] = True
    """Whether the root body is free to move (a free joint is added on placing)."""
    posture: dict[str, float]
    """Joint values [rad, m] of the starting and rest posture; joints not named start at 0."""

    assets: dict[str, bytes]
    """Files that the specification names: meshes and textures."""

    def __init__(self) -> None:
        """Start with an empty posture and no files."""
        self.posture, self.assets = {}, {}

    def build(self) -> mujoco.MjSpec:
        """Return a new specification whose world body has exactly one child: the root body."""
        raise TypeError(f"{type(self).__name__} does not define build()")

    @property
    def placement_height(self) -> float:
        """Height [m] of the root frame above the plane the model stands on in its posture."""
        return 0.0


def solid_shapes(m: mujoco.MjModel) -> np.ndarray:
    """Return which geoms (ngeom,) are solid: those that collide, without the simulator's pads."""
    return ((m.geom_contype > 0) | (m.geom_conaffinity > 0)) & (m.geom_group != PAD_GROUP)


def new_spec(root: str) -> tuple[mujoco.MjSpec, mujoco.MjsBody]:
    """Return an empty specification and its root body. Angles are radians throughout."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.compiler.autolimits = True
    spec.nuser_jnt = 1  # a joint's user data is its velocity limit, which MJCF has no field for
    return spec, spec.worldbody.add_body(name=root)


def solid(
    body: mujoco.MjsBody,
    shape: mujoco.mjtGeom,
    size: list[float],
    *,
    name: str,
    rgba: list[float],
    mass: float,
    pos: tuple[float, ...] = (0, 0, 0),
    quat: tuple[float, ...] = (1, 0, 0, 0),
    friction: float = 0.8,
) -> None:
    """Add a geom that is seen, weighs and collides."""
    body.add_geom(
        name=name,
        type=shape,
        mass=mass,
        size=[*size, 0, 0][:3],
        rgba=rgba,
        pos=list(pos),
        quat=list(quat),
        group=VISUAL_GROUP,
        friction=[friction, 0.005, 0.0001],
    )


def patch(
    body: mujoco.MjsBody,
    name: str,
    pos: tuple[float, ...],
    normal: tuple[float, ...],
    half: tuple[float, float],
    along: tuple[float, ...] = (1, 0, 0),
    gives: float = 0.0,
) -> None:
    """Add a planar contact surface: a box site, z the outward normal, x along ``along``, ``half`` its x and y half sizes.

    ``gives``: stiffness of what each of its short edges gives by under load [N/m]; 0: it is rigid.
    """
    body.add_site(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=list(pos),
        quat=frame_quat(normal, along),
        size=[half[0], half[1], 0.002],
        group=SITE_GROUP,
        rgba=[0.2, 0.7, 0.3, 0.5],
        userdata=[gives] if gives else [],
    )


def grip(
    body: mujoco.MjsBody,
    name: str,
    pos: tuple[float, ...],
    axis: tuple[float, ...],
    half_length: float,
    radius: float,
    along: tuple[float, ...] = (1, 0, 0),
) -> None:
    """Add a grasp surface: a cylinder site around ``axis``."""
    body.add_site(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        pos=list(pos),
        quat=frame_quat(axis, along),
        size=[radius, half_length, 0],
        group=SITE_GROUP,
        rgba=[0.2, 0.4, 0.9, 0.5],
    )


def frame_quat(z_axis: tuple[float, ...], x_hint: tuple[float, ...]) -> list[float]:
    """Return the quaternion (wxyz) of a frame with the given z axis and an x axis as near ``x_hint`` as possible."""
    z = np.asarray(z_axis, float) / np.linalg.norm(z_axis)
    x = np.asarray(x_hint, float) - z * np.dot(x_hint, z)
    if np.linalg.norm(x) < 1e-6:
        x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, np.column_stack([x, np.cross(z, x), z]).reshape(-1))
    return quat.tolist()
