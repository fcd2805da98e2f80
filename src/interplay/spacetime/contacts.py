"""Optimal motions' contacts and their wrenches, as recordings know them: soles on the ground, and hands that hold each other.

A sole that is flat is one contact as long as it stands. On an edge it rolls: its contact is made anew at each moment, in axes that stay
level, and as long as the edge is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from interplay.constraints.contact import Contact, make_contact
from interplay.control.state import Touching
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import GROUND, Scene
from interplay.scene.surfaces import ContactFrame, Surface, surface
from interplay.spacetime.body import SIDES
from interplay.spacetime.checking import Sampled
from interplay.spacetime.holding import Held, within
from interplay.spacetime.part import CARRIES, CORNERS, FLAT, Part


class Seen(NamedTuple):
    """A part, and what is seen of it at each frame."""

    part: Part
    sampled: Sampled


def wrenches(
    scene: Scene, time: np.ndarray, qpos: np.ndarray, qvel: np.ndarray, seen: Mapping[str, Seen], held: Sequence[Held]
) -> list[Touching]:
    """Return contacts and wrenches of each frame, of its configuration; ``time``: within the cycle that is repeated."""
    terms, standing = Kinematics(scene.model), dict[tuple[str, str], Contact]()
    grasping = [dict[int, Contact]() for _ in held]
    out = []
    for t in range(len(time)):
        terms.update(qpos[t], qvel[t])
        contacts, given = list[Contact](), list[np.ndarray]()
        for who, (part, sampled) in seen.items():
            phase = part.phases[int(sampled.phase[t])]
            for s, side in enumerate(SIDES):
                mode = phase.mode(side)
                if mode != FLAT:
                    standing.pop((who, side), None)
                if carries := CARRIES[mode]:
                    contact = standing.get((who, side)) or _sole(scene, terms, part, side, carries)
                    if mode == FLAT:
                        standing[who, side] = contact
                    contacts.append(contact)
                    places = [_place(terms, part, side, k) for k in carries]
                    given.append(_wrench(terms, contact, places, sampled.force[t, s, list(carries)]))
        for one, made in zip(held, grasping, strict=True):
            spans = [k for k, span in enumerate(one.during) if within(time[t : t + 1], [span])[0]]
            if spans:
                contact = made.setdefault(spans[0], _grasp(scene, terms, one))
                (who, index), _ = one.hands
                place = terms.xpos[contact.first.body] + terms.xmat[contact.first.body].reshape(3, 3) @ contact.p1
                contacts.append(contact)
                given.append(_wrench(terms, contact, [place], seen[who].sampled.pull[t, index : index + 1]))
        out.append(Touching(tuple(contacts), np.array(given).reshape(-1, 6)))
    return out


def _place(terms: Kinematics, part: Part, side: str, corner: int) -> np.ndarray:
    """Return where a corner of a sole is (3,)."""
    point = part.sole(side, *CORNERS[corner])
    b = part.body.bodies[point.link]
    return terms.xpos[b] + terms.xmat[b].reshape(3, 3) @ point.place


def _sole(scene: Scene, terms: Kinematics, part: Part, side: str, carries: Sequence[int]) -> Contact:
    """Return the contact of a sole, or of an edge of it, with what is below: its axes are level, x ahead."""
    first = surface(scene.model, scene.site(f"{part.body.name}/{side}_sole"))
    places = [_place(terms, part, side, k) for k in range(len(CORNERS))]
    ahead = np.sum([sign * place for (sign, _), place in zip(CORNERS, places, strict=True)], axis=0) * (1, 1, 0)
    x, z = ahead / np.linalg.norm(ahead), np.array([0.0, 0.0, 1.0])
    centre = np.mean([places[k] for k in carries], axis=0)
    edge = len({CORNERS[k][0] for k in carries}) == 1
    half = first.half * ((0.0, 1.0) if edge else (1.0, 1.0))
    frame = ContactFrame("planar", centre, np.column_stack([x, np.cross(z, x), z]), half)
    return make_contact(terms, first, _below(scene, terms, centre), frame)


def _below(scene: Scene, terms: Kinematics, place: np.ndarray) -> Surface:
    """Return the patch on which a place is: of what is fixed, the nearest in height that is below it."""
    m, near = scene.model, dict[float, Surface]()
    for site in range(m.nsite):
        if m.body_treeid[m.site_bodyid[site]] < 0 and m.site_type[site] == mujoco.mjtGeom.mjGEOM_BOX:
            local = terms.site_xmat[site].reshape(3, 3).T @ (place - terms.site_xpos[site])
            if (np.abs(local[:2]) <= m.site_size[site, :2]).all():
                near[abs(float(local[2]))] = surface(m, site)
    return near[min(near)] if near else surface(m, scene.site(GROUND))


def _grasp(scene: Scene, terms: Kinematics, held: Held) -> Contact:
    """Return the contact of two hands that hold each other."""
    first, second = (surface(scene.model, scene.site(name)) for name in held.surfaces)
    R = terms.site_xmat[first.site].reshape(3, 3).copy()
    return make_contact(terms, first, second, ContactFrame("grasp", terms.site_xpos[first.site].copy(), R, np.zeros(2)))


def _wrench(terms: Kinematics, contact: Contact, places: Sequence[np.ndarray], forces: np.ndarray) -> np.ndarray:
    """Return what forces in world axes at some places come to, in contact axes (6,)."""
    X = terms.xmat[contact.first.body].reshape(3, 3)
    centre, R = terms.xpos[contact.first.body] + X @ contact.p1, X @ contact.R1
    turn = sum((np.cross(place - centre, f) for place, f in zip(places, forces, strict=True)), np.zeros(3))
    return np.concatenate([R.T @ forces.sum(axis=0), R.T @ turn])
