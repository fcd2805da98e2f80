"""The director joins performer and browsers: draws frames, hands on what the holder of control does.

Everything happens in one thread: what browsers do arrives in viser's threads, is put in a queue, and done between two frames.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

import mujoco
import numpy as np
import viser

from interplay.errors import SceneError
from interplay.stage.audience import Audience
from interplay.stage.downloads import Downloads
from interplay.stage.editor import Edit, Edited, Editor, Marks
from interplay.stage.following import Following
from interplay.stage.hands import Aim, Hands
from interplay.stage.mark_handles import MarkHandles
from interplay.stage.messages import (
    Command,
    Download,
    Loop,
    Moment,
    Notice,
    Opening,
    Played,
    Stability,
    Swap,
)
from interplay.stage.overlays import Overlays
from interplay.stage.panel import Panel
from interplay.stage.plots import History
from interplay.view.camera import first_shot
from interplay.view.cast import Cast

PANEL_EVERY, PLOT_EVERY = 0.2, 0.33
"""Seconds between two updates of panels and plots."""
REMEMBERED = 4.0
"""How long the panel says what was relaxed [s]."""

_PART = 1 << 16  # bytes of a file that are sent at once: frames go in between
_WAITING = 2000  # actions that may wait in the queue; a browser that does more is not heard


def compile_scene(opening: Opening) -> mujoco.MjModel:
    """Compile the viewer's own copy of the scene."""
    try:
        return mujoco.MjModel.from_xml_string(opening.xml, opening.assets)
    except ValueError as error:
        raise SceneError(f"the scene of {opening.scenario!r} cannot be drawn: {error}") from None


class Link(Protocol):
    """The way to the performer."""

    def receive(self, timeout: float) -> Iterable[Opening | Moment | Notice | Download | Played]:
        """Return what the performer has said, waiting at most so many seconds for it."""
        ...

    def send(self, command: Command) -> None:
        """Ask something of it, without waiting."""


