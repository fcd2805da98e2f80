"""A browser's camera that goes along with the scene, and does not hold on to the mouse that turns it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

_LEAST = 0.002  # shortest move [m]
_FASTEST = 2.0  # how fast the camera catches up while the scene runs [m/s]
_LEAP = 10.0  # nobody is as fast as this [m/s]: a recording has begun again
_BESIDE = 0.5  # how near is near enough after a leap [m]
_FREE = 0.6  # seconds for which the camera is left alone after the user has turned it
_PATIENCE = 1.0  # seconds to wait for a browser's answer
_TRIES = 5  # how often a newcomer is asked for the first shot


class Following:
    """Keeps what one camera looks at beside a subject that moves over the ground; how it looks there is the user's.

    A move sets the camera, so it undoes what the mouse has done in the same moment. Hence the next one waits until the browser
    has answered, and as long again: a slow browser gets few moves, and time to tell of the user's own.
    """

    def __init__(self, beside: np.ndarray, arm: np.ndarray | None = None):
        """Take where the camera looks, seen from the subject [m].

        ``arm`` is where the camera stands, seen from there, for a browser that is still to be brought to its first shot. A
        newcomer tells of the camera it had before it heard of any shot, and a move from there would be a wrong one.
        """
        self._beside = np.array(beside, float)
        self._arm, self._tries = arm, _TRIES
        self._look: np.ndarray | None = None
        self._rested: np.ndarray | None = None
        self._before, self._leaping = (-np.inf, np.zeros(3)), False
        self._sent, self._stamp, self._due, self._moved = 0.0, 0.0, 0.0, 0.0

    def go(self, camera: Any, subject: np.ndarray, running: bool) -> None:
        """Move viser's camera along: smoothly while time runs, unless the subject leaps; else at once, and then it is the user's."""
        now, look = time.monotonic(), np.asarray(camera.position) - np.asarray(camera.look_at)
        if self._arm is not None:
            self._take_first_shot(camera, subject + self._beside, look, self._arm, now)
            return
        shift = (subject + self._beside - camera.look_at) * [1, 1, 0]
        far = float(np.linalg.norm(shift))
        if self._sent and camera.update_timestamp != self._stamp:  # the browser has answered
            self._due, self._sent = now + min(now - self._sent, _PATIENCE), 0.0
            self._leaping = self._leaping and far > _BESIDE  # it may have spoken before it heard of the leap
        (when, where), self._before = self._before, (now, np.array(subject))
        if np.linalg.norm((subject - where)[:2]) > _LEAP * max(now - when, 0.1):
            self._leaping, self._due, self._sent = True, 0.0, 0.0
        if self._look is not None and np.linalg.norm(look - self._look) > 1e-3 * np.linalg.norm(look):
            self._due = now + _FREE
        self._look = look
        rested, self._rested = self._rested, None if running else subject
        if rested is not None and not running and np.array_equal(rested, subject):
            return
        if far < _LEAST or (running and (now < self._due or now - self._sent < _PATIENCE)):
            return
        if running and not self._leaping:
            shift *= min(1.0, _FASTEST * min(now - self._moved, _FREE) / far)
        camera.position = np.asarray(camera.position) + shift
        self._sent, self._stamp, self._moved = now, camera.update_timestamp, now

    def _take_first_shot(self, camera: Any, at: np.ndarray, look: np.ndarray, arm: np.ndarray, now: float) -> None:
        """Ask for the first shot until the browser says that it has it, or that its user wants another."""
        answered = self._sent and camera.update_timestamp != self._stamp
        if answered and np.linalg.norm(look - arm) < 1e-3 * np.linalg.norm(arm):
            self._arm, self._moved = None, now
        elif now - self._sent >= _PATIENCE:
            if not self._tries:
                self._arm = None
                return
            self._tries -= 1
            camera.position, camera.look_at = at + arm, at
            self._sent, self._stamp = now, camera.update_timestamp
