"""What figures of experiments on balance share: a centre of mass against its feet, and beneath it what happens to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from interplay.io.recording import Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIGNS = np.array([(1, 1, 0), (1, -1, 0), (-1, 1, 0), (-1, -1, 0)])


def draw_balance(recording: Recording, path: Path, who: str, below: Callable[[Axes, mujoco.MjModel], None]) -> None:
    """Write a picture: a character's centre of mass against its soles, ahead and aside, in world axes, and what ``below`` draws."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    m = mujoco.MjModel.from_xml_path(str(recording.scene_path))
    time, places = recording["time"], over_soles(recording, m, [f"{who}/{side}_sole" for side in ("left", "right")])
    figure, axes = plt.subplots(3, 1, figsize=(9, 8), sharex=True, layout="constrained")
    for k, (axis, way) in enumerate(zip(axes[:2], ("forward", "to her left"), strict=True)):
        axis.fill_between(time, 100 * places[:, 1, k], 100 * places[:, 2, k], color="0.88", label="feet, and between")
        axis.plot(time, 100 * places[:, 0, k], color="C3", label="centre of mass")
        axis.set_ylabel(f"{way} [cm]")
    axes[0].legend(loc="upper right")
    below(axes[2], m)
    axes[2].set_xlabel("time [s]")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def over_soles(recording: Recording, m: mujoco.MjModel, names: list[str]) -> np.ndarray:
    """Return for each step (T, 3, 2) [m] the centre of mass, and the least and the most of the soles' corners, from their middle."""
    d, soles = mujoco.MjData(m), [m.site(name).id for name in names]
    root = int(m.body_rootid[m.site_bodyid[soles[0]]])
    places = np.empty((len(recording["time"]), 3, 2))
    for t, qpos in enumerate(recording["qpos"]):
        d.qpos[:] = qpos
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        corners = np.concatenate(
            [d.site_xpos[s] + (_SIGNS * m.site_size[s]) @ d.site_xmat[s].reshape(3, 3).T for s in soles]
        )[:, :2]
        middle = d.site_xpos[soles].mean(axis=0)[:2]
        places[t] = np.array([d.subtree_com[root][:2], corners.min(axis=0), corners.max(axis=0)]) - middle
    return places


def pressed(recording: Recording, first: set[int], others: set[int] | None = None) -> np.ndarray:
    """Return for each step how hard (T, 3) [N, world axes] what touched some bodies pressed ON them: all others, or some of them."""
    out, force = np.zeros((len(recording["time"]), 3)), recording["touch_force"]
    for k, (a, b) in enumerate(recording.touched):
        for mine, other, sign in ((a, b, 1.0), (b, a, -1.0)):
            if mine in first and other not in first and (others is None or other in others):
                out += sign * force[:, k]
    return out
