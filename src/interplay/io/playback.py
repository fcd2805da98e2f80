"""A recording as one HTML page that opens from disk, without server or network: viser's player, with our title and phases."""

from __future__ import annotations

import contextlib
import html
import io
import json
from itertools import groupby
from pathlib import Path

import numpy as np
import viser

from interplay.io.graphics import camera_of
from interplay.io.recording import Recording
from interplay.scenarios.base import Camera
from interplay.stage.view import Cast, first_shot, lay_ground


def write_html(recording: Recording, out: Path, *, fps: float = 25.0) -> None:
    """Write a page that plays the recording at so many frames a second, seen as its scenario's camera sees it."""
    motion, dt = recording["qpos"], float(recording.header["dt"])
    stride = max(1, round(1.0 / (fps * dt)))
    picks = range(0, recording.steps, stride)
    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        lay_ground(
            server.scene
        )  # and the player's own light: it goes back to that whenever time does, with a flash if it was another
        cast = Cast(server.scene, recording.model)
        shot = first_shot(_wide(camera_of(recording), cast, motion).model_dump(), cast)
        first = server.initial_camera
        first.position, first.look_at, first.up, first.fov = shot.position, shot.look_at, (0, 0, 1.0), shot.fov
        cast.place(motion[0])
        serializer = server.get_scene_serializer()
        for t in picks:
            cast.place(motion[t])
            serializer.insert_sleep(stride * dt)
        page = serializer.as_html()
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()
    out.write_text(_captioned(page, recording, len(picks) * stride * dt), encoding="utf-8")


def _wide(camera: Camera, cast: Cast, motion: np.ndarray) -> Camera:
    """Return a camera that stands still and sees the whole way of the body that the scenario's camera follows."""
    if camera.follow is None:
        return camera
    body, way = cast.model.body(camera.follow).id, []
    for qpos in motion[:: max(1, len(motion) // 50)]:
        cast.place(qpos)
        way.append(cast.data.xpos[body][:2].copy())
    low, high = np.min(way, axis=0), np.max(way, axis=0)
    x, y = np.array(camera.lookat[:2]) + (low + high) / 2
    distance = camera.distance + float(np.linalg.norm(high - low)) / 2
    return Camera.model_validate(
        {**camera.model_dump(), "lookat": (x, y, camera.lookat[2]), "distance": distance, "follow": None}
    )


def _captioned(page: str, recording: Recording, duration: float) -> str:
    """Add title and phases to the player's page."""
    title, time = str(recording.header["scenario"]), recording["time"]
    phases, t = [], 0
    for name, steps in groupby(recording.phases):
        phases.append((float(time[t] - time[0]), name))
        t += len(list(steps))
    score = json.dumps({"title": title, "duration": duration, "phases": phases}).replace("<", "\\u003c")
    extra = Path(__file__).with_name("captions.html").read_text(encoding="utf-8").replace("{{score}}", score)
    head, found, tail = page.rpartition("</body>")
    return head.replace("<title>Viser</title>", f"<title>{html.escape(title)}</title>", 1) + extra + found + tail
