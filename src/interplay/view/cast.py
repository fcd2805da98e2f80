"""The scene in the browser: light, ground, and every body as instances of a few shared shapes."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, NamedTuple

import mujoco
import numpy as np
import viser
from viser._messages import SceneNodeUpdateMessage

from interplay.maths.rotations import products
from interplay.models.base import VISUAL_GROUP
from interplay.view import look
from interplay.view.fingers import Fingers, Grip
from interplay.view.meshes import geom_mesh, unit_mesh

STRAINED = np.array([0.93, 0.16, 0.10])
"""Colour of a body whose joint is at its torque limit."""

FADED = 0.45
"""Opacity of bodies that are seen through."""

THIN = 0.012
"""What is thinner than this [m], as fingers are, is drawn with fewer triangles."""

_G = mujoco.mjtGeom
_BACKDROP_ROWS = 256
_SHADES = 12  # steps of the torque colour: fewer of them, fewer messages


class Hit(NamedTuple):
    """Where a ray meets a body: its name, the point in the body's own frame and in the world [m]."""

    body: str
    local: np.ndarray
    point: np.ndarray


class Instance(NamedTuple):
    """One instance: a geom, how far its centre is shifted along the geom's z, its scale."""

    geom: int
    shift: float
    scale: tuple[float, float, float]


def seen(m: mujoco.MjModel) -> np.ndarray:
    """Return the geoms that are drawn: what models show, without the ground."""
    return np.flatnonzero((m.geom_group == VISUAL_GROUP) & (m.geom_type != int(_G.mjGEOM_PLANE)))


def parts(m: mujoco.MjModel, geom: int) -> list[tuple[str, Instance]]:
    """Return the shared shapes a geom is made of, with their instances; a capsule is a cylinder with two balls."""
    kind, size = int(m.geom_type[geom]), [float(v) for v in m.geom_size[geom]]
    if kind == int(_G.mjGEOM_MESH):
        return [(f"mesh{int(m.geom_dataid[geom])}", Instance(geom, 0.0, (1.0, 1.0, 1.0)))]
    if kind == int(_G.mjGEOM_BOX):
        return [("box", Instance(geom, 0.0, (size[0], size[1], size[2])))]
    if kind == int(_G.mjGEOM_ELLIPSOID):
        return [("ball", Instance(geom, 0.0, (size[0], size[1], size[2])))]
    ball, tube = ("bead", "straw") if size[0] < THIN else ("ball", "tube")
    if kind == int(_G.mjGEOM_SPHERE):
        return [(ball, Instance(geom, 0.0, (size[0], size[0], size[0])))]
    rod = (tube, Instance(geom, 0.0, (size[0], size[0], size[1])))
    if kind == int(_G.mjGEOM_CAPSULE):
        return [rod, *((ball, Instance(geom, side * size[1], (size[0], size[0], size[0]))) for side in (-1.0, 1.0))]
    return [rod]


class _Batch:
    """All instances of one shape; those that move, or those that stand still."""

    def __init__(self, scene: viser.SceneApi, m: mujoco.MjModel, shape: str, instances: list[Instance], moving: bool):
        self.parts = instances
        geoms = np.array([part.geom for part in instances])
        mesh = geom_mesh(m, int(geoms[0])) if shape.startswith("mesh") else unit_mesh(shape)
        self.colors, self.bodies = linear(np.asarray(m.geom_rgba[geoms, :3], float)), m.geom_bodyid[geoms]
        opacities = np.asarray(m.geom_rgba[geoms, 3], float)
        n = len(instances)
        self._scene = scene
        self.handle = scene.add_batched_meshes_simple(
            f"/{'cast' if moving else 'set'}/{shape}",
            mesh[0],
            mesh[1],
            batched_positions=np.zeros((n, 3)),
            batched_wxyzs=np.tile([1.0, 0, 0, 0], (n, 1)),
            batched_scales=np.array([part.scale for part in instances]),
            batched_colors=self.colors,
            batched_opacities=opacities if (opacities < 0.99).any() else None,
            flat_shading=shape == "box",
            lod="off",
        )

    def place(self, positions: np.ndarray, wxyzs: np.ndarray) -> None:
        """Send poses. Assigning them to the handle would be two messages and, at thirty frames a second, half of all the cost."""
        self._scene._queue_scene_message(
            SceneNodeUpdateMessage(self.handle.name, {"batched_positions": positions, "batched_wxyzs": wxyzs})
        )

    def tint(self, load: np.ndarray | None) -> None:
        """Colour bodies by torque load (nbody,), or as they are."""
        level = np.zeros(len(self.bodies)) if load is None else load[self.bodies]
        mix = (np.round(np.clip(level, 0, 1) * _SHADES) / _SHADES)[:, None]
        self.handle.batched_colors = (255 * ((1 - mix) * self.colors + mix * linear(STRAINED))).astype(np.uint8)


