"""What is drawn over the scene: forces, patches, centres of mass, support, near pairs, objectives, the user's pull."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import viser

from interplay.maths.hull import convex_hull
from interplay.stage.messages import Moment
from interplay.view.cast import linear

PER_NEWTON = 8e-4
"""Length of a force's arrow [m/N]: a person's weight is about as long as a thigh."""

PULLED = 4e-3
"""Length of the arrow of the user's pull [m/N]: a hand is far weaker than the ground, and a person pulled by all it has (a
fourteenth of her weight) should see so.
"""

GROUND, INNER, PATCH, MASS, SUPPORT, STABLE, NOW, GOAL, PULL = (
    (226, 112, 38),
    (142, 84, 178),
    (20, 130, 140),
    (38, 42, 50),
    (60, 140, 80),
    (40, 104, 208),
    (70, 84, 102),
    (222, 54, 120),
    (214, 40, 40),
)
"""Colours: forces from the ground and between bodies, patches, centres of mass, support, where they are stable, objectives now
and wanted, pull.
"""

_NEAR, _TIGHT = np.array([246, 190, 60.0]), np.array([210, 30, 30.0])
_LIFT = 0.004  # what lies on the ground is drawn this much above it [m]


class Marks:
    """A node that is made when there is first something to show, and hidden when there is nothing."""

    def __init__(self, make: Callable[[np.ndarray, Any], Any]):
        """Take the function that adds the node for some points and colours."""
        self._make, self._handle = make, None

    def show(self, points: np.ndarray, colors: Any = None) -> None:
        """Show points, segments or arrows, [m]."""
        points = np.round(points, 4).astype(np.float32)
        if len(points) == 0 or not np.isfinite(points).all():
            self.hide()
        elif self._handle is None:
            self._handle = self._make(points, colors)
        else:
            self._handle.points = points
            if colors is not None:
                self._handle.colors = colors
            if not self._handle.visible:
                self._handle.visible = True

    def hide(self) -> None:
        """Show nothing."""
        if self._handle is not None and self._handle.visible:
            self._handle.visible = False


class Overlay(NamedTuple):
    """One switch: its title, a line of help, whether it is on at first, and how it is drawn."""

    title: str
    help: str
    on: bool
    draw: Callable[[Moment], None]
    marks: tuple[Marks, ...]


class Overlays:
    """All overlays of the stage; ``switched`` says which are on. The last two change the bodies themselves."""

    def __init__(self, scene: viser.SceneApi):
        """Take the scene to draw in; nothing is added before it is shown."""

        def arrows(name: str, color: tuple[int, int, int], size: float = 1.0) -> Marks:
            radii: dict[str, Any] = {
                "shaft_radius": 0.009 * size,
                "head_radius": 0.022 * size,
                "head_length": 0.05 * size,
            }
            light = linear(np.array(color) / 255)
            return Marks(lambda points, _: scene.add_arrows(f"/over/{name}", points, light, **radii))

        def lines(name: str, color: tuple[int, int, int], width: float) -> Marks:
            return Marks(
                lambda points, colors: scene.add_line_segments(
                    f"/over/{name}", points, color if colors is None else colors, thickness=width
                )
            )

        def dots(name: str, color: tuple[int, int, int], size: float) -> Marks:
            return Marks(
                lambda points, _: scene.add_point_cloud(
                    f"/over/{name}", points, color, point_size=size, point_shape="circle", precision="float32"
                )
            )

        self._scene = scene
        self._pull, self._held = arrows("pull", PULL, 1.2), dots("held", PULL, 0.018)
        self._newtons: Any = None
        ground, inner = arrows("force_ground", GROUND), arrows("force_inner", INNER)
        patch, grasp = lines("patch", PATCH, 0.006), dots("grasp", PATCH, 0.02)
        centre, shadow, plumb = dots("com", MASS, 0.024), dots("com_ground", MASS, 0.016), lines("plumb", MASS, 0.003)
        support, stable = lines("support", SUPPORT, 0.008), lines("stable", STABLE, 0.008)
        pairs, witness = lines("pair", (246, 190, 60), 0.004), dots("witness", (210, 110, 30), 0.01)
        now, goal, error = dots("now", NOW, 0.017), dots("goal", GOAL, 0.02), lines("error", GOAL, 0.003)
        self.all = {
            "forces": Overlay(
                "Contact forces",
                f"On the first body by the second: from the ground (orange), between bodies (violet); 1 m is {1 / PER_NEWTON:.0f} N.",
                True,
                lambda f: draw_forces(f, ground, inner),
                (ground, inner),
            ),
            "patches": Overlay(
                "Contact patches",
                "Where surfaces touch; a dot is a grasp.",
                True,
                lambda f: draw_patches(f, patch, grasp),
                (patch, grasp),
            ),
            "com": Overlay(
                "Centre of mass",
                "Of each model, with its projection on the ground.",
                True,
                lambda f: draw_com(f, centre, shadow, plumb),
                (centre, shadow, plumb),
            ),
            "support": Overlay(
                "Support polygon",
                "Hull of what each model rests on the ground with.",
                False,
                lambda f: support.show(support_polygons(f)),
                (support,),
            ),
            "stability": Overlay(
                "Stability region",
                "Where each character's centre of mass can be at rest with its contacts and their friction; red: it is not there.",
                False,
                lambda f: draw_stability(f, stable),
                (stable,),
            ),
            "pairs": Overlay(
                "Near pairs",
                "Pairs inside their influence distance: nearest points, yellow far, red at the security distance.",
                False,
                lambda f: draw_pairs(f, pairs, witness),
                (pairs, witness),
            ),
            "objectives": Overlay(
                "Objectives",
                "Where something is (grey) and where it should be (pink).",
                False,
                lambda f: draw_objectives(f, now, goal, error),
                (now, goal, error),
            ),
            "load": Overlay(
                "Torque load", "Bodies redden as their joint nears its torque limit.", False, lambda f: None, ()
            ),
            "through": Overlay(
                "See through", "Bodies let through what is inside and behind them.", False, lambda f: None, ()
            ),
        }
        self.switched = {name: overlay.on for name, overlay in self.all.items()}

    def draw(self, frame: Moment) -> None:
        """Draw what is switched on."""
        for name, overlay in self.all.items():
            if self.switched[name]:
                overlay.draw(frame)
        self._draw_pull(frame)

    def _draw_pull(self, frame: Moment) -> None:
        """Draw the user's spring: where it holds, its force as an arrow with its size."""
        pull = frame.pull
        if pull is None:
            self._pull.hide()
            self._held.hide()
        else:
            tip = pull.point + PULLED * pull.force
            self._held.show(pull.point[None])
            self._pull.show(long_enough(np.array([[pull.point, tip]]), 0.072))
            text = f"{np.linalg.norm(pull.force):.0f} N"
            if self._newtons is None:
                self._newtons = self._scene.add_label("/over/newtons", text, position=tip, anchor="bottom-left")
            self._newtons.text, self._newtons.position = text, tip
        if self._newtons is not None and self._newtons.visible != (pull is not None):
            self._newtons.visible = pull is not None

    def switch(self, name: str, on: bool) -> None:
        """Switch an overlay on or off."""
        self.switched[name] = on
        if not on:
            self.clear(name)

    def clear(self, *names: str) -> None:
        """Hide some overlays, or all, until they are drawn again."""
        for name in names or self.all:
            for marks in self.all[name].marks:
                marks.hide()


