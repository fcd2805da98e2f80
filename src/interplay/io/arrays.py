"""Recordings from arrays, without a simulation: optimised motions, imported clips."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from interplay.control.state import Touching
from interplay.errors import InputError, cannot_write, number
from interplay.io.laws import laws_of
from interplay.io.lock import locked
from interplay.io.writer import Steps, Writer
from interplay.scene.scene import Scene
from interplay.view.camera import Camera


def write_recording(
    folder: str | Path,
    scene: Scene | mujoco.MjSpec,
    time: Any,
    qpos: Any,
    qvel: Any = None,
    qacc: Any = None,
    tau: Any = None,
    *,
    touching: Sequence[Touching] | None = None,
    applied: Any = None,
    phases: Sequence[str] | None = None,
    name: str = "motion",
    world: str = "direct",
    camera: Camera | None = None,
) -> Path:
    """Write ``scene.xml`` and ``recording`` into a folder from arrays of T steps, without a simulation, and return the folder.

    Configurations alone are a recording; velocities and accelerations then follow from them, and laws that need what is not
    known are null in its certificate.

    Args:
        folder: where to; made if it does not exist.
        scene: what moves: a scene, or a MuJoCo specification.
        time: T ascending times [s]; the step is their usual distance.
        qpos: configurations (T, nq).
        qvel, qacc, tau: velocities, accelerations, torques (T, nv).
        touching: contacts of each step and their wrenches, as ``sim.outcome.touching`` has them; with none at all, give
            ``[Touching()] * T``: that nothing touches is known then.
        applied: generalized forces of pushes (T, nv); None: there are none.
        phases: what goes on at each step, in a word.
        name: what the motion is called.
        world: whose laws it is certified by.
        camera: where pictures are taken from.
    """
    xml, assets = _portable(scene)
    m = mujoco.MjModel.from_xml_string(xml, assets)
    laws_of(world)
    time = _rows("time", time, None)
    if (np.diff(time) <= 0).any():
        raise InputError("time: expected ascending times")
    dt = number("time: the usual step", float(np.median(np.diff(time))) if len(time) > 1 else 1.0, 1e-6, 1e3, "s")
    T, derived = len(time), [key for key, value in (("qvel", qvel), ("qacc", qacc)) if value is None]
    for key, given in (("touching", touching), ("phases", phases)):
        if given is not None and len(given) != T:
            raise InputError(f"{key}: expected one for each of {T} steps, got {len(given)}")
    qpos = _rows("qpos", qpos, (T, m.nq))
    qvel = _rows("qvel", qvel, (T, m.nv)) if qvel is not None else _velocities(m, qpos, time)
    steps = Steps(
        time,
        qpos,
        qvel,
        _rows("qacc", qacc, (T, m.nv)) if qacc is not None else _accelerations(qvel, time),
        _rows("tau", tau, (T, m.nv)) if tau is not None else None,
        touching=touching,
        applied=_rows("applied", applied, (T, m.nv)) if applied is not None else None,
        phases=phases,
    )
    header = {"scenario": name, "parameters": {}, "dt": dt, "world": world, "derived": derived, "arrays": True}
    header["camera"] = (camera or Camera()).model_dump()
    folder = Path(folder)
    with locked(folder):
        try:
            (folder / "scene.xml").write_text(xml)
            for file, content in assets.items():
                (folder / file).write_bytes(content)
        except OSError as error:
            raise cannot_write(folder, error) from None
        writer = Writer(folder / "recording", m, header)
        per_block = max(1, round(1.0 / dt))
        for begin in range(0, T, per_block):
            writer.write(steps.part(begin, min(begin + per_block, T)), {})
        writer.close()
    return folder


def _portable(scene: Scene | mujoco.MjSpec) -> tuple[str, dict[str, bytes]]:
    """Return a scene as MJCF, and the files it names, all beside it."""
    if isinstance(scene, Scene):
        return scene.xml, scene.assets
    spec, assets = scene.copy(), {}
    for items, folder in ((spec.meshes, spec.meshdir), (spec.textures, spec.texturedir), (spec.hfields, spec.meshdir)):
        for item in items:
            if item.file:
                source, known = Path(spec.modelfiledir) / folder / item.file, scene.assets.get(item.file)
                assets[source.name] = source.read_bytes() if known is None else known
                item.file = source.name
    spec.meshdir = spec.texturedir = ""
    spec.assets = assets
    spec.compile()
    return spec.to_xml(), assets


def _rows(what: str, given: Any, shape: tuple[int, ...] | None) -> np.ndarray:
    """Return an array of a shape (of one row for each step, where it is not known), finite."""
    try:
        array = np.array(given, float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected an array of numbers, got {given!r}") from None
    if array.shape != shape if shape is not None else array.ndim != 1 or not len(array):
        raise InputError(f"{what}: expected the shape {shape or '(T,), T ≥ 1'}, got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(
            f"{what}: expected finite numbers; step {int(np.argwhere(~np.isfinite(array))[0][0])} has others"
        )
    return array


def _velocities(m: mujoco.MjModel, qpos: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return the velocities (T, nv) that lead from each configuration to the next, as worlds integrate; the first as the second."""
    out = np.zeros((len(qpos), m.nv))
    for t in range(1, len(qpos)):
        mujoco.mj_differentiatePos(m, out[t], time[t] - time[t - 1], qpos[t - 1], qpos[t])
    out[0] = out[min(1, len(out) - 1)]
    return out


def _accelerations(qvel: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return the accelerations (T, nv) that lead from each velocity to the next; the last is zero."""
    out = np.zeros_like(qvel)
    out[:-1] = np.diff(qvel, axis=0) / np.diff(time)[:, None]
    return out
