"""The base of every limit, lower ≤ J q̈ ≤ upper, and how rows of any kind give way when a program has no solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from interplay.errors import SolverError
from interplay.scene.demand import Demand
from interplay.scene.kinematics import Kinematics
from interplay.scene.scene import Scene


class GivesWay(NamedTuple):
    """How rows of one kind give way, declared where the rows are.

    ``kind`` and ``unit`` name them in a conflict. Rows of a lower ``order`` give way first, those of the same order together; one
    order more makes a violation ten times dearer. 0 is a comfort, 1 keeps things apart, 2 are the limits of joints, 3 those of
    motors, 4 holds contacts; any number between is an order too. ``cap`` is how far a row gives way, in its unit, before those
    of the next order do. What gives way never (dynamics, third law, unilaterality, friction) declares nothing.
    """

    kind: str
    order: float
    cap: float
    unit: str


class RowBlock(NamedTuple):
    """Rows that may give way: in 'A', 'G' or 'x' (bounds), their indices there, how, and what the row of an index is called."""

    block: str
    index: np.ndarray
    gives_way: GivesWay
    name: Callable[[int], str]


class LimitRows(NamedTuple):
    """A limit at one state, over its DOFs: lower (k,) ≤ Jacobian (k, n) q̈ ≤ upper (k,); an infinite bound leaves a side free."""

    jacobian: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class Limit(Demand):
    """Subclasses say which DOFs a limit concerns (``bind``), what it allows at a state (``rows``) and how it gives way."""

    what: ClassVar[str] = "limit"
    gives_way: GivesWay
    """How its rows give way; every limit must be able to, so that a program always has a solution."""

    def rows(self, terms: Kinematics, time: float, dt: float) -> LimitRows:
        """Return the rows at the present state, for a step of length ``dt`` [s]."""
        raise TypeError(f"{type(self).__name__} does not define rows()")

    def row_name(self, row: int) -> str:
        """Return what one of its rows is called in a conflict: rows of one name are one conflict."""
        return self.label

    def attach(self, scene: Scene) -> None:
        """Bind to a scene; a limit belongs to one simulation."""
        if not isinstance(getattr(self, "gives_way", None), GivesWay):
            raise TypeError(f"{type(self).__name__} does not declare gives_way")
        super().attach(scene)

    def checked_rows(self, terms: Kinematics, time: float, dt: float) -> LimitRows:
        """Return the rows at the present state, or raise an error that names the limit when they make no sense."""
        rows = self.rows(terms, time, dt)
        J, lower, upper = rows
        shapes = (self.dim, len(self.dofs)), (self.dim,), (self.dim,)
        if (J.shape, lower.shape, upper.shape) != shapes:
            got = f"shapes {J.shape}, {lower.shape}, {upper.shape}; expected {', '.join(map(str, shapes))}"
        # A NaN is not ≤ anything, so the comparison refuses it too.
        elif np.isfinite(J).all() and ((lower <= upper) & (lower < np.inf) & (upper > -np.inf)).all():
            return rows
        else:
            got = "a Jacobian that is not finite, or bounds that are NaN or cross"
        raise SolverError(f"at t = {time:.4f} s, the limit {self.label!r} returned {got}")

    def row_block(self, first: int) -> RowBlock:
        """Return its rows, which stand in G from ``first`` on."""
        index = np.arange(first, first + self.dim)
        return RowBlock("G", index, self.gives_way, lambda row: self.row_name(row - first))