def linear(color: np.ndarray) -> np.ndarray:
    """Return sRGB colours (0 to 1) as light: viser takes those of instances so, unlike those of single meshes."""
    return np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)


class _Company:
    """Batches that are placed together: one array of all their instances."""

    def __init__(self, m: mujoco.MjModel, batches: list[_Batch]):
        self.batches, self._m = batches, m
        every = [part for batch in batches for part in batch.parts]
        self._geoms = np.array([part.geom for part in every], int)
        self._shifts = np.array([[part.shift] for part in every])
        self._starts = np.cumsum([0, *(len(batch.parts) for batch in batches)])
        self._shown = np.full((len(every), 7), np.nan, np.float32)

    def poses(self, d: mujoco.MjData) -> np.ndarray:
        """Return position and quaternion of each instance (n, 7)."""
        g, m = self._geoms, self._m
        at = d.geom_xpos[g] + self._shifts * d.geom_xmat[g][:, [2, 5, 8]]
        return np.hstack([at, products(d.xquat[m.geom_bodyid[g]], m.geom_quat[g])])

    def place(self, d: mujoco.MjData) -> None:
        """Send the poses of batches in which something has moved, in steps of 2⁻¹³ (0.12 mm): what moves compresses well."""
        if not self.batches:
            return
        poses = (np.round(self.poses(d) * 8192) / 8192).astype(np.float32)
        moved = np.logical_or.reduceat((poses != self._shown).any(axis=1), self._starts[:-1])
        self._shown = poses
        for i in np.flatnonzero(moved):
            part = poses[self._starts[i] : self._starts[i + 1]]
            self.batches[i].place(part[:, :3].copy(), part[:, 3:].copy())


