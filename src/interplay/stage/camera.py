"""A browser's camera that goes along with the scene, and does not hold on to the mouse that turns it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

_LEAST, _MOST = 0.002, 0.08  # shortest and longest way of one move while the scene runs [m]
_FREE = 0.6  # seconds for which the camera is left alone after the user has turned it
_PATIENCE = 1.0  # seconds to wait for a browser's answer


class Following:
    """Moves one camera as far as what it follows has moved over the ground.

    A move sets the camera, so it undoes what the mouse has done in the same moment. Hence the next one waits until the browser
    has answered, and as long again: a slow browser gets few moves, and time to tell of the user's own.
    """

    def __init__(self, subject: np.ndarray):
        """Begin where the subject is [m] when the camera is where it should be."""
        self._at = np.array(subject, float)
        self._look: np.ndarray | None = None
        self._sent, self._stamp, self._due = 0.0, 0.0, 0.0

    def go(self, camera: Any, subject: np.ndarray, running: bool) -> None:
        """Move viser's camera along: smoothly while time runs, else at once."""
        now, look = time.monotonic(), np.asarray(camera.position) - np.asarray(camera.look_at)
        if self._sent and camera.update_timestamp != self._stamp:  # the browser has answered
            self._due, self._sent = 2 * now - self._sent, 0.0
        if self._look is not None and np.linalg.norm(look - self._look) > 1e-3 * np.linalg.norm(look):
            self._due = now + _FREE
        self._look = look
        shift = (subject - self._at) * [1, 1, 0]
        far = float(np.linalg.norm(shift))
        if far < _LEAST or now < self._due or now - self._sent < _PATIENCE:
            return
        if running:
            shift *= min(1.0, _MOST / far)
        camera.position = np.asarray(camera.position) + shift
        self._at += shift
        self._sent, self._stamp = now, camera.update_timestamp
