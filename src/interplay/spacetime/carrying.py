"""Ground forces to begin with: those that a guessed motion takes."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from interplay.spacetime.blocks import Block
from interplay.spacetime.body import ROOT

STEEP = 0.5
"""How steep forces are at most, of what friction can hold: what is guessed at its bounds is pushed off them."""
SHARED = 1.0
"""What sizes of forces cost beside what is off in rows of the root: corners share what they carry."""


def forces_taken(moves: Block, x: np.ndarray, first: int, carries: np.ndarray, friction: float) -> np.ndarray:
    """Return forces at corners that leave least of the root's equations of motion (N, C, 3), at each place of their block.

    ``first``: of the block's unknowns, where the forces begin; ``carries``: which corners do (N, C). Rows are linear in them.
    """
    places, corners = carries.shape
    own = slice(first, first + 3 * corners)
    without, tape = x.copy(), moves.kernel.tapes.jacobian
    without[moves.where[:, own]] = 0.0
    left = moves.values(without)[:, :ROOT]
    entries = tape.run(np.vstack([without[moves.where.T], moves.constants.T]), moves.kernel.blanks)
    seen = (tape.row < ROOT) & (tape.column >= own.start) & (tape.column < own.stop)
    slopes = np.zeros((places, ROOT, 3 * corners))
    slopes[:, tape.row[seen], tape.column[seen] - first] = entries[seen, :places].T
    steep = STEEP * friction / np.sqrt(2.0)
    edges = np.array([[a * steep, b * steep, 1.0] for a in (1, -1) for b in (1, -1)])
    out = np.zeros((places, corners, 3))
    for place in np.flatnonzero(carries.any(axis=1)):
        given = np.kron(np.eye(corners)[carries[place]], edges).T  # of edges of pyramids: forces
        rows = np.vstack([slopes[place] @ given, SHARED * given])
        share, _ = nnls(rows, np.concatenate([-left[place], np.zeros(3 * corners)]))
        out[place] = (given @ share).reshape(corners, 3)
    return out
