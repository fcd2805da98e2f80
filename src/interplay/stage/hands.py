"""The holder's hands: drag handles for live controls, and a grip on any body that was clicked.

The handles belong to one browser (``client.scene``): the others do not have them, so they cannot act by them.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import viser

from interplay.motion.pushes import MOST_IMPULSE
from interplay.stage.messages import (
    Command,
    ControlView,
    LetGo,
    Moment,
    Opening,
    Pull,
    PullView,
    Push,
    SetControl,
    Throw,
)
from interplay.view.cast import Cast, Hit

REACH = 50.0
"""How far from the origin a handle may be dragged [m]."""
STRONGEST = MOST_IMPULSE
"""Largest impulse of a push [N·s]; what a body can stand may be less."""

_FAINT = 0.3  # opacity of a handle that nothing follows yet
_ANSWER = 0.3  # seconds within which a frame tells where a handle that was let go is wanted


_NEAR, _FAR = 0.3, 4.0  # a ball flies from so far before the eye, at most so far before what it is thrown at [m]


class Aim(NamedTuple):
    """How a click throws a ball: its mass [kg] and speed [m/s]."""

    mass: float
    speed: float


class _Drag(NamedTuple):
    phase: str
    position: np.ndarray
    wxyz: np.ndarray


def dragged(event: Any) -> _Drag | None:
    """Return where a handle is, or None where that is no place at all."""
    position, wxyz = np.array(event.target.position, float), np.array(event.target.wxyz, float)
    norm = np.linalg.norm(wxyz)
    if not np.isfinite([*position, *wxyz]).all() or not 1e-6 < norm < 1e6:
        return None
    return _Drag(event.phase, np.clip(position, -REACH, REACH), wxyz / norm)


class ControlHandle:
    """A point or pose control that can be dragged; its bounds are shown meanwhile."""

    def __init__(self, client: viser.ClientHandle, view: ControlView, size: float, on_drag: Callable[[Any], None]):
        """Add the handle with its name to one browser's scene."""
        self.view, self._client = view, client
        self._held, self._dropped = False, -math.inf
        pose = np.array(view.value, float)
        node = view.name.replace("/", "_")  # a slash would make a tree of nodes
        self._gizmo = client.scene.add_transform_controls(
            f"/hands/{node}",
            scale=size,
            line_width=3.0,
            depth_test=False,
            disable_rotations=view.kind == "point",
            position=pose[:3],
            wxyz=pose[3:] if view.kind == "pose" else (1.0, 0, 0, 0),
        )
        self._label = client.scene.add_label(
            f"/hands/{node}/label", view.name, position=(0, 0, 1.15 * size), anchor="bottom-center"
        )
        self._box: Any = None
        self._gizmo.on_update(on_drag)

    def drag(self, drag: _Drag) -> SetControl:
        """Take in where the user holds the handle, and return what to ask of the control."""
        self._held, self._dropped = drag.phase != "end", time.monotonic()
        self._show_bounds(self._held)
        value = np.concatenate([drag.position, drag.wxyz]) if self.view.kind == "pose" else drag.position
        value[:3] = np.clip(value[:3], self.view.low, self.view.high)
        if not self._held:
            self._put(value)
        return SetControl(self.view.name, tuple(float(v) for v in value))

    def follow(self, wanted: np.ndarray, live: bool, waiting: str) -> None:
        """Bring the handle to where the control is asked to be: it has been clamped, reset, or the past is shown.

        While it waits for the phase in which it is followed, it is faint and says so.
        """
        text = f"{self.view.name} (from {waiting!r} on)" if waiting else self.view.name
        if self._label.text != text:
            self._label.text, self._gizmo.opacity = text, _FAINT if waiting else 1.0
        if not self._held and (not live or time.monotonic() > self._dropped + _ANSWER):
            self._put(wanted)

    def _put(self, value: np.ndarray) -> None:
        if np.abs(np.asarray(self._gizmo.position) - value[:3]).max() > 1e-4:
            self._gizmo.position = value[:3]
        if self.view.kind == "pose" and 1 - abs(float(np.dot(self._gizmo.wxyz, value[3:]))) > 1e-6:
            self._gizmo.wxyz = value[3:]

    def _show_bounds(self, shown: bool) -> None:
        low, high = self.view.low, self.view.high
        if shown and self._box is None and np.isfinite([*low, *high]).all():
            self._box = self._client.scene.add_line_segments(
                "/bounds/" + self.view.name.replace("/", "_"), box_edges(low, high), (150, 160, 172), thickness=0.004
            )
        elif self._box is not None and self._box.visible != shown:
            self._box.visible = shown

    def remove(self) -> None:
        """Take it away."""
        for node in (self._label, self._gizmo, self._box):
            if node is not None:
                node.remove()