class Cast:
    """The bodies of one scenario, drawn in a scene."""

    def __init__(self, scene: viser.SceneApi, model: mujoco.MjModel):
        """Add the shapes of a model; it is copied, as fingers move in what is drawn."""
        self.model = m = copy.copy(model)
        self._fingers = Fingers(m)
        self.data = mujoco.MjData(m)
        shapes: dict[tuple[str, bool], list[Instance]] = {}
        for geom in seen(m):
            moving = bool(m.body_treeid[m.geom_bodyid[geom]] >= 0)
            for shape, part in parts(m, int(geom)):
                shapes.setdefault((shape, moving), []).append(part)
        made = {key: _Batch(scene, m, key[0], instances, key[1]) for key, instances in shapes.items()}
        self.moving = _Company(m, [batch for (_, moving), batch in made.items() if moving])
        self.fixed = _Company(m, [batch for (_, moving), batch in made.items() if not moving])
        self._tinted = False
        self.place(np.asarray(m.qpos0))
        self.fixed.place(self.data)

    def place(self, qpos: np.ndarray, grips: Iterable[Grip] = ()) -> None:
        """Show a configuration, and what hands hold in it."""
        self._fingers.show(grips)
        self.data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self.data)
        self.moving.place(self.data)

    def tint(self, load: np.ndarray | None) -> None:
        """Colour bodies by torque load, or (None) in their own colours."""
        if load is None and not self._tinted:
            return
        for batch in self.moving.batches:
            batch.tint(load)
        self._tinted = load is not None

    def fade(self, on: bool) -> None:
        """Let bodies be seen through, or not."""
        for batch in self.moving.batches:
            batch.handle.opacity = FADED if on else None

    def pick(self, origin: Any, direction: Any) -> Hit | None:
        """Return where a ray first meets a body that moves."""
        start, way = np.asarray(origin, float).reshape(3), np.asarray(direction, float).reshape(3)
        length = float(np.linalg.norm(way))
        if not np.isfinite([*start, *way]).all() or length < 1e-9:
            return None
        groups = np.zeros(mujoco.mjNGROUP, np.uint8)
        groups[VISUAL_GROUP] = 1
        geom = np.full((1, 1), -1, np.int32)
        far = mujoco.mj_ray(self.model, self.data, start, way / length, groups, 0, -1, geom, None)
        if geom[0, 0] < 0:
            return None
        body = int(self.model.geom_bodyid[geom[0, 0]])
        point = start + far * way / length
        return Hit(self.model.body(body).name, self.to_local(body, point), point)

    def to_local(self, body: int, point: np.ndarray) -> np.ndarray:
        """Return a world point in a body's own frame."""
        return self.data.xmat[body].reshape(3, 3).T @ (point - self.data.xpos[body])

    def to_world(self, body: str, local: np.ndarray) -> np.ndarray:
        """Return a point of a body in the world."""
        b = self.model.body(body).id
        return self.data.xpos[b] + self.data.xmat[b].reshape(3, 3) @ np.asarray(local, float)

    def remove(self) -> None:
        """Take the bodies away."""
        for batch in [*self.moving.batches, *self.fixed.batches]:
            batch.handle.remove()


def furnish(server: viser.ViserServer, shadows: bool = True) -> None:
    """Light the stage, lay the ground and name the page; without shadows software can render it, too."""
    scene, gui = server.scene, server.gui
    lay_ground(scene)
    gui.configure_theme(show_logo=False, show_share_button=False, dark_mode=False, brand_color=(46, 94, 140))
    gui.set_panel_label("Interplay")
    gui.main_panel.dock_right()
    gui.main_panel.set_width(320)
    scene.configure_environment_map("studio", background=False, environment_intensity=look.REFLECTIONS)
    scene.configure_default_lights(enabled=False)
    scene.add_light_hemisphere(
        "/light/sky", sky_color=(255, 255, 255), ground_color=_bytes(look.BOUNCE), intensity=look.SKY_STRENGTH
    )
    scene.add_light_directional("/light/sun", intensity=look.KEY_STRENGTH, position=look.KEY, cast_shadow=shadows)


def lay_ground(scene: viser.SceneApi) -> None:
    """Lay the ground, z up, and hang the backdrop behind it."""
    scene.set_up_direction("+z")
    scene.world_axes.visible = False
    column = np.round(255 * look.backdrop(_BACKDROP_ROWS)).astype(np.uint8)
    scene.set_background_image(np.repeat(column[:, None], 2, axis=1), format="png")
    scene.add_grid(
        "/ground",
        infinite_grid=True,
        fade_distance=look.FADE,
        cell_size=0.5,
        section_size=1.0,
        cell_color=_bytes(look.HALF_LINES),
        section_color=_bytes(look.LINES),
        cell_thickness=0.7,
        section_thickness=1.0,
        plane_color=_bytes(look.GROUND),
        plane_opacity=1.0,
        shadow_opacity=0.3,
    )


def _bytes(color: tuple[float, float, float]) -> tuple[int, int, int]:
    """Return a colour in numbers from 0 to 255."""
    red, green, blue = (round(255 * part) for part in color)
    return red, green, blue
