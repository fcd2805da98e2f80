"""Bones as Mixamo, Unreal and VRM publish them, and whether an exported .glb names and hangs its own alike.

VRM: https://github.com/vrm-c/vrm-specification/blob/master/specification/VRMC_vrm-1.0/humanoid.md. Mixamo: what its
auto-rigger delivers. Unreal: the mannequin of version 4. Left out is what we leave out (docs/exchange.md).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

_FINGERS = ("Thumb", "Index", "Middle", "Ring", "Pinky")

_TREES = {
    "mixamo": ["Hips Spine Spine1 Spine2 Neck Head"]
    + ["Hips {Side}UpLeg {Side}Leg {Side}Foot {Side}ToeBase"]
    + ["Spine2 {Side}Shoulder {Side}Arm {Side}ForeArm {Side}Hand"]
    + [f"{{Side}}Hand {{Side}}Hand{f}1 {{Side}}Hand{f}2 {{Side}}Hand{f}3" for f in _FINGERS],
    "unreal": ["root pelvis spine_01 spine_02 spine_03 neck_01 head"]
    + ["pelvis thigh_{s} calf_{s} foot_{s} ball_{s}"]
    + ["spine_03 clavicle_{s} upperarm_{s} lowerarm_{s} hand_{s}"]
    + [f"hand_{{s}} {f}_01_{{s}} {f}_02_{{s}} {f}_03_{{s}}".lower() for f in _FINGERS],
    "vrm": ["hips spine chest neck head"]
    + ["hips {side}UpperLeg {side}LowerLeg {side}Foot {side}Toes"]
    + ["chest {side}Shoulder {side}UpperArm {side}LowerArm {side}Hand"]
    + ["{side}Hand {side}ThumbMetacarpal {side}ThumbProximal {side}ThumbDistal"]
    + [
        f"{{side}}Hand {{side}}{f}Proximal {{side}}{f}Intermediate {{side}}{f}Distal"
        for f in ("Index", "Middle", "Ring", "Little")
    ],
}
"""Chains of bones, each the parent of the next."""


def published(skeleton: str) -> dict[str, str | None]:
    """Return the parent of each bone that a convention knows; None: it is the first."""
    prefix, parents = "mixamorig:" if skeleton == "mixamo" else "", {}
    for chain in _TREES[skeleton]:
        for side in ("left", "right"):
            names = [prefix + name for name in chain.format(side=side, Side=side.capitalize(), s=side[0]).split()]
            parents |= dict(zip(names[1:], names, strict=False))
            parents.setdefault(names[0], None)
    return parents


def misnamed(file: Path, skeleton: str) -> list[str]:
    """Return what is wrong with the names and parents of bones in a .glb, in words.

    Other bones may lie between a bone and its parent. A body that is bound in a T has all bones, a foreign one those it can.
    """
    doc, parents = _document(file), published(skeleton)
    nodes = doc["nodes"]
    above = {child: k for k, node in enumerate(nodes) for child in node.get("children", [])}
    poses = {node["extras"]["character"]: node["extras"]["rest_pose"] for node in nodes if "extras" in node}
    out = []
    for skin in doc["skins"]:
        who, bones = skin["name"], {nodes[k]["name"]: k for k in skin["joints"]}
        if poses[who] == "T":
            out += [f"{who} has no {bone}" for bone in parents.keys() - bones.keys()]
        for bone in parents.keys() & bones.keys():
            parent = next((name for k in _upward(bones[bone], above) if (name := nodes[k]["name"]) in parents), None)
            if parent != parents[bone]:
                out.append(f"{who}: {bone} hangs on {parent}, expected {parents[bone]}")
    if skeleton == "vrm" and list(poses.values()) == ["T"]:
        declared = doc["extensions"]["VRMC_vrm"]["humanoid"]["humanBones"]
        names = {bone: nodes[entry["node"]]["name"] for bone, entry in declared.items()}
        out += [f"VRM's {bone} is {names.get(bone)}" for bone in parents if names.get(bone) != bone]
    return out


def _document(file: Path) -> dict:
    """Return the JSON of a .glb, which is its first chunk."""
    content = file.read_bytes()
    (length,) = struct.unpack("<I", content[12:16])
    return json.loads(content[20 : 20 + length])


def _upward(node: int, above: dict[int, int]) -> Iterator[int]:
    """Yield what a node hangs on, what that hangs on, and so on."""
    while node in above:
        node = above[node]
        yield node
