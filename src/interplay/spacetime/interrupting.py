"""Ctrl-C while a motion is found: the first asks for the best there is, a second ends at once.

Whoever finds something long looks at ``asked()`` now and then, and goes on with what it has: a solver after the iteration under way, a
problem with what it would have begun with. So there is a motion to write whenever it comes.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

INTERRUPTED = "interrupted"
"""How a solution ended that was asked to."""

_listeners: list[threading.Event] = []


def asked() -> bool:
    """Return whether an interrupt has asked to come to an end."""
    return any(event.is_set() for event in _listeners)


class Unfinished(Exception):
    """What takes seconds was given up, as an interrupt has asked."""


def go_on() -> None:
    """Give up what takes seconds, if an interrupt has asked: whoever wants to go on without it catches `Unfinished`."""
    if asked():
        raise Unfinished


@contextmanager
def listening(heard: Callable[[], None] | None = None, then: Any = None) -> Iterator[None]:
    """Let the first interrupt ask, and tell ``heard``; ``then``: what a second one does, by default what the first would have done.

    Within another one, and off the main thread, which alone hears interrupts, nothing changes.
    """
    if _listeners or threading.current_thread() is not threading.main_thread():
        yield
        return
    event, usual = threading.Event(), signal.getsignal(signal.SIGINT)

    def ask(*_: Any) -> None:
        event.set()
        signal.signal(signal.SIGINT, usual if then is None else then)
        if heard is not None:
            heard()

    _listeners.append(event)
    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        _listeners.remove(event)


@contextmanager
def unheard() -> Iterator[None]:
    """Let no interrupt come between: what is written is written whole."""
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
