"""Perception delay: a character may see the others as they were a moment ago; physics and contacts stay those of the present.

A late perceiver's view is a configuration of its own: she herself as she is, everything else that moves as it was. Pairs of
shapes between her and others, and every objective that moves her, are taken from that view, over her DOFs alone: the others
cannot answer for what she sees of them, and keep their part of a shared objective as they see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from interplay.constraints.collision import ActivePairs, Avoidance, CollisionRows, PairRows
from interplay.constraints.collision_set import Pair
from interplay.control.state import Past, State
from interplay.errors import InputError, number
from interplay.objectives.base import Feature, Objective
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class View(NamedTuple):
    """What one late perceiver sees: her trees, her coordinates and DOFs (masks), how many steps late, the terms of her view."""

    trees: frozenset[int]
    own_q: np.ndarray
    own_v: np.ndarray
    steps: int
    terms: Kinematics


class Perception:
    """Who perceives the others late, as ``Demands.late`` says. Without anyone it does nothing and costs nothing."""

    def __init__(self, scene: Scene, late: Mapping[str, int]):
        """Take how many steps late each late perceiver is."""
        self.views = [_view(scene, name, steps) for name, steps in late.items() if steps]

    def look(self, state: State) -> None:
        """Move every view to a state: the perceiver as she is, the others as they were (the oldest known, if not so long ago)."""
        past = state.memory.past
        for view in self.views:
            q, v = past[max(-view.steps, -len(past))] if past else (state.qpos, state.qvel)
            view.terms.update(np.where(view.own_q, state.qpos, q), np.where(view.own_v, state.qvel, v))

    def remember(self, state: State) -> Past:
        """Return what must be known of the past at the next step."""
        if not self.views:
            return ()
        longest = max(view.steps for view in self.views)
        return (*state.memory.past, (state.qpos, state.qvel))[-longest:]

    def pairs(self, terms: Kinematics, pairs: Sequence[Pair]) -> Avoidance:
        """Return what finds the rows of pairs of shapes, each as those see it who must keep it apart."""
        return SeenPairs(terms, pairs, self.views) if self.views else CollisionRows(terms, pairs)

    def objectives(self, terms: Kinematics, objectives: Sequence[Objective]) -> Sequence[Objective]:
        """Return the objectives, those that move a late perceiver in parts: hers as she sees it, the others' as it is."""
        out = []
        for objective in objectives:
            late = [v for v in self.views if not objective.diagonal and v.own_v[objective.dofs].any()]
            if not late:
                out.append(objective)
                continue
            rest = ~np.any([v.own_v for v in late], axis=0)
            parts = [(v.terms, v.own_v) for v in late] + [(terms, rest)]
            out += [Seen(objective, *part) for part in parts if part[1][objective.dofs].any()]
        return out


def _view(scene: Scene, name: str, steps: int) -> View:
    m, trees = scene.model, frozenset(scene.trees(name))
    own_v = np.isin(m.dof_treeid, list(trees))
    joint_of_q = np.searchsorted(m.jnt_qposadr, np.arange(m.nq), "right") - 1
    return View(trees, own_v[m.jnt_dofadr[joint_of_q]], own_v, steps, Kinematics(m))


def late_steps(scene: Scene, name: str, delay: float, dt: float) -> int:
    """Return by how many steps [dt s] a character perceives the others late, or raise an error."""
    if scene.kind(name) != "character":
        raise InputError(f"perceive: expected a character, got {name!r} ({scene.kind(name)})")
    return round(number(f"delay of {name!r}", delay, 0, 2, "s") / dt)


