"""The link: the performer in a process of its own, and the two ends of the pipe to it.

Neither side ever waits for the other. The performer's end sends from a thread: of the frames only the latest, so that a viewer
that does not read costs it nothing. The viewer's end sends from a thread as well. When the pipe breaks, whoever is left notices:
the performer ends itself, the viewer is told why.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import queue
import signal
import threading
import time
import traceback
from collections import deque
from multiprocessing.connection import Connection
from typing import Any

from interplay.stage.messages import (
    Close,
    Command,
    Download,
    Moment,
    Notice,
    Open,
    Opening,
    Played,
    Pull,
    Seek,
    SetControl,
    Speed,
)
from interplay.stage.performer import Performer, Playbill

Message = Opening | Moment | Notice | Download | Played

_WAITING = 1000
"""Commands and messages (other than frames) that may wait; more are dropped."""
PATIENCE = 5.0
"""Seconds within which every command is answered, if only by a frame; then the user is told that it is not."""


class Outbox:
    """The performer's sending end: a thread that sends messages in order, and of the frames the latest."""

    def __init__(self, pipe: Connection):
        """Start to send."""
        self._pipe, self._ready = pipe, threading.Condition()
        self._messages: deque[bytes] = deque()
        self._frame: bytes | None = None
        self._open = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def say(self, message: Opening | Notice | Download | Played) -> None:
        """Send a message; an opening makes frames of what was on stage before it worthless."""
        with self._ready:
            if isinstance(message, Opening):
                self._frame = None
            if len(self._messages) < _WAITING:
                self._messages.append(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
            self._ready.notify()

    def show(self, frame: bytes) -> None:
        """Send a frame, unless a later one comes before it can be sent."""
        with self._ready:
            self._frame = frame
            self._ready.notify()

    def close(self, seconds: float = 1.0) -> None:
        """Send what waits, as long as that does not take long."""
        with self._ready:
            self._open = False
            self._ready.notify()
        self._thread.join(seconds)

    def _run(self) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more: the reading end tells
            while True:
                with self._ready:
                    while self._open and not self._messages and self._frame is None:
                        self._ready.wait()
                    if self._messages:
                        data = self._messages.popleft()
                    elif self._frame is not None:
                        data, self._frame = self._frame, None
                    else:
                        return
                self._pipe.send_bytes(data)


class Inbox:
    """The performer's reading end: a thread that takes in commands; a broken pipe is a command to close."""

    def __init__(self, pipe: Connection):
        """Start to read."""
        self._pipe = pipe
        self._commands: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                command = self._pipe.recv()
            except (EOFError, OSError):
                self._commands.put(Close())
                return
            except Exception as error:  # what cannot be unpickled is no command
                command = error
            if self._commands.qsize() < _WAITING or isinstance(command, Close):
                self._commands.put(command)

    def commands(self, wait: float) -> list[Any]:
        """Return what has come in, waiting at most so long; of several moves of one thing in a row only the last."""
        out: list[Any] = []
        with contextlib.suppress(queue.Empty):
            out.append(self._commands.get(timeout=wait) if wait > 0 else self._commands.get_nowait())
            while True:
                command = self._commands.get_nowait()
                if replaces(command, out[-1]):
                    out[-1] = command
                else:
                    out.append(command)
        return out


def replaces(later: Any, earlier: Any) -> bool:
    """Return whether a command makes the one before it worthless."""
    if type(later) is not type(earlier) or not isinstance(later, SetControl | Pull | Seek | Speed):
        return False
    return not isinstance(later, SetControl) or later.name == earlier.name


def perform(pipe: Connection, bill: Playbill) -> None:
    """Run the performer until it is closed or the viewer is gone: the main function of its process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the viewer hears Ctrl-C too, and closes us
    outbox, inbox = Outbox(pipe), Inbox(pipe)
    performer = Performer(bill, outbox.say, outbox.show)
    try:
        performer.obey(Open(bill.first))
        while not performer.closed:
            for command in inbox.commands(performer.turn()):
                performer.obey(command)
    except BaseException:
        outbox.say(Notice("error", f"the performer has failed:\n{traceback.format_exc(limit=-3)}"))
        raise
    finally:
        performer.close()
        outbox.close()


class Link:
    """The viewer's end: starts the process, sends commands, receives messages."""

    def __init__(self, bill: Playbill):
        """Start the performer's process; it is a new one, not a copy of this one, on every system."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=perform, args=(theirs, bill), name="interplay performer", daemon=True)
        self._process.start()
        theirs.close()
        self._commands: queue.Queue[Command] = queue.Queue(_WAITING)
        self._lost: list[Notice] = []
        self._asked: float | None = None  # since when an answer is waited for
        self._broken = False
        self._sender = threading.Thread(target=self._run, daemon=True)
        self._sender.start()

    @property
    def alive(self) -> bool:
        """Whether the performer runs."""
        return not self._broken and self._process.is_alive()

    @property
    def pid(self) -> int:
        """The process, for measurements."""
        return self._process.pid or 0

    def send(self, command: Command) -> None:
        """Send a command without waiting; if the performer hears nothing for long, it is dropped."""
        self._asked = self._asked or time.monotonic()
        try:
            self._commands.put_nowait(command)
        except queue.Full:
            self._lost = [Notice("warning", "the performer is busy and does not answer; what you do is lost")]

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                command = self._commands.get()
                self._pipe.send(command)
                if isinstance(command, Close):
                    return

    def receive(self, timeout: float) -> list[Message]:
        """Return what the performer has said, waiting at most so many seconds for it."""
        out: list[Message] = [*self._lost]
        self._lost = []
        if self._broken:
            time.sleep(timeout)
            return out
        try:
            if self._pipe.poll(0 if out else timeout):
                out.append(self._pipe.recv())
                while len(out) < _WAITING and self._pipe.poll(0):
                    out.append(self._pipe.recv())
        except (EOFError, OSError):
            self._broken = True
            self._process.join(1.0)
            code = self._process.exitcode
            if code:
                out.append(Notice("error", f"the performer has ended unexpectedly (exit code {code}); start it again"))
        if out:
            self._asked = None
        elif self._asked is not None and time.monotonic() > self._asked + PATIENCE:
            self._asked = time.monotonic()
            out.append(Notice("warning", "the performer does not answer: what you do is done when it does"))
        return out

    def close(self, seconds: float = 3.0) -> None:
        """End the performer: ask it to, and if it does not answer, make it."""
        with contextlib.suppress(queue.Full):
            self._commands.put_nowait(Close())
        deadline = time.monotonic() + seconds
        while self._process.is_alive() and time.monotonic() < deadline:
            self.receive(0.05)  # it may wait for us to read
            self._process.join(0.05)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(1.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(1.0)
        self._pipe.close()
