"""Scenes read back from where they were saved: the same model, names and initial configuration, to which nothing can be added."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import mujoco
import numpy as np

from interplay.errors import InputError, SceneError
from interplay.models.base import Model
from interplay.scene.scene import Scene


class SavedScene(Scene):
    """A scene that was saved (``Scene.save``): it is used like the one it was."""

    def __init__(self, path: str | Path, qpos: np.ndarray | None = None):
        """Read scene.xml and the files it names, beside it; ``qpos``: the initial configuration, which XML does not hold."""
        path = Path(path)
        try:
            text, assets = path.read_text(), assets_beside(path)
            model = mujoco.MjModel.from_xml_string(text, assets)
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise InputError(f"cannot read the scene {str(path)!r}: {error}") from None
        super().__init__(gravity=-float(model.opt.gravity[2]))
        if qpos is not None and (qpos.shape != (model.nq,) or not np.isfinite(qpos).all()):
            raise InputError(f"{path.name}: expected a configuration of {model.nq} finite numbers, got {qpos.shape}")
        self._xml, self._model, self.assets = text, model, assets
        for b in range(model.nbody):
            name, _, root = model.body(b).name.partition("/")
            if root and name not in self._placed:
                self._placed[name] = (Model(), np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
                self._roots[name] = root
        self._qpos = model.qpos0.copy() if qpos is None else np.array(qpos, float)

    def add(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: what it was made of is not known."""
        raise SceneError("this scene was read from a file: nothing can be added to it")


def assets_beside(scene: Path) -> dict[str, bytes]:
    """Return the mesh and texture files beside a scene that it names."""
    spec = mujoco.MjSpec.from_file(str(scene))
    names = [*(mesh.file for mesh in spec.meshes), *(texture.file for texture in spec.textures)]
    return {name: (scene.parent / name).read_bytes() for name in names if name}
