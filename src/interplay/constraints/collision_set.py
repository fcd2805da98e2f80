"""Which shapes keep apart: pairs declared by model, body or shape.

By default every character's limbs among themselves, whatever is free from the ground (but feet, which land on it), and what is
held from its holder.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.constraints.contact import Contact
from interplay.constraints.held import HELD_ZONE, held_pairs
from interplay.errors import InputError, number
from interplay.models.base import COLLISION_GROUP, solid_shapes
from interplay.scene.penetration import collision_shapes
from interplay.scene.scene import GROUND, Scene

GROUND_ZONE = (0.02, 0.0)
"""Influence and security distance [m] of the ground: things come down on it, and no further."""


class Pair(NamedTuple):
    """Two shapes to keep apart: geoms, their bodies and trees (−1: fixed), distances d_i and d_s [m]."""

    geom1: int
    geom2: int
    body1: int
    body2: int
    tree1: int
    tree2: int
    influence: float
    security: float
    name: str
    lenient: bool = False
    """Whether shapes that are nearer than d_s already need not draw apart, only come no nearer: defaults ask for no more."""


class CollisionSet:
    """The pairs of shapes that avoid each other."""

    def __init__(self, scene: Scene, contacts: Callable[[], tuple[Contact, ...]] = tuple, *, strays_bump: bool = False):
        """Start with the default pairs; ``contacts`` are those in force, which say what is held.

        ``strays_bump``: what has no motor and touches nobody bumps into things by itself, so no plan keeps it apart from anything.
        """
        self._scene, self._contacts, self._strays_bump = scene, contacts, strays_bump
        self._powered = {s.tree for s in scene.subsystems if s.actuated.size}
        self._led = self._powered
        """Trees that a plan can lead: by their motors, or by who touches them."""
        self._by_shapes: dict[tuple[int, int], Pair] = {}
        self._may_touch: set[tuple[int, int]] = set()
        """Shapes that were let touch: what is held has no default there."""
        self._pairs: tuple[Pair, ...] | None = None
        self._touching: tuple[Contact, ...] = ()
        self._held: list[tuple[str, str]] = []
        """What is held, and a body that it keeps off."""
        for name in scene.names:
            if scene.kind(name) == "character":
                self.add_self(name)
        self._add_ground()

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs; the same tuple as long as nothing changes."""
        contacts = self._contacts()
        if contacts is not self._touching:
            self._touching, before = contacts, (self._held, self._led)
            self._held = list(held_pairs(self._scene, contacts))
            touched = (self._scene.model.body_treeid[[c.first.body, c.second.body]] for c in contacts)
            self._led = self._powered.union(*(trees.tolist() for trees in touched)) - {-1}
            if (self._held, self._led) != before:
                self._pairs = None
        if self._pairs is None:
            pairs = (*self._by_shapes.values(), *self._held_pairs().values())
            self._pairs = (
                tuple(p for p in pairs if p.tree1 in self._led or p.tree2 in self._led) if self._strays_bump else pairs
            )
        return self._pairs

    def __len__(self) -> int:
        """Return their number."""
        return len(self._by_shapes)

    def add(self, first: str, second: str, influence: float = 0.10, security: float = 0.02) -> int:
        """Keep two things apart and return how many pairs were added.

        Each side names a model (``alice``: all her collision shapes), a body (``alice/head``), a shape (``box/hull``) or
        ``ground``. ``influence`` d_i and ``security`` d_s are distances [m]; a pair that is there already takes them over.
        """
        influence, security = number("influence", influence, 1e-4, 5, "m"), number("security", security, 0, 5, "m")
        if security >= influence:
            raise InputError(
                f"avoiding {first!r} and {second!r}: expected security < influence, got {security:g} and {influence:g} m"
            )
        before = len(self)
        for a in self._shapes(first):
            for b in self._shapes(second):
                self._add(a, b, influence, security)
        return len(self) - before

    def add_self(self, name: str, influence: float = 0.02, security: float = 0.004) -> int:
        """Keep a character's limbs off each other: every pair of shapes that no joint joins and that is apart in her posture.

        What only one body lies between (a thigh and the other, a forearm and the chest) is close as she stands: it may come
        closer than the rest.
        """
        scene, m = self._scene, self._scene.model
        terms = scene.rest
        shapes, fromto, before = self._shapes(name), np.zeros(6), len(self)
        for k, a in enumerate(shapes):
            for b in shapes[k + 1 :]:
                joints = _joints_between(m, int(m.geom_bodyid[a]), int(m.geom_bodyid[b]))
                zone = (influence, security) if joints > 2 else (0.4 * influence, 0.5 * security)
                if joints > 1 and mujoco.mj_geomDistance(m, terms.data, a, b, 1.0, fromto) > security + 0.005:
                    self._add(a, b, *zone)
        return len(self) - before

    def remove(self, first: str, second: str) -> int:
        """Let two things touch again (a hand and the handle it will grasp); return how many pairs were removed."""
        a, b = set(self._shapes(first)), set(self._shapes(second))
        gone = [k for k in self._by_shapes if (k[0] in a and k[1] in b) or (k[0] in b and k[1] in a)]
        self._may_touch |= {(min(one, two), max(one, two)) for one in a for two in b}
        for key in gone:
            del self._by_shapes[key]
        self._pairs = None
        return len(gone)

    def clear(self) -> None:
        """Let everything touch, what is held and its holder too."""
        self._by_shapes, self._pairs, self._contacts = {}, None, tuple

    def _held_pairs(self) -> dict[tuple[int, int], Pair]:
        """Return the pairs of what is held and who holds it, without those that are declared otherwise."""
        m, out = self._scene.model, {}
        for thing, body in self._held:
            moving = [g for g in self._shapes(thing) if m.body_treeid[m.geom_bodyid[g]] >= 0]
            for a, b in itertools.product(moving, self._shapes(body)):
                key = (min(a, b), max(a, b))
                pair = self._pair(*key, *HELD_ZONE, lenient=True)
                if pair is not None and key not in self._by_shapes and key not in self._may_touch:
                    out[key] = pair
        return out

    def _add_ground(self) -> None:
        """Keep what is free off the ground; feet land on it, and where a contact puts something on it the pair has no say."""
        m = self._scene.model
        ground = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_GEOM, GROUND)
        feet = np.zeros(m.nbody, bool)
        feet[[int(m.site_bodyid[s]) for s in range(m.nsite) if m.site(s).name.endswith("_sole")]] = True
        for body in range(1, m.nbody):  # toes, too
            feet[body] |= feet[m.body_parentid[body]]
        free = m.jnt_type[m.body_jntadr[m.tree_bodyadr]] == int(mujoco.mjtJoint.mjJNT_FREE)
        for shape in collision_shapes(m) if ground >= 0 else ():
            body = int(m.geom_bodyid[shape])
            if m.body_treeid[body] >= 0 and free[m.body_treeid[body]] and not feet[body]:
                self._add(ground, shape, *GROUND_ZONE, lenient=True)

    def _add(self, a: int, b: int, influence: float, security: float, lenient: bool = False) -> None:
        pair = self._pair(min(a, b), max(a, b), influence, security, lenient)
        if pair is not None:
            self._by_shapes[pair.geom1, pair.geom2] = pair
            self._may_touch.discard((pair.geom1, pair.geom2))
            self._pairs = None

    def _pair(self, a: int, b: int, influence: float, security: float, lenient: bool) -> Pair | None:
        """Return the pair of two shapes; None where they cannot come nearer to each other."""
        m = self._scene.model
        body1, body2 = int(m.geom_bodyid[a]), int(m.geom_bodyid[b])
        tree1, tree2 = int(m.body_treeid[body1]), int(m.body_treeid[body2])
        if body1 == body2 or (tree1 < 0 and tree2 < 0):
            return None
        name = f"{m.geom(a).name} – {m.geom(b).name}"
        return Pair(a, b, body1, body2, tree1, tree2, influence, security, name, lenient)

    def _shapes(self, name: str) -> list[int]:
        """Return the collision shapes that a name stands for."""
        scene, m = self._scene, self._scene.model
        if mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_GEOM, name) >= 0:
            return [scene.geom(name)]
        if name in scene.names:
            bodies = [b for b in range(m.nbody) if m.body(b).name.startswith(f"{name}/")]
        else:
            bodies = [scene.body(name)]
        found = [g for g in np.flatnonzero(solid_shapes(m)).tolist() if int(m.geom_bodyid[g]) in bodies]
        hulls = [g for g in found if m.geom_group[g] == COLLISION_GROUP]
        if not found:
            raise InputError(f"{name!r} has no collision shape")
        return hulls or found


def _joints_between(m: mujoco.MjModel, a: int, b: int) -> int:
    """Return how many bodies with joints lie on the way between two bodies of a tree."""

    def path(body: int) -> list[int]:
        out = [body]
        while out[-1]:
            out.append(int(m.body_parentid[out[-1]]))
        return out

    pa, pb = path(a), path(b)
    shared = set(pa) & set(pb)
    return sum(1 for body in (*pa, *pb) if body not in shared and m.body_jntnum[body])
