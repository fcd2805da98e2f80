"""What is in a scene beside its characters: objects, mechanisms and the fixed environment, body by body."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from interplay.io.rig import Rig
from interplay.io.surfaces import Color, Surface, color_of, joined, surface
from interplay.io.take import Poses, Take
from interplay.view.cast import seen
from interplay.view.meshes import geom_mesh

WORLD = "environment"
"""What the world's own shapes are called."""


class Prop(NamedTuple):
    """A body that is seen, or carries one that is."""

    name: str
    body: int
    parent: int
    """Its place among the props; −1: none."""
    looks: tuple[tuple[Color, Surface], ...]
    """Its shapes in its own frame, joined by colour."""


def props_of(m: mujoco.MjModel, rigs: list[Rig]) -> list[Prop]:
    """Return all that is no character, parents before children. The ground is left out: it has no bounds."""
    others = set(range(m.nbody)) - {bone.body for rig in rigs for bone in rig.bones}
    shapes: dict[int, dict[Color, list[Surface]]] = {}
    for geom in seen(m).tolist():
        body = int(m.geom_bodyid[geom])
        if body in others:
            shapes.setdefault(body, {}).setdefault(color_of(m, geom), []).append(_shape(m, geom))
    wanted = set()
    for body in shapes:
        while body not in wanted:
            wanted.add(body)
            body = int(m.body_parentid[body])
    wanted -= set() if 0 in shapes else {0}
    out: list[Prop] = []
    places: dict[int, int] = {}
    for body in sorted(wanted):
        places[body] = len(out)
        parent = places.get(int(m.body_parentid[body]), -1) if body and m.body_parentid[body] else -1
        looks = tuple((color, joined(parts)) for color, parts in shapes.get(body, {}).items())
        out.append(Prop(m.body(body).name if body else WORLD, body, parent, looks))
    return out


def _shape(m: mujoco.MjModel, geom: int) -> Surface:
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, m.geom_quat[geom])
    return surface(*geom_mesh(m, geom)).moved(m.geom_pos[geom], turn.reshape(3, 3))


def prop_poses(props: list[Prop], take: Take) -> Poses:
    """Return props over time, each in the frame of its parent."""
    bodies = [prop.body for prop in props]
    at, turn = take.positions[:, bodies].copy(), take.rotations[:, bodies].copy()
    for k, prop in enumerate(props):
        if prop.parent >= 0:
            base = props[prop.parent].body
            back = take.rotations[:, base].transpose(0, 2, 1)
            at[:, k] = np.einsum("tij,tj->ti", back, take.positions[:, prop.body] - take.positions[:, base])
            turn[:, k] = back @ take.rotations[:, prop.body]
    return Poses(at, turn)
