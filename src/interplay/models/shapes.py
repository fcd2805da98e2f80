"""Smooth visual shapes: a loft through elliptic sections, closed by round ends."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.interpolate import PchipInterpolator

from interplay.models.base import VISUAL_GROUP


class Section(NamedTuple):
    """One cross-section: height z, half sizes in x and y, centre in x and y [m]."""

    z: float
    rx: float
    ry: float
    cx: float = 0.0
    cy: float = 0.0


@functools.lru_cache(maxsize=1024)  # the same bodies are built again and again
def loft(
    sections: tuple[Section, ...], *, sides: int = 20, rings: int = 14, dome: float = 0.8, exponent: float = 2.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) and triangles (k, 3) of a closed surface through the sections.

    ``dome`` is the height of the round ends as a fraction of the end's mean half size; ``exponent`` 2 gives ellipses, more
    gives rounded rectangles.
    """
    table = np.asarray(sections, float)
    table = table[np.argsort(table[:, 0])]
    curve = PchipInterpolator(table[:, 0], table[:, 1:])
    low, high = table[0, 0], table[-1, 0]
    # Rings stand closer toward the ends, where the outline turns.
    profile = [(z, 1.0, z) for z in low + (high - low) * 0.5 * (1 - np.cos(np.linspace(0, np.pi, rings)))]
    angles = np.linspace(0, np.pi / 2, 5)[1:-1]
    bottom, top = dome * table[0, 1:3].mean(), dome * table[-1, 1:3].mean()
    below = [(low - bottom * np.sin(a), np.cos(a), low) for a in angles[::-1]]
    above = [(high + top * np.sin(a), np.cos(a), high) for a in angles]
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    unit = np.column_stack([np.cos(angle), np.sin(angle)])
    unit = np.sign(unit) * np.abs(unit) ** (2.0 / exponent)
    layers = []
    for z, shrink, at in [*below, *profile, *above]:
        rx, ry, cx, cy = curve(at)
        layers.append(
            np.column_stack([cx + shrink * rx * unit[:, 0], cy + shrink * ry * unit[:, 1], np.full(sides, z)])
        )
    poles = [[*curve(low)[2:], low - bottom], [*curve(high)[2:], high + top]]
    vertices = np.vstack([*layers, poles])
    count = len(layers)
    faces = []
    for k in range(sides):
        nxt = (k + 1) % sides
        for layer in range(count - 1):
            a, b, c, d = layer * sides + k, layer * sides + nxt, (layer + 1) * sides + nxt, (layer + 1) * sides + k
            faces += [(a, b, c), (a, c, d)]
        faces.append((count * sides, nxt, k))
        faces.append((count * sides + 1, (count - 1) * sides + k, (count - 1) * sides + nxt))
    triangles = np.asarray(faces)
    vertices.flags.writeable = triangles.flags.writeable = False
    return vertices, triangles


def add_shape(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, surface: tuple[np.ndarray, np.ndarray], rgba: Sequence[float]
) -> None:
    """Add a visual mesh, weightless and without collision, in the body's frame."""
    vertices, faces = surface
    mesh = spec.add_mesh(name=name)
    mesh.uservert = np.round(vertices, 5).reshape(-1).tolist()
    mesh.userface = faces.reshape(-1).tolist()
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    body.add_geom(
        name=f"{name}_skin",
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=name,
        rgba=list(rgba),
        contype=0,
        conaffinity=0,
        group=VISUAL_GROUP,
        mass=0,
    )
