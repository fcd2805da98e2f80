"""Surfaces as other tools take them: triangles with a normal at every vertex, parted where they have an edge, by colour."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

_EDGE = np.cos(np.radians(40.0))
"""Faces that meet at a larger angle than this have an edge between them."""

_WELD = 1e-6
"""Vertices that are nearer than this to each other are one [m]."""


class Surface(NamedTuple):
    """Triangles: vertices (n, 3) [m], their normals (n, 3), and three vertices of each (k, 3), counter-clockwise."""

    vertices: np.ndarray
    normals: np.ndarray
    faces: np.ndarray

    def moved(self, position: np.ndarray, rotation: np.ndarray) -> Surface:
        """Return it turned by a matrix, then moved."""
        return Surface(position + self.vertices @ rotation.T, self.normals @ rotation.T, self.faces)


def welded(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles with each point once, without triangles that are none."""
    _, first, place = np.unique(np.round(vertices / _WELD), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # as they came: neighbours stay neighbours
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    faces = rank[place.reshape(-1)][faces.astype(np.int64)]
    a, b, c = faces.T
    return vertices[first[order]], faces[(a != b) & (b != c) & (c != a)]


def surface(vertices: np.ndarray, faces: np.ndarray) -> Surface:
    """Return triangles with normals: the mean of those of the faces around a vertex, by area, up to the next edge."""
    vertices, faces = welded(np.asarray(vertices, float), faces)
    corners = vertices[faces]
    weighted = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(weighted, axis=1)
    faces, weighted, size = faces[size > 1e-14], weighted[size > 1e-14], size[size > 1e-14, None]
    unit, at = weighted / size, faces.reshape(-1)
    owner = np.repeat(np.arange(len(faces)), 3)
    # Every corner looks at all corners of the same vertex: sorted by vertex, those are neighbours in the list.
    order = np.argsort(at, kind="stable")
    starts = np.searchsorted(at[order], np.arange(len(vertices) + 1))
    counts = np.diff(starts)[at]
    mine = np.repeat(np.arange(len(at)), counts)
    within = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
    other = order[np.repeat(starts[at], counts) + within]
    smooth = np.einsum("ij,ij->i", unit[owner[mine]], unit[owner[other]]) > _EDGE
    normals = np.zeros((len(at), 3))
    np.add.at(normals, mine[smooth], weighted[owner[other[smooth]]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    keys = np.column_stack([at, np.round(normals * 1e4)])
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return Surface(vertices[at[first]], normals[first], place.reshape(-1, 3))


def joined(parts: list[Surface]) -> Surface:
    """Return several surfaces as one."""
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    return Surface(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.normals for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=False)]),
    )


Color = tuple[float, ...]
"""Red, green, blue and opacity, 0 to 1, as screens take them (sRGB)."""


def color_of(m: mujoco.MjModel, geom: int) -> Color:
    """Return the colour of a geom: its material's, if it has one."""
    material = int(m.geom_matid[geom])
    rgba = m.mat_rgba[material] if material >= 0 else m.geom_rgba[geom]
    return tuple(round(float(v), 4) for v in rgba)
