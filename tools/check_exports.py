"""Checks exports with the tools they are made for: Khronos' glTF validator, Pixar's USD validators, and Blender.

    python tools/check_exports.py --out out/exports [--cases king door acrobats talos wave] [--bvh FILE …]

Of each recording, ten bones at twenty times are compared with plain MuJoCo after Blender has imported .glb, .usdc, .bvh, and an .fbx
that it wrote itself; bones of other conventions are compared with the published ones. Tools that cannot be had are named and left
out; the exit code tells whether all that was checked is sound.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
from bone_names import misnamed

import interplay as ip
from interplay.io.export import export
from interplay.io.recording import Recording
from interplay.runs.run import run

FPS = 30
BONES = (
    *("pelvis", "chest", "head", "left_forearm", "left_hand", "right_hand"),
    *("left_thigh", "right_shank", "left_foot", "right_foot"),
)
LIMITS = {".glb": 1.0, ".usdc": 1.0, ".bvh": 2.0, ".fbx": 2.0}
"""How far a bone may be from its body [mm]."""

BLENDERS = {"3.11": ("bpy==4.2.0", "numpy<2"), "3.13": ("bpy>=5.1",)}
"""Versions of Python for which Blender is to be had as a module."""

HERE = Path(__file__).resolve().parent


def imported(files: list[Path], folder: Path) -> None:
    """Import motion as users do."""
    subprocess.run([sys.executable, "-m", "interplay", "import", *files, "--out", folder], check=True)


def imported_clip(name: str, folder: Path) -> None:
    """Import a clip that comes with Interplay from a file such as Mixamo delivers: its bones, in centimetres."""
    clip, scene = ip.Clip.load(name), ip.Scene()
    for who in clip.motions:
        scene.add(ip.Humanoid(joints=34), who)
    with tempfile.TemporaryDirectory() as origin:
        ip.write_recording(origin, scene, clip.time, clip.configurations(scene))
        imported(export(origin, Path(origin) / f"{name}.bvh", fps=60, skeleton="mixamo", unit="cm"), folder)


CASES: dict[str, Callable[[Path], object]] = {
    "king": partial(run, "king"),
    "door": partial(run, "door"),
    "acrobats": partial(run, "acrobats"),
    "talos": partial(run, "stand", character="characters/talos.yaml"),
    "wave": partial(imported_clip, "wave"),
}
"""What makes the recording of a case in a folder."""


def main() -> int:
    """Check all cases, print figures, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/exports"))
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument(
        "--bvh", nargs="+", type=Path, action="append", default=[], help="one more case: files to import"
    )
    chosen = parser.parse_args()
    makers = {case: CASES[case] for case in chosen.cases}
    makers |= {"_".join(file.stem for file in files): partial(imported, files) for files in chosen.bvh}
    chosen.out.mkdir(parents=True, exist_ok=True)
    validator, blender, wrong = gltf_validator(chosen.out), blender_python(Path(".venv-blender")), 0
    for case, make in makers.items():
        print(f"{case}:", flush=True)
        folder, out = chosen.out / "runs" / case, chosen.out / case
        if not (folder / "recording").exists():
            make(folder)
        out.mkdir(exist_ok=True)
        files = [file for ending in (".glb", ".usdc", ".bvh") for file in export(folder, out / f"{case}{ending}")]
        others = []
        for skeleton in ("mixamo", "unreal", "vrm"):
            others += export(folder, out / f"{case}_{skeleton}.glb", skeleton=skeleton)
            wrong += report(f"bones of {skeleton}", misnamed(others[-1], skeleton))
            others += export(folder, out / f"{case}_{skeleton}.usdc", skeleton=skeleton)
        for file in files + others:
            if file.suffix == ".usdc":
                wrong += report(f"USD validation, {file.name}", usd_errors(file))
            elif file.suffix == ".glb" and validator is not None:
                wrong += report(f"glTF validator, {file.name}", gltf_errors(validator, file))
        if blender is not None:
            wrong += in_blender(blender, Recording(folder), files, out / case)
    print(f"{wrong} wrong" if wrong else "all sound")
    return int(wrong > 0)


def report(what: str, found: list[str]) -> int:
    """Print what was found wrong, and return how much it is."""
    print(f"  {what}: {len(found)} errors and warnings", *found, sep="\n    ", flush=True)
    return len(found)


# -- validators --------------------------------------------------------------------------------------------------------

_NODE = """
const fs = require("fs"), validator = require("gltf-validator");
validator.validateBytes(new Uint8Array(fs.readFileSync(process.argv[1])))
  .then((r) => console.log(JSON.stringify(r.issues)));
"""


def gltf_validator(out: Path) -> Path | None:
    """Return the folder of Khronos' validator, which npm installs."""
    folder = out.resolve() / "node"
    if not (folder / "node_modules" / "gltf-validator").exists():
        if shutil.which("npm") is None:
            print("no npm: glTF is not validated")
            return None
        subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), "gltf-validator"], check=True)
    return folder


