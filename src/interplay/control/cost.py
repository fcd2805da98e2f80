"""The quadratic cost of all objectives: dense blocks per kinematic tree, residual variables where trees are coupled.

An objective of one tree adds w JᵀJ to that tree's block. An objective of several trees (a group's COM) would fill the
Hessian between them; it gets residual variables y = J q̈ + rate instead, with cost w‖y‖², and the program stays sparse.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Sequence

import numba
import numpy as np

from interplay.constraints.contact import Contact
from interplay.constraints.contact_kernels import load
from interplay.control.trees import Trees
from interplay.objectives.base import Feature, Objective

REGULARISATION = 1e-6
"""Weight of ‖q̈‖²: decides what no objective decides."""


class Cost:
    """Accumulates the objectives of one problem; ``hessian`` holds the trees' dense blocks one after another."""

    def __init__(self, trees: Trees, objectives: Sequence[Objective], contacts: Sequence[Contact]):
        """Sort the objectives into single-tree and coupled ones; forces of ``contacts`` may cost too."""
        self._contacts = contacts
        self._sides: dict[str, list[tuple[int, np.ndarray]]] = {}
        """Contacts of each surface, and what turns their force into the one on it."""
        for k, contact in enumerate(contacts):
            self._sides.setdefault(contact.first.name, []).append((k, np.ones(3)))
            self._sides.setdefault(contact.second.name, []).append((k, contact.second_side))
        self.dense = np.zeros(len(trees.size), bool)
        """Trees with an objective that couples their DOFs: whichever it is, the pattern is the same."""
        self.coupled: list[Objective] = []
        self.rows: dict[int, slice] = {}
        self._place: dict[int, tuple[int, int, int]] = {}
        count, places = 0, list(zip(trees.block.tolist(), trees.size.tolist(), trees.start.tolist(), strict=False))
        for objective in objectives:
            if not len(objective.dofs):
                continue
            # The DOFs ascend and a tree's are neighbours: those of several trees begin and end in different ones.
            tree, last = trees.of_dof[objective.dofs[0]], trees.of_dof[objective.dofs[-1]]
            if tree == last:
                self._place[id(objective)] = places[tree]
                self.dense[tree] |= not objective.diagonal
            elif not objective.diagonal:
                self.coupled.append(objective)
                self.rows[id(objective)] = slice(count, count + objective.dim)
                count += objective.dim
        self.residual_rate = np.zeros(count)
        self.residual_weight = np.zeros(count)
        self.residual_jacobian: dict[int, np.ndarray] = {id(o): np.zeros((o.dim, len(o.dofs))) for o in self.coupled}
        self._diagonal = trees.diagonal
        self.hessian = np.zeros(int(trees.block[-1]))
        """The trees' blocks, of which the upper triangles are filled."""
        self.gradient = np.zeros(trees.nv)
        self.ceded_acceleration: np.ndarray | None = None
        """Accelerations (nv,) that are let happen: objectives speak of q̈ less these."""
        self.forces: dict[int, tuple[float, np.ndarray]] = {}
        """Weight and gradient (3,) on the force of each contact that an objective concerns."""

    @property
    def key(self) -> Hashable:
        """What the pattern of the program depends on."""
        return self.dense.tobytes(), tuple((o.dim, o.dofs.tobytes()) for o in self.coupled)

    def write_into(self, hessian: np.ndarray, weights: np.ndarray, jacobians: np.ndarray) -> None:
        """Let the blocks, the residuals' weights and their Jacobians live in parts of the program's source vector."""
        self.hessian, self.residual_weight = hessian, weights
        at = 0
        for objective in self.coupled:
            shape = (objective.dim, len(objective.dofs))
            self.residual_jacobian[id(objective)] = jacobians[at : at + shape[0] * shape[1]].reshape(shape)
            at += shape[0] * shape[1]

    def clear(self, regularisation: float = REGULARISATION) -> None:
        """Begin anew, with a weight of ‖q̈‖² alone."""
        self.hessian[:] = 0.0
        self.gradient[:] = 0.0
        self.hessian[self._diagonal] = regularisation
        self.residual_weight[:] = 0.0
        self.forces.clear()

    def scale(self, factor: float) -> None:
        """Multiply all that has been added by a factor."""
        for part in (self.hessian, self.gradient, self.residual_weight):
            part *= factor
        self.forces = {k: (factor * weight, factor * slope) for k, (weight, slope) in self.forces.items()}

    def add(self, objective: Objective, weight: float, x: Feature) -> None:
        """Add ½ w ‖J q̈ + rate‖², where rate = J̇q̇ − ẍ_ref + k(x − x_ref) + d(ẋ − ẋ_ref) = J̇q̇ − ẍ^d (33).

        k(x − x_ref) is limited so that the feature approaches no faster than the objective's ``max_speed``.
        """
        if self.ceded_acceleration is not None and objective.yields:
            x = x._replace(bias=x.bias - x.jacobian @ self.ceded_acceleration[objective.dofs])
        stiffness, damping = objective.stiffness, objective.damping
        pull = objective.max_speed * damping
        rows = self.rows.get(id(objective))
        if rows is not None:
            self.residual_jacobian[id(objective)][:] = x.jacobian
            self.residual_rate[rows] = _rate(x.error, x.velocity, x.bias, stiffness, damping, pull)
            self.residual_weight[rows] = weight
            return
        block, size, first = self._place[id(objective)]
        _rank_update(
            self.hessian,
            self.gradient,
            block,
            size,
            first,
            objective.dofs,
            x.jacobian,
            x.error,
            x.velocity,
            x.bias,
            stiffness,
            damping,
            pull,
            weight,
        )

    def add_diagonal(self, dofs: np.ndarray, weight: float, weights: np.ndarray, rate: np.ndarray) -> None:
        """Add ½ w Σ w_i (q̈_i + rate_i)² over single DOFs."""
        if self.ceded_acceleration is not None:
            rate = rate - self.ceded_acceleration[dofs]
        _add_diagonal(self.hessian, self.gradient, self._diagonal, dofs, weight, weights, rate)

    def held(self, bodies: Container[int], time: float) -> float:
        """Return how far contacts hold any of some bodies: 1 fully, 0 not at all."""
        return max(
            (
                load(time, c.made_at, c.fade_in, c.release_at, c.fade_out)
                for c in self._contacts
                if c.first.body in bodies or c.second.body in bodies
            ),
            default=0.0,
        )

    def add_force(self, surface: str, weight: float, reference: np.ndarray) -> None:
        """Add ½ w ‖f − f_ref‖² of the contacts of a surface, on whichever side it stands."""
        for k, side in self._sides.get(surface, ()):
            before, gradient = self.forces.get(k, (0.0, np.zeros(3)))
            self.forces[k] = before + weight, gradient - weight * side * reference

    def write_forces(self, start: np.ndarray, weights: np.ndarray, gradient: np.ndarray) -> None:
        """Add the costs of forces to the unknowns of their contacts."""
        gradient[:] = 0.0
        for k, (weight, slope) in self.forces.items():
            at = slice(start[k], start[k] + 3)
            weights[at] += weight
            gradient[at] = slope