def long_enough(arrows: np.ndarray, least: float = 0.06) -> np.ndarray:
    """Leave out arrows shorter than their heads."""
    return arrows[np.linalg.norm(arrows[:, 1] - arrows[:, 0], axis=1) >= least]


def draw_forces(frame: Moment, ground: Marks, inner: Marks) -> None:
    """Draw contact forces from their contacts."""
    at = frame.contact_pose[:, :3]
    arrows = np.stack([at, at + PER_NEWTON * frame.contact_force], axis=1)
    grounded = frame.grounded.astype(bool)
    ground.show(long_enough(arrows[grounded]))
    inner.show(long_enough(arrows[~grounded]))


def corners(frame: Moment) -> np.ndarray:
    """Return the corners of all contact patches, in a circle (c, 4, 3) [m]."""
    w, x, y, z = frame.contact_pose[:, 3:].T
    first = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=1)
    second = np.stack([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)], axis=1)
    along, across = (frame.contact_size[:, :1] * first)[:, None], (frame.contact_size[:, 1:] * second)[:, None]
    signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1.0]])
    return frame.contact_pose[:, None, :3] + signs[:, :1] * along + signs[:, 1:] * across


def draw_patches(frame: Moment, patch: Marks, grasp: Marks) -> None:
    """Outline planar contacts, and mark the others with a dot."""
    flat = (frame.contact_size > 0).all(axis=1)
    around = corners(frame)[flat]
    around[..., 2] += _LIFT
    patch.show(np.stack([around, np.roll(around, -1, axis=1)], axis=2).reshape(-1, 2, 3))
    grasp.show(frame.contact_pose[~flat, :3])


