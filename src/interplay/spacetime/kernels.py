"""Small functions with exact derivatives, derived once for all that differ in numbers alone, and kept on disk.

What takes seconds is to derive second derivatives (of a body's dynamics: 300,000 instructions), so it is done once: what is kept is found by
the instructions of the function itself, in which numbers other than 0, 1, 2 and ½ are blanks. Two bodies of the same joints, or two styles,
share derivatives; a change of the function or of this file finds nothing and derives anew.
"""

from __future__ import annotations

import hashlib
import time as clock
from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from interplay.spacetime.interrupting import go_on
from interplay.spacetime.keeping import keep, kept
from interplay.spacetime.tapes import Op, Tape, code_of, replayed, tape

PLAIN = (0.0, 1.0, -1.0, 2.0, 0.5)
"""Numbers that are part of a function, and not blanks in it."""
LONG = 0.1
"""What took longer to derive is kept on disk [s]."""
VERSION = 1
"""Of the derivation below: another one finds nothing on disk."""


class Tapes(NamedTuple):
    """A function z, c → (cost, rows) and its derivatives: entries of the matrices that are not zero.

    ``value`` gives cost and rows; ``hessian`` takes also l0 and lam, and gives the upper triangle of that of l0 cost + lam rows.
    """

    value: Tape
    gradient: Tape
    jacobian: Tape
    hessian: Tape


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
        given = z if outer is None else ca.SX(outer(z, c))
        y = ca.SX.sym("y", given.numel())
        cost, rows = (ca.densify(ca.SX(one)) for one in inner(y, c))
        parts = ca.Function("outer", [z, c], [ca.densify(given)]), ca.Function("inner", [y, c], [cost, rows])
        self.name, self.unknowns, self.constants, self.rows = name, unknowns, constants, rows.numel()
        key, self.blanks = _identity(parts)
        if key not in _made:
            _made[key] = _from_disk(key) or _derived(key, parts, self.blanks)
        self.tapes = _made[key]


_made: dict[str, Tapes] = {}


def _identity(functions: tuple[Any, Any]) -> tuple[str, np.ndarray]:
    """Return the name of two functions but for the numbers in their blanks, and those, each once."""
    blanks: dict[float, int] = {}
    told: list[Any] = [VERSION, [op.name for op in Op], ca.CasadiMeta.version()]
    for function in functions:
        told.append([function.nnz_in(k) for k in range(function.n_in())])
        told.append([function.nnz_out(k) for k in range(function.n_out())])
        for k in range(function.n_instructions()):
            step = [code_of(function, k), function.instruction_output(k), function.instruction_input(k)]
            if function.instruction_id(k) == ca.OP_CONST:
                number = function.instruction_constant(k)
                step.append(number if number in PLAIN else blanks.setdefault(number, len(blanks)) + 10)
            told.append(step)
    return hashlib.sha256(repr(told).encode()).hexdigest(), np.array(list(blanks), float)


def _derived(key: str, parts: tuple[Any, Any], numbers: np.ndarray) -> Tapes:
    """Derive: the derivatives of the inner function, carried outward by the chain rule."""
    go_on()
    begin, (outer, inner) = clock.perf_counter(), parts
    blank, where = ca.SX.sym("blank", len(numbers)), {number: k for k, number in enumerate(numbers.tolist())}

    def constant(value: float) -> Any:
        return ca.SX(value) if value in PLAIN else blank[where[value]]

    z, c, y = (
        ca.SX.sym(name, size) for name, size in zip("zcy", (*map(outer.nnz_in, (0, 1)), outer.nnz_out(0)), strict=True)
    )
    (given,), (cost, rows) = replayed(outer, [z, c], constant), replayed(inner, [y, c], constant)
    l0, lam, mu = ca.SX.sym("l0"), ca.SX.sym("lam", rows.numel()), ca.SX.sym("mu", y.numel())
    curve, slope = ca.hessian(l0 * cost + ca.dot(lam, rows), y)
    at = ca.Function("at", [y, c, blank, l0, lam], [curve, slope])
    go_on()
    ahead = ca.jacobian(given, z)
    values = ca.Function("values", [y, c, blank], [cost, rows])(given, c, blank)
    first = ca.Function("first", [y, c, blank], [ca.gradient(cost, y), ca.jacobian(rows, y)])(given, c, blank)
    curved, sloped = at(given, c, blank, l0, lam)
    bent = ca.Function("bent", [z, c, blank, mu], [ca.hessian(ca.dot(mu, given), z)[0]])
    second = ca.triu(ahead.T @ (curved @ ahead) + bent(z, c, blank, sloped))

    def written(given: list[Any], result: list[Any]) -> Tape:
        go_on()
        return tape(ca.Function("derived", given, result, {"cse": True}), constants=2)

    found = Tapes(
        written([z, c, blank], [ca.vertcat(*values)]),
        written([z, c, blank], [ca.densify(ahead.T @ first[0])]),
        written([z, c, blank], [first[1] @ ahead]),
        written([z, c, blank, l0, lam], [second]),
    )
    if clock.perf_counter() - begin > LONG:
        keep(key, _packed(found))
    return found


def _packed(tapes: Tapes) -> dict[str, np.ndarray]:
    return {
        f"{name} {part}": np.asarray(value)
        for name, one in tapes._asdict().items()
        for part, value in one._asdict().items()
    }


def _from_disk(key: str) -> Tapes | None:
    arrays = kept(key)
    if arrays is None:
        return None

    def one(name: str) -> Tape:
        steps, literals, slots, inputs, row, column = (arrays[f"{name} {part}"] for part in Tape._fields)
        return Tape(steps, literals, int(slots), int(inputs), row, column)

    return Tapes(*map(one, Tapes._fields))