@numba.njit(cache=True)
def _add_diagonal(hessian, gradient, diagonal, dofs, weight, weights, rate):
    for k in range(dofs.shape[0]):
        w = weight * weights[k]
        hessian[diagonal[dofs[k]]] += w
        gradient[dofs[k]] += w * rate[k]


@numba.njit(cache=True)
def _rate(error, velocity, bias, stiffness, damping, pull):
    out, size = np.empty(error.shape[0]), 0.0
    for i in range(error.shape[0]):
        size += error[i] * error[i]
    size = stiffness * np.sqrt(size)
    gain = stiffness * (pull / size if size > pull else 1.0)
    for i in range(error.shape[0]):
        out[i] = bias[i] + gain * error[i] + damping * velocity[i]
    return out


@numba.njit(cache=True)
def _rank_update(
    hessian, gradient, block, size, first, dofs, J, error, velocity, bias, stiffness, damping, pull, weight
):
    rate = _rate(error, velocity, bias, stiffness, damping, pull)
    k, n = J.shape
    for i in range(n):
        pull = 0.0
        for r in range(k):
            pull += J[r, i] * rate[r]
        gradient[dofs[i]] += weight * pull
        row = block + (dofs[i] - first) * size - first
        for j in range(i, n):  # the DOFs ascend: the upper triangle
            total = 0.0
            for r in range(k):
                total += J[r, i] * J[r, j]
            hessian[row + dofs[j]] += weight * total
