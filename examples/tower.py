"""A tower of two on a platform that shifts and tilts: how long they stand, by one program and by joint PD. A strip under out/tower."""

from pathlib import Path

import numpy as np

import interplay as ip
from interplay.scenario import upright
from interplay.scenarios.platform import wave

SHIFT, TILT = 0.12, 0.12
"""How far the platform shifts [m] and tilts [rad] each way at strength 1, at most, as in the scenario ``platform``."""

SIDES = ("left", "right")

MARGINS = {"base": 0.03, "top": 0.07}
"""How far inside the outline of the soles balance is guarded [m]: on shoulders, heels and toes stand on nothing."""


def soles(name: str) -> tuple[str, ...]:
    """Return the soles of one of them."""
    return tuple(f"{name}/{side}_sole" for side in SIDES)


def standing() -> ip.Scene:
    """Return a scene in which one stands on the other's shoulders, who stands on the platform."""
    deck = ip.MovingPlatform((1.8, 1.8, 0.12), travel=(0.3, 0.3, 0), tilt=(0.3, 0.3))
    scene = ip.Scene().add(deck, "platform").add(ip.Humanoid(1.86, 100), "base", pos=(0, 0, deck.height))
    terms = scene.kinematics()
    shoulders = {side: terms.site_xpos[scene.site(f"base/{side}_shoulder")].copy() for side in SIDES}
    middle = np.mean(list(shoulders.values()), axis=0)
    arms = {f"{side}_shoulder_abduction": 0.75 for side in SIDES}
    scene.add(ip.Humanoid(1.60, 50, "female"), "top", pos=(middle[0], 0, middle[2]), posture=arms)
    feet = [(f"top/{side}_sole", (*shoulders[side], 0, 0, 1)) for side in SIDES]
    for _ in range(4):  # her feet on his shoulders, and her body to where her centre of mass is over them
        terms = scene.kinematics()
        root, ahead = terms.xpos[scene.body("top")], middle[0] - terms.subtree_com[scene.body("top")][0]
        scene.move("top", root + [1.5 * ahead, 0, 0]).reach(*feet[0], feet[1], balance=False)
    return scene


def tower(strength: float, seed: int, controller: str = "integrated") -> ip.Simulation:
    """Return a simulation in which the platform is about to move; 1 is 12 cm and 7 degrees at most."""
    sim = ip.Simulation(standing(), dt=0.01, world="simulated", seed=seed, controller=controller, on_fall="continue")
    for joint, most in {"x": SHIFT, "y": SHIFT, "roll": TILT, "pitch": TILT}.items():
        sim.live.drive(f"platform/{joint}", wave(sim.rng, strength * most))
    for side in SIDES:
        sim.contacts.add(f"base/{side}_sole", "platform/top")
        sim.contacts.add(f"top/{side}_sole", f"base/{side}_shoulder")
        for part in ("shank", "foot"):
            sim.collisions.add("base/head", f"top/{side}_{part}", influence=0.03, security=0.004)
    for name, borne in (("base", ("top",)), ("top", ())):
        sim.objectives += [
            *upright(sim, name),
            ip.Orientation(f"{name}/chest", weight=10.0),
            ip.Balance(name, *borne, on=soles(name), terms=sim.terms, margin=MARGINS[name]),
            ip.ComOver(name, *borne, over=soles(name), reference=(0.0, 0.0)),
            ip.ComOver(name, over=soles(name), axes="z", weight=30.0),
        ]
    return sim


def stands_for(sim: ip.Simulation, seconds: float) -> float:
    """Return after how many seconds the first of them falls, at most ``seconds``."""
    while sim.time < seconds - 1e-9 and not sim.fallen:
        sim.step()
    return sim.time


if __name__ == "__main__":
    for strength in (0.5, 1.0, 1.5, 2.0):
        for controller in ("integrated", "servos"):
            times = [stands_for(tower(strength, seed, controller), 20.0) for seed in range(1000, 1010)]
            print(f"strength {strength:g}, {controller}:", *(f"{t:.1f}" for t in times), "s", flush=True)
    sim, out = tower(1.0, seed=1000), Path("out/tower")
    sim.scene.save(out / "scene.xml")
    recorder = ip.Recorder(out / "recording", sim, {"scenario": "tower"})
    sim.observers.append(recorder)
    stands_for(sim, 10.0)
    recorder.close()
    camera = ip.Camera(lookat=(0, 0, 1.95), distance=6.2, azimuth=140, elevation=-5)
    print("written:", *ip.export(out, out / "strip.png", camera=camera, columns=6))
