"""Clips as files: arrays without pickle, and contacts as a table that can be edited."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from interplay.errors import InputError, cannot_write, unknown_name
from interplay.motion.clip import Clip, Touch, motion

CLIP_FILE = "motion.clip"
"""Name of the clip in a folder."""
SHIPPED = Path(__file__).resolve().parents[1] / "clips"
"""Folder of the clips that come with Interplay."""
_VERSION = 1
_LARGEST = 4_000_000_000
"""Largest clip [bytes], unpacked: what a file claims is checked before it is read."""
_MOST_CHARACTERS, _MOST_TOUCHES = 100, 1_000_000
_COLUMNS = ["first", "second", "begin", "end"]


def save_clip(clip: Clip, path: str | Path) -> Path:
    """Write a clip: a zip of arrays (npz), the names in it as JSON."""
    path = Path(path)
    header = {
        "version": _VERSION,
        "title": clip.title,
        "source": clip.source,
        "characters": {name: list(m.joints) for name, m in clip.motions.items()},
        "touches": [list(t) for t in clip.touches],
    }
    arrays: dict[str, Any] = {"time": clip.time, "header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
    for k, m in enumerate(clip.motions.values()):
        arrays |= {f"angles_{k}": m.angles, f"root_{k}": m.root, f"mirror_{k}": m.mirror, f"upright_{k}": m.upright}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.savez_compressed(file, **arrays)
    except OSError as error:
        raise cannot_write(path, error) from None
    return path


def shipped_clips() -> list[str]:
    """Return the names of the clips that come with Interplay."""
    return sorted(path.stem for path in SHIPPED.glob("*.clip"))


def shipped_clip(name: str) -> Path:
    """Return the file of a clip that comes with Interplay."""
    if name not in shipped_clips():
        raise unknown_name("clip", name, shipped_clips())
    return SHIPPED / f"{name}.clip"


def load_clip(path: str | Path) -> Clip:
    """Read a clip; whatever is wrong with it is an error of ours."""
    path = Path(path)
    if not path.exists() and path.suffix == "" and path.parent == Path("."):
        path = shipped_clip(path.name)
    path = path / CLIP_FILE if path.is_dir() else path
    try:
        with zipfile.ZipFile(path) as archive:
            claimed = sum(info.file_size for info in archive.infolist())
            if claimed > _LARGEST or len(archive.infolist()) > 4 * _MOST_CHARACTERS + 2:
                raise InputError(
                    f"{path.name}: {claimed / 1e9:.1f} GB unpacked, expected at most {_LARGEST / 1e9:.0f} GB"
                )
        with np.load(path, allow_pickle=False) as found:
            header = json.loads(found["header"].tobytes())
            if header["version"] != _VERSION:
                raise InputError(f"{path.name}: version {header['version']!r} of clips, expected {_VERSION}")
            motions = {
                str(name): motion(
                    map(str, joints), *(found[f"{key}_{k}"] for key in ("angles", "root", "mirror", "upright"))
                )
                for k, (name, joints) in enumerate(header["characters"].items())
            }
            if len(header["touches"]) > _MOST_TOUCHES:
                raise InputError(f"{path.name}: {len(header['touches'])} contacts")
            touches = [Touch(str(a), str(b), float(c), float(d)) for a, b, c, d in header["touches"]]
            return Clip.from_arrays(found["time"], motions, touches, str(header["title"]), str(header["source"]))
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except InputError as error:
        raise InputError(f"{path.name}: {str(error).removeprefix(f'{path.name}: ')}") from None
    except Exception as error:  # a damaged archive raises whatever its decoders do
        raise InputError(f"{path.name}: expected a clip, got a file that is none or damaged ({error})") from None


def write_touches(path: str | Path, touches: Iterable[Touch]) -> Path:
    """Write contacts as CSV, to be edited."""
    path = Path(path)
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(_COLUMNS)
            writer.writerows([t.first, t.second, f"{t.begin:.4f}", f"{t.end:.4f}"] for t in touches)
    except OSError as error:
        raise cannot_write(path, error) from None
    return path


def read_touches(path: str | Path) -> list[Touch]:
    """Read contacts from CSV: first, second, begin, end [s]."""
    path, out = Path(path), []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for line, row in enumerate(csv.reader(file), 1):
                if not row or [cell.strip() for cell in row] == _COLUMNS:
                    continue
                try:
                    first, second, begin, end = row
                    out.append(Touch(first.strip(), second.strip(), float(begin), float(end)))
                    if not -1e9 < out[-1].begin < out[-1].end < 1e9:
                        raise ValueError
                except ValueError:
                    raise InputError(
                        f"{path.name}:{line}: expected first, second, begin, end (such as ann/left_sole, ground, 0.5, 1.2), got {row}"
                    ) from None
                if len(out) > _MOST_TOUCHES:
                    raise InputError(f"{path.name}: more than {_MOST_TOUCHES} contacts")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {str(path)!r}: {error}") from None
    return out
