"""Contacts: one wrench each, no-slip with drift correction, and the cone in which the wrench may lie.

The unknown w of a contact is the wrench ON the first body BY the second, at the contact point, in the axes of the contact
frame C. With J = J1 − J2 (6D, at p_C1, C axes) the same rows serve twice: the no-slip rows J q̈ = … (18), (20), and the
generalized force Jᵀw (12), in which the second body gets −w by construction: Newton's third law. A point contact has the
three linear rows and a force only; its axes are those of the second body, so that the first may roll over the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from interplay.constraints.base import GivesWay, RowBlock
from interplay.constraints.contact_kernels import contact_rows, entries, forces, movers
from interplay.constraints.footing import counted_on, patch_cone
from interplay.constraints.manner import EXACT, Manner
from interplay.constraints.opening import openings
from interplay.scene.kinematics import Kinematics
from interplay.scene.surfaces import ContactFrame, Surface

FORCE_COST = 1e-6
"""Default cost of a contact force [1/N²]; torques cost as much as the force at an arm of 0.1 m."""

LEAST_FORCE = GivesWay("force", 0, np.inf, "N")
"""How a wished minimum normal force gives way: it is a comfort, not a law."""

SLIP, TURN = GivesWay("slip", 4, np.inf, "m/s²"), GivesWay("slip", 4, np.inf, "rad/s²")
"""How the linear and the angular no-slip rows give way."""


@dataclass(frozen=True)
class Contact:
    """A contact between two surfaces, made at one moment; ``p``, ``R`` are the frame C in the two bodies."""

    first: Surface
    second: Surface
    kind: str
    half: np.ndarray
    p1: np.ndarray
    R1: np.ndarray
    p2: np.ndarray
    R2: np.ndarray
    friction: float = 0.8
    shrink: float = 0.0
    grip_force: float = 500.0
    grip_torque: float = 25.0
    min_force: float = 0.0
    force_cost: float = FORCE_COST
    pinned: bool = False
    made_at: float = -np.inf
    fade_in: float = 0.0
    release_at: float = np.inf
    fade_out: float = 0.0
    label: tuple[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Name the two sides; the fixed environment is the world."""
        object.__setattr__(self, "label", (self.first.name, "world" if self.second.fixed else self.second.name))

    @property
    def second_side(self) -> np.ndarray:
        """What turns a force on the first surface into the one on the second, each in its own contact axes.

        It acts back; and with the two sides swapped the frame of patches has the axes (x, −y, −z), a grip's the same.
        """
        return -np.ones(3) if self.kind == "grasp" else np.array([-1.0, 1.0, 1.0])

    @property
    def released_at(self) -> float:
        """When its force has faded out [s]; infinite as long as it is not released."""
        return self.release_at + self.fade_out

    def cone(self) -> np.ndarray:
        """Return the facets E, E w ≥ 0, of the wrenches that friction allows; a grasp and what is pinned have none."""
        if not self.facets:
            return np.zeros((0, self.dim))
        return point_cone(self.friction) if self.kind == "point" else cone(self.half, self.friction)

    def counted_on(self) -> np.ndarray:
        """Return the facets of what plans count on: pressure keeps off the edges of a patch by its ``shrink``."""
        return cone((1.0 - self.shrink) * self.half, self.friction) if self.facets == 16 else self.cone()

    @property
    def facets(self) -> int:
        """Number of facets of its cone."""
        if self.pinned or self.kind == "grasp":
            return 0
        return 4 if self.kind == "point" else 16

    @property
    def dim(self) -> int:
        """Number of rows and of unknowns: 6, of a point contact 3."""
        return 3 if self.kind == "point" else 6

    def checkpoint(self) -> dict[str, Any]:
        """Return what restores this contact, as plain numbers."""
        return {
            "first": self.first.name,
            "second": self.second.name,
            "kind": self.kind,
            **{k: getattr(self, k).tolist() for k in ("half", "p1", "R1", "p2", "R2")},
            **{k: getattr(self, k) for k in _NUMBERS},
        }


