"""The report of a run: what was simulated, how fast, how large, and its certificate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from interplay.constraints.contact import Contact
from interplay.io.certificate import PlanarContact, certify
from interplay.io.recording import Recording
from interplay.simulation import Simulation


def problem_size(sim: Simulation, declared_pairs: int | None) -> dict[str, int]:
    """Return the size of the present program, counted our way and the paper's (Table 1 of vaillant2017)."""
    subsystems = sim.scene.subsystems
    dofs, actuated = sim.scene.model.nv, sum(len(s.actuated) for s in subsystems)
    planar = 4 * sum(c.kind == "planar" for c in sim.contacts)
    grasp = 4 * sum(c.kind == "grasp" for c in sim.contacts)
    pairs = len(sim.collisions.pairs) if declared_pairs is None else declared_pairs
    points = planar + grasp
    return {
        "subsystems": len(subsystems),
        "dofs": dofs,
        "actuated": actuated,
        "planar_points": planar,
        "grasp_points": grasp,
        "collision_pairs": pairs,
        "paper_qp": dofs + actuated + 4 * points,
        "paper_eq": dofs + 3 * points,
        "paper_ineq": 2 * actuated + 4 * planar + pairs,
        **sim.controller.size(),
    }


def planar_contact(m: mujoco.MjModel, contact: Contact) -> PlanarContact:
    """Return a planar contact's rectangle in the frame of its first site."""
    site = contact.first.site
    R_BS = np.empty(9)
    mujoco.mju_quat2Mat(R_BS, m.site_quat[site])
    R_BS = R_BS.reshape(3, 3)
    return PlanarContact(contact.half, contact.friction, R_BS.T @ (contact.p1 - m.site_pos[site]), R_BS.T @ contact.R1)


def make_report(
    recording: Recording,
    size: dict[str, int],
    planar: dict[tuple[str, str], PlanarContact],
    finished: bool,
    failure: str | None,
) -> dict[str, Any]:
    """Return the report of a recording."""
    relaxed: dict[str, int] = {}
    for _, found in recording.conflicts:
        for name in {f"{kind}: {name}" for kind, name, *_ in found} or {"solver"}:
            relaxed[name] = relaxed.get(name, 0) + 1
    step = recording["step_ms"]
    timing = {
        "median_ms": float(np.median(step)),
        "p99_ms": float(np.percentile(step, 99)),
        "max_ms": float(step.max()),
        **{key: float(np.median(recording[key])) for key in ("model_ms", "assemble_ms", "solve_ms")},
    }
    visited = [p for k, p in enumerate(recording.phases) if k == 0 or p != recording.phases[k - 1]]
    header = recording.header
    return {
        "scenario": header["scenario"],
        "parameters": header["parameters"],
        "dt": header["dt"],
        "steps": recording.steps,
        "sim_seconds": round(recording.steps * header["dt"], 6),
        "finished": finished,
        "failure": failure,
        "states_visited": visited,
        "fallbacks": len(recording.conflicts),
        "relaxed": relaxed,
        "timing": timing,
        "size": size,
        "certificate": certify(recording, planar),
    }


def write_report(report: dict[str, Any], path: Path) -> None:
    """Write a report as JSON; numbers that are not finite never get out."""
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