def box_edges(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the twelve edges (12, 2, 3) of a box."""
    ends = np.stack([low, high])
    out = []
    for axis in range(3):
        for i in range(2):
            for j in range(2):
                at = np.empty(3)
                at[(axis + 1) % 3], at[(axis + 2) % 3] = ends[i, (axis + 1) % 3], ends[j, (axis + 2) % 3]
                a, b = at.copy(), at.copy()
                a[axis], b[axis] = low[axis], high[axis]
                out.append([a, b])
    return np.array(out)


class Hands:
    """All handles of the browser that holds control."""

    def __init__(
        self,
        client: viser.ClientHandle,
        opening: Opening,
        cast: Cast,
        post: Callable[[int | None, Callable[[], None]], None],
        send: Callable[[Command], None],
    ):
        """Add handles for the controls; ``post`` queues an action of a browser, ``send`` sends a command."""
        self._client, self._cast, self._post, self._send = client, cast, post, send
        self._size = float(np.clip(0.07 * opening.camera.distance, 0.12, 0.6))
        self.hit: Hit | None = None
        """What was clicked last."""
        self.ray = np.array([1.0, 0.0, 0.0])
        """Direction in which it was clicked."""
        self._gizmo: Any = None
        self._body = ""  # which is held
        self.aim: Aim | None = None
        """How clicks throw balls; None: they hold bodies."""
        self._balls, self._gravity = itertools.cycle(opening.balls), cast.model.opt.gravity.copy()
        self._interactive, self._recorded = opening.interactive, opening.recorded
        self.controls: dict[str, ControlHandle] = {}
        if not opening.recorded:
            for view in opening.controls:
                if view.kind in ("point", "pose"):
                    self.controls[view.name] = ControlHandle(client, view, self._size, self._dragger(view.name))

    def _dragger(self, name: str) -> Callable[[Any], Any]:
        async def on_drag(event: Any) -> None:  # async: viser keeps the order of these only
            drag = dragged(event)
            if drag is not None:
                self._post(event.client_id, lambda: self._drag(name, drag))

        return on_drag

    def _drag(self, name: str, drag: _Drag) -> None:
        if name in self.controls:
            self._send(self.controls[name].drag(drag))

    # -- grabbing ------------------------------------------------------------------------------------------------------

    @property
    def holding(self) -> bool:
        """Whether a body is held."""
        return self._gizmo is not None

    def click(self, origin: Any, direction: Any) -> None:
        """Grab the body that a ray meets, or throw a ball at it; let go when it is the one held already."""
        hit = self._cast.pick(origin, direction) if not self._recorded else None
        if hit is None:
            return
        if self.aim is not None:
            self._throw(self.aim, np.asarray(origin, float), hit.point)
            return
        if self.holding and hit.body == self._body:
            self.let_go()
        else:
            self.hit, self.ray = hit, np.asarray(direction, float) / np.linalg.norm(direction)
            self._send(Pull(hit.body, _triple(hit.local), _triple(hit.point)))

    def _throw(self, aim: Aim, eye: np.ndarray, goal: np.ndarray) -> None:
        """Throw the next ball from the eye so that it meets a point; it flies as balls do."""
        way = goal - eye
        distance = float(np.linalg.norm(way))
        far = min(max(distance - _NEAR, _NEAR), _FAR)
        start = goal - way * (far / max(distance, 1e-6))
        start[2] = max(start[2], _NEAR)  # not from below the ground
        seconds = max(float(np.linalg.norm(goal - start)), _NEAR) / aim.speed
        velocity = (goal - start) / seconds - 0.5 * seconds * self._gravity
        self._send(Throw(next(self._balls), aim.mass, _triple(start), _triple(velocity)))

    def let_go(self) -> None:
        """Open the hand."""
        if self.holding:
            self._send(LetGo())

    def _hold(self, pull: PullView) -> None:
        """Give the hand its handle."""
        self._body = pull.body
        local = self._cast.to_local(self._cast.model.body(pull.body).id, pull.point)
        self._gizmo = gizmo = self._client.scene.add_transform_controls(
            "/hands/pull",
            scale=0.8 * self._size,
            line_width=3.0,
            depth_test=False,
            disable_rotations=True,
            position=pull.goal,
        )

        def move(goal: np.ndarray) -> None:
            if gizmo is self._gizmo:
                self._send(Pull(pull.body, _triple(local), _triple(goal)))

        async def on_drag(event: Any) -> None:
            drag = dragged(event)
            if drag is not None:
                self._post(event.client_id, lambda: move(drag.position))

        gizmo.on_update(on_drag)

    def _open(self) -> None:
        """Take the hand's handle away."""
        if self._gizmo is not None:
            self._gizmo.remove()
            self._gizmo = None

    def push(self, strength: float, direction: np.ndarray | None) -> bool:
        """Push the clicked body at the clicked point, away from the camera by default; return whether there is one."""
        if self.hit is None or not np.isfinite(strength):
            return False
        way = self.ray if direction is None else direction
        impulse = min(max(strength, 0.0), STRONGEST) * way
        self._send(Push(self.hit.body, _triple(self.hit.local), _triple(impulse)))
        return True

    # -- frames --------------------------------------------------------------------------------------------------------

    def follow(self, frame: Moment) -> None:
        """Keep handles where their controls are asked to be, and hold what the performer says is held.

        What it says counts, not what was clicked: it may refuse, begin again, or go on from a moment in which something was held.
        """
        later = () if frame.phase in self._interactive else frame.coming
        waiting = next((phase for phase in later if phase in self._interactive), "")
        for name, handle in self.controls.items():
            if name in frame.wanted:
                handle.follow(frame.wanted[name], frame.live, waiting)
        pull = frame.pull if frame.live and not self._recorded else None
        if self._gizmo is not None and (pull is None or pull.body != self._body):
            self._open()
        if self._gizmo is None and pull is not None:
            self._hold(pull)

    def remove(self) -> None:
        """Take all handles away."""
        self._open()
        for handle in self.controls.values():
            handle.remove()
        self.controls = {}


def _triple(v: np.ndarray) -> tuple[float, float, float]:
    return float(v[0]), float(v[1]), float(v[2])
