"""Functions of CasADi as lists of instructions, which a compiled kernel runs at eight places at once.

CasADi's own machine takes an instruction after another at one place; most of its time goes into finding out what is next. Here each one is
done at eight places, in one vector operation or two: the numbers are the same to the bit, in a sixth of the time. Constants stand in
a list beside the instructions, so that functions which differ in constants alone share a tape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import casadi as ca
import numba
import numpy as np

LANES = 8
"""Places at once."""


class Op(IntEnum):
    """Operations, by CasADi's names."""

    ASSIGN = 0
    ADD = 1
    SUB = 2
    MUL = 3
    DIV = 4
    NEG = 5
    SQ = 6
    TWICE = 7
    INV = 8
    SIN = 9
    COS = 10
    TAN = 11
    ASIN = 12
    ACOS = 13
    ATAN = 14
    ATAN2 = 15
    SINH = 16
    COSH = 17
    TANH = 18
    EXP = 19
    LOG = 20
    POW = 21
    CONSTPOW = 22
    SQRT = 23
    FABS = 24
    SIGN = 25
    COPYSIGN = 26
    FMIN = 27
    FMAX = 28
    FLOOR = 29
    CEIL = 30
    LT = 31
    LE = 32
    EQ = 33
    NE = 34
    NOT = 35
    AND = 36
    OR = 37
    IF_ELSE_ZERO = 38
    CONST = 39
    INPUT = 40
    OUTPUT = 41


_CODES = {getattr(ca, f"OP_{op.name}"): int(op) for op in Op}


