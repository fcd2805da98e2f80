"""Hand in hand: one of two is pushed, the other holds her up; alone she would fall. A film strip under out/held_up."""

from pathlib import Path

import numpy as np

import interplay as ip
from interplay.catalogue import scenario
from interplay.scenario import stands


def pushed(impulse: float, held: bool) -> ip.Simulation:
    """Return a simulation in which the first of two who stand side by side is about to be pushed forward [N·s]."""
    scene = scenario("ring")({"n": 2}).build()
    sim = ip.Simulation(scene, dt=0.01, world="simulated", on_fall="continue")
    if held:
        sim.contacts.add("c0/right_grip", "c1/left_grip")
    for name in ("c0", "c1"):
        stands(sim, name, steps=False)
    sim.run(0.5)
    sim.live.push("c0/chest", np.array([10.0 * impulse, 0, 0]), 0.1)
    return sim


if __name__ == "__main__":
    for held in (False, True):
        sim = pushed(32.0, held)
        out = Path("out/held_up") / ("held" if held else "alone")
        sim.scene.save(out / "scene.xml")
        recorder = ip.Recorder(out / "recording", sim, {"scenario": "held_up"})
        sim.observers.append(recorder)
        while sim.time < 3.0:
            sim.step()
        recorder.close()
        print("held:" if held else "alone:", sim.fallen.get("c0", "she stands"))
        camera = ip.Camera(lookat=(0, -0.3, 0.8), distance=3.2, azimuth=140)
        print("written:", *ip.export(out, out / "strip.png", camera=camera, columns=6))
