"""Falls: who can no longer be kept up, and why; told from contacts, what gave way and what rests where, never from speed alone.

A character falls when what it stands on has come off (a sole has tipped, opened or slid away), when it lies on the ground with a
body that nobody put there, when contacts or motors that keep it have given way for long, when after a disturbance a foot cannot be put
down where it should be, or when nothing has carried it until it is far below where it was. A planned flight is none of these: it
counts on no contact, and nothing gives way. Who has fallen lets go of everything, and its motors only damp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interplay.constraints.contact import Contact
from interplay.control.plan import Plan
from interplay.errors import InterplayError
from interplay.motion.unled import Unled
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene

if TYPE_CHECKING:
    from interplay.simulation import Simulation
    from interplay.worlds.world import Outcome

TORN, SLID, TIPPED, TWISTED = 0.03, 0.10, 0.35, 1.0
"""A support has come off when it has opened so far [m], slid so far [m], tipped so far or twisted so far about its normal [rad] …"""
TORN_FOR = 0.1
"""… for so long [s]."""

LIES_FOR = 0.1
"""Who lies on the ground for so long [s] has fallen."""

GIVEN_WAY_FOR = 0.5
"""What keeps a character may give way for so long [s]; it recovers as fast as it went."""

THROWN, THROWN_FOR = 50.0, 0.02
"""Who must slip by so much [m/s², rad/s²] on what it stands on, for so long [s], is thrown off it, where things touch by themselves: of 25
who were, in 108 ordeals, all fell, and a plan for them, in which everything gives way, takes longest."""

SUNK = 1.5
"""How far below where it was carried last [m] a character is that falls without touching anything."""

SHAKEN_FOR = 3.0
"""So long [s] after a disturbance, a contact that cannot be made is a stumble; otherwise it is a mistake in the script."""

_KEEPING = frozenset({"slip", "torque", "solver"})
"""Kinds of conflicts that mean that a character is not kept, at its supports and motors."""

_HINT = "is there a 'com' and a 'balance' objective for {0}, and all that is asked of {0} within reach?"


class Watched:
    """What is known of one character."""

    def __init__(self, scene: Scene, name: str):
        """Take the scene and the character's name."""
        m = scene.model
        self.name, self.tree = name, scene.trees(name)[0]
        self.root = int(m.tree_bodyadr[self.tree])
        self.height = np.inf
        """Height [m] of its centre of mass when it was carried last."""
        self.seconds = {"torn": 0.0, "lies": 0.0, "thrown": 0.0, "given way": 0.0}
        """How long what is not good has lasted."""
        self.held = False
        """Whether any contact holds it now …"""
        self.supports: list[int] = []
        """… and which of them it stands on."""


