"""``interplay play``: opens the stage, and closes it again."""

from __future__ import annotations

import contextlib
import signal
import threading
import warnings
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from interplay.errors import InputError, InterplayError
from interplay.stage.director import Director
from interplay.stage.link import Link, Message
from interplay.stage.messages import Notice, Opening
from interplay.stage.performer import Playbill, playbill
from interplay.view.cast import furnish
from interplay.view.gate import close_server, is_loopback, open_server, own_names


class StageError(InterplayError):
    """The performer has ended, or never began."""


def play(
    target: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    browser: bool = True,
    tell: Callable[[str], None] = print,
    going: Callable[[], bool] = lambda: True,
    **options: Any,
) -> None:
    """Show a scenario, a scenario file or a recording in browsers, until it is interrupted.

    Args:
        target: name of a scenario, a scenario file, or the folder of a run.
        host: address to serve; anything but loopback lets others on the network in.
        port: port to serve; 0 for a free one.
        browser: whether to open the user's browser.
        tell: called with lines for the user.
        going: asked again and again; the stage closes when it is false.
        options: ``parameters``, ``dt``, ``seed``, ``character`` and ``world`` of the scenario, as in ``run``.
    """
    bill = playbill(target, **options)
    server = open_server(host, port)
    link = director = None
    try:
        furnish(server)
        tell(f"setting up {bill.first} …")
        link = Link(bill)
        director = Director(server, link, tuple(bill.offers))
        director.hear(_first(link, bill))
        url = f"http://{_shown(host)}:{server.get_port()}"
        if not is_loopback(host):
            tell(f"warning: anyone who reaches {host} on port {server.get_port()} can watch and take control")
            if _shown(host) == "localhost":
                tell(f"from other machines: http://{own_names()[0]}:{server.get_port()}, or by an address of this one")
        tell(f"{bill.first} is on stage: {url}   (Ctrl-C closes it)")
        if browser:
            webbrowser.open(url)
        with contextlib.suppress(KeyboardInterrupt), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Queued a .* on a closed connection")  # a browser that has just left
            director.run(lambda: going() and _alive(link))
    finally:
        with _undisturbed():
            if director is not None:
                director.close()
            if link is not None:
                link.close()
            close_server(server)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Let a second Ctrl-C not interrupt what the first one began."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _first(link: Link, bill: Playbill) -> list[Message]:
    """Wait until the first scenario is set up, and say so where it cannot be."""
    heard: list[Message] = []
    opened = False
    while not opened:
        for message in link.receive(0.1):
            heard.append(message)
            opened = opened or isinstance(message, Opening)
            if isinstance(message, Notice) and message.level != "info" and not opened:
                raise InputError(message.text)
        _alive(link)
    return heard


def _alive(link: Link) -> bool:
    if not link.alive:
        raise StageError("the performer's process has ended")
    return True


def _shown(host: str) -> str:
    """Return the host as one writes it in an address."""
    if host in ("0.0.0.0", "::", ""):
        return "localhost"
    return f"[{host}]" if ":" in host else host
