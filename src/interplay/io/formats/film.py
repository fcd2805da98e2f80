"""A film: for players (.mp4), or that plays by itself wherever pictures are shown (.gif, .webp)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pydantic
from PIL import Image

from interplay.errors import InputError, InterplayError
from interplay.io.formats.base import Format, Progress, whole_file
from interplay.io.formats.palette import palette_of, reduced
from interplay.io.formats.pictures import Pictures
from interplay.io.moments import Moments
from interplay.io.recording import Recording
from interplay.view.painting import painter

_MOST_BYTES = 1_000_000_000
"""Of a film that plays by itself, before it is compressed: such files are made of all frames at once."""

_QUALITIES = (82, 70, 58, 46, 34, 22, 10)
"""Of .webp, from the best on, until the file is small enough."""


class FilmOptions(Pictures):
    """Of a film."""

    size: str | None = pydantic.Field(None, description="[pixels], such as 1280x720, as .mp4 is; others are 640x360")
    fps: float | None = pydantic.Field(None, ge=1, le=240, description="frames a second; .mp4: 30, others: 20")
    megabytes: float | None = pydantic.Field(None, gt=0, description="at most so many, of .webp; otherwise as it comes")


class _Frames(NamedTuple):
    """Frames of a film: how large, how many a second, how many, and the pictures (height, width, 3)."""

    size: tuple[int, int]
    fps: float
    count: int
    pictures: Iterator[np.ndarray]


def write(recording: Recording, out: Path, options: FilmOptions, progress: Progress) -> None:
    """Write a film."""
    kind = out.suffix.lower()
    players = kind == ".mp4"
    size = options.pixels((1280, 720) if players else (640, 360))
    fps = options.fps or (30.0 if players else 20.0)
    begin, end = options.span(recording)
    count = max(1, round((end - begin) * fps))
    if players:
        _check_encoder(size)
    elif 3 * size[0] * size[1] * count > _MOST_BYTES:
        raise InputError(
            f"{count} frames of {size[0]}x{size[1]} are too much for {kind}: choose fewer --seconds or --fps, "
            "a smaller --size, or .mp4"
        )
    times = [begin + k / fps for k in range(count)]
    frames = _Frames(size, fps, count, _pictures(recording, options, times, size, progress))
    with whole_file(out) as unfinished:
        {".mp4": _mp4, ".gif": _gif, ".webp": _webp}[kind](unfinished, frames, options)


def _pictures(
    recording: Recording, options: FilmOptions, times: list[float], size: tuple[int, int], progress: Progress
) -> Iterator[np.ndarray]:
    moments = Moments(recording)
    shots = options.shots(moments, times, size)
    with painter(recording.model, *size) as artist:
        moving = ((moments.qpos(t), shot, moments.grips(t)) for t, shot in zip(times, shots, strict=True))
        for n, picture in enumerate(artist.film(moving)):
            progress(n / len(times))
            yield picture


def _check_encoder(size: tuple[int, int]) -> None:
    """Raise an error if no .mp4 can be written, before anything is rendered."""
    if size[0] % 2 or size[1] % 2:
        raise InputError(f"size: expected even numbers for .mp4, got {size[0]}x{size[1]}")
    try:
        import imageio_ffmpeg  # noqa: F401
    except ImportError:
        raise InterplayError(
            ".mp4 needs imageio-ffmpeg: pip install 'interplay[exchange]'; .webp and .gif work without"
        ) from None


def _mp4(path: Path, frames: _Frames, options: FilmOptions) -> None:
    """Write H.264 that every player and browser takes, its colours marked as those of high definition."""
    import imageio_ffmpeg

    mark = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]
    tune = ["-crf", "17", "-preset", "veryfast", "-movflags", "+faststart", "-f", "mp4"]
    convert = ["-vf", "scale=out_color_matrix=bt709:out_range=tv", *mark]
    film = imageio_ffmpeg.write_frames(
        str(path),
        frames.size,
        fps=frames.fps,  # type: ignore[arg-type]
        codec="libx264",
        quality=None,  # type: ignore[arg-type]
        macro_block_size=2,
        ffmpeg_log_level="error",
        output_params=[*convert, *tune],
    )
    film.send(None)
    try:
        for picture in frames.pictures:
            film.send(picture)
    finally:
        film.close()


def _gif(path: Path, frames: _Frames, options: FilmOptions) -> None:
    """Write frames in one palette, that of some of them: a palette for each would flicker."""
    pictures = [Image.fromarray(picture) for picture in frames.pictures]
    palette = palette_of(pictures[:: 1 + len(pictures) // 12])
    first, *rest = [reduced(picture, palette) for picture in pictures]
    # Whole hundredths of a second each, the sum of which is right.
    ends = np.round(np.arange(frames.count + 1) * 100 / frames.fps)
    lengths = [10 * int(v) for v in np.diff(ends)]
    first.save(path, format="GIF", save_all=True, append_images=rest, duration=lengths, loop=0, disposal=1)


def _webp(path: Path, frames: _Frames, options: FilmOptions) -> None:
    first, *rest = [Image.fromarray(picture) for picture in frames.pictures]
    lengths = [int(v) for v in np.diff(np.round(np.arange(frames.count + 1) * 1000 / frames.fps))]
    for quality in _QUALITIES:
        how = {"quality": quality, "method": 4, "minimize_size": False, "allow_mixed": False}
        first.save(path, format="WEBP", save_all=True, append_images=rest, duration=lengths, loop=0, **how)
        if options.megabytes is None or path.stat().st_size <= 1e6 * options.megabytes:
            return
    raise InputError(
        f"megabytes: {path.stat().st_size / 1e6:.1f} are the least of {frames.count} frames of "
        f"{frames.size[0]}x{frames.size[1]}; choose fewer --seconds or --fps, or a smaller --size"
    )


FORMAT = Format((".mp4", ".gif", ".webp"), "a film; .gif and .webp play by themselves", write, FilmOptions)
