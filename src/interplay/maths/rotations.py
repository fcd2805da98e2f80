"""Rotations as quaternions (w, x, y, z), matrices and vectors."""

from __future__ import annotations

import mujoco
import numba
import numpy as np


@numba.njit(cache=True)
def rotation_log(R, out):
    """Write the rotation vector of a matrix."""
    c = min(max((R[0, 0] + R[1, 1] + R[2, 2] - 1.0) / 2.0, -1.0), 1.0)
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    s = 0.5 * np.sqrt(x * x + y * y + z * z)
    angle = np.arctan2(s, c)
    if s > 1e-9:
        k = 0.5 * angle / s
        out[0], out[1], out[2] = k * x, k * y, k * z
    elif c > 0:
        out[0], out[1], out[2] = 0.5 * x, 0.5 * y, 0.5 * z
    else:  # a half turn: the axis is the largest column of R + 1
        best = 0
        for i in range(3):
            if R[i, i] > R[best, best]:
                best = i
        norm = np.sqrt(2.0 * (1.0 + R[best, best]))
        for i in range(3):
            out[i] = np.pi * (R[i, best] + (1.0 if i == best else 0.0)) / norm


@numba.njit(cache=True)
def rotation(quat):
    """Return the matrix (3, 3) of a quaternion (w, x, y, z)."""
    size = np.sqrt(quat[0] ** 2 + quat[1] ** 2 + quat[2] ** 2 + quat[3] ** 2)
    w, x, y, z = quat[0] / size, quat[1] / size, quat[2] / size, quat[3] / size
    R = np.empty((3, 3))
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    R[1, 0], R[1, 1], R[1, 2] = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    R[2, 0], R[2, 1], R[2, 2] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)
    return R


@numba.njit(cache=True)
def turn_from(quat, R):
    """Return the rotation vector (3,), world axes, from the orientation of a quaternion to that of a matrix."""
    out, Q, turn = np.empty(3), rotation(quat), np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            turn[i, j] = R[i, 0] * Q[j, 0] + R[i, 1] * Q[j, 1] + R[i, 2] * Q[j, 2]
    rotation_log(turn, out)
    return out


@numba.njit(cache=True)
def turn_between(a, b, out):
    """Write the rotation vector that turns the unit vector a into b."""
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    sine, cosine = np.sqrt(x * x + y * y + z * z), a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    if sine > 1e-9:
        k = np.arctan2(sine, cosine) / sine
    elif cosine > 0.0:
        k = 0.0
    else:  # straight behind: any way round, about a × z or a × x
        if abs(a[2]) < 0.9:
            x, y, z = a[1], -a[0], 0.0
        else:
            x, y, z = 0.0, a[2], -a[1]
        k = np.pi / np.sqrt(x * x + y * y + z * z)
    out[0], out[1], out[2] = k * x, k * y, k * z


def quaternion_of(R: np.ndarray) -> np.ndarray:
    """Return the quaternion (w, x, y, z) of a matrix."""
    out = np.empty(4)
    mujoco.mju_mat2Quat(out, np.ascontiguousarray(R).reshape(-1))
    return out


@numba.njit(cache=True)
def turned(vector, quat):
    """Return a quaternion turned by a rotation vector (world axes)."""
    angle = np.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
    scale = np.sin(0.5 * angle) / angle if angle > 1e-12 else 0.5
    a, x, y, z = np.cos(0.5 * angle), scale * vector[0], scale * vector[1], scale * vector[2]
    b, u, v, w = quat[0], quat[1], quat[2], quat[3]
    out = np.empty(4)
    out[0] = a * b - x * u - y * v - z * w
    out[1] = a * u + b * x + y * w - z * v
    out[2] = a * v + b * y + z * u - x * w
    out[3] = a * w + b * z + x * v - y * u
    return out


@numba.njit(cache=True)
def turn_axes(vector, axes, out):
    """Write axes (9,), a matrix row by row, turned by a rotation vector (world axes)."""
    R = rotation(turned(vector, np.array([1.0, 0.0, 0.0, 0.0])))
    for i in range(3):
        for j in range(3):
            out[3 * i + j] = R[i, 0] * axes[j] + R[i, 1] * axes[3 + j] + R[i, 2] * axes[6 + j]


def products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the quaternion products of two stacks (n, 4)."""
    w, v = a[:, :1], a[:, 1:]
    s, u = b[:, :1], b[:, 1:]
    return np.concatenate([w * s - (v * u).sum(1, keepdims=True), w * u + s * v + np.cross(v, u)], axis=1)


def continuous(quats: np.ndarray) -> np.ndarray:
    """Return quaternions (n, 4) with signs such that each is near the one before."""
    flips = np.cumprod(np.where((quats[1:] * quats[:-1]).sum(1) < 0, -1.0, 1.0))
    return quats * np.concatenate([[1.0], flips])[:, None]


def turns_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the rotation vectors (n, 3), world axes, from quaternions (n, 4) to others: the shorter way."""
    turn = products(b, a * [1, -1, -1, -1])
    turn = turn * np.where(turn[:, :1] < 0, -1.0, 1.0)
    sine = np.linalg.norm(turn[:, 1:], axis=1, keepdims=True)
    angle = 2 * np.arctan2(sine, turn[:, :1])
    return turn[:, 1:] * np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 2.0)


def all_turned(vectors: np.ndarray, quats: np.ndarray) -> np.ndarray:
    """Return quaternions (n, 4) turned by rotation vectors (n, 3), world axes."""
    angle = np.linalg.norm(vectors, axis=1, keepdims=True)
    return products(np.hstack([np.cos(0.5 * angle), 0.5 * vectors * np.sinc(angle / (2 * np.pi))]), quats)


def about_z(angle: float) -> np.ndarray:
    """Return the quaternion of a turn about the z axis [rad]."""
    return np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])
