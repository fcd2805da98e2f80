"""Checks exports with the tools they are made for: Khronos' glTF validator, Pixar's USD validators, and Blender.

    python tools/check_exports.py --out out/exports [--runs DIR] [--cases king door acrobats talos]

Of each recording, ten bones at twenty times are compared with plain MuJoCo after Blender has imported .glb, .usdc, .bvh, and an .fbx
that it wrote itself. Tools that cannot be had are named and left out; the exit code tells whether all that was checked is sound.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import mujoco
import numpy as np

from interplay.io.export import export
from interplay.io.recording import Recording
from interplay.runs.run import run

FPS = 30
CASES = {
    "king": {"name": "king"},
    "door": {"name": "door"},
    "acrobats": {"name": "acrobats"},
    "talos": {"name": "stand", "character": "characters/talos.yaml"},
}
BONES = (
    *("pelvis", "chest", "head", "left_forearm", "left_hand", "right_hand"),
    *("left_thigh", "right_shank", "left_foot", "right_foot"),
)
LIMITS = {".glb": 1.0, ".usdc": 1.0, ".bvh": 2.0, ".fbx": 2.0}
"""How far a bone may be from its body [mm]."""

BLENDERS = {"3.11": ("bpy==4.2.0", "numpy<2"), "3.13": ("bpy>=5.1",)}
"""Versions of Python for which Blender is to be had as a module."""

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Check all cases, print figures, and return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/exports"))
    parser.add_argument("--runs", type=Path, help="folder of recordings by case, instead of new runs")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    validator, blender, wrong = gltf_validator(chosen.out), blender_python(Path(".venv-blender")), 0
    for case in chosen.cases:
        folder = recorded(case, chosen.runs or chosen.out / "runs")
        out = chosen.out / case
        out.mkdir(exist_ok=True)
        files = [file for ending in (".glb", ".usdc", ".bvh") for file in export(folder, out / f"{case}{ending}")]
        for skeleton in ("mixamo", "unreal", "vrm"):
            files += export(folder, out / f"{case}_{skeleton}.glb", skeleton=skeleton)
            files += export(folder, out / f"{case}_{skeleton}.usdc", skeleton=skeleton)
        print(f"{case}:", flush=True)
        wrong += report("glTF validator", [validated(validator, file) for file in files if file.suffix == ".glb"])
        wrong += report("USD validation", [usd_errors(file) for file in files if file.suffix == ".usdc"])
        if blender is not None:
            wrong += in_blender(blender, Recording(folder), case, out)
    return int(wrong > 0)


def report(what: str, counts: list[int | None]) -> int:
    """Print how many errors and warnings a tool found in files, and return their sum."""
    known = [count for count in counts if count is not None]
    print(f"  {what}: {sum(known)} errors and warnings in {len(known)} files" if known else f"  {what}: not checked")
    return sum(known)


def recorded(case: str, runs: Path) -> Path:
    """Return the folder of a case's recording; it is made if it is not there."""
    folder = runs / case
    if not (folder / "recording").exists():
        print(f"running {case} …", flush=True)
        run(out=folder, **CASES[case])
    return folder


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


def validated(validator: Path | None, file: Path) -> int | None:
    """Return how many errors and warnings a glTF file has."""
    if validator is None:
        return None
    found = subprocess.run(
        ["node", "-e", _NODE, str(file.resolve())], cwd=validator, check=True, capture_output=True, text=True
    )
    issues = json.loads(found.stdout)
    for issue in issues["messages"]:
        if issue["severity"] < 2:
            print(f"  {file.name}: {issue['code']} {issue.get('pointer', '')}: {issue['message']}")
    return issues["numErrors"] + issues["numWarnings"]


def usd_errors(file: Path) -> int:
    """Return how many errors all of USD's validators find."""
    from pxr import Usd, UsdValidation

    every = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    errors = UsdValidation.ValidationContext(every).Validate(Usd.Stage.Open(str(file)))
    for error in errors:
        print(f"  {file.name}: {error.GetName()}: {error.GetMessage()}")
    return len(errors)


# -- Blender -----------------------------------------------------------------------------------------------------------


def blender_python(folder: Path) -> Path | None:
    """Return a Python that has Blender as a module, in an environment of its own."""
    python = folder / "bin" / "python"
    if python.exists():
        return python
    for version, packages in BLENDERS.items():
        if (base := shutil.which(f"python{version}")) is not None:
            subprocess.run([base, "-m", "venv", str(folder)], check=True)
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
            return python
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


def in_blender(blender: Path, recording: Recording, case: str, out: Path) -> int:
    """Compare what Blender makes of a case's files with the recording, render a frame, and return how many files are wrong."""
    frames, steps = moments(recording)
    truth = {name: where(recording, name, steps) for name in characters(recording)}
    wrong, picture = 0, {"picture": str((out / f"{case}.png").resolve()), "frame": frames[len(frames) // 2]}
    common = {"fps": FPS, "frames": frames, "bones": BONES}
    files = [out / f"{case}.glb", out / f"{case}.usdc", *sorted(out.glob(f"{case}*.bvh")), out / f"{case}.fbx"]
    for file in files:
        extra = {"render": picture, "fbx": str((out / f"{case}.fbx").resolve())} if file.suffix == ".glb" else {}
        answer = ask(blender, file=str(file.resolve()), **common, **extra)
        for name, armature in answer["armatures"].items():
            owner = next(
                (who for who in truth if who in (name, armature["parent"], file.stem.rpartition("_")[2])), None
            )
            owner = owner or next(iter(truth))
            heads = armature["heads"]
            apart = [np.abs(np.linalg.norm(np.array(heads[b]) - truth[owner][b], axis=1)).max() for b in heads]
            worst = 1000 * max(apart, default=np.inf)
            wrong += worst > LIMITS[file.suffix]
            print(
                f"  Blender {answer['version']}, {file.name}, {owner}: {armature['bones']} bones, last frame "
                f"{armature['last']:g}, {len(heads)} bones at {len(frames)} times within {worst:.4f} mm",
                flush=True,
            )
    return wrong


def moments(recording: Recording) -> tuple[list[int], list[int]]:
    """Return twenty frames that fall on steps, and those steps: there is nothing between them that we would have to compute."""
    time = recording["time"] - recording["time"][0]
    frames = np.arange(int(time[-1] * FPS + 1e-6) + 1)
    steps = np.array([int(np.argmin(np.abs(time - frame / FPS))) for frame in frames])
    on = np.flatnonzero(np.abs(time[steps] - frames / FPS) < 1e-6)
    picks = on[np.linspace(0, len(on) - 1, 20).round().astype(int)]
    return frames[picks].tolist(), steps[picks].tolist()


def characters(recording: Recording) -> list[str]:
    """Return the names of those who have a head."""
    names = [recording.model.body(b).name for b in range(recording.model.nbody)]
    return [name.removesuffix("/head") for name in names if name.endswith("/head")]


def where(recording: Recording, owner: str, steps: list[int]) -> dict[str, np.ndarray]:
    """Return where the bodies of a character are at some steps [m], by MuJoCo."""
    data = mujoco.MjData(recording.model)
    out: dict[str, list] = {bone: [] for bone in BONES}
    for step in steps:
        data.qpos[:] = recording["qpos"][step]
        mujoco.mj_kinematics(recording.model, data)
        for bone in BONES:
            out[bone].append(data.body(f"{owner}/{bone}").xpos.copy())
    return {bone: np.array(places) for bone, places in out.items()}


if __name__ == "__main__":
    sys.exit(main())