_NUMBERS = (
    "friction",
    "shrink",
    "grip_force",
    "grip_torque",
    "min_force",
    "force_cost",
    "pinned",
    "made_at",
    "fade_in",
    "release_at",
    "fade_out",
)


def make_contact(terms: Kinematics, first: Surface, second: Surface, frame: ContactFrame, **options: Any) -> Contact:
    """Fix the frame C in both bodies at the present configuration."""
    local = []
    for body in (first.body, second.body):
        R = terms.xmat[body].reshape(3, 3)
        local += [R.T @ (frame.position - terms.xpos[body]), R.T @ frame.rotation]
    return Contact(first, second, frame.kind, frame.half, *local, **options)


def make_landing(
    terms: Kinematics,
    first: Surface,
    second: Surface,
    frame: ContactFrame,
    origins: Sequence[np.ndarray],
    **options: Any,
) -> Contact:
    """Fix the frame C in each body where its own surface is, through its origin: what lands askew is to come down flat."""
    local = []
    for side, sign, origin in ((first, -1.0, origins[0]), (second, 1.0, origins[1])):
        axes = terms.site_xmat[side.site].reshape(3, 3)
        z = sign * axes[:, 2]
        x = frame.rotation[:, 0] - z * (frame.rotation[:, 0] @ z)
        x /= np.linalg.norm(x)
        R = terms.xmat[side.body].reshape(3, 3)
        place = frame.position - z * (z @ (frame.position - origin))
        local += [R.T @ (place - terms.xpos[side.body]), R.T @ np.column_stack([x, np.cross(z, x), z])]
    return Contact(first, second, frame.kind, frame.half, *local, **options)


def point_cone(friction: float) -> np.ndarray:
    """Return the 4 facets E (4, 3), E f ≥ 0, of a pyramid inside Coulomb's cone: |fx|, |fy| ≤ μ/√2 fz."""
    mu = friction / np.sqrt(2.0)
    return np.array([[1, 0, mu], [-1, 0, mu], [0, 1, mu], [0, -1, mu]], float)


def cone(half: np.ndarray, friction: float) -> np.ndarray:
    """Return the 16 facets E (16, 6), E w ≥ 0, of the wrenches that four corner forces of a rectangle can make."""
    facets = np.empty((16, 6))
    patch_cone(half, friction, facets)
    return facets