class Seen(Objective):
    """An objective in someone's view, over some of its DOFs."""

    def __init__(self, whole: Objective, terms: Kinematics, own: np.ndarray):
        """Take the objective, the terms of the view and a mask of the DOFs that answer."""
        super().__init__(whole.weight, whole.stiffness, whole.damping, whole.max_speed, whole.label)
        self._whole, self._terms, self._columns = whole, terms, own[whole.dofs]
        self.dofs, self.dim, self.yields = whole.dofs[self._columns], whole.dim, whole.yields
        self.priority = whole.priority

    def feature(self, terms: Kinematics, time: float) -> Feature:
        """Return the feature in the view, its Jacobian over the DOFs that answer."""
        x = self._whole.feature(self._terms, time)
        return x._replace(jacobian=np.ascontiguousarray(x.jacobian[:, self._columns]))

    def add_to(self, terms: Kinematics, time: float, cost: Any) -> None:
        """Add the cost at the weight of the whole in the view."""
        self.stiffness, self.damping = self._whole.stiffness, self._whole.damping  # which may be adjusted
        cost.add(self, self._whole.weight_at(self._terms, time), self.feature(terms, time))


class SeenPairs:
    """Behaves like :class:`CollisionRows`: the pairs everyone sees at once, then those of each late perceiver in her view."""

    def __init__(self, terms: Kinematics, pairs: Sequence[Pair], views: Sequence[View]):
        """Sort the pairs: those between a late perceiver and another moving tree are hers (of two late ones, each has it)."""

        def seen(p: Pair, view: View) -> bool:
            return min(p.tree1, p.tree2) >= 0 and (p.tree1 in view.trees) != (p.tree2 in view.trees)

        split = [[p for p in pairs if not any(seen(p, v) for v in views)]]
        for view in views:  # whom she sees cannot answer, as if fixed
            mine = [p for p in pairs if seen(p, view)]
            split.append([p._replace(**{"tree2" if p.tree1 in view.trees else "tree1": -1}) for p in mine])
        self._terms = [None, *(view.terms for view in views)]
        self._parts = [CollisionRows(terms, part) for part in split]
        self._first = np.cumsum([0, *(len(part) for part in split)])
        self._ngeom = terms.model.ngeom
        self.pairs = [p for part in split for p in part]
        self.groups = [g for part in self._parts for g in part.groups]
        self.dofs = [dofs for part in self._parts for dofs in part.dofs]
        starts = np.cumsum([0, *(len(part.groups) for part in self._parts)])
        self.group = np.concatenate([p.group + s for p, s in zip(self._parts, starts, strict=False)]).astype(np.int64)

    def update(
        self, terms: Kinematics, dt: float, active: ActivePairs, contacts: tuple
    ) -> tuple[PairRows, ActivePairs]:
        """Return all rows and the pairs that stay active; shapes of view k are told apart by counting k · ngeom on."""
        rows, kept = [], []
        for k, (part, view) in enumerate(zip(self._parts, self._terms, strict=True)):
            tag = np.array([k * self._ngeom, 0])
            mine = active.geoms[:, 0] // self._ngeom == k
            before = ActivePairs(*(column[mine] for column in active))
            found, stay = part.update(view or terms, dt, before._replace(geoms=before.geoms - tag), contacts)
            rows.append(found._replace(pair=found.pair + self._first[k]))
            kept.append(stay._replace(geoms=stay.geoms + tag))
        return (
            PairRows(*(np.concatenate(column) for column in zip(*rows, strict=True))),
            ActivePairs(*(np.concatenate(column) for column in zip(*kept, strict=True))),
        )

    def jacobian(self, terms: Kinematics, rows: PairRows, starts: np.ndarray, out: np.ndarray) -> None:
        """Write the Jacobians of all rows, each in its view; arguments as of ``CollisionRows.jacobian``."""
        for k, (part, view) in enumerate(zip(self._parts, self._terms, strict=True)):
            first, last = self._first[k : k + 2]
            mine = (rows.pair >= first) & (rows.pair < last)
            of_part = PairRows(*(column[mine] for column in rows))
            of_part = of_part._replace(pair=of_part.pair - first)
            part.jacobian(view or terms, of_part, starts[mine], out)