class Tape(NamedTuple):
    """Instructions (n, 4): operation, where its result goes, and its two operands; literals; slots of work; inputs and outputs.

    All inputs of the function are one row of numbers, and so are its outputs: entries in the order of ``row`` and ``column``, where
    they are of a matrix.
    """

    steps: np.ndarray
    literals: np.ndarray
    slots: int
    inputs: int
    row: np.ndarray
    column: np.ndarray

    @property
    def outputs(self) -> int:
        """How many numbers it gives."""
        return len(self.row)

    def run(self, given: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """Return its outputs (outputs, places and more) of inputs (inputs, places), and of the constants that follow the literals.

        Columns beyond those of the inputs fill the last batch, and repeat the last one.
        """
        places = given.shape[1]
        padded = np.empty((self.inputs, -(-places // LANES) * LANES))
        padded[:, :places] = given
        padded[:, places:] = given[:, -1:]
        out = np.zeros((self.outputs, padded.shape[1]))
        _run(self.steps, np.concatenate([self.literals, constants]), self.slots, padded, out)
        return out


def tape(function: Any, constants: int | None = None) -> Tape:
    """Return a function of symbols as a tape; ``constants``: the input that stands beside the literals, not among the inputs."""
    sizes = [0 if k == constants else function.nnz_in(k) for k in range(function.n_in())]
    starts, ends = np.cumsum([0, *sizes]), np.cumsum([0, *(function.nnz_out(k) for k in range(function.n_out()))])
    literals: list[float] = []
    steps = np.zeros((function.n_instructions(), 4), np.int32)
    for k, step in enumerate(steps):
        code, out, args = code_of(function, k), function.instruction_output(k), function.instruction_input(k)
        if code == Op.CONST:
            step[:3] = code, out[0], len(literals)
            literals.append(function.instruction_constant(k))
        elif code == Op.INPUT and args[0] == constants:
            step[:3] = Op.CONST, out[0], -1 - args[1]
        elif code == Op.INPUT:
            step[:3] = code, out[0], starts[args[0]] + args[1]
        elif code == Op.OUTPUT:
            step[:3] = code, ends[out[0]] + out[1], args[0]
        else:
            step[:] = code, out[0], args[0], args[-1]
    beside = (steps[:, 0] == Op.CONST) & (steps[:, 2] < 0)
    steps[beside, 2] = len(literals) - 1 - steps[beside, 2]
    triplets = [function.sparsity_out(k).get_triplet() for k in range(function.n_out())]
    row, column = (np.concatenate([np.array(one[k], np.int32) for one in triplets]) for k in (0, 1))
    return Tape(steps, np.array(literals, float), int(function.sz_w()), int(starts[-1]), row, column)


def code_of(function: Any, k: int) -> int:
    """Return our number of an instruction's operation."""
    found = function.instruction_id(k)
    if found not in _CODES:
        name = next((name for name in dir(ca) if name.startswith("OP_") and getattr(ca, name) == found), str(found))
        raise NotImplementedError(f"{function.name()}: operation {name} is not known to tapes")
    return _CODES[found]


def replayed(function: Any, given: Sequence[Any], constant: Any) -> list[Any]:
    """Return the outputs of a function of symbols, of other inputs, and with other constants: ``constant(value)`` of each."""
    work: dict[int, Any] = {}
    out = [ca.SX(function.sparsity_out(k)) for k in range(function.n_out())]
    for k in range(function.n_instructions()):
        code, where, args = function.instruction_id(k), function.instruction_output(k), function.instruction_input(k)
        if code == ca.OP_CONST:
            work[where[0]] = constant(function.instruction_constant(k))
        elif code == ca.OP_INPUT:
            work[where[0]] = given[args[0]].nz[args[1]]
        elif code == ca.OP_OUTPUT:
            out[where[0]].nz[where[1]] = work[args[0]]
        elif len(args) == 2:
            work[where[0]] = ca.SX.binary(code, work[args[0]], work[args[1]])
        else:
            work[where[0]] = ca.SX.unary(code, work[args[0]])
    return out


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _run(steps, constants, slots, given, out):  # pragma: no cover - compiled
    w = np.zeros((slots, LANES))
    for first in range(0, given.shape[1], LANES):
        for k in range(len(steps)):
            code, i, a, b = steps[k, 0], steps[k, 1], steps[k, 2], steps[k, 3]
            if code == Op.MUL:
                for j in range(LANES):
                    w[i, j] = w[a, j] * w[b, j]
            elif code == Op.ADD:
                for j in range(LANES):
                    w[i, j] = w[a, j] + w[b, j]
            elif code == Op.SUB:
                for j in range(LANES):
                    w[i, j] = w[a, j] - w[b, j]
            elif code == Op.OUTPUT:
                for j in range(LANES):
                    out[i, first + j] = w[a, j]
            elif code == Op.INPUT:
                for j in range(LANES):
                    w[i, j] = given[a, first + j]
            elif code == Op.CONST:
                for j in range(LANES):
                    w[i, j] = constants[a]
            elif code == Op.ASSIGN:
                for j in range(LANES):
                    w[i, j] = w[a, j]
            elif code == Op.DIV:
                for j in range(LANES):
                    w[i, j] = w[a, j] / w[b, j]
            elif code == Op.NEG:
                for j in range(LANES):
                    w[i, j] = -w[a, j]
            elif code == Op.SQ:
                for j in range(LANES):
                    w[i, j] = w[a, j] * w[a, j]
            elif code == Op.TWICE:
                for j in range(LANES):
                    w[i, j] = 2.0 * w[a, j]
            elif code == Op.INV:
                for j in range(LANES):
                    w[i, j] = 1.0 / w[a, j]
            elif code == Op.SIN:
                for j in range(LANES):
                    w[i, j] = math.sin(w[a, j])
            elif code == Op.COS:
                for j in range(LANES):
                    w[i, j] = math.cos(w[a, j])
            elif code == Op.SQRT:
                for j in range(LANES):
                    w[i, j] = math.sqrt(w[a, j])
            else:
                for j in range(LANES):
                    w[i, j] = _seldom(code, w[a, j], w[b, j])


@numba.njit(cache=True, error_model="numpy")
def _seldom(code, a, b):  # pragma: no cover - compiled
    if code == Op.TAN:
        return math.tan(a)
    if code == Op.ASIN:
        return math.asin(a)
    if code == Op.ACOS:
        return math.acos(a)
    if code == Op.ATAN:
        return math.atan(a)
    if code == Op.ATAN2:
        return math.atan2(a, b)
    if code == Op.SINH:
        return math.sinh(a)
    if code == Op.COSH:
        return math.cosh(a)
    if code == Op.TANH:
        return math.tanh(a)
    if code == Op.EXP:
        return math.exp(a)
    if code == Op.LOG:
        return math.log(a)
    if code in (Op.POW, Op.CONSTPOW):
        return a**b
    if code == Op.FABS:
        return abs(a)
    if code == Op.SIGN:
        return 1.0 * (a > 0) - 1.0 * (a < 0)
    if code == Op.COPYSIGN:
        return math.copysign(a, b)
    if code == Op.FMIN:
        return min(a, b)
    if code == Op.FMAX:
        return max(a, b)
    if code == Op.FLOOR:
        return math.floor(a) * 1.0
    if code == Op.CEIL:
        return math.ceil(a) * 1.0
    if code == Op.LT:
        return 1.0 * (a < b)
    if code == Op.LE:
        return 1.0 * (a <= b)
    if code == Op.EQ:
        return 1.0 * (a == b)
    if code == Op.NE:
        return 1.0 * (a != b)
    if code == Op.NOT:
        return 1.0 * (a == 0)
    if code == Op.AND:
        return 1.0 * (a != 0 and b != 0)
    if code == Op.OR:
        return 1.0 * (a != 0 or b != 0)
    if code == Op.IF_ELSE_ZERO:
        return b if a != 0 else 0.0
    return np.nan
