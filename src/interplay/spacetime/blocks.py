"""A large problem as blocks: the same small function of some unknowns, at many places, with exact derivatives (CasADi, IPOPT).

A block is y = Y(z, c), then cost and rows of y, for each place's unknowns z and constants c. Derivatives are those of the inner function,
carried outward by the chain rule: for inverse dynamics at a point between two knots the second ones cost less than half of what they
cost taken at once, as y is small where z is not. Values of all places lie in one vector, and sparse matrices put them where they belong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import scipy.sparse as sp

INF = np.inf


class Kernel:
    """A small function with its derivatives: ``outer(z, c) → y``, ``inner(y, c) → (cost, rows)``."""

    def __init__(
        self,
        name: str,
        unknowns: int,
        constants: int,
        inner: Callable[[Any, Any], tuple[Any, Any]],
        outer: Callable[[Any, Any], Any] | None = None,
    ):
        """Take the sizes of z and c and the two functions; without ``outer``, y is z."""
        z, c = ca.SX.sym("z", unknowns), ca.SX.sym("c", constants)
        given = z if outer is None else outer(z, c)
        y, l0 = ca.SX.sym("y", given.numel()), ca.SX.sym("l0")
        cost, rows = (ca.SX(one) for one in inner(y, c))
        self.name, self.unknowns, self.constants, self.rows = name, unknowns, constants, rows.numel()
        lam = ca.SX.sym("lam", self.rows)
        opts = {"cse": True}
        total = l0 * cost + ca.dot(lam, rows)
        curve, slope = ca.hessian(total, y)
        at = ca.Function("at", [y, c, l0, lam], [curve, slope])
        ahead = ca.jacobian(given, z)
        values = ca.Function("values", [y, c], [cost, rows])(given, c)
        first = ca.Function("first", [y, c], [ca.gradient(cost, y), ca.jacobian(rows, y)])(given, c)
        curved, sloped = at(given, c, l0, lam)
        mu = ca.SX.sym("mu", y.numel())
        bent = ca.Function("bent", [z, c, mu], [ca.hessian(ca.dot(mu, given), z)[0]])
        second = ca.triu(ahead.T @ (curved @ ahead) + bent(z, c, sloped))
        self.value = ca.Function(f"{name}_value", [z, c], list(values), opts)
        self.gradient = ca.Function(f"{name}_gradient", [z, c], [values[0], ca.densify(ahead.T @ first[0])], opts)
        self.jacobian = ca.Function(f"{name}_jacobian", [z, c], [values[1], first[1] @ ahead], opts)
        self.hessian = ca.Function(f"{name}_hessian", [z, c, l0, lam], [second], opts)


class Block(NamedTuple):
    """A kernel at N places: which unknowns (N, m), constants (N, k), bounds of its rows (N, r), and what rows are called."""

    kernel: Kernel
    where: np.ndarray
    constants: np.ndarray
    low: np.ndarray
    high: np.ndarray
    label: Callable[[int, int], str]

    @property
    def kept(self) -> np.ndarray:
        """Which rows bound anything (N·r,)."""
        return (np.isfinite(self.low) | np.isfinite(self.high)).ravel()


class Unknowns:
    """All unknowns of a problem: bounds, first guess, and what they are called."""

    def __init__(self) -> None:
        """Begin with none."""
        self.low, self.high, self.guess = np.zeros(0), np.zeros(0), np.zeros(0)
        self.names: list[tuple[str, int, int]] = []

    def add(self, name: str, guess: np.ndarray, low: Any = -INF, high: Any = INF) -> np.ndarray:
        """Add some, and return their indices, in the shape of the guess."""
        guess = np.asarray(guess, float)
        first = self.guess.size
        self.guess = np.concatenate([self.guess, guess.ravel()])
        self.low = np.concatenate([self.low, np.broadcast_to(low, guess.shape).ravel()])
        self.high = np.concatenate([self.high, np.broadcast_to(high, guess.shape).ravel()])
        self.names.append((name, first, guess.size))
        return np.arange(first, first + guess.size).reshape(guess.shape)

    @property
    def size(self) -> int:
        """How many."""
        return self.guess.size


class Program(NamedTuple):
    """What IPOPT is given: the functions, bounds of rows, and where each row comes from (block, place, row)."""

    nlp: dict[str, Any]
    derivatives: dict[str, Any]
    low: np.ndarray
    high: np.ndarray
    rows: list[tuple[int, int]]


def program(unknowns: Unknowns, blocks: Sequence[Block]) -> Program:
    """Put blocks together."""
    n = unknowns.size
    x, p = ca.MX.sym("x", n), ca.MX.sym("p", 0)
    l0, offsets = ca.MX.sym("l0"), np.cumsum([0, *(int(b.kept.sum()) for b in blocks)])
    lam = ca.MX.sym("lam", int(offsets[-1]))
    cost, rows, gradients, jacobians, hessians = [], [], [], [], []
    spread, entries, curves = [], [], []
    for b, block in enumerate(blocks):
        k, places = block.kernel, len(block.where)
        at = (ca.reshape(x[block.where.ravel().tolist()], k.unknowns, places), ca.DM(block.constants.T))
        kept = np.flatnonzero(block.kept)
        costs, values = k.value.map(places)(*at)
        cost.append(ca.sum2(costs))
        rows.append(ca.vec(values)[kept.tolist()] if kept.size else ca.MX(0, 1))
        _, slopes = k.gradient.map(places)(*at)
        gradients.append(ca.vec(slopes))
        spread.append(block.where.ravel())
        if kept.size:
            pattern = k.jacobian.sparsity_out(1)
            r, c = (np.array(one, int) for one in pattern.get_triplet())
            _, found = k.jacobian.map(places)(*at)
            place = np.arange(places)[:, None]
            row = np.full(places * k.rows, -1)
            row[kept] = offsets[b] + np.arange(kept.size)
            at_row, at_column = row[place * k.rows + r].ravel(), block.where[:, c].ravel()
            used = np.flatnonzero(at_row >= 0)
            jacobians.append(_nonzeros(found, places)[used.tolist()])
            entries.append((at_row[used], at_column[used]))
        scattered = ca.MX.zeros(places * k.rows, 1)
        if kept.size:
            take = sp.csc_matrix((np.ones(kept.size), (kept, np.arange(kept.size))), (places * k.rows, kept.size))
            scattered = _dm(take) @ lam[int(offsets[b]) : int(offsets[b + 1])]
        bent = k.hessian.map(places)(*at, ca.repmat(l0, 1, places), ca.reshape(scattered, k.rows, places))
        r, c = (np.array(one, int) for one in k.hessian.sparsity_out(0).get_triplet())
        first, second = block.where[:, r].ravel(), block.where[:, c].ravel()
        hessians.append(_nonzeros(bent, places))
        curves.append((np.minimum(first, second), np.maximum(first, second)))
    f, g = sum(cost, start=ca.MX(0)), ca.vertcat(*rows)
    where = np.concatenate(spread)
    gather = sp.csc_matrix((np.ones(where.size), (where, np.arange(where.size))), (n, where.size))
    slope = ca.densify(
        _dm(gather) @ ca.vertcat(*gradients)
    )  # of one that is not dense IPOPT reads what was never written
    derivatives = {
        "grad_f": ca.Function("grad_f", [x, p], [f, slope], ["x", "p"], ["f", "g"]),
        "jac_g": ca.Function(
            "jac_g", [x, p], [g, _placed(entries, jacobians, (int(offsets[-1]), n))], ["x", "p"], ["g", "j"]
        ),
        "hess_lag": ca.Function(
            "hess_lag", [x, p, l0, lam], [_placed(curves, hessians, (n, n))], ["x", "p", "l", "m"], ["h"]
        ),
    }
    low, high = (np.concatenate([getattr(b, side).ravel()[b.kept] for b in blocks]) for side in ("low", "high"))
    origin = [(b, int(k)) for b, block in enumerate(blocks) for k in np.flatnonzero(block.kept)]
    return Program({"x": x, "p": p, "f": f, "g": g}, derivatives, low, high, origin)


def _nonzeros(stacked: Any, places: int) -> Any:
    """Return the entries of matrices that stand side by side, as one column."""
    found = stacked.nz[:]
    return ca.reshape(found, found.numel(), 1) if places and found.numel() else ca.MX(0, 1)


def _dm(matrix: Any) -> ca.DM:
    matrix.sort_indices()
    pattern = ca.Sparsity(matrix.shape[0], matrix.shape[1], matrix.indptr.tolist(), matrix.indices.tolist())
    return ca.DM(pattern, matrix.data)


def _placed(entries: Sequence[tuple[np.ndarray, np.ndarray]], values: Sequence[Any], shape: tuple[int, int]) -> Any:
    """Return the sparse matrix whose entries are sums of values at places."""
    row, column = (np.concatenate([one[k] for one in entries]) for k in (0, 1))
    pattern: Any = sp.csc_matrix((np.ones(row.size), (row, column)), shape)
    pattern.sum_duplicates()
    pattern.sort_indices()
    code = np.repeat(np.arange(shape[1]), np.diff(pattern.indptr)) * shape[0] + pattern.indices
    to = np.searchsorted(code, column * shape[0] + row)
    gather = sp.csc_matrix((np.ones(to.size), (to, np.arange(to.size))), (code.size, to.size))
    sparsity = ca.Sparsity(*shape, pattern.indptr.tolist(), pattern.indices.tolist())
    return ca.MX(sparsity, _dm(gather) @ ca.vertcat(*values))
