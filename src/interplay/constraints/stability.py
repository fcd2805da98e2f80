"""Where a centre of mass may be: the horizontal places at which contact forces exist that keep a body at rest.

At rest the contacts' forces f at points p and their torques t balance the weight at the centre of mass c:

    Σ f = m g ẑ,    Σ p × f + t = c × m g ẑ = m g (c_y, −c_x, 0),

each wrench within what friction or a grip's strength allows. That is linear in wrenches and c together, so the c for which
there is a solution are a convex polygon, and what is farthest in a direction is a linear program; a few directions give all of
it (Bretl and Lall, Testing Static Equilibrium for Legged Robots, IEEE T-RO 2008). Over level ground it is the hull of the soles;
a hand at height z that presses against a wall with F moves its edge by F z/(m g).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.constraints.contact import Contact
from interplay.errors import InputError, number, vector
from interplay.maths.hull import convex_hull
from interplay.maths.simplex import LinearProgram
from interplay.scene.kinematics import Kinematics

REACH = 2.0
"""How far from the middle of its contacts, along x and y, a centre of mass is looked for [m]: between two walls any is possible."""

TOLERANCE = 1e-4
"""How far the region may go beyond its polygon [m]."""

_SIGNS = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)], float)


class StabilityRegion(NamedTuple):
    """A convex region of horizontal places, in world axes."""

    corners: np.ndarray
    """Counter-clockwise (k, 2) [m]; two of a segment, one of a point, none where nothing can be at rest."""

    @property
    def empty(self) -> bool:
        """Whether no place is stable."""
        return len(self.corners) == 0

    @property
    def centre(self) -> np.ndarray:
        """The middle (2,) [m] of its area; of a segment or a point, of that. An empty region has none."""
        if self.empty:
            raise InputError(
                "a stability region that is empty has no centre: the contacts cannot hold anything at rest"
            )
        a, b = self.corners - self.corners[0], np.roll(self.corners, -1, axis=0) - self.corners[0]
        cross = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        if cross.sum() < 1e-9:
            return self.corners.mean(axis=0)
        return self.corners[0] + cross @ (a + b) / (3.0 * cross.sum())

    def margin(self, place: Sequence[float] | np.ndarray) -> float:
        """Return how far inside its edges a place (x, y, …) is [m]; negative outside, −∞ of an empty region."""
        point, n = np.asarray(place, float)[:2], len(self.corners)
        if n == 0:
            return -np.inf
        a, edge = self.corners, np.roll(self.corners, -1, axis=0) - self.corners
        along = np.clip(((point - a) * edge).sum(axis=1) / np.maximum((edge**2).sum(axis=1), 1e-18), 0.0, 1.0)
        nearest = float(np.linalg.norm(point - a - along[:, None] * edge, axis=1).min())
        left = edge[:, 0] * (point - a)[:, 1] - edge[:, 1] * (point - a)[:, 0]
        return nearest if n > 2 and (left >= 0.0).all() else -nearest


def stability_region(
    terms: Kinematics,
    contacts: Iterable[Contact],
    trees: Sequence[int],
    forces: Iterable[tuple[Sequence[float], Sequence[float]]] = (),
    reach: float = REACH,
    tolerance: float = TOLERANCE,
) -> StabilityRegion:
    """Return where the common centre of mass of some kinematic trees may be, with the contacts where they are.

    What is held, leant on or stood on and is itself free to move (a box, another character) must be at rest where it is, too:
    third law. The environment and mechanisms hold. Contacts among the trees cancel out.

    Args:
        terms: the present kinematics.
        contacts: those in force; friction and strength are theirs.
        trees: those that are taken together; each must be free to move.
        forces: known ones on them: pairs of a place [m] and a force [N], world axes.
        reach: how far from the middle of their contacts, along x and y, to look [m].
        tolerance: how far the region may go beyond the polygon [m].
    """
    reach, tolerance = number("reach", reach, 0.01, 100.0, "m"), number("tolerance", tolerance, 1e-7, 1.0, "m")
    known = [(vector("place of a force", place, 3), vector("force", force, 3)) for place, force in forces]
    resting = _Resting(terms, trees, contacts)
    if not resting.contacts:
        return StabilityRegion(np.empty((0, 2)))
    frames = [_frame(terms, c) for c, _ in resting.contacts]
    origin = np.mean([p for (p, _), (_, sides) in zip(frames, resting.contacts, strict=True) if 0 in sides], axis=0)
    weight = resting.weight.sum()
    # Unknowns: the place, within reach, then the parts of each contact's wrench; in units of the weight.
    A, lower, upper = [resting.place_columns() / weight], [np.full(2, -reach)], [np.full(2, reach)]
    for (contact, sides), (p, R) in zip(resting.contacts, frames, strict=True):
        columns, strength = _wrenches(contact, p - origin, R)
        block = np.zeros((len(resting.weight), 6, columns.shape[1]))
        for side, sense in zip(sides, (1.0, -1.0), strict=True):
            if side is not None:
                block[side] += sense * columns
        A.append(block.reshape(-1, columns.shape[1]))
        bounded = np.isfinite(strength)
        lower.append(np.where(bounded, -strength / weight, 0.0))
        upper.append(strength / weight)
    wanted = resting.load(origin)
    for place, force in known:
        wanted[:6] -= np.concatenate([force, np.cross(place - origin, force)])
    rows, low, high = np.hstack(A), np.concatenate(lower), np.concatenate(upper)
    program = LinearProgram(rows, wanted / weight - rows @ low, high - low)
    if not program.feasible:
        return StabilityRegion(np.empty((0, 2)))

    def farthest(direction: np.ndarray) -> np.ndarray:
        goal = np.zeros(len(low))
        goal[:2] = direction
        return program.best(goal)[:2] - reach

    return StabilityRegion(convex_hull(_outline(farthest, tolerance)) + origin[:2])


def free_trees(m: mujoco.MjModel) -> list[int]:
    """Return the kinematic trees that nothing ties to the world but contacts."""
    return np.flatnonzero(m.jnt_type[m.body_jntadr[m.tree_bodyadr]] == mujoco.mjtJoint.mjJNT_FREE).tolist()


class _Resting:
    """Who must be at rest: the trees taken together, as the first, and each other free tree that contacts lead to from there."""

    def __init__(self, terms: Kinematics, own: Sequence[int], contacts: Iterable[Contact]):
        """Follow the contacts."""
        m = terms.model
        free, roots = free_trees(m), m.tree_bodyadr.astype(int)
        if not own or not set(own) <= set(free):
            names = [m.body(int(roots[t])).name.split("/")[0] for t in own]
            raise InputError(
                f"stability region: expected something that is free to move, got {', '.join(names) or 'nothing'}"
            )
        # Each by one of its trees, the world by −1.
        party = {t: t for t in free} | dict.fromkeys(own, own[0])
        pairs = [(c, *(party.get(int(m.body_treeid[s.body]), -1) for s in (c.first, c.second))) for c in contacts]
        pairs = [(c, a, b) for c, a, b in pairs if a != b]
        order, reached = [own[0]], 0
        while reached < len(order):  # one after another, those whom the next one touches
            near = [{a, b} for _, a, b in pairs if order[reached] in (a, b)]
            order += sorted({t for both in near for t in both} - {-1, *order})
            reached += 1
        place = {t: k for k, t in enumerate(order)}
        self.contacts = [(c, (place.get(a), place.get(b))) for c, a, b in pairs if a in place or b in place]
        """The contacts that count, with whom they are between: places among those at rest, None for the world."""
        groups = [roots[sorted({*own})], *(roots[[t]] for t in order[1:])]
        gravity = -float(m.opt.gravity[2])
        self.weight = np.array([gravity * terms.subtree_mass[g].sum() for g in groups])
        """Of each [N]."""
        if not (self.weight > 0.0).all():
            raise InputError("stability region: expected gravity, without which every place is as good as another")
        self._com = np.array(
            [terms.subtree_mass[g] @ terms.subtree_com[g] / terms.subtree_mass[g].sum() for g in groups]
        )

    def place_columns(self) -> np.ndarray:
        """Return by how much the torques [N·m] that the first one's weight asks for grow with its place, with the sign of a load."""
        out = np.zeros((len(self.weight), 6, 2))
        out[0, 3, 1], out[0, 4, 0] = -self.weight[0], self.weight[0]
        return out.reshape(-1, 2)

    def load(self, origin: np.ndarray) -> np.ndarray:
        """Return the forces [N] and torques [N·m] about an origin that hold each; of the first as if it were there."""
        out = np.zeros((len(self.weight), 6))
        out[:, 2] = self.weight
        out[1:, 3] = self.weight[1:] * (self._com[1:, 1] - origin[1])
        out[1:, 4] = -self.weight[1:] * (self._com[1:, 0] - origin[0])
        return out.reshape(-1)