def gltf_errors(validator: Path, file: Path) -> list[str]:
    """Return errors and warnings of Khronos' validator."""
    found = subprocess.run(
        ["node", "-e", _NODE, str(file.resolve())], cwd=validator, check=True, capture_output=True, text=True
    )
    issues = [issue for issue in json.loads(found.stdout)["messages"] if issue["severity"] < 2]
    return [f"{issue['code']} {issue.get('pointer', '')}: {issue['message']}" for issue in issues]


def usd_errors(file: Path) -> list[str]:
    """Return what all of USD's validators find."""
    from pxr import Usd, UsdValidation

    every = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    errors = UsdValidation.ValidationContext(every).Validate(Usd.Stage.Open(str(file)))
    return [f"{error.GetName()}: {error.GetMessage()}" for error in errors]


# -- Blender -----------------------------------------------------------------------------------------------------------


def blender_python(folder: Path) -> Path | None:
    """Return a Python that has Blender as a module, in an environment of its own."""
    python = folder / "bin" / "python"
    if python.exists():
        return python
    for version, packages in BLENDERS.items():
        base = shutil.which(f"python{version}")
        if base is not None and subprocess.run([base, "--version"], capture_output=True).returncode == 0:
            print(f"installing {packages[0]} …", flush=True)
            subprocess.run([base, "-m", "venv", str(folder)], check=True)
            if subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages]).returncode == 0:
                return python
            shutil.rmtree(folder)
            print("Blender could not be installed: imports are not checked")
            return None
    print(f"no Python {' or '.join(BLENDERS)}: Blender cannot be had as a module, imports are not checked")
    return None


def ask(blender: Path, **request: object) -> dict:
    """Let Blender import a file, and return what it says about it."""
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder) / "request.json", Path(folder) / "answer.json"
        question.write_text(json.dumps(request))
        done = subprocess.run(
            [str(blender), str(HERE / "blender_import.py"), str(question), str(answer)], capture_output=True, text=True
        )
        if not answer.exists():
            raise SystemExit(f"Blender failed on {request['file']}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return json.loads(answer.read_text())


def in_blender(blender: Path, recording: Recording, files: list[Path], stem: Path) -> int:
    """Compare what Blender makes of files with the recording, render a frame, and return how many armatures are wrong."""
    last = int((recording["time"][-1] - recording["time"][0]) * FPS + 1e-6)
    frames = np.linspace(0, last, 20).round().astype(int).tolist()
    truth = {name: where(recording, name, frames) for name in characters(recording)}
    picture, fbx = (str(stem.with_suffix(ending).resolve()) for ending in (".png", ".fbx"))
    extras = {".glb": {"render": {"picture": picture, "frame": frames[len(frames) // 2]}, "fbx": fbx}}
    wrong = 0
    for file in [*files, Path(fbx)]:
        answer = ask(
            blender, file=str(file.resolve()), fps=FPS, frames=frames, bones=BONES, **extras.get(file.suffix, {})
        )
        expected = 1 if file.suffix == ".bvh" else len(truth)
        wrong += abs(len(answer["armatures"]) - expected)
        for name, armature in answer["armatures"].items():
            called = (name, armature["parent"], file.stem.removeprefix(f"{stem.name}_"))
            owner = next((who for who in truth if who in called), next(iter(truth)))
            heads = armature["heads"]
            apart = [1000 * np.linalg.norm(heads[bone] - truth[owner][bone], axis=1).max() for bone in heads]
            sound = len(heads) == len(BONES) and max(apart) <= LIMITS[file.suffix] and round(armature["last"]) == last
            wrong += not sound
            print(
                f"  Blender {answer['version']}, {file.name}, {owner}: {armature['bones']} bones, last frame "
                f"{armature['last']:g} of {last}, {len(heads)} bones at {len(frames)} times within "
                f"{max(apart, default=np.nan):.4f} mm{'' if sound else ': WRONG'}",
                flush=True,
            )
    return wrong


def characters(recording: Recording) -> list[str]:
    """Return the names of those who have a head."""
    names = [recording.model.body(b).name for b in range(recording.model.nbody)]
    return [name.removesuffix("/head") for name in names if name.endswith("/head")]


def where(recording: Recording, owner: str, frames: list[int]) -> dict[str, np.ndarray]:
    """Return where the bodies of a character are at some frames [m], by MuJoCo, which also finds what is between two steps."""
    m, time, qpos = recording.model, recording["time"], recording["qpos"]
    d, way = mujoco.MjData(m), np.empty(m.nv)
    out: dict[str, list] = {bone: [] for bone in BONES}
    for moment in time[0] + np.array(frames) / FPS:
        step = min(int(np.searchsorted(time, moment, side="right")), len(time) - 1) - 1
        span = time[step + 1] - time[step]
        mujoco.mj_differentiatePos(m, way, span, qpos[step], qpos[step + 1])
        d.qpos[:] = qpos[step]
        mujoco.mj_integratePos(m, d.qpos, way, moment - time[step])
        mujoco.mj_kinematics(m, d)
        for bone in BONES:
            out[bone].append(d.body(f"{owner}/{bone}").xpos.copy())
    return {bone: np.array(places) for bone, places in out.items()}


if __name__ == "__main__":
    sys.exit(main())