class Falls:
    """Watches the characters of one simulation; what it remembers is in its checkpoint."""

    def __init__(self, scene: Scene, dt: float, unled: Unled):
        """Take the scene, the step [s], and who is not led by the program: who falls becomes one of them."""
        self._scene, self._dt, self._unled = scene, dt, unled
        self._tree = scene.model.body_treeid.astype(np.int64)
        self.characters = [Watched(scene, s.name) for s in scene.subsystems if scene.kind(s.name) == "character"]
        self._trees = {who.tree for who in self.characters}
        self.fallen: dict[str, str] = {}
        """Who has fallen, and how."""
        self._stood: set[int] = set()
        """Bodies that were put on something at some time."""
        self._contacts: tuple[Contact, ...] | None = None
        self.expected: set[str] = set()
        """Who deals with falls by itself: what would be one is told in ``lost`` …"""
        self.lost: dict[str, str] = {}
        """… until its behaviour has taken it up."""
        self._shaken = -np.inf
        self._well = True

    # -- who falls -----------------------------------------------------------------------------------------------------

    def update(self, sim: Simulation, outcome: Outcome, pushed: bool) -> None:
        """Look at what came of a step, and whether someone was pushed in it."""
        plan, terms = outcome.plan, sim.terms
        if plan.contacts is not self._contacts:
            self._take_up(plan.contacts, terms)
        lying = any(self._tree[b] in self._trees for b in outcome.resting)  # a ball may lie wherever it likes
        fine = not outcome.conflicts and not lying and not plan.opened
        if pushed or not fine:
            self._shaken = sim.time
        if not (fine and self._well):
            self._judge(sim, outcome)
        heights = terms.subtree_com
        for who in self.characters:
            height = heights[who.root, 2]
            if who.held or who.height == np.inf or self._unled.serves(who.name):
                who.height = height
            elif height < who.height - SUNK and who.name not in self.fallen:
                self._fall(sim, who, f"nothing carries it, and it has sunk by {who.height - height:.1f} m")

    def stumbles(self, sim: Simulation, error: InterplayError) -> bool:
        """Return whether a contact that cannot be made is a fall: someone was disturbed just now, and misses it."""
        if self.fallen or self.lost:
            return True
        concerned = [who for who in self.characters if f"'{who.name}/" in str(error)]
        if not concerned or sim.time - self._shaken > SHAKEN_FOR:
            return False
        self._fall(sim, concerned[0], f"it stumbles: {error}")
        return True

    def _take_up(self, contacts: tuple[Contact, ...], terms: Kinematics) -> None:
        """Find out who stands on which contacts: those, no grasps, that press upward."""
        self._contacts = contacts
        for who in self.characters:
            who.held, who.supports = False, []
            for k, c in enumerate(contacts):
                mine = [self._tree[s.body] == who.tree for s in (c.first, c.second)]
                if not any(mine):
                    continue
                who.held = True
                up = self._normal(c, terms)[2]
                if c.kind != "grasp" and (up > 0.5 if mine[0] else up < -0.5):
                    who.supports.append(k)
                    self._stood.add(int((c.first if mine[0] else c.second).body))

    def _judge(self, sim: Simulation, outcome: Outcome) -> None:
        """Count how long what is not good lasts for each character, and say who falls."""
        plan, dt = outcome.plan, self._dt
        self._well = True
        for who in self.characters:
            if who.name in self.fallen:
                continue
            if self._unled.serves(who.name):  # nobody counts on anything
                who.seconds = dict.fromkeys(who.seconds, 0.0)
                continue
            signs = {
                "torn": (TORN_FOR, self._torn(who, plan, sim.terms, sim.time)),
                "lies": (LIES_FOR, self._lies(who, outcome)),
                "thrown": (THROWN_FOR, self._thrown(who, outcome)),
                "given way": (GIVEN_WAY_FOR, self._gives_way(who, outcome)),
            }
            for sign, (longest, what) in signs.items():
                who.seconds[sign] = max(who.seconds[sign] + (dt if what else -dt), 0.0)
                self._well = self._well and who.seconds[sign] == 0.0
                if what and who.seconds[sign] >= longest - 1e-9:
                    self._fall(sim, who, what)
                    break

    @staticmethod
    def _normal(contact: Contact, terms: Kinematics) -> np.ndarray:
        """Return the normal (3,) of a contact as its first side has it."""
        return terms.xmat[contact.first.body].reshape(3, 3) @ contact.R1[:, 2]

    def _torn(self, who: Watched, plan: Plan, terms: Kinematics, time: float) -> str:
        """Return which support has come off, in words; nothing where none has."""
        for k in who.supports:
            c, drift = plan.contacts[k], plan.drift[k]
            if time > c.release_at:
                continue
            slid, twisted = float(np.linalg.norm(drift[:3])), float(drift[3:] @ self._normal(c, terms))
            tipped = float(np.sqrt(max(drift[3:] @ drift[3:] - twisted**2, 0.0)))
            mine, other = c.label if self._tree[c.first.body] == who.tree else c.label[::-1]
            if plan.opening[k] > TORN or tipped > TIPPED:
                return f"{mine} has come {100 * plan.opening[k]:.1f} cm and {np.degrees(tipped):.0f}° off {other}"
            if slid > SLID or abs(twisted) > TWISTED:
                return f"{mine} has slid by {100 * slid:.1f} cm and {np.degrees(abs(twisted)):.0f}° on {other}"
        return ""

    def _lies(self, who: Watched, outcome: Outcome) -> str:
        """Return what it lies on the ground with, in words: bodies that were never put on anything, nor hang on one that was."""
        lying = [b for b in outcome.resting if self._tree[b] == who.tree and not self._was_put(b)]
        if not lying:
            return ""
        names = sorted(self._scene.model.body(b).name for b in lying)
        return f"{' and '.join(names[:3])} {'lies' if len(names) == 1 else 'lie'} on the ground"

    def _was_put(self, body: int) -> bool:
        """Return whether a body, or one that it hangs on (toes on a foot), was put on something at some time."""
        while body and body not in self._stood:
            body = int(self._scene.model.body_parentid[body])
        return bool(body)

    def _thrown(self, who: Watched, outcome: Outcome) -> str:
        """Return what it is thrown off, in words: where it would have to slip too much."""
        if not self._unled.bumping:
            return ""
        mine = self._supports(who, outcome)
        slips = [c for c in outcome.conflicts if c.kind == "slip" and c.amount > THROWN and c.name in mine]
        worst = max(slips, key=lambda c: c.amount, default=None)
        return f"it is thrown off {worst.name}, by {worst.amount:.3g} {worst.unit}" if worst else ""

    def _supports(self, who: Watched, outcome: Outcome) -> set[str]:
        """Return the contacts that it stands on, by the names that conflicts have."""
        return {" – ".join(outcome.plan.contacts[k].label) for k in who.supports}

    def _gives_way(self, who: Watched, outcome: Outcome) -> str:
        """Return what keeps it and gives way, in words."""
        mine = self._supports(who, outcome)
        found = {}
        for kind, name, amount, unit in outcome.conflicts:
            if kind in _KEEPING and (name in mine or (kind == "torque" and name.startswith(f"{who.name}/"))):
                found[f"{name} ({kind}, by {amount:.3g} {unit})"] = amount
        if not found:
            return ""
        worst = sorted(found, key=lambda what: -found[what])[:3]
        return f"for {GIVEN_WAY_FOR:g} s what keeps it has given way: {', '.join(worst)}"

    def _fall(self, sim: Simulation, who: Watched, what: str) -> None:
        where = f" in phase {sim.behaviour.label!r}" if sim.behaviour is not None and sim.behaviour.label else ""
        if who.name in self.expected:
            self.lost[who.name] = what
            return
        self.fallen[who.name] = f"{who.name} falls at {sim.time:.2f} s{where}: {what}; {_HINT.format(who.name)}"
        self._unled.set_limp(tuple(self.fallen))

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def checkpoint(self) -> dict[str, Any]:
        """Return what restores it, as plain numbers."""
        return {
            "fallen": dict(self.fallen),
            "lost": dict(self.lost),
            "stood": sorted(self._stood),
            "well": self._well,
            "shaken": self._shaken if np.isfinite(self._shaken) else None,
            "seconds": {who.name: dict(who.seconds) for who in self.characters},
            "height": {who.name: float(who.height) for who in self.characters if np.isfinite(who.height)},
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue from a checkpoint of the same scenario."""
        self.fallen, self._stood = dict(data["fallen"]), set(data["stood"])
        self._shaken = -np.inf if data["shaken"] is None else data["shaken"]
        self._contacts, self._well = None, bool(data["well"])
        self.lost = dict(data["lost"])
        self._unled.set_limp(tuple(self.fallen))
        for who in self.characters:
            who.seconds, who.height = dict(data["seconds"][who.name]), data["height"].get(who.name, np.inf)
