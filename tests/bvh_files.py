"""BVH files for tests, written from the motion of our own characters."""

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

import interplay as ip

TO_Y_UP = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
"""From our axes to those of most files: x to the left, y up, z ahead."""
ENDS = {"head": (0.02, 0, 0.18), "foot": (0.15, 0, -0.05), "hand": (0, 0, -0.16)}


def squats(model: ip.Humanoid, frames=150, fps=60.0, name="ann"):
    """A scene and configurations in which someone squats twice on feet that stay, raises an arm, turns and nods."""
    scene = ip.Scene().add(model, name)
    m = scene.model
    d = mujoco.MjData(m)
    time = np.arange(frames) / fps
    deep = 0.5 - 0.5 * np.cos(2 * np.pi * time / time[-1] * 2)
    wave = np.sin(2 * np.pi * time)
    angles = {
        "torso_yaw": 0.3 * wave,
        "torso_flexion": 0.2 + 0.3 * deep,
        "neck_flexion": 0.2 * wave,
        "head_yaw": 0.4 * wave,
    }
    for side, sign in (("left", 1.0), ("right", -1.0)):
        angles |= {
            f"{side}_hip_flexion": 0.2 + 0.8 * deep,
            f"{side}_knee_flexion": 0.35 + 1.15 * deep,
            f"{side}_ankle_flexion": 0.15 + 0.35 * deep,
            f"{side}_shoulder_flexion": 0.6 + 0.5 * sign * wave,
            f"{side}_shoulder_abduction": 0.5 + 0.2 * wave
            if side == "left"
            else 1.2 + 0.33 * wave,  # 88°: almost singular
            f"{side}_shoulder_rotation": 0.2 * wave,
            f"{side}_elbow_flexion": 0.9 + 0.4 * sign * wave,
            f"{side}_forearm_rotation": 0.3 * wave,
            f"{side}_wrist_flexion": 0.2 * wave,
        }
    q = np.repeat(scene.qpos[None], frames, axis=0)
    for joint, values in angles.items():
        q[:, m.jnt_qposadr[scene.joint(f"{name}/{joint}")]] = values
    sole = scene.site(f"{name}/left_sole")
    for t in range(frames):
        d.qpos[:] = q[t]
        mujoco.mj_kinematics(m, d)
        q[t, :3] += np.array([0.3, 0.1, 0.0]) - d.site_xpos[sole]
    return scene, time, q


def bvh_text(m, time, qpos, name, unit=0.01, axes=TO_Y_UP, rename=lambda part: part):
    """A character's motion as BVH: one joint for each body, and ends of head, hands and feet."""
    bodies = [b for b in range(m.nbody) if m.body(b).name.startswith(f"{name}/")]
    d = mujoco.MjData(m)
    children = {b: [c for c in bodies if m.body_parentid[c] == b] for b in bodies}
    lines, order = ["HIERARCHY"], []

    def numbers(v):
        return " ".join(f"{x:.6f}" for x in axes @ np.asarray(v, float) / unit)

    def add(b, depth):
        pad, part = "\t" * depth, m.body(b).name.split("/")[1]
        root = depth == 0
        lines.append(f"{pad}{'ROOT' if root else 'JOINT'} {rename(part)}")
        lines.append(pad + "{")
        lines.append(f"{pad}\tOFFSET {numbers((0, 0, 0) if root else m.body_pos[b])}")
        place = "Xposition Yposition Zposition " if root else ""
        lines.append(f"{pad}\tCHANNELS {6 if root else 3} {place}Zrotation Yrotation Xrotation")
        order.append(b)
        for child in children[b]:
            add(child, depth + 1)
        end = ENDS.get(part.split("_")[-1])
        if end is not None:
            lines.extend([f"{pad}\tEnd Site", pad + "\t{", f"{pad}\t\tOFFSET {numbers(end)}", pad + "\t}"])
        lines.append(pad + "}")

    add(bodies[0], 0)
    lines += ["MOTION", f"Frames: {len(time)}", f"Frame Time: {time[1] - time[0]:.7f}"]
    for q in qpos:
        d.qpos[:] = q
        mujoco.mj_kinematics(m, d)
        row = numbers(d.xpos[order[0]])
        for b in order:
            above = np.eye(3) if b == order[0] else d.xmat[m.body_parentid[b]].reshape(3, 3)
            turn = axes @ above.T @ d.xmat[b].reshape(3, 3) @ axes.T
            row += " " + " ".join(f"{x:.6f}" for x in Rotation.from_matrix(turn).as_euler("ZYX", degrees=True))
        lines.append(row)
    return "\n".join(lines) + "\n"