class ContactRows:
    """The contacts of one problem as arrays: Jacobians, no-slip right-hand sides, costs and frames, all from one kernel."""

    def __init__(self, terms: Kinematics, contacts: Sequence[Contact]):
        """Find the DOFs that move each contact; a DOF that moves both bodies alike drops out."""
        self.contacts = contacts
        n = len(contacts)
        self.dim = np.array([c.dim for c in contacts], np.int64)
        self.start = np.concatenate([[0], np.cumsum(self.dim)]).astype(np.int64)
        """First unknown (and first row) of each contact; last, their number."""
        self.size = int(self.start[-1])
        self._bodies = np.array([(c.first.body, c.second.body) for c in contacts], np.int64).reshape(n, 2)
        cols, sign, self.width = movers(self._bodies, terms.chain_start, terms.chain_dofs)
        self._cols, self._sign = (np.ascontiguousarray(part[:, : self.width]) for part in (cols, sign))
        self._sites = np.array([c.first.site for c in contacts], np.int64)
        self._p = np.array([(c.p1, c.p2) for c in contacts]).reshape(n, 2, 3)
        self._R = np.array([(c.R1, c.R2) for c in contacts]).reshape(n, 2, 3, 3)
        self._half = np.array([c.half if c.kind != "grasp" else (-1.0, -1.0) for c in contacts]).reshape(n, 2)
        timing = [(c.made_at, c.fade_in, c.release_at, c.fade_out, c.force_cost, c.min_force) for c in contacts]
        self._timing = np.array(timing, float).reshape(n, 6)
        self._believed = np.array([(-1.0 if c.pinned else c.friction, c.shrink) for c in contacts], float).reshape(n, 2)
        self.position = np.zeros((n, 3))
        self.rotation = np.zeros((n, 3, 3))
        self.drift = np.zeros((n, 6))
        self.rhs = np.zeros(self.size)
        self.cost = np.zeros(self.size)
        """Cost of each unknown: low when loaded, so high when faded that the force vanishes."""
        self.least = np.zeros(n)
        """Least normal force [N] that is wished for."""

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return unknown (or row), DOF and place in a Jacobian (n, 6, width) of each of its entries."""
        return entries(self.dim, self.start, self._cols, self._sign)

    @property
    def movers(self) -> tuple[np.ndarray, np.ndarray]:
        """The DOFs (n, width) of a Jacobian's columns, and their signs: from the first 0 on, none."""
        return self._cols, self._sign

    def row_blocks(self, slip: int, wrench: int, pressed: np.ndarray) -> list[RowBlock]:
        """Return the rows that may give way: no-slip rows, in A from ``slip`` on, and least forces ``pressed``.

        These are bounds on unknowns, the first of which is the variable ``wrench``.
        """

        def name(row: int) -> str:
            return " – ".join(self.contacts[int(np.searchsorted(self.start, row, "right")) - 1].label)

        linear = np.arange(self.size) - np.repeat(self.start[:-1], self.dim) < 3
        return [
            RowBlock("x", pressed, LEAST_FORCE, lambda variable: name(variable - wrench)),
            RowBlock("A", slip + np.flatnonzero(linear), SLIP, lambda row: name(row - slip)),
            RowBlock("A", slip + np.flatnonzero(~linear), TURN, lambda row: name(row - slip)),
        ]

    def update(self, terms: Kinematics, time: float, dt: float, jacobian: np.ndarray, manner: Manner = EXACT) -> None:
        """Fill ``jacobian`` (n, 6, width), right-hand sides and costs for the present state."""
        if self.contacts:
            contact_rows(
                terms.xpos,
                terms.xmat,
                terms.subtree_com,
                terms.root,
                terms.cdof,
                terms.cvel,
                terms.bias_acc,
                self._bodies,
                self._p,
                self._R,
                self._cols,
                self._sign,
                self.dim,
                self.start,
                self._timing,
                time,
                dt,
                manner.pull,
                min(manner.stop * dt, 1.0),
                manner.back,
                self._half,
                jacobian,
                self.rhs,
                self.cost,
                self.least,
                self.position,
                self.rotation,
                self.drift,
            )

    def counted_on(self, cones: np.ndarray) -> None:
        """Write the cones (their facets, one after another) of what the contacts can be counted on for now."""
        counted_on(self.dim, self._half, self._believed, self.rotation, self.drift, cones)

    def opening(self) -> tuple[np.ndarray, float]:
        """Return how far the two sides of each contact have opened (n,) [m], at the corner where they have most, and the widest.

        A grasp does not open.
        """
        return openings(self.dim, self._half, self.rotation, self.drift)

    def forces(
        self, terms: Kinematics, unknowns: np.ndarray, jacobian: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return wrenches (n, 6) in contact axes and in world axes at their first sites, and their generalized force (nv,)."""
        n = len(self.contacts)
        wrenches, at_sites, total = np.zeros((n, 6)), np.zeros((n, 6)), np.zeros(terms.model.nv)
        if n:
            forces(
                unknowns,
                self.dim,
                self.start,
                jacobian,
                self._cols,
                self._sign,
                self.position,
                self.rotation,
                terms.site_xpos,
                self._sites,
                wrenches,
                at_sites,
                total,
            )
        return wrenches, at_sites, total