class Director:
    """Runs the stage of one server."""

    def __init__(self, server: viser.ViserServer, link: Link, offers: tuple[str, ...]):
        """Take an open server, the performer, and the scenarios that may be picked."""
        self._server, self._link, self._offers = server, link, offers
        self.audience = Audience()
        self.overlays = Overlays(server.scene)
        self.downloads = Downloads(self.send, self._deliver)
        self.opening: Opening | None = None
        self.frame: Moment | None = None
        self.hands: Hands | None = None
        self.editor: Editor | None = None
        """Of a composed motion."""
        self.marks: Marks | None = None
        """What can be moved of it, and how editing goes."""
        self.handles: MarkHandles | None = None
        self.looping = True
        self._cast: Cast | None = None
        self._history = History()
        self._clients: dict[int, viser.ClientHandle] = {}
        self._panels: dict[int, Panel] = {}
        self._following: dict[int, Following] = {}
        self._queue: queue.Queue[tuple[int | None, Callable[[], None]]] = queue.Queue()
        self._relaxed: deque[tuple[float, str]] = deque(maxlen=3)
        self._told: dict[str, float] = {}
        self._due = {"panel": 0.0, "plot": 0.0}
        # Of the whole scene, not of each body: a body before a handle would take the mouse away from it.
        server.scene.on_click()(self._clicked)
        server.on_client_connect(lambda client: self._put(None, lambda: self._join(client), always=True))
        server.on_client_disconnect(lambda client: self._put(None, lambda: self._leave(client.client_id), always=True))

    # -- what browsers do ----------------------------------------------------------------------------------------------

    def _put(self, client: int | None, action: Callable[[], None], *, always: bool = False) -> None:
        if always or self._queue.qsize() < _WAITING:
            self._queue.put_nowait((client, action))

    def post(self, client: int | None, action: Callable[[], None]) -> None:
        """Queue what a browser does; it is done if the browser holds control then."""
        if client is not None:
            self._put(client, action)

    def send(self, command: Command) -> None:
        """Send a command to the performer."""
        self._link.send(command)

    def take(self, client: int) -> None:
        """Give control to a browser."""
        self._put(None, lambda: self._hand_over(lambda: self.audience.take(client)))

    def switch(self, overlay: str, on: bool) -> None:
        """Switch an overlay, for all browsers."""
        if overlay in self.overlays.switched:
            self.overlays.switch(overlay, on)
            if self._cast is not None and overlay == "load" and not on:
                self._cast.tint(None)
            if self._cast is not None and overlay == "through":
                self._cast.fade(on)
            if overlay == "stability":
                self.send(Stability(on))
            self._redraw()

    def loop(self, on: bool) -> None:
        """Begin a recording again when it has come to its end."""
        self.looping = on
        self.send(Loop(on))

    def follow(self, client: int, on: bool) -> None:
        """Let one browser's camera go along with the scene."""

        def act() -> None:
            self._following.pop(client, None)
            if on:
                self._following[client] = Following(self._clients[client].camera.look_at - self._subject())

        self._put(None, act)

    def download(self, client: int, form: str) -> None:
        """Send what has been played to a browser, also to one that only watches: it changes nothing."""
        self._put(None, lambda: self.downloads.ask(client, form) if client in self._clients else None)

    def cancel(self, client: int) -> None:
        """Give up the download under way, if it is the browser's own or that holds control."""
        self._put(None, lambda: self.downloads.cancel(client, self.audience.holds(client)))

    def edit(self, command: Edit) -> None:
        """Ask the editor of a composed motion for something."""
        if self.editor is not None:
            self.editor.ask(command)

    def close(self) -> None:
        """End what is still under way."""
        self.downloads.close()
        self._edit_another("")

    def let_go(self) -> None:
        """Open the holder's hand."""
        if self.hands is not None:
            self.hands.let_go()

    def push(self, strength: float, direction: np.ndarray | None) -> None:
        """Push what the holder has clicked."""
        if self.hands is not None and not self.hands.push(strength, direction):
            self._tell(Notice("info", "Click a body first: it is pushed where you clicked it."))

    def take_aim(self, aim: Aim | None) -> None:
        """Let the holder's clicks throw balls, or hold bodies again."""
        if self.hands is not None and self.opening is not None and self.opening.balls:
            self.hands.aim = aim

    def _clicked(self, event: viser.SceneClickEvent) -> None:
        origin, direction = event.ray_origin, event.ray_direction
        self.post(event.client_id, lambda: self.hands.click(origin, direction) if self.hands is not None else None)

    # -- the loop ------------------------------------------------------------------------------------------------------

    def run(self, going: Callable[[], bool]) -> None:
        """Run while ``going()`` is true."""
        while going():
            try:
                self.turn()
            except RuntimeError as error:
                # The server wakes its senders from this thread while its own may take one off their list. The message is kept
                # and goes out with the next one: no reason to end the stage.
                if "mutated during iteration" not in str(error):
                    raise

    def turn(self, wait: float = 0.02) -> None:
        """Do what has come in from performer and browsers."""
        self.hear(self._link.receive(wait))
        for _ in range(self._queue.qsize()):
            client, action = self._queue.get_nowait()
            if client is None or self.audience.holds(client):
                try:
                    action()
                except Exception as error:  # nothing that a browser does may end the stage
                    self._tell(Notice("error", f"{type(error).__name__}: {error}"))
        self.downloads.turn()
        self._hear_editor()
        if self.frame is not None and len(self.audience):
            self._keep_up(self.frame)

    def hear(self, messages: Iterable[Opening | Moment | Notice | Download | Played]) -> None:
        """Show what the performer has said; of several frames the last."""
        frame = None
        for message in messages:
            if isinstance(message, Moment):
                frame = message
                self._history.add(message)
                self._relaxed.extend((time.monotonic(), f"{message.time:.2f} s: {what}") for what in message.relaxed)
            elif isinstance(message, Opening):
                frame = None
                self._open(message)
            elif isinstance(message, Notice):
                self._tell(message)
            elif isinstance(message, Played):
                self.downloads.make(message)
            else:
                self._deliver(message)
        if frame is not None:
            self._show(frame)

    def _open(self, opening: Opening) -> None:
        with self._server.atomic():
            if self.hands is not None:
                self.hands.remove()
                self.hands = None
            if self._cast is not None:
                self._cast.remove()
            self.overlays.clear()
            self.opening, self.frame = opening, None
            self._edit_another(opening.composed)
            self._cast = Cast(self._server.scene, compile_scene(opening))
            self._cast.fade(self.overlays.switched["through"])
        self._history.clear()
        self._relaxed.clear()
        self._server.gui.set_panel_label(f"Interplay · {opening.scenario}")
        shot = first_shot(opening.camera, self._cast.model, self._cast.data)
        self._following = {}
        self._go_along(self._clients)
        initial = self._server.initial_camera
        initial.position, initial.look_at, initial.up, initial.fov = shot.position, shot.look_at, (0, 0, 1.0), shot.fov
        for client in self._clients.values():
            with contextlib.suppress(AssertionError, ValueError):  # a camera we have not heard of, or one in itself
                client.camera.position = shot.position
                client.camera.look_at = shot.look_at
        self._seat()

    def _edit_another(self, folder: str) -> None:
        """Begin to edit the composed motion in a folder, if that holds one, and no other one any more."""
        if self.handles is not None:
            self.handles.remove()
            self.handles = None
        if self.editor is not None:
            self.editor.close()
        self.editor, self.marks = Editor(folder) if folder else None, None

    def _hear_editor(self) -> None:
        for said in self.editor.heard() if self.editor is not None else ():
            if isinstance(said, Edited):
                self.send(Swap(said.folder))
            elif isinstance(said, Marks):
                self._mark(said)
            else:
                self._tell(said)

    def _mark(self, marks: Marks) -> None:
        """Show what can be moved, and how editing goes."""
        if marks.refused and not marks.doing and (self.marks is None or self.marks.doing):
            self._tell(Notice("warning", marks.said))
        self.marks = marks
        if self.handles is not None:
            self.handles.show(marks)
        for panel in self._panels.values():
            if panel.edits is not None:
                panel.edits.show(marks)

    def _show(self, frame: Moment) -> None:
        if self._cast is None or self.opening is None:
            return
        self.frame = frame
        if not len(self.audience):
            return
        with self._server.atomic():
            self._cast.place(frame.qpos, frame.grips)
            if self.overlays.switched["load"]:
                self._cast.tint(frame.body_load)
            self.overlays.draw(frame)
        if self._is_due("plot", PLOT_EVERY) or not frame.playing:  # perhaps no other comes for long
            for panel in self._panels.values():
                panel.draw(self._history)

    def _keep_up(self, frame: Moment) -> None:
        """Bring handles, fields and cameras to what the frame says.

        Also while time stands: what users do may come to nothing, and newcomers' cameras need more than one frame to arrive.
        """
        if self.hands is not None:
            self.hands.follow(frame)
        if self.handles is not None:
            self.handles.follow(frame.time)
        if self._is_due("panel", PANEL_EVERY):
            for number, panel in self._panels.items():
                panel.follow(frame, self._note(number), self.hands is not None and self.hands.holding)
                panel.show_download(self.downloads.seen_by(number, self.audience.holds(number)))
        self._move_cameras(frame.playing)

    def _redraw(self) -> None:
        if self.frame is not None:
            self._show(self.frame)

    def _is_due(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if now < self._due[what]:
            return False
        self._due[what] = now + every
        return True

    # -- browsers ------------------------------------------------------------------------------------------------------

    def _join(self, client: viser.ClientHandle) -> None:
        self._clients[client.client_id] = client
        self._go_along([client.client_id])
        self._hand_over(lambda: self.audience.join(client.client_id), client.client_id)
        self._redraw()

    def _leave(self, number: int) -> None:
        for kept in (self._clients, self._panels, self._following):
            kept.pop(number, None)
        self.downloads.leave(number)
        self._hand_over(lambda: self.audience.leave(number))

    def _hand_over(self, change: Callable[[], Any], newcomer: int | None = None) -> None:
        """Let control change hands, and seat everyone it concerns anew."""
        before = self.audience.holder
        change()
        after = self.audience.holder
        self._seat({before, after, newcomer} if before != after else {newcomer})

    def _seat(self, concerned: set[int | None] | None = None) -> None:
        """Make the panels of some browsers (or all) anew, and the hands of the one who holds control."""
        if self.opening is None or self._cast is None:
            return
        here = self._server.get_clients()  # one who has just left would be given things that nobody takes away
        concerned = {n for n in (self._clients if concerned is None else concerned) if n is None or n in here}
        holder = self.audience.holder
        if holder in concerned or holder is None:
            if self.hands is not None:
                self.hands.let_go()
                self.hands.remove()
            client = self._clients.get(holder) if holder is not None else None
            self.hands = Hands(client, self.opening, self._cast, self.post, self.send) if client is not None else None
            if self.handles is not None:
                self.handles.remove()
            self.handles = MarkHandles(client, self.post, self.edit) if client is not None and self.editor else None
        for number in concerned:
            client = self._clients.get(number) if number is not None else None
            if number is None or client is None:
                continue
            if number in self._panels:
                self._panels[number].remove()
            self._panels[number] = Panel(
                client,
                self,
                self.opening,
                holds=self.audience.holds(number),
                offers=self._offers,
                overlays=self.overlays.all,
                switched=self.overlays.switched,
                following=number in self._following,
            )
        self._due["panel"] = 0.0
        if self.marks is not None:
            self._mark(self.marks)

    def _note(self, number: int) -> str:
        if not self.audience.holds(number):
            return "You watch; another browser holds control."
        since = time.monotonic() - REMEMBERED
        recent = [text for when, text in self._relaxed if when > since]
        return f"relaxed at {recent[-1]}" if recent else ""

    def _tell(self, notice: Notice) -> None:
        now = time.monotonic()
        if now - self._told.get(notice.text, -10.0) < 3.0:
            return  # the same again
        self._told = {text: when for text, when in self._told.items() if now - when < 3.0} | {notice.text: now}
        colour = {"error": "red", "warning": "orange"}.get(notice.level, "blue")
        for client in self._clients.values():
            client.add_notification("", notice.text, auto_close_seconds=8.0, color=colour)  # type: ignore[arg-type]

    def _deliver(self, download: Download) -> None:
        client = self._clients.get(download.client)
        if client is not None:
            send = partial(client.send_file_download, save_immediately=True, chunk_size=_PART)
            # In the server's own thread: from ours, a part may be lost (see run).
            self._server.get_event_loop().call_soon_threadsafe(send, download.name, download.content)

    def _subject(self) -> np.ndarray:
        """Return the place that following cameras go along with."""
        if self._cast is None or self.opening is None:
            return np.zeros(3)
        name = self.opening.camera.follow
        if name:
            return self._cast.data.xpos[self._cast.model.body(name).id].copy()
        return self.frame.com.mean(axis=0) if self.frame is not None and len(self.frame.com) else np.zeros(3)

    def _go_along(self, clients: Iterable[int]) -> None:
        """Bring some browsers' cameras to the first shot and keep them beside what it follows, where it follows anything."""
        if self._cast is None or self.opening is None or not self.opening.camera.follow:
            return
        shot, subject = first_shot(self.opening.camera, self._cast.model, self._cast.data), self._subject()
        for client in clients:
            self._following[client] = Following(shot.look_at - subject, shot.position - shot.look_at)

    def _move_cameras(self, running: bool) -> None:
        subject = self._subject() if self._following else np.zeros(3)
        for number, following in self._following.items():
            with contextlib.suppress(AssertionError, ValueError):  # a camera we have not heard of, or one in itself
                following.go(self._clients[number].camera, subject, running)
