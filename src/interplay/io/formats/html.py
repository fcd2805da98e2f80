"""A recording as one HTML page that opens from disk, without server or network: viser's player, with our title and phases."""

from __future__ import annotations

import html
import json
from itertools import groupby
from pathlib import Path

import numpy as np
import pydantic

from interplay.io.formats.base import Format, Options, Progress
from interplay.io.grips import recorded_grips
from interplay.io.recording import Recording
from interplay.view.camera import Camera, first_shot
from interplay.view.cast import Cast, lay_ground
from interplay.view.gate import close_server, open_server


class PageOptions(Options):
    """Of a page."""

    fps: float = pydantic.Field(25.0, ge=1, le=240, description="frames a second")


def write(recording: Recording, out: Path, options: PageOptions, progress: Progress) -> None:
    """Write a page that plays the recording, seen as its scenario's camera sees it."""
    motion, time, dt = recording["qpos"], recording["time"], float(recording.header["dt"])
    grips = recorded_grips(recording)
    stride = max(1, round(1.0 / (options.fps * dt)))
    # By time, not by steps: where some are missing, the last one before stands still.
    moments = np.arange(time[0], time[-1] + 0.5 * dt, stride * dt)
    picks = np.searchsorted(time, moments + 1e-6, side="right") - 1
    server = open_server("127.0.0.1", 0)
    try:
        # The light is the player's own: it returns to that whenever time goes back, and would flash if ours were another.
        lay_ground(server.scene)
        cast = Cast(server.scene, recording.model)
        shot = first_shot(_wide(recording.camera, cast, motion), cast.model, cast.data)
        first = server.initial_camera
        first.position, first.look_at, first.up, first.fov = shot.position, shot.look_at, (0, 0, 1.0), shot.fov
        cast.place(motion[0], grips.at(float(time[0])))
        serializer = server.get_scene_serializer()
        for n, t in enumerate(picks):
            progress(n / len(picks))
            cast.place(motion[t], grips.at(float(time[t])))
            serializer.insert_sleep(stride * dt)
        page = serializer.as_html()
    finally:
        close_server(server)
    title, duration = str(recording.header["scenario"]), len(picks) * stride * dt
    out.write_text(captioned(page, title, _beginnings(recording), duration), encoding="utf-8")


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


def _beginnings(recording: Recording) -> list[tuple[float, str]]:
    """Return when each phase began [s], counted from the recording's first step, and its name."""
    time, phases, t = recording["time"], [], 0
    for name, steps in groupby(recording.phases):
        phases.append((float(time[t] - time[0]), name))
        t += len(list(steps))
    return phases


def captioned(page: str, title: str, phases: list[tuple[float, str]], duration: float) -> str:
    """Return a player's page with a title and its phases: when each begins, and its name; times in s."""
    score = json.dumps({"title": title, "phases": phases, "duration": duration}).replace("<", "\\u003c")
    extra = Path(__file__).with_name("captions.html").read_text(encoding="utf-8").replace("{{score}}", score)
    head, end, tail = page.rpartition("</body>")
    return head.replace("<title>Viser</title>", f"<title>{html.escape(title)}</title>", 1) + extra + end + tail


FORMAT = Format((".html",), "a page that plays it, without server or network", write, PageOptions)
