"""The exact record, as arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from interplay.io.formats.base import Format, Options, Progress
from interplay.io.recording import Recording
from interplay.io.replay import Replay


def write(recording: Recording, out: Path, options: Options, progress: Progress) -> None:
    """Write the exact record, as documented in docs/recording.md; what the recording does not know is not in it."""
    replay = Replay(recording)
    m, shape = replay.model, (recording.steps, len(recording.contacts))
    arrays: dict[str, Any] = {name: recording[name] for name in ("time", "qpos", "qvel", "qacc")}
    arrays["qfrc_applied"] = recording["applied"]
    if "tau" in recording.known:
        arrays["tau"] = recording["tau"]
    simulated = "plan_qacc" in recording.known
    if recording.overruled or simulated:
        arrays["plan_tau"] = recording["plan_tau"]
    if simulated:
        arrays["plan_qacc"] = recording["plan_qacc"]
    if "touch_force" in recording.known:
        names = [[m.body(b).name for b in pair] for pair in recording.touched]
        arrays["touch_names"] = np.array(names, dtype=str).reshape(-1, 2)
        arrays["touch_force"] = recording["touch_force"]
    arrays |= {name: recording[name] for name in sorted(recording.known) if name.startswith("sub_")}
    if "wrench" in recording.known:
        contact, active, wrench = np.zeros((recording.steps, m.nv)), np.zeros(shape, bool), np.zeros((*shape, 6))
        planned = np.zeros((*shape, 6)) if "plan_wrench" in recording.known else None
        for step in replay.steps():
            contact[step.index], active[step.index, step.touch.columns] = step.qfrc_contact, True
            wrench[step.index, step.touch.columns] = step.site_wrenches
            if planned is not None:
                touch, terms = step.touch, step.terms
                unknowns = recording["plan_wrench"][step.index, touch.columns].reshape(-1)[touch.unknowns]
                planned[step.index, touch.columns] = touch.rows.forces(terms, unknowns, touch.jacobian)[1]
        fixed = m.body_treeid[m.site_bodyid[replay.sites[:, 1]]] < 0
        names = [(a, "world" if still else b) for (a, b), still in zip(recording.contacts, fixed, strict=True)]
        arrays |= {"qfrc_contact": contact, "contact_active": active, "contact_wrench": wrench}
        if planned is not None:
            arrays["plan_contact_wrench"] = planned
        arrays["contact_names"] = np.array(names, dtype=str).reshape(-1, 2)
    arrays["phase"] = np.array(recording.phases, dtype=str)
    if "step_ms" in recording.known:
        arrays["step_ms"], arrays["solve_ms"] = recording["step_ms"], recording["solve_ms"]
    if recording.changing:
        arrays["body_mass"], arrays["body_inertia"] = recording["body_mass"], recording["body_inertia"]
    arrays["joint_names"] = np.array([m.joint(j).name for j in range(m.njnt)], dtype=str)
    arrays["joint_qposadr"], arrays["joint_dofadr"] = m.jnt_qposadr, m.jnt_dofadr
    arrays["body_names"] = np.array([m.body(b).name for b in range(m.nbody)], dtype=str)
    np.savez_compressed(out, **arrays)


FORMAT = Format((".npz",), "the exact record, as NumPy arrays (docs/recording.md)", write)