def draw_com(frame: Moment, centre: Marks, shadow: Marks, plumb: Marks) -> None:
    """Draw centres of mass and what is below them on the ground."""
    below = frame.com * [1, 1, 0] + [0, 0, _LIFT]
    centre.show(frame.com)
    shadow.show(below)
    plumb.show(np.stack([frame.com, below], axis=1))


def support_polygons(frame: Moment) -> np.ndarray:
    """Return the edges (k, 2, 3) of the hull of each model's grounded patches, at the height of its feet."""
    around, edges = corners(frame), []
    owners = [first.split("/")[0] for first, _ in frame.contacts]
    for owner in dict.fromkeys(o for o, grounded in zip(owners, frame.grounded, strict=True) if grounded):
        mine = [i for i, o in enumerate(owners) if o == owner and frame.grounded[i]]
        points = around[mine].reshape(-1, 3)
        ring = convex_hull(points[:, :2].round(6))
        height = np.full((len(ring), 1), points[:, 2].mean() + 2 * _LIFT)
        loop = np.hstack([ring, height])
        edges.append(np.stack([loop, np.roll(loop, -1, axis=0)], axis=1))
    return np.concatenate(edges) if edges else np.empty((0, 2, 3))


def draw_stability(frame: Moment, stable: Marks) -> None:
    """Outline where centres of mass can be at rest."""
    outlines = [s.outline + [0, 0, 3 * _LIFT] for s in frame.stability]
    edges = [np.stack([loop, np.roll(loop, -1, axis=0)], axis=1) for loop in outlines]
    colors = [np.full((len(s.outline), 2, 3), STABLE if s.stable else PULL, np.uint8) for s in frame.stability]
    stable.show(np.concatenate([np.empty((0, 2, 3)), *edges]), np.concatenate([np.empty((0, 2, 3), np.uint8), *colors]))


def draw_pairs(frame: Moment, pairs: Marks, witness: Marks) -> None:
    """Draw near pairs: a line between their nearest points, red where the security distance is reached."""
    distance, security = frame.pair_distance.reshape(-1, 2).T
    tight = np.clip(security / np.maximum(distance, 1e-6), 0, 1)[:, None]
    colors = (tight * _TIGHT + (1 - tight) * _NEAR).astype(np.uint8)
    pairs.show(frame.pair_points, np.repeat(colors[:, None], 2, axis=1))
    witness.show(frame.pair_points.reshape(-1, 3))


def draw_objectives(frame: Moment, now: Marks, goal: Marks, error: Marks) -> None:
    """Draw where things are and where they should be."""
    placed = [o for o in frame.objectives if o.now is not None and o.goal is not None and o.level > 0.01]
    here = np.array([o.now for o in placed]).reshape(-1, 3)
    there = np.array([o.goal for o in placed]).reshape(-1, 3)
    now.show(here)
    goal.show(there)
    error.show(np.stack([here, there], axis=1))
