"""The report of a run: what was simulated, how fast, how large, what gave way, and its certificate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from interplay.errors import cannot_write
from interplay.io.certificate import certify
from interplay.io.recording import Recording


def make_report(recording: Recording, finished: bool, failure: str | None) -> dict[str, Any]:
    """Return the report of a recording; everything but how it ended follows from the recording alone."""
    header, conflicts, certificate = recording.header, _conflicts(recording), certify(recording)
    return {
        "scenario": header["scenario"],
        "parameters": header["parameters"],
        "character": header.get("character") and Path(header["character"]).name,
        "controller": header.get("controller", "integrated"),
        "dt": header["dt"],
        "steps": recording.steps,
        "sim_seconds": round(recording.steps * header["dt"], 6),
        "end": round(float(recording["time"][-1]) + header["dt"], 6),
        "finished": finished,
        "failure": failure,
        "missing": [gap._asdict() for gap in recording.missing],
        "states_visited": [p for k, p in enumerate(recording.phases) if k == 0 or p != recording.phases[k - 1]],
        "fallbacks": len(recording.conflicts),
        "relaxed": {f"{c['kind']}: {c['name']}": c["steps"] for c in conflicts},
        "conflicts": conflicts,
        "timing": _timing(recording),
        "size": table_size(recording.sizes, header.get("table_phase"), header.get("table_pairs")),
        "certificate": certificate.laws,
        "penetration": [
            {
                "pair": p.pair,
                "meeting": p.meeting,
                "depth_mm": round(1e3 * p.depth, 4),
                "time": round(p.time, 6),
                "share": round(p.share, 6),
            }
            for p in certificate.penetration
        ],
    }


def _timing(recording: Recording) -> dict[str, float] | None:
    """Return what steps took [ms]; None where nothing is known of it."""
    if "step_ms" not in recording.known:
        return None
    step = recording["step_ms"]
    return {
        "median_ms": float(np.median(step)),
        "p99_ms": float(np.percentile(step, 99)),
        "max_ms": float(step.max()),
        **{key: float(np.median(recording[key])) for key in ("model_ms", "assemble_ms", "solve_ms")},
    }


def _conflicts(recording: Recording) -> list[dict[str, Any]]:
    """Return what gave way: its kind and name, on how many steps, and by how much at worst."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for _, conflicts in recording.conflicts:
        conflicts = conflicts or [("solver", "no residual conflict", 0.0, "")]
        for kind, name, amount, unit in conflicts:
            entry = found.setdefault((kind, name), {"kind": kind, "name": name, "steps": 0, "worst": 0.0, "unit": unit})
            entry["worst"] = max(entry["worst"], amount)
        for key in {(kind, name) for kind, name, _, _ in conflicts}:  # a contact may slip and turn on the same step
            found[key]["steps"] += 1
    return list(found.values())


def table_size(sizes: Mapping[str, dict[str, int]], phase: str | None, pairs: int | None) -> dict[str, int]:
    """Return the size at a scenario's declared phase, with its declared pairs; otherwise at the largest one; {}: not known."""
    if phase is None or phase not in sizes:
        return max(sizes.values(), key=lambda size: size["vars"], default={})
    size = dict(sizes[phase])
    if pairs is not None:
        size["paper_ineq"] += pairs - size["collision_pairs"]
        size["collision_pairs"] = pairs
    return size


def write_report(report: dict[str, Any], path: Path) -> None:
    """Write a report as JSON; numbers that are not finite never get out."""
    try:
        path.write_text(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    except OSError as error:
        raise cannot_write(path, error) from None
