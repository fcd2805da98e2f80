"""The contacts in force: made where surfaces meet at low speed, released by fading, removed by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np

from interplay.constraints.contact import FORCE_COST, Contact, make_contact, make_landing
from interplay.constraints.manner import EXACT, Manner
from interplay.errors import ContactError, flag, number, unknown_name
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene
from interplay.scene.surfaces import MAX_GAP, Surface, meet, surface

MAX_SPEED, MAX_TURN = 0.05, 0.3
"""Largest relative speed [m/s] and turning [rad/s] at which a contact may be made: both are soon stopped …"""
LANDING_SPEED, LANDING_TURN = 2.0, 8.0
"""… and of a foot that lands to catch its owner: a world in which things bump into each other stops it."""


class ContactSet:
    """Behaves like a collection of :class:`Contact`; ``terms`` gives the present kinematics."""

    def __init__(
        self, scene: Scene, terms: Callable[[], Kinematics], time: Callable[[], float], manner: Manner = EXACT
    ):
        """Start without contacts; ``manner`` is that of their world."""
        self._scene, self._terms, self._time, self._manner = scene, terms, time, manner
        self.items: tuple[Contact, ...] = ()
        self._broken: set[frozenset[str]] = set()
        """Surfaces of contacts that were broken."""

    def __iter__(self) -> Iterator[Contact]:
        """Iterate over the contacts."""
        return iter(self.items)

    def __len__(self) -> int:
        """Return their number."""
        return len(self.items)

    def add(self, first: str, second: str, **options: Any) -> Contact:
        """Make a contact where the two surfaces meet now, and put it in force; options as in ``prepare``."""
        return self.accept(self.prepare(first, second, **options))

    def accept(self, contact: Contact) -> Contact:
        """Put a prepared contact in force; they stand in a fixed order, so that a gait meets the same programs again."""
        self.items = _ordered(*self.items, contact)
        return contact

    def prepare(
        self,
        first: str,
        second: str,
        *,
        friction: float = 0.8,
        shrink: float | None = None,
        grip_force: float = 500.0,
        grip_torque: float = 25.0,
        min_force: float = 0.0,
        force_cost: float = FORCE_COST,
        fade: float = 0.0,
        landing: bool = False,
        raised: float = 0.0,
        pinned: bool = False,
    ) -> Contact:
        """Return a contact where the two surfaces meet now, without putting it in force.

        Args:
            first, second: surfaces, for example ``alice/left_sole`` and ``ip.GROUND``; their order does not matter.
            friction: Coulomb's coefficient of a planar contact, as plans believe it to be.
            shrink: by what part the region in which it may press is drawn in towards its middle; by default the world's.
            grip_force, grip_torque: strength of a grasp [N], [N·m], for each axis.
            min_force: least normal force of a planar contact [N], kept as long as it can be.
            force_cost: cost of the contact force [1/N²].
            fade: seconds over which the contact takes up its load.
            landing: whether the surfaces may still move against each other, as when a foot comes down to catch its owner.
            raised: how far before the second surface it lies [m]: what is touched there is not where that is known to be.
            pinned: plans take the two surfaces for glued: they bear any pull, push and turn, whatever friction would
                (abe2007, figure 4). In the direct world they are; in others nothing is glued.
        """
        a, b = self._sides(first, second)
        if self.between(first, second):
            raise ContactError(f"{first!r} and {second!r} are in contact already")
        terms = self._terms()
        lift = {second: number("raised", raised, -1, 1, "m")}
        poses = [self._pose(terms, side, lift.get(side.name, 0.0)) for side in (a, b)]
        frame = meet(a, poses[0], b, poses[1])
        slip = terms.motion(a.body, frame.position).velocity - terms.motion(b.body, frame.position).velocity
        speed, turn = (LANDING_SPEED, LANDING_TURN) if landing else (MAX_SPEED, MAX_TURN)
        if float(np.linalg.norm(slip[:3])) > speed or float(np.linalg.norm(slip[3:])) > turn:
            raise ContactError(
                f"{first!r} meets {second!r} at {np.linalg.norm(slip[:3]) * 100:.1f} cm/s and {np.linalg.norm(slip[3:]):.2f} rad/s, "
                f"expected at most {speed * 100:.0f} cm/s and {turn:g} rad/s"
            )
        lands = landing and frame.kind == "planar"
        return (make_landing if lands else make_contact)(
            terms,
            a,
            b,
            frame,
            **{"origins": [place for place, _ in poses]} if lands else {},
            friction=number("friction", friction, 0.01, 10),
            shrink=self._manner.shrink if shrink is None else number("shrink", shrink, 0, 0.95),
            grip_force=number("grip_force", grip_force, 1, 1e5, "N"),
            grip_torque=number("grip_torque", grip_torque, 0.01, 1e4, "N·m"),
            min_force=number("min_force", min_force, 0, 1e5, "N"),
            force_cost=number("force_cost", force_cost, 1e-12, 1e3, "1/N²"),
            pinned=flag("pinned", pinned),
            made_at=self._time(),
            fade_in=number("fade", fade, 0, 10, "s"),
        )

    def _sides(self, first: str, second: str) -> tuple[Surface, Surface]:
        """Return two surfaces in the order in which a contact has them."""
        a, b = (surface(self._scene.model, self._scene.site(name)) for name in (first, second))
        if a.body == b.body:
            raise ContactError(f"{first!r} and {second!r} belong to the same body")
        if a.fixed or b.kind == "point":
            a, b = b, a
        if a.fixed:
            raise ContactError(f"{first!r} and {second!r} are both fixed: nothing to constrain")
        return a, b

    def foresee(
        self, gone: Sequence[Contact], made: Sequence[tuple[str, str, dict[str, float]]]
    ) -> tuple[Contact, ...]:
        """Return the contacts as they will be without some and with others, all but where those will be: enough for a pattern."""
        new, here, no_turn = [], np.zeros(3), np.eye(3)
        for first, second, options in made:
            a, b = self._sides(first, second)
            new.append(
                Contact(
                    a,
                    b,
                    a.kind,
                    np.ones(2),
                    *(here, no_turn, here, no_turn),
                    min_force=options.get("min_force", 0.0),
                    pinned=bool(options.get("pinned", False)),
                )
            )
        return _ordered(*(c for c in self.items if not any(c is g for g in gone)), *new)

    def between(self, first: str, second: str) -> bool:
        """Return whether two surfaces are in contact."""
        return any({c.first.name, c.second.name} == {first, second} for c in self.items)

    def find(self, first: str, second: str | None = None) -> Contact:
        """Return the contact of a surface, or of a pair of surfaces."""
        for contact in self.items:
            names = {contact.first.name, contact.second.name}
            if first in names and (second is None or second in names):
                return contact
        for name in (first, second):
            if name is not None:
                self._scene.site(name)
        raise unknown_name(
            "contact",
            first if second is None else f"{first} – {second}",
            [" – ".join((c.first.name, c.second.name)) for c in self.items],
        )

    def remaining(self, pairs: Iterable[tuple[str, ...]]) -> list[Contact]:
        """Return the contacts of surfaces, or of pairs of surfaces, without those that somebody has broken already."""
        now = [{c.first.name, c.second.name} for c in self.items]
        out = []
        for names in pairs:
            broken = any(gone.issuperset(names) for gone in self._broken)
            if not broken or any(both.issuperset(names) for both in now):
                out.append(self.find(*names))
        return out

    def release(self, first: str, second: str | None = None, fade: float = 0.3) -> None:
        """Begin to fade a contact's force out; ``remove`` it when it is gone."""
        contact = self.find(first, second)
        self._swap(contact, replace(contact, release_at=self._time(), fade_out=number("fade", fade, 0, 10, "s")))

    def set_shrink(self, first: str, second: str | None = None, shrink: float | None = None) -> None:
        """Draw the region of a contact in by another part than before; None: by the world's."""
        contact = self.find(first, second)
        part = self._manner.shrink if shrink is None else number("shrink", shrink, 0, 0.95)
        if part != contact.shrink:
            self._swap(contact, replace(contact, shrink=part))

    def remove(self, first: str, second: str | None = None) -> None:
        """Break a contact at once."""
        contact = self.find(first, second)
        self._broken.add(frozenset((contact.first.name, contact.second.name)))
        self._swap(contact, None)

    def drift(self) -> np.ndarray:
        """Return how far [m] each contact has moved from where it was made: between the copies of its frame in the two bodies."""
        terms, out = self._terms(), np.zeros(len(self.items))
        for k, c in enumerate(self.items):
            one, two = (
                terms.xpos[s.body] + terms.xmat[s.body].reshape(3, 3) @ p
                for s, p in ((c.first, c.p1), (c.second, c.p2))
            )
            out[k] = np.linalg.norm(one - two)
        return out

    def apart(self) -> list[str]:
        """Return the contacts whose two sides are farther apart now than a contact may be made."""
        moved = zip(self.items, self.drift().tolist(), strict=True)
        return [f"{c.first.name} – {c.second.name} by {gap * 1e3:.0f} mm" for c, gap in moved if gap > MAX_GAP]

    def restore(self, data: list[dict[str, Any]]) -> None:
        """Put back the contacts of a checkpoint."""
        self.items = tuple(contact_from(self._scene.model, entry) for entry in data)

    def _swap(self, old: Contact, new: Contact | None) -> None:
        self.items = tuple(c if c is not old else new for c in self.items if not (c is old and new is None))  # type: ignore[misc]

    @staticmethod
    def _pose(terms: Kinematics, s: Surface, raised: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        turn = terms.site_xmat[s.site].reshape(3, 3).copy()
        return terms.site_xpos[s.site] + raised * turn[:, 2], turn


def _ordered(*contacts: Contact) -> tuple[Contact, ...]:
    return tuple(sorted(contacts, key=lambda c: (c.first.site, c.second.site)))


def contact_from(m: mujoco.MjModel, data: dict[str, Any]) -> Contact:
    """Return the contact of a checkpoint."""
    data = dict(data)
    sites = [mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_SITE, data.pop(k)) for k in ("first", "second")]
    first, second = (surface(m, site) for site in sites)
    kind = data.pop("kind")
    arrays: list[Any] = [np.array(data.pop(k), float) for k in ("half", "p1", "R1", "p2", "R2")]
    return Contact(first, second, kind, *arrays, **data)