def _frame(terms: Kinematics, c: Contact) -> tuple[np.ndarray, np.ndarray]:
    """Return place and axes of a contact in the world; a point contact has the axes of its second body."""
    first, second = (terms.xmat[s.body].reshape(3, 3) for s in (c.first, c.second))
    return terms.xpos[c.first.body] + first @ c.p1, second @ c.R2 if c.kind == "point" else first @ c.R1


def _wrenches(c: Contact, p: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what a contact's wrench on its first body is made of, about the origin (6, k), and the strength of each part.

    A patch gives the forces of its four corners, each a positive sum of the edges of the pyramid inside Coulomb's cone that
    ``contact.cone`` is made of, as large as you like; a grasp a force and a torque of either sense along each of its axes.
    """
    if c.kind == "grasp":
        turn = np.zeros((6, 6))
        turn[:3, :3] = turn[3:, 3:] = R
        turn[3:, :3] = np.cross(p, R.T).T
        return turn, np.repeat([c.grip_force, c.grip_torque], 3)
    corners = p + (_SIGNS * c.half) @ R[:, :2].T if c.kind == "planar" else p[None]
    edges = np.column_stack([c.friction / np.sqrt(2.0) * _SIGNS, np.ones(4)]) @ R.T
    at, force = np.repeat(corners, 4, axis=0), np.tile(edges, (len(corners), 1))
    return np.hstack([force, np.cross(at, force)]).T, np.full(len(at), np.inf)


def _outline(farthest: Callable[[np.ndarray], np.ndarray], tolerance: float) -> np.ndarray:
    """Return points (k, 2) around a convex region, given by its farthest point in a direction.

    Beyond each edge of what is known so far nothing may lie farther out than the tolerance; else the edge is broken there.
    """
    angles = 0.3 + 2.0 * np.pi / 3.0 * np.arange(3)
    first = [farthest(np.array([np.cos(a), np.sin(a)])) for a in angles]
    out, edges = [], list(zip(first, first[1:] + first[:1], strict=True))[::-1]
    while edges:
        a, b = edges.pop()
        away = np.array([b[1] - a[1], a[0] - b[0]])
        length = float(np.hypot(*away))
        if length > tolerance:
            beyond = farthest(away / length)
            if (beyond - a) @ away > tolerance * length:
                edges += [(beyond, b), (a, beyond)]
                continue
        out.append(a)
    return np.round(out, 9)
