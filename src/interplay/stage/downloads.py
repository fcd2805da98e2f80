"""Downloads: what has been played, in a form that the user chooses, for one browser at a time.

A film takes minutes, so exports are made in a process of their own that leaves the simulation and the stage the first turn at the
processor. Other browsers are told to wait. Whatever goes wrong is said in the panel of who asked.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import zipfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

from interplay.errors import InterplayError, pick
from interplay.io.export import all_formats, export
from interplay.stage.messages import Command, Download, Fetch, Played

LARGEST = 256_000_000
"""Bytes of a file that is sent to a browser: the server holds it in memory until the browser has it."""

_MODESTY = 10  # how much the export gives way to others (nice)


def forms() -> dict[str, str]:
    """Return the endings of files (.glb) that can be downloaded, by the name of their form (glb)."""
    return {ending[1:]: ending for ending in all_formats() if ending.startswith(".")}


class DownloadView(NamedTuple):
    """What one browser sees of downloads."""

    text: str = ""
    done: float | None = None
    """How much of the one under way is done, 0 to 1; None: there is none."""
    failed: bool = False
    may_cancel: bool = False


class _Made(NamedTuple):
    """The export is done: its file, and what is missing in it."""

    path: str
    gaps: list[str]


class _Order:
    """A download under way: for whom, in what form, where it is made, by which process, how far that is."""

    def __init__(self, number: int, client: int, ending: str):
        self.number, self.client, self.ending = number, client, ending
        self.folder = tempfile.TemporaryDirectory(prefix="interplay-download-", ignore_cleanup_errors=True)
        self.name, self.done = "", 0.0
        self.pipe: Connection | None = None
        self._process: BaseProcess | None = None

    def start(self, recording: str, name: str) -> None:
        """Begin to export a recording."""
        context = multiprocessing.get_context("spawn")
        self.name = name + self.ending
        self.pipe, theirs = context.Pipe(duplex=False)
        args = (theirs, recording, str(Path(self.folder.name) / self.name))
        self._process = process = context.Process(target=make, args=args, name="interplay download", daemon=True)
        process.start()
        theirs.close()

    def end(self) -> int | None:
        """End the process, if it still runs, clear everything away, and return how the process ended."""
        if self._process is not None:
            self._process.terminate()
            self._process.join()
        if self.pipe is not None:
            self.pipe.close()
        self.folder.cleanup()
        return self._process.exitcode if self._process is not None else None


class Downloads:
    """Makes one download at a time."""

    def __init__(self, send: Callable[[Command], None], deliver: Callable[[Download], None]):
        """Take the way to the performer, who knows what has been played, and the way to browsers."""
        self._send, self._deliver = send, deliver
        self._order: _Order | None = None
        self._orders = 0
        self._last: dict[int, DownloadView] = {}

    def ask(self, client: int, form: str) -> None:
        """Begin a download in a form (glb), unless one is under way."""
        if self._order is not None:
            return
        try:
            order = _Order(self._orders, client, pick("form", form, forms()))
        except (InterplayError, OSError) as error:
            self._last[client] = DownloadView(str(error), failed=True)
            return
        self._order, self._orders = order, self._orders + 1
        self._send(Fetch(order.number, order.folder.name))

    def make(self, played: Played) -> None:
        """Export what the performer says has been played, if it is still wanted."""
        order = self._order
        if order is None or order.number != played.order:
            return
        if played.problem:
            self._finish(DownloadView(played.problem, failed=True))
            return
        try:
            order.start(played.folder, played.name)
        except OSError as error:
            self._finish(DownloadView(f"no process can be started: {error}", failed=True))

    def turn(self) -> None:
        """See how far it is, and send it if it is done."""
        order = self._order
        if order is None or order.pipe is None:
            return
        try:
            while order.pipe.poll():
                said = order.pipe.recv()
                if isinstance(said, float):
                    order.done = said
                    continue
                self._finish(DownloadView(said, failed=True) if isinstance(said, str) else self._hand_out(order, said))
                return
        except (EOFError, OSError):
            code = order.end()
            self._finish(DownloadView(f"{order.name} could not be made: its process ended ({code})", failed=True))

    def _hand_out(self, order: _Order, made: _Made) -> DownloadView:
        path = Path(made.path)
        size = path.stat().st_size
        if size > LARGEST:
            return DownloadView(
                f"{path.name} has {size / 1e6:.0f} MB, too many for a browser: use interplay export", failed=True
            )
        self._deliver(Download(order.client, path.name, path.read_bytes()))
        return DownloadView("; ".join([f"{path.name} is sent ({size / 1e6:.1f} MB)", *made.gaps]))

    def _finish(self, view: DownloadView) -> None:
        if self._order is not None:
            self._last[self._order.client] = view
            self._order.end()
            self._order = None

    def cancel(self, client: int, holds: bool) -> None:
        """Give up the download under way, if this browser asked for it or holds control."""
        if self._order is not None and (holds or client == self._order.client):
            self._finish(DownloadView("cancelled"))

    def leave(self, client: int) -> None:
        """Forget a browser: nobody waits for its download any more."""
        self.cancel(client, holds=False)
        self._last.pop(client, None)

    def close(self) -> None:
        """End the one under way."""
        self._finish(DownloadView("closed"))

    def seen_by(self, client: int, holds: bool) -> DownloadView:
        """Return what a browser sees."""
        order = self._order
        if order is None:
            return self._last.get(client, DownloadView())
        own = client == order.client
        what = (order.name or "what has been played") if own else "wait: another browser's download"
        return DownloadView(f"{what} · {100 * order.done:.0f} %", order.done, may_cancel=own or holds)


def make(pipe: Connection, recording: str, out: str) -> None:
    """Export a recording, and say how far that is and what came of it: the main function of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the stage hears Ctrl-C too, and ends us
    os.nice(_MODESTY)
    with contextlib.suppress(OSError):  # nobody listens any more
        try:
            pipe.send(_exported(pipe, recording, Path(out)))
        except InterplayError as error:
            pipe.send(str(error))
        except Exception as error:  # nothing that goes wrong here may end without a word
            pipe.send(f"{type(error).__name__}: {error}")


def _exported(pipe: Connection, recording: str, out: Path) -> _Made:
    gaps: list[str] = []
    said = 0.0

    def progress(done: float) -> None:
        nonlocal said
        if done >= said + 0.01:
            said = done
            pipe.send(float(done))

    written = export(recording, out, gaps.append, progress)
    if written == [out]:
        return _Made(str(out), gaps)
    bundle = out.with_name(f"{out.name}.zip")
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as file:
        for path in written:
            file.write(path, path.name)
    return _Made(str(bundle), gaps)
