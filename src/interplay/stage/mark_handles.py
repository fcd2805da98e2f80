"""Handles on what can be moved of a composed motion: footprints on the ground, targets of hands in the air.

Like all handles they belong to the browser that holds control. Where a foot stands is drawn grey; its handle carries a footprint of its own
to where it is dragged, and comes back if that cannot be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from interplay.stage.editor import Edit, Marks, MarkView, MoveMark, Prepare
from interplay.stage.hands import dragged

SOON, LATE = 1.2, 0.7
"""From how long before until how long after a mark's time its handle is shown [s]."""
MOST = 40
"""How many footprints are drawn at once: those nearest in time."""

_STANDS, _MOVES, _HAND = (120, 128, 138), (214, 96, 30), (40, 110, 190)
_ABOVE = 0.004  # of what is drawn on the ground [m]


class _Handle:
    """A mark's handle, and what is drawn where it is."""

    def __init__(self, client: viser.ClientHandle, index: int, view: MarkView, grab: Callable[[str, Any], None]):
        self.view, self.held, self.pending = view, False, False
        scene, foot = client.scene, view.kind == "footprint"
        self._lines = scene.add_line_segments(f"/marks/place_{index}", outline(view), _STANDS, thickness=0.006)
        self._lines.position, self._lines.wxyz = view.position, _turn(view.heading)
        behind = (-1.7 * view.size[0], 0.0, 0.0) if foot else (0.0, 0.0, 0.1)
        self._label = scene.add_label(
            f"/marks/place_{index}/label", label(view), position=behind, anchor="bottom-center"
        )
        self._gizmo: Any = None
        if view.why:
            return
        self._gizmo = gizmo = scene.add_transform_controls(
            f"/marks/{index}",
            scale=0.3 if foot else 0.22,
            line_width=3.0,
            depth_test=False,
            active_axes=(True, True, not foot),
            disable_rotations=not foot,
            position=view.position,
            wxyz=_turn(view.heading),
        )
        scene.add_line_segments(
            f"/marks/{index}/there", outline(view), _MOVES if foot else _HAND, thickness=0.01 if foot else 0.006
        )

        async def update(event: Any) -> None:  # async: viser keeps the order of these only
            grab(view.name, event)

        gizmo.on_update(update)

    def follow(self, view: MarkView, shown: bool, busy: bool) -> None:
        """Bring it to where its mark is, unless it is dragged or somebody waits for what becomes of it."""
        moved, self.view = view != self.view, view
        if moved:
            self._lines.position, self._lines.wxyz, self._label.text = view.position, _turn(view.heading), label(view)
        if self._gizmo is None:
            return
        if not busy:
            self.pending = False
        shown = shown or self.held or self.pending
        if self._gizmo.visible != shown:
            self._gizmo.visible = shown
        away = np.abs(np.asarray(self._gizmo.position) - view.position).max() > 1e-4
        turned = abs(float(np.dot(self._gizmo.wxyz, _turn(view.heading)))) < 1 - 1e-7
        if (away or turned) and not self.held and not self.pending:
            self._gizmo.position, self._gizmo.wxyz = view.position, _turn(view.heading)

    def remove(self) -> None:
        for node in (self._label, self._lines, self._gizmo):
            if node is not None:
                node.remove()


class MarkHandles:
    """All handles on marks of the browser that holds control."""

    def __init__(
        self,
        client: viser.ClientHandle,
        post: Callable[[int | None, Callable[[], None]], None],
        edit: Callable[[Edit], None],
    ):
        """Begin with none; ``post`` queues an action of a browser, ``edit`` asks the editor for something."""
        self._client, self._post, self._edit = client, post, edit
        self.handles: dict[str, _Handle] = {}
        self._marks: dict[str, MarkView] = {}
        self._busy = False

    def show(self, marks: Marks) -> None:
        """Take what can be moved now."""
        self._busy = bool(marks.doing)
        if [view.name for view in marks.marks] != list(self._marks):
            self.remove()
        self._marks = {view.name: view for view in marks.marks}

    def follow(self, time: float) -> None:
        """Show handles of what is near in time."""
        near = sorted(self._marks.values(), key=lambda view: abs(view.time - time))[:MOST]
        for view in near:
            if view.name not in self.handles:
                index = list(self._marks).index(view.name)
                self.handles[view.name] = _Handle(self._client, index, view, self._grabbed)
            soon = -SOON <= time - view.time <= LATE
            self.handles[view.name].follow(view, soon, self._busy)
        for name in set(self.handles) - {view.name for view in near}:
            self.handles.pop(name).remove()

    def _grabbed(self, name: str, event: Any) -> None:
        drag = dragged(event)
        if drag is not None:
            position, wxyz = tuple(drag.position.tolist()), drag.wxyz
            self._post(event.client_id, lambda: self._drag(name, drag.phase != "end", position, _heading(wxyz)))

    def _drag(self, name: str, held: bool, position: tuple[float, float, float], heading: float) -> None:
        handle = self.handles.get(name)
        if handle is None:
            return
        if held and not handle.held:
            self._edit(Prepare(name))
        handle.held = held
        if not held:
            handle.pending = self._busy = True
            if handle.view.kind == "footprint":
                position = (*position[:2], handle.view.position[2])
            self._edit(MoveMark(name, position, heading))

    def remove(self) -> None:
        """Take all away."""
        for handle in self.handles.values():
            handle.remove()
        self.handles = {}


def label(view: MarkView) -> str:
    """Return what is written at a mark."""
    return f"{view.name.partition(':')[2].partition(',')[0].strip() or view.name} · {view.time:.2f} s"


def outline(view: MarkView) -> np.ndarray:
    """Return a mark's lines (n, 2, 3): a sole, or a cross in the air."""
    if view.kind != "footprint":
        return 0.06 * np.stack([-np.eye(3), np.eye(3)], axis=1)
    length, width = view.size
    turn = np.linspace(0.0, 2 * np.pi, 33)
    c, s = np.cos(turn), np.sin(turn)
    x = length * np.sign(c) * np.abs(c) ** 0.6  # fuller than an ellipse, wider at the ball of the foot
    y = width * np.sign(s) * np.abs(s) ** 0.6 * (0.9 + 0.15 * c)
    ring = np.stack([x, y, np.full_like(x, _ABOVE)], axis=1)
    return np.stack([ring[:-1], ring[1:]], axis=1)


def _turn(heading: float) -> tuple[float, float, float, float]:
    return float(np.cos(heading / 2)), 0.0, 0.0, float(np.sin(heading / 2))


def _heading(wxyz: np.ndarray) -> float:
    w, x, y, z = wxyz
    return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
