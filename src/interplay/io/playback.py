"""A recording as one HTML page that opens from disk, without server or network (viser's serializer)."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import mujoco
import numpy as np
import viser

from interplay.io.graphics import camera_of
from interplay.io.recording import Recording
from interplay.models.base import VISUAL_GROUP
from interplay.scene.kinematics import Kinematics


def write_html(recording: Recording, out: Path, *, fps: float = 25.0) -> None:
    """Write a page that plays the recording at so many frames a second, seen as its scenario's camera sees it."""
    m = recording.model
    terms, motion = Kinematics(m), recording["qpos"]
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        server.scene.set_up_direction("+z")
        server.scene.add_grid("/ground", width=10, height=10, cell_size=0.5, section_size=1.0, plane="xy")
        server.scene.configure_environment_map("city", background=False)
        camera = camera_of(recording)
        azimuth, elevation = np.radians([camera.azimuth, camera.elevation])
        forward = np.array(
            [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
        )
        server.initial_camera.position = np.asarray(camera.lookat) - 1.25 * camera.distance * forward
        server.initial_camera.look_at = np.asarray(camera.lookat)
        server.initial_camera.up = (0.0, 0.0, 1.0)
        shapes = [g for g in range(m.ngeom) if m.geom_group[g] == VISUAL_GROUP]
        handles = {}
        serializer = server.get_scene_serializer()
        for g in shapes:
            vertices, faces = geom_mesh(m, g)
            handles[g] = server.scene.add_mesh_simple(
                f"/{m.geom(g).name}",
                vertices,
                faces,
                color=np.asarray(m.geom_rgba[g, :3], float),
                flat_shading=m.geom_type[g] == int(mujoco.mjtGeom.mjGEOM_BOX),
            )
        step = max(1, round(1.0 / (fps * recording.header["dt"])))
        still = _fixed(m)
        last: dict[int, np.ndarray] = {}
        for t in range(0, recording.steps, step):
            terms.place(motion[t])
            for g in shapes:
                if g in last and still[g]:
                    continue
                quat = np.empty(4)
                mujoco.mju_mat2Quat(quat, terms.geom_xmat[g])
                now = np.concatenate([terms.geom_xpos[g], quat])
                if g not in last or np.abs(now - last[g]).max() > 1e-4:
                    handles[g].position, handles[g].wxyz = tuple(now[:3]), tuple(now[3:])
                    last[g] = now
            serializer.insert_sleep(step * recording.header["dt"])
        out.write_text(serializer.as_html())
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


def _fixed(m: mujoco.MjModel) -> np.ndarray:
    return m.body_treeid[m.geom_bodyid] < 0


def geom_mesh(m: mujoco.MjModel, geom: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) and triangles (k, 3) of a geom in its own frame."""
    import trimesh

    kind, size = int(m.geom_type[geom]), m.geom_size[geom]
    G = mujoco.mjtGeom
    if kind == int(G.mjGEOM_MESH):
        mesh = int(m.geom_dataid[geom])
        v, f = int(m.mesh_vertadr[mesh]), int(m.mesh_faceadr[mesh])
        return m.mesh_vert[v : v + m.mesh_vertnum[mesh]].astype(np.float32), m.mesh_face[
            f : f + m.mesh_facenum[mesh]
        ].astype(np.uint32)
    if kind == int(G.mjGEOM_CAPSULE):
        shape = trimesh.creation.capsule(height=2 * size[1], radius=size[0], count=(12, 12))
        shape.apply_translation((0, 0, -shape.bounds.mean(axis=0)[2]))
        return np.asarray(shape.vertices, np.float32), np.asarray(shape.faces, np.uint32)
    form, scale = {
        int(G.mjGEOM_BOX): ("box", size),
        int(G.mjGEOM_CYLINDER): ("tube", size[[0, 0, 1]]),
        int(G.mjGEOM_SPHERE): ("ball", size[[0, 0, 0]]),
    }.get(kind, ("ball", size))
    vertices, faces = unit_mesh(form)
    return vertices * scale.astype(np.float32), faces


def unit_mesh(form: str) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles of a box, ball or tube (a cylinder along z) with half sizes of one."""
    import trimesh

    if form == "box":
        shape = trimesh.creation.box(extents=(2, 2, 2))
    elif form == "tube":
        shape = trimesh.creation.cylinder(radius=1, height=2, sections=24)
    else:
        shape = trimesh.creation.icosphere(subdivisions=2)
    return np.asarray(shape.vertices, np.float32), np.asarray(shape.faces, np.uint32)
